"""What a user's next step shows: what was refused, what was taken in its place, and the needs that tell the two apart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from pytest_mapsat.judges import Context as Reading
from pytest_mapsat.model import Mark, Requirement, ScriptedAnswer, Step, Tool, Visible, shown
from pytest_mapsat.reading import conditions_of, fold_phrase, fold_text

from .conversations import Conversation, Line, trajectory_of
from .evidence import (
    Difference,
    Thing,
    any_spoken,
    fields_apart,
    figures_in,
    language_of,
    leaves_of,
    linked_to,
    listed,
    plain,
    requirement_of,
    sentences,
    support_for,
    takes,
    tells,
    told_before,
    words_of,
)
from .proposed import ProposingModel, read_by_model

_CLOCK = re.compile(r"[T ](\d\d:\d\d)")
_DAY = 24 * 60
#: Words of the names of ids.
_IDENTITY = frozenset({"id", "ids", "sku", "code", "ref"})
#: So many phrases of questions ask for an answer.
_PHRASES = 12
_LONGEST = 300
#: So many conditions are proposed that nothing tells apart.
_MOST = 3


@dataclass(frozen=True)
class Proposals:
    """What a conversation proposes for its case; all of it drafts.

    Attributes:
        requirements: needs that could have been known before the reply, with their evidence.
        answers: needs that nothing told before: what the user says when asked.
        notes: what a person should know before deciding.
        logged: the labels of the judged reply, by requirement: failed where what it recommends breaks it.
        agreed: the labels of the accepted reply, where there is one.
        why: by requirement with a label, what the user said to the judged reply, with its place, and the values of what was refused and taken.
    """

    requirements: tuple[Requirement, ...] = ()
    answers: tuple[ScriptedAnswer, ...] = ()
    notes: tuple[str, ...] = ()
    logged: Mapping[str, Mark] = field(default_factory=dict)
    agreed: Mapping[str, Mark] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Refusal:
    """Things that a reply recommended, and what the user said to it, with its place."""

    things: tuple[Thing, ...]
    words: str
    place: str


def proposals_of(conversation: Conversation, tools: Mapping[str, Tool]) -> Proposals:
    """Return the needs that the user's next step shows to have been missing.

    A need is a condition on a field in which what was refused differs from what was taken. Where the user's words name such fields, only these are proposed;
    else those for which there is evidence before the reply; else the likeliest, and a note says so. A refusal makes a hard requirement, words of preference
    or a silent choice a soft one; a need that the query states is asked.

    Args:
        conversation: the conversation.
        tools: its tools by name: they say where things with names stand in results.
    """
    talk = _Talk(conversation, tools)
    refusals, accepted = talk.refusals, talk.accepted
    if not refusals:
        return Proposals(notes=(talk.why_nothing(),))
    told = tuple(told_before(conversation, tools, talk.listing))
    chosen: dict[tuple[str, str], tuple[_Refusal, Difference]] = {}
    notes: list[str] = []
    for refusal in refusals:
        clock, known_at = talk.clock(refusal.words)
        asked, things = f"{talk.query} {refusal.words}", [*talk.things.values()]
        fields = fields_apart(refusal.things, accepted, refusal.words, clock, asked=asked, things=things)
        supports = [support_for(talk.stated(each, refusal.words), told, known_at) for each in fields]
        kept, note = _told_apart(supports, refusal, talk)
        if kept and not any(support.evidence for support in kept):
            best = max(support.likely for support in kept)
            linked = [linked_to(support, refusal.words, told, talk.returned) for support in kept]
            kept = [each for each in linked if each.likely == best] if linked[0].evidence else kept
        notes += [note] if note else []
        for support in kept:
            chosen.setdefault((support.field, str(support.match)), (refusal, support))
    return _written([*chosen.values()], tuple(dict.fromkeys(notes)), talk)


def proposals_by_model(
    conversation: Conversation, tools: Mapping[str, Tool], by_rules: Proposals, model: ProposingModel
) -> Proposals:
    """Return the needs that a model reads out of the user's words, in place of those that follow from words and fields by rules.

    Args:
        conversation: the conversation.
        tools: its tools by name.
        by_rules: what the rules propose: it stays where the model cannot be asked or no reply of it can be read; else a note names what no reply has.
        model: the model.

    Raises:
        ModelError: there is no way to the model, or a ceiling is met.
    """
    talk = _Talk(conversation, tools)
    refused = tuple(thing for refusal in talk.refusals for thing in refusal.things)
    told = tuple(told_before(conversation, tools, talk.listing))
    read = read_by_model(model, conversation, told, talk.things, (refused, talk.accepted))
    if isinstance(read, str):
        return replace(by_rules, notes=(*by_rules.notes, read))
    talk = _Talk(conversation, tools)
    talk.read_as(read.refused, read.accepted)
    chosen: list[tuple[_Refusal, Difference]] = []
    for support in read.supports:
        broken = (each for each in talk.refusals if False in map(support.kept_by, each.things))
        chosen.append((next(broken, talk.refusals[0]), support))
    paths = {support.field for support in read.supports}
    left = [part.text for part in by_rules.requirements if not any(path in part.text for path in paths)]
    left += [answer.say for answer in by_rules.answers if paths.isdisjoint(answer.asked)]
    notes = (f"the rules propose, and no reply of {model.name}: {'; '.join(left)}",) if left else ()
    return _written(chosen, (*read.notes, *notes), talk)


def _told_apart(supports: Sequence[Difference], refusal: _Refusal, talk: _Talk) -> tuple[list[Difference], str]:
    """Return the conditions that the user's words name, else those that have evidence, else all; and what to say of the choice."""
    names = ", ".join(thing.name for thing in refusal.things)
    words = f"{refusal.place}: {shown(refusal.words)}" if refusal.words else "the user said nothing to it"
    ranks = [support.named_in(refusal.words, talk.descriptions) for support in supports]
    best = max(ranks, default=0)
    if best:
        plain = [support for support, rank in zip(supports, ranks, strict=True) if rank >= min(best, 2)]
        return _without_details(_likely(plain) or plain), ""
    if any_spoken(refusal.words, listed("manner")):
        return [], f"{words}: this concerns the manner of the reply and no field of {names}: nothing is proposed of it"
    likely = _likely(supports)
    if not likely or not talk.accepted:
        why = "no field of {} that differs or is named tells why it was refused: nothing is proposed"
        return [], f"{words}: {why.format(names)}"
    apart = ", ".join(dict.fromkeys(support.field for support in supports))
    differ = f"{names} and {', '.join(thing.name for thing in talk.accepted)} differ in {apart}"
    proven = [support for support in likely if support.evidence]
    kept = proven or _without_details(likely)[:_MOST]
    paths = ", ".join(dict.fromkeys(support.field for support in kept))
    if proven and len(proven) < len(supports):
        return proven, f"{differ}; only {paths} has evidence before the reply ({words})"
    left = f"; proposed: {paths}" if paths != apart else ""
    return kept, f"{differ}, and nothing tells which of them decided ({words}){left}"


