"""Proposals from a user's next step: the refused thing, the one taken instead, and the needs that distinguish the two, by rules or by a model."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, NamedTuple, get_args

from pytest_mapsat.formats import PersonalData, package_data
from pytest_mapsat.judges import JudgedDialogue as Reading
from pytest_mapsat.judges import speaks_to_a_model
from pytest_mapsat.llm import OF_THE_REPLY, ModelClient, ModelError, Request, prompt
from pytest_mapsat.model import (
    Evidence,
    Json,
    JsonObject,
    Mark,
    Requirement,
    ScriptedAnswer,
    Step,
    Tool,
    Visible,
    did_you_mean,
    digest,
    shown,
)
from pytest_mapsat.reading import conditions_of, fold_phrase, fold_text, lexicon_of, read

from .conversations import LoggedConversation, LoggedMessage, trajectory_of
from .evidence import (
    EarlierText,
    FieldDifference,
    RecordThing,
    Sort,
    Source,
    any_spoken,
    fields_apart,
    figures_in,
    in_full,
    is_figure,
    known_before_reply,
    language_of,
    leaves_of,
    linked_to,
    listed,
    opens,
    plain,
    requirement_of,
    sentences,
    support_for,
    takes,
    tells,
    words_of,
)

_CLOCK = re.compile(r"[T ](\d\d:\d\d)")
_DAY = 24 * 60
#: What is before it is the afternoon's where both may be meant.
_MORNING = 7 * 60
#: Words of the names of ids.
_IDENTITY = frozenset({"id", "ids", "sku", "code", "ref"})
#: So many phrases of questions ask for an answer.
_PHRASES = 12
_LONGEST = 300
#: So many conditions are proposed that nothing tells apart.
_MOST = 3


@dataclass(frozen=True)
class ProposingModel:
    """The model that proposes needs: its client, its litellm name, and its sampling parameters."""

    client: ModelClient
    name: str
    parameters: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Proposals:
    """The proposals of a conversation for its case: draft requirements, draft answers of the user, labels and notes.

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

    def noted(self, note: str) -> Proposals:
        """Return a copy with an additional note."""
        return replace(self, notes=(*self.notes, note))


@dataclass(frozen=True)
class _Refusal:
    """The things that a reply recommended, the user's words about them, and the place of these words."""

    things: tuple[RecordThing, ...]
    words: str
    place: str


def proposals_of(conversation: LoggedConversation, tools: Mapping[str, Tool]) -> Proposals:
    """Return proposals, found by rules, for the missed needs that the user's reaction shows.

    A need is a condition on a field in which what was refused differs from what was taken. Where the user's words name such fields, only these are proposed;
    else those for which there is evidence before the reply; else the likeliest, and a note says so. A refusal makes a hard requirement, words of preference
    or a silent choice a soft one; a need that the query states is asked.

    Args:
        conversation: the conversation.
        tools: its tools by name: they say where things with names stand in results.
    """
    talk = _ReadConversation(conversation, tools)
    refusals, accepted = talk.refusals, talk.accepted
    if not refusals:
        return Proposals(notes=(talk.why_nothing(),))
    earlier = tuple(known_before_reply(conversation, tools, talk.listing))
    chosen: dict[tuple[str, str], tuple[_Refusal, FieldDifference]] = {}
    notes: list[str] = []
    for refusal in refusals:
        clock, known_at = talk.clock(refusal)
        asked, things = f"{talk.query} {refusal.words}", [*talk.things.values()]
        fields = fields_apart(refusal.things, accepted, refusal.words, clock, asked=asked, things=things)
        supports = [support_for(talk.stated(each, refusal.words), earlier, known_at) for each in fields]
        kept, note = _conditions_to_propose(supports, refusal, talk)
        if kept and not any(support.evidence for support in kept):
            best = max(support.likely for support in kept)
            linked = [linked_to(support, refusal.words, earlier, talk.returned) for support in kept]
            kept = [each for each in linked if each.likely == best] if linked[0].evidence else kept
        notes += [note] if note else []
        for support in kept:
            chosen.setdefault((support.field, str(support.match)), (refusal, support))
    return _written([*chosen.values()], tuple(dict.fromkeys(notes)), talk)


