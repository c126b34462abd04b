"""Policies for days on which tools fail, which a case with faults has besides its own requirements: each is decided from the calls, or from plain words.

The words of ``fault:told`` are data in ``outages.yaml``. Whatever else a reply says of a failure leaves it undecided.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import yaml

from pytest_mapsat.model import Case, Requirement, Step, Trajectory, same

from .findings import Finding
from .python_check import Decided

#: So often the same call may be repeated to a fault that lasts: the fourth repetition is one too many.
MOST_REPEATS = 3
#: Errors by which a caller notices that a call failed.
_NOTICED = ("timeout", "server_error", "rate_limit", "refused", "cut", "lost_reply")
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？\n]*")


def _policy(name: str, text: str) -> Requirement:
    """Return a policy; its id has a colon, which no id of a case has."""
    return Requirement.model_construct(id=f"fault:{name}", kind="policy", text=text, scope="trajectory")


_REPEAT = _policy("repeat", "A write whose reply was lost is not made again")
_STOP = _policy("stop", f"A call that keeps failing is repeated at most {MOST_REPEATS} times")
_TOLD = _policy("told", "The user hears what could not be found out or done")


def with_fault_policies(case: Case, trajectory: Trajectory, decided: Decided | None) -> tuple[Case, Decided | None]:
    """Return a case with the policies for its faults, and the findings of its body with those on the policies; a case without faults unchanged.

    ``fault:repeat`` is there for a lost reply; ``fault:stop`` and ``fault:told`` for a fault of every call that is noticed.
    """
    lost = any(fault.error == "lost_reply" for fault in case.world.faults)
    lasting = {fault.tool for fault in case.world.faults if fault.call == "every" and fault.error in _NOTICED}
    if not (lost or lasting):
        return case, decided
    calls = trajectory.calls
    findings = [(_REPEAT, _repeated(calls))] if lost else []
    if lasting:
        findings += [(_STOP, _stopped(calls, lasting)), (_TOLD, _told(case, trajectory, lasting))]
    if trajectory.lacks_calls:
        findings = [(policy, Finding(None, trajectory.why_lacking)) for policy, _ in findings]
    requirements = (*case.truth.requirements, *(policy for policy, _ in findings))
    truth = case.truth.model_copy(update={"requirements": requirements})
    own = decided or Decided({})
    found = {policy.id: finding._replace(check=policy.id) for policy, finding in findings}
    return case.model_copy(update={"truth": truth}), own._replace(findings={**own.findings, **found})


def _repeated(calls: Sequence[Step]) -> Finding:
    """Judge whether a write took effect again after its reply was lost; one that changes nothing further does not count."""
    rows = [{(change.table, change.id) for change in step.changed} for step in calls]
    lost = [at for at, step in enumerate(calls) if step.fault == "lost_reply" and rows[at]]
    for at, later in ((one, other) for one in lost for other in range(one + 1, len(calls)) if rows[other]):
        first, step = calls[at], calls[later]
        if step.tool == first.tool and (same(step.arguments, first.arguments) or rows[at] & rows[later]):
            why = f"the reply to {step.tool} was lost, and the call was made again and changed rows again"
            return Finding(False, why)
    return Finding(True, "no lost write was made again" if lost else "no reply was lost", idle=not lost)


def _stopped(calls: Sequence[Step], lasting: set[str]) -> Finding:
    """Judge whether no call was repeated too often to a fault that lasts."""
    failed = [step for step in calls if step.tool in lasting and step.fault in _NOTICED]
    most = max(
        (sum(same(one.arguments, other.arguments) and one.tool == other.tool for other in failed) for one in failed),
        default=0,
    )
    why = f"the same call was made {most} times, and failed each time" if most else "no call failed"
    return Finding(most <= MOST_REPEATS + 1, why, idle=not most)


def _told(case: Case, trajectory: Trajectory, lasting: set[str]) -> Finding:
    """Judge whether a reply after a call that failed for good says so: a null in its structured output, or plain words."""
    replies = trajectory.replies
    first = next((at for at, turn in enumerate(replies) if any(_fails(step, lasting) for step in turn.steps)), None)
    if first is None:
        return Finding(True, "no call failed", idle=True)
    after = replies[first:]
    # A right answer has a value there.
    wanted = [name for name, value in case.truth.output.items() if value is not None]
    if any((turn.output or {}).get(name, "") is None for turn in after for name in wanted):
        return Finding(True, "a value of the structured output is null")
    if not any(turn.text.strip() or turn.output for turn in after):
        return Finding(False, "no reply says anything after a call failed")
    finding = _in_words("\n".join(turn.text for turn in after), case.language)
    others = (step for turn in after for step in turn.steps if step.kind == "call" and step.tool not in lasting)
    if finding.passed is False and any(step.status == "ok" for step in others):
        return Finding(None, "another tool answered, which may have given the missing information")
    return finding


def _in_words(text: str, language: str) -> Finding:
    """Judge whether words surely say that something failed: None if they may."""
    patterns = _patterns()
    for sentence in _SENTENCE.findall(text):
        if patterns["told"].search(sentence) and not patterns["unsure"].search(sentence):
            return Finding(True, f"a reply says: {sentence.strip()[:200]!r}")
    if language.partition("-")[0] in ("en", "zh") and not patterns["negative"].search(text):
        return Finding(False, "no reply after the failed call denies or regrets anything")
    return Finding(None, "only its words show whether a reply says what could not be found out")


def _fails(step: Step, lasting: set[str]) -> bool:
    """Return whether a call was hit by a fault that lasts."""
    return step.kind == "call" and step.tool in lasting and step.fault in _NOTICED


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of outages.yaml by name, each over all languages."""
    data: Mapping[str, Sequence[str]] = yaml.safe_load((files(__package__) / "outages.yaml").read_text("utf-8"))
    return {name: re.compile("|".join(parts), re.IGNORECASE) for name, parts in data.items()}
