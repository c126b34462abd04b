"""Which reports are asked for, as ``TYPE:PATH``, and how they are written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mapsat.formats import replacing
from pytest_mapsat.model import MapsatError, Run, UsageError, did_you_mean, shown

from .data import json_report
from .markdown import annotation_lines, markdown_report

GITHUB = "github"


if TYPE_CHECKING:
    from .html import Dialogues

HTML = "html"
_MAKERS: Mapping[str, Callable[[Run], str]] = {
    "json": json_report,
    "markdown": markdown_report,
    GITHUB: markdown_report,
}
REPORT_TYPES = (HTML, *_MAKERS)
#: Where GitHub takes the summary of a step from, and the folder that annotations name files from.
_SUMMARY, _WORKSPACE = "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"


@dataclass(frozen=True)
class ReportTarget:
    """A report that is asked for.

    Attributes:
        type: one of ``REPORT_TYPES``.
        path: the file that it goes to.
        adds: whether it is added to what the file holds, as in the summary of a GitHub step.
    """

    type: str
    path: Path
    adds: bool = False

    def write(self, run: Run, dialogues: Dialogues | None = None) -> None:
        """Write the report, whole or not at all.

        Args:
            run: the run.
            dialogues: gives scorecards with their dialogues, where those of the run hold only what the user asked.

        Raises:
            OSError: the file cannot be written.
        """
        if self.type == HTML:
            from .html import html_report  # noqa: PLC0415  with jinja2, for this report only

            page = html_report(run, dialogues)
        else:
            page = _MAKERS[self.type](run)
        text = page.encode("utf-8", errors="replace")
        if self.adds:
            with self.path.open("ab") as file:
                file.write(text)
            return
        with replacing(self.path) as file:
            file.write(text)


def parse_report(text: str, base: Path, environment: Mapping[str, str] = os.environ) -> ReportTarget:
    """Return the report that ``TYPE:PATH`` asks for.

    Args:
        text: as it was typed; ``github:`` alone is the step that is under way.
        base: the folder that a relative path starts from.
        environment: where GitHub says which file holds the summary of the step.

    Raises:
        UsageError: there is no such type, or no path.
    """
    kind, colon, place = text.strip().partition(":")
    if kind not in REPORT_TYPES:
        hint = did_you_mean(kind, REPORT_TYPES)
        expected = f"expected TYPE:PATH with one of {', '.join(REPORT_TYPES)}"
        raise UsageError(f"found {shown(text)}, {expected}" + (f"; {hint}" if hint else ""))
    if kind == GITHUB and place in ("", "-"):
        if not environment.get(_SUMMARY):
            raise UsageError(
                f"{shown(text)}: {_SUMMARY} is not set, as it is in a step on GitHub; elsewhere give github:PATH"
            )
        return ReportTarget(kind, Path(environment[_SUMMARY]), adds=True)
    if not place:
        raise UsageError(f"{text}{'' if colon else ':'} names no file, expected {kind}:PATH")
    path = (base / place).absolute()
    if path.is_dir():
        raise UsageError(f"{text}: {path} is a folder, expected a file")
    return ReportTarget(kind, path)


def parse_reports(texts: Iterable[str], base: Path) -> tuple[ReportTarget, ...]:
    """Return the reports that are asked for.

    Raises:
        UsageError: one of them cannot be had, or two go to one file.
    """
    targets = tuple(parse_report(text, base) for text in texts)
    paths = [os.path.realpath(target.path) for target in targets]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise UsageError(f"two reports go to {twice}; give each a file of its own")
    return targets


def write_reports(
    run: Run, targets: Iterable[ReportTarget], root: Path, dialogues: Dialogues | None = None
) -> Iterator[str]:
    """Write reports, and yield what GitHub is to read from the output of the step.

    Args:
        run: the run.
        targets: where the reports go.
        root: the folder that node ids start from.
        dialogues: gives scorecards with their dialogues, by their numbers; None: those of the run hold them.

    Raises:
        MapsatError: a file cannot be written.
    """
    for target in targets:
        try:
            target.write(run, dialogues)
        except OSError as error:
            raise MapsatError(f"{target.type}:{target.path}: {error.strerror or error}") from None
        if target.type == GITHUB:
            yield from annotation_lines(run, below=_below(root))


def _below(root: Path) -> str:
    """Return where a folder lies in the repository that GitHub has checked out; empty where it is its root, or elsewhere."""
    workspace = os.environ.get(_WORKSPACE)
    if not workspace or not root.is_relative_to(workspace):
        return ""
    relative = root.relative_to(workspace).as_posix()
    return "" if relative == "." else relative
