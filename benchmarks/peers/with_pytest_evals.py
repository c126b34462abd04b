"""Trivial cases with pytest-evals, run and then analysed: COUNT. It runs one case after another, so it takes no waits."""

import sys
import tempfile
from pathlib import Path

import pytest

MODULE = """
import pytest

@pytest.mark.eval(name="trivial")
@pytest.mark.parametrize("number", range(%d))
def test_agent(number, eval_bag):
    eval_bag.correct = "Blue Bay" in "I suggest Blue Bay."

@pytest.mark.eval_analysis(name="trivial")
def test_analysis(eval_results):
    assert sum(one.result.correct for one in eval_results) == %d
"""

count = int(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "test_trivial.py").write_text(MODULE % (count, count))
    plugins = ["-p", "pytest_harvest.plugin", "-p", "pytest_evals.plugin"]
    for step in ("--run-eval", "--run-eval-analysis"):
        # The second step reads what the first has left in the folder.
        code = pytest.main(["-q", *plugins, step, f"--rootdir={folder}", folder])
        assert code == 0, code
