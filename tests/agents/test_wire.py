"""What an agent's process may send, whatever it is: a message, or a WireError that says why it is none."""

from __future__ import annotations

import json
import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mapsat.agents.isolation.wire import Call, Inbox, Said, WireError, packed, unpacked

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["kind", "turn", "name", "arguments", "text", "thoughts", "usage", "output", "message", "detail"]
)
KINDS = st.sampled_from(["ready", "unusable", "call", "thought", "said", "broken", "truth"])


def messages(raw):
    inbox = Inbox(1000)
    inbox.add(raw)
    while (text := inbox.take()) is not None:
        yield unpacked(text)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.builds(lambda body: struct.pack(">I", len(body)) + body, st.binary(max_size=40)))
def test_bytes_are_messages_or_refused(raw):
    with suppress(WireError):
        for message in messages(raw):
            assert message == unpacked(packed(message)[4:].decode())


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(FIELDS, JSON), KINDS, st.integers(-1, 3))
def test_data_are_messages_or_refused(data, kind, turn):
    body = json.dumps({**data, "kind": kind, "turn": turn}).encode()
    try:
        (message,) = messages(struct.pack(">I", len(body)) + body)
    except WireError:
        return
    assert message.kind == kind


@settings(deadline=None)
@given(JSON, st.integers(0, 40))
def test_a_message_comes_out_as_it_went_in_however_it_is_cut(data, cut):
    try:
        raw = packed(Call(turn=1, name="find", arguments=data)) + packed(Said(turn=1, text="done"))
    except UnicodeEncodeError:
        return  # half a character; what agents hand over has none
    inbox = Inbox(1 << 20)
    inbox.add(raw[:cut])
    first = inbox.take()
    inbox.add(raw[cut:])
    first = first or inbox.take()
    assert unpacked(first).arguments == data
    assert unpacked(inbox.take()).text == "done"
    assert not inbox


def test_what_is_too_long_is_refused_by_its_length_alone():
    inbox = Inbox(100)
    inbox.add(struct.pack(">I", 101))
    with pytest.raises(WireError, match="sent 101 bytes at once; at most 100 are taken"):
        inbox.take()
