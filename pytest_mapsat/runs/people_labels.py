"""Labels of people against those of judges: reviewed, held against a run, and run as trials of their case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pytest_mapsat.formats import Placed, require_file, shown_path
from pytest_mapsat.judges import DialogueKey, Judge, LabelsOfPeople, RecordedJudge, make_judge, unjudgeable
from pytest_mapsat.model import (
    Accounting,
    Case,
    JsonObject,
    Label,
    Mark,
    PeopleLabels,
    Requirement,
    Run,
    RunOptions,
    RunRequest,
    RunTiming,
    Scorecard,
    Step,
    Trajectory,
    Turn,
    UsageError,
    digest,
    wording_digest,
)
from pytest_mapsat.proof import Agreement, Held, play_oracle
from pytest_mapsat.sandbox import Sandbox, make_sandbox
from pytest_mapsat.suite import CaseEntry, Suite, find_suite, is_labels, open_suite, read_answers, read_label_file

from .assemble import Outcome, assemble
from .regrade import places_of
from .request import asserted_kinds
from .runner import grade

#: What a good answer keeps without exception: ``Truth.required``.
_ASSERTED = asserted_kinds(("asked", "hard", "facts"))
_SOURCE = "answers"


def run_answers(suite: Suite, answers: Iterable[Placed[PeopleLabels]]) -> Run:
    """Return labelled answers as a run, judged by the checks alone: decisions of people would hide what the checks make of them.

    The answers to a case are its trials, in the order given.

    Args:
        suite: the suite.
        answers: answers to its cases.

    Raises:
        SuiteError: a case, or one of its recordings, cannot be read.
    """
    by_case: dict[str, list[PeopleLabels]] = {}
    for placed in answers:
        by_case.setdefault(placed.noun.case, []).append(placed.noun)
    judge = make_judge(
        "checks", suite.tools, root=Path(), vocabulary=suite.vocabulary, suite=suite, calibration=suite.calibration
    )
    entries = {entry.id: entry for path in suite.files() for entry in suite.entries(path)}
    cards = [card for case, given in by_case.items() for card in _cards(suite, entries[case], given, judge)]
    options = RunOptions(trials=max(map(len, by_case.values()), default=1), asserted=_ASSERTED)
    request = RunRequest(agent=_SOURCE, user="scripted", judge=judge.spec, options=options)
    return assemble(cards, [suite], request, Outcome(Accounting(collected=len(cards))), RunTiming())


def _cards(suite: Suite, entry: CaseEntry, answers: Sequence[PeopleLabels], judge: Judge) -> Iterable[Scorecard]:
    case = suite.load(entry)
    sandbox = make_sandbox(case, suite)
    oracle = play_oracle(case, suite) if any(answer.text is not None for answer in answers) else None
    for trial, answer in enumerate(answers, 1):
        trajectory = _dialogue(case, answer, oracle, sandbox).model_copy(update={"trial": trial, "source": _SOURCE})
        nodeid = answer_named(case.id, answer.id)
        yield grade(
            case, trajectory, judge, asserted=frozenset(_ASSERTED), tools=suite.tools, nodeid=nodeid, line=entry.line
        )


def answer_named(case: str, answer: str) -> str:
    """Return the node id under which an answer stands in its run."""
    return f"answers::{case}[{answer}]"


def _dialogue(case: Case, answer: PeopleLabels, oracle: Trajectory | None, sandbox: Sandbox) -> Trajectory:
    """Return the dialogue that ends in the answer: the oracle's with another last reply, or the answer's own."""
    if answer.text is None or oracle is None:
        return Trajectory(case=case.id, turns=tuple(_played(turn, sandbox) for turn in answer.turns))
    turns = [turn.model_copy(update={"timing": None}) for turn in oracle.turns]
    last = max((index for index, turn in enumerate(turns) if turn.role == "agent"), default=None)
    if last is not None:  # without any reply the oracle has broken, which the trajectory says
        turns[last] = turns[last].model_copy(update={"text": answer.text})
    return oracle.model_copy(update={"turns": tuple(turns)})


def _played(turn: Turn, sandbox: Sandbox) -> Turn:
    return turn.model_copy(update={"steps": tuple(_answered(step, sandbox) for step in turn.steps)})


def _answered(step: Step, sandbox: Sandbox) -> Step:
    """Return a call with its result: its own where it gives one, else what the sandbox answers."""
    if step.kind != "call" or {"result", "status"} & step.model_fields_set:
        return step
    answer = sandbox.call(step.tool, step.arguments)
    names = ("result", "status", "provenance", "changed", "writes")
    return step.model_copy(update={name: getattr(answer, name) for name in names})


def answers_by_trial(answers: Iterable[Placed[PeopleLabels]]) -> Mapping[tuple[str, int], PeopleLabels]:
    """Return the answers by case and trial, as their run numbers them."""
    found: dict[tuple[str, int], PeopleLabels] = {}
    counts: dict[str, int] = {}
    for placed in answers:
        case = placed.noun.case
        counts[case] = counts.get(case, 0) + 1
        found[case, counts[case]] = placed.noun
    return found


def agreement_of(run: Run, suites: Sequence[Suite], labels: Path) -> Agreement:
    """Return how the labels of a run agree with those that are true.

    Args:
        run: a saved run, judged by anybody.
        suites: where its cases stand.
        labels: a suite, or its folder of answers, or one file of them; or verdicts on the same dialogues: a run file, JSON lines, or the published table.

    Raises:
        UsageError: there is nothing at the path, or nothing in it is about a dialogue of the run.
        SuiteError: a file or a case cannot be used.
    """
    places = places_of(run, suites)
    cases = {
        case: suite.load(entry) for case, (suite, entry) in places.items() if any(card.id == case for card in run.cases)
    }
    found = _by_answers(run, cases, _answers_at(labels)) if is_labels(labels) else _by_verdicts(run, cases, labels)
    held = tuple(Held(cases[card.id], card, truth) for card, truth in found if truth)
    if not held:
        raise UsageError(f"--labels {shown_path(labels)}: none of it is about a dialogue of the run")
    return Agreement(held, len(run.cases) - len(held))


def _answers_at(path: Path) -> Sequence[Placed[PeopleLabels]]:
    if path.is_file():
        return read_label_file(path)
    root = find_suite(path)
    if root is None:
        raise UsageError(f"--labels {shown_path(path)}: this folder is no suite and in none")
    return read_answers(open_suite(root))


def _by_answers(
    run: Run, cases: Mapping[str, Case], answers: Iterable[Placed[PeopleLabels]]
) -> Iterable[tuple[Scorecard, Mapping[str, Mark]]]:
    """Yield each dialogue with the labels of the answer that it is: by the name that ``lint --answers --save`` gave it, and by its words."""
    by_name = {answer_named(placed.noun.case, placed.noun.id): placed.noun for placed in answers}
    for card in run.cases:
        answer = by_name.get(card.nodeid)
        same = answer is not None and card.id in cases and _says(card, answer)
        yield card, answer.labels if answer is not None and same else {}


def _says(card: Scorecard, answer: PeopleLabels) -> bool:
    """Return whether a dialogue ends in the words of an answer."""
    given = (
        answer.text if answer.text is not None else _last(turn.text for turn in answer.turns if turn.role == "agent")
    )
    return given == _last(turn.text for turn in card.trajectory.replies)


def _last(texts: Iterable[str]) -> str | None:
    return next(reversed(list(texts)), None)


def _by_verdicts(run: Run, cases: Mapping[str, Case], path: Path) -> Iterable[tuple[Scorecard, Mapping[str, Mark]]]:
    """Yield each dialogue with what a file says of it."""
    require_file(path, shown_path(path))
    judge = RecordedJudge.open(path, f"recorded:{shown_path(path)}", shown_path(path))
    for card in run.cases:
        verdict = judge.judge(cases[card.id], card.trajectory)
        soft = {requirement.id for requirement in cases[card.id].truth.soft}
        yield (
            card,
            {
                label.requirement: label.value
                if label.requirement in soft
                else "passed"
                if label.value > 0
                else "failed"
                for label in verdict.labels
                if label.value is not None
            },
        )


State = Literal["suspect", "undecided", "failed"]
_STATES: tuple[State, ...] = ("suspect", "undecided", "failed")


@dataclass(frozen=True)
class Question:
    """One label of a dialogue, put to a person.

    Attributes:
        case: the case.
        card: the dialogue's scorecard.
        requirement: what is asked of the answer.
        label: what the judge says.
    """

    case: Case
    card: Scorecard
    requirement: Requirement
    label: Label

    @property
    def state(self) -> State:
        """Whether the judge suspects that it failed, left it open, or says that it failed."""
        if self.label.outcome == "failed":
            return "failed"
        return "suspect" if self.label.suspect else "undecided"

    @property
    def tools(self) -> frozenset[str]:
        """The tools that the requirement's check names."""
        return frozenset(_tools(self.requirement.model_dump(mode="json", by_alias=True)))

    @cached_property
    def calls(self) -> tuple[Step, ...]:
        """The calls that matter: of the tools that the check names; all calls where it names none, or none of them was called."""
        calls = self.card.trajectory.calls
        return tuple(call for call in calls if call.tool in self.tools) or calls

    def decided(self, outcome: Mark, *, by: str, why: str) -> PeopleLabels:
        """Return a person's decision on it."""
        return label_on(self.requirement, DialogueKey.of(self.card.trajectory), outcome, by=by, why=why)

    def to_json(self) -> JsonObject:
        """Return the question as JSON data."""
        more = {"agent": self.card.agent, "attempt": self.card.attempt}
        apart = more if self.card.agent or self.card.attempt > 1 else {}
        return {
            "case": self.case.id,
            "trial": self.card.trial,
            **apart,
            "requirement": self.requirement.id,
            "kind": self.label.kind,
            "state": self.state,
            "required": self.requirement.text,
            "why": self.label.why,
            "quotes": [quote.model_dump(mode="json") for quote in self.label.quotes],
        }


