"""The manifest of a suite: a folder of cases, tools and records."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Identifier, Noun, Text

SUITE_SCHEMA = 1


class SuiteManifest(Noun):
    """What ``suite.yaml`` says.

    ``domains``: the suite's domains, which become markers, each with a line of description. ``coordinates`` is never converted nor mixed.
    """

    name: Identifier
    version: Text
    license: Text
    schema_version: int = Field(ge=1)
    coordinates: Literal["gcj02", "wgs84"]
    language: str = "en"
    domains: dict[Identifier, str] = Field(default_factory=dict)
    description: str = ""
