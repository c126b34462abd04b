"""The quality of a suite's checks: an oracle dialogue is changed, in one wrong way or harmlessly, and judged.

Each wrong change says which fields of checks it breaks. No second reader judges the changed text: what the oracle said was read once, and an operator
knows what it put in the place of which words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import cycle, groupby, islice, pairwise
from operator import itemgetter
from pathlib import Path

from pytest_mapsat.judges import UNITS, Finding, Judge, JudgedDialogue, evaluate, make_judge
from pytest_mapsat.model import (
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
    fits_row,
    trajectory_digest,
    values_at,
)
from pytest_mapsat.reading import Document, Quantity, Vocabulary, fold_phrase
from pytest_mapsat.reports import call_text, cell_width, columns, cut, printable, wrap
from pytest_mapsat.sandbox import End, SandboxSuite, differences, end_of, make_sandbox, own_changes, returned_rows
from pytest_mapsat.suite import Suite

from .oracles import play_oracle


@dataclass(frozen=True)
class NamedThing:
    """A name that tools returned, with all records of the name and the tools that returned it."""

    name: str
    records: tuple[JsonObject, ...]
    tools: frozenset[str]

    def values(self, key: str) -> set[str]:
        """Return the texts that the records have in a field."""
        return {value for record in self.records if isinstance(value := record.get(key), str)}

    def is_one_of(self, names: Iterable[str]) -> bool:
        """Return whether the thing's name contains one of the given names."""
        return any(fold_phrase(name) in fold_phrase(self.name) for name in names)

    def suits(self, check: Recommends) -> bool | None:
        """Return whether the thing matches a check's ``any_of`` and ``where``; None if its records differ."""
        if check.any_of and not self.is_one_of(check.any_of):
            return False
        answers = {bool(fits_row(check.where, record)) for record in self.records}
        return not check.where or (answers.pop() if len(answers) == 1 else None)

    def is_forbidden(self, check: Recommends) -> bool:
        """Return whether a check's ``none_of`` or ``none_where`` excludes it."""
        forbidden = [fits_row(check.none_where, record) for record in self.records if check.none_where]
        return (bool(forbidden) and all(forbidden)) or self.is_one_of(check.none_of)


#: Whether a change surely breaks a check that held on the oracle, from the check and what was found there.
Breaks = Callable[[Check, Finding], bool]


@dataclass(frozen=True)
class Mutant:
    """The oracle's dialogue, changed in one way.

    Attributes:
        changed: what was changed, in words.
        trajectory: the changed dialogue.
        breaks: which checks it breaks, each made of no others; of a harmless one none.
    """

    changed: str
    trajectory: Trajectory
    breaks: Breaks = field(default=lambda _check, _finding: False, compare=False)


@dataclass(frozen=True, eq=False)
class OracleRun:
    """A case with its oracle's trajectory and the verdict on it."""

    case: Case
    tools: Mapping[str, Tool]
    trajectory: Trajectory
    verdict: Verdict
    vocabulary: Vocabulary | None = None

    @cached_property
    def context(self) -> JudgedDialogue:
        """The dialogue in the form that the judge reads."""
        return JudgedDialogue.of(self.case, self.trajectory, self.tools, vocabulary=self.vocabulary)

    @cached_property
    def document(self) -> Document:
        """The last reply that is not blank, parsed."""
        return self.context.replies[-1]

    @property
    def text(self) -> str:
        """The words of the last reply."""
        return self.document.text

    @property
    def chinese(self) -> bool:
        """Whether the last reply is in Chinese."""
        return any("\u4e00" <= char <= "\u9fff" for char in self.text)

    @property
    def space(self) -> str:
        """The separator between sentences in the language of the last reply."""
        return "" if self.chinese else " "

    @cached_property
    def labels(self) -> Mapping[str, Label]:
        """The oracle's labels by requirement."""
        return {label.requirement: label for label in self.verdict.labels}

    @cached_property
    def evidence(self) -> tuple[Quote, ...]:
        """The words of the last reply on which passed labels are based, in text order without repetition."""
        quotes = {quote for label in self.verdict.labels if label.outcome == "passed" for quote in label.quotes}
        own = (quote for quote in quotes if quote.turn == self.document.turn and quote.end > quote.start)
        return tuple(sorted(own, key=lambda quote: (quote.start, quote.end)))

    @cached_property
    def things(self) -> tuple[NamedThing, ...]:
        """The named things in the results, by name, in the order of the calls."""
        entities = [entity for entity in self.context.entities if entity.sort != "leg"]
        things = []
        for name in dict.fromkeys(entity.name for entity in entities):
            own = [entity for entity in entities if entity.name == name]
            records = tuple(entity.record for entity in own if isinstance(entity.record, dict))
            things.append(NamedThing(name, records, frozenset(entity.tool for entity in own)))
        return tuple(things)

    @cached_property
    def named(self) -> tuple[NamedThing, ...]:
        """The things that the last reply names."""
        return tuple(thing for thing in self.things if thing.name in self.text)

    def finding(self, check: Check) -> Finding:
        """Return the finding of a check on the oracle's dialogue."""
        return evaluate(check, self.context)

    def returned(self, check: Number | ClockTime) -> list[Json]:
        """Return the values at the paths in a check's comparison, from all answered calls."""
        answered = [step for step in self.trajectory.calls if step.status == "ok"]
        pairs = [(bound, step) for bound in check.bounds for step in answered if step.tool == bound.tool]
        return [value for bound, step in pairs for value in values_at(step.result, bound.path)]

    def _last(self, **fields: object) -> Trajectory:
        """Return the dialogue with some fields of the last reply changed."""
        turns = list(self.trajectory.turns)
        turns[self.document.turn] = turns[self.document.turn].model_copy(update=fields)
        return self.trajectory.model_copy(update={"turns": tuple(turns)})

    def saying(self, text: str) -> Trajectory:
        """Return the dialogue with another text in the last reply."""
        return self._last(text=text)

    @property
    def output(self) -> JsonObject:
        """The structured output of the last reply; empty if there is none."""
        return self.trajectory.turns[self.document.turn].output or {}

    def handing(self, output: JsonObject | None) -> Trajectory:
        """Return the dialogue with another structured output in the last reply."""
        return self._last(output=output)

    def with_calls(self, tool: str, change: Callable[[JsonObject], JsonObject | None]) -> Trajectory:
        """Return the dialogue with changed arguments in a tool's calls; a call is removed if ``change`` returns None."""
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
        """Return the text of the last reply with the words from ``start`` to ``end`` replaced."""
        return f"{self.text[:start]}{by}{self.text[end:]}"

    def and_then(self, english: str, chinese: str) -> str:
        """Return the text of the last reply followed by one more sentence in its language."""
        return f"{self.text}{self.space}{chinese if self.chinese else english}"


