"""Runs with a model as the agent, against a scripted server: whole suites, the cache, faults, ceilings, workers."""

import json
from typing import Any

import pytest
from saved_runs import saved, saved_timeless
from scripted_models import Broken, ScriptedModels, problem, said
from tiny_suite import case, write_suite

REACT = "--mapsat-agent=react:openai/gpt-4o-mini"
PLAN = "--mapsat-agent=plan:openai/gpt-4o-mini?temperature=0"
THREE = "three"


@pytest.fixture
def models(asked_models: ScriptedModels, project: pytest.Pytester) -> ScriptedModels:
    asked_models.script = well_behaved
    cases = [case("c1"), case("c2"), case("c3")]
    for number, one in enumerate(cases):
        one["visible"]["query"] = f"Take me to a charger. {number}"  # equal cases would share their answers
    write_suite(project.path / "three", {"nav/a.yaml": cases})
    return asked_models


def well_behaved(body: dict[str, Any], _number: int) -> dict[str, Any] | Broken:
    """Plan where a plan is asked for, look up once, and name the open charger."""
    last = body["messages"][-1]
    if "response_format" in body:
        return said('{"proposes": ["Blue Bay"]}')
    if last["role"] == "user" and "write a plan" in last["content"]:
        return said("1. search_poi for chargers 2. answer")
    if last["role"] == "tool":
        pois = json.loads(last["content"])["pois"]
        return said(f"I suggest {next(poi['name'] for poi in pois if poi['open'])}.")
    return said("First I look it up.", calls=[("search_poi", {"query": "charger"})])


def with_user_and_judge(body: dict[str, Any], number: int) -> dict[str, Any] | Broken:
    """Ask the user something first, as an agent; answer as the user; as the judge, cannot say."""
    first = body["messages"][0]["content"]
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    if "asked" in schema:
        heard = body["messages"][-1]["content"].rpartition("assistant:")[2]
        question = "Which one?" if "Which one?" in heard else None
        told = ("The open one.", [question], "no") if question else ("Thank you.", [], "done")
        return said(json.dumps(dict(zip(("message", "asked", "end"), told, strict=True))))
    if schema:
        return said('{"labels": []}')
    assert first.startswith("You help one user")
    if sum(message["role"] == "user" for message in body["messages"]) == 1:
        return said("Which one?")
    return well_behaved(body, number)


@pytest.mark.parametrize(("agent", "calls"), [(REACT, 2), (PLAN, 3)], ids=["react", "plan"])
def test_a_model_runs_a_suite_and_the_second_run_asks_nobody_and_is_equal(
    project: pytest.Pytester, models: ScriptedModels, agent: str, calls: int
) -> None:
    first = project.runpytest(agent, THREE, "--mapsat-save=one.json", "--mapsat-trials=2")
    assert first.ret == 0, first.stdout.str()
    assert len(models.requests) == 3 * 2 * calls
    second = project.runpytest(agent, THREE, "--mapsat-save=two.json", "--mapsat-trials=2", "--mapsat-cache=only")
    assert second.ret == 0
    assert len(models.requests) == 3 * 2 * calls
    one, two = (saved_timeless(project, name) for name in ("one.json", "two.json"))
    assert one == two
    card = one["cases"][0]
    assert card["spent"] == {
        "input_tokens": 100 * calls,
        "output_tokens": 10 * calls,
        "cost": pytest.approx(calls * 2.1e-05),
    }
    steps = card["trajectory"]["turns"][1]["steps"]
    assert [(step["kind"], step.get("tool") or step["text"]) for step in steps][-2:] == [
        ("thought", "First I look it up."),
        ("call", "search_poi"),
    ]
    assert one["manifest"]["prompts"].keys() >= {"en/react", "zh/react"}
    asked = "Take me to a charger. 0"  # several episodes are under way at once
    sent = next(body["messages"] for body in models.requests if body["messages"][1]["content"] == asked)
    assert "Lindenau" in sent[0]["content"]
    assert sent[1] == {"role": "user", "content": asked}


@pytest.mark.parametrize("agent", [REACT, PLAN], ids=["react", "plan"])
def test_a_model_that_is_out_of_calls_is_asked_for_its_answer_and_the_run_counts_them(
    project: pytest.Pytester, models: ScriptedModels, agent: str
) -> None:
    def eager(body: dict[str, Any], number: int) -> dict[str, Any] | Broken:
        if body["messages"][-1]["role"] == "tool" and "none is left" not in body["messages"][-1]["content"]:
            return said("Once more.", calls=[("search_poi", {"query": "charger"})])
        return said("I suggest Blue Bay.") if body["messages"][-1]["role"] == "tool" else well_behaved(body, number)

    models.script = eager
    manifest = project.path / "three" / "suite.yaml"
    manifest.write_text(f"{manifest.read_text()}episode: {{calls: 1}}\n")
    done = project.runpytest("-v", agent, THREE, "--mapsat-save=one.json")
    assert done.ret == 0, done.stdout.str()
    calls = [card["calls"] for card in saved_timeless(project, "one.json")["cases"]]
    assert [(count["total"], count["over_limit"]) for count in calls] == [(2, 1)] * 3
    assert "3 when the calls of the episode were used up" in " ".join(done.stdout.str().split())


