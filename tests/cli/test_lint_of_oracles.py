"""mapsat lint plays the oracles and looks up the paths of checks: what no recording answers is told at its line."""

import json
from pathlib import Path
from typing import Any

import pytest
import tiny_suite

from pytest_mapsat.cli import main

CALL = {"tool": "search_poi", "arguments": {"query": "charger"}}
SAY = "I suggest Blue Bay."


def _lint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], truth: dict[str, Any], file: str = "a.yaml"
) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit status of lint and its findings about a suite of one case, but for notes."""
    case = tiny_suite.case("one")
    case["truth"] |= truth
    suite = tiny_suite.write_suite(tmp_path / "suite", {file: [case]})
    status = main(["lint", str(suite), "--json"])
    return status, [found for found in json.loads(capsys.readouterr().out) if found["severity"] != "note"]


def _line(tmp_path: Path, text: str, file: str = "a.yaml") -> int:
    lines = (tmp_path / "suite" / file).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def _hard(check: dict[str, Any]) -> dict[str, Any]:
    evidence = [{"text": "said so", "relevance": "strong"}]
    asked, _, _, fact = tiny_suite.case("one")["truth"]["requirements"]
    hard = {"id": "z1", "kind": "hard", "text": "z", "evidence": evidence, "check": check}
    return {"requirements": [asked, hard, fact]}


def _where(**where: Any) -> dict[str, Any]:
    return _hard({"kind": "recommends", "only": True, "where": where})


EQUAL = {"op": "equal", "value": True}
SOUND = _where(open=EQUAL) | {"oracle": [{"calls": [CALL], "say": SAY}]}


def test_nothing_is_said_of_an_oracle_whose_calls_are_answered(tmp_path, capsys):
    assert _lint(tmp_path, capsys, SOUND) == (0, [])


@pytest.mark.parametrize(
    ("call", "words", "hint"),
    [
        (
            {"tool": "search_poi", "arguments": {"query": "pharmacy"}},
            'the oracle calls search_poi(query="pharmacy"), which has no recording: the nearest of 1 recordings of search_poi',
            "they differ in query",
        ),
        (
            {"tool": "search_poi", "arguments": {}},
            "the oracle calls search_poi(), which is an error: search_poi: ",
            "",
        ),
    ],
)
def test_a_call_that_no_recording_answers_is_warned_of_at_its_line(tmp_path, capsys, call, words, hint):
    oracle = [{"calls": [CALL, call | {"arguments": call["arguments"]}], "say": SAY}]
    status, (found,) = _lint(tmp_path, capsys, SOUND | {"oracle": oracle})
    assert (status, found["severity"], found["rule"], found["hint"]) == (0, "warning", "oracle-miss", hint)
    assert found["message"].startswith(f"case one: {words}")
    first = _line(tmp_path, '"calls"') + 1
    assert found["path"].endswith("suite/a.yaml")
    assert found["line"] > first + 3, "the second call, not the first"


def test_the_line_of_a_case_in_json_lines_is_named(tmp_path, capsys):
    oracle = [{"calls": [{"tool": "search_poi", "arguments": {"query": "x"}}], "say": SAY}]
    _, (found,) = _lint(tmp_path, capsys, SOUND | {"oracle": oracle}, "b.jsonl")
    assert (found["rule"], found["line"]) == ("oracle-miss", 1)


def test_an_oracle_that_cannot_be_played_is_an_error(tmp_path, capsys):
    """Its only reply asks what the user has an answer to; it has nothing to say to that answer."""
    user = {"answers": [{"asked": ["far"], "say": "Not far, please."}]}
    status, (found,) = _lint(tmp_path, capsys, SOUND | {"user": user, "oracle": [{"say": "How far may it be?"}]})
    assert (status, found["severity"], found["rule"]) == (1, "error", "oracle")
    assert found["message"].startswith("case one: the oracle cannot be played: the user goes on after all 1 replies")
    assert found["line"] == _line(tmp_path, '"oracle"')


def test_replies_that_the_user_never_waits_for_are_warned_of(tmp_path, capsys):
    oracle = [{"calls": [CALL], "say": SAY}, {"say": "Have a nice day."}]
    _, (found,) = _lint(tmp_path, capsys, SOUND | {"oracle": oracle})
    assert (found["rule"], found["severity"]) == ("oracle-rest", "warning")
    assert "the user ends the dialogue after 1 of 2 replies" in found["message"]
    assert found["line"] == _line(tmp_path, "Have a nice day") - 1


@pytest.mark.parametrize("field", ["where", "none_where"])
def test_a_path_that_no_thing_of_the_recordings_has_is_warned_of_at_its_line(tmp_path, capsys, field):
    check = {"kind": "recommends", field: {"opn": EQUAL}, "tool": "search_poi"}
    _, (found,) = _lint(tmp_path, capsys, SOUND | _hard(check))
    assert (found["rule"], found["severity"]) == ("no-such-path", "error")
    assert found["message"] == "case one: no thing that search_poi returns in the case's sandbox has 'opn'"
    assert found["hint"] == "did you mean 'open'?"
    assert _line(tmp_path, '"opn"') <= found["line"] <= _line(tmp_path, '"opn"') + 1


def test_a_bound_path_that_no_result_has_is_warned_of(tmp_path, capsys):
    def number(path: str) -> dict[str, Any]:
        equals = {"op": "bound", "tool": "search_poi", "path": path}
        return _hard({"kind": "not", "check": {"kind": "number", "unit": "m", "equals": equals}})

    assert _lint(tmp_path, capsys, SOUND | number("pois.*.open")) == (0, [])
    (tmp_path / "suite").rename(tmp_path / "first")
    _, (found,) = _lint(tmp_path, capsys, SOUND | number("pois.*.metres"))
    assert found["message"] == "case one: no result of search_poi in the case's sandbox has 'pois.*.metres'"
    assert found["hint"] == "there is: name, open"
    assert found["line"] == _line(tmp_path, "metres")


def test_a_path_that_must_be_absent_need_not_be_there(tmp_path, capsys):
    assert _lint(tmp_path, capsys, SOUND | _where(closed={"op": "absent"})) == (0, [])


def test_a_case_that_cannot_be_read_hides_nothing_of_the_others(tmp_path, capsys):
    case = tiny_suite.case("two")
    case["truth"] |= SOUND | {"oracle": [{"calls": [{"tool": "search_poi", "arguments": {"query": "x"}}], "say": SAY}]}
    broken = tiny_suite.case("one", domains=["nowhere"])
    suite = tiny_suite.write_suite(tmp_path / "suite", {"a.jsonl": [broken, case], "b.yaml": [{"id": "bad"}]})
    assert main(["lint", str(suite)]) == 1
    out = capsys.readouterr().out
    assert "a.jsonl:2: case two: the oracle calls" in out
    assert "the manifest has no domain 'nowhere'" in out
    assert "b.yaml:" in out


def test_an_oracle_that_its_own_case_fails_is_warned_of_at_the_check(tmp_path, capsys):
    status, found = _lint(tmp_path, capsys, SOUND | _hard({"kind": "says", "any": ["parking"], "about": ["park"]}))
    (failed,) = [one for one in found if one["rule"] == "oracle-fails"]
    assert (status, failed["severity"]) == (0, "warning")
    assert failed["message"].startswith("case one: the oracle fails z1: no reply says 'parking'")
    assert failed["line"] == _line(tmp_path, '"z1"') - 1


def test_a_check_that_nobody_adds_is_an_error_that_a_module_mends(tmp_path, capsys):
    _, found = _lint(tmp_path, capsys, SOUND | _hard({"kind": "brief"}))
    assert [one["rule"] for one in found if one["severity"] == "error"] == ["case"]
    assert "found 'brief', expected one of" in found[0]["message"]
    assert found[0]["hint"] == "@mapsat.check in a conftest adds one"
    (tmp_path / "adds.py").write_text(
        "import pytest_mapsat as mapsat\n\n@mapsat.check\ndef brief(episode):\n    assert len(episode.replies) < 9\n"
    )
    assert main(["lint", str(tmp_path / "suite"), "-p", str(tmp_path / "adds.py"), "--json"]) == 0
    assert [one for one in json.loads(capsys.readouterr().out) if one["severity"] == "warning"] == []
