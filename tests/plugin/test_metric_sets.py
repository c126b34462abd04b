"""Metric sets: a conftest adds one, and a suite that declares it is measured, gated, saved and regraded by it."""

import json

import pytest
import tiny_suite
from saved_runs import saved

from pytest_mapsat.cli import main
from pytest_mapsat.model import MSB_METRICS

CONFTEST = """\
from pytest_mapsat.metrics import MetricSet, Measure
from pytest_mapsat.model import Metric

def _measure(metric_input):
    words = sum(len(turn.text.split()) for turn in metric_input.trajectory.replies)
    if metric_input.case.id == "nav-two":
        return {"brevity": Measure(None, "unevaluated", "who knows", (0.25, 0.75)), "brevity_words": words}
    return {"brevity": 1 / max(words, 1), "brevity_words": words}

METRICS = [
    Metric(name="brevity", title="one by the number of words", headline=True),
    Metric(name="brevity_words", unit="words", earned=False, gated=False),
]

def pytest_mapsat_metrics(config):
    return [MetricSet("brevity", METRICS, _measure)]
"""


@pytest.fixture
def declared(project: pytest.Pytester) -> pytest.Pytester:
    """A project whose conftest adds a metric set that its suite declares."""
    project.makeconftest(CONFTEST)
    manifest = project.path / "benchmark_cases" / "suite.yaml"
    manifest.write_text(manifest.read_text() + "metrics: [msb, brevity]\n")
    return project


def run(project: pytest.Pytester, *options: str, agent: str = "good:agent") -> pytest.RunResult:
    return project.runpytest("-v", f"--mapsat-agent={agent}", "--mapsat-save=run.json", *options)


def test_a_metric_set_of_a_conftest_is_measured_gated_told_saved_and_regraded(declared, capsys, monkeypatch):
    result = run(declared, "--mapsat-fail-under=brevity=0.2,search.brevity=0.5", "--junitxml=junit.xml")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*satisfied*requests*brevity*", "*gate*FAILED: search.brevity 0.2500 < 0.5*"])
    assert 'name="mapsat.brevity" value="0.25"' in (declared.path / "junit.xml").read_text()
    before = saved(declared)
    one, two = before["cases"][1:]
    assert (one["metrics"]["ar"], one["metrics"]["brevity"], one["metrics"]["brevity_words"]) == (0.5, 0.25, 4)
    assert (two["metrics"]["brevity"], two["classes"], two["bounds"]) == (
        None,
        {"brevity": "unevaluated", "cei": "not_applicable"},
        {"brevity": [0.25, 0.75]},
    )
    assert [metric["metric_set"] for metric in before["manifest"]["metrics"]] == ["msb"] * 8 + ["brevity"] * 2
    summary = before["summary"]["brevity"]
    assert (summary["n"], summary["undecided"], summary["bounds"]) == (2, 1, [0.25, pytest.approx(1.25 / 3)])
    monkeypatch.chdir(declared.path)
    assert main(["regrade", "run.json", "-p", "conftest.py", "--save", "again.json"]) == 1
    after = saved(declared, "again.json")
    assert {key: after[key] for key in ("cases", "summary", "groups")} == {
        key: before[key] for key in ("cases", "summary", "groups")
    }
    (declared.path / "conftest.py").unlink()
    assert main(["regrade", "run.json"]) == 2
    told = capsys.readouterr().err
    assert "suite.yaml:9: metrics: no package or conftest adds the metric set 'brevity'" in told
    assert "mapsat regrade takes -p MODULE" in told


def test_a_broken_agent_earns_0_in_a_metric_that_is_earned(declared):
    declared.makepyfile(broken="def agent(message, tools):\n    raise ValueError('no')\n")
    run(declared, agent="broken:agent")
    metrics = saved(declared)["cases"][0]["metrics"]
    assert (metrics["ar"], metrics["brevity"]) == (0, 0)
    assert metrics["brevity_words"] == 0  # not earned: the metric set is asked


