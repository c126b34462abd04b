"""The metric set ``mobility``: each equation of MobilityBench (3.2) on cases that can be worked out by hand."""

from pathlib import Path

import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st
from metric_builders import call, label, make_trajectory, make_verdict

from pytest_mapsat.formats import parse_yaml
from pytest_mapsat.metrics import score, summarise
from pytest_mapsat.model import (
    Bound,
    Case,
    Equal,
    ExpectedTool,
    Fault,
    OneOf,
    Provenance,
    Requirement,
    Tool,
    Truth,
    Usage,
    Visible,
    WithinM,
)
from pytest_mapsat.ports.mobilitybench import MOBILITY

ASKS = {
    "type": "object",
    "properties": {
        "intent": {"type": "string"},
        "constraints": {"type": "object"},
        "plan": {"type": "array"},
    },
}
PLACE = Tool(
    name="find",
    description="find a place",
    aliases=("search",),
    parameters={
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "city": {"type": "string"},
            "most": {"type": "integer", "minimum": 1, "default": 5},
        },
    },
)
ROUTE = Tool(
    name="route",
    description="find a route",
    parameters={
        "type": "object",
        "required": ["to"],
        "properties": {"to": {"type": "string"}, "mode": {"enum": ["car", "foot"]}, "avoid": {"type": "array"}},
    },
    match={"to": {"type": "point"}},
)
TOOLS = {"find": PLACE, "route": ROUTE}
TO_MILL = {"to": WithinM(op="within_m", lon=10, lat=50, metres=111)}


def is_(value):
    return Equal(op="equal", value=value)


#: To the mill by way of the inn: both are looked up, then the way.
STEPS = (
    ExpectedTool(name="find", id="inn", match={"name": is_("Inn")}),
    ExpectedTool(name="find", id="mill", match={"name": is_("Mill")}),
    ExpectedTool(name="route", after=("mill",), match=TO_MILL),
)
INN, MILL, BARN = call("find", name="Inn"), call("find", name="mill "), call("find", name="Barn")
WAY = call("route", to="10.0004,50.0001")


def case_of(*, tools=(), output=None, asks=ASKS, requirements=("deliver",), more=(), **truth):
    explicit = tuple(Requirement(kind="asked", id=requirement, text="a wish") for requirement in requirements)
    truth = Truth(requirements=(*explicit, *more), tools=tools, output=output or {}, **truth)
    return Case(id="c1", visible=Visible(query="To the mill!", output_schema=asks), truth=truth)


def card_of(case, *calls, output=None, labels=None, **fields):
    trajectory = make_trajectory(*calls, **fields)
    turns = [turn.model_copy(update={"output": output} if turn.role == "agent" else {}) for turn in trajectory.turns]
    return score(
        case,
        trajectory.model_copy(update={"turns": tuple(turns)}),
        make_verdict(labels if labels is not None else [label("e", 1).model_copy(update={"requirement": "deliver"})]),
        asserted=frozenset(),
        tools=TOOLS,
        metric_sets=(MOBILITY,),
    )


def found(card, *names):
    """Return values of metrics, or the class of one that has none."""
    values = [card.metrics[f"mobility_{name}"] for name in names]
    values = [card.classes[f"mobility_{name}"] if one is None else one for one, name in zip(values, names, strict=True)]
    return values[0] if len(names) == 1 else tuple(values)


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ({"intent": "Route-Constrained Planning"}, 1),
        ({"intent": "ｒoute-constrained  planning"}, 1),
        ({"intent": ["Route-Constrained Planning"]}, 1),
        ({"intent": "route_constrained_planning"}, 1),
        ({"intent": "Point-to-Point Planning"}, 0),
        ({"intent": ["Route-Constrained Planning", "Point-to-Point Planning"]}, 0),
        ({"intent": ""}, 0),
        ({"intent": None}, 0),
        ({"intent": {"label": "Route-Constrained Planning"}}, 0),
        ({}, 0),
        (None, 0),
    ],
)
def test_the_intent_is_the_right_one_in_any_spelling(output, value):
    assert found(card_of(case_of(output={"intent": "Route-Constrained Planning"}), output=output), "id") == value


def test_intent_and_constraints_are_measured_where_asked_for_and_known():
    unknown = card_of(case_of(), output={"intent": "x", "constraints": {}})
    assert found(unknown, "id", "ie") == ("not_applicable", "not_applicable")
    unasked = case_of(output={"intent": "x", "constraints": {"city": "y"}}, asks={})
    assert found(card_of(unasked), "id", "ie") == ("not_applicable", "not_applicable")
    assert found(card_of(unasked, output={"intent": "x", "constraints": {"city": "z"}}), "id", "ie") == (1, 0)


