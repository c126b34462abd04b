"""Whether the user had agreed to a call when it was made.

The question is held against the rows that the call could mean and against its arguments. It is decided where the values that stand in it decide it; everything
else is undecided, and says why. docs/reference/checks.md has the rules.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import groupby, islice, pairwise
from typing import NamedTuple

from pytest_mapsat.model import Confirms, Json, MapsatError, Step, same
from pytest_mapsat.reading import (
    acts_in,
    acts_of,
    agrees,
    exclusion_in,
    fold_phrase,
    informs,
    is_bound,
    keeps,
    meaning_in,
    read_request,
    refers_back,
    without_acts,
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
        step, turns = self._steps[at], self._context.trajectory.turns
        words = "" if (answer, False) in self._answers else self._text(answer)
        question = _Question(self._context, answer, words, step, self._candidates(at), sorted(self._given))
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
            sources += [[list(self._context.end.rows(name))] for name in self._context.end.tables]
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
        context: the dialogue.
        answer: the index of the turn that answers.
        words: the user's words that count as a part of the question.
        step: the call.
        candidates: the rows that it could mean.
        given: what the agent was shown of the user.
    """

    def __init__(  # noqa: PLR0917  the parts of one judgement
        self, context: Context, answer: int, words: str, step: Step, candidates: Candidates, given: Collection[str]
    ) -> None:
        turns, self._language = context.trajectory.turns, context.language
        self._tool, self._called, self._calls = context.tools.get(step.tool), candidates.called, candidates.also
        self._rows = [Row.of(row, self._language) for row in candidates.rows]
        others = {name: value for name, value in step.arguments.items() if name != candidates.parameter}
        self._arguments = [(name, value) for name, value in leaves_of(others) if value not in ("", False)]
        self._own = Row(tuple(self._arguments), self._language)
        self._told = fold_phrase("\n".join((*(turn.text for turn in turns[:answer] if turn.role == "user"), *given)))
        self._heard = [turn.text for turn in turns[: answer - 1] if turn.role == "agent"]
        self._request = request = read_request(turns[answer - 1].text, self._language)
        before, self.asking, after = request.before, request.asking, request.after
        if not self.asking:  # the user agreed to it all the same: the last question is meant, else the last sentence
            lines, questions = before.split("\n"), request.other.split("\n")
            at = max((place for place, line in enumerate(lines) if line in questions), default=len(lines) - 1)
            before, self.asking, after = "\n".join(lines[:at]), lines[at], "\n".join(lines[at + 1 :])
        self._also = "\n".join(line for line in request.other.split("\n") if line not in self.asking)
        parts = ["\n".join(map(fold_phrase, part.split("\n"))) for part in (before, f"{self.asking}\n{words}", after)]
        self._asking = len("\n".join(map(fold_phrase, self.asking.split("\n"))))
        self._start, self._end = len(parts[0]) + 1, len(parts[0]) + 1 + len(parts[1])
        self._text = "\n".join(parts)

    @property
    def rows_in_words(self) -> str:
        """The rows that the call could mean, as data, where there are several; only the first of many."""
        shown = [json.dumps(dict(row.values), ensure_ascii=False)[:_SHOWN] for row in self._rows]
        return first_few(shown) if len(shown) > 1 else ""

    def has(self, words: str) -> bool:
        """Return whether the called row or an argument has words, as a text or in another notation."""
        facts = facts_of(fold_phrase(words), self._language)
        if facts:
            return all(any(row.states(fact) for row in self._known) for fact in facts)
        return any(fold_phrase(words) in text for row in self._known for text in row.texts)

    def reading(self) -> Reading:
        """Judge it."""
        many, long = len(self._rows) > _MOST_ROWS, len(self._text) > _LONGEST
        if many or long:
            rows, message = (
                f"more than {_MOST_ROWS} rows could be meant",
                f"the message has more than {_LONGEST:,} characters",
            )
            return Reading(None, rows if many else message)
        asked = self._hidden[self._start : self._end]
        if excluded := exclusion_in(self._without_act(asked), asks=True):
            return Reading(None, f"{excluded!r} may exclude something or name a second act")
        contradicted, doubt = self._contradiction()
        if contradicted:
            return Reading(False, contradicted)
        named = self._named
        if len(named) == 1 and self._called not in named | self._left_open:
            words = {item.words: item.kind for item in self._items if item.tells and named <= item.rows}
            if {*words.values()} != {"part"} or not meaning_in(asked, acts_in(asked), self._generic):
                return Reading(False, f"the user agreed to another thing ({', '.join(words)})")
        if act := self._act(asked[: self._asking]):
            return act
        unsaid = [f"{name}={value!r}" for name, value in self._arguments if not self._is_said(name, value)]
        doubts = {
            "it asks for nothing": not self._request.asking and not self._request.other,
            "the message asks or offers something else as well": meaning_in(fold_phrase(self._also)),
            "it names several rows": not named and any(item.tells for item in self._asked),
            "it names no row that only one of the candidates can be": len(self._rows) > 1 and named != {self._called},
            "another row is named, too": (named | self._left_open) - {self._called},
            f"{self._unknown!r} is no value of the called row": self._unknown,
            f"{self._other_figure!r} may be the figure that was agreed to": self._other_figure,
            doubt: doubt,
            f"it does not say {next(iter(unsaid), '')}": unsaid,
        }
        why = next((why for why, doubtful in doubts.items() if doubtful), "")
        return Reading(None, why) if why else Reading(True, "")

    @cached_property
    def _known(self) -> list[Row]:
        """The call and its row."""
        return [self._own, *self._rows[self._called : self._called + 1]]

    @cached_property
    def _items(self) -> list[Item]:
        """What the message states of the rows, places in a list among it. A value of an argument tells no other row from the called one."""
        items = []
        for item in stated(self._text, [*self._rows, self._own], self._generic):
            rows, argued = item.rows - {len(self._rows)}, len(self._rows) in item.rows
            if argued and not (self._called in rows and self._is_column(item)):
                rows = frozenset()
            items.append(item._replace(rows=rows, argued=argued))
        return sorted([*items, *self._places()])

    def _is_column(self, item: Item) -> bool:
        """Return whether the called row has what a text states under the name of the argument that has it, too: an amount, and not its own day and that of another thing."""
        called = dict(self._rows[self._called].values)
        same = Row(tuple((name, called[name]) for name, _ in self._arguments if name in called), self._language)
        return same.states(item.fact) if item.fact else any(item.words in text for text in same.texts)

    def _places(self) -> Iterator[Item]:
        """Yield what the message states by a place in its list; of no row where the order of the list is not certain."""
        matches = list(_PLACE.finditer(self._text))
        order: list[int] = []
        for message in reversed((*self._heard, self._request.before)) if matches else ():
            listed = stated(fold_phrase(message), self._rows, self._generic)
            named = [next(iter(item.rows)) for item in listed if len(item.rows) == 1 and item.tells]
            order = [row for row, _ in groupby(named)]
            if len(set(order)) > 1:
                break
        for match in matches:
            word = next(filter(None, match.groups()))
            place = _PLACES[word] if word in _PLACES else int(word) - 1
            certain = len(order) == len(set(order)) == len(self._rows) > place
            yield Item(*match.span(), match[0], frozenset({order[place]}) if certain else frozenset(), "text")

    @cached_property
    def _generic(self) -> frozenset[str]:
        """The words of the tool and of its fields, which name no row."""
        told = (self._tool.name, self._tool.description, *self._tool.asks) if self._tool else ()
        fields = (name for row in (self._own, *self._rows) for name, _ in row.values)
        words = fold_phrase(" ".join((*told, *fields)).replace("_", " ").replace(".", " "))
        return frozenset(map(singular, re.findall(r"[a-z]+|[\u3400-\u9fff]+", words)))

    @cached_property
    def _hidden(self) -> str:
        """The message without the values in it."""
        return hidden(self._text, self._items)

    @cached_property
    def _asked(self) -> list[Item]:
        """What the question itself states."""
        return [item for item in self._items if self._start <= item.start < self._end]

    @cached_property
    def _kept(self) -> list[range]:
        """The clauses around the question that say what stays as it is."""
        text = _JOINED.sub(lambda match: "|" * len(match[0]), self._hidden)
        spans = [range(*match.span()) for match in _CLAUSE.finditer(text)]
        return [
            span
            for span in spans
            if not self._start <= span.start < self._end and keeps(self._text[span.start : span.stop])
        ]

    def _is_kept(self, place: int) -> bool:
        return any(place in span for span in self._kept)

    @cached_property
    def _aside(self) -> frozenset[int]:
        """The rows of which the message says that they stay as they are."""
        clauses = [[item for item in self._items if item.tells and item.start in span] for span in self._kept]
        alone = [item.rows for items in clauses for item in items if len(item.rows) == 1]
        # An account from which, and one to which: the row of another argument is not meant by the id.
        called = self._rows[self._called].texts if self._rows else frozenset()
        arguments = {fold_phrase(value) for _, value in self._arguments if isinstance(value, str)} - called
        having = [frozenset(at for at, row in enumerate(self._rows) if text in row.texts) for text in arguments]
        alone += [rows for rows in having if len(rows) == 1]
        return frozenset().union(*alone, *(rows for items in clauses if len(rows := _named(items)) == 1))

    @cached_property
    def _sentences(self) -> list[list[Item]]:
        """What each sentence around the question states of the rows that are not set aside."""
        spans = [range(*match.span()) for match in _SENTENCE.finditer(self._hidden)]
        telling = [
            item
            for item in self._items
            if item.tells and item not in self._asked and not self._is_kept(item.start) and item.rows - self._aside
        ]
        stating = [[item for item in telling if item.start in span] for span in spans]
        return [items for items in stating if items]

    @cached_property
    def _named(self) -> frozenset[int]:
        """The rows that the question names; those that the sentences around it name where it names none or several."""
        telling = [item for item in self._asked if item.tells]
        gaps = [self._text[first.end : second.start] for first, second in pairwise(telling)]
        several = len(self._calls) > 1 and frozenset().union(*(item.rows for item in telling)) == self._calls
        if several and all(len(item.rows) == 1 for item in telling) and all(map(_AND.fullmatch, gaps)):
            return frozenset({self._called})  # "orders A1 and A2", and both are called
        named, single = _named(self._asked), [rows for items in self._sentences if len(rows := _named(items)) == 1]
        others = frozenset().union(*single) - self._aside
        if not telling:
            return others
        return named & others if len(named & others) == 1 else named

    @cached_property
    def _left_open(self) -> frozenset[int]:
        """The rows that the sentences around the question name, and that it may mean as well, where it names none itself; one behind it in any case."""
        whole = self._sentences if not _named(self._asked) else []
        nearest = next((_named(items) for items in reversed(whole) if items[0].start < self._start), frozenset())
        behind = [items for items in self._sentences if items[0].start >= self._end]
        return frozenset(
            row for items in (*whole, *behind) for item in items for row in item.rows if len(item.rows) == 1
        ) - self._aside | (nearest if not nearest & self._named else frozenset())

    @cached_property
    def _scope(self) -> list[Fact]:
        """The values that the question states; where it names no row, those of the sentence that it continues, too."""
        start = self._start
        if not any(item.tells for item in self._asked):
            before = [match.start() for match in _SENTENCE.finditer(self._hidden[: start - 1])]
            naming = [items[0].start for items in self._sentences if items[0].start < start]
            start = max((place for place in before if place <= max(naming, default=start)), default=0)
        return [
            fact
            for fact in facts_of(self._text, self._language)
            if start <= fact.start < self._end
            and not self._is_kept(fact.start)
            and not is_bound(self._text[: fact.start][-_AROUND:], self._text[fact.end :][:_AROUND])
        ]

    @cached_property
    def _unknown(self) -> str:
        """A value in the question that neither the called row, the call nor the user has; empty where there is none. A price may be a fee."""
        told = facts_of(self._told, self._language)
        return next(
            (
                self._text[fact.start : fact.end]
                for fact in self._scope
                if self._start <= fact.start
                and fact.unit not in _MONEY
                and (fact.unit != "count" or _COUNTS.match(self._text, fact.end))
                and not any(item.start <= fact.start < item.end and item.rows for item in self._asked)
                and not any(row.states(fact) for row in self._known)
                and not any(map(fact.same, told))
            ),
            "",
        )

    @cached_property
    def _other_figure(self) -> str:
        """A figure that neither a call with figures nor its row has, in the question, or anywhere where the question does not state those of the call.

        Empty where there is none. Six guests, and 8 in the call and as the seats of its row.
        """
        numbers = [
            (name, value)
            for name, value in self._arguments
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        ]
        if not numbers:
            return ""
        in_question = all(self._stated_by(self._scope, name, value) for name, value in numbers)
        naming = [item for item in self._items if item.tells and item.rows]
        return next(
            (
                self._text[fact.start : fact.end]
                for fact in (self._scope if in_question else facts_of(self._text, self._language))
                if fact.kind == "number"
                and not self._is_kept(fact.start)
                and not any(row.states(fact) for row in self._known)
                and not any(item.start <= fact.start < item.end for item in naming)
            ),
            "",
        )

    def _without_act(self, text: str) -> str:
        """Return a text without the words of the act of the tool."""
        words = (*self._tool.asks, self._tool.description) if self._tool else ()
        return without_acts(text, acts_in(fold_phrase(" ".join(words))))

    @cached_property
    def _words(self) -> tuple[str, ...]:
        """The words of the go-ahead; where none are declared, the first of the tool's name and of its description: dispute_charge."""
        if self._tool is None or self._tool.asks:
            return self._tool.asks if self._tool else ()
        first = re.split("[^a-z]", fold_phrase(self._tool.description), maxsplit=1)[0]
        return tuple(filter(None, (re.split("[-_]", self._tool.name)[0], singular(first))))

    def _says(self, text: str) -> bool:
        """Return whether a text has a word of the go-ahead, or, where none are declared, ends with a verb of the description in Chinese."""
        last = [] if self._tool is None or self._tool.asks else _LAST_VERB.findall(text)
        return any(_stands(word, text) for word in self._words) or any(
            verb in self._tool.description for verb in last if self._tool
        )

    def _proposal(self) -> tuple[str, str]:
        """Return the last sentence before the question that names an act, and why it proposes nothing."""
        before = self._hidden[: max(0, self._start - 1)]
        naming = [match[0] for match in _SENTENCE.finditer(before) if acts_in(match[0]) or self._says(match[0])]
        if not naming:
            # "A1 to the locker, then. OK?" proposes what the tool does, unless it says what else the agent would do.
            proposes = _AGENT.search(before)
            return "", f"{proposes[0]!r} may be another act" if proposes else ""
        clauses = [match[0] for match in _CLAUSE.finditer(naming[-1]) if acts_in(match[0]) or self._says(match[0])]
        denied = any(exclusion_in(self._without_act(clause), asks=False) for clause in clauses)
        proposed = _PROPOSES.search(naming[-1]) and not denied
        return naming[-1], "" if proposed else "the sentence before it does not plainly propose the act"

    def _act(self, asked: str) -> Reading | None:
        """Return why the act that is asked for is not surely that of the call; None where it is."""
        if self._tool is None or informs(asked):
            return Reading(None, "it may offer to look something up" if self._tool else "the tool is not known")
        acts, refers, place, why = acts_in(asked), refers_back(asked), asked, ""
        own = acts_of(self._tool.name, self._tool.description) | acts_in(" ".join(self._words[1:]))
        own = own or acts_in(self._tool.name.replace("_", " "))
        says_more = meaning_in(_OR_NOT.sub("", asked), (), self._generic, shortest=1)
        if refers or not (self._says(asked) or acts or says_more):  # "Shall I go ahead?"
            place, why = self._proposal()
            nothing = not (place or why or refers or self._tool.asks or any(item.tells for item in self._asked))
            if nothing and self._named == {self._called} and self._request.asking:
                return None
        if self._tool.asks and not self._says(place):
            return Reading(False if acts and not refers else None, f"it has none of the words {', '.join(self._words)}")
        verb = _MAIN_VERB.search(place) if place is asked else None
        other = verb and not (self._says(verb[1]) or acts_in(verb[1]) & own or _LIGHT.match(verb[1]))
        names = (self._tool.name, self._tool.description, *(name for name, _ in self._arguments))
        rest = acts_in(_NOUN.sub("", place), own) - acts_in(fold_phrase(" ".join(names)).replace("_", " "))
        values = hidden(self._text, [item for item in self._items if item.tells])[self._start : self._end]
        parts = (match for match in _PART_OF.finditer(values) if meaning_in(match[1] or match[2], own, self._generic))
        part = next(parts, None)
        around = _AROUND_ACT.findall(without_acts(place.replace("|", "#"), own)) if not place.isascii() else []
        nested = next(filter(None, (meaning_in(each, (), self._generic) for each in around)), "")
        doubts = {
            why: why,
            f"{verb and verb[1]!r} may be another act": other,
            f"it does not say what {self._tool.name} does; `asks` of the tool names the words": not (
                self._says(place) or acts_in(place) & own
            ),
            f"it asks for something else as well ({', '.join(sorted(rest))})": rest,
            f"{nested!r} is not understood": nested,
            f"{part and part[0].strip('| ')!r} may be only a part of it": part,
        }
        return next((Reading(None, doubt) for doubt, doubtful in doubts.items() if doubtful), None)

    def _is_said(self, name: str, value: Json) -> bool:
        """Return whether an argument stands in the message or in the user's words, is a value of the called row, a default, or a free text."""
        properties = self._tool.parameters.get("properties", {}) if self._tool else {}
        schema = properties.get(name.partition(".")[0])
        if _FREE_TEXT.search(name) or (isinstance(schema, dict) and schema.get("default", ...) == value):
            return True
        message = "".join(" " if self._is_kept(place) else char for place, char in enumerate(self._text))
        if isinstance(value, bool) or self._stands_in(message, name, value):
            return not isinstance(value, bool)
        # Another person or thing may stand in the question in place of a text that it does not state.
        asked, own = self._hidden[self._start : self._end], self._facts(name, value)
        if not own and meaning_in(asked, acts_in(asked), {*self._generic, *self._told.split(), self._told}):
            return False
        return self._stands_in(self._told, name, value) or self._is_in_row(name, value)

    def _stands_in(self, text: str, name: str, value: Json) -> bool:
        """Return whether a folded text has an argument: its words, the end of a number, or all that it states."""
        written, own = fold_phrase(str(value)), self._facts(name, value)
        tail = _TAIL.search(written)
        if tail and re.search(rf"(?<!\d){tail[0]}(?!\d)", text):  # the account ending in 9045
            return True
        if not isinstance(value, (int, float)) and (written in text or written.replace("_", " ") in text):
            return True
        words = re.search(r"[^\W\d_]{2,}", hidden(written, own))
        return bool(own) and not words and self._stated_by(facts_of(text, self._language), name, value)

    def _is_in_row(self, name: str, value: Json) -> bool:
        """Return whether an argument is a value of the called row, in any notation; of a list, one is chosen."""
        own = self._facts(name, value)[: 1 if isinstance(value, (int, float)) else None]
        called = [leaf for row in self._rows[self._called : self._called + 1] for leaf in row.values]
        names = Counter(field for field, _ in called)
        for written in (fold_phrase(str(leaf)) for field, leaf in called if names[field] == 1):
            facts = facts_of(written, self._language)
            alike = own and len(own) == len(facts) and all(map(Fact.same, own, facts))
            if written == fold_phrase(str(value)) or (alike and len(written) < _LONGEST_FACT):
                return True
        return False

    def _facts(self, name: str, value: Json) -> tuple[Fact, ...]:
        """Return the facts in an argument; a figure alone, with the unit that its name gives it, and in that unit: 2 hours, 120 min."""
        if not isinstance(value, (int, float)):
            return facts_of(fold_phrase(str(value)), self._language)
        noun = fold_phrase(name.rpartition(".")[2].replace("_", " "))
        unit = unit_of(noun).replace("count:people", "people").replace("count:person", "people")
        return (Fact(0, 0, "number", (float(value),), unit), *facts_of(f"{value} {noun}", "en")[:1])

    def _stated_by(self, facts: Sequence[Fact], name: str, value: Json) -> bool:
        """Return whether facts are those of an argument: any reading of a figure, all parts of a text."""
        each = [any(_states(fact, own) for fact in facts) for own in self._facts(name, value)]
        return any(each) if isinstance(value, (int, float)) else all(each)

    def _contradiction(self) -> tuple[str, str]:
        """Return what the question states that contradicts an argument, and what may contradict it; empty where nothing does."""
        doubt = ""
        numbers = [name for name, value in self._arguments if isinstance(value, (int, float))]
        message, told = facts_of(self._text, self._language), facts_of(self._told, self._language)
        for name, value in self._arguments:
            own, written = self._facts(name, value), fold_phrase(str(value))
            if others := _other_figures(written, self._text[self._start : self._end]):
                return f"it says {others[0]!r}, and the call has {name}={value!r}", ""
            if not own or self._stated_by(self._scope, name, value):
                continue
            kinds = {fact.kind for fact in own} & {"date", "time"}
            shapes = {_shape(fact) for fact in own if fact.kind == "code"}
            units = {fact.unit for fact in own} - {"", "count"} if isinstance(value, (int, float)) else set()
            units |= {*_MONEY} if numbers == [name] and not units & {"people", "min"} else set()
            loose = {"", "count"} if isinstance(value, (int, float)) else set()
            large = isinstance(value, (int, float)) and value >= _LARGE
            alike = [
                fact
                for fact in self._scope
                if fact.kind in kinds
                or (fact.kind == "code" and _shape(fact) in shapes)
                or (
                    fact.kind == "number"
                    and (fact.unit in units or (fact.unit in loose and (float(fact.value[0]) >= _LARGE) == large))
                )
            ]
            alike = [fact for fact in alike if fact.unit in units or not any(row.states(fact) for row in self._known)]
            if not alike:
                continue
            wrong = self._text[alike[0].start : alike[0].end]
            why = f"it says {wrong!r}, and the call has {name}={value!r}"
            only = len({fact.value for fact in alike}) == 1 and alike[0].unit not in loose
            elsewhere = message if alike[0].start >= self._start else (*message, *told)
            strange = not any(row.states(alike[0]) for row in self._rows) and not alike[0].rounds(own[0])
            in_words = alike[0].kind != "number" and _IN_WORDS.search(self._text)
            if only and strange and not in_words and not self._stated_by(elsewhere, name, value):
                return why, ""
            doubt = doubt or why
        return "", doubt


