"""Which files belong to a suite, and in which role: nothing outside the suite is ever read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal, get_args

from pytest_mapsat.formats import shown_path
from pytest_mapsat.model import Problem

Role = Literal["manifest", "requirements", "tools", "recordings", "state", "cases", "labels", "calibration"]
MANIFEST = "suite.yaml"
LABELS = "labels"
#: Where a review keeps labels, in their folder: the first source of every judge. A run reads no other file of labels.
REVIEWED = "reviewed.jsonl"
#: Where a review keeps what people decided on proposals, in the same folder: it holds no labels.
PROPOSALS = "proposals.jsonl"
CALIBRATION = "calibration.json"
_HALVES = re.compile("[\ud800-\udfff]")  # how Python writes the bytes of a name that is not UTF-8
YAML_ENDINGS = (".yaml", ".yml")
JSONL_ENDINGS = (".jsonl", ".jsonl.gz")
#: What files of a name, in the suite's folder itself, and files of an ending, in one of these folders, are. All others are cases.
_FILES: dict[str, Role] = {
    "tools.yaml": "tools",
    "tools.yml": "tools",
    CALIBRATION: "calibration",
}
_FOLDERS: dict[str, tuple[Role, tuple[str, ...]]] = {
    "requirements": ("requirements", YAML_ENDINGS),
    "tools": ("tools", YAML_ENDINGS),
    "recordings": ("recordings", JSONL_ENDINGS),
    "state": ("state", JSONL_ENDINGS),
    LABELS: ("labels", JSONL_ENDINGS),
}
#: A folder that is kept for what authors of a suite need beside it: no file in it is part of the suite.
DATA = "data"
#: The folder in it with logs of what users did, as `mapsat build` writes and reads them ; they look like no cases.
_LOGS = "logs"
_ELSEWHERE: tuple[Role, tuple[str, ...]] = ("cases", YAML_ENDINGS + JSONL_ENDINGS)


def is_yaml(path: PurePath) -> bool:
    """Say whether the name is that of a YAML file."""
    return path.name.endswith(YAML_ENDINGS)


def role_of(relative: PurePath) -> Role | None:
    """Return what a file at this place below the suite's folder is, or None for what is no part of a suite."""
    if any(part.startswith(".") for part in relative.parts):
        return None
    if len(relative.parts) > 1 and relative.parts[0] == DATA:
        return None
    if relative.name == MANIFEST:
        return "manifest" if len(relative.parts) == 1 else None
    if len(relative.parts) == 1 and relative.name in _FILES:
        return _FILES[relative.name]
    role, endings = _FOLDERS.get(relative.parts[0], _ELSEWHERE)
    if relative.parts == (LABELS, PROPOSALS):
        return None
    return role if relative.name.endswith(endings) else None


@dataclass(frozen=True)
class Inventory:
    """The files of a suite by role, each sorted by its place in the suite, and what keeps others from being read.

    ``labels`` and ``calibration`` (none or one) say what a judge should make of answers: they are no part of what a run does.
    ``strangers`` stand in ``requirements/``, ``tools/``, ``recordings/``, ``state/`` or ``labels/`` and are nothing of the kind. ``unread`` are files that look like
    cases but for their ending, each with what to do.
    """

    cases: tuple[Path, ...]
    tools: tuple[Path, ...]
    recordings: tuple[Path, ...]
    problems: tuple[Problem, ...]
    requirements: tuple[Path, ...] = ()
    state: tuple[Path, ...] = ()
    labels: tuple[Path, ...] = ()
    calibration: tuple[Path, ...] = ()
    strangers: tuple[Path, ...] = ()
    unread: tuple[Problem, ...] = ()

    @property
    def reviewed(self) -> tuple[Path, ...]:
        """The labels that a review keeps, none or one file."""
        return tuple(path for path in self.labels if (path.parent.name, path.name) == (LABELS, REVIEWED))


#: Endings by which people and editors put a file aside.
_PUT_ASIDE = (".bak", ".orig", ".old", ".disabled", ".off", "~")


def take_inventory(root: Path) -> Inventory:
    """Return all files below ``root`` by role; the order of the files on disk does not matter."""
    problems: list[Problem] = []
    by_role: dict[Role, list[Path]] = {role: [] for role in get_args(Role)}
    strangers: list[Path] = []
    unread: list[Problem] = []
    aside: list[Path] = []
    for path in sorted(_below(root, problems), key=lambda path: path.relative_to(root).parts):
        relative = path.relative_to(root)
        role = role_of(relative)
        if relative.parts == (LABELS, PROPOSALS):
            continue
        if role is None:
            if relative.parts[0] == DATA:
                aside.append(path)
            elif relative.parts[0] in _FOLDERS and not path.name.startswith("."):
                strangers.append(path)
            elif _looks_like_cases(path):
                message = f"looks like cases but is not read: expected the ending {', '.join(YAML_ENDINGS)}"
                unread.append(Problem(shown_path(path), 0, f"{message}, {' or '.join(JSONL_ENDINGS)}", "rename it"))
            continue
        problem = refusal(root, path)
        if problem is None:
            by_role[role].append(path)
        else:
            problems.append(problem)
    if count := sum(_looks_like_cases(path) for path in aside if path.relative_to(root).parts[1] != _LOGS):
        message = f"holds {count} files in YAML or JSONL, which are not read: the folder is kept for data"
        unread.append(Problem(shown_path(root / DATA), 0, message, "cases stand in any other folder"))
    files = {role: tuple(paths) for role, paths in by_role.items() if role != "manifest"}
    return Inventory(problems=tuple(problems), strangers=tuple(strangers), unread=tuple(unread), **files)


def _looks_like_cases(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    name = next((name.removesuffix(ending) for ending in _PUT_ASIDE if name.endswith(ending)), name)
    return name.endswith((*YAML_ENDINGS, ".jsonl")) and not name.startswith(".")


def _below(root: Path, problems: list[Problem]) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        problems.append(Problem(shown_path(Path(error.filename)), 0, f"cannot list the folder: {error.strerror}"))

    for folder, names, files in os.walk(root, onerror=unreadable):
        here = Path(folder)
        names[:] = sorted(name for name in names if _is_entered(here / name, problems))
        yield from (here / name for name in files)


def _is_entered(folder: Path, problems: list[Problem]) -> bool:
    if folder.name.startswith(".") or folder.name == "__pycache__":
        return False
    if folder.is_symlink():
        message = "this folder is a symbolic link, which a suite does not follow"
        problems.append(Problem(shown_path(folder), 0, message, "copy the folder into the suite"))
        return False
    return not (folder / MANIFEST).exists()  # a suite in a suite stands for itself


def refusal(root: Path, path: Path) -> Problem | None:
    """Return why the file must not be read as part of the suite at ``root``, or None."""
    if _HALVES.search(str(path.relative_to(root))):  # its node id could not be sent to a worker
        return Problem(shown_path(path), 0, "has a name that is not UTF-8", "rename it")
    # Not resolve(), which raises RuntimeError at a loop of links.
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        message = "this leads out of the suite's folder"
        return Problem(shown_path(path), 0, message, "copy the file into the suite: links out of it are not followed")
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return Problem(shown_path(path), 0, f"cannot be read: {error.strerror}")
    return None if stat.S_ISREG(mode) else Problem(shown_path(path), 0, "is not a regular file")
