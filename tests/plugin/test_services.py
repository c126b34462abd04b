"""Runs against a service behind HTTP: how it is named, and what a run makes of its faults."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest
import tiny_suite
from http_services import Service, answers

VISIBLE = tiny_suite.case("any")["visible"]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service().running() as service:
        yield service


def chat(request):
    """Look up a charger, then name the open one, as a model behind OpenAI's chat completions."""
    *_, last = request.body["messages"]
    if last["role"] == "user":
        function = {"name": "search_poi", "arguments": '{"query": "charger"}'}
        call = {"id": "call_1", "type": "function", "function": function}
        return answers({"choices": [{"message": {"content": None, "tool_calls": [call]}}]})
    place = next(poi["name"] for poi in json.loads(last["content"])["pois"] if poi["open"])
    return answers({"choices": [{"message": {"content": f"I suggest {place}."}}]})


def run_file(project: pytest.Pytester) -> str:
    return (project.path / "run.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["here", "workers"])
def test_a_form_in_front_of_an_address_is_all_that_is_needed(
    project: pytest.Pytester, service: Service, workers
) -> None:
    agent = f"openai-chat:{service.at(chat)}"
    result = project.runpytest(f"--mapsat-agent={agent}", "--mapsat-save=run.json", *workers)
    result.assert_outcomes(passed=3)
    assert json.loads(run_file(project))["manifest"]["agent"] == agent


def test_sixteen_episodes_run_at_once_and_keep_apart(pytester: pytest.Pytester, service: Service) -> None:
    names = [f"c-{number}" for number in range(16)]
    cases = [tiny_suite.case(name, visible={**VISIBLE, "query": f"Take me to a charger, {name}."}) for name in names]
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"nav/a.yaml": cases})
    together = threading.Barrier(16, timeout=20)  # no request is answered before sixteen are there

    def behave(request):
        if request.body["messages"][-1]["role"] == "user":
            together.wait()
        return chat(request)

    url = service.at(behave)
    result = pytester.runpytest(f"--mapsat-agent=openai-chat:{url}", "--mapsat-save=run.json")
    result.assert_outcomes(passed=16)
    sessions = [request.headers["X-Mapsat-Session"] for request in service.asked(url)]
    assert sorted(Counter(sessions).values()) == [2] * 16
    for card in json.loads(run_file(pytester))["cases"]:
        assert [step["arguments"] for step in card["trajectory"]["turns"][1]["steps"]] == [{"query": "charger"}]


def episodes_of(project, service, url, *options) -> Counter[str]:
    """Run a suite and return how many requests each episode that was begun made."""
    service.heard.clear()
    project.runpytest(f"--mapsat-agent={url}", *options)
    return Counter(request.headers["X-Mapsat-Session"] for request in service.heard)


@pytest.fixture
def eighteen(pytester: pytest.Pytester) -> pytest.Pytester:
    cases = [tiny_suite.case(f"c-{number:02}") for number in range(18)]
    tiny_suite.write_suite(pytester.path / "benchmark_cases", {"nav/a.yaml": cases[:9], "nav/b.jsonl": cases[9:]})
    return pytester


def test_each_item_begins_one_episode_whatever_was_kept_of_earlier_runs(
    eighteen: pytest.Pytester, service: Service
) -> None:
    wrong = set(range(5))
    url = service.at(lambda request: answers({"text": "I suggest Old Mill." if wrong else "I suggest Blue Bay."}))
    file = eighteen.path / "service.yaml"
    file.write_text(f"url: {url}\n")
    save = "--mapsat-save=run.json"
    runs = [(), (save,), ("--ff",), ("--lf",), ("--nf", "--mapsat-resume=run.json"), ("--nf",)]
    counts = []
    for place, options in enumerate(runs):
        if place == 4:
            wrong.clear()
        if place == 5:
            file.write_text(f"url: {url}\nresponse: {{text: text}}\n")
        counts.append(episodes_of(eighteen, service, "http:service.yaml", *options))
    assert [(len(begun), set(begun.values())) for begun in counts] == [
        *[(18, {1})] * 4,
        (0, set()),  # all are in the run that is gone on from
        (18, {1}),
    ]


def test_no_worker_begins_an_episode_that_another_one_plays(eighteen: pytest.Pytester, service: Service) -> None:
    first = threading.Lock()

    def behave(request):
        if first.acquire(blocking=False):
            time.sleep(2)  # one worker waits for its first item while the other has done all its own
        return chat(request)

    begun = episodes_of(
        eighteen,
        service,
        f"openai-chat:{service.at(behave)}",
        "-n",
        "2",
        "--dist",
        "worksteal",
        "--mapsat-save=run.json",
    )
    assert (len(begun), set(begun.values())) == (18, {2})
    assert len(json.loads(run_file(eighteen))["cases"]) == 18


def test_the_ini_file_names_a_service_file_whose_secrets_stand_nowhere(
    project: pytest.Pytester, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_LOGIN", "login-1234567")
    url = service.at(lambda request: answers({"say": f"I suggest Blue Bay, {request.headers['X-Login']}."}))
    (project.path / "service.yaml").write_text("headers: {X-Login: '${MY_LOGIN}'}\nresponse: {text: say}\n")
    project.makeini(f"[pytest]\nmapsat_agent = {url}\nmapsat_http = service.yaml\n")
    result = project.runpytest("--mapsat-save=run.json", "-o", "mapsat_fail_on=asked")
    result.assert_outcomes(passed=3)
    assert "login-1234567" not in run_file(project)
    assert "I suggest Blue Bay, [redacted MY_LOGIN]." in run_file(project)
    options = json.loads(run_file(project))["manifest"]["options"]
    assert options["http"] == "service.yaml"


def test_a_changed_service_file_is_another_agent(project: pytest.Pytester, service: Service) -> None:
    url = service.at(lambda request: answers({"say": "I suggest Blue Bay.", "tell": "I suggest Blue Bay."}))
    digests = []
    for name in ("say", "tell"):
        (project.path / "service.yaml").write_text(f"url: {url}\nresponse: {{text: {name}}}\n")
        project.runpytest("--mapsat-agent=http:service.yaml", "--mapsat-save=run.json")
        digests.append(json.loads(run_file(project))["manifest"]["agent_source"])
    assert len(set(digests)) == 2


def test_a_service_that_breaks_is_never_green(project: pytest.Pytester, service: Service) -> None:
    url = service.at(lambda request: answers({"detail": "out of order"}, 500))
    result = project.runpytest(f"--mapsat-agent={url}", "--mapsat-save=run.json", "--mapsat-fail-under=ar=0.1")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["*answered 500 Internal Server Error: out of order*", "gate *INVALID: 3 cases lost (infrastructure 3: *"]
    )
    saved = json.loads(run_file(project))
    assert saved["gate"]["outcome"] == "invalid"
    assert {card["trajectory"]["ending"] for card in saved["cases"]} == {"infrastructure_error"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mapsat-isolate"], "*--mapsat-isolate: http://127.0.0.1:1/x runs no code of an agent*leave it out*"),
        (["-o", "mapsat_http=chatt"], "*found the form 'chatt', expected json, openai-chat,*"),
        (["-o", "mapsat_http=s.yaml"], "*s.yaml:2: respond: is not a known field*did you mean 'response'?*"),
    ],
)
def test_what_cannot_be_used_is_told_before_the_run(project: pytest.Pytester, options, message: str) -> None:
    (project.path / "s.yaml").write_text("form: json\nrespond: {text: a}\n")
    result = project.runpytest("--mapsat-agent=http://127.0.0.1:1/x", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
