"""The terminal summary: metrics with denominators and intervals, provenance, worst and slowest cases, the gate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pytest_mapsat.metrics import CaseRow, case_rows, votes_agree
from pytest_mapsat.model import MSB_METRICS, PROVENANCE_KINDS, USER, Aggregate, Gate, Run, Spent

from .changes import change_lines, rule_lines
from .text import Line, cell_width, cut, labelled, printable
from .view import (
    PASS_RATE,
    card_name,
    gated_metrics,
    leading,
    mean_text,
    metric_title,
    metric_word,
    missed,
    row_name,
    sample_text,
    short_mean_text,
    span_text,
)

_WIDEST_NAME = 24
_GAP = 2
#: The metrics of the paper as the table has them from left to right; -v adds the others.
_EVERYDAY = ("ar", "ecr", "iisr", "ifs", "ts", "ses")
#: The columns that a narrow terminal loses, in this order; the name, the passed cases and the first metric always stay.
_LEAST_TELLING = ("eff", "ts", "ifs", "ecr", "iisr", "ses")
_ALWAYS = 3
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
                *_table(run, rows, width, full=full),
                *_legend(run, width),
                *_suspects(run, width),
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
    yield from labelled("spent   ", "; ".join(told), width) if told else ()


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


def _table(run: Run, cases: Sequence[CaseRow], width: int, *, full: bool) -> Iterator[Line]:
    """Give the table of means: all metric sets side by side, or, where the terminal is too narrow, a table for each."""
    by_set: dict[str, list[str]] = {}
    for name in _columns(run, full=full):
        by_set.setdefault(next((one.metric_set for one in run.manifest.metrics if one.name == name), ""), []).append(
            name
        )
    names = [name for some in by_set.values() for name in some]
    together = _rows(run, cases, [PASS_RATE, *names], full=full)
    together[0] = _short(together[0])
    if len(by_set) < 2 or _width(together) <= width:  # noqa: PLR2004
        by_set = {"": names}
    for number, (metric_set, some) in enumerate(by_set.items()):
        yield from [Line("")] if number else []
        columns = some if number else [PASS_RATE, *some]
        rows = _rows(run, cases, columns, full=full)
        prefix = f"{metric_set.upper()}_"
        if all(head.startswith(prefix) for head in rows[0][1:]):
            rows[0] = [cut(printable(metric_set), _WIDEST_NAME), *(head.removeprefix(prefix) for head in rows[0][1:])]
        if _width(rows) > width:
            rows[0] = _short(rows[0])
        yield from _drawn(rows, columns, width)


def _short(heads: Sequence[str]) -> list[str]:
    """Return heads without the paper's abbreviations, for a narrow terminal."""
    return [heads[0], *(head.partition(" (")[0] for head in heads[1:])]


def _columns(run: Run, *, full: bool) -> list[str]:
    """Return the metrics of the table from left to right: the paper's in everyday order, then those of other metric sets."""
    gated = gated_metrics(run)
    papers = {metric.name for metric in MSB_METRICS}
    first = [name for name in _EVERYDAY if name in gated]
    return first + [name for name in gated if name not in first and (full or name not in papers)]


def _rows(run: Run, cases: Sequence[CaseRow], columns: Sequence[str], *, full: bool) -> list[list[str]]:
    """Return the head and the lines of the table of means."""
    count = len({row.id for row in cases})
    rows = [[f"{count} case{'s' * (count != 1)}", *map(metric_title, columns)]]
    rows.append(["all", *_row(cases, run.summary, columns, full=full)])
    domains = run.groups.get("domain", {})
    for domain in sorted(domains):
        some = [row for row in cases if domain in (row.cards[0].domains or ("none",))]
        rows.append([cut(printable(domain), _WIDEST_NAME), *_row(some, domains[domain], columns, full=full)])
    return rows


def _row(cases: Sequence[CaseRow], means: Mapping[str, Aggregate], columns: Sequence[str], *, full: bool) -> list[str]:
    passed = f"{sum(row.outcome == 'passed' for row in cases)}/{len(cases)}"
    mean = mean_text if full else short_mean_text
    return [passed if name == PASS_RATE else mean(means.get(name), "-") or "-" for name in columns]


def _width(rows: Sequence[Sequence[str]]) -> int:
    return sum(_widths(rows)) + _GAP * (len(rows[0]) - 1)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_width, column)) for column in zip(*rows, strict=True)]


