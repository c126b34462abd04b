"""A run as one HTML file that works from disk: nothing is loaded, and what others wrote stays text. The page is in ``templates/``."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_mapsat.metrics import CaseRow, by_key, case_rows, mean_span
from pytest_mapsat.metrics.aggregate import memberships
from pytest_mapsat.model import (
    BESIDES,
    Aggregate,
    Bounds,
    CardRequirement,
    Label,
    Run,
    Scorecard,
    Step,
    Trajectory,
    Turn,
    share_field_sets,
    total_usage,
)
from pytest_mapsat.printed import visible
from pytest_mapsat.reports import changes, view
from pytest_mapsat.reports.failures import FailureGroup, failure_groups
from pytest_mapsat.reports.text import cell_width, cut, printable

from .earlier import TREND_HEIGHT, TREND_WIDTH, EarlierRun, before_of, cards_before, over_runs

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["Dialogues", "EarlierRun", "html_report", "opening", "templates_of"]

#: Of so many runs the page shows what became of metrics and cases over time.
_SEVERAL = 3
#: Metrics of an episode in the table of cases, and which of them come right after the first.
_IN_TABLE, _COLUMNS = 3, ("iisr", "ifs")
#: A filter offers no more values than this; fields of the page's own, which an attribute of the same name must not be taken for.
_CHOICES, _FIELDS = 200, frozenset("why find outcome undecided flipped figure side limit sort".split())  # noqa: SIM905
#: Groups of a dimension that are shown at once; the others are folded.
_OPEN_DIMENSIONS = ("domain", "requirement_source", "difficulty")


def html_report(run: Run, dialogues: Dialogues | None = None, earlier: Sequence[EarlierRun] = ()) -> str:
    """Return the run as one self-contained HTML page with its style, script and all cases.

    Args:
        run: the run; of its trajectories what the user asked is enough, where ``dialogues`` is given.
        dialogues: gives scorecards with their whole trajectories; None: those of the run have them.
        earlier: runs before it, the oldest first. Episodes are shown beside those of the last of them.
    """
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    title, state = view.headline(run)
    metrics = view.shown_metrics(run)
    shares = set(metrics) - {metric.name for metric in run.manifest.metrics if metric.unit != "share"}
    reasons = failure_groups(run)
    rows = row_views(run, reasons)
    shown = detailed_views(rows, dialogues)
    cards = [case_view.card for views in shown.values() for case_view in views]
    before = cards_before(earlier[-1], cards) if earlier else {}
    anchors = {(row.row.id, row.row.agent): row.told.anchor for place, row in enumerate(rows) if place in shown}
    runs = [*((each.name, each.run) for each in earlier), ("this run", run)]
    columns = list(dict.fromkeys(name for name in (*metrics[:1], *_COLUMNS, *metrics) if name in metrics))[:_IN_TABLE]
    any_cost = any(row.cost is not None for row in rows)
    page = environment().get_template("page.html.jinja")
    return page.render(
        run=run,
        style=style,
        script=script,
        policy=policy,
        title=title,
        state=state,
        sample=view.sample_text(run.manifest),
        counts=view.counts_text(run),
        reasons=reasons,
        metrics=metrics,
        recovered=view.recovery_rows(run),
        about={metric.name: metric.title for metric in run.manifest.metrics},
        shares=shares,
        dimensions=view.dimension_order(run.groups),
        open_dimensions=_OPEN_DIMENSIONS,
        columns=columns,
        figures=[*map(view.metric_word, columns), "replies", "time", *(["cost"] if any_cost else [])],
        rows=rows,
        told=shown,
        before={card.key: before_of(before[card.key], card) for card in cards if card.key in before},
        anchors={row.row.id: row.told.anchor for place, row in reversed([*enumerate(rows)]) if place in shown},
        changed={case.id: case for case in run.comparison.cases} if run.comparison else {},
        baseline=earlier[-1].name if earlier else "",
        over=over_runs(runs, metrics, shares, anchors) if len(runs) >= _SEVERAL else None,
        outcomes={outcome: view.outcome_title(outcome) for outcome in dict.fromkeys(row.outcome for row in rows)},
        tags=_tag_choices(rows),
        any_cost=any_cost,
        any_open=any(row.open for row in rows),
    )


class Bar(NamedTuple):
    """A mean as a bar: the ends of its interval and its bounds, as positions from 0 to 100."""

    low: float
    high: float
    least: float
    most: float


def bar_of(mean: Aggregate) -> Bar | None:
    """Return a mean as a bar; None if it has no bounds or is outside 0 to 1."""
    if mean.bounds is None:
        return None
    least, most = mean.bounds
    ends = (least if mean.low is None else mean.low, most if mean.high is None else mean.high, least, most)
    return Bar(*(round(100 * end, 1) for end in ends)) if min(ends) >= 0 and max(ends) <= 1 else None


def counted_text(mean: Aggregate) -> str:
    """Return in words how many cases a mean covers, and how many are undecided or omitted."""
    parts = [str(mean.n + mean.undecided)]
    parts += [f"{mean.undecided} undecided"] if mean.undecided else []
    parts += [f"{count} {view.outcome_title(kind)} left out" for kind, count in sorted(mean.left_out.items())]
    return ", ".join(parts)


@cache
def environment() -> Environment:
    """Return the template environment of the page, with its filters and globals."""
    environment = templates_of("pytest_mapsat.reports.html")
    environment.filters |= {
        "bar": bar_of,
        "cells": cell_width,
        "counted": counted_text,
        "day": _day,
        "dimension": view.dimension_title,
        "group_order": view.group_order,
        "interval": view.interval_text,
        "lang": language_attribute,
        "mean": view.mean_text,
        "metric": view.metric_title,
        "outcome": view.outcome_title,
        "plain": printable,
        "short": cut,
        "text_only": _text_only,
    }
    environment.globals |= {"view": view, "comparing": changes, "width": WIDTH, "height": HEIGHT}
    environment.globals |= {"trend_width": TREND_WIDTH, "trend_height": TREND_HEIGHT}
    return environment


def templates_of(package: str) -> Environment:
    """Return a template environment for a package's templates that escapes all values for HTML."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  for pages and charts only

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )


