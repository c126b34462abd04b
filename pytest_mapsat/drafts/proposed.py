"""Needs that a model proposes: it is asked three times at a query, its proposals are merged by agreement, and the log alone decides what may come of them.

What the statistics choose counts, whether a model proposes it or not. Whatever a model adds to that is a draft, and only where the log before the query bears
it out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, NamedTuple, TypeVar

from pytest_mapsat.judges import speaks_to_a_model
from pytest_mapsat.model import Evidence, Json, JsonObject, Usage, did_you_mean

from .agreement import (
    AGREED,
    LONGEST,
    ProposingModel,
    RefusedError,
    Vote,
    alike,
    groups,
    in_words,
    kind_of,
    lines_in,
    middle,
    needs_in,
    rank,
    replies_to,
    schema_of,
    text_in,
    value_in,
    value_text,
    votes_for,
    who_proposes,
)
from .conditions import Choice, Condition, Sort, bounds_of, is_figure, profile_of, values_of
from .habits import SHARE, Catalogue, Habit, Identified, Identifier
from .logs import Event, Place
from .sessions import Session

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
_SCHEMA = schema_of([*_OPS], ["hard", "soft"])


@dataclass(frozen=True)
class Moment:
    """A query, and what was known when it was asked.

    Attributes:
        session: its session, of which only what stands before the query is looked at, and the filters that come with it.
        query: the query.
        language: ``en`` or ``zh``.
        city: the town.
        profile: the profile of the user.
        choices: what the user took before, by time.
        earlier: what the user searched for and said before the session, by time.
        asked: the fields that the query or its session states.
        now: the circumstances of the query; its place is not looked at.
        identified: what the statistics show.
        identifier: the statistics.
    """

    session: Session
    query: Event
    language: str
    city: str
    profile: JsonObject
    choices: tuple[Choice, ...]
    earlier: tuple[Event, ...]
    asked: frozenset[str]
    now: Choice
    identified: Identified
    identifier: Identifier

    @property
    def of_kind(self) -> list[Choice]:
        """The choices of the kind of place that the session is about."""
        return [choice for choice in self.choices if choice.place.kind == self.session.kind]


@dataclass(frozen=True)
class ProposedNeed:
    """A proposal that a person has to look at.

    Attributes:
        condition: the need.
        kind: hard or soft, as most of the replies that have it say.
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


