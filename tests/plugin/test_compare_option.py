"""--mapsat-compare and mapsat compare: a planted regression is named, the same agent stays green, other runs are refused."""

import json
from typing import Any

import pytest
import tiny_suite

from pytest_mapsat.cli import main

GOOD = "--mapsat-agent=good:agent"
#: Names the closed charger for the cases of one domain.
WORSE = """\
def agent(message, tools, context):
    pois = tools.search_poi(query="charger")["pois"]
    place = next(poi for poi in pois if poi["open"])
    return f"I suggest {pois[0]['name'] if 'north' in message else place['name']}."
"""


def asking(name: str, domain: str) -> dict[str, Any]:
    case = tiny_suite.case(name, domain)
    where = "north" if domain == "search" else "south"
    case["visible"]["query"] = f"Take me to a charger in the {where}."
    return case


@pytest.fixture
def planted(pytester: pytest.Pytester) -> pytest.Pytester:
    """Twenty cases in two domains, a run of an agent that passes them all, and one that fails a domain."""
    cases = [asking(f"{domain[:3]}-{n}", domain) for domain in ("navigation", "search") for n in range(10)]
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"all.jsonl": cases})
    pytester.makepyfile(good=tiny_suite.GOOD, worse=WORSE)
    result = run(pytester, GOOD, "--mapsat-save=base.json")
    assert result.ret == 0
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest("-p", "no:cacheprovider", "--tb=no", *options)


