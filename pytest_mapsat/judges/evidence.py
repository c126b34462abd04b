"""The evidence of a dialogue, by thing and role, and whether a figure agrees with it: declared values of results, the user's words, and the context.

Nothing is guessed from the name of a key: a value counts for what its tool declares it to be, and for the thing it stands with.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeVar, cast, get_args

from pytest_mapsat.interpreter import cached
from pytest_mapsat.model import (
    ITEM,
    SCALARS,
    Bound,
    FigureRole,
    Json,
    JsonObject,
    Meaning,
    MeaningTree,
    Mode,
    Step,
    TimeRole,
    Tool,
    Trajectory,
    Visible,
    meanings_below,
    name_of,
    values_at,
)
from pytest_mapsat.reading import (
    MONEY,
    YUAN,
    ClockTime,
    Document,
    Quantity,
    Thing,
    Vocabulary,
    fold_phrase,
    lexicon_of,
    open_page,
    read,
    read_page,
)
from pytest_mapsat.sandbox import distance_m, opening_hours, point_of

from .things import Entity

#: Where evidence comes from: a tool's result, the context that the agent was shown, the user's own words.
Origin = Literal["tool", "context", "user"]
#: Key of the user (what they asked for, allow, spend) and of where they are.
USER = "\x00user"
DAY = 24 * 60
#: By how much numbers may differ that are the same.
ROUNDING = 1e-6


class Source(NamedTuple):
    """Where a piece of evidence comes from.

    Attributes:
        origin: who gave it.
        turn: index of the turn in ``Trajectory.turns`` from which on it is known; -1 for the context.
        call: index in ``Trajectory.calls``; -1 where no tool gave it.
        tool: name of the tool, or empty.
        path: dotted path in the result, or "query", "history", ...
        until: index of the turn in which the user takes it back; -1: it holds.
    """

    origin: Origin
    turn: int
    call: int = -1
    tool: str = ""
    path: str = ""
    until: int = -1


#: The source of what the user has taken back, for reasons of verdicts.
_TAKEN_BACK = Source("tool", -1, tool="taken back by the user")


class KnownFigure(NamedTuple):
    """A known value with its unit, role and thing.

    Attributes:
        value: in the canonical unit of the reading; the least where it is a range.
        high: the greatest of a range, else ``value``.
        unit: canonical unit as in ``text.Quantity.unit``; ``count:<noun>`` where the tool says what is counted.
        role: what it is a figure of; None where nothing says it (a figure in a text).
        mode: way of travelling in the words of the reading ("walking", "driving", ..., "straight" as the crow flies), or empty.
        subject: keys of the things it is said of: one for a place's rating, both ends for a way.
        source: where it stands.
        text: the value with its unit, as it may be quoted.
    """

    value: float
    high: float
    unit: str
    role: FigureRole | None
    mode: str
    subject: tuple[str, ...]
    source: Source
    text: str


class KnownTime(NamedTuple):
    """A time of day in ``minutes`` after midnight (over 1440 on the next day); other fields as in ``KnownFigure``."""

    minutes: int
    role: TimeRole | None
    mode: str
    subject: tuple[str, ...]
    source: Source
    text: str


class Point(NamedTuple):
    """A point on the map, in degrees."""

    lon: float
    lat: float
    subject: tuple[str, ...]
    source: Source


class Identity(NamedTuple):
    """A telephone number, an address, a line, a platform: ``value`` in the normal form of ``text.Identifier``."""

    kind: Literal["phone", "address", "line", "platform", "link"]
    value: str
    subject: tuple[str, ...]
    source: Source
    text: str


@dataclass(frozen=True)
class KnownEvidence:
    """All evidence known in a dialogue, in the order in which it became known.

    Attributes:
        names: keys of the things that are known by name.
        results: the results of all calls that were answered, each with its tool.
    """

    names: frozenset[str]
    figures: tuple[KnownFigure, ...]
    times: tuple[KnownTime, ...]
    points: tuple[Point, ...]
    identities: tuple[Identity, ...]
    results: tuple[tuple[Tool | None, Json], ...] = ()

    @cached
    def complete(self) -> bool:
        """Whether tools declare every value of every result, so that a value missing from the evidence was never returned."""
        return all(tool is not None and next(tool.undeclared(result), None) is None for tool, result in self.results)

    def by(self, turn: int) -> KnownEvidence:
        """Return only the evidence known by a turn; what the user has taken back by then supports nothing and contradicts nothing."""
        fields = {name: getattr(self, name) for name in ("figures", "times", "points", "identities")}
        known: dict[str, Any] = {
            name: tuple(
                each if not 0 <= each.source.until <= turn else each._replace(subject=(), source=_TAKEN_BACK)
                for each in all_
                if each.source.turn <= turn
            )
            for name, all_ in fields.items()
        }
        return self if known == fields else replace(self, **known)

    def figures_of(self, key: str, *, unit: str = "", role: FigureRole | None = None) -> tuple[KnownFigure, ...]:
        """Return the figures of one thing, optionally limited to a unit or role."""
        of_it = self._figures.get(key, ())
        return tuple(figure for figure in of_it if unit in ("", figure.unit) and role in (None, figure.role))

    def times_of(self, key: str, *, role: TimeRole | None = None) -> tuple[KnownTime, ...]:
        """Return the times of day of one thing, optionally limited to a role."""
        return tuple(moment for moment in self._times.get(key, ()) if role in (None, moment.role))

    @cached
    def _figures(self) -> Mapping[str, Sequence[KnownFigure]]:
        """The figures by the key of each thing to which they belong."""
        return _by_subject(self.figures)

    @cached
    def _times(self) -> Mapping[str, Sequence[KnownTime]]:
        """The times of day by the key of each thing to which they belong."""
        return _by_subject(self.times)


_Piece = TypeVar("_Piece", KnownFigure, KnownTime)


def _by_subject(pieces: Iterable[_Piece]) -> Mapping[str, Sequence[_Piece]]:
    """Group figures or times by the keys of the things to which they belong."""
    by_key: dict[str, list[_Piece]] = {}
    for piece in pieces:
        for key in piece.subject:
            by_key.setdefault(key, []).append(piece)
    return by_key


#: What a tool or a check counts in -> canonical unit of the reading, and how many of the latter it is.
UNITS = {
    "m": ("m", 1.0), "km": ("m", 1000.0), "s": ("min", 1 / 60), "min": ("min", 1.0), "h": ("min", 60.0), "d": ("min", 1440.0), "yuan": (MONEY, 1.0), "money": (MONEY, 1.0),
    "percent": ("percent", 1.0), "celsius": ("celsius", 1.0), "star": ("star", 1.0), "count": ("count", 1.0),
}  # fmt: skip
_NUMBER = re.compile(r"[¥￥$€]?\s*(-?\d{1,15}(?:\.\d{1,6})?)(?:\s*[-~至]\s*(\d{1,15}(?:\.\d{1,6})?))?")
#: A greater number measures nothing.
_LARGEST = 1e15
_CLOCK = re.compile(r"(?<!\d)(\d{2})(\d{2})$|(\d{1,2}):(\d{2})")


#: What names a thing, or says of which sort it is.
Naming = Literal["name", "end", "kind", "alias", "id", "address", "mode"]
_NAMING = frozenset(get_args(Naming))
_PLACING = frozenset({"lon", "lat", "point"})

#: The element around a list, the path of the list, and all elements.
_Place = tuple["Element", str, list["Element"]]


@dataclass
class Element:
    """A member of a list in a result, or the whole result; values in one element belong together."""

    record: Json
    parent: Element | None
    leaves: list[tuple[Meaning, Json, str]] = field(default_factory=list)

    @cached
    def by_kind(self) -> dict[str, list[str]]:
        """The texts of the naming values by kind, with names and ends also under "". Blank texts are omitted; use only on complete elements."""
        texts: dict[str, list[str]] = {}
        for meaning, value, _ in self.leaves:
            if meaning.kind in _NAMING and isinstance(value, (str, int)):
                text = meaning.words.get(str(value), str(value))
                if fold_phrase(text):
                    texts.setdefault(meaning.kind, []).append(text)
                    if meaning.kind in ("name", "end"):
                        texts.setdefault("", []).append(text)
        return texts

    def texts(self, kind: Naming) -> list[str]:
        """Return the non-blank texts of the values of one kind."""
        return self.by_kind.get(kind, [])

    @property
    def subject(self) -> tuple[str, ...]:
        """The keys of the names in the element, or in the nearest enclosing element that has names."""
        names = self.by_kind.get("", ())
        return tuple(map(fold_phrase, names)) if names or self.parent is None else self.parent.subject

    @property
    def mode(self) -> str:
        """The way of travelling named in the element or the nearest enclosing one; empty if none is named."""
        modes = self.texts("mode")
        return modes[0] if modes else self.parent.mode if self.parent else ""

    @property
    def place(self) -> tuple[float, float] | None:
        """Longitude and latitude of the element in degrees; None if the element declares no point."""
        parts = {meaning.kind: value for meaning, value, _ in self.leaves if meaning.kind in _PLACING}
        if not parts:
            return None
        return point_of(parts.get("point", [parts.get("lon"), parts.get("lat")]))


def elements_of(result: Json, tool: Tool) -> list[Element]:
    """Return the result and the members of its lists, outer ones first, each with its declared values."""
    elements = [Element(result, None)]
    _spread(result, [tool.meanings], elements[0], "", elements)
    return elements


def _spread(value: Json, nodes: Sequence[MeaningTree], element: Element, path: str, elements: list[Element]) -> None:
    """Collect the declared values of a result into the elements that contain them."""
    meanings = [node[""] for node in nodes if "" in node]
    if type(value) in SCALARS:
        element.leaves += [(meaning, value, path) for meaning in meanings]
        return
    for node in nodes:
        if ITEM in node:
            _spread_items(value, node[ITEM], element, path, elements)
    if isinstance(value, Mapping | list | tuple) and any(meaning.kind == "text" for meaning in meanings):
        element.leaves += [(meaning, text, path) for meaning in meanings for text in _texts(value)]
    elif isinstance(value, Mapping):
        for key, member in value.items():
            below = meanings_below(nodes, key)
            where = f"{path}.{key}" if path else key
            if below and type(member) in SCALARS:  # most are
                element.leaves += [(node[""], member, where) for node in below if "" in node]
            elif below:
                _spread(member, below, element, where, elements)
    elif isinstance(value, list | tuple):
        _spread_list(value, nodes, meanings, (element, path, elements))
    else:
        element.leaves += [(meaning, value, path) for meaning in meanings]


def _spread_list(values: Sequence[Json], nodes: Sequence[MeaningTree], meanings: Sequence[Meaning], at: _Place) -> None:
    """Add an element for each member of a list, and collect its declared values."""
    element, path, elements = at
    below = [node["*"] for node in nodes if "*" in node]
    for index, member in enumerate(values if below or meanings else ()):
        where = f"{path}.{index}".lstrip(".")
        inner = Element(member, element)
        inner.leaves += [(meaning, member, where) for meaning in meanings]
        elements.append(inner)
        if below:
            _spread(member, below, inner, where, elements)


def _texts(value: Json) -> Iterator[str]:
    """Yield all texts in a value, in order."""
    waiting = [value]
    while waiting:
        member = waiting.pop()
        if isinstance(member, str):
            yield member
        elif isinstance(member, Mapping | list | tuple):
            waiting.extend(reversed(list(member.values() if isinstance(member, Mapping) else member)))


def _spread_items(value: Json, tree: MeaningTree, element: Element, path: str, elements: list[Element]) -> None:
    """Add an element for each declared entity: members of a list or an object, or one object with a name."""
    if isinstance(value, Mapping) and name_of(tree) in value:
        members = [(path, value)]
    elif isinstance(value, Mapping | list | tuple):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        members = [(f"{path}.{key}".lstrip("."), member) for key, member in pairs if isinstance(member, Mapping)]
    else:
        members = []
    for where, member in members:
        inner = Element(member, element)
        elements.append(inner)
        _spread(member, [tree], inner, where, elements)


# -- values ------------------------------------------------------------------------------------------------------------


def is_unit(unit: str, wanted: str) -> bool:
    """Return whether a unit matches the requested unit: any ``count:<noun>`` or people matches a count."""
    return unit == wanted or (wanted == "count" and (unit == "people" or unit.startswith("count:")))


def measured(
    meaning: Meaning, value: str | float, money: Vocabulary | None = None
) -> tuple[float, float, str, str] | None:
    """Return minimum, maximum, canonical unit and quotable text of a figure; None if the value holds no figure."""
    unit, factor = UNITS.get(meaning.unit or "", (meaning.unit or "", 1.0))
    unit = f"count:{meaning.noun}" if unit == "count" and meaning.noun else unit
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        if match is None or meaning.unit is None:
            document = read(value, language="", lexicon=lexicon_of(()), vocabulary=money)
            figures = [figure for figure in document.quantities if figure.unit == unit]
            return (figures[0].low, figures[0].high, unit, value.strip()) if figures else None
        low, high = float(match[1]), float(match[2] or match[1])
    else:
        low = high = float(value) if abs(value) < _LARGEST else math.nan
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    scaled = [end * meaning.scale * factor for end in (low, high)]
    shown = "-".join(f"{end * meaning.scale:g}" for end in dict.fromkeys((low, high)))
    unit_name = meaning.noun or meaning.unit or ""
    if unit == MONEY and money is not None and money.currency != YUAN:
        unit_name = money.currency
    return min(scaled), max(scaled), unit, f"{shown} {unit_name}"


def clock(text: str) -> int | None:
    """Return a time of day in minutes after midnight; None if the text has no time."""
    match = _CLOCK.search(text)
    if match is None:
        return None
    hour, minute = int(match[1] or match[3]), int(match[2] or match[4])
    return hour * 60 + minute if hour <= 30 and minute < 60 else None  # noqa: PLR2004  a clock, past midnight


_TIME_ROLES = frozenset(get_args(TimeRole))
_ROLES = frozenset(get_args(FigureRole))
#: The kinds of values that are evidence of their own, besides figures.
_VALUED = frozenset({"clock", "hours", "phone", "address", "line", "platform", "labelled", "text"})
#: What lies within this of a point that a call was made for is the place that was meant, metres.
_SAME_PLACE_M = 60
#: Figures in longer texts of tools are not read.
_MOST_CHARACTERS = 20_000
#: In the history that an agent is shown, names stand in these marks.
_QUOTED = re.compile(r"[「『“\"《]([^「」『』“”\"《》。！？!?，,]{2,40})[」』”\"》]")


def evidence(
    trajectory: Trajectory,
    tools: Mapping[str, Tool],
    visible: Visible | None,
    money: Vocabulary | None = None,
    taken_back: Sequence[tuple[str, str]] = (),
) -> KnownEvidence:
    """Return all evidence known in a dialogue: from results, context, memory and the user.

    Args:
        trajectory: the dialogue; results of calls that were answered count.
        tools: the suite's tools by name; a tool that declares nothing gives nothing.
        visible: what the agent was shown of the case.
        money: says the suite's currency.
        taken_back: the wrong words of a user with such a manner, each with the right ones.
    """
    gathering = _Gathering(visible, money)
    source = Source("context", -1, path="memory")
    gathering.texts += [(source, line, (USER,)) for text in remembered_in(trajectory) for line in text.splitlines()]
    number, turns = -1, trajectory.turns
    for index, turn in enumerate(turns):
        if turn.role == "user" and not (visible and index == 0 and turn.text == visible.query):
            text = turn.text
            for first, say in taken_back:
                later = (at for at in range(index, len(turns)) if turns[at].role == "user" and say in turns[at].text)
                if first in text and (until := next(later, -1)) >= 0:
                    text = text.replace(first, " ")
                    gathering.texts.append((Source("user", index, path="text", until=until), first, (USER,)))
            gathering.texts.append((Source("user", index, path="text"), text, (USER,)))
        for step in turn.steps if turn.role == "agent" else ():
            number += step.kind == "call"
            if step.kind == "call" and step.status == "ok":
                gathering.add(step, tools.get(step.tool), Source("tool", index, number, step.tool))
    return gathering.evidence(visible)


def remembered_in(trajectory: Trajectory) -> list[str]:
    """Return the contents of the agent's memory: the end of its text before the first turn, and results of memory calls."""
    memory = trajectory.memory
    if memory is None:
        return []
    steps = (step for turn in trajectory.replies for step in turn.steps if step.kind == "memory")
    return [memory.text[-_MOST_CHARACTERS:], *(json.dumps(step.result, ensure_ascii=False) for step in steps)]


