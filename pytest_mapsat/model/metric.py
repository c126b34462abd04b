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

    ``plain``: its everyday name, which thresholds take as well, as ``per_turn``. ``title`` says in words what it is, ``unit`` what it is counted in. ``earned``: an agent that crashes or says nothing has earned a 0 in it.
    ``gated``: it lies between 0 and 1, more is better, and a threshold may stand on it. ``headline``: it is told first, with its interval.
    """

    renamed: ClassVar[Mapping[str, str]] = {"family": "metric_set"}

    name: MetricName
    plain: MetricName | None = None
    title: str = Field(default="", max_length=200)
    unit: str = Field(default="share", max_length=40)
    earned: bool = True
    gated: bool = True
    headline: bool = False
    metric_set: Identifier = "msb"


#: The seven metrics of MapSatisfyBench, then the one given for reference only; those of every run file that tells none.
MSB_METRICS = (
    Metric(name="ecr", plain="asked", title="requirements the user asked for"),
    Metric(name="iisr", plain="unasked", title="requirements the user did not say"),
    Metric(name="ar", plain="satisfied", title="accepted-response probability: asked x unasked", headline=True),
    Metric(name="ts", plain="tools", title="tool selection: the calls that the case needs"),
    Metric(name="ifs", plain="facts", title="faithfulness: facts told as they are"),
    Metric(name="eff", plain="brevity", title="interaction efficiency: few agent replies"),
    Metric(name="ses", plain="per_turn", title="satisfaction efficiency: satisfied x brevity", headline=True),
    Metric(
        name="cei", plain="per_token", title="cost efficiency", unit="SES per million tokens", earned=False, gated=False
    ),
)

#: The share of cases whose item passed: no metric of an episode, told and gated as one.
PASSED = Metric(name="pass_rate", plain="passed", title="cases of which nothing asserted is broken")
