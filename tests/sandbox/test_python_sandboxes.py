"""Sandboxes in Python: what tools may do to rows, what is kept of it, and whose fault it is when they break."""

import json
from copy import deepcopy
from types import SimpleNamespace

import pytest
import shop

from pytest_mapsat.model import InfrastructureError, digest
from pytest_mapsat.sandbox import RecordedSandbox, Refused, State, Table, make_sandbox
from pytest_mapsat.suite import open_suite


class Shop:
    """The toy sandbox of the tests, with tools that break."""

    def __init__(self, state):
        self.orders = state["orders"]
        self.cancel = None

    def find_order(self, number):
        return self.orders.get(number)

    def cancel_order(self, number, reason):
        return self.cancel(self.orders, number, reason)


@pytest.fixture
def suite(tmp_path):
    return open_suite(shop.write_shop(tmp_path / "shop"))


def sandbox_of(suite, cancel=None, factory=Shop):
    """Return a sandbox of the shop whose tool that writes does this."""

    def make(state):
        made = factory(state)
        made.cancel = cancel
        return made

    suite.sandboxes = (lambda case, suite: make,)
    return make_sandbox(suite.load(suite.entries(suite.root / "cases.jsonl")[0]), suite)


def rows_digest(suite):
    return digest([list(table.rows) for table in suite.tables.values()])


CANCEL = ("cancel_order", {"number": "o1", "reason": "too late"})


def test_a_tool_that_writes_changes_its_own_episode_only_and_tells_what(suite):
    before = rows_digest(suite)
    sandbox = sandbox_of(suite, lambda orders, number, reason: orders.change(number, status="gone"))
    answer = sandbox.call(*CANCEL)
    assert (answer.status, answer.provenance.kind, answer.result["status"]) == ("ok", "computed", "gone")
    (row,) = answer.changed
    assert (row.table, row.id, row.before, row.after) == (
        "orders",
        "o1",
        shop.ORDERS[0],
        shop.ORDERS[0] | {"status": "gone"},
    )
    assert answer.writes
    assert sandbox.call("find_order", {"number": "o1"}).result["status"] == "gone"
    answer.result["items"].append("more")  # what is done to a result stays with whoever does it
    other = sandbox_of(suite)
    other.call("find_order", {"number": "o1"}).result["items"].append("more")
    assert other.call("find_order", {"number": "o1"}).result == shop.ORDERS[0]
    assert rows_digest(suite) == before


def test_rows_are_added_and_removed_and_a_row_that_comes_back_has_not_changed(suite):
    def cancel(orders, number, reason):
        if reason == "changed mind":
            orders.add({"id": "o1", **{key: value for key, value in shop.ORDERS[0].items() if key != "id"}})
            return list(orders)
        orders.remove("o1")
        orders.add({"id": "o3", "status": "new"})
        orders.remove("o3")
        return list(orders)

    sandbox = sandbox_of(suite, cancel)
    first = sandbox.call(*CANCEL)
    assert (first.result, [(row.id, row.after) for row in first.changed]) == (["o2"], [("o1", None)])
    assert sandbox.call("find_order", {"number": "o1"}).result is None
    second = sandbox.call("cancel_order", {"number": "o1", "reason": "changed mind"})
    assert (second.result, second.changed[0].before) == (["o1", "o2"], None)
    assert second.writes not in ("", first.writes)


def test_a_refusal_says_why_and_leaves_everything_as_it_was(suite):
    def cancel(orders, number, reason):
        orders.change(number, status="half done")
        raise Refused("not today", number=number)

    sandbox = sandbox_of(suite, cancel)
    answer = sandbox.call(*CANCEL)
    assert (answer.status, answer.result) == ("refused", {"status": "refused", "message": "not today", "number": "o1"})
    assert (answer.changed, answer.writes) == ((), "")
    assert sandbox.call("find_order", {"number": "o1"}).result["status"] == "open"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"number": "o1"}, "missing required parameter 'reason'"),
        (
            {"number": "o1", "reason": "to late"},
            "expected one of 'changed mind', 'too late' (did you mean 'too late'?)",
        ),
        ({"number": "o1", "reason": "too late", "nmber": 1}, "did you mean 'number'?"),
    ],
)
def test_arguments_that_the_tool_cannot_take_never_reach_the_sandbox(suite, arguments, said):
    answer = sandbox_of(suite).call("cancel_order", arguments)
    assert answer.status == "error"
    assert said in answer.result["message"]


