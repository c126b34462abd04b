"""Who a label is laid to: a failed one to the agent; one that rests on calls without a recording is unknown, and laid to the sandbox."""

import pytest
from judging import TOOLS, call, case_of, dialogue, found_places

from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.model import Fault

MINUTES = {
    "kind": "number", "unit": "min", "equals": {"op": "bound", "tool": "route", "path": "minutes"},
}  # fmt: skip
MISS = {"status": "no_recording"}


def label(check, *, reply="It is 9 min to Old Mill.", steps=(), **fields):
    case = case_of(implicit=[{"id": "z", "text": "z", "kind": "hard", "weight": 1, "check": check}])
    return ChecksJudge(TOOLS).judge(case, dialogue(reply, steps=steps, **fields)).labels[0]


@pytest.mark.parametrize(
    ("check", "tool"),
    [
        (MINUTES, "route"),
        ({"kind": "calls", "tool": "route", "answered": True}, "route"),
        ({"kind": "recommends", "only": True, "any_of": ["Old Mill"]}, "search_poi"),
        ({"kind": "all", "checks": [MINUTES, {"kind": "says", "any": ["Old Mill"]}]}, "route"),
    ],
)
def test_what_would_fail_for_want_of_a_recording_is_unknown_and_laid_to_the_sandbox(check, tool):
    found = label(check, steps=(call(tool, MISS, status="miss", to="here"),))
    assert (found.outcome, found.value, found.blame) == ("unevaluated", None, "sandbox")
    assert found.why.endswith(f"the sandbox had no recording for any call of {tool}")


@pytest.mark.parametrize(
    ("check", "steps"),
    [
        (MINUTES, ()),
        (MINUTES, (call("route", {"minutes": 20}), call("route", MISS, status="miss"))),
        ({"kind": "calls", "tool": "route", "answered": True}, ()),
        ({"kind": "calls", "tool": "route", "answered": True}, (call("route", {}, status="error"),)),
        (
            {"kind": "calls", "tool": "route", "with": {"to": {"op": "equal", "value": "home"}}, "answered": True},
            (call("route", MISS, status="miss", to="work"),),
        ),
        (
            {"kind": "recommends", "only": True, "any_of": ["New Mill"]},
            (found_places(), call("search_poi", MISS, status="miss")),
        ),
    ],
)
def test_any_other_failure_is_the_agents(check, steps):
    found = label(check, steps=steps)
    assert (found.outcome, found.blame) == ("failed", None)
    assert "sandbox" not in found.why


def test_what_holds_only_because_nothing_was_recorded_is_unknown_too():
    found = label({"kind": "not", "check": MINUTES}, steps=(call("route", MISS, status="miss"),))
    assert (found.outcome, found.value, found.blame) == ("unevaluated", None, "sandbox")


def test_what_passes_blames_nobody():
    found = label({"kind": "says", "any": ["Old Mill"]}, steps=(call("route", MISS, status="miss"),))
    assert (found.outcome, found.blame) == ("passed", None)


def test_an_episode_that_the_user_broke_is_laid_to_the_user():
    found = label(MINUTES, ending="user_error", fault=Fault(blame="user", message="the simulator fell silent"))
    assert (found.outcome, found.blame) == ("unevaluated", "user")
    assert found.why == "the episode was broken by the user: the simulator fell silent"
