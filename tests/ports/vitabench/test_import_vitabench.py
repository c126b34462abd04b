"""The importer of VitaBench 1.0 and its worlds against made-up tasks: all kinds of orders, what agents see, and every damage."""

import copy
import json
import re
from importlib.resources import files

import pytest
from vita_tasks import LATTE, NOW, SHOPS, STORES, TASKS, Played, order, task, varied, write
from wrong_values import assert_all_are_answered

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.cli import main
from pytest_mapsat.model import RunRequest, SuiteError
from pytest_mapsat.ports.vitabench.importer import import_vitabench
from pytest_mapsat.runs.runner import Runner
from pytest_mapsat.sandbox import make_sandbox
from pytest_mapsat.suite import lint


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("vita")


@pytest.fixture(scope="module")
def report(root):
    return import_vitabench(write(root / "tasks_en.json", TASKS.values()), root / "suite")


@pytest.fixture(scope="module")
def played(root, report):
    assert report.cases == len(TASKS)
    return Played(root / "suite")


def called(played, case_id, tool, **arguments):
    (step,) = played.play(case_id, [{"tool": tool, "arguments": arguments}])
    return step


def test_the_suite_has_the_worlds_and_tools_of_its_tasks_and_lints(played):
    assert played.suite.manifest.sandbox == {"worlds": ["vita-delivery", "vita-instore", "vita-ota"]}
    assert len(played.suite.tools) == 66  # as the benchmark has in its version 1.0
    assert sum(tool.effect == "write" for tool in played.suite.tools.values()) == 27
    assert [finding for finding in lint(played.suite) if finding.severity in ("error", "warning")] == []


@pytest.mark.parametrize("case_id", ["D-1", "D-2", "I-1", "O-1"])
def test_the_oracle_of_every_kind_of_order_passes_and_each_alteration_fails(played, case_id):
    assert played.orders(case_id, played.oracle(case_id)).outcome == "passed"
    ways = list(played.altered(case_id))
    assert len(ways) > 5
    for way, calls in ways:
        assert played.orders(case_id, calls).outcome == "failed", way


def test_an_order_that_was_there_is_cancelled_noted_or_given_another_content(played, report):
    assert [call["tool"] for call in played.oracle("D-2")] == [
        "cancel_delivery_order",
        "modify_delivery_order",
        "cancel_delivery_order",
        "create_delivery_order",
        "pay_delivery_order",
    ]
    assert any("O3 is the id of an earlier order with other products" in note.message for note in report.notes)
    label = played.orders("D-2", played.oracle("D-2")[2:])
    assert label.outcome == "failed"
    assert "O1" in label.why


def test_what_the_reference_leaves_open_may_be_anything(played):
    calls = played.oracle("D-1")
    calls[-1]["arguments"] |= {"dispatch_time": "2025-06-21 18:00:00", "note": "Ring twice"}
    assert played.orders("D-1", calls).outcome == "passed"
    calls[0]["arguments"]["dispatch_time"] = "2025-06-21 12:01:00"
    label = played.orders("D-1", calls)
    assert label.outcome == "failed"
    assert "2025-06-21 12:01:00" in label.why
    assert played.orders("D-1", [{"tool": "get_user_all_orders", "arguments": {}}]).outcome == "failed"


def test_two_orders_of_one_id_are_two_and_one_that_stands_otherwise_in_a_later_state_is_one(tmp_path):
    bun, scone = {"product_id": "P3", "quantity": 1}, {"product_id": "P2", "quantity": 1}
    first = [order("T1", "delivery", "S2", bun, status="unpaid"), order("T1", "delivery", "S1", scone)]
    data = task("D-3", "delivery", {"stores": STORES}, *first)
    later = {"required_orders": [order("T1", "delivery", "S2", bun, status="delivered"), first[1]]}
    data["evaluation_criteria"]["expected_states"].append(later)
    import_vitabench(write(tmp_path / "tasks.json", [data]), tmp_path / "suite")
    calls = [call["tool"] for call in Played(tmp_path / "suite").oracle("D-3")]
    assert calls == ["create_delivery_order", "pay_delivery_order"] * 2


