"""Requests out as a batch, results in: what counts, and what is named."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_models import said

from pytest_mapsat.llm import Cache, Request, read_batch, write_batch
from pytest_mapsat.model import UsageError
from pytest_mapsat.store import Store

ASKED = [
    Request(
        model="openai/m", messages=({"role": "user", "content": f"问 {number}"},), schema={"type": "object"}, vote=2
    )
    for number in range(7)
]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    store = Store(tmp_path / "store")
    yield Cache(store)
    store.close()


def result(request: Request, text: str, **more: Any) -> dict[str, Any]:
    body = said(text, usage=(7, 3))
    return {"id": "x", "custom_id": request.key(), "response": {"status_code": 200, "body": body}, "error": None} | more


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_results_count_and_rows_that_are_no_use_are_named(cache: Cache, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert write_batch(out, [*ASKED, ASKED[0]], cache) == 7
    sent = [json.loads(line) for line in out.read_text().splitlines()]
    assert sent[0] == {
        "custom_id": ASKED[0].key(),
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": ASKED[0].body() | {"model": "m"},
    }
    results = write(
        tmp_path / "in.jsonl",
        result(ASKED[0], '{"n": 0}'),
        result(ASKED[1], '{"n": 1}'),
        result(ASKED[1], '{"n": 1}'),
        result(ASKED[2], '{"n": 2}'),
        result(ASKED[2], '{"n": 3}'),
        result(ASKED[3], "no JSON"),
        result(ASKED[4], "", response={"status_code": 429, "body": {"error": "slow"}}),
        result(ASKED[5], "", error={"message": "expired"}, response=None),
        {"custom_id": "someone else's", "response": {}},
        "broken",
        [1],
    )
    found = read_batch(results, ASKED, cache)
    assert (found.taken, found.known) == (2, 0)
    assert all(cache.find(request) is None for request in ASKED[2:])
    told = {problem.line: problem.message for problem in found.problems}
    assert sorted(told) == [5, 6, 7, 8, 9, 10, 11]
    assert "is on line 4, too, with another answer; neither counts" in told[5]
    assert "was asked for a JSON object and gave 'no JSON'" in told[6]
    assert "status 429" in told[7]
    assert "expired" in told[8]
    assert "is of no request of this run" in told[9]
    assert "expected an object with custom_id" in told[11]
    kept = cache.find(ASKED[1])
    assert kept is not None
    assert (kept.data, kept.usage.input_tokens) == ({"n": 1}, 7)


def test_what_is_answered_is_not_asked_again_and_stays(cache: Cache, tmp_path: Path) -> None:
    read_batch(write(tmp_path / "in.jsonl", result(ASKED[0], '{"n": 0}')), ASKED[:1], cache)
    assert write_batch(tmp_path / "out.jsonl", ASKED[:2], cache) == 1
    found = read_batch(write(tmp_path / "in.jsonl", result(ASKED[0], '{"n": 9}')), ASKED[:2], cache)
    assert found == (0, 1, ())
    kept = cache.find(ASKED[0])
    assert kept is not None
    assert kept.data == {"n": 0}


def test_a_file_that_is_not_there_is_a_usage_error(cache: Cache, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        read_batch(tmp_path / "nowhere.jsonl", ASKED, cache)
