"""A case: the part that an agent may see, and the truth for the judge and the simulated user; and the manifest of its suite.

Source: MapSatisfyBench sections 3.1 (instance x = (q, g, h-, r, h+), ground truth G = (E, Z, C, T, F)) and A.2 (weights).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator
from pydantic.types import Discriminator, Tag

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
from .checks import Check, Phrases, as_list, leaves
from .match import Match
from .schema import Spoken, schema_problem
from .tool import RowPatch

#: ISO 8601 with seconds and the case's own offset; kept as text so that no time zone is ever applied.
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([+-]\d\d:\d\d|Z)?$")]

#: A value that the words of a scripted user quote: the name of a call, and the keys that lead into its result.
QUOTED_VALUE = re.compile(r"\{([A-Za-z0-9_-]+(?:\.[^\s.{}]+)*)\}")


Date = Annotated[str, Field(pattern=DATE_PATTERN)]


class Location(Noun):
    """A point in the suite's coordinate system.

    Attributes:
        lon: longitude in degrees, -180 to 180. Example: ``8.5402``
        lat: latitude in degrees, -90 to 90. Example: ``47.3782``
        name: name of the place, shown to the agent; empty if it has none. Example: ``Zurich main station``
    """

    lon: Longitude
    lat: Latitude
    name: str = ""


class Context(Noun):
    """The situation of a query (g and c of the paper); the agent sees all of it.

    Attributes:
        now: local date and time of the case, ISO 8601; left out, the case has no time. Example: ``2026-05-07T18:30``
        location: where the user is; left out, the place is unknown.
        city: city that the user is in; empty if it does not matter. Example: ``Zurich``
        history: earlier actions of the user that the agent may see, one line each. Example: ``["searched for ramen on May 2"]``
        uid: id of the user, as the tools know it; empty for an unknown user. Example: ``u-1``
        locale: language and region of the user, as a BCP 47 tag; empty if it does not matter. Example: ``en-GB``
        details: anything else that the agent may see, as an object. Example: ``{"membership": "gold"}``
        profile: what is known of the user beforehand; the agent sees it only with --mapsat-give-profile. Example: ``{"diet": "vegetarian"}``
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
    """A message exchanged before the query.

    Attributes:
        role: who wrote it: user or agent.
        text: words of the message. Example: ``I would like to eat out tonight.``
    """

    role: Literal["user", "agent"]
    text: Text


class Behavior(Noun):
    """An action of a user outside of dialogues.

    Attributes:
        type: kind of action, in the suite's own word; empty if it has none. Example: ``order``
        content: description of the action. Example: ``Ordered a veggie burger for 12 EUR``
    """

    type: str = ""
    content: Text


class Utterance(Noun):
    """A message of the user or an assistant in an earlier dialogue.

    Attributes:
        role: who said it: user or assistant.
        content: words that were said. Example: ``No peanuts for me, please.``
    """

    role: Literal["user", "assistant"]
    content: Text


class Interaction(Noun):
    """A user's actions, and dialogue with an assistant, on one day or at one moment between two tasks (VitaBench 2.0, section 3.2).

    Attributes:
        date: ISO 8601 date, or date and time. Example: ``2026-03-14``
        behavior: actions of the user on that day; an interaction has these, a dialogue or both. Example: ``[{"type": "order", "content": "Ordered a veggie burger"}]``
        dialogue: messages between the user and an assistant on that day. Example: ``[{"role": "user", "content": "No peanuts for me, please."}]``
    """

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

    Attributes:
        messages: messages exchanged before the query, oldest first; the agent receives them as the earlier dialogue, and no metric counts them. Example: ``[{"role": "user", "text": "Hello"}]``
        query: first message of the user, to which the agent replies. Example: ``Please cancel my noodle soup.``
        context: situation of the user: time, place, user id; left out, the agent sees only the query.
        interactions: what the user did since the previous task (H_i), by date; it reaches an agent only through its memory. Example: ``[{"date": "2026-03-14", "behavior": [{"type": "order", "content": "Ordered a veggie burger"}]}]``
        instructions: instructions to the agent beside the query; left out, those of the suite apply. Example: ``Answer in one sentence.``
        output_schema: JSON Schema, of type object, for the structured output of each reply; left out, no output is requested. Example: ``{"type": "object", "properties": {"total": {"type": "number"}}}``
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
        """Return the schema unchanged. Raises ValueError if it does not describe an object, or has unsupported keywords."""
        if schema and schema.get("type") != "object":
            raise ValueError("structured output is an object: a schema of them begins with type: object")
        if schema and (problem := schema_problem(schema)) is not None:
            place, wrong = problem
            raise ValueError(f"{'.'.join(map(str, place))}: {wrong}")
        return schema


