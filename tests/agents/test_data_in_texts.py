"""A reply whose text is one JSON object is data where the case asks for data: one rule for every kind of agent."""

import json
import sys
from pathlib import Path

import pytest
from http_services import Service, answers, case, play

from pytest_mapsat.agents import Reply, resolve_source, source_of
from pytest_mapsat.agents.isolation import Isolation, isolated_source

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


def test_data_that_the_reply_has_stay():
    assert reply_of(Reply(TEXT, output={"order": 18})).replies[0].output == {"order": 18}


def test_a_reserved_key_of_such_data_must_be_what_it_should_be():
    trajectory = reply_of('{"proposes": 5}')
    assert (trajectory.ending, trajectory.fault.blame) == ("agent_error", "agent")
    assert "proposes" in trajectory.fault.message
