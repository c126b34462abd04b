"""One reading of a text: names with stance, figures with role and subject, clock times, identifiers, questions."""

from .document import (
    Approx,
    Block,
    Cell,
    ClockTime,
    Document,
    Identifier,
    Mention,
    Quantity,
    Question,
    Role,
    Span,
    Stance,
    TimeRole,
)
from .fold import fold_phrase
from .lexicon import Lexicon, Thing, Vocabulary
from .pack import vocabulary_problem
from .reader import read

__all__ = [
    "Approx",
    "Block",
    "Cell",
    "ClockTime",
    "Document",
    "Identifier",
    "Lexicon",
    "Mention",
    "Quantity",
    "Question",
    "Role",
    "Span",
    "Stance",
    "Thing",
    "TimeRole",
    "Vocabulary",
    "fold_phrase",
    "read",
    "vocabulary_problem",
]
