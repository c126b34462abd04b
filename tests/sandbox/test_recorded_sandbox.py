"""The sandbox an agent meets: errors as a real API gives them, results of its own, and no trace of other recordings."""

import json

import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st
from sandbox_samples import AROUND, LAT, LON, ROUTE, TOOLS, around, places, recording, sandbox

from pytest_mapsat.model import Recording, Tool
from pytest_mapsat.sandbox import RecordedSandbox, SandboxAnswer, argument_problems
from pytest_mapsat.sandbox.spec import spec_of

CALL = {"query": "咖啡", "x": LON, "y": LAT, "range": 1000}


def message(answer):
    assert answer.status == "error"
    assert answer.provenance is None
    assert answer.result["status"] == "error"
    return answer.result["message"]


def test_an_unknown_tool_is_an_error_with_a_hint():
    text = "there is no tool 'arround' (did you mean 'around'?); the tools are around, profile, route"
    assert message(sandbox().call("arround", {})) == text
    assert "there is no tool" in message(sandbox().call("zzz", {}))
    assert "there is no tool" in message(sandbox().call(["around"], {}))


def test_the_error_of_an_unknown_tool_lists_ten_tools_and_counts_the_others():
    tools = {f"tool_{number:02}": TOOLS["around"] for number in range(13)}
    names = ", ".join(sorted(tools)[:10])
    text = f"there is no tool 'find'; the tools are {names} and 3 more"
    assert message(RecordedSandbox(tools, ()).call("find", {})) == text


def test_an_unknown_parameter_is_an_error_with_a_hint():
    assert "unknown parameter 'qurey' (did you mean 'query'?)" in message(sandbox().call("around", CALL | {"qurey": 1}))
    assert "it has query, x, y" in message(sandbox().call("around", CALL | {"zzz": 1}))


def test_tools_that_are_added_later_are_not_in_a_sandbox_made_before():
    tools = {"around": TOOLS["around"]}
    box = RecordedSandbox(tools, ())
    tools["route"] = TOOLS["route"]
    assert list(box.tools) == ["around"]
    assert "there is no tool" in message(box.call("route", {}))


def test_all_that_is_wrong_is_said_at_once():
    text = message(sandbox().call("around", {"x": "abc", "range": "far", "zzz": 1}))
    for part in ("missing required parameter 'y'", "'abc'", "'far'", "expected a number", "'zzz'"):
        assert part in text


def test_a_required_parameter_that_is_null_is_missing_and_an_empty_one_is_a_value_of_the_wrong_type():
    assert "missing required parameter 'y'" in message(sandbox().call("around", CALL | {"y": None}))
    for empty in ("", [], {}):
        told = message(sandbox().call("around", CALL | {"y": empty}))
        assert "expected a longitude, and in 'y' the latitude" in told


def test_an_empty_text_is_a_text_for_a_sandbox_in_python_and_for_recordings():
    tool = Tool(
        name="note",
        description="Note",
        parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    )
    box = RecordedSandbox({"note": tool}, [Recording(case="c", tool="note", arguments={"text": ""}, result="noted")])
    assert box.call("note", {"text": ""}).result == "noted"


@pytest.mark.parametrize("arguments", [None, [], "x", 5, [("x", 1)]])
def test_arguments_that_are_no_object_are_an_error(arguments):
    assert "arguments are an object" in message(sandbox(around()).call("around", arguments))


def test_errors_and_misses_say_nothing_of_the_recordings():
    box = sandbox(around("secret"), recording("profile", {"uid": "hidden"}, "classified"))
    answers = [
        box.call("around", CALL),
        box.call("around", CALL | {"y": "x"}),
        box.call("profile", {"uid": "other"}),
        box.call("secret", {}),
    ]
    for answer in answers[:3]:
        assert not any(word in json.dumps(answer.result) for word in ("secret", "hidden", "classified"))


def test_a_result_belongs_to_the_caller():
    box = sandbox(around())
    first = box.call("around", CALL)
    first.result["found"]["pois"][0]["name"] = "changed"
    first.result["found"]["pois"].clear()
    assert box.call("around", CALL).result == places(100, 400, 900)
    cut = box.call("around", CALL | {"range": 500})
    cut.result["found"]["pois"][0]["name"] = "changed"
    assert box.call("around", CALL).result == places(100, 400, 900)
    missed = box.call("around", CALL | {"query": "x"})
    missed.result["status"] = "changed"
    assert box.call("around", CALL | {"query": "x"}).result["status"] == "no_recording"


def test_arguments_are_left_as_they_were():
    arguments = {"a": [10, 50], "b": {"lon": "10.1", "lat": 50}, "mode": ["drive"]}
    before = json.dumps(arguments)
    sandbox().call("route", arguments)
    assert json.dumps(arguments) == before


