"""Two runs of a service whose code nobody here sees: what a comparison makes of a new deployment, of its build, and of what was lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_suite
from http_services import Service, answers

from pytest_mapsat.cli import main


class Bot:
    """A service that names the closed charger in some cases, breaks in others, and says which builds it is of, in turn."""

    def __init__(self) -> None:
        self.wrong: set[int] = set()
        self.broken: set[int] = set()
        self.builds: list[str] = []
        self._asked = 0

    def __call__(self, request: Any) -> Any:
        number = int(request.body["message"].split()[-1].strip("."))
        if number in self.broken:
            return answers({"detail": "out of order"}, 500)
        build = self.builds[self._asked % len(self.builds)] if self.builds else ""
        self._asked += 1
        text = f"I suggest {'Old Mill' if number in self.wrong else 'Blue Bay'}."
        return answers({"text": text, "meta": {"version": build}}, **({"X-Build": build} if build else {}))


@pytest.fixture(scope="module")
def server() -> Iterator[Service]:
    with Service().running() as server:
        yield server


class Project:
    """A suite of six cases, and a service that runs are made against."""

    def __init__(self, pytester: pytest.Pytester, server: Service) -> None:
        cases = [tiny_suite.case(f"c{number}") for number in range(6)]
        for number, case in enumerate(cases):
            case["visible"]["query"] = f"Take me to charger {number}."
        tiny_suite.write_suite(pytester.path / "benchmark_cases", {"all.jsonl": cases})
        self.bot = Bot()
        self.url = server.at(self.bot)
        self.file = pytester.path / "service.yaml"
        self.say("")
        self._pytester = pytester

    def say(self, more: str) -> None:
        """Write the service file, with more lines."""
        self.file.write_text(f"url: {self.url}\nresponse: {{text: text}}\n{more}")

    def run(self, name: str, *options: str) -> pytest.RunResult:
        """Play the suite and save the run."""
        agent = ("-p", "no:cacheprovider", "--tb=no", "--mapsat-agent=http:service.yaml")
        return self._pytester.runpytest(*agent, f"--mapsat-save={name}.json", *options)

    def deployed(self, *options: str, builds: tuple[str, ...] = ()) -> None:
        """Play the suite with the good bot, then with one that fails a case."""
        for name, wrong in (("good", set()), ("bad", {2})):
            self.bot.wrong = wrong
            self.bot.builds = [builds[0 if name == "good" else -1]] if builds else []
            self.run(name, *options)


@pytest.fixture
def project(pytester: pytest.Pytester, server: Service) -> Project:
    return Project(pytester, server)


def compare(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return the exit status of a comparison and what it prints, in one line."""
    capsys.readouterr()
    status = main(["compare", *arguments])
    return status, " ".join("".join(capsys.readouterr()).split())


BOTH = ("good.json", "bad.json", "--max-drop=ar:0.02")


