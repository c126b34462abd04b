"""A run in which the user acts: reports show whose each call is, and what is kept of it is enough to judge it again."""

import json
import re

import phone
import pytest

from pytest_mapsat.cli import main


@pytest.fixture
def played(pytester: pytest.Pytester, monkeypatch) -> pytest.Pytester:
    phone.write_phone(pytester.path / "benchmark_cases")
    pytester.makeconftest(phone.CONFTEST)
    pytester.makepyfile(good=phone.GOOD)
    reports = ("--mapsat-report=html:run.html", "--mapsat-report=otlp:spans.json")
    run = pytester.runpytest("--mapsat-agent=good:agent", "--mapsat-save=run.json", "--mapsat-fail-on=all", *reports)
    run.assert_outcomes(passed=1)
    monkeypatch.chdir(pytester.path)
    return pytester


def cards(played: pytest.Pytester, name: str) -> list[dict]:
    return json.loads((played.path / name).read_text())["cases"]


def test_calls_of_the_user_are_marked_as_the_users(played, capsys):
    page = (played.path / "run.html").read_text()
    assert re.findall(r'<details class="step call( of-user)?">\s*<summary>(<b>the user</b> )?<code>(\w+)', page) == [
        ("", "", "get_line"),
        ("", "", "reset_line"),
        (" of-user", "<b>the user</b> ", "zebra_status"),
        (" of-user", "<b>the user</b> ", "zebra_airplane"),
    ]
    assert main(["show", "run.json", "no-signal"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("(")[0] for line in lines if re.match(r"(user )?call ", line)] == [
        "call      get_line",
        "call      reset_line",
        "user call zebra_status",
        "user call zebra_airplane",
    ]


def test_a_failure_shows_whose_calls_they_were(played):
    played.makepyfile(bad=phone.GOOD.replace("        tools.reset_line()\n", ""))
    result = played.runpytest("--mapsat-agent=bad:agent")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["* -> get_line()*", "*the user -> zebra_status()*", "*the user -> zebra_airplane()*"])


def test_a_run_is_judged_again_without_the_world_and_from_its_spans(played):
    played.makeconftest("")
    assert main(["regrade", "run.json", "--save", "again.json"]) == 0
    assert cards(played, "again.json") == cards(played, "run.json")
    assert main(["regrade", "again.json", "--save", "twice.json"]) == 0
    assert (played.path / "twice.json").read_bytes() == (played.path / "again.json").read_bytes()
    played.makeconftest(phone.CONFTEST)
    for source in ("run.json", "spans.json"):
        played.runpytest(f"--mapsat-agent=recorded:{source}", "--mapsat-save=read.json", "--mapsat-fail-on=all")
        (card,), (first,) = cards(played, "read.json"), cards(played, "run.json")
        assert card["labels"] == first["labels"]
        assert card["calls"] == first["calls"]
        assert done(card) == done(first)


def done(card: dict) -> list[list[tuple]]:
    """Return who called what in each turn, and what it changed."""
    turns = card["trajectory"]["turns"]
    return [[(turn["role"], step["tool"], step.get("changed")) for step in turn.get("steps", ())] for turn in turns]
