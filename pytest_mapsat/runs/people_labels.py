"""Labels of people against those of judges: reviewed, compared with a run, and run as trials of their case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from pytest_mapsat.formats import DocumentLines, PlacedNoun, append_lines, limits, read_nouns, require_file, shown_path
from pytest_mapsat.judges import DialogueKey, LabelsOfPeople, RecordedJudge, unjudgeable
from pytest_mapsat.model import (
    Accounting,
    Case,
    JsonObject,
    Label,
    Mark,
    PeopleLabels,
    Problem,
    Requirement,
    Run,
    RunOptions,
    RunRequest,
    RunTiming,
    Scorecard,
    Step,
    SuiteError,
    Trajectory,
    Turn,
    UsageError,
    did_you_mean,
    digest,
    fits,
    shown,
    wording_digest,
)
from pytest_mapsat.proof import Agreement, MeasuredDialogue, play_oracle
from pytest_mapsat.reports import printable
from pytest_mapsat.sandbox import Sandbox, make_sandbox
from pytest_mapsat.suite import LABELS, REVIEWED, Suite, find_suite, is_labels, nouns_in, open_suite, read_answers

from .assemble import RunOutcome, assemble
from .regrade import places_of
from .request import asserted_kinds
from .runner import grade, judge_of

#: What a good answer keeps without exception: ``Truth.required``.
_ASSERTED = asserted_kinds(("asked", "hard", "facts"))
_SOURCE = "answers"


def judge_answers(
    suite: Suite, answers: Iterable[PlacedNoun[PeopleLabels]]
) -> tuple[Run, tuple[MeasuredDialogue, ...]]:
    """Return labelled answers as a judged run, and each of its dialogues with the true labels.

    The checks alone judge: decisions of people would hide what the checks make of the answers. The answers to a case are its trials, in the order given.

    Args:
        suite: the suite.
        answers: answers to its cases.

    Raises:
        SuiteError: a case, or one of its recordings, cannot be read.
    """
    by_case: dict[str, list[PeopleLabels]] = {}
    for placed in answers:
        by_case.setdefault(placed.noun.case, []).append(placed.noun)
    judge = judge_of(suite, "checks", decisions=(), root=Path())
    entries = {entry.id: entry for path in suite.files() for entry in suite.entries(path)}
    cases = {case: suite.load(entries[case]) for case in by_case}
    graded = partial(grade, judge=judge, asserted=frozenset(_ASSERTED), tools=suite.tools)
    cards = []
    for case_id, given in by_case.items():
        case = cases[case_id]
        oracle = play_oracle(case, suite) if any(answer.text is not None for answer in given) else None
        for trial, answer in enumerate(given, 1):
            trajectory = _dialogue(case, answer, oracle, suite).model_copy(update={"trial": trial, "source": _SOURCE})
            nodeid = answer_named(case.id, answer.id)
            cards.append(graded(case, trajectory, nodeid=nodeid, line=entries[case_id].line))
    options = RunOptions(trials=max(map(len, by_case.values()), default=1), asserted=_ASSERTED)
    request = RunRequest(agent=_SOURCE, user="scripted", judge=judge.spec, options=options)
    run = assemble(cards, [suite], request, RunOutcome(Accounting(collected=len(cards))), RunTiming())
    return run, tuple(MeasuredDialogue.of(by_case[card.id][card.trial - 1], cases[card.id], card) for card in run.cases)


def answer_named(case: str, answer: str) -> str:
    """Return the node id of a labelled answer in its run."""
    return f"answers::{case}[{answer}]"


def _dialogue(case: Case, answer: PeopleLabels, oracle: Trajectory | None, suite: Suite) -> Trajectory:
    """Return the dialogue of a labelled answer: its own turns, or the oracle's turns with the answer as the last reply."""
    if answer.text is None or oracle is None:
        sandbox = make_sandbox(case, suite)  # a fresh one: several recordings of one call answer in order
        return Trajectory(case=case.id, turns=tuple(_played(turn, sandbox) for turn in answer.turns))
    turns = [turn.model_copy(update={"timing": None}) for turn in oracle.turns]
    last = max((index for index, turn in enumerate(turns) if turn.role == "agent"), default=None)
    if last is not None:  # without any reply the oracle has broken, which the trajectory says
        turns[last] = turns[last].model_copy(update={"text": answer.text})
    return oracle.model_copy(update={"turns": tuple(turns)})


