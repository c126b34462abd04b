"""What an adapter is, and what all adapters share: the answers of the sandbox, usage, questions to the user, structured output."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from pytest_mapsat.agents.returned import AgentFault, as_json
from pytest_mapsat.agents.source import AgentContext, Session
from pytest_mapsat.guard import is_stand_in
from pytest_mapsat.model import Json, JsonObject, Usage, UsageError, canonical_json, total_usage
from pytest_mapsat.reply import Reply
from pytest_mapsat.sandbox import Toolbox


class ToolAnswer(NamedTuple):
    """What the sandbox answered to a call.

    Attributes:
        value: the JSON result.
        text: the same as a model reads it: a string as it is, other data as JSON.
        failed: whether it is the error of a tool: no such tool, or arguments that it cannot take.
    """

    value: Json
    text: str
    failed: bool


@dataclass
class AdapterEpisode:
    """What an adapter is given for one episode.

    Attributes:
        tools: the tools of the case; ``call`` is how an adapter calls them.
        context: now, location, city and so on, as any agent may take it.
        session: id, messages so far, state, and ``think``.
    """

    tools: Toolbox
    context: AgentContext
    session: Session

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the tools of the case."""
        return frozenset(schema["name"] for schema in declared(self.tools))

    @classmethod
    def of(cls, tools: Toolbox) -> AdapterEpisode:
        """Return an episode that is only called."""
        return cls(tools, AgentContext(), Session("", lambda _: None))

    def call(self, name: str, arguments: Any) -> ToolAnswer:
        """Have the sandbox answer a call; a tool that the case does not have answers with an error, and counts as called.

        Args:
            name: the tool, as the model called it.
            arguments: what the model gave: a dict, or the JSON text of one.
        """
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except ValueError:
                arguments = {"arguments": arguments}
        value = self.tools.call(name, {} if arguments is None else as_json(arguments, _plain))
        failed = isinstance(value, dict) and value.get("status") == "error"
        return ToolAnswer(value, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), failed)


def is_ours(function: Any) -> bool:
    """Return whether a function, or an object, is one of ours, or one that the sandbox answers."""
    return is_stand_in(function) or str(getattr(function, "__module__", "")).startswith(f"{__package__}.")


def declared(tools: Toolbox) -> list[dict[str, Any]]:
    """Return name, description and parameters (JSON Schema) of each tool, to make a framework's own tools from."""
    return [schema["function"] for schema in tools.schemas()]


def natively(made: Callable[[str, str, JsonObject, AdapterEpisode], Any]) -> Callable[[Toolbox], list[Any]]:
    """Return what makes a framework's own tools from a toolbox, by a function that makes one from its name, description and parameters, and an episode that answers."""

    def native(tools: Toolbox) -> list[Any]:
        episode = AdapterEpisode.of(tools)
        return [made(tool["name"], tool["description"], tool["parameters"], episode) for tool in declared(tools)]

    return native


Turn = Callable[[str], "Reply | Awaitable[Reply]"]


@dataclass(frozen=True)
class Adapter:
    """How the agents of one framework are played.

    Attributes:
        name: the scheme in ``NAME:module:attr``; the name on PyPI.
        distribution: the package whose version counts, where it has another name.
        versions: the least version that works, and the first that does not: major and minor.
        classes: package and class of what is an agent; the classes below them are meant, too.
        start: takes an agent and an ``AdapterEpisode`` and returns what answers a message with a ``Reply``: a function or coroutine function of
            ``message``, or an object with such a ``reply`` and, where something has to be given back, ``close``. It keeps the state of the episode;
            nothing of it may stay in the agent.
        native: makes the framework's own tools from a ``Toolbox``, for a factory that takes ``tools``.
        refusal: says why an agent cannot be played, an empty text where it can.
        waits: whether ``start`` returns a coroutine function.
    """

    name: str
    versions: tuple[tuple[int, int], tuple[int, int]]
    classes: frozenset[tuple[str, str]]
    start: Callable[[Any, AdapterEpisode], Any]
    native: Callable[[Toolbox], Sequence[Any]]
    refusal: Callable[[Any], str] = lambda agent: ""  # noqa: ARG005
    waits: bool = True
    distribution: str = ""

    def recognises(self, agent: object) -> bool:
        """Return whether an object is an agent of this framework, by the names of its classes."""
        return any(
            name == kind and comes_from(module, package)
            for module, name in kinds_of(agent)
            for package, kind in self.classes
        )

    def check(self) -> None:
        """See that the framework is there, in a version that works; it is not imported.

        Raises:
            UsageError: it is not installed, or of another version; says what to install.
        """
        package = self.distribution or self.name
        (*least,), (*end,) = self.versions
        wanted = f"{package}>={'.'.join(map(str, least))},<{'.'.join(map(str, end))}"
        try:
            there = version(package)
        except PackageNotFoundError:
            raise UsageError(f"{self.name} is not installed; run: pip install '{wanted}'") from None
        if not least <= list(map(int, re.findall(r"\d+", there)[:2])) < end:
            raise UsageError(f"{package} {there} is not supported; run: pip install '{wanted}'")


