"""Whether a change makes a factor false: decided from the case's checks and plain readings, not by the judge.

The judge is asked only what it says of the oracle. A part of a check that reads the same before and after the change keeps that; one
that plainly held and plainly holds no more fails. Where the plain reading and the judge differ on the oracle, nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_mapsat.judges import Context, evaluate
from pytest_mapsat.model import (
    All,
    AnyOf,
    Asked,
    AtLeast,
    Avoids,
    Called,
    Check,
    Chooses,
    ClockTime,
    Covers,
    Factor,
    FactRequirement,
    ImplicitFactor,
    Json,
    Not,
    NotCalled,
    NotSaid,
    Number,
    Order,
    Recommends,
    Said,
    Trajectory,
)
from pytest_mapsat.sandbox import satisfies, values_at

from .plain import UNITS, clocks, figures, folded, has, place_of, sentences
from .play import Draft, Play, Thing

_DAY = 24 * 60
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Scene:
    """A dialogue as it is plainly read.

    Attributes:
        trajectory: the dialogue.
        things: what has a name in the results that the dialogue had before any change.
        meaning: what stands for the text of the last reply, where words of it are denied.
    """

    trajectory: Trajectory
    things: tuple[Thing, ...]
    meaning: str | None = None

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        texts = [turn.text for turn in self.trajectory.replies if turn.text.strip()]
        if self.meaning is not None and texts:
            texts[-1] = self.meaning
        return tuple(folded(text) for text in texts)

    def read(self, turn: str) -> tuple[str, ...]:
        """Return the folded replies that a check reads."""
        return self._texts if turn == "any" else self._texts[:1] if turn == "first" else self._texts[-1:]

    def returned(self, tool: str, path: str) -> list[Json]:
        """Return the values at a path of a tool's results."""
        answered = [step for step in self.trajectory.calls if step.status == "ok" and step.tool == tool]
        return [value for step in answered for value in values_at(step.result, path)]


def violated(play: Play, draft: Draft) -> tuple[str, ...]:
    """Return the factors that held on the oracle and do not hold on a draft, as far as plain readings can tell."""
    reader = _Reader(play, draft)
    return tuple(factor.id for factor in play.case.truth.factors if reader.lowers(factor))


class _Reader:
    def __init__(self, play: Play, draft: Draft) -> None:
        self._labels = play.labels
        self._judged = Context(play.trajectory, play.tools)
        self._before = Scene(play.trajectory, play.things)
        self._after = Scene(draft.trajectory, play.things, draft.meaning)
        self._strict = False

    def lowers(self, factor: Factor) -> bool:
        """Return whether the factor surely gets less than on the oracle."""
        before = self._labels[factor.id].value
        if not before:
            return False
        self._strict = isinstance(factor, FactRequirement)
        after = self._level(factor)
        return after is not None and after < before

    def _level(self, factor: Factor) -> float | None:
        rules = [(1.0, factor.check)] if factor.check is not None else []
        if isinstance(factor, ImplicitFactor):
            rules += [(rule.level, rule.check) for rule in factor.levels]
        for level, check in rules:
            held = self._holds(check)
            if held is not False:
                return level if held else None
        return 0.0

    def _holds(self, check: Check) -> bool | None:
        """Return whether a check holds after the change; None where that cannot be told."""
        if isinstance(check, Not):
            part = self._holds(check.check)
            return None if part is None else not part
        if isinstance(check, All | AnyOf | AtLeast):
            return _of(_needed(check), [self._holds(part) for part in check.checks])
        judged = evaluate(check, self._judged).passed
        before, after = _plainly(check, self._before), _plainly(check, self._after)
        if (
            self._strict
            and isinstance(check, Number | ClockTime)
            and judged
            and _strays(check, self._before, self._after)
        ):
            return False
        if before is after:
            return judged
        return after if before is judged else None


def leaves(check: Check) -> Iterator[Check]:
    """Yield the checks that a check is made of."""
    if isinstance(check, Not):
        yield from leaves(check.check)
    elif isinstance(check, All | AnyOf | AtLeast):
        for part in check.checks:
            yield from leaves(part)
    else:
        yield check


