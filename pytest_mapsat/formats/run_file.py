"""The run file: everything a later command needs, equal byte for byte between equal runs but for ``timing``; its journal; and the rows of tables at the start of episodes."""

from __future__ import annotations

import json
import os
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from pydantic import ConfigDict, Field

from pytest_mapsat.model import (
    RUN_SCHEMA,
    JsonObject,
    Problem,
    Run,
    Scorecard,
    StartRows,
    SuiteError,
    Trajectory,
    Turn,
    canonical_json,
    digest,
    shown,
)

from .files import limits, open_bytes, printable, raise_for_problems, read_lines, replacing, require_file, shown_path
from .plain_data import (
    DataPath,
    DocumentLines,
    LocatedDocument,
    dotted,
    lines_of_list,
    located_json,
    parse_json,
    parse_json_line,
    read_text,
    validate,
)

#: What a run keeps of them, packed, bytes; and what one table may unpack to.
MOST_PACKED = 20 * limits.MIB
_MOST_UNPACKED = 512 * limits.MIB


class KeptRows:
    """The rows of one table with their digest, and in the packed form of run files."""

    def __init__(self, rows: Sequence[JsonObject]) -> None:
        self.rows = rows

    @cached_property
    def packed(self) -> str:
        """The rows as base64 of compressed JSON for a run file; empty if they are too large."""
        packed = b64encode(zlib.compress(canonical_json(list(self.rows)).encode("utf-8", "replace"))).decode()
        return packed if len(packed) <= MOST_PACKED else ""

    @cached_property
    def digest(self) -> str:
        """The digest of the rows."""
        return digest(list(self.rows))


class PackedRows:
    """The rows of one table from a run file, unpacked and checked against their digest on first use."""

    def __init__(self, name: str, packed: str) -> None:
        self._name = name
        self.packed = packed

    @cached_property
    def rows(self) -> Sequence[JsonObject]:
        """The rows. Raises ValueError if they do not match their digest."""
        try:
            data = zlib.decompressobj().decompress(b64decode(self.packed), _MOST_UNPACKED)
            rows: list[JsonObject] = parse_json(data.decode())
        except (ValueError, zlib.error):
            rows = []
        if digest(rows) != self._name:
            raise ValueError(f"the rows {self._name} of the start are damaged")
        return rows


def begin_with(cards: Iterable[Scorecard], packed: Mapping[str, str]) -> None:
    """Attach the initial rows of tables to the trajectories' environments, so that episodes can be judged again.

    Args:
        cards: scorecards of a run.
        packed: what its file or journal keeps, by digest.
    """
    starts = {name: PackedRows(name, text) for name, text in packed.items()}
    for card in cards if starts else ():
        if card.trajectory.environment is not None:
            card.trajectory.environment.begin_with(starts)


def starts_of(cards: Iterable[Scorecard]) -> dict[str, str]:
    """Return the packed initial rows of the episodes' tables by digest, the smallest first, up to the limit of a run file."""
    starts: dict[str, StartRows] = {}
    for card in cards:
        starts |= {} if card.trajectory.environment is None else card.trajectory.environment.starts
    kept = sorted((len(rows.packed), name) for name, rows in starts.items() if rows.packed)
    sums = accumulate(size for size, _ in kept)
    return {name: starts[name].packed for (_, name), size in zip(kept, sums, strict=True) if size <= MOST_PACKED}


_HINT = "a run file is what --mapsat-save writes"
#: Keys are sorted: only the agent and the attributes stand before the attempt.
_ATTEMPT_WITHIN = 100_000
#: What a sum of shares may be off.
_ROUNDING = 1e-9
#: What Python's JSON would take for numbers.
_NO_NUMBERS = re.compile(rb"[:\[,] ?-?(?:NaN|Infinity)")
_HALVES = re.compile("[\ud800-\udfff]")


class _Silent(Trajectory):
    """A trajectory read without its turns: no file contains the field's alias ``-``."""

    model_config = ConfigDict(extra="ignore", validate_by_name=False)

    turns: tuple[Turn, ...] = Field(default=(), alias="-")


class _Brief(Scorecard):
    """A scorecard read without its turns, which take up most of its line and most of the reading time."""

    trajectory: _Silent


def scorecard_line(card: Scorecard) -> bytes:
    """Return a scorecard as one line of JSON with sorted keys, leaving out the trajectory's default fields."""
    data = card.model_dump(mode="json", exclude={"trajectory"})
    data["trajectory"] = card.trajectory.to_json()
    return _bytes(_json(data))


