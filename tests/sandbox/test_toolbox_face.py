"""What an agent holds in its hands."""

import copy
import inspect
import pickle

import pytest
from sandbox_samples import LAT, LON, TOOLS, around, sandbox

from pytest_mapsat.sandbox import Toolbox


@pytest.fixture
def calls():
    return []


@pytest.fixture
def toolbox(calls):
    def call(name, arguments):
        calls.append((name, arguments))
        return sandbox(around()).call(name, arguments).result

    return Toolbox(TOOLS, call)


def test_a_tool_is_called_by_attribute_or_by_name(toolbox, calls):
    one = toolbox.around(query="咖啡", x=LON, y=LAT, range=1000)
    other = toolbox.call("around", {"query": "咖啡", "x": LON, "y": LAT, "range": 1000})
    assert one == other
    assert one["status"] == "1"
    assert calls[0] == calls[1]
    assert toolbox.call("around")["status"] == "error"


def test_an_unknown_tool_is_called_too_and_answers_with_an_error(toolbox, calls):
    assert "did you mean 'around'?" in toolbox.arround(x=1)["message"]
    assert calls == [("arround", {"x": 1})]


def test_positional_arguments_are_refused_with_the_names_to_use(toolbox, calls):
    with pytest.raises(TypeError, match=r"tools\.profile\(uid=\.\.\.\), or tools\.call\(\"profile\""):
        toolbox.profile("u")
    assert calls == []


def test_schemas_have_the_form_of_function_calling_and_are_fresh(toolbox):
    schemas = toolbox.schemas()
    assert [schema["function"]["name"] for schema in schemas] == list(TOOLS)
    assert schemas[0] == {
        "type": "function",
        "function": {
            "name": "around",
            "description": TOOLS["around"].description,
            "parameters": TOOLS["around"].parameters,
        },
    }
    schemas[0]["function"]["parameters"].clear()
    assert toolbox.schemas()[0]["function"]["parameters"] == TOOLS["around"].parameters


def test_it_shows_its_tools(toolbox):
    assert dir(toolbox) == ["around", "call", "profile", "route", "schemas"]
    assert repr(toolbox) == "Toolbox(around, route, profile)"
    assert toolbox.around.__name__ == "around"
    assert inspect.getdoc(toolbox.around) == TOOLS["around"].description


@pytest.mark.parametrize("name", ["__wrapped__", "_private", "__deepcopy__", "__getstate_x__", "_repr_html_"])
def test_names_that_begin_with_an_underscore_are_no_tools(toolbox, name):
    assert not hasattr(toolbox, name)


def test_it_can_be_copied(toolbox):
    assert repr(copy.copy(toolbox)) == repr(copy.deepcopy(toolbox)) == repr(toolbox)
    sent = pickle.loads(pickle.dumps(Toolbox(TOOLS, repr)))
    assert sent.schemas() == toolbox.schemas()


def test_nothing_of_how_calls_are_matched_can_be_reached(toolbox):
    held = [getattr(toolbox, name) for name in Toolbox.__slots__]
    assert "synonyms" not in repr(held)
    assert "within_m" not in repr(held)
    assert not hasattr(toolbox, "__dict__")
