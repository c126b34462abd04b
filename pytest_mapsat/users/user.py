"""The speaker for the user: no one, or its script by rules; and the limits of every simulated user. docs/how-to/simulate-the-user.md lists all rules."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol

import yaml

from pytest_mapsat.llm import own_language
from pytest_mapsat.model import (
    QUOTED_VALUE,
    USER,
    Case,
    Confirms,
    Ending,
    Event,
    Json,
    JsonObject,
    Label,
    MapsatError,
    Quote,
    ScriptedAnswer,
    Step,
    Tool,
    Trajectory,
    Turn,
    Usage,
    UserScript,
    calls_in,
    user_name,
    values_at,
)
from pytest_mapsat.reading import (
    Document,
    Span,
    agrees,
    fold_phrase,
    go_ahead_requests,
    lexicon_of,
    open_page,
    read_names,
)
from pytest_mapsat.reading import read as read_reply
from pytest_mapsat.sandbox import DAY_WORDS, unknown_tool

if TYPE_CHECKING:
    from .manner import Manner

#: The most characters of a result that the user reads out.
_MOST_QUOTED = 2000


class UserBrokenError(MapsatError):
    """A simulated user broke the rules twice."""


@dataclass(frozen=True)
class UserMove:
    """One move: words, an ending, or words that end the dialogue.

    Attributes:
        text: what the user says; None: nothing.
        ending: why the dialogue ends here; None: it goes on.
        usage: what the move cost; None: no model was asked.
        notes: what is worth knowing of how the move came about; kept in the trajectory only.
        agreed: whether it agrees to the go-ahead that it was asked for, or declines; None: it was asked for none, or does neither.
        answers: of a move that agrees or declines, its other words.
        reveals: the hidden requirements that the words tell, and whether they were asked for or told unasked; None: that is unknown.
    """

    text: str | None
    ending: Ending | None = None
    usage: Usage | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)
    agreed: bool | None = None
    answers: str = field(default="", compare=False)
    reveals: dict[str, Literal["asked", "told"]] | None = None

    def after_events(self, events: Sequence[Event], language: str) -> UserMove:
        """Return the move with the words of events before its answers; it ends nothing, and agrees to nothing that was asked before them."""
        rest = "" if self.ending else self.text if self.agreed is None else self.answers
        text = stock_of(language).joint.join(filter(None, (*(event.say for event in events), rest)))
        reveals = self.reveals if rest else {}
        if reveals is not None:
            reveals = {**{name: "told" for event in events for name in event.reveals}, **reveals}
        return replace(self, text=text, ending=None, agreed=None if self.agreed is None else False, reveals=reveals)


class Hands(Protocol):
    """The tools that the user can call in one of its turns."""

    tools: Mapping[str, Tool]

    def call(self, name: str, arguments: JsonObject) -> Step:
        """Call one of these tools, and return the call with its result."""
        ...


class NoHands:
    """The hands of a user without tools."""

    tools: Mapping[str, Tool] = MappingProxyType({})

    def call(self, name: str, arguments: JsonObject) -> Step:
        """Return a step that reports that there is no such tool."""
        return unknown_tool(name, self.tools).step(name, arguments)


NO_HANDS = NoHands()


class User(Protocol):
    """The interface of users, who speak in one episode."""

    def reply(self, turns: Sequence[Turn], hands: Hands) -> UserMove:
        """Return the user's move after a dialogue that ends with the agent's turn; the user's calls go through ``hands``."""
        ...


class SilentUser:
    """Ends every dialogue after the agent's first reply, without a word."""

    def reply(self, turns: Sequence[Turn], hands: Hands = NO_HANDS) -> UserMove:  # noqa: ARG002  # the protocol's arguments
        """Return the move that ends the dialogue without a word."""
        return UserMove(text=None, ending="done")


# -- the script -----------------------------------------------------------------------------------------------------------


