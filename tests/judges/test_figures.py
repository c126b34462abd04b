"""Numbers and clock times: bounds, and what tools returned."""

import pytest
from judging import call, check_of, dialogue, found_places, judge_dialogue, judge_reply

from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.model import Tool, Trajectory, Turn, Visible


def test_a_length_of_time_may_be_asked_for_in_days():
    fields = {"unit": "d", "max": 7}
    assert judge_reply("The next slot is in 5 days.", "number", **fields).passed is True
    finding = judge_reply("The next slot is in 9 days.", "number", **fields)
    assert (finding.passed, finding.wanted) == (False, "a duration of at most 7 d")
    steps = [call("route", {"wait": 9})]
    assert judge_reply("It takes 9 days.", "number", steps=steps, unit="d", equals=bound("wait")).passed is True


def test_a_number_must_lie_within_its_bounds():
    assert judge_reply("It is 900 m away", "number", unit="km", max=1).passed is True
    finding = judge_reply("It is 1.2 km away", "number", unit="km", max=1)
    assert finding.why == "turn 1 says '1.2 km' (chars 6-12), which is not at most 1 km"
    assert finding.wanted == "a length of at most 1 km"


def test_a_number_is_tied_to_its_thing_by_the_sentence():
    reply = "The walk takes 8 min. The drive takes 50 min."
    assert judge_reply(reply, "number", unit="min", max=10, near=["walk"]).passed is True
    assert judge_reply(reply, "number", unit="min", max=10, near=["drive"]).passed is False
    assert judge_reply(reply, "number", unit="min", max=10, near=["bike"]).passed is not True


def test_all_numbers_must_fit_unless_any_is_asked_for():
    reply = "5 min or 50 min"
    assert judge_reply(reply, "number", unit="min", max=10).passed is False
    assert judge_reply(reply, "number", unit="min", max=10, quantifier="any").passed is True


def test_a_number_that_is_not_said_fails_or_holds_with_nothing_claimed():
    assert judge_reply("Soon", "number", unit="min", max=10).passed is False
    finding = judge_reply("Soon", "number", unit="min", max=10, if_absent="nothing_claimed")
    assert (finding.passed, finding.nothing_claimed) == (True, True)


def bound(path="distance", tool="route"):
    return {"op": "bound", "tool": tool, "path": path}


@pytest.mark.parametrize(
    ("returned", "times"),
    [(9800, 0.001), ("9800", 0.001), ("9.8", 1), ("驾车;全程9.8公里", 1), (["9.8 km"], 1)],
)
@pytest.mark.parametrize(("said", "passed"), [("10 km", True), ("9.8 km", True), ("12.5 km", False), ("7.8 km", False)])
def test_a_number_is_held_against_what_a_tool_returned(returned, times, said, passed):
    steps = [call("route", {"distance": returned})]
    fields = {"unit": "km", "equals": bound(), "times": times}
    assert judge_reply(f"It is {said}.", "number", steps=steps, **fields).passed is passed


@pytest.mark.parametrize("end", ["3,4", "1", "Cafe Luna"])
def test_a_length_is_that_of_the_way_to_a_place_however_the_call_names_it(end):
    said = {"description": "Finds.", "parameters": {"type": "object", "properties": {"to": {}}}}
    fields = {"straight": {"kind": "distance", "mode": "straight"}, "lon": "lon", "lat": "lat"}
    search = {
        "name": "search_poi",
        **said,
        "entities": [{"items": "pois", "name": "name", "id": "id", "fields": fields}],
    }
    route = {
        "name": "route",
        **said,
        "match": {"to": {"type": "point", "within_m": 60, "named": True}},
        "about": ["to"],
    }
    tools = {tool["name"]: Tool.model_validate(tool) for tool in (search, route)}
    cafe = {"name": "Cafe Luna", "id": "1", "straight": 300, "lon": 3.0, "lat": 4.0}
    steps = [call(result={"pois": [cafe]}), call("route", {"metres": 440}, to=end)]
    equals = [bound("metres"), bound("pois.*.straight", "search_poi")]
    check = {"unit": "m", "role": "travel_distance", "equals": equals}
    reply = "Go to Cafe Luna. It is a walk of 440 m."
    assert judge_reply(reply, "number", steps=steps, tools=tools, **check).passed is True