class Evidence(Noun):
    """Support for a hard or soft requirement before the reply; the weight is computed from it (A.2). An omitted factor is neutral (1.0).

    Attributes:
        text: the evidence in words; it does not change the weight. Example: ``7 of 8 dinners were vegetarian``
        at: where it stands in the log that the case comes from. Example: ``["events.jsonl:120"]``
        count: strength: number of choices that follow the preference, out of total. Example: ``7``
        total: number of all choices that were looked at; goes with count. Example: ``8``
        ratio: strength as a share from a profile, 0 to 1; instead of count and relevance. Example: ``0.8``
        relevance: strength of a basic attribute: strong or weak; instead of count and ratio.
        recency: whether the preference is a habit or recent.
        early: momentum: number of actions in the earlier period; goes with late. Example: ``2``
        late: momentum: number of actions in the later period; goes with early. Example: ``5``
        long_ratio: momentum: long-term share, 0 to 1; goes with short_ratio. Example: ``0.4``
        short_ratio: momentum: short-term share, 0 to 1; goes with long_ratio. Example: ``0.9``
        need: how the evidence relates to the current need.
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
    """A rule by which a soft requirement reaches ``level`` if ``check`` passes; rules are tried from the top.

    Attributes:
        level: value of the requirement if the check holds: 0.25, 0.5, 0.75 or 1. Example: ``0.5``
        check: the check that decides whether this level is reached.
    """

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
    """A requirement: a statement about the dialogue that is true or false; a soft requirement may be met in part.

    Attributes:
        id: name of the requirement, unique in the case; labels and reports use it. Example: ``cancelled``
        kind: asked: the query states it (E). hard: unstated, must hold (Z). soft: unstated, may hold in part (Z). fact: true if the reply states it (F). policy: a rule for the agent's way of working.
        text: the requirement in words, as reports and a judging model show it. Example: ``The order of noodle soup is cancelled``
        check: check that decides it without a model; left out, a model or a person must judge it, and without either it is undecided.
        scope: what it is about: the answer, the whole trajectory (always so for a policy), or the outcome, the state in which the sandbox ends. Only kinds hard and soft also have source, weight, evidence and levels.
        source: where the agent could learn it: context, profile, environment or unstated.
        weight: weight in the metrics, at least 0; left out, it is computed from evidence, and is 1 without any. Example: ``1.5``
        evidence: observations before the reply that support the requirement. Example: ``[{"count": 7, "total": 8}]``
        levels: for a soft requirement, in place of check: the levels it can reach, highest first. Example: ``[{"level": 1, "check": {"kind": "says", "any": ["window seat"]}}]``
        draft: true for a proposal that no person has accepted yet; a case with a draft counts in no run.
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
            raise ValueError(f"found {scope!r}, expected trajectory: a policy is a rule for the agent's conduct")
        return scope

    @model_validator(mode="after")
    def _judgeable(self) -> Self:
        """Raise ValueError if a hard requirement has levels, or if levels come with a check or are not in descending order."""
        if self.levels and self.kind == "hard":
            raise ValueError("a hard requirement holds or not: give it a check, not levels")
        if self.levels and self.check is not None:
            raise ValueError("give a check or levels, not both")
        if self.levels and list(self.levels) != sorted(self.levels, key=lambda rule: -rule.level):
            raise ValueError("levels are listed from the highest to the lowest")
        return self

    @property
    def leaves(self) -> tuple[Check, ...]:
        """Return the plain checks that decide the requirement, extracted from combinations and levels."""
        checks = ([] if self.check is None else [self.check]) + [rule.check for rule in self.levels]
        return tuple(leaf for check in checks for leaf in leaves(check))

    @property
    def machine_sure(self) -> bool:
        """Return whether the requirement has checks, none of which reads prose."""
        return bool(self.leaves) and all(not leaf.family for leaf in self.leaves)


class Clarification(Noun):
    """The number of questions to the user that are useful in this case (C).

    Attributes:
        max_turns: number of useful clarification turns, 0 to 100. Example: ``1``
        reference_turns: number of agent replies that an efficient dialogue needs, for the metric eff; left out, it follows from max_turns, else from the oracle. Example: ``2``
        note: remark for readers; it has no effect. Example: ``The date is missing``
    """

    max_turns: int = Field(default=0, ge=0, le=100)
    reference_turns: float | None = Field(default=None, gt=0)
    note: str = ""


class RowsFound(Noun):
    """A row that a tool's result must contain.

    Attributes:
        where: match for each column, or dotted path below one, that the row must satisfy. Example: ``{"status": "open"}``
    """

    where: dict[str, Match] = Field(min_length=1)