def test_an_answer_cannot_be_changed():
    with pytest.raises(AttributeError):
        sandbox().call("around", CALL).status = "ok"
    assert isinstance(sandbox().call("around", CALL), SandboxAnswer)


def test_the_key_of_a_recording_depends_on_its_call_only():
    one = sandbox(around(result=places(100))).call("around", CALL).provenance.recording
    other = sandbox(around(result=places(200), label="x", sort="1")).call("around", CALL).provenance.recording
    assert one == other
    assert len(one) == 12
    assert one != sandbox(around(radius=2000)).call("around", CALL | {"range": 2000}).provenance.recording


def test_recordings_of_other_tools_never_answer():
    assert sandbox(recording("profile", CALL, 1)).call("around", CALL).status == "miss"


def test_argument_problems_are_the_same_words_without_a_sandbox():
    assert argument_problems(AROUND, CALL) == ()
    assert argument_problems(AROUND, {"query": "x"}) == (
        "missing required parameter 'x'",
        "missing required parameter 'y'",
    )
    assert argument_problems(ROUTE, {"a": "1,2", "b": "nowhere"})[0].startswith(
        "parameter 'b' is 'nowhere', expected a point"
    )


def test_half_a_point_is_an_error_even_in_a_recording():
    with pytest.raises(ValueError, match="the latitude that goes with it"):
        spec_of(AROUND).read({"x": 1}, complete=False)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["query", "x", "y", "range", "sort", "label", "a", "b", "mode", "via", "wish", "uid", "zzz"])


@generated(300)
@given(st.sampled_from([*TOOLS, "none"]), st.dictionaries(NAMES, VALUES, max_size=6) | VALUES)
def test_no_call_ever_raises(tool, arguments):
    answer = sandbox(around(), recording("route", {"a": "1,2", "b": "1,2"}, ["CAR: 1"])).call(tool, arguments)
    assert (answer.provenance is None) == (answer.status == "error")
    json.dumps(answer.result)


def noting(schema, **declared):
    """A recorded tool ``note`` with one required parameter ``tag`` of a schema."""
    parameters = {"type": "object", "properties": {"tag": schema, "city": {"type": "string"}}, "required": ["tag"]}
    parameters |= {"$defs": {"maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    return Tool(name="note", description="Note", parameters=parameters, **declared)


NULLABLE = [
    {"type": ["string", "null"]},
    {"type": "null"},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
    {"oneOf": [{"type": "null"}, {"type": "integer", "minimum": 3}]},
    {"allOf": [{"$ref": "#/$defs/maybe"}]},
    {"$ref": "#/$defs/maybe"},
    {"enum": ["a", None]},
    {"type": "string", "enum": ["a", None]},
    {"const": None},
    {"type": "string", "nullable": True},
    {"type": "string", "nullable": True, "enum": ["a", "b"]},
    {"type": "string", "default": None},
    {},
    {"description": "anything"},
]
NOT_NULLABLE = [
    {"type": "string"},
    {"type": ["string", "integer"]},
    {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    {"enum": ["a", "b"]},
    {"type": "string", "nullable": False},
    {"type": "string", "nullable": "true"},
    {"type": "string", "default": "a"},
    {"type": ["string", "null"], "not": {"type": "null"}},
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("schema", NULLABLE)
def test_null_is_a_value_of_a_required_parameter_whose_schema_allows_it(schema, strict):
    tool = noting(schema, strict=strict)
    box = RecordedSandbox({"note": tool}, [Recording(case="c", tool="note", arguments={"tag": None}, result="noted")])
    assert box.call("note", {"tag": None}).result == "noted"
    assert "missing required parameter 'tag'" in message(box.call("note", {}))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("schema", NOT_NULLABLE)
def test_null_is_no_value_where_the_schema_does_not_allow_it(schema, strict):
    box = RecordedSandbox({"note": noting(schema, strict=strict)}, [])
    assert "missing required parameter 'tag'" in message(box.call("note", {"tag": None}))


@pytest.mark.parametrize(
    ("schema", "asked"), [({"type": ["integer", "null"], "default": 5}, "null"), ({"type": "integer", "default": 5}, 5)]
)
def test_null_is_another_value_than_the_default_where_it_is_a_value_at_all(schema, asked):
    tool = Tool(name="note", description="Note", parameters={"type": "object", "properties": {"tag": schema}})
    recordings = [
        Recording(case="c", tool="note", arguments={"tag": 5}, result=5),
        *([Recording(case="c", tool="note", arguments={"tag": None}, result="null")] if asked == "null" else []),
    ]
    box = RecordedSandbox({"note": tool}, recordings)
    assert (box.call("note", {"tag": None}).result, box.call("note", {}).result) == (asked, 5)
    assert box.call("note", {"tag": "5"}).result == 5
