"""The texts of files as plain data, read strictly: JSON, YAML, Python literals, CSV. Nothing is evaluated, everything has a limit.

Each part remembers its line, and pydantic's complaints become problems with a line, a path, and did you mean.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, NoReturn, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from pytest_mapsat.model import (
    CALIBRATION_SCHEMA,
    CASE_ID_PATTERN,
    DATE_PATTERN,
    Calibration,
    Json,
    JsonObject,
    Noun,
    Problem,
    SuiteError,
    UsageError,
    did_you_mean,
    digest,
    shown,
    types_of,
)

from .files import NOT_REGULAR, limits, printable, raise_for_problems, read_bytes, read_lines, require_file, shown_path

if TYPE_CHECKING:
    import yaml


ModelT = TypeVar("ModelT", bound=BaseModel)

#: Keys and indices from the top of a document to one of its parts.
DataPath = Sequence[str | int]


@dataclass(slots=True)
class DocumentLines:
    """The line number of a part of a document, and the lines of its children; data from one line (JSONL) have no children.

    ``path``: the file of the part, where it was taken from another one than what is around it; ``used_at``: the line that takes it from there.
    """

    line: int
    children: dict[str | int, DocumentLines] = field(default_factory=dict)
    path: str = ""
    used_at: int = 0

    def at(self, path: DataPath) -> int:
        """Return the line of the part at ``path``, or of the nearest part above it with a known line."""
        return self.problem("", path, "").line

    def problem(self, path: str, place: DataPath, message: str, hint: str = "") -> Problem:
        """Return a problem at the part ``place`` of a document in the file ``path``.

        It stands in the part's own file: where that is another one, the message tells which line of the document takes it from there.
        """
        here, file, used_at = self, path, 0
        for key in place:
            below = here.children.get(key)
            if below is None:
                break
            if below.path:
                file, used_at = below.path, below.used_at
            here = below
        if file != path:
            message += f"; {path}:{used_at} uses it"
        return Problem(file, here.line, message, hint)


@dataclass(frozen=True, slots=True)
class LocatedDocument:
    """A document, or an element of one, with its line numbers."""

    data: Json
    lines: DocumentLines


#: The fields whose value names the sort of a noun in a union.
_TAGS = ("kind", "op")
#: What each of pydantic's errors of a type wanted.
_WANTED = {
    "string_type": "text",
    "finite_number": "a finite number",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "a mapping"),
}
_PATTERNS = {
    DATE_PATTERN: "a day such as 2026-05-23, or a moment of it such as 2026-05-23T22:23:47+08:00",
    CASE_ID_PATTERN: "1 to 80 of A-Z a-z 0-9 _ . -",
    r"^([01]\d|2[0-3]):[0-5]\d$": "a time of day such as 18:30",
    r"\w": "text with a letter or a digit",
}
_UNKNOWN = "is not a known field"
_KNOWN = "known fields: "
_MOMENT = "a moment such as 2026-05-23T22:23:47+08:00"


def validate(
    model: type[ModelT],
    document: LocatedDocument,
    path: str,
    problems: list[Problem],
    *,
    written: type[BaseModel] | None = None,
) -> ModelT | None:
    """Return the document as an object of the model class, or None after adding every error to ``problems``.

    Args:
        model: what the document should be.
        document: plain data with its lines.
        path: its file, for errors.
        problems: is added to.
        written: the noun whose fields may stand in the file, where that is another than the one they are read into.
    """
    written = written or model
    if not isinstance(document.data, dict):
        message = f"found {_in_words(document.data)}, expected a mapping of {', '.join(written.model_fields)}"
        problems.append(Problem(path, document.lines.line, message))
        return None
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        details = [
            detail
            for detail in error.errors(include_url=False)
            # A list is too short once its bad items are gone: that only follows from other problems.
            if detail["type"] != "too_short" or len(detail["input"]) < detail["ctx"]["min_length"]
        ]
        wrong = [_wrong(written, detail, document.data) for detail in _details_meant(details, document.data)]
        for slip in _of_each_slip(wrong):
            message = f"{dotted(slip.place)}: {slip.message}" if slip.place else slip.message
            problems.append(document.lines.problem(path, slip.place, message, slip.hint))
        return None


def _details_meant(details: Sequence[Any], data: Json) -> list[Any]:
    """Return pydantic's error details, up to a limit, without type errors of union members that the value does not resemble."""
    placed = [(_data_path(detail["loc"], data, missing=detail["type"] == "missing"), detail) for detail in details]
    of_meant = [place for place, detail in placed if not detail["type"].endswith("_type")]
    above = {place[:end] for place in of_meant for end in range(len(place) + 1)}
    kept = [detail for place, detail in placed if not (detail["type"].endswith("_type") and place in above)]
    return kept[: limits.PROBLEMS]


