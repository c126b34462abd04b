"""A regression planted in one domain of a suite is named in every report: domain, requirement and case; the same agent twice changes nothing."""

import json
import re

from report_runs import NAMED, OPEN_NOW, told
from runs_made import run_of

from pytest_mapsat.gate import Side, compare, parse_drops
from pytest_mapsat.reports import summary_lines
from pytest_mapsat.reports.html import html_report
from pytest_mapsat.reports.markdown import markdown_report
from pytest_mapsat.reports.view import json_report

KEPT = OPEN_NOW.model_copy(update={"outcome": "passed", "value": 1.0, "why": "it is open"})


def a_run(*, planted):
    """Sixty cases in three domains; the planted regression breaks one requirement in ten cases of search."""
    cards = []
    for number in range(60):
        domain = ("search", "navigation", "itinerary")[number % 3]
        broken = planted and domain == "search" and number < 30
        labels = (OPEN_NOW if broken else KEPT, NAMED)
        outcome = {"outcome": "failed", "blame": "agent", "reason": "hard open-now failed"} if broken else {}
        cards.append(
            told(f"case-{number:02}", *labels, ar=0.0 if broken else 1.0, domains=(domain,), stamp="s", **outcome)
        )
    return run_of(*cards)


def held(baseline, new):
    """The new run with its comparison, as a run has it."""
    rules = parse_drops(["ar:0.02"], new.manifest.metrics)
    return new.model_copy(update={"comparison": compare(Side.of(baseline), Side.of(new), rules)})


def test_every_report_names_domain_requirement_and_case():
    run = held(a_run(planted=False), a_run(planted=True))
    assert run.comparison.outcome == "failed"
    terminal = "\n".join(line.text for line in summary_lines(run, width=80, colour=False, full=True))
    page = re.sub(r"<[^>]+>|\s+", " ", html_report(run).partition('id="metrics"')[0].partition('id="changes"')[2])
    for text in (terminal, page, markdown_report(run)):
        plain = " ".join(text.replace("`", "").replace("*", "").split())
        for words in ("domain search", "case-00", "open-now", "passed → failed", "Old Mill"):
            assert words in plain, words
    changed = json.loads(json_report(run))["comparison"]
    worse = {
        (one["dimension"], one["group"]) for one in changed["changes"] if one["direction"] == "worse" and one["group"]
    }
    assert worse == {("domain", "search")}
    assert {case["id"] for case in changed["cases"]} == {f"case-{number:02}" for number in range(0, 30, 3)}


def test_the_same_agent_twice_stays_green_in_every_report():
    run = held(a_run(planted=False), a_run(planted=False))
    assert run.comparison.outcome == "passed"
    text = "\n".join(line.text for line in summary_lines(run, width=80, colour=True))
    assert "60 cases in both runs: none changed" in text
    assert "same" in " ".join(text.split())
    assert "worse" not in text
    assert "🔻" not in markdown_report(run)
    assert "flipped" not in html_report(run).partition('id="metrics"')[0].partition('id="changes"')[2]
