"""Who judges: which judge a user means, the one that runs the machine checks of a case, the one that takes its labels from a file, and labels of people, which come before any.

The checks ask no model and no network, and give the same verdict every time. Labels of people count for the very words, reply and evidence that they were given for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pytest_mapsat.formats import PlacedNoun, layout_of, limits, printable, read_nouns, read_run, require_file
from pytest_mapsat.model import (
    BESIDES,
    VARIANT_OF,
    Calibration,
    Case,
    JudgeTerms,
    Label,
    Mark,
    PeopleLabels,
    Problem,
    Requirement,
    Scorecard,
    SuiteError,
    Tool,
    Trajectory,
    UsageError,
    Verdict,
    evidence_digest,
    fits,
    hint_at,
    mark_value,
    reply_digest,
    trajectory_digest,
    wording_digest,
)
from pytest_mapsat.reading import Vocabulary
from pytest_mapsat.registry import load_installed
from pytest_mapsat.sandbox import SandboxSuite
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, installed

from .context import JudgedDialogue
from .findings import calibration_of, first_few, misread_by, shipped
from .labels import (
    Observed,
    all_unevaluated,
    besides,
    is_level,
    label_of,
    labels_of,
    too_long,
    unevaluated,
    unjudgeable,
)
from .python_check import Decided

if TYPE_CHECKING:
    from pytest_mapsat.llm import ModelClient


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
    """

    tools: Mapping[str, Tool]
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    besides: frozenset[str] = frozenset()
    longest: int = 100_000
    seconds: float = 60.0
    suite: SandboxSuite | None = None
    calibration: Calibration = field(default_factory=shipped)
    spec: str = "checks"

    def judge(self, case: Case, trajectory: Trajectory, decided: Decided | None = None) -> Verdict:
        """Return a label for each requirement of the case; the labels in ``decided`` come from a Python body.

        Requirements without a check are unevaluated. What an agent said before it broke is judged; the metrics make of such
        an episode what it has earned. An episode that somebody else broke is not judged, nor is one that is too long to read.
        """
        broken = unjudgeable(case, trajectory, self.spec, "checks")
        broken = broken or too_long(case, trajectory, self.spec, "checks", self.longest)
        if broken is not None:
            return broken
        context = self.context(case, trajectory).decided_by(decided)
        return self.verdict(case, context, besides(case, context, self.besides))

    def verdict(self, case: Case, context: JudgedDialogue, extra: Iterable[tuple[Observed, Label]]) -> Verdict:
        """Return the verdict on a judgeable dialogue; ``extra``: further labels, of steps, things or qualities."""
        labels = (*labels_of(case, context, seconds=self.seconds), *(label for _, label in extra))
        return Verdict(
            case=case.id,
            trial=context.trajectory.trial,
            judge=self.spec,
            trajectory=trajectory_digest(context.trajectory),
            labels=labels,
            misread=misread_by(self.calibration) if any(label.reading for label in labels) else None,
        )

    def context(self, case: Case, trajectory: Trajectory) -> JudgedDialogue:
        """Return the dialogue in the form that checks read."""
        return JudgedDialogue.of(
            case, trajectory, self.tools, vocabulary=self.vocabulary, suite=self.suite, calibration=self.calibration
        )


#: The judges that ask a model: for every label that is not machine-sure; for whole dimensions in which a label is not passed, and for facts.
MODEL_JUDGES = ("llm", "llm-lean")
_KNOWN = ("checks", "recorded", *MODEL_JUDGES)
_EXPECTED = "use checks, recorded:PATH, llm:MODEL or llm-lean:MODEL"
#: Evaluations of one dialogue by default.
_VOTES = 3


class Judge(Protocol):
    """The interface of judges, which label a trajectory.

    Attributes:
        spec: how the user named the judge.
    """

    @property
    def spec(self) -> str:
        """The name by which the user chose the judge."""

    def judge(self, case: Case, trajectory: Trajectory, decided: Decided | None = None) -> Verdict:
        """Return labels for all requirements of the case; the labels in ``decided`` come from a Python body."""

    def context(self, case: Case, trajectory: Trajectory) -> JudgedDialogue:
        """Return the dialogue in the form that a Python body reads; it can query the judging model if there is one."""


