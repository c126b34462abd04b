"""Cases out of the sessions of one user: restored, identified, filtered and weighed (MapSatisfyBench, sections 3.2 and A.2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from pytest_mapsat.model import (
    Case,
    Context,
    Evidence,
    ExpectedTool,
    JsonObject,
    Location,
    Mode,
    OracleTurn,
    PlannedCall,
    Problem,
    Requirement,
    RowPatch,
    Travels,
    Truth,
    Visible,
    World,
    canonical_json,
    digest,
    shown,
)
from pytest_mapsat.reading import conditions_of
from pytest_mapsat.sandbox import normalise

from .evidence import Choice, Condition, Source, is_figure, metres, profile_of, requirement_of, values_of
from .habits import (
    Catalogue,
    Habit,
    Identifier,
    Kinds,
    LeftOut,
    Moment,
    Session,
    UserSessions,
    naming,
    restore,
    spoken,
)
from .logs import Event, Log, Place, Told, UserLog
from .proposed import Proposed, Proposer, ProposingModel

#: Sessions that are looked at, from the latest one back, for one whose anchor bears out all that is required.
_LOOKED_BACK = 6
#: What a case tells of the past: log lines of one evidence, visits and searches that the history tool gives.
_LINES, _VISITS, _SEARCHES = 40, 60, 20
#: Columns of catalogues that a figure of a query means, by its role.
_FIGURES = {"rating": ("rating", "score", "stars"), "price": ("price", "cost", "per_head", "fee")}
_read = lru_cache(maxsize=5_000)(conditions_of)


@dataclass(frozen=True)
class MadeCase:
    """A case, what was left out of it, and what came of a model's proposals."""

    case: Case
    left_out: tuple[LeftOut, ...]
    later_only: tuple[Condition, ...]
    proposed: Proposed


class NoCase(NamedTuple):
    """Why a session made no case: the user and the kind of place, the reason, and what was left out."""

    about: str
    why: str
    left_out: tuple[LeftOut, ...] = ()


