"""Files between ``mapsat regrade --batch-out`` and ``--batch-in``, and a model that answers them."""

import json
from pathlib import Path

from judging_model import reply


def rows(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def answered(source, target, verdict=lambda _text, good: "passed" if good else "failed", words=reply, more=()):
    """Write what a model says to the requests of a file."""
    lines = []
    for row in rows(source):
        assert (row["method"], row["url"]) == ("POST", "/v1/chat/completions")
        message = {"role": "assistant", "content": words(row["body"], verdict)}
        body = {"choices": [{"message": message}], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}
        lines.append(json.dumps({"custom_id": row["custom_id"], "response": {"status_code": 200, "body": body}}))
    Path(target).write_text("\n".join([*lines, *more]) + "\n")