# -- names and words: recommends, says ---------------------------------------------------------------------------------


def _words_gone(run: OracleRun, text: str) -> Breaks:
    """Return a test for checks on words and names that a new last reply fails because it lacks all required phrases."""
    before, after = fold_phrase(run.text), fold_phrase(text)

    def gone(phrases: Iterable[str]) -> bool:
        """Return whether the old reply had one of the phrases and the new reply has none."""
        wanted = [fold_phrase(phrase) for phrase in phrases]
        return any(phrase in before for phrase in wanted) and not any(phrase in after for phrase in wanted)

    def breaks(check: Check, finding: Finding) -> bool:
        """Return whether the new reply lacks words that a check wants."""
        if any(quote.turn != run.document.turn for quote in finding.quotes):
            return False
        if isinstance(check, Says):
            return gone(check.any) or any(gone([phrase]) for phrase in check.all)
        if not isinstance(check, Recommends):
            return False
        every = () if check.at_least or check.at_most else check.all_of
        return gone(check.any_of) or any(map(gone, (*every, *check.in_order)))

    return breaks


def _proposed(run: OracleRun, new: NamedThing, *, instead_of: NamedThing | None = None) -> Breaks:
    """Return a test for checks on choices that a new recommendation breaks, either added or ``instead_of`` another."""

    def breaks(check: Check, finding: Finding) -> bool:
        """Return whether the new proposal breaks a check on choices."""
        if not isinstance(check, Recommends):
            return False
        words = [quote.text for quote in finding.quotes or run.evidence if quote.text]
        chosen = [thing for thing in run.named if not words or thing.is_one_of(words)]
        replaced = chosen if instead_of is None else [thing for thing in chosen if thing == instead_of]
        if not any(thing.tools & new.tools for thing in replaced):
            return False
        left = [thing for thing in chosen if thing != instead_of]
        alone = check.only or not any(thing.suits(check) is not False for thing in left)
        return new.is_forbidden(check) or (check.of_results and alone and new.suits(check) is False)

    return breaks


def _any_breaks(*parts: Breaks) -> Breaks:
    """Return a test that passes if one of several tests passes."""
    return lambda check, finding: any(part(check, finding) for part in parts)


_TOLD = ("address", "phone", "hours")


def another_place(run: OracleRun) -> Iterator[Mutant]:
    """Yield mutants that name another returned place instead, with its own details or with the original details."""
    for old in run.named:
        for new in run.things:
            if new in run.named or not old.tools & new.tools or old.name in new.name or new.name in old.name:
                continue
            renamed = text = run.text.replace(old.name, new.name)
            for key in _TOLD:
                others = sorted(new.values(key))
                for value in sorted(old.values(key)) if others else ():
                    text = text.replace(value, others[0])
            chosen = _proposed(run, new, instead_of=old)
            yield Mutant(f"{old.name} became {new.name}", run.saying(text), _any_breaks(chosen, _words_gone(run, text)))
            if text != renamed:
                words = f"the name {old.name} alone became {new.name}"
                yield Mutant(words, run.saying(renamed), _any_breaks(chosen, _words_gone(run, renamed)))


def second_choice(run: OracleRun) -> Iterator[Mutant]:
    """Yield mutants that recommend another place: after the answer, before it, or as a stop on the way."""
    for new in run.things:
        if new in run.named:
            continue
        name, breaks = new.name, _proposed(run, new)
        behind = run.and_then(f"I also recommend {name}.", f"另外也推荐{name}。")
        first = f"首选{name}。{run.text}" if run.chinese else f"Your best choice is {name}. {run.text}"
        stop = run.and_then(f"On the way, stop at {name} first.", f"路上先去{name}。")
        yield Mutant(f"{name} was proposed as well", run.saying(behind), breaks)
        yield Mutant(f"{name} was recommended first", run.saying(first), breaks)
        yield Mutant(f"a stop at {name} was added", run.saying(stop), breaks)


def swapped_order(run: OracleRun) -> Iterator[Mutant]:
    """Yield mutants with two neighbouring places exchanged."""
    placed = sorted(run.named, key=lambda thing: run.text.index(thing.name))
    for pair in pairwise(placed):
        first, second = pair
        text = run.text.replace(first.name, "\0").replace(second.name, first.name).replace("\0", second.name)

        def breaks(check: Check, _finding: Finding, pair: Sequence[NamedThing] = pair) -> bool:
            """Return whether a check wants both exchanged places in order."""
            in_order = [name for names in check.in_order for name in names] if isinstance(check, Recommends) else []
            return all(thing.is_one_of(in_order) for thing in pair)

        yield Mutant(f"{first.name} and {second.name} changed places", run.saying(text), breaks)


def dropped_constraint(run: OracleRun) -> Iterator[Mutant]:
    """Yield mutants without a sentence or clause on which a passed label is based."""
    spans = {_sentence(run, quote) for quote in run.evidence} | {_clause(run, quote) for quote in run.evidence}
    for start, end in sorted(spans):
        if end - start < len(run.text.strip()):
            text = run.replaced(start, end, "").strip()
            breaks = _any_breaks(_words_gone(run, text), _left_out(start, end, text))
            yield Mutant(f"left out: {run.text[start:end].strip()}", run.saying(text), breaks)


def _sentence(run: OracleRun, quote: Quote) -> tuple[int, int]:
    """Return the span of the sentence that a quote starts in."""
    return run.document.sentences[run.document.sentence_at(quote.start)]