def _text_only(text: str) -> Markup:
    """Return text escaped for the inside of an element; quotation marks are not escaped, to keep the file small."""
    from markupsafe import Markup  # noqa: PLC0415  comes with jinja2

    return Markup(visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))  # noqa: S704  all that could end the text is escaped


def language_attribute(text: str) -> str:
    """Return the language attribute of a text whose words are at least one third Chinese (two characters per word); otherwise empty."""
    chinese = 0 if text.isascii() else len(_CHINESE.findall(text)) / 2
    return " lang=zh" if chinese and chinese * 2 >= len(_LATIN.findall(text)) else ""


def _day(started: str) -> str:
    """Return the start of a run to the minute; unchanged if the text is not an ISO 8601 time."""
    return f"{started[:10]} {started[11:16]}" if _TIME.match(started) else started


@cache
def _asset(name: str) -> str:
    """Return the text of a file of the page's templates."""
    return files("pytest_mapsat.reports.html").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return the SHA-256 digest of a text in the form of a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


# -- one episode: the dialogue, the calls, the labels, what it cost ----------------------------

#: Characters of one reply or thought and of all results of an episode: the file stays small whatever tools return.
_REPLY, _THOUGHT = 20_000, 4_000
_RESULTS_OF_RUN, _RESULTS_LEAST, _RESULTS_MOST = 3_000_000, 600, 24_000
_RESULT_LEAST = 200
_QUERY = 140
#: Episodes of which the page has dialogue, labels and drawing; of a larger run it lists the others.
TOLD = 1_000
_CALLS = 100
#: Calls of a message on the timeline; a dialogue of one reply and no more calls than a few needs none.
_TIMELINE_CALLS, _FEW_CALLS = 24, 2
_NOTES, _NOTE = 50, 1_000
#: More marks in one text than this are no help.
_MARKS = 200
_CHINESE, _LATIN = re.compile(r"[\u3400-\u9fff]"), re.compile(r"[^\W\d_\u3400-\u9fff]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d", re.ASCII)
_ANCHOR = re.compile(r"[A-Za-z0-9_.-]{1,120}", re.ASCII)
#: How a label ended, without what is said of it.
_ENDED = ("requirement", "kind", "outcome", "value", "nothing_claimed", "blame", "by", "idle")
#: Labels in the order in which they are read: what is wrong, what is open, what is right, what was not judged.
_READ = {"failed": 0, "error": 0, "unevaluated": 1, "passed": 2, "none": 3, "not_applicable": 4}
#: Of several labels that rest on the same words the gravest gives the mark its state.
_GRAVITY = {"failed": 4, "error": 3, "unevaluated": 2, "passed": 1}

