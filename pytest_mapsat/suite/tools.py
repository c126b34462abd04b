"""The tools of a suite, and their ``answer`` blocks against its tables: what no case can know, found when the suite is opened."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from pytest_mapsat.formats import raise_for_problems, shown_path, validate
from pytest_mapsat.model import (
    Around,
    Json,
    JsonObject,
    MetresFrom,
    NextTimes,
    OfRoute,
    Problem,
    RankedAnswer,
    Reference,
    Refers,
    RoundAnswer,
    RoutesAnswer,
    RowsAnswer,
    SuiteError,
    Tool,
    Words,
    did_you_mean,
    shown,
)
from pytest_mapsat.sandbox import Keys, Parts, point_of

from .common import documents_of_yaml
from .tables import StateFiles

#: Tools by name, each with its file and line.
Tools = Mapping[str, tuple[Tool, Path, int]]
#: A complaint of an ``answer`` block: what is wrong, and what to do.
_Wrong = tuple[str, str]
_CLOCK = re.compile(r"([01]\d|2[0-4]):[0-5]\d", re.ASCII)
_WORD_LISTS = ("words", "absent", "near", "spelt")


def read_tools(paths: Sequence[Path]) -> dict[str, tuple[Tool, Path, int]]:
    """Return the tools of these files by name, sorted, each with its file and line. Raises SuiteError."""
    tools: dict[str, tuple[Tool, Path, int]] = {}
    problems: list[Problem] = []
    for path in paths:
        name = shown_path(path)
        try:
            documents = documents_of_yaml(path)
        except SuiteError as error:
            problems.extend(error.problems)
            continue
        for document in documents:
            tool, line = validate(Tool, document, name, problems), document.lines.line
            if tool is None:
                continue
            _, first, first_line = tools.setdefault(tool.name, (tool, path, line))
            if (first, first_line) != (path, line):
                message = f"the tool {shown(tool.name)} is described twice; first in {shown_path(first)}:{first_line}"
                problems.append(Problem(name, line, message, "keep one of the two"))
    owners = {name: name for name in tools}
    for own, (tool, path, line) in sorted(tools.items()):
        for alias in tool.aliases:
            if owners.setdefault(alias, own) != own or alias == own:
                message = f"the alias {shown(alias)} of {own} is also a name of {owners[alias]}"
                problems.append(Problem(shown_path(path), line, message, "leave it out here, or there"))
    raise_for_problems(problems)
    return dict(sorted(tools.items()))


# -- answer blocks


def ranked_tables(tools: Tools) -> dict[str, tuple[str, str]]:
    """Return the tables that ranked tools search, each with the columns of the id and of the part. Raises SuiteError for tools that do not agree."""
    tables: dict[str, tuple[str, str]] = {}
    problems: list[Problem] = []
    for name, (tool, path, line) in tools.items():
        if isinstance(tool.answer, RankedAnswer):
            keys = tool.answer.id, tool.answer.part
            if (first := tables.setdefault(tool.answer.table, keys)) != keys:
                message = f"{name}: answer: id and part are {' and '.join(keys)}, and {' and '.join(first)} of another tool for {tool.answer.table}"
                problems.append(Problem(shown_path(path), line, message, "rows of one table have one id and one part"))
    raise_for_problems(problems)
    return tables


def answer_problems(tools: Tools, state: StateFiles) -> Iterator[Problem]:
    """Give what is wrong between the tools of a suite and its tables, each with its file and line."""
    word_tables: set[str] = set()
    way_tables: dict[str, RoutesAnswer] = {}
    for tool, path, line in tools.values():
        for message, hint in _Block(tool, tools, state, word_tables).wrong():
            yield Problem(shown_path(path), line, f"{tool.name}: answer: {message}", hint)
        if isinstance(tool.answer, RoutesAnswer) and tool.answer.ways in state.tables:
            way_tables.setdefault(tool.answer.ways, tool.answer)
        if isinstance(tool.answer, RowsAnswer) and tool.answer.table in state.tables:
            for field in tool.answer.compute.values():
                if isinstance(field, NextTimes):
                    yield from _of_rows(tool.answer.table, state, partial(_timetable_wrong, column=field.column))
    answers = [tool.answer for tool, _, _ in tools.values() if isinstance(tool.answer, RankedAnswer)]
    # Two tools may search one table.
    for table, keys in dict.fromkeys((answer.table, Keys(answer.id, answer.part)) for answer in answers):
        yield from _keys_wrong(table, keys, state)
    for name in sorted(word_tables):
        yield from _of_rows(name, state, _word_wrong)
    for name, answer in sorted(way_tables.items()):
        yield from _of_rows(name, state, partial(_way_wrong, answer=answer))


class _Block:
    """The ``answer`` block of one tool."""

    def __init__(self, tool: Tool, tools: Tools, state: StateFiles, word_tables: set[str]) -> None:
        self._tool = tool
        self._tools = tools
        self._state = state
        self._word_tables = word_tables

    def wrong(self) -> Iterator[_Wrong]:
        """Give all complaints."""
        answer = self._tool.answer
        if isinstance(answer, RowsAnswer):
            yield from self._rows(answer)
        elif isinstance(answer, RankedAnswer):
            yield from self._ranked(answer)
        elif isinstance(answer, RoutesAnswer):
            yield from self._routes(answer)
        elif isinstance(answer, RoundAnswer):
            yield from self._parameters(answer.start, answer.stops)
            yield from self._reference(answer.places)
            yield from self._columns(answer.places.table, (*answer.show.values(), answer.ties))
            yield from self._knows_routes(answer.routes, answer.mode)

    def _rows(self, answer: RowsAnswer) -> Iterator[_Wrong]:
        yield from self._parameters(*answer.where, *answer.echo.values(), answer.page.number, answer.page.size)
        computed = answer.compute.keys()
        named = {field.removeprefix("-") for field in answer.sort} | set(answer.show)
        yield from self._columns(answer.table, named - computed)
        for rule in answer.where.values():
            if isinstance(rule, Words):
                yield from self._columns(answer.table, (*rule.name, *rule.sort, *rule.also, rule.lon, rule.lat))
                yield from self._words(rule.words)
            elif isinstance(rule, Around):
                yield from self._columns(answer.table, (rule.lon, rule.lat))
                yield from self._parameters(rule.within if isinstance(rule.within, str) else None)
            else:
                yield from self._columns(answer.table, (rule.column,))
            if isinstance(rule, Refers):
                yield from self._reference(rule.to)
        for field in answer.compute.values():
            if isinstance(field, MetresFrom):
                yield from self._columns(answer.table, (field.lon, field.lat))
                yield from self._parameters(field.parameter)
            elif isinstance(field, OfRoute):
                yield from self._columns(answer.table, (field.plus, field.per_km))
                yield from self._parameters(field.origin, field.destination)
                yield from self._knows_routes(field.routes, field.mode)
            else:
                yield from self._columns(answer.table, (field.column,))

    def _ranked(self, answer: RankedAnswer) -> Iterator[_Wrong]:
        named = (answer.text, *answer.where, *answer.echo.values())
        yield from self._parameters(*named, answer.page.number, answer.page.size)
        yield from self._columns(answer.table, (answer.id, answer.part, *answer.fields, *answer.show))
        yield from self._words(answer.words)

    def _routes(self, answer: RoutesAnswer) -> Iterator[_Wrong]:
        yield from self._parameters(
            "origin", "destination", "mode", *answer.avoid, *answer.echo.values()
        )
        named = (answer.name, answer.metres, answer.minutes, *answer.sums, *answer.least, *answer.avoid.values())
        yield from self._columns(answer.ways, named)
        if answer.ends is not None:
            yield from self._reference(answer.ends)

    def _reference(self, reference: Reference) -> Iterator[_Wrong]:
        yield from self._columns(
            reference.table, (reference.id, *reference.name, *reference.sort, reference.lon, reference.lat)
        )
        yield from self._words(reference.words)

    def _words(self, table: str | None) -> Iterator[_Wrong]:
        if table is not None:
            yield from self._columns(table, ())
            if table in self._state.tables:
                self._word_tables.add(table)

    def _columns(self, table: str, columns: Iterable[str | None]) -> Iterator[_Wrong]:
        """Give the columns that no row of a table has, or the table itself where there is none."""
        if table not in self._state.tables:
            known = did_you_mean(table, self._state.tables) or f"there is {', '.join(self._state.tables) or 'none'}"
            yield f"there is no table {shown(table)}, which state/{table}.jsonl would hold", known
            return
        named = dict.fromkeys(filter(None, columns))
        held = self._state.columns(table, named)
        for column in named:
            if column not in held:
                hint = did_you_mean(column, held) or f"it has {', '.join(held) or 'none'}"
                yield f"no row of the table {table} has a column {shown(column)}", hint

    def _parameters(self, *names: str | None) -> Iterator[_Wrong]:
        declared = self._tool.parameters.get("properties", {})
        for name in dict.fromkeys(filter(None, names)):
            if name not in declared:
                yield f"the tool has no parameter {shown(name)}", did_you_mean(name, declared)

    def _knows_routes(self, name: str, mode: str) -> Iterator[_Wrong]:
        other = self._tools.get(name)
        answer = other[0].answer if other else None
        if not isinstance(answer, RoutesAnswer):
            yield f"routes: {shown(name)} is no tool that answers with routes", did_you_mean(name, self._tools)
        elif mode not in answer.local:
            yield f"mode: {name} knows no {shown(mode)}", f"it knows {', '.join(answer.local)}"


def _of_rows(name: str, state: StateFiles, wrong: Callable[[JsonObject], str]) -> Iterator[Problem]:
    for row, (path, line) in state.rows(name):
        message = wrong(row)
        if message:
            yield Problem(shown_path(path), line, message)


def _keys_wrong(table: str, keys: Keys, state: StateFiles) -> Iterator[Problem]:
    """Give the rows of a ranked table whose id or part is missing, or whose id stands twice."""
    if table not in state.tables or not isinstance(state.tables[table].spots, tuple):
        return  # the tool is wrong, which a problem of its own tells; a large table is held to its keys when it is read
    if keys.part not in state.columns(table, [keys.part]):
        return
    parts = Parts(keys)
    spots = state.tables[table].spots
    for at, row in enumerate(state.tables[table].rows):
        path, line = spots[at]
        if wrong := parts.add(row, at, lambda first: f"{shown_path(spots[first][0])}:{spots[first][1]}"):
            yield Problem(shown_path(path), line, wrong)


def _word_wrong(row: JsonObject) -> str:
    """Return what keeps a row from being one of words, empty where nothing does."""
    lists = [name for name in _WORD_LISTS if name in row]
    pairs = (("sort", "words"), ("word", "spelt"))
    if not lists or any(
        (key in row) != (with_ in row) or not isinstance(row.get(key, ""), str) for key, with_ in pairs
    ):
        return "a row of words has sort with words, word with spelt, absent, or near"
    for name in lists:
        words = row[name] if isinstance(row[name], list) else [None]
        if not all(isinstance(word, str) and word.strip() for word in words):
            return f"{name}: found {shown(row[name])}, expected a list of texts"
    return ""


def _timetable_wrong(row: JsonObject, column: str) -> str:
    """Return what keeps a column from holding a timetable, empty where nothing does."""
    hours = row.get(column)
    if column not in row or (isinstance(hours, dict) and all(_hour(*hour) for hour in hours.items())):
        return ""
    return f'{column}: found {shown(hours)}, expected minutes by hour: {{"09": ["05", "35"]}}'


def _hour(hour: str, minutes: Json) -> bool:
    listed = minutes if isinstance(minutes, list) else [None]
    return all(isinstance(minute, str) and _CLOCK.fullmatch(f"{hour}:{minute}") is not None for minute in listed)


def _way_wrong(row: JsonObject, answer: RoutesAnswer) -> str:
    """Return what keeps a row from being a way, empty where nothing does."""
    for column in ("from", "to"):
        if point_of(row.get(column)) is None:
            return f'{column}: found {shown(row.get(column))}, expected a point: "lon,lat"'
    for column in (answer.metres, answer.minutes):
        value = row.get(column)
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            return f"{column}: found {shown(value)}, expected a number, not below 0"
    modes = row.get("mode") if isinstance(row.get("mode"), list) else [row.get("mode")]
    unknown = [mode for mode in modes or [None] if mode not in answer.local]
    if unknown:
        return f"mode: found {shown(unknown[0])}, expected one of {', '.join(answer.local)}"
    closed = row.get("closed")
    clocks = closed if isinstance(closed, list) else []
    if closed is None or [isinstance(clock, str) and bool(_CLOCK.fullmatch(clock)) for clock in clocks] == [True, True]:
        return ""
    return f'closed: found {shown(closed)}, expected two times of day: ["22:00", "05:30"]'
