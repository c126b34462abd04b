"""What a model reads in a conversation: it is asked three times which needs decided, its replies are merged by agreement, and records and lines decide what may come of them."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

from pytest_mapsat.formats import PersonalData
from pytest_mapsat.judges import speaks_to_a_model
from pytest_mapsat.llm import OF_THE_REPLY, ModelClient, ModelError, Request, prompt
from pytest_mapsat.model import Evidence, Json, JsonObject, did_you_mean, digest
from pytest_mapsat.reading import fold_phrase

from .conversations import Conversation, Line
from .evidence import Difference, Sort, Source, Thing, Told, is_figure, opens, sentences

#: How often a model is asked, and in how many of its replies something must stand to be agreed on.
_REPLIES, _AGREED = 3, 2
#: What a model is shown: lines before the judged reply and behind it, things and their fields, values of one field or result, characters of a message, and of any other text.
_LINES_BEFORE, _LINES_BEHIND, _THINGS = 100, 40, 20
_FIELDS, _VALUES, _LONGEST, _CHARS = 40, 20, 1500, 300
#: What is read of a reply, and the most lines of one need.
_NEEDS, _LINES = 20, 12
#: What it may say of a field; those of values may be turned round.
_OPS: Mapping[str, Sort] = {
    "is": "is",
    "is_not": "is",
    "has": "has",
    "has_not": "has",
    "at_least": "least",
    "at_most": "most",
    "open_at": "open_at",
}
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_Kind = Literal["asked", "hard", "soft"]
_KINDS: tuple[_Kind, ...] = get_args(_Kind)


def _object(**properties: JsonObject) -> JsonObject:
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
_Row = tuple[str, str, Told | None]


@dataclass(frozen=True)
class ProposingModel:
    """A model that proposes needs: the way to it, its name as litellm knows it, and its sampling parameters."""

    client: ModelClient
    name: str
    parameters: Mapping[str, Json] = field(default_factory=dict)


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
    replies = _replies_to(model, data, conversation.language)
    if not any(replies):
        return f"{model.name}: no reply can be read: the rules decide"
    notes: dict[str, None] = {}
    refused = _agreed(replies, "refused", things, by_rules[0], notes)
    accepted = _agreed(replies, "accepted", things, by_rules[1], notes)
    # What a later reply recommended and the user refused, too, is left to the rules.
    later = [thing for thing in by_rules[0] if refused and thing not in (*refused, *accepted)]
    together: dict[tuple[Json, ...], list[_Vote]] = {}
    for number, reply in enumerate(replies, 1):
        for written in (reply or {}).get("needs", ())[:_NEEDS]:
            need = written if isinstance(written, dict) else {"field": written}
            try:
                vote = _Vote(number, _meant(need, things, [*refused, *later], accepted), need)
            except _RefusedError as error:
                words = " ".join(_text(need, key)[:60] for key in ("field", "op", "value")).strip()
                notes[f"{model.name}: {words}: refused: {error}".strip()] = None
            else:
                together.setdefault(vote.about, []).append(vote)
    supports: list[Difference] = []
    for group in together.values():
        count = len({vote.reply for vote in group})
        note = f"{model.name}, {count} of {_REPLIES} replies: {_text(group[0].need, 'why')}"
        supports.append(_support(group, lines, note))
        notes[f"{supports[-1].field}: {note}"] = None
    return ModelReading(refused[0] if refused else None, accepted, tuple(supports), tuple(notes))


# -- what the model is shown and asked


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
        texts = (f"{step.tool} {json.dumps(step.arguments, ensure_ascii=False)}"[:_CHARS] for step in steps)
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
    return [(line.role if part.asked or not is_query else "history", part.text[:_CHARS], part) for part in texts]


def _record(thing: Thing) -> JsonObject:
    """Return a record by field; lists and texts are cut."""
    fields = [*thing.values.items()][:_FIELDS]
    return {path: _cut(values[0] if len(values) == 1 else list(values)) for path, values in fields}


def _cut(value: Json) -> Json:
    if isinstance(value, list):
        return [_cut(member) for member in value[:_VALUES]]
    return value[:_CHARS] if isinstance(value, str) else value


def _replies_to(model: ProposingModel, data: JsonObject, language: str) -> list[JsonObject | None]:
    """Ask a model three times what it makes of data, and return of each reply the object that it is, None where it cannot be read.

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
    """Return one reply; None where it cannot be read the second time either."""
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
    """Return JSON data, with the members of a list on lines of their own."""
    if not isinstance(value, list) or not value:
        return json.dumps(value, ensure_ascii=False)
    return "[\n" + ",\n".join(json.dumps(member, ensure_ascii=False) for member in value) + "\n]"


