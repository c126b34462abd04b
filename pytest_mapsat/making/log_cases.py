"""Cases out of logs of behaviour: sessions of users, restored, identified, filtered and weighed (MapSatisfyBench, sections 3.2 and A.2), and the suite of them."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pytest_mapsat.formats import package_data, replacing
from pytest_mapsat.model import (
    SUITE_SCHEMA,
    Case,
    Context,
    Evidence,
    ExpectedTool,
    Json,
    JsonObject,
    Location,
    OracleTurn,
    PlannedCall,
    Problem,
    Requirement,
    RowPatch,
    SuiteManifest,
    Tool,
    Truth,
    UsageError,
    Visible,
    World,
    canonical_json,
    digest,
    shown,
)
from pytest_mapsat.reading import conditions_of
from pytest_mapsat.sandbox import normalise, opening_hours
from pytest_mapsat.suite import case_json, new_folder, write_manifest, write_rows, write_tool

from .evidence import Source, currency_of, is_figure, requirement_of
from .habits import (
    FALSE_DISCOVERIES,
    Catalogue,
    Choice,
    Habit,
    HabitFinder,
    Identified,
    Kinds,
    LeftOut,
    LogSession,
    PlaceCondition,
    QueryMoment,
    UserSessions,
    metres,
    naming,
    profile_of,
    restore,
    spoken,
    values_of,
)
from .logs import BehaviourLog, Event, LogPlace, Progress, UserLog, open_log, silent
from .tools import meaning_of

#: Sessions that are looked at, from the latest one back, for one whose anchor bears out all that is required.
_LOOKED_BACK = 6
#: What a case tells of the past: log lines of one evidence, visits and searches that the history tool gives.
_LINES, _VISITS, _SEARCHES = 40, 60, 20
#: Columns of catalogues that a figure of a query means, by its role.
_FIGURES = {"rating": ("rating", "score", "stars"), "price": ("price", "cost", "per_head", "fee")}
_read = lru_cache(maxsize=5_000)(conditions_of)


class MadeCase(NamedTuple):
    """The outcome of a session: a case, or None and the reason ``why``; ``about`` names the case, or user and kind."""

    about: str
    case: Case | None = None
    why: str = ""
    left_out: tuple[LeftOut, ...] = ()


class CaseMaker:
    """Makes cases from the sessions of users.

    Args:
        log: the folder of logs.
        each: how many cases a user has for one kind of place, the latest ones.
    """

    def __init__(self, log: BehaviourLog, each: int) -> None:
        self._places = log.places
        self._oddities = log.oddities
        self._each = each
        self._kinds = Kinds(log.places)
        self._catalogue = Catalogue(log.places.values())
        self._identifier = HabitFinder(self._catalogue)
        # Searches tell of one town, so a name needs to be a place's own there alone.
        names = Counter((place.city, normalise(place.name)) for place in log.places.values())
        self._shared_names = {name for name, count in names.items() if count > 1}
        self._vocabulary = cache(self._named_values)
        self._values_in = lru_cache(maxsize=5_000)(self._find_values)

    def restore(self, user: UserLog) -> UserSessions:
        """Return a user's sessions and the choice at the end of each; events at unknown places are noted and omitted."""
        events = []
        for event in user.events:
            if not event.place or event.place in self._places:
                events.append(event)
                continue
            name, _, line = event.line.rpartition(":")
            message = f"there is no place {shown(event.place)} in the catalogue"
            self._oddities.add("unknown places", Problem(name, int(line), message))
        sessions = tuple(restore(events, self._kinds))
        choices = [(each, self._choice(each, each.anchor)) for each in sessions if each.anchor is not None]
        return UserSessions(user, sessions, sorted(choices, key=lambda pair: pair[1].at))

    def _choice(self, session: LogSession, anchor: Event) -> Choice:
        """Return the choice in a session's anchor event: place, offer, position, and the conditions stated before it."""
        place = self._places[anchor.place]
        query = anchor if session.query_at is None else session.events[session.query_at]
        listed = [self._places[id_] for id_ in session.shown if id_ in self._places]
        offer, of = tuple(listed_ for listed_ in listed if listed_.kind == place.kind), None
        if place not in offer:
            offer, of = self._catalogue.part(place.kind, place.city), (place.kind, place.city)
        point = query.point or anchor.point
        choice = Choice(place, offer, of, anchor.at, anchor.moment, anchor.line, point)
        before = (event for event in session.events if event.at <= anchor.at)
        return choice._replace(stated=tuple(self._stated(before, choice)))

    def cases(self, user: UserSessions) -> Iterator[MadeCase]:
        """Yield a user's cases, the latest for each kind of place; or the reason why a kind's sessions gave no case."""
        by_kind: dict[str, list[QueryMoment]] = {}
        for session, choice in user.choices:
            if session.query_at is not None:
                by_kind.setdefault(session.kind, []).append(QueryMoment(user, session, choice))
        self._identifier = HabitFinder(self._catalogue)  # which remembers what it found for one user
        self._catalogue.forget()
        number = 1
        every = [choice for _, choice in user.choices]
        for kind in sorted(by_kind):
            sure: list[MadeCase] = []
            doubtful: list[MadeCase] = []
            none: list[MadeCase] = []
            for moment in by_kind[kind][::-1][: self._each + _LOOKED_BACK]:
                # Who looks at many sessions finds a habit by chance in one of them: it must show in all choices, too.
                lasting = self._identifier.identify(every, kind).habits if sure or doubtful or none else None
                outcome = self._case(moment, number + len(sure), lasting)
                (none if outcome.case is None else doubtful if outcome.case.truth.proposals else sure).append(outcome)
                if len(sure) == self._each:
                    break
            chosen = sure or doubtful[:1]
            yield from chosen or none[:1]
            number += len(chosen)

    # -- identify

    def _case(self, moment: QueryMoment, number: int, lasting: Sequence[Habit] | None) -> MadeCase:
        """Return the case of one query, with requirements from the query, earlier words and ``lasting`` habits; or the reason why there is none."""
        user, session, choice, now = moment.user, moment.session, moment.choice, moment.now
        about = f"{user.log.uid}, {session.kind}"
        asked = list(self._stated((moment.query, *session.filters), choice))
        nothing = lasting is not None and not lasting
        identified = Identified() if nothing else self._identifier.identify(moment.choices, session.kind, asked)
        fields = {condition.field for condition in asked}
        before = self._stated(moment.before, choice)
        stated = {condition: event for condition, event in before.items() if condition.field not in fields}
        fields |= {condition.field for condition in stated}
        here = (habit for habit in identified.habits if now.point or habit.condition.sort != "within_m")
        shown_in_all = [habit.condition.about for habit in identified.habits if lasting is None]
        shown_in_all += [habit.condition.about for habit in lasting or ()]
        habits = [
            habit for habit in here if habit.condition.field not in fields and habit.condition.about in shown_in_all
        ]
        if not habits and not stated:
            return MadeCase(about, None, "nothing hidden is shown by what came before", identified.left_out)
        right = self._nearest([*asked, *stated, *(habit.condition for habit in habits)], moment)
        if right is None:
            why = "no place with a name of its own fits all that is required"
            return MadeCase(about, None, why, identified.left_out)
        en, zh = f"Everything recommended is a {session.kind.replace('_', ' ')}", f"推荐的都是{session.kind}"
        text = zh if moment.language == "zh" else en
        requirements = [requirement_of("kind", "asked", text, {"kind": session.kind})]
        for condition in asked:
            part = _requirement(condition, moment, "asked")
            requirements.append(part.model_copy(update={"id": f"asked-{part.id}"}))
        shown_too = {habit.condition: habit for habit in identified.habits}
        for condition, event in stated.items():
            words = Evidence(text=event.text, at=(event.line,), need="direct")
            if (shown_by := shown_too.get(condition)) is not None:
                evidence = [*self._evidence_of(shown_by, moment), words]
            else:
                evidence = [words.model_copy(update={"relevance": "strong", "recency": "recent"})]
            requirements.append(_requirement(condition, moment, "hard", evidence, source="context"))
        for habit in habits:
            fits = habit.condition.fits(choice.place, now)
            evidence = self._evidence_of(habit, moment)
            requirements.append(_requirement(habit.condition, moment, habit.kind, evidence, draft=not fits))
        case = self._written(moment, f"{_safe(user.log.uid)}-{number}", requirements, right)
        return MadeCase(case.id, case, "", identified.left_out)

    def _named_values(self, kind: str, city: str) -> tuple[tuple[PlaceCondition, re.Pattern[str]], ...]:
        """Return the value conditions of a kind's places in a town, each with a pattern for words that name the value."""
        values = {condition for place in self._catalogue.part(kind, city) for condition in values_of(place)}
        patterns = []
        for condition in sorted(values, key=lambda each: (each.id, str(each.value))):
            word = condition.field if condition.value is True else condition.value
            if isinstance(word, str) and len(spoken(word)) > 1:
                patterns.append((condition, naming(word)))
        return tuple(patterns)

    def _find_values(self, text: str, kind: str, city: str) -> tuple[PlaceCondition, ...]:
        """Return the value conditions of a kind's places in a town that a text names."""
        words = spoken(text)
        return tuple(condition for condition, pattern in self._vocabulary(kind, city) if pattern.search(words))

    def _named(self, text: str, choice: Choice) -> list[PlaceCondition]:
        """Return the conditions that a text states: values, bounds on rating or price, and opening times."""
        if not text:
            return []
        place = choice.place
        conditions = [*self._values_in(text, place.kind, place.city)]
        read = _read(text)
        for bound in read.bounds:
            role = "rating" if bound.role == "rating" or bound.unit == "star" else "price"
            for name in (name for name in place.row if any(word in name.lower() for word in _FIGURES[role])):
                conditions += _bounded(name, bound.low, bound.high)
        hours = [name for name in place.row if name in ("hours", "opening_hours", "open_hours")]
        for opening in read.openings:
            clocks = [f"{minute // 60 % 24:02}:{minute % 60:02}" for minute in opening.minutes[:1]]
            conditions += [PlaceCondition(name, "open_at", clock) for name in hours for clock in clocks]
            conditions += [PlaceCondition(name, "open_then") for name in hours if not clocks]
        return conditions

    def _stated(self, events: Iterable[Event], choice: Choice) -> dict[PlaceCondition, Event]:
        """Return the conditions in texts and filters that the chosen place satisfies, each with the first event that states it."""
        stated: dict[PlaceCondition, Event] = {}
        for event in events:
            for condition in (*self._named(event.text, choice), *_of_filter(event, choice)):
                if condition.fits(choice.place, choice):
                    stated.setdefault(condition, event)
        return stated

    def _nearest(self, required: Sequence[PlaceCondition], moment: QueryMoment) -> LogPlace | None:
        """Return the nearest place that satisfies all conditions and has a unique name in its town; None if there is none."""
        now = moment.now
        part = self._catalogue.part(now.place.kind, now.place.city)
        own = (place for place in part if (place.city, normalise(place.name)) not in self._shared_names)
        fitting = [place for place in own if all(condition.fits(place, now) for condition in required)]
        return min(fitting, key=lambda place: (metres(now.point, place.point) or 0.0, place.id), default=None)

    # -- weigh

    def _evidence_of(self, habit: Habit, moment: QueryMoment) -> list[Evidence]:
        """Return the evidence for a habit: the user's choices, the profile, and the places opened before the query."""
        evidence = [behaviour_evidence(habit)]
        ratio = profile_of(moment.user.log.profile, habit.condition)
        if ratio and not isinstance(ratio, bool):
            early, late = habit.windows
            evidence.append(Evidence(text="profile", ratio=ratio, recency="habit", early=early, late=late))
        elif ratio:
            evidence.append(Evidence(text="profile", relevance="strong"))
        opened = [event for event in moment.before if event.type == "view"]
        fits = [habit.condition.fits(self._places[event.place], moment.now) for event in opened]
        if len(opened) > 1 and (all(fits) or not any(fits)):
            words, need = ("all places", "related") if all(fits) else ("no place", "weak")
            lines = tuple(event.line for event in opened)
            evidence.append(Evidence(text=f"{words} opened before the query", at=lines, need=need))
        return evidence

    # -- write

    def _written(self, moment: QueryMoment, name: str, requirements: Sequence[Requirement], right: LogPlace) -> Case:
        """Return the case of a query with these requirements, and an oracle that recommends the place ``right``."""
        user, session, query, language = moment.user, moment.session, moment.query, moment.language
        uid = user.log.uid
        earlier = (*moment.before, *(event for event in session.filters if event.at >= query.at))
        history = tuple(_in_words(event, self._places, language) for event in earlier)
        looks_up = ("get_recent_activity", "get_user_profile")[: 2 if user.log.profile else 1]
        calls = [PlannedCall(tool=tool, arguments={"uid": uid}) for tool in looks_up]
        calls.append(PlannedCall(tool="search_places", arguments={"query": session.kind}))
        calls.append(PlannedCall(tool="place_details", arguments={"place_id": right.id}))
        say = f"推荐{right.name}。" if language == "zh" else f"I recommend {right.name}."
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
                tools=tuple(ExpectedTool(name=call.tool, required=tuple(call.arguments)) for call in calls),
                oracle=(OracleTurn(calls=tuple(calls), say=say),),
            ),
            world=World(rows=(RowPatch(table="activities", add=(self._activity(moment),)),)),
        )

    def _activity(self, moment: QueryMoment) -> JsonObject:
        """Return the row of the history tool for a case: the user's visits and searches before the query."""
        log, until = moment.user.log, moment.query.at
        taken = moment.choices[-_VISITS:]
        searches = [event for event in log.events if event.at < until and event.type == "search"][-_SEARCHES:]
        visits = []
        for choice in taken[::-1]:
            row = {key: value for key, value in choice.place.row.items() if key not in ("id", "lon", "lat")}
            visits.append({"date": choice.moment[:10], "place_id": choice.place.id, **row})
        queries = [{"date": event.moment[:10], "query": event.text} for event in searches[::-1]]
        return {"uid": log.uid, "visits": visits, "searches": queries}