class ExpectedTool(Noun):
    """One call that the agent should make (T); in a search of several steps, one hop.

    Attributes:
        name: name of the tool. Example: ``list_orders``
        id: name of this entry, needed where several entries have the same tool; left out, it is the tool's name. Example: ``second-search``
        after: ids of entries that must be fulfilled by an earlier call. Example: ``["list_orders"]``
        evidence: ids of the requirements that rest on its result, and rows that the result must contain. Example: ``["cancelled"]``
        required: names of parameters that the agent must give. Example: ``["user"]``
        match: match for each argument that a machine checks, by parameter. Example: ``{"user": "u-1"}``
        prose: pairs of a parameter and a rule in words; reports list them as unchecked. Example: ``[["query", "mentions the cuisine"]]``
    """

    name: Identifier
    id: Identifier | None = None
    after: tuple[Identifier, ...] = ()
    evidence: Annotated[tuple[Identifier | RowsFound, ...], BeforeValidator(as_list)] = ()
    required: tuple[str, ...] = ()
    match: dict[str, Match] = Field(default_factory=dict)
    prose: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """Return the name by which ``after`` and ``call`` refer to the entry: its id, else the tool's name."""
        return self.id or self.name

    @property
    def waits_for(self) -> tuple[str, ...]:
        """Return the keys of the entries that must come first: entries in ``after``, and entries to which matches are bound."""
        bounds = (getattr(match, "bound", None) for match in self.match.values())
        return tuple(dict.fromkeys((*self.after, *(bound.call for bound in bounds if bound and bound.call))))

    @property
    def evidence_rows(self) -> tuple[RowsFound, ...]:
        """Return the rows in the evidence, without the ids of requirements."""
        return tuple(part for part in self.evidence if isinstance(part, RowsFound))


class PlannedCall(Noun):
    """A tool call that a case specifies.

    Attributes:
        tool: name of the tool. Example: ``cancel_order``
        arguments: arguments of the call, by parameter. Example: ``{"order_id": "A1"}``
    """

    tool: Identifier
    arguments: JsonObject = Field(default_factory=dict)


class ScriptedCall(PlannedCall):
    """A call that the scripted user makes.

    Attributes:
        id: name by which the user's words quote the result; left out, it is the tool's name. Example: ``order``
    """

    id: Identifier | None = None

    @property
    def name(self) -> str:
        """Return the name by which the user's words quote the result: the id, else the tool's name."""
        return self.id or self.tool


_Said = Annotated[Spoken, StringConstraints(min_length=1, max_length=100_000)]

#: How a simulated user may speak; ``impatient`` may also stand as ``{impatient: 3}``.
MannerName = Literal[
    "terse", "rambling", "impatient", "changes_mind", "corrects", "other_first", "misspells", "mixes", "wrong_figure"
]  # fmt: skip
MANNERS: tuple[MannerName, ...] = get_args(MannerName)
#: The manners in which a user says an answer's ``first`` before its ``say``.
SAYS_FIRST = ("changes_mind", "corrects", "wrong_figure")
#: After so many replies with questions an impatient user leaves.
DEFAULT_PATIENCE = 2
#: The manners that exclude each other.
_EXCLUSIVE = (("terse", "rambling"), SAYS_FIRST)


class Impatience(Noun):
    """The patience of an impatient user.

    Attributes:
        impatient: number of replies with questions that the user answers; it leaves at the next one. Example: ``3``
    """

    impatient: int = Field(ge=1, le=100, strict=True)


_Manner = Annotated[
    Annotated[MannerName, Tag("name")] | Annotated[Impatience, Tag("patience")],
    Discriminator(lambda value: "patience" if isinstance(value, (Mapping, Impatience)) else "name"),
]


