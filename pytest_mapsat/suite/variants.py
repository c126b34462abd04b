"""Variants of cases: the same case on a day that goes wrong, derived where a run asks for a sweep.

A variant stands where its case stands, has its recordings and the labels of people, and two attributes more: what varies, and ``variant_of``. All that
comes behind (items, workers, run file, reports by attribute) treats it as a case of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from pytest_mapsat.model import (
    FAULT_ERRORS,
    VARIANT_OF,
    Case,
    FaultError,
    RunOptions,
    Tool,
    ToolFault,
    UsageError,
    did_you_mean,
    digest,
    shown,
)

from .common import CaseEntry
from .crosscheck import ERRORS_OF

_LONGEST_ID = 80
_DIGITS = 8


class Variant(NamedTuple):
    """One way in which a case is varied.

    Attributes:
        ending: end of the id, behind the case's own and two hyphens. Example: ``search_poi-timeout``
        attribute: attribute that the variant gets. Example: ``fault``
        value: its value, the last word of which names the kind of variant. Example: ``search_poi timeout``
        change: makes the case's variant, but for id and attributes.
    """

    ending: str
    attribute: str
    value: str
    change: Callable[[Case], Case]

    def id_of(self, case_id: str) -> str:
        """Return the id of a case's variant; one that would be too long ends in a digest."""
        name = f"{case_id}--{self.ending}"
        return name if len(name) <= _LONGEST_ID else f"{name[: _LONGEST_ID - _DIGITS - 1]}-{digest(name, _DIGITS)}"

    def case(self, case: Case) -> Case:
        """Return the variant of a case."""
        return self.change(case).model_copy(update=self._header(case))

    def entry(self, entry: CaseEntry) -> CaseEntry:
        """Return the entry of the variant of a case's entry."""
        return replace(entry, plain=entry.id, **self._header(entry))

    def _header(self, plain: Case | CaseEntry) -> dict[str, Any]:
        """Return the id and the attributes of a case's variant."""
        return {
            "id": self.id_of(plain.id),
            "attributes": {**plain.attributes, self.attribute: self.value, VARIANT_OF: plain.id},
        }


#: The variants that a run asks for of a case.
Sweep = Callable[[Case, Mapping[str, Tool]], Iterable[Variant]]


def sweep_of(options: RunOptions | None) -> Sweep | None:
    """Return the sweep that a run's options ask for; None if they ask for no variants, or there is no run.

    Raises:
        UsageError: an option names no variant.
    """
    errors = parse_faults(options.faults) if options else ()
    if not errors:
        return None

    def sweep(case: Case, tools: Mapping[str, Tool]) -> Iterator[Variant]:
        """Yield the variants of a case. A task of a sequence has none: the tasks after it rest on it."""
        if case.group is None:
            yield from _faults(case, tools, errors)

    return sweep


def parse_faults(text: str) -> tuple[FaultError, ...]:
    """Return the errors that a list like ``timeout,cut`` names; ``all``: each but ``slow``. Raises UsageError."""
    words = [word.strip() for word in text.split(",")] if text else []
    if words == ["all"]:
        return tuple(error for error in FAULT_ERRORS if error != "slow")
    for word in words:
        if word not in FAULT_ERRORS:
            hint = did_you_mean(word, (*FAULT_ERRORS, "all"))
            expected = f"expected {', '.join(FAULT_ERRORS)} (comma between), or all"
            raise UsageError(f"--mapsat-faults: found {shown(word)}, {expected}" + (f"; {hint}" if hint else ""))
    return tuple(error for error in FAULT_ERRORS if error in words)


def _faults(case: Case, tools: Mapping[str, Tool], errors: Iterable[FaultError]) -> Iterator[Variant]:
    """Yield a variant for each tool that the oracle or the expected calls name, and each error that suits it: the first call fails.

    A case with faults of its own for a tool keeps them, and has no variant of that tool. A limit of calls grows by the one that fails.
    """
    calls = (call.tool for turn in case.truth.oracle for call in turn.calls)
    names = dict.fromkeys((*calls, *(expected.name for expected in case.truth.tools)))
    own = {fault.tool for fault in case.world.faults}
    for name in (name for name in names if name in tools and name not in own):
        for error in (error for error in errors if error in ERRORS_OF[tools[name].effect]):
            change = partial(_failing, ToolFault(tool=name, error=error))
            yield Variant(f"{name}-{error}", "fault", f"{name} {error}", change)


def _failing(fault: ToolFault, case: Case) -> Case:
    """Return a case with a further fault."""
    world = case.world.model_copy(update={"faults": (*case.world.faults, fault)})
    most = case.episode.calls
    episode = case.episode if most is None else case.episode.model_copy(update={"calls": most + 1})
    return case.model_copy(update={"world": world, "episode": episode})