class _Gathering:
    """Collects the evidence of a dialogue, call by call."""

    def __init__(self, visible: Visible | None, money: Vocabulary | None) -> None:
        self._money = money
        self._known: dict[str, dict[str, None]] = {}
        self._by_id: dict[str, str] = {}
        self._results: list[tuple[Tool | None, Json]] = []
        self.figures: list[KnownFigure] = []
        self.times: list[KnownTime] = []
        self.points: list[Point] = []
        self.identities: list[Identity] = []
        self.texts: list[tuple[Source, str, tuple[str, ...]]] = []
        if visible is not None:
            self._shown(visible)

    def _shown(self, visible: Visible) -> None:
        """Add the data shown to the agent: location, city, time, history, instructions, details, profile and messages."""
        context, source = visible.context, Source("context", -1, path="context")
        place = context.location
        if place is not None:
            subject = (self._know(place.name), USER) if fold_phrase(place.name) else (USER,)
            self.points.append(Point(place.lon, place.lat, subject, source))
        for part in re.split(r"[/,;]", context.city):
            if fold_phrase(part):
                self._know(part)
        at = clock(context.now[11:]) if context.now else None
        if context.now and at is not None:
            self.times.append(KnownTime(at, "now", "", (USER,), source, context.now[11:16]))
        for line in context.history:
            names = [name for name in _QUOTED.findall(line) if fold_phrase(name)]
            keys = tuple(self._know(name) for name in names) if len(names) == 1 else ()
            self.texts.append((Source("context", -1, path="history"), line, keys or (USER,)))
        texts = [("instructions", visible.instructions)] if visible.instructions else []
        for path, text in [*texts, *_leaves(context.details), *_leaves(context.profile)]:
            self.texts.append((Source("context", -1, path=path), text, (USER,)))
        self.texts.append((Source("user", -1, path="query"), visible.query, (USER,)))
        for message in visible.messages:
            source = Source("user" if message.role == "user" else "context", -1, path="messages")
            self.texts.append((source, message.text, (USER,)))

    def _know(self, name: str) -> str:
        """Record that a thing of this name is known, and return its key."""
        key = fold_phrase(name)
        self._known.setdefault(key, {})[name] = None
        return key

    # -- results of tools ------------------------------------------------------------------------------------------

    def add(self, step: Step, tool: Tool | None, source: Source) -> None:
        """Add the declared values in the result of one call."""
        self._results.append((tool, step.result))
        if tool is None:
            return
        elements = elements_of(step.result, tool)
        mode = self._mode(tool, step)
        for element in elements:
            self._name(element, source)
        about = self._about(tool, step)
        for element in elements:
            self._value(element, source, about, mode)

    def _mode(self, tool: Tool, step: Step) -> str:
        """Return the way of travelling that the call requests, in the tool's canonical word; empty if the call names none."""
        asked = step.arguments.get(tool.mode) if tool.mode else None
        match = tool.match.get(tool.mode or "")
        if not isinstance(asked, str):
            return ""
        synonyms = match.synonyms if match else {}
        return next((word for word, others in synonyms.items() if asked in others), asked)

    def _about(self, tool: Tool, step: Step) -> tuple[str, ...]:
        """Return the keys of the things that the call asks about, identified by id, point or name."""
        keys: dict[str, None] = {USER: None} if tool.profile else {}
        for name in tool.about:
            value, match = step.arguments.get(name), tool.match.get(name)
            kind = match.type if match and match.role != "ignored" else "text"
            pair = step.arguments.get(match.pair or "") if match else None
            is_name = match is not None and match.named and point_of(value) is None
            if kind in ("lon", "point") and not is_name:
                keys.update(dict.fromkeys(self._at(value, pair)))
            elif isinstance(value, str) and (kind == "id" or value in self._by_id):
                keys.update({self._by_id[value]: None} if value in self._by_id else {})
            elif isinstance(value, str):
                keys.update(dict.fromkeys(self._named(fold_phrase(value))))
        return tuple(keys)

    def _named(self, name: str) -> list[str]:
        """Return the key that equals a name or is the only key to contain it; empty if no single key matches."""
        within = [key for key in self._known if name in key] if name and name not in self._known else [name]
        return within if len(within) == 1 and name else []

    def _at(self, value: Json, pair: Json) -> Iterator[str]:
        """Yield the keys of the known things at a point that a call gave."""
        place = point_of(value if pair is None else [value, pair])
        for point in self.points if place else ():
            if place and distance_m(*place, point.lon, point.lat) <= _SAME_PLACE_M:
                yield from point.subject

    def _name(self, element: Element, source: Source) -> None:
        """Record the names in an element as known; a single name also gets its aliases, ids and point."""
        if not element.by_kind:
            return
        keys = [self._know(name) for name in element.texts("name")]
        for name in element.texts("end"):
            self._know(name)
        if len(keys) != 1:
            return
        for alias in element.texts("alias"):
            self._known[keys[0]].update(dict.fromkeys(part for part in alias.split("|") if fold_phrase(part)))
        self._by_id.update(dict.fromkeys(element.texts("id"), keys[0]))
        if element.place is not None:
            self.points.append(Point(*element.place, (keys[0],), source))

    def _value(self, element: Element, source: Source, about: tuple[str, ...], mode: str) -> None:
        """Add the figures, times, identifiers and texts of one element."""
        valued = [leaf for leaf in element.leaves if leaf[0].measures or leaf[0].kind in _VALUED]
        subject = tuple(dict.fromkeys((*element.subject, *about))) if valued else ()
        mode = (element.mode or mode) if valued else ""
        for meaning, value, path in valued:
            self._add_value(meaning, value, subject, mode, Source("tool", source.turn, source.call, source.tool, path))

    def _add_value(self, meaning: Meaning, value: Json, subject: tuple[str, ...], mode: str, source: Source) -> None:
        """Add one value by the kind of its meaning; None, booleans and containers are ignored."""
        if value is None or isinstance(value, bool) or not isinstance(value, str | int | float):
            return
        text = meaning.words.get(str(value), str(value))
        if meaning.measures:
            self._figure(meaning, value, subject, mode, source)
        elif meaning.kind in ("clock", "hours"):
            self._time(meaning, text, subject, mode, source)
        elif meaning.kind in ("phone", "address", "line", "platform"):
            self._identity(meaning, text, subject, source)
        elif meaning.kind == "labelled":
            self._labelled(meaning, text, subject, mode, source)
        elif meaning.kind == "text" and text.strip():
            self.texts.append((source, text, subject))

    def _figure(
        self, meaning: Meaning, value: str | float, subject: tuple[str, ...], mode: str, source: Source
    ) -> None:
        """Add a figure, if the value holds one."""
        amount = measured(meaning, value, self._money)
        if amount is not None:
            low, high, unit, shown = amount
            role = cast("FigureRole", meaning.role) if meaning.role in _ROLES else None
            self.figures.append(KnownFigure(low, high, unit, role, meaning.mode or mode, subject, source, shown))

    def _time(self, meaning: Meaning, text: str, subject: tuple[str, ...], mode: str, source: Source) -> None:
        """Add a time of day, or the opening and closing times of opening hours."""
        spans = opening_hours(text) if meaning.kind == "hours" else ()
        at = clock(text) if meaning.kind == "clock" else None
        role = cast("TimeRole", meaning.role) if meaning.role in _TIME_ROLES else None
        moments: list[tuple[int, TimeRole | None]] = [] if at is None else [(at, role)]
        moments += [(minutes, kind) for opens, closes in spans for minutes, kind in _ends(opens, closes)]
        self.times += [KnownTime(minutes, kind, mode, subject, source, text) for minutes, kind in moments]

    def _identity(self, meaning: Meaning, text: str, subject: tuple[str, ...], source: Source) -> None:
        """Add phone numbers, an address, lines or platforms; split a text that holds several."""
        parts = re.split(r"[;；、|]", text) if meaning.kind != "address" else [text]
        for part in parts:
            value = re.sub(r"\D", "", part) if meaning.kind == "phone" else fold_phrase(part)
            if value:
                self.identities.append(Identity(meaning.kind, value, subject, source, part))  # type: ignore[arg-type]

    def _labelled(self, meaning: Meaning, text: str, subject: tuple[str, ...], mode: str, source: Source) -> None:
        """Add the values of a text made of labelled parts; a part without a label continues the previous part."""
        labels = sorted(meaning.labels, key=len, reverse=True)
        labelled: list[tuple[Meaning, str]] = []
        for part in re.split(f"({'|'.join(map(re.escape, meaning.ends))})", text):
            label = next((label for label in labels if part.strip().startswith(label)), None)
            if label is not None:
                labelled.append((meaning.labels[label], part.strip()[len(label) :].lstrip(":： ")))
            elif labelled:
                labelled[-1] = (labelled[-1][0], labelled[-1][1] + part)
        modes = [part_meaning.mode for part_meaning, _ in labelled if part_meaning.kind == "mode"]
        for part_meaning, value in labelled:
            self._add_value(part_meaning, value.rstrip("".join(meaning.ends)), subject, (modes or [mode])[0], source)

    # -- texts -----------------------------------------------------------------------------------------------------

    def evidence(self, visible: Visible | None) -> KnownEvidence:
        """Read the collected texts and return all evidence."""
        lexicon = lexicon_of(tuple(Thing(key, tuple(names)) for key, names in self._known.items()))
        language = visible.context.locale if visible else ""
        now = (visible.context.now or "") if visible else ""
        for source, text, subject in self.texts:
            if len(text) <= _MOST_CHARACTERS and (source.origin != "tool" or any(map(str.isdigit, text))):
                page = open_page(text, language=language, vocabulary=self._money)
                if page.may_count:
                    self._read(read_page(page, lexicon, now=now), subject, source)
        return KnownEvidence(
            frozenset(self._known),
            tuple(self.figures),
            tuple(self.times),
            tuple(self.points),
            tuple(self.identities),
            tuple(self._results),
        )

    def _read(self, document: Document, subject: tuple[str, ...], source: Source) -> None:
        """Add the figures, times and identifiers of a text for the things that they describe and for the text's owner."""
        for figure in document.quantities:
            if figure.unit == "min" and source.path == "history":
                continue  # how long ago something was, or how long it took on another day
            keys = tuple(dict.fromkeys((*figure.subject, *subject)))
            text = document.words(figure.span)
            self.figures.append(
                KnownFigure(figure.low, figure.high, figure.unit, figure.role, figure.mode, keys, source, text)
            )
        for time in document.times:
            keys = tuple(dict.fromkeys((*time.subject, *subject)))
            for minutes in time.minutes:
                self.times.append(KnownTime(minutes, time.role, "", keys, source, document.words(time.span)))
        for identity in document.identifiers:
            keys = tuple(dict.fromkeys((*identity.subject, *subject)))
            if identity.kind != "point":
                text = document.words(identity.span)
                self.identities.append(Identity(identity.kind, identity.value, keys, source, text))


