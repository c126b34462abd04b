"""Changes of an oracle dialogue: wrong in one known way, or harmless; of its words, its calls, and crossed with labelled answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise, permutations

from pytest_mapsat.model import (
    All,
    Case,
    Check,
    ClockTime,
    Json,
    JsonObject,
    Number,
    OpenAt,
    PeopleLabels,
    Quote,
    Recommends,
    Requirement,
    SameEnd,
    Says,
    Step,
    Trajectory,
    mark_value,
)
from pytest_mapsat.reports import call_text
from pytest_mapsat.sandbox import End, SandboxSuite, differences, make_sandbox, net_changes, satisfies, tables_of

from .plain import (
    PHONE,
    UNITS,
    Clock,
    Figure,
    Mutant,
    OracleRun,
    PlainDialogue,
    Thing,
    checks_of,
    clocks,
    figures,
    folded,
    has,
    is_returned,
    sentences,
)

_TOLD = ("address", "phone", "hours")


def another_place(run: OracleRun) -> Iterator[Mutant]:
    """Another place that the tools returned, with what its own recording says of it."""
    for old, new in _swaps(run):
        if not _is_closed(run, new):
            yield _swapped(run, old, new, with_recording=True)


def closed_shop(run: OracleRun) -> Iterator[Mutant]:
    """Another place that is closed now, with what its own recording says of it."""
    for old, new in _swaps(run):
        if _is_closed(run, new):
            yield _swapped(run, old, new, with_recording=True)


def wrong_entity_right_words(run: OracleRun) -> Iterator[Mutant]:
    """The name of another place, and all the rest as it was."""
    for old, new in _swaps(run):
        if any(value in run.text for key in _TOLD for value in old.values(key)):
            yield _swapped(run, old, new, with_recording=False)


def _swaps(run: OracleRun) -> Iterator[tuple[Thing, Thing]]:
    """Yield what is named and what could wrongly stand in its place: of the same sort, and not named."""
    for old in run.named:
        for new in run.things:
            same_sort = {tool for tool, _ in old.recordings} & {tool for tool, _ in new.recordings}
            if new not in run.named and same_sort and old.name not in new.name and new.name not in old.name:
                yield old, new


def _is_closed(run: OracleRun, thing: Thing) -> bool:
    moment, hours = run.case.visible.context.now, thing.values("hours")
    if moment is None:
        return False
    now = OpenAt(op="open_at", time=moment[11:16])
    return bool(hours) and all(satisfies(now, value) is False for value in hours)


def _swapped(run: OracleRun, old: Thing, new: Thing, *, with_recording: bool) -> Mutant:
    text = run.text.replace(old.name, new.name)
    for key in _TOLD if with_recording else ():
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
#: The end of a telephone number that nobody's recordings have.
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
    for requirement in run.case.truth.requirements:
        for check in checks_of(requirement):
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
        return _MONEY[run.vocabulary.currency if run.vocabulary else "CNY"]
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


_SYNONYMS = {
    "english": (
        ("I suggest", "I recommend"), ("recommend", "suggest"), ("Take", "Go for"), ("Go to", "Head to"), ("is there in", "will be there in"),
        ("costs", "comes to"), ("about", "roughly"), ("until", "till"), ("close to", "near"),
    ),
    "chinese": (("推荐", "建议"), ("建议", "推荐"), ("大约", "约"), ("约", "大约"), ("左右", "上下"), ("现在", "目前"), ("请", "您可以"), ("可以", "能")),
}  # fmt: skip
_MANNERS = (
    ("Sure, happy to help!", "Have a lovely day!", "好的，很高兴为您服务！", "祝您一切顺利！"),
    ("Thank you for asking.", "I hope that this helps.", "感谢您的提问。", "希望对您有帮助。"),
)
#: Sentences with the name of a place, and whether they stand before the answer.
_TURNED_DOWN = {
    "english": (
        ("{0} is closed, so don't go there.", True), ("{0} is nearer, but it is already closed.", True), ("I would not go to {0}.", False),
        ("{0} won't fit you, unfortunately.", False), ("Don't bother with {0}: it is fully booked.", True), ("{0} is no good for you.", False),
        ("Skip {0}, it does not suit you.", False), ("I ruled out {0}.", False), ("{0} would not work for you.", True),
        ("{0} is not suitable.", False), ("Avoid {0}.", False), ("{0} doesn't meet your needs.", False),
    ),
    "chinese": (
        ("{0}已经打烊，就不要去了。", True), ("{0}虽然更近，但是不适合您。", True), ("不推荐{0}。", False), ("{0}不符合您的要求。", False),
        ("{0}满了，去不了。", False), ("{0}已排除。", False), ("{0}就不考虑了。", True), ("别去{0}，那里没有位置。", False), ("没选{0}，因为不合适。", False),
        ("{0}去不成。", False), ("{0}太远，不建议。", True), ("{0}不行。", False),
    ),
}  # fmt: skip
#: A sentence that begins like this depends on the one before it, and cannot move.
_DEPENDS = re.compile(
    r"\s*(?:it|this|that|there|from|then|both|they|you|the|if|at|两|再|这|那|从|如果|回来|步行|然后|之后|路上|现在|有|外面)",
    re.IGNORECASE,
)
_DIGITS = "零一二三四五六七八九"
_FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")
_ARABIC_INDIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_WRITTEN_OUT_BELOW = 100


def politeness(run: OracleRun) -> Iterator[Mutant]:
    """Manners before and behind."""
    for before, behind, before_zh, behind_zh in _MANNERS:
        text = f"{before_zh}{run.text}{behind_zh}" if run.chinese else f"{before} {run.text} {behind}"
        yield Mutant("polite words around", run.saying(text))


def reordered_sentences(run: OracleRun) -> Iterator[Mutant]:
    """The last sentence that stands alone comes first; not where a check looks at an order."""
    ordered = any(
        isinstance(check, Recommends) and check.in_order
        for requirement in run.case.truth.requirements
        for check in checks_of(requirement)
    )
    texts = [run.text[start:end].strip() for start, end in run.sentences]
    alone = [index for index, text in enumerate(texts) if index and not _DEPENDS.match(text)]
    if ordered or not alone:
        return
    first = texts.pop(alone[-1])
    joined = ("" if run.chinese else " ").join([first, *texts])
    yield Mutant(f"said first: {first}", run.saying(joined))


def turned_down(run: OracleRun) -> Iterator[Mutant]:
    """Another place is named and turned down with its reason, before or behind the answer."""
    reasons = _TURNED_DOWN["chinese" if run.chinese else "english"]
    others = [thing.name for thing in run.things if thing not in run.named and _may_be_named(run, thing.name)]
    for name, (reason, first) in zip(cycle(others), reasons, strict=False) if others else ():
        said = reason.format(name)
        parts = (said, run.text) if first else (run.text, said)
        yield Mutant(f"turned down: {said}", run.saying(("" if run.chinese else " ").join(parts)))


def _may_be_named(run: OracleRun, name: str) -> bool:
    """Return whether no check counts the bare words: where one does, even a name that is turned down may matter."""
    words = (
        phrase
        for requirement in run.case.truth.requirements
        for check in checks_of(requirement)
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


def emphasis(run: OracleRun) -> Iterator[Mutant]:
    """Names and figures in bold, in italics, between spaces."""
    names = [re.escape(thing.name) for thing in sorted(run.named, key=lambda thing: -len(thing.name))]
    pattern = re.compile("|".join([*names, r"[0-9]+(?:[.:][0-9]+)?"]))
    for mark in ("**", "*"):
        text = pattern.sub(rf"{mark}\g<0>{mark}", run.text)
        yield Mutant(f"{mark} around names and figures", run.saying(text))


def layout(run: OracleRun) -> Iterator[Mutant]:
    """A bullet list, a numbered list, one sentence a line, double spaces."""
    texts = [run.text[start:end].strip() for start, end in run.sentences]
    yield Mutant("a bullet list", run.saying("\n".join(f"- {text}" for text in texts)))
    yield Mutant("a numbered list", run.saying("\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1))))
    yield Mutant("paragraphs", run.saying("\n\n".join(texts)))
    if " " in run.text:
        yield Mutant("double spaces", run.saying(run.text.replace(" ", "  ")))


def synonyms(run: OracleRun) -> Iterator[Mutant]:
    """A word for another that means the same."""
    for old, new in _SYNONYMS["chinese" if run.chinese else "english"]:
        text = run.text.replace(old, new) if run.chinese else re.sub(rf"\b{old}\b", new, run.text)
        if text != run.text and not (run.chinese and "大" + old in run.text):
            yield Mutant(f"{old} became {new}", run.saying(text))


def approximate(run: OracleRun) -> Iterator[Mutant]:
    """Figures that say how long or how far are called approximate."""
    for figure in figures(run.text):
        exact = figure.dimension in ("length", "time")
        if exact and not re.search(r"(?:about |大?约)$", run.text[: figure.start]):
            about = "约" if run.chinese else "about "
            yield Mutant(
                f"{about.strip()} before {_old(run, figure)}",
                run.saying(run.replaced(figure.start, figure.start, about)),
            )


def other_units(run: OracleRun) -> Iterator[Mutant]:
    """The same length or time in another unit."""
    for figure in figures(run.text):
        new = _converted(figure, chinese=run.chinese)
        if new:
            yield _rewritten(run, figure, new)


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


def other_clock(run: OracleRun) -> Iterator[Mutant]:
    """The same clock time by twelve hours, or in words."""
    for clock in clocks(run.text):
        for new in _clock_forms(clock.minutes, chinese=run.chinese):
            yield _rewritten(run, clock, new)


def _clock_forms(minutes: int, *, chinese: bool) -> list[str]:
    hour, minute = divmod(minutes, 60)
    twelve = (hour - 1) % 12 + 1
    if not chinese:
        half = "pm" if hour >= 12 else "am"  # noqa: PLR2004  noon
        return [f"{twelve}:{minute:02d} {half}", f"{twelve}:{minute:02d} {half[0]}.m."] + (
            [] if minute else [f"{twelve} {half}"]
        )
    part = "凌晨" if hour < 6 else "上午" if hour < 12 else "中午" if hour == 12 else "下午" if hour < 18 else "晚上"  # noqa: PLR2004
    rest = "" if not minute else "半" if minute == 30 else f"{minute}分"  # noqa: PLR2004
    han = "" if not minute else "半" if minute == 30 else f"{_in_chinese(minute, leading_zero=True)}分"  # noqa: PLR2004
    return [f"{part}{twelve}点{rest}", f"{hour}点{rest}", f"{part}{_in_chinese(twelve)}点{han}"]


def other_digits(run: OracleRun) -> Iterator[Mutant]:
    """The same figures in the digits of another script, or written out."""
    figure = re.compile(r"[0-9]+(?:[.:][0-9]+)*")
    for name, table in (("full-width digits", _FULL_WIDTH), ("Arabic digits", _ARABIC_INDIC)):
        text = figure.sub(lambda match, table=table: match.group().translate(table), run.text)  # type: ignore[misc]  # bound now
        if text != run.text:
            yield Mutant(name, run.saying(text))
    for one in figures(run.text):
        if (
            one.value == int(one.value)
            and one.value < _WRITTEN_OUT_BELOW
            and one.unit not in ("count", "celsius", "star")
        ):
            written = _in_chinese(int(one.value)) if run.chinese else _in_english(int(one.value))
            yield _rewritten(run, one, _old(run, one).replace(f"{one.value:g}", written, 1))


def _in_chinese(value: int, *, leading_zero: bool = False) -> str:
    tens, ones = divmod(value, 10)
    if not tens:
        return ("零" if leading_zero else "") + _DIGITS[ones].replace("二", "二" if leading_zero else "两")
    return ("" if tens == 1 else _DIGITS[tens]) + "十" + (_DIGITS[ones] if ones else "")


def _in_english(value: int) -> str:
    tens, ones = divmod(value, 10)
    if value < len(_SMALL):
        return _SMALL[value]
    return _TENS[tens] + (f"-{_SMALL[ones]}" if ones else "")


def _old(run: OracleRun, one: Figure | Clock) -> str:
    return run.text[one.start : one.end]


def _rewritten(run: OracleRun, one: Figure | Clock, new: str) -> Mutant:
    return Mutant(f"{_old(run, one)} became {new}", run.saying(run.replaced(one.start, one.end, new)))


HARMLESS: dict[str, Callable[[OracleRun], Iterator[Mutant]]] = {
    operator.__name__: operator
    for operator in (
        politeness, reordered_sentences, turned_down, pasted_results, emphasis, layout, synonyms, approximate, other_units, other_clock, other_digits,
    )
}  # fmt: skip


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
    end = End(tables_of(case, suite), oracle)
    checks = [check for requirement in case.truth.requirements for check in checks_of(requirement)]
    ignored = [column for check in checks if isinstance(check, SameEnd) for column in check.ignore]
    for at, (_, step) in enumerate(made):
        if not step.changed:
            continue
        for kind, words, changed in _changes(calls, at, step, end, suite):
            played = _played(case, suite, oracle, changed)
            changes = net_changes(change for call in played.calls for change in call.changed)
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
        violates: the requirements that it surely breaks; none where it is harmless.
        holds: the requirements that it surely keeps, where it is harmless.
    """

    mutant: Mutant
    violates: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Answer:
    """A labelled reply: its words, and the requirements that hold and do not."""

    id: str
    text: str
    kept: tuple[str, ...]
    broken: tuple[str, ...]

    @classmethod
    def of(cls, answer: PeopleLabels) -> _Answer:
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
    def of(cls, run: OracleRun, answers: Iterable[PeopleLabels]) -> Answers:
        """Return the answers to the run's case that are one reply, sorted by what their labels say."""
        required = {requirement.id for requirement in run.case.truth.required}
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
            if len(missing) == 1 and (text := _with_value(good.text, missing[0], wrong)):
                changed = f"in {good.id}, {_words_of(good.text, missing[0])} became what {bad.id} says: {_words_of(bad.text, wrong)}"
                yield Crossing(Mutant(changed, answers.run.saying(text)), violates=bad.broken)


