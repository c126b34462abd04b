"""Evidence for a condition in what stood before a reply: words and values that support it, each with its quote and its place."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter

from pytest_mapsat.model import Evidence, Json, Match, Recommends, Requirement, Tool, any_true, open_at, same
from pytest_mapsat.reading import Denials, conditions_of, fold_phrase, fold_text, lexicon_of, read
from pytest_mapsat.recording import changes_something

from .worlds import package_data

if TYPE_CHECKING:
    from .conversations import LoggedConversation


#: A text with more characters is a description: it is compared with nothing.
_LONGEST_VALUE = 40
_METRES = 1000
_PAIR = re.compile(r"[^\W\da-zA-Z的了我你他她它们这那哪个是不没有在就都也还要会能吗呢吧啊么什怎]{2}")
#: "Two metres four" is 2.4.
_AND_TENTHS = re.compile(r"([一二两三四五六七八九\d])[米块]([一二三四五六七八九\d])(?!\d|[百十个])")
_DIGITS = {sign: str(number) for number, sign in enumerate("零一二三四五六七八九")} | {"两": "2"}
_DAYS = {"mon": "一", "tue": "二", "wed": "三", "thu": "四", "fri": "五", "sat": "六", "sun": "[日天]"}
#: Of so many things with different texts none is needed for its text.
_SEVERAL = 3
#: A date or a time of day: it tells no thing from another.
_DATED = re.compile(r"[\d\s:/.+TZ-]+")

_MATCH: TypeAdapter[Match] = TypeAdapter(Match)

Sort = Literal["is", "has", "least", "most", "open_at", "open_then", "within_m", "shown"]
Values = Mapping[str, tuple[Json, ...]]


@dataclass(frozen=True)
class RecordThing:
    """A thing with a name that tools returned: its values by dotted path, those of all its records."""

    key: str
    name: str
    values: Values


@dataclass(frozen=True)
class FieldCondition:
    """A condition on one field.

    ``is``: the field has the value, or one of several; ``has``: the list has it as a member; ``least``, ``most``: the figure is at least, at most, the value; ``open_at``: the hours
    hold the time of day; ``open_then``: they hold the time of the choice; ``within_m``: the place lies as near to where the user is;
    ``shown``: it was among so many that the list showed first, which is never a wish and may explain one.
    """

    field: str
    sort: Sort
    value: Json = None

    @cached_property
    def match(self) -> Match:
        """What a value of the field must fit, as a check has it, where neither the time nor the place of a choice matters."""
        match: Json = list(self.value) if isinstance(self.value, tuple) else self.value
        if self.sort == "has":
            match = {"op": "contains", "text": str(self.value)}
        elif self.sort in ("least", "most"):
            match = {"op": "between", "min" if self.sort == "least" else "max": plain(self.value)}
        elif self.sort == "open_at":
            match = {"op": "open_at", "time": self.value}
        return _MATCH.validate_python(match)


def plain(value: Json) -> Json:
    """Return a figure without decimals that say nothing."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_figure(value: Json) -> bool:
    """Return whether a value is a number that can have a bound."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_open_at = lru_cache(maxsize=100_000)(open_at)


def opens(value: Json, clock: str) -> bool | None:
    """Return whether opening hours hold a time of day; None for what are no hours, and where there is no time."""
    return _open_at(value, clock) if isinstance(value, str) and clock else None


@dataclass(frozen=True)
class FieldDifference(FieldCondition):
    """A condition on one field, a dotted path in the record, that the refused thing breaks.

    Attributes:
        forbids: whether the field must not fit the rest.
        day: for hours, the day of the week that was asked about and that the field is called after.
        limits: for a figure, the greatest or least value that is known to be right, and the refused one.
        worded: whether the user's words give the figure.
        likely: how likely it is to be a need where no words name it: 3 for yes or no and for lists, 2 for a figure with a better end, 1 for others,
            0 for what is no need by itself: where a thing stands, how many are left, the lack of something good.
        asked: whether the query states it.
        source: where its first evidence stands.
        evidence: what supports it before the reply; empty where nothing does.
        kind: hard or soft, where a model says so; empty: the user's words say it.
    """

    forbids: bool = False
    day: str = ""
    limits: tuple[float, float] = (0, 0)
    worded: bool = False
    likely: int = 3
    asked: bool = False
    source: Source | Literal["unstated"] = "unstated"
    evidence: tuple[Evidence, ...] = ()
    kind: Literal["", "hard", "soft"] = ""

    @property
    def text(self) -> str:
        """The text of the value that tells the things apart; empty where it is no text."""
        value = self.value[0] if isinstance(self.value, tuple) else self.value
        return value if isinstance(value, str) and self.sort in ("is", "has") else self.day

    @property
    def bound(self) -> bool:
        """Whether it is a figure that is bounded."""
        return self.sort in ("least", "most")

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """The needs that it has to do with, by its name and its value."""
        own = needs_of(" ".join(key_words(self.field))) or needs_of(self.field)
        return tuple({need.name: need for need in (*own, *needs_of(self.text))}.values())

    @cached_property
    def own_needs(self) -> tuple[Need, ...]:
        """The needs that it is itself, and not only about: those of its value, or of its name where the value is yes, no or a figure."""
        return needs_of(self.text) if self.text else self.needs

    def kept_by(self, thing: RecordThing) -> bool | None:
        """Return whether a thing may be recommended by it; None where the records do not tell."""
        fits = any_true(map(self.match.fits, thing.values.get(self.field, (None,))))
        return fits if fits is None or not self.forbids else not fits

    def stated_in(self, text: str) -> bool:
        """Return whether a text states it: by its value, its whole name, or words that state its need."""
        last = key_words(self.field)
        phrases = [phrase for need in self.own_needs for phrase in need.words]
        phrases += [self.text] if tells(self.text.lower()) else []
        # Of a value among several, words for the field do not say which one is needed.
        phrases += [" ".join(last)] if not self.text and any(map(tells, last)) else []
        return bool(any_spoken(text, phrases))

    def named_in(self, text: str, descriptions: Mapping[str, Sequence[str]]) -> int:
        """Return how plainly a user's words name the field: 3 by its value or its whole name, 2 by a word for it, 1 by a sign or a description, 0 not at all."""
        last = key_words(self.field)
        words = [word for word in last if tells(word)]
        by_value = tells(self.text.lower()) and spoken(text, self.text)
        if self.worded or by_value or (words and spoken(text, " ".join(last))):
            return 3
        if any_spoken(text, words) or any(any_spoken(text, need.names) for need in self.needs):
            return 2
        timely = any(need.name == "hours" for need in self.needs) and conditions_of(fold_text(text).text).openings
        if timely or _pairs(text) & _pairs(f"{last} {self.text}"):
            return 2
        signs = any(any_spoken(text, need.signs) for need in self.needs)
        return int(signs or bool(any_spoken(text, descriptions.get(self.field.rsplit(".", 1)[-1], ()))))

    def with_figure(self, value: float) -> FieldDifference | None:
        """Return it bounded by a figure that somebody gave; None where the figure does not part the two things."""
        right, refused = self.limits
        for figure in (value, value * _METRES):
            if (right <= figure < refused) if self.sort == "most" else (refused < figure <= right):
                return replace(self, value=figure)
        return None


