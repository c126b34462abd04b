"""Record completions by hand: a server on loopback that hands each request to a folder and answers with what is put there.

    python tests/models_by_hand.py FOLDER -- pytest benchmark_cases --mapsat-agent=react:openai/by-hand --mapsat-save=run.json

Each request becomes FOLDER/0001.request.txt: messages, tools and the form of the reply as text. Whoever answers writes FOLDER/0001.reply.txt (whole
at once: write another name and rename it): the words of the reply, or, where tools were offered,
{"content": "...", "tool_calls": [{"name": "...", "arguments": {...}}]}. The same request is asked once. The command finds the server by its environment;
the completions stay in its cache (MAPSAT_CACHE_DIR, `python -m pytest_mapsat cache export`), so that a second run asks nobody.
"""

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from scripted_models import Broken, problem, said, scripted_models

LONGEST_WAIT_SECONDS = 900


class ByHand:
    """Turns requests into files, and files into answers."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}

    def __call__(self, body: dict[str, Any], _number: int) -> dict[str, Any] | Broken:
        shown = as_text(body)
        with self._lock:
            key = hashlib.sha256(shown.encode()).hexdigest()
            number = self._numbers.setdefault(key, len(self._numbers) + 1)
            request = self._folder / f"{number:04d}.request.txt"
            if not request.exists():
                part = request.with_suffix(".part")
                part.write_text(shown, encoding="utf-8")
                part.replace(request)
        reply = self._folder / f"{number:04d}.reply.txt"
        until = time.monotonic() + LONGEST_WAIT_SECONDS
        while not reply.exists():
            if time.monotonic() > until:
                return problem(400, f"nobody wrote {reply.name}")
            time.sleep(0.1)
        return answer(reply.read_text(encoding="utf-8"), tools=bool(body.get("tools")))


def as_text(body: dict[str, Any]) -> str:
    """Return a request as a reader is shown it."""
    parts = [f"[{message['role']}]\n{_words(message)}" for message in body["messages"]]
    if body.get("tools"):
        parts.append(
            "[tools]\n" + "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in body["tools"])
        )
    if body.get("response_format"):
        parts.append("[form of the reply]\n" + json.dumps(body["response_format"], ensure_ascii=False))
    return "\n\n".join(parts)


def _words(message: dict[str, Any]) -> str:
    lines = [message["content"]] if message.get("content") else []
    calls = (call["function"] for call in message.get("tool_calls") or ())
    lines += [f"calls {call['name']}({call['arguments']})" for call in calls]
    return "\n".join(lines)


def answer(text: str, *, tools: bool) -> dict[str, Any] | Broken:
    """Return a completion; only where tools were offered may the text be data."""
    if tools and text.lstrip().startswith("{"):
        try:
            given = json.loads(text)
            calls = [(call["name"], call["arguments"]) for call in given.get("tool_calls") or ()]
            return said(given.get("content"), calls=calls)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return problem(400, f"a reply that is neither words nor calls: {error!r}")
    return said(text)


def main(folder: str, separator: str, *command: str) -> int:
    if separator != "--" or not command:
        sys.exit(__doc__)
    with scripted_models(together=True) as models:
        models.script = ByHand(Path(folder))
        return subprocess.run(command, env=os.environ | models.environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
