"""Changes that make an answer wrong in one known way: other places, other figures, other words, other calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from pytest_mapsat.model import Number, OpenAt, Quote, Step
from pytest_mapsat.sandbox import satisfies

from .oracle_run import Mutant, OracleRun, Thing
from .plain_text import PHONE, UNITS, clocks, figures, folded, has
from .violations import checks_of

_TOLD = ("address", "phone", "hours")


def another_place(run: OracleRun) -> Iterator[Mutant]:
    """Another place that the tools returned, with what its own record says of it."""
    for old, new in _swaps(run):
        if not _is_closed(run, new):
            yield _swapped(run, old, new, with_record=True)


def closed_shop(run: OracleRun) -> Iterator[Mutant]:
    """Another place that is closed now, with what its own record says of it."""
    for old, new in _swaps(run):
        if _is_closed(run, new):
            yield _swapped(run, old, new, with_record=True)


def wrong_entity_right_words(run: OracleRun) -> Iterator[Mutant]:
    """The name of another place, and all the rest as it was."""
    for old, new in _swaps(run):
        if any(value in run.text for key in _TOLD for value in old.values(key)):
            yield _swapped(run, old, new, with_record=False)


def _swaps(run: OracleRun) -> Iterator[tuple[Thing, Thing]]:
    """Yield what is named and what could wrongly stand in its place: of the same sort, and not named."""
    for old in run.named:
        for new in run.things:
            same_sort = {tool for tool, _ in old.records} & {tool for tool, _ in new.records}
            if new not in run.named and same_sort and old.name not in new.name and new.name not in old.name:
                yield old, new


def _is_closed(run: OracleRun, thing: Thing) -> bool:
    moment, hours = run.case.visible.context.now, thing.values("hours")
    if moment is None:
        return False
    now = OpenAt(op="open_at", time=moment[11:16])
    return bool(hours) and all(satisfies(now, value) is False for value in hours)


def _swapped(run: OracleRun, old: Thing, new: Thing, *, with_record: bool) -> Mutant:
    text = run.text.replace(old.name, new.name)
    for key in _TOLD if with_record else ():
        others = sorted(new.values(key))
        for value in sorted(old.values(key)):
            text = text.replace(value, others[0]) if others else text
    return Mutant(f"{old.name} became {new.name}", run.saying(text))


def unasked_detour(run: OracleRun) -> Iterator[Mutant]:
    """One more stop that nobody asked for."""
    for new in run.things:
        if new not in run.named:
            text = run.and_then(f"On the way, stop at {new.name} first.", f"路上先去{new.name}。")
            yield Mutant(f"a stop at {new.name} was added", run.saying(text))


def second_choice(run: OracleRun) -> Iterator[Mutant]:
    """Another place is proposed beside the answer."""
    for new in run.things:
        if new not in run.named:
            text = run.and_then(f"I also recommend {new.name}.", f"另外也推荐{new.name}。")
            yield Mutant(f"{new.name} was proposed as well", run.saying(text))


def other_first(run: OracleRun) -> Iterator[Mutant]:
    """Another place is recommended before the answer."""
    for new in run.things:
        if new not in run.named:
            text = f"首选{new.name}。{run.text}" if run.chinese else f"Your best choice is {new.name}. {run.text}"
            yield Mutant(f"{new.name} was recommended first", run.saying(text))


def swapped_order(run: OracleRun) -> Iterator[Mutant]:
    """Two places in each other's position."""
    placed = sorted(run.named, key=lambda thing: run.text.index(thing.name))
    for one, other in pairwise(placed):
        text = run.text.replace(one.name, "\0").replace(other.name, one.name).replace("\0", other.name)
        yield Mutant(f"{one.name} and {other.name} changed places", run.saying(text))


