"""mapsat record: own tools are called, and the suite replays what they answered."""

import json
import sys

import pytest
from office_suite import recordings, write_office

from pytest_mapsat.cli import main


@pytest.fixture
def office(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield write_office(tmp_path)
    for name in ("office", "bot"):
        sys.modules.pop(name, None)


def recorded(capsys, *options: str) -> tuple[int, dict]:
    status = main(["record", "office:tools", *options, "--json"])
    out = capsys.readouterr()
    assert out.out, out.err
    return status, json.loads(out.out)


def test_tools_are_described_and_the_oracle_s_calls_become_recordings(office, capsys):
    status, told = recorded(capsys)
    assert status == 0
    assert [name.rpartition("/")[2] for name in told["tools"]] == ["book_room.yaml", "find_rooms.yaml", "odd.yaml"]
    assert told["redacted"] == ["find_rooms: session.auth_token", "find_rooms: token"]
    book, find = recordings(office)
    assert book == {
        "case": "review",
        "tool": "book_room",
        "arguments": {"room_id": "r2"},
        "result": {"status": "booked", "room_id": "r2"},
        "live": True,
    }
    assert (find["tool"], find["arguments"]) == ("find_rooms", {"start": "14:00", "token": "[redacted]"})
    assert "secret-value" not in json.dumps([book, find])
    assert main(["lint", "benchmark_cases", "--json"]) == 0
    rules = {finding["rule"] for finding in json.loads(capsys.readouterr().out)}
    assert "oracle-miss" not in rules
    assert "items: rooms" in (office / "tools" / "find_rooms.yaml").read_text()


def test_recording_again_changes_no_byte(office, capsys):
    recorded(capsys)
    before = {path: path.read_bytes() for path in office.rglob("*") if path.is_file()}
    status, told = recorded(capsys)
    assert (status, told["recordings"]["known"], told["tools"]) == (0, 2, [])
    assert {path: path.read_bytes() for path in office.rglob("*") if path.is_file()} == before


def test_another_answer_is_reported_and_replaces_only_when_told(office, capsys, tmp_path):
    recorded(capsys)
    path = office / "recordings" / "recorded.jsonl"
    path.write_text(path.read_text().replace("booked", "waiting"))
    status, told = recorded(capsys)
    assert status == 1
    [problem] = told["recordings"]["problems"]
    assert problem.startswith("benchmark_cases/recordings/recorded.jsonl:1: case review: book_room(")
    assert "answers something else now (--replace takes the new one)" in problem
    assert recordings(office)[0]["result"]["status"] == "waiting"
    status, told = recorded(capsys, "--replace")
    assert (status, told["recordings"]["replaced"]) == (0, 1)
    assert recordings(office)[0]["result"]["status"] == "booked"


def test_a_recording_written_by_hand_is_never_replaced(office, capsys):
    recorded(capsys)
    by_hand = {"case": "review", "tool": "book_room", "arguments": {"room_id": "r2"}, "result": {"status": "no"}}
    (office / "recordings" / "hand.jsonl").write_text(json.dumps(by_hand) + "\n")
    (office / "recordings" / "recorded.jsonl").unlink()
    status, told = recorded(capsys, "--replace")
    assert status == 1
    assert "hand.jsonl:1: case review: book_room(" in told["recordings"]["problems"][0]
    assert [recording["tool"] for recording in recordings(office)] == ["find_rooms"]


def test_an_agent_may_make_the_calls_and_gets_what_the_tools_return(office, capsys, tmp_path):
    (tmp_path / "bot.py").write_text(
        "def agent(message, tools):\n"
        "    found = tools.find_rooms(start='14:00')\n"
        "    said = [tools.book_room(room_id='r9'), tools.odd(what='set'), tools.odd(what='big'), tools.nowhere()]\n"
        "    assert found['session']['auth_token'] == 'top-secret-value'\n"
        "    return ' '.join(one['status'] for one in said)\n"
    )
    status, told = recorded(capsys, "--agent", "bot:agent")
    assert status == 1
    assert [recording["tool"] for recording in recordings(office)] == ["find_rooms"]
    problems = "\n".join(told["problems"])
    assert "book_room raised LookupError: no room r9 for key [redacted]" in problems
    assert "a set, which JSON cannot hold" in problems
    assert "a recording holds" in problems
    assert "there is no tool 'nowhere'" in problems


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["office.tools"], "expected module:attribute, as in my_tools:tools (did you mean 'office.tools:tools'?)"),
        (["office:tols"], "tools 'office:tols': 'office' has no attribute 'tols' (did you mean 'tools'?)"),
        (["office:tools", "--case", "reviw"], "has no case 'reviw' (did you mean 'review'?)"),
        (["office:tools", "--suite", "elsewhere"], "elsewhere: there is no suite (mapsat init writes one)"),
        (["office:tools", "--agent", "recorded:x.json"], "x.json: there is no such file"),
        (["office:ROOMS"], "which holds no tool"),
    ],
)
def test_what_cannot_be_recorded_is_explained_with_status_2(office, capsys, arguments, message):
    assert main(["record", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_nothing_is_written_through_a_link_that_leads_out_of_the_suite(office, capsys, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mine.jsonl").write_text("")
    for name, target in (("tools", "elsewhere"), ("recordings/recorded.jsonl", "mine.jsonl")):
        link = office / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(tmp_path / target)
        assert main(["record", "office:tools"]) == 2
        assert "link" in capsys.readouterr().err
        link.unlink()
    assert not list((tmp_path / "elsewhere").iterdir())
    assert (tmp_path / "mine.jsonl").read_text() == ""


def test_a_case_without_an_oracle_needs_an_agent(office, capsys):
    text = (office / "review.yaml").read_text()
    (office / "review.yaml").write_text(
        json.dumps({**json.loads(text), "truth": {"requirements": [{"id": "e", "kind": "asked", "text": "t"}]}})
    )
    assert main(["record", "office:tools"]) == 1
    assert (
        "case review has no oracle dialogue (truth.oracle) to take calls from; give --agent" in capsys.readouterr().err
    )


def test_every_case_that_cannot_be_read_is_told_and_the_sound_ones_are_recorded(office, capsys):
    whole = json.loads((office / "review.yaml").read_text())
    needy = {**whole["truth"]["requirements"][0], "check": {"kind": "clock_time"}}
    for name in ("one", "two"):
        broken = {**whole, "id": name, "truth": {**whole["truth"], "requirements": [needy]}}
        (office / f"{name}.yaml").write_text(json.dumps(broken))
    assert main(["record", "office:tools"]) == 1
    out, err = capsys.readouterr()
    assert "2 recordings added" in out
    assert "one.yaml:1" in err
    assert "two.yaml:1" in err


def test_each_case_meets_the_tools_as_they_begin_where_a_class_makes_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    write_office(tmp_path, "review", "retro")
    (tmp_path / "counter.py").write_text(
        "class Tools:\n"
        "    def __init__(self):\n"
        "        self.booked = []\n"
        "    def find_rooms(self, start: str, minutes: int = 60, token: str = ''):\n"
        "        return {'rooms': [{'id': 'r2', 'name': 'Cedar', 'free': not self.booked}]}\n"
        "    def book_room(self, room_id: str):\n"
        "        self.booked.append(room_id)\n"
        "        return {'booked': len(self.booked)}\n"
    )
    main(["record", "counter:Tools", "--json"])
    told = json.loads(capsys.readouterr().out)
    answers = [
        (one["case"], one["result"]) for one in recordings(tmp_path / "benchmark_cases") if one["tool"] == "book_room"
    ]
    assert answers == [("retro", {"booked": 1}), ("review", {"booked": 1})]
    (warning,) = told["warnings"]
    assert warning.startswith("book_room: seems to write; if so, declare effect: write")
    tool = tmp_path / "benchmark_cases" / "tools" / "book_room.yaml"
    tool.write_text(tool.read_text() + "effect: write\n")
    assert main(["record", "counter:Tools"]) == 0
    assert "mapsat: book_room: a recording answers, and changes nothing" in capsys.readouterr().err
    sys.modules.pop("counter", None)
