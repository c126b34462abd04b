"""How hidden needs came to be met: unasked, after a question, after the user volunteered it, or not at all.

A user's turn counts if a reply of the agent follows it. After words without ``reveals`` it is unknown how a need came to be met.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_mapsat.model import Metric, Turn

from .metric_set import Measure, MetricInput, MetricSet, share_of

#: The ways, each with its title.
_WAYS = {
    "unasked": "hidden needs met before the user mentioned them",
    "asked": "hidden needs met after the user answered a question about them",
    "told": "hidden needs met after the user mentioned them unasked",
    "missed": "hidden needs that are not met in full",
}
_SOURCES = ("context", "profile", "environment", "unstated")


def ways_of(need: str, value: float | None, turns: Sequence[Turn]) -> frozenset[str]:
    """Return the ways in which a need may have come to be met; a single one where that is known.

    Args:
        need: id of a hard or soft requirement.
        value: value of its label; None if it is not known. A soft need is met in full or missed.
        turns: the dialogue.
    """
    if value is not None and value < 1:
        return frozenset({"missed"})
    last = max((at for at, turn in enumerate(turns) if turn.role == "agent"), default=0)
    ways: set[str] = set()
    for turn in turns[1:last]:
        if turn.role == "user" and turn.reveals is None:
            ways |= {"asked", "told"}
        elif turn.role == "user" and turn.reveals and need in turn.reveals:
            ways.add(turn.reveals[need])
            break
    else:
        ways.add("unasked")
    return frozenset(ways | (set() if value is not None else {"missed"}))


def _measure(metric_input: MetricInput) -> Mapping[str, Measure]:
    """Return the share of hidden needs by way, over all needs and by source. An agent that broke the episode has missed all."""
    fault, turns, truth = metric_input.fault, metric_input.trajectory.turns, metric_input.case.truth
    # That nothing is to be done is no need that words reveal.
    needs = [need for need in truth.implicit if not (truth.quiet and need.id == "quiet")]
    values = [0.0 if fault else metric_input.readings[need.id].value for need in needs]
    ways = [(need.source, ways_of(need.id, value, turns)) for need, value in zip(needs, values, strict=True)]
    measures = {}
    for source in ("", *_SOURCES):
        of_source = [some for own, some in ways if source in ("", own)]
        nothing = f"the case has no hidden need{f' of the source {source}' if source else ''}"
        for way in _WAYS:
            answers = [True if some == {way} else None if way in some else False for some in of_source]
            measures[_name(way, source)] = share_of(answers, nothing)
    return measures


def _name(way: str, source: str) -> str:
    """Return the name of a metric: ``needs_unasked``, or of one source ``needs_unasked_profile``."""
    return f"needs_{way}_{source}".rstrip("_")


#: Four shares that sum to 1, over all hidden needs and by source; only needs met unasked are better the more there are.
NEEDS = MetricSet(
    "needs",
    [
        Metric(name=_name(way, source), title=title, earned=False, gated=(way, source) == ("unasked", ""))
        for source in ("", *_SOURCES)
        for way, title in _WAYS.items()
    ],
    _measure,
)
