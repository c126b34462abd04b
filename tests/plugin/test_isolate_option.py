"""``--mapsat-isolate`` in whole runs: the same file, contained agents, clear errors."""

import ctypes
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import tiny_suite
from saved_runs import saved, saved_text

AGENTS = Path(__file__).parents[1] / "agents" / "isolated_agents.py"

#: A package, so that importing it runs more than the agent's own module; it says whether it was imported beside pytest.
PACKAGE = """\
import pathlib, sys
with (pathlib.Path(__file__).parent / "imported.txt").open("a") as file:
    file.write(f"{'pytest' in sys.modules}\\n")
"""
#: Asks back, keeps state, thinks, misses, and fails in one domain.
AGENT = """\
from pytest_mapsat.agents import Reply


class Agent:
    def __init__(self, context, session):
        self.turns = 0
        self.session = session

    async def reply(self, message, tools):
        self.turns += 1
        if self.turns == 1:
            self.session.think("which one?")
            tools.search_poi(query="zzz")
            return "Which of them do you mean?"
        tools.search_poi(query="charger")
        if len(self.session.id) != 16:
            raise ValueError("no session")
        print("printed", self.turns)
        return Reply("I suggest Blue Bay.", ["done"], {"input_tokens": 2}, {"proposes": ["Blue Bay"]})
"""
#: The first process ends, the second holds the interpreter, the third is good.
IN_TURN = """\
import os, pathlib, re

PLACE = pathlib.Path(__file__).parent


def agent(message, tools):
    number = len(list(PLACE.glob("*.ran")))
    (PLACE / f"{number}.ran").touch()
    print("number", number)
    if number == 0:
        os._exit(0)
    if number == 1:
        re.match(r"(a+)+$", "a" * 40 + "b")
    return "I suggest Blue Bay."
"""


#: Takes away the folder of all agents, then puts a file in its place.
IN_THE_WAY = """\
import os, pathlib, shutil

PLACE = pathlib.Path(__file__).parent


def agent(message, tools):
    number = len(list(PLACE.glob("*.ran")))
    (PLACE / f"{number}.ran").touch()
    folder = os.path.dirname(os.environ["TMPDIR"])
    if not os.path.basename(folder).startswith("mapsat-"):  # never a folder of others, such as /tmp
        os._exit(9)
    shutil.rmtree(folder, ignore_errors=True)
    if number == 1:
        pathlib.Path(folder).touch()
    return "I suggest Blue Bay."
"""


#: Reads the environment, arguments and stack of every process that there is; root, which may read all of them, those of its own. Says how many have the secret.
SPY = """\
import os, pathlib

HUSH = b"hush" + b"-canary"


def texts(pid):
    for name in ("environ", "cmdline"):
        try:
            yield pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
        except OSError:
            yield b""
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                if "[stack]" in line:
                    begin, end = (int(part, 16) for part in line.split()[0].split("-"))
                    memory.seek(begin)
                    yield memory.read(end - begin)
    except OSError:
        pass


def agent(message):
    pids = [name for name in os.listdir("/proc") if name.isdigit()] if os.getuid() else ["self", "thread-self", str(os.getppid())]
    places = [pathlib.Path(f"/proc/{pid}/comm") for pid in pids if any(HUSH in text for text in texts(pid))]
    own = "PATH=" in pathlib.Path("/proc/self/environ").read_text()
    return f"I suggest Blue Bay. own={own} found={len(places)} of {len(pids) > 2}"
"""
#: Says in each process of pytest whether others may read it.
READABLE = """import ctypes, os, pathlib

def pytest_runtest_call():
    pathlib.Path(__file__).with_name(f"{os.getpid()}.readable").write_text(str(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)))
"""
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


