"""--mapsat-unrecorded=simulate:MODEL: a model answers what no recording does, in the form of the recordings, marked everywhere."""

import json

import pytest
from saved_runs import saved
from scripted_models import ScriptedModels, said
from tiny_suite import case, write_suite

from pytest_mapsat.recording.keep import unlike

SIMULATE = "--mapsat-unrecorded=simulate:openai/gpt-4o-mini"
#: Asks for what no recording answers.
STRANGE = """\
def agent(message, tools):
    pois = tools.search_poi(query="an ice rink").get("pois", [])
    return f"I suggest {pois[0]['name']}." if pois else "I found nothing."
"""
RINK = {"pois": [{"name": "Rink", "open": True}]}


@pytest.fixture
def models(asked_models: ScriptedModels, project: pytest.Pytester) -> ScriptedModels:
    write_suite(project.path / "one", {"nav/a.yaml": [case("c1")]})
    project.makepyfile(strange=STRANGE)
    return asked_models


def steps(project: pytest.Pytester, name: str) -> list[dict[str, object]]:
    run = saved(project, name)
    found: list[dict[str, object]] = run["cases"][0]["trajectory"]["turns"][1]["steps"]
    return found


def test_a_made_up_answer_is_marked_kept_and_replayed(project: pytest.Pytester, models: ScriptedModels) -> None:
    models.answers(said(json.dumps({"result": {"pois": [{"name": "Rink"}]}})), said(json.dumps({"result": RINK})))
    done = project.runpytest("one", "--mapsat-agent=strange:agent", "--mapsat-save=1.json", SIMULATE)
    assert "1 answer of a model, to be looked over, added to recorded.jsonl" in done.stdout.str()
    assert "simulated" in done.stdout.str()
    (step,) = steps(project, "1.json")
    assert (step["result"], step.get("status", "ok")) == (RINK, "ok")
    assert step["provenance"]["kind"] == "simulated"
    assert step["usage"]["input_tokens"] == 200
    (card,) = saved(project, "1.json")["cases"]
    assert (card["sandbox_spent"]["input_tokens"], card["sandbox_spent"]["output_tokens"]) == (200, 20)
    done.stdout.fnmatch_lines(["spent*sandbox 200 tokens in, 20 out*"])
    first, second = (request["messages"][0]["content"] for request in models.requests)
    assert '"Blue Bay"' in first
    assert "an open charger, near a cafe" not in first
    assert second.endswith("result.pois[0] lacks the key 'open', which all recorded answers have")
    kept = json.loads((project.path / "one" / "recordings" / "recorded.jsonl").read_text())
    assert (kept["simulated"], kept["arguments"], kept["result"]) == (True, {"query": "an ice rink"}, RINK)
    models.requests.clear()
    project.runpytest("one", "--mapsat-agent=strange:agent", "--mapsat-save=2.json")
    (step,) = steps(project, "2.json")
    assert (step["result"], step["provenance"]["kind"]) == (RINK, "simulated")
    assert models.requests == []


def test_an_answer_of_another_form_leaves_a_miss_that_says_why(
    project: pytest.Pytester, models: ScriptedModels
) -> None:
    models.answers(said('{"result": "an ice rink"}'))
    done = project.runpytest("one", "--mapsat-agent=strange:agent", "--mapsat-save=1.json", SIMULATE)
    (step,) = steps(project, "1.json")
    assert step["status"] == "miss"
    assert "result is a text, and recorded answers have an object" in " ".join(done.stdout.str().split())
    assert not (project.path / "one" / "recordings" / "recorded.jsonl").exists()


def test_a_simulation_needs_a_model(project: pytest.Pytester, models: ScriptedModels) -> None:
    done = project.runpytest("one", "--mapsat-agent=strange:agent", "--mapsat-unrecorded=simulate:")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*simulate: names no model*"])


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"a": 1, "b": ["x"]}, ""),
        ({"a": 1}, ""),
        ({"a": 2.5, "b": []}, ""),
        ({"b": []}, "result lacks the key 'a', which all recorded answers have"),
        ({"a": 1, "c": 1}, "result has the key 'c', which no recorded answer has"),
        ({"a": "1"}, "result.a is a text, and recorded answers have a number"),
        ({"a": True}, "result.a is true or false, and recorded answers have a number"),
        ({"a": 1, "b": ["x", None]}, "result.b[1] is null, and recorded answers have a text"),
        ([], "result is a list, and recorded answers have an object"),
    ],
)
def test_the_form_is_that_of_recorded_answers(value: object, told: str) -> None:
    assert unlike(value, [{"a": 1, "b": ["x"]}, {"a": 3}]) == told
