"""The basis of all nouns: frozen, closed, plain data; the words of figures; one canonical text and its digest; the errors a user may see."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from pytest_mapsat.printed import on_one_line

#: Case ids stand in node ids and file names; ``-t<digits>`` at the end is kept for trials.
CASE_ID_PATTERN = r"^[A-Za-z0-9_.-]{1,80}$"
#: An ISO 8601 day, or a moment of it.
DATE_PATTERN = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?([+-]\d\d:\d\d|Z)?)?$"

Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,80}$")]
#: What a soft requirement can reach (3.3).
SOFT_LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
Text = Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
Longitude = Annotated[float, Field(ge=-180, le=180)]
Latitude = Annotated[float, Field(ge=-90, le=90)]
#: Metric names stand in run files, thresholds (``domain.metric=0.6``) and properties: lower case, no dot.
MetricName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
Level = Annotated[float, Field(ge=0, le=1)]


def _ordered(bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the bounds unchanged. Raises ValueError if the first is larger than the second."""
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


#: ``asked``: what the query states. ``hard`` and ``soft``: what it does not state and the user wants; a soft one may be met in part. ``fact``: a statement
#: that agrees with what the tools returned, where the answer makes it. ``policy``: a rule for the way an agent goes about it.
RequirementKind = Literal["asked", "hard", "soft", "fact", "policy"]

#: What may fail an item: the requirements of a kind, or the metric of success.
Asserted = Literal["hard", "facts", "policies", "asked", "soft", "success", "none"]
#: The word by which each kind of requirement is asserted.
ASSERTED_AS: Mapping[str, Asserted] = {
    "asked": "asked",
    "hard": "hard",
    "soft": "soft",
    "fact": "facts",
    "policy": "policies",
}
#: What fails an item by default.
DEFAULT_ASSERTED: tuple[Asserted, ...] = ("asked", "facts", "hard")


_set = object.__setattr__  # nouns are frozen


class Noun(BaseModel):
    """A value: frozen, without unknown fields, equal by content, serialisable to JSON."""

    #: Names that fields once had, each with the one of today: an old name is refused with the new one.
    renamed: ClassVar[Mapping[str, str]] = {}

    #: The field that a bare word stands for, where one may be written in place of the object.
    word: ClassVar[str] = ""

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

    def __copy__(self) -> Self:
        """Return a shallow copy, without pydantic's general method, which takes four times as long."""
        copied = self.__class__.__new__(self.__class__)
        _set(copied, "__dict__", self.__dict__.copy())
        _set(copied, "__pydantic_fields_set__", self.__pydantic_fields_set__.copy())
        _set(copied, "__pydantic_extra__", None)
        private = self.__pydantic_private__  # what a noun keeps beside its fields
        _set(copied, "__pydantic_private__", private and private.copy())
        return copied

    def to_json(self) -> JsonObject:
        """Return the value as plain JSON data, without fields that have their default."""
        return self.model_dump(mode="json", exclude_defaults=True)


class Membership(Noun):
    """A case's place in a sequence: one user's tasks, with memory between the tasks.

    Attributes:
        name: name of the sequence, the same in all of its cases. Example: ``anna``
        order: position in the sequence, from 0; cases run in this order. Example: ``0``
    """

    name: Identifier
    order: int = Field(ge=0, strict=True)


