"""A run as Markdown, for a comment on a merge request and for the summary of a GitHub step; and as annotations of that step.

What others wrote stands in code spans, in which nothing is a link, a mention or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_mapsat.model import CaseChange, Comparison, Label, Run, Scorecard

from . import view
from .changes import before_and_now, change_counts, change_rows, flip, requirement_change
from .text import cut, printable

#: GitHub takes 65,536 characters in a comment, and says nothing of the others.
MOST = 60_000
_FLIPS, _FAILED, _REQUIREMENTS, _GROUPS, _LOST = 20, 30, 4, 30, 10
_TEXT = 240
_COMPARED = 10
#: GitHub shows ten errors and ten warnings of a step; the last of each says how many are not shown.
_ANNOTATIONS, _MESSAGE = 10, 600
_PLAIN = re.compile(r"[A-Za-z0-9@^ ]+")
_SIGNS = {"passed": "✅", "failed": "❌", "undecided": "❓", "inconclusive": "❓"}
_ARROWS = {"worse": "🔻", "better": "🔺"}


def markdown_report(run: Run) -> str:
    """Return a run as Markdown that fits into a comment on GitHub, with the changes first."""
    title, state = view.headline(run)
    blocks = [[f"## {_SIGNS[state]} mapsat: {title}"], _head(run)]
    if run.comparison is not None:
        blocks += _comparison(run.comparison)
    if run.anchor is not None:
        blocks += [["### Against the anchor", "", *(f"- {code(reason, 600)}" for reason in run.anchor.reasons)]]
    blocks += [_table(run), _recovery(run), *_failed(run), *_groups(run), _lost(run), _fine_print(run)]
    text = ""
    for block in filter(None, blocks):
        added = "\n".join(block) + "\n\n"
        if len(text) + len(added) > MOST:
            return f"{text}_The rest does not fit into a comment: `mapsat report RUN html:report.html` has it._\n"
        text += added
    return text.rstrip("\n") + "\n"


def code(text: str, most: int = _TEXT, *, in_table: bool = False) -> str:
    """Return an external text as a code span, on one line and cut; empty for an empty text."""
    plain = cut(printable(text), most)
    if not plain:
        return ""
    fence = "`" * (max(map(len, re.findall("`+", plain)), default=0) + 1)
    space = " " if plain.startswith("`") or plain.endswith("`") else ""
    span = f"{fence}{space}{plain}{space}{fence}"
    return span.replace("|", "\\|") if in_table else span


def _metric(title: str) -> str:
    """Return the title of a metric; as a code span if Markdown could interpret its characters."""
    return title if _PLAIN.fullmatch(title) else code(title, in_table=True)


def _head(run: Run) -> list[str]:
    """Return the lines below the title: agent, suites, counts, sample, and the reasons of the gate."""
    manifest = run.manifest
    suites = ", ".join(code(suite.label) for suite in manifest.suites) or "no suite"
    lines = [f"{code(manifest.agent)} on {suites}: {view.counts_text(run)}."]
    if sample := view.sample_text(manifest):
        lines.append(f"A sample: {code(sample)}.")
    return [*lines, *([""] if run.gate.reasons else []), *(f"- {code(reason, 600)}" for reason in run.gate.reasons)]


def _comparison(comparison: Comparison) -> Iterator[list[str]]:
    """Yield the blocks of a comparison: differing settings, rules, metrics, and changed cases."""
    yield ["### Changes", "", f"Against {code(comparison.baseline.agent)}: {change_counts(comparison)}."]
    if comparison.unlike:
        yield [
            f"- {code(difference.what)} was {code(difference.baseline) or 'nothing'}, is {code(difference.new) or 'nothing'}"
            for difference in comparison.unlike
        ]
    if not comparison.comparable:
        yield ["Nothing is compared: these are runs of different things."]
        return
    yield [
        f"- {_SIGNS[rule.outcome]} {code(rule.rule)} {rule.outcome}: {code(rule.reason, 600)}"
        for rule in comparison.rules
    ]
    yield [f"- {code(place, 400)}" for place in comparison.where]
    rows = [row for row in change_rows(comparison.changes) if not row.where or row.direction in _ARROWS]
    if rows:
        yield [
            "| | baseline | now | difference | p | |",
            "| :-- | --: | --: | --: | --: | :-- |",
            *(
                f"| {_metric(row.metric)}{f' {code(row.where, in_table=True)}' if row.where else ''} | {row.baseline} | {row.new} | {row.difference} | {row.chance} | "
                f"{_ARROWS.get(row.direction, '')} {row.direction} |"
                for row in rows[:_GROUPS]
            ),
        ]
    for case in comparison.cases[:_FLIPS]:
        yield list(_flipped(case))
    if more := len(comparison.cases) - _FLIPS:
        yield [f"and {more} more cases that changed"] if more > 0 else []


def _flipped(case: CaseChange) -> Iterator[str]:
    """Yield list items for a changed case and its changed requirements."""
    arrow = _ARROWS.get(case.direction, "▫️")
    where = f" ({', '.join(map(code, case.domains))})" if case.domains else ""
    yield f"- {arrow} **{code(case.id)}** {flip(case)}{where}"
    for requirement in case.requirements[:_REQUIREMENTS]:
        before, now = before_and_now(requirement)
        yield f"  - {code(requirement.requirement)} {requirement_change(requirement)}: before {code(before) or 'nothing'}, now {code(now) or 'nothing'}"
    if more := len(case.requirements[_REQUIREMENTS:]):
        yield f"  - and {more} more"


def _table(run: Run) -> list[str]:
    """Return the table of metrics with their means and intervals; empty if no metric has a value."""
    names = view.shown_metrics(run)
    if not names:
        return []
    rows = [
        f"| {_metric(view.metric_title(name))} | {view.mean_text(run.summary[name])} | {view.interval_text(run.summary[name])} | "
        f"{run.summary[name].n + run.summary[name].undecided} | {run.summary[name].undecided or ''} |"
        for name in names
    ]
    return ["| metric | mean | 95 % interval | cases | undecided |", "| :-- | --: | --: | --: | --: |", *rows]


def _recovery(run: Run) -> list[str]:
    """Return the table of the recovery of variants; empty if the run has none."""
    rows = [
        f"| {code(name, in_table=True)} | {mean} | {interval} | {cases} |"
        for name, mean, interval, cases in view.recovery_rows(run)
    ]
    return ["| recovery | of plain | 95 % interval | cases |", "| :-- | --: | --: | --: |", *rows] if rows else []


def _failed(run: Run) -> Iterator[list[str]]:
    """Yield a folded list of the failed and undecided cases; nothing if there are none."""
    failed = [card for card in run.cases if card.outcome not in ("passed", "not_applicable")]
    failed.sort(key=lambda card: (card.outcome != "failed", card.key))
    if not failed:
        return
    yield [f"<details><summary>{len(failed)} failed or undecided</summary>"]
    yield [line for card in failed[:_FAILED] for line in _card(card)]
    if more := len(failed[_FAILED:]):
        yield [f"and {more} more"]
    yield ["</details>"]


def _card(card: Scorecard) -> Iterator[str]:
    """Yield list items for an episode and its missed requirements."""
    yield f"- **{code(view.card_name(card))}** {view.outcome_title(card.outcome)}: {code(card.reason)}"
    wanted = view.requirements(card)
    labels = view.missed(card)
    for label in labels[:_REQUIREMENTS]:
        words = wanted[label.requirement].text
        yield f"  - {code(label.requirement)}{f' {code(words)}' if words else ''}: {_grounds(label)}"
        yield from (f"    - {code(left)} → {code(right)}" for left, right in label.compared[1 : 1 + _COMPARED])
    if more := len(labels[_REQUIREMENTS:]):
        yield f"  - and {more} more"


def _grounds(label: Label) -> str:
    """Return the basis of a label: its first quotes, otherwise its reason, otherwise ``broken``."""
    quotes = list(dict.fromkeys(quote.text for quote in label.quotes))
    return ", ".join(map(code, quotes[:3])) or code(label.why) or "broken"


def _groups(run: Run) -> Iterator[list[str]]:
    """Yield a folded table of means by domain; nothing if there are no domains or no metrics."""
    domains = run.groups.get("domain", {})
    names = view.shown_metrics(run)
    if not domains or not names:
        return
    yield [
        "<details><summary>By domain</summary>",
        "",
        f"| | {' | '.join(_metric(view.metric_title(name)) for name in names)} |",
        f"| :-- |{' --: |' * len(names)}",
        *(_row(name, [view.mean_text(domains[name].get(metric)) for metric in names]) for name in sorted(domains)),
        "",
        "</details>",
    ]


def _row(name: str, cells: Sequence[str]) -> str:
    """Return a row of a table, its name as a code span."""
    return f"| {code(name, in_table=True)} | {' | '.join(cells)} |"


def _lost(run: Run) -> list[str]:
    """Return list items for the first lost episodes, and the number of further ones."""
    lost = run.accounting.lost
    lines = [f"- lost: {code(loss.id)} trial {loss.trial}: {code(loss.reason)}" for loss in lost[:_LOST]]
    return [*lines, *([f"- and {len(lost) - _LOST} more lost"] if len(lost) > _LOST else [])]


def _fine_print(run: Run) -> list[str]:
    """Return a line in small print with versions, fingerprints of suites, and the judge."""
    manifest = run.manifest
    versions = ", ".join(code(f"{name} {version}") for name, version in sorted(manifest.versions.items()))
    prints = ", ".join(code(suite.fingerprint, 16) for suite in manifest.suites)
    parts = [versions, f"suite {prints}" if prints else "", f"judge {code(manifest.judge.spec)}"]
    return [f"<sub>{' · '.join(filter(None, parts))}</sub>"]


# -- annotations on GitHub ---------------------------------------------------------------------


def annotation_lines(run: Run, *, below: str = "") -> Iterator[str]:
    """Yield the workflow commands that annotate the first lines of failed and undecided cases.

    Args:
        run: the run.
        below: the folder that node ids start from, as seen from the repository's root.
    """
    failed = [card for card in run.cases if card.outcome == "failed" or card.lost]
    undecided = [card for card in run.cases if card.outcome == "unevaluated" and not card.lost]
    yield from _commands("error", failed, below)
    yield from _commands("warning", undecided, below)
    title, state = view.headline(run)
    if state != "passed" and not failed:
        reasons = "; ".join(map(printable, run.gate.reasons))
        yield f"::error title={_property(f'mapsat: {title}')}::{_message(reasons or title)}"


def _commands(level: str, cards: list[Scorecard], below: str) -> Iterator[str]:
    """Yield an annotation for each card; the tenth states how many more there are."""
    shown = cards if len(cards) <= _ANNOTATIONS else cards[: _ANNOTATIONS - 1]
    for card in shown:
        path, line = view.case_place(card)
        place = f"file={_property(f'{below}/{path}' if below else path)},line={line}," if path else ""
        title = f"{view.card_name(card)} {view.outcome_title(card.outcome)}"
        yield f"::{level} {place}title={_property(title)}::{_message(view.reason_of(card, 'no reason given'))}"
    if more := len(cards) - len(shown):
        yield f"::{level} title=mapsat::and {more} more cases; the summary of the step lists them"


def _message(text: str) -> str:
    """Return a text as the message of a workflow command: on one line, cut and escaped."""
    return cut(printable(text), _MESSAGE).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Return a text as a property of a workflow command, with colons and commas escaped as well."""
    return _message(text).replace(":", "%3A").replace(",", "%2C")
