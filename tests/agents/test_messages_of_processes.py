"""What a process may write, whatever it is: a message, or a LostError that says why it is none."""

import json
from contextlib import suppress

import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.agents.isolated import IsolatedConversation
from pytest_mapsat.agents.process import CommandConversation, LostError, message_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(["type", "id", "name", "arguments", "text", "thoughts", "usage", "output", "message", "case"])
TYPES = st.sampled_from([*IsolatedConversation.kinds, *CommandConversation.kinds, "ready", "truth"])
BOTH = st.sampled_from([IsolatedConversation.kinds, CommandConversation.kinds])


@generated(200)
@given(st.binary(max_size=60), BOTH)
def test_bytes_are_messages_or_refused(raw, kinds):
    with suppress(LostError):
        message = message_of(raw, kinds)
        assert message["type"] in kinds


@generated(200)
@given(st.dictionaries(KEYS, JSON), TYPES, BOTH)
def test_data_are_messages_with_no_other_keys_or_refused(data, kind, kinds):
    raw = json.dumps({**data, "type": kind}).encode()
    if kind not in kinds or not set(data) <= {"type", *kinds[kind]}:
        with pytest.raises(LostError, match=r"^wrote "):
            message_of(raw, kinds)
        return
    with suppress(LostError):  # NaN, half a character
        assert message_of(raw, kinds).keys() == {*data, "type"}