def test_an_order_that_is_cancelled_again_does_not_count(played):
    calls = played.oracle("I-1")
    wrong = {"user_id": "U1", "shop_id": "I2", "product_id": "V3"}
    slip = [
        {"tool": "create_instore_product_order", "arguments": wrong},
        {"tool": "instore_cancel_order", "arguments": {"order_id": "instore-3"}},
    ]
    assert played.orders("I-1", [*calls, *slip]).outcome == "passed"
    assert played.orders("I-1", [*calls, slip[0]]).outcome == "failed"


def test_ids_come_from_a_counter(played):
    assert [played.play("O-1", played.oracle("O-1"))[2].result["order_id"] for _ in range(2)] == ["hotel-1"] * 2


def test_searches_rank_by_words_and_keep_the_order_of_equals(played):
    names = [
        row["name"] for row in called(played, "D-1", "delivery_product_search_recommand", keywords=["scone"]).result
    ]
    assert names == ["Scone", "Oat latte", "Bun"]
    nothing = called(played, "D-1", "delivery_store_search_recommand", keywords=["zz"]).result
    assert [row["store_id"] for row in nothing] == ["S1", "S2"]
    assert called(played, "O-1", "hotel_search_recommand", city_name="Wexham City").result[0]["hotel_id"] == "H1"
    assert called(played, "O-1", "hotel_search_recommand", city_name="Larkton").result == []
    assert (
        called(
            played, "O-1", "train_ticket_search", departure="larkton", destination="Wexham", date="2025-07-03"
        ).result
        == []
    )
    near = called(played, "D-1", "get_nearby", longitude=10.0, latitude=50.0, range=100).result
    assert [(row["store_id"], row["distance_m"]) for row in near] == [("S1", 71)]


@pytest.mark.parametrize(
    ("case_id", "tool", "arguments", "reason"),
    [
        ("D-1", "create_delivery_order", {"user_id": "U2"}, "the user is not 'U2'"),
        ("D-1", "create_delivery_order", {"store_id": "S9"}, "there is no delivery 'S9'"),
        ("D-1", "create_delivery_order", {"product_ids": ["P3"], "product_cnts": [1]}, "'S1' has no product 'P3'"),
        ("D-1", "create_delivery_order", {"product_cnts": [0, 1]}, "each product needs a count"),
        ("D-1", "create_delivery_order", {"dispatch_time": "2025-06-21 11:00:00"}, "has passed"),
        ("D-1", "create_delivery_order", {"dispatch_time": "noon"}, "expected a time such as"),
        ("D-1", "create_delivery_order", {"dispatch_time": "9999-12-31 23:59:59"}, "expected 1970 to 2999"),
        ("D-1", "pay_delivery_order", {"order_id": "T9"}, "there is no delivery order 'T9'"),
        ("D-2", "pay_delivery_order", {"order_id": "O1"}, "O1 is processed"),
        ("I-1", "instore_book", {"shop_id": "I1"}, "takes no bookings"),
        ("I-1", "instore_reservation", {"shop_id": "I2"}, "takes no reservations"),
        ("O-1", "create_flight_order", {"quantity": 5}, "of E1 1 to 4 can be ordered"),
        ("O-1", "create_flight_order", {"date": "2025-07-09"}, "it is on 2025-07-01"),
        ("O-1", "modify_train_order", {"new_date": "2025-07-09"}, "there is no second on 2025-07-09"),
        ("O-1", "get_holiday_date", {"year": "2025", "holiday_name": "Dragon Boat Festivel"}, "did you mean"),
        (
            "O-1",
            "weather",
            {"address": "Nowhere", "date_start": "2025-06-21", "date_end": "2025-06-22"},
            "is not known",
        ),
    ],
)
def test_a_call_that_cannot_be_done_is_refused_with_the_reason(played, case_id, tool, arguments, reason):
    usual = next((call["arguments"] for call in played.oracle(case_id) if call["tool"] == tool), {})
    step = called(played, case_id, tool, **{**usual, **arguments})
    assert step.status == "refused"
    assert reason in step.result["message"]
    assert step.changed == ()