class ScriptedAnswer(Noun):
    """One answer that the simulated user can give when the agent asks for it, and the calls that the user makes first.

    Attributes:
        asked: phrases; the answer is given if a question or request of the agent contains one of them. Example: ``["what time", "when"]``
        calls: calls of the user's own tools, made before it answers; with calls, the answer can be given more than once. Example: ``[{"tool": "check_signal"}]``
        say: words of the answer; ``{name.path}`` is replaced by a value from the result of the call of that name. Example: ``At seven, please.``
        first: a wrong answer, said before ``say`` by a user of manner changes_mind, corrects or wrong_figure; others never say it. Example: ``At six.``
        else: words if a call fails or has no such value; left out, the result's own message is used. Example: ``I cannot see it.``
        reveals: ids of the hidden requirements that the words tell the agent; left out, it is unknown what they tell. Example: ``["cheap"]``
        draft: true for a proposal that no person has accepted yet; a case with a draft counts in no run.
    """

    asked: tuple[_Said, ...] = Field(min_length=1)
    calls: tuple[ScriptedCall, ...] = Field(default=(), max_length=50)
    say: _Said
    first: Annotated[Spoken, StringConstraints(max_length=100_000)] = ""
    otherwise: Spoken = Field(default="", alias="else")
    reveals: tuple[Identifier, ...] | None = None
    draft: bool = Field(default=False, strict=True)

    @model_validator(mode="after")
    def _quotes_its_calls(self) -> Self:
        """Raise ValueError if two calls have the same name, ``else`` has no calls, ``first`` is no other answer, or the words quote an unknown call."""
        if self.first and (self.calls or self.first == self.say):
            raise ValueError("first is another answer than say, and for answers without calls")
        names = [call.name for call in self.calls]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two calls are known as {twice!r}: give one an id")
        if self.otherwise and not self.calls:
            raise ValueError("else is what the user says if a call fails, and there are no calls")
        for name, _ in self.quoted:
            if name not in names:
                hint = did_you_mean(name, names, "its calls:")
                raise ValueError(f"it quotes {{{name}}}, and no call has that name ({hint})")
        return self

    @property
    def quoted(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the quotes in the words: names of calls, each with the keys of a value in the result; empty without calls."""
        if not self.calls:
            return ()
        paths = [match[1].split(".") for match in QUOTED_VALUE.finditer(f"{self.say}\n{self.otherwise}")]
        return tuple((name, tuple(keys)) for name, *keys in paths)


class Confirms(Noun):
    """How the user answers a request for approval.

    Attributes:
        say: words of agreement; empty: those of the language. Example: ``Yes, go ahead.``
        when: the user agrees only to a request that contains all of these phrases; left out, to any request. Example: ``["noodle soup"]``
        else: words that decline any other request; empty: those of the language. Example: ``No, leave that one.``
    """

    say: Spoken = ""
    when: tuple[_Said, ...] = ()
    otherwise: Spoken = Field(default="", alias="else")


_GoAhead = Literal["yes", "no"] | Confirms | None


def _yes_or_no(value: object) -> object:
    """Return "yes" for true and "no" for false, since YAML 1.1 reads the bare words as booleans; any other value unchanged."""
    return {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value


class UserScript(Noun):
    """The answers of the simulated user, and the user's stock phrases. A list is short for the answers.

    Attributes:
        answers: answers, each given when the agent asks for it. Example: ``[{"asked": ["when"], "say": "At seven."}]``
        confirms: answer to any request for a go-ahead: yes, no, or an object with words and conditions; left out, the user neither agrees nor declines.
        no_preference: reply to a question without an answer; empty: that of the language. Example: ``I do not mind.``
        cannot_act: reply to a request for an action that the user cannot take; empty: that of the language. Example: ``I cannot do that from here.``
        goodbye: last words; empty: those of the language. Example: ``Thanks, bye.``
        leaves: true: the user ends the dialogue once all answers are given, whatever the agent asks.
        attempts: what the user says, one after the other, where it would otherwise end the dialogue: it tries to talk the agent out of a policy. Example: ``["Just this once?"]``
        manner: how the user speaks; the facts stay the same: terse, rambling, impatient (or impatient: 3, a number of replies with questions), changes_mind, corrects, other_first, misspells, mixes, wrong_figure. Example: ``["terse", "misspells"]``
        may: for a user that is a model, what it may do besides answering: volunteer facts, act with its tools, go_on to further requests.
        prompt: for a user that is a model, further instructions. Example: ``You are in a hurry.``
    """

    answers: tuple[ScriptedAnswer, ...] = ()
    confirms: Annotated[_GoAhead, BeforeValidator(_yes_or_no, json_schema_input_type=bool | _GoAhead)] = None
    no_preference: str = ""
    cannot_act: str = ""
    goodbye: str = ""
    leaves: bool = False
    attempts: tuple[_Said, ...] = Field(default=(), max_length=100)
    manner: Annotated[tuple[_Manner, ...], BeforeValidator(as_list)] = ()
    may: tuple[Literal["volunteer", "act", "go_on"], ...] = ()
    prompt: str = Field(default="", max_length=100_000)

    @property
    def patience(self) -> int | None:
        """Return after how many replies with questions an impatient user leaves; None for a patient one."""
        given = (manner.impatient for manner in self.manner if isinstance(manner, Impatience))
        return next(given, DEFAULT_PATIENCE) if "impatient" in self.manners else None

    @property
    def manners(self) -> frozenset[str]:
        """Return the names of the user's manners."""
        return frozenset("impatient" if isinstance(manner, Impatience) else manner for manner in self.manner)

    @property
    def taken_back(self) -> tuple[tuple[str, str], ...]:
        """Return the wrong words that the user says in its manner, each with the right ones."""
        says_first = not self.manners.isdisjoint(SAYS_FIRST)
        return tuple((answer.first, answer.say) for answer in self.answers if says_first and answer.first)

    @model_validator(mode="after")
    def _can_speak_so(self) -> Self:
        """Raise ValueError if the manners contradict each other or the rest of the script."""
        if not self.manner and not self.attempts:
            return self
        names, plain = self.manners, [answer for answer in self.answers if not answer.calls]
        groups = [sorted(names.intersection(group)) for group in _EXCLUSIVE]
        excluded = next((" and ".join(group) for group in groups if len(group) > 1), "")
        needs_first = ", ".join(groups[-1])
        wrong = {
            "manner: one is listed twice": len(names) < len(self.manner),
            f"manner: {excluded} exclude each other": excluded,
            "manner: the user has no answers, so it says nothing in any manner": names and not self.answers,
            "attempts: a user that leaves once its answers are given makes none": self.attempts and self.leaves,
            "manner: an impatient user leaves, and makes no attempts": self.attempts and "impatient" in names,
            f"manner: {needs_first} needs a wrong answer to say first: add first to an answer": needs_first
            and not any(answer.first for answer in self.answers),
            "manner: other_first needs two answers without calls": "other_first" in names and len(plain) < 2,  # noqa: PLR2004  two
        }
        for problem, holds in wrong.items():
            if holds:
                raise ValueError(problem)
        return self


class OracleTurn(Noun):
    """One reply of an ideal agent: the calls it makes, then its words.

    Attributes:
        calls: tool calls before the reply, in order. Example: ``[{"tool": "list_orders", "arguments": {"user": "u-1"}}]``
        say: words of the reply. Example: ``The noodle soup is cancelled.``
    """

    calls: tuple[PlannedCall, ...] = ()
    say: Text


#: The requirement that ``quiet: true`` adds.
_QUIET = {
    "id": "quiet",
    "kind": "hard",
    "text": "Nothing is to be done: the agent changes nothing, proposes nothing and asks nothing",
    "scope": "trajectory",
    "check": {"kind": "quiet"},
}


class NothingFits(Noun):
    """Needs that nothing meets together: a right agent says so, offers what gives up exactly one of them, and says which.

    Attributes:
        relax: ids of the requirements of which one may be given up. Example: ``["step-free", "cheap"]``
        output: dotted path in the structured output of the last reply that names the need given up, by its id or a phrase of says; left out, its words say it. Example: ``given_up``
        says: by id of a need, phrases of which one says that it is given up; left out, prose leaves it undecided. Example: ``{"step-free": ["has steps"]}``
        about: by id of a need, words without which no reply can say that it is given up; they let silence about it fail for certain. Example: ``{"step-free": ["stairs", "steps"]}``
        agreed: tools whose calls need the user's yes, as all that can be had breaks a need; left out, every tool that writes. Example: ``["book_table"]``
    """

    relax: tuple[Identifier, ...] = Field(min_length=1)
    output: str = ""
    says: dict[Identifier, Phrases] = Field(default_factory=dict)
    about: dict[Identifier, Phrases] = Field(default_factory=dict)
    agreed: tuple[Identifier, ...] | None = None


class Truth(Noun):
    """The half of a case that only the judge and the simulated user see.

    Attributes:
        intent: what the user wants, in words, for a user that is a model and for readers. Example: ``Cancel the noodle soup and nothing else``
        persona: who the user is, for a user that is a model. Example: ``A busy parent``
        preferences: what the user likes in this task, one line each. Example: ``["prefers quiet places"]``
        requirements: statements that a good dialogue satisfies. Example: ``[{"id": "cancelled", "kind": "asked", "text": "The order is cancelled"}]``
        clarification: how many questions to the user are useful; left out, none.
        tools: calls that the agent is expected to make, for the tool metrics. Example: ``[{"name": "list_orders"}]``
        output: structured output of a right answer, by the names of the case's output_schema. Example: ``{"total": 15.5}``
        user: script of the simulated user; left out, it knows no answers.
        oracle: replies of an ideal agent, which mapsat lint plays to prove that the case can be solved. Example: ``[{"say": "The noodle soup is cancelled."}]``
        end: reference for the check same_end: calls to play on a fresh sandbox, or ``oracle`` for those of the oracle.
        none: needs that nothing meets together; left out, something meets all. Example: ``{"relax": ["step-free", "cheap"]}``
        quiet: true: doing nothing is right; it adds the hard requirement ``quiet`` with the check of this name.
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
    none: NothingFits | None = None
    quiet: bool = Field(default=False, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _quiet_is_asked(cls, data: Any) -> Any:
        """Return the data with the requirement that ``quiet: true`` means, unless it already exists."""
        if not isinstance(data, dict) or data.get("quiet") is not True:
            return data
        given = data.get("requirements", ())
        if not isinstance(given, (list, tuple)) or any(
            getattr(each, "id", each.get("id") if isinstance(each, dict) else "") == "quiet" for each in given
        ):
            return data
        return {**data, "requirements": [*given, _QUIET]}

    @property
    def reference(self) -> tuple[PlannedCall, ...] | None:
        """Return the calls of the reference (those of the oracle for "oracle"); None if the case has no reference."""
        if self.end == "oracle":
            return tuple(call for turn in self.oracle for call in turn.calls)
        return self.end

    @property
    def reference_turns(self) -> float:
        """Return the reference for Eff in agent replies: the case's own, otherwise clarification turns, otherwise oracle replies; 0 if there are none."""
        policy = self.clarification or Clarification()
        return policy.reference_turns or policy.max_turns or len(self.oracle)

    @property
    def proposals(self) -> tuple[Requirement | ScriptedAnswer, ...]:
        """Return the requirements and answers that no person has accepted yet; a case that has any is a draft and is not part of any run."""
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
        """Return the facts: statements that must be true if the answer makes them (F)."""
        return self._of("fact")

    @cached_property
    def policies(self) -> tuple[Requirement, ...]:
        """Return the rules for the agent's conduct."""
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
        """Return the requirements of some kinds, in written order."""
        return tuple([requirement for requirement in self.requirements if requirement.kind in kinds])

    def __copy__(self) -> Self:
        """Return a copy without cached values, since its requirements may differ."""
        copied = super().__copy__()
        for name in copied.__dict__.keys() - type(self).model_fields:
            del copied.__dict__[name]
        return copied


FaultError = Literal["timeout", "server_error", "rate_limit", "refused", "slow", "empty", "cut", "stale", "lost_reply"]
#: All errors of tools, in the order of the pages.
FAULT_ERRORS: tuple[FaultError, ...] = get_args(FaultError)
_CallNumber = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]
_CallNumbers = Annotated[tuple[_CallNumber, ...], Field(min_length=1, max_length=100)]
_Calls = Annotated[
    Literal["every"] | _CallNumbers,
    BeforeValidator(
        lambda value: (value,) if isinstance(value, int) else value,
        json_schema_input_type=Literal["every"] | _CallNumber | _CallNumbers,
    ),
]


