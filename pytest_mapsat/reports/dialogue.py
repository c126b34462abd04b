"""One episode of a saved run for the terminal: messages, calls, results and labels."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence

from pytest_mapsat.model import (
    ASSERTED_AS,
    MSB_METRICS,
    UNDECIDED,
    Case,
    JsonObject,
    Label,
    Metric,
    Requirement,
    Run,
    RunRequest,
    Scorecard,
    Step,
    status_of,
)
from pytest_mapsat.options import OPTIONS, Option, fields_of

from . import view
from .changes import quoted
from .text import Line, cell_width, cut, labelled, printable, side_by_side, wrap

#: Characters of a result that are shown, and of all of them where everything is wanted.
_RESULT, _ALL = 400, 1_000_000
_LEAD = 9
_STATES = {"failed": "red", "error": "red", "unevaluated": "yellow", "passed": "green"}
_WORDS = {"failed": "broken", "passed": "met"}


def dialogue_lines(run: Run, card: Scorecard, width: int, *, full: bool = False) -> Iterator[Line]:
    """Yield one episode as lines that fit into a terminal.

    Args:
        run: the run that it is of.
        card: the episode, its trajectory included.
        width: columns of the terminal.
        full: give thoughts and results whole, and labels that are met with their reasons.
    """
    yield Line(cut(f"{view.card_name(card)}: {view.outcome_title(card.outcome)}", width), "bold")
    if card.reason:
        yield from _part("", card.reason, width, _STATES.get(card.outcome, ""))
    metrics = [(name, view.range_text(card.bounds_of(name))) for name in view.metric_names(run, card)]
    yield from _row([f"{view.metric_word(name)} {text}" for name, text in metrics if text], width)
    yield from _memory(card, width, full=full)
    for number, turn in enumerate(card.trajectory.turns):
        yield Line("")
        for step in turn.steps:
            yield from _step(step, width, "call" if turn.role == "agent" else "user call", full=full)
        paragraphs = turn.text.splitlines() or ["(nothing)"]
        for place, paragraph in enumerate(paragraphs):
            yield from _part("" if place else turn.role, paragraph, width, "" if turn.role == "user" else "bold")
        words = quoted([quote for label in card.labels for quote in label.quotes if quote.turn == number])
        yield from _part("quoted", words, width) if words and full else ()
    for step in card.trajectory.after_end:
        yield from _step(step, width, "late call", full=full)
    yield from _end(card, width)
    yield Line("")
    for label in sorted(
        card.labels, key=lambda label: list(_STATES).index(label.outcome) if label.outcome in _STATES else 9
    ):
        yield from _label(card, label, width, full=full)


def _memory(card: Scorecard, width: int, *, full: bool) -> Iterator[Line]:
    """Yield the lines of the agent's memory for the task, and the cost; nothing without a memory."""
    memory = card.trajectory.memory
    if memory is not None:
        yield Line("")
        text = cut(memory.text, _ALL if full else _RESULT) or "(nothing)"
        for place, line in enumerate(text.splitlines()):
            yield from _part("" if place else "memory", line, width)
        yield from _part("", spent, width) if (spent := view.spent_text(memory.usage)) else ()


def _step(step: Step, width: int, name: str, *, full: bool) -> Iterator[Line]:
    """Yield the lines of a thought, or of a call with its result and changed rows."""
    most = _ALL if full else _RESULT
    if step.kind == "thought":
        yield from _part("thought", cut(printable(step.text), most), width)
        return
    kind = view.answered_by(step)
    style = "yellow" if kind in ("miss", "error", "refused", "over_limit", "unknown") else ""
    if step.kind == "event":
        yield from _part("event", cut(printable(step.text), most), width, "yellow")
    else:
        yield from _part(name, f"{cut(view.call_as_made(step), most)}  {view.call_mark(step)}", width, style)
        yield from _part("", cut(printable(view.result_text(step)), most), width)
    for change in step.changed:
        yield from _part("changed", cut(printable(view.changed_row(change)), most), width)


