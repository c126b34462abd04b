"""Needs that a model proposes: it is asked three times at a query, its proposals are merged by agreement, and the log alone decides what may come of them.

What the statistics choose counts, whether a model proposes it or not. Whatever a model adds to that is a draft, and only where the log before the query bears
it out.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from pytest_mapsat.formats import PersonalData
from pytest_mapsat.judges import speaks_to_a_model
from pytest_mapsat.llm import OF_THE_REPLY, ModelClient, ModelError, Request, prompt
from pytest_mapsat.model import Evidence, Json, JsonObject, Usage, did_you_mean, digest
from pytest_mapsat.reading import fold_phrase

from .conversations import Conversation, Line
from .evidence import (
    Condition,
    Difference,
    Sort,
    Source,
    Thing,
    Told,
    is_figure,
    opens,
    sentences,
)

T = TypeVar("T")
#: What a model may say of a field.
_OPS: Mapping[str, Sort] = {
    "is": "is",
    "has": "has",
    "at_least": "least",
    "at_most": "most",
    "open_at": "open_at",
}


# -- several answers of the model, merged by agreement -----------------------------------------------------------------

#: How often a model is asked, and in how many of its replies a proposal must stand to be agreed on.
REPLIES, AGREED = 3, 2
#: The most characters of one text that a model is shown, or that is read of its reply.
LONGEST = 300
_MOST_NEEDS, _MOST_LINES = 20, 12
#: Figures agree where the smaller has this share of the larger, times of day where they lie within so many minutes.
_ALIKE, _ALIKE_MINUTES = 0.8, 60
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_TEXT: JsonObject = {"type": "string"}
Kind = Literal["asked", "hard", "soft"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class ProposingModel:
    """A model that proposes needs: the way to it, its name as litellm knows it, and its sampling parameters."""

    client: ModelClient
    name: str
    parameters: Mapping[str, Json] = field(default_factory=dict)


class RefusedError(Exception):
    """A proposal is of no use; the message says why. ``hint``: what may have been meant."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.hint = hint


class Vote(NamedTuple):
    """One proposal: the number of its reply, the need, and the names of the lines that are said to bear it out."""

    reply: int
    condition: Condition
    kind: Kind
    why: str
    lines: tuple[str, ...]


def schema_of(ops: Sequence[str], kinds: Sequence[Kind], **before: JsonObject) -> JsonObject:
    """Return the form of a reply: ``before``, and a list of needs. The reason of a need comes first: what is written first is thought first."""
    one_of: JsonObject = {"why": _TEXT, "lines": {"type": "array", "items": _TEXT}, "field": _TEXT}
    one_of |= {"op": {**_TEXT, "enum": [*ops]}, "value": _TEXT, "kind": {**_TEXT, "enum": [*kinds]}}
    need: JsonObject = {"type": "object", "properties": one_of, "required": [*one_of], "additionalProperties": False}
    parts: JsonObject = {**before, "needs": {"type": "array", "items": need}}
    return {"type": "object", "properties": parts, "required": [*parts], "additionalProperties": False}