def test_agent_user_and_judge_may_all_be_models_and_each_ones_spending_is_told(
    project: pytest.Pytester, models: ScriptedModels
) -> None:
    models.script = with_user_and_judge
    all_three = (REACT, "three", "--mapsat-user=llm:openai/gpt-4o-mini", "--mapsat-judge=llm:openai/gpt-4o-mini")
    first = project.runpytest("-v", *all_three, "--mapsat-save=one.json", "--mapsat-allow-undecided=3")
    calls = len(models.requests)
    project.runpytest(*all_three, "--mapsat-save=two.json", "--mapsat-allow-undecided=3")
    assert len(models.requests) == calls
    one, two = (saved_timeless(project, name) for name in ("one.json", "two.json"))
    assert one == two
    card = one["cases"][0]
    turns = card["trajectory"]["turns"]
    assert [turn["text"] for turn in turns][1:] == ["Which one?", "The open one.", "I suggest Blue Bay.", "Thank you."]
    assert card["spent"]["input_tokens"] == 300
    assert card["user_spent"]["input_tokens"] == 200
    assert card["outcome"] == "unevaluated"  # this judge gives no label
    told = " ".join(first.stdout.str().split())
    assert "spent agent 900 tokens in, 90 out, $0.0002; user 600 tokens in, 60 out, $0.0001" in told
    timing = saved(project, "one.json")["cases"][0]["timing"]
    assert all(timing[whose] > 0 for whose in ("agent", "user", "judge"))
    assert one["manifest"]["prompts"].keys() >= {"en/react", "zh/user", "en/judge"}


def test_an_output_is_asked_for_where_the_case_has_a_schema(project: pytest.Pytester, models: ScriptedModels) -> None:
    asks = {"type": "object", "properties": {"proposes": {"type": "array", "items": {"type": "string"}}}}
    asking = case("asks")
    asking["visible"] |= {"output_schema": asks, "instructions": "Be brief."}
    write_suite(project.path / "asking", {"nav/a.yaml": [asking]})
    done = project.runpytest(REACT, "--mapsat-save=one.json", "asking")
    assert done.ret == 0, done.stdout.str()
    turn = saved_timeless(project, "one.json")["cases"][0]["trajectory"]["turns"][1]
    assert turn["output"] == {"proposes": ["Blue Bay"]}
    assert models.requests[-1]["response_format"]["json_schema"]["schema"] == asks
    assert models.requests[0]["messages"][0]["content"].endswith("\n\nBe brief.")


def test_what_a_route_planner_understood_and_planned_is_its_output(
    project: pytest.Pytester, models: ScriptedModels
) -> None:
    step = {"type": "object", "required": ["tool"], "properties": {"tool": {"type": "string"}}}
    asked = {"intent": {"type": "string"}, "plan": {"type": "array", "items": step}, "proposes": {"type": "array"}}
    asking = case("asks", language="zh")
    asking["visible"]["output_schema"] = {"type": "object", "required": ["intent", "plan"], "properties": asked}
    write_suite(project.path / "asking", {"nav/a.yaml": [asking]})
    data = {"intent": "search", "plan": [{"tool": "search_poi"}, {"tool": "get_route"}], "proposes": ["Blue Bay"]}

    def script(body: dict[str, Any], number: int) -> dict[str, Any] | Broken:
        if "response_format" not in body:
            planning = body["messages"][-1]["content"].startswith("开始之前")
            return said("先查，再答。") if planning else well_behaved(body, number)
        schema = body["response_format"]["json_schema"]["schema"]
        return said(json.dumps({name: data[name] for name in schema["properties"]}))

    models.script = script
    output, schemas = {}, {}
    for agent in (REACT, PLAN):
        models.requests.clear()
        project.runpytest(agent, "--mapsat-save=one.json", "asking").assert_outcomes(passed=1)
        card = saved_timeless(project, "one.json")["cases"][0]
        output[agent], warnings = card["trajectory"]["turns"][1]["output"], card.get("warnings")
        assert not warnings
        sent = [body for body in models.requests if "response_format" in body]
        schemas[agent] = [body["response_format"]["json_schema"]["schema"] for body in sent]
    assert output[PLAN] == data
    assert [list(schema["properties"]) for schema in schemas[PLAN]] == [["intent", "plan"], ["proposes"]]
    assert [schema["required"] for schema in schemas[PLAN]] == [["intent", "plan"], []]
    assert output[REACT] == {**data, "plan": [{"tool": "search_poi", "arguments": {"query": "charger"}}]}
    assert [list(schema["properties"]) for schema in schemas[REACT]] == [["intent", "proposes"]]


