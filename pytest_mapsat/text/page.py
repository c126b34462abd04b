"""A text before anybody looks for names in it: what all readings of it share, whatever they look for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from .document import Block
from .fold import Folded, fold, is_han
from .identifiers import Found, find_identifiers, may_link
from .layout import lay_out
from .pack import Cue, Pack, Vocabulary, languages, pack_of

if TYPE_CHECKING:
    from .scan import Scan

#: Texts up to this length are kept: replies are shorter, and what is kept stays small however long a text may be.
KEPT = 4000
_SAMPLE = 2000
#: What words do that make a figure or a time of day, alone or with others.
_COUNTING = ("numeral", "multiplier", "fraction", "one", "couple", "hour_quarter", "clock_word")
#: So much of a reply in the case's language is hardly that language; so much Chinese in another one is Chinese.
_HARDLY, _MOSTLY = 0.1, 0.5
_WORDS = re.compile(r"[a-z]+")


@dataclass(frozen=True, eq=False)
class Page:
    """A text folded and laid out, with the words of its language and the identifiers in it, each found when it is first asked for.

    Attributes:
        text: as it was written; quotes are cut from it.
        language: BCP 47 tag of the case.
        folded: what is read of it.
        pack: the words of the language it is written in, with those of the domain.
        blocks: headings, items, rows, paragraphs.
        bounds: where the blocks begin and end in the folded text.
    """

    text: str
    language: str
    folded: Folded
    pack: Pack
    blocks: tuple[Block, ...]
    bounds: tuple[tuple[int, int], ...]

    @cached_property
    def cues(self) -> tuple[Cue, ...]:
        """The words of the pack where they stand."""
        return tuple(self.pack.find(self.folded.text))

    @cached_property
    def identifiers(self) -> tuple[Found, ...]:
        """Telephone numbers, lines, addresses, points, links."""
        return tuple(find_identifiers(self.folded, self.pack))

    @cached_property
    def scans(self) -> dict[tuple[tuple[int, int], ...], Scan]:
        """How it was cut to pieces, by the places of the names that were found in it."""
        return {}

    @property
    def may_count(self) -> bool:
        """Whether it may state a figure, a time of day or an identifier: without a number, in digits or words, it states none."""
        counts = any(map(str.isdigit, self.folded.text)) or any(cue.has(*_COUNTING) for cue in self.cues)
        return counts or bool(self.identifiers)

    @cached_property
    def links(self) -> tuple[Found, ...]:
        """The links among the identifiers."""
        if not may_link(self.folded.text):
            return ()
        return tuple(one for one in self.identifiers if one.kind == "link")


def open_page(text: str, *, language: str, vocabulary: Vocabulary | None = None, written: str | None = None) -> Page:
    """Return a text ready to be read for names. Linear in its length; no text makes it raise.

    Args:
        text: what is to be read.
        language: BCP 47 tag of the case; a text in another script is read with the pack of that script.
        vocabulary: domain words of the suite.
        written: the text as it was written, where parts of it are blank in ``text``; as long as that.
    """
    opened = _opened if len(text) <= KEPT else _opened.__wrapped__
    return opened(text, language, vocabulary or _PLAIN, text if written is None else written)


#: What stands for no words of a domain, so that pages with and without a vocabulary that says nothing are one.
_PLAIN = Vocabulary()


@lru_cache(maxsize=128)
def _opened(text: str, language: str, vocabulary: Vocabulary, written: str) -> Page:
    """Return a text ready to be read. Kept: the user and the judge read the same replies, and so do votes and trials."""
    folded, blocks, bounds = (_laid_out if len(text) <= KEPT else _laid_out.__wrapped__)(text)
    return Page(written, language, folded, pack_of(_script(folded.text, language), vocabulary), blocks, bounds)


@lru_cache(maxsize=128)
def _laid_out(text: str) -> tuple[Folded, tuple[Block, ...], tuple[tuple[int, int], ...]]:
    """Return a text folded, its blocks and their bounds. Kept for itself: the user knows nothing of the words of a suite's domain."""
    folded, blocks = fold(text), lay_out(text)
    return folded, blocks, tuple((folded.at(block.span.start), folded.at(block.span.end)) for block in blocks)


def _script(text: str, language: str) -> str:
    """Return the language to read in: that of the case, unless the reply is written in another script. Two Chinese characters are a word."""
    sample = text[:_SAMPLE]
    latin = len(_WORDS.findall(sample))
    han = 0.0 if sample.isascii() else sum(map(is_han, sample)) / 2
    if not latin + han:
        return language
    share = han / (latin + han)
    chinese = language.lower().startswith("zh")
    if chinese and share < _HARDLY and "en" in languages():
        return "en"
    return "zh" if not chinese and share > _MOSTLY else language
