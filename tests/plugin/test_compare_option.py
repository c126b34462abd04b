"""--mapsat-compare and mapsat compare: a planted regression is named, the same agent stays green, other runs are refused."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny_suite

from pytest_mapsat.cli import main
from pytest_mapsat.runs.request import source_digest

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


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what ``planted`` makes once."""
    return tmp_path_factory.mktemp("planted") / "project"


@pytest.fixture
def planted(pytester: pytest.Pytester, kept: Path) -> pytest.Pytester:
    """Twenty cases in two domains, a run of an agent that passes them all, and one that fails a domain."""
    if kept.exists():
        shutil.copytree(kept, pytester.path, dirs_exist_ok=True)
        return pytester
    cases = [asking(f"{domain[:3]}-{n}", domain) for domain in ("navigation", "search") for n in range(10)]
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"all.jsonl": cases})
    pytester.makepyfile(good=tiny_suite.GOOD, worse=WORSE)
    result = run(pytester, GOOD, "--mapsat-save=baseline.json")
    assert result.ret == 0
    shutil.copytree(pytester.path, kept)
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest("-p", "no:cacheprovider", "--tb=no", *options)


def test_a_regression_planted_in_one_domain_is_named_and_the_same_agent_stays_green(
    planted: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = ("--mapsat-compare=baseline.json", "--mapsat-max-drop=ar:0.02,navigation.ar:0.02")
    same = run(planted, GOOD, "--mapsat-save=same.json", "-n", "2", *rules)
    assert same.ret == 0
    same.stdout.fnmatch_lines(["gate*PASSED: ar 0.500 -> 0.500: no difference in 20 cases"])
    worse = run(planted, "-v", "--mapsat-agent=worse:agent", "--mapsat-save=worse.json", *rules)
    assert worse.ret == 1
    worse.stdout.fnmatch_lines(
        [
            "where    search: 10 of 10 cases got worse (sea-0, sea-1, sea-2 ...);",
            "         requirements:*z1*",
            "gate*FAILED: ar 0.500 -> 0.229 to 0.273 fell by more than 0.02: -0.250*",
            "*navigation.ar 0.500 -> 0.500: no difference in 10 cases*",
        ]
    )
    saved = json.loads((planted.path / "worse.json").read_text())
    assert saved["comparison"]["rules"][0]["outcome"] == "failed"
    capsys.readouterr()

    assert main(["compare", "baseline.json", "same.json", "--max-drop=ar:0"]) == 0
    assert "outcome  passed" in capsys.readouterr().out
    assert main(["compare", "baseline.json", "worse.json", "--max-drop=search.ar:0.02"]) == 1
    out = capsys.readouterr().out
    assert "search: 10 of 10 cases got worse" in out
    assert "sea-0" in out
    assert "before  “Blue Bay”" in out
    assert "now     no reply says 'Blue Bay'" in out
    assert main(["compare", "baseline.json", "worse.json"]) == 1  # by the rules that the run was asked for
    assert main(["compare", "baseline.json", "worse.json", "--json"]) == 1
    printed = json.loads(capsys.readouterr().out.partition("{")[2].join(["{", ""]))
    assert printed["flips"] == [10, 0]
    assert main(["compare", "--aa", "baseline.json", "same.json", "--max-drop=ar:0.02"]) == 0
    assert "2 comparisons: 0 failed (0.0%), 0 inconclusive, 2 passed" in capsys.readouterr().out
    assert main(["regrade", "worse.json", "--judge=checks"]) == 1
    assert "ar is undecided: the earlier run is not given (--mapsat-compare=PATH)" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main(["regrade", "same.json", "--compare=baseline.json"]) == 0


def test_what_nobody_can_tell_is_a_warning_unless_it_is_to_fail(planted: pytest.Pytester) -> None:
    few = [asking(f"few-{n}", "search") for n in range(3)]
    (planted.path / "benchmark_cases" / "all.jsonl").write_text("".join(json.dumps(one) + "\n" for one in few))
    lines = [json.dumps(tiny_suite.recording(one["id"])) + "\n" for one in few]
    (planted.path / "benchmark_cases" / "recordings" / "all.jsonl").write_text("".join(lines))
    run(planted, GOOD, "--mapsat-fail-on=none", "--mapsat-save=few.json")
    rules = ("--mapsat-agent=worse:agent", "--mapsat-fail-on=none", "--mapsat-compare=few.json")
    told = run(planted, "-v", *rules, "--mapsat-max-drop=ar:0.02")
    assert told.ret == 0
    told.stdout.fnmatch_lines(
        [
            "gate*PASSED: warning: inconclusive: ar 0.500 -> 0.000 fell*",
            "*may be chance: -0.500 (3 of 3 cases differ; p = 0.125)*",
            "*one trial of each case is too few to exclude chance:*",
            "*--mapsat-trials=4 in both runs decides it*",
        ]
    )
    strict = run(planted, *rules, "--mapsat-max-drop=ar:0.02", "--mapsat-inconclusive=fail")
    assert strict.ret == 1
    strict.stdout.fnmatch_lines(["gate*INCONCLUSIVE, exit status 1: ar 0.500 -> 0.000 fell*"])
    # The suite has changed since the first run, of which no case is left.
    other = run(planted, GOOD, "--mapsat-compare=baseline.json")
    assert other.ret != 0
    assert "--mapsat-compare=baseline.json: the runs cannot be compared: suite tiny: baseline version 1" in str(
        other.stderr
    ) + str(other.stdout)


NOISY = """\
import pathlib
import random

chance = random.Random(int(pathlib.Path("seed").read_text()))

def agent(message, tools, session):
    pois = tools.search_poi(query="charger")["pois"]
    place = next(poi for poi in pois if poi["open"] or SURE < chance.random())
    return f"I suggest {place['name']}."
"""


def test_an_agent_that_varies_is_green_against_itself_and_red_when_it_got_worse(planted: pytest.Pytester) -> None:
    planted.makepyfile(noisy=NOISY.replace("SURE", "0.9"), noisier=NOISY.replace("SURE", "0.5"))
    asked = ("--mapsat-trials=4", "--mapsat-fail-on=none")
    seed = planted.path / "seed"
    seed.write_text("1")
    run(planted, "--mapsat-agent=noisy:agent", *asked, "--mapsat-save=baseline.json")
    seed.write_text("2")
    rules = ("--mapsat-compare=baseline.json", "--mapsat-max-drop=ar:0.02")
    again = run(planted, "--mapsat-agent=noisy:agent", *asked, *rules)
    assert again.ret == 0
    worse = run(planted, "--mapsat-agent=noisier:agent", *asked, *rules)
    assert worse.ret == 1
    worse.stdout.fnmatch_lines(["gate*FAILED: ar 0.* fell by more than 0.02: -0.*"])
    single = run(planted, "--mapsat-agent=noisy:agent", "--mapsat-fail-on=none", *rules)
    single.stdout.fnmatch_lines(
        [
            "mapsat: one trial of each case is too few: in the earlier run trials of * end differently; --mapsat-trials=4 *"
        ]
    )


#: Names the closed charger in one case.
ONCE = """\
def agent(message, tools):
    pois = tools.search_poi(query="charger")["pois"]
    place = next(poi for poi in pois if poi["open"] != ("bridge" in message))
    return f"Today I suggest {place['name']}."
"""


def test_one_flip_in_one_trial_is_red_with_the_ways_on(pytester: pytest.Pytester) -> None:
    cases = [tiny_suite.case(f"c{n}") for n in range(12)]
    cases[7]["visible"]["query"] = "Take me to a charger at the bridge."
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"all.jsonl": cases})
    pytester.makepyfile(good=tiny_suite.GOOD, once=ONCE)
    run(pytester, GOOD, "--mapsat-fail-on=none", "--mapsat-save=baseline.json")
    asked = ("--mapsat-compare=baseline.json", "--mapsat-fail-on=hard")
    told = " ".join(run(pytester, "-v", "--mapsat-agent=once:agent", *asked).stdout.str().split())
    ways = "one trial of each case is too few to exclude chance run both with --mapsat-trials=4, or let N"
    assert f"gate FAILED: 1 case passed before and fails now (allowed: 0): c7 {ways} cases flip with flips:N" in told
    assert "1 of 12 cases failed: c7" in told


