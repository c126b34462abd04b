"""What the body of a case in Python says of an episode: a finding for each of its blocks, and for what it asserts outside of them.

The function is called by pytest, once, with an ``Episode`` that has these blocks. A judge then labels the requirements of the case by the findings.
"""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from pytest_mapsat.model import MapsatError, NotRecordedError, Requirement, RequirementKind, Usage, UsageError, hint_at
from pytest_mapsat.sandbox import NoSuchRowError
from pytest_mapsat.secrets import known_secrets
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, place_of, plain

from .findings import Finding, every

_LONGEST = 1000
#: How pytest shows an answer of an episode that failed.
_ASKED = re.compile(r"assert (?:not )?<(.+?)>(?:\n|$)")
#: A set, and the address of an object.
_UNSTEADY = re.compile(r"\{(?!\})(?:(?!: )[^{}])*\}| at 0x[0-9a-fA-F]+")


class Holds(int):
    """Whether something holds of an episode; a failed assertion shows why not."""

    why: str

    def __new__(cls, finding: Finding) -> Self:
        """Make it of a finding that is decided."""
        made = super().__new__(cls, bool(finding.passed))
        made.why = finding.why
        return made

    def __repr__(self) -> str:
        return "True" if self else f"<{self.why or 'it does not hold'}>"


class Decided(NamedTuple):
    """What a body came to.

    Attributes:
        findings: of each requirement that it decides, by id.
        usage: what models spent that it asked.
    """

    findings: Mapping[str, Finding]
    usage: Sequence[Usage] = ()


