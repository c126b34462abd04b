"""What a message of a simulated user may not be: the one home of what a model is held to while it speaks, and of what is laid to a user afterwards.

Three answers, as everywhere: only what is surely at odds with the script is a slip. Figures, times of day and numbers in words are compared by what they
mean; other words may say the same, and decide nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_mapsat.model import (
    USER,
    Case,
    Confirms,
    Label,
    Quote,
    ScriptedAnswer,
    Trajectory,
    Turn,
    calls_in,
    user_name,
)
from pytest_mapsat.reading import Span, agrees, fold_phrase

from .user import (
    PATTERNS,
    MessageReading,
    SaidFact,
    answer_go_ahead,
    facts_of,
    last_words,
    mentions,
    read,
    stock_of,
    wants_something,
    words,
)

#: What a user may do wrong (PIPA 5.3 and appendix F).
SlipKind = Literal["proactivity", "contradiction", "missing_details", "misinterpretation"]
#: A user who says more than this, characters, is asked to be brief.
_LONGEST = 400
_SHOWN = 80
#: Of a longer turn only the end is read, as by the user itself.
_READ_CHARS = 20_000
#: Figures and times, and names in quotation marks: what may not be made up.
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


# -- while a model speaks ------------------------------------------------------------------------------------------------


def out_of_turn(reading: MessageReading, *, ends: bool, free: bool = False) -> Iterator[Slip]:
    """Yield what is wrong with speaking, or ending, now.

    Args:
        reading: what the agent's message asks.
        ends: whether the user ends the dialogue.
        free: whether its case lets the user do more than answer.
    """
    if not reading.asks and not ends and not free:
        yield Slip(
            "proactivity", "it volunteers: the assistant has asked nothing, so the dialogue ends", misleads=False
        )
    if reading.questions and ends and not reading.actions and not reading.gives_up and not reading.stalls:
        yield Slip("proactivity", f"it ends too early: the assistant asks {reading.questions[0][:_SHOWN]!r}")


def speaks_amiss(message: str, *, asks: bool = False) -> Iterator[Slip]:
    """Yield what a user never says. ``asks``: whether this one may ask the assistant for something."""
    if not asks and wants_something(message):
        yield Slip("misinterpretation", "it asks the assistant for something")
    if PATTERNS["speaks_for_agent"].search(fold_phrase(message)):
        yield Slip("misinterpretation", "it speaks for the assistant")
    if len(message) > _LONGEST:
        yield Slip("misinterpretation", f"it says {len(message)} characters, far more than suffices", misleads=False)


# -- against the script --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Script:
    """What a user may know and say.

    Attributes:
        answers: what it has been given to say, each when it is asked for; what it says of its own calls is not among them: they decide that.
        language: BCP 47 tag of the case.
        now: the case's moment, ISO 8601; empty where there is none.
        confirms: how it answers requests for a go-ahead.
        may: what its case lets it do besides answering.
    """

    answers: tuple[ScriptedAnswer, ...]
    language: str
    now: str = ""
    confirms: Literal["yes", "no"] | Confirms | None = None
    may: tuple[str, ...] = ()

    @classmethod
    def of(cls, case: Case) -> Script:
        """Return the script of a case."""
        user = case.truth.user
        answers = tuple(answer for answer in user.answers if not answer.calls)
        return cls(answers, case.language, case.visible.context.now or "", user.confirms, user.may)

    @property
    def said(self) -> tuple[str, ...]:
        """All that it has been given to say."""
        decisions = self.confirms if isinstance(self.confirms, Confirms) else None
        own = (decisions.say, decisions.otherwise) if decisions else ()
        return (*(answer.say for answer in self.answers), *own)

    def lines(self) -> Iterator[str]:
        """Yield what it has been given to say, and when, in words that a model can be told."""
        yield from (answer.say for answer in self.answers)
        stock = stock_of(self.language)
        if isinstance(self.confirms, Confirms):
            wanted = f" ({', '.join(self.confirms.when)})" if self.confirms.when else ""
            yield f"{stock.asked_go_ahead}{wanted}: {self.confirms.say or stock.agrees}"
            if wanted:
                yield f"{stock.asked_go_ahead} (…): {self.confirms.otherwise or stock.declines}"
        elif self.confirms:
            yield f"{stock.asked_go_ahead}: {stock.agrees if self.confirms == 'yes' else stock.declines}"

    def facts(self, text: str) -> tuple[SaidFact, ...]:
        """Return the times, days and figures that a text states."""
        return facts_of(text[-_READ_CHARS:], self.language, self.now)

    def invented(self, message: str, texts: Sequence[str]) -> Iterator[Slip]:
        """Yield the figures, times and quoted names of a message that stand nowhere, in whatever form.

        Args:
            message: the user's words.
            texts: all that the user may know: what it was told of itself, and the dialogue.
        """
        all_text = "\n".join(texts)
        own = facts_of(message, self.language)
        stated = [Span(*match.span()) for match in _STATED.finditer(message)]
        # A bare number in words ("one") is often none, and a day may be meant without being said.
        in_words = [fact for fact in own if not any(map(str.isdigit, _text(message, fact.span)))]
        stated += [fact.span for fact in in_words if fact.unit not in ("count", "day")]
        new = [span for span in stated if _text(message, span) not in all_text]
        known_facts = [fact for text in (texts if new else ()) for fact in self.facts(text)]
        for span in new:
            here = [fact for fact in own if fact.span.start < span.end and span.start < fact.span.end]
            if not any(fact.agrees(other) for fact in here for other in known_facts):
                yield Slip("contradiction", f"it invents {_text(message, span)!r}, which stands nowhere")

    def departed(self, turns: Sequence[Turn], message: str, *, ends: bool) -> Iterator[Slip]:
        """Yield how a message surely departs from what there is to say to what was asked.

        Args:
            turns: the dialogue before the message; the last turn is the agent's.
            message: the user's words.
            ends: whether the dialogue ends with it.
        """
        reading = read(last_words(turns), self.language)
        asking = (*reading.questions, *reading.open_ended)
        before = [turn.text for turn in turns if turn.role == "user"]
        left = [answer for answer in self.answers if not any(self._tells(text, answer) for text in before)]
        # A phrase of punctuation alone is in any question, and asks for nothing surely.
        topics = {answer: [phrase for phrase in answer.asked if words(phrase)] for answer in left}
        asked = [answer for answer in left if any(mentions(text, topic) for text in asking for topic in topics[answer])]
        unasked = [answer for answer in left if answer not in asked and self._tells(message, answer)]
        if unasked and not reading.asks and "volunteer" not in self.may:
            why = f"it volunteers {unasked[0].say[:_SHOWN]!r}: nothing was asked"
            yield Slip("proactivity", why, misleads=False)
        decision = answer_go_ahead(self.confirms, reading, self.language)
        if decision and words(decision[0]) not in words(message) and agrees(message) is (not decision[1]):
            yield Slip(
                "contradiction",
                f"asked for a go-ahead, it says {message[:_SHOWN]!r}, and the script has {decision[0]!r}",
            )
        for answer in asked:
            say = repr(answer.say[:_SHOWN])
            if self._tells(message, answer):
                continue
            if wrong := self._other_fact(message, answer):
                yield Slip("contradiction", f"it says {wrong!r}, and the script has {say}")
            elif unasked:
                yield Slip("misinterpretation", f"asked for {say}, it says {unasked[0].say[:_SHOWN]!r}")
            elif self._keeps_back(message, answer, before) and ends:
                yield Slip("proactivity", f"it ends though it was asked for {say}")
            elif self._keeps_back(message, answer, before):
                yield Slip("missing_details", f"it was asked for {say} and does not say it")

    def _tells(self, message: str, answer: ScriptedAnswer) -> bool:
        """Return whether a message has the words of an answer, or all its facts."""
        if words(answer.say) in words(message):
            return True
        wanted, both_facts = self.facts(answer.say), self.facts(message)
        return bool(wanted) and all(any(fact.agrees(other) for other in both_facts) for fact in wanted)

    def _other_fact(self, message: str, answer: ScriptedAnswer) -> str:
        """Return the words of a fact that is of the kind of an answer's and no fact of the script; empty where there is none."""
        kinds = {fact.unit for fact in self.facts(answer.say)} - {"count"}
        script_facts = [fact for say in self.said for fact in self.facts(say)]
        for fact in facts_of(message, self.language, self.now):
            if fact.unit in kinds and not any(fact.agrees(other) for other in script_facts):
                return _text(message, fact.span)
        return ""

    def _keeps_back(self, message: str, answer: ScriptedAnswer, before: Sequence[str]) -> bool:
        """Return whether a message surely lacks an answer: it declines, or states no fact where the answer has one that was not said."""
        if PATTERNS["declines"].search(fold_phrase(message)):
            return True
        earlier_facts = [fact for text in before for fact in self.facts(text)]
        new = [fact for fact in self.facts(answer.say) if not any(fact.agrees(other) for other in earlier_facts)]
        return bool(new) and not self.facts(message)


