"""A tool's matching rules, made ready for reading many calls: one canonical form for every way in which an argument can be written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_mapsat.model import (
    MAX_LAT,
    MAX_LON,
    SAME_POINT_M,
    Json,
    JsonObject,
    ParameterMatch,
    ParameterType,
    Tool,
    UnfitError,
    boolean,
    canonical_json,
    did_you_mean,
    hint_at,
    limits_broken,
    mismatches,
    moment,
    normalise,
    number,
    parsed_json,
    point_of,
    refuse_oversized,
    says_nothing,
    shown,
    tokens,
)

# -- the canonical form of a parameter's value: hashable, its own canonical form, None for what says nothing -------------------

Canonical = Any
_SEPARATORS = re.compile(r"[,，、;；|]")
#: A prefix may hide a suffix and a synonym both; more rounds than this mean that synonyms go in a circle.
_TRIMS = 8


class Canoniser:
    """Converts the values of one parameter to their canonical form."""

    def __init__(self, rule: ParameterMatch) -> None:
        self._form = _FORMS[rule.type]
        self._prefixes = tuple(filter(None, map(normalise, rule.prefixes)))
        self._suffixes = tuple(filter(None, map(normalise, rule.suffixes)))
        self._head = {normalise(word): normalise(head) for head, words in rule.synonyms.items() for word in words}

    def __call__(self, value: Json) -> Canonical:
        """Return the canonical form of a value, None for an empty value. Raises UnfitError if it cannot have the declared type."""
        if value is None or says_nothing(value):
            return None
        if not isinstance(value, (int, float)):
            refuse_oversized(value)
        return self._form(value, self._trimmed)

    def _trimmed(self, word: str) -> str:
        """Return a normalised word without declared prefixes and suffixes; the result is never empty."""
        for _ in range(_TRIMS):
            before, word = word, self._head.get(word, word)
            for prefix in self._prefixes:
                if word.startswith(prefix) and len(word) > len(prefix):
                    word = word.removeprefix(prefix)
            for suffix in self._suffixes:
                if word.endswith(suffix) and len(word) > len(suffix):
                    word = word.removesuffix(suffix)
            if word == before:
                break
        return word


def canonical(value: Json, rule: ParameterMatch) -> Canonical:
    """Return the canonical form of one value; for many values, a :class:`Canoniser` is faster."""
    return Canoniser(rule)(value)


def as_text(value: Json) -> str:
    """Return a text unchanged, or a number as text (5.0 as 5). Raises UnfitError for any other value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnfitError("text")
    amount = _or_unfit(number(value), "text or a finite number")
    return str(int(amount)) if amount.is_integer() else repr(amount)


def members(value: Json) -> list[Json]:
    """Return the members of a list, of a list in JSON text, or of text with separators; a single value becomes a list of one."""
    if isinstance(value, str):
        parsed = parsed_json(value) if value.lstrip()[:1] == "[" else None
        value = parsed if isinstance(parsed, list) else _SEPARATORS.split(value)
    listed = value if isinstance(value, (list, tuple)) else [value]
    return [member.strip() if isinstance(member, str) else member for member in listed if not says_nothing(member)]


def unpacked(text: str) -> Json:
    """Return the value in JSON text, decoded as often as it was encoded; other text is returned unchanged."""
    value: Json = text
    while isinstance(value, str) and (parsed := parsed_json(value)) is not None:
        value = parsed
    return value


_Trim = Callable[[str], str]


def _or_unfit(form: Canonical, expected: str) -> Canonical:
    """Return a canonical form, or raise UnfitError if it is None."""
    if form is None:
        raise UnfitError(expected)
    return form


def _word(value: Json, trim: _Trim) -> Canonical:
    """Return the normalised, trimmed form of a text or number; None if it is empty."""
    return trim(normalise(as_text(value))) or None


def _set(value: Json, trim: _Trim) -> Canonical:
    """Return the members of a value as a sorted tuple of distinct trimmed words; None if there are none."""
    return tuple(sorted(filter(None, {_word(member, trim) for member in members(value)}))) or None


