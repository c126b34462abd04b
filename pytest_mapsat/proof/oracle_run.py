"""The oracle dialogue of a case, played and judged: what all mutants are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.judges import Context
from pytest_mapsat.model import Case, Label, Number, Quote, Tool, Trajectory, Turn, Verdict
from pytest_mapsat.sandbox import WorldSuite, make_world
from pytest_mapsat.text import Vocabulary
from pytest_mapsat.users import make_user

from .plain_text import sentences


def play_oracle(case: Case, suite: WorldSuite) -> Trajectory:
    """Return the oracle dialogue of a case, played with its scripted user in its world. Raises SuiteError."""
    source = resolve_source("baseline:oracle", root=Path())
    return run_episode(case, source, make_user("scripted", case), make_world(case, suite), Limits())


@dataclass(frozen=True)
class Thing:
    """Something with a name that the tools returned, with all records of that name."""

    name: str
    records: tuple[tuple[str, object], ...]

    def values(self, key: str) -> set[str]:
        """Return the texts that the records have under a key."""
        return {
            value
            for _, record in self.records
            if isinstance(record, dict) and isinstance(value := record.get(key), str)
        }


@dataclass(frozen=True)
class Mutant:
    """The oracle's dialogue, changed in one way.

    Attributes:
        changed: what was changed, in words.
        trajectory: the changed dialogue.
        meaning: what is left of the last reply's text once denied words are taken out; the text itself where nothing is denied.
        made_up: the check on figures for which a figure was added that nothing bears out.
    """

    changed: str
    trajectory: Trajectory
    meaning: str | None = None
    made_up: Number | None = None


@dataclass(frozen=True, eq=False)
class OracleRun:
    """One case with its oracle's trajectory and the labels that this has earned."""

    case: Case
    tools: Mapping[str, Tool]
    trajectory: Trajectory
    verdict: Verdict
    vocabulary: Vocabulary | None = None

    @cached_property
    def last(self) -> int:
        """The index of the last reply that says something."""
        turns = self.trajectory.turns
        return max(index for index, turn in enumerate(turns) if turn.role == "agent" and turn.text.strip())

    @property
    def text(self) -> str:
        """The words of the last reply."""
        return self.trajectory.turns[self.last].text

    @property
    def chinese(self) -> bool:
        """Whether the last reply is in Chinese."""
        return any("\u4e00" <= char <= "\u9fff" for char in self.text)

    @cached_property
    def labels(self) -> Mapping[str, Label]:
        """The oracle's labels by factor."""
        return {label.factor: label for label in self.verdict.labels}

    @cached_property
    def evidence(self) -> tuple[Quote, ...]:
        """The words of the last reply that labels which passed rest on, in the order of the text, each once."""
        quotes = {quote for label in self.verdict.labels if label.outcome == "passed" for quote in label.quotes}
        found = (quote for quote in quotes if quote.turn == self.last and quote.end > quote.start)
        return tuple(sorted(found, key=lambda quote: (quote.start, quote.end)))

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        """What has a name in the tools' results, by name, in the order of the calls."""
        found: dict[str, list[tuple[str, object]]] = {}
        for entity in Context(self.trajectory, self.tools).entities:
            if entity.sort == "leg":
                continue
            found.setdefault(entity.name, []).append((entity.tool, entity.record))
        return tuple(Thing(name, tuple(records)) for name, records in found.items())

    @cached_property
    def named(self) -> tuple[Thing, ...]:
        """The things that the last reply names."""
        return tuple(thing for thing in self.things if thing.name in self.text)

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """The spans of the sentences of the last reply."""
        return sentences(self.text)

    def saying(self, text: str) -> Trajectory:
        """Return the dialogue with another last reply."""
        turns = list(self.trajectory.turns)
        turns[self.last] = turns[self.last].model_copy(update={"text": text})
        return self.with_turns(turns)

    def with_turns(self, turns: list[Turn]) -> Trajectory:
        """Return the dialogue with other turns."""
        return self.trajectory.model_copy(update={"turns": tuple(turns)})

    def replaced(self, start: int, end: int, by: str) -> str:
        """Return the last reply with other words from ``start`` to ``end``."""
        return f"{self.text[:start]}{by}{self.text[end:]}"

    def and_then(self, english: str, chinese: str) -> str:
        """Return the last reply with one more sentence, in its language."""
        return f"{self.text}{chinese}" if self.chinese else f"{self.text} {english}"