def _leaves(details: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the values of the context's details as "key: value" lines, each with its path."""
    waiting: list[tuple[str, Json]] = [(f"details.{key}", value) for key, value in reversed(list(details.items()))]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(f"{path}.{key}", inner) for key, inner in reversed(list(value.items()))]
        elif isinstance(value, list):
            waiting += [(path, inner) for inner in reversed(value)]
        elif value is not None:
            yield path, f"{path.rpartition('.')[2]}: {value}"


def _ends(opens: int, closes: int) -> tuple[tuple[int, TimeRole], ...]:
    """Return opening and closing time, each with its role."""
    return (opens, "opening"), (closes, "closing")


#: A point that a call asks for is a thing's own within so many metres.
_OF_A_CALL_M = 150.0
_MODES = frozenset(get_args(Mode))
_NUMERIC = re.compile(r"[-+]?[0-9]{1,15}(?:\.[0-9]{1,9})?")
_WRITTEN_CLOCK = re.compile(r"(?<![0-9:])([01]?[0-9]|2[0-4]):([0-5][0-9])(?![0-9])")
_NOTHING: frozenset[str] = frozenset()


class Value(NamedTuple):
    """One value that a tool returned.

    Attributes:
        number: it, in the unit that it is compared in.
        own: the things in whose records it stands.
        about: the things that the call asked about, and the ends of a leg or a line: a way belongs to both its ends.
        mode: the way of travelling that the call asked for; empty where it names none.
        turn: index of the turn it came with.
        several: whether it belongs to a place, which several people may pay at.
    """

    number: float
    own: frozenset[str]
    about: frozenset[str]
    mode: str
    turn: int
    several: bool = False


