"""Runs in environments: from the fixture, the hook or the file to the scorecards, the run file and what is done with it later."""

import json
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest
from hotel import Hotel, served, sqlite_hotel

from pytest_mapsat.cli import main

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = 'name: hotel\nversion: "1"\nschema_version: 1\n'
CHECKS = {
    "cancelled": {"kind": "state", "table": "bookings", "where": {"code": "BK-1"}, "count": 0},
    "only": {"kind": "unchanged", "except": [{"table": "bookings", "where": {"code": "BK-1"}}, {"table": "nights", "where": {"booking": "BK-1"}}]},
    "kept": {"kind": "state", "table": "bookings", "where": {"code": "BK-2"}, "has": {"day": "2026-12-01"}},
    "python": {"kind": "python", "name": "one_booking"},
}  # fmt: skip
AGENT = """\
import sqlite3

def cancel(*codes):
    with sqlite3.connect("hotel_test.db") as connection:
        for code in codes:
            connection.execute("DELETE FROM nights WHERE booking = ?", (code,))
            connection.execute("DELETE FROM bookings WHERE code = ?", (code,))
    connection.close()

def agent(message, tools):
    assert tools.schemas() == []
    cancel("BK-1")
    return "BK-1 is cancelled."

def both(message, tools):
    cancel("BK-1", "BK-2")
    return "BK-1 is cancelled."
"""
CONFTEST = """\
import pytest
from pytest_mapsat import SqlEnvironment, check

@pytest.fixture(scope="session")
def mapsat_environment():
    return SqlEnvironment("sqlite:///hotel_test.db", ["guests", "bookings", "nights"], reset="restore", hide=["pin"], settle=0.05)
"""
ONE_BOOKING = """
@check
def one_booking(episode):
    assert list(episode.state["bookings"]) == ["BK-2"]
    assert {(change.table, change.id) for change in episode.changes} >= {("bookings", "BK-1")}
"""

LATE = """
def pytest_runtest_logfinish(nodeid):
    import mine
    mine.cancel("BK-2")
"""


def write_suite(folder, *names, checks=CHECKS, manifest=""):
    folder.mkdir(exist_ok=True)
    (folder / "suite.yaml").write_text(MANIFEST + manifest)
    for name in names:
        requirements = [
            {"id": key, "kind": "asked", "text": key, "check": check, "scope": "outcome"}
            for key, check in checks.items()
        ]
        visible = {"query": "Please cancel BK-1."}
        case = {"id": name, "visible": visible, "truth": {"intent": "cancel", "requirements": requirements}}
        (folder / f"{name}.yaml").write_text(json.dumps(case))


@pytest.fixture
def project(pytester, monkeypatch):
    sqlite_hotel(pytester.path)
    pytester.makeconftest(CONFTEST + ONE_BOOKING)
    pytester.makepyfile(mine=AGENT)
    write_suite(pytester.path / "benchmark_cases", "a", "b", "c")
    monkeypatch.chdir(pytester.path)
    return pytester


def run(project, agent, *options, save="run.json"):
    return project.runpytest(f"--mapsat-agent=mine:{agent}", f"--mapsat-save={save}", *options)


def saved(name="run.json"):
    return json.loads(Path(name).read_text())


def outcomes(data):
    return {card["id"]: {label["requirement"]: label["outcome"] for label in card["labels"]} for card in data["cases"]}


def test_a_database_is_judged_and_judged_again_without_it(project, capsys):
    before = sqlite3.connect("hotel_test.db").execute("SELECT * FROM bookings ORDER BY code").fetchall()
    result = run(project, "agent")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["mapsat: episodes act on the database hotel_test.db (sqlite)"])
    first = saved()
    assert outcomes(first) == dict.fromkeys("abc", dict.fromkeys(sorted(CHECKS), "passed"))
    assert len(first["starts"]) == 3
    assert "1111" not in Path("run.json").read_text()
    (label,) = [label for label in first["cases"][0]["labels"] if label["requirement"] == "only"]
    assert "not watched: audit" in label["why"]
    assert sqlite3.connect("hotel_test.db").execute("SELECT * FROM bookings ORDER BY code").fetchall() == before
    # The same again, from a journal, by a resumed run, and from a recorded one.
    run(project, "agent", save="again.json")
    for data in (first, again := saved("again.json")):
        for part in (data, *data["cases"], *(turn for card in data["cases"] for turn in card["trajectory"]["turns"])):
            part.pop("timing", None)
    assert first == again
    journal = Path("again.json.journal")
    resumed = project.runpytest("--mapsat-agent=mine:both", "--mapsat-save=third.json", f"--mapsat-resume={journal}")
    assert resumed.ret != 0  # another agent
    result = run(project, "agent", f"--mapsat-resume={journal}", save="third.json")
    result.assert_outcomes(passed=3)
    result = project.runpytest("--mapsat-agent=recorded:again.json", "--mapsat-save=fourth.json")
    result.assert_outcomes(passed=3)
    Path("hotel_test.db").unlink()
    Path("conftest.py").unlink()
    Path("own_checks.py").write_text(f"from pytest_mapsat import check\n{ONE_BOOKING}")
    for name in ("again.json", "again.json.journal", "third.json", "fourth.json"):
        assert main(["regrade", name, "--save", "regraded.json", "-p", "own_checks.py"]) in (0, 1)
        assert outcomes(saved("regraded.json")) == outcomes(first), name
        assert saved("regraded.json")["starts"] == first["starts"]
    # Without the rows of the start what needs them is undecided, what the changes tell is not.
    data = saved("again.json")
    del data["starts"]
    Path("bare.json").write_text(json.dumps(data))
    assert main(["regrade", "bare.json", "--save", "regraded.json", "-p", "own_checks.py"]) == 1
    assert outcomes(saved("regraded.json"))["a"] == {
        "cancelled": "passed", "only": "passed", "kept": "unevaluated", "python": "unevaluated"
    }  # fmt: skip
    data["cases"][0]["trajectory"]["environment"]["changes"][0]["before"]["price"] = 1
    data["starts"] = first["starts"]
    Path("forged.json").write_text(json.dumps(data))
    assert main(["regrade", "forged.json", "--save", "regraded.json", "-p", "own_checks.py"]) == 1
    assert outcomes(saved("regraded.json"))["a"]["kept"] == "unevaluated"
    capsys.readouterr()
    assert main(["show", "again.json", "a"]) == 0
    assert "changed bookings BK-1: removed {" in " ".join(capsys.readouterr().out.split())


