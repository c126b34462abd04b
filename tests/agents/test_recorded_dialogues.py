import csv
import gc
import json

import pytest
from saved_runs import card, run_text
from tests_data import data_dir

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.agents.recorded import RecordedSource
from pytest_mapsat.formats import DELEGATES
from pytest_mapsat.model import (
    MISS_RESULT,
    Case,
    Context,
    InfrastructureError,
    Provenance,
    Step,
    SuiteError,
    Trajectory,
    Truth,
    Turn,
    UsageError,
    Visible,
)

COLUMNS = [
    "conversation_id",
    "turn_index",
    "role",
    "content",
    "tool_calls",
    "is_stop",
    "is_forced_stop",
    "status",
    "execution_time_ms",
    "error_message",
    "input_tokens",
    "output_tokens",
]


def case(case_id="c1", query="Find a cafe"):
    return Case(id=case_id, visible=Visible(query=query, context=Context(now="2026-05-01T09:00:00")), truth=Truth())


def message(index, role, content, **more):
    return {"turn_index": index, "role": role, "content": content, **more}


QUERY = message(0, "user", "Find a cafe")
ANSWER = message(
    1,
    "assistant",
    "Here.",
    tool_calls=[{"id": "x1", "name": "find", "arguments": {"q": "cafe"}, "result": '{"pois": [1]}'}],
    latency_ms=1500,
    input_tokens=10,
    output_tokens=5,
)
BYE = message(1, "user", "Thanks.", is_stop=True)


def jsonl(path, *dialogues, name="t.jsonl"):
    file = path / name
    file.write_text("".join(json.dumps(dialogue) + "\n" for dialogue in dialogues), encoding="utf-8")
    return resolve_source(f"recorded:{name}", root=path)


def dialogue(*turns, case_id="c1", **more):
    return {"case_id": case_id, "turns": list(turns), **more}


def table(path, *rows, name="d.csv"):
    with (path / name).open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return resolve_source(f"recorded:{name}", root=path)


def row(case_id, index, role, content, **more):
    return {"conversation_id": case_id, "turn_index": index, "role": role, "content": content, **more}


def problem(make):
    with pytest.raises(SuiteError) as caught:
        make()
    return str(caught.value)