class Returned:
    """An index of the results of the answered calls, shared by all checks that refer to results.

    Args:
        answered: the calls that the sandbox answered, each with the index of its turn.
        tools: the suite's tools by name.
        entities: what has a name in the results.
    """

    def __init__(
        self, answered: Sequence[tuple[int, Step]], tools: Mapping[str, Tool], entities: Sequence[Entity]
    ) -> None:
        self._answered = answered
        self._tools = tools
        self._entities = entities
        self._asked: dict[int, tuple[frozenset[str], str]] = {}
        self._standing: dict[tuple[int, str], list[tuple[Json, frozenset[str], frozenset[str]]]] = {}

    def values(self, bounds: Sequence[Bound], numbers: Callable[[Json], Iterable[float]]) -> tuple[Value, ...]:
        """Return the values that ``bounds`` refer to, in the order of the calls.

        Args:
            bounds: tools, each with a path into its results.
            numbers: reads the numbers of one value.
        """
        values: dict[Value, None] = {}
        for index, (turn, step) in enumerate(self._answered):
            for bound in bounds:
                if bound.tool == step.tool:
                    about, mode = self._asked_for(index, step)
                    for value, own, ends in self._at(index, step, bound.path):
                        several = not own.isdisjoint(self._places)
                        for number in numbers(value):
                            values[Value(number, own, about | ends, mode, turn, several)] = None
        return tuple(values)

    def _at(self, index: int, step: Step, path: str) -> list[tuple[Json, frozenset[str], frozenset[str]]]:
        """Return the values at a path of a result with the things to which they belong; cached."""
        if (index, path) not in self._standing:
            self._standing[index, path] = list(_owned(step.result, path, self._tools.get(step.tool)))
        return self._standing[index, path]

    @cached
    def _places(self) -> frozenset[str]:
        """The keys of the returned entities that are places."""
        return frozenset(entity.key for entity in self._entities if entity.sort == "place")

    @cached
    def _points(self) -> tuple[tuple[str, tuple[float, float]], ...]:
        """The keys of the entities that have coordinates, each with its longitude and latitude."""
        lying = ((entity.key, point_of(entity.record)) for entity in self._entities)
        return tuple((key, point) for key, point in lying if point is not None)

    def _asked_for(self, index: int, step: Step) -> tuple[frozenset[str], str]:
        """Return the things that a call asks about and its way of travelling; cached."""
        if index not in self._asked:
            tool = self._tools.get(step.tool)
            self._asked[index] = frozenset(self._asked_about(step, tool)), _mode(step, tool)
        return self._asked[index]

    def _asked_about(self, step: Step, tool: Tool | None) -> Iterator[str]:
        """Yield the keys of the things that a call's arguments identify by id, point or name."""
        for name, match in (tool.match if tool else {}).items():
            argument = step.arguments.get(name)
            if match.type == "id":
                yield from (entity.key for entity in self._entities if entity.id and entity.id == argument)
            elif match.type == "point" and (point := point_of(argument)):
                yield from (key for key, own in self._points if distance_m(*own, *point) <= _OF_A_CALL_M)
            elif match.named and isinstance(argument, str):
                key = fold_phrase(argument)
                yield from (entity.key for entity in self._entities if argument == entity.id or key == entity.key)