def _degrees(value: Json, bound: float) -> Canonical:
    """Return a value as degrees within a bound. Raises UnfitError if it is not a number or out of range."""
    degrees = number(value)
    return _or_unfit(
        None if degrees is None or abs(degrees) > bound else degrees, f"degrees from {-bound:g} to {bound:g}"
    )


def _point(value: Json) -> Canonical:
    """Return a value as a point. Raises UnfitError for any other value."""
    return _or_unfit(point_of(value), 'a point: "lon,lat", [lon, lat] or {"lon", "lat"}')


def _points(value: Json, _trim: _Trim) -> Canonical:
    """Return the points in a list, in a list in JSON text, or in text joined by semicolons. Raises UnfitError."""
    if isinstance(value, str):
        parsed = parsed_json(value) if value.lstrip()[:1] in ("[", "{") else re.split("[;；|]", value.strip(" ;；|"))
        value = [parsed] if isinstance(parsed, dict) else parsed
    elif isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, (list, tuple)) or not value:
        raise UnfitError('points: a list of {"lon", "lat"}, or "lon,lat;lon,lat"')
    if all(isinstance(element, (int, float)) for element in value):
        value = [value]
    return tuple(map(_point, value))


def _time(value: Json, _trim: _Trim) -> Canonical:
    """Return a value as an ISO date, time or moment. Raises UnfitError for any other value."""
    at = moment(value if isinstance(value, str) else number(value))
    return _or_unfit(at, "a date or time: 2026-05-26, 2026-05-26T09:00:00, 09:00 or epoch milliseconds")


def _json(value: Json, _trim: _Trim) -> Canonical:
    """Return JSON data as canonical text; None for an empty value. Raises UnfitError for invalid JSON."""
    try:
        sorted_out = _sorted_out(unpacked(value) if isinstance(value, str) else value)
        return None if says_nothing(sorted_out) else canonical_json(sorted_out)
    except (TypeError, ValueError) as broken:
        raise UnfitError("a JSON value") from broken


def _sorted_out(value: Json) -> Json:
    """Return JSON data without empty members and with numeric text as numbers."""
    if isinstance(value, Mapping):
        inside = {str(key): _sorted_out(member) for key, member in value.items()}
        return {key: member for key, member in inside.items() if not says_nothing(member)}
    if isinstance(value, (list, tuple)):
        return [_sorted_out(element) for element in value]
    amount = number(value)
    return value if amount is None else int(amount) if amount.is_integer() else amount


_FORMS: dict[ParameterType, Callable[[Json, _Trim], Canonical]] = {
    "text": lambda value, _: normalise(as_text(value)) or None,
    "place": _word,
    "number": lambda value, _: _or_unfit(number(value), "a number"),
    "boolean": lambda value, _: _or_unfit(boolean(value), "true or false"),
    "enum": _word,
    "set": _set,
    "id": lambda value, _: as_text(value).strip() or None,
    "lon": lambda value, _: _degrees(value, MAX_LON),
    "lat": lambda value, _: _degrees(value, MAX_LAT),
    "point": lambda value, _: _point(value),
    "points": _points,
    "time": _time,
    "json": _json,
}


#: A call, one canonical value for each of ``ToolSpec.parameters``.
Values = tuple[Canonical, ...]

