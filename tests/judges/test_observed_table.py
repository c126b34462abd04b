"""The table of docs/internals/observed.md, observed, check, outcome: each of its rows is judged, and comes out as it says."""

import re
from pathlib import Path

import pytest
from judging import TOOLS, call, case_of, dialogue

from pytest_mapsat import registry
from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.model import KINDS, RowChange, checks
from pytest_mapsat.suite import open_suite

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "checks.md").read_text(encoding="utf-8")
TABLE = (ROOT / "docs" / "internals" / "observed.md").read_text(encoding="utf-8").partition("\n| ")[2]
ROWS = {row[0]: row[1:] for line in TABLE.splitlines()[2:] if len(row := line.strip("| ").split(" | ")) == 3}

ORDERS = {
    order: {"id": order, "user": "u-1", "dish": dish, "price": price, "status": "open"}
    for order, dish, price in (("A1", "noodle soup", 9.5), ("A2", "spring rolls", 6.0))
}
PHARMACIES = {
    "pois": [
        {"name": "Gull Pharmacy", "poiid": "1", "rating": "3.0"},
        {"name": "Mill Pharmacy", "poiid": "2", "rating": "4.8"},
        {"name": "Blue Bay", "poiid": "3", "rating": "4.8"},
        {"name": "Blue Bay", "poiid": "4", "rating": "3.0"},
    ]
}
OPEN = {"rating": {"op": "between", "min": 4.5}}  # what makes a place fit; the table's places are closed or open
CANCELLED = {"kind": "state", "table": "orders", "where": {"id": "A1"}, "has": {"status": "cancelled"}}
ONLY_A1 = {"kind": "unchanged", "except": [{"table": "orders", "where": {"id": "A1"}, "columns": ["status"]}]}
ALONE = {"kind": "unchanged"}
AGREED = {"kind": "calls", "tool": "cancel_order", "agreed": True}
ANSWERED = {"kind": "calls", "tool": "cancel_order", "answered": True}
NOT_GULL = {"kind": "recommends", "none_of": ["Gull Pharmacy"]}
REFUSED = call("cancel_order", "no", "refused", order_id="A1")
FITS = {"kind": "recommends", "where": OPEN}
MINUTES = {"kind": "number", "unit": "min", "equals": {"op": "bound", "tool": "route", "path": "minutes"}}
ROUTE = call("route", {"minutes": 11}, to="here")
MISS = call("route", {"error": "no_recording"}, status="miss", to="here")
BUS = {"kind": "says", "any": ["bus"]}


def cancelled(*orders):
    """Calls that cancelled orders."""
    changes = [
        RowChange(table="orders", id=order, before=ORDERS[order], after=ORDERS[order] | {"status": "cancelled"})
        for order in orders
    ]
    return [
        call("cancel_order", {}, order_id=change.id).model_copy(update={"changed": (change,)}) for change in changes
    ]


def said(reply, *steps):
    return dialogue(reply, steps=steps or [call(result=PHARMACIES, query="pharmacy")])


