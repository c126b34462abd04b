"""Whatever a recorded file holds, it is read or refused with its place; never a crash."""

import json

import pytest
from generated import generated
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.model import SuiteError

VALUES = st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda v: st.lists(v, max_size=3), max_leaves=5)
TURN = st.dictionaries(
    st.sampled_from(["turn_index", "role", "content", "tool_calls", "is_stop", "status", "latency_ms", "input_tokens"]),
    VALUES | st.sampled_from(["user", "assistant", 0, 1, True, [{"name": "x", "arguments": {}, "result": "{"}]]),
)
CELLS = st.text(st.sampled_from("[]{}()'\"\\,:-+e19aN _\n"), max_size=40)


def read(path):
    refusals = []
    try:
        resolve_source(f"recorded:{path.name}", root=path.parent)
    except SuiteError as error:
        refusals.append(str(error))
    assert all(refusal.startswith(f"{path.name}:") for refusal in refusals)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "recorded"


@generated(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TURN, max_size=4))
def test_any_turns_in_json_lines(file, turns):
    file.write_text(json.dumps({"case_id": "c1", "turns": turns}) + "\n")
    read(file)


@generated(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CELLS)
def test_any_cell_in_a_table(file, cell):
    quoted = '"' + cell.replace('"', '""') + '"'
    file.write_text(f"conversation_id,turn_index,role,content,tool_calls\nc1,1,assistant,x,{quoted}\n")
    read(file)


@generated(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60))
def test_any_bytes(file, data):
    file.write_bytes(b'{"case_id": "c1", "turns": []}\n' + data)
    read(file)
