"""The check ``grounded``, and requirements that have no check of their own."""

import pytest
from grounding_sandbox import STEPS, TOOLS, VISIBLE
from pydantic import TypeAdapter

from pytest_mapsat.judges import ChecksJudge, JudgedDialogue, evaluate
from pytest_mapsat.model import Case, Check, Trajectory, Turn


def dialogue(reply, steps=STEPS):
    return Trajectory(
        case="c1", turns=(Turn(role="user", text="Where to?"), Turn(role="agent", text=reply, steps=steps))
    )


def finding(reply, **fields):
    check = TypeAdapter(Check).validate_python({"kind": "grounded", **fields})
    return evaluate(check, JudgedDialogue(dialogue(reply), TOOLS, VISIBLE, language="zh"))


def label(reply, text, *others, **truth):
    case = Case.model_validate(
        {
            "id": "c1",
            "visible": VISIBLE,
            "truth": {"intent": "i", "requirements": [*others, {"id": "f", "kind": "fact", "text": text}], **truth},
        }
    )
    return ChecksJudge(TOOLS).judge(case, dialogue(reply)).labels[-1]


def test_the_check_fails_on_one_wrong_claim_and_quotes_it():
    found = finding("青石寺离这里1480米，电话0571-88001299。")
    assert found.passed is False
    assert [quote.text for quote in found.quotes] == ["0571-88001299"]
    assert "contradicted" in found.why


@pytest.mark.parametrize(
    ("sort", "reply", "words"),
    [
        ("duration", "开车到青石寺55分钟。", "55分钟"),
        ("price", "半亩茶馆（东门店）人均888元。", "888元"),
        ("distance", "青石寺离这里1800米。", "1800米"),
        ("rating", "青石寺评分4.9。", "4.9"),
        ("line", "坐9号线去青石寺。", "9号线"),
    ],
)
def test_a_figure_that_nothing_bears_out_is_left_to_a_person(sort, reply, words):
    found = finding(reply, claims=[sort])
    assert found.passed is None
    assert [quote.text for quote in found.quotes] == [words]


@pytest.mark.parametrize(("sort", "reply"), [("price", "半亩茶馆（东门店）人均68元。"), ("line", "坐2号线去青石寺。")])
def test_a_supported_line_or_price_alone_passes_nothing(sort, reply):
    assert finding(reply, claims=[sort]).passed is None
    assert finding(f"{reply}青石寺评分4.6分。", claims=[sort, "rating"]).passed
    assert label(reply, "All statements agree with what the tools said").outcome != "failed"


def test_the_check_looks_at_its_own_types_only():
    reply = "青石寺电话0571-88001299，评分4.6。半亩茶馆（东门店）电话13900001111。"
    assert finding(reply, claims=["rating"]).passed
    assert finding(reply, claims=["phone"]).passed is False


def test_an_answer_that_claims_nothing_passes():
    found = finding("请问您想什么时候去？", claims=["phone"])
    assert (found.passed, found.nothing_claimed) == (True, True)


@pytest.mark.parametrize(
    ("reply", "text", "outcome", "nothing_claimed"),
    [
        ("青石寺离这里1480米。", "结果中的距离应与工具返回一致", "passed", False),
        ("青石寺离这里1800米。", "结果中的距离应与工具返回一致", "unevaluated", False),
        ("青石寺评分4.9。", "结果中的距离应与工具返回一致", "passed", True),
        ("青石寺评分4.9。", "The stated rating is that of the place", "unevaluated", False),
        ("青石寺电话0571-88001234。", "电话真实", "passed", False),
        ("青石寺电话0571-88001299。", "All statements agree with what the tools said", "failed", False),
        ("好的。", "All statements agree with what the tools said", "passed", True),
    ],
)
def test_a_requirement_without_a_check_is_judged_by_the_claims_it_speaks_of(reply, text, outcome, nothing_claimed):
    found = label(reply, text)
    assert (found.outcome, found.nothing_claimed) == (outcome, nothing_claimed)
    assert found.why


def test_the_truth_of_a_case_is_no_evidence():
    number = "0571-66668888"
    asked = {"id": "e", "kind": "asked", "text": number, "check": {"kind": "says", "any": [number]}}
    assert label(f"青石寺电话{number}。", "电话真实", asked, intent=f"Call {number}").outcome == "failed"


def test_what_an_agent_asked_a_tool_is_no_evidence():
    step = STEPS[0].model_copy(update={"arguments": {"query": "枫林公园"}})
    context = JudgedDialogue(
        dialogue("可以去：\n- 青石寺\n- 半亩茶馆（东门店）\n- 枫林公园", (step,)), TOOLS, VISIBLE, language="zh"
    )
    assert [one.text for one in context.claims if one.verdict != "supported"] == ["枫林公园"]


def test_a_result_counts_from_its_turn_on():
    turns = (
        Turn(role="user", text="Where to?"),
        Turn(role="agent", text="青石寺电话0571-88001234。"),
        Turn(role="user", text="Sure?"),
        Turn(role="agent", text="青石寺电话0571-88001234。", steps=STEPS),
    )
    claims = JudgedDialogue(Trajectory(case="c1", turns=turns), TOOLS, None, language="zh").claims
    assert [one.verdict for one in claims if one.sort == "phone"] == ["unsupported", "supported"]


def test_what_the_user_said_may_be_said_again():
    turns = (
        Turn(role="user", text="我们预算300元，18:30前要到"),
        Turn(role="agent", text="好的，预算300元，18:30前到。"),
    )
    claims = JudgedDialogue(Trajectory(case="c1", turns=turns), {}, None, language="zh").claims
    assert [(one.text, one.verdict) for one in claims] == [("300元", "supported"), ("18:30", "supported")]


def test_an_unclear_claim_leaves_the_check_open_and_is_quoted():
    found = finding("青石寺在东门街7号。", claims=["address"])
    assert found.passed is None
    assert [quote.text for quote in found.quotes] == ["东门街7号"]


def test_a_plan_of_the_agents_own_leaves_nothing_open():
    assert finding("建议14:00出发，15:30回来。青石寺评分4.6分。").passed
