"""The labels that PIPA's metrics ask for besides those of requirements: the steps of replies, and the things that replies name.

A step is judged by where its arguments come from: the user, the context, an earlier result, or a default of the tool. An argument is surely from one of them where its
canonical value is. It is surely from none only where there is no other way to come by it: an id, a point, a text that reads like an id, a figure told to three digits. The
rest is left open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from pytest_mapsat.judges import (
    Finding,
    JudgedClaim,
    JudgedDialogue,
    Observed,
    Recommendation,
    breaks,
    cite,
    find_entities,
    standings,
)
from pytest_mapsat.model import (
    OBSERVATION,
    STATE,
    All,
    Case,
    Json,
    JsonObject,
    ParameterMatch,
    Recommends,
    Step,
    Tool,
    Visible,
    all_true,
    shown,
    step_name,
    thing_name,
)
from pytest_mapsat.reading import Document, fold_phrase, lexicon_of, read
from pytest_mapsat.sandbox import DAY_WORDS, UnfitError, canonical, day_of, distance_m, point_of, rule_of, tokens

_SAME_POINT_M = 150
#: A figure told to so many digits is none that an agent rounds to, or chooses.
_EXACT_DIGITS = 3
#: A figure by itself: digits of an id, a date or a time of day are none.
_FIGURE = re.compile(r"(?<![A-Za-z0-9_.:/-])\d+(?:\.\d+)?(?![A-Za-z0-9_:/-]|\.\d)")
_READS_LIKE_AN_ID = re.compile(r"(?=\S*\d)[#\w@.:/-]{5,}", re.ASCII)
_NOTHING: tuple[Json, ...] = (None, "", [], {})
#: Of one result no more is looked at than this.
_MOST_LEAVES = 50_000
_LONGEST = 200_000
_DATE = len("2026-05-26")
_TIME = ParameterMatch(type="time")


class KnownSoFar:
    """The agent's knowledge at a step of its dialogue: the texts, figures, points and times received so far."""

    def __init__(self, visible: Visible, language: str) -> None:
        self._language = language
        now = visible.context.now or ""
        self._now = now if _canonical(now, _TIME) else ""  # a moment may be none of the calendar's
        self._texts: list[str] = []
        self._own: list[str] = []
        self._figures: set[float] = set()
        self._points: list[tuple[float, float]] = []
        self._moments: set[str] = set()
        self._minutes: set[int] = set()
        context = visible.context
        if context.location is not None:
            self._points.append((context.location.lon, context.location.lat))
        if self._now:
            self._moments |= {self._now[:_DATE], self._now}
        for text in (*(message.text for message in visible.messages), visible.query, visible.instructions):
            self.hear(text)
        self.take(context.model_dump(mode="json", exclude={"history", "location"}))
        self.take(None if context.location is None else context.location.model_dump(mode="json"))
        for line in context.history:
            self.hear(line)

    def hear(self, text: str) -> None:
        """Add a text that was said to the agent, with its figures, times of day and dates."""
        words = text[:_LONGEST]
        self._add(words)
        document = read(words, language=self._language, lexicon=lexicon_of(()), now=self._now)
        for figure in document.quantities:
            self._figures |= {figure.value, figure.low, figure.high}
        self._minutes |= {minutes for time in document.times for minutes in time.minutes}
        days = (day_of(document.words(span), self._now or None, DAY_WORDS) for span in document.sentences)
        self._moments |= {day for day in days if day}

    def take(self, value: Json) -> None:
        """Add the values of a tool's result or of the context."""
        for number, leaf in enumerate(_leaves(value)):
            if number >= _MOST_LEAVES:
                return
            point = point_of(leaf) if not isinstance(leaf, bool | int | float) else None
            if point is not None:
                self._points.append(point)
            if isinstance(leaf, str):
                self._add(leaf[:_LONGEST])
                self._moments |= {form for form in (_canonical(leaf, _TIME),) if form}
            elif isinstance(leaf, int | float) and not isinstance(leaf, bool):
                self._add(f"{leaf:.12g}")

    def say(self, text: str) -> None:
        """Add a text that the agent itself said, since the user may have agreed to it."""
        self._own.append(fold_phrase(text[:_LONGEST]))

    def _add(self, text: str) -> None:
        """Add a text and its figures, and drop the cached text and words."""
        self._texts.append(fold_phrase(text))
        self._figures |= {float(figure) for figure in _FIGURE.findall(text) if len(figure) < 30}  # noqa: PLR2004
        self.__dict__.pop("_said", None)
        self.__dict__.pop("_words", None)

    @cached_property
    def _said(self) -> str:
        """Return all texts so far in folded form, one per line."""
        return "\n".join(self._texts)

    @cached_property
    def _words(self) -> frozenset[str]:
        """Return the set of words of all texts so far."""
        return frozenset(word for text in self._texts for word in tokens(text))

    # -- what an argument may be -----------------------------------------------------------------------------------

    def has_text(self, text: str) -> bool:
        """Return whether the agent was given a text, or all of its words."""
        wanted = fold_phrase(text)
        return wanted in self._said or all(word in self._words or _within(word, self._said) for word in tokens(text))

    def has_token(self, text: str) -> bool:
        """Return whether the agent was given a text as a whole word, not as part of a longer one."""
        wanted, edge = fold_phrase(text).lstrip("#"), r"[a-z0-9_]"
        return bool(wanted) and re.search(rf"(?<!{edge}){re.escape(wanted)}(?!{edge})", self._said) is not None

    def may_have_agreed_to(self, text: str) -> bool:
        """Return whether the agent itself has said a text, so that the user may have agreed to the text."""
        return any(fold_phrase(text).lstrip("#") in own for own in self._own)

    def has_figure(self, value: float) -> bool:
        """Return whether the agent was given a figure, in any unit."""
        return any(abs(value - figure) <= 1e-6 * max(1.0, abs(value)) for figure in self._figures)

    def has_point(self, lon: float, lat: float) -> bool:
        """Return whether the agent received a point in degrees, or another point within 150 m of it."""
        if self.has_figure(lon) and self.has_figure(lat):
            return True
        return any(distance_m(lon, lat, *point) <= _SAME_POINT_M for point in self._points)

    def has_moment(self, form: str) -> bool:
        """Return whether the agent received a canonical date or time, or words such as tomorrow that imply it."""
        day, _, clock = form.partition("T")
        days = {moment[:_DATE] for moment in self._moments}
        minutes = int(clock[:2]) * 60 + int(clock[3:5]) if clock else -1
        told = not clock or minutes in self._minutes or any(moment[-len(clock) :] == clock for moment in self._moments)
        return form in self._moments or ((not day or day in days) and told)


