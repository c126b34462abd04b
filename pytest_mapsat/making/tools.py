"""Tools that a suite lacks, described from a log: their schema, how calls may differ, and what their results mean."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from pydantic import ValidationError

from pytest_mapsat.formats import is_obvious, package_data
from pytest_mapsat.model import (
    Json,
    JsonObject,
    Meaning,
    ParameterMatch,
    Problem,
    Step,
    SuiteError,
    Tool,
    shown,
)
from pytest_mapsat.recording import changes_something
from pytest_mapsat.sandbox import argument_problems, canonical, point_of, tokens

from .evidence import tells_of_user

#: How far from the recorded point a call may ask, metres, and how alike its words must be where they are the same without generic ones.
_WITHIN_M, _NEAR = 200, 0.6
_KEYS = package_data(__package__, "keys.yaml")
#: Words that say nothing of what is looked for.
_GENERIC: Sequence[str] = _KEYS["generic"]
_LON, _LAT = ("longitude", "lng", "lon"), ("latitude", "lat")
#: Words in the name of a parameter that steers a search and limits nothing that a reply rests on.
_STEERS = frozenset(_KEYS["steers"])
_TIMES = frozenset(_KEYS["times"])
_OF_IDS = frozenset({"id", "ids", "uid", "uuid", "code", "sku"})
_CODE = re.compile(r"[A-Za-z_.-]*\d[\w.-]*")
_USERS = frozenset(_KEYS["users"])
#: The key of a name, the likeliest first; how far into a thing its fields are described.
_NAMES = ("name", "title", "label", "line", "product", "hotel", "restaurant", "station", "名称", "店名", "标题")
_NAME_ENDS = ("name", "title", "label", "名", "名称", "标题")
_PEOPLE = frozenset(_KEYS["people"])
_DEEP = 4
#: A rating above it counts no stars.
_STARS = 5
_CLOCK, _MOMENT = re.compile(r"([01]?\d|2[0-3]):[0-5]\d"), re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?")
#: Words in the key of a field: what its values mean, the first that fits. The second set: none of these words may stand beside.
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "text": str,
    "figure": (int, float),
    "label": (str, int),
    "degrees": (int, float, str),
}
_MEANINGS = [(frozenset(words), _TYPES[sort], kind) for kind, sort, words in _KEYS["meanings"]]
_SORTS: Mapping[str, str] = _KEYS["sorts"]


def tool_for(name: str, schema: JsonObject | None, calls: Sequence[Step], place: str, replies: str = "") -> Tool:
    """Return a tool description derived from a log: schema, rules for matching calls, and meanings of results.

    Args:
        name: its name.
        schema: its schema, as OpenAI's ``function`` object; None where the log has none.
        calls: its calls, with their results.
        place: the log, for errors.
        replies: what the agent says in the log: a record whose name it gives is no profile of the user.

    Raises:
        SuiteError: no tool can be called so.
    """
    known = [call for call in calls if "arguments" not in call.unknown]
    parameters = _parameters(schema, [call.arguments for call in known])
    names = parameters["properties"]
    values = {each: [call.arguments[each] for call in known if each in call.arguments] for each in names}
    described = str((schema or {}).get("description") or "").strip()
    results = [call.result for call in calls if "result" not in call.unknown and call.status == "ok"]
    effect = "write" if changes_something(name) else "read"
    profile = effect == "read" and _is_profile(name, parameters["properties"], results, replies)
    entities, fields = _meanings(results, profile=profile)
    data: JsonObject = {
        "name": name,
        "description": described or f"{name.replace('_', ' ')}: the log does not describe this tool.",
        "effect": effect,
        "profile": profile,
        "parameters": parameters,
        "match": dict(_rules(parameters["properties"], values)),
        "entities": entities,
        "fields": fields,
        "secrets": [parameter for parameter in parameters["properties"] if is_obvious(parameter)],
    }
    try:
        tool = Tool.model_validate(data)
    except ValidationError as error:
        why = f"the tool {shown(name)} cannot be described: {error.errors()[0]['msg']}"
        raise SuiteError(Problem(place, 0, why, "rename it in the log")) from None
    # What nothing describes, such as the message of a call that failed, is ignored, as lint wants it told.
    returned = [call.result for call in calls if "result" not in call.unknown]
    left = dict.fromkeys(path for result in returned for path in tool.undeclared(result))
    ignored = {path: Meaning(kind="ignored") for path in left}
    return tool.model_copy(update={"fields": {**tool.fields, **ignored}})


def _is_profile(name: str, properties: Mapping[str, object], results: Sequence[Json], replies: str) -> bool:
    """Return whether a tool returns the user's profile: it takes only user ids, and its single record is never recommended."""
    if not results or any(_words(parameter).isdisjoint(_USERS) for parameter in properties):
        return False
    if not all(isinstance(result, Mapping) and _is_thing(result) for result in results):
        return False
    names = (member for result in results for key, member in result.items() if key in _NAMES)
    proposed = any(isinstance(text, str) and text.strip() and text in replies for text in names)
    return tells_of_user(name) or bool(properties and not proposed)


