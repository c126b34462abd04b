"""Wrong answers about places: another one, a closed one, one too many, the wrong order, all of them at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

from pytest_mapsat.sandbox import satisfies

from .play import Draft, Play, Thing

_TOLD = ("address", "phone", "hours")


def another_place(play: Play) -> Iterator[Draft]:
    """Another place that the tools returned, with what its own record says of it."""
    for old, new in _swaps(play):
        if not _is_closed(play, new):
            yield _swapped(play, old, new, with_record=True)


def closed_shop(play: Play) -> Iterator[Draft]:
    """Another place that is closed now, with what its own record says of it."""
    for old, new in _swaps(play):
        if _is_closed(play, new):
            yield _swapped(play, old, new, with_record=True)


def wrong_entity_right_words(play: Play) -> Iterator[Draft]:
    """The name of another place, and all the rest as it was."""
    for old, new in _swaps(play):
        if any(value in play.text for key in _TOLD for value in old.values(key)):
            yield _swapped(play, old, new, with_record=False)


def _swaps(play: Play) -> Iterator[tuple[Thing, Thing]]:
    """Yield what is named and what could wrongly stand in its place: of the same sort, and not named."""
    for old in play.named:
        for new in play.things:
            same_sort = {tool for tool, _ in old.records} & {tool for tool, _ in new.records}
            if new not in play.named and same_sort and old.name not in new.name and new.name not in old.name:
                yield old, new


def _is_closed(play: Play, thing: Thing) -> bool:
    from pytest_mapsat.model import OpenAt  # noqa: PLC0415  used by this one rule

    now = OpenAt(op="open_at", time=play.case.visible.context.now[11:16])
    hours = thing.values("hours")
    return bool(hours) and all(satisfies(now, value) is False for value in hours)


def _swapped(play: Play, old: Thing, new: Thing, *, with_record: bool) -> Draft:
    text = play.text.replace(old.name, new.name)
    for key in _TOLD if with_record else ():
        others = sorted(new.values(key))
        for value in sorted(old.values(key)):
            text = text.replace(value, others[0]) if others else text
    return Draft(f"{old.name} became {new.name}", play.saying(text))


def unasked_detour(play: Play) -> Iterator[Draft]:
    """One more stop that nobody asked for."""
    for new in play.things:
        if new not in play.named:
            text = play.and_then(f"On the way, stop at {new.name} first.", f"路上先去{new.name}。")
            yield Draft(f"a stop at {new.name} was added", play.saying(text))


def second_choice(play: Play) -> Iterator[Draft]:
    """Another place is offered as just as good."""
    for new in play.things:
        if new not in play.named:
            text = play.and_then(f"{new.name} is a good choice too.", f"{new.name}也不错，可以考虑。")
            yield Draft(f"{new.name} was offered as well", play.saying(text))


def other_first(play: Play) -> Iterator[Draft]:
    """Another place is recommended before the answer."""
    for new in play.things:
        if new not in play.named:
            text = f"首选{new.name}。{play.text}" if play.chinese else f"Your best choice is {new.name}. {play.text}"
            yield Draft(f"{new.name} was recommended first", play.saying(text))


def swapped_order(play: Play) -> Iterator[Draft]:
    """Two places in each other's position."""
    placed = sorted(play.named, key=lambda thing: play.text.index(thing.name))
    for one, other in pairwise(placed):
        text = play.text.replace(one.name, "\0").replace(other.name, one.name).replace("\0", other.name)
        yield Draft(f"{one.name} and {other.name} changed places", play.saying(text))


def pasted_results(play: Play) -> Iterator[Draft]:
    """Everything that the tools returned, behind the answer."""
    results = [step.result for step in play.trajectory.calls if step.status == "ok"]
    if results:
        pasted = "\n".join(json.dumps(result, ensure_ascii=False) for result in results)
        yield Draft("all results of the tools were appended", play.saying(f"{play.text}\n{pasted}"))
