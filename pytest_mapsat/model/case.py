"""A case: what an agent may see, and the truth that only the judge and the simulated user hold; and the manifest of its suite.

Source: MapSatisfyBench sections 3.1 (instance x = (q, g, h-, r, h+), ground truth G = (E, Z, C, T, F)) and A.2 (weights).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from .base import (
    DATE_PATTERN,
    SOFT_LEVELS,
    Asserted,
    Identifier,
    Json,
    JsonObject,
    Latitude,
    Level,
    Longitude,
    Membership,
    MetricName,
    Noun,
    RequirementKind,
    Text,
    did_you_mean,
)
from .checks import Check, leaves
from .match import Match
from .schema import schema_problem
from .tool import RowPatch

#: ISO 8601 with seconds and the case's own offset; kept as text so that no time zone is ever applied.
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([+-]\d\d:\d\d|Z)?$")]

#: A value that the words of a scripted user quote: the name of a call, and the keys that lead into its result.
QUOTED_VALUE = re.compile(r"\{([A-Za-z0-9_-]+(?:\.[^\s.{}]+)*)\}")


Date = Annotated[str, Field(pattern=DATE_PATTERN)]


class Location(Noun):
    """A point in the suite's coordinate system, in degrees."""

    lon: Longitude
    lat: Latitude
    name: str = ""


class Context(Noun):
    """The spatio-temporal environment g and the interaction context c: all of it is shown to the agent.

    ``now``: null where the case stands at no time. ``details``: whatever else the agent is told, as a JSON object. ``profile``: what is known of the user
    beforehand; with ``--mapsat-give-profile`` what the profile tools would return.
    """

    now: Moment | None = None
    location: Location | None = None
    city: str = ""
    history: tuple[str, ...] = ()
    uid: str = ""
    locale: str = ""
    details: JsonObject = Field(default_factory=dict)
    profile: JsonObject = Field(default_factory=dict)


class Message(Noun):
    """A message that was exchanged before the query."""

    role: Literal["user", "agent"]
    text: Text


class Behavior(Noun):
    """Something that a user did outside of dialogues. ``type``: the suite's own word, such as ``order`` or ``search``."""

    type: str = ""
    content: Text


class Utterance(Noun):
    """What the user or an assistant said in an earlier dialogue."""

    role: Literal["user", "assistant"]
    content: Text


class Interaction(Noun):
    """What a user did, and talked about with an assistant, on one day or at one moment between two tasks (VitaBench 2.0, section 3.2)."""

    date: Date
    behavior: tuple[Behavior, ...] = ()
    dialogue: tuple[Utterance, ...] = ()

    @model_validator(mode="after")
    def _tells_something(self) -> Self:
        """Raise ValueError if the interaction has neither a behavior nor a dialogue."""
        if not (self.behavior or self.dialogue):
            raise ValueError("an interaction has a behavior or a dialogue")
        return self


class Visible(Noun):
    """The half of a case that an agent may see.

    ``messages``: what was said before the query, first to last: an agent is given it as the earlier part of the dialogue; no metric counts it.
    ``interactions``: what passed between the user and the world since the task before (H_i), by date. An agent meets it through its memory alone.
    ``instructions``: how the agent is to go about it, in words, beside the query. ``output_schema``: a JSON Schema (an object) of the structured output that
    its replies are asked for.
    """

    messages: tuple[Message, ...] = Field(default=(), max_length=1000)
    query: Text
    context: Context = Context()
    interactions: tuple[Interaction, ...] = ()
    instructions: str = Field(default="", max_length=100_000)
    output_schema: JsonObject = Field(default_factory=dict)

    @field_validator("output_schema")
    @classmethod
    def _checkable(cls, schema: JsonObject) -> JsonObject:
        """Return the schema unchanged. Raises ValueError if it is not one of an object, or has keywords that are not checked."""
        if schema and schema.get("type") != "object":
            raise ValueError("structured output is an object: a schema of them begins with type: object")
        if schema and (problem := schema_problem(schema)) is not None:
            place, wrong = problem
            raise ValueError(f"{'.'.join(map(str, place))}: {wrong}")
        return schema


