"""The state that an episode ends in: the tables it started from, with the changes laid on. Nothing is run for it.

The changes are those of every call in a sandbox, or what an environment was left with.

Two ends are compared row by row. What cannot matter does not count: the order of keys and of writes, the spelling of numbers, and the
names of new ids.
"""

from __future__ import annotations

import json
from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from pytest_mapsat.model import (
    Case,
    EndState,
    EnvironmentEnd,
    Equal,
    Json,
    JsonObject,
    MapsatError,
    NotRecordedError,
    OneOf,
    PlannedCall,
    ReferenceEnd,
    RowChange,
    Step,
    Tool,
    Trajectory,
    WatchedTable,
    did_you_mean,
    digest,
    same,
    shown,
)

from .layers import SandboxSuite, in_time, make_sandbox
from .state import (
    MOST_CHANGES,
    Row,
    Rows,
    SharedRows,
    State,
    Table,
    Writing,
    face,
    fresh,
    frozen,
    key_text,
    unknown_table,
    with_overlays,
)

#: So many new rows may refer to each other in a chain and still be told apart by the last of them.
_FURTHEST = 100
#: Of more unequal new rows than this comes to, the most alike are not looked for.
_MOST_PAIRS = 10_000
#: A row, by its table and its id.
_Place = tuple[str, str]


class EndError(MapsatError):
    """The end state of an episode cannot be determined; the message gives the reason."""


class UnknownEndError(NotRecordedError):
    """The end state of an environment is not, or only partly, recorded, so that checks cannot use it."""


def end_state(tables: Mapping[str, Table], setup: Iterable[RowChange], calls: Iterable[Step]) -> State:
    """Return the tables with all changes of an episode applied, read-only. Arguments as for ``End``.

    Raises:
        EndError: the changes do not follow from the tables, as where these have been edited since, or there are too many.
        InfrastructureError: a table has no such ids, or one of them twice.
    """
    state = State(tables)
    for number, change in enumerate((*setup, *(change for call in calls for change in call.changed)), 1):
        if number > MOST_CHANGES:
            raise EndError(f"the episode changed more than {MOST_CHANGES:,} rows")
        rows = state.table(change.table, key=change.key)
        if fresh(rows.get(change.id)) != change.before:
            raise EndError(
                f"{change.table} {change.id} is not what the episode found there: it was played on other tables than the suite has now"
            )
        rows.put_back(change.id, None if change.after is None else frozen(change.after))
    state.writing.allowed = False
    return state


def maybe_writing(trajectory: Trajectory, tools: Mapping[str, Tool]) -> tuple[str, ...]:
    """Return the sorted tools that may have made unrecorded changes; empty if an environment recorded the complete end state."""
    if trajectory.environment is not None:
        return ()
    if trajectory.lacks_calls:
        return ("any tool",)
    untold = {step.tool for step in trajectory.all_calls if "changed" in step.unknown}
    return tuple(sorted(name for name in untold if name not in tools or tools[name].effect == "write"))


class End:
    """The end of one episode: its tables, and the changes since the start.

    Args:
        tables: what the episode started from, with the case's overlays laid on.
        trajectory: the episode.
        untold: the tools that may have changed what a record made elsewhere does not tell.

    Attributes:
        tables: the tables at the start, as far as they are known.
        state: the tables at the end, by the ids of their rows.
        changes: what calls have changed, a change for each row; what the sandbox set up before the first call, and what events changed, is part of the start.
        unclear: why not all changes of a table are known, by table.
        altered: the tables among them that surely have changes which are not known.
        unwatched: the tables that nothing is known of.

    Raises:
        NotRecordedError: there are such tools.
        EndError, InfrastructureError: as ``end_state``.
    """

    unclear: Mapping[str, str] = {}
    altered: frozenset[str] = frozenset()
    unwatched: tuple[str, ...] = ()

    def __init__(self, tables: Mapping[str, Table], trajectory: Trajectory, untold: Sequence[str] = ()) -> None:
        if untold:
            raise NotRecordedError(f"the record does not have the changes of {', '.join(untold)}")
        self.tables = tables
        self.state = end_state(tables, trajectory.setup, trajectory.acts)
        self.changes = own_changes(trajectory.acts)
        events = (change for event in trajectory.events for change in event.changed)
        self._keys = {change.table: change.key for change in (*trajectory.setup, *events, *self.changes)}

    def key(self, table: str) -> str:
        """Return the name of a table's id column."""
        return self._keys.get(table, "id")

    def refuse_unknown(self, table: str) -> None:
        """Raise EndError if a table does not exist."""
        if table not in self.tables:
            raise EndError(unknown_table(table, self.tables))

    def rows(self, table: str, check: EndState | None = None) -> Sequence[Mapping[str, Json]]:
        """Return the rows of a table at the end; ``check`` matters only to subclasses. Raises EndError if the table does not exist."""
        del check
        self.refuse_unknown(table)
        return tuple(self.state[table].values()) if table in self._keys else self.tables[table].rows

    def ever(self, table: str, column: str) -> bool:
        """Return whether a row of a table has a column, at the start or at the end; also True for an empty table."""
        rows = (*self.tables[table].rows, *self.rows(table)) if table in self.tables else ()
        return not rows or any(column in row for row in rows)

    def read(self, table: str, row: JsonObject | None) -> Any:
        """Return a row of a table in frozen form for Python code."""
        del table
        return frozen(row)


