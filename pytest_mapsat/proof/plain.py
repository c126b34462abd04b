"""Which requirements a change of an oracle dialogue makes false, by plain readings that share nothing with the judge's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.judges import Context, Finding, evaluate
from pytest_mapsat.model import (
    All,
    AnyOf,
    Asked,
    AtLeast,
    Calls,
    Case,
    Check,
    ClockTime,
    Grounded,
    Json,
    JsonObject,
    Label,
    Match,
    Not,
    Number,
    Output,
    Quote,
    Recommends,
    Requirement,
    Says,
    Step,
    Tool,
    Trajectory,
    Verdict,
    WhichReply,
    values_at,
)
from pytest_mapsat.reading import Vocabulary
from pytest_mapsat.sandbox import Sandbox, SandboxSuite, fits, make_sandbox, satisfies
from pytest_mapsat.users import make_user

from .plain_texts import UNITS, Clock, Figure, clocks, figures, folded, has, phones, place_of, sentences


def play_oracle(case: Case, suite: SandboxSuite, sandbox: Sandbox | None = None) -> Trajectory:
    """Return the oracle dialogue of a case, played with its scripted user in its sandbox, a fresh one unless it is given. Raises SuiteError."""
    source = resolve_source("baseline:oracle", root=Path())
    return run_episode(case, source, make_user("scripted", case), sandbox or make_sandbox(case, suite), Limits())


@dataclass(frozen=True)
class Thing:
    """Something with a name that the tools returned, with all recordings of that name."""

    name: str
    recordings: tuple[tuple[str, object], ...]

    def values(self, key: str) -> set[str]:
        """Return the texts that the recordings have under a key."""
        return {
            value
            for _, recording in self.recordings
            if isinstance(recording, dict) and isinstance(value := recording.get(key), str)
        }


@dataclass(frozen=True)
class Mutant:
    """The oracle's dialogue, changed in one way.

    Attributes:
        changed: what was changed, in words.
        trajectory: the changed dialogue.
        made_up: the check on figures for which a figure was added that nothing bears out.
    """

    changed: str
    trajectory: Trajectory
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

    @property
    def space(self) -> str:
        """What stands between two sentences of its language."""
        return "" if self.chinese else " "

    @cached_property
    def labels(self) -> Mapping[str, Label]:
        """The oracle's labels by requirement."""
        return {label.requirement: label for label in self.verdict.labels}

    @cached_property
    def evidence(self) -> tuple[Quote, ...]:
        """The words of the last reply that labels which passed rest on, in the order of the text, each once."""
        quotes = {quote for label in self.verdict.labels if label.outcome == "passed" for quote in label.quotes}
        found = (quote for quote in quotes if quote.turn == self.last and quote.end > quote.start)
        return tuple(sorted(found, key=lambda quote: (quote.start, quote.end)))

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        """What has a name in the tools' results, by name, in the order of the calls."""
        recordings_by_name: dict[str, list[tuple[str, object]]] = {}
        for entity in Context(self.trajectory, self.tools).entities:
            if entity.sort == "leg":
                continue
            recordings_by_name.setdefault(entity.name, []).append((entity.tool, entity.record))
        return tuple(Thing(name, tuple(recordings)) for name, recordings in recordings_by_name.items())

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
        return self.trajectory.model_copy(update={"turns": tuple(turns)})

    @property
    def output(self) -> JsonObject:
        """The structured output of the last reply; empty where it has none."""
        return self.trajectory.turns[self.last].output or {}

    def handing(self, output: JsonObject | None) -> Trajectory:
        """Return the dialogue with another structured output of the last reply."""
        turns = list(self.trajectory.turns)
        turns[self.last] = turns[self.last].model_copy(update={"output": output})
        return self.trajectory.model_copy(update={"turns": tuple(turns)})

    def with_calls(self, tool: str, change: Callable[[JsonObject], JsonObject | None]) -> Trajectory:
        """Return the dialogue with other arguments in the calls of a tool, and without those for which there are none."""
        turns = []
        for turn in self.trajectory.turns:
            steps: list[Step] = []
            for step in turn.steps:
                if step.kind != "call" or step.tool != tool:
                    steps.append(step)
                elif (arguments := change(step.arguments)) is not None:
                    steps.append(step.model_copy(update={"arguments": arguments}))
            turns.append(turn.model_copy(update={"steps": tuple(steps)}))
        return self.trajectory.model_copy(update={"turns": tuple(turns)})

    def replaced(self, start: int, end: int, by: str) -> str:
        """Return the last reply with other words from ``start`` to ``end``."""
        return f"{self.text[:start]}{by}{self.text[end:]}"

    def and_then(self, english: str, chinese: str) -> str:
        """Return the last reply with one more sentence, in its language."""
        return f"{self.text}{self.space}{chinese if self.chinese else english}"


