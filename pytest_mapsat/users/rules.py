"""What a message of a simulated user may not be: the one home of what a model is held to while it speaks, and of what is laid to a user afterwards.

Three answers, as everywhere: only what is surely at odds with the script is a slip. Figures, times of day and numbers in words are compared by what they
mean; other words may say the same, and decide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pytest_mapsat.model import USER, Case, Label, Quote, ScriptedAnswer, Trajectory, Turn, user_name
from pytest_mapsat.text import Span, fold_phrase, lexicon_of
from pytest_mapsat.text import read as read_text

from . import phrases
from .reading import Reading, mentions, read, wants_something, words

#: What a user may do wrong (PIPA 5.3 and appendix F).
SlipKind = Literal["proactivity", "contradiction", "missing_details", "misinterpretation"]
#: A user who says more than this, characters, is asked to be brief.
_LONGEST = 400
_SHOWN = 80
#: Of a longer turn only the end is read, as by the user itself.
_READ_CHARS = 20_000
#: Figures and times, and names in quotation marks: what nobody may make up.
_STATED = re.compile(r"\d+(?:[.:]\d+)*|(?<=[“\"「《])[^”\"」》]{2,40}(?=[”\"」》])")


@dataclass(frozen=True)
class Slip:
    """Something that a user surely did wrong.

    Attributes:
        kind: what sort of error it is.
        why: what it is, in words that a model can be told.
        misleads: whether it keeps from the agent what it needs, or tells it something wrong: a case may fail by it.
    """

    kind: SlipKind
    why: str
    misleads: bool = True


@dataclass(frozen=True)
class Fact:
    """A time of day or a figure in somebody's words.

    Attributes:
        unit: ``clock``, or the canonical unit of a figure.
        values: minutes after midnight, every reading; or the least and the most that is meant.
        span: the words.
    """

    unit: str
    values: tuple[float, ...]
    span: Span

    def agrees(self, other: Fact) -> bool:
        """Return whether both may mean the same."""
        if self.unit == "clock" or other.unit == "clock":
            return self.unit == other.unit and not set(self.values).isdisjoint(other.values)
        return self.values[0] <= other.values[1] and other.values[0] <= self.values[1]


@lru_cache(maxsize=256)
def facts_of(said: str, language: str) -> tuple[Fact, ...]:
    """Return the times of day and the figures that a text states."""
    document = read_text(said, language=language, lexicon=lexicon_of(()))
    times = [Fact("clock", tuple(map(float, one.minutes)), one.span) for one in document.times]
    return (*times, *(Fact(one.unit, (one.low, one.high), one.span) for one in document.quantities))


# -- while a model speaks ------------------------------------------------------------------------------------------------


def out_of_turn(reading: Reading, *, ends: bool) -> Iterator[Slip]:
    """Yield what is wrong with speaking, or ending, now.

    Args:
        reading: what the agent's message asks.
        ends: whether the user ends the dialogue.
    """
    if not reading.asks and not ends:
        yield Slip(
            "proactivity", "it volunteers: the assistant has asked nothing, so the dialogue ends", misleads=False
        )
    if reading.questions and ends and not reading.actions and not reading.gives_up and not reading.stalls:
        yield Slip("proactivity", f"it ends too early: the assistant asks {reading.questions[0][:_SHOWN]!r}")


def speaks_amiss(message: str) -> Iterator[Slip]:
    """Yield what a user never says."""
    if wants_something(message):
        yield Slip("misinterpretation", "it asks the assistant for something")
    if phrases.SPEAKS_FOR_AGENT.search(fold_phrase(message)):
        yield Slip("misinterpretation", "it speaks for the assistant")
    if len(message) > _LONGEST:
        yield Slip("misinterpretation", f"it says {len(message)} characters, far more than suffices", misleads=False)


def invents(message: str, known: Sequence[str], language: str) -> Iterator[Slip]:
    """Yield the figures, times and quoted names of a message that stand nowhere, in whatever form.

    Args:
        message: the user's words.
        known: all that the user may know: what it was told of itself, and the dialogue.
        language: BCP 47 tag of the case.
    """
    said = "\n".join(known)
    own = facts_of(message, language)
    stated = [(found[0], found.start(), found.end()) for found in _STATED.finditer(message)]
    # A bare number in words ("one") is often none.
    plain = [fact.span for fact in own if fact.unit != "count" and not any(map(str.isdigit, _text(message, fact)))]
    stated += [(message[span.start : span.end], span.start, span.end) for span in plain]
    new = [one for one in stated if one[0] not in said]
    held = [fact for text in (known if new else ()) for fact in facts_of(text[-_READ_CHARS:], language)]
    for found_, start, end in new:
        here = [fact for fact in own if fact.span.start < end and start < fact.span.end]
        if not any(fact.agrees(other) for fact in here for other in held):
            yield Slip("contradiction", f"it invents {found_!r}, which stands nowhere")


def _text(message: str, fact: Fact) -> str:
    return message[fact.span.start : fact.span.end]


# -- against the script --------------------------------------------------------------------------------------------------


def against_script(
    answers: Sequence[ScriptedAnswer], turns: Sequence[Turn], message: str, language: str, *, ends: bool
) -> Iterator[Slip]:
    """Yield how a message surely departs from what the script has for what was asked.

    Args:
        answers: the script.
        turns: the dialogue before the message; the last turn is the agent's.
        message: the user's words.
        language: BCP 47 tag of the case.
        ends: whether the dialogue ends with it.
    """
    heard = turns[-1].text if turns and turns[-1].role == "agent" else ""
    reading = read(heard, language)
    asking = (*reading.questions, *reading.open_ended)
    before = [turn.text for turn in turns if turn.role == "user"]
    left = [one for one in answers if not any(_tells(text, one, language) for text in before)]
    asked = [one for one in left if any(mentions(sentence, phrase) for sentence in asking for phrase in one.asked)]
    unasked = [one for one in left if one not in asked and _tells(message, one, language)]
    if unasked and not reading.asks:
        yield Slip("proactivity", f"it volunteers {unasked[0].say[:_SHOWN]!r}: nothing was asked", misleads=False)
    for answer in asked:
        if _tells(message, answer, language):
            continue
        wrong = _other_fact(message, answer, answers, language)
        if wrong:
            yield Slip("contradiction", f"it says {wrong!r}, and the script has {answer.say[:_SHOWN]!r}")
        elif unasked:
            yield Slip("misinterpretation", f"asked for {answer.say[:_SHOWN]!r}, it says {unasked[0].say[:_SHOWN]!r}")
        elif _is_kept_back(message, answer, before, language):
            if ends:
                yield Slip("proactivity", f"it ends though it was asked for {answer.say[:_SHOWN]!r}")
            else:
                yield Slip("missing_details", f"it was asked for {answer.say[:_SHOWN]!r} and does not say it")


def _tells(message: str, answer: ScriptedAnswer, language: str) -> bool:
    """Return whether a message has the words of an answer, or all its facts."""
    if words(answer.say) in words(message):
        return True
    wanted, said = facts_of(answer.say, language), facts_of(message, language)
    return bool(wanted) and all(any(fact.agrees(other) for other in said) for fact in wanted)


def _other_fact(message: str, answer: ScriptedAnswer, answers: Iterable[ScriptedAnswer], language: str) -> str:
    """Return the words of a fact in a message that is of the kind of an answer's and no fact of the script; empty where there is none."""
    own = facts_of(answer.say, language)
    known = [fact for one in answers for fact in facts_of(one.say, language)]
    for fact in facts_of(message, language):
        alike = [other for other in own if other.unit == fact.unit and fact.unit != "count"]
        if alike and not any(fact.agrees(other) for other in known):
            return _text(message, fact)
    return ""


