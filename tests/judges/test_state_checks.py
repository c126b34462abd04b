"""The checks on the end state, each judged on tables of a few rows: what passes, what fails, what is the case's own slip, and every word of it."""

from types import SimpleNamespace

import pytest
from judging import call, check_of

from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.model import Case, ReferenceEnd, RowChange, Trajectory, Turn
from pytest_mapsat.sandbox import Table, reference_digest

A1 = {"id": "A1", "status": "open", "total": 20, "hours": "all day?", "items": [{"sku": "s1"}, {"sku": "s2"}]}
A2 = {"id": "A2", "status": "open", "total": 35, "hours": "09:00-17:00", "items": []}
A3 = {"id": "A3", "status": "paid", "total": 35, "hours": "09:00-17:00", "items": []}
ORDERS = Table("orders", (A1, A2, A3))
GUESTS = Table("guests", ({"id": "G1", "name": "Jo"},))
OPEN = {"op": "open_at", "time": "10:00"}


def changed(row, **columns):
    return RowChange(table="orders", id=row["id"], before=row, after={**row, **columns})


def removed(row):
    return RowChange(table="orders", id=row["id"], before=row)


def added(row_id, table="orders", **columns):
    return RowChange(table=table, id=row_id, after={"id": row_id, **columns})


def judge(kind, *changes, reference=None, problem="", tables=(ORDERS, GUESTS), **fields):
    """The finding on an episode whose one call made these changes."""
    truth = {} if reference is None else {"end": [{"tool": "write", "arguments": {}}]}
    case = Case.model_validate({"id": "c1", "visible": {"query": "Go."}, "truth": {"requirements": [], **truth}})
    kept = None
    if reference is not None:
        kept = ReferenceEnd(calls=reference_digest(case), changes=tuple(reference), problem=problem)
    step = call("write", {"ok": True}).model_copy(update={"changed": changes})
    turns = (Turn(role="user", text="Go."), Turn(role="agent", text="Done.", steps=(step,)))
    suite = SimpleNamespace(tables={table.name: table for table in tables})
    context = JudgedDialogue.of(case, Trajectory(case="c1", turns=turns, reference=kept), {}, suite=suite)
    return evaluate(check_of(kind, **fields), context)


CANCELLED = changed(A1, status="cancelled")


@pytest.mark.parametrize(
    ("fields", "passed", "why", "wanted"),
    [
        ({"where": {"status": "open"}}, True, "2 rows of orders with status equal to 'open' at the end", "at least 1 row of orders with status equal to 'open'"),
        ({"where": {"status": "gone"}}, False, "no rows of orders with status equal to 'gone' at the end", "at least 1 row of orders with status equal to 'gone'"),
        ({"where": {"status": "open"}, "count": 2}, True, "2 rows", "2 rows of orders"),
        ({"where": {"status": "open"}, "count": 1}, False, "2 rows", "1 row of orders"),
        ({"where": {"status": "open"}, "count": 3}, False, "2 rows", "3 rows of orders"),
        ({"where": {"status": "paid"}, "count": 1}, True, "1 row of", "1 row of orders"),
        ({"where": {"status": "gone"}, "count": 0}, True, "no rows", "no rows of orders"),
        ({"has": {"total": {"op": "between", "min": 20}}}, True, "3 rows", "at least 1 row of orders, each with total at least 20"),
        ({"where": {"id": "A1"}, "count": 1, "has": {"status": "open"}}, True, "1 row", "1 row of orders with id equal to 'A1', with status equal to 'open'"),
        ({"where": {"total": 35}, "has": {"status": "open"}}, False, "orders A3: status is 'paid'", "at least 1 row of orders with total equal to 35, each with status equal to 'open'"),
        ({"where": {"id": "A1"}, "has": {"items.*.sku": "s9"}}, False, "orders A1: items.*.sku is 's1' and 's2'", ""),
        ({"where": {"id": "A2"}, "has": {"items.*.sku": "s1"}}, False, "orders A2: items.*.sku is not there", ""),
        ({"where": {"hours": OPEN}}, None, "it is unclear which rows of orders are meant", ""),
        ({"where": {"status": "open"}, "has": {"hours": OPEN}}, None, "it is unclear whether each has what it must: 2 rows", ""),
        ({"where": {"status": "open"}, "has": {"hours": OPEN, "total": 20}}, False, "orders A2: total is 35", ""),
    ],
)  # fmt: skip
def test_rows_at_the_end_are_counted_and_each_is_held_against_what_it_must_have(fields, passed, why, wanted):
    finding = judge("state", table="orders", **fields)
    assert (finding.passed, finding.broken) == (passed, False)
    assert finding.why.startswith(why)
    assert finding.wanted.startswith(wanted)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"table": "order"}, "the suite has no table 'order'"),
        ({"where": {"state": "open"}}, "no row of orders has a column 'state' (did you mean 'status'?)"),
        ({"has": {"zzzzzz": 1}}, "no row of orders has a column 'zzzzzz' (there are: hours, id, items, status, total)"),
        ({"where": {"id": "A9"}, "count": 0}, "no row of orders ever had the id 'A9'"),
        ({"where": {"id": {"op": "one_of", "values": ["A1", "A9"]}}, "count": 0}, "no row of orders ever had the id 'A9'"),
    ],
)  # fmt: skip
def test_a_slip_of_the_case_decides_nothing(fields, why):
    finding = judge("state", **{"table": "orders", "count": 1, **fields})
    assert (finding.passed, finding.broken) == (None, True)
    assert why in finding.why


