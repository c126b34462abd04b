"""Memories that ask a model, against a scripted server: a summary that is rewritten, and embeddings."""

from typing import Any

import pytest
import tiny_suite
from saved_runs import saved
from scripted_models import Broken, ScriptedModels, problem, said

AGENTIC, EMBEDDED = "agentic:openai/gpt-4o-mini?temperature=0", "rag:openai/text-embedding-3-large"
#: The words that the scripted embeddings know, a dimension each.
WORDS = ("charger", "milk", "oat")
SAYS = {
    "ida": ("The charger at the mill is slow.", "", "Oat milk, please."),
    "林": ("充电要快。", "不要牛奶。", "要燕麦奶。"),
}


def task(user: str, name: str, order: int, words: str) -> dict[str, Any]:
    made = tiny_suite.case(f"{name}-{order}", group={"name": name, "order": order})
    told = [{"date": f"2026-04-0{order}", "dialogue": [{"role": "user", "content": words}]}] if words else []
    made["visible"]["interactions"] = told
    made["visible"]["query"] = f"Take me to a charger. {user}"
    return made


@pytest.fixture
def models(asked_models: ScriptedModels, project: pytest.Pytester) -> ScriptedModels:
    cases = [
        task(user, "lin" if user == "林" else user, order, words)
        for user, told in SAYS.items()
        for order, words in enumerate(told, 1)
    ]
    tiny_suite.write_suite(project.path / "suite", {"nav/a.yaml": cases})
    asked_models.script = answer
    return asked_models


def answer(body: dict[str, Any], _number: int) -> dict[str, Any] | Broken:
    """Embed by words; rewrite a memory to its old text and the last line of the records."""
    if "input" in body:
        vectors = [[float(word in text.lower()) for word in WORDS] for text in body["input"]]
        data = [{"object": "embedding", "index": number, "embedding": vector} for number, vector in enumerate(vectors)]
        data.reverse()  # a service says by the index which is which
        usage = {"prompt_tokens": 10 * len(vectors), "total_tokens": 10 * len(vectors)}
        return {"object": "list", "model": body["model"], "data": data, "usage": usage}
    lines = body["messages"][0]["content"].splitlines()
    records = [line for line in lines if line.startswith("2026-04-")]
    before = [line for line in lines if line.startswith("kept ")]
    return said("\n".join([*before, f"kept {records[-1]}"]))


def run(project: pytest.Pytester, memory: str, *options: str) -> dict[str, dict[str, Any]]:
    """Run and return by case what the memory gave, beside the fault of the episode."""
    project.runpytest(
        "suite", "--mapsat-agent=good:agent", f"--mapsat-agent-memory={memory}", "--mapsat-save=run.json", *options
    )
    cards = saved(project)["cases"]
    return {card["id"]: {"text": ""} | (card["trajectory"].get("memory") or {}) | {"card": card} for card in cards}


def test_a_summary_is_rewritten_once_a_task_that_something_has_passed_before(
    models: ScriptedModels, project: pytest.Pytester
) -> None:
    given = run(project, AGENTIC)
    assert given["ida-1"]["text"] == "kept 2026-04-01 user: The charger at the mill is slow."
    assert given["ida-2"]["text"] == given["ida-1"]["text"]
    assert given["ida-3"]["text"].splitlines()[1:] == ["kept 2026-04-03 user: Oat milk, please."]
    assert [body["temperature"] for body in models.requests] == [0] * 5
    first, chinese = (models.requests[place]["messages"][0]["content"] for place in (0, 2))
    assert "at most 4,096 tokens" in first
    assert "最多 4,096 个词元" in chinese
    assert given["ida-1"]["usage"]["input_tokens"] == 100
    assert given["ida-1"]["card"]["spent"]["input_tokens"] is None, "this agent does not say what its replies cost"
    assert "usage" not in given["ida-2"], "no update, no cost"
    manifest = saved(project)["manifest"]
    assert set(manifest["prompts"]) == {"en/remember", "zh/remember"}


def test_a_task_alone_finds_the_same_answers_in_the_cache(models: ScriptedModels, project: pytest.Pytester) -> None:
    for memory in (AGENTIC, EMBEDDED):
        whole = run(project, memory)
        models.requests.clear()
        alone = run(project, memory, "-k", "lin-3", "--mapsat-cache=only")
        assert {name: told["text"] for name, told in alone.items()} == {"lin-3": whole["lin-3"]["text"]}
        assert alone["lin-3"]["usage"] == whole["lin-3"]["usage"]
        assert models.requests == []


def test_each_trial_has_a_memory_of_its_own(models: ScriptedModels, project: pytest.Pytester) -> None:
    run(project, AGENTIC, "-k", "ida-1", "--mapsat-trials=2")
    assert len(models.requests) == 2


def test_what_is_written_beyond_the_budget_is_cut(models: ScriptedModels, project: pytest.Pytester) -> None:
    models.answers(said("奶" * 5_000))
    assert run(project, AGENTIC, "-k", "ida-1")["ida-1"]["text"] == "奶" * 4_096


def test_embedded_pieces_answer_that_are_near_to_the_query(models: ScriptedModels, project: pytest.Pytester) -> None:
    given = run(project, EMBEDDED)
    assert given["ida-3"]["text"] == "2026-04-01 user: The charger at the mill is slow."
    assert given["ida-3"]["usage"]["input_tokens"] == 20, "its own piece, and the query"
    assert given["lin-3"]["text"] == "", "nothing reaches a cosine of 0.3"
    assert {tuple(body["input"]) for body in models.requests} >= {("2026-04-03 user: Oat milk, please.",)}


@pytest.mark.parametrize(
    ("memory", "broken", "message"),
    [
        (AGENTIC, said(""), "the memory agentic:openai/gpt-4o-mini?temperature=0: openai/gpt-4o-mini gave an empty reply"),
        (EMBEDDED, {"object": "list", "data": [], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}, "the memory rag:*gave 0 embeddings for 1 texts"),
        (EMBEDDED, problem(401, "who are you"), "the memory rag:*"),
    ],
)  # fmt: skip
def test_a_memory_of_ours_that_gets_no_answer_loses_the_episode_to_the_infrastructure(
    models: ScriptedModels, project: pytest.Pytester, memory: str, broken: Any, message: str
) -> None:
    from fnmatch import fnmatch

    models.answers(broken)
    card = run(project, memory, "-k", "ida-1")["ida-1"]["card"]
    fault = card["trajectory"]["fault"]
    assert (fault["blame"], card["outcome"]) == ("infrastructure", "error")
    assert fnmatch(fault["message"], message), fault["message"]


def test_what_a_run_may_cost_holds_for_its_memories(models: ScriptedModels, project: pytest.Pytester) -> None:
    result = project.runpytest(
        *("suite", "--mapsat-agent=good:agent", f"--mapsat-agent-memory={AGENTIC}", "--mapsat-max-cost=0.0000001")
    )
    result.stdout.fnmatch_lines(["lost * skipped by a ceiling: --mapsat-max-cost=1e-07: the run*"])
