"""The check on tool calls. It reads no prose but the words by which a user agrees to a call."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from pytest_mapsat.model import CallPattern, Calls, Json, MapsatError, Match, Step, all_true, any_true, same
from pytest_mapsat.reading import agrees, asks_go_ahead, fold_phrase
from pytest_mapsat.sandbox import fits

from .context import Context
from .findings import Finding, count_in_words, every, judges, matches_in_words

#: Words of a request, among them ids such as ``#W12``, ``LH-7`` or ``a.b``.
_WORD = re.compile(r"[#\w][\w.-]*\w|\w")
_SHOWN = 200
#: A text of a row in a script without blanks is a name from so many characters on.
_NAME_CHARS = 4
#: So many objects of one result may be what a request names.
_MOST_OBJECTS = 1000
_Fits = Sequence[bool | None]


def _called(check: Calls, tool: str, context: Context) -> Finding:
    """The tool was called with arguments that match, often enough and not too often, and each such call in its place and agreed to."""
    made = _Made(context)
    pattern = CallPattern(tool=tool, arguments=check.arguments)
    fits = _answered(made.fits(pattern), check.answered, made)
    low, high = fits.count(True), len(fits) - fits.count(False)
    most = check.at_most if check.at_most is not None else high
    passed: bool | None = None
    if low >= check.least and high <= most:
        passed = True
    elif high < check.least or low > most:
        passed = False
    subject = _subject(tool, check.arguments)
    how = _how(check)
    wanted = _wanted(check, tool)
    missed = _missed(check, pattern, made) if passed is False and check.answered is True and high < check.least else ()
    parts = [Finding(passed, _counted(tool, how, low, high, made), wanted, missed=missed)]
    if check.after is not None:
        parts.append(_each(fits, made.follows(check.after), subject, f"after a call of {_in_words(check.after)}", made))
    if check.before is not None:
        parts.append(
            _each(fits, made.precedes(check.before), subject, f"before a call of {_in_words(check.before)}", made)
        )
    if check.agreed:
        parts.append(_agreed(fits, subject, made))
    return every(parts) if len(parts) > 1 else parts[0]


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
    """The tool was never called with arguments that match, or never in that place."""
    made = _Made(context)
    fits = _answered(made.fits(CallPattern(tool=tool, arguments=check.arguments)), check.answered, made)
    how = _how(check)
    if check.after is not None:
        fits, how = _both(fits, made.follows(check.after)), f"{how} after a call of {_in_words(check.after)}"
    if check.before is not None:
        fits, how = _both(fits, made.precedes(check.before)), f"{how} before a call of {_in_words(check.before)}"
    low, high = fits.count(True), len(fits) - fits.count(False)
    passed = False if low else None if high else True
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
    passed = (
        True if _holds(check, sure, len(made.steps)) else None if _holds(check, possible, len(made.steps)) else False
    )
    how = {"in_order": "in this order", "any_order": "in any order", "exact": "in this order"}[check.match]
    alone = " and no others" if check.match == "exact" or check.extra == "forbid" else ""
    wanted = (
        f"calls of {', '.join(map(_in_words, check.steps))}, {how}{alone}" if check.steps else "no call of any tool"
    )
    pairs = _aligned(check, possible, made.steps)
    missing = [_in_words(check.steps[step]) for step, call in pairs if step is not None and call is None]
    extra = [_call(made.steps[call]) for step, call in pairs if call is not None and step is None]
    told = [f"not called: {', '.join(missing)}"] if missing else []
    told += [f"called besides: {', '.join(extra)}"] if extra and alone else []
    if passed is not False:
        why = "the calls are as expected" if passed else "it is unclear whether the calls are as expected"
        return Finding(passed, why, wanted)
    lines = tuple(
        ("" if step is None else _in_words(check.steps[step]), "" if call is None else _call(made.steps[call]))
        for step, call in pairs
    )
    return Finding(
        False, "; ".join(told) or "the calls came in another order", wanted, compared=(("expected", "called"), *lines)
    )


def _holds(check: Calls, fits: Sequence[Sequence[bool]], count: int) -> bool:
    alone = check.match == "exact" or check.extra == "forbid"
    if alone and count != len(fits):
        return False
    if check.match == "any_order":
        return len(matching(fits)) == len(fits)
    if alone:
        return all(row[at] for at, row in enumerate(fits))
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
        if (
            step < len(fits)
            and call < len(steps)
            and fits[step][call]
            and longest[step][call] == longest[step + 1][call + 1] + 1
        ):
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
    """

    def __init__(self, context: Context) -> None:
        self.context = context
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
        return fits(pattern.arguments, step.arguments, results=self.steps[:at])

    def follows(self, pattern: CallPattern) -> list[bool | None]:
        """Return which calls come after one that fits."""
        fits = self.fits(pattern)
        return [any_true(fits[:at]) for at in range(len(fits))]

    def precedes(self, pattern: CallPattern) -> list[bool | None]:
        """Return which calls come before one that fits."""
        fits = self.fits(pattern)
        return [any_true(fits[at + 1 :]) for at in range(len(fits))]

    @cached_property
    def answers(self) -> list[tuple[int, bool | None]]:
        """The user's turns that answer a request for a go-ahead: their index, and whether they agree; None where that is not plain."""
        turns, language = self.context.trajectory.turns, self.context.language
        answers: list[tuple[int, bool | None]] = []
        for index, turn in enumerate(turns):
            if turn.role != "user" or index == 0:
                continue
            if turn.agreed is not None:
                answers.append((index, turn.agreed))
            elif asks_go_ahead(turns[index - 1].text, language):
                answers.append((index, agrees(turn.text)))
        return answers

    def about_another(self, answer: int, at: int) -> bool:
        """Return whether a request surely is about another thing than a call: it names the id or the name of another one, and nothing of the call's own."""
        words = _words(self.context.trajectory.turns[answer - 1].text)
        arguments = self.steps[at].arguments
        own = {fold_phrase(text) for value in arguments.values() for text in _scalars(value)}
        rivals: set[str] = set()
        for name, value in arguments.items():
            others = [step.arguments.get(name) for step in self.steps if step.tool == self.steps[at].tool]
            rivals |= {fold_phrase(other) for other in others if isinstance(other, str) and other != value}
        for rows in (*self._tables_of(arguments), *self._listed(arguments, at)):
            ids = {fold_phrase(row_id): row for row_id, row in rows.items()}
            own |= {fold_phrase(text) for row_id in own & ids.keys() for text in _scalars(dict(ids[row_id]))}
            rivals |= ids.keys()
            # A single word may say what is done ("cancelled"); several are a name.
            texts = {fold_phrase(text) for row in rows.values() for text in _scalars(dict(row))}
            rivals |= {text for text in texts if " " in text or (not text.isascii() and len(text) >= _NAME_CHARS)}
        return any(_is_named(text, words) for text in rivals - own) and not any(_is_named(text, words) for text in own)

    def _tables_of(self, arguments: Mapping[str, Json]) -> Iterator[Mapping[str, Mapping[str, Json]]]:
        """Yield the tables in which an argument is the id of a row, by id; none where the sandbox has no state."""
        try:
            end = self.context.end
            for name in self.context.tables:
                rows = end.state.table(name, key=end.key(name))
                if any(isinstance(value, str) and value in rows for value in arguments.values()):
                    yield rows
        except MapsatError:
            return

    def _listed(self, arguments: Mapping[str, Json], at: int) -> Iterator[Mapping[str, Mapping[str, Json]]]:
        """Yield the objects in earlier results that have, under the same name, an argument or a value like it, by that value."""
        objects = [item for step in self.steps[:at] for item in islice(_objects(step.result), _MOST_OBJECTS)]
        values = {value for value in arguments.values() if isinstance(value, str)}
        for name in sorted(
            {name for item in objects for name, value in item.items() if isinstance(value, str) and value in values}
        ):
            yield {value: item for item in objects if isinstance(value := item.get(name), str)}


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    """Yield the objects in a result, the outer ones first."""
    if isinstance(value, Mapping):
        yield value
    if isinstance(value, (Mapping, list, tuple)):
        for member in value.values() if isinstance(value, Mapping) else value:
            yield from _objects(member)