#: What is observed: the check, the dialogue, the reason that the label gives, and what else holds of the label.
OBSERVED = {
    "order A1 is cancelled at the end": (CANCELLED, dialogue("Done.", steps=cancelled("A1")), "^1 row of orders", {}),
    "order A2 is cancelled, too": (
        ONLY_A1,
        dialogue("Done.", steps=cancelled("A1", "A2")),
        "orders A2",
        {"compared": (("at the start", "at the end"), ("orders A2 status: 'open'", "orders A2 status: 'cancelled'"))},
    ),
    "nothing had to change, and nothing did": (ALONE, dialogue("Hello."), "nothing had to change", {"idle": True}),
    "`cancel_order` was called before the user was asked": (
        AGREED,
        dialogue("Done.", steps=cancelled("A1")),
        r"^cancel_order\(order_id=\"A1\"\) came before the user was asked",
        {},
    ),
    "the service refused the call": (ANSWERED, dialogue("Sorry.", steps=[REFUSED]), "1 refused", {}),
    "no recording answers the call": (MINUTES, said("It takes 10 min.", MISS), "route", {"blame": "sandbox"}),
    '"Go to Gull Pharmacy", which is closed': (FITS, said("Go to Gull Pharmacy."), "'Gull Pharmacy' .chars 6-19.", {}),
    '"Gull Pharmacy or Mill Pharmacy", one of them is closed': (
        FITS | {"only": True},
        said("I recommend Gull Pharmacy or Mill Pharmacy."),
        "'Gull Pharmacy'",
        {},
    ),
    '"Not Gull Pharmacy, it is closed"': (
        NOT_GULL,
        said("Not Gull Pharmacy, it is closed."),
        "nothing recommended is",
        {},
    ),
    '"Blue Bay", a name that two things share': (FITS, said("Go to Blue Bay."), "^undecided: .* says 'Blue Bay'", {}),
    '"about 10 min", a tool returned 11 min': (MINUTES, said("It takes about 10 min.", ROUTE), "", {}),
    "no figure of this unit and role is stated": (MINUTES, said("It is near.", ROUTE), "", {"nothing_claimed": False}),
    '"1 h 20", "8,7/10", "18:30 EST", 两百五': (
        MINUTES,
        said("It takes 1 h 20.", ROUTE),
        "^undecided: .* says '1 h 20' .* is not surely read",
        {},
    ),
    '"There used to be a lift", "less quiet than X"': (
        {"kind": "says", "any": ["lift"]},
        said("There used to be a lift."),
        "^undecided: .* says 'lift' .* unclear whether it is meant that way",
        {},
    ),
    '"Sorry, that cannot be changed"': (
        {"kind": "recommends", "turned_down": ["Gull Pharmacy"]},
        said("Sorry, that cannot be changed."),
        "^undecided: no reply speaks of 'Gull Pharmacy'",
        {},
    ),
    "a blank reply": (BUS, said(" "), "no reply says 'bus'", {}),
    "more than 100,000 characters": (BUS, said("Take the bus. " * 10_000), "^too long to read", {"blame": "judge"}),
    "a check in Python raises": ("raises", said("Hello."), "^the check raises broke", {"blame": "judge"}),
}


def test_every_row_of_the_table_is_judged_here():
    assert list(OBSERVED) == list(ROWS)


@pytest.fixture(autouse=True)
def raising(monkeypatch):
    def raises(episode):
        raise ValueError(episode.replies)

    monkeypatch.setattr(registry, "_added", {"raises": registry.AddedCheck("raises", raises)})


def labels(check, trajectory, kind="explicit"):
    suite = open_suite(Path(__file__).parents[2] / "examples" / "starts" / "shop" / "benchmark_cases")
    case = case_of(**{kind: [{"id": "e", "text": "t", "check": check}]})
    return ChecksJudge({**TOOLS, **suite.tools}, suite=suite).judge(case, trajectory).labels


@pytest.mark.parametrize("observed", OBSERVED)
def test_a_row_comes_out_as_the_table_says(observed):
    check, trajectory, reason, more = OBSERVED[observed]
    told, outcome = ROWS[observed]
    for words in re.findall('^"(.*?)"', observed):
        assert words in trajectory.replies[-1].text
    (label,) = labels(check, trajectory)
    assert check == "raises" or f"`{check['kind']}`" in told or told.startswith(("any check", "a check"))
    open_as = "error" if label.blame == "judge" else "undecided"
    assert (open_as if label.outcome == "unevaluated" else label.outcome) == outcome
    assert label.why.startswith("undecided: ") == (outcome == "undecided" and label.blame is None)
    assert re.search(reason, label.why)
    assert {name: getattr(label, name) for name in more} == more


def test_a_figure_that_nobody_states_passes_where_that_is_allowed():
    check, trajectory, _, _ = OBSERVED["no figure of this unit and role is stated"]
    (label,) = labels(check | {"if_absent": "nothing_claimed"}, trajectory, "facts")
    assert (label.outcome, label.nothing_claimed) == ("passed", True)


def test_every_kind_of_check_has_a_heading_on_the_page():
    headings = " ".join(re.findall("^### .+", PAGE, re.MULTILINE))
    assert [kind for kind in sorted(KINDS - {"python"}) if f"`{kind}`" not in headings] == []


def test_every_field_of_a_check_stands_on_the_page():
    nouns = [noun for noun in vars(checks).values() if "kind" in getattr(noun, "model_fields", ())]
    names = {field.alias or name for noun in nouns for name, field in noun.model_fields.items()} - {"kind"}
    assert {"agreed", "if_absent"} <= names
    assert [
        name for name in sorted(names) if not re.search(rf"`{name}`|^    {{.*[{{ ]{name}: ", PAGE, re.MULTILINE)
    ] == []