def _drawn(rows: Sequence[Sequence[str]], columns: Sequence[str], width: int) -> Iterator[Line]:
    """Give one table. Columns that do not fit are dropped, the least telling first; then names are cut: a digit never is."""
    kept = list(range(len(rows[0])))
    droppable = sorted(kept[_ALWAYS:], key=lambda place: _rank(columns[place - 1], place))
    dropped = []
    for place in droppable:
        if _width([[row[one] for one in kept] for row in rows]) <= width:
            break
        kept.remove(place)
        dropped.append(place)
    widths = _widths([[row[place] for place in kept] for row in rows])
    widths[0] = max(min(widths[0], width - sum(widths[1:]) - _GAP * (len(widths) - 1)), 1)
    for number, row in enumerate(rows):
        name, *cells = (row[place] for place in kept)
        name = cut(name, widths[0])
        line = name + " " * (widths[0] - cell_width(name))
        line += "".join(
            " " * (_GAP + most - cell_width(cell)) + cell for cell, most in zip(cells, widths[1:], strict=True)
        )
        yield Line(line, "bold" if number == 1 else "")
        if not number:
            yield Line("─" * cell_width(line))
    if dropped:
        yield from labelled("", f"no room for {', '.join(rows[0][place] for place in sorted(dropped))}", width)


def _rank(name: str, place: int) -> int:
    return _LEAST_TELLING.index(name) if name in _LEAST_TELLING else -place


def _legend(run: Run, width: int) -> Iterator[Line]:
    """Say what the first column is made of, what a range means, and where not every case counts."""
    if {"ar", "ecr", "iisr"} <= set(gated_metrics(run)):
        yield from labelled("", "satisfied (AR) = asked x unasked; per turn (SES) falls with each reply", width)
    if undecided := max((mean.undecided for mean in run.summary.values()), default=0):
        cases = len({card.id for card in run.cases})
        text = f"a range: {undecided} of {cases} cases have undecided labels (mapsat review RUN)"
        yield from labelled("", text, width, "yellow")
    counting: dict[str, list[str]] = {}
    for name in gated_metrics(run):
        mean = run.summary.get(name)
        if mean and mean.left_out and mean.n + mean.undecided:
            classes = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(mean.left_out.items()))
            counting.setdefault(f"{mean.n + mean.undecided} cases ({classes})", []).append(metric_word(name))
    if counting:
        parts = (f"{', '.join(names)} over {cases}" for cases, names in counting.items())
        yield from labelled("", f"not all cases count everywhere: {'; '.join(parts)}", width, "yellow")


def _suspects(run: Run, width: int) -> Iterator[Line]:
    """Say how many labels are suspect: the rules found them broken, and are too often wrong about such failures."""
    suspects = Counter(card.id for card in run.cases for label in card.labels if label.suspect)
    if suspects:
        labels, cases = suspects.total(), len(suspects)
        text = f"{labels} label{'s' * (labels > 1)} in {cases} case{'s' * (cases > 1)} may have failed; mapsat review RUN shows them first"
        yield from labelled("suspect  ", text, width, "yellow")


def _intervals(run: Run, width: int) -> Iterator[Line]:
    parts = []
    for name in (metric.name for metric in run.manifest.metrics if metric.headline):
        mean = run.summary.get(name)
        if mean and mean.low is not None and mean.high is not None:
            parts.append(f"{metric_word(name)} {mean.low:.3f}-{mean.high:.3f}")
    if parts:
        yield from labelled("95 % interval: ", ", ".join(parts), width)


def _counts(run: Run, width: int) -> Iterator[Line]:
    totals = {kind: sum(card.sandbox.get(kind, 0) for card in run.cases) for kind in PROVENANCE_KINDS}
    calls = sum(card.calls.total for card in run.cases)
    answered = ", ".join(f"{count} {kind}" for kind, count in totals.items() if count) or "no answer"
    failed = sum(card.calls.failed for card in run.cases)
    refused = sum(card.calls.refused for card in run.cases)
    text = f"{calls} calls: {answered}" + (f", {failed} with an error" if failed else "")
    text += f", {refused} of them refused" if refused else ""
    yield from labelled("sandbox ", text, width, "yellow" if totals["miss"] else "")
    replies = sum(card.turns for card in run.cases)
    asked = sum(card.clarifications for card in run.cases)
    unclaimed = sum(card.nothing_claimed for card in run.cases)
    facts = sum(label.kind == "fact" and label.outcome == "passed" for card in run.cases for label in card.labels)
    text = f"{replies} repl{'y' if replies == 1 else 'ies'} of the agent, {asked} of them questions"
    if unclaimed:
        text += f"; {unclaimed} of {facts} facts passed because nothing was claimed"
    idle = sum(label.idle for card in run.cases for label in card.labels)
    if idle:
        text += f"; {idle} requirement{'s' * (idle > 1)} passed although nothing had to change"
    unchecked = sum(card.unchecked_rules for card in run.cases)
    if unchecked:
        text += f"; {unchecked} rules of tools are prose that no check reads"
    yield from labelled("dialogue ", text, width)
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
    yield from labelled("users    ", text, width, "yellow")