@pytest.mark.parametrize("write", [lambda orders: orders["o9"], lambda orders: orders.change("o9", status="gone")])
def test_a_row_that_does_not_exist_is_an_error_of_the_call_and_leaves_everything_as_it_was(suite, write):
    def cancel(orders, number, reason):
        orders.change("o1", status="half done")
        return write(orders)

    sandbox = sandbox_of(suite, cancel)
    answer = sandbox.call("cancel_order", {"number": "o9", "reason": "too late"})
    assert (answer.status, answer.result["message"]) == ("error", "cancel_order: there is no row 'o9' in orders")
    assert (answer.changed, sandbox.call("find_order", {"number": "o1"}).result["status"]) == ((), "open")


def test_a_key_error_of_the_sandboxes_own_says_file_and_line(suite):
    with pytest.raises(
        InfrastructureError, match=r"broke in cancel_order: KeyError: 'x' \(test_python_sandboxes\.py:[0-9]+\)"
    ):
        sandbox_of(suite, lambda orders, number, reason: {}["x"]).call(*CANCEL)


def test_the_whole_schema_of_a_call_is_checked_before_the_sandbox(tmp_path):
    root = shop.write_shop(tmp_path / "shop")
    tools = (root / "tools.yaml").read_text()
    lines = "lines: {type: array, items: {type: object, properties: {sku: {type: string}, count: {type: integer, minimum: 1}}, required: [sku], additionalProperties: false}}"
    (root / "tools.yaml").write_text(
        tools.replace(
            "      number: {type: string}\n      reason", f"      number: {{type: string}}\n      {lines}\n      reason"
        )
    )
    calls = []

    class Counting(Shop):
        def cancel_order(self, number, reason, lines=()):
            calls.append(number)
            return number

    sandbox = sandbox_of(open_suite(root), factory=Counting)
    for bad, said in (
        ([{"sku": "cup", "count": 0}], "lines[0].count: found 0, expected at least 1"),
        ([{"count": 1}], "lines[0]: 'sku' is missing"),
        ([{"sku": ["cup"]}], "lines[0].sku: found ['cup'], expected a string"),
        ([{"sku": "cup", "size": 1}], "lines[0].size"),
        ("cup", "lines"),
    ):
        answer = sandbox.call("cancel_order", {"number": "o1", "reason": "too late", "lines": bad})
        assert answer.status == "error"
        assert said in answer.result["message"]
    assert calls == []
    assert (
        sandbox.call("cancel_order", {"number": 7, "reason": "too late"}).result == "7"
    )  # fitted: as text it means the same


PARTY = """\
- name: book
  description: Book a table.
  effect: write
  parameters:
    type: object
    required: [party]
    properties:
      party:
        type: object
        required: [size]
        properties: {size: {type: integer}, menu: {enum: [plain, festive]}}
      tags: {type: array, items: {type: string}}
      at: {anyOf: [{type: integer}, {type: "null"}]}
      phone: {type: string}
      table: {$ref: "#/$defs/table"}
    $defs: {table: {type: integer, minimum: 1}}
"""


def booking_sandbox(tmp_path, manifest=shop.MANIFEST):
    """Return a sandbox whose only method returns the arguments that reach it."""
    root = shop.write_shop(tmp_path / "shop")
    (root / "suite.yaml").write_text(manifest)
    (root / "tools.yaml").write_text(shop.TOOLS + PARTY)
    return sandbox_of(open_suite(root), factory=lambda state: SimpleNamespace(book=lambda **given: given))


@pytest.mark.parametrize(
    ("given", "reaches"),
    [
        ({"party": {"size": "2", "menu": "Festive"}}, {"party": {"size": 2, "menu": "festive"}}),
        ({"party": '{"size": 2}', "tags": '["window"]'}, {"party": {"size": 2}, "tags": ["window"]}),
        ({"party": {"size": 2.0}, "at": "19"}, {"party": {"size": 2}, "at": 19}),
        ({"party": {"size": 2**60 + 1}, "phone": 12345678.5}, {"party": {"size": 2**60 + 1}, "phone": "12345678.5"}),
        ({"party": {"size": 2}, "at": None, "phone": None, "tags": None}, {"party": {"size": 2}, "at": None}),
    ],
)
def test_what_means_the_same_reaches_the_sandbox_as_the_schema_declares_it(tmp_path, given, reaches):
    assert booking_sandbox(tmp_path).call("book", given).result == reaches
    strict = booking_sandbox(tmp_path / "strict", shop.MANIFEST + "arguments: strict\n")
    assert strict.call("book", reaches).result == reaches
    if given != reaches and given["party"] != {"size": 2.0}:
        assert strict.call("book", given).status == "error"
    refused = strict.call("book", {"party": {"size": 2}, "table": 0})  # where a reference leads
    assert refused.result["message"] == "book: table: found 0, expected at least 1"


