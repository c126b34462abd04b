"""--mapsat-sample: a run of some cases, drawn so that a smaller sample lies in a larger one, which counts as a whole."""

from fnmatch import fnmatch
from typing import Any

import pytest
import tiny_suite
from saved_runs import saved_timeless

from pytest_mapsat.cli import main

GOOD = "--mapsat-agent=good:agent"
GATE = "--mapsat-fail-under=ar=0.4"


@pytest.fixture
def towns(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with 16 cases in three files: 10 of scenario ``route``, 4 of ``place``, 2 of ``park``, in two cities."""
    scenarios = ["route"] * 10 + ["place"] * 4 + ["park"] * 2
    cases = [
        tiny_suite.case(
            f"c-{number:02}",
            "search" if name == "place" else "navigation",
            attributes={"scenario": name, "city": "xy"[number % 2]},
        )
        for number, name in enumerate(scenarios)
    ]
    tiny_suite.write_suite(
        pytester.path / "benchmark_cases", {"a.yaml": cases[:3], "nav/b.jsonl": cases[3:10], "c.jsonl": cases[10:]}
    )
    _drawn(pytester, "{by: [scenario, city]}")
    pytester.makepyfile(good=tiny_suite.GOOD)
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider\n")
    return pytester


def _drawn(project: pytest.Pytester, terms: str) -> None:
    """Let the suite say how samples are drawn."""
    manifest = project.path / "benchmark_cases" / "suite.yaml"
    kept = [line for line in manifest.read_text().splitlines() if not line.startswith("sample:")]
    manifest.write_text("\n".join([*kept, f"sample: {terms}\n"]))


def ids(run: Any) -> set[str]:
    return {card["id"] for card in run["cases"]}


def test_a_sample_counts_as_the_whole_alone_on_workers_and_in_parts(
    towns: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = (GOOD, "--mapsat-sample=7", GATE)
    result = towns.runpytest(*sample, "--mapsat-save=7.json")
    result.assert_outcomes(passed=7)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "mapsat: a sample of tiny: 7 of 16 cases by scenario, city (seed 0)",
            "sample     7 of 16 cases by scenario, city (seed 0)",
            "*ar 0.5000 >= 0.4 (7 of 7 cases*",
        ]
    )
    run = saved_timeless(towns, "7.json")
    scenarios = [card["attributes"]["scenario"] for card in run["cases"]]
    assert sorted(map(scenarios.count, ("route", "place", "park"))) == [2, 2, 3]
    assert run["accounting"] == {"collected": 7, "deselected": 0, "lost": [], "drafts": [], "excused": []}
    assert run["manifest"]["suites"][0]["cases"] == 16
    options = run["manifest"]["options"]
    assert [options[name] for name in ("sample", "sample_by", "sample_seed")] == [7, ["scenario", "city"], 0]

    assert towns.runpytest(*sample, "-n", "2", "--mapsat-save=n.json").ret == 0
    assert saved_timeless(towns, "n.json") == run
    for number in (1, 2):
        assert towns.runpytest(*sample, f"--mapsat-shard={number}/2", f"--mapsat-save={number}.json").ret == 0
    assert main(["merge", "1.json", "2.json", "--out=all.json"]) == 0
    assert saved_timeless(towns, "all.json") == run
    assert main(["regrade", "7.json", "--save=regraded.json"]) == 0
    assert saved_timeless(towns, "regraded.json")["gate"] == run["gate"]
    assert main(["report", "7.json", "markdown:7.md", "html:7.html"]) == 0
    assert "A sample: `7 of 16 cases by scenario, city (seed 0)`." in (towns.path / "7.md").read_text()
    assert "sample 7 of 16 cases by scenario, city (seed 0)" in (towns.path / "7.html").read_text()


def test_a_part_of_a_sample_is_a_part(towns: pytest.Pytester) -> None:
    sample = (GOOD, "--mapsat-sample=7", GATE)
    result = towns.runpytest(*sample, "-m", "search")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*ar is undecided: part of the suite ran*", "*(3 of 7 cases; -m*"])
    assert towns.runpytest(*sample[:-1], "-m", "search", "--mapsat-fail-under=search.ar=0.4").ret == 0
    result = towns.runpytest(*sample, "benchmark_cases/c.jsonl")
    assert "of 7 cases)" in " ".join(result.stdout.str().split())
    nothing = towns.runpytest(GOOD, "--mapsat-sample=1", *_others(towns))
    nothing.stdout.fnmatch_lines(["*no case of the sample is among what was to be collected*"])
    assert nothing.ret == 1


def _others(project: pytest.Pytester) -> list[str]:
    """Return the case files without the one case of the sample of one."""
    listed = project.runpytest(GOOD, "--mapsat-sample=1", "--co", "-q").stdout.str()
    files = ("benchmark_cases/a.yaml", "benchmark_cases/nav/b.jsonl", "benchmark_cases/c.jsonl")
    left = [name for name in files if name not in listed]
    assert len(left) == 2
    return left


def test_a_run_goes_on_from_a_smaller_sample_and_is_compared_with_a_larger_run(towns: pytest.Pytester) -> None:
    asked = tiny_suite.GOOD.replace(
        "    pois", "    with open('asked', 'a') as file:\n        file.write('.')\n    pois", 1
    )
    towns.makepyfile(good=asked)
    some = ("--mapsat-sample=5",)
    assert towns.runpytest(GOOD, *some, "--mapsat-save=5.json").ret == 0
    more = towns.runpytest(GOOD, "--mapsat-sample=9", GATE, "--mapsat-resume=5.json", "--mapsat-save=9.json")
    assert more.ret == 0
    assert ids(saved_timeless(towns, "5.json")) < ids(saved_timeless(towns, "9.json"))
    assert (towns.path / "asked").read_text() == "." * 9, "what a smaller sample ran is not run again"
    whole = towns.runpytest(GOOD, "--mapsat-resume=9.json", "--mapsat-save=all.json")
    whole.assert_outcomes(passed=16)
    assert len((towns.path / "asked").read_text()) == 16

    less = towns.runpytest(GOOD, *some, "--mapsat-resume=9.json")
    assert less.ret == pytest.ExitCode.USAGE_ERROR
    less.stderr.fnmatch_lines(
        ["*sample: it had 9 cases by scenario, city (seed 0), now 5 cases by scenario, city (seed 0)"]
    )
    compared = ("--mapsat-compare=all.json", "--mapsat-max-drop=ar:0.02")
    result = towns.runpytest(GOOD, *some, *compared)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*ar 0.500 -> 0.500: no difference in 5 cases*"])
    assert main(["compare", "all.json", "5.json", "--max-drop=ar:0.02"]) == 0


def test_each_suite_gives_a_sample_and_own_tests_get_it(towns: pytest.Pytester) -> None:
    cases = [tiny_suite.case(f"other-{number}") for number in range(4)]
    other = tiny_suite.write_suite(towns.path / "more" / "suite", {"all.jsonl": cases})
    (other / "suite.yaml").write_text(tiny_suite.MANIFEST.replace("tiny", "other") + "sample: {seed: 7}\n")
    _drawn(towns, "{seed: 7}")
    towns.makepyfile(
        test_own="""
        def test_of_mine(mapsat_case, mapsat_run):
            assert mapsat_run().scorecard.ar == 0.5
        """
    )
    options = ("--mapsat-sample=3", "--mapsat-save=run.json")
    result = towns.runpytest(GOOD, *options, "--mapsat-cases=benchmark_cases", "--mapsat-cases=more/suite")
    result.assert_outcomes(passed=12)
    result.stdout.fnmatch_lines(["sample     3 of 4 cases of other, 3 of 16 cases of tiny (seed 7)"])
    assert len(ids(saved_timeless(towns, "run.json"))) == 6
    (towns.path / "more" / "suite" / "all.jsonl").write_text("{broken\n")
    broken = towns.runpytest(GOOD, *options, "more/suite")
    broken.assert_outcomes(errors=1)
    broken.stdout.no_fnmatch_line("*has 0 cases*")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--mapsat-sample=17", "--mapsat-sample=17: the suite tiny has 16 cases, and a sample is drawn from each suite"),
        ("--mapsat-sample=0", "--mapsat-sample: found '0', expected a whole number from 1"),
        ("--mapsat-sample=some", "--mapsat-sample: found 'some', expected a whole number from 1"),
    ],
)  # fmt: skip
def test_a_sample_that_cannot_be_drawn_is_a_usage_error(towns: pytest.Pytester, options: str, told: str) -> None:
    result = towns.runpytest(GOOD, *options.split())
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert told in result.stderr.str()


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ("{by: [city, city]}", "*suite.yaml:*sample*an attribute is listed twice*"),
        ("{by: [scenery]}", "*no case of the suite tiny has the attribute 'scenery' (did you mean 'scenario'?)*"),
        ("{seed: -1}", "*suite.yaml:*sample*seed*"),
    ],
)
def test_terms_of_a_suite_that_cannot_be_met_are_told(towns: pytest.Pytester, terms: str, told: str) -> None:
    _drawn(towns, terms)
    result = towns.runpytest(GOOD, "--mapsat-sample=2")
    assert result.ret != 0
    assert fnmatch(result.stdout.str() + result.stderr.str(), told)


def _clustered(project: pytest.Pytester, name: str) -> None:
    """Let the suite say by which attribute intervals are drawn."""
    manifest = project.path / "benchmark_cases" / "suite.yaml"
    manifest.write_text(f"{manifest.read_text()}cluster: {name}\n")


def test_intervals_of_a_suite_with_clusters_draw_these_in_runs_and_comparisons(towns: pytest.Pytester) -> None:
    options = ("--mapsat-save=run.json", "--mapsat-save=alone.json")
    towns.runpytest(GOOD, options[1]).assert_outcomes(passed=16)
    _clustered(towns, "scenario")
    clustered = towns.runpytest("-v", GOOD, options[0])
    clustered.stdout.fnmatch_lines(["95 % interval over cases drawn by scenario: *"])
    clustered.assert_outcomes(passed=16)
    assert {card["cluster"] for card in saved_timeless(towns, "run.json")["cases"]} == {"scenario"}
    assert {card.get("cluster", "") for card in saved_timeless(towns, "alone.json")["cases"]} == {""}


def test_a_cluster_that_no_case_has_stops_the_run_and_is_an_error_of_lint(
    towns: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    _clustered(towns, "scenery")
    told = "suite.yaml:*: cluster: no case has the attribute 'scenery' (did you mean 'scenario'?)"
    result = towns.runpytest(GOOD)
    assert result.ret != 0
    assert fnmatch(result.stdout.str() + result.stderr.str(), f"*{told}*")
    assert main(["lint", str(towns.path / "benchmark_cases")]) != 0
    assert fnmatch(capsys.readouterr().out, f"*{told} [[]error: cluster]*")


def test_all_takes_a_sample_back(towns: pytest.Pytester) -> None:
    towns.makeini("[pytest]\naddopts = --mapsat-sample=4 -p no:cacheprovider\nmapsat_fail_under = ar=0.4\n")
    towns.runpytest(GOOD).assert_outcomes(passed=4)
    whole = towns.runpytest(GOOD, "--mapsat-sample=all", "--mapsat-save=all.json")
    whole.assert_outcomes(passed=16)
    assert saved_timeless(towns, "all.json")["manifest"]["options"]["sample_by"] == []