class WatchedEnd(End):
    """The end of an episode that acted on an environment.

    Raises:
        UnknownEndError: it is not known.
    """

    def __init__(self, environment: EnvironmentEnd) -> None:
        if environment.unknown:
            raise UnknownEndError(environment.unknown)
        self._watched = environment.tables
        self.changes = environment.changes
        self.unclear = {name: table.unclear for name, table in self._watched.items() if table.unclear}
        self.altered = frozenset(name for name, table in self._watched.items() if table.altered)
        self.unwatched = environment.unwatched
        self._keys = {name: table.key for name, table in self._watched.items()}
        starts = environment.starts
        try:
            self.tables = {
                name: Table(name, starts[table.start].rows)
                for name, table in self._watched.items()
                if table.start in starts and not table.unread
            }
        except ValueError as error:
            raise UnknownEndError(str(error)) from None
        self._ended: dict[str, _Known] = {}
        self.state = _WatchedState(self)

    def refuse_unknown(self, table: str) -> None:
        """Raise UnknownEndError if the environment does not watch a table."""
        if table not in self._watched:
            hint = did_you_mean(table, self._watched, "it watches:")
            raise UnknownEndError(f"the environment does not watch the table {shown(table)} ({hint})")

    def rows(self, table: str, check: EndState | None = None) -> Sequence[Mapping[str, Json]]:
        """Return the rows of a table at the end for a check. Raises UnknownEndError if rows are unknown or a column is hidden."""
        known, watched = self.known(table), self._watched[table]
        columns = () if check is None else (name.partition(".")[0] for name in (*check.where, *check.has))
        if secret := next((name for name in columns if name in watched.hidden), ""):
            raise UnknownEndError(f"the column {secret} of {table} is hidden: no check can be judged by it")
        if not known.untold:
            return tuple(known.rows.values())
        match = None if check is None else check.where.get(watched.key)
        values = (match.value,) if isinstance(match, Equal) else match.values if isinstance(match, OneOf) else ()
        ids = set(map(key_text, values))
        if not ids or not ids <= known.rows.keys() | known.gone:
            raise UnknownEndError(known.untold)
        return tuple(row for place, row in known.rows.items() if place in ids)

    def read(self, table: str, row: JsonObject | None) -> Any:
        """Return a row of a table in the form for Python code; None for None."""
        return None if row is None else face(row, self._watched[table].decimals)

    def known(self, table: str) -> _Known:
        """Return the known rows of a table at the end. Raises UnknownEndError (not watched) or EndError (inconsistent changes)."""
        self.refuse_unknown(table)
        if table not in self._ended:
            watched = self._watched[table]
            start = self.tables.get(table)
            begun = watched.rows if start is None else start.rows
            rows = {key_text(*(row.get(name) for name in watched.key.split(","))): row for row in begun}
            changes = [change for change in self.changes if change.table == table]
            for change in changes:
                before, after = (_visible(row, watched) for row in (change.before, change.after))
                if start is not None and not same(rows.get(change.id), before):
                    raise EndError(
                        f"{table} {change.id} is not what the episode found there: the run file was changed since"
                    )
                if after is None:
                    rows.pop(change.id, None)
                else:
                    rows[change.id] = after
            untold = watched.unread or (
                "" if start else f"the run file does not keep all rows that {table} began with: they were too many"
            )
            gone = frozenset(change.id for change in changes if change.after is None)
            self._ended[table] = _Known(rows, gone, untold)
        return self._ended[table]


