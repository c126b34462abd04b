"""Cutting a recorded result down to what was asked, so that no answer lies outside of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from pytest_mapsat.model import CutByDistance, CutByLabel, Json

from .canonical import Point, number, point
from .geo import distance_m


class CannotCutError(Exception):
    """The recorded result does not say enough to be cut; the message says what is lacking."""


class Circle(NamedTuple):
    """What was asked for.

    Attributes:
        centre: its centre, where the call names one.
        radius: metres.
        moved: how far the recorded centre lies from it, metres.
        narrower: whether the recording was made for a greater radius.
    """

    centre: Point | None
    radius: float
    moved: float
    narrower: bool


_CONTAINERS = frozenset((dict, list))


def fresh(value: Json) -> Json:
    """Return a copy of JSON data that shares no list and no object with it."""
    if type(value) is dict:
        copy = value.copy()
        for key, member in value.items():
            if type(member) in _CONTAINERS:
                copy[key] = fresh(member)
        return copy
    if type(value) is list:
        return [fresh(element) if type(element) in _CONTAINERS else element for element in value]
    return value


def cut_to_circle(result: Json, rule: CutByDistance, circle: Circle) -> tuple[Json, int]:
    """Leave all items outside the circle out of the result.

    A list for a greater radius that gives distances may be cut only where it is sorted by them: then it holds the nearest first, and
    nothing nearer is missing. Where the result holds no such list there is nothing that could lie outside.

    Returns:
        the result, which shares what is left with the recorded one, and how many items were left out.

    Raises:
        CannotCutError: the items do not say how far they are, or are not sorted by it.
    """
    items = _at(result, rule.items)
    if not isinstance(items, list):
        return result, 0
    if circle.narrower and rule.distance is not None:
        _check_sorted(items, rule.distance)
    kept = [item for item in items if _inside(item, rule, circle)]
    removed = len(items) - len(kept)
    if removed and not kept and rule.distance is None:
        raise CannotCutError("none of its items lies within what was asked, and the list need not hold all that do")
    if removed:
        result = _followed(_with(result, rule.items, kept), rule.count, len(kept))
    return result, removed


def _check_sorted(items: list[Json], key: str) -> None:
    distances = [number(_at(item, key)) for item in items]
    known = [distance for distance in distances if distance is not None]
    if len(known) < len(distances):
        raise CannotCutError(f"its items do not all have a {key}")
    if known != sorted(known):
        raise CannotCutError(f"its items are not sorted by {key}")


def _inside(item: Json, rule: CutByDistance, circle: Circle) -> bool:
    """Return whether an item is known to lie in the circle: by its own point, else by its distance at the worst."""
    said = number(_at(item, rule.distance)) if rule.distance else None
    own = point(_at(item, rule.point)) if rule.point else None
    own = point([_at(item, rule.lon), _at(item, rule.lat)]) if rule.lon and rule.lat else own
    if own is None or circle.centre is None:
        return said is not None and said + circle.moved <= circle.radius
    by_own_point = distance_m(*own, *circle.centre) <= circle.radius
    return by_own_point and (circle.moved > 0 or said is None or said <= circle.radius)


def _followed(result: Json, path: str | None, count: int) -> Json:
    """Return the result with the new length where it gives one, as text where it was text."""
    before = _at(result, path) if path else None
    if path is None or before is None:
        return result
    return _with(result, path, str(count) if isinstance(before, str) else count)


def _with(data: Json, path: str, value: Json) -> Json:
    """Return the data with another value at a path that exists; all else is shared."""
    if not path:
        return value
    key, _, rest = path.partition(".")
    return {**data, key: _with(data[key], rest, value)}


def cut_to_labels(result: Json, rule: CutByLabel, asked: Iterable[str], recorded: Iterable[str]) -> tuple[Json, int]:
    """Leave all elements whose label was not asked for out of the result.

    Args:
        result: the recorded result.
        rule: where the list stands, and the label of every member.
        asked: the canonical members that were asked for.
        recorded: those that the recording was made for.

    Returns:
        the result, which shares what is left with the recorded one, and how many elements were left out.

    Raises:
        CannotCutError: the recording was made for more, and a member has no label or the result has nothing for one that
            was asked for.
    """
    elements = _at(result, rule.items)
    wanted, made_for = set(asked), set(recorded)
    unlabelled = sorted((wanted | made_for) - set(rule.labels))
    if unlabelled or not isinstance(elements, list):
        if wanted == made_for:
            return result, 0
        raise CannotCutError(f"its elements have no label for {', '.join(unlabelled) or 'anything'}")
    labels = {rule.labels[member] for member in wanted}
    found = [_label(element, rule.labels.values()) for element in elements]
    if wanted == made_for:
        if all(label is None or label in labels for label in found):
            return result, 0
    elif lacking := sorted(labels - set(found)):
        raise CannotCutError(f"it holds nothing for {', '.join(lacking)}")
    kept = [element for element, label in zip(elements, found, strict=True) if label in labels]
    return _with(result, rule.items, kept), len(elements) - len(kept)


def _label(element: Json, labels: Iterable[str]) -> str | None:
    """Return the label that a text, or the first text of a list, begins with."""
    text = element[0] if isinstance(element, list) and element else element
    if not isinstance(text, str):
        return None
    return next((label for label in labels if text.startswith(label)), None)


def _at(data: Json, path: str | None) -> Any:
    """Return what stands at a dotted path of object keys, or None."""
    for key in path.split(".") if path else ():
        if not isinstance(data, dict):
            return None
        data = data.get(key)
    return data
