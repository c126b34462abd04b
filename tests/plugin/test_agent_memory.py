"""--mapsat-agent-memory: what an agent gets of the interactions with its user, task by task, and whose fault it is where it gets nothing."""

import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import saved_runs
import tiny_suite
from http_services import Service, answers
from saved_runs import timeless

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.model import RunOptions, RunRequest
from pytest_mapsat.runs.elsewhere import Elsewhere
from pytest_mapsat.runs.runner import Runner
from pytest_mapsat.suite import open_suite

#: Reports its context as its reply's thoughts, and answers right.
READER = """
from pytest_mapsat import Reply
def agent(message, tools, context):
    names = sorted(schema["function"]["name"] for schema in tools.schemas())
    seen = {"memory": context.memory, "keys": sorted(context), "tools": names}
    if "look_up" in names:
        seen["found"] = tools.look_up(word="oat")
    import json
    usage = {"input_tokens": 3, "output_tokens": 2, "cost": 0.25}
    place = tools.search_poi(query='charger')['pois'][1]['name']
    return Reply(f"I suggest {place}.", thoughts=[json.dumps(seen)], usage=usage)
"""
#: A memory of the user's own: counts its updates, keeps all contents, has a tool.
OWN = """
from pytest_mapsat import Reply
class Notes:
    def reset(self):
        self.days, self.updates = [], 0
        self.tools = [self.look_up]
    def update(self, interactions):
        self.updates += 1
        self.days += [interaction["date"] for interaction in interactions]
        return Reply("", usage={"input_tokens": 7 * self.updates, "output_tokens": 1, "cost": 0.5})
    def retrieve(self, query):
        return f"{self.updates} updates to {self.days[-1]} for {query}"
    def look_up(self, word: str) -> int:
        "How many days are kept, and one more each time."
        self.days.append(word)
        return len(self.days) - 1
def raising():
    notes = Notes()
    notes.retrieve = lambda query: 1 / 0
    return notes
def huge():
    notes = Notes()
    notes.retrieve = lambda query: "x" * 10_000_000
    return notes
def wordless():
    notes = Notes()
    notes.retrieve = lambda query: None
    return notes
class Later(Notes):
    async def retrieve(self, query):
        return "x"
class Unheard(Notes):
    async def update(self, interactions):
        pass
def hanging():
    import time
    notes = Notes()
    notes.retrieve = lambda query: time.sleep(30)
    return notes
def clashing():
    notes = Notes()
    notes.search_poi = lambda query: []
    def search_poi(query: str) -> int:
        return 1
    real = notes.reset
    def reset():
        real()
        notes.tools = [search_poi]
    notes.reset = reset
    return notes
def nothing():
    return object()
shared = Notes()
class Half:
    def reset(self): ...
    def update(self, interactions): ...
"""


def task(name: str, user: str, order: int, words: str, *, truth: str) -> dict[str, Any]:
    """Return a task of a user's sequence with what was said on the day before it."""
    made = tiny_suite.case(name, group={"name": user, "order": order})
    made["visible"]["interactions"] = [
        {"date": f"2026-04-0{order}", "dialogue": [{"role": "user", "content": words}]},
        {"date": f"2026-04-0{order}", "behavior": [{"type": "order", "content": f"milk for {user} {order}"}]},
    ]
    made["truth"]["preferences"] = [truth]
    return made


