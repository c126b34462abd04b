"""Calls that were reported: what is there holds, what is not there is undecided."""

import pytest
from judging import TOOLS, check_of, dialogue

import pytest_mapsat
from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.metrics.metric_set import tool_selection
from pytest_mapsat.model import Case, Provenance, Step, Turn
from pytest_mapsat.registry import exchange


def reported(tool, source="reported by the service", **fields):
    fields = {"arguments": {}, "result": {"ok": True}, "unknown": ("changed",), **fields}
    return Step(kind="call", tool=tool, provenance=Provenance(kind="reported", note=source), **fields)


LOOK, BOOK = reported("look"), reported("book", arguments={"seats": 2})
STEPS = ["look", "book"]


def judged(check, *steps, **fields):
    return evaluate(check, JudgedDialogue(dialogue("Done.", steps=steps, calls_reported=True, **fields), TOOLS))


@pytest.mark.parametrize(
    ("steps", "fields", "passed"),
    [
        ([BOOK], {"tool": "book"}, True),
        ([BOOK], {"tool": "book", "with": {"seats": 2}}, True),
        ([BOOK], {"tool": "book", "with": {"seats": 4}}, None),
        ([BOOK], {"tool": "book", "at_least": 2}, None),
        ([BOOK], {"tool": "book", "at_most": 1}, None),
        ([BOOK, BOOK], {"tool": "book", "at_most": 1}, False),
        ([BOOK], {"tool": "book", "at_most": 0}, False),
        ([LOOK], {"tool": "book", "at_most": 0}, None),
        ([], {"tool": "book", "at_most": 0}, None),
        ([], {"tool": "book"}, None),
        ([], {"tool": "book", "at_least": 0}, True),
        ([BOOK], {"tool": "book", "answered": True}, True),
        ([reported("book", status="unknown")], {"tool": "book", "answered": True}, None),
        ([BOOK], {"tool": "book", "agreed": True}, False),
        ([LOOK], {"tool": "book", "at_least": 0, "agreed": True}, None),
        ([LOOK, BOOK], {"steps": STEPS}, True),
        ([BOOK, LOOK], {"steps": STEPS}, None),
        ([BOOK, LOOK], {"steps": STEPS, "match": "any_order"}, True),
        ([LOOK], {"steps": STEPS}, None),
        ([LOOK, BOOK], {"steps": STEPS, "match": "exact"}, None),
        ([LOOK], {"steps": STEPS, "match": "exact"}, None),
        ([BOOK, LOOK], {"steps": STEPS, "match": "exact"}, False),
        ([LOOK, LOOK], {"steps": STEPS, "match": "exact"}, False),
        ([LOOK], {"steps": [], "match": "exact"}, False),
        ([], {"steps": [], "match": "exact"}, None),
    ],
)
def test_a_call_that_is_reported_was_made_and_what_is_not_reported_is_undecided(steps, fields, passed) -> None:
    finding = judged(check_of("calls", **fields), *steps)
    assert finding.passed is passed
    if passed is None:
        assert "may not be all" in finding.why or "unclear" in finding.why
        assert "never called" not in finding.why


def test_of_several_sources_in_one_reply_the_order_is_unknown() -> None:
    seen = reported("look", "reported by the environment")
    assert judged(check_of("calls", steps=STEPS), seen, BOOK).passed is None
    assert judged(check_of("calls", steps=STEPS, match="exact"), BOOK, seen).passed is None
    assert judged(check_of("calls", steps=STEPS, match="any_order"), seen, BOOK).passed is True


def test_whether_the_user_agreed_is_sure_of_the_calls_that_are_there() -> None:
    turns = (
        Turn(role="user", text="Book BK-17."),
        Turn(role="agent", text="Shall I book BK-17?"),
        Turn(role="user", text="Yes.", agreed=True),
        Turn(role="agent", text="Done.", steps=(reported("book", arguments={"room_id": "BK-17"}),)),
    )
    asked = dialogue("x").model_copy(update={"turns": turns})
    agreed = check_of("calls", tool="book", agreed=True)
    assert evaluate(agreed, JudgedDialogue(asked, TOOLS)).passed is True
    finding = evaluate(agreed, JudgedDialogue(asked.model_copy(update={"calls_reported": True}), TOOLS))
    assert finding.passed is None
    assert "others" in finding.why


