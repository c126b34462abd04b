"""``python -m pytest_mapsat schema``: JSON Schemas of the files that people write and that runs leave. Editors complete and check YAML by them.

A field is described where it is defined: in the docstring of its noun, under ``Attributes:``, with an example in JSON or plain text after ``Example:``.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from pytest_mapsat import reports
from pytest_mapsat.agents.service_file import ServiceFile
from pytest_mapsat.model import CommonRequirement, Run, SuiteManifest, Tool, as_list
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
#: Examples that are JSON; others are texts.
_JSON = re.compile(r"[\[{\"]|-?\d+(\.\d+)?$")
#: Unions that many schemas have, by the tag of one of their members: each is defined once.
_UNIONS = {"python": "Check", "within_m": "Match"}

Schema = dict[str, Any]


def add_schema_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mapsat schema``."""
    parser.add_argument("noun", metavar="NOUN", choices=[*NOUNS], help=f"one of: {', '.join(NOUNS)}")
    parser.add_argument("--json", action="store_true", help="accepted for symmetry: a schema is always JSON")


def run_schema(options: argparse.Namespace) -> int:  # noqa: D103  the help of all commands says it
    shared.write_json(schema_of(options.noun))
    return shared.OK


def schema_of(noun: str) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a model class; every property has a description and an example."""
    schema: Schema = TypeAdapter(NOUNS[noun]).json_schema(schema_generator=_Described)
    return _Finisher(schema.setdefault("$defs", {})).finished(schema)


def fields_of(noun: type[BaseModel]) -> dict[str, tuple[str, list[Any]]]:
    """Return the description and examples of each field, from the docstrings of a model class and its bases."""
    fields: dict[str, tuple[str, list[Any]]] = {}
    for base in reversed(noun.__mro__):
        section = inspect.cleandoc(base.__dict__.get("__doc__") or "").partition("Attributes:\n")[2]
        for names, text in _FIELD.findall(re.split(r"^\S", section, maxsplit=1, flags=re.MULTILINE)[0]):
            about = " ".join(text.split())
            examples = [json.loads(text) if _JSON.match(text) else text for text in _EXAMPLE.findall(about)]
            fields |= dict.fromkeys(names.split(", "), (_EXAMPLE.sub("", about).replace("``", "`"), examples))
    return fields


class _Described(GenerateJsonSchema):
    """Describes each property by the docstring of its model class."""

    def model_schema(self, schema: Any) -> Schema:
        """Return the schema of a model class, with a description and the given examples for each property."""
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

    def function_before_schema(self, schema: Any) -> Schema:
        """Return the schema of a value that is converted first; if a single text may replace a list, the schema allows both."""
        inner = super().function_before_schema(schema)
        return {"anyOf": [inner["items"], inner]} if schema["function"]["function"] is as_list else inner


class _Finisher:
    """Separates the members of unions by type and tag, so that an editor can name the wrong key; adds examples.

    Args:
        definitions: ``$defs`` of the schema, which it adds to.
    """

    def __init__(self, definitions: Schema) -> None:
        self._definitions = definitions

    def finished(self, schema: Schema) -> Schema:
        """Return the whole schema in its final form."""
        for name in list(self._definitions):
            self._definitions[name] = self._separated(self._definitions[name])
        schema = self._separated({key: value for key, value in schema.items() if key != "$defs"})
        for part in (schema, *self._definitions.values()):
            for prop in part.get("properties", {}).values():
                prop.setdefault("examples", [self._example(prop)])
        return schema | {"$defs": self._definitions}

    def _resolved(self, schema: Schema) -> Schema:
        """Return the schema that a reference leads to; return any other schema unchanged."""
        return self._definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def _separated(self, schema: Any) -> Any:
        """Return a schema in which each union with objects or lists is a list of conditions."""
        if isinstance(schema, list):
            return [self._separated(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        members = [(member, self._types(member)) for member in _members(schema)]
        if all(kinds for _, kinds in members) and any({"object", "array"} & {*kinds} for _, kinds in members):
            return {
                key: part for key, part in schema.items() if key not in ("anyOf", "oneOf", "discriminator")
            } | self._union(members)
        return {key: part if key in ("examples", "default") else self._separated(part) for key, part in schema.items()}

    def _union(self, members: Sequence[tuple[Schema, list[str]]]) -> Schema:
        """Return a union as a list of conditions: by type, and for several kinds of objects by their tag."""
        union: Schema = {"type": sorted({kind for _, kinds in members for kind in kinds})}
        if "null" in union["type"]:
            others = [member for member in members if member[1] != ["null"]]
            return union | {"if": {"not": {"type": "null"}}, "then": self._union(others)}
        several = sum(kinds == ["object"] for _, kinds in members) > 1
        rules: list[Schema] = []
        tags: dict[str, list[str]] = {}
        for member, kinds in members:
            properties = self._resolved(member).get("properties", {}) if several and kinds == ["object"] else {}
            words = {tag: _words(properties[tag]) for tag in ("kind", "op") if tag in properties}
            condition = {
                "type": kinds,
                "required": list(words),
                "properties": {tag: {"enum": words[tag]} for tag in words},
            }
            rules.append({"if": condition, "then": self._separated(member)})
            tags |= {tag: tags.get(tag, []) + words[tag] for tag in words}
        known: Schema = {tag: {"enum": words} for tag, words in tags.items()}
        name = next((name for word, name in _UNIONS.items() if word in sum(tags.values(), [])), "")  # noqa: RUF017
        if name == "Check":  # other names are checks in Python; a list of checks is short for all of them
            known["kind"] = {"anyOf": [known["kind"], {"type": "string"}]}
            rules[-1]["then"] = {"type": "array", "items": {"$ref": "#/$defs/Check"}}
        if known:
            rules.insert(0, {"if": {"type": "object"}, "then": {"required": list(known), "properties": known}})
        union["allOf"] = rules
        if name:
            self._definitions[name] = union
        return {"$ref": f"#/$defs/{name}"} if name else union

    def _types(self, schema: Schema) -> list[str]:
        """Return the types that a schema allows; empty if it allows any."""
        resolved = self._resolved(schema)
        types = resolved.get("type", "string" if {"enum", "const"} & resolved.keys() else [])
        return [types] if isinstance(types, str) else types

    def _example(self, schema: Schema) -> Any:
        """Return a value that fits a schema: the schema's own example, or a value made from the examples of its parts."""
        schema = self._resolved(schema) | schema
        if given := schema.get("examples") or _words(schema):
            return given[0]
        parts = [rule["then"] for rule in schema.get("allOf", ()) if rule["then"].keys() != {"required", "properties"}]
        if parts := [*_members(schema), *parts, *[schema[key] for key in schema if key == "then"]]:
            return self._example(parts[0])
        if "items" in schema:
            return [self._example(schema["items"])]
        properties = schema.get("properties", {})
        names = schema.get("required") or list(properties)[:1]
        made = {name: self._example(properties[name]) for name in names}
        return True if schema.get("type") == "boolean" else made if schema.get("type") == "object" else None


def _words(schema: Schema) -> list[Any]:
    """Return the values that a schema lists; empty if it lists none."""
    return schema.get("enum") or [schema[key] for key in schema if key == "const"]


def _members(schema: Schema) -> Iterator[Schema]:
    """Yield the members of a union, including those of nested unions."""
    for member in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from list(_members(member)) or [member]
