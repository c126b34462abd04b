"""Logs of behaviour as they are read: a folder of events, a catalogue of places, and profiles; one user's events are in memory at a time."""

from __future__ import annotations

import json
import math
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pytest_mapsat.formats import PersonalData, limits, package_data, parse_json_line, read_lines, shown_path
from pytest_mapsat.model import Json, JsonObject, Problem, SuiteError, UsageError, canonical_json, did_you_mean, shown
from pytest_mapsat.sandbox import point_of

#: What a folder of logs holds. Events may stand in several files, read in the order of their names.
EVENTS, PLACES, USERS = "events*.jsonl", "places.jsonl", "users.jsonl"
EventType = Literal["search", "filter", "view", "navigate", "order", "say"]
TYPES: tuple[EventType, ...] = ("search", "filter", "view", "navigate", "order", "say")
_KEYS = package_data(__package__, "keys.yaml")
#: Names that logs of others have for a field, each under the one that the docs give.
_NAMES: Mapping[str, Sequence[str]] = _KEYS["fields"]
_PLACE_NAMES: Mapping[str, Sequence[str]] = _KEYS["place_fields"]
#: What an event of a type must have besides.
_NEEDS = {"search": "query", "say": "text", "filter": "where", "view": "place", "navigate": "place", "order": "place"}
#: Broken lines are told and skipped; with more than so many, and more than this share of all, the log is refused.
_BROKEN_AT_LEAST, _BROKEN_SHARE = 20, 0.05
_SHOWN_AT_MOST = 10
#: Events are spread over so many files by user: few enough to be open at once. The number is fixed, as the order of users follows from it.
_SPILLS = 64
_MILLISECONDS = 1e11
#: Progress is shown each so many events.
_STEP = 50_000
#: What the report calls personal data; how many values without any are remembered, and the decimals of points that are told (about 100 m).
PERSONAL = "personal data"
_PLAIN, _ROUGH = 20_000, 3
#: A column of the catalogue: its name stands in the cases and tools that are made.
_LONGEST_COLUMN = 80
_COLUMN = re.compile(rf"(?=.*\w)[^.\x00-\x1f]{{1,{_LONGEST_COLUMN}}}")
Parsed = TypeVar("Parsed")
Progress = Callable[[str], object]


def silent(line: str) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class LogPlace:
    """A place in the catalogue; ``row``: all listed data; ``point``: longitude and latitude in degrees, or None."""

    id: str
    name: str
    kind: str
    city: str
    point: tuple[float, float] | None
    row: JsonObject = field(compare=False, hash=False)


class Event(NamedTuple):
    """One event of a log.

    ``at``: seconds since 1970; ``moment``: the same as ISO 8601 with the log's own offset; ``line``: where it stands (``events.jsonl:120``); ``text``: the words
    of a search or an utterance; ``place``: an id; ``shown``: ids in the order shown; ``where``: what a filter says, by field.
    """

    at: float
    moment: str
    line: str
    type: EventType
    text: str = ""
    place: str = ""
    shown: tuple[str, ...] = ()
    where: Mapping[str, Json] = {}
    point: tuple[float, float] | None = None
    city: str = ""
    session: str = ""


class UserLog(NamedTuple):
    """One user's profile (empty if there is none) and events by time; simultaneous events keep the order of the log."""

    uid: str
    profile: JsonObject
    events: tuple[Event, ...]


