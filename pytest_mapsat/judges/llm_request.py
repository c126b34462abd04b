"""One request to the model that judges: what it is shown and asked, the form of its reply, and what of a reply can be used.

Nothing turns on words that do not stand in the dialogue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_mapsat.llm import Request, prompt
from pytest_mapsat.model import (
    OBSERVATION,
    QUALITY,
    SOFT_LEVELS,
    STATE,
    ClockTime,
    Json,
    JsonObject,
    LabelKind,
    Number,
    Requirement,
    digest,
)

from .context import Context
from .evidence import UNITS, is_unit
from .llm_material import (
    RELATIONS,
    UNITS_OF_CLAIMS,
    ClaimedFigure,
    Found,
    Material,
    Outcome,
    UncheckedError,
    compare,
    visible,
)

#: The prompts in use, by file name: instructions for a whole dialogue and for windows of it, the material, and the second asking.
PROMPTS = ("judge", "judge_window", "judge_dialogue", "judge_again")
#: The instructions for labels beside the requirements, by their kind; a quality is judged as requirements are.
BESIDE_PROMPTS: Mapping[LabelKind, str] = {STATE: "judge_state", OBSERVATION: "judge_observation"}
#: The dimension of requirements that are followed through windows of the dialogue.
WINDOWED = "windowed"
#: What the model may say of a requirement; a requirement with levels takes one of them in place of the first two.
PASSED, FAILED, NOT_STATED, CANNOT_SAY = "passed", "failed", "not_stated", "cannot_say"
LEVELS: Mapping[str, float] = {f"{level:g}": level for level in SOFT_LEVELS}

#: The most that is read of a reply: entries, entries on one requirement, quotes and figures of an entry, characters of a text.
_MOST_ENTRIES, _MOST_ON_ONE, _MOST_QUOTES, _MOST_FIGURES = 500, 3, 12, 40
_LONGEST_REASON, _LONGEST_TEXT, _SHOWN = 400, 2_000, 80
#: Words that address a judge, which no answer to a user has. A paragraph with one of them proves nothing.
_TO_THE_JUDGE = re.compile(
    r"\bverdicts?\b.{0,40}\b(?:pass|passed|fail|failed|requirements?|judge|grader)\b|\"verdict\"|\b(?:graders?|evaluators?|rubrics?|the judges?|dear judge|llm|language model|system (?:message|prompt|note)|not_stated|cannot_say|"
    r"(?:ignore|disregard|forget) (?:(?:all|any|the|every|your|previous|prior|above) )+(?:instructions?|rules?|orders?|messages?))\b|"
    r"\bsystem\s*[:>\]]|data-[0-9a-f]{6}|判定|评审|评分员|裁判|阅卷|评判|系统(?:消息|提示|指令)|(?:忽略|无视)(?:以上|之前|上面|上述|前面|所有)",
    re.IGNORECASE,
)
#: Words that claim to have done what was asked. An answer may have them, and they prove nothing either.
_PRAISES_ITSELF = re.compile(
    r"\b(?:checks?|requirements?) (?:\d+ )?(?:all )?(?:pass|passed|are met|is met|hold|are satisfied)\b|(?:全部|所有|各项|每条)要求(?:均|都|已)",
    re.IGNORECASE,
)


def _object(**properties: Json) -> JsonObject:
    # Strict modes of the services want every property required and no other one.
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _list_of(**properties: Json) -> JsonObject:
    return {"type": "array", "items": _object(**properties)}


_TEXT: JsonObject = {"type": "string"}
_FIGURE = dict.fromkeys(("words", "of", "unit", "value", "relation", "known"), _TEXT)
#: The form of the reply. The reason comes before the verdict: what is written first is thought first.
SCHEMA = _object(
    labels=_list_of(
        requirement={"type": "integer"},
        reason=_TEXT,
        quotes=_list_of(part=_TEXT, words=_TEXT),
        figures=_list_of(
            **(_FIGURE | {"unit": _TEXT | {"enum": [*UNITS_OF_CLAIMS]}, "relation": _TEXT | {"enum": [*RELATIONS]}})
        ),
        verdict=_TEXT | {"enum": [PASSED, FAILED, NOT_STATED, CANNOT_SAY, *LEVELS]},
    )
)


@dataclass(frozen=True)
class Asked:
    """The requirements of one dimension of one dialogue, in the order in which one vote is asked, and numbered from 1; the language is a BCP 47 tag.

    ``window``: which window of the dialogue is shown, and ``standing``: how each requirement stands after those before; empty where the whole is shown.
    """

    dimension: str
    requirements: tuple[Requirement, ...]
    material: Material
    language: str
    window: str = ""
    standing: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        case: str,
        dimension: str,
        requirements: Sequence[Requirement],
        material: Material,
        *,
        language: str,
        vote: int,
        window: str = "",
        standing: Mapping[str, str] | None = None,
    ) -> Asked:
        """Return the requirements shuffled: by their ids, the case, the dimension and the vote, the same on every machine."""
        shuffled = sorted(
            requirements, key=lambda requirement: (digest([case, dimension, vote, requirement.id], 16), requirement.id)
        )
        return cls(dimension, tuple(shuffled), material, language, window, standing or {})

    def messages(self) -> tuple[JsonObject, ...]:
        """Return what the model is told and shown."""
        if self.window:
            instructions = prompt("judge_window", self.language).fill(fence=self.material.fence, window=self.window)
        else:
            name = BESIDE_PROMPTS.get(self.dimension, "judge")
            instructions = prompt(name, self.language).fill(fence=self.material.fence)
        dialogue = prompt("judge_dialogue", self.language).fill(
            situation=self.material.fenced({"situation"}),
            dialogue=self.material.fenced({"user", "reply"}),
            calls=self.material.fenced({"call", "thought", "thing"}) or "-",
            left_out=str(self.material.left_out),
            requirements="\n".join(
                self._line(number, requirement) for number, requirement in enumerate(self.requirements, 1)
            ),
        )
        return {"role": "system", "content": instructions}, {"role": "user", "content": dialogue}

    def _line(self, number: int, requirement: Requirement) -> str:
        words = "fact" if requirement.kind == "fact" else "level" if has_levels(requirement) else "yes-or-no"
        so_far = f" (so far: {self.standing.get(requirement.id, 'open')})" if self.window else ""
        return f"{number}. [{words}] {' '.join(requirement.text.split())}{so_far}"

    def again(self, request: Request, answer: str, problems: Mapping[str, str]) -> Request:
        """Return the second and last asking.

        Args:
            request: the first asking.
            answer: the model's reply; empty where it gave none that can be used.
            problems: its problems, by requirement.
        """
        listed = [
            f"- {number}: {problems[requirement.id]}"
            for number, requirement in enumerate(self.requirements, 1)
            if requirement.id in problems
        ]
        text = prompt("judge_again", self.language).fill(problems="\n".join(listed))
        before: list[JsonObject] = [{"role": "assistant", "content": answer}] if answer else []
        messages = (*request.messages, *before, {"role": "user", "content": text})
        return request.model_copy(update={"messages": messages})


def dimension_of(requirement: Requirement) -> str:
    """Return the dimension that a requirement is asked about in: its kind, and one for hard and soft ones."""
    return {"asked": "explicit", "hard": "implicit", "soft": "implicit"}.get(requirement.kind, requirement.kind)


def has_levels(requirement: Requirement) -> bool:
    """Return whether a requirement is judged by degrees: a quality, and a soft one, unless its own check says that it holds or not."""
    return requirement.kind in ("soft", QUALITY) and requirement.check is None


@dataclass(frozen=True)
class Opinion:
    """One reply on one requirement, checked: the verdict, its reason on one line, and the quotes that it rests on."""

    verdict: str
    reason: str
    quotes: tuple[Found, ...] = ()


class _BadError(Exception):
    """An entry does not check; the message says why."""


def read_reply(data: JsonObject, asked: Asked, context: Context) -> tuple[dict[str, Opinion], dict[str, str]]:
    """Return the opinions of a reply that check, by requirement, and the problems of all other requirements.

    Args:
        data: the reply, a JSON object of any content.
        asked: what was asked.
        context: the dialogue as the checks read it.
    """
    entries: dict[str, list[Mapping[str, Any]]] = {}
    for entry in _listed(data, "labels", _MOST_ENTRIES):
        entries.setdefault(str(_get(entry, "requirement")).strip(), []).append(entry)
    opinions: dict[str, Opinion] = {}
    problems: dict[str, str] = {}
    for number, requirement in enumerate(asked.requirements, 1):
        try:
            read = [
                _opinion(entry, requirement, asked, context) for entry in entries.get(str(number), ())[:_MOST_ON_ONE]
            ]
        except _BadError as bad:
            problems[requirement.id] = str(bad)
            continue
        if len({opinion.verdict for opinion in read}) == 1:
            opinions[requirement.id] = read[0]
        else:
            problems[requirement.id] = "two entries contradict each other" if read else "there is no entry for it"
    return opinions, problems


def _opinion(entry: Mapping[str, Any], requirement: Requirement, asked: Asked, context: Context) -> Opinion:
    """Return what one entry says. Raises _BadError."""
    verdict = _verdict(entry.get("verdict"), requirement)
    reason = " ".join(visible(_text(entry, "reason")).split())[:_LONGEST_REASON]
    if verdict == CANNOT_SAY:
        return Opinion(verdict, reason)
    quotes = tuple(_quotes(entry, asked.material))
    of_the_way = requirement.kind == "policy" or requirement.scope == "trajectory"
    own = {"reply", "call", "thought"} if of_the_way else {"reply"}
    bearing = [quote for quote in quotes if quote.part.kind in own]
    if not bearing:
        raise _BadError("no quote is from a reply of the candidate; give the words that decide, or come nearest")
    if verdict not in (FAILED, "0") and all(map(_speaks_to_the_judge, bearing)):
        raise _BadError(
            f"the quote {bearing[0].text[:_SHOWN]!r} speaks to a judge, which proves nothing; quote what is said to the user"
        )
    figures = list(_figures(entry, requirement, asked, context))
    if verdict == PASSED and (wrong := [shown for shown, outcome in figures if outcome == "misfit"]):
        raise _BadError(f"it is called passed, but a figure does not stand as it must: {wrong[0]}")
    if requirement.kind == "fact":
        verdict = _of_a_fact(verdict, figures, requirement, context)
    return Opinion(verdict, reason, quotes)


def _verdict(given: Any, requirement: Requirement) -> str:
    word = f"{given:g}" if isinstance(given, int | float) and not isinstance(given, bool) else given
    word = word.strip().lower() if isinstance(word, str) else ""
    word = {"1.0": "1", "0.0": "0"}.get(word, word)
    words: Sequence[str] = (PASSED, FAILED, *((NOT_STATED,) if requirement.kind == "fact" else ()), CANNOT_SAY)
    alike = {"1": PASSED, "0": FAILED}
    if has_levels(requirement):
        words, alike = (*LEVELS, CANNOT_SAY), {PASSED: "1", FAILED: "0"}
    word = alike.get(word, word)
    if word not in words:
        raise _BadError(f"the verdict is {str(given)[:_SHOWN]!r}, expected one of {', '.join(words)}")
    return word


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _text(value: Any, key: str) -> str:
    text = _get(value, key)
    return text[:_LONGEST_TEXT] if isinstance(text, str) else ""


def _listed(value: Any, key: str, most: int) -> list[Any]:
    listed = _get(value, key)
    return listed[:most] if isinstance(listed, list) else []


def _quotes(entry: Mapping[str, Any], material: Material) -> Iterator[Found]:
    for quote in _listed(entry, "quotes", _MOST_QUOTES):
        words = quote[:_LONGEST_TEXT] if isinstance(quote, str) else _text(quote, "words")
        place = material.find(words, _text(quote, "part").strip()) if words.strip() else None
        if place is None:
            raise _BadError(f"the quote {words[:_SHOWN]!r} stands in no part; copy it letter by letter")
        yield place


def speaks_to_a_model(text: str) -> bool:
    """Return whether words of a text address a model, a judge or a system: no person who asks for a place has them."""
    return _TO_THE_JUDGE.search(visible(text)) is not None


def _speaks_to_the_judge(quote: Found) -> bool:
    """Return whether a quote stands among words on verdicts and instructions, and so says nothing of what the user asked."""
    text = quote.part.text
    for words, ends in ((_TO_THE_JUDGE, ("\n\n",)), (_PRAISES_ITSELF, (*".!?。！？\n",))):
        start = max(text.rfind(end, 0, quote.start) for end in ends) + 1
        after = [place for end in ends if (place := text.find(end, quote.end)) >= 0]
        if words.search(visible(text[start : min(after, default=len(text))])):
            return True
    return False


def _figures(
    entry: Mapping[str, Any], requirement: Requirement, asked: Asked, context: Context
) -> Iterator[tuple[str, Outcome]]:
    """Yield each figure of an entry in words, with how it stands to what is known. Raises _BadError."""
    for given in _listed(entry, "figures", _MOST_FIGURES):
        figure = ClaimedFigure(*(_text(given, name) for name in ("words", "unit", "value", "relation", "known")))
        words = figure.words[:_SHOWN]
        if figure.unit not in UNITS_OF_CLAIMS or figure.relation not in RELATIONS:
            raise _BadError(f"the figure {words!r} has no unit or relation of the form")
        place = asked.material.find(figure.words, kind="reply")
        if place is None:
            raise _BadError(f"the figure's words {words!r} stand in no reply; copy them letter by letter")
        try:
            outcome = compare(figure, place, requirement, asked.material, context)
        except UncheckedError as unchecked:
            raise _BadError(f"figure: {unchecked}") from None
        yield f"{figure.value} {figure.unit} ({words}), {figure.relation} {figure.known}", outcome


def _of_a_fact(verdict: str, figures: Sequence[tuple[str, Outcome]], requirement: Requirement, context: Context) -> str:
    """Return a verdict on a fact: a pass without any figure that it could be about states nothing.

    Raises:
        _BadError: its own figures contradict it, or it is about figures and gives none to compare.
    """
    checks = [leaf for leaf in requirement.leaves if isinstance(leaf, Number | ClockTime)]
    outcomes = {outcome for _, outcome in figures}
    if verdict == FAILED and outcomes == {"fits"}:
        raise _BadError(f"it is called failed, but all its figures stand as they must: {figures[0][0]}")
    if verdict != PASSED:
        return verdict
    if "open" in outcomes:
        raise _BadError("it is called passed, but a figure has nothing known to be held against")
    if not checks or figures:
        return verdict
    units = {UNITS[check.unit][0] for check in checks if isinstance(check, Number)}
    clock = any(isinstance(check, ClockTime) for check in checks)
    if any(
        (clock and document.times)
        or any(is_unit(figure.unit, unit) for figure in document.quantities for unit in units)
        for document in context.replies
    ):
        raise _BadError("it is called passed without its figures; give each of them, or say not_stated")
    return NOT_STATED
