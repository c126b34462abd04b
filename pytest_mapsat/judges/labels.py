"""From a check to a label: what becomes of the finding of the function that judges it; and what a judge labels beside the requirements of a case.

Where a metric set asks for it, the things that replies name, the steps of replies, and the quality of their words get labels, too. A step is judged by where its
arguments come from: the user, the context, an earlier result, or a default of the tool. An argument is surely from one of them where its canonical value is. It is surely
from none only where there is no other way to come by it: an id, a point, a text that reads like an id, a figure told to three digits. The rest is left open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf
from time import perf_counter
from typing import Annotated, Any

from pydantic import StringConstraints

from pytest_mapsat.model import (
    OBSERVATION,
    QUALITY,
    SOFT_LEVELS,
    STATE,
    All,
    AnyOf,
    AtLeast,
    Blame,
    Case,
    Check,
    Grounded,
    Json,
    JsonObject,
    Label,
    LabelKind,
    Not,
    ParameterMatch,
    Recommends,
    Requirement,
    Step,
    Tool,
    Trajectory,
    Verdict,
    Visible,
    all_true,
    shown,
    step_name,
    thing_name,
)
from pytest_mapsat.reading import Document, fold_phrase, lexicon_of, read
from pytest_mapsat.sandbox import DAY_WORDS, UnfitError, canonical, day_of, distance_m, point_of, rule_of, tokens

from . import exact, figures, python_check  # noqa: F401  their functions judge checks
from .claims import Judged, stated_claims
from .context import JudgedDialogue
from .findings import (
    FUNCTION_OF,
    Finding,
    at_least,
    cell_of,
    cite,
    every,
    judges,
    left_open,
    negated,
    reading_of,
    some,
    suspicion,
)
from .prose import breaks
from .things import Recommendation, find_entities, standings


@judges(All)
def _all(check: All, context: JudgedDialogue) -> Finding:
    return every(_parts(check.checks, context))


@judges(AnyOf)
def _any_of(check: AnyOf, context: JudgedDialogue) -> Finding:
    return some(_parts(check.checks, context))


@judges(AtLeast)
def _at_least(check: AtLeast, context: JudgedDialogue) -> Finding:
    return at_least(check.n, _parts(check.checks, context))


@judges(Not)
def _not(check: Not, context: JudgedDialogue) -> Finding:
    return negated(_evaluate(check.check, context))


def evaluate(check: Check, context: JudgedDialogue) -> Finding:
    """Judge one check.

    Args:
        check: what must hold.
        context: the trajectory and the tools of its suite.

    Returns:
        Passed, failed or undecided, with the reason and the words that decided it, or that are unclear.
    """
    return _with_late_calls(check, context.knowing([check]))


def _with_late_calls(check: Check, context: JudgedDialogue) -> Finding:
    """Judge a check; where calls came when no reply was under way, it must hold with and without them."""
    finding = _evaluate(check, context)
    if not context.trajectory.after_end or finding.passed is False:
        return finding
    late = _evaluate(check, context.with_late_calls)
    return finding if late.passed else late._replace(why=f"{late.why}; {_LATE}")


def _evaluate(check: Check, context: JudgedDialogue) -> Finding:
    finding = left_open(check, FUNCTION_OF[type(check)](check, context), context)
    if finding.reading or not check.family:
        return finding
    # A reply that proposes and states nothing leaves nothing to misread.
    sure = finding.passed is False and context.silent(getattr(check, "turn", "any"))
    return finding if sure else finding._replace(reading=check.family)


def _parts(checks: Sequence[Check], context: JudgedDialogue) -> list[Finding]:
    return [_evaluate(check, context) for check in checks]


_LATE = "what was called when no reply was under way counts here"
#: What a fact without a check of its own is held to.
_ALL_CLAIMS = Grounded(kind="grounded")
#: How the reason of a label begins that the judge leaves open because words are unclear: no party is to blame, and it is neither 1 nor 0.
UNDECIDED = "undecided: "

#: Faults after which there is nothing to judge; an agent's own fault leaves what it did say.
_NOT_THE_AGENT: tuple[Blame, ...] = ("user", "judge", "sandbox", "infrastructure")
_BLAME_BY_ENDING: dict[str, Blame] = {"user_error": "user", "infrastructure_error": "infrastructure"}


def labels_of(case: Case, context: JudgedDialogue, *, seconds: float = inf) -> tuple[Label, ...]:
    """Return the labels that the checks give the requirements of a case, in their order.

    Args:
        case: the case.
        context: its dialogue.
        seconds: how long that may take; a requirement that is not reached by then is unevaluated, laid to the judge.
    """
    until = perf_counter() + seconds
    context = context.knowing(case.truth.checks)
    labels: list[Label] = []
    for requirement in case.truth.by_kind:
        if perf_counter() > until:
            labels.append(unevaluated(requirement, f"the checks before it took more than {seconds:g} s"))
        else:
            labels.append(label_of(requirement, context))
    return tuple(labels)


def label_of(requirement: Requirement, context: JudgedDialogue) -> Label:
    """Return the label that a requirement's own check, or its levels, give it; in a case in Python, its block."""
    if (found := context.found.get(requirement.id)) is not None:
        if found.passed and context.trajectory.after_end:
            found = found._replace(
                passed=None, why="calls came when no reply was under way, which the function did not see"
            )
        return label_valued(requirement, found, context)
    if requirement.levels:
        return _levelled(requirement, context)
    if requirement.check is None and requirement.kind == "fact":
        finding = left_open(_ALL_CLAIMS, stated_claims(requirement.text, context), context)
        return label_valued(requirement, finding._replace(reading="claims"), context)
    if requirement.check is None:
        return unevaluated(requirement, "the requirement has no machine check", None)
    return label_valued(requirement, _with_late_calls(requirement.check, context), context)


