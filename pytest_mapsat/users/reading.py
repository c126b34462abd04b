"""What an agent's message asks of the user, sentence by sentence, and the facts in anybody's words. Rules only, no model: the same text is always read the same.

The words of both languages are always looked for: an agent may answer in another language than it was asked in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from pytest_mapsat import text
from pytest_mapsat.sandbox import DAY_WORDS
from pytest_mapsat.text import Document, Span, fold_phrase


@dataclass(frozen=True)
class Stock:
    """What a user says that stands in no script."""

    no_preference: str
    cannot_act: str
    goodbye: str
    said_already: str
    joint: str
    agrees: str
    declines: str
    asked_go_ahead: str


_STOCK = {
    "en": Stock(
        no_preference="No preference.",
        cannot_act="I cannot do that myself.",
        goodbye="That is all, thank you.",
        said_already="I have already said that.",
        joint=" ",
        agrees="Yes, go ahead.",
        declines="No, do not do that.",
        asked_go_ahead="asked for a go-ahead",
    ),
    "zh": Stock(
        no_preference="都可以。",
        cannot_act="这个我自己操作不了。",
        goodbye="没有了，谢谢。",
        said_already="这个我刚才说过了。",
        joint="",
        agrees="可以，就这么办。",
        declines="不用了，先不要办。",
        asked_go_ahead="被问到是否可以办理",
    ),
}


def stock_of(language: str) -> Stock:
    """Return the stock phrases of a BCP 47 language: Chinese for ``zh`` and its variants, else English."""
    return _STOCK["zh" if language.lower().replace("_", "-").split("-")[0] == "zh" else "en"]


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


#: All patterns meet folded text, in which ``？`` is ``?`` and ``，`` is ``,``.

_EN_ACTS = (
    r"(?:click|tap|press|pay|order|call|phone|dial|book|reserve|buy|purchase|scan|log ?in|sign (?:in|up)|register|download"
    r"|install|submit|check ?out|open (?:the|this|that|your) (?:link|app|page|website))"
)
_ZH_ACTS = (
    r"(?:点击|点一下|点开|支付|付款|付费|下单|拨打|致电|打电话|预订|预定|预约|订票|购买|购票|扫码|扫描|登录|登陆|注册|下载|安装|提交"
    r"|打开(?:链接|网页|网站|应用|app))"
)

#: A sentence that wants the user to act in the world.
ACTION = _any(
    r"\b(?:please|kindly|go ahead and)(?: \w+)? " + _EN_ACTS + r"\b",
    r"^(?:now |then |just |simply |first |next )?"
    + _EN_ACTS
    + r" (?:the|this|that|your|it|on|here|a|an|now|online|in|them|below|\d)",
    r"(?<!do )(?<!if )\byou(?:'ll| will)? (?:need to|have to|must)(?: \w+)? " + _EN_ACTS + r"\b",
    r"\b(?:could|can|would|will) you (?:(?:please|kindly|now|first|then|just|also) )?" + _EN_ACTS + r"\b",
    r"\b" + _EN_ACTS + r"\b[^.?!]{0,40}\b(?:yourself|on your own)\b",
    r"(?:请|麻烦|劳烦|烦请|需要|得)(?:您|你)?[^,。;?]{0,6}?(?:先|自行|自己|直接|尽快|立即|在[^,。;?]{1,8})?" + _ZH_ACTS,
    r"(?:您|你)(?:必须|得|要|可以)?(?:自己|自行)(?:去)?" + _ZH_ACTS,
)
#: An offer or a question about a wish names the same verbs but asks the user for nothing but an answer.
WISH = _any(
    r"\b(?:do you (?:want|need|wish)|would you (?:like|prefer)|shall i|should i|(?:can|could|may) i|want me to|like me to)\b",
    r"要不要|需不需要|是否|(?:您|你)?需要(?:我|预|订)[^。]*[吗?]|我(?:来|可以|能)?(?:帮|替|为)(?:您|你)",
)

#: A sentence that only puts the user off.
PLACEHOLDER = _any(
    r"^(?:please |kindly |just |ok(?:ay)?,? |sure,? )*(?:wait|hold on|hang on|stand by|bear with me)\b|\bplease wait\b",
    r"^(?:please |just |ok(?:ay)?,? |sure,? )*(?:one|a) (?:moment|second|minute|sec)\b.{0,20}$",
    r"\b(?:wait|give me|hold on)(?: for)?(?: just)? (?:one|a) (?:moment|second|minute|sec)\b",
    r"^(?:i am |i'm |still |now )*(?:planning|searching|checking|looking|working|processing|thinking|loading|calculating)\b[^.]{0,60}$",
    r"^(?:ok(?:ay)?,? |sure,? )?(?:let me|i will|i'll) (?:just |now |first )?(?:check|look|search|find|plan|think|see)\b[^.]{0,60}$",
    r"(?:稍等|稍候|稍安|耐心等待|等待片刻)|^(?:请|麻烦)?(?:您|你)?(?:再)?(?:等一下|等等|等会)",
    r"^(?:我)?正在(?:为|帮|给|替)?(?:您|你)?[^,。]{0,6}(?:规划|查询|查找|搜索|计算|处理|思考|加载|生成|分析)[^,。]{0,20}$",
    r"^(?:我|让我)(?:先|来|马上|这就)+(?:查|找|看|搜|规划|算)[^,。]{0,15}$",
)
#: A sentence that says nothing.
EMPTY_WORDS = re.compile(
    r"^(?:ok(?:ay)?|sure|certainly|of course|yes|got it|understood|alright|all right|hello|hi|thanks?|thank you|no problem"
    r"|好的?|收到|明白了?|没问题|您好|你好|可以|嗯+|了解了?)$"
)

#: A sentence in which the agent says that it cannot do the task.
GIVES_UP = _any(
    r"\bi(?:'m| am) (?:unable|not able) to (?:help|assist|complete|continue|do|fulfil\w*|answer|find|process)",
    r"\bi (?:cannot|can't|can not|couldn't|could not) (?:help|assist|complete|continue|do (?:this|that|it)|fulfil\w*|answer|process)",
    r"\bi give up\b|\bbeyond my (?:abilities|capabilities)\b",
    r"(?:无法|不能|没法)(?:为您|为你|帮您|帮你)?(?:完成|继续|提供帮助|处理|帮助|协助|满足|回答)|帮不了|帮不到|做不到|办不到|无能为力",
)

#: Days of the week, from Monday on, in full: "sun" and "sat" are other words as well.
WEEKDAY = re.compile(r"\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|星期|礼拜)([一二三四五六日天])")
_WEEKDAYS = {
    name: place
    for names in ("mon tues wednes thurs fri satur sun", "一 二 三 四 五 六 日")
    for place, name in enumerate(names.split())
}


def weekday_of(found: re.Match[str]) -> int:
    """Return the day of the week that ``WEEKDAY`` has found, Monday is 0."""
    return _WEEKDAYS[(found[1] or found[2]).replace("天", "日")]


#: Words by which a user keeps to itself what it was asked for.
DECLINES = _any(
    r"\b(?:no (?:particular |special )?preference|i (?:do not|don't) (?:mind|care|know|remember)|(?:either|any|anything|whatever) is (?:fine|ok(?:ay)?)|up to you|not sure)\b",
    r"都可以|都行|随便|无所谓|不知道|不记得|不清楚|没有(?:特别)?(?:要求|偏好)|没什么要求",
)

#: Wider than what asks in a reply, for the user's own words: whatever may be meant as a request must not end a dialogue.
WANTS_SOMETHING = _any(
    r"\?|\bplease\b(?! (?:note|be aware))|\b(?:can|could|would|will) you\b|\b(?:give|tell|show|send|find|book|plan) me\b|\bi (?:want|need) you\b",
    r"请|帮我|给我|麻烦|告诉我|能不能|可以吗|[吗呢]$",
)

#: What only an assistant says.
SPEAKS_FOR_AGENT = _any(
    r"^(?:assistant|agent|ai)\s*:",
    r"\bi (?:recommend|suggest|found|have found|looked up|would recommend|can help|have booked)\b",
    r"\b(?:as an ai|how (?:can|may) i help|here (?:are|is) (?:the|some|your)|let me (?:check|look|find|search))\b",
    r"^(?:助手|智能体|客服)\s*:|(?:我|为您|给您|帮您)(?:推荐|查到|找到|规划)|作为(?:一个)?(?:ai|人工智能|助手)|有什么可以帮|为您服务",
)


#: Characters of a message that the user reads: nobody puts a question behind an essay.
_READ_CHARS = 20_000
#: A sentence that puts the user off is short; a longer one says something besides.
_SHORT = 80

_DATE = len("2026-05-26")
_WEEK = 7
_DAY_WORD = re.compile(
    "|".join(rf"\b{re.escape(word)}\b" if word.isascii() else word for word in sorted(DAY_WORDS, key=len, reverse=True))
)
_NOT_WORD = re.compile(r"[^\w]+")
_LATIN = re.compile(r"[a-z0-9]")


@lru_cache(maxsize=4096)
def words(said: str) -> str:
    """Return a text for comparison: folded, every run of other than letters and digits as one space."""
    return _NOT_WORD.sub(" ", fold_phrase(said)).strip()


def mentions(sentence: str, phrase: str) -> bool:
    """Return whether a folded sentence has the phrase, as whole words in scripts that write spaces.

    A plural is the same word. A phrase of punctuation only (``?``) is looked for as it is.
    """
    wanted = words(phrase)
    if not wanted:
        return fold_phrase(phrase) in sentence
    pattern = re.escape(wanted)
    if _LATIN.match(wanted[0]):
        pattern = r"(?<![a-z0-9])" + pattern
    if _LATIN.match(wanted[-1]):
        pattern += r"(?:s|es)?(?![a-z0-9])"
    return re.search(pattern, words(sentence)) is not None


@dataclass(frozen=True)
class Reading:
    """What one message of an agent amounts to.

    Attributes:
        sentences: all sentences, folded.
        questions: those that want an answer of a particular kind; requests for a go-ahead are among them.
        go_ahead: those that ask for a go-ahead for what the agent has in mind.
        open_ended: those that are open to anything ("Anything else?").
        actions: those that want the user to act in the world.
        stalls: the message only puts the user off, or is blank.
        gives_up: the agent says that it cannot do the task.
    """

    sentences: tuple[str, ...]
    questions: tuple[str, ...]
    go_ahead: tuple[str, ...]
    open_ended: tuple[str, ...]
    actions: tuple[str, ...]
    stalls: bool
    gives_up: bool

    @property
    def asks(self) -> bool:
        """Whether the message asks anything of the user."""
        return bool(self.questions or self.open_ended or self.actions)


@lru_cache(maxsize=256)
def read(message: str, language: str = "en") -> Reading:
    """Return what the message asks.

    Args:
        message: the agent's words.
        language: of the case; a message in another one is read in that.
    """
    document = text.read_names(text.open_page(message[-_READ_CHARS:], language=language), text.lexicon_of(()))
    asks = {question.sentence: question.offer for question in document.questions}
    requests = text.go_ahead_requests(document)
    sentences: list[str] = []
    go_ahead: list[str] = []
    kinds: dict[str, list[str]] = {}
    for number, span in enumerate(document.sentences):
        sentence = fold_phrase(document.words(span))
        if words(sentence):
            kind = "question" if number in requests else _kind(sentence, asks.get(number))
            sentences.append(sentence)
            said = _with_list(document, span, sentence) if kind in ("question", "open") else sentence
            kinds.setdefault(kind, []).append(said)
            if number in requests:
                go_ahead.append(said)
    return Reading(
        sentences=tuple(sentences),
        questions=tuple(kinds.get("question", ())),
        go_ahead=tuple(go_ahead),
        open_ended=tuple(kinds.get("open", ())),
        actions=tuple(kinds.get("action", ())),
        stalls=not sentences or ("placeholder" in kinds and kinds.keys() <= {"placeholder", "filler"}),
        gives_up=any(GIVES_UP.search(sentence) for sentence in sentences),
    )


def learn_to_read(language: str) -> None:
    """Read the first message in a language before there is one: it takes as long as hundreds of others."""
    read("", language)


def wants_something(said: str) -> bool:
    """Return whether the user's own words ask for anything; such words never end a dialogue."""
    return WANTS_SOMETHING.search(fold_phrase(said).rstrip("。.!~ ")) is not None