def test_a_second_booking_that_is_cancelled_is_named_and_a_late_write_leaves_no_green_run(project):
    result = run(project, "both")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*2 rows changed that should not have: bookings BK-2, nights BK-2,1*"])
    # A write that comes once an item has been judged.
    project.makeconftest(CONFTEST + ONE_BOOKING + LATE)
    result = run(project, "agent")
    result.assert_outcomes(passed=3)
    assert result.ret == 1
    told = outcomes(saved())
    undecided = dict.fromkeys(sorted(CHECKS), "unevaluated")
    assert (told["a"], told["b"]) == (undecided, undecided)
    assert set(told["c"].values()) == {"passed"}
    environment = saved()["cases"][0]["trajectory"]["environment"]
    assert environment["unknown"] == (late := "bookings BK-2, nights BK-2,1 changed after the end had been read")
    # The same of cases in Python, whose functions are not called again; and in a run that keeps no dialogues.
    (project.path / "hotel_test.db").unlink()
    sqlite_hotel(project.path)
    project.makepyfile(
        test_mine="""
        from pytest_mapsat import case

        @case("Please cancel BK-1.")
        def test_one(episode):
            with episode.asked("it is gone"):
                assert "BK-1" not in episode.state["bookings"]

        @case("Please cancel BK-1.")
        def test_two(episode):
            assert "BK-1" not in episode.state["bookings"]
        """
    )
    run(project, "agent", "test_mine.py").assert_outcomes(passed=2)
    first, second = saved()["cases"]
    assert {label["why"] for label in first["labels"]} == {f"undecided: {late}"}
    assert {label["outcome"] for label in second["labels"]} == {"passed"}
    (project.path / "hotel_test.db").unlink()
    sqlite_hotel(project.path)
    result = project.runpytest("-v", "--mapsat-agent=mine:agent", "test_mine.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*INCONCLUSIVE*", "*changed after the end had been*"])


def test_a_worker_acts_on_a_database_of_its_own_and_the_run_file_has_what_it_kept(project):
    (project.path / "gw0").mkdir()
    sqlite_hotel(project.path / "gw0")
    own = CONFTEST.replace("mapsat_environment():", "mapsat_environment(worker_id):").replace(
        '"sqlite:///hotel_test.db"', 'f"sqlite:///{worker_id}/hotel_test.db"'
    )
    project.makeconftest(own + ONE_BOOKING)
    agent = AGENT.replace('"hotel_test.db"', 'os.environ["PYTEST_XDIST_WORKER"] + "/hotel_test.db"')
    project.makepyfile(mine=f"import os\n{agent}")
    result = run(project, "agent", "-n", "1")
    result.assert_outcomes(passed=3)
    assert len(saved()["starts"]) == 3
    assert outcomes(saved()) == dict.fromkeys("abc", dict.fromkeys(sorted(CHECKS), "passed"))
    assert len({json.dumps(card["trajectory"]["environment"]) for card in saved()["cases"]}) == 1


