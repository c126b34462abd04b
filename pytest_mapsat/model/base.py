"""What every noun has in common: frozen, closed, plain data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_type_hints

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

#: Case ids stand in node ids and file names; ``-t<digits>`` at the end is kept for trials.
CASE_ID_PATTERN = r"^[A-Za-z0-9_.-]{1,80}$"

Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,80}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
Longitude = Annotated[float, Field(ge=-180, le=180)]
Latitude = Annotated[float, Field(ge=-90, le=90)]
Level = Annotated[float, Field(ge=0, le=1)]


def _ordered(bounds: tuple[float, float]) -> tuple[float, float]:
    if bounds[0] > bounds[1]:
        raise ValueError(f"bounds are the least, then the most: {bounds[0]:g} is more than {bounds[1]:g}")
    return bounds


#: The least and the most that a number can come to once all labels are known.
Bounds = Annotated[tuple[float, float], AfterValidator(_ordered)]
#: A JSON value. ``Any`` and not pydantic's ``JsonValue``: tool results are checked once,
#: where they are read, and walking them again at every noun would cost more than the noun.
Json = Any
JsonObject = dict[str, Any]


#: The exact types of JSON values without parts. To ask of each value whether it is a mapping or a noun costs more than what is done with it.
SCALARS = frozenset({str, int, float, bool, type(None)})
#: Types of values that are no nouns and hold none.
_PLAIN = SCALARS | {dict}


#: Kinds of requirements by their old names, each with what it is now.
_KINDS_BEFORE = {"explicit": "'asked'", "implicit": "'hard' or 'soft'"}


def kind_of_today(kind: object) -> object:
    """Return the kind of a requirement as it was written, and refuse the name that it had before."""
    if isinstance(kind, str) and kind in _KINDS_BEFORE:
        raise ValueError(f"{kind!r} is now {_KINDS_BEFORE[kind]}")
    return kind


#: ``asked``: what the query states. ``hard`` and ``soft``: what it does not state and the user wants; a soft one may be met in part. ``fact``: a statement
#: that agrees with what the tools returned, where the answer makes it. ``policy``: a rule for the way an agent goes about it.
RequirementKind = Annotated[Literal["asked", "hard", "soft", "fact", "policy"], BeforeValidator(kind_of_today)]


class Noun(BaseModel):
    """A value: frozen, no unknown field, equal by content, serialisable to JSON."""

    #: Names that fields once had, each with the one of today: an old name is refused with the new one.
    renamed: ClassVar[Mapping[str, str]] = {}

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        # Some names of the file formats are words of Python ("with") or of pydantic ("schema").
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        # A run uses a third of the nouns: each is compiled when it is first used, with those that it is made of.
        defer_build=True,
    )

    def to_json(self) -> JsonObject:
        """Return the value as plain JSON data, without fields that hold their default."""
        return self.model_dump(mode="json", exclude_defaults=True)


def same(one: Json, other: Json) -> bool:
    """Return whether two values are the same: 25 and 25.0 are, true and 1 are not, the order of keys does not count."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def lighten(noun: Noun) -> None:
    """Let a noun that is kept to the end of a run, and the nouns in it, share what pydantic holds for each of them.

    That is the set of the fields that were given, of up to 2 KB: half of a scorecard. All fields count as given from then on.
    """
    object.__setattr__(noun, "__pydantic_fields_set__", _names(type(noun)))
    for value in noun.__dict__.values():
        if type(value) in _PLAIN:
            continue
        for one in value if isinstance(value, tuple) else (value,):
            if type(one) not in _PLAIN and isinstance(one, Noun):
                lighten(one)


@cache
def types_of(noun: type[BaseModel]) -> Mapping[str, Any]:
    """Return the types of a noun's fields, by the fields' names; those that name a later noun too, for which nothing is compiled."""
    if noun.__pydantic_fields_complete__:
        return {name: field.annotation for name, field in noun.model_fields.items()}
    types = get_type_hints(noun)
    return {name: types[name] for name in noun.model_fields}


@cache
def _names(noun: type[Noun]) -> set[str]:
    return set(noun.model_fields)
