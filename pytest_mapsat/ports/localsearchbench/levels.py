"""Whether a task has the level that it states, by table 5 of the paper, and as many hops. ``mapsat lint`` asks this of suites that are measured by ``local``.

The table speaks of requirements in words. What of it a machine can count: a *condition* is a column of the rows that a hop must find; a requirement is
*composite* when it takes several hops, *personalised* when the query leaves a part of it unstated, and *open-ended planning* when it takes at least three hops.
"""

from __future__ import annotations

import re

from pytest_mapsat.model import Case
from pytest_mapsat.suite import Remark, Suite

#: The metric set of suites whose levels are those of the paper.
_METRICS = "local"
_LEVEL = re.compile(r"\s*L([1-5])\b", re.IGNORECASE)
#: The most conditions of the lowest level, and the fewest hops of an open-ended plan.
_BASIC, _PLANNED = 2, 3


def lint_levels(case: Case, suite: Suite) -> list[Remark]:
    """Return what disagrees with the level, and with the number of hops, that a case states.

    Args:
        case: the case.
        suite: its suite.
    """
    if _METRICS not in suite.manifest.metrics:
        return []
    hops = len(case.truth.tools)
    remarks = []
    if (stated := case.attributes.get("hops")) is not None and stated != str(hops):
        message = f"it says {stated} hops, and truth.tools has {hops}"
        remarks.append(Remark("warning", "hops", ("attributes", "hops"), message))
    level = _LEVEL.match(case.difficulty)
    if level is not None and hops and (wrong := _wrong_level(int(level[1]), case)):
        message = f"it says L{level[1]}, and {wrong}"
        remarks.append(Remark("warning", "level", ("difficulty",), message, "see table 5 of LocalSearchBench"))
    return remarks


def _wrong_level(level: int, case: Case) -> str:
    """Return why a case is of another level; empty where it is not."""
    hops = len(case.truth.tools)
    conditions = max((len(row.where) for tool in case.truth.tools for row in tool.evidence_rows), default=0)
    if level == 1 and (hops > 1 or conditions > _BASIC):
        return f"L1 is one search with at most {_BASIC} conditions: this has {hops} hops, with up to {conditions}"
    if level == 2 and (hops > 1 or conditions <= _BASIC):  # noqa: PLR2004  the level itself
        return f"L2 is one search with {_BASIC + 1} conditions or more: this has {hops} hops, with up to {conditions}"
    if level in (3, 4) and hops == 1:
        return f"L{level} has a composite requirement: this has one hop"
    if level == 4 and hops < _PLANNED and not case.truth.implicit:  # noqa: PLR2004  the level itself
        return (
            f"L4 is personalised or an open plan: this has no hard or soft requirement, and fewer than {_PLANNED} hops"
        )
    if level == 5:  # noqa: PLR2004  the level itself
        return "L5 works across platforms, which no suite can offer"
    return ""
