"""Three agents without a model that search in the same words and differ in what they do with what they find.

Run them with ``pytest examples/local-search --mapsat-agent=searchers:hop_by_hop`` (or ``plan_first``, ``one_search``). All three read the question by the rules of
this file. They are made for its forty questions; what they earn says nothing of how hard such questions are for yours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_mapsat import Reply

Row = Mapping[str, Any]

#: What the agents know of the world: sorts of merchants as the search has them, and words by which people mean them.
KINDS = {
    "noodle bar": "noodles?( bars?)?",
    "hotpot restaurant": "hot ?pots?",
    "bakery": "bakery|bakeries|baker|bread",
    "coffee shop": "coffee shops?|cafes?|coffee",
    "seafood grill": "seafood( grill)?",
    "dumpling house": "dumplings?( house)?",
    "dessert parlour": "desserts?( parlour)?",
    "vegetarian kitchen": "vegetarian (kitchen|restaurant)s?",
    "theatre": "theatres?|playhouse|play",
    "hair salon": "hair salon|hairdresser|hair cut|haircut",
    "laundry": "laundry|dry cleaner",
    "pet groomer": "(pet )?groomer",
    "gym": "gyms?",
    "karaoke lounge": "karaoke",
    "yoga studio": "yoga( studio)?",
    "bookshop": "book ?shops?|books",
    "florist": "florists?|flowers",
    "gift shop": "gift shops?|souvenirs",
    "supermarket": "supermarkets?|groceries",
    "tea shop": "tea shops?",
    "toy shop": "toy shops?|toys",
    "hotel": "hotels?",
    "hostel": "hostels?",
    "guesthouse": "guest ?houses?|bed and breakfast",
    "pharmacy": "pharmacy|drugstore|chemist",
    "dental clinic": "dental clinics?|dentist",
    "physiotherapy practice": "physiotherap(y practice|ist)|physio",
    "museum": "museums?",
    "botanical garden": "botanical gardens?",
    "boat tour": "boat (tour|trip)s?",
    "面包店": "面包店|面包房|买面包|烘焙店",
    "面馆": "面馆|面店|吃碗面",
    "火锅店": "火锅店?",
    "咖啡馆": "咖啡[馆店厅]",
    "海鲜烧烤店": "海鲜烧烤店?",
    "饺子馆": "饺子馆?|水饺",
    "甜品店": "甜品店?",
    "素食餐厅": "素食餐厅|素菜馆",
    "剧场": "剧场|话剧院?",
    "理发店": "理发店|剪头发|美发店",
    "洗衣店": "洗衣店|干洗店",
    "宠物美容店": "宠物(美容)?店",
    "健身房": "健身(房|中心|馆)",
    "卡拉OK": "KTV|卡拉OK|歌厅",
    "瑜伽馆": "瑜伽馆?",
    "书店": "书店",
    "花店": "花店",
    "礼品店": "礼品店",
    "超市": "超市",
    "茶叶店": "茶叶店|茶庄|买茶",
    "玩具店": "玩具店?",
    "宾馆": "宾馆|酒店",
    "青年旅舍": "青年旅舍|青旅",
    "民宿": "民宿|客栈",
    "药店": "药[店房]",
    "口腔诊所": "口腔诊所|牙科|看看牙",
    "理疗馆": "理疗馆",
    "博物馆": "博物馆",
    "植物园": "植物园",
    "游船": "游船",
}
_ANY_KIND = "|".join(KINDS.values())
_KIND = re.compile("|".join(f"(?P<k{at}>(?<![a-z])(?:{words})(?![a-z]))" for at, words in enumerate(KINDS.values())))
#: Words for where an earlier errand leads: to a landmark, to a business area. A sort of merchants in them is no errand of its own.
_BACK = re.compile(
    rf"(?:the same|the|its|that|this|the (?:{_ANY_KIND})'s(?: own)?) (?P<en>landmark|quarter|business area)"
    rf"(?: next to it| (?:as|of) (?:the|that) (?:{_ANY_KIND})| the (?:{_ANY_KIND}) stands at)?"
    rf"|(?:{_ANY_KIND})?(?:旁边?|所在|那个|同一个|这个|它|的)+(?P<zh>地标|商圈)(?:附近|里)?"
)
_COLUMNS = {"landmark": "landmark", "地标": "landmark"}
_MARK = "<there>"
#: A place that the question names itself.
_PLACE = re.compile(
    r"\b(?:in|by|near|at) [A-Z]\w+ [A-Z]\w+|[\u4e00-\u9fff]{2}(?:区|新村|巷口|广场|拱桥|钟楼|牌坊|长廊|码头|喷泉|灯塔)"
)
_BEST = (("cheapest|最便宜", "avg_price", 1), ("best[- ]rated|评分最高", "rating", -1))
_SENTENCE = re.compile(r"\.(?!\d)|[!?;。！？；]")
_CLAUSE = re.compile(r"(?<!\d):|:(?!\d)|[,，、：]|\band\b(?! breakfast)|\bthen\b")
_NEED = re.compile(r"(?:Filtered (?P<en>.+?) by|找(?P<zh>.+?)时筛选了)[:：] ?(?P<need>[^(（]+?) ?[(（]")


@dataclass
class Errand:
    """One thing to look for.

    Attributes:
        kind: the sort of merchant, as the search has it.
        words: what the question says of it; ``<there>`` stands where it leads back to the first errand.
        back: the column in which the first errand finds the place of this one; empty where the question names it.
        best: the column by which the best one is wanted, and 1 where the least is the best, -1 where the greatest; none: any will do.
    """

    kind: str
    words: str
    back: str = ""
    best: tuple[str, int] | None = None


def errands(question: str) -> list[Errand]:
    """Return what a question asks to look for, in its order."""
    columns = [_COLUMNS.get(match["en"] or match["zh"], "business_area") for match in _BACK.finditer(question)]
    heard: list[Errand] = []
    waiting: list[str] = []
    for sentence in _SENTENCE.split(_BACK.sub(_MARK, question)):
        begun = False
        for clause in filter(str.strip, _CLAUSE.split(sentence)):
            kind = _kind_of(clause)
            begun = begun or bool(kind)
            if kind and (not heard or heard[-1].kind != kind):
                heard.append(Errand(kind, ", ".join([*waiting, clause.strip()])))
                waiting = []
            elif not heard or not begun:
                waiting.append(clause.strip())  # it leads up to the next errand
            else:
                heard[-1].words += f", {clause.strip()}"
    if heard and waiting:
        heard[-1].words += ", " + ", ".join(waiting)
    _look_closer(heard, columns)
    return heard


def _look_closer(heard: Sequence[Errand], columns: Sequence[str]) -> None:
    """Find out where errands lead back, and what is wanted the best of."""
    left, back = list(columns), ""
    for errand in heard:
        for _ in range(errand.words.count(_MARK)):
            back = left.pop(0)
        back = "" if _PLACE.search(errand.words) else back
        errand.back = back
        errand.best = next(((column, way) for words, column, way in _BEST if re.search(words, errand.words)), None)


def _kind_of(words: str) -> str:
    match = _KIND.search(words) or _KIND.search(words.lower())
    return list(KINDS)[int(str(match.lastgroup)[1:])] if match else ""


def needs(history: Sequence[str]) -> dict[str, str]:
    """Return what the user always asks for, by the sort of merchant, as past searches tell."""
    matches = filter(None, map(_NEED.match, history))
    return {_kind_of(match["en"] or match["zh"]): match["need"] for match in matches}


def query(errand: Errand, place: str, need: str) -> str:
    """Return the words to search by."""
    words = errand.words.replace(_MARK, place)
    more = [] if place in words else [place]
    return ", ".join(filter(None, [errand.kind, words, *more, need]))


def reply(question: str, rows: Sequence[Row | None], context: Any) -> Reply:
    """Return the answer: one merchant for each hop that the case names, in its order."""
    hops = context.output_schema["properties"]["merchants"]["items"]["properties"]["hop"]["enum"]
    pairs = [(hop, row) for hop, row in zip(hops, rows, strict=False) if row is not None]
    stop, comma = ("。", "；") if re.search("[\u4e00-\u9fff]", question) else (".", "; ")
    text = comma.join(str(row["name"]) for _, row in pairs) + stop if pairs else "?"
    return Reply(text, output={"merchants": [{"hop": hop, "poi_id": row["poi_id"]} for hop, row in pairs]})


def _search(tools: Any, words: str, context: Any) -> list[Row]:
    result = tools.call("search_merchants", {"query": words, "city": context.city, "limit": 20})
    found: list[Row] = result.get("merchants", [])
    return found


def one_search(message: str, tools: Any, context: Any) -> Reply:
    """Search once, by the question as it is: the first result is for the first hop, the next for the next."""
    return reply(message, _search(tools, message, context), context)


def plan_first(message: str, tools: Any, context: Any) -> Reply:
    """Write all queries down before the first search, and take the first result of each."""
    likes = needs(context.get("history") or ())
    plan = [query(errand, "", likes.get(errand.kind, "")) for errand in errands(message)]
    results = [_search(tools, words, context) for words in plan]
    return reply(message, [rows[0] if rows else None for rows in results], context)


def hop_by_hop(message: str, tools: Any, context: Any) -> Reply:
    """Search, read what was found, and search again with it; take a result that is what was looked for."""
    likes = needs(context.get("history") or ())
    chosen: list[Row | None] = []
    for errand in errands(message):
        first = chosen[0] if chosen else None
        place = str(first[errand.back]) if errand.back and first else ""
        need = likes.get(errand.kind, "")
        rows = _search(tools, query(errand, place, need), context)
        chosen.append(_choose(rows, errand, place, need))
    return reply(message, chosen, context)


def _choose(rows: Sequence[Row], errand: Errand, place: str, need: str) -> Row | None:
    """Return the first row that is of the sort, at the place and has what is needed; where the best is wanted, the best of them."""
    right = [
        row
        for row in rows
        if row["subcategory"] == errand.kind
        and (not place or row[errand.back] == place)
        and (not need or need in [*row["tags"], *row["facilities"]])
    ]
    if right and errand.best:
        column, way = errand.best
        return min(right, key=lambda row: way * row[column])
    return next(iter([*right, *rows]), None)