class ScriptedUser:
    """A user of one episode.

    Args:
        script: what it can answer. All that it knows: no intent, no requirement, no expected tool.
        language: BCP 47; the language of its stock phrases, and that in which messages are read.
        manner: how it speaks; None: in the words of the script.
    """

    def __init__(self, script: UserScript, *, language: str = "en", manner: Manner | None = None) -> None:
        self._notes: list[str] = []
        self._answers_now: list[tuple[ScriptedAnswer, Literal["asked", "told"]]] = []
        stock = stock_of(language)
        # Words that ask for something cannot end a dialogue.
        self._stock = replace(
            stock,
            no_preference=script.no_preference or stock.no_preference,
            cannot_act=_closing_words(script.cannot_act) or stock.cannot_act,
            goodbye=_closing_words(script.goodbye) or stock.goodbye,
        )
        self._language = language
        self._script = script
        self._unsaid = list(script.answers)
        self._said: list[ScriptedAnswer] = []
        #: The words of each answer when it was last given, by its ``id()``: answers live as long as the script.
        self._given: dict[int, str] = {}
        self._heard: set[str] = set()
        self._stale_replies = 0
        self._attempts = [*script.attempts]
        self._manner = manner

    def reply(self, turns: Sequence[Turn], hands: Hands = NO_HANDS) -> UserMove:
        """Return the user's move after the agent's last turn.

        Raises:
            UserBrokenError: the script quotes a value that the result of its call does not have, and has no other words.
        """
        self._notes, self._answers_now = [], []
        message, turn = read(last_words(turns), self._language), len(turns)
        if self._manner and (last := self._manner.leaves(message, turn)):
            move = UserMove(last, ending="stalled")
        else:
            move = self._move(message, hands, turn)
            if move.ending is not None and (more := self._before_ending(turn)):
                move = UserMove(more)
        return replace(move, notes=tuple(self._notes), reveals=self._reveals())

    def _reveals(self) -> dict[str, Literal["asked", "told"]] | None:
        """Return the requirements that the answers of this move reveal; None if an answer, or the whole script, does not say so."""
        now = self._manner.telling if self._manner else self._answers_now
        if any(answer.reveals is None for answer, _ in now) or all(
            answer.reveals is None for answer in self._script.answers
        ):
            return None
        return {name: how for answer, how in now for name in answer.reveals or ()}

    def _before_ending(self, turn: int) -> str:
        """Return what the user says in place of its last words: an answer that it has put off, or its next attempt; empty: nothing."""
        left = [answer for answer in self._unsaid if self._manner and answer in self._manner.put_off]
        if self._manner and left:
            self._unsaid = [answer for answer in self._unsaid if answer not in left]
            return self._manner.left_over(left, turn)
        return self._attempts.pop(0) if self._attempts else ""

    def _move(self, message: MessageReading, hands: Hands, turn: int) -> UserMove:
        """Return the move after a message: answers and a decision, a stock phrase, or the end."""
        manner = self._manner
        corrections = manner.corrections(message, turn) if manner else []
        answers = self._answers_to(message)
        self._answers_now = [(answer, "asked") for answer in answers]
        replies = [self._words_of(answer, hands) for answer in answers]
        if self._is_looping(message, answers, replies) and not corrections:
            return self._end(gave_up=True)
        self._given |= dict(zip(map(id, answers), replies, strict=True))
        decision = answer_go_ahead(self._script.confirms, message, self._language)
        if manner:
            replies = [*corrections, *manner.said(answers, replies, turn)]
            if decision and decision[1] and (corrections or manner.is_misled(message)):
                # A yes to what the user has just taken back would be none.
                own = self._script.confirms.otherwise if isinstance(self._script.confirms, Confirms) else ""
                replies, decision = [own or self._stock.declines, *replies], ("", False)
        if self._script.confirms is None and message.go_ahead and not answers:
            self._notes.append(
                "it is asked for a go-ahead, and the case has no truth.user.confirms: it gives no yes and no no"
            )
        if replies or decision:
            acts = [answer for answer in answers if answer.calls]
            left = [action for action in message.actions if not any(_is_asked(answer, [action]) for answer in acts)]
            return self._answer(replies, decision, also_act=bool(left))
        return self._without_answer(message)

    def _words_of(self, answer: ScriptedAnswer, hands: Hands) -> str:
        """Make the calls of an answer, and return its words with values from the results, or its words for a failure."""
        results: dict[str, Json] = {}
        for call in answer.calls:
            step = hands.call(call.tool, dict(call.arguments))
            results[call.name] = step.result
            if step.status != "ok":
                reason = step.result.get("message") if isinstance(step.result, dict) else None
                return answer.otherwise or (reason if isinstance(reason, str) and reason else self._stock.cannot_act)
        if not answer.calls:
            return answer.say
        try:
            return _quoting(answer.say, results)
        except _LackingError as lacking:
            if answer.otherwise:
                return answer.otherwise
            raise UserBrokenError(
                f"the script says {answer.say!r}, and the result of its call has no {lacking}; give the answer an else"
            ) from None

    def _answers_to(self, message: MessageReading) -> list[ScriptedAnswer]:
        """Return the answers that a message requests and mark them as said; record requests without an answer."""
        asked = (*message.questions, *message.open_ended)
        answers = [
            answer
            for answer in self._unsaid
            if _is_asked(answer, asked) or (answer.calls and _is_told(answer, message.sentences))
        ]
        script, go_ahead = self._script.answers, () if self._script.confirms is None else message.go_ahead
        questions = [question for question in message.questions if question not in go_ahead]
        strange = [text for text in questions if script and not any(_is_asked(answer, [text]) for answer in script)]
        if any(answer.calls for answer in script):
            prepared = [
                text
                for answer in script
                for text in message.requests
                if _is_asked(answer, [text]) or _is_told(answer, [text])
            ]
            strange += [request for request in message.requests if request not in prepared]
        self._notes += [f"no prepared answer is for: {text}" for text in strange]
        sayings = {answer.say for answer in answers if not answer.calls}
        self._unsaid = [answer for answer in self._unsaid if answer.calls or answer.say not in sayings]
        if self._manner and (chosen := self._manner.chosen(answers, self._unsaid)) != answers:
            left = [answer for answer in (*self._unsaid, *answers) if answer not in chosen]
            self._unsaid, answers = [answer for answer in script if answer in left], [*chosen]
        self._said += answers
        # What is done is done in the order in which it was asked for.
        return sorted(answers, key=lambda answer: _place(answer, message) if answer.calls else -1)

    def _is_looping(self, message: MessageReading, answers: Sequence[ScriptedAnswer], replies: Sequence[str]) -> bool:
        """Return whether this is the second consecutive reply without anything new."""
        confirmed = self._script.confirms is not None and message.go_ahead
        new = [words for answer, words in zip(answers, replies, strict=True) if self._given.get(id(answer)) != words]
        repeats = all(words(sentence) in self._heard for sentence in message.sentences)
        stale = not new and (repeats or (not confirmed and self._was_answered(message)))
        self._stale_replies = self._stale_replies + 1 if stale else 0
        self._heard.update(map(words, message.sentences))
        return self._stale_replies > 1

    def _was_answered(self, message: MessageReading) -> bool:
        """Return whether a question of a message requests an answer that was given before."""
        return any(_is_asked(answer, message.questions) for answer in self._said)

    def _answer(self, replies: Sequence[str], decision: tuple[str, bool] | None, *, also_act: bool) -> UserMove:
        """Return the move that gives some answers and a decision, and declines the remaining requests."""
        words_of_decision, agreed = decision or ("", None)
        # The same words may stand in two answers of a script; once is enough.
        sayings = dict.fromkeys((*replies, words_of_decision, self._stock.cannot_act if also_act else ""))
        answers = self._stock.joint.join(filter(None, dict.fromkeys(replies)))
        return UserMove(self._stock.joint.join(filter(None, sayings)), agreed=agreed, answers=answers)

    def _without_answer(self, message: MessageReading) -> UserMove:
        """Return the move after a message without a scripted answer: a stock phrase, or the end."""
        if message.actions:
            return UserMove(self._stock.cannot_act, ending="done")
        leaves = self._script.leaves and not self._unsaid
        if message.questions and not leaves:
            already = self._was_answered(message)
            return UserMove(self._stock.said_already if already else self._stock.no_preference)
        return self._end(gave_up=not leaves and (message.stalls or message.gives_up))

    def _end(self, *, gave_up: bool) -> UserMove:
        """Return the move that says goodbye and ends the dialogue, as stalled or as done."""
        return UserMove(self._stock.goodbye, ending="stalled" if gave_up else "done")