@pytest.fixture(scope="module")
def errands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two users of three tasks each, in one file and out of order."""
    cases = [
        task(f"{user}-{order}", user, order, f"{user} says {order}, oat", truth=f"{user} wants {order}")
        for order in (3, 1, 2)
        for user in ("ida", "max")
    ]
    folder = tmp_path_factory.mktemp("errands")
    tiny_suite.write_suite(folder / "benchmark_cases", {"nav/a.yaml": cases})
    (folder / "reader.py").write_text(READER)
    (folder / "own.py").write_text(OWN)
    return folder


@pytest.fixture
def project(pytester: pytest.Pytester, errands: Path) -> pytest.Pytester:
    shutil.copytree(errands, pytester.path, dirs_exist_ok=True)
    return pytester


def run(project: pytest.Pytester, memory: str, *options: str, agent: str = "reader:agent") -> dict[str, dict[str, Any]]:
    """Run and return the cases of the run file by id, without times."""
    arguments = [f"--mapsat-agent={agent}", f"--mapsat-agent-memory={memory}", "--mapsat-save=run.json", *options]
    project.runpytest(*arguments, "-p", "no:randomly")
    saved = saved_runs.saved(project)
    return {
        card["id"] if card["trial"] == 1 else f"{card['id']}-t{card['trial']}": timeless(card)
        for card in saved["cases"]
    }


def seen(card: dict[str, Any]) -> dict[str, Any]:
    """Return what the agent of an episode saw."""
    told: dict[str, Any] = json.loads(card["trajectory"]["turns"][1]["steps"][0]["text"])
    return told


def test_without_a_memory_the_agent_gets_neither_histories_nor_a_text(project: pytest.Pytester) -> None:
    card = run(project, "none")["ida-3"]
    assert seen(card)["memory"] == ""
    assert "interactions" not in seen(card)["keys"]
    assert card["trajectory"].get("memory") is None
    assert "oat" not in json.dumps(card["trajectory"])


def test_a_full_memory_gives_all_that_passed_up_to_the_task_and_nothing_of_other_users(
    project: pytest.Pytester,
) -> None:
    cards = run(project, "full")
    assert seen(cards["ida-2"])["memory"].splitlines() == [
        "2026-04-01 user: ida says 1, oat",
        "2026-04-01 order: milk for ida 1",
        "2026-04-02 user: ida says 2, oat",
        "2026-04-02 order: milk for ida 2",
    ]
    assert cards["ida-2"]["trajectory"]["memory"]["text"] == seen(cards["ida-2"])["memory"]


def test_the_true_memory_gives_the_preferences_that_hold_at_the_task(project: pytest.Pytester) -> None:
    cards = run(project, "truth")
    assert {name: seen(card)["memory"] for name, card in cards.items()}["max-3"] == "max wants 3"


def test_an_own_memory_is_updated_once_a_task_has_its_tools_called_and_its_cost_told(project: pytest.Pytester) -> None:
    cards = run(project, "own:Notes", "--mapsat-trials=2")
    for name in ("ida-3", "ida-3-t2"):
        card = cards[name]
        assert seen(card) == seen(card) | {
            "memory": "3 updates to 2026-04-03 for Take me to a charger.",
            "tools": ["look_up", "search_poi"],
            "found": 6,
        }
        memory = card["trajectory"]["memory"]
        [asked] = [step for step in card["trajectory"]["turns"][1]["steps"] if step["kind"] == "memory"]
        assert (asked["tool"], asked["arguments"], asked["result"]) == ("look_up", {"word": "oat"}, 6)
        assert memory["usage"] == {"input_tokens": 21, "output_tokens": 1, "cost": 0.5}
        assert card["spent"] == {"input_tokens": 24, "output_tokens": 3, "cost": 0.75}, "with what the reply cost"
        assert card["calls"]["by_tool"] == {"search_poi": 1}, "what the memory was asked is no call of the sandbox"
        assert card["metrics"]["ts"] == 1.0


@pytest.mark.parametrize("memory", ["full", "own:Notes", "rag"])
def test_a_task_alone_backwards_with_workers_and_at_once_has_the_same_scorecard(
    project: pytest.Pytester, memory: str
) -> None:
    whole = run(project, memory)
    assert run(project, memory, "-k", "max-2") == {"max-2": whole["max-2"]}
    backwards = [f"benchmark_cases/nav/a.yaml::case[{name}]" for name in sorted(whole, reverse=True)]
    assert run(project, memory, *backwards) == whole
    assert run(project, memory, "--mapsat-concurrency=4") == whole


def test_isolated_agents_and_workers_get_the_same(project: pytest.Pytester) -> None:
    whole = run(project, "full")
    assert run(project, "full", "--mapsat-isolate=on", "-n", "2") == whole


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("raising", "the agent's memory: ZeroDivisionError: division by zero (own.py:*"),
        ("huge", "the agent's memory gave 10,000,000 characters for one task; at most 1,000,000 are taken"),
        ("wordless", "retrieve() of the memory returned None; expected a text"),
        ("Later", "retrieve() of the memory returned '<coroutine>'; expected a text"),
        ("Unheard", "update() of the memory is asynchronous, and nothing awaits it; expected a plain function"),
        ("hanging", "the agent's memory gave no answer in 0.5 s"),
        ("clashing", "the memory has a tool 'search_poi', and so has the suite: give it another name"),
        ("nothing", "the memory own:nothing has no reset(); expected reset, update, retrieve"),
    ],
)
def test_an_own_memory_that_breaks_is_the_agents_fault(project: pytest.Pytester, memory: str, message: str) -> None:
    from fnmatch import fnmatch

    card = run(project, f"own:{memory}", "-k", "ida-1", "--mapsat-timeout=0.5")["ida-1"]
    fault = card["trajectory"]["fault"]
    assert (fault["blame"], card["outcome"]) == ("agent", "failed")
    assert fnmatch(fault["message"], message), fault["message"]
    assert len(card["trajectory"]["turns"]) == 1, "the agent was not asked"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mapsat-agent-memory=ful"], "*found 'ful', expected none, full, truth, rag, *did you mean 'full'*"),
        (["--mapsat-agent-memory=agentic"], "*names no model*"),
        (["--mapsat-agent-memory=own:missing"], "*'own' has no attribute 'missing'*"),
        (["--mapsat-agent-memory=own:shared"], "*found an object of type Notes, which all users would share*"),
        (["--mapsat-agent-memory=own:Half"], "*the class Half has no retrieve()*"),
        (["--mapsat-agent-memory=own:Notes", "--mapsat-isolate=on"], "*--mapsat-isolate keeps the agent's code out*"),
    ],
)
def test_a_memory_that_cannot_be_had_is_a_usage_error(
    project: pytest.Pytester, options: list[str], message: str
) -> None:
    result = project.runpytest("--mapsat-agent=reader:agent", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_show_and_the_page_tell_what_the_memory_gave(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_mapsat.cli import main

    run(project, "own:Notes", "-k", "ida-1")
    capsys.readouterr()
    assert main(["show", "run.json", "ida-1"]) == 0
    shown = capsys.readouterr().out
    assert "memory    1 updates to 2026-04-01 for Take me to a charger." in shown
    assert "7 in / 1 out tokens · $0.5000" in shown
    assert main(["report", "run.json", "html:run.html"]) == 0
    page = (project.path / "run.html").read_text()
    assert "1 updates to 2026-04-01 for Take me to a charger." in page
    assert "with the memory own:Notes" in page
    assert main(["regrade", "run.json", "--save=again.json"]) == 0
    again = saved_runs.saved(project, "again.json")["cases"][0]
    assert again["trajectory"]["memory"]["text"].startswith("1 updates")


def test_runs_of_several_memories_stand_beside_each_other(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_mapsat.cli import main

    for name, memory, *options in (
        ("none", "none", "--mapsat-trials=2"),
        ("full", "full", "--mapsat-trials=3"),
        ("other", "full", "--mapsat-max-turns=2"),
        ("own", "own:Notes", "-k", "ida"),
    ):
        run(project, memory, *options)
        (project.path / "run.json").rename(project.path / f"{name}.json")
    capsys.readouterr()
    assert main(["compare", "none.json", "full.json", "--memories"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["full", "none"],
        ["agent", *["avg@2", "pass@2", "pass^2"] * 2],
        ["reader:agent", *["1.00"] * 6],
    ]
    assert main(["compare", "none.json", "full.json"]) == 2
    assert "mapsat compare --memories shows runs of several memories" in capsys.readouterr().err
    assert main(["compare", "none.json", "other.json", "--memories"]) == 2
    assert "differ in more than agent and memory: max-turns: 10, 2" in capsys.readouterr().err
    assert main(["compare", "none.json", "none.json", "--memories"]) == 2
    assert "are both of reader:agent with the memory none" in capsys.readouterr().err
    assert main(["compare", "own.json", "--memories"]) == 0
    assert "own:Notes" in capsys.readouterr().out, "a name takes the room that the figures leave"


#: Tells its context as a thought, in a process of its own.
PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "message" in asked:
        print(json.dumps({"type": "reply", "text": "Blue Bay", "thoughts": [asked["context"]["memory"]]}), flush=True)
"""