def _played(turn: Turn, sandbox: Sandbox) -> Turn:
    """Return a turn with results for all calls: given results, otherwise results from the sandbox."""
    names = ("result", "status", "provenance", "changed", "writes")
    steps = []
    for step in turn.steps:
        if step.kind == "call" and not {"result", "status"} & step.model_fields_set:
            answer = sandbox.call(step.tool, step.arguments)
            steps.append(step.model_copy(update={name: getattr(answer, name) for name in names}))
        else:
            steps.append(step)
    return turn.model_copy(update={"steps": tuple(steps)})


def agreement_of(run: Run, suites: Sequence[Suite], labels: Path) -> Agreement:
    """Return the agreement between the labels of a run and known true labels.

    Args:
        run: a saved run, judged by anybody.
        suites: where its cases stand.
        labels: a suite, or its folder of answers, or one file of them; or verdicts on the same dialogues: a run file, JSON lines, or the published table.

    Raises:
        UsageError: there is nothing at the path, or nothing in it is about a dialogue of the run.
        SuiteError: a file or a case cannot be used.
    """
    cases = {case: loaded for case, (_, loaded) in _cases_of(run, suites).items()}
    judged = _by_answers(run, cases, _answers_at(labels)) if is_labels(labels) else _by_verdicts(run, cases, labels)
    measured = tuple(MeasuredDialogue(cases[card.id], card, truth) for card, truth in judged if truth)
    if not measured:
        raise UsageError(f"--labels {shown_path(labels)}: no label is about a dialogue of the run")
    return Agreement(measured, len(run.cases) - len(measured))


def _cases_of(run: Run, suites: Sequence[Suite]) -> dict[str, tuple[Suite, Case]]:
    """Return the cases of a run by id, each with its suite."""
    places = places_of(run, suites)
    used = [(case, *places[case]) for case in dict.fromkeys(card.id for card in run.cases)]
    return {case: (suite, suite.load(entry)) for case, suite, entry in used}


def _answers_at(path: Path) -> Sequence[PlacedNoun[PeopleLabels]]:
    """Return the labelled answers in a file, or in the suite at a folder. Raises UsageError if there is no suite."""
    if path.is_file():
        return read_nouns(path, PeopleLabels)
    root = find_suite(path)
    if root is None:
        raise UsageError(f"--labels {shown_path(path)}: this folder is neither a suite nor in one")
    return read_answers(open_suite(root))


def _by_answers(
    run: Run, cases: Mapping[str, Case], answers: Iterable[PlacedNoun[PeopleLabels]]
) -> Iterable[tuple[Scorecard, Mapping[str, Mark]]]:
    """Yield each scorecard with the labels of its labelled answer, matched by node id and reply; empty if there is none."""
    by_name = {answer_named(placed.noun.case, placed.noun.id): placed.noun for placed in answers}
    for card in run.cases:
        answer = by_name.get(card.nodeid)
        if answer is None or card.id not in cases:
            yield card, {}
            continue
        own = [turn.text for turn in answer.turns if turn.role == "agent"] if answer.text is None else [answer.text]
        replies = [turn.text for turn in card.trajectory.replies]
        yield card, answer.labels if own[-1:] == replies[-1:] else {}


def _by_verdicts(run: Run, cases: Mapping[str, Case], path: Path) -> Iterable[tuple[Scorecard, Mapping[str, Mark]]]:
    """Yield each scorecard with its labels in a file of verdicts."""
    require_file(path, shown_path(path))
    judge = RecordedJudge.open(path, f"recorded:{shown_path(path)}", shown_path(path))
    for card in run.cases:
        verdict = judge.judge(cases[card.id], card.trajectory)
        soft = {requirement.id for requirement in cases[card.id].truth.soft}
        marks: dict[str, Mark] = {}
        for label in verdict.labels:
            if label.value is not None:
                outcome: Mark = "passed" if label.value > 0 else "failed"
                marks[label.requirement] = label.value if label.requirement in soft else outcome
        yield card, marks