class _Known(NamedTuple):
    """The known rows of a table at the end by id, the ids of deleted rows, and why other rows may exist (empty if there are none)."""

    rows: Mapping[str, JsonObject]
    gone: frozenset[str]
    untold: str


def _visible(row: JsonObject | None, table: WatchedTable) -> JsonObject | None:
    """Return a row without hidden columns, which no file contains; None for None."""
    return row and {name: value for name, value in row.items() if name not in table.hidden}


class _WatchedState(State):
    """The tables of an environment at the end, with their rows by id. Reading unwatched data raises UnknownEndError."""

    def __init__(self, end: WatchedEnd) -> None:
        super().__init__(end._watched)  # type: ignore[arg-type]  # noqa: SLF001  its names
        self._end = end

    def table(self, name: str, *, key: str = "") -> Rows:
        """Return a table with its rows by id. Raises UnknownEndError if it is not watched, or ``key`` is not its id column."""
        if name not in self._rows:
            known = self._end.known(name)
            rows = SharedRows({own: self._end.read(name, row) for own, row in known.rows.items()})
            self._rows[name] = _WatchedRows(name, self._end.key(name), rows, known)
        if key not in ("", "id", own := self._end.key(name)):
            raise UnknownEndError(f"the rows of {name} are identified by {own}, not by {key}")
        return self._rows[name]


class _WatchedRows(Rows):
    """The rows of one watched table at the end; reading a possible but unknown row raises UnknownEndError."""

    def __init__(self, name: str, key: str, shared: SharedRows, known: _Known) -> None:
        super().__init__(name, key, shared, Writing(allowed=False))
        self._known = known

    def __getitem__(self, row: Any) -> Row:
        own = row if isinstance(row, str) else key_text(*row) if isinstance(row, tuple) else key_text(row)
        if self._known.untold and own not in self._known.rows and own not in self._known.gone:
            raise UnknownEndError(self._known.untold)
        return super().__getitem__(own)

    def __iter__(self) -> Iterator[str]:
        if self._known.untold:
            raise UnknownEndError(self._known.untold)
        return super().__iter__()


def end_of(trajectory: Trajectory, case: Case | None, suite: SandboxSuite | None, untold: Sequence[str] = ()) -> End:
    """Return the end of an episode: of its environment if there is one, otherwise of its sandbox.

    Args:
        trajectory: the episode.
        case: its case; None: it is not known.
        suite: its suite, for the tables of a sandbox; None: it is not known.
        untold: the tools that may have changed what a record made elsewhere does not tell; of an environment the end is known all the same.

    Raises:
        MapsatError: it cannot be told.
    """
    if trajectory.environment is not None:
        return WatchedEnd(trajectory.environment)
    if case is None or suite is None:
        raise EndError("the tables that the episode started from are not known here")
    return End(tables_of(case, suite), trajectory, untold)


def tables_of(case: Case, suite: SandboxSuite) -> dict[str, Table]:
    """Return the initial tables of a case's episodes."""
    return with_overlays(suite.tables, case.world.rows)


def play_reference(case: Case, suite: SandboxSuite) -> ReferenceEnd | None:
    """Play the reference of a case (``truth.end``) in a fresh sandbox and return its changes; None if the case has none.

    Raises:
        SuiteError: a recording or a table cannot be read.
        InfrastructureError: the sandbox cannot be made, or breaks.
    """
    calls = case.truth.reference
    if calls is None:
        return None
    return in_time(f"case {case.id}: its reference is not played", partial(_played, case, suite, calls))


