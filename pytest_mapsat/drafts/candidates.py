"""Candidates for requirements: needs that a query leaves unsaid, as conditions on the fields of what a tool returned or a catalogue lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_mapsat.model import Evidence, Json, Recommends, Requirement


@dataclass(frozen=True)
class Candidate:
    """A need that a query may leave unsaid.

    Attributes:
        id: what its requirement is called in the case.
        text: the requirement in words, in the language of the case.
        where: by field of the thing that is proposed (a dotted path), the value or the match that it must have.
        kind: ``hard`` where the user never did without it, else ``soft``.
        source: where its evidence stands; ``unstated`` where none was found before the reply.
        evidence: what supports it before the reply, each with its places in the log.
    """

    id: str
    text: str
    where: Mapping[str, Json]
    kind: Literal["asked", "hard", "soft"] = "hard"
    source: Literal["context", "profile", "environment", "unstated"] = "unstated"
    evidence: tuple[Evidence, ...] = ()


def requirement_of(candidate: Candidate, *, draft: bool) -> Requirement:
    """Return the requirement that a candidate proposes: all that an answer recommends fits ``where``."""
    check = Recommends.model_validate({"kind": "recommends", "only": True, "where": dict(candidate.where)})
    implicit = {} if candidate.kind == "asked" else {"source": candidate.source, "evidence": candidate.evidence}
    return Requirement(id=candidate.id, kind=candidate.kind, text=candidate.text, check=check, draft=draft, **implicit)
