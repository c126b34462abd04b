"""Whether the user had agreed to a call when it was made.

The question is held against the rows that the call could mean and against its arguments. It is decided where the values that stand in it decide it; everything
else is undecided, and says why. docs/reference/checks.md has the rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import groupby, islice, pairwise
from typing import NamedTuple

from pytest_mapsat.model import Confirms, Json, MapsatError, Step, Tool, same
from pytest_mapsat.reading import (
    Request,
    acts_in,
    acts_of,
    agrees,
    exclusion_in,
    fold_phrase,
    is_bound,
    meaning_in,
    read_request,
)

from .context import Context
from .findings import call_in_words, first_few
from .stated import Fact, Item, Row, facts_of, hidden, leaves_of, singular, stated, unit_of

_SHOWN = 200
#: So many objects of one result may be rows that a call could mean; so many rows are told apart by more than their id.
_MOST_OBJECTS, _MOST_ROWS = 1000, 300
#: No question stands in a longer message.
_LONGEST = 6_000
#: Objects are rows of one kind where they share this part of their fields.
_ALIKE = 0.5
#: So many characters on either side say what a value is of.
_AROUND = 20


class Reading(NamedTuple):
    """What an answered question says of a call: whether it surely is about it (True), surely about something else (False), or neither, and why."""

    about: bool | None
    why: str


class Candidates(NamedTuple):
    """The rows that the id of a call could mean.

    Attributes:
        rows: the rows; none where the call has no id.
        called: the place of its own; -1 where it has none.
        also: the places of the rows of all calls of its tool.
        parameter: the one that holds the id.
    """

    rows: Sequence[Mapping[str, Json]]
    called: int
    also: frozenset[int]
    parameter: str


class Agreements:
    """What the user of one dialogue agreed to.

    Args:
        context: the dialogue.
        steps: the agent's calls in their order, whatever became of them.
        turns: the index of the turn of each.
    """

    def __init__(self, context: Context, steps: Sequence[Step], turns: Sequence[int]) -> None:
        self._context = context
        self._steps = steps
        self._turns = turns

    def of(self, at: int) -> tuple[bool | None, str]:
        """Return whether the user had agreed to a call when it was made, and why not or why that is unclear."""
        step, call = self._steps[at], call_in_words(self._steps[at])
        if "arguments" in step.unknown:
            return None, f"it is unclear whether the user agreed to {call}"
        answers = [(index, yes, self._read(index, at)) for index, yes in self._answers if index < self._turns[at]]
        about = [answer for answer in answers if answer[2].about is not False]
        if not about:
            return self._unasked(at, [(yes, reading) for _, yes, reading in answers])
        index, last, reading = about[-1]
        if last is None:
            notes = (step.text for step in self._context.trajectory.turns[index].steps if step.kind == "thought")
            plain = f"turn {index} does not plainly agree or decline: {self._text(index)[:_SHOWN]!r}"
            return None, "; ".join((plain, *notes))
        if not last:
            open_yes = reading.about is None and any(yes for _, yes, _ in about)
            declined = f"the user had declined in turn {index}, and {call} followed"
            return (None, reading.why) if open_yes else (False, declined)
        again = sum(
            other.tool == step.tool and other.status == "ok" and same(other.arguments, step.arguments)
            for other in self._steps[:at]
        )
        if again >= sum(yes is True for _, yes, _ in about):
            return False, f"{call} was made {again + 1} times, and the user agreed to it once"
        sure = sum(yes is True and each.about is True for _, yes, each in about)
        why = reading.why or f"it is unclear how often the user agreed to {call}"
        return (True, "") if again < sure else (None, why)

    def _unasked(self, at: int, others: Sequence[tuple[bool | None, Reading]]) -> tuple[bool | None, str]:
        """Judge a call that no question is about."""
        call = call_in_words(self._steps[at])
        turns, language = self._context.trajectory.turns, self._context.language
        if any(yes for yes, _ in others):
            return False, next(f"{reading.why}, and {call} followed" for yes, reading in others if yes)
        asked = [index for index in range(self._turns[at]) if turns[index].role == "agent" and turns[index].text]
        for index in reversed(asked):
            last = index == asked[-1]
            request = read_request(turns[index].text, language)
            if request.other and not request.asking and (last or agrees(self._text(index + 1))):
                reading = self._read(index + 1, at)
                if reading.about is False:
                    return False, f"{reading.why}, and {call} followed"
                asking = f"{request.other[-_SHOWN:]!r} (turn {index})"
                return None, f"it is unclear whether {asking} asks for a go-ahead for {call}"
        later = any(yes for index, yes in self._answers if index > self._turns[at])
        return False, f"{call} came before the user {'agreed to it' if later else 'was asked'}"

    def _text(self, index: int) -> str:
        return self._context.trajectory.turns[index].text

    @cached_property
    def _answers(self) -> list[tuple[int, bool | None]]:
        """The user's turns that answer a request for a go-ahead: their index, and whether they agree; None where that is not plain."""
        turns, language = self._context.trajectory.turns, self._context.language
        answers: list[tuple[int, bool | None]] = []
        for index, turn in enumerate(turns):
            if turn.role != "user" or index == 0:
                continue
            if turn.agreed is not None:
                answers.append((index, turn.agreed))
            elif read_request(turns[index - 1].text, language).asking:
                answers.append((index, agrees(turn.text)))
        return answers

    def _read(self, answer: int, at: int) -> Reading:
        """Return what the question before an answer says of a call."""
        step, turns, language = self._steps[at], self._context.trajectory.turns, self._context.language
        question = _Question(
            read_request(self._text(answer - 1), language),
            "" if (answer, False) in self._answers else self._text(answer),
            self._context.tools.get(step.tool),
            step.arguments,
            self._candidates(at),
            "\n".join((*(turn.text for turn in turns[:answer] if turn.role == "user"), *self._given)),
            [turn.text for turn in turns[: answer - 1] if turn.role == "agent"],
            language,
        )
        reading = question.reading()
        if reading.about is not None:
            return reading
        # The case says which words a request must name for this yes.
        confirms = self._context.case.truth.user.confirms if self._context.case else None
        if (
            isinstance(confirms, Confirms)
            and confirms.when
            and turns[answer].agreed
            and not exclusion_in(fold_phrase(question.asking), asks=True)
            and all(map(question.has, confirms.when))
        ):
            return Reading(True, "")
        asking = f"{question.asking.strip()[-_SHOWN:]!r} (turn {answer - 1})"
        why = f"it is unclear whether {asking} asks for {call_in_words(step)}: {reading.why}"
        return Reading(None, f"{why}; the candidates are {question.rows_in_words}" if question.rows_in_words else why)

    @cached_property
    def _given(self) -> frozenset[str]:
        """The values that the agent was given with the case, such as the id of its user: no call means a row by them."""
        visible = self._context.visible
        given = leaves_of(visible.context.model_dump(mode="json")) if visible else ()
        return frozenset(str(value) for _, value in given if value != "")

    def _candidates(self, at: int) -> Candidates:
        """Return the rows that the id of a call could mean: those that tools had returned, else those of a table, and what other calls name under the parameter."""
        arguments = self._steps[at].arguments
        # What was searched for holds for the rows that came: the day, the place.
        sources: list[list[list[Mapping[str, Json]]]] = [
            [
                [{**step.arguments, **item} for item in islice(_objects(step.result), _MOST_OBJECTS)]
                for step in self._steps[:at]
            ]
        ]
        with suppress(MapsatError):  # where it is not known, what the results say is all
            sources += [[list(self._context.end.rows(name))] for name in self._context.tables]
        for results in sources:
            keys = {
                (not _is_id(name) and not _is_id(field), name != field, order, name, field)
                for order, (name, value) in enumerate(arguments.items())
                if isinstance(value, (str, int))
                and not isinstance(value, bool)
                and value != ""
                and str(value) not in self._given
                for result in results
                for item in result
                for field, own in item.items()
                if _same_id(own, value) and _may_be_key(field, name, value)
            }
            for *_, name, field in sorted(keys):
                if rows := _rows(results, field, arguments[name]):
                    return self._with_others(rows, name, at)
        named = [name for name, value in arguments.items() if isinstance(value, str) and _is_id(name)]
        return self._with_others({}, named[0], at) if named else Candidates((), -1, frozenset(), "")

    def _with_others(self, rows: Mapping[str, Mapping[str, Json]], name: str, at: int) -> Candidates:
        calls = [
            (step.tool, value) for step in self._steps if isinstance(value := step.arguments.get(name), (str, int))
        ]
        rows = {**{str(value): {name: value} for _, value in calls}, **rows}
        places = {row_id: place for place, row_id in enumerate(rows)}
        also = frozenset(places[str(value)] for tool, value in calls if tool == self._steps[at].tool)
        return Candidates(tuple(rows.values()), places[str(self._steps[at].arguments[name])], also, name)


