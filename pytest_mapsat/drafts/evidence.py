"""Evidence for a condition in what stood before a reply: words and values that support it, each with its quote and its place."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from pytest_mapsat.model import Evidence, Json, JsonObject, Recommends, Requirement, Tool, digest, same
from pytest_mapsat.sandbox import distance_m, open_at, opening_hours

from .conversations import Conversation
from .fields import (
    Field,
    any_spoken,
    figures_in,
    key_words,
    leaves_of,
    listed,
    names_in,
    needs_of,
    sentences,
    tells,
    words_of,
)
from .logs import Place

Source = Literal["context", "profile", "environment"]
_LONGEST_QUOTE = 200
#: So many places of evidence are kept for one condition.
_MOST = 5
#: Sentences of a system message that say what the agent is or does, and nothing of the user.
_INSTRUCTS = re.compile(
    r"You are (?!.*\b(?:user|customer|who)\b)|(?:Always|Never|Keep|Answer|Offer|Use|Ask|Reply)\b|你是[^，,：:]*$"
    r"|(?!.*(?:user|customer|用户|客户)).*(?:\b[Aa]ssistant\b|助手|客服|顾问|管家)"
)
_Relevance = Literal["strong", "weak"]


@dataclass(frozen=True)
class Told:
    """Something that stood before the reply: a text, or a value in data with its dotted path; ``asked``: it stands in the query."""

    place: str
    source: Source
    text: str
    path: str = ""
    value: Json = None
    asked: bool = False

    @property
    def quote(self) -> str:
        """It as it is quoted."""
        text = f"{self.path}: {json.dumps(self.value, ensure_ascii=False)}" if self.path else self.text
        return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


@dataclass(frozen=True)
class Support:
    """What supports a condition before the reply.

    Attributes:
        field: the condition, with the bound that the evidence gives where it gives one.
        asked: whether the query states it.
        source: where the first evidence stands.
        evidence: all of it; empty where none was found.
        kind: hard or soft, where a model says so; empty: the user's words say it.
    """

    field: Field
    asked: bool
    source: Source | Literal["unstated"]
    evidence: tuple[Evidence, ...]
    kind: Literal["", "hard", "soft"] = ""


def told_before(conversation: Conversation, tools: Mapping[str, Tool], listing: Collection[str]) -> tuple[Told, ...]:
    """Return what an agent could have known from before it gave the reply that is judged.

    Args:
        conversation: the conversation.
        tools: the tools by name.
        listing: the names of the tools that returned the things themselves: what these are like tells nothing of the need.
    """
    return tuple(_told(conversation, tools, listing))


def _told(conversation: Conversation, tools: Mapping[str, Tool], listing: Collection[str]) -> Iterator[Told]:
    context, at_query = conversation.context, conversation.lines[conversation.query_at].place
    for text in context.history:
        yield from (Told(at_query, "context", sentence) for sentence in sentences(text))
    for name, data, source in (("profile", context.profile, "profile"), ("details", context.details, "context")):
        yield from (
            Told(f"{at_query} (context.{name})", "profile" if source == "profile" else "context", "", path, value)
            for path, value in leaves_of(data)
        )
    for index, line in enumerate(conversation.lines[: conversation.reply_at + 1]):
        if line.role == "system" or (line.role == "user" and index <= conversation.query_at):
            asked = index == conversation.query_at
            yield from (Told(line.place, "context", sentence, asked=asked) for sentence in sentences(line.text))
        for step in line.calls:
            profile = (step.tool in tools and tools[step.tool].profile) or bool(
                set(listed("profiles")) & set(words_of(step.tool))
            )
            if step.kind == "call" and step.status == "ok" and (profile or step.tool not in listing):
                source = "profile" if profile else "environment"
                yield from (
                    Told(line.place, "profile" if source == "profile" else "environment", "", path, value)
                    for path, value in leaves_of(step.result)
                )


def support_for(field: Field, told: tuple[Told, ...], known_at: str) -> Support:
    """Return what supports a condition.

    Args:
        field: the condition.
        told: what stood before the reply.
        known_at: the place that told the time that opening hours are held against; empty where none did.
    """
    bounded, kept, asked = field, [], False
    for part in told:
        relevance, figure = _relevance(field, part)
        if relevance is None:
            continue
        if figure is not None and bounded is field:
            bounded = field.with_figure(figure) or field
        if part.asked and (figure is not None or field.stated_in(part.text)):
            asked = True
        need: Literal["direct", "related"] = "direct" if relevance == "strong" else "related"
        kept.append((part.source, Evidence(text=part.quote, at=(part.place,), relevance=relevance, need=need)))
    if not kept and isinstance(field.match, dict) and field.match.get("op") == "open_at" and known_at:
        moment = Evidence(text=f"It is {field.match['time']}", at=(known_at,), relevance="strong", need="direct")
        kept.append(("environment", moment))
    # What states the need comes before what is only a sign of it.
    kept.sort(key=lambda pair: pair[1].relevance != "strong")
    source: Source | Literal["unstated"] = kept[0][0] if kept else "unstated"
    return Support(bounded, asked, source, tuple(evidence for _, evidence in kept[:_MOST]))


def linked_to(support: Support, words: str, told: tuple[Told, ...], returned: str) -> Support:
    """Return a condition without evidence with texts from before the reply that speak of what the objection speaks of.

    They share a name, or a pair of Chinese signs, that stands in no call and no result.
    """
    shared = names_in(words)
    texts = [part for part in told if part.text and any(name not in returned for name in names_in(part.text) & shared)]
    if support.evidence or not texts:
        return support
    evidence = (Evidence(text=part.quote, at=(part.place,), relevance="weak", need="related") for part in texts[:_MOST])
    return replace(support, source=texts[0].source, evidence=tuple(evidence))


def _relevance(field: Field, told: Told) -> tuple[_Relevance | None, float | None]:
    """Return how something supports a condition, None where it does not, and the figure that it gives for its bound."""
    if told.path:
        return _of_value(field, told)
    text = told.text
    if _INSTRUCTS.match(text) and not told.asked:
        return None, None
    related = bool(any_spoken(text, [phrase for need in field.needs for phrase in (*need.names, *need.signs)]))
    for figure in figures_in(text, field.bound, plain=related) if field.bound else ():
        if field.with_figure(figure):
            return "strong", figure
    named = field.stated_in(text) or any(any_spoken(text, need.names) for need in field.own_needs)
    return ("strong" if named else "weak" if related else None), None


def _of_value(field: Field, told: Told) -> tuple[_Relevance | None, float | None]:
    """Return the same of a value in data: by its name and its value, or by words in a text."""
    key = told.path.removesuffix(".*").rsplit(".", 1)[-1]
    own = set(key_words(field.path))
    shares = bool({need.name for need in needs_of(key)} & {need.name for need in field.needs})
    shares = shares or bool(own & {word for word in words_of(key) if tells(word)})
    value = told.value
    if isinstance(value, int | float) and not isinstance(value, bool) and field.bound:
        return ("strong", value) if shares and field.with_figure(value) else (None, None)
    texts = [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, str)]
    phrases = [phrase for need in field.own_needs for phrase in (*need.words, *need.signs, *need.fields)]
    phrases += [field.value] if tells(field.value.lower()) else []
    texts += (
        [" ".join(words_of(told.path))] if value and not shares and not field.value else []
    )  # what a person has by its name: daughter: 2
    holds = any(text.strip() and (same(text, field.value) or any_spoken(text, phrases)) for text in texts)
    for figure in (figure for text in texts if field.bound for figure in figures_in(text, field.bound, plain=shares)):
        if field.with_figure(figure):
            return "strong", figure
    if isinstance(value, bool) and isinstance(field.match, bool) and shares:
        # A need by another name (wheelchair: true) asks for the field; the field's own name must have its value.
        holds = value == field.match or (value and own.isdisjoint(words_of(key)))
    return ("strong" if holds else None), None


# -- habits as conditions on places ------------------------------------------------------------------------------------

#: What is listed of a place and is no attribute: what tells it from all others, and what the query decides.
_NO_ATTRIBUTES = frozenset({
    "id", "name", "kind", "city", "lon", "lat", "point", "address", "phone", "tel", "telephone", "email", "url", "website",
    "description", "summary", "alias", "aliases",
})  # fmt: skip
_LONGEST_TEXT = 60
_LONGEST_ID = 50
_LATE = ("21:30", "23:30")
#: The shares of a user's choices that a bound on a figure may take in.
_QUANTILES = (1.0, 0.9)

Sort = Literal["is", "has", "least", "most", "open_at", "open_then", "within_m", "mode", "shown"]


class Choice(NamedTuple):
    """Something that a user took: the place, what was there to choose from, and the circumstances.

    ``offer``: the places; ``of``: the part of the catalogue that they are, None for a list that was shown; ``moment``: the time as ISO 8601; ``stated``: what the
    user asked for in words and filters, which other conditions have nothing to do with.
    """

    place: Place
    offer: tuple[Place, ...]
    of: tuple[str, str] | None
    at: float
    moment: str
    line: str
    point: tuple[float, float] | None = None
    mode: str = ""
    stated: tuple["Condition", ...] = ()

    @property
    def clock(self) -> str:
        """The time of day, ``HH:MM``."""
        return self.moment[11:16]


@dataclass(frozen=True)
class Condition:
    """A condition on one field of a place.

    ``is``: the field has the value; ``has``: the list has it as a member; ``least``, ``most``: the figure is at least, at most, the value; ``open_at``: the hours
    hold the time of day; ``open_then``: they hold the time of the choice; ``within_m``: the place lies as near to where the user is; ``mode``: the way of travelling;
    ``shown``: it was among so many that the list showed first, which is never a wish and may explain one.
    """

    field: str
    sort: Sort
    value: str | float | bool | None = None

    @property
    def id(self) -> str:
        """A name that may stand in a case."""
        words = {"is": "", "has": "", "least": "at-least", "most": "at-most", "within_m": "metres"}.get(
            self.sort, self.sort
        )
        value = str(_plain(self.value))
        value = {"True": "", "False": "not", "None": ""}.get(value, value)
        text = "-".join(word for word in (self.field, words, value) if word)
        name = re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.")
        if text.isascii() and len(name) <= _LONGEST_ID:
            return name
        return f"{name[:_LONGEST_ID]}-{digest(text, 8)}".lstrip("-")

    @property
    def circumstantial(self) -> bool:
        """Whether it depends on the time or the place of the choice."""
        return self.sort in ("open_then", "within_m", "shown")

    @property
    def spans_kinds(self) -> bool:
        """Whether it means the same of all kinds of places."""
        return self.sort not in ("least", "most", "within_m", "open_at")

    def fits(self, place: Place, choice: Choice) -> bool:
        """Return whether a place fits it in the circumstances of a choice."""
        value = place.row.get(self.field)
        if self.sort in ("open_at", "open_then"):
            return _open(value, str(self.value) if self.sort == "open_at" else choice.clock)
        if self.sort == "within_m":
            apart = metres(choice, place)
            return apart is not None and apart <= float(self.value or 0)
        if self.sort == "mode":
            return choice.mode == self.value
        if self.sort == "shown":
            return any(place is first for first in choice.offer[: int(self.value or 0)])
        return self._value_fits(value)

    def concerns(self, choice: Choice) -> bool:
        """Return whether a choice can tell anything of it: the way there must be known, or the list that was shown."""
        return bool(choice.mode) if self.sort == "mode" else choice.of is None if self.sort == "shown" else True

    def _value_fits(self, value: Json) -> bool:
        if self.sort == "has":
            return isinstance(value, list) and self.value in value
        if self.sort == "is":
            return type(value) is type(self.value) and value == self.value
        if not is_figure(value):
            return False
        return bool(value >= self.value if self.sort == "least" else value <= self.value)

    def where(self, clock: str, point: tuple[float, float] | None) -> JsonObject:
        """Return it as the matches of a check, by field, for a case at a time of day and a point."""
        match self.sort:
            case "has":
                return {self.field: {"op": "contains", "text": self.value}}
            case "least":
                return {self.field: {"op": "between", "min": self.value}}
            case "most":
                return {self.field: {"op": "between", "max": self.value}}
            case "open_at" | "open_then":
                return {self.field: {"op": "open_at", "time": self.value or clock}}
            case "within_m":
                lon, lat = point or (0.0, 0.0)
                return {"point": {"op": "within_m", "lon": lon, "lat": lat, "metres": _plain(self.value)}}
            case _:
                return {self.field: self.value}

    def words(self, language: str) -> str:
        """Return it in words of a language."""
        name, value = self.field.replace("_", " "), _plain(self.value)
        en, zh = {
            "is": (f"{name} “{value}”", f"{name}为“{value}”"),
            "has": (f"{name} with “{value}”", f"{name}包括“{value}”"),
            "least": (f"{name} of {value} or more", f"{name}不低于{value}"),
            "most": (f"{name} of {value} or less", f"{name}不超过{value}"),
            "open_at": (f"still open at {value}", f"{value}还在营业"),
            "open_then": ("open at the time of the query", "提问时正在营业"),
            "within_m": (f"at most {value} m away", f"距用户不超过{value}米"),
            "mode": (f"the way there is by {value}", f"出行方式是{value}"),
            "shown": (f"among the first {value} of the list", f"列表的前{value}个"),
        }[self.sort]
        if self.value is True:
            en, zh = name, name
        elif self.value is False:
            en, zh = f"no {name}", f"无{name}"
        return zh if language.startswith("zh") else en


def _plain(value: Json) -> Json:
    """Return a figure without decimals that say nothing."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_figure(value: Json) -> bool:
    """Return whether a value is a number that can have a bound."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_hours = lru_cache(maxsize=100_000)(opening_hours)
_open_at = lru_cache(maxsize=100_000)(open_at)


def _open(value: Json, clock: str) -> bool:
    return isinstance(value, str) and bool(clock) and _open_at(value, clock) is True


def metres(choice: Choice, place: Place) -> float | None:
    """Return how far a place lies from where a choice was made; None where either has no point."""
    return None if choice.point is None or place.point is None else distance_m(*choice.point, *place.point)


def values_of(place: Place) -> Iterator[Condition]:
    """Give the conditions on values that a place fits: truth values, short texts, members of lists."""
    for column, value in place.row.items():
        if column in _NO_ATTRIBUTES:
            continue
        if isinstance(value, bool):
            yield Condition(column, "is", value)
        elif isinstance(value, str):
            if value and len(value) <= _LONGEST_TEXT and not _hours(value):
                yield Condition(column, "is", value)
        elif isinstance(value, list):
            members = dict.fromkeys(member for member in value if isinstance(member, str) and member)
            yield from (Condition(column, "has", member) for member in members)


def bounds_of(choices: Sequence[Choice]) -> dict[tuple[str, Sort], list[Condition]]:
    """Return the bounds that most of the choices keep, taken from their own figures, hours and distances: each field and direction with its bounds."""
    rows = [choice.place.row for choice in choices]
    fields = dict.fromkeys(column for row in rows for column in row if column not in _NO_ATTRIBUTES)
    bounds: dict[tuple[str, Sort], list[Condition]] = {}
    for column in fields:
        values = [row.get(column) for row in rows]
        figures = sorted(float(value) for value in values if is_figure(value))  # type: ignore[arg-type]
        if len(figures) > len(rows) / 2:
            bounds[column, "most"] = [Condition(column, "most", figure) for figure in _at_quantiles(figures)]
            falling = _at_quantiles(figures[::-1])
            bounds[column, "least"] = [Condition(column, "least", figure) for figure in falling]
        if sum(isinstance(value, str) and bool(_hours(value)) for value in values) > len(rows) / 2:
            bounds[column, "open_at"] = [Condition(column, "open_at", clock) for clock in _LATE]
            bounds[column, "open_then"] = [Condition(column, "open_then")]
    far = sorted(apart for choice in choices if (apart := metres(choice, choice.place)) is not None)
    if len(far) > len(rows) / 2:
        bounds["distance", "within_m"] = [
            Condition("distance", "within_m", float(-(-apart // 50) * 50 or 50)) for apart in _at_quantiles(far)
        ]
    return bounds


def places_shown(choices: Sequence[Choice]) -> list[Condition]:
    """Return the bounds on the place in the list that was shown which most of the choices keep; none where few lists were."""
    numbers = [
        choice.offer.index(choice.place) + 1 for choice in choices if choice.of is None and len(choice.offer) > 1
    ]
    at = _at_quantiles(sorted(numbers), (1.0, 0.9, 0.75)) if 2 * len(numbers) > len(choices) else ()
    return [Condition("list", "shown", number) for number in at]


def _at_quantiles(figures: Sequence[float], shares: Sequence[float] = _QUANTILES) -> Iterable[float]:
    last = len(figures) - 1
    return dict.fromkeys(figures[round(share * last)] for share in shares)


def profile_of(profile: Mapping[str, Json], condition: Condition) -> float | bool:
    """Return what a profile says of a condition: its ratio (0 to 1) where it has one, else whether it names it."""
    name, value = condition.field, condition.value
    for key, told in profile.items():
        if isinstance(told, dict) and (inner := profile_of(told, condition)):
            return inner
        if key not in (name, value):
            named = (value,) if condition.sort == "has" else (name,) if value is True else ()
            if isinstance(told, list) and any(word in told for word in named):
                return True
        elif isinstance(told, float) and 0 < told <= 1 and condition.sort in ("is", "has"):
            return told
        elif told == value or (isinstance(told, list) and value in told):
            return True
    return False


# -- candidates for requirements ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A need that a query may leave unsaid.

    Attributes:
        id: what its requirement is called in the case.
        text: the requirement in words, in the language of the case.
        where: by field of the thing that is proposed (a dotted path), the value or the match that it must have.
        kind: ``hard`` where the user never did without it, else ``soft``.
        source: where its evidence stands; ``unstated`` where none was found before the reply.
        evidence: what supports it before the reply, each with its places in the log.
        none_where: by field, the value or the match that nothing that is proposed may have.
    """

    id: str
    text: str
    where: Mapping[str, Json] = field(default_factory=dict)
    kind: Literal["asked", "hard", "soft"] = "hard"
    source: Literal["context", "profile", "environment", "unstated"] = "unstated"
    evidence: tuple[Evidence, ...] = ()
    none_where: Mapping[str, Json] = field(default_factory=dict)


def requirement_of(candidate: Candidate, *, draft: bool) -> Requirement:
    """Return the requirement that a candidate proposes: all that an answer recommends fits ``where``, and none of it ``none_where``."""
    parts = {"only": True, "where": dict(candidate.where)} if candidate.where else {}
    parts |= {"none_where": dict(candidate.none_where)} if candidate.none_where else {}
    check = Recommends.model_validate({"kind": "recommends", **parts})
    implicit = {} if candidate.kind == "asked" else {"source": candidate.source, "evidence": candidate.evidence}
    return Requirement(id=candidate.id, kind=candidate.kind, text=candidate.text, check=check, draft=draft, **implicit)