def _is_kept_back(message: str, answer: ScriptedAnswer, before: Sequence[str], language: str) -> bool:
    """Return whether a message surely lacks an answer: it declines to say, or states no fact where the answer has one that was not said."""
    if phrases.DECLINES.search(fold_phrase(message)):
        return True
    facts = facts_of(answer.say, language)
    said = [fact for text in before for fact in facts_of(text, language)]
    return any(not any(fact.agrees(other) for other in said) for fact in facts) and not facts_of(message, language)


# -- afterwards ----------------------------------------------------------------------------------------------------------


def audit(case: Case, trajectory: Trajectory) -> tuple[Label, ...]:
    """Return a failed label for each slip of the user's turns, live or recorded, where the case's script decides.

    A label that names the user as to blame is of a slip that may have misled the agent. What no rule is sure of has no label.

    Args:
        case: the case; without prepared answers its script decides nothing.
        trajectory: what was said.
    """
    answers, turns = case.truth.user.answers, trajectory.turns
    if not answers or trajectory.fault is not None:
        return ()
    labels: dict[str, Label] = {}
    for index, turn in enumerate(turns):
        if turn.role != "user" or index == 0 or not turn.text.strip():
            continue
        ends = index == len(turns) - 1
        known = [*_known(case), *(one.text for one in turns[:index])]
        slips = [
            *against_script(answers, turns[:index], turn.text, case.language, ends=ends),
            *invents(turn.text, known, case.language),
        ]
        for slip in slips:
            label = _label(slip, index, turn.text)
            labels.setdefault(label.factor, label)
    return tuple(labels.values())


def _known(case: Case) -> Iterator[str]:
    """Yield what a user of the case may know: whatever the truth says of it, and what the agent is shown."""
    truth, context = case.truth, case.visible.context
    yield from (truth.persona, truth.intent, *(answer.say for answer in truth.user.answers))
    yield from (truth.user.no_preference, truth.user.cannot_act, truth.user.goodbye)
    yield from (context.model_dump_json(), *(factor.text for factor in truth.factors))


def _label(slip: Slip, turn: int, text: str) -> Label:
    return Label(
        factor=user_name(turn, slip.kind),
        kind=USER,
        outcome="failed",
        value=0,
        why=f"the user's turn {turn}: {slip.why}",
        wanted="what the script has for what was asked, and nothing else",
        quotes=(Quote(turn=turn, start=0, end=len(text), text=text),),
        blame="user" if slip.misleads else None,
    )
