"""What a run file keeps of an environment, and what is known of its end when an episode is judged again."""

from decimal import Decimal

import pytest
from hotel import act, case, labels
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.environments import Environments
from pytest_mapsat.formats import begin_with, starts_of
from pytest_mapsat.model import Scorecard, Trajectory
from pytest_mapsat.sandbox import UnknownEndError, cell_of, end_of, key_text


class Memory:
    """An environment of a dict."""

    settle = 0

    def __init__(self, **tables):
        self.now = tables
        self.start = lambda case, session: self

    def tables(self):
        return {name: dict(rows) for name, rows in self.now.items()}

    def close(self):
        pass


def saved(trajectory, starts=None):
    """Return a trajectory as a run file that keeps these starts gives it back."""
    again = Trajectory.model_validate_json(trajectory.model_dump_json())
    card = Scorecard.model_construct(trajectory=again)
    begin_with([card], starts_of([Scorecard.model_construct(trajectory=trajectory)]) if starts is None else starts)
    return again


@pytest.fixture
def played():
    """An episode in which of many orders one changes, one goes and one comes."""
    orders = {f"A{number}": {"total": number} for number in range(1000)}
    memory = Memory(orders=orders)
    checked = case({"kind": "state", "table": "orders", "where": {"id": "A7"}, "has": {"total": 7}})

    def step():
        memory.now["orders"] = {**orders, "A1": {"total": 100}, "B1": {"total": 5}}
        del memory.now["orders"]["A2"]

    return lambda: act(Environments(), memory, step, of=checked)


def test_a_run_keeps_the_rows_of_the_start_and_knows_the_whole_end(played):
    end = end_of(saved(played()), None, None)
    assert len(end.rows("orders")) == 1000
    assert end.state["orders"]["B1"] == {"id": "B1", "total": 5}
    assert "A2" not in end.state["orders"]


def test_a_start_that_is_too_large_leaves_rows_that_changed_and_those_that_are_named(played, monkeypatch):
    monkeypatch.setattr("pytest_mapsat.formats.run_file.MOST_PACKED", 100)
    trajectory = played()
    assert starts_of([Scorecard.model_construct(trajectory=trajectory)]) == {}
    again = saved(trajectory, {})
    rows = end_of(again, None, None).state["orders"]
    assert (rows["A1"]["total"], rows["B1"]["total"], rows["A7"]["total"]) == (100, 5, 7)
    assert "A2" not in rows
    with pytest.raises(UnknownEndError, match="does not keep all rows that orders began with"):
        _ = rows["A3"]
    with pytest.raises(UnknownEndError):
        len(rows)
    checked = case(
        {"kind": "unchanged"},
        {"kind": "unchanged", "except": [{"table": "orders"}]},
        {"kind": "state", "table": "orders", "where": {"id": "A1"}, "has": {"total": 100}},
        {"kind": "state", "table": "orders", "where": {"id": {"op": "one_of", "values": ["A2"]}}, "count": 0},
        {"kind": "state", "table": "orders", "where": {"id": "A3"}},
        {"kind": "state", "table": "orders", "where": {"total": 3}},
        {"kind": "state", "table": "orders", "count": 1000},
    )
    outcomes = [outcome for outcome, _ in labels(checked, again)]
    assert outcomes == ["failed", "passed", "passed", "passed", "unevaluated", "unevaluated", "unevaluated"]
    assert [outcome for outcome, _ in labels(checked, trajectory)][4:] == ["passed", "passed", "passed"]


def test_rows_of_a_start_that_were_edited_are_not_taken_for_it(played):
    trajectory = played()
    starts = starts_of([Scorecard.model_construct(trajectory=trajectory)])
    (name,) = starts
    for packed in ("", "bm90IHppcA==", starts[name][:-40]):
        with pytest.raises(UnknownEndError, match="damaged"):
            end_of(saved(trajectory, {name: packed}), None, None).rows("orders")


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_rows_of_two_keys_have_one_name_only_where_both_are_equal(first, other):
    assert (key_text(*first) == key_text(*other)) == (first == other)


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_decimal_number_is_kept_to_the_last_digit(value):
    kept = cell_of(value)
    assert Decimal(kept if isinstance(kept, str) else repr(kept)) == value


@given(st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.dates(), st.datetimes(), st.uuids(), st.sets(st.text())), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_whatever_a_database_gives_is_json_and_stays_as_it_is(value):
    kept = cell_of(value)
    assert cell_of(kept) == kept
