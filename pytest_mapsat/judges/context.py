"""The material of a check: one trajectory and the tools of its suite. Each reply is opened once and read for all checks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from typing import TypeVar

from pytest_mapsat.interpreter import cached
from pytest_mapsat.model import (
    Bound,
    Calibration,
    Case,
    Check,
    Json,
    JsonObject,
    Quote,
    ReferenceEnd,
    ReplySize,
    Step,
    Tool,
    Trajectory,
    Turn,
    Visible,
    WhichReply,
    leaves,
)
from pytest_mapsat.reading import (
    ClockTime,
    Document,
    Lexicon,
    Mention,
    Quantity,
    Span,
    TextPage,
    Thing,
    Vocabulary,
    fold_phrase,
    lexicon_of,
    open_page,
    pack_of,
    read_names,
    read_page,
)
from pytest_mapsat.sandbox import End, SandboxSuite, end_of, maybe_writing, play_reference, reference_digest

from .claims import JudgedClaim, weigh
from .evidence import FigureExplainer, KnownEvidence, Returned, Value, evidence, remembered_in
from .findings import Finding, shipped
from .python_check import Blocks, Decided, Episode
from .things import (
    Entity,
    Recommendation,
    find_entities,
    named_in_fields,
    names_in,
    phrases_in,
    standings,
    things_of,
    unknown_names,
    word_at,
)

_Reply = TypeVar("_Reply", bound=Document | None)
#: A number that stands by itself: no part of a name, a time or a date.
_NUMERAL = re.compile(r"(?<![\w.,:/-])(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.\d{1,15})?(?![\w:/-]|[.,]\d)")
#: Fewer characters say nothing that could only be copied.
_SHORTEST_COPY = 12
#: A call that may have been made, and of which nothing is known.
_LACKING = Step(kind="call", status="unknown", unknown=("arguments", "result", "changed"))


@dataclass(frozen=True, eq=False)
class JudgedDialogue:
    """One trajectory under judgement.

    Attributes:
        trajectory: the dialogue.
        tools: the suite's tools by name; they say where things with names stand in their results.
        visible: what the agent was shown of the case, as evidence for its claims; None where it is not known.
        language: BCP 47 tag of the case.
        vocabulary: domain words of the suite.
        names: names of things that checks speak of; those of one element mean the same.
        phrases: words that checks look for as they are.
        checks: the checks that names and phrases are those of.
        case: the case that the dialogue is of; None where it is not known.
        suite: what its sandbox is made from; None: nothing can be told of the end state.
        calibration: which failures that rest on reading prose stand.
        found: what the body of a case in Python says of its requirements, by id.
        ask: has a judging model say whether a sentence holds, and counts in the blocks that ask what that spends; None where no model judges.
        late: those of its calls that came when no reply was under way, where they count: the dialogue is judged with and without them.
    """

    trajectory: Trajectory
    tools: Mapping[str, Tool]
    visible: Visible | None = None
    language: str = "en"
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    names: frozenset[tuple[str, ...]] = frozenset()
    phrases: frozenset[str] = frozenset()
    checks: tuple[Check, ...] = ()
    case: Case | None = None
    suite: SandboxSuite | None = None
    calibration: Calibration = field(default_factory=shipped)
    found: Mapping[str, Finding] = field(default_factory=dict)
    ask: Callable[[str, Blocks | None], Finding] | None = None
    late: tuple[Step, ...] = ()
    _standings: dict[WhichReply, dict[str, Recommendation]] = field(default_factory=dict, init=False)
    _explained: dict[int, FigureExplainer] = field(default_factory=dict, init=False)

    @classmethod
    def of(
        cls,
        case: Case,
        trajectory: Trajectory,
        tools: Mapping[str, Tool],
        *,
        vocabulary: Vocabulary | None = None,
        suite: SandboxSuite | None = None,
        calibration: Calibration | None = None,
    ) -> JudgedDialogue:
        """Return the context of a case's dialogue, with replies searched for the names and words in all its checks."""
        context = cls(
            trajectory,
            tools,
            case.visible,
            language=case.language,
            vocabulary=vocabulary or Vocabulary(),
            case=case,
            suite=suite,
            calibration=calibration or shipped(),
        )
        return context.knowing(case.truth.checks)

    def decided_by(self, decided: Decided | None) -> JudgedDialogue:
        """Return the context with the findings of a Python case's body; unchanged if there are no findings."""
        return self if decided is None else replace(self, found=decided.findings)

    def knowing(self, checks: Iterable[Check]) -> JudgedDialogue:
        """Return a context with replies searched also for the names and phrases in these checks."""
        listed = tuple(check for check in checks if id(check) not in self._known)
        if not listed:
            return self
        names = self.names.union(*(names_in(check) for check in listed))
        phrases = self.phrases.union(*(phrases_in(check) for check in listed))
        if names == self.names and phrases == self.phrases:
            return self
        return replace(self, names=names, phrases=phrases, checks=(*self.checks, *listed))

    @cached
    def with_late_calls(self) -> JudgedDialogue:
        """The same dialogue, with the calls after the last reply added to that reply."""
        late = tuple(step for step in self.trajectory.after_end if step.tool in self.tools)
        turns = [*self.trajectory.turns]
        if self.trajectory.replies:
            last = max(index for index, turn in enumerate(turns) if turn.role == "agent")
            turns[last] = turns[last].model_copy(update={"steps": (*turns[last].steps, *late)})
        else:
            turns.append(Turn(role="agent", text="", steps=late))
        return replace(self, trajectory=self.trajectory.model_copy(update={"turns": tuple(turns)}), late=late)

    @cached
    def _known(self) -> frozenset[int]:
        """The object ids of the checks whose words were already searched for; the context holds the checks, so the ids stay valid."""
        return frozenset(map(id, self.checks))

    def is_fact(self, check: Check) -> bool:
        """Return whether a check belongs to one of the case's facts."""
        facts = self.case.truth.facts if self.case else ()
        return any(part is check for fact in facts if fact.check for part in leaves(fact.check))

    @cached
    def lexicon(self) -> Lexicon:
        """The lexicon of all things that replies may name."""
        return lexicon_of(things_of(self.entities, sorted(self.names)))

    @cached
    def keys(self) -> frozenset[str]:
        """The keys of all things that replies may name."""
        return frozenset(thing.key for thing in self.lexicon.things)

    @cached
    def pages(self) -> tuple[tuple[int, TextPage], ...]:
        """The agent's replies that are not blank, each with its turn's index; text copied from the user or results is blanked."""
        return tuple(
            (index, open_page(own, language=self.language, vocabulary=self.vocabulary, written=turn.text))
            for index, turn in enumerate(self.trajectory.turns)
            if turn.role == "agent" and fold_phrase(turn.text)
            for own in [self._own(turn.text, index)]
        )

    @cached
    def replies(self) -> tuple[Document, ...]:
        """The replies that are not blank, read with the case's things as lexicon."""
        now = (self.visible.context.now or "") if self.visible else ""
        return tuple(read_page(page, self.lexicon, now=now, turn=turn) for turn, page in self.pages)

    @cached
    def worded(self) -> tuple[Document, ...]:
        """The replies, searched for the phrases of checks; a phrase is not a thing to which figures could belong."""
        if not self.phrases:
            return self.replies
        lexicon = lexicon_of(tuple(Thing(phrase, (phrase,)) for phrase in sorted(self.phrases)), shortened=False)
        return tuple(read_names(page, lexicon, turn=turn) for turn, page in self.pages)

    @cached
    def means(self) -> tuple[Document | None, ...]:
        """The replies, searched for ways of travelling; None for a reply that names no way of travelling."""
        lexicon = lexicon_of(_ways(self.language, self.vocabulary), shortened=False)
        return tuple(
            read_names(page, lexicon, turn=turn) if any(lexicon.find(page.folded.text)) else None
            for turn, page in self.pages
        )

    @cached
    def money(self) -> Vocabulary:
        """A vocabulary with only the suite's currency."""
        return Vocabulary(currency=self.vocabulary.currency)

    def turns(self, which: WhichReply) -> list[tuple[int, Turn]]:
        """Return the agent's turns that ``which`` selects, including blank turns, each with its index in the dialogue."""
        replies = [(index, turn) for index, turn in enumerate(self.trajectory.turns) if turn.role == "agent"]
        if isinstance(which, int):
            return replies[which - 1 : which]
        return replies if which == "any" else replies[:1] if which == "first" else replies[-1:]

    def read(self, turn: WhichReply) -> tuple[Document, ...]:
        """Return the replies that ``turn`` selects (``any``, ``first``, ``last`` or a number), without blank ones."""
        return self._chosen(self.replies, turn)

    def _chosen(self, replies: tuple[_Reply, ...], which: WhichReply) -> tuple[_Reply, ...]:
        """Return the replies that ``which`` selects. A number counts blank replies; ``first`` and ``last`` skip blank replies."""
        if isinstance(which, int):
            indexes = {index for index, _ in self.turns(which)}
            return tuple(reply for (index, _), reply in zip(self.pages, replies, strict=True) if index in indexes)
        return replies if which == "any" else replies[:1] if which == "first" else replies[-1:]

    def means_of(self, turn: WhichReply) -> tuple[Document, ...]:
        """Return the selected replies that name a way of travelling, searched for ways of travelling."""
        return tuple(document for document in self._chosen(self.means, turn) if document is not None)

    def phrased(self, phrases: Iterable[str], turn: WhichReply) -> list[tuple[Document, Mention]]:
        """Return the places where one of these phrases occurs in full, in the order of the replies."""
        wanted = {fold_phrase(phrase): phrase for phrase in phrases}
        places: list[tuple[Document, Mention]] = []
        for document in self._chosen(self.worded, turn):
            here = [
                mention
                for mention in document.mentions
                if mention.form == "full" and mention.keys[0] in wanted.values()
            ]
            seen = {mention.keys[0] for mention in here}
            if unread := {key: phrase for key, phrase in wanted.items() if phrase not in seen}:
                here += _plain_words(document, unread)
                here += _numerals(document, unread.values())
            places += ((document, mention) for mention in sorted(here, key=lambda mention: mention.span))
        return places

    def standings(self, turn: WhichReply) -> Mapping[str, Recommendation]:
        """Return by key whether and how the selected replies recommend each thing."""
        if turn not in self._standings:
            by_key = standings(self.read(turn))
            for key, mention in self._addressed(turn):
                by_key.setdefault(key, Recommendation(key, None, (mention,)))
            self._standings[turn] = by_key
        return self._standings[turn]

    def proposing(self, key: str) -> JudgedDialogue:
        """Return the same dialogue as if the last reply proposed one thing alone of those that it proposes."""
        standing = {other: each for other, each in self.standings("last").items() if other == key or not each.proposed}
        only = replace(self)
        vars(only).update({**vars(self), "_standings": {**self._standings, "last": standing}})
        return only

    def unknown(self, turn: WhichReply) -> tuple[Quote, ...]:
        """Return quotes that look like the name of a recommended thing, but occur nowhere else in the dialogue."""
        proposed = {key for key, standing in self.standings(turn).items() if standing.proposed is not False}
        return tuple(
            document.quote(span)
            for document in self.read(turn)
            for span in unknown_names(document, proposed, lambda name: fold_phrase(name) in self._known_words)
        )

    @cached
    def _known_words(self) -> str:
        """All text the agent could know: the user's turns, results, memory and the visible case, folded."""
        texts = [turn.text for turn in self.trajectory.turns if turn.role == "user"]
        texts += [json.dumps(step.result, ensure_ascii=False) for _, step in self.answered]
        texts += remembered_in(self.trajectory)
        if self.visible is not None:
            texts.append(self.visible.model_dump_json(exclude={"interactions"}))  # no agent has read those
        return "\n".join(map(fold_phrase, texts))

    def _addressed(self, turn: WhichReply) -> Iterator[tuple[str, tuple[Document, Mention]]]:
        """Yield the keys of things at the addresses that the replies give, each with the place of the address."""
        addresses = [
            (document, address)
            for document in self.read(turn)
            for address in document.identifiers
            if address.kind == "address"
        ]
        for document, address in addresses:
            for identity in self.evidence.identities:
                for key in identity.subject if (identity.kind, identity.value) == ("address", address.value) else ():
                    yield key, (document, Mention((key,), address.span, "short", "unclear", "", address.sentence, 0))

    @cached
    def named_by_user(self) -> frozenset[str]:
        """The keys of things that the user names in full, such as a destination."""
        texts = [turn.text for turn in self.trajectory.turns if turn.role == "user"]
        hits = (hit for text in texts for hit in self.lexicon.find(fold_phrase(text)))
        return frozenset(hit.keys[0] for hit in hits if hit.form == "full" and len(hit.keys) == 1)

    @cached
    def left_out(self) -> frozenset[str]:
        """The keys of things that no reply names, although replies name other things of their sort: no figure refers to them."""
        keys = self.standings("any").keys()
        sorts: dict[str, set[str]] = {}
        for entity in self.entities:
            sorts.setdefault(entity.key, set()).add(entity.sort)
        told_sorts = {sort for key in keys for sort in sorts.get(key, ()) if sort != "leg"}
        return frozenset(key for key, own in sorts.items() if key not in keys and own <= told_sorts)

    @cached
    def size(self) -> ReplySize:
        """The size of the last reply: its clauses, things, figures, and figures without a role; all zero if there is no reply."""
        if not self.replies:
            return 0, 0, 0, 0
        last = self.replies[-1]
        figures: list[Quantity | ClockTime] = [*last.quantities, *last.times]
        things = {key for mention in last.mentions for key in mention.keys}
        unread = sum(figure.role is None for figure in figures)
        return len(last.clauses), len(things), len(figures), unread

    def silent(self, turn: WhichReply) -> bool:
        """Return whether no selected reply recommends a thing or states a figure outside questions."""
        return not any(_says_something(document) for document in self.read(turn))

    def speechless(self, turn: WhichReply) -> bool:
        """Return whether the selected replies contain no statement at all: they are blank, copied, or only ask."""
        for document in self.read(turn):
            asked = {question.sentence for question in document.questions}
            stating = (words for place, words in enumerate(document.sentences) if place not in asked)
            if any(char.isalnum() for words in stating for char in document.words(words)):
                return False
        return True

    def refuses(self, turn: WhichReply) -> bool:
        """Return whether a selected reply has a negation and names no thing, so that it may be a refusal."""
        return any(document.negations and not document.mentions for document in self.read(turn))

    def _own(self, text: str, index: int) -> str:
        """Return a reply with blanked JSON lines and blanked passages copied from the user or the context."""
        if self._is_its_output(index):
            return text
        if text.lstrip()[:1] in "{[" or "\n{" in text or "\n[" in text:
            text = "".join(_blank(line) if _is_data(line) else line for line in text.splitlines(keepends=True))
        for words in self._told(index):
            start = text.find(words)
            if start >= 0:
                text = text[:start] + _blank(words) + text[start + len(words) :]
        return text

    def _is_its_output(self, index: int) -> bool:
        """Return whether a reply's text is only the JSON of its structured output."""
        turn = self.trajectory.turns[index]
        return turn.output is not None and turn.text[:1] == "{" and _is_data(turn.text, turn.output)

    def _told(self, index: int) -> Iterator[str]:
        """Yield the earlier texts of the user and the context that are long enough to count as copied."""
        texts = [turn.text for turn in self.trajectory.turns[:index] if turn.role == "user"]
        if self.visible is not None:
            texts += [self.visible.query, *self.visible.context.history]
            texts += [message.text for message in self.visible.messages]
        yield from (words for text in texts if len(words := text.strip()) >= _SHORTEST_COPY)

    @cached
    def answered(self) -> tuple[tuple[int, Step], ...]:
        """The calls that the sandbox answered, each with the index of its turn."""
        replies = ((index, turn) for index, turn in enumerate(self.trajectory.turns) if turn.role == "agent")
        calls = ((index, step) for index, turn in replies for step in turn.steps if step.kind == "call")
        return tuple((index, step) for index, step in calls if step.status == "ok")

    @cached
    def calls(self) -> tuple[Step, ...]:
        """All calls of the dialogue; if the record may lack calls, an unknown call at the end represents them."""
        return (*self.trajectory.calls, *([_LACKING] if self.trajectory.lacks_calls else []))

    def tool(self, step: Step) -> Tool | None:
        """Return the tool of a call: as declared, or for a reported call a substitute that writes; otherwise None."""
        declared = self.tools.get(step.tool)
        if declared is None and step.provenance is not None and step.provenance.kind == "reported":
            parameters: JsonObject = {"type": "object", "properties": {}}
            words = re.sub(r"[\W_]+", " ", step.tool).strip() or step.tool
            return Tool.model_construct(name=step.tool, description=words, effect="write", parameters=parameters)
        return declared

    def only_missed(self, tool: str | None) -> tuple[str, ...]:
        """Return the tools with missed calls if none was answered (``tool``, or every tool that names things); otherwise empty."""
        calls = self.calls
        tools = {name for name in self.tools if self.names_things(name)} if tool is None else {tool}
        answered = {call.tool for call in calls if call.status == "ok"}
        missed = {call.tool for call in calls if call.status == "miss" and call.tool in tools}
        return tuple(sorted(missed)) if not answered & tools else ()

    def excused(self, missed: Sequence[str]) -> tuple[str, ...]:
        """Return the tools with missed calls for which the agent is not to blame, according to the suite's `misses` setting."""
        if self.suite is None or self.suite.manifest.misses != "agent":
            return tuple(missed)
        other = {call.tool for call in self.calls if call.provenance is not None and call.provenance.differences}
        return tuple(tool for tool in missed if tool not in other)

    @cached
    def entities(self) -> tuple[Entity, ...]:
        """The named things that the tools returned."""
        return find_entities((step for _, step in self.answered), self.tools)

    @cached
    def named(self) -> frozenset[str]:
        """The keys of all things that tools named, as entities or in fields that hold names."""
        return frozenset(entity.key for entity in self.entities) | named_in_fields(
            (step for _, step in self.answered), self.tools
        )

    def values(self, bounds: Sequence[Bound], numbers: Callable[[Json], Iterable[float]]) -> tuple[Value, ...] | None:
        """Return the returned values that ``bounds`` refer to, read by ``numbers``; None without bounds."""
        return self._returned.values(bounds, numbers) if bounds else None

    @cached
    def _returned(self) -> Returned:
        """An index of the results of the answered calls."""
        return Returned(self.answered, self.tools, self.entities)

    def names_things(self, tool: str | None) -> bool:
        """Return whether ``tool`` (None: any tool) declares named things in its results."""
        declared_tools = self.tools.values() if tool is None else [self.tools[tool]] if tool in self.tools else []
        return any(declared.entities for declared in declared_tools)

    @cached
    def maybe_writing(self) -> tuple[str, ...]:
        """The tools of calls that may have changed rows without a record of the change."""
        return maybe_writing(self.trajectory, self.tools)

    @cached
    def end(self) -> End:
        """The state at the end of the episode. Raises MapsatError if the state is unknown."""
        return end_of(self.trajectory, self.case, self.suite, self.maybe_writing)

    @cached
    def episode(self) -> Episode:
        """The dialogue in the form that Python checks read."""
        return Episode(self.trajectory, self.visible, lambda: self.end, self.maybe_writing, self)

    @cached
    def reference(self) -> ReferenceEnd | None:
        """The changes made by the case's reference, kept or played now; None without a reference. Raises MapsatError if playing it fails."""
        if self.case is None or self.suite is None or self.case.truth.reference is None:
            return None
        kept = self.trajectory.reference
        return kept if kept and kept.calls == reference_digest(self.case) else play_reference(self.case, self.suite)

    @cached
    def evidence(self) -> KnownEvidence:
        """All evidence known in the dialogue, by thing and role."""
        return evidence(self.trajectory, self.tools, self.visible, self.money, self.taken_back)

    @property
    def taken_back(self) -> tuple[tuple[str, str], ...]:
        """The wrong words of a user with such a manner, each with the right ones."""
        return self.case.truth.user.taken_back if self.case is not None else ()

    def explained(self, document: Document) -> FigureExplainer:
        """Return the object that looks for sources of this reply's figures in all evidence known at that time."""
        if document.turn not in self._explained:
            self._explained[document.turn] = FigureExplainer(document, self.evidence, self.left_out)
        return self._explained[document.turn]

    @cached
    def claims(self) -> tuple[JudgedClaim, ...]:
        """The factual claims of all replies, each judged by all evidence known at that time."""
        by_key = self.standings("any")
        return tuple(
            judged for document in self.replies for judged in weigh(document, self.explained(document), by_key)
        )


