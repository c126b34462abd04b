"""Figures 4 and 5 and the profile experiment, from saved runs: tables that add up, charts that say the same."""

import csv
import io
import xml.etree.ElementTree as ET

import pytest
from report_runs import COMPARED, HOSTILE, hostile
from runs_made import card, run_of

from pytest_mapsat.model import CallCounts, UsageError
from pytest_mapsat.ports.mapsatisfybench.figures import ChartBar, bar_chart, figures, profile


def one(case, ar, source, *tools, **more):
    """A card of one source of requirements, with calls of some tools."""
    calls = CallCounts(total=len(tools), by_tool={tool: tools.count(tool) for tool in sorted(set(tools))})
    attributes = {"requirement_source": source, "difficulty": "L1"}
    return card(case, ar, attributes=attributes, **more).model_copy(update={"calls": calls})


PLAIN = run_of(one("a", 0.2, "profile", "find", "find"), one("b", 0.4, "context", "find"), one("c", 0.5, "context"))
GIVEN = run_of(one("a", 0.8, "profile"), one("b", 0.4, "context"), one("d", 1.0, "context"))


def rows(files, name):
    return list(csv.DictReader(io.StringIO(files[f"{name}.csv"])))


def values(files, name, **keys):
    return [row for row in rows(files, name) if all(row[key] == value for key, value in keys.items())]


def test_calls_are_counted_by_tool_and_episode():
    (row,) = rows(figures([("plain", PLAIN)]), "tool-calls")
    assert row == {
        "tool": "find",
        "run": "plain",
        "calls": "3",
        "calls per episode": "1.000000",
        "share of episodes": "0.666667",
    }


def test_groups_are_averaged_over_runs_as_in_the_paper():
    files = figures([("plain", PLAIN), ("given", GIVEN)])
    (mean,) = values(files, "by-source", requirement_source="profile", metric="ar", run="mean of the runs")
    assert (mean["least"], mean["most"]) == ("0.500000", "0.500000")
    assert [row["cases"] for row in values(files, "by-source", requirement_source="context", metric="ar")] == [
        "2",
        "2",
        "",
    ]


def test_the_profile_is_worth_the_paired_difference():
    files = profile([("plain", PLAIN), ("given", GIVEN)])
    (every,) = values(files, "profile", cases="all", metric="ar")
    assert (every["difference least"], every["difference most"], every["pairs"]) == ("0.300000", "0.300000", "2")
    (source,) = values(files, "profile", cases="source profile", metric="ar")
    assert (source["without least"], source["profile least"]) == ("0.200000", "0.800000")
    with pytest.raises(UsageError, match="no case"):
        profile([("plain", PLAIN), ("given", run_of(one("z", 1.0, "context")))])
    with pytest.raises(UsageError, match="found 1"):
        profile([("plain", PLAIN)])


def test_what_is_undecided_stays_a_range():
    plain, given = run_of(one("a", 0.2, "profile", most=0.6)), run_of(one("a", 0.5, "profile"))
    files = profile([("plain", plain), ("given", given)])
    (every,) = values(files, "profile", cases="all", metric="ar")
    assert (float(every["difference least"]), float(every["difference most"])) == pytest.approx((-0.1, 0.3))


def test_charts_and_tables_take_any_text():
    runs = [(HOSTILE, hostile(COMPARED)), ("given", COMPARED.model_copy(update={"cases": hostile(COMPARED).cases}))]
    files = figures(runs[:1]) | profile(runs)
    assert len(files) == 8
    for name, text in files.items():
        assert "\x1b" not in text
        if name.endswith(".svg"):
            tags = {element.tag.partition("}")[2] for element in ET.fromstring(text).iter()}  # our own text, parsed
            assert tags <= {"svg", "rect", "path", "text"}
    formula = run_of(one("a", 0.2, "profile", "=cmd()"))
    assert rows(figures([("=run", formula)]), "tool-calls")[0]["tool"] == "'=cmd()"


def test_a_bar_is_as_long_as_its_value():
    chart = ET.fromstring(bar_chart("t", "n", [ChartBar("g", "s", 0.5, 0.5), ChartBar("h", "s", -0.5, 0.25)]))
    widths = [float(rect.get("width")) for rect in chart.iter("{http://www.w3.org/2000/svg}rect")][2:]
    assert len(widths) == 2
    assert widths[1] == pytest.approx(1.5 * widths[0], rel=0.01)