def behaviour_evidence(habit: Habit) -> Evidence:
    """Return a habit's counts as evidence: ``habit`` if the earlier half of the choices also shows it, otherwise ``recent``."""
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
    condition: PlaceCondition,
    moment: QueryMoment,
    kind: Literal["asked", "hard", "soft"],
    evidence: Sequence[Evidence] = (),
    *,
    source: Source | None = None,
    draft: bool = False,
) -> Requirement:
    """Return a condition as a requirement of the case of a query."""
    words = condition.words(moment.language)
    text = f"推荐的地方：{words}" if moment.language == "zh" else f"Every place recommended: {words}"
    where = condition.where(moment.now.clock, moment.now.point)
    source = source or ("environment" if condition.circumstantial else "profile")
    support = {"source": source, "evidence": tuple(evidence)}
    return requirement_of(condition.id, kind, text, where, support, draft=draft)


def _of_filter(event: Event, choice: Choice) -> Iterator[PlaceCondition]:
    """Yield the conditions that a filter sets on fields of the chosen place."""
    for name, wanted in event.where.items():
        listed = choice.place.row.get(name)
        if name in ("kind", "city") or listed is None:
            continue
        if isinstance(wanted, dict):
            yield from _bounded(name, wanted.get("min"), wanted.get("max"))
        elif is_figure(listed) and is_figure(wanted):
            cheap = any(word in name for word in _FIGURES["price"])
            yield PlaceCondition(name, "most" if cheap else "least", wanted)
        elif isinstance(listed, list):
            members = wanted if isinstance(wanted, list) else [wanted]
            yield from (PlaceCondition(name, "has", member) for member in members)
        elif isinstance(wanted, (str, bool)):
            yield PlaceCondition(name, "is", wanted)