def _is_id(name: str) -> bool:
    return name.lower().endswith("id")


def _same_id(own: Json, value: Json) -> bool:
    return isinstance(own, (str, int)) and not isinstance(own, bool) and str(own) == str(value)


def _may_be_key(field: str, name: str, value: Json) -> bool:
    """Return whether a field may hold what a parameter names: a figure only under a like name."""
    alike = field.lower() in name.lower() or name.lower() in field.lower()
    return alike or (isinstance(value, str) and not value.isdigit())


def _rows(results: Sequence[Sequence[Mapping[str, Json]]], field: str, value: Json) -> Mapping[str, Mapping[str, Json]]:
    """Return the objects that are like the one with an id, by id, later values before earlier ones; none where two of one result share it: it is no id."""
    having = [[item for item in result if isinstance(item.get(field), (str, int))] for result in results]
    fields = {key for result in having for item in result if _same_id(item[field], value) for key in item}
    rows: dict[str, dict[str, Json]] = {}
    for result in having:
        alike = [item for item in result if len(fields & item.keys()) >= _ALIKE * len(fields | item.keys())]
        if len({str(item[field]) for item in alike}) < len(alike):
            return {}
        for item in alike:
            rows.setdefault(str(item[field]), {}).update(item)
    return rows if str(value) in rows else {}


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    """Yield the objects in a result, the outer ones first."""
    if isinstance(value, Mapping):
        yield value
    if isinstance(value, (Mapping, list, tuple)):
        for member in value.values() if isinstance(value, Mapping) else value:
            yield from _objects(member)