# -- a run under review ------------------------------------------------------------------------

State = Literal["undecided", "failed"]


@dataclass(frozen=True)
class ReviewQuestion:
    """A label of a dialogue for a person to decide, with the requirement and the judge's view."""

    case: Case
    card: Scorecard
    requirement: Requirement
    label: Label

    @property
    def state(self) -> State:
        """``failed`` if the judge says so, ``undecided`` if the judge cannot decide."""
        return "failed" if self.label.outcome == "failed" else "undecided"

    @property
    def calls(self) -> tuple[Step, ...]:
        """The calls of the tools in the check; all calls if it names no tool or none of these was called."""
        tools = {getattr(noun, "tool", "") for _, noun in nouns_in(self.requirement, ())}
        calls = self.card.trajectory.calls
        return tuple(call for call in calls if call.tool in tools) or calls

    def to_json(self) -> JsonObject:
        """Return the question as JSON data."""
        return {
            "case": self.case.id,
            "trial": self.card.trial,
            **dict(_distinguishing_fields(self.card)),
            "requirement": self.requirement.id,
            "kind": self.label.kind,
            "state": self.state,
            "required": self.requirement.text,
            "why": self.label.why,
            "quotes": [quote.model_dump(mode="json") for quote in self.label.quotes],
        }


@dataclass
class Review:
    """Lists a saved run's open labels, and stores people's decisions on them.

    Attributes:
        run: the run.
        suites: the suites that its cases stand in.
        labels_file: where labels go; None: each into its suite's own file.
        by: who decides.
    """

    run: Run
    suites: tuple[Suite, ...]
    labels_file: Path | None
    by: str

    def __post_init__(self) -> None:
        loaded = _cases_of(self.run, self.suites)
        self._suites = {name: suite for name, (suite, _) in loaded.items()}
        self._cases = {name: case for name, (_, case) in loaded.items()}
        files = [path for suite in self.suites for path in suite.inventory.reviewed]
        if self.labels_file is not None:
            files = [self.labels_file] if self.labels_file.exists() else []
        self._placed = [placed for path in files for placed in read_nouns(path, PeopleLabels)]
        self._decisions = LabelsOfPeople.of(self._placed)

    @property
    def open(self) -> list[ReviewQuestion]:
        """The labels without a human decision: undecided labels first (suspects ahead), then failed labels.

        Trials in which the same was said and answered ask once.
        """
        asked: dict[tuple[DialogueKey, str], ReviewQuestion] = {}
        for card in self.run.cases:
            case, dialogue_key = self._cases[card.id], DialogueKey.of(card.trajectory)
            labels = {label.requirement: label for label in card.labels} if _has_reply(case, card) else {}
            for requirement in case.truth.requirements:
                label = labels.get(requirement.id)
                if label is None or label.outcome not in {"unevaluated", "failed"}:
                    continue
                if self._decisions.on(requirement, dialogue_key) is None:
                    asked.setdefault((dialogue_key, requirement.id), ReviewQuestion(case, card, requirement, label))
        return sorted(asked.values(), key=lambda question: (question.state == "failed", not question.label.suspect))

    def decide(self, question: ReviewQuestion, outcome: Mark, why: str) -> None:
        """Store a person's decision on a question, in its file and in this object."""
        dialogue_key = DialogueKey.of(question.card.trajectory)
        self._take(_label_on(question.requirement, dialogue_key, outcome, by=self.by, why=why))

    def _take(self, *decisions: PeopleLabels) -> None:
        """Append decisions to their files, then apply them to this object."""
        for decision in decisions:
            path = self.labels_file or self._suites[decision.case].root / LABELS / REVIEWED
            data = decision.model_dump(mode="json", by_alias=True, exclude_defaults=True)
            append_lines(path, [{"schema": decision.schema_} | data])
            self._placed.append(PlacedNoun(decision, shown_path(path), DocumentLines(0)))
        self._decisions = LabelsOfPeople.of(self._placed)

    def take_file(self, path: Path) -> int:
        """Store all decisions in a file, or none if one is invalid.

        Returns:
            How many are new.

        Raises:
            UsageError: there is no such file.
            SuiteError: with the problems of all lines, up to a limit.
        """
        cards = {card.key: card for card in self.run.cases}
        problems: list[Problem] = []
        new: dict[tuple[DialogueKey, str], PeopleLabels] = {}
        first: dict[tuple[object, ...], str] = {}
        for placed in read_nouns(path, PeopleLabels):
            noun = placed.noun
            if (problem := self._refusal(placed, cards)) is not None:
                problems.append(problem)
                continue
            dialogue_key = DialogueKey.of(cards[_key(noun)].trajectory)
            requirements = {requirement.id: requirement for requirement in self._cases[noun.case].truth.requirements}
            for name, outcome in noun.labels.items():
                problem = _misfit(placed, name, outcome, requirements)
                earlier = first.setdefault((*_key(noun), name), placed.place)
                if problem is None and earlier != placed.place:
                    problem = placed.problem(["labels", name], f"is labelled twice: {earlier} does it too", "keep one")
                if problem is not None:
                    problems.append(problem)
                    continue
                standing = self._decisions.on(requirements[name], dialogue_key)
                if standing is None or standing.outcome != outcome:
                    by, why = noun.by or self.by, noun.why.get(name, "")
                    new[dialogue_key, name] = _label_on(requirements[name], dialogue_key, outcome, by=by, why=why)
        if problems:
            raise SuiteError(*problems[: limits.PROBLEMS])
        self._take(*new.values())
        return len(new)

    def _refusal(
        self, placed: PlacedNoun[PeopleLabels], cards: Mapping[tuple[str, int, str, int], Scorecard]
    ) -> Problem | None:
        """Return the problem with a line of a file of decisions; None if the line is valid."""
        noun = placed.noun
        case, card = self._cases.get(noun.case), cards.get(_key(noun))
        if noun.trial is None:
            return placed.problem([], "names no trial of the run", 'as in "trial": 1')
        if case is None:
            hint = did_you_mean(noun.case, self._cases)
            return placed.problem(["case"], f"the run has no case {shown(noun.case)}", hint)
        if card is None:
            which = "".join(f", {name} {value}" for name, value in _distinguishing_fields(noun))
            return placed.problem(["trial"], f"the run has no trial {noun.trial}{which} of the case {case.id}")
        if not _has_reply(case, card):
            message = f"trial {noun.trial} of the case {case.id} has no reply to judge"
            return placed.problem([], message, card.reason)
        return None

    def add_answers(self) -> Iterator[str]:
        """Add fully decided dialogues to their suite's labelled answers; yield a line on each result.

        Raises:
            SuiteError: the answers that the suite has cannot be used.
        """
        present = {(item.noun.case, item.noun.id) for suite in self.suites for item in read_answers(suite)}
        for card in self.run.cases:
            case, suite = self._cases[card.id], self._suites[card.id]
            dialogue_key, name = DialogueKey.of(card.trajectory), dialogue_name(card)
            decided = {
                requirement.id: decision.outcome
                for requirement in case.truth.requirements
                if (decision := self._decisions.on(requirement, dialogue_key)) is not None
            }
            if not decided:
                continue
            judged = _judged(case, card) | decided
            if card.trajectory.source == "answers":
                yield f"{name}: holds its labels itself; change them there"
            elif missing := [item.id for item in case.truth.required if item.id not in judged]:
                yield f"{name}: not kept with its dialogue: {', '.join(missing)} still open"
            else:
                answer = _answer(case, card, judged, judged.keys() - decided.keys())
                if (case.id, answer.id) not in present:
                    present.add((case.id, answer.id))
                    path = suite.root / LABELS / "dialogues.jsonl"
                    append_lines(path, [answer.model_dump(mode="json", by_alias=True, exclude_unset=True)])
                    yield f"{name}: added to {shown_path(path)}" + (f" ({answer.note})" if answer.note else "")


