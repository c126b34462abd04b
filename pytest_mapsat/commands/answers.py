"""``mapsat lint SUITE --answers``: the suite's labelled answers, judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_mapsat.formats import save_run, shown_path
from pytest_mapsat.model import UsageError
from pytest_mapsat.proof import AnswersProof, JudgedAnswer
from pytest_mapsat.runs.answers import answers_by_trial, run_answers
from pytest_mapsat.sandbox import WorldHook
from pytest_mapsat.suite import find_suite, open_suite, read_answers


def judge_answers(path: Path, save: Path | None = None, worlds: Sequence[WorldHook] | None = None) -> AnswersProof:
    """Judge the labelled answers of a suite that lint has found sound.

    Args:
        path: the suite's folder, or a file or folder in it.
        save: where the answers go as a run file, each a trial of its case.
        worlds: what looks for worlds in Python; None: installed packages alone.

    Raises:
        UsageError: a run file is asked for, and the suite has no answers.
        SuiteError: something in the suite changed since lint read it.
    """
    suite = open_suite(find_suite(path) or path)
    suite.worlds = worlds
    answers = read_answers(suite)
    run = run_answers(suite, answers)
    if save is not None:
        if not answers:
            raise UsageError(f"--save: {shown_path(suite.root)} has no labelled answers; docs/answers.md shows one")
        save_run(save, run)
    entries = {entry.id: entry for file in suite.files() for entry in suite.entries(file)}
    cases = {case: suite.load(entries[case]) for case in dict.fromkeys(card.id for card in run.cases)}
    by_trial = answers_by_trial(answers)
    return AnswersProof(tuple(JudgedAnswer(by_trial[card.id, card.trial], cases[card.id], card) for card in run.cases))