@dataclass
class Oddities:
    """Counts the problems in a log by sort, and keeps the first examples of each."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Problem]] = field(default_factory=dict)

    def add(self, sort: str, problem: Problem) -> None:
        """Count a problem of a sort, and keep the first problems as examples."""
        self.counts[sort] += 1
        if len(kept := self.examples.setdefault(sort, [])) < _SHOWN_AT_MOST:
            kept.append(problem)


@dataclass(frozen=True)
class BehaviourLog:
    """An opened folder of logs: the catalogue in memory, the events in temporary files by user."""

    places: Mapping[str, LogPlace]
    oddities: Oddities
    spills: tuple[Path, ...]
    read: int = 0
    progress: Progress = silent

    def users(self) -> Iterator[UserLog]:
        """Yield each user with all events, without duplicates; the order depends only on the users' ids."""
        done = 0
        for spill in self.spills:
            by_user: dict[bytes, list[bytes]] = {}
            with spill.open("rb") as file:
                for line in file:
                    user, _, rest = line.partition(b"\t")
                    by_user.setdefault(user, []).append(rest)
            for user in sorted(by_user):
                lines = by_user.pop(user)
                yield self._user(json.loads(user), lines)
                before, done = done, done + len(lines)
                if done // _STEP > before // _STEP:
                    self.progress(f"{done:,} of {self.read:,} events looked at")

    def _user(self, uid: str, lines: list[bytes]) -> UserLog:
        """Return one user's log from temporary lines, without duplicate events and sorted by time."""
        profile: JsonObject = {}
        events: dict[str, Event] = {}
        latest = -math.inf
        for line in lines:
            data = json.loads(line)
            if isinstance(data, dict):
                profile = data
                continue
            event = Event(*data)
            event = event._replace(shown=tuple(event.shown), point=point_of(event.point))
            key = canonical_json(event._replace(line=""))
            if key in events:
                self.oddities.counts["events that occur twice"] += 1
                continue
            if event.at < latest:
                self.oddities.counts["times before that of the event above"] += 1
            latest = event.at
            events[key] = event
        return UserLog(uid, profile, tuple(sorted(events.values(), key=lambda event: event.at)))


def missing_files(folder: Path) -> list[str]:
    """Return the names of the required log files that a folder lacks; empty if it is complete."""
    lacking = [] if _event_files(folder) else ["events.jsonl"]
    return [*lacking, *([] if (folder / PLACES).is_file() else [PLACES])]