def _has_reply(case: Case, card: Scorecard) -> bool:
    """Return whether a dialogue has a reply to judge and did not break through any fault but the agent's."""
    has_words = any(turn.text.strip() for turn in card.trajectory.replies)
    return has_words and unjudgeable(case, card.trajectory, "", "") is None


def _label_on(requirement: Requirement, dialogue_key: DialogueKey, outcome: Mark, *, by: str, why: str) -> PeopleLabels:
    """Return a person's label of a requirement, bound to the requirement's wording and the dialogue's replies and evidence."""
    return PeopleLabels(
        case=dialogue_key.case,
        labels={requirement.id: outcome},
        by=by,
        why={requirement.id: why} if why else {},
        wording={requirement.id: wording_digest(requirement)},
        reply=dialogue_key.reply,
        evidence=dialogue_key.evidence,
    )


def _judged(case: Case, card: Scorecard) -> dict[str, Mark]:
    """Return the judge's passed and failed labels of the case's required requirements."""
    required = {requirement.id for requirement in case.truth.required}
    return {
        label.requirement: "passed" if label.outcome == "passed" else "failed"
        for label in card.labels
        if label.requirement in required and label.outcome in ("passed", "failed")
    }


def _answer(case: Case, card: Scorecard, marks: Mapping[str, Mark], own: Collection[str]) -> PeopleLabels:
    """Return a dialogue as a labelled answer with calls, results and labels; ``own``: labels from the judge alone."""
    trajectory, dialogue_key = card.trajectory, DialogueKey.of(card.trajectory)
    order = [requirement.id for requirement in case.truth.requirements if requirement.id in marks]
    turns = tuple(map(_plain, trajectory.turns))
    if turns[0].role != "user":  # a run file may hold a dialogue without its query
        turns = (Turn(role="user", text=case.visible.query), *turns)
    note = f"not reviewed, the judge's own: {', '.join(name for name in order if name in own)}" if own else ""
    return PeopleLabels(
        case=case.id,
        id=f"reviewed-{digest([dialogue_key.reply, dialogue_key.evidence], 12)}",
        by="person",
        turns=turns,
        labels={name: marks[name] for name in order},
        **({"note": note} if note else {}),
    )


