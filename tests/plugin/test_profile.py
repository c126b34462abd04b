"""The profile setting: the profile as context, and its tools no longer expected."""

import json
from typing import Any

import pytest
import tiny_suite
from saved_runs import saved

TOOL = """\
name: get_profile
description: What is known of a user.
profile: true
parameters: {type: object, properties: {uid: {type: string}}, required: [uid]}
match: {uid: {answers_about: user}}
"""
ASKS = """\
def agent(message, tools, context):
    seats = context.profile.get("get_profile") or [{"result": tools.get_profile(uid=context.uid)}]
    pois = tools.search_poi(query="charger")["pois"]
    return f"I suggest {pois[1]['name']}, a cafe is near. You like the {seats[0]['result']['seat']}."
"""


@pytest.fixture
def profiled(project: pytest.Pytester) -> pytest.Pytester:
    case = tiny_suite.case("c1")
    case["truth"]["tools"] = [
        {"name": "get_profile", "required": ["uid"]},
        {"name": "search_poi", "required": ["query"], "after": ["get_profile"]},
    ]
    suite = tiny_suite.write_suite(project.path / "profiled", {"nav/a.yaml": [case]})
    (suite / "tools" / "get_profile.yaml").write_text(TOOL.replace("match: {uid: {answers_about: user}}\n", ""))
    recording = {"case": "c1", "tool": "get_profile", "arguments": {"uid": "u-1"}, "result": {"seat": "window"}}
    with (suite / "recordings" / "all.jsonl").open("a") as file:
        file.write(json.dumps(recording) + "\n")
    project.makepyfile(asks=ASKS)
    return project


def card(project: pytest.Pytester, name: str) -> dict[str, Any]:
    run = saved(project, name)
    found: dict[str, Any] = run["cases"][0]
    return found


def test_the_profile_is_given_and_its_tools_are_no_longer_expected(profiled: pytest.Pytester) -> None:
    without = profiled.runpytest("profiled", "--mapsat-agent=asks:agent", "--mapsat-save=one.json")
    given = profiled.runpytest(
        "profiled", "--mapsat-agent=asks:agent", "--mapsat-save=two.json", "--mapsat-give-profile"
    )
    assert (without.ret, given.ret) == (0, 0), given.stdout.str()
    one, two = card(profiled, "one.json"), card(profiled, "two.json")
    assert one["calls"]["by_tool"] == {"get_profile": 1, "search_poi": 1}
    assert two["calls"]["by_tool"] == {"search_poi": 1}
    assert (one["metrics"]["ts"], two["metrics"]["ts"]) == (1.0, 1.0)
    assert "window" in two["trajectory"]["turns"][1]["text"]
    assert json.loads((profiled.path / "two.json").read_text())["manifest"]["options"]["profile"] is True


def test_a_run_that_is_graded_again_stays_in_its_setting(
    profiled: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_mapsat.cli import main

    profiled.runpytest("profiled", "--mapsat-agent=asks:agent", "--mapsat-save=two.json", "--mapsat-give-profile")
    assert main(["regrade", "two.json", "--suite=profiled", "--save=again.json"]) == 0
    capsys.readouterr()
    assert card(profiled, "again.json")["metrics"] == card(profiled, "two.json")["metrics"]
    assert card(profiled, "again.json")["stamp"] == card(profiled, "two.json")["stamp"]
