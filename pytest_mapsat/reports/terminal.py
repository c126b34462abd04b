"""The terminal summary: metrics with denominators and intervals, provenance, worst and slowest cases, the gate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_mapsat.metrics import CaseRow, by_key, case_rows, mean_span, memberships, votes_agree
from pytest_mapsat.model import (
    MSB_METRICS,
    PROVENANCE_KINDS,
    UNDECIDED,
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

from .changes import change_lines, rule_lines
from .text import Line, cell_width, cut, labelled, printable
from .view import (
    PASS_RATE,
    card_name,
    dimension_order,
    dimension_title,
    gated_metrics,
    group_order,
    leading,
    mean_text,
    metric_title,
    metric_word,
    reason_of,
    row_name,
    sample_text,
    short_mean_text,
    span_text,
)

_WIDEST_NAME = 24
_GAPS = ("  ", " ")
#: The metrics of the paper as the table has them from left to right; -v adds the others.
_EVERYDAY = ("ar", "ecr", "iisr", "ifs", "ts", "ses")
#: The columns that a narrow terminal loses, in this order; the name, the passed cases and the first metric always stay.
_LEAST_TELLING = ("eff", "ts", "ifs", "ecr", "iisr", "ses")
_ALWAYS = 3
#: How many cases, episodes or reasons are named.
_STOPPED_NAMES, _WORST, _SLOWEST, _LOST, _STOPPED, _FLAKY = 2, 5, 3, 10, 3, 10
#: From this share of calls on, a miss is no single gap but a suite that does not fit its agent.
_MANY_MISSES = 0.1


def summary_lines(
    run: Run, *, width: int, colour: bool, brief: bool = False, full: bool = False, saved: str = "RUN"
) -> list[Line]:
    """Return the lines of a run's summary.

    Args:
        run: the run; trajectories are not read.
        width: columns of the terminal.
        colour: whether lines may have a style.
        brief: give only the gate's line and the lost items.
        full: with a comparison, name every case, requirement and group that changed.
        saved: the run file, as commands that go on from it name it.
    """
    summary = _Summary(run, width, full=full, saved=saved)
    if not brief:
        summary.begin()
        if run.cases:
            summary.table()
            summary.cases()
        summary.warnings()
    summary.missing()
    summary.gate(brief=brief)
    return summary.lines if colour else [Line(line.text) for line in summary.lines]


def group_lines(run: Run, dimension: str, *, width: int) -> list[Line]:
    """Return the means of a run by one dimension of its groups, such as ``domain``, ``place`` or an attribute, in a table.

    Raises:
        UsageError: the run has no such groups.
    """
    if dimension not in run.groups:
        hint = did_you_mean(dimension, run.groups) or f"the run has {', '.join(dimension_order(run.groups)) or 'none'}"
        raise UsageError(f"--by: the run has no groups by {shown(dimension)}; {hint}")
    summary = _Summary(run, width, full=True, saved="RUN")
    most = max((int(name[5:]) for name in run.summary if name.startswith("pass@")), default=0)
    columns = [PASS_RATE, *summary.columns(), *((f"pass@{most}", f"pass^{most}") if most else ())]
    rows = summary.cells(columns, dimension)
    rows[0][0] = f"{dimension_title(dimension)}, {rows[0][0]}"
    summary.draw(rows, columns)
    return summary.lines


class _Summary:
    """Builds the lines of a summary."""

    def __init__(self, run: Run, width: int, *, full: bool, saved: str) -> None:
        self.lines: list[Line] = []
        self._run, self._width, self._full, self._saved = run, width, full, saved
        self._rows = case_rows(run.cases, run.manifest.options.pass_rule)

    def _say(self, label: str, text: str, style: str = "") -> None:
        """Add a text behind a label, wrapped to the width."""
        self.lines += labelled(label, text, self._width, style)

    def _list(self, label: str, texts: Iterable[str]) -> None:
        """Add a line for each text, cut to the width; the first line has the label."""
        for number, text in enumerate(texts):
            self.lines.append(Line(cut(f"{'' if number else label:8} {text}", self._width)))

    def _sum(self, name: str) -> int:
        """Return the sum of a field over all scorecards."""
        return sum(getattr(card, name) for card in self._run.cases)

    # -- what the run is -------------------------------------------------------------------

    def begin(self) -> None:
        """Add what ran (agent, suites, user, judge), and the comparisons with the baseline and the anchor."""
        manifest, width = self._run.manifest, self._width
        suites = ", ".join(printable(suite.label) for suite in manifest.suites) or "none"
        about = f"suite  {suites} · user: {printable(manifest.user)} · judge: {printable(manifest.judge.spec)}"
        memory = manifest.options.agent_memory
        agent = printable(manifest.agent if memory == "none" else f"{manifest.agent} · memory: {memory}")
        self.lines += [Line(cut(f"agent  {agent}", width)), Line(cut(about, width))]
        if sample := sample_text(manifest):
            self.lines.append(Line(cut(f"sample {sample}", width)))
        if manifest.judge.linked is False:
            text = "judge  its verdicts are joined by case id only: they may be about other dialogues"
            self.lines.append(Line(text, "yellow"))
        self.lines.append(Line(""))
        if self._run.comparison is not None:
            self.lines += [*change_lines(self._run.comparison, width, full=self._full), Line("")]
        if self._run.anchor is not None:
            self.lines += [*rule_lines(self._run.anchor, width, "anchor"), Line("")]

    # -- the table of means ----------------------------------------------------------------

    def table(self) -> None:
        """Add the table of means: all metric sets together, or a table for each where the terminal is too narrow."""
        set_of = {metric.name: metric.metric_set for metric in self._run.manifest.metrics}
        by_set = by_key((set_of.get(name, ""), name) for name in self.columns())
        together = self.cells([PASS_RATE, *(name for some in by_set.values() for name in some)])
        together[0] = _short(together[0])
        if len(by_set) > 1 and _fits(together, self._width, _GAPS[-1]):
            by_set = {"": [name for some in by_set.values() for name in some]}
        for number, (metric_set, some) in enumerate(by_set.items()):
            self.lines += [Line("")] if number else []
            columns = some if number else [PASS_RATE, *some]
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
        """Return the metrics from left to right: the paper's in everyday order, then those of other metric sets."""
        gated = gated_metrics(self._run)
        papers = {metric.name for metric in MSB_METRICS}
        first = [name for name in _EVERYDAY if name in gated]
        return first + [name for name in gated if name not in first and (self._full or name not in papers)]

    def cells(self, columns: Sequence[str], dimension: str = "domain") -> list[list[str]]:
        """Return the rows of a table: its head, all cases, then each group of a dimension."""
        count = len({row.id for row in self._rows})
        trials = max((row.trials for row in self._rows), default=1)
        head = f"{count} case{'s' * (count != 1)}" + (f" x {trials}" if trials > 1 else "")
        cells = [[head, *map(metric_title, columns)]]
        cells.append(["all", *self._means(self._rows, self._run.summary, columns)])
        members = by_key(
            (name, row)
            for row in self._rows
            for name in dict.fromkeys(name for card in row.cards for of, name in memberships(card) if of == dimension)
        )
        groups = self._run.groups.get(dimension, {})
        for name in group_order(groups):
            means = groups[name]
            cells.append([cut(printable(name), _WIDEST_NAME), *self._means(members.get(name, []), means, columns)])
        return cells

    def _means(self, rows: Sequence[CaseRow], means: Mapping[str, Aggregate], columns: Sequence[str]) -> list[str]:
        """Return the cells of a row: the cases that passed, and the mean of each metric, ``-`` where it is unknown."""
        passed = f"{sum(row.outcome == 'passed' for row in rows)}/{len(rows)}"
        text = mean_text if self._full else short_mean_text
        return [passed if name == PASS_RATE else text(means.get(name), "-") or "-" for name in columns]

    def draw(self, rows: Sequence[Sequence[str]], columns: Sequence[str]) -> None:
        """Add the lines of a table; if it is too wide, narrow its gaps, then drop the least useful columns, then cut names."""
        kept = list(range(len(rows[0])))

        def rank(place: int) -> tuple[bool, int]:
            """Return the sort key by which columns are dropped: unknown means first, then the least useful metrics."""
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
            self._say("", f"the terminal is too narrow to show {', '.join(dropped)}")

    def _legend(self) -> None:
        """Add notes on the table: how metrics are computed, what a range means, and which cases a mean leaves out."""
        run, gated = self._run, gated_metrics(self._run)
        if {"ar", "ecr", "iisr"} <= set(gated):
            self._say("", "satisfied (AR) = requests met x unspoken needs met, per case")
            self._say("", "efficiency (SES) = satisfied x brevity (0.5 with as many replies as expected)")
        if "ts" in gated:
            self._say("", "tools = expected tools called as expected / tools expected or called")
        if any(len(card.domains) > 1 for card in run.cases):
            self._say("", "a case counts in each of its domains")
        if undecided := max((mean.undecided for mean in run.summary.values()), default=0):
            count = len({card.id for card in run.cases})
            ranges = [name for name in gated if name in run.summary and run.summary[name].undecided]
            # Where the first means are exact, those that are not are named.
            which = "" if set(ranges) & set(_EVERYDAY) else f" ({', '.join(map(metric_word, ranges))})"
            text = f"a range{which}: labels of {undecided} of {count} cases are undecided"
            self._say("", f"{text} (mapsat review {self._saved})", "yellow")
        counting: dict[str, list[str]] = {}
        for name in gated:
            mean = run.summary.get(name)
            if mean and mean.left_out and mean.n + mean.undecided:
                classes = ", ".join(
                    f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(mean.left_out.items())
                )
                in_mean = mean.n + mean.undecided
                counting.setdefault(f"{in_mean} case{'s' * (in_mean > 1)} ({classes})", []).append(metric_word(name))
        for counts, names in counting.items():
            self._say("", f"{', '.join(names)}: means over {counts}", "yellow")
        if suspects := Counter(card.id for card in run.cases for label in card.labels if label.suspect):
            labels, cases = suspects.total(), len(suspects)
            text = (
                f"{labels} undecided label{'s' * (labels > 1)} in {cases} case{'s' * (cases > 1)} look failed; "
                f"mapsat review {self._saved} shows them first"
            )
            self._say("", text, "yellow")
        headlines = ((metric.name, run.summary.get(metric.name)) for metric in run.manifest.metrics if metric.headline)
        intervals = [
            f"{metric_word(name)} {mean.low:.3f}-{mean.high:.3f}"
            for name, mean in headlines
            if mean and mean.low is not None and mean.high is not None
        ]
        drawn = "".join(f" drawn by {name}" for name in sorted({card.cluster for card in run.cases} - {""}))
        if intervals:
            self._say(f"95 % interval over cases{drawn}: ", ", ".join(intervals))

    # -- what happened in the episodes -----------------------------------------------------

    def cases(self) -> None:
        """Add where tool answers came from, what was said and spent, and the cases that need a look."""
        self._counts()
        self._users_and_judge()
        self._spent()
        self._list("worst", self._worst())
        self._list("review", self._open())
        summary = self._run.summary
        share = {"pass@": "any of {} passes", "pass^": "all {} pass"}
        if means := [
            f"{share[name[:5]].format(name[5:])} ({name}) {mean_text(summary[name])}"
            for name in summary
            if name[:5] in share
        ]:
            self._say("trials   ", "; ".join(means))
        if means := [f"{name[5:]} {mean_text(mean)}" for name, mean in summary.items() if name.startswith("user_")]:
            self._say(
                "per user ",
                f"{len(self._run.groups.get('group', {}))}, right where all their tasks are: {'; '.join(means)}",
            )
        if flaky := [_flaky(row) for row in self._rows if row.flaky]:
            self._say("flaky    ", listed(flaky, _FLAKY), "yellow")
        slow = sorted(self._run.cases, key=lambda card: (-card.timing.seconds, card.id, card.trial))[:_SLOWEST]
        self._say("slowest  ", ", ".join(f"{card_name(card)} {card.timing.seconds:.2f} s" for card in slow))

    def _counts(self) -> None:
        """Add how many calls and replies there were, and where the answers to the calls came from."""
        cards = self._run.cases
        totals = {kind: sum(card.sandbox.get(kind, 0) for card in cards) for kind in PROVENANCE_KINDS}
        answered = ", ".join(f"{count} {kind}" for kind, count in totals.items() if count) or "no answer"
        counts = ("failed", "refused", "over_limit")
        failed, refused, over = (sum(getattr(card.calls, name) for card in cards) for name in counts)
        text = f"{sum(card.calls.total for card in cards)} calls: {answered}"
        text += f", {failed} with an error" if failed else ""
        text += f", {refused} of them refused" if refused else ""
        text += f", {over} when the calls of the episode were used up" if over else ""
        self._say("sandbox ", text, "yellow" if totals["miss"] else "")
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
        self._say("dialogue ", text)

    def _users_and_judge(self) -> None:
        """Add how often simulated users departed from their scripts, and how many labels a model gave; nothing if neither."""
        labels = [label for card in self._run.cases for label in card.labels]
        slips = Counter(label.requirement.partition(".")[2] for label in labels if label.kind == USER)
        if slips:
            kinds = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(slips.items()))
            text = f"{slips.total()} turns depart from the script ({kinds})"
            blamed = [card for card in self._run.cases if card.blame == "user"]
            laid = sum(any(label.kind == USER for label in card.labels) for card in blamed)
            self._say("users    ", text + (f"; {laid} episodes failed by it" if laid else ""), "yellow")
        if voted := [label for label in labels if label.votes]:
            undecided = sum(label.value is None for label in voted)
            shares = [share for label in voted if (share := votes_agree(label.votes)) is not None]
            text = f"{len(voted) - undecided} labels by the model, {undecided} undecided"
            text += f"; two votes agree in {sum(shares) / len(shares):.0%}" if shares else ""
            self._say("judge    ", text)

    def _spent(self) -> None:
        """Add what agent, user and judge spent, each only if some episode states it."""
        fields = {"agent": "spent", "user": "user_spent", "judge": "judge_spent"}
        sums = []
        for name, field in fields.items():
            parts = [part for card in self._run.cases if (part := getattr(card, field)) is not None]
            sums += [f"{name} {_sums(parts)}"] if any(part != Usage() for part in parts) else []
        if sums:
            self._say("spent   ", "; ".join(sums))

    def _worst(self) -> Iterator[str]:
        """Yield the cases that failed or scored lowest, each with the reason from its most telling episode."""
        name = leading(self._run)
        scored = [
            (row, value)
            for row in self._rows
            if (value := _mean(row, name)) is not None and (value < 1 or row.outcome == "failed")
        ]
        scored.sort(key=lambda pair: (pair[0].outcome != "failed", pair[1], pair[0].id, pair[0].agent))
        for row, value in scored[:_WORST]:
            card = row.told
            reason = f"{'' if card.reason else 'missed: '}{reason_of(card, 'nothing that was judged')}"
            trials = f"  {row.passed} of {row.trials} trials passed" if row.trials > 1 else ""
            yield f"{row_name(row)}  {metric_word(name)} {value:.2f}{trials}  {reason}"

    def _open(self) -> Iterator[str]:
        """Yield the episodes with an undecided leading metric, with its bounds and the reasons."""
        name = leading(self._run)
        cards = [card for card in self._run.cases if name in card.bounds]
        cards.sort(key=lambda card: (not card.unknown, card.key))
        for card in cards[:_WORST]:
            whys = "; ".join(
                f"{label.kind} {label.requirement} is undecided: {label.why.removeprefix(f'{UNDECIDED}: ')}"
                for label in card.labels
                if label.bounded
            )
            span = span_text(*card.bounds[name])
            yield f"{card_name(card)}  {metric_word(name)} {span}  {printable(card.reason or whys)}"

    # -- what is missing, and the gate -----------------------------------------------------

    def warnings(self) -> None:
        """Add the warnings of the run, and one if too many calls have no recording."""
        for warning in self._run.manifest.warnings:
            self._say("warning  ", printable(warning), "yellow")
        calls = sum(card.calls.total for card in self._run.cases)
        missed = sum(card.sandbox.get("miss", 0) for card in self._run.cases)
        if missed > _MANY_MISSES * calls:
            text = (
                f"{missed} of {calls} calls missed ({missed / max(calls, missed):.0%}): the suite has no recording of them, and labels that rest on "
                "them stay open; mapsat lint SUITE --misses RUN offers synonyms and recordings"
            )
            self._say("warning  ", text, "yellow")

    def missing(self) -> None:
        """Add the episodes that the infrastructure stopped, most frequent reasons first, and the lost ones."""
        stopped = (card for card in self._run.cases if card.blame == "infrastructure")
        by_reason = by_key((card.reason, card_name(card)) for card in stopped)
        reasons = sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
        for number, (reason, names) in enumerate(reasons[:_STOPPED]):
            text = f"{len(names)} by the infrastructure: {printable(reason)} ({listed(names, _STOPPED_NAMES)})"
            self._say(f"{'' if number else 'stopped':8} ", text, "red")
        if more := sum(len(names) for _, names in reasons[_STOPPED:]):
            self.lines.append(Line(f"{'':8} and {more} more for other reasons", "red"))
        lost = self._run.accounting.lost
        for number, loss in enumerate(lost[:_LOST]):
            self._say(
                f"{'' if number else 'lost':8} ", printable(f"{loss.id} trial {loss.trial}: {loss.reason}"), "red"
            )
        if len(lost) > _LOST:
            self.lines.append(Line(f"{'':8} and {len(lost) - _LOST} more", "red"))

    def gate(self, *, brief: bool) -> None:
        """Add the decision of the gate and its reasons; only the first line if ``brief`` is set."""
        gate = self._run.gate
        style = {"passed": "green", "failed": "red", "inconclusive": "yellow", "invalid": "red"}[gate.outcome]
        outcome = gate.outcome.upper() + (", exit status 1" if gate.outcome == "inconclusive" else "")
        if gate.outcome == "passed" and not gate.thresholds:
            style, outcome = "", "none"
        for number, reason in enumerate((gate.reasons or ("",))[: 1 if brief else None]):
            text = printable(reason) if number else outcome + (f": {printable(reason)}" if reason else "")
            self._say(f"{'' if number else 'gate':9}", text, "yellow" if reason.startswith("warning: ") else style)