def _pairs(text: str) -> set[str]:
    """Return the pairs of Chinese signs that stand side by side in a text, those of little words apart."""
    pairs = (text[at : at + 2] for at in range(len(text) - 1))
    return {pair for pair in pairs if _PAIR.fullmatch(pair)}


def names_in(text: str) -> set[str]:
    """Return what may name something in a text, folded: words with a capital inside a sentence, and pairs of Chinese signs."""
    return {word.lower() for word in re.findall(r"(?<=[a-z,;] )[A-Z][a-z]{2,}", text)} | _pairs(text)


def figures_in(text: str, sort: Sort, *, plain: bool = False) -> Iterator[float]:
    """Yield the figures that a text gives as bounds from above (``most``) or below (``least``); with ``plain`` also those that it only has."""
    for given in conditions_of(fold_text(text).text).bounds:
        figure = given.high if sort == "most" else given.low
        if figure is not None:
            yield figure
    if plain:
        for whole, tenths in _AND_TENTHS.findall(text):
            yield float(f"{_DIGITS.get(whole, whole)}.{_DIGITS.get(tenths, tenths)}")
        document = read(text, language=language_of(text), lexicon=lexicon_of(()))
        yield from (quantity.value for quantity in document.quantities)
        yield from (number.value for number in document.numbers)


