"""Needs that a model proposes: it is asked three times at a query, its proposals are merged by agreement, and the log alone decides what may come of them.

What the statistics choose counts, whether a model proposes it or not. Whatever a model adds to that is a draft, and only where the log before the query bears
it out.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from pytest_mapsat.formats import PersonalData
from pytest_mapsat.judges import speaks_to_a_model
from pytest_mapsat.llm import OF_THE_REPLY, ModelClient, ModelError, Request, prompt
from pytest_mapsat.model import Evidence, Json, JsonObject, Usage, did_you_mean, digest
from pytest_mapsat.reading import fold_phrase

from .conversations import Conversation, Line
from .evidence import (
    Condition,
    Difference,
    Sort,
    Source,
    Thing,
    Told,
    bounds_of,
    is_figure,
    opens,
    profile_of,
    sentences,
    values_of,
)
from .habits import SHARE, Catalogue, Habit, Identified, Identifier, Moment
from .logs import Event, Place

T = TypeVar("T")
#: The greatest chance of choices that bear out a proposal: that of a single test, as others have chosen what is tested.
LIKELY = 0.05
#: What a model is shown.
_MOST_BEFORE, _MOST_EARLIER, _MOST_PROFILE, _MOST_FIELDS, _MOST_VALUES = 20, 15, 30, 40, 12
_OPS: Mapping[str, Sort] = {
    "is": "is",
    "has": "has",
    "at_least": "least",
    "at_most": "most",
    "open_at": "open_at",
    "open_now": "open_then",
    "within_m": "within_m",
    "by": "mode",
}
_NAMES = {sort: name for name, sort in _OPS.items()}


@dataclass(frozen=True)
class ProposedNeed:
    """A proposal that a person has to look at.

    Attributes:
        condition: the need.
        kind: hard or soft, as the choices show, else as most of the replies that have it say.
        evidence: first who proposes it and why, then the words that were typed or are on file.
        habit: how the choices keep it, where they bear it out.
        contradicted: whether another proposal, or a habit, cannot hold beside it.
    """

    condition: Condition
    kind: Literal["hard", "soft"]
    evidence: tuple[Evidence, ...]
    habit: Habit | None
    contradicted: bool


@dataclass(frozen=True)
class Proposed:
    """What came of the proposals at one query.

    Attributes:
        drafts: those that are left to a person.
        agreed: the habits that the model agrees on.
        doubted: the habits that it agrees against.
        refused: the others, each in words, with why.
    """

    drafts: tuple[ProposedNeed, ...] = ()
    agreed: tuple[Condition, ...] = ()
    doubted: frozenset[Condition] = frozenset()
    refused: tuple[tuple[str, str], ...] = ()


#: The texts of lines that a model is shown by their names, each with its places in the log; and the conditions of the catalogue by field.
_Texts = Mapping[str, tuple[str, tuple[str, ...]]]
_Fields = Mapping[str, list[Condition]]


class Proposer:
    """Asks a model for needs, and holds them against the log.

    Args:
        model: the model.
        places: the catalogue, by id.
        catalogue: the same by kind and town.

    Attributes:
        counts: how many replies there were, and how many could not be read.
        spent: what each cost.
    """

    def __init__(self, model: ProposingModel, places: Mapping[str, Place], catalogue: Catalogue) -> None:
        self._model = model
        self._places = places
        self._catalogue = catalogue
        self._identifier = Identifier(catalogue)
        self.counts: Counter[str] = Counter()
        self.spent: list[Usage] = []

    def propose(self, moment: Moment, identified: Identified, asked: Collection[str]) -> Proposed:
        """Return what comes of the proposals at a query.

        Args:
            moment: the query.
            identified: what the statistics show.
            asked: the fields that the query or its session states.

        Raises:
            ModelError: there is no way to the model, or a ceiling is met.
        """
        data, texts, fields = self._shown(moment)
        schema = schema_of([*_OPS], ["hard", "soft"])
        replies, spent = replies_to(self._model, data, schema, "propose", moment.language)
        self.counts.update({"replies": REPLIES, "replies that cannot be read": replies.count(None)})
        self.spent += spent
        together, unusable = proposals_in(replies, partial(self._meant, fields, moment))
        refused = list(dict.fromkeys((f"{need} {hint}".strip(), why) for need, why, hint in unusable))
        habits = [habit.condition for habit in identified.habits]
        ended = [out.condition for out in identified.left_out if out.why == "ended"]
        agreed: list[Condition] = []
        borne_out: dict[Condition, tuple[list[Vote], list[Evidence], Habit | None]] = {}
        for group in together:
            condition = middle(group)
            same = next((habit for habit in habits if alike(habit, condition)), None)
            if condition.field in asked:
                refused.append((condition.words("en"), "the query asks for it"))
            elif same is not None:
                agreed += [same] if votes_for(group) >= AGREED else []
            elif any(alike(each, condition) for each in ended):
                refused.append((condition.words("en"), "the user has ended it"))
            elif (evidence := self._borne_out(condition, group, texts, moment)) is None:
                refused.append((condition.words("en"), "nothing before the query bears it out"))
            else:
                borne_out[condition] = (group, *evidence)
        drafts: list[ProposedNeed] = []
        doubted: set[Condition] = set()
        for condition, (group, words, habit) in borne_out.items():
            rivals = [other for other in (*habits, *borne_out) if contradict(other, condition)]
            against = "".join(f"; against: {rival.words(moment.language)}" for rival in rivals)
            note = Evidence(text=who_proposes(self._model, group) + against)
            kind = habit.kind if habit else "hard" if kind_of(group) == "hard" else "soft"
            drafts.append(ProposedNeed(condition, kind, (note, *words), habit, bool(rivals)))
            doubted |= set(habits).intersection(rivals) if votes_for(group) >= AGREED else set()
        return Proposed(tuple(drafts), tuple(agreed), frozenset(doubted), tuple(refused))

    # -- what the model is shown

    def _shown(self, moment: Moment) -> tuple[JsonObject, _Texts, _Fields]:
        """Return the data for the model, with the texts and conditions in them."""
        session, user = moment.session, moment.user.log
        before = _named("B", moment.before[-_MOST_BEFORE:])
        # What was said tells more than what was searched for, of which there is much.
        start = session.events[0].at
        texts = {event.text: event for event in user.events if event.text and event.at < start}
        ranked = sorted(texts.values(), key=lambda event: (event.type == "say", event.at))[-_MOST_EARLIER:]
        earlier = _named("E", sorted(ranked, key=lambda event: event.at))
        listed = {key: value for key, value in user.profile.items() if key != "uid"}
        on_file = [f"{key}: {json.dumps(value, ensure_ascii=False)[:LONGEST]}" for key, value in listed.items()]
        profile = _named("P", on_file[:_MOST_PROFILE])
        fields, rows = self._attributes(moment)
        data: JsonObject = {
            "query": moment.query.text[:LONGEST],
            "at": moment.query.moment,
            "kind": session.kind,
            "town": moment.now.place.city,
            "filters": [dict(event.where) for event in session.filters],
            "before": [{"line": name, event.type: self._done(event)} for name, event in before.items()],
            "earlier": [
                {"line": name, "on": event.moment[:10], event.type: event.text[:LONGEST]}
                for name, event in earlier.items()
            ],
            "profile": [{"line": name, "on file": text} for name, text in profile.items()],
            "choices": len(moment.of_kind),
            "attributes": [{"line": name, **row} for name, row in _named("A", rows).items()],
        }
        typed = {name: (event.text, (event.line,)) for name, event in (before | earlier).items()}
        filed: dict[str, tuple[str, tuple[str, ...]]] = {name: (text, ()) for name, text in profile.items()}
        return data, typed | filed, fields

    def _done(self, event: Event) -> Json:
        if not event.place:
            return event.text[:LONGEST] or dict(event.where)
        row = self._places[event.place].row
        return {key: value for key, value in row.items() if key not in ("id", "name", "lon", "lat")}

    def _attributes(self, moment: Moment) -> tuple[dict[str, list[Condition]], list[JsonObject]]:
        """Return the conditions that the catalogue has, by field, and a row for each field with the choices that fit."""
        part = self._catalogue.part(moment.session.kind, moment.now.place.city)
        choices = moment.of_kind
        fields: dict[str, list[Condition]] = {}
        figures: dict[str, list[float]] = {}
        for place in part:
            for condition in values_of(place):
                fields.setdefault(condition.field, []).append(condition)
            for name, figure in place.row.items():
                if is_figure(figure) and name not in ("lon", "lat"):
                    figures.setdefault(name, []).append(float(str(figure)))
        fields = {name: [*dict.fromkeys(fields.get(name, ()))] for name in (*fields, *figures)}
        for (name, _), bounds in bounds_of(choices).items():
            fields.setdefault(name, []).extend(bounds)
        for mode in dict.fromkeys(choice.mode for choice in choices if choice.mode):
            fields.setdefault("mode", []).append(Condition("mode", "mode", mode))
        rows: list[JsonObject] = []
        for name in [*fields][:_MOST_FIELDS]:
            kept = {each: sum(each.fits(choice.place, choice) for choice in choices) for each in fields[name]}
            told = sorted(kept, key=lambda condition: (-kept[condition], str(condition.value)))[:_MOST_VALUES]
            values = figures.get(name)
            there = {} if values is None else {"there": [min(values), median(values), max(values)]}
            habits = [self._identifier.measured(condition, choices) for condition in told]
            rows.append({"field": name, **there, "values": [*map(_counted, habits)]})
        return fields, rows

    # -- what can be used of a reply

    def _meant(self, fields: _Fields, moment: Moment, name: str, op: str, text: str) -> Condition:
        """Return the condition that a proposal means.

        Raises:
            RefusedError: the catalogue has no such field or value, the value is no figure, time of day or distance, or it parts no places.
        """
        sort = _OPS.get(op)
        if sort is None:
            raise RefusedError(f"op is none of {', '.join(_OPS)}")
        if name not in fields and sort != "within_m":
            raise RefusedError("the catalogue has no such field", did_you_mean(name, fields))
        if sort in ("is", "has", "mode"):
            # A list has members and a text has a value: which of the two is meant follows from the catalogue.
            listed = (each for each in fields[name] if each.sort in ("is", "has", "mode"))
            condition = listed_as({value_text(each.value): each for each in listed}, text, "the catalogue has")
        elif sort == "open_then":
            condition = Condition(name, sort)
        else:
            condition = Condition("distance" if sort == "within_m" else name, sort, value_in(sort, text))
            if sort == "within_m" and moment.now.point is None:
                raise RefusedError("the log does not say where the user was")
        part = self._catalogue.part(moment.session.kind, moment.now.place.city)
        fitting = sum(condition.fits(place, moment.now) for place in part)
        if condition.sort != "mode" and fitting in (0, len(part)):
            raise RefusedError(f"{'every' if fitting else 'no'} place of the kind fits it")
        return condition

    def _borne_out(
        self, condition: Condition, group: Sequence[Vote], texts: _Texts, moment: Moment
    ) -> tuple[list[Evidence], Habit | None] | None:
        """Return the words and the choices before the query that bear a need out; None where there are neither.

        Choices do where by themselves the offer does not explain them: those of the kind, else those of all kinds. Words do that the replies name, and that do not
        speak to a model.
        """
        names = dict.fromkeys(name for vote in group for name in vote.lines)
        named = [texts[name] for name in names if name in texts]
        words = [
            Evidence(text=text[:LONGEST], at=at, relevance="weak")
            for text, at in named
            if text and not speaks_to_a_model(text)
        ]
        for choices in (moment.of_kind, moment.choices if condition.spans_kinds else ()):
            habit = self._identifier.measured(condition, choices)
            if habit.count > 1 and habit.chance <= LIKELY and habit.share >= SHARE and not habit.ended:
                return words, habit
        if profile_of(moment.user.log.profile, condition):
            words.append(Evidence(text="profile", relevance="strong"))
        return (words, None) if words else None


def _named(letter: str, lines: Sequence[T]) -> dict[str, T]:
    return {f"{letter}{number}": line for number, line in enumerate(lines, 1)}


def _counted(habit: Habit) -> JsonObject:
    """Return a condition as a model is shown it, with how many choices keep it."""
    shown: JsonObject = {"op": _NAMES[habit.condition.sort], "value": habit.condition.value}
    return {**shown, "chosen": habit.count, "expected": round(sum(habit.shares), 1)} if habit.kept else shown


def contradict(first: Condition, other: Condition) -> bool:
    """Return whether two conditions on one field cannot both be meant: different values, other bounds, bounds with nothing between."""
    if first.field != other.field or alike(first, other):
        return False
    if first.sort == other.sort:
        return first.sort != "has"
    bounds = {first.sort: rank(first), other.sort: rank(other)}
    return bounds.keys() == {"least", "most"} and bounds["least"] > bounds["most"]


# -- several answers of the model, merged by agreement -----------------------------------------------------------------

#: How often a model is asked, and in how many of its replies a proposal must stand to be agreed on.
REPLIES, AGREED = 3, 2
#: The most characters of one text that a model is shown, or that is read of its reply.
LONGEST = 300
_MOST_NEEDS, _MOST_LINES = 20, 12
#: Figures agree where the smaller has this share of the larger, times of day where they lie within so many minutes.
_ALIKE, _ALIKE_MINUTES = 0.8, 60
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_TEXT: JsonObject = {"type": "string"}
Kind = Literal["asked", "hard", "soft"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class ProposingModel:
    """A model that proposes needs: the way to it, its name as litellm knows it, and its sampling parameters."""

    client: ModelClient
    name: str
    parameters: Mapping[str, Json] = field(default_factory=dict)


class RefusedError(Exception):
    """A proposal is of no use; the message says why. ``hint``: what may have been meant."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.hint = hint