# -- what can be used of the replies


class _RefusedError(Exception):
    """A proposal is of no use; the message says why."""


class _Vote(NamedTuple):
    """One proposal that can be used: the number of its reply, the condition that it means, and the need as it is written."""

    reply: int
    condition: Difference
    need: JsonObject

    @property
    def about(self) -> tuple[Json, ...]:
        """What alike proposals share: bounds on one field are alike, whatever their figures."""
        condition = self.condition
        value = condition.value if condition.sort in ("is", "has") else None
        return condition.field, condition.sort, condition.forbids, value


def _text(reply: Mapping[str, Any], key: str) -> str:
    """Return a text of a reply on one line; numbers and truth values as texts."""
    value = reply.get(key)
    value = json.dumps(value) if isinstance(value, (bool, int, float)) else value
    text = value[:_CHARS] if isinstance(value, str) else ""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


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
    need: JsonObject, things: Mapping[str, Thing], refused: Sequence[Thing], accepted: Sequence[Thing]
) -> Difference:
    """Return the condition that a proposal means.

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
    condition = Difference(path, sort, value, forbids)
    if not refused:
        raise _RefusedError("nothing was refused")
    if all(condition.kept_by(thing) for thing in refused):
        raise _RefusedError("what was refused keeps it")
    if any(condition.kept_by(thing) is False for thing in accepted):
        raise _RefusedError("what was taken breaks it")
    return condition


def _value(sort: Sort, text: str, values: Sequence[Json]) -> Json:
    """Return the value of a condition that a reply writes, as the field has it. Raises _RefusedError."""
    if sort == "open_at":
        if not _CLOCK.fullmatch(text):
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
    plain = {_written(part): part for part in parts if isinstance(part, str | bool | int | float)}
    if text.casefold() not in plain:
        raise _RefusedError(f"the records have no such value {did_you_mean(text, plain)}")
    return plain[text.casefold()]


def _written(value: Json) -> str:
    """Return a value as a model writes it."""
    return (value if isinstance(value, str) else json.dumps(value)).casefold()


def _support(group: Sequence[_Vote], lines: Mapping[str, Told], note: str) -> Difference:
    """Return a need with who proposes it, and with the lines that told it before the reply, quoted from the log; of several bounds the one in the middle.

    A line that two replies name is a strong sign, else a weak one; one that speaks to a model tells nothing. The kind is that of most replies, else soft.
    """
    condition = sorted((vote.condition for vote in group), key=lambda each: each.value)[(len(group) - 1) // 2]
    named = (dict.fromkeys(map(str, _list(vote.need.get("lines"))[:_LINES])) for vote in group)
    votes = Counter(name for names in named for name in names if name in lines)
    told = {name: lines[name] for name in votes if not speaks_to_a_model(lines[name].quote)}
    given = Counter(str(vote.need.get("kind")) for vote in group)
    kind = next((kind for kind in _KINDS if 2 * given[kind] > len(group)), "soft")
    asked = kind == "asked" and any(part.asked for part in told.values())
    quotes = [part.evidence("strong" if votes[name] >= _AGREED else "weak") for name, part in told.items()]
    source: Source | Literal["unstated"] = next((part.source for part in told.values()), "unstated")
    evidence = (Evidence(text=note), *quotes) if quotes else ()
    return replace(condition, asked=asked, source=source, evidence=evidence, kind="soft" if kind == "soft" else "hard")


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
