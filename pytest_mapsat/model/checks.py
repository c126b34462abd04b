"""Machine checks: what an answer or a trajectory must hold, as closed, typed, composable data.

A check is judged from a trajectory and the tables its sandbox started from. It ends as passed, failed, or not known, always with
the reason and, where text decided it, the quotation. Checks on the end state, the calls and the structured output are decided exactly; those
on prose pass or fail only on what is clear.

The field ``kind`` names the check. ``turn`` says which of the agent's replies are read: all of them
(``any``), the ``first``, the ``last``, or the one of that number, counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticKnownError

from .base import Family, FigureRole, Identifier, Json, JsonObject, Latitude, Longitude, Mode, Noun, Text, TimeRole
from .match import Bound, Match
from .schema import compiled_pattern


def _which(turn: object) -> object:
    """Return a choice of replies unchanged. Raises PydanticKnownError if it is not any, first, last or a number from 1."""
    if turn in ("any", "first", "last") or (isinstance(turn, int) and not isinstance(turn, bool) and turn >= 1):
        return turn
    raise PydanticKnownError("literal_error", {"expected": "'any', 'first', 'last' or 'a number from 1'"})


#: Which of the agent's replies; a number counts them from 1.
WhichReply = Annotated[Literal["any", "first", "last"] | int, BeforeValidator(_which)]
Unit = Literal["m", "km", "s", "min", "h", "d", "yuan", "money", "percent", "celsius", "star", "count"]
#: What is looked for in a reply: it has a letter or a digit at least, or nothing could be found.
Phrase = Annotated[str, StringConstraints(min_length=1, max_length=100_000, pattern=r"\w")]
Phrases = Annotated[tuple[Phrase, ...], Field(min_length=1)]


def _listed(value: object) -> object:
    """Return a single text as a tuple of one, anything else unchanged."""
    return (value,) if isinstance(value, str) else value


#: One of them, or a list of several.
FigureRoles = Annotated[tuple[FigureRole, ...], BeforeValidator(_listed)]
TimeRoles = Annotated[tuple[TimeRole, ...], BeforeValidator(_listed)]
Names = Annotated[tuple[Text, ...], BeforeValidator(_listed)]
Modes = Annotated[tuple[Mode, ...], BeforeValidator(_listed)]
#: Names of things, or the word ``proposed``: whatever the reply proposes.
Things = Literal["proposed"] | Names
Bounds = Bound | Annotated[tuple[Bound, ...], Field(min_length=1)]


def _asks(message: str, *names: str) -> Any:
    """Return a validator that raises ValueError with a message if none of some fields is given."""

    def given(check: Any) -> Any:
        """Return the check unchanged. Raises ValueError if none of the fields is given."""
        if all(getattr(check, name) in (None, ()) for name in names):
            raise ValueError(message)
        return check

    return model_validator(mode="after")(given)


class BaseCheck(Noun):
    """Base of all checks. The classes below it in this module are the kinds of checks there are; ``judges/`` has a function for each.

    Attributes:
        kind: its name.
        family: of a kind that reads prose, the family of its failures, by which they are calibrated; empty: it is decided exactly.
    """

    family: ClassVar[Family] = ""
    kind: str

    @property
    def parts(self) -> tuple[Check, ...]:
        """Return the checks that this check combines; empty for a plain one."""
        checks: tuple[Check, ...] = getattr(self, "checks", ())
        return checks


class Says(BaseCheck):
    """Words of the agent's replies: one of ``any`` and each of ``all`` is said, and none of ``none``. What is denied is not said.

    That none of the words is there fails only where nothing else can say the same: the reply says nothing of its own, or has
    none of the words of ``about``, without which it cannot be said. Else it is undecided.
    """

    family: ClassVar[Family] = "words"
    kind: Literal["says"]
    any: tuple[Phrase, ...] = ()
    all: tuple[Phrase, ...] = ()
    none: tuple[Phrase, ...] = ()
    about: tuple[Phrase, ...] = ()
    turn: WhichReply = "any"

    _phrases = _asks("says needs phrases in any, all or none", "any", "all", "none")


#: Units of what is measured, and how far such figures may be rounded, relatively.
_MEASURED, _ROUNDED = frozenset({"m", "km", "s", "min", "h", "d"}), 0.05


class Number(BaseCheck):
    """A number with a unit is said, and lies where it must.

    A figure counts when it is one of ``role``, is said of a thing of ``of`` (``proposed``: of what the reply proposes; with ``equals``, of what these tools
    returned), belongs to a way of travelling of ``mode``, and stands in a
    sentence with a phrase of ``near``; each that is empty asks nothing. A figure of which one of these is not sure decides nothing.
    ``min`` and ``max`` bound it in ``unit``. ``equals`` holds it against values that tools returned (each multiplied by ``times``): those of the thing of which it is said, and of its way of travelling. ``quantifier`` says whether one such figure must fit or all that
    are said. Units of length (m, km), time (s, min, h), money (``money``, that of the suite's currency; ``yuan`` where that is the yuan) and plain counts are converted.
    ``tolerance`` is relative; unless given it is 0.05 for lengths and times, which are easily rounded, and 0 for all else.
    ``if_absent``: what it means that no such number is said; ``nothing_claimed`` passes and is counted as such.
    """

    family: ClassVar[Family] = "figure"
    kind: Literal["number"]
    unit: Unit
    role: FigureRoles = ()
    of: Things = ()
    mode: Modes = ()
    near: tuple[Text, ...] = ()
    min: float | None = None
    max: float | None = None
    equals: Bounds | None = None
    times: float = Field(default=1, gt=0)
    tolerance: float | None = Field(default=None, ge=0, le=1)
    quantifier: Literal["any", "all"] = "all"
    if_absent: Literal["fail", "nothing_claimed"] = "fail"
    turn: WhichReply = "any"

    _bounded = _asks("number needs min, max or equals", "min", "max", "equals")

    @property
    def allowed(self) -> float:
        """Return the relative deviation that a figure may have from the value that it states."""
        usual = _ROUNDED if self.unit in _MEASURED else 0.0
        return usual if self.tolerance is None else self.tolerance

    @property
    def things(self) -> tuple[str, ...]:
        """Return the names in ``of``; empty if it is ``proposed``."""
        return self.of if isinstance(self.of, tuple) else ()

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Return ``equals`` as a tuple: the places of the values that a figure is compared with; empty if it is not given."""
        return (self.equals,) if isinstance(self.equals, Bound) else self.equals or ()


class ClockTime(BaseCheck):
    """A clock time is said (``18:30``, ``6:30 pm``, ``下午6点半``) from ``after`` to ``before``, ends included.

    ``role``, ``of``, ``near`` and ``equals`` are those of ``number``.
    """

    family: ClassVar[Family] = "figure"
    kind: Literal["clock_time"]
    role: TimeRoles = ()
    of: Things = ()
    near: tuple[Text, ...] = ()
    after: str | None = Field(default=None, pattern=r"^([01]\d|2[0-3]):[0-5]\d$")
    before: str | None = Field(default=None, pattern=r"^([01]\d|2[0-3]):[0-5]\d$")
    equals: Bounds | None = None
    tolerance_min: int = Field(default=1, ge=0)
    quantifier: Literal["any", "all"] = "all"
    if_absent: Literal["fail", "nothing_claimed"] = "fail"
    turn: WhichReply = "any"

    _bounded = _asks("clock_time needs after, before or equals", "after", "before", "equals")

    @property
    def things(self) -> tuple[str, ...]:
        """Return the names in ``of``; empty if it is ``proposed``."""
        return self.of if isinstance(self.of, tuple) else ()

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Return ``equals`` as a tuple: the places of the values that a time is compared with; empty if it is not given."""
        return (self.equals,) if isinstance(self.equals, Bound) else self.equals or ()


class Travels(BaseCheck):
    """The user is sent on no other way of travelling than those of ``by``.

    A way that is only compared or turned down does not count. A reply that says nothing of a way passes, as the calls made are a check of their own.
    """

    family: ClassVar[Family] = "travels"
    kind: Literal["travels"]
    by: Annotated[Modes, Field(min_length=1)]
    turn: WhichReply = "last"


class Recommends(BaseCheck):
    """What the replies propose, turn down or leave out. What is only compared is not proposed.

    ``any_of``: one of these is proposed; ``none_of``: none of these; ``all_of``: each of these, or from ``at_least`` to ``at_most`` of
    them; ``in_order``: all of these, in this order; ``turned_down``: one of these is said not to be had now (closed, gone, missed) or is
    turned down, and none is proposed. An element of ``all_of`` and ``in_order`` lists synonyms.

    ``where`` maps a dotted path in the record of a thing to a match: what is proposed fits all of it; ``none_where``: nothing that is
    proposed fits it. With ``only`` all that is proposed is one of ``any_of`` and fits ``where``; without it, one such thing is enough.
    These, and ``tool``, speak of things that tools returned (each tool declares where in its result they stand); ``tool`` limits them to
    those of one tool, or is ``any``. ``if_absent``: what it means that no such thing is proposed.
    """

    family: ClassVar[Family] = "choice"
    kind: Literal["recommends"]
    any_of: tuple[Phrase, ...] = ()
    none_of: tuple[Phrase, ...] = ()
    all_of: tuple[Phrases, ...] = ()
    in_order: tuple[Phrases, ...] = ()
    turned_down: tuple[Phrase, ...] = ()
    where: dict[str, Match] = Field(default_factory=dict)
    none_where: dict[str, Match] = Field(default_factory=dict)
    only: bool = False
    tool: str | None = None
    at_least: int | None = Field(default=None, ge=1)
    at_most: int | None = Field(default=None, ge=1)
    if_absent: Literal["fail", "nothing_claimed"] = "fail"
    turn: WhichReply = "last"

    @model_validator(mode="after")
    def _asks_something(self) -> Recommends:
        """Raise ValueError if the check asks for nothing, or has a field without the one that it needs."""
        wanted = self.any_of or self.where
        if not (wanted or self.forbids or self.all_of or self.in_order or self.turned_down):
            raise ValueError("recommends needs any_of, none_of, all_of, in_order, turned_down, where or none_where")
        if self.only and not wanted:
            raise ValueError("only needs any_of or where")
        if (self.at_least or self.at_most) and not self.all_of:
            raise ValueError("at_least and at_most count things of all_of")
        if len(self.in_order) == 1:
            raise ValueError("in_order needs two things or more")
        return self

    @property
    def of_results(self) -> bool:
        """Return whether proposals are looked up among the things that tools returned."""
        return bool(self.where or self.only or (self.any_of and self.tool))

    @property
    def of_tool(self) -> str | None:
        """Return the tool that must have returned a thing; None if any tool may have."""
        return None if self.tool == "any" else self.tool

    @property
    def forbids(self) -> bool:
        """Return whether some things are forbidden whatever is proposed; else ``none_of`` holds rivals of ``any_of``, judged with it."""
        return bool(self.none_where or (self.none_of and (self.of_results or not self.any_of)))


class Located(BaseCheck):
    """What the reply tells lies at most ``metres`` from ``lon``, ``lat`` (degrees, great circle); without a point, it tells any place.

    A point that the reply gives counts before all words; the user's own is left aside. A name counts by the point that a tool returned of it;
    ``words`` tell the place as well (its street and number). ``by_name``: whether a name alone tells it.
    """

    family: ClassVar[Family] = "choice"
    kind: Literal["located"]
    lon: Longitude | None = None
    lat: Latitude | None = None
    metres: float = Field(default=1000, gt=0)
    words: tuple[Text, ...] = ()
    by_name: bool = True
    turn: WhichReply = "last"

    @model_validator(mode="after")
    def _both(self) -> Located:
        """Raise ValueError if only one of lon and lat is given."""
        if (self.lon is None) != (self.lat is None):
            raise ValueError("located has lon and lat together or not at all")
        return self


class Addressed(BaseCheck):
    """A part of an address, such as the district, is the right one: one of ``names`` is told, as it is or as a part of a longer one.

    ``endings``: how names of such parts end. Another name with one of them is not the right one; ``besides``: words with such an ending that say
    nothing of it. Without ``names`` any such name will do.
    """

    family: ClassVar[Family] = "choice"
    kind: Literal["addressed"]
    names: tuple[Text, ...] = ()
    endings: Phrases
    besides: tuple[Text, ...] = ()
    turn: WhichReply = "last"


class CallPattern(Noun):
    """A call of ``tool`` whose arguments match ``with``; parameters that ``with`` does not name may be anything. A plain name means any call of the tool."""

    tool: Identifier
    arguments: dict[str, Match] = Field(default_factory=dict, alias="with")


#: A call, or the name of a tool for any call of it.
AnyCall = Annotated[
    CallPattern,
    BeforeValidator(
        lambda value: {"tool": value} if isinstance(value, str) else value, json_schema_input_type=CallPattern | str
    ),
]


class Calls(BaseCheck):
    """The agent's calls: how often it called ``tool``, or the calls of ``steps`` that it made.

    With ``tool``: from ``at_least`` (once unless given) to ``at_most`` calls whose arguments match ``with``, a mapping of a parameter to a
    match; the arguments are the agent's own, before defaults. ``at_most: 0``: no such call. ``answered``: which calls count: all of them
    (``any``), only those that the sandbox answered (true), or only those that it did not: refused, an error, a miss (false).
    ``agreed``: each such call comes after the user agreed to it.

    With ``steps``: ``match`` is ``in_order`` (as a subsequence of the calls), ``any_order`` (each step is another call), or ``exact``
    (these calls, in this order, and no others; without steps no call at all).
    """

    kind: Literal["calls"]
    tool: str | None = None
    arguments: dict[str, Match] = Field(default_factory=dict, alias="with")
    at_least: int | None = Field(default=None, ge=0)
    at_most: int | None = Field(default=None, ge=0)
    answered: bool | Literal["any"] = "any"
    agreed: bool = False
    steps: tuple[AnyCall, ...] = ()
    match: Literal["in_order", "any_order", "exact"] = "in_order"

    @model_validator(mode="after")
    def _asks_something(self) -> Calls:
        """Raise ValueError if the check asks for nothing, or mixes fields of a tool with steps."""
        of_steps = self.model_fields_set & {"steps", "match"}
        if self.tool is None:
            if others := self.model_fields_set - {"kind", "steps", "match"}:
                raise ValueError(f"{', '.join(sorted(others))} belong to a tool: name it in tool")
            if not self.steps and self.match != "exact":
                raise ValueError("calls asks nothing: name a tool or steps, or forbid all calls with match: exact")
        elif of_steps:
            raise ValueError(f"give tool, or {', '.join(sorted(of_steps))}")
        return self

    @property
    def never(self) -> bool:
        """Return whether such a call is forbidden."""
        return self.at_most == 0

    @property
    def least(self) -> int:
        """Return the least number of calls; 1 unless given."""
        return 1 if self.at_least is None else self.at_least


class EndState(BaseCheck):
    """Rows of ``table`` that fit ``where`` at the end of the episode: ``count`` of them; each has ``has``.

    ``where`` and ``has`` map a column, or a dotted path below one, to a match. Without a count at least one row must fit. ``count: 0``: no such row.
    """

    kind: Literal["state"]
    table: Identifier
    where: dict[str, Match] = Field(default_factory=dict)
    has: dict[str, Match] = Field(default_factory=dict)
    count: int | None = Field(default=None, ge=0)

    @property
    def wanted(self) -> tuple[int, int | None]:
        """Return the least and the most number of rows that must fit; the most is None if there is no limit."""
        return (1, None) if self.count is None else (self.count, self.count)


class Exempt(Noun):
    """Changes that ``unchanged`` allows: of rows of ``table`` that fit ``where``, before or after; ``columns``: in these only, else whole rows, new and removed ones too."""

    table: Identifier
    where: dict[str, Match] = Field(default_factory=dict)
    columns: tuple[Text, ...] = ()


class Unchanged(BaseCheck):
    """Nothing in the sandbox differs at the end from the start, but for what ``except`` allows."""

    kind: Literal["unchanged"]
    exempt: tuple[Exempt, ...] = Field(default=(), alias="except")


class SameEnd(BaseCheck):
    """The episode ends in the state that the reference (``truth.end``) ends in.

    The order of keys and of writes, the spelling of numbers, and the names of new ids do not count.
    """

    kind: Literal["same_end"]


class Output(BaseCheck):
    """The structured output of a reply has, at ``path``, values that match ``equals``, or ids that ``tool`` returned; without both it fits ``visible.output_schema``.

    ``path`` is dotted; ``*`` stands for every element of a list or object: all values there must match, and an element in which the rest of
    the path leads nowhere fits nothing but ``absent``.

    With ``id``, what stands at ``path`` is a list of entries, or one: the ``id`` of an entry, a name or dotted path, must be that of a row that ``tool``
    returned earlier in the dialogue, and this row fits ``where``. The tool declares in ``entities`` where the ids of its rows stand. ``entry``: matches that
    exactly one entry fits, and this one is looked up; without it all entries are: where one were enough, who hands over every row would be right.
    """

    kind: Literal["output"]
    path: str = ""
    equals: Match | None = None
    entry: dict[str, Match] = Field(default_factory=dict)
    id: Text | None = None
    tool: Identifier | None = None
    where: dict[str, Match] = Field(default_factory=dict)
    turn: WhichReply = "last"

    @model_validator(mode="after")
    def _compared(self) -> Output:
        """Raise ValueError if a look-up lacks id or tool, ``equals`` comes with a look-up, or a path has nothing to compare with."""
        if (self.id is None) != (self.tool is None) or (self.id is None and (self.entry or self.where)):
            raise ValueError(
                "a look-up needs id and tool: the name of the id in an entry, and the tool that returned it"
            )
        if self.id is not None and self.equals is not None:
            raise ValueError("give equals, or id and tool: a look-up compares ids")
        if self.equals is None and self.id is None and self.path:
            raise ValueError("path needs equals, or id and tool; an output without fits the case's output_schema")
        return self


class Matches(BaseCheck):
    """``pattern``, a regular expression in RE2's syntax, is found in the text of a reply. RE2 takes time in proportion to the text, whatever the pattern."""

    kind: Literal["matches"]
    pattern: Annotated[str, Field(min_length=1, max_length=1000)]
    turn: WhichReply = "last"

    @property
    def compiled(self) -> Any:
        """Return the compiled pattern. Raises ValueError with what is wrong in it."""
        return compiled_pattern(self.pattern)


class Asked(BaseCheck):
    """The agent asked the user from ``at_least`` to ``at_most`` questions about ``about`` (any subject when empty)."""

    family: ClassVar[Family] = "words"
    kind: Literal["asked"]
    about: tuple[Text, ...] = ()
    at_least: int = Field(default=0, ge=0)
    at_most: int | None = Field(default=None, ge=0)


class Grounded(BaseCheck):
    """Every factual claim of these types is borne out by results, context or the user's words."""

    family: ClassVar[Family] = "claims"
    kind: Literal["grounded"]
    claims: tuple[
        Literal[
            "name", "quantity", "time", "identifier", "point",
            "distance", "duration", "price", "rating", "count", "phone", "line", "address", "coordinate",
        ],
        ...,
    ] = ()  # fmt: skip


class PythonCheck(BaseCheck):
    """A check in Python, added under ``name`` with ``@mapsat.check``. Written as ``check: NAME`` or ``{kind: NAME, argument: value}``."""

    kind: Literal["python"]
    name: Identifier
    arguments: JsonObject = Field(default_factory=dict)


class All(BaseCheck):
    """Every one of ``checks`` holds. Written as a list of checks, too."""

    kind: Literal["all"]
    checks: tuple[Check, ...] = Field(min_length=1)


class AnyOf(BaseCheck):
    """At least one of ``checks`` holds."""

    kind: Literal["any"]
    checks: tuple[Check, ...] = Field(min_length=1)


class AtLeast(BaseCheck):
    """At least ``n`` of ``checks`` hold."""

    kind: Literal["at_least"]
    n: int = Field(ge=1)
    checks: tuple[Check, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _reachable(self) -> AtLeast:
        """Raise ValueError if ``n`` is more than the number of checks."""
        if self.n > len(self.checks):
            raise ValueError(f"at_least asks for {self.n} of {len(self.checks)} checks")
        return self


class Not(BaseCheck):
    """``check`` does not hold."""

    kind: Literal["not"]
    check: Check

    @property
    def parts(self) -> tuple[Check, ...]:
        """Return the negated check, as a tuple of one."""
        return (self.check,)


_KINDS: tuple[type[BaseCheck], ...] = tuple(BaseCheck.__subclasses__())
#: The names that ``kind`` may have; any other is the name of a check in Python.
KINDS: frozenset[str] = frozenset(word for noun in _KINDS for word in get_args(noun.model_fields["kind"].annotation))


def _spelt_out(value: object) -> object:
    """Return the full form of a check in short form: a list becomes ``all``, a name or unknown kind a check in Python."""
    if isinstance(value, (list, tuple)):
        return {"kind": "all", "checks": value}
    if isinstance(value, str):
        value = {"kind": value}
    if not isinstance(value, dict) or not isinstance(kind := value.get("kind"), str):
        return value
    if kind in KINDS:
        return value
    return {
        "kind": "python",
        "name": kind,
        "arguments": {name: given for name, given in value.items() if name != "kind"},
    }


if TYPE_CHECKING:
    Check = BaseCheck
else:
    _Tagged = Annotated[reduce(or_, _KINDS), Field(discriminator="kind")]
    Check = Annotated[_Tagged, BeforeValidator(_spelt_out, json_schema_input_type=_Tagged | str | list[Json])]


def leaves(check: Check) -> Iterator[Check]:
    """Yield the plain checks in a check, taken out of combinations at any depth; a plain check yields itself."""
    if not check.parts:
        yield check
    for part in check.parts:
        yield from leaves(part)