def _end(card: Scorecard, width: int) -> Iterator[Line]:
    """Yield the lines on the end of the episode: its ending if not ``done``, changed rows, and the fault."""
    trajectory = card.trajectory
    if trajectory.ending != "done":
        yield from _part("ended", trajectory.ending.replace("_", " "), width, "yellow")
    end = trajectory.environment
    for change in () if end is None else end.changes:
        yield from _part("changed", cut(printable(view.changed_row(change)), _RESULT), width)
    if end is not None and end.unknown:
        yield from _part("changed", f"not known: {end.unknown}", width, "yellow")
    if trajectory.fault is not None:
        yield from _part("fault", f"{trajectory.fault.blame}: {trajectory.fault.message}", width, "red")


def _label(card: Scorecard, label: Label, width: int, *, full: bool) -> Iterator[Line]:
    """Yield the lines of a label; quotes and reasons only if the label is not fully met, or with ``full``."""
    wanted = view.requirements(card)[label.requirement]
    kind = view.KIND_TITLES.get(wanted.kind, wanted.kind)
    part = label.value is not None and 0 < label.value < 1
    state = f"{label.value:g} of 1" if part else _WORDS.get(label.outcome) or view.outcome_title(label.outcome)
    words = f": {wanted.text}" if wanted.text else ""
    yield from _part(state, f"{label.requirement} ({kind}){words}", width, _STATES.get(label.outcome, ""))
    if label.outcome == "passed" and not part and not full:
        return
    if quoted_words := quoted(label.quotes):
        yield from _part("", quoted_words, width, lead="said    ")
    if label.why:
        yield from _part("", label.why, width, lead="why     ")
    if label.wanted:
        yield from _part("", label.wanted, width, lead="wanted  ")
    for row in side_by_side(label.compared, width - _LEAD - 1):
        yield Line(f"{'':{_LEAD}} {row}")


def _row(items: Sequence[str], width: int) -> Iterator[Line]:
    """Yield items in lines side by side; no item is split."""
    row = ""
    for item in items:
        longer = f"{row}   {item}" if row else f"{'':{_LEAD}} {item}"
        if row and cell_width(longer) > width:
            yield Line(row)
            longer = f"{'':{_LEAD}} {item}"
        row = longer
    if row:
        yield Line(row)


def _part(name: str, text: str, width: int, style: str = "", *, lead: str = "") -> Iterator[Line]:
    """Return the lines of a text after a name, without control characters that could affect the terminal."""
    return labelled(f"{name:{_LEAD}} ", printable(text), width, style, lead=lead)


def dialogue_data(card: Scorecard) -> JsonObject:
    """Return one episode as JSON data in the form of the run file."""
    return {**card.model_dump(mode="json", exclude={"trajectory"}), "trajectory": card.trajectory.to_json()}


# -- failures, and the command that shows them again -------------------------------------------------------------------

_QUOTE = 160
_QUOTES = 8
_FAILURE_RESULT = 100
_CALLS = 12
_COMPARED = 20
#: Options that change something for one case; what own tools have answered is a recording by then.
_OF_A_CASE = frozenset(name for name, option in OPTIONS.items() if option.changes in ("episode", "item")) - {
    "unrecorded"
}
#: Options that stand beside those of the run, first of all.
_SPECS = dict.fromkeys(("agent", "user", "judge"))
#: A blank at which no line is broken.
_HELD = "\N{NO-BREAK SPACE}"


def again_command(request: RunRequest, place: str, explicit: Collection[str] = ()) -> str:
    """Return the pytest command that runs one case again with the run's options, from the folder where pytest was started.

    Args:
        request: what the run was asked for.
        place: what to give pytest for the case: its file from that folder on, and its name.
        explicit: options to say although they have their default, as ``max-turns``: an ini file may set another value.
    """
    usual = RunRequest(agent="", user="scripted", judge="checks")
    names = [
        name for name in sorted({*_OF_A_CASE, "trials", "faults", "manners"} - _SPECS.keys()) if OPTIONS[name].typed
    ]
    of_case = [OPTIONS[name] for name in (*_SPECS, *names)]
    values = [(option.name, _value_of(request, option), _value_of(usual, option)) for option in of_case]
    options = [_option_text(name, value) for name, value, default in values if value != default or name in explicit]
    return shlex.join(["pytest", f"./{place}" if place.startswith("-") else place, *options])


