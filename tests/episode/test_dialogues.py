import asyncio
import os
import threading
import time
from collections import Counter

import pytest
from episodes import CASE, FIND, RECORDING, play, recorded_sandbox, texts

from pytest_mapsat.agents import Reply, resolve_source, source_of
from pytest_mapsat.episode import Limits, calls_after_end, run_episode, shutdown
from pytest_mapsat.formats import save_run
from pytest_mapsat.model import (
    Gate,
    JudgeInfo,
    Provenance,
    Run,
    RunManifest,
    RunOptions,
    Scorecard,
    Truth,
    UsageError,
)
from pytest_mapsat.sandbox import RecordedSandbox
from pytest_mapsat.users import UserMove, make_user

GOODBYE = ("user", "That is all, thank you.")


class TestOneDialogue:
    def test_turns_follow_each_other_until_the_user_has_nothing_more(self):
        def agent(message, tools):
            return "Here you are." if "nine" in message else "What time?"

        trajectory = play(agent)
        assert texts(trajectory) == [
            ("user", "Find a cafe"),
            ("agent", "What time?"),
            ("user", "At nine."),
            ("agent", "Here you are."),
            GOODBYE,
        ]
        assert (trajectory.case, trajectory.trial, trajectory.source) == ("case-secret-id", 1, "agent")
        assert (trajectory.ending, trajectory.fault) == ("done", None)

    def test_a_silent_user_ends_it_without_a_word(self):
        assert texts(play(lambda message: "What time?", user="silent")) == [
            ("user", "Find a cafe"),
            ("agent", "What time?"),
        ]

    def test_the_limit_of_turns_is_no_fault(self):
        numbers = iter(range(100))
        trajectory = play(lambda message: f"Which of {next(numbers)}?", max_turns=3)
        assert (trajectory.ending, trajectory.fault, len(trajectory.replies)) == ("max_turns", None, 3)

    def test_an_ending_in_the_last_turn_counts_as_such(self):
        assert play(lambda message: "Here.", max_turns=1).ending == "done"

    def test_the_trial_is_kept(self):
        assert play(lambda message: "Here.", trial=3).trial == 3

    def test_a_user_that_says_nothing_has_done(self):
        class Mute:
            def reply(self, turns, hands):
                return UserMove(None)

        source = source_of(lambda message: "Here.", "x")
        assert run_episode(CASE, source, Mute(), recorded_sandbox(), Limits()).ending == "done"

    @pytest.mark.parametrize("bad", [{"timeout": 0}, {"timeout": float("nan")}, {"timeout": 1e30}])
    def test_limits_that_leave_no_room_are_refused(self, bad):
        with pytest.raises(UsageError):
            Limits(**bad)


class TestWhatIsRecorded:
    def test_calls_are_numbered_through_the_episode_with_results_and_provenance(self):
        def agent(message, tools):
            tools.find(query="cafe")
            if "nine" in message:
                return "Here."
            tools.call("find", {"query": "elsewhere"})
            tools.call("nope", {})
            return "What time?"

        steps = play(agent).calls
        assert [(step.id, step.tool, step.status) for step in steps] == [
            ("c1", "find", "ok"),
            ("c2", "find", "miss"),
            ("c3", "nope", "error"),
            ("c4", "find", "ok"),
        ]
        assert steps[0].arguments == {"query": "cafe"}
        assert steps[0].result == {"places": ["Blue Door"]}
        assert steps[0].provenance.kind == "exact"
        assert steps[1].provenance.kind == "miss"

    def test_thoughts_come_before_calls_and_the_output_is_kept(self):
        def agent(message, tools):
            tools.find(query="cafe")
            return Reply(
                "Here.", thoughts=["hm"], output={"place": "Blue Door"}, usage={"input_tokens": 7, "cost": 0.5}
            )

        turn = play(agent).replies[0]
        assert [(step.kind, step.text) for step in turn.steps] == [("thought", "hm"), ("call", "")]
        assert turn.output == {"place": "Blue Door"}
        assert (turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.cost) == (7, None, 0.5)
        assert turn.timing.seconds >= 0

    def test_what_an_agent_does_to_arguments_and_results_changes_no_recording_of_it(self):
        def agent(message, tools):
            arguments = {"query": "cafe"}
            result = tools.call("find", arguments)
            arguments["query"] = "tampered"
            result["places"].append("tampered")
            return str(tools.find(query="cafe"))

        trajectory = play(agent)
        assert "tampered" not in trajectory.model_dump_json()

    def test_arguments_that_are_no_json_are_named_by_type_only(self):
        def agent(message, tools):
            tools.call("find", {"query": object(), 3: float("nan")})
            tools.call("find", ["cafe"])
            return "Here."

        first, second = play(agent).calls
        assert first.arguments == {"query": "<object>", "3": "<nan>"}
        assert (second.arguments, second.status) == ({}, "error")

    def test_arguments_that_are_too_large_are_refused_and_not_kept(self):
        def agent(message, tools):
            return tools.find(query="x" * 2000)["message"]

        trajectory = play(agent, max_text=1000)
        assert trajectory.replies[0].text == "the arguments have more than 1000 characters"
        assert (trajectory.calls[0].status, trajectory.calls[0].arguments) == ("error", {})

    def test_half_characters_are_replaced(self):
        trajectory = play(lambda message: "bad \ud800 half")
        assert trajectory.replies[0].text == "bad \N{REPLACEMENT CHARACTER} half"
        trajectory.model_dump_json()