#: What stands around figures; None: it does not matter.
Around = frozenset[tuple[str, str]] | None

_DAY = 24 * 60
#: Characters on each side of a figure by which it is known again.
_AROUND = 8
_FEWEST = 3
_DIGIT = re.compile(r"[0-9]")
_ROUNDING = 1e-9
_TOLERANCE = 0.05
_ANY_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_MEASURED = {"distance": "length", "duration": "time", "price": "money", "rating": "rating"}
_ALL_CLAIMS = {*_MEASURED, "phone", "time"}


@dataclass(frozen=True, eq=False)
class PlainDialogue:
    """A dialogue as it is plainly read.

    Attributes:
        trajectory: the dialogue.
        things: what has a name in the results that the dialogue had before any change.
    """

    trajectory: Trajectory
    things: tuple[Thing, ...]

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(folded(turn.text) for turn in self.trajectory.replies if turn.text.strip())

    def read(self, turn: WhichReply) -> tuple[str, ...]:
        """Return the folded replies that a check reads."""
        if isinstance(turn, int):
            return self._texts[turn - 1 : turn]
        return self._texts if turn == "any" else self._texts[:1] if turn == "first" else self._texts[-1:]

    @cached_property
    def known(self) -> str:
        """All that the tools returned and the user said, as text."""
        results = [json.dumps(call.result, ensure_ascii=False) for call in self.trajectory.calls if call.status == "ok"]
        return "\n".join([*results, *(turn.text for turn in self.trajectory.turns if turn.role == "user")])

    @cached_property
    def handed_over(self) -> Json:
        """The structured output of the last reply."""
        replies = self.trajectory.replies
        return replies[-1].output if replies else None

    def returned(self, tool: str, path: str) -> list[Json]:
        """Return the values at a path of a tool's results."""
        answered = [step for step in self.trajectory.calls if step.status == "ok" and step.tool == tool]
        return [value for step in answered for value in values_at(step.result, path)]


def kleene(needed: int, held: Sequence[bool | None]) -> bool | None:
    """Return whether enough hold, as far as that is known."""
    if held.count(True) >= needed:
        return True
    return False if len(held) - held.count(False) < needed else None


def plainly(check: Check, dialogue: PlainDialogue, around: Around = None) -> bool | None:
    """Return whether a check that is made of no others plainly holds; None for kinds that are not plainly read.

    Args:
        check: the check.
        dialogue: the dialogue.
        around: what stands around the figures that a check on figures is about; None: any figures of its unit.
    """
    if isinstance(check, Number | ClockTime):
        return _number_or_time(check, dialogue, around)
    reads = _READS.get(type(check))
    return reads(check, dialogue) if reads else None