def answer_go_ahead(
    confirms: Literal["yes", "no"] | Confirms | None, message: MessageReading, language: str
) -> tuple[str, bool] | None:
    """Return a script's answer to a request for approval, and whether it agrees; None if there is no answer or no request.

    Args:
        confirms: the script's.
        message: what the agent's message asks.
        language: BCP 47 tag of the case.
    """
    if confirms is None or not message.go_ahead:
        return None
    stock = stock_of(language)
    if isinstance(confirms, str):
        return (stock.agrees, True) if confirms == "yes" else (stock.declines, False)
    if all(_names(message, wanted, language) for wanted in confirms.when):
        return confirms.say or stock.agrees, True
    return confirms.otherwise or stock.declines, False


def _names(message: MessageReading, wanted: str, language: str) -> bool:
    """Return whether a message that asks for approval names something, a time or a figure in any form.

    What it says is not to be had is not what it asks about. A time in the very sentence that asks goes before those in others.
    """
    asking = "\n".join(message.go_ahead)
    whole = asking if PATTERNS["instead"].search(asking) else "\n".join(message.sentences)
    asking, whole = (PATTERNS["not_to_be_had"].sub(" ", text) for text in (asking, whole))
    facts, in_sentence, in_message = (facts_of(text, language) for text in (wanted, asking, whole))
    for fact in facts:
        clocks = [other for other in in_sentence if fact.unit == other.unit == "clock"]
        if not any(_is_same(fact, other) for other in clocks or in_message):
            return False
    rest = wanted
    for fact in sorted(facts, key=lambda fact: fact.span, reverse=True):
        rest = f"{rest[: fact.span.start]} {rest[fact.span.end :]}"
    return all(mentions(whole, word) for word in (words(rest).split() if facts else [wanted]))