def _kind(sentence: str, offer: str | None) -> str:
    """Return what a sentence does; ``offer``: that of the question which it is, None where it asks nothing."""
    core = sentence.strip(" ,.!。~?:;…")
    if EMPTY_WORDS.match(core):
        return "filler"
    if len(core) <= _SHORT and PLACEHOLDER.search(core):
        return "placeholder"
    if ACTION.search(sentence) and not WISH.search(sentence):
        return "action"
    if offer is None:
        return "statement"
    return "open" if offer == "help" else "question"


def _with_list(document: Document, span: Span, sentence: str) -> str:
    """Return a sentence that asks with the list that follows it, as its options."""
    return "\n".join((sentence, *(fold_phrase(document.words(item)) for item in document.list_below(span.start))))


@dataclass(frozen=True)
class Fact:
    """A time of day, a day or a figure in somebody's words.

    Attributes:
        unit: ``clock``, ``day``, or the canonical unit of a figure.
        values: minutes after midnight, every reading; the day of the week; or the least and the most that is meant.
        span: the words.
    """

    unit: str
    values: tuple[float, ...]
    span: Span

    def agrees(self, other: Fact) -> bool:
        """Return whether both may mean the same."""
        if not {self.unit, other.unit}.isdisjoint(("clock", "day")):
            return self.unit == other.unit and not set(self.values).isdisjoint(other.values)
        return self.values[0] <= other.values[1] and other.values[0] <= self.values[1]