def with_attempt(line: bytes, attempt: int) -> bytes:
    """Return a scorecard's line with the given attempt number."""
    if f'"attempt": {attempt},'.encode() in line[:_ATTEMPT_WITHIN]:
        return line
    return _bytes(_json({**json.loads(line), "attempt": attempt}))


#: Options that make variants of cases: a run without them has the file that it always had.
_SWEEPS = ("faults", "manners")


def run_head(run: Run) -> JsonObject:
    """Return a run as JSON data, without its cases, and without options and figures of variants where it has none."""
    head = run.model_dump(mode="json", exclude={"cases"}, by_alias=True)
    for name in _SWEEPS:
        if not head["manifest"]["options"][name]:
            del head["manifest"]["options"][name]
    if not run.variants:
        del head["variants"]
    return head


def write_run(path: Path, run: Run, lines: Iterable[bytes], *, like: Path | None = None) -> None:
    """Write a run file atomically.

    Args:
        path: where it goes; folders are made.
        run: the run; its ``cases`` are taken from the lines.
        lines: the scorecards as ``scorecard_line`` gives them, in the order of ``run.cases``.
        like: a file whose permissions the new one gets, where there is none to replace.
    """
    head = run_head(run)
    with replacing(path, like=like) as file:
        first = ",\n".join(f'"{key}": {_json(head[key])}' for key in ("schema", "manifest", "accounting"))
        file.write(_bytes(f'{{{first},\n"cases": ['))
        for number, line in enumerate(lines):
            file.write(b",\n" if number else b"\n")
            file.write(line)
        keys = ["summary", "groups", "comparison", "anchor", "gate", "timing"]
        keys += [name for name in ("variants", "starts") if head.get(name)]
        rest = [f'"{key}": {_json(head[key])}' for key in keys]
        file.write(_bytes("\n],\n" + ",\n".join(rest) + "}\n"))


def save_run(path: Path, run: Run) -> None:
    """Write a run with its trajectories as a run file, in the usual layout."""
    write_run(path, run, map(scorecard_line, run.cases))


def is_complete_run(path: Path) -> bool | None:
    """Return whether a file holds a finished run without lost episodes; None if the file is not a run file.

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
    """Return the run in a run file, after checking that the file does not contradict itself.

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
    if run is None or any(_contradictions(run)):
        run = _read_whole(path, name)
        run = run if keep is None else run.model_copy(update={"cases": tuple(map(keep, run.cases))})
    begin_with(run.cases, run.starts)
    return run