class ToolFault(Noun):
    """A fault of a tool in an episode.

    Attributes:
        tool: name of the tool. Example: ``list_orders``
        call: numbers of the tool's calls that fail, counted from 1; or every. Example: ``1``
        error: timeout, server_error, rate_limit, refused: the call fails, and nothing is done. slow: the answer is late. empty: its lists are empty. cut: it is text that breaks off. stale: it is that of the start. lost_reply: the call is carried out, and its answer is a timeout.
        seconds: for slow, the pause before the answer, at most 60; for rate_limit, the ``retry_after`` of the answer; left out, 0.1 and 1. Example: ``0.5``
    """

    tool: Identifier
    call: _Calls = (1,)
    error: FaultError
    seconds: float | None = Field(default=None, gt=0, le=60)

    @field_validator("seconds")
    @classmethod
    def _of_waiting(cls, value: float | None, info: ValidationInfo) -> float | None:
        """Return the seconds unchanged. Raises ValueError for an error without a wait."""
        if value is not None and info.data.get("error", "slow") not in ("slow", "rate_limit"):
            raise ValueError("only slow and rate_limit have seconds")
        return value

    def hits(self, number: int) -> bool:
        """Return whether the call of the tool with this number, from 1, fails."""
        return self.call == "every" or number in self.call


