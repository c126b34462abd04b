"""What a model reads out of a conversation: what was refused and taken, which fields decided, and which lines before the reply told it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from pytest_mapsat.judges import speaks_to_a_model
from pytest_mapsat.model import Evidence, Json, JsonObject, did_you_mean
from pytest_mapsat.reading import fold_phrase
from pytest_mapsat.sandbox import satisfies

from .conversations import Conversation
from .evidence import Condition, Sort, Source, Support, Told
from .fields import Field, Thing, between, contains, open_at, sentences
from .proposed import (
    AGREED,
    KINDS,
    LONGEST,
    REPLIES,
    Kind,
    ProposingModel,
    RefusedError,
    Replies,
    Vote,
    groups,
    in_words,
    kind_of,
    lines_in,
    middle,
    needs_in,
    replies_to,
    schema_of,
    text_in,
    value_in,
    value_text,
    who_proposes,
)

#: What a model is shown: lines before the judged reply and behind it, things and their fields, values of one field or result, characters of a message.
_MOST_BEFORE, _MOST_AFTER, _MOST_THINGS, _MOST_FIELDS, _MOST_VALUES, _LONGEST = 100, 40, 20, 40, 20, 1500
_OPS: Mapping[str, tuple[Sort, bool]] = {
    "is": ("is", False),
    "is_not": ("is", True),
    "has": ("has", False),
    "has_not": ("has", True),
    "at_least": ("least", False),
    "at_most": ("most", False),
    "open_at": ("open_at", False),
}
_SCHEMA = schema_of(
    [*_OPS], KINDS, refused={"type": "string"}, accepted={"anyOf": [{"type": "string"}, {"type": "null"}]}
)
_Row = tuple[str, str, Told | None]


class ModelReading(NamedTuple):
    """What replies of a model come to.

    Attributes:
        decided: whether there was anything to read, and a reply that could be read.
        refused: what the judged reply recommended and the user refused; None for nothing.
        accepted: what was taken.
        supports: the needs with what told them.
        notes: who proposes each, and what was refused.
    """

    decided: bool
    refused: Thing | None
    accepted: tuple[Thing, ...]
    supports: tuple[Support, ...]
    notes: tuple[str, ...]


def read_by_model(
    model: ProposingModel,
    conversation: Conversation,
    told: Sequence[Told],
    things: Mapping[str, Thing],
    by_rules: tuple[tuple[Thing, ...], tuple[Thing, ...]],
) -> ModelReading:
    """Ask a model three times, and hold its replies against the records and lines.

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
        return ModelReading(False, None, (), (), (f"{model.name} is not asked: no result has a thing with a name",))
    data, lines = _shown(conversation, told, things)
    replies = replies_to(model, data, _SCHEMA, "propose_conversation", conversation.language)
    if not any(replies.data):
        return ModelReading(False, None, (), (), (f"{model.name}: no reply can be read: the rules decide",))
    notes: dict[str, None] = {}
    refused = _agreed(replies, "refused", things, by_rules[0], notes)
    accepted = _agreed(replies, "accepted", things, by_rules[1], notes)
    # What a later reply recommended and the user refused, too, is left to the rules.
    later = [thing for thing in by_rules[0] if refused and thing not in (*refused, *accepted)]
    votes: list[Vote] = []
    for number, reply in enumerate(replies.data, 1):
        for need in needs_in(reply):
            try:
                vote = _vote(number, need, things)
                _refuse_useless(_field_of(vote.condition, forbids=vote.forbids), [*refused, *later], accepted)
                votes.append(vote)
            except RefusedError as error:
                notes[f"{model.name}: {in_words(need)}: refused: {error} {error.hint}".strip()] = None
    supports: list[Support] = []
    for group in groups(votes):
        condition = _field_of(middle(group), forbids=group[0].forbids)
        supports.append(_support(condition, group, lines, note := who_proposes(model, group)))
        notes[f"{condition.path}: {note}"] = None
    return ModelReading(True, refused[0] if refused else None, accepted, tuple(supports), tuple(notes))


# -- what the model is shown