class TestWhatAnAgentIsGiven:
    def test_context_and_session_when_the_signature_takes_them(self):
        seen = []

        def agent(message, context, session):
            seen.append((context.now, session.messages))
            context.history.append("mine")
            session.state["turns"] = session.state.get("turns", 0) + 1
            assert [name for name in dir(session) if name[0] != "_"] == [
                "earlier",
                "id",
                "messages",
                "remember",
                "state",
                "think",
            ]
            session.messages.append("mine")
            seen.append(context_lengths(context, session))
            return "What time?" if len(seen) < 4 else "Here."

        def context_lengths(context, session):
            return len(context.history), session.state["turns"]

        play(agent)
        assert seen[0] == ("2026-05-01T09:00:00", [{"role": "user", "content": "Find a cafe"}])
        assert [role["role"] for role in seen[2][1]] == ["user", "assistant", "user"]
        assert (seen[1], seen[3]) == ((2, 1), (2, 2))

    def test_everything_when_it_takes_any_names(self):
        seen = {}

        def agent(**given):
            seen.update(given)
            return "Here."

        play(agent)
        assert list(seen) == ["message", "tools", "context", "session"]

    def test_defaults_of_its_own_stay(self):
        def agent(message, model="mine"):
            return model

        assert play(agent).replies[0].text == "mine"


class TestFactories:
    def test_a_class_keeps_state_for_one_episode(self):
        class Agent:
            def __init__(self):
                self.count = 0

            def __call__(self, message):
                self.count += 1
                return f"What time, {self.count}?"

        for _ in range(2):
            assert [turn.text for turn in play(Agent, max_turns=2).replies] == ["What time, 1?", "What time, 2?"]

    def test_a_factory_may_take_what_an_agent_may_take_but_the_message(self):
        def make(tools, context):
            found = tools.find(query="cafe")
            return lambda message: f"{found['places'][0]} at {context.now}"

        trajectory = play(make)
        assert trajectory.replies[0].text == "Blue Door at 2026-05-01T09:00:00"
        assert len(trajectory.replies[0].steps) == 1

    def test_what_it_makes_may_have_a_reply_method_or_be_a_coroutine(self):
        class Agent:
            async def reply(self, message, tools):
                return "Here."

        async def make():
            return Agent()

        assert play(Agent).replies[0].text == "Here."
        assert play(make).replies[0].text == "Here."

    @pytest.mark.parametrize(
        ("make", "said"),
        [
            (lambda: None, "returned None; expected a callable that takes message"),
            (lambda: "text", "returned an object of type str"),
            (lambda: dict, "returned the class dict"),
            (lambda: lambda: "x", "takes no 'message'"),
            (lambda: lambda message, more: "x", "requires 'more'"),
        ],
    )
    def test_one_that_makes_no_agent_is_a_fault_of_the_set_up(self, make, said):
        trajectory = play(make)
        assert trajectory.ending == "infrastructure_error"
        assert said in trajectory.fault.message


class TestThoughts:
    def test_thoughts_and_calls_stand_in_the_order_in_which_they_came(self):
        def agent(message, tools, session):
            session.think("look for a cafe")
            tools.find(query="cafe")
            session.think("that one will do")
            return Reply("Blue Door.", thoughts=["whenever"])

        (reply,) = play(agent).replies
        assert [(step.kind, step.text or step.tool) for step in reply.steps] == [
            ("thought", "whenever"),
            ("thought", "look for a cafe"),
            ("call", "find"),
            ("thought", "that one will do"),
        ]

    def test_thoughts_have_a_limit_and_do_not_count_as_calls(self):
        def agent(message, tools, session):
            for _ in range(5):
                session.think("x" * 20)
            return tools.find(query="cafe")["places"][0]

        assert play(agent, max_calls=1).ending == "done"
        trajectory = play(agent, max_text=99)
        assert trajectory.ending == "agent_error"
        assert trajectory.fault.message.startswith("the agent thought more than 99 characters or 10,000 times")

    def test_no_thought_is_kept_once_the_reply_is_over(self):
        kept = []

        def agent(message, session):
            kept.append(session)
            return "Blue Door."

        play(agent)
        with pytest.raises(RuntimeError, match="no reply is under way"):
            kept[0].think("too late")