def make_judge(
    spec: str,
    tools: Mapping[str, Tool],
    *,
    root: Path,
    vocabulary: Vocabulary | None = None,
    client: ModelClient | None = None,
    votes: int | None = None,
    besides: frozenset[str] = frozenset(),
    suite: SandboxSuite | None = None,
    calibration: Calibration | None = None,
) -> Judge:
    """Return the judge that a spec names.

    Args:
        spec: ``checks``, ``recorded:PATH``, ``llm:MODEL`` or ``llm-lean:MODEL``.
        tools: the suite's tools by name.
        root: the folder that a relative PATH starts from.
        vocabulary: words of the suite's domain, for the reading of replies.
        client: the way to models; without one a judge that asks a model leaves open what it would ask.
        votes: how many evaluations of a dialogue a model gives; 3 where None.
        besides: kinds of labels that families of metrics ask for besides those of requirements.
        suite: what the sandboxes of the cases are made from, for what is checked of their end.
        calibration: the suite's own table of which failures that rest on reading stand; None: ours alone.

    Raises:
        UsageError: no judge is named so, or there is no such file.
        SuiteError: the file of recorded verdicts cannot be used.
    """
    kind, _, rest = spec.partition(":")
    if kind == "llm-all":
        raise UsageError(
            f"--mapsat-judge={spec}: this judge is called llm now; use --mapsat-judge=llm:{rest or 'MODEL'}"
        )
    if spec != "checks" and kind not in ("recorded", *MODEL_JUDGES):
        raise UsageError(f"--mapsat-judge={spec} is not a judge; {_EXPECTED}{hint_at(kind, _KNOWN)}")
    own = ChecksJudge(tools, vocabulary or Vocabulary(), besides, suite=suite, calibration=calibration_of(calibration))
    if spec == "checks":
        return own
    if kind == "recorded":
        if not rest.strip():
            raise UsageError(f"--mapsat-judge={spec} names no file; give recorded:PATH")
        return RecordedJudge.open(root / rest, spec, rest, own)
    from pytest_mapsat.llm import named_model  # noqa: PLC0415 (only where a model judges)

    from .llm_judge import ModelJudge  # noqa: PLC0415 (likewise)

    model, parameters = named_model(rest, f"--mapsat-judge={spec}")
    terms = suite.manifest.judge if suite is not None else JudgeTerms()
    lean, votes = kind == "llm-lean", votes or _VOTES
    return ModelJudge(own, client, model, parameters, spec, votes, lean=lean, about=terms.about, window=terms.window)


def default_votes(spec: str) -> int:
    """Return the default number of votes of the judge that a spec names."""
    return _VOTES if asks_model(spec) else 1


def asks_model(spec: str) -> bool:
    """Return whether the judge of a spec asks a model."""
    return spec.partition(":")[0] in MODEL_JUDGES


BY_PEOPLE = "decision"


class DialogueKey(NamedTuple):
    """The key of human labels: the case and digests of the replies and of the calls with their results."""

    case: str
    reply: str
    evidence: str

    @classmethod
    def of(cls, trajectory: Trajectory) -> DialogueKey:
        """Return the key of a dialogue."""
        return cls(trajectory.case, reply_digest(trajectory), evidence_digest(trajectory))


class PersonMark(NamedTuple):
    """A person's label for one requirement."""

    outcome: Mark
    by: str
    why: str