def _clause(run: OracleRun, quote: Quote) -> tuple[int, int]:
    """Return the span around a quote from comma to comma within its sentence, so that one comma goes with it."""
    start, end = _sentence(run, quote)
    comma = "，" if run.chinese else ", "
    before = run.text.rfind(comma, start, quote.start)
    behind = run.text.find(comma, quote.end, end)
    start = start if before < 0 else before
    return start, (end - 1 if before >= 0 else end) if behind < 0 else behind + (len(comma) if before < 0 else 0)


def _left_out(start: int, end: int, text: str) -> Breaks:
    """Return a test for checks whose evidence all lies in the removed span from ``start`` to ``end``; ``text``: the remaining text."""

    def breaks(check: Check, finding: Finding) -> bool:
        """Return whether all evidence of a check was removed."""
        if not isinstance(check, Number | ClockTime | Recommends) or check.if_absent != "fail" or not finding.quotes:
            return False
        left = any(quote.text in text for quote in finding.quotes)
        if isinstance(check, Recommends) and (left or not check.of_results):
            return False
        return all(start <= quote.start < end for quote in finding.quotes)

    return breaks


def unneeded_question(run: OracleRun) -> Iterator[Mutant]:
    """Yield mutants with an unneeded question at the end."""
    asked = sum(len(reply.questions) for reply in run.context.replies)

    def breaks(check: Check, _finding: Finding) -> bool:
        """Return whether a check allows no further question."""
        return isinstance(check, Asked) and not check.about and check.at_most is not None and check.at_most <= asked

    for english, chinese in (
        ("What is your favourite colour?", "您最喜欢什么颜色？"),
        ("Could you tell me your budget and your date of birth?", "请问您的预算和生日是什么？"),
    ):
        text = run.and_then(english, chinese)
        yield Mutant(f"asked: {chinese if run.chinese else english}", run.saying(text), breaks)


# -- figures and times: number, clock_time, grounded -------------------------------------------------------------------

#: A fifth less or more: further off than any tolerance of a check should forgive.
_FACTORS = (0.8, 1.2)
#: Minutes: an hour is what a slip of the clock looks like.
_SHIFTS = (-60, 60)
_DAY = 24 * 60
_ROUNDING = 1e-9
#: Three or four digits, then one or two such groups behind hyphens.
_PHONE = re.compile(r"(?<![0-9-])[0-9]{3,4}(?:-[0-9]{3,4}){1,2}(?![0-9-])")
#: The end of a telephone number that no recording has.
_FALSE_ENDING = "9768"
_WRITTEN = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})")
MONEY_WORDS = {
    "CNY": ("yuan", "元"), "EUR": ("euros", "欧元"), "USD": ("dollars", "美元"), "GBP": ("pounds", "英镑"), "JPY": ("yen", "日元"),
}  # fmt: skip


def _written(run: OracleRun) -> Iterator[tuple[Quantity, re.Match[str]]]:
    """Yield the exact figures of the last reply that are written as one number, each with the number's match."""
    for figure in run.document.quantities:
        numbers = list(_WRITTEN.finditer(run.text, figure.span.start, figure.span.end))
        plain = figure.low == figure.high and not figure.unread
        if plain and len(numbers) == 1 and float(numbers[0].group()):
            yield figure, numbers[0]


def _other_figure(run: OracleRun, span: tuple[int, int], strays: Callable[[Number | ClockTime], bool]) -> Breaks:
    """Return a test for checks that depend on a changed figure and do not allow its new value (``strays``)."""

    def breaks(check: Check, finding: Finding) -> bool:
        """Return whether a check rests on the changed figure and does not allow its new value."""
        if not isinstance(check, Number | ClockTime):
            return False
        ours = [quote for quote in finding.quotes if quote.start < span[1] and span[0] < quote.end]
        enough = check.quantifier == "any" and not run.context.is_fact(check) and len(finding.quotes) > len(ours)
        return bool(ours) and not enough and strays(check)

    return breaks


def _strays(run: OracleRun, check: Check, value: float) -> bool:
    """Return whether a number check surely does not allow a value, given in the canonical unit."""
    if not isinstance(check, Number):
        return False
    least, most = (bound and bound * UNITS[check.unit][1] for bound in (check.min, check.max))
    if (least is not None and value < least - _ROUNDING) or (most is not None and value > most + _ROUNDING):
        return True
    scale = check.times * UNITS[check.unit][1]
    returned = [float(given) * scale for given in run.returned(check) if _WRITTEN.fullmatch(str(given))]
    sure = bool(check.bounds) and len(returned) == len(run.returned(check))
    return sure and all(abs(value - given) > check.allowed * abs(given) + _ROUNDING for given in returned)


def value_off(run: OracleRun) -> Iterator[Mutant]:
    """Yield mutants with a figure a fifth lower or higher."""
    for figure, number in _written(run):
        for factor in _FACTORS:
            old, new = run.text[slice(*figure.span)], _off(float(number.group()), factor)
            text = run.replaced(*number.span(), new)
            value = figure.value * float(new) / float(number.group())
            breaks = _other_figure(run, figure.span, lambda check, value=value: _strays(run, check, value))  # type: ignore[misc]  # bound now
            if new != number.group():
                yield Mutant(f"{old} became {old.replace(number.group(), new, 1)}", run.saying(text), breaks)


def _off(value: float, factor: float) -> str:
    """Return a value times a factor as text; a whole number stays whole if rounding changes little."""
    changed = value * factor
    whole = round(changed)
    close = abs(whole / value - factor) <= 0.1  # noqa: PLR2004  half of the change that is made
    return str(whole) if value == int(value) and close else f"{changed:.3g}"


def clock_shifted(run: OracleRun) -> Iterator[Mutant]:
    """Yield mutants with a clock time an hour earlier or later."""
    for moment in run.document.times:
        written = _CLOCK.search(run.text, *moment.span)
        if written is None or len(moment.minutes) != 1:
            continue
        for shift in _SHIFTS:
            minutes = (moment.minutes[0] + shift) % _DAY
            old, new = run.text[slice(*moment.span)], f"{minutes // 60:02d}:{minutes % 60:02d}"
            breaks = _other_figure(run, moment.span, lambda check, now=minutes: _time_not_allowed(run, check, now))  # type: ignore[misc]  # bound now
            yield Mutant(f"{old} became {new}", run.saying(run.replaced(*moment.span, new)), breaks)


