"""A case against its suite: what pydantic cannot know because it sees one case only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from inspect import signature
from itertools import islice
from typing import Any, Literal, get_args

from pytest_mapsat.formats import DataPath
from pytest_mapsat.model import (
    FAULT_ERRORS,
    KINDS,
    Bound,
    CallPattern,
    Calls,
    Case,
    Confirms,
    EndState,
    Exempt,
    ExpectedTool,
    FaultError,
    Matches,
    Noun,
    Number,
    Output,
    PlannedCall,
    PythonCheck,
    Recommends,
    SameEnd,
    ScriptedCall,
    SuiteManifest,
    Tool,
    UserScript,
    World,
    did_you_mean,
    mismatches,
    shown,
    types_of,
)
from pytest_mapsat.registry import added_checks
from pytest_mapsat.sandbox import Table, unknown_table, unmet, with_overlays

Place = tuple[str | int, ...]
Severity = Literal["error", "warning", "note"]
#: Whose call it is that names a tool.
_Caller = Literal["agent", "user", "anyone"]
#: The nouns that name a tool.
TOOL_NAMERS: frozenset[type[Noun]] = frozenset(
    {ExpectedTool, Calls, CallPattern, Recommends, Bound, Output, PlannedCall, ScriptedCall}
)
OF_OUTPUT: frozenset[type[Noun]] = frozenset({Output, Matches})
#: The errors that a tool may have, by its effect: only what is read can be stale, and only the reply to a write is missed where it is lost.
ERRORS_OF: Mapping[str, tuple[FaultError, ...]] = {
    "read": tuple(error for error in FAULT_ERRORS if error != "lost_reply"),
    "write": tuple(error for error in FAULT_ERRORS if error not in ("empty", "cut", "stale")),
}
#: Replies of an episode where the suite does not say it (``RunOptions``).
_MOST_TURNS = 10
#: Where bound values of a call may stand: in ``match`` of an expected tool.
_HOPS, _MATCH = ("truth", "tools"), 3
#: All that ``errors_of`` looks at: a truth is walked once for all of its rules.
_LOOKED_AT: frozenset[type[Noun]] = TOOL_NAMERS | OF_OUTPUT | {PythonCheck, EndState, Exempt, SameEnd, Number}


@dataclass(frozen=True)
class Remark:
    """A remark on a part of a case; an ``error`` from ``errors_of`` prevents the case from loading.

    Attributes:
        severity: ``error``: no run can learn anything from it; ``warning``: probably a mistake.
        rule: a short fixed word for the sort of thing.
        place: where in the case: ``("truth", "tools", 0)``.
        message: what is wrong, with found and expected in it.
        hint: what to do; may be empty.
    """

    severity: Severity
    rule: str
    place: DataPath
    message: str
    hint: str = ""


def errors_of(
    case: Case,
    manifest: SuiteManifest,
    tools: Mapping[str, Tool],
    tables: Mapping[str, Table],
    *,
    all_checks_added: bool = False,
) -> Iterator[Remark]:
    """Yield the errors that prevent a case of a suite from loading."""
    yield from _of_case(case, manifest)
    for place, noun in nouns_in(case.truth, ("truth",), _LOOKED_AT):
        match noun:
            case EndState() | Exempt() | SameEnd():
                # What an environment watches is known to the run alone.
                elsewhere = not tables or manifest.environment is not None
                yield from _end_check(noun, place, case, None if elsewhere else tables)
            case PythonCheck():
                yield from _python_check(noun, place, all_checks_added=all_checks_added)
            case Output() | Matches():
                yield from _output_check(noun, place, case.visible.output_schema, tools)
            case Bound():
                yield from _bound_call(noun.call, place, case)
            case Number() if manifest.currency != "CNY":
                if noun.unit == "yuan":
                    message = f"found yuan, but the suite's currency is {manifest.currency}"
                    hint = "write unit: money, or change currency in suite.yaml"
                    yield _error("currency", (*place, "unit"), message, hint)
        if (called := tool_of(noun)) is not None:
            field = "name" if isinstance(noun, ExpectedTool) else "tool"
            caller: _Caller = "anyone" if place[:2] == ("truth", "end") else "agent"
            yield from _tool_named(called, (*place, field), tools, "user" if isinstance(noun, ScriptedCall) else caller)
    yield from _expected(case)
    yield from _oracle_as_end(case, tools)
    if case.world != World():
        yield from _world(case, tools, tables)
        yield from _events(case, manifest, tools, tables)


def _oracle_as_end(case: Case, tools: Mapping[str, Tool]) -> Iterator[Remark]:
    """Yield errors if the oracle's calls cannot be the reference of a case: it has no oracle, or the user also writes."""
    if case.truth.end != "oracle":
        return
    if not case.truth.oracle:
        yield _error("no-reference", ("truth", "end"), "found 'oracle', but the case has no oracle dialogue")
    calls = (call.tool for answer in case.truth.user.answers for call in answer.calls)
    if writes := next((name for name in calls if name in tools and tools[name].effect == "write"), ""):
        message = f"found 'oracle', but the user makes calls of its own that write, such as {writes}"
        yield _error("no-reference", ("truth", "end"), message, "list the calls of agent and user in their order")


