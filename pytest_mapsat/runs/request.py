"""What a run was asked for, read from the options of pytest or of the command."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import get_args

from pytest_mapsat.gate import Ceiling, Drop, Threshold, parse_drops, parse_thresholds
from pytest_mapsat.model import Asserted, Metric, RunOptions, did_you_mean

#: Files of an agent's package that are read at most.
_MOST_FILES = 2_000
_FAMILY = re.compile(r"[A-Za-z0-9_.-]{1,80}")
_MOST_FAMILIES = 20
_KINDS: tuple[Asserted, ...] = tuple(kind for kind in get_args(Asserted) if kind != "none")


def parse_asserted(text: str) -> tuple[Asserted, ...]:
    """Return the kinds of factors that a list like ``hard,facts``, ``all`` or ``none`` names, sorted.

    Raises:
        ValueError: it names something else; with what was expected.
    """
    words = {word.strip() for word in text.split(",") if word.strip()}
    if words == {"all"}:
        return asserted_kinds(
            kind for kind in _KINDS if kind != "success"
        )  # all labels; not every suite names its success
    if words == {"none"}:
        return ("none",)
    unknown = sorted(words - set(_KINDS))
    if unknown or not words:
        found = unknown[0] if unknown else text
        hint = did_you_mean(found, (*_KINDS, "all", "none"))
        raise ValueError(
            f"found {found!r}, expected {', '.join(_KINDS)} (comma between), all, or none"
            + (f"; {hint}" if hint else "")
        )
    return asserted_kinds(words)


def parse_families(text: str) -> tuple[str, ...]:
    """Return the families of metrics that a list like ``pipa,mobility`` names, in its order.

    Raises:
        ValueError: a name is missing between commas, or stands there twice; with what was expected.
    """
    names = [name.strip() for name in text.split(",")] if text.strip() else []
    if "" in names:
        raise ValueError(f"found nothing between the commas of {text!r}, expected names of families")
    if (odd := next((name for name in names if not _FAMILY.fullmatch(name)), None)) is not None:
        raise ValueError(f"{odd!r} is no name of a family: expected letters, digits, '_', '.', '-'")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{twice!r} stands there twice")
    if len(names) > _MOST_FAMILIES:
        raise ValueError(f"found {len(names)} families, expected at most {_MOST_FAMILIES}")
    return tuple(names)


def asserted_kinds(names: Iterable[str]) -> tuple[Asserted, ...]:
    """Return the kinds among some names as a run file lists them: sorted, ``none`` where there are none."""
    return tuple(sorted(set(_KINDS).intersection(names))) or ("none",)


def thresholds_of(options: RunOptions, metrics: Sequence[Metric]) -> tuple[Threshold | Ceiling, ...]:
    """Return the thresholds and ceilings that a run with these metrics is held against.

    Raises:
        UsageError: one cannot be read.
    """
    return parse_thresholds([(text, options.fail_under_from) for text in options.fail_under], metrics)


def drops_of(options: RunOptions, metrics: Sequence[Metric]) -> tuple[Drop, ...]:
    """Return how much the means of a run with these metrics may fall.

    Raises:
        UsageError: one cannot be read.
    """
    return parse_drops([(text, options.compare_fail_from) for text in options.compare_fail], metrics)


def source_digest(spec: str, agent: object, others: Iterable[Path] = ()) -> str:
    """Return a digest of an agent's source code: of the files of its top package, or of its module, or of its recording.

    Args:
        spec: the agent's spec; its module counts, as the user named it.
        agent: the object itself, whose module counts where the spec names none; None where it is not in this process.
        others: further files that make the agent, such as the ``conftest.py`` of a fixture.

    Returns:
        16 hex digits; empty where no file can be read.
    """
    kind, _, rest = spec.partition(":")
    if kind == "baseline":
        return ""
    module = sys.modules.get(kind) or sys.modules.get(getattr(agent, "__module__", None) or type(agent).__module__)
    own = [Path(rest)] if kind == "recorded" else _files_unloaded(kind) if agent is None and rest else _files_of(module)
    files = sorted({*others, *own})
    sha = hashlib.sha256()
    read = 0
    for path in files[:_MOST_FILES]:
        with suppress(OSError):
            sha.update(f"{path.name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode("utf-8", "replace"))
            read += 1
    return sha.hexdigest()[:16] if read else ""


def project_files(root: Path) -> list[Path]:
    """Return the files of the modules of a project that are loaded in this process, but for tests, installed packages and this one.

    Args:
        root: the project's folder.
    """
    ours = Path(__file__).resolve().parents[1]
    found = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or name.rpartition(".")[2].startswith("test_"):
            continue
        path = Path(file)
        inside = path.is_relative_to(root) and not path.is_relative_to(ours)
        if inside and "site-packages" not in path.parts and path.suffix == ".py":
            found.append(path)
    return found


def _files_unloaded(name: str) -> list[Path]:
    """Return the files of a module that is not loaded in this process, and is not loaded here: what its process loads is the agent's."""
    found = None
    with suppress(ImportError, ValueError, AttributeError):
        found = importlib.util.find_spec(name.partition(".")[0])
    folders = found.submodule_search_locations if found else None
    if found is None or not (folders or found.has_location):
        return []
    return _python_files(folders or ()) or [Path(found.origin or "")]


def _python_files(folders: Iterable[str]) -> list[Path]:
    return [path for folder in folders for path in Path(folder).rglob("*.py")]


def _files_of(module: ModuleType | None) -> list[Path]:
    file = getattr(module, "__file__", None)
    if module is None or not file:
        return []
    top = sys.modules.get(module.__name__.partition(".")[0])
    return _python_files(getattr(top, "__path__", ())) or [Path(file)]