def checks_of(factor: Factor) -> Iterator[Check]:
    """Yield the parts of all checks of a factor."""
    if factor.check is not None:
        yield from leaves(factor.check)
    for rule in factor.levels if isinstance(factor, ImplicitFactor) else ():
        yield from leaves(rule.check)


def _needed(check: All | AnyOf | AtLeast) -> int:
    return check.n if isinstance(check, AtLeast) else len(check.checks) if isinstance(check, All) else 1


def _of(needed: int, held: Sequence[bool | None]) -> bool | None:
    if held.count(True) >= needed:
        return True
    return False if len(held) - held.count(False) < needed else None


def _plainly(check: Check, scene: Scene) -> bool | None:
    reads = _READS.get(type(check))
    return reads(check, scene) if reads else None


def _said(check: Said, scene: Scene) -> bool:
    groups = ([check.any] if check.any else []) + [(phrase,) for phrase in check.all]
    return all(_any_said(group, scene, check.turn) for group in groups)


def _any_said(phrases: Sequence[str], scene: Scene, turn: str) -> bool:
    return any(has(text, phrase) for phrase in phrases for text in scene.read(turn))


def _not_said(check: NotSaid, scene: Scene) -> bool:
    return not _any_said(check.phrases, scene, check.turn)


def _covers(check: Covers, scene: Scene) -> bool:
    found = sum(_any_said(names, scene, check.turn) for names in check.names)
    return found >= min(check.at_least or len(check.names), len(check.names))


def _order(check: Order, scene: Scene) -> bool:
    text = "\n".join(scene.read(check.turn))
    firsts = [
        min((at for name in names if (at := place_of(text, name)) is not None), default=None) for names in check.names
    ]
    found = [first for first in firsts if first is not None]
    return len(found) == len(firsts) and found == sorted(found)


def _chooses(check: Chooses, scene: Scene) -> bool:
    return _any_said(check.option, scene, check.turn) and not (check.over and _any_said(check.over, scene, check.turn))


def _recommends(check: Recommends, scene: Scene) -> bool | None:
    fits = [_fits(check, thing) for thing in _named(check, scene)]
    if not fits:
        return check.if_absent == "vacuous"
    return _of(1 if check.quantifier == "any" else len(fits), fits)


def _avoids(check: Avoids, scene: Scene) -> bool | None:
    fits = [
        _is_one_of(thing, check.names) or (bool(check.where) and _has(check, thing)) for thing in _named(check, scene)
    ]
    return False if True in fits else None if None in fits else True


def _named(check: Recommends | Avoids, scene: Scene) -> list[Thing]:
    """Return the things that the reply names, without those whose name stands in a longer one that it names too."""
    text = "\n".join(scene.read(check.turn))
    found = []
    for thing in sorted(scene.things, key=lambda thing: -len(thing.name)):
        if has(text, thing.name) and any(check.tool in (None, tool) for tool, _ in thing.records):
            found.append(thing)
            text = text.replace(folded(thing.name), "\n")
    return found


def _fits(check: Recommends, thing: Thing) -> bool | None:
    if check.names and not _is_one_of(thing, check.names):
        return False
    return _has(check, thing)


def _is_one_of(thing: Thing, names: Sequence[str]) -> bool:
    return any(folded(name) == folded(thing.name) for name in names)


def _has(check: Recommends | Avoids, thing: Thing) -> bool | None:
    """Return whether the records of a name have every attribute; None where they differ or it cannot be told."""
    fits = set()
    for _, record in thing.records:
        held = []
        for path, match in check.where.items():
            values = values_at(record, path)
            if values:
                held.append(any(satisfies(match, value) for value in values))
        if held:
            fits.add(all(held))
    return not check.where or (fits.pop() if len(fits) == 1 else None)


def _strays(check: Number | ClockTime, before: Scene, after: Scene) -> bool:
    """Return whether one of the figures that a fact is about agreed before and does not now, though others may."""
    old, new = (_fitting(check, scene) for scene in (before, after))
    return len(old) == len(new) and new.count(True) < old.count(True)