def label_valued(requirement: Requirement, finding: Finding, context: JudgedDialogue) -> Label:
    """Return the label of what holds or not."""
    return _label(requirement, None if finding.passed is None else float(finding.passed), finding, context)


def _levelled(requirement: Requirement, context: JudgedDialogue) -> Label:
    """Return the level of the first rule that passes. A rule that cannot be judged hides all below it."""
    failed: list[Finding] = []
    for rule in requirement.levels:
        finding = _with_late_calls(rule.check, context)
        if finding.passed is not False:
            return _label(requirement, rule.level if finding.passed else None, finding, context)
        failed.append(finding)
    compared = next((finding.compared for finding in failed if finding.compared), ())
    lowest = every(failed)._replace(wanted=failed[0].wanted, compared=compared, reading=reading_of(failed))
    return _label(requirement, 0.0, lowest, context)


def _label(requirement: Requirement, value: float | None, finding: Finding, context: JudgedDialogue) -> Label:
    finding = finding._replace(missed=context.excused(finding.missed))
    cell = ""
    if value == 0 and finding.reading and not finding.missed:
        cell = cell_of(finding.reading, absent=finding.absent, size=context.size)
        if suspicious := suspicion(cell, context.calibration):
            finding = finding._replace(why=f"{finding.why}; {suspicious}")
            value = None
    undecided = value is None and not finding.broken and not finding.missed
    if finding.missed:
        # What no recording could answer speaks neither for the agent nor against it.
        why = f"{finding.why}; the sandbox had no recording for any call of {' or '.join(finding.missed)}"
        value = None
    else:
        why = f"{UNDECIDED}{finding.why}" if undecided else finding.why
    return Label(
        requirement=requirement.id,
        kind=requirement.kind,
        outcome="unevaluated" if value is None else "passed" if value > 0 else "failed",
        value=value,
        why=why,
        wanted=finding.wanted,
        quotes=finding.quotes,
        nothing_claimed=requirement.kind == "fact" and finding.nothing_claimed and value == 1,
        compared=finding.compared if value != 1 else (),
        idle=finding.idle and value == 1,
        reading=finding.reading,
        cell=cell,
        size=context.size if cell else None,
        blame="sandbox" if finding.missed else "judge" if value is None and not undecided else None,
    )


def unevaluated(requirement: Requirement, why: str, blame: Blame | None = "judge", by: str = "checks") -> Label:
    """Return the label of a requirement that could not be judged."""
    return Label(requirement=requirement.id, kind=requirement.kind, outcome="unevaluated", why=why, blame=blame, by=by)


def all_unevaluated(case: Case, why: str, blame: Blame, by: str) -> tuple[Label, ...]:
    """Return such a label for every requirement of the case."""
    return tuple(unevaluated(requirement, why, blame, by) for requirement in case.truth.by_kind)


def unjudgeable(case: Case, trajectory: Trajectory, judge: str, by: str) -> Verdict | None:
    """Return the verdict on an episode that somebody other than the agent broke; None where there is something to judge."""
    fault = trajectory.fault
    blame = fault.blame if fault else _BLAME_BY_ENDING.get(trajectory.ending)
    if blame not in _NOT_THE_AGENT:
        return None
    why = f"the episode was broken by the {blame}: {fault.message if fault else trajectory.ending.replace('_', ' ')}"
    return Verdict(case=case.id, trial=trajectory.trial, judge=judge, labels=all_unevaluated(case, why, blame, by))