def _tool_named(name: str, place: Place, tools: Mapping[str, Tool], caller: _Caller) -> Iterator[Remark]:
    """Yield an error if the suite has no tool of this name, or the caller may not call it."""
    if name not in tools:
        hint = did_you_mean(name, sorted(tools), "known tools:")
        yield _error("unknown-tool", place, f"the suite has no tool {shown(name)}", hint)
    elif (caller == "agent" and not tools[name].for_agent) or (caller == "user" and not tools[name].for_user):
        message = f"the {caller} cannot call {shown(name)}: its tool says by: {tools[name].by}"
        yield _error(
            "not-its-tool", place, message, f"tools that can be called by both say by: both; its own: by: {caller}"
        )


def _world(case: Case, tools: Mapping[str, Tool], tables: Mapping[str, Table]) -> Iterator[Remark]:
    """Yield errors if the world of a case changes a missing table or row, or calls a missing tool."""
    for index, patch in enumerate(case.world.rows):
        place: Place = ("world", "rows", index)
        if patch.table not in tables:
            yield _error("unknown-table", (*place, "table"), unknown_table(patch.table, tables))
            continue
        added = [row for earlier in case.world.rows[:index] if earlier.table == patch.table for row in earlier.add]
        for column, value in unmet(patch, tables[patch.table], added):
            yield _error(
                "no-such-row", (*place, "where", column), f"{patch.table} has no row with {column} {shown(value)}"
            )
    for index, call in enumerate(case.world.calls):
        yield from _tool_named(call.tool, ("world", "calls", index, "tool"), tools, "anyone")
    for index, fault in enumerate(case.world.faults):
        place = ("world", "faults", index)
        yield from _tool_named(fault.tool, (*place, "tool"), tools, "anyone")
        if fault.tool in tools and fault.error not in (errors := ERRORS_OF[tools[fault.tool].effect]):
            message = f"found {fault.error}, expected an error of a tool that {tools[fault.tool].effect}s: {', '.join(errors)}"
            yield _error("fault", (*place, "error"), message)


def _events(
    case: Case, manifest: SuiteManifest, tools: Mapping[str, Tool], tables: Mapping[str, Table]
) -> Iterator[Remark]:
    """Yield errors if an event never comes, changes a missing table or row, calls a missing tool, or reveals a missing requirement."""
    requirements = [requirement.id for requirement in case.truth.requirements]
    before, most = [*case.world.rows], manifest.episode.max_turns or _MOST_TURNS
    writes = any(tool.effect == "write" for tool in tools.values())
    for index, event in enumerate(case.world.events):
        place: Place = ("world", "events", index)
        if event.after.turn is not None and event.after.turn >= most:
            message = (
                f"found {event.after.turn}, expected less than max_turns, which is {most}: no reply comes after it"
            )
            yield _error("event-turn", (*place, "after", "turn"), message, "set episode.max_turns in suite.yaml")
        named: list[tuple[Place, str]] = [(("calls", at, "tool"), call.tool) for at, call in enumerate(event.calls)]
        for here, tool in (*named, *([(("after", "tool"), event.after.tool)] if event.after.tool else [])):
            yield from _tool_named(tool, (*place, *here), tools, "anyone")
        for at, name in enumerate(event.reveals):
            if name not in requirements:
                hint = did_you_mean(name, requirements, "its requirements:")
                message = f"the case has no requirement {shown(name)}"
                yield _error("unknown-requirement", (*place, "reveals", at), message, hint)
        for at, patch in enumerate(event.rows):
            if patch.table not in tables:
                yield _error("unknown-table", (*place, "rows", at, "table"), unknown_table(patch.table, tables))
                continue
            table = with_overlays({patch.table: tables[patch.table]}, before)[patch.table]
            before.append(patch)
            # A tool that writes may make the row before the event.
            columns = {column for row in table.rows if writes for column in row}
            for column, value in unmet(patch, table, ()):
                if column not in columns:
                    message = f"{patch.table} has no row with {column} {shown(value)}"
                    yield _error("no-such-row", (*place, "rows", at, "where", column), message)


