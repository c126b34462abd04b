"""How simulated users read messages: their questions and requests, and the facts that they state; and the phrases that occur in no script."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib.resources import files

import yaml

from pytest_mapsat.llm import own_language
from pytest_mapsat.model import Turn
from pytest_mapsat.reading import Document, Span, fold_phrase, go_ahead_requests, lexicon_of, open_page, read_names
from pytest_mapsat.reading import read as read_reply
from pytest_mapsat.sandbox import DAY_WORDS


def last_words(turns: Sequence[Turn]) -> str:
    """Return the agent's message at the end of the dialogue; empty if the dialogue ends otherwise."""
    return turns[-1].text if turns and turns[-1].role == "agent" else ""


@dataclass(frozen=True)
class Stock:
    """The stock phrases of a language: messages of a user that occur in no script."""

    no_preference: str
    cannot_act: str
    goodbye: str
    said_already: str
    joint: str
    agrees: str
    declines: str
    asked_go_ahead: str


def _phrases() -> tuple[dict[str, Stock], dict[str, dict[str, list[str]]], dict[str, re.Pattern[str]]]:
    """Return the stock phrases and the liberties by language, and the patterns by name, from ``phrases.yaml``."""
    text = (files(__package__) / "phrases.yaml").read_text("utf-8")
    data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  a safe loader, in C
    patterns = {name: "|".join(parts) for name, parts in data["patterns"].items()}
    for language, acts in data["acts"].items():
        patterns = {name: pattern.replace(f"<{language}>", acts) for name, pattern in patterns.items()}
    stocks = {language: Stock(**stock) for language, stock in data["stock"].items()}
    return stocks, data["liberties"], {name: re.compile(pattern) for name, pattern in patterns.items()}


_STOCKS, _LIBERTIES, PATTERNS = _phrases()


def stock_of(language: str) -> Stock:
    """Return the stock phrases of a BCP 47 language: Chinese for ``zh`` and its variants, else English."""
    return _STOCKS[own_language(language)]


def liberties(language: str, may: Collection[str]) -> dict[str, str]:
    """Return the text of each liberty for a model that plays the user: granted if it is in ``may``, otherwise denied."""
    return {name: texts[name in may] for name, texts in _LIBERTIES[own_language(language)].items()}


_WEEK = 7
#: Days of the week in full: "sun" and "sat" are other words as well; and their places, Monday is 0.
_WEEKDAY = re.compile(r"\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|星期|礼拜)([一二三四五六日天])")
_PLACES = {
    name: place % _WEEK
    for place, name in enumerate(
        ["mon", "tues", "wednes", "thurs", "fri", "satur", "sun", "一", "二", "三", "四", "五", "六", "日"]
    )
} | {"天": 6}
#: Characters of a message that the user reads: a question does not stand behind an essay.
READ_CHARS = 20_000
#: A sentence that puts the user off is short; a longer one says something besides.
_SHORT = 80

_DATE = len("2026-05-26")
_DAY_WORD = re.compile(
    "|".join(rf"\b{re.escape(word)}\b" if word.isascii() else word for word in sorted(DAY_WORDS, key=len, reverse=True))
)
_NOT_WORD = re.compile(r"[^\w]+")
_LATIN = re.compile(r"[a-z0-9]")


@lru_cache(maxsize=4096)
def words(sentence: str) -> str:
    """Return a text folded for comparison, each run of characters other than letters and digits as one space."""
    return _NOT_WORD.sub(" ", fold_phrase(sentence)).strip()


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


@lru_cache(maxsize=1024)
def order_pattern(wanted: str) -> re.Pattern[str]:
    """Return the pattern of sentences that tell the user to perform the action of a phrase."""
    end = r"(?:s|es)?(?![a-z0-9])" if _LATIN.match(wanted[-1]) else ""
    pattern = PATTERNS["told_to"].pattern.replace("<not_told>", PATTERNS["not_told"].pattern)
    return re.compile(pattern.replace("<phrase>", re.escape(wanted) + end))


@dataclass(frozen=True)
class MessageReading:
    """The meaning of one message of an agent.

    Attributes:
        sentences: all sentences, folded.
        questions: those that want an answer of a particular kind; requests for a go-ahead are among them.
        go_ahead: those that ask for a go-ahead for what the agent has in mind.
        open_ended: those that are open to anything ("Anything else?").
        actions: those that want the user to act in the world.
        requests: those that tell the user to do something, whatever it is, and ask nothing; actions are among them.
        stalls: the message only puts the user off, or is blank.
        gives_up: the agent says that it cannot do the task.
    """

    sentences: tuple[str, ...]
    questions: tuple[str, ...]
    go_ahead: tuple[str, ...]
    open_ended: tuple[str, ...]
    actions: tuple[str, ...]
    requests: tuple[str, ...]
    stalls: bool
    gives_up: bool

    @property
    def asks(self) -> bool:
        """Return whether the message requests anything from the user."""
        return bool(self.questions or self.open_ended or self.actions)

    @property
    def wants_facts(self) -> bool:
        """Return whether the message has a question other than for a go-ahead."""
        return any(question not in self.go_ahead for question in self.questions)


