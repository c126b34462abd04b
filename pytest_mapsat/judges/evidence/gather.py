"""Gathers evidence: what the agent was shown, what the user said, and what the results of tools say by their declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast, get_args

from pytest_mapsat.model import FigureRole, Json, JsonObject, Meaning, Step, TimeRole, Tool, Trajectory, Visible
from pytest_mapsat.sandbox import distance_m, opening_hours, point_of
from pytest_mapsat.text import Document, Thing, Vocabulary, fold_phrase, lexicon_of, open_page, read_page

from .kinds import USER, Evidence, Figure, Identity, Moment, Point, Source
from .results import Element, clock, elements_of, measured

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
    trajectory: Trajectory, tools: Mapping[str, Tool], visible: Visible | None, money: Vocabulary | None = None
) -> Evidence:
    """Return what was known in a dialogue.

    Args:
        trajectory: the dialogue; results of calls that were answered count.
        tools: the suite's tools by name; a tool that declares nothing gives nothing.
        visible: what the agent was shown of the case.
        money: says the suite's currency.
    """
    gathering = _Gathering(visible, money)
    number = -1
    for index, turn in enumerate(trajectory.turns):
        if turn.role == "user" and not (visible and index == 0 and turn.text == visible.query):
            gathering.texts.append((Source("user", index, path="text"), turn.text, (USER,)))
        for step in turn.steps if turn.role == "agent" else ():
            number += step.kind == "call"
            if step.kind == "call" and step.status == "ok":
                gathering.add(step, tools.get(step.tool), Source("tool", index, number, step.tool))
    return gathering.evidence(visible)


class _Gathering:
    """Collects evidence, call by call."""

    def __init__(self, visible: Visible | None, money: Vocabulary | None) -> None:
        self._money = money
        self._known: dict[str, dict[str, None]] = {}
        self._by_id: dict[str, str] = {}
        self._complete = True
        self.figures: list[Figure] = []
        self.times: list[Moment] = []
        self.points: list[Point] = []
        self.identities: list[Identity] = []
        self.texts: list[tuple[Source, str, tuple[str, ...]]] = []
        if visible is not None:
            self._shown(visible)

    def _shown(self, visible: Visible) -> None:
        """Add what the agent was shown: where and when it is asked, the city, the history."""
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
            self.times.append(Moment(at, "now", "", (USER,), source, context.now[11:16]))
        for line in context.history:
            names = [name for name in _QUOTED.findall(line) if fold_phrase(name)]
            keys = tuple(self._know(name) for name in names) if len(names) == 1 else ()
            self.texts.append((Source("context", -1, path="history"), line, keys or (USER,)))
        told = [("instructions", visible.instructions)] if visible.instructions else []
        for path, text in [*told, *_leaves(context.details), *_leaves(context.profile)]:
            self.texts.append((Source("context", -1, path=path), text, (USER,)))
        self.texts.append((Source("user", -1, path="query"), visible.query, (USER,)))

    def _know(self, name: str) -> str:
        key = fold_phrase(name)
        self._known.setdefault(key, {})[name] = None
        return key

    # -- results of tools ------------------------------------------------------------------------------------------

    def add(self, step: Step, tool: Tool | None, source: Source) -> None:
        """Add what the result of one call says, by the declarations of its tool."""
        self._complete = self._complete and tool is not None and next(tool.undeclared(step.result), None) is None
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
        """Return the way of travelling that the call asked for, in the first word of its declaration."""
        asked = step.arguments.get(tool.mode) if tool.mode else None
        match = tool.match.get(tool.mode or "")
        if not isinstance(asked, str):
            return ""
        synonyms = match.synonyms if match else {}
        return next((word for word, others in synonyms.items() if asked in others), asked)

    def _about(self, tool: Tool, step: Step) -> tuple[str, ...]:
        """Return the keys of the things that the call was made for: by id, point or name."""
        keys: dict[str, None] = {USER: None} if tool.profile else {}
        for name in tool.about:
            value, match = step.arguments.get(name), tool.match.get(name)
            kind = match.type if match and match.role != "ignored" else "text"
            pair = step.arguments.get(match.pair or "") if match else None
            if kind in ("lon", "point"):
                keys.update(dict.fromkeys(self._at(value, pair)))
            elif isinstance(value, str) and kind == "id":
                keys.update({self._by_id[value]: None} if value in self._by_id else {})
            elif isinstance(value, str):
                keys.update(dict.fromkeys(self._named(fold_phrase(value))))
        return tuple(keys)

    def _named(self, name: str) -> list[str]:
        """Return the key of the one thing of this name, or whose name has these words."""
        within = [key for key in self._known if name in key] if name and name not in self._known else [name]
        return within if len(within) == 1 and name else []

    def _at(self, value: Json, pair: Json) -> Iterator[str]:
        """Yield the keys of what lies at a point that a call gave."""
        place = point_of(value if pair is None else [value, pair])
        for known in self.points if place else ():
            if place and distance_m(*place, known.lon, known.lat) <= _SAME_PLACE_M:
                yield from known.subject

    def _name(self, element: Element, source: Source) -> None:
        """Make things known: those with a name of their own."""
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
        """Add figures, times, identifiers and texts of one element."""
        subject = tuple(dict.fromkeys((*element.subject, *about)))
        mode = element.mode or mode
        for meaning, value, path in element.leaves:
            if meaning.measures or meaning.kind in _VALUED:
                self._leaf(meaning, value, subject, mode, Source("tool", source.turn, source.call, source.tool, path))

    def _leaf(self, meaning: Meaning, value: Json, subject: tuple[str, ...], mode: str, source: Source) -> None:
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
        found = measured(meaning, value, self._money)
        if found is not None:
            low, high, unit, shown = found
            role = cast("FigureRole", meaning.role) if meaning.role in _ROLES else None
            self.figures.append(Figure(low, high, unit, role, meaning.mode or mode, subject, source, shown))

    def _time(self, meaning: Meaning, text: str, subject: tuple[str, ...], mode: str, source: Source) -> None:
        spans = opening_hours(text) if meaning.kind == "hours" else ()
        at = clock(text) if meaning.kind == "clock" else None
        role = cast("TimeRole", meaning.role) if meaning.role in _TIME_ROLES else None
        said: list[tuple[int, TimeRole | None]] = [] if at is None else [(at, role)]
        said += [(minutes, kind) for opens, closes in spans for minutes, kind in _ends(opens, closes)]
        self.times += [Moment(minutes, kind, mode, subject, source, text) for minutes, kind in said]

    def _identity(self, meaning: Meaning, text: str, subject: tuple[str, ...], source: Source) -> None:
        parts = re.split(r"[;；、|]", text) if meaning.kind != "address" else [text]
        for part in parts:
            value = re.sub(r"\D", "", part) if meaning.kind == "phone" else fold_phrase(part)
            if value:
                self.identities.append(Identity(meaning.kind, value, subject, source, part))  # type: ignore[arg-type]

    def _labelled(self, meaning: Meaning, text: str, subject: tuple[str, ...], mode: str, source: Source) -> None:
        """Read a text whose parts begin with a label; a part without one belongs to the part before it."""
        labels = sorted(meaning.labels, key=len, reverse=True)
        found: list[tuple[Meaning, str]] = []
        for part in re.split(f"({'|'.join(map(re.escape, meaning.ends))})", text):
            label = next((label for label in labels if part.strip().startswith(label)), None)
            if label is not None:
                found.append((meaning.labels[label], part.strip()[len(label) :].lstrip(":： ")))
            elif found:
                found[-1] = (found[-1][0], found[-1][1] + part)
        modes = [one.mode for one, _ in found if one.kind == "mode"]
        for one, value in found:
            self._leaf(one, value.rstrip("".join(meaning.ends)), subject, (modes or [mode])[0], source)

    # -- texts -----------------------------------------------------------------------------------------------------

    def evidence(self, visible: Visible | None) -> Evidence:
        """Return what was collected, with what the texts say."""
        lexicon = lexicon_of(tuple(Thing(key, tuple(names)) for key, names in self._known.items()))
        language = visible.context.locale if visible else ""
        now = (visible.context.now or "") if visible else ""
        for source, text, subject in self.texts:
            if len(text) <= _MOST_CHARACTERS and (source.origin != "tool" or any(map(str.isdigit, text))):
                page = open_page(text, language=language, vocabulary=self._money)
                if page.may_count:
                    self._read(read_page(page, lexicon, now=now), subject, source)
        return Evidence(
            frozenset(self._known),
            tuple(self.figures),
            tuple(self.times),
            tuple(self.points),
            tuple(self.identities),
            self._complete,
        )

    def _read(self, document: Document, subject: tuple[str, ...], source: Source) -> None:
        """Add the figures and times of a text, each for the thing that it describes and for the owner of the text."""
        for one in document.quantities:
            if one.unit == "min" and source.path == "history":
                continue  # how long ago something was, or how long it took on another day
            keys = tuple(dict.fromkeys((*one.subject, *subject)))
            text = document.words(one.span)
            self.figures.append(Figure(one.low, one.high, one.unit, one.role, one.mode, keys, source, text))
        for time in document.times:
            keys = tuple(dict.fromkeys((*time.subject, *subject)))
            for minutes in time.minutes:
                self.times.append(Moment(minutes, time.role, "", keys, source, document.words(time.span)))
        for identity in document.identifiers:
            keys = tuple(dict.fromkeys((*identity.subject, *subject)))
            if identity.kind != "point":
                text = document.words(identity.span)
                self.identities.append(Identity(identity.kind, identity.value, keys, source, text))


def _leaves(details: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the values of the context's details as lines of text, each with its path: "seats: 4"."""
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
    return (opens, "opening"), (closes, "closing")
