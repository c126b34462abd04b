"""What an agent asks its user.

A question is a sentence that ends in a question mark, or that begins a request for information in fixed words. An
offer of more help is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .text import Mention, Reading

_REQUEST = re.compile(
    r"(?<![a-z])(?:please (?:tell|confirm|specify|provide|share|let)|let me know|tell me (?:if|which|what|where|when|how|whether|your)"
    r"|(?:could|can|would) you (?:please )?(?:tell|confirm|specify|clarify|share|provide)|i need to know|may i ask)(?![a-z])"
    r"|请问|请告诉|请提供|请确认|请说明|请选择|请补充|告诉我|能否告知|方便告知|[吗呢](?:[。!;\n]|$)"
)
_OFFER = re.compile(
    r"(?:if|should) (?:you (?:need|want|have|would like)|there is|there's) (?:any|some|more|further|other)|anything else|if you need|if you have"
    r"|有(?:其他|别的|任何)?(?:需要|问题).{0,4}(?:告诉我|随时)|随时(?:告诉|联系)"
)


def questions(reading: Reading) -> Iterator[Mention]:
    """Yield the sentences of a reply that ask the user something."""
    start = 0
    for end in reading.sentence_ends:
        sentence = reading.flat[start:end]
        if is_question(sentence):
            lead = len(sentence) - len(sentence.lstrip())
            yield Mention(start + lead, start + len(sentence.rstrip()))
        start = end


def is_question(sentence: str) -> bool:
    """Return whether a folded sentence asks for something."""
    words = sentence.strip()
    if not any(char.isalnum() for char in words):
        return False
    if words.rstrip(" \"')").endswith("?"):
        return True
    return bool(_REQUEST.search(words)) and not _OFFER.search(words)
