"""What must not pass for want of reading, and what must not fail: each in English and in Chinese, as a case is judged."""

import pytest

from pytest_mapsat.judges import JudgedDialogue, make_judge
from pytest_mapsat.model import Case, Step, Tool, Trajectory, Turn
from pytest_mapsat.reading import Vocabulary


def tool(name, **declared):
    return Tool(name=name, description="Tells.", parameters={"type": "object", "properties": {}}, **declared)


SHOPS = [{"items": "shops", "name": "name", "id": "id", "fields": {"rating": "rating", "least": "price"}}]
TOOLS = {
    one.name: one
    for one in (
        tool("find_shops", entities=SHOPS),
        tool(
            "order",
            fields={
                "total": {"kind": "price", "role": "total"},
                "shop": "name",
                "days": {"kind": "duration", "unit": "d"},
            },
        ),
        tool("lines", fields={"rides.*.line": "line"}),
    )
}


def returned(name, result):
    return Step(kind="call", tool=name, arguments={}, result=result, status="ok")


def shops(*names):
    listed = [{"name": name, "id": name, "rating": 4.7, "least": 20 + 20 * at} for at, name in enumerate(names)]
    return returned("find_shops", {"shops": listed})


def outcome(reply, check, *steps, query="", kind="fact"):
    """The outcome of the one requirement of a case."""
    chinese = not reply.isascii() and "€" not in reply
    asked = query or ("帮我看看。" if chinese else "Please help me.")
    requirement = {"id": "it", "kind": kind, "text": "It is so", "check": check}
    case = Case.model_validate(
        {
            "id": "c1",
            "language": "zh" if chinese else "en",
            "visible": {"query": asked},
            "truth": {"requirements": [requirement]},
        }
    )
    turns = (Turn(role="user", text=asked), Turn(role="agent", text=reply, steps=steps))
    judge = make_judge("checks", TOOLS, root=None, vocabulary=Vocabulary(currency="EUR" if "€" in reply else "CNY"))
    return judge.judge(case, Trajectory(case="c1", turns=turns)).labels[0].outcome


def figure(tool="order", path="total", unit="money", **fields):
    bound = {"op": "bound", "tool": tool, "path": path}
    return {"kind": "number", "unit": unit, "equals": bound, "if_absent": "nothing_claimed", **fields}


@pytest.mark.parametrize("role", [{}, {"role": "total"}, {"role": "price"}, {"role": "fee"}])
@pytest.mark.parametrize(
    ("query", "reply"),
    [
        ("点一份鱼香肉丝饭，预算40元。", "已下单鱼香肉丝饭，一共{}元。"),
        ("点一份鱼香肉丝饭，40元以内。", "已下单鱼香肉丝饭，一共{}元。"),
        ("Order the rice, under 40 yuan.", "The rice is ordered, {} yuan in all."),
    ],
)
def test_no_other_total_than_the_right_one_passes_beside_a_budget(query, reply, role):
    order = returned("order", {"total": 32})
    for total in (26, 27, 30, 31, 33, 36, 38, 40):
        assert outcome(reply.format(total), figure(**role), order, query=query) != "passed", total
    assert outcome(reply.format(32), figure(role="total"), order, query=query) == "passed"


@pytest.mark.parametrize("fields", [{}, {"role": "fee"}, {"role": "price"}, {"near": ["delivery", "外送"]}])
@pytest.mark.parametrize("reply", ["The ticket costs €60.", "That is €60 in all.", "车票要60元。", "一共60元。"])
def test_a_price_that_nothing_known_has_is_a_claim(reply, fields):
    assert outcome(reply, figure(**fields), returned("order", {"total": 70})) != "passed"


@pytest.mark.parametrize("fields", [{}, {"role": "wait"}, {"role": "frequency"}, {"near": ["refund", "退款"]}])
@pytest.mark.parametrize(
    "reply",
    [
        "Your money is back within 24 hours.",
        "The refund arrives within 24 hours.",
        "退款24小时内到账。",
        "24小时之内就退回来。",
    ],
)
def test_a_length_of_time_that_nothing_known_has_is_a_claim(reply, fields):
    days = figure(path="days", unit="d", **fields)
    assert outcome(reply, days, returned("order", {"days": 5})) != "passed"


@pytest.mark.parametrize(
    "reply",
    [
        "推荐{good}和老王砂锅。",
        "推荐{good}、老王砂锅。",
        "推荐这两家：\n- {good}\n- 老王砂锅",
        "推荐：\n\n|店名|评分|\n|--|--|\n|{good}|4.7|\n|老王砂锅|4.8|",
        "I recommend {good} and Old Joe's Kitchen.",
        "I recommend Old Joe's Kitchen or {good}.",
        "Go to one of these:\n- {good}\n- Old Joe's Kitchen",
    ],
)
@pytest.mark.parametrize(
    "check",
    [
        {"kind": "recommends", "only": True, "where": {"rating": {"op": "between", "min": 4.5}}},
        {"kind": "recommends", "none_of": ["Harbour Grill", "黑店"]},
        {"kind": "grounded", "claims": ["name"]},
    ],
)
def test_a_name_that_no_tool_returned_beside_a_right_one_leaves_it_open(reply, check):
    good = "Cafe Luna" if reply.isascii() else "通宵粥铺"
    assert outcome(reply.format(good=good), check, shops(good)) == "unevaluated"


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        ("I recommend Cafe Luna and Old Mill, near the Market.", ["Cafe Luna", "Old Mill"]),
        ("推荐通宵粥铺和老王砂锅，都不错。", ["通宵粥铺", "老王砂锅"]),
        ("推荐通宵粥铺、它的小菜很好。", ["通宵粥铺"]),
    ],
)
def test_known_names_and_words_that_are_no_names_leave_nothing_open(reply, names):
    rated = {"kind": "recommends", "only": True, "where": {"rating": {"op": "between", "min": 4.5}}}
    assert outcome(reply, rated, shops(*names), kind="asked") == "passed"