@dataclass(frozen=True)
class LabelsOfPeople:
    """Human labels by case and requirement, in the order given; each label applies to certain replies of a run."""

    by_case: Mapping[str, Mapping[str, Sequence[PlacedNoun[PeopleLabels]]]] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Iterable[PlacedNoun[PeopleLabels]]) -> LabelsOfPeople:
        """Return labels grouped for look-up, except labels of full dialogues, which only serve to measure judges."""
        by_case: dict[str, dict[str, list[PlacedNoun[PeopleLabels]]]] = {}
        for placed in lines:
            for requirement in placed.noun.labels if placed.noun.reply is not None else ():
                by_case.setdefault(placed.noun.case, {}).setdefault(requirement, []).append(placed)
        return cls(by_case)

    @classmethod
    def read(cls, paths: Iterable[Path]) -> LabelsOfPeople:
        """Return the labels in some files. Raises UsageError, SuiteError."""
        return cls.of(placed for path in paths for placed in read_nouns(path, PeopleLabels))

    def on(self, requirement: Requirement, dialogue: DialogueKey) -> PersonMark | None:
        """Return the latest label of a requirement that still applies to a dialogue; None if there is none."""
        about = self.by_case.get(dialogue.case, {}).get(requirement.id, ())
        noun = next(
            (placed.noun for placed in reversed(about) if not changed(placed.noun, requirement, dialogue)), None
        )
        if noun is None:
            return None
        return PersonMark(noun.labels[requirement.id], noun.by or "person", noun.why.get(requirement.id, ""))


def changed(noun: PeopleLabels, requirement: Requirement, dialogue: DialogueKey) -> str:
    """Return why the label of a requirement does not apply to a dialogue; empty if it applies."""
    if not fits(noun.labels[requirement.id], requirement):
        return "the requirement has no such level"
    if noun.wording.get(requirement.id, "") not in ("", wording_digest(requirement)):
        return "the requirement's words have changed"
    if noun.reply != dialogue.reply:
        return "the reply is another"
    return "" if noun.evidence == dialogue.evidence else "the calls or their results are others"


@dataclass(frozen=True)
class PeopleFirst:
    """A judge that uses human labels first, and another judge for the rest.

    Attributes:
        decisions: the labels of people.
        fallback: who labels what no person has labelled.
    """

    decisions: LabelsOfPeople
    fallback: Judge

    @property
    def spec(self) -> str:
        """The name by which the user chose the judge."""
        return self.fallback.spec

    def context(self, case: Case, trajectory: Trajectory) -> JudgedDialogue:
        """Return the dialogue in the form that the fallback judge reads."""
        return self.fallback.context(case, trajectory)

    def judge(self, case: Case, trajectory: Trajectory, decided: Decided | None = None) -> Verdict:
        """Return the judge's verdict, with applicable human labels instead of the judge's own; warn about labels that do not apply."""
        verdict = self.fallback.judge(case, trajectory, decided)
        plain = case.attributes.get(VARIANT_OF, "")
        name = case.id if case.id in self.decisions.by_case else plain
        if name not in self.decisions.by_case or unjudgeable(case, trajectory, self.spec, BY_PEOPLE) is not None:
            return verdict
        dialogue = DialogueKey.of(trajectory)._replace(case=name)
        by_id = {label.requirement: label for label in verdict.labels}
        for requirement in case.truth.requirements:
            decision = self.decisions.on(requirement, dialogue)
            if decision is not None:
                by_id[requirement.id] = _label(requirement, decision)
        labels = tuple(by_id.values())
        warnings = (*verdict.warnings, *(() if name == plain else self._unused(case, dialogue, by_id)))
        return verdict.model_copy(update={"labels": labels, "warnings": warnings, **_count(verdict, labels)})

    def _unused(self, case: Case, dialogue: DialogueKey, labels: Mapping[str, Label]) -> Iterator[str]:
        """Yield a warning for each reason why human labels do not apply, unless another label decided the requirement."""
        requirements = {requirement.id: requirement for requirement in case.truth.requirements}
        reasons: dict[str, list[str]] = {}
        for name, decisions in self.decisions.by_case[case.id].items():
            if name in labels and labels[name].by == BY_PEOPLE:
                continue
            for placed in decisions:
                present = name in requirements
                why = (
                    changed(placed.noun, requirements[name], dialogue)
                    if present
                    else "the case has no such requirement"
                )
                # Without its folder: equal runs may keep their files in different places.
                reasons.setdefault(why, []).append(f"{name} ({Path(placed.path).name}:{placed.lines.line})")
        for why, names in reasons.items():
            yield f"labels of people that do not count, as {why}: {first_few(names)}"


def people_first(judge: Judge, decisions: LabelsOfPeople) -> Judge:
    """Return a judge that prefers human labels; the original judge if there are no such labels."""
    return PeopleFirst(decisions, judge) if decisions.by_case else judge


