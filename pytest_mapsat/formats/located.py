"""Plain data that remembers on which line of its file each part stands, and its way to a noun.

Pydantic's complaints become problems with a line, a path, and did you mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from pytest_mapsat.model import CASE_ID_PATTERN, DATE_PATTERN, Json, Noun, Problem, did_you_mean, shown, types_of

from . import limits

ModelT = TypeVar("ModelT", bound=BaseModel)

#: Keys and indices from the top of a document to one of its parts.
DataPath = Sequence[str | int]


@dataclass(slots=True)
class Lines:
    """The line of one part, and those of its children. Data of one line (JSONL) has no children.

    ``path``: the file of the part, where it was taken from another one than what is around it; ``used_at``: the line that takes it from there.
    """

    line: int
    children: dict[str | int, Lines] = field(default_factory=dict)
    path: str = ""
    used_at: int = 0

    def at(self, path: DataPath) -> int:
        """Return the line of the part at ``path``, or of the nearest part above it that is known."""
        return self.problem("", path, "").line

    def problem(self, path: str, place: DataPath, message: str, hint: str = "") -> Problem:
        """Return a problem of the part at ``place`` of a document in the file ``path``.

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
class Located:
    """A document, or one element of one."""

    data: Json
    lines: Lines


#: The fields whose value names the sort of a noun in a union.
_TAGS = ("kind", "op")
_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "finite_number": "a finite number",
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
    document: Located,
    path: str,
    problems: list[Problem],
    *,
    written: type[BaseModel] | None = None,
) -> ModelT | None:
    """Return the value, or None after adding everything that is wrong to ``problems``.

    Args:
        model: what the document should be.
        document: plain data with its lines.
        path: its file, for errors.
        problems: is added to.
        written: the noun whose fields may stand in the file, where that is another than the one they are read into.
    """
    written = written or model
    if not isinstance(document.data, dict):
        message = f"found {_found(document.data)}, expected a mapping of {', '.join(written.model_fields)}"
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
        wrong = [_wrong(written, detail, document.data) for detail in _meant(details, document.data)]
        for slip in _of_each_slip(wrong):
            message = f"{dotted(slip.place)}: {slip.message}" if slip.place else slip.message
            problems.append(document.lines.problem(path, slip.place, message, slip.hint))
        return None


def _meant(details: Sequence[Any], data: Json) -> list[Any]:
    """Return the details, up to a limit, without those of the forms of a value that it was not meant to have: a mapping is no failed list."""
    places = [_data_path(detail["loc"], data, missing=detail["type"] == "missing") for detail in details]
    wrong_form = [detail["type"].endswith("_type") for detail in details]
    others = {
        place[:end]
        for place, wrong in zip(places, wrong_form, strict=True)
        if not wrong
        for end in range(len(place) + 1)
    }
    kept = [
        detail
        for detail, place, wrong in zip(details, places, wrong_form, strict=True)
        if not (wrong and place in others)
    ]
    return kept[: limits.PROBLEMS]


def dotted(path: DataPath) -> str:
    """Return a path as a user reads it: ``truth.implicit[2].check``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


class _Wrong(NamedTuple):
    """Something that pydantic refuses: where, its word for it, what is wrong, and a hint."""

    place: tuple[str | int, ...]
    kind: str
    message: str
    hint: str


def _wrong(model: type[BaseModel], detail: Any, data: Json) -> _Wrong:
    place = _data_path(detail["loc"], data, missing=detail["type"] == "missing")
    if detail["type"].startswith("union_tag") and (tag := _tag_of(detail)) is not None:
        near = get_close_matches(tag, map(str, detail["input"]), n=1) if isinstance(detail["input"], dict) else []
        place = (*place, *(near or [tag]))
    return _Wrong(place, detail["type"], *_explain(model, detail, place))


def _of_each_slip(wrong: Sequence[_Wrong]) -> list[_Wrong]:
    """Return one problem for each slip: a misspelt field is missing as well."""
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
            told = strange[0]._replace(message=f"{_UNKNOWN}, and {lacking[0].place[-1]} is missing")
            left = [told if problem is strange[0] else problem for problem in left if problem is not lacking[0]]
        elif strange and strange[0].hint == _KNOWN:  # nothing is known of a part whose sort is wrong
            others = [problem for problem in left if problem not in strange]
            left = others if any(problem.place[: len(parent)] == parent for problem in others) else left
    return left


def _tag_of(detail: Any) -> str | None:
    """Return the union's tag field: pydantic quotes it in the context."""
    name = str(detail.get("ctx", {}).get("discriminator", "")).strip("'")
    return name if name in _TAGS else None