def proposals_by_model(
    conversation: LoggedConversation, tools: Mapping[str, Tool], by_rules: Proposals, model: ProposingModel
) -> Proposals:
    """Return proposals for the needs that a model reads in the user's words, replacing the proposals found by rules.

    It is asked three times, and its replies are held against the records and lines.

    Args:
        conversation: the conversation.
        tools: its tools by name.
        by_rules: what the rules propose: it stays where the model cannot be asked or no reply of it can be read; else a note names what no reply has.
        model: the model.

    Raises:
        ModelError: there is no way to the model, or a ceiling is met.
    """
    talk = _ReadConversation(conversation, tools)
    if not talk.things:
        return by_rules.noted(f"{model.name} is not asked: no result has a thing with a name")
    data, lines = _shown(conversation, tuple(known_before_reply(conversation, tools, talk.listing)), talk.things)
    replies = _replies_to(model, data, conversation.language)
    if not any(replies):
        return by_rules.noted(f"{model.name}: no reply can be read: the rules decide")
    notes: dict[str, None] = {}
    # What no two replies agree on is left to the rules.
    known = tuple(thing for refusal in talk.refusals for thing in refusal.things)
    refused = _agreed(replies, "refused", talk.things, known, notes)
    accepted = _agreed(replies, "accepted", talk.things, talk.accepted, notes)
    # So is what a later reply recommended and the user refused, too.
    later = [thing for thing in known if refused and thing not in (*refused, *accepted)]
    together: dict[tuple[Json, ...], list[_Vote]] = {}
    for number, reply in enumerate(replies, 1):
        for written in (reply or {}).get("needs", ())[:_NEEDS]:
            need = written if isinstance(written, dict) else {"field": written}
            try:
                vote = _Vote(number, _meant(need, talk.things, [*refused, *later], accepted), need)
            except _RefusedError as error:
                words = " ".join(_text(need, key)[:60] for key in ("field", "op", "value")).strip()
                notes[f"{model.name}: {words}: refused: {error}".strip()] = None
            else:
                together.setdefault(vote.about, []).append(vote)
    talk = _ReadConversation(conversation, tools)
    talk.read_as(refused[0] if refused else None, accepted)
    chosen: list[tuple[_Refusal, FieldDifference]] = []
    for group in together.values():
        count = len({vote.reply for vote in group})
        note = f"{model.name}, {count} of {_REPLIES} replies: {_text(group[0].need, 'why')}"
        support = _support(group, lines, note)
        notes[f"{support.field}: {note}"] = None
        broken = (each for each in talk.refusals if False in map(support.kept_by, each.things))
        chosen.append((next(broken, talk.refusals[0]), support))
    paths = {support.field for _, support in chosen}
    left = [part.text for part in by_rules.requirements if not any(path in part.text for path in paths)]
    left += [answer.say for answer in by_rules.answers if paths.isdisjoint(answer.asked)]
    if left:
        notes[f"the rules propose, and no reply of {model.name}: {'; '.join(left)}"] = None
    return _written(chosen, tuple(notes), talk)


def _conditions_to_propose(
    supports: Sequence[FieldDifference], refusal: _Refusal, talk: _ReadConversation
) -> tuple[list[FieldDifference], str]:
    """Return the conditions to propose for a refusal (named ones, otherwise those with evidence, otherwise all likely ones), and a note or ""."""
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


def _likely(supports: Sequence[FieldDifference]) -> list[FieldDifference]:
    """Return the conditions that are plausible needs or have strong evidence, most likely first."""
    strong = (each.worded or any(part.relevance == "strong" for part in each.evidence) for each in supports)
    likely = [each for each, is_strong in zip(supports, strong, strict=True) if each.likely or is_strong]
    return sorted(likely, key=lambda support: -support.likely)


def _without_details(supports: Sequence[FieldDifference]) -> list[FieldDifference]:
    """Return conditions without figures and texts that merely detail a boolean in the same part of a record."""
    flags = {support.field.rpartition(".")[0] for support in supports if isinstance(support.value, bool)}
    parts = flags - {""}
    return [each for each in supports if isinstance(each.value, bool) or each.field.rpartition(".")[0] not in parts]


def _written(
    chosen: Sequence[tuple[_Refusal, FieldDifference]], notes: tuple[str, ...], talk: _ReadConversation
) -> Proposals:
    """Return chosen conditions as proposals: requirements if they have evidence, otherwise the user's answers; with labels."""
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
        evidence = {"source": support.source, "evidence": support.evidence}
        requirements.append(requirement_of(name, kind, words, where, evidence, forbids=support.forbids, draft=True))
        for labels, things in ((logged, talk.judged), (agreed, talk.agreed)):
            kept = [support.kept_by(thing) for thing in things]
            if False in kept:
                labels[name] = "failed"
            elif kept and None not in kept:
                labels[name] = "passed"
    why = {name: reason for name, reason in why.items() if name in logged}
    return Proposals(tuple(requirements), tuple(_joined(answers)), notes, logged, agreed, why)


