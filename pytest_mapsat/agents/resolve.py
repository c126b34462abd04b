"""Resolves the text of ``--mapsat-agent``, or an object, to a source of trajectories, with errors that say what to do."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pytest_mapsat.model import UsageError, hint_at, listed
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, frames_of

from .callables import callable_source, framework_source
from .frameworks import ADAPTERS, adapter_named
from .source import MODEL_KINDS, SERVICE_SCHEMES, AgentSource, Source, SourceSpec

if TYPE_CHECKING:
    from pytest_mapsat.llm import ModelClient


#: How many letters the kind of an agent may be off, and how many modules of a folder are listed.
_LETTERS, _MODULES = 2, 5


class _UnknownError(UsageError):
    """A spec names no module and resembles none; the kind of agent may be misspelt."""


def _refused(message: str, hint: str) -> UsageError:
    """Return a UsageError with a hint, or an _UnknownError without one, so that the caller can suggest kinds of agents."""
    return UsageError(message + hint) if hint else _UnknownError(message)


#: The module whose ``open_source`` makes the sources of a scheme, loaded where there is such a source. A new kind of agent is a module and a line here.
_SCHEMES: Mapping[str, str] = {
    "baseline": "baselines",
    "cmd": "process",
    "recorded": "recorded",
    **dict.fromkeys(MODEL_KINDS, "models"),
    **dict.fromkeys(SERVICE_SCHEMES, "http"),
}


def resolve_source(spec: str, *, root: Path, client: ModelClient | None = None, http_form: str = "") -> Source:
    """Return the source that a spec names.

    Args:
        spec: ``module:attr``, ``FRAMEWORK:module:attr`` (behind both ``?run=TOOL,TOOL`` names tools that run another agent), ``recorded:PATH``, ``baseline:silent`` and the other baselines, ``react:MODEL``,
            ``plan:MODEL``, ``cmd:COMMAND``, ``http://HOST/PATH``, ``FORM:http://HOST/PATH`` or ``http:FILE.yaml``.
        root: the directory pytest was started in; modules and relative paths are looked for there first.
        client: the way to models.
        http_form: how a service is spoken to that the spec only gives an address of: a form, or a service file.

    Raises:
        UsageError: it names nothing.
        SuiteError: the recorded file is broken; its problems say where.
    """
    spec = spec.strip()
    scheme, _, rest = spec.partition(":")
    if scheme in _SCHEMES:
        module: Any = importlib.import_module(f".{_SCHEMES[scheme]}", __package__)
        return cast("Source", module.open_source(SourceSpec(spec, scheme, rest, root, client, http_form)))
    place, run = _tools_to_run(spec)
    adapter = adapter_named(scheme) if ":" in rest else None
    if adapter is not None:
        adapter.check()
        return replace(framework_source(load(place.partition(":")[2], root=root), spec, adapter), run=run)
    try:
        return replace(callable_source(load(place, root=root), spec), run=run)
    except _UnknownError as error:
        from rapidfuzz.distance import Levenshtein  # noqa: PLC0415 - heavy; only loaded where a name is unknown

        kinds = [*_SCHEMES, *ADAPTERS]
        if ":" in spec and ":" not in rest:  # most likely a module of the user's
            kinds = [kind for kind in kinds if Levenshtein.distance(scheme, kind) <= _LETTERS]
        modules = [name for name in _modules_in(root, "*.py") if name.isidentifier()]
        has = f"; the folder has {listed(modules, _MODULES)}" if modules and ":" in spec else ""
        raise UsageError(f"{error}{hint_at(scheme, kinds) or has}") from None


def _tools_to_run(spec: str) -> tuple[str, frozenset[str]]:
    """Return a spec without ``?run=TOOL,TOOL``, and the names of these tools. Raises UsageError for any other option."""
    place, mark, option = spec.partition("?")
    key, _, names = option.partition("=")
    tools = frozenset(filter(None, map(str.strip, names.split(","))))
    if mark and (key != "run" or not tools):
        raise UsageError(f"agent {spec!r}: found ?{option}, expected ?run=TOOL,TOOL: tools that run another agent")
    return place, tools


def names_own_code(spec: str) -> bool:
    """Return whether a spec has the form ``module:attr`` and names no built-in or recorded agent."""
    return spec.partition(":")[0] not in _SCHEMES


def source_of(agent: object, spec: str) -> Source:
    """Return the source for an agent object: a callable, a factory, an object with ``reply``, or a source.

    Raises:
        UsageError: it is none of these.
    """
    recorded = sys.modules.get(f"{__package__}.recorded")  # where it is not loaded, nothing is of it
    if isinstance(agent, AgentSource) or (recorded is not None and isinstance(agent, recorded.RecordedSource)):
        return cast("Source", agent)
    return callable_source(agent, spec)


def load(spec: str, *, root: Path, what: Literal["agent", "memory", "tools", "ranker"] = "agent") -> object:
    """Return the object that ``module:attr`` names; ``attr`` may be a dotted path.

    Args:
        spec: a dotted module name, a colon, a dotted attribute.
        root: searched before ``sys.path``, and put there, so that the module's own later imports work as well.
        what: what the spec was given for, as messages name it.

    Raises:
        UsageError: the spec, the module or the attribute is wrong, or importing the module fails.
    """
    module_name, colon, attribute = spec.partition(":")
    if not colon or not attribute or not all(part.isidentifier() for part in module_name.split(".")):
        example = f"expected module:attribute, as in my_{what}:{what}"
        raise _refused(f"{what} {spec!r}: {example}", _suggestion(module_name, attribute or what))
    search_first(root)
    what_named = f"{what} {spec!r}"
    target: object = _import(module_name, what_named, root)
    for done, name in enumerate(attribute.split(".")):
        target = _member(
            target, name, ":".join([module_name, ".".join(attribute.split(".")[:done])]).rstrip(":"), what_named
        )
    return target


def _suggestion(module_name: str, attribute: str) -> str:
    """Return a hint with the likely module and attribute for a path or a bare module; empty if no guess is likely."""
    name = module_name.removesuffix(".py").strip("./\\").replace("/", ".").replace("\\", ".")
    if not all(part.isidentifier() for part in name.split(".")):
        return ""
    return f" (did you mean '{name}:{attribute}'?)"


def search_first(root: Path) -> None:
    """Put a folder at the front of ``sys.path`` and clear the import caches."""
    place = str(root)
    if sys.path[:1] != [place]:
        sys.path.insert(0, place)
    importlib.invalidate_caches()


def _import(name: str, spec: str, root: Path) -> object:
    """Import a module and return it. Raises UsageError if it is missing or its import fails."""
    try:
        return call_user_code(importlib.import_module, name)
    except UserCodeError as broken:
        error = broken.error
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is not None and (name == missing or name.startswith(missing + ".")):
        raise _refused(
            f"{spec}: there is no module {missing!r} in {root} or on sys.path", hint_at(name, _modules_in(root))
        )
    words = f"SyntaxError: {error.msg}" if type(error) is SyntaxError else describe_error(error)
    raise UsageError(f"{spec}: importing {name!r} failed: {_place(error, root)}{words}")


def _modules_in(root: Path, pattern: str = "*") -> list[str]:
    """Return the sorted names of the folders and Python modules in a folder that match a pattern, for hints."""
    return sorted(path.stem for path in root.glob(pattern) if path.suffix == ".py" or path.is_dir())


def _place(error: BaseException, root: Path) -> str:
    """Return ``file:line: `` for the last line of the user's own code in an error; empty if there is no such line."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_relative(error.filename, root)}:{error.lineno}: "
    places = [(frame.f_code.co_filename, line) for frame, line in frames_of(error)]
    inside = [place for place in places if Path(place[0]).is_relative_to(root)] or places
    return f"{_relative(inside[-1][0], root)}:{inside[-1][1]}: " if inside else ""


def _relative(filename: str, root: Path) -> str:
    """Return a file name relative to the root; unchanged if it is outside."""
    path = Path(filename)
    return str(path.relative_to(root)) if path.is_relative_to(root) else filename


def _member(owner: object, name: str, where: str, spec: str) -> object:
    """Return an attribute of an object. Raises UsageError if it is missing or cannot be read."""
    try:
        return call_user_code(getattr, owner, name)
    except UserCodeError as broken:
        error = broken.error
    if not isinstance(error, AttributeError):
        raise UsageError(f"{spec}: {name!r} of {where!r} is not available: {describe_error(error)}")
    names = sorted(key for key in getattr(owner, "__dict__", {}) if not key.startswith("_"))
    hint = hint_at(name, names) or (f"; it has {listed(names, 5)}" if names else "")
    raise UsageError(f"{spec}: {where!r} has no attribute {name!r}{hint}")
