"""The first hour with a wheel in an empty folder: install, init, run, mend, break, gate."""

import json
import os
import re
from pathlib import Path

import pytest
from first_hour import build_wheel, install
from walkthrough import run

pytestmark = [
    pytest.mark.long_proof(in_turn=True),
    pytest.mark.skipif(os.name == "nt", reason="the commands are those of a POSIX shell"),
]

RUN = "pytest --mapsat-agent=my_agent:Agent"
LINT = "mapsat lint benchmark_cases"


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

    told = typed("mapsat init", 0)
    assert RUN in told
    assert LINT in told
    assert "already exists" in typed("mapsat init", 2)
    assert "0 errors, 0 warnings, 0 notes" in typed(LINT, 0)

    first = typed(RUN, 1)
    assert re.search(r"1 failed, 2 passed", first)
    assert "1 row changed that should not have: orders A2" in first
    assert "orders A2 status: 'open' | orders A2 status: 'cancelled'" in first
    assert "the user agreed to another thing" in first

    mended = "return self.cancel([order for order in orders if order['dish'] in message])"
    edited("my_agent.py", "return self.cancel(orders)", mended)
    assert "3 passed" in typed(RUN, 0)

    asking = "return self.cancel("
    edited("my_agent.py", asking, "[tools.cancel_order(order_id=order['id']) for order in orders[:1]]; " + asking)
    assert 'cancel_order(order_id="A1") came before the user agreed to it' in typed(RUN, 1)
    edited("my_agent.py", "[tools.cancel_order(order_id=order['id']) for order in orders[:1]]; " + asking, asking)

    edited("my_agent.py", '"total": total,', '"total": total + 1,')
    wrong = typed(RUN, 1)
    assert "total is 16.5" in wrong
    assert "assert 16.5 == 15.5" in wrong
    edited("my_agent.py", '"total": total + 1,', '"total": total,')

    gate = f"{RUN} --mapsat-fail-under=ar=0.9 --mapsat-save=run.json"
    assert "gate       PASSED: ar 1.0000 >= 0.9" in typed(gate, 0)
    edited("my_agent.py", mended, "return self.cancel(orders)")
    assert "gate       FAILED" in typed(gate, 1)
    assert json.loads((tmp_path / "run.json").read_text())["gate"]["outcome"] == "failed"
    workflow = (tmp_path / ".github" / "workflows" / "benchmark.yml").read_text()
    assert "pytest --mapsat-agent=my_agent:Agent --mapsat-fail-under=ar=0.8" in workflow