def _time_not_allowed(run: OracleRun, check: Check, minutes: int) -> bool:
    """Return whether a clock_time check surely does not allow a time of day, in minutes after midnight."""
    if not isinstance(check, ClockTime):
        return False
    bounds = check.after or "00:00", check.before or "23:59"
    after, before = (int(clock[:2]) * 60 + int(clock[3:]) for clock in bounds)
    if not (after <= minutes <= before if after <= before else minutes >= after or minutes <= before):
        return True
    clocks = [_CLOCK.fullmatch(given) if isinstance(given, str) else None for given in run.returned(check)]
    returned = [int(clock[1]) * 60 + int(clock[2]) for clock in clocks if clock]
    apart = [min((minutes - given) % _DAY, (given - minutes) % _DAY) for given in returned]
    sure = bool(check.bounds) and len(returned) == len(clocks)
    return sure and all(distance > check.tolerance_min for distance in apart)


def invented_phone(run: OracleRun) -> Iterator[Mutant]:
    """Yield mutants with a telephone number that does not exist, changed or added."""
    phones = list(_PHONE.finditer(run.text))
    for match in phones:
        new = f"{match.group()[:-4]}{_FALSE_ENDING}"
        text = run.replaced(match.start(), match.end(), new)
        yield Mutant(
            f"{match.group()} became {new}", run.saying(text), _any_breaks(_tells_phones, _words_gone(run, text))
        )
    values = (value for thing in run.things for value in thing.values("phone"))
    returned = [match.group() for value in values for match in _PHONE.finditer(value)]
    if returned and not phones:
        new = f"{min(returned)[:-4]}{_FALSE_ENDING}"
        text = run.and_then(f"Their telephone number is {new}.", f"电话是{new}。")
        yield Mutant(f"the telephone number {new} was added", run.saying(text), _tells_phones)


def _tells_phones(check: Check, _finding: Finding) -> bool:
    """Return whether a check judges claims of telephone numbers."""
    return isinstance(check, Grounded) and (not check.claims or "phone" in check.claims)


# -- calls and what is handed over: calls, output ----------------------------------------------------------------------


def dropped_call(run: OracleRun) -> Iterator[Mutant]:
    """Yield mutants without the calls of one tool."""
    for tool in dict.fromkeys(step.tool for step in run.trajectory.calls):

        def breaks(check: Check, _finding: Finding, tool: str = tool) -> bool:
            """Return whether a check needs a call of the tool."""
            if isinstance(check, Calls):
                return (check.tool == tool and check.least > 0) or any(step.tool == tool for step in check.steps)
            return isinstance(check, Output) and check.tool == tool

        yield Mutant(f"{tool} was never called", run.with_calls(tool, lambda _: None), breaks)


def other_argument(run: OracleRun) -> Iterator[Mutant]:
    """Yield mutants in which a tool was called with another way of travelling."""
    for tool in dict.fromkeys(step.tool for step in run.trajectory.calls if "mode" in step.arguments):
        modes = {str(step.arguments.get("mode")) for step in run.trajectory.calls if step.tool == tool}
        for new in [mode for mode in ("transit", "walking", "driving") if mode not in modes][:1]:

            def breaks(check: Check, _finding: Finding, tool: str = tool, new: str = new) -> bool:
                """Return whether a check needs another way of travelling in the calls."""
                if not isinstance(check, Calls) or check.tool != tool or "mode" not in check.arguments:
                    return False
                return check.least > 0 and check.arguments["mode"].fits(new) is False

            turned = run.with_calls(tool, lambda arguments, new=new: {**arguments, "mode": new})  # type: ignore[misc]  # bound now
            yield Mutant(f"{tool} was called for the mode {new}", turned, breaks)


def other_id(run: OracleRun) -> Iterator[Mutant]:
    """Yield mutants with a wrong, invented, missing or additional id in the structured output."""
    if run.output:
        yield Mutant("nothing was handed over", run.handing(None), lambda check, _: isinstance(check, Output))
    for check, key, entries, at in _handed_over(run):
        own = entries[at][key]
        yield _handing(run, check, [*entries[:at], *entries[at + 1 :]], f"{own} was left out")
        returned = dict.fromkeys(str(row[key]) for row in _rows(run, check) if key in row)
        others = [other for other in returned if other != str(own)][:_OTHERS]
        for other in (f"{own}{_FALSE_ENDING}", *others):
            changed = {**entries[at], key: other}
            yield _handing(run, check, [*entries[:at], changed, *entries[at + 1 :]], f"{own} became {other}")
            yield _handing(run, check, [*entries, changed], f"{other} was handed over beside {own}")


def _handed_over(run: OracleRun) -> Iterator[tuple[Output, str, list[JsonObject], int]]:
    """Yield the checks that look up ids in an output list, each with the id's key, the list, and the index of an entry."""
    for requirement in run.case.truth.requirements:
        for check in requirement.leaves:
            if not isinstance(check, Output) or check.id is None or not check.path or "." in check.path + check.id:
                continue
            given = run.output.get(check.path)
            entries: list[JsonObject] = given if isinstance(given, list) else []
            for at, entry in enumerate(entries):
                if isinstance(entry, dict) and check.id in entry and (not check.entry or fits_row(check.entry, entry)):
                    yield check, check.id, entries, at


def _rows(run: OracleRun, check: Output) -> list[Mapping[str, Json]]:
    """Return the rows that a check's tool returned."""
    calls = [step for step in run.trajectory.calls if step.tool == check.tool and step.status == "ok"]
    return [row.record for step in calls for row in returned_rows(run.tools[step.tool], step.result)]


