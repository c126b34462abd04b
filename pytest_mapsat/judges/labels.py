"""From a check to a label: the finding of the function that judges it, and judges that label more than the requirements of a case.

Where a metric set asks for it, installed packages label the steps of replies, the things that replies name, and the quality of their words, too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from math import inf
from time import perf_counter
from typing import Annotated

from pydantic import StringConstraints

from pytest_mapsat.model import (
    BESIDES,
    SOFT_LEVELS,
    All,
    AnyOf,
    AtLeast,
    Blame,
    Case,
    Check,
    Grounded,
    Label,
    LabelKind,
    Not,
    Requirement,
    Trajectory,
    Verdict,
)
from pytest_mapsat.registry import installed_function

from . import exact, figures, python_check  # noqa: F401  their functions judge checks
from .claims import stated_claims
from .context import JudgedDialogue
from .findings import (
    FUNCTION_OF,
    Finding,
    at_least,
    cell_of,
    every,
    judges,
    left_open,
    negated,
    reading_of,
    some,
    suspicion,
)


@judges(All)
def _all(check: All, context: JudgedDialogue) -> Finding:
    """Judge whether all parts hold."""
    return every(_parts(check.checks, context))


@judges(AnyOf)
def _any_of(check: AnyOf, context: JudgedDialogue) -> Finding:
    """Judge whether at least one part holds."""
    return some(_parts(check.checks, context))


@judges(AtLeast)
def _at_least(check: AtLeast, context: JudgedDialogue) -> Finding:
    """Judge whether at least ``n`` parts hold."""
    return at_least(check.n, _parts(check.checks, context))


@judges(Not)
def _not(check: Not, context: JudgedDialogue) -> Finding:
    """Judge whether a check does not hold."""
    return negated(_evaluate(check.check, context))


def evaluate(check: Check, context: JudgedDialogue) -> Finding:
    """Judge one check.

    Args:
        check: what must hold.
        context: the trajectory and the tools of its suite.

    Returns:
        Passed, failed or undecided, with the reason and the words that decided it, or that are unclear.
    """
    return _with_late_calls(check, context.knowing([check]))


def _with_late_calls(check: Check, context: JudgedDialogue) -> Finding:
    """Judge a check; if calls came after the last reply, the check must hold with and without these calls."""
    finding = _evaluate(check, context)
    if not context.trajectory.after_end or finding.passed is False:
        return finding
    late = _evaluate(check, context.with_late_calls)
    return finding if late.passed else late._replace(why=f"{late.why}; {_LATE}")


def _evaluate(check: Check, context: JudgedDialogue) -> Finding:
    """Judge a check on the recorded episode, and record which family of prose it read."""
    if getattr(check, "turn", "") == "since_event" or getattr(check, "since", None) is not None:
        events = context.case.world.events if context.case is not None else ()
        late = [why for _, why in context.trajectory.lacking(events)]
        late += [] if context.turns("since_event") else ["no reply came after the last event"]
        if late or not context.trajectory.events:
            return Finding(None, (*late, "the case has no events")[0], broken=not late)
    finding = left_open(check, FUNCTION_OF[type(check)](check, context), context)
    finding = finding if check.parts else finding._replace(check=check.kind)
    if finding.reading or not check.family:
        return finding
    # A reply that proposes and states nothing leaves nothing to misread.
    sure = finding.passed is False and context.silent(getattr(check, "turn", "any"))
    return finding if sure else finding._replace(reading=check.family)


def _parts(checks: Sequence[Check], context: JudgedDialogue) -> list[Finding]:
    """Return the findings of several checks."""
    return [_evaluate(check, context) for check in checks]


_LATE = "calls made when no reply was under way count here"
#: What a fact without a check of its own is held to.
_ALL_CLAIMS = Grounded(kind="grounded")
#: How the reason of a label begins that the judge leaves open because words are unclear: no party is to blame, and it is neither 1 nor 0.
UNDECIDED = "undecided: "

#: Faults after which there is nothing to judge; an agent's own fault leaves what it did say.
_NOT_THE_AGENT: tuple[Blame, ...] = ("user", "judge", "sandbox", "infrastructure")
_BLAME_BY_ENDING: dict[str, Blame] = {"user_error": "user", "infrastructure_error": "infrastructure"}


def labels_of(case: Case, context: JudgedDialogue, *, seconds: float = inf) -> tuple[Label, ...]:
    """Return the labels of a case's requirements from their checks, in the order of the requirements.

    Args:
        case: the case.
        context: its dialogue.
        seconds: how long that may take; a requirement that is not reached by then is unevaluated, laid to the judge.
    """
    until = perf_counter() + seconds
    context = context.knowing(case.truth.checks)
    labels: list[Label] = []
    for requirement in case.truth.by_kind:
        if perf_counter() > until:
            labels.append(unevaluated(requirement, f"the checks before it took more than {seconds:g} s"))
        else:
            labels.append(label_of(requirement, context))
    return tuple(labels)


def label_of(requirement: Requirement, context: JudgedDialogue) -> Label:
    """Return the label of a requirement from its Python block, its levels or its check; unevaluated without any of them."""
    if (finding := context.found.get(requirement.id)) is not None:
        if finding.passed and context.trajectory.after_end:
            finding = finding._replace(
                passed=None, why="calls came when no reply was under way, which the function did not see"
            )
        return label_valued(requirement, finding._replace(check=finding.check or "python"), context)
    if requirement.levels:
        return _levelled(requirement, context)
    if requirement.check is None and requirement.kind == "fact":
        finding = left_open(_ALL_CLAIMS, stated_claims(requirement.text, context), context)
        return label_valued(requirement, finding._replace(reading="claims", check=_ALL_CLAIMS.kind), context)
    if requirement.check is None:
        return unevaluated(requirement, "the requirement has no machine check", None)
    return label_valued(requirement, _with_late_calls(requirement.check, context), context)


def label_valued(requirement: Requirement, finding: Finding, context: JudgedDialogue) -> Label:
    """Return the label for a finding: 1 for passed, 0 for failed, unevaluated for undecided."""
    return _label(requirement, None if finding.passed is None else float(finding.passed), finding, context)


def _levelled(requirement: Requirement, context: JudgedDialogue) -> Label:
    """Return the label of the first level with a check that passes; an undecided check hides the levels below it."""
    failed: list[Finding] = []
    for rule in requirement.levels:
        finding = _with_late_calls(rule.check, context)
        if finding.passed is not False:
            return _label(requirement, rule.level if finding.passed else None, finding, context)
        failed.append(finding)
    compared = next((finding.compared for finding in failed if finding.compared), ())
    lowest = every(failed)._replace(wanted=failed[0].wanted, compared=compared, reading=reading_of(failed))
    return _label(requirement, 0.0, lowest, context)


def _label(requirement: Requirement, value: float | None, finding: Finding, context: JudgedDialogue) -> Label:
    """Return the label for a value and finding; unevaluated if calls were missed or the failure is unreliable."""
    finding = finding._replace(missed=context.excused(finding.missed))
    cell = ""
    if value == 0 and finding.reading and not finding.missed:
        cell = cell_of(finding.reading, absent=finding.absent, size=context.size)
        if suspicious := suspicion(cell, context.calibration):
            finding = finding._replace(why=f"{finding.why}; {suspicious}")
            value = None
    undecided = value is None and not finding.broken and not finding.missed
    if finding.missed:
        # What no recording could answer speaks neither for the agent nor against it.
        why = f"{finding.why}; the sandbox had no recording for any call of {' or '.join(finding.missed)}"
        value = None
    else:
        why = f"{UNDECIDED}{finding.why}" if undecided else finding.why
    return Label(
        requirement=requirement.id,
        kind=requirement.kind,
        outcome="unevaluated" if value is None else "passed" if value > 0 else "failed",
        value=value,
        why=why,
        wanted=finding.wanted,
        quotes=finding.quotes,
        nothing_claimed=requirement.kind == "fact" and finding.nothing_claimed and value == 1,
        compared=finding.compared if value != 1 else (),
        idle=finding.idle and value == 1,
        reading=finding.reading,
        cell=cell,
        size=context.size if cell else None,
        check=finding.check if value == 0 else "",
        blame="sandbox" if finding.missed else "judge" if value is None and not undecided else None,
    )


def unevaluated(requirement: Requirement, why: str, blame: Blame | None = "judge", by: str = "checks") -> Label:
    """Return the label of a requirement that could not be judged."""
    return Label(requirement=requirement.id, kind=requirement.kind, outcome="unevaluated", why=why, blame=blame, by=by)


def all_unevaluated(case: Case, why: str, blame: Blame, by: str) -> tuple[Label, ...]:
    """Return an unevaluated label for every requirement of the case."""
    return tuple(unevaluated(requirement, why, blame, by) for requirement in case.truth.by_kind)


def unjudgeable(case: Case, trajectory: Trajectory, judge: str, by: str) -> Verdict | None:
    """Return the verdict on an episode that broke through no fault of the agent; None if the episode can be judged."""
    fault = trajectory.fault
    blame = fault.blame if fault else _BLAME_BY_ENDING.get(trajectory.ending)
    if blame not in _NOT_THE_AGENT:
        return None
    why = f"the episode was broken by the {blame}: {fault.message if fault else trajectory.ending.replace('_', ' ')}"
    return Verdict(case=case.id, trial=trajectory.trial, judge=judge, labels=all_unevaluated(case, why, blame, by))


def too_long(case: Case, trajectory: Trajectory, judge: str, by: str, longest: int) -> Verdict | None:
    """Return the verdict on a dialogue with too many agent characters to read; None if it is short enough."""
    characters = sum(
        len(turn.text) + (len(json.dumps(turn.output)) if turn.output else 0) for turn in trajectory.replies
    )
    if characters <= longest:
        return None
    why = f"too long to read: the agent said {characters:,} characters, at most {longest:,} are read"
    return Verdict(case=case.id, trial=trajectory.trial, judge=judge, labels=all_unevaluated(case, why, "judge", by))


def is_level(requirement: Requirement, value: float) -> bool:
    """Return whether a requirement of this kind can have the value: 0 or 1, or an intermediate level for a soft requirement."""
    return value in (SOFT_LEVELS if requirement.kind == "soft" else (0.0, 1.0))


#: The entry point group in which installed packages say who labels more than requirements: each entry is a kind of label and a function of a case and its dialogue.
GROUP = "pytest_mapsat.labels"


class Observed(Requirement):
    """A step, a thing or a quality of the replies, treated as a requirement to be judged.

    ``id``: what its label is about. ``kind``: ``state``, ``observation`` or ``quality``. ``shown``: the thought, or the name of the thing, which a model is shown as the part ``part`` of its data: they are
    words of the agent or of a tool, and so stand in no requirement.
    """

    id: Annotated[str, StringConstraints(pattern=r"^(step|thing):[0-9]+\.[0-9]+$|^quality:[a-z]+$")]
    kind: LabelKind  # type: ignore[assignment]
    shown: str = ""

    @property
    def part(self) -> str:
        """The name of the matching part in the data for a model."""
        return self.id.replace("step", "thought").replace(":", "-")


def besides(case: Case, context: JudgedDialogue, kinds: Collection[str]) -> tuple[tuple[Observed, Label], ...]:
    """Return the steps, things and qualities that are judged besides requirements, each with its label by rules.

    Args:
        case: the case.
        context: its dialogue.
        kinds: kinds of labels that are asked for: ``state``, ``observation``, ``quality``.
    """
    pairs: list[tuple[Observed, Finding]] = []
    for kind in BESIDES:
        if kind in kinds:
            pairs += installed_function(GROUP, kind, "installed labeller of the kind")(case, context)
    if context.trajectory.lacks_calls:  # one of them may have returned what seems to come from nowhere
        unsure = Finding(None, context.trajectory.why_lacking)
        pairs = [(observed, unsure if finding.passed is False else finding) for observed, finding in pairs]
    return tuple((observed, label_valued(observed, finding, context)) for observed, finding in pairs)
