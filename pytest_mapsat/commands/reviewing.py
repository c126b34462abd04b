"""``mapsat review RUN``: people decide what the judge left open, or decided wrongly."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_mapsat.formats import Lines, Placed, append_lines, limits, read_nouns, read_run, shown_path
from pytest_mapsat.judges import DialogueKey, LabelsOfPeople
from pytest_mapsat.model import (
    Case,
    Mark,
    PeopleLabels,
    Problem,
    Requirement,
    Run,
    Scorecard,
    Step,
    SuiteError,
    UsageError,
    did_you_mean,
    fits,
    shown,
)
from pytest_mapsat.reports import columns, printable, wrap
from pytest_mapsat.runs.people_labels import (
    Question,
    answer_of,
    can_be_reviewed,
    label_on,
    open_requirements,
    questions,
)
from pytest_mapsat.runs.regrade import Changes, changed_suites, open_suites, places_of
from pytest_mapsat.suite import LABELS, REVIEWED, Suite, read_answers

#: The most characters of a reply, and of anything else, that are shown.
_REPLY = 20_000
_LONG = 2_000
_CALLS = 8
#: The most characters of a typed reason.
_WHY = 1_000
#: The most columns that a question fills.
_WIDTH = 100
_KEYS = "p passed, f failed, s skip, q quit (a reason may stand behind p or f)"
_MARKS: dict[str, Mark] = {"p": "passed", "f": "failed", "0.25": 0.25, "0.5": 0.5, "0.75": 0.75}


@dataclass
class Review:
    """A saved run under review.

    Attributes:
        run: the run.
        suites: the suites that its cases stand in.
        labels_file: where labels go; None: each into its suite's own file.
        by: who decides.
        cases: the run's cases by id.
        suite_of: the suite of each case.
        decisions: what people have decided so far.
    """

    run: Run
    suites: tuple[Suite, ...]
    labels_file: Path | None
    by: str
    cases: dict[str, Case] = field(init=False)
    suite_of: dict[str, Suite] = field(init=False)
    decisions: LabelsOfPeople = field(init=False)
    _placed: list[Placed[PeopleLabels]] = field(init=False)

    def __post_init__(self) -> None:
        places = places_of(self.run, self.suites)
        used = dict.fromkeys(card.id for card in self.run.cases)
        self.suite_of = {case: places[case][0] for case in used}
        self.cases = {case: places[case][0].load(places[case][1]) for case in used}
        files = [path for suite in self.suites for path in suite.inventory.reviewed]
        if self.labels_file is not None:
            files = [self.labels_file] if self.labels_file.exists() else []
        self._placed = [placed for path in files for placed in read_nouns(path, PeopleLabels)]
        self.decisions = LabelsOfPeople.of(self._placed)

    @classmethod
    def of(cls, run: Path, suites: Sequence[Path], decisions: Path | None, by: str) -> Review:
        """Open a run for review.

        Raises:
            UsageError: there is no such run, suite or case, or nobody is named so.
            SuiteError: a file cannot be used.
        """
        if not by.strip() or not by.isprintable():
            raise UsageError(f"--by: found {shown(by)}, expected a name")
        saved, opened = read_run(run), open_suites(suites)
        for warning in changed_suites(saved, opened, Changes(decisions=decisions)):
            sys.stderr.write(f"mapsat: warning: {warning}\n")
        return cls(saved, opened, decisions, by)

    @property
    def open(self) -> list[Question]:
        """The questions that nobody has decided."""
        return questions(self.run.cases, self.cases, self.decisions)

    def take(self, *decisions: PeopleLabels) -> None:
        """Keep decisions: in their files at once, then here."""
        for decision in decisions:
            path = self.labels_file or self.suite_of[decision.case].root / LABELS / REVIEWED
            append_lines(
                path,
                [{"schema": decision.schema_} | decision.model_dump(mode="json", by_alias=True, exclude_defaults=True)],
            )
            self._placed.append(Placed(decision, shown_path(path), Lines(0)))
        self.decisions = LabelsOfPeople.of(self._placed)

    # -- decisions from a file -------------------------------------------------------------

    def take_file(self, path: Path) -> int:
        """Keep all decisions of a file, or none where one of them cannot be used.

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
            said = DialogueKey.of(cards[_dialogue(noun)].trajectory)
            requirements = {requirement.id: requirement for requirement in self.cases[noun.case].truth.requirements}
            for name, outcome in noun.labels.items():
                problem = _misfit(placed, name, outcome, requirements)
                earlier = first.setdefault((*_dialogue(noun), name), placed.place)
                if problem is None and earlier != placed.place:
                    problem = placed.problem(["labels", name], f"is labelled twice: {earlier} does it too", "keep one")
                if problem is not None:
                    problems.append(problem)
                    continue
                standing = self.decisions.on(requirements[name], said)
                if standing is None or standing.outcome != outcome:
                    by, why = noun.by or self.by, noun.why.get(name, "")
                    new[said, name] = label_on(requirements[name], said, outcome, by=by, why=why)
        if problems:
            raise SuiteError(*problems[: limits.PROBLEMS])
        self.take(*new.values())
        return len(new)

    def _refusal(
        self, placed: Placed[PeopleLabels], cards: Mapping[tuple[str, int, str, int], Scorecard]
    ) -> Problem | None:
        """Return why a line of a file cannot be used, or None."""
        noun = placed.noun
        case, card = self.cases.get(noun.case), cards.get(_dialogue(noun))
        if noun.trial is None:
            return placed.problem([], "names no trial of the run", 'as in "trial": 1')
        if case is None:
            hint = did_you_mean(noun.case, self.cases)
            return placed.problem(["case"], f"the run has no case {shown(noun.case)}", hint)
        if card is None:
            which = "".join(f", {name} {value}" for name, value in _apart(noun))
            return placed.problem(["trial"], f"the run has no trial {noun.trial}{which} of the case {case.id}")
        if not can_be_reviewed(case, card):
            message = f"trial {noun.trial} of the case {case.id} has no reply to judge"
            return placed.problem([], message, card.reason)
        return None

    # -- decisions from the terminal -------------------------------------------------------

    def ask(self) -> int:
        """Put the open questions one by one; each decision is kept at once.

        Returns:
            How many decisions were taken.
        """
        asked, taken = self.open, 0
        for number, question in enumerate(asked, 1):
            for line in question_lines(question, number, len(asked)):
                _print(line)
            key, why = _key(question.requirement)
            if key == "q":
                break
            if key != "s":
                self.take(question.decided(_MARKS[key], by=self.by, why=why))
                taken += 1
        return taken

    # -- answers ---------------------------------------------------------------------------

    def add_answers(self) -> Iterator[str]:
        """Add dialogues that people decided on to the labelled answers of their suite, and tell what became of each.

        Raises:
            SuiteError: the answers that the suite has cannot be used.
        """
        known = {(one.noun.case, one.noun.id) for suite in self.suites for one in read_answers(suite)}
        for card in self.run.cases:
            case, suite = self.cases[card.id], self.suite_of[card.id]
            said, named = DialogueKey.of(card.trajectory), _named(card)
            if all(self.decisions.on(requirement, said) is None for requirement in case.truth.requirements):
                continue
            if card.trajectory.source == "answers":
                yield f"{named}: holds its labels where it stands; change them there"
            elif missing := open_requirements(case, card, self.decisions):
                yield f"{named}: not kept with its dialogue: {', '.join(missing)} still open"
            else:
                answer = answer_of(case, card, self.decisions)
                if (case.id, answer.id) not in known:
                    known.add((case.id, answer.id))
                    path = suite.root / LABELS / "dialogues.jsonl"
                    append_lines(path, [answer.model_dump(mode="json", by_alias=True, exclude_unset=True)])
                    yield f"{named}: added to {shown_path(path)}" + (f" ({answer.note})" if answer.note else "")


