"""Changes of an oracle dialogue: wrong in one known way, or harmless; of its words and of its calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, pairwise
from typing import NamedTuple

from pytest_mapsat.model import (
    Case,
    Check,
    Json,
    JsonObject,
    Number,
    Output,
    Quote,
    Recommends,
    SameEnd,
    Says,
    Step,
    Trajectory,
)
from pytest_mapsat.reports import call_text
from pytest_mapsat.sandbox import (
    End,
    SandboxSuite,
    differences,
    end_of,
    fits,
    make_sandbox,
    net_changes,
    returned_rows,
)

from .plain import Mutant, OracleRun
from .plain_texts import PHONE, UNITS, Figure, clocks, figures, folded, has

_TOLD = ("address", "phone", "hours")


def another_place(run: OracleRun) -> Iterator[Mutant]:
    """Another place that the tools returned, with what its own recording says of it, and under its name what is true of the first."""
    for old in run.named:
        for new in run.things:
            same_sort = {tool for tool, _ in old.recordings} & {tool for tool, _ in new.recordings}
            if new in run.named or not same_sort or old.name in new.name or new.name in old.name:
                continue
            renamed = text = run.text.replace(old.name, new.name)
            for key in _TOLD:
                others = sorted(new.values(key))
                for value in sorted(old.values(key)) if others else ():
                    text = text.replace(value, others[0])
            yield Mutant(f"{old.name} became {new.name}", run.saying(text))
            if text != renamed:
                yield Mutant(f"the name {old.name} alone became {new.name}", run.saying(renamed))


def second_choice(run: OracleRun) -> Iterator[Mutant]:
    """A further place: proposed beside the answer, before it, or as a stop on the way."""
    for new in run.things:
        if new in run.named:
            continue
        name = new.name
        beside = run.and_then(f"I also recommend {name}.", f"另外也推荐{name}。")
        first = f"首选{name}。{run.text}" if run.chinese else f"Your best choice is {name}. {run.text}"
        stop = run.and_then(f"On the way, stop at {name} first.", f"路上先去{name}。")
        yield Mutant(f"{name} was proposed as well", run.saying(beside))
        yield Mutant(f"{name} was recommended first", run.saying(first))
        yield Mutant(f"a stop at {name} was added", run.saying(stop))


def swapped_order(run: OracleRun) -> Iterator[Mutant]:
    """Two places in each other's position."""
    placed = sorted(run.named, key=lambda thing: run.text.index(thing.name))
    for first, second in pairwise(placed):
        text = run.text.replace(first.name, "\0").replace(second.name, first.name).replace("\0", second.name)
        yield Mutant(f"{first.name} and {second.name} changed places", run.saying(text))


#: A fifth less or more: further off than any tolerance of a check should forgive.
_FACTORS = (0.8, 1.2)
#: Minutes: an hour is what a slip of the clock looks like.
_SHIFTS = (-60, 60)
_DAY = 24 * 60
#: The end of a telephone number that no recording has.
_FALSE_ENDING = "9768"
#: Any number would do: whether it breaks a check is decided afterwards.
_MADE_UP = 97
MONEY_WORDS = {
    "CNY": ("yuan", "元"), "EUR": ("euros", "欧元"), "USD": ("dollars", "美元"), "GBP": ("pounds", "英镑"), "JPY": ("yen", "日元"),
}  # fmt: skip
_ENGLISH_UNITS = {"percent": "%", "celsius": "°C", "star": "stars", "count": ""}
_CHINESE_UNITS = {
    "m": "米", "km": "公里", "s": "秒", "min": "分钟", "h": "小时", "yuan": "元", "percent": "%", "celsius": "度", "star": "星", "count": "个",
}  # fmt: skip


def value_off(run: OracleRun) -> Iterator[Mutant]:
    """A distance, duration, price or other number a fifth lower or higher."""
    for figure in figures(run.text):
        for factor in _FACTORS:
            written = _off(figure.value, factor)
            old = run.text[figure.start : figure.end]
            new = old.replace(f"{figure.value:g}", written, 1) if f"{figure.value:g}" in old else ""
            if new and new != old:
                yield Mutant(f"{old} became {new}", run.saying(run.replaced(figure.start, figure.end, new)))


