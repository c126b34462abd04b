"""What a record made elsewhere does not tell of calls: checks that need it are undecided, the others are not."""

import pytest
from judging import PLACES, ROUTE, SEARCH, check_of, dialogue

import pytest_mapsat
from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.metrics.metric_set import tool_selection
from pytest_mapsat.model import Case, ExpectedTool, Step, Tool
from pytest_mapsat.registry import exchange

BOOK = Tool.model_validate(
    {"name": "book", "description": "Books.", "parameters": {"type": "object", "properties": {}}, "effect": "write"}
)
TOOLS = {"search_poi": SEARCH, "route": ROUTE, "book": BOOK}
TOLD = Step(kind="call", tool="search_poi", arguments={"query": "cafe"}, result=PLACES)
NO_ARGUMENTS = Step(kind="call", tool="search_poi", result=PLACES, unknown=("arguments",))
NO_RESULT = Step(kind="call", tool="search_poi", arguments={"query": "cafe"}, status="unknown", unknown=("result",))
NEITHER = Step(kind="call", tool="search_poi", status="unknown", unknown=("arguments", "result", "changed"))
BOOKED = Step(kind="call", tool="book", result={"ok": True}, unknown=("changed",))


def outcome(check, *steps, reply="I suggest Cafe Luna."):
    return evaluate(check, JudgedDialogue(dialogue(reply, steps=steps), TOOLS)).passed


@pytest.mark.parametrize(
    ("step", "fields", "passed"),
    [
        (NEITHER, {}, True),  # that it was called is told
        (NEITHER, {"at_most": 0}, False),
        (NEITHER, {"with": {"query": "cafe"}}, None),
        (NEITHER, {"with": {"query": "cafe"}, "at_most": 0}, None),
        (NO_ARGUMENTS, {"with": {"query": "bar"}}, None),
        (NO_RESULT, {"with": {"query": "cafe"}}, True),
        (NO_RESULT, {"with": {"query": "bar"}}, False),
        (NO_RESULT, {"answered": True}, None),
        (NO_RESULT, {"answered": False}, None),
        (NO_RESULT, {"answered": True, "with": {"query": "bar"}}, False),
        (NO_ARGUMENTS, {"answered": True}, True),
    ],
)
def test_calls_are_undecided_only_where_what_is_not_told_counts(step, fields, passed) -> None:
    assert outcome(check_of("calls", tool="search_poi", **fields), step) is passed


def test_a_step_that_may_fit_an_untold_call_is_undecided() -> None:
    steps = [{"tool": "search_poi", "with": {"query": "cafe"}}, "route"]
    assert (
        outcome(check_of("calls", steps=steps), NEITHER, Step(kind="call", tool="route", arguments={"to": "x"})) is None
    )
    assert outcome(check_of("calls", steps=steps), NEITHER) is False


def test_an_argument_bound_to_an_untold_result_is_undecided() -> None:
    route = Step(kind="call", tool="route", arguments={"to": "1"})
    check = check_of(
        "calls", tool="route", **{"with": {"to": {"op": "bound", "tool": "search_poi", "path": "pois.*.poiid"}}}
    )
    assert outcome(check, TOLD, route) is True
    assert outcome(check, NO_RESULT, route) is None
    assert outcome(check, TOLD, NO_RESULT, Step(kind="call", tool="route", arguments={"to": "9"})) is None


WHERE = {"rating": {"op": "between", "min": 4.5}}


@pytest.mark.parametrize(
    ("kind", "fields", "reply"),
    [
        ("recommends", {"where": WHERE}, "I suggest Old Mill."),
        ("recommends", {"none_where": WHERE}, "I suggest Cafe Luna."),
        ("recommends", {"where": WHERE}, "I suggest the Grand Cafe."),
        (
            "number",
            {"unit": "star", "equals": {"op": "bound", "tool": "search_poi", "path": "pois.*.rating"}},
            "It has 2.1 stars.",
        ),
        ("grounded", {}, "Cafe Luna has 2.1 stars."),
    ],
)
def test_checks_on_results_are_undecided_where_a_result_is_not_told(kind, fields, reply) -> None:
    check = check_of(kind, **fields)
    assert outcome(check, TOLD, reply=reply) is not True
    assert outcome(check, TOLD, NO_RESULT, reply=reply) is None


def test_what_the_told_results_bear_out_passes() -> None:
    assert (
        outcome(check_of("recommends", where=WHERE), TOLD, NO_RESULT, reply="I suggest Cafe Luna (Riverside).") is True
    )


def test_checks_that_need_no_result_are_decided() -> None:
    assert outcome(check_of("matches", pattern="Luna"), NEITHER) is True
    assert outcome(check_of("says", any=["Cafe Luna"]), NEITHER) is True


def test_an_end_is_undecided_only_after_calls_that_may_have_written() -> None:
    for kind, fields in (("unchanged", {}), ("state", {"table": "orders"})):
        finding = evaluate(check_of(kind, **fields), JudgedDialogue(dialogue("Done.", steps=[BOOKED]), TOOLS))
        assert (finding.passed, finding.broken, finding.why) == (
            None,
            False,
            "the record does not have the changes of book",
        )


@pytest.fixture
def checks():
    """Checks in Python that look at different parts of calls."""

    def by_name(episode):
        assert [call.tool for call in episode.calls] == ["search_poi"]

    def by_arguments(episode):
        return episode.calls[0].arguments["query"] == "cafe"

    before = exchange({})
    pytest_mapsat.check(by_name)
    pytest_mapsat.check(by_arguments)
    yield
    exchange(before)


def test_a_check_in_python_is_undecided_where_it_looks_at_what_is_not_told(checks) -> None:
    assert outcome(check_of("by_name"), NEITHER) is True
    assert outcome(check_of("by_arguments"), TOLD) is True
    finding = evaluate(check_of("by_arguments"), JudgedDialogue(dialogue("x", steps=[NEITHER]), TOOLS))
    assert (finding.passed, finding.broken) == (None, False)
    assert finding.why == "the record does not have the arguments of a call of search_poi"


def test_tool_selection_lies_between_its_bounds() -> None:
    case = Case.model_validate(
        {
            "id": "c1",
            "visible": {"query": "x"},
            "truth": {"tools": [{"name": "search_poi", "required": ["query"]}, {"name": "route"}]},
        }
    )
    assert isinstance(case.truth.tools[0], ExpectedTool)
    measure = tool_selection(case, dialogue("x", steps=[NEITHER])).measure
    assert (measure.value, measure.bounds) == (None, (0.0, 0.5))
    assert "does not tell the arguments of search_poi" in measure.why
    assert tool_selection(case, dialogue("x", steps=[NEITHER, TOLD])).measure.value == 0.5
