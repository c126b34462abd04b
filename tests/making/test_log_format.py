"""What a folder of logs may hold, how sessions are restored of it, and what becomes of lines that are odd."""

import json
from datetime import datetime, timedelta

import pytest
import yaml

from pytest_mapsat.cli import main
from pytest_mapsat.making.habits import Habit, Kinds, PlaceCondition, restore
from pytest_mapsat.making.log_cases import behaviour_evidence
from pytest_mapsat.making.logs import open_log
from pytest_mapsat.metrics import weight_of
from pytest_mapsat.model import Case, Evidence, Requirement

START = datetime.fromisoformat("2026-03-02T15:00:00+01:00")
QUIET = [at % 2 == 0 for at in range(10)]
PLACES = [
    {"id": f"c{at}", "name": f"Cafe {name}", "kind": "cafe", "city": "Lindenau", "quiet": quiet, "price": 20 + at}
    for at, (name, quiet) in enumerate(
        zip(["Amber", "Birch", "Cedar", "Delta", "Elder", "Fir", "Grove", "Hazel", "Iris", "Jade"], QUIET, strict=True)
    )
] + [{"id": "g1", "name": "Iron Hall", "kind": "gym", "city": "Lindenau"}]


def event(minutes, sort, user="u-1", **more):
    return {"at": (START + timedelta(minutes=minutes)).isoformat(), "user": user, "type": sort, **more}


def visits(count, query="a cafe"):
    """Return sessions of a user who takes quiet cafes, one a day."""
    return [
        part
        for day in range(count)
        for part in (
            event(1440 * day, "search", query=query),
            event(1440 * day + 5, "order", place=f"c{day * 2 % 10}"),
        )
    ]


def write(folder, events, *, places=PLACES, users=()):
    folder.mkdir(exist_ok=True)
    for name, rows in (("events", events), ("places", places), ("users", users)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def built(tmp_path, capsys, events, **more):
    """Return the report and the cases of a suite that is built of events."""
    capsys.readouterr()
    assert main(["cases", str(write(tmp_path / "logs", events, **more)), str(tmp_path / "suite"), "--json"]) == 0
    lines = (tmp_path / "suite" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return json.loads(capsys.readouterr().out), [json.loads(line) for line in lines]


def hidden(case):
    return [part for part in case["truth"]["requirements"] if part["kind"] != "asked"]


def sessions_of(tmp_path, events):
    with open_log(write(tmp_path / "logs", events)) as log:
        (user,) = log.users()
        return list(restore(user.events, Kinds(log.places)))


def test_a_glance_at_another_kind_is_left_out_and_the_last_thing_taken_counts(tmp_path):
    events = [
        event(0, "search", query="a cafe"),
        event(1, "view", place="g1"),
        event(2, "navigate", place="c1"),
        event(9, "order", place="c2"),
    ]
    (session,) = sessions_of(tmp_path, events)
    assert (session.kind, session.jumps, session.anchor.place) == ("cafe", 1, "c2")


def test_a_session_ends_at_a_pause_and_at_another_kind(tmp_path):
    events = [
        event(0, "search", query="a cafe"),
        event(5, "search", query="a gym"),
        event(6, "order", place="g1"),
        event(37, "search", query="gyms"),
    ]
    assert [(session.kind, len(session.events)) for session in sessions_of(tmp_path, events)] == [
        ("cafe", 1),
        ("gym", 2),
        ("gym", 1),
    ]


def test_times_that_go_back_and_events_that_stand_twice_do_no_harm(tmp_path, capsys):
    events = visits(16)
    report, cases = built(tmp_path, capsys, [*events[::-1], *events])
    assert report["odd"]["events that occur twice"] == len(events)
    assert report["odd"]["times before that of the event above"] > 0
    assert [part["id"] for part in hidden(cases[0])] == ["quiet"]


def test_other_names_of_fields_are_read(tmp_path, capsys):
    names = {"at": "timestamp", "user": "user_id", "type": "action", "place": "place_id"}
    _, cases = built(tmp_path, capsys, [{names.get(key, key): row[key] for key in row} for row in visits(16)])
    assert [part["id"] for part in hidden(cases[0])] == ["quiet"]


def test_broken_lines_unknown_types_and_places_are_told_with_their_lines(tmp_path, capsys):
    odd = ["{", event(0, "serch", query="cafe"), event(1, "view", place="x9"), event(2, "search"), {"at": 1}]
    report, _ = built(tmp_path, capsys, [*odd, *visits(16), event(3, "view", user="u-2", place="c1")])
    assert {key: report["odd"][key] for key in ("broken lines", "unknown types", "unknown places")} == {
        "broken lines": 3,
        "unknown types": 1,
        "unknown places": 1,
    }
    told = "\n".join(report["odd_lines"])
    assert "events.jsonl:1: is not valid JSON" in told
    assert "events.jsonl:2: found the type 'serch'" in told
    assert "did you mean 'search'?" in told
    assert "events.jsonl:3: there is no place 'x9'" in told
    assert "events.jsonl:4: a search needs query" in told


def test_a_log_of_broken_lines_is_refused(tmp_path, capsys):
    write(tmp_path / "logs", ["{"] * 30 + visits(16))
    assert main(["cases", str(tmp_path / "logs"), str(tmp_path / "suite")]) == 2
    assert "30 of 62 lines are broken" in capsys.readouterr().err
    assert not (tmp_path / "suite").exists()


def test_a_filter_of_the_query_is_asked_and_a_habit_stays_hidden(tmp_path, capsys):
    last = [
        event(30_000, "search", query="a cafe"),
        event(30_001, "filter", where={"price": {"max": 30}}),
        event(30_002, "order", place="c4"),
    ]
    report, (case,) = built(tmp_path, capsys, [*visits(21), *last])
    assert [(part["id"], part["kind"]) for part in case["truth"]["requirements"]] == [
        ("kind", "asked"),
        ("asked-price-at-most-30", "asked"),
        ("quiet", "hard"),
    ]
    assert case["visible"]["context"]["history"] == ['Set the filter: {"price":{"max":30}}']
    assert report["requirements"] == {"asked": 2, "hard, profile": 1}


def test_what_the_query_names_is_not_hidden(tmp_path, capsys):
    last = [event(30_000, "search", query="a quiet cafe"), event(30_002, "order", place="c4")]
    _, (case,) = built(tmp_path, capsys, [*visits(21), *last])
    assert case["visible"]["query"] == "a cafe", "the session before: the last one leaves nothing unsaid"


def test_what_comes_after_the_query_stays_in_the_builder(tmp_path, capsys):
    later = [event(40_000, "say", text="Zanzibar was loud."), event(40_001, "order", place="g1", session="s-77")]
    _, cases = built(tmp_path, capsys, [*visits(16), *later])
    assert cases
    text = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "suite").rglob("*.*"))
    assert "Zanzibar" not in text
    assert "s-77" not in text
    assert later[0]["at"][:16] not in text