def dotted(path: DataPath) -> str:
    """Return a path in the notation of messages: ``truth.implicit[2].check``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


class _Wrong(NamedTuple):
    """An error reported by pydantic: its place, its type, a message and a hint."""

    place: tuple[str | int, ...]
    kind: str
    message: str
    hint: str


def _wrong(model: type[BaseModel], detail: Any, data: Json) -> _Wrong:
    """Return one detail of a ValidationError with its place in the data, a message and a hint."""
    place = _data_path(detail["loc"], data, missing=detail["type"] == "missing")
    if detail["type"].startswith("union_tag") and (tag := _tag_of(detail)) is not None:
        near = get_close_matches(tag, map(str, detail["input"]), n=1) if isinstance(detail["input"], dict) else []
        place = (*place, *(near or [tag]))
    return _Wrong(place, detail["type"], *_explain(model, detail, place))


def _of_each_slip(wrong: Sequence[_Wrong]) -> list[_Wrong]:
    """Merge errors that have the same cause: a misspelt field is both unknown and missing."""
    left = list(wrong)
    for parent in dict.fromkeys(problem.place[:-1] for problem in wrong if problem.message == _UNKNOWN):
        here = [problem for problem in left if problem.place[:-1] == parent]
        unknown = [problem for problem in here if problem.message == _UNKNOWN]
        strange = [problem for problem in unknown if problem.hint.startswith(_KNOWN)]
        hints = [problem.hint for problem in unknown]
        missing = [problem for problem in here if problem.kind == "missing"]
        meant = [problem for problem in missing if f"did you mean {problem.place[-1]!r}?" in hints]
        left = [problem for problem in left if problem not in meant]
        lacking = [problem for problem in missing if problem not in meant]
        if len(strange) == len(lacking) == 1:
            merged = strange[0]._replace(message=f"{_UNKNOWN}, and {lacking[0].place[-1]} is missing")
            left = [merged if problem is strange[0] else problem for problem in left if problem is not lacking[0]]
        elif strange and strange[0].hint == _KNOWN:  # nothing is known of a part whose sort is wrong
            others = [problem for problem in left if problem not in strange]
            left = others if any(problem.place[: len(parent)] == parent for problem in others) else left
    return left


def _tag_of(detail: Any) -> str | None:
    """Return the tag field of a union in a pydantic detail (``kind`` or ``op``); None if the tag is another field."""
    name = str(detail.get("ctx", {}).get("discriminator", "")).strip("'")
    return name if name in _TAGS else None


def _data_path(location: Iterable[str | int], data: Json, *, missing: bool) -> tuple[str | int, ...]:
    """Return pydantic's location as a path in the data, without union tags and other parts that are not in the data."""
    path: list[str | int] = []
    parts = list(location)
    tag = None
    for index, part in enumerate(parts):
        lacks = missing and index == len(parts) - 1
        there = isinstance(part, int) if isinstance(data, list) else isinstance(data, dict) and (part in data or lacks)
        if there and part != tag:
            path.append(part)
            data = (data if isinstance(data, dict) else dict(enumerate(data))).get(part)
            tag = next((data[name] for name in _TAGS if name in data), None) if isinstance(data, dict) else None
        elif part == tag:
            tag = None
    return tuple(path)


def _explain(model: type[BaseModel], detail: Any, place: Sequence[str | int]) -> tuple[str, str]:
    """Return the message and the hint for a pydantic detail."""
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    match kind:
        case "missing":
            answer = "is missing", ""
        case "extra_forbidden":
            answer = _unknown_field(model, place, detail["loc"])
        case "union_tag_not_found" if place[-1] not in _TAGS:
            answer = _UNKNOWN, f"did you mean {_tag_of(detail)!r}?"
        case "union_tag_not_found":
            answer = "is missing", "it says which sort this is"
        case "union_tag_invalid" | "literal_error":
            answer = _not_one_of(value, context, place)
        case "value_error":
            answer = str(context.get("error", detail["msg"])), ""
        case "string_pattern_mismatch":
            answer = f"found {shown(value)}, expected {_PATTERNS.get(context['pattern'], _MOMENT)}", ""
        case "too_short":
            answer = f"found a list of {len(value)}, expected at least {context['min_length']}", ""
        case _:
            answer = _wrong_value(value, _WANTED.get(kind), detail["msg"])
    return answer


def _unknown_field(
    model: type[BaseModel], place: Sequence[str | int], location: Sequence[str | int]
) -> tuple[str, str]:
    """Return the message and the hint for an unknown field: its new name, a similar name, or all known names."""
    nouns, name = _nouns_at(model, place[:-1], location), str(place[-1])
    if new := next((noun.renamed[name] for noun in nouns if issubclass(noun, Noun) and name in noun.renamed), ""):
        return f"is now {new}", ""
    names = sorted({field.alias or name for noun in nouns for name, field in noun.model_fields.items()})
    return _UNKNOWN, did_you_mean(place[-1], names) or f"{_KNOWN}{', '.join(names)}"


