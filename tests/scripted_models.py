"""A server on loopback that speaks the OpenAI chat protocol and answers, or breaks, as a script says."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-secret-0123456789abcdef"


@dataclass(frozen=True)
class Broken:
    """An answer that is none: a status with a body and headers, a connection that is cut, or no answer at all."""

    status: int = 500
    body: bytes | str = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    hang: bool = False


def said(
    text: str | None = None,
    *,
    calls: Sequence[tuple[str, object]] = (),
    finish: str = "",
    refusal: str | None = None,
    usage: tuple[int, int] | None = (100, 10),
) -> dict[str, Any]:
    """Return a chat completion: words, calls of tools (arguments as data, or as a text to be sent as it is), and what it cost."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if refusal is not None:
        message["refusal"] = refusal
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
            }
            for number, (name, given) in enumerate(calls)
        ]
    response: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini",
        "choices": [{"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}],
    }
    if usage is not None:
        response["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": sum(usage),
        }
    return response


def problem(status: int, message: str, code: str | None = None, **headers: str) -> Broken:
    """Return an error in the form of the protocol."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return Broken(status, json.dumps(body), {name.replace("_", "-"): value for name, value in headers.items()})


Script = Callable[[dict[str, Any], int], "dict[str, Any] | Broken"]


class ScriptedModels:
    """The server.

    Attributes:
        script: from the body of a request and its number from 0 to the answer.
        requests: the bodies that came, in order.
        keys: the Authorization headers that came.
        together: whether the script may answer several requests at once; else one after the other, in the order in which they come.
    """

    def __init__(self) -> None:
        self.script: Script = lambda _body, _number: said("ok")
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.together = False
        self._lock = threading.Lock()
        self._over = threading.Event()
        models = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                models._answer(self)

            def log_message(self, *_args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to talk to this server."""
        return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": self.url, "OPENAI_API_BASE": self.url}

    def answers(self, *answers: dict[str, Any] | Broken) -> None:
        """Answer with these in turn, and with the last one from then on; forget what came before."""
        self.requests.clear()
        self.script = lambda _body, number: answers[min(number, len(answers) - 1)]

    def release(self) -> None:
        """Let go of those that hang, so that no thread outlives its test."""
        self._over.set()
        self._over = threading.Event()

    def close(self) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def _scripted(self, body: dict[str, Any], number: int) -> dict[str, Any] | Broken:
        try:
            return self.script(body, number)
        except Exception as error:  # noqa: BLE001  told at once, instead of a connection that is tried again
            return problem(400, f"the script broke: {error!r}")

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
            self.keys.append(handler.headers.get("Authorization", ""))
            answer = None if self.together else self._scripted(body, number)
        answer = answer or self._scripted(body, number)
        if isinstance(answer, dict):
            answer = Broken(200, json.dumps(answer), {"Content-Type": "application/json"})
        if answer.hang:
            over = self._over
            over.wait(30)
            handler.close_connection = True
            return
        data = answer.body.encode() if isinstance(answer.body, str) else answer.body
        handler.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data) + 100 * answer.cut))
        handler.end_headers()
        handler.wfile.write(data)
        handler.close_connection = answer.cut


@contextmanager
def scripted_models(*, together: bool = False) -> Iterator[ScriptedModels]:
    """Give a running server."""
    models = ScriptedModels()
    models.together = together
    try:
        yield models
    finally:
        models.close()
