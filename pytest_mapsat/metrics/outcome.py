"""Does the item pass? The asserted labels of one episode, who broke one that has none, and who is to blame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pytest_mapsat.model import Blame, Case, Count, Ending, Fault, Label, Outcome, Trajectory

from .labels import Measure, Reading, between, read_labels
from .satisfaction import nothing_asked

_BLAME_BY_ENDING: dict[Ending, Blame] = {
    "agent_error": "agent",
    "timeout": "agent",
    "user_error": "user",
    "infrastructure_error": "infrastructure",
}


def fault_of(trajectory: Trajectory) -> Fault | None:
    """Return what broke the episode, or None where the agent had its say.

    An agent that gives only blank replies, or none, has broken it itself.
    """
    if trajectory.fault is not None:
        return trajectory.fault
    if trajectory.ending in _BLAME_BY_ENDING:
        return Fault(blame=_BLAME_BY_ENDING[trajectory.ending], message=trajectory.ending.replace("_", " "))
    replies = trajectory.replies
    if any(map(_visible, [turn.text for turn in replies])):
        return None
    found = f"{len(replies)} blank replies" if replies else "no reply"
    return Fault(blame="agent", message=f"the agent gave no answer ({found})")


def class_of(fault: Fault) -> Outcome:
    """Return the outcome class of an item that ``fault`` broke: the agent's own fault is its failure."""
    if fault.blame == "agent":
        return "failed"
    return "unevaluated" if fault.blame == "judge" else "error"


def _visible(text: str) -> bool:
    return any(not char.isspace() and char.isprintable() for char in text)


#: What may be asserted of an item: hard implicit requirements, fact requirements, policies, what the query asks for, soft requirements in full, and the metric that
#: the suite calls its success.
ASSERTABLE = ("hard", "facts", "policies", "asked", "soft", "success")

_LONGEST_REASON = 300
#: Products of floats that are all but 1.
_TOLERANCE = 1e-9
_UNKNOWN: tuple[Outcome, ...] = ("error", "unevaluated")


class ItemOutcome(NamedTuple):
    """How one item ends.

    Attributes:
        outcome: ``passed``, ``failed``, ``unevaluated`` (an asserted label is not known), ``error`` (not the agent's fault) or ``not_applicable`` (nothing
            is asserted).
        blame: who it is laid to when not passed; None where it is undecided.
        reason: why, on one line; empty when passed on labels.
        unknown: the asserted requirements whose label is not known, and the metric of success where it is not.
    """

    outcome: Outcome
    blame: Blame | None = None
    reason: str = ""
    unknown: tuple[str, ...] = ()


def broken_item(fault: Fault) -> ItemOutcome:
    """Return the outcome of an episode that ``fault`` broke, whatever is asserted."""
    return ItemOutcome(class_of(fault), fault.blame, _one_line(fault.message))


def item_outcome(
    case: Case,
    labels: Mapping[str, Label],
    *,
    asserted: frozenset[str],
    count: Count | None = None,
    success: tuple[str, Measure] | None = None,
) -> ItemOutcome:
    """Return how the item ends under the asserted labels.

    Args:
        case: the case.
        labels: the verdict's labels by requirement id.
        asserted: members of ``ASSERTABLE``.
        count: how many explicit requirements are met, for a verdict that does not say which.
        success: the metric that is 1 where the case is done, and its name; None where the suite names none.

    Returns:
        ``failed`` when an asserted label failed; else ``error`` or ``unevaluated`` when one is not known, or when the case asks for nothing
        that could be judged; else ``passed``. A soft requirement holds when it is satisfied in full.
    """
    readings = [
        (kind, reading)
        for kind in ASSERTABLE
        if kind in asserted
        for reading in (_readings(case, kind, labels, count) if kind != "success" else _success(success))
    ]
    failing = [one for one in readings if one[1].value is not None and one[1].value < 1]
    unknown = [one for one in readings if one[1].outcome in _UNKNOWN]
    names = tuple([reading.requirement for _, reading in unknown])
    if failing:
        return ItemOutcome("failed", _blame([reading for _, reading in failing]), _told(failing, "failed:"), names)
    if unknown:
        # What somebody is to blame for is told before what nobody could decide.
        unknown.sort(key=lambda pair: (_UNKNOWN.index(pair[1].outcome), pair[1].undecided))
        first = unknown[0][1]
        # The reason of an undecided label begins with that word.
        return ItemOutcome(
            first.outcome, first.blame, _told(unknown, "is" if first.undecided else "could not be judged:"), names
        )
    if why := nothing_asked(case):
        return ItemOutcome("unevaluated", "judge", why)
    if asserted and not readings:
        kinds = ", ".join(kind for kind in ASSERTABLE if kind in asserted)
        return ItemOutcome("not_applicable", None, f"nothing is asserted: the case has no requirement of {kinds}")
    return ItemOutcome("passed")


def _readings(case: Case, kind: str, labels: Mapping[str, Label], count: Count | None) -> Sequence[Reading]:
    truth = case.truth
    if kind == "facts":
        return read_labels(truth.facts, labels)
    if kind == "policies":
        return read_labels(truth.policies, labels)
    if kind == "asked":
        return _with_count(read_labels(truth.explicit, labels), count)
    return read_labels([requirement for requirement in truth.implicit if requirement.severity == kind], labels)


def _success(success: tuple[str, Measure] | None) -> Sequence[Reading]:
    """Read the metric of success: it holds at 1 and is broken where it cannot come to 1."""
    if success is None:
        return ()
    name, measure = success
    done = achieved(measure)
    if measure.span is None or done.span is None:
        return (Reading(name, None, done.outcome_class or "unevaluated", "judge", done.why),)
    if done.value is None:
        return (Reading(name, None, "unevaluated", None, done.why, bounded=True),)
    outcome: Outcome = "passed" if done.value else "failed"
    return (Reading(name, done.value, outcome, None, f"it is {measure.span[1]:g}, done is 1"),)


def achieved(measure: Measure) -> Measure:
    """Return whether a metric of success says that the case is done: 1 where it is 1, 0 where it cannot come to 1, else open between them."""
    if measure.span is None:
        return measure
    least, most = (float(end >= 1 - _TOLERANCE) for end in measure.span)
    return between(least, most, measure.why)


def _with_count(readings: Sequence[Reading], count: Count | None) -> Sequence[Reading]:
    """Let a sound count stand in for labels that are not known."""
    unknown = any(reading.outcome == "unevaluated" for reading in readings)
    if count is None or not unknown or count.total != len(readings) or count.met > count.total:
        return readings
    why = f"{count.met} of {count.total} explicit requirements are met"
    held = count.met == count.total
    return (Reading("(count)", float(held), "passed" if held else "failed", None, why),)


def _blame(failing: Sequence[Reading]) -> Blame:
    """Lay a failure to the agent unless every failing label names somebody else."""
    blames: list[Blame] = [reading.blame or "agent" for reading in failing]
    return "agent" if "agent" in blames else blames[0]


def _told(readings: Sequence[tuple[str, Reading]], verb: str) -> str:
    """Return what became of the first of some labels, on one line, and how many others there are."""
    kind, first = readings[0]
    more = f" (and {len(readings) - 1} more)" if len(readings) > 1 else ""
    return _one_line(f"{kind} {first.requirement} {verb} {first.why}".strip().removesuffix(":"), more)


def _one_line(text: str, end: str = "") -> str:
    line = " ".join(text.split())
    return (line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "...") + end
