"""Hold each claim of a reply against the evidence: supported, contradicted, unsupported."""

from __future__ import annotations

from .decide import Judged, ReplyJudge
from .find import find_claims, outside
from .mentions import Named, Subjects, known_names, longest
from .page import Page
from .pool import Pool
from .text import Reading


def ground(reading: Reading, pool: Pool) -> tuple[Judged, ...]:
    """Return the claims of one reply with their verdicts, in the order of the text.

    Args:
        reading: the reply; its turn says which evidence was known by then.
        pool: the evidence of the dialogue.
    """
    page = Page(reading)
    mentions = known_names(page, pool, reading.turn)
    claims = find_claims(page, pool, mentions)
    free = outside(mentions, [claim for claim in claims if claim.type == "address"])
    worded = [Named(claim.start, claim.end, claim.text) for claim in claims if claim.type == "name"]
    invented = frozenset(one.name for one in worded if not pool.knows(one.name, reading.turn))
    judge = ReplyJudge(page, pool, Subjects(page, longest((*free, *worded)), invented))
    return tuple(judge.judge(claim) for claim in claims)
