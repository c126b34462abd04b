"""Machine checks: conditions on an answer or a trajectory, as closed, typed, composable data.

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
from .schema import Spoken, compiled_pattern


def _which(turn: object) -> object:
    """Return a choice of replies unchanged. Raises PydanticKnownError if the choice is not any, first, last or a number from 1."""
    if turn in ("any", "first", "last") or (isinstance(turn, int) and not isinstance(turn, bool) and turn >= 1):
        return turn
    raise PydanticKnownError("literal_error", {"expected": "'any', 'first', 'last' or 'a number from 1'"})


#: Which of the agent's replies; a number counts them from 1.
WhichReply = Annotated[Literal["any", "first", "last"] | int, BeforeValidator(_which)]
Unit = Literal["m", "km", "s", "min", "h", "d", "yuan", "money", "percent", "celsius", "star", "count"]
#: What is looked for in a reply: it has a letter or a digit at least, or nothing could be found.
Phrase = Annotated[Spoken, StringConstraints(min_length=1, max_length=100_000, pattern=r"\w")]
Phrases = Annotated[tuple[Phrase, ...], Field(min_length=1)]


def as_list(value: object) -> object:
    """Return a single text or object as a tuple of one, and any other value unchanged."""
    return (value,) if isinstance(value, (str, dict)) else value


#: One of them, or a list of several.
FigureRoles = Annotated[tuple[FigureRole, ...], BeforeValidator(as_list)]
TimeRoles = Annotated[tuple[TimeRole, ...], BeforeValidator(as_list)]
Names = Annotated[tuple[Text, ...], BeforeValidator(as_list)]
Modes = Annotated[tuple[Mode, ...], BeforeValidator(as_list)]
#: Names of things, or the word ``proposed``: whatever the reply proposes.
Things = Literal["proposed"] | Names
Bounds = Bound | Annotated[tuple[Bound, ...], Field(min_length=1)]


def _asks(message: str, *names: str) -> Any:
    """Return a validator that raises ValueError with a message if all of some fields are missing."""

    def given(check: Any) -> Any:
        """Return the check unchanged. Raises ValueError if all of the fields are missing."""
        if all(getattr(check, name) in (None, ()) for name in names):
            raise ValueError(message)
        return check

    return model_validator(mode="after")(given)


class BaseCheck(Noun):
    """The base of all checks. Each class below it in this module is a kind of check; ``judges/`` has a function for each.

    A check on the end state, the calls or the structured output (``family`` empty) is exact. Any other reads prose, and its failures are calibrated by family.

    Attributes:
        kind: name of the check; a name that is none of the built-in ones is a check in Python.
        turn: replies that are read: any, first, last, or the number of one, counted from 1.
        of: things that the figure must be about, by name, or ``proposed``: those that the reply proposes; left out, any. Example: ``["Luigi's"]``
        near: phrases of which one must occur in the same sentence; left out, none is needed. Example: ``["to the airport"]``
        quantifier: whether one matching figure must fit (any) or all of them (all).
        if_absent: whether a reply without the statement fails, or passes because it claims nothing (counted as nothing_claimed).
    """

    family: ClassVar[Family] = ""
    kind: str

    @property
    def parts(self) -> tuple[Check, ...]:
        """Return the checks that this check combines; empty for a plain check."""
        checks: tuple[Check, ...] = getattr(self, "checks", ())
        return checks


class Says(BaseCheck):
    """The replies contain words: one of ``any``, each of ``all``, none of ``none``. A denied statement does not count.

    Missing words fail the check only where no paraphrase is possible: the reply says nothing of its own, or has none of the words of ``about``. Otherwise the check is
    undecided.

    Attributes:
        any: phrases of which one must occur. Example: ``["on its way", "too late"]``
        all: phrases that must all occur. Example: ``["noodle soup"]``
        none: phrases that must not occur. Example: ``["refund"]``
        about: words without which the statement cannot be made; they let a missing statement fail for certain. Example: ``["dumplings"]``
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
    """A reply states a number with a unit between ``min`` and ``max``, or equal to values that tools returned.

    A figure counts only if it fits ``role``, ``of``, ``mode`` and ``near``, as far as they are given; one that may not fit decides nothing. Units of length, time, money and plain
    counts are converted.

    Attributes:
        unit: unit of ``min`` and ``max``; ``money`` is the suite's currency.
        role: what the figure states, one or several; left out, any. Example: ``price``
        mode: way of travelling that the figure is about, one or several; left out, any. Example: ``walking``
        min: least value, in ``unit``. Example: ``5``
        max: greatest value, in ``unit``. Example: ``20``
        equals: place in results of tools, or several: the figure must equal a value there, of the same thing and way of travelling. Example: ``{"op": "bound", "tool": "list_orders", "path": "orders.*.price"}``
        times: factor for the values of ``equals``, above 0. Example: ``2``
        tolerance: relative tolerance, 0 to 1; left out, 0.05 for lengths and times, 0 for all else. Example: ``0.05``
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
        """Return the allowed relative deviation of a figure from the value that it states."""
        usual = _ROUNDED if self.unit in _MEASURED else 0.0
        return usual if self.tolerance is None else self.tolerance

    @property
    def things(self) -> tuple[str, ...]:
        """Return the names in ``of``; empty if it is ``proposed``."""
        return self.of if isinstance(self.of, tuple) else ()

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Return ``equals`` as a tuple: the places of the values to compare; empty if it is not given."""
        return (self.equals,) if isinstance(self.equals, Bound) else self.equals or ()