def test_strict_arguments_are_taken_as_they_are_or_refused(tmp_path):
    root = shop.write_shop(tmp_path / "shop")
    (root / "suite.yaml").write_text(shop.MANIFEST + "arguments: strict\n")
    sandbox = sandbox_of(open_suite(root))
    for arguments, said in (
        ({"number": 7}, "number: found 7, expected a string"),
        ({"number": "o1", "reason": "Too Late"}, "reason: found 'Too Late'"),
    ):
        answer = sandbox.call("cancel_order" if "reason" in arguments else "find_order", arguments)
        assert answer.status == "error"
        assert said in answer.result["message"]
    assert sandbox.call("find_order", {"number": "o1"}).status == "ok"


@pytest.mark.parametrize("size", [10**300, -1e308])
def test_a_number_with_which_arithmetic_overflows_is_the_callers_error(tmp_path, size):
    answer = booking_sandbox(tmp_path).call("book", {"party": {"size": int(size)}})
    assert answer.status == "error"
    assert answer.result["message"] == "book: arguments.party.size: found a number beyond 1e+100"


@pytest.mark.parametrize("name", ["status", "message"])
def test_a_refusal_overwrites_nothing_that_every_refusal_says(name):
    with pytest.raises(TypeError, match=f"Refused: {name} of the result is set already"):
        Refused("no", **{name: "ok"})


def test_an_allowed_value_may_be_asked_for_by_a_synonym(suite):
    sandbox = sandbox_of(suite, lambda orders, number, reason: reason)
    assert sandbox.call("cancel_order", {"number": "o1", "reason": "No longer wanted"}).result == "changed mind"


def test_tools_without_a_method_are_answered_by_the_suites_data(suite):
    sandbox = sandbox_of(suite)
    answer = sandbox.call("opening_hours", {})
    assert (answer.result, answer.provenance.kind) == ({"hours": "09:00-18:00"}, "exact")
    assert sandbox.call("opening", {}).status == "error"
    assert sorted(sandbox.tools) == ["cancel_order", "find_order", "opening_hours"]


def test_a_recording_made_after_writes_answers_only_after_the_same_writes(suite, tmp_path):
    writes = (
        sandbox_of(suite, lambda orders, number, reason: orders.change(number, status="x") and 1).call(*CANCEL).writes
    )
    late = {"case": "cancel", "tool": "opening_hours", "arguments": {}, "result": {"hours": "closed"}, "writes": writes}
    root = shop.write_shop(tmp_path / "late")
    with (root / "recordings" / "hours.jsonl").open("a") as file:
        file.write(json.dumps(late) + "\n")
    sandbox = sandbox_of(open_suite(root), lambda orders, number, reason: orders.change(number, status="x") and 1)
    assert sandbox.call("opening_hours", {}).result == {"hours": "09:00-18:00"}
    sandbox.call(*CANCEL)
    assert sandbox.call("opening_hours", {}).result == {"hours": "closed"}


@pytest.mark.parametrize(
    ("cancel", "said"),
    [
        (lambda orders, number, reason: orders["o1"].update(status="x"), "a row is not changed in place"),
        (lambda orders, number, reason: orders["o1"]["items"].append(1), "a row is not changed in place"),
        (lambda orders, number, reason: orders.change("o1", id="o9"), "the id of a row stays as it is"),
        (lambda orders, number, reason: orders.add({"id": "o2"}), "there is a row 'o2' already"),
        (lambda orders, number, reason: orders.add({"status": "x"}), "a new row needs a text of its own under 'id'"),
        (lambda orders, number, reason: {1, 2}, "{1, 2} is not a JSON value"),
        (lambda orders, number, reason: float("nan"), "Out of range float values are not JSON compliant"),
        (lambda orders, number, reason: "x" * 1_000_001, "a result of 1,000,003 characters"),
        (lambda number: None, "TypeError"),
    ],
)
def test_a_sandbox_that_breaks_is_nobodys_fault_but_its_own(suite, cancel, said):
    sandbox = sandbox_of(suite, cancel)
    with pytest.raises(InfrastructureError) as broken:
        sandbox.call(*CANCEL)
    assert said in str(broken.value)
    assert sandbox.call("find_order", {"number": "o1"}).result == shop.ORDERS[0]