def weight(evidence):
    return round(weight_of(Requirement(id="z", kind="hard", text="z", evidence=evidence)), 4)


def test_the_weights_of_the_papers_sample_come_out_of_evidence_as_the_builder_writes_it(tmp_path, capsys):
    visits_before = visits(16)
    named = [
        event(30_000, "say", text="somewhere quiet"),
        event(30_001, "search", query="a cafe"),
        event(30_002, "order", place="c4"),
    ]
    # Named in the session, and no habit yet: 1.0 x 1.2.
    first = [event(0, "say", text="somewhere quiet"), event(1, "search", query="a cafe"), event(2, "order", place="c4")]
    _, (case,) = built(tmp_path, capsys, first)
    assert weight(Case.model_validate(case).truth.hard[0].evidence) == 1.2
    # A ratio of the profile, a habit as strong early as late, named in the session: 0.852 x 0.8 x 1.0 x 1.2.
    habit = Habit(PlaceCondition("quiet", "is", True), (True,) * 5 + (False, False) + (True,) * 5, (0.5,) * 12)
    profile = Evidence(text="profile", ratio=0.852, recency="habit", early=5, late=5)
    direct = Evidence(text="somewhere quiet", need="direct")
    assert weight((behaviour_evidence(habit), profile, direct)) == 0.8179
    # 38 of 94 choices, all of them recent: 38 / 94 x 1.0 x 1.2.
    recent = Habit(PlaceCondition("quiet", "is", True), (False,) * 56 + (True,) * 38, (0.2,) * 94)
    assert weight((behaviour_evidence(recent),)) == 0.4851
    (tmp_path / "both").mkdir()
    _, (case,) = built(
        tmp_path / "both", capsys, [*visits_before, *named], users=[{"uid": "u-1", "ratios": {"quiet": 0.852}}]
    )
    (quiet,) = Case.model_validate(case).truth.hard
    assert [(part.ratio, part.need) for part in quiet.evidence] == [(None, None), (0.852, None), (None, "direct")]
    assert quiet.source == "context"


@pytest.mark.parametrize(("name", "rest"), [("events", "no events.jsonl"), ("places", "no places.jsonl")])
def test_a_folder_that_lacks_a_file_is_refused(tmp_path, capsys, name, rest):
    write(tmp_path / "logs", visits(2))
    (tmp_path / "logs" / f"{name}.jsonl").unlink()
    assert main(["cases", str(tmp_path / "logs"), str(tmp_path / "suite")]) == 2
    assert rest in capsys.readouterr().err


