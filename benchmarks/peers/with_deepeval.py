"""Trivial cases with deepeval: COUNT SECONDS WIDTH. It runs no agent: the metric waits where an agent would."""

import asyncio
import os
import sys

os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", DEEPEVAL_DISABLE_DOTENV="1")

from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

COUNT, SECONDS, WIDTH = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])


class Named(BaseMetric):
    """Whether the answer names the place."""

    threshold = 0.5
    async_mode = True
    evaluation_model = None
    include_reason = False

    def measure(self, test_case, *args, **kwargs):
        """Say so."""
        self.score = float("Blue Bay" in test_case.actual_output)
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case, *args, **kwargs):
        """Say so after a while."""
        if SECONDS:
            await asyncio.sleep(SECONDS)
        return self.measure(test_case)

    def is_successful(self):
        """Repeat it."""
        return self.success

    @property
    def __name__(self):
        return "named"


cases = [LLMTestCase(input="Take me to a charger.", actual_output="I suggest Blue Bay.") for _ in range(COUNT)]
result = evaluate(
    cases,
    [Named()],
    async_config=AsyncConfig(run_async=True, max_concurrent=WIDTH, throttle_value=0),
    display_config=DisplayConfig(show_indicator=False, print_results=False),
    cache_config=CacheConfig(write_cache=False, use_cache=False),
)
assert len(result.test_results) == COUNT