class TestCoroutines:
    def test_a_coroutine_function_runs_with_plain_tools(self):
        async def agent(message, tools):
            await asyncio.sleep(0)
            return tools.find(query="cafe")["places"][0]

        assert play(agent).replies[0].text == "Blue Door"

    def test_an_object_whose_call_is_a_coroutine(self):
        class Agent:
            async def __call__(self, message):
                return "Here."

        assert play(Agent()).replies[0].text == "Here."

    def test_all_run_on_one_loop_that_is_not_the_callers(self):
        loops = set()

        async def agent(message):
            loops.add(id(asyncio.get_running_loop()))
            return "Here."

        async def inside_a_test_of_the_users():
            loops.add(id(asyncio.get_running_loop()))
            return play(agent).ending

        play(agent)
        assert asyncio.run(inside_a_test_of_the_users()) == "done"
        assert len(loops) == 2

    def test_a_plain_agent_may_run_a_loop_of_its_own(self):
        async def answer():
            return "Here."

        assert play(lambda message: asyncio.run(answer())).ending == "done"

    def test_its_exceptions_are_placed_and_an_exit_stops_nothing(self):
        async def agent(message):
            raise SystemExit(3)

        trajectory = play(agent)
        assert trajectory.fault.message.startswith("SystemExit: 3 (test_dialogues.py:")

        async def good(message):
            return "Here."

        assert play(good).ending == "done"

    def test_one_that_waits_too_long_is_cancelled(self):
        cancelled = threading.Event()

        async def agent(message):
            try:
                await asyncio.sleep(60)
            finally:
                cancelled.set()

        assert play(agent, timeout=0.1).ending == "timeout"
        assert cancelled.wait(2)

    def test_one_that_blocks_the_loop_costs_only_the_loop(self):
        over = threading.Event()

        async def agent(message):
            over.wait(10)
            return "late"

        async def good(message):
            return "Here."

        assert play(agent, timeout=0.1).ending == "timeout"
        assert play(good, timeout=5).ending == "done"
        over.set()


