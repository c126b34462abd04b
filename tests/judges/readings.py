"""Readings made by hand: what a check makes of a reply that is clear, or unclear, in one known way."""

from judging import TOOLS, check_of, dialogue

from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.reading import ClockTime, Document, Mention, Quantity, Question, Span, TextBlock


def span(text, words):
    start = text.index(words)
    return Span(start, start + len(words))


def reading(text, *parts, turn=1):
    """A reading of a text that has these parts only, all in one sentence."""
    whole = Span(0, len(text))
    made = [part(text) for part in parts]

    def of(kind):
        return tuple(sorted((one for one in made if isinstance(one, kind)), key=lambda one: one.span))

    blocks = (TextBlock(whole, "paragraph"),)
    figures = (of(Mention), of(Quantity), of(ClockTime), (), of(Question))
    return Document(text, "en", turn, blocks, (whole,), (whole,), *figures)


def names(words, stance, *keys, form="full"):
    keys = keys or (words.casefold(),)
    why = "no" if stance == "denied" else ""
    return lambda text: Mention(keys, span(text, words), form, stance, why, 0, 0)


def figure(words, value, unit, role, *subject, approx="exact", low=None, high=None, mode="", stance="affirmed"):
    low, high = value if low is None else low, value if high is None else high
    return lambda text: Quantity(span(text, words), value, low, high, approx, unit, role, subject, mode, stance, 0, 0)


def time(words, minutes, role, *subject, approx="exact"):
    listed = minutes if isinstance(minutes, tuple) else (minutes,)
    return lambda text: ClockTime(span(text, words), listed, approx, role, subject, 0, 0)


def asks(words):
    return lambda text: Question(span(text, words), 0)


def judge_reading(document, kind, *, steps=(), tools=TOOLS, **fields):
    """The finding of one check on a reply that was read by hand."""
    check = check_of(kind, **fields)
    context = JudgedDialogue(dialogue(document.text, steps=steps), tools).knowing([check])
    context.__dict__["replies"] = context.__dict__["worded"] = (document,)
    return evaluate(check, context)