def _asked_model(run: Run, width: int) -> Iterator[Line]:
    """Say how many labels a model gave, how many it left open, and how often its votes say the same; nothing where none was asked."""
    labels = [label for card in run.cases for label in card.labels if label.votes]
    if not labels:
        return
    open_ = sum(label.value is None for label in labels)
    shares = [share for label in labels if (share := votes_agree(label.votes)) is not None]
    text = f"{len(labels) - open_} labels by the model, {open_} left open"
    text += f"; two votes agree in {sum(shares) / len(shares):.0%}" if shares else ""
    yield from labelled("judge    ", text, width)


def _worst(run: Run, cases: Sequence[CaseRow], width: int) -> Iterator[Line]:
    """Name the cases that failed and those that earned least, a line each, with what the first trial of them says that is so."""
    name = leading(run)
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
        told = f"{row_name(row)}  {metric_word(name)} {value:.2f}{trials}  {printable(reason)}"
        yield Line(cut(f"{label:8} {told}", width), "")


def _value(row: CaseRow, name: str) -> float | None:
    """Return the mean over the trials that have a value; None where none has."""
    values = [value for card in row.cards if (value := card.metric(name)) is not None]
    return sum(values) / len(values) if values else None


def _open(run: Run, width: int) -> Iterator[Line]:
    """Name the cases whose first metric is not known, those that keep an item open first."""
    name = leading(run)
    cards = [card for card in run.cases if name in card.bounds]
    cards.sort(key=lambda card: (not card.unknown, card.key))
    for number, card in enumerate(cards[:_WORST]):
        reason = card.reason or "; ".join(f"{label.requirement}: {label.why}" for label in card.labels if label.bounded)
        label = "" if number else "open"
        told = f"{metric_word(name)} {span_text(*card.bounds[name])}"
        yield Line(cut(f"{label:8} {card_name(card)}  {told}  {printable(reason)}", width))


def _of_trials(run: Run, width: int) -> Iterator[Line]:
    """Give how probably any of k trials of a case passes, and how probably all of them do."""
    means = [f"{name} {mean_text(run.summary[name])}" for name in run.summary if name.startswith(("pass@", "pass^"))]
    if means:
        yield from labelled("trials   ", "; ".join(means), width)


def _flaky(rows: Sequence[CaseRow], width: int) -> Iterator[Line]:
    """Name the cases of which some trials passed and some failed, and those that passed on a rerun only."""
    named = []
    for row in rows:
        if row.flaky and row.trials > 1:
            again = f", {row.reruns} run again" if row.reruns else ""
            named.append(f"{row_name(row)} ({row.passed} of {row.trials} trials passed{again})")
        elif row.flaky:
            attempt = next(card.attempt for card in row.cards if card.outcome == "passed")
            named.append(f"{row_name(row)} (passed at attempt {attempt} of {len(row.cards)})")
    if named:
        yield from labelled("flaky    ", _first(named, _FLAKY), width, "yellow")


def _slowest(run: Run, width: int) -> Iterator[Line]:
    slow = sorted(run.cases, key=lambda card: (-card.timing.seconds, card.id, card.trial))[:_SLOWEST]
    text = ", ".join(f"{card_name(card)} {card.timing.seconds:.2f} s" for card in slow)
    yield from labelled("slowest  ", text, width)


def _warnings(run: Run, width: int) -> Iterator[Line]:
    for warning in run.manifest.warnings:
        yield from labelled("warning  ", printable(warning), width, "yellow")
    calls = sum(card.calls.total for card in run.cases)
    missed = sum(card.sandbox.get("miss", 0) for card in run.cases)
    if missed > _MANY_MISSES * calls:
        text = (
            f"{missed} of {calls} calls missed ({missed / max(calls, missed):.0%}): the suite has no recording of them, and labels that rest on "
            "them stay open; mapsat lint SUITE --misses RUN offers synonyms and recordings"
        )
        yield from labelled("warning  ", text, width, "yellow")


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
        yield from labelled(f"{label:8} ", text, width, "red")
    if more := sum(len(names) for _, names in reasons[_STOPPED:]):
        yield Line(f"{'':8} and {more} more for other reasons", "red")


def _lost(run: Run, width: int) -> Iterator[Line]:
    lost = run.accounting.lost
    for number, one in enumerate(lost[:_LOST]):
        label = "" if number else "lost"
        yield from labelled(f"{label:8} ", printable(f"{one.id} trial {one.trial}: {one.reason}"), width, "red")
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
        yield from labelled(said, told, width, "yellow" if reason.startswith("warning: ") else style)


def _first(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