def _plain(turn: Turn) -> Turn:
    """Return a turn with only its text, calls and output, without cost and time."""
    steps = tuple(
        Step(kind="call", tool=step.tool, arguments=step.arguments, result=step.result, status=step.status)
        for step in turn.steps
        if step.kind == "call"
    )
    output = {} if turn.output is None else {"output": turn.output}
    return Turn(role=turn.role, text=turn.text, **({"steps": steps} if steps else {}), **output)


def _key(noun: PeopleLabels) -> tuple[str, int, str, int]:
    """Return the key of the scorecard to which labels belong."""
    return noun.case, noun.trial or 1, noun.agent, noun.attempt


def _misfit(
    placed: PlacedNoun[PeopleLabels], name: str, outcome: Mark, requirements: Mapping[str, Requirement]
) -> Problem | None:
    """Return the problem with a label that does not suit its case; None if there is none."""
    if name not in requirements:
        message = f"the case {placed.noun.case} has no requirement {shown(name)}"
        return placed.problem(["labels", name], message, did_you_mean(name, requirements))
    if not fits(outcome, requirements[name]):
        message = f"found {outcome:g}, expected passed or failed"
        return placed.problem(["labels", name], message, "only a soft requirement has levels")
    return None


def _distinguishing_fields(dialogue: PeopleLabels | Scorecard) -> Iterator[tuple[str, object]]:
    """Yield the agent and the attempt of a dialogue if they distinguish it from others of its case and trial."""
    if dialogue.agent:
        yield "agent", printable(dialogue.agent)
    if dialogue.attempt > 1:
        yield "attempt", dialogue.attempt


def dialogue_name(card: Scorecard) -> str:
    """Return the name of a dialogue for messages: case, trial, and agent and attempt if needed."""
    which = "".join(f", {name} {value}" for name, value in _distinguishing_fields(card))
    return f"case {card.id}, trial {card.trial}{which}"
