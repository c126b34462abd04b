"""Cases in Python: ``@case`` makes one of a test function.

The decorator only notes what it is given: to import it costs nothing, and the function stays the test that it is. While an agent is active,
``pytest_plugin.functions`` reads the requirements from the function's source, makes a case of them as of one in YAML, and has the function called with the
episode: fixtures first, then the dialogue, then the body. Its blocks (``judges.python_check``) decide the labels; everything behind them is that of any case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import unwrap
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pytest_mapsat.model import (
        Clarification,
        Confirms,
        Context,
        Event,
        ExpectedTool,
        Interaction,
        MannerName,
        Membership,
        Message,
        NothingFits,
        OracleTurn,
        PlannedCall,
        Requirement,
        ScriptedAnswer,
        ToolFault,
        World,
    )

_F = TypeVar("_F", bound=Callable[..., Any])
#: A part of a case, as it stands in YAML; the nouns of ``pytest_mapsat.model`` say the same with types.
Values = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class User:
    """The user of a Python case: their identity, and the answers of the scripted user.

    Attributes:
        answers: what it says when asked; a mapping of a phrase in the question to the answer says the simple ones.
        confirms: what it answers to a request for a go-ahead; None: it hangs up on none and agrees to none.
        no_preference: what it says where it knows no answer; empty: the language's own words, here and for the next two.
        cannot_act: what it says where it is told to do something.
        goodbye: its last words.
        leaves: whether it ends the dialogue once all its answers are given.
        manner: how it speaks, as in YAML: ``["terse", {"impatient": 3}]``.
        attempts: what it says, one after the other, where it would end the dialogue.
        may: what a user that is a model may do besides answering.
        prompt: what such a user is told besides.
        intent: what it is after.
        persona: who it is.
        preferences: what it likes.
    """

    answers: Mapping[str, str] | Sequence[ScriptedAnswer | Values] = ()
    confirms: Literal["yes", "no"] | Confirms | Values | None = None
    no_preference: str = ""
    cannot_act: str = ""
    goodbye: str = ""
    leaves: bool = False
    manner: MannerName | Sequence[MannerName | Mapping[str, int]] = ()
    attempts: Sequence[str] = ()
    may: Sequence[Literal["volunteer", "act", "go_on"]] = ()
    prompt: str = ""
    intent: str = ""
    persona: str = ""
    preferences: Sequence[str] = ()


#: Where the keywords stand in a case in YAML; the others stand at the top under their own name.
_EPISODE = {"max_calls": "calls", "run": "run"}
_WORLD = ("events", "faults")
_VISIBLE = ("query", "messages", "context", "interactions", "instructions", "output_schema")
_OF_USER = ("intent", "persona", "preferences")
_TRUTH = (
    "requirements",
    "clarification",
    "tools",
    "output",
    "oracle",
    "end",
    "none",
    "quiet",
    "use",
    "user",
    *_OF_USER,
)


@dataclass(frozen=True, eq=False)
class Declaration:
    """The keyword arguments of ``@case``, without those that are None."""

    given: Values

    @property
    def written(self) -> dict[str, Any]:
        """Return the case in its YAML form, without the requirements in the function's source."""
        data: dict[str, Any] = {"visible": {}, "truth": {}}
        for name, value in self.given.items():
            if isinstance(value, User):
                usual = {field.name: field.default for field in fields(User)}
                values = {key: each for key, each in vars(value).items() if each != usual[key]}
                data["truth"] |= {key: values.pop(key) for key in _OF_USER if key in values}
                if isinstance(value.answers, Mapping):
                    values["answers"] = [{"asked": [asked], "say": say} for asked, say in value.answers.items()]
                data["truth"]["user"] = values
            elif name in _EPISODE:
                data.setdefault("episode", {})[_EPISODE[name]] = value
            elif name in _WORLD:
                world = data.get("world", {})
                data["world"] = {**(world if isinstance(world, Mapping) else world.to_json()), name: value}
            else:
                (data["visible"] if name in _VISIBLE else data["truth"] if name in _TRUTH else data)[name] = value
        return data

    @staticmethod
    def place_of(name: str) -> tuple[str, ...]:
        """Return the path of a keyword of ``@case`` in the YAML form of the case."""
        if name in _EPISODE:
            return ("episode", _EPISODE[name])
        if name in _WORLD:
            return ("world", name)
        return ("visible", name) if name in _VISIBLE else ("truth", name) if name in _TRUTH else (name,)