class After(Noun):
    """The moment of an event: a tool has answered a number of calls, or the agent has given a number of replies.

    Attributes:
        tool: name of the tool, called by the agent or the user; give this or turn. Example: ``list_orders``
        call: which answered call of the tool, counted from 1; left out, the first. Example: ``1``
        turn: which reply of the agent, counted from 1; the event comes before the user's next message. Example: ``2``
    """

    tool: Identifier | None = None
    call: int = Field(default=1, ge=1, le=1_000_000, strict=True)
    turn: int | None = Field(default=None, ge=1, le=1_000_000, strict=True)

    @model_validator(mode="after")
    def _one_moment(self) -> Self:
        """Raise ValueError unless either a tool or a turn is given, and a call only with a tool."""
        if (self.tool is None) == (self.turn is None) or (self.turn is not None and "call" in self.model_fields_set):
            given = ", ".join(name for name in ("tool", "call", "turn") if name in self.model_fields_set)
            raise ValueError(f"found {given or 'nothing'}, expected {{tool: NAME, call: NUMBER}} or {{turn: NUMBER}}")
        return self

    def __str__(self) -> str:
        return f"after reply {self.turn}" if self.tool is None else f"after call {self.call} of {self.tool}"


class Event(Noun):
    """Something that happens during the dialogue. Its changes are never the agent's.

    Attributes:
        after: moment at which it happens.
        rows: changes to rows of the tables. Example: ``[{"table": "orders", "where": {"id": "A1"}, "set": {"status": "sent"}}]``
        calls: calls that are played after that; they cause no other event. Example: ``[{"tool": "cancel_order", "arguments": {"order_id": "A1"}}]``
        say: words with which the user's next message begins; the user neither agrees to a request nor ends the dialogue in that message. Example: ``The bus is cancelled, I have just read.``
        reveals: ids of the requirements that these words state. Example: ``["no-bus"]``
    """

    after: After
    rows: tuple[RowPatch, ...] = Field(default=(), max_length=10_000)
    calls: tuple[PlannedCall, ...] = Field(default=(), max_length=1000)
    say: Spoken = ""
    reveals: tuple[Identifier, ...] = ()

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        """Raise ValueError if nothing happens, or if the event reveals something without words."""
        if not (self.rows or self.calls or self.say):
            raise ValueError("nothing happens: give rows, calls or say")
        if self.reveals and not self.say:
            raise ValueError("reveals needs say, the words that state it")
        return self


class World(Noun):
    """The differences between a case's starting state and the suite's, and what happens in its episode. They do not count as changes by the agent.

    Attributes:
        rows: changes to rows of the suite's tables. Example: ``[{"table": "orders", "where": {"id": "A1"}, "set": {"status": "sent"}}]``
        calls: calls that are played after that, before the dialogue starts. Example: ``[{"tool": "cancel_order", "arguments": {"order_id": "A1"}}]``
        faults: calls of tools that fail in the episode. Example: ``[{"tool": "list_orders", "call": 1, "error": "timeout"}]``
        events: what happens during the dialogue; of several at one moment, the first comes first. Example: ``[{"after": {"tool": "list_orders"}, "say": "I have paid by now."}]``
    """

    rows: tuple[RowPatch, ...] = Field(default=(), max_length=10_000)
    calls: tuple[PlannedCall, ...] = Field(default=(), max_length=1000)
    events: tuple[Event, ...] = Field(default=(), max_length=100)
    faults: tuple[ToolFault, ...] = Field(default=(), max_length=100)

    @field_validator("faults")
    @classmethod
    def _one_for_a_call(cls, faults: tuple[ToolFault, ...]) -> tuple[ToolFault, ...]:
        """Return the faults unchanged. Raises ValueError if two of them are of the same call."""
        for index, fault in enumerate(faults):
            for other in faults[:index]:
                both = [number for number in fault.call if other.hits(number)] if fault.call != "every" else other.call
                if other.tool == fault.tool and both:
                    call = "every call" if both == "every" else f"call {both[0]}"
                    raise ValueError(
                        f"{other.error} and {fault.error} are both of {call} of {fault.tool}: give each call one fault"
                    )
        return faults