def _is_same(wanted: SaidFact, stated: SaidFact) -> bool:
    """Return whether two facts have the same value and unit; a bare count matches any unit."""
    return wanted.agrees(stated) and (wanted.unit == stated.unit or "count" in (wanted.unit, stated.unit))


def _closing_words(text: str) -> str:
    """Return the words if they may end a dialogue; empty if they request something."""
    return "" if not text or wants_something(text) else text


def _is_asked(answer: ScriptedAnswer, sentences: Sequence[str]) -> bool:
    """Return whether a sentence contains a phrase that requests an answer."""
    return any(mentions(sentence, phrase) for sentence in sentences for phrase in answer.asked)


def _is_told(answer: ScriptedAnswer, sentences: Sequence[str]) -> bool:
    """Return whether a sentence tells the user to perform the action of an answer: "Please toggle airplane mode"."""
    wanted = [_order_pattern(phrase) for phrase in map(words, answer.asked) if phrase]
    return any(pattern.search(words(sentence)) for sentence in sentences for pattern in wanted)


def _place(answer: ScriptedAnswer, message: MessageReading) -> int:
    """Return the index of the first sentence that requests an answer; the number of sentences if there is none."""
    places = (at for at, sentence in enumerate(message.sentences) if _is_asked(answer, [sentence]))
    return next(places, len(message.sentences))


class _LackingError(Exception):
    """A result has no value at a path; the message is the path."""


def _quoting(say: str, results: Mapping[str, Json]) -> str:
    """Return words with their paths replaced by values from results. Raises _LackingError if a value is missing."""

    def value_of(match: re.Match[str]) -> str:
        """Return the value at a matched path as text, cut to 2,000 characters. Raises _LackingError."""
        values = values_at(results, match[1])
        if not values:
            raise _LackingError(match[1])
        return (values[0] if isinstance(values[0], str) else json.dumps(values[0], ensure_ascii=False))[:_MOST_QUOTED]

    return QUOTED_VALUE.sub(value_of, say)


def last_words(turns: Sequence[Turn]) -> str:
    """Return the agent's message at the end of the dialogue; empty if the dialogue ends otherwise."""
    return turns[-1].text if turns and turns[-1].role == "agent" else ""


# -- how replies of a dialogue are read --------------------------------------------------------------------------------


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
_READ_CHARS = 20_000
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
def _order_pattern(wanted: str) -> re.Pattern[str]:
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
    document = read_names(open_page(message[-_READ_CHARS:], language=language), lexicon_of(()))
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


# -- what a message of a simulated user may not be: what a model is held to while it speaks, and what is laid to a user afterwards --

# Three answers, as everywhere: only what is surely at odds with the script is a slip. Figures, times of day and numbers in words are compared by what
# they mean; other words may say the same, and decide nothing.

