"""The check on tool calls. It reads no prose; whether the user agreed to a call is judged by ``agreed``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf

from pytest_mapsat.model import CallPattern, Calls, Match, Step, fits_row

from .agreed import Agreements
from .context import Context
from .findings import Finding, call_in_words, count_in_words, every, judges, matches_in_words

_Fits = Sequence[bool | None]


def _called(check: Calls, tool: str, context: Context) -> Finding:
    """The tool was called with arguments that match, often enough and not too often, and each such call agreed to."""
    made = _Made(context)
    pattern = CallPattern(tool=tool, arguments=check.arguments)
    fits = _answered(made.fits(pattern), check.answered, made)
    low, high = fits.count(True), len(fits) - fits.count(False)
    possible = inf if made.lacking else high
    most = possible if check.at_most is None else check.at_most
    passed: bool | None = None
    if low >= check.least and possible <= most:
        passed = True
    elif possible < check.least or low > most:
        passed = False
    subject = _subject(tool, check.arguments)
    how = _how(check)
    wanted = _wanted(check, tool)
    missed = _missed(check, pattern, made) if passed is False and check.answered is True and high < check.least else ()
    parts = [Finding(passed, _counted(tool, how, low, high, made), wanted, missed=missed)]
    if check.agreed:
        parts.append(_agreed(fits, subject, made))
    return every(parts)


def _answered(fits: list[bool | None], answered: bool | str, made: _Made) -> list[bool | None]:
    """Return which calls fit and were answered, or were not, where that is asked."""
    if answered == "any":
        return fits
    return [
        (fit and None) if step.status == "unknown" else fit if (step.status == "ok") is answered else False
        for fit, step in zip(fits, made.steps, strict=True)
    ]


def _missed(check: Calls, pattern: CallPattern, made: _Made) -> tuple[str, ...]:
    """Return the tool where calls with the wanted arguments were made often enough, and missed."""
    fits = made.fits(pattern)
    count = sum(fit is True and step.status in ("ok", "miss") for fit, step in zip(fits, made.steps, strict=True))
    return (pattern.tool,) if count >= check.least else ()


def _never_called(check: Calls, tool: str, context: Context) -> Finding:
    """The tool was never called with arguments that match."""
    made = _Made(context)
    fits = _answered(made.fits(CallPattern(tool=tool, arguments=check.arguments)), check.answered, made)
    how = _how(check)
    low, high = fits.count(True), len(fits) - fits.count(False)
    passed = False if low else None if high or made.lacking else True
    return Finding(passed, _counted(tool, how, low, high, made), f"{tool} is never called{how}")


def _how(check: Calls) -> str:
    """Return which calls of its tool a check counts, in words behind "called"; nothing where all count."""
    asked = [f"with {matches_in_words(check.arguments)}"] if check.arguments else []
    asked += [] if check.answered == "any" else ["answered" if check.answered else "unanswered"]
    return f" {' and '.join(asked)}" if asked else ""


def _wanted(check: Calls, tool: str) -> str:
    """Return how many calls a check asks for; nothing where any number will do."""
    if not check.least and check.at_most is None:
        return ""
    count = count_in_words(check.least, check.at_most)
    kind = "" if check.answered == "any" else "answered " if check.answered else "unanswered "
    call = "call" if count.endswith("one") else "calls"
    return f"{count} {kind}{call} of {_in_words(CallPattern(tool=tool, arguments=check.arguments))}"


@judges(Calls)
def calls(check: Calls, context: Context) -> Finding:
    """The agent called a tool often enough and not too often, or made the calls of ``steps``."""
    if check.tool is None:
        return _steps(check, context)
    return (_never_called if check.never else _called)(check, check.tool, context)


def _steps(check: Calls, context: Context) -> Finding:
    """The agent made the calls of ``steps``; what cannot be told of a match counts only where it could turn the outcome."""
    made = _Made(context)
    fits = [made.fits(step) for step in check.steps]
    sure = [[fit is True for fit in row] for row in fits]
    possible = [[fit is not False for fit in row] for row in fits]
    passed = True if _holds(check, sure, made) else None if _may_hold(check, possible, made) else False
    how = {"in_order": "in this order", "any_order": "in any order", "exact": "in this order"}[check.match]
    alone = " and no others" if check.match == "exact" else ""
    wanted = (
        f"calls of {', '.join(map(_in_words, check.steps))}, {how}{alone}" if check.steps else "no call of any tool"
    )
    pairs = _aligned(check, possible, made.steps)
    missing = [_in_words(check.steps[step]) for step, call in pairs if step is not None and call is None]
    missing = [] if made.lacking else missing
    extra = [call_in_words(made.steps[call]) for step, call in pairs if call is not None and step is None]
    told = [f"not called: {', '.join(missing)}"] if missing else []
    told += [f"called besides: {', '.join(extra)}"] if extra and alone else []
    if passed is not False:
        why = f"it is unclear whether the calls are as expected{made.caution}"
        return Finding(passed, "the calls are as expected" if passed else why, wanted)
    lines = tuple(
        ("" if step is None else _in_words(check.steps[step]), "" if call is None else call_in_words(made.steps[call]))
        for step, call in pairs
    )
    return Finding(
        False, "; ".join(told) or "the calls came in another order", wanted, compared=(("expected", "called"), *lines)
    )


def _holds(check: Calls, fits: Sequence[Sequence[bool]], made: _Made) -> bool:
    if check.match == "any_order":
        return len(matching(fits)) == len(fits)
    if made.unordered or (check.match == "exact" and (made.lacking or len(made.steps) != len(fits))):
        return False
    return _in_order(fits, len(made.steps))


def _may_hold(check: Calls, fits: Sequence[Sequence[bool]], made: _Made) -> bool:
    """Return whether the calls may be as expected, given which may fit; calls that are not known may be any."""
    if not made.lacking or check.match != "exact":
        return made.lacking or _holds(check, fits, made)
    by_call = [[row[at] for row in fits] for at in range(len(made.steps))]
    return len(matching(by_call)) == len(by_call) if made.unordered else _in_order(by_call, len(fits))


def _in_order(fits: Sequence[Sequence[bool]], count: int) -> bool:
    """Return whether each row has a place, out of ``count``, that fits it, behind that of the row before."""
    at = 0
    for row in fits:
        at = next((place + 1 for place in range(at, count) if row[place]), 0)
        if not at:
            return False
    return True


def matching(fits: Sequence[Sequence[bool]]) -> dict[int, int]:
    """Return a call for as many steps as can be, each another one (Kuhn's algorithm); of steps in each other's way the first ones.

    Args:
        fits: of each step, whether each call fits it.

    Returns:
        The place of a call by that of its step.
    """
    step_of: dict[int, int] = {}

    def place(step: int, seen: set[int]) -> bool:
        for call, fit in enumerate(fits[step]):
            if fit and call not in seen:
                seen.add(call)
                if call not in step_of or place(step_of[call], seen):
                    step_of[call] = step
                    return True
        return False

    for step in range(len(fits)):
        place(step, set())
    return {step: call for call, step in step_of.items()}


def _aligned(
    check: Calls, fits: Sequence[Sequence[bool]], steps: Sequence[Step]
) -> list[tuple[int | None, int | None]]:
    """Return steps and calls side by side: those that fit on one line, what has no partner alone."""
    if check.match == "any_order":
        call_of = matching(fits)
        rest = [call for call in range(len(steps)) if call not in call_of.values()]
        return [*((step, call_of.get(step)) for step in range(len(fits))), *((None, call) for call in rest)]
    # The longest row of steps and calls that fit in order (the longest common subsequence).
    longest = [[0] * (len(steps) + 1) for _ in range(len(fits) + 1)]
    for step in reversed(range(len(fits))):
        for call in reversed(range(len(steps))):
            both = longest[step + 1][call + 1] + 1 if fits[step][call] else 0
            longest[step][call] = max(both, longest[step + 1][call], longest[step][call + 1])
    pairs: list[tuple[int | None, int | None]] = []
    step = call = 0
    while step < len(fits) or call < len(steps):
        if step < len(fits) and call < len(steps) and fits[step][call]:
            pairs.append((step, call))
            step, call = step + 1, call + 1
        elif call == len(steps) or (step < len(fits) and longest[step + 1][call] >= longest[step][call + 1]):
            pairs.append((step, None))
            step += 1
        else:
            pairs.append((None, call))
            call += 1
    return pairs


class _Made:
    """The calls that the agent made, in their order.

    Attributes:
        context: the dialogue.
        steps: the calls, whatever became of them.
        turns: the index of the turn of each.
        lacking: whether the agent may have made further ones, in any place.
        unordered: whether calls of one reply come from several sources, so that their order is unknown.
        caution: says so behind a reason; empty where they are all.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.lacking = context.trajectory.lacks_calls
        self.caution = f"; {context.trajectory.why_lacking}" if self.lacking else ""
        sources = [
            {
                step.provenance.note if step.provenance and step.provenance.kind == "reported" else ""
                for step in turn.steps
                if step.kind == "call"
            }
            for turn in context.trajectory.replies
        ]
        self.unordered = any(len(of_turn) > 1 for of_turn in sources)
        placed = [
            (index, step)
            for index, turn in enumerate(context.trajectory.turns)
            if turn.role == "agent"
            for step in turn.steps
            if step.kind == "call"
        ]
        self.turns = [index for index, _ in placed]
        self.steps = [step for _, step in placed]

    def fits(self, pattern: CallPattern) -> list[bool | None]:
        """Return which calls fit a pattern; None where it cannot be told."""
        return [self._fits(pattern, at) for at in range(len(self.steps))]

    def _fits(self, pattern: CallPattern, at: int) -> bool | None:
        step = self.steps[at]
        if step.tool != pattern.tool:
            return False
        if "arguments" in step.unknown:
            return None if pattern.arguments else True
        return fits_row(
            pattern.arguments, step.arguments, results=(*self.steps[:at], *self.context.calls[len(self.steps) :])
        )


def _agreed(fits: _Fits, subject: str, made: _Made) -> Finding:
    """Judge whether the user had agreed to each call that fits."""
    wanted = f"the user agrees to each {subject} before it is made"
    agreements = Agreements(made.context, made.steps, made.turns)
    verdicts = [(fit, *agreements.of(at)) for at, fit in enumerate(fits) if fit is not False]
    failed = [why for fit, passed, why in verdicts if fit and passed is False]
    if failed:
        return Finding(False, failed[0], wanted)
    unclear = [why for fit, passed, why in verdicts if passed is not True]
    if unclear or made.lacking:
        return Finding(None, (*unclear, f"it is unclear whether there are others{made.caution}")[0], wanted)
    return Finding(True, "the user agreed to it" if verdicts else "", wanted)


def _subject(tool: str, matches: Mapping[str, Match]) -> str:
    return f"call of {tool}" + (f" with {matches_in_words(matches)}" if matches else "")


def _in_words(pattern: CallPattern) -> str:
    return pattern.tool + (f" with {matches_in_words(pattern.arguments)}" if pattern.arguments else "")


def _counted(tool: str, how: str, low: int, high: int, made: _Made) -> str:
    """Return how often a tool was called, how many of the calls count, and what became of them: ``book was called twice, but never with seats equal to 4``."""
    calls = [step for step in made.steps if step.tool == tool]
    if not calls:
        return f"no call of {tool} is known{made.caution}" if made.lacking else f"{tool} was never called"
    unsure = f", unclear for {high - low} of them" if high > low else ""
    counts: Counter[str] = Counter(step.status for step in calls)
    fates = {"refused": "refused", "error": "answered with an error", "over_limit": "over the limit", "miss": "missed"}
    told = ", ".join(f"{counts[status]} {fate}" for status, fate in fates.items() if counts[status])
    times = "once" if len(calls) == 1 else "twice" if len(calls) == 2 else f"{len(calls)} times"  # noqa: PLR2004
    share = "" if low == len(calls) else f" {low} of them" if low else " but not" if len(calls) == 1 else " but never"
    counting = f",{share}{how}" if how else ""
    return f"{tool} was called {times}{counting}{unsure}{f'; {told}' if told else ''}{made.caution}"