def _value_of(request: RunRequest, option: Option) -> object:
    """Return the value that a run request has for an option."""
    if option.name in _SPECS:
        return getattr(request, option.name)
    return getattr(request.options, "asserted" if option.name == "fail-on" else fields_of(option)[0])


def _option_text(name: str, value: object) -> str:
    """Return an option as typed on the command line; without a value if the value is True."""
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
    """Return the text of a failed item: the failures and their reasons, the dialogue, and the command that runs it again.

    Args:
        card: the failed episode.
        case: its case.
        asserted: the kinds of requirements that fail an item.
        again: the command that runs the case again.
        width: columns to fit in; only the command may be longer.
        short: only what failed and the words that decided it, without the dialogue.
        metrics: those of the suite.
    """
    text = _FailureText(card, case, width)
    missed = view.missed(card)
    asserted_labels = [label for label in missed if ASSERTED_AS.get(label.kind) in asserted]
    broken = f"broken: {', '.join(label.requirement for label in asserted_labels)}"
    if card.lost:
        text.lines.append(printable(lost_reason(card)))  # JUnit and the short summary have the first line alone
    else:
        text.add(printable(card.reason) if card.trajectory.fault is not None or not asserted_labels else broken)
    if short:
        for label in asserted_labels:
            text.head(label)
            text.said(label)
    else:
        text.scores(metrics)
        text.add(f"query: {printable(case.visible.query)}", hang=7)
        for label in asserted_labels:
            text.label(label)
        text.rest([label for label in missed if label not in asserted_labels])
        text.dialogue()
    return "\n".join([*text.lines, "", f"run it again: {again}"])


def lost_reason(card: Scorecard) -> str:
    """Return in words who caused the loss of an episode, and why."""
    return f"lost to the {card.blame}: {card.reason}"


