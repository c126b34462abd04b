"""How much of a failure is shown: --tb, partial levels, all that a judge says; and the command that shows it again."""

import json
import re
import shlex

import pytest
import tiny_suite
from saved_runs import saved
from workers import EVERYWHERE, THOROUGHLY

from pytest_mapsat.model import Label, Quote, RunRequest
from pytest_mapsat.options import OPTIONS
from pytest_mapsat.reports import again_command

BAD = "--mapsat-agent=bad:agent"
LEVELS = {
    "id": "z2",
    "text": "a cafe is near",
    "kind": "soft",
    "weight": 1.0,
    "levels": [
        {"level": 1, "check": {"kind": "says", "any": ["cafe"], "about": ["cafe"]}},
        {"level": 0.25, "check": {"kind": "says", "any": ["Blue Bay"], "about": ["Blue"]}},
    ],
}


def _run(project: pytest.Pytester, workers: tuple[str, ...], *options: str) -> pytest.RunResult:
    return project.runpytest_subprocess(*options, *workers) if workers else project.runpytest(*options)


def _failures(result: pytest.RunResult) -> list[str]:
    text = result.stdout.str().partition(" FAILURES ")[2].partition(" mapsat ===")[0]
    lines = text.splitlines()[1:-1]
    return [line for line in lines if not line.startswith("[gw")]  # xdist names the worker


def _again(result: pytest.RunResult) -> list[str]:
    return re.findall(r"(?m)^run it again: (.*)$", result.stdout.str())