def _played(case: Case, suite: SandboxSuite, calls: Sequence[PlannedCall]) -> ReferenceEnd:
    """Make planned calls in a fresh sandbox and return their changes; stop at the first failure.

    An event whose moment is not among the calls of a listed reference, which has no replies, comes before them.
    """
    sandbox, problem = make_sandbox(case.undisturbed, suite), ""
    events: Any = getattr(sandbox, "events", None)
    taken: Callable[[], tuple[Step, ...]] = tuple if events is None else events.taken
    replies = [turn.calls for turn in case.truth.oracle] if case.truth.end == "oracle" else [calls]
    if events is not None and case.truth.end != "oracle":
        listed = Counter(call.tool for call in calls)
        events.happen(lambda after: after.tool is None or listed[after.tool] < after.call)
    acts = [*taken()]
    planned = [(reply, call) for reply, several in enumerate(replies, 1) for call in several]
    for number, (reply, call) in enumerate(planned, 1):
        for earlier in range(1, reply) if events is not None else ():
            events.replied(earlier)  # again without effect
        acts += taken()
        answer = sandbox.call(call.tool, call.arguments)
        acts += [answer.step(call.tool, call.arguments), *taken()]
        # A look-up that finds nothing changes nothing.
        if answer.status != "ok" and (call.tool not in sandbox.tools or sandbox.tools[call.tool].effect == "write"):
            why = answer.result.get("message", "") if isinstance(answer.result, dict) else ""
            problem = f"call {number} of the reference, {call.tool}, ends as {answer.status}: {why}"[:500]
            break
    return ReferenceEnd(calls=reference_digest(case), changes=own_changes(acts), problem=problem)


def own_changes(acts: Iterable[Step]) -> tuple[RowChange, ...]:
    """Return the changes by calls, one per row: from the row as it were if only the events had come, to the row at the end."""
    begun: dict[tuple[str, str], JsonObject | None] = {}
    last: dict[tuple[str, str], RowChange] = {}
    for by_event, change in ((act.kind == "event", change) for act in acts for change in act.changed):
        place = change.table, change.id
        before = begun.setdefault(place, change.before)
        last[place] = change
        if not by_event:
            continue
        if change.before is None or change.after is None:
            begun[place] = change.after
        elif before is not None:  # else it is a row of the agent's, which stays that
            kept = {name: value for name, value in before.items() if name not in change.columns}
            begun[place] = kept | {name: change.after[name] for name in change.columns if name in change.after}
    changes = (change.model_copy(update={"before": begun[place]}) for place, change in sorted(last.items()))
    return tuple(change for change in changes if not same(change.before, change.after))


def reference_digest(case: Case) -> str:
    """Return a digest of a case's reference and world, which reveals later changes to them."""
    return digest([case.world.to_json(), *(call.to_json() for call in case.truth.reference or ())])


class Nothing:
    """The value for a missing row or column, as distinct from null."""


NOTHING = Nothing()


class EndDifference(NamedTuple):
    """A difference between two ends: the place, the value in the reference, and the value at the end of the episode.

    ``column`` is empty where the whole row, by its id, is there on one side only. A side without the row or the column has ``NOTHING``.
    """

    table: str
    row: str
    column: str
    wanted: Json
    ended: Json

    @property
    def sides(self) -> tuple[str, str]:
        """Return two texts: the value in the reference, and the value in the episode."""
        place = " ".join(filter(None, (self.table, self.row, self.column)))
        # A saved run has the names of objects sorted: what is told of it is told of the run itself.
        wanted, ended = (
            "nothing" if value is NOTHING else shown(json.loads(json.dumps(value, sort_keys=True)))
            for value in (self.wanted, self.ended)
        )
        return f"{place}: {wanted}", f"{place}: {ended}"


def differences(wanted: Iterable[RowChange], ended: Iterable[RowChange]) -> Iterator[EndDifference]:
    """Yield the differences between an episode's end and the reference: first initial rows by table and id, then new rows.

    Args:
        wanted: the net changes of the reference.
        ended: the net changes of the episode, from the same start.
    """
    reference, episode = sides = [_EndSide(wanted), _EndSide(ended)]
    for place in sorted(reference.kept.keys() | episode.kept.keys()):
        before = (reference.kept.get(place) or episode.kept[place]).before
        rows = [side.kept[place].after if place in side.kept else before for side in sides]
        forms = [side.form(place, row) for side, row in zip(sides, rows, strict=True)]
        yield from _in_rows(place, rows, forms)
    yield from _among_new(reference, episode)