#: Gives scorecards of a run with their dialogues, by their numbers in it, which rise.
Dialogues = Callable[[Sequence[int]], Iterable[Scorecard]]


class Piece(NamedTuple):
    """A piece of a text, with the most serious outcome and the requirements of the labels that quote it."""

    text: str
    state: str = ""
    requirements: tuple[str, ...] = ()


def pieces(text: str, turn: int, labels: Iterable[Label], *, most: int) -> list[Piece]:
    """Return the first ``most`` characters of a message in pieces, split at the beginnings and ends of quotes.

    Args:
        text: what was said.
        turn: the place of the turn in the trajectory.
        labels: the labels of the dialogue; a quote that does not lie in the text is left out.
        most: characters to keep.
    """
    end = min(len(text), most)
    marks = [
        (quote.start, min(quote.end, end), label)
        for label in labels
        for quote in label.quotes
        if quote.turn == turn and quote.start < min(quote.end, end)
    ][:_MARKS]
    cuts = sorted({0, end, *(place for start, stop, _ in marks for place in (start, stop))})
    return [_piece(text[a:b], [label for start, stop, label in marks if start <= a < stop]) for a, b in pairwise(cuts)]


def _piece(text: str, labels: Sequence[Label]) -> Piece:
    """Return a piece of text with the most serious outcome and the requirements of its labels."""
    state = max((label.outcome for label in labels), key=lambda outcome: _GRAVITY.get(outcome, 0), default="")
    return Piece(text, state, tuple(dict.fromkeys(label.requirement for label in labels)))


class CallView(NamedTuple):
    """A call of a tool; ``kind`` is the source of the answer, or ``error``."""

    text: str
    kind: str
    notes: tuple[str, ...]
    arguments: str
    result: str
    left_out: int


class TurnView(NamedTuple):
    """One message in pieces, with its preceding thoughts and calls; ``counted`` gives their number in words."""

    role: str
    said: tuple[Piece, ...]
    left_out: int
    steps: tuple[CallView | str, ...]
    counted: str
    spent: str


class TimelineRow(NamedTuple):
    """One message on the timeline: its start and duration as positions from 0 to 100, its calls by tool and kind, and the number of omitted calls."""

    number: int
    role: str
    start: float
    width: float
    time: str
    tokens: str
    calls: tuple[tuple[str, str], ...]
    more: int


class RequirementView(NamedTuple):
    """A requirement with its label.

    ``state`` is the label's outcome, ``partial`` for a level between, ``none`` where it was not judged; ``title`` says it in words. ``decidable``: a person may decide
    it.
    """

    wanted: CardRequirement
    label: Label | None
    state: str
    title: str
    decidable: bool


