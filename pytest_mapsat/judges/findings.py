"""The result of one check on one dialogue: the finding, the functions that find it, three-valued logic (Kleene), checks and matches in words, and the failures that count.

What is undecided stays so unless the known parts decide. The reasons and quotations that decided are kept.

How often failures that rest on reading prose are wrong is measured on labelled answers. A failure belongs to a *cell*: the family of its check, whether it rests on words
that are said or on words that are absent, and the size of the reply. It stands where the measured precision of its cell is surely high enough; else it is undecided, and
called suspect. Passes cannot be told apart so, and stand.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeVar

from pytest_mapsat.formats import read_calibration, signed
from pytest_mapsat.metrics import wilson_interval
from pytest_mapsat.model import (
    BaseCheck,
    Bound,
    Calibration,
    Check,
    ClockTime,
    EndState,
    ErrorRate,
    Family,
    Grounded,
    Judging,
    Located,
    Match,
    Misread,
    Number,
    Quote,
    Recommends,
    ReplySize,
    SameEnd,
    Step,
    Unchanged,
    listed,
    range_in_words,
    shown,
)

if TYPE_CHECKING:
    from .context import JudgedDialogue


_QUOTED = 60
#: The most characters of a call that a reason shows.
_CALL = 200
#: The most places that a reason shows.
SHOWN_AT_MOST = 5


class Finding(NamedTuple):
    """The result of one check.

    Attributes:
        passed: True, False, or None where it is undecided.
        why: the reason, with the place in the dialogue where there is one; of what is undecided, the words that are unclear.
        wanted: what would have satisfied the check, in words.
        quotes: the decisive, or the unclear, words of the dialogue, with their place in the original text.
        nothing_claimed: it passed because the claim it is about is not made.
        missed: tools whose calls, on which it rests, no recording answered.
        broken: it is undecided because the check itself could not be judged, which is no matter of words.
        compared: what was expected and what was found, or rows before and after, side by side.
        idle: it passed at an end that nothing had to be changed for.
        reading: the family of what was read of prose to come to it; empty where nothing was.
        absent: it failed because something is not said, and not because something is.
        check: the kind of the plain check that came to it; of several, the first that decided.
        exact: it rests on calls and changes alone, although its check may read prose.
    """

    passed: bool | None
    why: str
    wanted: str = ""
    quotes: tuple[Quote, ...] = ()
    nothing_claimed: bool = False
    missed: tuple[str, ...] = ()
    broken: bool = False
    compared: tuple[tuple[str, str], ...] = ()
    idle: bool = False
    reading: Family = ""
    absent: bool = False
    check: str = ""
    exact: bool = False


class _Functions(dict[type[BaseCheck], Callable[[Any, "JudgedDialogue"], "Finding"]]):
    """Maps each kind of check to its judging function; raises LookupError for a kind without a function."""

    def __missing__(self, kind: type[BaseCheck]) -> NoReturn:
        raise LookupError(f"no function judges {kind.__name__}: write one in judges/ with @judges({kind.__name__})")


#: kind of check -> the function that judges it. By type: each check of each dialogue is looked up here.
FUNCTION_OF = _Functions()
_Function = TypeVar("_Function", bound=Callable[[Any, "JudgedDialogue"], Finding])


def judges(kind: type[BaseCheck]) -> Callable[[_Function], _Function]:
    """Return a decorator that registers a function, from check and context to finding, as the judge of a kind of check."""

    def add(function: _Function) -> _Function:
        """Register the function and return it unchanged."""
        FUNCTION_OF[kind] = function
        return function

    return add


def absent(if_absent: str, why: str, wanted: str) -> Finding:
    """Return the finding for a missing statement: a failure, or a pass because nothing is claimed."""
    nothing_claimed = if_absent == "nothing_claimed"
    reason = f"{why}, so nothing is claimed" if nothing_claimed else why
    return Finding(nothing_claimed, reason, wanted, nothing_claimed=nothing_claimed, absent=not nothing_claimed)


def cite(quote: Quote) -> str:
    """Return ``turn 1 says 'X' (chars 3-4)``."""
    return f"turn {quote.turn} says {quoted(quote)}"


def quoted(quote: Quote) -> str:
    """Return ``'X' (chars 3-4)``."""
    text = quote.text if len(quote.text) <= _QUOTED else quote.text[: _QUOTED - 3] + "..."
    return f"{text!r} (chars {quote.start}-{quote.end})"


def first_few(texts: Sequence[str], joint: str = ", ") -> str:
    """Return the first few texts joined, with a count of the rest."""
    return listed(texts, SHOWN_AT_MOST, joint)


def cited(quotes: Iterable[Quote]) -> str:
    """Return citations of the first few quotes, with a count of the rest."""
    return first_few([cite(quote) for quote in quotes], "; ")


def unclear(quotes: Iterable[Quote], what: str, wanted: str) -> Finding:
    """Return an undecided finding that cites the unclear words.

    Args:
        quotes: these words, with their place.
        what: what of them is unclear, or, where there are none, why nothing is decided.
        wanted: what would have satisfied the check.
    """
    return citing(None, dict.fromkeys(quotes), what, wanted)


def citing(passed: bool | None, quotes: Iterable[Quote], what: str, wanted: str) -> Finding:
    """Return a finding that cites the deciding or unclear words, followed by the comment ``what``, which may be empty."""
    cites = tuple(quotes)
    why = ", ".join(filter(None, (cited(cites), what)))
    return Finding(passed, why, wanted, cites[:SHOWN_AT_MOST])


#: Where findings of several families decide together, the first of these names their kind.
_GRAVEST: tuple[Family, ...] = ("choice", "figure", "words", "travels", "claims")

Findings = Sequence[Finding]


def every(findings: Findings) -> Finding:
    """Return the finding that all parts hold; one failure decides."""
    return at_least(len(findings), findings)


def some(findings: Findings) -> Finding:
    """Return the finding that at least one part holds; one pass decides."""
    return at_least(1, findings)


def at_least(needed: int, findings: Findings) -> Finding:
    """Return the finding that at least ``needed`` parts hold, decided once enough pass or too many fail."""
    groups = {passed: [finding for finding in findings if finding.passed is passed] for passed in (True, False, None)}
    passed_ones, failed = groups[True], groups[False]
    if len(passed_ones) >= needed:
        return _joined(True, passed_ones[:needed], findings, needed)
    if len(findings) - len(failed) < needed:
        return _joined(False, failed, findings, needed)
    return _joined(None, groups[None], findings, needed)


def negated(finding: Finding) -> Finding:
    """Return the opposite finding; an undecided finding stays undecided."""
    passed = None if finding.passed is None else not finding.passed
    wanted = f"not: {finding.wanted}"
    return finding._replace(passed=passed, wanted=wanted, nothing_claimed=False, compared=(), idle=False)


def reading_of(deciding: Findings, *, sure: int = 0) -> Family:
    """Return the family of findings that decide together; empty if findings that read no prose decide alone.

    Args:
        deciding: the findings that decide.
        sure: how many that read no prose decide alone; 0: all must.
    """
    if sum(not finding.reading for finding in deciding) >= (sure or len(deciding)):
        return ""
    families = {finding.reading for finding in deciding}
    return next(family for family in _GRAVEST if family in families)


def _joined(passed: bool | None, deciding: Findings, findings: Findings, needed: int) -> Finding:
    """Return one finding from several, with the reasons and quotes of the deciding findings."""
    asked_for = deciding if passed is not True and needed == len(findings) else findings
    word = " and " if needed == len(findings) else " or "
    wanted = word.join(finding.wanted for finding in asked_for if finding.wanted)
    if 1 < needed < len(findings):
        wanted = f"at least {needed} of: {wanted}"
    sure = len(findings) - needed + 1 if passed is False else needed if passed else 0
    return Finding(
        passed,
        "; ".join(finding.why for finding in deciding if finding.why),
        wanted,
        tuple(quote for finding in deciding for quote in finding.quotes),
        nothing_claimed=passed is True and all(finding.nothing_claimed for finding in deciding),
        missed=tuple(sorted({tool for finding in deciding for tool in finding.missed})),
        broken=any(finding.broken for finding in deciding),
        compared=tuple(line for finding in deciding for line in finding.compared),
        idle=passed is True and all(finding.idle for finding in deciding),
        reading=reading_of(deciding, sure=sure),
        absent=any(finding.absent for finding in deciding),
        check=next((finding.check for finding in deciding), ""),
    )


def call_in_words(step: Step) -> str:
    """Return a call with its arguments as text; the status is added unless the call was answered."""
    inside = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in sorted(step.arguments.items())
    )
    inside = "arguments not recorded" if "arguments" in step.unknown else inside
    text = f"{step.tool}({inside})"
    text = text if len(text) <= _CALL else text[: _CALL - 3] + "..."
    return text if step.status == "ok" else f"{text} [{step.status}]"


def one_of(phrases: Iterable[str]) -> str:
    """Return ``'a', 'b' or 'c'``."""
    return _listed(phrases, "or")


def all_of(phrases: Iterable[str]) -> str:
    """Return ``'a', 'b' and 'c'``."""
    return _listed(phrases, "and")


def _listed(phrases: Iterable[str], joint: str) -> str:
    """Return phrases as a list in words, with the conjunction ``joint`` before the last phrase."""
    listed = [shown(phrase) for phrase in phrases]
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} {joint} {listed[-1]}"


def matches_in_words(matches: Mapping[str, Match]) -> str:
    """Return named matches in words, joined by "and"."""
    return " and ".join(f"{name} {match.words()}" for name, match in matches.items())


def count_in_words(low: int, high: int | None) -> str:
    """Return a range of counts as words before a noun, such as ``1 to 3`` or ``at least one``."""
    if high is None:
        return f"at least {low if low != 1 else 'one'}" if low else "any number of"
    if low == high:
        return f"exactly {low if low != 1 else 'one'}" if low else "no"
    return f"{low} to {high}" if low else f"at most {high if high != 1 else 'one'}"


def clock_of(minutes: int) -> str:
    """Return minutes after midnight as ``HH:MM``."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def number_in_words(check: Number, returned: Iterable[float], unit: str) -> str:
    """Return the required range of a number in words. ``returned``: the matching results of tools, in ``unit``."""
    parts = []
    if check.min is not None or check.max is not None:
        words = range_in_words(check.min, check.max, unit)
        parts.append(words if words.startswith("between") else f"of {words}")
    if check.bounds:
        values = [f"{value:g}" for value in dict.fromkeys(returned)][:SHOWN_AT_MOST]
        source = f"{' or '.join(values)} {unit}".rstrip() if values else _sources(check.bounds)
        parts.append(f"within {check.allowed * 100:g} % of {source}" if check.allowed else f"equal to {source}")
    return " and ".join(parts) + thing_in_words(check)