class Vote(NamedTuple):
    """One proposal: the number of its reply, the need, and the names of the lines that are said to bear it out."""

    reply: int
    condition: Condition
    kind: Kind
    why: str
    lines: tuple[str, ...]


def schema_of(ops: Sequence[str], kinds: Sequence[Kind], **before: JsonObject) -> JsonObject:
    """Return the form of a reply: ``before``, and a list of needs. The reason of a need comes first: what is written first is thought first."""
    one_of: JsonObject = {"why": _TEXT, "lines": {"type": "array", "items": _TEXT}, "field": _TEXT}
    one_of |= {"op": {**_TEXT, "enum": [*ops]}, "value": _TEXT, "kind": {**_TEXT, "enum": [*kinds]}}
    need: JsonObject = {"type": "object", "properties": one_of, "required": [*one_of], "additionalProperties": False}
    parts: JsonObject = {**before, "needs": {"type": "array", "items": need}}
    return {"type": "object", "properties": parts, "required": [*parts], "additionalProperties": False}


def replies_to(
    model: ProposingModel, data: JsonObject, schema: JsonObject, name: str, language: str
) -> tuple[list[JsonObject | None], list[Usage]]:
    """Ask a model three times what it makes of data, and return of each reply the object that it is, None where it cannot be read, and what each request cost.

    It is told so by a prompt, and shown the data between fences with a digest of them, which no text in them can know. Personal data are replaced.

    Args:
        model: the model.
        data: what it is shown.
        schema: the form of a reply.
        name: the name of the prompt.
        language: ``en`` or ``zh``.

    Raises:
        ModelError: there is no way to the model, or a ceiling is met.
    """
    personal = PersonalData()
    personal.look(data, "log")
    cleaned = personal.clean(data)
    members = cleaned.items() if isinstance(cleaned, dict) else ()
    text = "{\n" + ",\n".join(f"{json.dumps(key)}: {_lines(value)}" for key, value in members) + "\n}"
    fence = f"=== {digest(text, 12)} ==="
    request = Request(
        model=model.name,
        messages=(
            {"role": "system", "content": prompt(name, language).fill(fence=fence)},
            {"role": "user", "content": f"{fence}\n{text}\n{fence}"},
        ),
        schema_=schema,
        parameters=dict(model.parameters),
        purpose="builder",
    )
    votes = [request.model_copy(update={"vote": number}) for number in range(1, REPLIES + 1)]
    with ThreadPoolExecutor(max_workers=REPLIES) as pool:
        replies = list(pool.map(lambda vote: _reply(model, vote, language), votes))
    return [reply for reply, _ in replies], [usage for _, spent in replies for usage in spent]


