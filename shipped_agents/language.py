"""What a message asks for (task, destination, numbers, clock times), and sentences in the user's language."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .town import Json

Task = Literal["ride", "transit", "outing", "errands", "usual", "journey", "place"]

#: The first row with a word of the message decides; a message with none of them and a named destination is a journey.
_TASKS: tuple[tuple[Task, tuple[str, ...]], ...] = (
    ("ride", ("which ride", "a ride", "taxi", "cab", "打车", "叫车", "叫辆")),
    ("transit", ("train", "tram", "bus", "subway", "metro", "地铁", "公交", "末班")),
    ("errands", ("errands", "跑几个地方", "办几件事")),
    ("outing", ("plan an", "plan a", "day out", "afternoon out", "行程", "转转", "去哪儿玩", "去哪玩")),
    ("usual", ("usual place", "老地方")),
)
#: Sorts of place: what to search for, and the words by which users mean it.
_SORTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pharmacy", ("pharmacy", "chemist", "drugstore")),
    ("药店", ("药店", "买药")),
    ("charging station", ("charge my car", "charging station", "ev charger")),
    ("充电站", ("充电",)),
    ("bike workshop", ("workshop", "bike repair")),
    ("咖啡馆", ("咖啡",)),
    ("洗车店", ("洗车",)),
    ("火锅", ("火锅",)),
    ("restaurant", ("restaurant", "dinner", "lunch", "somewhere to eat")),
    ("餐厅", ("餐厅", "饭馆", "吃饭", "晚饭", "午饭")),
    ("理发店", ("理发", "剪头发")),
)
#: Sorts of place where people sit down at a certain hour, where a car is charged, and where things are mended.
MEALS = frozenset({"restaurant", "餐厅", "火锅"})
CHARGERS = frozenset({"charging station", "充电站"})
WORKSHOPS = frozenset({"bike workshop"})

_DESTINATION_EN = re.compile(r"\bto (?:the )?([A-Z][\w'&-]*(?: [A-Z][\w'&-]*)*)")
_DESTINATION_ZH = re.compile(
    r"[去到](?!早上|上午|中午|下午|晚上|.{1,3}点)([\u4e00-\u9fff]{2,}?)(?=怎么|吗|[，,。？?]|$)"
)
_CJK = re.compile(r"[\u4e00-\u9fff]")

_EN_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ZH_DIGITS = {digit: number for number, digit in enumerate("零一二三四五六七八九")} | {"两": 2, "十": 10}
_NUMBER = rf"(?:\d{{1,2}}|{'|'.join(_EN_NUMBERS)}|[{''.join(_ZH_DIGITS)}]{{1,3}})"
_COLON_TIME = re.compile(r"(?<!\d)(\d{1,2}):(\d\d)(?!\d)")
_EN_TIME = re.compile(
    rf"\b(?:at|by|before|around|about) (half past )?({_NUMBER})\b(?!:| ?(?:m|km|min|people|of))", re.IGNORECASE
)
#: Money for all together: "540 yuan altogether", "一共别超过200元".
_TOTAL = re.compile(r"(\d+) yuan (?:altogether|in total|for all)|(?:一共|总共|合计)[^\d。]{0,6}(\d+)元")
_ZH_TIME = re.compile(rf"({_NUMBER})点(半)?")


@dataclass(frozen=True)
class Request:
    """What the first message asks for.

    Attributes:
        task: the sort of task.
        language: "zh" or "en", that of the message.
        subject: the name of the destination, or the sort of place to search for; may be empty.
        tomorrow: whether it is about tomorrow.
        names: the places of several errands.
    """

    task: Task
    language: str
    subject: str
    tomorrow: bool
    names: tuple[str, ...] = ()


def understand(message: str) -> Request:
    """Return what a first message asks for."""
    folded = message.lower()
    language = "zh" if _CJK.search(message) else "en"
    destination = _destination(message)
    task = next((task for task, words in _TASKS if has_any(folded, words)), "journey" if destination else "place")
    subject = destination if task in ("ride", "transit", "journey") else _sort(folded)
    names = _listed(message) if task == "errands" else ()
    return Request(task, language, subject, has_any(folded, ("tomorrow", "明天", "明早")), names)


def has_any(text: str, words: Iterable[str]) -> bool:
    """Return whether one of ``words`` stands in ``text`` (both lower case): as a whole word where the script writes spaces."""
    return any(
        word in text if _CJK.search(word) else re.search(rf"\b{re.escape(word)}\b", text) is not None for word in words
    )


def count_before(text: str, *things: str) -> int | None:
    """Return the number said before one of ``things`` ("five big suitcases", "四个人"), or None."""
    pattern = rf"({_NUMBER})[个位件家]?(?: [a-z]+)?? ?(?:{'|'.join(map(re.escape, things))})"
    found = re.search(pattern, text, re.IGNORECASE)
    return _number(found[1]) if found else None


def clock_times(text: str, after: int) -> list[int]:
    """Return the clock times of ``text`` in minutes of the day; an hour that is past at ``after`` is meant in the afternoon."""
    times = [int(hour) * 60 + int(minute) for hour, minute in _COLON_TIME.findall(text)]
    spoken = [(_number(hour), bool(half)) for half, hour in _EN_TIME.findall(text)]
    spoken += [(_number(hour), bool(half)) for hour, half in _ZH_TIME.findall(text)]
    for hour, half in spoken:
        minutes = hour * 60 + 30 * half
        times.append(minutes + 12 * 60 if minutes < after and hour <= 12 else minutes)  # noqa: PLR2004  a clock face
    return times


def _listed(message: str) -> tuple[str, ...]:
    """Return the names behind a colon ("errands: the Post, the Library and the Bakery")."""
    _, _, names = message.replace("：", ":").partition(":")
    parts = re.split(r",|、| and |和", re.split(r"[.。?？]", names)[0])
    return tuple(part.strip() for part in parts if part.strip())


def total_yuan(text: str) -> float | None:
    """Return the money that is there for everybody together, yuan, or None."""
    found = _TOTAL.search(text)
    return float(found[1] or found[2]) if found else None


def _destination(message: str) -> str:
    found = _DESTINATION_EN.search(message) or _DESTINATION_ZH.search(message)
    return found[1] if found else ""


def _sort(folded: str) -> str:
    return next((sort for sort, words in _SORTS if has_any(folded, words)), "")


def _number(text: str) -> int:
    """Return the value of digits, an English or a Chinese numeral up to 99."""
    if text.isdigit():
        return int(text)
    if text.lower() in _EN_NUMBERS:
        return _EN_NUMBERS.index(text.lower()) + 1
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return _ZH_DIGITS[text[0]]
    return (_ZH_DIGITS[tens] if tens else 1) * 10 + (_ZH_DIGITS[ones] if ones else 0)


_MODES = {
    "walking": ("on foot", "步行"),
    "cycling": ("by bike", "骑车"),
    "driving": ("by car", "开车"),
    "transit": ("by bus", "坐公交"),
}


def pick(language: str, en: str, zh: str) -> str:
    """Return the text in the user's language."""
    return zh if language == "zh" else en


def join(language: str, *sentences: str) -> str:
    """Return sentences as one text; empty ones are left out."""
    return ("" if language == "zh" else " ").join(sentence for sentence in sentences if sentence)


def distance(language: str, metres: float) -> str:
    """Return a distance in metres below one kilometre, else in kilometres."""
    if metres < 1000:  # noqa: PLR2004  a kilometre
        return pick(language, f"{metres:g} m", f"{metres:g}米")
    return pick(language, f"{metres / 1000:g} km", f"{metres / 1000:g}公里")


def way(language: str, route: Json, mode: str) -> str:
    """Return the sentence that tells how long a way takes."""
    en, zh = _MODES[mode]
    length, minutes = distance(language, route["distance_m"]), route["duration_min"]
    toll = route.get("toll_yuan", 0)
    costs = pick(language, f", with a toll of {toll} yuan", f"，过路费{toll}元") if toll else ""
    return pick(
        language, f"It is {length} {en} and takes {minutes} min{costs}.", f"{zh}{minutes}分钟，{length}{costs}。"
    )


def way_via(language: str, route: Json) -> str:
    """Return the sentence that names the road to take, if the route has one."""
    via = route.get("via")
    return pick(language, f"Take the way by {via}.", f"请走{via}。") if via else ""
