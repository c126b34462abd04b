"""Agents that return data: a dict, a dataclass, a pydantic model or a Reply with output, in this process and in one of their own."""

import json

import pytest
import tiny_suite
from saved_runs import saved

from pytest_mapsat.cli import main

AGENTS = """\
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum

from pydantic import BaseModel

from pytest_mapsat import Reply


class Plug(Enum):
    TWO = "type2"


@dataclass
class Place:
    name: str
    plug: Plug = Plug.TWO
    since: date = date(2026, 5, 7)


class Answer(BaseModel):
    text: str
    place: str
    price: Decimal = Decimal("4.5")


def a_dict(message):
    return {"place": {"name": "Blue Bay"}, "since": date(2026, 5, 7)}


def a_dataclass(message):
    return Place("Blue Bay")


def a_model(message):
    return Answer(text="I suggest Blue Bay.", place="Blue Bay")


def a_reply(message):
    return Reply("I suggest Blue Bay.", output={"place": "Blue Bay"})


def a_reply_of_a_model(message):
    return Reply("I suggest Blue Bay.", output=Answer(text="", place="Blue Bay"))


def by_name(message):
    return globals()[message.rpartition(" ")[2]](message)


async def later(message):
    return {"place": "Blue Bay"}


def wrong(message):
    return {"text": "I suggest Blue Bay.", "place": "Red Hill", "plase": "x"}


def words(message):
    return "I suggest Blue Bay."


def unfit(message):
    return {"place": object()}


def a_list(message):
    return ["Blue Bay"]
"""


#: By agent: the path to the place in what it returns, and the text and the output of its reply.
RETURNED = {
    "a_dict": (
        "place.name",
        '{"place": {"name": "Blue Bay"}, "since": "2026-05-07"}',
        {"place": {"name": "Blue Bay"}, "since": "2026-05-07"},
    ),
    "a_dataclass": (
        "name",
        '{"name": "Blue Bay", "plug": "type2", "since": "2026-05-07"}',
        {"name": "Blue Bay", "plug": "type2", "since": "2026-05-07"},
    ),
    "a_model": (
        "place",
        "I suggest Blue Bay.",
        {"text": "I suggest Blue Bay.", "place": "Blue Bay", "price": "4.5"},
    ),
    "a_reply": ("place", "I suggest Blue Bay.", {"place": "Blue Bay"}),
    "a_reply_of_a_model": ("place", "I suggest Blue Bay.", {"text": "", "place": "Blue Bay", "price": "4.5"}),
}


def play(project: pytest.Pytester, agent: str, *options: str, paths: dict[str, str] | None = None) -> pytest.RunResult:
    """Run an agent on a case by each name, whose query ends with it, that asks for Blue Bay at a path of the output."""
    project.makepyfile(returning=AGENTS)
    cases = []
    for name, path in (paths or {"data": "place"}).items():
        case = tiny_suite.case(name.replace("_", "-"))
        case["visible"]["query"] += f" {name}"
        check = {"kind": "output", "path": path, "equals": "Blue Bay"}
        case["truth"] = {"requirements": [{"id": "e1", "kind": "asked", "text": "the place is right", "check": check}]}
        cases.append(case)
    (project.path / "benchmark_cases" / "nav" / "data.yaml").write_text(json.dumps(cases))
    return project.runpytest(
        f"--mapsat-agent=returning:{agent}", "benchmark_cases/nav/data.yaml", "--mapsat-save=run.json", *options
    )


def replies(project: pytest.Pytester) -> dict[str, tuple[str, object]]:
    cards = saved(project)["cases"]
    turns = {card["id"]: card["trajectory"]["turns"][1] for card in cards}
    return {case.replace("-", "_"): (turn["text"], turn["output"]) for case, turn in turns.items()}


@pytest.mark.parametrize("isolated", [(), ("--mapsat-isolate",)], ids=["here", "isolated"])
def test_what_an_agent_returns_is_its_output(project: pytest.Pytester, isolated: tuple[str, ...]) -> None:
    paths = {name: path for name, (path, *_) in RETURNED.items()}
    play(project, "by_name", *isolated, paths=paths).assert_outcomes(passed=len(RETURNED))
    assert replies(project) == {name: (text, output) for name, (_, text, output) in RETURNED.items()}
    assert main(["regrade", "run.json"]) == 0
    play(project, "later", *isolated).assert_outcomes(passed=1)
    assert replies(project) == {"data": ('{"place": "Blue Bay"}', {"place": "Blue Bay"})}
    assert main(["regrade", "run.json"]) == 0


def test_a_wrong_value_fails_and_is_told(project: pytest.Pytester) -> None:
    result = play(project, "wrong")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*why     place is 'Red Hill'", "*wanted  place equal to 'Blue Bay' in the last reply"]
    )


def test_an_agent_that_only_talks_fails(project: pytest.Pytester) -> None:
    play(project, "words").stdout.fnmatch_lines(["*why     no reply has a structured output"])


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("unfit", "the agent returned data with an object in it: PydanticSerializationError"),
        ("a_list", "the agent returned a list; expected a string, a dict, a dataclass, a pydantic model or a Reply"),
    ],
)
def test_what_is_no_data_is_the_agents_error(project: pytest.Pytester, agent: str, message: str) -> None:
    result = play(project, agent)
    assert message in " ".join(result.stdout.str().split())
    (card,) = saved(project)["cases"]
    assert card["blame"] == "agent"