class TestJsonLines:
    def test_messages_calls_usage_and_time_are_taken_as_they_are(self, tmp_path):
        trajectory = jsonl(tmp_path, dialogue(QUERY, ANSWER, BYE)).trajectory(case(), 1)
        assert [(turn.role, turn.text) for turn in trajectory.turns] == [
            ("user", "Find a cafe"),
            ("agent", "Here."),
            ("user", "Thanks."),
        ]
        step = Step(
            kind="call",
            id="x1",
            tool="find",
            arguments={"q": "cafe"},
            result={"pois": [1]},
            provenance=Provenance(kind="recorded"),
        )
        assert trajectory.calls == (step,)
        assert (trajectory.source, trajectory.ending, trajectory.fault) == ("recorded", "done", None)
        reply = trajectory.replies[0]
        assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.timing.seconds) == (10, 5, 1.5)
        assert trajectory.turns[0].usage.input_tokens is None

    def test_our_own_refusals_keep_their_status(self, tmp_path):
        results = [
            MISS_RESULT,
            {"status": "error", "message": "there is no tool 'x'"},
            {"status": "error", "code": 4},
            "text",
        ]
        calls = [
            {"id": str(n), "name": "find", "arguments": {}, "result": json.dumps(r)} for n, r in enumerate(results)
        ]
        trajectory = jsonl(tmp_path, dialogue(QUERY, ANSWER | {"tool_calls": calls})).trajectory(case(), 1)
        assert [step.status for step in trajectory.calls] == ["miss", "error", "ok", "ok"]
        assert trajectory.calls[3].result == "text"

    def test_a_case_that_is_not_there_is_nobodys_failure(self, tmp_path):
        with pytest.raises(InfrastructureError, match=r"no recorded trajectory of case c9 in t\.jsonl"):
            jsonl(tmp_path, dialogue(QUERY)).trajectory(case("c9"), 1)

    def test_a_trial_that_is_not_there_is_named(self, tmp_path):
        source = jsonl(tmp_path, dialogue(QUERY, ANSWER), dialogue(QUERY, ANSWER, trial=2))
        assert source.trajectory(case(), 2).trial == 2
        with pytest.raises(InfrastructureError, match="trial 3 of case c1"):
            source.trajectory(case(), 3)

    def test_a_second_dialogue_of_a_case_names_both_lines(self, tmp_path):
        text = problem(lambda: jsonl(tmp_path, dialogue(QUERY), dialogue(QUERY, case_id="c2"), dialogue(QUERY)))
        assert text.startswith("t.jsonl:3: a second dialogue of case c1, trial 1: line 1 has one")

    def test_a_message_that_did_not_succeed_is_the_agents_fault(self, tmp_path):
        failed = ANSWER | {"status": "error", "error_message": "died at /home/me/agent.py, object at 0x7fffdeadbeef"}
        trajectory = jsonl(tmp_path, dialogue(QUERY, failed)).trajectory(case(), 1)
        assert trajectory.ending == "agent_error"
        assert trajectory.fault.blame == "agent"
        assert trajectory.fault.message.endswith("status 'error': died at agent.py, object at 0x...")

    def test_a_forced_stop_is_the_limit_of_turns(self, tmp_path):
        assert (
            jsonl(tmp_path, dialogue(QUERY, ANSWER | {"is_forced_stop": True})).trajectory(case(), 1).ending
            == "max_turns"
        )

    def test_a_missing_query_is_put_in_front_with_a_warning(self, tmp_path):
        source = jsonl(tmp_path, dialogue(ANSWER, BYE))
        assert source.trajectory(case(), 1).turns[0] == Turn(role="user", text="Find a cafe")
        assert len(source.trajectory(case(), 1).replies) == 1
        assert "no query" in source.trajectory(case(), 1).warnings[0]

    def test_messages_after_the_end_are_kept_with_a_warning(self, tmp_path):
        source = jsonl(tmp_path, dialogue(QUERY, ANSWER, BYE, message(2, "assistant", "More.")))
        assert len(source.trajectory(case(), 1).replies) == 2
        assert "goes on for 1 messages after its end" in source.trajectory(case(), 1).warnings[0]

    def test_another_query_is_a_warning(self, tmp_path):
        source = jsonl(tmp_path, dialogue(QUERY, ANSWER, BYE))
        assert source.trajectory(case(), 1).warnings == ()
        assert "another query" in source.trajectory(case(query="Find a bar"), 1).warnings[0]

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("{not json", "is not valid JSON"),
            ('{"case_id": "c1"}', "expected an object with case_id and a list of turns"),
            ('{"case_id": "../up", "turns": []}', "case_id: found '../up', expected 1 to 80 of A-Z"),
            ('{"case_id": "c1", "turns": [3]}', "turns[0]: found 3, expected a mapping"),
            (
                '{"case_id": "c1", "turns": [{"role": "system", "turn_index": 0}]}',
                "turns[0].role: found 'system', expected one of user, assistant",
            ),
            ('{"case_id": "c1", "turns": [{"role": "user", "turn_index": -1}]}', "turns[0].turn_index: found -1"),
            (
                '{"case_id": "c1", "turns": [{"role": "user", "turn_index": 0, "content": 4}]}',
                "turns[0].content: found 4, expected text",
            ),
            (
                '{"case_id": "c1", "turns": [{"role": "user", "turn_index": 0, "input_tokens": "NaN"}]}',
                "turns[0].input_tokens: found 'NaN', expected a whole number",
            ),
            (
                '{"case_id": "c1", "turns": [{"role": "user", "turn_index": 0, "tool_calls": [{"name": "x"}]}]}',
                "turns[0].tool_calls[0].arguments: is missing",
            ),
            ('{"case_id": "c1", "turns": [], "trial": 0}', "trial: found 0"),
            ('{"case_id": "c1", "turns": [NaN]}', "NaN is not a JSON value"),
            ("[" * 100_000, "nested more than 64 deep"),
        ],
    )
    def test_a_broken_line_is_named(self, line, said, tmp_path):
        (tmp_path / "t.jsonl").write_text('{"case_id": "c0", "turns": []}\n' + line + "\n")
        text = problem(lambda: resolve_source("recorded:t.jsonl", root=tmp_path))
        assert text.startswith("t.jsonl:2: ")
        assert said in text