def test_a_wrong_number_is_told_with_the_right_one():
    steps = [call("route", {"distance": 9.8})]
    finding = judge_reply("It is 12.5 km.", "number", steps=steps, unit="km", equals=bound())
    assert finding.why == "turn 1 says '12.5 km' (chars 6-13), but route returned 9.8 km"
    assert finding.wanted == "a length within 5 % of 9.8 km"


@pytest.mark.parametrize("status", ["miss", "error"])
def test_a_number_without_an_answer_behind_it_is_not_supported(status):
    steps = [call("route", {"distance": 9.8}, status=status)]
    assert judge_reply("It is 9.8 km.", "number", steps=steps, unit="km", equals=bound()).passed is False


def test_a_later_result_does_not_support_an_earlier_number():
    early = dialogue("It is 9.8 km.", "Indeed.")
    late = early.turns[3].model_copy(update={"steps": (call("route", {"distance": 9.8}),)})
    trajectory = early.model_copy(update={"turns": (*early.turns[:3], late)})
    assert judge_dialogue(trajectory, "number", unit="km", equals=bound()).passed is False


@pytest.mark.parametrize(
    ("reply", "passed"),
    [("Leave at 18:30", True), ("下午6点半出发", True), ("Leave at 6:30 am", False), ("Leave soon", False)],
)
def test_a_clock_time_must_lie_in_its_window(reply, passed):
    assert judge_reply(reply, "clock_time", after="18:00", before="19:00").passed is passed


@pytest.mark.parametrize(("reply", "passed"), [("at 23:30", True), ("at 01:00", True), ("at 15:00", False)])
def test_a_window_may_run_past_midnight(reply, passed):
    assert judge_reply(reply, "clock_time", after="22:00", before="02:00").passed is passed


@pytest.mark.parametrize(("said", "passed"), [("18:31", True), ("6:30 pm", True), ("18:35", False)])
def test_a_clock_time_is_held_against_what_a_tool_returned(said, passed):
    steps = [call("route", {"arrival": "2026-05-23 18:30:00"})]
    fields = {"equals": bound("arrival")}
    assert judge_reply(f"You arrive at {said}.", "clock_time", steps=steps, **fields).passed is passed


ARRIVALS = {"role": "arrival", "after": "17:00", "before": "17:02", "if_absent": "nothing_claimed"}


def test_a_time_that_the_user_gave_fails_nothing_but_one_that_nobody_gave_does():
    turns = (Turn(role="user", text="I have to be there by 17:30."), Turn(role="agent", text="You arrive at 17:30."))
    assert judge_dialogue(Trajectory(case="c1", turns=turns), "clock_time", **ARRIVALS).passed is not False
    turns = (turns[0], Turn(role="agent", text="You arrive at 17:16."))
    assert judge_dialogue(Trajectory(case="c1", turns=turns), "clock_time", **ARRIVALS).passed is False


def test_a_length_of_time_whose_role_no_word_says_fails_nothing():
    steps = [call("route", {"minutes": 12})]
    equals = {"op": "bound", "tool": "route", "path": "minutes"}
    fields = {"unit": "min", "role": "travel_time", "equals": equals, "if_absent": "nothing_claimed", "steps": steps}
    assert judge_reply("Old Mill: 20 min.", "number", **fields).passed is not False
    assert judge_reply("The walk to Old Mill takes 20 min.", "number", **fields).passed is False


def fare(reply, **fields):
    """The finding of a check that the fare is said, where the route costs 36."""
    steps = [call("route", {"fare": 36})]
    return judge_reply(reply, "number", steps=steps, unit="money", equals=bound("fare"), **fields)


@pytest.mark.parametrize(
    "reply", ["Price: 36/head", "Taxi 36/bus 4", "Fare 36pp", "费用：36", "出租车：三十六", "三十六就够了"]
)
def test_a_number_without_its_unit_leaves_open_whether_the_figure_is_said(reply):
    finding = fare(reply)
    assert finding.passed is None
    assert "36" in finding.why or "三十六" in finding.why
    assert "which may be a sum of money" in finding.why


@pytest.mark.parametrize("reply", ["Take the taxi.", "Price: 40/head", "坐出租车去。", "费用：40", "四十就够了"])
def test_another_number_or_none_leaves_nothing_open(reply):
    assert fare(reply).passed is False


@pytest.mark.parametrize("reply", ["Fare 36/trip, that is 36 yuan.", "费用：36，即36元。"])
def test_a_number_without_its_unit_beside_the_figure_itself_changes_nothing(reply):
    assert fare(reply).passed is True