#: What a user may do wrong (PIPA 5.3 and appendix F).
SlipKind = Literal["proactivity", "contradiction", "missing_details", "misinterpretation"]
#: A user who says more than this, characters, is asked to be brief.
_LONGEST = 400
_SHOWN = 80
#: Figures and times, and names in quotation marks: what may not be made up.
_STATED = re.compile(r"\d+(?:[.:]\d+)*|(?<=[“\"「《])[^”\"」》]{2,40}(?=[”\"」》])")


@dataclass(frozen=True)
class Slip:
    """A definite error of a user.

    Attributes:
        kind: what sort of error it is.
        why: what it is, in words that a model can be told.
        misleads: whether it keeps from the agent what it needs, or tells it something wrong: a case may fail by it.
    """

    kind: SlipKind
    why: str
    misleads: bool = True


# -- while a model speaks ------------------------------------------------------------------------------------------------


def out_of_turn(reading: MessageReading, *, ends: bool, free: bool = False) -> Iterator[Slip]:
    """Yield the slips of a user who speaks or ends the dialogue at the wrong moment.

    Args:
        reading: what the agent's message asks.
        ends: whether the user ends the dialogue.
        free: whether its case lets the user do more than answer.
    """
    if not reading.asks and not ends and not free:
        yield Slip(
            "proactivity", "it volunteers: the assistant has asked nothing, so the dialogue ends", misleads=False
        )
    if reading.questions and ends and not reading.actions and not reading.gives_up and not reading.stalls:
        yield Slip("proactivity", f"it ends too early: the assistant asks {reading.questions[0][:_SHOWN]!r}")


def wording_slips(message: str, *, asks: bool = False, rambles: bool = False) -> Iterator[Slip]:
    """Yield slips of wording: the user speaks for the assistant, is too long (unless ``rambles``), or requests something (unless ``asks``)."""
    if not asks and wants_something(message):
        yield Slip("misinterpretation", "it asks the assistant for something")
    if PATTERNS["speaks_for_agent"].search(fold_phrase(message)):
        yield Slip("misinterpretation", "it speaks for the assistant")
    if len(message) > _LONGEST and not rambles:
        yield Slip("misinterpretation", f"it says {len(message)} characters, far more than suffices", misleads=False)


# -- against the script --------------------------------------------------------------------------------------------------


