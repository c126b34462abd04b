"""The scripted user: answers what it is asked, from its script, and nothing more. Every rule stands in docs/users.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_mapsat.model import ScriptedAnswer, Turn, UserScript

from .phrases import Stock, stock_of
from .reading import Reading, mentions, read, wants_something, words
from .user import UserMove

if TYPE_CHECKING:
    from .modelled import Chooser


class ScriptedUser:
    """A user of one episode.

    Args:
        script: what it can answer. All that it knows: no intent, no factor, no expected tool.
        language: BCP 47; the language of its stock phrases, and that in which messages are read.
        chooser: chooses among the prepared answers for questions that no phrase is in; None: nobody does.
    """

    def __init__(self, script: UserScript, *, language: str = "en", chooser: Chooser | None = None) -> None:
        self._chooser = chooser
        self._notes: list[str] = []
        self._stock = _own_words((script.no_preference, script.cannot_act, script.goodbye), stock_of(language))
        self._language = language
        self._script = script.answers
        self._unsaid = list(script.answers)
        self._said: list[ScriptedAnswer] = []
        self._heard: set[str] = set()
        self._stale_replies = 0

    def reply(self, turns: Sequence[Turn]) -> UserMove:
        """Return the user's move after the agent's last turn."""
        self._notes = []
        move = self._move(read(_last_words(turns), self._language))
        spent = self._chooser.take_spent() if self._chooser is not None else None
        return UserMove(move.text, move.ending, spent, tuple(self._notes))

    def _move(self, message: Reading) -> UserMove:
        answers = self._answers_to(message)
        if self._is_looping(message, answers):
            return self._end(gave_up=True)
        if answers:
            return self._answer(answers, also_act=bool(message.actions))
        return self._without_answer(message)

    def _answers_to(self, message: Reading) -> list[ScriptedAnswer]:
        """Take what was asked for out of what is still to be said."""
        asked = (*message.questions, *message.open_ended)
        answers = [answer for answer in self._unsaid if _is_asked(answer, asked)]
        strange = [one for one in message.questions if not any(_is_asked(answer, [one]) for answer in self._script)]
        if strange and self._chooser is not None and self._unsaid:
            chosen = self._chooser.choose(strange, self._unsaid)
            answers = [answer for answer in self._unsaid if answer in answers or answer in chosen]
        elif strange and self._script:
            self._notes += [f"no prepared answer is for: {one}" for one in strange]
        said = {answer.say for answer in answers}
        self._unsaid = [answer for answer in self._unsaid if answer.say not in said]
        self._said += answers
        return answers

    def _is_looping(self, message: Reading, answers: Sequence[ScriptedAnswer]) -> bool:
        """Return whether this is the second reply in a row that brings nothing new."""
        stale = not answers and (self._is_repetition(message) or self._was_answered(message))
        self._stale_replies = self._stale_replies + 1 if stale else 0
        self._heard.update(map(words, message.sentences))
        return self._stale_replies > 1

    def _is_repetition(self, message: Reading) -> bool:
        return all(words(sentence) in self._heard for sentence in message.sentences)

    def _was_answered(self, message: Reading) -> bool:
        return any(_is_asked(answer, message.questions) for answer in self._said)

    def _answer(self, answers: Sequence[ScriptedAnswer], *, also_act: bool) -> UserMove:
        # The same words may stand in two answers of a script; once is enough.
        said = list(dict.fromkeys(answer.say for answer in answers))
        return UserMove(self._stock.joint.join([*said, self._stock.cannot_act] if also_act else said))

    def _without_answer(self, message: Reading) -> UserMove:
        if message.actions:
            return UserMove(self._stock.cannot_act, ending="done")
        if message.questions:
            already = self._was_answered(message)
            return UserMove(self._stock.said_already if already else self._stock.no_preference)
        return self._end(gave_up=message.stalls or message.gives_up)

    def _end(self, *, gave_up: bool) -> UserMove:
        return UserMove(self._stock.goodbye, ending="stalled" if gave_up else "done")


@lru_cache(maxsize=256)
def _own_words(script_words: tuple[str, str, str], stock: Stock) -> Stock:
    """Return the stock phrases with the script's own; words that ask for something cannot end a dialogue."""
    no_preference, cannot_act, goodbye = script_words
    return Stock(
        no_preference=no_preference or stock.no_preference,
        cannot_act=_closing(cannot_act) or stock.cannot_act,
        goodbye=_closing(goodbye) or stock.goodbye,
        said_already=stock.said_already,
        joint=stock.joint,
    )


def _closing(text: str) -> str:
    return "" if not text or wants_something(text) else text


def _is_asked(answer: ScriptedAnswer, sentences: Sequence[str]) -> bool:
    return any(mentions(sentence, phrase) for sentence in sentences for phrase in answer.asked)


def _last_words(turns: Sequence[Turn]) -> str:
    return turns[-1].text if turns and turns[-1].role == "agent" else ""