class _FailureText:
    """Builds the lines of a failure."""

    def __init__(self, card: Scorecard, case: Case, width: int) -> None:
        self.lines: list[str] = []
        self._card, self._case, self._width = card, case, width

    def add(self, text: str, indent: int = 0, hang: int = 0) -> None:
        """Add a paragraph, wrapped to the width."""
        self.lines += wrap(text, self._width, indent=" " * indent, hang=hang)

    def _part(self, name: str, text: str) -> None:
        """Add a detail of a label after the name of the detail."""
        self.add(f"{name:7} {printable(text)}", 4, 8)

    def _more(self, count: int, what: str) -> None:
        """Add the number of omitted things; nothing if there are none."""
        self.lines += [f"    ... and {count} more {what}"] if count > 0 else []

    def scores(self, metrics: Sequence[Metric]) -> None:
        """Add the metrics of the episode; a line never breaks between a metric and its value."""
        spans = {metric.name: view.range_text(self._card.bounds_of(metric.name)) for metric in metrics if metric.gated}
        values = [f"{view.metric_word(name)} {span}".replace(" ", _HELD) for name, span in spans.items() if span]
        self.add("  ".join(values) or "no metric could be computed")
        self.lines[1:] = [line.replace(_HELD, " ") for line in self.lines[1:]]

    def label(self, label: Label) -> None:
        """Add a missed requirement with its quotes, its reason, and the tools on which it depends."""
        self.lines.append("")
        requirement = self.head(label)
        self.said(label)
        if label.wanted:
            self._part("wanted", label.wanted)
        for tool in self._case.truth.tools:
            if label.requirement in tool.evidence:
                statuses = {call.status for call in self._card.trajectory.calls if call.tool == tool.name}
                fate = "was called and did not answer" if statuses else "was never called"
                self.add(f"rests on {tool.name}, which {'answered' if 'ok' in statuses else fate}", 4, 8)
        if requirement is not None and requirement.source != "unstated":
            notes = "; ".join(evidence.text for evidence in requirement.evidence if evidence.text)
            self._part("because", f"the {requirement.source} says" + (f": {notes}" if notes else " so"))

    def head(self, label: Label) -> Requirement | None:
        """Add a requirement and the degree to which it was met, and return it; None if the case no longer has it."""
        every = {requirement.id: requirement for requirement in self._case.truth.requirements}
        requirement = every.get(label.requirement)
        how = f"met in part ({label.value:g} of 1)" if label.value else "broken"
        self.add(f"{view.KIND_TITLES.get(label.kind, label.kind)} {how}: {label.requirement}")
        self._part("rule", requirement.text if requirement else "(a requirement that the case no longer has)")
        return requirement

    def said(self, label: Label) -> None:
        """Add the quotes that decided a label, the judge's full reason, and the compared lines."""
        quotes = list(dict.fromkeys(label.quotes))
        for quote in quotes[:_QUOTES]:
            words = cut(printable(quote.text), _QUOTE)
            self._part("said", f"turn {quote.turn}, chars {quote.start}-{quote.end}: “{words}”")
        self._more(len(quotes) - _QUOTES, "quotes")
        if label.why:
            self._part("why", label.why)
        self.lines += side_by_side(label.compared[:_COMPARED], self._width, indent="    ")
        self._more(len(label.compared) - _COMPARED, "lines")

    def rest(self, missed: Sequence[Label]) -> None:
        """Add missed requirements that did not fail the item, undecided requirements, and the details of a fault."""
        names = [
            f"{label.requirement} ({label.kind}{f' {label.value:g} of 1' if label.value else ''})" for label in missed
        ]
        if names:
            self.lines.append("")
            self.add(f"also missed, without failing the item: {', '.join(names)}")
        for label in self._card.labels:
            if label.requirement in self._card.unknown:
                self.lines.append("")
                why = printable(label.why).removeprefix(f"{UNDECIDED}: ")
                self.add(f"undecided: {label.requirement} ({label.kind}): {why}")
        fault = self._card.trajectory.fault
        if fault is not None and fault.detail:
            self.lines.append("")
            for line in fault.detail.splitlines():
                self.add(printable(line), 2)

    def dialogue(self) -> None:
        """Add the messages, the first calls, the changed rows, and the end of the dialogue."""
        trajectory = self._card.trajectory
        self.lines += ["", "dialogue and calls:"]
        calls = 0
        for index, turn in enumerate(trajectory.turns):
            for step in (step for step in turn.steps if step.kind in ("call", "event")):
                calls += 1
                if calls <= _CALLS:
                    self._call(step, "" if turn.role == "agent" else "the user ")
            self.add(f"{index} {turn.role}: {cut(printable(turn.text) or '(nothing)', 3 * self._width)}", 2)
            for step in turn.steps:
                if step.kind == "thought" and turn.role == "user":
                    self.add(f"note: {cut(printable(step.text), 3 * _FAILURE_RESULT)}", 4, 6)
        self._more(calls - _CALLS, "calls")
        for step in trajectory.after_end[:_CALLS]:
            self._call(step, "after the end ")
        changes = trajectory.environment.changes if trajectory.environment else ()
        for change in changes[:_CALLS]:
            self.add(f"changed: {cut(printable(view.changed_row(change)), 3 * _FAILURE_RESULT)}", 2, 4)
        self._more(len(changes) - _CALLS, "changed rows")
        if trajectory.ending != "done":
            self.lines.append(f"  ended: {trajectory.ending.replace('_', ' ')}")

    def _call(self, step: Step, caller: str) -> None:
        """Add a call with the source of its answer, and its error or its notes."""
        kind = view.answered_by(step)
        shown = cut(view.call_as_made(step), 3 * self._width)
        self.add(f"{caller}-> {shown}  {view.call_mark(step)}" if step.kind == "call" else f"   {shown}", 4, 3)
        failed, result, most = kind in ("error", "refused", "over_limit"), step.result, _FAILURE_RESULT
        if isinstance(result, dict) and status_of(result) == "error":
            result, most = result["message"], 3 * _FAILURE_RESULT
        for note in [cut(printable(str(result)), most)] if failed else view.call_notes(step):
            self.add(cut(note, 3 * _FAILURE_RESULT), 9)