def _bounded(name: str, low: Json, high: Json) -> Iterator[PlaceCondition]:
    """Yield the conditions for a lower and an upper bound, if these are figures."""
    if is_figure(low):
        yield PlaceCondition(name, "least", low)
    if is_figure(high):
        yield PlaceCondition(name, "most", high)


def _in_words(event: Event, places: Mapping[str, LogPlace], language: str) -> str:
    """Return an event in words, in English or Chinese, for the context of a case."""
    what = event.text or (places[event.place].name if event.place else canonical_json(dict(event.where)))
    en, zh = package_data(__package__, "keys.yaml")["events"][event.type]
    return f"{zh}：{what}" if language == "zh" else f"{en}: {what}"


def _safe(uid: str) -> str:
    """Return a user's id as a valid part of a case id, with a digest if characters had to be changed."""
    safe = re.sub(r"[^A-Za-z0-9_.-]", "_", uid)[:40]
    return safe if safe == uid else f"{safe}-{digest(uid, 8)}"


# -- the suite of them, and the report of what was made and left out ---------------------------------------------------

_SHOWN_AT_MOST = 20
#: How many cases a suite gets, unless more are asked for.
CASES = 1000


@dataclass
class LogReport:
    """Counts the cases made from a folder of logs, and the omissions with their reasons.

    Attributes:
        counts: users, events, sessions, glances left out, choices, cases, drafts.
        false_discovery_rate: the expected share of false habits among those found in one user's choices of one kind of place.
        requirements: how many by kind and source, such as ``hard, profile``.
        left_out: how many conditions and sessions are left out, by why.
        examples: the first of them, each with the case, the condition and the choices that it shares with another.
        odd: what was odd in the log, by sort; ``odd_lines``: the first places of each.
    """

    counts: Counter[str] = field(default_factory=Counter)
    false_discovery_rate: float = FALSE_DISCOVERIES
    requirements: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    odd: dict[str, int] = field(default_factory=dict)
    odd_lines: list[str] = field(default_factory=list)

    @property
    def told(self) -> str:
        """The counts as one text, separated by commas."""
        return ", ".join(f"{count} {what}" for what, count in self.counts.items())

    def to_json(self) -> JsonObject:
        """Return the report as JSON data."""
        return {**vars(self)}

    def lines(self) -> Iterator[str]:
        """Yield the report as lines of text."""
        yield self.told
        yield f"at most {self.false_discovery_rate:.0%} of a user's habits are expected to be false by chance (Benjamini & Hochberg 1995)"
        for title in ("requirements", "left_out", "odd"):
            if counts := getattr(self, title):
                yield f"{title.replace('_', ' ')}:"
                yield from (f"  {count:6} {what}" for what, count in sorted(counts.items()))
        yield from (f"  {line}" for line in (*self.examples, *self.odd_lines))

    def restored(self, user: UserSessions) -> None:
        """Add a user's events, sessions and choices to the counts."""
        self.counts["users"] += 1
        self.counts["events"] += len(user.log.events)
        self.counts["sessions"] += len(user.sessions)
        self.counts["glances left out"] += sum(session.jumps for session in user.sessions)
        self.counts["choices"] += len(user.choices)

    def add(self, outcome: MadeCase) -> None:
        """Add the outcome of a session to the counts: its case and requirements, or the reason for no case, and the omissions."""
        if (case := outcome.case) is None:
            self.left_out[f"sessions: {outcome.why}"] += 1
        else:
            self.counts["cases"] += 1
            self.counts["drafts"] += bool(case.truth.proposals)
        for requirement in case.truth.requirements if case else ():
            source = f", {requirement.source}" if requirement.kind in ("hard", "soft") else ""
            self.requirements[f"{requirement.kind}{source}{', draft' if requirement.draft else ''}"] += 1
        for out in outcome.left_out:
            self.left_out[out.why] += 1
            other = f" ({out.other.words('en')}); both in {', '.join(out.shared[:5])}" if out.other else ""
            if len(self.examples) < _SHOWN_AT_MOST:
                self.examples.append(f"{outcome.about}: {out.condition.words('en')}: {out.why}{other}")