def test_only_tools_that_write_may_write(suite):
    class Sly(Shop):
        def find_order(self, number):
            return self.orders.change(number, status="seen")

    sandbox = sandbox_of(suite, factory=Sly)
    with pytest.raises(
        InfrastructureError, match="changes the table orders outside a tool that writes: declare effect: write"
    ):
        sandbox.call("find_order", {"number": "o1"})


def test_a_row_can_be_copied_and_then_changed():
    row = State({"t": Table("t", ({"id": "a", "list": [{"x": 1}]},))})["t"]["a"]
    for copied in (row.copy(), deepcopy(row)):
        copied["list"][0]["x"] = 2
        assert type(copied) is dict
    assert (dict(row), row["list"][0]["x"]) == ({"id": "a", "list": [{"x": 1}]}, 1)


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"order": Table("order", ())}, "no table 'orders' in state/ .did you mean 'order'"),
        (
            {"orders": Table("orders", ({"id": "a"}, {"id": "a"}))},
            "state/orders, row 2: id is 'a': state/orders, row 1 has it, too",
        ),
        ({"orders": Table("orders", ({"id": 7},))}, "state/orders, row 1: id is 7: expected a text"),
    ],
)
def test_tables_without_ids_are_refused(tables, said):
    with pytest.raises(InfrastructureError, match=said):
        _ = State(tables)["orders"]


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        (lambda case, suite: 7, "pytest_mapsat_sandbox returned 7, expected what makes a sandbox"),
        (lambda case, suite: 1 / 0, "the sandbox could not be looked up: ZeroDivisionError"),
        (lambda case, suite: lambda state: 1 / 0, "the sandbox could not be made: ZeroDivisionError"),
        (lambda case, suite: lambda state: SimpleNamespace(fnd_order=1), "the sandbox has a method for no tool"),
        (lambda case, suite: None, "suite.yaml of shop has options of a sandbox in Python, but no sandbox is there"),
    ],
)
def test_a_sandbox_that_cannot_be_made_says_why(suite, hook, said):
    suite.sandboxes = (hook,)
    with pytest.raises(InfrastructureError, match=said):
        make_sandbox(suite.load(suite.entries(suite.root / "cases.jsonl")[0]), suite)


def test_the_first_hook_that_has_a_sandbox_makes_it_and_none_leaves_the_data(tmp_path):
    root = shop.write_shop(tmp_path / "shop")
    (root / "suite.yaml").write_text(shop.MANIFEST.replace("sandbox: {shop: north}\n", ""))
    suite = open_suite(root)
    case = suite.load(suite.entries(root / "cases.jsonl")[0])
    assert isinstance(make_sandbox(case, suite), RecordedSandbox)
    suite.sandboxes = (lambda case, suite: None, lambda case, suite: Shop, lambda case, suite: 1 / 0)
    assert make_sandbox(case, suite).call("find_order", {"number": "o2"}).result == shop.ORDERS[1]


def test_what_is_computed_from_tables_sees_what_was_written(tmp_path):
    root = shop.write_shop(tmp_path / "shop")
    listing = """\
- name: list_orders
  description: List orders.
  parameters: {type: object, properties: {status: {type: string}}}
  answer: {kind: rows, table: orders, where: {status: {op: equal, column: status}}, items: orders, show: [id, total]}
"""
    (root / "tools.yaml").write_text(shop.TOOLS + listing)

    def cancel(orders, number, reason):
        orders.change("o1", status="shipped", total=21)
        orders.remove("o2")
        orders.add({"id": "o3", "status": "shipped", "total": 5})

    sandbox = sandbox_of(open_suite(root), cancel)

    def listed():
        return sandbox.call("list_orders", {"status": "shipped"}).result["orders"]

    assert [order["id"] for order in listed()] == ["o2"]
    sandbox.call(*CANCEL)
    assert [(order["id"], order["total"]) for order in listed()] == [("o1", 21), ("o3", 5)]
