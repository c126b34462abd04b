"""Variants of cases: the same case on a day that goes wrong, derived where a run asks for a sweep.

A variant stands where its case stands, has its recordings and the labels of people, and two attributes more: what varies, and ``variant_of``. All that
comes behind (items, workers, run file, reports by attribute) treats it as a case of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from pytest_mapsat.model import (
    DEFAULT_PATIENCE,
    FAULT_ERRORS,
    MANNERS,
    VARIANT_OF,
    Case,
    Clarification,
    FaultError,
    MannerName,
    Noun,
    RunOptions,
    Tool,
    ToolFault,
    UsageError,
    UserScript,
    did_you_mean,
    digest,
    shown,
)

from .common import CaseEntry
from .crosscheck import ERRORS_OF, says_figures

_W = TypeVar("_W", bound=str)

_LONGEST_ID = 80
_DIGITS = 8


class Variant(NamedTuple):
    """One way in which a case is varied.

    Attributes:
        ending: end of the id, behind the case's own and two hyphens. Example: ``search_poi-timeout``
        attribute: attribute that the variant gets. Example: ``fault``
        value: its value, the last word of which names the kind of variant. Example: ``search_poi timeout``
        parts: the parts of the variant that differ from those of its case, but for id and attributes.
    """

    ending: str
    attribute: str
    value: str
    parts: Mapping[str, Noun]

    def id_of(self, case_id: str) -> str:
        """Return the id of a case's variant; one that would be too long ends in a digest."""
        name = f"{case_id}--{self.ending}"
        return name if len(name) <= _LONGEST_ID else f"{name[: _LONGEST_ID - _DIGITS - 1]}-{digest(name, _DIGITS)}"

    def case(self, case: Case) -> Case:
        """Return the variant of a case."""
        return case.model_copy(update={**self.parts, **self._header(case)})

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
    errors, manners = (parse_faults(options.faults), parse_manners(options.manners)) if options else ((), ())
    if not errors and not manners:
        return None

    def sweep(case: Case, tools: Mapping[str, Tool]) -> Iterator[Variant]:
        """Yield the variants of a case. A task of a sequence has none: the tasks after it rest on it."""
        if case.group is None:
            yield from _faults(case, tools, errors)
            yield from _manners(case, manners)

    return sweep


def parse_faults(text: str) -> tuple[FaultError, ...]:
    """Return the errors that a list like ``timeout,cut`` names; ``all``: each but ``slow``. Raises UsageError."""
    if text.strip() == "all":
        return tuple(error for error in FAULT_ERRORS if error != "slow")
    return _parse("faults", text, FAULT_ERRORS)


def parse_manners(text: str) -> tuple[MannerName, ...]:
    """Return the manners that a list like ``terse,mixes`` names; ``all``: each. Raises UsageError."""
    return MANNERS if text.strip() == "all" else _parse("manners", text, MANNERS)


def _parse(option: str, text: str, known: Sequence[_W]) -> tuple[_W, ...]:
    """Return the known words in a list, in the known order. Raises UsageError for any other word."""
    words = [word.strip() for word in text.split(",")] if text else []
    for word in words:
        if word not in known:
            hint = did_you_mean(word, (*known, "all"))
            expected = f"expected {', '.join(known)} (comma between), or all"
            raise UsageError(f"--mapsat-{option}: found {shown(word)}, {expected}" + (f"; {hint}" if hint else ""))
    return tuple(word for word in known if word in words)


def _faults(case: Case, tools: Mapping[str, Tool], errors: Iterable[FaultError]) -> Iterator[Variant]:
    """Yield a variant for each tool that the oracle or the expected calls name, and each error that suits it: the first call fails.

    A case with faults of its own for a tool keeps them, and has no variant of that tool. A limit of calls grows by the one that fails.
    """
    calls = (call.tool for turn in case.truth.oracle for call in turn.calls)
    names = dict.fromkeys((*calls, *(expected.name for expected in case.truth.tools)))
    own = {fault.tool for fault in case.world.faults}
    most = case.episode.calls
    episode = case.episode if most is None else case.episode.model_copy(update={"calls": most + 1})
    for name in (name for name in names if name in tools and name not in own):
        for error in (error for error in errors if error in ERRORS_OF[tools[name].effect]):
            world = case.world.model_copy(update={"faults": (*case.world.faults, ToolFault(tool=name, error=error))})
            yield Variant(f"{name}-{error}", "fault", f"{name} {error}", {"world": world, "episode": episode})


def _manners(case: Case, names: Iterable[MannerName]) -> Iterator[Variant]:
    """Yield a variant for each manner in which the user of a case can speak. A case with manners of its own keeps them, and has no variant.

    An impatient user answers two replies with questions, or as many as the case calls useful.
    """
    user, useful = case.truth.user, case.truth.clarification or Clarification()
    for name in () if user.manner else names:
        manner = {"impatient": max(DEFAULT_PATIENCE, useful.max_turns)} if name == "impatient" else name
        with suppress(ValidationError):  # it contradicts the script: the case is none for this manner
            varied = UserScript.model_validate({**user.to_json(), "manner": [manner]})
            if name != "wrong_figure" or says_figures(varied, case.language):
                truth = case.truth.model_copy(update={"user": varied})
                yield Variant(name, "manner", name, {"truth": truth})