def read_cards(path: Path, numbers: Sequence[int]) -> list[Scorecard]:
    """Return some complete scorecards of a previously read run file.

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
    """Return the run in a file of the usual layout, read line by line; None for another layout or any error."""
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
    """Return the run in a file of any layout. Raises SuiteError with the line of each error."""
    text = read_text(path, limits.RUN_BYTES, name)
    data = located_json(text, name, 1, depth=limits.RUN_DEPTH)
    schema = data.get("schema") if isinstance(data, dict) else data
    if schema != RUN_SCHEMA:
        raise SuiteError(Problem(name, 1, f"schema: found {shown(schema)}, expected {RUN_SCHEMA!r}", _HINT))
    run = validate(Run, LocatedDocument(data, DocumentLines(1)), name, [])
    if run is not None and not any(_contradictions(run)):
        return run
    # Once more, now that it is worth knowing on which line each case stands.
    lines = DocumentLines(1, {"cases": DocumentLines(1)})
    for number, line in enumerate(lines_of_list(text, "cases", data.get("cases"))):
        lines.children["cases"].children[number] = DocumentLines(line)
    problems: list[Problem] = []
    if run is None:
        validate(Run, LocatedDocument(data, lines), name, problems)
    else:
        problems += (
            Problem(name, lines.at(place), f"{dotted(place)}: {message}") for place, message in _contradictions(run)
        )
    raise SuiteError(*problems[: limits.PROBLEMS])


def _contradictions(run: Run) -> Iterator[tuple[DataPath, str]]:
    """Yield the place and message of values that are valid separately but contradict each other."""
    if not run.cases and not run.manifest.options.shard:
        yield ["cases"], "found an empty list, expected the scorecard of at least one case"
    options, accounting = run.manifest.options, run.accounting
    if "none" in options.asserted and len(options.asserted) > 1:
        yield ["manifest", "options", "assert"], "found 'none' among others, expected it alone"
    gone = accounting.deselected + len(accounting.lost)
    if gone > accounting.collected:
        message = f"found {gone} episodes deselected or lost, expected at most the {accounting.collected} collected"
        yield ["accounting"], message
    first: dict[tuple[str, int, str, int], int] = {}
    shares = {metric.name for metric in run.manifest.metrics if metric.gated}
    for index, card in enumerate(run.cases):
        for name, value in card.metrics.items():
            if name in shares and value is not None and not -_ROUNDING <= value <= 1 + _ROUNDING:
                yield ["cases", index, "metrics", name], f"found {value:g}, expected 0 to 1"
        of_card, of_dialogue = (card.id, card.trial), (card.trajectory.case, card.trajectory.trial)
        if of_dialogue != of_card:
            message = f"found the dialogue of {_episode_name(*of_dialogue)}, expected that of {_episode_name(*of_card)}, as its card says"
            yield ["cases", index, "trajectory"], message
        if first.setdefault(card.key, index) != index:
            message = f"a second scorecard of {_episode_name(*of_card)}; cases[{first[card.key]}] is one already"
            yield ["cases", index], message


def _episode_name(case: str, trial: int) -> str:
    """Return the name of an episode for messages."""
    return f"case {printable(case)}, trial {trial}"


def _json(value: Any) -> str:
    """Return a value as JSON text with sorted keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _bytes(text: str) -> bytes:
    """Return a text as UTF-8, with half characters (lone surrogates) replaced."""
    # Half of a character, as in the name of a file that is not UTF-8, has no UTF-8, and no reader of JSON takes its escape.
    return _HALVES.sub("\N{REPLACEMENT CHARACTER}", text).encode("utf-8")


# -- the journal of a run, from which its file is made -----------------------------------------------------------------

JOURNAL_SCHEMA = "mapsat-journal/1"
_HEAD = 200
#: How a line begins that keeps the rows which a table had at the start of episodes.
_START = b'{"start":'


class CardPlace(NamedTuple):
    """The place of a scorecard in a journal: its first byte, its length and its checksum."""

    start: int
    size: int
    checksum: int


def lock_file(file: int) -> bool:
    """Lock an open file for this process and return whether the lock succeeded; True on systems without locks."""
    try:
        import fcntl  # noqa: PLC0415  not on Windows
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True


class Journal:
    """A journal of a run, to which this process appends entries.

    Args:
        path: the file; it exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0))
        self._process = os.getpid()
        self._kept: set[str] = set()

    @classmethod
    def begin(cls, path: Path, request: JsonObject) -> Journal:
        """Create a journal file, lock it and write its first line.

        Args:
            path: the file; its folder is made.
            request: what the run is asked for.

        Raises:
            OSError: it exists already, or cannot be written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        journal = cls(path)
        lock_file(journal._file)
        try:
            # The schema stands first, where is_journal looks for it.
            rest = canonical_json({"request": request})[1:]
            journal._append(f'{{"schema":"{JOURNAL_SCHEMA}",{rest}'.encode("utf-8", "replace"))
        except OSError:
            journal.close()
            path.unlink(missing_ok=True)
            raise
        return journal

    @staticmethod
    def is_being_written(path: Path) -> bool:
        """Return whether a running process holds the lock of this journal; False if the journal cannot be opened."""
        try:
            file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except OSError:
            return False
        try:
            return not lock_file(file)
        finally:
            os.close(file)

    def note(self, entry: JsonObject) -> None:
        """Append an entry other than an episode.

        Raises:
            OSError: it cannot be written.
        """
        self._append(canonical_json(entry).encode("utf-8", "replace"))

    def add(self, card: bytes, worker: str = "", *, again: bool = False) -> CardPlace:
        """Append an episode's scorecard, and return its place in the journal.

        Args:
            card: its line of JSON.
            worker: the process that ran it; empty for the only one.
            again: it stands in the journal already, as one of an earlier run.

        Raises:
            OSError: it cannot be written whole.
        """
        head = canonical_json({"worker": worker, **({"again": True} if again else {})})[:-1]
        end = self._append(f'{head},"episode":'.encode() + card + b"}")
        return CardPlace(end - len(card) - len(b"}\n"), len(card), crc32(card))

    def keep(self, starts: Mapping[str, StartRows]) -> None:
        """Append the initial rows of tables that this process has not written yet.

        Raises:
            OSError: they cannot be written.
        """
        for name in sorted(starts.keys() - self._kept):
            self._kept.add(name)
            if packed := starts[name].packed:
                self._append(_START + canonical_json({"name": name, "rows": packed}).encode() + b"}")

    def starts(self) -> dict[str, str]:
        """Return the packed initial rows of tables in the journal by digest. Raises SuiteError if the journal is unreadable."""
        lines = (raw for raw in read_lines(self.path, limits.RUN_BYTES) if raw.data.startswith(_START))
        kept = [parse_json_line(raw.data, str(self.path), raw.number)["start"] for raw in lines]
        return {start["name"]: start["rows"] for start in kept}

    def read(self, place: CardPlace) -> bytes:
        """Return the scorecard line at a place.

        Raises:
            OSError: the journal cannot be read, or something else has written to it.
        """
        line = os.pread(self._file, place.size, place.start)
        if crc32(line) != place.checksum:  # once cut, it may have been filled again by what came after
            raise OSError(f"{self.path}: the journal was changed while the run used it")
        return line

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _append(self, entry: bytes) -> int:
        """Write one entry and return the offset of its end. Raises OSError in a forked process."""
        if os.getpid() != self._process:
            raise OSError("a forked copy of a process writes to no journal")
        line = memoryview(b"\n" + entry + b"\n")
        while line:
            line = line[os.write(self._file, line) :]
        return os.lseek(self._file, 0, os.SEEK_CUR)


