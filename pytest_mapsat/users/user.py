"""Who speaks for the user: no one, or its script by rules. Every rule stands in docs/how-to/simulate-the-user.md."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol

from pytest_mapsat.model import (
    QUOTED_VALUE,
    Confirms,
    Ending,
    Json,
    JsonObject,
    MapsatError,
    ScriptedAnswer,
    Step,
    Tool,
    Turn,
    Usage,
    UserScript,
)
from pytest_mapsat.sandbox import unknown_tool

from .slips import PATTERNS, Fact, Reading, facts_of, mentions, read, stock_of, tells_to, wants_something, words

if TYPE_CHECKING:
    from .modelled import Chooser


#: The most characters of a result that the user reads out.
_MOST_QUOTED = 2000
#: No list is so long that the number of an item has more digits.
_MOST_DIGITS = 9


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
    """

    text: str | None
    ending: Ending | None = None
    usage: Usage | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)
    agreed: bool | None = None


class Hands(Protocol):
    """What the user can do in one of its turns."""

    tools: Mapping[str, Tool]

    def call(self, name: str, arguments: JsonObject) -> Step:
        """Call one of these tools, and return the call with its result."""
        ...


class NoHands:
    """The hands of a user without tools."""

    tools: Mapping[str, Tool] = MappingProxyType({})

    def call(self, name: str, arguments: JsonObject) -> Step:
        """Return that there is no such tool."""
        return unknown_tool(name, self.tools).step(name, arguments)


NO_HANDS = NoHands()


class User(Protocol):
    """Somebody who speaks for the user in one episode."""

    def reply(self, turns: Sequence[Turn], hands: Hands) -> UserMove:
        """Return the user's move after the dialogue so far, whose last turn is the agent's. What it does with its ``hands`` stands in its turn."""
        ...


class SilentUser:
    """Ends every dialogue after the agent's first reply, without a word."""

    def reply(self, turns: Sequence[Turn], hands: Hands = NO_HANDS) -> UserMove:  # noqa: ARG002  # the protocol's arguments
        """Return the end of the dialogue."""
        return UserMove(text=None, ending="done")


# -- the script -----------------------------------------------------------------------------------------------------------


class ScriptedUser:
    """A user of one episode.

    Args:
        script: what it can answer. All that it knows: no intent, no requirement, no expected tool.
        language: BCP 47; the language of its stock phrases, and that in which messages are read.
        chooser: chooses among the prepared answers for questions that no phrase is in; None: there is no chooser.
    """

    def __init__(self, script: UserScript, *, language: str = "en", chooser: Chooser | None = None) -> None:
        self._chooser = chooser
        self._notes: list[str] = []
        stock = stock_of(language)
        # Words that ask for something cannot end a dialogue.
        self._stock = replace(
            stock,
            no_preference=script.no_preference or stock.no_preference,
            cannot_act=_closing(script.cannot_act) or stock.cannot_act,
            goodbye=_closing(script.goodbye) or stock.goodbye,
        )
        self._language = language
        self._script = script.answers
        self._confirms = script.confirms
        self._leaves = script.leaves
        self._unsaid = list(script.answers)
        self._said: list[ScriptedAnswer] = []
        #: The words of each answer when it was last given, by its ``id()``: answers live as long as the script.
        self._given: dict[int, str] = {}
        self._heard: set[str] = set()
        self._stale_replies = 0

    def reply(self, turns: Sequence[Turn], hands: Hands = NO_HANDS) -> UserMove:
        """Return the user's move after the agent's last turn.

        Raises:
            UserBrokenError: the script quotes a value that the result of its call does not have, and has no other words.
        """
        self._notes = []
        move = self._move(read(_last_words(turns), self._language), hands)
        spent = self._chooser.take_spent() if self._chooser is not None else None
        return replace(move, usage=spent, notes=tuple(self._notes)) if spent or self._notes else move

    def _move(self, message: Reading, hands: Hands) -> UserMove:
        answers = self._answers_to(message)
        replies = [self._words_of(answer, hands) for answer in answers]
        if self._is_looping(message, answers, replies):
            return self._end(gave_up=True)
        self._given |= dict(zip(map(id, answers), replies, strict=True))
        decision = answer_go_ahead(self._confirms, message, self._language)
        if self._confirms is None and message.go_ahead and not answers:
            self._notes.append(
                "it is asked for a go-ahead, and the case has no truth.user.confirms: it gives no yes and no no"
            )
        if answers or decision:
            acts = [answer for answer in answers if answer.calls]
            left = [action for action in message.actions if not any(_is_asked(answer, [action]) for answer in acts)]
            return self._answer(replies, decision, also_act=bool(left))
        return self._without_answer(message)

    def _words_of(self, answer: ScriptedAnswer, hands: Hands) -> str:
        """Make the calls of an answer, and return its words."""
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

    def _answers_to(self, message: Reading) -> list[ScriptedAnswer]:
        """Take what was asked for out of what is still to be said."""
        asked = (*message.questions, *message.open_ended)
        answers = [
            answer
            for answer in self._unsaid
            if _is_asked(answer, asked) or (answer.calls and _is_told(answer, message.sentences))
        ]
        go_ahead = () if self._confirms is None else message.go_ahead
        questions = [question for question in message.questions if question not in go_ahead]
        strange = [
            question for question in questions if not any(_is_asked(answer, [question]) for answer in self._script)
        ]
        if strange and self._chooser is not None and self._unsaid:
            chosen = self._chooser.choose(strange, self._unsaid)
            answers = [answer for answer in self._unsaid if answer in answers or answer in chosen]
        elif strange and self._script:
            self._notes += [f"no prepared answer is for: {question}" for question in strange]
        if any(answer.calls for answer in self._script):
            self._notes += [
                f"no prepared answer is for: {request}"
                for request in message.requests
                if not any(_is_asked(answer, [request]) or _is_told(answer, [request]) for answer in self._script)
            ]
        sayings = {answer.say for answer in answers if not answer.calls}
        self._unsaid = [answer for answer in self._unsaid if answer.calls or answer.say not in sayings]
        self._said += answers
        # What is done is done in the order in which it was asked for.
        return sorted(answers, key=lambda answer: _place(answer, message) if answer.calls else -1)

    def _is_looping(self, message: Reading, answers: Sequence[ScriptedAnswer], replies: Sequence[str]) -> bool:
        """Return whether this is the second reply in a row that brings nothing new."""
        confirmed = self._confirms is not None and message.go_ahead
        new = [words for answer, words in zip(answers, replies, strict=True) if self._given.get(id(answer)) != words]
        stale = not new and (self._is_repetition(message) or (not confirmed and self._was_answered(message)))
        self._stale_replies = self._stale_replies + 1 if stale else 0
        self._heard.update(map(words, message.sentences))
        return self._stale_replies > 1

    def _is_repetition(self, message: Reading) -> bool:
        return all(words(sentence) in self._heard for sentence in message.sentences)

    def _was_answered(self, message: Reading) -> bool:
        return any(_is_asked(answer, message.questions) for answer in self._said)

    def _answer(self, replies: Sequence[str], decision: tuple[str, bool] | None, *, also_act: bool) -> UserMove:
        words_of_decision, agreed = decision or ("", None)
        last = (words_of_decision, self._stock.cannot_act if also_act else "")
        # The same words may stand in two answers of a script; once is enough.
        sayings = dict.fromkeys(filter(None, (*replies, *last)))
        return UserMove(self._stock.joint.join(sayings), agreed=agreed)

    def _without_answer(self, message: Reading) -> UserMove:
        if message.actions:
            return UserMove(self._stock.cannot_act, ending="done")
        leaves = self._leaves and not self._unsaid
        if message.questions and not leaves:
            already = self._was_answered(message)
            return UserMove(self._stock.said_already if already else self._stock.no_preference)
        return self._end(gave_up=not leaves and (message.stalls or message.gives_up))

    def _end(self, *, gave_up: bool) -> UserMove:
        return UserMove(self._stock.goodbye, ending="stalled" if gave_up else "done")


