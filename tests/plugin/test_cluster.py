"""--mapsat-executor=dask:ADDRESS: episodes on a real scheduler and two workers, one of which is lost on the way."""

import json
import subprocess
import sys

import pytest
import tiny_suite

#: One of its episodes takes the worker that plays it down, the first time.
AGENT = """
import os, signal
from good import agent as good

def agent(message, tools, session):
    with open(os.path.join(os.path.dirname(__file__), "asked"), "a+") as file:
        file.write(f"{session.id} {os.getpid()}\\n")
        file.flush()
        file.seek(0)
        lines = file.read().split("\\n")[:-1]
    if len(lines) == 5 and os.environ.get("MAPSAT_TEST_WORKER"):
        os.kill(os.getpid(), signal.SIGKILL)
    return good(message, tools)
"""
WAIT = """
import sys
from distributed import Client
client = Client(scheduler_file=sys.argv[1], timeout=60)
client.wait_for_workers(2, timeout=60)
print(client.scheduler.address)
"""


@pytest.fixture
def project(pytester):
    """A project with 12 cases."""
    cases = [tiny_suite.case(f"nav-{number:02}") for number in range(12)]
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"nav/b.jsonl": cases})
    pytester.makepyfile(good=tiny_suite.GOOD, fatal=AGENT)
    return pytester


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """The address of a scheduler with two workers of two threads, each a process of its own, none of which is started again."""
    monkeypatch.setenv("MAPSAT_TEST_WORKER", "1")
    place = str(tmp_path / "scheduler.json")
    common = ["--scheduler-file", place, "--host", "127.0.0.1", "--no-dashboard"]
    commands = [
        ["distributed.cli.dask_scheduler", *common, "--port", "0"],
        *[["distributed.cli.dask_worker", *common, "--no-nanny", "--nthreads", "2"]] * 2,
    ]
    quiet = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [subprocess.Popen([sys.executable, "-m", *command], **quiet) for command in commands]
    try:
        done = subprocess.run(
            [sys.executable, "-c", WAIT, place], capture_output=True, text=True, timeout=120, check=True
        )
        monkeypatch.delenv("MAPSAT_TEST_WORKER")
        yield done.stdout.strip()
    finally:
        for process in processes:
            process.kill()
            process.wait()


def saved(project, name):
    def without_timing(value):
        if isinstance(value, dict):
            return {key: without_timing(item) for key, item in value.items() if key != "timing"}
        return [without_timing(item) for item in value] if isinstance(value, list) else value

    return json.dumps(without_timing(json.loads((project.path / name).read_text())))


def test_a_cluster_gives_the_file_of_a_local_run_even_where_a_worker_is_killed(project, cluster):
    project.runpytest_subprocess("--mapsat-agent=fatal:agent", "--mapsat-save=here.json").assert_outcomes(passed=12)
    (project.path / "asked").unlink()
    executor = f"--mapsat-executor=dask:{cluster}"
    result = project.runpytest_subprocess("--mapsat-agent=fatal:agent", executor, "--mapsat-save=there.json")
    result.assert_outcomes(passed=12)
    assert saved(project, "there.json") == saved(project, "here.json")
    asked = [line.split() for line in (project.path / "asked").read_text().splitlines()]
    killed, pid = asked[4]
    assert next(other for who, other in asked if who == killed) == pid
    assert len({other for who, other in asked if who == killed}) == 2
    assert len({other for _, other in asked}) == 2
    assert max(sum(who == one for who, _ in asked) for one, _ in asked) == 2

    project.makeconftest(
        "import sys, types\n"
        "ghost = sys.modules['ghost'] = types.ModuleType('ghost')\n"
        "ghost.agent = lambda message, tools: 'Here.'\n"
    )
    result = project.runpytest_subprocess("--mapsat-agent=ghost:agent", executor, "-rs", "-k", "nav-00 or nav-01")
    result.assert_outcomes(skipped=2, deselected=10)
    assert "there is no module 'ghost'" in " ".join(result.stdout.str().split())
    assert result.ret == 1


def test_what_cannot_be_handed_to_a_cluster_is_a_usage_error(project):
    refused = {
        "--mapsat-executor=ray:x": "*found 'ray:x', expected local, or dask:ADDRESS*",
        "--mapsat-executor=dask:": "*found 'dask:', expected local, or dask:ADDRESS*",
        "--mapsat-executor=dask:x --mapsat-agent=fixture": "*the agent of a fixture is an object of this process*",
        "--mapsat-executor=dask:x --mapsat-on-miss=record --mapsat-tools=good:agent": "*--mapsat-on-miss asks from this process*",
    }
    for options, said in refused.items():
        result = project.runpytest("--mapsat-agent=good:agent", *options.split())
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([said])
    result = project.runpytest_subprocess("--mapsat-agent=good:agent", "--mapsat-executor=dask:127.0.0.1:1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no scheduler answers there within 5 s*"])