def _label(requirement: Requirement, decision: PersonMark) -> Label:
    """Return the label that a person's mark gives a requirement."""
    value = mark_value(decision.outcome)
    return Label(
        requirement=requirement.id,
        kind=requirement.kind,
        outcome="passed" if value > 0 else "failed",
        value=value,
        why=f"labelled by {decision.by}" + (f": {decision.why}" if decision.why else ""),
        wanted=requirement.text,
        by=BY_PEOPLE,
    )


def _count(verdict: Verdict, labels: Sequence[Label]) -> dict[str, None]:
    """Return an update that removes the count of explicit requirements once each requirement has its own value; otherwise empty."""
    decided = all(label.value is not None for label in labels if label.kind == "asked")
    return {"explicit_count": None} if verdict.explicit_count is not None and decided else {}


BY_FILE = "recorded"
#: The entry point group in which installed packages name their readers of recorded verdicts: each entry is a form and a ``VerdictReader``.
GROUP = "pytest_mapsat.verdicts"
#: The trial under which a verdict stands that does not know of trials.
_ANY_TRIAL = 0


class RecordedVerdict(Protocol):
    """The verdict on a case in an external file of verdicts."""

    @property
    def trajectory(self) -> str:
        """The digest of the judged dialogue; empty if the file does not state it."""

    def labelled(self, case: Case, base: Verdict) -> Verdict:
        """Return the verdict ``base`` with the file's labels for the case's requirements."""


#: Reads a file, named so in messages, and returns its verdicts by case id. Raises SuiteError where it cannot read it.
VerdictReader = Callable[[Path, str], Mapping[str, RecordedVerdict]]
Entry = RecordedVerdict | Scorecard


@dataclass(frozen=True)
class RecordedJudge:
    """Takes labels from a file.

    A verdict that carries the digest of its trajectory counts for that trajectory only. One without joins by
    case id, and says so.

    Attributes:
        spec: how the user named this judge.
        entries: what the file holds, by case id and trial.
        linked: whether every verdict of the file is tied to its trajectory.
        checks: who labels what the file says nothing of and families of metrics ask for besides.
    """

    spec: str
    entries: dict[tuple[str, int], Entry]
    linked: bool
    checks: ChecksJudge | None = None

    @classmethod
    def open(cls, path: Path, spec: str, name: str, checks: ChecksJudge | None = None) -> RecordedJudge:
        """Return a judge for a file of recorded verdicts, after reading and checking all of it.

        Args:
            path: the file.
            spec: how the user named this judge.
            name: the path as the user typed it.
            checks: who labels what families of metrics ask for besides the requirements.

        Raises:
            UsageError: there is no such file.
            SuiteError: the file holds no usable verdicts, or two of one case; with the lines.
        """
        require_file(path, name)
        entries = _entries(path, printable(name))
        return cls(spec, entries, all(_digest(entry) for entry in entries.values()), checks)

    def context(self, case: Case, trajectory: Trajectory) -> JudgedDialogue:
        """Return the dialogue in the form that checks read."""
        return JudgedDialogue.of(case, trajectory, {}) if self.checks is None else self.checks.context(case, trajectory)

    def judge(self, case: Case, trajectory: Trajectory, decided: Decided | None = None) -> Verdict:
        """Return the labels of the file and of a Python body; requirements in neither are unevaluated."""
        verdict = self._recorded(case, trajectory)
        if decided is None or unjudgeable(case, trajectory, self.spec, BY_FILE) is not None:
            return verdict
        context = self.context(case, trajectory).decided_by(decided)
        by_id = {label.requirement: label for label in verdict.labels}
        by_id |= {each.id: label_of(each, context) for each in case.truth.by_kind if each.id in context.found}
        return verdict.model_copy(update={"labels": tuple(by_id.values())})

    def _recorded(self, case: Case, trajectory: Trajectory) -> Verdict:
        """Return the file's verdict on a trajectory; unevaluated if there is none or it concerns another dialogue."""
        broken = unjudgeable(case, trajectory, self.spec, BY_FILE)
        if broken is not None:
            return broken
        base = Verdict(case=case.id, trial=trajectory.trial, judge=self.spec)
        entry = self.entries.get((case.id, trajectory.trial)) or self.entries.get((case.id, _ANY_TRIAL))
        if entry is None:
            return _refused(case, base, f"the file has no verdict on case {case.id}, trial {trajectory.trial}")
        digest = _digest(entry)
        if digest and digest != trajectory_digest(trajectory):
            return _refused(
                case, base, "the recorded verdict is about another dialogue of this case (the digests differ)"
            )
        joined = (
            () if digest else ("the recorded verdict is joined by case id: it does not say which dialogue was judged",)
        )
        base = base.model_copy(update={"trajectory": digest, "warnings": joined})
        if isinstance(entry, Scorecard):
            return self._with_besides(_saved_verdict(case, entry, base), case, trajectory, entry.labels)
        return self._with_besides(entry.labelled(case, base), case, trajectory, ())

    def _with_besides(self, verdict: Verdict, case: Case, trajectory: Trajectory, saved: Sequence[Label]) -> Verdict:
        """Return the verdict with the extra labels that metrics need: from the file, otherwise by rules."""
        if self.checks is None or not self.checks.besides:
            return verdict
        kinds = self.checks.besides
        by_id = {label.requirement: label for _, label in besides(case, self.checks.context(case, trajectory), kinds)}
        by_id |= {label.requirement: label for label in saved if label.kind in kinds}
        return verdict.model_copy(update={"labels": (*verdict.labels, *by_id.values())})