def answer_go_ahead(
    confirms: Literal["yes", "no"] | Confirms | None, message: Reading, language: str
) -> tuple[str, bool] | None:
    """Return what a script answers to a request for a go-ahead, and whether that agrees; None where it has no answer or none is asked for.

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
        return confirms.say, True
    return confirms.otherwise or stock.declines, False


def _names(message: Reading, wanted: str, language: str) -> bool:
    """Return whether a message that asks for a go-ahead names something, a time or a figure in whatever form.

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


def _is_same(wanted: Fact, stated: Fact) -> bool:
    return wanted.agrees(stated) and (wanted.unit == stated.unit or "count" in (wanted.unit, stated.unit))


def _closing(text: str) -> str:
    return "" if not text or wants_something(text) else text


def _is_asked(answer: ScriptedAnswer, sentences: Sequence[str]) -> bool:
    return any(mentions(sentence, phrase) for sentence in sentences for phrase in answer.asked)


def _is_told(answer: ScriptedAnswer, sentences: Sequence[str]) -> bool:
    """Return whether a sentence tells the user to do what an answer does."""
    return any(tells_to(sentence, phrase) for sentence in sentences for phrase in answer.asked)


def _place(answer: ScriptedAnswer, message: Reading) -> int:
    """Return the place of the first sentence that names what an answer does."""
    places = (at for at, sentence in enumerate(message.sentences) if _is_asked(answer, [sentence]))
    return next(places, len(message.sentences))


class _LackingError(Exception):
    """A result has no value at a path; the message is the path."""


def _quoting(say: str, results: Mapping[str, Json]) -> str:
    """Return words with the values that they quote. Raises _LackingError."""

    def value_of(match: re.Match[str]) -> str:
        name, *keys = match[1].split(".")
        value = results[name]
        for key in keys:
            if isinstance(value, list) and key.isdecimal() and len(key) <= _MOST_DIGITS and int(key) < len(value):
                value = value[int(key)]
            elif isinstance(value, dict) and key in value:
                value = value[key]
            else:
                raise _LackingError(match[1])
        return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:_MOST_QUOTED]

    return QUOTED_VALUE.sub(value_of, say)


def _last_words(turns: Sequence[Turn]) -> str:
    return turns[-1].text if turns and turns[-1].role == "agent" else ""