class Evidence(Noun):
    """What supports a hard or soft requirement before the response; the weight is computed from it (A.2).

    Strength S is one of: ``count`` of ``total`` choices in one decision dimension; ``ratio`` from a profile; ``relevance`` of a basic
    attribute. Recency R: ``habit`` or ``recent``. Momentum M: ``early`` and ``late`` counts of behaviour, or ``long_ratio`` and ``short_ratio``.
    Current need: ``need``. Each part that is not given is neutral (1.0). ``at``: where it stands in the log that the case was made of, such as
    ``events.jsonl:120`` or ``span 5b8e``.
    """

    text: str = ""
    at: tuple[str, ...] = ()
    count: int | None = Field(default=None, ge=0)
    total: int | None = Field(default=None, ge=1)
    ratio: Level | None = None
    relevance: Literal["strong", "weak"] | None = None
    recency: Literal["habit", "recent"] | None = None
    early: int | None = Field(default=None, ge=0)
    late: int | None = Field(default=None, ge=0)
    long_ratio: Level | None = None
    short_ratio: Level | None = None
    need: Literal["direct", "related", "weak", "conflicting", "invalid"] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Evidence:
        """Raise ValueError if evidence gives only one of a pair, counts more than the total, or gives several strengths."""
        pairs = (("count", "total"), ("early", "late"), ("long_ratio", "short_ratio"))
        for first, other in pairs:
            if (getattr(self, first) is None) != (getattr(self, other) is None):
                raise ValueError(f"evidence gives {first} and {other} together or not at all")
        if self.count is not None and self.total is not None and self.count > self.total:
            raise ValueError(f"evidence counts {self.count} of {self.total}")
        strengths = [name for name in ("count", "ratio", "relevance") if getattr(self, name) is not None]
        if len(strengths) > 1:
            raise ValueError(f"evidence gives one strength, not {' and '.join(strengths)}")
        return self


class LevelRule(Noun):
    """A soft requirement reaches ``level`` when ``check`` holds; rules are tried from the top."""

    level: float
    check: Check

    @field_validator("level")
    @classmethod
    def _one_of_five(cls, value: float) -> float:
        """Return the level unchanged. Raises ValueError if it is not 0.25, 0.5, 0.75 or 1."""
        if value not in SOFT_LEVELS[1:]:
            raise ValueError(f"a level is one of 0.25, 0.5, 0.75 and 1, not {value}; 0 is what no rule reaches")
        return value