def _off(value: float, factor: float) -> str:
    """Return the changed value, as a whole number where it was one and that moves it by about as much."""
    changed = value * factor
    whole = round(changed)
    close = value and abs(whole / value - factor) <= 0.1  # noqa: PLR2004  half of the change that is made
    return str(whole) if value == int(value) and close else f"{changed:.3g}"


def clock_shifted(run: OracleRun) -> Iterator[Mutant]:
    """A clock time an hour earlier or later."""
    for clock in clocks(run.text):
        for shift in _SHIFTS:
            minutes = (clock.minutes + shift) % _DAY
            new = f"{minutes // 60:02d}:{minutes % 60:02d}"
            old = run.text[clock.start : clock.end]
            yield Mutant(f"{old} became {new}", run.saying(run.replaced(clock.start, clock.end, new)))


def invented_phone(run: OracleRun) -> Iterator[Mutant]:
    """A telephone number that does not exist."""
    told = list(PHONE.finditer(run.text))
    for match in told:
        new = f"{match.group()[:-4]}{_FALSE_ENDING}"
        yield Mutant(f"{match.group()} became {new}", run.saying(run.replaced(match.start(), match.end(), new)))
    returned = [
        match.group() for thing in run.things for value in thing.values("phone") for match in PHONE.finditer(value)
    ]
    if returned and not told:
        new = f"{min(returned)[:-4]}{_FALSE_ENDING}"
        text = run.and_then(f"Their telephone number is {new}.", f"电话是{new}。")
        yield Mutant(f"the telephone number {new} was added", run.saying(text))


#: What a figure of a role is said to be, in English and in Chinese.
_ROLES = {
    "travel_time": ("The way takes", "路上要"), "travel_distance": ("The way is", "路程"), "wait": ("The wait is", "要等"),
    "price": ("The price is", "价格"), "fee": ("The fee is", "收费"), "per_head": ("A meal per head is", "人均"), "total": ("The total is", "合计"),
    "rating": ("The rating is", "评分"),
}  # fmt: skip


def number_made_up(run: OracleRun) -> Iterator[Mutant]:
    """A number for something of which the answer gives none."""
    for requirement in run.case.truth.requirements:
        for check in requirement.leaves:
            if (
                not isinstance(check, Number)
                or not (lead := _lead(run, check))
                or _speaks_of(run, check, requirement.id)
            ):
                continue
            english, chinese = _units(run, check)
            number = f"{_MADE_UP} {english}".rstrip()
            added = run.and_then(f"{lead} {number}.", f"{lead}{_MADE_UP}{chinese}。")
            made_up = check if check.role else None
            yield Mutant(f"made up: {lead} {number}", run.saying(added), made_up=made_up)


def _units(run: OracleRun, check: Number) -> tuple[str, str]:
    """Return the word for a unit in English and in Chinese."""
    if check.unit == "money":
        return MONEY_WORDS[run.vocabulary.currency if run.vocabulary else "CNY"]
    return _ENGLISH_UNITS.get(check.unit, check.unit), _CHINESE_UNITS[check.unit]


def _lead(run: OracleRun, check: Number) -> str:
    """Return how a sentence begins that gives such a figure; nothing where the check does not say what it is of."""
    if check.near:
        return check.near[0] if run.chinese else f"For the {check.near[0]} count on"
    return next((_ROLES[role][run.chinese] for role in check.role if role in _ROLES), "")


def _speaks_of(run: OracleRun, check: Number, requirement: str) -> bool:
    if not check.near:
        return not run.labels[requirement].nothing_claimed
    dimension = UNITS[check.unit][0]
    text = folded(run.text)
    return any(has(text, near) for near in check.near) and any(
        figure.dimension == dimension for figure in figures(text)
    )


def dropped_constraint(run: OracleRun) -> Iterator[Mutant]:
    """The sentence, or the clause, that carries the words a label rests on is not there."""
    spans = {_sentence(run, quote) for quote in run.evidence} | {_clause(run, quote) for quote in run.evidence}
    for start, end in sorted(spans):
        if end - start < len(run.text.strip()):
            yield Mutant(f"left out: {run.text[start:end].strip()}", run.saying(run.replaced(start, end, "").strip()))


def _sentence(run: OracleRun, quote: Quote) -> tuple[int, int]:
    return next(((start, end) for start, end in run.sentences if start <= quote.start < end), (quote.start, quote.end))


