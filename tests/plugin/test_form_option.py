"""``form: true`` in ``suite.yaml``, in whole runs: every kind of agent is asked, out of score, and whatever it answers breaks nothing."""

import json
from typing import Any

import pytest
import saved_runs
import tiny_suite
from scripted_models import ScriptedModels, said
from workers import EVERYWHERE

from pytest_mapsat.cli import main
from pytest_mapsat.formats import read_run
from pytest_mapsat.llm import prompt
from pytest_mapsat.model import trajectory_digest

SAVE = "--mapsat-save=run.json"
FORM = {
    "recommended": [{"name": "Blue Bay", "quote": "I suggest Blue Bay"}],
    "figures": [{"about": "Blue Bay", "what": "count", "quote": "3 points"}],
}
AGENTS = f"""
import asyncio, json, time
from dataclasses import dataclass, field
from pytest_mapsat.agents import Reply

FORM = {FORM!r}
SAID = "I suggest Blue Bay. It has 3 points."
asked = "Fill in a form"

def text(message, tools):
    if asked in message:
        return "Here: " + json.dumps(FORM)
    tools.search_poi(query="charger")
    return SAID

def data(message):
    return FORM if asked in message else SAID

def reply(message, session):
    if asked in message:
        session.think("a form?")
        return Reply("", ["hm"], {{"input_tokens": 1000, "cost": 5}}, FORM)
    return Reply(SAID, usage={{"input_tokens": 7, "output_tokens": 1, "cost": 0}})

def histories(message, session):
    return FORM if asked in session.messages[-1]["content"] else SAID

@dataclass
class Filled:
    recommended: list = field(default_factory=lambda: FORM["recommended"])
    figures: list = field(default_factory=lambda: FORM["figures"])

def typed(message):
    return Filled() if asked in message else SAID

async def coroutine(message):
    await asyncio.sleep(0)
    return data(message)

class Made:
    def __init__(self):
        self.said = []
    def reply(self, message):
        self.said.append(message)
        return FORM if len(self.said) == 2 else SAID

def wrong(message):
    return FORM if asked in message else "I suggest Old Mill."

# -- hostile ones

def hangs(message):
    if asked in message:
        time.sleep(60)
    return SAID

async def waits(message):
    if asked in message:
        await asyncio.sleep(60)
    return SAID

def calls_on(message, tools):
    if asked in message:
        try:
            tools.call("search_poi", {{"query": "zzz"}})
        except RuntimeError as error:
            with open("refused", "w") as file:
                file.write(str(error))
        return FORM
    return SAID

def hostile(message, tools, session):
    if asked not in message:
        return SAID
    kind = session.messages[0]["content"].split()[-1]
    if kind == "raises":
        raise ValueError("no forms")
    if kind == "leaves":
        raise SystemExit(3)
    if kind == "calls":
        tools.search_poi(query="zzz")
    if kind == "deep":
        data = []
        for _ in range(5_000):
            data = [data]
        return {{"recommended": data}}
    return {{"talks": "Gladly! What for?", "huge": "{{" + "x" * 10_000_000}}.get(kind)

def invents(message):
    if asked in message:
        return {{**FORM, "turned_down": [{{"name": "Old Mill", "quote": "avoid Old Mill"}}]}}
    return SAID

def nosy(message, tools, context, session):
    with open("told.txt", "a") as file:
        file.write(json.dumps([message, dict(context), repr(vars(session)), session.messages, tools.schemas()], default=repr))
    return data(message)
"""


@pytest.fixture
def forms(project: pytest.Pytester) -> pytest.Pytester:
    project.makepyfile(forms=AGENTS)
    return project


def asking(project: pytest.Pytester, *, form: str = "true") -> pytest.Pytester:
    """Let every suite of a project say ``form: true``."""
    for manifest in project.path.rglob("suite.yaml"):
        kept = [line for line in manifest.read_text().splitlines() if not line.startswith("form:")]
        manifest.write_text("\n".join([*kept, f"form: {form}\n"]))
    return project


