"""One reading of a text: names with stance, figures with role and subject, clock times, identifiers, questions."""

from .conditions import ABOUT_SHARE, Bound, Conditions, Denials, Opening, conditions_of
from .document import (
    Approx,
    Block,
    Cell,
    ClockTime,
    Document,
    Folded,
    Identifier,
    Mention,
    Quantity,
    Question,
    Span,
    Stance,
    fold_phrase,
)
from .document import fold as fold_text
from .goahead import agrees, asks_go_ahead, go_ahead_requests
from .names import Lexicon, Thing, lexicon_of
from .pack import FOREIGN, MONEY, YUAN, Vocabulary, pack_of, vocabulary_problem
from .page import Page, open_page
from .reader import read, read_names, read_page

__all__ = [
    "ABOUT_SHARE",
    "FOREIGN",
    "MONEY",
    "YUAN",
    "Approx",
    "Block",
    "Bound",
    "Cell",
    "ClockTime",
    "Conditions",
    "Denials",
    "Document",
    "Folded",
    "Identifier",
    "Lexicon",
    "Mention",
    "Opening",
    "Page",
    "Quantity",
    "Question",
    "Span",
    "Stance",
    "Thing",
    "Vocabulary",
    "agrees",
    "asks_go_ahead",
    "conditions_of",
    "fold_phrase",
    "fold_text",
    "go_ahead_requests",
    "lexicon_of",
    "open_page",
    "pack_of",
    "read",
    "read_names",
    "read_page",
    "vocabulary_problem",
]