@pytest.mark.parametrize(
    ("gold", "given", "value"),
    [
        ({"city": "Ulm", "minutes": 5}, {"minutes": "5", "city": "ulm"}, 1),
        ({"city": "Ulm"}, {"city": "Ulm", "mode": None, "avoid": [], "day": ""}, 1),
        ({"city": "Ulm"}, {"city": ["Ulm"]}, 1),
        ({"near": "10,50", "arrive_by": "09:00"}, {"near": [10.0, 50.0], "arrive_by": "9:00"}, 1),
        ({"near": "10,50"}, {"near": "10.01,50"}, 0),
        ({"minutes": 3.5}, {"minutes": 35}, 0),
        ({"avoid": ["Line 1", "Line 2"]}, {"avoid": ["line2", "line 1"]}, 1),
        ({"waypoints": ["Inn", "Mill"]}, {"waypoints": ["Inn", "Mill"]}, 1),
        ({"waypoints": ["Inn", "Mill"]}, {"waypoints": ["Mill", "Inn"]}, 0),
        ({"avoid": ["Line 1", "Line 2"]}, {"avoid": ["Line 1"]}, 0),
        ({"avoid": ["Line 1"]}, {"avoid": ["Line 1", "Line 2"]}, 0),
        ({"city": "Ulm"}, {"city": "Ulm", "mode": "car"}, 0),
        ({"city": "Ulm", "mode": "car"}, {"city": "Ulm"}, 0),
        ({"city": "Ulm"}, {"town": "Ulm"}, 0),
        ({"avoid": ["Line 1"]}, {"avoid": ["Line 1"] * 100_000}, 0),
        ({"city": "Ulm"}, "city: Ulm", 0),
        ({"city": "Ulm"}, None, 0),
        ({}, {}, 1),
        ({}, {"mode": ""}, 1),
        ({}, {"mode": "car"}, 0),
        ({}, None, 0),
    ],
)
def test_the_constraints_are_the_right_ones_and_no_others(gold, given, value):
    output = {} if given is None else {"constraints": given}
    assert found(card_of(case_of(output={"constraints": gold}), output=output), "ie") == value


def test_the_last_reply_that_claims_something_counts():
    case = case_of(output={"intent": "route"})
    trajectory = make_trajectory(replies=("one", "two", "three"))
    given = iter([{"intent": "search"}, {"intent": "route"}, {"plan": []}])
    turns = [
        turn.model_copy(update={"output": next(given)}) if turn.role == "agent" else turn for turn in trajectory.turns
    ]
    judged = make_verdict([])
    card = score(
        case,
        trajectory.model_copy(update={"turns": tuple(turns)}),
        judged,
        asserted=frozenset(),
        metric_sets=(MOBILITY,),
    )
    assert card.metrics["mobility_id"] == 1


@pytest.mark.parametrize(
    ("calls", "precision", "recall"),
    [
        ((INN, MILL, WAY), 1, 1),
        ((WAY, MILL, INN), 1, 1),
        ((INN, INN, BARN, WAY), 2 / 3, 3 / 4),
        ((MILL, MILL, MILL), 1 / 3, 1),
        ((BARN, call("nothing", name="Inn")), 0, 0),
        ((call("route", to="10.01,50"),), 0, 0),
        ((call("find"),), 0, 0),
        ((), 0, "not_applicable"),
    ],
)
def test_decomposition_divides_by_the_expected_steps_then_by_those_taken(calls, precision, recall):
    assert found(card_of(case_of(tools=STEPS), *calls), "dec_p", "dec_r") == (precision, recall)


def test_one_step_may_match_several_expected_ones():
    twice = (ExpectedTool(name="find", id="a"), ExpectedTool(name="find", id="b"), ExpectedTool(name="route"))
    assert found(card_of(case_of(tools=twice), INN), "dec_p", "dec_r") == (2 / 3, 1)


def test_decomposition_of_nothing_expected_divides_by_what_was_done_only():
    assert found(card_of(case_of(), INN), "dec_p", "dec_r") == ("not_applicable", 0)
    assert found(card_of(case_of()), "dec_p", "dec_r") == ("not_applicable", "not_applicable")


def test_an_argument_that_is_left_out_has_its_default():
    tools = (ExpectedTool(name="find", match={"most": is_(5)}),)
    assert found(card_of(case_of(tools=tools), INN), "dec_p") == 1
    assert found(card_of(case_of(tools=tools), call("find", name="Inn", most=6)), "dec_p") == 0