def _shown(
    conversation: Conversation, told: Sequence[Told], things: Mapping[str, Thing]
) -> tuple[JsonObject, dict[str, Told]]:
    """Return the data for the model, and by the name of its line what an agent could have known from before the reply."""
    behind = conversation.reply_at + 1
    rows = [
        *_context(conversation, told),
        *_before(conversation, told)[-_MOST_BEFORE:],
        *_spoken(conversation, conversation.reply_at),
    ]
    reply = len(rows)
    for index in range(behind, len(conversation.lines)):
        rows += [*_calls(conversation, index), *_spoken(conversation, index)]
    rows = rows[: reply + _MOST_AFTER]
    named = {f"L{number}": row for number, row in enumerate(rows, 1)}
    words = fold_phrase(" ".join(text for _, text, _ in rows))
    ranked = sorted(things.values(), key=lambda thing: fold_phrase(thing.name) not in words)
    data: JsonObject = {
        "query": [name for name, (_, _, part) in named.items() if part is not None and part.asked],
        "reply": f"L{reply}",
        "lines": [{"line": name, who: text} for name, (who, text, _) in named.items()],
        "records": [{"name": thing.name, **_fields(thing)} for thing in ranked[:_MOST_THINGS]],
    }
    return data, {name: part for name, (_, _, part) in named.items() if part is not None}


def _context(conversation: Conversation, told: Sequence[Told]) -> list[_Row]:
    """Return what is on file or known when the user asks."""
    places = {line.place for line in conversation.lines}
    parts = [part for part in told if part.place not in places][:_MOST_BEFORE]
    if conversation.context.now:
        at_query = conversation.lines[conversation.query_at].place
        parts.append(Told(at_query, "environment", "", "now", conversation.context.now))
    return [("context", part.quote, part) for part in parts]


def _before(conversation: Conversation, told: Sequence[Told]) -> list[_Row]:
    """Return the lines before the judged reply, those of its calls with them: sentences, calls, and values of results."""
    rows: list[_Row] = []
    for index, line in enumerate(conversation.lines[: conversation.reply_at + 1]):
        parts = [part for part in told if part.place == line.place]
        texts = [part for part in parts if not part.path]
        if line.role == "user" and not texts:
            # What the user answered on the way to the reply was known, too.
            texts += [Told(line.place, "context", text) for text in sentences(line.text)]
        values = [part for part in parts if part.path][:_MOST_VALUES]
        if line.role != "agent":
            earlier = "history" if index == conversation.query_at else line.role
            rows += [(line.role if part.asked else earlier, part.text[:LONGEST], part) for part in texts]
        rows += _calls(conversation, index)
        rows += [("result", part.quote, part) for part in values]
        if line.role == "agent" and index < conversation.reply_at:
            rows += _spoken(conversation, index)
    return rows


def _spoken(conversation: Conversation, index: int) -> list[_Row]:
    line = conversation.lines[index]
    return [(line.role, line.text[:_LONGEST], None)] if line.text or index == conversation.reply_at else []


def _calls(conversation: Conversation, index: int) -> list[_Row]:
    calls = [step for step in conversation.lines[index].calls if step.kind == "call"]
    texts = (f"{step.tool} {json.dumps(step.arguments, ensure_ascii=False)}"[:LONGEST] for step in calls)
    return [("call", text, None) for text in texts]


def _fields(thing: Thing) -> JsonObject:
    """Return a record by field; lists and texts are cut."""
    fields = [*thing.values.items()][:_MOST_FIELDS]
    return {path: _cut(values[0] if len(values) == 1 else list(values)) for path, values in fields}


def _cut(value: Json) -> Json:
    if isinstance(value, list):
        return [_cut(member) for member in value[:_MOST_VALUES]]
    return value[:LONGEST] if isinstance(value, str) else value


# -- what can be used of the replies


def _agreed(
    replies: Replies,
    key: Literal["refused", "accepted"],
    things: Mapping[str, Thing],
    by_rules: tuple[Thing, ...],
    notes: dict[str, None],
) -> tuple[Thing, ...]:
    """Return the thing that at least two replies name, nothing where they name nothing; what the rules find where they do not agree."""
    counts: Counter[str] = Counter()
    names = {fold_phrase(thing.name): known for known, thing in things.items()}
    for reply in replies.data:
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