def build_from_logs(
    folder: Path,
    dest: Path,
    *,
    each: int = 1,
    cases: int = CASES,
    redact: bool = False,
    progress: Progress = silent,
) -> LogReport:
    """Write a suite of cases made from a folder of behaviour logs, and return a report.

    Args:
        folder: the logs.
        dest: the folder of the suite, which is not there yet or is empty.
        each: how many cases a user has for one kind of place, the latest ones.
        cases: how many cases there are at most. Users are looked at in an order that follows from their ids alone, until there are so many.
        redact: whether aliases replace personal data, which are refused otherwise, and points are rounded to about 100 m.
        progress: takes a line of text each 50,000 events, as they are read and as they are looked at.

    Raises:
        UsageError: the folder lacks a file or holds no case, or the suite cannot be written.
        SuiteError: a file cannot be read, too many of its lines are broken, or texts or profiles have personal data.
    """
    report = LogReport()
    with (
        open_log(folder, redact=redact, progress=progress) as log,
        new_folder(dest) as suite,
        tempfile.TemporaryFile() as spill,
    ):
        maker = CaseMaker(log, each)
        written: list[tuple[str, int, int]] = []
        profiles: dict[str, JsonObject] = {}
        for uid, profile, case in islice(_cases(maker, log, report), cases):
            line = json.dumps(case_json(case), ensure_ascii=False, allow_nan=False).encode() + b"\n"
            written.append((case.id, spill.tell(), len(line)))
            spill.write(line)
            if profile:
                profiles[uid] = profile
        if not written:
            reasons = sorted((report.left_out + log.oddities.counts).items())
            counts = "".join(f"; {count} {what}" for what, count in reasons)
            raise UsageError(f"{folder}: there is no case in these logs, and nothing is written: {report.told}{counts}")
        with replacing(suite / "cases.jsonl") as file:
            for _, start, length in sorted(written):
                spill.seek(start)
                file.write(spill.read(length))
        _write_tables(suite / "state", log, profiles)
        for tool in _tools(log.places.values(), profiles):
            write_tool(suite / "tools" / f"{tool.name}.yaml", tool)
        manifest = SuiteManifest(
            **package_data(__package__, "keys.yaml")["manifest"],
            schema_version=SUITE_SCHEMA,
            currency=currency_of(_money(log.places.values())),
        )
        write_manifest(suite / "suite.yaml", manifest)
        report.odd = dict(sorted(log.oddities.counts.items()))
        report.odd_lines = [str(problem) for problems in log.oddities.examples.values() for problem in problems]
    return report