def test_an_id_that_was_there_for_a_while_is_no_slip():
    kept = judge("state", removed(A1), table="orders", where={"id": "A1"}, count=0)
    assert (kept.passed, kept.broken) == (True, False)
    gone = judge("state", added("A9"), removed({"id": "A9"}), table="orders", where={"id": "A9"}, count=0)
    assert (gone.passed, gone.broken) == (True, False)
    one = judge("state", removed(A1), table="orders", where={"id": {"op": "one_of", "values": ["A1"]}}, count=0)
    assert (one.passed, one.broken) == (True, False)
    elsewhere = judge("state", added("A9", "guests"), removed(A1), table="orders", where={"id": "A9"}, count=0)
    assert elsewhere.broken


def test_two_rows_with_one_id_are_a_slip_and_two_without_a_match_are_not():
    twice = Table("orders", (A1, {**A1, "total": 5}, A2))
    finding = judge("state", table="orders", where={"status": "open"}, tables=(twice,))
    assert (finding.passed, finding.why) == (None, "two rows of orders have the id 'A1'")
    assert judge("state", table="orders", where={"id": "A2"}, tables=(twice,)).passed is True


def test_an_id_that_no_row_had_is_a_slip_only_where_no_row_is_wanted():
    finding = judge("state", table="orders", where={"id": "A9"}, count=1)
    assert (finding.passed, finding.broken) == (False, False)
    assert judge("state", table="orders", where={"id": "A9"}, count=0).broken
    assert judge("state", table="orders", where={"id": "A1"}, count=0).passed is False


def test_the_column_of_the_ids_is_that_of_the_changes():
    row = {"number": "7", "status": "open", "id": "x"}
    twin = {**row, "number": "8"}
    change = RowChange(table="orders", id="7", key="number", before=row, after={**row, "status": "paid"})
    tables = (Table("orders", (row, twin)),)
    finding = judge("state", change, table="orders", count=2, has={"status": "paid"}, tables=tables)
    assert (finding.passed, finding.why) == (False, "orders 8: status is 'open'")
    never = judge("state", change, table="orders", where={"number": "9"}, count=0, tables=tables)
    assert (never.broken, never.why) == (True, "no row of orders ever had the number '9'")


def test_a_column_that_only_a_new_row_or_only_an_old_one_has_is_known():
    assert judge("state", added("A4", why="late"), table="orders", where={"why": "late"}, count=1).passed is True
    assert judge("state", removed(A3), table="orders", where={"status": "paid"}, count=0).passed is True
    assert judge("state", table="orders", where={"x": 1}, count=0, tables=(Table("orders", ()),)).passed is True


def test_what_had_to_change_and_did_not_is_marked():
    as_it_was = judge("state", table="orders", where={"id": "A2"}, has={"status": "open"})
    assert (as_it_was.passed, as_it_was.idle) == (True, True)
    assert as_it_was.why.endswith(", as at the start: nothing had to change")
    other = judge("state", added("G2", "guests"), table="orders", where={"id": "A2"}, has={"status": "open"})
    assert other.idle
    moved = judge("state", CANCELLED, table="orders", where={"id": "A1"}, has={"status": "cancelled"})
    assert (moved.passed, moved.idle) == (True, False)
    assert "as at the start" not in moved.why


def test_a_failure_shows_the_changes_of_its_own_table():
    changes = (CANCELLED, added("G2", "guests"))
    for fields in ({"where": {"status": "open"}, "count": 2}, {"where": {"id": "A1"}, "has": {"status": "open"}}):
        finding = judge("state", *changes, table="orders", **fields)
        assert finding.passed is False
        assert finding.compared[0] == ("at the start", "at the end")
        assert "'cancelled'" in "".join(finding.compared[1])
        assert not any("G2" in side for line in finding.compared for side in line)
    assert judge("state", table="orders", where={"status": "open"}, count=1).compared == ()


def test_a_long_comparison_and_a_long_reason_are_cut():
    many = [added(f"B{n:03}", status="open") for n in range(90)]
    finding = judge("state", *many, table="orders", where={"status": "open"}, count=1)
    assert len(finding.compared) == 41
    finding = judge("state", *many, table="orders", where={"status": "open"}, has={"status": "paid"})
    assert finding.why.count("; ") < 10