def _vote(reply: int, need: Json, things: Mapping[str, Thing]) -> Vote:
    """Return one proposal. Raises RefusedError: the records do not have it."""
    if not isinstance(need, dict):
        raise RefusedError("it is no object")
    path, text, op = (text_in(need, key) for key in ("field", "value", "op"))
    if op not in _OPS:
        raise RefusedError(f"op is none of {', '.join(_OPS)}")
    values = [value for thing in things.values() for value in thing.values.get(path, ()) if value is not None]
    if not values:
        paths = {name for thing in things.values() for name in thing.values}
        raise RefusedError("the records have no such field", did_you_mean(path, paths))
    sort, forbids = _OPS[op]
    condition = Condition(path, *_meant(sort, text, values))
    if isinstance(condition.value, bool) and forbids:
        condition, forbids = Condition(path, "is", not condition.value), False
    kind: Kind = next((kind for kind in KINDS if kind == need.get("kind")), "soft")
    return Vote(reply, condition, kind, text_in(need, "why"), lines_in(need), forbids)


def _meant(sort: Sort, text: str, values: Sequence[Json]) -> tuple[Sort, str | float | bool]:
    """Return which condition a proposal means by what the field has, and its value. Raises RefusedError."""
    if sort in ("is", "has"):
        parts = [part for value in values for part in (value if isinstance(value, list) else [value])]
        parts += [True, False] if any(isinstance(part, bool) for part in parts) else []
        members = {value_text(part): part for part in parts if isinstance(part, str | bool | int | float)}
        if text.casefold() not in members:
            raise RefusedError("the records have no such value", did_you_mean(text, members))
        return "has" if any(isinstance(value, list) for value in values) else "is", members[text.casefold()]
    value = value_in(sort, text)
    if sort == "open_at" and all(satisfies(open_at(text), part) is None for part in values):
        raise RefusedError("the field has no opening hours")
    if sort != "open_at" and not any(isinstance(part, int | float) and not isinstance(part, bool) for part in values):
        raise RefusedError("the field has no figures")
    return sort, value


def _field_of(condition: Condition, *, forbids: bool) -> Field:
    """Return a proposed condition as a check has it."""
    path, sort, value = condition.field, condition.sort, condition.value
    if sort == "least":
        return Field(path, between("min", float(value or 0)), bound="min")
    if sort == "most":
        return Field(path, between("max", float(value or 0)), bound="max")
    if sort == "open_at":
        return Field(path, {"op": "open_at", "time": value})
    text = value if isinstance(value, str) else ""
    return Field(path, contains(str(value)) if sort == "has" else value, forbids=forbids, value=text)


def _refuse_useless(condition: Field, refused: Sequence[Thing], accepted: Sequence[Thing]) -> None:
    """Raise RefusedError: the condition does not tell what was refused from what was taken."""
    if not refused:
        raise RefusedError("nothing was refused")
    if all(condition.kept_by(thing) for thing in refused):
        raise RefusedError("what was refused keeps it")
    if any(condition.kept_by(thing) is False for thing in accepted):
        raise RefusedError("what was taken breaks it")


def _support(condition: Field, group: Sequence[Vote], lines: Mapping[str, Told], note: str) -> Support:
    """Return a need with who proposes it, and with the lines that told it before the reply, quoted from the log.

    A line that two replies name is a strong sign, else a weak one; one that speaks to a model tells nothing.
    """
    votes = Counter(name for vote in group for name in dict.fromkeys(vote.lines) if name in lines)
    told = {name: lines[name] for name in votes if not speaks_to_a_model(lines[name].quote)}
    kind, asked = kind_of(group), any(part.asked for part in told.values())
    quotes = []
    for name, part in told.items():
        agreed = votes[name] >= AGREED
        relevance: Literal["strong", "weak"] = "strong" if agreed else "weak"
        need: Literal["direct", "related"] = "direct" if agreed else "related"
        quotes.append(Evidence(text=part.quote, at=(part.place,), relevance=relevance, need=need))
    source: Source | Literal["unstated"] = next((part.source for part in told.values()), "unstated")
    evidence = (Evidence(text=note), *quotes) if quotes else ()
    return Support(condition, kind == "asked" and asked, source, evidence, "soft" if kind == "soft" else "hard")
