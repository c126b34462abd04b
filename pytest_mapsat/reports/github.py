"""A run for GitHub Actions: annotations on the lines of the cases, as workflow commands, and the summary of the step."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_mapsat.model import Run, Scorecard

from . import values
from .text import cut, printable

#: GitHub shows ten errors and ten warnings of a step; the last of each says how many are not shown.
_SHOWN = 10
_MESSAGE = 600


def annotation_lines(run: Run, *, below: str = "") -> Iterator[str]:
    """Yield the workflow commands that put failed and undecided cases on the lines where they begin.

    Args:
        run: the run.
        below: the folder that node ids start from, as seen from the repository's root.
    """
    failed = [card for card in run.cases if card.outcome in ("failed", "error")]
    undecided = [card for card in run.cases if card.outcome == "unevaluated"]
    yield from _commands("error", failed, below)
    yield from _commands("warning", undecided, below)
    title, state = values.headline(run)
    if state != "passed" and not failed:
        reasons = "; ".join(map(printable, run.gate.reasons))
        yield f"::error title={_property(f'mapsat: {title}')}::{_message(reasons or title)}"


def _commands(level: str, cards: list[Scorecard], below: str) -> Iterator[str]:
    shown = cards if len(cards) <= _SHOWN else cards[: _SHOWN - 1]
    for card in shown:
        path, line = values.case_place(card)
        place = f"file={_property(f'{below}/{path}' if below else path)},line={line}," if path else ""
        title = f"{values.card_name(card)} {values.outcome_title(card.outcome)}"
        reason = card.reason or ", ".join(label.requirement for label in values.missed(card)) or "no reason given"
        yield f"::{level} {place}title={_property(title)}::{_message(reason)}"
    if more := len(cards) - len(shown):
        yield f"::{level} title=mapsat::and {more} more cases; the summary of the step lists them"


def _message(text: str) -> str:
    return cut(printable(text), _MESSAGE).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
