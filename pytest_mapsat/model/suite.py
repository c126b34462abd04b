"""The manifest of a suite: a folder of cases, tools and records."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .base import Identifier, Noun, Text

SUITE_SCHEMA = 1
_Word = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"\S")]
_Words = Annotated[tuple[_Word, ...], Field(max_length=500)]


class SuiteManifest(Noun):
    """What ``suite.yaml`` says.

    ``domains``: the suite's domains, which become markers, each with a line of description. ``coordinates`` is never converted nor mixed.
    ``vocabulary``: words of the suite's domain by group of the language packs (``reject``, or ``role.wait`` where the words have a value).
    """

    name: Identifier
    version: Text
    license: Text
    schema_version: int = Field(ge=1)
    coordinates: Literal["gcj02", "wgs84"]
    language: str = "en"
    domains: dict[Identifier, str] = Field(default_factory=dict)
    description: str = ""
    vocabulary: dict[str, _Words] = Field(default_factory=dict, max_length=200)