class Requirement(Noun):
    """A requirement: a statement about the dialogue that holds or does not; a soft one may hold in part.

    ``kind``: ``asked`` is E of the paper, ``hard`` and ``soft`` are Z, ``fact`` is F; a ``policy`` is judged and shown beside them.
    ``scope``: what it is about: the answer, the whole trajectory (a policy always, a tool rule), or the state the sandbox ends in.

    The other fields are those of hard and soft requirements. ``weight``: where it is not given it is computed from ``evidence``, and is 1 without any.
    ``levels``: what a soft one may have in place of ``check``. ``draft``: it is a proposal that no person has accepted yet.
    """

    id: Identifier
    kind: RequirementKind
    text: Text
    check: Check | None = None
    scope: Literal["answer", "trajectory", "outcome"] = "answer"
    source: Literal["context", "profile", "environment", "unstated"] = "unstated"
    weight: float | None = Field(default=None, ge=0)
    evidence: tuple[Evidence, ...] = ()
    levels: tuple[LevelRule, ...] = ()
    draft: bool = Field(default=False, strict=True)

    @field_validator("source", "weight", "evidence", "levels")
    @classmethod
    def _only_hard_or_soft(cls, value: object, info: ValidationInfo) -> object:
        """Return a field's value unchanged. Raises ValueError if the requirement is neither hard nor soft."""
        if (kind := info.data.get("kind", "hard")) not in ("hard", "soft"):
            raise ValueError(f"only hard and soft requirements have it, and this is of kind {kind}")
        return value

    @field_validator("scope")
    @classmethod
    def _of_a_policy(cls, scope: str, info: ValidationInfo) -> str:
        """Return the scope unchanged. Raises ValueError if a policy has another scope than trajectory."""
        if info.data.get("kind") == "policy" and scope != "trajectory":
            raise ValueError(f"found {scope!r}, expected trajectory: a policy is about the way an agent goes about it")
        return scope

    @model_validator(mode="after")
    def _judgeable(self) -> Self:
        """Raise ValueError if levels stand on a hard requirement, next to a check, or not from highest to lowest."""
        if self.levels and self.kind == "hard":
            raise ValueError("a hard requirement holds or not: give it a check, not levels")
        if self.levels and self.check is not None:
            raise ValueError("give a check or levels, not both")
        if self.levels and list(self.levels) != sorted(self.levels, key=lambda rule: -rule.level):
            raise ValueError("levels stand from the highest to the lowest")
        return self

    @property
    def leaves(self) -> tuple[Check, ...]:
        """Return the plain checks that the requirement is judged by, taken out of combinations and levels."""
        checks = ([] if self.check is None else [self.check]) + [rule.check for rule in self.levels]
        return tuple(leaf for check in checks for leaf in leaves(check))

    @property
    def machine_sure(self) -> bool:
        """Return whether the requirement has checks and all are decided without reading prose."""
        return bool(self.leaves) and all(not leaf.family for leaf in self.leaves)


class Clarification(Noun):
    """The clarification policy C.

    ``max_turns``: how many clarification turns are useful; ``reference_turns``: the case's own reference for Eff (agent replies), if it has one.
    """

    max_turns: int = Field(default=0, ge=0, le=100)
    reference_turns: float | None = Field(default=None, gt=0)
    note: str = ""


class RowsFound(Noun):
    """Evidence that a result must hold: a row that fits ``where``, a match each by its column or a dotted path below one."""

    where: dict[str, Match] = Field(min_length=1)


class ExpectedTool(Noun):
    """One expected tool of T; where the search takes several steps, one hop.

    ``required``: names the agent must itself give; ``match``: rules a machine can check, by parameter; ``prose``: rules in words, by
    parameter (several may stand on one), reported as unchecked.

    ``id`` tells it from other entries of the same tool; without one it is known by its name. ``after``: the entries of which each must be fulfilled by a
    call before it. ``evidence``: ids of the requirements that rest on what it returns, and rows that it must return.
    """

    name: Identifier
    id: Identifier | None = None
    after: tuple[Identifier, ...] = ()
    evidence: Annotated[
        tuple[Identifier | RowsFound, ...], BeforeValidator(lambda value: [value] if isinstance(value, dict) else value)
    ] = ()
    required: tuple[str, ...] = ()
    match: dict[str, Match] = Field(default_factory=dict)
    prose: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """Return the name by which ``after`` and ``call`` refer to the entry: its id, else the tool's name."""
        return self.id or self.name

    @property
    def waits_for(self) -> tuple[str, ...]:
        """Return the keys of the entries that must be fulfilled first: those in ``after``, and those that matches are bound to."""
        bounds = (getattr(match, "bound", None) for match in self.match.values())
        return tuple(dict.fromkeys((*self.after, *(bound.call for bound in bounds if bound and bound.call))))

    @property
    def evidence_rows(self) -> tuple[RowsFound, ...]:
        """Return the rows among the evidence, without the ids of requirements."""
        return tuple(part for part in self.evidence if isinstance(part, RowsFound))


class PlannedCall(Noun):
    """A tool call that a case sets down."""

    tool: Identifier
    arguments: JsonObject = Field(default_factory=dict)