def conduct(review: Review, *, given: Path | None, listed: bool, as_json: bool, with_dialogues: bool) -> None:
    """List the open questions, or take decisions from a file or the terminal.

    Args:
        review: the run under review.
        given: a file of decisions; None: the terminal is asked.
        listed: only list what is open.
        as_json: list as JSON.
        with_dialogues: add dialogues that are decided to the suite's labelled answers.

    Raises:
        MapsatError: a file cannot be used.
    """
    if listed:
        _list(review.open, as_json=as_json)
        return
    taken = review.ask() if given is None else review.take_file(given)
    told = list(review.add_answers()) if with_dialogues else []
    left = len(review.open)
    if as_json:
        _print(json.dumps({"labelled": taken, "open": left, "dialogues": told}, ensure_ascii=False, indent=2))
        return
    for line in told:
        _print(line)
    _print(f"{taken} labels given, {left} open" + ("; mapsat regrade counts them" if taken else ""))


def _dialogue(noun: PeopleLabels) -> tuple[str, int, str, int]:
    """Return the key of the scorecard that labels are about."""
    return noun.case, noun.trial or 1, noun.agent, noun.attempt


def _misfit(
    placed: Placed[PeopleLabels], name: str, outcome: Mark, requirements: Mapping[str, Requirement]
) -> Problem | None:
    """Return why a case cannot have a label, or None."""
    if name not in requirements:
        message = f"the case {placed.noun.case} has no requirement {shown(name)}"
        return placed.problem(["labels", name], message, did_you_mean(name, requirements))
    if not fits(outcome, requirements[name]):
        message = f"found {outcome:g}, expected passed or failed"
        return placed.problem(["labels", name], message, "only a soft requirement has levels")
    return None


