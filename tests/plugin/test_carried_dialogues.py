"""Sequences of a user's tasks in a run: each task is the same alone, shuffled, spread over workers, isolated and side by side."""

import json
import re

import pytest
import tiny_suite
from saved_runs import saved, timeless

from pytest_mapsat.cli import main

AGENTS = """
import os, time

class Remembers:
    # An agent with a memory of its own: the numbers that the user has told it, since it was made.
    def __init__(self, tools, session):
        self.tools, self.session, self.numbers = tools, session, []

    def reply(self, message, context):
        self.numbers.append(message.split()[-1])
        self.session.state["replies"] = self.session.state.get("replies", 0) + 1
        found = len(self.tools.search_poi(query="charger")["pois"])
        if message.endswith("max2") and os.environ.get("FAULT"):
            if os.environ["FAULT"] == "raise":
                raise ValueError("the second task of max is too much")
            time.sleep(30)
        return f"Found {found}. Numbers: {', '.join(self.numbers)}. Replies: {self.session.state['replies']}."

def reads(message, context):
    return f"The memory: {context.memory}."

def named(message, session):
    return f"This is {session.id}."

async def forgets(message, tools):
    return f"Numbers: {message.split()[-1]}."
"""
SAVE = "--mapsat-save=run.json"
PLACES = 4


def task(user, place):
    """Return a task that is done where the agent still has the numbers of all tasks up to it."""
    numbers = ", ".join(f"{user}{number}" for number in range(1, place + 1))
    case = tiny_suite.case(f"{user}-{place}", group={"name": user, "order": place})
    case["visible"] = {
        "query": f"The number is {user}{place}",
        "context": {"now": f"2026-05-0{place}T10:00:00", "uid": user},
    }
    requirement = {"id": "z1", "kind": "hard", "text": "It has all numbers."}
    case["truth"] = {
        "requirements": [{**requirement, "check": {"kind": "matches", "pattern": f"Numbers: {numbers}[.]"}}]
    }
    return case


def write(folder, *, carry=True):
    # Over two files and not in order: neither says where a task stands.
    tasks = {(user, place): task(user, place) for user in ("ida", "max") for place in range(1, PLACES + 1)}
    early = [tasks["max", 2], tasks["ida", 3], tasks["ida", 1]]
    late = [case for case in tasks.values() if case not in early]
    root = tiny_suite.write_suite(folder / "benchmark_cases", {"nav/a.yaml": late, "nav/b.jsonl": early})
    if carry:
        manifest = root / "suite.yaml"
        manifest.write_text(manifest.read_text() + "carry: dialogues\n")


@pytest.fixture
def two_users(pytester):
    """A project with two users of four tasks each, whose suite carries dialogues."""
    write(pytester.path)
    pytester.makepyfile(carrying=AGENTS)
    return pytester


def run(project, *options, agent="carrying:Remembers"):
    return project.runpytest(f"--mapsat-agent={agent}", SAVE, *options)


def told(project):
    """Return what each case came to: its outcome and what the agent said."""
    cards = saved(project)["cases"]
    return {
        (card["id"], card["trial"]): (
            card["outcome"],
            [turn["text"] for turn in card["trajectory"]["turns"] if turn["role"] == "agent"],
        )
        for card in cards
    }


def cards(project):
    """Return all that the run file says of each case, times apart."""
    run_file = saved(project)
    return {(card["id"], card["trial"]): timeless(card) for card in run_file["cases"]}


@pytest.fixture(scope="module")
def usual():
    """A place for what ``as_ever`` finds out once."""
    return {}


@pytest.fixture
def as_ever(two_users, usual):
    """What a run in the usual order says of each case."""
    if not usual:
        run(two_users)
        usual.update(cards(two_users))
    return usual


@pytest.fixture(scope="module")
def reference():
    """What each task comes to, worked out by hand."""
    reply = "Found 2. Numbers: {}. Replies: {}."
    return {
        (f"{user}-{place}", 1): (
            "passed",
            [reply.format(", ".join(f"{user}{n}" for n in range(1, place + 1)), place)],
        )
        for user in ("ida", "max")
        for place in range(1, PLACES + 1)
    }


