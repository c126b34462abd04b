"""Where a case begins: rows laid over the tables, calls played on them, and neither of them a change of the episode."""

import phone
import pytest
import shop

from pytest_mapsat.model import InfrastructureError, SuiteError, Trajectory, Turn
from pytest_mapsat.sandbox import End, make_sandbox, play_reference, tables_of
from pytest_mapsat.suite import open_suite

CANCEL = {"tool": "cancel_order", "arguments": {"number": "o1", "reason": "too late"}}
REOPENED = {"table": "orders", "where": {"id": "o2"}, "set": {"status": "open"}}
NEW = {"table": "orders", "add": [{"id": "o3", "status": "open", "total": 5, "items": []}]}


class Shop:
    def __init__(self, state):
        self.orders = state["orders"]

    def find_order(self, number):
        return self.orders[number]

    def cancel_order(self, number, reason):
        return self.orders.change(number, status="cancelled")

    def lose_order(self, number):
        self.orders.remove(number)


def suite_of(root, world, **truth):
    case = {**shop.case(), "world": world}
    case["truth"] |= truth
    shop.write_shop(root, case)
    with (root / "tools.yaml").open("a") as tools:
        tools.write(
            "- name: lose_order\n  description: Lose an order.\n  effect: write\n  by: world\n"
            "  parameters: {type: object, properties: {number: {type: string}}, required: [number]}\n"
        )
    suite = open_suite(root)
    suite.sandboxes = (lambda case, suite: Shop,)
    (entry,) = suite.entries(root / "cases.jsonl")
    return suite.load(entry), suite


def test_rows_are_laid_over_the_tables_of_this_case_and_calls_are_played_on_them(tmp_path):
    cancel = {"tool": "cancel_order", "arguments": {"number": "o3", "reason": "too late"}}
    case, suite = suite_of(tmp_path, {"rows": [REOPENED, NEW], "calls": [cancel]})
    sandbox = make_sandbox(case, suite)
    assert [sandbox.call("find_order", {"number": name}).result["status"] for name in ("o1", "o2", "o3")] == [
        "open",
        "open",
        "cancelled",
    ]
    assert [(change.id, change.before["status"], change.after["status"]) for change in sandbox.setup] == [
        ("o3", "open", "cancelled")
    ]
    assert [row["status"] for row in suite.tables["orders"].rows] == ["open", "shipped"]


def test_the_beginning_is_no_change_of_the_episode_nor_of_its_reference(tmp_path):
    lose = {"tool": "lose_order", "arguments": {"number": "o1"}}
    cancel = {"tool": "cancel_order", "arguments": {"number": "o2", "reason": "too late"}}
    case, suite = suite_of(tmp_path, {"rows": [REOPENED], "calls": [lose]}, end=[cancel])
    sandbox = make_sandbox(case, suite)
    answer = sandbox.call(cancel["tool"], cancel["arguments"])
    steps = (answer.step(cancel["tool"], cancel["arguments"]),)
    turns = (Turn(role="user", text="Go."), Turn(role="agent", text="Done.", steps=steps))
    end = End(tables_of(case, suite), Trajectory(case=case.id, turns=turns, setup=sandbox.setup))
    reference = play_reference(case, suite)
    assert reference.problem == ""
    assert [(change.id, change.before["status"]) for change in end.changes] == [("o2", "open")]
    assert end.changes == reference.changes
    assert [row["id"] for row in end.rows("orders")] == ["o2"]


def test_a_kept_reference_is_that_of_the_world_it_began_with(tmp_path):
    plain = play_reference(*suite_of(tmp_path / "plain", {}, end=[CANCEL]))
    begun = play_reference(*suite_of(tmp_path / "begun", {"rows": [REOPENED]}, end=[CANCEL]))
    again = play_reference(*suite_of(tmp_path / "again", {"rows": [REOPENED]}, end=[CANCEL]))
    assert plain.calls != begun.calls == again.calls


def test_a_write_has_the_same_digest_whatever_was_played_before_the_case(tmp_path):
    bare = make_sandbox(*suite_of(tmp_path / "bare", {}))
    begun = make_sandbox(
        *suite_of(tmp_path / "begun", {"calls": [{"tool": "lose_order", "arguments": {"number": "o2"}}]})
    )
    digests = {sandbox.call(CANCEL["tool"], CANCEL["arguments"]).writes for sandbox in (bare, begun)}
    assert len(digests) == 1
    assert digests != {""}


def test_a_call_that_is_not_answered_loses_the_case_to_the_infrastructure_with_its_place(tmp_path):
    lose = {"tool": "lose_order", "arguments": {"number": "o9"}}
    case, suite = suite_of(tmp_path, {"calls": [CANCEL, lose]})
    with pytest.raises(InfrastructureError, match=r"case cancel: world.calls, call 2, lose_order, ends as error: .*o9"):
        make_sandbox(case, suite)


@pytest.mark.parametrize(
    ("world", "told"),
    [
        ({"rows": [{"table": "order", "add": [{"id": "o3"}]}]}, "the suite has no table 'order' in state/ (did you mean 'orders'?)"),
        ({"rows": [{"table": "orders", "where": {"id": "o7"}, "set": {"total": 1}}]}, "orders has no row with id 'o7'"),
        ({"rows": [{"table": "orders", "set": {"total": 1}}]}, "set and hide need where"),
        ({"rows": [{"table": "orders"}]}, "found none, expected one of set, hide, add"),
        ({"calls": [{"tool": "loose_order"}]}, "the suite has no tool 'loose_order'"),
        ({"rows": [], "call": []}, "call: is not a known field"),
    ],
)  # fmt: skip
def test_a_beginning_that_cannot_be_is_told_with_its_place(tmp_path, world, told):
    with pytest.raises(SuiteError) as caught:
        suite_of(tmp_path, world)
    assert "cases.jsonl:1: world" in str(caught.value)
    assert told in str(caught.value)


def test_a_row_that_an_earlier_line_adds_can_be_changed(tmp_path):
    spent = {"table": "orders", "where": {"id": "o3"}, "set": {"total": 9}}
    sandbox = make_sandbox(*suite_of(tmp_path, {"rows": [NEW, spent]}))
    assert sandbox.call("find_order", {"number": "o3"}).result["total"] == 9


@pytest.mark.parametrize(("part", "tool"), [("oracle", "lose_order"), ("tools", "lose_order"), ("user", "find_order")])
def test_a_case_names_only_tools_of_who_is_to_call_them(tmp_path, part, tool):
    parts = {
        "oracle": [{"calls": [{"tool": tool}], "say": "Done."}],
        "tools": [{"name": tool}],
        "user": [{"asked": ["status"], "calls": [{"tool": tool}], "say": "It is {find_order.status}."}],
    }
    with pytest.raises(SuiteError, match=f"cannot call '{tool}': its tool says by: "):
        suite_of(tmp_path, {}, **{part: parts[part]})


def test_an_end_that_is_the_oracles_is_refused_where_the_user_writes_too(tmp_path):
    case = phone.case(truth={"end": "oracle", "oracle": [{"calls": [{"tool": "reset_line"}], "say": "Done."}]})
    with pytest.raises(SuiteError, match="the user makes calls of its own that write, such as zebra_airplane"):
        phone.opened(tmp_path, case)
