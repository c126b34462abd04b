"""Why an item failed, so that it can be read alone: the factor, what was said, what would do, the calls."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from pytest_mapsat.model import EARNED_METRICS, Case, ImplicitFactor, Label, Provenance, Quote, Scorecard, Step

from .text import call_text, cut, printable, wrap

_QUOTE = 160
_RESULT = 100
_CALLS = 12


def failure_text(card: Scorecard, case: Case, asserted: frozenset[str], *, again: str, width: int = 78) -> str:
    """Return the text of a failed item.

    Args:
        card: the failed episode.
        case: its case.
        asserted: the kinds of factors that fail an item.
        again: what to give pytest to run the case again.
        width: columns to fit in.
    """
    return "\n".join([*_lines(card, case, asserted, width), "", f"run it again: pytest {shlex.quote(again)}"])


def _lines(card: Scorecard, case: Case, asserted: frozenset[str], width: int) -> Iterator[str]:
    broken = [label for label in card.labels if label.outcome == "failed"]
    told = [label for label in broken if _kind(label, case) in asserted]
    yield from wrap(_title(card, told), width)
    yield from wrap(_scores(card), width)
    yield from wrap(f"query: {printable(case.visible.query)}", width, hang=7)
    for label in told:
        yield ""
        yield from _label(label, case, width)
    rest = [label for label in broken if label not in told]
    if rest:
        yield ""
        yield from wrap(f"also missed, not asserted: {', '.join(_short(label, case) for label in rest)}", width)
    for label in card.labels:
        if label.factor in card.unknown:
            yield ""
            yield from wrap(f"not known: {label.factor} ({_kind(label, case)}): {printable(label.why)}", width)
    if card.trajectory.fault is not None and card.trajectory.fault.detail:
        yield ""
        yield from wrap(printable(card.trajectory.fault.detail), width, indent="  ")
    yield ""
    yield from _dialogue(card, width)


def _title(card: Scorecard, told: list[Label]) -> str:
    if card.trajectory.fault is not None or not told:
        return printable(card.reason)
    return f"broken: {', '.join(label.factor for label in told)}"


def _scores(card: Scorecard) -> str:
    spans = {name: card.bounds_of(name) for name in EARNED_METRICS}
    known = [
        f"{name.upper()} {' to '.join(dict.fromkeys(f'{end:.2f}' for end in span))}"
        for name, span in spans.items()
        if span
    ]
    return "  ".join(known) or "no metric could be computed"


def _kind(label: Label, case: Case) -> str:
    if label.kind == "fact":
        return "facts"
    if label.kind == "explicit":
        return "explicit"
    return _severity(label.factor, case)


def _severity(factor_id: str, case: Case) -> str:
    return next((factor.severity for factor in case.truth.implicit if factor.id == factor_id), "soft")


def _label(label: Label, case: Case, width: int) -> Iterator[str]:
    factor = next((factor for factor in case.truth.factors if factor.id == label.factor), None)
    title = {"facts": "fact", "explicit": "explicit", "hard": "hard constraint", "soft": "preference"}[
        _kind(label, case)
    ]
    text = printable(factor.text) if factor else "(a factor that the case no longer has)"
    yield from wrap(f"{title} broken: {label.factor}: {text}", width)
    for quote in list(dict.fromkeys(label.quotes))[:3]:
        yield from wrap(
            f"said    {_where(quote)}: “{cut(printable(quote.text), _QUOTE)}”", width, indent="    ", hang=8
        )
    if label.why:
        yield from wrap(f"why     {printable(label.why)}", width, indent="    ", hang=8)
    if label.wanted:
        yield from wrap(f"wanted  {printable(label.wanted)}", width, indent="    ", hang=8)
    if isinstance(factor, ImplicitFactor) and factor.source != "unstated":
        notes = "; ".join(printable(evidence.text) for evidence in factor.evidence if evidence.text)
        yield from wrap(
            f"known   from the {factor.source}" + (f": {notes}" if notes else ""), width, indent="    ", hang=8
        )


def _short(label: Label, case: Case) -> str:
    value = "" if label.value in (None, 0) else f" {label.value:g} of 1"
    return f"{label.factor} ({_kind(label, case)}{value})"


def _where(quote: Quote) -> str:
    return f"turn {quote.turn}, chars {quote.start}-{quote.end}"


def _dialogue(card: Scorecard, width: int) -> Iterator[str]:
    yield "dialogue and calls:"
    numbered = 0
    for index, turn in enumerate(card.trajectory.turns):
        for step in turn.steps:
            if step.kind != "call":
                continue
            numbered += 1
            if numbered <= _CALLS:
                yield from _call(step, width)
        yield from wrap(
            f"{index} {turn.role}: {cut(printable(turn.text) or '(nothing)', 3 * width)}", width, indent="  "
        )
    if numbered > _CALLS:
        yield f"    ... and {numbered - _CALLS} more calls"
    if card.trajectory.ending != "done":
        yield f"  ended: {card.trajectory.ending.replace('_', ' ')}"


def _call(step: Step, width: int) -> Iterator[str]:
    provenance = step.provenance
    kind = step.status if step.status == "error" else provenance.kind if provenance else step.status
    yield from wrap(
        f"-> {cut(call_text(step.tool, step.arguments), 3 * width)}  [{kind}]", width, indent="    ", hang=3
    )
    for line in _explained(kind, provenance, step):
        yield from wrap(line, width, indent="         ")


def _explained(kind: str, provenance: Provenance | None, step: Step) -> Iterable[str]:
    if kind == "error":
        yield cut(printable(str(step.result)), _RESULT)
        return
    if provenance and provenance.note:
        yield printable(provenance.note)
    for difference in provenance.differences if provenance else ():
        distance = f", {difference.distance_m:.0f} m apart" if difference.distance_m is not None else ""
        score = f", similarity {difference.score:.2f}" if difference.score is not None else ""
        note = f" ({printable(difference.note)})" if difference.note else ""
        yield (
            f"{difference.parameter}: asked {cut(printable(repr(difference.asked)), 60)}, "
            f"recorded {cut(printable(repr(difference.recorded)), 60)}{distance}{score}{note}"
        )