def _clause(run: OracleRun, quote: Quote) -> tuple[int, int]:
    """Return the span from the comma before the words to the one behind them, in their sentence."""
    start, end = _sentence(run, quote)
    comma = "，" if run.chinese else ", "
    before = run.text.rfind(comma, start, quote.start)
    behind = run.text.find(comma, quote.end, end)
    start = start if before < 0 else before
    return start, (end - 1 if before >= 0 else end) if behind < 0 else behind + (len(comma) if before < 0 else 0)


def unneeded_question(run: OracleRun) -> Iterator[Mutant]:
    """An unneeded question at the end."""
    for english, chinese in (
        ("What is your favourite colour?", "您最喜欢什么颜色？"),
        ("Could you tell me your budget and your date of birth?", "请问您的预算和生日是什么？"),
    ):
        yield Mutant(f"asked: {chinese if run.chinese else english}", run.saying(run.and_then(english, chinese)))


def dropped_call(run: OracleRun) -> Iterator[Mutant]:
    """A tool was never called."""
    for tool in dict.fromkeys(step.tool for step in run.trajectory.calls):
        yield Mutant(f"{tool} was never called", run.with_calls(tool, lambda _: None))


def other_argument(run: OracleRun) -> Iterator[Mutant]:
    """A tool was called for another way to travel."""
    for tool in dict.fromkeys(step.tool for step in run.trajectory.calls if "mode" in step.arguments):
        modes = {str(step.arguments.get("mode")) for step in run.trajectory.calls if step.tool == tool}
        for new in [mode for mode in ("transit", "walking", "driving") if mode not in modes][:1]:
            other = {"mode": new}
            turned = run.with_calls(tool, lambda arguments, other=other: {**arguments, **other})  # type: ignore[misc]  # bound now
            yield Mutant(f"{tool} was called for the mode {new}", turned)


def other_id(run: OracleRun) -> Iterator[Mutant]:
    """An id that is handed over is that of another row, of no row, is missing, or stands beside a second one for the same."""
    if run.output:
        yield Mutant("nothing was handed over", run.handing(None))
    for check, entries, at in _handed_over(run):
        own = entries[at][check.id]
        yield Mutant(f"{own} was left out", _with(run, check, [*entries[:at], *entries[at + 1 :]]))
        returned = dict.fromkeys(str(row[check.id]) for row in _rows(run, check) if check.id in row)
        others = [other for other in returned if other != str(own)][:_OTHERS]
        for other in (f"{own}{_FALSE_ENDING}", *others):
            changed = {**entries[at], check.id: other}
            yield Mutant(f"{own} became {other}", _with(run, check, [*entries[:at], changed, *entries[at + 1 :]]))
            yield Mutant(f"{other} was handed over beside {own}", _with(run, check, [*entries, changed]))


def _handed_over(run: OracleRun) -> Iterator[tuple[_LookUp, list[JsonObject], int]]:
    """Yield the checks that look up ids in a list of the output, with this list, and the place of each entry that has one."""
    for requirement in run.case.truth.requirements:
        for check in requirement.leaves:
            if not isinstance(check, Output) or check.id is None or not check.path or "." in check.path + check.id:
                continue
            given = run.output.get(check.path)
            entries: list[JsonObject] = given if isinstance(given, list) else []
            for at, entry in enumerate(entries):
                if isinstance(entry, dict) and check.id in entry and (not check.entry or fits(check.entry, entry)):
                    yield _LookUp(check.path, check.id, check.tool or ""), entries, at


class _LookUp(NamedTuple):
    """A check that looks up ids: where the entries stand, the name of their id, and the tool."""

    path: str
    id: str
    tool: str


def _rows(run: OracleRun, check: _LookUp) -> list[Mapping[str, Json]]:
    calls = [step for step in run.trajectory.calls if step.tool == check.tool and step.status == "ok"]
    return [row.record for step in calls for row in returned_rows(run.tools[check.tool], step.result)]


def _with(run: OracleRun, check: _LookUp, entries: list[JsonObject]) -> Trajectory:
    return run.handing({**run.output, check.path: entries})


