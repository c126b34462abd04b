"""The layers that answer the calls of one case: code of the suite's own, recordings, tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from functools import cache, cached_property, partial
from inspect import signature
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pytest_mapsat.interpreter import on_thread, waiting
from pytest_mapsat.model import (
    Case,
    InfrastructureError,
    Json,
    JsonObject,
    MapsatError,
    Provenance,
    Recording,
    RowChange,
    RowPatch,
    SuiteManifest,
    Tool,
    canonical_json,
    digest,
    hint_at,
    json_size,
    listed,
    mismatches,
    shown,
    tool_name,
)
from pytest_mapsat.registry import is_ours
from pytest_mapsat.user_code import UserCodeError, call_user_code, defined_at, describe_error, installed, place_of

from .resolver import Resolver, SandboxAnswer
from .spec import BadArgumentsError, SpecCall, UnanswerableError, argument_problems, spec_of
from .state import NoSuchRowError, State, Table, fresh, net_changes, plain, with_overlays

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .routes import Computed


#: The entry point group in which installed packages name their functions of a case and its suite: they hold outside pytest too.
GROUP = "pytest_mapsat.sandboxes"
#: Makes the object whose methods are the tools, once for each episode.
SandboxFactory = Callable[[State], object]
#: From a case and its suite to what makes the case's sandbox; None for a case that it has no sandbox for.
SandboxHook = Callable[[Case, Any], SandboxFactory | None]

_Made = TypeVar("_Made")
#: How long a sandbox may take where it is in nobody's reply: to be made, to play what a case begins with, or its reference.
_MOST_SECONDS = 60.0
_MOST_CHARACTERS = 1_000_000
#: How many tools the error of a call to an unknown one lists.
_NAMED_TOOLS = 10
#: Sums and products of a few numbers up to this are still numbers; what an id or a sum of money is lies far below.
_LARGEST_NUMBER = 1e100
#: What the result of every refusal says.
_RESERVED = frozenset({"status", "message"})


class Sandbox(Protocol):
    """The interface of sandboxes, which answer the tool calls of one episode."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Return the tools by name."""

    @property
    def setup(self) -> tuple[RowChange, ...]:
        """Return the changes made to rows during the creation of the sandbox."""

    def call(self, name: str, arguments: Mapping[str, Json]) -> SandboxAnswer:
        """Answer a call; an agent's mistake gives an error answer, never an exception."""


class SandboxSuite(Protocol):
    """The parts of a suite that are needed to create a sandbox."""

    @property
    def manifest(self) -> SuiteManifest:
        """Return the content of suite.yaml."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Return the tools by name."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """Return the initial rows of all cases by table."""

    def recordings(self, case_id: str) -> tuple[Recording, ...]:
        """Return the recordings of a case."""

    @property
    def sandboxes(self) -> Sequence[SandboxHook] | None:
        """Return the hooks that look for Python sandboxes; None: only those of installed packages."""


def make_sandbox(case: Case, suite: SandboxSuite, *, misses: bool = False) -> Sandbox:
    """Create and return the sandbox of one episode in the initial state of its case.

    A sandbox in Python answers the tools that it has; the layers of the suite's data all others. They answer in this order: an exact recording,
    what the tables say, a near or composed recording, an explained miss. Around all of them are the faults of the case.

    Args:
        case: the case.
        suite: its suite.
        misses: whether a call of a tool that a sandbox in Python has no method for, and of which nothing is recorded, is a miss; else the sandbox is broken.

    Raises:
        SuiteError: a recording of the case, or a table, cannot be read.
        InfrastructureError: a sandbox in Python cannot be made.
    """
    tables, overlays, recordings = suite.tables, case.world.rows, suite.recordings(case.id)

    asked: Counter[str] = Counter()  # goes on where a sandbox in Python has the data made anew

    def data(written: tuple[RowPatch, ...] = ()) -> RecordedSandbox:
        """Return the sandbox for the suite's data: recordings, and tables with the overlays of the case and the rows written so far."""
        if not tables:
            return RecordedSandbox(suite.tools, recordings, asked=asked, unmade=unmade)
        from .routes import Computed  # noqa: PLC0415 (only where a suite has tables)

        computed = Computed(suite.tools, tables, (*overlays, *written), case.visible.context, suite.manifest)
        return RecordedSandbox(suite.tools, recordings, computed, asked=asked, unmade=unmade)

    make = _factory_of(case, suite, installed_sandboxes() if suite.sandboxes is None else suite.sandboxes)
    unmade = make is None and bool(set(suite.sandboxes or ()) - set(installed_sandboxes()))
    if make is None and suite.manifest.sandbox:
        raise InfrastructureError(
            f"suite.yaml of {suite.manifest.name} has options of a sandbox in Python, but no sandbox is there: install the package that does, or name the "
            "conftest.py with -p"
        )

    def begun() -> Sandbox:
        """Create the sandbox, play the initial calls of the case, and return the sandbox."""
        if make is None and not case.world.events:
            recorded = data()
            recorded.begin(case)
            return recorded
        sandbox = PythonSandbox(make, with_overlays(tables, overlays), data, misses=misses or make is None)
        sandbox.begin(case)
        if not case.world.events:
            return sandbox
        from .events import EventSandbox  # noqa: PLC0415 (only where a case has events)

        return EventSandbox(sandbox, case.world.events)

    sandbox = begun() if make is None else in_time(f"case {case.id}: the sandbox is not made", begun)
    if not case.world.faults:
        return sandbox
    from .faults import FaultySandbox  # noqa: PLC0415 (few cases have faults)

    return FaultySandbox(case, sandbox, lambda: make_sandbox(case.undisturbed, suite, misses=misses))


