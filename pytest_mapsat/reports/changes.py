"""A comparison in words: the same for the terminal, a merge comment and the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pytest_mapsat.model import (
    Aggregate,
    CaseChange,
    CaseSide,
    Change,
    Comparison,
    Noun,
    Quote,
    RequirementChange,
    Run,
    listed,
)

from .text import Line, cell_width, cut, labelled, printable, wrap
from .view import PASS_RATE, dimension_title, metric_word, outcome_title, short_mean_text, span_text

_MINUS = "\N{MINUS SIGN}"
_QUOTES, _QUOTE, _REASON = 3, 160, 400
#: A smaller probability is not told in figures.
_LEAST = 0.001
#: Cases that are told in full, and requirements of each.
_CASES, _REQUIREMENTS = 10, 6
_STYLES = {"worse": "red", "better": "green"}
_RULES = {"failed": "red", "passed": "green", "inconclusive": "yellow"}


class ChangeRow(NamedTuple):
    """The change of a metric as display texts.

    ``where`` is the group of cases, empty for all of them. ``chance`` says how probable so large a difference is by chance, ``direction`` is ``worse``, ``better``,
    ``same`` or ``unclear``, and ``counted`` how many cases it is made of.
    """

    where: str
    metric: str
    baseline: str
    new: str
    difference: str
    chance: str
    direction: str
    counted: str


def change_rows(changes: Iterable[Change]) -> list[ChangeRow]:
    """Return a row for each change with a known difference, in the order given."""
    return [_row(change) for change in changes if change.difference is not None]


def _row(change: Change) -> ChangeRow:
    """Return the change of a metric as display texts."""
    chance = "" if change.p is None else f"{change.p:.3f}" if change.p >= _LEAST else f"< {_LEAST}"
    before, now = ("" if side is None else span_text(*side) for side in (change.baseline, change.new))
    return ChangeRow(
        where=f"{dimension_title(change.dimension)} {printable(change.group)}" if change.group else "",
        metric=metric_word(change.metric),
        baseline=before,
        new=now,
        difference=" to ".join(dict.fromkeys(map(_signed, change.difference or ()))),
        chance="" if change.direction == "same" else chance,
        direction=change.direction,
        counted=f"{change.n + change.undecided}{f', {change.undecided} undecided' if change.undecided else ''}",
    )


def _signed(value: float) -> str:
    """Return a difference with its sign and three digits; without a sign if it rounds to zero."""
    text = f"{abs(value):.3f}"
    return text if float(text) == 0 else f"{_MINUS if value < 0 else '+'}{text}"


def flip(case: CaseChange) -> str:
    """Return the outcomes of a case before and now, such as ``passed → failed``."""

    def ended(side: CaseSide) -> str:
        """Return the outcome of a case in one run, with the number of passed trials if there are several."""
        return outcome_title(side.outcome) + (f" ({side.passed} of {side.trials})" if side.trials > 1 else "")

    return f"{ended(case.baseline)} → {ended(case.new)}"


def requirement_change(requirement: RequirementChange) -> str:
    """Return the labels of a requirement before and now, such as ``passed → failed``."""
    before = label_word(requirement.baseline, requirement.baseline_value)
    return f"{before} → {label_word(requirement.new, requirement.new_value)}"


def label_word(outcome: str, value: float | None) -> str:
    """Return the outcome of a label in words, with the value if the requirement is met in part."""
    return f"met in part ({value:g})" if value is not None and 0 < value < 1 else outcome_title(outcome)


def unlike_texts(comparison: Comparison) -> list[str]:
    """Return in words the differences that make two runs unlike."""
    return [
        f"{printable(difference.what)}: was {printable(difference.baseline) or 'nothing'}, is {printable(difference.new) or 'nothing'}"
        for difference in comparison.unlike
    ]


def quoted(quotes: Sequence[Quote]) -> str:
    """Return the first quotes of a label as text; empty if there are none."""
    texts = dict.fromkeys(cut(printable(quote.text), _QUOTE) for quote in quotes)
    return listed((f"“{text}”" for text in texts), _QUOTES)


def before_and_now(requirement: RequirementChange) -> tuple[str, str]:
    """Return the quotes of a requirement, or the judge's reason if there are none, before and now."""
    return (
        quoted(requirement.baseline_quotes) or cut(printable(requirement.baseline_why), _REASON),
        quoted(requirement.new_quotes) or cut(printable(requirement.new_why), _REASON),
    )


