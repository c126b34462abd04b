"""What a judge labels beside the requirements of a case, where a family of metrics asks for it: the steps of replies, and the things that replies name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import StringConstraints

from pytest_mapsat.model import (
    OBSERVATION,
    STATE,
    All,
    Case,
    Label,
    LabelKind,
    Recommends,
    Requirement,
    Step,
    Tool,
    step_name,
    thing_name,
)
from pytest_mapsat.text import Document

from .argument_sources import Known, origin
from .choices import breaks
from .claims import Judged
from .context import Context
from .finding import Finding, cite
from .labels import label_valued
from .things import Recommendation, find_entities, standings

_BY_MODEL = "a thought is read by a model only"


class Beside(Requirement):
    """A step or a thing as something to be judged.

    ``id``: what its label is about. ``kind``: ``state`` or ``observation``. ``shown``: the thought, or the name of the thing, which a model is shown as the part ``part`` of its data: they are
    words of the agent or of a tool, and so stand in no requirement.
    """

    id: Annotated[str, StringConstraints(pattern=r"^(step|thing):[0-9]+\.[0-9]+$")]
    kind: LabelKind  # type: ignore[assignment]
    shown: str = ""

    @property
    def part(self) -> str:
        """What a model knows it by."""
        return self.id.replace("step", "thought").replace(":", "-")


def besides(case: Case, context: Context, kinds: Collection[str]) -> tuple[tuple[Beside, Label], ...]:
    """Return what is judged beside the requirements of a case, each with the label that rules give it.

    Args:
        case: the case.
        context: its dialogue.
        kinds: kinds of labels that are asked for: ``state``, ``observation``.
    """
    found = [
        *(_steps(case, context) if STATE in kinds else ()),
        *(_things(case, context) if OBSERVATION in kinds else ()),
    ]
    return tuple((beside, label_valued(beside, finding, context)) for beside, finding in found)


# -- steps ---------------------------------------------------------------------------------------------------------------


def _steps(case: Case, context: Context) -> Iterator[tuple[Beside, Finding]]:
    """Yield each step of the replies: does it agree with what was said and known by then?"""
    known = Known(case.visible, case.language)
    number = calls = 0
    for turn in context.trajectory.turns:
        if turn.role == "user":
            known.hear(turn.text)
            continue
        number += 1
        for place, step in enumerate(turn.steps, 1):
            calls += step.kind == "call"
            named = f"call-{calls}" if step.kind == "call" else f"thought-{number}.{place}"
            text = (
                f"{named}, step {place} of reply-{number}, agrees with the dialogue up to then and the steps before it"
            )
            name = step_name(number, place)
            beside = Beside(id=name, kind=STATE, text=text, scope="trajectory", shown=step.text)
            yield beside, _state(step, context.tools.get(step.tool), known)
            known.take(step.result)
        known.say(turn.text)


def _state(step: Step, tool: Tool | None, known: Known) -> Finding:
    return Finding(None, _BY_MODEL) if step.kind == "thought" else origin(step, tool, known)


# -- things --------------------------------------------------------------------------------------------------------------


def _things(case: Case, context: Context) -> Iterator[tuple[Beside, Finding]]:
    """Yield each thing that a tool returned and a reply names, with the finding whether the reply treats it rightly."""
    checks = list(_checks(case))
    turns = [index for index, turn in enumerate(context.trajectory.turns) if turn.role == "agent"]
    for document in context.replies:
        number = turns.index(document.turn) + 1
        said = standings([document])
        for place, key in enumerate(_named(document, context), 1):
            claims = [
                one
                for one in context.claims
                if one.claim.document.turn == document.turn and one.claim.subject == (key,)
            ]
            name = next(entity.name for entity in context.entities if entity.key == key)
            text = f"what reply-{number} makes of thing-{number}.{place} is right, and fits what the user asks for"
            beside = Beside(id=thing_name(number, place), kind=OBSERVATION, text=text, shown=name)
            finding = _aligned(key, said.get(key), claims, checks, context)
            yield beside, _quoted(finding, key, document)


def _checks(case: Case) -> Iterator[tuple[str, Recommends]]:
    """Yield the checks of what is recommended that must hold whatever else does, each with its requirement's id: a preference need not."""
    for requirement in case.truth.required:
        waiting = [requirement.check] if requirement.check is not None else []
        while waiting:
            check = waiting.pop()
            if isinstance(check, Recommends):
                yield requirement.id, check
            elif isinstance(check, All):
                waiting += check.checks


def _named(document: Document, context: Context) -> list[str]:
    """Return the keys of the things that a reply surely names, of those that tools had returned by then."""
    returned = {
        one.key
        for one in find_entities((step for turn, step in context.answered if turn <= document.turn), context.tools)
        if one.sort != "leg"
    }
    keys = (mention.keys for mention in document.mentions if mention.form != "kind" and len(mention.keys) == 1)
    return list(dict.fromkeys(key for (key,) in keys if key in returned))


def _aligned(
    key: str,
    standing: Recommendation | None,
    claims: Sequence[Judged],
    checks: Iterable[tuple[str, Recommends]],
    context: Context,
) -> Finding:
    """Return whether claims of a thing are borne out, and no check says that it should not be recommended."""
    wanted = "claims that are borne out, and only what fits recommended"
    wrong = [one for one in claims if one.wrong]
    if wrong:
        return Finding(
            False,
            f"{cite(wrong[0].claim.document.quote(wrong[0].claim.span))}: {wrong[0].verdict}, {wrong[0].reason}",
            wanted,
        )
    broken = (
        {breaks(check, key, context): requirement for requirement, check in checks}
        if standing is not None and standing.proposed is not False
        else {}
    )
    if True in broken and standing is not None and standing.proposed:
        return Finding(False, f"it is recommended, and breaks {broken[True]}", wanted)
    if True in broken or None in broken:
        return Finding(
            None, f"unclear whether it is recommended, or whether {broken.get(True) or broken[None]} allows it", wanted
        )
    undecided = next((one for one in claims if one.matters and one.verdict != "supported"), None)
    if undecided is not None:
        return Finding(
            None, f"{cite(undecided.claim.document.quote(undecided.claim.span))}: {undecided.reason}", wanted
        )
    return Finding(True, f"{len(claims)} claims of it are borne out, and it breaks no check", wanted)


def _quoted(finding: Finding, key: str, document: Document) -> Finding:
    """Return a finding with the words that first name its thing."""
    first = next(mention for mention in document.mentions if mention.keys == (key,))
    return replace(finding, quotes=(document.quote(first.span),))
