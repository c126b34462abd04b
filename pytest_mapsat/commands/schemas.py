"""``python -m pytest_mapsat schema``: JSON Schemas of the files that people write and that runs leave. Editors complete and check YAML by them.

A field is described where it is defined: in the docstring of its noun, under ``Attributes:``, with an example in JSON or plain text after ``Example:``.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from pytest_mapsat import reports
from pytest_mapsat.agents.service_file import ServiceFile
from pytest_mapsat.model import CommonRequirement, Run, SuiteManifest, Tool
from pytest_mapsat.suite import WrittenCase

from . import shared

NOUNS: Mapping[str, Any] = {
    "case": WrittenCase | list[WrittenCase],
    "report": reports.Report,
    "requirements": dict[str, CommonRequirement],
    "run": Run,
    "service": ServiceFile,
    "suite": SuiteManifest,
    "tools": Tool | list[Tool],
}
#: A field of an ``Attributes:`` section, or several with one text.
_FIELD = re.compile(r"^    (\w+(?:, \w+)*): (.*(?:\n {5,}\S.*)*)", re.MULTILINE)
_EXAMPLE = re.compile(r"\s*Example: ``(.+)``$")
#: Unions that many schemas have, by the tag of one of their members: each is defined once.
_UNIONS = {"python": "Check", "within_m": "Match"}

#: Keywords of a union.
_UNION = ("anyOf", "oneOf", "discriminator")

Schema = dict[str, Any]


def add_schema_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat schema``."""
    parser.add_argument("noun", metavar="NOUN", choices=[*NOUNS], help=f"one of: {', '.join(NOUNS)}")
    parser.add_argument("--json", action="store_true", help="accepted for symmetry: a schema is always JSON")


def run_schema(options: argparse.Namespace) -> int:  # noqa: D103  the help of all commands says it
    shared.write_json(schema_of(options.noun))
    return shared.OK