class _Question:
    """A question that was answered, held against one call.

    Args:
        request: the message that asks.
        answer: the user's words.
        tool: the tool that is called; None where the suite has none of that name.
        arguments: those of the call.
        candidates: the rows that it could mean.
        told: all that the user had said by then, and what the agent was shown of it.
        heard: what the agent had said before the message.
        language: BCP 47 tag of the case.
    """

    def __init__(  # noqa: PLR0917  the parts of one judgement
        self,
        request: Request,
        answer: str,
        tool: Tool | None,
        arguments: Mapping[str, Json],
        candidates: Candidates,
        told: str,
        heard: Sequence[str],
        language: str,
    ) -> None:
        self._request, self._answer, self._tool, self._language = request, answer, tool, language
        self._called, self._also = candidates.called, candidates.also
        self._rows = [Row.of(row, language) for row in candidates.rows]
        self._told = Row((("", told),), language)
        self._heard = heard
        others = {name: value for name, value in arguments.items() if name != candidates.parameter}
        self._arguments = [(name, value) for name, value in leaves_of(others) if value not in ("", False)]
        self._own = Row(tuple(self._arguments), language)
        self.asking = request.asking or request.other or f"{request.before}\n{request.after}"

    @property
    def rows_in_words(self) -> str:
        """The rows that the call could mean, as data, where there are several; only the first of many."""
        shown = [json.dumps(dict(row.values), ensure_ascii=False)[:_SHOWN] for row in self._rows]
        return first_few(shown) if len(shown) > 1 else ""

    def has(self, words: str) -> bool:
        """Return whether the called row or an argument has words, as a text or in another notation."""
        own = [self._own, *self._rows[self._called : self._called + 1]]
        facts = facts_of(fold_phrase(words), self._language)
        if facts:
            return all(any(row.states(fact) for row in own) for fact in facts)
        return any(fold_phrase(words) in text for row in own for text in row.texts)

    def reading(self) -> Reading:
        """Judge it."""
        if len(self._rows) > _MOST_ROWS:
            return Reading(None, f"more than {_MOST_ROWS} rows could be meant")
        if len(self._request.before) + len(self._request.asking) + len(self._request.after) > _LONGEST:
            return Reading(None, f"the message has more than {_LONGEST:,} characters")
        asked = scope = fold_phrase(f"{self.asking}\n{self._answer}")
        before = fold_phrase(self._request.before[self._request.before.rfind("\n") + 1 :])
        whole = fold_phrase(f"{self._request.before}\n{self._request.asking}\n{self._request.after}\n{self._answer}")
        items = in_scope = self._items(asked)
        items_of_whole = self._items(whole)
        if not any(item.tells for item in items):  # "Shall I book it?": what it is about stands before it
            scope, in_scope = whole, items_of_whole
        together = self._together(scope, in_scope)
        named = together or _named(in_scope)
        excluded = exclusion_in(hidden(asked, items), asks=True)
        if excluded := excluded or exclusion_in(hidden(scope, in_scope), asks=False):
            return Reading(None, f"{excluded!r} may exclude something or name a second act")
        contradicted = self._contradiction(asked, asked, asks=True)
        alone = _named(items_of_whole) == {self._called} or not any(item.tells for item in items_of_whole)
        if not contradicted and alone:
            contradicted = self._contradiction(before, whole, asks=False)
        if contradicted:
            return Reading(False, contradicted)
        if len(named) == 1 and self._called not in named:
            words = {item.words: item.kind for item in in_scope if item.tells and named <= item.rows}
            if {*words.values()} != {"part"} or not meaning_in(hidden(asked, items), acts_in(asked), self._generic):
                return Reading(False, f"the user agreed to another thing ({', '.join(words)})")
        own = fold_phrase(self.asking)
        own = hidden(own, self._items(own))
        items = [item for item in items if not together or self._called in item.rows or not item.tells]
        return self._act(own, whole) or Reading(*self._doubt(items, named, own, whole))

    def _items(self, text: str) -> list[Item]:
        """Return what a folded text states of the rows, places in a list among it. A value of an argument tells no other row from the called one."""
        items = []
        for item in stated(text, [*self._rows, self._own], self._generic):
            rows, argued = item.rows - {len(self._rows)}, len(self._rows) in item.rows
            if argued and not (self._called in rows and self._is_column(item)):
                rows = frozenset()
            items.append(item._replace(rows=rows, argued=argued))
        return sorted([*items, *self._places(text)])

    def _is_column(self, item: Item) -> bool:
        """Return whether the called row has what a text states under the name of the argument that has it, too: an amount, and not its own day and that of another thing."""
        called = dict(self._rows[self._called].values)
        same = Row(tuple((name, called[name]) for name, _ in self._arguments if name in called), self._language)
        return same.states(item.fact) if item.fact else any(item.words in text for text in same.texts)

    def _together(self, text: str, items: Sequence[Item]) -> frozenset[int]:
        """Return the called row where a text names it in one breath with others that were called as well: "orders A1 and A2"."""
        telling = [item for item in items if item.tells]
        gaps = [text[first.end : second.start] for first, second in pairwise(telling)]
        rows = frozenset().union(*(item.rows for item in telling))
        both = rows == self._also and all(len(item.rows) == 1 for item in telling) and all(map(_AND.fullmatch, gaps))
        return frozenset({self._called}) if both and self._called in rows else frozenset()

    @cached_property
    def _generic(self) -> frozenset[str]:
        """The words of the tool and of its fields, which name no row."""
        told = (self._tool.name, self._tool.description, *self._tool.asks) if self._tool else ()
        fields = (name for row in (self._own, *self._rows) for name, _ in row.values)
        words = fold_phrase(" ".join((*told, *fields)).replace("_", " ").replace(".", " "))
        return frozenset(map(singular, re.findall(r"[a-z]+|[\u3400-\u9fff]+", words)))

    def _places(self, text: str) -> Iterator[Item]:
        """Yield what a text states by a place in the list of the message; of no row where the order of the list is not certain."""
        order: list[int] = []
        for message in reversed((*self._heard, self._request.before)) if _PLACE.search(text) else ():
            listed = stated(fold_phrase(message), self._rows, self._generic)
            named = [next(iter(item.rows)) for item in listed if len(item.rows) == 1 and item.tells]
            order = [row for row, _ in groupby(named)]
            if len(set(order)) > 1:
                break
        for match in _PLACE.finditer(text):
            word = next(filter(None, match.groups()))
            place = _PLACES[word] if word in _PLACES else int(word) - 1
            certain = len(order) == len(set(order)) == len(self._rows) > place
            yield Item(*match.span(), match[0], frozenset({order[place]}) if certain else frozenset(), "text")

    def _act(self, asked: str, whole: str) -> Reading | None:
        """Return why the act that is asked for is not surely that of the call; None where it is."""
        if self._tool is None:
            return Reading(None, "the tool is not known")
        acts, own = acts_in(asked), acts_of(self._tool.name, self._tool.description)
        # Where no words are declared, the first of the name does as well: dispute_charge.
        words = self._tool.asks or re.split("[-_]", self._tool.name)[:1]
        place = asked if acts or any(_stands(word, asked) for word in words) else whole
        stands = any(_stands(word, place) for word in words)
        if self._tool.asks and not stands:
            return Reading(False if acts else None, f"it has none of the words {', '.join(words)}")
        if not stands and not acts_in(place) & own:
            return Reading(None, f"it does not say what {self._tool.name} does; `asks` of the tool names the words")
        if rest := acts_in(place if place is whole else asked, own) - acts_in(" ".join(self._generic)):
            return Reading(None, f"it asks for something else as well ({', '.join(sorted(rest))})")
        return None

    def _doubt(self, items: Sequence[Item], named: frozenset[int], asked: str, whole: str) -> tuple[bool | None, str]:
        """Judge a question that nothing contradicts: sure only where the called row is named and all of its words are understood."""
        unread = [item.words for item in items if self._called not in item.rows and not item.argued]
        unread += filter(None, [meaning_in(asked, acts_in(asked), self._generic)])
        after = _named(self._items(fold_phrase(self._request.after)))
        unsaid = [f"{name}={value!r}" for name, value in self._arguments if not self._is_said(name, value, whole)]
        doubts = {
            "the message asks or offers something else as well": meaning_in(fold_phrase(self._request.other)),
            f"{next(iter(unread), '')!r} is no value of the called row, or is not understood": unread,
            "it names several rows": self._rows and not named and any(item.tells for item in items),
            "it names no row that only one of the candidates can be": len(self._rows) > 1 and named != {self._called},
            "another row is named behind it": after and self._called not in after,
            f"it does not say {next(iter(unsaid), '')}": unsaid,
        }
        why = next((why for why, doubtful in doubts.items() if doubtful), "")
        return (None, why) if why else (True, "")

    def _is_said(self, name: str, value: Json, whole: str) -> bool:
        """Return whether an argument stands in the message, in the called row or in the user's words, or is one of a closed list."""
        argument = Row(((name, value),), self._language)
        sources = [Row((("", whole),), self._language)]
        sources += [self._told, self._rows[self._called]] if self._rows else []
        for source in sources:
            if argument.facts and (any if isinstance(value, (int, float)) else all)(map(source.states, argument.facts)):
                return True
            if not argument.facts and all(any(text in other for other in source.texts) for text in argument.texts):
                return True
        properties = self._tool.parameters.get("properties", {}) if self._tool else {}
        schema = properties.get(name.partition(".")[0])
        return isinstance(schema, dict) and "enum" in schema

    def _contradiction(self, text: str, whole: str, *, asks: bool) -> str:
        """Return what a folded text states that contradicts an argument of the call; empty where nothing surely does.

        Args:
            text: the text.
            whole: the text in which an argument may stand.
            asks: whether it is the question; a sentence before it speaks of other people and amounts as well.
        """
        said, stated_facts = facts_of(text, self._language), facts_of(whole, self._language)
        known = [self._own, *self._rows[self._called : self._called + 1]]
        strange = [
            fact
            for fact in said
            if not any(row.states(fact) for row in known)
            and not is_bound(text[: fact.start][-_AROUND:], text[fact.end :][:_AROUND])
            and (asks or not fact.unit or text[: fact.start].endswith("for "))
        ]
        money = [fact for fact in said if fact.unit in _MONEY] if asks else []
        amounts = [name for name, value in self._arguments if isinstance(value, (int, float))]
        for name, value in self._arguments:
            argument = Row(((name, value),), self._language)
            number = isinstance(value, (int, float))
            if argument.facts and (any if number else all)(
                any(map(fact.same, stated_facts)) for fact in argument.facts
            ):
                continue
            kinds = {fact.kind for fact in argument.facts} & {"date", "time"}
            shapes = {_shape(fact) for fact in argument.facts if fact.kind == "code"}
            units = (
                {
                    unit_of(fold_phrase(name.rpartition(".")[2].replace("_", " "))) or None,
                    *(_MONEY if amounts == [name] and len(money) == 1 else ()),
                }
                if number
                else set()
            )
            wrong = [
                text[fact.start : fact.end]
                for fact in strange
                if fact.kind in kinds
                or (asks and fact.kind == "code" and _shape(fact) in shapes)
                or (fact.unit in units and not any(fact.rounds(own) for own in argument.facts))
            ]
            wrong += _other_figures(fold_phrase(str(value)), text)
            wrong += self._other_names(str(value), text) if asks else ()
            if wrong:
                return f"it says {wrong[0]!r}, and the call has {name}={value!r}"
        return ""

    def _other_names(self, value: str, text: str) -> Iterator[str]:
        """Yield the names behind a word like "for" where an argument is a name, does not stand in the text, and nothing known has these."""
        if _FULL_NAME.fullmatch(value) and fold_phrase(value) not in text:
            for match in _FOR_NAME.finditer(self.asking):
                name = fold_phrase(match[1])
                if not any(name in known for row in (self._told, *self._rows) for known in row.texts):
                    yield match[1]


