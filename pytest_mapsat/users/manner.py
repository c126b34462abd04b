"""How a scripted user speaks: the same facts in other words, which are data of the languages. docs/how-to/simulate-the-user.md describes each manner."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from math import isfinite
from typing import Any, Literal, cast

import yaml

from pytest_mapsat.llm import own_language
from pytest_mapsat.model import SAYS_FIRST, Case, ScriptedAnswer, UserScript, digest

from .user import MessageReading, SaidFact, facts_of, stock_of

#: A word that may be misspelt or said in another language: plain letters in lower case, part of no address, identifier or quotation.
_PLAIN_WORD = re.compile(r"(?<![\w@./:'’\"“-])[a-z]+(?![\w@/:'’\"”-]|\.\w)")
_QUOTED = re.compile(r"[\"“「『《‘][^\"”」』》’]*[\"”」』》’]|\{[^}]*\}")
#: The fewest letters of a word in which two letters are swapped.
_FEWEST_LETTERS = 5
#: The most words of an answer that are changed, and the most corrections of a wrong answer.
_MOST_CHANGES = 2
_MOST_CORRECTIONS = 2


@cache
def _manners_of(language: str) -> Mapping[str, Any]:
    """Return the words of all manners in a built-in language."""
    path = files("pytest_mapsat") / "languages" / language / "manners.yaml"
    return cast("Mapping[str, Any]", yaml.safe_load(path.read_text("utf-8")))


def instructions(script: UserScript, language: str) -> Iterator[str]:
    """Yield a model's instructions for the manners and attempts of a script."""
    texts: Mapping[str, str] = _manners_of(own_language(language))["instructions"]
    yield from (f"- {texts[name]}".replace("{patience}", str(script.patience)) for name in sorted(script.manners))
    yield from (f"  - {texts['first']}{first} / {say}" for first, say in script.taken_back)
    if script.attempts:
        yield from (f"- {texts['attempts']}", *(f"  - {attempt}" for attempt in script.attempts))


