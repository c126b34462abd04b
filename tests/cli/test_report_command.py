"""mapsat report, show and figures: from a run file alone, without agent, model or suite."""

import json
from pathlib import Path

import pytest
from saved_runs import card, run_text

from pytest_mapsat.cli import main
from pytest_mapsat.formats import read_run, save_run
from pytest_mapsat.model import Trajectory, Turn


@pytest.fixture(autouse=True)
def run(tmp_path, monkeypatch):
    """A saved run of two cases, one with two trials, alone in a folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    turns = (Turn(role="user", text="Where?"), Turn(role="agent", text="Go to Old Mill."))
    cards = [
        card(Trajectory(case=case, trial=trial, turns=turns), calls={"total": 1, "by_tool": {"find": 1}})
        for case, trial in (("here", 1), ("here", 2), ("there", 1))
    ]
    Path("run.json").write_text(run_text(*cards), encoding="utf-8")


def test_all_reports_are_written_at_once(capsys):
    assert main(["report", "run.json", "html:out/a.html", "json:a.json", "markdown:a.md", "github:b.md"]) == 0
    assert capsys.readouterr().out == ""
    assert Path("out/a.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads(Path("a.json").read_text(encoding="utf-8"))["schema"] == "mapsat-report/1"
    assert Path("a.md").read_text(encoding="utf-8") == Path("b.md").read_text(encoding="utf-8")


def test_the_page_of_a_run_file_is_the_same_in_any_layout():
    assert main(["report", "run.json", "html:one.html"]) == 0
    save_run(Path("saved.json"), read_run(Path("run.json")))
    assert main(["report", "saved.json", "html:other.html"]) == 0
    page = Path("one.html").read_text(encoding="utf-8")
    assert page == Path("other.html").read_text(encoding="utf-8")
    assert page.count("Go to Old Mill.") == 3


def test_a_dialogue_is_found_by_case_and_trial(capsys):
    assert main(["show", "run.json", "here"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "here: passed"
    assert main(["show", "run.json", "here-t2", "--json"]) == 0
    assert [one["trial"] for one in json.loads(capsys.readouterr().out)] == [2]
    assert main(["show", "run.json", "here-t2"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "here-t2: passed"


def rewritten(path, *, started, said=None, lacks=None):
    """Write the run of the folder again, as one that started at another time."""
    data = json.loads(Path("run.json").read_text(encoding="utf-8"))
    data["timing"] = {"started": started}
    data["cases"] = [case for case in data["cases"] if case["id"] != lacks]
    text = json.dumps(data)
    Path(path).write_text(text.replace("Go to Old Mill.", said) if said else text, encoding="utf-8")


def test_two_runs_stand_side_by_side_the_second_one_is_the_page():
    rewritten("old.json", started="2026-05-01T08:00:00+00:00", said="Go to Blue Bay.", lacks="there")
    rewritten("new.json", started="2026-04-01T08:00:00+00:00")
    assert main(["report", "old.json", "new.json", "html:a.html"]) == 0
    page = Path("a.html").read_text(encoding="utf-8")
    assert "Go to <del>Blue Bay</del>." in page
    assert "Go to <ins>Old Mill</ins>." in page
    assert "1 only now: " in page
    assert "Over 2 runs" not in page


def test_more_runs_stand_in_the_order_of_their_dates():
    for name, day in (("c", 3), ("a", 1), ("b", 2)):
        rewritten(f"{name}.json", started=f"2026-05-0{day}T08:00:00+00:00", said=f"Go {name}.")
    assert main(["report", "c.json", "a.json", "b.json", "html:page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Over 3 runs" in page
    heads = page.split('class="trends"')[1].split("</thead>")[0]
    assert heads.index("a<br>2026-05-01 08:00") < heads.index("b<br>2026-05-02") < heads.index("this run<br>2026-05-03")
    assert "<del>b</del>" in page
    assert "<ins>c</ins>" in page


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", "run.json", "ther"], "did you mean 'there'?"),
        (["show", "run.json", "here-t3"], "the run has no case 'here-t3'"),
        (["show", "none.json", "here"], "none.json"),
        (["report", "run.json", "pdf:a"], "expected TYPE:PATH with one of "),
        (["report", "run.json", "html:run.json"], "run.json is the run itself"),
        (["report", "bad.json", "html:a.html"], "bad.json:1: schema: found 'mapsat-run/9'"),
        (["report", "run.json", "figures:run.json/x"], "run.json/x"),
        (["report", "run.json", "twice.json", "json:a"], "json:a: found 2 runs, expected one"),
        (["report", "run.json", "run.json", "html:a.html"], "run.json is given twice"),
        (["report", "run.json", "twice.json", "html:twice.json"], "twice.json is the run itself"),
        (["report", "run.json", "profile:f"], "expected two runs, without and with the profile, found 1"),
        (["report", "twice.json", "figures:f"], "a second scorecard of case here"),
    ],
)
def test_what_cannot_be_used_is_named_and_ends_with_2(capsys, arguments, told):
    data = json.loads(Path("run.json").read_text(encoding="utf-8"))
    Path("bad.json").write_text(json.dumps({**data, "schema": "mapsat-run/9"}), encoding="utf-8")
    Path("twice.json").write_text(json.dumps({**data, "cases": data["cases"] * 2}), encoding="utf-8")
    assert main(arguments) == 2
    assert told in capsys.readouterr().err


def test_figures_are_written_as_tables_and_charts(capsys):
    assert main(["report", "run.json", "figures:f"]) == 0
    assert main(["report", "run.json", "run.json", "profile:f"]) == 0
    names = sorted(path.name for path in Path("f").iterdir())
    assert names == sorted(
        f"{name}.{kind}" for name in ("by-domain", "by-source", "profile", "tool-calls") for kind in ("csv", "svg")
    )
    assert capsys.readouterr().out.count("\n") == len(names)
    assert "find,good:agent,3,1.000000,1.000000" in Path("f/tool-calls.csv").read_text(encoding="utf-8")