def _owned(result: Json, path: str, tool: Tool | None) -> Iterator[tuple[Json, frozenset[str], frozenset[str]]]:
    """Yield the values at a path, each with its enclosing named things and its leg or line ends."""
    at = ""
    names, ends_in = _naming(tool, at)
    places: list[tuple[Json, frozenset[str], frozenset[str]]] = [(result, _named(result, names), _NOTHING)]
    for key in path.split(".") if path else ():
        if key != "*":
            at = f"{at}.{key}" if at else key
        names, ends_in = _naming(tool, at)
        places = [
            (member, own | _named(member, names), ends | _named(member, ends_in))
            for value, own, ends in places
            for member in values_at(value, key)
        ]
    yield from places


def _naming(tool: Tool | None, at: str) -> tuple[list[str], list[str]]:
    """Return the fields that name things, and the fields that name ends of legs and lines, at a place in a tool's results."""
    declared = [where for where in tool.entities if where.items.replace(".*", "") == at] if tool else []
    things = [where.name for where in declared if where.sort != "leg"]
    ends = [path for where in declared for path, meaning in where.fields.items() if meaning.kind == "end"]
    return things, [*ends, *(where.name for where in declared if where.sort == "leg")]


def _named(value: Json, fields: Sequence[str]) -> frozenset[str]:
    """Return the keys of the names that an object has in some fields; empty for other values."""
    if not fields or not isinstance(value, dict):
        return _NOTHING
    names = map(value.get, fields)
    return frozenset(fold_phrase(name) for name in names if isinstance(name, str))


