"""The user's own tools: found behind a name or an object, described, and called; their answers, put into the suite: from a block of a test, or offered for calls that missed."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from inspect import Parameter
from itertools import groupby
from pathlib import Path, PurePosixPath
from threading import Lock
from types import ModuleType
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from pytest_mapsat.agents import EventLoop, as_json, describe, load
from pytest_mapsat.formats import Secrets, is_obvious, limits, parse_json, shown_path
from pytest_mapsat.model import (
    Difference,
    Entities,
    Json,
    JsonObject,
    MapsatError,
    Provenance,
    Recording,
    RowChange,
    Run,
    Step,
    Tool,
    Trajectory,
    UsageError,
    canonical_json,
    did_you_mean,
    digest,
    hint_at,
    shown,
)
from pytest_mapsat.printed import printed
from pytest_mapsat.reports import call_text, printable
from pytest_mapsat.sandbox import RecordedSandbox, Sandbox, SandboxAnswer, Toolbox, recording_key
from pytest_mapsat.store import alone
from pytest_mapsat.suite import (
    PlacedRecording,
    Suite,
    find_suite,
    is_bare,
    new_folder,
    open_suite,
    write_recordings,
    write_tool,
)
from pytest_mapsat.user_code import UserCodeError, call_user_code

#: A recording says more than its result: case, tool, arguments.
_MOST_BYTES = limits.RECORDING_BYTES // 2
#: A result stands three deep in a recording, and deeper in a run file, which allows for it.
_DEEPEST = limits.DEPTH - 4

#: How the name of a tool that changes something often begins.
_WRITES = re.compile(
    r"(?:add|append|apply|book|buy|cancel|change|charge|close|commit|create|delete|edit|insert|mark|modify|move|order|pay|place|post|put|refund|register"
    r"|remove|rename|rent|reorder|reschedule|reserve|return|save|schedule|send|set|submit|transfer|update|write)(?:_|[A-Z]|$)"
)


def changes_something(name: str) -> bool:
    """Return whether the name of a tool indicates that the tool changes something: ``book_table``."""
    return _WRITES.match(name) is not None


class NotPlainError(ValueError):
    """A value that cannot be recorded; the message gives the reason."""


def plain(value: Any) -> Json:
    """Return a deep copy of a value as JSON data. Tuples become lists; dataclasses and pydantic models become objects.

    Raises:
        NotPlainError: a value in it is none of JSON's, or it is too large for a recording.
    """
    parts, size = list[str](), 0
    try:
        for part in _ENCODER.iterencode(value):
            parts.append(part)
            size += len(part.encode())
            if size > _MOST_BYTES:
                break
        else:
            return parse_json("".join(parts), depth=_DEEPEST)
    except UnicodeEncodeError:
        raise NotPlainError("text with half of a character, which no file can hold") from None
    except RecursionError:
        raise NotPlainError(f"lists and objects that are nested more than {_DEEPEST} deep") from None
    except NotPlainError:
        raise
    except (TypeError, ValueError) as error:
        raise NotPlainError(f"a value that no recording can hold: {error}") from None
    raise NotPlainError(f"a result of more than {_MOST_BYTES:,} bytes, the most that a recording holds")


def _members(value: Any) -> Mapping[Any, Any]:
    """Return the members of a mapping, dataclass or model, for JSON. Raises NotPlainError for any other value."""
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type) and isinstance(dumped := dump(mode="json"), Mapping):
        return dumped
    raise NotPlainError(f"a {type(value).__name__}, which JSON cannot hold: return text, numbers, lists and dicts")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_members)


_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?|Attributes):?$")
_OF_ARGUMENTS = ("Args", "Arguments", "Parameters")
_ARGUMENT = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")
_SPHINX = re.compile(r"^:param(?:\s+[^:]+?)?\s+(\w+):\s*(.+)$")
#: Keys that hold the name of a thing, the likeliest first.
_NAMES = ("name", "title", "label")
_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_ONLY)


def tool_of(name: str, function: Callable[..., Any]) -> Tool:
    """Return the spec of a function as a tool.

    Parameters have the JSON Schema of their type hints, as pydantic gives it, and the words of the docstring (Google's or Sphinx's style).
    A parameter whose name obviously stands for a secret is declared as one.
    """
    hints: dict[str, Any] = {}
    with suppress(UserCodeError):  # a hint names what cannot be found: then there are none
        hints = call_user_code(typing.get_type_hints, _routine(function), include_extras=True)
    about, words = _docstring(function)
    definitions: JsonObject = {}
    properties: JsonObject = {}
    required = []
    parameters = _parameters(function)
    for parameter in parameters:
        if parameter.kind not in _NAMED:
            continue
        schema = properties[parameter.name] = (
            _schema_of(hints[parameter.name], definitions) if parameter.name in hints else {}
        )
        if parameter.name in words:
            schema["description"] = words[parameter.name]
        if parameter.default is Parameter.empty:
            required.append(parameter.name)
        elif parameter.default is not None and _is_plain(parameter.default):
            schema["default"] = parameter.default
    return _tool(
        name,
        about,
        {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters),
            **({"$defs": definitions} if definitions else {}),
        },
    )


def tool_of_schema(schema: Mapping[str, Any]) -> Tool:
    """Return the spec of a tool from its schema in OpenAI's, Anthropic's or MCP's form. Raises ValueError for any other."""
    function = schema.get("function", schema)
    keys = ("parameters", "input_schema", "inputSchema")
    inputs: JsonObject = next((function[key] for key in keys if key in function), {})
    parameters = {"type": "object", "properties": {}, **inputs}
    return _tool(str(function.get("name", "")), str(function.get("description") or ""), parameters)


