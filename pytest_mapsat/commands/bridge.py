"""``mapsat serve --episode``: a bridge from standard input and output to the tools of an episode, for agents that start their MCP server by a command.

It is started for each connection, so it imports little: neither pydantic, nor the SDK, nor ``http.client``.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

_URL, _TOKEN = "MAPSAT_MCP_URL", "MAPSAT_MCP_TOKEN"
_MISSING = (
    f"serve --episode: {_URL} is not set. The agent has it, and {_TOKEN}, where it is started by --mapsat-agent=cmd:COMMAND and "
    "pip install 'pytest-mapsat[mcp]' was run; an MCP client that starts servers without its own environment has to hand both on"
)
#: Bytes of a message, as the server takes them, and of what is read at once.
_MOST_BYTES, _PIECE = 4 * 1024 * 1024, 1 << 16
_FAILED = -32000  # the first of the codes that JSON-RPC leaves to servers
_VERSION = "io.modelcontextprotocol/protocolVersion"


def bridge() -> int:
    """Pass on the messages of an MCP client until the input ends, and return the exit status: 2 if there is no episode."""
    variables = next(filter(lambda variables: variables.get(_URL), _environments()), None)
    if variables is None:
        sys.stderr.write(f"mapsat: {_MISSING}\n")
        return 2
    server = _Server(variables[_URL], variables.get(_TOKEN, ""))
    with suppress(KeyboardInterrupt):
        for line in sys.stdin.buffer:
            # A call may take its time, and others go on meanwhile; the interpreter waits for the last ones.
            Thread(target=server.pass_on, args=[line]).start()
    return 0


def _environments() -> Iterator[Mapping[str, str]]:
    """Yield the environment of this process, and where the system shows them those of the processes that started it: the SDK's clients hand on a part only."""
    yield os.environ
    process = os.getppid()
    with suppress(OSError, ValueError):
        while process > 1:
            # pathlib would take longer to import than the rest.
            with open(f"/proc/{process}/environ", errors="replace") as file:  # noqa: PTH123
                entries = [entry.partition("=") for entry in file.read().split("\0")]
            yield {name: value for name, _, value in entries}
            with open(f"/proc/{process}/stat", errors="replace") as file:  # noqa: PTH123
                process = int(file.read().rpartition(")")[2].split()[1])


class _Server:
    """The MCP server of an episode.

    Args:
        url: its address.
        token: that of the episode.
    """

    def __init__(self, url: str, token: str) -> None:
        self._url = urlsplit(url)
        self._token = token
        self._version = ""
        self._writing = Lock()

    def pass_on(self, line: bytes) -> None:
        """Send a line to the server and write its answer; where there is none, a request is answered with an error."""
        asked: dict[str, Any] = {}
        try:
            message = json.loads(line)
            asked = message if isinstance(message, dict) else {}
            answer = json.loads(self._posted(line.strip(), asked) or ("" if "id" in asked else "null"))
        except (OSError, ValueError) as error:
            why = f"the tools of the episode cannot be asked at {self._url.netloc}: {error}"
            if len(line) > _MOST_BYTES:
                why = f"found a message of {len(line):,} bytes, expected at most {_MOST_BYTES:,}"
            answer = {"jsonrpc": "2.0", "id": None, "error": {"code": _FAILED, "message": why}}
        if not isinstance(answer, dict | list) or (asked and "id" not in asked):
            return
        if isinstance(answer, dict):
            answer["id"] = asked.get("id") if answer.get("id") is None else answer["id"]
            result = answer.get("result")
            if asked.get("method") == "initialize" and isinstance(result, dict):
                self._version = str(result.get("protocolVersion", ""))
        with self._writing, suppress(BrokenPipeError):
            sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
            sys.stdout.buffer.flush()

    def _posted(self, body: bytes, asked: Mapping[str, Any]) -> bytes:
        """Send a request over HTTP, with the headers that the protocol repeats from the message, and return the body of the answer."""
        params: Any = asked["params"] if isinstance(asked.get("params"), dict) else {}
        meta: Any = params["_meta"] if isinstance(params.get("_meta"), dict) else {}
        headers = {
            "Host": self._url.netloc,
            "Authorization": f"Bearer {self._token}" if self._token else "",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": meta.get(_VERSION) or self._version,
            "Mcp-Method": asked.get("method") if _VERSION in meta else "",
        }
        if _VERSION in meta and (name := params.get("name", params.get("uri"))) is not None:
            headers["Mcp-Name"] = f"=?base64?{b64encode(str(name).encode()).decode()}?="
        lines = [f"{key}: {value}" for key, value in headers.items() if value and str(value).isprintable()]
        # HTTP 1.0: the answer comes whole, and the connection ends with it.
        head = "\r\n".join([f"POST {self._url.path} HTTP/1.0", *lines, "", ""]).encode()
        with socket.create_connection((self._url.hostname or "", self._url.port or 80)) as connection:
            connection.sendall(head + body)
            answer = b"".join(iter(lambda: connection.recv(_PIECE), b""))
        return answer.partition(b"\r\n\r\n")[2]
