"""The terminal summary: the result in a few lines, with ``-v`` every measurement; and the line while a run goes."""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice

from pytest_mapsat.metrics import CaseRow, by_key, case_rows, mean_span, memberships, votes_agree
from pytest_mapsat.model import (
    MSB_METRICS,
    PROVENANCE_KINDS,
    USER,
    Aggregate,
    Bounds,
    Run,
    Scorecard,
    Usage,
    UsageError,
    did_you_mean,
    listed,
    outcome_word,
    shown,
)

from . import view
from .changes import brief_change, change_lines, rule_lines
from .failures import failure_groups
from .text import Line, cell_width, cut, labelled, printable

_WIDEST_NAME = 24
_GAPS = ("  ", " ")
#: The metrics of the paper as the table has them from left to right; -v adds the others.
_EVERYDAY = ("ar", "ecr", "iisr", "ifs", "ts", "ses")
#: The columns that a narrow terminal loses, in this order; the name, the passed cases and the first metric always stay.
_LEAST_TELLING = ("eff", "ts", "ifs", "ecr", "iisr", "ses")
_ALWAYS = 3
#: How many cases, episodes or reasons are named; with -v more, with -q these before the gate.
_FEW, _FEW_TOOLS, _STOPPED_NAMES, _SLOWEST, _LOST, _FLAKY, _QUIET = 3, 2, 2, 3, 10, 10, 2
#: The most lines of a red run's summary and of a green one's, those beside that the reporter adds, and kinds of failure.
_RED, _GREEN, _BESIDE, _WHYS = 16, 12, 1, 4
#: Columns of labels, of the whole, of bars and of a name; the reasons that are told of a gate with thresholds, and the least lines of a table.
LABEL, _WIDEST, _BAR, _NAME, _GATE, _LEAST_ROOM = 11, 80, 10, 8, 3, 3
#: The metrics that the first one of the paper is made of, and what is shown beside them.
_PARTS = ("ecr", "iisr", "ifs")
_EQUAL, _DOT = 1e-9, " · "
_STYLES = {"passed": "green", "failed": "red", "inconclusive": "yellow", "invalid": "red"}
#: From this share of calls on, a miss is no single gap but a suite that does not fit its agent.
_MANY_MISSES = 0.1


def summary_lines(
    run: Run,
    *,
    width: int,
    colour: bool,
    brief: bool = False,
    quiet: bool = False,
    full: bool = False,
    saved: str = "",
    hints: Sequence[str] = (),
    unknown: Mapping[str, int] | None = None,
) -> list[Line]:
    """Return the lines of a run's summary: at most 12 for a green run, 16 for a red one.

    Args:
        run: the run; trajectories are not read.
        width: columns of the terminal.
        colour: whether lines may have a style.
        brief: give only the gate's line and the lost items.
        quiet: give the result in at most three lines.
        full: give all metrics, counts and changes first, without a limit.
        saved: the run file, as commands that go on from it name it; empty: there is none.
        hints: what else to do next, behind the commands for the run file.
        unknown: how often the agent called each tool that no case has.
    """
    summary = _Summary(run, width, full=full, saved=saved)
    if brief:
        summary.missing()
        summary.gate(1)
    elif quiet:
        summary.head()
        summary.missing()
        summary.why(1)
        summary.lines = [line for line in summary.lines if line.text[0] != " "][:_QUIET]
        if run.gate.outcome != "passed" or run.gate.thresholds:
            summary.gate(1)
        summary.lines = [Line(cut(line.text, width), line.style) for line in summary.lines if line.text[0] != " "]
    else:
        if full:
            summary.details()
        summary.result(hints, unknown or {})
    return summary.lines if colour else [Line(line.text) for line in summary.lines]


def group_lines(run: Run, dimension: str, *, width: int) -> list[Line]:
    """Return the means of a run by one dimension of its groups, such as ``domain``, ``place`` or an attribute, in a table.

    Raises:
        UsageError: the run has no such groups.
    """
    if dimension not in run.groups:
        there = ", ".join(view.dimension_order(run.groups)) or "none"
        hint = did_you_mean(dimension, run.groups) or f"the run has {there}"
        raise UsageError(f"--by: the run has no groups by {shown(dimension)}; {hint}")
    summary = _Summary(run, width, full=True, saved="")
    most = max((int(name[5:]) for name in run.summary if name.startswith("pass@")), default=0)
    columns = [view.PASS_RATE, *summary.columns(), *((f"pass@{most}", f"pass^{most}") if most else ())]
    rows = summary.cells(columns, dimension)
    rows[0][0] = f"{view.dimension_title(dimension)}, {rows[0][0]}"
    summary.draw(rows, columns)
    return summary.lines