#: Forgets the bench in so many cases as the file ``step`` says: AR falls by 0.012 each time, over 10 cases.
FADING = """\
import pathlib

step = int(pathlib.Path("step").read_text())

def agent(message, tools, context):
    pois = tools.search_poi(query="charger")["pois"]
    place = next(poi for poi in pois if poi["open"])
    bench = int(message.split()[-1].strip(".")) >= step
    return f"I suggest {place['name']}." + bench * " There is a bench."
"""


def test_five_small_falls_pass_against_the_last_run_and_the_sixth_comparison_is_with_the_anchor(
    pytester: pytest.Pytester,
) -> None:
    cases = [tiny_suite.case(f"c{n}") for n in range(10)]
    bench = {"kind": "says", "any": ["bench"], "about": ["bench"]}
    for n, case in enumerate(cases):
        case["visible"]["query"] = f"Take me to charger {n}."
        case["truth"]["requirements"][2] |= {"text": "a bench", "weight": 0.12 / 0.88, "check": bench}
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"all.jsonl": cases})
    pytester.makepyfile(fading=FADING)

    def fallen(step: int, *baselines: str) -> pytest.RunResult:
        (pytester.path / "step").write_text(str(step))
        rules = [f"--mapsat-compare={baseline}" for baseline in baselines] + ["--mapsat-max-drop=ar:0.02"] * bool(
            baselines
        )
        return run(pytester, "--mapsat-agent=fading:agent", f"--mapsat-save={step}.json", *rules)

    assert fallen(0).ret == 0
    for step in range(1, 6):
        assert fallen(step, f"{step - 1}.json").ret == 0
    caught = fallen(5, "4.json", "0.json")
    assert caught.ret == 1
    told = " ".join(caught.stdout.str().split())
    assert "gate FAILED: against the anchor, ar 1.000 -> 0.940 fell by more than 0.02: -0.060 (5 of 10" in told
    assert "ar 0.952 -> 0.940 did not fall by more than 0.02: -0.012" in told


