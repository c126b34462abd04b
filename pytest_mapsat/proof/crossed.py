"""Mutants made of a suite's labelled answers: natural words right and wrong, crossed with each other.

They share no words with the language packs: rejections, paraphrases and figures are those that people and models wrote. What is true of
each follows from the labels of the answers that it is made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from pytest_mapsat.model import (
    All,
    Avoids,
    Check,
    Chooses,
    ClockTime,
    Factor,
    LabelledAnswer,
    Number,
    Recommends,
    mark_value,
)

from .oracle_run import Mutant, OracleRun
from .plain_checks import PlainDialogue, is_returned
from .plain_text import PHONE, UNITS, Clock, Figure, clocks, figures, folded, sentences
from .violations import checks_of

#: Shorter words, and pieces of Chinese names, tell no thing from another.
_WORD, _PIECE = 4, 2
#: How far, relatively, two figures of one value may lie apart.
_TOLERANCE = 0.02
_CLOSING = ".!?。！？"

Amount = Figure | Clock


@dataclass(frozen=True)
class Crossing:
    """A mutant of which the labels tell what is true.

    Attributes:
        mutant: the oracle's dialogue with another last reply.
        violates: the factors that it surely breaks; none where it is harmless.
        holds: the factors that it surely keeps, where it is harmless.
    """

    mutant: Mutant
    violates: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Answer:
    """A labelled reply: its words, and the factors that hold and do not."""

    id: str
    text: str
    kept: tuple[str, ...]
    broken: tuple[str, ...]

    @classmethod
    def of(cls, answer: LabelledAnswer) -> _Answer:
        kept = tuple(name for name, mark in answer.labels.items() if mark_value(mark) == 1)
        broken = tuple(name for name, mark in answer.labels.items() if mark_value(mark) == 0)
        return cls(answer.id, answer.text or "", kept, broken)


@dataclass(frozen=True, eq=False)
class Answers:
    """The labelled replies to one case.

    Attributes:
        run: its oracle, whose calls the replies are based on.
        right: those that keep all that the case requires.
        wrong: the others.
    """

    run: OracleRun
    right: tuple[_Answer, ...]
    wrong: tuple[_Answer, ...]

    @classmethod
    def of(cls, run: OracleRun, answers: Iterable[LabelledAnswer]) -> Answers:
        """Return the answers to the run's case that are one reply, sorted by what their labels say."""
        required = {factor.id for factor in run.case.truth.required}
        told = [_Answer.of(one) for one in answers if one.case == run.case.id and one.text is not None]
        right = tuple(one for one in told if required <= {*one.kept})
        return cls(run, right, tuple(one for one in told if required & {*one.broken}))


def paraphrase(answers: Answers) -> Iterator[Crossing]:
    """A right answer, as it was written."""
    for one in answers.right:
        yield Crossing(Mutant(f"the right answer {one.id}", answers.run.saying(one.text)), holds=one.kept)


def wrong_answer(answers: Answers) -> Iterator[Crossing]:
    """A wrong answer, as it was written."""
    for one in answers.wrong:
        yield Crossing(Mutant(f"the wrong answer {one.id}", answers.run.saying(one.text)), violates=one.broken)


def crossed_figure(answers: Answers) -> Iterator[Crossing]:
    """The wrong figure of an answer in a right one, in place of the true figure that the wrong answer does not have."""
    for bad, wrong in _with_a_wrong_figure(answers):
        for good in answers.right:
            told = [
                one for one in _amounts(good.text) if _sort(one) == _sort(wrong) and _was_meant(answers.run, bad, one)
            ]
            missing = [one for one in told if not any(_same(one, other) for other in _amounts(bad.text))]
            if len(missing) == 1 and (text := _replaced(good.text, missing[0], wrong)):
                changed = f"in {good.id}, {_words(good.text, missing[0])} became what {bad.id} says: {_words(bad.text, wrong)}"
                yield Crossing(Mutant(changed, answers.run.saying(text)), violates=bad.broken)


def crossed_sentence(answers: Answers) -> Iterator[Crossing]:
    """The sentence of an answer that gives a wrong figure of a thing by its name, behind a right answer."""
    for bad, wrong in _with_a_wrong_figure(answers):
        for start, end in sentences(bad.text):
            said = bad.text[start:end].strip()
            if start <= wrong.start < end and _stands_alone(said) and len(_named(said, answers.run)) == 1:
                for good in answers.right:
                    yield Crossing(_with(answers.run, good, said), violates=bad.broken)