@lru_cache(maxsize=256)
def facts_of(said: str, language: str, now: str = "") -> tuple[Fact, ...]:
    """Return the times of day, the days and the figures that a text states.

    Args:
        said: the text.
        language: BCP 47 tag of the case.
        now: the case's moment, from which words like tomorrow count; empty: they are no fact.
    """
    document = text.read(said, language=language, lexicon=text.lexicon_of(()))
    times = [Fact("clock", tuple(map(float, one.minutes)), one.span) for one in document.times]
    figures = [Fact(one.unit, (one.low, one.high), one.span) for one in document.quantities]
    return (*times, *_days(said, now), *figures)


def _days(said: str, now: str) -> Iterator[Fact]:
    lower = said.lower()
    for found in WEEKDAY.finditer(lower):
        yield Fact("day", (float(weekday_of(found)),), Span(found.start(), found.end()))
    today = _weekday(now)
    if today is None:
        return
    for found in _DAY_WORD.finditer(lower):
        yield Fact("day", (float((today + DAY_WORDS[found[0]]) % _WEEK),), Span(found.start(), found.end()))


def _weekday(now: str) -> int | None:
    """Return the day of the week of a moment; None for one that is no day of the calendar."""
    try:
        return date.fromisoformat(now[:_DATE]).weekday()
    except ValueError:
        return None
