"""Habits: conditions that a user's choices keep more often than chance among the available places explains, and no other condition does."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, compress, takewhile
from math import log, prod
from typing import Literal, NamedTuple

from pytest_mapsat.formats import package_data
from pytest_mapsat.model import Json, JsonObject, Match, digest, distance_m, opening_hours, tokens

from .evidence import FieldCondition, Sort, is_figure, language_of, opens, plain
from .logs import Event, LogPlace, UserLog

#: The expected share of false habits among those of one user and kind of place (Benjamini & Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x).
FALSE_DISCOVERIES = 0.05
#: The greatest chance by which the place in a list is taken to explain choices.
_BY_PLACE = 0.02
#: The greatest chance of a habit where each place counts at its first choice alone: who goes to one place again and again shows no more than that place.
PLACES = 0.05
#: A lack ("never a chain") is as clear as a presence where its chance is so many times less: a weighted procedure (Genovese, Roeder & Wasserman 2006).
_LACK = 4
#: A habit is kept in at least this share of the choices; one that is kept in HARD of them, and of so many, is a hard requirement.
SHARE, HARD, _LEAST_HARD = 0.6, 0.9, 20
#: Fewer choices show no habit, in all or in the part in which it holds; of so many, parts are looked at by themselves, too.
_LEAST_CHOICES, _LEAST_PARTS = 5, 12
#: A habit has ended where its late choices are so much likelier under what was there than under the habit (natural logarithm).
_ENDED = 1.5
#: Fewer standard deviations of a binomial distribution above what is to be expected show nothing, and their chance is not computed.
_HARDLY = 1.0
#: A habit began or ended where the choices of a part are so many times less likely by chance than all choices.
_PART = 0.1
#: What is avoided is there in at least this share of what is offered.
_AVOIDED = 0.08
#: A habit of all kinds shows in this share of those that could show it: with so many choices, and not more than this share of what is there fitting.
_OF_KINDS, _LEAST_OF_KIND, _ALL = 0.75, 3, 0.9
#: Sorts of conditions that mean something else for another kind of places.
_OF_ONE_KIND = ("least", "most", "within_m", "open_at")
#: The latest choices that count. The exact tail takes time with their square.
_MOST_CHOICES = 300


# -- conditions on places, and what was chosen ------------------------------------------------------------------------

#: What is listed of a place and is no attribute: what tells it from all others, and what the query decides.
_NO_ATTRIBUTES = frozenset(package_data(__package__, "keys.yaml")["no_attributes"])
_LONGEST_TEXT = 60
_LONGEST_ID = 50
#: So many conditions are remembered with the places that satisfy them.
_MASKS = 100_000
_LATE = ("21:30", "23:30")
#: The shares of a user's choices that a bound on a figure may take in; and a distance.
_QUANTILES, _FAR = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65), (1.0, 0.9)


@dataclass(frozen=True)
class PlaceCondition(FieldCondition):
    """A condition on one field of a place of the catalogue."""

    @property
    def id(self) -> str:
        """The condition as an id that a case can use."""
        words = {"is": "", "has": "", "least": "at-least", "most": "at-most", "within_m": "metres"}
        value = str(plain(self.value))
        value = {"True": "", "False": "not", "None": ""}.get(value, value)
        sort = "not" if self.forbids else words.get(self.sort, self.sort)
        text = "-".join(word for word in (self.field, sort, value) if word)
        name = re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.")
        if text.isascii() and len(name) <= _LONGEST_ID:
            return name
        return f"{name[:_LONGEST_ID]}-{digest(text, 8)}".lstrip("-")

    @property
    def circumstantial(self) -> bool:
        """Whether the condition depends on the time or place of the choice."""
        return self.sort in ("open_then", "within_m", "shown")

    @property
    def about(self) -> tuple[Json, ...]:
        """The condition as a key, without the figure of a bound."""
        return self.field, self.sort, self.forbids, self.value if self.sort in ("is", "has") else None

    @property
    def lack(self) -> bool:
        """Whether the condition requires that a property is absent."""
        return self.forbids or self.value is False

    def fits(self, place: LogPlace, choice: Choice) -> bool:
        """Return whether a place satisfies the condition, at the time and position of a choice."""
        if self.sort == "shown":
            return any(place is first for first in choice.offer[: int(self.value or 0)])
        if self.sort == "within_m":
            apart = metres(choice.point, place.point)
            return apart is not None and apart <= float(self.value or 0)
        value = place.row.get(self.field)
        if self.sort in ("open_at", "open_then"):
            return opens(value, str(self.value) if self.sort == "open_at" else choice.clock) is True
        return value is not None and (self.match.holds(value) is True) is not self.forbids

    def where(self, clock: str, point: tuple[float, float] | None) -> Mapping[str, Match | JsonObject]:
        """Return the condition as matches of a check, by field, for a case at a time of day and a point."""
        if self.sort == "open_then":
            return {self.field: {"op": "open_at", "time": clock}}
        if self.sort == "within_m":
            lon, lat = point or (0.0, 0.0)
            return {"point": {"op": "within_m", "lon": lon, "lat": lat, "metres": plain(self.value)}}
        return {self.field: self.match}

    def words(self, language: str) -> str:
        """Return the condition in words, in English or Chinese."""
        name, value = self.field.replace("_", " "), plain(self.value)
        forms = package_data(__package__, "keys.yaml")["conditions"][self.sort]
        en, zh = (str(form).format(name=name, value=value) for form in forms)
        if self.value is True:
            en, zh = name, name
        elif self.value is False:
            en, zh = f"no {name}", f"无{name}"
        elif self.forbids:
            en, zh = f"no {en}", zh.replace("为", "不为", 1) if self.sort == "is" else zh.replace("包括", "不包括", 1)
        return zh if language.startswith("zh") else en


class Choice(NamedTuple):
    """A place that a user chose, with the available places and the circumstances of the choice.

    ``offer``: the places; ``of``: the part of the catalogue that they are, None for a list that was shown; ``moment``: the time as ISO 8601; ``stated``: what the
    user asked for in words and filters, which other conditions have nothing to do with.
    """

    place: LogPlace
    offer: tuple[LogPlace, ...]
    of: tuple[str, str] | None
    at: float
    moment: str
    line: str
    point: tuple[float, float] | None = None
    stated: tuple[PlaceCondition, ...] = ()

    @property
    def clock(self) -> str:
        """The time of day, ``HH:MM``."""
        return self.moment[11:16]


_hours = lru_cache(maxsize=100_000)(opening_hours)


@lru_cache(maxsize=100_000)
def metres(start: tuple[float, float] | None, end: tuple[float, float] | None) -> float | None:
    """Return the distance between two points; None if either is missing."""
    return None if start is None or end is None else distance_m(*start, *end)


def values_of(place: LogPlace) -> Iterator[PlaceCondition]:
    """Yield the conditions on values that a place satisfies: booleans, short texts and members of lists."""
    for column, value in place.row.items():
        if column in _NO_ATTRIBUTES:
            continue
        if isinstance(value, bool):
            yield PlaceCondition(column, "is", value)
        elif isinstance(value, str):
            if value and len(value) <= _LONGEST_TEXT and not _hours(value):
                yield PlaceCondition(column, "is", value)
        elif isinstance(value, list):
            members = dict.fromkeys(member for member in value if isinstance(member, str) and member)
            yield from (PlaceCondition(column, "has", member) for member in members)


def bounds_of(choices: Sequence[Choice], parts: Sequence[slice]) -> dict[tuple[str, Sort], list[list[PlaceCondition]]]:
    """Return candidate bounds that most choices of a part satisfy (figures, opening hours, distance), by field and sort, for each part."""
    rows = [choice.place.row for choice in choices]
    fields = dict.fromkeys(column for row in rows for column in row if column not in _NO_ATTRIBUTES)
    bounds: dict[tuple[str, Sort], list[list[PlaceCondition]]] = {}

    def add(column: str, sort: Sort, values: Sequence[float | None], shares: Sequence[float], step: int = 0) -> None:
        """Add the bounds on a column, from its values in the order of the choices."""
        if sum(value is not None for value in values) > len(rows) / 2:
            of_parts: list[list[PlaceCondition]] = []
            bounds[column, sort] = of_parts
            for part in parts:
                figures = sorted([value for value in values[part] if value is not None], reverse=sort == "least")
                steps = (
                    -(-figure // step) * step or step if step else figure for figure in _at_quantiles(figures, shares)
                )
                of_parts.append([PlaceCondition(column, sort, float(figure)) for figure in steps] or of_parts[0])

    for column in fields:
        values = [row.get(column) for row in rows]
        figures = [float(value) if is_figure(value) else None for value in values]  # type: ignore[arg-type]
        add(column, "most", figures, _QUANTILES)
        add(column, "least", figures, _QUANTILES)
        if sum(isinstance(value, str) and bool(_hours(value)) for value in values) > len(rows) / 2:
            bounds[column, "open_at"] = [[PlaceCondition(column, "open_at", clock) for clock in _LATE]] * len(parts)
            bounds[column, "open_then"] = [[PlaceCondition(column, "open_then")]] * len(parts)
    add("distance", "within_m", [metres(choice.point, choice.place.point) for choice in choices], _FAR, 50)
    return bounds


def places_shown(choices: Sequence[Choice]) -> list[PlaceCondition]:
    """Return candidate conditions "among the first N of the displayed list"; empty if few choices had a list."""
    of_lists = (choice for choice in choices if choice.of is None and len(choice.offer) > 1)
    numbers = [choice.offer.index(choice.place) + 1 for choice in of_lists]
    at = _at_quantiles(sorted(numbers), (1.0, 0.9, 0.75)) if 2 * len(numbers) > len(choices) else ()
    return [PlaceCondition("list", "shown", number) for number in at]


def _at_quantiles(figures: Sequence[float], shares: Sequence[float]) -> Iterable[float]:
    """Return the distinct figures at some quantiles of a sorted sequence."""
    last = len(figures) - 1
    return dict.fromkeys(figures[round(share * last)] for share in shares) if figures else ()


def profile_of(profile: Mapping[str, Json], condition: PlaceCondition) -> float | bool:
    """Return the support of a profile for a condition: a ratio (0 to 1) if it has one, otherwise whether it mentions the condition."""
    name, value = condition.field, condition.value
    for key, known in profile.items() if not condition.forbids else ():
        if isinstance(known, dict) and (inner := profile_of(known, condition)):
            return inner
        if key not in (name, value):
            words = (value,) if condition.sort == "has" else (name,) if value is True else ()
            if isinstance(known, list) and any(word in known for word in words):
                return True
        elif isinstance(known, float) and 0 < known <= 1 and condition.sort in ("is", "has"):
            return known
        elif known == value or (isinstance(known, list) and value in known):
            return True
    return False


# -- habits ------------------------------------------------------------------------------------------------------------


def tail(shares: Sequence[float], hits: int) -> float:
    """Return the probability of at least ``hits`` hits, if each choice hits by chance with its own share (0 to 1)."""
    misses = len(shares) - hits
    if misses < 0:
        return 0.0
    missed = [1.0] + [0.0] * misses  # the chance of so many misses so far
    for share in shares:
        for count in range(misses, 0, -1):
            missed[count] = missed[count] * share + missed[count - 1] * (1 - share)
        missed[0] *= share
    return min(1.0, sum(missed))


@dataclass(frozen=True)
class Habit:
    """A condition, the choices of one user that satisfy it, and the probability that this is chance.

    Attributes:
        condition: the condition.
        kept: by choice, in their order, whether it keeps the condition.
        shares: by choice, the share of what was there that fits.
        lines: where the choices that keep it stand in the log.
        chance: the chance of as many, were the offer all that decides.
        across: whether it holds for all kinds of places.
        since: the index of the choice that it begins with.
        until: the index of the first choice that no longer shows it; 0: it lasts.
        looks: by how much the chance is corrected, for the bounds and parts of the choices that it is the best of.
    """

    condition: PlaceCondition
    kept: tuple[bool, ...]
    shares: tuple[float, ...]
    lines: tuple[str, ...] = ()
    chance: float = 1.0
    across: bool = False
    since: int = 0
    until: int = 0
    looks: float = 1.0

    @property
    def part(self) -> slice:
        """The choices for which the habit is valid."""
        return slice(self.since, self.until or None)

    @property
    def count(self) -> int:
        """The number of choices that satisfy the condition."""
        return sum(self.kept)

    @property
    def share(self) -> float:
        """The share of the habit's choices that satisfy the condition."""
        kept = self.kept[self.part]
        return sum(kept) / len(kept)

    @property
    def late_only(self) -> bool:
        """Whether only later choices show the habit."""
        return self.since > 0

    @property
    def kind(self) -> Literal["hard", "soft"]:
        """``hard`` if nearly all of enough choices satisfy the condition, else ``soft``."""
        return "hard" if self.share >= HARD and len(self.kept[self.part]) >= _LEAST_HARD else "soft"

    @cached_property
    def windows(self) -> tuple[int, int]:
        """How many choices of the earlier and of the later half satisfy the condition; a middle choice is in neither half."""
        half = len(self.kept) // 2
        return sum(self.kept[:half]), sum(self.kept[-half:])

    @cached_property
    def ended(self) -> bool:
        """Whether the habit has ended: only earlier choices show it, or the later half or third of all choices no longer shows it."""
        return bool(self.until) or (
            not self.since and any(map(self._is_over_in, (len(self.kept) // 2, len(self.kept) // 3)))
        )

    def _is_over_in(self, last: int) -> bool:
        """Return whether chance explains a number of last choices better than the rate of earlier choices does."""
        if not last:
            return False
        rate = (sum(self.kept[:-last]) + 1) / (len(self.kept) - last + 2)
        likelier = 0.0
        for kept, share in zip(self.kept[-last:], self.shares[-last:], strict=True):
            by_chance = min(max(share, 0.01), 0.99)
            likelier += log(by_chance / rate) if kept else log((1 - by_chance) / (1 - rate))
        return not any(self.kept[-last:]) or likelier > _ENDED

    @property
    def weight(self) -> float:
        """The weight of the habit's chance: the absence of a property needs stronger proof."""
        return _LACK if self.condition.lack else 1

    def chance_in(self, since: int, until: int) -> float:
        """Return the habit's chance in a part of the choices; 1 if too few choices keep it, or hardly more than the offer explains."""
        kept, shares = self.kept[since : until or None], self.shares[since : until or None]
        count, expected = sum(kept), sum(shares)
        if (
            count < SHARE * len(kept)
            or len(kept) < _LEAST_CHOICES
            or count <= expected + _HARDLY * (expected * (1 - expected / len(kept))) ** 0.5
        ):
            return 1.0
        return min(1.0, tail(shares, count) * self.weight)


@dataclass(frozen=True)
class LeftOut:
    """A condition that did not become a requirement: ``why`` is the reason, ``shared`` the choices that also satisfy ``other``."""

    condition: PlaceCondition
    why: str
    other: PlaceCondition | None = None
    shared: tuple[str, ...] = ()


@dataclass(frozen=True)
class Identified:
    """The habits found in a user's choices of one kind or of all kinds, and the omitted conditions."""

    habits: tuple[Habit, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class Catalogue:
    """The places by kind and town, and the matches of each condition as a number with a bit per place, for fast counts."""

    def __init__(self, places: Iterable[LogPlace]) -> None:
        by_part: dict[tuple[str, str], list[LogPlace]] = {}
        self._of_kind: dict[str, list[LogPlace]] = {}
        self._bits: dict[str, int] = {}
        for place in places:
            by_part.setdefault((place.kind, place.city), []).append(place)
            of_kind = self._of_kind.setdefault(place.kind, [])
            self._bits[place.id] = 1 << len(of_kind)
            of_kind.append(place)
        self._parts = {part: tuple(members) for part, members in by_part.items()}
        #: The conditions on values that a place fits.
        self.values = lru_cache(maxsize=20_000)(lambda place: frozenset(values_of(place)))
        self._masks: dict[tuple[object, ...], int] = {}
        self._of_user: dict[tuple[object, ...], int] = {}

    def part(self, kind: str, city: str) -> tuple[LogPlace, ...]:
        """Return the places of a kind in a town; empty if there are none."""
        return self._parts.get((kind, city), ())

    def forget(self) -> None:
        """Clear the cached data of one user's choices to bound memory; data about the catalogue itself stays."""
        self._of_user.clear()
        if len(self._masks) > _MASKS:
            self._masks.clear()

    def taken(self, choice: Choice) -> tuple[int, int]:
        """Return the bits of the chosen place and of all available places."""
        known, key = (self._of_user, choice.line) if choice.of is None else (self._masks, choice.of)
        if (offer := known.get((key,))) is None:
            offer = known[key,] = sum({self._bits[place.id] for place in choice.offer})
        return self._bits[choice.place.id], offer

    def fitting(self, condition: PlaceCondition, choice: Choice) -> int:
        """Return the bits of the places that satisfy a condition: all places of the kind, or the available places if it depends on the choice."""
        places: Sequence[LogPlace]
        if condition.sort in ("within_m", "shown"):
            known, places = self._of_user, choice.offer
            key: tuple[object, ...] = (condition, choice.line, choice.of)
        else:
            known, places = self._masks, self._of_kind[choice.place.kind]
            key = (condition, choice.place.kind, choice.clock if condition.sort == "open_then" else "")
        if (mask := known.get(key)) is None:
            mask = known[key] = sum({self._bits[place.id] for place in places if condition.fits(place, choice)})
        return mask


class HabitFinder:
    """Finds habits in the choices of one user, and caches the results."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._remembered: dict[tuple[object, ...], Identified] = {}
        self._known_offers: dict[tuple[object, ...], list[tuple[int, int, int]]] = {}

    def identify(self, choices: Sequence[Choice], kind: str, asked: Iterable[PlaceCondition] = ()) -> Identified:
        """Return the habits for a kind of place: those in its own choices, and those that all kinds share.

        Args:
            choices: all that the user took, in the order of time.
            kind: the kind of place.
            asked: what is asked for anyway: no habit, and it explains others.
        """
        by_kind: dict[str, list[Choice]] = {kind: []}
        for choice in choices[-_MOST_CHOICES:]:
            by_kind.setdefault(choice.place.kind, []).append(choice)
        own = {name: self._identified(members) for name, members in by_kind.items()}
        across = self._across(by_kind, own) if len(by_kind) > 1 else Identified()
        common = [habit for habit in across.habits if self._holds_for_kind(habit, kind, by_kind, own)]
        given = [*(habit.condition for habit in common), *asked]
        of_kind = self._identified(by_kind[kind], given) if given else own[kind]
        # Who takes what a list shows first shows no wish for what the list is sorted by.
        return Identified(
            tuple(habit for habit in (*common, *of_kind.habits) if habit.condition.sort != "shown"),
            tuple(out for out in (*across.left_out, *of_kind.left_out) if out.condition.sort != "shown"),
        )

    def _across(self, by_kind: Mapping[str, Sequence[Choice]], own: Mapping[str, Identified]) -> Identified:
        """Return the habits that several kinds show together and that remain clear without any single kind."""
        members = [*chain(*by_kind.values())]
        choices = sorted(members, key=lambda choice: choice.at)
        fields = [of_part[0] for of_part in _conditions(self._catalogue, choices, across=True)]
        habits, left_out = [], []
        level = FALSE_DISCOVERIES / max(
            1, sum(map(len, fields))
        )  # Bonferroni's: the kinds are looked at one by one, too
        for condition in chain(*fields):
            habit = replace(self._best([[condition]] * len(_parts(len(choices))), choices), across=True)
            if habit.chance > level:
                continue
            holding, telling = self._kinds_of(habit, by_kind, own)
            if len(holding) < max(2, _OF_KINDS * len(telling)):
                continue
            without = ([choice for choice in choices[habit.part] if choice.place.kind != name] for name in by_kind)
            if any(self.measured(condition, others).chance_in(0, 0) > level for others in without):
                continue
            if habit.ended:
                left_out.append(LeftOut(condition, "ended"))
            else:
                habits.append(habit)
        kept, more = self._unexplained(habits, choices, (), level)
        return Identified(tuple(kept), (*left_out, *more))

    def _kinds_of(
        self, habit: Habit, by_kind: Mapping[str, Sequence[Choice]], own: Mapping[str, Identified]
    ) -> tuple[set[str], set[str]]:
        """Return the kinds whose choices show a habit, and the kinds with enough choices and variety to show one."""
        holding, telling = set(), set()
        for kind, choices in by_kind.items():
            here = self.measured(habit.condition, choices)
            if len(here.kept) < _LEAST_OF_KIND or sum(here.shares) > _ALL * len(here.kept):
                continue
            telling.add(kind)
            expected = sum(here.shares) / len(here.kept)
            gone = any(out.condition == habit.condition for out in own[kind].left_out)
            if here.share >= (expected + habit.share) / 2 and not gone:
                holding.add(kind)
        return holding, telling

    def _holds_for_kind(
        self, habit: Habit, kind: str, by_kind: Mapping[str, Sequence[Choice]], own: Mapping[str, Identified]
    ) -> bool:
        """Return whether a habit of all kinds is valid for one kind: its choices show it, or it has too few choices and three other kinds do."""
        holding, telling = self._kinds_of(habit, by_kind, own)
        return kind in holding if kind in telling else len(holding) > 2  # noqa: PLR2004

    def _identified(self, choices: Sequence[Choice], given: Sequence[PlaceCondition] = ()) -> Identified:
        """Return the habits in choices of one kind, given conditions that are valid anyway; empty for too few choices, and cached."""
        if len(choices) < _LEAST_CHOICES:
            return Identified()
        key = (*(choice.line for choice in choices), *given)
        if key not in self._remembered:
            self._remembered[key] = self._looked_for(choices, given)
        return self._remembered[key]

    def _looked_for(self, choices: Sequence[Choice], given: Sequence[PlaceCondition]) -> Identified:
        """Test all candidate conditions on the choices, and return the clear habits that no other condition explains."""
        fields = _conditions(self._catalogue, choices, across=False)
        fields = [of_part for of_part in fields if not set(of_part[0]).intersection(given)]
        tried = [self._best(of_part, choices) for of_part in fields]
        wishes = [habit for habit in tried if habit.condition.sort != "shown"]
        count = _testable(wishes)
        clear = _discovered(wishes, count)
        of_list = [habit for habit in tried if habit.condition.sort == "shown" and habit.chance <= _BY_PLACE]
        # A habit that has ended still explains what went with it.
        level = FALSE_DISCOVERIES * max(1, len(clear)) / count
        habits, explained = self._unexplained([*clear, *of_list], choices, given, level)
        ended = tuple(LeftOut(habit.condition, "ended") for habit in habits if habit.ended)
        return Identified(tuple(habit for habit in habits if not habit.ended), (*ended, *explained))

    def _best(self, of_part: Sequence[Sequence[PlaceCondition]], choices: Sequence[Choice]) -> Habit:
        """Return the clearest habit among the conditions of each part of the choices.

        Its chance is that of Simes' procedure (1986) for all bounds of a part, half of it spent on all choices and half on the later parts.
        """
        parts = _parts(len(choices))
        best, likely = Habit(of_part[0][0], (), ()), 2.0
        whole: dict[PlaceCondition, Habit] = {}
        for (since, until), conditions in zip(parts, of_part, strict=True):
            for condition in conditions:
                if condition not in whole:
                    whole[condition] = self.measured(condition, choices)
            chances = [whole[condition].chance_in(since, until) for condition in conditions]
            first = min(chances)
            if first == 1 and best.kept:
                continue
            looks = min(each * len(chances) / rank for rank, each in enumerate(sorted(chances), 1)) / first
            looks *= 1 if len(parts) == 1 else 2 if not (since or until) else len(parts) - 1
            chance = min(1.0, first * looks)
            if (unlikely := chance / (_PART if since or until else 1)) < likely:
                habit = whole[conditions[chances.index(first)]]
                best, likely = replace(habit, since=since, until=until, chance=chance, looks=looks), unlikely
        return best if best.chance == 1 else replace(best, chance=max(best.chance, self._by_place(best, choices)))

    def measured(
        self, condition: PlaceCondition, choices: Sequence[Choice], given: tuple[PlaceCondition, ...] = ()
    ) -> Habit:
        """Return a condition with the choices that satisfy it; each offer is limited to places that match it on ``given`` and on stated conditions."""
        if condition.sort == "shown":  # of a choice without a list nothing is known of the place in it
            choices = [choice for choice in choices if choice.of is None]
        offers = self._offers(choices, condition.field, given)
        fitting = self._catalogue.fitting
        if condition.circumstantial:
            masks = [fitting(condition, choice) for choice in choices]
        else:
            of_kind = {choice.place.kind: choice for choice in choices}
            mask_of = {kind: fitting(condition, choice) for kind, choice in of_kind.items()}
            masks = [mask_of[choice.place.kind] for choice in choices]
        kept = tuple([mask & taken > 0 for mask, (taken, _, _) in zip(masks, offers, strict=True)])
        shares = [(mask & offer).bit_count() / count for mask, (_, offer, count) in zip(masks, offers, strict=True)]
        return Habit(condition, kept, tuple(shares), tuple(choice.line for choice in compress(choices, kept)))

    def _offers(
        self, choices: Sequence[Choice], field: str, given: tuple[PlaceCondition, ...]
    ) -> list[tuple[int, int, int]]:
        """Return for each choice the bits of its place and of the offer, and the offer's size, limited by conditions on all fields but one."""
        stated = any(each.field == field for choice in choices for each in choice.stated)
        key = (tuple([choice.line for choice in choices]), given, field if stated else "")
        if key not in self._known_offers:
            offers = self._known_offers[key] = []
            for choice in choices:
                taken, offer = self._catalogue.taken(choice)
                for other in (*given, *(each for each in choice.stated if each.field != field and each not in given)):
                    mask = self._catalogue.fitting(other, choice)
                    offer &= mask if mask & taken else ~mask
                offers.append((taken, offer, offer.bit_count()))
        return self._known_offers[key]

    def _by_place(self, habit: Habit, choices: Sequence[Choice]) -> float:
        """Return 0, or 1 if a habit is unclear when each place counts only at its first choice; a place in a list is always clear."""
        if habit.condition.sort == "shown":
            return 0.0
        first: dict[str, tuple[bool, float]] = {}
        for choice, kept, share in zip(
            choices[habit.part], habit.kept[habit.part], habit.shares[habit.part], strict=True
        ):
            first.setdefault(choice.place.id, (kept, share))
        hits = sum(kept for kept, _ in first.values())
        return float(hits < 2 or tail([share for _, share in first.values()], hits) > PLACES)  # noqa: PLR2004  one place is no habit

    def _unexplained(
        self, clear: Sequence[Habit], choices: Sequence[Choice], given: Sequence[PlaceCondition], level: float
    ) -> tuple[list[Habit], list[LeftOut]]:
        """Split clear habits into habits that remain significant given all others, and habits that other conditions explain.

        The clearest comes first, then whichever holds beside those there are; one that later ones explain goes again. What is left may still be explained by one
        that did not come in, as that one is by it: both are left out.
        """

        def holds(habit: Habit, others: Iterable[Habit]) -> bool:
            """Return whether a habit is still significant among choices and places that agree on the other conditions."""
            conditions = [*given, *(other.condition for other in others if other is not habit)]
            if not conditions:
                return True
            beside = self.measured(habit.condition, choices, tuple(conditions))
            return beside.chance_in(habit.since, habit.until) * habit.looks <= (
                _BY_PLACE if habit.condition.sort == "shown" else level
            )

        kept: list[Habit] = []
        for habit in sorted(clear, key=lambda habit: (habit.chance, -habit.count, habit.condition.id)):
            if holds(habit, kept):
                kept.append(habit)
                kept = [earlier for earlier in kept if earlier is habit or holds(earlier, kept)]
        out, doubtful = [], set()
        for habit in clear:
            if habit in kept:
                continue
            rivals = [other for other in kept if not holds(other, [*kept, habit])]
            doubtful.update(rivals)
            why = "each explains the other" if rivals else "explained"
            likest = sorted(kept, key=lambda other: (-len({*habit.lines} & {*other.lines}), other.condition.id))[:1]
            out += [_left_out(habit, other, why) for other in rivals or likest]
            if not (rivals or likest):
                out.append(LeftOut(habit.condition, why, given[0]))
            out += [_left_out(other, habit, why) for other in rivals]
        return [habit for habit in kept if habit not in doubtful], out


def _testable(tried: Sequence[Habit]) -> float:
    """Return the number of tests that count: those that could be clear at all (Gilbert 2005, after Tarone 1990), absences with less weight."""
    least = sorted((prod(habit.shares) * habit.weight, 1 / habit.weight) for habit in tried)
    counts = range(1, len(least) + 1)
    bound = next(
        (count for count in counts if bisect_right(least, (FALSE_DISCOVERIES / count, 2)) <= count), len(least)
    )
    return max(1.0, sum(weight for chance, weight in least if chance <= FALSE_DISCOVERIES / max(1, bound)))


def _discovered(tried: Sequence[Habit], count: float) -> list[Habit]:
    """Return the habits that Benjamini & Hochberg's procedure accepts among a number of tests."""
    chances = sorted(habit.chance for habit in tried)
    ranks = (rank for rank in range(len(chances), 0, -1) if chances[rank - 1] <= FALSE_DISCOVERIES * rank / count)
    level = FALSE_DISCOVERIES * next(ranks, 0) / count
    return [habit for habit in tried if habit.chance <= level]


def _left_out(habit: Habit, other: Habit, why: str) -> LeftOut:
    """Return a habit as explained by another habit, with the choices that satisfy both."""
    return LeftOut(habit.condition, why, other.condition, tuple(line for line in habit.lines if line in other.lines))


def _parts(count: int) -> list[tuple[int, int]]:
    """Return the parts of a number of choices for which a habit may be valid: all, later or earlier choices; as since and until, 0 for the end."""
    cuts = [count // 3, count // 2, count * 2 // 3] if count >= _LEAST_PARTS else []
    return [(0, 0), *((cut, 0) for cut in cuts), *((0, cut) for cut in cuts)]


def _conditions(catalogue: Catalogue, choices: Sequence[Choice], *, across: bool) -> list[list[list[PlaceCondition]]]:
    """Return candidate conditions for each part of the choices in groups of alternatives: values, and the bounds on each figure."""
    parts = [slice(since, until or None) for since, until in _parts(len(choices))]
    counts = Counter(condition for choice in choices for condition in catalogue.values(choice.place))
    values = [condition for condition, count in counts.items() if count > 1]
    if not across:  # the lack of what enough of what was on offer has, and few of the choices
        offered = {place.id: place for choice in choices for place in choice.offer}
        there = Counter(chain.from_iterable(map(catalogue.values, offered.values())))
        enough = [
            each for each, count in there.items() if count >= _AVOIDED * len(offered) and isinstance(each.value, str)
        ]
        values += [replace(each, forbids=True) for each in enough if counts[each] <= (1 - SHARE) * len(choices)]
    groups = [[[condition]] * len(parts) for condition in sorted(values, key=lambda each: (each.id, str(each.value)))]
    bounds = bounds_of(choices, parts).items()
    groups += [of_parts for (_, sort), of_parts in bounds if not across or sort not in _OF_ONE_KIND]
    listed = places_shown(choices)
    return [*groups, *([[listed] * len(parts)] if listed else [])]


# -- sessions of users -------------------------------------------------------------------------------------------------

#: A pause so long ends a session, seconds.
GAP_S = 30 * 60
TAKEN = ("navigate", "order")
_ASKING = ("search", "say")


@dataclass(frozen=True)
class LogSession:
    """A user's events about one kind of place without a long pause; intermediate views of other kinds are omitted.

    Attributes:
        kind: the kind of place.
        events: by time.
        jumps: how many events about other kinds were left out.
    """

    kind: str
    events: tuple[Event, ...]
    jumps: int = 0

    @cached_property
    def query_at(self) -> int | None:
        """The index of the query among the events: the first search, otherwise the first utterance; None if there is neither."""
        types = [event.type for event in self.events]
        return next((types.index(sort) for sort in _ASKING if sort in types), None)

    @cached_property
    def anchor(self) -> Event | None:
        """The last order or navigation after the query (in the whole session if there is no query); None if there is none."""
        first = 0 if self.query_at is None else self.query_at + 1
        return next((event for event in reversed(self.events[first:]) if event.type in TAKEN), None)

    @cached_property
    def filters(self) -> tuple[Event, ...]:
        """The filters that belong to the query: filters set before it, and filters set directly after it."""
        if self.query_at is None:
            return ()
        before = [event for event in self.events[: self.query_at] if event.type == "filter"]
        return (*before, *takewhile(lambda event: event.type == "filter", self.events[self.query_at + 1 :]))

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The ids of all places that searches of the session showed before the anchor."""
        end = self.anchor.at if self.anchor else float("inf")
        return tuple(dict.fromkeys(id_ for event in self.events if event.at <= end for id_ in event.shown))


@dataclass(frozen=True)
class UserSessions:
    """A user's log split into sessions, and the choice at the end of each session, by time."""

    log: UserLog
    sessions: tuple[LogSession, ...]
    choices: Sequence[tuple[LogSession, Choice]]


@dataclass(frozen=True)
class QueryMoment:
    """The query of a session, with all information known when it was asked.

    Attributes:
        user: who asked.
        session: the session.
        choice: what the user took in it.
    """

    user: UserSessions
    session: LogSession
    choice: Choice

    @cached_property
    def query(self) -> Event:
        """The query."""
        return self.session.events[self.session.query_at or 0]

    @property
    def before(self) -> tuple[Event, ...]:
        """The events before the query in its session."""
        return self.session.events[: self.session.query_at]

    @property
    def language(self) -> str:
        """``zh`` for a Chinese query, otherwise ``en``."""
        return language_of(self.query.text)

    @cached_property
    def now(self) -> Choice:
        """The choice moved to the time and position of the query; only its circumstances count."""
        return self.choice._replace(at=self.query.at, moment=self.query.moment, point=self.query.point)

    @cached_property
    def choices(self) -> list[Choice]:
        """The user's choices before the query, by time."""
        return [choice for _, choice in self.user.choices if choice.at < self.query.at]


class Kinds:
    """Finds the kinds of places in a catalogue to which a text or an event refers.

    Args:
        places: the catalogue, by id.
    """

    def __init__(self, places: Mapping[str, LogPlace]) -> None:
        self._places = places
        kinds = sorted({place.kind for place in places.values()}, key=lambda kind: (-len(kind), kind))
        self._words = {kind: naming(kind) for kind in kinds}

    def named(self, text: str) -> list[str]:
        """Return the kinds that a text names, longest names first."""
        words = spoken(text)
        return [kind for kind, pattern in self._words.items() if pattern.search(words)]

    def of_each(self, events: Sequence[Event]) -> list[str]:
        """Return the kind of each event in a sitting; empty for an event that matches any kind."""
        kinds = [""] * len(events)
        ahead = ""  # the kind of the next place that is opened or taken
        for at in reversed(range(len(events))):
            event = events[at]
            if event.place:
                ahead = kinds[at] = self._places[event.place].kind
            elif event.type in _ASKING:
                kinds_named = self.named(event.text)
                kinds[at] = ahead if ahead in kinds_named else next(iter(kinds_named), "") or self._most_shown(event)
        return kinds

    def _most_shown(self, event: Event) -> str:
        """Return the kind of more than half of the places in a search result; empty if there is none."""
        counts = Counter(self._places[id_].kind for id_ in event.shown if id_ in self._places)
        kind, count = next(iter(counts.most_common(1)), ("", 0))
        return kind if 2 * count > counts.total() else ""


def spoken(text: str) -> str:
    """Return the words of a text, folded and separated by single spaces."""
    return " ".join(tokens(text.replace("_", " ")))


def naming(word: str) -> re.Pattern[str]:
    """Return a regular expression that finds a word or phrase in ``spoken`` text; English words also match in the plural."""
    words = re.escape(spoken(word))
    return re.compile(rf"\b{words}(?:e?s)?\b" if word.isascii() else words)


def restore(events: Iterable[Event], kinds: Kinds) -> Iterator[LogSession]:
    """Yield the sessions in one user's events.

    A session ends at a pause of 30 minutes, at another session id, or at another kind of place. What comes between two events about one kind is a glance and is
    left out, unless something was taken there.
    """
    for sitting in _sittings(events):
        about = kinds.of_each(sitting)
        start = 0
        while start < len(sitting):
            kind = next((later for later in about[start:] if later), "")
            own: list[Event] = []
            at, jumps = start, 0
            while at < len(sitting):
                if about[at] in ("", kind):
                    own.append(sitting[at])
                    at += 1
                    continue
                back = next((later for later in range(at, len(sitting)) if about[later] == kind), None)
                if back is None or any(event.type in TAKEN for event in sitting[at:back]):
                    break
                jumps += back - at
                at = back
            if kind:
                yield LogSession(kind, tuple(own), jumps)
            start = at


def _sittings(events: Iterable[Event]) -> Iterator[list[Event]]:
    """Yield runs of events without a long pause or a change of session id."""
    sitting: list[Event] = []
    for event in events:
        before = sitting[-1] if sitting else event
        of_other = before.session and event.session and before.session != event.session
        if event.at - before.at > GAP_S or of_other:
            yield sitting
            sitting = []
        sitting.append(event)
    if sitting:
        yield sitting