def _parameters(function: JsonObject | None, seen: Sequence[JsonObject]) -> JsonObject:
    """Return the parameters' JSON Schema: the log's own, extended and relaxed to accept every logged call."""
    schema = (function or {}).get("parameters")
    known = isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping)
    base: JsonObject = (
        {**schema, "type": "object"} if known and isinstance(schema, Mapping) else {"type": "object", "properties": {}}
    )
    properties = {name: part for name, part in base["properties"].items() if isinstance(part, Mapping)}
    for parameter in dict.fromkeys(key for arguments in seen for key in arguments):
        values = [arguments[parameter] for arguments in seen if parameter in arguments]
        if parameter not in properties:
            properties[parameter] = _schema_of(values)
    base["properties"] = properties
    required = base.pop("required", None)
    if isinstance(required, list):
        names = [key for key in required if isinstance(key, str)]
        base["required"] = [key for key in names if all(key in arguments for arguments in seen)]
    for arguments in seen:
        for parameter, value in arguments.items():
            part: JsonObject = {"type": "object", "properties": {parameter: properties[parameter]}}
            part |= {"$defs": base["$defs"]} if "$defs" in base else {}
            with suppress(ValidationError):
                if argument_problems(Tool(name="t", description="t", parameters=part), {parameter: value}):
                    about = {key: text for key, text in properties[parameter].items() if key == "description"}
                    properties[parameter] = about  # an alias, or a service that is not strict
    return base


def _schema_of(values: Iterable[Json]) -> JsonObject:
    """Return a JSON Schema for values of one type, ignoring null; empty for none or several types."""
    kinds = {
        "boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "number" if isinstance(value, (int, float))
        else "array" if isinstance(value, list) else "object" if isinstance(value, Mapping) else "null"
        for value in values
    } - {"null"}  # fmt: skip
    return {"type": kinds.pop()} if len(kinds) == 1 else {}


# -- how calls may differ


def _rules(properties: Mapping[str, JsonObject], values: Mapping[str, list[Json]]) -> Iterator[tuple[str, JsonObject]]:
    """Yield each parameter with a tolerant rule for matching its values."""
    pairs = {name: partner for name in properties if (partner := _partner(name, properties)) is not None}
    for name, schema in properties.items():
        rule: JsonObject
        if name in pairs:
            rule = {"type": "lon", "pair": pairs[name], "within_m": _WITHIN_M}
        elif name in pairs.values():
            rule = {"type": "lat"}
        else:
            rule = _rule(name, schema, [value for value in values[name] if value is not None])
        if _words(name) & _STEERS:
            rule = {"type": rule["type"], "role": "preference"}
        yield name, rule


def _rule(name: str, schema: JsonObject, values: list[Json]) -> JsonObject:
    """Return the matching rule for a parameter, based on its schema, name and values; None for longitude and latitude pairs."""
    kind, words = schema.get("type"), _words(name)
    texts = [value for value in values if isinstance(value, str)]
    timely = bool(words & _TIMES or schema.get("format") in ("date", "time", "date-time"))
    by_schema = {"boolean": "boolean", "number": "number", "integer": "number"}.get(str(kind))
    rule: JsonObject = {"type": "text"}
    if schema.get("enum"):
        rule = {"type": "enum"}
    elif by_schema is not None:
        rule = {"type": by_schema}
    elif kind == "array":
        members = [member for value in values if isinstance(value, list) for member in value]
        simple = all(isinstance(member, (str, int, float)) for member in members)
        points = bool(values) and all(_fit(value, "points") for value in values)
        rule = {"type": "points", "within_m": _WITHIN_M} if points else {"type": "set" if simple else "json"}
    elif values and all(_fit(value, "point") and point_of(value) is not None for value in values):
        rule = {"type": "point", "within_m": _WITHIN_M}
    elif kind == "object" or len(texts) < len(values):
        rule = {"type": "json"}
    elif timely and texts and all(_MOMENT.fullmatch(text) and _fit(text, "time") for text in texts):
        rule = {"type": "time"}
    elif words & _OF_IDS or (texts and all(_CODE.fullmatch(text) for text in texts)):
        rule = {"type": "id"}
    elif not timely and not schema.get("format"):
        rule |= {"near": _NEAR, "generic": list(_GENERIC), "synonyms": _spellings(texts)}
    return rule


