"""Trivial cases with pydantic-evals: COUNT SECONDS WIDTH."""

import asyncio
import sys
from dataclasses import dataclass

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext

COUNT, SECONDS, WIDTH = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])


@dataclass
class Named(Evaluator):
    """Whether the answer names the place."""

    def evaluate(self, ctx: EvaluatorContext) -> bool:
        """Say so."""
        return "Blue Bay" in ctx.output


async def agent(query: str) -> str:
    """Answer after a while."""
    if SECONDS:
        await asyncio.sleep(SECONDS)
    return "I suggest Blue Bay."


cases = [Case(name=f"c{number}", inputs="Take me to a charger.") for number in range(COUNT)]
report = Dataset(name="trivial", cases=cases, evaluators=[Named()]).evaluate_sync(
    agent, max_concurrency=WIDTH, progress=False
)
assert len(report.cases) == COUNT
