"""A test of your own about the same runs: what you care for beyond the case's own checks.

``pytest examples/test_own.py --mapsat-cases=benchmark_cases/search/twin-tearooms.yaml --mapsat-agent=examples.class_agent:Agent``

A test that asks for ``mapsat_case`` or ``mapsat_run`` runs once for each case. ``mapsat_run()`` plays the case, and returns its scorecard and
its episode; it asserts nothing by itself, and a case is played once however many tests ask for it.
"""

from __future__ import annotations

from typing import Any


def test_it_asks_only_where_the_case_leaves_something_open(mapsat_case: Any, mapsat_run: Any) -> None:
    """A question that nobody needs costs the user a turn."""
    policy = mapsat_case.truth.clarification
    assert mapsat_run().scorecard.clarifications <= (policy.max_turns if policy else 0)


def test_no_call_is_made_in_vain(mapsat_run: Any) -> None:
    """Neither a wrong name or argument, nor a call that the recorded sandbox cannot answer."""
    assert [call for call in mapsat_run().episode.calls if call.status != "ok"] == []


def test_the_answer_is_short_enough_to_be_read_aloud(mapsat_run: Any) -> None:
    """Our users listen while they drive."""
    assert max(map(len, mapsat_run().episode.replies)) <= 300  # noqa: PLR2004  characters, about twenty seconds
