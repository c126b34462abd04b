"""A suite out of a folder of logs: its cases, the tools and tables that answer them, and the report of what was made and left out."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

from pytest_mapsat.formats import replacing
from pytest_mapsat.model import SUITE_SCHEMA, JsonObject, SuiteManifest, Tool, Usage, UsageError, total_usage
from pytest_mapsat.sandbox import opening_hours
from pytest_mapsat.suite import case_json, new_folder, write_manifest, write_tool

from .habits import LeftOut, UserSessions
from .log_cases import CaseMaker, MadeCase, NoCase
from .logs import Log, Place, open_log
from .proposed import ProposingModel

_SHOWN_AT_MOST = 20
#: How many cases a suite gets, unless more are asked for.
CASES = 1000
#: Words of a search that may be missing in what is found.
_ABSENT = [
    "a", "an", "the", "me", "find", "some", "any", "near", "nearby", "nearest", "around", "here", "please",
    "附近", "附近的", "找", "一家", "一个", "有没有", "的",
]  # fmt: skip
#: What a column of a catalogue means where its name says so; others are told apart by their values.
_BY_NAME: dict[str, JsonObject | str] = {
    "rating": "rating",
    "score": "rating",
    "price": "price",
    "price_yuan": "price",
    "per_head": {"kind": "price", "role": "per_head"},
    "fee": {"kind": "price", "role": "fee"},
    "hours": "hours",
    "opening_hours": "hours",
    "address": "address",
    "phone": "phone",
    "tel": "phone",
    "lon": "lon",
    "lat": "lat",
    "point": "point",
    "kind": "kind",
}


@dataclass
class LogReport:
    """What became of a folder of logs.

    Attributes:
        counts: users, events, sessions, glances left out, choices, cases, drafts.
        requirements: how many by kind and source, such as ``hard, profile``.
        left_out: how many conditions and sessions are left out, by why.
        proposals: what came of a model's proposals: agreed with the statistics, agreed against them, drafts, refused, by why; and how its replies were.
        spent: what the model cost; None where none was asked.
        examples: the first of them, each with the case, the condition and the choices that it shares with another.
        odd: what was odd in the log, by sort; ``odd_lines``: the first places of each.
    """

    counts: Counter[str] = field(default_factory=Counter)
    requirements: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    proposals: Counter[str] = field(default_factory=Counter)
    spent: Usage | None = None
    examples: list[str] = field(default_factory=list)
    odd: dict[str, int] = field(default_factory=dict)
    odd_lines: list[str] = field(default_factory=list)

    @property
    def told(self) -> str:
        """The counts in words."""
        return ", ".join(f"{count} {what}" for what, count in self.counts.items())

    def to_json(self) -> JsonObject:
        """Return the report as JSON data."""
        return {**vars(self), "spent": None if self.spent is None else self.spent.model_dump()}

    def lines(self) -> Iterator[str]:
        """Give the report as lines of text."""
        yield self.told
        listed = {
            "requirements": self.requirements,
            "left out": self.left_out,
            "proposals": self.proposals,
            "odd": self.odd,
        }
        for title, counts in listed.items():
            if counts:
                yield f"{title}:"
                yield from (f"  {count:6} {what}" for what, count in sorted(counts.items()))
        if self.spent is not None and self.spent.cost is not None:
            yield f"the model cost {self.spent.cost:.4f} USD"
        yield from (f"  {line}" for line in (*self.examples, *self.odd_lines))

    def restored(self, user: UserSessions) -> None:
        """Count what was restored of a user."""
        self.counts["users"] += 1
        self.counts["events"] += len(user.log.events)
        self.counts["sessions"] += len(user.sessions)
        self.counts["glances left out"] += sum(session.jumps for session in user.sessions)
        self.counts["choices"] += len(user.choices)

    def made(self, case: MadeCase) -> None:
        """Count a case, its requirements, and what was left out of it."""
        self.counts["cases"] += 1
        self.counts["drafts"] += bool(case.case.truth.proposals)
        for requirement in case.case.truth.requirements:
            source = f", {requirement.source}" if requirement.kind in ("hard", "soft") else ""
            self.requirements[f"{requirement.kind}{source}{', draft' if requirement.draft else ''}"] += 1
        self.out(case.case.id, case.left_out)
        for condition in case.later_only:
            self.left_out["only later records show it"] += 1
            self._example(f"{case.case.id}: {condition.words('en')}: only later records show it")
        self.proposals["agreed with the statistics"] += len(case.proposed.agreed)
        self.proposals["agreed against the statistics"] += len(case.proposed.doubted)
        self.proposals["drafts"] += len(case.proposed.drafts)
        for what, why in case.proposed.refused:
            self.proposals[f"refused: {why}"] += 1
            self._example(f"{case.case.id}: proposed, refused: {what}: {why}")
        self.proposals = +self.proposals

    def out(self, about: str, left_out: Iterable[LeftOut]) -> None:
        """Count conditions that are left out, and tell the first of them."""
        for out in left_out:
            self.left_out[out.why] += 1
            other = f" ({out.other.words('en')}); both in {', '.join(out.shared[:5])}" if out.other else ""
            self._example(f"{about}: {out.condition.words('en')}: {out.why}{other}")

    def _example(self, text: str) -> None:
        if len(self.examples) < _SHOWN_AT_MOST:
            self.examples.append(text)


def build_from_logs(
    folder: Path,
    dest: Path,
    *,
    each: int = 1,
    cases: int = CASES,
    redact: bool = False,
    model: ProposingModel | None = None,
) -> LogReport:
    """Make a suite of the cases that a folder of logs holds.

    Args:
        folder: the logs.
        dest: the folder of the suite, which is not there yet or is empty.
        each: how many cases a user has for one kind of place, the latest ones.
        cases: how many cases there are at most. Users are looked at in an order that follows from their ids alone, until there are so many.
        redact: whether aliases replace personal data, which are refused otherwise, and points are rounded to about 100 m.
        model: what proposes needs beside the statistics; None: nothing does.

    Raises:
        ModelError: there is no way to the model, or a ceiling is met.
        UsageError: the folder lacks a file or holds no case, or the suite cannot be written.
        SuiteError: a file cannot be read, too many of its lines are broken, or texts or profiles have personal data.
    """
    report = LogReport()
    with open_log(folder, redact=redact) as log, new_folder(dest) as suite, tempfile.TemporaryFile() as spill:
        maker = CaseMaker(log, each, model)
        written: list[tuple[str, int, int]] = []
        profiles: dict[str, JsonObject] = {}
        for uid, profile, case in islice(_cases(maker, log, report), cases):
            report.made(case)
            line = json.dumps(case_json(case.case), ensure_ascii=False, allow_nan=False).encode() + b"\n"
            written.append((case.case.id, spill.tell(), len(line)))
            spill.write(line)
            if profile:
                profiles[uid] = profile
        if maker.proposer is not None:
            report.proposals += maker.proposer.counts
            report.spent = total_usage(maker.proposer.spent)
        if not written:
            counts = "".join(f"; {count} {what}" for what, count in sorted((report.left_out + log.told.counts).items()))
            raise UsageError(f"{folder}: there is no case in these logs, and nothing is written: {report.told}{counts}")
        _write_cases(suite / "cases.jsonl", spill, sorted(written))
        _write_tables(suite / "state", log, profiles)
        for tool in _tools(log.places.values(), profiles):
            write_tool(suite / "tools" / f"{tool.name}.yaml", tool)
        manifest = SuiteManifest(
            name="logs",
            version="1",
            license="LicenseRef-own-logs",
            schema_version=SUITE_SCHEMA,
            coordinates="wgs84",
            description="Cases out of logs of behaviour.",
        )
        write_manifest(suite / "suite.yaml", manifest)
        report.odd = dict(sorted(log.told.counts.items()))
        report.odd_lines = [str(problem) for problems in log.told.examples.values() for problem in problems]
    return report


def _cases(maker: CaseMaker, log: Log, report: LogReport) -> Iterator[tuple[str, JsonObject, MadeCase]]:
    """Give the cases of all users, each with the id of its user and the profile; sessions that are none go into the report."""
    for user in log.users():
        restored = maker.restore(user)
        report.restored(restored)
        for case in maker.cases(restored):
            if isinstance(case, NoCase):
                report.left_out[f"sessions: {case.why}"] += 1
                report.out(case.about, case.left_out)
            else:
                yield user.uid, user.profile, case


def _write_cases(path: Path, spill: IO[bytes], spots: Iterable[tuple[str, int, int]]) -> None:
    with replacing(path) as file:
        for _, start, length in spots:
            spill.seek(start)
            file.write(spill.read(length))


def _write_tables(folder: Path, log: Log, profiles: Mapping[str, JsonObject]) -> None:
    kinds = sorted({place.kind for place in log.places.values()})
    words = [{"sort": kind, "words": [kind.replace("_", " ")]} for kind in kinds if "_" in kind]
    _write_rows(folder / "places.jsonl", map(_row, log.places.values()))
    _write_rows(folder / "words.jsonl", [*words, {"absent": _ABSENT}])
    # What users did stands in the cases, each as far as its query: the table itself only has the columns.
    _write_rows(folder / "activities.jsonl", [{"uid": "", "visits": [], "searches": []}])
    if profiles:
        _write_rows(folder / "users.jsonl", (profiles[uid] for uid in sorted(profiles)))


def _row(place: Place) -> JsonObject:
    if place.point is None:
        return place.row
    lon, lat = place.point
    return {**place.row, "lon": lon, "lat": lat, "point": f"{lon},{lat}"}


def _write_rows(path: Path, rows: Iterable[JsonObject]) -> None:
    with replacing(path) as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _tools(places: Iterable[Place], profiles: Mapping[str, JsonObject]) -> Iterator[Tool]:
    """Give the tools that answer from the catalogue and from what users did: their columns are those of the catalogue."""
    columns: dict[str, Any] = {}
    for place in places:
        for name, value in _row(place).items():
            columns.setdefault(name, value)
    fields = {name: _meaning(name, value) for name, value in columns.items() if name not in ("id", "name")}
    entity = {"name": "name", "id": "id", "fields": fields}
    text = {"type": "string"}
    also = [name for name, value in columns.items() if isinstance(value, (str, list)) and name not in _BY_NAME]
    words = {
        "op": "words",
        "name": ["name"],
        "sort": ["kind"],
        "also": [name for name in also if name not in ("id", "name", "city")],
    }
    yield Tool.model_validate(
        {
            "name": "search_places",
            "description": "Search the places of a town by name or kind; 20 a page.",
            "parameters": {
                "type": "object",
                "required": ["query"],
                "properties": {
                    "query": {**text, "description": "name or kind of place, with further words"},
                    "city": {**text, "description": "the town; the user's own unless given"},
                    "page": {"type": "integer", "minimum": 1, "description": "which 20 places"},
                },
            },
            "match": {"query": {"type": "text"}, "city": {"type": "place"}, "page": {"type": "number", "default": 1}},
            "entities": [{"items": "places", **entity}],
            "fields": {"count": "ignored"},
            "answer": {
                "kind": "rows",
                "table": "places",
                "where": {
                    "query": {**words, "words": "words"},
                    "city": {"op": "equal", "column": "city", "context": "city"},
                },
                "page": {"number": "page"},
                "items": "places",
                "count": "count",
            },
        }
    )
    yield Tool.model_validate(
        {
            "name": "place_details",
            "description": "Everything known of one place.",
            "parameters": {
                "type": "object",
                "required": ["place_id"],
                "properties": {"place_id": {**text, "description": "the id that a search returned"}},
            },
            "match": {"place_id": {"type": "id"}},
            "entities": [{"items": "", **entity}],
            "answer": {
                "kind": "rows",
                "table": "places",
                "where": {
                    "place_id": {
                        "op": "refers",
                        "column": "id",
                        "to": {"table": "places", "name": ["name"], "words": "words"},
                    }
                },
            },
        }
    )
    visit = {name: meaning for name, meaning in fields.items() if name not in ("lon", "lat", "point")}
    yield _of_the_user(
        "get_recent_activity",
        "What the user took and searched for, the latest first.",
        "activities",
        entities=[
            {
                "items": "visits",
                "name": "name",
                "id": "place_id",
                "fields": {**visit, "date": "ignored", "travelled": "text"},
            }
        ],
        fields={"uid": "ignored", "searches": "ignored"},
    )
    if profiles:
        keys = sorted({key for profile in profiles.values() for key in profile})
        fields = {key: "ignored" if key == "uid" else "text" for key in keys}
        yield _of_the_user("get_user_profile", "What is known of the user.", "users", fields=fields)


def _of_the_user(name: str, description: str, table: str, **declared: object) -> Tool:
    return Tool.model_validate(
        {
            "name": name,
            "description": description,
            "profile": True,
            "parameters": {
                "type": "object",
                "required": ["uid"],
                "properties": {"uid": {"type": "string", "description": "the user id of the context"}},
            },
            "match": {"uid": {"type": "id"}},
            "answer": {"kind": "rows", "table": table, "where": {"uid": {"op": "user", "column": "uid"}}},
            **declared,
        }
    )


def _meaning(name: str, value: object) -> JsonObject | str:
    """Return what the values of a column mean: by its name, else by the first value."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, (int, float)):
        return {"kind": "number", "noun": name.replace("_", " ")}
    if isinstance(value, str) and opening_hours(value):
        return "hours"
    return "text" if isinstance(value, (str, list)) else "ignored"