def in_time(what: str, function: Callable[[], _Made]) -> _Made:
    """Run sandbox code in a thread with a time limit and return its result; code beyond the limit is left running.

    Raises:
        InfrastructureError: it takes longer than a minute; ``what`` says what has not come about.
    """
    outcome = on_thread(function, "mapsat-sandbox")
    with waiting():
        wait([outcome], timeout=_MOST_SECONDS)
    if not outcome.done():
        raise InfrastructureError(f"{what} after {_MOST_SECONDS:g} s")
    return outcome.result()


@cache
def installed_sandboxes() -> tuple[SandboxHook, ...]:
    """Return the sandbox hooks of installed packages, in the order of their names. Raises InfrastructureError if loading fails."""
    try:
        return tuple(
            partial(_of_port, point) if is_ours(point) else call_user_code(point.load) for point in installed(GROUP)
        )
    except UserCodeError as broken:
        raise _sandbox_error(f"{GROUP}: a package cannot be loaded", broken) from None


def _of_port(point: EntryPoint, case: Case, suite: SandboxSuite) -> SandboxFactory | None:
    """Return the sandbox factory of a built-in port for a suite; None if the suite has no sandbox options."""
    factory: SandboxFactory | None = point.load()(case, suite) if suite.manifest.sandbox else None
    return factory


def sandbox_hook(module: ModuleType) -> SandboxHook:
    """Return ``pytest_mapsat_sandbox`` of a module as a function of case and suite, for use without pytest (``config`` is None)."""
    function = module.pytest_mapsat_sandbox
    wanted = signature(function).parameters

    def hook(case: Case, suite: Any) -> SandboxFactory | None:
        """Call the module's hook with its accepted arguments among config, case and suite; return its factory or None."""
        given = {"config": None, "case": case, "suite": suite}
        factory: SandboxFactory | None = function(**{name: value for name, value in given.items() if name in wanted})
        return factory

    return hook


def _factory_of(case: Case, suite: object, hooks: Sequence[SandboxHook]) -> SandboxFactory | None:
    """Return the factory from the first hook that gives one for a case; None if no hook does. Raises InfrastructureError."""
    for hook in hooks:
        try:
            factory: object = call_user_code(hook, case, suite)
        except UserCodeError as broken:
            raise _sandbox_error("the sandbox could not be looked up", broken) from None
        if factory is None:
            continue
        if not callable(factory):
            message = f"pytest_mapsat_sandbox returned {shown(factory)}, expected what makes a sandbox: a class, or a function of the state"
            raise InfrastructureError(message)
        return factory
    return None