def origin(step: Step, tool: Tool | None, knowledge: KnownSoFar) -> Finding:
    """Return a finding on whether each argument of a call was given to the agent or is a default.

    Args:
        step: the call.
        tool: its tool; None where the suite has none of that name, and arguments are read by their values alone.
        knowledge: what the agent had been told before it.
    """
    wanted = "arguments that come from the user, the context, an earlier result or a default"
    if "arguments" in step.unknown:
        return Finding(None, "the record does not tell its arguments", wanted)
    origins = dict(_argument_origins(step.arguments, tool, knowledge))
    for verdict, why in ((False, "which the agent was not told"), (None, "and it is unclear where it comes from")):
        names = [name for name, held in origins.items() if held is verdict]
        if names:
            listed = ", ".join(f"{name} is {shown(step.arguments[name])}" for name in names)
            return Finding(verdict, f"{listed}, {why}", wanted)
    return Finding(True, "each argument was told, or is a default" if origins else "it has no arguments", wanted)


def _argument_origins(
    arguments: JsonObject, tool: Tool | None, knowledge: KnownSoFar
) -> Iterator[tuple[str, bool | None]]:
    """Yield for each argument with a value whether the agent was given it: True, False if surely not, None if unclear."""
    rules = {name: _rule(tool, name, value) for name, value in arguments.items()}
    pairs = {rule.pair for rule in rules.values() if rule.type == "lon" and rule.pair}
    for name, value in arguments.items():
        if value in _NOTHING or name in pairs:
            continue
        if value == _default(tool, name, rules[name]):
            yield name, True
        elif rules[name].type == "lon" and rules[name].pair:
            yield (
                name,
                _was_given([value, arguments.get(rules[name].pair or "")], ParameterMatch(type="point"), knowledge),
            )
        else:
            yield name, _was_given(value, rules[name], knowledge)


def _rule(tool: Tool | None, name: str, value: Json) -> ParameterMatch:
    """Return the rule for reading an argument: the tool's own, otherwise a rule by the type of its value."""
    if tool is not None and name in tool.parameters.get("properties", {}):
        return rule_of(tool, name)
    if isinstance(value, bool):
        return ParameterMatch(type="boolean")
    return ParameterMatch(
        type="number" if isinstance(value, int | float) else "text" if isinstance(value, str) else "json"
    )