class ClockTime(BaseCheck):
    """A reply states a clock time (``18:30``, ``6:30 pm``, ``下午6点半``) from ``after`` to ``before``, ends included.

    Attributes:
        role: what the time states, one or several; left out, any. Example: ``departure``
        after: earliest time, HH:MM. Example: ``18:00``
        before: latest time, HH:MM. Example: ``19:30``
        equals: place in results of tools, or several: the time must equal a value there. Example: ``{"op": "bound", "tool": "find_trains", "path": "trains.*.departure"}``
        tolerance_min: allowed difference from ``equals``, in minutes; 1 by default. Example: ``1``
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
        """Return ``equals`` as a tuple: the places of the values to compare; empty if it is not given."""
        return (self.equals,) if isinstance(self.equals, Bound) else self.equals or ()


class Travels(BaseCheck):
    """The reply sends the user only by the ways of travelling in ``by``.

    Ways that are only compared or turned down do not count. A reply that names no way passes; check the calls separately.

    Attributes:
        by: allowed ways of travelling, one or several. Example: ``["walking", "transit"]``
    """

    family: ClassVar[Family] = "travels"
    kind: Literal["travels"]
    by: Annotated[Modes, Field(min_length=1)]
    turn: WhichReply = "last"


class Recommends(BaseCheck):
    """The replies recommend, reject or omit certain things. A thing that is only compared is not recommended.

    ``where``, ``none_where``, ``only`` and ``tool`` are about things that tools returned; ``entities`` of a tool say where its results have them.

    Attributes:
        any_of: names of which one must be proposed. Example: ``["Luigi's", "Da Mario"]``
        none_of: names that must not be proposed. Example: ``["Burger Bar"]``
        all_of: names that must all be proposed; each may be a list of synonyms. Example: ``[["Luigi's"], ["City Museum", "Museum of the City"]]``
        in_order: names that must all be proposed in this order; each may be a list of synonyms. Example: ``[["City Museum"], ["Luigi's"]]``
        turned_down: names of which one must be called unavailable (closed, gone) or turned down, while none is proposed. Example: ``["Burger Bar"]``
        where: match for each dotted path in a thing's data; what is proposed must satisfy all of them. Example: ``{"rating": {"op": "between", "min": 4.5}}``
        none_where: matches by dotted path; nothing that is proposed may satisfy them. Example: ``{"status": "closed"}``
        only: true: everything proposed must be in ``any_of`` and satisfy ``where``; left out, one such thing is enough.
        tool: tool whose results list the things, or ``any``; left out, things of any tool count. Example: ``find_places``
        at_least: least number of things of ``all_of``; left out, all of them. Example: ``2``
        at_most: greatest number of things of ``all_of``; left out, no limit. Example: ``3``
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
        """Raise ValueError if the check requires nothing, or has a field without a companion field that it needs."""
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
        """Return whether recommendations are looked up among the things that tools returned."""
        return bool(self.where or self.only or (self.any_of and self.tool))

    @property
    def of_tool(self) -> str | None:
        """Return the tool that must have returned a thing; None if any tool may have."""
        return None if self.tool == "any" else self.tool

    @property
    def forbids(self) -> bool:
        """Return whether some things are always forbidden; otherwise ``none_of`` holds rivals of ``any_of``, judged with it."""
        return bool(self.none_where or (self.none_of and (self.of_results or not self.any_of)))