def time_in_words(check: ClockTime, returned: Iterable[float]) -> str:
    """Return the required range of a time of day in words. ``returned``: the matching results of tools, in minutes after midnight."""
    of = "of " if check.after == check.before else ""
    parts = [f"{of}{window_in_words(check)}"] if check.after or check.before else []
    if check.bounds:
        values = [clock_of(int(value)) for value in dict.fromkeys(returned)][:SHOWN_AT_MOST]
        near = f"within {check.tolerance_min} min of" if check.tolerance_min else "equal to"
        parts.append(f"{near} {' or '.join(values) or _sources(check.bounds)}")
    return " and ".join(parts) + thing_in_words(check)


def _sources(bounds: Sequence[Bound]) -> str:
    """Return in words the places in tool results to which bounds refer."""
    return " or ".join(f"{bound.path} of a {bound.tool} result" for bound in bounds)


def thing_in_words(check: Number | ClockTime) -> str:
    """Return in words the role, thing and nearby phrases of the figure that a check looks for; empty if the check sets none."""
    role = f" ({' or '.join(role.replace('_', ' ') for role in check.role)})" if check.role else ""
    of = " of the proposed thing" if check.of == "proposed" else f" of {one_of(check.things)}" if check.of else ""
    near = f" in a sentence with {one_of(check.near)}" if check.near else ""
    return f"{role}{of}{near}"


