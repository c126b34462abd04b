"""How numbers and names of a run are written, in whatever report: one metric, one case, one label reads the same everywhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal

from pydantic import Field

from pytest_mapsat.metrics import CaseRow, case_rows
from pytest_mapsat.model import (
    MSB_METRICS,
    OBSERVATION,
    PASSED,
    QUALITY,
    STATE,
    USER,
    Accounting,
    Aggregate,
    Bounds,
    CallCounts,
    CardRequirement,
    Comparison,
    EpisodeTiming,
    Gate,
    JsonObject,
    Label,
    Noun,
    Outcome,
    RowChange,
    Run,
    RunManifest,
    RunTiming,
    Scorecard,
    Step,
    Usage,
    outcome_word,
    step_name,
)
from pytest_mapsat.model.trajectory import Blame
from pytest_mapsat.printed import harmless

from .text import call_text, cut, printable

PASS_RATE = PASSED.name
#: Names up to this length are abbreviations.
_ABBREVIATION = 5
#: So are names that end so shortly behind the name of their metric set.
_LETTERS = 3
#: Characters of a value that was asked or recorded.
_VALUE = 60

_PLAIN = {metric.name: metric.plain for metric in (*MSB_METRICS, PASSED) if metric.plain}
_HEADLINES = frozenset(metric.name for metric in MSB_METRICS if metric.headline)

#: What a group's dimension is called, in the order in which groups are shown; a suite's own attributes stand between.
_DIMENSIONS = {
    "domain": "domain",
    "requirement_source": "source of requirements",
    "difficulty": "difficulty",
    "group": "user",
    "place": "place in the sequence",
}
_TITLES = {"tool": "tool that was called"}

KIND_TITLES = {
    "hard": "hard constraint",
    "soft": "preference",
    STATE: "step",
    USER: "the user's turn",
    OBSERVATION: "thing that is named",
    QUALITY: "quality of the replies",
}
#: The words for outcomes of cases, in the order in which they are counted.
_EXPECTED = "failed as expected"
_OUTCOMES = ("failed", "passed", "undecided", "error", "not applicable", _EXPECTED)
_SPELT_OUT = {"unevaluated": "undecided", "not_applicable": "not applicable"}


def gated_metrics(run: Run) -> tuple[str, ...]:
    """Return the metrics that can have thresholds, headline metrics first."""
    gated = [metric for metric in run.manifest.metrics if metric.gated]
    return tuple(metric.name for metric in sorted(gated, key=lambda metric: not metric.headline))


def leading(run: Run) -> str:
    """Return the first metric that can have a threshold and sorts the cases; empty if there is none."""
    return next(iter(gated_metrics(run)), "")


def recovery_rows(run: Run) -> list[tuple[str, str, str, int]]:
    """Return a row for each kind of variant: its name, the recovery, its interval and the number of cases."""
    return [
        (printable(name), mean_text(mean) or "undecided", interval_text(mean), mean.n + mean.undecided)
        for name, mean in run.variants.items()
    ]


def sample_text(manifest: RunManifest) -> str:
    """Return in words the size of a sample of the suites and how it was drawn; empty for a run of all cases."""
    if not manifest.options.sample:
        return ""
    several = len(manifest.suites) > 1
    sizes = (
        f"{manifest.options.sample} of {suite.cases} cases{f' of {suite.name}' if several else ''}"
        for suite in manifest.suites
    )
    return printable(f"{', '.join(sizes)} {manifest.options.drawn}")


def metric_names(run: Run, card: Scorecard) -> list[str]:
    """Return the names of an episode's metrics in display order."""
    metrics = _known_metrics(run)
    return [*(name for name in metrics if name in card.metrics), *sorted(set(card.metrics) - set(metrics))]


def shown_metrics(run: Run) -> list[str]:
    """Return the names of the means that have a value, in display order, pass rates last."""
    metrics = _known_metrics(run)
    others = sorted(set(run.summary) - set(metrics), key=lambda name: (name != PASS_RATE, name))
    return [name for name in (*metrics, *others) if mean_text(run.summary.get(name))]


def _known_metrics(run: Run) -> list[str]:
    """Return the metrics that the run declares, starting with metrics that can have thresholds."""
    return list(dict.fromkeys([*gated_metrics(run), *(metric.name for metric in run.manifest.metrics)]))


