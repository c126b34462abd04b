"""--mapsat-agent=recorded:SPANS judges what instrumented agents did; --mapsat-report=otlp: writes it."""

import json
from pathlib import Path

import pytest
from saved_runs import saved
from spans_made import LAST, QUERY, genai, span, text, write

IN_PROCESS = ("-p", "no:cacheprovider")


def labels(path):
    return {
        (card["id"], label["requirement"]): (label["outcome"], label["value"], label["why"])
        for card in json.loads(path.read_text(encoding="utf-8"))["cases"]
        for label in card["labels"]
    }


def card_of(project, case):
    cards = saved(project)["cases"]
    return next(card for card in cards if card["id"] == case)


def play(project, *options):
    return project.runpytest(*IN_PROCESS, "--mapsat-agent=recorded:spans.json", "--mapsat-save=run.json", *options)


def turns(*sessions):
    """Return a conversation of one turn for each session."""
    heard, reply = json.dumps([text("user", QUERY)]), json.dumps([text("assistant", LAST)])
    told = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": heard, "gen_ai.output.messages": reply}
    return [span(number, "chat", {**told, **session}, trace=number) for number, session in enumerate(sessions, 1)]


def test_a_conversation_is_judged_as_the_case_that_its_span_names(project: pytest.Pytester) -> None:
    write(project.path / "spans.json", *genai(first={"gen_ai.conversation.id": "talk", "mapsat.case": "nav-one"}))
    play(project, "-k", "nav-one").assert_outcomes(passed=1)
    card = card_of(project, "nav-one")
    assert card["metrics"]["ts"] == 1
    assert card["spent"] == {"input_tokens": 30, "output_tokens": 6, "cost": None}
    assert [turn["text"] for turn in card["trajectory"]["turns"]][-1] == LAST
    assert card["timing"]["agent"] > 0


def test_a_session_or_the_query_tells_the_case_where_no_span_names_it(project: pytest.Pytester) -> None:
    write(project.path / "spans.json", *turns({"session.id": "nav-two"}))
    play(project, "-k", "nav-two").assert_outcomes(passed=1)
    assert (
        card_of(project, "nav-two")["warnings"][-1]
        == "span '0000000000000001' (line 1) was taken for this case by its session"
    )
    write(project.path / "spans.json", *turns({}))
    play(project, "-k", "nav-one").assert_outcomes(passed=1)
    assert (
        card_of(project, "nav-one")["warnings"][-1]
        == "span '0000000000000001' (line 1) was taken for this case by its query"
    )


@pytest.mark.parametrize(
    ("spans", "reason"),
    [
        (
            turns({"session.id": "a"}, {"session.id": "b"}),
            "2 conversations begin with the query of case nav-one: span '0000000000000001' (line 1) and span '0000000000000002' (line 1)",
        ),
        (turns({"mapsat.case": "other"}), "no recorded trajectory of case nav-one in spans.json"),
        ([span(1, "GET /", {})], "no recorded trajectory of case nav-one in spans.json"),
        (
            [
                span(
                    1,
                    "invoke_agent a",
                    {"gen_ai.operation.name": "invoke_agent", "input.value": "Hello?", "output.value": "Hi."},
                )
            ],
            "its query; the first, span '0000000000000001' (line 1), begins with 'Hello?'",
        ),
    ],
)
def test_a_case_that_no_or_two_conversations_may_be_of_is_lost_aloud(project: pytest.Pytester, spans, reason) -> None:
    write(project.path / "spans.json", *spans)
    result = play(project, "-k", "nav-one")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    card = card_of(project, "nav-one")
    assert reason in card["reason"]
    assert (card["outcome"], card["blame"]) == ("error", "infrastructure")


def test_traces_of_one_case_are_told_apart_by_their_trial(project: pytest.Pytester) -> None:
    spans = turns({"mapsat.case": "nav-one"}, {"mapsat.case": "nav-one", "mapsat.trial": 2})
    write(project.path / "spans.json", *spans)
    play(project, "-k", "nav-one", "--mapsat-trials=2").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "content", [{}, {"gen_ai.tool.call.arguments": '{"query": "char', "gen_ai.tool.call.result": '{"po'}]
)
def test_a_call_without_arguments_and_result_is_undecided_not_missing(project: pytest.Pytester, content) -> None:
    agent, _, execute, _, *_ = genai(first={"mapsat.case": "nav-one"}, tool=content)
    heard, reply = json.dumps([text("user", QUERY)]), json.dumps([text("assistant", "I suggest Old Mill.")])
    chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": heard, "gen_ai.output.messages": reply}
    write(project.path / "spans.json", agent, execute, span(9, "chat", chat, parent=1))
    play(project, "-k", "nav-one")
    card = card_of(project, "nav-one")
    step = card["trajectory"]["turns"][1]["steps"][0]
    assert (step["status"], step["unknown"]) == ("unknown", ["arguments", "result", "changed"])
    assert card["metrics"]["ts"] is None
    assert card["bounds"]["ts"] == [0, 1]


