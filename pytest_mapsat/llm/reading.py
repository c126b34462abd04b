"""A response of the chat interface becomes an answer, or the fault that it is. One way for live calls and batch files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_mapsat.formats import parse_json
from pytest_mapsat.model import Json, JsonObject, Usage, shown

from .errors import Kind, ModelError
from .request import Answer, Request, ToolCall

#: Characters of one reply, and of the arguments of one call; calls in one reply.
_MOST_TEXT = 1_000_000
_MOST_CALLS = 100


def answer_of(response: Json, request: Request, *, cost: float | None = None, seconds: float = 0.0) -> Answer:
    """Return the answer that a response holds.

    Args:
        response: the body, as data.
        request: what was asked.
        cost: US dollars; None: not known.
        seconds: how long it took.

    Raises:
        ModelError: the reply is empty, cut, refused, or not what was asked for.
    """
    usage = _usage(response, cost)

    def fault(kind: Kind, what: str) -> ModelError:
        return ModelError(kind, f"{request.model} {what}", purpose=request.purpose, usage=usage)

    choices = response.get("choices") if isinstance(response, Mapping) else None
    choice = choices[0] if isinstance(choices, Sequence) and not isinstance(choices, str) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise fault("malformed", f"gave a response without choices[0].message: {shown(response)}")
    finish, text = str(choice.get("finish_reason") or "")[:40], message.get("content")
    text = text if isinstance(text, str) else ""
    if len(text) > _MOST_TEXT:
        raise fault("malformed", f"gave {len(text):,} characters; at most {_MOST_TEXT:,} are taken")
    if (refusal := _refusal(message)) or finish == "content_filter":
        raise fault("refused", "refused" + (f": {shown(refusal)}" if refusal else " (finish_reason content_filter)"))
    if finish == "length":
        raise fault("cut", f"was cut off after {len(text):,} characters (finish_reason length)")
    calls = _calls(message.get("tool_calls"))
    if calls is None:
        raise fault("malformed", "gave tool calls that cannot be read")
    if not calls and not text.strip():
        raise fault("empty", "gave an empty reply")
    data = (
        None
        if request.schema_ is None or calls
        else _object(text) or _object(text[text.find("{") : text.rfind("}") + 1])
    )
    if data is None and request.schema_ is not None and not calls:
        raise fault("malformed", f"was asked for a JSON object and gave {shown(text)}")
    return Answer(text=text, data=data, tool_calls=calls, finish=finish, usage=usage, seconds=round(seconds, 3))


def _usage(response: Json, cost: float | None) -> Usage:
    """Return what the response says it used; a count of 0 for what went in stands for none at all."""
    used = response.get("usage") if isinstance(response, Mapping) else None
    counts = [used.get(name) for name in ("prompt_tokens", "completion_tokens")] if isinstance(used, Mapping) else []
    known = [count for count in counts if isinstance(count, int) and not isinstance(count, bool) and count >= 0]
    if len(known) != 2 or known[0] == 0:  # noqa: PLR2004  in and out
        return Usage()
    return Usage(input_tokens=known[0], output_tokens=known[1], cost=cost)


def _refusal(message: Mapping[str, Json]) -> str:
    extra = message.get("provider_specific_fields")
    places = [message, extra] if isinstance(extra, Mapping) else [message]
    return next((said for place in places if isinstance(said := place.get("refusal"), str) and said.strip()), "")


def _calls(given: Json) -> tuple[ToolCall, ...] | None:
    """Return the calls of a reply; None where they have not the form of calls."""
    if given is None:
        return ()
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) > _MOST_CALLS:
        return None
    calls = []
    for number, one in enumerate(given, start=1):
        function = one.get("function") if isinstance(one, Mapping) else None
        name, text = (
            (function.get("name"), function.get("arguments")) if isinstance(function, Mapping) else (None, None)
        )
        text = "{}" if text in (None, "") else text
        if not isinstance(name, str) or not isinstance(text, str) or len(text) > _MOST_TEXT:
            return None
        calls.append(
            ToolCall(id=str(one.get("id") or f"call_{number}")[:200], name=name, arguments=_object(text), text=text)
        )
    return tuple(calls)


def _object(text: str) -> JsonObject | None:
    """Return the JSON object that a text is, a fence of code around it left aside; None where it is none."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text.partition("\n")[2].removesuffix("```")
    try:
        data = parse_json(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
