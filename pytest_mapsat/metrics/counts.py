"""What an episode used: calls, answers by provenance, questions, tokens and money."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mapsat.model import PROVENANCE_KINDS, CallCounts, ProvenanceKind, Spent, Step, Turn, Usage, total_usage

_NOBODY_SAYS = Spent()


def count_provenance(calls: Sequence[Step]) -> dict[ProvenanceKind, int]:
    """Return how many tool answers came from where; calls that failed on name or arguments have no provenance."""
    found = dict.fromkeys(PROVENANCE_KINDS, 0)
    for call in calls:
        if call.provenance is not None:
            found[call.provenance.kind] += 1
        elif call.status == "miss":
            found["miss"] += 1
    return found


def count_calls(calls: Sequence[Step]) -> CallCounts:
    """Return how often tools were called: in all, with an error as the answer, refused, and by name (sorted)."""
    by_tool: dict[str, int] = {}
    for call in calls:
        by_tool[call.tool] = by_tool.get(call.tool, 0) + 1
    statuses = [call.status for call in calls]
    return CallCounts(
        total=len(calls),
        failed=statuses.count("error"),
        refused=statuses.count("refused"),
        by_tool=dict(sorted(by_tool.items())),
    )


def count_clarifications(replies: Sequence[Turn]) -> int:
    """Return how many replies ask something: those that contain a question mark."""
    return sum(["?" in turn.text or "？" in turn.text for turn in replies])


def sum_spent(replies: Sequence[Turn]) -> Spent:
    """Return the totals of what the agent spent; null where one of its replies does not say."""
    return sum_usage([turn.usage for turn in replies])


def sum_user(turns: Sequence[Turn]) -> Spent | None:
    """Return the totals of what the model that speaks for the user spent; None where no model did."""
    parts = [turn.usage for turn in turns if turn.role == "user" and _says_anything(turn.usage)]
    return sum_usage(parts) if parts else None


def sum_sandbox(calls: Sequence[Step]) -> Spent | None:
    """Return the totals of what a model spent that simulated answers of tools; None where none was asked."""
    parts = [call.usage for call in calls if call.usage is not None]
    return sum_usage(parts) if parts else None


def sum_usage(parts: Sequence[Usage]) -> Spent:
    """Return the totals; null where one of the parts does not say, and where there is none."""
    if not any(map(_says_anything, parts)):
        return _NOBODY_SAYS
    total = total_usage(parts)
    return Spent(input_tokens=total.input_tokens, output_tokens=total.output_tokens, cost=total.cost)


def _says_anything(usage: Usage) -> bool:
    return usage.input_tokens is not None or usage.output_tokens is not None or usage.cost is not None
