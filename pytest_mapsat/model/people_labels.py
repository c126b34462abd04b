"""Labels of people: what is known of a dialogue, the test of a judge and its first source."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from .base import Identifier, Level, Noun, Text
from .case import SOFT_LEVELS, Requirement
from .digest import digest
from .trajectory import Trajectory, Turn

LABELS_SCHEMA: Literal["mapsat-labels/1"] = "mapsat-labels/1"

_Note = Annotated[str, StringConstraints(max_length=10_000)]
_Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


def _is_mark(found: Any) -> Any:
    numeric = isinstance(found, int | float) and not isinstance(found, bool)
    if found in ("passed", "failed") if isinstance(found, str) else numeric and found in SOFT_LEVELS:
        return found
    raise ValueError(
        f"found {found!r:.80}, expected passed, failed, or a soft requirement's level (0, 0.25, 0.5, 0.75, 1)"
    )


#: What becomes of one requirement: ``passed``, ``failed``, or a soft requirement's level.
Mark = Annotated[Literal["passed", "failed"] | Level, BeforeValidator(_is_mark)]


def mark_value(mark: Mark) -> float:
    """Return the value of a label that holds what a mark says: 0 to 1."""
    return {"passed": 1.0, "failed": 0.0}[mark] if isinstance(mark, str) else mark


def fits(mark: Mark, requirement: Requirement) -> bool:
    """Return whether a requirement can have the mark: only a soft one has levels."""
    return isinstance(mark, str) or requirement.kind == "soft"


class PeopleLabels(Noun):
    """What is known of one dialogue of a case: marks of requirements, by a person, or by a model whose labels a person looked over.

    The dialogue is given in one of four ways: ``text``, the final reply in place of the oracle dialogue's; ``turns``, a whole dialogue, in which calls
    that give neither result nor status are made in the case's sandbox; ``reply`` and ``evidence``, digests of the agent's replies and of its calls with
    their results, which is how a review ties labels to what was said; or ``trial`` of a run at hand, with ``agent`` and ``attempt`` where they are
    needed. ``wording``: digests of the requirements' words, for labels that count for no other words. ``style``: how the answer is written, one word.
    ``when``: the day, as 2026-05-07.
    """

    schema_: Literal["mapsat-labels/1"] = Field(default=LABELS_SCHEMA, alias="schema")
    case: Identifier
    id: Identifier | Literal[""] = ""
    style: Identifier | None = None
    by: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    when: Annotated[str, StringConstraints(pattern=r"^(\d{4}-\d\d-\d\d)?$")] = ""
    text: Text | None = None
    turns: tuple[Turn, ...] = ()
    trial: Annotated[int, Field(ge=1)] | None = None
    agent: str = ""
    attempt: int = Field(default=1, ge=1)
    reply: _Digest | None = None
    evidence: _Digest | None = None
    labels: dict[Identifier, Mark] = Field(min_length=1)
    wording: dict[Identifier, _Digest] = Field(default_factory=dict)
    why: dict[Identifier, _Note] = Field(default_factory=dict)
    note: _Note = ""

    @property
    def holds_dialogue(self) -> bool:
        """Whether the dialogue itself is there, so that a judge can be held against the labels."""
        return self.text is not None or bool(self.turns)

    @model_validator(mode="after")
    def _names_a_dialogue(self) -> PeopleLabels:
        ways = (self.text is not None, bool(self.turns), self.trial is not None, self.reply is not None)
        if sum(ways) != 1:
            raise ValueError(
                "give one of text (the final reply), turns (the whole dialogue), reply with evidence (digests), or trial"
            )
        if (self.reply is None) != (self.evidence is None):
            raise ValueError("reply and evidence go together")
        if self.holds_dialogue and not self.id:
            raise ValueError("id is missing: answers to a case are told apart by it")
        if self.text is not None and not self.text.strip():
            raise ValueError("text has no words")
        if self.turns and (self.turns[0].role != "user" or all(turn.role == "user" for turn in self.turns)):
            raise ValueError("turns begin with the user's query and hold a reply of the agent")
        if unlabelled := sorted({*self.why, *self.wording} - {*self.labels}):
            raise ValueError(f"why or wording names {unlabelled[0]!r:.80}, which has no label")
        return self


def wording_digest(requirement: Requirement) -> str:
    """Return a digest of what a requirement asks for, in words."""
    return digest({"id": requirement.id, "text": requirement.text})


def reply_digest(trajectory: Trajectory) -> str:
    """Return a digest of what the agent said: its texts, and its output where it gave any."""
    return digest([[turn.text] if turn.output is None else [turn.text, turn.output] for turn in trajectory.replies])


def evidence_digest(trajectory: Trajectory) -> str:
    """Return a digest of the agent's calls and what they were answered with."""
    return digest([[call.tool, call.arguments, call.result] for call in trajectory.calls])