def _reply(model: ProposingModel, request: Request, language: str) -> tuple[JsonObject | None, list[Usage]]:
    """Return one reply, and what it cost; None where it cannot be read the second time either."""
    spent: list[Usage] = []
    messages = request.messages
    for _ in range(2):
        try:
            answer = model.client.ask(request)
        except ModelError as error:
            if error.kind not in OF_THE_REPLY or error.kind == "too_long":
                raise
            spent.append(error.usage)
            problem, before = str(error), []
        else:
            spent.append(answer.usage)
            if answer.data is not None and isinstance(answer.data.get("needs"), list):
                return answer.data, spent
            problem, before = 'it has no list "needs"', [{"role": "assistant", "content": answer.text}]
        again = prompt("propose_again", language).fill(problem=problem)
        asked = (*messages, *before, {"role": "user", "content": again})
        request = request.model_copy(update={"messages": asked})
    return None, spent


def _lines(value: Json) -> str:
    """Return JSON data, with the members of a list on lines of their own."""
    if not isinstance(value, list) or not value:
        return json.dumps(value, ensure_ascii=False)
    return "[\n" + ",\n".join(json.dumps(member, ensure_ascii=False) for member in value) + "\n]"


# -- what is read of a reply


def proposals_in(
    replies: Sequence[JsonObject | None], meant: Callable[[str, str, str], Condition]
) -> tuple[list[list[Vote]], list[tuple[str, str, str]]]:
    """Return the proposals of all replies that can be used, those that are alike together, and the others: each in words, why, and what may have been meant.

    Args:
        replies: the replies.
        meant: returns the condition that field, operation and value of a proposal mean; it raises RefusedError where they mean none.
    """
    together: list[list[Vote]] = []
    refused: list[tuple[str, str, str]] = []
    for number, reply in enumerate(replies, 1):
        needs = (reply or {}).get("needs")
        for need in needs[:_MOST_NEEDS] if isinstance(needs, list) else ():
            if not isinstance(need, dict):
                refused.append((text_in({"": str(need)}, "")[:60], "it is no object", ""))
                continue
            words = [text_in(need, key) for key in ("field", "op", "value")]
            try:
                condition = meant(*words)
            except RefusedError as error:
                refused.append((" ".join(word[:60] for word in words), str(error), error.hint))
                continue
            kind: Kind = next((kind for kind in KINDS if kind == need.get("kind")), "soft")
            listed = need.get("lines")
            named = listed[:_MOST_LINES] if isinstance(listed, list) else ()
            lines = tuple(name for name in named if isinstance(name, str))
            vote = Vote(number, condition, kind, text_in(need, "why"), lines)
            group = next((group for group in together if alike(group[0].condition, condition)), None)
            if group is None:
                together.append([vote])
            else:
                group.append(vote)
    return together, refused