def _short(heads: Sequence[str]) -> list[str]:
    """Return the heads of a table without the abbreviations in brackets, for a narrow terminal."""
    return [heads[0], *(head.partition(" (")[0] for head in heads[1:])]


def _fits(rows: Sequence[Sequence[str]], width: int, gap: str = _GAPS[0]) -> bool:
    """Return whether a table fits into a width."""
    columns = list(zip(*rows, strict=True))
    return sum(max(map(cell_width, column)) for column in columns) + len(gap) * (len(columns) - 1) <= width


def _sums(parts: Sequence[Usage]) -> str:
    """Return in words the tokens and cost of some episodes, and how many of them do not state all."""
    counted_parts = [part for part in parts if part.input_tokens is not None and part.output_tokens is not None]
    costs = [part.cost for part in parts if part.cost is not None]
    text = f"{sum(part.input_tokens or 0 for part in counted_parts):,} tokens in, {sum(part.output_tokens or 0 for part in counted_parts):,} out"
    text += f", ${math.fsum(costs):.4f}" if costs else ""
    unknown = len(parts) - min(len(counted_parts), len(costs) if costs else len(counted_parts))
    return text + (f" ({unknown} of {len(parts)} episodes do not say all)" if unknown else "")


def _mean(row: CaseRow, name: str) -> float | None:
    """Return the mean of a metric over a case's trials with a value; None if no trial has one."""
    values = [value for card in row.cards if (value := card.metric(name)) is not None]
    return sum(values) / len(values) if values else None