HUGE = "9" * 200_000


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("longitude_latitude_to_distance", {"longitude1": 1e308, "latitude1": 0, "longitude2": -1e308, "latitude2": 0}),
        ("get_nearby", {"longitude": 0, "latitude": 1e308, "range": 1e308}),
        ("delivery_distance_to_time", {"distance": 1e308}),
        ("delivery_store_search_recommand", {"keywords": [HUGE] * 50}),
        ("address_to_longitude_latitude", {"address": HUGE}),
        ("weather", {"address": HUGE, "date_start": "2025-02-30", "date_end": HUGE}),
        ("get_holiday_date", {"year": HUGE, "holiday_name": HUGE[:50]}),
        ("create_delivery_order", {"dispatch_time": "9999-12-31 23:59:59"}),
        ("create_delivery_order", {"product_ids": ["P1"] * 5_000, "product_cnts": [1] * 5_000}),
        ("create_delivery_order", {"product_cnts": [10**400, 1]}),
        ("create_delivery_order", {"attributes": ["x"] * 5_000}),
        ("modify_delivery_order", {"order_id": HUGE, "note": HUGE}),
    ],
)
def test_hostile_arguments_are_an_answer_and_break_nothing(played, tool, arguments):
    usual = next((call["arguments"] for call in played.oracle("D-1") if call["tool"] == tool), {})
    step = called(played, "D-1", tool, **{**usual, **arguments})
    assert step.status in ("ok", "refused", "error")
    assert len(json.dumps(step.result)) < 500_000


@pytest.mark.parametrize("case_id", ["D-1", "I-1", "O-1"])
def test_no_value_that_an_agent_gives_breaks_a_world(played, case_id):
    usual = {call["tool"]: dict(call["arguments"]) for call in played.oracle(case_id)}
    assert_all_are_answered(lambda: make_sandbox(played.cases[case_id], played.suite), usual)


def test_tools_of_all_worlds_tell_of_weather_holidays_and_the_user(played):
    days = called(played, "D-1", "weather", address="Larkton", date_start="2025-06-20", date_end="2025-6-30").result[
        "days"
    ]
    assert [day["category"] for day in days] == ["rainy"]
    assert called(played, "D-1", "get_holiday_date", year="2025", holiday_name="端午").result["date"] == "2025-05-31"
    assert called(played, "D-1", "get_date_holiday_info", date="2025-10-06").result["holidays"][0][0] == "中秋节"
    assert called(played, "D-1", "get_user_historical_behaviors").result == {"usual drink": "oat latte"}
    assert (
        called(played, "D-1", "address_to_longitude_latitude", address="7 quay road larkton").result["longitude"]
        == 10.0
    )


def test_no_label_of_the_source_reaches_an_agent(played):
    """Everything that is handed over: what is visible, and what every tool that reads returns."""
    reads = {
        "D-1": [("get_delivery_store_info", {"store_id": shop}) for shop in STORES]
        + [("get_delivery_product_info", {"product_id": "P1"}), ("delivery_store_search_recommand", {"keywords": ["tea"]}), ("delivery_product_search_recommand", {"keywords": ["tea"]})],
        "I-1": [("instore_shop_search_recommend", {"keywords": ["pool"]}), ("instore_product_search_recommend", {"keywords": ["pool"]})],
        "O-1": [("get_ota_hotel_info", {"hotel_id": "H1"}), ("get_ota_attraction_info", {"attraction_id": "A1"}), ("get_ota_flight_info", {"flight_id": "F1"}), ("get_ota_train_info", {"train_id": "T1"}), ("hotel_search_recommand", {"city_name": "Wexham"}), ("attractions_search_recommend", {"city_name": "Wexham", "key_words": ["tower"]}), ("flight_search_recommend", {"departure": "Larkton", "destination": "Wexham"}), ("train_ticket_search", {"departure": "Larkton", "destination": "Wexham", "date": "2025-07-01"})],
    }  # fmt: skip
    for case_id, calls in reads.items():
        common = [("get_nearby", {"longitude": 10, "latitude": 50, "range": 1e8}), ("get_user_all_orders", {})]
        steps = [called(played, case_id, tool, **arguments) for tool, arguments in [*calls, *common]]
        steps += played.play(case_id, played.oracle(case_id))
        assert {step.status for step in steps} == {"ok"}
        case = played.cases[case_id]
        handed = json.dumps([case.visible.to_json(), case.world.to_json(), *(step.to_json() for step in steps)])
        assert not [
            label for label in ("SECRET-LABEL", "target", "distract", "_reason", "product_type") if label in handed
        ]