def label_on(requirement: Requirement, said: DialogueKey, outcome: Mark, *, by: str, why: str) -> PeopleLabels:
    """Return a person's label of a requirement in a dialogue, tied to its words, replies and evidence."""
    return PeopleLabels(
        case=said.case,
        labels={requirement.id: outcome},
        by=by,
        why={requirement.id: why} if why else {},
        wording={requirement.id: wording_digest(requirement)},
        reply=said.reply,
        evidence=said.evidence,
    )


def can_be_reviewed(case: Case, card: Scorecard) -> bool:
    """Return whether there is a reply to judge: somebody else did not break the episode, and the agent said something."""
    if unjudgeable(case, card.trajectory, "", "") is not None:
        return False
    return any(turn.text.strip() for turn in card.trajectory.replies)


def questions(cards: Sequence[Scorecard], cases: Mapping[str, Case], decisions: LabelsOfPeople) -> list[Question]:
    """Return the labels that are suspect, those that are undecided, then those that failed, without those that people have decided.

    Trials in which the same was said and answered ask once.

    Args:
        cards: the scorecards of a run.
        cases: their cases by id.
        decisions: what people decided before.
    """
    found: dict[tuple[DialogueKey, str], Question] = {}
    for card in cards:
        case, said = cases[card.id], DialogueKey.of(card.trajectory)
        if not can_be_reviewed(case, card):
            continue
        labels = {label.requirement: label for label in card.labels}
        for requirement in case.truth.requirements:
            label = labels.get(requirement.id)
            if label is None or label.outcome not in {"unevaluated", "failed"}:
                continue
            if decisions.on(requirement, said) is None:
                found.setdefault((said, requirement.id), Question(case, card, requirement, label))
    return sorted(found.values(), key=lambda question: _STATES.index(question.state))