def _each(fits: _Fits, held: _Fits, subject: str, place: str, made: _Made) -> Finding:
    """Judge whether each call that fits is in its place: after or before another."""
    wanted = f"each {subject} comes {place}"
    wrong = [step for fit, holds, step in zip(fits, held, made.steps, strict=True) if fit and holds is False]
    if wrong:
        return Finding(False, f"{_call(wrong[0])} does not come {place}", wanted)
    if any(fit is not False and holds is not True for fit, holds in zip(fits, held, strict=True)):
        return Finding(None, "it is unclear in which order these calls came", wanted)
    return Finding(True, "", wanted)


def _agreed(fits: _Fits, subject: str, made: _Made) -> Finding:
    """Judge whether the user had agreed to each call that fits."""
    wanted = f"the user agrees to each {subject} before it is made"
    verdicts = [(fit, *_agreement(at, made)) for at, fit in enumerate(fits) if fit is not False]
    failed = [why for fit, passed, why in verdicts if fit and passed is False]
    if failed:
        return Finding(False, failed[0], wanted)
    unclear = [why for fit, passed, why in verdicts if passed is not True]
    if unclear:
        return Finding(None, unclear[0], wanted)
    return Finding(True, "the user agreed to it" if verdicts else "", wanted)


def _agreement(at: int, made: _Made) -> tuple[bool | None, str]:
    """Return whether the user had agreed to a call when it was made, and why not."""
    step = made.steps[at]
    if "arguments" in step.unknown:
        return None, f"it is unclear whether the user agreed to {_call(step)}"
    before = [(index, answer) for index, answer in made.answers if index < made.turns[at]]
    about = [(index, answer) for index, answer in before if not made.about_another(index, at)]
    call = _call(step)
    if not about:
        if any(answer for _, answer in before):
            return False, f"the user agreed to another thing than {call}"
        later = any(answer for index, answer in made.answers if index > made.turns[at])
        return False, f"{call} came before the user {'agreed to it' if later else 'was asked'}"
    index, last = about[-1]
    if last is None:
        return (
            None,
            f"turn {index} does not plainly agree or decline: {made.context.trajectory.turns[index].text[:_SHOWN]!r}",
        )
    if not last:
        return False, f"the user had declined in turn {index}, and {call} followed"
    again = [
        other
        for other in made.steps[:at]
        if other.tool == step.tool and other.status == "ok" and same(other.arguments, step.arguments)
    ]
    once = len(again) < sum(answer is True for _, answer in about)
    return once, "" if once else f"{call} was made {len(again) + 1} times, and the user agreed to it once"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(fold_phrase(text))) | {fold_phrase(text)}