_MONEY = ("yuan", "foreign", "money")
_FULL_NAME = re.compile(r"[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)+")
_FOR_NAME = re.compile(rf"\b(?:for|to|under|name|named) ({_FULL_NAME.pattern})")
_PLACE = re.compile(
    r"\b(?:the|option|number|item|no\.) ?(first|second|third|fourth|fifth|last|\d)(?: (?:one|option|item|entry|in|on|of)\b|(?=[?,.;)]|$))"
    r"|(?:第([一二三四五六七八九\d])|(最后一))(?=[个条项种款笔单间张位家份])"
)
_AND = re.compile(r"[ ,、]*(?:and|&|[和与及]|以及)?[ ,、]*(?:the )?")
_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "最后一": -1}
_PLACES |= {char: place for place, char in enumerate("一二三四五六七八九")}
_FEWEST_LETTERS = 3


def _stands(word: str, text: str) -> bool:
    """Return whether a declared word stands in a folded text; an English verb in each of its forms."""
    word = fold_phrase(word)
    forms = rf"\b{re.escape(word.removesuffix('e'))}(?:e|es|s|ed|ing|[a-z](?:ed|ing))?\b"
    return word in text if not word.isascii() else re.search(forms, text) is not None


def _shape(fact: Fact) -> str:
    """Return a code with each figure alike: A9 for A1."""
    return re.sub(r"\d+", "9", str(fact.value[0]))


def _named(items: Sequence[Item]) -> frozenset[int]:
    """Return the rows that have everything which tells rows apart; none where two things tell different ones. Arguments of the call do not count against the rest."""
    everything = [item.rows for item in items if item.tells]
    rest = [item.rows for item in items if item.tells and not item.argued]
    named = frozenset.intersection(*everything) if everything else frozenset()
    return named or (frozenset.intersection(*rest) if rest else frozenset())


def _other_figures(value: str, text: str) -> list[str]:
    """Return the words of a text that are those of a value with other figures: 14 orchard close for 41 orchard close."""
    parts = re.split(r"\d+", value)
    if len(parts) == 1 or sum(map(str.isalpha, "".join(parts))) < _FEWEST_LETTERS or value in text:
        return []
    return [match[0] for match in re.finditer(r"(?<!\d)" + r"\d+".join(map(re.escape, parts)) + r"(?!\d)", text)]