def test_what_a_model_does_wrong_is_its_own_fault_and_what_its_service_does_is_not(
    project: pytest.Pytester, models: ScriptedModels
) -> None:
    def script(body: dict[str, Any], _number: int) -> dict[str, Any] | Broken:
        asked = [message for message in body["messages"] if message["role"] == "tool"]
        calls = {
            "loops": [("search_poi", {"query": "charger"})],
            "strange": [("no_such_tool", {}), ("search_poi", "{broken")],
        }
        name = next(
            word for word in ("loops", "strange", "refuses", "cut", "down") if word in body["messages"][1]["content"]
        )
        if name in calls:
            return said(calls=calls[name]) if name == "loops" or not asked else said("I found nothing.")
        if name == "refuses":
            return said(None, refusal="I may not")
        return said("I sug", finish="length") if name == "cut" else problem(400, "maintenance")

    models.script = script
    cases = []
    for name in ("loops", "strange", "refuses", "cut", "down"):
        one = case(name)
        one["visible"]["query"] = f"Take me to a charger. {name}"
        cases.append(one)
    write_suite(project.path / "wrong", {"nav/a.yaml": cases})
    done = project.runpytest(REACT, "--mapsat-save=one.json", "wrong", "-p", "no:cacheprovider")
    assert done.ret == 1
    cards = {card["id"]: card for card in saved_timeless(project, "one.json")["cases"]}
    assert {name: (card["outcome"], card.get("blame")) for name, card in cards.items()} == {
        "loops": ("failed", "agent"),
        "strange": ("failed", "agent"),
        "refuses": ("failed", "agent"),
        "cut": ("failed", "agent"),
        "down": ("error", "infrastructure"),
    }
    assert "went on calling tools after 20 steps" in cards["loops"]["reason"]
    assert cards["loops"]["calls"]["total"] == 3
    assert "refused: 'I may not'" in cards["refuses"]["reason"]
    assert "maintenance" in cards["down"]["reason"]
    steps = cards["strange"]["trajectory"]["turns"][1]["steps"]
    assert steps[0]["tool"] == "no_such_tool"
    assert "not a JSON object: {broken" in steps[1]["text"]


def test_a_ceiling_skips_what_is_left_and_keeps_what_is_done(project: pytest.Pytester, models: ScriptedModels) -> None:
    # A case makes two calls of $2.1e-05 each, so the third call, the first of c2, goes beyond the ceiling.
    done = project.runpytest(
        REACT, THREE, "--mapsat-save=one.json", "--mapsat-max-cost=5e-05", "--mapsat-concurrency=1", "-rs"
    )
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*--mapsat-max-cost=5e-05: the run has spent *"])
    run = saved_timeless(project, "one.json")
    assert [card["id"] for card in run["cases"]] == ["c1"]
    assert [one["id"] for one in run["accounting"]["lost"]] == ["c2", "c3"]
    assert "skipped by a ceiling" in run["accounting"]["lost"][0]["reason"]
    assert run["gate"]["outcome"] == "invalid"
    run["manifest"]["prompts"]["en/react"] = "0 0000"
    (project.path / "older.json").write_text(json.dumps(run))
    refused = project.runpytest(REACT, THREE, "--mapsat-save=two.json", "--mapsat-resume=older.json")
    refused.stderr.fnmatch_lines(
        ["*older.json: that run was another one", "*the prompt en/react: it had 0 0000, now *"]
    )
    again = project.runpytest(REACT, THREE, "--mapsat-save=two.json", "--mapsat-resume=one.json")
    assert again.ret == 0, again.stdout.str()
    assert len(models.requests) == 6


def test_workers_answer_from_the_cache_and_the_run_file_is_the_same(
    project: pytest.Pytester, models: ScriptedModels
) -> None:
    project.runpytest(REACT, THREE, "--mapsat-save=one.json")
    done = project.runpytest(REACT, THREE, "--mapsat-save=two.json", "--mapsat-cache=only", "-n2")
    assert done.ret == 0, done.stdout.str()
    assert saved_timeless(project, "one.json") == saved_timeless(project, "two.json")
    assert len(models.requests) == 6


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--mapsat-agent=react:",), "names no model"),
        ((REACT, "--mapsat-cache=always"), "found 'always', expected auto, only, refresh or off"),
        ((REACT, "--mapsat-max-cost=free"), "expected US dollars"),
        (("--mapsat-agent=reakt:m",), "did you mean 'react'"),
    ],
)
def test_what_cannot_be_used_is_a_usage_error(
    project: pytest.Pytester, models: ScriptedModels, options: tuple[str, ...], told: str
) -> None:
    done = project.runpytest(*options)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"*{told}*"])
    assert models.requests == []


def test_without_the_extra_a_run_says_what_to_install(
    project: pytest.Pytester, models: ScriptedModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    done = project.runpytest(REACT)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*needs litellm, which is not installed*pip install 'pytest-mapsat?llm?'*"])
