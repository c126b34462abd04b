"""What is too long to be judged: nobody knows, which is neither green nor red."""

import time

from judging import TOOLS, case_of, dialogue

from pytest_mapsat import registry
from pytest_mapsat.judges import ChecksJudge

SAID = {"kind": "says", "any": ["Old Mill"]}
REPLY = "I suggest Old Mill. "


def judged(check, reply, **limits):
    requirements = [{"id": name, "text": name, "kind": "hard", "weight": 1, "check": check} for name in ("y", "z")]
    return ChecksJudge(TOOLS, **limits).judge(case_of(implicit=requirements), dialogue(reply))


def test_a_dialogue_of_a_megabyte_is_left_open_at_once_and_laid_to_the_judge():
    started = time.perf_counter()
    for label in judged(SAID, REPLY * 50_000).labels:
        assert (label.outcome, label.value, label.blame) == ("unevaluated", None, "judge")
        assert label.why == "too long to read: the agent said 1,000,000 characters, at most 100,000 are read"
    assert time.perf_counter() - started < 1  # reading it takes 10 s


def test_the_limit_is_one_of_characters_of_all_replies_with_their_claims():
    assert judged(SAID, REPLY, longest=len(REPLY)).labels[0].outcome == "passed"
    assert judged(SAID, REPLY, longest=len(REPLY) - 1).labels[0].outcome == "unevaluated"


def test_checks_that_come_after_the_time_of_judging_are_left_open(monkeypatch):
    def slow(episode):
        time.sleep(0.02)

    monkeypatch.setattr(registry, "_added", {"slow": registry.AddedCheck("slow", slow)})
    first, second = judged("slow", REPLY, seconds=0.01).labels
    assert first.outcome == "passed"
    assert (second.outcome, second.blame) == ("unevaluated", "judge")
    assert second.why == "the checks before it took more than 0.01 s"
