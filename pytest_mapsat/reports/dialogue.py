"""One episode of a saved run for the terminal: what was asked, called, answered and judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_mapsat.model import JsonObject, Label, Run, Scorecard, Step

from . import view
from .changes import quoted
from .text import Line, cell_width, cut, labelled, printable, side_by_side

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
    metrics = [(name, view.metric_text(card, name)) for name in view.metric_names(run, card)]
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
    """Yield what the agent's memory gave it for the task, and what that cost."""
    memory = card.trajectory.memory
    if memory is not None:
        yield Line("")
        text = cut(memory.text, _ALL if full else _RESULT) or "(nothing)"
        for place, line in enumerate(text.splitlines()):
            yield from _part("" if place else "memory", line, width)
        yield from _part("", spent, width) if (spent := view.spent_text(memory.usage)) else ()


def _step(step: Step, width: int, name: str, *, full: bool) -> Iterator[Line]:
    most = _ALL if full else _RESULT
    if step.kind == "thought":
        yield from _part("thought", cut(printable(step.text), most), width)
        return
    kind = view.answered_by(step)
    style = "yellow" if kind in ("miss", "error", "refused", "over_limit", "unknown") else ""
    yield from _part(name, f"{cut(view.call_as_made(step), most)}  [{kind}]", width, style)
    yield from _part("", cut(printable(view.result_text(step)), most), width)
    for change in step.changed:
        yield from _part("changed", cut(printable(view.changed_row(change)), most), width)


def _end(card: Scorecard, width: int) -> Iterator[Line]:
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
    """Yield items beside each other, none of them broken."""
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
    """Yield text behind a name; nothing in it can steer the terminal."""
    return labelled(f"{name:{_LEAD}} ", printable(text), width, style, lead=lead)


def dialogue_data(card: Scorecard) -> JsonObject:
    """Return one episode as the run file has it."""
    data: dict[str, Any] = card.model_dump(mode="json", exclude={"trajectory"})
    return {**data, "trajectory": card.trajectory.to_json()}