def _tool(name: str, about: str, parameters: JsonObject) -> Tool:
    """Return a tool, described at least by its name, with obviously secret parameters declared as secret."""
    return Tool(
        name=name,
        description=about or name.replace("_", " "),
        parameters=parameters,
        secrets=tuple(filter(is_obvious, map(str, parameters.get("properties", {})))),
    )


def with_things(tool: Tool, results: Iterable[Json]) -> Tool:
    """Return a derived tool that declares the lists of named things in its results, as far as the results show."""
    entities: dict[str, Entities] = {}
    waiting: list[tuple[str, Json]] = [("", result) for result in results]
    while waiting:
        path, value = waiting.pop(0)
        if isinstance(value, Mapping):
            waiting += [(f"{path}.{key}".lstrip("."), member) for key, member in value.items() if "." not in key]
        elif isinstance(value, list) and value and all(isinstance(member, Mapping) for member in value):
            name = next((key for key in _NAMES if all(_is_name(member.get(key)) for member in value)), None)
            if path and name is not None:
                identity = "id" if all("id" in member for member in value) else None
                entities.setdefault(path, Entities(items=path, name=name, id=identity))
    return tool.model_copy(update={"entities": tuple(entities[path] for path in sorted(entities))})


def _is_name(value: Json) -> bool:
    """Return whether a value is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def _routine(function: Callable[..., Any]) -> Any:
    """Return the function or class itself; for any other callable object its ``__call__``."""
    return function if inspect.isroutine(function) or inspect.isclass(function) else type(function).__call__


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a function; ``**arguments`` alone if its signature cannot be read."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C without a signature
        return [Parameter("arguments", Parameter.VAR_KEYWORD)]


def _schema_of(hint: Any, definitions: JsonObject) -> JsonObject:
    """Return the JSON Schema of a type hint, and add its definitions; empty if it has no schema or definitions clash."""
    try:
        schema: JsonObject = _untitled(call_user_code(lambda: TypeAdapter(hint).json_schema()))
    except UserCodeError:
        return {}  # a type that JSON has nothing for: anything may be given
    inner: JsonObject = schema.pop("$defs", {})
    if any(definitions.get(name, definition) != definition for name, definition in inner.items()):
        return {}
    definitions.update(inner)
    return _without_null(schema)


def _without_null(schema: JsonObject) -> JsonObject:
    """Return ``X | None`` as ``X``: a nullable parameter may be omitted."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1 or len(schema["anyOf"]) == 1:
        return schema
    return {**{key: value for key, value in schema.items() if key != "anyOf"}, **choices[0]}


