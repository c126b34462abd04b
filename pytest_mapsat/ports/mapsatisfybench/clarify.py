"""How useful the questions of an agent are, by the clarification policy C(x) of MapSatisfyBench (3.1; the paper gives it no formula, this one is ours)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from pytest_mapsat.metrics import Given, MetricInput, MetricSet, between, not_applicable, share_of
from pytest_mapsat.model import fold
from pytest_mapsat.ports import packaged_metrics

_METRICS = packaged_metrics(__package__)


def _measure(metric_input: MetricInput) -> Mapping[str, Given]:
    """Return the share of useful clarification turns, and the number of expected turns that took place.

    A clarification turn is a reply with a question that the user answers. It is useful where the answer says something of the script that was not said before,
    as long as the policy expects as many useful turns (``max_turns``); without a policy none is. An answer in other words may say it, too: it leaves bounds.
    """
    truth, turns = metric_input.case.truth, metric_input.trajectory.turns
    most = truth.clarification.max_turns if truth.clarification else 0
    answers = [fold(answer.say) for answer in truth.user.answers]
    heard = "".join(fold(turn.text) for turn in turns[:1])
    useful: list[bool | None] = []
    for reply, turn in pairwise(turns):
        if reply.role != "agent" or turn.role != "user" or not {*reply.text} & {*"?？"}:
            continue
        said, left = fold(turn.text), [answer for answer in answers if answer not in heard]
        useful.append(any(answer in said for answer in left) or (None if left else False))
        heard += said
    for at in range(len(useful)):  # beyond what the policy expects nothing is useful
        useful[at] = useful[at] if useful[:at].count(True) < most else False
    sure, maybe = useful.count(True), min(most, len(useful) - useful.count(False))
    done = between(sure / most, max(sure, maybe) / most, "an answer may say it in other words") if most else None
    return {
        "clarify_useful": share_of(useful, "the agent asked nothing that the user answered"),
        "clarify_done": done or not_applicable("the case expects no question (truth.clarification)"),
    }


CLARIFY = MetricSet("clarify", _METRICS, _measure)
