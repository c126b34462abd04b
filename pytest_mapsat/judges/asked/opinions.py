"""What of a model's reply holds: one opinion for each factor, or what of it does not check. Nothing turns on words that do not stand in the dialogue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_mapsat.judges.context import Context
from pytest_mapsat.judges.figures import canonical, is_unit
from pytest_mapsat.model import ClockTime, Factor, JsonObject, Number, leaves
from pytest_mapsat.text import Document

from .asking import CANNOT_SAY, FAILED, LEVELS, NOT_STATED, PASSED, RELATIONS, UNITS, Asked, has_levels
from .compared import Figure, Outcome, UncheckedError, compare
from .material import Found
from .words import visible

#: Of a reply no more is read than this: entries, entries on one requirement, quotes and figures of an entry, characters of a text.
_MOST_ENTRIES = 500
_MOST_ON_ONE = 3
_MOST_QUOTES = 12
_MOST_FIGURES = 40
_LONGEST_REASON = 400
_LONGEST_TEXT = 2_000
_SHOWN = 80
#: Words of somebody who speaks to a judge; an answer to a user does not have them. They spoil the paragraph that they stand in.
_TO_THE_JUDGE = re.compile(
    r"\bverdicts?\b.{0,40}\b(?:pass|passed|fail|failed|requirements?|judge|grader)\b|\"verdict\"|\b(?:graders?|evaluators?|rubrics?|the judges?|dear judge|llm|language model|system (?:message|prompt|note)|not_stated|cannot_say|"
    r"(?:ignore|disregard|forget) (?:(?:all|any|the|every|your|previous|prior|above) )+(?:instructions?|rules?|orders?|messages?))\b|"
    r"\bsystem\s*[:>\]]|data-[0-9a-f]{6}|判定|评审|评分员|裁判|阅卷|评判|系统(?:消息|提示|指令)|(?:忽略|无视)(?:以上|之前|上面|上述|前面|所有)",
    re.IGNORECASE,
)
#: What an answer may say to a user and proves nothing either: that it does what was asked.
_PRAISES_ITSELF = re.compile(
    r"\b(?:checks?|requirements?) (?:\d+ )?(?:all )?(?:pass|passed|are met|is met|hold|are satisfied)\b|(?:全部|所有|各项|每条)要求(?:均|都|已)",
    re.IGNORECASE,
)
_PARAGRAPH_ENDS = ("\n\n",)
_SENTENCE_ENDS = (*".!?。！？\n",)


@dataclass(frozen=True)
class Opinion:
    """What one reply says of one factor, once all of it checks.

    Attributes:
        verdict: passed, failed, not_stated, cannot_say, or a level.
        reason: in the model's words, on one line.
        quotes: the words that it rests on, each found in the dialogue.
    """

    verdict: str
    reason: str
    quotes: tuple[Found, ...] = ()


class _BadError(Exception):
    """An entry does not check; the message says why."""


def read_reply(data: JsonObject, asked: Asked, context: Context) -> tuple[dict[str, Opinion], dict[str, str]]:
    """Return the opinions of a reply that check, by factor, and of all other factors what does not.

    Args:
        data: the reply, a JSON object of any content.
        asked: what was asked.
        context: the dialogue as the checks read it.
    """
    listed = data.get("labels")
    entries: dict[int, list[Mapping[str, Any]]] = {}
    for entry in listed[:_MOST_ENTRIES] if isinstance(listed, list) else ():
        if isinstance(entry, dict) and (number := _whole(entry.get("requirement"))) is not None:
            entries.setdefault(number, []).append(entry)
    opinions: dict[str, Opinion] = {}
    problems: dict[str, str] = {}
    for number, factor in enumerate(asked.factors, 1):
        try:
            opinions[factor.id] = _agreed(
                [_opinion(entry, factor, asked, context) for entry in entries.get(number, ())[:_MOST_ON_ONE]]
            )
        except _BadError as bad:
            problems[factor.id] = str(bad)
    return opinions, problems


def _agreed(found: Sequence[Opinion]) -> Opinion:
    """Return what the entries on one factor say. Raises _BadError."""
    if not found:
        raise _BadError("there is no entry for it")
    if len({opinion.verdict for opinion in found}) > 1:
        raise _BadError("two entries contradict each other")
    return found[0]


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 10:  # noqa: PLR2004
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _opinion(entry: Mapping[str, Any], factor: Factor, asked: Asked, context: Context) -> Opinion:
    """Return what one entry says. Raises _BadError."""
    verdict = _verdict(entry.get("verdict"), factor, asked)
    reason = " ".join(visible(_text(entry.get("reason"))).split())[:_LONGEST_REASON]
    if verdict == CANNOT_SAY:
        return Opinion(verdict, reason)
    quotes = tuple(_quotes(entry.get("quotes"), asked))
    own = {"reply", "call", "thought"} if factor.scope == "trajectory" else {"reply"}
    bearing = [quote for quote in quotes if quote.part.kind in own]
    if not bearing:
        raise _BadError("no quote is from a reply of the candidate; give the words that decide, or come nearest")
    if verdict not in (FAILED, "0") and all(map(_speaks_to_the_judge, bearing)):
        raise _BadError(
            f"the quote {bearing[0].text[:_SHOWN]!r} speaks to a judge, which proves nothing; quote what is said to the user"
        )
    outcomes = list(_figures(entry.get("figures"), factor, asked, context))
    if verdict == PASSED and asked.kind == "fact" and not outcomes and not _states(factor, context):
        verdict = NOT_STATED
    _hold(verdict, outcomes, factor, asked)
    return Opinion(verdict, reason, quotes)


def _verdict(given: Any, factor: Factor, asked: Asked) -> str:
    said = f"{given:g}" if isinstance(given, int | float) and not isinstance(given, bool) else given
    said = said.strip().lower() if isinstance(said, str) else ""
    said = {"1.0": "1", "0.0": "0"}.get(said, said)
    if has_levels(factor):
        said = {PASSED: "1", FAILED: "0"}.get(said, said)
        known: Sequence[str] = (*LEVELS, CANNOT_SAY)
    else:
        said = {"1": PASSED, "0": FAILED}.get(said, said)
        known = (PASSED, FAILED, *((NOT_STATED,) if asked.kind == "fact" else ()), CANNOT_SAY)
    if said not in known:
        raise _BadError(f"the verdict is {str(given)[:_SHOWN]!r}, expected one of {', '.join(known)}")
    return said


def _text(value: Any) -> str:
    return value[:_LONGEST_TEXT] if isinstance(value, str) else ""


def _quotes(given: Any, asked: Asked) -> Iterator[Found]:
    for quote in given[:_MOST_QUOTES] if isinstance(given, list) else ():
        words, name = (
            (quote, "") if isinstance(quote, str) else (_text(_get(quote, "words")), _text(_get(quote, "part")))
        )
        found = _find(words, name, asked) if words.strip() else None
        if found is None:
            raise _BadError(f"the quote {words[:_SHOWN]!r} stands in no part; copy it letter by letter")
        yield found


def _speaks_to_the_judge(quote: Found) -> bool:
    """Return whether a quote stands among words on verdicts and instructions, and so says nothing of what the user asked."""
    return any(
        words.search(visible(_around(quote, ends))) is not None
        for words, ends in ((_TO_THE_JUDGE, _PARAGRAPH_ENDS), (_PRAISES_ITSELF, _SENTENCE_ENDS))
    )


def _around(quote: Found, ends: Sequence[str]) -> str:
    """Return the text around a quote up to the next ends."""
    text = quote.part.words.text
    start = max(text.rfind(end, 0, quote.start) for end in ends) + 1
    after = [place for end in ends if (place := text.find(end, quote.end)) >= 0]
    return text[start : min(after, default=len(text))]


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _find(words: str, name: str, asked: Asked) -> Found | None:
    """Return where words stand: in the part that is named, else in the first that has them."""
    named = asked.material.by_name.get(name.strip())
    if named is not None and (found := named.find(words)) is not None:
        return found
    return next((found for part in asked.material.parts if (found := part.find(words)) is not None), None)


def _figures(given: Any, factor: Factor, asked: Asked, context: Context) -> Iterator[tuple[str, Outcome]]:
    """Give each figure of an entry in words, with how it stands to what is known. Raises _BadError."""
    for entry in given[:_MOST_FIGURES] if isinstance(given, list) else ():
        figure = Figure(**{name: _text(_get(entry, name)) for name in ("words", "unit", "value", "relation", "known")})
        if figure.unit not in UNITS or figure.relation not in RELATIONS:
            raise _BadError(f"the figure {figure.words[:_SHOWN]!r} has no unit or relation of the form")
        said = next(
            (found for part in asked.material.parts if part.kind == "reply" and (found := part.find(figure.words))),
            None,
        )
        if said is None:
            raise _BadError(
                f"the figure's words {figure.words[:_SHOWN]!r} stand in no reply; copy them letter by letter"
            )
        try:
            outcome = compare(figure, said, factor, asked.material, context)
        except UncheckedError as unchecked:
            raise _BadError(f"figure: {unchecked}") from None
        yield f"{figure.value} {figure.unit} ({figure.words[:_SHOWN]}), {figure.relation} {figure.known}", outcome


def _hold(verdict: str, outcomes: Sequence[tuple[str, Outcome]], factor: Factor, asked: Asked) -> None:
    """Refuse a verdict that its own figures contradict, and a fact about figures that gives none to compare. Raises _BadError."""
    wrong = [shown for shown, outcome in outcomes if outcome == "misfit"]
    if verdict == PASSED and wrong:
        raise _BadError(f"it is called passed, but a figure does not stand as it must: {wrong[0]}")
    if asked.kind != "fact":
        return
    if verdict == FAILED and outcomes and all(outcome == "fits" for _, outcome in outcomes):
        raise _BadError(f"it is called failed, but all its figures stand as they must: {outcomes[0][0]}")
    if verdict == PASSED and any(outcome == "open" for _, outcome in outcomes):
        raise _BadError("it is called passed, but a figure has nothing known to be held against")
    if verdict == PASSED and not outcomes and _figure_checks(factor):
        raise _BadError("it is called passed without its figures; give each of them, or say not_stated")


def _figure_checks(factor: Factor) -> list[Number | ClockTime]:
    """Return the checks of figures in a factor's check."""
    listed = leaves(factor.check) if factor.check is not None else ()
    return [leaf for leaf in listed if isinstance(leaf, Number | ClockTime)]


def _states(factor: Factor, context: Context) -> bool:
    """Return whether the replies have any figure of the sort that a factor's checks are about; so they may, where it has no such check."""
    checks = _figure_checks(factor)
    return not checks or any(_has(document, check) for check in checks for document in context.replies)


def _has(document: Document, check: Number | ClockTime) -> bool:
    if isinstance(check, ClockTime):
        return bool(document.times)
    return any(is_unit(one.unit, canonical(check.unit)) for one in document.quantities)
