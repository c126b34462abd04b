"""Why an item failed, so that it can be read alone: the requirement, what was said, what would do, the calls."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence

from pytest_mapsat.model import (
    ASSERTED_AS,
    MSB_METRICS,
    Case,
    Label,
    Metric,
    Quote,
    Requirement,
    RunRequest,
    Scorecard,
    Step,
)
from pytest_mapsat.options import OPTIONS, Option, fields_of

from . import view
from .text import call_text, cut, printable, side_by_side, wrap
from .view import metric_word

_QUOTE = 160
_QUOTES = 8
_RESULT = 100
_CALLS = 12
_COMPARED = 20
#: Options that change something for one case; what own tools have answered is a recording by then.
_OF_A_CASE = frozenset(name for name, option in OPTIONS.items() if option.changes in ("episode", "item")) - {"on-miss"}
#: Options that stand beside those of the run, first of all.
_SPECS = dict.fromkeys(("agent", "user", "judge"))
#: A blank at which no line is broken.
_HELD = "\N{NO-BREAK SPACE}"


def again_command(request: RunRequest, place: str, named: Collection[str] = ()) -> str:
    """Return the command that runs one case again as it was run, from the folder that pytest was started in.

    Args:
        request: what the run was asked for.
        place: what to give pytest for the case: its file from that folder on, and its name.
        named: options to say although they have their default, as ``max-turns``: an ini file may set another value.
    """
    usual = RunRequest(agent="", user="scripted", judge="checks")
    names = [name for name in sorted({*_OF_A_CASE, "trials"} - _SPECS.keys()) if OPTIONS[name].typed]
    of_case = [OPTIONS[name] for name in (*_SPECS, *names)]
    values = [(option.name, _value_of(request, option), _value_of(usual, option)) for option in of_case]
    options = [_said_option(name, value) for name, value, default in values if value != default or name in named]
    return shlex.join(["pytest", f"./{place}" if place.startswith("-") else place, *options])


def _value_of(request: RunRequest, option: Option) -> object:
    if option.name in _SPECS:
        return getattr(request, option.name)
    return getattr(request.options, "asserted" if option.name == "assert" else fields_of(option)[0])


def _said_option(name: str, value: object) -> str:
    text = ",".join(value) if isinstance(value, tuple) else str(value).removesuffix(".0")
    return f"--mapsat-{name}" if value is True else f"--mapsat-{name}={text}"


def failure_text(
    card: Scorecard,
    case: Case,
    asserted: frozenset[str],
    *,
    again: str,
    width: int = 78,
    short: bool = False,
    metrics: Sequence[Metric] = MSB_METRICS,
) -> str:
    """Return the text of a failed item.

    Args:
        card: the failed episode.
        case: its case.
        asserted: the kinds of requirements that fail an item.
        again: the command that runs the case again.
        width: columns to fit in; only the command may be longer.
        short: only what failed and the words that decided it, without the dialogue.
        metrics: those of the suite.
    """
    lines = _short_lines(card, case, asserted, width) if short else _lines(card, case, asserted, width, metrics)
    return "\n".join([*lines, "", f"run it again: {again}"])


def _short_lines(card: Scorecard, case: Case, asserted: frozenset[str], width: int) -> Iterator[str]:
    told, _ = _missed(card, asserted)
    yield from wrap(_title(card, told), width)
    for label in told:
        yield from _head(label, case, width)
        yield from _said(label, width)


def _lines(
    card: Scorecard, case: Case, asserted: frozenset[str], width: int, metrics: Sequence[Metric]
) -> Iterator[str]:
    told, rest = _missed(card, asserted)
    yield from wrap(_title(card, told), width)
    # A metric and its value stay on one line.
    yield from (line.replace(_HELD, " ") for line in wrap(_scores(card, metrics), width))
    yield from wrap(f"query: {printable(case.visible.query)}", width, hang=7)
    for label in told:
        yield ""
        yield from _label(label, card, case, width)
    if rest:
        yield ""
        yield from wrap(f"also missed, not asserted: {', '.join(_short(label) for label in rest)}", width)
    for label in card.labels:
        if label.requirement in card.unknown:
            yield ""
            yield from wrap(f"not known: {label.requirement} ({label.kind}): {printable(label.why)}", width)
    if card.trajectory.fault is not None and card.trajectory.fault.detail:
        yield ""
        for line in card.trajectory.fault.detail.splitlines():
            yield from wrap(printable(line), width, indent="  ")
    yield ""
    yield from _dialogue(card, width)


def _missed(card: Scorecard, asserted: frozenset[str]) -> tuple[list[Label], list[Label]]:
    """Return the labels that are not satisfied in full: those that are asserted, and the others."""
    missed = view.missed(card)
    told = [label for label in missed if ASSERTED_AS.get(label.kind) in asserted]
    return told, [label for label in missed if label not in told]


def _title(card: Scorecard, told: list[Label]) -> str:
    if card.trajectory.fault is not None or not told:
        return printable(card.reason)
    return f"broken: {', '.join(label.requirement for label in told)}"


def _scores(card: Scorecard, metrics: Sequence[Metric]) -> str:
    spans = {metric.name: card.bounds_of(metric.name) for metric in metrics if metric.gated}
    known = [
        f"{metric_word(name)} {' to '.join(dict.fromkeys(f'{end:.2f}' for end in span))}".replace(" ", _HELD)
        for name, span in spans.items()
        if span
    ]
    return "  ".join(known) or "no metric could be computed"


def _fate(tool: str, card: Scorecard) -> str:
    statuses = {call.status for call in card.trajectory.calls if call.tool == tool}
    return "answered" if "ok" in statuses else "was called and did not answer" if statuses else "was never called"


def _label(label: Label, card: Scorecard, case: Case, width: int) -> Iterator[str]:
    yield from _head(label, case, width)
    yield from _said(label, width)
    if label.wanted:
        yield from wrap(f"wanted  {printable(label.wanted)}", width, indent="    ", hang=8)
    for tool in case.truth.tools:
        if label.requirement in tool.evidence:
            yield from wrap(f"rests on {tool.name}, which {_fate(tool.name, card)}", width, indent="    ", hang=8)
    requirement = _requirement(label, case)
    if requirement is not None and requirement.source != "unstated":
        notes = "; ".join(printable(evidence.text) for evidence in requirement.evidence if evidence.text)
        yield from wrap(
            f"known   from the {requirement.source}" + (f": {notes}" if notes else ""), width, indent="    ", hang=8
        )


def _head(label: Label, case: Case, width: int) -> Iterator[str]:
    """Name the requirement and say how far it was met."""
    title = {"hard": "hard constraint", "soft": "preference"}.get(label.kind, label.kind)
    requirement = _requirement(label, case)
    text = printable(requirement.text) if requirement else "(a requirement that the case no longer has)"
    how = f"met in part ({label.value:g} of 1)" if label.value else "broken"
    yield from wrap(f"{title} {how}: {label.requirement}: {text}", width)


def _said(label: Label, width: int) -> Iterator[str]:
    """Quote the words that decided, and give the judge's reason whole."""
    quotes = list(dict.fromkeys(label.quotes))
    for quote in quotes[:_QUOTES]:
        text = f"said    {_where(quote)}: “{cut(printable(quote.text), _QUOTE)}”"
        yield from wrap(text, width, indent="    ", hang=8)
    if len(quotes) > _QUOTES:
        yield f"    ... and {len(quotes) - _QUOTES} more quotes"
    if label.why:
        yield from wrap(f"why     {printable(label.why)}", width, indent="    ", hang=8)
    yield from side_by_side(label.compared[:_COMPARED], width, indent="    ")
    if len(label.compared) > _COMPARED:
        yield f"    ... and {len(label.compared) - _COMPARED} more lines"


def _requirement(label: Label, case: Case) -> Requirement | None:
    return next((requirement for requirement in case.truth.requirements if requirement.id == label.requirement), None)


def _short(label: Label) -> str:
    value = "" if label.value in (None, 0) else f" {label.value:g} of 1"
    return f"{label.requirement} ({label.kind}{value})"


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
    kind = view.answered_by(step)
    call = f"-> {cut(call_text(step.tool, step.arguments), 3 * width)}  [{kind}]"
    yield from wrap(call, width, indent="    ", hang=3)
    failed = kind in ("error", "refused")
    for note in [cut(printable(str(step.result)), _RESULT)] if failed else view.call_notes(step):
        yield from wrap(cut(note, 3 * _RESULT), width, indent="         ")
