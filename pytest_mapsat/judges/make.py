"""Which judge a user means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from pytest_mapsat.model import Case, Tool, Trajectory, UsageError, Verdict, did_you_mean
from pytest_mapsat.text import Vocabulary

from .checks import ChecksJudge
from .custom import CheckFunction, gather_checks
from .recorded import RecordedJudge

_KNOWN = ("checks", "recorded", "llm")


class Judge(Protocol):
    """Who labels a trajectory.

    Attributes:
        spec: how the user named the judge.
        linked: whether its verdicts are known to be about these trajectories; None: it judges them itself.
    """

    @property
    def spec(self) -> str:
        """How the user named the judge."""

    @property
    def linked(self) -> bool | None:
        """Whether its verdicts are known to be about these trajectories; None: it judges them itself."""

    def judge(self, case: Case, trajectory: Trajectory) -> Verdict:
        """Return the labels of all factors of the case."""


def make_judge(
    spec: str,
    tools: Mapping[str, Tool],
    *,
    root: Path,
    checks: Mapping[str, CheckFunction] | None = None,
    vocabulary: Vocabulary | None = None,
) -> Judge:
    """Return the judge that a spec names.

    Args:
        spec: ``checks`` or ``recorded:PATH``.
        tools: the suite's tools by name.
        root: the folder that a relative PATH starts from.
        checks: the checks that other packages add, by name; those of installed packages where none are given.
        vocabulary: words of the suite's domain, for the reading of replies.

    Raises:
        UsageError: no judge is named so, or there is no such file.
        SuiteError: the file of recorded verdicts cannot be used.
    """
    kind, colon, rest = spec.partition(":")
    if spec == "checks":
        return ChecksJudge(tools, gather_checks() if checks is None else checks, vocabulary or Vocabulary())
    if kind == "recorded":
        if not rest.strip():
            raise UsageError(f"--mapsat-judge={spec} names no file; give recorded:PATH")
        return RecordedJudge.open(root / rest, spec, rest)
    if kind == "llm":
        raise UsageError(
            f"--mapsat-judge={spec}: judging by a model is not in this version yet; use checks or recorded:PATH"
        )
    hint = did_you_mean(kind, _KNOWN)
    if colon and rest and not hint:
        raise UsageError(
            f"--mapsat-judge={spec}: judges of your own are not in this version yet; use checks or recorded:PATH"
        )
    raise UsageError(f"--mapsat-judge={spec} is no judge; use checks or recorded:PATH" + (f" ({hint})" if hint else ""))
