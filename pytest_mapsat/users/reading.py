"""What an agent's message asks of the user, sentence by sentence. Rules only, no model: the same text is always read the same."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from . import phrases

#: Characters of a message that the user reads: nobody puts a question behind an essay.
_READ_CHARS = 20_000
#: A sentence that puts the user off is short; a longer one says something besides.
_SHORT = 80

_URL = re.compile(r"\b(?:https?://|www\.)[^\s)>\]]+")
_QUOTED = re.compile(r"“[^”\n]{0,200}”|「[^」\n]{0,200}」|《[^》\n]{0,200}》|\"[^\"\n]{0,200}\"")
_MARKS = re.compile(r"[.。?!;]")
_SENTENCE = re.compile(r"[^\n。?!;]*?(?:[。?!;]+|\.(?=\s|$)|\.{2,}|\n|$)")
_LIST_ITEM = re.compile(r"^\s*(?:[-*•·+]|\(?\d{1,2}[.)、])\s*")
_HEADING = re.compile(r"^\s*#{1,6}\s")
_MARKUP = re.compile(r"[*`_~]{1,3}")
_NOT_WORD = re.compile(r"[^\w]+")
_LATIN = re.compile(r"[a-z0-9]")


def fold(text: str) -> str:
    """Return the text in one form: NFKC, lower case, without emphasis marks; line breaks stay."""
    return _MARKUP.sub("", unicodedata.normalize("NFKC", text).lower()).replace("’", "'")


@lru_cache(maxsize=4096)
def words(text: str) -> str:
    """Return the text for comparison: folded, every run of other than letters and digits as one space."""
    return _NOT_WORD.sub(" ", fold(text)).strip()


def mentions(sentence: str, phrase: str) -> bool:
    """Return whether a folded sentence has the phrase, as whole words in scripts that write spaces.

    A plural is the same word. A phrase of punctuation only (``?``) is looked for as it is.
    """
    wanted = words(phrase)
    if not wanted:
        return fold(phrase).strip() in sentence
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
        questions: those that want an answer of a particular kind.
        open_ended: those that are open to anything ("Anything else?").
        actions: those that want the user to act in the world.
        stalls: the message only puts the user off, or is blank.
        gives_up: the agent says that it cannot do the task.
    """

    sentences: tuple[str, ...]
    questions: tuple[str, ...]
    open_ended: tuple[str, ...]
    actions: tuple[str, ...]
    stalls: bool
    gives_up: bool

    @property
    def asks(self) -> bool:
        """Whether the message asks anything of the user."""
        return bool(self.questions or self.open_ended or self.actions)


@lru_cache(maxsize=256)
def read(message: str) -> Reading:
    """Return what the message asks."""
    sentences = _sentences(message)
    kinds: dict[str, list[str]] = {}
    for sentence in sentences:
        kinds.setdefault(_kind(sentence), []).append(sentence)
    return Reading(
        sentences=sentences,
        questions=tuple(kinds.get("question", ())),
        open_ended=tuple(kinds.get("open", ())),
        actions=tuple(kinds.get("action", ())),
        stalls=not sentences or ("placeholder" in kinds and kinds.keys() <= {"placeholder", "filler"}),
        gives_up=any(phrases.GIVES_UP.search(sentence) for sentence in sentences),
    )


def wants_something(text: str) -> bool:
    """Return whether the user's own words ask for anything; such words never end a dialogue."""
    return phrases.WANTS_SOMETHING.search(fold(text).rstrip("。.!~ ")) is not None


def _kind(sentence: str) -> str:
    bare = _QUOTED.sub(" ", sentence)
    core = bare.strip(" ,.!。~?:;")
    if phrases.EMPTY_WORDS.match(core):
        return "filler"
    if len(core) <= _SHORT and phrases.PLACEHOLDER.search(core):
        return "placeholder"
    if phrases.ACTION.search(bare) and not phrases.WISH.search(bare):
        return "action"
    if phrases.OPEN_ENDED.search(bare):
        return "open"
    if "?" in bare or phrases.REQUEST.search(bare):
        return "question"
    return "statement"


def _sentences(message: str) -> tuple[str, ...]:
    """Split a message; a sentence that asks takes the list that follows it along, as its options."""
    found: list[str] = []
    for line in _lines(message):
        item = _LIST_ITEM.match(line) is not None
        parts = [part.strip() for part in _SENTENCE.findall(_LIST_ITEM.sub("", line)) if words(part)]
        if item and parts and found and _leads_a_list(found[-1]):
            found[-1] = f"{found[-1]}\n{' '.join(parts)}"
        else:
            found += parts
    return tuple(found)


def _lines(message: str) -> list[str]:
    text = _URL.sub(" ", fold(message[-_READ_CHARS:]))
    return [_hush_quotes(line) for line in text.split("\n") if line.strip() and not _HEADING.match(line)]


def _hush_quotes(line: str) -> str:
    """Take the marks out of what is quoted, which asks nothing; a line that is all quotation is the agent's own words."""
    core = line.strip()
    if _QUOTED.fullmatch(core):
        return core[1:-1]
    return _QUOTED.sub(lambda quote: _MARKS.sub(" ", quote[0]), line)


def _leads_a_list(sentence: str) -> bool:
    return _kind(sentence.split("\n", maxsplit=1)[0]) in ("question", "open")
