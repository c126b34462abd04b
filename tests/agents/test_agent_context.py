import copy
import json

import pytest

from pytest_mapsat.agents import Session, context_of, session_id
from pytest_mapsat.model import Case, Context, Location, Truth, Turn, Visible

_CONTEXT = Context(
    now="2026-05-01T09:00:00+08:00",
    location=Location(lon=113.2, lat=23.1, name="Gate 2"),
    city="Here",
    history=("was there",),
    uid="u1",
    locale="en-GB",
    details={"seats": [4]},
)
CONTEXT = Visible(query="?", context=_CONTEXT, instructions="Be brief.", output_schema={"type": "object"})


def a_case(name):
    return Case(id=name, visible=CONTEXT, truth=Truth(intent="a quiet place"))


def test_the_context_is_a_dict_and_has_attributes():
    view = context_of(CONTEXT)
    assert view == {
        "now": "2026-05-01T09:00:00+08:00",
        "location": {"lon": 113.2, "lat": 23.1, "name": "Gate 2"},
        "city": "Here",
        "history": ["was there"],
        "uid": "u1",
        "locale": "en-GB",
        "profile": {},
        "memory": "",
        "details": {"seats": [4]},
        "instructions": "Be brief.",
        "output_schema": {"type": "object"},
    }
    assert (view.now, view.location.lon, view["history"]) == ("2026-05-01T09:00:00+08:00", 113.2, ["was there"])
    assert json.loads(json.dumps(view)) == view
    assert copy.deepcopy(view) == view


def test_a_context_without_time_and_place_says_none():
    view = context_of(Visible(query="?"))
    assert (view.now, view.location, view.details, view.output_schema) == (None, None, {}, {})


def test_what_is_done_to_a_context_stays_there():
    view = context_of(CONTEXT)
    view.history.append("changed")
    view.location.lon = 0
    view.now = "never"
    view.details["seats"].append(5)
    view.output_schema["type"] = "array"
    assert view["now"] == "never"
    assert context_of(CONTEXT).history == ["was there"]
    assert context_of(CONTEXT).location.lon == 113.2
    assert (context_of(CONTEXT).details, context_of(CONTEXT).output_schema) == ({"seats": [4]}, {"type": "object"})


def test_an_unknown_attribute_gets_a_suggestion():
    with pytest.raises(AttributeError, match="did you mean 'location'"):
        _ = context_of(CONTEXT).locaton


def test_the_session_id_is_opaque_and_the_same_for_the_same_episode():
    one, other = a_case("case-1"), a_case("case-2")
    assert session_id(one, 1) == session_id(a_case("case-1"), 1)
    assert len({session_id(one, 1), session_id(one, 2), session_id(other, 1)}) == 3
    assert "case" not in session_id(one, 1)


def test_who_knows_all_but_the_truth_of_a_case_cannot_tell_it_by_its_session_id():
    case = a_case("case-1")
    guessed = case.model_copy(update={"truth": Truth(intent="somebody guesses")})
    assert session_id(guessed, 1) != session_id(case, 1)


def test_the_messages_are_copies():
    session = Session("c", print)
    session.remember([Turn(role="user", text="q"), Turn(role="agent", text="a")])
    session.messages.clear()
    session.messages.append({})
    assert session.messages == [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    assert "q" not in repr(session)
