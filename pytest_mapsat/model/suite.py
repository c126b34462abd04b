"""The manifest of a suite: a folder of cases, tools and records."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from .base import Identifier, JsonObject, Noun, Text
from .metric import MetricName
from .run import Asserted

SUITE_SCHEMA = 1
_Word = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"\S")]
_Words = Annotated[tuple[_Word, ...], Field(max_length=500)]


class EpisodeDefaults(Noun):
    """What an episode of the suite's cases may use where nobody says otherwise; null: what is usual.

    ``max_turns``: agent replies; ``timeout``: wall time, seconds. ``user``: who speaks for the user.
    """

    max_turns: int | None = Field(default=None, ge=1, le=1_000_000, strict=True)
    timeout: float | None = Field(default=None, gt=0, le=86_400)
    user: Literal["scripted", "silent"] | None = None


class SuiteManifest(Noun):
    """What ``suite.yaml`` says.

    ``domains``: the suite's domains, which become markers, each with a line of description. ``coordinates`` is never converted nor mixed; null for
    a suite without places.
    ``currency``: the one that its money is in (ISO 4217); sums in any other stay undecided.
    ``metrics``: the families of metrics that its cases are measured by; ``success``: the one metric that is 1 where a case is done.
    ``asserted`` (``assert`` in the file): what fails an item, and ``episode``: the limits and the user, where neither command line nor ini says so.
    ``world``: options for the world in Python that its cases need; a run without such a world is refused.
    ``vocabulary``: words of the suite's domain by group of the language packs (``reject``, or ``role.wait`` where the words have a value).
    """

    name: Identifier
    version: Text
    license: Text
    schema_version: int = Field(ge=1)
    coordinates: Literal["gcj02", "wgs84"] | None = None
    language: str = "en"
    domains: dict[Identifier, str] = Field(default_factory=dict)
    description: str = ""
    currency: Literal["CNY", "EUR", "USD", "GBP", "JPY"] = "CNY"
    metrics: tuple[Identifier, ...] = Field(default=("msb",), min_length=1, max_length=20)
    success: MetricName | None = None
    asserted: tuple[Asserted, ...] | None = Field(default=None, alias="assert", min_length=1)
    episode: EpisodeDefaults = EpisodeDefaults()
    world: JsonObject = Field(default_factory=dict)
    vocabulary: dict[str, _Words] = Field(default_factory=dict, max_length=200)

    @field_validator("asserted")
    @classmethod
    def _none_alone(cls, asserted: tuple[Asserted, ...] | None) -> tuple[Asserted, ...] | None:
        if asserted is not None and "none" in asserted and len(asserted) > 1:
            raise ValueError("found 'none' among others, expected it alone")
        return None if asserted is None else tuple(sorted(set(asserted)))

    @field_validator("metrics")
    @classmethod
    def _once(cls, families: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(families)) < len(families):
            raise ValueError("a family of metrics stands here twice")
        return families
