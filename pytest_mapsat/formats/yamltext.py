"""YAML as JSON with comments: no tags, no anchors, no surprises.

Plain scalars mean what they mean in YAML 1.2's JSON schema: ``null``, ``true``, ``false`` and JSON numbers;
everything else is text, so that ``12:30``, ``on``, ``no`` and ``2026-05-07`` stay what they look like. An empty value
is null. The data is built from parser events, without recursion, so that no nesting can exhaust the stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_mapsat.model import Json, Problem, SuiteError, shown

from . import limits
from .jsontext import decode
from .located import Lines, Located

if TYPE_CHECKING:
    import yaml

_WORDS: dict[str, Json] = {"": None, "null": None, "true": True, "false": False}
_NO_CHILDREN: dict[str | int, Lines] = {}  # shared by all scalars, and never written to
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def parse_yaml(raw: bytes, path: str) -> tuple[Located, ...]:
    """Return the documents of a YAML file.

    Args:
        raw: the file's bytes: UTF-8, a byte order mark and any line ends.
        path: the file, for errors.

    Raises:
        SuiteError: with everything that is wrong with the text.
    """
    import yaml  # noqa: PLC0415  heavy

    builder = _Builder(path)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(decode(raw, path), Loader=loader):
            builder.feed(event)
    except yaml.YAMLError as error:
        builder.problems.append(_syntax_problem(error, path))
    if builder.problems:
        raise SuiteError(*builder.problems)
    return tuple(builder.documents)


def scalar(text: str) -> Json:
    """Return what a plain (unquoted) scalar means.

    Raises:
        ValueError: for a number too large to hold.
    """
    if text in _WORDS:
        return _WORDS[text]
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    if len(text) > limits.NUMBER_CHARS:
        raise ValueError(f"a number of {len(text)} characters")
    if found[1] is None and found[2] is None:
        return int(text)
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text} is too large")
    return number


_TOO_DEEP = f"lists and mappings stand more than {limits.DEPTH} deep"


def _syntax_problem(error: yaml.YAMLError, path: str) -> Problem:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    context = getattr(error, "context", None)
    if "nesting depth" in what:  # libyaml has a limit of its own, and may come to it first
        return Problem(path, mark.line + 1 if mark is not None else 0, _TOO_DEEP)
    message = f"is not valid YAML: {what}" + (f" {context}" if context else "")
    hint = "indent with spaces, not tabs; quote text that holds ': ', ' #', or begins with one of *&!%@`|>{["
    return Problem(path, mark.line + 1 if mark is not None else 0, message, hint)


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is not closed yet; ``key`` is set while a value is awaited."""

    data: list[Json] | dict[str, Json]
    lines: Lines
    key: str | None = None
    key_line: int = 0


class _Builder:
    """Builds documents from events; collects problems instead of stopping at the first."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self.documents: list[Located] = []
        self._stack: list[_Frame] = []
        self._left = limits.YAML_PARTS

    def feed(self, event: Any) -> None:
        self._left -= 1
        if self._left < 0:
            message = f"holds more than {limits.YAML_PARTS} keys, values, lists and mappings"
            hint = "split it into several files, or write one case a line as JSONL"
            raise SuiteError(Problem(self.path, event.start_mark.line + 1, message, hint))
        handler = getattr(self, f"_{type(event).__name__}", None)
        if handler is None:
            return  # the starts and ends of stream and document
        line = event.start_mark.line + 1
        if getattr(event, "tag", None) is not None:
            self._report(line, f"has the tag {shown(event.tag)}", "a suite is plain data: leave the tag out")
        if getattr(event, "anchor", None) is not None:
            self._report(
                line,
                f"has an anchor or alias, {shown(event.anchor)}",
                "repeat the value; quote text that begins with & or *",
            )
        handler(event, line)

    def _report(self, line: int, message: str, hint: str = "") -> None:
        if len(self.problems) < limits.PROBLEMS:
            self.problems.append(Problem(self.path, line, message, hint))

    def _ScalarEvent(self, event: Any, line: int) -> None:  # noqa: N802  named as the event
        if self._takes_key():
            self._begin_pair(event.value, line)
        else:
            self._add(self._meaning(event, line), line, _NO_CHILDREN)

    def _meaning(self, event: Any, line: int) -> Json:
        if not event.implicit[0]:
            return event.value
        try:
            return scalar(event.value)
        except ValueError as error:
            self._report(line, str(error), "put it in quotes if it is text")
            return None

    def _AliasEvent(self, event: Any, line: int) -> None:  # noqa: ARG002, N802  one signature; named as the event
        if self._takes_key():
            self._begin_pair("", line)
        else:
            self._add(None, line, _NO_CHILDREN)

    def _MappingStartEvent(self, event: Any, line: int) -> None:  # noqa: ARG002, N802  one signature; named as the event
        self._open({}, line)

    def _SequenceStartEvent(self, event: Any, line: int) -> None:  # noqa: ARG002, N802  one signature; named as the event
        self._open([], line)

    def _open(self, data: list[Json] | dict[str, Json], line: int) -> None:
        if self._takes_key():
            raise SuiteError(Problem(self.path, line, "a key is a list or a mapping", "keys are text"))
        if len(self._stack) >= limits.DEPTH:
            raise SuiteError(Problem(self.path, line, _TOO_DEEP))
        self._stack.append(_Frame(data, self._add(data, line, {})))

    def _MappingEndEvent(self, event: Any, line: int) -> None:  # noqa: ARG002, N802  one signature; named as the event
        self._stack.pop()

    _SequenceEndEvent = _MappingEndEvent

    def _takes_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].data, dict) and self._stack[-1].key is None

    def _begin_pair(self, key: str, line: int) -> None:
        frame = self._stack[-1]
        if key in frame.data:
            first = frame.lines.at([key])
            self._report(line, f"the key {shown(key)} stands twice; first on line {first}", "keep one of the two")
        frame.key, frame.key_line = key, line

    def _add(self, value: Json, line: int, children: dict[str | int, Lines]) -> Lines:
        """Put a value where it belongs; a value in a mapping has the line of its key."""
        if not self._stack:
            lines = Lines(line, children)
            self.documents.append(Located(value, lines))
            return lines
        frame = self._stack[-1]
        key: str | int
        if isinstance(frame.data, dict):
            key, line = frame.key or "", frame.key_line
            frame.data[key] = value
            frame.key = None
        else:
            key = len(frame.data)
            frame.data.append(value)
        lines = frame.lines.children[key] = Lines(line, children)
        return lines