def _default(tool: Tool | None, name: str, rule: ParameterMatch) -> Json:
    """Return the default of a parameter, from its rule or its schema; None if there is none."""
    schema = tool.parameters.get("properties", {}).get(name) if tool is not None else None
    declared = schema.get("default") if isinstance(schema, Mapping) else None
    return declared if rule.default is None else rule.default


def _was_given(value: Json, rule: ParameterMatch, knowledge: KnownSoFar) -> bool | None:  # noqa: C901, PLR0911  one line per type
    """Return whether the agent was given a value: True, False if surely not, None if unclear."""
    form = _canonical(value, rule)
    if form is None:
        return _text(value, knowledge) if rule.named and isinstance(value, str) else None
    match rule.type:
        case "id":
            return _id(str(form), knowledge)
        case "point":
            return knowledge.has_point(*form)
        case "points":
            return all(knowledge.has_point(*point) for point in form)
        case "number" | "lon" | "lat":
            return _figure(form, knowledge)
        case "time":
            return knowledge.has_moment(form) or None
        case "boolean":
            return None
        case "enum" | "place":
            return any(knowledge.has_text(word) for word in _ways_to_say(str(form), value, rule)) or None
        case "set":
            listed = value if isinstance(value, list) else form
            return (
                all(
                    any(knowledge.has_text(word) for word in _ways_to_say(str(member), member, rule))
                    for member in listed
                )
                or None
            )
        case "text":
            return _text(str(value), knowledge)
    return _inside(value, knowledge)


def _text(value: str, knowledge: KnownSoFar) -> bool | None:
    """Return whether the agent received a text; None if unclear, and False only for texts that look like an id."""
    if _READS_LIKE_AN_ID.fullmatch(value) and _canonical(value, _TIME) is None:
        return _id(value, knowledge)
    day = _canonical(value, _TIME)
    return knowledge.has_text(value) or (day is not None and knowledge.has_moment(day)) or None


def _id(value: str, knowledge: KnownSoFar) -> bool | None:
    """Return whether the agent received an id; None if it did not, but said the id itself."""
    if knowledge.has_token(value):
        return True
    return None if knowledge.may_have_agreed_to(value) else False


def _figure(value: float, knowledge: KnownSoFar) -> bool | None:
    """Return whether the agent received a figure; otherwise False for three or more digits that it never said, else None."""
    if knowledge.has_figure(value):
        return True
    is_exact = len(f"{abs(value):.9f}".replace(".", "").strip("0")) >= _EXACT_DIGITS
    return False if is_exact and not knowledge.may_have_agreed_to(f"{value:.12g}") else None


def _inside(value: Json, knowledge: KnownSoFar) -> bool | None:
    """Return whether the agent received all values in an object or list; False if surely not, None if unclear."""
    held = [
        _figure(float(leaf), knowledge) if not isinstance(leaf, str) else _text(leaf, knowledge)
        for leaf in _leaves(value)
        if isinstance(leaf, str | int | float) and not isinstance(leaf, bool) and leaf != ""
    ]
    return all_true(held) if held else None


def _ways_to_say(form: str, value: Json, rule: ParameterMatch) -> Iterator[str]:
    """Yield a value in its canonical form and as given, then the tool's declared synonyms."""
    yield from (form, str(value))
    for head, others in rule.synonyms.items():
        if fold_phrase(head) == fold_phrase(form) or str(value) in others:
            yield from (head, *others)


def _canonical(value: Json, rule: ParameterMatch) -> Any:
    """Return the canonical form of a value; None if there is none."""
    try:
        return canonical(value, rule)
    except UnfitError:
        return None


def _leaves(value: Json) -> Iterator[Json]:
    """Yield the scalar values in JSON data, and each object and each list of two, which may be a point."""
    waiting: list[Json] = [value]
    while waiting:
        member = waiting.pop()
        if isinstance(member, Mapping):
            yield dict(member)
            waiting += reversed(list(member.values()))
        elif isinstance(member, Sequence) and not isinstance(member, str):
            if len(member) == 2:  # noqa: PLR2004  a pair
                yield list(member)
            waiting += reversed(member)
        elif member is not None:
            yield member


def _within(word: str, text: str) -> bool:
    """Return whether a non-ASCII word, such as a Chinese word, occurs anywhere in a text."""
    return not word.isascii() and word in text


_BY_MODEL = "a thought is read by a model only"

# -- steps ---------------------------------------------------------------------------------------------------------------