def test_a_service_that_was_redeployed_and_fails_a_case_is_red_at_any_number_of_trials(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.deployed()
    status, told = compare(capsys, *BOTH)
    assert (status, "outcome failed" in told, "the same" in told) == (1, True, False)
    assert "flips:0 failed: 1 case passed before and fails now (allowed: 0): c2" in told
    assert "run both with --mapsat-trials=4, or let N cases flip with flips:N (flips:1 lets these)" in told
    assert compare(capsys, *BOTH, "--max-drop=flips:0") == (status, told)
    assert compare(capsys, *BOTH, "--max-drop=flips:1")[0] == 0
    project.say("headers: {X-Dummy: '1'}\n")
    project.run("dummy")
    assert compare(capsys, "good.json", "dummy.json")[0] == 1
    project.deployed("--mapsat-trials=2")
    status, told = compare(capsys, *BOTH)
    assert (status, "1 case passed in every trial and fails now (allowed: 0): c2" in told) == (1, True)
    assert "ar:0.02 failed: ar 0.500 -> " in told


@pytest.mark.parametrize(
    "place", ["build: {header: x-build}\n", "build: {path: meta.version}\n"], ids=["header", "path"]
)
def test_a_build_that_every_answer_names_tells_a_new_deployment_from_chance(
    project: Project, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    project.say(place)
    project.deployed(builds=("v1", "v2"))
    assert compare(capsys, *BOTH)[0] == 1
    project.deployed(builds=("v1",))
    status, told = compare(capsys, *BOTH)
    assert (status, "both runs name the build v1" in told) == (0, True)
    assert compare(capsys, *BOTH, "--inconclusive=fail")[0] == 1
    assert main(["compare", *BOTH, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["baseline"]["agent_build"], printed["new"]["agent_build"]) == ("v1", "v1")
    project.bot.builds = ["v1", "v2"]
    mixed = project.run("bad")
    mixed.stdout.fnmatch_lines(["warning    the agent named several builds in this run (v1, v2), so that its*"])
    assert compare(capsys, *BOTH)[0] == 1
    project.bot.builds = ["v1", ""]
    project.run("bad")
    assert compare(capsys, *BOTH)[0] == 1


def test_a_build_that_the_command_line_names_is_that_of_the_run(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.deployed("--mapsat-agent-build=2026-11-28 a1b2")
    status, told = compare(capsys, *BOTH)
    assert (status, "both runs name the build 2026-11-28 a1b2" in told) == (0, True)
    project.run("bad", "--mapsat-agent-build=c3d4")
    assert compare(capsys, *BOTH)[0] == 1
    saved = json.loads(Path("bad.json").read_text(encoding="utf-8"))["manifest"]
    assert (saved["agent_build"], bool(saved["agent_source"])) == ("c3d4", True)
    project.bot.builds = ["e5f6"]
    project.say("build: {header: X-Build}\n")
    told_two = project.run("two", "--mapsat-agent-build=c3d4")
    told_two.stdout.fnmatch_lines(["warning    the agent named several builds in this run (c3d4, e5f6), so that its*"])
    resumed = project.run("bad", "--mapsat-resume=two.json", "--mapsat-agent-build=g7")
    assert "the build of the agent: it had 'c3d4', now 'g7'" in " ".join(resumed.stderr.str().split())
    for wrong in ("x" * 101, "a\nb"):
        assert "--mapsat-agent-build: found" in project.run("bad", f"--mapsat-agent-build={wrong}").stderr.str()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("build: {}\n", "*service.yaml:3: build: expected a header or a path, as in {header: X-Version}*"),
        ("build: {header: A, path: b}\n", "*service.yaml:3: build: expected a header or a path,*"),
        ("build: {header: 'a b'}\n", "*service.yaml:3: build.header: 'a b' is not an HTTP header*"),
        ("build: {heeder: A}\n", "*service.yaml:3: build.heeder: is not a known field*did you mean 'header'?*"),
    ],
)
def test_a_place_of_a_build_that_cannot_be_is_refused_with_its_line(project: Project, more: str, message: str) -> None:
    project.say(more)
    project.run("bad").stderr.fnmatch_lines([message])


def test_a_run_that_lost_a_case_is_invalid_and_the_rest_is_compared_where_that_is_asked_for(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.run("good")
    project.bot.broken = {3}
    lost = project.run("bad", "--mapsat-compare=good.json")
    assert lost.ret == 1
    lost.stdout.fnmatch_lines(["gate       INVALID: 1 case lost (infrastructure 1: c3)*"])
    status, told = compare(capsys, *BOTH)
    assert (status, "unlike lost cases: was 0, is 1 (c3)" in told) == (1, True)
    assert "outcome invalid: --mapsat-resume plays what was lost; --common compares the rest" in told
    status, told = compare(capsys, *BOTH, "--common")
    assert (status, "no difference in 5 cases" in told) == (0, True)
    project.bot.wrong, project.bot.broken = {2}, {3, 4, 5}
    project.run("bad")
    assert compare(capsys, *BOTH, "--common")[0] == 1
    project.bot.broken = {1, 2, 3, 4}
    project.run("bad")
    status, told = compare(capsys, *BOTH, "--common")
    assert (status, "fewer than half: run the baseline again" in told) == (1, True)
    whole = json.loads(Path("good.json").read_text(encoding="utf-8"))
    part = {**whole, "cases": whole["cases"][:4]}
    Path("part.json").write_text(json.dumps(part), encoding="utf-8")
    status, told = compare(capsys, "good.json", "part.json")
    assert (status, "of them only here c4, c5" in told, "outcome invalid" in told) == (1, True, True)
    refused = project.run("new", "--mapsat-compare=bad.json")
    assert "lost cases: baseline 4 (c1, c2, c3 and 1 more), new 0" in refused.stderr.str()
    assert main(["compare", "anchor.json", "bad.json", "--accept"]) == 2
