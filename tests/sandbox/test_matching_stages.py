"""Exact, near, composed or a miss: what a recording may answer, and what it never may."""

import pytest
from sandbox_samples import LAT, LON, around, east, farthest_m, names, north, places, recording, sandbox

from pytest_mapsat.model import MISS_RESULT


def ask(box, **arguments):
    return box.call("around", {"query": "咖啡", "x": LON, "y": LAT, "range": 1000} | arguments)


def kinds(*answers):
    return [answer.provenance.kind for answer in answers]


def test_the_same_call_is_answered_exactly_however_it_is_spelled():
    box = sandbox(around(sort=None, label=""))
    spellings = [
        {},
        {"range": "1000", "sort": "distance"},
        {"sort": 1, "x": str(LON), "y": f" {LAT} "},
        {"query": " 咖 啡 ", "label": "whatever"},
        {"range": 1000.0, "sort": ""},
    ]
    answers = [ask(box, **spelling) for spelling in spellings]
    assert kinds(*answers) == ["exact"] * len(spellings)
    assert all(answer.result == answers[0].result and answer.provenance.differences == () for answer in answers)


def test_a_declared_default_stands_for_the_value_it_names():
    box = sandbox(recording("around", {"query": "咖啡", "x": LON, "y": LAT}, places(100)))
    assert kinds(ask(box, range=5000), ask(box, range=None)) == ["exact", "exact"]


@pytest.mark.parametrize("figures", [(LON + 4e-6, LAT - 4e-6), (LON + 9e-6, LAT + 9e-6)])
def test_rounding_a_coordinate_never_matters(figures):
    lon, lat = figures
    assert ask(sandbox(around()), x=lon, y=lat).provenance.kind == "exact"


def test_a_centre_within_tolerance_is_near_and_says_how_far_off_it_is():
    answer = ask(sandbox(around(result=places(100, 400))), x=east(150))
    assert answer.provenance.kind == "near"
    (difference,) = answer.provenance.differences
    assert difference.parameter == "x"
    assert difference.distance_m == pytest.approx(150, abs=1)
    assert difference.recorded == [LON, LAT]


@pytest.mark.parametrize(
    ("recorded", "asked", "told"),
    [
        (around(), {"x": east(201)}, ""),
        (around("咖啡店"), {"y": north(500)}, ""),
        (around(radius=500), {"range": 1000}, ""),
        (around(result=places(order=(400, 100, 900))), {"range": 500}, "not sorted"),
        (around(result={"found": {"pois": [{"name": "p"}]}}), {"range": 500}, "do not all have"),
    ],
    ids=["far", "near-text-far-away", "narrower", "unsorted", "without-distances"],
)
def test_what_may_lie_outside_of_the_recording_is_a_miss(recorded, asked, told):
    answer = ask(sandbox(recorded), **asked)
    assert answer.status == "miss"
    assert told in answer.provenance.note


def test_what_a_moved_circle_leaves_outside_is_cut():
    answer = ask(sandbox(around()), y=north(-150))
    assert answer.provenance.kind == "composed"
    assert names(answer) == ["p100", "p400"]
    assert answer.result["count"] == "2"
    assert farthest_m(answer, LON, north(-150)) <= 1000
    assert "1 of the recorded items" in answer.provenance.note


def test_a_preference_may_differ_and_is_named():
    answer = ask(sandbox(around(sort="weight")), sort="distance")
    assert answer.provenance.kind == "near"
    (difference,) = answer.provenance.differences
    assert (difference.parameter, difference.asked, difference.recorded) == ("sort", "distance", "weight")


def test_a_wider_circle_is_cut_to_the_one_asked_for_and_its_count_follows():
    box = sandbox(around())
    answer = ask(box, range=500)
    assert (answer.provenance.kind, names(answer)) == ("composed", ["p100", "p400"])
    assert answer.provenance.differences[0].parameter == "range"


def test_an_item_is_checked_by_its_own_point_and_not_by_what_it_claims():
    result = places(100, 400)
    result["found"]["pois"][1]["y"] = north(3000)
    assert names(ask(sandbox(around(result=result)), range=500)) == ["p100"]


def test_an_answer_without_a_list_holds_for_every_smaller_circle():
    answer = ask(sandbox(around(result={"status": "nothing found"})), range=500)
    assert (answer.provenance.kind, answer.result) == ("composed", {"status": "nothing found"})


@pytest.mark.parametrize(
    ("asked", "recorded"),
    [("咖啡店", "咖啡"), ("咖啡", "咖啡店"), ("咖啡馆", "咖啡店"), ("coffee shop", "咖啡"), ("海边 咖啡", "咖啡 海边")],
)
def test_text_is_near_when_only_generic_words_synonyms_or_the_order_differ(asked, recorded):
    answer = ask(sandbox(around(recorded)), query=asked)
    assert answer.provenance.kind == "near"
    assert answer.provenance.differences[0].score is not None