class Script:
    """A user's knowledge and answers in a case.

    Attributes:
        answers: what it has been given to say, each when it is asked for; what it says of its own calls is not among them: they decide that.
        language: BCP 47 tag of the case.
        now: the case's moment, ISO 8601; empty where there is none.
        confirms: how it answers requests for a go-ahead.
        may: what its case lets it do besides answering.
        manners: the names of its manners.
    """

    def __init__(self, case: Case) -> None:
        user = case.truth.user
        self.answers = tuple(answer for answer in user.answers if not answer.calls)
        self.language, self.now = case.language, case.visible.context.now or ""
        self.confirms, self.may = user.confirms, user.may
        self.manners, self._patience, self._attempts = user.manners, user.patience, user.attempts
        self._taken_back = user.taken_back

    @property
    def said(self) -> tuple[str, ...]:
        """Return all words that the script gives the user."""
        decisions = self.confirms if isinstance(self.confirms, Confirms) else None
        own = (decisions.say, decisions.otherwise) if decisions else ()
        wrong = (first for first, _ in self._taken_back)
        return (*(answer.say for answer in self.answers), *own, *wrong, *self._attempts)

    def attempts_in(self, message: str) -> bool:
        """Return whether a message contains the words of an attempt."""
        return any(words(attempt) in words(message) for attempt in self._attempts)

    def may_leave(self, turns: Sequence[Turn]) -> bool:
        """Return whether a user has had enough of questions after a dialogue that ends with the agent's turn."""
        asked = [read(turn.text, self.language).wants_facts for turn in turns if turn.role == "agent"]
        return self._patience is not None and sum(asked) > self._patience and asked[-1]

    def may_speak(self, turns: Sequence[Turn]) -> bool:
        """Return whether a user has something to say although nothing was asked: a correction, an answer that it has put off, or an attempt."""
        before = [words(turn.text) for turn in turns if turn.role == "user"]
        left = any(not any(words(attempt) in text for text in before) for attempt in self._attempts)
        return left or not self.manners.isdisjoint(("changes_mind", "wrong_figure", "other_first"))

    def lines(self) -> Iterator[str]:
        """Yield the lines of the script for a model: the words to say, and the request for approval that each one answers."""
        yield from (answer.say for answer in self.answers)
        stock = stock_of(self.language)
        if isinstance(self.confirms, Confirms):
            wanted = f" ({', '.join(self.confirms.when)})" if self.confirms.when else ""
            yield f"{stock.asked_go_ahead}{wanted}: {self.confirms.say or stock.agrees}"
            if wanted:
                yield f"{stock.asked_go_ahead} (…): {self.confirms.otherwise or stock.declines}"
        elif self.confirms:
            yield f"{stock.asked_go_ahead}: {stock.agrees if self.confirms == 'yes' else stock.declines}"

    def facts(self, text: str) -> tuple[SaidFact, ...]:
        """Return the times, days and figures that a text states."""
        return facts_of(text[-_READ_CHARS:], self.language, self.now)

    def invented(self, message: str, texts: Sequence[str]) -> Iterator[Slip]:
        """Yield the figures, times and quoted names in a message that occur in no known text, in any form.

        Args:
            message: the user's words.
            texts: all that the user may know: what it was told of itself, and the dialogue.
        """
        all_text = "\n".join(texts)
        own = facts_of(message, self.language)
        stated = [Span(*match.span()) for match in _STATED.finditer(message)]
        # A bare number in words ("one") is often none, and a day may be meant without being said.
        in_words = [fact for fact in own if not any(map(str.isdigit, _text(message, fact.span)))]
        stated += [fact.span for fact in in_words if fact.unit not in ("count", "day")]
        new = [span for span in stated if _text(message, span) not in all_text]
        known_facts = [fact for text in (texts if new else ()) for fact in self.facts(text)]
        for span in new:
            here = [fact for fact in own if fact.span.start < span.end and span.start < fact.span.end]
            if not any(fact.agrees(other) for fact in here for other in known_facts):
                yield Slip("contradiction", f"it invents {_text(message, span)!r}, which occurs nowhere")

    def departed(self, turns: Sequence[Turn], message: str, *, ends: bool) -> Iterator[Slip]:
        """Yield the slips of a message that certainly departs from the script's answers to the questions.

        Args:
            turns: the dialogue before the message; the last turn is the agent's.
            message: the user's words.
            ends: whether the dialogue ends with it.
        """
        reading = read(last_words(turns), self.language)
        if self.attempts_in(message) or (ends and self.may_leave(turns)):
            return
        asking = (*reading.questions, *reading.open_ended)
        before = [turn.text for turn in turns if turn.role == "user"]
        left = [answer for answer in self.answers if not any(self._tells(text, answer) for text in before)]
        # A phrase of punctuation alone is in any question, and asks for nothing surely.
        topics = {answer: [phrase for phrase in answer.asked if words(phrase)] for answer in left}
        asked = [answer for answer in left if any(mentions(text, topic) for text in asking for topic in topics[answer])]
        unasked = [answer for answer in left if answer not in asked and self._tells(message, answer)]
        if unasked and not reading.asks and "volunteer" not in self.may and not self.may_speak(turns):
            why = f"it volunteers {unasked[0].say[:_SHOWN]!r}: nothing was asked"
            yield Slip("proactivity", why, misleads=False)
        decision = answer_go_ahead(self.confirms, reading, self.language)
        if decision and words(decision[0]) not in words(message) and agrees(message) is (not decision[1]):
            yield Slip(
                "contradiction",
                f"asked for a go-ahead, it says {message[:_SHOWN]!r}, and the script has {decision[0]!r}",
            )
        for answer in asked:
            say = repr(answer.say[:_SHOWN])
            if self._tells(message, answer) or ("other_first" in self.manners and not ends):
                continue
            if wrong := self._other_fact(message, answer):
                yield Slip("contradiction", f"it says {wrong!r}, and the script has {say}")
            elif unasked:
                yield Slip("misinterpretation", f"asked for {say}, it says {unasked[0].say[:_SHOWN]!r}")
            elif self._keeps_back(message, answer, before) and ends:
                yield Slip("proactivity", f"it ends though it was asked for {say}")
            elif self._keeps_back(message, answer, before):
                yield Slip("missing_details", f"it was asked for {say} and does not say it")

    def _tells(self, message: str, answer: ScriptedAnswer) -> bool:
        """Return whether a message contains the words of an answer, or all its facts; its wrong words count for a user that says them first."""
        for say in (answer.say, *(first for first, say in self._taken_back if say == answer.say)):
            wanted, both_facts = self.facts(say), self.facts(message)
            if words(say) in words(message) or (
                wanted and all(any(fact.agrees(other) for other in both_facts) for fact in wanted)
            ):
                return True
        return False

    def _other_fact(self, message: str, answer: ScriptedAnswer) -> str:
        """Return the words of a fact of the same kind as an answer's that is not in the script; empty if there is none."""
        kinds = {fact.unit for fact in self.facts(answer.say)} - {"count"}
        script_facts = [fact for say in self.said for fact in self.facts(say)]
        for fact in facts_of(message, self.language, self.now):
            if fact.unit in kinds and not any(fact.agrees(other) for other in script_facts):
                return _text(message, fact.span)
        return ""

    def _keeps_back(self, message: str, answer: ScriptedAnswer, before: Sequence[str]) -> bool:
        """Return whether a message certainly withholds an answer: it declines, or has no fact although the answer has a new one."""
        if PATTERNS["declines"].search(fold_phrase(message)):
            return True
        earlier_facts = [fact for text in before for fact in self.facts(text)]
        new = [fact for fact in self.facts(answer.say) if not any(fact.agrees(other) for other in earlier_facts)]
        return bool(new) and not self.facts(message)