#: A fifth less or more: further off than any tolerance of a check should forgive.
_FACTORS = (0.8, 1.2)
#: Minutes: an hour is what a slip of the clock looks like.
_SHIFTS = (-60, 60)
_DAY = 24 * 60
#: The end of a telephone number that nobody's records have.
_NOBODY = "9768"
#: Any number would do: whether it breaks a check is decided afterwards.
_MADE_UP = 97
_MONEY = {
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
    """A telephone number that nobody has."""
    found = list(PHONE.finditer(run.text))
    for match in found:
        new = f"{match.group()[:-4]}{_NOBODY}"
        yield Mutant(f"{match.group()} became {new}", run.saying(run.replaced(match.start(), match.end(), new)))
    known = [
        match.group() for thing in run.things for value in thing.values("phone") for match in PHONE.finditer(value)
    ]
    if known and not found:
        new = f"{min(known)[:-4]}{_NOBODY}"
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
    for factor in run.case.truth.factors:
        for check in checks_of(factor):
            if not isinstance(check, Number) or not (lead := _lead(run, check)) or _speaks_of(run, check, factor.id):
                continue
            english, chinese = _units(run, check)
            number = f"{_MADE_UP} {english}".rstrip()
            added = run.and_then(f"{lead} {number}.", f"{lead}{_MADE_UP}{chinese}。")
            made_up = check if check.role else None
            yield Mutant(f"made up: {lead} {number}", run.saying(added), made_up=made_up)


def _units(run: OracleRun, check: Number) -> tuple[str, str]:
    """Return the word for a unit in English and in Chinese."""
    if check.unit == "money":
        return _MONEY[run.vocabulary.currency if run.vocabulary else "CNY"]
    return _ENGLISH_UNITS.get(check.unit, check.unit), _CHINESE_UNITS[check.unit]


def _lead(run: OracleRun, check: Number) -> str:
    """Return how a sentence begins that gives such a figure; nothing where the check does not say what it is of."""
    if check.near:
        return check.near[0] if run.chinese else f"For the {check.near[0]} count on"
    return next((_ROLES[role][run.chinese] for role in check.role if role in _ROLES), "")


def _speaks_of(run: OracleRun, check: Number, factor: str) -> bool:
    if not check.near:
        return not run.labels[factor].vacuous
    dimension = UNITS[check.unit][0]
    text = folded(run.text)
    return any(has(text, near) for near in check.near) and any(one.dimension == dimension for one in figures(text))


#: Ways to travel, each as a trip, as an activity and as a manner; a word is replaced by one of the same column.
_ENGLISH_MODES = (("walk", "walking", "on foot"), ("drive", "driving", "by car"), ("bus ride", "riding", "by bus"))
_ENGLISH_ALSO = {"by bike": 2, "bike ride": 0, "cycling": 1, "cycle": 0, "tram": 0, "ride": 0, "by taxi": 2}
_CHINESE_MODES = (("步行", "走路", "走过去"), ("开车", "驾车", "自驾"), ("公交", "坐公交", "乘公交"))
_CHINESE_ALSO = {"车程": 0, "骑车": 0, "骑行": 0, "地铁": 0, "打车": 0}
_DENIALS = ("no ", "not ", "n't ", "without ", "-free", "不", "没", "无", "未", "别")
#: Characters before a quote in which a denial would already stand.
_LATIN_LEAD = 12


def other_mode(run: OracleRun) -> Iterator[Mutant]:
    """Another way to travel, wherever the answer speaks of one."""
    modes, also = (_CHINESE_MODES, _CHINESE_ALSO) if run.chinese else (_ENGLISH_MODES, _ENGLISH_ALSO)
    for new in modes:
        columns = {word: column for mode in modes if mode is not new for column, word in enumerate(mode)} | also
        text = _replaced(run.text, {word: new[column] for word, column in columns.items()}, words=not run.chinese)
        if text != run.text:
            yield Mutant(f"the way to travel became {new[0]}", run.saying(text))


def _replaced(text: str, table: dict[str, str], *, words: bool) -> str:
    """Return the text with every word of the table replaced, the longest first, none of the new ones again."""
    result, position = [], 0
    by_length = sorted(table, key=lambda word: (-len(word), word))
    while position < len(text):
        found = next((word for word in by_length if _stands(text, position, word, words=words)), "")
        result.append(table[found] if found else text[position])
        position += len(found) or 1
    return "".join(result)


def _stands(text: str, position: int, word: str, *, words: bool) -> bool:
    if text[position : position + len(word)].lower() != word:
        return False
    around = text[position - 1 : position] + text[position + len(word) : position + len(word) + 1]
    return not (words and any(char.isalnum() for char in around))


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


def negated_constraint(run: OracleRun) -> Iterator[Mutant]:
    """The words that a label rests on are denied."""
    for quote in run.evidence:
        around = run.text[max(quote.start - _LATIN_LEAD, 0) : quote.end]
        if any(denial in around.lower() for denial in _DENIALS):
            continue  # denied twice, it would be true again
        start = quote.start
        denied = _denial(run, quote)
        text = run.replaced(start, quote.end, denied + quote.text)
        meaning = run.replaced(start, quote.end, "")
        yield Mutant(f"{quote.text} became {denied}{quote.text}", run.saying(text), meaning)


def _denial(run: OracleRun, quote: Quote) -> str:
    if not run.chinese:
        return "not "
    if any(quote.text == thing.name for thing in run.named):
        return "不推荐"
    return "不是" if quote.text[0].isdigit() else "没有"


def unneeded_question(run: OracleRun) -> Iterator[Mutant]:
    """A question at the end that nobody needs."""
    for english, chinese in (
        ("What is your favourite colour?", "您最喜欢什么颜色？"),
        ("Could you tell me your budget and your date of birth?", "请问您的预算和生日是什么？"),
    ):
        yield Mutant(f"asked: {chinese if run.chinese else english}", run.saying(run.and_then(english, chinese)))


def dropped_call(run: OracleRun) -> Iterator[Mutant]:
    """A tool was never called."""
    for tool in dict.fromkeys(step.tool for step in run.trajectory.calls):
        turns = [
            turn.model_copy(update={"steps": tuple(step for step in turn.steps if not _calls(step, tool))})
            for turn in run.trajectory.turns
        ]
        yield Mutant(f"{tool} was never called", run.with_turns(turns))


def other_argument(run: OracleRun) -> Iterator[Mutant]:
    """A tool was called for another way to travel."""
    for tool in dict.fromkeys(step.tool for step in run.trajectory.calls if "mode" in step.arguments):
        modes = {str(step.arguments.get("mode")) for step in run.trajectory.calls if step.tool == tool}
        new = next(mode for mode in ("transit", "walking", "driving") if mode not in modes)
        turns = [
            turn.model_copy(
                update={"steps": tuple(_with_mode(step, new) if _calls(step, tool) else step for step in turn.steps)}
            )
            for turn in run.trajectory.turns
        ]
        yield Mutant(f"{tool} was called for the mode {new}", run.with_turns(turns))


def _calls(step: Step, tool: str) -> bool:
    return step.kind == "call" and step.tool == tool


def _with_mode(step: Step, mode: str) -> Step:
    return step.model_copy(update={"arguments": {**step.arguments, "mode": mode}})


WRONG: dict[str, Callable[[OracleRun], Iterator[Mutant]]] = {
    operator.__name__: operator
    for operator in (
        another_place,
        closed_shop,
        wrong_entity_right_words,
        unasked_detour,
        second_choice,
        other_first,
        swapped_order,
        value_off,
        clock_shifted,
        invented_phone,
        number_made_up,
        other_mode,
        dropped_constraint,
        negated_constraint,
        unneeded_question,
        dropped_call,
        other_argument,
    )
}
