"""The metric set ``vita`` over an imported task: a model follows the rubrics in windows, the orders need none."""

import json
import re

import pytest
from vita_tasks import TASKS, Played, write

from pytest_mapsat.judges import make_judge
from pytest_mapsat.llm import Answer
from pytest_mapsat.metrics import MetricInput
from pytest_mapsat.model import Fault, Retrieval, Step, Trajectory, Turn, Usage
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


def measured(played, says=None, *, ending="done", calls=True, preferences=(), after=(), **more):
    case = played.cases["D-1"]
    case = case.model_copy(update={"truth": case.truth.model_copy(update={"preferences": preferences})})
    looks = [{"tool": "get_user_all_orders", "arguments": {}}] * 9
    steps = played.play("D-1", [*(played.oracle("D-1") if calls else []), *looks])
    turns = (
        Turn(role="user", text=case.visible.query),
        Turn(role="agent", text="It is done.", steps=(*steps, *after)),
    )
    trajectory = Trajectory(case="D-1", turns=turns, ending=ending, **more)
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


TAGS = ("diet: no pork", "merchants: rated 4.3 or better", "taste: light and fresh")


@pytest.mark.parametrize(
    ("text", "after", "share"),
    [
        ("", (), 0),
        ("Eats NO PORK, wants it light and fresh.", (), (2 / 3, 1)),
        ("Eats no pork.", ({"text": "light and fresh", "more": "rated 4.3 or better"},), 1),  # its tools said the rest
    ],
)
def test_a_memory_is_scored_by_the_true_preferences_whose_words_it_gave(played, text, after, share):
    steps = [Step(kind="memory", tool="read_preference_memory", result=result) for result in after]
    measures, _ = measured(played, preferences=TAGS, after=steps, memory=Retrieval(text=text))
    assert (measures["vita_memory"].value if share in (0, 1) else measures["vita_memory"].bounds) == share


def test_without_a_memory_or_without_preferences_no_memory_is_scored(played):
    assert measured(played, preferences=TAGS)[0]["vita_memory"].outcome_class == "not_applicable"
    assert measured(played, memory=Retrieval(text="x"))[0]["vita_memory"].outcome_class == "not_applicable"


FAILS = ("vita_fails_tools", "vita_fails_preferences")
BROKEN = Step(kind="call", tool="pay_delivery_order", status="error", result="no")
MENDED = BROKEN.model_copy(update={"status": "ok"})


@pytest.mark.parametrize(
    ("preferences", "after", "fails"),
    [
        ((), (), [0, None]),
        (("food: the right thing is ordered",), (), [0, 1]),  # the rubric that fails has its words
        (("food: durian",), (BROKEN,), [1, (0, 1)]),
        (("food: durian",), (BROKEN, MENDED), [(0, 1), (0, 1)]),  # it was mended: what it did is not sure
    ],
)
def test_failures_are_laid_to_tools_or_preferences_only_where_that_is_sure(played, preferences, after, fails):
    says = {RIGHT: ["failed"] * 2, PAID: ["passed"] * 2}
    measures, _ = measured(played, says, preferences=preferences, after=after)
    found = [measures[name].value if measures[name].value is not None else measures[name].bounds for name in FAILS]
    assert found == fails


def test_a_task_with_its_reward_has_no_kind_of_failure(played):
    measures, _ = measured(played, {RIGHT: ["passed"] * 2, PAID: ["passed"] * 2}, preferences=TAGS)
    assert {measures[name].outcome_class for name in FAILS} == {"not_applicable"}


def test_an_agent_that_breaks_has_failed_by_its_tools_only_where_one_failed(played):
    fault = {"ending": "agent_error", "fault": Fault(blame="agent", message="it raised")}
    measures, _ = measured(played, preferences=TAGS, after=(BROKEN,), **fault)
    assert sorted(measures) == ["vita_fails_preferences", "vita_fails_tools", "vita_memory"]
    assert (measures["vita_fails_tools"].value, measures["vita_fails_preferences"].bounds) == (1, (0, 1))
