"""The importer of MobilityBench against the published rows that are here: totals, answered calls, and what empty words earn."""

from collections import Counter

import pytest
from tests_data import data_dir

from pytest_mapsat.agents import source_of
from pytest_mapsat.judges.context import JudgedDialogue
from pytest_mapsat.judges.labels import labels_of
from pytest_mapsat.model import RunRequest, Step, Trajectory, Turn
from pytest_mapsat.ports.mobilitybench.importer import import_mobilitybench
from pytest_mapsat.runs.runner import Runner
from pytest_mapsat.sandbox import make_sandbox
from pytest_mapsat.suite import open_suite


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    dest = tmp_path_factory.mktemp("mobilitybench") / "suite"
    import_mobilitybench(data_dir() / "mobilitybench" / "sample_dev.csv", dest)
    return open_suite(dest)


@pytest.fixture(scope="module")
def cases(suite):
    return [suite.load(entry) for path in suite.files() for entry in suite.entries(path)]


@pytest.fixture(scope="module")
def dialogues(suite, cases):
    """The oracle's dialogue of each case, made in its sandbox."""
    made = []
    for case in cases:
        sandbox = make_sandbox(case, suite)
        (turn,) = case.truth.oracle
        steps = []
        for call in turn.calls:
            answer = sandbox.call(call.tool, call.arguments)
            steps.append(
                Step(
                    kind="call",
                    tool=call.tool,
                    arguments=call.arguments,
                    result=answer.result,
                    status=answer.status,
                    provenance=answer.provenance,
                )
            )
        made.append((case, tuple(steps), turn.say))
    return made


def outcome(suite, case, steps, text):
    """Return 1, 0, or None where a required label is open."""
    turns = (Turn(role="user", text=case.visible.query), Turn(role="agent", text=text, steps=steps))
    required = {requirement.id for requirement in (*case.truth.required, *case.truth.policies)}
    context = JudgedDialogue.of(case, Trajectory(case=case.id, turns=turns), suite.tools)
    found = {label.outcome for label in labels_of(case, context) if label.requirement in required}
    return 0 if "failed" in found else 1 if found == {"passed"} else None


def spoiled(arguments):
    """Return arguments that no recording answers."""
    name = next(name for name in ("origin", "location", "longitude", "keywords", "name", "city") if name in arguments)
    return {**arguments, name: {"origin": "100.1,20.5", "location": "100.1,20.5", "longitude": "100.5"}.get(name, "无")}


@pytest.mark.long_proof
def test_a_call_that_cannot_be_resolved_is_the_agents_failure_and_the_answer_decides(suite, cases):
    """MobilityBench 3.1.4 and 3.2.4: DR is 0, and FPR that of the final answer."""
    wrong = "已为您规划路线，全程约1公里，预计1分钟，道路拥堵，天气雪，气温-33℃，地址北京市朝阳区建国路1号。"
    for case in cases:
        if case.attributes.keys() & {"results", "gold"}:
            continue
        (turn,) = case.truth.oracle
        for text, right in ((turn.say, True), (wrong, False)):

            def agent(message, tools, turn=turn, text=text):
                for call in turn.calls:
                    tools.call(call.tool, spoiled(call.arguments))
                return text

            request = RunRequest(agent="test", user="silent", judge="checks")
            card = Runner(source_of(agent, "fixture"), request, suite.root).run(suite, case)
            assert card.metrics["mobility_dr"] == 0, case.id
            assert card.blame not in ("sandbox", "infrastructure"), case.id
            assert card.metrics["mobility_fpr"] in ((1, None) if right else (0, None)), (case.id, card.reason)


def test_every_row_comes_over(cases):
    assert len(cases) == 58
    scenarios = Counter(case.attributes["scenario"] for case in cases)
    assert scenarios == dict.fromkeys(scenarios, 5) | {"POI Query": 8}
    assert len(scenarios) == 11
    starts = [str(case.visible.context.details.get("start_datetime", "")) for case in cases]
    whole = sum(case.visible.context.now is not None for case in cases)
    assert (starts.count(""), len(starts) - starts.count("") - whole, whole) == (45, 8, 5)
    assert sum(case.attributes.get("gold") == "doubtful" for case in cases) == 12


def test_expected_calls_are_answered_exactly_or_their_miss_is_explained(dialogues):
    calls = [step for _, steps, _ in dialogues for step in steps]
    assert Counter(step.provenance.kind for step in calls) == {"exact": 99, "miss": 12}
    notes = Counter(
        step.provenance.note.startswith("the case has no recording") for step in calls if step.status == "miss"
    )
    assert notes == {True: 5, False: 7}


def test_the_oracle_passes_wherever_its_route_is_not_cut(suite, dialogues):
    earned = Counter((case.attributes.get("results", ""), outcome(suite, case, *said)) for case, *said in dialogues)
    assert earned == {("", 1): 51, ("cut", None): 7}


@pytest.mark.parametrize(
    "words",
    [
        "",
        '{"route_index": "0"}',
        "已为您规划路线，全程约10公里，预计20分钟，道路畅通，天气晴，气温20℃，地址北京市朝阳区建国路，坐标116.46,39.91。",
    ],
)
def test_words_that_know_nothing_earn_nothing(suite, cases, words):
    assert sum(outcome(suite, case, (), words) != 0 for case in cases) <= 0.02 * len(cases)