_UNMADE = ", and pytest_mapsat_sandbox returned None for it"


class RecordedSandbox:
    """Answers the tools of a suite from the recordings of one case, and from tables.

    Between calls it keeps only how often each recorded call has answered: several recordings of one call answer in their order, then the last one.

    Args:
        tools: the suite's tools by name.
        recordings: the recordings of the case, in the order of files and lines.
        computed: what answers where no recording is of the very call, and the tool says how; None: nothing.
        asked: how often each recorded call has answered already, by its key.
        unmade: whether hooks were asked for a sandbox in Python and gave none, which the note at a miss says.

    Attributes:
        tools: the suite's tools by name.
    """

    #: Nothing is changed while it is made.
    setup: tuple[RowChange, ...] = ()

    def __init__(
        self,
        tools: Mapping[str, Tool],
        recordings: Sequence[Recording],
        computed: Computed | None = None,
        *,
        asked: Counter[str] | None = None,
        unmade: bool = False,
    ) -> None:
        # A suite's tools are shown to all its cases; those of anybody else are copied, as they may change.
        self.tools = tools if isinstance(tools, MappingProxyType) else MappingProxyType(dict(tools))
        self._computed, self._unmade = computed, unmade
        self._asked: Counter[str] = Counter() if asked is None else asked
        self._recordings: dict[str, list[Recording]] = {}
        for recording in recordings:
            self._recordings.setdefault(recording.tool, []).append(recording)
        self._resolvers: dict[str, Resolver] = {}

    def may_answer(self, name: str) -> bool:
        """Return whether the case has recordings of a tool, or the tool declares how tables answer it."""
        return name in self._recordings or self.tools[name].answer is not None

    def begin(self, case: Case) -> None:
        """Play the initial calls of a case. Raises InfrastructureError if one of them fails."""
        _play(case, self)

    def call(self, name: str, arguments: Json, *, writes: str = "") -> SandboxAnswer:
        """Answer a call; an agent's mistake gives an error answer, never an exception. ``writes``: digest of the earlier writes."""
        resolver = self._resolver(name) if isinstance(name, str) else None
        if resolver is None:
            return unknown_tool(name, self.tools)
        if not isinstance(arguments, Mapping):
            return _error(f"{name}: arguments are an object of names and values, not {type(arguments).__name__}")
        try:
            call = resolver.spec.read(arguments)
        except BadArgumentsError as bad:
            return _error(f"{name}: {'; '.join(bad.problems)}")
        answer = resolver.exactly(call, writes)
        if answer is not None and answer.provenance is not None and answer.provenance.kind == "exact":
            return answer
        if self._computed is None or resolver.spec.tool.answer is None:
            broken = tuple(resolver.spec.limits_broken(arguments))
            return _error(f"{name}: {'; '.join(broken)}") if broken else answer or resolver.resolve(call, writes)
        return answer or self._compute(self._computed, resolver, call, writes)

    def _compute(self, computed: Computed, resolver: Resolver, call: SpecCall, writes: str) -> SandboxAnswer:
        """Return the answer from the tables, otherwise from a near recording, otherwise an error."""
        name = resolver.spec.tool.name
        if broken := tuple(resolver.spec.limits_broken(call.arguments)):
            return _error(f"{name}: {'; '.join(broken)}")
        try:
            result, note = computed.result(resolver.spec, call)
            return SandboxAnswer(result, "ok", Provenance(kind="computed", note=note))
        except UnanswerableError as why:
            near = resolver.resolve(call, writes)
            return near if near.status == "ok" else _error(f"{name}: {why}")

    def _resolver(self, name: str) -> Resolver | None:
        """Return the resolver of a tool's recordings, created on first use; None if there is no such tool."""
        name = tool_name(self.tools, name)
        resolver = self._resolvers.get(name)
        if resolver is None and name in self.tools:
            resolver = self._resolvers[name] = Resolver(
                self.tools[name], self._recordings.get(name, ()), self._asked, _UNMADE if self._unmade else ""
            )
        return resolver


