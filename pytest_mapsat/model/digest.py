"""One canonical text for a value, and a digest of it: the same in every process and on every machine."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from .base import Noun
from .trajectory import Trajectory, Turn

#: Made once: ``json.dumps`` would build one for each value, which costs more than to write a short one.
_canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_plain = json.JSONEncoder(ensure_ascii=False).encode


def json_size(value: Any) -> int:
    """Return how many characters a JSON value takes when it is written."""
    return len(_plain(value))


def canonical_json(value: Any) -> str:
    """Return JSON text with sorted keys and no spaces; the same value always gives the same text."""
    return _canonical(value)


def digest(value: Any, size: int = 16) -> str:
    """Return the first ``size`` hex digits of the SHA-256 of the value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()[:size]


def noun_digest(noun: Noun) -> str:
    """Return a digest of a value's content, without fields that hold their default: a field that comes later changes none."""
    text = noun.model_dump_json(exclude_defaults=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def trajectory_digest(trajectory: Trajectory) -> str:
    """Return a digest of what was said and done, the form included: not of times, usage, provenance, or the trial."""
    turns = [
        {
            "role": turn.role,
            "text": turn.text,
            **_output(turn),
            "calls": [
                {"tool": step.tool, "arguments": step.arguments, "result": step.result}
                for step in turn.steps
                if step.kind == "call"
            ],
        }
        for turn in trajectory.turns
    ]
    form = {} if trajectory.form is None else {"form": trajectory.form.to_json()}
    return digest({"case": trajectory.case, "turns": turns, **form})


def _output(turn: Turn) -> dict[str, Any]:
    """Return the structured output where there is any."""
    return {} if turn.output is None else {"output": turn.output}
