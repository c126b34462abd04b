"""--mapsat-concurrency: episodes run ahead of their items, and nobody but the clock can tell."""

import json
import re
import textwrap

import pytest
import tiny_suite
from saved_runs import saved_text

from pytest_mapsat.pytest_plugin import upcoming

SAVE = "--mapsat-save=run.json"
AGENTS = """
import asyncio, logging, random, sys, threading, time
from good import agent as good

under_way, most = set(), []
lock = threading.Lock()

def meeting(message, tools, session):
    # Answers only while another episode is under way.
    with lock:
        under_way.add(session.id)
        most.append(len(under_way))
    time.sleep(0.05)
    with lock:
        under_way.discard(session.id)
    with open("most", "a") as file:
        file.write(f"{most[-1]}\\n")
    return good(message, tools)

def sleepy(message, tools):
    time.sleep(random.random() / 20)
    return good(message, tools)

def slow(message, tools):
    time.sleep(0.2)
    return good(message, tools)

async def sleepy_too(message, tools):
    await asyncio.sleep(random.random() / 20)
    return good(message, tools)

def loud(message, session):
    print("said by", session.id)
    print("whispered by", session.id, file=sys.stderr)
    logging.getLogger("agent").warning("logged by %s", session.id)
    return "no idea"

def noted(message, tools, session):
    with open("asked", "a") as file:
        file.write(session.id + "\\n")
    time.sleep(0.02)
    return good(message, tools)

def wrong(message, tools, session):
    return noted(message, tools, session) and "no idea"

def unhooks(message, tools):
    threading.excepthook = None
    return noted(message, tools, type("S", (), {"id": "x"}))

def hangs(message, tools):
    time.sleep(60)
"""


@pytest.fixture
def many(pytester):
    """A project with a suite of 12 cases in two files, and the agents."""
    cases = [tiny_suite.case(f"nav-{number:02}") for number in range(12)]
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"nav/a.yaml": cases[:5], "nav/b.jsonl": cases[5:]})
    pytester.makepyfile(good=tiny_suite.GOOD, ahead_agents=AGENTS)
    return pytester


def run(project, agent, *options):
    return project.runpytest(f"--mapsat-agent=ahead_agents:{agent}", *options)