def run(project: pytest.Pytester, agent: str, *options: str, passed: int = 3) -> list[dict[str, Any]]:
    result = asking(project).runpytest(f"--mapsat-agent=forms:{agent}", SAVE, *options)
    result.assert_outcomes(passed=passed, failed=3 - passed)
    cases: list[dict[str, Any]] = saved_runs.saved(project)["cases"]
    return cases


@pytest.mark.parametrize("agent", ["text", "data", "reply", "histories", "typed", "coroutine", "Made"])
def test_every_kind_of_agent_is_asked_once_and_its_form_is_kept(forms: pytest.Pytester, agent: str) -> None:
    for card in run(forms, agent):
        assert card["trajectory"]["form"] == FORM
        assert not [warning for warning in card["warnings"] if "form" in warning]


def test_without_the_option_nobody_is_asked(forms: pytest.Pytester) -> None:
    forms.runpytest("--mapsat-agent=forms:Made", SAVE).assert_outcomes(passed=3)
    cards = json.loads((forms.path / "run.json").read_text())["cases"]
    assert all("form" not in card["trajectory"] for card in cards)


def test_the_suite_says_so_and_the_run_file_tells_it(forms: pytest.Pytester) -> None:
    run(forms, "data")
    manifest = json.loads((forms.path / "run.json").read_text())["manifest"]
    assert manifest["options"]["form"] is True
    assert manifest["prompts"]["en/form"] == prompt("form", "en").mark
    asking(forms, form="perhaps")
    result = forms.runpytest("--mapsat-agent=forms:data")
    result.stdout.fnmatch_lines(["*suite.yaml:*form*"])


def test_the_form_counts_in_no_figure_of_the_episode(forms: pytest.Pytester) -> None:
    with_form = run(forms, "reply")
    asking(forms, form="false").runpytest("--mapsat-agent=forms:reply", SAVE).assert_outcomes(passed=3)
    without = json.loads((forms.path / "run.json").read_text())["cases"]
    for one, other in zip(with_form, without, strict=True):
        del one["trajectory"]["form"]
        for card in (one, other):
            card.pop("dialogue")
            card.pop("timing")
            for turn in card["trajectory"]["turns"]:
                turn.pop("timing", None)
        assert one == other
        assert (one["turns"], one["spent"]["input_tokens"]) == (1, 7)


@EVERYWHERE
def test_forms_are_filled_in_by_workers_and_by_episodes_that_run_ahead(forms: pytest.Pytester, workers: Any) -> None:
    for agent, options in (("text", ()), ("text", ("--mapsat-concurrency=3",)), ("coroutine", ())):
        assert [card["trajectory"]["form"] for card in run(forms, agent, *options, *workers)] == [FORM] * 3


@pytest.mark.parametrize("agent", ["data", "coroutine"])
def test_isolated_agents_fill_in_forms_in_their_processes(forms: pytest.Pytester, agent: str) -> None:
    assert [card["trajectory"]["form"] for card in run(forms, agent, "--mapsat-isolate")] == [FORM] * 3


HOSTILE = {
    "raises": "missing: ValueError: no forms",
    "leaves": "missing: SystemExit: 3",
    "calls": "missing: ToolsClosed: search_poi: the dialogue has ended",
    "talks": "ignored: found 'Gladly! What for?', expected one JSON object",
    "huge": "ignored: it has 10,000,001 characters; at most 64,000 are read",
    "deep": "ignored: 'recommended.0",
    "nothing": "missing: the agent returned None",
}


@pytest.mark.parametrize("isolated", [(), ("--mapsat-isolate",)])
def test_a_form_that_is_none_is_missing_with_a_warning_and_fails_nothing(
    forms: pytest.Pytester, isolated: tuple[str, ...]
) -> None:
    cases = [tiny_suite.case(kind) for kind in HOSTILE]
    for case in cases:
        case["visible"]["query"] += f" {case['id']}"
    tiny_suite.write_suite(forms.path / "many", {"a.yaml": cases})
    options = ("--mapsat-agent=forms:hostile", "--mapsat-cases=many", SAVE, *isolated)
    asking(forms).runpytest("many", *options).assert_outcomes(passed=len(HOSTILE))
    for card in json.loads((forms.path / "run.json").read_text())["cases"]:
        assert "form" not in card["trajectory"]
        assert (card["trajectory"].get("ending", "done"), card["outcome"]) == ("done", "passed")
        words = f"form: {HOSTILE[card['id']]}"
        assert [one for one in card["warnings"] if one.startswith(words)], (words, card["warnings"])