def _likely(supports: Iterable[Difference]) -> list[Difference]:
    """Return the conditions that are needs by themselves or have evidence that states them, the likeliest first."""
    strong = [
        support
        for support in supports
        if support.worded or any(part.relevance == "strong" for part in support.evidence)
    ]
    likely = [support for support in supports if support.likely or support in strong]
    return sorted(likely, key=lambda support: -support.likely)


def _without_details(supports: Sequence[Difference]) -> list[Difference]:
    """Return conditions without those that explain another one: figures and texts beside a yes or no in the same part of a record."""
    flags = {support.field.rpartition(".")[0] for support in supports if isinstance(support.value, bool)}
    return [
        support
        for support in supports
        if isinstance(support.value, bool) or support.field.rpartition(".")[0] not in flags - {""}
    ]


def _written(chosen: Sequence[tuple[_Refusal, Difference]], notes: tuple[str, ...], talk: _Talk) -> Proposals:
    """Return the conditions as requirements where they have evidence, else as answers of the user, with the labels that follow."""
    requirements: list[Requirement] = []
    answers: list[ScriptedAnswer] = []
    logged: dict[str, Mark] = {}
    agreed: dict[str, Mark] = {}
    why: dict[str, str] = {}
    for refusal, support in chosen:
        if not support.evidence:
            answers.append(_answer(refusal, support, talk))
            continue
        name = _name(support, len(requirements) + 1)
        name = name if name not in why else f"{name}-{len(requirements) + 1}"
        why[name] = _why(refusal, support.field, talk)
        kind: Literal["asked", "hard", "soft"] = "asked" if support.asked else support.kind or _strength(refusal.words)
        words, where = _in_words(support, chinese=talk.chinese), {support.field: support.match}
        told = {"source": support.source, "evidence": support.evidence}
        requirements.append(requirement_of(name, kind, words, where, told, forbids=support.forbids, draft=True))
        for labels, things in ((logged, talk.judged), (agreed, talk.agreed)):
            held = [support.kept_by(thing) for thing in things]
            if False in held:
                labels[name] = "failed"
            elif held and None not in held:
                labels[name] = "passed"
    why = {name: reason for name, reason in why.items() if name in logged}
    return Proposals(tuple(requirements), tuple(_joined(answers)), notes, logged, agreed, why)