class CaseMaker:
    """Makes the cases of users.

    Args:
        log: the folder of logs.
        each: how many cases a user has for one kind of place, the latest ones.
        model: what proposes needs beside the statistics; None: nothing does.
    """

    def __init__(self, log: Log, each: int, model: ProposingModel | None = None) -> None:
        self._places = log.places
        self._told = log.told
        self._each = each
        # What is odd in the log is counted when its cases are made.
        self._kinds = Kinds(log.places, (user.events for user in replace(log, told=Told()).users()))
        self._catalogue = Catalogue(log.places.values(), log.modes)
        self._identifier = Identifier(self._catalogue)
        self.proposer = None if model is None else Proposer(model, log.places, self._catalogue)
        # Searches tell of one town, so a name needs to be a place's own there alone.
        names = Counter((place.city, normalise(place.name)) for place in log.places.values())
        self._shared_names = {name for name, count in names.items() if count > 1}
        self._vocabulary = cache(self._named_values)
        self._values_in = lru_cache(maxsize=5_000)(self._find_values)

    def restore(self, user: UserLog) -> UserSessions:
        """Return the sessions of a user, and what was taken in each."""
        events = []
        for event in user.events:
            if not event.place or event.place in self._places:
                events.append(event)
                continue
            name, _, line = event.line.rpartition(":")
            message = f"there is no place {shown(event.place)} in the catalogue"
            self._told.add("unknown places", Problem(name, int(line), message))
        sessions = tuple(restore(events, self._kinds))
        choices = [(each, self._choice(each, each.anchor)) for each in sessions if each.anchor is not None]
        return UserSessions(user, sessions, sorted(choices, key=lambda pair: pair[1].at))

    def _choice(self, session: Session, anchor: Event) -> Choice:
        place = self._places[anchor.place]
        query = anchor if session.query_at is None else session.events[session.query_at]
        listed = [self._places[id_] for id_ in session.shown if id_ in self._places]
        offer, of = tuple(listed_ for listed_ in listed if listed_.kind == place.kind), None
        if place not in offer:
            offer, of = self._catalogue.part(place.kind, place.city), (place.kind, place.city)
        point = query.point or anchor.point
        choice = Choice(place, offer, of, anchor.at, anchor.moment, anchor.line, point, anchor.mode)
        before = (event for event in session.events if event.at <= anchor.at)
        return choice._replace(stated=tuple(self._stated(before, choice)))

    def cases(self, user: UserSessions) -> Iterator[MadeCase | NoCase]:
        """Give the cases of a user, the latest of each kind of place; or why a session with query and anchor made none."""
        by_kind: dict[str, list[Moment]] = {}
        for session, choice in user.choices:
            if session.query_at is not None:
                by_kind.setdefault(session.kind, []).append(Moment(user, session, choice))
        self._identifier = Identifier(self._catalogue)  # which remembers what it found for one user
        self._catalogue.forget()
        number = 0
        for kind in sorted(by_kind):
            made, none = self._chosen(by_kind[kind][::-1], number + 1)
            cases: list[MadeCase | NoCase] = [case for _, case in made] or [none]
            if self.proposer is not None:
                # A model is asked about what is a case anyway; where the statistics show nothing, about the latest session.
                moments = [moment for moment, _ in made] or by_kind[kind][-1:]
                cases = [self._case(moment, at, self.proposer) for at, moment in enumerate(moments, number + 1)]
            yield from cases
            number += sum(isinstance(case, MadeCase) for case in cases)

    def _chosen(self, moments: Sequence[Moment], number: int) -> tuple[list[tuple[Moment, MadeCase]], NoCase]:
        """Return the cases of one kind of place, each with its query, by the statistics alone; or why there are none."""
        made: list[tuple[Moment, MadeCase]] = []
        doubtful: list[tuple[Moment, MadeCase]] = []
        none: NoCase | None = None
        for moment in moments[: self._each + _LOOKED_BACK]:
            case = self._case(moment, number + len(made))
            if isinstance(case, NoCase):
                none = none or case
            else:
                (doubtful if case.case.truth.proposals else made).append((moment, case))
            if len(made) == self._each:
                break
        return made or doubtful[:1], none or NoCase("", "")

    # -- identify

    def _case(self, moment: Moment, number: int, proposer: Proposer | None = None) -> MadeCase | NoCase:
        user, session, choice, now = moment.user, moment.session, moment.choice, moment.now
        about = f"{user.log.uid}, {session.kind}"
        asked = list(self._stated((moment.query, *session.filters), choice))
        identified = self._identifier.identify(moment.choices, session.kind, asked)
        fields = {condition.field for condition in asked}
        before = self._stated(moment.before, choice)
        said = {condition: event for condition, event in before.items() if condition.field not in fields}
        fields |= {condition.field for condition in said}
        habits = [
            habit
            for habit in identified.habits
            if habit.condition.field not in fields and _can_be_checked(habit.condition, now.point)
        ]
        proposed = Proposed()
        if proposer is not None:
            fields |= {condition.field for condition in self._named(moment.query.text, choice)}
            proposed = proposer.propose(moment, replace(identified, habits=tuple(habits)), fields)
        if not habits and not said and not proposed.drafts:
            return NoCase(about, "nothing hidden is shown by what came before", identified.left_out)
        required = [*asked, *said, *(habit.condition for habit in habits)]
        right = self._nearest(required, choice, now)
        if right is None:
            return NoCase(about, "no place with a name of its own fits all that is required", identified.left_out)
        right, proposed = self._beside(proposed, required, right, choice, now)
        kind = (
            f"推荐的都是{session.kind}"
            if moment.language == "zh"
            else f"Everything recommended is a {session.kind.replace('_', ' ')}"
        )
        requirements = [requirement_of("kind", "asked", kind, {"kind": session.kind})]
        for condition in asked:
            part = _requirement(condition, moment, "asked")
            requirements.append(part.model_copy(update={"id": f"asked-{part.id}"}))
        shown_too = {habit.condition: habit for habit in identified.habits}
        for condition, event in said.items():
            words = Evidence(text=event.text, at=(event.line,), need="direct")
            if (shown_by := shown_too.get(condition)) is not None:
                evidence = [*self._evidence_of(shown_by, moment), words]
            else:
                evidence = [words.model_copy(update={"relevance": "strong", "recency": "recent"})]
            requirements.append(_requirement(condition, moment, "hard", evidence, source="context"))
        for habit in habits:
            fits = habit.condition.fits(choice.place, now._replace(mode=choice.mode or str(habit.condition.value)))
            evidence, draft = self._evidence_of(habit, moment), not fits or habit.condition in proposed.doubted
            requirements.append(_requirement(habit.condition, moment, habit.kind, evidence, draft=draft))
        for need in proposed.drafts:
            # Who proposes it comes first; what the log counts comes as of a habit.
            counted = self._evidence_of(need.habit, moment) if need.habit else self._of_session(need.condition, moment)
            part = _requirement(need.condition, moment, need.kind, [*need.evidence, *counted], draft=True)
            requirements.append(part)
        case = self._written(moment, f"{_safe(user.log.uid)}-{number}", requirements, right)
        early = {(habit.condition.field, habit.condition.sort) for habit in identified.habits}
        whole = self._identifier.identify([choice for _, choice in user.choices], session.kind, asked).habits
        later = (habit.condition for habit in whole if (habit.condition.field, habit.condition.sort) not in early)
        return MadeCase(case, identified.left_out, tuple(later), proposed)

    def _beside(
        self, proposed: Proposed, required: Sequence[Condition], right: Place, choice: Choice, now: Choice
    ) -> tuple[Place, Proposed]:
        """Return the nearest place that fits the drafts, too, and the drafts that one fits; contradictory ones ask nothing of it."""
        drafts, refused = [], list(proposed.refused)
        conditions = list(required)
        ids = {condition.id for condition in required}
        for draft in proposed.drafts:
            place = right if draft.contradicted else self._nearest([*conditions, draft.condition], choice, now)
            if place is None or draft.condition.id in ids or not _can_be_checked(draft.condition, now.point):
                refused.append((draft.condition.words("en"), "no place fits it beside the rest"))
                continue
            right = place
            conditions += [] if draft.contradicted else [draft.condition]
            ids.add(draft.condition.id)
            drafts.append(draft)
        return right, replace(proposed, drafts=tuple(drafts), refused=tuple(refused))

    def _named_values(self, kind: str, city: str) -> tuple[tuple[Condition, re.Pattern[str]], ...]:
        """Return the values of a part of the catalogue that a text can name, with the words that do."""
        values = {condition for place in self._catalogue.part(kind, city) for condition in values_of(place)}
        named = []
        for condition in sorted(values, key=lambda each: (each.id, str(each.value))):
            word = condition.field if condition.value is True else condition.value
            if isinstance(word, str) and len(spoken(word)) > 1:
                named.append((condition, naming(word)))
        return tuple(named)

    def _find_values(self, text: str, kind: str, city: str) -> tuple[Condition, ...]:
        words = spoken(text)
        return tuple(condition for condition, pattern in self._vocabulary(kind, city) if pattern.search(words))

    def _named(self, text: str, choice: Choice) -> list[Condition]:
        """Return the conditions that a text states: values by their words, bounds of figures, times at which a place is open."""
        if not text:
            return []
        place = choice.place
        named = [*self._values_in(text, place.kind, place.city)]
        read = _read(text)
        for bound in read.bounds:
            role = "rating" if bound.role == "rating" or bound.unit == "star" else "price"
            for name in (name for name in place.row if any(word in name.lower() for word in _FIGURES[role])):
                named += [Condition(name, "least", bound.low)] if bound.low is not None else []
                named += [Condition(name, "most", bound.high)] if bound.high is not None else []
        hours = [name for name in place.row if name in ("hours", "opening_hours", "open_hours")]
        for opening in read.openings:
            clocks = [f"{minute // 60 % 24:02}:{minute % 60:02}" for minute in opening.minutes[:1]]
            named += [Condition(name, "open_at", clock) for name in hours for clock in clocks]
            named += [Condition(name, "open_then") for name in hours if not clocks]
        return named

    def _stated(self, events: Iterable[Event], choice: Choice) -> dict[Condition, Event]:
        """Return what texts and filters state, each with the first that does, as far as what the user took bears it out."""
        stated: dict[Condition, Event] = {}
        for event in events:
            for condition in (*self._named(event.text, choice), *_of_filter(event, choice)):
                if condition.fits(choice.place, choice):
                    stated.setdefault(condition, event)
        return stated

    def _nearest(self, required: Sequence[Condition], choice: Choice, now: Choice) -> Place | None:
        """Return the nearest place that fits all, among those whose name no other place of the town has."""
        part = self._catalogue.part(choice.place.kind, choice.place.city)
        fitting = [
            place
            for place in part
            if (place.city, normalise(place.name)) not in self._shared_names
            and all(condition.fits(place, now) for condition in required if condition.sort != "mode")
        ]
        return min(fitting, key=lambda place: (metres(now, place) or 0.0, place.id), default=None)

    # -- weigh

    def _evidence_of(self, habit: Habit, moment: Moment) -> list[Evidence]:
        """Return what supports a habit: the choices, the profile, and what the user looked at before the query."""
        evidence = [behaviour_evidence(habit)]
        told = profile_of(moment.user.log.profile, habit.condition)
        if told and not isinstance(told, bool):
            early, late = habit.windows
            evidence.append(Evidence(text="profile", ratio=told, recency="habit", early=early, late=late))
        elif told:
            evidence.append(Evidence(text="profile", relevance="strong"))
        return [*evidence, *self._of_session(habit.condition, moment)]

    def _of_session(self, condition: Condition, moment: Moment) -> list[Evidence]:
        """Return what the session before the query says of the need: what the user opened has it all, or none of it has."""
        opened = [event for event in moment.before if event.type == "view"]
        if len(opened) < 2:  # noqa: PLR2004
            return []
        fits = [condition.fits(self._places[event.place], moment.now) for event in opened]
        lines = tuple(event.line for event in opened)
        if all(fits):
            return [Evidence(text="all places opened before the query", at=lines, need="related")]
        return [] if any(fits) else [Evidence(text="no place opened before the query", at=lines, need="weak")]

    # -- write

    def _written(self, moment: Moment, name: str, requirements: Sequence[Requirement], right: Place) -> Case:
        user, session, query, language = moment.user, moment.session, moment.query, moment.language
        uid = user.log.uid
        told = (*moment.before, *(event for event in session.filters if event.at >= query.at))
        history = tuple(_in_words(event, self._places, language) for event in told)
        activity = self._activity(moment)
        modes = [part.by[0] for each in requirements for part in each.leaves if isinstance(part, Travels)]
        calls: list[tuple[str, JsonObject]] = [("get_recent_activity", {"uid": uid})]
        if user.log.profile:
            calls.append(("get_user_profile", {"uid": uid}))
        calls += [("search_places", {"query": session.kind}), ("place_details", {"place_id": right.id})]
        way = "".join(_WAYS[mode][language == "zh"] for mode in modes)
        say = f"推荐{right.name}。{way}" if language == "zh" else f"I recommend {right.name}. {way}".strip()
        context = Context(
            now=query.moment,
            location=None if query.point is None else Location(lon=query.point[0], lat=query.point[1]),
            city=right.city,
            history=history,
            uid=uid,
            locale="zh-CN" if language == "zh" else "en",
        )
        return Case(
            id=name,
            language=language,
            attributes={"kind": session.kind},
            visible=Visible(query=query.text, context=context),
            truth=Truth(
                requirements=tuple(requirements),
                tools=tuple(ExpectedTool(name=name, required=tuple(arguments)) for name, arguments in calls),
                oracle=(
                    OracleTurn(
                        calls=tuple(PlannedCall(tool=name, arguments=arguments) for name, arguments in calls), say=say
                    ),
                ),
            ),
            world=World(rows=(RowPatch(table="activities", add=(activity,)),)),
        )

    def _activity(self, moment: Moment) -> JsonObject:
        """Return what the history tool tells of a user: what they took and searched for before the query."""
        log, until = moment.user.log, moment.query.at
        taken = moment.choices[-_VISITS:]
        searches = [event for event in log.events if event.at < until and event.type == "search"][-_SEARCHES:]
        visits = []
        for choice in taken[::-1]:
            row = {key: value for key, value in choice.place.row.items() if key not in ("id", "lon", "lat")}
            way = {"travelled": choice.mode} if choice.mode else {}
            visits.append({"date": choice.moment[:10], "place_id": choice.place.id, **row, **way})
        return {
            "uid": log.uid,
            "visits": visits,
            "searches": [{"date": event.moment[:10], "query": event.text} for event in searches[::-1]],
        }


