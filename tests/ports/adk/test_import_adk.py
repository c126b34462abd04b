"""mapsat import adk: evalsets become suites whose sandbox answers what the tools answered."""

import json
from pathlib import Path

import pytest

from pytest_mapsat.agents import resolve_source, source_of
from pytest_mapsat.cli import main
from pytest_mapsat.model import RunRequest, SuiteError
from pytest_mapsat.ports.adk import import_adk
from pytest_mapsat.runs.runner import Runner
from pytest_mapsat.suite import lint, open_suite

GARDEN = Path(__file__).parent / "garden.evalset.json"


@pytest.fixture(scope="module")
def garden(tmp_path_factory):
    """The suite of the garden's evalset, with the report of the import."""
    folder = tmp_path_factory.mktemp("adk") / "suite"
    report = import_adk(GARDEN, folder)
    suite = open_suite(folder)
    return {entry.id: suite.load(entry) for entry in suite.readable()}, report, folder


def evalset(*queries):
    """An evalset of one conversation: the user's words, the expected calls with what they return, and the reference of the reply."""

    def said(text):
        return {"parts": [{"text": text}]}

    def turn(query):
        uses = query.get("uses", ())
        between = {
            "tool_uses": [{"name": name, "args": args} for name, args, _ in uses],
            "tool_responses": [{"name": name, "response": response} for name, _, response in uses],
        }
        words = {"user_content": said(query["query"]), "final_response": said(query["reference"])}
        return {**words, "intermediate_data": between}

    return {"eval_cases": [{"eval_id": "conversation", "conversation": [turn(query) for query in queries]}]}


def imported(tmp_path, data, config=None):
    (tmp_path / "x.test.json").write_text(json.dumps(data), encoding="utf-8")
    if config is not None:
        (tmp_path / "test_config.json").write_text(json.dumps(config), encoding="utf-8")
    report = import_adk(tmp_path, tmp_path / "suite")
    suite = open_suite(tmp_path / "suite")
    return [suite.load(entry) for entry in suite.readable()], report


def test_an_evalset_becomes_a_suite_that_lints_without_errors(garden) -> None:
    cases, report, folder = garden
    assert not [finding for finding in lint(open_suite(folder)) if finding.severity == "error"]
    assert list(cases) == ["roses", "two-wishes", "two-wishes-2", "chatty"]
    assert (report.tools, report.recordings, report.recordings_by_tool) == (
        4,
        3,
        {"list_beds": 1, "water": 1, "weather": 1},
    )
    assert report.not_carried == {"answers of tools": 1, "cases": 2, "final session states": 1}


def test_what_is_refused_is_named_with_its_line(garden) -> None:
    told = {note.place: note.message for note in garden[1].notes if note.kind == "refused"}
    lines = GARDEN.read_text(encoding="utf-8").splitlines()
    for words, message in {
        "aimless": "a scenario without rubrics expects nothing",
        "broken": "user_content: is missing",
    }.items():
        number = next(number for number, line in enumerate(lines, 1) if words in line)
        assert message in told[f"garden.evalset.json:{number}"]


def test_a_conversation_is_query_script_calls_and_recordings(garden) -> None:
    case = garden[0]["roses"]
    assert case.visible.query == "Water the plants."
    assert (case.visible.context.uid, case.visible.context.details) == ("u1", {"season": "summer"})
    (answer,) = case.truth.user.answers
    assert answer.say == "The bed of roses, ten minutes."
    assert {"bed", "long"} <= set(answer.asked)
    assert [(turn.calls[0].tool, turn.say) for turn in case.truth.oracle] == [
        ("list_beds", "Which bed shall I water, and for how long?"),
        ("water", "The roses get water for 10 minutes."),
    ]
    kinds = {
        requirement.id: (requirement.kind, requirement.check is not None) for requirement in case.truth.requirements
    }
    assert kinds == {"calls": ("asked", True), "reference": ("soft", False), "rubric-1": ("soft", False)}
    assert case.truth.requirements[0].check.match == "exact"


def test_what_no_reply_asks_for_begins_another_case_of_the_group(garden) -> None:
    first, second = garden[0]["two-wishes"], garden[0]["two-wishes-2"]
    assert (first.group.name, first.group.order, second.group.order) == ("two-wishes", 1, 2)
    assert second.visible.query == "Then switch the pump on."
    assert second.visible.context.history == ("user: Is it raining?", "assistant: It is dry 🌞.")


def test_a_scenario_is_for_a_user_that_a_model_plays(garden) -> None:
    case = garden[0]["chatty"]
    assert (case.visible.query, case.truth.intent) == ("Help me plan a garden.", "You want herbs.")
    assert [requirement.text for requirement in case.truth.requirements] == ["Herbs are proposed."]