class Located(BaseCheck):
    """The reply gives a place at most ``metres`` from ``lon``, ``lat`` (great circle); if no point is given, any place.

    A point in the reply counts before words; the user's own point is ignored. A name counts by the point that a tool returned for it.

    Attributes:
        lon: longitude in degrees; goes with lat; left out, any place will do. Example: ``8.5402``
        lat: latitude in degrees; goes with lon. Example: ``47.3782``
        metres: greatest distance in metres; 1000 by default. Example: ``500``
        words: words that identify the place as well, such as its street and number. Example: ``["12 Mill Lane"]``
        by_name: false: a name alone does not give the place; true by default.
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
    """The reply names the right part of an address, such as the district.

    Attributes:
        names: right names; one of them must occur, alone or within a longer name; left out, any such name will do. Example: ``["Riverside"]``
        endings: how names of such parts end; any other name with such an ending is wrong. Example: ``["side", "district"]``
        besides: words with such an ending that name no part of an address. Example: ``["outside"]``
    """

    family: ClassVar[Family] = "choice"
    kind: Literal["addressed"]
    names: tuple[Text, ...] = ()
    endings: Phrases
    besides: tuple[Text, ...] = ()
    turn: WhichReply = "last"


class CallPattern(Noun):
    """A call of ``tool`` whose arguments match ``with``. The tool's name alone means any call of the tool.

    Attributes:
        tool: name of the tool. Example: ``list_orders``
        with: match for each parameter; others may have any value. Example: ``{"user": "u-1"}``
    """

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
    """The agent calls ``tool`` as often as required, or makes the calls of ``steps``.

    Attributes:
        tool: name of the tool; give this or steps. Example: ``cancel_order``
        with: match for each argument of the tool as the agent gave it; others may have any value. Example: ``{"order_id": "A1"}``
        at_least: least number of such calls; left out, 1. Example: ``1``
        at_most: greatest number of such calls; 0 forbids them; left out, no limit. Example: ``0``
        answered: calls that count: any, only answered ones (true), or only refused, failed and missed ones (false).
        agreed: true: the user must agree before each such call.
        steps: calls that the agent must make: tools, or objects of tool and with. Example: ``["list_orders", {"tool": "cancel_order", "with": {"order_id": "A1"}}]``
        match: in_order: the steps in this order, other calls between them allowed. any_order: in any order. exact: these calls and no others.
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
        """Raise ValueError if the check requires nothing, or combines fields of a tool with steps."""
        of_steps = self.model_fields_set & {"steps", "match"}
        if self.tool is None:
            if others := self.model_fields_set - {"kind", "steps", "match"}:
                raise ValueError(f"{', '.join(sorted(others))} belong to a tool: name it in tool")
            if not self.steps and self.match != "exact":
                raise ValueError(
                    "`calls` requires nothing: name a tool or steps, or forbid all calls with match: exact"
                )
        elif of_steps:
            raise ValueError(f"give tool, or {', '.join(sorted(of_steps))}")
        return self

    @property
    def never(self) -> bool:
        """Return whether such a call is forbidden."""
        return self.at_most == 0

    @property
    def least(self) -> int:
        """Return the minimum number of calls; 1 by default."""
        return 1 if self.at_least is None else self.at_least