def _wrong_value(value: Json, wanted: str | None, message: str) -> tuple[str, str]:
    """Return the message and the hint for a value of the wrong type; ``wanted`` is the expected type in words, or None."""
    if wanted is None:
        return f"found {_in_words(value)}: {message[:1].lower()}{message[1:]}", ""
    hint = "put it in quotes" if wanted == "text" and isinstance(value, (int, float)) else ""
    return f"found {_in_words(value)}, expected {wanted}", hint


def _not_one_of(value: Json, context: Any, place: Sequence[str | int]) -> tuple[str, str]:
    """Return the message and the hint for a value that is not one of the allowed words."""
    words = re.findall(r"'([^']*)'", str(context.get("expected_tags", context.get("expected", ""))))
    if "tag" in context:
        value = value.get(place[-1]) if isinstance(value, dict) else context["tag"]
    return f"found {shown(value)}, expected one of {', '.join(words)}", did_you_mean(value, words)


def _in_words(value: Json) -> str:
    """Return a description of a value for messages: the type of null, a list or a mapping, otherwise the value."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, (list, tuple)) else shown(value)


def _nouns_at(model: type[BaseModel], place: DataPath, location: Sequence[str | int]) -> set[type[BaseModel]]:
    """Return the model classes that are possible for a mapping at a place."""
    candidates: set[type[BaseModel]] = {model}
    for part in place:
        candidates = _fields_below(candidates, part)
    return {noun for noun in candidates if _tag_words(noun) & set(location)} or candidates


def _fields_below(candidates: set[type[BaseModel]], part: str | int) -> set[type[BaseModel]]:
    """Return the model classes that are possible for a field or list member of these model classes."""
    if isinstance(part, int):
        return candidates
    annotations = [
        sort
        for noun in candidates
        for name, sort in types_of(noun).items()
        if part in {name, noun.model_fields[name].alias}
    ]
    # A key of a free mapping (match: {city: ...}) leaves the candidates: they are the mapping's values already.
    return {model for annotation in annotations for model in _models_in(annotation)} if annotations else candidates


def _models_in(annotation: Any) -> set[type[BaseModel]]:
    """Return the model classes that occur in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {annotation}
    if get_origin(annotation) is Literal:
        return set()
    return {model for inner in get_args(annotation) for model in _models_in(inner)}


def _tag_words(model: type[BaseModel]) -> set[str]:
    """Return the values of ``kind`` or ``op`` that select a model in a union."""
    return {
        word for name in _TAGS if name in model.model_fields for word in get_args(model.model_fields[name].annotation)
    }


_BLANKS = re.compile(r"\s*")
_ONE_A_LINE = "JSON Lines: each case or recording is on one line of its own, without a list around them"