def around_of(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what stands before and behind a figure, with digits masked, so that it is known again when it has changed."""
    before, behind = folded(text[max(start - _AROUND, 0) : start]), folded(text[end : end + _AROUND])
    return _DIGIT.sub("0", before), _DIGIT.sub("0", behind)


def _says(check: Says, dialogue: PlainDialogue) -> bool:
    groups = ([check.any] if check.any else []) + [(phrase,) for phrase in check.all]
    there = all(_any_said(group, dialogue, check.turn) for group in groups)
    return there and not _any_said(check.none, dialogue, check.turn)


def _any_said(phrases: Sequence[str], dialogue: PlainDialogue, turn: WhichReply) -> bool:
    return any(has(text, phrase) for phrase in phrases for text in dialogue.read(turn))


def _recommends(check: Recommends, dialogue: PlainDialogue) -> bool | None:
    parts: list[bool | None] = []
    if check.of_results:
        fits = [_has_attributes(thing, check.any_of, check.where) for thing in _named(check, dialogue)]
        parts.append(kleene(len(fits) if check.only else 1, fits) if fits else check.if_absent == "nothing_claimed")
    elif check.any_of:
        parts.append(_any_said(check.any_of, dialogue, check.turn))
        parts.append(not _any_said(check.none_of, dialogue, check.turn))
    if check.forbids:
        held = [
            _is_one_of(thing, check.none_of) or (bool(check.none_where) and _has(check.none_where, thing))
            for thing in _named(check, dialogue)
        ]
        parts.append(False if True in held else None if None in held else True)
    if check.all_of:
        count = sum(_any_said(names, dialogue, check.turn) for names in check.all_of)
        most = len(check.all_of) if check.at_most is None else check.at_most
        parts.append(min(check.at_least or len(check.all_of), len(check.all_of)) <= count <= most)
    if check.in_order:
        parts.append(_in_order(check, dialogue))
    return kleene(len(parts), parts) if parts else None


def _in_order(check: Recommends, dialogue: PlainDialogue) -> bool:
    text = "\n".join(dialogue.read(check.turn))
    firsts = [
        min((at for name in names if (at := place_of(text, name)) is not None), default=None)
        for names in check.in_order
    ]
    there = [first for first in firsts if first is not None]
    return len(there) == len(firsts) and there == sorted(there)


def _named(check: Recommends, dialogue: PlainDialogue) -> list[Thing]:
    """Return the things that the reply names, without those whose name stands in a longer one that it names too."""
    text = "\n".join(dialogue.read(check.turn))
    named = []
    for thing in sorted(dialogue.things, key=lambda thing: -len(thing.name)):
        if has(text, thing.name) and any(check.of_tool in (None, tool) for tool, _ in thing.recordings):
            named.append(thing)
            text = text.replace(folded(thing.name), "\n")
    return named


def _has_attributes(thing: Thing, names: Sequence[str], where: Mapping[str, Match]) -> bool | None:
    return False if names and not _is_one_of(thing, names) else _has(where, thing)


def _is_one_of(thing: Thing, names: Sequence[str]) -> bool:
    return any(folded(name) == folded(thing.name) for name in names)


def _has(where: Mapping[str, Match], thing: Thing) -> bool | None:
    """Return whether the recordings of a name have every attribute; None where they differ or it cannot be told."""
    fits = set()
    for _, recording in thing.recordings:
        held = []
        for path, match in where.items():
            values = values_at(recording, path)
            if values:
                held.append(any(satisfies(match, value) for value in values))
        if held:
            fits.add(all(held))
    return not where or (fits.pop() if len(fits) == 1 else None)


def strays(check: Number | ClockTime, before: PlainDialogue, after: PlainDialogue, around: Around = None) -> bool:
    """Return whether one of the figures that a fact is about agreed before and does not now, though others may."""
    old, new = (_fitting(check, dialogue, around) for dialogue in (before, after))
    return len(old) == len(new) and new.count(True) < old.count(True)


def _number_or_time(check: Number | ClockTime, dialogue: PlainDialogue, around: Around) -> bool:
    fits = _fitting(check, dialogue, around)
    if not fits:
        return check.if_absent == "nothing_claimed"
    return any(fits) if check.quantifier == "any" else all(fits)


def _fitting(check: Number | ClockTime, dialogue: PlainDialogue, around: Around) -> list[bool]:
    """Return for each figure that stands in a sentence with a phrase of ``near`` whether it lies where it must."""
    near = [sentence for text in dialogue.read(check.turn) for sentence in _sentences_near(text, check.near)]
    if around is not None:
        near = list(dialogue.read(check.turn))
    if isinstance(check, ClockTime):
        times = _known_times(check, dialogue) if check.bounds else None
        told = [clock for text in near for clock in clocks(text) if _is_meant(text, clock, around)]
        return [_clock_fits(check, clock.minutes, times) for clock in told]
    returned = _known(check, dialogue) if check.bounds else None
    told_figures = [figure for text in near for figure in figures(text) if _is_meant(text, figure, around)]
    return [_figure_fits(check, one.base, returned) for one in told_figures if one.dimension == UNITS[check.unit][0]]


def fits_anything(check: Number, dialogue: PlainDialogue) -> bool:
    """Return whether the last figure of the check's unit lies where it must, whatever it is said of."""
    told = [figure for text in dialogue.read(check.turn) for figure in figures(text)]
    told = [figure for figure in told if figure.dimension == UNITS[check.unit][0]]
    return not told or _figure_fits(check, told[-1].base, _known(check, dialogue) if check.bounds else None)


def _is_meant(text: str, amount: Figure | Clock, around: Around) -> bool:
    """Return whether a figure stands where one of those stood that a check is about: behind or before the same words."""
    if around is None:
        return True
    before, behind = around_of(text, amount.start, amount.end)
    return any(
        (before == old and len(old) >= _FEWEST) or (behind == new and len(new) >= _FEWEST) for old, new in around
    )


def _sentences_near(text: str, near: Sequence[str]) -> Iterator[str]:
    for start, end in sentences(text):
        if not near or any(has(text[start:end], phrase) for phrase in near):
            yield text[start:end]


def _returned(check: Number | ClockTime, dialogue: PlainDialogue) -> list[object]:
    return [value for bound in check.bounds for value in dialogue.returned(bound.tool or "", bound.path)]


def _known(check: Number, dialogue: PlainDialogue) -> list[float]:
    """Return the values, in the base unit, that the tools returned where the check looks for them."""
    values: list[float] = []
    for value in _returned(check, dialogue):
        if isinstance(value, int | float):
            values.append(value * check.times * UNITS[check.equals_unit or check.unit][1])
        elif isinstance(value, str):
            values += [figure.base for figure in figures(folded(value)) if figure.dimension == UNITS[check.unit][0]]
    return values


def _figure_fits(check: Number, value: float, returned: list[float] | None) -> bool:
    scale = UNITS[check.unit][1]
    if check.min is not None and value < check.min * scale - _ROUNDING:
        return False
    if check.max is not None and value > check.max * scale + _ROUNDING:
        return False
    return returned is None or any(
        abs(value - wanted) <= check.allowed * abs(wanted) + _ROUNDING for wanted in returned
    )


def _known_times(check: ClockTime, dialogue: PlainDialogue) -> list[int]:
    return [clock.minutes for value in _returned(check, dialogue) if isinstance(value, str) for clock in clocks(value)]


def _clock_fits(check: ClockTime, minutes: int, returned: list[int] | None) -> bool:
    after, before = _minutes(check.after or "00:00"), _minutes(check.before or "23:59")
    inside = after <= minutes <= before if after <= before else minutes >= after or minutes <= before
    near = returned is None or any(
        min((minutes - wanted) % _DAY, (wanted - minutes) % _DAY) <= check.tolerance_min for wanted in returned
    )
    return inside and near


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])


