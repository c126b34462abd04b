"""What an agent's process may send, whatever it is: a message, or a WireError that says why it is none."""

import json
from contextlib import suppress

from generated import generated
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.agents.isolation.messages import Call, WireError, packed, unpacked

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["kind", "turn", "name", "arguments", "text", "thoughts", "usage", "output", "message", "detail"]
)
KINDS = st.sampled_from(["ready", "unusable", "call", "thought", "said", "broken", "truth"])


@generated(200)
@given(st.binary(max_size=60))
def test_bytes_are_messages_or_refused(raw):
    with suppress(WireError):
        message = unpacked(raw)
        assert message == unpacked(packed(message))


@generated(200)
@given(st.dictionaries(FIELDS, JSON), KINDS, st.integers(-1, 3))
def test_data_are_messages_or_refused(data, kind, turn):
    try:
        message = unpacked(json.dumps({**data, "kind": kind, "turn": turn}).encode())
    except WireError:
        return
    assert message.kind == kind


@generated()
@given(JSON)
def test_a_message_comes_out_as_it_went_in(data):
    with suppress(UnicodeEncodeError):  # half a character; what agents hand over has none
        assert unpacked(packed(Call(turn=1, name="find", arguments=data))).arguments == data
