"""Python's collector while an agent is active, seen from a script that goes on after ``pytest.main``."""

import subprocess
import sys
from pathlib import Path

import pytest
import tiny_suite

AGENT = """\
import gc


class Log:
    def __init__(self):
        self.me = self
        self.file = open("log.txt", "w")


log = Log()


class Unclosed:
    def __init__(self):
        self.me = self

    def __del__(self):
        raise ValueError("left behind")


def agent(message, tools):
    Unclosed()
    log.file.write(f"{gc.isenabled()} {gc.get_threshold()[0]} {gc.get_freeze_count()}\\n")
    return "Blue Bay"
"""
CONFTEST = """\
import gc


def pytest_itemcollected():
    with open("collecting.txt", "w") as file:
        file.write(str(gc.isenabled()))
"""
SCRIPT = """\
import gc
import pytest

before = gc.get_threshold()
code = pytest.main(["-q", "-p", "no:cacheprovider", "--mapsat-agent=messy:agent", "benchmark_cases", *{more}])
print("after:", int(code), gc.get_threshold() == before, gc.get_freeze_count())
"""


@pytest.mark.parametrize(("more", "active"), [([], True), (["--mapsat-agent=off"], False)])
def test_the_collector_is_held_back_during_a_run_only_and_nothing_is_lost(
    tmp_path: Path, more: list[str], active: bool
) -> None:
    tiny_suite.write_suite(tmp_path / "benchmark_cases")
    (tmp_path / "messy.py").write_text(AGENT)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "run.py").write_text(SCRIPT.format(more=more))
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"after: {0 if active else 5} True 0" in done.stdout
    if active:
        # What stood in a file that only a cycle held open is written, and pytest has told of what a cycle raised when it was collected.
        assert (tmp_path / "log.txt").read_text().splitlines() == ["True 20000 0"] * 3
        assert (tmp_path / "collecting.txt").read_text() == "False"
        assert "ValueError: left behind" in done.stdout + done.stderr