def _text(message: str, span: Span) -> str:
    return message[span.start : span.end]


# -- afterwards ----------------------------------------------------------------------------------------------------------


def audit(case: Case, trajectory: Trajectory) -> tuple[Label, ...]:
    """Return a failed label for each slip of the user's turns, live or recorded, where the case's script decides.

    A label that names the user as to blame is of a slip that may have misled the agent. What no rule is sure of has no label.

    Args:
        case: the case; without prepared answers its script decides nothing.
        trajectory: what was said.
    """
    script, turns = Script.of(case), trajectory.turns
    if (not script.answers and script.confirms is None) or trajectory.fault is not None:
        return ()
    labels: dict[str, Label] = {}
    for index, turn in enumerate(turns):
        if turn.role != "user" or index == 0 or not turn.text.strip():
            continue
        ends = index == len(turns) - 1
        texts = [*_known(case), *(earlier.text for earlier in turns[:index])]
        texts += [json.dumps(step.result, ensure_ascii=False) for step in calls_in(turns[: index + 1], "user")]
        slips = [*script.departed(turns[:index], turn.text, ends=ends), *script.invented(turn.text, texts)]
        for slip in slips:
            label = _label(slip, index, turn.text)
            labels.setdefault(label.requirement, label)
    return tuple(labels.values())


def _known(case: Case) -> Iterator[str]:
    """Yield what a user of the case may know: whatever the truth says of it, and what the agent is shown."""
    truth, context = case.truth, case.visible.context
    yield from (truth.persona, truth.intent, truth.user.prompt, *Script.of(case).said)
    yield from (message.text for message in case.visible.messages)
    yield from (say for answer in truth.user.answers if answer.calls for say in (answer.say, answer.otherwise))
    yield from (truth.user.no_preference, truth.user.cannot_act, truth.user.goodbye)
    yield from (context.model_dump_json(), *(requirement.text for requirement in truth.requirements))


def _label(slip: Slip, turn: int, text: str) -> Label:
    return Label(
        requirement=user_name(turn, slip.kind),
        kind=USER,
        outcome="failed",
        value=0,
        why=f"the user's turn {turn}: {slip.why}",
        wanted="what the script has for what was asked, and nothing else",
        quotes=(Quote(turn=turn, start=0, end=len(text), text=text),),
        blame="user" if slip.misleads else None,
    )