def _cases(maker: CaseMaker, log: BehaviourLog, report: LogReport) -> Iterator[tuple[str, JsonObject, Case]]:
    """Yield the cases of all users, each after the user's id and profile; count everything in the report."""
    for user in log.users():
        restored = maker.restore(user)
        report.restored(restored)
        for outcome in maker.cases(restored):
            report.add(outcome)
            if outcome.case is not None:
                yield user.uid, user.profile, outcome.case


def _write_tables(folder: Path, log: BehaviourLog, profiles: Mapping[str, JsonObject]) -> None:
    """Write the tables of the suite: places, words, empty activities, and users if any have a profile."""
    kinds = sorted({place.kind for place in log.places.values()})
    words = [{"sort": kind, "words": [kind.replace("_", " ")]} for kind in kinds if "_" in kind]
    write_rows(folder / "places.jsonl", map(_row, log.places.values()))
    write_rows(folder / "words.jsonl", [*words, {"absent": package_data(__package__, "keys.yaml")["absent"]}])
    # What users did stands in the cases, each as far as its query: the table itself only has the columns.
    write_rows(folder / "activities.jsonl", [{"uid": "", "visits": [], "searches": []}])
    if profiles:
        write_rows(folder / "users.jsonl", (profiles[uid] for uid in sorted(profiles)))


