"""Recordings of the user's own tools, put into the suite: sorted, each request once, the file whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path, PurePosixPath

from pytest_mapsat.formats import shown_path
from pytest_mapsat.model import JsonObject, Recording, canonical_json, digest
from pytest_mapsat.sandbox import recording_key
from pytest_mapsat.suite import PlacedRecording, Suite, open_suite, write_recordings

#: Where they stand in the suite.
RECORDED = PurePosixPath("recordings", "recorded.jsonl")


@dataclass
class Keeping:
    """What became of the answers of own tools.

    Attributes:
        path: the file of recordings.
        added: how many are new.
        known: how many say what a recording of the suite says already.
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


def keep_recordings(root: Path, recordings: Iterable[Recording], *, replace: bool = False) -> Keeping:
    """Add recordings to a suite's ``recordings/recorded.jsonl``.

    A request that a recording of the case knows in another spelling is that request: it is kept once. Where two answers differ the older
    one stays, and among new ones that with the smallest digest, so that nothing depends on who came first.

    Args:
        root: the suite's folder.
        recordings: what own tools answered, without secrets.
        replace: put the new answer in the place of an older one of an own tool.

    Raises:
        SuiteError: the suite or its recordings cannot be read, or something in its folder leads out of it.
        OSError: the file cannot be written.
    """
    path = root / RECORDED
    kept = Keeping(path)
    with _alone(root):
        suite = open_suite(root)
        suite.refuse_odd_files()
        fresh = [recording for recording in sorted(recordings, key=_order) if recording.tool in suite.tools]
        whole = [placed.recording for placed in _standing(suite, path)]
        for case, of_case in groupby(fresh, key=lambda recording: recording.case):
            _merge(suite, case, of_case, whole, kept, replace=replace)
        if kept.added or kept.replaced:
            write_recordings(path, sorted(whole, key=_order))
    return kept


def _standing(suite: Suite, path: Path) -> Iterator[PlacedRecording]:
    for case in sorted(suite.recording_spans()):
        yield from (placed for placed in suite.placed_recordings(case) if placed.path == path)


def _merge(
    suite: Suite, case: str, fresh: Iterable[Recording], whole: list[Recording], kept: Keeping, *, replace: bool
) -> None:
    """Add a case's recordings to ``whole``, the content of the file."""
    before: dict[str, list[PlacedRecording]] = {}
    for placed in suite.placed_recordings(case):
        with suppress(ValueError):  # a recording that cannot be read answers nothing; lint tells it
            if placed.recording.tool in suite.tools:
                before.setdefault(recording_key(suite.tools[placed.recording.tool], placed.recording), []).append(
                    placed
                )
    now: dict[str, Recording] = {}
    for recording in fresh:
        key = recording_key(suite.tools[recording.tool], recording)
        call = f"case {case}: {recording.tool}({_arguments(recording)})"
        if key in now:
            if now[key].result != recording.result:
                kept.problems.append(f"{call} gave two answers; {_kept_one(now[key])} is kept")
            continue
        now[key] = recording
        known = before.get(key, [])
        older = known[0] if known else None
        if older is None:
            whole.append(recording)
            kept.added += 1
        elif any(placed.recording.result == recording.result for placed in known):
            kept.known += 1
        elif replace and older.recording.live and older.path == kept.path:
            whole[whole.index(older.recording)] = recording
            kept.replaced += 1
        else:
            place = f"{shown_path(older.path)}:{older.line}"
            way = "--replace takes the new one" if older.recording.live else "remove that line to keep the new one"
            kept.problems.append(f"{place}: {call} answers something else now ({way})")


def _arguments(recording: Recording) -> str:
    text = canonical_json(recording.arguments)
    return text if len(text) <= 120 else f"{text[:117]}..."  # noqa: PLR2004  fits on a line or two


def _kept_one(recording: Recording) -> str:
    text = canonical_json(recording.result)
    return text if len(text) <= 80 else f"the one with digest {digest(recording.result)}"  # noqa: PLR2004  likewise


def _order(recording: Recording) -> tuple[str, str, str, str]:
    return recording.case, recording.tool, canonical_json(recording.arguments), digest(recording.result)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Let one process at a time change the suite's recordings, where the system can lock files."""
    try:
        import fcntl  # noqa: PLC0415  not on Windows
    except ImportError:
        yield
        return
    with (root / "suite.yaml").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