class ScriptedCall(PlannedCall):
    """A call that the scripted user makes. ``id``: the name by which its words quote the result; the tool's where it has none."""

    id: Identifier | None = None

    @property
    def name(self) -> str:
        """Return the name by which the user's words quote the result: the id, else the tool's name."""
        return self.id or self.tool


class ScriptedAnswer(Noun):
    """One thing that the simulated user can say when asked, and what it does before.

    ``asked``: phrases, any of which in a question of the agent, or in what it asks the user to do, asks for it. ``calls``: the calls of its own tools that it makes first; ``say``: the words,
    in which ``{name.path}`` is a value of the result of the call of that name. ``otherwise`` (``else``): the words where a call fails, or has no such value; else they are the result's own message.
    It is said once; with calls, as often as it is asked for: the world may have changed. ``draft``: it is a proposal that no person has accepted yet.
    """

    asked: tuple[Text, ...] = Field(min_length=1)
    calls: tuple[ScriptedCall, ...] = Field(default=(), max_length=50)
    say: Text
    otherwise: str = Field(default="", alias="else")
    draft: bool = Field(default=False, strict=True)

    @model_validator(mode="after")
    def _quotes_its_calls(self) -> Self:
        """Raise ValueError if two calls have one name, ``else`` has no calls, or the words quote an unknown call."""
        names = [call.name for call in self.calls]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two calls are known as {twice!r}: give one an id")
        if self.otherwise and not self.calls:
            raise ValueError("else says what the user tells where a call fails, and there are no calls")
        for name, _ in self.quoted:
            if name not in names:
                hint = did_you_mean(name, names, "its calls:")
                raise ValueError(f"it quotes {{{name}}}, and no call has that name ({hint})")
        return self

    @property
    def quoted(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the quotes in the words: names of calls, each with the keys that lead into its result; empty without calls."""
        if not self.calls:
            return ()
        paths = [match[1].split(".") for match in QUOTED_VALUE.finditer(f"{self.say}\n{self.otherwise}")]
        return tuple((name, tuple(keys)) for name, *keys in paths)


class Confirms(Noun):
    """How the user answers a request for a go-ahead: ``say`` agrees; with ``when`` only a request that names all of these, and ``otherwise`` (``else``) declines the rest; empty: the language's own words."""

    say: str = ""
    when: tuple[Text, ...] = ()
    otherwise: str = Field(default="", alias="else")


def _yes_or_no(value: object) -> object:
    """Return "yes" for true and "no" for false, as which YAML reads the bare words; anything else unchanged."""
    return {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value


class UserScript(Noun):
    """What the scripted user knows how to answer, and its stock phrases (the language's own where not given). Written as a list it is its answers.

    ``confirms``: what it answers to any request for a go-ahead; null: it hangs up on none and agrees to none.
    ``leaves``: it ends the dialogue once all its answers are given, whatever it is asked then.

    Of a user that is a model. ``may``: what it may do besides answering: ``volunteer`` what it was not asked, ``act`` with its own tools, ``go_on`` to further requests.
    ``prompt``: what it is told besides persona, intent and answers.
    """

    answers: tuple[ScriptedAnswer, ...] = ()
    confirms: Annotated[Literal["yes", "no"] | Confirms | None, BeforeValidator(_yes_or_no)] = None
    no_preference: str = ""
    cannot_act: str = ""
    goodbye: str = ""
    leaves: bool = False
    may: tuple[Literal["volunteer", "act", "go_on"], ...] = ()
    prompt: str = Field(default="", max_length=100_000)


class OracleTurn(Noun):
    """One reply of an agent that knows everything: the calls it makes, then what it says."""

    calls: tuple[PlannedCall, ...] = ()
    say: Text


class Truth(Noun):
    """The half of a case that only the judge and the simulated user hold.

    ``preferences``: what the user likes at this task, in words. ``clarification``: without it no question to the user is useful. ``output``: the structured output of a right answer, under the names that the case asks for; ``plan`` is not among them, as ``tools`` say it.
    ``end``: the reference for ``same_end``: calls that are played on a fresh sandbox, or ``oracle`` for those of the oracle dialogue.
    """

    renamed: ClassVar[Mapping[str, str]] = {
        "explicit": "requirements, with kind: asked",
        "implicit": "requirements, with kind: hard or kind: soft",
        "hard": "requirements, with kind: hard",
        "soft": "requirements, with kind: soft",
        "facts": "requirements, with kind: fact",
        "policies": "requirements, with kind: policy",
    }

    intent: str = ""
    persona: str = ""
    preferences: tuple[Text, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    clarification: Clarification | None = None
    tools: tuple[ExpectedTool, ...] = ()
    output: JsonObject = Field(default_factory=dict)
    user: Annotated[
        UserScript, BeforeValidator(lambda value: {"answers": value} if isinstance(value, list) else value)
    ] = UserScript()
    oracle: tuple[OracleTurn, ...] = ()
    end: Literal["oracle"] | tuple[PlannedCall, ...] | None = None

    @property
    def reference(self) -> tuple[PlannedCall, ...] | None:
        """Return the calls of the reference, those of the oracle for "oracle"; None if the case has no reference."""
        if self.end == "oracle":
            return tuple(call for turn in self.oracle for call in turn.calls)
        return self.end

    @property
    def reference_turns(self) -> float:
        """Return the reference for Eff in agent replies: the case's own, else clarification turns, else oracle replies; 0 if none."""
        policy = self.clarification or Clarification()
        return policy.reference_turns or policy.max_turns or len(self.oracle)

    @property
    def proposals(self) -> tuple[Requirement | ScriptedAnswer, ...]:
        """Return the requirements and answers that no person has accepted yet; a case with any is a draft and counts in no run."""
        parts: tuple[Requirement | ScriptedAnswer, ...] = (*self.requirements, *self.user.answers)
        return tuple(part for part in parts if part.draft)

    @model_validator(mode="after")
    def _unique_ids(self) -> Self:
        """Raise ValueError if two requirements have the same id."""
        seen: set[str] = set()
        for requirement in self.requirements:
            if requirement.id in seen:
                raise ValueError(f"two requirements have the id {requirement.id!r}")
            seen.add(requirement.id)
        return self

    @cached_property
    def asked(self) -> tuple[Requirement, ...]:
        """Return the requirements that the query states (E)."""
        return self._of("asked")

    @cached_property
    def implicit(self) -> tuple[Requirement, ...]:
        """Return the requirements that the query does not state, hard and soft (Z)."""
        return self._of("hard", "soft")

    @cached_property
    def hard(self) -> tuple[Requirement, ...]:
        """Return the unstated requirements that must be met without exception."""
        return self._of("hard")

    @cached_property
    def soft(self) -> tuple[Requirement, ...]:
        """Return the unstated requirements that may be met in part."""
        return self._of("soft")

    @cached_property
    def facts(self) -> tuple[Requirement, ...]:
        """Return the facts: what must be true if the answer says it (F)."""
        return self._of("fact")

    @cached_property
    def policies(self) -> tuple[Requirement, ...]:
        """Return the rules for the way an agent works."""
        return self._of("policy")

    @cached_property
    def by_kind(self) -> tuple[Requirement, ...]:
        """Return all requirements in the order of their labels: asked, then hard and soft as written, facts, policies."""
        return (*self.asked, *self.implicit, *self.facts, *self.policies)

    @cached_property
    def required(self) -> tuple[Requirement, ...]:
        """Return the requirements that a good answer must always meet: asked, hard, facts."""
        return (*self.asked, *self.hard, *self.facts)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Return the checks of all requirements, including those of levels."""
        own = [requirement.check for requirement in self.by_kind if requirement.check is not None]
        return (*own, *(rule.check for requirement in self.soft for rule in requirement.levels))

    def _of(self, *kinds: str) -> tuple[Requirement, ...]:
        """Return the requirements of some kinds, in the order in which they are written."""
        return tuple([requirement for requirement in self.requirements if requirement.kind in kinds])

    def __copy__(self) -> Self:
        """Return a copy without what was told of these requirements: they may be others in it."""
        copied = super().__copy__()
        for name in copied.__dict__.keys() - type(self).model_fields:
            del copied.__dict__[name]
        return copied


class World(Noun):
    """Where a case begins: what all cases of the suite start from, with ``rows`` laid over it, then ``calls`` played on it. Nothing of it counts as a change."""

    rows: tuple[RowPatch, ...] = Field(default=(), max_length=10_000)
    calls: tuple[PlannedCall, ...] = Field(default=(), max_length=1000)


class EpisodeTerms(Noun):
    """What an episode of a case may use: ``calls`` of tools in all, whatever becomes of them; null: as many as it likes."""

    calls: int | None = Field(default=None, ge=0, le=1_000_000, strict=True)


class Case(Noun):
    """One benchmark case.

    ``world``: where it begins, which no agent is told. ``domains``: one or more of the suite's domains; ``attributes``: further grouping, plain text by name (sub-task, locality, time slot, ...).
    ``episode``: its limits, those of the suite where it has none of its own.
    """

    id: Identifier
    domains: tuple[Identifier, ...] = ()
    difficulty: str = ""
    language: str = "en"
    attributes: dict[str, str] = Field(default_factory=dict)
    group: Membership | None = None
    episode: EpisodeTerms = EpisodeTerms()
    visible: Visible
    truth: Truth
    world: World = World()


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
        """Return the names unchanged. Raises ValueError if one occurs twice."""
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
        """Raise ValueError if the overlap is not smaller than the window."""
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
        """Return whether a judge needs a certificate before its verdicts may decide a gate."""
        return bool(self.tpr or self.tnr or self.labels)


class CommonRequirement(Noun):
    """A requirement that several cases take with ``use``, or a group of such requirements, which has nothing but ``use``.

    ``kind``: as in a case. ``id``: that in the case, where it is another than the one it is used by. ``text``: one, or one by language. The other
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
        """Raise ValueError unless it is a requirement with a kind and a text, or a group with nothing but ``use``."""
        if self.kind is None and not self.use:
            raise ValueError(
                "a common requirement has a kind (asked, hard, soft, fact, policy), or is a group of others: use: [ids]"
            )
        if self.use and self.model_fields_set - {"use"}:
            raise ValueError("a group has nothing but use: name what goes with a requirement in the use of the case")
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
    ``judge``: what it says to judges, and asks of those that may gate. ``sample``: how samples of its cases are drawn. ``cluster``: the attribute whose cases
    are alike, so that intervals draw them together.
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

    renamed: ClassVar[Mapping[str, str]] = {"assert": "fail_on"}

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
    cluster: _Word | None = None
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
        """Return the asserted kinds sorted, each once; None unchanged. Raises ValueError if "none" is among others."""
        if asserted is not None and "none" in asserted and len(asserted) > 1:
            raise ValueError("found 'none' among others, expected it alone")
        return None if asserted is None else tuple(sorted(set(asserted)))

    @field_validator("success")
    @classmethod
    def _of_an_episode(cls, success: str | None) -> str | None:
        """Return the metric unchanged. Raises ValueError for pass_rate, which is not a metric of one episode."""
        if success == "pass_rate":
            raise ValueError("pass_rate counts the items that pass, and success says which do: name a metric of one")
        return success

    @field_validator("metrics")
    @classmethod
    def _once(cls, metric_sets: tuple[str, ...]) -> tuple[str, ...]:
        """Return the metric sets unchanged. Raises ValueError if one occurs twice."""
        if len(set(metric_sets)) < len(metric_sets):
            raise ValueError("a metric set stands here twice")
        return metric_sets
