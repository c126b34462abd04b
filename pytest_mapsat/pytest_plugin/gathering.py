"""What comes with the reports of items, from this process and from workers: episodes, put in order, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from pytest_mapsat.agents import scrubbed
from pytest_mapsat.formats import Journal, Place, with_attempt
from pytest_mapsat.model import JsonObject, MapsatError, Scorecard, lighten
from pytest_mapsat.reports import Tally
from pytest_mapsat.runs.episodes import Ended


def packed(ended: Ended) -> JsonObject:
    """Return an episode that has ended as plain data; its turns stay in the journal, or go with its line."""
    return {
        "card": without_turns(ended.card).model_dump_json(),
        "place": None if ended.place is None else list(ended.place),
        "line": None if ended.line is None else ended.line.decode(),
    }


def unpacked(data: Any) -> Ended:
    """Return the episode that ``packed`` gave."""
    return Ended(
        card=Scorecard.model_validate_json(data["card"]),
        place=None if data["place"] is None else Place(*data["place"]),
        line=None if data["line"] is None else data["line"].encode(),
    )


def without_turns(card: Scorecard) -> Scorecard:
    """Return a scorecard whose trajectory holds no turns: those of a whole run are too many to keep."""
    return card.model_copy(update={"trajectory": card.trajectory.model_copy(update={"turns": ()})})


class Gathered:
    """The episodes of a run, wherever they ran."""

    def __init__(self) -> None:
        self._ended: dict[tuple[str, int, str, int, int], Ended] = {}
        #: What they come to so far, where somebody tells it while the run goes.
        self.tally: Tally | None = None

    def __bool__(self) -> bool:
        return bool(self._ended)

    def add(self, ended: Iterable[Ended], worker: str) -> None:
        """Take over episodes of a worker; their turns are in the journal."""
        # gw10 stands behind gw9.
        number = int("".join(filter(str.isdigit, worker)) or 0)
        for one in ended:
            card = one.card
            if self.tally is not None:
                self.tally.add(card)
            key = (card.id, card.trial, card.agent, number, card.attempt)
            kept = without_turns(card)
            lighten(kept)
            self._ended[key] = Ended(kept, one.place, one.line)

    def in_order(self) -> list[Ended]:
        """Return the episodes in their order, attempts numbered through over all workers."""
        ordered: list[Ended] = []
        last: tuple[object, ...] = ()
        attempt = 0
        for key in sorted(self._ended):
            one = self._ended[key]
            attempt = attempt + 1 if key[:3] == last else 1
            last = key[:3]
            if one.card.attempt != attempt:
                one = Ended(one.card.model_copy(update={"attempt": attempt}), one.place, one.line)
            ordered.append(one)
        return ordered


def lines_of(episodes: Iterable[Ended], journal: Journal | None) -> Iterator[bytes]:
    """Yield the scorecards of episodes with their dialogues, a line each, out of the journal where they stand there.

    Raises:
        MapsatError: there is no line of one of them.
        OSError: the journal cannot be read.
    """
    for one in episodes:
        line = one.line
        if line is None and one.place is not None and journal is not None:
            line = journal.read(one.place)
        if line is None:
            raise MapsatError(f"the dialogue of case {one.card.id} is lost: there was no journal to keep it")
        yield with_attempt(line, one.card.attempt)


def why_none(report: pytest.TestReport) -> str | None:
    """Return why a report brings no episode, where it could have brought one."""
    if report.when not in ("setup", "call", "teardown"):
        return "lost with its worker"
    if report.when == "teardown" or (report.when == "setup" and report.passed) or str(report.outcome) == "rerun":
        return None
    if was_expected(report):
        return f"ended as an expected failure ({report.when}): {scrubbed(report.wasxfail)}"
    if report.skipped:
        return _skip(report)
    if report.passed:
        return "passed without being run: something took the item over"
    done = "could not be set up" if report.when == "setup" else "ended without a scorecard"
    return f"{done}: {_first_line(report)}"


def was_expected(report: pytest.TestReport) -> bool:
    """Say whether a failure was expected, by a mark or by ``pytest.xfail``."""
    return hasattr(report, "wasxfail")


def _first_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(getattr(crash, "message", None) or report.longrepr or "no reason given")
    return scrubbed(next((line for line in text.splitlines() if line.strip()), "no reason given"))


def _skip(report: pytest.TestReport) -> str:
    """Say who skipped an item: a line of code, or the mark that it bears."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else _first_line(report)
    return f"skipped by {getattr(report, 'mapsat_by', '') or 'a mark'}: {scrubbed(text.removeprefix('Skipped: '))}"
