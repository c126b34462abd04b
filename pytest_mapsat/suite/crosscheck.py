"""A case against its suite: what pydantic cannot know because it sees one case only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal, get_args

from pytest_mapsat.formats import DataPath
from pytest_mapsat.model import (
    RESERVED,
    Avoids,
    Bound,
    Called,
    Case,
    ExpectedTool,
    NotCalled,
    Noun,
    Number,
    PlannedCall,
    Recommends,
    SuiteManifest,
    Tool,
    WithinM,
    did_you_mean,
    mismatches,
    shown,
)

Place = tuple[str | int, ...]
#: The nouns that name a tool, and in which field.
_NAMES_TOOL: dict[type[Noun], str] = {
    ExpectedTool: "name",
    Called: "tool",
    NotCalled: "tool",
    Recommends: "tool",
    Avoids: "tool",
    Bound: "tool",
    PlannedCall: "tool",
}


@dataclass(frozen=True)
class Remark:
    """Something about a part of a case; an ``error`` keeps the case from being loaded."""

    severity: Literal["error", "warning"]
    rule: str
    place: DataPath
    message: str
    hint: str = ""


def crosscheck(case: Case, manifest: SuiteManifest, tools: Mapping[str, Tool]) -> Iterator[Remark]:
    """Give what is wrong between a case and its suite: unknown domains, tools and parameters, a scope that nothing reads."""
    yield from _domains(case, manifest)
    yield from _scopes(case)
    yield from _expected(case)
    yield from _claims(case)
    if manifest.currency != "CNY":
        yield from _currencies(case, manifest.currency)
    for place, noun in nouns_in(case.truth, ("truth",)):
        field = _NAMES_TOOL.get(type(noun))
        if field is None or getattr(noun, field) is None:
            continue
        name = getattr(noun, field)
        tool = tools.get(name)
        if tool is None:
            message = f"the suite has no tool {shown(name)}"
            yield Remark("error", "unknown-tool", (*place, field), message, did_you_mean(name, tools) or _known(tools))
        else:
            yield from _parameters(noun, place, tool)


def _known(tools: Mapping[str, Tool]) -> str:
    return f"known tools: {', '.join(sorted(tools))}" if tools else "the suite has no tools at all"


def _domains(case: Case, manifest: SuiteManifest) -> Iterator[Remark]:
    for index, domain in enumerate(case.domains):
        if domain not in manifest.domains:
            known = ", ".join(manifest.domains) or "none"
            message = f"the manifest has no domain {shown(domain)}; it has: {known}"
            hint = did_you_mean(domain, manifest.domains) or "add it to domains in suite.yaml"
            yield Remark("error", "unknown-domain", ("domains", index), message, hint)


def _scopes(case: Case) -> Iterator[Remark]:
    truth = case.truth
    for kind, factors in (("explicit", truth.explicit), ("implicit", truth.implicit), ("facts", truth.facts)):
        for index, factor in enumerate(factors):
            if factor.scope == "outcome":
                message = "found 'outcome', but nothing reads the state that the world ends in yet"
                place = ("truth", kind, index, "scope")
                yield Remark("error", "unread-scope", place, message, "expected answer or trajectory")


def _expected(case: Case) -> Iterator[Remark]:
    """Give what is wrong between the expected tools: ids that stand twice, ``after`` and ``evidence`` that lead nowhere or in a circle."""
    tools, factors = case.truth.tools, [factor.id for factor in case.truth.factors]
    keys = Counter(tool.key for tool in tools)
    for index, tool in enumerate(tools):
        place: Place = ("truth", "tools", index)
        if tool.id is not None and any(tool.id == other.key for other in tools[:index]):
            yield Remark("error", "expected-tool", (*place, "id"), f"another expected tool has the id {shown(tool.id)}")
        for number, key in enumerate(tool.after):
            here = (*place, "after", number)
            if keys[key] == 0:
                hint = did_you_mean(key, keys) or f"expected tools: {', '.join(keys)}"
                yield Remark("error", "expected-tool", here, f"no expected tool has the id or name {shown(key)}", hint)
            elif keys[key] > 1:
                message = f"several expected tools are {shown(key)}"
                yield Remark("error", "expected-tool", here, message, "give each an id, and name that")
        for number, factor in enumerate(tool.evidence):
            if factor not in factors:
                hint = did_you_mean(factor, factors) or f"its factors: {', '.join(factors) or 'none'}"
                here = (*place, "evidence", number)
                yield Remark("error", "expected-tool", here, f"the case has no factor {shown(factor)}", hint)
    if any(tool.after for tool in tools):
        yield from _circles({tool.key: tool.after for tool in tools}, [tool.key for tool in tools])


def _claims(case: Case) -> Iterator[Remark]:
    """Give where the claims of a right answer are none that the case asks for."""
    claims, asks = case.truth.claims, case.visible.asks
    if claims and not asks:
        message = "claims are given, but the case asks for none"
        yield Remark("error", "claims", ("truth", "claims"), message, "add visible.asks, a JSON Schema of them")
        return
    asked = asks.get("properties", {})
    for name, value in claims.items():
        if name not in asked and name not in RESERVED:
            hint = did_you_mean(name, asked) or f"visible.asks has {', '.join(asked) or 'no properties'}"
            yield Remark("error", "claims", ("truth", "claims", name), "the case does not ask for this claim", hint)
        for wrong in mismatches(asked.get(name, {}), value):
            yield Remark("error", "claims", ("truth", "claims", name), wrong, "visible.asks says what is asked for")


def _currencies(case: Case, currency: str) -> Iterator[Remark]:
    for place, noun in nouns_in(case.truth, ("truth",)):
        for name in ("unit", "equals_unit"):
            if isinstance(noun, Number) and getattr(noun, name) == "yuan":
                message = f"found yuan, but the suite's currency is {currency}"
                yield Remark(
                    "error", "currency", (*place, name), message, "write unit: money, or change currency in suite.yaml"
                )


def _circles(after: Mapping[str, Sequence[str]], keys: Sequence[str]) -> Iterator[Remark]:
    try:
        TopologicalSorter({key: [one for one in before if one in after] for key, before in after.items()}).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        place: Place = ("truth", "tools", keys.index(circle[0]), "after")
        yield Remark("error", "expected-tool", place, f"goes in a circle: {' after '.join(circle)}")


def nouns_in(value: Any, place: Place) -> Iterator[tuple[Place, Noun]]:
    """Give every noun inside a value with its place in the file, in the file's order."""
    stack = [(place, value)]
    while stack:
        here, found = stack.pop()
        if isinstance(found, Noun):
            yield here, found
            inside: list[tuple[str | int, Any]] = [
                (name, found.__dict__[field]) for field, name in _fields(type(found))
            ]
        elif isinstance(found, tuple):
            inside = list(enumerate(found))
        else:
            inside = list(found.items())
        # What holds no noun is not even put on the stack: this runs for every case of a run.
        stack += [((*here, at), one) for at, one in reversed(inside) if one and isinstance(one, (Noun, tuple, dict))]