@pytest.mark.parametrize(
    ("plan", "precision", "recall"),
    [
        (["find", "find", "route"], 1, 1),
        ([{"tool": "find"}, {"tool": "route"}], 1, 1),
        ([{"tool": "find", "arguments": {"name": "Inn"}}, "route"], 2 / 3, 1),
        ([{"tool": "find", "arguments": {"city": "Ulm"}}], 2 / 3, 1),
        ([{"tool": "find", "arguments": {"name": "Barn"}}, "route", "swim"], 1 / 3, 1 / 3),
        ([7, {"arguments": {}}, {"tool": ["find"]}, "route"], 1 / 3, 1 / 4),
        ([], 0, 0),
        ("find, route", 0, 0),
        (None, 0, 0),
    ],
)
def test_a_plan_stands_in_for_the_calls_where_there_is_one(plan, precision, recall):
    card = card_of(case_of(tools=STEPS), BARN, output={"plan": plan})
    assert found(card, "dec_p", "dec_r") == (precision, recall)
    assert found(card, "ts_p", "ts_r") == (1 / 2, 1)


def test_steps_that_cannot_be_compared_leave_bounds():
    bound = ExpectedTool(name="route", match={"to": Bound(op="bound", tool="find", path="point")})
    known = call("find", name="Inn").model_copy(update={"result": {"point": "10,50"}})
    way = call("route", to="10,50")
    assert found(card_of(case_of(tools=(bound,)), known, way), "dec_p", "dec_r") == (1, 1 / 2)
    open_ = card_of(case_of(tools=(*STEPS[:1], bound)), INN, way)
    assert found(open_, "dec_p", "dec_r") == ("unevaluated", "unevaluated")
    assert open_.bounds == {"mobility_dec_p": (0.5, 1), "mobility_dec_r": (0.5, 1)}


@pytest.mark.parametrize(
    ("calls", "coverage", "lean"),
    [
        ((INN, WAY), 1, 1),
        ((INN, INN, MILL), 1 / 2, 1),
        ((INN, call("swim"), call("fly"), call("fly")), 1 / 2, 1 / 3),
        ((call("swim"),), 0, 0),
        ((), 0, "not_applicable"),
    ],
)
def test_tool_selection_is_over_the_names_of_tools(calls, coverage, lean):
    assert found(card_of(case_of(tools=STEPS), *calls), "ts_p", "ts_r") == (coverage, lean)


def test_a_tool_by_another_of_its_names_is_the_same_tool():
    inn, missed = call("search", name="Inn"), call("search", status="miss", name="Mill")
    card = card_of(case_of(tools=STEPS), inn, missed)
    assert found(card, "dec_p", "dec_r", "ts_p", "ts_r", "sc", "dr") == (2 / 3, 1, 1 / 2, 1, 1, 0)
    assert found(card_of(case_of(tools=STEPS), missed), "dr") == 0
    assert found(card_of(case_of(tools=STEPS), output={"plan": ["search"]}), "dec_p") == 2 / 3


def test_tool_selection_where_no_tool_is_expected():
    assert found(card_of(case_of(), INN), "ts_p", "ts_r") == ("not_applicable", 0)
    assert found(card_of(case_of()), "ts_p", "ts_r") == ("not_applicable", "not_applicable")


@pytest.mark.parametrize(
    ("one", "complies"),
    [
        (INN, True),
        (call("find", status="miss", name="Inn"), True),
        (call("find", status="error", name="Inn", city=""), True),
        (call("find", city="Ulm"), False),
        (call("find", name=""), False),
        (call("find", name="a"), False),
        (call("find", name="Inn", town="Ulm"), False),
        (call("find", name="Inn", most="5"), False),
        (call("find", name="Inn", most=0), False),
        (call("route", to="0,0"), True),
        (call("route", to="the mill"), False),
        (call("route", to="10,95"), False),
        (call("route", to="10,50", mode="boat"), False),
        (call("route", to="10,50", avoid="tolls"), False),
        (call("swim"), False),
    ],
)
def test_schema_compliance_looks_at_the_arguments_and_never_at_the_result(one, complies):
    assert found(card_of(case_of(), one), "sc") == complies
    assert found(card_of(case_of(), one, INN, INN), "sc") == (2 + complies) / 3


def test_schema_compliance_does_not_apply_without_calls():
    assert found(card_of(case_of()), "sc") == "not_applicable"


