"""A package that nobody here knows adds an importer, a metric set, a form of verdicts and reports, by entry points alone."""

import json

import pytest
import tiny_suite
from saved_runs import saved

from pytest_mapsat.cli import main

PACKAGE = """
from collections import Counter
from pytest_mapsat.metrics import MetricSet
from pytest_mapsat.model import SUITE_SCHEMA, Label, Metric, Problem, SuiteError, SuiteManifest
from pytest_mapsat.suite import ImportLog, Remark, new_folder, write_cases, write_manifest

def import_lines(src, dest):
    log = ImportLog()
    with new_folder(dest) as folder:
        cases = []
        for number, line in enumerate(src.read_text().splitlines(), 1):
            case = log.case({"id": f"q{number}", "visible": {"query": line}, "truth": {"requirements": [{"id": "e1", "kind": "asked", "text": line}]}}, f"{src.name}:{number}")
            if case is not None:
                cases.append(case)
        manifest = SuiteManifest(name="lines", version="1", license="MIT", schema_version=SUITE_SCHEMA, coordinates="wgs84")
        write_manifest(folder / "suite.yaml", manifest)
        write_cases(folder / "cases.jsonl", cases)
        return log.report(folder, "lines", cases=len(cases), tools=0, by_tool=Counter())

def broken(src, dest):
    raise LookupError("nothing there")

BREVITY = MetricSet("brevity", (Metric(name="short", title="short answers"),), lambda metric_input: {"short": 1.0})

class Verdict:
    trajectory = ""
    def labelled(self, case, base):
        labels = [Label(requirement=requirement.id, kind=requirement.kind, outcome="passed", value=1.0, by="recorded")
            for requirement in case.truth.requirements]
        return base.model_copy(update={"labels": tuple(labels)})

def sizes(runs):
    return {"sizes.txt": "".join(f"{name}: {len(run.cases)} cases\\n" for name, run in runs)}

def polite(case, suite):
    if case.visible.query == "broken":
        raise LookupError("no manners")
    please = "please" in case.visible.query
    return [] if please else [Remark("warning", "manners", ("visible", "query"), f"no please in {suite.manifest.name}", "say it")]

def escaping(runs):
    return {"../sizes.txt": ""}

def read_thumbs(path, name):
    words = path.read_text().split()
    if words[:1] != ["thumbs"]:
        raise SuiteError(Problem(name, 1, "is no list of thumbs"))
    return {case: Verdict() for case in words[1:]}
"""
POINTS = """
[pytest_mapsat.importers]
broken = lines_port:broken
lines = lines_port:import_lines
[pytest_mapsat.lints]
polite = lines_port:polite
[pytest_mapsat.metrics]
brevity = lines_port:BREVITY
[pytest_mapsat.reports]
escaping = lines_port:escaping
sizes = lines_port:sizes
[pytest_mapsat.verdicts]
thumbs = lines_port:read_thumbs
"""


@pytest.fixture
def project(pytester, monkeypatch):
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makepyfile(good=tiny_suite.GOOD, lines_port=PACKAGE)
    folder = pytester.mkdir("lines_port-1.0.dist-info")
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: lines-port\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(POINTS)
    pytester.syspathinsert()
    monkeypatch.setenv("COLUMNS", "100")
    return pytester


def test_its_importer_is_listed_and_run(project, capsys):
    assert main(["import", "--help"]) == 0
    assert "one of: adk, broken, lines, localsearchbench, " in " ".join(capsys.readouterr().out.split())
    (project.path / "asked.txt").write_text("Where is a charger?\n\nHow far is it?\n")
    assert main(["import", "lines", "asked.txt", "lines"]) == 0
    told = capsys.readouterr().out
    assert "lines: 2 cases, 0 tools" in told
    assert "asked.txt:2: " in told
    assert main(["lint", "lines"]) == 0
    assert json.loads((project.path / "lines" / "import.json").read_text())["format"] == "lines"


def test_its_rule_of_lint_speaks_of_each_case_and_is_named_where_it_breaks(project, capsys):
    (project.path / "asked.txt").write_text("Where is a charger, please?\nHow far is it?\n")
    assert main(["import", "lines", "asked.txt", "lines"]) == 0
    capsys.readouterr()
    assert main(["lint", "lines", "--json"]) == 0
    (finding,) = (one for one in json.loads(capsys.readouterr().out) if one["rule"] == "manners")
    assert finding["path"].endswith("cases.jsonl")
    assert {name: finding[name] for name in ("severity", "line", "message", "hint")} == {
        "severity": "warning", "line": 2, "message": "visible.query: no please in lines", "hint": "say it",
    }  # fmt: skip
    (project.path / "asked.txt").write_text("broken\n")
    assert main(["import", "lines", "asked.txt", "broken"]) == 0
    assert main(["lint", "broken"]) == 2
    assert "lines_port:polite broke: LookupError: no manners" in capsys.readouterr().err


def test_what_its_importer_raises_is_told_without_a_traceback(project, capsys):
    assert main(["import", "broken", "asked.txt", "lines"]) == 2
    assert "lines_port:broken broke: LookupError: nothing there" in capsys.readouterr().err


def test_its_metric_set_measures_its_verdicts_label_and_its_report_is_written(project, capsys):
    (project.path / "verdicts").write_text("thumbs nav-one nav-two find-one")
    options = ("--mapsat-agent=good:agent", "-o", "mapsat_metrics=brevity", "--mapsat-save=run.json")
    assert project.runpytest(*options, "--mapsat-judge=recorded:verdicts", "benchmark_cases").ret == 0
    found = saved(project)
    assert found["summary"]["short"]["mean"] == 1
    assert main(["report", "run.json", "run.json", "sizes:of"]) == 0
    assert (project.path / "of" / "sizes.txt").read_text() == "good:agent (run.json): 3 cases\n" * 2
    assert main(["report", "run.json", "escaping:of"]) == 2
    assert "expected the texts of files by their names" in capsys.readouterr().err
    (project.path / "verdicts").write_text("hands nav-one")
    result = project.runpytest(*options, "--mapsat-judge=recorded:verdicts", "benchmark_cases")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*is no list of thumbs*"])
