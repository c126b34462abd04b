"""A text before anybody looks for names in it: what all readings of it share, whatever they look for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .document import Block
from .fold import Folded, fold, is_han
from .identifiers import Found, find_identifiers
from .layout import lay_out
from .pack import Cue, Pack, Vocabulary, languages, pack_of

_SAMPLE = 2000
#: So much of a reply in the case's language is hardly that language; so much Chinese in another one is Chinese.
_HARDLY, _MOSTLY = 0.1, 0.5
_WORDS = re.compile(r"[a-z]+")


@dataclass(frozen=True, eq=False, slots=True)
class Page:
    """A text folded and laid out, with the words of its language and the identifiers in it.

    Attributes:
        text: as it was written; quotes are cut from it.
        language: BCP 47 tag of the case.
        folded: what is read of it.
        pack: the words of the language it is written in, with those of the domain.
        cues: these words where they stand.
        identifiers: telephone numbers, lines, addresses, points, links.
        blocks: headings, items, rows, paragraphs.
        bounds: where the blocks begin and end in the folded text.
    """

    text: str
    language: str
    folded: Folded
    pack: Pack
    cues: tuple[Cue, ...]
    identifiers: tuple[Found, ...]
    blocks: tuple[Block, ...]
    bounds: tuple[tuple[int, int], ...]


def open_page(text: str, *, language: str, vocabulary: Vocabulary | None = None, written: str | None = None) -> Page:
    """Return a text ready to be read for names. Linear in its length; no text makes it raise.

    Args:
        text: what is to be read.
        language: BCP 47 tag of the case; a text in another script is read with the pack of that script.
        vocabulary: domain words of the suite.
        written: the text as it was written, where parts of it are blank in ``text``; as long as that.
    """
    folded = fold(text)
    pack = pack_of(_script(folded.text, language), vocabulary)
    blocks = lay_out(text)
    return Page(
        text=text if written is None else written,
        language=language,
        folded=folded,
        pack=pack,
        cues=tuple(pack.find(folded.text)),
        identifiers=tuple(find_identifiers(folded, pack)),
        blocks=blocks,
        bounds=tuple((folded.at(block.span.start), folded.at(block.span.end)) for block in blocks),
    )


def _script(text: str, language: str) -> str:
    """Return the language to read in: that of the case, unless the reply is written in another script. Two Chinese characters are a word."""
    sample = text[:_SAMPLE]
    latin = len(_WORDS.findall(sample))
    han = sum(map(is_han, sample)) / 2
    if not latin + han:
        return language
    share = han / (latin + han)
    chinese = language.lower().startswith("zh")
    if chinese and share < _HARDLY and "en" in languages():
        return "en"
    return "zh" if not chinese and share > _MOSTLY else language