class _EndSide:
    """The changes of one of two compared ends: to initial rows, and new rows, whose ids are ignored."""

    def __init__(self, changes: Iterable[RowChange]) -> None:
        self.kept: dict[_Place, RowChange] = {}
        self.new: dict[_Place, RowChange] = {}
        for change in changes:
            (self.kept if change.before is not None else self.new)[change.table, change.id] = change
        # A new row is known by its content: what it says of other new rows, by theirs. Each round looks one row further.
        self._colour(dict.fromkeys(self.new, "new"))
        for _ in range(min(len(self.new), _FURTHEST)):
            before = len(set(self.colours.values()))
            self._colour({place: digest([place[0], self.form(place, row.after)]) for place, row in self.new.items()})
            if len(set(self.colours.values())) == before:
                break

    def _colour(self, colours: dict[_Place, str]) -> None:
        """Set the colour (a digest of the content) of each new row, and the text that replaces each new id in compared forms."""
        self.colours = colours
        listed: dict[str, list[str]] = {}
        for (_, row_id), colour in colours.items():
            listed.setdefault(row_id, []).append(colour)
        self._names = {row_id: f"\0{'|'.join(sorted(several))}" for row_id, several in listed.items()}

    def form(self, place: _Place, row: JsonObject | None) -> JsonObject | None:
        """Return a row in its compared form: whole numbers in one spelling, and ids of new rows replaced by their colours."""
        names = ChainMap({place[1]: "\0itself"}, self._names) if place in self.new else self._names
        return _spelt(row, names)  # type: ignore[no-any-return]

    def unmatched(self, matched: Counter[str]) -> list[_Place]:
        """Return the remaining new rows after removing the matched number of each colour."""
        left = []
        for place in sorted(self.new):
            if matched[self.colours[place]]:
                matched[self.colours[place]] -= 1
            else:
                left.append(place)
        return left


def _spelt(value: Json, names: Mapping[str, str]) -> Json:
    """Return a copy of data with whole floats as integers, and with texts and keys that are names replaced by their meanings."""
    if isinstance(value, Mapping):
        return {names.get(key, key): _spelt(member, names) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_spelt(member, names) for member in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return names.get(value, value) if isinstance(value, str) else value


def _in_rows(
    place: _Place, rows: Sequence[JsonObject | None], forms: Sequence[JsonObject | None]
) -> Iterator[EndDifference]:
    """Yield the columns in which a row differs between both sides, with the original values."""
    (wanted, ended), (form, other) = rows, forms
    if wanted is None or ended is None or form is None or other is None:
        if wanted is not ended:
            yield EndDifference(*place, "", *(NOTHING if row is None else row for row in rows))
        return
    for column in sorted(form.keys() | other.keys()):
        if column not in form or column not in other or not same(form[column], other[column]):
            yield EndDifference(*place, column, wanted.get(column, NOTHING), ended.get(column, NOTHING))


def _among_new(reference: _EndSide, episode: _EndSide) -> Iterator[EndDifference]:
    """Yield the differences among new rows, after pairing equal rows first and then the most similar rows of the same table."""
    matched = Counter(reference.colours.values()) & Counter(episode.colours.values())
    missing, extra = reference.unmatched(Counter(matched)), episode.unmatched(Counter(matched))
    pairing = len(missing) * len(extra) <= _MOST_PAIRS
    for place in missing:
        row = reference.new[place].after
        form = reference.form(place, row)
        forms = {
            other: episode.form(other, episode.new[other].after) for other in extra if pairing and other[0] == place[0]
        }
        best = max(forms, key=lambda other: _shared(form, forms[other]), default=None)
        if best is None:
            yield EndDifference(*place, "", row, NOTHING)
            continue
        extra.remove(best)
        rows = [row, episode.new[best].after]
        yield from list(_in_rows(best, rows, [form, forms[best]])) or [EndDifference(*best, "", *rows)]
    yield from (EndDifference(*place, "", NOTHING, episode.new[place].after) for place in extra)


def _shared(left: JsonObject | None, right: JsonObject | None) -> int:
    """Return the number of columns in which two rows have the same value."""
    return sum(key in (right or {}) and same(value, (right or {})[key]) for key, value in (left or {}).items())