def test_a_price_without_its_unit_beside_others_leaves_open_whether_it_is_said():
    reply = "Science Barn, now 36, is 9 yuan less than the usual 45 yuan."
    fields = {"unit": "yuan", "equals": bound("pois.*.price", "search_poi"), "quantifier": "any"}
    steps = [call(result={"pois": [{"name": "Science Barn", "price": 36}]})]
    assert judge_reply(reply, "number", steps=steps, tools=DECLARED, **fields).passed is None


@pytest.mark.parametrize("reply", ["Price: 36/head", "费用：36"])
def test_where_a_figure_may_be_absent_a_number_without_its_unit_opens_nothing(reply):
    finding = fare(reply, if_absent="nothing_claimed")
    assert (finding.passed, finding.nothing_claimed) == (True, True)


def tool(name, things, sort, **fields):
    """A tool that declares what the values of its things mean."""
    entities = [{"items": things, "name": "name", "sort": sort, "fields": fields}]
    parameters = {"type": "object", "properties": {"query": {"type": "string"}}}
    spec = {"name": name, "description": "Finds.", "parameters": parameters, "entities": entities}
    return Tool.model_validate(spec)


DECLARED = {
    "search_poi": tool("search_poi", "pois", "place", price="price", fee="price", free="count"),
    "rides": tool("rides", "options", "ride"),
}
TICKETS = {
    "pois": [
        {"name": "Science Barn", "price": 30},
        {"name": "Clay Studio", "price": 55},
        {"name": "Amber Hall", "price": 15},
    ]
}


def judged(reply, kind, result, path, **fields):
    """The finding of a check on what a tool said that declares its values."""
    steps = [call(result=result, query="something")]
    return judge_reply(reply, kind, steps=steps, tools=DECLARED, equals=bound(path, "search_poi"), **fields)


def priced(reply, result=TICKETS, if_absent="nothing_claimed"):
    fields = {"unit": "yuan", "role": ["price"], "if_absent": if_absent}
    return judged(reply, "number", result, "pois.*.price", **fields)


def test_a_figure_that_fits_answers_for_its_own_thing_only():
    assert priced("Science Barn (30 yuan), then Clay Studio (55 yuan).").passed is True
    # 45 is 30 and 15, but nothing says that it is.
    assert priced("Science Barn (30 yuan), then Clay Studio (45 yuan).").passed is None


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        ("I suggest Science Barn, a ticket is 55 yuan.", False),
        ("I suggest Science Barn, a ticket is 55 yuan. Clay Studio is dearer.", None),
        ("I suggest Science Barn, a ticket is 30 yuan.", True),
    ],
)
def test_the_figure_of_a_thing_that_no_reply_names_excuses_nothing(reply, passed):
    assert priced(reply).passed is passed


@pytest.mark.parametrize(("said", "passed"), [("30 yuan", True), ("31 yuan", False), ("about 31 yuan", True)])
def test_sums_are_exact_unless_a_tolerance_is_given(said, passed):
    assert priced(f"I suggest Science Barn, a ticket is {said}.").passed is passed


def test_a_price_with_cents_may_be_told_in_whole_units():
    result = {"pois": [{"name": "Science Barn", "price": 29.6}]}
    assert priced("I suggest Science Barn, a ticket is 30 yuan.", result).passed is True
    assert priced("I suggest Science Barn, a ticket is 29 yuan.", result).passed is False


@pytest.mark.parametrize(("said", "passed"), [(50, True), (6, False), (44, None), (94, False), (41, False)])
def test_a_price_of_another_thing_leaves_it_open_and_a_sum_or_difference_of_two_does_not(said, passed):
    result = {"pois": [{"name": "Science Barn", "price": 50}, {"name": "Clay Studio", "price": 44}]}
    reply = f"I suggest Science Barn, a ticket is {said} yuan. Clay Studio is further off."
    assert priced(reply, result).passed is passed


@pytest.mark.parametrize(("last", "passed"), [("10:32", True), ("10:42", False)])
def test_times_in_a_list_are_of_one_role(last, passed):
    declared = {"search_poi": tool("search_poi", "pois", "line", **{"next.*": {"kind": "clock", "role": "departure"}})}
    steps = [call(result={"pois": [{"name": "Green Line", "next": ["10:12", "10:22", "10:32"]}]}, query="something")]
    fields = {"role": ["departure"], "if_absent": "nothing_claimed", "equals": bound("pois.*.next.*", "search_poi")}
    reply = f"Take the Green Line. They go 10:12, 10:22, {last}."
    assert judge_reply(reply, "clock_time", steps=steps, tools=declared, **fields).passed is passed


