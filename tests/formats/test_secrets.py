"""No secret stands in a recording: neither where it was expected, nor where else its value stands."""

import json

import pytest

from pytest_mapsat.formats import MARK, Secrets, redacted, without_secrets
from pytest_mapsat.model import Recording, Step, Tool, Trajectory
from pytest_mapsat.sandbox import RecordedSandbox

TOOL = Tool(
    name="find",
    description="Find.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}, "pin": {"type": "string"}}},
    secrets=("pin", "people.*.phone"),
)


def cleaned(result, **arguments):
    return Secrets().clean(Recording(case="a", tool="find", arguments=arguments, result=result), TOOL)


@pytest.mark.parametrize(
    "key", ["token", "Authorization", "api_key", "API-Key", "password", "set-cookie", "clientSecret"]
)
def test_a_field_that_obviously_holds_a_secret_is_redacted_wherever_it_stands(key):
    found = cleaned({"rows": [{key: "value-of-it", "name": "Birch"}]}, query="x")
    assert found.result == {"rows": [{key: MARK, "name": "Birch"}]}


@pytest.mark.parametrize("key", ["tokens_used", "next_page_token", "keyboard", "author"])
def test_a_field_that_only_sounds_like_one_is_kept(key):
    assert cleaned({key: "value-of-it"}).result == {key: "value-of-it"}


def test_declared_parameters_and_paths_are_redacted():
    found = cleaned({"people": [{"phone": "555-0100", "name": "Ana"}], "phone": "555-0199"}, pin="4711", query="x")
    assert found.arguments == {"pin": MARK, "query": "x"}
    assert found.result == {"people": [{"phone": MARK, "name": "Ana"}], "phone": "555-0199"}


def test_a_value_that_was_secret_once_is_taken_out_of_all_texts():
    found = cleaned(
        {"token": "abcdefgh-1", "url": "https://x/?k=abcdefgh-1", "head": "Bearer zyxwvutsrq", "abcdefgh-1": 1}
    )
    assert "abcdefgh-1" not in json.dumps(found.to_json())
    assert found.result["head"] == f"Bearer {MARK}"


def test_what_tells_nothing_stays_as_it_is():
    assert cleaned({"token": "", "password": None, "auth": False}).result == {
        "token": "",
        "password": None,
        "auth": False,
    }


def test_a_secret_parameter_keeps_no_recording_from_answering():
    recording = cleaned([1], pin="4711", query="x")
    answer = RecordedSandbox({"find": TOOL}, [recording]).call("find", {"query": "x", "pin": "0815"})
    assert (answer.status, answer.provenance.kind) == ("ok", "exact")


def test_a_message_keeps_its_words_and_loses_its_keys(monkeypatch):
    monkeypatch.setenv("SOME_SERVICE_KEY", "swordfish-4711")
    told = redacted("swordfish-4711 or sk-proj-abcdefghijkl or Bearer abcdefgh12 at the skateboarding-rink")
    assert told == f"[redacted SOME_SERVICE_KEY] or {MARK} or Bearer {MARK} at the skateboarding-rink"


def test_a_call_that_came_late_loses_its_secrets_too(monkeypatch):
    monkeypatch.setenv("SOME_SERVICE_KEY", "swordfish-4711")
    late = Step(kind="call", tool="book", arguments={"key": "swordfish-4711"}, result=["swordfish-4711"])
    kept = without_secrets(Trajectory(case="c", turns=(), after_end=(late,)))
    assert "swordfish" not in kept.model_dump_json()
