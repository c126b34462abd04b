"""What docs/how-to/read-a-run.md tells is what there is: types, keys, properties, figures."""

import re
from importlib.resources import files
from pathlib import Path

from runs_made import card, run_of

from pytest_mapsat.model import Scorecard, Trajectory
from pytest_mapsat.ports.mapsatisfybench.figures import figures, profile
from pytest_mapsat.reports import REPORTS, properties, summary_lines
from pytest_mapsat.reports.markdown import MOST

PAGES = Path(__file__).resolve().parents[2] / "docs"
PAGE = PAGES.joinpath("how-to", "read-a-run.md").read_text(encoding="utf-8")


def test_every_type_of_report_is_described():
    described = set(re.findall(r"^\| `([a-z]+):(?:PATH)?`", PAGE, re.MULTILINE))
    assert described == set(REPORTS)
    assert f"{MOST:,} characters" in PAGE


def test_the_lines_of_the_terminal_are_called_what_is_printed():
    """A run in which everything happens that the table tells of."""
    broken = {"outcome": "error", "blame": "infrastructure", "reason": "the service is down"}
    run = run_of(
        card("nav-1", 0.5, outcome="failed", blame="agent", reason="hard z1 failed"),
        card("nav-1", 1.0, trial=2),
        card("nav-2", 0.25, most=1.0, outcome="unevaluated", unknown=("z1",), reason="hard z1 is undecided"),
        card("nav-3", 0.0, domains=("search",), **broken),
        lost=[("nav-4", 1, "not started")],
    )
    printed = {line.text.partition(" ")[0] for line in summary_lines(run, width=100, colour=False, full=True)}
    printed |= {line.text.partition(" ")[0] for line in summary_lines(run, width=100, colour=False, saved="run.json")}
    section = PAGE.partition("## The terminal")[2].partition("\n\n`-qq`")[0]
    told = {
        word for row in re.findall(r"^\| (`[^|]+`) \|", section, re.MULTILINE) for word in re.findall("`([^`]+)`", row)
    }
    assert {"why", "stopped", "lost"} <= told
    assert told <= printed
    assert {"stopped", "lost"} <= set(re.findall(r"`([a-z]+)`", PAGE.partition("## Messages")[2])) & printed


def test_the_keys_of_the_page_are_those_of_its_script():
    script = files("pytest_mapsat.reports.html").joinpath("templates", "page.js").read_text(encoding="utf-8")
    keys = set(re.findall(r'event\.key === "([^"]+)"', script))
    told = {
        key for row in re.findall(r"^\| (`[^|]+`) \| [a-z]", PAGE, re.MULTILINE) for key in re.findall("`([^`]+)`", row)
    }
    assert {"Esc" if key == "Escape" else key for key in keys} <= told


def test_the_properties_of_junit_are_those_that_are_told():
    card = Scorecard(
        id="a",
        outcome="passed",
        metrics={"ar": 1.0, "ses": None},
        bounds={"ses": (0.0, 1.0)},
        trajectory=Trajectory(case="a", turns=()),
    )
    names = {name for name, _ in properties(card)}
    assert {"mapsat.ar", "mapsat.ses.least", "mapsat.outcome"} <= names
    told = " ".join(re.findall(r"`(mapsat\.[a-z.]+)`", PAGE))
    assert all(name.replace("ses", "ar") in told for name in names)


def test_the_figures_are_those_that_are_told():
    from saved_runs import card, run_text

    from pytest_mapsat.model import Run

    run = Run.model_validate_json(run_text(card(Trajectory(case="a", turns=()))))
    drawn = figures([("a", run)]) | profile([("a", run), ("b", run)])
    assert {name.partition(".")[0] for name in drawn} == {"tool-calls", "by-domain", "by-source", "profile"}
    assert "`mapsat report gpt.json claude.json figures:DIR` and `profile:DIR`" in PAGE