def test_what_a_result_that_is_not_reported_may_bear_out_is_undecided() -> None:
    bound = check_of("calls", tool="book", **{"with": {"seats": {"op": "bound", "tool": "look", "path": "seats"}}})
    assert judged(bound, reported("look", result={"seats": 2}), BOOK).passed is True
    assert judged(bound, reported("look", result={"seats": 4}), BOOK).passed is None
    for kind, fields in (("unchanged", {}), ("state", {"table": "orders"}), ("grounded", {})):
        finding = evaluate(
            check_of(kind, **fields), JudgedDialogue(dialogue("The table costs 30 euros.", calls_reported=True), TOOLS)
        )
        assert finding.passed is None
    assert judged(check_of("says", any=["done"])).passed is True


def never_books_in_a_loop(episode):
    for call in episode.calls:
        if call.tool == "book":
            raise AssertionError("it books")


def unpacked(episode):
    (only,) = episode.calls
    return only.tool == "look"


ASKING = {
    "books": lambda episode: any(call.tool == "book" and call.arguments["seats"] == 2 for call in episode.calls),
    "never_books": lambda episode: not any(call.tool == "book" for call in episode.calls),
    "never_books_in_a_loop": never_books_in_a_loop,
    "books_once": lambda episode: len([call for call in episode.calls if call.tool == "book"]) == 1,
    "counts": lambda episode: len(episode.calls) <= 3,
    "first": lambda episode: episode.calls[0].tool == "look",
    "nothing": lambda episode: not episode.calls,
    "something": lambda episode: bool(episode.calls),
    "equals": lambda episode: episode.calls == (),
    "unpacked": unpacked,
}


@pytest.fixture
def checks():
    """Checks in Python that ask for presence and for absence."""
    before = exchange({})
    for name, function in ASKING.items():
        function.__name__ = name
        pytest_mapsat.check(function)
    yield
    exchange(before)


@pytest.mark.parametrize(
    ("name", "with_book", "without"),
    [
        ("books", True, None),
        ("never_books", False, None),
        ("never_books_in_a_loop", False, None),
        ("books_once", None, None),
        ("counts", None, None),
        ("first", None, None),
        ("nothing", False, False),
        ("something", True, True),
        ("equals", None, None),
        ("unpacked", None, None),
    ],
)
def test_a_check_in_python_that_asks_for_absence_is_undecided(checks, name, with_book, without) -> None:
    assert judged(check_of(name), LOOK, BOOK).passed is with_book
    finding = judged(check_of(name), LOOK)
    assert (finding.passed, finding.broken) == (without, False)
    assert finding.passed is not None or finding.why == "the calls are reported, and may not be all"


def test_that_nothing_is_known_to_be_called_is_undecided_in_python(checks) -> None:
    assert [judged(check_of(name)).passed for name in ("nothing", "something")] == [None, None]


@pytest.mark.parametrize(
    ("expected", "called", "bounds"),
    [
        (["look", "book"], ["look"], (0.0, 1.0)),
        (["look"], ["look", "pay"], (0.0, 0.5)),
        ([], [], (0.0, 1.0)),
    ],
)
def test_tool_selection_lies_between_what_unreported_calls_could_make_of_it(expected, called, bounds) -> None:
    truth = {"tools": [{"name": name} for name in expected]}
    case = Case.model_validate({"id": "c1", "visible": {"query": "x"}, "truth": truth})
    measure = tool_selection(case, dialogue("x", steps=map(reported, called), calls_reported=True)).measure
    assert (measure.value, measure.bounds) == (None, bounds)
    assert measure.why == "the calls are reported, and may not be all"
