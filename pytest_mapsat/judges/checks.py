"""The judge that runs the machine checks of a case: no model, no network, the same verdict every time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_mapsat.model import Calibration, Case, Tool, Trajectory, Verdict, trajectory_digest
from pytest_mapsat.sandbox import SandboxSuite
from pytest_mapsat.text import Vocabulary

from .calibration import misread_by, shipped
from .context import Context
from .extra_labels import besides
from .labels import labels_of, too_long, unjudgeable


@dataclass(frozen=True)
class ChecksJudge:
    """Labels each requirement by its own check.

    Attributes:
        tools: the suite's tools by name.
        vocabulary: words of the suite's domain, for the reading of replies.
        besides: kinds of labels that families of metrics ask for besides those of requirements.
        longest: characters of all replies of a dialogue up to which they are read. Reading takes some 2 s for as many, and grows with them.
        seconds: how long the checks of one dialogue may take, a net for those of others: one that has begun is waited for.
        calibration: which failures that rest on reading prose stand.
        suite: what the sandboxes of its cases are made from; None: nothing can be told of end states.
        spec: how the user named this judge.
        linked: None, as the verdicts are its own.
    """

    tools: Mapping[str, Tool]
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    besides: frozenset[str] = frozenset()
    longest: int = 100_000
    seconds: float = 60.0
    suite: SandboxSuite | None = None
    calibration: Calibration = field(default_factory=shipped)
    spec: str = "checks"
    linked: bool | None = field(default=None, init=False)

    def judge(self, case: Case, trajectory: Trajectory) -> Verdict:
        """Return one label for each requirement of the case.

        Requirements without a check are unevaluated. What an agent said before it broke is judged; the metrics make of such
        an episode what it has earned. An episode that somebody else broke is not judged, nor is one that is too long to read.
        """
        broken = unjudgeable(case, trajectory, self.spec, "checks")
        broken = broken or too_long(case, trajectory, self.spec, "checks", self.longest)
        if broken is not None:
            return broken
        context = self.context(case, trajectory)
        labels = (
            *labels_of(case, context, seconds=self.seconds),
            *(label for _, label in besides(case, context, self.besides)),
        )
        return Verdict(
            case=case.id,
            trial=trajectory.trial,
            judge=self.spec,
            trajectory=trajectory_digest(trajectory),
            labels=labels,
            misread=misread_by(self.calibration) if any(label.reading for label in labels) else None,
        )

    def context(self, case: Case, trajectory: Trajectory) -> Context:
        """Return the dialogue as the checks read it."""
        return Context.of(
            case, trajectory, self.tools, vocabulary=self.vocabulary, suite=self.suite, calibration=self.calibration
        )
