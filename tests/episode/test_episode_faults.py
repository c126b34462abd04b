import asyncio
import contextlib
import json

import pytest
from episodes import CASE, FIND, play, recorded_sandbox

from pytest_mapsat.agents import Reply, describe, scrubbed, source_of
from pytest_mapsat.episode import run_episode


def raises(error):
    def agent(message, tools):
        raise error

    return agent


class TestAgentsThatRaise:
    def test_the_message_names_type_words_file_line_and_function(self):
        trajectory = play(raises(ValueError("boom")))
        assert trajectory.ending == "agent_error"
        assert trajectory.fault.blame == "agent"
        place = f"test_episode_faults.py:{raises.__code__.co_firstlineno + 2} in agent"
        assert (trajectory.fault.message, trajectory.fault.detail) == (f"ValueError: boom ({place})", place)

    @pytest.mark.parametrize(
        "error",
        [
            SystemExit(2),
            GeneratorExit(),
            KeyboardInterrupt(),
            asyncio.CancelledError(),
            pytest.skip.Exception("no"),
            pytest.xfail.Exception("no"),
            pytest.exit.Exception("no"),
            BaseException("base"),
        ],
    )
    def test_whatever_is_raised_is_a_fault(self, error):
        trajectory = play(raises(error))
        assert trajectory.ending == "agent_error"
        assert trajectory.fault.message.startswith(type(error).__name__)

    def test_endless_recursion_reads_the_same_every_time(self):
        def agent(message, tools):
            return agent(message, tools)

        first, second = play(agent).fault.message, play(agent).fault.message
        assert first == second
        assert first.startswith("RecursionError: maximum recursion depth exceeded (test_episode_faults.py:")

    def test_the_users_own_line_is_named_when_a_library_raised(self):
        def agent(message):
            return json.loads("{")

        line = agent.__code__.co_firstlineno + 1
        assert f"(test_episode_faults.py:{line} in agent)" in play(agent).fault.message

    def test_addresses_and_paths_are_taken_out(self):
        text = scrubbed(
            "<Foo object at 0x7f3bdeadbeef> in /home/me/secret/my.py and C:\\Users\\me\\x.py, see https://a.b/c/d"
        )
        assert text == "<Foo object at 0x...> in my.py and x.py, see https://a.b/c/d"

    def test_an_exception_whose_words_raise_is_told_all_the_same(self):
        class RudeError(Exception):
            def __str__(self):
                raise RuntimeError

        assert play(raises(RudeError())).fault.message.startswith("RudeError: its message cannot be read")

    def test_words_without_end_are_cut(self):
        assert len(play(raises(ValueError("x" * 100_000))).fault.message) < 700

    def test_a_fault_of_a_factory_is_the_agents(self):
        def make():
            raise OSError("no key")

        assert play(make).fault.message.startswith("OSError: no key (test_episode_faults.py:")

    def test_nothing_in_an_error_of_ours_lets_an_agent_leave_the_means(self):
        from pytest_mapsat.model import InfrastructureError

        assert play(raises(InfrastructureError("not me"))).fault.blame == "agent"

    def test_turns_before_the_fault_are_kept(self):
        def agent(message, tools):
            if "nine" in message:
                tools.find(query="cafe")
                raise ValueError("late")
            return "What time?"

        trajectory = play(agent)
        assert [turn.text for turn in trajectory.turns] == ["Find a cafe", "What time?", "At nine.", ""]
        assert len(trajectory.calls) == 1