def _error(rule: str, place: DataPath, message: str, hint: str = "") -> Remark:
    """Return a remark with the severity "error"."""
    return Remark("error", rule, place, message, hint)


def tool_of(noun: Noun) -> str | None:
    """Return the name of the tool in a noun; None if there is none."""
    if isinstance(noun, Recommends) and noun.of_tool is None:
        return None
    return (
        getattr(noun, "name" if isinstance(noun, ExpectedTool) else "tool", None) if type(noun) in TOOL_NAMERS else None
    )


def _end_check(
    check: EndState | Exempt | SameEnd, place: Place, case: Case, tables: Mapping[str, Table] | None
) -> Iterator[Remark]:
    """Yield errors if an end-state check names an unknown table or has no reference. ``tables``: None if not the suite's."""
    if isinstance(check, SameEnd):
        if case.truth.end is None:
            message = "same_end has nothing to compare with: the case has no truth.end"
            yield _error("no-reference", (*place, "kind"), message, "add truth.end: calls, or oracle")
    elif tables is not None and check.table not in tables:
        yield _error("unknown-table", (*place, "table"), unknown_table(check.table, tables))


def _bound_call(key: str | None, place: Place, case: Case) -> Iterator[Remark]:
    """Yield an error if a match is bound to no single expected tool, or to its own tool."""
    if key is None:
        return
    if place[: len(_HOPS)] != _HOPS or place[_MATCH] != "match":
        message = "call means an expected tool, and only a match of an expected tool can be bound to one"
        yield _error("expected-tool", (*place, "call"), message, "name a tool here: tool")
        return
    keys = Counter(tool.key for tool in case.truth.tools)
    hint = ""
    if keys[key] != 1:
        message = "several expected tools are" if keys[key] else "no expected tool has the id or name"
        hint = "give each an id" if keys[key] else did_you_mean(key, keys, "expected tools:")
    elif key == case.truth.tools[int(place[len(_HOPS)])].key:
        message, hint = "no call can ask for its own result:", "name the call before it"
    else:
        return
    yield _error("expected-tool", (*place, "call"), f"{message} {shown(key)}", hint)


def _python_check(check: PythonCheck, place: Place, *, all_checks_added: bool) -> Iterator[Remark]:
    """Yield errors if no Python check has this name, or the check does not accept the arguments."""
    checks = added_checks()
    if check.name not in checks:
        built_in = sorted(KINDS - {"python"})
        hint = did_you_mean(check.name, [*checks, *built_in])
        if hint or all_checks_added:
            message = (
                f"found {shown(check.name)}, expected one of {', '.join(built_in)}, "
                f"or a check in Python ({', '.join(sorted(checks)) or 'none is added'})"
            )
            hint = hint or "@mapsat.check in a conftest adds one"
            yield _error("unknown-check", (*place, "kind"), message, hint)
        return
    parameters = signature(checks[check.name].function)
    try:
        parameters.bind(None, **check.arguments)
    except TypeError as error:
        names = list(parameters.parameters)[1:]
        hints = [did_you_mean(name, names) for name in check.arguments if name not in names]
        hint = next(filter(None, hints), "") or f"it takes {', '.join(names) or 'no arguments'}"
        yield _error("check-arguments", (*place, "kind"), f"the check {check.name}: {error}", hint)


