"""Recording from a test or a script: the user's own tools, wrapped so that their answers are kept when the block ends."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_mapsat.agents import as_json
from pytest_mapsat.model import Json, JsonObject, UsageError, did_you_mean
from pytest_mapsat.sandbox import RecordedSandbox, Toolbox
from pytest_mapsat.suite import Suite, find_suite, open_suite, write_tool

from .keep import keep_recordings
from .own_sandbox import RecordingSandbox
from .own_tools import OwnTools


class RecordingWarning(UserWarning):
    """An answer of an own tool was not kept; the message says why."""


def describe_tools(own: OwnTools, suite: Suite) -> tuple[Suite, list[Path]]:
    """Write a spec for each own tool that the suite has none of.

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
    tools = [own.tool(name) for name in own.names if name not in suite.tools]
    written = [suite.root / "tools" / f"{tool.name}.yaml" for tool in tools]
    taken = next((path for path in written if path.exists()), None)
    if taken is not None:
        raise UsageError(f"{taken} is there and describes no tool {taken.stem!r}; rename the file")
    for path, tool in zip(written, tools, strict=True):
        write_tool(path, tool)
    return (open_suite(suite.root) if written else suite), written


@contextmanager
def recording(tools: Any, suite: str | Path, case: str, *, replace: bool = False) -> Iterator[Toolbox]:
    """Wrap own tools; what they answer inside the block is kept when it ends, also when it ends with an exception.

    Args:
        tools: a list or dict of functions, a module, an object with methods, or a toolbox with ``call`` and ``schemas``.
        suite: the suite's folder, or a place in it.
        case: the id of the case that the recordings are of.
        replace: put a new answer in the place of an older one.

    Yields:
        Tools as an agent holds them.

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
    known = [entry.id for file in opened.files() for entry in opened.entries(file)]
    if case not in known:
        hint = did_you_mean(case, known)
        raise UsageError(f"{suite}: the suite has no case {case!r}" + (f" ({hint})" if hint else ""))
    sandbox = RecordingSandbox(RecordedSandbox(opened.tools, ()), own, case)

    def call(name: str, arguments: JsonObject) -> Json:
        return as_json(sandbox.call(str(name), as_json(arguments)).result)

    try:
        yield Toolbox(sandbox.tools, call)
    finally:
        own.close()
        kept = keep_recordings(root, sandbox.cleaned(), replace=replace)
        for problem in (*sandbox.problems, *kept.problems):
            warnings.warn(problem, RecordingWarning, stacklevel=1)