def test_a_users_tasks_follow_each_other_in_whatever_order_they_stand(two_users, reference):
    run(two_users).assert_outcomes(passed=8)
    assert told(two_users) == reference


def test_each_task_alone_is_the_same_and_the_run_says_what_was_played_first(two_users, reference):
    for case, place in (("ida-1", 1), ("ida-4", 4), ("max-3", 3)):
        result = run(two_users, "-k", case)
        result.assert_outcomes(passed=1, deselected=7)
        assert told(two_users) == {(case, 1): reference[case, 1]}
        said = re.search(r"carried    (\d) tasks? (was|were) played first", " ".join(result.stdout.str().split("\n")))
        assert int(said[1]) == place - 1 if said else place == 1


def test_shuffled_tasks_are_the_same(two_users, as_ever):
    two_users.makeconftest("""
        import random
        def pytest_collection_modifyitems(items):
            random.Random(7).shuffle(items)
    """)
    result = run(two_users)
    result.assert_outcomes(passed=8)
    assert cards(two_users) == as_ever
    assert "carried" not in result.stdout.str()  # each was asked for by itself in the end


@pytest.mark.parametrize("width", [2, 16])
def test_tasks_side_by_side_are_the_same(two_users, as_ever, width):
    run(two_users, f"--mapsat-concurrency={width}").assert_outcomes(passed=8)
    assert cards(two_users) == as_ever


#: One scheduler of ours deals for ``load`` and ``worksteal``; the rooms of ``loadscope`` are files here, too.
LIKE_OTHERS = [pytest.param(dist, marks=pytest.mark.thorough) for dist in ("worksteal", "loadscope")]


@pytest.mark.parametrize("dist", ["load", "loadfile", "loadgroup", *LIKE_OTHERS])
def test_tasks_spread_over_workers_are_the_same(two_users, as_ever, dist):
    result = run(two_users, "-n", "2", "--dist", dist)
    result.assert_outcomes(passed=8)
    assert cards(two_users) == as_ever
    if dist in ("load", "worksteal"):
        assert "carried" not in result.stdout.str()  # a user's tasks are on one worker


def test_tasks_of_shards_are_the_same(two_users, as_ever):
    seen = {}
    for shard in ("1/2", "2/2"):
        run(two_users, f"--mapsat-shard={shard}")
        seen |= cards(two_users)
    assert seen == as_ever


def test_isolated_tasks_are_the_same(two_users, as_ever):
    run(two_users, "--mapsat-isolate").assert_outcomes(passed=8)
    assert cards(two_users) == as_ever


def test_each_trial_has_an_agent_of_its_own(two_users, reference):
    run(two_users, "--mapsat-trials=2", "-k", "ida").assert_outcomes(passed=8, deselected=8)
    seen = told(two_users)
    assert {key: seen[key[0], 2] for key in reference if key[0].startswith("ida")} == {
        key: value for key, value in reference.items() if key[0].startswith("ida")
    }


@pytest.mark.parametrize("isolated", [(), ("--mapsat-isolate=env:FAULT",)], ids=["here", "isolated"])
def test_a_task_that_fails_does_not_stop_the_next(two_users, monkeypatch, reference, isolated):
    monkeypatch.setenv("FAULT", "raise")
    run(two_users, *isolated).assert_outcomes(passed=7, failed=1)
    seen = told(two_users)
    assert seen["max-2", 1] == ("failed", [""])
    assert {key: value for key, value in seen.items() if key[0] != "max-2"} == {
        key: value for key, value in reference.items() if key[0] != "max-2"
    }


@pytest.mark.parametrize("isolated", [(), ("--mapsat-isolate=env:FAULT",)], ids=["here", "isolated"])
def test_after_a_task_that_hangs_comes_a_new_agent(two_users, monkeypatch, isolated):
    monkeypatch.setenv("FAULT", "hang")
    run(two_users, "--mapsat-timeout=1", "-k", "max", *isolated).assert_outcomes(passed=1, failed=3, deselected=4)
    seen = told(two_users)
    assert seen["max-3", 1][1][-1] == "Found 2. Numbers: max3. Replies: 1."