def _flaky(row: CaseRow) -> str:
    """Return the name of a flaky case with the number of passed trials, or the attempt at which it passed."""
    if row.trials > 1:
        again = f", {row.reruns} run again" if row.reruns else ""
        return f"{row_name(row)} ({row.passed} of {row.trials} trials passed{again})"
    attempt = next(card.attempt for card in row.cards if card.outcome == "passed")
    return f"{row_name(row)} (passed at attempt {attempt} of {len(row.cards)})"


# -- the line while a run goes -----------------------------------------------------------------------------------------

_LIVE_GAP = ", "
#: What is given room first; the order of the line is that of ``live_line``.
_KEPT = ("done", "failed", "undecided", "error", "slow", "left", "under way", "mean", "cost", "rate")
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
    def mean(self) -> str:
        """Return the mean of AR, or of the suite's first metric, as text with its bounds; empty if it is unknown."""
        spans = [span for _, span in self._last.values() if span is not None]
        return f"{metric_word(self._metric)} {span_text(*mean_span(spans), '-')}" if spans else ""


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
        "under way": f"{len(under_way)} under way" if under_way else "",
        **{name: f"{outcomes[name]} {name}" for name in ("failed", "undecided") if outcomes[name]},
        "error": f"{outcomes['error']} error{'s' * (outcomes['error'] > 1)}" if outcomes["error"] else "",
        "mean": tally.mean,
        "rate": "" if not rate else f"{rate * _MINUTE:.1f}/min" if by_the_minute else f"{rate:.1f}/s",
        "left": f"{_clock((of - done) / rate)} left" if rate and of > done else "",
        "cost": "" if tally.cost is None else f"${tally.cost:.2f}",
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
