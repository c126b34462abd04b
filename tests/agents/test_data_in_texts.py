"""A reply whose text is one JSON object is data where the case asks for data: one rule for every kind of agent."""

import json
import sys
from pathlib import Path

import pytest
from http_services import Service, answers, case, play
from spans_made import span, text, write

from pytest_mapsat.agents import Reply, resolve_source, source_of
from pytest_mapsat.agents.isolated import Isolation, isolated_source
from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.model import Output, Visible

DATA = {"status": "shipped", "order": 17}
TEXT = json.dumps(DATA)
WANTS_DATA = case(output_schema={"type": "object", "properties": {"status": {"type": "string"}}})
PROGRAM = f"""
import json
input()
print(json.dumps({{"type": "reply", "text": {TEXT!r}}}), flush=True)
"""


@pytest.fixture(params=["function", "command", "isolated", "service"])
def source(request, tmp_path):
    """Return an agent of each kind that replies with the same JSON text."""
    if request.param == "function":
        yield source_of(lambda message: TEXT, "agent")
    elif request.param == "command":
        (tmp_path / "program.py").write_text(PROGRAM)
        yield resolve_source(f"cmd:{sys.executable} -IS program.py", root=tmp_path)
    elif request.param == "isolated":
        (tmp_path / "says_json.py").write_text(f"def agent(message):\n    return {TEXT!r}\n")
        isolated = isolated_source("says_json:agent", tmp_path, Isolation((str(tmp_path), *sys.path), {}))
        yield isolated
        isolated.close()
    else:
        with Service().running() as service:
            yield resolve_source(service.at(lambda _: answers({"text": TEXT})), root=Path.cwd())


def test_a_text_that_is_one_json_object_is_data_where_the_case_asks_for_data(source):
    assert [(turn.text, turn.output) for turn in play(source, played=WANTS_DATA).replies] == [(TEXT, DATA)]
    assert [(turn.text, turn.output) for turn in play(source).replies] == [(TEXT, None)]


def talk(*said):
    """Return the spans of a conversation, one model call for each reply, by its messages: user, agent, user, agent..."""
    roles = ["user", "assistant"] * len(said)
    heard = [text(role, words) for role, words in zip(roles, said, strict=False)]
    return [
        span(
            at + 1,
            "chat",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.conversation.id": "talk",
                "gen_ai.input.messages": json.dumps(heard[:at]),
                "gen_ai.output.messages": json.dumps([heard[at]]),
            },
            trace=at,
        )
        for at in range(1, len(said), 2)
    ]


def recorded(folder, *said):
    write(folder / "spans.json", *talk(*said))
    return resolve_source("recorded:spans.json", root=folder)


def test_a_recorded_text_is_data_as_a_live_one_is(tmp_path):
    source = recorded(tmp_path, "Find a cafe", TEXT)
    assert [(turn.text, turn.output) for turn in play(source, played=WANTS_DATA).replies] == [(TEXT, DATA)]
    assert [(turn.text, turn.output) for turn in play(source).replies] == [(TEXT, None)]


def test_what_a_recorded_user_said_after_a_reply_that_ends_the_case_counts_for_nothing(tmp_path):
    corrected = ["Find a cafe", "Red Cup.", "No, that is too loud.", "Then Blue Cup.", "Thanks!", "Enjoy."]
    trajectory = play(recorded(tmp_path, *corrected))
    assert [turn.text for turn in trajectory.turns] == ["Find a cafe", "Red Cup."]
    assert trajectory.warnings[-1].endswith("the recorded user went on: 2 later replies left out")


def test_what_a_recorded_user_answered_counts(tmp_path):
    answered = ["Find a cafe", "What time?", "Nine in the morning.", "Blue Cup."]
    trajectory = play(recorded(tmp_path, *answered))
    assert [turn.text for turn in trajectory.turns] == answered
    assert not any("left out" in warning for warning in trajectory.warnings)


def reply_of(value):
    """Play an episode that asks for data, with an agent that returns a value."""
    return play(source_of(lambda message: value, "agent"), played=WANTS_DATA)


def test_what_else_the_reply_holds_is_kept():
    said = Reply('{"text": "Shipped.", "order": 17}', ["look it up"], {"cost": 0.5})
    (turn,) = reply_of(said).replies
    assert (turn.text, turn.output) == ("Shipped.", {"text": "Shipped.", "order": 17})
    assert ([step.text for step in turn.steps], turn.usage.cost) == (["look it up"], 0.5)