class TestCsv:
    def test_rows_of_several_cases_are_sorted_by_turn_the_agent_first(self, tmp_path):
        source = table(
            tmp_path,
            row("c2", 1, "user", "bye 2", is_stop="true"),
            row("c1", 1, "user", "bye 1", is_stop="true"),
            row("c1", 1, "assistant", "reply 1"),
            row("c2", 0, "user", "query 2"),
            row("c2", 1, "assistant", "reply 2", status="success"),
            row("c1", 0, "user", "query 1"),
        )
        for number in "12":
            texts = [turn.text for turn in source.trajectory(case(f"c{number}"), 1).turns]
            assert texts == [f"query {number}", f"reply {number}", f"bye {number}"]

    def test_tool_calls_are_read_as_a_literal(self, tmp_path):
        calls = [{"name": "find", "args": {"q": "it's", "n": None}, "id": "k", "response": '"plain text"'}]
        source = table(tmp_path, row("c1", 0, "user", "q"), row("c1", 1, "assistant", "a\nb", tool_calls=repr(calls)))
        step = source.trajectory(case(), 1).calls[0]
        assert (step.id, step.arguments, step.result) == ("k", {"q": "it's", "n": None}, "plain text")

    @pytest.mark.parametrize(
        ("cell", "said"),
        [
            ("__import__('os').system('true')", "not a Python literal"),
            ("[" * 5000 + "]" * 5000, "nested more than 64 deep"),
            ("-" * 50_000 + "1", "not a Python literal"),
            ("{'name': 1}", "tool_calls: found a mapping, expected a list"),
            ("[{'name': 'x', 'args': 3}]", "tool_calls[0].args: found 3, expected a mapping"),
            ("[1, ", "not a Python literal"),
        ],
    )
    def test_nothing_is_ever_evaluated_and_the_row_is_named(self, cell, said, tmp_path):
        gc.collect()  # what other tests left open is told about here, and not 5,000 lists deep, where a hook in Python fails
        rows = (row("c1", 0, "user", "two\nlines"), row("c1", 1, "assistant", "a", tool_calls=cell))
        text = problem(lambda: table(tmp_path, *rows))
        assert text.startswith("d.csv:4: ")
        assert said in text

    def test_the_same_message_twice_names_both_lines(self, tmp_path):
        text = problem(lambda: table(tmp_path, row("c1", 0, "user", "q"), row("c1", 0, "user", "q")))
        assert text.startswith("d.csv:3: case c1: a second user message with turn_index 0: line 2 has one")

    def test_a_torn_row_is_named(self, tmp_path):
        (tmp_path / "d.csv").write_text("conversation_id,turn_index,role,content\nc1,0,user,q\nc1,1\n")
        assert problem(lambda: resolve_source("recorded:d.csv", root=tmp_path)).startswith("d.csv:3: the row has")

    def test_the_limit_of_the_csv_module_is_left_as_it_was(self, tmp_path):
        before = csv.field_size_limit()
        table(tmp_path, row("c1", 0, "user", "q" * (before + 10)))
        assert csv.field_size_limit() == before