@lru_cache(maxsize=256)
def read(message: str, language: str = "en") -> MessageReading:
    """Return the requests in the message.

    Args:
        message: the agent's words.
        language: of the case; a message in another one is read in that.
    """
    document = read_names(open_page(message[-READ_CHARS:], language=language), lexicon_of(()))
    asks = {question.sentence: question.offer for question in document.questions}
    requests = go_ahead_requests(document)
    sentences: list[str] = []
    go_ahead: list[str] = []
    kinds: dict[str, list[str]] = {}
    for number, span in enumerate(document.sentences):
        sentence = fold_phrase(document.words(span))
        if words(sentence):
            kind = "question" if number in requests else _kind(sentence, asks.get(number))
            sentences.append(sentence)
            sentence_text = _with_list(document, span, sentence) if kind in ("question", "open") else sentence
            kinds.setdefault(kind, []).append(sentence_text)
            if number in requests:
                go_ahead.append(sentence_text)
    return MessageReading(
        sentences=tuple(sentences),
        questions=tuple(kinds.get("question", ())),
        go_ahead=tuple(go_ahead),
        open_ended=tuple(kinds.get("open", ())),
        actions=tuple(kinds.get("action", ())),
        requests=tuple(
            sentence
            for kind in ("action", "statement")
            for sentence in kinds.get(kind, ())
            if kind == "action" or PATTERNS["request"].search(sentence)
        ),
        stalls=not sentences or ("placeholder" in kinds and kinds.keys() <= {"placeholder", "filler"}),
        gives_up=any(PATTERNS["gives_up"].search(sentence) for sentence in sentences),
    )


def wants_something(message: str) -> bool:
    """Return whether the user's own words request anything; such words never end a dialogue."""
    return PATTERNS["wants_something"].search(fold_phrase(message).rstrip("。.!~ ")) is not None


def _kind(sentence: str, offer: str | None) -> str:
    """Return the kind of a sentence, such as question, action or filler; ``offer`` is None if it requests nothing."""
    core = sentence.strip(" ,.!。~?:;…")
    if PATTERNS["empty_words"].match(core):
        return "filler"
    if len(core) <= _SHORT and PATTERNS["placeholder"].search(core):
        return "placeholder"
    if PATTERNS["action"].search(sentence) and not PATTERNS["wish"].search(sentence):
        return "action"
    if offer is None:
        return "statement"
    return "open" if offer == "help" else "question"


def _with_list(document: Document, span: Span, sentence: str) -> str:
    """Return an asking sentence, with the items of the following list as further lines."""
    return "\n".join((sentence, *(fold_phrase(document.words(item)) for item in document.list_below(span.start))))


@dataclass(frozen=True)
class SaidFact:
    """A time of day, a day or a figure in a text.

    Attributes:
        unit: ``clock``, ``day``, or the canonical unit of a figure.
        values: minutes after midnight, every reading; the day of the week; or the least and the most that is meant.
        span: the words.
    """

    unit: str
    values: tuple[float, ...]
    span: Span

    def agrees(self, other: SaidFact) -> bool:
        """Return whether this fact and another may mean the same."""
        if not {self.unit, other.unit}.isdisjoint(("clock", "day")):
            return self.unit == other.unit and not set(self.values).isdisjoint(other.values)
        return self.values[0] <= other.values[1] and other.values[0] <= self.values[1]


@lru_cache(maxsize=256)
def facts_of(text: str, language: str, now: str = "") -> tuple[SaidFact, ...]:
    """Return the times of day, the days and the figures that a text states.

    Args:
        text: the text.
        language: BCP 47 tag of the case.
        now: the case's moment, from which words like tomorrow count; empty: they are no fact.
    """
    document = read_reply(text, language=language, lexicon=lexicon_of(()))
    times = [SaidFact("clock", tuple(map(float, time.minutes)), time.span) for time in document.times]
    figures = [SaidFact(figure.unit, (figure.low, figure.high), figure.span) for figure in document.quantities]
    return (*times, *_days(text, now), *figures)


def _days(message: str, now: str) -> Iterator[SaidFact]:
    """Yield the days of the week that a message names; words such as tomorrow count only if ``now`` is known."""
    lower = message.lower()
    for match in _WEEKDAY.finditer(lower):
        yield SaidFact("day", (float(_PLACES[match[1] or match[2]]),), Span(*match.span()))
    today = _weekday(now)
    if today is None:
        return
    for match in _DAY_WORD.finditer(lower):
        yield SaidFact("day", (float((today + DAY_WORDS[match[0]]) % _WEEK),), Span(*match.span()))


def _weekday(now: str) -> int | None:
    """Return the day of the week of a moment (0: Monday); None if it has no valid date."""
    try:
        return date.fromisoformat(now[:_DATE]).weekday()
    except ValueError:
        return None
