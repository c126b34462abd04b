"""What must not be lost in silence: the gate, a run that another one writes over, a check or a helper that changed under a resumed run."""

import subprocess
import sys
import time

import pytest

SAVE = "--mapsat-save=run.json"


@pytest.mark.parametrize("part", ["reporter", "session", "collecting", "passes"])
def test_no_part_of_the_plugin_can_be_left_out_of_a_run_with_an_agent(project: pytest.Pytester, part: str) -> None:
    result = project.runpytest("--mapsat-agent=bad:agent", "-p", f"no:mapsat-{part}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"-p no:mapsat-{part}: a run with an agent needs all of pytest-mapsat" in result.stderr.str()


def test_two_runs_that_would_write_one_file_are_told_apart(project: pytest.Pytester) -> None:
    project.makepyfile(
        slow="import pathlib, time\n\ndef agent(message):\n    pathlib.Path('begun').touch()\n"
        "    while not pathlib.Path('go').exists(): time.sleep(0.05)\n    return 'Blue Bay'\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--mapsat-agent=slow:agent", SAVE]
    first = subprocess.Popen(command, cwd=project.path, stdout=subprocess.DEVNULL)
    try:
        limit = time.monotonic() + 60
        while not (project.path / "begun").exists() and time.monotonic() < limit:
            time.sleep(0.05)
        second = project.runpytest_subprocess("--mapsat-agent=good:agent", SAVE)
        assert second.ret == pytest.ExitCode.USAGE_ERROR
        assert "run.json: another run that is under way writes there" in second.stderr.str()
    finally:
        (project.path / "go").touch()
        first.wait(60)
    assert project.runpytest_subprocess("--mapsat-agent=good:agent", SAVE).ret == 0  # the first one has ended


@pytest.mark.parametrize("changed", ["conftest.py", "helper.py"])
def test_a_run_is_not_resumed_after_a_check_or_a_helper_of_the_agent_changed(
    project: pytest.Pytester, changed: str
) -> None:
    project.makeconftest("import pytest_mapsat as mapsat\n\n@mapsat.check\ndef polite(episode): return True\n")
    project.makepyfile(helper="WORD = 'Blue Bay'", helped="import helper\n\ndef agent(message): return helper.WORD")
    agent = "--mapsat-agent=helped:agent"
    assert project.runpytest_subprocess(agent, SAVE).ret == 0
    again = (agent, SAVE, "--mapsat-resume=run.json")
    assert project.runpytest_subprocess(*again).ret == 0
    file = project.path / changed
    file.write_text(file.read_text() + "\n# changed\n")
    result = project.runpytest_subprocess(*again)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "the source of the agent, its helpers and conftests: it had" in result.stderr.str()
