"""What a suite says of the item's assertion, the limits of an episode and the user, where nobody else does."""

import pytest
import tiny_suite
from saved_runs import saved

SAYS = "fail_on: [soft]\nepisode: {max_turns: 3, timeout: 7.5, user: silent}\n"


@pytest.fixture
def saying(project: pytest.Pytester) -> pytest.Pytester:
    """A project whose suite says what fails an item and how long an episode may take."""
    (project.path / "benchmark_cases" / "suite.yaml").write_text(tiny_suite.MANIFEST + SAYS)
    return project


def options_of(project: pytest.Pytester, *given: str) -> tuple[object, ...]:
    result = project.runpytest("--mapsat-agent=good:agent", "--mapsat-save=run.json", *given)
    manifest = saved(project)["manifest"]
    options = manifest["options"]
    return options["assert"], options["max_turns"], options["timeout_seconds"], manifest["user"], result.ret


def test_a_suite_has_a_say_where_nobody_names_the_option(saying):
    assert options_of(saying) == (["soft"], 3, 7.5, "silent", 1)
    named = ("--mapsat-fail-on=hard", "--mapsat-timeout=60", "--mapsat-user=scripted")
    assert options_of(saying, *named) == (["hard"], 3, 60, "scripted", 0)
    saying.makeini("[pytest]\naddopts = --mapsat-max-turns=5\nmapsat_fail_on = none\n")
    assert options_of(saying) == (["none"], 5, 7.5, "silent", 0)


def test_suites_that_differ_need_the_option(saying):
    other = tiny_suite.write_suite(saying.path / "other", {"c.yaml": [tiny_suite.case("elsewhere")]})
    (other / "suite.yaml").write_text(tiny_suite.MANIFEST.replace("tiny", "more") + "fail_on: [hard]\n")
    both = ("--mapsat-agent=good:agent", "--mapsat-cases=benchmark_cases", "--mapsat-cases=other")
    result = saying.runpytest(*both)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--mapsat-fail-on: the suites differ, tiny says soft and more hard: give the option*"]
    )
    assert saying.runpytest(*both, "--mapsat-fail-on=hard").ret == 0


def test_a_suite_that_is_met_later_may_not_say_otherwise(saying):
    nested = tiny_suite.write_suite(saying.path / "sub" / "other", {"c.yaml": [tiny_suite.case("elsewhere")]})
    (nested / "suite.yaml").write_text(tiny_suite.MANIFEST + "episode: {max_turns: 2}\n")
    result = saying.runpytest("--mapsat-agent=good:agent", "sub")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "*suite.yaml:9: episode: it says 2 for max-turns, and this run has begun with 10 (name the suite with --mapsat-cases*"
        ]
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("assert: [hard]", "suite.yaml:9: assert*is now fail_on*"),
        ("fail_on: [hrd]", "suite.yaml:9: fail_on*: found 'hrd', expected one of hard, facts*did you mean 'hard'?*"),
        ("fail_on: [none, hard]", "suite.yaml:9: fail_on: *found 'none' among others, expected it alone*"),
        ("episode: {max_turns: 0}", "suite.yaml:9: episode.max_turns: found 0*"),
        ("episode: {turns: 3}", "suite.yaml:9: episode.turns: is not a known field*"),
    ],
)
def test_a_wrong_default_is_told_with_its_line(project, line, said):
    (project.path / "benchmark_cases" / "suite.yaml").write_text(tiny_suite.MANIFEST + line + "\n")
    result = project.runpytest("--mapsat-agent=good:agent", "benchmark_cases/nav/a.yaml")
    result.stdout.fnmatch_lines([f"*{said}"])


def test_a_folder_named_data_holds_no_cases(project):
    folder = project.path / "benchmark_cases" / "data"
    folder.mkdir()
    (folder / "raw.jsonl").write_text("this is no case\n")
    result = project.runpytest("--mapsat-agent=good:agent")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["not read   *data: holds 1 files in YAML or JSONL*", "         *the folder is kept for data*"]
    )