def fields_apart(
    refused: Sequence[RecordThing],
    accepted: Sequence[RecordThing],
    words: str,
    clock: str,
    *,
    asked: str,
    things: Sequence[RecordThing],
) -> list[FieldDifference]:
    """Return the conditions that every accepted thing keeps and some refused one breaks, in the order of its records.

    Args:
        refused: what was recommended and refused.
        accepted: what was taken in its place; empty where nothing is known to have been: then the fields of the refused things.
        words: what the user said to it.
        clock: the time that the case is about, ``HH:MM``; empty where there is none.
        asked: what the user asked for; a day of the week in it is held against the hours of this day.
        things: all that tools returned: a text that is different for each of them is no need.
    """
    paths = dict.fromkeys(path for thing in (*accepted, *refused) for path in thing.values)
    fields: list[FieldDifference] = []
    for path in paths:
        if _has(path, "identifies"):
            continue
        bad, good = _values(refused, path), _values(accepted, path)
        candidates = [*(_against(path, bad, good, clock) if accepted else _alone(path, bad, words, clock))]
        candidates = candidates or [*_on_day(path, good, asked)]
        kept = (field for field in candidates if all(field.kept_by(thing) for thing in accepted))
        broken = (field for field in kept if any(field.kept_by(thing) is False for thing in refused))
        fields += (replace(field, likely=_likely(field, things)) for field in broken)
    return fields


def _on_day(path: str, good: Sequence[Json], asked: str) -> Iterator[FieldDifference]:
    """Yield the condition that a thing is open on the day of the week that its field is called after, where the user asked for this day."""
    key = path.rsplit(".", 1)[-1].lower()
    day = next((day for day, sign in _DAYS.items() if re.fullmatch(rf"{day}\w*|\w*[周期]{sign}", key)), "")
    spoken_day = re.search(rf"\b{day}\w*|(?:周|星期|礼拜){_DAYS[day]}", asked, re.IGNORECASE) if day else None
    for clock in ("12:00", "10:00", "15:00", "20:00") if spoken_day else ():
        if any(opens(value, clock) for value in good):
            yield FieldDifference(path, "open_at", clock, day=str(spoken_day and spoken_day[0]))
            return


def _has(path: str, words: str) -> bool:
    """Return whether a path has one of some words, a Chinese one anywhere in it; for what only tells which or where, its last key."""
    key = key_words(path) if words in ("identifies", "places") else words_of(path)
    return any(word in key or (not word.isascii() and word in "".join(key)) for word in listed(words))


def _likely(field: FieldDifference, things: Sequence[RecordThing]) -> int:
    """Return how likely a condition is to be a need where no words name it, 0 to 3."""
    values = [str(value) for thing in things for value in thing.values.get(field.field, ())]
    unique = len(values) >= _SEVERAL and len(set(values)) == len(values)
    burden = _has(field.field, "burdens") or _has(field.field, "less")
    if isinstance(field.value, bool):
        return 3 if field.value is not burden else 0
    if _has(field.field, "places") or (field.bound and _has(field.field, "left")):
        return 0
    if field.bound:
        return 2 if _has(field.field, "less") or _has(field.field, "more") else 1
    if field.sort != "is":
        return 3
    return 0 if unique else 1