def schema_of(noun: str) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a noun; every property has a description and an example."""
    schema: Schema = TypeAdapter(NOUNS[noun]).json_schema(schema_generator=_Described)
    return _Finisher(schema.setdefault("$defs", {})).finished(schema)


def fields_of(noun: type[BaseModel]) -> dict[str, tuple[str, list[Any]]]:
    """Return the description and the examples of each field that the docstrings of a noun and its bases describe."""
    fields: dict[str, tuple[str, list[Any]]] = {}
    for base in reversed(noun.__mro__):
        section = inspect.cleandoc(base.__dict__.get("__doc__") or "").partition("Attributes:\n")[2]
        for names, text in _FIELD.findall(re.split(r"^\S", section, maxsplit=1, flags=re.MULTILINE)[0]):
            about = " ".join(text.split())
            example = _EXAMPLE.search(about)
            plain = _EXAMPLE.sub("", about).replace("``", "`")
            fields |= dict.fromkeys(names.split(", "), (plain, [_value(example[1])] if example else []))
    return fields


def _value(text: str) -> Any:
    """Return the value that an example is: JSON, else the text itself."""
    with suppress(ValueError):
        return json.loads(text)
    return text


class _Described(GenerateJsonSchema):
    """Describes each property by the docstring of its noun."""

    def model_schema(self, schema: Any) -> Schema:
        """Return the schema of a noun, with a description for each property and the examples that are given."""
        noun, described = schema["cls"], super().model_schema(schema)
        fields = fields_of(noun)
        for name, field in noun.model_fields.items():
            alias = field.alias or name
            about, examples = fields.get(alias) or fields.get(name) or ("", [])
            described["properties"][alias] |= {"description": about} | ({"examples": examples} if examples else {})
        described["description"] = inspect.cleandoc(noun.__doc__ or "").partition("\n\n")[0].replace("``", "`")
        if word := noun.word:  # a bare word in place of the object
            described |= {"type": ["object", "string"], "if": {"type": "string"}, "then": described["properties"][word]}
        return described


class _Finisher:
    """Separates the members of unions by type and tag, so that an editor can name the wrong key; adds examples.

    Args:
        definitions: ``$defs`` of the schema, which it adds to.
    """

    def __init__(self, definitions: Schema) -> None:
        self._definitions = definitions

    def finished(self, schema: Schema) -> Schema:
        """Return the whole schema, finished."""
        for name in list(self._definitions):
            self._definitions[name] = self._told_apart(self._definitions[name])
        schema = self._told_apart({key: value for key, value in schema.items() if key != "$defs"})
        for part in (schema, *self._definitions.values()):
            for prop in part.get("properties", {}).values():
                prop.setdefault("examples", [self._example(prop)])
        return schema | ({"$defs": self._definitions} if self._definitions else {})

    def _resolved(self, schema: Schema) -> Schema:
        """Return the schema that a reference leads to, any other unchanged."""
        while "$ref" in schema:
            schema = self._definitions[schema["$ref"].rpartition("/")[2]]
        return schema

    def _told_apart(self, schema: Any) -> Any:
        """Return a schema in which each union with objects or lists is a list of conditions."""
        if isinstance(schema, list):
            return [self._told_apart(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        members = [(member, self._types(member)) for member in _members(schema)]
        if all(kinds for _, kinds in members) and any({"object", "array"} & {*kinds} for _, kinds in members):
            return {key: part for key, part in schema.items() if key not in _UNION} | self._union(members)
        return {key: part if key in ("examples", "default") else self._told_apart(part) for key, part in schema.items()}

    def _union(self, members: Sequence[tuple[Schema, list[str]]]) -> Schema:
        """Return a union as a list of conditions: by type, and for several kinds of objects by their tag."""
        types = sorted({kind for _, kinds in members for kind in kinds})
        tagged = {
            number: next((name for name in ("kind", "op") if name in self._resolved(member).get("properties", {})), "")
            for number, (member, kinds) in enumerate(members)
            if kinds == ["object"]
        }
        tag = next(iter(tagged.values())) if len(tagged) > 1 else ""
        rules: list[Schema] = []
        tags: list[str] = []
        for number, (member, kinds) in enumerate(members):
            condition: Schema = {"type": kinds}
            if tag and number in tagged:
                part = self._resolved(member)["properties"][tag]
                words = part.get("enum") or [part["const"]]
                tags += words
                condition |= {"required": [tag], "properties": {tag: {"enum": words}}}
            if kinds != ["null"]:
                rules.append({"if": condition, "then": self._told_apart(member)})
        name = next((name for word, name in _UNIONS.items() if word in tags), "")
        if name == "Check" and "null" in types:
            some = [member for member in members if member[1] != ["null"]]
            return {"type": types, "allOf": [{"if": {"not": {"type": "null"}}, "then": self._union(some)}]}
        if tag:
            known: Schema = {"enum": tags}
            named = (
                {"anyOf": [known, {"type": "string"}]} if name == "Check" else known
            )  # other names: checks in Python
            rules.insert(0, {"if": {"type": "object"}, "then": {"required": [tag], "properties": {tag: named}}})
        for rule in rules if name == "Check" else ():
            if rule["then"].get("type") == "array":
                rule["then"] = {"type": "array", "items": {"$ref": "#/$defs/Check"}}
        union = {"type": types, "allOf": rules}
        if not name:
            return union
        self._definitions[name] = union
        return {"$ref": f"#/$defs/{name}"}

    def _types(self, schema: Schema) -> list[str]:
        """Return the types that a schema allows; empty if it allows any."""
        resolved = self._resolved(schema)
        types = resolved.get("type", "string" if {"enum", "const"} & resolved.keys() else [])
        return [types] if isinstance(types, str) else types

    def _example(self, schema: Schema) -> Any:
        """Return a value that fits a schema: its own example, else one made of the examples of its parts."""
        schema = self._resolved(schema) | schema
        for key in ("examples", "enum"):
            if schema.get(key):
                return schema[key][0]
        if "const" in schema:
            return schema["const"]
        rules = [
            rule["then"]
            for rule in schema.get("allOf", ())
            if rule["if"] != {"type": "object"} or "$ref" in rule["then"]
        ]
        if members := [*_members(schema), *rules]:
            return self._example(members[0])
        if schema.get("type") == "array":
            return [self._example(schema["items"])]
        if "properties" in schema:
            names = schema.get("required") or list(schema["properties"])[:1]
            return {name: self._example(schema["properties"][name]) for name in names}
        return True if schema.get("type") == "boolean" else {} if schema.get("type") == "object" else None


def _members(schema: Schema) -> Iterator[Schema]:
    """Yield the members of a union, also of the unions in it."""
    for member in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from list(_members(member)) or [member]