def change_counts(comparison: Comparison) -> str:
    """Return in words how many cases got worse, got better, or changed otherwise."""
    worse = sum(case.direction == "worse" for case in comparison.cases)
    better = sum(case.direction == "better" for case in comparison.cases)
    parts = [f"{worse} worse"] if worse else []
    parts += [f"{better} better"] if better else []
    parts += [f"{other} changed"] if (other := len(comparison.cases) - worse - better) else []
    return f"{comparison.pairs} cases in both runs: {', '.join(parts) or 'none changed'}"


def brief_change(comparison: Comparison) -> str:
    """Return in one sentence how the cases and the first metric changed since the earlier run."""
    if not comparison.comparable:
        return f"nothing is compared: {printable((*comparison.reasons, 'these are runs of different things')[0])}"
    rows = [row for row in change_rows(comparison.changes) if not row.where][:1]
    metric = [f"; {row.metric} {row.baseline} → {row.new}: {row.direction}" for row in rows]
    return f"{printable(comparison.baseline.agent)}: {change_counts(comparison)}{''.join(metric)}"


def change_lines(comparison: Comparison, width: int, *, full: bool = False) -> list[Line]:
    """Return a comparison for the terminal: differences, rules, metrics, then the cases with the words before and now.

    Args:
        comparison: the comparison.
        width: columns of the terminal.
        full: name every case, requirement and group; else the first of them.
    """
    lines = rule_lines(comparison, width, "baseline")
    if not comparison.comparable:
        return lines
    for number, place in enumerate(comparison.where):
        lines += _labelled("" if number else "where", printable(place), width, "red")
    lines += _metric_lines(comparison, width, full=full)
    shown = comparison.cases if full else comparison.cases[:_CASES]
    for case in shown:
        lines += _case_lines(case, width, full=full)
    if more := len(comparison.cases) - len(shown):
        lines.append(Line(f"{'':9}and {more} more case{'' if more == 1 else 's'}"))
    return lines


def rule_lines(comparison: Comparison, width: int, label: str) -> list[Line]:
    """Return lines with the earlier run, the differences from it, and the result of each rule.

    Args:
        comparison: the comparison.
        width: columns of the terminal.
        label: what the earlier run is called.
    """
    baseline = comparison.baseline
    suites = ", ".join(map(printable, baseline.suites)) or "no suite"
    lines = [*_labelled(label, f"{printable(baseline.agent)}, {suites}", width)]
    for text in unlike_texts(comparison):
        lines += _labelled("unlike", text, width, "yellow")
    for warning in comparison.warnings:
        lines += _labelled("warning", printable(warning), width, "yellow")
    if not comparison.comparable:
        reasons = [] if comparison.unlike else comparison.reasons
        why = printable(reasons[0]) if reasons else "these are runs of different things"
        return [*lines, *_labelled("", f"nothing is compared: {why}", width, "yellow")]
    alone = [(comparison.only_baseline, "gone"), (comparison.only_new, "new")]
    more = [f"{len(names)} {word} ({listed(map(printable, names))})" for names, word in alone if names]
    lines += _labelled("cases", "; ".join([change_counts(comparison), *more]), width)
    for rule in comparison.rules:
        lines += _labelled(
            "rule", f"{printable(rule.rule)} {rule.outcome}: {printable(rule.reason)}", width, _RULES[rule.outcome]
        )
        for hint in rule.settle:
            lines += _labelled("", printable(hint), width)
    return lines


def _metric_lines(comparison: Comparison, width: int, *, full: bool) -> Iterator[Line]:
    """Yield lines for the metrics that got worse or better; with ``full``, for all metrics."""
    changes = [change for change in comparison.changes if change.difference is not None]
    shown = [change for change in changes if full or change.direction in _STYLES]
    label = "metrics"
    for change in shown:
        row = _row(change)
        where = f"{row.where} " if row.where else ""
        chance = f" (p {'' if row.chance.startswith('<') else '= '}{row.chance})" if row.chance else ""
        text = f"{where}{row.metric} {row.baseline} → {row.new}, {row.difference}: {row.direction}{chance}"
        yield from _labelled(label, text, width, _STYLES.get(change.direction, ""))
        label = ""
    if not shown and changes:
        yield from _labelled(label, "no metric is shown to have changed", width)


