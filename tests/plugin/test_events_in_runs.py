"""Events in whole runs: a case in Python, equal wherever they are played, and told in every report."""

import bistro
from saved_runs import saved, saved_timeless

from pytest_mapsat.cli import main

RISE = {"after": {"turn": 1}, "rows": [{"table": "slots", "where": {"id": "T1"}, "set": {"price": 45}}]}
GONE = {
    "after": {"tool": "find_tables"},
    "rows": [{"table": "slots", "where": {"id": "T1"}, "set": {"free": 0}}],
    "say": "I hear that it is busy tonight.",
}
PYTHON_CASE = """\
import pytest_mapsat as mapsat


@mapsat.case(
    "Please book me a table.",
    user=mapsat.User(confirms="yes"),
    events=[{"after": {"turn": 1}, "rows": [{"table": "slots", "where": {"id": "T1"}, "set": {"price": 45}}]}],
)
def test_books_at_the_new_price(episode):
    with episode.asked("The table is booked as agreed"):
        assert episode.agreed("book_table")
        (event,) = episode.events
        assert (event.turn, event.changed[0].after["price"]) == (1, 45)
"""


def test_a_run_is_equal_wherever_it_is_played_and_judged_again_and_its_reports_tell_the_events(pytester, capsys):
    never = bistro.case("never", [{"after": {"turn": 7}, "say": "I am off."}])
    bistro.write_bistro(pytester.path, bistro.case("rise", [RISE]), bistro.case("gone", [GONE]), never)
    (pytester.path / "cases/test_books.py").write_text(PYTHON_CASE)

    def run(name, *options, agent="watchful"):
        run = pytester.runpytest_subprocess if "-n2" in options else pytester.runpytest
        result = run("cases", f"--mapsat-agent=bistro_agents:{agent}", f"--mapsat-save={name}.json", *options)
        return result, saved_timeless(pytester, f"{name}.json")["cases"]

    result, here = run("here", "--mapsat-report=html:page.html", "--mapsat-report=otlp:spans.jsonl")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*event 1 never came: it comes after reply 7*"])
    assert "event 1, after call 1 of find_tables" in (pytester.path / "page.html").read_text()
    for name, options in {"again": (), "workers": ("-n2",), "isolated": ("--mapsat-isolate",)}.items():
        result, there = run(name, *options)
        result.assert_outcomes(passed=4)
        assert there == here, name
    result, blind = run("blind", agent="blind")
    result.assert_outcomes(failed=3, passed=1)
    main(["regrade", "blind.json", "--suite", "cases", "--save", "graded.json"])
    graded = {card["id"]: card["labels"] for card in saved(pytester, "graded.json")["cases"]}
    assert graded == {card["id"]: card["labels"] for card in blind}
    assert main(["show", "blind.json", "gone"]) == 0
    shown = capsys.readouterr().out
    assert "event     after call 1 of find_tables" in shown
    assert "changed   slots T1: free 1 became 0" in shown
    recorded = pytester.runpytest(
        "cases/cases.jsonl", "--mapsat-agent=recorded:spans.jsonl", "--mapsat-save=recorded.json"
    )
    recorded.assert_outcomes(passed=3)
    cards = {name: saved(pytester, f"{name}.json")["cases"] for name in ("here", "recorded")}
    happened = {
        name: [_events(card) for card in of_run if card["id"] in ("rise", "gone")] for name, of_run in cards.items()
    }
    assert happened["recorded"] == happened["here"] != [[], []]


def _events(card):
    return [step for turn in card["trajectory"]["turns"] for step in turn.get("steps", ()) if step["kind"] == "event"]
