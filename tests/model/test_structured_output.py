"""What an agent hands over as data: kept with its turn."""

from pytest_mapsat.model import Trajectory, Turn, trajectory_digest


def reply(output) -> Turn:
    return Turn(role="agent", text="Blue Bay.", output=output)


def test_another_output_makes_another_dialogue():
    digests = {
        trajectory_digest(Trajectory(case="a", turns=(reply(output),)))
        for output in (None, {"proposes": ["p1"]}, {"proposes": ["p2"]})
    }
    assert len(digests) == 3
