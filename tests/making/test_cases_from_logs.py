"""``mapsat cases LOGS DEST``: cases out of logs of behaviour."""

import json
from pathlib import Path
from typing import Any

import pytest
from behaviour_logs import Made, made_logs, write_events

from pytest_mapsat.cli import main

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Logs of five users, and the suite ``suite`` that is built of them beside."""
    folder = tmp_path_factory.mktemp("logs")
    logs = made_logs(folder / "logs", 1, users=5)
    assert main(["cases", str(logs.folder), str(folder / "suite")]) == 0
    return logs


@pytest.fixture(scope="module")
def cases(made: Made) -> list[dict[str, Any]]:
    """The cases of that suite."""
    return cases_of(made.folder.parent / "suite")


def cases_of(suite: Path) -> list[dict[str, Any]]:
    """Return the cases of a suite as data."""
    return [json.loads(line) for line in (suite / "cases.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_suite_has_no_errors(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", str(made.folder.parent / "suite")])
    assert "0 errors, 0 warnings" in capsys.readouterr().out


def test_each_case_asks_for_the_habits_of_its_user(made: Made, cases: list[dict[str, Any]]) -> None:
    for case in cases:
        uid, kind = case["visible"]["context"]["uid"], case["attributes"]["kind"]
        lasting = {habit.field for habit in made.habits[uid] if habit.kind in ("", kind) and habit.last == 1}
        hidden = [part for part in case["truth"]["requirements"] if part["kind"] != "asked" and not part.get("draft")]
        assert lasting <= {field for part in hidden for field in part["check"]["where"]}


def test_the_same_log_given_twice_gives_the_same_bytes(made: Made, tmp_path: Path) -> None:
    for name in ("places.jsonl", "users.jsonl"):
        (tmp_path / "logs").mkdir(exist_ok=True)
        (tmp_path / "logs" / name).write_bytes((made.folder / name).read_bytes())
    write_events(tmp_path / "logs", [*made.events, *made.events])
    assert main(["cases", str(tmp_path / "logs"), str(tmp_path / "suite")]) == 0
    for path in sorted((made.folder.parent / "suite").rglob("*.*")):
        twin = tmp_path / "suite" / path.relative_to(made.folder.parent / "suite")
        assert twin.read_bytes() == path.read_bytes(), path


def test_no_file_tells_of_later_records(made: Made, cases: list[dict[str, Any]]) -> None:
    text = "".join(
        path.read_text() for path in (made.folder.parent / "suite").rglob("*.*") if path.name != "places.jsonl"
    )
    for uid in made.habits:
        contexts = [case["visible"]["context"] for case in cases]
        last_query = max((context["now"] for context in contexts if context["uid"] == uid), default="")
        for event in made.events:
            if event["user"] == uid and event["at"] > last_query:
                assert event["at"] not in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["build", "merchant", "dest"], "did you mean 'merchants'?"),
        (["cases", "nothing-there", "dest"], "nothing-there is not a folder of logs"),
        (["cases", "LOGS", "dest", "--each", "0"], "--each: found 0, expected at least 1"),
        (["build", "LOGS", "dest"], "is a folder: mapsat cases "),
        (["build", "merchants", "dest", "--cases", "3", "--queries", "q"], "--cases, --queries: not for merchants"),
        (["build", "city", "dest", "--queries", "q"], "--queries: not for a city without --cases"),
        (["build", "city", "dest", "--cases", "5", "--each", "2"], "--each: not for a city with cases"),
    ],
)
def test_a_source_or_an_option_that_does_not_fit_is_refused(
    made: Made, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(made.folder) if word == "LOGS" else word for word in words]) == 2
    assert told in capsys.readouterr().err


EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "logs"


def test_the_example_of_the_docs_gives_a_case_whose_hidden_need_stands_in_earlier_lines(tmp_path: Path) -> None:
    assert main(["cases", str(EXAMPLE), str(tmp_path / "suite")]) == 0
    (case,) = cases_of(tmp_path / "suite")
    assert case["visible"]["query"] == "a cafe with wifi"
    kind, wifi, quiet = case["truth"]["requirements"]
    assert (kind["kind"], wifi["kind"], quiet["kind"]) == ("asked", "asked", "hard")
    assert quiet["check"]["where"] == {"quiet": {"op": "equal", "value": True}}
    events = [json.loads(line) for line in (EXAMPLE / "events.jsonl").read_text().splitlines()]
    for place in quiet["evidence"][0]["at"]:
        event = events[int(place.removeprefix("events.jsonl:")) - 1]
        assert event["type"] in ("navigate", "order")
        assert event["at"] < case["visible"]["context"]["now"]