def test_labels_of_distractors_and_odd_references_are_told(report):
    kinds = {(note.kind, note.place.split("(")[1].rstrip(")")) for note in report.notes}
    assert {("distraction", "I-1"), ("split", "I-1"), ("unpaid", "D-1"), ("reference", "D-2")} <= kinds


@pytest.mark.parametrize(
    ("required", "problem"),
    [
        ({"store_id": "S9"}, "there is no delivery 'S9'"),
        ({"products": [{"product_id": "P9"}]}, "has no product 'P9'"),
        ({"products": []}, "order T1 has no products"),
        ({"products": [order("T7", "delivery", "S1")]}, "order T7 stands inside order T1"),
        ({"order_type": "boat"}, "is of the kind 'boat'"),
        ({"order_type": "hotel"}, "which is not of the task's domain delivery"),
        ({"dispatch_time": "soon"}, "expected a time such as"),
        ({"products": [{"product_id": "P1", "quantity": 0}]}, "each product needs a count"),
    ],
)
def test_required_orders_that_cannot_be_placed_are_told_and_leave_the_task(tmp_path, required, problem):
    report = import_vitabench(write(tmp_path / "tasks.json", [varied("deliver", **required)]), tmp_path / "suite")
    (note,) = [note for note in report.notes if note.kind == "unplaceable"]
    assert problem in note.message
    suite = Played(tmp_path / "suite").suite
    (case,) = Played(tmp_path / "suite").cases.values()
    assert case.attributes["orders"] == "unplaceable"
    assert "orders" not in {requirement.id for requirement in case.truth.requirements}
    request = RunRequest(agent="baseline:oracle", user="scripted", judge="checks")
    card = Runner(resolve_source("baseline:oracle", root=tmp_path), request, tmp_path).run(suite, case)
    assert (card.metrics["vita_orders"], card.classes["vita_orders"]) == (None, "not_applicable")
    assert card.blame == "judge", "rubrics want a model; nothing broke"


@pytest.mark.parametrize(
    ("attributes", "kept", "marked"),
    [
        ("Hot", ["p1: hot"], False),
        ("hot", ["p1: hot"], False),
        ("Lukewarm", None, True),
        (["Hot", "Lukewarm"], None, True),
        ({"milk": "oat"}, None, True),
        ("", None, False),
    ],
)
def test_a_choice_that_the_shop_does_not_list_is_told_and_marks_the_case(tmp_path, attributes, kept, marked):
    data = varied("deliver", products=[{**LATTE, "attributes": attributes}])
    report = import_vitabench(write(tmp_path / "tasks.json", [data]), tmp_path / "suite")
    played = Played(tmp_path / "suite")
    (case,) = played.cases.values()
    (check,) = (requirement.check for requirement in case.truth.requirements if requirement.id == "orders")
    assert check.arguments["placed"][0].get("choices") == kept
    assert case.attributes.get("choices") == ("unlisted" if marked else None)
    told = [note.message for note in report.notes if note.kind == "choice"]
    assert len(told) == marked
    assert all("of P1, which the shop does not list: any choice passes" in message for message in told)
    calls = played.oracle("D-1")
    assert played.orders("D-1", calls).outcome == "passed"
    created = next(call for call in calls if call["tool"] == "create_delivery_order")
    created["arguments"]["attributes"] = ["Iced"]
    assert played.orders("D-1", calls).outcome == ("failed" if kept else "passed")


@pytest.mark.parametrize(
    ("rubric", "marked"),
    [
        ("It arrives around 12:00.", True),
        ("It arrives before 6 pm.", True),
        ("It arrives by noon tomorrow.", True),
        ("It arrives on 2025-06-22.", True),
        ("送达时间应在十二点左右", True),
        ("It goes to Flat 2.", False),
    ],
)
def test_a_time_that_a_rubric_names_and_the_order_lacks_is_told_and_marks_the_case(tmp_path, rubric, marked):
    for given in ("", "2025-06-21 12:00:00"):
        data = varied("deliver", dispatch_time=given)
        data["evaluation_criteria"]["expected_states"][0]["required_orders"] = data["evaluation_criteria"][
            "expected_states"
        ][0]["required_orders"][:1]
        data["evaluation_criteria"]["overall_rubrics"] = [rubric]
        folder = tmp_path / ("given" if given else "open")
        report = import_vitabench(write(folder / "tasks.json", [data]), folder / "suite")
        (case,) = Played(folder / "suite").cases.values()
        is_open = marked and not given
        assert case.attributes.get("time") == ("open" if is_open else None)
        told = [note.message for note in report.notes if note.kind == "time"]
        assert told == (["order T1 has no time, and a rubric names one: any time passes"] if is_open else [])