class EndState(BaseCheck):
    """At the end of the episode, rows of ``table`` satisfy ``where`` and ``has``.

    Attributes:
        table: name of the table. Example: ``orders``
        where: match for each column that selects rows. Example: ``{"id": "A1"}``
        has: match for each column that every selected row must satisfy. Example: ``{"status": "cancelled"}``
        count: exact number of selected rows; 0: there must be none; left out, at least one. Example: ``1``
    """

    kind: Literal["state"]
    table: Identifier
    where: dict[str, Match] = Field(default_factory=dict)
    has: dict[str, Match] = Field(default_factory=dict)
    count: int | None = Field(default=None, ge=0)

    @property
    def wanted(self) -> tuple[int, int | None]:
        """Return the minimum and the maximum number of rows that must match; the maximum is None if there is no limit."""
        return (1, None) if self.count is None else (self.count, self.count)


class Exempt(Noun):
    """The changes that ``unchanged`` allows.

    Attributes:
        table: name of the table. Example: ``orders``
        where: match for each column that selects the rows, before or after the change; left out, all rows. Example: ``{"id": "A1"}``
        columns: columns that may change; left out, whole rows, including new and removed ones. Example: ``["status"]``
    """

    table: Identifier
    where: dict[str, Match] = Field(default_factory=dict)
    columns: tuple[Text, ...] = ()


class Unchanged(BaseCheck):
    """At the end of the episode everything equals the start, except for changes that ``except`` allows.

    Attributes:
        except: changes that are allowed. Example: ``[{"table": "orders", "where": {"id": "A1"}, "columns": ["status"]}]``
    """

    kind: Literal["unchanged"]
    exempt: tuple[Exempt, ...] = Field(default=(), alias="except")


class SameEnd(BaseCheck):
    """The episode ends in the same state as the reference (``truth.end``).

    The order of keys and of writes, the spelling of numbers, and the names of new ids do not count.
    """

    kind: Literal["same_end"]