def _data_path(location: Iterable[str | int], data: Json, *, missing: bool) -> tuple[str | int, ...]:
    """Return the place in the data: pydantic's location without the tags of unions, the marks of keys and what a short form stands for."""
    path: list[str | int] = []
    parts = list(location)
    tag = None
    for index, part in enumerate(parts):
        lacks = missing and index == len(parts) - 1
        there = isinstance(part, int) if isinstance(data, list) else isinstance(data, dict) and (part in data or lacks)
        if there and part != tag:
            path.append(part)
            data = _child(data, part)
            tag = next((data[name] for name in _TAGS if name in data), None) if isinstance(data, dict) else None
        elif part == tag:
            tag = None
    return tuple(path)


def _child(data: Json, part: str | int) -> Json:
    if isinstance(data, dict):
        return data.get(part)
    if isinstance(data, list) and isinstance(part, int) and part < len(data):
        return data[part]
    return None


def _explain(model: type[BaseModel], detail: Any, place: Sequence[str | int]) -> tuple[str, str]:
    """Return what is wrong, and the hint."""
    kind, found, context = detail["type"], detail["input"], detail.get("ctx", {})
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
            answer = _not_one_of(found, context, place)
        case "value_error":
            answer = str(context.get("error", detail["msg"])), ""
        case "string_pattern_mismatch":
            answer = f"found {shown(found)}, expected {_PATTERNS.get(context['pattern'], _MOMENT)}", ""
        case "too_short":
            answer = f"found a list of {len(found)}, expected at least {context['min_length']}", ""
        case _:
            answer = _wrong_value(found, _WANTED.get(kind), detail["msg"])
    return answer


def _unknown_field(
    model: type[BaseModel], place: Sequence[str | int], location: Sequence[str | int]
) -> tuple[str, str]:
    nouns, name = _nouns_at(model, place[:-1], location), str(place[-1])
    if new := next((noun.renamed[name] for noun in nouns if issubclass(noun, Noun) and name in noun.renamed), ""):
        return f"is now {new}", ""
    names = sorted({name for noun in nouns for name in _public_names(noun)})
    return _UNKNOWN, did_you_mean(place[-1], names) or f"{_KNOWN}{', '.join(names)}"


def _wrong_value(value: Json, wanted: str | None, message: str) -> tuple[str, str]:
    if wanted is None:
        return f"found {_found(value)}: {message[:1].lower()}{message[1:]}", ""
    hint = "put it in quotes" if wanted == "text" and isinstance(value, (int, float)) else ""
    return f"found {_found(value)}, expected {wanted}", hint


def _not_one_of(found: Json, context: Any, place: Sequence[str | int]) -> tuple[str, str]:
    words = re.findall(r"'([^']*)'", str(context.get("expected_tags", context.get("expected", ""))))
    if "tag" in context:
        found = found.get(place[-1]) if isinstance(found, dict) else context["tag"]
    message = f"found {shown(found)}, expected one of {', '.join(words)}"
    return message, did_you_mean(found, words)


def _found(value: Json) -> str:
    if value is None:
        return "nothing (null)"
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, (list, tuple)) else shown(value)


def _nouns_at(model: type[BaseModel], place: DataPath, location: Sequence[str | int]) -> set[type[BaseModel]]:
    """Return what a mapping at this place may be."""
    candidates: set[type[BaseModel]] = {model}
    for part in place:
        candidates = _below(candidates, part)
    return {noun for noun in candidates if _tag_words(noun) & set(location)} or candidates


def _below(candidates: set[type[BaseModel]], part: str | int) -> set[type[BaseModel]]:
    if isinstance(part, int):
        return candidates
    named = [
        sort
        for noun in candidates
        for name, sort in types_of(noun).items()
        if part in {name, noun.model_fields[name].alias}
    ]
    # A key of a free mapping (match: {city: ...}) leaves the candidates: they are the mapping's values already.
    return {model for annotation in named for model in _models_in(annotation)} if named else candidates


def _models_in(annotation: Any) -> set[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {annotation}
    if get_origin(annotation) is Literal:
        return set()
    return {model for inner in get_args(annotation) for model in _models_in(inner)}


def _tag_words(model: type[BaseModel]) -> set[str]:
    return {
        word for name in _TAGS if name in model.model_fields for word in get_args(model.model_fields[name].annotation)
    }


def _public_names(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}