@pytest.mark.parametrize(
    ("agent", "options"),
    [("hangs", ()), ("hangs", ("--mapsat-concurrency=3",)), ("hangs", ("--mapsat-isolate",)), ("waits", ())],
)
def test_a_form_that_takes_longer_than_the_episode_may_is_missing(
    forms: pytest.Pytester, agent: str, options: tuple[str, ...]
) -> None:
    for card in run(forms, agent, "--mapsat-timeout=0.5", *options):
        assert (card["trajectory"].get("ending", "done"), card["outcome"]) == ("done", "passed")
        assert "form" not in card["trajectory"]
        assert "form: missing: it was not filled in when the 0.5 s of the episode were over" in card["warnings"]


def test_a_tool_that_is_called_for_the_form_is_refused_by_name_and_changes_nothing(forms: pytest.Pytester) -> None:
    for card in run(forms, "calls_on"):
        assert card["trajectory"]["form"] == FORM
        assert card["calls"]["total"] == 0
    assert (forms.path / "refused").read_text() == "search_poi: the dialogue has ended: no tool can be called"


def test_quotes_that_were_never_said_are_told_in_the_summary(forms: pytest.Pytester) -> None:
    result = asking(forms).runpytest("--mapsat-agent=forms:invents", SAVE)
    result.stdout.fnmatch_lines(["*form: 1 entry quotes what the reply does not say: 'avoid Old Mill'*"])
    cards = json.loads((forms.path / "run.json").read_text())["cases"]
    assert [card["trajectory"]["form"] for card in cards] == [FORM] * 3


def test_a_wrong_answer_stays_wrong_whatever_its_form_says(forms: pytest.Pytester) -> None:
    for card in run(forms, "wrong", passed=0):
        assert [one for one in card["warnings"] if "2 entries quote what the reply does not say" in one]


def test_an_agent_whose_episode_broke_is_not_asked(forms: pytest.Pytester) -> None:
    forms.makepyfile(
        breaks="""
        def agent(message):
            if "form" in message:
                open("asked", "w").close()
            raise ValueError("broken")
        """
    )
    asking(forms).runpytest("--mapsat-agent=breaks:agent", SAVE)
    assert not (forms.path / "asked").exists()


@pytest.mark.parametrize("agent", ["baseline:silent", "baseline:constant", "recorded:run.json"])
def test_where_nobody_can_fill_in_a_form_the_option_changes_nothing(forms: pytest.Pytester, agent: str) -> None:
    forms.runpytest("--mapsat-agent=good:agent", SAVE)
    asking(forms).runpytest(f"--mapsat-agent={agent}", "--mapsat-save=again.json")
    for card in json.loads((forms.path / "again.json").read_text())["cases"]:
        assert "form" not in card["trajectory"]
        assert not [warning for warning in card["warnings"] if "form" in warning]