def _expected(case: Case) -> Iterator[Remark]:
    """Yield errors between expected tools: duplicate ids, and ``after`` or ``evidence`` without a target or in a cycle."""
    tools = case.truth.tools
    if not any(tool.id is not None or tool.after or tool.evidence for tool in tools):
        return  # mostly: tools that only have names
    requirements = [requirement.id for requirement in case.truth.requirements]
    keys = Counter(tool.key for tool in tools)
    for index, tool in enumerate(tools):
        place: Place = ("truth", "tools", index)
        if tool.id is not None and any(tool.id == other.key for other in tools[:index]):
            yield _error("expected-tool", (*place, "id"), f"another expected tool has the id {shown(tool.id)}")
        for at, key in enumerate(tool.after):
            here = (*place, "after", at)
            if keys[key] == 0:
                hint = did_you_mean(key, keys, "expected tools:")
                yield _error("expected-tool", here, f"no expected tool has the id or name {shown(key)}", hint)
            elif keys[key] > 1:
                message = f"several expected tools are {shown(key)}"
                yield _error("expected-tool", here, message, "give each an id, and name that")
        for at, requirement in enumerate(tool.evidence):
            if isinstance(requirement, str) and requirement not in requirements:
                hint = did_you_mean(requirement, requirements, "its requirements:")
                here = (*place, "evidence", at)
                yield _error("expected-tool", here, f"the case has no requirement {shown(requirement)}", hint)
    try:
        TopologicalSorter({tool.key: [key for key in tool.waits_for if keys[key]] for tool in tools}).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        first = next(index for index, tool in enumerate(tools) if tool.key == circle[0])
        message = f"goes in a circle: {' after '.join(circle)}"
        yield _error("expected-tool", ("truth", "tools", first, "after"), message)


def _of_case(case: Case, manifest: SuiteManifest) -> Iterator[Remark]:
    """Yield errors within a case: unknown domains, drafts in sequences, a declining "yes", dates, and output against the schema."""
    for index, domain in enumerate(case.domains):
        if domain not in manifest.domains:
            message = f"the manifest has no domain {shown(domain)}; it has: {', '.join(manifest.domains) or 'none'}"
            hint = did_you_mean(domain, manifest.domains) or "add it to domains in suite.yaml"
            yield _error("unknown-domain", ("domains", index), message, hint)
    if case.truth.proposals and case.group is not None:
        message = "a draft cannot be part of a sequence: no run plays it, and later tasks would lack it"
        yield _error("sequence", ("group",), message, "accept its proposals first: mapsat review")
    confirms = case.truth.user.confirms
    if isinstance(confirms, Confirms) and confirms.say:
        from pytest_mapsat.reading import agrees  # noqa: PLC0415 (few cases say it in words of their own)

        if agrees(confirms.say) is False:
            hint = "write confirms: no; words of your own for a no: {when: [...], else: ...}, or an answer"
            message = f"found {shown(confirms.say)}, which declines: say is what the user agrees with"
            yield _error("declining", ("truth", "user", "confirms", "say"), message, hint)
    yield from _of_manner(case, manifest)
    if case.truth.none is not None or any(answer.reveals for answer in case.truth.user.answers):
        yield from _of_needs(case)
    yield from _of_interactions(case, carries=manifest.carry is not None)
    schema = case.visible.output_schema
    asked = schema.get("properties", {})
    for name, value in case.truth.output.items() if schema else ():
        place: Place = ("truth", "output", name)
        if name not in asked:
            hint = did_you_mean(name, asked) or f"visible.output_schema has {', '.join(asked) or 'no properties'}"
            yield _error("output", place, "the case does not ask for this", hint)
        for wrong in mismatches(asked.get(name, {}), value):
            yield _error("output", place, wrong, "visible.output_schema says what is asked for")