def _case_lines(case: CaseChange, width: int, *, full: bool) -> Iterator[Line]:
    """Yield lines for a changed case and its requirements, with the words before and now."""
    style = _STYLES.get(case.direction, "")
    flipped = "flipped" if case.flipped else "changed"
    yield from _labelled(flipped, f"{printable(case.id)}  {flip(case)}", width, style)
    requirements = case.requirements if full else case.requirements[:_REQUIREMENTS]
    for requirement in requirements:
        name = f"{printable(requirement.requirement)} ({printable(requirement.kind)})"
        text = f"{name}: {requirement_change(requirement)}"
        yield from map(Line, wrap(text, width, indent=" " * 11, hang=2))
        for label, words in zip(("before  ", "now     "), before_and_now(requirement), strict=True):
            yield from labelled(" " * 13, words, width, lead=label) if words else ()
    if more := len(case.requirements) - len(requirements):
        yield Line(f"{'':11}and {more} more requirement{'' if more == 1 else 's'}")


def _labelled(label: str, text: str, width: int, style: str = "") -> Iterator[Line]:
    """Return the lines of a text after a label padded to nine columns."""
    return labelled(f"{label:9}", text, width, style)


# -- runs of several memories ------------------------------------------------------------------------------------------

#: The memories of the paper in its order, then its ceiling, then no memory; others stand before these two.
_ORDER = ("full", "agentic", "rag", "", "truth", "none")


class MemoryRow(Noun):
    """The results of an agent with a memory. ``figures``: ``avg@K``, ``pass@K`` and ``pass^K``; only the first for runs with one trial."""

    agent: str
    memory: str
    figures: dict[str, Aggregate | None]


def memory_rows(runs: Sequence[Run]) -> list[MemoryRow]:
    """Return the results of each run by memory, best agent first within a memory; K is the number of trials that all runs share."""
    trials = [{int(name[5:]) for name in run.summary if name.startswith("pass^")} for run in runs]
    k = max(set.intersection(*trials), default=1)
    names = {f"avg@{k}": PASS_RATE} | ({f"pass@{k}": f"pass@{k}", f"pass^{k}": f"pass^{k}"} if k > 1 else {})
    rows = [
        MemoryRow(
            agent=run.manifest.agent,
            memory=run.manifest.options.agent_memory,
            figures={title: run.summary.get(name) for title, name in names.items()},
        )
        for run in runs
    ]

    def place(row: MemoryRow) -> tuple[int, str, float, str]:
        """Return the sort key of a row: its memory in the paper's order, then the best average first."""
        kind, average = row.memory.partition(":")[0], row.figures[f"avg@{k}"]
        least = average.bounds[0] if average is not None and average.bounds is not None else 0.0
        return _ORDER.index(kind if kind in _ORDER else ""), row.memory, -least, row.agent

    return sorted(rows, key=place)


def memory_lines(rows: Sequence[MemoryRow], width: int) -> Iterator[str]:
    """Yield a table of agents by memory, with as many memories side by side as the width allows."""
    titles = list(rows[0].figures)
    agents = list(dict.fromkeys(row.agent for row in rows))
    lead = max(cell_width(printable(text)) for text in ("agent", *agents))
    memories = list(dict.fromkeys(row.memory for row in rows))
    texts_by_key = {
        (row.agent, row.memory): [short_mean_text(figure) or "-" for figure in row.figures.values()] for row in rows
    }
    cell = max(len(text) for texts in (titles, *texts_by_key.values()) for text in texts)
    heads, figures = _joined(titles, cell), {key: _joined(texts, cell) for key, texts in texts_by_key.items()}
    size = len(heads)
    across = min(max((width - lead) // (size + 3), 1), len(memories))
    # Names take the room that the figures leave.
    longest = max(cell_width(printable(memory)) for memory in memories)
    size = max(size, min(longest, (width - lead) // across - 3))
    for start in range(0, len(memories), across):
        block = memories[start : start + across]
        if start:
            yield ""
        yield _line("", [cut(printable(memory), size) for memory in block], lead, size)
        yield _line("agent", [heads] * len(block), lead, size)
        for agent in agents:
            cells = [figures.get((agent, memory), "") for memory in block]
            if any(cells):
                yield _line(printable(agent), cells, lead, size)


def _joined(texts: Sequence[str], cell: int) -> str:
    """Return texts on one line, each right-aligned in ``cell`` columns."""
    return "  ".join(text.rjust(cell) for text in texts)


def _line(first: str, cells: Sequence[str], lead: int, size: int) -> str:
    """Return a line of a table, with the first cell padded to ``lead`` columns and all other cells to ``size``."""
    parts = [first + " " * (lead - cell_width(first)), *(cell + " " * (size - cell_width(cell)) for cell in cells)]
    return "   ".join(parts).rstrip()
