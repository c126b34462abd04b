"""``mapsat init --for FRAMEWORK``: with the framework installed, the start runs at once and without a key."""

from importlib.metadata import PackageNotFoundError, version
from runpy import run_path
from sys import executable

import pytest
from starts import FAULT, lines_of, played, written

from pytest_mapsat.agents.frameworks import ADAPTERS, adapter_for, adapter_named


def need(name):
    """Skip the test where a framework is not installed."""
    package = adapter_named(name).distribution or name
    try:
        version(package)
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed; python tests/frameworks installs and tests it")


@pytest.mark.parametrize("name", [name for name in ADAPTERS if name != "claude-agent-sdk"])
def test_the_start_of_a_framework_runs_as_it_is_written(tmp_path, capsys, name):
    files = written(tmp_path, name)
    assert lines_of(files) <= 80
    need(name)
    assert capsys.readouterr().err == ""
    out = played(executable, tmp_path)
    assert "1 failed, 1 passed" in out
    assert FAULT in out
    assert '-> cancel_booking(booking_id="BK-1")' in out
    assert "2 user: No, do not do that." in out


def test_the_start_for_claude_names_an_agent_of_the_sdk_and_says_that_it_asks_a_model(tmp_path, capsys):
    files = written(tmp_path, "claude-agent-sdk")
    assert lines_of(files) <= 80
    assert "the agent asks Claude" in capsys.readouterr().err
    need("claude-agent-sdk")
    agent = run_path(str(tmp_path / "my_agent.py"))["agent"]
    assert adapter_for(agent).name == "claude-agent-sdk"