def listed_as(values: Mapping[str, T], text: str, where: str) -> T:
    """Return the value that a reply writes. Raises RefusedError: it is none of those that ``where`` (the catalogue has, the records have)."""
    if text.casefold() not in values:
        raise RefusedError(f"{where} no such value", did_you_mean(text, values))
    return values[text.casefold()]


def text_in(reply: Mapping[str, Any], key: str) -> str:
    """Return a text of a reply on one line; numbers and truth values as texts."""
    value = reply.get(key)
    value = json.dumps(value) if isinstance(value, (bool, int, float)) else value
    text = value[:LONGEST] if isinstance(value, str) else ""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def value_in(sort: Sort, text: str) -> str | float:
    """Return the time of day or the figure of a condition, as a reply has it.

    Raises:
        RefusedError: it is none.
    """
    if sort == "open_at":
        if not _CLOCK.fullmatch(text):
            raise RefusedError("the value is no time of day")
        return text
    try:
        figure = float(text)
    except ValueError:
        figure = math.nan
    if not math.isfinite(figure):
        raise RefusedError("the value is no figure")
    return figure


def value_text(value: Json) -> str:
    """Return a value as a model writes it."""
    return (value if isinstance(value, str) else json.dumps(value)).casefold()


# -- agreement


def votes_for(group: Sequence[Vote]) -> int:
    """Return in how many replies a proposal stands."""
    return len({vote.reply for vote in group})


