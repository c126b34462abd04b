"""What an agent hands over as data: kept with its turn, read as typed values, and read from older files."""

import pytest

from pytest_mapsat.model import Figure, Structured, Trajectory, Turn, trajectory_digest


def reply(output) -> Turn:
    return Turn(role="agent", text="Blue Bay.", output=output)


def test_reserved_keys_are_read_as_typed_values():
    turn = reply({"proposes": ["p1"], "figures": [{"thing": "p1", "role": "price", "value": 12, "unit": "yuan"}]})
    assert Structured.of(turn) == Structured(
        proposes=("p1",), figures=(Figure(thing="p1", role="price", value=12.0, unit="yuan"),)
    )


def test_a_clock_time_stays_a_text_and_a_number_a_number():
    figures = [{"thing": "p1", "role": "closing", "value": "18:30"}, {"thing": "p1", "role": "price", "value": 7}]
    assert [figure.value for figure in Structured.of(reply({"figures": figures})).figures] == ["18:30", 7.0]


@pytest.mark.parametrize("output", [None, {}, {"mood": "good"}, {"proposes": "p1"}, {"figures": [{"value": 1}]}])
def test_an_output_without_the_reserved_keys_or_of_another_shape_say_nothing(output):
    assert Structured.of(reply(output)) == Structured()


def test_another_output_makes_another_dialogue():
    digests = {
        trajectory_digest(Trajectory(case="a", turns=(reply(output),)))
        for output in (None, {"proposes": ["p1"]}, {"proposes": ["p2"]})
    }
    assert len(digests) == 3