@pytest.mark.parametrize(("sum_", "passed"), [(276, True), (248, False), (300, False)])
def test_a_sum_that_is_said_of_nothing_is_that_of_the_only_thing_that_is_named(sum_, passed):
    listed = {"items": "pois", "name": "name", "id": "id", "sort": "place"}
    asked = {
        "parameters": {"type": "object", "properties": {"hotel": {"type": "string"}}},
        "match": {"hotel": {"type": "id"}},
    }
    quote = {
        "name": "quote",
        "description": "Totals.",
        **asked,
        "about": ["hotel"],
        "fields": {"total": {"kind": "price", "role": "total"}},
    }
    search = {"name": "search_poi", "description": "Finds.", "parameters": asked["parameters"], "entities": [listed]}
    tools = {name: Tool.model_validate(spec) for name, spec in (("quote", quote), ("search_poi", search))}
    hotels = call(result={"pois": [{"name": "Saltbox Inn", "id": "h1"}, {"name": "Anchor Yard", "id": "h2"}]})
    steps = [hotels, call("quote", {"total": 276}, hotel="h1"), call("quote", {"total": 248}, hotel="h2")]
    reply = f"I recommend the Saltbox Inn. It has a sea view, and two nights come to {sum_} yuan in total."
    fields = {"unit": "yuan", "role": ["total"], "equals": bound("total", "quote"), "tolerance": 0}
    assert judge_reply(reply, "number", steps=steps, tools=tools, **fields).passed is passed


@pytest.mark.parametrize(
    ("said", "passed"),
    [
        ("by 15:44", True),
        ("by 15:36", False),
        ("about 15:36", True),
        ("about 15:44", True),
    ],
)
def test_what_is_so_by_a_time_is_not_so_later(said, passed):
    window = {"after": "15:40", "before": "15:40"}
    assert judge_reply(f"You arrive {said}.", "clock_time", role=["arrival"], **window).passed is passed


@pytest.mark.parametrize(
    "reply", ["Science Barn is free of charge.", "Clay Studio is 55 yuan. Then Science Barn, which is free."]
)
def test_words_that_deny_a_price_leave_open_one_that_a_tool_returned(reply):
    assert priced(reply).passed is None


def test_words_that_deny_a_price_hold_where_there_is_none():
    result = {"pois": [{"name": "Science Barn", "price": 0}]}
    assert priced("Science Barn is free of charge.", result, if_absent="fail").passed is True


@pytest.mark.parametrize(("said", "passed"), [("35", True), ("12", None)])
def test_a_count_beside_its_words_is_not_explained_away_by_another_thing(said, passed):
    result = {"pois": [{"name": "Quay Deck", "free": 35}, {"name": "Hill Deck", "free": 12}]}
    fields = {"unit": "count", "near": ["spaces"], "tolerance": 0, "if_absent": "nothing_claimed"}
    reply = f"Take Quay Deck.\n\n- Still {said} spaces left"
    assert judged(reply, "number", result, "pois.*.free", **fields).passed is passed


def test_what_some_hours_come_to_about_is_no_wrong_fee():
    result = {"pois": [{"name": "Quay Deck", "fee": 6}]}
    fields = {"unit": "yuan", "role": ["fee"]}
    reply = "| Car park | Fee |\n|---|---|\n| Quay Deck | 6 yuan an hour, about 18 yuan for the evening |"
    assert judged(reply, "number", result, "pois.*.fee", **fields).passed is True


def test_a_time_at_the_end_of_a_way_may_be_that_of_what_takes_one_there():
    steps = [call("rides", {"options": [{"name": "Access Van"}]}), found_places()]
    fields = {
        "of": ["Access Van"],
        "role": ["arrival"],
        "after": "10:08",
        "before": "10:10",
        "if_absent": "nothing_claimed",
    }
    reply = "Access Van, 36 yuan. Comes in 9 min, at the Old Mill by 10:00."
    assert judge_reply(reply, "clock_time", steps=steps, tools=DECLARED, **fields).passed is None


