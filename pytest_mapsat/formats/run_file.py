"""The run file: everything a later command needs, equal byte for byte between equal runs but for ``timing``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from pytest_mapsat.model import RUN_SCHEMA, Problem, Run, Scorecard, SuiteError, Trajectory, Turn, shown

from . import limits
from .files import printable, read_lines, replacing, require_file, shown_path
from .located import DataPath, Lines, Located, dotted, validate
from .plain_data import located_json, parse_json, read_text
from .starts import begin_with

_HINT = "a run file is what --mapsat-save writes"
#: Keys are sorted: only the agent and the attributes stand before the attempt.
_ATTEMPT_WITHIN = 100_000
#: What a sum of shares may be off.
_ROUNDING = 1e-9
#: What Python's JSON would take for numbers.
_NO_NUMBERS = re.compile(rb"[:\[,] ?-?(?:NaN|Infinity)")
_HALVES = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\r\n]*")


class _Silent(Trajectory):
    """A dialogue whose turns are passed over: no file has them by that name."""

    model_config = ConfigDict(extra="ignore", validate_by_name=False)

    turns: tuple[Turn, ...] = Field(default=(), alias="-")


class _Brief(Scorecard):
    """A scorecard without its dialogue, which is most of its line and takes most of the time."""

    trajectory: _Silent


def scorecard_line(card: Scorecard) -> bytes:
    """Return one line of JSON for a scorecard, keys sorted; the trajectory without fields that hold their default."""
    data = card.model_dump(mode="json", exclude={"trajectory"})
    data["trajectory"] = card.trajectory.to_json()
    return _bytes(_json(data))


def with_attempt(line: bytes, attempt: int) -> bytes:
    """Return the line of a scorecard with another number of its attempt."""
    if f'"attempt": {attempt},'.encode() in line[:_ATTEMPT_WITHIN]:
        return line
    return _bytes(_json({**json.loads(line), "attempt": attempt}))


def write_run(path: Path, run: Run, lines: Iterable[bytes], *, like: Path | None = None) -> None:
    """Write the run file whole or not at all.

    Args:
        path: where it goes; folders are made.
        run: the run; its ``cases`` are taken from the lines.
        lines: the scorecards as ``scorecard_line`` gives them, in the order of ``run.cases``.
        like: a file whose permissions the new one gets, where there is none to replace.
    """
    head = run.model_dump(mode="json", exclude={"cases"}, by_alias=True)
    with replacing(path, like=like) as file:
        first = ",\n".join(f'"{key}": {_json(head[key])}' for key in ("schema", "manifest", "accounting"))
        file.write(_bytes(f'{{{first},\n"cases": ['))
        for number, line in enumerate(lines):
            file.write(b",\n" if number else b"\n")
            file.write(line)
        keys = ("summary", "groups", "comparison", "anchor", "gate", "timing", *(("starts",) if run.starts else ()))
        rest = [f'"{key}": {_json(head[key])}' for key in keys]
        file.write(_bytes("\n],\n" + ",\n".join(rest) + "}\n"))


def save_run(path: Path, run: Run) -> None:
    """Write a run that holds its trajectories, in the layout of every run file."""
    write_run(path, run, map(scorecard_line, run.cases))


def is_complete_run(path: Path) -> bool | None:
    """Say whether a file holds a run from which no episode is lost; None where it is no run file.

    Only its first lines are read, which is where a run file tells it.
    """
    try:
        heads = [raw.data.strip().rstrip(b",") for raw in islice(read_lines(path, limits.RUN_BYTES), 3)]
        data = parse_json(b",".join(heads).decode() + "}")
        if data["schema"] != RUN_SCHEMA:
            return None
        return not data["accounting"]["lost"] and not data["manifest"].get("unfinished")
    except (SuiteError, ValueError, KeyError, TypeError):
        return None


def read_run(
    path: Path, name: str = "", *, keep: Callable[[Scorecard], Scorecard] | None = None, dialogues: bool = True
) -> Run:
    """Read a run file, and refuse one that contradicts itself.

    Args:
        path: the file.
        name: how messages name it; the path as a user would type it where none is given.
        keep: what is kept of each scorecard; None: all of it.
        dialogues: whether turns are read of scorecards that hold the digest of their dialogue; what is wrong with turns that are not read is not told.

    Raises:
        UsageError: there is no such file.
        SuiteError: it is too large, no run file, or says two things of one case; with the line.
    """
    name = name or shown_path(path)
    require_file(path, name)
    run = _read_by_line(path, keep, _Brief if not dialogues else Scorecard)
    if run is not None and not any(_contradictions(run)):
        begin_with(run.cases, run.starts)
        return run
    run = _read_whole(path, name)
    begin_with(run.cases, run.starts)
    return run if keep is None else run.model_copy(update={"cases": tuple(map(keep, run.cases))})


def read_cards(path: Path, numbers: Sequence[int]) -> list[Scorecard]:
    """Return some scorecards of a run file that was read before, whole.

    Args:
        path: the file.
        numbers: which of them, from 0.
    """
    wanted, number, cards = frozenset(numbers), -1, []
    for raw in read_lines(path, limits.RUN_BYTES):
        line = raw.data.rstrip()
        if number < 0:
            number = 0 if line == b'"cases": [' else -1
            continue
        if number in wanted:
            cards.append(Scorecard.model_validate_json(line.removesuffix(b",")))
        number += 1
    if number < 0:  # it has another layout
        cards = [card for place, card in enumerate(read_run(path).cases) if place in wanted]
    return cards


def _read_by_line(path: Path, keep: Callable[[Scorecard], Scorecard] | None, form: type[Scorecard]) -> Run | None:
    """Read a run file in the layout in which it is written, one scorecard after another; None where it has another one, or anything is wrong with it."""
    head: list[bytes] = []
    cards: list[Scorecard] = []
    inside = False
    try:
        for raw in read_lines(path, limits.RUN_BYTES):
            line = raw.data.rstrip()
            if inside and line != b"],":
                if (b"NaN" in line or b"Infinity" in line) and _NO_NUMBERS.search(line):
                    return None
                card = form.model_validate_json(line.removesuffix(b","))
                if not card.dialogue and form is _Brief:
                    card = Scorecard.model_validate_json(line.removesuffix(b","))
                cards.append(card if keep is None else keep(card))
                continue
            head.append(line)
            inside = line == b'"cases": ['
        data = parse_json(b"".join(head).decode(), depth=limits.RUN_DEPTH)
        if not cards or not isinstance(data, dict) or data.get("cases") != [] or data.get("schema") != RUN_SCHEMA:
            return None
        return Run.model_validate(data).model_copy(update={"cases": tuple(cards)})
    except (SuiteError, ValueError, RecursionError):
        return None  # it is read once more, as a whole, to say what is wrong on which line


def _read_whole(path: Path, name: str) -> Run:
    text = read_text(path, limits.RUN_BYTES, name)
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
        problems += (
            Problem(name, lines.at(place), f"{dotted(place)}: {message}") for place, message in _contradictions(run)
        )
    raise SuiteError(*problems[: limits.PROBLEMS])


def _contradictions(run: Run) -> Iterator[tuple[DataPath, str]]:
    """Give what no run can hold although each value is fine in itself: its place, and what is wrong."""
    if not run.cases and not run.manifest.options.shard:
        yield ["cases"], "found an empty list, expected the scorecard of at least one case"
    options, accounting = run.manifest.options, run.accounting
    if "none" in options.asserted and len(options.asserted) > 1:
        yield ["manifest", "options", "assert"], "found 'none' among others, expected it alone"
    gone = accounting.deselected + len(accounting.lost)
    if gone > accounting.collected:
        yield (
            ["accounting"],
            f"found {gone} episodes deselected or lost, expected at most the {accounting.collected} collected",
        )
    first: dict[tuple[str, int, str, int], int] = {}
    shares = {metric.name for metric in run.manifest.metrics if metric.gated}
    for index, card in enumerate(run.cases):
        for name, value in card.metrics.items():
            if name in shares and value is not None and not -_ROUNDING <= value <= 1 + _ROUNDING:
                yield ["cases", index, "metrics", name], f"found {value:g}, expected 0 to 1"
        of_card, of_dialogue = (card.id, card.trial), (card.trajectory.case, card.trajectory.trial)
        if of_dialogue != of_card:
            message = (
                f"found the dialogue of {_named(*of_dialogue)}, expected that of {_named(*of_card)}, as its card says"
            )
            yield ["cases", index, "trajectory"], message
        if first.setdefault(card.key, index) != index:
            yield ["cases", index], f"a second scorecard of {_named(*of_card)}; cases[{first[card.key]}] is one already"


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