def test_the_run_file_is_that_of_agents_in_our_own_process(project: pytest.Pytester) -> None:
    package = project.mkpydir("bots")
    (package / "__init__.py").write_text(PACKAGE)
    (package / "fancy.py").write_text(AGENT)
    options = ("--mapsat-agent=bots.fancy:Agent",)
    isolated = project.runpytest_subprocess(*options, "--mapsat-isolate", "--mapsat-save=isolated.json", "-rP", "-n2")
    isolated.assert_outcomes(passed=3)
    isolated.stdout.fnmatch_lines(["*Captured stdout call*", "printed 2"])
    assert set((package / "imported.txt").read_text().split()) == {"False"}, "no process that has pytest imported it"
    project.runpytest(*options, "--mapsat-save=here.json").assert_outcomes(passed=3)
    here = saved_text(project, "here.json")
    assert saved_text(project, "isolated.json") == here
    assert json.loads(here)["manifest"]["agent_source"]


def test_agents_that_end_or_hold_their_process_fail_their_item_and_the_run_goes_on(project: pytest.Pytester) -> None:
    project.makepyfile(odd=IN_TURN)
    result = project.runpytest_subprocess("--mapsat-agent=odd:agent", "--mapsat-isolate", "--mapsat-timeout=1")
    result.assert_outcomes(passed=1, failed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "the agent's process ended with exit status 0 before it replied",
            "run it again: *--mapsat-isolate*",
            "number 0",
            "*not over after 1 s*",
            "number 1",
        ]
    )


def test_a_fault_of_many_words_is_told_alike_wherever_the_agent_runs(project: pytest.Pytester) -> None:
    project.makepyfile(wordy="def agent(message, tools):\n    raise ValueError('the server said ' + 'no ' * 300)\n")
    for name, options in (("here.json", ()), ("isolated.json", ("--mapsat-isolate",))):
        project.runpytest("--mapsat-agent=wordy:agent", f"--mapsat-save={name}", *options).assert_outcomes(failed=3)
    assert saved_text(project, "isolated.json") == saved_text(project, "here.json")
    (fault, *_) = [card["trajectory"]["fault"] for card in saved(project, "here.json")["cases"]]
    assert fault["message"].endswith("... (wordy.py:2 in agent)")


def test_a_variable_that_an_agent_misses_is_told_with_the_option_that_passes_it(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "x")
    project.makepyfile(asks="import os\n\ndef agent(message, tools):\n    return os.environ['A_KEY']\n")
    result = project.runpytest("--mapsat-agent=asks:agent", "--mapsat-isolate")
    result.stdout.fnmatch_lines(["KeyError: 'A_KEY' (asks.py:4 in agent); --mapsat-isolate=env:A_KEY passes the*"])