def label_steps(case: Case, context: JudgedDialogue) -> Iterator[tuple[Observed, Finding]]:
    """Yield each step of the replies with a finding on its agreement with the dialogue so far."""
    knowledge = KnownSoFar(case.visible, case.language)
    memory = context.trajectory.memory
    knowledge.take(None if memory is None else memory.text)
    number = calls = 0
    for turn in context.trajectory.turns:
        if turn.role == "user":
            knowledge.hear(turn.text)
            continue
        number += 1
        for place, step in enumerate(turn.steps, 1):
            if step.kind == "memory":
                knowledge.take(step.result)
                continue
            calls += step.kind == "call"
            named = f"call-{calls}" if step.kind == "call" else f"thought-{number}.{place}"
            text = (
                f"{named}, step {place} of reply-{number}, agrees with the dialogue up to then and the steps before it"
            )
            name, thought = step_name(number, place), step.kind == "thought"
            observed = Observed(id=name, kind=STATE, text=text, scope="trajectory", shown=step.text)
            yield (
                observed,
                Finding(None, _BY_MODEL) if thought else origin(step, context.tools.get(step.tool), knowledge),
            )
            knowledge.take(step.result)
        knowledge.say(turn.text)


# -- things --------------------------------------------------------------------------------------------------------------


def label_things(case: Case, context: JudgedDialogue) -> Iterator[tuple[Observed, Finding]]:
    """Yield each returned thing that a reply names, with a finding on whether the reply treats it correctly."""
    checks = list(_checks(case))
    turns = [index for index, turn in enumerate(context.trajectory.turns) if turn.role == "agent"]
    for document in context.replies:
        number = turns.index(document.turn) + 1
        by_key = standings([document])
        for place, key in enumerate(_named(document, context), 1):
            claims = [
                judged
                for judged in context.claims
                if judged.document.turn == document.turn and judged.subject == (key,)
            ]
            name = next(entity.name for entity in context.entities if entity.key == key)
            text = f"what reply-{number} makes of thing-{number}.{place} is right, and fits what the user asks for"
            observed = Observed(id=thing_name(number, place), kind=OBSERVATION, text=text, shown=name)
            finding = _aligned(key, by_key.get(key), claims, checks, context)
            yield observed, _quoted(finding, key, document)


def _checks(case: Case) -> Iterator[tuple[str, Recommends]]:
    """Yield each recommendation check of the required requirements, with the requirement's id."""
    for requirement in case.truth.required:
        waiting = [requirement.check] if requirement.check is not None else []
        while waiting:
            check = waiting.pop()
            if isinstance(check, Recommends):
                yield requirement.id, check
            elif isinstance(check, All):
                waiting += check.checks


def _named(document: Document, context: JudgedDialogue) -> list[str]:
    """Return the keys of the things that a reply surely names and that tools had returned by then."""
    returned = {
        entity.key
        for entity in find_entities((step for turn, step in context.answered if turn <= document.turn), context.tools)
        if entity.sort != "leg"
    }
    keys = (mention.keys for mention in document.mentions if mention.form != "kind" and len(mention.keys) == 1)
    return list(dict.fromkeys(key for (key,) in keys if key in returned))


def _aligned(
    key: str,
    standing: Recommendation | None,
    claims: Sequence[JudgedClaim],
    checks: Iterable[tuple[str, Recommends]],
    context: JudgedDialogue,
) -> Finding:
    """Return a finding on whether the claims about a thing hold, and no check forbids recommending it."""
    wanted = "the evidence supports what the reply says of it, and the reply recommends it only if it fits"
    wrong = [judged for judged in claims if judged.wrong]
    if wrong:
        return Finding(
            False,
            f"{cite(wrong[0].quote)}: {wrong[0].verdict}, {wrong[0].reason}",
            wanted,
        )
    broken = (
        {breaks(check, key, context): requirement for requirement, check in checks}
        if standing is not None and standing.proposed is not False
        else {}
    )
    if True in broken and standing is not None and standing.proposed:
        return Finding(False, f"the reply recommends it, and it breaks {broken[True]}", wanted)
    if True in broken or None in broken:
        return Finding(
            None, f"unclear whether it is recommended, or whether {broken.get(True) or broken[None]} allows it", wanted
        )
    undecided = next((judged for judged in claims if judged.matters and judged.verdict != "supported"), None)
    if undecided is not None:
        return Finding(None, f"{cite(undecided.quote)}: {undecided.reason}", wanted)
    return Finding(
        True,
        f"the evidence supports {len(claims)} {'claim' if len(claims) == 1 else 'claims'} about it, and it breaks no check",
        wanted,
    )


def _quoted(finding: Finding, key: str, document: Document) -> Finding:
    """Return the finding with a quote of the reply's first mention of the thing."""
    first = next(mention for mention in document.mentions if mention.keys == (key,))
    return finding._replace(quotes=(document.quote(first.span),))