@pytest.mark.parametrize("blank", ["\u00a0", "\u202f", "\u3000", "  "])
def test_any_blank_in_a_date_is_a_space(tmp_path, blank):
    data = varied("deliver", dispatch_time=f"2025-06-21{blank}12:00:00")
    data["environment"]["time"] = f"{blank}2025-06-21{blank}11:20:00"
    data["environment"]["weather"][0]["datetime"] = f"2025-06-21{blank}"
    report = import_vitabench(write(tmp_path / "tasks.json", [data]), tmp_path / "suite")
    assert report.cases == 1
    played = Played(tmp_path / "suite")
    assert played.orders("D-1", played.oracle("D-1")).outcome == "passed"
    assert played.cases["D-1"].visible.context.now.startswith("2025-06-21T11:20:00")


def broken(**changes):
    changed = copy.deepcopy(TASKS["deliver"])
    for name, value in changes.items():
        if value is None:
            del changed[name]
        else:
            changed[name] = value
    return changed


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (broken(id=None, idd="D-1"), "there is no id; did you mean 'idd'?"),
        (broken(environment=None, enviroment={}), "there is no environment; did you mean 'enviroment'?"),
        (broken(domain="delivry", environment={"user_id": "U1", "time": NOW}), "domain: found 'delivry' did you mean 'delivery'?"),
        (broken(instructions=""), "instructions: "),
        (broken(environment={"user_id": "U1", "time": "today"}), "environment.time: "),
        (broken(environment={"user_id": "U1", "time": NOW, "stores": ["S1"]}), "environment.stores"),
        (broken(environment={"user_id": "U1", "time": NOW, "shops": {"I1": {"products": [{"price": 3}]}}}), "product_id"),
        (broken(environment={"user_id": "U1", "time": NOW, "location": [{"address": "x", "longitude": 999, "latitude": 1}]}), "environment.location[0].longitude"),
        (broken(id="../../etc/passwd"), "id"),
        ("a text", "found 'a text'"),
    ],
)  # fmt: skip
def test_a_malformed_task_is_told_with_its_line_and_left_out(tmp_path, data, message):
    report = import_vitabench(
        write(tmp_path / "domains" / "x" / "tasks.json", [data, TASKS["visit"]]), tmp_path / "suite"
    )
    assert report.cases == 1
    assert report.not_carried["tasks"] == 1
    (note,) = [note for note in report.notes if note.kind == "unparsable"]
    assert message in note.message
    assert note.place == "x/tasks.json:2"


JUNK = (None, "", 0, -1, [], {}, "x", True, [[]], {"a": {"b": 1}}, 1e308, "9" * 50, ["x"], [1])


