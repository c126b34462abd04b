"""The labels of people in a suite: what judges are held against, and what comes before them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from pytest_mapsat.formats import Placed, limits, parse_json_line, raise_for_problems, read_lines, read_nouns
from pytest_mapsat.model import (
    Case,
    PeopleLabels,
    Problem,
    SuiteError,
    did_you_mean,
    fits,
    shown,
    wording_digest,
)

from .common import CaseEntry
from .opened import Suite


def read_answers(suite: Suite) -> tuple[Placed[PeopleLabels], ...]:
    """Return the labels of people that hold the dialogue itself, in the order of files and lines.

    Raises:
        SuiteError: with the problems of all files, up to a limit: what is no labelled answer, and what does not fit its case.
    """
    problems: list[Problem] = []
    answers: list[Placed[PeopleLabels]] = []
    for path in suite.inventory.labels:
        in_file: tuple[Placed[PeopleLabels], ...] = ()
        try:
            in_file = read_nouns(path, PeopleLabels)
        except SuiteError as error:
            problems += error.problems
        for placed in in_file:
            if placed.noun.trial is not None:
                message = "a trial is of a run, and a suite has none"
                problems.append(placed.problem(["trial"], message, "mapsat review RUN --from takes such lines"))
            elif placed.noun.holds_dialogue:
                answers.append(placed)
    entries, load = _entries(suite) if answers else {}, cache(suite.load)
    first: dict[tuple[str, str], str] = {}
    for placed in answers:
        answer = placed.noun
        problems += _misfits(placed, entries, load)
        earlier = first.setdefault((answer.case, answer.id), placed.place)
        if earlier != placed.place:
            message = f"a second answer {shown(answer.id)} to the case {answer.case}: {earlier} has one"
            problems.append(placed.problem(["id"], message, "ids are unique among the answers to a case"))
    raise_for_problems(problems)
    return tuple(answers)


def is_labels(path: Path) -> bool:
    """Return whether a path is one of labels of people: a folder, or JSON lines that have them."""
    if path.is_dir():
        return True
    try:
        first = next(read_lines(path, limits.DIALOGUE_BYTES), None)
        data = None if first is None else parse_json_line(first.data, "", first.number)
    except SuiteError:
        return False
    return isinstance(data, dict) and isinstance(data.get("labels"), dict)


def stale_labels(suite: Suite) -> Iterator[Problem]:
    """Give the labels that came before every judge and can no longer count, whatever an agent says. Raises SuiteError."""
    entries, load = _entries(suite) if suite.inventory.reviewed else {}, cache(suite.load)
    for path in suite.inventory.reviewed:
        for placed in read_nouns(path, PeopleLabels):
            if placed.noun.reply is not None:
                yield from _misfits(placed, entries, load)


def _entries(suite: Suite) -> dict[str, CaseEntry]:
    return {entry.id: entry for path in suite.files() for entry in suite.entries(path)}


def _misfits(
    placed: Placed[PeopleLabels], entries: Mapping[str, CaseEntry], load: Callable[[CaseEntry], Case]
) -> Iterator[Problem]:
    """Give where the labels of an answer do not fit its case. Raises SuiteError."""
    labels = placed.noun
    if labels.case not in entries:
        message = f"the suite has no case {shown(labels.case)}"
        yield placed.problem(["case"], message, did_you_mean(labels.case, entries))
        return
    case = load(entries[labels.case])
    requirements = {requirement.id: requirement for requirement in case.truth.requirements}
    for name, mark in labels.labels.items():
        requirement = requirements.get(name)
        if requirement is None:
            message = f"the case {case.id} has no requirement {shown(name)}"
            yield placed.problem(["labels", name], message, did_you_mean(name, requirements))
        elif not fits(mark, requirement):
            message = f"found {mark:g}, expected passed or failed"
            yield placed.problem(["labels", name], message, "only a soft requirement has levels")
        elif not labels.holds_dialogue and labels.wording.get(name, "") not in ("", wording_digest(requirement)):
            message = (
                f"the words of the requirement {name} of the case {case.id} have changed: its label no longer counts"
            )
            yield placed.problem(["wording", name], message, "review the answer again, and remove this line")
    missing = [requirement.id for requirement in case.truth.required if requirement.id not in labels.labels]
    if missing and labels.holds_dialogue:
        message = f"nothing is said of {', '.join(missing)}, which the case {case.id} has"
        hint = "give each requirement of kind asked, hard or fact passed or failed"
        yield placed.problem(["labels"], message, hint)
    if labels.text is not None and not case.truth.oracle:
        message = f"the case {case.id} has no oracle dialogue whose last reply this could be"
        yield placed.problem(["text"], message, "give turns, the whole dialogue")
