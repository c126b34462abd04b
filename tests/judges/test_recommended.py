"""What a reply recommends of what the tools returned."""

import pytest
from judging import PLACES, TOOLS, call, dialogue, found_places, judge_dialogue, judge_reply

from pytest_mapsat.model import Tool, Turn

GOOD = {"rating": {"op": "between", "min": 4.5}}


def only_recommends(reply, **fields):
    return recommends(reply, only=True, **fields)


def recommends(reply, **fields):
    return judge_reply(reply, "recommends", steps=[found_places()], **fields)


@pytest.mark.parametrize(
    "reply",
    [
        "I recommend Cafe Luna (Riverside).",
        "Try **Cafe Luna**!",
        "Go to CAFE LUNA Riverside",
        "推荐青石茶馆(东门店)",
        "推荐青石茶馆（东门店）",
        "去青石茶馆吧",
        "Cafe Luna is not far from Old Mill",
        "Old Mill is closed, so go to Cafe Luna",
        "Cafe Luna beats Old Mill, which is fully booked",
        "Cafe Luna is better than Old Mill",
        "I'd skip Old Mill. Cafe Luna it is.",
        "不推荐Old Mill，推荐青石茶馆",
    ],
)
def test_a_good_place_is_never_missed(reply):
    assert only_recommends(reply, where=GOOD).passed is not False


@pytest.mark.parametrize(
    "reply",
    [
        "I recommend Old Mill",
        "Cafe Luna or Old Mill",
        "I would not go to Cafe Luna",
        "Cafe Luna is closed today",
        "Skip Cafe Luna",
        "青石茶馆已打烊",
        "不推荐青石茶馆",
        "Somewhere nice",
        "Moonlight Diner, 4.9 stars",
        "Cafe Lunatic",
        "",
    ],
)
def test_a_bad_ruled_out_or_invented_place_is_never_recommended(reply):
    assert only_recommends(reply, where=GOOD).passed is not True


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        ("I recommend Cafe Luna (Riverside).", True),
        ("Try **Cafe Luna**!", True),
        ("推荐青石茶馆（东门店）", True),
        ("I recommend Old Mill", False),
        ("Skip Cafe Luna", False),
        ("不推荐青石茶馆", False),
        ("Somewhere nice", False),
    ],
)
def test_what_is_plain_is_decided(reply, passed):
    assert only_recommends(reply, where=GOOD).passed is passed


def test_pasting_every_result_recommends_what_does_not_fit_too():
    everything = ", ".join(place["name"] for place in PLACES["pois"])
    assert only_recommends(everything, any_of=["Cafe Luna"]).passed is not True


def test_the_longest_name_is_the_one_that_is_meant():
    assert only_recommends("Go to Old Mill Garden", any_of=["Old Mill Garden"]).passed is True
    assert only_recommends("Go to Old Mill Garden", any_of=["Old Mill"]).passed is False


def test_a_place_named_as_a_landmark_is_not_recommended():
    assert only_recommends("Go to Cafe Luna, next to Old Mill", where=GOOD).passed is True
    assert only_recommends("我推荐您去Cafe Luna，它就在Old Mill附近，走过去很近。", where=GOOD).passed is True


def test_a_short_name_that_two_places_share_stands_for_neither():
    places = {"pois": [{"name": "Luna (East)", "rating": 5}, {"name": "Luna (West)", "rating": 3}]}
    steps = [call(result=places)]
    assert judge_reply("Go to Luna", "recommends", steps=steps, where=GOOD, only=True).passed is None
    assert judge_reply("Go to Luna East", "recommends", steps=steps, where=GOOD, only=True).passed is True
    assert judge_reply("Go to Luna (West)", "recommends", steps=steps, where=GOOD, only=True).passed is False


def test_two_places_of_one_name_that_differ_cannot_be_told_apart():
    places = {"pois": [{"name": "Luna", "poiid": "a", "rating": 5}, {"name": "Luna", "poiid": "b", "rating": 3}]}
    assert judge_reply("Go to Luna", "recommends", steps=[call(result=places)], where=GOOD, only=True).passed is None