def _can_be_checked(condition: Condition, point: tuple[float, float] | None) -> bool:
    if condition.sort == "within_m":
        return point is not None
    return condition.sort != "mode" or str(condition.value) in MODES


def behaviour_evidence(habit: Habit) -> Evidence:
    """Return what the choices of a user say of a habit: routine where the earlier half shows it, too, else recent."""
    early, late = habit.windows
    total = len(habit.kept) // 2 if habit.late_only else len(habit.kept)
    count = late if habit.late_only else habit.count
    expected = f"{sum(habit.shares):.1f} of {len(habit.kept)} were to be expected of what was there"
    return Evidence(
        text=f"{habit.count} of {len(habit.kept)} choices{' of all kinds' if habit.across else ''}; {expected}",
        at=habit.lines[-_LINES:],
        count=count,
        total=total,
        recency="recent" if habit.late_only or not early else "habit",
        early=early,
        late=late,
    )


def _requirement(
    condition: Condition,
    moment: Moment,
    kind: Literal["asked", "hard", "soft"],
    evidence: Sequence[Evidence] = (),
    *,
    source: Source | None = None,
    draft: bool = False,
) -> Requirement:
    """Return a condition as a requirement of the case that begins now; one on the way of travelling is checked by the words of the reply."""
    words = condition.words(moment.language)
    text = f"推荐的地方：{words}" if moment.language == "zh" else f"Every place recommended: {words}"
    where = condition.where(moment.now.clock, moment.now.point)
    source = source or ("environment" if condition.circumstantial else "profile")
    part = requirement_of(condition.id, kind, text, where, source=source, evidence=evidence, draft=draft)
    if condition.sort != "mode":
        return part
    return part.model_copy(update={"check": Travels(kind="travels", by=(MODES[str(condition.value)],), named=True)})


