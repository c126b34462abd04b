"""What a metric is: a name, what it says, and what may be made of it. How it is measured is its metric set's affair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from .base import Identifier, Noun

#: Metric names stand in run files, thresholds (``domain.metric=0.6``) and properties: lower case, no dot.
MetricName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,59}$")]


class Metric(Noun):
    """One number of an episode, as run files, gates and reports know it.

    ``title`` says in words what it is, ``unit`` what it is counted in. ``earned``: an agent that crashes or says nothing has earned a 0 in it.
    ``gated``: it lies between 0 and 1, more is better, and a threshold may stand on it. ``headline``: it is told first, with its interval.
    """

    renamed: ClassVar[Mapping[str, str]] = {"family": "metric_set"}

    name: MetricName
    title: str = Field(default="", max_length=200)
    unit: str = Field(default="share", max_length=40)
    earned: bool = True
    gated: bool = True
    headline: bool = False
    metric_set: Identifier = "msb"


#: The seven metrics of MapSatisfyBench, then the one given for reference only; those of every run file that tells none.
MSB_METRICS = (
    Metric(name="ecr", title="explicit completion"),
    Metric(name="iisr", title="implicit satisfaction"),
    Metric(name="ar", title="accepted-response probability", headline=True),
    Metric(name="ts", title="tool selection"),
    Metric(name="ifs", title="faithfulness"),
    Metric(name="eff", title="interaction efficiency"),
    Metric(name="ses", title="satisfaction efficiency", headline=True),
    Metric(name="cei", title="cost efficiency", unit="SES per million tokens", earned=False, gated=False),
)