@pytest.mark.parametrize(("said", "passed"), [("17:00", True), ("18:30", False)])
def test_when_the_user_is_free_does_not_excuse_a_wrong_closing_time(said, passed):
    declared = {"search_poi": tool("search_poi", "pois", "place", hours="hours")}
    steps = [call(result={"pois": [{"name": "Old Mill", "hours": "09:00-17:00"}]})]
    trajectory = dialogue(f"Old Mill closes at {said}.", steps=steps)
    user = Turn(role="user", text="My shift ends at 18:30. Where shall I go?")
    trajectory = trajectory.model_copy(update={"turns": (user, *trajectory.turns[1:])})
    check = check_of(
        "clock_time", role=["closing"], equals=bound("pois.*.hours", "search_poi"), if_absent="nothing_claimed"
    )
    assert evaluate(check, JudgedDialogue(trajectory, declared).knowing([check])).passed is passed


@pytest.mark.parametrize("said", ["21 yuan", "62 yuan"])
def test_the_price_of_a_ride_to_a_place_is_not_one_of_the_place(said):
    asked = {"type": "object", "properties": {"to": {"type": "string"}}}
    listed = {"items": "options", "name": "kind", "sort": "ride", "fields": {"yuan": "price"}}
    spec = {"name": "rides", "description": "Rides.", "parameters": asked, "entities": [listed], "about": ["to"]}
    tools = {"rides": Tool.model_validate(spec), "search_poi": tool("search_poi", "pois", "place")}
    rides = call(
        "rides", {"options": [{"kind": "Express", "yuan": 21}, {"kind": "Premium", "yuan": 62}]}, to="Old Mill"
    )
    steps = [call(result={"pois": [{"name": "Old Mill"}]}), rides]
    fields = {
        "unit": "yuan",
        "role": ["price"],
        "of": ["Express", "Premium"],
        "equals": bound("options.*.yuan", "rides"),
    }
    reply = f"Express will do. For {said} you are at Old Mill in ten minutes."
    assert judge_reply(reply, "number", steps=steps, tools=tools, **fields).passed is not False


def test_a_figure_that_is_known_of_something_else_is_not_absent():
    result = {"pois": [{"name": "Green Fork", "price": 12, "fee": 2.5}, {"name": "Quay Deck", "price": 8, "fee": 2}]}
    for said in ("8 yuan", "12 yuan"):
        fields = {"unit": "yuan", "role": ["fee"], "if_absent": "nothing_claimed"}
        finding = judged(f"The delivery fee is {said}.", "number", result, "pois.*.fee", **fields)
        assert finding.passed is not True


def test_what_the_user_gave_is_no_claim():
    steps = (call("rides", {"options": [{"name": "Access Van"}]}),)
    turns = (
        Turn(role="user", text="I must be there by 17:30."),
        Turn(role="agent", text="The Access Van gets you there before 17:30.", steps=steps),
    )
    check = check_of("clock_time", role=["arrival"], equals=bound("options.*.at", "rides"), if_absent="nothing_claimed")
    finding = evaluate(check, JudgedDialogue(Trajectory(case="c1", turns=turns), DECLARED))
    assert finding.passed is True


def test_a_figure_in_another_role_that_nothing_known_has_may_be_the_one():
    result = {"pois": [{"name": "Beacon", "seats": 10}]}
    fields = {"unit": "count", "role": ["capacity"], "if_absent": "nothing_claimed"}
    assert judged("Beacon has 14 seats.", "number", result, "pois.*.seats", **fields).passed is not True
    assert judged("Beacon is nice.", "number", result, "pois.*.seats", **fields).nothing_claimed is True


def test_a_time_that_a_question_suggests_leaves_it_open_whether_it_is_said():
    fields = {"after": "11:15", "before": "11:15", "quantifier": "any"}
    assert judge_reply("How about 11:15?", "clock_time", **fields).passed is None
    assert judge_reply("Is it open at 11:15?", "clock_time", **fields).passed is False


WAYS = {"pois": [{"name": "二号线", "ride": 11, "walk": 9}, {"name": "夜班车", "ride": 24, "walk": 4}]}


