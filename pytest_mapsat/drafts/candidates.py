"""Candidates for requirements: needs that a query leaves unsaid, as conditions on the fields of what a tool returned or a catalogue lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
        none_where: by field, the value or the match that nothing that is proposed may have.
    """

    id: str
    text: str
    where: Mapping[str, Json] = field(default_factory=dict)
    kind: Literal["asked", "hard", "soft"] = "hard"
    source: Literal["context", "profile", "environment", "unstated"] = "unstated"
    evidence: tuple[Evidence, ...] = ()
    none_where: Mapping[str, Json] = field(default_factory=dict)


def requirement_of(candidate: Candidate, *, draft: bool) -> Requirement:
    """Return the requirement that a candidate proposes: all that an answer recommends fits ``where``, and none of it ``none_where``."""
    parts = {"only": True, "where": dict(candidate.where)} if candidate.where else {}
    parts |= {"none_where": dict(candidate.none_where)} if candidate.none_where else {}
    check = Recommends.model_validate({"kind": "recommends", **parts})
    implicit = {} if candidate.kind == "asked" else {"source": candidate.source, "evidence": candidate.evidence}
    return Requirement(id=candidate.id, kind=candidate.kind, text=candidate.text, check=check, draft=draft, **implicit)