def _refused(case: Case, base: Verdict, why: str) -> Verdict:
    """Return a verdict that leaves all requirements unevaluated for a reason."""
    return base.model_copy(update={"labels": all_unevaluated(case, why, "judge", BY_FILE)})


def _digest(entry: Entry) -> str:
    """Return the digest of the dialogue of an entry; empty if the entry does not state it."""
    return trajectory_digest(entry.trajectory) if isinstance(entry, Scorecard) else entry.trajectory


def _entries(path: Path, name: str) -> dict[tuple[str, int], Entry]:
    """Read a saved run, or a file that an installed package can read, into entries by case id and trial."""
    if layout_of(path, name) == "run":
        return {(card.id, card.trial): card for card in read_run(path, name).cases}
    problems: list[Problem] = []
    for point in installed(GROUP):
        try:
            read: VerdictReader = load_installed(point)
            return {(case, _ANY_TRIAL): verdict for case, verdict in call_user_code(read, path, name).items()}
        except UserCodeError as broken:
            if not isinstance(broken.error, SuiteError):
                raise UsageError(f"{GROUP}: {point.value} broke: {describe_error(broken.error)}") from broken.error
            problems += broken.error.problems
    raise SuiteError(*problems[: limits.PROBLEMS] or [Problem(name, 0, "no installed package reads such verdicts")])


def _saved_verdict(case: Case, saved: Scorecard, base: Verdict) -> Verdict:
    """Return the verdict ``base`` with the labels that a saved run gives the case's requirements."""
    by_id = {label.requirement: label for label in saved.labels}
    labels = tuple(_saved_label(requirement, by_id.pop(requirement.id, None)) for requirement in case.truth.by_kind)
    stray = sorted(name for name, label in by_id.items() if label.kind not in BESIDES)
    left = (f"the saved run labels {', '.join(stray)}, which the case does not have",) if stray else ()
    warnings = (*base.warnings, *left)
    return base.model_copy(update={"labels": labels, "explicit_count": saved.explicit_count, "warnings": warnings})


def _saved_label(requirement: Requirement, label: Label | None) -> Label:
    """Return a saved label; unevaluated if it is missing or its kind or level does not match the requirement."""
    if label is None:
        return unevaluated(requirement, "the saved run does not judge this requirement", by=BY_FILE)
    if label.kind != requirement.kind:
        why = f"the saved run judges it as {label.kind}, the case has it as {requirement.kind}"
        return unevaluated(requirement, why, by=BY_FILE)
    if label.value is not None and not is_level(requirement, label.value):
        why = f"the saved run gives {label.value:g}, which is not a level of this requirement"
        return unevaluated(requirement, why, by=BY_FILE)
    return label
