"""What a model is shown of a dialogue: named parts in fences that cannot stand in them, the calls that matter first, within a stated size."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from pytest_mapsat.judges.besides import Beside
from pytest_mapsat.judges.context import Context
from pytest_mapsat.model import Case, Factor, Json, Quote, Step, Trajectory, digest
from pytest_mapsat.text import fold_phrase

from .words import Words, visible

PartKind = Literal["situation", "user", "reply", "call", "thought", "thing"]

#: Characters that a request shows of the candidate's replies, of the user's words, and of all calls with their results.
REPLY_CHARACTERS = 16_000
USER_CHARACTERS = 6_000
CALL_CHARACTERS = 32_000
#: Of all thoughts, and of all names of things, that are judged.
BESIDE_CHARACTERS = 16_000
#: What a result is cut to at first: elements of a list that nothing names, then the rest by size.
_FEW = 3
_LONGEST_QUOTE = 300
_LONG_RESULT = 6_000
_CUT = "[... {} characters are not shown ...]"
_FENCE = "DATA-"


@dataclass(frozen=True)
class Part:
    """One part of the dialogue as a model is shown it.

    Attributes:
        name: how it is named in the request: ``reply-1``, ``call-3``.
        kind: what it is.
        shown: its text as it is shown.
        turn: index of the turn in ``Trajectory.turns`` whose text it is; -1 for what is no turn's text.
        text: the turn's text as it was written; for other parts what is shown.
    """

    name: str
    kind: PartKind
    shown: str
    turn: int = -1
    text: str = ""

    @cached_property
    def words(self) -> Words:
        """Where quotes are looked for: in the original text of a turn, else in what is shown."""
        return Words(self.text if self.turn >= 0 else self.shown)

    def find(self, quote: str) -> Found | None:
        """Return where a quote stands, in words that were shown; None where it does not."""
        span = self.words.find(quote)
        if span is None or (self.turn >= 0 and Words(self.shown).find(quote) is None):
            return None
        return Found(self, *span)


@dataclass(frozen=True)
class Found:
    """Words of a part: ``start`` and ``end`` count characters of the text in which they were looked for."""

    part: Part
    start: int
    end: int

    @property
    def text(self) -> str:
        """The words as they were written, cut where they are very long."""
        return self.part.words.text[self.start : min(self.end, self.start + _LONGEST_QUOTE)]

    @property
    def quote(self) -> Quote | None:
        """The words as a quote of a turn; None for those of a call or of the situation."""
        text = self.text
        if self.part.turn < 0:
            return None
        return Quote(turn=self.part.turn, start=self.start, end=self.start + len(text), text=text)


@dataclass(frozen=True)
class Material:
    """All that a model is shown of a dialogue.

    Attributes:
        parts: in the order in which they are shown.
        left_out: calls that are not shown, as there are too many.
    """

    parts: tuple[Part, ...]
    left_out: int = 0

    @cached_property
    def fence(self) -> str:
        """A mark that stands in no part, the same for the same parts."""
        texts = [part.shown for part in self.parts]
        for number in range(1_000):
            mark = _FENCE + digest([number, texts], 12)
            if not any(mark.casefold() in text.casefold() for text in texts):
                return mark
        raise AssertionError("a text holds a thousand of its own digests")

    @cached_property
    def by_name(self) -> Mapping[str, Part]:
        """The parts by name."""
        return {part.name: part for part in self.parts}

    def fenced(self, kinds: Collection[PartKind]) -> str:
        """Return the parts of some kinds, each between a line that opens it and one that closes it."""
        return "\n".join(
            f"<<<{self.fence} {part.name}\n{part.shown}\n{self.fence}>>>" for part in self.parts if part.kind in kinds
        )


def material_of(case: Case, trajectory: Trajectory, factors: Sequence[Factor], context: Context) -> Material:
    """Return what a model is shown to judge some factors of a dialogue.

    Calls of the tools that the factors' checks name come first, then those whose results hold things that the replies or the factors name, then the
    others, later calls first; they are shown in the order in which they were made.

    Args:
        case: the case.
        trajectory: the dialogue.
        factors: what is judged.
        context: the dialogue as the checks read it.
    """
    turns = list(_turns(trajectory))
    calls = [(number, step) for number, step in enumerate(trajectory.calls, 1)]
    chosen = _Choice.of(trajectory, factors, context)
    ranked = sorted(calls, key=lambda call: (chosen.rank(call[1]), -call[0]))
    shown: dict[int, str] = {}
    room = CALL_CHARACTERS
    for number, step in ranked:
        text = _call(step, chosen, min(room, _LONG_RESULT if len(calls) > 1 else room))
        if len(text) <= room:
            shown[number] = text
            room -= len(text)
    parts = [Part(f"call-{number}", "call", shown[number]) for number in sorted(shown)]
    situation = Part("situation", "situation", visible(_situation(case)))
    return Material((situation, *turns, *parts, *_besides(factors)), len(calls) - len(shown))


def _besides(factors: Sequence[Factor]) -> Iterator[Part]:
    """Yield the thoughts and the names of things that are judged."""
    listed = [one for one in factors if isinstance(one, Beside) and one.shown]
    for one in listed:
        kind: PartKind = "thing" if one.part.startswith("thing") else "thought"
        yield Part(one.part, kind, visible(_cut(one.shown, BESIDE_CHARACTERS // len(listed))))


def _turns(trajectory: Trajectory) -> Iterator[Part]:
    counts = {"user": 0, "reply": 0}
    room = {"user": USER_CHARACTERS, "reply": REPLY_CHARACTERS}
    parts: list[Part] = []
    # The last words count most: they are the last to be cut.
    for index, turn in reversed(list(enumerate(trajectory.turns))):
        kind: PartKind = "user" if turn.role == "user" else "reply"
        shown = _cut(visible(turn.text), room[kind])
        room[kind] = max(room[kind] - len(shown), 0)
        parts.append(Part("", kind, shown, index, turn.text))
    for part in reversed(parts):
        counts[part.kind] += 1
        yield Part(f"{part.kind}-{counts[part.kind]}", part.kind, part.shown, part.turn, part.text)


def _cut(text: str, room: int) -> str:
    """Return a text of at most so many characters and the note that says what is missing in its middle."""
    if len(text) <= room:
        return text
    half = room // 2
    return "\n".join((text[:half], _CUT.format(len(text) - 2 * half), text[len(text) - half :]))


def _situation(case: Case) -> str:
    """Return what the agent was shown beside the query."""
    context = case.visible.context
    place = context.location
    lines = {
        "now": context.now,
        "city": context.city,
        "place": "" if place is None else f"{place.name} ({place.lon}, {place.lat})".strip(),
    }
    known = [f"{name}: {value}" for name, value in lines.items() if value]
    return "\n".join([*known, *(f"history: {line}" for line in context.history)])


@dataclass(frozen=True)
class _Choice:
    """What matters for some factors: tools that their checks name, and things that they or the replies name."""

    tools: frozenset[str]
    names: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, trajectory: Trajectory, factors: Sequence[Factor], context: Context) -> _Choice:
        tools = frozenset(
            tool for factor in factors for tool in tools_named(factor.model_dump(mode="json", by_alias=True))
        )
        said = "\n".join(fold_phrase(text) for text in _said(trajectory, factors))
        known = {fold_phrase(name) for entity in context.entities for name in (entity.name, entity.id)}
        return cls(tools, tuple(sorted(name for name in known if name and name in said)))

    def names_one(self, value: Json) -> bool:
        text = fold_phrase(_json(value))
        return any(name in text for name in self.names)

    def rank(self, step: Step) -> int:
        named = self.names_one(step.result)
        return 0 if step.tool in self.tools and named else 1 if step.tool in self.tools or named else 2


def _said(trajectory: Trajectory, factors: Iterable[Factor]) -> Iterator[str]:
    yield from (turn.text for turn in trajectory.turns)
    yield from (factor.text for factor in factors)


def tools_named(value: object) -> Iterator[str]:
    """Yield the tools that a check, or anything that holds checks, names."""
    if isinstance(value, dict):
        if isinstance(value.get("tool"), str):
            yield value["tool"]
        for part in value.values():
            yield from tools_named(part)
    elif isinstance(value, list):
        for part in value:
            yield from tools_named(part)


def _call(step: Step, chosen: _Choice, room: int) -> str:
    """Return a call with its result, cut to about so many characters."""
    head = f"{step.tool}({_json(step.arguments)})"
    if step.status == "miss":
        return visible(f"{head}\n-> no record")
    result = _json(step.result)
    if len(result) > room:
        result = _json(_thinned(step.result, chosen))
    return visible(
        f"{_cut(head, _LONG_RESULT)}\n-> {step.status}\n{_cut(result, max(room - len(head), _LONG_RESULT // 4))}"
    )


def _thinned(value: Json, chosen: _Choice) -> Json:
    """Return a result in which long lists keep the elements that name something that matters, and a few others."""
    if isinstance(value, dict):
        return {key: _thinned(part, chosen) for key, part in value.items()}
    if not isinstance(value, list) or len(value) <= _FEW:
        return value
    kept: list[Any] = [_thinned(part, chosen) for part in value if chosen.names_one(part)]
    kept = kept or [_thinned(part, chosen) for part in value[:_FEW]]
    gone = len(value) - len(kept)
    return [*kept, f"[... {gone} more are not shown ...]"] if gone else kept


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