def test_what_was_asked_for_is_delivered_by_an_answer_that_rests_on_answered_calls():
    case = case_of(tools=STEPS)
    missed = call("route", status="miss", to="10,50")
    assert found(card_of(case, INN, WAY), "dr") == 1
    assert found(card_of(case), "dr") == 1, "no expected tool was called"
    unserved = missed.model_copy(update={"provenance": Provenance(kind="miss")})
    assert found(card_of(case, INN, unserved), "dr") == 1, "the source has no result of this expected tool"
    for card in (
        card_of(case, missed, WAY),
        card_of(case, WAY, call("swim", status="error")),
        card_of(case, WAY, call("find", status="refused", name="Inn")),
        card_of(case, INN, missed),
        card_of(case, INN, WAY, ending="max_turns"),
        card_of(case, INN, WAY, ending="stalled"),
        card_of(case, INN, WAY, labels=[label("e", 0).model_copy(update={"requirement": "deliver"})]),
    ):
        assert found(card, "dr") == 0
    undecided = label("e", None, why="undecided: unclear").model_copy(update={"requirement": "deliver"})
    assert card_of(case, INN, WAY, labels=[undecided]).bounds["mobility_dr"] == (0, 1)
    assert card_of(case, INN, missed, labels=[undecided]).metrics["mobility_dr"] == 0
    assert found(card_of(case_of(requirements=("e1",)), labels={"e1": 1}), "dr") == "not_applicable"


FULL = case_of(
    requirements=("e1", "e2"),
    more=(
        Requirement(id="h1", text="a need", kind="hard", weight=1),
        Requirement(id="s1", text="a need", kind="soft", weight=1),
        Requirement(kind="fact", id="f1", text="a fact"),
    ),
)
ALL_PASSED = {"e1": 1, "e2": 1, "h1": 1, "s1": 0, "f1": 1}


def test_an_answer_passes_where_every_explicit_hard_and_fact_label_does():
    assert found(card_of(FULL, labels=ALL_PASSED), "fpr") == 1
    for requirement in ("e1", "e2", "h1", "f1"):
        assert found(card_of(FULL, labels={**ALL_PASSED, requirement: 0}), "fpr") == 0
    soft_only = case_of(requirements=(), more=FULL.truth.soft)
    assert found(card_of(soft_only, labels={"s1": 0}), "fpr") == "not_applicable"


def test_an_unknown_label_leaves_the_final_pass_open_unless_another_fails():
    unknown = [label("e1", None, why="undecided: unclear"), *(label(name, 1) for name in ("e2", "h1", "f1"))]
    card = card_of(FULL, labels=unknown)
    assert (found(card, "fpr"), card.bounds["mobility_fpr"]) == ("unevaluated", (0, 1))
    assert found(card_of(FULL, labels=[*unknown[:3], label("f1", 0)]), "fpr") == 0
    lost = card_of(FULL, labels=[label("e1", None, blame="judge"), *unknown[1:]])
    assert (found(lost, "fpr"), "mobility_fpr" in lost.bounds) == ("unevaluated", False)
    mean = summarise([card, card_of(FULL, labels=ALL_PASSED)])["mobility_fpr"]
    assert (mean.mean, mean.bounds) == (None, (0.5, 1))


def test_tokens_are_means_over_the_cases_that_told_them():
    told = [
        card_of(case_of().model_copy(update={"id": f"c{n}"}), usage=Usage(input_tokens=1000 * n, output_tokens=n))
        for n in (1, 3)
    ]
    silent = card_of(case_of().model_copy(update={"id": "c5"}), usage=Usage(output_tokens=8))
    assert found(silent, "it", "ot") == ("not_applicable", 8)
    summary = summarise([*told, silent])
    assert (summary["mobility_it"].mean, summary["mobility_it"].n) == (2000, 2)
    assert (summary["mobility_ot"].mean, summary["mobility_ot"].left_out) == (4, {})
    assert [metric.name for metric in MOBILITY.metrics if not metric.gated] == ["mobility_it", "mobility_ot"]


def test_an_agent_that_breaks_or_says_nothing_has_earned_nothing_that_applies():
    case = case_of(tools=STEPS, output={"intent": "route"})
    crash = {
        "ending": "agent_error",
        "fault": Fault(blame="agent", message="it raised"),
        "usage": Usage(input_tokens=5),
    }
    crashed = card_of(case, INN, output={"intent": "route"}, **crash)
    names = ("id", "dec_p", "dec_r", "ts_p", "ts_r", "sc", "dr", "fpr")
    assert found(crashed, *names) == (0,) * 8
    assert found(crashed, "ie", "it") == ("not_applicable", 5)
    silent = card_of(case, replies=("",))
    assert found(silent, "id", "dec_p", "ts_p", "dr", "fpr") == (0,) * 5
    assert found(silent, "ie", "dec_r", "ts_r", "sc") == ("not_applicable",) * 4
    others = card_of(case, ending="user_error")
    assert found(others, "fpr", "it") == ("error", "error")


