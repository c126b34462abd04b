"""The importer of VitaBench 2.0 against made-up users: the published tasks are not public in git."""

import copy
import json

import pytest
from vita_tasks import HOME, STAYS, STORES, TASKS, Played, order, write

from pytest_mapsat.model import SuiteError, Turn
from pytest_mapsat.ports.vitabench.importer import import_vitabench2
from pytest_mapsat.suite import lint
from pytest_mapsat.users import ScriptedUser

LATTE = order("T1", "delivery", "S1", {"product_id": "P1", "quantity": 1}, location=HOME)
TAXI = order("T1", "taxi", "C1", {"product_id": "X1", "quantity": 1})


def subtask(number, time, required, interactions, *, domain="delivery", **more):
    base = TASKS["travel"]
    return {
        "subtask_id": f"sub {number}",
        "domain": domain,
        "instruction": more.pop("instruction", "Order me a coffee."),
        "environment": {**base["environment"], **STAYS, "stores": STORES, "time": time, "orders": {}},
        "user_scenario": {"user_profile": {"job": "doctor"}, "personalized_preference_memory": more.pop("memory", {})},
        "evaluation_criteria": {"expected_states": [{"required_orders": [required], "state_rubrics": ["It is right."]}], "overall_rubrics": []},
        "interactions": interactions,
        "skill_tested": [],
        **more,
    }  # fmt: skip


