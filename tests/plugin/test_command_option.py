"""--mapsat-agent=cmd:...: a program is the agent of a run."""

import signal
import subprocess
import sys
import time
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from saved_runs import saved

from pytest_mapsat.agents.tool_server import missing_extra

GOOD = """\
import json, sys

for line in sys.stdin:
    print(json.dumps({"type": "call", "name": "search_poi", "arguments": {"query": "charger"}}), flush=True)
    pois = json.loads(sys.stdin.readline())["result"]["pois"]
    name = next(poi["name"] for poi in pois if poi["open"])
    print(json.dumps({"type": "reply", "text": f"I suggest {name}."}), flush=True)
"""
#: Tells which process it is, and never replies.
HANGS = """\
import os, pathlib, time
pathlib.Path("pids", str(os.getpid())).touch()
time.sleep(600)
"""


@pytest.fixture
def python() -> str:
    """The interpreter itself, which starts faster than the one that has loaded everything."""
    return f"{sys.base_prefix}/bin/python3 -IS"


def test_a_program_plays_the_cases_of_a_run(project: pytest.Pytester, python: str) -> None:
    project.path.joinpath("good_program.py").write_text(GOOD)
    spec = f"cmd:{python} good_program.py"

    def run() -> Any:
        project.runpytest(f"--mapsat-agent={spec}", "--mapsat-save=run.json").assert_outcomes(passed=3)
        return saved(project)

    first = run()
    assert first["manifest"]["agent"] == spec
    assert [case["sandbox"]["exact"] for case in first["cases"]] == [1, 1, 1]
    project.path.joinpath("good_program.py").write_text(GOOD + "# changed\n")
    assert run()["manifest"]["agent_source"] != first["manifest"]["agent_source"]


@pytest.mark.parametrize(("text", "is_said"), [("MAPSAT_MCP_URL", True), ("", False)])
def test_a_program_that_wants_tools_over_mcp_learns_at_the_start_why_there_are_none(
    project: pytest.Pytester, python: str, monkeypatch: pytest.MonkeyPatch, text: str, is_said: bool
) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: {"mcp": "1.27.0"}.get(name, "2.0"))
    missing_extra.cache_clear()
    project.path.joinpath("good_program.py").write_text(f"# {text}\n{GOOD}")
    result = project.runpytest(f"--mapsat-agent=cmd:{python} good_program.py")
    missing_extra.cache_clear()
    result.assert_outcomes(passed=3)
    said = "mapsat: MAPSAT_MCP_URL is not set, and the command names it: tools over MCP need *1.27.0 is installed: *"
    assert any(fnmatch(line, said) for line in result.stdout.lines) == is_said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--mapsat-agent=cmd:no-such-program x"], "*there is no program 'no-such-program': it is not on PATH*"),
        (["--mapsat-agent=cmd:"], "*there is no command; expected one as in cmd:node agent.js*"),
        (
            ["--mapsat-agent=cmd:sh", "--mapsat-isolate"],
            "*a command runs in a process of its own already*leave it out*",
        ),
        (["--mapsat-agent=cmdd:sh"], "*did you mean 'cmd'?*"),
    ],
)
def test_what_cannot_be_started_is_a_usage_error(project: pytest.Pytester, options: list[str], words: str) -> None:
    result = project.runpytest(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT can be sent to another process there")
def test_no_program_outlives_an_interrupted_run(project: pytest.Pytester, python: str) -> None:
    project.path.joinpath("hangs.py").write_text(HANGS)
    pids = project.mkdir("pids")
    command = [sys.executable, "-m", "pytest", f"--mapsat-agent=cmd:{python} hangs.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as run:
        until = time.monotonic() + 30
        while len(list(pids.iterdir())) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        try:
            run.communicate(timeout=30)
        finally:
            run.kill()
    assert run.returncode == pytest.ExitCode.INTERRUPTED
    assert len(list(pids.iterdir())) == 3  # the episodes of all cases were under way
    for pid in pids.iterdir():
        assert not Path("/proc", pid.name).exists() or "Z" in Path("/proc", pid.name, "stat").read_text().split()[2]