def _fit(value: Json, kind: str) -> bool:
    """Return whether a value can be read as a parameter type such as ``point``."""
    try:
        return canonical(value, ParameterMatch.model_validate({"type": kind})) is not None
    except ValueError:
        return False


def _spellings(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return synonyms for words with accents: their spelling without accents."""
    synonyms: dict[str, list[str]] = {}
    words = dict.fromkeys(word for text in texts for word in tokens(text))
    for word in words:
        plain = "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))
        if plain not in words and plain.isascii():
            synonyms[word] = [plain]
    return synonyms


def _partner(name: str, properties: Iterable[str]) -> str | None:
    """Return the latitude parameter for a longitude parameter; None if it is not a longitude or has no partner."""
    parts = _parts(name)
    wanted = [[lat if part == lon else part for part in parts] for lon in _LON if lon in parts for lat in _LAT]
    return next((other for pair in wanted for other in properties if _parts(other) == pair), None)


def _parts(name: str) -> list[str]:
    """Return the lower-case words and numbers of a parameter name, in order."""
    return re.findall(r"[a-z]+|\d+|[\u4e00-\u9fff]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def _words(name: str) -> frozenset[str]:
    """Return the lower-case words of a name, and the joined words."""
    parts = [part for part in _parts(name) if not part.isdecimal()]
    return frozenset([*parts, re.sub(r"(?<=[a-z])(?=[A-Z])|_", "", name).lower()])


# -- what results mean


def _meanings(results: Sequence[Json], *, profile: bool) -> tuple[list[JsonObject], dict[str, Json]]:
    """Return the entities in results (none for a profile), and the meanings of all other fields by path."""
    meanings = _Meanings()
    for result in results:
        if isinstance(result, (Mapping, list)):
            meanings.describe(result, (), None)
            for path in [path for path in meanings.entities if profile]:
                entity = meanings.entities.pop(path)
                inside = {f"{path}.{key}".strip("."): meaning for key, meaning in entity["fields"].items()}
                meanings.fields |= inside | {f"{path}.{entity['name']}".strip("."): "text"}
        else:
            meanings.fields.setdefault("", "text" if isinstance(result, str) else "ignored")
    return list(meanings.entities.values()), meanings.fields


class _Meanings:
    """Collects from results the entities (named things) by path, and the meanings of other fields."""

    def __init__(self) -> None:
        self.entities: dict[str, JsonObject] = {}
        self.fields: dict[str, Json] = {}

    def describe(self, value: Json, path: tuple[str, ...], thing: tuple[JsonObject, int] | None) -> None:
        """Add the entities and meanings in a value; ``thing``: the enclosing entity and the length of its path, or None."""
        if isinstance(value, list):
            things = [member for member in value if isinstance(member, Mapping)]
            name = _name_key(things)
            if name is not None and len(things) == len(value) and thing is None:
                entity = self.entities.setdefault(".".join(path), _entity(path, name, things))
                for member in things:
                    self._describe_members(member, path, (entity, len(path)))
                return
            for member in value:
                self.describe(member, (*path, "*"), thing)
        elif isinstance(value, Mapping):
            name = _name_key([value]) if thing is None and _is_thing(value) else None
            if name is not None:
                thing = self.entities.setdefault(".".join(path), _entity(path, name, [value])), len(path)
            self._describe_members(value, path, thing)
        else:
            self._declare(value, path, thing)

    def _describe_members(
        self, value: Mapping[str, Json], path: tuple[str, ...], thing: tuple[JsonObject, int] | None
    ) -> None:
        """Add the entities and meanings in the members of an object; deep parts of an entity are ignored."""
        own = sum(not isinstance(member, (Mapping, list)) for member in value.values())
        for key, member in value.items():
            if "." in key or not key or key == "*":
                continue
            inside = thing is None or len(path) - thing[1] < _DEEP
            if isinstance(member, Mapping) and thing is None and path[-1:] == ("*",) and len(member) < own:
                self._describe_members(member, (*path, key), thing)  # a part of a row: a clinic's doctor
            elif inside:
                self.describe(member, (*path, key), thing)
            else:
                self._declare(None, (*path, key), thing)

    def _declare(self, value: Json, path: tuple[str, ...], thing: tuple[JsonObject, int] | None) -> None:
        """Set the meaning of a single value, unless it is its entity's name or id or already has a better meaning."""
        if thing is None:
            here, own = self.fields, path
        else:
            here, own = thing[0]["fields"], path[thing[1] :]
            if own in ((thing[0]["name"],), (thing[0].get("id"),)):
                return
        name = ".".join(own)
        meaning = meaning_of(next((key for key in reversed(own) if key != "*"), ""), value)
        grade = here.get(name) == "rating" and isinstance(meaning, dict)
        untrue = here.get(name) == "flag" and value is not None and not isinstance(value, bool)
        if grade or untrue or here.get(name, "ignored") == "ignored":
            here[name] = meaning


def meaning_of(key: str, value: Json) -> Json:
    """Return the meaning of values under a key, from the key's words, otherwise from an example value."""
    words = _words(key)
    if value is None or isinstance(value, bool):
        return "ignored" if value is None else "flag"
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,3}\.\d+,\s*-?\d{1,3}\.\d+", value):
        return "point"
    for names, kinds, kind in _MEANINGS:
        if words & names and isinstance(value, kinds):
            graded = kind == "rating" and isinstance(value, (int, float)) and value > _STARS
            return {"kind": "rating", "unit": "count"} if graded else _with_unit(kind, words)
    if isinstance(value, str):
        return "clock" if _CLOCK.fullmatch(value) else "text"
    return "ignored"