def _mode(step: Step, tool: Tool | None) -> str:
    """Return the way of travelling that a call requests, by the tool's synonyms; empty if the call names none."""
    for name, match in (tool.match if tool else {}).items():
        word = step.arguments.get(name)
        if match.type == "enum" and isinstance(word, str):
            folded = fold_phrase(word)
            heads = (head for head, forms in match.synonyms.items() if folded in map(fold_phrase, (head, *forms)))
            head = next(heads, folded)
            if head in _MODES:
                return head
    return ""


def plain_numbers(value: Json) -> Iterator[float]:
    """Yield the numbers in a value: numbers, texts that are a number, and lists of these."""
    if isinstance(value, list):
        for item in value:
            yield from plain_numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if math.isfinite(value):
            yield float(value)
    elif isinstance(value, str) and _NUMERIC.fullmatch(value.strip().replace(",", "")):
        yield float(value.strip().replace(",", ""))


def written(value: Json, unit: str, money: Vocabulary | None = None) -> Iterator[float]:
    """Yield the figures of a unit written in a text or a list of texts ("9.8 km")."""
    if isinstance(value, list):
        for item in value:
            yield from written(item, unit, money)
    elif isinstance(value, str):
        yield from (figure.value for figure in _read(value, money).quantities if figure.unit == unit)


