"""What an agent hands over as data: kept with its turn, read as typed values, and read from older files."""

import pytest

from pytest_mapsat.model import Figure, Structured, Trajectory, Turn, trajectory_digest


def reply(claims) -> Turn:
    return Turn(role="agent", text="Blue Bay.", claims=claims)


def test_reserved_keys_are_read_as_typed_values():
    turn = reply({"proposes": ["p1"], "figures": [{"thing": "p1", "role": "price", "value": 12, "unit": "yuan"}]})
    assert Structured.of(turn) == Structured(
        proposes=("p1",), figures=(Figure(thing="p1", role="price", value=12.0, unit="yuan"),)
    )


def test_a_clock_time_stays_a_text_and_a_number_a_number():
    figures = [{"thing": "p1", "role": "closing", "value": "18:30"}, {"thing": "p1", "role": "price", "value": 7}]
    assert [figure.value for figure in Structured.of(reply({"figures": figures})).figures] == ["18:30", 7.0]


@pytest.mark.parametrize("claims", [None, {}, {"mood": "good"}, {"proposes": "p1"}, {"figures": [{"value": 1}]}])
def test_claims_without_the_reserved_keys_or_of_another_shape_say_nothing(claims):
    assert Structured.of(reply(claims)) == Structured()


def test_claims_that_an_older_file_keeps_as_a_thought_are_read():
    steps = [{"kind": "thought", "text": "hm"}, {"kind": "thought", "id": "claims", "result": {"proposes": ["p1"]}}]
    turn = Turn.model_validate({"role": "agent", "text": "Blue Bay.", "steps": steps})
    assert (turn.claims, [step.text for step in turn.steps]) == ({"proposes": ["p1"]}, ["hm"])


def test_a_thought_that_only_bears_the_name_stays_a_thought():
    steps = [{"kind": "thought", "id": "claims", "text": "claims"}]
    turn = Turn.model_validate({"role": "agent", "text": "Blue Bay.", "steps": steps})
    assert (turn.claims, len(turn.steps)) == (None, 1)


def test_other_claims_make_another_dialogue():
    digests = {
        trajectory_digest(Trajectory(case="a", turns=(reply(claims),)))
        for claims in (None, {"proposes": ["p1"]}, {"proposes": ["p2"]})
    }
    assert len(digests) == 3
