"""The first hour with a wheel in an empty folder: install, init, run, break, fix, record, gate."""

import json
import os
import re
from pathlib import Path

import pytest
from first_hour import build_wheel, install
from walkthrough import run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are those of a POSIX shell")

RUN = "pytest --mapsat-agent=my_agent:agent"


@pytest.fixture(scope="module")
def commands(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("first-hour")
    return install(build_wheel(folder / "dist"), folder / "venv")


def test_the_first_hour(commands, tmp_path):
    def typed(command: str, status: int) -> str:
        done = run(command, tmp_path, commands)
        assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def edited(name: str, old: str, new: str) -> None:
        path = tmp_path / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    where = typed("python -c 'import pytest_mapsat; print(pytest_mapsat.__file__)'", 0)
    assert str(Path(commands).parent) in where, "this is the wheel, not the working tree"

    said = typed("mapsat init", 0)
    assert RUN in said
    assert "is there already" in typed("mapsat init", 2)
    assert "0 errors, 0 warnings, 0 notes" in typed("mapsat lint benchmark_cases", 0)

    first = typed(RUN, 1)
    assert re.search(r"1 failed, 1 passed", first)
    assert "hard constraint broken: seats: Every room that is offered has seats for the" in first
    assert "“Birch”" in first
    assert not re.search(r"\d miss\b", first)

    edited("my_agent.py", "if opens <= now < closes:", 'if opens <= "99:99":')
    assert "2 failed" in typed(RUN, 1)
    edited("my_agent.py", 'if opens <= "99:99":', "if opens <= now < closes:")

    edited("my_agent.py", '["rooms"][0]', '["rooms"][1]')
    assert "2 passed" in typed(RUN, 0)

    edited("my_agent.py", 'find_rooms(start="14:00")', 'find_rooms(start="14:00", minutes=90)')
    missed = typed(f"{RUN} --mapsat-save=run.json", 1)
    assert "mapsat lint SUITE --misses RUN offers synonyms and records" in " ".join(missed.split())
    offered = typed("mapsat lint benchmark_cases --misses run.json", 0)
    assert "minutes: asked 90, the nearest record has 60" in offered
    assert "1 call missed, 1 different" in offered
    filled = typed(f"{RUN} --mapsat-on-miss=record --mapsat-tools=my_tools:tools", 0)
    assert "1 answer of your own tools added to recorded.jsonl" in filled
    assert "sandbox 3 calls: 3 exact" in typed(RUN, 0)
    assert "0 records added, 3 already there" in typed("mapsat record my_tools:tools", 0)

    gate = f"{RUN} --mapsat-fail-under=ar=0.9 --mapsat-save=run.json"
    assert "gate     PASSED: ar 1.0000 >= 0.9" in typed(gate, 0)
    edited("my_agent.py", '["rooms"][1]', '["rooms"][0]')
    assert "gate     FAILED" in typed(gate, 1)
    assert json.loads((tmp_path / "run.json").read_text())["gate"]["outcome"] == "failed"
    workflow = (tmp_path / ".github" / "workflows" / "benchmark.yml").read_text()
    assert "pytest --mapsat-agent=my_agent:agent --mapsat-fail-under=ar=0.8" in workflow