def swapped_things(answers: Answers) -> Iterator[Crossing]:
    """Two things of one kind change names throughout a right answer: what it turned down is chosen now."""
    run = answers.run
    for good in answers.right:
        for one, other in permutations(_named(good.text, run), 2):
            broken = tuple(
                factor.id
                for factor in run.case.truth.factors
                if factor.id in good.kept and _asks_for(factor, one, other, good.text)
            )
            if broken and _alike(run, one, other) and not _otherwise_named(good.text, one, other):
                text = good.text.replace(one, "\0").replace(other, one).replace("\0", other)
                mutant = Mutant(f"in {good.id}, {one} and {other} changed names", run.saying(text))
                yield Crossing(mutant, violates=broken)


def crossed_rejection(answers: Answers) -> Iterator[Crossing]:
    """What a right answer says of a thing that it cannot propose, behind another right answer that does not name it."""
    run = answers.run
    for source in answers.right:
        for start, end in sentences(source.text):
            said = source.text[start:end].strip()
            named = _named(said, run)
            if len(named) != 1 or not _stands_alone(said) or not _excluded(run, named[0], source.text):
                continue
            for good in answers.right:
                if good is not source and not _pieces(named[0], "") & _all_pieces(good.text):
                    yield Crossing(_with(run, good, said), holds=good.kept)


#: Operators by kind.
CROSSED: dict[str, Callable[[Answers], Iterator[Crossing]]] = {
    operator.__name__: operator
    for operator in (paraphrase, wrong_answer, crossed_figure, crossed_sentence, swapped_things, crossed_rejection)
}


# -- figures -----------------------------------------------------------------------------------------------------------


def _with_a_wrong_figure(answers: Answers) -> Iterator[tuple[_Answer, Amount]]:
    """Yield the answers that break one fact only, and have one figure of its sort that neither the tools, the user nor a right answer has."""
    facts = {factor.id for factor in answers.run.case.truth.facts}
    known = list(_amounts(_evidence(answers.run)))
    known += [one for good in answers.right for one in _amounts(good.text)]
    for bad in answers.wrong:
        strange = [one for one in _amounts(bad.text) if not _is_known(one, known)]
        if (
            len(bad.broken) == 1
            and facts.issuperset(bad.broken)
            and len(strange) == 1
            and _is_spoken_of(answers.run, bad, strange[0])
        ):
            yield bad, strange[0]


def _checks(run: OracleRun, bad: _Answer) -> list[Number | ClockTime]:
    """Return the checks that hold the figures of the fact that an answer breaks against those that tools returned."""
    fact = next(factor for factor in run.case.truth.facts if factor.id == bad.broken[0])
    return [check for check in checks_of(fact) if isinstance(check, Number | ClockTime) and check.bounds]


def _is_spoken_of(run: OracleRun, bad: _Answer, one: Amount) -> bool:
    """Return whether the fact that an answer breaks speaks of figures of a sort, so that a wrong one of it broke it."""
    sorts = {"clock" if isinstance(check, ClockTime) else UNITS[check.unit][0] for check in _checks(run, bad)}
    return sorts == {_sort(one)}


def _was_meant(run: OracleRun, bad: _Answer, one: Amount) -> bool:
    """Return whether a figure is one that tools returned where the broken fact's check looks."""
    dialogue = PlainDialogue(run.trajectory, run.things)
    return any(is_returned(check, one, dialogue) for check in _checks(run, bad))


def _evidence(run: OracleRun) -> str:
    """Return all that the tools returned, the user said and the agent was shown, as text."""
    results = [json.dumps(call.result, ensure_ascii=False) for call in run.trajectory.calls]
    said = [turn.text for turn in run.trajectory.turns if turn.role == "user"]
    return "\n".join([*results, *said, run.case.visible.model_dump_json()])


def _amounts(text: str) -> list[Amount]:
    phones = [match.span() for match in PHONE.finditer(text)]
    told: list[Amount] = [*figures(text), *clocks(text)]
    return [one for one in told if not any(low <= one.start < high for low, high in phones)]


def _sort(one: Amount) -> str:
    return "clock" if isinstance(one, Clock) else one.dimension


def _same(one: Amount, other: Amount) -> bool:
    if isinstance(one, Clock) or isinstance(other, Clock):
        return isinstance(one, Clock) and isinstance(other, Clock) and one.minutes == other.minutes
    return one.dimension == other.dimension and abs(one.base - other.base) <= _TOLERANCE * abs(other.base)