@lru_cache(maxsize=16)
def _ways(language: str, vocabulary: Vocabulary) -> tuple[Thing, ...]:
    """Return the ways of travelling that have words in a language, as things to search for."""
    ways: dict[str, list[str]] = {}
    for word, tags in pack_of(language, vocabulary).words.items():
        if "means" in tags:
            ways.setdefault(tags["means"], []).append(word)
    return tuple(Thing(way, tuple(words)) for way, words in sorted(ways.items()))


def _plain_words(document: Document, wanted: Mapping[str, str]) -> Iterator[Mention]:
    """Yield the first place of each phrase in words that belong to no name, as in an address."""
    asked = {question.sentence for question in document.questions}
    for number, sentence in enumerate(document.sentences):
        text = document.words(sentence).lower()
        for key, phrase in wanted.items():
            start = word_at(text, key)
            if start is None:
                continue
            span = Span(sentence.start + start, sentence.start + start + len(key))
            # In 没有营业中, 没有营业 has been read, and with it what denies 营业中.
            if not any(mention.span.start < span.start < mention.span.end < span.end for mention in document.mentions):
                yield Mention((phrase,), span, "full", "asked" if number in asked else "affirmed", "", number, 0)


def _numerals(document: Document, phrases: Iterable[str]) -> Iterator[Mention]:
    """Yield the places of numbers that equal a phrase but are written differently: 5,244.00 for 5244."""
    wanted = {_value(phrase): phrase for phrase in phrases if _NUMERAL.fullmatch(phrase.strip())}
    if not wanted:
        return
    asked = {question.sentence for question in document.questions}
    for number, sentence in enumerate(document.sentences):
        for match in _NUMERAL.finditer(document.words(sentence)):
            phrase = wanted.get(_value(match[0]))
            if phrase is not None and match[0] != phrase:
                span = Span(sentence.start + match.start(), sentence.start + match.end())
                stances = [figure.stance for figure in document.quantities if _begins_in(span, figure.span)]
                stance = "asked" if number in asked else stances[0] if stances else "affirmed"
                yield Mention((phrase,), span, "full", stance, "", number, 0)