class Output(BaseCheck):
    """The structured output of a reply has the right values, or ids of the right rows; if neither is given, it matches ``visible.output_schema``.

    With ``id`` and ``tool``, the entries at ``path`` must refer to rows that the tool returned earlier in the dialogue and that satisfy ``where``.

    Attributes:
        path: dotted path into the output; ``*`` is every element; left out, the whole output. Example: ``orders.*.id``
        equals: match that every value at the path must satisfy. Example: ``15.5``
        entry: matches that select exactly one entry to look up; left out, all entries are looked up. Example: ``{"type": "main"}``
        id: name or dotted path of the id in an entry; goes with tool. Example: ``order_id``
        tool: tool that returned the row with this id; goes with id. Example: ``list_orders``
        where: match for each column that the row must satisfy. Example: ``{"status": "open"}``
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
        """Raise ValueError if a look-up lacks id or tool, ``equals`` comes with a look-up, or a path has no value to compare."""
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
    r"""A regular expression matches part of a reply's text.

    Attributes:
        pattern: regular expression in RE2's syntax, at most 1000 characters. Example: ``\bBK-\d+\b``
    """

    kind: Literal["matches"]
    pattern: Annotated[str, Field(min_length=1, max_length=1000)]
    turn: WhichReply = "last"

    @property
    def compiled(self) -> Any:
        """Return the compiled pattern. Raises ValueError with the error in the pattern."""
        return compiled_pattern(self.pattern)


class Asked(BaseCheck):
    """The agent asks the user a number of questions about a subject.

    Attributes:
        about: phrases of the subject; left out, any subject. Example: ``["when", "what time"]``
        at_least: least number of questions; 0 by default. Example: ``1``
        at_most: greatest number of questions; left out, no limit. Example: ``2``
    """

    family: ClassVar[Family] = "words"
    kind: Literal["asked"]
    about: tuple[Text, ...] = ()
    at_least: int = Field(default=0, ge=0)
    at_most: int | None = Field(default=None, ge=0)


class Grounded(BaseCheck):
    """Every factual claim of the replies agrees with results of tools, the context or the user's words.

    Attributes:
        claims: types of claims that are checked; left out, all.
    """

    family: ClassVar[Family] = "claims"
    kind: Literal["grounded"]
    claims: tuple[
        Literal[
            "name", "quantity", "time", "identifier", "point",
            "distance", "duration", "price", "rating", "count", "phone", "line", "address", "coordinate",
        ],
        ...,
    ] = ()  # fmt: skip


class Private(BaseCheck):
    """No argument of the agent's calls has a private value: data of the profile, or of rows of a table that belong to somebody.

    A value counts in any capitals, width, accents and separators, URL-encoded, in a nested argument and inside a longer text. A short value, one that the user
    or the context states, and one that is spread over several arguments decide nothing. A value in another encoding, such as base64, is not seen.

    Attributes:
        profile: names or dotted paths of ``visible.context.profile`` whose values are private. Example: ``["phone"]``
        table: table with private values; goes with owner and columns. Example: ``contacts``
        owner: column that says whose row it is. Example: ``uid``
        columns: columns whose values are private. Example: ``["phone", "diet"]``
        whose: rows that count: those of others than the person that a call concerns, or those of the user of the case.
        subject: parameter that names the person that a call concerns; left out, the user of the case. Example: ``user``
        allowed: by tool, parameters in which private values may stand. Example: ``{"book_table": ["phone"]}``
    """

    kind: Literal["private"]
    profile: tuple[Text, ...] = ()
    table: Identifier | None = None
    owner: Text = ""
    columns: tuple[Text, ...] = ()
    whose: Literal["others", "user"] = "others"
    subject: Text | None = None
    allowed: dict[Identifier, tuple[Text, ...]] = Field(default_factory=dict)

    _values = _asks("private needs profile, or table with owner and columns", "profile", "table")

    @model_validator(mode="after")
    def _of_rows(self) -> Private:
        """Raise ValueError if only some of table, owner and columns are given."""
        if len({bool(self.table), bool(self.owner), bool(self.columns)}) > 1:
            raise ValueError("table, owner and columns go together")
        return self


class Consent(BaseCheck):
    """The user agrees before each call that cannot be undone: each call of a tool that says ``undo: none``.

    Attributes:
        tools: tools whose calls need the user's yes; left out, those that say ``undo: none``. Example: ``["cancel_order"]``
    """

    kind: Literal["consent"]
    tools: tuple[Identifier, ...] = ()


class Quiet(BaseCheck):
    """The agent does nothing: it calls no tool that writes, changes nothing, proposes nothing and asks nothing. ``truth.quiet`` is short for it."""

    family: ClassVar[Family] = "choice"
    kind: Literal["quiet"]


class PythonCheck(BaseCheck):
    """A check in Python, registered with ``@mapsat.check``. Usually written as ``check: NAME`` or ``{kind: NAME, argument: value}``.

    Attributes:
        name: name under which it is registered. Example: ``total_is_that_of_the_orders``
        arguments: arguments that the function receives. Example: ``{"tolerance": 0.01}``
    """

    kind: Literal["python"]
    name: Identifier
    arguments: JsonObject = Field(default_factory=dict)


class All(BaseCheck):
    """All of several checks pass. A list of checks is short for this.

    Attributes:
        checks: checks that must all hold. Example: ``[{"kind": "unchanged"}, {"kind": "says", "any": ["too late"]}]``
    """

    kind: Literal["all"]
    checks: tuple[Check, ...] = Field(min_length=1)


class AnyOf(BaseCheck):
    """At least one of several checks passes.

    Attributes:
        checks: checks of which one must hold. Example: ``[{"kind": "unchanged"}, {"kind": "says", "any": ["too late"]}]``
    """

    kind: Literal["any"]
    checks: tuple[Check, ...] = Field(min_length=1)


class AtLeast(BaseCheck):
    """At least ``n`` of several checks pass.

    Attributes:
        n: least number of checks that hold. Example: ``1``
        checks: checks that are counted. Example: ``[{"kind": "unchanged"}, {"kind": "says", "any": ["too late"]}]``
    """

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
    """The check passes if another check fails.

    Attributes:
        check: check that must fail.
    """

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
    """Return the full form of a check in short form: a list becomes ``all``, a name or unknown kind a Python check."""
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
    """Yield the plain checks in a check, extracted from combinations at any depth; a plain check yields itself."""
    if not check.parts:
        yield check
    for part in check.parts:
        yield from leaves(part)