class Refused(Exception):  # noqa: N818  # users raise it by this name
    """Raised by a tool that refuses a call without changing anything; the agent receives the reason, and the details as data.

    Raises:
        TypeError: a detail has the name of what every refusal says: ``status`` or ``message``.
    """

    def __init__(self, reason: str, **details: Json) -> None:
        if taken := sorted(_RESERVED.intersection(details)):
            raise TypeError(f"Refused: {', '.join(taken)} of the result is set already; name the detail otherwise")
        super().__init__(reason)
        self.reason = reason
        self.details = details


class PythonSandbox:
    """Answers tools with methods of the user's object, and all other tools from the suite's recordings and tables.

    Args:
        make: makes the object; None: there is none, and the data answers all tools.
        tables: the rows that the state starts from.
        data: makes what answers the tools that the object has no method for, from what is laid over the tables.
        misses: see ``make_sandbox``.

    Attributes:
        tools: the suite's tools by name.
        setup: the rows that making the object has changed.

    Raises:
        InfrastructureError: the object cannot be made, or has a method for no tool.
    """

    def __init__(
        self,
        make: SandboxFactory | None,
        tables: Mapping[str, Table],
        data: Callable[[tuple[RowPatch, ...]], RecordedSandbox],
        *,
        misses: bool = False,
    ) -> None:
        self._misses = misses
        self._data = data
        self.tools = data(()).tools
        self._writes = ""
        self._state = State(tables)
        self.setup: tuple[RowChange, ...] = ()
        try:
            with waiting():  # it may start a service
                instance = None if make is None else call_user_code(make, self._state)
            methods = {name: call_user_code(getattr, instance, name, None) for name in self.tools}
        except UserCodeError as broken:
            raise _sandbox_error("the sandbox could not be made", broken) from None
        self._object = instance
        self._methods: dict[str, Callable[..., Json]] = {
            name: method for name, method in methods.items() if callable(method)
        }
        if make is not None and not self._methods:
            raise InfrastructureError(f"the sandbox has a method for no tool of the suite ({', '.join(self.tools)})")
        self.setup = self._state.writing.done()
        self._state.writing.allowed = False

    @cached_property
    def _data_sandbox(self) -> RecordedSandbox:
        """Return the sandbox of the suite's data that answers tools without a method, given the rows written so far."""
        return self._data(self._state.overlays())

    def begin(self, case: Case) -> None:
        """Play the initial calls of a case; their changes become part of ``setup``. Raises InfrastructureError if one fails."""
        changes = [change for answer in _play(case, self) for change in answer.changed]
        self.setup = net_changes((*self.setup, *changes))
        self._writes = ""

    def call(self, name: str, arguments: Mapping[str, Json]) -> SandboxAnswer:
        """Answer a call; an agent's mistakes give an error answer, never an exception.

        Raises:
            InfrastructureError: the sandbox broke, which is no agent's fault.
        """
        name = tool_name(self.tools, name) if isinstance(name, str) else name
        method = self._methods.get(name) if isinstance(name, str) else None
        if method is None or not isinstance(arguments, Mapping):
            # A recording made after the same writes, else one that bears none.
            answer = self._data_sandbox.call(name, arguments, writes=self._writes)
            answer = self._data_sandbox.call(name, arguments) if self._writes and answer.status == "miss" else answer
            if answer.status == "miss" and not self._misses and not self._data_sandbox.may_answer(name):
                raise InfrastructureError(self._without_method(name))
            return answer
        tool = self.tools[name]
        fitted: JsonObject = {}
        if not (problems := argument_problems(tool, arguments)):
            fitted = spec_of(tool).fitted(arguments)
            problems = (*mismatches(tool.parameters, fitted), *_overflowing(fitted, "arguments"))
        if problems:
            return _error(f"{name}: {'; '.join(problems)}")
        return self._answered(tool, method, fitted)

    def _without_method(self, name: str) -> str:
        """Return the message that a tool has neither a method nor a recording, with a similar method name."""
        kind = type(self._object)
        others = [other for other in dir(self._object) if other not in self.tools and not other.startswith("_")]
        hint = hint_at(name, others)
        return f"the sandbox {kind.__name__}{defined_at(kind)} has no method {name}, and nothing is recorded for that tool{hint}"

    def _answered(self, tool: Tool, method: Callable[..., Json], arguments: JsonObject) -> SandboxAnswer:
        """Run a tool's method and return its answer with the changed rows; undo the changes if the method raises."""
        writing = self._state.writing
        writing.allowed = tool.effect == "write"
        try:
            result = call_user_code(_plain_result, method, fresh(arguments))
        except UserCodeError as broken:
            writing.undo()
            if isinstance(broken.error, Refused):
                return _refusal(tool, broken.error)
            if isinstance(broken.error, NoSuchRowError):
                return _error(f"{tool.name}: {broken.error.told}")
            raise _sandbox_error(f"the sandbox broke in {tool.name}", broken, method) from None
        finally:
            writing.allowed = False
        changed = self._written(writing.done())
        return SandboxAnswer(result, "ok", Provenance(kind="computed"), changed, self._writes if changed else "")

    def lay(self, patches: Sequence[RowPatch]) -> tuple[RowChange, ...]:
        """Change rows as an event does, and return the changes; recordings made before them answer as they do after a write."""
        return self._written(self._state.lay(patches))

    def _written(self, changed: tuple[RowChange, ...]) -> tuple[RowChange, ...]:
        """Record changed rows in the digest of writes, let the suite's data answer from them, and return them."""
        if changed:
            self._writes = digest([self._writes, *(change.to_json() for change in changed)])
            self.__dict__.pop("_data_sandbox", None)
        return changed