#: What an undeclared parameter is taken for, by its JSON Schema type: equal in any spelling.
_BY_SCHEMA: dict[str, ParameterType] = {
    "string": "text",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
}
#: What of a schema limits a value beyond its type.
_LIMITS = frozenset(
    {"enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"minLength", "maxLength", "items", "minItems", "maxItems"}
)
#: What of a schema rules values out.
_RULES = _LIMITS | {"type", "$ref", "allOf", "anyOf", "oneOf", "not", "nullable", "default"}
#: What is compared as a whole where a few values are allowed.
_AS_WORDS = ("text", "json", "set")


class UnanswerableError(ValueError):
    """A call that the sandbox refuses like a real service; the message gives the agent the reason."""


class BadArgumentsError(ValueError):
    """A call that the tool cannot accept; ``problems`` gives the reasons, one sentence each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problems))


@dataclass(frozen=True)
class AskedText:
    """The words of a text, split so that a near answer never drops a requested word.

    Attributes:
        known: the declared words in it, each as its head word, sorted.
        other: all other words that are not generic, in their order.
        text: the text with declared words replaced by their head words and without generic ones: by it texts are held against each other.
    """

    known: tuple[str, ...]
    other: tuple[str, ...]
    text: str

    @cached_property
    def key(self) -> tuple[tuple[str, ...], str]:
        """Return a quick comparison key that two texts must share to request the same."""
        return self.known, "".join(sorted("".join(self.other)))

    def same_as(self, asked: AskedText) -> bool:
        """Return whether both texts request exactly the same words, in any order; missing spaces are tolerated."""
        return self.key == asked.key and (
            sorted(self.other) == sorted(asked.other)
            or _made_of(asked.other, "".join(self.other))
            or _made_of(self.other, "".join(asked.other))
        )


def _made_of(words: Iterable[str], text: str) -> bool:
    """Return whether a text consists of exactly these words, even without spaces between them."""
    for word in sorted(words, key=len, reverse=True):
        before, word_there, after = text.partition(word)
        if not word_there:
            return False
        text = before + "\0" + after
    return not text.strip("\0")


class ParameterLexicon:
    """The words that a parameter declares: synonyms with their main word, and generic words.

    Longer words are found first, so that a declared word is never cut in two. Chinese words are found anywhere in a
    run, others only as whole words ("shop" is no part of "photoshop").
    """

    def __init__(self, rule: ParameterMatch) -> None:
        self._head: dict[str, str | None] = {_spaced(word): None for word in rule.generic}
        for head, others in rule.synonyms.items():
            self._head.update({_spaced(word): _spaced(head) for word in (head, *others)})
        longest_first = sorted(filter(None, self._head), key=lambda word: (-len(word), word))
        self._words = re.compile("|".join(map(_whole, longest_first)) or r"(?!)")

    def request(self, text: str) -> AskedText:
        """Return a text split into words; a text of only generic words requests exactly these."""
        spaced = _spaced(text)
        heads = (self._head[match.group()] for match in self._words.finditer(spaced))
        declared = tuple(sorted({head for head in heads if head}))
        other = tuple(self._words.sub(" ", spaced).split())
        if not declared and not other:
            return AskedText(declared, tuple(spaced.split()), normalise(spaced))
        return AskedText(
            declared, other, normalise(self._words.sub(lambda match: self._head[match.group()] or " ", spaced))
        )


def _spaced(text: str) -> str:
    """Return the words of a text, joined by single blanks."""
    return " ".join(tokens(text))


def _whole(word: str) -> str:
    """Return a regular expression for a declared word: only as a whole word in scripts with spaces, otherwise anywhere."""
    before = r"(?<![^ ])" if word[0].isascii() else ""
    after = r"(?![^ ])" if word[-1].isascii() else ""
    return before + re.escape(word) + after


class Fitting:
    """The JSON Schema of one parameter: converts values to the declared type, and finds the limits that they break.

    Args:
        schema: its JSON Schema.
        rule: how it is matched; its synonyms hold for allowed values too.
    """

    def __init__(self, schema: Mapping[str, Any], rule: ParameterMatch) -> None:
        self.limited = not _LIMITS.isdisjoint(schema)
        self._schema = schema
        self._synonyms = tuple(rule.synonyms)
        self._canonise = Canoniser(rule.model_copy(update={"type": "enum"}) if rule.type in _AS_WORDS else rule)
        allowed = schema.get("enum")
        self._allowed: list[Json] = list(allowed) if isinstance(allowed, (list, tuple)) else []
        #: The first of several that are written alike counts.
        self._spelled = {self._canonical(value): value for value in reversed(self._allowed)}
        kinds = schema.get("type")
        listed = kinds if isinstance(kinds, (list, tuple)) else [kinds]
        self._kinds = {kind for kind in listed if isinstance(kind, str)}
        self._is_set = rule.type == "set"
        items, members = schema.get("items"), _mapping(schema.get("properties"))
        self._items = Fitting(items, rule) if isinstance(items, Mapping) else None
        self._members = {
            name: Fitting(part, ParameterMatch()) for name, part in members.items() if isinstance(part, Mapping)
        }
        choices = schema.get("anyOf") or schema.get("oneOf") or ()
        self._choices = [Fitting(part, rule) for part in choices if isinstance(part, Mapping)]

    def fitted(self, value: Json) -> Json:
        """Return a value in its declared type at any depth: numeric text as a number, an allowed value in its own spelling."""
        if self._allowed:
            form = self._canonical(value)
            return value if value in self._allowed or form is None else self._spelled.get(form, value)
        if self._choices:
            ways = [value, *(choice.fitted(value) for choice in self._choices)]
            return next((way for way in ways if not any(mismatches(self._schema, way))), value)
        if isinstance(value, str) and self._kinds and "string" not in self._kinds:
            value = self._meant(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            value = self._written(value)
        if self._items is not None and isinstance(value, (list, tuple)):
            return [self._items.fitted(item) for item in value]
        if self._members and isinstance(value, Mapping):
            return {
                name: self._members[name].fitted(member) if name in self._members else member
                for name, member in value.items()
            }
        return value

    def _meant(self, text: str) -> Json:
        """Return the number, truth value, list or object in a text if the schema does not allow text; otherwise the text."""
        kinds = self._kinds
        amount = number(text) if kinds & {"number", "integer"} else None
        if amount is not None:
            return int(amount) if amount.is_integer() else amount
        truth = boolean(text) if "boolean" in kinds else None
        if truth is not None:
            return truth
        inside = unpacked(text) if kinds & {"array", "object"} else None
        if isinstance(inside, (list, dict)):
            return inside
        return members(text) if self._is_set and "array" in kinds else text

    def _written(self, amount: float) -> Json:
        """Return a number in its declared type: 5.0 as 5, or as text or a truth value if the schema does not allow numbers."""
        kinds = self._kinds
        if kinds & {"number", "integer"}:
            return int(amount) if isinstance(amount, float) and amount.is_integer() else amount
        if "string" in kinds and number(amount) is not None:
            return as_text(amount)
        truth = boolean(amount) if "boolean" in kinds else None
        return amount if truth is None else truth

    def broken(self, value: Json) -> Iterator[str]:
        """Yield a message for each limit that a fitted value breaks: allowed values, range, length, and limits of its items."""
        if self._allowed:
            if value not in self._allowed:
                hint = hint_at(value, [*self._allowed, *self._synonyms])
                words = ", ".join(map(shown, self._allowed))
                yield f"found {shown(value)}, expected one of {words}{hint}"
            return
        if self._schema.get("type") == "integer" and isinstance(value, float):
            yield f"found {value:g}, expected a whole number"
        yield from limits_broken(self._schema, value)
        if self._items is not None and isinstance(value, list):
            for item in value:
                yield from self._items.broken(item)

    def _canonical(self, value: Json) -> Canonical:
        """Return the canonical form of a value; None if the value does not fit."""
        try:
            return self._canonise(value)
        except UnfitError:
            return None


class Parameter:
    """One compared parameter; a longitude with a pair represents the point of both.

    Attributes:
        located: whether it is compared by distance.
        essential: whether a difference beyond its tolerance keeps a recording from answering.
        lexicon: the declared words, where text may be near.
        plain: whether only equal values match it, with no tolerance of any kind.
        nullable: whether null is a value of its own; else it is as good as no value.
    """

    def __init__(
        self,
        name: str,
        rule: ParameterMatch,
        schema: Mapping[str, Any],
        latitude: Canoniser | None,
        *,
        nullable: bool = False,
    ) -> None:
        self.name = name
        self.rule = rule
        self.nullable = nullable
        self.pair = rule.pair if latitude else None
        self.located = rule.type in ("point", "points") or latitude is not None
        self.essential = rule.role == "essential"
        self.lexicon = ParameterLexicon(rule) if rule.type == "text" and rule.near is not None else None
        self.plain = not (self.located or self.lexicon or rule.covers or rule.subset or rule.open)
        self._canonise = Canoniser(rule)
        self._latitude = latitude
        self.default = rule.default if rule.default is not None else schema.get("default")
        self._default = None if latitude else self._canonise(self.default)

    def read(self, arguments: Mapping[str, Json]) -> Canonical:
        """Return the canonical value of a call's argument or of the default. Raises UnfitError if it does not have the declared type."""
        given = arguments.get(self.name)
        if self._latitude is not None:
            lon, lat = self._canonise(given), self._latitude(arguments.get(self.pair or ""))
            if (lon is None) != (lat is None):
                raise UnfitError(f"a longitude, and in {self.pair!r} the latitude that goes with it")
            return None if lon is None else (lon, lat)
        try:
            value = None if given is None else self._canonise(given)
        except UnfitError:
            if self.rule.named and isinstance(given, str):
                return None
            raise
        return self._default if value is None and not self._is_null(arguments) else value

    def written(self, arguments: Mapping[str, Json]) -> Json:
        """Return the original value in the call, or the default, for messages; both values of a pair."""
        if self.pair is not None:
            point = [arguments.get(self.name), arguments.get(self.pair)]
            return None if point == [None, None] else point
        value = arguments.get(self.name)
        return self.default if value is None and not self._is_null(arguments) else value

    def _is_null(self, arguments: Mapping[str, Json]) -> bool:
        """Return whether a call gives null and null differs from the default."""
        return self.nullable and self.name in arguments and arguments[self.name] is None


class SpecCall:
    """One call of a tool, requested or recorded, with its canonical values."""

    def __init__(self, arguments: Mapping[str, Json], values: Values) -> None:
        self.arguments = arguments
        self.values = values
        self._requests: dict[str, AskedText] = {}

    def request(self, parameter: Parameter) -> AskedText:
        """Return the request in the text of a parameter, which must have a lexicon and a text."""
        request = self._requests.get(parameter.name)
        if request is None:
            lexicon = parameter.lexicon or ParameterLexicon(parameter.rule)
            request = self._requests[parameter.name] = lexicon.request(str(parameter.written(self.arguments)))
        return request


class ToolSpec:
    """The matching rules of one tool, prepared for reading and comparing its calls.

    Attributes:
        located: the places among the values that are compared by distance.
        cutters: what a result can be cut by, with its place.
        reach: the essential places, each with its tolerance in metres.
    """

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self._properties: Mapping[str, Any] = tool.parameters.get("properties", {})
        self._required = tuple(tool.parameters.get("required", ()))
        rules = {name: self.rule(name) for name in self._properties}
        paired = {rule.pair for rule in rules.values() if rule.type == "lon" and rule.role != "ignored"}
        self.parameters = tuple(
            Parameter(name, rule, self._schema(name), _latitude(rule, rules), nullable=self._takes_null(name))
            for name, rule in rules.items()
            if rule.role != "ignored" and name not in paired and name not in tool.secrets
        )
        self._fittings = {name: Fitting(self._schema(name), rule) for name, rule in rules.items()}
        self._places = {parameter.name: index for index, parameter in enumerate(self.parameters)}
        placed = tuple(enumerate(self.parameters))
        self.located = tuple(index for index, parameter in placed if parameter.located)
        self.cutters = tuple(
            (at, parameter) for at, parameter in placed if parameter.rule.covers or parameter.rule.subset
        )
        self.reach = tuple(
            (at, max(parameter.rule.within_m, SAME_POINT_M))
            for at, parameter in placed
            if parameter.located and parameter.essential
        )

    def _schema(self, name: str) -> Mapping[str, Any]:
        """Return the schema of a parameter; empty if it is not an object."""
        return _mapping(self._properties[name])

    def _takes_null(self, name: str) -> bool:
        """Return whether null is a value of a parameter, by its schema; without a type in the schema, only if no match is declared."""
        schema = self._schema(name)
        declared = not _RULES.isdisjoint(schema) or name not in self.tool.match
        return name in self._properties and declared and not any(mismatches(schema, None, root=self.tool.parameters))

    def rule(self, name: str) -> ParameterMatch:
        """Return the matching rule of a parameter: the declared rule, otherwise a rule for the type in its schema."""
        declared = self.tool.match.get(name)
        if declared is not None:
            return declared
        kind = self._schema(name).get("type")
        return ParameterMatch(type=_BY_SCHEMA.get(kind, "json") if isinstance(kind, str) else "json")

    def read(self, arguments: Mapping[str, Json], *, complete: bool = True) -> SpecCall:
        """Return a call with its canonical values, after checking its arguments.

        Args:
            arguments: the call's arguments, as an agent or a recording gives them.
            complete: whether required parameters must be there, null only where their schemas allow it (a recorded call may lack them: the service took it).

        Raises:
            BadArgumentsError: a name is unknown, a required parameter is missing, or a value is not of its type.
        """
        problems = [self._unknown(name) for name in arguments if name not in self._properties]
        if complete:
            missing = (
                name
                for name in self._required
                if arguments.get(name) is None and not (name in arguments and self._takes_null(name))
            )
            problems += [f"missing required parameter {name!r}" for name in missing]
        values = []
        for parameter in self.parameters:
            try:
                values.append(parameter.read(arguments))
            except UnfitError as unfit:
                names = " with ".join(repr(name) for name in (parameter.name, parameter.pair) if name)
                problems.append(f"parameter {names} is {shown(parameter.written(arguments))}, expected {unfit}")
        if complete and self.tool.strict and not problems:
            problems += mismatches(self.tool.parameters, arguments)
        if problems:
            raise BadArgumentsError(problems)
        return SpecCall(arguments, tuple(values))

    def fitted(self, arguments: Mapping[str, Json]) -> JsonObject:
        """Return the arguments of a call in their declared types, without nulls that the schemas do not allow."""
        return {
            name: self._fittings[name].fitted(value)
            for name, value in arguments.items()
            if value is not None or not any(mismatches(self._schema(name), None, root=self.tool.parameters))
        }

    def limits_broken(self, arguments: Mapping[str, Json]) -> Iterator[str]:
        """Yield a sentence for each parameter beyond a limit of its schema. Recorded calls may exceed limits."""
        for name, value in arguments.items():
            fitting = self._fittings.get(name)
            # What says nothing is left out, where it may be.
            given = value is not None if name in self._required else not _empty(value)
            if fitting is not None and fitting.limited and given:
                wrong = next(fitting.broken(fitting.fitted(value)), None)
                if wrong is not None:
                    yield f"parameter {name!r}: {wrong}"

    def value(self, call: SpecCall, name: str) -> Canonical:
        """Return the canonical value of a parameter in a call; None if it is not compared or not given."""
        return call.values[self._places[name]] if name in self._places else None

    def given(self, call: SpecCall, name: str) -> Json:
        """Return the value of a parameter in a call, otherwise its default; None if it is empty."""
        at = self._places.get(name)
        value = self.parameters[at].written(call.arguments) if at is not None else call.arguments.get(name)
        return None if _empty(value) else value

    def _unknown(self, name: object) -> str:
        """Return the message that the tool has no parameter of this name, with a similar name."""
        return f"unknown parameter {shown(name)} ({did_you_mean(name, self._properties, 'it has')})"


_specs: dict[int, ToolSpec] = {}
_SPECS_AT_MOST = 1024


def spec_of(tool: Tool) -> ToolSpec:
    """Return the prepared rules of a tool, cached by the tool object."""
    spec = _specs.get(id(tool))
    if spec is None or spec.tool is not tool:
        if len(_specs) >= _SPECS_AT_MOST:
            _specs.clear()
        spec = _specs[id(tool)] = ToolSpec(tool)
    return spec


def rule_of(tool: Tool, name: str) -> ParameterMatch:
    """Return the matching rule of a tool's parameter."""
    return spec_of(tool).rule(name)


def argument_problems(tool: Tool, arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the reasons why a tool cannot accept some arguments, one sentence each; empty if it can."""
    spec = spec_of(tool)
    try:
        spec.read(arguments)
    except BadArgumentsError as bad:
        return bad.problems
    return tuple(spec.limits_broken(arguments))


def _latitude(rule: ParameterMatch, rules: Mapping[str, ParameterMatch]) -> Canoniser | None:
    """Return the reader of the latitude for a longitude parameter; None if there is none."""
    pair = rules.get(rule.pair or "") if rule.type == "lon" else None
    return None if pair is None else Canoniser(pair)


def _mapping(value: Json) -> Mapping[str, Any]:
    """Return a mapping unchanged, and an empty mapping for any other value."""
    return value if isinstance(value, Mapping) else {}


def _empty(value: Json) -> bool:
    """Return whether a value is None or an empty text, list or object."""
    return value is None or (isinstance(value, (str, list, tuple, dict)) and not value)
