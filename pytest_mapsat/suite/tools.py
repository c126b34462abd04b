"""The tools and the manifest of a suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_mapsat.formats import Located, limits, parse_yaml, read_bytes, shown_path, validate
from pytest_mapsat.model import SUITE_SCHEMA, Problem, SuiteError, SuiteManifest, Tool, shown
from pytest_mapsat.text import vocabulary_problem

from .entries import documents_of_yaml


def read_manifest(path: Path) -> tuple[SuiteManifest, Located]:
    """Return what ``suite.yaml`` says, and its data with lines. Raises SuiteError."""
    name = shown_path(path)
    documents = parse_yaml(read_bytes(path, limits.YAML_BYTES), name)
    if len(documents) != 1 or not isinstance(documents[0].data, dict):
        message = "the manifest is one mapping of name, version, license, schema_version, coordinates, ..."
        raise SuiteError(Problem(name, 0, message))
    _check_schema(documents[0], name)
    problems: list[Problem] = []
    manifest = validate(SuiteManifest, documents[0], name, problems)
    if manifest is not None:
        problems += _vocabulary(manifest, documents[0], name)
    if manifest is None or problems:
        raise SuiteError(*problems[: limits.PROBLEMS])
    return manifest, documents[0]


def _vocabulary(manifest: SuiteManifest, document: Located, path: str) -> Iterator[Problem]:
    """Give the groups of domain words that no language pack has."""
    for group in manifest.vocabulary:
        if (wrong := vocabulary_problem(group)) is not None:
            message, hint = wrong
            yield Problem(path, document.lines.at(("vocabulary", group)), f"vocabulary: {message}", hint)


def _check_schema(document: Located, path: str) -> None:
    found = document.data.get("schema_version")
    if not isinstance(found, int) or found == SUITE_SCHEMA:
        return  # validation says what is wrong with anything else
    line = document.lines.at(["schema_version"])
    if found > SUITE_SCHEMA:
        message = f"schema_version: {found} was made by a newer version; this one reads {SUITE_SCHEMA}"
        raise SuiteError(Problem(path, line, message, "upgrade pytest-mapsat"))
    message = f"schema_version: {found} is older than {SUITE_SCHEMA}, which this version reads"
    raise SuiteError(Problem(path, line, message, "migrate the suite first: docs/reference/suites.md says how"))


def read_tools(paths: Sequence[Path]) -> dict[str, tuple[Tool, Path, int]]:
    """Return the tools of these files by name, sorted, each with its file and line.

    Raises:
        SuiteError: with the problems of all files; two tools of one name are one.
    """
    tools: dict[str, tuple[Tool, Path, int]] = {}
    problems: list[Problem] = []
    for path in paths:
        for tool, line in _tools_of(path, problems):
            if tool.name in tools:
                problems.append(_twice(tool, tools[tool.name], path, line))
            else:
                tools[tool.name] = (tool, path, line)
    problems += _aliases(tools)
    if problems:
        raise SuiteError(*problems)
    return dict(sorted(tools.items()))


def _aliases(tools: dict[str, tuple[Tool, Path, int]]) -> Iterator[Problem]:
    """Give the aliases that could mean two tools."""
    owners = {name: name for name in tools}
    for own, (tool, path, line) in sorted(tools.items()):
        for alias in tool.aliases:
            if owners.setdefault(alias, own) != own or alias == own:
                message = f"the alias {shown(alias)} of {own} is also a name of {owners[alias]}"
                yield Problem(shown_path(path), line, message, "leave it out here, or there")


def _tools_of(path: Path, problems: list[Problem]) -> list[tuple[Tool, int]]:
    name = shown_path(path)
    try:
        documents = documents_of_yaml(path)
    except SuiteError as error:
        problems.extend(error.problems)
        return []
    read = [(validate(Tool, document, name, problems), document.lines.line) for document in documents]
    return [(tool, line) for tool, line in read if tool is not None]


def _twice(tool: Tool, first: tuple[Tool, Path, int], path: Path, line: int) -> Problem:
    message = f"the tool {shown(tool.name)} is described twice; first in {shown_path(first[1])}:{first[2]}"
    return Problem(shown_path(path), line, message, "keep one of the two")