class _LogReader:
    """Reads the lines of log files, skips broken lines, finds personal data and, with ``redact``, replaces them.

    Args:
        oddities: takes the places of what is found.
        redact: whether each value gets an alias, and each point is rounded to about 100 m.
    """

    def __init__(self, oddities: Oddities, *, redact: bool) -> None:
        self._oddities, self._redact = oddities, redact
        self._personal = PersonalData()
        self._plain: set[str] = set()

    def _clean(self, data: JsonObject, line: Problem) -> JsonObject:
        """Return the data of a line with personal data replaced by aliases, and record each replaced value."""
        key = repr(data)
        if key in self._plain:
            return data
        self._personal.look(data, "")
        if not self._personal.found:
            if len(self._plain) > _PLAIN:
                self._plain.clear()
            self._plain.add(key)
            return data
        for datum in self._personal.found:
            self._oddities.add(PERSONAL, Problem(line.path, line.line, str(datum).lstrip(".")))
        self._personal.found.clear()
        cleaned = self._personal.clean(data)
        return cleaned if isinstance(cleaned, dict) else {}

    def _point(self, point: tuple[float, float] | None) -> tuple[float, float] | None:
        """Return a point, rounded if ``redact`` is on; None for None."""
        return (round(point[0], _ROUGH), round(point[1], _ROUGH)) if self._redact and point else point

    def parsed(self, path: Path, parse: Callable[[Problem, JsonObject], Parsed | None]) -> Iterator[Parsed]:
        """Yield the results of ``parse`` for all lines; broken lines are noted and skipped. Raises SuiteError if too many are broken."""
        broken, lines = 0, 0
        refused: list[Problem] = []
        for raw in read_lines(path, limits.ROW_BYTES, most=limits.LOG_LINES):
            lines += 1
            try:
                data = parse_json_line(raw.data, path.name, raw.number)
                place = Problem(path.name, raw.number, "")
                if not isinstance(data, dict):
                    raise _wrong(place, f"found {shown(data)}, expected an object")
                parsed = parse(place, data)
            except SuiteError as error:
                broken += 1
                refused = [*refused, *error.problems][:_SHOWN_AT_MOST]
                self._oddities.add("broken lines", error.problems[0])
            else:
                if parsed is not None:
                    yield parsed
        if broken > _BROKEN_AT_LEAST and broken > _BROKEN_SHARE * lines:
            share = f"{broken} of {lines} lines are broken; at most one in {round(1 / _BROKEN_SHARE)} is skipped"
            raise SuiteError(Problem(shown_path(path), 0, share), *refused)

    def event(self, line: Problem, data: JsonObject) -> tuple[str, Event] | None:
        """Return the user id and the event in a line; None for an unknown type. Raises SuiteError."""
        uid = _text(data, _NAMES["user"])
        if not uid:
            raise _wrong(line, "user is missing", f"one of {', '.join(_NAMES['user'])}")
        sort = _text(data, _NAMES["type"])
        if sort not in TYPES:
            message = f"found the type {shown(sort)}, expected one of {', '.join(TYPES)}"
            self._oddities.add("unknown types", Problem(line.path, line.line, message, did_you_mean(sort, TYPES)))
            return None
        at, moment = _moment(line, next((data[name] for name in _NAMES["at"] if name in data), None))
        need = _NEEDS[sort]
        content = _text(data, _NAMES.get(need, (need,))) if need != "where" else data.get("where")
        if not content or (need == "where" and not isinstance(content, dict)):
            raise _wrong(line, f"a {sort} needs {need}")
        shown_ids = data.get("shown")
        if shown_ids is not None and not isinstance(shown_ids, list):
            raise _wrong(line, f"shown is {shown(shown_ids)}, expected a list of ids of places")
        ids = (place["id"] if isinstance(place, dict) and "id" in place else place for place in shown_ids or ())
        uid = str(self._clean({"uid": uid}, line)["uid"])
        content = self._clean({need: content}, line)[need] if need != "place" else content
        return uid, Event(
            at=at,
            moment=moment,
            line=f"{line.path}:{line.line}",
            type=sort,
            text=str(content) if need in ("query", "text") else "",
            place=str(content) if need == "place" else "",
            shown=tuple(str(id_) for id_ in ids),
            where=content if isinstance(content, dict) else {},
            point=self._point(_point(line, data)),
            city=str(data.get("city") or ""),
            session=_text(data, ("session", "session_id")),
        )

    def profile(self, line: Problem, data: JsonObject) -> tuple[str, JsonObject]:
        """Return the user id and the profile in a line. Raises SuiteError if the id is missing."""
        uid = _text(data, ("uid", "user", "user_id"))
        if not uid:
            raise _wrong(line, "uid is missing")
        own = {key: value for key, value in data.items() if key not in ("uid", "user", "user_id")}
        profile = self._clean({"uid": uid, **own}, line)
        return str(profile["uid"]), profile

    def refuse(self) -> None:
        """Raise SuiteError if personal data were found and ``redact`` is off."""
        if (count := self._oddities.counts.get(PERSONAL)) and not self._redact:
            message = f"there are personal data in {count} places; --redact puts an alias in the place of each"
            raise SuiteError(*self._oddities.examples[PERSONAL], Problem("the log", 0, message))


@contextmanager
def open_log(folder: Path, *, redact: bool = False, progress: Progress = silent) -> Iterator[BehaviourLog]:
    """Yield a folder of logs with its events sorted into temporary files by user, which are deleted afterwards.

    Args:
        folder: the logs.
        redact: whether aliases replace personal data, and points are rounded; else these are refused.
        progress: takes a line of text each 50,000 events.

    Raises:
        UsageError: it lacks events or the catalogue.
        SuiteError: a file cannot be read, too many of its lines are broken, or texts or profiles have personal data; with file and line.
    """
    if lacking := missing_files(folder):
        hint = f"a folder of logs has {EVENTS} and {PLACES}"
        raise UsageError(f"{folder}: there is no {' and no '.join(lacking)}; {hint}")
    oddities = Oddities()
    reader = _LogReader(oddities, redact=redact)
    places = _read_places(folder / PLACES, oddities, reader)
    with tempfile.TemporaryDirectory(prefix="mapsat-logs-") as name, ExitStack() as files:
        spills = tuple(Path(name) / f"{number:02}.jsonl" for number in range(_SPILLS))
        opened = [files.enter_context(path.open("wb", buffering=1 << 16)) for path in spills]

        def spill(uid: str, data: object) -> None:
            """Append an event or a profile to the temporary file for its user."""
            key = json.dumps(uid).encode()
            opened[zlib.crc32(key) % _SPILLS].write(key + b"\t" + json.dumps(data, ensure_ascii=False).encode() + b"\n")

        read = 0
        for path in _event_files(folder):
            for uid, event in reader.parsed(path, reader.event):
                spill(uid, event)
                read += 1
                if not read % _STEP:
                    progress(f"{read:,} events read")
        if (folder / USERS).is_file():
            for uid, profile in reader.parsed(folder / USERS, reader.profile):
                spill(uid, profile)
        files.close()
        reader.refuse()
        yield BehaviourLog(places, oddities, spills, read, progress)