@pytest.mark.parametrize(("ride", "passed"), [(24, True), (11, None)])
def test_a_figure_that_another_thing_has_is_open_whatever_else_fits(ride, passed):
    declared = {"search_poi": tool("search_poi", "pois", "line", ride="duration", walk="duration")}
    equals = [bound("pois.*.ride", "search_poi"), bound("pois.*.walk", "search_poi")]
    fields = {"unit": "min", "role": ["travel_time"], "of": ["二号线", "夜班车"], "if_absent": "nothing_claimed"}
    check = check_of("number", equals=equals, **fields)
    reply = f"- 二号线：赶不上了（步行9分钟）\n- 夜班车：坐这个！走4分钟到站，车上{ride}分钟"
    context = JudgedDialogue(dialogue(reply, steps=[call(result=WAYS)]), declared, language="zh").knowing([check])
    assert evaluate(check, context).passed is passed


@pytest.mark.parametrize(("said", "passed"), [("7:30", None), ("6:30", True)])
def test_a_time_that_only_another_thing_has_may_be_its_opening(said, passed):
    declared = {"search_poi": tool("search_poi", "pois", "place", hours="hours")}
    result = {"pois": [{"name": "晨光药房", "hours": "06:30-20:00"}, {"name": "柳巷药店", "hours": "07:30-20:00"}]}
    check = check_of(
        "clock_time", role=["opening"], equals=bound("pois.*.hours", "search_poi"), if_absent="nothing_claimed"
    )
    trajectory = dialogue(f"去晨光药房，早上{said}就有人。", steps=[call(result=result)])
    assert evaluate(check, JudgedDialogue(trajectory, declared, language="zh").knowing([check])).passed is passed


def test_a_figure_that_a_question_says_in_passing_leaves_it_open():
    declared = {"search_poi": tool("search_poi", "pois", "place", way="duration")}
    fields = {
        "unit": "min",
        "role": ["travel_time"],
        "if_absent": "nothing_claimed",
        "equals": bound("pois.*.way", "search_poi"),
    }
    steps = [call(result={"pois": [{"name": "Quay Deck", "way": 21}]})]
    reply = "Drive to Quay Deck, you'll be there in, what, a quarter of an hour?"
    assert judge_reply(reply, "number", steps=steps, tools=declared, **fields).passed is None


LINES = {
    "lines": [
        {"line": "Green Line", "stop": "Library Underground", "walk": 60},
        {"line": "Green Line", "stop": "Market Square", "walk": 380},
    ]
}


@pytest.mark.parametrize(("walk", "passed"), [(380, True), (60, None)])
def test_a_figure_of_the_end_of_a_line_is_that_of_the_line_that_ends_there(walk, passed):
    entities = [{"items": "lines", "name": "line", "sort": "line", "fields": {"stop": "end", "walk": "distance"}}]
    parameters = {"type": "object", "properties": {"query": {"type": "string"}}}
    declared = Tool.model_validate(
        {"name": "lines", "description": "L.", "parameters": parameters, "entities": entities}
    )
    length = check_of("number", unit="m", role=["travel_distance"], equals=bound("lines.*.walk", "lines"))
    trajectory = dialogue(f"Get off at Market Square; the library is {walk} m away.", steps=[call("lines", LINES)])
    context = JudgedDialogue(trajectory, {"lines": declared}).knowing(
        [check_of("recommends", any_of=["Market Square"]), length]
    )
    assert evaluate(length, context).passed is passed


def test_a_time_at_which_one_is_back_is_no_arrival_at_the_last_thing():
    steps = [found_places()]
    fields = {
        "role": ["arrival"],
        "of": ["Old Mill"],
        "after": "15:30",
        "before": "16:00",
        "if_absent": "nothing_claimed",
    }
    reply = "You reach the Old Mill at 15:52, and after a 19 minute walk you're back where you started at 16:31."
    assert judge_reply(reply, "clock_time", steps=steps, **fields).passed is True


def test_of_two_halves_of_the_day_the_one_that_tools_know_is_meant():
    declared = {"search_poi": tool("search_poi", "pois", "place", slot={"kind": "clock", "role": "arrival"})}
    steps = [call(result={"pois": [{"name": "Quay Clinic", "slot": "08:30"}]})]
    check = check_of("clock_time", equals=bound("pois.*.slot", "search_poi"))
    turns = (Turn(role="user", text="When?"), Turn(role="agent", text="Quay Clinic has 8:30 left.", steps=steps))
    visible = {"query": "When?", "context": {"now": "2026-03-01T11:00:00"}}
    context = JudgedDialogue(Trajectory(case="c1", turns=turns), declared, Visible.model_validate(visible)).knowing(
        [check]
    )
    assert evaluate(check, context).passed is True
