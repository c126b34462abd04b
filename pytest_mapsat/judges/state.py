"""The checks on the state that the sandbox ends in. They read no prose and are decided exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from pytest_mapsat.model import (
    EndState,
    Equal,
    Exempt,
    Json,
    MapsatError,
    Match,
    OneOf,
    RowChange,
    SameEnd,
    Unchanged,
    any_true,
    change_lines,
    did_you_mean,
    fits_row,
    shown,
    values_at,
)
from pytest_mapsat.sandbox import UnknownEndError, differences

from .context import Context
from .findings import SHOWN_AT_MOST, Finding, first_few, judges, matches_in_words

#: The most lines of a comparison that a finding shows.
_COMPARED = 40


@judges(EndState)
def state(check: EndState, context: Context) -> Finding:
    """So many rows of the table fit ``where`` at the end, and each of them has ``has``."""
    low, high = check.wanted
    each = f", {'each ' if high != 1 else ''}with {matches_in_words(check.has)}" if check.has else ""
    wanted = f"{_how_many(low, high)} of {check.table}{_where(check.where)}{each}"
    try:
        rows = context.end.rows(check.table, check)
    except MapsatError as error:
        return _untold(error, wanted)
    held = [fits_row(check.where, row, results=context.calls) for row in rows]
    fitting = [row for row, fit in zip(rows, held, strict=True) if fit]
    if slip := _slip(check, fitting, context):
        return _broken(slip, wanted)
    if None in held:
        return Finding(None, f"it is unclear which rows of {check.table} are meant", wanted)
    here = f"{_rows(len(fitting))} of {check.table}{_where(check.where)} at the end"
    if len(fitting) < low or (high is not None and len(fitting) > high):
        return Finding(False, here, wanted, compared=_changes_of(check.table, context))
    return _having(check, fitting, here, wanted, context)


def _having(
    check: EndState, fitting: Sequence[Mapping[str, Json]], here: str, wanted: str, context: Context
) -> Finding:
    """Judge whether each of the rows that fit has ``has``. ``here``: how many fit, in words."""
    end, cells = context.end, [(row, name, match) for row in fitting for name, match in check.has.items()]
    held = [fits_row({name: match}, row, results=context.calls) for row, name, match in cells]
    lacking = [cell for cell, holds in zip(cells, held, strict=True) if holds is False]
    if lacking:
        key = end.key(check.table)
        why = [f"{check.table} {row.get(key, '')}: {name} is {_cell(row, name)}" for row, name, _ in lacking]
        return Finding(False, "; ".join(why[:SHOWN_AT_MOST]), wanted, compared=_changes_of(check.table, context))
    if None in held:
        return Finding(None, f"it is unclear whether each has what it must: {here}", wanted)
    idle = all(change.table != check.table for change in end.changes)
    return Finding(True, f"{here}, as at the start: nothing had to change" if idle else here, wanted, idle=idle)


def _slip(check: EndState, fitting: Sequence[Mapping[str, Json]], context: Context) -> str:
    """Return the slip of the case or its tables that keeps the check from being judged; empty where there is none."""
    end, table = context.end, check.table
    for name in (*check.where, *check.has):
        if not end.ever(table, name.partition(".")[0]):
            columns = sorted({column for row in end.rows(table) for column in row})
            hint = did_you_mean(name, columns) or f"there are: {', '.join(columns)}"
            return f"no row of {table} has a column {shown(name)} ({hint})"
    key = end.key(table)
    ids = Counter(str(row[key]) for row in fitting if key in row)
    if twice := next((row_id for row_id, times in ids.items() if times > 1), None):
        return f"two rows of {table} have the {key} {shown(twice)}"
    if check.wanted[1] == 0 and table in end.tables and (never := _never_there(check, context)):
        return f"no row of {table} ever had the {key} {shown(never)}"
    return ""


@judges(Unchanged)
def unchanged(check: Unchanged, context: Context) -> Finding:
    """No row has changed, but for what is exempt."""
    wanted = "nothing changes" + (f" except {', '.join(map(_exempt_in_words, check.exempt))}" if check.exempt else "")
    try:
        end = context.end
        for exempt in check.exempt:
            end.refuse_unknown(exempt.table)
    except MapsatError as error:
        return _untold(error, wanted)
    standing = [(change, [_is_exempt(change, exempt, context) for exempt in check.exempt]) for change in end.changes]
    other = [change for change, exempts in standing if not any(exempts) and None not in exempts]
    if other:
        named = first_few([f"{change.table} {change.id}" for change in other])
        lines = _side_by_side(other)
        return Finding(False, f"{_rows(len(other))} changed that should not have: {named}", wanted, compared=lines)
    if altered := sorted(end.altered - {exempt.table for exempt in check.exempt}):
        return Finding(False, f"rows changed that should not have: {end.unclear[altered[0]]}", wanted)
    unsure = "it is unclear whether the changed rows are those that may change"
    if end.unclear or any(not any(exempts) for _, exempts in standing):
        return Finding(None, first_few([*end.unclear.values()], "; ") or unsure, wanted)
    unwatched = f" (not watched: {first_few(end.unwatched)})" if end.unwatched else ""
    if not end.changes:
        idle = not check.exempt
        why = "nothing changed" + (", and nothing had to change" if idle else "")
        return Finding(True, why + unwatched, wanted, idle=idle)
    return Finding(True, f"{_rows(len(end.changes))} changed, as allowed{unwatched}", wanted)


@judges(SameEnd)
def same_end(check: SameEnd, context: Context) -> Finding:
    """The episode ends as the reference does."""
    wanted = "the episode ends as it does after the reference calls"
    try:
        reference, changes = context.reference, context.end.changes
        for why in context.end.unclear.values():
            raise UnknownEndError(why)
    except MapsatError as error:
        return _untold(error, wanted)
    if reference is None:
        return _broken("the case has no reference: give truth.end", wanted)
    if reference.problem:
        return _broken(reference.problem, wanted)
    differing = list(differences(reference.changes, changes, check.ignore))
    if differing:
        places = list(
            dict.fromkeys(
                f"{difference.table} {difference.row}" + (f" {difference.column}" if difference.column else "")
                for difference in differing
            )
        )
        lines = (("reference", "episode"), *(difference.sides for difference in differing[:_COMPARED]))
        why = f"the end differs from the reference in {first_few(places)}"
        return Finding(False, why, wanted, compared=lines)
    if not reference.changes and not changes:
        return Finding(True, "nothing had to change, and nothing did", wanted, idle=True)
    return Finding(True, f"the end is that of the reference: {_rows(len(changes))} changed", wanted)


def _broken(why: str, wanted: str) -> Finding:
    return Finding(None, why, wanted, broken=True)


def _untold(error: MapsatError, wanted: str) -> Finding:
    return Finding(None, str(error), wanted, broken=not isinstance(error, UnknownEndError))


def _never_there(check: EndState, context: Context) -> str:
    """Return an id that ``where`` names and no row ever had: a slip of the case, which no row at the end could show."""
    end, match = context.end, check.where.get(context.end.key(check.table))
    wanted = [match.value] if isinstance(match, Equal) else [*match.values] if isinstance(match, OneOf) else []
    key = end.key(check.table)
    ids = {str(row.get(key)) for row in (*end.tables[check.table].rows, *end.rows(check.table))}
    ids |= {
        change.id for call in context.trajectory.all_calls for change in call.changed if change.table == check.table
    }
    return next((str(value) for value in wanted if str(value) not in ids), "")


def _is_exempt(change: RowChange, exempt: Exempt, context: Context) -> bool | None:
    """Return whether a change is allowed; None where that is unclear."""
    if change.table != exempt.table:
        return False
    sides = [row for row in (change.before, change.after) if row is not None]
    if exempt.columns and (len(sides) < 2 or not set(change.columns) <= set(exempt.columns)):  # noqa: PLR2004  before and after
        return False
    return any_true(fits_row(exempt.where, row, results=context.calls) for row in sides)


def _side_by_side(changes: Iterable[RowChange]) -> tuple[tuple[str, str], ...]:
    lines = tuple(islice((line for change in changes for line in change_lines(change)), _COMPARED))
    return (("at the start", "at the end"), *lines) if lines else ()


def _changes_of(table: str, context: Context) -> tuple[tuple[str, str], ...]:
    return _side_by_side(change for change in context.end.changes if change.table == table)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count or 'no'} rows"


def _how_many(low: int, high: int | None) -> str:
    if high is None:
        return f"at least {_rows(low)}" if low else "all rows"
    return _rows(low) if low == high else f"{low} to {_rows(high)}" if low else f"at most {_rows(high)}"


def _where(matches: Mapping[str, Match]) -> str:
    return f" with {matches_in_words(matches)}" if matches else ""


def _exempt_in_words(exempt: Exempt) -> str:
    columns = f"{' and '.join(exempt.columns)} in " if exempt.columns else ""
    return f"{columns}{exempt.table}{_where(exempt.where)}"


def _cell(row: Mapping[str, Json], path: str) -> str:
    values = [row[path]] if path in row else values_at(row, path)
    return " and ".join(map(shown, values[:SHOWN_AT_MOST])) if values else "not there"