@THOROUGHLY
def test_tb_line_gives_each_failure_one_line_at_its_case(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    lines = _failures(_run(project, workers, BAD, "--tb=line"))
    assert sorted(lines) == [
        "benchmark_cases/nav/a.yaml:2: hard z1 failed: no reply says 'Blue Bay'",
        f"benchmark_cases/nav/a.yaml:{_line_of(project, 'nav-two')}: hard z1 failed: no reply says 'Blue Bay'",
        "benchmark_cases/search/b.jsonl:1: hard z1 failed: no reply says 'Blue Bay'",
    ]


def _line_of(project: pytest.Pytester, case: str) -> int:
    lines = (project.path / "benchmark_cases" / "nav" / "a.yaml").read_text().splitlines()
    return next(number for number, line in enumerate(lines) if case in line)


@EVERYWHERE
def test_tb_short_gives_what_failed_and_the_words_but_no_dialogue(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    one = tiny_suite.case("nav-one")
    one["truth"]["requirements"][1]["check"] = {"kind": "says", "none": ["Old Mill"]}
    (project.path / "benchmark_cases" / "nav" / "a.yaml").write_text(json.dumps([one]))
    lines = _failures(_run(project, workers, BAD, "--tb=short", "-k", "nav-one"))
    assert lines[1:5] == [
        "broken: z1",
        "hard constraint broken: z1",
        "    rule    it is open now",
        "    said    turn 1, chars 10-18: “Old Mill”",
    ]
    text = "\n".join(lines)
    assert "dialogue and calls" not in text
    assert "wanted" not in text


@THOROUGHLY
def test_tb_no_shows_no_failure(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    result = _run(project, workers, BAD, "--tb=no")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "FAILURES" not in result.stdout.str()
    assert "rule  " not in result.stdout.str()


@THOROUGHLY
@pytest.mark.parametrize("style", ["auto", "long", "native"])
def test_other_styles_tell_everything(project: pytest.Pytester, workers: tuple[str, ...], style: str) -> None:
    result = _run(project, workers, BAD, f"--tb={style}", "-k", "nav-one")
    result.stdout.fnmatch_lines(["*wanted *", "dialogue and calls:", "*agent: I suggest Old Mill.", "run it again: *"])


def test_a_recording_that_cannot_be_read_is_an_error_with_tb_line(project: pytest.Pytester) -> None:
    (project.path / "benchmark_cases" / "recordings" / "all.jsonl").write_text('{"case": "nav-one", "tool": 1}\n')
    result = project.runpytest(BAD, "--tb=line", "-k", "nav-one")
    result.stdout.fnmatch_lines(["*ERROR at setup of case?nav-one?*", "benchmark_cases/recordings/all.jsonl:1: *"])


def test_a_failure_in_a_users_own_hook_keeps_its_place_with_tb_line(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pytest
        def pytest_runtest_call(item):
            pytest.fail("no sandbox today")
        """
    )
    result = project.runpytest(BAD, "--tb=line", "-k", "nav-one")
    result.stdout.fnmatch_lines(["*conftest.py:3: Failed: no sandbox today"])


@THOROUGHLY
def test_the_command_runs_the_failed_case_again_as_it_was_run(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    """The ini file sets other values; the command line took them back to their defaults."""
    project.makeini("[pytest]\naddopts = --mapsat-max-turns=2\nmapsat_fail_on = none\n")
    (project.path / "my cases").mkdir()
    (project.path / "benchmark_cases").rename(project.path / "my cases" / "suite $1")
    options = ("--mapsat-cases=my cases", "--mapsat-user=silent", "--mapsat-trials=2", "--mapsat-timeout=12.5")
    options += ("--mapsat-max-turns=10", "--mapsat-fail-on=hard,facts", "-k", "nav-two")
    first = _run(project, workers, BAD, *options)
    first.assert_outcomes(failed=2)
    commands = sorted(_again(first))
    assert commands == [
        f"pytest 'my cases/suite $1/nav/a.yaml::case[nav-two-t{trial}]' --mapsat-agent=bad:agent --mapsat-user=silent "
        "--mapsat-fail-on=facts,hard --mapsat-max-turns=10 --mapsat-timeout=12.5 --mapsat-trials=2"
        for trial in (1, 2)
    ]
    again = project.runpytest(*shlex.split(commands[1])[1:])
    again.assert_outcomes(failed=1)
    assert _again(again) == commands[1:]


@THOROUGHLY
def test_the_command_says_where_pytest_was_told_to_look(
    project: pytest.Pytester, workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a folder below, with an ini file and an ini value of its own."""
    below = project.mkdir("below")
    (below / "other.ini").write_text("[pytest]\n")
    (below / "hidden").mkdir()
    (below / "hidden" / "agents.py").write_text(tiny_suite.BAD)
    monkeypatch.chdir(below)
    options = ("-c", "other.ini", "--rootdir=..", "-o", "pythonpath=hidden", "--mapsat-cases=../benchmark_cases")
    first = project.runpytest_subprocess("--mapsat-agent=agents:agent", *options, *workers)
    first.assert_outcomes(failed=3)
    command = next(command for command in _again(first) if "nav-one" in command)
    again = project.runpytest_subprocess(*shlex.split(command)[1:])
    again.assert_outcomes(failed=1)
    assert _again(again) == [command]


def test_every_option_that_may_change_a_case_can_stand_in_the_command() -> None:
    options = list(OPTIONS)
    request = RunRequest(agent="a:b", user="u", judge="j")
    words = shlex.split(again_command(request, "x::case[y]", options))
    names = {word.partition("=")[0] for word in words if word.startswith("--")}
    of_the_run = {
        *("cases", "fail-under", "allow-undecided", "save", "resume", "report", "shard", "sample"),
        *("compare", "max-drop", "inconclusive"),
        *("cache", "max-cost", "model-cache", "allow-hosts"),  # how models are asked, not what comes of it
        *("unrecorded", "tools"),  # what they answered is a recording by then
        *("concurrency", "executor", "isolate"),  # where an episode runs, not what comes of it
        *("metrics", "http", "agent-build"),  # they stand in the ini file, or in the suite
    }
    assert names == {f"--mapsat-{option}" for option in options if option not in of_the_run}


def test_a_file_that_looks_like_an_option_is_given_as_a_file() -> None:
    request = RunRequest(agent="a b:c", user="scripted", judge="checks")
    assert again_command(request, "-x.yaml::case[y]") == "pytest './-x.yaml::case[y]' '--mapsat-agent=a b:c'"


@THOROUGHLY
def test_a_soft_requirement_that_is_met_in_part_is_told(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    one = tiny_suite.case("nav-one")
    one["truth"]["requirements"][2] = LEVELS
    (project.path / "benchmark_cases" / "nav" / "a.yaml").write_text(json.dumps([one]))
    good = "--mapsat-agent=good:agent"
    asserted = _run(project, workers, good, "--mapsat-fail-on=soft", "-k", "nav-one")
    asserted.stdout.fnmatch_lines(
        ["broken: z2", "preference met in part (0.25 of 1): z2", "*rule    a cafe is near", "* why *"]
    )
    other = _run(project, workers, BAD, "--mapsat-fail-on=hard", "-k", "nav-one")
    other.stdout.fnmatch_lines(["also missed, without failing the item: z2 (soft)"])


@THOROUGHLY
def test_all_that_a_judge_says_of_a_failed_requirement_is_shown(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    """Long reasons are wrapped, never cut, and every quotation stands beside its place."""
    words = [f"reason{number}" for number in range(80)]
    quotes = [Quote(turn=1, start=number, end=number + 1, text=f"word{number}") for number in range(5)]
    label = Label(requirement="z1", kind="hard", outcome="failed", value=0, why=" ".join(words), quotes=tuple(quotes))
    project.makepyfile(
        judge=f"""
        from pytest_mapsat.model import Label
        LABEL = Label.model_validate_json({label.model_dump_json()!r})
        """
    )
    project.makeconftest(
        """
        import pytest_mapsat as mapsat
        from judge import LABEL

        @mapsat.check(name="open-now")
        def open_now(episode):
            return mapsat.Finding(False, LABEL.why, quotes=LABEL.quotes)
        """
    )
    one = tiny_suite.case("nav-one")
    one["truth"]["requirements"][1]["check"] = "open-now"
    (project.path / "benchmark_cases" / "nav" / "a.yaml").write_text(json.dumps([one]))
    text = " ".join(" ".join(_failures(_run(project, workers, BAD, "-k", "nav-one"))).split())
    assert " ".join(words) in text
    assert all(f"turn 1, chars {number}-{number + 1}: “word{number}”" in text for number in range(5))


@THOROUGHLY
def test_what_is_odd_about_recorded_dialogues_is_shown_with_their_cases(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    answer = {"turn_index": 1, "role": "assistant", "content": "Blue Bay"}
    end = {"turn_index": 1, "role": "user", "content": "Thanks", "is_stop": True}
    turns = [answer, end, {"turn_index": 2, "role": "assistant", "content": "More"}]
    lines = [{"case_id": case, "turns": turns} for case in ("nav-one", "nav-two")]
    lines.append({"case_id": "find-one", "turns": [{"turn_index": 0, "role": "user", "content": "Other"}, answer]})
    (project.path / "old.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = _run(project, workers, "--mapsat-agent=recorded:old.jsonl", "--mapsat-save=run.json")
    summary = " ".join(result.stdout.str().partition(" mapsat ")[2].split())
    assert "warning the recorded dialogue begins with another query than the case's (find-one)" in summary
    assert "warning the recorded dialogue goes on for 1 messages after its end (nav-one, nav-two)" in summary
    assert "warning the recorded dialogue has no query; the case's own was put in front (nav-one, nav-two)" in summary
    run = saved(project)
    assert len(run["manifest"]["warnings"]) == 3
    assert [len(case["warnings"]) for case in run["cases"]] == [1, 2, 2]


def test_the_text_of_a_failure_fits_a_narrow_terminal_with_each_metric_beside_its_value(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = project.runpytest_subprocess("--mapsat-agent=bad:agent", "-k", "nav-one").outlines
    first, last = (
        next(at for at, line in enumerate(lines) if words in line) for words in ("case[nav-one]", "run it again")
    )
    text = lines[first:last]
    assert max(map(len, text)) <= 60
    scores = [line for line in text if re.match(r"(requests|efficiency|brevity) [0-9]", line)]
    assert scores
    assert all(re.fullmatch(r"([a-z]+(.turn)? [0-9.]+( to [0-9.]+)?(  |$))+", line) for line in scores), scores


@EVERYWHERE
def test_a_quiet_run_shows_one_reason_for_each_failed_case_and_the_report_files_show_all(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    many = [tiny_suite.case(f"nav-{number}") for number in range(50)]
    (project.path / "benchmark_cases" / "nav" / "a.yaml").write_text(json.dumps(many))
    recordings = "".join(json.dumps(tiny_suite.recording(case["id"])) + "\n" for case in many)
    (project.path / "benchmark_cases" / "recordings" / "all.jsonl").write_text(recordings)
    loud = "def agent(message, tools):\n    print('word\\n' * 9)\n    return 'I suggest Old Mill.'\n"
    project.makepyfile(loud=loud)
    result = _run(project, workers, "--mapsat-agent=loud:agent", "-q", "--junitxml=j.xml", "-k", "nav-")
    lines = result.stdout.lines
    assert len(lines) < 165
    assert lines.count("hard z1 failed: no reply says 'Blue Bay'") == 50
    assert not any("word" in line or "dialogue and calls" in line for line in lines)
    assert (project.path / "j.xml").read_text().count("dialogue and calls:") == 50


def test_a_quiet_run_shows_what_a_typed_style_asks_for(project: pytest.Pytester) -> None:
    result = project.runpytest(BAD, "-q", "--tb=long", "-k", "nav-one")
    result.stdout.fnmatch_lines(["dialogue and calls:", "run it again: *"])


def test_a_quiet_run_leaves_the_failures_of_other_tests_as_they_are(project: pytest.Pytester) -> None:
    project.makepyfile(test_other="def test_other():\n    assert 'left' == 'right'\n")
    result = project.runpytest(BAD, "-q")
    result.stdout.fnmatch_lines(["*test_other.py:2: AssertionError"])


def test_a_quiet_run_tells_how_many_trials_of_a_case_passed(project: pytest.Pytester) -> None:
    result = project.runpytest(BAD, "-q", "--mapsat-trials=2/3", "-k", "nav-one")
    result.stdout.fnmatch_lines(["*nav-one passed 0 of 3 trials, 2 are needed; failed: trial 1, 2, 3"])
    assert "dialogue and calls" not in result.stdout.str()
