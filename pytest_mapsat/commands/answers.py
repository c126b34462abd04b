"""``mapsat lint SUITE --answers``: the suite's labelled answers, judged."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_mapsat.formats import replacing, save_run, shown_path, signed
from pytest_mapsat.judges import calibrate as calibrated
from pytest_mapsat.model import UsageError
from pytest_mapsat.proof import AnswersProof, JudgedAnswer, judging_of
from pytest_mapsat.runs.labels import answers_by_trial, run_answers
from pytest_mapsat.sandbox import SandboxHook
from pytest_mapsat.suite import CALIBRATION, Suite, find_suite, open_suite, read_answers


def judge_answers(
    path: Path, save: Path | None = None, sandboxes: Sequence[SandboxHook] | None = None, *, calibrate: bool = False
) -> AnswersProof:
    """Judge the labelled answers of a suite that lint has found sound.

    Args:
        path: the suite's folder, or a file or folder in it.
        save: where the answers go as a run file, each a trial of its case.
        sandboxes: what looks for sandboxes in Python; None: installed packages alone.
        calibrate: whether the suite's calibration table is written.

    Raises:
        UsageError: a run file or a table is asked for, and the suite has no answers, or labels of theirs contradict checks that are decided exactly.
        SuiteError: something in the suite changed since lint read it.
    """
    suite = open_suite(find_suite(path) or path)
    suite.sandboxes = sandboxes
    answers = read_answers(suite)
    run = run_answers(suite, answers)
    if not answers and (calibrate or save is not None):
        option = "--save" if save is not None else "--calibrate"
        raise UsageError(f"{option}: {shown_path(suite.root)} has no labelled answers; docs/answers.md shows one")
    if save is not None:
        save_run(save, run)
    entries = {entry.id: entry for file in suite.files() for entry in suite.entries(file)}
    cases = {case: suite.load(entries[case]) for case in dict.fromkeys(card.id for card in run.cases)}
    by_trial = answers_by_trial(answers)
    proof = AnswersProof(tuple(JudgedAnswer(by_trial[card.id, card.trial], cases[card.id], card) for card in run.cases))
    if calibrate:
        _calibrate(suite, proof)
    return proof


def _calibrate(suite: Suite, proof: AnswersProof) -> None:
    """Write the table of the suite's own failures by cell."""
    against = [one for one in proof.wrong if one.exact]
    if against:
        first = against[0]
        more = f", and {len(against) - 1} more" if len(against) > 1 else ""
        raise UsageError(
            f"--calibrate: answer {first.answer} to {first.case} labels {first.factor} {first.should}, and its check, which reads no prose, says {first.said} "
            f"({first.why}){more}: mend the label or the check first"
        )
    judgings = [judging_of(one.answer, one.case, one.card) for one in proof.judged]
    table = calibrated({suite.manifest.name: judgings})
    own = signed(table.model_copy(update={"red_of_right": None, "green_of_wrong": None}))
    path = suite.root / CALIBRATION
    with replacing(path) as file:
        file.write(json.dumps({"schema": own.schema_} | own.to_json(), indent=1, ensure_ascii=False).encode() + b"\n")
    enough = sum(sum(counts) >= own.least for counts in own.cells.values())
    sys.stderr.write(
        f"{shown_path(path)}: {len(own.cells)} kinds of failures from {len(judgings)} answers; {enough} of them have the {own.least} failures that make them count. "
        "Answers that the checks were mended on flatter: calibrate on fresh ones.\n"
    )