def window_in_words(check: ClockTime) -> str:
    """Return words for a check's time window."""
    if check.after and check.after == check.before:
        return f"exactly {check.after}"
    if check.after and check.before:
        return f"between {check.after} and {check.before}"
    return f"at or after {check.after}" if check.after else f"at or before {check.before}"


# -- parts of calls that a record made elsewhere lacks: a check that needs one is undecided, whatever the rest shows --


def left_open(check: Check, finding: Finding, context: JudgedDialogue) -> Finding:
    """Return a check's finding, made undecided if the finding depends on results or changes that the record lacks.

    Args:
        check: what must hold.
        finding: the finding on all that was recorded.
        context: the dialogue. Checks on calls look for what is missing themselves.
    """
    if isinstance(check, EndState | Unchanged | SameEnd):
        part, calls = "changes", [*context.maybe_writing]
        writing = [step.tool for step in context.late if step.tool in calls]
        if isinstance(check, Unchanged) and not check.exempt and writing:
            why = f"{first_few(sorted(set(writing)))} was called when no reply was under way"
            return Finding(False, why, finding.wanted)
    else:
        part, calls = "result", _needed(check, finding, context)
    if not calls or (finding.passed is None and not finding.broken):
        return finding
    source = "report" if context.trajectory.calls_reported else "record"
    why = f"the {source} does not have the {part} of {first_few(sorted({tool or 'any tool' for tool in calls}))}"
    return finding._replace(
        passed=None, why=why, broken=False, missed=(), compared=(), nothing_claimed=False, idle=False
    )