def test_a_service_file_or_a_manifest_alone_names_the_endpoints(pytester, monkeypatch):
    monkeypatch.chdir(pytester.path)
    checks = {
        "done": {"kind": "state", "table": "bookings", "where": {"id": "BK-1"}, "has": {"status": "cancelled"}},
        "only": {
            "kind": "unchanged",
            "except": [{"table": "bookings", "where": {"id": "BK-1"}, "columns": ["status"]}],
        },
    }
    with served(Hotel()) as hotel:
        url = f"{hotel.address}/chat"
        terms = {"reset": f"POST {hotel.url}/reset", "state": f"GET {hotel.url}/state", "settle": 0}
        suite = pytester.path / "benchmark_cases"
        write_suite(suite, "a", "b", checks=checks, manifest=f"environment: {json.dumps(terms)}\n")
        options = "--mapsat-save=run.json", "--mapsat-concurrency=4"
        result = pytester.runpytest(f"--mapsat-agent={url}", *options)
        result.assert_outcomes(passed=2)
        write_suite(suite, checks=checks)
        (pytester.path / "service.yaml").write_text(json.dumps({"url": url, "environment": terms}))
        result = pytester.runpytest("--mapsat-agent=http:service.yaml", *options)
        result.assert_outcomes(passed=2)
        result.stdout.fnmatch_lines([f"mapsat: episodes act on {terms['state'].removeprefix('GET ')}"])
        # A test endpoint that is away makes the episodes lost, and no green run.
        terms["state"] = "GET http://127.0.0.1:9/state"
        write_suite(suite, checks=checks, manifest=f"environment: {json.dumps(terms)}\n")
        result = pytester.runpytest(f"--mapsat-agent={url}", *options)
        assert result.ret == 1
        assert {card["trajectory"]["ending"] for card in saved()["cases"]} == {"infrastructure_error"}
        terms["state"] = "GET http://shop.example/state"
        write_suite(suite, checks=checks, manifest=f"environment: {json.dumps(terms)}\n")
        result = pytester.runpytest(f"--mapsat-agent={url}", *options)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*shop.example is not this machine*"])


def test_a_hook_gives_an_object_of_ones_own_and_a_fixture_of_a_test_comes_before_it(pytester, monkeypatch):
    monkeypatch.chdir(pytester.path)
    pytester.makepyfile(mine='TABLE = {}\ndef agent(message, tools):\n    TABLE["x"] = {"n": 1}\n    return "Done."\n')
    pytester.makeconftest(
        """
        import mine, pytest
        from contextlib import suppress

        class World:
            def __init__(self, closed): self.closed = closed
            def tables(self): return {"things": mine.TABLE}
            def close(self): self.closed.append(1)

        class Memory:
            settle = 0
            closed = []
            def start(self, case, session):
                assert session.trial == 1 and session.id
                mine.TABLE.clear()
                return World(self.closed)

        MEMORY = Memory()

        def pytest_mapsat_environment(config, case, suite):
            return MEMORY if case.id != "b" else None

        def pytest_unconfigure(config):
            assert len(Memory.closed) == 2, Memory.closed
        """
    )
    checks = {"there": {"kind": "state", "table": "things", "where": {"id": "x"}, "has": {"n": 1}}}
    write_suite(pytester.path / "benchmark_cases", "a", "b", checks=checks)
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def mapsat_environment(request):
            if "other" in request.node.name:
                yield 7
                return
            import pathlib, sqlite3
            from pytest_mapsat import SqlEnvironment

            with sqlite3.connect("own.db") as connection:
                connection.execute("CREATE TABLE things (id text PRIMARY KEY, n integer)")
            connection.close()
            yield SqlEnvironment("sqlite:///own.db", ["things"], settle=0)
            pathlib.Path("own.db").unlink()

        def test_other(mapsat_case, mapsat_run):
            assert "expected an object with start(case, session), found 7" in mapsat_run().scorecard.reason

        def test_own(mapsat_case, mapsat_run):
            run = mapsat_run()
            assert run.scorecard.outcome == "failed"
            assert len(run.episode.state["things"]) == len(run.episode.changes) == 0
        """
    )
    result = pytester.runpytest("--mapsat-agent=mine:agent", "benchmark_cases", "--mapsat-save=run.json")
    result.assert_outcomes(passed=1, errors=1)
    assert outcomes(saved()) == {"a": {"there": "passed"}, "b": {"there": "unevaluated"}}
    result = pytester.runpytest("--mapsat-agent=mine:agent", ".", "-k", "test_other")
    result.stdout.fnmatch_lines(["*expected an object with start(case, session), found 7*"])
    # A fixture of a test is torn down after each: before that its database is looked at once more.
    result = pytester.runpytest("--mapsat-agent=mine:agent", ".", "-k", "test_own", "--mapsat-save=run.json")
    result.assert_outcomes(passed=2)
    assert outcomes(saved()) == {name: {"there": "failed"} for name in "ab"}


def test_the_example_of_a_service_passes_on_postgresql(postgres, warm):
    import psycopg

    name = f"desk_test_{os.getpid()}"
    with psycopg.connect(f"postgresql://app@{postgres}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    command = [warm, "-m", "pytest", "examples/service_with_database", "-p", "no:cacheprovider", "-q"]
    environment = {**os.environ, "HOTEL_DATABASE": f"postgresql+psycopg://app@{postgres}/{name}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert "7 passed" in done.stdout, done.stdout
    assert f"acted on the database {name} (postgresql on 127.0.0.1)" in " ".join(done.stdout.split())