def _of_filter(event: Event, choice: Choice) -> list[Condition]:
    """Return what a filter asks, as far as the catalogue has its fields."""
    conditions = []
    for name, wanted in event.where.items():
        held = choice.place.row.get(name)
        if name in ("kind", "city") or held is None:
            continue
        if isinstance(wanted, dict):
            low = next((wanted[key] for key in ("min", "gte", "from") if is_figure(wanted.get(key))), None)
            high = next((wanted[key] for key in ("max", "lte", "to") if is_figure(wanted.get(key))), None)
            conditions += [Condition(name, "least", low)] if low is not None else []
            conditions += [Condition(name, "most", high)] if high is not None else []
        elif is_figure(held) and is_figure(wanted):
            conditions.append(
                Condition(name, "most" if any(word in name for word in _FIGURES["price"]) else "least", wanted)
            )
        elif isinstance(held, list):
            conditions += [
                Condition(name, "has", member) for member in (wanted if isinstance(wanted, list) else [wanted])
            ]
        elif isinstance(wanted, (str, bool)):
            conditions.append(Condition(name, "is", wanted))
    return conditions


def _in_words(event: Event, places: Mapping[str, Place], language: str) -> str:
    """Return an event in words of a language, as the context of a case tells it."""
    what = event.text or (places[event.place].name if event.place else canonical_json(dict(event.where)))
    en, zh = _WORDS[event.type]
    return f"{zh}：{what}" if language == "zh" else f"{en}: {what}"