@pytest.mark.parametrize("text", ["Order 17.", "[17]", '{"order": 17', 'See {"order": 17}', '{"order": 17} as asked'])
def test_any_other_text_stays_a_text(text):
    assert [(turn.text, turn.output) for turn in reply_of(text).replies] == [(text, None)]


FENCED = """Here it is:

```json
{"order": 17, "note": "run ```make```"}
```
Anything else?"""


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"order": 17}\n```',
        '```JSON\n{"order": 17}```',
        '```\r\n{\r\n"order": 17\r\n}\r\n```\r\n',
        '\n  ~~~~jsonc\n  {"order": 17}\n  ~~~~\n',
        '```json {"order": 17}```',
        '```{"order": 17}```',
        '```json\n{"order": 17}',
    ],
)
def test_a_text_that_is_one_fenced_json_object_is_data_and_its_text_that_json(text):
    assert [(turn.text, turn.output) for turn in reply_of(text).replies] == [('{"order": 17}', {"order": 17})]
    assert play(source_of(lambda message: text, "agent")).replies[0].output is None


def test_words_around_a_fence_stay_the_text_and_the_data_are_those_of_the_fence():
    (turn,) = reply_of(FENCED).replies
    assert (turn.text, turn.output) == (FENCED, {"order": 17, "note": "run ```make```"})
    code = '```python\nprint(1)\n```\n```json\n{"order": 17}\n```'
    assert [(turn.text, turn.output) for turn in reply_of(code).replies] == [(code, {"order": 17})]
    assert reply_of('```json\n{"text": "Shipped."}\n```').replies[0].text == "Shipped."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('```json\n{"order": 17}\n```\n```json\n{"order": 18}\n```', "its text has 2 blocks of JSON, expected one"),
        ('```json\n{"order": 17}\n```\nor\n```\n{"order": 17}\n```', "its text has 2 blocks of JSON, expected one"),
        ('```json\n{"order": 17', "its text has JSON that cannot be read: "),
        ("```json\n{'order': 17}\n```", "its text has JSON that cannot be read: "),
        ('```json\n{"order": 17, "order": 18}\n```', "its text has JSON that cannot be read: "),
        ('```json\n{"order": NaN}\n```', "its text has JSON that cannot be read: "),
        ("```json", "its text has JSON that cannot be read: "),
        ('{"order": 17} as asked', "its text has JSON that cannot be read: "),
        ("```json\n[17]\n```", "its text has JSON that is not an object"),
        ("[17]", "its text has JSON that is not an object"),
        ("```json\n17\n```", "its text has JSON that is not an object"),
        ("```python\nprint(1)\n```", ""),
        ("The order is `{17}`.", ""),
    ],
)
def test_a_fence_that_is_no_data_says_why_not(text, why):
    trajectory = reply_of(text)
    assert [(turn.text, turn.output) for turn in trajectory.replies] == [(text, None)]
    for check in (Output(kind="output", path="order", equals={"op": "present"}), Output(kind="output")):
        finding = evaluate(check, JudgedDialogue(trajectory, {}, WANTS_DATA.visible))
        assert finding.passed is False
        assert finding.why.startswith("no reply has a structured output" + (f" ({why}" if why else ""))
        assert finding.why.endswith(")") is bool(why)


def test_json_in_a_text_that_no_schema_asked_for_is_no_data_and_the_failure_says_so():
    trajectory = play(source_of(lambda message: '```json\n{"order": 17}\n```', "agent"))
    finding = evaluate(
        Output(kind="output", path="order", equals=17), JudgedDialogue(trajectory, {}, Visible(query="Where is it?"))
    )
    assert (finding.passed, finding.why) == (
        False,
        "no reply has a structured output (its text is JSON, and was not handed over as data: text is read as data where the case has an output_schema)",
    )


def test_data_that_the_reply_has_stay():
    assert reply_of(Reply(TEXT, output={"order": 18})).replies[0].output == {"order": 18}


def test_where_no_span_is_of_a_tool_or_a_model_nothing_is_known_of_calls(tmp_path):
    told = {"gen_ai.operation.name": "invoke_agent", "input.value": "Find a cafe", "output.value": "Blue Cup."}
    write(tmp_path / "spans.json", span(1, "invoke_agent a", told))
    trajectory = play(resolve_source("recorded:spans.json", root=tmp_path))
    assert trajectory.calls_untold
    assert [turn.text for turn in trajectory.replies] == ["Blue Cup."]
    assert not play(recorded(tmp_path, "Find a cafe", "Blue Cup.")).calls_untold