def _text(message: str, span: Span) -> str:
    """Return the words of a message at a span."""
    return message[span.start : span.end]


# -- afterwards ----------------------------------------------------------------------------------------------------------


def audit(case: Case, trajectory: Trajectory) -> tuple[Label, ...]:
    """Return a failed label for each slip in the user's turns, live or recorded, that the case's script decides.

    A label that names the user as to blame is of a slip that may have misled the agent. What no rule is sure of has no label.

    Args:
        case: the case; without prepared answers its script decides nothing.
        trajectory: what was said.
    """
    script, turns = Script(case), trajectory.turns
    sayings = [event.say for event in case.world.events if event.say]
    if (not script.answers and script.confirms is None) or trajectory.fault is not None:
        return ()
    labels: dict[str, Label] = {}
    for index, turn in enumerate(turns):
        if turn.role != "user" or index == 0 or not turn.text.strip() or any(saying in turn.text for saying in sayings):
            continue
        ends = index == len(turns) - 1
        texts = [*_known(case), *(earlier.text for earlier in turns[:index])]
        texts += [json.dumps(step.result, ensure_ascii=False) for step in calls_in(turns[: index + 1], "user")]
        slips = [*script.departed(turns[:index], turn.text, ends=ends), *script.invented(turn.text, texts)]
        for slip in slips:
            label = _label(slip, index, turn.text)
            labels.setdefault(label.requirement, label)
    return tuple(labels.values())


def _known(case: Case) -> Iterator[str]:
    """Yield the knowledge that a user of the case may have: all user data in the truth, and the data shown to the agent."""
    truth, context = case.truth, case.visible.context
    yield from (truth.persona, truth.intent, truth.user.prompt, *Script(case).said)
    yield from (message.text for message in case.visible.messages)
    yield from (event.say for event in case.world.events)
    yield from (say for answer in truth.user.answers if answer.calls for say in (answer.say, answer.otherwise))
    yield from (truth.user.no_preference, truth.user.cannot_act, truth.user.goodbye)
    yield from (context.model_dump_json(), *(requirement.text for requirement in truth.requirements))


def _label(slip: Slip, turn: int, text: str) -> Label:
    """Return the failed label for a slip in a turn of the user."""
    return Label(
        requirement=user_name(turn, slip.kind),
        kind=USER,
        outcome="failed",
        value=0,
        why=f"the user's turn {turn}: {slip.why}",
        wanted="the script's answer to the question, and nothing else",
        quotes=(Quote(turn=turn, start=0, end=len(text), text=text),),
        blame="user" if slip.misleads else None,
    )