def test_words_that_may_be_absent_do_not_count_in_the_similarity():
    answer = ask(sandbox(around("海边 咖啡店")), query="shop 海边 咖啡")
    assert (answer.provenance.kind, answer.provenance.differences[0].score) == ("near", 1.0)


@pytest.mark.parametrize(
    ("asked", "recorded"),
    [
        ("特来电充电站", "充电站"),
        ("充电站", "特来电充电站"),
        ("Shell gas station", "gas station"),
        ("coffee", "Starbucks coffee"),
        ("Starbucks coffee", "coffee"),
        ("酒店", "酒"),
        ("photo shop", "photoshop x"),
        ("photoshop", "photo"),
        ("咖啡奶茶", "咖啡"),
        ("11号线", "12号线"),
    ],
)
def test_a_word_that_was_asked_for_is_never_dropped_and_none_is_added(asked, recorded):
    assert ask(sandbox(around(recorded)), query=asked).status == "miss"


def test_the_fewest_differences_come_first_then_the_shortest_way():
    exact_place = around("咖啡店", label="same place, other words")
    moved = around("咖啡", x=east(100), result=places(100))
    both = around("咖啡店", x=east(20), result=places(200))
    answer = ask(sandbox(both, moved, exact_place))
    assert [difference.parameter for difference in answer.provenance.differences] == ["query"]
    nearer = around("咖啡", x=east(40), result=places(300))
    assert ask(sandbox(moved, nearer)).provenance.differences[0].distance_m == pytest.approx(40, abs=1)


def test_several_recordings_of_one_call_answer_in_their_order_and_then_the_last_one():
    results = [places(100), places(100), places(100, 200), places()]
    box = sandbox(*(around(result=result) for result in results))
    answers = [ask(box) for _ in range(6)]
    assert [names(answer) for answer in answers] == [["p100"], ["p100"], ["p100", "p200"], [], [], []]
    assert [(answer.provenance.kind, answer.provenance.candidates) for answer in answers] == [("exact", 1)] * 6
    assert len({answer.provenance.recording for answer in answers}) == 1
    assert names(ask(sandbox(*(around(result=result) for result in reversed(results))))) == []


def test_one_call_has_one_order_however_it_is_spelt_and_whatever_is_asked_between():
    first, other = around(result=places(100)), around("书店", result=places(300))
    box = sandbox(first, other, around(result=places(200)), around("书店", result=places(400)))
    asked = [names(ask(box, query=query)) for query in ("咖啡", " 咖啡 ", "书店", "咖啡", "书店", "书店")]
    assert asked == [["p100"], ["p200"], ["p300"], ["p200"], ["p400"], ["p400"]]


def test_near_answers_of_one_recorded_call_come_in_its_order_too_and_share_it_with_exact_ones():
    box = sandbox(
        around("咖啡店", result=places(100)), around("咖啡店", result=places(200)), around("咖啡店", result=places())
    )
    answers = [ask(box, query="咖啡"), ask(box, query="咖啡店"), ask(box, query="咖啡")]
    assert [(names(answer), answer.provenance.kind) for answer in answers] == [
        (["p100"], "near"),
        (["p200"], "exact"),
        ([], "near"),
    ]


def test_places_that_are_one_place_are_one_call():
    box = sandbox(around(result=places(100)), around(x=east(1), result=places(200)))
    assert [names(ask(box)) for _ in range(3)] == [["p100"], ["p200"], ["p200"]]


def test_of_several_near_calls_the_answer_most_recordings_gave_is_taken_in_any_order_and_they_are_counted():
    recordings = [
        around("咖啡", x=east(30), result=places(100)),
        around("咖啡", x=east(-30), result=places(200)),
        around("咖啡", y=north(30), result=places(200)),
    ]
    answers = [ask(sandbox(*recordings[k:], *recordings[:k])) for k in range(3)]
    assert all((names(answer), answer.provenance.candidates) == (["p200"], 2) for answer in answers)


def test_a_recording_with_synonyms_is_one_of_the_order():
    twice = around(result=places(100)).model_copy(update={"synonyms": {"query": ("咖啡 ", "咖啡")}})
    box = sandbox(twice, around(result=places(200)))
    assert [names(ask(box)) for _ in range(3)] == [["p100"], ["p200"], ["p200"]]


def test_a_miss_tells_the_agent_nothing_and_the_report_what_was_lacking():
    answer = ask(sandbox(around("secret place")), query="咖啡", x=east(300))
    assert answer.result == MISS_RESULT
    assert answer.result is not MISS_RESULT
    assert answer.provenance.kind == "miss"
    assert answer.provenance.recording
    assert {difference.parameter for difference in answer.provenance.differences} == {"query", "x"}
    assert answer.provenance.candidates == 0


def test_a_miss_without_any_recording_of_the_tool_says_so():
    assert "no recording of around" in ask(sandbox()).provenance.note


def test_a_miss_names_the_recordings_that_cannot_be_read():
    answer = ask(sandbox(around(x="abc"), around(qurey="x")))
    assert "'abc'" in answer.provenance.note
    assert "did you mean 'query'" in answer.provenance.note