class Manner:
    """The manner of the user in one episode.

    Args:
        case: its user and its language; with the number of the turn, its id chooses among the words of the language.

    Attributes:
        put_off: answers that were requested when the user gave another one.
        telling: the answers that the user has given rightly in this turn, and whether they were requested.
    """

    def __init__(self, case: Case) -> None:
        self._names, self._patience = case.truth.user.manners, case.truth.user.patience
        self._language, self._seed = case.language, case.id
        self._data = _manners_of(own_language(case.language))
        self._says_first = next((name for name in SAYS_FIRST if name in self._names), "")
        #: How often each answer was corrected whose wrong ``first`` was said.
        self._wrong: dict[ScriptedAnswer, int] = {}
        self._asked = 0
        self.telling: list[tuple[ScriptedAnswer, Literal["asked", "told"]]] = []
        self.put_off: Sequence[ScriptedAnswer] = ()
        self._instead: Sequence[ScriptedAnswer] = ()

    def leaves(self, message: MessageReading, turn: int) -> str:
        """Return the last words of a user whose patience ends with a message; empty if it stays."""
        self.telling = []
        self._asked += message.wants_facts
        out = self._patience is not None and message.wants_facts and self._asked > self._patience
        return self._filled("impatient", turn) if out else ""

    def chosen(self, answers: Sequence[ScriptedAnswer], unsaid: Sequence[ScriptedAnswer]) -> Sequence[ScriptedAnswer]:
        """Return the answers to give to a message: those requested, or once in a dialogue another one (other_first)."""
        other = [answer for answer in unsaid if not answer.calls][:1]
        if "other_first" not in self._names or self.put_off or not other or any(answer.calls for answer in answers):
            return answers
        self.put_off = answers
        self._instead = other if answers else ()
        return self._instead or answers

    def corrections(self, message: MessageReading, turn: int) -> list[str]:
        """Return the user's corrections of its wrong answers that are due after a message."""
        due = [
            answer
            for answer, times in self._wrong.items()
            if (self._says_first == "changes_mind" and not times)
            or (times < _MOST_CORRECTIONS and self._is_read_back(answer, message))
        ]
        self._wrong |= {answer: self._wrong[answer] + 1 for answer in due}
        self.telling += ((answer, "asked") for answer in due)
        return [self._filled(self._says_first, turn, say=answer.say) for answer in due]

    def is_misled(self, message: MessageReading) -> bool:
        """Return whether a message reads back a wrong answer of the user's."""
        return any(self._is_read_back(answer, message) for answer in self._wrong)

    def _is_read_back(self, answer: ScriptedAnswer, message: MessageReading) -> bool:
        """Return whether a message states a figure or time of a wrong answer, and nothing of the right one."""
        stated = facts_of("\n".join(message.sentences), self._language)
        right = facts_of(answer.say, self._language)
        wrong = [fact for fact in facts_of(answer.first, self._language) if not _states(right, fact)]
        return any(_states(stated, fact) for fact in wrong) and not any(_states(stated, fact) for fact in right)

    def said(self, answers: Sequence[ScriptedAnswer], replies: Sequence[str], turn: int) -> list[str]:
        """Return the words in which the user gives some answers: ``replies`` in its manner."""
        words = [self._given(answer, reply, turn) for answer, reply in zip(answers, replies, strict=True)]
        if self._instead and answers == self._instead:
            words, self._instead = [self._filled("other_first", turn, say=words[0])], ()
        if words and "rambling" in self._names:
            before, after = (self._one_of(self._data["rambling"][part], turn) for part in ("before", "after"))
            words = [before, *words, after]
        return words

    def left_over(self, answers: Sequence[ScriptedAnswer], turn: int) -> str:
        """Return the words in which the user gives the answers that it has put off."""
        words = stock_of(self._language).joint.join(self.said(answers, [answer.say for answer in answers], turn))
        return self._filled("left_over", turn, say=words)

    def _given(self, answer: ScriptedAnswer, words: str, turn: int) -> str:
        """Return the words of one answer: its wrong one first, or in the words of the manner."""
        if answer.first and self._says_first not in ("", "corrects"):
            self._wrong[answer] = 0
            return answer.first
        self.telling.append((answer, "told" if answer in self._instead else "asked"))
        if answer.first and self._says_first:
            return self._filled("corrects", turn, first=answer.first, say=words)
        # What the user reads out is quoted.
        if answer.calls:
            return words
        if "terse" in self._names:
            words = self._kept(words, _bare(words, own_language(self._language)))
        for manner in ("mixes", "misspells"):
            if manner in self._names:
                words = self._replaced(words, manner, turn)
        return words

    def _kept(self, words: str, changed: str) -> str:
        """Return changed words if they state the same facts, otherwise the words."""
        both = ([(fact.unit, fact.values) for fact in facts_of(text, self._language)] for text in (words, changed))
        return changed if next(both) == next(both) else words

    def _replaced(self, words: str, manner: str, turn: int) -> str:
        """Return words with one or two of them misspelt or in another language; with an addition if none can be."""
        data = self._data[manner]
        known: Mapping[str, str] = data["words"]
        quoted = [range(*match.span()) for match in _QUOTED.finditer(words)]
        pattern = _PLAIN_WORD if own_language(self._language) == "en" else _any_of(tuple(known))
        plain = [match for match in pattern.finditer(words) if not any(match.start() in part for part in quoted)]
        matches = [match for match in plain if match[0] in known]
        if not matches and data.get("letters"):
            matches = [match for match in plain if len(match[0]) >= _FEWEST_LETTERS]
        chosen = sorted(matches, key=lambda match: self._number(turn, match[0]))[:_MOST_CHANGES]
        changed = words
        for match in sorted(chosen, key=re.Match.start, reverse=True):
            new = known.get(match[0]) or self._swapped(match[0], turn)
            changed = self._kept(changed, f"{changed[: match.start()]}{new}{changed[match.end() :]}")
        if changed == words and "after" in data:
            changed = stock_of(self._language).joint.join((words, self._one_of(data["after"], turn)))
        return changed

    def _swapped(self, word: str, turn: int) -> str:
        """Return a word with two letters in its middle swapped."""
        at = 1 + self._number(turn, word) % (len(word) - 3)
        return f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"

    def _filled(self, manner: str, turn: int, **words: str) -> str:
        """Return one of the phrases of a manner, with the words of the script in their places."""
        phrase = self._one_of(self._data[manner], turn)
        return re.sub(r"\{(first|say)\}", lambda place: words[place[1]], phrase)

    def _one_of(self, phrases: Sequence[str], turn: int) -> str:
        """Return one of some phrases."""
        return phrases[self._number(turn, phrases) % len(phrases)]

    def _number(self, turn: int, what: object) -> int:
        """Return a number that follows from the case, the turn and what it is for."""
        return int(digest([self._seed, turn, what]), 16)


def _states(facts: Sequence[SaidFact], wanted: SaidFact) -> bool:
    """Return whether a fact is among some facts: a value and the unit are the same; a bare count matches any unit."""
    values = {value for value in wanted.values if value and isfinite(value)}
    return any(
        values & {*fact.values} and (fact.unit == wanted.unit or "count" in (fact.unit, wanted.unit)) for fact in facts
    )


def _bare(words: str, language: str) -> str:
    """Return an answer without the polite words at its ends."""
    start, end = _polite(language)
    bare, before = words, ""
    while bare != before:
        before, bare = bare, end.sub("", start.sub("", bare))
    return bare.strip(" ,，.。!！") or words


@cache
def _polite(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of the polite words at the start and at the end of an answer."""
    data = _manners_of(language)["terse"]
    starts, ends = (_any_of(tuple(data[part])).pattern for part in ("starts", "ends"))
    return re.compile(rf"^{starts}[\s,，]*", re.IGNORECASE), re.compile(rf"[\s,，]*{ends}[\s.。!！]*$", re.IGNORECASE)


@lru_cache(maxsize=16)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of any of some words, the longest first; as whole words in scripts that write spaces."""
    found = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rf"(?<!\w)(?:{found})(?!\w)" if words[0].isascii() else f"(?:{found})")