def test_what_cannot_be_read_in_a_recording_is_not_known():
    where = {"hours": {"op": "open_at", "time": "18:00"}}
    assert only_recommends("Go to Cafe Luna", where=where).passed is True
    assert only_recommends("Go to Old Mill", where=where).passed is False
    assert only_recommends("Go to Old Mill Garden", where=where).passed is None


def test_where_the_user_wants_to_go_may_be_no_recommendation_but_the_end_of_the_way():
    steps = [found_places()]
    asked = dialogue("Drive to Old Mill. Park at the Cafe Luna, 3 min on foot to Old Mill.", steps=steps)
    query = Turn(role="user", text="How do I get to Old Mill, and where can I park?")
    trajectory = asked.model_copy(update={"turns": (query, *asked.turns[1:])})
    assert judge_dialogue(asked, "recommends", where=GOOD, only=True).passed is False
    assert judge_dialogue(trajectory, "recommends", where=GOOD, only=True).passed is None
    alone = dialogue("Go to Old Mill.", steps=steps)
    alone = alone.model_copy(update={"turns": (query, *alone.turns[1:])})
    assert judge_dialogue(alone, "recommends", where=GOOD, only=True).passed is False


def test_a_bad_thing_that_the_user_names_is_never_a_good_recommendation_for_another_being_mentioned():
    query = Turn(role="user", text="Is Old Mill any good?")
    asked = dialogue("Go to Old Mill, it's lovely. Cafe Luna has a terrace.", steps=[found_places()])
    trajectory = asked.model_copy(update={"turns": (query, *asked.turns[1:])})
    assert judge_dialogue(trajectory, "recommends", where=GOOD, only=True).passed is not True


def test_a_question_that_the_reply_goes_on_about_leaves_open_what_is_proposed():
    assert only_recommends("You mean Cafe Luna?", where=GOOD).passed is False
    assert only_recommends("You mean Cafe Luna? They are open until 22:00.", where=GOOD).passed is None


DETAILS = Tool.model_validate(
    {
        "name": "details",
        "description": "All of one place.",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
        "entities": [{"items": "", "name": "name", "id": "poiid"}],
    }
)


@pytest.mark.parametrize(
    ("where", "passed"),
    [
        ({"desk": {"op": "open_at", "time": "20:00"}}, True),
        ({"desk": {"op": "open_at", "time": "23:20"}}, False),
        ({"desk": {"op": "open_at", "time": "20:00"}, "rating": {"op": "between", "max": 4}}, True),
        ({"desk": {"op": "absent"}}, False),
    ],
)
def test_what_one_tool_leaves_out_of_a_thing_is_looked_for_in_what_others_say_of_it(where, passed):
    details = call("details", {"name": "Old Mill", "poiid": "2", "desk": "06:30-23:00"}, id="2")
    tools = {**TOOLS, "details": DETAILS}
    assert (
        judge_reply(
            "I recommend Old Mill.", "recommends", steps=[found_places(), details], tools=tools, where=where, only=True
        ).passed
        is passed
    )


def test_where_without_declared_entities_is_not_judged():
    finding = judge_reply("Go to Cafe Luna", "recommends", tool="route", any_of=["Cafe Luna"], only=True)
    assert (finding.passed, "does not declare" in finding.why) == (None, True)


def test_recommending_nothing_may_claim_nothing():
    finding = only_recommends("Stay at home", where=GOOD, if_absent="nothing_claimed")
    assert (finding.passed, finding.nothing_claimed) == (True, True)


def test_a_name_that_no_tool_returned_is_told_so():
    finding = judge_reply("Go to Cafe Luna", "recommends", any_of=["Cafe Luna"], only=True)
    assert finding.passed is False
    assert "which no tool returned" in finding.why


@pytest.mark.parametrize(
    ("reply", "passed"), [("Go to Old Mill", False), ("Skip Old Mill", True), ("Go to Cafe Luna", True)]
)
def test_avoids_fails_on_what_it_describes(reply, passed):
    assert recommends(reply, none_of=["Old Mill"]).passed is passed
    assert recommends(reply, none_where={"rating": {"op": "between", "max": 4}}).passed is passed


