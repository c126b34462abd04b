"""Environments that are services with endpoints for tests."""

import gzip

import pytest
from hotel import Hotel, act, case, changed, labels, served

from pytest_mapsat import HttpEnvironment
from pytest_mapsat.environments import Environments
from pytest_mapsat.model import InfrastructureError, UsageError
from pytest_mapsat.sandbox import end_of


@pytest.fixture
def hotel():
    with served(Hotel()) as running:
        yield running


def of(hotel, **options):
    given = {"state": f"GET {hotel.url}/state?all=1", "reset": f"POST {hotel.url}/reset", "settle": 0}
    return HttpEnvironment(**{**given, **options})


def test_tables_are_read_and_reset_and_rows_known_by_their_ids(hotel, monkeypatch):
    monkeypatch.setenv("HOTEL_TOKEN", "s3cret-s3cret")
    environments = Environments()
    environment = of(hotel, headers={"Authorization": "Bearer ${HOTEL_TOKEN}"}, ignore=["seen"], hide=["bookings.pin"])

    def cancel():
        hotel.tables["bookings"][0] |= {"status": "cancelled", "seen": 2, "pin": "2222"}
        hotel.tables["rooms"]["8"] = {"beds": 1}

    for _ in range(2):
        trajectory = act(environments, environment, cancel)
        assert changed(trajectory) == [("bookings", "BK-1", ("pin", "status")), ("rooms", "8", ("beds", "id"))]
    assert "1111" not in trajectory.model_dump_json()
    checked = case({"kind": "state", "table": "rooms", "where": {"id": "8"}, "has": {"beds": 1}}, {"kind": "unchanged"})
    assert [outcome for outcome, _ in labels(checked, trajectory)] == ["passed", "failed"]
    assert end_of(trajectory, None, None).state["rooms"]["7"] == {"id": "7", "beds": 2}
    environments.close()
    assert [late.trial for late in environments.late] == []
    assert {headers["Authorization"] for _, _, headers in hotel.asked} == {"Bearer s3cret-s3cret"}
    assert {(method, path) for method, path, _ in hotel.asked} == {
        ("GET", "/test/state?all=1"),
        ("POST", "/test/reset"),
    }


def test_a_write_after_its_reply_is_noticed(hotel):
    environments = Environments()
    act(environments, of(hotel))
    hotel.tables["bookings"].clear()
    environments.close()
    assert [late.why for late in environments.late] == ["bookings BK-1 changed after the end had been read"]


HTML = b"<!DOCTYPE html><title>Sign in</title>"


def endless():
    yield b'{"bookings": ["'
    for _ in range(1600):
        yield b"x" * 65536


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((200, {"Content-Type": "text/html"}, HTML), "answered with a page of HTML, expected JSON: is the path right"),
        ((200, {}, b"nonsense"), "answered with no JSON"),
        ((200, {}, b"[1]"), r"answered with \[1\], expected tables by name"),
        ((200, {}, b'{"bookings": 3}'), "the table bookings is 3, expected a list of rows"),
        ((200, {}, b'{"bookings": [3]}'), "a row of bookings is 3, expected an object"),
        ((200, {}, b'{"bookings": [{"code": 1}]}'), "a row of bookings has no id, which identifies its rows"),
        ((200, {}, b'{"bookings": [{"id": 1}, {"id": "1"}]}'), "two rows of bookings have the id 1"),
        ((200, {}, endless), "answered with more than 67,108,864 bytes; the rest was not read"),
        ((200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * (1 << 27), 1)), "answered with more than 67,108,864 bytes"),
        ((302, {"Location": "http://example.com/"}, b""), "answered 302 .a redirect, which is not followed"),
        ((500, {}, b"it broke"), "answered 500: it broke"),
        ((200, {}, b"[" * 100_000), "answered with no JSON"),
    ],
)  # fmt: skip
def test_an_endpoint_that_tells_no_tables_keeps_the_episode_from_beginning(hotel, answer, why):
    status, headers, body = answer
    hotel.answer = status, headers, body if isinstance(body, bytes) else body()
    with pytest.raises(InfrastructureError, match=why):
        act(Environments(), of(hotel))


def test_a_service_that_does_not_run_is_told(hotel):
    environment = of(hotel, state="GET http://127.0.0.1:9/state", reset="http://127.0.0.1:9/reset")
    with pytest.raises(InfrastructureError, match=r"environment\.reset: http://127\.0\.0\.1:9/reset: .*refused"):
        act(Environments(), environment)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"state": "GET http://shop.example/state"}, r"shop\.example is not this machine: .*hosts: \[shop\.example\]"),
        ({"state": "GET http://10.0.0.1/state"}, r"10\.0\.0\.1 is not this machine"),
        ({"state": "GET http://127.0.0.1.example/state"}, "is not this machine"),
        ({"reset": "POST http://shop.example/reset", "state": "http://localhost/"}, r"environment\.reset: shop\.example is not this machine"),
        ({"state": "PATCH http://127.0.0.1/state"}, "expected a method and an address"),
        ({"state": "GET ftp://127.0.0.1/state"}, "expected a method and an address"),
        ({"state": "GET http://me:hunter22@127.0.0.1/"}, "without a password"),
        ({"state": "GET ${NOWHERE}/state"}, "the environment has no variable NOWHERE"),
        ({"state": "GET http://127.0.0.1/$session"}, "found .session, expected"),
    ],
)  # fmt: skip
def test_an_address_that_may_not_be_acted_on_is_refused(options, why):
    with pytest.raises(UsageError, match=why):
        HttpEnvironment(**options)


def test_other_machines_are_named_and_variables_may_hold_addresses(monkeypatch):
    monkeypatch.setenv("HOTEL_URL", "http://staging.example:8000")
    environment = HttpEnvironment(state="${HOTEL_URL}/state?key=abc", hosts=["staging.example"])
    assert environment.name == "http://staging.example:8000/state"
    assert "abc" not in environment.shown
