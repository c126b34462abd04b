"""What evidence a dialogue has: by declaration, for the thing it stands with, from the turn it was told."""

import pytest

from pytest_mapsat.judges.evidence import USER, evidence
from pytest_mapsat.model import Step, Tool, Trajectory, Turn, Visible

VISIBLE = Visible.model_validate(
    {
        "query": "We are six people with 540 yuan.",
        "context": {
            "now": "2026-05-20T16:30:00+08:00",
            "location": {"lon": 150.0, "lat": 30.0, "name": "Mill Rise"},
            "city": "Larkhaven",
            "history": ["The user looked at 「Old Mill」 8 minutes ago."],
        },
    }
)


def tool(parameters=(), **declared):
    schema = {"type": "object", "properties": {name: {} for name in parameters}}
    return Tool.model_validate({"name": "t", "description": "T", "parameters": schema, **declared})


def known(result, declared, *, visible=VISIBLE, before=(), **arguments):
    """The evidence of one call of a tool, and of calls of others before it."""
    steps = (*before, Step(kind="call", tool="t", arguments=arguments, result=result))
    turns = (Turn(role="user", text="Where?"), Turn(role="agent", text="There.", steps=steps))
    return evidence(Trajectory(case="c", turns=turns), {"t": declared}, visible)


def shown(figures):
    return [(one.value, one.high, one.unit, one.role, one.mode, one.text) for one in figures]


SPOTS = {"items": "spots", "name": "title", "id": "ref"}


def test_a_figure_is_what_its_tool_says_of_its_own_thing():
    fields = {
        "far": {"kind": "distance", "unit": "km", "mode": "straight"},
        "queue": {"kind": "duration", "role": "wait"},
    }
    declared = tool(entities=[{**SPOTS, "fields": fields}])
    found = known(
        {"spots": [{"title": "Inn", "far": 1.5, "queue": "10-15"}, {"title": "Bar", "far": 2, "x": 9}]}, declared
    )
    assert shown(found.figures_of("inn")) == [
        (1500, 1500, "m", "travel_distance", "straight", "1.5 km"),
        (10, 15, "min", "wait", "", "10-15 min"),
    ]
    assert shown(found.figures_of("bar", unit="m")) == [(2000, 2000, "m", "travel_distance", "straight", "2 km")]
    assert found.figures_of("inn", unit="min", role="travel_time") == ()


def test_a_value_that_is_not_declared_is_no_evidence_and_leaves_the_evidence_incomplete():
    found = known({"distance_m": 300, "rating": 4.9}, tool())
    assert [one for one in found.figures if one.source.origin == "tool"] == []
    assert not found.complete
    assert known({"page": 1}, tool(fields={"page": "ignored"})).complete


def test_a_way_belongs_to_both_its_ends_and_its_road():
    spots = Step(kind="call", tool="t", arguments={}, result={"spots": [{"title": "Inn", "at": "150.01,30.0"}]})
    declared = tool(
        ["start", "end", "by"],
        match={
            "start": {"type": "point"},
            "end": {"type": "point"},
            "by": {"type": "enum", "synonyms": {"walking": ["foot"]}},
        },
        entities=[{**SPOTS, "fields": {"at": "point"}}],
        fields={"ways.*.road": "name", "ways.*.min": "duration"},
        about=["start", "end"],
        mode="by",
    )
    result = {"ways": [{"road": "High Street", "min": 12}]}
    found = known(result, declared, before=[spots], start="150.0,30.0", end="150.01,30.0", by="foot")
    (way,) = found.figures_of("inn")
    assert (way.value, way.mode) == (12, "walking")
    assert {*way.subject} == {"high street", "mill rise", USER, "inn"}


def test_an_id_tells_whom_a_call_was_made_for():
    spots = Step(kind="call", tool="t", arguments={}, result={"spots": [{"title": "Inn", "ref": "a1"}]})
    declared = tool(
        ["ref"],
        match={"ref": {"type": "id"}},
        entities=[SPOTS],
        fields={"fee": {"kind": "price", "role": "fee"}},
        about=["ref"],
    )
    (fee,) = known({"fee": 5}, declared, before=[spots], ref="a1").figures_of("inn")
    assert (fee.value, fee.role, fee.source.path) == (5, "fee", "fee")