def kinds_of(agent: object) -> Iterator[tuple[str, str]]:
    """Yield module and name of an object's class and of those that it is made from."""
    for ancestor in type(agent).__mro__:
        yield str(ancestor.__module__), ancestor.__name__


def comes_from(module: str, package: str) -> bool:
    """Return whether a module is a package or in it."""
    return module == package or module.startswith(f"{package}.")


class Spent:
    """What the models of one reply used. A figure that one call does not tell is unknown in the sum."""

    def __init__(self) -> None:
        self._parts: list[Usage] = []

    def add(self, tokens_in: int | None, tokens_out: int | None, cost: float | None = None) -> None:
        """Count one call of a model, or several; where no tokens at all are counted, their number is unknown.

        Args:
            tokens_in: tokens that the model read; None where the framework does not tell.
            tokens_out: tokens that it wrote; likewise.
            cost: US dollars; likewise.
        """
        counted = bool(tokens_in or tokens_out)
        self._parts.append(
            Usage(input_tokens=tokens_in if counted else None, output_tokens=tokens_out if counted else None, cost=cost)
        )

    def usage(self) -> dict[str, float | None] | None:
        """Return the usage of the reply; None: nothing was counted."""
        return total_usage(self._parts).model_dump() if self._parts else None


def reply_of(output: Any, spent: Spent, *, text: str = "", thoughts: Sequence[str] = ()) -> Reply:
    """Return a reply.

    Args:
        output: what the framework calls the output: text, structured data, or None.
        spent: what the models used.
        text: what the user reads, where the output does not say it.
        thoughts: what the agent thought on the way.
    """
    if output is None or isinstance(output, str):
        return Reply(output or text, thoughts, spent.usage())
    has_fields = isinstance(output, dict) or dataclasses.is_dataclass(output) or hasattr(output, "model_dump")
    data = output if has_fields else {"response": output}
    plain = as_json(data, _plain)
    shown = plain.get("text") if isinstance(plain, dict) else None
    return Reply(text or (shown if isinstance(shown, str) else canonical_json(plain)), thoughts, spent.usage(), data)


def _plain(value: Any) -> Any:
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=lambda other: f"<{type(other).__name__}>")


# -- a person in the loop: where an agent waits for a decision, the user is asked, and what the user says decides --------------------

_ASKS = {"zh": "我可以执行 {calls} 吗？", "en": "May I go ahead with {calls}?"}


def question(calls: Sequence[tuple[str, Any]], episode: AdapterEpisode) -> str:
    """Return the question whether an agent may make some calls, in the language of the case.

    Args:
        calls: name and arguments of each.
        episode: the episode.
    """
    language = str(episode.context.get("locale") or "en").partition("-")[0]
    shown = ", ".join(f"{name}({_shown(arguments)})" for name, arguments in calls)
    return _ASKS.get(language, _ASKS["en"]).format(calls=shown)


def _shown(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return ", ".join(f"{name}={json.dumps(as_json(value), ensure_ascii=False)}" for name, value in arguments.items())


def go_ahead(message: str) -> bool:
    """Return whether the user's words plainly agree."""
    from pytest_mapsat.reading import agrees

    return agrees(message) is True


# -- what a framework calls dependencies, context or state -------------------------------------------------------------------------


def data_from(context: AgentContext, kind: Any) -> Any:
    """Return the context as a framework's own kind of data.

    Args:
        context: the context of the case.
        kind: a dataclass, pydantic model or TypedDict whose fields are looked up in the context by name; anything else is given the context itself.

    Raises:
        AgentFault: the kind has a field without a default that the context does not have.
    """
    if not isinstance(kind, type) or kind is type(None) or kind in AgentContext.__mro__:
        return context
    needed, names = _fields(kind)
    if names is None:
        raise AgentFault(
            f"the agent wants {kind.__name__} for its context, which cannot be made from {', '.join(context)}; "
            "write a function that runs `pytest_mapsat.sandboxed(agent)` with its own"
        )
    if missing := sorted(needed - set(context)):
        raise AgentFault(
            f"the agent wants {kind.__name__} for its context, with {', '.join(missing)}; the context has {', '.join(context)}"
        )
    return kind(**{name: context[name] for name in names if name in context})


def _fields(kind: type) -> tuple[set[str], list[str] | None]:
    """Return the fields of a kind of data that have no default, and all of them; None: it has no fields that can be read."""
    if dataclasses.is_dataclass(kind):
        members = dataclasses.fields(kind)
        none = dataclasses.MISSING
        needed = {m.name for m in members if m.init and m.default is none and m.default_factory is none}
        return needed, [m.name for m in members if m.init]
    models: JsonObject | None = getattr(kind, "model_fields", None)
    if isinstance(models, dict):
        return {name for name, member in models.items() if member.is_required()}, list(models)
    required = getattr(kind, "__required_keys__", None)
    return (set(), None) if required is None else (set(required), list(kind.__annotations__))