def _calls(check: Calls, dialogue: PlainDialogue) -> bool | None:
    if check.tool is None:
        return None
    calls = dialogue.trajectory.calls
    count = sum(
        call.tool == check.tool
        and (check.answered == "any" or (call.status == "ok") is check.answered)
        and bool(fits(check.arguments, call.arguments, results=calls[:index]))
        for index, call in enumerate(calls)
    )
    return count == 0 if check.never else check.least <= count <= (count if check.at_most is None else check.at_most)


def _asked(check: Asked, dialogue: PlainDialogue) -> bool:
    spans = [text[start:end] for text in dialogue.read("any") for start, end in sentences(text)]
    asking = [
        sentence
        for sentence in spans
        if "?" in sentence and (not check.about or any(has(sentence, about) for about in check.about))
    ]
    return check.at_least <= len(asking) <= (check.at_most if check.at_most is not None else len(asking))


def _grounded(check: Grounded, dialogue: PlainDialogue) -> bool:
    """Return whether every telephone number, clock time and figure that the check is about stands somewhere in what was known."""
    evidence = folded(dialogue.known)
    text = "\n".join(dialogue.read("any"))
    wanted = set(check.claims) or _ALL_CLAIMS
    told = [phone for phone in phones(text) if "phone" in wanted and phone not in evidence]
    times = {clock.minutes for clock in clocks(evidence)}
    told += [str(clock) for clock in clocks(text) if "time" in wanted and clock.minutes not in times]
    numbers = sorted({float(number) for number in _ANY_NUMBER.findall(evidence)})
    dimensions = {_MEASURED[claim] for claim in wanted if claim in _MEASURED}
    told += [str(figure) for figure in figures(text) if figure.dimension in dimensions and not _stands(figure, numbers)]
    return not told


def _stands(figure: Figure, numbers: Sequence[float]) -> bool:
    """Return whether a number that is known is the figure, in whatever unit of its dimension."""
    scales = [scale for dimension, scale in UNITS.values() if dimension == figure.dimension]
    return any(
        abs(figure.base - number * scale) <= _TOLERANCE * abs(number * scale) for number in numbers for scale in scales
    )


