"""The metric set ``vita`` over an imported task: a model follows the rubrics in windows, the orders need none."""

import json
import re

import pytest
from vita_tasks import TASKS, Played, write

from pytest_mapsat.judges import make_judge
from pytest_mapsat.llm import Answer
from pytest_mapsat.metrics import MetricInput
from pytest_mapsat.model import Trajectory, Turn, Usage
from pytest_mapsat.ports.vitabench import VITA
from pytest_mapsat.ports.vitabench.importer import import_vitabench

_LINE = re.compile(r"^(\d+)\. \[yes-or-no\] (.+) \(so far: (\S+)\)$", re.MULTILINE)


class Model:
    """Says of each rubric in each window what it is told to; what it says nothing of cannot be read."""

    def __init__(self, says):
        self.says = says
        self.windows = []

    def ask(self, request, *, timeout=None, cancelled=None):
        text = request.messages[1]["content"]
        window = int(re.search(r"window (\d+) of", request.messages[0]["content"])[1])
        if len(request.messages) == 2:
            self.windows.append(len(re.findall(r"^<<<\S+ (?:user|reply|call)-", text, re.MULTILINE)))
        labels = []
        for number, rubric, _ in _LINE.findall(text):
            verdict = self.says[rubric][window - 1]
            quotes = [{"part": "call-1", "words": "delivery-1"}] if verdict in ("passed", "failed") else []
            labels += (
                [{"requirement": int(number), "reason": "so", "quotes": quotes, "figures": [], "verdict": verdict}]
                if verdict
                else []
            )
        data = {"labels": labels}
        return Answer(text=json.dumps(data), data=data, usage=Usage(input_tokens=1, output_tokens=1))


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    root = tmp_path_factory.mktemp("metrics")
    import_vitabench(write(root / "tasks.json", [TASKS["deliver"]]), root / "suite")
    return Played(root / "suite")


def measured(played, says=None, *, ending="done", calls=True):
    case = played.cases["D-1"]
    looks = [{"tool": "get_user_all_orders", "arguments": {}}] * 9
    steps = played.play("D-1", [*(played.oracle("D-1") if calls else []), *looks])
    turns = (
        Turn(role="user", text=case.visible.query),
        Turn(role="agent", text="It is done.", steps=tuple(steps)),
    )
    trajectory = Trajectory(case="D-1", turns=turns, ending=ending)
    model = Model(says)
    spec = "llm:m" if says else "checks"
    judge = make_judge(spec, played.suite.tools, root=None, client=model, votes=1, suite=played.suite)
    verdict = judge.judge(case, trajectory)
    return VITA.measure(MetricInput(case, trajectory, verdict, played.suite.tools)), model


RIGHT, PAID = "The right thing is ordered.", "It is paid."


def test_without_a_model_the_orders_are_compared_and_the_reward_is_open(played):
    measures, _ = measured(played)
    assert measures["vita_orders"].value == 1
    assert (measures["vita_reward"].value, measures["vita_reward"].bounds) == (None, (0.0, 1.0))
    assert (measures["vita_rubrics"].value, measures["vita_rubrics"].bounds) == (None, (0.0, 1.0))
    assert measured(played, calls=False)[0]["vita_orders"].value == 0


@pytest.mark.parametrize(
    ("right", "paid", "share", "reward"),
    [
        (["passed", "cannot_say"], ["cannot_say", "passed"], 1.0, 1.0),
        (["passed", "failed"], ["cannot_say", "passed"], 0.5, 0.0),  # taken back in the second window
        (["failed", "passed"], ["passed", "cannot_say"], 1.0, 1.0),
        (["passed", ""], ["passed", "cannot_say"], None, None),  # what cannot be read leaves it undecided
        (["passed", ""], ["failed", "cannot_say"], None, 0.0),  # and another one decides
    ],
)
def test_a_model_follows_the_rubrics_and_all_of_them_earn_the_reward(played, right, paid, share, reward):
    measures, model = measured(played, {RIGHT: right, PAID: paid})
    assert model.windows == [10, 7]  # 10 of 14 messages; the last 6 and the query, which is always shown
    assert (measures["vita_rubrics"].value, measures["vita_reward"].value) == (share, reward)
    assert measures["vita_orders"].value == 1


def test_a_dialogue_that_is_cut_off_earns_no_reward(played):
    measures, _ = measured(played, {RIGHT: ["passed"] * 2, PAID: ["passed"] * 2}, ending="max_turns")
    assert (measures["vita_rubrics"].value, measures["vita_reward"].value) == (1.0, 0.0)
    assert "max_turns" in measures["vita_reward"].why
