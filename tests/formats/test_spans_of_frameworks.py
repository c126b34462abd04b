"""Spans that frameworks with their instrumentation wrote of one conversation, each read whole: query, call, result, replies, usage."""

from pathlib import Path

import pytest
from spans_made import ANSWER, ARGUMENTS, LAST, QUERY, REPLY, RESULT

from pytest_mapsat.formats import read_spans

FIXTURES = sorted((Path(__file__).parent / "spans").glob("*.jsonl"))
#: Frameworks that name no session: each trace is a conversation of its own, and the second one of most begins with the first.
APART = {"openai_agents": True, "agent_framework": True, "smolagents": False, "llama_index_openinference": False}


def told(dialogue):
    return [(turn.role, turn.text) for turn in dialogue.trajectory.turns]


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_query_calls_results_replies_and_usage_are_read(path) -> None:
    first, *rest = read_spans(path)
    whole = [("user", QUERY), ("agent", REPLY), ("user", ANSWER), ("agent", LAST)]
    assert told(first) == (whole[:2] if path.stem in APART else whole)
    calls = [(call.tool, call.arguments, call.result, call.unknown) for call in first.trajectory.calls]
    assert calls == [("search_poi", ARGUMENTS, RESULT, ("changed",))]
    assert all(turn.usage.input_tokens and turn.usage.output_tokens for turn in first.trajectory.replies)
    assert all(turn.timing.seconds for turn in first.trajectory.replies)
    assert not first.trajectory.warnings
    assert bool(first.session) is (path.stem not in APART)
    if path.stem in APART:
        (second,) = rest
        assert told(second) == (whole if APART[path.stem] else whole[2:])
    else:
        assert not rest


def test_at_least_five_frameworks_are_read() -> None:
    assert len({path.stem.split("_")[0] for path in FIXTURES}) >= 6
