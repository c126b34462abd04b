"""The terminal summary: metrics with denominators and intervals, provenance, worst and slowest cases, the gate."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_mapsat.model import PROVENANCE_KINDS, Aggregate, Gate, Run, Scorecard

from .text import cut, printable, wrap

_COLUMNS = ("ar", "ses", "ecr", "iisr", "ts", "ifs", "eff")
_WORST = 5
_SLOWEST = 3


class Line(NamedTuple):
    """A line of the summary; ``style`` is one of pytest's markup words, or empty."""

    text: str
    style: str = ""


def summary_lines(run: Run, *, width: int, colour: bool, brief: bool = False) -> list[Line]:
    """Return the summary of a run.

    Args:
        run: the run; trajectories are not read.
        width: columns of the terminal.
        colour: whether the table may hold escape codes.
        brief: whether only the gate and what is lost is told.
    """
    if brief:
        return list(_gate(run.gate, width))
    lines = [*_head(run, width), Line("")]
    if run.cases:
        lines += [Line(text) for text in _table(run, width, colour=colour)]
        lines += [*_left_out(run, width), *_intervals(run, width), Line("")]
        lines += [*_counts(run, width), *_worst(run, width), *_slowest(run, width)]
    return [*lines, *_warnings(run, width), *_gate(run.gate, width)]


def _head(run: Run, width: int) -> Iterator[Line]:
    suites = ", ".join(f"{suite.name} {suite.version}" for suite in run.manifest.suites) or "none"
    judge = run.manifest.judge.spec
    yield Line(cut(f"agent  {printable(run.manifest.agent)}", width))
    yield Line(cut(f"suite  {suites} · user {run.manifest.user} · judge {printable(judge)}", width))
    if run.manifest.judge.linked is False:
        yield Line("judge  its verdicts are joined by case id only: they may be about other dialogues", "yellow")


def _table(run: Run, width: int, *, colour: bool) -> list[str]:
    from rich import box  # noqa: PLC0415 (90 ms, for the summary only)
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1), show_edge=False)
    table.add_column("", no_wrap=True, overflow="ellipsis", max_width=24)
    table.add_column("cases", justify="right", no_wrap=True)
    for name in (*_COLUMNS, "passed"):
        table.add_column(name.upper() if name != "passed" else name, justify="right", no_wrap=True)
    table.add_row("all", *_row(run.cases, run.summary), style="bold")
    domains = run.groups.get("domain", {})
    for domain in sorted(domains):
        cards = [card for card in run.cases if domain in (card.domains or ("none",))]
        table.add_row(domain, *_row(cards, domains[domain]))
    text = io.StringIO()
    console = Console(
        file=text, width=width, force_terminal=colour, color_system="standard" if colour else None, legacy_windows=False
    )
    console.print(table)
    return [line.rstrip() for line in text.getvalue().splitlines() if line.strip()]


def _row(cards: Sequence[Scorecard], aggregates: Mapping[str, Aggregate]) -> list[str]:
    passed = sum(card.outcome == "passed" for card in cards)
    return [
        str(len({card.id for card in cards})),
        *(_mean(aggregates.get(name)) for name in _COLUMNS),
        f"{passed}/{len(cards)}",
    ]


def _mean(aggregate: Aggregate | None) -> str:
    return "-" if aggregate is None or aggregate.mean is None else f"{aggregate.mean:.3f}"


def _intervals(run: Run, width: int) -> Iterator[Line]:
    parts = []
    for name in ("ar", "ses"):
        aggregate = run.summary.get(name)
        if aggregate and aggregate.mean is not None and aggregate.low is not None and aggregate.high is not None:
            parts.append(
                f"{name.upper()} {aggregate.mean:.3f} [{aggregate.low:.3f}, {aggregate.high:.3f}] over {aggregate.n} cases"
            )
    if parts:
        yield from _wrapped("95 % interval: ", "; ".join(parts), width)


def _left_out(run: Run, width: int) -> Iterator[Line]:
    parts = []
    for name in _COLUMNS:
        aggregate = run.summary.get(name)
        if aggregate and aggregate.left_out:
            classes = ", ".join(
                f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(aggregate.left_out.items())
            )
            parts.append(f"{name.upper()} over {aggregate.n} ({classes})")
    if parts:
        yield from _wrapped("not every case counts everywhere: ", "; ".join(parts), width, "yellow")


def _counts(run: Run, width: int) -> Iterator[Line]:
    totals = {kind: sum(getattr(card.sandbox, kind) for card in run.cases) for kind in PROVENANCE_KINDS}
    calls = sum(card.calls.total for card in run.cases)
    answered = ", ".join(f"{count} {kind}" for kind, count in totals.items() if count) or "no answer"
    failed = sum(card.calls.failed for card in run.cases)
    text = f"{calls} calls: {answered}" + (f", {failed} with an error" if failed else "")
    yield from _wrapped("sandbox ", text, width, "yellow" if totals["miss"] else "")
    replies = sum(card.turns for card in run.cases)
    asked = sum(card.clarifications for card in run.cases)
    vacuous = sum(card.vacuous for card in run.cases)
    facts = sum(label.kind == "fact" and label.outcome == "passed" for card in run.cases for label in card.labels)
    text = f"{replies} agent replies, {asked} of them asking; {vacuous} of {facts} kept facts are vacuous (nothing claimed)"
    unchecked = sum(card.unchecked_rules for card in run.cases)
    if unchecked:
        text += f"; {unchecked} tool rules in prose unchecked"
    yield from _wrapped("dialogue ", text, width)


def _worst(run: Run, width: int) -> Iterator[Line]:
    scored = [card for card in run.cases if card.ar is not None and (card.ar < 1 or card.outcome == "failed")]
    scored.sort(key=lambda card: (card.outcome != "failed", card.ar, card.id, card.trial))
    for number, card in enumerate(scored[:_WORST]):
        reason = card.reason or f"missed: {', '.join(_missed(card)) or 'nothing that was judged'}"
        label = "worst" if not number else ""
        yield Line(cut(f"{label:8} {_name(card)}  AR {card.ar:.2f}  {printable(reason)}", width), "")


def _missed(card: Scorecard) -> list[str]:
    return [label.factor for label in card.labels if label.value is not None and label.value < 1]


def _slowest(run: Run, width: int) -> Iterator[Line]:
    slow = sorted(run.cases, key=lambda card: (-card.timing.seconds, card.id, card.trial))[:_SLOWEST]
    text = ", ".join(f"{_name(card)} {card.timing.seconds:.2f} s" for card in slow)
    yield from _wrapped("slowest  ", text, width)


def _warnings(run: Run, width: int) -> Iterator[Line]:
    for warning in run.manifest.warnings:
        yield from _wrapped("warning  ", printable(warning), width, "yellow")


def _gate(gate: Gate, width: int) -> Iterator[Line]:
    style = {"passed": "green", "failed": "red", "inconclusive": "yellow", "invalid": "red"}[gate.outcome]
    reasons = gate.reasons or ("",)
    yield from _wrapped(
        "gate     ", f"{gate.outcome.upper()}" + (f": {reasons[0]}" if reasons[0] else ""), width, style
    )
    for reason in reasons[1:]:
        yield from _wrapped("         ", reason, width, style)


def _wrapped(label: str, text: str, width: int, style: str = "") -> Iterator[Line]:
    for number, line in enumerate(wrap(text, width - len(label))):
        yield Line((label if not number else " " * len(label)) + line, style)


def _name(card: Scorecard) -> str:
    return card.id if card.trial == 1 else f"{card.id}-t{card.trial}"