@pytest.mark.parametrize(
    ("shop", "reply"), [("麦香面馆", "推荐麦香面馆，一共32元。"), ("Cafe Luna", "I recommend Cafe Luna.")]
)
def test_a_field_that_holds_a_name_makes_a_thing_whichever_tool_returned_it(shop, reply):
    order = returned("order", {"total": 32, "shop": shop})
    named = {"kind": "recommends", "only": True, "any_of": [shop]}
    assert outcome(reply, named, order) == "passed"
    assert outcome(reply, {**named, "tool": "find_shops"}, order) == "passed"
    rated = {**named, "tool": "find_shops", "where": {"rating": {"op": "between", "min": 4.5}}}
    assert outcome(reply, rated, order) == "unevaluated"


@pytest.mark.parametrize(
    ("phrase", "reply", "denied"),
    [
        (
            "closed tunnel",
            "The tunnel cannot be used today, so allow 20 minutes.",
            "There is no closed tunnel, so take the tunnel.",
        ),
        ("隧道封闭", "隧道今天过不去，请走大桥，要20分钟。", "没有隧道封闭，请走隧道。"),
    ],
)
def test_a_fact_is_not_kept_for_its_words_being_absent(phrase, reply, denied):
    check = {"kind": "says", "none": [phrase]}
    assert outcome(reply, check) == "unevaluated"
    assert outcome(denied, check) == "passed"
    assert outcome(reply, check, kind="asked") == "passed"


@pytest.mark.parametrize(
    ("known", "reply", "right"),
    [
        ("16路", "坐6号线。", "坐16路。"),
        ("16路", "坐16号线。", "坐16路。"),
        ("3路公交", "坐地铁3号线。", "坐3路公交。"),
        ("Bus 16", "Take Line 6.", "Take bus 16."),
        ("Bus 16", "Take Line 16.", "Take bus 16."),
    ],
)
def test_a_line_is_not_borne_out_by_another_one(known, reply, right):
    rides = returned("lines", {"rides": [{"line": known}]})
    verdicts = []
    for text in (reply, right):
        turns = (Turn(role="user", text="How do I get there?"), Turn(role="agent", text=text, steps=(rides,)))
        context = JudgedDialogue(Trajectory(case="c1", turns=turns), TOOLS, language="en" if text.isascii() else "zh")
        verdicts.append([claim.verdict for claim in context.claims if claim.sort == "line"])
        # A line that the evidence has passes no fact by itself.
        assert outcome(text, {"kind": "grounded", "claims": ["line"]}, rides) == "unevaluated"
    assert verdicts == [["undecided"], ["supported"]]


@pytest.mark.parametrize(
    ("shop", "reply"),
    [
        ("麦香面馆", "麦香面馆20元起送，要不要再加点别的？"),
        ("Cafe Luna", "Cafe Luna delivers from 20 yuan, would you like to add something?"),
    ],
)
def test_a_question_mark_asks_only_what_stands_behind_the_last_comma(shop, reply):
    least = figure("find_shops", "shops.*.least", quantifier="any", if_absent="fail")
    assert outcome(reply, least, shops(shop), kind="asked") == "passed"


@pytest.mark.parametrize(
    "reply", ["再加28元就免配送费了。", "配送费4元，再加28元就免配送费了。", "Add 28 yuan more and delivery is free."]
)
def test_what_is_missing_to_a_free_delivery_is_no_fee(reply):
    fee = figure("order", "total", role="fee")
    assert outcome(reply, fee, returned("order", {"total": 4})) != "failed"


@pytest.mark.parametrize("reply", ["抱歉，这个已经改不了了。", "Sorry, that cannot be changed any more."])
def test_a_refusal_that_names_nothing_is_open(reply):
    assert outcome(reply, {"kind": "recommends", "turned_down": ["Q5"]}, kind="asked") == "unevaluated"


@pytest.mark.parametrize(
    ("names", "reply"),
    [
        (["Alpha Hall", "Beta Hall", "Gamma Hall"], "Beta Hall is not the cheapest; 60 yuan is the price of the last."),
        (["甲厅", "乙厅", "丙厅"], "乙厅不是最便宜的，最后一家60元。"),
    ],
)
def test_one_of_the_values_that_would_do_is_no_misfit(names, reply):
    least = figure("find_shops", "shops.*.least", quantifier="any", if_absent="fail")
    assert outcome(reply, least, shops(*names), kind="asked") != "failed"


@pytest.mark.parametrize(
    ("good", "other", "reply"),
    [("Cafe Luna", "Old Mill", "I recommend Old Mill."), ("通宵粥铺", "麦香面馆", "推荐麦香面馆。")],
)
def test_an_absent_choice_fails_only_a_reply_that_proposes_nothing(good, other, reply):
    covers = {"kind": "recommends", "all_of": [[good]]}
    assert outcome(reply, covers, shops(good, other), kind="asked") == "unevaluated"
    assert outcome("Hello!" if good.isascii() else "您好！", covers, shops(good, other), kind="asked") == "failed"
