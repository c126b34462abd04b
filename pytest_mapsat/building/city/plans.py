"""What the cases of a made-up city are about: the kinds of plans, and the needs that hide behind their queries; all of it is data in ``plans.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from pytest_mapsat.building.towns import Draws
from pytest_mapsat.formats import parse_yaml
from pytest_mapsat.model import Json, JsonObject

from .sorts import Trait, sorts

#: The number of cases that the shares of the kinds add up to.
_WHOLE = 500
_HOUR = 60


class Kind(NamedTuple):
    """A kind of plan.

    Attributes:
        name: its key in ``plans.yaml``.
        family: how its options are made: ``place``, ``outing``, ``way``, ``line`` or ``ride``.
        share: how many of 500 cases are of it.
        domains: those of its cases.
        hours: the first and the last hour of the day at which its users ask.
        needs: each need with its reason; the first is the one that the first thing found breaks, the last is soft.
        tell: the figure that its users like to be told.
        mode: how they get there, where they ask for the way.
        sort, second: the sorts of the places that they look for.
    """

    name: str
    family: str
    share: int
    domains: tuple[str, ...]
    hours: tuple[int, int]
    needs: tuple[tuple[str, str], ...]
    tell: str
    mode: str = ""
    sort: str = ""
    second: str = ""


@dataclass(frozen=True)
class Need:
    """One need of one user: what must hold of the right option, and why.

    Attributes:
        name: its key in ``plans.yaml``.
        column: the column of an option that shows whether it is met.
        where: the match that holds of options that meet it, as checks write it.
        limit: the user's own figure, or time of day; empty where there is none.
        trait: the trait of the places that it asks for; None where it is about something else.
        told: what ``plans.yaml`` says of it, and of its reason.
        language: ``en`` or ``zh``.
    """

    name: str
    column: str
    where: JsonObject
    limit: int | float | str
    trait: Trait | None
    told: Mapping[str, Any]
    reason: Mapping[str, Any]
    language: str

    @property
    def source(self) -> str:
        """Where it can be known from: ``profile``, ``context`` or ``environment``."""
        return str(self.reason["source"])

    @property
    def habitual(self) -> bool:
        """Whether only the user's habits show it."""
        return self.source == "profile" and "user" not in self.reason

    @property
    def holds(self) -> str:
        """What holds of the right option, in words."""
        return self.filled(self.told[self.language])

    def filled(self, text: str) -> str:
        """Return a text with the user's own figure in it."""
        return (
            text.replace("{limit}", f"{self.limit}").replace("{time}", f"{self.limit}").replace("{early}", self._early)
        )

    def of_user(self) -> JsonObject:
        """Return what the profile of the user says because of it."""
        told = self.reason.get("user", {}).get(self.language, {})
        return {key: self._value(value) for key, value in told.items()}

    def habit(self) -> tuple[str, str] | None:
        """Return the dimension and the choice of the habit that shows it; None where none does."""
        told = self.reason.get("habit", {}).get(self.language)
        return (self.filled(told[0]), self.filled(told[1])) if told else None

    def remark(self, draws: Draws) -> str:
        """Return what the user said before that shows it; empty where nothing was said."""
        told = self.reason.get("history", {}).get(self.language)
        return self.filled(draws.choice(told)) if told else ""

    @property
    def _early(self) -> str:
        return clock(minutes_of(self.limit) - _HOUR) if isinstance(self.limit, str) and self.limit else ""

    def _value(self, value: Any) -> Json:
        if isinstance(value, dict):
            return {key: self._value(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self._value(part) for part in value]
        return self.limit if value == "{limit}" else self.filled(str(value))


def need_of(kind: Kind, at: int, language: str, draws: Draws, limit: float | str | None = None) -> Need:
    """Return a need of a case.

    Args:
        kind: the kind of its plan.
        at: which of the kind's needs.
        language: ``en`` or ``zh``.
        draws: what the user's own figure is drawn from.
        limit: this figure, where the plan gives it.
    """
    name, why = kind.needs[at]
    told, reason = plan_data()["needs"][name], plan_data()["reasons"][why]
    trait_name = told.get("trait", "")
    trait_name = trait_name[language] if isinstance(trait_name, dict) else trait_name
    trait = sorts(language)[kind.sort].traits.get(trait_name) if trait_name else None
    if trait_name and trait is None:
        trait = next(sort.traits[trait_name] for sort in sorts(language).values() if trait_name in sort.traits)
    column = trait.column if trait else told["column"]
    if limit is None and "limits" in told:
        limit = draws.choice(told["limits"])
    where = _where(told, trait, column, language, limit)
    if limit is None and trait and column == "price_yuan":
        limit = where[column]["max"]
    return Need(name, column, where, "" if limit is None else limit, trait, told, reason, language)


def _where(
    told: Mapping[str, Any], trait: Trait | None, column: str, language: str, limit: float | str | None
) -> JsonObject:
    if column == "hours":
        return {column: {"op": "open_at", "time": limit}}
    if "present" in told:
        return {column: {"op": "present"}}
    if "yes" in told:
        value = told["yes"]
        return {column: value[language] if isinstance(value, dict) else value}
    match: Any = trait.where[column] if trait else {}
    if trait and (limit is None or not isinstance(match, dict) or match["op"] != "between"):
        return dict(trait.where)
    least = "at_least" in told or "min" in match
    return {column: {"op": "between", "min" if least else "max": limit}}


def minutes_of(time: str) -> int:
    """Return the minute of the day of a time such as ``18:05``."""
    return int(time[:2]) * _HOUR + int(time[3:5])


def clock(minutes: int) -> str:
    """Return a minute of the day as a time."""
    return f"{minutes // _HOUR % 24:02}:{minutes % _HOUR:02}"


@cache
def plan_data() -> Any:
    """Return what ``plans.yaml`` says."""
    (document,) = parse_yaml((files(__package__) / "plans.yaml").read_bytes(), "plans.yaml")
    return document.data


@cache
def kinds() -> Mapping[str, Kind]:
    """Return the kinds of plans by name."""
    return {name: _kind(name, dict(told)) for name, told in plan_data()["kinds"].items()}


def _kind(name: str, told: dict[str, Any]) -> Kind:
    for key in ("domains", "hours"):
        told[key] = tuple(told[key])
    return Kind(name, needs=tuple((need, why) for need, why in told.pop("needs")), **told)


def schedule(count: int, languages: Sequence[str]) -> Iterator[tuple[Kind, int, str]]:
    """Yield for each case its kind, its number within the kind, and its language: the kinds by their shares, the languages in turns.

    Args:
        count: how many cases.
        languages: the languages of the towns.
    """
    whole = [(kind, kind.share * count // _WHOLE, kind.share * count % _WHOLE) for kind in kinds().values()]
    left = count - sum(number for _, number, _ in whole)
    more = {kind.name for kind, _, rest in sorted(whole, key=lambda part: (-part[2], part[0].name))[:left]}
    turn = 0
    for kind, number, _ in whole:
        for at in range(number + (kind.name in more)):
            yield kind, at, languages[turn % len(languages)]
            turn += 1