@pytest.mark.parametrize(
    ("kind", "value", "times"),
    [
        ("hours", "09:00-12:00,15:30-18:30", [(540, "opening"), (720, "closing"), (930, "opening"), (1110, "closing")]),
        ("hours", "18:00-02:00", [(1080, "opening"), (1560, "closing")]),
        ("hours", "24h", [(0, "opening"), (1440, "closing")]),
        ("hours", "ask at the door", []),
        ({"kind": "clock", "role": "last_service"}, "0614", [(374, "last_service")]),
        ({"kind": "clock", "role": "departure"}, ["22:46", "23:05"], [(1366, "departure"), (1385, "departure")]),
    ],
)
def test_times_of_day_have_roles(kind, value, times):
    found = known({"spots": [{"title": "Inn", "when": value}]}, tool(entities=[{**SPOTS, "fields": {"when": kind}}]))
    assert [(one.minutes, one.role) for one in found.times_of("inn")] == times


def test_labelled_text_is_read_by_its_labels():
    labels = {"Walk": {"kind": "mode", "mode": "walking"}, "takes": "duration", "length": "distance", "note": "text"}
    declared = tool(fields={"*": {"kind": "labelled", "labels": labels}})
    found = known(["Walk; takes: 1 h 5 min; length 4.2 km; note: 3 gates"], declared)
    told = [one for one in found.figures if one.source.origin == "tool" and one.unit in ("m", "min")]
    assert [(one.value, one.unit, one.mode) for one in told] == [(65, "min", "walking"), (4200, "m", "walking")]
    assert 3 in {one.value for one in found.figures if one.source.path == "0"}


def test_what_the_user_says_and_the_context_shows_is_known_from_the_start():
    found = known({}, tool()).by(0)
    assert {(one.value, one.unit) for one in found.figures_of(USER)} >= {(6, "people"), (540, "yuan")}
    assert [one.minutes for one in found.times_of(USER, role="now")] == [990]
    assert {"mill rise", "larkhaven", "old mill"} <= found.names
    assert not any(one.unit == "min" for one in found.figures)  # how long ago it was


def test_a_text_may_call_a_thing_by_its_alias():
    declared = tool(entities=[{**SPOTS, "fields": {"also": "alias", "note": "text"}}])
    spots = [{"title": "The Inn", "also": "Old Pub|Big Pub"}, {"title": "Bar", "note": "Old Pub: 12 yuan"}]
    assert [one.value for one in known({"spots": spots}, declared).figures_of("the inn", unit="yuan")] == [12]


def test_a_word_that_stands_for_nothing_names_nothing():
    fields = {"legs.*.from": {"kind": "end", "words": {"start": ""}}, "legs.*.to": "end", "legs.*.min": "duration"}
    found = known({"legs": [{"from": "start", "to": "Inn", "min": 9}]}, tool(fields=fields))
    (leg,) = [one for one in found.figures if one.unit == "min"]
    assert leg.subject == ("inn",)
    assert "start" not in found.names


def test_what_an_agent_is_told_besides_is_evidence():
    visible = Visible.model_validate(
        {"query": "?", "instructions": "The budget is 80 yuan.", "context": {"details": {"car": {"headroom": "2.1 m"}}}}
    )
    found = known({}, tool(), visible=visible)
    assert {(one.value, one.unit, one.source.path) for one in found.figures_of(USER)} == {
        (80, "yuan", "instructions"),
        (2.1, "m", "details.car.headroom"),
    }


def test_what_the_user_did_is_no_evidence_of_the_agents():
    step = Step(kind="call", tool="t", result={"fare": 7})
    declared = {"t": tool(fields={"fare": "price"})}
    turns = [Turn(role="user", text="Where?", steps=(step,)), Turn(role="agent", text="There.")]
    trajectory = Trajectory(case="c", turns=tuple(turns))
    assert (evidence(trajectory, declared, None).figures, trajectory.calls) == ((), ())