class TestSavedRun:
    STEP = Step(
        kind="call", id="c1", tool="find", result=MISS_RESULT, status="miss", provenance=Provenance(kind="miss")
    )
    SAVED = Trajectory(
        case="c1",
        trial=2,
        turns=(Turn(role="user", text="q"), Turn(role="agent", text="a", steps=(STEP,))),
        ending="stalled",
    )

    def write(self, path, *cards, indent=None, **fields):
        (path / "run.json").write_text(run_text(*cards, indent=indent, **fields))
        return resolve_source("recorded:run.json", root=path)

    @pytest.mark.parametrize("indent", [None, 1])
    def test_trajectories_are_taken_with_their_trials_and_statuses(self, indent, tmp_path):
        source = self.write(tmp_path, card(self.SAVED), indent=indent)
        trajectory = source.trajectory(case(), 2)
        assert (trajectory.source, trajectory.ending, trajectory.trial) == ("recorded", "stalled", 2)
        assert trajectory.calls[0].status == "miss"
        assert trajectory.calls[0].provenance == Provenance(kind="recorded", note="was miss")

    def test_another_schema_is_refused(self, tmp_path):
        text = problem(lambda: self.write(tmp_path, schema="mapsat-run/2"))
        assert "schema: found 'mapsat-run/2', expected 'mapsat-run/1'" in text

    def test_a_broken_trajectory_is_named_by_its_place(self, tmp_path):
        text = problem(lambda: self.write(tmp_path, card(self.SAVED) | {"trajectory": {"case": "c1"}}))
        assert "cases[0].trajectory.turns: is missing" in text
        assert "cases[0].trajectory: is missing" in problem(lambda: self.write(tmp_path, {}))


class TestFiles:
    def test_a_missing_file_gets_a_suggestion(self, tmp_path):
        (tmp_path / "run.json").write_text("{}")
        with pytest.raises(UsageError, match=r"runn\.json: there is no such file \(did you mean 'run\.json'"):
            resolve_source("recorded:runn.json", root=tmp_path)

    @pytest.mark.parametrize("content", ["", "hello\n", "a,b,c\n1,2,3\n", "[1]\n"])
    def test_another_format_says_which_can_be_read(self, content, tmp_path):
        (tmp_path / "f").write_text(content)
        text = problem(lambda: resolve_source("recorded:f", root=tmp_path))
        assert "expected a saved run" in text
        assert "JSON lines" in text

    def test_a_binary_file_is_refused(self, tmp_path):
        (tmp_path / "f").write_bytes(b"\xff")
        assert "is not UTF-8: byte 0xff is not allowed here" in problem(
            lambda: resolve_source("recorded:f", root=tmp_path)
        )


class TestPublishedDialogues:
    @pytest.fixture
    def sources(self) -> tuple[RecordedSource, RecordedSource]:
        folder = data_dir() / "mapsatisfybench"
        table_file = next((folder / "upstream/data/outputs/simulator_res").glob("dialogue_*.csv"))
        lines = resolve_source("recorded:trajectories_gpt53.jsonl", root=folder)
        return lines, resolve_source(f"recorded:{table_file}", root=folder)

    def test_both_formats_give_equal_trajectories(self, sources):
        lines, rows = sources
        assert lines.trajectories == rows.trajectories

    def test_agent_turns_and_calls_are_those_counted_by_hand(self, sources):
        trajectories = list(sources[0].trajectories.values())
        assert len(trajectories) == 10
        assert sum(len(trajectory.replies) for trajectory in trajectories) == 18
        assert sum(len(trajectory.calls) for trajectory in trajectories) == 45
        assert {trajectory.ending for trajectory in trajectories} == {"done"}
        assert all(not trajectory.warnings for trajectory in sources[0].trajectories.values())


def test_a_call_that_runs_another_agent_counts_only_where_the_case_has_the_tool():
    steps = [
        Step(kind="call", tool="ask_billing", provenance=Provenance(kind="recorded", note=DELEGATES)),
        Step(kind="call", tool="list_bills", provenance=Provenance(kind="recorded")),
    ]
    turns = [Turn(role="user", text="Find a cafe"), Turn(role="agent", text="Here.", steps=steps)]
    recorded = Trajectory(case="c1", source="recorded", turns=turns)
    source = RecordedSource("recorded:t", "t", {("c1", 1): recorded})
    assert [step.tool for step in source.trajectory(case(), 1, {"list_bills"}).calls] == ["list_bills"]
    assert len(source.trajectory(case(), 1, {"list_bills", "ask_billing"}).calls) == 2
