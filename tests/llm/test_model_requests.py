"""What tells one call of a model from another, and how a spec names a model."""

import pytest

from pytest_mapsat.llm import ModelError, Request, named_model
from pytest_mapsat.model import UsageError

ASKED = Request(model="openai/m", messages=({"role": "user", "content": "hi"},), parameters={"temperature": 1.0})


def test_the_key_covers_all_that_an_answer_depends_on_and_nothing_else() -> None:
    different = [
        {"model": "openai/n"},
        {"messages": ({"role": "user", "content": "ho"},)},
        {"tools": ({"type": "function", "function": {"name": "f"}},)},
        {"schema_": {"type": "object"}},
        {"parameters": {"temperature": 0.0}},
        {"seed": 1},
        {"trial": 2},
        {"vote": 2},
    ]
    keys = [ASKED.key(), *(ASKED.model_copy(update=change).key() for change in different)]
    assert len(set(keys)) == len(keys)
    assert ASKED.model_copy(update={"purpose": "judge"}).key() == ASKED.key()


def test_the_body_is_that_of_the_chat_interface() -> None:
    asked = Request(model="m", messages=ASKED.messages, schema={"type": "object"}, seed=3, parameters={"top_p": 0.5})
    assert asked.body() == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": {"type": "object"}},
        },
        "seed": 3,
        "top_p": 0.5,
    }


def test_a_spec_names_a_model_and_its_parameters() -> None:
    assert named_model("openai/gpt-4o", "x") == ("openai/gpt-4o", {})
    assert named_model("a/b:c?temperature=0&max_tokens=9", "x") == ("a/b:c", {"temperature": 0.0, "max_tokens": 9})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "names no model"),
        ("a b", "names no model"),
        ("m?temprature=1", "did you mean 'temperature'"),
        ("m?temperature=warm", "expected a number"),
        ("m?max_tokens=1.5", "expected a whole number"),
    ],
)
def test_a_spec_that_names_none_is_a_usage_error(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        named_model(text, f"--mapsat-judge=llm:{text}")


def test_who_is_blamed_depends_on_who_asked_and_on_what_broke() -> None:
    assert ModelError("refused", "", purpose="agent").blame == "agent"
    assert ModelError("no_key", "", purpose="agent").blame == "infrastructure"
    assert ModelError("refused", "", purpose="judge").blame == "judge"
    assert ModelError("unavailable", "", purpose="user").blame == "user"