def _needed(check: Check, finding: Finding, context: JudgedDialogue) -> list[str]:
    """Return the tools of calls with missing results that could change the finding; empty if there are none."""
    untold = [step.tool for step in context.calls if {"arguments", "result"} & {*step.unknown}]
    if not untold:
        return []
    if isinstance(check, Number | ClockTime):
        # More results can only bear out more figures.
        return [] if finding.passed else _of(untold, (bound.tool for bound in check.bounds))
    if isinstance(check, Grounded | Located):
        return [] if finding.passed else untold
    if isinstance(check, Recommends) and (check.of_results or check.none_where):
        return [] if finding.passed and not check.none_where else _of(untold, [check.of_tool])
    return []


def _of(untold: list[str], tools: Iterable[str | None]) -> list[str]:
    """Return the tools without recorded results that are requested or unknown; all of these tools for None."""
    wanted = set(tools)
    return [tool for tool in untold if None in wanted or not tool or tool in wanted]


#: The level of an interval whose lower end nine of ten true shares lie above.
_LEVEL = 0.8
#: How much a rate of errors differs between sets of answers: so many standard deviations above the mean hold 19 of 20.
_Z95 = 1.6448536269514722

_SIZES = ("small", "medium", "large")
#: From how many clauses, or things named, a reply that proposes something is medium, and large.
_CLAUSES, _THINGS = (12, 18), (4, 5)
#: From how many figures without a role a reply is medium, and large; and from how many figures in all it is large.
_UNREAD, _FIGURES = (1, 3), 10


def cell_of(family: str, *, absent: bool, size: ReplySize) -> str:
    """Return the calibration cell of a failure, such as ``choice, said, large``.

    Args:
        family: the family of what was read.
        absent: whether it failed because something is not said.
        size: how much the reply says.
    """
    clauses, things, figures, unread = size
    if family == "choice":
        step = sum(clauses >= many or things >= most for many, most in zip(_CLAUSES, _THINGS, strict=True))
    elif family == "figure":
        step = (unread >= _UNREAD[0]) + (unread >= _UNREAD[1] or figures >= _FIGURES)
    else:
        step = 2 * (clauses >= _CLAUSES[1])
    return f"{family}, {'absent' if absent else 'said'}, {_SIZES[step]}"