@dataclass(frozen=True)
class CaseView:
    """An episode on the page; ``number`` is its place in the run, ``results_most`` the characters for its results."""

    card: Scorecard
    anchor: str
    results_most: int = field(repr=False)
    number: int = 0

    @property
    def name(self) -> str:
        """Return the name of the episode."""
        return view.card_name(self.card)

    @property
    def query(self) -> str:
        """Return the user's first message, on one line and cut; empty if there is none."""
        turns = self.card.trajectory.turns
        return cut(printable(turns[0].text), _QUERY) if turns and turns[0].role == "user" else ""

    @property
    def missed(self) -> list[str]:
        """Return the ids of the requirements that are not met."""
        return [each.wanted.id for each in self.requirements if each.state in ("failed", "partial")]

    @property
    def open(self) -> list[str]:
        """Return the ids of the undecided requirements."""
        return [each.wanted.id for each in self.requirements if each.state == "unevaluated"]

    @cached_property
    def requirements(self) -> tuple[RequirementView, ...]:
        """Return all requirements with their labels, starting with those that need attention."""
        labels = {label.requirement: label for label in self.card.labels}
        every = [
            _requirement(requirement, labels.get(requirement.id), self.card)
            for requirement in view.requirements(self.card).values()
        ]
        every.sort(key=lambda each: _READ["none" if each.label is None else each.label.outcome])
        return tuple(every)

    @cached_property
    def turns(self) -> tuple[TurnView, ...]:
        """Return the messages of the dialogue for display."""
        most = max(_RESULT_LEAST, self.results_most // max(len(self.card.trajectory.calls), 1))
        return tuple(_turn(number, turn, self.card, most) for number, turn in enumerate(self.card.trajectory.turns))

    @property
    def timeline(self) -> tuple[TimelineRow, ...]:
        """Return the messages with their durations; empty for a dialogue of one reply and at most two calls."""
        turns = self.card.trajectory.turns
        if len(self.card.trajectory.replies) < 2 and len(self.card.trajectory.all_calls) <= _FEW_CALLS:  # noqa: PLR2004
            return ()
        seconds = [0.0 if turn.timing is None else turn.timing.seconds for turn in turns]
        starts, scale = accumulate(seconds, initial=0.0), 100 / (math.fsum(seconds) or 1.0)
        return tuple(
            TimelineRow(
                number,
                turn.role,
                round(start * scale, 1),
                round(took * scale, 1),
                view.seconds_text(took) if took else "",
                view.tokens_text(turn.usage).removesuffix(" tokens"),
                tuple((step.tool or f"event {step.id}", view.answered_by(step)) for step in calls[:_TIMELINE_CALLS]),
                max(0, len(calls) - _TIMELINE_CALLS),
            )
            for number, (turn, start, took) in enumerate(zip(turns, starts, seconds, strict=False))
            if (calls := [step for step in turn.steps if step.kind != "thought"]) or took or turn.role == "agent"
        )

    @property
    def memory(self) -> tuple[str, int, str] | None:
        """Return the output of the agent's memory, the number of omitted characters and the cost; None if there is no memory."""
        memory = self.card.trajectory.memory
        if memory is None:
            return None
        return memory.text[:_REPLY], max(0, len(memory.text) - _REPLY), view.spent_text(memory.usage)

    @cached_property
    def drawing(self) -> Drawing | None:
        """Return the drawing of the places in its calls; None if there are fewer than two."""
        return drawing_of(self.card.trajectory)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Return more facts about the episode, such as domains, time and cost, as pairs of name and text."""
        card = self.card
        path, line = view.case_place(card)
        rows = [
            ("domains", ", ".join(card.domains)),
            *((view.dimension_title(name), value) for name, value in sorted(card.attributes.items())),
            ("case file", f"{path}:{line}" if path and card.line else path),
            ("dialogue", f"{_count(card.turns, 'reply', 'replies')}, {_count(card.calls.total, 'call', 'calls')}"),
            ("ended", "" if card.trajectory.ending == "done" else card.trajectory.ending.replace("_", " ")),
            ("time", view.seconds_text(card.timing.seconds) if card.timing.seconds else ""),
            ("tokens", view.tokens_text(card.spent)),
            ("cost", "" if card.spent.cost is None else f"${card.spent.cost:.4f}"),
        ]
        return [(name, value) for name, value in rows if value]


@dataclass(frozen=True)
class RowView:
    """A case with all its episodes; ``told`` is the most informative episode, ``reasons`` are the failed kinds of checks in words."""

    row: CaseRow
    views: tuple[CaseView, ...]
    told: CaseView
    reasons: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of the case, or of the episode if there is only one."""
        return self.told.name if len(self.views) == 1 else view.row_name(self.row)

    @property
    def outcome(self) -> str:
        """Return how the case ends, under the pass rule if it has several episodes."""
        return self.told.card.outcome if len(self.views) == 1 else self.row.outcome

    @property
    def counted(self) -> str:
        """Return how many trials passed, with reruns and flakiness; empty for a single episode."""
        if len(self.views) == 1:
            return ""
        reruns = f", {_count(self.row.reruns, 'rerun', 'reruns')}" if self.row.reruns else ""
        return f"{self.row.passed} of {self.row.trials}{reruns}{', flaky' if self.row.flaky else ''}"

    @property
    def open(self) -> bool:
        """Return whether a requirement is undecided in any of the case's episodes."""
        return any(case_view.open for case_view in self.views)

    @property
    def seconds(self) -> float:
        """Return the wall time of all episodes of the case."""
        return math.fsum(case_view.card.timing.seconds for case_view in self.views)

    @property
    def cost(self) -> float | None:
        """Return the agent's spending in all episodes of the case, in US dollars; None if it is unknown."""
        return total_usage(case_view.card.spent for case_view in self.views).cost

    @cached_property
    def tags(self) -> dict[str, list[str]]:
        """Return the filter values of the case: why it failed, and the groups of its episodes by dimension."""
        tags = {"why": list(self.reasons)}
        for dimension, name in dict.fromkeys(pair for each in self.views for pair in memberships(each.card)):
            tags.setdefault(f"attribute {dimension}" if dimension in _FIELDS else dimension, []).append(name)
        return tags

    def span(self, metric: str) -> Bounds | None:
        """Return the bounds of a metric's mean over the case's episodes; None if nothing is known."""
        spans = [span for case_view in self.views if (span := case_view.card.bounds_of(metric)) is not None]
        return mean_span(spans) if spans else None


def row_views(run: Run, reasons: Sequence[FailureGroup] = ()) -> list[RowView]:
    """Return the cases of the run for display, starting with those that need attention; ``reasons``: why cases failed."""
    reasons_of = by_key((case, group.words) for group in reasons for case in group.cases)
    most = min(max(_RESULTS_OF_RUN // min(max(len(run.cases), 1), TOLD), _RESULTS_LEAST), _RESULTS_MOST)
    leading = view.leading(run)
    taken: set[str] = set()
    views: dict[tuple[str, int, str, int], CaseView] = {}
    for number, card in enumerate(run.cases, 1):
        name = "-".join([card.id, *([f"t{card.trial}"] if card.trial > 1 else [])])
        plain = _ANCHOR.fullmatch(name) and card.attempt == 1 and not card.agent and name not in taken
        taken.add(name)
        views[card.key] = CaseView(card, f"case-{name}" if plain else f"case.{number}", most, number - 1)
    rows = [
        RowView(
            row, tuple(views[card.key] for card in row.cards), views[row.told.key], tuple(reasons_of.get(row.id, ()))
        )
        for row in case_rows(run.cases, run.manifest.options.pass_rule)
    ]

    def need(row: RowView) -> tuple[Any, ...]:
        """Return the sort key of a case: failed outcomes first, then the lowest leading metric."""
        span = row.span(leading)
        return _READ[row.outcome], 1.0 if span is None else span[0], row.told.card.key

    return sorted(rows, key=need)


def _tag_choices(rows: Sequence[RowView]) -> dict[str, list[str]]:
    """Return the values of each filter of the list, if they distinguish cases and are few enough to choose from."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for name, values in row.tags.items():
            found.setdefault(name, {}).update(dict.fromkeys(values))
    order = ["why", *view.dimension_order(found.keys() - {"why"})]
    least = {"why": 0}  # a reason leads to its cases even where it is the only one
    return {
        name: view.group_order(found[name])
        for name in order
        if least.get(name, 1) < len(found.get(name, ())) <= _CHOICES
    }


def detailed_views(rows: Sequence[RowView], dialogues: Dialogues | None) -> dict[int, tuple[CaseView, ...]]:
    """Return the fully displayed episodes by the position of their case, up to a limit.

    Args:
        rows: the cases as they are shown.
        dialogues: gives scorecards whole, by their numbers in the run; None: they are.
    """
    counts = [*accumulate(len(row.views) for row in rows)]
    shown = {place: row.views for place, row in enumerate(rows) if counts[place] - len(row.views) < TOLD}
    if dialogues is None:
        return shown
    numbers = sorted(case_view.number for views in shown.values() for case_view in views)
    whole = dict(zip(numbers, dialogues(numbers), strict=True))
    return {
        place: tuple(replace(case_view, card=whole[case_view.number]) for case_view in views)
        for place, views in shown.items()
    }


# -- what lists show of an episode -------------------------------------------------------------


def opening(card: Scorecard) -> Scorecard:
    """Return a scorecard reduced to the content of lists: the user's first message, and the words of unmet requirements."""
    turns = [
        turn.model_copy(update={"text": turn.text[: 10 * _QUERY], "steps": ()}) for turn in card.trajectory.turns[:1]
    ]
    met = {label.requirement for label in card.labels if label.value == 1 and label.kind not in BESIDES}
    labels = [
        _wordless(Label, **{name: getattr(label, name) for name in _ENDED}) if label.requirement in met else label
        for label in card.labels
    ]
    requirements = [
        _wordless(CardRequirement, id=item.id, kind=item.kind, text="") if item.id in met else item
        for item in card.requirements
    ]
    kept = card.model_copy(
        update={
            "trajectory": card.trajectory.model_copy(update={"turns": tuple(turns)}),
            "labels": tuple(labels),
            "requirements": tuple(requirements),
            "misread": None,  # the means stand in the run's summary
        }
    )
    share_field_sets(kept)
    return kept


@lru_cache(maxsize=20_000)
def _wordless(sort: Callable[..., Any], /, **fields: Any) -> Any:
    """Return a label or a requirement without words, cached because many scorecards share it."""
    return sort(**fields)


# -- parts of an episode -----------------------------------------------------------------------


def _requirement(wanted: CardRequirement, label: Label | None, card: Scorecard) -> RequirementView:
    """Return a requirement with its label, state and title, and whether a person may decide the label."""
    if label is None:
        return RequirementView(wanted, label, "none", "not judged", decidable=False)
    fault = card.trajectory.fault
    replied = any(turn.text.strip() for turn in card.trajectory.replies) and (fault is None or fault.blame == "agent")
    decidable = label.outcome in ("unevaluated", "failed") and replied
    if label.value is not None and 0 < label.value < 1:
        return RequirementView(wanted, label, "partial", f"met in part ({label.value:g})", decidable)
    met = "nothing claimed" if label.nothing_claimed else "nothing had to change" if label.idle else "met"
    title = {"failed": "broken", "passed": met}.get(label.outcome) or view.outcome_title(label.outcome)
    return RequirementView(wanted, label, label.outcome, title, decidable)


def _turn(number: int, turn: Turn, card: Scorecard, most: int) -> TurnView:
    """Return a message for display, with its steps and cost."""
    steps = tuple(_step(step, most) for step in turn.steps[:_CALLS])
    kinds = Counter(step.kind for step in steps if isinstance(step, CallView))
    counted = [_count(thoughts, "thought", "thoughts")] if (thoughts := len(steps) - kinds.total()) else []
    counted += [_count(events, "event", "events")] if (events := kinds.pop("event", 0)) else []
    if kinds:
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        counted.append(f"{_count(kinds.total(), 'call', 'calls')}: {counts}")
    spent = [view.spent_text(turn.usage)]
    spent += [view.seconds_text(turn.timing.seconds)] if turn.timing is not None and turn.role == "agent" else []
    return TurnView(
        role=turn.role,
        said=tuple(pieces(turn.text, number, card.labels, most=_REPLY)),
        left_out=max(0, len(turn.text) - _REPLY),
        steps=steps,
        counted="; ".join(counted),
        spent=" · ".join(filter(None, spent)),
    )


def _step(step: Step, most: int) -> CallView | str:
    """Return a thought as a cut text, or a call with its arguments and result, cut to ``most`` characters."""
    if step.kind == "thought":
        return step.text[:_THOUGHT]
    untold = "arguments" in step.unknown
    arguments = "(not recorded)" if untold else json.dumps(step.arguments, ensure_ascii=False, indent=1)
    result = view.result_text(step, indent=1)
    return CallView(
        text=view.call_as_made(step),
        kind=view.answered_by(step),
        notes=tuple(_notes(step)),
        arguments=arguments[:most],
        result=result[:most],
        left_out=max(0, len(result) - most),
    )


def _notes(step: Step) -> Iterator[str]:
    """Yield the first notes on a call, the number of further notes, and the number of conflicting recordings."""
    notes = list(view.call_notes(step))
    yield from (cut(note, _NOTE) for note in notes[:_NOTES])
    if len(notes) > _NOTES:
        yield f"and {len(notes) - _NOTES} more"
    if step.provenance is not None and step.provenance.candidates > 1:
        yield f"{step.provenance.candidates} conflicting recordings"


def _count(number: int, noun: str, many: str) -> str:
    """Return a number with its noun in the singular or the plural."""
    return f"{number} {noun if number == 1 else many}"


# -- drawings of a case ------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, _MARGIN = 640.0, 400.0, 30.0
#: The strip at the foot that the scale has for itself.
_FOOT = 24.0
_PLACES, _WAYS, _POINTS, _DEPTH = 24, 12, 200, 12
_PAIR = re.compile(r"\s*(-?\d{1,3}\.\d{1,12})\s*,\s*(-?\d{1,2}\.\d{1,12})\s*", re.ASCII)
_LONGITUDES, _LATITUDES = ("lon", "lng", "longitude"), ("lat", "latitude")
_FROM, _OVER, _TO = ("origin", "start", "from"), ("waypoints", "via"), ("destination", "end", "to")
_LINES = ("polyline", "path", "geometry", "line")
#: What is named so is a name; the first that is there counts.
_NAMES = ("name", "title", "label", "id")
_NAME_CHARS = 80
_METRE_PER_DEGREE = 111_320.0
#: A drawing shows at least so many metres.
_LEAST_SPAN_M = 300.0
#: Points this near are one place: about a metre.
_DIGITS = 5

Point = tuple[float, float]


class Marker(NamedTuple):
    """A place on the drawing; ``said``: whether a reply names the place."""

    number: int
    name: str
    x: float
    y: float
    said: bool


class Drawing(NamedTuple):
    """A drawing of places, in the coordinates of a canvas of ``WIDTH`` by ``HEIGHT``.

    ``ways``: the points of each way as SVG has them. ``scale_x``, ``scale_text``: the length of the scale's bar, and what it stands for. ``more``: places that are left out.
    """

    markers: tuple[Marker, ...]
    ways: tuple[str, ...]
    scale_x: float
    scale_text: str
    more: int = 0


@dataclass
class _PlacesOfCalls:
    """Collects the places and ways in the calls of an episode, in degrees."""

    places: dict[Point, str] = field(default_factory=dict)
    ways: list[list[Point]] = field(default_factory=list)

    def add(self, point: Point, name: str) -> None:
        """Add a place by its rounded coordinates; the first name of a place is kept."""
        key = (round(point[0], _DIGITS), round(point[1], _DIGITS))
        self.places[key] = self.places.get(key) or name[:_NAME_CHARS]

    def read_result(self, value: Any, depth: int = _DEPTH) -> None:
        """Add the places and ways in a result, including nested ones, up to a limit."""
        if depth == 0 or len(self.places) > 10 * _PLACES:
            return
        if isinstance(value, list):
            for part in value:
                self.read_result(part, depth - 1)
        elif isinstance(value, dict):
            name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), "")
            if (point := _point(value)) is not None:
                self.add(point, name)
            for key, part in value.items():
                line = _line(part) if key in _LINES else []
                if len(line) > 1 and len(self.ways) < _WAYS:
                    self.ways.append(line)
                elif (point := _point(part)) is not None:
                    self.add(point, name or str(key))
                else:
                    self.read_result(part, depth - 1)

    def read_arguments(self, call: Step) -> None:
        """Add the places in a call's arguments, and the way from its origin to its destination."""
        points = {key: point for key, value in call.arguments.items() if (point := _point(value)) is not None}
        for key, point in points.items():
            self.add(point, str(key))
        ends = [next((points[key] for key in points if key.startswith(names)), None) for names in (_FROM, _TO)]
        if None not in ends and len(self.ways) < _WAYS:
            between = [point for key in _OVER for point in _line(call.arguments.get(key))]
            way = [point for point in (ends[0], *between[:_POINTS], ends[1]) if point is not None]
            self.ways += [way] if way not in self.ways else []


def drawing_of(trajectory: Trajectory) -> Drawing | None:
    """Return a drawing of the places in an episode's calls; None if there are fewer than two."""
    places = _PlacesOfCalls()
    for call in trajectory.calls:
        places.read_result(call.result)
    for call in trajectory.calls:
        places.read_arguments(call)
    if len(places.places) < 2:  # noqa: PLR2004
        return None
    text = "\n".join(turn.text for turn in trajectory.replies).casefold()
    named_points = {point for point, name in places.places.items() if name and name.casefold() in text}
    # What a reply names comes first, so that it is never what is left out.
    points = sorted(places.places, key=lambda point: point not in named_points)
    return _drawn(places, points[:_PLACES], named_points, more=max(0, len(points) - _PLACES))


def _point(value: Any) -> Point | None:
    """Return a value as a point, from ``"lon,lat"`` or an object with both; None if it is not a point."""
    if isinstance(value, dict):
        ends = [next((value[key] for key in keys if key in value), None) for keys in (_LONGITUDES, _LATITUDES)]
    else:
        match = _PAIR.fullmatch(value) if isinstance(value, str) and len(value) < 60 else None  # noqa: PLR2004
        ends = [float(end) for end in match.groups()] if match else []
    return _valid(ends)


def _valid(ends: Sequence[Any]) -> Point | None:
    """Return two numbers as a point in degrees; None if there are not exactly two, or they are out of range."""
    if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, int | float) for end in ends):  # noqa: PLR2004
        return None
    lon, lat = ends
    return (float(lon), float(lat)) if abs(lon) <= 180 and abs(lat) <= 85 else None  # noqa: PLR2004


