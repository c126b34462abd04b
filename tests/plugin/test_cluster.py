"""--mapsat-executor=dask:ADDRESS: episodes on a real scheduler and workers, some of which are lost on the way."""

import os
import shutil
import signal
import socket
import subprocess
import sys

import pytest
import tiny_suite
from saved_runs import saved_text

from pytest_mapsat.model import UsageError
from pytest_mapsat.runs import elsewhere as clusters

#: One of its episodes takes the worker that plays it down, the first time.
AGENT = """
import os, signal
from good import agent as good

def agent(message, tools, session):
    with open(os.path.join(os.path.dirname(__file__), "asked"), "ab+", buffering=0) as file:
        file.write(f"{session.id} {os.getpid()}\\n".encode())
        end = file.tell()  # of its own line, whatever others write meanwhile
        file.seek(0)
        asked = file.read(end).count(b"\\n")
    if asked == 5 and os.environ.get("MAPSAT_TEST_WORKER"):
        os.kill(os.getpid(), signal.SIGKILL)
    return good(message, tools)
"""
#: One case takes down every worker that plays it.
DEADLY = """
import os, signal
from good import agent as good

def agent(message, tools, session):
    with open(os.path.join(os.path.dirname(__file__), "asked"), "a") as file:
        file.write(f"{session.id} {os.getpid()}\\n")
    if "deadly" in message:
        os.kill(os.getpid(), signal.SIGKILL)
    return good(message, tools)
"""
#: Forks a scheduler and four workers, so that the library is imported once; prints the address, and waits.
CLUSTER = """
import os, sys
from distributed import Client
from distributed.cli import dask_scheduler, dask_worker
place = sys.argv[1]
common = ["--scheduler-file", place, "--host", "127.0.0.1", "--no-dashboard"]
worker = (dask_worker.main, ["--no-nanny", "--nthreads", "1"])
for main, more in ((dask_scheduler.main, ["--port", "0"]), worker, worker, worker, worker):
    if os.fork() == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        main([*common, *more])
client = Client(scheduler_file=place, timeout=60)
client.wait_for_workers(4, timeout=60)
print(client.scheduler.address, flush=True)
client.close()
sys.stdin.read()
"""


@pytest.fixture
def project(pytester):
    """A project with 12 cases."""
    cases = [tiny_suite.case(f"nav-{number:02}") for number in range(12)]
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"nav/b.jsonl": cases})
    pytester.makepyfile(good=tiny_suite.GOOD, fatal=AGENT)
    return pytester


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a scheduler with workers of one thread, each a process of its own, none of which is started again; tests kill them."""
    folder = tmp_path_factory.mktemp("cluster")
    settings = {"MAPSAT_TEST_WORKER": "1", "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER, str(folder / "scheduler.json")],
        cwd=folder,
        env={**os.environ, **settings},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        yield process.stdout.readline().strip()
        os.killpg(process.pid, signal.SIGKILL)


def test_a_cluster_gives_the_file_of_a_local_run_even_where_a_worker_is_killed(project, cluster):
    project.runpytest_subprocess("--mapsat-agent=fatal:agent", "--mapsat-save=here.json").assert_outcomes(passed=12)
    (project.path / "asked").unlink()
    executor = f"--mapsat-executor=dask:{cluster}"
    result = project.runpytest_subprocess("--mapsat-agent=fatal:agent", executor, "--mapsat-save=there.json")
    result.assert_outcomes(passed=12)
    assert saved_text(project, "there.json") == saved_text(project, "here.json")
    asked = [line.split() for line in (project.path / "asked").read_text().splitlines()]
    killed, pid = asked[4]
    assert next(other for who, other in asked if who == killed) == pid
    assert len({other for who, other in asked if who == killed}) == 2
    assert len({other for _, other in asked}) > 1
    assert max(sum(who == one for who, _ in asked) for one, _ in asked) == 2

    project.makeconftest(
        "import sys, types\n"
        "ghost = sys.modules['ghost'] = types.ModuleType('ghost')\n"
        "ghost.agent = lambda message, tools: 'Here.'\n"
    )
    result = project.runpytest_subprocess("--mapsat-agent=ghost:agent", executor, "-rs", "-k", "nav-00 or nav-01")
    result.assert_outcomes(errors=2, deselected=10)
    assert "there is no module 'ghost'" in " ".join(result.stdout.str().split())
    assert result.ret == 1


SANDBOX = """
import pytest_mapsat as mapsat
from places import PLACES

