"""What people say of answers: an answer with its labels, the test of a judge, and a decision on one label of a dialogue."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from .base import Identifier, Level, Noun, Text
from .case import SOFT_LEVELS, ImplicitRequirement, Requirement
from .digest import digest
from .trajectory import Trajectory, Turn

ANSWER_SCHEMA: Literal["mapsat-answer/1"] = "mapsat-answer/1"
DECISION_SCHEMA: Literal["mapsat-decision/1"] = "mapsat-decision/1"

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
    return isinstance(mark, str) or (isinstance(requirement, ImplicitRequirement) and requirement.severity == "soft")


class LabelledAnswer(Noun):
    """An answer to a case, and what a judge should say of it.

    Either ``text``, the final reply in place of the oracle dialogue's, or ``turns``, a whole dialogue. Calls in it that give neither result
    nor status are made in the case's sandbox. ``labels``: requirement id to mark, for every explicit requirement, hard requirement and fact requirement,
    and for any soft requirement. ``style``: how it is written, one word (``table``, ``prose``, ``terse``). ``by``: who labelled it.
    """

    schema_: Literal["mapsat-answer/1"] = Field(default=ANSWER_SCHEMA, alias="schema")
    case: Identifier
    id: Identifier
    style: Identifier | None = None
    by: Literal["person", "model"]
    text: Text | None = None
    turns: tuple[Turn, ...] = ()
    labels: dict[str, Mark]
    note: _Note = ""

    @model_validator(mode="after")
    def _says_something(self) -> LabelledAnswer:
        if (self.text is None) == (not self.turns):
            raise ValueError("give text (the final reply) or turns (the whole dialogue), one of the two")
        if self.text is not None and not self.text.strip():
            raise ValueError("text has no words")
        if self.turns and (self.turns[0].role != "user" or all(turn.role == "user" for turn in self.turns)):
            raise ValueError("turns begin with the user's query and hold a reply of the agent")
        return self


class Decision(Noun):
    """What a person decided of one requirement in one dialogue.

    It counts for a dialogue of the case in which ``wording``, ``reply`` and ``evidence`` are what they were: digests of the
    requirement's id and words, of the agent's replies, and of its calls with their results. ``by``: who decided.
    """

    schema_: Literal["mapsat-decision/1"] = Field(default=DECISION_SCHEMA, alias="schema")
    case: Identifier
    requirement: Identifier
    outcome: Mark
    by: Annotated[str, StringConstraints(min_length=1, max_length=200)] = "person"
    why: _Note = ""
    wording: _Digest
    reply: _Digest
    evidence: _Digest


def wording_digest(requirement: Requirement) -> str:
    """Return a digest of what a requirement asks for, in words."""
    return digest({"id": requirement.id, "text": requirement.text})


def reply_digest(trajectory: Trajectory) -> str:
    """Return a digest of what the agent said: its texts, and its output where it gave any."""
    return digest([[turn.text] if turn.output is None else [turn.text, turn.output] for turn in trajectory.replies])


def evidence_digest(trajectory: Trajectory) -> str:
    """Return a digest of the agent's calls and what they were answered with."""
    return digest([[call.tool, call.arguments, call.result] for call in trajectory.calls])