def _handing(run: OracleRun, changed: Output, entries: list[JsonObject], words: str) -> Mutant:
    """Return the mutant with other entries in the list of an output check."""

    def breaks(check: Check, _finding: Finding) -> bool:
        """Return whether the new entries fail a check: no single entry matches, or its row does not."""
        if not isinstance(check, Output) or check.id is None or check.path != changed.path:
            return False
        meant = [entry for entry in entries if not check.entry or fits_row(check.entry, entry)]
        ids = {str(row.get(check.id)) for row in _rows(run, check) if fits_row(check.where, row)}
        fits = all(str(entry.get(check.id or "")) in ids for entry in meant)
        return not meant or (bool(check.entry) and len(meant) > 1) or not fits

    return Mutant(words, run.handing({**run.output, changed.path: entries}), breaks)


_WRONG = (
    *(another_place, second_choice, swapped_order, value_off, clock_shifted, invented_phone, dropped_constraint),
    *(unneeded_question, dropped_call, other_argument, other_id),
)
WRONG: dict[str, Callable[[OracleRun], Iterator[Mutant]]] = {each.__name__: each for each in _WRONG}


#: Manners before and behind an answer, in English and in Chinese.
_MANNERS = (
    (("Sure, happy to help!", "Have a lovely day!"), ("好的，很高兴为您服务！", "祝您一切顺利！")),
    (("Thank you for asking.", "I hope that this helps."), ("感谢您的提问。", "希望对您有帮助。")),
)
#: Sentences that turn a place down, in English and in Chinese; the first two stand before the answer.
_TURNED_DOWN = (
    ("{0} is closed, so don't go there.", "{0}已经打烊，就不要去了。"),
    ("{0} is nearer, but it is already closed.", "{0}虽然更近，但是不适合您。"),
    ("I would not go to {0}.", "不推荐{0}。"),
    ("{0} is not suitable.", "{0}不符合您的要求。"),
)


def politeness(run: OracleRun) -> Iterator[Mutant]:
    """Yield harmless mutants with polite words around the answer."""
    for languages in _MANNERS:
        before, behind = languages[run.chinese]
        yield Mutant("polite words around", run.saying(run.space.join((before, run.text, behind))))


def turned_down(run: OracleRun) -> Iterator[Mutant]:
    """Yield harmless mutants that reject another place with a reason, before or after the answer."""
    others = [thing.name for thing in run.things if thing not in run.named and _may_be_named(run, thing.name)]
    for index, (name, languages) in enumerate(zip(cycle(others), _TURNED_DOWN, strict=False)):
        sentence = languages[run.chinese].format(name)
        parts = (run.text, sentence) if index > 1 else (sentence, run.text)
        yield Mutant(f"turned down: {sentence}", run.saying(run.space.join(parts)))


def _may_be_named(run: OracleRun, name: str) -> bool:
    """Return whether no check depends on the bare words of a name, so that rejecting it is harmless."""
    checks = (check for requirement in run.case.truth.requirements for check in requirement.leaves)
    return not any(phrase in name or name in phrase for check in checks for phrase in _phrases(check))


def _phrases(check: Check) -> tuple[str, ...]:
    """Return the phrases and names that a check searches for; empty for other checks."""
    if isinstance(check, Says):
        return (*check.any, *check.all, *check.none)
    return check.none_of if isinstance(check, Recommends) and check.any_of else ()


def pasted_results(run: OracleRun) -> Iterator[Mutant]:
    """Yield the harmless mutant with all results pasted after the answer: copies recommend nothing."""
    results = [step.result for step in run.trajectory.calls if step.status == "ok"]
    if results:
        pasted = "\n".join(json.dumps(result, ensure_ascii=False) for result in results)
        yield Mutant("all results of the tools were appended", run.saying(f"{run.text}\n{pasted}"))