class TestThreads:
    def test_one_worker_serves_trivial_episodes(self):
        names = [play(lambda message: str(threading.get_ident())).replies[0].text for _ in range(5)]
        assert len(set(names)) == 1

    def test_all_replies_of_an_episode_run_on_one_thread(self):
        trajectory = play(lambda message: f"What time, {threading.get_ident()}?", max_turns=3)
        assert len({turn.text for turn in trajectory.replies}) == 1

    def test_calls_from_several_threads_are_all_recorded(self):
        def agent(message, tools):
            threads = [threading.Thread(target=tools.find, kwargs={"query": f"q{n}"}) for n in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return "Here."

        steps = play(agent).calls
        assert [step.id for step in steps] == [f"c{n}" for n in range(1, 21)]
        assert Counter(step.arguments["query"] for step in steps) == Counter(f"q{n}" for n in range(20))

    def test_a_call_after_the_reply_is_refused_and_changes_nothing(self):
        kept = []

        def agent(message, tools):
            kept.append(tools)
            return "Here."

        trajectory = play(agent)
        before = trajectory.model_dump_json()
        with pytest.raises(RuntimeError, match="no reply is under way"):
            kept[0].find(query="cafe")
        assert trajectory.model_dump_json() == before

    def test_calls_between_replies_and_after_the_last_are_refused_and_kept(self):
        kept = []

        class Meddling:
            """A user in whose turn the agent's tools are called."""

            def reply(self, turns, hands):
                for arguments in ({"query": "cafe"}, {"query": "x" * 2_000_000}):
                    with pytest.raises(RuntimeError, match="no reply is under way"):
                        kept[0].find(**arguments)
                return UserMove("Go on.") if len(turns) == 2 else UserMove(None)

        def agent(message, tools):
            kept.append(tools)
            tools.find(query="cafe")
            return "Here."

        calls_after_end()
        trajectory = run_episode(CASE, source_of(agent, "agent"), Meddling(), recorded_sandbox())
        assert [step.id for step in trajectory.calls] == ["c1", "c2"]
        assert [(step.tool, step.status, step.arguments, step.unknown) for step in trajectory.after_end] == [
            ("find", "unknown", {"query": "cafe"}, ("result", "changed")),
            ("find", "unknown", {}, ("arguments", "result", "changed")),
        ] * 2
        assert calls_after_end() == []
        for _ in range(200):
            with pytest.raises(RuntimeError, match="no reply is under way"):
                kept[0].call("find", {"query": "later"})
        ((case, trial, steps),) = calls_after_end()
        assert (case, trial, len(steps), steps[0].arguments) == (CASE.id, 1, 96, {"query": "later"})
        assert calls_after_end() == []

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no system that forks")
    @pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
    def test_a_call_in_a_copy_of_the_process_is_refused_there_and_kept_here(self):
        def in_a_copy(tools, *queries):
            if (copy := os.fork()) == 0:
                refused = 0
                for query in queries:
                    try:
                        tools.find(query=query)
                    except RuntimeError as error:
                        refused += "in the process that the agent is asked in" in str(error)
                os._exit(refused)
            return os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])

        kept = []

        def agent(message, tools):
            kept.append(tools)
            assert in_a_copy(tools, "cafe", "x" * 100_000) == 2
            return "Here." if tools.find(query="cafe") else ""

        calls_after_end()
        trajectory = play(agent, user="silent")
        assert [step.arguments for step in trajectory.calls] == [{"query": "cafe"}]
        assert [(step.tool, step.arguments, step.unknown) for step in trajectory.after_end] == [
            ("find", {"query": "cafe"}, ("result", "changed")),
            ("find", {}, ("arguments", "result", "changed")),
        ]
        assert in_a_copy(kept[0], "later") == 1
        assert [steps[0].arguments for _, _, steps in calls_after_end()] == [{"query": "later"}]

    def test_a_call_that_is_answered_once_the_reply_is_over_is_kept_with_its_answer(self):
        begun, over = threading.Event(), threading.Event()

        class Slow(RecordedSandbox):
            def call(self, name, arguments):
                begun.set()
                over.wait(10)
                return super().call(name, arguments)

        def agent(message, tools):
            def ask():
                with pytest.raises(RuntimeError, match="no reply is under way"):
                    tools.find(query="cafe")

            threading.Thread(target=ask, daemon=True).start()
            begun.wait(10)
            return "Here."

        calls_after_end()
        trajectory = play(agent, sandbox=Slow({"find": FIND}, [RECORDING]))
        assert (trajectory.calls, trajectory.after_end) == ((), ())
        over.set()
        for _ in range(1000):
            if late := calls_after_end():
                break
            time.sleep(0.01)
        ((_, _, (step,)),) = late
        assert (step.status, step.result) == ("ok", {"places": ["Blue Door"]})

    def test_many_episodes_at_once_do_not_mix(self):
        def agent(message, tools, session):
            for _ in range(20):
                tools.find(query=session.id)
            return session.id

        found = {}

        def run(trial):
            found[trial] = play(agent, trial=trial)

        threads = [threading.Thread(target=run, args=(trial,)) for trial in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        for trajectory in found.values():
            assert {step.arguments["query"] for step in trajectory.calls} == {trajectory.replies[0].text}
            assert len(trajectory.calls) == 20


class TestTime:
    def test_one_that_hangs_is_left_behind_with_what_it_did(self):
        over = threading.Event()
        later = []

        def agent(message, tools):
            tools.find(query="cafe")
            over.wait(10)
            try:
                tools.find(query="cafe")
            except RuntimeError as error:
                later.append(str(error))

        started = time.perf_counter()
        trajectory = play(agent, timeout=0.2)
        assert time.perf_counter() - started < 5
        assert (trajectory.ending, trajectory.fault.blame) == ("timeout", "agent")
        assert "not over after 0.2 s" in trajectory.fault.message
        assert [step.id for step in trajectory.calls] == ["c1"]
        over.set()
        for _ in range(200):
            if later:
                break
            time.sleep(0.01)
        assert "no reply is under way" in later[0]
        assert len(trajectory.calls) == 1
        assert play(lambda message: "Here.").ending == "done"

    def test_the_time_is_that_of_the_whole_episode(self):
        numbers = iter(range(1000))

        def agent(message):
            time.sleep(0.06)
            return f"Which of {next(numbers)}?"

        trajectory = play(agent, timeout=0.2, max_turns=100)
        assert trajectory.ending == "timeout"
        assert 1 <= len(trajectory.replies) <= 4


class TestOtherSources:
    def test_the_silent_baseline_ends_at_once(self, tmp_path):
        trajectory = play(resolve_source("baseline:silent", root=tmp_path))
        assert [turn.text for turn in trajectory.replies] == [""]
        assert (trajectory.source, trajectory.ending) == ("silent", "stalled")

    def test_the_constant_baseline_says_one_thing_and_asks_nothing(self, tmp_path):
        trajectory = play(resolve_source("baseline:constant", root=tmp_path))
        assert len(trajectory.replies) == 1
        assert trajectory.replies[0].text
        assert (trajectory.calls, trajectory.ending) == ((), "done")

    def test_the_oracle_plays_its_calls_then_its_words(self, tmp_path):
        trajectory = play(resolve_source("baseline:oracle", root=tmp_path))
        assert [turn.text for turn in trajectory.replies] == ["What time?", "secret-oracle"]
        assert [(step.tool, step.status) for step in trajectory.replies[0].steps] == [("find", "ok")]
        assert (trajectory.source, trajectory.ending) == ("oracle", "done")

    def test_the_oracle_hands_over_the_right_output_with_its_last_reply(self, tmp_path):
        case = CASE.model_copy(update={"truth": CASE.truth.model_copy(update={"output": {"intent": "search"}})})
        trajectory = play(resolve_source("baseline:oracle", root=tmp_path), case=case)
        assert [turn.output for turn in trajectory.replies] == [None, {"intent": "search"}]

    def test_a_case_without_an_oracle_is_nobodys_failure(self, tmp_path):
        case = CASE.model_copy(update={"truth": Truth()})
        trajectory = play(resolve_source("baseline:oracle", root=tmp_path), case=case)
        assert trajectory.ending == "infrastructure_error"
        assert trajectory.fault.blame == "infrastructure"
        assert trajectory.fault.message == "case case-secret-id has no oracle dialogue (truth.oracle)"

    def test_an_oracle_that_is_asked_further_is_named(self, tmp_path):
        case = CASE.model_copy(update={"truth": CASE.truth.model_copy(update={"oracle": CASE.truth.oracle[:1]})})
        trajectory = play(resolve_source("baseline:oracle", root=tmp_path), case=case)
        assert trajectory.ending == "infrastructure_error"
        assert "after all 1 replies of the oracle dialogue" in trajectory.fault.message

    def test_a_saved_episode_comes_back_as_it_was(self, tmp_path):
        saved = play(lambda message, tools: str(tools.find(query="cafe")))
        card = Scorecard(id=saved.case, outcome="passed", metrics={}, trajectory=saved)
        manifest = RunManifest(
            versions={}, suites=(), agent="a:b", user="silent", judge=JudgeInfo(spec="checks"), options=RunOptions()
        )
        run = Run(manifest=manifest, cases=(card,), summary={}, groups={}, gate=Gate(outcome="passed"))
        save_run(tmp_path / "run.json", run)
        source = resolve_source("recorded:run.json", root=tmp_path)
        again = run_episode(CASE, source, make_user("silent", CASE), recorded_sandbox())
        assert texts(again) == texts(saved)
        assert again.calls[0].provenance == Provenance(kind="recorded", note="was exact")

    def test_a_dialogue_that_was_not_recorded_leaves_the_case_unevaluated(self, tmp_path):
        (tmp_path / "t.jsonl").write_text('{"case_id": "other", "turns": []}\n')
        source = resolve_source("recorded:t.jsonl", root=tmp_path)
        trajectory = run_episode(CASE, source, make_user("silent", CASE), recorded_sandbox())
        assert (trajectory.ending, trajectory.fault.blame) == ("infrastructure_error", "infrastructure")
        assert "no recorded trajectory of case case-secret-id in t.jsonl" in trajectory.fault.message
        assert texts(trajectory) == [("user", "Find a cafe")]


class TestShutdown:
    def test_our_threads_end_and_come_back_when_they_are_needed(self):
        async def agent(message):
            return "Here."

        assert play(agent).ending == "done"
        assert ours()
        shutdown()
        # One that an earlier test left behind ends when its agent does.
        for thread in ours():
            thread.join(5)
        assert not ours()
        shutdown()
        assert play(agent).ending == "done"


def ours():
    # The server of tools over MCP, which another test may have started, serves until the process ends.
    names = ("mapsat-agent", "mapsat-loop")
    return [thread for thread in threading.enumerate() if thread.name in names and thread.is_alive()]