def _apart(one: PeopleLabels | Scorecard) -> Iterator[tuple[str, object]]:
    """Give what tells a dialogue apart from others of its case and trial, where there is something."""
    if one.agent:
        yield "agent", printable(one.agent)
    if one.attempt > 1:
        yield "attempt", one.attempt


def _named(card: Scorecard) -> str:
    return f"case {card.id}, trial {card.trial}" + "".join(f", {name} {value}" for name, value in _apart(card))


def question_lines(question: Question, number: int, total: int) -> Iterator[str]:
    """Yield a question as lines: what was asked, what is required, what was said, and the calls that matter."""
    card, label = question.card, question.label
    yield ""
    yield f"[{number}/{total}] {_named(card)}: {label.kind} {question.requirement.id} is {question.state}"
    turns = card.trajectory.turns
    for index, turn in enumerate(turns):
        said = turn.text[:_REPLY]
        yield from _part(turn.role, said.splitlines() or [""])
        if len(said) < len(turn.text):
            yield f"           (and {len(turn.text) - len(said)} more characters; mapsat reads all of them)"
        quotes = [quote.text for quote in label.quotes if quote.turn == index]
        yield from _part("quoted", [_cut(" | ".join(quotes))]) if quotes else ()
    yield from _part("evidence", list(_calls(question.calls)) or ["no call was made"])
    yield from _part("judge", [_cut(label.why) or "gives no reason"])
    yield from _part("required", [question.requirement.text])


def _calls(calls: Sequence[Step]) -> Iterator[str]:
    for call in calls[:_CALLS]:
        arguments = ", ".join(
            f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items()
        )
        yield f"{call.tool}({_cut(arguments)}) -> {_cut(json.dumps(call.result, ensure_ascii=False))}"
    if len(calls) > _CALLS:
        yield f"and {len(calls) - _CALLS} more calls"


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]} (and {len(text) - _LONG} more characters)"


def _part(name: str, paragraphs: Sequence[str]) -> Iterator[str]:
    """Yield paragraphs under a name; nothing that a reply holds can steer the terminal."""
    for number, paragraph in enumerate(paragraphs):
        lead = f"{name:9}  " if not number else " " * 11
        for row, line in enumerate(wrap(printable(paragraph), columns(_WIDTH) - 11)):
            yield f"{lead if not row else ' ' * 11}{line}"


def _key(requirement: Requirement) -> tuple[str, str]:
    """Return the key that was typed, and the reason behind it. The end of the input quits."""
    while True:
        sys.stdout.write(f"{_KEYS} > ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            _print("")
            return "q", ""
        key, _, why = line.strip().partition(" ")
        key = key.lower()
        if key in {"s", "q"} or (key in _MARKS and fits(_MARKS[key], requirement)):
            return key, why.strip()[:_WHY]
        levels = " or a level (0.25, 0.5, 0.75)" if fits(0.5, requirement) else ""
        _print(f"found {shown(line.strip())}, expected p, f, s, q{levels}")


def _list(found: Sequence[Question], *, as_json: bool) -> None:
    if as_json:
        _print(json.dumps([question.to_json() for question in found], ensure_ascii=False, indent=2))
        return
    for question in found:
        named = f"{_named(question.card)}, {question.requirement.id}"
        for line in wrap(f"{question.state}: {named}: {printable(_cut(question.label.why))}", columns(_WIDTH), hang=2):
            _print(line)
    _print(f"{len(found)} labels open")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