def test_a_log_without_a_case_is_told_with_why_and_nothing_is_written(tmp_path, capsys):
    write(tmp_path / "logs", visits(2))
    assert main(["cases", str(tmp_path / "logs"), str(tmp_path / "suite")]) == 2
    told = capsys.readouterr().err
    assert "there is no case in these logs" in told
    assert "1 sessions: nothing hidden is shown by what came before" in told
    assert not (tmp_path / "suite").exists()


@pytest.mark.parametrize(
    ("condition", "english", "chinese"),
    [
        (PlaceCondition("distance", "within_m", 5150.0), "at most 5150 m away", "距用户不超过5150米"),
        (PlaceCondition("bed", "is", "king"), "bed “king”", "bed为“king”"),
        (PlaceCondition("price_per_head", "most", 30.0), "price per head of 30 or less", "price per head不超过30"),
        (PlaceCondition("smoking", "is", False), "no smoking", "无smoking"),
    ],
)
def test_conditions_are_told_as_people_write_them(condition, english, chinese):
    assert (condition.words("en"), condition.words("zh")) == (english, chinese)


def test_personal_data_are_refused_with_their_lines_or_get_aliases(tmp_path, capsys):
    said = [
        event(30_000, "say", text="call 13812345678 or mail ada@example.org", lon=116.31234, lat=39.91234),
        event(30_001, "search", query="a cafe for 13812345678", lon=116.31234, lat=39.91234),
        event(30_002, "order", place="c4"),
    ]
    users = [{"uid": "u-1", "car": "京A12345", "home": {"lon": 116.312345, "lat": 39.912345}}]
    write(tmp_path / "logs", [*visits(16), *said], users=users)
    assert main(["cases", str(tmp_path / "logs"), str(tmp_path / "suite")]) == 2
    told = capsys.readouterr().err
    for part in (
        "events.jsonl:33: text: a telephone number",
        "events.jsonl:34: query",
        "users.jsonl:1: car: a number plate",
    ):
        assert part in told
    assert "users.jsonl:1: home: a home position" in told
    assert not (tmp_path / "suite").exists()
    assert main(["cases", str(tmp_path / "logs"), str(tmp_path / "suite"), "--redact"]) == 0
    text = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "suite").rglob("*.*"))
    for personal in ("13812345678", "ada@example", "A12345", "39.9123", "116.3123"):
        assert personal not in text
    assert "a cafe for phone-1" in text
    assert '"lon": 116.312' in text


@pytest.mark.parametrize("name", ["x" * 81, "", "a.b", "-", "a\tb"])
def test_a_column_that_no_case_could_name_is_left_out_and_told_once(tmp_path, capsys, name):
    places = [{**place, name: True} for place in PLACES]
    report, (case,) = built(tmp_path, capsys, visits(12), places=places)
    assert report["odd"] == {"columns left out": 1}
    assert any("places.jsonl:1: the column" in line for line in report["odd_lines"])
    assert [part["id"] for part in hidden(case)] == ["quiet"]


@pytest.mark.parametrize(
    ("columns", "currency"),
    [({"currency": "GBP"}, "GBP"), ({"price_usd": 7}, "USD"), ({"fee": "from 900 yen"}, "JPY"), ({}, "CNY")],
)
def test_the_currency_is_that_of_the_catalogue(tmp_path, capsys, columns, currency):
    built(tmp_path, capsys, visits(16), places=[{**place, **columns} for place in PLACES])
    manifest = yaml.safe_load((tmp_path / "suite" / "suite.yaml").read_text(encoding="utf-8"))
    assert manifest.get("currency", "CNY") == currency


def test_the_report_says_how_many_habits_are_false_by_chance(tmp_path, capsys):
    folder = write(tmp_path / "logs", visits(16))
    assert main(["cases", str(folder), str(tmp_path / "suite")]) == 0
    assert (
        "at most 5% of a user's habits are expected to be false by chance (Benjamini & Hochberg 1995)"
        in capsys.readouterr().out
    )
    (tmp_path / "again").mkdir()
    report, _ = built(tmp_path / "again", capsys, visits(16))
    assert report["false_discovery_rate"] == 0.05


def test_progress_goes_to_standard_error(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("pytest_mapsat.making.logs._STEP", 10)
    built_of = write(tmp_path / "logs", visits(16))
    assert main(["cases", str(built_of), str(tmp_path / "suite")]) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines()[:3] == [
        "mapsat: 10 events read",
        "mapsat: 20 events read",
        "mapsat: 30 events read",
    ]
    assert "mapsat: 32 of 32 events looked at" in printed.err
    assert "events read" not in printed.out