def route(mode, result, **more):
    return recording("route", {"a": "10,50", "b": "10.1,50", "mode": mode} | more, result)


def drive(box, **arguments):
    return box.call("route", {"a": [10, 50], "b": {"lon": "10.1", "lat": 50}} | arguments)


def test_a_list_for_more_members_is_cut_to_those_asked_for():
    box = sandbox(route(["car", "walk"], ["CAR: 5 min", "WALK: 50 min"]))
    answer = drive(box, mode="drive")
    assert (answer.provenance.kind, answer.result) == ("composed", ["CAR: 5 min"])
    assert drive(box, mode='["on foot"]').result == ["WALK: 50 min"]
    assert drive(box).provenance.kind == "exact"


def test_nested_lists_are_cut_by_the_label_of_their_first_text():
    box = sandbox(route(["car", "walk"], [["CAR: 5 min", "CAR: 6 min"], ["WALK: 50 min"]]))
    assert drive(box, mode=["walk"]).result == [["WALK: 50 min"]]


def test_what_a_recording_holds_beyond_its_own_members_is_cut_as_well():
    answer = drive(sandbox(route("car", ["CAR: 5 min", "WALK: 50 min"])), mode=["car"])
    assert (answer.provenance.kind, answer.result) == ("composed", ["CAR: 5 min"])


def test_a_recording_that_needs_no_cut_is_preferred():
    box = sandbox(route("car", ["CAR: 1 min", "WALK: 2 min"]), route(["car"], ["CAR: 3 min"]))
    answer = drive(box, mode="car")
    assert (answer.provenance.kind, answer.result) == ("exact", ["CAR: 3 min"])


@pytest.mark.parametrize(
    ("made_for", "result", "asked"),
    [
        (["car", "walk"], ["CAR: 5 min"], "walk"),
        (["car", "walk"], ["CAR: 5 min", {"status": "error"}], "walk"),
        (["car", "walk"], {"error": "limit"}, "walk"),
        (["car", "lorry"], ["CAR: 5 min", "CAR: 6 min"], "car"),
        ("car", ["CAR: 5 min"], ["car", "walk"]),
    ],
)
def test_a_cut_that_would_leave_out_a_member_or_cannot_tell_them_apart_is_not_made(made_for, result, asked):
    box = sandbox(route(made_for, result))
    assert drive(box, mode=asked).status == "miss"
    assert drive(box, mode=made_for).provenance.kind == "exact"


def test_points_on_the_way_must_be_as_many_and_in_order():
    via = [[10.02, 50], [10.05, 50]]
    box = sandbox(route("car", ["CAR: 5 min"], via=via))
    assert drive(box, mode="car", via="10.02,50;10.05,50").provenance.kind == "exact"
    assert drive(box, mode="car", via=[[10.0201, 50], [10.05, 50]]).provenance.kind == "near"
    assert drive(box, mode="car", via=via[::-1]).status == "miss"
    assert drive(box, mode="car", via=via[:1]).status == "miss"
    assert drive(box, mode="car").status == "miss"


def test_the_way_back_is_another_trip():
    box = sandbox(route("car", ["CAR: 5 min"]))
    assert box.call("route", {"a": "10.1,50", "b": "10,50", "mode": "car"}).status == "miss"


def test_an_id_is_never_near_and_synonyms_of_a_recording_are_its_own():
    box = sandbox(recording("profile", {"uid": "U1"}, "text", synonyms={"uid": ("alias",)}))
    assert [box.call("profile", {"uid": uid}).status for uid in ("U1", " U1 ", "alias", "u1", "U2")] == [
        "ok",
        "ok",
        "ok",
        "miss",
        "miss",
    ]


def test_a_recording_made_after_other_writes_does_not_answer():
    after = recording("profile", {"uid": "U1"}, "after", writes="abc")
    before = recording("profile", {"uid": "U1"}, "before")
    box = sandbox(after, before)
    assert box.call("profile", {"uid": "U1"}).result == "before"
    assert box.call("profile", {"uid": "U1"}, writes="abc").result == "after"
    assert sandbox(after).call("profile", {"uid": "U1"}).status == "miss"
    keys = {box.call("profile", {"uid": "U1"}, writes=writes).provenance.recording for writes in ("", "abc")}
    assert len(keys) == 2


def test_an_undeclared_parameter_is_essential_and_equal_in_any_spelling():
    from pytest_mapsat.model import Tool
    from pytest_mapsat.sandbox import RecordedSandbox

    tool = Tool(
        name="t",
        description="d",
        parameters={"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}, "j": {}}},
    )
    box = RecordedSandbox({"t": tool}, [recording("t", {"n": 5, "s": "A b", "j": {"b": 1, "a": [1]}}, 1)])
    assert box.call("t", {"n": "5", "s": "ab", "j": '{"a": ["1"], "b": 1}'}).provenance.kind == "exact"
    assert box.call("t", {"n": 6, "s": "ab", "j": {"a": [1], "b": 1}}).status == "miss"
    assert box.call("t", {"n": 5, "s": "ab"}).status == "miss"
