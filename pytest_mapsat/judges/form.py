"""The agent's own form on its last reply: reading starts from it, and nothing turns green by a claim.

A form settles what the reading of the words leaves open. Where the two contradict each other, the thing is open, and so is what a figure is said of; the
words of the reply are what is compared with what is known, as without a form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar, cast

from pytest_mapsat.model import FigureRole, Form, FormFigure, FormThing, TimeRole
from pytest_mapsat.text import ClockTime, Document, Mention, Quantity

_MONEY = ("yuan", "foreign", "count")
#: What a form calls a figure: its role, and the units that it may have, without the noun of what is counted.
ROLES: Mapping[str, tuple[FigureRole, tuple[str, ...]]] = {
    "travel time": ("travel_time", ("min",)),
    "wait": ("wait", ("min",)),
    "distance": ("travel_distance", ("m",)),
    "price": ("price", _MONEY),
    "total": ("total", _MONEY),
    "fee": ("fee", _MONEY),
    "saving": ("saving", _MONEY),
    "rating": ("rating", ("star", "count")),
    "count": ("count", ("count", "people")),
}
TIMES = ("departure", "arrival", "opening", "closing")
_AGAINST = ("rejected", "denied")
_OPEN = ("described", "unclear")

_Figure = TypeVar("_Figure", Quantity, ClockTime)


def filled_in(document: Document, form: Form, key_of: Callable[[str], str]) -> Document:
    """Return the reading of a reply with what its form says of it.

    Args:
        document: the reply, read for things.
        form: the form; an entry counts only where the reply says its quote.
        key_of: gives the key of a thing by its name, nothing where none is known.
    """
    text = document.text

    def listed(things: Iterable[FormThing]) -> dict[str, str]:
        return {key: thing.quote for thing in things if thing.quote in text and (key := key_of(thing.name))}

    wanted, refused = listed(form.recommended), listed(form.turned_down)
    figures = [(entry, key_of(entry.about)) for entry in form.figures if entry.quote in text]
    return replace(
        document,
        mentions=tuple(_mention(mention, wanted, refused) for mention in document.mentions),
        quantities=tuple(_quantity(quantity, figures, text) for quantity in document.quantities),
        times=tuple(_time(time, figures, text) for time in document.times),
    )


def _mention(mention: Mention, wanted: Mapping[str, str], refused: Mapping[str, str]) -> Mention:
    """Return a mention with the stance that the form gives it; unclear where the words of the reply say another thing."""
    meant = tuple(key for key in mention.keys if key in wanted)
    against = next((refused[key] for key in mention.keys if key in refused), "")
    if mention.form == "kind" or (meant and against):
        return mention
    if meant:
        contradicted = mention.stance in _AGAINST
        return replace(mention, keys=meant, stance="unclear" if contradicted else "affirmed", why=wanted[meant[0]])
    if not wanted and not against:
        return mention  # a form that recommends nothing that is known leaves nothing out
    # Words that are not understood, and propose a thing under a condition only, may propose it all the same.
    proposed = mention.stance == "affirmed" or (mention.stance in _OPEN and bool(mention.why))
    if against:
        return replace(mention, stance="unclear" if proposed else "rejected", why=against)
    if mention.stance == "affirmed":
        return replace(mention, stance="unclear")
    return mention if proposed or mention.stance not in _OPEN else replace(mention, stance="landmark")


def _quantity(quantity: Quantity, figures: Iterable[tuple[FormFigure, str]], text: str) -> Quantity:
    unit = quantity.unit.partition(":")[0]
    fitting = [(entry, key) for entry, key in figures if entry.what in ROLES and unit in ROLES[entry.what][1]]
    entry, key = _closest(quantity, fitting, text)
    if entry is None:
        return quantity
    role = ROLES[entry.what][0]
    if quantity.cued and quantity.role not in (None, role):
        return quantity
    return replace(quantity, role=role, subject=_subject(quantity, key), cued=True)


def _time(time: ClockTime, figures: Iterable[tuple[FormFigure, str]], text: str) -> ClockTime:
    entry, key = _closest(time, [(entry, key) for entry, key in figures if entry.what in TIMES], text)
    if entry is None or time.role not in (None, entry.what):
        return time
    return replace(time, role=cast("TimeRole", entry.what), subject=_subject(time, key))


def _closest(figure: _Figure, figures: Iterable[tuple[FormFigure, str]], text: str) -> tuple[FormFigure | None, str]:
    """Return the entry with the shortest quote that a figure stands in, and the key of its thing."""
    start, end = figure.span
    around = [
        (entry, key)
        for entry, key in figures
        if text.find(entry.quote, max(end - len(entry.quote), 0), start + len(entry.quote)) >= 0
    ]
    return min(around, key=lambda pair: len(pair[0].quote), default=(None, ""))


def _subject(figure: _Figure, key: str) -> tuple[str, ...]:
    """Return what a figure is said of: the thing of the form, and what the words name besides it where they name another."""
    if not key:
        return figure.subject
    return (key,) if not figure.subject or key in figure.subject else (*figure.subject, key)