@pytest.mark.parametrize("text", ["0", "-3", "10000", "many", "1.5"])
def test_a_width_that_is_none_is_a_usage_error_that_says_what_was_expected(project, text):
    result = project.runpytest("--mapsat-agent=good:agent", f"--mapsat-concurrency={text}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    expected = f"*--mapsat-concurrency: found '{text}', expected a whole number from 1 to 1,000*"
    result.stderr.fnmatch_lines([expected])


@pytest.mark.parametrize(
    ("options", "advised"),
    [
        (["--mapsat-agent=ahead_agents:slow"], True),
        (["--mapsat-agent=ahead_agents:slow", "--mapsat-concurrency=1"], False),
        (["--mapsat-agent=ahead_agents:slow", "--mapsat-concurrency=4"], False),
        (["--mapsat-agent=ahead_agents:sleepy_too"], False),
        (["--mapsat-agent=good:agent"], False),
    ],
)
def test_an_agent_that_is_long_waited_for_in_turn_is_worth_a_word(many, monkeypatch, options, advised):
    monkeypatch.setattr(upcoming, "_LONG", 0.05)
    said = " ".join(many.runpytest(*options).stdout.str().split())
    assert ("one episode after another: --mapsat-concurrency=16 plays them side by side" in said) == advised


def test_the_order_in_which_episodes_end_shows_in_no_file(many):
    assert run(many, "sleepy", SAVE).ret == 0
    alone = saved_text(many)
    assert run(many, "sleepy", SAVE, "--mapsat-concurrency=16").ret == 0
    assert saved_text(many) == alone
    result = run(many, "sleepy", SAVE, "--mapsat-concurrency=3", "-n", "4", "--dist", "worksteal")
    result.assert_outcomes(passed=12)
    assert saved_text(many) == alone


@pytest.mark.parametrize("dist", ["loadgroup", "each"])
def test_workers_run_ahead_of_their_own_items(many, dist):
    options = (SAVE, "--mapsat-concurrency=4", "-n", "2", "--dist", dist)
    copies = 2 if dist == "each" else 1
    run(many, "noted", *options).assert_outcomes(passed=12 * copies)
    asked = (many.path / "asked").read_text().split()
    assert (len(asked), len(set(asked))) == (12 * copies, 12)


def test_what_agents_print_belongs_to_their_items_and_to_no_other(many):
    many.makepyfile(
        test_own="""
        import time
        def test_quiet(capsys):
            time.sleep(0.1)
            print("mine")
            assert capsys.readouterr() == ("mine\\n", "")
        """
    )
    options = ("--mapsat-concurrency=4", "-p", "no:randomly", "test_own.py", "benchmark_cases")
    result = run(many, "loud", *options)
    result.assert_outcomes(passed=1, failed=12)
    parts = re.split(r"(?m)^_+ case\[", result.stdout.str())[1:]
    assert len(parts) == 12
    heard = [re.findall(r"(?m)^(?:\S+ +agent:\S+ )?(?:said|whispered|logged) by (\w+)$", part) for part in parts]
    assert all(len(ids) == 3 and len(set(ids)) == 1 for ids in heard), heard
    assert len({ids[0] for ids in heard}) == 12
    assert "said by" in run(many, "loud", "-s", "-k", "nav-00", "--mapsat-concurrency=4").stdout.str()


def test_no_more_run_at_once_than_asked_and_items_that_others_have_a_say_in_run_in_their_turn(many):
    many.makeconftest(
        """
        import pytest
        @pytest.fixture(autouse=True)
        def their_own(request):
            yield
        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.skip(reason="not today"))
        """
    )
    result = run(many, "meeting", "--mapsat-concurrency=4")
    result.stdout.fnmatch_lines(["at once    11 in its own turn: the fixture 'their_own'*"])
    assert set((many.path / "most").read_text().split()) == {"1"}
    (many.path / "most").unlink()
    (many.path / "conftest.py").write_text("")
    result = run(many, "meeting", "--mapsat-concurrency=4")
    assert "at once" not in result.stdout.str()
    counts = set(map(int, (many.path / "most").read_text().split()))
    assert max(counts) in (3, 4)


def test_the_fixture_that_pytest_asyncio_gives_every_item_is_about_its_own_tests_only(many):
    fixture = """
        import pytest
        @pytest.fixture(scope="session", autouse=True)
        def event_loop_policy():
            return None
    """
    many.mkpydir("pytest_asyncio").joinpath("plugin.py").write_text(textwrap.dedent(fixture))
    many.syspathinsert()
    result = run(many, "meeting", "--mapsat-concurrency=4", "-p", "pytest_asyncio.plugin")
    assert "at once" not in result.stdout.str()
    assert max(map(int, (many.path / "most").read_text().split())) > 1
    many.makeconftest(textwrap.dedent(fixture))
    result = run(many, "meeting", "--mapsat-concurrency=4", "-p", "pytest_asyncio.plugin")
    result.stdout.fnmatch_lines(["at once    12 in its own turn: the fixture 'event_loop_policy'*"])


def test_a_run_that_stops_starts_no_more_and_accounts_for_all(many):
    result = run(many, "wrong", "-x", SAVE, "--mapsat-concurrency=2")
    result.assert_outcomes(failed=1)
    asked = (many.path / "asked").read_text().split()
    assert len(asked) <= 2 * 4  # what is held at most
    told = json.loads((many.path / "run.json").read_text())
    assert len(told["cases"]) == 1
    assert len(told["accounting"]["lost"]) == 11
    journal = (many.path / "run.json.journal").read_text().splitlines()
    assert sum("episode" in json.loads(line) for line in journal if line.strip()) == 1


def test_agents_that_hang_are_left_behind_and_the_process_ends(many):
    result = many.runpytest_subprocess(
        "--mapsat-agent=ahead_agents:hangs", "--mapsat-timeout=0.5", "--mapsat-concurrency=6", timeout=50
    )
    result.assert_outcomes(failed=12)
    assert result.duration < 40


def test_reruns_are_run_anew_and_a_run_is_gone_on_from(many):
    run(many, "wrong", "--reruns=1", SAVE, "--mapsat-concurrency=3", "-k", "nav-00 or nav-01").assert_outcomes(failed=2)
    assert len((many.path / "asked").read_text().split()) == 4
    (many.path / "asked").unlink()
    run(many, "noted", SAVE, "-k", "nav-0", "--mapsat-concurrency=3").assert_outcomes(passed=10)
    result = run(
        many,
        "noted",
        "--mapsat-resume=run.json",
        "--mapsat-save=whole.json",
        "--mapsat-concurrency=3",
        "--mapsat-trials=2",
    )
    result.assert_outcomes(passed=24)
    assert len((many.path / "asked").read_text().split()) == 24


def test_agents_of_the_first_cases_wait_while_later_cases_are_loaded(many):
    many.makeconftest(
        """
        import sys
        def pytest_mapsat_case_loaded(case):
            if case.id == "nav-01":
                assert sys.modules["ahead_agents"].asked.wait(10)
        """
    )
    agents = (
        AGENTS
        + "\nasked = threading.Event()\ndef tells(message, tools):\n    asked.set()\n    return good(message, tools)\n"
    )
    many.makepyfile(ahead_agents=agents)
    run(many, "tells", "--mapsat-concurrency=4").assert_outcomes(passed=12)