def _is_named(value: str, words: set[str]) -> bool:
    """Return whether a value stands among the words of a text, of which the longest is the whole text."""
    if value in words:
        return True
    # A name of several words, or one in a script without blanks.
    long = len(value) > 1 and (" " in value or not value.isascii())
    return long and value in max(words, key=len, default="")


def _scalars(value: Json) -> Iterator[str]:
    """Yield the texts and numbers in a value, as texts."""
    if isinstance(value, Mapping):
        for member in value.values():
            yield from _scalars(member)
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from _scalars(member)
    elif value is not None and not isinstance(value, bool) and str(value).strip():
        yield str(value)


def _both(first: _Fits, other: _Fits) -> list[bool | None]:
    return [all_true(pair) for pair in zip(first, other, strict=True)]


def _subject(tool: str, matches: Mapping[str, Match]) -> str:
    return f"call of {tool}" + (f" with {matches_in_words(matches)}" if matches else "")


def _in_words(pattern: CallPattern) -> str:
    return pattern.tool + (f" with {matches_in_words(pattern.arguments)}" if pattern.arguments else "")


def _call(step: Step) -> str:
    """Return a call as it was made, and what became of it where it was not answered."""
    inside = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in sorted(step.arguments.items())
    )
    inside = "arguments not recorded" if "arguments" in step.unknown else inside
    text = f"{step.tool}({inside})"
    text = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return text if step.status == "ok" else f"{text} [{step.status}]"


def _counted(tool: str, how: str, low: int, high: int, made: _Made) -> str:
    """Return how often a tool was called, how many of the calls count, and what became of them: ``book was called twice, but never with seats equal to 4``."""
    calls = [step for step in made.steps if step.tool == tool]
    if not calls:
        return f"{tool} was never called"
    unsure = f", unclear for {high - low} of them" if high > low else ""
    counts: Counter[str] = Counter(step.status for step in calls)
    fates = {"refused": "refused", "error": "answered with an error", "over_limit": "over the limit", "miss": "missed"}
    told = ", ".join(f"{counts[status]} {fate}" for status, fate in fates.items() if counts[status])
    times = "once" if len(calls) == 1 else "twice" if len(calls) == 2 else f"{len(calls)} times"  # noqa: PLR2004
    share = "" if low == len(calls) else f" {low} of them" if low else " but not" if len(calls) == 1 else " but never"
    counting = f",{share}{how}" if how else ""
    return f"{tool} was called {times}{counting}{unsure}{f'; {told}' if told else ''}"