def _line(value: Any) -> list[Point]:
    """Return the points of a line: ``"lon,lat;lon,lat"``, or a list of pairs or of points; empty for any other value."""
    parts: list[Any] = value[:20_000].split(";") if isinstance(value, str) else value if isinstance(value, list) else []
    points = (_valid(part) if isinstance(part, list) else _point(part) for part in parts[:_POINTS])
    return [point for point in points if point is not None]


# -- on the canvas -----------------------------------------------------------------------------


def _drawn(places: _PlacesOfCalls, points: Sequence[Point], named_points: set[Point], *, more: int) -> Drawing:
    """Return a drawing of points and ways, fitted to the canvas, with a scale bar."""
    shown = [*points, *(point for way in places.ways for point in way)]
    middle = math.radians(math.fsum(lat for _, lat in shown) / len(shown))

    def metres(point: Point) -> Point:
        """Return a point in metres east and south on a flat map."""
        return point[0] * math.cos(middle) * _METRE_PER_DEGREE, -point[1] * _METRE_PER_DEGREE

    xs, ys = zip(*map(metres, shown), strict=True)
    spans = [max(max(ends) - min(ends), _LEAST_SPAN_M) for ends in (xs, ys)]
    scale = min((WIDTH - 2 * _MARGIN) / spans[0], (HEIGHT - _FOOT - 2 * _MARGIN) / spans[1])

    def place(point: Point) -> Point:
        """Return the position of a point on the canvas."""
        x, y = metres(point)
        x, y = x - (max(xs) + min(xs)) / 2, y - (max(ys) + min(ys)) / 2
        return round(x * scale + WIDTH / 2, 1), round(y * scale + (HEIGHT - _FOOT) / 2, 1)

    longest = WIDTH / 4 / scale
    power = 10.0 ** math.floor(math.log10(longest))
    length = max(step * power for step in (1, 2, 5) if step * power <= longest * (1 + 1e-9))
    markers = (
        Marker(number, places.places[point], *place(point), said=point in named_points)
        for number, point in enumerate(points, 1)
    )
    return Drawing(
        markers=tuple(markers),
        ways=tuple(" ".join(f"{x},{y}" for x, y in map(place, way)) for way in places.ways),
        scale_x=round(length * scale, 1),
        scale_text=f"{length / 1000:g} km" if length >= 1000 else f"{length:g} m",  # noqa: PLR2004
        more=more,
    )
