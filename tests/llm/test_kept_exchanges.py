"""What is kept of the calls of models that an agent makes by itself."""

import asyncio
import base64

import httpx
import pytest

from pytest_mapsat.llm.cache import Replay, exchanges
from pytest_mapsat.store import Store

URL, JSON = "http://models.invalid/v1/messages", {"content-type": "application/json"}
BODY = b'{"model": "m", "messages": []}'
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


def test_a_body_that_is_sent_piece_by_piece_is_kept_and_replayed(tmp_path) -> None:
    sent = []

    def answer(request):
        sent.append(request.read())
        return httpx.Response(200, json={"number": len(sent)})

    async def pieces():
        yield BODY

    async def asked():
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            return await client.post(URL, content=pieces(), headers=JSON)

    store = Store(tmp_path / "store")
    for mode in ("auto", "only"):
        end = Replay(mode, store).install()
        try:
            with httpx.Client(transport=httpx.MockTransport(answer)) as client:
                replies = [client.post(URL, content=iter([BODY[:5], BODY[5:]]), headers=JSON), asyncio.run(asked())]
        finally:
            end()
        assert [reply.json() for reply in replies] == [{"number": 1}, {"number": 1}]
    assert sent == [BODY]


def test_a_key_in_body_address_or_header_is_not_kept(tmp_path) -> None:
    store = Store(tmp_path / "store")
    end = Replay("auto", store).install()
    try:
        with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json={}))) as client:
            address = URL.replace("//", f"//user:{SECRET}@") + f"?key={SECRET}"
            body = {"model": "m", "messages": [], "api_key": SECRET}
            client.post(address, json=body, headers={"x-api-key": SECRET})
    finally:
        end()
    (kept,) = exchanges(store)
    assert SECRET not in kept.model_dump_json()
    assert kept.asked.body == {"model": "m", "messages": []}