def suspicion(cell: str, calibration: Calibration) -> str:
    """Return why failures in a cell are too unreliable to count; empty if they count."""
    true, false = calibration.cells.get(cell, (0, 0))
    seen = true + false
    if seen < calibration.least:
        return f"it looks failed, but only {seen} failures of this kind have been checked, and {calibration.least} are needed"
    interval = wilson_interval(true / seen, seen, level=_LEVEL) if seen else None
    if interval is None or interval[0] < calibration.bound:
        return f"it looks failed, but {false} of {seen} failures of this kind were wrong"
    return ""


def calibrate(sets: Mapping[str, Iterable[Judging]]) -> Calibration:
    """Return the calibration table computed from stored judgings.

    The error rates of whole answers are measured with the set that they are of left out of the table.

    Args:
        sets: the first judgings of each set of answers, by the name of the set. Later judgings of the same answers would flatter.
    """
    judgings = {name: tuple(some) for name, some in sorted(sets.items())}
    counts = {name: _cells(some) for name, some in judgings.items()}
    table = signed(Calibration(sets=tuple(judgings), cells=_total(counts.values())))
    red: list[tuple[int, int]] = []
    green: list[tuple[int, int]] = []
    for name, some in judgings.items():
        others = Calibration(cells=_total(cells for other, cells in counts.items() if other != name))
        colours = [(judging.right, colour(judging, others)) for judging in some]
        right = [verdict for is_right, verdict in colours if is_right]
        wrong = [verdict for is_right, verdict in colours if not is_right]
        red.append((right.count("red"), len(right)))
        green.append((wrong.count("green"), len(wrong)))
    return signed(table.model_copy(update={"red_of_right": _rate(red), "green_of_wrong": _rate(green)}))


def colour(judging: Judging, calibration: Calibration) -> Literal["green", "red", "open"]:
    """Return whether an answer is red (a failure counts), open or green, by the calibration table."""
    standing = [failure for failure in judging.failed if not suspicion(failure.cell, calibration)]
    if standing or judging.sure:
        return "red"
    return "open" if judging.failed or any(judging.open) else "green"


def _cells(judgings: Iterable[Judging]) -> Counter[tuple[str, bool]]:
    """Return how many failures were right and wrong, by cell."""
    return Counter((failure.cell, failure.broken) for judging in judgings for failure in judging.failed)


def _total(counts: Iterable[Counter[tuple[str, bool]]]) -> dict[str, tuple[int, int]]:
    """Return the true and false failures of each cell, summed over all sets."""
    total = sum(counts, Counter())
    return {cell: (total[cell, True], total[cell, False]) for cell in sorted({cell for cell, _ in total})}


def _rate(sets: Iterable[tuple[int, int]]) -> ErrorRate:
    """Return the errors of all sets together, with a one-sided 95 % upper bound of the rate, based on the variation between the sets."""
    listed = [(errors, answers) for errors, answers in sets if answers]
    errors, answers = (sum(column) for column in zip(*listed, strict=True)) if listed else (0, 0)
    shares = [errors / answers for errors, answers in listed]
    centre = sum(shares) / len(shares) if shares else 1.0
    spread = math.sqrt(sum((share - centre) ** 2 for share in shares) / (len(shares) - 1)) if len(shares) > 1 else 1.0
    return ErrorRate(errors=errors, answers=answers, upper=min(1.0, centre + _Z95 * spread))


def misread_by(calibration: Calibration) -> Misread | None:
    """Return upper bounds of the rates at which right answers turn red and wrong answers turn green; None if not measured."""
    red, green = calibration.red_of_right, calibration.green_of_wrong
    return Misread(red_of_right=red.upper, green_of_wrong=green.upper) if red and green else None


@cache
def shipped() -> Calibration:
    """Return the calibration table that ships with the package."""
    return read_calibration(Path(__file__).with_name("calibration.json"))


def calibration_of(own: Calibration | None) -> Calibration:
    """Return the shipped calibration, with the suite's own cells instead if they hold enough failures.

    Args:
        own: the suite's own table; None where it has none.
    """
    ours = shipped()
    if own is None:
        return ours
    enough = {cell: counts for cell, counts in own.cells.items() if sum(counts) >= own.least}
    return signed(ours.model_copy(update={"sets": (*ours.sets, *own.sets), "cells": ours.cells | enough}))
