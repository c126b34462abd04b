"""What an episode used: calls, answers by provenance, questions, tokens and money."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_mapsat.model import PROVENANCE_KINDS, CallCounts, ProvenanceKind, Spent, Step, Turn, Usage, total_usage

_NOTHING = Usage()
_QUESTION_MARKS = ("?", "？")


def count_provenance(calls: Sequence[Step]) -> dict[ProvenanceKind, int]:
    """Return how many tool answers came from where; calls that failed on name or arguments have no provenance."""
    kinds = Counter(call.provenance.kind if call.provenance else "miss" for call in calls if _answered(call))
    return {kind: kinds[kind] for kind in PROVENANCE_KINDS}


def _answered(call: Step) -> bool:
    return call.provenance is not None or call.status == "miss"


def count_calls(calls: Sequence[Step]) -> CallCounts:
    """Return how often tools were called: in all, with an error as the answer, refused, and by name (sorted)."""
    by_tool = Counter(call.tool for call in calls)
    failed = sum(call.status == "error" for call in calls)
    refused = sum(call.status == "refused" for call in calls)
    return CallCounts(total=len(calls), failed=failed, refused=refused, by_tool=dict(sorted(by_tool.items())))


def count_clarifications(replies: Sequence[Turn]) -> int:
    """Return how many replies ask something: those that contain a question mark."""
    return sum(any(mark in turn.text for mark in _QUESTION_MARKS) for turn in replies)


def sum_spent(replies: Sequence[Turn]) -> Spent:
    """Return the totals of what the agent spent; null where one of its replies does not say."""
    return sum_usage([turn.usage for turn in replies])


def sum_user(turns: Sequence[Turn]) -> Spent | None:
    """Return the totals of what the model that speaks for the user spent; None where no model did."""
    parts = [turn.usage for turn in turns if turn.role == "user" and turn.usage != _NOTHING]
    return sum_usage(parts) if parts else None


def sum_world(calls: Sequence[Step]) -> Spent | None:
    """Return the totals of what a model spent that simulated answers of tools; None where none was asked."""
    parts = [call.usage for call in calls if call.usage is not None]
    return sum_usage(parts) if parts else None


def sum_usage(parts: Sequence[Usage]) -> Spent:
    """Return the totals; null where one of the parts does not say, and where there is none."""
    if not parts:
        return Spent()
    total = total_usage(parts)
    return Spent(input_tokens=total.input_tokens, output_tokens=total.output_tokens, cost=total.cost)
