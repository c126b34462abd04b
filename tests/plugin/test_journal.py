"""A run that is killed loses no episode that has ended, and another goes on from where it was."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
import tiny_suite
from saved_runs import saved_timeless, timeless
from workers import EVERYWHERE, THOROUGHLY

GOOD = "--mapsat-agent=good:agent"
SAVE = "--mapsat-save=run.json"

#: An agent that takes a moment, so that a kill finds it at work, and that notes each call.
SLOW = """
import time
from good import agent as good
def agent(message, tools, session):
    time.sleep(0.02)
    with open("asked", "a") as file:
        file.write(session.id + "\\n")
    return good(message, tools)
"""


@pytest.fixture
def many(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with a suite of 12 cases."""
    cases = [tiny_suite.case(f"nav-{number:02}") for number in range(12)]
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"nav/a.yaml": cases[:5], "nav/b.jsonl": cases[5:]})
    pytester.makepyfile(good=tiny_suite.GOOD, bad=tiny_suite.BAD, slow=SLOW)
    return pytester


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder for what ``ran`` makes once."""
    return tmp_path_factory.mktemp("ran") / "project"


@pytest.fixture
def ran(many, kept):
    """The same project after a run of the good agent, which is made once."""
    if kept.exists():
        shutil.copytree(kept, many.path, dirs_exist_ok=True)
    else:
        assert many.runpytest(GOOD, SAVE).ret == 0
        shutil.copytree(many.path, kept)
    return many


def entries(path):
    found = []
    for line in path.read_text().splitlines():
        if line.strip():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue  # torn by the kill
    return found


def ended(path):
    return [entry["episode"]["id"] for entry in entries(path) if "episode" in entry]


def start(project, *options):
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:randomly", "--mapsat-agent=slow:agent", SAVE, *options]
    return subprocess.Popen(
        command, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


@EVERYWHERE
def test_each_episode_stands_in_the_journal_before_its_item_is_reported(many, workers):
    many.makeconftest(
        """
        import json, pathlib
        def pytest_runtest_logreport(report):
            if report.when == "call":
                assert report.nodeid.split("[")[1][:-1] in pathlib.Path("run.json.journal").read_text()
                with open("reported", "a") as file:
                    file.write(report.nodeid + "\\n")
        """
    )
    assert many.runpytest(GOOD, SAVE, *workers).ret == 0
    assert len(set((many.path / "reported").read_text().splitlines())) == 12


@THOROUGHLY
def test_a_run_killed_at_any_moment_loses_no_reported_episode_and_is_gone_on_from(many, workers):
    first = start(many, *workers)
    first.communicate()
    assert first.returncode == 0
    whole = saved_timeless(many)
    chance = random.Random(7)
    for number in range(2):
        for path in many.path.glob("run.json*"):
            path.unlink()
        process = start(many, *workers)
        passed = []
        stop_after = chance.randrange(1, 9)
        for line in process.stdout:
            if " PASSED " in f"{line} ".replace("\n", " ") or line.rstrip().endswith("PASSED"):
                passed.append(line)
            if len(passed) >= stop_after:
                time.sleep(chance.random() / 50)
                break
        os.killpg(process.pid, signal.SIGKILL if number % 2 else signal.SIGTERM)
        process.communicate()
        finished = ended(many.path / "run.json.journal")
        assert len(finished) >= stop_after
        assert list(many.path.glob("**/*.part")) == []
        assert not (many.path / "run.json").exists() or saved_timeless(many) == whole
        (many.path / "asked").unlink()
        result = many.runpytest_subprocess(
            "--mapsat-agent=slow:agent", SAVE, "--mapsat-resume=run.json.journal", *workers
        )
        assert result.ret == 0
        assert saved_timeless(many) == whole
        asked = (many.path / "asked").read_text().split() if (many.path / "asked").exists() else []
        assert len(asked) == 12 - len(finished)


def test_finished_episodes_are_reported_as_items_and_more_trials_may_be_asked_for(ran):
    result = ran.runpytest(GOOD, "--mapsat-save=more.json", "--mapsat-resume=run.json", "--mapsat-trials=2")
    result.assert_outcomes(passed=24)
    again = ran.runpytest(GOOD, "--mapsat-save=whole.json", "--mapsat-trials=2")
    again.assert_outcomes(passed=24)
    assert saved_timeless(ran, "more.json") == saved_timeless(ran, "whole.json")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--mapsat-agent=bad:agent",), "agent: it had 'good:agent', now 'bad:agent'"),
        ((GOOD, "--mapsat-user=silent"), "user: it had 'scripted', now 'silent'"),
        ((GOOD, "--mapsat-max-turns=3"), "max-turns: it had 10, now 3"),
        ((GOOD, "--mapsat-fail-on=all"), "assert: it had *"),
    ],
)
def test_going_on_from_another_run_is_refused_with_what_differs(ran, options, said):
    result = ran.runpytest(*options, "--mapsat-resume=run.json", "--mapsat-save=new.json")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{said}"])
    assert (ran.path / "run.json").exists()


def test_going_on_with_another_source_or_another_suite_is_refused(ran):
    source = (ran.path / "good.py").read_text()
    (ran.path / "good.py").write_text(source + "\n# changed\n")
    result = ran.runpytest(GOOD, "--mapsat-resume=run.json")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*the source of the agent, its helpers and conftests: it had *"])
    (ran.path / "good.py").write_text(source)
    manifest = ran.path / "benchmark_cases" / "suite.yaml"
    manifest.write_text(manifest.read_text() + "description: another one\n")
    result = ran.runpytest(GOOD, "--mapsat-resume=run.json")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*the suite tiny: it had *"])


@THOROUGHLY
def test_an_interrupted_run_is_saved_as_partial_and_never_takes_the_place_of_a_complete_one(many, workers, monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # set where these tests themselves run on workers
    many.makeconftest(
        "import os\n"
        "def pytest_runtest_logreport(report):\n"
        "    if 'nav-03' in report.nodeid and os.path.exists('stop') and not os.environ.get('PYTEST_XDIST_WORKER'):\n"
        "        raise KeyboardInterrupt\n"
    )
    many.runpytest(GOOD, SAVE)
    whole = (many.path / "run.json").read_bytes()
    (many.path / "stop").touch()
    for _ in range(2):
        result = many.runpytest_subprocess(GOOD, SAVE, *workers)
        assert result.ret == 2
        result.stdout.fnmatch_lines(["go on *--mapsat-resume=run.json.journal plays what is missing"])
        assert (many.path / "run.json.previous").read_bytes() == whole
        partial = saved_timeless(many)
        assert partial["gate"]["outcome"] == "invalid"
        assert len(partial["cases"]) + len(partial["accounting"]["lost"]) == 12
    (many.path / "stop").unlink()
    result = many.runpytest_subprocess(GOOD, SAVE, "--mapsat-resume=run.json", *workers)
    assert result.ret == 0
    assert saved_timeless(many) == timeless(json.loads(whole))


def test_an_earlier_run_is_moved_away_when_a_run_starts(ran):
    first = (ran.path / "run.json").read_bytes()
    ran.makeconftest(
        "import pathlib\ndef pytest_collection_finish():\n    assert not pathlib.Path('run.json').exists()\n"
    )
    assert ran.runpytest(GOOD, SAVE).ret == 0
    assert (ran.path / "run.json.previous").read_bytes() == first


def test_a_journal_of_a_run_that_did_not_end_is_never_written_over(many):
    journals = []
    for number in range(3):
        (many.path / "run.json.journal").write_text(f'{{"schema":"mapsat-journal/1","request":{{}}}}\n{number}\n')
        journals.append((many.path / "run.json.journal").read_text())
        many.runpytest(GOOD, SAVE)
    kept = [path.read_text() for path in many.path.glob("run.json.journal.previous*")]
    assert set(journals) <= set(kept)


def test_regrade_reads_a_journal_says_so_and_never_passes_it(ran):
    result = ran.run(sys.executable, "-m", "pytest_mapsat", "regrade", "run.json.journal", "--fail-under", "ar=0.001")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*journal*"])
    result.stdout.fnmatch_lines(["gate*INVALID*"])


def test_without_a_run_file_the_journal_stands_in_the_cache(many):
    many.runpytest(GOOD)
    assert len(ended(many.path / ".pytest_cache" / "d" / "mapsat" / "journal")) == 12


def test_what_the_infrastructure_stopped_is_told_with_its_reason_and_played_again(many):
    away = many.path / "away"
    many.makeconftest(
        f"from pathlib import Path\n\ndef pytest_mapsat_sandbox(case, suite):\n    if case.id in Path({str(away)!r}).read_text():\n"
        "        raise OSError('the map server is away')\n"
    )
    away.write_text("nav-03 nav-04 nav-05 nav-06")
    slow = "--mapsat-agent=slow:agent"
    for options in ((SAVE,), ("-q", "--mapsat-save=quiet.json")):
        stopped = many.runpytest(slow, *options)
        told = " ".join(stopped.stdout.str().split())
        assert "stopped 4 by the infrastructure:" in told
        assert "OSError: the map server is away" in told
        assert stopped.ret == pytest.ExitCode.TESTS_FAILED
    (many.path / "asked").unlink()
    away.write_text("")
    again = many.runpytest(slow, "--mapsat-resume=run.json", "--mapsat-save=again.json")
    again.assert_outcomes(passed=12)
    assert len((many.path / "asked").read_text().split()) == 4
    many.runpytest(slow, "--mapsat-save=whole.json").assert_outcomes(passed=12)
    assert saved_timeless(many, "again.json") == saved_timeless(many, "whole.json")


def test_a_run_may_read_the_run_file_that_it_replaces(ran):
    for workers in ((), ("-n", "2")):
        options = ("--mapsat-agent=recorded:run.json", "--mapsat-judge=recorded:run.json", SAVE, *workers)
        ran.runpytest(*options).assert_outcomes(passed=12)


def test_a_journal_that_cannot_be_written_loses_nothing_that_can_be_kept(many):
    many.makeconftest(
        """
        import errno
        import pytest_mapsat.formats.run_file as journal
        real = journal.os.write
        def full(file, data):
            if b'"episode"' in bytes(data):
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(file, data)
        journal.os.write = full
        """
    )
    result = many.runpytest_subprocess(GOOD, SAVE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["error*journal could not be written*No space left on device"])
    assert len(saved_timeless(many)["cases"]) == 12


def test_a_journal_that_is_cut_under_the_run_makes_no_run_file_of_what_came_after(many):
    many.makeconftest(
        """
        import os
        def pytest_runtest_logfinish(nodeid):
            if "nav-01" in nodeid:
                os.truncate("run.json.journal", 0)
        """
    )
    result = many.runpytest(GOOD, SAVE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["error*--mapsat-save: *the journal was changed while the run used it"])
    assert not (many.path / "run.json").exists()


def test_going_on_from_a_run_of_a_suite_by_another_name_is_refused(ran):
    manifest = ran.path / "benchmark_cases" / "suite.yaml"
    manifest.write_text(manifest.read_text().replace("name: tiny", "name: huge"))
    result = ran.runpytest(GOOD, "--mapsat-resume=run.json")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*the suite huge: it had no such suite, now *"])


def test_a_run_of_two_suites_by_one_name_can_be_gone_on_from(many):
    tiny_suite.write_suite(many.path / "more", {"a.yaml": [tiny_suite.case("other")]})
    both = (GOOD, "--mapsat-cases=benchmark_cases", "--mapsat-cases=more")
    many.runpytest(*both, SAVE)
    assert many.runpytest(*both, "--mapsat-resume=run.json").ret == 0


# -- where the run file goes ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("folder", "this is a folder"),
        ("pipe", "not a regular file"),
        ("/dev/null", "not a regular file"),
        ("benchmark_cases/suite.yaml", "would read it as a file of its manifest"),
        ("benchmark_cases/run.jsonl", "would read it as a file of its cases"),
        ("benchmark_cases/recordings/run.jsonl", "would read it as a file of its recordings"),
        ("good.py/run.json", "good.py is not a folder"),
    ],
)
def test_a_place_that_cannot_take_the_run_file_is_refused_before_the_run(many, place, said):
    (many.path / "folder").mkdir()
    os.mkfifo(many.path / "pipe")
    result = many.runpytest(GOOD, f"--mapsat-save={place}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*--mapsat-save=*{said}*"])


def test_a_link_is_written_through_and_the_mode_of_the_file_is_kept(many):
    (many.path / "store").mkdir()
    (many.path / "store" / "real.json").write_text("{}")
    (many.path / "store" / "real.json").chmod(0o640)
    (many.path / "run.json").symlink_to("store/real.json")
    assert many.runpytest(GOOD, SAVE).ret == 0
    assert (many.path / "run.json").is_symlink()
    assert (many.path / "store" / "real.json").stat().st_mode & 0o777 == 0o640
    assert len(saved_timeless(many)["cases"]) == 12