@lru_cache(maxsize=1024)
def _read(text: str, money: Vocabulary | None) -> Document:
    """Read a text without a lexicon: as English if it is ASCII, otherwise as Chinese."""
    language = "en" if text.isascii() else "zh"
    return read(text, language=language, lexicon=lexicon_of(()), vocabulary=money)


def clock_times(value: Json) -> Iterator[float]:
    """Yield the clock times of a text as minutes after midnight; ``24h`` adds midnight."""
    if isinstance(value, str):
        for match in _WRITTEN_CLOCK.finditer(value):
            yield float((int(match[1]) * 60 + int(match[2])) % DAY)
        if value.strip().casefold() == "24h":
            yield 0.0


#: Where a value is from: from the user or the context; from its own thing in another role, or in the same; from another thing in another role, or in the same; in the same from one that no reply names; from arithmetic; from nowhere.
Explanation = Literal["user", "own", "same", "other", "swapped", "unnamed", "derived", ""]
#: Roles of times are less sure than those of figures: what may be one that was looked for explains as well as another.
_LOOSELY: dict[Explanation, Explanation] = {"same": "own", "swapped": "other"}
_MOST_PEOPLE = 12
#: So many values of a unit are combined with each other at most.
_MOST_VALUES = 40
#: Minutes that a time of day may be off: as it is said exactly, and about.
_EXACTLY, _ABOUT = 1, 5
_OF_WAYS = ("travel_time", "wait")
#: A figure of no sure role that lies further off than so many times from all that it could be compared with is another one.
_FAR = 5
#: What is said to be about a value lies within this share of it.
_ROUGHLY = 0.08


