"""The paired preference study of PIPA (5.1 and appendix D): ``python -m pytest_mapsat.ports.pipa.preferences FILE.jsonl``.

A line of the file is a choice: ``{"between": ["one agent", "another"], "prefers": "one agent", "by": "p1", "why": ["concise"]}``; ``prefers: none`` is no preference.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from pytest_mapsat.formats import limits, parse_json_line, read_lines, shown_path
from pytest_mapsat.model import Noun, SuiteError, shown
from pytest_mapsat.ports import validated
from pytest_mapsat.printed import printed


class Choice(Noun):
    """A preference for the conversation of one of two agents, or ``none``, with the reasons; ``by``: the evaluator, and whether a person or a model."""

    between: tuple[str, str]
    prefers: str
    by: str = Field(min_length=1)
    why: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        """Raise ValueError if an agent outside the pair is preferred."""
        if self.prefers not in (*self.between, "none"):
            raise ValueError(f"prefers is {shown(self.prefers)}, expected {' or '.join(self.between)}, or none")
        return self


def binomial_p(first: int, second: int) -> float:
    """Return the two-sided p of an exact binomial test of two counts against a half (5.1)."""
    ways = sum(math.comb(first + second, count) for count in range(min(first, second) + 1))
    return min(1.0, 2 * ways / (1 << (first + second)))


def read_choices(path: Path) -> Iterator[Choice]:
    """Yield the choices of a file. Raises SuiteError with the line of the first invalid choice."""
    for line in read_lines(path, limits.ROW_BYTES):
        data = parse_json_line(line.data, shown_path(path), line.number)
        choice, problems = validated(Choice, data, shown_path(path), line.number)
        if choice is None:
            raise SuiteError(*problems)
        yield choice


def study(choices: Iterable[Choice]) -> Iterator[str]:
    """Yield lines: for each pair of agents how often each is preferred, with the test (without ties), the evaluators, and the reasons (D.2)."""
    pairs: dict[tuple[str, ...], list[Choice]] = {}
    for choice in choices:
        pairs.setdefault(tuple(sorted(choice.between)), []).append(choice)
    for pair, own in sorted(pairs.items()):
        counts = Counter(choice.prefers for choice in own)
        told = ", ".join(f"{name} {counts[name]}" for name in (*pair, "none"))
        yield f"{told}; p = {binomial_p(*(counts[agent] for agent in pair)):.3g}"
        yield f"  by: {', '.join(f'{who} {n}' for who, n in sorted(Counter(choice.by for choice in own).items()))}"
        yield from (f"  {why}: {n}" for why, n in Counter(why for choice in own for why in choice.why).most_common())


if __name__ == "__main__":
    try:
        sys.stdout.writelines(f"{printed(line)}\n" for line in study(read_choices(Path(sys.argv[1]))))
    except (SuiteError, IndexError) as error:
        sys.exit(str(error) if isinstance(error, SuiteError) else "usage: ... preferences FILE.jsonl")