def test_a_users_tasks_have_one_session_id_in_a_trial(two_users):
    run(two_users, "--mapsat-trials=2", agent="carrying:named")
    sessions = {}
    for (case, trial), (_, replies) in told(two_users).items():
        sessions.setdefault((case.partition("-")[0], trial), set()).add(replies[0])
    assert [len(ids) for ids in sessions.values()] == [1, 1, 1, 1]
    assert len(set.union(*sessions.values())) == 4


def test_a_resumed_run_is_the_same(two_users, as_ever):
    run(two_users, "-k", "ida-1 or ida-3 or max-4")
    run(two_users, "--mapsat-resume=run.json").assert_outcomes(passed=8)
    assert cards(two_users) == as_ever


def test_tasks_cannot_be_carried_from_machine_to_machine(two_users):
    result = run(two_users, "--mapsat-executor=dask:tcp://127.0.0.1:1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*the suite carries dialogues from one task to the next*leave --mapsat-executor out*"])


def test_without_carry_an_agent_begins_anew_with_each_task(pytester):
    write(pytester.path, carry=False)
    pytester.makepyfile(carrying=AGENTS)
    result = run(pytester)
    result.assert_outcomes(passed=2, failed=6)
    assert told(pytester)["ida-4", 1][1][-1] == "Found 2. Numbers: ida4. Replies: 1."
    assert "carried" not in result.stdout.str()


def test_a_coroutine_that_keeps_nothing_is_played_as_ever(two_users):
    run(two_users, agent="carrying:forgets").assert_outcomes(passed=2, failed=6)


def test_the_summary_tells_of_users_and_show_of_places(pytester, capsys):
    write(pytester.path, carry=False)
    pytester.makepyfile(carrying=AGENTS)
    result = run(pytester, "-v", "--mapsat-trials=2")
    result.stdout.fnmatch_lines(["per user*2, right where all their tasks are: pass_rate 0.000; pass@2 0.000*"])
    capsys.readouterr()
    assert main(["show", "run.json", "--by", "place"]) == 0
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert [row for row in rows if row and row[0].isdigit()] == [["1", "2/2"], ["2", "0/2"], ["3", "0/2"], ["4", "0/2"]]
    assert main(["show", "run.json", "--by", "place", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["1"]["pass_rate"]["mean"] == 1
    assert main(["show", "run.json", "--by", "plaice"]) != 0
    assert "no groups by 'plaice'; did you mean 'place'" in capsys.readouterr().err


def test_a_memory_has_the_dialogues_of_earlier_tasks_behind_their_interactions(two_users):
    reply = "The memory: "
    first = f"{reply}."
    second = f"{reply}2026-05-01 user: The number is ida1\n2026-05-01 assistant: {first}\n2026-05-01 user: That is all, thank you.."
    for options in ((), ("-k", "ida-2")):
        run(two_users, "--mapsat-agent-memory=full", *options, agent="carrying:reads")
        said = told(two_users)["ida-2", 1][1][0]
        assert said == second.replace("2026-05-01", "2026-05-01T10:00:00")
    run(two_users, "--mapsat-agent-memory=none", agent="carrying:reads")
    assert told(two_users)["ida-2", 1][1][0] == first


def test_a_task_that_is_run_again_begins_with_the_first(two_users, reference):
    two_users.makeconftest("""
        import pytest
        tries = []
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(item):
            yield
            tries.append(item.name)
            assert len(tries) > 1, "once more"
    """)
    result = run(two_users, "--reruns=1", "-k", "ida-3")
    result.assert_outcomes(passed=1, deselected=7)
    assert told(two_users) == {("ida-3", 1): reference["ida-3", 1]}


def test_a_task_without_a_moment_cannot_be_carried(pytester):
    case = task("ida", 1)
    del case["visible"]["context"]["now"]
    root = tiny_suite.write_suite(pytester.path / "benchmark_cases", {"a.yaml": [case]})
    (root / "suite.yaml").write_text((root / "suite.yaml").read_text() + "carry: dialogues\n")
    pytester.makepyfile(carrying=AGENTS)
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*a.yaml:*: visible.context.now: is missing: the suite carries dialogues*"])