def same(first: Json, other: Json) -> bool:
    """Return whether two JSON values are equal: 25 equals 25.0, true does not equal 1, and the order of keys is ignored."""
    if isinstance(first, Mapping) and isinstance(other, Mapping):
        return first.keys() == other.keys() and all(same(value, other[key]) for key, value in first.items())
    if isinstance(first, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(first) == len(other) and all(same(*pair) for pair in zip(first, other, strict=True))
    return isinstance(first, bool) == isinstance(other, bool) and bool(first == other)


def share_field_sets(noun: Noun) -> None:
    """Share pydantic's internal data of a noun and its nested nouns with other objects of the same type, to save memory.

    That is the set of the fields that were given, of up to 2 KB: half of a scorecard. All fields count as given from then on.
    """
    _set(noun, "__pydantic_fields_set__", _names(type(noun)))
    for value in noun.__dict__.values():
        if type(value) in _PLAIN:
            continue
        for item in value if isinstance(value, tuple) else (value,):
            if type(item) not in _PLAIN and isinstance(item, Noun):
                share_field_sets(item)


@cache
def types_of(noun: type[BaseModel]) -> Mapping[str, Any]:
    """Return the types of a noun's fields by name; this also works before all referenced nouns are defined."""
    if noun.__pydantic_fields_complete__:
        return {name: field.annotation for name, field in noun.model_fields.items()}
    types = get_type_hints(noun)
    return {name: types[name] for name in noun.model_fields}


@cache
def _names(noun: type[Noun]) -> set[str]:
    """Return the field names of a noun type as one shared set."""
    return set(noun.model_fields)


#: What a label rests on that reads prose: what is proposed, a figure, words, a claim held against results, a way of travelling. Empty: it reads none.
Family = Literal["", "choice", "figure", "words", "claims", "travels"]
#: What a figure is a figure of. A figure whose role is not sure decides nothing.
FigureRole = Literal[
    "travel_time", "travel_distance", "wait", "slack", "stay", "opening", "closing", "deadline", "headroom", "price", "total",
    "per_head", "fee", "saving", "former_price", "budget", "rating", "count", "capacity", "age", "temperature", "frequency",
]  # fmt: skip
#: What a clock time is the time of.
TimeRole = Literal["departure", "arrival", "stop", "opening", "closing", "deadline", "last_service", "now"]
#: What a figure of a result or of a table is written in.
FieldUnit = Literal[
    "m", "km", "s", "min", "h", "d", "yuan", "money", "percent", "celsius", "star", "people", "year", "count"
]
#: A way of travelling.
Mode = Literal["walking", "cycling", "driving", "taxi", "transit"]


#: Made once: ``json.dumps`` would build one for each value, which costs more than to write a short one.
_canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_plain = json.JSONEncoder(ensure_ascii=False).encode


def json_size(value: Any) -> int:
    """Return the number of characters of a value written as JSON."""
    return len(_plain(value))


def canonical_json(value: Any) -> str:
    """Return JSON text with sorted keys and no spaces; the same value always gives the same text."""
    return _canonical(value)


def digest(value: Any, size: int = 16) -> str:
    """Return the first ``size`` hex digits of the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()[:size]


def noun_digest(noun: Noun) -> str:
    """Return a digest of the fields of a noun that differ from their defaults, so that later fields do not change it."""
    text = noun.model_dump_json(exclude_defaults=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_SHOWN = 80


class MapsatError(Exception):
    """The base of all errors meant for the user, which are printed without a traceback."""


class UsageError(MapsatError):
    """An option, a spec or an argument cannot be used."""


class OptimisedError(UsageError):
    """Python runs with ``-O``, which removes the ``assert`` statements of Python checks; pytest and all commands end with status 4."""

    def __init__(self) -> None:
        super().__init__(
            "Python leaves out every assert (-O or PYTHONOPTIMIZE), so checks in Python would pass: start it without"
        )


class InfrastructureError(MapsatError):
    """A part other than the agent, the user and the judge broke while a case ran."""


class NotRecordedError(MapsatError):
    """An external record lacks the data that a check needs."""


@dataclass(frozen=True)
class Problem:
    """One error at one place.

    Attributes:
        path: the file, as the user would type it.
        line: 1-based; 0 where the whole file is meant.
        message: what is wrong, with found and expected in it.
        hint: what to do, or a did-you-mean; may be empty.
    """

    path: str
    line: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return on_one_line(f"{where}: {self.message}" + (f" ({self.hint})" if self.hint else ""))

    def at(self, path: str, line: int) -> Problem:
        """Return the same problem at another file and line."""
        return replace(self, path=path, line=line)


class SuiteError(MapsatError):
    """A suite, or a file of one, cannot be used.

    Attributes:
        problems: all that was found, in the order of the file.
    """

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


def any_true(answers: Iterable[bool | None]) -> bool | None:
    """Return True if any answer is True, else None if any is None, else False."""
    distinct = set(answers)
    return True if True in distinct else None if None in distinct else False


def all_true(answers: Iterable[bool | None]) -> bool | None:
    """Return False if any answer is False, else None if any is None, else True."""
    distinct = set(answers)
    return False if False in distinct else None if None in distinct else True


def listed(texts: Iterable[str], most: int = 3, joint: str = ", ") -> str:
    """Return the first few texts joined, with the number of omitted texts."""
    every = list(texts)
    return joint.join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def shown(value: object) -> str:
    """Return ``repr(value)`` cut to the length of a line."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of more than 4300 digits
        text = f"a {type(value).__name__} too long to show"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def did_you_mean(word: object, choices: Iterable[object], otherwise: str = "") -> str:
    """Return ``did you mean 'x'?`` for the most similar name; if no name is similar, ``otherwise`` and all names, or an empty text."""
    names = [str(name) for name in choices]
    near = get_close_matches(str(word), names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"{otherwise} {', '.join(names) or 'none'}" if otherwise else ""


def hint_at(word: object, choices: Iterable[object]) -> str:
    """Return the hint of ``did_you_mean`` in brackets, to append to a message; empty if no name is similar."""
    hint = did_you_mean(word, choices)
    return f" ({hint})" if hint else ""