def kind_of(group: Sequence[Vote]) -> Kind:
    """Return the kind that most of the replies that have a proposal give it; soft where most give it none."""
    return next((kind for kind in KINDS if 2 * sum(vote.kind == kind for vote in group) > len(group)), "soft")


def who_proposes(model: ProposingModel, group: Sequence[Vote]) -> str:
    """Return who proposes a need, in how many replies, and why."""
    return f"{model.name}, {votes_for(group)} of {REPLIES} replies: {group[0].why}"


def middle(group: Sequence[Vote]) -> Condition:
    """Return the need of proposals that are alike; of figures and times of day the one in the middle."""
    return sorted((vote.condition for vote in group), key=rank)[(len(group) - 1) // 2]


def rank(condition: Condition) -> float:
    """Return the value of a bound as a figure, of a time of day in minutes; 0 for what has no order."""
    if condition.sort in ("least", "most", "within_m"):
        return float(condition.value or 0)
    if condition.sort == "open_at":
        hours, minutes = str(condition.value).split(":")
        return int(hours) * 60 + int(minutes)
    return 0.0


def alike(first: Condition, other: Condition) -> bool:
    """Return whether two conditions are the same need: figures and times of day may differ a little."""
    if (first.field, first.sort, first.forbids) != (other.field, other.sort, other.forbids):
        return False
    low, high = sorted((rank(first), rank(other)))
    if first.sort == "open_at":
        return high - low <= _ALIKE_MINUTES
    return first.value == other.value or 0 < _ALIKE * high <= low


# -- what a model reads in a user's words ------------------------------------------------------------------------------

#: What a model is shown: lines before the judged reply and behind it, things and their fields, values of one field or result, characters of a message.
_LINES_BEFORE, _LINES_BEHIND, _THINGS = 100, 40, 20
_FIELDS, _VALUES, _LONGEST = 40, 20, 1500
#: What it may say of a field: operations of logs, of which some may be turned round.
_READ_OPS = ("is", "is_not", "has", "has_not", "at_least", "at_most", "open_at")
_SCHEMA = schema_of(_READ_OPS, KINDS, refused=_TEXT, accepted={"anyOf": [_TEXT, {"type": "null"}]})
_Row = tuple[str, str, Told | None]


class ModelReading(NamedTuple):
    """What replies of a model come to.

    Attributes:
        refused: what the judged reply recommended and the user refused; None for nothing.
        accepted: what was taken.
        supports: the needs with what told them.
        notes: who proposes each, and what was refused.
    """

    refused: Thing | None
    accepted: tuple[Thing, ...]
    supports: tuple[Difference, ...]
    notes: tuple[str, ...]


def read_by_model(
    model: ProposingModel,
    conversation: Conversation,
    told: Sequence[Told],
    things: Mapping[str, Thing],
    by_rules: tuple[tuple[Thing, ...], tuple[Thing, ...]],
) -> ModelReading | str:
    """Ask a model three times, and hold its replies against the records and lines. Return why not, where nothing can be read.

    Args:
        model: the model.
        conversation: the conversation.
        told: what stood before the judged reply.
        things: what tools returned, by key.
        by_rules: what rules find to be refused and taken: it holds where no two replies agree on another thing.

    Raises:
        ModelError: there is no way to the model, or a ceiling is met.
    """
    if not things:
        return f"{model.name} is not asked: no result has a thing with a name"
    data, lines = _shown(conversation, told, things)
    replies, _ = replies_to(model, data, _SCHEMA, "propose_conversation", conversation.language)
    if not any(replies):
        return f"{model.name}: no reply can be read: the rules decide"
    notes: dict[str, None] = {}
    refused = _agreed(replies, "refused", things, by_rules[0], notes)
    accepted = _agreed(replies, "accepted", things, by_rules[1], notes)
    # What a later reply recommended and the user refused, too, is left to the rules.
    later = [thing for thing in by_rules[0] if refused and thing not in (*refused, *accepted)]
    meant = partial(_meant, things, ([*refused, *later], accepted))
    together, unusable = proposals_in(replies, meant)
    for need, why, hint in unusable:
        notes[f"{model.name}: {need}: refused: {why} {hint}".strip()] = None
    supports: list[Difference] = []
    for group in together:
        condition = Difference(**vars(middle(group)))
        supports.append(_support(condition, group, lines, note := who_proposes(model, group)))
        notes[f"{condition.field}: {note}"] = None
    return ModelReading(refused[0] if refused else None, accepted, tuple(supports), tuple(notes))


# -- what the model is shown


def _shown(
    conversation: Conversation, told: Sequence[Told], things: Mapping[str, Thing]
) -> tuple[JsonObject, dict[str, Told]]:
    """Return the data for the model, and by the name of its line what an agent could have known from before the reply."""
    places = {line.place for line in conversation.lines}
    known = [part for part in told if part.place not in places][:_LINES_BEFORE]
    if conversation.context.now:
        known.append(Told(conversation.query.place, "environment", "", "now", conversation.context.now))
    before: list[_Row] = []
    behind: list[_Row] = []
    for index, line in enumerate(conversation.lines):
        steps = (step for step in line.calls if step.kind == "call")
        texts = (f"{step.tool} {json.dumps(step.arguments, ensure_ascii=False)}"[:LONGEST] for step in steps)
        calls: list[_Row] = [("call", text, None) for text in texts]
        spoken: list[_Row] = [(line.role, line.text[:_LONGEST], None)] if line.text else []
        if index > conversation.reply_at:
            behind += [*calls, *spoken]
            continue
        parts = [part for part in told if part.place == line.place]
        results: list[_Row] = [("result", part.quote, part) for part in parts if part.path]
        if line.role == "agent":
            before += [*calls, *results[:_VALUES], *(spoken if index < conversation.reply_at else ())]
        else:
            before += [*_told_by(line, parts, is_query=index == conversation.query_at), *calls, *results[:_VALUES]]
    judged = conversation.lines[conversation.reply_at]
    rows: list[_Row] = [("context", part.quote, part) for part in known]
    rows += [*before[-_LINES_BEFORE:], (judged.role, judged.text[:_LONGEST], None)]
    reply = len(rows)
    rows += behind[:_LINES_BEHIND]
    named = {f"L{number}": row for number, row in enumerate(rows, 1)}
    words = fold_phrase(" ".join(text for _, text, _ in rows))
    ranked = sorted(things.values(), key=lambda thing: fold_phrase(thing.name) not in words)
    data: JsonObject = {
        "query": [name for name, (_, _, part) in named.items() if part is not None and part.asked],
        "reply": f"L{reply}",
        "lines": [{"line": name, who: text} for name, (who, text, _) in named.items()],
        "records": [{"name": thing.name, **_record(thing)} for thing in ranked[:_THINGS]],
    }
    return data, {name: part for name, (_, _, part) in named.items() if part is not None}


def _told_by(line: Line, parts: Sequence[Told], *, is_query: bool) -> list[_Row]:
    """Return the sentences of a message before the reply; what the user answered on the way to it was known, too."""
    texts = [part for part in parts if not part.path]
    if line.role == "user" and not texts:
        texts = [Told(line.place, "context", text) for text in sentences(line.text)]
    return [(line.role if part.asked or not is_query else "history", part.text[:LONGEST], part) for part in texts]


def _record(thing: Thing) -> JsonObject:
    """Return a record by field; lists and texts are cut."""
    fields = [*thing.values.items()][:_FIELDS]
    return {path: _cut(values[0] if len(values) == 1 else list(values)) for path, values in fields}


def _cut(value: Json) -> Json:
    if isinstance(value, list):
        return [_cut(member) for member in value[:_VALUES]]
    return value[:LONGEST] if isinstance(value, str) else value


# -- what can be used of the replies


def _agreed(
    replies: Sequence[JsonObject | None],
    key: Literal["refused", "accepted"],
    things: Mapping[str, Thing],
    by_rules: tuple[Thing, ...],
    notes: dict[str, None],
) -> tuple[Thing, ...]:
    """Return the thing that at least two replies name, nothing where they name nothing; what the rules find where they do not agree."""
    counts: Counter[str] = Counter()
    names = {fold_phrase(thing.name): known for known, thing in things.items()}
    for reply in replies:
        if reply is None:
            continue
        name = text_in(reply, key)
        if name and fold_phrase(name) not in names:
            hint = did_you_mean(name, [thing.name for thing in things.values()])
            notes[f"{key}: {name}: no record has this name {hint}".strip()] = None
        else:
            counts[names[fold_phrase(name)] if name else ""] += 1
    best, count = counts.most_common(1)[0] if counts else ("", 0)
    if count < AGREED:
        notes[f"{key}: no two of {REPLIES} replies agree: {', '.join(thing.name for thing in by_rules) or 'none'}, by the rules"] = None  # fmt: skip
        return by_rules
    # Several things may have been refused or taken: the one that is named among them leaves the others.
    return by_rules if best in {thing.key for thing in by_rules} else (things[best],) if best else ()


def _meant(
    things: Mapping[str, Thing], apart: tuple[Sequence[Thing], Sequence[Thing]], path: str, op: str, text: str
) -> Condition:
    """Return the condition that a proposal means.

    Raises:
        RefusedError: the records do not have it, or it does not tell what was refused from what was taken (``apart``).
    """
    if op not in _READ_OPS:
        raise RefusedError(f"op is none of {', '.join(_READ_OPS)}")
    values = [value for thing in things.values() for value in thing.values.get(path, ()) if value is not None]
    if not values:
        paths = {name for thing in things.values() for name in thing.values}
        raise RefusedError("the records have no such field", did_you_mean(path, paths))
    forbids, sort = op.endswith("_not"), _OPS[op.removesuffix("_not")]
    if sort in ("is", "has"):
        # Which of the two is meant follows from what the field has.
        parts = [part for each in values for part in (each if isinstance(each, list) else [each])]
        parts += [True, False] if any(isinstance(part, bool) for part in parts) else []
        plain = {value_text(part): part for part in parts if isinstance(part, str | bool | int | float)}
        value = listed_as(plain, text, "the records have")
        sort = "has" if any(isinstance(each, list) for each in values) else "is"
        if isinstance(value, bool) and forbids:
            sort, value, forbids = "is", not value, False
    else:
        value = value_in(sort, text)
        if sort == "open_at" and all(opens(part, text) is None for part in values):
            raise RefusedError("the field has no opening hours")
        if sort != "open_at" and not any(is_figure(part) for part in values):
            raise RefusedError("the field has no figures")
    condition = Difference(path, sort, value, forbids)
    refused, accepted = apart
    if not refused:
        raise RefusedError("nothing was refused")
    if all(condition.kept_by(thing) for thing in refused):
        raise RefusedError("what was refused keeps it")
    if any(condition.kept_by(thing) is False for thing in accepted):
        raise RefusedError("what was taken breaks it")
    return Condition(path, sort, value, forbids)


def _support(condition: Difference, group: Sequence[Vote], lines: Mapping[str, Told], note: str) -> Difference:
    """Return a need with who proposes it, and with the lines that told it before the reply, quoted from the log.

    A line that two replies name is a strong sign, else a weak one; one that speaks to a model tells nothing.
    """
    votes = Counter(name for vote in group for name in dict.fromkeys(vote.lines) if name in lines)
    told = {name: lines[name] for name in votes if not speaks_to_a_model(lines[name].quote)}
    kind, asked = kind_of(group), any(part.asked for part in told.values())
    quotes = [part.evidence("strong" if votes[name] >= AGREED else "weak") for name, part in told.items()]
    source: Source | Literal["unstated"] = next((part.source for part in told.values()), "unstated")
    evidence = (Evidence(text=note), *quotes) if quotes else ()
    required: Literal["hard", "soft"] = "soft" if kind == "soft" else "hard"
    return replace(condition, asked=kind == "asked" and asked, source=source, evidence=evidence, kind=required)