def _why(refusal: _Refusal, path: str, talk: _Talk) -> str:
    """Return what the user said to a reply, and the values of one field of what was refused and taken."""
    told = f"{refusal.place}: {shown(refusal.words)}" if refusal.words else "another thing was taken without a word"
    values = [
        f"{thing.name}: {', '.join(shown(value) for value in thing.values.get(path, ())) or 'not given'}"
        for thing in (*refusal.things, *talk.accepted)
    ]
    return f"{told}; {path} of {'; '.join(values)}"[:_LONGEST]


def _joined(answers: Sequence[ScriptedAnswer]) -> Iterator[ScriptedAnswer]:
    """Yield answers, those that say the same made one that is asked for in all their ways."""
    for say in dict.fromkeys(answer.say for answer in answers):
        asked = dict.fromkeys(phrase for answer in answers if answer.say == say for phrase in answer.asked)
        yield ScriptedAnswer(asked=tuple(asked), say=say, draft=True)


def _strength(words: str) -> Literal["hard", "soft"]:
    """Return whether words refuse, which makes a need hard, or prefer; a choice without words prefers."""
    if any_spoken(words, listed("refuses")):
        return "hard"
    return "soft" if not words or any_spoken(words, listed("prefers")) else "hard"


def _in_words(condition: Difference, *, chinese: bool) -> str:
    """Return a condition as the text of a requirement."""
    sort, value = condition.sort, condition.value
    value = json.dumps(value, ensure_ascii=False) if sort == "is" else plain(value)
    zh = {"is": "为 {}", "has": "含有{}", "open_at": "在 {} 营业", "least": "不低于 {}", "most": "不超过 {}"}
    en = {"is": "{}", "has": "contains {}", "open_at": "open at {}", "least": "at least {}", "most": "at most {}"}
    if chinese:
        return f"{'没有推荐' if condition.forbids else '推荐的每一个都是'}：{condition.field} {zh[sort].format(value)}"
    what = "Nothing" if condition.forbids else "Everything"
    return f"{what} that is recommended has {condition.field}: {en[sort].format(value)}"


def _name(condition: Difference, number: int) -> str:
    words = [*words_of(condition.field), *(words_of(condition.text) if condition.sort != "is" else ())]
    name = "-".join(word for word in words if word.isascii())[:60].strip("-")
    need = condition.needs[0].name.replace(" ", "-") if condition.needs else f"need-{number}"
    return name or need