def test_avoids_also_sees_a_name_that_no_tool_returned():
    assert recommends("Go to Moonlight Diner", none_of=["Moonlight Diner"]).passed is False
    assert recommends("Do not go to Moonlight Diner", none_of=["Moonlight Diner"]).passed is True


def test_the_reason_quotes_the_recommendation():
    finding = only_recommends("Go to Old Mill", where=GOOD)
    assert finding.why.startswith(
        "turn 1 says 'Old Mill' (chars 6-14), which does not have rating at least 4.5: its rating is"
    )
    assert [quote.text for quote in finding.quotes] == ["Old Mill"]


def test_a_place_that_only_its_address_tells_of_may_be_the_one_that_is_meant():
    fields = {"name": "name", "items": "pois", "fields": {"address": "address"}}
    spec = {
        "name": "search_poi",
        "description": "F.",
        "parameters": {"type": "object", "properties": {}},
        "entities": [fields],
    }
    result = {
        "pois": [{"name": "Quay Deck", "address": "61 Quay Road"}, {"name": "Hill Deck", "address": "2 Hill Lane"}]
    }
    reply = "Your safest bet is the one at 61 Quay Road. Hill Deck is full."
    steps = [call(result=result)]
    finding = judge_reply(
        reply,
        "recommends",
        steps=steps,
        tools={"search_poi": Tool.model_validate(spec)},
        any_of=["Quay Deck"],
        only=True,
    )
    assert (finding.passed, [quote.text for quote in finding.quotes]) == (None, ["61 Quay Road"])


def test_people_and_products_are_recommended_by_the_tool_that_lists_them():
    entities = [{"items": "staff", "name": "name", "sort": "person", "fields": {"speaks": "ignored"}}]
    spec = {
        "name": "find",
        "description": "F.",
        "parameters": {"type": "object", "properties": {}},
        "entities": entities,
    }
    tools = {"find": Tool.model_validate(spec)}
    staff = {"staff": [{"name": "Dr. Valdes", "speaks": "es"}, {"name": "Dr. Reed", "speaks": "en"}]}
    fields = {
        "only": True,
        "where": {"speaks": {"op": "equal", "value": "es"}},
        "steps": [call("find", staff)],
        "tools": tools,
    }
    assert judge_reply("Book Dr. Valdes.", "recommends", tool="find", **fields).passed is True
    assert judge_reply("Book Dr. Reed.", "recommends", tool="find", **fields).passed is False


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        ("Take Cafe Luna. If it is full, go to Old Mill.", None),
        ("去青石茶馆吧。如果没位子，就去Old Mill。", None),
        ("Take Cafe Luna. Old Mill has a view.", True),
        ("Take Cafe Luna. Old Mill is closed.", True),
    ],
)
def test_what_is_proposed_under_a_condition_beside_a_choice_is_open(reply, passed):
    assert only_recommends(reply, where=GOOD).passed is passed
    assert recommends(reply, none_of=["Old Mill"]).passed is passed
    assert recommends(reply, any_of=["Cafe Luna", "青石茶馆"], none_of=["Old Mill"]).passed is passed


@pytest.mark.parametrize(
    ("fields", "passed"),
    [
        ({"any_of": ["Cafe Luna"], "all_of": [["Cafe Luna"]], "turned_down": ["Old Mill"]}, True),
        ({"any_of": ["Cafe Luna"], "turned_down": ["Cafe Luna"]}, False),
        ({"where": GOOD, "only": True, "none_of": ["Old Mill"]}, True),
        ({"where": GOOD, "only": True, "none_of": ["Cafe Luna"]}, False),
        ({"where": GOOD, "none_where": GOOD}, False),
    ],
)
def test_all_that_one_check_asks_must_hold(fields, passed):
    assert recommends("Skip Old Mill, it is closed. Go to Cafe Luna.", **fields).passed is passed
