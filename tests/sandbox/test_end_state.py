"""The end of an episode: what changes come to, and where two ends differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.model import Case, RowChange, Step, Tool, Trajectory, Turn, same
from pytest_mapsat.sandbox import (
    End,
    EndError,
    State,
    Table,
    differences,
    maybe_writing,
    net_changes,
    reference_digest,
)

ORDERS = Table("orders", ({"id": "A1", "status": "open", "total": 20}, {"id": "A2", "status": "open", "total": 35}))
A1, A2 = ORDERS.rows


def changed(row, **columns):
    return RowChange(table="orders", id=row["id"], before=row, after={**row, **columns})


def added(row_id, table="orders", **columns):
    return RowChange(table=table, id=row_id, after={"id": row_id, **columns})


def removed(row):
    return RowChange(table="orders", id=row["id"], before=row)


def episode(*calls, setup=()):
    steps = [Step(kind="call", tool="write", changed=changes) for changes in calls]
    turns = (Turn(role="user", text="Go."), Turn(role="agent", text="Done.", steps=tuple(steps)))
    return Trajectory(case="c", turns=turns, setup=setup)


def end(*calls, setup=()):
    return End({"orders": ORDERS}, episode(*calls, setup=setup))


def test_the_end_is_the_start_with_every_change_laid_on():
    cancelled = changed(A1, status="cancelled")
    refunded = changed(cancelled.after, refund=20)
    ended = end((cancelled,), (refunded, added("A3", total=1)), (removed(A2),))
    assert [dict(row) for row in ended.rows("orders")] == [refunded.after, {"id": "A3", "total": 1}]
    assert ended.state["orders"]["A1"]["refund"] == 20
    assert [(one.id, one.before, one.after) for one in ended.changes] == [
        ("A1", A1, refunded.after),
        ("A2", A2, None),
        ("A3", None, {"id": "A3", "total": 1}),
    ]


def test_a_row_that_ends_as_it_began_has_not_changed():
    there = changed(A1, status="cancelled")
    back = RowChange(table="orders", id="A1", before=there.after, after=A1)
    new = added("A3", total=1)
    gone = RowChange(table="orders", id="A3", before=new.after)
    assert end((there,), (back,), (new,), (gone,)).changes == ()


def test_what_the_sandbox_set_up_is_part_of_the_start():
    ended = end((changed({**A1, "total": 21}, status="paid"),), setup=(changed(A1, total=21),))
    assert [one.before["total"] for one in ended.changes] == [21]
    assert ended.state["orders"]["A1"] == {"id": "A1", "status": "paid", "total": 21}


def test_a_run_on_tables_that_were_edited_since_is_refused():
    with pytest.raises(EndError, match="orders A1 is not what the episode found there"):
        end((changed({**A1, "total": 99}, status="paid"),))


def test_a_table_that_does_not_exist_is_told_with_the_nearest_name():
    with pytest.raises(EndError, match=r"no table 'order' in state/ \(did you mean 'orders'\?\)"):
        end().rows("order")


def test_a_million_changes_are_refused():
    rows = [changed(A1, total=1), RowChange(table="orders", id="A1", before={**A1, "total": 1}, after=A1)]
    with pytest.raises(EndError, match="changed more than 100,000 rows"):
        end(tuple(rows * 500_000))


def test_nobody_writes_to_the_end():
    with pytest.raises(Exception, match="outside a tool that writes"):
        end().state["orders"].change("A1", total=0)


def differ(wanted, ended):
    return [(one.table, one.row, one.column) for one in differences(wanted, ended)]


def test_the_same_writes_in_another_order_lead_to_the_same_end():
    one, other = changed(A1, status="cancelled"), changed(A2, total=36)
    assert differ(net_changes([one, other]), net_changes([other, one])) == []


def test_a_second_order_that_is_cancelled_is_named():
    wanted = [changed(A1, status="cancelled")]
    ended = [*wanted, changed(A2, status="cancelled")]
    (found,) = differences(wanted, ended)
    assert found.sides == ("orders A2 status: 'open'", "orders A2 status: 'cancelled'")


def test_a_write_that_is_missing_is_named():
    assert differ([changed(A1, status="cancelled")], []) == [("orders", "A1", "status")]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (25, 25.0, True),
        ({"a": 1, "b": [1.0]}, {"b": [1], "a": 1.0}, True),
        (True, 1, False),
        ("25", 25, False),
        ([1, 2], [2, 1], False),
        (None, 0, False),
    ],
)
def test_numbers_have_one_value_however_they_are_written(one, other, alike):
    assert same(one, other) is alike
    assert (differ([changed(A1, total=one)], [changed(A1, total=other)]) == []) is alike


def test_the_names_of_new_ids_do_not_count():
    wanted = [added("N1", total=5, next="N2"), added("N2", total=6), changed(A1, orders=["N1", "N2"], by={"N1": 1})]
    ended = [added("x9", total=6), added("x7", total=5, next="x9"), changed(A1, orders=["x7", "x9"], by={"x7": 1})]
    assert differ(wanted, ended) == []


def test_new_rows_that_refer_to_each_other_otherwise_differ():
    wanted = [added("N1", total=5), added("N2", total=6), changed(A1, first="N1")]
    ended = [added("N1", total=5), added("N2", total=6), changed(A1, first="N2")]
    assert differ(wanted, ended) == [("orders", "A1", "first")]


def test_a_new_row_is_compared_with_the_most_alike_one():
    wanted = [added("N1", total=5, size="L", colour="red")]
    ended = [added("M1", total=5, size="L", colour="blue")]
    assert [one.sides for one in differences(wanted, ended)] == [
        ("orders M1 colour: 'red'", "orders M1 colour: 'blue'")
    ]


def test_a_row_too_many_and_one_too_few_are_told():
    assert differ([added("N1", total=5)], []) == [("orders", "N1", "")]
    assert [one.sides[0] for one in differences([], [added("N1", total=5)])] == ["orders N1: nothing"]
    assert differ([added("N1", total=5)], [added("N1", total=5), added("N2", total=5)]) == [("orders", "N2", "")]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.sampled_from(["N1", "N2", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abN"), inner, max_size=3),
    max_leaves=6,
)
rows = st.dictionaries(st.sampled_from(["a", "b", "c"]), values, max_size=3)


@given(st.lists(rows, max_size=4), st.lists(rows, min_size=2, max_size=2), st.randoms(use_true_random=False))
def test_renamed_ids_and_another_order_never_differ(new, old, random):
    names = [f"N{number}" for number in range(len(new))]
    other = [f"new {number}" for number in random.sample(range(100), len(new))]
    renamed = dict(zip(names, other, strict=True))

    def rename(value):
        if isinstance(value, dict):
            return {renamed.get(key, key): rename(member) for key, member in value.items()}
        if isinstance(value, list):
            return [rename(member) for member in value]
        return renamed.get(value, value) if isinstance(value, str) else value

    wanted = [added(name, **row) for name, row in zip(names, new, strict=True)]
    wanted += [changed(row, **columns) for row, columns in zip((A1, A2), old, strict=True)]
    ended = [one.model_copy(update={"id": renamed.get(one.id, one.id), "after": rename(one.after)}) for one in wanted]
    random.shuffle(ended)
    assert differ(wanted, ended) == []


@given(st.lists(rows, min_size=1, max_size=4), st.data())
def test_one_altered_column_is_always_told(new, data):
    wanted = [added(f"N{number}", **row) for number, row in enumerate(new)]
    at = data.draw(st.integers(0, len(new) - 1))
    ended = [*wanted]
    ended[at] = ended[at].model_copy(update={"after": {**ended[at].after, "extra": "changed"}})
    assert differ(wanted, ended) != []


# -- independent writes --------------------------------------------------------------------------------------------------


@given(
    writes=st.lists(
        st.tuples(st.sampled_from(["A1", "A2", "A3", "new1", "new2"]), st.sampled_from(["status", "total"]), st.integers(0, 3)),
        max_size=6,
        unique_by=lambda write: write[:2],
    ),
    data=st.data(),
)  # fmt: skip
def test_independent_writes_in_two_orders_come_to_the_same_end(writes, data):
    """Writes of different columns touch nothing of each other; a new row is there with the first of its own."""

    def played(order):
        state = State({"orders": ORDERS})
        rows, steps = state["orders"], []
        for row_id, column, value in order:
            if row_id in rows:
                rows.change(row_id, **{column: value})
            elif row_id.startswith("new"):
                rows.add({"id": row_id, "status": None, "total": None, column: value})
            steps.append(state.writing.done())
        return end(*steps)

    first, other = played(writes), played(data.draw(st.permutations(writes)))
    assert first.changes == other.changes
    assert list(differences(first.changes, other.changes)) == []
    assert sorted(map(str, first.rows("orders"))) == sorted(map(str, other.rows("orders")))


def test_a_new_row_is_compared_with_the_most_alike_one_wherever_that_stands():
    wanted = [added("N1", total=5, city="Bern", why="gift")]
    for ids in (("M1", "M2"), ("M2", "M1")):
        ended = [added(ids[0], total=9, city="Rome", why="none"), added(ids[1], total=5, city="Bern", why="late")]
        places = {(one.row, one.column, one.wanted) for one in differences(wanted, ended) if one.column}
        assert places == {(ids[1], "why", "gift")}


def test_what_a_record_lacks_of_a_tool_that_only_reads_changes_nothing():
    tools = {
        name: Tool(name=name, description="Does it.", parameters={"type": "object"}, effect=effect)
        for name, effect in (("book", "write"), ("look", "read"))
    }

    def untold(*names, parts=("changed",), **fields):
        steps = tuple(Step(kind="call", tool=name, unknown=parts) for name in names)
        turns = (Turn(role="user", text="Go."), Turn(role="agent", text="Done.", steps=steps))
        return maybe_writing(Trajectory(case="c", turns=turns, **fields), tools)

    assert untold("look", "book", "other", "book") == ("book", "other")
    assert untold("look") == ()
    assert untold("book", parts=("result",)) == ()
    assert untold(calls_untold=True) == ("any tool",)


def test_as_many_changes_as_are_said_are_laid_on_and_no_more(monkeypatch):
    monkeypatch.setattr("pytest_mapsat.sandbox.end.MOST_CHANGES", 2)
    one, other, third = changed(A1, total=1), changed(A2, total=2), added("A3")
    assert len(end((one,), (other,)).changes) == 2
    with pytest.raises(EndError, match="changed more than 2 rows"):
        end((other, third), setup=(one,))


def test_new_rows_that_have_no_like_are_each_told_and_each_is_compared_once():
    one, other = added("N1", total=5, city="Bern"), added("N2", total=6, city="Rome")
    assert differ([one, other], []) == [("orders", "N1", ""), ("orders", "N2", "")]
    assert differ([], [one, other]) == [("orders", "N1", ""), ("orders", "N2", "")]
    assert differ([one, added("G1", "guests")], [other]) == [
        ("guests", "G1", ""),
        ("orders", "N2", "city"),
        ("orders", "N2", "total"),
    ]
    ended = [added("M1", total=5, city="Oslo"), added("M2", total=7, city="Riga")]
    assert differ([one, added("N2", total=5, city="Rome")], ended) == [
        ("orders", "M1", "city"),
        ("orders", "M2", "city"),
        ("orders", "M2", "total"),
    ]


def test_of_very_many_unequal_new_rows_the_most_alike_are_not_looked_for():
    missing = [added(f"N{number:03}", total=number, why="gift") for number in range(100)]
    extra = [added(f"M{number:03}", total=number, why="late") for number in range(101)]
    assert {column for _, _, column in differ(missing, extra[:100])} == {"why"}
    assert {column for _, _, column in differ(missing, extra)} == {""}


def test_new_rows_in_a_chain_are_told_apart_by_the_last_of_them_so_far_and_no_further(monkeypatch):
    monkeypatch.setattr("pytest_mapsat.sandbox.end._FURTHEST", 6)

    def chains(length):
        return [
            added(f"{name}{at}", **({"next": f"{name}{at + 1}"} if at + 1 < length else {"total": name}))
            for name in "XY"
            for at in range(length)
        ]

    for length, told in ((2, True), (6, True), (7, False)):
        wanted, ended = ([*chains(length), changed(A1, first=first)] for first in ("X0", "Y0"))
        assert (differ(wanted, ended) == [("orders", "A1", "first")]) is told


def test_a_reference_is_known_by_its_calls():
    def digest_of(*calls):
        truth = {"requirements": [], **({"end": list(calls)} if calls else {})}
        return reference_digest(Case.model_validate({"id": "c", "visible": {"query": "Go."}, "truth": truth}))

    one, other = ({"tool": "book", "arguments": {"room": room}} for room in (1, 2))
    assert len({digest_of(), digest_of(one), digest_of(other), digest_of(one, other), digest_of(other, one)}) == 5
    assert digest_of(one) == digest_of(one)