def _answer(refusal: _Refusal, condition: Difference, talk: _Talk) -> ScriptedAnswer:
    """Return what the user says when asked for a need that nothing told before: the sentence of the objection that names it, else all of it."""
    spoken_of = [each for each in sentences(refusal.words) if condition.named_in(each, talk.descriptions)]
    say = " ".join(spoken_of) or refusal.words or _in_words(condition, chinese=talk.chinese)
    language = [phrase for need in condition.needs for phrase in (*need.words, *need.fields)]
    phrases = [phrase for phrase in language if language_of(phrase) == talk.conversation.language]
    own = [*([condition.text] if condition.text else []), *filter(tells, words_of(condition.field)), condition.field]
    asked = tuple(dict.fromkeys([*phrases[: _PHRASES - 2], *own]))[:_PHRASES]
    return ScriptedAnswer(asked=asked, say=say[:_LONGEST], draft=True)


class _Talk:
    """A conversation as its replies are read: which things they recommend, and what became of these."""

    def __init__(self, conversation: Conversation, tools: Mapping[str, Tool]) -> None:
        self.conversation = conversation
        self._tools = tools
        self._lines = conversation.lines
        self.query = conversation.query.text
        self.chinese = conversation.language == "zh"
        # The reply that the user took, where it came after the one that is judged.
        behind = conversation.accepted_at is not None and conversation.accepted_at > conversation.reply_at
        self._taken_at = conversation.accepted_at if behind else None

    @cached_property
    def _all(self) -> Reading:
        return self._read(self._lines)

    @cached_property
    def listing(self) -> frozenset[str]:
        """The tools that returned things with names, those that tell of people apart."""
        return frozenset(entity.tool for entity in self._all.entities if entity.sort not in ("person", "leg"))

    @cached_property
    def things(self) -> Mapping[str, Thing]:
        """What tools returned in the whole conversation, by key: the records of one thing joined."""
        values: dict[str, dict[str, list[object]]] = {}
        names: dict[str, str] = {}
        for entity in self._all.entities:
            if entity.sort in ("person", "leg"):
                continue
            names.setdefault(entity.key, entity.name)
            own = values.setdefault(entity.key, {})
            for path, value in leaves_of(entity.record):
                if isinstance(value, str) and fold_phrase(value) in (entity.key, fold_phrase(entity.id)):
                    continue  # its name and its id
                if value not in own.setdefault(path, []):
                    own[path].append(value)
        return {
            key: Thing(key, names[key], {path: tuple(parts) for path, parts in own.items()})
            for key, own in values.items()
        }

    @cached_property
    def descriptions(self) -> Mapping[str, Sequence[str]]:
        """Words by which descriptions of the tools explain a field: that of a parameter of its name, or what stands behind its name in one."""
        told: dict[str, list[str]] = {}
        fields = {path.split(".")[-1] for thing in self.things.values() for path in thing.values}
        for tool in self._tools.values():
            parameters = tool.parameters.get("properties", {})
            for name in fields:
                own = parameters.get(name, {}) if isinstance(parameters, dict) else {}
                texts = [str(own.get("description", ""))] if isinstance(own, dict) else []
                clauses = re.split(r"[,;.，。；\n]", tool.description)
                texts += [clause for clause in clauses if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", clause)]
                told.setdefault(name, []).extend(word for text in texts for word in words_of(text) if tells(word))
        return told

    def _read(self, lines: Sequence[Line]) -> Reading:
        visible = Visible(query=self.query or "?", context=self.conversation.context)
        return Reading(trajectory_of(lines), self._tools, visible, language=self.conversation.language)

    def _recommended(self, index: int) -> tuple[Thing, ...]:
        """Return what the reply in a line recommends, as the checks read it: what is only described counts where it is the only one."""
        standings = self._read(self._lines[: index + 1]).standings("last")
        ours = [standing for key, standing in standings.items() if key in self.things]
        chosen = [standing for standing in ours if standing.proposed]
        open_ = [standing for standing in ours if standing.proposed is None]
        return tuple(self.things[standing.key] for standing in chosen or (open_ if len(open_) == 1 else ()))

    def _named(self, text: str) -> list[Thing]:
        """Return the things that words of the user name, each by a name that can mean it alone."""
        hits = [hit for hit in self._all.lexicon.find(fold_phrase(text)) if len(hit.keys) == 1]
        return list({hit.keys[0]: self.things[hit.keys[0]] for hit in hits if hit.keys[0] in self.things}.values())

    @cached_property
    def returned(self) -> str:
        """All that the calls of the conversation gave and got, folded."""
        data = [[dict(step.arguments), step.result] for line in self._lines for step in line.calls]
        return fold_phrase(json.dumps(data, ensure_ascii=False))

    @cached_property
    def judged(self) -> tuple[Thing, ...]:
        """What the reply that is judged recommends."""
        return self._recommended(self.conversation.reply_at)

    @cached_property
    def _replies(self) -> tuple[_Refusal, ...]:
        """The replies from the one that is judged to the last before the accepted one: what each recommends, what the user said to it, and where."""
        start, end = self.conversation.reply_at, self._taken_at
        if end is None and self.conversation.accepted_at is not None:
            return ()  # the user took what the reply that is judged says
        told: list[_Refusal] = []
        indexes = [index for index in range(start, len(self._lines)) if self._lines[index].role == "agent"]
        for index, following in zip(indexes, [*indexes[1:], len(self._lines)], strict=True):
            if index == end or (end is None and index != start):
                break
            spoken = [line for line in self._lines[index + 1 : following] if line.role == "user" and line.text.strip()]
            place = spoken[0].place if spoken else self._lines[index].place
            words = " ".join(line.text.strip() for line in spoken)
            things = self._recommended(index)
            if not things and (end is not None or any_spoken(words, listed("refuses"))):
                # What the reply only names was offered all the same; else it describes what the user knows by its name.
                things = tuple(self._named(self._lines[index].text) or self._named(words))
            told.append(_Refusal(things, words, place))
        return tuple(told)

    @cached_property
    def accepted(self) -> tuple[Thing, ...]:
        """What the user took: what was ordered, opened or navigated to by a call, else what their words name besides, else what the accepted reply recommends."""
        behind = self._lines[self.conversation.reply_at + 1 :]
        taken = [
            thing for line in behind for step in line.calls if self._takes(line, step) for thing in self._meant(step)
        ]
        refused = {thing.key for reply in self._replies for thing in reply.things}
        if not taken:
            words = [line.text for line in behind if line.role == "user"]
            taken = [thing for text in words for thing in self._named(text) if thing.key not in refused]
        if not taken and self._taken_at is not None:
            taken = [thing for thing in self._recommended(self._taken_at) if thing.key not in refused]
            named = [thing for thing in self._named(self._lines[self._taken_at].text) if thing.key not in refused]
            taken = taken or (named if len(named) == 1 else [])  # "shall I take X?", and the user said yes
        return tuple({thing.key: thing for thing in taken}.values())

    @property
    def agreed(self) -> tuple[Thing, ...]:
        """What the accepted reply recommends; what was taken where there is no such reply."""
        return self.accepted if self._taken_at is None else self._recommended(self._taken_at)

    def _takes(self, line: Line, step: Step) -> bool:
        """Return whether a call takes the thing that it names: the user's own, one that writes, or one whose name says so."""
        writes = step.tool in self._tools and self._tools[step.tool].effect == "write"
        return step.kind == "call" and (line.role == "user" or writes or takes(step.tool))

    def _meant(self, step: Step) -> Iterator[Thing]:
        """Yield the things whose id or name is an argument of a call."""
        ids = {
            str(value): entity.key
            for entity in self._all.entities
            for path, value in leaves_of(entity.record)
            if value == entity.id or not _IDENTITY.isdisjoint(words_of(path))
        }
        for path, value in leaves_of(step.arguments):
            for part in map(str, value if isinstance(value, list) else [value]):
                if part.isdecimal() and _IDENTITY.isdisjoint(words_of(path)):
                    continue  # how many, and not which
                key = ids.get(part, fold_phrase(part))
                if key in self.things:
                    yield self.things[key]

    @cached_property
    def refusals(self) -> tuple[_Refusal, ...]:
        """What was refused: what replies recommended, without what was taken; only what the user's words name, where they name some of it."""
        taken = {thing.key for thing in self.accepted}
        refusals: list[_Refusal] = []
        for reply in self._replies:
            if not reply.things or any(thing.key in taken for thing in reply.things) or not (reply.words or taken):
                continue  # one of several that were offered was taken, or nothing is known
            named = {thing.key for thing in self._named(reply.words)}
            only = tuple(thing for thing in reply.things if thing.key in named)
            refusals.append(replace(reply, things=only or reply.things))
        return tuple(refusals)

    def read_as(self, refused: Thing | None, accepted: tuple[Thing, ...]) -> None:
        """Take over what a model makes of the conversation: what the judged reply recommended and the user refused, and what was taken."""
        self.accepted = accepted
        if refused is None:
            self.refusals = ()
        elif not any(refused in refusal.things for refusal in self.refusals):
            judged = _Refusal((), "", self._lines[self.conversation.reply_at].place)
            told = next((each for each in self._replies if refused in each.things), [*self._replies, judged][0])
            self.refusals = (replace(told, things=(refused,)), *self.refusals)
        self.judged = self.judged or ((refused,) if refused else ())

    def why_nothing(self) -> str:
        """Say why nothing was refused."""
        place = self._lines[self.conversation.reply_at].place
        rows = (step.tool for line in self._lines for step in line.calls if self._has_nameless_rows(step))
        if not self.judged and (tool := next(rows, "")):
            return (
                f"{place}: no name is found in the rows of {tool}: say name: in tools/{tool}.yaml; nothing is proposed"
            )
        if not self.judged:
            return f"{place}: the reply recommends nothing that a tool returned: nothing is proposed"
        names = ", ".join(thing.name for thing in self.judged)
        return f"{place}: nothing tells that the user refused {names}: nothing is proposed"

    def _has_nameless_rows(self, step: Step) -> bool:
        """Return whether a call returned records of which its tool tells no name."""
        tool = self._tools.get(step.tool)
        rows = any("*" in path.split(".")[:-1] for path, _ in leaves_of(step.result))
        return rows and tool is not None and not tool.entities and not tool.profile

    def clock(self, words: str) -> tuple[str, str]:
        """Return the time that is asked about, and the place that told it before the reply.

        It is that of the user's later words, which no place told before; else that of the query, else the case's own. Empty where there is none.
        """
        at_query = self.conversation.query.place
        for text, place in ((words, ""), (self.query, at_query)):
            for opening in conditions_of(fold_text(text).text).openings:
                if len(opening.minutes) == 1:
                    return f"{opening.minutes[0] % _DAY // 60:02}:{opening.minutes[0] % 60:02}", place
        match = _CLOCK.search(self.conversation.context.now or "")
        return (match[1], self.conversation.now_at) if match else ("", "")

    def stated(self, condition: Difference, words: str) -> Difference:
        """Return a condition with the bound that the user's words give, where they give one that parts the things."""
        plain = bool(self.accepted and condition.likely) and not conditions_of(fold_text(words).text).openings
        figures = figures_in(words, condition.sort, plain=plain) if condition.bound else ()
        bounded = (condition.with_figure(figure) for figure in figures)
        return next((replace(field, worded=True) for field in bounded if field), condition)