def _of_manner(case: Case, manifest: SuiteManifest) -> Iterator[Remark]:
    """Yield errors if the user of a case cannot speak in its manner: it is silent, or states no wrong figure."""
    user = case.truth.user
    if (user.manner or user.attempts) and manifest.episode.user == "silent":
        message = "the suite's user is silent, and says nothing in any manner"
        yield _error("manner", ("truth", "user"), message, "leave out episode.user in suite.yaml")
    if "wrong_figure" in user.manners and not says_figures(user, case.language):
        message = "wrong_figure needs a first with a figure or time other than that of its say"
        yield _error("manner", ("truth", "user", "manner"), message, "changes_mind takes any words")


def says_figures(user: UserScript, language: str) -> bool:
    """Return whether an answer of a script has a ``first`` that states a figure or time, and another than its ``say``."""
    from pytest_mapsat.reading import lexicon_of, read  # noqa: PLC0415 (few cases have such a user)

    def figures(text: str) -> set[object]:
        """Return the figures and times in a text."""
        document = read(text, language=language, lexicon=lexicon_of(()))
        return {(each.unit, each.low, each.high) for each in document.quantities} | {
            each.minutes for each in document.times
        }

    return any(figures(first) - figures(say) for first, say in user.taken_back)


def _of_needs(case: Case) -> Iterator[Remark]:
    """Yield errors if a revealed or given-up need is not a need of the case, or no output can name one."""
    hidden, none = [requirement.id for requirement in case.truth.implicit], case.truth.none
    named: list[tuple[Place, str, Sequence[str]]] = [
        (("truth", "user", "answers", index, "reveals", at), name, hidden)
        for index, answer in enumerate(case.truth.user.answers)
        for at, name in enumerate(answer.reveals or ())
    ]
    if none is not None:
        asked = [requirement.id for requirement in case.truth.asked]
        named += [(("truth", "none", "relax", at), name, [*asked, *hidden]) for at, name in enumerate(none.relax)]
        named += [(("truth", "none", "says", name), name, none.relax) for name in (*none.says, *none.about)]
        part, left = part_at(none.output, case.visible.output_schema)
        choices = part.get("enum") or (part.get("items") or {}).get("enum") or ()
        unnamed = [
            name for name in none.relax if {name, *none.says.get(name, ())}.isdisjoint(map(str, choices)) and choices
        ]
        if none.output and (left or unnamed or not case.visible.output_schema):
            message = f"no output can name {shown(unnamed[0])}" if unnamed else f"there is no {shown(none.output)}"
            hint = left or "says has the words by which visible.output_schema names a need"
            yield _error("need", ("truth", "none", "output"), message, hint)
    for place, name, known in named:
        if name not in known:
            hint = did_you_mean(name, known, "there are:")
            yield _error("need", place, f"{shown(name)} is no such need of the case", hint)


def _of_interactions(case: Case, *, carries: bool) -> Iterator[Remark]:
    """Yield errors if interactions are out of order or after the task, or the task lacks a date that its dialogue needs."""
    last, now = "", case.visible.context.now
    if carries and case.group is not None and now is None:
        message = "is missing: the suite carries dialogues (carry), and this is the date of this one"
        yield _error("sequence", ("visible", "context", "now"), message)
    for index, interaction in enumerate(case.visible.interactions):
        place: Place = ("visible", "interactions", index, "date")
        if last and is_before(interaction.date, last):
            yield _error("sequence", place, f"found {interaction.date} behind {last}: interactions are sorted by date")
        if now is not None and is_before(now, interaction.date):
            message = f"found {interaction.date}, after the task itself, whose context.now is {now}"
            yield _error("sequence", place, message, "it belongs to a later task")
        last = interaction.date


def is_before(first: str, second: str) -> bool:
    """Return whether a day or moment is earlier than another by local time; a day and a moment on it count as equal."""
    length = min(len(first), len(second), len("2026-05-02T10:00"))
    return first[:length].replace(" ", "T") < second[:length].replace(" ", "T")


