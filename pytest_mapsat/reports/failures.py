"""Why the cases of a run failed, by kind of check, in words that are fixed for each kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_mapsat.metrics import by_key, case_rows, trial_outcome
from pytest_mapsat.model import ASSERTED_AS, Label, Run, Scorecard

from .view import leading, missed

#: The plain words for a failure, by the kind of its check.
CHECK_WORDS = {
    "says": "something that must, or must not, be said",
    "number": "a figure that is missing or wrong",
    "clock_time": "a time of day that is missing or wrong",
    "travels": "another way of travelling",
    "recommends": "a choice that does not fit",
    "located": "a place too far away",
    "addressed": "an address that is missing or wrong",
    "calls": "tool calls other than wanted",
    "state": "records at the end are not as wanted",
    "unchanged": "something changed that must stay",
    "same_end": "the end state is not as wanted",
    "output": "the structured output is not as wanted",
    "matches": "a text without the wanted pattern",
    "asked": "too few or too many questions",
    "grounded": "a claim that no tool result supports",
    "private": "private data where none may stand",
    "consent": "an act without the user's yes",
    "quiet": "something done where nothing was due",
    "python": "a check in Python",
}
#: The plain words for a failure that no check found, by its kind.
OTHER_WORDS = {
    "partly": "a preference that is met only in part",
    "model": "a requirement not met, says the judging model",
    "decision": "a requirement not met, says a person",
    "recorded": "a requirement not met, says the recorded verdict",
    "agent_error": "the agent raised an error or sent no valid reply",
    "timeout": "the agent took too long",
    "silent": "the agent gave no answer",
    "measure": "the measure of success is below 1",
    "unknown": "a requirement not met",
}
#: The kind of check that a label of an older run file most likely failed by: of what it read, the most frequent.
_OF_READING = {"words": "says", "figure": "number", "travels": "travels", "choice": "recommends", "claims": "grounded"}


@dataclass(frozen=True, slots=True)
class Failure:
    """A requirement that causes the failure of an episode.

    Attributes:
        card: the episode.
        label: of the requirement; None where the episode failed otherwise, such as by an error of the agent.
    """

    card: Scorecard
    label: Label | None = None

    @property
    def requirement(self) -> str:
        """Return the id of the requirement; empty without a label."""
        return "" if self.label is None else self.label.requirement


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """The failures of a run by one kind of check.

    Attributes:
        kind: of the check, as ``same_end``, or a key of ``OTHER_WORDS``.
        words: the plain words for the kind.
        failures: those of the worst case first.
    """

    kind: str
    words: str
    failures: tuple[Failure, ...]

    @property
    def cases(self) -> tuple[str, ...]:
        """Return the ids of the cases without repetitions, worst first."""
        return tuple(dict.fromkeys(failure.card.id for failure in self.failures))

    @property
    def requirements(self) -> dict[str, tuple[str, ...]]:
        """Return the ids of the failed cases by requirement id, starting with the most frequent requirement."""
        by_requirement = by_key((failure.requirement, failure.card.id) for failure in self.failures)
        cases = {name: tuple(dict.fromkeys(ids)) for name, ids in by_requirement.items()}
        return dict(sorted(cases.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def failure_groups(run: Run) -> tuple[FailureGroup, ...]:
    """Return the failures of a run by kind of check, starting with the kind with the most cases.

    Of each failed case those trials count that failed at their last attempt, and in them the requirements that fail an
    item. A case stands in the group of each kind that it fails by.
    """
    by_kind = by_key((_kind(failure), failure) for failure in _failures(run))
    metric = leading(run)

    def order(failure: Failure) -> tuple[float, int, str, int]:
        """Return the sort key of a failure: the lowest scores first, then the most requirements missed."""
        card = failure.card
        return (card.bounds_of(metric) or (0.0, 0.0))[1], -len(missed(card)), card.id, card.trial

    words = CHECK_WORDS | OTHER_WORDS
    groups = [FailureGroup(kind, words[kind], tuple(sorted(some, key=order))) for kind, some in by_kind.items()]
    return tuple(sorted(groups, key=lambda group: (-len(group.cases), group.kind)))


def _failures(run: Run) -> Iterator[Failure]:
    """Yield the causes of failure in the failed trials of failed cases."""
    asserted = run.manifest.options.asserted_kinds
    for row in case_rows(run.cases, run.manifest.options.pass_rule):
        if row.outcome != "failed":
            continue
        last = {card.trial: card for card in sorted(row.cards, key=lambda card: card.attempt)}
        for card in last.values():
            if trial_outcome(card) == "failed":
                labels = [label for label in missed(card) if ASSERTED_AS.get(label.kind) in asserted]
                labels = [] if card.trajectory.fault is not None or _is_silent(card) else labels
                yield from [Failure(card, label) for label in labels] or [Failure(card)]


def _is_silent(card: Scorecard) -> bool:
    """Return whether an episode failed because no reply has any words."""
    return card.reason.startswith(OTHER_WORDS["silent"])


def _kind(failure: Failure) -> str:
    """Return the kind of the failed check, or the key of another cause."""
    label, card = failure.label, failure.card
    if label is None:
        ending = "silent" if _is_silent(card) else card.trajectory.ending
        return ending if ending in OTHER_WORDS else "measure"
    if label.value:
        return "partly"
    check = label.check or _OF_READING.get(label.reading, "")
    return check if check in CHECK_WORDS else label.by if label.by in OTHER_WORDS else "unknown"
