"""Requirements of scope trajectory that a model follows through windows of a dialogue: what is shown, what is taken back, what stays open."""

import json
import re
from types import SimpleNamespace

import pytest
from asked_models import FAULT
from judging import TOOLS, call, case_of
from pydantic import ValidationError

from pytest_mapsat.judges import make_judge
from pytest_mapsat.judges.llm_judge import windows_of
from pytest_mapsat.llm import Answer, ModelError
from pytest_mapsat.model import JudgeTerms, Trajectory, Turn, Usage, Window

_LINE = re.compile(r"^(\d+)\. \[[a-z-]+\] (.+) \(so far: (\S+)\)$", re.MULTILINE)
_WINDOW = re.compile(r"window (\d+) of (\d+)")
_WORDS = re.compile(r"message number \d+")


def talk(messages):
    """A dialogue of so many messages."""
    turns = []
    while len(turns) < messages:
        number = len(turns) + 1
        role = "user" if number % 2 else "agent"
        turns.append(Turn(role=role, text=f"This is message number {number}."))
    return Trajectory(case="c", turns=tuple(turns))


class Follower:
    """Says of each requirement, window by window, what a test has it say."""

    def __init__(self, says):
        self.says = says
        self.shown = []

    def ask(self, request, *, timeout=None, cancelled=None):
        text, again = request.messages[1]["content"], len(request.messages) > 2
        number = int(_WINDOW.search(request.messages[0]["content"])[1])
        if not again:
            self.shown.append((number, _WORDS.findall(text), {name: so_far for _, name, so_far in _LINE.findall(text)}))
        entries = []
        words = _WORDS.findall(text.partition("reply-")[2])[0]
        for place, name, _ in _LINE.findall(text):
            verdict = self.says[name][number - 1]
            if isinstance(verdict, Exception):
                raise verdict
            quotes = [] if verdict == "cannot_say" else [{"part": "reply-1", "words": words}]
            entries += (
                [
                    {
                        "requirement": int(place),
                        "reason": f"window {number}",
                        "quotes": quotes,
                        "figures": [],
                        "verdict": verdict,
                    }
                ]
                if verdict
                else []
            )
        data = {"labels": entries}
        return Answer(text=json.dumps(data), data=data, usage=Usage(input_tokens=10, output_tokens=1, cost=0.001))


def judged(says, messages=10, votes=1, **window):
    rubrics = [{"id": name, "text": name, "scope": "trajectory"} for name in says]
    manifest = SimpleNamespace(judge=JudgeTerms(window={"messages": 4, "overlap": 1, **window}))
    door = Follower(says)
    judge = make_judge("llm:m", TOOLS, root=None, client=door, votes=votes, suite=SimpleNamespace(manifest=manifest))
    verdict = judge.judge(case_of(explicit=rubrics), talk(messages))
    return {label.requirement: label for label in verdict.labels}, door, verdict


def test_windows_overlap_and_every_message_stands_in_one():
    trajectory = talk(6)
    steps = (call(query="tea"), call(query="cake"))
    turns = (*trajectory.turns[:3], trajectory.turns[3].model_copy(update={"steps": steps}), *trajectory.turns[4:])
    trajectory = trajectory.model_copy(update={"turns": turns})
    seen = windows_of(trajectory, Window(messages=4, overlap=1))
    texts = [[turn.text[-2:-1] for turn in window.trajectory.turns if turn.text] for window in seen]
    assert texts == [["1", "2", "3"], ["1", "4", "5"], ["1", "5", "6"]]  # what was asked for first is always shown
    assert [[step.arguments["query"] for step in window.trajectory.calls] for window in seen] == [
        ["tea"],
        ["tea", "cake"],
        [],
    ]
    assert [window.place for window in seen] == ["1 of 3", "2 of 3", "3 of 3"]
    assert len(windows_of(talk(10), Window(messages=10, overlap=2))) == 1
    assert len(windows_of(talk(11), Window(messages=10, overlap=2))) == 2
    assert len(windows_of(talk(18), Window(messages=10, overlap=2))) == 2
    assert len(windows_of(Trajectory(case="c", turns=()), Window(messages=10))) == 1


def test_the_last_word_on_a_requirement_counts_and_each_window_is_told_how_it_stands():
    says = {
        "early": ["passed", "cannot_say", "cannot_say"],
        "revoked": ["passed", "failed", "cannot_say"],
        "regained": ["failed", "cannot_say", "passed"],
        "never": ["cannot_say", "cannot_say", "cannot_say"],
    }
    labels, door, verdict = judged(says)
    assert {name: label.outcome for name, label in labels.items()} == {
        "early": "passed",
        "revoked": "failed",
        "regained": "passed",
        "never": "unevaluated",
    }
    assert [so_far for _, _, so_far in door.shown] == [
        {"early": "open", "revoked": "open", "regained": "open", "never": "open"},
        {"early": "passed", "revoked": "passed", "regained": "failed", "never": "open"},
        {"early": "passed", "revoked": "failed", "regained": "failed", "never": "open"},
    ]
    assert verdict.usage.input_tokens == 30
    assert [shown[:2] for shown in door.shown] == [
        (1, [f"message number {number}" for number in (1, 2, 3, 4)]),
        (2, [f"message number {number}" for number in (1, 4, 5, 6, 7)]),
        (3, [f"message number {number}" for number in (1, 7, 8, 9, 10)]),
    ]


@pytest.mark.parametrize(
    ("says", "outcome"),
    [
        (["passed", "", "cannot_say"], "unevaluated"),  # what could not be read may have taken it back
        (["passed", "", "passed"], "passed"),
        (["", "failed", "cannot_say"], "failed"),
        (["passed", ModelError("no_json", "no JSON", purpose="judge"), "cannot_say"], "unevaluated"),
        ([FAULT, FAULT, FAULT], "unevaluated"),
    ],
)
def test_a_judgement_that_cannot_be_read_leaves_a_requirement_undecided_until_a_later_one(says, outcome):
    labels, _, _ = judged({"rubric": says})
    assert labels["rubric"].outcome == outcome
    assert labels["rubric"].value in ({"passed": 1.0, "failed": 0.0}.get(outcome), None)


def test_votes_follow_the_windows_each_for_itself():
    labels, door, _ = judged({"rubric": ["passed", "cannot_say", "cannot_say"]}, votes=3)
    assert labels["rubric"].votes == ("passed",) * 3
    assert sorted(number for number, _, _ in door.shown) == [1, 1, 1, 2, 2, 2, 3, 3, 3]


@pytest.mark.parametrize(
    ("window", "message"),
    [({"messages": 4, "overlap": 4}, "nothing new"), ({"messages": 1}, "greater than or equal to 2"), ({"messages": 4, "overlap": -1}, "greater than")],
)  # fmt: skip
def test_a_window_that_does_not_go_on_is_refused(window, message):
    with pytest.raises(ValidationError, match=message):
        Window(**window)