def _begins_in(span: Span, other: Span) -> bool:
    """Return whether a span starts inside another."""
    return other.start <= span.start < other.end


def _value(numeral: str) -> Decimal:
    """Return the normalised value of a numeral, without thousands separators."""
    return Decimal(numeral.strip().replace(",", "")).normalize()


def _says_something(document: Document) -> bool:
    """Return whether a reply recommends a thing or states a figure or identifier outside its questions."""
    asked = {question.sentence for question in document.questions}
    figures: list[Quantity | ClockTime] = [reading for reading in document.quantities if reading.unit != "count"]
    figures += document.times
    taken_back = any(reading.stance == "denied" for reading in (*document.mentions, *figures))
    return (
        any(
            reading.stance in ("affirmed", "described", "unclear") and reading.sentence not in asked
            for reading in document.mentions
        )
        or any(reading.stance != "denied" and reading.sentence not in asked for reading in figures)
        or (bool(document.identifiers) and not taken_back)
    )


def _is_data(line: str, of: Json = None) -> bool:
    """Return whether a line is a JSON object or list; with ``of``, whether it equals that value."""
    if line.lstrip()[:1] not in ("{", "["):
        return False
    try:
        value: Json = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict | list) if of is None else value == of


def _blank(text: str) -> str:
    """Return the text with every character but line breaks replaced by a space."""
    return "".join(char if char == "\n" else " " for char in text)