def metric_word(name: str) -> str:
    """Return the everyday name of a metric, such as ``satisfied``; otherwise its own name, in capitals for an abbreviation."""
    if name in _PLAIN:
        return _PLAIN[name].replace("_", " ")
    metric_set, _, last = name.rpartition("_")
    short = len(name) <= _ABBREVIATION or (bool(metric_set) and len(last) <= _LETTERS)
    return printable(name.upper() if short else name.replace("_", " "))


def metric_title(name: str) -> str:
    """Return the heading of a metric: its everyday name, and the paper's for headline metrics, as ``satisfied (AR)``."""
    return f"{metric_word(name)} ({name.upper()})" if name in _HEADLINES else metric_word(name)


def dimension_order(names: Iterable[str]) -> list[str]:
    """Return the dimensions of groups in display order."""
    present = set(names)
    first = [name for name in _DIMENSIONS if name in present]
    return [*first, *sorted(present - {*first, "tool"}), *(["tool"] if "tool" in present else [])]


def dimension_title(name: str) -> str:
    """Return the heading of a dimension of groups."""
    return _DIMENSIONS.get(name) or _TITLES.get(name) or printable(name.removeprefix("attribute ").replace("_", " "))


def group_order(names: Iterable[str]) -> list[str]:
    """Return the groups of a dimension in display order: whole numbers by size, then words."""
    return sorted(names, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name))


def span_text(least: float, most: float, between: str = " to ") -> str:
    """Return two bounds with two digits, or three if they would look equal; a single number if they are equal."""
    if least == most:
        return f"{least:.3f}"
    digits = 2 if f"{least:.2f}" != f"{most:.2f}" else 3
    return f"{least:.{digits}f}{between}{most:.{digits}f}"


def mean_text(aggregate: Aggregate | None, between: str = " to ") -> str:
    """Return a mean, or its bounds, as text; empty if there are neither."""
    if aggregate is None:
        return ""
    if aggregate.mean is not None and (aggregate.bounds is None or aggregate.bounds[0] == aggregate.bounds[1]):
        return f"{aggregate.mean:.3f}"
    return "" if aggregate.bounds is None else span_text(*aggregate.bounds, between)


def short_mean_text(mean: Aggregate | None, between: str = "-") -> str:
    """Return a mean, or its bounds, with two digits, or three if two would mislead; empty if there are neither."""
    if mean is None or (mean.mean is None and mean.bounds is None):
        return ""
    least, most = mean.bounds or (mean.mean or 0.0, mean.mean or 0.0)
    if least != most:
        return span_text(least, most, between)
    digits = 3 if 0.995 <= least < 1 or 0 < least < 0.005 else 2  # noqa: PLR2004  two digits would show 1.00 or 0.00
    return f"{least:.{digits}f}"


def interval_text(aggregate: Aggregate | None) -> str:
    """Return the 95 % interval as text; empty if there is none."""
    if aggregate is None or aggregate.low is None or aggregate.high is None:
        return ""
    return f"{aggregate.low:.3f} to {aggregate.high:.3f}"


def range_text(span: Bounds | None) -> str:
    """Return the bounds of one case or episode as text; a single number if they are equal, empty for None."""
    return "" if span is None else " to ".join(dict.fromkeys(f"{end:.2f}" for end in span))


def card_name(card: Scorecard) -> str:
    """Return the name of an episode: its case, with trial, agent and attempt if needed."""
    name = card.id if card.trial == 1 else f"{card.id}-t{card.trial}"
    name = f"{name} [{card.agent}]" if card.agent else name
    return printable(f"{name}, attempt {card.attempt}" if card.attempt > 1 else name)


def row_name(row: CaseRow) -> str:
    """Return the name of a case with all its trials."""
    return printable(f"{row.id} [{row.agent}]" if row.agent else row.id)


def reason_of(card: Scorecard, nothing: str) -> str:
    """Return why an episode did not pass: its reason, otherwise its missed requirements, otherwise ``nothing``."""
    return printable(card.reason or ", ".join(label.requirement for label in missed(card)) or nothing)


def outcome_title(outcome: str) -> str:
    """Return the word for an outcome of an item or a label."""
    return _SPELT_OUT.get(outcome, outcome)


def missed(card: Scorecard) -> list[Label]:
    """Return the labels with a value below 1, except labels of the user's turns."""
    return [label for label in card.labels if label.value is not None and label.value < 1 and label.kind != USER]


def undecided(card: Scorecard) -> list[Label]:
    """Return the labels that are undecided."""
    return [label for label in card.labels if label.outcome == "unevaluated"]


def known_bounds(card: Scorecard) -> dict[str, Bounds]:
    """Return the bounds of each metric of an episode, leaving out metrics with unknown bounds."""
    return {name: span for name in card.metrics if (span := card.bounds_of(name)) is not None}


def requirements(card: Scorecard) -> dict[str, CardRequirement]:
    """Return an episode's requirements by id; for labels without a requirement, create one from the label."""
    given = {item.id: item for item in card.requirements}
    bare = {
        item.requirement: CardRequirement(id=item.requirement, kind=item.kind, text=_about(item, card))
        for item in card.labels
    }
    return {**bare, **given}


def _about(label: Label, card: Scorecard) -> str:
    """Return in words the step or thing of a label; empty for any other label."""
    if label.kind == OBSERVATION and label.quotes:
        return label.quotes[0].text
    if label.kind != STATE:
        return ""
    steps = {
        step_name(number, place): step
        for number, reply in enumerate(card.trajectory.replies, 1)
        for place, step in enumerate(reply.steps, 1)
    }
    step = steps.get(label.requirement)
    return "" if step is None else f"the call {step.tool}" if step.kind == "call" else "a thought"


def outcome_counts(run: Run) -> dict[str, int]:
    """Return the number of cases by outcome, in display words and order, with lost cases last."""
    counts: Counter[str] = Counter()
    for row in case_rows(run.cases, run.manifest.options.pass_rule):
        word = row.outcome if row.outcome != "unevaluated" else outcome_word(row.told.outcome, lost=row.told.lost)
        counts[_EXPECTED if word == "failed" and row.id in run.accounting.excused else word] += 1
    shown = {word: counts[word] for word in _OUTCOMES if counts[word]} | {"lost": len(run.accounting.lost)}
    return {f"{word}s" if word == "error" and count > 1 else word: count for word, count in shown.items() if count}


def counts_text(run: Run, joint: str = ", ") -> str:
    """Return in words the number of cases by outcome, failed cases first."""
    return joint.join(f"{count} {word}" for word, count in outcome_counts(run).items()) or "none ran"


def headline(run: Run) -> tuple[str, str]:
    """Return the result of the run in a few words, and its state: ``passed``, ``failed`` or ``undecided``.

    How many cases failed comes first, whatever the gate says.
    """
    counts, gate = outcome_counts(run), run.gate
    total, failed, passed = sum(counts.values()), counts.get("failed", 0), counts.get("passed", 0)
    of_all = f"of {total} case{'s' * (total != 1)}"
    state = (
        "passed" if gate.outcome == "passed" else "failed" if failed or gate.outcome != "inconclusive" else "undecided"
    )
    title = f"{passed} {of_all} passed" if total else "No case ran"
    if total and passed == total:
        title = f"All {total} passed"
    elif failed:
        title = f"FAILED: {failed} {of_all}" if state == "failed" else f"{failed} {of_all} failed"
    ends = {"invalid": "; the run is invalid", "inconclusive": "" if failed else "; the gate is undecided"}
    if gate.thresholds:
        ends |= {"passed": "; the gate holds", "failed": "; the gate fails"}
    return title + ends.get(gate.outcome, ""), state


def answered_by(step: Step) -> str:
    """Return the source of a call's answer; for a failed call, its status."""
    if step.kind in ("memory", "event") and step.status == "ok":
        return step.kind
    is_marked = step.status in ("error", "refused", "over_limit", "unknown") and not step.fault
    return step.status if is_marked or step.provenance is None else step.provenance.kind


def call_mark(step: Step) -> str:
    """Return the mark in brackets after a call: the source of its answer, and whether the call was only reported."""
    kind = answered_by(step)
    reported = step.provenance is not None and step.provenance.kind == "reported" != kind
    return f"[{kind}, reported]" if reported else f"[{kind}]"


def call_as_made(step: Step) -> str:
    """Return a call as code on one line; if its arguments were not recorded, a note instead. Of an event, return its moment."""
    if step.kind == "event":
        return printable(f"event {step.id}, {step.text}")
    if "arguments" in step.unknown:
        return printable(f"{step.tool}(arguments not recorded)")
    return call_text(step.tool, step.arguments)


def result_text(step: Step, indent: int | None = None) -> str:
    """Return the result of a call as JSON text; a note if it is not recorded; of an event nothing."""
    if step.kind == "event":
        return ""
    return "(not recorded)" if "result" in step.unknown else json.dumps(step.result, ensure_ascii=False, indent=indent)


def changed_row(change: RowChange) -> str:
    """Return in words how a call changed a row: ``orders A1: status 'open' became 'cancelled'``."""
    place = f"{change.table} {change.id}: "
    if change.before is None or change.after is None:
        row = change.after if change.before is None else change.before
        return place + f"{'added' if change.before is None else 'removed'} {row!r}"
    return place + ", ".join(
        f"{name} {_cell(change.before, name)} became {_cell(change.after, name)}" for name in change.columns
    )


def _cell(row: JsonObject, name: str) -> str:
    """Return the value in a column of a row as code; ``nothing`` if the row lacks the column."""
    return repr(row[name]) if name in row else "nothing"


def call_notes(step: Step) -> Iterator[str]:
    """Yield in words the changes made by a call, and how the recorded call differs from it."""
    yield from (printable(changed_row(change)) for change in step.changed)
    if step.provenance is None:
        return
    if step.provenance.note and step.provenance.kind != "reported":
        yield printable(step.provenance.note)
    for difference in step.provenance.differences:
        distance = "" if difference.distance_m is None else f", {difference.distance_m:.0f} m apart"
        score = "" if difference.score is None else f", similarity {difference.score:.2f}"
        asked, recorded = (cut(printable(repr(value)), _VALUE) for value in (difference.asked, difference.recorded))
        note = f" ({printable(difference.note)})" if difference.note else ""
        yield f"{printable(difference.parameter)}: asked {asked}, recorded {recorded}{distance}{score}{note}"


def case_place(card: Scorecard) -> tuple[str, int]:
    """Return the file of an episode's case, as in the node id, and the first line of the case."""
    return card.nodeid.partition("::")[0], card.line or 1