def _tools(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("tool"), str):
            yield value["tool"]
        for part in value.values():
            yield from _tools(part)
    elif isinstance(value, list):
        for part in value:
            yield from _tools(part)


def open_requirements(case: Case, card: Scorecard, decisions: LabelsOfPeople) -> tuple[str, ...]:
    """Return the required requirements of a dialogue that neither a person nor the judge has decided."""
    marks = _marks(case, card, decisions)
    return tuple(requirement.id for requirement in case.truth.required if requirement.id not in marks)


def answer_of(case: Case, card: Scorecard, decisions: LabelsOfPeople) -> PeopleLabels:
    """Return a dialogue as a labelled answer: every call with its result, people's decisions as labels, the judge's for what nobody reviewed.

    Args:
        case: the case.
        card: the dialogue's scorecard.
        decisions: what people decided; with the judge's labels, on every required requirement.
    """
    trajectory, said = card.trajectory, DialogueKey.of(card.trajectory)
    marks = _marks(case, card, decisions)
    own = [
        requirement.id
        for requirement in case.truth.requirements
        if requirement.id in marks and decisions.on(requirement, said) is None
    ]
    turns = tuple(map(_plain, trajectory.turns))
    if turns[0].role != "user":  # a run file may hold a dialogue without its query
        turns = (Turn(role="user", text=case.visible.query), *turns)
    note = f"not reviewed, the judge's own: {', '.join(own)}" if own else ""
    return PeopleLabels(
        case=case.id,
        id=f"reviewed-{digest([said.reply, said.evidence], 12)}",
        by="person",
        turns=turns,
        labels=marks,
        **({"note": note} if note else {}),
    )


def _marks(case: Case, card: Scorecard, decisions: LabelsOfPeople) -> dict[str, Mark]:
    """Return people's decisions by requirement, and for required requirements that have none the judge's labels."""
    said = DialogueKey.of(card.trajectory)
    labels = {label.requirement: label.outcome for label in card.labels}
    required = {requirement.id for requirement in case.truth.required}
    marks: dict[str, Mark] = {}
    for requirement in case.truth.requirements:
        decision = decisions.on(requirement, said)
        outcome = labels.get(requirement.id)
        if decision is not None:
            marks[requirement.id] = decision.outcome
        elif requirement.id in required and (outcome == "passed" or outcome == "failed"):  # noqa: PLR1714  mypy narrows only this
            marks[requirement.id] = outcome
    return marks


def _plain(turn: Turn) -> Turn:
    """Return what was said and done in a turn, without its cost and time."""
    steps = tuple(
        Step(kind="call", tool=step.tool, arguments=step.arguments, result=step.result, status=step.status)
        for step in turn.steps
        if step.kind == "call"
    )
    output = {} if turn.output is None else {"output": turn.output}
    return Turn(role=turn.role, text=turn.text, **({"steps": steps} if steps else {}), **output)