PLACES = st.sampled_from(["Inn", "Mill", "Barn"])
STEP = st.builds(lambda name: call("find", name=name), PLACES) | st.sampled_from(
    [WAY, call("route", to="1,1"), call("swim")]
)
GOLD = st.lists(st.builds(lambda name: ExpectedTool(name="find", match={"name": is_(name)}), PLACES), max_size=4)


@generated(50)
@given(GOLD, st.lists(STEP, max_size=6), st.randoms())
def test_shares_know_neither_order_nor_repetition_of_the_expected(gold, calls, random):
    case = case_of(tools=(*gold, *STEPS[2:]))
    names = ("dec_p", "dec_r", "ts_p", "ts_r", "sc")
    values = found(card_of(case, *calls), *names)
    assert all(value == "not_applicable" or 0 <= value <= 1 for value in values)
    assert ("not_applicable" in values) == (not calls)
    shuffled = random.sample(calls, len(calls))
    assert found(card_of(case, *shuffled), *names) == values
    again = found(card_of(case, *calls, *calls), *names)
    assert again == values, "saying everything twice changes no share"


@generated(30)
@given(GOLD)
def test_the_expected_calls_replayed_are_all_that_was_expected(gold):
    case = case_of(tools=(*gold, *STEPS[2:]))
    calls = [call("find", name=one.match["name"].value) for one in gold]
    assert found(card_of(case, *calls, WAY), "dec_p", "dec_r", "ts_p", "ts_r", "sc") == (1,) * 5


def test_several_right_arguments_are_one_of_them():
    tools = (ExpectedTool(name="find", match={"city": OneOf(op="one_of", values=("Ulm", "Ulm City"))}),)
    assert found(card_of(case_of(tools=tools), call("find", name="Inn", city="ulm city")), "dec_p", "dec_r") == (1, 1)


NO_TOLLS = b"""
id: no-tolls
visible:
  query: Drive to Mill Station without tolls.
  output_schema:
    type: object
    required: [intent, constraints]
    properties:
      intent: {type: string, enum: [Point-to-Point Planning, Option-Constrained Route Planning]}
      constraints:
        type: object
        additionalProperties: false
        properties:
          destination: {type: string}
          strategy: {type: array, items: {type: string}}
          waypoints: {type: array, items: {type: string}}
      plan: {type: array, items: {type: object, required: [tool], properties: {tool: {type: string}, arguments: {type: object}}}}
truth:
  output: {intent: Option-Constrained Route Planning, constraints: {destination: Mill Station, strategy: [no tolls]}}
  requirements:
    - {id: deliver, kind: asked, text: It gives a time or a length., check: {kind: any, checks: [{kind: number, unit: min, min: 0}, {kind: number, unit: km, min: 0}]}}
    - {id: no-tolls, kind: asked, text: The way costs no toll., check: {kind: calls, tool: driving_route, with: {strategy: {op: contains, text: no tolls}}, answered: true}}
  tools:
    - {name: query_poi, match: {keywords: {op: equal, value: Mill Station}}}
    - {name: driving_route, after: [query_poi], match: {destination: {op: within_m, lon: 10.2, lat: 50.1, metres: 111}, strategy: {op: equal, value: [no tolls]}}}
"""


def test_the_page_names_every_metric():
    text = (Path(__file__).resolve().parents[3] / "docs" / "internals" / "port-metrics.md").read_text(encoding="utf-8")
    section = text.partition("## Metrics: `mobility`")[2].partition("\n## ")[0]
    assert [metric.name for metric in MOBILITY.metrics if f"`{metric.name}`" not in section] == []


def test_a_case_in_all_its_fields_is_measured():
    case = Case.model_validate(parse_yaml(NO_TOLLS, "case")[0].data)
    look, way = call("query_poi", keywords="mill station"), call("driving_route", destination="10.2,50.1")
    kept = way.model_copy(update={"arguments": {**way.arguments, "strategy": ["No tolls"]}})
    right = {
        "intent": "option-constrained route planning",
        "constraints": {"strategy": "no tolls", "destination": "Mill Station"},
    }
    assert found(card_of(case, look, kept, output=right), "id", "ie", "dec_p", "dec_r") == (1, 1, 1, 1)
    assert found(card_of(case, look, way), "id", "ie", "dec_p", "dec_r") == (0, 0, 0.5, 0.5)
