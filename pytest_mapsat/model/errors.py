"""The errors a user may see. Each says where, what was found, what was expected, and did you mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches

_SHOWN = 80


class MapsatError(Exception):
    """Base of all errors that are meant for the user; printed without a traceback."""


class UsageError(MapsatError):
    """An option, a spec or an argument cannot be used."""


class InfrastructureError(MapsatError):
    """Something outside the agent, the user and the judge broke while a case ran."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong in one place.

    Attributes:
        path: the file, as the user would type it.
        line: 1-based; 0 where the whole file is meant.
        message: what is wrong, with found and expected in it.
        hint: what to do, or a did-you-mean; may be empty.
    """

    path: str
    line: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.message}" + (f" ({self.hint})" if self.hint else "")

    def at(self, path: str, line: int) -> Problem:
        """Return the same problem in another place."""
        return replace(self, path=path, line=line)


class SuiteError(MapsatError):
    """A suite, or a file of one, cannot be used.

    Attributes:
        problems: all that was found, in the order of the file.
    """

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


def shown(value: object) -> str:
    """Return ``repr(value)`` cut to a length that fits on a line."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of more than 4300 digits
        text = f"a {type(value).__name__} too long to show"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def did_you_mean(found: object, known: Iterable[object]) -> str:
    """Return ``did you mean 'x'?`` for the nearest known name, or an empty string."""
    near = get_close_matches(str(found), [str(name) for name in known], n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else ""