def _untitled(schema: Any) -> Any:
    """Return a JSON Schema without the titles that pydantic derives from names."""
    if isinstance(schema, list):
        return [_untitled(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    untitled: JsonObject = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            untitled[key] = {name: _untitled(member) for name, member in value.items()}
        elif key in ("default", "enum", "const", "examples"):
            untitled[key] = value
        elif key != "title":
            untitled[key] = _untitled(value)
    return untitled


def _is_plain(value: Any) -> bool:
    """Return whether a value can be written as JSON."""
    try:
        return bool(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return False


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a docstring, and its description of each parameter."""
    text = (inspect.getdoc(_routine(function)) or "").strip()
    lines = [line.strip() for line in text.splitlines()]
    about = []
    for line in lines:
        if not line or _SECTION.match(line) or _SPHINX.match(line):
            break
        about.append(line)
    words: dict[str, str] = {}
    section = ""
    for line in lines:
        if match := _SECTION.match(line):
            section = match[1]
        elif match := _SPHINX.match(line) or (_ARGUMENT.match(line) if section in _OF_ARGUMENTS else None):
            words[match[1]] = match[2]
    return " ".join(about), words


_EXPECTED = "expected functions: a list or dict of them, a module, an object with methods, or one with call and schemas"


class NoAnswerError(MapsatError):
    """One of the user's own tools gave no answer that can be recorded; the message gives the reason."""


class _OwnTool(NamedTuple):
    """One tool: the function to call with named arguments, and the function that makes its spec."""

    function: Callable[..., Any]
    spec: Callable[[], Tool]


class OwnTools:
    """The user's own tools by name.

    Attributes:
        name: how messages name them.
    """

    def __init__(self, tools: Mapping[str, _OwnTool], name: str, target: object = None) -> None:
        self.name = name
        self._target = target
        self._tools = dict(sorted(tools.items()))
        self._loop: EventLoop | None = None

    @classmethod
    def load(cls, spec: str, *, root: Path) -> OwnTools:
        """Return the tools that ``module:attr`` names: functions in a list or dict, a module, an object, a class or a toolbox.

        The module is looked for in ``root`` first. Raises UsageError where there is nothing of the kind, or no tool in it.
        """
        return cls.of(load(spec, root=root, what="tools"), spec)

    @classmethod
    def of(cls, target: object, name: str = "tools") -> OwnTools:
        """Return the tools that an object holds. Raises UsageError if it holds none."""
        try:
            tools = call_user_code(lambda: dict(_tools_in(target)))
        except UserCodeError as broken:
            why = describe(broken.error, blame="infrastructure").message
            raise UsageError(f"tools {name!r}: they cannot be read: {why}") from None
        if not tools:
            raise UsageError(f"tools {name!r}: found {shown(target)}, which holds no tool; {_EXPECTED}")
        return cls(tools, name, target)

    def fresh(self) -> OwnTools:
        """Return new tools if they come from a class; otherwise these tools, with the state from earlier calls."""
        return OwnTools.of(self._target, self.name) if inspect.isclass(self._target) else self

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the tools, sorted."""
        return tuple(self._tools)

    def tool(self, name: str) -> Tool:
        """Return the spec of a tool, derived from its function or its schema. Raises UsageError if it cannot be described."""
        try:
            return self._tools[name].spec()
        except (ValidationError, ValueError, TypeError) as error:
            problems: Any = error.errors() if isinstance(error, ValidationError) else [{"msg": error}]
            why = "; ".join(str(problem["msg"]) for problem in problems)
            raise UsageError(f"tools {self.name!r}: {name!r} cannot be described: {why}") from None

    def ask(self, name: str, arguments: JsonObject) -> Json:
        """Call a tool with a copy of some arguments, and return its answer as JSON data. No other method calls the user's tools.

        Raises:
            NoAnswerError: there is no such tool, it raised, or returned what no recording can hold.
        """
        own = self._tools.get(name)
        if own is None:
            hint = did_you_mean(name, self._tools) or f"there are: {', '.join(self._tools)}"
            raise NoAnswerError(f"{self.name} has no tool {name!r} ({hint})")
        try:
            return call_user_code(self._answer, own.function, plain(arguments))
        except UserCodeError as broken:
            error = broken.error
        if isinstance(error, NotPlainError):
            raise NoAnswerError(f"{name} returned {error}")
        raise NoAnswerError(f"{name} raised {describe(error, blame='infrastructure').message}")

    def close(self) -> None:
        """Stop the event loop of tools that are coroutines, if one was needed."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def _answer(self, function: Callable[..., Any], arguments: JsonObject) -> Json:
        """Call a function with arguments, await its result if needed, and return the result as JSON data. Raises NotPlainError."""
        by_position = [
            parameter.name for parameter in _parameters(function) if parameter.kind is Parameter.POSITIONAL_ONLY
        ]
        placed = [arguments.pop(name) for name in by_position if name in arguments]
        result = function(*placed, **arguments)
        return plain(self._awaited(result) if inspect.isawaitable(result) else result)

    def _awaited(self, result: Any) -> Any:
        # A loop of their own: the agent that waits for this answer may be a coroutine on the other one.
        """Run an awaitable on the tools' own event loop; return its result or raise its exception."""
        if self._loop is None:
            self._loop = EventLoop()
        try:
            value, error = self._loop.submit(result).result()
        except CancelledError:
            raise RuntimeError("the tool's coroutine was cancelled") from None
        if error is not None:
            raise error
        return value


def _tools_in(target: object) -> Iterator[tuple[str, _OwnTool]]:
    """Yield the tools that an object holds, by name."""
    if inspect.isclass(target):
        target = target()
    if callable(getattr(target, "call", None)) and callable(getattr(target, "schemas", None)):
        toolbox: Any = target
        for schema in toolbox.schemas():
            name = str(schema.get("function", schema).get("name", ""))
            yield name, _OwnTool(partial(_called, toolbox, name), partial(tool_of_schema, schema))
        return
    functions: Iterable[tuple[str, Any]] = ()
    if isinstance(target, Mapping):
        functions = ((str(name), function) for name, function in target.items() if callable(function))
    elif isinstance(target, list | tuple | set | frozenset) and all(map(callable, target)):
        functions = ((_name_of(function), function) for function in target)
    elif isinstance(target, ModuleType):
        own = ((name, member) for name, member in vars(target).items() if inspect.isfunction(member))
        home = target.__name__
        functions = ((name, member) for name, member in own if not name.startswith("_") and member.__module__ == home)
    elif inspect.isroutine(target):
        functions = [(_name_of(target), target)]
    elif type(target).__module__ != "builtins":
        methods = ((name, getattr(target, name)) for name in dir(target) if not name.startswith("_"))
        functions = ((name, method) for name, method in methods if inspect.isroutine(method))
    yield from ((name, _OwnTool(function, partial(tool_of, name, function))) for name, function in functions)


def _called(toolbox: Any, name: str, /, **arguments: Any) -> Any:
    """Call a tool of a toolbox with named arguments, and return its answer."""
    return toolbox.call(name, arguments)


def _name_of(function: Any) -> str:
    """Return the name of a function or object; the name of its type if it has no name."""
    name = getattr(function, "__name__", None) or getattr(function, "name", None) or type(function).__name__
    return str(name)


#: Where they stand in the suite.
RECORDED = PurePosixPath("recordings", "recorded.jsonl")


@dataclass
class Keeping:
    """The numbers of answers of own tools that were recorded, replaced or skipped.

    Attributes:
        path: the file of recordings.
        added: how many are new.
        known: how many say what a recording of the suite says already.
        replaced: how many took the place of an older answer.
        problems: what was not kept, and why, each with its place.
    """

    path: Path
    added: int = 0
    known: int = 0
    replaced: int = 0
    problems: list[str] = field(default_factory=list)

    def to_json(self) -> JsonObject:
        """Return the path, the counts and the problems as JSON data."""
        return vars(self) | {"path": shown_path(self.path)}


def keep_recordings(root: Path, recordings: Iterable[Recording], *, replace: bool = False) -> Keeping:
    """Add recordings to a suite's ``recordings/recorded.jsonl``: sorted, without repeated requests, and as one atomic write.

    A request that a recording of the case knows in another spelling is that request: it is kept once. Where two answers differ the older
    one stays, and among new ones that with the smallest digest, so that nothing depends on who came first.

    Args:
        root: the suite's folder.
        recordings: what own tools answered, without secrets.
        replace: put the new answer in the place of an older one of an own tool.

    Raises:
        SuiteError: the suite or its recordings cannot be read, or something in its folder leads out of it.
        OSError: the file cannot be written.
    """
    kept = Keeping(root / RECORDED)
    with alone(root / "suite.yaml"):
        suite = open_suite(root)
        suite.refuse_odd_files()
        placed = [
            kept_recording
            for case in sorted(suite.recording_spans())
            for kept_recording in suite.placed_recordings(case)
        ]
        whole = [kept_recording.recording for kept_recording in placed if kept_recording.path == kept.path]
        fresh = [recording for recording in sorted(recordings, key=_sort_key) if recording.tool in suite.tools]
        for case, of_case in groupby(fresh, key=lambda recording: recording.case):
            _merge(suite, case, of_case, whole, kept, replace=replace)
        if kept.added or kept.replaced:
            # By request alone: several answers to one request stay in their order.
            write_recordings(kept.path, sorted(whole, key=lambda recording: _sort_key(recording)[:3]))
    return kept


def recorded_copy(suite: Suite, dest: Path, run: Run) -> Keeping:
    """Copy a suite and add the answers that tables gave in a run as recordings, so that its tools no longer compute answers.

    Args:
        suite: the suite that was run.
        dest: the folder of the copy, which is not there yet.
        run: the run, with its dialogues.

    Raises:
        UsageError: ``dest`` is there, no tool of the suite computes its answers, or the run is of another suite.
        SuiteError: something in the suite's folder leads out of it.
    """
    suite.refuse_odd_files()
    computed = {name for name, tool in suite.tools.items() if tool.answer is not None}
    if not computed:
        raise UsageError(
            f"{shown_path(suite.root)}: no tool computes its answers from tables: there is nothing to record"
        )
    ids = {entry.id for entry in suite.readable()}
    cards = [card for card in run.cases if card.id in ids]
    if not cards:
        raise UsageError(f"the run has no case of {shown_path(suite.root)}: --suite names the suite that was run")
    files = suite.inventory
    with new_folder(dest) as folder:
        for path in (suite.root / "suite.yaml", *files.cases, *files.requirements, *files.state, *files.recordings):
            place = folder / path.relative_to(suite.root)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
        for name, tool in suite.tools.items():
            write_tool(folder / "tools" / f"{name}.yaml", tool.model_copy(update={"answer": None}))
        kept = keep_recordings(
            folder,
            (
                Recording(case=card.id, tool=step.tool, arguments=step.arguments, result=step.result)
                for card in cards
                for step in card.trajectory.calls
                if step.status == "ok" and step.tool in computed and step.fault in ("", "slow")
            ),
        )
    kept.path = dest / RECORDED
    return kept


def _merge(
    suite: Suite, case: str, fresh: Iterable[Recording], whole: list[Recording], kept: Keeping, *, replace: bool
) -> None:
    """Merge a case's new recordings into ``whole``, the content of the file, and count the results in ``kept``."""
    before: dict[str, list[PlacedRecording]] = {}
    for placed in suite.placed_recordings(case):
        with suppress(ValueError):  # a recording that cannot be read answers nothing; lint tells it
            if placed.recording.tool in suite.tools:
                key = recording_key(suite.tools[placed.recording.tool], placed.recording)
                before.setdefault(key, []).append(placed)
    now: dict[str, Recording] = {}
    for recording in fresh:
        key = recording_key(suite.tools[recording.tool], recording)
        call = f"case {case}: {recording.tool}({_shortened(recording.arguments, 120)})"
        if key in now:
            if now[key].result != recording.result:
                kept.problems.append(f"{call} gave two answers; {_shortened(now[key].result, 80)} is kept")
            continue
        now[key] = recording
        earlier = before.get(key, [])
        older = earlier[0] if earlier else None
        if older is None:
            whole.append(recording)
            kept.added += 1
        elif any(placed.recording.result == recording.result for placed in earlier):
            kept.known += 1
        elif replace and older.recording.live and older.path == kept.path:
            whole[whole.index(older.recording)] = recording
            kept.replaced += 1
        else:
            place = f"{shown_path(older.path)}:{older.line}"
            way = "--replace takes the new one" if older.recording.live else "remove that line to keep the new one"
            kept.problems.append(f"{place}: {call} answers something else now ({way})")


def _shortened(data: Json, most: int) -> str:
    """Return data as JSON, cut to a number of characters."""
    text = canonical_json(data)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _sort_key(recording: Recording) -> tuple[str, str, str, str]:
    """Return the sort key of a recording: case, tool, arguments, answer."""
    return recording.case, recording.tool, canonical_json(recording.arguments), digest(recording.result)


class RecordingWarning(UserWarning):
    """An answer of an own tool was not recorded; the message gives the reason."""


def describe_tools(own: OwnTools, suite: Suite) -> tuple[Suite, list[Path]]:
    """Write a spec for each own tool without a spec in the suite, or with only a name.

    Returns:
        The suite with these tools, and the files that were written.

    Raises:
        UsageError: no spec can be made of a tool.
        SuiteError: something in the suite's folder leads out of it, or the suite cannot be opened with them.
    """
    suite.refuse_odd_files()
    hidden = next((name for name in own.names if name.startswith(".")), None)
    if hidden is not None:
        raise UsageError(f"tools {own.name!r}: the name {hidden!r} begins with a dot, as hidden files do")
    places = {name: suite.root / "tools" / f"{name}.yaml" for name in own.names}
    bare = {name for name, tool in suite.tools.items() if is_bare(tool) and name in places and places[name].exists()}
    tools = {place: own.tool(name) for name, place in places.items() if name in bare or name not in suite.tools}
    taken = next((path for path in tools if path.exists() and path.stem not in bare), None)
    if taken is not None:
        raise UsageError(f"{taken} exists and describes no tool {taken.stem!r}; rename the file")
    for path, tool in tools.items():
        write_tool(path, tool)
    return (open_suite(suite.root) if tools else suite), list(tools)


@contextmanager
def recording(tools: Any, suite: str | Path, case: str, *, replace: bool = False) -> Iterator[Toolbox]:
    """Yield own tools in the form that an agent uses, and record their answers when the block ends, even with an exception.

    Args:
        tools: a list or dict of functions, a module, an object with methods, or a toolbox with ``call`` and ``schemas``.
        suite: the suite's folder, or a place in it.
        case: the id of the case that the recordings are of.
        replace: put a new answer in the place of an older one.

    Raises:
        UsageError: there is no such suite or case, or no tool in ``tools``.
        SuiteError: the suite cannot be read.
        OSError: its recordings cannot be written.

    Warns:
        RecordingWarning: for each answer that is not kept.
    """
    root = find_suite(Path(suite))
    if root is None:
        raise UsageError(f"{suite}: no suite here: expected a suite.yaml in this folder or one above")
    own = OwnTools.of(tools)
    opened, _ = describe_tools(own, open_suite(root))
    cases = [entry.id for file in opened.files() for entry in opened.entries(file)]
    if case not in cases:
        raise UsageError(f"{suite}: the suite has no case {case!r}{hint_at(case, cases)}")
    sandbox = RecordingSandbox(RecordedSandbox(opened.tools, ()), own, case)

    def call(name: str, arguments: JsonObject) -> Json:
        """Call a tool through the sandbox and return the result."""
        return as_json(sandbox.call(str(name), as_json(arguments)).result)

    try:
        yield Toolbox(sandbox.tools, call)
    finally:
        own.close()
        kept = keep_recordings(root, sandbox.cleaned(), replace=replace)
        for problem in (*sandbox.problems, *kept.problems):
            warnings.warn(printed(problem), RecordingWarning, stacklevel=1)


#: What a recording says in place of a missing answer: no JSON, so that no suite is read with it.
FILL_IN = "<the answer of your service>"
_BY_WORDS = ("text", "place", "enum", "set")


@dataclass
class RecordingOffer:
    """A missed call, and a recording or synonym that would answer it.

    Attributes:
        case: the case.
        tool: the tool.
        arguments: what was asked.
        note: why no recording answered.
        differences: what keeps the nearest recording from answering.
        times: how often it missed.
        synonym: parameter, the recorded words, the words asked for: declared as synonyms they make the recording answer.
        at: where the tool is described.
    """

    case: str
    tool: str
    arguments: JsonObject
    note: str = ""
    differences: tuple[Difference, ...] = ()
    times: int = 0
    synonym: tuple[str, str, str] | None = None
    at: str = ""

    def lines(self) -> Iterator[str]:
        """Yield the lines of the offer for a person: the call, the differences, and the text to paste."""
        again = f", {self.times} times" if self.times > 1 else ""
        yield f"case {self.case}: {printable(call_text(self.tool, self.arguments))}{again}"
        for difference in self.differences:
            apart = f", {difference.distance_m:g} m apart" if difference.distance_m is not None else ""
            alike = f", {difference.score:.0%} alike" if difference.score is not None else ""
            yield f"  {difference.parameter}: asked {_shown(difference.asked)}, the nearest recording has {_shown(difference.recorded)}{apart}{alike}"
        if not self.differences and self.note:
            yield f"  {printable(self.note)}"
        if self.synonym is not None:
            parameter, recorded, asked = self.synonym
            yield f"  if they mean the same, in {self.at} below match.{parameter}.synonyms:"
            yield f"    {_shown(recorded)}: [{_shown(asked)}]"
        yield "  else, in recordings/*.jsonl, with the answer filled in:"
        head = _shown({"case": self.case, "tool": self.tool, "arguments": self.arguments})
        yield f'    {head[:-1]}, "result": {FILL_IN}}}'

    def to_json(self) -> JsonObject:
        """Return the offer as JSON data."""
        data = {name: getattr(self, name) for name in ("case", "tool", "arguments", "times", "note")}
        synonym: JsonObject | None = None
        if self.synonym is not None:
            parameter, recorded, asked = self.synonym
            synonym = {"parameter": parameter, "synonyms": {recorded: [asked]}, "file": self.at}
        return {**data, "differences": [difference.to_json() for difference in self.differences], "synonym": synonym}


def offers_of(run: Run, suites: Sequence[Suite]) -> list[RecordingOffer]:
    """Return an offer for each missed call in a run, by case, tool and arguments.

    A synonym is offered only where it was tried: with it, the suite's recordings answer the call.

    Args:
        run: a run with its trajectories.
        suites: the suites that its cases stand in; misses of other cases are left out.
    """
    homes = {entry.id: suite for suite in suites for file in suite.files() for entry in suite.entries(file)}
    offers: dict[tuple[str, str, str], RecordingOffer] = {}
    for card in run.cases:
        suite = homes.get(card.id)
        for step in card.trajectory.all_calls if suite is not None else ():
            if suite is None or step.status != "miss" or step.tool not in suite.tools:
                continue
            key = card.id, step.tool, _key(suite.tools[step.tool], card.id, step)
            if key not in offers:
                provenance = step.provenance or Provenance(kind="miss")
                offers[key] = RecordingOffer(
                    card.id, step.tool, step.arguments, provenance.note, provenance.differences
                )
            offers[key].times += 1
    listed = sorted(offers.values(), key=lambda offer: (offer.case, offer.tool, canonical_json(offer.arguments)))
    for offer in listed:
        suite = homes[offer.case]
        path, line = suite.tool_places[offer.tool]
        offer.at = f"{shown_path(path)}:{line}"
        offer.synonym = _synonym(offer, suite)
    return listed


def _key(tool: Tool, case: str, step: Step) -> str:
    """Return the recording key of a call; its arguments as JSON text if the tool no longer takes them."""
    try:
        return recording_key(tool, Recording(case=case, tool=tool.name, arguments=step.arguments, result=None))
    except ValueError:  # the tool has changed since
        return canonical_json(step.arguments)


def _synonym(offer: RecordingOffer, suite: Suite) -> tuple[str, str, str] | None:
    """Return parameter, recorded words and requested words of a synonym that lets a recording answer; None if there is none."""
    tool = suite.tools[offer.tool]
    for difference in offer.differences:
        rule, asked, recorded = tool.match.get(difference.parameter), difference.asked, difference.recorded
        if rule is None or rule.type not in _BY_WORDS or not (isinstance(asked, str) and isinstance(recorded, str)):
            continue
        if not asked or not recorded or (rule.type == "text" and rule.near is None):
            continue  # only near text knows synonyms
        head = next((head for head, words in rule.synonyms.items() if recorded in (head, *words)), recorded)
        synonyms = {**rule.synonyms, head: (*rule.synonyms.get(head, ()), asked)}
        match = {**tool.match, difference.parameter: rule.model_copy(update={"synonyms": synonyms})}
        tried = RecordedSandbox({tool.name: tool.model_copy(update={"match": match})}, suite.recordings(offer.case))
        if tried.call(tool.name, offer.arguments).status == "ok":
            return difference.parameter, head, asked
    return None


def _shown(value: object) -> str:
    """Return a value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


# -- a sandbox whose answers the user's own tools give -----------------------------------------------------------------

#: What the provenance of an answer of the user's own tool says on the day it is given.
ASKED = "no recording answered; your own tool did, and the answer is kept"
#: What stands before the reason why it gave no answer either.
_NO_TOOL_ANSWER = "your own tool gave no answer: "


class KeptAnswers:
    """Answers of own tools by case and canonical call, so that each call is made only once. Thread-safe."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.answers: dict[tuple[str, str], Recording] = {}


class RecordingSandbox:
    """Answers from another sandbox if possible; otherwise asks the user's own tools.

    Args:
        before: the sandbox that answers first; one without recordings answers nothing, but refuses calls that no tool can take.
        own: the user's own tools.
        case: the id of the case.
        kept: answers that are given again without asking; None: each call is passed on. Such an answer has its secrets redacted, as
            it will stand in the run file; one that is passed on is the tool's own.
    """

    def __init__(self, before: Sandbox, own: OwnTools, case: str, kept: KeptAnswers | None = None) -> None:
        self._before = before
        self._own = own
        self._case = case
        self._kept = kept
        self.secrets = Secrets()
        #: What was answered, as it was; and why something was not.
        self.recordings: list[Recording] = []
        self.problems: list[str] = []

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Return the suite's tools by name."""
        return self._before.tools

    @property
    def setup(self) -> tuple[RowChange, ...]:
        """Return the rows changed during the creation of the sandbox."""
        return self._before.setup

    @property
    def events(self) -> Any:
        """Return the events of the case; None if it has none."""
        return getattr(self._before, "events", None)

    def call(self, name: str, arguments: Mapping[str, Json]) -> SandboxAnswer:
        """Answer a call from the other sandbox; for a miss, from a stored answer or the user's own tool."""
        answer = self._before.call(name, arguments)
        if answer.status != "miss" or answer.provenance is None:
            return answer
        key = recording_key(self.tools[name], self._recording(name, arguments, None))
        if self._kept is None:
            recording = self._asked(name, arguments)
            if recording is None:
                return SandboxAnswer({"status": "error", "message": self.problems[-1]}, "error")
        else:
            with self._kept.lock:
                recording = self._kept.answers.get((self._case, key))
                if recording is None:
                    recording = self._asked(name, arguments)
                    if recording is None:
                        note = f"{answer.provenance.note}; {_NO_TOOL_ANSWER}{self.problems[-1]}"
                        return replace(answer, provenance=answer.provenance.model_copy(update={"note": note}))
                    recording = self.secrets.clean(recording, self.tools[name])
                    self._kept.answers[self._case, key] = recording
        if self.events is not None:
            self.events.answered(name)
        return SandboxAnswer(recording.result, "ok", Provenance(kind="recorded", recording=key, note=ASKED))

    def _recording(self, name: str, arguments: Mapping[str, Json], result: Json) -> Recording:
        """Return a live recording of a call and its result, for the case."""
        return Recording(case=self._case, tool=name, arguments=dict(arguments), result=result, live=True)

    def _asked(self, name: str, arguments: Mapping[str, Json]) -> Recording | None:
        """Ask the user's own tool and return the recording; if there is no answer, add the reason to ``problems`` and return None."""
        problem, result = "", None
        try:
            result = self._own.ask(name, dict(arguments))
        except NoAnswerError as error:
            problem = str(error)
        recording = self._recording(name, arguments, result)
        self.secrets.clean(recording, self.tools[name])  # learns what no words may show
        if problem:
            self.problems.append(self.secrets.text(problem))
            return None
        self.recordings.append(recording)
        return recording

    def cleaned(self) -> list[Recording]:
        """Return all recordings without secrets, including secrets that only a later call revealed."""
        once = [self.secrets.clean(recording, self.tools[recording.tool]) for recording in self.recordings]
        return [self.secrets.clean(recording, self.tools[recording.tool]) for recording in once]


def recorded_steps(trajectory: Trajectory, tools: Mapping[str, Tool]) -> list[Recording]:
    """Return the answers of the user's own tools in an episode, as recordings without secrets."""
    secrets = Secrets()
    return [
        secrets.clean(
            Recording(case=trajectory.case, tool=step.tool, arguments=step.arguments, result=step.result, live=True),
            tools[step.tool],
        )
        for step in trajectory.all_calls
        if step.tool in tools
        and step.provenance is not None
        and (step.provenance.kind, step.provenance.note) == ("recorded", ASKED)
    ]


def unanswered_steps(trajectory: Trajectory) -> list[str]:
    """Return why the user's own tools gave no answer in an episode, one sentence per call."""
    notes = [
        step.provenance.note for step in trajectory.all_calls if step.provenance and step.provenance.kind == "miss"
    ]
    return [
        f"case {trajectory.case}: {note.rpartition(_NO_TOOL_ANSWER)[2]}" for note in notes if _NO_TOOL_ANSWER in note
    ]