#: How files of other kinds begin, and what they are.
_BINARY = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PAR1", "a parquet table"),
    (b"%PDF-", "a PDF"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
#: How the name of the first member of a zip archive begins, what the archive is, and what to do.
_ARCHIVES = (
    (b"_journal/", "an eval log of Inspect", "`inspect log dump FILE > log.json` writes the log that is read"),
    (b"[Content_Types].xml", "an Office document, such as an .xlsx workbook", "save the sheet as CSV"),
)  # fmt: skip
#: The name of its first member begins here in a zip archive (PKWARE's APPNOTE 4.3.7).
_MEMBER_NAME = 30


def _kind_of_binary(raw: bytes, path: str) -> tuple[str, str]:
    """Return the kind of a binary file, judged by its first bytes, and a hint; the kind is empty if it is unknown."""
    kind = next((kind for begin, kind in _BINARY if raw.startswith(begin)), "")
    archives = _ARCHIVES if kind == "a zip archive" else ()
    for begin, archive, hint in archives:
        if raw.startswith(begin, _MEMBER_NAME) or (path.endswith(".eval") and begin == b"_journal/"):
            return f"{kind}: {archive}", hint
    return kind, "unpack it, and give the file in it" if archives else "save the file as UTF-8 text"


def decode(raw: bytes, path: str, first_line: int = 1) -> str:
    """Return UTF-8 bytes as text without a byte order mark. Raises SuiteError with the line of an invalid byte."""
    binary, hint = _kind_of_binary(raw, path) if first_line == 1 else ("", "")
    if binary:
        raise SuiteError(Problem(path, 0, f"is {binary}, expected UTF-8 text", hint))
    if (nul := raw.find(b"\0")) >= 0:
        line = first_line + raw.count(b"\n", 0, nul)
        raise SuiteError(Problem(path, line, "holds a NUL character", "save the file as UTF-8 text"))
    try:
        return raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = first_line + raw.count(b"\n", 0, error.start)
        message = f"is not UTF-8: byte 0x{raw[error.start]:02x} is not allowed here"
        raise SuiteError(Problem(path, line, message, "save the file as UTF-8 text")) from error


def read_text(path: Path, limit: int, name: str = "") -> str:
    """Return a file's text; arguments and errors as for ``read_bytes``, plus SuiteError for invalid UTF-8."""
    return decode(read_bytes(path, limit, name), name or shown_path(path))


# -- JSON: no duplicate keys, no NaN, no half characters, bounded depth


def parse_json_line(raw: bytes, path: str, line: int) -> Json:
    """Return the data of one line of a JSONL file.

    Args:
        raw: the line's bytes.
        path: the file, for errors.
        line: its 1-based number, for errors.

    Raises:
        SuiteError: that names the line and what is wrong with it.
    """
    text = decode(raw, path, line)
    return located_json(text, path, line, hint=_ONE_A_LINE if text.rstrip() in ("[", "{") else "")


def located_json(text: str, path: str, line: int, *, depth: int = limits.DEPTH, hint: str = "") -> Json:
    """Return the data of a JSON text from a file.

    Args:
        text: the JSON.
        path: the file, for errors.
        line: the 1-based line that the text begins on, for errors.
        depth: how deep lists and objects may stand in each other.
        hint: what to do where it is not JSON at all.

    Raises:
        SuiteError: that names the line and what is wrong with it.
    """
    try:
        return parse_json(text, depth=depth)
    except json.JSONDecodeError as error:
        message = f"is not valid JSON: {error.msg}, column {error.colno}"
        line += text.count("\n", 0, min(error.pos, len(text.rstrip())))  # text that ends too early ends where it ends
        raise SuiteError(Problem(path, line, message, hint)) from error
    except ValueError as error:
        raise SuiteError(Problem(path, line, str(error))) from error


def json_elements(text: str, path: str, of: str = "objects") -> Iterator[tuple[int, Json]]:
    """Yield the elements of a JSON list, or a single object, each after the 1-based line on which it begins.

    Args:
        text: the JSON.
        path: the file, for errors.
        of: what they are, for errors.

    Raises:
        SuiteError: it is no JSON, or neither a list nor an object.
    """
    data = located_json(text, path, 1)
    if isinstance(data, dict):
        yield 1, data
        return
    if not isinstance(data, list):
        raise SuiteError(Problem(path, 1, f"found {shown(data)}, expected a list of {of}"))
    yield from zip(_element_lines(text, text.index("["), len(data)), data, strict=True)


def lines_of_list(text: str, key: str, members: Json) -> list[int]:
    """Return the 1-based lines on which the members of the list under a key begin; empty if the list is not found."""
    for begin in re.finditer(rf'"{key}"\s*:\s*(?=\[)', text):
        with suppress(ValueError):
            if json.JSONDecoder().raw_decode(text, begin.end())[0] == members:
                return list(_element_lines(text, begin.end(), len(members)))
    return []


def _element_lines(text: str, at: int, count: int) -> Iterator[int]:
    """Yield the line on which each element of a list begins; ``at``: the position of the list's bracket."""
    decoder, line, counted = json.JSONDecoder(), 1, 0
    for _ in range(count):
        at = _past_blanks(text, at + 1)  # past the bracket or the comma
        line, counted = line + text.count("\n", counted, at), at
        yield line
        at = _past_blanks(text, decoder.raw_decode(text, at)[1])


def _past_blanks(text: str, at: int) -> int:
    """Return the position of the next character that is not white space."""
    blank = _BLANKS.match(text, at)
    return blank.end() if blank else at


def parse_json(text: str, *, depth: int = limits.DEPTH) -> Json:
    """Return the data of a JSON text, read strictly: no duplicate keys, no NaN, limited depth.

    Args:
        text: the JSON.
        depth: how deep lists and objects may stand in each other.

    Raises:
        ValueError: for what is not JSON, or JSON that is refused.
    """
    too_deep = f"lists and objects are nested more than {depth} deep"
    try:
        data = _DECODER.decode(text)
    except RecursionError:
        raise ValueError(too_deep) from None
    if text.count("[") + text.count("{") > depth and is_deeper(data, depth):
        raise ValueError(too_deep)
    if "\\u" in text:
        try:
            json.dumps(data, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("holds half of a character (a lone surrogate such as \\ud800)") from None
    return data


#: A block of code: the fence, the tag, and what stands in it; one without an end reaches to that of the text.
#: Bounded, so that hostile texts are read in a time in proportion to their length.
_BLOCK = re.compile(
    r"^[ \t]{0,40}(`{3,20}|~{3,20})([^\n`{\[]{0,100})(.*?)(?:\1[`~]{0,20}[ \t\r]{0,40}$|\Z)", re.MULTILINE | re.DOTALL
)


class ObjectInText(NamedTuple):
    """The result of ``object_in``: the JSON object found in a text, or the reason why there is none.

    Attributes:
        data: the object; None where there is none.
        why: why what looks like one is none; empty where nothing does.
        alone: whether nothing stands around it.
    """

    data: JsonObject | None
    why: str = ""
    alone: bool = True


def object_in(text: str) -> ObjectInText:
    """Return the JSON object that makes up a whole text or its only JSON code block."""
    places = [(text, text)]
    if text.lstrip()[:1] not in ("{", "["):
        places = [
            (match[0], match[3])
            for match in _BLOCK.finditer(text)
            if match[3].lstrip()[:1] in ("{", "[") or match[2].strip().lower().startswith("json")
        ]
    if len(places) != 1:
        return ObjectInText(None, f"its text has {len(places)} blocks of JSON, expected one" if places else "")
    whole, content = places[0]
    try:
        data = parse_json(content)
    except ValueError as error:
        return ObjectInText(None, f"its text has JSON that cannot be read: {error}")
    if not isinstance(data, dict):
        return ObjectInText(None, "its text has JSON that is not an object")
    return ObjectInText(data, alone=whole.strip() == text.strip())


def is_deeper(data: Json, depth: int) -> bool:
    """Return whether lists and objects are nested more than ``depth`` levels deep."""
    level = [data] if isinstance(data, (dict, list)) else []
    for _ in range(depth):
        level = [
            child
            for value in level
            for child in (value.values() if type(value) is dict else value)
            if type(child) is dict or type(child) is list
        ]
    return bool(level)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Return the pairs of an object as a mapping. Raises ValueError for a duplicate key."""
    data = dict(pairs)
    if len(data) == len(pairs):
        return data
    keys = [key for key, _ in pairs]
    twice = next(key for place, key in enumerate(keys) if key in keys[:place])
    raise ValueError(f"the key {shown(twice)} occurs twice in one object")


def _refuse_constant(word: str) -> NoReturn:
    """Raise ValueError for NaN or Infinity, which Python's JSON parser accepts as numbers."""
    raise ValueError(f"{word} is not a JSON value; a number that is not known is null")


def _finite_number(text: str) -> float:
    """Return the number in a text. Raises ValueError if it is too large for a float."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {shown(text)} is too large")
    return number


#: Made once: to build one costs as much as to read a short line.
_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite_number)


# -- YAML as JSON with comments: no tags, no anchors, no surprises

_WORDS: dict[str, Json] = {"": None, "null": None, "true": True, "false": False}
_NO_CHILDREN: dict[str | int, DocumentLines] = {}  # shared by all scalars, and never written to
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_TOO_DEEP = f"lists and mappings are nested more than {limits.DEPTH} deep"


def parse_yaml(raw: bytes, path: str) -> tuple[LocatedDocument, ...]:
    """Return the documents of a YAML file.

    Plain scalars mean what they mean in YAML 1.2's JSON schema: ``null``, ``true``, ``false`` and JSON numbers;
    everything else is text, so that ``12:30``, ``on``, ``no`` and ``2026-05-07`` stay what they look like. An empty value is null.

    Args:
        raw: the file's bytes: UTF-8, a byte order mark and any line ends.
        path: the file, for errors.

    Raises:
        SuiteError: with everything that is wrong with the text.
    """
    import yaml  # noqa: PLC0415  heavy

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    reader = _YamlReader(yaml.parse(decode(raw, path), Loader=loader), path)
    documents: tuple[LocatedDocument, ...] = ()
    try:
        documents = tuple(reader.documents())
    except yaml.YAMLError as error:
        reader.problems.append(_syntax_problem(error, path))
    if reader.problems:
        raise SuiteError(*reader.problems)
    return documents


@cache
def package_data(package: str, name: str) -> Any:
    """Return the content of a YAML file in a package; cached, and not to be changed."""
    (document,) = parse_yaml((files(package) / name).read_bytes(), name)
    return document.data


def scalar(text: str) -> Json:
    """Return the value of a plain (unquoted) YAML scalar.

    Raises:
        ValueError: for a number too large to hold.
    """
    if text in _WORDS:
        return _WORDS[text]
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    if len(text) > limits.NUMBER_CHARS:
        raise ValueError(f"a number of {len(text)} characters")
    return int(text) if match[1] is None and match[2] is None else _finite_number(text)


def _syntax_problem(error: yaml.YAMLError, path: str) -> Problem:
    """Return a YAML syntax error as a problem with its line."""
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark is not None else 0
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    context = getattr(error, "context", None)
    if "nesting depth" in what:  # libyaml has a limit of its own, and may come to it first
        return Problem(path, line, _TOO_DEEP)
    message = f"is not valid YAML: {what}" + (f" {context}" if context else "")
    hint = "indent with spaces, not tabs; quote text that holds ': ', ' #', or begins with one of *&!%@`|>{["
    return Problem(path, line, message, hint)


class _YamlReader:
    """Builds documents from the parser's events, so that a YAML bomb is refused before it is read completely."""

    def __init__(self, events: Iterator[Any], path: str) -> None:
        self.problems: list[Problem] = []
        self._events = events
        self._path = path
        self._left = limits.YAML_PARTS

    def documents(self) -> Iterator[LocatedDocument]:
        """Yield the documents with their line numbers."""
        for event in self._events:
            if hasattr(event, "anchor"):  # a value; others mark where stream and documents begin and end
                yield LocatedDocument(*self._value(event, 0))

    def _value(self, event: Any, depth: int) -> tuple[Json, DocumentLines]:
        """Return the value that begins with an event, and its line numbers. Raises SuiteError if it is nested too deeply."""
        line = self._begin(event)
        match type(event).__name__:
            case "ScalarEvent":
                return self._meaning(event, line), DocumentLines(line, _NO_CHILDREN)
            case "AliasEvent":
                return None, DocumentLines(line, _NO_CHILDREN)
        if depth >= limits.DEPTH:
            raise SuiteError(Problem(self._path, line, _TOO_DEEP))
        lines = DocumentLines(line, {})
        if type(event).__name__ == "MappingStartEvent":
            return self._mapping(lines.children, depth + 1), lines
        members: list[Json] = []
        for member in self._events:
            if type(member).__name__ == "SequenceEndEvent":
                break
            value, lines.children[len(members)] = self._value(member, depth + 1)
            members.append(value)
        return members, lines

    def _mapping(self, lines: dict[str | int, DocumentLines], depth: int) -> dict[str, Json]:
        """Read the rest of a mapping; return it, and store the line numbers of its values in ``lines``."""
        data: dict[str, Json] = {}
        for event in self._events:
            if type(event).__name__ == "MappingEndEvent":
                break
            line, key = self._begin(event), getattr(event, "value", "")
            if type(event).__name__ not in ("ScalarEvent", "AliasEvent"):
                raise SuiteError(Problem(self._path, line, "a key is a list or a mapping", "keys are text"))
            if key in data:
                message = f"the key {shown(key)} occurs twice; first on line {lines[key].line}"
                self._report(line, message, "keep one of the two")
            data[key], lines[key] = self._value(next(self._events), depth)
            lines[key].line = line  # a value in a mapping has the line of its key
        return data

    def _begin(self, event: Any) -> int:
        """Return the line of a key or value; report tags, anchors and aliases. Raises SuiteError for too many parts."""
        line: int = event.start_mark.line + 1
        self._left -= 1
        if self._left < 0:
            message = f"holds more than {limits.YAML_PARTS} keys, values, lists and mappings"
            hint = "split it into several files, or write one case a line as JSONL"
            raise SuiteError(Problem(self._path, line, message, hint))
        if getattr(event, "tag", None) is not None:
            self._report(line, f"has the tag {shown(event.tag)}", "a suite is plain data: leave the tag out")
        if event.anchor is not None:
            hint = "repeat the value; quote text that begins with & or *"
            self._report(line, f"has an anchor or alias, {shown(event.anchor)}", hint)
        return line

    def _meaning(self, event: Any, line: int) -> Json:
        """Return the value of a scalar; None after reporting a number that is too large."""
        try:
            return scalar(event.value) if event.implicit[0] else event.value
        except ValueError as error:
            self._report(line, str(error), "put it in quotes if it is text")
            return None

    def _report(self, line: int, message: str, hint: str = "") -> None:
        """Add a problem, unless the limit of reported problems per file is reached."""
        if len(self.problems) < limits.PROBLEMS:
            self.problems.append(Problem(self._path, line, message, hint))


# -- Python literals, as ``repr`` writes them

_TOKENS = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<word>True|False|None)(?!\w)
    |(?P<enum><[A-Za-z_][\w.]{0,200}\.(?P<member>[A-Za-z_]\w{0,200}):\s(?:-?\d{1,20}|'[^'\\\n]{0,200}'|"[^"\\\n]{0,200}")>)
    |(?P<bracket>,?\s*[\])}]|[\[({])
    |(?P<mark>[,:])""",
    re.VERBOSE | re.DOTALL,
)
_JSON_WORDS = {"True": "true", "False": "false", "None": "null"}
_SHOWN_CHARS = 30


def parse_literal(text: str) -> Json:
    """Return the data of a Python literal; an enum member such as ``<Status.DONE: 1>`` becomes its name, a tuple a list.

    It is rewritten as JSON, token by token, and read as that.

    Args:
        text: the literal, of at most ``limits.LITERAL_CHARS`` characters.

    Raises:
        ValueError: the text is no literal, or a refused one: too long, too deep, a key that is no text or stands twice. The message says what was found where.
    """
    if len(text) > limits.LITERAL_CHARS:
        raise ValueError(f"has {len(text)} characters, more than the {limits.LITERAL_CHARS} that are read")
    tokens: list[str] = []
    at = 0
    while at < len(text):
        token = _TOKENS.match(text, at)
        if token is None:
            shown_text = shown(text[at : at + _SHOWN_CHARS])
            raise ValueError(f"is not a Python literal: found {shown_text} at character {at + 1}")
        tokens.append(_as_json(token))
        at = token.end()
    try:
        return parse_json("".join(tokens))
    except json.JSONDecodeError as error:
        raise ValueError(f"is not a Python literal of plain data: {error.msg}") from None


def _as_json(token: re.Match[str]) -> str:
    """Return a token of a Python literal as JSON. Raises ValueError."""
    text = token[0]
    match token.lastgroup:
        case "string":
            try:
                return json.dumps(ast.literal_eval(text))
            except (SyntaxError, ValueError):
                raise ValueError(f"is not a Python literal: found {shown(text)}") from None
        case "enum" | "member":
            return json.dumps(token["member"])
        case "bracket":
            return text.lstrip(", \t\r\n").translate(_BRACKETS)
        case "number" if len(text) > limits.NUMBER_CHARS:
            raise ValueError(f"holds a number of {len(text)} characters")
    return _JSON_WORDS.get(text, text)


_BRACKETS = str.maketrans("()", "[]")


# -- CSV: strictly quoted, every row with its line, every column where it is said to be


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table.

    Attributes:
        line: where it begins, 1-based: a cell may hold line breaks.
        cells: its texts by column.
    """

    line: int
    cells: dict[str, str]


def read_csv(
    path: Path, columns: Sequence[str], name: str = "", *, hint: str = "", torn: Callable[[Problem], None] | None = None
) -> Iterator[TableRow]:
    """Yield the rows of a CSV file in UTF-8, with or without a byte order mark; blank rows are skipped.

    Args:
        path: the file.
        columns: those that must be there.
        name: how messages name the file; the path as a user would type it where none is given.
        hint: what to say where a column is missing and no other is named nearly so.
        torn: hears of a row with more or fewer cells than columns, which is then passed over; an error where none is given.

    Raises:
        SuiteError: when the file cannot be read, lacks a column or has a torn row; with the line.
    """
    import csv  # noqa: PLC0415  only where there is a table

    name = name or shown_path(path)
    begins = 1
    texts = (decode(line.data, name, line.number) for line in read_lines(path, limits.CELL_BYTES, name, blank=True))
    reader = csv.reader(texts, strict=True)

    def cells_of_next_row() -> list[str] | None:
        """Return the cells of the next row, which may be long; None at the end of the file."""
        before = csv.field_size_limit(limits.CELL_BYTES)  # it is the process's: raised for one row at a time
        try:
            return next(reader, None)
        finally:
            csv.field_size_limit(before)

    try:
        header = cells_of_next_row() or []
        check_columns(name, header, columns, hint)
        begins = reader.line_num + 1
        while (cells := cells_of_next_row()) is not None:
            if len(cells) == len(header):
                yield TableRow(begins, dict(zip(header, cells, strict=True)))
            elif cells:
                problem = Problem(name, begins, f"the row has {len(cells)} cells under {len(header)} columns")
                if torn is None:
                    raise SuiteError(problem)
                torn(problem)
            begins = reader.line_num + 1
    except csv.Error as error:
        raise SuiteError(Problem(name, begins, f"is not valid CSV: {error}")) from error


def check_columns(name: str, columns: Sequence[str], wanted: Sequence[str], hint: str = "") -> None:
    """Raise SuiteError for missing or duplicate columns, or for too many of them."""
    if len(columns) > limits.COLUMNS:
        raise SuiteError(Problem(name, 1, f"has {len(columns)} columns, more than the {limits.COLUMNS} that are read"))
    there = shown(", ".join(columns)) if columns else "none"
    problems = [
        Problem(name, 1, f"has no column {shown(column)}; found {there}", did_you_mean(column, columns) or hint)
        for column in wanted
        if column not in columns
    ]
    twice = [column for column in dict.fromkeys(columns) if column and columns.count(column) > 1]
    problems += [
        Problem(name, 1, f"the column {shown(column)} occurs twice", "keep one of the two") for column in twice
    ]
    raise_for_problems(problems)


# -- nouns read out of files -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlacedNoun(Generic[ModelT]):
    """A model read from a file, with the file's name for messages and the line numbers."""

    noun: ModelT
    path: str
    lines: DocumentLines

    @property
    def place(self) -> str:
        """File and line, as in error messages."""
        return f"{self.path}:{self.lines.line}"

    def problem(self, part: DataPath, message: str, hint: str = "") -> Problem:
        """Return a problem with a part of the noun, at its line in the file."""
        where = f"{dotted(part)}: " if part else ""
        return Problem(self.path, self.lines.at(part), f"{where}{message}", hint)


def noun_from(model: type[ModelT], data: JsonObject, path: str, line: int) -> ModelT:
    """Return data from one line of a file as an object of a model class. Raises SuiteError with all problems."""
    problems: list[Problem] = []
    noun = validate(model, LocatedDocument(data, DocumentLines(line)), path, problems)
    if noun is None:
        raise SuiteError(*problems[: limits.PROBLEMS])
    return noun


def document_of(raw: bytes, path: str, line: int, problems: list[Problem]) -> LocatedDocument | None:
    """Return the data of one line of a JSONL file; if the line cannot be read, add the reason to ``problems`` and return None."""
    try:
        return LocatedDocument(parse_json_line(raw, path, line), DocumentLines(line))
    except SuiteError as error:
        problems.extend(error.problems)
        return None


def noun_of(model: type[ModelT], raw: bytes, path: str, line: int, problems: list[Problem]) -> ModelT | None:
    """Return one line of a JSONL file as an object of a model class; add any problem to ``problems`` and return None."""
    document = document_of(raw, path, line, problems)
    return None if document is None else validate(model, document, path, problems)


def read_nouns(path: Path, model: type[ModelT]) -> tuple[PlacedNoun[ModelT], ...]:
    """Return the lines of a JSONL file as objects of a model class, each with its place.

    Args:
        path: the file, compressed or not.
        model: what stands on each line.

    Raises:
        UsageError: there is no such file.
        SuiteError: with the problems of all lines, up to a limit.
    """
    name = shown_path(path)
    require_file(path, name)
    nouns: list[PlacedNoun[ModelT]] = []
    problems: list[Problem] = []
    for line in read_lines(path, limits.DIALOGUE_BYTES, name):
        noun = noun_of(model, line.data, name, line.number, problems)
        if noun is not None:
            nouns.append(PlacedNoun(noun, name, DocumentLines(line.number)))
        if len(problems) >= limits.PROBLEMS:
            break
    raise_for_problems(problems)
    return tuple(nouns)


def append_lines(path: Path, values: Iterable[JsonObject]) -> None:
    """Append values as lines to a JSONL file, created if missing, and flush them to the disk.

    Args:
        path: the file; folders are made.
        values: what is added, in this order.

    Raises:
        UsageError: the place holds something else than a regular file.
        OSError: it cannot be written.
    """
    lines = b"".join(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for value in values)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without O_NONBLOCK, opening a pipe without a reader would wait for ever.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0), 0o666)
    with os.fdopen(handle, "r+b", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UsageError(f"{printable(str(path))}: {NOT_REGULAR}")
        size = file.seek(0, os.SEEK_END)
        if size and os.pread(handle, 1, size - 1) != b"\n":
            lines = b"\n" + lines  # somebody's editor left the last line open
        file.write(lines)
        os.fsync(handle)


def signed(calibration: Calibration) -> Calibration:
    """Return a copy of a calibration table that contains the digest of its content."""
    return calibration.model_copy(update={"digest": digest(calibration.model_copy(update={"digest": ""}).to_json())})


def read_calibration(path: Path) -> Calibration:
    """Return the calibration table in a file.

    Raises:
        SuiteError: it cannot be read, is of another version, is cut short, or was changed by hand.
    """
    place = shown_path(path)
    again = "compute it again: mapsat lint SUITE --answers --calibrate"
    try:
        data = json.loads(read_bytes(path, limits.MIB))
        if not isinstance(data, dict):
            raise TypeError("expected a JSON object")  # noqa: TRY301 - told as the others are
        if (version := data.get("schema")) != CALIBRATION_SCHEMA:
            raise SuiteError(Problem(place, 0, f"found schema {version!r:.80}, expected {CALIBRATION_SCHEMA}", again))
        calibration = Calibration.model_validate(data)
    except (ValueError, TypeError, RecursionError) as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise SuiteError(Problem(place, 0, f"is not a calibration table: {what:.200}", again)) from error
    if signed(calibration).digest != calibration.digest:
        raise SuiteError(Problem(place, 0, "was changed by hand: its digest is another", again))
    return calibration