def _output(check: Output, dialogue: PlainDialogue) -> bool | None:
    """Return whether each id that is handed over is, as text, a value of an object that the tool returned, and this object has every attribute."""
    if check.tool is None or check.turn != "last":
        return None
    entries = [entry for value in values_at(dialogue.handed_over, check.path) for entry in _elements(value)]
    meant = [entry for entry in entries if not check.entry or _has_all(check.entry, entry)]
    if not meant or (check.entry and len(meant) > 1):
        return False
    objects = [part for result in dialogue.returned(check.tool, "") for part in _objects(result)]
    for entry in meant:
        ids = [str(value) for value in values_at(entry, check.id or "")]
        if not any(str(value) in ids and _has_all(check.where, part) for part in objects for value in part.values()):
            return False
    return True


def _has_all(where: Mapping[str, Match], record: Json) -> bool:
    return all(any(satisfies(match, value) for value in values_at(record, path)) for path, match in where.items())


def _elements(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else [value]


def _objects(value: Json) -> Iterator[JsonObject]:
    """Yield the objects in a result."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(part)


#: How each kind is plainly read; a kind that is not here never counts as touched.
_READS: dict[type, Callable[[Any, PlainDialogue], bool | None]] = {
    Says: _says,
    Recommends: _recommends,
    Calls: _calls,
    Output: _output,
    Asked: _asked,
    Grounded: _grounded,
}


def violated(run: OracleRun, mutant: Mutant) -> tuple[str, ...]:
    """Return the requirements that held on the oracle and do not hold on a mutant, as far as plain readings can tell."""
    reader = _Reader(run, mutant)
    return tuple(requirement.id for requirement in run.case.truth.requirements if reader.lowers(requirement))


class _Reader:
    def __init__(self, run: OracleRun, mutant: Mutant) -> None:
        self._labels = run.labels
        self._judged = Context.of(run.case, run.trajectory, run.tools, vocabulary=run.vocabulary)
        self._before = PlainDialogue(run.trajectory, run.things)
        self._after = PlainDialogue(mutant.trajectory, run.things)
        self._made_up = mutant.made_up
        self._strict = False

    def lowers(self, requirement: Requirement) -> bool:
        """Return whether the requirement surely gets less than on the oracle."""
        before = self._labels[requirement.id].value
        if not before:
            return False
        self._strict = requirement.kind == "fact"
        after = self._level(requirement)
        return after is not None and after < before

    def _level(self, requirement: Requirement) -> float | None:
        rules = [(1.0, requirement.check)] if requirement.check is not None else []
        rules += [(rule.level, rule.check) for rule in requirement.levels]
        for level, check in rules:
            held = self._holds(check)
            if held is not False:
                return level if held else None
        return 0.0

    def _holds(self, check: Check) -> bool | None:
        """Return whether a check holds after the change; None where that cannot be told."""
        if isinstance(check, Not):
            part = self._holds(check.check)
            return None if part is None else not part
        if isinstance(check, All | AnyOf | AtLeast):
            return kleene(_needed(check), [self._holds(part) for part in check.checks])
        if isinstance(check, Number) and check == self._made_up:
            return False if self._strict and not fits_anything(check, self._after) else None
        finding = evaluate(check, self._judged)
        judged, around = finding.passed, self._around(check, finding)
        before, after = plainly(check, self._before, around), plainly(check, self._after, around)
        if (
            self._strict
            and isinstance(check, Number | ClockTime)
            and judged
            and strays(check, self._before, self._after, around)
        ):
            return False
        if before is after:
            return judged
        return after if before is judged else None

    def _around(self, check: Check, finding: Finding) -> Around:
        """Return what stands around the figures of a role, a thing or a way of travelling, which no plain reading can tell."""
        if not isinstance(check, Number | ClockTime) or not (check.role or check.of or getattr(check, "mode", ())):
            return None
        turns = self._judged.trajectory.turns
        return frozenset(around_of(turns[quote.turn].text, quote.start, quote.end) for quote in finding.quotes)


def _needed(check: All | AnyOf | AtLeast) -> int:
    return check.n if isinstance(check, AtLeast) else len(check.checks) if isinstance(check, All) else 1
