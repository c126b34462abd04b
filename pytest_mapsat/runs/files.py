"""The files of a run: where its journal and its run file go, and what stands there already."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from pytest_mapsat.formats import Journal, is_complete_run, is_journal, printable, read_journal
from pytest_mapsat.model import MapsatError, UsageError
from pytest_mapsat.suite import find_suite, role_of


def check_save_path(path: Path, decisions: Path | None = None, *, option: str = "--mapsat-save=") -> None:
    """Check that a run file or a report can be put at a path, before anything has run.

    Args:
        path: where it goes.
        decisions: the file of people's decisions that the run reads, where one is given.
        option: what was typed before the path.

    Raises:
        UsageError: it is a folder, a device, a pipe, the file of decisions or a file of a suite, or its folder cannot be written.
    """
    target = Path(os.path.realpath(path))
    problem = _not_a_file(target) or _unwritable(target) or _of_a_suite(target)
    if not problem and decisions is not None and target == Path(os.path.realpath(decisions)):
        problem = "this is the file of --mapsat-decisions, which the run reads"
    if problem:
        raise UsageError(f"{option}{printable(str(path))}: {problem}")


def _not_a_file(target: Path) -> str:
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
    folder = next(folder for folder in target.parents if folder.exists())
    if not folder.is_dir():
        return f"{folder.name} is not a folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the folder {folder} cannot be written"
    return "" if not target.exists() or os.access(target, os.W_OK) else "the file there cannot be written"


def _of_a_suite(target: Path) -> str:
    root = find_suite(target)
    role = None if root is None else role_of(target.relative_to(root))
    return "" if root is None or role is None else f"the suite in {root.name} would read it as a file of its {role}"


def journal_of(save: Path) -> Path:
    """Return where the journal of a run stands that is saved at a path."""
    return save.with_name(f"{save.name}.journal")


def put_aside(save: Path) -> dict[Path, Path]:
    """Move away what stands at the place of a run file and of its journal, so that no later step reads a stale result.

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
    """Move an earlier journal away. One of a run that did not end is never written over.

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
    """Say whether a journal is one of a run whose file was put in place."""
    try:
        return is_journal(journal) and any("ended" in note for note in read_journal(journal).notes)
    except MapsatError:
        return False


def _moved(source: Path, target: Path) -> Path:
    try:
        return source.replace(target)
    except OSError as error:
        raise UsageError(f"{printable(str(source))} cannot be moved to {target.name}: {error.strerror}") from None


def looked_for(places: Iterable[Path], root: Path) -> str:
    """Say where a suite was looked for, as a user would type the places."""
    named = [os.path.relpath(place, root) for place in places]
    return ", ".join(dict.fromkeys(map(printable, named))) or "nowhere"