def crossed_sentence(answers: Answers) -> Iterator[Crossing]:
    """The sentence of an answer that gives a wrong figure of a thing by its name, behind a right answer."""
    for bad, wrong in _with_a_wrong_figure(answers):
        for start, end in sentences(bad.text):
            said = bad.text[start:end].strip()
            if start <= wrong.start < end and _stands_alone(said) and len(_names_in(said, answers.run)) == 1:
                for good in answers.right:
                    yield Crossing(_with(answers.run, good, said), violates=bad.broken)


def swapped_things(answers: Answers) -> Iterator[Crossing]:
    """Two things of one kind change names throughout a right answer: what it turned down is chosen now."""
    run = answers.run
    for good in answers.right:
        for one, other in permutations(_names_in(good.text, run), 2):
            broken = tuple(
                requirement.id
                for requirement in run.case.truth.requirements
                if requirement.id in good.kept and _asks_for(requirement, one, other, good.text)
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
            named = _names_in(said, run)
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
    facts = {requirement.id for requirement in answers.run.case.truth.facts}
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
    fact = next(requirement for requirement in run.case.truth.facts if requirement.id == bad.broken[0])
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


def _with_value(text: str, old: Amount, new: Amount) -> str:
    """Return a text with another value where a figure stands, in the figure's own unit."""
    words = _words_of(text, old)
    if isinstance(old, Clock) or isinstance(new, Clock):
        written = f"{new.minutes // 60:02d}:{new.minutes % 60:02d}" if isinstance(new, Clock) else ""
        return f"{text[: old.start]}{written}{text[old.end :]}" if written else ""
    before, after = f"{old.value:g}", f"{new.base / UNITS[old.unit][1]:g}"
    if before not in words or before == after:
        return ""
    return f"{text[: old.start]}{words.replace(before, after, 1)}{text[old.end :]}"


def _words_of(text: str, one: Amount) -> str:
    return text[one.start : one.end]


# -- things ------------------------------------------------------------------------------------------------------------


def _names_in(text: str, run: OracleRun) -> list[str]:
    """Return the names of things in a text, in full, none of them part of another one."""
    found = [thing.name for thing in run.things if thing.name in text]
    return [name for name in found if not any(name in other for other in found if other != name)]


def _asks_for(requirement: Requirement, one: str, other: str, text: str) -> bool:
    """Return whether a requirement that a text keeps asks for one thing, the only such one that the text names, and not for another."""
    return any(
        _is(one, names) and not _is(other, names) and sum(name in text for name in names) == 1
        for names in _wanted(requirement)
    )


def _wanted(requirement: Requirement) -> Iterator[tuple[str, ...]]:
    """Yield the names of which a requirement asks that nothing else is proposed."""
    for check in _needed(requirement.check) if requirement.check is not None else ():
        if isinstance(check, Recommends) and check.any_of and (check.only or not check.of_results):
            yield check.any_of


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
    tools = [{tool for tool, _ in thing.recordings} for thing in things]
    return bool(tools[0] & tools[-1]) and things[0].values("kind") == things[-1].values("kind")


def _excluded(run: OracleRun, name: str, text: str) -> bool:
    """Return whether a requirement forbids that a thing is proposed, so that a right answer which names it turns it down or compares it."""
    for requirement in run.case.truth.required:
        for names in _wanted(requirement):
            if not _is(name, names) and any(wanted in text for wanted in names):
                return True
        needed = _needed(requirement.check) if requirement.check is not None else ()
        if any(isinstance(check, Recommends) and check.forbids and _is(name, check.none_of) for check in needed):
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