@LINUX
def test_a_secret_that_was_not_passed_stands_in_no_process_that_an_agent_can_read(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_VARIABLE", "hush-canary")
    project.makepyfile(spy=SPY)
    options = ("--mapsat-agent=spy:agent", "--mapsat-isolate", "--mapsat-save=run.json", "-n2")
    project.runpytest_subprocess(*options).assert_outcomes(passed=3)
    cards = saved(project)["cases"]
    assert {card["trajectory"]["turns"][1]["text"] for card in cards} == {
        "I suggest Blue Bay. own=True found=0 of True"
    }


@LINUX
def test_pytest_can_be_read_by_others_again_when_the_run_is_over(project: pytest.Pytester) -> None:
    project.makeconftest(READABLE)
    assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 1
    for options, readable in (((), "1"), (("--mapsat-isolate",), "0")):
        project.runpytest_inprocess("--mapsat-agent=good:agent", *options).assert_outcomes(passed=3)
        assert (project.path / f"{os.getpid()}.readable").read_text() == readable
        assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 1


def test_a_folder_that_an_agent_takes_away_is_made_again_and_one_that_cannot_be_made_is_not_the_agents_fault(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makepyfile(thief=IN_THE_WAY)
    places = project.mkdir("places")
    monkeypatch.setenv("TMPDIR", str(places))
    options = ("--mapsat-agent=thief:agent", "--mapsat-isolate", "--mapsat-fail-under=ar=0.1", "--mapsat-trials=2")
    result = project.runpytest_subprocess(*options)
    # The process of each episode is made when the one before begins.
    result.assert_outcomes(passed=3, errors=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["stopped*could not be made: File*", "*INVALID*infrastructure 2*"])
    assert not list(places.glob("mapsat-*"))


def test_nothing_in_an_agents_process_leads_to_the_suite_or_the_case(project: pytest.Pytester) -> None:
    suite = project.path / "elsewhere" / "zebra_suite"
    case = tiny_suite.case("case-id-of-its-own")
    case["truth"]["intent"] = "xylophone"
    tiny_suite.write_suite(suite, {"a.yaml": [case]})
    (suite / "conftest.py").touch()  # pytest puts its folder on sys.path
    shutil.copy(AGENTS, project.path)
    place = "elsewhere/zebra_suite"
    project.runpytest(
        place,
        f"--mapsat-cases={place}",
        "--mapsat-agent=isolated_agents:searches",
        "--mapsat-isolate",
        "--mapsat-save=run.json",
    )
    (ended,) = saved(project)["cases"]
    tried, found = json.loads(ended["trajectory"]["turns"][1]["text"])
    assert tried > 100
    assert found == []


REFUSED = {
    "an agent of a fixture": (("--mapsat-agent=fixture", "--mapsat-isolate"), "*an object of this process*name it as module:attr*"),
    "nobody's code": (("--mapsat-agent=baseline:silent", "--mapsat-isolate"), "*runs no code of an agent*leave it out*"),
    "no such module": (("--mapsat-agent=god:agent", "--mapsat-isolate"), "*there is no module 'god' in *did you mean 'good'?*"),
    "a module that ends its process": (
        ("--mapsat-agent=ends:agent", "--mapsat-isolate"),
        "*'ends:agent': the agent's process ended with exit status 0 before its module 'ends' was imported*",
    ),
    "too little memory": (("--mapsat-agent=good:agent", "--mapsat-isolate=memory:1"), "*found '1', expected megabytes*from 64*"),
    "memory that is no number": (("--mapsat-agent=good:agent", "--mapsat-isolate=memory:1G"), "*found '1G', expected megabytes*"),
    "a variable with its value": (
        ("--mapsat-agent=good:agent", "--mapsat-isolate=env:KEY=hush"),
        "*found KEY=..., expected the name of a variable*",
    ),
    "a variable that is not set": (("--mapsat-agent=good:agent", "--mapsat-isolate=env:NONE_SUCH"), "*NONE_SUCH: it is not set*"),
    "the variable that names the case": (
        ("--mapsat-agent=good:agent", "--mapsat-isolate=env:PYTEST_CURRENT_TEST"),
        "*it names the case*",
    ),
    "a word that is neither": (("--mapsat-agent=good:agent", "-o", "mapsat_isolate=maybe"), "*found 'maybe', expected on, off, or env:NAME*"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_isolated_is_refused_with_the_reason(project: pytest.Pytester, what: str) -> None:
    if "memory" in what and not sys.platform.startswith("linux"):
        pytest.skip("no other system holds a process to it")
    project.makepyfile(ends="import os\nos._exit(0)\n")
    options, message = REFUSED[what]
    result = project.runpytest(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert "hush" not in result.stderr.str()


def test_an_agent_that_a_hook_makes_is_refused(project: pytest.Pytester) -> None:
    project.makeconftest("def pytest_mapsat_make_agent(spec):\n    return lambda message: 'Blue Bay'\n")
    result = project.runpytest("--mapsat-agent=good:agent", "--mapsat-isolate")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*what pytest_mapsat_make_agent makes is an object of this process*"])


def test_an_ini_file_isolates_what_can_be_and_passes_what_is_set(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makeini("[pytest]\nmapsat_isolate = memory:400, env:KEY_OF_OURS, env:NONE_SUCH\n")
    monkeypatch.setenv("KEY_OF_OURS", "hush")
    project.runpytest("--mapsat-agent=baseline:silent").assert_outcomes(failed=3)
    project.makepyfile(
        keyed="import os\ndef agent(message):\n    return 'Blue Bay' if os.environ.get('KEY_OF_OURS') == 'hush' else ''\n",
        test_object="def test_object(mapsat_agent):\n    raise AssertionError('it has the agent')\n",
    )
    result = project.runpytest("--mapsat-agent=keyed:agent")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*with --mapsat-isolate the agent is in processes of its own only*"])
