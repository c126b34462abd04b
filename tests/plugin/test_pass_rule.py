"""--mapsat-trials=K/N: failed trials are missed, the case decides, and nothing red turns green."""

import pytest
from workers import THOROUGHLY

#: Names the closed charger in the second of four episodes, counted over all processes.
FLAKY = """\
import itertools, pathlib

def agent(message, tools):
    pois = tools.search_poi(query="charger")["pois"]
    place = next(poi for poi in pois if poi["open"])
    folder = pathlib.Path(__file__).parent / "turns"
    folder.mkdir(exist_ok=True)
    for number in itertools.count():
        try:
            (folder / str(number)).touch(exist_ok=False)
            break
        except FileExistsError:
            pass
    return f"I suggest {pois[0]['name'] if number % 4 == 1 else place['name']}."
"""


@pytest.fixture
def flaky(project: pytest.Pytester) -> pytest.Pytester:
    """One case, whose second of four trials fails; further runs go on so."""
    project.makepyfile(flaky=FLAKY)
    return project


def run(project: pytest.Pytester, rule: str, *options: str) -> pytest.RunResult:
    return project.runpytest(
        "--mapsat-agent=flaky:agent", f"--mapsat-trials={rule}", "-k", "nav-one", "-p", "no:cacheprovider", *options
    )


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_case_passes_when_enough_of_its_trials_do(flaky: pytest.Pytester, workers: tuple[str, ...]) -> None:
    result = run(flaky, "3/4", "-v", *workers)
    assert result.ret == 0
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["missed"], outcomes.get("failed", 0)) == (3, 1, 0)
    result.stdout.fnmatch_lines(["*nav-one-t* MISSED*"] if not workers else ["*MISSED*nav-one-t*"])


def test_the_last_trial_of_a_case_that_fails_says_so(flaky: pytest.Pytester) -> None:
    (flaky.path / "turns").mkdir()
    (flaky.path / "turns" / "0").touch()
    # The first and the fifth trial fail; the fifth is the last.
    result = run(flaky, "4/5")
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["missed"], outcomes["failed"]) == (3, 1, 1)
    result.stdout.fnmatch_lines(["*nav-one passed 3 of 5 trials, 4 are needed; failed: trial 1, 5*"])


def test_a_trial_that_passed_bears_the_failure_of_its_case(flaky: pytest.Pytester) -> None:
    (flaky.path / "turns").mkdir()
    (flaky.path / "turns" / "0").touch()
    result = run(flaky, "5/6")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*case?nav-one-t6?*",
            "nav-one passed 4 of 6 trials, 5 are needed; failed: trial 1, 5",
            "of trial 1:",
            "*hard constraint broken: z1*",
            "FAILED*nav-one-t6*",
        ]
    )


@THOROUGHLY
def test_every_case_that_fails_is_one_failure(flaky: pytest.Pytester, workers: tuple[str, ...]) -> None:
    result = flaky.runpytest(
        "--mapsat-agent=bad:agent", "--mapsat-trials=1/2", "-p", "no:cacheprovider", "--junitxml=j.xml", *workers
    )
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert (outcomes["missed"], outcomes["failed"]) == (3, 3)
    assert 'failures="3" skipped="3"' in (flaky.path / "j.xml").read_text()


def test_trials_that_did_not_run_are_no_reason_to_pass(flaky: pytest.Pytester) -> None:
    result = flaky.runpytest(
        "--mapsat-agent=bad:agent", "--mapsat-trials=1/2", "-k", "nav-one-t1", "-p", "no:cacheprovider"
    )
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*too few trials ran to decide by the pass rule: nav-one*"])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--mapsat-trials=5/4",), "expected K/N"),
        (("--mapsat-trials=x",), "found 'x', expected N, or K/N"),
        (("--mapsat-trials=2/",), "found '2/', expected N, or K/N"),
    ],
)
def test_a_rule_that_cannot_be_is_a_usage_error(flaky: pytest.Pytester, options: tuple[str, ...], told: str) -> None:
    result = flaky.runpytest("--mapsat-agent=good:agent", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{told}*"])