def _overflowing(value: Json, place: str) -> Iterator[str]:
    """Yield a message for each number that is too large for safe arithmetic."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _overflowing(member, f"{place}.{name}")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _overflowing(item, f"{place}[{number}]")
    elif isinstance(value, (int, float)) and abs(value) > _LARGEST_NUMBER:
        yield f"{place}: found a number beyond {_LARGEST_NUMBER:g}"


def _play(case: Case, sandbox: Sandbox) -> list[SandboxAnswer]:
    """Make the initial calls of a case and return their answers. Raises InfrastructureError if one fails."""
    answers = []
    for number, call in enumerate(case.world.calls, 1):
        answer = sandbox.call(call.tool, call.arguments)
        if answer.status != "ok":
            why = answer.result.get("message", "") if isinstance(answer.result, dict) else ""
            raise InfrastructureError(
                f"case {case.id}: world.calls, call {number}, {call.tool}, ends as {answer.status}: {why}"[:500]
            )
        answers.append(answer)
    return answers


def _plain_result(method: Callable[..., Any], arguments: JsonObject) -> Json:
    """Call a method of a Python sandbox and return its result as plain data. Raises ValueError if it is too large."""
    result = plain(method(**arguments))
    if (size := json_size(result)) > _MOST_CHARACTERS:
        raise ValueError(f"a result of {size:,} characters; at most {_MOST_CHARACTERS:,} are taken")
    return result


def _refusal(tool: Tool, refused: Refused) -> SandboxAnswer:
    """Return the answer to a call that a Python sandbox refused. Raises InfrastructureError if the details are not JSON."""
    try:
        result = plain({"status": "refused", "message": refused.reason, **refused.details})
    except (TypeError, ValueError) as error:
        raise InfrastructureError(f"the sandbox broke in {tool.name}: its refusal is not JSON: {error}") from None
    return SandboxAnswer(result, "refused", Provenance(kind="computed"))


def unknown_tool(name: object, tools: Iterable[str]) -> SandboxAnswer:
    """Return the error answer to a call of a tool that is not in ``tools``; it names a similar tool, and the first ten that there are."""
    names = sorted(tools)
    known = f"; the tools are {listed(names, _NAMED_TOOLS)}" if names else ""
    return _error(f"there is no tool {shown(name)}{hint_at(name, names)}{known}")


def _error(message: str) -> SandboxAnswer:
    """Return an error answer with a message."""
    return SandboxAnswer({"status": "error", "message": message}, "error")


def _sandbox_error(what: str, broken: UserCodeError, function: object = None) -> InfrastructureError:
    """Return an InfrastructureError that describes the failure, with the error and its place in the user's code."""
    place = place_of(broken.error) or defined_at(function)
    if isinstance(broken.error, MapsatError):
        return InfrastructureError(f"{broken.error}{place}")
    return InfrastructureError(f"{what}: {describe_error(broken.error)}{place}")


