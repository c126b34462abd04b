"""Changes of what an oracle writes: one call dropped, made twice, made for another thing besides, or made otherwise. All are played in a fresh world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_mapsat.model import Case, Json, JsonObject, SameEnd, Step, Trajectory
from pytest_mapsat.reports import call_text
from pytest_mapsat.sandbox import End, WorldSuite, differences, make_world, net_changes, tables_of

from .oracle_run import Mutant
from .violations import checks_of

#: A call as it is made again: the index of its turn, the tool, the arguments.
_Call = tuple[int, str, JsonObject]
#: So many other things are tried in the place of one.
_OTHERS = 2


def write_changes(case: Case, suite: WorldSuite, oracle: Trajectory) -> Iterator[tuple[str, Mutant]]:
    """Yield the kind of each change that leads to another end than the oracle's, with the dialogue that it makes.

    Args:
        case: the case.
        suite: its suite.
        oracle: the oracle's dialogue, as it was played.

    Raises:
        MapsatError: the world cannot be made, or breaks.
    """
    made = [(index, step) for index, turn in enumerate(oracle.turns) for step in turn.steps if step.kind == "call"]
    calls: list[_Call] = [(index, step.tool, step.arguments) for index, step in made]
    end = End(tables_of(case, suite), oracle)
    checks = [check for factor in case.truth.factors for check in checks_of(factor)]
    ignored = [column for check in checks if isinstance(check, SameEnd) for column in check.ignore]
    for at, (_, step) in enumerate(made):
        if not step.changed:
            continue
        for kind, words, changed in _changes(calls, at, step, end, suite):
            played = _played(case, suite, oracle, changed)
            changes = net_changes(change for call in played.calls for change in call.changed)
            if any(differences(end.changes, changes, ignored)):
                yield kind, Mutant(words, played)


def _changes(
    calls: Sequence[_Call], at: int, step: Step, end: End, suite: WorldSuite
) -> Iterator[tuple[str, str, Sequence[_Call]]]:
    """Yield kind, words and calls of each way in which one call that writes may be wrong."""
    before, (turn, tool, arguments), behind = calls[:at], calls[at], calls[at + 1 :]
    written = call_text(tool, arguments)
    yield "dropped_write", f"{written} was not called", [*before, *behind]
    yield "doubled_write", f"{written} was called twice", [*calls[: at + 1], calls[at], *behind]
    properties = suite.tools[tool].parameters.get("properties", {})
    for name, value in arguments.items():
        for other in _other_ids(value, step, end):
            call = (turn, tool, {**arguments, name: other})
            yield "added_write", f"{call_text(*call[1:])} was called besides", [*calls[: at + 1], call, *behind]
            yield "altered_write", f"{written} was called with {name}={other!r}", [*before, call, *behind]
        for other in _other_values(value, properties.get(name, {})):
            call = (turn, tool, {**arguments, name: other})
            yield "altered_write", f"{written} was called with {name}={other!r}", [*before, call, *behind]


def _other_ids(value: Json, step: Step, end: End) -> Iterator[str]:
    """Yield ids of other rows of a table that the call changed, where the value is the id of the row that it changed."""
    for table in sorted({change.table for change in step.changed if change.id == value}):
        yield from [row_id for row_id in end.state.table(table, key=end.key(table)) if row_id != value][:_OTHERS]


def _other_values(value: Json, schema: Mapping[str, Json]) -> Iterator[Json]:
    """Yield what else the schema allows in the place of a value."""
    if isinstance(schema.get("enum"), list):
        yield from [other for other in schema["enum"] if other != value][:_OTHERS]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1


def _played(case: Case, suite: WorldSuite, oracle: Trajectory, calls: Sequence[_Call]) -> Trajectory:
    """Return the oracle's dialogue with other calls, each answered by a fresh world."""
    world = make_world(case, suite)
    steps: dict[int, list[Step]] = {}
    for index, tool, arguments in calls:
        steps.setdefault(index, []).append(world.call(tool, arguments).step(tool, arguments))
    turns = tuple(
        turn.model_copy(update={"steps": tuple(steps.get(index, ()))}) if turn.role == "agent" else turn
        for index, turn in enumerate(oracle.turns)
    )
    return oracle.model_copy(update={"turns": turns, "setup": world.setup})
