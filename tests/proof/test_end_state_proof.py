"""What lint and the mutants tell of checks on the end state."""

import json

import pytest
import shop

from pytest_mapsat.cli import main

STATE = {"kind": "state", "table": "orders", "where": {"id": "o1"}, "has": {"status": "cancelled"}, "count": 1}
UNCHANGED = {"kind": "unchanged", "except": [{"table": "orders", "where": {"id": "o1"}, "columns": ["status", "why"]}]}
CANCEL = {"tool": "cancel_order", "arguments": {"number": "o1", "reason": "too late"}}
ORACLE = [{"calls": [CANCEL], "say": "Order o1 is cancelled."}]


def ended(*checks, **truth):
    requirements = [{"id": check["kind"], "kind": "asked", "text": check["kind"], "check": check} for check in checks]
    return {**shop.case(), "truth": {"requirements": requirements, "oracle": ORACLE, **truth}}


@pytest.fixture
def lint(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shop, "ORDERS", [*shop.ORDERS, {"id": "o3", "status": "open", "total": 5, "items": []}])
    (tmp_path / "conftest.py").write_text(shop.CONFTEST)

    def run(case, *options):
        shop.write_shop(tmp_path / "suite", case)
        status = main(["lint", "suite", "-p", "conftest.py", "--json", *options])
        return status, json.loads(capsys.readouterr().out)

    return run


def told(findings):
    return {(one["severity"], one["rule"]) for one in findings if one["severity"] != "note"}


def test_a_right_case_is_clean(lint):
    status, findings = lint(ended(STATE, UNCHANGED))
    assert (status, told(findings)) == (0, set())


def test_a_state_that_holds_at_the_start_is_an_error(lint):
    status, findings = lint(ended({**STATE, "has": {"status": "open"}}, UNCHANGED))
    assert ("error", "holds-at-start") in told(findings)
    assert status == 1


def test_an_oracle_that_does_not_reach_the_state_is_told(lint):
    _, findings = lint(ended({**STATE, "has": {"status": "refunded"}}))
    (finding,) = [one for one in findings if one["rule"] == "oracle-fails"]
    assert finding["message"].endswith("the oracle fails state: orders o1: status is 'cancelled'")


def test_a_reference_call_that_is_refused_is_an_error(lint):
    refused = {"tool": "cancel_order", "arguments": {"number": "o2", "reason": "too late"}}
    _, findings = lint(ended({"kind": "same_end"}, end=[refused]))
    (finding,) = [one for one in findings if one["rule"] == "reference"]
    assert "call 1 of the reference, cancel_order, ends as refused" in finding["message"]


@pytest.mark.parametrize("check", [{"kind": "unchanged"}, {"kind": "same_end"}], ids=lambda check: check["kind"])
def test_a_case_that_a_silent_agent_keeps_is_warned_of_unless_another_requirement_fails_it(lint, check):
    look = {"tool": "find_order", "arguments": {"number": "o1"}}
    truth = {"end": [look], "oracle": [{"calls": [look], "say": "It is open."}]}
    assert ("warning", "nothing-to-change") in told(lint(ended(check, **truth))[1])
    asked = {"kind": "calls", "tool": "find_order"}
    assert told(lint(ended(check, asked, **truth))[1]) == set()


def test_a_sandbox_that_nobody_makes_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shop.write_shop(tmp_path / "suite", ended(STATE))
    assert main(["lint", "suite"]) == 2
    assert "name the conftest.py with -p" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("checks", "survived"),
    [
        ((STATE, UNCHANGED), {"altered_write"}),  # another reason is written, which the case allows
        ((STATE,), {"altered_write", "added_write"}),
        (({"kind": "same_end"},), set()),
    ],
)
def test_mutants_drop_add_and_alter_a_write(lint, checks, survived):
    _, told = lint(ended(*checks, end="oracle"), "--mutants")
    assert {one["kind"] for one in told["mutants"]["survived"]} == survived
    assert told["mutants"]["wrong"] == 5


def test_a_write_that_is_made_twice_is_killed(lint, tmp_path):
    """A shop that lets an order be cancelled again, and counts how often."""
    counting = shop.CONFTEST.replace('if order is None or order["status"] != "open":', "if order is None:").replace(
        'status="cancelled"', 'status="cancelled", times=order.get("times", 0) + 1'
    )
    (tmp_path / "conftest.py").write_text(counting)
    _, told = lint(ended({"kind": "same_end"}, end="oracle"), "--mutants")
    assert (
        told["mutants"]["wrong"] == told["mutants"]["killed"] == 7
    )  # five as above, the order twice, and one that had left