def places_in(value, place=()):
    """Every place of a task, by keys and positions."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield (*place, key)
        yield from places_in(member, (*place, key))


def test_junk_anywhere_in_a_task_is_carried_over_or_told_and_breaks_nothing(tmp_path):
    spoilt = []
    everywhere = [(name, place) for name, data in TASKS.items() for place in places_in(data)]
    for number, (name, place) in enumerate(everywhere[::5]):
        data = {**copy.deepcopy(TASKS[name]), "id": f"J-{number}"}
        holder = data
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = JUNK[number % len(JUNK)]
        spoilt.append(data)
    report = import_vitabench(write(tmp_path / "tasks.json", spoilt), tmp_path / "suite")
    left_out = [note for note in report.notes if note.kind == "unparsable"]
    assert report.cases + len(left_out) == len(spoilt) > 100
    assert all(note.message and note.place.endswith(tuple("0123456789")) for note in left_out)
    assert report.cases > 50
    assert [finding for finding in lint(Played(tmp_path / "suite").suite) if finding.severity == "error"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested more than 64 deep"),
        ('[{"id": 1,]', "is not valid JSON"),
        ("[]", "holds no task"),
        ('"tasks"', "expected a list of tasks"),
        ("\xff", "is not UTF-8"),
        ('[{"id": "D-1"}]', "environment: is missing"),
    ],
)
def test_a_file_that_is_no_list_of_tasks_is_refused(tmp_path, text, message):
    (tmp_path / "tasks.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(SuiteError) as refused:
        import_vitabench(tmp_path / "tasks.json", tmp_path / "suite")
    assert message in str(refused.value)
    assert not (tmp_path / "suite").exists()


def test_links_out_of_the_source_are_not_followed(tmp_path):
    write(tmp_path / "elsewhere" / "tasks.json", [TASKS["visit"]])
    write(tmp_path / "src" / "delivery" / "tasks.json", [TASKS["deliver"]])
    (tmp_path / "src" / "instore").symlink_to(tmp_path / "elsewhere")
    assert import_vitabench(tmp_path / "src", tmp_path / "suite").cases == 1
    with pytest.raises(SuiteError, match="holds no tasks"):
        import_vitabench(tmp_path / "suite" / "tools", tmp_path / "none")


def test_tasks_of_two_languages_keep_their_ids_apart_and_a_second_one_is_left_out(tmp_path):
    english = {**TASKS["deliver"], "instructions": "Order me a latte, as they make it at 铜壶."}
    chinese = {**TASKS["deliver"], "instructions": "帮我点一杯latte拿铁"}
    path = write(tmp_path / "tasks.json", [chinese, english, english])
    report = import_vitabench(path, tmp_path / "suite")
    assert sorted(Played(tmp_path / "suite").cases) == ["D-1", "D-1-en"]
    assert any("another task has the id D-1" in note.message for note in report.notes)


def test_a_domain_of_another_name_is_taken_from_what_the_environment_sells(tmp_path):
    data = {**TASKS["travel"], "domain": "cross_domain"}
    report = import_vitabench(
        write(tmp_path / "tasks.json", [data, {**TASKS["visit"], "domain": "到店"}]), tmp_path / "suite"
    )
    (note,) = [note for note in report.notes if note.kind == "domain"]
    assert "found 'cross_domain'; taken from what the environment sells: delivery, ota" in note.message
    cases = Played(tmp_path / "suite").cases
    assert [cases[name].domains for name in ("O-1", "I-1")] == [("delivery", "ota"), ("instore",)]
    assert all(case.truth.oracle for case in cases.values())


def test_a_suite_that_names_a_world_that_is_not_there_says_so(tmp_path, root, report, capsys):
    write(tmp_path / "tasks.json", [TASKS["visit"]])
    import_vitabench(tmp_path / "tasks.json", tmp_path / "suite")
    manifest = tmp_path / "suite" / "suite.yaml"
    manifest.write_text(manifest.read_text().replace("vita-instore", "vita-instor"))
    assert main(["lint", str(tmp_path / "suite")]) != 0
    assert "there is no world 'vita-instor' (did you mean 'vita-instore'?)" in capsys.readouterr().err


def test_the_command_tells_what_came_over(tmp_path, capsys):
    write(tmp_path / "tasks.json", [TASKS["visit"], task("N-1", "instore", {"shops": SHOPS})])
    assert main(["import", "vitabench", str(tmp_path / "tasks.json"), str(tmp_path / "suite")]) == 0
    told = capsys.readouterr().out
    assert "2 cases, 24 tools" in told
    assert "the task requires no orders" in told


def test_the_task_that_the_readme_shows_comes_over_whole(tmp_path):
    page = files("pytest_mapsat.ports.vitabench").joinpath("README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "tasks.json").write_text(shown, encoding="utf-8")
    report = import_vitabench(tmp_path / "tasks.json", tmp_path / "suite")
    assert (report.cases, report.not_carried, report.notes) == (1, {}, ())
    played = Played(tmp_path / "suite")
    assert played.orders("tea-1", played.oracle("tea-1")).outcome == "passed"
    assert played.orders("tea-1", []).outcome == "failed"


def test_a_key_of_an_environment_that_is_unknown_is_counted_and_told(tmp_path):
    odd = task("D-9", "delivery", {"stores": STORES, "shop": {"I1": SHOPS["I1"]}, "planes": {}})
    report = import_vitabench(write(tmp_path / "tasks_en.json", [odd]), tmp_path / "suite")
    assert report.not_carried == {"fields of environments": 1}
    (note,) = [note for note in report.notes if note.kind == "environment"]
    assert note.message == "environment: shop is unknown and left out; did you mean 'shops'?"
