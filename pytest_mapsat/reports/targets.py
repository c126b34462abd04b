"""Which reports are asked for, as ``TYPE:PATH``, and how they are written; reports that installed packages make of several runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from pytest_mapsat.formats import replacing
from pytest_mapsat.model import MapsatError, Run, UsageError, did_you_mean, shown
from pytest_mapsat.printed import WorkflowCommand
from pytest_mapsat.registry import installed_function
from pytest_mapsat.user_code import installed

from .markdown import annotation_lines, markdown_report
from .view import json_report

if TYPE_CHECKING:
    from .html import Dialogues, EarlierRun


class _Report(NamedTuple):
    """A type of report: its description for help, and the function that creates its texts from a run."""

    about: str
    texts: Callable[[Run, Dialogues | None, Sequence[EarlierRun]], Iterable[str]]


def _html(run: Run, dialogues: Dialogues | None, earlier: Sequence[EarlierRun]) -> Iterator[str]:
    """Yield the run as one HTML page, compared with earlier runs."""
    from .html import html_report  # noqa: PLC0415  with jinja2, for this report only

    yield html_report(run, dialogues, earlier)


def _otlp(run: Run, dialogues: Dialogues | None, _: Sequence[EarlierRun]) -> Iterator[str]:
    """Return the run as lines of OTLP JSON, one for each episode."""
    from .otlp import otlp_lines  # noqa: PLC0415  with an HTTP client, for this report only

    return otlp_lines(run, dialogues)


#: The entry point group in which installed packages name reports of several runs, for ``mapsat report``. Each is a function of the runs, a sequence of
#: pairs of a name and a ``Run``, that returns the texts of its files by their names.
GROUP = "pytest_mapsat.reports"
GITHUB = "github"
OTLP = "otlp"
#: The type that shows a run beside earlier ones.
OF_SEVERAL = "html"
#: All types of reports. A new type is a line here.
REPORTS = {
    OF_SEVERAL: _Report("one file that works from disk", _html),
    "json": _Report("a row for each episode", lambda run, *_: [json_report(run)]),
    "markdown": _Report("a comment for a merge request", lambda run, *_: [markdown_report(run)]),
    GITHUB: _Report(
        "the summary of a step, and annotations on the output; without PATH: of the step that is under way",
        lambda run, *_: [markdown_report(run)],
    ),
    OTLP: _Report(
        "spans as OTLP JSON, a line for each episode; with the address of a collector they are sent there", _otlp
    ),
}
#: What a file with such an ending is likely to be.
_OF_ENDING = {".html": "html", ".htm": "html", ".json": "json", ".md": "markdown", ".jsonl": OTLP}
#: Where GitHub takes the summary of a step from, and the folder that annotations name files from.
_SUMMARY, _WORKSPACE = "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"


class ReportTarget(NamedTuple):
    """A requested report: its type, and its target file or address.

    Without either it goes nowhere: it is for a step on GitHub, and there is none.
    """

    type: str
    path: Path | None
    adds: bool = False
    address: str = ""

    @property
    def place(self) -> str:
        """Return the target file or address of the report as text; empty if there is none."""
        return self.address or str(self.path or "")

    def write(self, run: Run, dialogues: Dialogues | None = None, earlier: Sequence[EarlierRun] = ()) -> None:
        """Write the report to its file in one atomic step, or send it to its address.

        Args:
            run: the run.
            dialogues: gives scorecards with their dialogues, where those of the run hold only what the user asked.
            earlier: runs that the page shows it beside, the oldest first.

        Raises:
            OSError: the file cannot be written.
            MapsatError: the address takes no spans.
        """
        if self.path is None:
            from .otlp import send  # noqa: PLC0415  as above

            send(run, self.address, dialogues)
            return
        texts = REPORTS[self.type].texts(run, dialogues, earlier)
        with self.path.open("ab") if self.adds else replacing(self.path) as file:
            file.writelines(text.encode("utf-8", errors="replace") for text in texts)


def parse_report(text: str, base: Path, environment: Mapping[str, str] = os.environ) -> ReportTarget:
    """Return the report that ``TYPE:PATH`` requests.

    Args:
        text: as it was typed; ``github:`` alone is the step that is under way.
        base: the folder that a relative path starts from.
        environment: where GitHub says which file holds the summary of the step.

    Raises:
        UsageError: there is no such type, or no path.
    """
    kind, colon, place = text.strip().partition(":")
    if kind not in REPORTS:
        likely = _OF_ENDING.get(Path(text.strip()).suffix.lower())
        meant = f"did you mean {likely}:{shown(text.strip())[1:-1]}?" if likely and not colon else ""
        hint = meant or did_you_mean(kind, REPORTS)
        expected = f"expected TYPE:PATH with one of {', '.join(REPORTS)}"
        raise UsageError(f"found {shown(text)}, {expected}" + (f"; {hint}" if hint else ""))
    if kind == GITHUB and place in ("", "-"):
        if not environment.get(_SUMMARY):
            return ReportTarget(kind, None)
        return ReportTarget(kind, Path(environment[_SUMMARY]), adds=True)
    if not place:
        raise UsageError(f"{text}{'' if colon else ':'} names no file, expected {kind}:PATH")
    if kind == OTLP and place.lower().startswith(("http:", "https:")):
        return ReportTarget(kind, None, address=_address(text, place))
    path = (base / place).absolute()
    if path.is_dir():
        raise UsageError(f"{text}: {path} is a folder, expected a file")
    return ReportTarget(kind, path)


def _address(text: str, place: str) -> str:
    """Return the address of a collector, with ``/v1/traces`` added if it has no path. Raises UsageError."""
    try:
        parts = urlsplit(place)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, has_host = urlsplit(""), False
    if not has_host:
        raise UsageError(
            f"{shown(text)}: expected the address of a collector, as in otlp:http://localhost:4318/v1/traces"
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"{OTLP}:{parts.scheme}://...@{parts.hostname}: leave the password out; OTEL_EXPORTER_OTLP_HEADERS holds headers such as authorization=..."
        )
    return place if parts.path not in ("", "/") else f"{place.rstrip('/')}/v1/traces"


def parse_reports(texts: Iterable[str], base: Path) -> tuple[ReportTarget, ...]:
    """Return the reports that texts like ``html:report.html`` request.

    Raises:
        UsageError: one of them cannot be had, or two go to one file.
    """
    targets = tuple(parse_report(text, base) for text in texts)
    paths = [target.address if target.path is None else os.path.realpath(target.path) for target in targets]
    twice = next((path for path in paths if path and paths.count(path) > 1), None)
    if twice is not None:
        raise UsageError(f"two reports go to {twice}; give each a file of its own")
    return targets


def write_reports(
    run: Run,
    targets: Iterable[ReportTarget],
    root: Path,
    dialogues: Dialogues | None = None,
    earlier: Sequence[EarlierRun] = (),
) -> Iterator[str]:
    """Write reports, and yield lines to print: annotations for GitHub, and notes about unwritten reports.

    Args:
        run: the run.
        targets: where the reports go.
        root: the folder that node ids start from.
        dialogues: gives scorecards with their dialogues, by their numbers; None: those of the run hold them.
        earlier: runs that the page shows it beside, the oldest first.

    Raises:
        MapsatError: a file cannot be written.
    """
    for target in targets:
        if not target.place:
            yield f"note     {GITHUB}: was not written: {_SUMMARY} is not set, as it is in a step on GitHub; elsewhere give {GITHUB}:PATH"
            continue
        try:
            target.write(run, dialogues, earlier)
        except OSError as error:
            raise MapsatError(f"{target.type}:{target.place}: {error.strerror or error}") from None
        if target.type == GITHUB:
            workspace = os.environ.get(_WORKSPACE)
            inside = bool(workspace) and root.is_relative_to(workspace or "")
            below = root.relative_to(workspace or "").as_posix() if inside else "."
            yield from map(WorkflowCommand, annotation_lines(run, below="" if below == "." else below))


# -- reports of installed packages ------------------------------------------------------------------------


def reports_of_packages() -> list[str]:
    """Return the names of the reports that installed packages add, sorted."""
    return list(dict.fromkeys(point.name for point in installed(GROUP)))


def write_report_of_package(name: str, runs: Sequence[tuple[str, Run]], folder: Path) -> list[Path]:
    """Write the files of an installed package's report on runs, and return their paths.

    Args:
        name: the report.
        runs: the runs with their names, in the order in which they were given.
        folder: where the files go; it is made.

    Raises:
        UsageError: the report cannot be made of these runs, or is no such report.
        MapsatError: a file cannot be written.
    """
    files = installed_function(GROUP, name, "report")(runs)
    if not isinstance(files, Mapping) or not all(map(_is_file, files.items())):
        raise UsageError(f"{GROUP}: {name} returned {shown(files)}, expected the texts of files by their names")
    for file_name, text in files.items():
        try:
            with replacing(folder / file_name) as file:
                file.write(text.encode("utf-8", errors="replace"))
        except OSError as error:
            raise MapsatError(f"{folder / file_name}: {error.strerror or error}") from None
    return [folder / file_name for file_name in files]


def _is_file(item: tuple[object, object]) -> bool:
    """Return whether a pair is a plain file name and a text."""
    name, text = item
    return isinstance(name, str) and isinstance(text, str) and name == Path(name).name