def _is_known(one: Amount, known: Sequence[Amount]) -> bool:
    """Return whether a known figure has the value; a bare number in a result may be of any unit."""
    if isinstance(one, Clock):
        return any(_same(one, other) for other in known)
    scales = [scale for dimension, scale in UNITS.values() if dimension == one.dimension]
    bare = [other.value for other in known if isinstance(other, Figure) and other.unit == "count"]
    return any(_same(one, other) for other in known) or any(
        abs(one.base - value * scale) <= _TOLERANCE * abs(value * scale) for value in bare for scale in scales
    )


def _replaced(text: str, old: Amount, new: Amount) -> str:
    """Return a text with another value where a figure stands, in the figure's own unit."""
    words = _words(text, old)
    if isinstance(old, Clock) or isinstance(new, Clock):
        written = f"{new.minutes // 60:02d}:{new.minutes % 60:02d}" if isinstance(new, Clock) else ""
        return f"{text[: old.start]}{written}{text[old.end :]}" if written else ""
    before, after = f"{old.value:g}", f"{new.base / UNITS[old.unit][1]:g}"
    if before not in words or before == after:
        return ""
    return f"{text[: old.start]}{words.replace(before, after, 1)}{text[old.end :]}"


def _words(text: str, one: Amount) -> str:
    return text[one.start : one.end]


# -- things ------------------------------------------------------------------------------------------------------------


def _named(text: str, run: OracleRun) -> list[str]:
    """Return the names of things in a text, in full, none of them part of another one."""
    found = [thing.name for thing in run.things if thing.name in text]
    return [name for name in found if not any(name in other for other in found if other != name)]


def _asks_for(factor: Factor, one: str, other: str, text: str) -> bool:
    """Return whether a factor that a text keeps asks for one thing, the only such one that the text names, and not for another."""
    return any(
        _is(one, names) and not _is(other, names) and sum(name in text for name in names) == 1
        for names in _wanted(factor)
    )


def _wanted(factor: Factor) -> Iterator[tuple[str, ...]]:
    """Yield the names of which a factor asks that nothing else is proposed."""
    for check in _needed(factor.check) if factor.check is not None else ():
        if isinstance(check, Chooses):
            yield check.option
        elif isinstance(check, Recommends) and check.names and check.quantifier == "all":
            yield check.names


def _needed(check: Check) -> Iterator[Check]:
    """Yield the parts of a check without each of which it fails."""
    if isinstance(check, All):
        for part in check.checks:
            yield from _needed(part)
    else:
        yield check


def _alike(run: OracleRun, one: str, other: str) -> bool:
    """Return whether two things are of one kind, by the same tool, so that an answer that proposes one proposes the other only beside it."""
    things = [thing for thing in run.things if thing.name in (one, other)]
    tools = [{tool for tool, _ in thing.records} for thing in things]
    return bool(tools[0] & tools[-1]) and things[0].values("kind") == things[-1].values("kind")


def _excluded(run: OracleRun, name: str, text: str) -> bool:
    """Return whether a factor forbids that a thing is proposed, so that a right answer which names it turns it down or compares it."""
    for factor in run.case.truth.required:
        for names in _wanted(factor):
            if not _is(name, names) and any(wanted in text for wanted in names):
                return True
        needed = _needed(factor.check) if factor.check is not None else ()
        if any(isinstance(check, Avoids) and _is(name, check.names) for check in needed):
            return True
    return False


def _is(name: str, names: Iterable[str]) -> bool:
    return folded(name) in map(folded, names)


def _otherwise_named(text: str, one: str, other: str) -> bool:
    """Return whether a text has pieces of two names outside them, so that swapping the names would not swap all that is said."""
    rest = text.replace(one, "\n").replace(other, "\n")
    return bool((_pieces(one, other) | _pieces(other, one)) & _all_pieces(rest))


def _pieces(name: str, other: str) -> set[str]:
    """Return the words, or pairs of Chinese characters, of a name that another one does not have."""
    return _all_pieces(name) - _all_pieces(other)


def _all_pieces(text: str) -> set[str]:
    words = "".join(char if char.isalnum() else " " for char in folded(text)).split()
    found = {word for word in words if word.isascii() and len(word) >= _WORD}
    for word in words:
        if not word.isascii():
            found |= {word[place : place + _PIECE] for place in range(len(word) - 1)}
    return found


def _stands_alone(said: str) -> bool:
    """Return whether words are a whole sentence of running text: no row of a table, no item, no question."""
    return said[-1:] in _CLOSING and said[-1] not in "?？" and "|" not in said and said[:1].isalpha()


def _with(run: OracleRun, good: _Answer, said: str) -> Mutant:
    return Mutant(f"behind {good.id}: {said}", run.saying(f"{good.text.rstrip()}\n\n{said}"))