def _why(refusal: _Refusal, path: str, talk: _ReadConversation) -> str:
    """Return the user's words about a reply, and the values of one field for the refused and the chosen things."""
    words = f"{refusal.place}: {shown(refusal.words)}" if refusal.words else "another thing was taken without a word"
    things = (*refusal.things, *talk.accepted)
    given = ((thing.name, ", ".join(map(shown, thing.values.get(path, ())))) for thing in things)
    values = [f"{name}: {texts or 'not given'}" for name, texts in given]
    return f"{words}; {path} of {'; '.join(values)}"[:_LONGEST]


def _joined(answers: Sequence[ScriptedAnswer]) -> Iterator[ScriptedAnswer]:
    """Yield answers, merging answers with equal text into one that has all their phrases."""
    for say in dict.fromkeys(answer.say for answer in answers):
        asked = dict.fromkeys(phrase for answer in answers if answer.say == say for phrase in answer.asked)
        yield ScriptedAnswer(asked=tuple(asked), say=say, draft=True)


def _strength(words: str) -> Literal["hard", "soft"]:
    """Return ``soft`` for words that only express a preference, or no words; otherwise ``hard``."""
    if any_spoken(words, listed("refuses")):
        return "hard"
    return "soft" if not words or any_spoken(words, listed("prefers")) else "hard"


def _in_words(condition: FieldDifference, *, chinese: bool) -> str:
    """Return a condition as the text of a requirement, in English or Chinese."""
    sort, value = condition.sort, condition.value
    value = json.dumps(value, ensure_ascii=False) if sort == "is" else plain(value)
    words = package_data(__package__, "keys.yaml")["sorts_in_words"]["zh" if chinese else "en"][sort].format(value)
    if chinese:
        return f"{'没有推荐' if condition.forbids else '推荐的每一个都是'}：{condition.field} {words}"
    what = "Nothing" if condition.forbids else "Everything"
    return f"{what} that is recommended has {condition.field}: {words}"


def _name(condition: FieldDifference, number: int) -> str:
    """Return an id for the requirement of a condition, from its field and text, otherwise from its need."""
    words = [*words_of(condition.field), *(words_of(condition.text) if condition.sort != "is" else ())]
    name = "-".join(word for word in words if word.isascii())[:60].strip("-")
    need = condition.needs[0].name.replace(" ", "-") if condition.needs else f"need-{number}"
    return name or need


def _answer(refusal: _Refusal, condition: FieldDifference, talk: _ReadConversation) -> ScriptedAnswer:
    """Return the user's scripted answer about a need without evidence: the relevant part of the objection, otherwise all of it."""
    spoken_of = [each for each in sentences(refusal.words) if condition.named_in(each, talk.descriptions)]
    say = " ".join(spoken_of) or refusal.words or _in_words(condition, chinese=talk.chinese)
    language = [phrase for need in condition.needs for phrase in (*need.words, *need.fields)]
    phrases = [phrase for phrase in language if language_of(phrase) == talk.conversation.language]
    own = [*([condition.text] if condition.text else []), *filter(tells, words_of(condition.field)), condition.field]
    asked = tuple(dict.fromkeys([*phrases[: _PHRASES - len(own)], *own]))[:_PHRASES]
    return ScriptedAnswer(asked=asked, say=say[:_LONGEST], draft=True)


def _clock_of(minute: int) -> str:
    """Return a minute of this or the next day as a time of day."""
    return f"{minute % _DAY // 60:02}:{minute % 60:02}"