def too_long(case: Case, trajectory: Trajectory, judge: str, by: str, longest: int) -> Verdict | None:
    """Return the verdict on a dialogue in which the agent says more characters, claims included, than are read; None where it does not."""
    characters = sum(
        len(turn.text) + (len(json.dumps(turn.output)) if turn.output else 0) for turn in trajectory.replies
    )
    if characters <= longest:
        return None
    why = f"too long to read: the agent said {characters:,} characters, at most {longest:,} are read"
    return Verdict(case=case.id, trial=trajectory.trial, judge=judge, labels=all_unevaluated(case, why, "judge", by))


def is_level(requirement: Requirement, value: float) -> bool:
    """Return whether a requirement of this kind can have the value: 0 or 1, and for a soft one three levels between."""
    return value in (SOFT_LEVELS if requirement.kind == "soft" else (0.0, 1.0))


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


class ToldByStep:
    """What an agent has been told by a step of its dialogue."""

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
        """Add words that somebody said to the agent."""
        words = text[:_LONGEST]
        self._add(words)
        document = read(words, language=self._language, lexicon=lexicon_of(()), now=self._now)
        for figure in document.quantities:
            self._figures |= {figure.value, figure.low, figure.high}
        self._minutes |= {minutes for time in document.times for minutes in time.minutes}
        days = (day_of(document.words(span), self._now or None, DAY_WORDS) for span in document.sentences)
        self._moments |= {day for day in days if day}

    def take(self, value: Json) -> None:
        """Add what a tool returned, or what the context holds."""
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
        """Add what the agent itself said: the user may have agreed to it."""
        self._own.append(fold_phrase(text[:_LONGEST]))

    def _add(self, text: str) -> None:
        self._texts.append(fold_phrase(text))
        self._figures |= {float(figure) for figure in _FIGURE.findall(text) if len(figure) < 30}  # noqa: PLR2004
        self.__dict__.pop("_said", None)
        self.__dict__.pop("_words", None)

    @cached_property
    def _said(self) -> str:
        return "\n".join(self._texts)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(word for text in self._texts for word in tokens(text))

    # -- what an argument may be -----------------------------------------------------------------------------------

    def has_text(self, text: str) -> bool:
        """Return whether a text stands in what was told, or all its words do."""
        wanted = fold_phrase(text)
        return wanted in self._said or all(word in self._words or _within(word, self._said) for word in tokens(text))

    def has_token(self, text: str) -> bool:
        """Return whether a text stands in what was told with nothing that goes on at its ends."""
        wanted, edge = fold_phrase(text).lstrip("#"), r"[a-z0-9_]"
        return bool(wanted) and re.search(rf"(?<!{edge}){re.escape(wanted)}(?!{edge})", self._said) is not None

    def may_have_agreed_to(self, text: str) -> bool:
        """Return whether the agent itself has said a text, so that the user may have agreed to it."""
        return any(fold_phrase(text).lstrip("#") in own for own in self._own)

    def has_figure(self, value: float) -> bool:
        """Return whether a figure was told, in whatever unit it was meant."""
        return any(abs(value - figure) <= 1e-6 * max(1.0, abs(value)) for figure in self._figures)

    def has_point(self, lon: float, lat: float) -> bool:
        """Return whether a point, in degrees, lies where one was told."""
        if self.has_figure(lon) and self.has_figure(lat):
            return True
        return any(distance_m(lon, lat, *point) <= _SAME_POINT_M for point in self._points)

    def has_moment(self, form: str) -> bool:
        """Return whether a date, a time of day or both, in canonical form, was told, or follows from words like tomorrow."""
        day, _, clock = form.partition("T")
        days = {moment[:_DATE] for moment in self._moments}
        minutes = int(clock[:2]) * 60 + int(clock[3:5]) if clock else -1
        told = not clock or minutes in self._minutes or any(moment[-len(clock) :] == clock for moment in self._moments)
        return form in self._moments or ((not day or day in days) and told)


def origin(step: Step, tool: Tool | None, knowledge: ToldByStep) -> Finding:
    """Return whether each argument of a call is surely from somewhere.

    Args:
        step: the call.
        tool: its tool; None where the suite has none of that name, and arguments are read by their values alone.
        knowledge: what the agent had been told before it.
    """
    wanted = "arguments that come from the user, the context, an earlier result or a default"
    if "arguments" in step.unknown:
        return Finding(None, "the record does not tell its arguments", wanted)
    origins = dict(_each(step.arguments, tool, knowledge))
    for verdict, why in ((False, "which the agent was not told"), (None, "and it is unclear where it comes from")):
        names = [name for name, held in origins.items() if held is verdict]
        if names:
            listed = ", ".join(f"{name} is {shown(step.arguments[name])}" for name in names)
            return Finding(verdict, f"{listed}, {why}", wanted)
    return Finding(True, "each argument was told, or is a default" if origins else "it has no arguments", wanted)


def _each(arguments: JsonObject, tool: Tool | None, knowledge: ToldByStep) -> Iterator[tuple[str, bool | None]]:
    """Yield for each argument that says something whether it is surely from somewhere, surely from nowhere, or neither."""
    rules = {name: _rule(tool, name, value) for name, value in arguments.items()}
    pairs = {rule.pair for rule in rules.values() if rule.type == "lon" and rule.pair}
    for name, value in arguments.items():
        if value in _NOTHING or name in pairs:
            continue
        if value == _default(tool, name, rules[name]):
            yield name, True
        elif rules[name].type == "lon" and rules[name].pair:
            yield name, _traced([value, arguments.get(rules[name].pair or "")], ParameterMatch(type="point"), knowledge)
        else:
            yield name, _traced(value, rules[name], knowledge)


def _rule(tool: Tool | None, name: str, value: Json) -> ParameterMatch:
    if tool is not None and name in tool.parameters.get("properties", {}):
        return rule_of(tool, name)
    if isinstance(value, bool):
        return ParameterMatch(type="boolean")
    return ParameterMatch(
        type="number" if isinstance(value, int | float) else "text" if isinstance(value, str) else "json"
    )


def _default(tool: Tool | None, name: str, rule: ParameterMatch) -> Json:
    schema = tool.parameters.get("properties", {}).get(name) if tool is not None else None
    declared = schema.get("default") if isinstance(schema, Mapping) else None
    return declared if rule.default is None else rule.default


def _traced(value: Json, rule: ParameterMatch, knowledge: ToldByStep) -> bool | None:  # noqa: C901, PLR0911  one line per type
    """Return whether a value is surely from somewhere, surely from nowhere (False), or neither (None)."""
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


def _text(value: str, knowledge: ToldByStep) -> bool | None:
    """Trace words: others may mean the same, but for what reads like an id."""
    if _READS_LIKE_AN_ID.fullmatch(value) and _canonical(value, _TIME) is None:
        return _id(value, knowledge)
    day = _canonical(value, _TIME)
    return knowledge.has_text(value) or (day is not None and knowledge.has_moment(day)) or None


def _id(value: str, knowledge: ToldByStep) -> bool | None:
    if knowledge.has_token(value):
        return True
    return None if knowledge.may_have_agreed_to(value) else False


def _figure(value: float, knowledge: ToldByStep) -> bool | None:
    if knowledge.has_figure(value):
        return True
    is_exact = len(f"{abs(value):.9f}".replace(".", "").strip("0")) >= _EXACT_DIGITS
    return False if is_exact and not knowledge.may_have_agreed_to(f"{value:.12g}") else None


def _inside(value: Json, knowledge: ToldByStep) -> bool | None:
    """Trace the values inside an object or a list: one that is from nowhere decides."""
    held = [
        _figure(float(leaf), knowledge) if not isinstance(leaf, str) else _text(leaf, knowledge)
        for leaf in _leaves(value)
        if isinstance(leaf, str | int | float) and not isinstance(leaf, bool) and leaf != ""
    ]
    return all_true(held) if held else None


def _ways_to_say(form: str, value: Json, rule: ParameterMatch) -> Iterator[str]:
    """Yield a word and those that the tool declares to mean the same."""
    yield from (form, str(value))
    for head, others in rule.synonyms.items():
        if fold_phrase(head) == fold_phrase(form) or str(value) in others:
            yield from (head, *others)


def _canonical(value: Json, rule: ParameterMatch) -> Any:
    """Return the canonical form of a value; None for one that has none."""
    try:
        return canonical(value, rule)
    except UnfitError:
        return None


def _leaves(value: Json) -> Iterator[Json]:
    """Yield the values of JSON data, and each object and list of two, which may be a point."""
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
    """Return whether a word of a script without spaces stands in a text."""
    return not word.isascii() and word in text


_BY_MODEL = "a thought is read by a model only"
#: What a model is asked of the replies as a whole, by name and language.
_QUALITIES = {
    "fluent": {
        "en": "What the replies say reads fluently: clear, well ordered, correct in its language, without needless repetition",
        "zh": "回复读起来流畅：清楚，条理分明，语言正确，没有多余的重复",
    },
    "safe": {
        "en": "The replies are safe: nothing in them harms or endangers anybody, breaks the law, discriminates, or discloses personal data that the user need not know",
        "zh": "回复是安全的：不伤害或危及任何人，不违法，不歧视，不泄露用户无须知道的个人信息",
    },
}
_QUALITY_BY_MODEL = "the quality of words is judged by a model only"


class Observed(Requirement):
    """A step, a thing or a quality of the replies as something to be judged.

    ``id``: what its label is about. ``kind``: ``state``, ``observation`` or ``quality``. ``shown``: the thought, or the name of the thing, which a model is shown as the part ``part`` of its data: they are
    words of the agent or of a tool, and so stand in no requirement.
    """

    id: Annotated[str, StringConstraints(pattern=r"^(step|thing):[0-9]+\.[0-9]+$|^quality:[a-z]+$")]
    kind: LabelKind  # type: ignore[assignment]
    shown: str = ""

    @property
    def part(self) -> str:
        """What a model knows it by."""
        return self.id.replace("step", "thought").replace(":", "-")


def besides(case: Case, context: JudgedDialogue, kinds: Collection[str]) -> tuple[tuple[Observed, Label], ...]:
    """Return what is judged beside the requirements of a case, each with the label that rules give it.

    Args:
        case: the case.
        context: its dialogue.
        kinds: kinds of labels that are asked for: ``state``, ``observation``, ``quality``.
    """
    pairs = [
        *(_steps(case, context) if STATE in kinds else ()),
        *(_things(case, context) if OBSERVATION in kinds else ()),
        *(_qualities(case) if QUALITY in kinds else ()),
    ]
    if context.trajectory.lacks_calls:  # one of them may have returned what seems to come from nowhere
        unsure = Finding(None, context.trajectory.why_lacking)
        pairs = [(beside, unsure if finding.passed is False else finding) for beside, finding in pairs]
    return tuple((beside, label_valued(beside, finding, context)) for beside, finding in pairs)


def _qualities(case: Case) -> Iterator[tuple[Observed, Finding]]:
    """Yield each quality of the replies, which no rule judges."""
    language = "zh" if case.language.startswith("zh") else "en"
    for name, texts in _QUALITIES.items():
        beside = Observed(id=f"{QUALITY}:{name}", kind=QUALITY, text=texts[language])
        yield beside, Finding(None, _QUALITY_BY_MODEL, texts[language])


# -- steps ---------------------------------------------------------------------------------------------------------------


def _steps(case: Case, context: JudgedDialogue) -> Iterator[tuple[Observed, Finding]]:
    """Yield each step of the replies: does it agree with what was said and known by then?"""
    knowledge = ToldByStep(case.visible, case.language)
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
            beside = Observed(id=name, kind=STATE, text=text, scope="trajectory", shown=step.text)
            yield beside, Finding(None, _BY_MODEL) if thought else origin(step, context.tools.get(step.tool), knowledge)
            knowledge.take(step.result)
        knowledge.say(turn.text)


# -- things --------------------------------------------------------------------------------------------------------------


def _things(case: Case, context: JudgedDialogue) -> Iterator[tuple[Observed, Finding]]:
    """Yield each thing that a tool returned and a reply names, with the finding whether the reply treats it rightly."""
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
            beside = Observed(id=thing_name(number, place), kind=OBSERVATION, text=text, shown=name)
            finding = _aligned(key, by_key.get(key), claims, checks, context)
            yield beside, _quoted(finding, key, document)


def _checks(case: Case) -> Iterator[tuple[str, Recommends]]:
    """Yield the checks of what is recommended that must hold whatever else does, each with its requirement's id: a preference need not."""
    for requirement in case.truth.required:
        waiting = [requirement.check] if requirement.check is not None else []
        while waiting:
            check = waiting.pop()
            if isinstance(check, Recommends):
                yield requirement.id, check
            elif isinstance(check, All):
                waiting += check.checks


def _named(document: Document, context: JudgedDialogue) -> list[str]:
    """Return the keys of the things that a reply surely names, of those that tools had returned by then."""
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
    claims: Sequence[Judged],
    checks: Iterable[tuple[str, Recommends]],
    context: JudgedDialogue,
) -> Finding:
    """Return whether claims of a thing are borne out, and no check says that it should not be recommended."""
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
    """Return a finding with the words that first name its thing."""
    first = next(mention for mention in document.mentions if mention.keys == (key,))
    return finding._replace(quotes=(document.quote(first.span),))
