"""Trivial cases with inspect_ai: COUNT SECONDS WIDTH. No model is asked."""

import asyncio
import sys
import tempfile

from inspect_ai import Task, eval  # noqa: A004
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import solver

COUNT, SECONDS, WIDTH = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])


@solver
def agent():
    """Answer after a while."""

    async def solve(state, generate):
        if SECONDS:
            await asyncio.sleep(SECONDS)
        state.output.completion = "I suggest Blue Bay."
        return state

    return solve


@scorer(metrics=[accuracy()])
def named():
    """Say whether the answer names the place."""

    async def score(state, target):
        return Score(value="C" if "Blue Bay" in state.output.completion else "I")

    return score


samples = [Sample(id=f"c{number}", input="Take me to a charger.", target="Blue Bay") for number in range(COUNT)]
task = Task(dataset=MemoryDataset(samples), solver=agent(), scorer=named())
with tempfile.TemporaryDirectory() as logs:
    log = eval(task, model="mockllm/model", display="none", log_dir=logs, max_samples=WIDTH)[0]
assert log.status == "success", log.error
assert log.results.completed_samples == COUNT