class TestAgentsThatReturnNoReply:
    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (None, "the agent returned None; expected a string, a dict, a dataclass, a pydantic model or a Reply"),
            (b"text", "returned a bytes"),
            (3, "returned an int"),
            (["x"], "returned a list"),
            ((part for part in "ab"), "a generator: return the text as a whole"),
            (Reply(None), "a Reply whose text is None"),
            (Reply("x", thoughts=[1]), "thoughts are not up to"),
            (Reply("x", thoughts=3), "thoughts are an int"),
            (Reply("x", usage=3), "usage is an int"),
            (Reply("x", usage={"tokens": 3}), "bad usage: tokens: is not a known field (did you mean 'input_tokens'?)"),
            (Reply("x", usage={"input_tokens": -1}), "bad usage: input_tokens: found -1"),
            (Reply("x", usage={"input_tokens": 1.5}), "bad usage: input_tokens: found 1.5, expected a whole number"),
            (Reply("x", usage={"cost": float("nan")}), "bad usage: cost: found '<nan>', expected a number"),
            (Reply("x", usage={"cost": True}), "bad usage: cost: found True, expected a number"),
            (Reply("x", output=["Blue Door"]), "the agent returned a Reply whose output is a list; expected a dict"),
        ],
    )
    def test_the_fault_says_what_was_returned_and_what_is_expected(self, value, said):
        trajectory = play(lambda message: value)
        assert trajectory.ending == "agent_error"
        assert said in trajectory.fault.message
        assert len(trajectory.replies) == 0

    @pytest.mark.parametrize(
        "reply", ["x" * 10_000_000, Reply("", thoughts=["x" * 2_000_000]), Reply("", output={"note": "x" * 2_000_000})]
    )
    def test_a_flood_is_refused(self, reply):
        trajectory = play(lambda message: reply)
        assert trajectory.ending == "agent_error"
        assert "at most 1,000,000 are taken" in trajectory.fault.message

    def test_one_call_too_many_ends_it_even_if_the_agent_looks_away(self):
        def agent(message, tools):
            for _ in range(10):
                with contextlib.suppress(RuntimeError):
                    tools.find(query="cafe")
            return "Here."

        trajectory = play(agent, max_calls=5)
        assert (trajectory.ending, len(trajectory.calls)) == ("agent_error", 5)
        assert trajectory.fault.message == "the agent made more than 5 tool calls in one reply"
        assert play(agent, max_calls=10).ending == "done"


class TestOthersThatBreak:
    def test_a_user_that_raises_is_not_the_agents_failure(self):
        class Broken:
            def reply(self, turns, hands):
                raise ValueError("boom")

        trajectory = run_episode(CASE, source_of(lambda message: "Here.", "x"), Broken(), recorded_sandbox())
        assert (trajectory.ending, trajectory.fault.blame) == ("user_error", "user")
        assert trajectory.fault.message.startswith("ValueError: boom (test_episode_faults.py:")
        assert len(trajectory.replies) == 1

    @pytest.mark.parametrize("looks_away", [True, False])
    def test_a_sandbox_that_raises_is_not_the_agents_failure(self, looks_away):
        class Broken:
            def __init__(self):
                self.tools, self.setup = {"find": FIND}, ()

            def call(self, name, arguments):
                raise ValueError("secret-recording-key")

        heard = []

        def agent(message, tools):
            try:
                tools.find(query="cafe")
            except Exception as error:
                heard.append(str(error))
                if not looks_away:
                    raise
            return "Here."

        trajectory = play(agent, sandbox=Broken())
        assert (trajectory.ending, trajectory.fault.blame) == ("infrastructure_error", "sandbox")
        assert heard == ["the sandbox of tools broke"]


def test_an_exception_that_was_never_raised_has_no_place():
    fault = describe(ValueError("x"), blame="user")
    assert (fault.message, fault.detail) == ("ValueError: x", "")


class TestHostileAgents:
    def test_hostile_data_is_the_agents_fault_and_not_ours(self):
        class Hostile(dict):
            def items(self):
                raise OSError("no items")

        for value in (Reply("x", usage=Hostile(a=1)), Reply("x", output=Hostile(a=1))):
            trajectory = play(lambda message, value=value: value)
            assert (trajectory.ending, trajectory.fault.blame) == ("agent_error", "agent")

    def test_arguments_without_measure_do_not_break_the_sandbox(self):
        def agent(message, tools):
            tools.call("find", {"query": 10**5000})
            tools.call("find", {"query": [[[]]] * 1000})
            tools.call(["find"], {})
            return "Here."

        trajectory = play(agent)
        assert trajectory.ending == "done"
        assert trajectory.calls[0].arguments == {"query": "<int>"}