def test_an_anchor_is_written_moved_and_moved_to_another_suite(
    planted: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    run(planted, "--mapsat-agent=worse:agent", "--mapsat-fail-on=none", "--mapsat-save=worse.json")
    capsys.readouterr()
    assert main(["compare", "anchor.json", "baseline.json", "--accept"]) == 0
    assert "accepted baseline.json is written to anchor.json: commit it" in capsys.readouterr().out
    assert main(["compare", "anchor.json", "worse.json", "--max-drop=ar:0.02"]) == 1
    assert main(["compare", "anchor.json", "worse.json", "--max-drop=ar:0.02", "--accept"]) == 0
    assert re.search("ar 0.500 -> 0.250 fell by more than 0.02", " ".join(capsys.readouterr().out.split()))
    anchor = json.loads((planted.path / "anchor.json").read_text())
    assert all(card["trajectory"].get("turns", []) == [] for card in anchor["cases"])
    assert main(["compare", "anchor.json", "worse.json", "--max-drop=ar:0"]) == 0
    suite = planted.path / "benchmark_cases" / "suite.yaml"
    suite.write_text(suite.read_text().replace('version: "1"', 'version: "2"'))
    run(planted, GOOD, "--mapsat-save=two.json")
    capsys.readouterr()
    assert main(["compare", "anchor.json", "two.json"]) == 2
    assert "an anchor moves with mapsat compare ANCHOR RUN --accept" in capsys.readouterr().err
    assert main(["compare", "anchor.json", "two.json", "--accept"]) == 0
    assert "unlike   suite tiny: was version 1" in capsys.readouterr().out
    assert main(["compare", "anchor.json", "two.json", "--max-drop=ar:0"]) == 0
    run(planted, GOOD, "-k", "nav", "--mapsat-save=part.json")
    run(planted, GOOD, "--mapsat-shard=1/2", "--mapsat-save=shard.json")
    capsys.readouterr()
    for part in ("part.json", "shard.json"):
        assert main(["compare", "anchor.json", part, "--accept"]) == 2
        assert f"{part}: part of the suite ran" in capsys.readouterr().err


def test_both_baselines_must_hold(planted: pytest.Pytester) -> None:
    run(planted, "--mapsat-agent=worse:agent", "--mapsat-fail-on=none", "--mapsat-save=last.json")
    asked = ("--mapsat-agent=worse:agent", "--mapsat-fail-on=none", "--mapsat-max-drop=ar:0.02")
    assert run(planted, *asked, "--mapsat-compare=last.json").ret == 0
    baselines = ("--mapsat-compare=last.json", "--mapsat-compare=baseline.json")
    reports = ("--mapsat-report=html:both.html", "--mapsat-report=markdown:both.md")
    both = run(planted, "-v", *asked, *baselines, *reports, "--mapsat-save=both.json")
    assert both.ret == 1
    both.stdout.fnmatch_lines(
        ["anchor   good:agent, tiny 1 *", "gate*FAILED: against the anchor, ar 0.500 -> 0.250* fell by more*"]
    )
    saved = json.loads((planted.path / "both.json").read_text())
    assert (saved["comparison"]["outcome"], saved["anchor"]["outcome"]) == ("passed", "failed")
    for report in ("both.html", "both.md"):
        told = (planted.path / report).read_text(encoding="utf-8")
        assert re.search("ar 0.500 -(&gt;|>) 0.250 fell", told)
        assert "Against the anchor" in told
    three = run(planted, *asked, *[f"--mapsat-compare={name}.json" for name in ("last", "baseline", "both")])
    assert "found 3 runs, expected at most two" in three.stderr.str()
    twice = run(planted, *asked, "--mapsat-compare=last.json", "--mapsat-compare=./last.json")
    assert "last.json is given twice" in twice.stderr.str()


def test_a_baseline_without_a_case_or_of_another_judge_is_told_before_an_agent_is_called(
    planted: pytest.Pytester,
) -> None:
    planted.makepyfile(never="def agent(message): raise SystemExit('called')")
    baseline = json.loads((planted.path / "baseline.json").read_text())
    (planted.path / "empty.json").write_text(json.dumps({**baseline, "cases": []}))
    baseline["manifest"]["judge"]["spec"] = "llm:openai/gpt-4o"
    (planted.path / "judged.json").write_text(json.dumps(baseline))
    baseline["cases"][0]["spent"] = {"cost": float("nan")}
    (planted.path / "nan.json").write_text(json.dumps(baseline))
    (planted.path / "benchmark_cases" / "more.jsonl").write_text(json.dumps(asking("more", "search")) + "\n")
    for name, said in (
        ("baseline", "--mapsat-compare=baseline.json: the runs cannot be compared: suite tiny: baseline version 1"),
        ("baseline", "mapsat compare --common; an anchor moves with mapsat compare ANCHOR RUN --accept"),
        ("empty", "cases: found an empty list, expected the scorecard of at least one case"),
        ("judged", "judge: baseline llm:openai/gpt-4o, new checks"),
        ("nan", "NaN is not a JSON value"),
    ):
        result = run(planted, "--mapsat-agent=never:agent", f"--mapsat-compare={name}.json")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert said in result.stderr.str()
        assert "gate" not in result.stdout.str()


def test_one_trial_against_several_is_told_before_an_agent_is_called(planted: pytest.Pytester) -> None:
    planted.makepyfile(never="def agent(message): raise SystemExit('called')")
    asked = ("--mapsat-agent=never:agent", "--mapsat-compare=baseline.json", "-q", "-x")
    many = run(planted, *asked, "--mapsat-trials=8").stdout.str()
    told = "mapsat: baseline.json has 1 trial of each case and this run 8: where the agent varies, 1 is too few; run the baseline again with --mapsat-trials=8"
    assert told in many
    assert many.index(told) < many.index("called")
    assert "trial of each case" not in run(planted, *asked).stdout.str().partition("called")[0]


def test_a_decision_made_after_the_baseline_refuses_no_comparison_and_counts_for_both_runs(
    planted: pytest.Pytester,
) -> None:
    ruling = {"case": "nav-0", "trial": 1, "labels": {"z1": "failed"}, "why": {"z1": "closed for good"}, "by": "ann"}
    (planted.path / "rulings.jsonl").write_text(json.dumps(ruling))
    assert main(["review", "baseline.json", "--from", "rulings.jsonl"]) == 0
    rules = ("--mapsat-compare=baseline.json", "--mapsat-max-drop=ar:0")
    result = run(planted, GOOD, "--mapsat-save=new.json", *rules)
    result.assert_outcomes(passed=19, failed=1)
    result.stdout.fnmatch_lines(
        ["gate*FAILED: 1 of 20 cases failed: nav-0", "*ar 0.475 to 0.497 -> 0.475 to 0.497: no*"]
    )


def test_a_metric_has_one_interval_wherever_it_is_told(
    planted: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    planted.makepyfile(once=ONCE.replace("bridge", "north"))
    reports = [f"--mapsat-report={kind}:{kind}.out" for kind in ("markdown", "html", "json")]
    rules = ("--mapsat-compare=baseline.json", "--mapsat-max-drop=ar:0.02")
    table = run(planted, "-v", "--mapsat-agent=once:agent", "--mapsat-save=new.json", *reports, *rules).stdout.str()
    markdown, page, data = (
        (planted.path / f"{kind}.out").read_text(encoding="utf-8") for kind in ("markdown", "html", "json")
    )
    saved = json.loads((planted.path / "new.json").read_text(encoding="utf-8"))
    least, most = saved["summary"]["ar"]["bounds"]
    assert least < most - 0.005  # widened by the errors of the judge
    short, long = f"{least:.2f}-{most:.2f}", f"{least:.2f} to {most:.2f}"
    assert re.search(rf"^all +10/20 +{short} ", table, re.MULTILINE)
    assert re.search(rf"satisfied 0.500 → {long}, −0.250: worse", " ".join(table.split()))
    assert f"\nsatisfied  {least:.2f}–{most:.2f} (" in table
    assert f"| `satisfied (AR)` | {long} |" in markdown
    assert f"| satisfied | 0.500 | {long} |" in markdown
    cells = re.findall(r">\s*(0\.\d+ to 0\.\d+)\s*<", page)
    assert {cell for cell in cells if cell.startswith(f"{least:.2f}")} == {long}
    assert json.loads(data)["summary"]["ar"]["bounds"] == [least, most]
    change = saved["comparison"]["changes"][0]
    assert (change["metric"], change["new"]) == ("ar", [least, most])
    capsys.readouterr()
    assert main(["compare", "baseline.json", "new.json", "-v", "--max-drop=ar:0.02"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert f"metrics satisfied 0.500 → {long}, −0.250: worse" in told
    assert f"ar:0.02 failed: ar 0.500 -> {least:.3f} to {most:.3f} fell by more" in told
    domain = saved["groups"]["domain"]["search"]["ar"]["bounds"]
    of_search = next(one for one in saved["comparison"]["changes"] if (one["group"], one["metric"]) == ("search", "ar"))
    assert of_search["new"] == domain


def test_a_run_of_part_of_the_suite_decides_what_it_can(planted: pytest.Pytester) -> None:
    rules = (GOOD, "-m", "navigation", "--mapsat-compare=baseline.json")
    assert run(planted, *rules, "--mapsat-max-drop=navigation.ar:0.02").ret == 0
    undecided = run(planted, *rules, "--mapsat-max-drop=ar:0.02")
    assert undecided.ret == 1
    undecided.stdout.fnmatch_lines(["gate*INCONCLUSIVE, exit status 1: ar is undecided: part of the suite ran*"])


def test_a_baseline_that_cannot_be_compared_is_told_before_anything_runs(
    planted: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    (planted.path / "torn.json").write_text('{"schema": "mapsat-run/0"}')
    (planted.path / "copy.json.journal").write_bytes((planted.path / "baseline.json.journal").read_bytes())
    twice = json.loads((planted.path / "baseline.json").read_text())
    twice["cases"].append(twice["cases"][0])
    (planted.path / "twice.json").write_text(json.dumps(twice))
    for options, said in (
        (["--mapsat-compare=none.json"], "no such file"),
        (["--mapsat-compare=torn.json"], "expected 'mapsat-run/1'"),
        (["--mapsat-compare=copy.json.journal"], "this is the journal of a run that did not end"),
        (["--mapsat-compare=twice.json"], "a second scorecard of case nav-0"),
        (["--mapsat-compare=baseline.json", "--mapsat-user=silent"], "user: baseline scripted, new silent"),
        (["--mapsat-compare=baseline.json", "--mapsat-max-turns=3"], "max-turns: baseline 10, new 3"),
        (["--mapsat-compare=baseline.json", "--mapsat-max-drop=arr:0.1"], "did you mean 'ar'?"),
        (["--mapsat-compare=baseline.json", "--mapsat-max-drop=ar=0.1"], "expected METRIC:NUMBER like ar:0.02"),
        (["--mapsat-compare=baseline.json", "--mapsat-inconclusive=maybe"], "expected pass or fail"),
        (["--mapsat-max-drop=ar:0.1"], "name it with --mapsat-compare=PATH"),
    ):
        result = run(planted, GOOD, *options)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert said in result.stderr.str()
    capsys.readouterr()
    assert main(["compare", "baseline.json"]) == 2
    assert "found 1 runs, expected the earlier one and the new one" in capsys.readouterr().err
    assert main(["compare", "--aa", "baseline.json", "--max-drop=ar:0"]) == 2
    assert "give several runs, or one with --mapsat-trials" in capsys.readouterr().err


def test_the_build_of_an_agent_in_python_is_its_source_and_that_of_any_other_is_unknown(
    planted: pytest.Pytester,
) -> None:
    planted.makeconftest("import pytest, good\n@pytest.fixture\ndef mapsat_agent(): return good.agent\n")

    def build_of(agent: str, *options: str) -> tuple[str, str]:
        run(planted, f"--mapsat-agent={agent}", "-k", "nav-0", "--mapsat-save=built.json", *options)
        manifest = json.loads((planted.path / "built.json").read_text(encoding="utf-8"))["manifest"]
        return manifest["agent_build"], manifest["agent_source"]

    build, source = build_of("good:agent")
    assert build == source != ""
    assert build_of("good:agent", "--mapsat-agent-build=v1") == (f"v1 of source {source}", source)
    for agent in ("fixture", "recorded:baseline.json", "baseline:silent"):
        assert build_of(agent)[0] == ""
        assert build_of(agent, "--mapsat-agent-build=v1")[0] == "v1"


def test_the_source_of_a_framework_s_agent_is_that_of_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    digests = []
    for text in ("graph = 1\n", "graph = 2\n"):
        (tmp_path / "of_framework.py").write_text(text)
        digests.append(source_digest("smolagents:of_framework:graph", None))
    assert len({"", *digests}) == 3
