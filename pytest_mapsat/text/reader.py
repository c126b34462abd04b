"""Reads a reply: the one place where the steps follow one another."""

from __future__ import annotations

import re

from .document import Block, Document, Mention, Span
from .fold import fold, fold_phrase
from .lexicon import Lexicon

_SENTENCE = re.compile(r"[^\n。！？!?；;]+[。！？!?；;]*")


def read(text: str, *, language: str, lexicon: Lexicon, now: str = "", turn: int = 0) -> Document:
    """Return the reading of one reply.

    Args:
        text: the reply as it was written.
        language: BCP 47 tag of the case; a reply in another script is read with the pack of that script.
        lexicon: the things of the case.
        now: the case's time, ISO 8601; resolves the 12-hour clock.
        turn: index of the reply in ``Trajectory.turns``, for quotes.
    """
    folded = fold(text)
    sentences = tuple(Span(*match.span()) for match in _SENTENCE.finditer(text)) or (Span(0, len(text)),)
    mentions = []
    for thing in lexicon.things:
        for name in thing.names:
            wanted = fold_phrase(name)
            position = folded.text.find(wanted) if wanted else -1
            while position >= 0:
                span = Span(*folded.span(position, position + len(wanted)))
                mentions.append(Mention((thing.key,), span, "full", "affirmed", "", 0, 0))
                position = folded.text.find(wanted, position + len(wanted))
    blocks = (Block(Span(0, len(text)), "paragraph"),)
    return Document(text, language, turn, folded.text, blocks, sentences, sentences, tuple(mentions), (), (), (), ())
