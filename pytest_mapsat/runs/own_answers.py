"""What the user's own tools answered in a run goes into the suites' records, once the run is over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mapsat.model import Record, Scorecard
from pytest_mapsat.suite import Suite

if TYPE_CHECKING:
    from pytest_mapsat.recording import Keeping

#: So many reasons are told of why a tool gave no answer.
_TOLD = 5


def keep_answers(lines: Iterable[bytes], suites: Mapping[str, Suite]) -> tuple[list[Keeping], list[str]]:
    """Keep what own tools answered. The suite is not touched while the run uses it: its records are what they were at the start.

    Args:
        lines: the scorecards as ``scorecard_line`` gives them, of episodes with calls that no record answered.
        suites: the suite of each case.

    Returns:
        What was kept, a suite each, and why some calls have no answer.

    Raises:
        SuiteError: a suite or its records cannot be read.
        OSError: records cannot be written.
    """
    from pytest_mapsat.recording import keep_records, recorded_steps, unanswered_steps  # noqa: PLC0415 (only where asked for)

    found: dict[Path, list[Record]] = {}
    unanswered: list[str] = []
    for line in lines:
        trajectory = Scorecard.model_validate_json(line).trajectory
        suite = suites.get(trajectory.case)
        if suite is not None:
            found.setdefault(suite.root, []).extend(recorded_steps(trajectory, suite.tools))
            unanswered += unanswered_steps(trajectory)
    kept = [keep_records(root, records) for root, records in sorted(found.items())]
    return kept, list(dict.fromkeys(unanswered))


def told(kept: Sequence[Keeping], unanswered: Sequence[str], whose: str = "of your own tools") -> list[str]:
    """Return the lines that tell what became of the answers of own tools, or of a model in their place."""
    lines = []
    for one in kept:
        known = f", {one.known} already there" if one.known else ""
        answers = "answer" if one.added == 1 else "answers"
        lines.append(f"{one.added} {answers} {whose} added to {one.path.name}{known}")
        lines += [f"not kept: {problem}" for problem in one.problems]
    more = len(unanswered) - _TOLD
    lines += [f"no answer: {reason}" for reason in unanswered[:_TOLD]]
    return [*lines, *([f"and {more} more without an answer"] if more > 0 else [])]