def _with_unit(kind: str, words: frozenset[str]) -> Json:
    """Return a meaning, with its unit if the kind or the words of the key indicate one."""
    if kind == "price":
        return {"kind": "price", "unit": "money"}
    if kind == "distance" and words & {"km", "kilometres", "kilometers"}:
        return {"kind": "distance", "unit": "km"}
    if kind == "duration" and words & {"seconds", "s", "sec"}:
        return {"kind": "duration", "unit": "s"}
    return kind


#: What the first text of a row is like where it is the name of a thing.
_LIKE_A_NAME = re.compile(r"(?:[A-Z][a-z'’]|[\u4e00-\u9fff])[^:：/\n]{1,58}")


def _name_key(things: Sequence[Mapping[str, Json]]) -> str | None:
    """Return the key of things' names: a usual key, otherwise a key with a name-like ending or a first name-like text; or None."""
    keys = [key for key in things[0] if is_name(key)] if things and (len(things) > 1 or _id_key(things)) else []
    for key in (*_NAMES, *keys):
        if things and all(isinstance(text := thing.get(key), str) and text.strip() for thing in things):
            return key
    for key in [*things[0]][:2] if len(things) > 1 else ():
        texts = {str(thing.get(key)) for thing in things if isinstance(thing.get(key), str)}
        if len(texts) == len(things) and all(map(_LIKE_A_NAME.fullmatch, texts)) and not _words(key) & _PEOPLE:
            return key
    return None


def is_name(key: str) -> bool:
    """Return whether a key ends like the name of a thing (``shop_name``, ``站名``) and not of a person."""
    last = re.findall(r"[a-z]+|[\u4e00-\u9fff]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower())[-1:]
    return not _words(key) & _PEOPLE and any(word.endswith(_NAME_ENDS) for word in last)


def _id_key(things: Sequence[Mapping[str, Json]]) -> str | None:
    """Return the key with a distinct id for each thing: a usual key, otherwise a key with an id-like ending; or None."""
    keys = [key for key in things[0] if re.search(r"(?:(?<![a-z])id|[a-z]Id|编号|编码)$", key)]
    for key in ("id", "place_id", "poi_id", "uid", *keys):
        values = [thing.get(key) for thing in things]
        if all(type(value) in (str, int) and value != "" for value in values) and len(set(values)) == len(values):
            return key
    return None


def _is_thing(value: Mapping[str, Json]) -> bool:
    """Return whether an object is a single thing, without lists of objects."""
    lists = (member for member in value.values() if isinstance(member, list))
    return not any(isinstance(inner, Mapping) for members in lists for inner in members)


def _entity(path: tuple[str, ...], name: str, things: Sequence[Mapping[str, Json]]) -> JsonObject:
    """Return an entity declaration for named things at a path, without fields at first."""
    identity = _id_key(things)
    last = next((key for key in reversed(path) if key != "*"), "")
    entity: JsonObject = {"items": ".".join(path), "name": name, "fields": {}}
    if identity is not None:
        entity["id"] = identity
    if last in _SORTS:
        entity["sort"] = _SORTS[last]
    return entity