def replies_to(
    model: ProposingModel, data: JsonObject, schema: JsonObject, name: str, language: str
) -> tuple[list[JsonObject | None], list[Usage]]:
    """Ask a model three times what it makes of data, and return of each reply the object that it is, None where it cannot be read, and what each request cost.

    It is told so by a prompt, and shown the data between fences with a digest of them, which no text in them can know. Personal data are replaced.

    Args:
        model: the model.
        data: what it is shown.
        schema: the form of a reply.
        name: the name of the prompt.
        language: ``en`` or ``zh``.

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
            {"role": "system", "content": prompt(name, language).fill(fence=fence)},
            {"role": "user", "content": f"{fence}\n{text}\n{fence}"},
        ),
        schema_=schema,
        parameters=dict(model.parameters),
        purpose="builder",
    )
    votes = [request.model_copy(update={"vote": number}) for number in range(1, REPLIES + 1)]
    with ThreadPoolExecutor(max_workers=REPLIES) as pool:
        replies = list(pool.map(lambda vote: _reply(model, vote, language), votes))
    return [reply for reply, _ in replies], [usage for _, spent in replies for usage in spent]


def _reply(model: ProposingModel, request: Request, language: str) -> tuple[JsonObject | None, list[Usage]]:
    """Return one reply, and what it cost; None where it cannot be read the second time either."""
    spent: list[Usage] = []
    messages = request.messages
    for _ in range(2):
        try:
            answer = model.client.ask(request)
        except ModelError as error:
            if error.kind not in OF_THE_REPLY or error.kind == "too_long":
                raise
            spent.append(error.usage)
            problem, before = str(error), []
        else:
            spent.append(answer.usage)
            if answer.data is not None and isinstance(answer.data.get("needs"), list):
                return answer.data, spent
            problem, before = 'it has no list "needs"', [{"role": "assistant", "content": answer.text}]
        again = prompt("propose_again", language).fill(problem=problem)
        asked = (*messages, *before, {"role": "user", "content": again})
        request = request.model_copy(update={"messages": asked})
    return None, spent


def _lines(value: Json) -> str:
    """Return JSON data, with the members of a list on lines of their own."""
    if not isinstance(value, list) or not value:
        return json.dumps(value, ensure_ascii=False)
    return "[\n" + ",\n".join(json.dumps(member, ensure_ascii=False) for member in value) + "\n]"


# -- what is read of a reply


def proposals_in(
    replies: Sequence[JsonObject | None], meant: Callable[[str, str, str], Condition]
) -> tuple[list[list[Vote]], list[tuple[str, str, str]]]:
    """Return the proposals of all replies that can be used, those that are alike together, and the others: each in words, why, and what may have been meant.

    Args:
        replies: the replies.
        meant: returns the condition that field, operation and value of a proposal mean; it raises RefusedError where they mean none.
    """
    together: list[list[Vote]] = []
    refused: list[tuple[str, str, str]] = []
    for number, reply in enumerate(replies, 1):
        needs = (reply or {}).get("needs")
        for need in needs[:_MOST_NEEDS] if isinstance(needs, list) else ():
            if not isinstance(need, dict):
                refused.append((text_in({"": str(need)}, "")[:60], "it is no object", ""))
                continue
            words = [text_in(need, key) for key in ("field", "op", "value")]
            try:
                condition = meant(*words)
            except RefusedError as error:
                refused.append((" ".join(word[:60] for word in words), str(error), error.hint))
                continue
            kind: Kind = next((kind for kind in KINDS if kind == need.get("kind")), "soft")
            listed = need.get("lines")
            named = listed[:_MOST_LINES] if isinstance(listed, list) else ()
            lines = tuple(name for name in named if isinstance(name, str))
            vote = Vote(number, condition, kind, text_in(need, "why"), lines)
            group = next((group for group in together if alike(group[0].condition, condition)), None)
            if group is None:
                together.append([vote])
            else:
                group.append(vote)
    return together, refused


def listed_as(values: Mapping[str, T], text: str, where: str) -> T:
    """Return the value that a reply writes. Raises RefusedError: it is none of those that ``where`` (the catalogue has, the records have)."""
    if text.casefold() not in values:
        raise RefusedError(f"{where} no such value", did_you_mean(text, values))
    return values[text.casefold()]


def text_in(reply: Mapping[str, Any], key: str) -> str:
    """Return a text of a reply on one line; numbers and truth values as texts."""
    value = reply.get(key)
    value = json.dumps(value) if isinstance(value, (bool, int, float)) else value
    text = value[:LONGEST] if isinstance(value, str) else ""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def value_in(sort: Sort, text: str) -> str | float:
    """Return the time of day or the figure of a condition, as a reply has it.

    Raises:
        RefusedError: it is none.
    """
    if sort == "open_at":
        if not _CLOCK.fullmatch(text):
            raise RefusedError("the value is no time of day")
        return text
    try:
        figure = float(text)
    except ValueError:
        figure = math.nan
    if not math.isfinite(figure):
        raise RefusedError("the value is no figure")
    return figure


def value_text(value: Json) -> str:
    """Return a value as a model writes it."""
    return (value if isinstance(value, str) else json.dumps(value)).casefold()


# -- agreement


def votes_for(group: Sequence[Vote]) -> int:
    """Return in how many replies a proposal stands."""
    return len({vote.reply for vote in group})


def kind_of(group: Sequence[Vote]) -> Kind:
    """Return the kind that most of the replies that have a proposal give it; soft where most give it none."""
    return next((kind for kind in KINDS if 2 * sum(vote.kind == kind for vote in group) > len(group)), "soft")


def who_proposes(model: ProposingModel, group: Sequence[Vote]) -> str:
    """Return who proposes a need, in how many replies, and why."""
    return f"{model.name}, {votes_for(group)} of {REPLIES} replies: {group[0].why}"


def middle(group: Sequence[Vote]) -> Condition:
    """Return the need of proposals that are alike; of figures and times of day the one in the middle."""
    return sorted((vote.condition for vote in group), key=rank)[(len(group) - 1) // 2]


def rank(condition: Condition) -> float:
    """Return the value of a bound as a figure, of a time of day in minutes; 0 for what has no order."""
    if condition.sort in ("least", "most", "within_m"):
        return float(condition.value or 0)
    if condition.sort == "open_at":
        hours, minutes = str(condition.value).split(":")
        return int(hours) * 60 + int(minutes)
    return 0.0


def alike(first: Condition, other: Condition) -> bool:
    """Return whether two conditions are the same need: figures and times of day may differ a little."""
    if (first.field, first.sort, first.forbids) != (other.field, other.sort, other.forbids):
        return False
    low, high = sorted((rank(first), rank(other)))
    if first.sort == "open_at":
        return high - low <= _ALIKE_MINUTES
    return first.value == other.value or 0 < _ALIKE * high <= low


# -- what a model reads in a user's words ------------------------------------------------------------------------------

#: What a model is shown: lines before the judged reply and behind it, things and their fields, values of one field or result, characters of a message.
_LINES_BEFORE, _LINES_BEHIND, _THINGS = 100, 40, 20
_FIELDS, _VALUES, _LONGEST = 40, 20, 1500
#: What it may say of a field: operations of logs, of which some may be turned round.
_READ_OPS = ("is", "is_not", "has", "has_not", "at_least", "at_most", "open_at")
_SCHEMA = schema_of(_READ_OPS, KINDS, refused=_TEXT, accepted={"anyOf": [_TEXT, {"type": "null"}]})
_Row = tuple[str, str, Told | None]


class ModelReading(NamedTuple):
    """What replies of a model come to.

    Attributes:
        refused: what the judged reply recommended and the user refused; None for nothing.
        accepted: what was taken.
        supports: the needs with what told them.
        notes: who proposes each, and what was refused.
    """

    refused: Thing | None
    accepted: tuple[Thing, ...]
    supports: tuple[Difference, ...]
    notes: tuple[str, ...]


def read_by_model(
    model: ProposingModel,
    conversation: Conversation,
    told: Sequence[Told],
    things: Mapping[str, Thing],
    by_rules: tuple[tuple[Thing, ...], tuple[Thing, ...]],
) -> ModelReading | str:
    """Ask a model three times, and hold its replies against the records and lines. Return why not, where nothing can be read.

    Args:
        model: the model.
        conversation: the conversation.
        told: what stood before the judged reply.
        things: what tools returned, by key.
        by_rules: what rules find to be refused and taken: it holds where no two replies agree on another thing.

    Raises:
        ModelError: there is no way to the model, or a ceiling is met.
    """
    if not things:
        return f"{model.name} is not asked: no result has a thing with a name"
    data, lines = _shown(conversation, told, things)
    replies, _ = replies_to(model, data, _SCHEMA, "propose_conversation", conversation.language)
    if not any(replies):
        return f"{model.name}: no reply can be read: the rules decide"
    notes: dict[str, None] = {}
    refused = _agreed(replies, "refused", things, by_rules[0], notes)
    accepted = _agreed(replies, "accepted", things, by_rules[1], notes)
    # What a later reply recommended and the user refused, too, is left to the rules.
    later = [thing for thing in by_rules[0] if refused and thing not in (*refused, *accepted)]
    meant = partial(_meant, things, ([*refused, *later], accepted))
    together, unusable = proposals_in(replies, meant)
    for need, why, hint in unusable:
        notes[f"{model.name}: {need}: refused: {why} {hint}".strip()] = None
    supports: list[Difference] = []
    for group in together:
        condition = Difference(**vars(middle(group)))
        supports.append(_support(condition, group, lines, note := who_proposes(model, group)))
        notes[f"{condition.field}: {note}"] = None
    return ModelReading(refused[0] if refused else None, accepted, tuple(supports), tuple(notes))


# -- what the model is shown


def _shown(
    conversation: Conversation, told: Sequence[Told], things: Mapping[str, Thing]
) -> tuple[JsonObject, dict[str, Told]]:
    """Return the data for the model, and by the name of its line what an agent could have known from before the reply."""
    places = {line.place for line in conversation.lines}
    known = [part for part in told if part.place not in places][:_LINES_BEFORE]
    if conversation.context.now:
        known.append(Told(conversation.query.place, "environment", "", "now", conversation.context.now))
    before: list[_Row] = []
    behind: list[_Row] = []
    for index, line in enumerate(conversation.lines):
        steps = (step for step in line.calls if step.kind == "call")
        texts = (f"{step.tool} {json.dumps(step.arguments, ensure_ascii=False)}"[:LONGEST] for step in steps)
        calls: list[_Row] = [("call", text, None) for text in texts]
        spoken: list[_Row] = [(line.role, line.text[:_LONGEST], None)] if line.text else []
        if index > conversation.reply_at:
            behind += [*calls, *spoken]
            continue
        parts = [part for part in told if part.place == line.place]
        results: list[_Row] = [("result", part.quote, part) for part in parts if part.path]
        if line.role == "agent":
            before += [*calls, *results[:_VALUES], *(spoken if index < conversation.reply_at else ())]
        else:
            before += [*_told_by(line, parts, is_query=index == conversation.query_at), *calls, *results[:_VALUES]]
    judged = conversation.lines[conversation.reply_at]
    rows: list[_Row] = [("context", part.quote, part) for part in known]
    rows += [*before[-_LINES_BEFORE:], (judged.role, judged.text[:_LONGEST], None)]
    reply = len(rows)
    rows += behind[:_LINES_BEHIND]
    named = {f"L{number}": row for number, row in enumerate(rows, 1)}
    words = fold_phrase(" ".join(text for _, text, _ in rows))
    ranked = sorted(things.values(), key=lambda thing: fold_phrase(thing.name) not in words)
    data: JsonObject = {
        "query": [name for name, (_, _, part) in named.items() if part is not None and part.asked],
        "reply": f"L{reply}",
        "lines": [{"line": name, who: text} for name, (who, text, _) in named.items()],
        "records": [{"name": thing.name, **_record(thing)} for thing in ranked[:_THINGS]],
    }
    return data, {name: part for name, (_, _, part) in named.items() if part is not None}


def _told_by(line: Line, parts: Sequence[Told], *, is_query: bool) -> list[_Row]:
    """Return the sentences of a message before the reply; what the user answered on the way to it was known, too."""
    texts = [part for part in parts if not part.path]
    if line.role == "user" and not texts:
        texts = [Told(line.place, "context", text) for text in sentences(line.text)]
    return [(line.role if part.asked or not is_query else "history", part.text[:LONGEST], part) for part in texts]


def _record(thing: Thing) -> JsonObject:
    """Return a record by field; lists and texts are cut."""
    fields = [*thing.values.items()][:_FIELDS]
    return {path: _cut(values[0] if len(values) == 1 else list(values)) for path, values in fields}


def _cut(value: Json) -> Json:
    if isinstance(value, list):
        return [_cut(member) for member in value[:_VALUES]]
    return value[:LONGEST] if isinstance(value, str) else value


# -- what can be used of the replies


def _agreed(
    replies: Sequence[JsonObject | None],
    key: Literal["refused", "accepted"],
    things: Mapping[str, Thing],
    by_rules: tuple[Thing, ...],
    notes: dict[str, None],
) -> tuple[Thing, ...]:
    """Return the thing that at least two replies name, nothing where they name nothing; what the rules find where they do not agree."""
    counts: Counter[str] = Counter()
    names = {fold_phrase(thing.name): known for known, thing in things.items()}
    for reply in replies:
        if reply is None:
            continue
        name = text_in(reply, key)
        if name and fold_phrase(name) not in names:
            hint = did_you_mean(name, [thing.name for thing in things.values()])
            notes[f"{key}: {name}: no record has this name {hint}".strip()] = None
        else:
            counts[names[fold_phrase(name)] if name else ""] += 1
    best, count = counts.most_common(1)[0] if counts else ("", 0)
    if count < AGREED:
        notes[f"{key}: no two of {REPLIES} replies agree: {', '.join(thing.name for thing in by_rules) or 'none'}, by the rules"] = None  # fmt: skip
        return by_rules
    # Several things may have been refused or taken: the one that is named among them leaves the others.
    return by_rules if best in {thing.key for thing in by_rules} else (things[best],) if best else ()


def _meant(
    things: Mapping[str, Thing], apart: tuple[Sequence[Thing], Sequence[Thing]], path: str, op: str, text: str
) -> Condition:
    """Return the condition that a proposal means.

    Raises:
        RefusedError: the records do not have it, or it does not tell what was refused from what was taken (``apart``).
    """
    if op not in _READ_OPS:
        raise RefusedError(f"op is none of {', '.join(_READ_OPS)}")
    values = [value for thing in things.values() for value in thing.values.get(path, ()) if value is not None]
    if not values:
        paths = {name for thing in things.values() for name in thing.values}
        raise RefusedError("the records have no such field", did_you_mean(path, paths))
    forbids, sort = op.endswith("_not"), _OPS[op.removesuffix("_not")]
    if sort in ("is", "has"):
        # Which of the two is meant follows from what the field has.
        parts = [part for each in values for part in (each if isinstance(each, list) else [each])]
        parts += [True, False] if any(isinstance(part, bool) for part in parts) else []
        plain = {value_text(part): part for part in parts if isinstance(part, str | bool | int | float)}
        value = listed_as(plain, text, "the records have")
        sort = "has" if any(isinstance(each, list) for each in values) else "is"
        if isinstance(value, bool) and forbids:
            sort, value, forbids = "is", not value, False
    else:
        value = value_in(sort, text)
        if sort == "open_at" and all(opens(part, text) is None for part in values):
            raise RefusedError("the field has no opening hours")
        if sort != "open_at" and not any(is_figure(part) for part in values):
            raise RefusedError("the field has no figures")
    condition = Difference(path, sort, value, forbids)
    refused, accepted = apart
    if not refused:
        raise RefusedError("nothing was refused")
    if all(condition.kept_by(thing) for thing in refused):
        raise RefusedError("what was refused keeps it")
    if any(condition.kept_by(thing) is False for thing in accepted):
        raise RefusedError("what was taken breaks it")
    return Condition(path, sort, value, forbids)


def _support(condition: Difference, group: Sequence[Vote], lines: Mapping[str, Told], note: str) -> Difference:
    """Return a need with who proposes it, and with the lines that told it before the reply, quoted from the log.

    A line that two replies name is a strong sign, else a weak one; one that speaks to a model tells nothing.
    """
    votes = Counter(name for vote in group for name in dict.fromkeys(vote.lines) if name in lines)
    told = {name: lines[name] for name in votes if not speaks_to_a_model(lines[name].quote)}
    kind, asked = kind_of(group), any(part.asked for part in told.values())
    quotes = [part.evidence("strong" if votes[name] >= AGREED else "weak") for name, part in told.items()]
    source: Source | Literal["unstated"] = next((part.source for part in told.values()), "unstated")
    evidence = (Evidence(text=note), *quotes) if quotes else ()
    required: Literal["hard", "soft"] = "soft" if kind == "soft" else "hard"
    return replace(condition, asked=kind == "asked" and asked, source=source, evidence=evidence, kind=required)