class Blocks:
    """The findings of one body, as it plays.

    Args:
        requirements: those that the body decides, by kind and text.
        rest: the id of the one for what stands outside of blocks; empty where nothing does that could fail.
        fails: tells whether what a body raises fails a requirement.
        skips: tells whether it ends the body and decides nothing.
        stops: whether a failure of this kind of requirement ends the body, as in a debugger.
        ever_there: tells whether a row was in a table when the episode began: that it is gone is the agent's doing.

    Attributes:
        failures: what was raised by blocks that failed, and by the rest, with the kind of the requirement.
        usage: what models spent that it asked.
    """

    def __init__(
        self,
        requirements: Sequence[Requirement],
        rest: str,
        *,
        fails: Callable[[BaseException], bool] = lambda error: isinstance(error, AssertionError),
        skips: Callable[[BaseException], bool] = lambda _: False,
        stops: Callable[[RequirementKind], bool] = lambda _: False,
        ever_there: Callable[[str, object], bool] = lambda *_: False,
    ) -> None:
        self.failures: list[tuple[RequirementKind, BaseException]] = []
        self.usage: list[Usage] = []
        self._requirements = {requirement.id: requirement for requirement in requirements}
        self.rest = rest
        self._fails = fails
        self._skips = skips
        self._stops = stops
        self._ever_there = ever_there
        self._found: dict[str, list[Finding]] = {}
        self._notes: dict[str, str] = {}
        #: What a block has raised and let pass on.
        self._noted: BaseException | None = None
        #: The id of the block that is under way, else of the rest.
        self.now = rest

    def block(self, kind: RequirementKind, text: str, name: str) -> Block:
        """Return the block of a requirement.

        Raises:
            UsageError: the case has no such requirement.
        """
        for requirement in self._requirements.values():
            named = requirement.id == name if name else requirement.text == text
            if named and requirement.kind == kind and requirement.id != self.rest:
                return Block(self, requirement)
        texts = [requirement.text for requirement in self._requirements.values() if requirement.kind == kind]
        raise UsageError(
            f"the case has no {kind} requirement {name or text!r}{hint_at(text, texts)}: where the text is no literal of the function's own source, "
            "@case names it in requirements="
        )

    def note(self, why: str) -> None:
        """Note that what was asked just now cannot be known: whatever becomes of the answer, the block is undecided."""
        self._notes.setdefault(self.now, why)

    def ended(self, requirement: Requirement, error: BaseException | None) -> bool:
        """Note the end of a block, or of the rest; return whether the function goes on."""
        finding = self._finding(requirement.id, error)
        self._found.setdefault(requirement.id, []).append(finding or self._broken(error))
        goes_on = finding is not None
        if finding is not None and finding.passed is False and error is not None:
            self.failures.append((requirement.kind, error))
            goes_on = not self._stops(requirement.kind)
        self._noted = self._noted if goes_on else error
        return goes_on

    def finish(self, error: BaseException | None) -> BaseException | None:
        """Note the end of the function, and that blocks which it did not reach are undecided; return what it raised where that is the test's own error."""
        finding = self._finding(self.rest, error)
        own = finding is None or (finding.passed is False and not self.rest and error is not self._noted)
        if self.rest and (error is None or error is not self._noted):
            self.ended(self._requirements[self.rest], error)
        why = "the function did not come to this block"
        broken = error is not None and not self._skips(error) and (finding is None or finding.broken or own)
        if error is not None:
            how = "broke" if broken else "ended"
            why = f"not reached: the function {how} before it, {describe_error(error).partition(chr(10))[0]}"
        for name in self._requirements:
            self._found.setdefault(name, [Finding(None, why, broken=broken)])
        return error if own else None

    @property
    def noted(self) -> str:
        """Why the first of what was asked cannot be known; empty where all of it can."""
        return next(iter(self._notes.values()), "")

    @property
    def decided(self) -> Decided:
        """What each requirement came to; a block that a loop enters again must hold each time."""
        found = {name: every(findings) if len(findings) > 1 else findings[0] for name, findings in self._found.items()}
        return Decided(found, tuple(self.usage))

    def _broken(self, error: BaseException | None) -> Finding:
        if error is None or self._skips(error):
            return Finding(None, f"the function ended: {'' if error is None else describe_error(error)}")
        return Finding(None, f"the function broke{place_of(error)}: {describe_error(error)}", broken=True)

    def _finding(self, name: str, error: BaseException | None) -> Finding | None:
        """Return what an end means; None where the function broke."""
        decided: Finding | None = None
        if error is None:
            decided = Finding(True, "what it asserts holds")
        elif self._fails(error):
            decided = Finding(False, reason_of(error))
        elif isinstance(error, MapsatError):
            decided = Finding(None, str(error), broken=not isinstance(error, NotRecordedError))
        elif isinstance(error, NoSuchRowError) and self._ever_there(error.table, error.row_id):
            decided = Finding(False, f"{error} at the end")
        return Finding(None, self._notes[name]) if decided is not None and name in self._notes else decided


class Block:
    """One requirement of a case in Python, for the length of a ``with`` statement."""

    def __init__(self, blocks: Blocks, requirement: Requirement) -> None:
        self._blocks = blocks
        self._requirement = requirement

    def __enter__(self) -> None:
        if self._blocks.now != self._blocks.rest:
            raise UsageError(f"the block {self._requirement.text!r} begins in another one: end that first")
        self._blocks.now = self._requirement.id

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        self._blocks.now = self._blocks.rest
        return self._blocks.ended(self._requirement, error)


def reason_of(error: BaseException) -> str:
    """Return what an assertion says, without what differs from process to process: the order of sets, and where objects lie; one that says nothing is shown as it is written."""
    try:
        words = plain(known_secrets().hidden(call_user_code(str, error))).strip()
    except UserCodeError:
        words = ""
    if (asked := _ASKED.match(words)) is not None:
        return asked[1]  # an answer of ours says why
    told, shows, below = f"\n{words}\n".partition("\nassert ")
    first = below.partition("\n")[0]  # what pytest shows below it is as long as its options say
    if (shows and _UNSTEADY.search(first)) or not words:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        first = linecache.getline(frame.filename, frame.lineno or 0).strip() or "an assertion failed"
    elif shows:
        first = f"assert {first}"
    words = "\n".join(filter(None, (told.strip(), first if shows or not words else "")))
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 3]}..."
