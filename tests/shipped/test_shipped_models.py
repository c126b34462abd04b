"""The shipped suite with a model as agent, user and judge, against a scripted server: once live, once from what was kept."""

import json
from pathlib import Path
from typing import Any

import pytest
from saved_runs import saved, timeless
from scripted_models import Broken, problem, said, scripted_models

SUITE = Path(__file__).parents[2] / "benchmark_cases"
MODEL = "openai/gpt-4o-mini"
RUNS = [
    *(
        pytest.param(
            "react", SUITE, f"{part}/3", 30, id=f"react-all-{part}", marks=pytest.mark.long_proof(in_turn=True)
        )
        for part in (1, 2, 3)
    ),
    pytest.param("react", SUITE / "ride_hailing", "1/1", 16, id="react"),
    pytest.param("plan", SUITE / "ride_hailing", "1/1", 16, id="plan"),
]


def script(body: dict[str, Any], _number: int) -> dict[str, Any] | Broken:
    """Look at the first tool, ask once, then answer; end as the user; as the judge, give what decides nothing."""
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    messages = body["messages"]
    if "asked" in schema:
        return said(json.dumps({"asked": [], "message": "Thanks, bye.", "end": "done"}))
    if schema:
        return said('{"labels": []}')
    if "tools" not in body:
        return said("1. Look it up. 2. Answer.")
    if messages[-1]["role"] == "tool":
        return said("I looked, and that is all for now.")
    function = body["tools"][0]["function"]
    required = function["parameters"].get("required", [])
    if not required:
        return problem(400, f"{function['name']} needs nothing")
    return said("First a look.", calls=[(function["name"], dict.fromkeys(required, "x"))])


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize(("kind", "cases", "shard", "least"), RUNS)
def test_models_run_it_and_the_second_run_asks_nobody(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, *, kind: str, cases: Path, shard: str, least: int
) -> None:
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(pytester.path / "store"))
    agent = f"--mapsat-agent={kind}:{MODEL}"
    options = (
        f"--mapsat-shard={shard}",
        f"--mapsat-user=llm:{MODEL}",
        f"--mapsat-judge=llm:{MODEL}",
        "--mapsat-judge-votes=1",
    )
    with scripted_models() as models:
        for name, value in models.environment.items():
            monkeypatch.setenv(name, value)
        models.script = script
        pytester.runpytest(str(cases), agent, *options, "--mapsat-save=one.json", "-q")
    # The server is gone now: whoever called would hear of it.
    pytester.runpytest(str(cases), agent, *options, "--mapsat-save=two.json", "-q", "--mapsat-cache=only")
    one, two = (timeless(saved(pytester, name)) for name in ("one.json", "two.json"))
    assert one == two
    assert len(one["cases"]) >= least
    assert {(card["turns"], card["user_spent"]["input_tokens"]) for card in one["cases"]} == {(1, 100)}
    assert all(card["spent"]["input_tokens"] >= 200 for card in one["cases"])