_declared: WeakKeyDictionary[Callable[..., Any], Declaration] = WeakKeyDictionary()


def case(
    query: str,
    /,
    *,
    user: User | None = None,
    id: str | None = None,  # noqa: A002 (as in YAML)
    requirements: Sequence[Requirement | Values] | None = None,
    context: Context | Values | None = None,
    messages: Sequence[Message | Values] | None = None,
    interactions: Sequence[Interaction | Values] | None = None,
    instructions: str | None = None,
    output_schema: Values | None = None,
    output: Values | None = None,
    clarification: Clarification | Values | None = None,
    tools: Sequence[ExpectedTool | Values] | None = None,
    oracle: Sequence[OracleTurn | Values] | None = None,
    end: Literal["oracle"] | Sequence[PlannedCall | Values] | None = None,
    none: NothingFits | Values | None = None,
    quiet: bool | None = None,
    world: World | Values | None = None,
    events: Sequence[Event | Values] | None = None,
    faults: Sequence[ToolFault | Values] | None = None,
    max_calls: int | None = None,
    run: Sequence[str] | None = None,
    domains: Sequence[str] | None = None,
    difficulty: str | None = None,
    language: str | None = None,
    attributes: Mapping[str, str] | None = None,
    group: Membership | Values | None = None,
    use: Sequence[str] | None = None,
    vars: Values | None = None,  # noqa: A002 (as in YAML)
) -> Callable[[_F], _F]:
    """Return a decorator that turns a test function into a case; see docs/how-to/cases-in-python.md for an example.

    ``{name}`` in a text stands for the parameter of this name of a parametrised test.

    Args:
        query: what the user says first.
        user: who the user is, and what it answers; None: it has no preferences.
        id: what the run file knows the case by; None: ``module.function-param``.
        requirements: those whose texts are no literals of the function's source, and those that have a check of their own.
        context: what the agent is shown beside the query.
        messages: what was said before the query.
        interactions: what passed between the user's task before and this one.
        instructions: how the agent is to go about it; None: as the suite says, as for ``language`` and ``max_calls``.
        output_schema: the JSON Schema of the structured output that is asked for.
        output: the structured output of a right answer.
        clarification: how many questions of the agent are useful.
        tools: the tools that a good agent calls.
        oracle: the dialogue of an agent that knows everything.
        end: the reference for ``same_end``.
        none: needs that nothing meets together.
        quiet: whether doing nothing is right.
        world: where the case begins, beside what all cases of the suite start from.
        events: what happens during the dialogue; the same as ``events`` of ``world``.
        faults: calls of tools that fail; the same as ``faults`` of ``world``.
        max_calls: calls of tools in the dialogue.
        run: tools of the agent whose own body runs, because it runs another agent.
        domains: domains of the suite.
        difficulty: any word.
        language: BCP 47.
        attributes: further groups.
        group: the sequence of one user's tasks that the case stands in.
        use: common requirements of the suite.
        vars: values for these.
    """
    given = {name: value for name, value in locals().items() if value is not None}
    if not isinstance(query, str):
        raise TypeError(f'@case needs what the user says first: found {query!r:.80}, write @case("...")')
    if user is not None and not isinstance(user, User):
        raise TypeError(f"user: found {user!r:.80}, expected User(...)")

    def declare(function: _F) -> _F:
        """Store the arguments of ``@case`` for a test function and return the function unchanged. Raises TypeError."""
        if not isinstance(function, FunctionType):
            raise TypeError(f"@case belongs to a test function, and must be next to it: found {function!r:.80}")
        if declared(function) is not None:
            raise TypeError(f"{function.__qualname__} has two @case: parametrize makes several cases of one function")
        _declared[function] = Declaration(given)
        return function

    return declare


def declared(function: Any) -> Declaration | None:
    """Return the arguments of ``@case`` for a test function; None if the function is not a case."""
    plain = getattr(function, "__func__", function)
    if not callable(plain):
        return None
    return (
        _declared.get(unwrap(plain, stop=lambda inner: inner in _declared)) if isinstance(plain, FunctionType) else None
    )
