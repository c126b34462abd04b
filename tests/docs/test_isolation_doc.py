"""docs/how-to/run-many-at-once.md: the environment is the one that agents get, and each agent of its table fails as it says."""

import re
import sys
from pathlib import Path

import tiny_suite

from pytest_mapsat.agents.isolated import ENVIRONMENT, IsolatedSource, Isolation, Processes
from pytest_mapsat.agents.process import MOST_PRINTED
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.sandbox import make_sandbox
from pytest_mapsat.suite import open_suite
from pytest_mapsat.users import make_user

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "run-many-at-once.md").read_text(encoding="utf-8")
FAILS = dict(re.findall(r"^\| `(.+)`(?:, with a limit)? \| (.+) \|$", PAGE.partition("fails with")[2], re.MULTILINE))


def test_the_environment_is_the_one_that_is_told() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| environment "))
    assert tuple(re.findall(r"`(\w+)`", row)) == ENVIRONMENT
    assert f"{MOST_PRINTED:,} bytes" in PAGE


def _without_line(text: str) -> str:
    return re.sub(r"my_agent\.py:\d+ in \w+", "my_agent.py", text)


def test_each_agent_fails_as_the_page_says(tmp_path: Path) -> None:
    assert len(FAILS) == 4
    agents = [f"def agent_{number}(message):\n    {code}\n    time.sleep(20)\n" for number, code in enumerate(FAILS)]
    (tmp_path / "my_agent.py").write_text("import ctypes, os, re, signal, time\n" + "".join(agents))
    tiny_suite.write_suite(tmp_path / "suite")
    suite = open_suite(tmp_path / "suite")
    case = suite.load(suite.entries(suite.files()[0])[0])
    processes = Processes(Isolation(tuple(sys.path), {}, memory=400))
    for number, told in enumerate(FAILS.values()):
        source = IsolatedSource(f"my_agent:agent_{number}", tmp_path, processes)
        limits = Limits(timeout=1 if "1 s" in told else 60)
        ended = run_episode(case, source, make_user("scripted", case), make_sandbox(case, suite), limits)
        source.dismiss()
        assert ended.fault is not None
        assert _without_line(ended.fault.message).startswith(_without_line(told))
    processes.close()