@cache
def _fields(noun: type[Noun]) -> tuple[tuple[str, str], ...]:
    """Return the fields of a noun that may hold nouns, with their names in a file."""
    fields = noun.model_fields.items()
    return tuple((name, field.alias or name) for name, field in fields if _holdsnouns_in(field.annotation))


def _holdsnouns_in(annotation: Any) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, Noun):
        return True
    return any(_holdsnouns_in(argument) for argument in get_args(annotation))


def _parameters(noun: Noun, place: Place, tool: Tool) -> Iterator[Remark]:
    known = tool.parameters.get("properties", {})
    for where, name in _named_parameters(noun):
        if name not in known:
            message = f"the tool {tool.name} has no parameter {shown(name)}"
            hint = did_you_mean(name, known) or "no call can ever fulfil this"
            yield Remark("warning", "unknown-parameter", (*place, *where), message, hint)


def _named_parameters(noun: Noun) -> Iterator[tuple[Place, str]]:
    if isinstance(noun, ExpectedTool):
        yield from ((("required", index), name) for index, name in enumerate(noun.required))
        yield from ((("prose", index, 0), name) for index, (name, _) in enumerate(noun.prose))
        yield from _matched("match", noun.match)
    elif isinstance(noun, (Called, NotCalled)):
        yield from _matched("with", noun.arguments)
    elif isinstance(noun, PlannedCall):
        yield from ((("arguments", name), name) for name in noun.arguments)


def _matched(field: str, matches: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    for name, match in matches.items():
        yield (field, name), name
        if isinstance(match, WithinM) and match.lat_from is not None:
            yield (field, name, "lat_from"), match.lat_from