def layout(run: OracleRun) -> Iterator[Mutant]:
    """Yield harmless mutants in other layouts: lists, paragraphs, double spaces, names in bold."""
    texts = [run.document.words(span).strip() for span in run.document.sentences]
    yield Mutant("a bullet list", run.saying("\n".join(f"- {text}" for text in texts)))
    yield Mutant("a numbered list", run.saying("\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1))))
    yield Mutant("paragraphs", run.saying("\n\n".join(texts)))
    if " " in run.text:
        yield Mutant("double spaces", run.saying(run.text.replace(" ", "  ")))
    names = sorted((re.escape(thing.name) for thing in run.named), key=lambda name: (-len(name), name))
    if names:
        yield Mutant("names in bold", run.saying(re.sub("|".join(names), r"**\g<0>**", run.text)))


def other_units(run: OracleRun) -> Iterator[Mutant]:
    """Yield harmless mutants with a length or duration in another unit."""
    for figure, number in _written(run):
        if new := _converted(figure, float(number.group()), chinese=run.chinese):
            old = run.text[slice(*figure.span)]
            yield Mutant(f"{old} became {new}", run.saying(run.replaced(*figure.span, new)))


def _converted(figure: Quantity, written: float, *, chinese: bool) -> str:
    """Return a length or duration as text in another unit; empty if the conversion is not exact."""
    value = figure.value
    if figure.unit == "m":
        short = value == written
        return f"{value / 1000 if short else value:g}" + (("公里", " km") if short else ("米", " m"))[not chinese]
    if figure.unit != "min" or value != written:
        return ""
    if value >= 60 and value % 60:  # noqa: PLR2004  minutes of an hour
        hours, minutes = divmod(int(value), 60)
        return f"{hours}小时{minutes}分钟" if chinese else f"{hours} h {minutes} min"
    return f"{value / 60:g}" + ("小时" if chinese else " h") if value % 30 == 0 else ""


def other_spelling(run: OracleRun) -> Iterator[Mutant]:
    """Yield harmless mutants with the output's entries in another order, or an id as number instead of text."""
    for check, key, entries, at in _handed_over(run):
        own = entries[at][key]
        text = str(own)
        turned: Json = int(text) if isinstance(own, str) and text.isdecimal() and text == str(int(text)) else text
        spelt = [*entries[:at], {**entries[at], key: turned}, *entries[at + 1 :]]
        for words, given in ((f"{own!r} became {turned!r}", spelt), ("the entries in another order", entries[::-1])):
            yield Mutant(words, run.handing({**run.output, check.path: given}))


_HARMLESS = (politeness, turned_down, pasted_results, layout, other_units, other_spelling)
HARMLESS: dict[str, Callable[[OracleRun], Iterator[Mutant]]] = {each.__name__: each for each in _HARMLESS}


#: A call as it is made again: the index of its turn, the tool, the arguments.
_Call = tuple[int, str, JsonObject]
#: So many other things are tried in the place of one.
_OTHERS = 2


def write_changes(case: Case, suite: SandboxSuite, oracle: Trajectory) -> Iterator[tuple[str, Mutant]]:
    """Yield mutants whose changed writing calls lead to a different end state, each with its kind.

    Args:
        case: the case.
        suite: its suite.
        oracle: the oracle's dialogue, as it was played.

    Raises:
        MapsatError: the sandbox cannot be made, or breaks.
    """
    steps = [(index, step) for index, turn in enumerate(oracle.turns) for step in turn.steps if step.kind == "call"]
    calls: list[_Call] = [(index, step.tool, step.arguments) for index, step in steps]
    end = end_of(oracle, case, suite)
    for at, (_, step) in enumerate(steps):
        if not step.changed:
            continue
        for kind, words, changed in _changes(calls, at, step, end, suite):
            played = _played(case, suite, oracle, changed)
            if any(differences(end.changes, own_changes(played.acts))):
                yield kind, Mutant(words, played)


def _changes(
    calls: Sequence[_Call], at: int, step: Step, end: End, suite: SandboxSuite
) -> Iterator[tuple[str, str, Sequence[_Call]]]:
    """Yield the ways to make one writing call wrong: kind, words and all calls of the dialogue."""
    before, (turn, tool, arguments), behind = calls[:at], calls[at], calls[at + 1 :]
    written = call_text(tool, arguments)
    yield "dropped_write", f"{written} was not called", [*before, *behind]
    yield "doubled_write", f"{written} was called twice", [*calls[: at + 1], calls[at], *behind]
    properties = suite.tools[tool].parameters.get("properties", {})
    for name, value in arguments.items():
        ids = [*_other_ids(value, step, end)]
        for other in (*ids, *_other_values(value, properties.get(name, {}))):
            call = (turn, tool, {**arguments, name: other})
            if other in ids:
                yield "added_write", f"{call_text(*call[1:])} was called as well", [*calls[: at + 1], call, *behind]
            yield "altered_write", f"{written} was called with {name}={other!r}", [*before, call, *behind]


def _other_ids(value: Json, step: Step, end: End) -> Iterator[str]:
    """Yield ids of other rows in a changed table, if the value is the id of the changed row."""
    for table in sorted({change.table for change in step.changed if change.id == value}):
        yield from [row_id for row_id in end.state.table(table, key=end.key(table)) if row_id != value][:_OTHERS]


def _other_values(value: Json, schema: Mapping[str, Json]) -> Iterator[Json]:
    """Yield other values that the schema allows: of an enum, a boolean or a number."""
    if isinstance(schema.get("enum"), list):
        yield from [other for other in schema["enum"] if other != value][:_OTHERS]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1


def _played(case: Case, suite: SandboxSuite, oracle: Trajectory, calls: Sequence[_Call]) -> Trajectory:
    """Return the oracle's dialogue with other calls, answered by a fresh sandbox, in which the case's events come."""
    sandbox, reply = make_sandbox(case, suite), 0
    events = getattr(sandbox, "events", None)
    turns = []
    for index, turn in enumerate(oracle.turns):
        steps: list[Step] = []
        if turn.role == "user":
            steps += [step for step in turn.steps if step.kind != "event"]
            if events is not None and reply:
                events.replied(reply)
        reply += turn.role == "agent"
        for at, tool, arguments in calls:
            if at == index and turn.role == "agent":
                steps.append(sandbox.call(tool, arguments).step(tool, arguments))
                steps += () if events is None else events.taken()
        happened = () if events is None else events.taken()
        turns.append(turn.model_copy(update={"steps": (*happened, *steps)}))
    return oracle.model_copy(update={"turns": tuple(turns), "setup": sandbox.setup})


# -- judged: what is killed, what survives, what is accused --------------------------------------------------------------

#: The most mutants of one kind that are made of one case: every kind gets a hearing, and a long answer stays quick.
MOST = 12


@dataclass(frozen=True)
class Trial:
    """A judged mutant.

    Attributes:
        kind: the operator; ``oracle`` for the unchanged dialogue.
        case: the case's id.
        changed: what was changed, in words.
        violates: the requirements that the change makes false; empty for a harmless mutant.
        lowered: the requirements that got less than on the oracle.
        undecided: the requirements that the judge leaves open though it decided them on the oracle.
        why: what the judge says of the requirements that decide: those that should have been lowered and were not, or the reverse.
    """

    kind: str
    case: str
    changed: str
    violates: tuple[str, ...]
    lowered: tuple[str, ...]
    undecided: tuple[str, ...]
    why: Mapping[str, str]

    @property
    def missed(self) -> tuple[str, ...]:
        """The violated requirements whose labels the judge neither lowers nor leaves undecided."""
        return tuple(name for name in self.violates if name not in (*self.lowered, *self.undecided))

    @property
    def passed(self) -> bool:
        """Whether the judge made no error: it missed no violated requirement or, for a harmless mutant, lowered none."""
        return not self.missed if self.violates else not self.lowered

    @property
    def open(self) -> bool:
        """Whether the judge made no error but left a relevant requirement undecided."""
        return self.passed and bool(set(self.undecided) & set(self.violates) if self.violates else self.undecided)

    def to_json(self) -> JsonObject:
        """Return the trial as JSON data, as listed for a survivor."""
        survivor = {"kind": self.kind, "case": self.case, "requirements": list(self.missed)}
        return {**survivor, "changed": self.changed, "why": dict(self.why)}


@dataclass(frozen=True)
class Proof:
    """All mutants of a suite, judged.

    Attributes:
        trials: the mutants of the oracles, case by case, each case's oracle first.
        untried: the cases that could not be tried, with the reason.
        requirements: the requirements of each case that was tried.
        idle: changes that surely break no check, and so count for nothing: case, kind, what was changed.
    """

    trials: tuple[Trial, ...]
    untried: Mapping[str, str] = field(default_factory=dict)
    requirements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    idle: tuple[tuple[str, str, str], ...] = ()

    @property
    def wrong(self) -> tuple[Trial, ...]:
        """The trials of wrong mutants, which violate a requirement."""
        return tuple(trial for trial in self.trials if trial.violates)

    @property
    def harmless(self) -> tuple[Trial, ...]:
        """The trials of harmless mutants, including the unchanged oracles."""
        return tuple(trial for trial in self.trials if not trial.violates)

    @property
    def killed(self) -> tuple[Trial, ...]:
        """The wrong mutants for which the judge lowered all violated requirements."""
        return tuple(trial for trial in self.wrong if trial.passed and not trial.open)

    @property
    def survived(self) -> tuple[Trial, ...]:
        """The wrong mutants with a violated requirement that the judge missed."""
        return tuple(trial for trial in self.wrong if not trial.passed)

    @property
    def false_alarms(self) -> tuple[Trial, ...]:
        """The harmless mutants for which the judge lowered a requirement."""
        return tuple(trial for trial in self.harmless if not trial.passed)

    def to_json(self) -> JsonObject:
        """Return the counts and the survivors as JSON data."""
        by_truth = {"wrong": self.wrong, "harmless": self.harmless}
        return {
            "wrong": len(self.wrong),
            "killed": len(self.killed),
            "harmless": len(self.harmless),
            "false_alarms": len(self.false_alarms),
            "undecided": {name: sum(trial.open for trial in trials) for name, trials in by_truth.items()},
            "survived": [trial.to_json() for trial in self.survived],
        }


def prove(cases: Iterable[Case], suite: Suite) -> Proof:
    """Make mutants of the oracle dialogues of some cases, judge them and return the results.

    Args:
        cases: the cases.
        suite: their suite.

    Raises:
        SuiteError: a recording of a case cannot be read.
    """
    words, calibration = suite.vocabulary, suite.calibration
    judge = make_judge("checks", suite.tools, root=Path(), vocabulary=words, suite=suite, calibration=calibration)
    trials: list[Trial] = []
    untried: dict[str, str] = {}
    requirements: dict[str, tuple[str, ...]] = {}
    idle: list[tuple[str, str, str]] = []
    for case in cases:
        trajectory = play_oracle(case, suite)
        if reason := _unfit(case, trajectory):
            untried[case.id] = reason
            continue
        requirements[case.id] = tuple(requirement.id for requirement in case.truth.requirements)
        run = OracleRun(case, suite.tools, trajectory, judge.judge(case, trajectory), suite.vocabulary)
        trials += _changes_of_words(run, judge, idle)
        trials += _changes_of_writes(run, suite, judge)
    return Proof(tuple(trials), untried, requirements, tuple(idle))


def _unfit(case: Case, trajectory: Trajectory) -> str:
    """Return why a case cannot be tested with mutants; empty if it can."""
    if not case.truth.oracle:
        return "it has no oracle dialogue"
    if trajectory.fault is not None:
        return trajectory.fault.message
    return "" if any(turn.text.strip() for turn in trajectory.replies) else "its oracle says nothing"


def _changes_of_words(run: OracleRun, judge: Judge, idle: list[tuple[str, str, str]]) -> Iterator[Trial]:
    """Yield the trials of the oracle and its mutants; wrong mutants that break no check for certain are added to ``idle``."""
    open_ = tuple(label.requirement for label in run.verdict.labels if label.value is None)
    accused = tuple(label.requirement for label in run.verdict.labels if label.value == 0)
    yield Trial("oracle", run.case.id, "nothing", (), accused, open_, _why(run.labels, accused))
    seen = {trajectory_digest(run.trajectory)}
    for kind, operator in (WRONG | HARMLESS).items():
        for mutant in islice(operator(run), MOST):
            digest = trajectory_digest(mutant.trajectory)
            if digest in seen:
                continue
            seen.add(digest)
            broken = () if kind in HARMLESS else violated(run, mutant)
            if broken or kind in HARMLESS:
                yield _trial(run, judge, kind, mutant, broken)
            else:
                idle.append((run.case.id, kind, mutant.changed))


def violated(run: OracleRun, mutant: Mutant) -> tuple[str, ...]:
    """Return the requirements whose value is certainly lower than for the oracle, by the checks that a mutant breaks."""

    def holds(check: Check) -> bool | None:
        """Return whether a check passes on the mutant; None if this is unknown."""
        parts = [holds(part) for part in check.parts]
        if isinstance(check, Not):
            return None if parts[0] is None else not parts[0]
        if parts:
            needed = check.n if isinstance(check, AtLeast) else 1 if isinstance(check, AnyOf) else len(parts)
            reached, reachable = parts.count(True) >= needed, len(parts) - parts.count(False) >= needed
            return True if reached else None if reachable else False
        finding = run.finding(check)
        return not mutant.breaks(check, finding) if finding.passed else None

    def level(requirement: Requirement) -> float | None:
        """Return the value of a requirement on the mutant; None if it is unknown."""
        rules = [(1.0, requirement.check)] if requirement.check is not None else []
        rules += [(rule.level, rule.check) for rule in requirement.levels]
        for reached, check in rules:
            if (answer := holds(check)) is not False:
                return reached if answer else None
        return 0.0

    levels = {requirement.id: level(requirement) for requirement in run.case.truth.requirements}
    before = {name: label.value or 0 for name, label in run.labels.items()}
    return tuple(name for name, now in levels.items() if now is not None and now < before[name])


def _changes_of_writes(run: OracleRun, suite: Suite, judge: Judge) -> Iterator[Trial]:
    """Yield the trials of mutants with a different end state; at least one required requirement must break."""
    required = tuple(requirement.id for requirement in run.case.truth.required)
    changes = sorted(write_changes(run.case, suite, run.trajectory), key=itemgetter(0))
    for kind, mutants in groupby(changes, itemgetter(0)):
        for _, mutant in islice(mutants, MOST):
            trial = _trial(run, judge, kind, mutant, required)
            broken = tuple(name for name in required if name in (*trial.lowered, *trial.undecided))
            yield replace(trial, violates=broken or required)


def _trial(run: OracleRun, judge: Judge, kind: str, mutant: Mutant, broken: tuple[str, ...]) -> Trial:
    """Judge a mutant and return the trial, with the labels that fell or became undecided compared with the oracle."""
    labels = {label.requirement: label for label in judge.judge(run.case, mutant.trajectory).labels}
    before = {name: label.value for name, label in run.labels.items() if label.value is not None}
    undecided = tuple(name for name in before if labels[name].value is None)
    lowered = tuple(name for name, value in before.items() if (now := labels[name].value) is not None and now < value)
    deciding = [name for name in broken if name not in lowered] if broken else lowered
    return Trial(kind, run.case.id, mutant.changed, broken, lowered, undecided, _why(labels, deciding))


def _why(labels: Mapping[str, Label], names: Iterable[str]) -> dict[str, str]:
    """Return the reasons of some labels by requirement."""
    return {name: labels[name].why for name in names}


#: The columns of the four numbers, with the space before them.
_NUMBERS = 37
_SHOWN = 60


def table(proof: Proof) -> Iterator[str]:
    """Yield the lines of the report on mutants, as wide as the terminal."""
    title = "mutants by case and requirement (killed: wrong; alarms: harmless; undec.: left open)"
    head = f"{'':{columns() - _NUMBERS}} {'wrong':>7} {'killed':>7} {'alarms':>7} {'undec.':>6}"
    yield from wrap(title, columns(), hang=2)
    yield head
    for case, requirements in proof.requirements.items():
        trials = [trial for trial in proof.trials if trial.case == case]
        yield _row(case, *_counts(trials))
        for requirement in requirements:
            yield _row(f"  {requirement}", *_counts_of(requirement, trials))
    yield from ("", "mutants by kind", head)
    for kind in dict.fromkeys(trial.kind for trial in proof.trials):
        yield _row(kind, *_counts([trial for trial in proof.trials if trial.kind == kind]))
    yield from _idle(proof)
    yield from _listed("survived", proof.survived)
    yield from _listed("false alarm", proof.false_alarms)
    for case, why in proof.untried.items():
        yield from wrap(f"not tried: case {case}: {printable(why)}", columns(), hang=2)
    yield ""
    yield from _summary(proof)


def _counts(trials: Sequence[Trial]) -> tuple[int, int, int, int]:
    """Return how many trials are wrong, killed, false alarms and undecided."""
    proof = Proof(tuple(trials))
    return len(proof.wrong), len(proof.killed), len(proof.false_alarms), sum(trial.open for trial in trials)


def _counts_of(requirement: str, trials: Sequence[Trial]) -> tuple[int, int, int, int]:
    """Return how many trials are wrong, killed, false alarms and undecided for one requirement."""
    wrong = [trial for trial in trials if requirement in trial.violates]
    harmless = [trial for trial in trials if not trial.violates]
    killed = sum(requirement not in (*trial.missed, *trial.undecided) for trial in wrong)
    alarms = sum(requirement in trial.lowered for trial in harmless)
    return len(wrong), killed, alarms, sum(requirement in trial.undecided for trial in (*wrong, *harmless))


def _row(name: str, wrong: int, killed: int, alarms: int, undecided: int) -> str:
    """Return a line of the report: a name and four counts."""
    width = columns() - _NUMBERS
    lead = name[: len(name) - len(name.lstrip())]
    name = cut(printable(name.strip()), width - 2)
    pad = " " * (width - len(lead) - cell_width(name))
    numbers = [f"{wrong or '-':>7}", f"{killed if wrong else '-':>7}", f"{alarms or '-':>7}", f"{undecided or '-':>6}"]
    return f"{lead}{name}{pad} {' '.join(numbers)}"


def _idle(proof: Proof) -> Iterator[str]:
    """Yield the lines of the report on changes that do not affect any check of a case."""
    for case in dict.fromkeys(case for case, _, _ in proof.idle):
        yield ""
        yield from wrap(f"not counted: in case {case} no check is surely broken by", columns(), hang=2)
        kinds: dict[str, list[str]] = {}
        for _, kind, changed in (change for change in proof.idle if change[0] == case):
            kinds.setdefault(kind, []).append(cut(printable(changed), _SHOWN))
        for kind, changes in kinds.items():
            yield from wrap(f"{kind}: {'; '.join(changes)}", columns(), indent="  ", hang=2)


def _listed(what: str, trials: Iterable[Trial]) -> Iterator[str]:
    """Yield the lines of the report on some trials, with the changes and the reasons."""
    for trial in trials:
        yield ""
        requirements = ", ".join(trial.missed or trial.lowered)
        yield from wrap(f"{what}: {trial.kind}: case {trial.case}: {requirements}", columns(), hang=2)
        yield from wrap(f"changed: {printable(trial.changed)}", columns(), indent="  ", hang=2)
        for requirement, why in trial.why.items():
            yield from wrap(f"{requirement}: {printable(why)}", columns(), indent="  ", hang=2)


def _summary(proof: Proof) -> Iterator[str]:
    """Yield the last lines of the report: killed, false alarms and undecided."""
    wrong, harmless = len(proof.wrong), len(proof.harmless)
    killed, alarms = len(proof.killed), len(proof.false_alarms)
    unsure, open_ = (sum(trial.open for trial in trials) for trials in (proof.wrong, proof.harmless))
    for line in (
        f"{killed} of {wrong} wrong mutants killed{_share(killed, wrong)}",
        f"{alarms} false alarms on {harmless} harmless ones{_share(alarms, harmless)}",
        f"undecided: {unsure} wrong{_share(unsure, wrong)}, {open_} harmless{_share(open_, harmless)}",
    ):
        yield from wrap(line, columns(), hang=2)


def _share(part: int, whole: int) -> str:
    """Return a share in per cent in brackets; empty if the whole is 0."""
    return f" ({100 * part / whole:.1f} %)" if whole else ""