class EpisodeTerms(Noun):
    """Limits of one episode.

    Attributes:
        calls: most tool calls in an episode, whatever their results; left out, there is no limit. Example: ``20``
        run: tools of the agent whose own body runs, because it runs another agent; the sandbox answers the tools of that agent. A tool that the case has never runs. Example: ``["ask_orders"]``
    """

    calls: int | None = Field(default=None, ge=0, le=1_000_000, strict=True)
    run: tuple[Text, ...] = Field(default=(), max_length=100)


#: The attribute of a variant that names its case.
VARIANT_OF = "variant_of"


class Case(Noun):
    """One case of a benchmark.

    Attributes:
        id: name of the case, unique in the suite: letters, digits and ``_.-``, at most 80. Example: ``cancel-noodles``
        domains: domains of the suite that the case belongs to; left out, the folder's name or the suite's only domain. Example: ``["orders"]``
        difficulty: difficulty, in the suite's own word; reports group by it. Example: ``hard``
        language: language of the case, as a BCP 47 tag; left out, that of the suite. Example: ``en``
        attributes: further groups for reports and samples, text by name. Example: ``{"time": "evening"}``
        group: sequence of tasks of one user that the case belongs to; left out, it is on its own.
        episode: limits of the episode; left out, those of the suite apply.
        visible: what the agent sees.
        truth: what only the judge and the simulated user see.
        world: starting state of the case, where it differs from that of the suite, and later events; the agent does not see it.
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

    def without(self, *disturbances: Literal["faults", "events"]) -> Case:
        """Return the case without the faults or events of its world."""
        if not any(getattr(self.world, name) for name in disturbances):
            return self
        return self.model_copy(update={"world": self.world.model_copy(update=dict.fromkeys(disturbances, ()))})


SUITE_SCHEMA = 1
_Word = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"\S")]
_Variable = Annotated[str, StringConstraints(max_length=255, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_Words = Annotated[tuple[_Word, ...], Field(max_length=500)]


class EpisodeDefaults(EpisodeTerms):
    """Default limits for the episodes of a suite.

    Attributes:
        max_turns: most agent replies in an episode; left out, 10. Example: ``10``
        timeout: wall time of an episode in seconds; left out, 300. Example: ``300``
        user: who plays the user: scripted, or silent (it never answers); left out, scripted.
    """

    max_turns: int | None = Field(default=None, ge=1, le=1_000_000, strict=True)
    timeout: float | None = Field(default=None, gt=0, le=86_400)
    user: Literal["scripted", "silent"] | None = None


class SampleTerms(Noun):
    """The rules for drawing a sample of the suite's cases.

    Attributes:
        by: attributes to spread the sample over, or domain, difficulty, language, group: equally over the values of the first, in proportion over the others. Example: ``["domain"]``
        seed: another seed draws another sample. Example: ``0``
    """

    by: Annotated[tuple[_Word, ...], Field(max_length=20)] = ()
    seed: int = Field(default=0, ge=0, le=999_999_999, strict=True)

    @field_validator("by")
    @classmethod
    def _once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names unchanged. Raises ValueError if one occurs twice."""
        if len(set(names)) < len(names):
            raise ValueError("an attribute is listed twice")
        return names

    def __str__(self) -> str:
        by = f"by {', '.join(self.by)} " if self.by else ""
        return f"{by}(seed {self.seed})"


class Window(Noun):
    """The windows of a dialogue that a model judges one by one.

    Attributes:
        messages: number of messages in a window, at least 2. Example: ``20``
        overlap: number of messages that two neighbouring windows share; less than messages. Example: ``4``
    """

    messages: int = Field(ge=2, le=1000, strict=True)
    overlap: int = Field(default=0, ge=0, strict=True)

    @model_validator(mode="after")
    def _goes_on(self) -> Window:
        """Raise ValueError if the overlap is not smaller than the window."""
        if self.overlap >= self.messages:
            raise ValueError(f"an overlap of {self.overlap} leaves a window of {self.messages} messages nothing new")
        return self


