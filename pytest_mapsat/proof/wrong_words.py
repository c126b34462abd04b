"""Wrong words: another way to travel, a statement dropped or denied, a question that nobody needs."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_mapsat.model import Quote

from .play import Draft, Play

#: Ways to travel, each with its words for the trip, the doing and the manner; columns change against columns.
_ENGLISH_MODES = (("walk", "walking", "on foot"), ("drive", "driving", "by car"), ("bus ride", "riding", "by bus"))
_ENGLISH_ALSO = {"by bike": 2, "bike ride": 0, "cycling": 1, "cycle": 0, "tram": 0, "ride": 0, "by taxi": 2}
_CHINESE_MODES = (("步行", "走路", "走过去"), ("开车", "驾车", "自驾"), ("公交", "坐公交", "乘公交"))
_CHINESE_ALSO = {"车程": 0, "骑车": 0, "骑行": 0, "地铁": 0, "打车": 0}
_DENIALS = ("no ", "not ", "n't ", "without ", "-free", "不", "没", "无", "未", "别")
_LATIN_LEAD = 12


def other_mode(play: Play) -> Iterator[Draft]:
    """Another way to travel, wherever the answer speaks of one."""
    modes, also = (_CHINESE_MODES, _CHINESE_ALSO) if play.chinese else (_ENGLISH_MODES, _ENGLISH_ALSO)
    for new in modes:
        columns = {word: column for mode in modes if mode is not new for column, word in enumerate(mode)} | also
        text = _replaced(play.text, {word: new[column] for word, column in columns.items()}, words=not play.chinese)
        if text != play.text:
            yield Draft(f"the way to travel became {new[0]}", play.saying(text))


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


def dropped_constraint(play: Play) -> Iterator[Draft]:
    """The sentence, or the clause, that carries the words a label rests on is not there."""
    spans = {_sentence(play, quote) for quote in play.evidence} | {_clause(play, quote) for quote in play.evidence}
    for start, end in sorted(spans):
        if end - start < len(play.text.strip()):
            yield Draft(f"left out: {play.text[start:end].strip()}", play.saying(play.replaced(start, end, "").strip()))


def _sentence(play: Play, quote: Quote) -> tuple[int, int]:
    return next(((start, end) for start, end in play.sentences if start <= quote.start < end), (quote.start, quote.end))


def _clause(play: Play, quote: Quote) -> tuple[int, int]:
    """Return the span from the comma before the words to the one behind them, in their sentence."""
    start, end = _sentence(play, quote)
    comma = "，" if play.chinese else ", "
    before = play.text.rfind(comma, start, quote.start)
    behind = play.text.find(comma, quote.end, end)
    start = start if before < 0 else before
    return start, (end - 1 if before >= 0 else end) if behind < 0 else behind + (len(comma) if before < 0 else 0)


def negated_constraint(play: Play) -> Iterator[Draft]:
    """The words that a label rests on are denied."""
    for quote in play.evidence:
        around = play.text[max(quote.start - _LATIN_LEAD, 0) : quote.end]
        if any(denial in around.lower() for denial in _DENIALS):
            continue  # a denial of a denial affirms
        start = quote.start
        denied = _denial(play, quote)
        text = play.replaced(start, quote.end, denied + quote.text)
        meaning = play.replaced(start, quote.end, "")
        yield Draft(f"{quote.text} became {denied}{quote.text}", play.saying(text), meaning)


def _denial(play: Play, quote: Quote) -> str:
    if not play.chinese:
        return "not "
    if any(quote.text == thing.name for thing in play.named):
        return "不推荐"
    return "不是" if quote.text[0].isdigit() else "没有"


def unneeded_question(play: Play) -> Iterator[Draft]:
    """A question at the end that nobody needs."""
    for english, chinese in (
        ("What is your favourite colour?", "您最喜欢什么颜色？"),
        ("Could you tell me your budget and your date of birth?", "请问您的预算和生日是什么？"),
    ):
        yield Draft(f"asked: {chinese if play.chinese else english}", play.saying(play.and_then(english, chinese)))