class _ReadConversation:
    """A conversation with the recommendations in its replies, and the things that the user refused and chose."""

    def __init__(self, conversation: LoggedConversation, tools: Mapping[str, Tool]) -> None:
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
        """The reading of the entire conversation."""
        return self._read(self._lines)

    @cached_property
    def listing(self) -> frozenset[str]:
        """The tools that returned named things other than people or legs of a route."""
        return frozenset(entity.tool for entity in self._all.entities if entity.sort not in ("person", "leg"))

    @cached_property
    def things(self) -> Mapping[str, RecordThing]:
        """The named things in all tool results, by key; several records of one thing are merged."""
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
            key: RecordThing(key, names[key], {path: tuple(parts) for path, parts in own.items()})
            for key, own in values.items()
        }

    @cached_property
    def descriptions(self) -> Mapping[str, Sequence[str]]:
        """Words in tool descriptions for each field, from a parameter of its name or a clause that mentions it."""
        words: dict[str, list[str]] = {}
        fields = {path.split(".")[-1] for thing in self.things.values() for path in thing.values}
        for tool in self._tools.values():
            parameters = tool.parameters.get("properties", {})
            for name in fields:
                own = parameters.get(name, {}) if isinstance(parameters, dict) else {}
                texts = [str(own.get("description", ""))] if isinstance(own, dict) else []
                clauses = re.split(r"[,;.，。；\n]", tool.description)
                texts += [clause for clause in clauses if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", clause)]
                words.setdefault(name, []).extend(word for text in texts for word in words_of(text) if tells(word))
        return words

    def _read(self, lines: Sequence[LoggedMessage]) -> Reading:
        """Return lines in the form that checks read."""
        visible = Visible(query=self.query or "?", context=self.conversation.context)
        return Reading(trajectory_of(lines), self._tools, visible, language=self.conversation.language)

    def _recommended(self, index: int) -> tuple[RecordThing, ...]:
        """Return the recommendations of the reply at an index; a thing that is only described counts if it is the only one."""
        standings = self._read(self._lines[: index + 1]).standings("last")
        ours = [standing for key, standing in standings.items() if key in self.things]
        chosen = [standing for standing in ours if standing.proposed]
        open_ = [standing for standing in ours if standing.proposed is None]
        return tuple(self.things[standing.key] for standing in chosen or (open_ if len(open_) == 1 else ()))

    def _named(self, text: str) -> list[RecordThing]:
        """Return the things that a text names unambiguously."""
        hits = [hit for hit in self._all.lexicon.find(fold_phrase(text)) if len(hit.keys) == 1]
        return list({hit.keys[0]: self.things[hit.keys[0]] for hit in hits if hit.keys[0] in self.things}.values())

    @cached_property
    def returned(self) -> str:
        """The arguments and results of all calls as one folded text."""
        data = [[dict(step.arguments), step.result] for line in self._lines for step in line.calls]
        return fold_phrase(json.dumps(data, ensure_ascii=False))

    @cached_property
    def judged(self) -> tuple[RecordThing, ...]:
        """The things that the judged reply recommends."""
        return self._recommended(self.conversation.reply_at)

    @cached_property
    def _replies(self) -> tuple[_Refusal, ...]:
        """The replies from the judged to the accepted reply, each with its recommendations and the user's next words."""
        start, end = self.conversation.reply_at, self._taken_at
        if end is None and self.conversation.accepted_at is not None:
            return ()  # the user took what the reply that is judged says
        replies: list[_Refusal] = []
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
            replies.append(_Refusal(things, words, place))
        return tuple(replies)

    @cached_property
    def accepted(self) -> tuple[RecordThing, ...]:
        """The things that the user chose, as shown by a call, otherwise by the user's words, otherwise by the accepted reply."""
        behind = self._lines[self.conversation.reply_at + 1 :]
        taking = (step for line in behind for step in line.calls if self._takes(line, step))
        taken = [thing for step in taking for thing in self._meant(step)]
        refused = {thing.key for reply in self._replies for thing in reply.things}
        if not taken:
            words = [line.text for line in behind if line.role == "user"]
            taken = [thing for text in words for thing in self._named(text) if thing.key not in refused]
        if not taken and self._taken_at is not None:
            taken = [thing for thing in self._recommended(self._taken_at) if thing.key not in refused]
            mentioned = [thing for thing in self._named(self._lines[self._taken_at].text) if thing.key not in refused]
            taken = taken or (mentioned if len(mentioned) == 1 else [])  # "shall I take X?", and the user said yes
        return tuple({thing.key: thing for thing in taken}.values())

    @property
    def agreed(self) -> tuple[RecordThing, ...]:
        """The things that the accepted reply recommends; without such a reply, the things that the user chose."""
        return self.accepted if self._taken_at is None else self._recommended(self._taken_at)

    def _takes(self, line: LoggedMessage, step: Step) -> bool:
        """Return whether a call books or orders a thing: the user makes it, its tool writes, or its tool's name indicates this."""
        writes = step.tool in self._tools and self._tools[step.tool].effect == "write"
        return step.kind == "call" and (line.role == "user" or writes or takes(step.tool))

    def _meant(self, step: Step) -> Iterator[RecordThing]:
        """Yield the things that a call's arguments identify by id or name."""
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
        """The recommendations that the user refused, limited to the things in the user's words, if these name any."""
        taken = {thing.key for thing in self.accepted}
        refusals: list[_Refusal] = []
        for reply in self._replies:
            if not reply.things or any(thing.key in taken for thing in reply.things) or not (reply.words or taken):
                continue  # one of several that were offered was taken, or nothing is known
            mentioned = {thing.key for thing in self._named(reply.words)}
            only = tuple(thing for thing in reply.things if thing.key in mentioned)
            refusals.append(replace(reply, things=only or reply.things))
        return tuple(refusals)

    def read_as(self, refused: RecordThing | None, accepted: tuple[RecordThing, ...]) -> None:
        """Replace the refused, chosen and judged things with a model's reading of the conversation."""
        self.accepted = accepted
        if refused is None:
            self.refusals = ()
        elif not any(refused in refusal.things for refusal in self.refusals):
            judged = _Refusal((), "", self._lines[self.conversation.reply_at].place)
            reply = next((each for each in self._replies if refused in each.things), [*self._replies, judged][0])
            self.refusals = (replace(reply, things=(refused,)), *self.refusals)
        self.judged = self.judged or ((refused,) if refused else ())

    def why_nothing(self) -> str:
        """Return a note that explains why no refusal was found."""
        place = self._lines[self.conversation.reply_at].place
        rows = (step.tool for line in self._lines for step in line.calls if self._has_nameless_rows(step))
        if not self.judged and (tool := next(rows, "")):
            hint = f"say name: in tools/{tool}.yaml"
            return f"{place}: no name is found in the rows of {tool}: {hint}; nothing is proposed"
        if not self.judged:
            return f"{place}: the reply recommends nothing that a tool returned: nothing is proposed"
        names = ", ".join(thing.name for thing in self.judged)
        return f"{place}: nothing shows that the user refused {names}: nothing is proposed"

    def _has_nameless_rows(self, step: Step) -> bool:
        """Return whether a call returned rows although its tool declares no named things and is not a profile."""
        tool = self._tools.get(step.tool)
        rows = any("*" in path.split(".")[:-1] for path, _ in leaves_of(step.result))
        return rows and tool is not None and not tool.entities and not tool.profile

    def clock(self, refusal: _Refusal) -> tuple[str, str]:
        """Return the time of day that the user asks about, and the earlier place that states it.

        It is that of the user's later words, which no place told before; else that of the query, else the case's own. Empty where there is none. Of several
        times ("half seven" may be in the morning), and of any that is not about opening, it is the first at which what was refused is shut and what was taken
        is open; a time at which something closes is the user's own only where there is no other.
        """
        said = [(line.text, line.place) for line in self._lines[: self.conversation.reply_at] if line.role == "system"]
        for text, place in ((refusal.words, ""), (self.query, self.conversation.query.place), *said):
            full = in_full(text)
            times = read(full, language=language_of(text), lexicon=lexicon_of(())).times
            own = [time for time in times if time.role != "closing"] or times
            minutes = sorted((minute for time in own for minute in time.minutes), key=lambda minute: minute < _MORNING)
            openings = (
                []
                if (text, place) in said
                else [
                    each.minutes[0] for each in conditions_of(fold_text(full).text).openings if len(each.minutes) == 1
                ]
            )
            apart = (minute for minute in minutes if self._apart_at(_clock_of(minute), refusal))
            if (minute := next(chain(apart, openings), None)) is not None:
                return _clock_of(minute), place
        match = _CLOCK.search(self.conversation.context.now or "")
        return (match[1], self.conversation.now_at) if match else ("", "")

    def _apart_at(self, clock: str, refusal: _Refusal) -> bool:
        """Return whether opening hours at a time of day distinguish the refused things from the chosen ones."""
        paths = dict.fromkeys(path for thing in refusal.things for path in thing.values)
        shut = [
            path
            for path in paths
            if any(opens(value, clock) is False for thing in refusal.things for value in thing.values.get(path, ()))
        ]
        return any(
            all(opens(value, clock) for thing in self.accepted for value in thing.values.get(path, ())) for path in shut
        )

    def stated(self, condition: FieldDifference, words: str) -> FieldDifference:
        """Return a condition with a bound from the user's words, if such a bound separates the things; otherwise unchanged."""
        plain = bool(self.accepted and condition.likely) and not conditions_of(fold_text(in_full(words)).text).openings
        figures = figures_in(words, condition, plain=plain) if condition.bound else ()
        bounded = (condition.with_figure(figure) for figure in figures)
        return next((replace(field, worded=True) for field in bounded if field), condition)


# -- what a model reads: it is asked three times, its replies are merged by agreement, and records and lines decide what may come of them --

#: How often a model is asked, and in how many of its replies something must stand to be agreed on.
_REPLIES, _AGREED = 3, 2
#: What a model is shown: lines before the judged reply and behind it, things and their fields, values of one field or result, characters of a message, and of any other text.
_LINES_BEFORE, _LINES_BEHIND, _THINGS = 100, 40, 20
_FIELDS, _VALUES, _MESSAGE_CHARS, _CHARS = 40, 20, 1500, 300
#: What is read of a reply, and the most lines of one need.
_NEEDS, _LINES = 20, 12
#: What it may say of a field; those of values may be turned round.
_OPS: Mapping[str, Sort] = package_data(__package__, "keys.yaml")["operators"]
_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_Kind = Literal["asked", "hard", "soft"]
_KINDS: tuple[_Kind, ...] = get_args(_Kind)


def _object(**properties: JsonObject) -> JsonObject:
    """Return the JSON Schema of an object with these properties, all required and no others allowed."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


_TEXT: JsonObject = {"type": "string"}
#: The form of a reply. The reason of a need comes first: what is written first is thought first.
_NEED = _object(
    why=_TEXT,
    lines={"type": "array", "items": _TEXT},
    field=_TEXT,
    op={**_TEXT, "enum": [*_OPS]},
    value=_TEXT,
    kind={**_TEXT, "enum": [*_KINDS]},
)
_SCHEMA = _object(refused=_TEXT, accepted={"anyOf": [_TEXT, {"type": "null"}]}, needs={"type": "array", "items": _NEED})
_Row = tuple[str, str, EarlierText | None]


# -- what the model is shown and asked


def _shown(
    conversation: LoggedConversation, earlier: Sequence[EarlierText], things: Mapping[str, RecordThing]
) -> tuple[JsonObject, dict[str, EarlierText]]:
    """Return the data for the model, and by line name the earlier texts that an agent could know before the reply."""
    places = {line.place for line in conversation.lines}
    known = [part for part in earlier if part.place not in places][:_LINES_BEFORE]
    if conversation.context.now:
        known.append(EarlierText(conversation.query.place, "environment", "", "now", conversation.context.now))
    before: list[_Row] = []
    behind: list[_Row] = []
    for index, line in enumerate(conversation.lines):
        steps = (step for step in line.calls if step.kind == "call")
        texts = (f"{step.tool} {json.dumps(step.arguments, ensure_ascii=False)}"[:_CHARS] for step in steps)
        calls: list[_Row] = [("call", text, None) for text in texts]
        spoken: list[_Row] = [(line.role, line.text[:_MESSAGE_CHARS], None)] if line.text else []
        parts = [part for part in earlier if part.place == line.place]
        values = [part for part in parts if part.path][:_VALUES]
        results: list[_Row] = [("result", part.quote, part) for part in values]
        if index > conversation.reply_at:
            behind += [*calls, *spoken]
        elif line.role == "agent":
            before += [*calls, *results, *(spoken if index < conversation.reply_at else ())]
        else:
            before += [*_told_by(line, parts, is_query=index == conversation.query_at), *calls, *results]
    judged = conversation.lines[conversation.reply_at]
    rows: list[_Row] = [("context", part.quote, part) for part in known]
    rows += [*before[-_LINES_BEFORE:], (judged.role, judged.text[:_MESSAGE_CHARS], None)]
    reply = len(rows)
    rows += behind[:_LINES_BEHIND]
    row_by_name = {f"L{number}": row for number, row in enumerate(rows, 1)}
    words = fold_phrase(" ".join(text for _, text, _ in rows))
    ranked = sorted(things.values(), key=lambda thing: fold_phrase(thing.name) not in words)
    data: JsonObject = {
        "query": [name for name, (_, _, part) in row_by_name.items() if part is not None and part.asked],
        "reply": f"L{reply}",
        "lines": [{"line": name, who: text} for name, (who, text, _) in row_by_name.items()],
        "records": [{"name": thing.name, **_record(thing)} for thing in ranked[:_THINGS]],
    }
    return data, {name: part for name, (_, _, part) in row_by_name.items() if part is not None}


def _told_by(line: LoggedMessage, parts: Sequence[EarlierText], *, is_query: bool) -> list[_Row]:
    """Return the sentences of a message before the reply as rows; the user's answers also count as known."""
    texts = [part for part in parts if not part.path]
    if line.role == "user" and not texts:
        texts = [EarlierText(line.place, "context", text) for text in sentences(line.text)]
    return [(line.role if part.asked or not is_query else "history", part.text[:_CHARS], part) for part in texts]


def _record(thing: RecordThing) -> JsonObject:
    """Return a thing's values by field, with lists and texts cut to the displayed length."""
    fields = [*thing.values.items()][:_FIELDS]
    return {path: _cut(values[0] if len(values) == 1 else list(values)) for path, values in fields}


def _cut(value: Json) -> Json:
    """Return a text or list cut to the displayed length; any other value unchanged."""
    if isinstance(value, list):
        return [_cut(member) for member in value[:_VALUES]]
    return value[:_CHARS] if isinstance(value, str) else value


def _replies_to(model: ProposingModel, data: JsonObject, language: str) -> list[JsonObject | None]:
    """Ask a model about data several times in parallel, and return each reply as an object, or None if it is unreadable.

    It is shown the data between fences with a digest of them, which no text in them can know. Personal data are replaced.

    Raises:
        ModelError: there is no way to the model, or a ceiling is met.
    """
    personal = PersonalData()
    personal.look(data, "log")
    cleaned = personal.clean(data)
    members = cleaned.items() if isinstance(cleaned, dict) else ()
    text = "{\n" + ",\n".join(f"{json.dumps(key)}: {_lines(value)}" for key, value in members) + "\n}"
    fence = f"=== {digest(text, 12)} ==="
    request = Request(
        model=model.name,
        messages=(
            {"role": "system", "content": prompt("propose_conversation", language).fill(fence=fence)},
            {"role": "user", "content": f"{fence}\n{text}\n{fence}"},
        ),
        schema_=_SCHEMA,
        parameters=dict(model.parameters),
        purpose="builder",
    )
    votes = [request.model_copy(update={"vote": number}) for number in range(1, _REPLIES + 1)]
    with ThreadPoolExecutor(max_workers=_REPLIES) as pool:
        return list(pool.map(lambda vote: _reply(model, vote, language), votes))


def _reply(model: ProposingModel, request: Request, language: str) -> JsonObject | None:
    """Return the model's reply to a request; retry once, then return None if the reply is still unreadable."""
    messages = request.messages
    for _ in range(2):
        try:
            answer = model.client.ask(request)
        except ModelError as error:
            if error.kind not in OF_THE_REPLY or error.kind == "too_long":
                raise
            problem, before = str(error), []
        else:
            if answer.data is not None and isinstance(answer.data.get("needs"), list):
                return answer.data
            problem, before = 'it has no list "needs"', [{"role": "assistant", "content": answer.text}]
        again = prompt("propose_again", language).fill(problem=problem)
        asked = (*messages, *before, {"role": "user", "content": again})
        request = request.model_copy(update={"messages": asked})
    return None


def _lines(value: Json) -> str:
    """Return a value as JSON text, with each member of a list on its own line."""
    if not isinstance(value, list) or not value:
        return json.dumps(value, ensure_ascii=False)
    return "[\n" + ",\n".join(json.dumps(member, ensure_ascii=False) for member in value) + "\n]"


# -- what can be used of the replies


class _RefusedError(Exception):
    """Raised for a model's proposal that cannot be used; the message says why."""


class _Vote(NamedTuple):
    """A usable proposal of a model: the number of its reply, its condition, and the proposal as written."""

    reply: int
    condition: FieldDifference
    need: JsonObject

    @property
    def about(self) -> tuple[Json, ...]:
        """The key that groups equal proposals; bounds on one field are equal whatever their figures."""
        condition = self.condition
        value = condition.value if condition.sort in ("is", "has") else None
        return condition.field, condition.sort, condition.forbids, value


def _text(reply: Mapping[str, Any], key: str) -> str:
    """Return a value of a reply as one line of printable text; empty for missing values, lists and objects."""
    value = reply.get(key)
    value = json.dumps(value) if isinstance(value, (bool, int, float)) else value
    text = value[:_CHARS] if isinstance(value, str) else ""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _agreed(
    replies: Sequence[JsonObject | None],
    key: Literal["refused", "accepted"],
    things: Mapping[str, RecordThing],
    by_rules: tuple[RecordThing, ...],
    notes: dict[str, None],
) -> tuple[RecordThing, ...]:
    """Return the thing that two replies name; without such agreement, the thing that the rules found."""
    counts: Counter[str] = Counter()
    names = {fold_phrase(thing.name): known for known, thing in things.items()}
    for reply in filter(None, replies):
        name = _text(reply, key)
        if name and fold_phrase(name) not in names:
            hint = did_you_mean(name, [thing.name for thing in things.values()])
            notes[f"{key}: {name}: no record has this name {hint}".strip()] = None
        else:
            counts[names[fold_phrase(name)] if name else ""] += 1
    best, count = counts.most_common(1)[0] if counts else ("", 0)
    if count < _AGREED:
        taken = ", ".join(thing.name for thing in by_rules) or "none"
        notes[f"{key}: no two of {_REPLIES} replies agree: {taken}, by the rules"] = None
        return by_rules
    # Several things may have been refused or taken: the one that is named among them leaves the others.
    return by_rules if best in {thing.key for thing in by_rules} else (things[best],) if best else ()


def _meant(
    need: JsonObject, things: Mapping[str, RecordThing], refused: Sequence[RecordThing], accepted: Sequence[RecordThing]
) -> FieldDifference:
    """Return the condition that a model's proposal describes.

    Raises:
        _RefusedError: the records do not have it, or it does not tell what was refused from what was taken.
    """
    path, op, text = (_text(need, key) for key in ("field", "op", "value"))
    if op not in _OPS:
        raise _RefusedError(f"op is none of {', '.join(_OPS)}")
    values = [value for thing in things.values() for value in thing.values.get(path, ()) if value is not None]
    if not values:
        paths = {name for thing in things.values() for name in thing.values}
        raise _RefusedError(f"the records have no such field {did_you_mean(path, paths)}")
    forbids, sort, value = op.endswith("_not"), _OPS[op], _value(_OPS[op], text, values)
    if sort in ("is", "has"):
        # Which of the two is meant follows from what the field has.
        sort = "has" if any(isinstance(each, list) for each in values) else "is"
        if isinstance(value, bool) and forbids:
            sort, value, forbids = "is", not value, False
    condition = FieldDifference(path, sort, value, forbids)
    if not refused:
        raise _RefusedError("nothing was refused")
    if all(condition.kept_by(thing) for thing in refused):
        raise _RefusedError("what was refused keeps it")
    if any(condition.kept_by(thing) is False for thing in accepted):
        raise _RefusedError("what was taken breaks it")
    return condition


def _value(sort: Sort, text: str, values: Sequence[Json]) -> Json:
    """Return a proposal's value in the type of the field. Raises _RefusedError for a value of another type."""
    if sort == "open_at":
        if not _TIME_OF_DAY.fullmatch(text):
            raise _RefusedError("the value is no time of day")
        if all(opens(part, text) is None for part in values):
            raise _RefusedError("the field has no opening hours")
        return text
    if sort in ("least", "most"):
        try:
            figure = float(text)
        except ValueError:
            figure = math.nan
        if not math.isfinite(figure):
            raise _RefusedError("the value is no figure")
        if not any(is_figure(part) for part in values):
            raise _RefusedError("the field has no figures")
        return figure
    parts = [part for each in values for part in (each if isinstance(each, list) else [each])]
    parts += [True, False] if any(isinstance(part, bool) for part in parts) else []
    by_text = {_spelt(part): part for part in parts if isinstance(part, str | bool | int | float)}
    if text.casefold() not in by_text:
        raise _RefusedError(f"the records have no such value {did_you_mean(text, by_text)}")
    return by_text[text.casefold()]


def _spelt(value: Json) -> str:
    """Return a value as lower-case text, to compare a model's spelling."""
    return (value if isinstance(value, str) else json.dumps(value)).casefold()


def _support(group: Sequence[_Vote], lines: Mapping[str, EarlierText], note: str) -> FieldDifference:
    """Merge votes on one condition: the median bound, the majority's kind, and quoted log lines as evidence.

    A line that two replies name is a strong sign, else a weak one; one that speaks to a model tells nothing. The kind is that of most replies, else soft.
    """
    condition = sorted((vote.condition for vote in group), key=lambda each: each.value)[(len(group) - 1) // 2]
    lines_of_votes = (dict.fromkeys(map(str, _list(vote.need.get("lines"))[:_LINES])) for vote in group)
    votes = Counter(name for names in lines_of_votes for name in names if name in lines)
    quotable = {name: lines[name] for name in votes if not speaks_to_a_model(lines[name].quote)}
    given = Counter(str(vote.need.get("kind")) for vote in group)
    kind = next((kind for kind in _KINDS if 2 * given[kind] > len(group)), "soft")
    asked = kind == "asked" and any(part.asked for part in quotable.values())
    quotes = [part.evidence("strong" if votes[name] >= _AGREED else "weak") for name, part in quotable.items()]
    source: Source | Literal["unstated"] = next((part.source for part in quotable.values()), "unstated")
    evidence = (Evidence(text=note), *quotes) if quotes else ()
    return replace(condition, asked=asked, source=source, evidence=evidence, kind="soft" if kind == "soft" else "hard")


def _list(value: Json) -> list[Json]:
    """Return a value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []
