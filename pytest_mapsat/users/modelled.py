"""The user that is a model: each of its messages is checked by machine against the rules of docs/how-to/simulate-the-user.md."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from pytest_mapsat.llm import Answer, ModelError, Voice, prompt
from pytest_mapsat.model import Case, Ending, JsonObject, Turn, Usage, digest, total_usage

from .user import (
    NO_HANDS,
    Hands,
    Script,
    Slip,
    UserBrokenError,
    UserMove,
    last_words,
    liberties,
    out_of_turn,
    read,
    wording_slips,
    words,
)

#: The prompts of each spec, for the manifest.
USER_PROMPTS: Mapping[str, tuple[str, ...]] = {"llm": ("user", "user_again", "user_free", "user_manner")}
_ENDINGS = ("no", "done", "stalled")
#: How often a model may break the rules in one turn; the last time breaks the episode.
_CHANCES = 2
_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "asked": {"type": "array", "items": {"type": "string"}},
        "message": {"type": "string"},
        "end": {"type": "string", "enum": list(_ENDINGS)},
    },
    "required": ["asked", "message", "end"],
    "additionalProperties": False,
}
#: The prompts of a user that may act.
_ACTING: JsonObject = {
    **_SCHEMA,
    "properties": {
        **_SCHEMA["properties"],
        "calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"tool": {"type": "string"}, "arguments": {"type": "string"}},
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            },
        },
    },
    "required": [*_SCHEMA["required"], "calls"],
}
#: The most requests to a model, and the most calls of it, in one turn of the user.
_MOST_ROUNDS = 20
_MOST_CALLS = 50


class ModelUser:
    """The user of one episode, played by a model that knows only persona, intent and script from the truth."""

    def __init__(self, case: Case, voice: Voice) -> None:
        truth = case.truth
        self._voice = voice
        self._language = case.language
        self._script = Script(case)
        self._opening = case.visible.messages
        self._may = truth.user.may
        self._prompt = truth.user.prompt
        self._known = [truth.persona, truth.intent, self._prompt, *self._script.said]
        self._known += [message.text for message in self._opening]
        self._manner = ""
        if truth.user.manner or truth.user.attempts:
            from .manner import instructions  # noqa: PLC0415 (few users have one)

            lines = instructions(truth.user, case.language)
            self._manner = "\n\n" + prompt("user_manner", case.language).fill(manner="\n".join(lines))
        self._about = {
            "persona": truth.persona or "-",
            "intent": truth.intent or case.visible.query,
            "answers": "\n".join(f"- {line}" for line in self._script.lines()) or "-",
        }

    def reply(self, turns: Sequence[Turn], hands: Hands = NO_HANDS) -> UserMove:
        """Return the user's move after the agent's last turn; the user first makes the calls that the case allows.

        Raises:
            UserBrokenError: the model broke the rules twice, or never stopped calling.
            ModelError: it gave no answer.
            InfrastructureError: the sandbox broke in a call.
        """
        messages = self._messages(turns, hands)
        spent: list[Usage] = []
        problems: list[str] = []
        broken = called = 0
        for _ in range(_MOST_ROUNDS):
            move = self._asked(messages, spent)
            calls = _calls(move) if move is not None and "act" in self._may else []
            if move is not None:
                messages.append({"role": "assistant", "content": move.text})
            if calls and called + len(calls) <= _MOST_CALLS:
                called += len(calls)
                messages.append({"role": "user", "content": self._made(calls, hands)})
                continue
            problems = ["the reply is not a JSON object"] if move is None else self._wrong(move, turns)
            if move is not None and not problems:
                return _move(move, spent)
            broken += 1
            if broken == _CHANCES:
                raise UserBrokenError(f"the user {self._voice.model} broke its rules twice: {'; '.join(problems)}")
            again = prompt("user_again", self._language).fill(problems="; ".join(problems))
            messages.append({"role": "user", "content": again})
        raise UserBrokenError(f"the user {self._voice.model} went on calling its tools, and said nothing")

    def _messages(self, turns: Sequence[Turn], hands: Hands) -> list[JsonObject]:
        """Return the messages for the model: its instructions, and the dialogue between two fences."""
        lines = [
            *((message.role, message.text) for message in self._opening),
            *((turn.role, turn.text) for turn in turns),
        ]
        dialogue = "\n\n".join(f"{'user' if role == 'user' else 'assistant'}: {text}" for role, text in lines)
        fence = _fence(dialogue)
        if self._may or self._prompt:
            acts = hands.tools if "act" in self._may else {}
            tools = [
                {"tool": name, "description": tool.description, "parameters": tool.parameters}
                for name, tool in acts.items()
            ]
            instructions = prompt("user_free", self._language).fill(
                fence=fence,
                prompt=self._prompt or "-",
                tools="\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools) or "-",
                **liberties(self._language, self._may),
                **self._about,
            )
        else:
            instructions = prompt("user", self._language).fill(fence=fence, **self._about)
        return [
            {"role": "system", "content": instructions + self._manner},
            {"role": "user", "content": f"{fence}\n{dialogue}\n{fence}"},
        ]

    def _made(self, calls: Sequence[tuple[str, JsonObject]], hands: Hands) -> str:
        """Make the user's calls, and return their results as JSON lines for the model."""
        results = []
        for tool, arguments in calls:
            step = hands.call(tool, arguments)
            results.append(json.dumps({"tool": tool, "result": step.result}, ensure_ascii=False))
        self._known += results
        return "\n".join(results)

    def _asked(self, messages: Sequence[JsonObject], spent: list[Usage]) -> Answer | None:
        """Ask the model, count the usage and return the answer; None if it is malformed. Raises ModelError."""
        try:
            answer = self._voice.ask(messages, _ACTING if self._may or self._prompt else _SCHEMA)
        except ModelError as error:
            if error.kind != "malformed":
                raise
            spent.append(error.usage)
            return None
        spent.append(answer.usage)
        return answer

    def _wrong(self, answer: Answer, turns: Sequence[Turn]) -> list[str]:
        """Return the rules that a message breaks, in words for the model."""
        data = answer.data or {}
        asked, message, end = data.get("asked"), data.get("message"), data.get("end")
        if not isinstance(asked, list) or not isinstance(message, str) or end not in _ENDINGS or not message.strip():
            return ['the reply needs "asked" (a list), "message" (a text) and "end" (no, done or stalled)']
        heard = last_words(turns)
        return [*_misquotes(asked, heard), *dict.fromkeys(slip.why for slip in self._slips(message, turns, heard, end))]

    def _slips(self, message: str, turns: Sequence[Turn], heard: str, end: object) -> Iterator[Slip]:
        """Yield the slips of a message: out of turn, wrong words, inventions, and departures from the script."""
        ends = end != "no"
        # Who may act is told things that no question asks for, and says what came of them.
        free = bool(self._may) or self._script.may_speak(turns)
        if not (ends and self._script.may_leave(turns)):
            yield from out_of_turn(read(heard, self._language), ends=ends, free=free)
        asks = "go_on" in self._may or self._script.attempts_in(message)
        yield from wording_slips(message, asks=asks, rambles="rambling" in self._script.manners)
        yield from self._script.invented(message, [*self._known, *(turn.text for turn in turns)])
        yield from self._script.departed(turns, message, ends=ends)


def _calls(answer: Answer) -> list[tuple[str, JsonObject]]:
    """Return the tool and arguments of each call that a model requests; no arguments if they cannot be read."""
    calls = (answer.data or {}).get("calls")
    listed = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    readable = []
    for call in listed:
        arguments = call.get("arguments")
        try:
            arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        except ValueError:
            arguments = None
        readable.append((str(call.get("tool", "")), arguments if isinstance(arguments, dict) else {}))
    return readable


def _misquotes(asked: Sequence[object], heard: str) -> list[str]:
    """Return a complaint on the first quoted question that the agent did not ask; an empty list if there is none."""
    folded = words(heard)
    strange = [quote for quote in asked if not isinstance(quote, str) or words(quote) not in folded]
    return [f"{str(strange[0])[:60]!r} does not occur in the assistant's message"] if strange else []


def _move(answer: Answer, spent: Sequence[Usage]) -> UserMove:
    """Return the move in a model's answer, with the usage of the whole turn."""
    data = answer.data or {}
    ending = None if data["end"] == "no" else cast("Ending", data["end"])
    return UserMove(str(data["message"]).strip(), ending, usage=total_usage(spent))


def _fence(text: str) -> str:
    """Return a line that does not occur in a text: always the same, but not predictable by the text's author."""
    number = 0
    while (fence := f"=== {digest([number, text], size=12)} ===") in text:
        number += 1
    return fence