def _money(places: Iterable[LogPlace]) -> str:
    """Return the names of the catalogue's columns about money with their texts, without repetitions."""
    words = ("currency", *_FIGURES["price"])
    rows = (item for place in places for item in place.row.items())
    texts = (
        f"{name} {value if isinstance(value, str) else ''}"
        for name, value in rows
        if any(word in name.lower() for word in words)
    )
    return "\n".join(dict.fromkeys(texts))


def _row(place: LogPlace) -> JsonObject:
    """Return the table row of a place, with ``lon``, ``lat`` and ``point`` if the place has a position."""
    if place.point is None:
        return place.row
    lon, lat = place.point
    return {**place.row, "lon": lon, "lat": lat, "point": f"{lon},{lat}"}


def _tools(places: Iterable[LogPlace], profiles: Mapping[str, JsonObject]) -> Iterator[Tool]:
    """Yield tools that search the catalogue and look up places, activities and, if any exist, profiles."""
    columns: dict[str, Any] = {}
    for place in places:
        for name, value in _row(place).items():
            columns.setdefault(name, value)
    fields = {name: _meaning(name, value) for name, value in columns.items() if name not in ("id", "name")}
    entity = {"name": "name", "id": "id", "fields": fields}
    also = [name for name, meaning in fields.items() if meaning == "text" and name != "city"]
    text = {"type": "string"}
    yield _tool(
        "search_places",
        "Search the places of a town by name or kind; 20 a page.",
        "places",
        {
            "query": {**text, "description": "name or kind of place, with further words"},
            "city": {**text, "description": "the town; the user's own unless given"},
            "page": {"type": "integer", "minimum": 1, "description": "which 20 places"},
        },
        {
            "query": {"op": "words", "name": ["name"], "sort": ["kind"], "also": also, "words": "words"},
            "city": {"op": "equal", "column": "city", "context": "city"},
        },
        match={"query": {"type": "text"}, "city": {"type": "place"}, "page": {"type": "number", "default": 1}},
        entities=[{"items": "places", **entity}],
        fields={"count": "ignored"},
        listed={"page": {"number": "page"}, "items": "places", "count": "count"},
    )
    names = {"table": "places", "name": ["name"], "words": "words"}
    yield _tool(
        "place_details",
        "Everything known of one place.",
        "places",
        {"place_id": {**text, "description": "the id that a search returned"}},
        {"place_id": {"op": "refers", "column": "id", "to": names}},
        match={"place_id": {"type": "id"}},
        entities=[{"items": "", **entity}],
    )
    uid = {"uid": {**text, "description": "the user id of the context"}}
    own = {"uid": {"op": "user", "column": "uid"}}
    visit = {name: meaning for name, meaning in fields.items() if name not in ("lon", "lat", "point")}
    visit["date"] = "ignored"
    about, match = "What the user took and searched for, the latest first.", {"uid": {"type": "id"}}
    visits = [{"items": "visits", "name": "name", "id": "place_id", "fields": visit}]
    rest = {"uid": "ignored", "searches": "ignored"}
    yield _tool(
        "get_recent_activity", about, "activities", uid, own, match=match, profile=True, entities=visits, fields=rest
    )
    if profiles:
        keys = sorted({key for profile in profiles.values() for key in profile})
        meanings = {key: "ignored" if key == "uid" else "text" for key in keys}
        about = "What is known of the user."
        yield _tool("get_user_profile", about, "users", uid, own, match=match, profile=True, fields=meanings)


def _tool(
    name: str,
    description: str,
    table: str,
    properties: JsonObject,
    where: JsonObject,
    *,
    listed: Mapping[str, Json] = MappingProxyType({}),
    **declared: Json,
) -> Tool:
    """Return a tool that answers from the rows of a table; its first parameter is required."""
    parameters = {"type": "object", "required": [*properties][:1], "properties": properties}
    answer = {"kind": "rows", "table": table, "where": where, **listed}
    return Tool(name=name, description=description, parameters=parameters, answer=answer, **declared)


def _meaning(name: str, value: object) -> Json:
    """Return the meaning of a catalogue column, for the declaration of a tool's result."""
    meaning = meaning_of(name, value)
    if meaning == "ignored" and isinstance(value, (int, float)):
        return {"kind": "number", "noun": name.replace("_", " ")}
    if meaning == "text" and opening_hours(str(value)):
        return "hours"
    return "text" if isinstance(value, list) else meaning
