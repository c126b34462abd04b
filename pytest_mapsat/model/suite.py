"""The manifest of a suite: a folder of cases, tools and recordings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from .base import Asserted, Identifier, Json, JsonObject, MetricName, Noun, RequirementKind, Text
from .case import EpisodeTerms

SUITE_SCHEMA = 1
_Word = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"\S")]
_Variable = Annotated[str, StringConstraints(max_length=255, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_Words = Annotated[tuple[_Word, ...], Field(max_length=500)]


class EpisodeDefaults(EpisodeTerms):
    """What an episode of the suite's cases may use by default; null: what is usual.

    ``calls``: those of cases that do not give their own. ``max_turns``: agent replies; ``timeout``: wall time, seconds. ``user``: who speaks for the user.
    """

    max_turns: int | None = Field(default=None, ge=1, le=1_000_000, strict=True)
    timeout: float | None = Field(default=None, gt=0, le=86_400)
    user: Literal["scripted", "silent"] | None = None


class SampleTerms(Noun):
    """How a sample of the suite's cases is drawn.

    ``by``: attributes that it is spread over, or ``domain``, ``difficulty``, ``language``, ``group``: equally over the values of the first, in proportion over the
    others. ``seed``: draws another sample.
    """

    by: Annotated[tuple[_Word, ...], Field(max_length=20)] = ()
    seed: int = Field(default=0, ge=0, le=999_999_999, strict=True)

    @field_validator("by")
    @classmethod
    def _once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("an attribute stands here twice")
        return names

    def __str__(self) -> str:
        by = f"by {', '.join(self.by)} " if self.by else ""
        return f"{by}(seed {self.seed})"


class Window(Noun):
    """Windows of a dialogue in which a model judges it: how many messages each has, and how many of them stand in the one before, too."""

    messages: int = Field(ge=2, le=1000, strict=True)
    overlap: int = Field(default=0, ge=0, strict=True)

    @model_validator(mode="after")
    def _goes_on(self) -> Window:
        if self.overlap >= self.messages:
            raise ValueError(f"an overlap of {self.overlap} leaves a window of {self.messages} messages nothing new")
        return self


class JudgeTerms(Noun):
    """What the suite says to judges, and asks of them.

    ``about``: a sentence that a model which judges is shown with each dialogue. ``window``: the windows in which a model follows requirements of scope
    trajectory, policies apart; null: it is shown the whole. ``tpr``, ``tnr``: what a judge must reach before its verdicts decide a gate: the share
    of kept requirements that it passes, and of broken ones that it fails, each by its lower bound; null: nothing is asked. ``labels``: how many labelled
    requirements that must rest on, kept and broken together.
    """

    about: str = Field(default="", max_length=400)
    window: Window | None = None
    tpr: float | None = Field(default=None, gt=0, lt=1)
    tnr: float | None = Field(default=None, gt=0, lt=1)
    labels: int = Field(default=0, ge=0, le=1_000_000, strict=True)

    @property
    def certified(self) -> bool:
        """Whether a judge needs a certificate before it may gate."""
        return bool(self.tpr or self.tnr or self.labels)


class CommonRequirement(Noun):
    """A requirement that several cases take with ``use``, or a group of such requirements.

    ``kind``: as in a case. ``use``: further ones that a case takes with it. ``id``: that in the case, where it is another than the one it is used by. ``text``: one, or one by language. The other
    fields are those of its kind. ``{{name}}`` in any of them is filled from the case's ``vars``, and all is validated in each case that takes it.
    """

    kind: RequirementKind | None = None
    use: tuple[Identifier, ...] = ()
    id: Identifier | None = None
    text: Text | dict[Text, Text] | None = None
    source: Json = None
    weight: Json = None
    evidence: Json = None
    scope: Json = None
    check: Json = None
    levels: Json = None

    @model_validator(mode="after")
    def _says_something(self) -> CommonRequirement:
        if self.kind is None and not self.use:
            raise ValueError(
                "a common requirement has a kind (asked, hard, soft, fact, policy), or is a group of others: use: [ids]"
            )
        if self.kind is None and (self.model_fields_set - {"use"}):
            raise ValueError("a group has nothing but use: say its kind where it is a requirement, too")
        if self.kind is not None and self.text is None:
            raise ValueError("a requirement has a text")
        return self


class EnvironmentTerms(Noun):
    """A service with endpoints for tests that episodes act on.

    ``state``: how its tables are asked for, as ``GET http://127.0.0.1:8000/test/state``; ``reset``: how it is reset before each episode, empty: it is not. Both may have ``${VARIABLE}``, and so may ``headers``.
    ``keys``: the columns that tell the rows of a table apart, where it is not ``id``. ``ignore``, ``hide``: columns that do not count, or that count and reach no file. ``hosts``: where it may be besides
    this machine. ``settle``: seconds between two readings that must be equal. ``parallel``: whether episodes do not see each other.
    """

    state: Text
    reset: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    keys: dict[str, Text | tuple[Text, ...]] = Field(default_factory=dict)
    ignore: tuple[Text, ...] = ()
    hide: tuple[Text, ...] = ()
    hosts: tuple[Text, ...] = ()
    settle: float = Field(default=0.1, ge=0, le=60)
    parallel: bool = False


class SuiteManifest(Noun):
    """What ``suite.yaml`` says.

    ``license``: under which others may use it; null: no one may, or it is not stated.
    ``domains``: the suite's domains, which become markers, each with a line of description. ``coordinates`` is never converted nor mixed; null for
    a suite without places.
    ``currency``: the one that its money is in (ISO 4217); sums in any other stay undecided.
    ``metrics``: the metric sets that its cases are measured by; ``success``: the one metric that is 1 where a case is done.
    ``asserted`` (``fail_on`` in the file): what fails an item, and ``episode``: the limits and the user, where neither command line nor ini says so.
    ``judge``: what it says to judges, and asks of those that may gate. ``sample``: how samples of its cases are drawn.
    ``instructions``: those of cases that do not give their own; ``common``: requirements that cases take with ``use``, by id.
    ``sandbox``: options for the sandbox in Python that its cases need; a run without such a sandbox is refused.
    ``environment``: a service that episodes act on in place of a sandbox; null: there is none, or a fixture or a hook gives one.
    ``carry``: what an agent keeps of a user's earlier tasks besides the interactions that cases give: ``dialogues``, its own; null: nothing.
    ``cases``: how many the suite has, so that one that is not found is told; null: they are not counted.
    ``arguments``: whether arguments of calls are fitted to the tools' parameters where they mean the same (``"2"`` for 2), or refused (``strict``).
    ``misses``: whose fault a call is that no recording answers, where the case has recordings of its tool: the ``sandbox``'s, or the ``agent``'s.
    ``vocabulary``: words of the suite's domain by group of the language packs (``reject``, or ``role.wait`` where the words have a value).
    ``redact``: variables of the environment that hold secrets although their names do not say so.
    """

    name: Identifier
    version: Text
    license: Text | None = None
    schema_version: int = Field(ge=1)
    coordinates: Literal["gcj02", "wgs84"] | None = None
    language: str = "en"
    domains: dict[Identifier, str] = Field(default_factory=dict)
    description: str = ""
    instructions: str = Field(default="", max_length=100_000)
    common: dict[Identifier, CommonRequirement] = Field(default_factory=dict)
    currency: Literal["CNY", "EUR", "USD", "GBP", "JPY"] = "CNY"
    metrics: tuple[Identifier, ...] = Field(default=("msb",), min_length=1, max_length=20)
    success: MetricName | None = None
    asserted: tuple[Asserted, ...] | None = Field(default=None, alias="fail_on", min_length=1)
    episode: EpisodeDefaults = EpisodeDefaults()
    judge: JudgeTerms = JudgeTerms()
    sample: SampleTerms = SampleTerms()
    sandbox: JsonObject = Field(default_factory=dict)
    environment: EnvironmentTerms | None = None
    arguments: Literal["tolerant", "strict"] = "tolerant"
    misses: Literal["sandbox", "agent"] = "sandbox"
    carry: Literal["dialogues"] | None = None
    cases: int | None = Field(default=None, ge=0, strict=True)
    vocabulary: dict[str, _Words] = Field(default_factory=dict, max_length=200)
    redact: tuple[_Variable, ...] = Field(default=(), max_length=200)

    @field_validator("asserted")
    @classmethod
    def _none_alone(cls, asserted: tuple[Asserted, ...] | None) -> tuple[Asserted, ...] | None:
        if asserted is not None and "none" in asserted and len(asserted) > 1:
            raise ValueError("found 'none' among others, expected it alone")
        return None if asserted is None else tuple(sorted(set(asserted)))

    @field_validator("success")
    @classmethod
    def _of_an_episode(cls, success: str | None) -> str | None:
        if success == "pass_rate":
            raise ValueError("pass_rate counts the items that pass, and success says which do: name a metric of one")
        return success

    @field_validator("metrics")
    @classmethod
    def _once(cls, metric_sets: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(metric_sets)) < len(metric_sets):
            raise ValueError("a metric set stands here twice")
        return metric_sets
