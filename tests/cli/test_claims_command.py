"""mapsat show --claims: each claim of saved dialogues, for people and machines."""

import json

import pytest

from pytest_mapsat.cli import main

MANIFEST = "name: demo\nversion: '1'\nlicense: MIT\nschema_version: 1\ncoordinates: wgs84\nlanguage: en\n"
TOOL = """\
name: find
description: Finds.
parameters: {type: object, properties: {query: {type: string}}}
entities:
  - {items: spots, name: name, fields: {rating: rating, phone: phone}}
"""
CASE = "id: {id}\nvisible: {{query: Where to eat?, context: {{now: 2026-05-07T12:30:00+08:00}}}}\ntruth: {{}}\n"
REPLY = "Try the Old Mill Inn, rated 4.9 stars. Call 555-0142."
SPOTS = {"spots": [{"name": "Old Mill Inn", "rating": 4.5, "phone": "555-0142"}]}


@pytest.fixture
def files(tmp_path):
    """A suite of two cases, and a recorded dialogue of each."""
    suite = tmp_path / "suite"
    (suite / "tools").mkdir(parents=True)
    (suite / "suite.yaml").write_text(MANIFEST)
    (suite / "tools" / "find.yaml").write_text(TOOL)
    dialogues = []
    for case in ("a", "b"):
        (suite / f"{case}.yaml").write_text(CASE.format(id=case))
        calls = [{"id": "1", "name": "find", "arguments": {"query": "inn"}, "result": json.dumps(SPOTS)}]
        turns = [
            {"turn_index": 0, "role": "user", "content": "Where to eat?"},
            {"turn_index": 1, "role": "assistant", "content": REPLY, "tool_calls": calls},
        ]
        dialogues.append(json.dumps({"case_id": case, "model": "m", "turns": turns}))
    (tmp_path / "said.jsonl").write_text("\n".join(dialogues) + "\n")
    return tmp_path


def claims(files, *arguments):
    return main(["show", "--claims", str(files / "said.jsonl"), *arguments, "--suite", str(files / "suite")])


def test_each_claim_is_listed_with_its_place_in_the_dialogue(files, capsys):
    assert claims(files, "b", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["text"], one["type"], one["verdict"]) for one in found] == [
        ("Old Mill Inn", "name", "supported"),
        ("4.9 stars", "quantity", "undecided"),
        ("555-0142", "identifier", "supported"),
    ]
    for one in found:
        assert set(one) == {"case", "trial", "turn", "start", "end", "text", "type", "subject", "verdict", "evidence"}
        assert (one["case"], one["trial"], one["turn"]) == ("b", 1, 1)
        assert REPLY[one["start"] : one["end"]] == one["text"]
    assert found[1]["subject"] == ["old mill inn"]
    assert found[1]["evidence"] == ["4.5 star (find)"]


def test_people_read_a_line_for_each_claim_and_a_count(files, capsys):
    assert claims(files) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7
    assert lines[1].startswith("undecided    a, turn 1, chars 28-37: '4.9 stars' (rating of old mill inn)")
    assert lines[-1] == "6 claims: 4 supported, 2 undecided"


def test_a_case_that_the_file_or_the_suite_does_not_have_is_an_error(files, capsys):
    assert claims(files, "c") == 2
    assert "has no dialogue of the case 'c'" in capsys.readouterr().err
    (files / "suite" / "b.yaml").unlink()
    assert claims(files, "b") == 2
    assert "the suite has no case 'b'" in capsys.readouterr().err


def test_a_run_that_is_not_there_is_an_error(files, capsys):
    assert main(["show", "--claims", str(files / "none.json"), "--suite", str(files / "suite")]) == 2
    assert "none.json" in capsys.readouterr().err