WRONG: dict[str, Callable[[OracleRun], Iterator[Mutant]]] = {
    operator.__name__: operator
    for operator in (
        another_place, second_choice, swapped_order, value_off, clock_shifted, invented_phone, number_made_up,
        dropped_constraint, unneeded_question, dropped_call, other_argument, other_id,
    )
}  # fmt: skip


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
    """Manners before and behind."""
    for languages in _MANNERS:
        before, behind = languages[run.chinese]
        yield Mutant("polite words around", run.saying(run.space.join((before, run.text, behind))))


def turned_down(run: OracleRun) -> Iterator[Mutant]:
    """Another place is named and turned down with its reason, before or behind the answer."""
    others = [thing.name for thing in run.things if thing not in run.named and _may_be_named(run, thing.name)]
    for index, (name, languages) in enumerate(zip(cycle(others), _TURNED_DOWN, strict=False)):
        sentence = languages[run.chinese].format(name)
        parts = (run.text, sentence) if index > 1 else (sentence, run.text)
        yield Mutant(f"turned down: {sentence}", run.saying(run.space.join(parts)))


def _may_be_named(run: OracleRun, name: str) -> bool:
    """Return whether no check counts the bare words: where one does, even a name that is turned down may matter."""
    words = (
        phrase
        for requirement in run.case.truth.requirements
        for check in requirement.leaves
        for phrase in _phrases(check)
    )
    return not any(phrase in name or name in phrase for phrase in words)


def _phrases(check: Check) -> tuple[str, ...]:
    if isinstance(check, Says):
        return (*check.any, *check.all, *check.none)
    return check.none_of if isinstance(check, Recommends) and check.any_of else ()


def pasted_results(run: OracleRun) -> Iterator[Mutant]:
    """Everything that the tools returned, behind the answer: what is only copied proposes nothing."""
    results = [step.result for step in run.trajectory.calls if step.status == "ok"]
    if results:
        pasted = "\n".join(json.dumps(result, ensure_ascii=False) for result in results)
        yield Mutant("all results of the tools were appended", run.saying(f"{run.text}\n{pasted}"))


