"""mapsat init: files to begin with, all of them or none."""

import json
import re
import sys
from importlib.util import find_spec
from subprocess import run

import pytest
from starts import FAULT, lines_of, played, written

from pytest_mapsat.agents.frameworks import ADAPTERS
from pytest_mapsat.cli import main

FILES = [
    ".github/workflows/benchmark.yml",
    "benchmark_cases/.schemas/case.json",
    "benchmark_cases/.schemas/suite.json",
    "benchmark_cases/.schemas/tools.json",
    "benchmark_cases/cancel-noodles.yaml",
    "benchmark_cases/state/orders.jsonl",
    "benchmark_cases/suite.yaml",
    "benchmark_cases/too-late.yaml",
    "benchmark_cases/tools.yaml",
    "benchmark_cases/total.yaml",
    "conftest.py",
    "my_agent.py",
]


def test_the_new_suite_is_sound_and_each_write_of_its_oracles_matters(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == FILES
    assert all((tmp_path / name).is_file() for name in FILES)
    assert main(["lint", "benchmark_cases", "-p", "conftest.py", "--mutants"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("0 errors, 0 warnings, 0 notes\n")
    assert re.search(r"^(\d+) of \1 wrong mutants killed", out, re.MULTILINE)
    assert "dropped_write" in out


@pytest.mark.parametrize("place", ["conftest.py", "benchmark_cases/suite.yaml"])
def test_nothing_is_overwritten_and_nothing_is_half_written(tmp_path, capsys, place):
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    assert main(["init", str(tmp_path)]) == 2
    said = f"{place} already exists, and nothing is overwritten; name a new folder, as in: mapsat init benchmark"
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / place).read_text() == "mine"


def test_what_was_written_is_taken_away_again_where_a_file_cannot_be(tmp_path, capsys):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / ".github").write_text("a file where a folder is needed")
    assert main(["init", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err.startswith("mapsat: ")
    assert [path.name for path in (tmp_path / "new").iterdir()] == [".github"]


# -- --for: the smallest start for what the user has ----------------------------------------------------------------------


@pytest.mark.skipif(find_spec("sqlalchemy") is None, reason="SQLAlchemy is not installed (pytest-mapsat[sql])")
def test_the_start_for_a_service_runs_as_it_is_written_and_has_forty_lines(tmp_path, capsys, warm):
    files = written(tmp_path, "service")
    assert list(files) == ["conftest.py", "service.yaml", "test_bookings.py"]
    assert lines_of(files) <= 40
    told = capsys.readouterr()
    assert told.err == ""
    assert re.search(
        r"next:\n  cd .*\n  pytest +# one case passes, one fails: .*\n  pytest --mapsat-trials=4 +# .*\n$", told.out
    )
    out = played(warm, tmp_path)
    assert "1 failed, 1 passed" in out
    assert FAULT in out
    assert "2 user: No, do not do that." in out
    assert '-> cancel_booking(booking_id="BK-1")  [reported]' in out
    assert "2 acted on the database hotel_test.db (sqlite)" in out


def test_the_service_of_one_s_own_takes_the_place_of_the_one_that_comes_with_the_start(tmp_path, warm):
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed (pytest-mapsat[sql])")
    from pytest_mapsat.starter import hotel

    (tmp_path / "tests").mkdir()
    conftest = written(tmp_path / "tests", "service")["conftest.py"]
    with hotel.running(tmp_path) as (service, database):
        own = f'    if True:\n        service, database = "{service}", "{database}"\n'
        changed = re.sub(r"    with hotel.*\n", lambda _: own, conftest)
        assert changed != conftest
        (tmp_path / "tests" / "conftest.py").write_text(changed)
        assert "1 failed, 1 passed" in played(warm, tmp_path, "tests")


def test_without_sqlalchemy_the_first_run_of_a_service_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    written(tmp_path, "service")
    assert "run: pip install 'pytest-mapsat[sql]'" in capsys.readouterr().err
    code = (
        "import sys; sys.modules['sqlalchemy'] = None; import pytest; sys.exit(pytest.main(['-p', 'no:cacheprovider']))"
    )
    done = run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "SqlEnvironment needs SQLAlchemy and a driver: pip install 'pytest-mapsat[sql]'" in done.stderr


def test_the_start_for_a_function_runs_as_it_is_written_and_has_no_yaml(tmp_path, warm):
    files = written(tmp_path, "function")
    assert list(files) == ["conftest.py", "test_bookings.py"]
    assert lines_of(files) <= 40
    out = played(warm, tmp_path)
    assert "1 failed, 1 passed" in out
    assert "AssertionError: assert 'is cancelled' not in 'Booking BK-1 is cancelled.'" in out


@pytest.mark.parametrize("name", ADAPTERS)
def test_each_framework_has_a_start(tmp_path, name):
    files = written(tmp_path, name.replace("-", "_").title())
    assert sorted(files) == [
        "conftest.py",
        "hotel/state/bookings.jsonl",
        "hotel/suite.yaml",
        "hotel/test_bookings.py",
        "hotel/tools.yaml",
        "my_agent.py",
    ]
    package = ADAPTERS[name]
    assert re.search(rf"^from {re.escape(package)}\b", files["my_agent.py"], re.MULTILINE)
    compile(files["my_agent.py"], "my_agent.py", "exec")


@pytest.mark.parametrize(
    ("given", "meant"),
    [("langgrap", "langgraph"), ("openai", "openai-agents"), ("adk", "google-adk"), ("servce", "service"), ("xx", "")],
)
def test_a_start_that_there_is_not_is_refused_with_the_nearest_name(tmp_path, capsys, given, meant):
    assert main(["init", "--for", given, str(tmp_path / "new")]) == 2
    err = capsys.readouterr().err
    assert f"--for: found '{given}', expected service, function, node, agent-framework, claude-agent-sdk, " in err
    assert (f"(did you mean '{meant}'?)" in err) == bool(meant)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("start", ["service", "function", "langgraph"])
def test_no_start_overwrites_a_conftest(tmp_path, capsys, start):
    (tmp_path / "conftest.py").write_text("mine")
    assert main(["init", "--for", start, str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert f"nothing is overwritten; name a new folder, as in: mapsat init --for {start} benchmark" in err
    assert [path.name for path in tmp_path.iterdir()] == ["conftest.py"]


def test_the_files_and_commands_of_a_start_come_as_json_too(tmp_path, capsys):
    assert main(["init", "--for", "function", "--json", str(tmp_path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == ["conftest.py", "test_bookings.py"]
    assert told["next"][1:] == ["pytest", "pytest --mapsat-trials=4"]
