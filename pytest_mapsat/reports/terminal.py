"""The terminal summary: metrics with denominators and intervals, provenance, worst and slowest cases, the gate."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pytest_mapsat.metrics import CaseRow, case_rows, votes_agree
from pytest_mapsat.model import PROVENANCE_KINDS, USER, Aggregate, Gate, Run, Spent

from .changes import Line, change_lines, rule_lines
from .text import cell_width, cut, printable, wrap
from .values import PASS_RATE, card_name, gated_metrics, mean_text, metric_title, missed, sample_text, span_text

_WIDEST_NAME = 24
_GAP = 2
#: The line of the table that is about all cases: below the heads and their rule.
_TOTALS = 2
#: The columns that no terminal is too narrow for: name, cases, passed, the first metric.
_ALWAYS = 4
_PASSED, _RATE = 2, "passed"
_FIRST = 2
_WORST = 5
_SLOWEST = 3
_LOST = 10
_STOPPED = 3
_FLAKY = 10
#: From this share of calls on, a miss is no single gap but a suite that does not fit its agent.
_MANY_MISSES = 0.1


def summary_lines(run: Run, *, width: int, colour: bool, brief: bool = False, full: bool = False) -> list[Line]:
    """Return the summary of a run.

    Args:
        run: the run; trajectories are not read.
        width: columns of the terminal.
        colour: whether lines may have a style.
        brief: give only the gate's line and the lost items.
        full: with a comparison, name every case, requirement and group that changed.
    """
    if brief:
        lines = [*_stopped(run, width), *_lost(run, width), *_gate(run.gate, width, brief=True)]
    else:
        lines = [*_head(run, width), Line("")]
        if run.comparison is not None:
            lines += [*change_lines(run.comparison, width, full=full), Line("")]
        if run.anchor is not None:
            lines += [*rule_lines(run.anchor, width, "anchor"), Line("")]
        if run.cases:
            rows = case_rows(run.cases, run.manifest.options.pass_rule)
            lines += [
                *_table(run, rows, width),
                *_decided(run, width),
                *_suspects(run, width),
                *_left_out(run, width),
                *_intervals(run, width),
                Line(""),
            ]
            lines += [
                *_counts(run, width),
                *_spent(run, width),
                *_worst(run, rows, width),
                *_open(run, width),
                *_of_trials(run, width),
                *_flaky(rows, width),
            ]
            lines += _slowest(run, width)
        lines += [*_warnings(run, width), *_stopped(run, width), *_lost(run, width), *_gate(run.gate, width)]
    return lines if colour else [Line(line.text) for line in lines]


def _spent(run: Run, width: int) -> Iterator[Line]:
    """Give what agent, user, judge and simulated answers spent, each where it says so in some episode."""
    said = {
        "agent": [card.spent for card in run.cases],
        "user": [card.user_spent for card in run.cases if card.user_spent is not None],
        "judge": [card.judge_spent for card in run.cases if card.judge_spent is not None],
        "sandbox": [card.sandbox_spent for card in run.cases if card.sandbox_spent is not None],
    }
    told = [f"{name} {_sums(parts)}" for name, parts in said.items() if any(part != Spent() for part in parts)]
    yield from _wrapped("spent   ", "; ".join(told), width) if told else ()


def _sums(parts: Sequence[Spent]) -> str:
    """Say what some episodes spent in all; the ones that do not say how much are counted beside."""
    known = [part for part in parts if part.input_tokens is not None and part.output_tokens is not None]
    costs = [part.cost for part in parts if part.cost is not None]
    text = f"{sum(part.input_tokens or 0 for part in known):,} tokens in, {sum(part.output_tokens or 0 for part in known):,} out"
    text += f", ${math.fsum(costs):.4f}" if costs else ""
    unknown = len(parts) - min(len(known), len(costs) if costs else len(known))
    return text + (f" ({unknown} of {len(parts)} episodes do not say all)" if unknown else "")


def _head(run: Run, width: int) -> Iterator[Line]:
    suites = ", ".join(printable(f"{suite.name} {suite.version}") for suite in run.manifest.suites) or "none"
    judge = run.manifest.judge.spec
    yield Line(cut(f"agent  {printable(run.manifest.agent)}", width))
    yield Line(cut(f"suite  {suites} · user {printable(run.manifest.user)} · judge {printable(judge)}", width))
    if sample := sample_text(run.manifest):
        yield Line(cut(f"sample {sample}", width))
    if run.manifest.judge.linked is False:
        yield Line("judge  its verdicts are joined by case id only: they may be about other dialogues", "yellow")


def _table(run: Run, cases: Sequence[CaseRow], width: int) -> Iterator[Line]:
    """Give the table of means; where it is too wide for all metric sets, one for each."""
    columns = gated_metrics(run)
    rows = _rows(run, cases, columns)
    if _width(rows) <= width:
        yield from _drawn(rows, width)
        return
    metric_sets = {metric.name: metric.metric_set for metric in run.manifest.metrics}
    for number, metric_set in enumerate(
        dict.fromkeys(metric.metric_set for metric in run.manifest.metrics if metric.gated)
    ):
        rows = _rows(run, cases, [name for name in columns if metric_sets[name] == metric_set])
        if number:
            yield Line("")
            rows = [[*row[:_PASSED], *row[_PASSED + 1 :]] for row in rows]
        yield from _drawn(_under_its_name(rows, metric_set), width)


def _under_its_name(rows: list[list[str]], metric_set: str) -> list[list[str]]:
    """Return a table of one metric set whose heads leave out its name, which then stands above the names of the lines."""
    prefix = f"{metric_set.upper()}_"
    heads = [head for head in rows[0][1:] if head not in ("cases", _RATE)]
    if not all(head.startswith(prefix) for head in heads):
        return rows
    return [[cut(printable(metric_set), _WIDEST_NAME), *(head.removeprefix(prefix) for head in rows[0][1:])], *rows[1:]]


def _rows(run: Run, cases: Sequence[CaseRow], columns: Sequence[str]) -> list[list[str]]:
    """Return the head and the lines of the table of means."""
    rows = [
        ["", "cases", _RATE, *(name.upper() for name in columns)],
        ["all", *_row(cases, run.summary, columns)],
    ]
    domains = run.groups.get("domain", {})
    for domain in sorted(domains):
        some = [row for row in cases if domain in (row.cards[0].domains or ("none",))]
        rows.append([cut(printable(domain), _WIDEST_NAME), *_row(some, domains[domain], columns)])
    return rows


def _width(rows: Sequence[Sequence[str]]) -> int:
    widths = _widths(rows)
    return sum(widths) + _GAP * (len(widths) - 1)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_width, column)) for column in zip(*rows, strict=True)]


def _drawn(rows: Sequence[Sequence[str]], width: int) -> Iterator[Line]:
    """Give one table. Columns that do not fit are dropped from the last on: a digit never is."""
    from rich import box  # noqa: PLC0415 (90 ms, for the summary only)
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    widths = _widths(rows)
    shown = len(widths)
    while shown > _ALWAYS and sum(widths[:shown]) + _GAP * (shown - 1) > width:
        shown -= 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False, collapse_padding=True)
    # The rate of passed items closes the table, whatever stands between.
    order = [place for place in range(shown) if rows[0][place] != _RATE]
    order += [rows[0].index(_RATE)] if _RATE in rows[0] else []
    for place in order:
        # Names give way before any digit does.
        table.add_column(
            rows[0][place],
            justify="right" if place else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=widths[place] if place else 1,
        )
    for row in rows[1:]:
        table.add_row(*(row[place] for place in order))
    text = io.StringIO()
    Console(file=text, width=width, color_system=None, legacy_windows=False).print(table)
    for number, line in enumerate(line.rstrip() for line in text.getvalue().splitlines() if line.strip()):
        yield Line(line, "bold" if number == _TOTALS else "")
    if dropped := rows[0][shown:]:
        yield from _wrapped("", f"no room for {', '.join(dropped)}", width)


def _row(rows: Sequence[CaseRow], aggregates: Mapping[str, Aggregate], columns: Sequence[str]) -> list[str]:
    passed = sum(row.outcome == "passed" for row in rows)
    return [
        str(len({row.id for row in rows})),
        f"{passed}/{len(rows)}",
        *(mean_text(aggregates.get(name), "-") or "-" for name in columns),
    ]


def _decided(run: Run, width: int) -> Iterator[Line]:
    """Say how many cases are decided, with the first metrics that the others leave between bounds; the table has them all."""
    counted: dict[tuple[int, int], list[str]] = {}
    for name in (*gated_metrics(run), PASS_RATE):
        aggregate = run.summary.get(name)
        if aggregate and aggregate.undecided:
            key = (aggregate.n, aggregate.n + aggregate.undecided)
            counted.setdefault(key, []).append(f"{metric_title(name)} {mean_text(aggregate)}")
    for (decided, cases), parts in counted.items():
        yield from _wrapped("", f"{decided} of {cases} decided; {', '.join(parts[:_FIRST])}", width, "yellow")


def _suspects(run: Run, width: int) -> Iterator[Line]:
    """Say how many labels are suspect: the rules found them broken, and are too often wrong about such failures."""
    suspects = Counter(card.id for card in run.cases for label in card.labels if label.suspect)
    if suspects:
        labels, cases = suspects.total(), len(suspects)
        text = f"{labels} label{'s' * (labels > 1)} in {cases} case{'s' * (cases > 1)} may have failed: mapsat review RUN shows them first"
        yield from _wrapped("suspect  ", text, width, "yellow")


def _intervals(run: Run, width: int) -> Iterator[Line]:
    parts = []
    for name in (metric.name for metric in run.manifest.metrics if metric.headline):
        aggregate = run.summary.get(name)
        if aggregate and aggregate.low is not None and aggregate.high is not None:
            interval = f"[{aggregate.low:.3f}, {aggregate.high:.3f}]"
            parts.append(
                f"{name.upper()} {mean_text(aggregate)} {interval} over {aggregate.n + aggregate.undecided} cases"
            )
    if parts:
        yield from _wrapped("95 % interval: ", "; ".join(parts), width)


def _left_out(run: Run, width: int) -> Iterator[Line]:
    parts = []
    for name in gated_metrics(run):
        aggregate = run.summary.get(name)
        if aggregate and aggregate.left_out:
            classes = ", ".join(
                f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(aggregate.left_out.items())
            )
            parts.append(f"{name.upper()} over {aggregate.n + aggregate.undecided} ({classes})")
    if parts:
        yield from _wrapped("not every case counts everywhere: ", "; ".join(parts), width, "yellow")


def _counts(run: Run, width: int) -> Iterator[Line]:
    totals = {kind: sum(card.sandbox.get(kind, 0) for card in run.cases) for kind in PROVENANCE_KINDS}
    calls = sum(card.calls.total for card in run.cases)
    answered = ", ".join(f"{count} {kind}" for kind, count in totals.items() if count) or "no answer"
    failed = sum(card.calls.failed for card in run.cases)
    refused = sum(card.calls.refused for card in run.cases)
    text = f"{calls} calls: {answered}" + (f", {failed} with an error" if failed else "")
    text += f", {refused} of them refused" if refused else ""
    yield from _wrapped("sandbox ", text, width, "yellow" if totals["miss"] else "")
    replies = sum(card.turns for card in run.cases)
    asked = sum(card.clarifications for card in run.cases)
    vacuous = sum(card.vacuous for card in run.cases)
    facts = sum(label.kind == "fact" and label.outcome == "passed" for card in run.cases for label in card.labels)
    text = f"{replies} agent replies, {asked} of them asking; {vacuous} of {facts} kept facts are vacuous (nothing claimed)"
    idle = sum(label.idle for card in run.cases for label in card.labels)
    if idle:
        text += f"; {idle} requirement{' holds' if idle == 1 else 's hold'} at an end that nothing had to change for"
    unchecked = sum(card.unchecked_rules for card in run.cases)
    if unchecked:
        text += f"; {unchecked} tool rules in prose unchecked"
    yield from _wrapped("dialogue ", text, width)
    yield from _users(run, width)
    yield from _asked_model(run, width)


def _users(run: Run, width: int) -> Iterator[Line]:
    """Say how often simulated users surely departed from their scripts, and how many episodes failed by it; nothing where none did."""
    slips = [label.requirement.partition(".")[2] for card in run.cases for label in card.labels if label.kind == USER]
    if not slips:
        return
    kinds = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(Counter(slips).items()))
    laid = sum(card.blame == "user" and any(label.kind == USER for label in card.labels) for card in run.cases)
    text = f"{len(slips)} turns depart from the script ({kinds})" + (f"; {laid} episodes failed by it" if laid else "")
    yield from _wrapped("users    ", text, width, "yellow")


def _asked_model(run: Run, width: int) -> Iterator[Line]:
    """Say how many labels a model gave, how many it left open, and how often its votes say the same; nothing where none was asked."""
    labels = [label for card in run.cases for label in card.labels if label.votes]
    if not labels:
        return
    open_ = sum(label.value is None for label in labels)
    shares = [share for label in labels if (share := votes_agree(label.votes)) is not None]
    text = f"{len(labels) - open_} labels by the model, {open_} left open"
    text += f"; two votes agree in {sum(shares) / len(shares):.0%}" if shares else ""
    yield from _wrapped("judge    ", text, width)


def _leading(run: Run) -> str:
    """Return the metric that cases are told by: the first of the table."""
    return next(iter(gated_metrics(run)), "")


def _worst(run: Run, cases: Sequence[CaseRow], width: int) -> Iterator[Line]:
    """Name the cases that failed and those that earned least, a line each, with what the first trial of them says that is so."""
    name = _leading(run)
    rows = [(row, _value(row, name)) for row in cases]
    scored = [(row, value) for row, value in rows if value is not None and (value < 1 or row.outcome == "failed")]
    scored.sort(key=lambda pair: (pair[0].outcome != "failed", pair[1], pair[0].id, pair[0].agent))
    for number, (row, value) in enumerate(scored[:_WORST]):
        card = row.told
        reason = (
            card.reason
            or f"missed: {', '.join(label.requirement for label in missed(card)) or 'nothing that was judged'}"
        )
        label = "worst" if not number else ""
        trials = f"  {row.passed} of {row.trials} trials" if row.trials > 1 else ""
        told = f"{_row_name(row)}  {name.upper()} {value:.2f}{trials}  {printable(reason)}"
        yield Line(cut(f"{label:8} {told}", width), "")


def _value(row: CaseRow, name: str) -> float | None:
    """Return the mean over the trials that have a value; None where none has."""
    values = [value for card in row.cards if (value := card.metric(name)) is not None]
    return sum(values) / len(values) if values else None


def _row_name(row: CaseRow) -> str:
    return f"{row.id} [{printable(row.agent)}]" if row.agent else row.id


def _open(run: Run, width: int) -> Iterator[Line]:
    """Name the cases whose first metric is not known, those that keep an item open first."""
    name = _leading(run)
    cards = [card for card in run.cases if name in card.bounds]
    cards.sort(key=lambda card: (not card.unknown, card.key))
    for number, card in enumerate(cards[:_WORST]):
        reason = card.reason or "; ".join(f"{label.requirement}: {label.why}" for label in card.labels if label.bounded)
        label = "" if number else "open"
        told = f"{name.upper()} {span_text(*card.bounds[name])}"
        yield Line(cut(f"{label:8} {card_name(card)}  {told}  {printable(reason)}", width))


def _of_trials(run: Run, width: int) -> Iterator[Line]:
    """Give how probably any of k trials of a case passes, and how probably all of them do."""
    means = [f"{name} {mean_text(run.summary[name])}" for name in run.summary if name.startswith(("pass@", "pass^"))]
    if means:
        yield from _wrapped("trials   ", "; ".join(means), width)


def _flaky(rows: Sequence[CaseRow], width: int) -> Iterator[Line]:
    """Name the cases of which some trials passed and some failed, and those that passed on a rerun only."""
    named = []
    for row in rows:
        if row.flaky and row.trials > 1:
            again = f", {row.reruns} run again" if row.reruns else ""
            named.append(f"{_row_name(row)} ({row.passed} of {row.trials} trials passed{again})")
        elif row.flaky:
            attempt = next(card.attempt for card in row.cards if card.outcome == "passed")
            named.append(f"{_row_name(row)} (passed at attempt {attempt} of {len(row.cards)})")
    if named:
        yield from _wrapped("flaky    ", _first(named, _FLAKY), width, "yellow")


def _slowest(run: Run, width: int) -> Iterator[Line]:
    slow = sorted(run.cases, key=lambda card: (-card.timing.seconds, card.id, card.trial))[:_SLOWEST]
    text = ", ".join(f"{card_name(card)} {card.timing.seconds:.2f} s" for card in slow)
    yield from _wrapped("slowest  ", text, width)


def _warnings(run: Run, width: int) -> Iterator[Line]:
    for warning in run.manifest.warnings:
        yield from _wrapped("warning  ", printable(warning), width, "yellow")
    calls = sum(card.calls.total for card in run.cases)
    missed = sum(card.sandbox.get("miss", 0) for card in run.cases)
    if missed > _MANY_MISSES * calls:
        text = (
            f"{missed} of {calls} calls missed ({missed / max(calls, missed):.0%}): the suite has no recording of them, and labels that rest on "
            "them stay open; mapsat lint SUITE --misses RUN offers synonyms and recordings"
        )
        yield from _wrapped("warning  ", text, width, "yellow")


def _stopped(run: Run, width: int) -> Iterator[Line]:
    """Say what the infrastructure did to episodes, the most frequent reasons first."""
    by_reason: dict[str, list[str]] = {}
    for card in run.cases:
        if card.blame == "infrastructure":
            by_reason.setdefault(card.reason, []).append(card_name(card))
    reasons = sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
    for number, (reason, names) in enumerate(reasons[:_STOPPED]):
        label = "" if number else "stopped"
        text = f"{len(names)} by the infrastructure: {printable(reason)} ({_first(names, _FIRST)})"
        yield from _wrapped(f"{label:8} ", text, width, "red")
    if more := sum(len(names) for _, names in reasons[_STOPPED:]):
        yield Line(f"{'':8} and {more} more for other reasons", "red")


def _lost(run: Run, width: int) -> Iterator[Line]:
    lost = run.accounting.lost
    for number, one in enumerate(lost[:_LOST]):
        label = "" if number else "lost"
        yield from _wrapped(f"{label:8} ", printable(f"{one.id} trial {one.trial}: {one.reason}"), width, "red")
    if len(lost) > _LOST:
        yield Line(f"{'':8} and {len(lost) - _LOST} more", "red")


def _gate(gate: Gate, width: int, *, brief: bool = False) -> Iterator[Line]:
    style = {"passed": "green", "failed": "red", "inconclusive": "yellow", "invalid": "red"}[gate.outcome]
    outcome = gate.outcome.upper()
    if gate.outcome == "passed" and not gate.thresholds:
        style, outcome = "", "no gate"
    first, *others = gate.reasons or ("",)
    for place, reason in enumerate((first,) if brief else (first, *others)):
        said = f"{'gate     ' if place == 0 else '         '}"
        told = printable(reason) if place else outcome + (f": {printable(reason)}" if reason else "")
        yield from _wrapped(said, told, width, "yellow" if reason.startswith("warning: ") else style)


def _first(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _wrapped(label: str, text: str, width: int, style: str = "") -> Iterator[Line]:
    for number, line in enumerate(wrap(text, width - len(label))):
        yield Line((label if not number else " " * len(label)) + line, style)