class FigureExplainer:
    """Finds sources for the figures of one reply in all evidence known at that time.

    Args:
        document: the reply.
        evidence: what the dialogue knew.
    """

    def __init__(self, document: Document, evidence: KnownEvidence, left_out: frozenset[str]) -> None:
        self.document = document
        self.evidence = evidence.by(document.turn)
        self._left_out = left_out

    def of(self, figure: Quantity | ClockTime, roles: Collection[str]) -> Explanation:
        """Return an explanation of a figure or time of day; empty if there is none.

        Args:
            figure: the figure.
            roles: the roles that were looked for: another thing's figure of such a role explains nothing, it may be said wrongly.
        """
        return self._figure(figure, roles) if isinstance(figure, Quantity) else self._time(figure, roles)

    def _figure(self, figure: Quantity, roles: Collection[str]) -> Explanation:
        """Return the explanation of a figure: known evidence with its value, otherwise arithmetic; empty if neither matches."""
        alike = [piece for piece in self.evidence.figures if _alike(figure.unit, piece.unit)]
        # A limit that the user sets ("at most 40") tells of no figure below it.
        meeting = [
            piece
            for piece in alike
            if (
                agrees(figure, piece.value, piece.high)
                if piece.source.origin == "tool"
                else agrees(figure, piece.value) or agrees(figure, piece.high)
            )
        ]
        if meeting and (why := self._owned(figure, meeting, roles)) != "unnamed":
            return why
        return "derived" if any(agrees(figure, value) for value in self._derived(figure.unit)) else ""

    def _time(self, time: ClockTime, roles: Collection[str]) -> Explanation:
        """Return the explanation of a time of day: a known time, otherwise the end of a known way; empty if neither matches."""
        slack = _EXACTLY if time.approx == "exact" else _ABOUT
        meeting = [
            moment for moment in self.evidence.times if any(apart(at, moment.minutes) < slack for at in time.minutes)
        ]
        if meeting:
            why = self._owned(time, meeting, roles)
            return _LOOSELY.get(why, why)
        return "derived" if any(apart(at, end) <= slack for at in time.minutes for end in self._ends) else ""

    def _owned(
        self, figure: Quantity | ClockTime, meeting: Sequence[KnownFigure] | Sequence[KnownTime], roles: Collection[str]
    ) -> Explanation:
        """Return the owner of a matching value: the user, the figure's own thing, another thing, or a thing that no reply names."""
        if any(piece.source.origin != "tool" for piece in meeting):
            return "user"
        of_other_roles = [piece for piece in meeting if piece.role not in roles]
        if any({*figure.subject} & {*piece.subject} for piece in of_other_roles):
            return "own"
        if of_other_roles:
            return "other"
        if any({*figure.subject} & {*piece.subject} for piece in meeting):
            return "same"
        return "swapped" if any(self._left_out.isdisjoint(piece.subject) for piece in meeting) else "unnamed"

    def _derived(self, unit: str) -> tuple[float, ...]:
        """Return the results of arithmetic on known figures of a unit; computed once for each unit."""
        if unit not in self._arithmetic:
            self._arithmetic[unit] = tuple(self._combined(unit))
        return self._arithmetic[unit]

    @cached
    def _arithmetic(self) -> dict[str, tuple[float, ...]]:
        """The derived values computed so far, by unit."""
        return {}

    def _combined(self, unit: str) -> set[float]:
        """Return sums and differences of two known values and, for money, multiples and shares for several people."""
        pieces = {
            (piece.value, piece.role, piece.subject) for piece in self.evidence.figures if _alike(unit, piece.unit)
        }
        pairs = list(combinations(sorted(pieces, key=str)[:_MOST_VALUES], 2))
        # Only figures of one role or thing are added: not a price and the user's budget.
        results = {left[0] + right[0] for left, right in pairs if left[1] == right[1] or {*left[2]} & {*right[2]}}
        if unit != "m":
            results |= {abs(left[0] - right[0]) for left, right in pairs if left[1] == right[1]}
        if unit == "yuan":
            sums = {value for value, _, _ in pieces} | results
            results |= {total * count for total in sums for count in self._counts}
            results |= {total / count for total in sums for count in self._counts}
        return results

    @cached
    def _counts(self) -> set[int]:
        """Numbers of people or things mentioned by the reply, the user or a tool, and 2."""
        figures: list[Quantity | KnownFigure] = [*self.document.quantities, *self.evidence.figures]
        counted = {figure.value for figure in figures if figure.unit == "people" or figure.unit.startswith("count")}
        return {2} | {int(value) for value in counted if 1 < value <= _MOST_PEOPLE and value == int(value)}

    @cached
    def _ends(self) -> set[float]:
        """Arrival times: a known start plus the duration of one known way, or of two of the same subject."""
        ways = [piece for piece in self.evidence.figures if piece.unit == "min" and piece.role in _OF_WAYS][
            :_MOST_VALUES
        ]
        taken = {piece.value for piece in ways}
        taken |= {piece.value + other.value for piece, other in combinations(ways, 2) if piece.subject == other.subject}
        starts = {piece.minutes for piece in self.evidence.times if piece.role in ("now", "departure")}
        return {start + way for start in starts for way in taken}


def agrees(figure: Quantity, low: float, high: float | None = None) -> bool:
    """Return whether a stated figure, allowing for honest rounding, can mean a value or a range.

    Args:
        figure: the figure.
        low: the value, or the least of a range.
        high: the greatest of the range.
    """
    high = low if high is None else high
    give = figure.step / 2 + ROUNDING
    if figure.approx == "about":
        give += _ROUGHLY * abs(figure.value)
        return low <= figure.value + give and high >= figure.value - give
    if figure.approx == "at_most":
        return low <= figure.high + give
    if figure.approx == "at_least":
        return high >= figure.low - give
    return low <= figure.high + give and high >= figure.low - give


def _alike(unit: str, other: str) -> bool:
    """Return whether two units are the same, or both counts."""
    return unit == other or (unit.startswith("count") and other.startswith("count"))


def apart(first: float, other: float) -> float:
    """Return the minutes between two times of day, across midnight if that is shorter."""
    return min((first - other) % DAY, (other - first) % DAY)


def is_far(figure: Quantity, values: Sequence[Value]) -> bool:
    """Return whether a figure is far smaller or larger than all positive values; False if there are no such values."""
    sizes = [value.number for value in values if value.number > 0]
    return bool(sizes) and not min(sizes) / _FAR <= figure.value <= max(sizes) * _FAR


def is_reckoned(figure: Quantity | ClockTime, why: str, *, sure: bool) -> bool:
    """Return whether a sum of money is calculated from other sums, or is a rough fee."""
    if not isinstance(figure, Quantity) or figure.unit != MONEY:
        return False
    return (figure.approx == "about" and figure.role == "fee") or (why == "derived" and not sure)


def relevant(figure: Quantity | ClockTime, values: Sequence[Value]) -> list[Value]:
    """Return the values of the figure's own thing, or all values if there are none."""
    return [value for value in values if set(figure.subject) & (value.own | value.about)] or list(values)
