"""What a model is asked: the requirements of one dimension of a dialogue, in a seeded order, and the form of its reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_mapsat.llm import Request, prompt
from pytest_mapsat.model import (
    OBSERVATION,
    SOFT_LEVELS,
    STATE,
    Factor,
    ImplicitFactor,
    Json,
    JsonObject,
    LabelKind,
    digest,
)

from .material import Material

#: The prompts in use, by file name: instructions, the material, and the second asking.
PROMPTS = ("judge", "judge_dialogue", "judge_again")
#: The instructions for what is judged beside the factors, by kind of label.
BESIDE_PROMPTS: Mapping[LabelKind, str] = {STATE: "judge_state", OBSERVATION: "judge_observation"}
#: What the model may say of a factor; a factor with levels takes one of them in place of the first two.
PASSED, FAILED, NOT_STATED, CANNOT_SAY = "passed", "failed", "not_stated", "cannot_say"
LEVELS: Mapping[str, float] = {f"{level:g}": level for level in SOFT_LEVELS}
RELATIONS = ("equal", "at_most", "at_least")
UNITS = ("min", "h", "m", "km", "money", "clock", "count", "text")

_TEXT: JsonObject = {"type": "string"}


def _object(**properties: Json) -> JsonObject:
    # Strict modes of the services want every property required and no other one.
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


#: The form of the reply. The reason comes before the verdict: what is written first is thought first.
SCHEMA: JsonObject = _object(
    labels={
        "type": "array",
        "items": _object(
            requirement={"type": "integer"},
            reason=_TEXT,
            quotes={"type": "array", "items": _object(part=_TEXT, words=_TEXT)},
            figures={
                "type": "array",
                "items": _object(
                    words=_TEXT,
                    of=_TEXT,
                    unit={"type": "string", "enum": list(UNITS)},
                    value=_TEXT,
                    relation={"type": "string", "enum": list(RELATIONS)},
                    known=_TEXT,
                ),
            },
            verdict={"type": "string", "enum": [PASSED, FAILED, NOT_STATED, CANNOT_SAY, *LEVELS]},
        ),
    }
)


@dataclass(frozen=True)
class Asked:
    """The factors of one dimension of one dialogue, in the order in which one vote is asked.

    Attributes:
        case: the case's id.
        kind: the dimension: explicit, implicit, fact or policy, or state or observation.
        factors: in this order they are numbered, from 1.
        material: what the model is shown.
        language: BCP 47 tag of the case.
    """

    case: str
    kind: LabelKind
    factors: tuple[Factor, ...]
    material: Material
    language: str

    @classmethod
    def of(
        cls, case: str, kind: LabelKind, factors: Sequence[Factor], material: Material, *, language: str, vote: int
    ) -> Asked:
        """Return the factors shuffled: by their ids, the case, the dimension and the vote, the same on every machine."""
        shuffled = sorted(factors, key=lambda factor: (digest([case, kind, vote, factor.id], 16), factor.id))
        return cls(case, kind, tuple(shuffled), material, language)

    def messages(self) -> tuple[JsonObject, ...]:
        """Return what the model is told and shown."""
        instructions = prompt(BESIDE_PROMPTS.get(self.kind, "judge"), self.language).fill(fence=self.material.fence)
        dialogue = prompt("judge_dialogue", self.language).fill(
            situation=self.material.fenced({"situation"}),
            dialogue=self.material.fenced({"user", "reply"}),
            calls=self.material.fenced({"call", "thought", "thing"}) or "-",
            left_out=str(self.material.left_out),
            requirements="\n".join(self._line(number, factor) for number, factor in enumerate(self.factors, 1)),
        )
        return {"role": "system", "content": instructions}, {"role": "user", "content": dialogue}

    def _line(self, number: int, factor: Factor) -> str:
        words = "fact" if self.kind == "fact" else "level" if has_levels(factor) else "yes-or-no"
        return f"{number}. [{words}] {' '.join(factor.text.split())}"


def has_levels(factor: Factor) -> bool:
    """Return whether a factor is judged by degrees: a soft one, unless its own check says that it holds or not."""
    return isinstance(factor, ImplicitFactor) and factor.severity == "soft" and factor.check is None


def request_of(asked: Asked, model: str, parameters: Mapping[str, Any], *, trial: int, vote: int) -> Request:
    """Return the first asking of one vote.

    Args:
        asked: what is asked.
        model: the model's name, as litellm knows it.
        parameters: its sampling parameters.
        trial: the trial of the dialogue.
        vote: which evaluation of the same dialogue this is, from 1.
    """
    return Request(
        model=model,
        messages=asked.messages(),
        schema_=SCHEMA,
        parameters=dict(parameters),
        trial=trial,
        vote=vote,
        purpose="judge",
    )


def again(request: Request, said: str, problems: Sequence[str], language: str) -> Request:
    """Return the second and last asking, with what of the first reply does not check.

    Args:
        request: the first asking.
        said: the model's reply; empty where it gave none that can be used.
        problems: what does not check, each on one line, by the number of its requirement.
        language: BCP 47 tag of the case.
    """
    text = prompt("judge_again", language).fill(problems="\n".join(f"- {problem}" for problem in problems))
    before: list[JsonObject] = [{"role": "assistant", "content": said}] if said else []
    messages = (*request.messages, *before, {"role": "user", "content": text})
    return request.model_copy(update={"messages": messages})