DIALOGUE = [
    {"role": "user", "content": "I take oat milk."},
    {"role": "assistant", "content": "Noted."},
    {"role": "tool", "content": "x"},
]
MAY = [
    {
        "date": "2025-05-02",
        "behavior": [{"behavior_type": "order", "content": {"product": "oat latte"}}],
        "dialogue": DIALOGUE,
    }
]
JUNE = [
    {"type": "search", "timestamp": "2025-06-10 09:00:00", "content": "decaf"},
    {"type": "conversation", "timestamp": "2025-06-11 09:00:00", "content": DIALOGUE},
    {"type": "browse", "timestamp": "2025-04-01 09:00:00", "content": "too early"},
    {"type": "browse", "timestamp": "some day", "content": "no date"},
    {"date": "2025-06-12", "behavior": [], "dialogue": []},
]
OLD = {"content": "oat milk", "type": "add", "source": "order"}
NEW = {"content": "decaf", "type": "update", "source": "search"}
USER = {
    "id": "task_1",
    "user_id": "U/1",
    "user_profile": {"job": "doctor"},
    "subtasks": [
        subtask(1, "2025-06-01 10:00:00", LATTE, MAY, memory={"current": {"drinks": ["oat milk", "hot"]}, "preference_tag_change_history": [OLD]}),
        subtask(2, "2025-06-20 10:00:00", LATTE, JUNE, memory={"current": {"drinks": ["decaf"]}, "preference_tag_change_history": [OLD, NEW]}),
        subtask(3, "2025-07-01 08:00:00", TAXI, [], domain="ota", instruction="Get me a taxi.", skill_tested=["proactive"], user_intention="My mother rides along and needs a wheelchair."),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("vita2")


@pytest.fixture(scope="module")
def report(root):
    return import_vitabench2(write(root / "users.json", [USER]), root / "suite")


@pytest.fixture(scope="module")
def played(root, report):
    assert (report.format, report.cases) == ("vitabench2", 3)
    return Played(root / "suite")


def test_a_user_becomes_a_group_of_tasks_in_their_order(played):
    assert {case.id: (case.group.name, case.group.order) for case in played.cases.values()} == {
        "U-1-01": ("U-1", 1),
        "U-1-02": ("U-1", 2),
        "U-1-03": ("U-1", 3),
    }
    assert [case.attributes["source"] for case in played.cases.values()] == ["sub 1", "sub 2", "sub 3"]
    assert [finding for finding in lint(played.suite) if finding.severity in ("error", "warning")] == []


def test_interactions_of_either_form_stand_before_their_task_and_odd_ones_are_told(played, report):
    first, second, third = (case.visible.interactions for case in played.cases.values())
    assert first[0].date == "2025-05-02"
    assert json.loads(first[0].behavior[0].content) == {"product": "oat latte"}
    assert [line.role for line in first[0].dialogue] == ["user", "assistant"]
    assert [(day.date, day.behavior[0].type if day.behavior else "") for day in second] == [
        ("2025-06-10T09:00:00+08:00", "search"),
        ("2025-06-11T09:00:00+08:00", ""),
    ]
    assert third == ()
    assert report.not_carried["interactions"] == 3
    assert played.suite.histories_before(played.cases["U-1-03"]) == (first, second, third)


def test_preferences_and_their_drift_are_truth_and_groups(played):
    first, second, third = played.cases.values()
    assert first.truth.preferences == ("drinks: oat milk", "drinks: hot")
    assert [case.attributes["preference"] for case in (first, second, third)] == ["new", "changed", "kept"]
    assert [case.attributes["task"] for case in (first, second, third)] == ["personalized", "personalized", "proactive"]
    assert first.visible.context.profile == {"job": "doctor"}
    assert "oat" not in json.dumps([first.visible.query, first.visible.context.to_json()])


def test_what_a_proactive_user_hides_is_told_only_to_a_question_about_it(played):
    case = played.cases["U-1-03"]

    def told(words):
        move = ScriptedUser(case.truth.user, language=case.language).reply([Turn(role="agent", text=words)])
        return "wheelchair" in (move.text or "")

    assert told("Does anybody need a wheelchair?")
    assert told("Is your mother coming, too?")
    assert not told("Which taxi would you like?")
    assert not told("Here is your taxi.")
    assert "mother" not in json.dumps(case.visible.to_json())


def test_a_chinese_user_is_asked_in_words_of_what_is_hidden(tmp_path):
    user = copy.deepcopy(USER)
    user["subtasks"] = user["subtasks"][2:]
    user["subtasks"][0] |= {"instruction": "帮我叫辆车", "user_intention": "今天和母亲一起出行，她坐轮椅"}
    import_vitabench2(write(tmp_path / "users.json", [user]), tmp_path / "suite")
    (case,) = Played(tmp_path / "suite").cases.values()
    for words, told in (("请问有人坐轮椅吗？", True), ("请问您要哪种车型？", False)):
        move = ScriptedUser(case.truth.user, language="zh").reply([Turn(role="agent", text=words)])
        assert ("轮椅" in (move.text or "")) is told


def test_the_worlds_of_2_0_have_taxis_and_the_orders_are_compared(played):
    assert len(played.suite.tools) == 7 + 12 + 37
    for case_id in played.cases:
        assert played.orders(case_id, played.oracle(case_id)).outcome == "passed"
        assert {played.orders(case_id, calls).outcome for _, calls in played.altered(case_id)} == {"failed"}
    (info,) = played.play("U-1-03", [{"tool": "get_taxi_info", "arguments": {"taxi_id": "C1"}}])
    assert info.result["products"][0]["product_id"] == "X1"
    assert "target" not in json.dumps(info.result)
    assert "distraction" not in json.dumps(info.result)


def test_a_task_that_cannot_be_read_leaves_no_gap_and_its_interactions_come_before_the_next(tmp_path):
    user = copy.deepcopy(USER)
    user["subtasks"][0] |= {"domain": "delivry", "environment": {"user_id": "U1", "time": "2025-06-01 10:00:00"}}
    del user["subtasks"][2]["instruction"]
    report = import_vitabench2(write(tmp_path / "users.json", [user, USER]), tmp_path / "suite")
    (case,) = Played(tmp_path / "suite").cases.values()
    assert (case.id, case.group.order, len(case.visible.interactions)) == ("U-1-01", 1, 4)
    told = [note.message for note in report.notes if note.kind == "unparsable"]
    assert any("did you mean 'delivery'?" in message for message in told)
    assert any("instruction: is missing" in message for message in told)
    assert any("another user is called U-1" in message for message in told)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([{**USER, "subtasks": []}], "subtasks: "),
        ([{"id": "x", "subtask": []}], "did you mean 'subtask'?"),
        ([TASKS["deliver"]], "subtasks: is missing"),
    ],
)
def test_what_is_no_user_is_refused(tmp_path, data, message):
    with pytest.raises(SuiteError) as refused:
        import_vitabench2(write(tmp_path / "users.json", data), tmp_path / "suite")
    assert message in str(refused.value)