ONE = [{"table": "orders", "where": {"id": "A1"}, "columns": ["status"]}]


@pytest.mark.parametrize(
    ("changes", "exempt", "passed", "why"),
    [
        ((), (), True, "nothing changed, and nothing had to change"),
        ((), ONE, True, "nothing changed"),
        ((CANCELLED,), ONE, True, "1 row changed, as allowed"),
        ((CANCELLED,), (), False, "1 row changed that should not have: orders A1"),
        ((CANCELLED, changed(A2, status="cancelled")), ONE, False, "1 row changed that should not have: orders A2"),
        ((changed(A1, total=1),), ONE, False, "1 row changed that should not have: orders A1"),
        ((changed(A1, total=1, status="x"),), ONE, False, "1 row changed that should not have: orders A1"),
        ((removed(A1),), ONE, False, "1 row changed that should not have: orders A1"),
        ((added("A1b", status="open"),), [{"table": "orders", "columns": ["id", "status"]}], False, "1 row changed"),
        ((removed(A1), changed(A2, total=1)), [{"table": "orders"}], True, "2 rows changed, as allowed"),
        ((added("A9", total=1),), [{"table": "orders", "where": {"total": 1}}], True, "1 row changed, as allowed"),
        ((removed(A3),), [{"table": "orders", "where": {"status": "paid"}}], True, "1 row changed, as allowed"),
        ((changed(A3, status="x"),), [{"table": "orders", "where": {"status": "paid"}}], True, "1 row changed"),
        ((changed(A3, status="x"),), [{"table": "orders", "where": {"status": "x"}}], True, "1 row changed"),
        ((CANCELLED, added("G2", "guests")), [*ONE, {"table": "guests"}], True, "2 rows changed, as allowed"),
        ((added("G2", "guests"),), ONE, False, "1 row changed that should not have: guests G2"),
        ((changed(A1, total=1),), [{"table": "orders", "where": {"hours": OPEN}}], None, "it is unclear whether the changed rows"),
        ((changed(A1, total=1),), [{"table": "orders", "where": {"hours": OPEN}}, {"table": "orders"}], True, "1 row changed"),
        ((changed(A1, total=1), changed(A3, total=2)), [{"table": "orders", "where": {"hours": OPEN, "status": "open"}}], False, "1 row changed that should not have: orders A3"),
    ],
)  # fmt: skip
def test_what_changed_must_be_exempt(changes, exempt, passed, why):
    finding = judge("unchanged", *changes, **{"except": list(exempt)})
    assert (finding.passed, finding.broken) == (passed, False)
    assert finding.why.startswith(why)
    assert finding.idle is (not changes and not exempt)
    assert bool(finding.compared) is (passed is False)


def test_what_is_exempt_is_told_in_words():
    both = [*ONE, {"table": "guests"}, {"table": "orders", "columns": ["status", "total"]}]
    assert judge("unchanged", **{"except": both}).wanted == (
        "nothing changes except status in orders with id equal to 'A1', guests, status and total in orders"
    )
    assert judge("unchanged").wanted == "nothing changes"
    unknown = judge("unchanged", **{"except": [{"table": "order"}]})
    assert (unknown.passed, unknown.broken) == (None, True)


@pytest.mark.parametrize(
    ("reference", "changes", "passed", "why"),
    [
        ((CANCELLED,), (CANCELLED,), True, "the end equals the reference: 1 row changed"),
        ((), (), True, "nothing had to change, and nothing did"),
        ((CANCELLED,), (), False, "the end differs from the reference in orders A1 status"),
        ((), (CANCELLED,), False, "the end differs from the reference in orders A1 status"),
        ((), (removed(A3),), False, "the end differs from the reference in orders A3"),
        ((added("A9", total=5),), (added("A8", total=5.0),), True, "the end equals the reference: 1 row changed"),
    ],
)
def test_an_end_is_held_against_that_of_the_reference(reference, changes, passed, why):
    finding = judge("same_end", *changes, reference=reference)
    assert (finding.passed, finding.broken, finding.why) == (passed, False, why)
    assert finding.idle is (not reference and not changes)
    assert finding.compared[:1] == (() if passed else (("reference", "episode"),))
    assert finding.wanted == "the episode ends as it does after the reference calls"


def test_a_reference_that_is_missing_or_breaks_decides_nothing():
    for finding, why in (
        (judge("same_end"), "the case has no reference: give truth.end"),
        (judge("same_end", reference=(), problem="call 1 ends as error"), "call 1 ends as error"),
    ):
        assert (finding.passed, finding.broken, finding.why) == (None, True, why)
    edited = judge("same_end", changed({**A1, "total": 1}, status="x"), reference=())
    assert (edited.passed, edited.broken) == (None, True)


def test_many_differences_are_cut():
    finding = judge("same_end", *(added(f"B{n:03}") for n in range(90)), reference=())
    assert len(finding.compared) == 41
