"""What a computed answer may look like, without a call: for those who check declarations and paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_mapsat.model import Json, JsonObject, NextTimes, RoundAnswer, RoutesAnswer, RowsAnswer, Tool


def shape_of(tool: Tool, rows: Mapping[str, Iterable[JsonObject]]) -> Json:
    """Return a made-up result that has every field which an answer of the tool may have, None for a tool that computes none.

    Args:
        tool: the tool.
        rows: the rows of each table, those that overlays bring included.
    """
    answer = tool.answer
    if isinstance(answer, RowsAnswer):
        return _rows(answer, rows)
    if isinstance(answer, RoutesAnswer):
        return _routes(answer, rows)
    if isinstance(answer, RoundAnswer):
        stop = _every(rows.get(answer.places.table, ()))
        leg = {"from": answer.at_start, "to": answer.whole, answer.metres: 0, answer.minutes: 0}
        return {answer.order: [{key: stop.get(column) for key, column in answer.show.items()}], answer.legs: [leg]}
    return None


def _rows(answer: RowsAnswer, rows: Mapping[str, Iterable[JsonObject]]) -> JsonObject:
    held = _every(rows.get(answer.table, ()))
    computed: JsonObject = {
        name: ["09:00"] if isinstance(field, NextTimes) else 0 for name, field in answer.compute.items()
    }
    row = {**held, **computed}
    shown = {name: row[name] for name in answer.show or row if name in row}
    echo: JsonObject = dict.fromkeys(answer.echo, "")
    if answer.items is None:
        return {**echo, **(answer.otherwise or {}), **shown}
    return {**echo, **({answer.count: 1} if answer.count else {}), answer.items: [shown]}


def _routes(answer: RoutesAnswer, rows: Mapping[str, Iterable[JsonObject]]) -> JsonObject:
    held = _every(rows.get(answer.ways, ()))
    columns = (answer.name, answer.metres, answer.minutes, *answer.sums, *answer.least)
    more = {key: value for local in answer.local.values() for key, value in local.more.items()}
    route = {**{column: held[column] for column in columns if column in held}, **more}
    return {**dict.fromkeys(answer.echo, ""), answer.items: [route]}


def _every(rows: Iterable[JsonObject]) -> JsonObject:
    """Return every column of some rows, each with a value that says something where one does."""
    found: JsonObject = {}
    for row in rows:
        for column, value in row.items():
            found[column] = _merged(found.get(column), value)
    return found


def _merged(one: Json, other: Json) -> Json:
    """Return one value with all that two of one column may hold."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {**one, **{key: _merged(one.get(key), value) for key, value in other.items()}}
    if isinstance(other, list) and other and isinstance(other[0], dict):
        held = one[0] if isinstance(one, list) and one else {}
        for member in other:
            held = _merged(held, member)
        return [held]
    return other if one in (None, [], {}, "") else one
