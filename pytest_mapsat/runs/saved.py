"""Run files: their places and content, and earlier runs to continue, to judge again or to compare with."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pytest_mapsat.formats import (
    Journal,
    is_complete_run,
    is_journal,
    printable,
    read_journal,
    read_run,
    save_run,
    shown_path,
    starts_of,
)
from pytest_mapsat.model import (
    EpisodeTiming,
    Gate,
    MapsatError,
    Problem,
    Run,
    RunManifest,
    RunRequest,
    RunTiming,
    Scorecard,
    SuiteError,
    SuiteInfo,
    UsageError,
)

if TYPE_CHECKING:
    from pytest_mapsat.gate import Side


def check_save_path(path: Path, *, option: str = "--mapsat-save=") -> None:
    """Check, before the run starts, that a run file or a report can be written at a path.

    Args:
        path: where it goes.
        option: what was typed before the path.

    Raises:
        UsageError: it is a folder, a device, a pipe or a file of a suite, or its folder cannot be written.
    """
    target = Path(os.path.realpath(path))
    problem = _not_a_file(target) or _unwritable(target) or _read_by_suite(target)
    if problem:
        raise UsageError(f"{option}{printable(str(path))}: {problem}")


def _not_a_file(target: Path) -> str:
    """Return why a path cannot be an output file (a folder, a device ...); empty if it can."""
    try:
        mode = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return error.strerror or str(error)
    if stat.S_ISDIR(mode):
        return "this is a folder; name a file in it, such as run.json"
    return "" if stat.S_ISREG(mode) else "this is not a regular file"


def _unwritable(target: Path) -> str:
    """Return why a path cannot be written; empty if it can."""
    folder = next(folder for folder in target.parents if folder.exists())
    if not folder.is_dir():
        return f"{folder.name} is not a folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the folder {folder} cannot be written"
    return "" if not target.exists() or os.access(target, os.W_OK) else "the file there cannot be written"


def _read_by_suite(target: Path) -> str:
    """Return why a suite would read the file at a path as its own; empty if no suite would."""
    from pytest_mapsat.suite import find_suite, role_of  # noqa: PLC0415 (0.2 s: who only reads a run needs no suite)

    root = find_suite(target)
    role = None if root is None else role_of(target.relative_to(root))
    return "" if root is None or role is None else f"the suite in {root.name} would read it as a file of its {role}"


def journal_of(save: Path) -> Path:
    """Return the path of the journal of a run that is saved at a path."""
    return save.with_name(f"{save.name}.journal")


def put_aside(save: Path) -> dict[Path, Path]:
    """Rename an existing run file and its journal, so that no later step reads a stale result.

    A complete run becomes ``PATH.previous``. One that was stopped never takes the place of a complete one: it becomes ``PATH.partial``.

    Returns:
        Where each file went.

    Raises:
        UsageError: a file cannot be moved, or another run writes there.
    """
    moved: dict[Path, Path] = {}
    target = Path(os.path.realpath(save))
    if Journal.is_being_written(journal_of(save)):
        raise UsageError(
            f"--mapsat-save={printable(str(save))}: another run that is under way writes there; give each run a file of its own"
        )
    if target.exists():
        kind = "partial" if is_complete_run(target) is False else "previous"
        moved[target] = _moved(target, save.with_name(f"{save.name}.{kind}"))
    moved |= put_journal_aside(journal_of(save))
    return moved


def put_journal_aside(journal: Path) -> dict[Path, Path]:
    """Rename an earlier journal, without overwriting the journal of an unfinished run.

    Returns:
        Where it went.

    Raises:
        UsageError: it cannot be moved.
    """
    if not journal.exists() and not journal.is_symlink():
        return {}
    place, number = journal.with_name(f"{journal.name}.previous"), 2
    while place.exists() and not _has_ended(place):
        place, number = journal.with_name(f"{journal.name}.previous-{number}"), number + 1
    return {journal: _moved(journal, place)}


def _has_ended(journal: Path) -> bool:
    """Return whether a file is the journal of a finished run whose run file was written."""
    try:
        return is_journal(journal) and any("ended" in note for note in read_journal(journal).notes)
    except MapsatError:
        return False


def _moved(source: Path, target: Path) -> Path:
    """Rename a file and return its new path. Raises UsageError."""
    try:
        return source.replace(target)
    except OSError as error:
        raise UsageError(f"{printable(str(source))} cannot be moved to {target.name}: {error.strerror}") from None


def looked_for(places: Iterable[Path], root: Path) -> str:
    """Return the places searched for a suite, relative to ``root``; ``nowhere`` if there are none."""
    relative = [os.path.relpath(place, root) for place in places]
    return ", ".join(dict.fromkeys(map(printable, relative))) or "nowhere"


def read_saved(path: Path, *, keep: Callable[[Scorecard], Scorecard] | None = None, begun: bool = False) -> Run:
    """Return a saved run from its run file, or from a journal; a journal gives a run marked as unfinished.

    Args:
        path: where it is.
        keep: what is kept of each scorecard of a run file; None: all of it.
        begun: whether a journal is taken too in which no episode has ended.

    Raises:
        UsageError: there is no such file.
        SuiteError: it is neither, or broken; with the line.
    """
    if not is_journal(path):
        return read_run(path, keep=keep)
    journal = read_journal(path)
    attempts = attempts_of(journal.episodes)
    cards = [
        card.model_copy(update={"attempt": number})
        for key in sorted(attempts)
        for number, card in enumerate(attempts[key], 1)
    ]
    if not cards and not begun:
        raise SuiteError(Problem(shown_path(path), 0, "the journal holds no episode that has ended"))

    def noted(name: str, kind: type) -> list[Any]:
        """Return a list of the journal's last note with this name and type; empty if there is none."""
        return [note[name] for note in journal.notes if isinstance(note.get(name), kind)][-1:]

    of = "".join(f" of {collected}" for collected in noted("collected", int))
    try:
        manifest = RunManifest.of(
            RunRequest.model_validate(journal.request),
            versions={},
            suites=[SuiteInfo.model_validate(info) for suites in noted("suites", list) for info in suites],
            prompts={str(name): str(mark) for prompts in noted("prompts", dict) for name, mark in prompts.items()},
            unfinished=f"this is partial: a journal, with {len(attempts)}{of} episodes; --mapsat-resume runs the others",
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise SuiteError(Problem(shown_path(path), 0, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")) from None
    gate = Gate(outcome="invalid")
    return Run(manifest=manifest, cases=tuple(cards), summary={}, groups={}, gate=gate, starts=starts_of(cards))


def attempts_of(episodes: Iterable[tuple[str, Scorecard]]) -> dict[tuple[str, int, str], list[Scorecard]]:
    """Return scorecards by case, trial and agent, with attempts in order; of duplicates the last one counts."""
    attempts: dict[tuple[str, int, str], dict[tuple[int, str], Scorecard]] = {}
    for worker, card in episodes:
        attempts.setdefault((card.id, card.trial, card.agent), {})[card.attempt, worker] = card
    return {key: [some[place] for place in sorted(some)] for key, some in attempts.items()}


_MOST_BASELINES = 2


def read_baseline(path: Path) -> Side:
    """Return a saved run for a comparison.

    Raises:
        UsageError: there is no such file, or it is the journal of a run that did not end.
        SuiteError: it is no run file, or broken; with the line.
    """
    from pytest_mapsat.gate import Side, reduced_card  # noqa: PLC0415 (likewise no gate)

    refuse_journal(path)
    return Side.of(read_run(path, keep=reduced_card, dialogues=False))


def read_baselines(paths: Sequence[Path]) -> tuple[Side, ...]:
    """Return the runs for a comparison: the last green run, then an anchor.

    Raises:
        UsageError: there are more than two, one is given twice, or one cannot be used.
        SuiteError: one is no run file, or broken; with the line.
    """
    if len(paths) > _MOST_BASELINES:
        raise UsageError(
            f"--mapsat-compare: found {len(paths)} runs, expected at most two: the last green run, and an anchor"
        )
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError(f"--mapsat-compare: {shown_path(paths[0])} is given twice")
    return tuple(map(read_baseline, paths))


def accept(new: Path, anchor: Path) -> None:
    """Write a run as the anchor of later comparisons, without its dialogues and times.

    Raises:
        UsageError: there is no such run, it did not end, or it is of a part of the suite.
        SuiteError: it is no run file, or broken.
    """
    from pytest_mapsat.gate import Side, without_turns  # noqa: PLC0415 (likewise)

    refuse_journal(new)
    run = read_run(new, keep=without_turns, dialogues=False)
    side = Side.of(run)
    lost = f"{len(side.lost_cases)} cases are lost" if side.lost_cases else ""
    whole = bool(run.manifest.options.sample) or not run.manifest.partial
    part = "" if whole else f"part of the suite ran ({', '.join(run.manifest.partial)})"
    if partial := run.manifest.unfinished or lost or part:
        raise UsageError(f"{shown_path(new)}: {partial}: only a whole run can be accepted")
    cards = tuple(card.model_copy(update={"timing": EpisodeTiming()}) for card in side.cards)
    reduced_card = {"cases": cards, "timing": RunTiming(), "comparison": None, "anchor": None, "starts": {}}
    save_run(anchor, run.model_copy(update=reduced_card))


def refuse_journal(path: Path) -> None:
    """Raise UsageError if a file is the journal of an unfinished run.

    Raises:
        UsageError: it is one.
    """
    if is_journal(path):
        raise UsageError(
            f"{shown_path(path)}: this is the journal of a run that did not end: --mapsat-resume finishes it"
        )
