"""The run file: everything a later command needs, equal byte for byte between equal runs but for ``timing``."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from pytest_mapsat.model import RUN_SCHEMA, Problem, Run, Scorecard, SuiteError, shown

from . import limits
from .files import printable, read_bytes, require_file, shown_path
from .jsontext import decode, located_json
from .located import DataPath, Lines, Located, dotted, validate
from .replacing import replacing

_HINT = "a run file is what --mapsat-save writes"
_HALVES = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\r\n]*")


def scorecard_json(card: Scorecard) -> str:
    """Return one line of JSON for a scorecard, keys sorted; the trajectory without fields that hold their default."""
    data = card.model_dump(mode="json", exclude={"trajectory"})
    data["trajectory"] = card.trajectory.to_json()
    return _json(data)


class Spool:
    """Scorecards on disk as they end, so that a run of any size keeps none of its trajectories in memory."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="mapsat-")  # noqa: SIM115 (closed by close)
        self._places: dict[tuple[str, int], tuple[int, int]] = {}

    def add(self, case: str, trial: int, line: str) -> None:
        """Keep the JSON line of one scorecard; a later one of the same case and trial replaces it."""
        data = _bytes(line)
        start = self._file.seek(0, os.SEEK_END)
        self._file.write(data)
        self._places[case, trial] = (start, len(data))

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, sorted by case id and trial."""
        for key in sorted(self._places):
            start, size = self._places[key]
            self._file.seek(start)
            yield self._file.read(size)

    def close(self) -> None:
        """Drop the file."""
        self._file.close()


def write_run(path: Path, run: Run, spool: Spool) -> None:
    """Write the run file whole or not at all: beside its place first, then moved into it.

    Args:
        path: where it goes; folders are made.
        run: the run; its ``cases`` are taken from the spool.
        spool: the scorecards' lines.
    """
    head = run.model_dump(mode="json", exclude={"cases"}, by_alias=True)
    with replacing(path) as file:
        first = ",\n".join(f'"{key}": {_json(head[key])}' for key in ("schema", "manifest", "accounting"))
        file.write(_bytes(f'{{{first},\n"cases": ['))
        for number, line in enumerate(spool.lines()):
            file.write(b",\n" if number else b"\n")
            file.write(line)
        rest = [f'"{key}": {_json(head[key])}' for key in ("summary", "groups", "gate", "timing")]
        file.write(_bytes("\n],\n" + ",\n".join(rest) + "}\n"))


def save_run(path: Path, run: Run) -> None:
    """Write a run that holds its trajectories, in the layout of every run file."""
    spool = Spool()
    try:
        for card in run.cases:
            spool.add(card.id, card.trial, scorecard_json(card))
        write_run(path, run, spool)
    finally:
        spool.close()


def read_run(path: Path, name: str = "") -> Run:
    """Read a run file, and refuse one that contradicts itself.

    Args:
        path: the file.
        name: how messages name it; the path as a user would type it where none is given.

    Raises:
        UsageError: there is no such file.
        SuiteError: it is too large, no run file, or says two things of one case; with the line.
    """
    name = name or shown_path(path)
    require_file(path, name)
    text = decode(read_bytes(path, limits.RUN_BYTES, name), name)
    data = located_json(text, name, 1, depth=limits.RUN_DEPTH)
    schema = data.get("schema") if isinstance(data, dict) else data
    if schema != RUN_SCHEMA:
        raise SuiteError(Problem(name, 1, f"schema: found {shown(schema)}, expected {RUN_SCHEMA!r}", _HINT))
    run = validate(Run, Located(data, Lines(1)), name, [])
    if run is not None and not any(_contradictions(run)):
        return run
    # Once more, now that it is worth knowing on which line each case stands.
    lines = _lines_of(text)
    problems: list[Problem] = []
    if run is None:
        validate(Run, Located(data, lines), name, problems)
    else:
        problems += (Problem(name, lines.at(place), f"{dotted(place)}: {said}") for place, said in _contradictions(run))
    raise SuiteError(*problems[: limits.PROBLEMS])


def _contradictions(run: Run) -> Iterator[tuple[DataPath, str]]:
    """Give what no run can hold although each value is fine in itself: its place, and what is wrong."""
    if not run.cases:
        yield ["cases"], "found an empty list, expected the scorecard of at least one case"
    first: dict[tuple[str, int], int] = {}
    for index, card in enumerate(run.cases):
        of_card, of_dialogue = (card.id, card.trial), (card.trajectory.case, card.trajectory.trial)
        if of_dialogue != of_card:
            said = (
                f"found the dialogue of {_named(*of_dialogue)}, expected that of {_named(*of_card)}, as its card says"
            )
            yield ["cases", index, "trajectory"], said
        if first.setdefault(of_card, index) != index:
            yield ["cases", index], f"a second scorecard of {_named(*of_card)}; cases[{first[of_card]}] is one already"


def _named(case: str, trial: int) -> str:
    return f"case {printable(case)}, trial {trial}"


def _lines_of(text: str) -> Lines:
    """Return the lines of a run's cases; everything else is said to be on the first."""
    cases = Lines(1)
    scan = json.JSONDecoder().raw_decode
    place = _past(text, 0, "{")
    while place < len(text) and text[place] != "}":
        key, place = scan(text, place)
        place = _past(text, place, ":")
        if key == "cases" and text[place] == "[":
            line, counted = 1, 0
            place = _past(text, place, "[")
            while text[place] != "]":
                line, counted = line + text.count("\n", counted, place), place
                cases.children[len(cases.children)] = Lines(line)
                place = _past(text, scan(text, place)[1], ",")
            break
        place = _past(text, scan(text, place)[1], ",")
    return Lines(1, {"cases": cases})


def _past(text: str, place: int, mark: str) -> int:
    """Return where the next value begins, behind white space and the mark, if it stands there."""
    place = _SPACE.match(text, place).end()  # type: ignore[union-attr]  # matches everywhere
    return _SPACE.match(text, place + 1).end() if text.startswith(mark, place) else place  # type: ignore[union-attr]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _bytes(text: str) -> bytes:
    # Half of a character, as in the name of a file that is not UTF-8, has no UTF-8, and no reader of JSON takes its escape.
    return _HALVES.sub("\N{REPLACEMENT CHARACTER}", text).encode("utf-8")
