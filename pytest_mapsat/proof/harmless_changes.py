"""Changes that change nothing: manners, order of sentences, layout, units, and the other ways to write a number."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import cycle

from pytest_mapsat.model import Check, Chooses, NotSaid, Order, Said

from .oracle_run import Mutant, OracleRun
from .plain_text import Clock, Figure, clocks, figures
from .violations import checks_of

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
    ordered = any(isinstance(check, Order) for factor in run.case.truth.factors for check in checks_of(factor))
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
    words = (phrase for factor in run.case.truth.factors for check in checks_of(factor) for phrase in _phrases(check))
    return not any(phrase in name or name in phrase for phrase in words)


def _phrases(check: Check) -> tuple[str, ...]:
    if isinstance(check, Said):
        return (*check.any, *check.all)
    if isinstance(check, NotSaid):
        return check.phrases
    return check.over if isinstance(check, Chooses) else ()


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