def _values(things: Iterable[RecordThing], path: str) -> list[Json]:
    return [value for thing in things for value in thing.values.get(path, ())]


def _against(path: str, bad: Sequence[Json], good: Sequence[Json], clock: str) -> Iterator[FieldDifference]:
    """Yield the conditions of one field that may tell what is good from what is bad."""
    listed_in = any(isinstance(value, list) for value in (*bad, *good))
    if listed_in or ("*" in path.split(".") and _texts(good)):
        had, wanted = _members(bad), _members(good)
        sort: Sort = "has" if listed_in else "is"
        yield from (FieldDifference(path, sort, member) for member in wanted if member not in had)
        yield from (FieldDifference(path, sort, member, forbids=True) for member in had if member not in wanted)
    elif good and all(isinstance(value, bool) for value in good):
        yield FieldDifference(path, "is", good[0])
    elif (right := _figures(good)) and (wrong := _figures(bad)):
        yield from _bounded(path, right, wrong)
    elif any(opens(value, "12:00") is not None for value in good):
        if any(opens(value, clock) for value in good):
            yield FieldDifference(path, "open_at", clock)
    elif texts := _texts(good):
        yield FieldDifference(path, "is", texts[0] if len(texts) == 1 else tuple(texts))


def _alone(path: str, bad: Sequence[Json], words: str, clock: str) -> Iterator[FieldDifference]:
    """Yield the conditions of one field of a refused thing that the user's words may mean, where nothing was accepted."""
    denials = Denials(flat(words))
    if bad and all(isinstance(value, bool) for value in bad):
        field = FieldDifference(path, "is", not bad[0])
        phrases = [phrase for need in field.needs for phrase in (*need.words, *need.fields)]
        own = [word for word in key_words(path) if tells(word)]
        # "No wifi there", of what has some by its record, asks for no place without it.
        if not (bad[0] and any(denials.denies(*place) for place in places_of(words, (*own, *phrases)))):
            yield field
    elif figures := _figures(bad):
        less = _has(path, "less")
        if less or _has(path, "more"):
            value = max(figures) if less else min(figures)
            step = 1 if float(value).is_integer() else 0.1
            near = round(value - step if less else value + step, 6)
            open_end = float("-inf") if less else float("inf")
            yield FieldDifference(path, "most" if less else "least", near, limits=(open_end, value))
    elif any(opens(value, clock) is False for value in bad):
        yield FieldDifference(path, "open_at", clock)
    else:
        for text in _members(bad):
            if any(denials.denies(*place) for place in places_of(words, [text])):
                listed_in = any(isinstance(value, list) for value in bad)
                yield FieldDifference(path, "has" if listed_in else "is", text, forbids=True)


def _bounded(path: str, right: Sequence[float], wrong: Sequence[float]) -> Iterator[FieldDifference]:
    """Yield the bound that parts figures, in the direction that the field or, where that says nothing, the difference supports."""
    less, more = _has(path, "less"), _has(path, "more")
    if max(right) < max(wrong) and (less or not more):
        yield FieldDifference(path, "most", max(right), limits=(max(right), max(wrong)))
    if min(right) > min(wrong) and (more or not less):
        yield FieldDifference(path, "least", min(right), limits=(min(right), min(wrong)))


def _figures(values: Iterable[Json]) -> list[float]:
    return [value for value in values if is_figure(value)]


def _texts(values: Iterable[Json]) -> list[str]:
    texts = (value.strip() for value in values if isinstance(value, str))
    return list(dict.fromkeys(text for text in texts if 0 < len(text) <= _LONGEST_VALUE and not _DATED.fullmatch(text)))


def _members(values: Iterable[Json]) -> list[str]:
    """Return the texts in lists, each once."""
    members: list[str] = []
    for value in values:
        members += _texts(value if isinstance(value, list) else [value])
    return [member for index, member in enumerate(members) if not any(same(member, other) for other in members[:index])]