class _Shown(NamedTuple):
    """What a model is shown: the data, the texts of lines by their names, each with its places in the log, and the conditions of the catalogue by field."""

    data: JsonObject
    texts: Mapping[str, tuple[str, tuple[str, ...]]]
    fields: Mapping[str, list[Condition]]


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
        self.counts: Counter[str] = Counter()
        self.spent: list[Usage] = []

    def propose(self, moment: Moment) -> Proposed:
        """Return what comes of the proposals at a query.

        Raises:
            ModelError: there is no way to the model, or a ceiling is met.
        """
        shown = self._shown(moment)
        replies = replies_to(self._model, shown.data, _SCHEMA, "propose", moment.language)
        self.counts += replies.counts
        self.spent += replies.spent
        votes: list[Vote] = []
        refused: dict[tuple[str, str], None] = {}
        for number, reply in enumerate(replies.data, 1):
            for need in needs_in(reply):
                try:
                    votes.append(self._vote(number, need, shown, moment))
                except RefusedError as error:
                    refused[f"{in_words(need)} {error.hint}".strip(), str(error)] = None
        return self._settled(votes, shown, moment, list(refused))

    # -- what the model is shown

    def _shown(self, moment: Moment) -> _Shown:
        session = moment.session
        before = _named("B", session.events[: session.query_at][-_MOST_BEFORE:])
        # What was said tells more than what was searched for, of which there is much.
        texts = {event.text: event for event in moment.earlier}
        ranked = sorted(texts.values(), key=lambda event: (event.type == "say", event.at))[-_MOST_EARLIER:]
        earlier = _named("E", sorted(ranked, key=lambda event: event.at))
        listed = {key: value for key, value in moment.profile.items() if key != "uid"}
        on_file = [f"{key}: {json.dumps(value, ensure_ascii=False)[:LONGEST]}" for key, value in listed.items()]
        profile = _named("P", on_file[:_MOST_PROFILE])
        fields, rows = self._attributes(moment)
        data: JsonObject = {
            "query": moment.query.text[:LONGEST],
            "at": moment.query.moment,
            "kind": session.kind,
            "town": moment.city,
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
        return _Shown(data, typed | filed, fields)

    def _done(self, event: Event) -> Json:
        if not event.place:
            return event.text[:LONGEST] or dict(event.where)
        row = self._places[event.place].row
        return {key: value for key, value in row.items() if key not in ("id", "name", "lon", "lat")}

    def _attributes(self, moment: Moment) -> tuple[dict[str, list[Condition]], list[JsonObject]]:
        """Return the conditions that the catalogue has, by field, and a row for each field with the choices that fit."""
        part = self._catalogue.part(moment.session.kind, moment.city)
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
            habits = [moment.identifier.measured(condition, choices) for condition in told]
            rows.append({"field": name, **there, "values": [*map(_counted, habits)]})
        return fields, rows

    # -- what can be used of a reply

    def _vote(self, reply: int, need: Any, shown: _Shown, moment: Moment) -> Vote:
        """Return one proposal. Raises RefusedError."""
        if not isinstance(need, dict):
            raise RefusedError("it is no object")
        condition = _condition(need, shown, moment)
        part = self._catalogue.part(moment.session.kind, moment.city)
        fitting = sum(condition.fits(place, moment.now) for place in part)
        if condition.sort != "mode" and fitting in (0, len(part)):
            raise RefusedError(f"{'every' if fitting else 'no'} place of the kind fits it")
        return Vote(
            reply, condition, "hard" if need.get("kind") == "hard" else "soft", text_in(need, "why"), lines_in(need)
        )

    def _settled(
        self, votes: Sequence[Vote], shown: _Shown, moment: Moment, refused: list[tuple[str, str]]
    ) -> Proposed:
        """Return what comes of each proposal: the statistics decide what counts, and the log what is a draft."""
        habits = [habit.condition for habit in moment.identified.habits]
        ended = [out.condition for out in moment.identified.left_out if out.why == "ended"]
        agreed: list[Condition] = []
        borne_out: dict[Condition, tuple[list[Vote], list[Evidence], Habit | None]] = {}
        for group in groups(votes):
            condition = middle(group)
            same = next((habit for habit in habits if alike(habit, condition)), None)
            if condition.field in moment.asked:
                refused.append((condition.words("en"), "the query asks for it"))
            elif same is not None:
                agreed += [same] if votes_for(group) >= AGREED else []
            elif any(alike(each, condition) for each in ended):
                refused.append((condition.words("en"), "the user has ended it"))
            elif (evidence := self._borne_out(condition, group, shown, moment)) is None:
                refused.append((condition.words("en"), "nothing before the query bears it out"))
            else:
                borne_out[condition] = (group, *evidence)
        drafts: list[ProposedNeed] = []
        doubted: set[Condition] = set()
        for condition, (group, words, habit) in borne_out.items():
            rivals = [other for other in (*habits, *borne_out) if contradict(other, condition)]
            against = "".join(f"; against: {rival.words(moment.language)}" for rival in rivals)
            note = Evidence(text=who_proposes(self._model, group) + against)
            kind: Literal["hard", "soft"] = "hard" if kind_of(group) == "hard" else "soft"
            drafts.append(ProposedNeed(condition, kind, (note, *words), habit, bool(rivals)))
            doubted |= set(habits).intersection(rivals) if votes_for(group) >= AGREED else set()
        return Proposed(tuple(drafts), tuple(agreed), frozenset(doubted), tuple(refused))

    def _borne_out(
        self, condition: Condition, group: Sequence[Vote], shown: _Shown, moment: Moment
    ) -> tuple[list[Evidence], Habit | None] | None:
        """Return the words and the choices before the query that bear a need out; None where there are neither.

        Choices do where by themselves the offer does not explain them: those of the kind, else those of all kinds. Words do that the replies name, and that do not
        speak to a model.
        """
        names = dict.fromkeys(name for vote in group for name in vote.lines)
        named = [shown.texts[name] for name in names if name in shown.texts]
        words = [
            Evidence(text=text[:LONGEST], at=at, relevance="weak")
            for text, at in named
            if text and not speaks_to_a_model(text)
        ]
        for choices in (moment.of_kind, moment.choices if condition.spans_kinds else ()):
            habit = moment.identifier.measured(condition, choices)
            if habit.count > 1 and habit.chance <= LIKELY and habit.share >= SHARE and not habit.ended:
                return words, habit
        if profile_of(moment.profile, condition):
            words.append(Evidence(text="profile", relevance="strong"))
        return (words, None) if words else None


def _named(letter: str, lines: Sequence[T]) -> dict[str, T]:
    return {f"{letter}{number}": line for number, line in enumerate(lines, 1)}


def _counted(habit: Habit) -> JsonObject:
    """Return a condition as a model is shown it, with how many choices keep it."""
    shown: JsonObject = {"op": _NAMES[habit.condition.sort], "value": habit.condition.value}
    return {**shown, "chosen": habit.count, "expected": round(sum(habit.shares), 1)} if habit.kept else shown


def _condition(need: Mapping[str, Any], shown: _Shown, moment: Moment) -> Condition:
    """Return the condition that a proposal means.

    Raises:
        RefusedError: the catalogue has no such field or value, or the value is no figure, time of day or distance.
    """
    name, text, sort = text_in(need, "field"), text_in(need, "value"), _OPS.get(text_in(need, "op"))
    if sort is None:
        raise RefusedError(f"op is none of {', '.join(_OPS)}")
    if name not in shown.fields and sort != "within_m":
        raise RefusedError("the catalogue has no such field", did_you_mean(name, shown.fields))
    if sort in ("is", "has", "mode"):
        # A list has members and a text has a value: which of the two is meant follows from the catalogue.
        values = {value_text(each.value): each for each in shown.fields[name] if each.sort in ("is", "has", "mode")}
        if text.casefold() not in values:
            raise RefusedError("the catalogue has no such value", did_you_mean(text, values))
        return values[text.casefold()]
    if sort == "open_then":
        return Condition(name, sort)
    value = value_in(sort, text)
    if sort == "within_m" and moment.now.point is None:
        raise RefusedError("the log does not say where the user was")
    return Condition("distance" if sort == "within_m" else name, sort, value)


def contradict(first: Condition, other: Condition) -> bool:
    """Return whether two conditions on one field cannot both be meant: different values, other bounds, bounds with nothing between."""
    if first.field != other.field or alike(first, other):
        return False
    if first.sort == other.sort:
        return first.sort != "has"
    bounds = {first.sort: rank(first), other.sort: rank(other)}
    return bounds.keys() == {"least", "most"} and bounds["least"] > bounds["most"]