def _event_files(folder: Path) -> list[Path]:
    """Return the event files in a folder, plain and gzipped, sorted by name."""
    return sorted((path for end in ("", ".gz") for path in folder.glob(EVENTS + end)), key=lambda path: path.name)


def _wrong(place: Problem, message: str, hint: str = "") -> SuiteError:
    """Return a SuiteError with a message and a hint for a line."""
    return SuiteError(Problem(place.path, place.line, message, hint))


def _text(data: JsonObject, names: Iterable[str]) -> str:
    """Return the stripped text or whole number under the first existing name; empty if it is missing or of another type."""
    value = next((data[name] for name in names if name in data), None)
    return "" if isinstance(value, bool) or not isinstance(value, (str, int)) else str(value).strip()


def _point(place: Problem, data: JsonObject) -> tuple[float, float] | None:
    """Return the longitude and latitude of a line; None if both are missing. Raises SuiteError if they are not degrees."""
    lon, lat = data.get("lon"), data.get("lat")
    if lon is None and lat is None:
        return None
    if type(lon) is float and type(lat) is float and abs(lon) <= 180 and abs(lat) <= 90:  # noqa: PLR2004  degrees; what most lines have
        return lon, lat
    point = point_of([lon, lat])
    if point is None:
        raise _wrong(place, f"lon and lat are {shown(lon)} and {shown(lat)}, expected degrees")
    return point


def _read_places(path: Path, oddities: Oddities, reader: _LogReader) -> dict[str, LogPlace]:
    """Return the catalogue of places by id; add notes about unusable columns."""
    places: dict[str, LogPlace] = {}
    odd: set[str] = set()

    def parse(line: Problem, data: JsonObject) -> LogPlace:
        """Return the place in a line. Raises SuiteError for a missing field or a repeated id, UsageError for too many places."""
        texts = {key: _text(data, names) for key, names in _PLACE_NAMES.items()}
        if lacking := next((key for key, text in texts.items() if not text), ""):
            raise _wrong(line, f"{lacking} is missing: a place has id, name and kind")
        if texts["id"] in places:
            raise _wrong(line, f"there is a place {texts['id']} above")
        if len(places) == limits.TABLE_ROWS:
            raise UsageError(f"{path}: the catalogue has more than {limits.TABLE_ROWS} places")
        used = {next(name for name in names if name in data) for names in _PLACE_NAMES.values()}
        city = str(data.get("city") or "")
        own = {key: value for key, value in data.items() if key not in used and value is not None}
        for key in [key for key in own if not _COLUMN.fullmatch(key)]:
            del own[key]
            if key not in odd:
                odd.add(key)
                wrong = f"the column {shown(key)} is left out: expected 1 to {_LONGEST_COLUMN} characters, and no dot"
                oddities.add("columns left out", Problem(line.path, line.line, wrong, "rename it"))
        return LogPlace(**texts, city=city, point=_point(line, data), row={**texts, **own, "city": city})

    for place in reader.parsed(path, parse):
        places[place.id] = place
    return places


def _moment(line: Problem, value: Json) -> tuple[float, str]:
    """Return a time as seconds since 1970 and as ISO 8601; UTC if it has no offset. Raises SuiteError for any other value."""
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value.strip())
        else:
            seconds = float("nan") if value is None or isinstance(value, bool) else float(value)
            time = datetime.fromtimestamp(seconds / 1000 if seconds > _MILLISECONDS else seconds, UTC)
        at = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        raise _wrong(line, f"at is {shown(value)}, expected a time such as 2026-03-01T18:22:00+08:00") from None
    return at, time.isoformat(timespec="seconds")