def seconds_text(seconds: float) -> str:
    """Return a duration as a short text in ms, s or min."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60} s"  # noqa: PLR2004


def tokens_text(usage: Usage) -> str:
    """Return the used tokens in words; empty if they are unknown."""
    parts = [f"{usage.input_tokens:,} in"] if usage.input_tokens is not None else []
    parts += [f"{usage.output_tokens:,} out"] if usage.output_tokens is not None else []
    return " / ".join(parts) + (" tokens" if parts else "")


def spent_text(usage: Usage) -> str:
    """Return tokens and cost in words; empty if neither is known."""
    cost = "" if usage.cost is None else f"${usage.cost:.4f}"
    return " · ".join(filter(None, (tokens_text(usage), cost)))


# -- what a run says as data -------------------------------------------------------------------------------------------

#: The most characters of a reason in a JUnit file.
_TEXT = 2_000


class ReportedLabel(Label):
    """A label that is not fully satisfied, or undecided, with the words of its requirement.

    Attributes:
        text: the requirement in words. Example: ``The order of noodle soup is cancelled``
        severity: kind of the requirement, as the case has it. Example: ``asked``
    """

    text: str = ""
    severity: str = ""


class ReportedCase(Noun):
    """One episode without its dialogue.

    Attributes:
        id: id of the case. Example: ``cancel-noodles``
        trial: number of the trial, from 1. Example: ``1``
        agent: parameters of a parametrised ``mapsat_agent``; empty if there are none. Example: ``gpt``
        attempt: number of the attempt, from 1; reruns are further attempts. Example: ``1``
        nodeid: pytest's name of its item. Example: ``benchmark_cases/cancel-noodles.yaml::cancel-noodles``
        file: file of the case. Example: ``benchmark_cases/cancel-noodles.yaml``
        line: line where the case begins, from 1; null if unknown. Example: ``1``
        domains: domains of the case. Example: ``["orders"]``
        attributes: further groups of the case, by name. Example: ``{"time": "evening"}``
        outcome: outcome of the item under the asserted kinds of requirements.
        blame: party to blame if the item did not pass; null if there is none.
        reason: reason in words; empty if it passed. Example: ``cancelled: no row of orders fits``
        bounds: least and greatest possible value of each metric, equal where it is known. Example: ``{"ar": [0.5, 0.5]}``
        missed: labels that are not fully satisfied. Example: ``[{"requirement": "cancelled", "kind": "asked", "outcome": "failed"}]``
        undecided: labels that are not known. Example: ``[{"requirement": "told", "kind": "asked", "outcome": "unevaluated"}]``
        turns: number of agent replies. Example: ``2``
        calls: number of the agent's tool calls.
        spent: tokens and money that the agent spent.
        timing: wall time of the episode.
    """

    id: str
    trial: int
    agent: str = ""
    attempt: int = 1
    nodeid: str = ""
    file: str = ""
    line: int | None = None
    domains: tuple[str, ...] = ()
    attributes: dict[str, str] = Field(default_factory=dict)
    outcome: Outcome
    blame: Blame | None = None
    reason: str = ""
    bounds: dict[str, Bounds]
    missed: tuple[ReportedLabel, ...] = ()
    undecided: tuple[ReportedLabel, ...] = ()
    turns: int = 0
    calls: CallCounts = CallCounts()
    spent: Usage = Usage()
    timing: EpisodeTiming = EpisodeTiming()


class Report(Noun):
    """A run without its dialogues.

    Attributes:
        schema: format and version of the file.
        title: summary of the run in a few words. Example: ``3 of 50 cases failed``
        state: result in one word.
        manifest: what was run.
        accounting: where every collected item went.
        gate: decision of the gate.
        comparison: comparison with an earlier run; null if none was requested.
        anchor: comparison with a second earlier run, the anchor; null if none was requested.
        summary: mean of each metric over all cases, by code. Example: ``{"ar": {"mean": 0.72, "n": 50}}``
        groups: mean of each metric, by dimension, group and code. Example: ``{"domain": {"orders": {"ar": {"mean": 0.72, "n": 12}}}}``
        cases: episodes, one for each item that ran. Example: ``[]``
        timing: when and where the run took place.
    """

    schema_: Literal["mapsat-report/1"] = Field(default="mapsat-report/1", alias="schema")
    title: str
    state: Literal["passed", "failed", "undecided"]
    manifest: RunManifest
    accounting: Accounting
    gate: Gate
    comparison: Comparison | None = None
    anchor: Comparison | None = None
    summary: dict[str, Aggregate]
    groups: dict[str, dict[str, dict[str, Aggregate]]]
    cases: tuple[ReportedCase, ...]
    timing: RunTiming = RunTiming()


def json_report(run: Run) -> str:
    """Return a run as JSON text, without its dialogues and with its keys sorted."""
    title, state = headline(run)
    same = {name: getattr(run, name) for name in Report.model_fields.keys() & Run.model_fields.keys() - {"schema_"}}
    report = Report(title=title, state=state, **same | {"cases": tuple(map(_case, run.cases))})
    return (
        json.dumps(report.model_dump(mode="json", by_alias=True), ensure_ascii=False, sort_keys=True, indent=1) + "\n"
    )


def _case(card: Scorecard) -> ReportedCase:
    """Return one episode for the report, without its dialogue."""
    same = {name: getattr(card, name) for name in ReportedCase.model_fields.keys() & Scorecard.model_fields.keys()}
    words = requirements(card)

    def reported(labels: Iterable[Label]) -> tuple[ReportedLabel, ...]:
        """Return labels with the text and kind of their requirements."""
        pairs = ((label, words[label.requirement]) for label in labels)
        return tuple(ReportedLabel(**dict(label), text=wanted.text, severity=wanted.kind) for label, wanted in pairs)

    own = {
        "file": case_place(card)[0],
        "bounds": known_bounds(card),
        "missed": reported(missed(card)),
        "undecided": reported(undecided(card)),
    }
    return ReportedCase(**same | own)


def properties(card: Scorecard) -> list[tuple[str, object]]:
    """Return an episode as properties in a JUnit file: metrics or bounds, then missed and undecided requirements."""
    pairs: list[tuple[str, object]] = [
        ("mapsat.case", printable(card.id)),
        ("mapsat.trial", card.trial),
        ("mapsat.outcome", card.outcome),
        ("mapsat.domains", printable(", ".join(card.domains))),
    ]
    for name, (least, most) in known_bounds(card).items():
        if least == most:
            pairs.append(_property(name, least))
        else:
            pairs += [(f"mapsat.{name}.least", least), (f"mapsat.{name}.most", most)]
    for name, labels in (("missed", missed(card)), ("undecided", undecided(card))):
        if labels:
            pairs.append((f"mapsat.{name}", printable(", ".join(label.requirement for label in labels))))
    if card.reason:
        pairs.append(("mapsat.reason", harmless(cut(printable(card.reason), _TEXT))))
    return pairs


@lru_cache(maxsize=4096)
def _property(name: str, value: float) -> tuple[str, object]:
    """Return the property of a metric, cached because pytest keeps all of them and most are equal."""
    return f"mapsat.{name}", value