class _Summary:
    """Builds the lines of a summary."""

    def __init__(self, run: Run, width: int, *, full: bool, saved: str) -> None:
        self.lines: list[Line] = []
        self._run, self._width, self._full, self._saved = run, width, full, saved and shlex.quote(saved)
        self._rows = case_rows(run.cases, run.manifest.options.pass_rule)

    def _say(self, label: str, text: str, style: str = "") -> None:
        """Add a text after a label, wrapped to the width."""
        self.lines += labelled(label.ljust(LABEL), text, self._width, style)

    def _cut(self, text: str) -> str:
        """Return a text cut to about two lines; with ``-v`` the whole text."""
        return text if self._full else cut(text, 2 * (self._width - LABEL) - _NAME)

    def _note(self, text: str, style: str = "") -> None:
        """Add a text without a label."""
        self.lines += labelled("", text, self._width, style)

    def _sum(self, name: str) -> int:
        """Return the sum of a field over all scorecards."""
        return sum(getattr(card, name) for card in self._run.cases)

    # -- the result ------------------------------------------------------------------------

    def result(self, hints: Sequence[str], unknown: Mapping[str, int]) -> None:
        """Add the result, what keeps the run from being one, the worst domains, why cases failed, the gate, and what to do next."""
        self.head()
        self.scores()
        top, self.lines = self.lines, []
        if not self._full:
            for comparison, label in ((self._run.comparison, "baseline"), (self._run.anchor, "anchor")):
                if comparison is not None:
                    worse = any(case.direction == "worse" for case in comparison.cases)
                    self._say(label, self._cut(brief_change(comparison)), "red" if worse else "")
        self.warnings()
        self.unknown_tools(unknown)
        self.missing()
        before, self.lines = self.lines, []
        self.gate(None if self._full else _GATE)
        self.next(hints)
        after, self.lines = self.lines, []
        most = _RED if self._run.gate.outcome in ("failed", "invalid") else _GREEN
        room = 2 * _WHYS if self._full else most - _BESIDE - len(top) - len(before) - len(after)
        self.why(max(1, min(room // 2, _WHYS)))
        whys, self.lines = self.lines, []
        if not self._full:
            self.domains(room - len(whys))
        self.lines = [*top, *self.lines, *before, *whys, *after]

    def head(self) -> None:
        """Add the outcome, the number of cases by outcome, and the duration."""
        run = self._run
        count, trials = len({row.id for row in self._rows}), max((row.trials for row in self._rows), default=1)
        size = f"{count} case{'s' * (count != 1)}" + (f" x {trials} trials" if trials > 1 else "")
        size += f", {view.seconds_text(run.timing.seconds)}" if run.timing.seconds else ""
        text = f"{run.gate.outcome.upper()}   {view.counts_text(run, _DOT)}"
        self._apart("mapsat", text, size, _STYLES[run.gate.outcome])
        if sample := view.sample_text(run.manifest):
            self._say("sample", sample)

    def scores(self) -> None:
        """Add the first metric with the reason for its bounds and its interval, then its component metrics."""
        name = view.leading(self._run)
        mean = self._run.summary.get(name)
        if mean is None or not view.mean_text(mean):
            return
        text = view.short_mean_text(mean, "–")
        if mean.bounds and mean.bounds[0] != mean.bounds[1]:
            text += f" ({self._why_open(name, mean)})"
        known = mean.low is not None and mean.high is not None and mean.low != mean.high
        self._apart(view.metric_word(name), text, f"95 %: {mean.low:.2f}–{mean.high:.2f}" if known else "")
        others = [other for other in view.gated_metrics(self._run) if other != name]
        others = [other for other in others if other in _PARTS] or others[: len(_PARTS)]
        parts = [
            f"{view.metric_word(other)} {span}"
            for other in others
            if (span := view.short_mean_text(self._run.summary.get(other), "–"))
        ]
        self._joined("", parts)
        by_attribute = groupby(view.recovery_rows(self._run), key=lambda row: row[0].partition(" ")[0])
        # All together, and the kind that costs most.
        rows = chain.from_iterable(islice(rows, 2) for _, rows in by_attribute)
        for number, (kind, recovery, interval, cases) in enumerate(rows):
            text = f"{kind}  {recovery} of plain, {cases} case{'s' * (cases != 1)}"
            self._apart("" if number else "recovery", text, f"95 %: {interval}" if interval else "")
        asked = self._run.manifest.options.manners.replace("all", "").split(",")
        if unsuited := [name for name in asked if name and f"manner {name}" not in self._run.variants]:
            self._say(
                "recovery", f"manner {printable(', '.join(unsuited))}: it suits the script of no case in this run"
            )

    def _why_open(self, name: str, mean: Aggregate) -> str:
        """Return why a mean has bounds: labels are undecided, or a judge that reads prose misreads some answers."""
        spans = [span for card in self._run.cases if (span := card.bounds_of(name)) is not None]
        whys = ["undecided labels"] if mean.undecided else []
        if any(card.misread is not None for card in self._run.cases):
            seen, bounds = mean_span(spans), mean.bounds or (0.0, 0.0)
            trials = len(spans) != len(self._rows)
            if trials or any(abs(end - other) > _EQUAL for end, other in zip(seen, bounds, strict=True)):
                whys.append("reading error")
        return " and ".join(whys)

    def _apart(self, label: str, left: str, right: str, style: str = "") -> None:
        """Add a text after a label, with another text at the right, or below if there is no room."""
        room = min(self._width, _WIDEST) - LABEL - cell_width(left) - cell_width(right)
        if room >= len(_GAPS[0]):
            self._say(label, left + " " * room * bool(right) + right, style)
        else:
            self._say(label, left, style)
            self._say("", right, style)

    def domains(self, room: int) -> None:
        """Add a table of the worst domains in the remaining lines; nothing for a single domain."""
        name, groups = view.leading(self._run), self._run.groups.get("domain", {})
        if len(groups) < 2 or room < _LEAST_ROOM or not view.mean_text(self._run.summary.get(name)):  # noqa: PLR2004
            return
        members = by_key(
            (domain, row) for row in self._rows for domain in {domain for card in row.cards for domain in card.domains}
        )
        rows: list[tuple[tuple[float, float, str], list[str], str]] = []
        for domain, means in groups.items():
            outcomes = Counter(row.outcome for row in members.get(domain, ()))
            span = (means[name].bounds if name in means else None) or (0.0, 0.0)
            counts = map(str, (outcomes.total(), outcomes["failed"], outcomes["unevaluated"]))
            cells = [printable(domain), *counts, view.short_mean_text(means.get(name), "–") or "-"]
            bar = "█" * round(span[0] * _BAR) + "░" * (round(span[1] * _BAR) - round(span[0] * _BAR))
            rows.append(((sum(span), -outcomes["failed"], domain), cells, bar))
        rows.sort(key=lambda row: row[0])
        twice = any(len(card.domains) > 1 for card in self._run.cases)
        shown = rows if len(rows) + 1 + twice <= room else rows[: room - 2]
        table = [["domain", "cases", "failed", "undecided", view.metric_word(name)], *(cells for _, cells, _ in shown)]
        widths = [max(cell_width(row[place]) for row in table) for place in range(len(table[0]))]
        widths[0] = max(min(max(widths[0], LABEL - 2), self._width - sum(widths[1:]) - 2 * len(widths[1:])), 1)
        for row, bar in zip(table, ["", *(bar for _, _, bar in shown)], strict=True):
            first = cut(row[0], widths[0])
            numbers = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
            line = "  ".join([first + " " * (widths[0] - cell_width(first)), *numbers])
            self.lines.append(Line(f"{line} {bar}".rstrip() if cell_width(line) + 1 + _BAR <= self._width else line))
        more = [f"and {len(rows) - len(shown)} more"] if len(shown) < len(rows) else []
        more += ["a case counts in each of its domains"] if twice else []
        if more:
            self.lines.append(Line(cut("; ".join(more), self._width)))

    def why(self, most: int) -> None:
        """Add the kinds of checks that fail most cases, each with its worst case."""
        groups = failure_groups(self._run)
        shown = groups if self._full or len(groups) <= most else groups[: max(most - 1, 1)]
        counts = [f"{len(group.cases)}×" for group in shown]
        room = max((len(group.words) for group in shown), default=0)
        named: set[str] = set()
        for number, (group, count) in enumerate(zip(shown, counts, strict=True)):
            more = f" +{len(group.cases) - 1}" if len(group.cases) > 1 else ""
            text = f"{count.rjust(max(map(len, counts)))} {group.words.ljust(room)}  "
            name = next((case for case in group.cases if case not in named), group.cases[0])
            named.add(name)
            case = cut(printable(name), max(self._width - LABEL - cell_width(text + more), _NAME)) + more
            if cell_width(text + case) > self._width - LABEL:
                text = f"{count} {group.words}: "
            self._say("" if number else "why", text + case, "red")
        if most > 1 and len(groups) > len(shown):
            self._say(
                "", f"and {len(groups) - len(shown)} more kinds of failure".replace("1 more kinds", "1 more kind")
            )

    def next(self, hints: Sequence[str]) -> None:
        """Add the commands for the next steps."""
        groups = failure_groups(self._run)
        steps = [f"mapsat show {self._saved} {groups[0].cases[0]}"] if groups and self._saved else []
        if self._run.gate.outcome == "inconclusive" and self._saved:
            steps.append(f"mapsat review {self._saved}")
        if any("one trial of each case" in reason for reason in self._run.gate.reasons):
            steps.append("--mapsat-trials=4 in both runs")
        if any(card.blame == "infrastructure" for card in self._run.cases):
            steps.append(f"mapsat doctor {self._run.manifest.agent}")
        self._joined("next", [*map(printable, steps), *hints])

    def _joined(self, label: str, parts: Iterable[str]) -> None:
        """Add parts after a label, separated by dots and never split, so that a command can be copied."""
        lines: list[str] = []
        for part in parts:
            if lines and cell_width(f"{lines[-1]}{_DOT}{part}") <= self._width - LABEL:
                lines[-1] += _DOT + part
            else:
                lines.append(part)
        self.lines += (Line(f"{'' if number else label:{LABEL}}{line}") for number, line in enumerate(lines))

    # -- what the run is -------------------------------------------------------------------

    def details(self) -> None:
        """Add every measurement: the run, the comparisons, the table of means, and the events in the episodes."""
        manifest, width = self._run.manifest, self._width
        suites = ", ".join(printable(suite.label) for suite in manifest.suites) or "none"
        about = f"suite  {suites} · user: {printable(manifest.user)} · judge: {printable(manifest.judge.spec)}"
        memory = manifest.options.agent_memory
        agent = printable(manifest.agent if memory == "none" else f"{manifest.agent} · memory: {memory}")
        self.lines += [Line(cut(f"agent  {agent}", width)), Line(cut(about, width)), Line("")]
        if self._run.comparison is not None:
            self.lines += [*change_lines(self._run.comparison, width, full=True), Line("")]
        if self._run.anchor is not None:
            self.lines += [*rule_lines(self._run.anchor, width, "anchor"), Line("")]
        if self._run.cases:
            self.table()
            self.cases()
            self.lines.append(Line(""))

    # -- the table of means ----------------------------------------------------------------

    def table(self) -> None:
        """Add the table of means: all metric sets together, or a table for each if the terminal is too narrow."""
        set_of = {metric.name: metric.metric_set for metric in self._run.manifest.metrics}
        by_set = by_key((set_of.get(name, ""), name) for name in self.columns())
        together = self.cells([view.PASS_RATE, *(name for some in by_set.values() for name in some)])
        together[0] = _short(together[0])
        if len(by_set) > 1 and _fits(together, self._width, _GAPS[-1]):
            by_set = {"": [name for some in by_set.values() for name in some]}
        for number, (metric_set, some) in enumerate(by_set.items()):
            self.lines += [Line("")] if number else []
            columns = some if number else [view.PASS_RATE, *some]
            rows = self.cells(columns)
            if metric_set and all(name.startswith(f"{metric_set}_") for name in some):
                heads = [head[len(metric_set) + 1 :] for head in rows[0][-len(some) :]]
                first = [cut(printable(metric_set), _WIDEST_NAME)] if number else rows[0][: -len(some)]
                rows[0] = [*first, *heads]
            if not _fits(rows, self._width):
                rows[0] = _short(rows[0])
            self.draw(rows, columns)
        self._legend()
        self.lines.append(Line(""))

    def columns(self) -> list[str]:
        """Return the metrics from left to right: the paper's metrics in everyday order, then those of other metric sets."""
        gated = view.gated_metrics(self._run)
        papers = {metric.name for metric in MSB_METRICS}
        first = [name for name in _EVERYDAY if name in gated]
        return first + [name for name in gated if name not in first and (self._full or name not in papers)]

    def cells(self, columns: Sequence[str], dimension: str = "domain") -> list[list[str]]:
        """Return the rows of a table: its head, all cases, then each group of a dimension."""
        count = len({row.id for row in self._rows})
        trials = max((row.trials for row in self._rows), default=1)
        head = f"{count} case{'s' * (count != 1)}" + (f" x {trials}" if trials > 1 else "")
        cells = [[head, *map(view.metric_title, columns)]]
        cells.append(["all", *self._means(self._rows, self._run.summary, columns)])
        members = by_key(
            (name, row)
            for row in self._rows
            for name in dict.fromkeys(name for card in row.cards for of, name in memberships(card) if of == dimension)
        )
        groups = self._run.groups.get(dimension, {})
        for name in view.group_order(groups):
            means = groups[name]
            cells.append([cut(printable(name), _WIDEST_NAME), *self._means(members.get(name, []), means, columns)])
        return cells

    def _means(self, rows: Sequence[CaseRow], means: Mapping[str, Aggregate], columns: Sequence[str]) -> list[str]:
        """Return the cells of a row: the passed cases, and the mean of each metric, ``-`` if it is unknown."""
        passed = f"{sum(row.outcome == 'passed' for row in rows)}/{len(rows)}"
        text = view.mean_text if self._full else view.short_mean_text
        return [passed if name == view.PASS_RATE else text(means.get(name), "-") or "-" for name in columns]

    def draw(self, rows: Sequence[Sequence[str]], columns: Sequence[str]) -> None:
        """Add the lines of a table; if it is too wide, narrow its gaps, then drop the least useful columns, then cut names."""
        kept = list(range(len(rows[0])))

        def rank(place: int) -> tuple[bool, int]:
            """Return the sort key for dropping columns: unknown means first, then the least useful metrics."""
            name = columns[place - 1]
            mean = self._run.summary.get(name)
            settled = mean is None or mean.bounds != (0, 1)
            return settled, _LEAST_TELLING.index(name) if name in _LEAST_TELLING else -place

        gap = next((gap for gap in _GAPS if _fits(rows, self._width, gap)), _GAPS[0])
        for place in sorted(kept[_ALWAYS:], key=rank):
            if _fits([[row[number] for number in kept] for row in rows], self._width, gap):
                break
            kept.remove(place)
        widths = [max(cell_width(row[place]) for row in rows) for place in kept]
        widths[0] = max(min(widths[0], self._width - sum(widths[1:]) - len(gap) * (len(widths) - 1)), 1)
        for number, row in enumerate(rows):
            cells = [cut(row[0], widths[0]), *(row[place] for place in kept[1:])]
            blanks = [" " * (width - cell_width(cell)) for cell, width in zip(cells, widths, strict=True)]
            others = (f"{gap}{blank}{cell}" for cell, blank in zip(cells[1:], blanks[1:], strict=True))
            line = f"{cells[0]}{blanks[0]}{''.join(others)}"
            self.lines.append(Line(line, "bold" if number == 1 else ""))
            if not number:
                self.lines.append(Line("─" * cell_width(line)))
        if dropped := [head for place, head in enumerate(rows[0]) if place not in kept]:
            self._note(f"the terminal is too narrow to show {', '.join(dropped)}")

    def _legend(self) -> None:
        """Add notes on the table: the definitions of metrics, the meaning of ranges, and the omitted cases."""
        run, gated = self._run, view.gated_metrics(self._run)
        if {"ar", "ecr", "iisr"} <= set(gated):
            self._note("satisfied (AR) = requests met x unspoken needs met, per case")
            self._note("efficiency (SES) = satisfied x brevity (0.5 with as many replies as expected)")
        if "ts" in gated:
            self._note("tools = expected tools called as expected / tools expected or called")
        if any(len(card.domains) > 1 for card in run.cases):
            self._note("a case counts in each of its domains")
        if undecided := max((mean.undecided for mean in run.summary.values()), default=0):
            count = len({card.id for card in run.cases})
            ranges = [name for name in gated if name in run.summary and run.summary[name].undecided]
            # Where the first means are exact, those that are not are named.
            which = "" if set(ranges) & set(_EVERYDAY) else f" ({', '.join(map(view.metric_word, ranges))})"
            of = f"{undecided} of {count} cases" if count > 1 else "the only case"
            text = f"a range{which}: labels of {of} are undecided"
            self._note(f"{text} (mapsat review {self._saved or 'RUN'})", "yellow")
        counting: dict[str, list[str]] = {}
        for name in gated:
            mean = run.summary.get(name)
            if mean and mean.left_out and mean.n + mean.undecided:
                classes = ", ".join(
                    f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(mean.left_out.items())
                )
                in_mean = mean.n + mean.undecided
                counts = f"{in_mean} case{'s' * (in_mean > 1)} ({classes})"
                counting.setdefault(counts, []).append(view.metric_word(name))
        for counts, names in counting.items():
            self._note(f"{', '.join(names)}: means over {counts}", "yellow")
        if suspects := Counter(card.id for card in run.cases for label in card.labels if label.suspect):
            labels, cases = suspects.total(), len(suspects)
            text = (
                f"{labels} undecided label{'s' * (labels > 1)} in {cases} case{'s' * (cases > 1)} look{'s' * (labels == 1)} failed; "
                f"mapsat review {self._saved or 'RUN'} shows them first"
            )
            self._note(text, "yellow")
        headlines = ((metric.name, run.summary.get(metric.name)) for metric in run.manifest.metrics if metric.headline)
        intervals = [
            f"{view.metric_word(name)} {mean.low:.3f}-{mean.high:.3f}"
            for name, mean in headlines
            if mean and mean.low is not None and mean.high is not None
        ]
        drawn = "".join(f" drawn by {printable(name)}" for name in sorted({card.cluster for card in run.cases} - {""}))
        if intervals:
            self._note(f"95 % interval over cases{drawn}: " + ", ".join(intervals))

    # -- what happened in the episodes -----------------------------------------------------

    def cases(self) -> None:
        """Add the sources of tool answers, the words and spending, and the cases that need attention."""
        self._counts()
        self._users_and_judge()
        self._spent()
        summary = self._run.summary
        share = {"pass@": "any of {} passes", "pass^": "all {} pass"}
        if means := [
            f"{share[name[:5]].format(name[5:])} ({name}) {view.mean_text(summary[name])}"
            for name in summary
            if name[:5] in share
        ]:
            self._say("trials", "; ".join(means))
        if means := [
            f"{name[5:]} {view.mean_text(mean)}" for name, mean in summary.items() if name.startswith("user_")
        ]:
            self._say(
                "per user ",
                f"{len(self._run.groups.get('group', {}))}, right where all their tasks are: {'; '.join(means)}",
            )
        for source in ("", "_context", "_profile", "_environment", "_unstated"):
            ways = {way: summary.get(f"needs_{way}{source}") for way in ("unasked", "asked", "told", "missed")}
            if means := [f"{way} {view.mean_text(mean, '-')}" for way, mean in ways.items() if view.mean_text(mean)]:
                self._say(f"needs{source.replace('_', ' ')}"[:LABEL], "; ".join(means))
        slow = sorted(self._run.cases, key=lambda card: (-card.timing.seconds, card.id, card.trial))[:_SLOWEST]
        self._say("slowest", ", ".join(f"{view.card_name(card)} {card.timing.seconds:.2f} s" for card in slow))

    def _counts(self) -> None:
        """Add the numbers of calls and replies, and the sources of the answers to calls."""
        cards = self._run.cases
        totals = {kind: sum(card.sandbox.get(kind, 0) for card in cards) for kind in PROVENANCE_KINDS}
        answered = ", ".join(f"{count} {kind}" for kind, count in totals.items() if count) or "no answer"
        counts = ("failed", "refused", "over_limit")
        failed, refused, over = (sum(getattr(card.calls, name) for card in cards) for name in counts)
        made = sum(card.calls.total for card in cards)
        text = f"{made} call{'s' * (made != 1)}: {answered}"
        text += f", {failed} with an error" if failed else ""
        text += f", {refused} of them refused" if refused else ""
        text += f", {over} when the calls of the episode were used up" if over else ""
        self._say("sandbox", text, "yellow" if totals["miss"] else "")
        replies = self._sum("turns")
        text = f"{replies} repl{'y' if replies == 1 else 'ies'} of the agent, {self._sum('clarifications')} of them questions"
        labels = [label for card in cards for label in card.labels]
        if unclaimed := self._sum("nothing_claimed"):
            facts = sum(label.kind == "fact" and label.outcome == "passed" for label in labels)
            text += f"; {unclaimed} of the {facts} facts that passed had no claim to check"
        if idle := sum(label.idle for label in labels):
            text += f"; {idle} requirement{'s' * (idle > 1)} passed because nothing had to change"
        if unchecked := self._sum("unchecked_rules"):
            text += f"; {unchecked} rules of tools are prose that no check reads"
        self._say("dialogue", text)

    def _users_and_judge(self) -> None:
        """Add how often simulated users departed from their scripts, and how many labels a model gave; nothing if both are zero."""
        labels = [label for card in self._run.cases for label in card.labels]
        slips = Counter(label.requirement.partition(".")[2] for label in labels if label.kind == USER)
        if slips:
            kinds = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(slips.items()))
            text = f"{slips.total()} turns depart from the script ({kinds})"
            blamed = [card for card in self._run.cases if card.blame == "user"]
            laid = sum(any(label.kind == USER for label in card.labels) for card in blamed)
            self._say("users", text + (f"; {laid} episodes failed by it" if laid else ""), "yellow")
        if voted := [label for label in labels if label.votes]:
            undecided = sum(label.value is None for label in voted)
            shares = [share for label in voted if (share := votes_agree(label.votes)) is not None]
            text = f"{len(voted) - undecided} labels by the model, {undecided} undecided"
            text += f"; two votes agree in {sum(shares) / len(shares):.0%}" if shares else ""
            self._say("judge", text)

    def _spent(self) -> None:
        """Add the spending of agent, user and judge, if at least one episode states it."""
        fields = {"agent": "spent", "user": "user_spent", "judge": "judge_spent"}
        sums = []
        for name, field in fields.items():
            parts = [part for card in self._run.cases if (part := getattr(card, field)) is not None]
            sums += [f"{name} {_sums(parts)}"] if any(part != Usage() for part in parts) else []
        if sums:
            self._say("spent", "; ".join(sums))

    # -- what is missing, and the gate -----------------------------------------------------

    def warnings(self) -> None:
        """Add the reasons for doubt in the result: warnings of the run, many missed calls, flaky cases."""
        manifest, cases = self._run.manifest, self._run.cases
        compared = () if self._run.comparison is None or self._full else self._run.comparison.warnings
        warnings = [*manifest.warnings, *compared]
        if manifest.judge.linked is False:
            warnings.append("recorded verdicts are joined by case id only: they may be about other dialogues")
        calls = sum(card.calls.total for card in cases)
        missed = sum(card.sandbox.get("miss", 0) for card in cases)
        if missed > _MANY_MISSES * calls:
            warnings.append(
                f"{missed} of {calls} calls missed ({missed / max(calls, missed):.0%}): the suite has no recording; "
                "mapsat lint SUITE --misses RUN offers some"
            )
        if flaky := [_flaky(row) for row in self._rows if row.flaky]:
            self._say("flaky", listed(flaky, _FLAKY if self._full else _FEW), "yellow")
        self._some("warning", warnings, len(warnings) if self._full else _FEW, "yellow")

    def unknown_tools(self, calls: Mapping[str, int]) -> None:
        """Add the tools that the agent called and no case has, the most frequent first, and how their own bodies run."""
        names = [printable(name) for name in sorted(calls, key=lambda name: (-calls[name], name))]
        if names:
            total, several = sum(calls.values()), len(names) > 1
            text = f"{listed(names, _FEW_TOOLS)} {'are' if several else 'is'} in no case ({total} call{'s' * (total != 1)}): if "
            text += f"{'they run' if several else 'it runs'} another agent, write episode: {{run: [{', '.join(names[:_FEW_TOOLS])}]}} in suite.yaml"
            self._say("tools", self._cut(text), "yellow")

    def missing(self) -> None:
        """Add the episodes stopped by the infrastructure, most frequent reasons first, and the lost episodes."""
        stopped = (card for card in self._run.cases if card.blame == "infrastructure")
        by_reason = by_key((card.reason, view.card_name(card)) for card in stopped)
        reasons = sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
        texts = [
            f"{len(names)} by the infrastructure: {reason} ({listed(names, _STOPPED_NAMES)})"
            for reason, names in reasons
        ]
        self._some("stopped", texts, _FEW, "red")
        lost = [f"{loss.id} trial {loss.trial}: {loss.reason}" for loss in self._run.accounting.lost]
        if "could not be read" in "".join(self._run.gate.reasons[:1]) and not self._full:
            return  # that nothing started is what follows from it
        self._some("lost", lost, _LOST if self._full else _FEW, "red")

    def _some(self, label: str, texts: Sequence[str], most: int, style: str) -> None:
        """Add the first texts after a label, and the number of further ones."""
        for text in texts[:most]:
            self._say(label, self._cut(printable(text)), style)
        if more := len(texts[most:]):
            self._say("", f"and {more} more", style)

    def gate(self, most: int | None) -> None:
        """Add the decision of the gate and its first reasons; all reasons for None."""
        gate = self._run.gate
        style, outcome = _STYLES[gate.outcome], gate.outcome.upper()
        outcome += ", exit status 1" if gate.outcome == "inconclusive" else ""
        reasons = [printable(reason) for reason in gate.reasons]
        if most is not None and gate.outcome in ("passed", "failed"):
            reasons = [reason for reason in reasons if " no verdict, allowed: " not in reason]  # that changes nothing
        if most is not None and gate.outcome == "inconclusive":
            reasons = [*reasons[: most - 1], *reasons[most - 1 :][-1:]]  # the last one says how to decide it
        elif most is not None and not gate.thresholds:
            # Without a threshold there is one reason to tell: what else is open changes nothing.
            unset = " (no threshold set)" if gate.outcome == "failed" else ""
            reasons = [_without_names(reason) + unset for reason in reasons[:1]]
        if gate.outcome == "passed" and not gate.thresholds:
            style, outcome, reasons = "", "none", ["no threshold set, the cases alone decide"] if most else reasons
        for number, reason in enumerate((reasons or [""])[:most]):
            text = reason if number else outcome + (f": {reason}" if reason else "")
            self._say("" if number else "gate", self._cut(text), "yellow" if reason.startswith("warning: ") else style)


def _without_names(reason: str) -> str:
    """Return why a gate fails, without the names of failed cases if there are too many."""
    return re.sub(r"^(\d+ of \d+ cases? failed): .* more$", r"\1", reason)


def _short(heads: Sequence[str]) -> list[str]:
    """Return the column heads of a table without the abbreviations in brackets, for a narrow terminal."""
    return [heads[0], *(head.partition(" (")[0] for head in heads[1:])]


def _fits(rows: Sequence[Sequence[str]], width: int, gap: str = _GAPS[0]) -> bool:
    """Return whether a table fits into a width."""
    columns = list(zip(*rows, strict=True))
    return sum(max(map(cell_width, column)) for column in columns) + len(gap) * (len(columns) - 1) <= width


def _sums(parts: Sequence[Usage]) -> str:
    """Return in words the tokens and cost of some episodes, and how many episodes do not state all."""
    counted_parts = [part for part in parts if part.input_tokens is not None and part.output_tokens is not None]
    costs = [part.cost for part in parts if part.cost is not None]
    text = f"{sum(part.input_tokens or 0 for part in counted_parts):,} tokens in, {sum(part.output_tokens or 0 for part in counted_parts):,} out"
    text += f", ${math.fsum(costs):.4f}" if costs else ""
    unknown = len(parts) - min(len(counted_parts), len(costs) if costs else len(counted_parts))
    return text + (f" ({unknown} of {len(parts)} episodes do not say all)" if unknown else "")


def _flaky(row: CaseRow) -> str:
    """Return the name of a flaky case with the number of passed trials, or the attempt at which it passed."""
    if row.trials > 1:
        again = f", {row.reruns} run again" if row.reruns else ""
        return f"{view.row_name(row)} ({row.passed} of {row.trials} trials passed{again})"
    attempt = next(card.attempt for card in row.cards if card.outcome == "passed")
    return f"{view.row_name(row)} (passed at attempt {attempt} of {len(row.cards)})"


# -- the line while a run goes -----------------------------------------------------------------------------------------

_LIVE_GAP = ", "
#: What is given room first; the order of the line is that of ``live_line``.
_KEPT = ("done", "failed", "undecided", "error", "slow", "left", "under way", "mean", "cost", "rate", "last", "bar")
#: From so many cases on a rate says something; below so many a second it is told by the minute.
_RATED, _BY_THE_MINUTE = 3, 1.0
#: An episode is slow that has taken so many seconds, and so many times the mean of those that have ended.
_SLOW, _TIMES = 10.0, 3.0
_MINUTE, _HOUR = 60, 3600


class Tally:
    """Running totals of finished episodes: the outcome of each last attempt, and the cost and time of all attempts.

    Attributes:
        cost: of agent, user and judge, US dollars; None while unknown.
        seconds: that all of them took.
    """

    def __init__(self) -> None:
        self.cost: float | None = None
        self.seconds = 0.0
        self._last: dict[tuple[str, int, str], tuple[str, Bounds | None]] = {}
        self._metric = ""

    def __len__(self) -> int:
        return len(self._last)

    def add(self, card: Scorecard) -> None:
        """Add the outcome, the metric, the time and the cost of an episode."""
        self._metric = self._metric or ("ar" if "ar" in card.metrics else next(iter(card.metrics), ""))
        self._last[card.id, card.trial, card.agent] = (
            outcome_word(card.outcome, lost=card.lost),
            card.bounds_of(self._metric),
        )
        self.seconds += card.timing.seconds
        for part in (card.spent, card.user_spent, card.judge_spent):
            if part is not None and part.cost is not None:
                self.cost = (self.cost or 0.0) + part.cost

    @property
    def outcomes(self) -> Counter[str]:
        """Return the number of episodes by outcome, such as failed, undecided or error."""
        return Counter(outcome for outcome, _ in self._last.values())

    @property
    def last_failed(self) -> str:
        """Return the failed case that was added last; empty if none failed."""
        return next((printable(key[0]) for key in reversed(self._last) if self._last[key][0] == "failed"), "")

    @property
    def mean(self) -> str:
        """Return the mean of AR, or of the suite's first metric, as text with its bounds; empty if it is unknown."""
        spans = [span for _, span in self._last.values() if span is not None]
        return f"{view.metric_word(self._metric)} {view.span_text(*mean_span(spans), '-')}" if spans else ""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """An episode that is still running.

    Attributes:
        name: the case, with its trial.
        seconds: since it began.
    """

    name: str
    seconds: float


def live_line(tally: Tally, *, done: int, of: int, under_way: Sequence[UnderWay], seconds: float, width: int) -> str:
    """Return the progress of a run on one line, with the parts that fit into the width.

    Args:
        tally: what has ended.
        done: cases that are over.
        of: all that there are; 0 where unknown.
        under_way: the oldest first.
        seconds: since the first began.
        width: columns of the terminal; what has no room is left out.
    """
    outcomes = tally.outcomes
    rate = done / seconds if done >= _RATED and seconds > 0 else 0.0
    by_the_minute = rate < _BY_THE_MINUTE
    slow = under_way[0] if under_way else None
    if slow is not None and slow.seconds < max(_SLOW, _TIMES * tally.seconds / max(len(tally), 1)):
        slow = None
    parts = {
        "done": f"mapsat {done}/{of}" if of else f"mapsat {done}",
        "bar": "█" * (_BAR * done // of) + "░" * (_BAR - _BAR * done // of) if of >= done >= _RATED else "",
        "under way": f"{len(under_way)} under way" if under_way else "",
        **{name: f"{outcomes[name]} {name}" for name in ("failed", "undecided") if outcomes[name]},
        "error": f"{outcomes['error']} error{'s' * (outcomes['error'] > 1)}" if outcomes["error"] else "",
        "mean": tally.mean,
        "rate": "" if not rate else f"{rate * _MINUTE:.1f}/min" if by_the_minute else f"{rate:.1f}/s",
        "left": f"{_clock((of - done) / rate)} left" if rate and of > done else "",
        "cost": "" if tally.cost is None else f"${tally.cost:.2f}",
        "last": f"last failed: {tally.last_failed}" if tally.last_failed else "",
        "slow": "" if slow is None else f"slow: {printable(slow.name)} {_clock(slow.seconds)}",
    }
    shown: list[str] = []
    for name in _KEPT:
        tried = [part for part in parts if parts[part] and (part in shown or part == name)]
        if cell_width(_LIVE_GAP.join(parts[part] for part in tried)) < width:
            shown = tried
    return _LIVE_GAP.join(parts[name] for name in shown)


def _clock(seconds: float) -> str:
    """Return a duration as ``M:SS``, or as ``H:MM:SS`` from an hour on."""
    whole = int(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE}:{whole % _MINUTE:02}"
    return f"{whole // _HOUR}:{whole % _HOUR // _MINUTE:02}:{whole % _MINUTE:02}"