def layout(run: OracleRun) -> Iterator[Mutant]:
    """A bullet list, a numbered list, one sentence a line, double spaces, names in bold."""
    texts = [run.text[start:end].strip() for start, end in run.sentences]
    yield Mutant("a bullet list", run.saying("\n".join(f"- {text}" for text in texts)))
    yield Mutant("a numbered list", run.saying("\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1))))
    yield Mutant("paragraphs", run.saying("\n\n".join(texts)))
    if " " in run.text:
        yield Mutant("double spaces", run.saying(run.text.replace(" ", "  ")))
    names = sorted((re.escape(thing.name) for thing in run.named), key=lambda name: (-len(name), name))
    if names:
        yield Mutant("names in bold", run.saying(re.sub("|".join(names), r"**\g<0>**", run.text)))


def other_units(run: OracleRun) -> Iterator[Mutant]:
    """The same length or time in another unit."""
    for figure in figures(run.text):
        if new := _converted(figure, chinese=run.chinese):
            old = run.text[figure.start : figure.end]
            yield Mutant(f"{old} became {new}", run.saying(run.replaced(figure.start, figure.end, new)))


def _converted(figure: Figure, *, chinese: bool) -> str:
    value = figure.value
    if figure.unit == "km":
        return f"{value * 1000:g}" + ("米" if chinese else " m")
    if figure.unit == "m":
        return f"{value / 1000:g}" + ("公里" if chinese else " km")
    if figure.unit == "min" and value >= 60 and value % 60:  # noqa: PLR2004  minutes of an hour
        hours, minutes = divmod(int(value), 60)
        return f"{hours}小时{minutes}分钟" if chinese else f"{hours} h {minutes} min"
    if figure.unit == "min" and value % 30 == 0:
        return f"{value / 60:g}" + ("小时" if chinese else " h")
    return ""


def other_spelling(run: OracleRun) -> Iterator[Mutant]:
    """What is handed over stands in another order, and its ids as numbers or texts."""
    for check, entries, at in _handed_over(run):
        own = entries[at][check.id]
        text = str(own)
        turned: Json = int(text) if isinstance(own, str) and text.isdecimal() and text == str(int(text)) else text
        spelt = [*entries[:at], {**entries[at], check.id: turned}, *entries[at + 1 :]]
        yield Mutant(f"{own!r} became {turned!r}", _with(run, check, spelt))
        yield Mutant("the entries in another order", _with(run, check, entries[::-1]))


HARMLESS: dict[str, Callable[[OracleRun], Iterator[Mutant]]] = {
    operator.__name__: operator
    for operator in (politeness, turned_down, pasted_results, layout, other_units, other_spelling)
}


#: A call as it is made again: the index of its turn, the tool, the arguments.
_Call = tuple[int, str, JsonObject]
#: So many other things are tried in the place of one.
_OTHERS = 2


def write_changes(case: Case, suite: SandboxSuite, oracle: Trajectory) -> Iterator[tuple[str, Mutant]]:
    """Yield the kind of each change that leads to another end than the oracle's, with the dialogue that it makes.

    Args:
        case: the case.
        suite: its suite.
        oracle: the oracle's dialogue, as it was played.

    Raises:
        MapsatError: the sandbox cannot be made, or breaks.
    """
    made = [(index, step) for index, turn in enumerate(oracle.turns) for step in turn.steps if step.kind == "call"]
    calls: list[_Call] = [(index, step.tool, step.arguments) for index, step in made]
    end = end_of(oracle, case, suite)
    checks = [check for requirement in case.truth.requirements for check in requirement.leaves]
    ignored = [column for check in checks if isinstance(check, SameEnd) for column in check.ignore]
    for at, (_, step) in enumerate(made):
        if not step.changed:
            continue
        for kind, words, changed in _changes(calls, at, step, end, suite):
            played = _played(case, suite, oracle, changed)
            changes = net_changes(change for call in played.all_calls for change in call.changed)
            if any(differences(end.changes, changes, ignored)):
                yield kind, Mutant(words, played)


def _changes(
    calls: Sequence[_Call], at: int, step: Step, end: End, suite: SandboxSuite
) -> Iterator[tuple[str, str, Sequence[_Call]]]:
    """Yield kind, words and calls of each way in which one call that writes may be wrong."""
    before, (turn, tool, arguments), behind = calls[:at], calls[at], calls[at + 1 :]
    written = call_text(tool, arguments)
    yield "dropped_write", f"{written} was not called", [*before, *behind]
    yield "doubled_write", f"{written} was called twice", [*calls[: at + 1], calls[at], *behind]
    properties = suite.tools[tool].parameters.get("properties", {})
    for name, value in arguments.items():
        for other in _other_ids(value, step, end):
            call = (turn, tool, {**arguments, name: other})
            yield "added_write", f"{call_text(*call[1:])} was called besides", [*calls[: at + 1], call, *behind]
            yield "altered_write", f"{written} was called with {name}={other!r}", [*before, call, *behind]
        for other in _other_values(value, properties.get(name, {})):
            call = (turn, tool, {**arguments, name: other})
            yield "altered_write", f"{written} was called with {name}={other!r}", [*before, call, *behind]


def _other_ids(value: Json, step: Step, end: End) -> Iterator[str]:
    """Yield ids of other rows of a table that the call changed, where the value is the id of the row that it changed."""
    for table in sorted({change.table for change in step.changed if change.id == value}):
        yield from [row_id for row_id in end.state.table(table, key=end.key(table)) if row_id != value][:_OTHERS]


def _other_values(value: Json, schema: Mapping[str, Json]) -> Iterator[Json]:
    """Yield what else the schema allows in the place of a value."""
    if isinstance(schema.get("enum"), list):
        yield from [other for other in schema["enum"] if other != value][:_OTHERS]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1


def _played(case: Case, suite: SandboxSuite, oracle: Trajectory, calls: Sequence[_Call]) -> Trajectory:
    """Return the oracle's dialogue with other calls, each answered by a fresh sandbox."""
    sandbox = make_sandbox(case, suite)
    steps: dict[int, list[Step]] = {}
    for index, tool, arguments in calls:
        steps.setdefault(index, []).append(sandbox.call(tool, arguments).step(tool, arguments))
    turns = tuple(
        turn.model_copy(update={"steps": tuple(steps.get(index, ()))}) if turn.role == "agent" else turn
        for index, turn in enumerate(oracle.turns)
    )
    return oracle.model_copy(update={"turns": turns, "setup": sandbox.setup})
