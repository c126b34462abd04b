"""Proposals of a model: how it is asked three times, what is read of its replies, and how they are merged by agreement."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from pytest_mapsat.formats import PersonalData
from pytest_mapsat.llm import OF_THE_REPLY, ModelClient, ModelError, Request, prompt
from pytest_mapsat.model import Json, JsonObject, Usage, digest

from .conditions import Condition, Sort

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
    """One proposal: the number of its reply, the need, and the names of the lines that are said to bear it out; ``forbids``: nothing may fit the need."""

    reply: int
    condition: Condition
    kind: Kind
    why: str
    lines: tuple[str, ...]
    forbids: bool = False


class Replies(NamedTuple):
    """Replies of a model.

    Attributes:
        data: of each the object that it is; None where it could not be read.
        counts: how many replies there were, and how many could not be read.
        spent: what each request cost.
    """

    data: tuple[JsonObject | None, ...]
    counts: Counter[str]
    spent: tuple[Usage, ...]


def schema_of(ops: Sequence[str], kinds: Sequence[Kind], **before: JsonObject) -> JsonObject:
    """Return the form of a reply: ``before``, and a list of needs. The reason of a need comes first: what is written first is thought first."""
    one_of: JsonObject = {"why": _TEXT, "lines": {"type": "array", "items": _TEXT}, "field": _TEXT}
    one_of |= {"op": {**_TEXT, "enum": [*ops]}, "value": _TEXT, "kind": {**_TEXT, "enum": [*kinds]}}
    need: JsonObject = {"type": "object", "properties": one_of, "required": [*one_of], "additionalProperties": False}
    parts: JsonObject = {**before, "needs": {"type": "array", "items": need}}
    return {"type": "object", "properties": parts, "required": [*parts], "additionalProperties": False}


def replies_to(model: ProposingModel, data: JsonObject, schema: JsonObject, name: str, language: str) -> Replies:
    """Ask a model three times what it makes of data.

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
    lost = sum(reply is None for reply, _ in replies)
    counts = Counter({"replies": REPLIES, "replies that cannot be read": lost})
    return Replies(
        tuple(reply for reply, _ in replies), counts, tuple(usage for _, spent in replies for usage in spent)
    )


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


def needs_in(reply: Mapping[str, Any] | None) -> list[Any]:
    """Return the needs of a reply, those that are looked at."""
    needs = (reply or {}).get("needs")
    return needs[:_MOST_NEEDS] if isinstance(needs, list) else []


def lines_in(need: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of lines that a need has."""
    listed = need.get("lines")
    return tuple(name for name in listed[:_MOST_LINES] if isinstance(name, str)) if isinstance(listed, list) else ()


def text_in(reply: Mapping[str, Any], key: str) -> str:
    """Return a text of a reply on one line; numbers and truth values as texts."""
    value = reply.get(key)
    value = json.dumps(value) if isinstance(value, (bool, int, float)) else value
    text = value[:LONGEST] if isinstance(value, str) else ""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def in_words(need: Any) -> str:
    """Return a proposal as it stands in a reply, for a report."""
    if not isinstance(need, dict):
        return text_in({"": str(need)}, "")[:60]
    return " ".join(text_in(need, key)[:60] for key in ("field", "op", "value"))


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


def groups(votes: Sequence[Vote]) -> list[list[Vote]]:
    """Return the proposals of all replies, those that are alike together, in the order of the replies."""
    together: list[list[Vote]] = []
    for vote in votes:
        same = (
            group
            for group in together
            if group[0].forbids == vote.forbids and alike(group[0].condition, vote.condition)
        )
        group = next(same, None)
        if group is None:
            together.append([vote])
        else:
            group.append(vote)
    return together


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
    if (first.field, first.sort) != (other.field, other.sort):
        return False
    low, high = sorted((rank(first), rank(other)))
    if first.sort == "open_at":
        return high - low <= _ALIKE_MINUTES
    return first.value == other.value or 0 < _ALIKE * high <= low