def test_a_command_gets_it_and_an_ini_file_may_name_the_memory(project: pytest.Pytester) -> None:
    (project.path / "program.py").write_text(PROGRAM)
    project.makeini("[pytest]\nmapsat_agent_memory = truth\n")
    project.runpytest(f"--mapsat-agent=cmd:{sys.executable} program.py", "--mapsat-save=run.json", "-k", "max-2")
    [card] = saved_runs.saved(project)["cases"]
    assert card["trajectory"]["turns"][1]["steps"][0]["text"] == "max wants 2"


def test_a_service_gets_it_with_the_rest_of_the_context(project: pytest.Pytester) -> None:
    with Service().running() as service:
        address = service.at(lambda _: answers({"text": "Blue Bay"}))
        project.runpytest(f"--mapsat-agent={address}", "--mapsat-agent-memory=truth", "-k", "max-2")
        [asked] = service.asked(address)
    assert asked.body["context"]["memory"] == "max wants 2"


@pytest.mark.parametrize("memory", ["truth", "own:Notes"])
def test_an_episode_that_another_process_plays_has_the_same_memory(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, memory: str
) -> None:
    here = run(project, memory, "-k", "ida-3")["ida-3"]
    suite = open_suite(project.path / "benchmark_cases")
    [case] = [case for path in suite.files() for case in map(suite.load, suite.entries(path)) if case.id == "ida-3"]
    options = RunOptions(agent_memory=memory)
    request = RunRequest(agent="reader:agent", user="scripted", judge="checks", options=options)
    monkeypatch.syspath_prepend(project.path)
    source = resolve_source("reader:agent", root=project.path)
    with ThreadPoolExecutor(1) as pool:
        elsewhere = Elsewhere(pool.submit, request, project.path)
        card = Runner(source, request, project.path, elsewhere=elsewhere).run(suite, case)
    assert timeless(card.trajectory.to_json()) == timeless(here["trajectory"]) | {
        "memory": card.trajectory.memory.to_json()
    }
    assert card.trajectory.memory.text == here["trajectory"]["memory"]["text"]