def test_the_suite_judges_an_agent_with_the_recorded_answers(garden, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        gardener="""
        def agent(message, tools):
            if "plants" in message:
                return f"Which bed: {tools.list_beds()['beds'][0]}?"
            if "roses" in message:
                return f"Water is {tools.water(bed='roses', minutes=10)['status']}."
            return "It is " + ("wet" if tools.weather(day="tomorrow").get("rain") else "dry")
        """
    )
    options = ("--mapsat-cases", str(garden[2]), "-p", "no:cacheprovider")
    pytester.runpytest(
        *options, "--mapsat-agent=gardener:agent", "-k", "roses or (two-wishes and not 2)"
    ).assert_outcomes(passed=1, failed=1)
    pytester.runpytest(*options, "--mapsat-agent=baseline:oracle", "-k", "roses").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("criterion", "match"),
    [
        ({"threshold": 1.0, "match_type": "ANY_ORDER"}, "any_order"),
        ({"matchType": "IN_ORDER"}, "in_order"),
        (1.0, "exact"),
        (None, None),
    ],
)
def test_the_configuration_beside_says_how_calls_are_compared(tmp_path, criterion, match) -> None:
    criteria = {"response_match_score": 0.8} | ({} if criterion is None else {"tool_trajectory_avg_score": criterion})
    (case,), report = imported(
        tmp_path,
        json.loads(GARDEN.read_text(encoding="utf-8"))
        | {"eval_cases": json.loads(GARDEN.read_text(encoding="utf-8"))["eval_cases"][:1]},
        {"criteria": criteria},
    )
    matches = [requirement.check.match for requirement in case.truth.requirements if requirement.check is not None]
    assert matches == ([] if match is None else [match])
    assert report.not_carried == {"criteria": 1}


ASKS_ON = [
    {"query": "Roll a die.", "uses": [("roll", {"sides": 6}, 4)], "reference": "You rolled a 4. Roll again?"},
]  # fmt: skip
NAMED = [
    {"query": "Hi", "reference": "Hello! What is your name?"},
    {"query": "My name is Bo.", "reference": "Hello Bo. How can I help you today?"},
]


@pytest.mark.parametrize(("queries", "replies"), [(ASKS_ON, 1), (NAMED, 2)])
@pytest.mark.parametrize("oracle", [True, False])
def test_a_last_reply_that_asks_on_ends_the_dialogue_as_the_evalset_does(tmp_path, queries, replies, oracle) -> None:
    (case,), _ = imported(tmp_path, evalset(*queries))
    heard = []

    def agent(message, tools):
        heard.append(message)
        if queries is ASKS_ON:
            tools.call("roll", {"sides": 6})
        return next((each["reference"] for each in queries if each["query"] == message), "Is there anything else?")

    source = resolve_source("baseline:oracle", root=tmp_path) if oracle else source_of(agent, "fixture")
    request = RunRequest(agent="test", user="scripted", judge="checks")
    card = Runner(source, request, tmp_path).run(open_suite(tmp_path / "suite"), case)
    assert (card.outcome, card.blame) == ("passed", None)
    assert oracle or len(heard) == replies


def test_two_answers_to_one_call_are_told(tmp_path) -> None:
    uses = [("roll", {}, number) for number in (1, 2)]
    _, report = imported(tmp_path, evalset({"query": "Roll twice.", "uses": uses, "reference": "1 and 2."}))
    assert report.recordings == 1
    assert any("answers the same call in two ways" in note.message for note in report.notes)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"test_cases": []}, "is no evalset"),
        ([1, 2], "is no evalset"),
        ({"eval_cases": []}, "holds no case"),
        ({"eval_cases": [{"eval_id": "x", "conversation": []}]}, "the case has no conversation"),
        ({"eval_cases": [{"conversation": []}]}, "eval_id"),
        ([{"query": ""}], "is no evalset"),
        (evalset({"query": "", "reference": ""}), "the case has no conversation"),
    ],
)
def test_what_gives_no_case_is_refused_with_the_reason(tmp_path, data, message) -> None:
    with pytest.raises(SuiteError) as refused:
        imported(tmp_path, data)
    assert message in str(refused.value)
    assert not (tmp_path / "suite").exists()


def test_the_command_tells_what_came_over(tmp_path, capsys) -> None:
    assert main(["import", "adk", str(GARDEN), str(tmp_path / "suite")]) == 0
    assert "4 cases, 4 tools, 3 recordings" in capsys.readouterr().out