# -- the words that link needs to fields -------------------------------------------------------------------------------

_HAN = re.compile(r"[\u3400-\u9fff]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPLIT = re.compile(r"[^a-z0-9\u3400-\u9fff]+")
#: A Latin word of fewer letters names nothing by itself.
_LEAST_LATIN = 3
#: A longer word that ends in y also stands for the one without it.
_LEAST_STEM = 6
_SENTENCE = re.compile(r"[^.!?。！？;；\n]+(?:\.\d+[^.!?。！？;；\n]*)*[.!?。！？;；]*")


@dataclass(frozen=True)
class Need:
    """Something that people need: the names that fields of it have, words that state it, and signs of who has it."""

    name: str
    fields: tuple[str, ...]
    words: tuple[str, ...]
    signs: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Words that speak of it: those that state it, else those of its fields."""
        return self.words or self.fields


@cache
def all_needs() -> tuple[Need, ...]:
    """Return the needs of the data, in their order."""
    parts = ("fields", "words", "signs")
    needs = package_data(__package__, "needs.yaml")["needs"].items()
    return tuple(Need(name, *(tuple(need[part]) for part in parts)) for name, need in needs)


@cache
def listed(name: str) -> tuple[str, ...]:
    """Return one of the plain lists of words of the data."""
    return tuple(package_data(__package__, "needs.yaml")[name])


@cache
def wording(name: str) -> re.Pattern[str]:
    """Return what finds one of the patterns of the data under a name."""
    return re.compile("|".join(package_data(__package__, "needs.yaml")[name]), re.IGNORECASE)


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a field's name or path, folded: those of ``stepFree`` and ``step_free`` are step and free."""
    return tuple(word for word in _SPLIT.split(_CAMEL.sub(" ", name).lower()) if word)


def key_words(path: str) -> tuple[str, ...]:
    """Return the words of the last key of a dotted path, ``*`` apart."""
    return words_of(path.removesuffix(".*").rsplit(".", 1)[-1])


@lru_cache(maxsize=4096)
def needs_of(name: str) -> tuple[Need, ...]:
    """Return the needs that a field's name, or the text of a value, has to do with."""
    words, text = set(words_of(name)), fold_phrase(name)
    singular = words | {word.removesuffix("s") for word in words}
    return tuple(
        need
        for need in all_needs()
        if any(entry in text if _HAN.search(entry) else singular.issuperset(entry.split()) for entry in need.fields)
    )


def spoken(text: str, phrase: str) -> bool:
    """Return whether a text has a phrase: as whole words where it is Latin (a plain plural counts), anywhere where it is Chinese."""
    return _pattern(phrase).search(flat(text)) is not None


def places_of(text: str, phrases: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield where phrases stand in a text as ``flat`` gives it, start and end."""
    yield from (match.span() for phrase in phrases for match in _pattern(phrase).finditer(flat(text)))


def any_spoken(text: str, phrases: Iterable[str]) -> str:
    """Return the first of some phrases that a text has; nothing where it has none."""
    return next((phrase for phrase in phrases if spoken(text, phrase)), "")


@lru_cache(maxsize=512)
def flat(text: str) -> str:
    """Return a text folded, with blanks in the place of hyphens."""
    return fold_phrase(text).replace("-", " ").replace("_", " ")


@lru_cache(maxsize=4096)
def _pattern(phrase: str) -> re.Pattern[str]:
    folded, ending = flat(phrase), "(?:s|es)?"
    if len(folded) > _LEAST_STEM and folded.endswith("y"):
        folded, ending = folded[:-1], "(?:y|ies)?"  # difficulty: difficult
    folded = re.escape(folded)
    return re.compile(folded if _HAN.search(phrase) else rf"(?<![a-z0-9]){folded}{ending}(?![a-z0-9])")


def takes(tool: str) -> bool:
    """Return whether the name of a tool says that it takes a thing: ``book_table``."""
    return changes_something(tool) or not set(words_of(tool)).isdisjoint(listed("takes"))


def tells_of_user(tool: str) -> bool:
    """Return whether the name of a tool says that it tells of the user: ``get_user_profile``."""
    return not set(words_of(tool)).isdisjoint(listed("profiles"))


def tells(word: str) -> bool:
    """Return whether a word says something by itself: it is long enough, and none of those that stand in any text."""
    return (len(word) >= _LEAST_LATIN or bool(_HAN.search(word))) and word not in listed("weak")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, blanks around them cut off."""
    yield from (match[0].strip() for match in _SENTENCE.finditer(text) if match[0].strip())


def language_of(text: str) -> str:
    """Return ``zh`` for a text with Chinese signs, else ``en``."""
    return "zh" if _HAN.search(text) else "en"


def leaves_of(data: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Json]]:
    """Yield the plain values of JSON data, each with its dotted path; a list of plain values is one, members of others share the path ``*``."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from leaves_of(value, (*path, key))
    elif isinstance(data, list | tuple) and any(isinstance(part, Mapping | list) for part in data):
        for part in data:
            yield from leaves_of(part, (*path, "*"))
    else:
        yield ".".join(path), data


# -- fields in which a thing that was refused differs from one that was accepted, each as the condition that it would take to tell them apart

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
class EarlierText:
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

    def evidence(self, relevance: _Relevance) -> Evidence:
        """Return it as evidence that states a need, or is only a sign of it."""
        need: Literal["direct", "related"] = "direct" if relevance == "strong" else "related"
        return Evidence(text=self.quote, at=(self.place,), relevance=relevance, need=need)


def told_before(
    conversation: LoggedConversation, tools: Mapping[str, Tool], listing: Collection[str]
) -> Iterator[EarlierText]:
    """Give what an agent could have known from before it gave the reply that is judged.

    Args:
        conversation: the conversation.
        tools: the tools by name.
        listing: the names of the tools that returned the things themselves: what these are like tells nothing of the need.
    """
    context, at_query = conversation.context, conversation.query.place
    for text in context.history:
        yield from (EarlierText(at_query, "context", sentence) for sentence in sentences(text))
    for index, line in enumerate(conversation.lines[: conversation.reply_at + 1]):
        if line.role == "system" or (line.role == "user" and index <= conversation.query_at):
            asked = index == conversation.query_at
            yield from (EarlierText(line.place, "context", sentence, asked=asked) for sentence in sentences(line.text))
        for step in line.calls:
            profile = (step.tool in tools and tools[step.tool].profile) or tells_of_user(step.tool)
            if step.kind == "call" and step.status == "ok" and (profile or step.tool not in listing):
                source: Source = "profile" if profile else "environment"
                yield from (EarlierText(line.place, source, "", path, value) for path, value in leaves_of(step.result))


def support_for(field: FieldDifference, earlier: tuple[EarlierText, ...], known_at: str) -> FieldDifference:
    """Return a condition with what supports it, and with the bound that the evidence gives where it gives one.

    Args:
        field: the condition.
        earlier: what stood before the reply.
        known_at: the place that told the time that opening hours are held against; empty where none did.
    """
    bounded, kept, asked = field, [], False
    for part in earlier:
        relevance, figure = _relevance(field, part)
        if relevance is None:
            continue
        if figure is not None and bounded is field:
            bounded = field.with_figure(figure) or field
        if part.asked and (figure is not None or field.stated_in(part.text)):
            asked = True
        kept.append((part.source, part.evidence(relevance)))
    if not kept and field.sort == "open_at" and known_at:
        moment = Evidence(text=f"It is {field.value}", at=(known_at,), relevance="strong", need="direct")
        kept.append(("environment", moment))
    # What states the need comes before what is only a sign of it.
    kept.sort(key=lambda pair: pair[1].relevance != "strong")
    source: Source | Literal["unstated"] = kept[0][0] if kept else "unstated"
    evidence = tuple(evidence for _, evidence in kept[:_MOST])
    return replace(bounded, asked=asked, source=source, evidence=evidence)


def linked_to(support: FieldDifference, words: str, earlier: tuple[EarlierText, ...], returned: str) -> FieldDifference:
    """Return a condition without evidence with texts from before the reply that speak of what the objection speaks of.

    They share a name, or a pair of Chinese signs, that stands in no call and no result.
    """
    shared = {name for name in names_in(words) if name not in returned}
    texts = [part for part in earlier if part.text and names_in(part.text) & shared]
    if support.evidence or not texts:
        return support
    return replace(support, source=texts[0].source, evidence=tuple(part.evidence("weak") for part in texts[:_MOST]))


def _relevance(field: FieldDifference, earlier: EarlierText) -> tuple[_Relevance | None, float | None]:
    """Return how something supports a condition, None where it does not, and the figure that it gives for its bound."""
    if earlier.path:
        return _of_value(field, earlier)
    text = earlier.text
    if _INSTRUCTS.match(text) and not earlier.asked:
        return None, None
    related = bool(any_spoken(text, [phrase for need in field.needs for phrase in (*need.names, *need.signs)]))
    for figure in figures_in(text, field.sort, plain=related) if field.bound else ():
        if field.with_figure(figure):
            return "strong", figure
    stated = field.stated_in(text) or any(any_spoken(text, need.names) for need in field.own_needs)
    return ("strong" if stated else "weak" if related else None), None


def _of_value(field: FieldDifference, earlier: EarlierText) -> tuple[_Relevance | None, float | None]:
    """Return the same of a value in data: by its name and its value, or by words in a text."""
    key = earlier.path.removesuffix(".*").rsplit(".", 1)[-1]
    own = set(key_words(field.field))
    shares = bool({need.name for need in needs_of(key)} & {need.name for need in field.needs})
    shares = shares or bool(own & {word for word in words_of(key) if tells(word)})
    value = earlier.value
    if is_figure(value) and field.bound:
        return ("strong", value) if shares and field.with_figure(value) else (None, None)
    texts = [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, str)]
    phrases = [phrase for need in field.own_needs for phrase in (*need.words, *need.signs, *need.fields)]
    phrases += [field.text] if tells(field.text.lower()) else []
    if value and not shares and not field.text:  # what a person has by its name: daughter: 2
        texts.append(" ".join(words_of(earlier.path)))
    holds = any(text.strip() and (same(text, field.text) or any_spoken(text, phrases)) for text in texts)
    for figure in (figure for text in texts if field.bound for figure in figures_in(text, field.sort, plain=shares)):
        if field.with_figure(figure):
            return "strong", figure
    if isinstance(value, bool) and isinstance(field.value, bool) and shares:
        # A need by another name (wheelchair: true) asks for the field; the field's own name must have its value.
        holds = value == field.value or (value and own.isdisjoint(words_of(key)))
    return ("strong" if holds else None), None


# -- requirements that conditions become --------------------------------------------------------------------------------


def requirement_of(
    name: str,
    kind: Literal["asked", "hard", "soft"],
    text: str,
    where: Mapping[str, Match | Json],
    support: Mapping[str, Any] = MappingProxyType({}),
    *,
    forbids: bool = False,
    draft: bool = False,
) -> Requirement:
    """Return the requirement that all an answer recommends fits a condition, or that none of it does.

    Args:
        name: its id in the case.
        kind: ``asked`` where the query states it, ``hard`` where the user never did without it, else ``soft``.
        text: it in words, in the language of the case.
        where: by field of the thing that is proposed (a dotted path), the value or the match that it must have.
        support: ``source`` and ``evidence`` of what is not asked.
        forbids: whether nothing that is recommended may have them.
        draft: whether people have to decide on it.
    """
    parts = {"none_where": where} if forbids else {"only": True, "where": where}
    check = Recommends.model_validate({"kind": "recommends", **parts})
    return Requirement(id=name, kind=kind, text=text, check=check, draft=draft, **({} if kind == "asked" else support))