class JournalContent(NamedTuple):
    """The content of a journal: the run's request, notes and finished episodes.

    Attributes:
        request: what the run was asked for, as its manifest would say it.
        notes: the entries that are no episodes, in order, the first left out.
        episodes: the scorecards of the finished episodes in the order in which they ended, each with the process that ran it.
    """

    request: JsonObject
    notes: tuple[JsonObject, ...]
    episodes: tuple[tuple[str, Scorecard], ...]


def is_journal(path: Path) -> bool:
    """Return whether a file begins like a journal; False if it cannot be read."""
    with suppress(OSError), open_bytes(path) as file:
        return f'{{"schema":"{JOURNAL_SCHEMA}"' in file.read(_HEAD).decode("ascii", "replace")
    return False


def read_journal(path: Path) -> JournalContent:
    """Return the content of a journal; entries torn by a kill are skipped, everything else must be valid.

    Raises:
        SuiteError: it is no journal, goes beyond a limit, or holds what no journal does; with the line.
    """
    name = shown_path(path)
    entries = _entries(path, name)
    head = next(entries, None)
    if head is None or head[1].get("schema") != JOURNAL_SCHEMA or not isinstance(head[1].get("request"), dict):
        first_line = "an empty file" if head is None else f"line {head[0]}"
        raise SuiteError(
            Problem(name, 0, f"this is not a journal: found {first_line}", f"expected one of {JOURNAL_SCHEMA!r}")
        )
    notes: list[JsonObject] = []
    episodes: list[tuple[str, Scorecard]] = []
    problems: list[Problem] = []
    for line, data in entries:
        if "episode" not in data:
            notes.append(data)
        if "episode" not in data or data.get("again") is True:
            continue
        card = validate(Scorecard, LocatedDocument(data["episode"], DocumentLines(line)), name, problems)
        if card is not None and (card.id, card.trial) != (card.trajectory.case, card.trajectory.trial):
            problems.append(Problem(name, line, f"the scorecard of case {card.id} holds another dialogue"))
        raise_for_problems(problems)
        if card is not None:
            episodes.append((str(data.get("worker", "")), card))
    kept = [note["start"] for note in notes if isinstance(note.get("start"), dict)]
    begin_with((card for _, card in episodes), {str(start["name"]): str(start["rows"]) for start in kept})
    return JournalContent(head[1]["request"], tuple(notes), tuple(episodes))


def _entries(path: Path, name: str) -> Iterator[tuple[int, JsonObject]]:
    """Yield the entries of a journal after their line numbers; entries torn by a kill are skipped."""
    for raw in read_lines(path, limits.RUN_BYTES):
        try:
            data = parse_json_line(raw.data, name, raw.number)
        except SuiteError:
            continue  # the writer was killed in the middle of this line; the next writer began a new one
        if isinstance(data, dict):
            yield raw.number, data