def _number_or_time(check: Number | ClockTime, scene: Scene) -> bool:
    fits = _fitting(check, scene)
    if not fits:
        return check.if_absent == "vacuous"
    return any(fits) if check.quantifier == "any" else all(fits)


def _fitting(check: Number | ClockTime, scene: Scene) -> list[bool]:
    """Return for each figure that stands in a sentence with a phrase of ``near`` whether it lies where it must."""
    near = [sentence for text in scene.read(check.turn) for sentence in _sentences_near(text, check.near)]
    if isinstance(check, ClockTime):
        times = None if check.equals is None else _known_times(check, scene)
        return [_clock_fits(check, clock.minutes, times) for sentence in near for clock in clocks(sentence)]
    known = None if check.equals is None else _known(check, scene)
    found = [figure for sentence in near for figure in figures(sentence)]
    return [_figure_fits(check, one.base, known) for one in found if one.dimension == UNITS[check.unit][0]]


def _sentences_near(text: str, near: Sequence[str]) -> Iterator[str]:
    for start, end in sentences(text):
        if not near or any(has(text[start:end], phrase) for phrase in near):
            yield text[start:end]


def _known(check: Number, scene: Scene) -> list[float]:
    """Return the values, in the base unit, that the tools returned where the check looks for them."""
    found: list[float] = []
    for value in scene.returned(check.equals.tool, check.equals.path) if check.equals else ():
        if isinstance(value, int | float):
            found.append(value * UNITS[check.equals_unit or check.unit][1])
        elif isinstance(value, str):
            found += [figure.base for figure in figures(folded(value)) if figure.dimension == UNITS[check.unit][0]]
    return found


def _figure_fits(check: Number, value: float, known: list[float] | None) -> bool:
    scale = UNITS[check.unit][1]
    if check.min is not None and value < check.min * scale - _ROUNDING:
        return False
    if check.max is not None and value > check.max * scale + _ROUNDING:
        return False
    return known is None or any(abs(value - one) <= check.tolerance * abs(one) + _ROUNDING for one in known)


def _known_times(check: ClockTime, scene: Scene) -> list[int]:
    values = scene.returned(check.equals.tool, check.equals.path) if check.equals else []
    return [clock.minutes for value in values if isinstance(value, str) for clock in clocks(value)]


def _clock_fits(check: ClockTime, minutes: int, known: list[int] | None) -> bool:
    after, before = _minutes(check.after or "00:00"), _minutes(check.before or "23:59")
    inside = after <= minutes <= before if after <= before else minutes >= after or minutes <= before
    near = known is None or any(
        min((minutes - one) % _DAY, (one - minutes) % _DAY) <= check.tolerance_min for one in known
    )
    return inside and near


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])


def _called(check: Called, scene: Scene) -> bool:
    count = _calls(check, scene, answered=check.answered)
    return check.at_least <= count <= (check.at_most if check.at_most is not None else count)


def _not_called(check: NotCalled, scene: Scene) -> bool:
    return not _calls(check, scene, answered=False)


def _calls(check: Called | NotCalled, scene: Scene, *, answered: bool) -> int:
    calls = scene.trajectory.calls
    return sum(
        call.tool == check.tool
        and (call.status == "ok" or not answered)
        and all(
            satisfies(match, call.arguments.get(name), arguments=call.arguments, results=calls[:index])
            for name, match in check.arguments.items()
        )
        for index, call in enumerate(calls)
    )


def _asked(check: Asked, scene: Scene) -> bool:
    spans = [text[start:end] for text in scene.read("any") for start, end in sentences(text)]
    asking = [one for one in spans if "?" in one and (not check.about or any(has(one, about) for about in check.about))]
    return check.at_least <= len(asking) <= (check.at_most if check.at_most is not None else len(asking))


#: How each kind is plainly read; a kind that is not here never counts as touched.
_READS: dict[type, Callable[[Any, Scene], bool | None]] = {
    Said: _said,
    NotSaid: _not_said,
    Covers: _covers,
    Order: _order,
    Chooses: _chooses,
    Recommends: _recommends,
    Avoids: _avoids,
    Number: _number_or_time,
    ClockTime: _number_or_time,
    Called: _called,
    NotCalled: _not_called,
    Asked: _asked,
}
