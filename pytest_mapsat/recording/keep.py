"""Records of the user's own tools, put into the suite: sorted, each request once, the file whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path, PurePosixPath

from pytest_mapsat.formats import shown_path
from pytest_mapsat.model import JsonObject, Record, canonical_json, digest
from pytest_mapsat.sandbox import record_key
from pytest_mapsat.suite import PlacedRecord, Suite, open_suite, write_records

#: Where they stand in the suite.
RECORDED = PurePosixPath("records", "recorded.jsonl")


@dataclass
class Keeping:
    """What became of the answers of own tools.

    Attributes:
        path: the file of records.
        added: how many are new.
        known: how many say what a record of the suite says already.
        replaced: how many took the place of an older answer.
        problems: what was not kept, and why, each with its place.
    """

    path: Path
    added: int = 0
    known: int = 0
    replaced: int = 0
    problems: list[str] = field(default_factory=list)

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        return {
            "path": shown_path(self.path),
            "added": self.added,
            "known": self.known,
            "replaced": self.replaced,
            "problems": self.problems,
        }


def keep_records(root: Path, records: Iterable[Record], *, replace: bool = False) -> Keeping:
    """Add records to a suite's ``records/recorded.jsonl``.

    A request that a record of the case knows in another spelling is that request: it is kept once. Where two answers differ the older
    one stays, and among new ones that with the smallest digest, so that nothing depends on who came first.

    Args:
        root: the suite's folder.
        records: what own tools answered, without secrets.
        replace: put the new answer in the place of an older one of an own tool.

    Raises:
        SuiteError: the suite or its records cannot be read, or something in its folder leads out of it.
        OSError: the file cannot be written.
    """
    path = root / RECORDED
    kept = Keeping(path)
    with _alone(root):
        suite = open_suite(root)
        suite.refuse_odd_files()
        fresh = [record for record in sorted(records, key=_order) if record.tool in suite.tools]
        whole = [placed.record for placed in _standing(suite, path)]
        for case, of_case in groupby(fresh, key=lambda record: record.case):
            _merge(suite, case, of_case, whole, kept, replace=replace)
        if kept.added or kept.replaced:
            write_records(path, sorted(whole, key=_order))
    return kept


def _standing(suite: Suite, path: Path) -> Iterator[PlacedRecord]:
    for case in sorted(suite.record_spans()):
        yield from (placed for placed in suite.placed_records(case) if placed.path == path)


def _merge(
    suite: Suite, case: str, fresh: Iterable[Record], whole: list[Record], kept: Keeping, *, replace: bool
) -> None:
    """Add a case's records to ``whole``, the content of the file."""
    before: dict[str, list[PlacedRecord]] = {}
    for placed in suite.placed_records(case):
        with suppress(ValueError):  # a record that cannot be read answers nothing; lint tells it
            if placed.record.tool in suite.tools:
                before.setdefault(record_key(suite.tools[placed.record.tool], placed.record), []).append(placed)
    now: dict[str, Record] = {}
    for record in fresh:
        key = record_key(suite.tools[record.tool], record)
        call = f"case {case}: {record.tool}({_arguments(record)})"
        if key in now:
            if now[key].result != record.result:
                kept.problems.append(f"{call} gave two answers; {_kept_one(now[key])} is kept")
            continue
        now[key] = record
        known = before.get(key, [])
        older = known[0] if known else None
        if older is None:
            whole.append(record)
            kept.added += 1
        elif any(placed.record.result == record.result for placed in known):
            kept.known += 1
        elif replace and older.record.live and older.path == kept.path:
            whole[whole.index(older.record)] = record
            kept.replaced += 1
        else:
            place = f"{shown_path(older.path)}:{older.line}"
            way = "--replace takes the new one" if older.record.live else "remove that line to keep the new one"
            kept.problems.append(f"{place}: {call} answers something else now ({way})")


def _arguments(record: Record) -> str:
    text = canonical_json(record.arguments)
    return text if len(text) <= 120 else f"{text[:117]}..."  # noqa: PLR2004  fits on a line or two


def _kept_one(record: Record) -> str:
    text = canonical_json(record.result)
    return text if len(text) <= 80 else f"the one with digest {digest(record.result)}"  # noqa: PLR2004  likewise


def _order(record: Record) -> tuple[str, str, str, str]:
    return record.case, record.tool, canonical_json(record.arguments), digest(record.result)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Let one process at a time change the suite's records, where the system can lock files."""
    try:
        import fcntl  # noqa: PLC0415  not on Windows
    except ImportError:
        yield
        return
    with (root / "suite.yaml").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