_WORDS = {
    "search": ("Searched", "搜索"),
    "say": ("Said", "说"),
    "filter": ("Set the filter", "筛选"),
    "view": ("Opened", "查看"),
    "navigate": ("Went to", "导航去"),
    "order": ("Ordered at", "下单"),
}
#: The ways of travelling by the words of logs, and how a reply tells each.
MODES: dict[str, Mode] = {
    **dict.fromkeys(("walking", "walk", "on_foot", "foot", "步行"), "walking"),
    **dict.fromkeys(("cycling", "bike", "bicycle", "cycle", "骑行"), "cycling"),
    **dict.fromkeys(("driving", "drive", "car", "驾车", "开车"), "driving"),
    **dict.fromkeys(("transit", "bus", "metro", "subway", "public_transport", "公交", "地铁"), "transit"),
    **dict.fromkeys(("taxi", "ride", "打车"), "taxi"),
}
_WAYS = {
    "walking": ("You can walk there.", "可以步行过去。"),
    "cycling": ("You can cycle there.", "可以骑车过去。"),
    "driving": ("You can drive there.", "可以开车过去。"),
    "transit": ("Take public transport there.", "可以坐公交过去。"),
    "taxi": ("Take a taxi there.", "可以打车过去。"),
}


def _safe(uid: str) -> str:
    """Return a user's id as a part of a case's id."""
    safe = re.sub(r"[^A-Za-z0-9_.-]", "_", uid)[:40]
    return safe if safe == uid else f"{safe}-{digest(uid, 8)}"
