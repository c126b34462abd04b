"""The hook pytest_mapsat_sandbox: a stateful sandbox end to end, with refusals, workers, trials and regrading."""

import json

import pytest
import shop

from pytest_mapsat.cli import main


@pytest.fixture
def store(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with the shop's suite of two cases, its sandbox in the conftest, and an agent that cancels an order."""
    shop.write_shop(pytester.path / "benchmark_cases", shop.case("cancel"), shop.case("again"))
    pytester.makeconftest(shop.CONFTEST)
    pytester.makepyfile(good=shop.GOOD)
    return pytester


def cards(store: pytest.Pytester, name: str = "run.json") -> list[dict]:
    return json.loads((store.path / name).read_text())["cases"]


def test_a_stateful_sandbox_from_a_conftest_end_to_end(store, monkeypatch, capsys):
    run = ("--mapsat-agent=good:agent", "--mapsat-save=run.json", "--mapsat-trials=2", "--mapsat-fail-on=all")
    result = store.runpytest_subprocess("-v", *run, "-n", "2")
    result.assert_outcomes(passed=4)  # each episode starts from the initial state, or its second call would be refused
    result.stdout.fnmatch_lines(["sandbox    20 calls: 4 exact, 16 computed, 4 of them refused"])
    for card in cards(store):
        steps = card["trajectory"]["turns"][1]["steps"]
        assert [step.get("status", "ok") for step in steps] == ["refused", "ok", "ok", "ok", "ok"]
        assert [len(step.get("changed", ())) for step in steps] == [0, 0, 1, 0, 0]
        (row,) = steps[2]["changed"]
        assert (row["id"], row["before"]["status"], row["after"]["status"]) == ("o1", "open", "cancelled")
        assert (
            row["after"]["why"] == "changed mind"
        )  # the sandbox gets the value that is allowed; the agent's own word stands in the arguments
        assert (card["calls"]["refused"], card["calls"]["failed"], card["metrics"]["ts"]) == (1, 0, 2 / 3)
    monkeypatch.chdir(store.path)
    store.makeconftest("")  # the sandbox is gone
    assert main(["regrade", "run.json", "--save", "again.json"]) == 0
    assert cards(store, "again.json") == cards(store)
    capsys.readouterr()


def test_a_failure_tells_what_was_refused_and_which_rows_changed(store):
    store.makepyfile(bad=shop.GOOD.replace("    hours =", "    return 'No.'\n    hours ="))
    result = store.runpytest("--mapsat-agent=bad:agent", "--mapsat-fail-on=success", "-k", "cancel")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    case = store.path / "benchmark_cases" / "cases.jsonl"
    case.write_text(case.read_text().replace('"tool": "find_order"}}]', '"tool": "find_order", "at_most": 1}}]'))
    result = store.runpytest("--mapsat-agent=bad:agent", "--mapsat-fail-on=policies", "-k", "cancel")
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(
        [
            '*-> cancel_order(number="o2", reason="too late")  [[]refused[]]',
            "*only an open order can be*",
            "*orders o1: status 'open' became 'cancelled', why nothing became*",
        ]
    )


@pytest.mark.parametrize(
    ("conftest", "said"),
    [
        (shop.CONFTEST.replace("        order = self.orders.get(number)\n        return", "        return 1 / 0\n        return"),
         "the sandbox broke in find_order: ZeroDivisionError: division by zero"),
        (shop.CONFTEST.replace('        self.orders = state["orders"]', "        raise KeyboardInterrupt"),
         "the sandbox could not be made: KeyboardInterrupt: no message"),
        (shop.CONFTEST.replace("    return Shop if", "    raise ValueError('no') if"),
         "pytest_mapsat_sandbox of conftest.py: ValueError: no"),
        ("", "suite.yaml of shop has options of a sandbox in Python, but no sandbox is there"),
    ],
)  # fmt: skip
def test_a_sandbox_that_breaks_is_laid_to_the_infrastructure(store, conftest, said):
    store.makeconftest(conftest)
    result = store.runpytest("--mapsat-agent=good:agent", "--mapsat-save=run.json", "-k", "cancel")
    result.assert_outcomes(errors=1, deselected=1)
    (card,) = cards(store)
    assert (card["outcome"], card["blame"], card["metrics"]["ar"]) == ("error", "infrastructure", None)
    assert said in card["reason"]
    result.stdout.fnmatch_lines(["gate*INVALID: 1 case lost (infrastructure 1: *)"])


def test_a_hook_in_the_suites_own_folder_is_refused(store):
    store.makeconftest("")
    (store.path / "benchmark_cases" / "conftest.py").write_text(shop.CONFTEST)
    result = store.runpytest("--mapsat-agent=good:agent", "--mapsat-save=run.json", "-k", "cancel")
    result.assert_outcomes(errors=1, deselected=1)
    assert (
        "pytest_mapsat_sandbox of conftest.py stands in the suite 'shop', whose folder is data"
        in cards(store)[0]["reason"]
    )


def test_lint_plays_oracles_in_the_sandbox_that_it_is_given(store, monkeypatch, capsys):
    oracle = [
        {"calls": [{"tool": "cancel_order", "arguments": {"number": "o1", "reason": "too late"}}], "say": "Done."}
    ]
    case = shop.case()
    case["truth"]["oracle"] = oracle
    shop.write_shop(store.path / "benchmark_cases", case)
    monkeypatch.chdir(store.path)
    assert main(["lint", "benchmark_cases", "-p", "conftest.py"]) == 0
    assert "miss" not in capsys.readouterr().out
    assert main(["lint", "benchmark_cases"]) == 0  # the conftest of the root is loaded by itself
    assert "miss" not in capsys.readouterr().out


def test_a_hook_that_gives_no_sandbox_is_told_by_lint_and_at_the_miss(store, monkeypatch, capsys):
    store.makeconftest("def pytest_mapsat_sandbox(config, case, suite): return None")
    manifest = store.path / "benchmark_cases" / "suite.yaml"
    lines = manifest.read_text().splitlines()
    manifest.write_text("\n".join(line for line in lines if not line.startswith("sandbox:")) + "\n")
    monkeypatch.chdir(store.path)
    main(["lint", "benchmark_cases"])
    out = capsys.readouterr().out
    assert "has no recording: every call misses (pytest_mapsat_sandbox returned None for all cases)" in out
    store.runpytest("--mapsat-agent=good:agent", "--mapsat-save=run.json", "-k", "cancel")
    assert ", and pytest_mapsat_sandbox returned None for it" in json.dumps(cards(store))


def test_lint_tells_why_the_sandbox_broke_and_which_tool_has_no_method(store, monkeypatch, capsys):
    case = shop.case()
    case["truth"]["oracle"] = [{"calls": [{"tool": "find_order", "arguments": {"number": "o1"}}], "say": "Done."}]
    shop.write_shop(store.path / "benchmark_cases", case)
    monkeypatch.chdir(store.path)
    broken = shop.CONFTEST.replace(
        "        order = self.orders.get(number)\n        return", "        return 1 / 0\n        return"
    )
    store.makepyfile(broken=broken, other=shop.CONFTEST.replace("def find_order", "def find_an_order"))
    assert main(["lint", "benchmark_cases", "-p", "broken.py"]) == 1
    assert (
        "cannot be played: the sandbox broke in find_order: ZeroDivisionError: division by zero"
        in capsys.readouterr().out
    )
    assert main(["lint", "benchmark_cases", "-p", "other.py"]) == 1
    assert "has no method find_order, and nothing is recorded for that tool" in capsys.readouterr().out