_MONEY = ("yuan", "foreign", "money")
#: Texts of these arguments say nothing of what is done.
_FREE_TEXT = re.compile(r"(?:^|[._])(?:reason|notes?|remarks?|memo|comments?)$|原因|理由|备注")
#: "cancel A1 and leave A2" has two clauses.
_CLAUSE = re.compile(r"(?:(?!\b(?:and (?=leav|keep|let)|while|whereas)\b)[^,;.!?()\n])+")
_SENTENCE = re.compile(r"[^.!?\n]+")
#: What joins the values of one list.
_AND = re.compile(r"[ ,、]*(?:and|&|[和与及]|以及)?[ ,、]*(?:the )?")
_JOINED = re.compile(rf"(?<=\|){_AND.pattern}(?=\|)")
_TAIL = re.compile(r"(?<=[\w-]-)\d{4,}$")
#: What the agent offers to do itself, and verbs that say nothing of it.
_MAIN_VERB = re.compile(
    r"(?:\b(?:shall|should|may|can|could) (?:i|we)|\b(?:me|us|ok|okay|good|ready) to)(?: (?:now|just|then|please|also|so|\w+ly))*(?: go ahead and| proceed to)? ((?:call|sign|take|top)(?:ing)? \w+|[a-z]+)"
)
_LIGHT = re.compile(
    r"(?:go|make|proceed|have|get|do|be|start|process|place|complete|continue|confirm|finali[sz]e|put)$"
)
#: "the fee of A1", A1的发票
_PART_OF = re.compile(r"([a-z]+) (?:of|for|from|on) (?:[a-z]+ ){0,3}\||\|(?:的|'s )([\u3400-\u9fff]{2,}|[a-z]+)")
#: Dates and times in words, which are not read.
_IN_WORDS = re.compile(
    r"\b(?:half|quarter|first|second|third|(?:[fsent]\w{1,6}|\w+teen|\w+tie)th(?<!month)(?<!south)|past|noon|midnight)\b|\b(?:today|tomorrow)\b|[今明后]天"
)
#: Where a word is no act of the agent: "the book", 您接受的话.
_NOUN = re.compile(
    r"\b(?:the|your|this|that|an?|my|no|any|extra) (?:(?!and\b|or\b|to\b)[a-z|]+ )?[a-z]+|提交|[您你](?:同意|接受|确认)"
)
#: The verb with which a question in Chinese ends.
_LAST_VERB = re.compile(
    r"([\u3400-\u9fff])(?:[上下掉好出]|过去)*(?:[吗么吧哈啦哦呢不?]|(?:可以|行|好)[吗么不]|[了啦][吗么吧哈哦,?])"
)
_OR_NOT = re.compile(r"不(?=[?~ ]*(?:\n|$))|[这那][样么]")
_AGENT = re.compile(r"\b(?:i|we)\b|我|[给帮为替][您你]")
_PROPOSES = re.compile(r"\b(?:i|we)(?:'ll|'d|'m| will| can| could| would| am) [a-z]+|我|[给帮为替][您你]")
#: What stands around an act in Chinese, in the same clause: 设成定期|, |记录.
_AROUND_ACT = re.compile(r"[^,;?#\n]*\|[^,;?#\n]*")
_PLACE = re.compile(
    r"\b(?:option|number|item|no\.) ?(\d)(?![\d.])|\bthe (first|second|third|fourth|fifth|last|\d)(?: (?:one|option|item|entry|in|on|of)\b|(?=[?,.;)]|$))"
    r"|(?:第([一二三四五六七八九\d])|(最后一))(?=[个条项种款笔单间张位家份本])"
)
_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "最后一": -1}
_PLACES |= {char: place for place, char in enumerate("一二三四五六七八九")}
_FEWEST_LETTERS = 3
#: Below this a figure counts things of many kinds.
_SMALL = 10
#: A longer value of a row says more than the one fact in it.
_LONGEST_FACT = 30
#: Behind a figure that counts: "one night", and not "the one in Rome".
_COUNTS = re.compile(r" (?!(?:in|on|at|for|from|with|to|by|as|and|or|that|which|is|you)\b)[a-z]")
#: No count of things has so many.
_LARGE = 100


def _states(fact: Fact, own: Fact) -> bool:
    """Return whether a fact is that of an argument; a small figure only of the same things."""
    counted = [each.unit for each in (fact, own) if each.unit not in ("", "count", *_MONEY)]
    apart = len(set(counted)) > 1 or (counted and own.unit == "" and fact.unit == "people")
    return fact.same(own) and not (fact.kind == "number" and float(own.value[0]) < _SMALL and apart)


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