def test_a_metric_set_that_breaks_is_laid_to_the_infrastructure_and_changes_nothing_else(declared):
    declared.makeconftest(
        CONFTEST.replace("def _measure(metric_input):\n", "def _measure(metric_input):\n    raise KeyError('words')\n")
    )
    result = run(declared, "--mapsat-fail-under=ar=0.1")
    assert result.ret == 0  # it stands on no threshold
    card = saved(declared)["cases"][0]
    assert (card["outcome"], card["metrics"]["ar"], card["metrics"]["brevity"]) == ("passed", 0.5, None)
    assert card["classes"]["brevity"] == "error"
    assert card["faults"]["brevity"] == {
        "blame": "infrastructure",
        "detail": "",
        "message": "the metric set brevity broke: KeyError: 'words'",
    }
    result.stdout.fnmatch_lines(["warning*the metric set brevity broke: KeyError: 'words'*"])
    result = run(declared, "--mapsat-fail-under=brevity=0.1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*gate*INVALID: 3 cases lost (infrastructure 3: *"])


def test_a_suite_that_declares_no_such_metric_set_has_none_of_its_metrics(project):
    project.makeconftest(CONFTEST)
    result = run(project, "--mapsat-fail-under=brevity=0.1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "*no suite of this run declares the metric brevity: name its metric set 'brevity' under metrics: in suite.yaml*"
        ]
    )
    assert run(project).ret == 0
    assert sorted(saved(project)["summary"]) == sorted([metric.name for metric in MSB_METRICS] + ["pass_rate"])


def test_an_unknown_metric_or_metric_set_is_told_at_the_start(declared):
    result = run(declared, "--mapsat-fail-under=brevty=0.1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no metric 'brevty'; did you mean 'brevity'?*"])
    result = run(declared, "--mapsat-fail-under=brevity_words=0.1")
    result.stderr.fnmatch_lines(["*brevity_words is given for reference only and cannot be gated*"])
    declared.makeconftest("")
    result = run(declared)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*suite.yaml:9: metrics: no package or conftest adds the metric set 'brevity'*"])


def test_a_manifest_names_a_metric_set_once(project):
    manifest = project.path / "benchmark_cases" / "suite.yaml"
    manifest.write_text(tiny_suite.MANIFEST + "metrics: [msb, msb]\n")
    result = run(project)
    result.stdout.fnmatch_lines(["*suite.yaml:9: metrics: *a metric set is listed twice*"])


def test_metric_sets_besides_the_suites_own_stand_in_the_ini_file(project, capsys, monkeypatch):
    project.makeconftest(CONFTEST)
    manifest = project.path / "benchmark_cases" / "suite.yaml"
    manifest.write_text(tiny_suite.MANIFEST + "success: ecr\n")
    asked = (
        "-o",
        "mapsat_metrics=brevity",
        "--mapsat-fail-under=brevity=0.2,search.brevity=0.5",
        "--mapsat-fail-on=success",
    )
    result = run(project, *asked)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*satisfied*requests*brevity*", "*gate*FAILED: search.brevity 0.2500 < 0.5*"])
    before = saved(project)
    assert before["manifest"]["options"]["metrics"] == ["brevity"]
    assert [metric["metric_set"] for metric in before["manifest"]["metrics"]] == ["msb"] * 8 + ["brevity"] * 2
    assert {card["outcome"] for card in before["cases"]} == {"passed"}  # what was asked for explicitly is done in each
    monkeypatch.chdir(project.path)
    assert main(["regrade", "run.json", "-p", "conftest.py", "--save", "again.json"]) == 1
    assert saved(project, "again.json")["cases"] == before["cases"]
    assert main(["regrade", "run.json", "-p", "conftest.py", "--metrics", "brevty"]) == 2
    told = capsys.readouterr().err
    assert "metrics: no package or conftest adds the metric set 'brevty'; did you mean 'brevity'?" in told
    for value, wrong in (
        ("brevty", "no package or conftest adds the metric set 'brevty'; did you mean 'brevity'?*"),
        ("brevity,brevity", "'brevity' is listed twice"),
        ("brevity,,msb", "found nothing between the commas of 'brevity,,msb'*"),
        ("no/name", "'no/name' is not a name of a metric set*"),
    ):
        result = run(project, "-o", f"mapsat_metrics={value}")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*metrics: {wrong}"])


