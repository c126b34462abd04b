"""Changes that change nothing: manners, order of sentences, layout, units, and the other ways to write a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import cycle

from pytest_mapsat.model import Check, Chooses, NotSaid, Order, Said

from .plain import Clock, Figure, clocks, figures
from .play import Draft, Play
from .truth import checks_of

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
#: With the name of a place, and whether it stands before the answer.
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
#: A sentence that begins so leans on the one before it.
_LEANS = re.compile(
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


def politeness(play: Play) -> Iterator[Draft]:
    """Manners before and behind."""
    for before, behind, vor, nach in _MANNERS:
        text = f"{vor}{play.text}{nach}" if play.chinese else f"{before} {play.text} {behind}"
        yield Draft("polite words around", play.saying(text))


def reordered_sentences(play: Play) -> Iterator[Draft]:
    """The last sentence that stands alone comes first; not where a check looks at an order."""
    ordered = any(isinstance(check, Order) for factor in play.case.truth.factors for check in checks_of(factor))
    texts = [play.text[start:end].strip() for start, end in play.sentences]
    alone = [index for index, text in enumerate(texts) if index and not _LEANS.match(text)]
    if ordered or not alone:
        return
    first = texts.pop(alone[-1])
    joined = ("" if play.chinese else " ").join([first, *texts])
    yield Draft(f"said first: {first}", play.saying(joined))


def turned_down(play: Play) -> Iterator[Draft]:
    """Another place is named and turned down with its reason, before or behind the answer."""
    reasons = _TURNED_DOWN["chinese" if play.chinese else "english"]
    others = [thing.name for thing in play.things if thing not in play.named and _may_be_named(play, thing.name)]
    for name, (reason, first) in zip(cycle(others), reasons, strict=False) if others else ():
        said = reason.format(name)
        parts = (said, play.text) if first else (play.text, said)
        yield Draft(f"turned down: {said}", play.saying(("" if play.chinese else " ").join(parts)))


def _may_be_named(play: Play, name: str) -> bool:
    """Return whether no check counts the bare words: where one does, even a name that is turned down may matter."""
    words = (phrase for factor in play.case.truth.factors for check in checks_of(factor) for phrase in _phrases(check))
    return not any(phrase in name or name in phrase for phrase in words)


def _phrases(check: Check) -> tuple[str, ...]:
    if isinstance(check, Said):
        return (*check.any, *check.all)
    if isinstance(check, NotSaid):
        return check.phrases
    return check.over if isinstance(check, Chooses) else ()


def emphasis(play: Play) -> Iterator[Draft]:
    """Names and figures in bold, in italics, between spaces."""
    names = [re.escape(thing.name) for thing in sorted(play.named, key=lambda thing: -len(thing.name))]
    pattern = re.compile("|".join([*names, r"[0-9]+(?:[.:][0-9]+)?"]))
    for mark in ("**", "*"):
        text = pattern.sub(rf"{mark}\g<0>{mark}", play.text)
        yield Draft(f"{mark} around names and figures", play.saying(text))


def layout(play: Play) -> Iterator[Draft]:
    """A bullet list, a numbered list, one sentence a line, double spaces."""
    texts = [play.text[start:end].strip() for start, end in play.sentences]
    yield Draft("a bullet list", play.saying("\n".join(f"- {text}" for text in texts)))
    yield Draft("a numbered list", play.saying("\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1))))
    yield Draft("paragraphs", play.saying("\n\n".join(texts)))
    if " " in play.text:
        yield Draft("double spaces", play.saying(play.text.replace(" ", "  ")))


def synonyms(play: Play) -> Iterator[Draft]:
    """A word for another that means the same."""
    for old, new in _SYNONYMS["chinese" if play.chinese else "english"]:
        text = play.text.replace(old, new) if play.chinese else re.sub(rf"\b{old}\b", new, play.text)
        if text != play.text and not (play.chinese and "大" + old in play.text):
            yield Draft(f"{old} became {new}", play.saying(text))


def approximate(play: Play) -> Iterator[Draft]:
    """Figures that say how long or how far are called approximate."""
    for figure in figures(play.text):
        exact = figure.dimension in ("length", "time")
        if exact and not re.search(r"(?:about |大?约)$", play.text[: figure.start]):
            about = "约" if play.chinese else "about "
            yield Draft(
                f"{about.strip()} before {_old(play, figure)}",
                play.saying(play.replaced(figure.start, figure.start, about)),
            )


def other_units(play: Play) -> Iterator[Draft]:
    """The same length or time in another unit."""
    for figure in figures(play.text):
        new = _converted(figure, chinese=play.chinese)
        if new:
            yield _rewritten(play, figure, new)


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


def other_clock(play: Play) -> Iterator[Draft]:
    """The same clock time by twelve hours, or in words."""
    for clock in clocks(play.text):
        for new in _clock_forms(clock.minutes, chinese=play.chinese):
            yield _rewritten(play, clock, new)


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


def other_digits(play: Play) -> Iterator[Draft]:
    """The same figures in the digits of another script, or written out."""
    figure = re.compile(r"[0-9]+(?:[.:][0-9]+)*")
    for name, table in (("full-width digits", _FULL_WIDTH), ("Arabic digits", _ARABIC_INDIC)):
        text = figure.sub(lambda match, table=table: match.group().translate(table), play.text)  # type: ignore[misc]  # bound now
        if text != play.text:
            yield Draft(name, play.saying(text))
    for one in figures(play.text):
        if (
            one.value == int(one.value)
            and one.value < _WRITTEN_OUT_BELOW
            and one.unit not in ("count", "celsius", "star")
        ):
            written = _in_chinese(int(one.value)) if play.chinese else _in_english(int(one.value))
            yield _rewritten(play, one, _old(play, one).replace(f"{one.value:g}", written, 1))


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


def _old(play: Play, one: Figure | Clock) -> str:
    return play.text[one.start : one.end]


def _rewritten(play: Play, one: Figure | Clock, new: str) -> Draft:
    return Draft(f"{_old(play, one)} became {new}", play.saying(play.replaced(one.start, one.end, new)))


HARMLESS: dict[str, Callable[[Play], Iterator[Draft]]] = {
    operator.__name__: operator
    for operator in (
        politeness, reordered_sentences, turned_down, emphasis, layout, synonyms, approximate, other_units, other_clock, other_digits,
    )
}  # fmt: skip