class JudgeTerms(Noun):
    """Information for judges about the suite, and the rates that they must achieve.

    Attributes:
        about: a sentence on the domain, shown to a judging model with each dialogue. Example: ``Customers of a food shop talk to its assistant.``
        window: windows in which a model judges requirements of scope trajectory (not policies); left out, it sees the whole dialogue.
        tpr: least share of satisfied requirements that a judge must pass (lower bound) before its verdicts decide a gate; left out, none. Example: ``0.9``
        tnr: least share of broken requirements that a judge must fail (lower bound) before its verdicts decide a gate; left out, none. Example: ``0.9``
        labels: least number of labelled requirements that tpr and tnr must rest on. Example: ``100``
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
    """A requirement that several cases share by ``use``, or a group of such requirements. ``{{name}}`` in its texts is replaced from the case's ``vars``.

    Attributes:
        kind: kind of the requirement, as in a case; left out for a group.
        use: for a group: ids of its requirements; a group has no other key. Example: ``["asks-first", "no-other-change"]``
        id: id in the case; left out, the name under which it is used. Example: ``asks-first``
        text: the requirement in words, or one text for each language. Example: ``The customer agrees before an order is cancelled``
        source: where the agent could learn it, as in a case. Example: ``unstated``
        weight: weight in the metrics, as in a case. Example: ``1``
        evidence: observations that support it, as in a case. Example: ``[{"count": 7, "total": 8}]``
        scope: what it is about, as in a case. Example: ``answer``
        check: check that decides it, as in a case. Example: ``{"kind": "unchanged"}``
        levels: levels of a soft requirement, as in a case. Example: ``[{"level": 1, "check": {"kind": "says", "any": ["window seat"]}}]``
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
        """Raise ValueError unless it is either a requirement with a kind and a text, or a group with only ``use``."""
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
    """A service whose test endpoints return the state that episodes change.

    Attributes:
        state: request that returns its tables: method and address; ``${VARIABLE}`` is filled from the environment. Example: ``GET http://127.0.0.1:8000/test/state``
        reset: request that resets it before each episode; left out, it is not reset. Example: ``POST http://127.0.0.1:8000/test/reset``
        headers: headers of both requests; ``${VARIABLE}`` is filled from the environment. Example: ``{"Authorization": "Bearer ${TOKEN}"}``
        keys: by table, the column or columns that identify a row; left out, ``id``. Example: ``{"bookings": "number"}``
        ignore: columns whose changes do not count. Example: ``["updated_at"]``
        hide: columns that count but are written to no file. Example: ``["password"]``
        hosts: hosts it may run on besides this machine. Example: ``["staging.example.org"]``
        settle: seconds between two readings, which must be equal before the end state is taken; 0.1 by default. Example: ``0.1``
        parallel: true if concurrent episodes do not see each other's changes.
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
    """The file ``suite.yaml``, which makes a folder a suite.

    Attributes:
        name: name of the suite. Example: ``shop``
        version: version of the suite, in quotes. Example: ``"1"``
        license: SPDX id of the licence for others; left out, none is stated. Example: ``MIT``
        schema_version: version of the file format, 1. Example: ``1``
        coordinates: coordinate system of all places, which is never converted; left out, the suite has no places.
        language: language of cases that do not state theirs, as a BCP 47 tag. Example: ``en``
        domains: domains with a line on each; every domain becomes a pytest marker. Example: ``{"orders": "looking after orders"}``
        description: one line on the suite. Example: ``What customers of a food shop ask its assistant``
        instructions: instructions to the agent in cases without their own. Example: ``Ask before you change anything.``
        common: requirements that cases share by ``use``, by id. Example: ``{"asks-first": {"kind": "hard", "text": "The customer agrees before an order is cancelled"}}``
        currency: currency of all prices (ISO 4217); sums in another currency stay undecided.
        metrics: metric sets to measure the cases by. Example: ``["msb"]``
        success: metric of one case that is 1 if the case is solved; left out, none is. Example: ``ar``
        fail_on: kinds of requirements whose failure fails a case; left out, asked, facts and hard. The command line and the ini file come first. Example: ``["asked", "hard"]``
        episode: limits of an episode, and who plays the user; the command line and the ini file come first.
        judge: what judges learn about the suite, and what they must achieve before they decide a gate.
        sample: how --mapsat-sample draws cases of this suite.
        cluster: attribute whose cases are alike, so that intervals draw them together; left out, none is. Example: ``kind``
        sandbox: options that the suite's Python sandbox must support; without such a sandbox the run is refused. Example: ``{"clock": "fixed"}``
        environment: service whose state episodes change, in place of a sandbox; left out, there is none, or a fixture gives one.
        arguments: tolerant: arguments that mean the same as the parameter's type are accepted (``"2"`` for 2). strict: they are refused.
        misses: who is to blame for a call of a recorded tool that no recording answers; left out, the sandbox.
        carry: dialogues: an agent keeps its earlier dialogues with a user; left out, only the interactions of the cases.
        cases: number of cases in the suite, so that a lost file is noticed; left out, they are not counted. Example: ``50``
        vocabulary: words of the domain, by group of the language packs. Example: ``{"reject": ["fully booked"]}``
        redact: environment variables that hold secrets although their names do not show it. Example: ``["SHOP_LOGIN"]``
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
        """Return the asserted kinds sorted, without repetitions; None unchanged. Raises ValueError if "none" is combined with other kinds."""
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
            raise ValueError("a metric set is listed twice")
        return metric_sets