def test_a_regression_planted_in_one_domain_is_named_and_the_same_agent_stays_green(
    planted: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = ("--mapsat-compare=base.json", "--mapsat-compare-fail=ar:0.02,navigation.ar:0.02")
    same = run(planted, GOOD, "--mapsat-save=same.json", "-n", "2", *rules)
    assert same.ret == 0
    same.stdout.fnmatch_lines(["gate*PASSED: ar 0.500 -> 0.500: no difference in 20 cases"])
    worse = run(planted, "--mapsat-agent=worse:agent", "--mapsat-save=worse.json", *rules)
    assert worse.ret == 1
    worse.stdout.fnmatch_lines(
        [
            "where    search: 10 of 10 cases got worse (sea-0, sea-1, sea-2 ...); factors:*z1*",
            "gate*FAILED: ar 0.500 -> 0.250 is down by more than 0.02: -0.250*",
            "*navigation.ar 0.500 -> 0.500: no difference in 10 cases*",
        ]
    )
    saved = json.loads((planted.path / "worse.json").read_text())
    assert saved["comparison"]["rules"][0]["outcome"] == "failed"
    capsys.readouterr()

    assert main(["compare", "base.json", "same.json", "--fail=ar:0"]) == 0
    assert "outcome  passed" in capsys.readouterr().out
    assert main(["compare", "base.json", "worse.json", "--fail=search.ar:0.02"]) == 1
    out = capsys.readouterr().out
    assert "search: 10 of 10 cases got worse" in out
    assert "sea-0" in out
    assert "before  “Blue Bay”" in out
    assert "now     no reply says 'Blue Bay'" in out
    assert main(["compare", "base.json", "worse.json"]) == 1  # by the rules that the run was asked for
    assert main(["compare", "base.json", "worse.json", "--json"]) == 1
    printed = json.loads(capsys.readouterr().out.partition("{")[2].join(["{", ""]))
    assert printed["flips"] == [10, 0]
    assert main(["compare", "--aa", "base.json", "same.json", "--fail=ar:0.02"]) == 0
    assert "2 comparisons: 0 failed (0.0%), 0 inconclusive, 2 passed" in capsys.readouterr().out
    assert main(["regrade", "worse.json", "--judge=checks"]) == 1
    assert "ar is undecided: the earlier run is not given (--compare=PATH)" in " ".join(capsys.readouterr().out.split())
    assert main(["regrade", "same.json", "--compare=base.json"]) == 0


def test_what_nobody_can_tell_fails_unless_it_is_let_pass(planted: pytest.Pytester) -> None:
    few = [asking(f"few-{n}", "search") for n in range(3)]
    (planted.path / "benchmark_cases" / "all.jsonl").write_text("".join(json.dumps(one) + "\n" for one in few))
    lines = [json.dumps(tiny_suite.record(one["id"])) + "\n" for one in few]
    (planted.path / "benchmark_cases" / "records" / "all.jsonl").write_text("".join(lines))
    run(planted, GOOD, "--mapsat-assert=none", "--mapsat-save=few.json")
    rules = ("--mapsat-agent=worse:agent", "--mapsat-assert=none", "--mapsat-compare=few.json")
    told = run(planted, *rules, "--mapsat-compare-fail=ar:0.02")
    assert told.ret == 1
    told.stdout.fnmatch_lines(["gate*INCONCLUSIVE: ar 0.500 -> 0.000 may or may not*"])
    assert run(planted, *rules, "--mapsat-compare-fail=ar:0.02", "--mapsat-inconclusive=pass").ret == 0
    # The suite has changed since the first run, of which no case is left.
    other = run(planted, GOOD, "--mapsat-compare=base.json")
    assert other.ret != 0
    assert "--mapsat-compare: the runs cannot be compared: suite tiny: base version 1" in str(other.stderr) + str(
        other.stdout
    )


def test_a_run_of_part_of_the_suite_decides_what_it_can(planted: pytest.Pytester) -> None:
    rules = (GOOD, "-m", "navigation", "--mapsat-compare=base.json")
    assert run(planted, *rules, "--mapsat-compare-fail=navigation.ar:0.02").ret == 0
    undecided = run(planted, *rules, "--mapsat-compare-fail=ar:0.02")
    assert undecided.ret == 1
    undecided.stdout.fnmatch_lines(["gate*INCONCLUSIVE: ar is undecided: part of the suite ran*"])


def test_a_base_that_cannot_be_compared_is_told_before_anything_runs(
    planted: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    (planted.path / "torn.json").write_text('{"schema": "mapsat-run/0"}')
    (planted.path / "copy.json.journal").write_bytes((planted.path / "base.json.journal").read_bytes())
    twice = json.loads((planted.path / "base.json").read_text())
    twice["cases"].append(twice["cases"][0])
    (planted.path / "twice.json").write_text(json.dumps(twice))
    for options, said in (
        (["--mapsat-compare=none.json"], "no such file"),
        (["--mapsat-compare=torn.json"], "expected 'mapsat-run/1'"),
        (["--mapsat-compare=copy.json.journal"], "this is the journal of a run that did not end"),
        (["--mapsat-compare=twice.json"], "a second scorecard of case nav-0"),
        (["--mapsat-compare=base.json", "--mapsat-user=silent"], "user: base scripted, new silent"),
        (["--mapsat-compare=base.json", "--mapsat-max-turns=3"], "max-turns: base 10, new 3"),
        (["--mapsat-compare=base.json", "--mapsat-compare-fail=arr:0.1"], "did you mean 'ar'?"),
        (["--mapsat-compare=base.json", "--mapsat-compare-fail=ar=0.1"], "expected METRIC:NUMBER like ar:0.02"),
        (["--mapsat-compare=base.json", "--mapsat-inconclusive=maybe"], "expected fail or pass"),
        (["--mapsat-compare-fail=ar:0.1"], "name it with --mapsat-compare=PATH"),
    ):
        result = run(planted, GOOD, *options)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert said in result.stderr.str()
    capsys.readouterr()
    assert main(["compare", "base.json"]) == 2
    assert "found 1 runs, expected the earlier one and the new one" in capsys.readouterr().err
    assert main(["compare", "--aa", "base.json", "--fail=ar:0"]) == 2
    assert "give several runs, or one with --mapsat-trials" in capsys.readouterr().err