def test_a_saved_run_is_judged_by_its_forms_again(forms: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    cards = run(forms, "text")
    assert main(["regrade", "run.json", "--suite=benchmark_cases", "--save=again.json"]) == 0
    capsys.readouterr()
    again = json.loads((forms.path / "again.json").read_text())["cases"]
    for one, other in zip(cards, again, strict=True):
        assert (one["labels"], one["trajectory"]["form"]) == (other["labels"], other["trajectory"]["form"])
    whole = read_run(forms.path / "run.json").cases
    assert {card.dialogue for card in whole} == {trajectory_digest(card.trajectory) for card in whole}


def test_a_run_is_gone_on_from_with_its_forms_and_not_without(forms: pytest.Pytester) -> None:
    run(forms, "text")
    first = (forms.path / "run.json").read_text()
    asked = ["--mapsat-agent=forms:text", "--mapsat-save=on.json", "--mapsat-resume=run.json"]
    asking(forms).runpytest(*asked).assert_outcomes(passed=3)
    assert json.loads((forms.path / "on.json").read_text())["cases"] == json.loads(first)["cases"]
    refused = asking(forms, form="false").runpytest(*asked)
    refused.stderr.fnmatch_lines(["*that run was another one*"])


def test_nothing_of_the_truth_is_handed_to_an_agent_that_fills_in_a_form(forms: pytest.Pytester) -> None:
    case = tiny_suite.case("an-id-of-its-own")
    case["truth"]["intent"] = "xylophone"
    for requirement in case["truth"]["requirements"]:
        requirement["text"] = "xylophone"
    case["truth"]["oracle"] = [{"say": "xylophone"}]
    tiny_suite.write_suite(forms.path / "secretive", {"a.yaml": [case]})
    asking(forms).runpytest("secretive", "--mapsat-agent=forms:nosy", SAVE, "--mapsat-cases=secretive")
    told = (forms.path / "told.txt").read_text()
    assert "Fill in a form" in told
    assert "xylophone" not in told
    assert "an-id-of-its-own" not in told


def test_a_secret_that_a_form_holds_stands_in_no_file(forms: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "quite-a-long-secret-0815")
    forms.makepyfile(
        leaky="""
        import os
        KEY = os.environ["MY_API_KEY"]
        def agent(message):
            quoted = {"name": KEY, "quote": KEY}
            figure = {"about": KEY, "what": KEY, "quote": KEY}
            if "form" not in message:
                return "I suggest Blue Bay " + KEY
            return {"recommended": [quoted], "turned_down": [quoted], "figures": [figure], "mode": KEY}
        """
    )
    asking(forms).runpytest("--mapsat-agent=leaky:agent", SAVE)
    saved = (forms.path / "run.json").read_text()
    assert "[redacted MY_API_KEY]" in saved
    assert "quite-a-long-secret-0815" not in saved
    assert "form" in json.loads(saved)["cases"][0]["trajectory"]


def test_the_question_is_asked_in_the_language_of_the_case(forms: pytest.Pytester) -> None:
    cases = [tiny_suite.case("zh", language="zh"), tiny_suite.case("en"), tiny_suite.case("de", language="de")]
    tiny_suite.write_suite(forms.path / "tongues", {"a.yaml": cases})
    asking(forms).runpytest("tongues", "--mapsat-agent=forms:nosy", "--mapsat-cases=tongues")
    told = (forms.path / "told.txt").read_text()
    assert json.dumps(prompt("form", "zh").text[:20])[1:-1] in told
    assert "Fill in a form" in told


@pytest.mark.parametrize("kind", ["react", "plan"])
def test_a_model_fills_in_its_form_in_one_request_without_tools(
    forms: pytest.Pytester, asked_models: ScriptedModels, kind: str
) -> None:
    def answers(body: dict[str, Any], _number: int) -> dict[str, Any]:
        if "Fill in a form" in body["messages"][-1]["content"]:
            return said(json.dumps(FORM))
        return said("I suggest Blue Bay. It has 3 points.")

    asked_models.script = answers
    options = (f"--mapsat-agent={kind}:openai/gpt-4o-mini", SAVE, "-k", "nav-one", "--mapsat-cache=off")
    asking(forms).runpytest(*options).assert_outcomes(passed=1)
    asked = [body for body in asked_models.requests if "Fill in a form" in json.dumps(body)]
    card = json.loads((forms.path / "run.json").read_text())["cases"][0]
    asking(forms, form="false").runpytest(*options).assert_outcomes(passed=1)
    without = json.loads((forms.path / "run.json").read_text())["cases"][0]
    assert len(asked) == 1
    assert card["trajectory"]["form"] == FORM
    assert card["spent"] == without["spent"]


def test_the_prompts_name_no_domain(forms: pytest.Pytester) -> None:
    for language in ("en", "zh"):
        text = prompt("form", language).text.lower()
        assert not [word for word in ("restaurant", "map", "shop", "餐", "地图", "店") if word in text]
        assert all(
            f'"{name}"' in text for name in ("recommended", "turned_down", "figures", "mode", "about", "what", "quote")
        )
