"""What is kept of the calls of models that an agent makes by itself."""

import base64

import httpx
import pytest

from pytest_mapsat.llm.replay import Replay, exchanges
from pytest_mapsat.store import Store

SECRET = "sk-a-very-secret-value"  # a made-up one


@pytest.mark.parametrize("around", [b'{"text": "%s"}', b"\x00\xff%s\xfe"], ids=["text", "bytes"])
def test_a_secret_in_an_answer_is_kept_neither_in_text_nor_among_bytes(around, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", SECRET)
    answer = httpx.MockTransport(lambda _: httpx.Response(200, content=around % SECRET.encode()))
    store = Store(tmp_path / "store")
    end = Replay("auto", store).install()
    try:
        with httpx.Client(transport=answer) as client:
            client.post("http://models.invalid/v1/messages", json={"model": "m", "messages": []})
    finally:
        end()
    (kept,) = exchanges(store)
    assert kept.content() == around % b"[redacted SERVICE_API_KEY]"
    assert base64.b64encode(SECRET.encode()).decode()[:12] not in kept.text