class ToolsClosed(RuntimeError):  # noqa: N818  # an agent reads this name
    """A tool was called, or a thought recorded, between replies or too often."""

    def __init__(
        self, why: str = "no reply is under way: tools can be called, and thoughts kept, only while the agent is asked"
    ) -> None:
        super().__init__(why)


class Toolbox:
    """Tools that are called by name: ``tools.search_poi(query="...")`` or ``tools.call("search_poi", {"query": "..."})``.

    It holds the public schemas of the agent's own tools, as text, and ``call``, the function that makes the calls. Any public name can be called: a tool
    that does not exist answers with an error, as a real server would.
    """

    __slots__ = ("_call", "_public", "_schemas")

    def __init__(self, tools: Mapping[str, Tool], call: Callable[[str, JsonObject], Json]) -> None:
        self._call = call
        self._schemas, public = _shown(tools)
        self._public = dict(public)

    def call(self, name: str, arguments: JsonObject | None = None) -> Json:
        """Call a tool with arguments by name, and return its JSON result."""
        return self._call(name, {} if arguments is None else arguments)

    def schemas(self) -> list[JsonObject]:
        """Return the tools in the form of OpenAI function calling, as a new copy each time."""
        schemas: list[JsonObject] = json.loads(self._schemas)
        return schemas

    def __getattr__(self, name: str) -> Callable[..., Json]:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        description, parameters = self._public.get(name, ("", ()))
        return _function(name, self._call, description, parameters)

    def __dir__(self) -> list[str]:
        return sorted({"call", "schemas", *self._public})

    def __repr__(self) -> str:
        return f"Toolbox({', '.join(self._public)})"


_Public = Mapping[str, tuple[str, tuple[str, ...]]]
#: What is shown of a suite's tools, made once for all episodes; the tools stand beside it so that their ids stay theirs.
_made: dict[tuple[int, ...], tuple[tuple[Tool, ...], str, _Public]] = {}
_MADE_AT_MOST = 64


def _shown(tools: Mapping[str, Tool]) -> tuple[str, _Public]:
    """Return the schemas of the agent's tools as JSON text, and by name their descriptions and parameter names; cached."""
    key = tuple(map(id, tools.values()))
    if key not in _made:
        own = {name: tool for name, tool in tools.items() if tool.for_agent}
        if len(_made) >= _MADE_AT_MOST:
            _made.clear()
        schemas = canonical_json(
            [
                {
                    "type": "function",
                    "function": {"name": name, "description": tool.description, "parameters": tool.parameters},
                }
                for name, tool in own.items()
            ]
        )
        public = {name: (tool.description, tuple(tool.parameters.get("properties", {}))) for name, tool in own.items()}
        _made[key] = (tuple(tools.values()), schemas, public)
    _, schemas, shown = _made[key]
    return schemas, shown


def _function(
    name: str, call: Callable[[str, JsonObject], Json], description: str, parameters: tuple[str, ...]
) -> Callable[..., Json]:
    """Return a function that calls a tool with named arguments."""

    def tool(*positional: Any, **arguments: Json) -> Json:
        """Call the tool and return its result. Raises TypeError for positional arguments."""
        if positional:
            names = ", ".join(f"{parameter}=..." for parameter in parameters)
            raise TypeError(f'call {name} by names: tools.{name}({names}), or tools.call("{name}", {{...}})')
        return call(name, arguments)

    tool.__name__ = tool.__qualname__ = name
    tool.__doc__ = description
    return tool