def test_an_installed_package_adds_a_metric_set_by_an_entry_point(project, capsys, monkeypatch):
    project.makepyfile(
        brevity_metrics=CONFTEST.replace("def pytest_mapsat_metrics", "def _unused")
        + "\nMETRIC_SET = _unused(None)[0]\n"
    )
    folder = project.mkdir("brevity-1.0.dist-info")
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: brevity\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[pytest_mapsat.metrics]\nbrevity = brevity_metrics:METRIC_SET\n")
    project.syspathinsert()
    assert run(project, "-o", "mapsat_metrics=brevity").ret == 0
    assert saved(project)["summary"]["brevity"]["n"] == 2
    monkeypatch.chdir(project.path)
    assert main(["regrade", "run.json", "--fail-under", "navigation.brevity=0.9"]) == 1
    assert "navigation.brevity" in capsys.readouterr().out
    (folder / "entry_points.txt").write_text("[pytest_mapsat.metrics]\nbrevity = brevity_metrics:GONE\n")
    result = run(project, "-o", "mapsat_metrics=brevity")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*pytest_mapsat.metrics: brevity_metrics:GONE cannot be loaded: AttributeError*"])


def test_pipa_measures_any_suite_and_a_saved_run_alike(project, capsys, monkeypatch):
    manifest = project.path / "benchmark_cases" / "suite.yaml"
    manifest.write_text(tiny_suite.MANIFEST + "success: ecr\n")
    project.makepyfile(
        guessing="""
        def agent(message, tools):
            tools.search_poi(query="P-4711")
            return "I suggest " + tools.search_poi(query="charger")["pois"][1]["name"] + "."
        """
    )
    monkeypatch.setenv("COLUMNS", "80")
    plain = run(project, agent="guessing:agent")
    before = saved(project)
    asked = ("-o", "mapsat_metrics=pipa", "--mapsat-fail-under=pipa_a=1,navigation.pipa_s=0.9")
    result = run(project, *asked, "--mapsat-report=html:run.html", agent="guessing:agent")
    assert (plain.ret, result.ret) == (0, 1)
    result.stdout.fnmatch_lines(
        [
            "*passed*satisfied*requests*",
            "",
            "pipa*AVG*S*A*O*P*R",
            "*gate*FAILED: navigation.pipa_s 0.5000 < 0.9*",
        ]
    )
    found = saved(project)
    card = found["cases"][0]
    told = {name: value for name, value in card["metrics"].items() if name.startswith("pipa")}
    assert told == {
        "pipa_s": 0.5, "pipa_a": 1, "pipa_o": 1, "pipa_p": None, "pipa_r": 1, "pipa_avg": 0.875, "pipa_turns": 1, "pipa_steps": 2,
    }  # fmt: skip
    assert [label["outcome"] for label in card["labels"] if label["kind"] == "state"] == ["failed", "passed"]
    assert "the call search_poi" in (project.path / "run.html").read_text()
    # Nothing else has changed.
    assert {name: card["metrics"][name] for name in before["cases"][0]["metrics"]} == before["cases"][0]["metrics"]
    assert [one for one in card["labels"] if ":" not in one["requirement"]] == before["cases"][0]["labels"]
    monkeypatch.chdir(project.path)
    (project.path / "first.json").write_text(json.dumps(found))
    for judge in ("checks", "recorded:first.json"):
        assert main(["regrade", "first.json", "--judge", judge, "--save", "again.json"]) == 1
        again = saved(project, "again.json")
        assert [one["labels"] for one in again["cases"]] == [one["labels"] for one in found["cases"]]
        assert again["summary"] == found["summary"]
    assert main(["show", "first.json", card["id"]]) == 0
    assert "step:1.1 (step): the call search_poi" in " ".join(capsys.readouterr().out.split())
    # A run without the metric set is compared on what both have.
    assert run(project, "--mapsat-compare=first.json", agent="guessing:agent").ret == 0