def test_a_reply_without_content_is_nobodys_failure(project: pytest.Pytester) -> None:
    spans = [span(1, "chat m", {"gen_ai.operation.name": "chat", "mapsat.case": "nav-one"})]
    write(project.path / "spans.json", *spans)
    result = play(project, "-k", "nav-one")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    card = card_of(project, "nav-one")
    assert (card["outcome"], card["blame"]) == ("error", "infrastructure")
    assert "the reply of span '0000000000000001' (line 1) is missing" in card["reason"]
    assert {label["outcome"] for label in card["labels"]} == {"unevaluated"}


def test_broken_spans_are_a_usage_error_with_their_line(project: pytest.Pytester) -> None:
    (project.path / "spans.json").write_text('{"resourceSpans": [{"scopeSpans": [', encoding="utf-8")
    result = play(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*spans.json:1: is not valid JSON*cut off*"])


@pytest.mark.parametrize("agent", ["good", "bad"])
def test_a_run_read_back_from_its_spans_has_the_same_labels(project: pytest.Pytester, agent) -> None:
    played = project.runpytest(
        *IN_PROCESS, f"--mapsat-agent={agent}:agent", "--mapsat-save=first.json", "--mapsat-report=otlp:spans.json"
    )
    played.stdout.fnmatch_lines(["saved      first.json · spans.json"])
    play(project)
    assert labels(project.path / "run.json") == labels(project.path / "first.json")


def test_no_secret_of_the_environment_stands_in_spans(project: pytest.Pytester, monkeypatch) -> None:
    monkeypatch.setenv("MAPS_API_KEY", "abcdef-1234567")
    project.makepyfile(
        leaky="def agent(message, tools):\n    import os\n    return 'The key is ' + os.environ['MAPS_API_KEY']"
    )
    project.runpytest(*IN_PROCESS, "--mapsat-agent=leaky:agent", "--mapsat-report=otlp:spans.json")
    told = (project.path / "spans.json").read_text(encoding="utf-8")
    assert "The key is [redacted MAPS_API_KEY]" in told
    assert "abcdef-1234567" not in told


@pytest.mark.parametrize("name", ["pydantic_ai", "openai_agents", "strands"])
def test_spans_of_a_framework_are_judged_by_its_query(project: pytest.Pytester, name) -> None:
    spans = Path(__file__).parents[1] / "formats" / "spans" / f"{name}.jsonl"
    (project.path / "spans.json").write_bytes(spans.read_bytes())
    play(project, "-k", "nav-one").assert_outcomes(passed=1)
    card = card_of(project, "nav-one")
    assert (card["turns"], card["calls"]["by_tool"], card["metrics"]["ts"]) == (2, {"search_poi": 1}, 1)


def test_reports_say_what_is_not_recorded(project: pytest.Pytester) -> None:
    agent, _, execute, _, *_ = genai(first={"mapsat.case": "nav-one"}, tool={})
    heard, reply = json.dumps([text("user", QUERY)]), json.dumps([text("assistant", "I suggest Old Mill.")])
    chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": heard, "gen_ai.output.messages": reply}
    write(project.path / "spans.json", agent, execute, span(9, "chat", chat, parent=1))
    play(project, "-k", "nav-one", "--mapsat-report=html:run.html", "--mapsat-report=otlp:again.json")
    page = (project.path / "run.html").read_text(encoding="utf-8")
    assert "search_poi(arguments not recorded)" in page
    assert "(not recorded)" in page
    written = (project.path / "again.json").read_text(encoding="utf-8")
    assert "gen_ai.tool.call.arguments" not in written
    assert "gen_ai.tool.call.result" not in written
    first = labels(project.path / "run.json")
    project.runpytest(*IN_PROCESS, "--mapsat-agent=recorded:again.json", "--mapsat-save=run.json", "-k", "nav-one")
    assert labels(project.path / "run.json") == first