def _output_check(
    check: Output | Matches, place: Place, schema: Mapping[str, Any], tools: Mapping[str, Tool]
) -> Iterator[Remark]:
    """Yield errors if an output check contradicts the schema, uses ids that no tool declares, or has an invalid pattern."""
    tool = tools.get(check.tool or "") if isinstance(check, Output) else None
    if tool is not None and not any(entities.id for entities in tool.entities if entities.sort != "leg"):
        message = f"the tool {tool.name} does not declare which ids its results list"
        yield _error("output", (*place, "tool"), message, "say it in the tool: entities, with items and id")
    if isinstance(check, Output) and check.equals is None and not schema:
        hint = "add visible.output_schema, a JSON Schema of the output"
        yield _error("output", (*place, "kind"), "the case has no schema that an output could fit", hint)
    elif isinstance(check, Matches):
        try:
            _ = check.compiled
        except ValueError as error:
            message = f"found {shown(check.pattern)}, expected a regular expression in RE2's syntax: {error}"
            yield _error("pattern", (*place, "pattern"), message)
    elif isinstance(check, Output):
        parts: list[tuple[Place, str]] = [(("path",), check.path)] if check.path else []
        parts += [(("id",), path_below(check.path, schema, check.id))] if check.id else []
        parts += [(("entry", name), path_below(check.path, schema, name)) for name in check.entry]
        wrong = ((where, path, hint) for where, path in parts if (hint := part_at(path, schema)[1]))
        for where, path, hint in islice(wrong, 1):
            yield _error("output", (*place, *where), f"visible.output_schema has no {shown(path)}", hint)


def path_below(path: str, schema: Mapping[str, Any], name: str) -> str:
    """Return the path of a member of the entries (or of the only entry) at a path of the output."""
    return ".".join(filter(None, (path, "*" if "items" in part_at(path, schema)[0] else "", name)))


def part_at(path: str, schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the part of a schema at a path, empty if the schema leaves it open, and a hint if the path leaves the schema."""
    left = ""
    for name in path.split(".") if path else ():
        properties = schema.get("properties", {})
        if properties and name != "*" and name not in properties:
            left = left or did_you_mean(name, properties, "there are:")
        schema = properties.get(name) or schema.get("items") or {}
    return schema, left


def nouns_in(value: Any, place: Place, sorts: frozenset[type[Noun]] | None = None) -> Iterator[tuple[Place, Noun]]:
    """Yield every noun inside a value with its place in the file, in the order of the file.

    Args:
        value: where to look.
        place: its own place.
        sorts: the types of nouns to give, so that nothing is walked which cannot hold one; None: all.
    """
    stack = [(place, value)]
    while stack:
        here, part = stack.pop()
        if isinstance(part, tuple):
            inside: list[tuple[str | int, Any]] = list(enumerate(part))
        elif isinstance(part, dict):
            inside = list(part.items())
        else:
            sort: type[Noun] = part.__class__
            if sorts is None or sort in sorts:
                yield here, part
            inside = [(name, part.__dict__[field]) for field, name in _fields(sort, sorts)]
        # What holds no noun is not even put on the stack: this runs for every case of a run.
        stack += [((*here, at), below) for at, below in reversed(inside) if below and _may_hold(below.__class__, sorts)]


@cache
def _may_hold(kind: type[Any], sorts: frozenset[type[Noun]] | None) -> bool:
    """Return whether a value of this type may be, or contain, a noun of some types."""
    if not issubclass(kind, Noun):
        return issubclass(kind, (tuple, dict))
    return sorts is None or kind in sorts or bool(_fields(kind, sorts))


@cache
def _fields(noun: type[Noun], sorts: frozenset[type[Noun]] | None) -> tuple[tuple[str, str], ...]:
    """Return the fields of a noun that may contain nouns of some types, each with its name in a file."""
    return tuple(
        (name, noun.model_fields[name].alias or name)
        for name, kind in types_of(noun).items()
        if any(sorts is None or sorts & _reached(below) for below in _nouns_of(kind))
    )


@cache
def _reached(noun: type[Noun]) -> frozenset[type[Noun]]:
    """Return a noun type and all noun types that it may contain, at any depth."""
    reached, waiting = {noun}, [noun]
    while waiting:
        for kind in types_of(waiting.pop()).values():
            new = _nouns_of(kind) - reached
            reached |= new
            waiting += new
    return frozenset(reached)


def _nouns_of(annotation: Any) -> set[type[Noun]]:
    """Return the noun types in a type annotation."""
    if isinstance(annotation, type) and issubclass(annotation, Noun):
        return {annotation}
    return {noun for argument in get_args(annotation) for noun in _nouns_of(argument)}