class World:
    def __init__(self, state):
        pass

    def search_poi(self, query):
        return {"pois": PLACES}

def pytest_mapsat_sandbox(case, suite):
    return World if suite.manifest.name == "tiny" else None

@mapsat.check
def talks(episode):
    assert episode.replies
"""


def test_a_cluster_has_the_sandboxes_of_a_conftest(project, cluster):
    project.makeconftest(SANDBOX)
    (project.path / "places.py").write_text("PLACES = [{'id': 'p9', 'name': 'Blue Bay', 'of_the_conftest': True}]\n")
    options = ("--mapsat-agent=good:agent", "-k", "nav-00 or nav-01")
    here = project.runpytest_subprocess(*options, "--mapsat-save=here.json")
    there = project.runpytest_subprocess(*options, f"--mapsat-executor=dask:{cluster}", "--mapsat-save=there.json")
    assert here.parseoutcomes() == there.parseoutcomes()
    assert saved_text(project, "there.json") == saved_text(project, "here.json")
    assert "of_the_conftest" in saved_text(project, "there.json")


def test_an_episode_that_takes_down_every_worker_is_given_up(project, cluster):
    cases = [tiny_suite.case(f"nav-{number}") for number in range(2)]
    cases[1]["visible"]["query"] += " A deadly one."
    shutil.rmtree(project.path / "benchmark_cases")
    tiny_suite.write_suite(project.path / "benchmark_cases", {"nav/b.jsonl": cases})
    project.makepyfile(deadly=DEADLY)
    executor = (f"--mapsat-executor=dask:{cluster}", "--mapsat-concurrency=1")
    result = project.runpytest_subprocess("--mapsat-agent=deadly:agent", *executor, "-rs")
    result.assert_outcomes(passed=1, errors=1)
    assert "the executor lost it: KilledWorker" in " ".join(result.stdout.str().split())


def test_what_cannot_be_handed_to_a_cluster_is_a_usage_error(project):
    refused = {
        "--mapsat-executor=ray:x": "*found 'ray:x', expected local, or dask:ADDRESS*",
        "--mapsat-executor=dask:": "*found 'dask:', expected local, or dask:ADDRESS*",
        "--mapsat-executor=dask:x --mapsat-agent=fixture": "*the agent of a fixture is an object of this process*",
        "--mapsat-executor=dask:x --mapsat-unrecorded=record --mapsat-tools=good:agent": "*--mapsat-unrecorded asks from this process*",
    }
    for options, said in refused.items():
        result = project.runpytest("--mapsat-agent=good:agent", *options.split())
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([said])
    result = project.runpytest_subprocess("--mapsat-agent=good:agent", "--mapsat-executor=dask:127.0.0.1:1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no scheduler answers there within 5 s*"])


def test_whoever_is_no_scheduler_is_told_so_and_not_waited_for(monkeypatch):
    monkeypatch.setattr(clusters, "_PATIENCE", 0.5)
    for address in ("nowhere", "tcp://127.0.0.1", "http://127.0.0.1:1"):
        with pytest.raises(UsageError, match="that is not an address of a scheduler, such as tcp://host:8786"):
            clusters.open_cluster(address)
    with socket.create_server(("127.0.0.1", 0)) as listens_and_says_nothing:
        port = listens_and_says_nothing.getsockname()[1]
        with pytest.raises(UsageError, match="no scheduler answers there within"):
            clusters.open_cluster(f"127.0.0.1:{port}")


def test_the_address_of_a_worker_is_told_to_be_none_of_a_scheduler(monkeypatch):
    async def worker(address):
        return "Worker"

    monkeypatch.setattr(clusters, "_kind_of", worker)
    with pytest.raises(UsageError, match="a worker answers there: name the address of the scheduler"):
        clusters.open_cluster("127.0.0.1:1")
