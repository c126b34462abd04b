"""Checks in Python: a conftest adds one in three lines, and what happens where it breaks, loops, or is not there."""

import functools
import json
import sys

import pytest
import tiny_suite
from saved_runs import saved

from pytest_mapsat import registry as registry_room
from pytest_mapsat.cli import main
from pytest_mapsat.judges import python_check
from pytest_mapsat.registry import added_checks, check, exchange

CONFTEST = """\
import pytest_mapsat as mapsat

@mapsat.check
def short(episode, most=50):
    words = sum(len(reply.split()) for reply in episode.replies)
    assert words <= most
"""


@pytest.fixture
def registry():
    """An empty registry, for as long as the test takes."""
    former = exchange({})
    yield
    exchange(former)


def add_case(project: pytest.Pytester, written: object = "short") -> None:
    case = tiny_suite.case("brief")
    case["truth"]["requirements"].append(
        {"id": "z3", "text": "it is short", "kind": "hard", "weight": 1, "check": written}
    )
    (project.path / "benchmark_cases" / "nav" / "brief.yaml").write_text(json.dumps(case))
    (project.path / "benchmark_cases" / "recordings" / "brief.jsonl").write_text(
        json.dumps(tiny_suite.recording("brief"))
    )


def run(project: pytest.Pytester, conftest: str = CONFTEST, written: object = "short") -> pytest.RunResult:
    project.makeconftest(conftest)
    add_case(project, written)
    return project.runpytest("--mapsat-agent=good:agent", "benchmark_cases/nav/brief.yaml", "--mapsat-save=run.json")


def label(project: pytest.Pytester) -> dict:
    (card,) = saved(project)["cases"]
    return next(label for label in card["labels"] if label["requirement"] == "z3")


@pytest.mark.parametrize("written", ["short", {"kind": "short"}, {"kind": "short", "most": 50}, ["short"]])
def test_a_case_names_a_check_of_a_conftest(project: pytest.Pytester, written: object) -> None:
    run(project, written=written).assert_outcomes(passed=1)
    assert label(project)["outcome"] == "passed"


def test_a_bare_assertion_that_fails_says_why_as_pytest_does(project: pytest.Pytester) -> None:
    result = run(project, written={"kind": "short", "most": 1})
    result.assert_outcomes(failed=1)
    why = label(project)["why"]
    assert why.startswith("assert ")
    assert why.endswith("<= 1")
    result.stdout.fnmatch_lines(["*assert * <= 1*"])


def run_each(project: pytest.Pytester, *bodies: str) -> tuple[pytest.RunResult, list[dict]]:
    """Run a check with each body on a case of its own; return the run, and the label of each."""
    conftest, cases = ["import pytest_mapsat as mapsat"], []
    for number, body in enumerate(bodies):
        conftest += ["", "@mapsat.check", f"def short_{number}(episode):", f"    {body}"]
        case = tiny_suite.case(f"brief-{number}")
        case["truth"]["requirements"].append(
            {"id": "z3", "text": "it is short", "kind": "hard", "weight": 1, "check": f"short_{number}"}
        )
        cases.append(case)
    project.makeconftest("\n".join(conftest))
    tiny_suite.write_suite(project.path / "brief", {"brief.yaml": cases})
    result = project.runpytest("--mapsat-agent=good:agent", "brief", "--mapsat-save=run.json")
    cards = saved(project)["cases"]
    assert len(cards) == len(bodies)
    return result, [next(label for label in card["labels"] if label["requirement"] == "z3") for card in cards]


def test_a_check_may_return_a_bool_or_a_finding(project: pytest.Pytester) -> None:
    returned = {
        "return True": ("passed", "the check short_0 passes"),
        "assert episode.query": ("passed", "the check short_1 passes"),
        "return False": ("failed", "the check short_2 returned False"),
        "return mapsat.Finding(False, 'too long', wanted='fewer words')": ("failed", "too long"),
        "return mapsat.Finding(None, 'nobody can tell')": ("unevaluated", "undecided: nobody can tell"),
        "assert episode.calls[0].tool == 'x', 'another tool was called'": (
            "failed",
            "another tool was called\nassert ",
        ),
        "episode.output['total']": ("failed", "no reply has a structured output"),
    }
    _, labels = run_each(project, *returned)
    for (outcome, why), label in zip(returned.values(), labels, strict=True):
        assert label["outcome"] == outcome
        assert label["why"].startswith(why)


def test_a_check_that_breaks_is_never_a_pass(project: pytest.Pytester) -> None:
    broken = {
        "raise KeyboardInterrupt": "broke on line 5: KeyboardInterrupt: no message",
        "import sys; sys.exit(0)": "broke on line 9: SystemExit: 0",
        "episode.state['none']": "broke on line 13: ",
        "episode.query = 'x'": "broke on line 17: FrozenInstanceError: cannot assign to field 'query'",
        "episode.calls[0].arguments['x'] = 1": "broke on line 21: TypeError: a row is not changed in place",
        "short_5(episode)": "broke on line 25: RecursionError",
        "return 7": "returned int, expected True, False or a Finding",
        "return episode.output.get('valid')": "returned None, expected True, False or a Finding",
        "episode.query == 'x'": "decides nothing: line 37 compares, and what comes of it is lost: write assert",
    }
    result, labels = run_each(project, *broken)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    for number, (why, label) in enumerate(zip(broken.values(), labels, strict=True)):
        assert (label["outcome"], label["blame"]) == ("unevaluated", "judge")
        assert label["why"].startswith(f"the check short_{number} {why}")
    result.stdout.fnmatch_lines(["gate*INVALID: 9 cases lost (judge 9: *"])
    result.assert_outcomes(errors=9)


def test_a_check_that_loops_is_left_after_its_time_and_not_called_again(project, monkeypatch) -> None:
    monkeypatch.setattr(python_check, "SECONDS", 0.2)
    loop = "import time, pytest_mapsat as mapsat\n\n@mapsat.check\ndef short(episode):\n    while True:\n        time.sleep(0.01)\n"
    run(project, loop, ["short", "short"])
    assert label(project)["blame"] == "judge"
    assert "the check short did not return within 0.2 s" in label(project)["why"]
    assert "the check short is not called again" in label(project)["why"]


@pytest.mark.parametrize(
    ("written", "message", "hint"),
    [
        ("shrot", "found 'shrot', expected one of addressed, ", "did you mean 'short'?"),
        ("unheard_of", "or a check in Python (short, ", "@mapsat.check in a conftest adds one"),
        (
            {"kind": "short", "mots": 1},
            "the check short: got an unexpected keyword argument 'mots'",
            "did you mean 'most'?",
        ),
        ({"kind": "short", "least": 1}, "the check short: got an unexpected keyword argument 'least'", "it takes most"),
    ],
)
def test_a_check_or_an_argument_that_is_not_there_is_an_error_in_the_file(
    project: pytest.Pytester, written: object, message: str, hint: str
) -> None:
    result = run(project, written=written)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    output = " ".join(result.stdout.str().split())
    assert "brief.yaml:1" in output
    assert message in output
    assert hint in output


def test_an_argument_that_the_function_needs_must_be_given(project: pytest.Pytester) -> None:
    result = run(project, CONFTEST.replace("most=50", "most"))
    result.stdout.fnmatch_lines(["*the check short: missing a required argument: 'most'*"])


def test_a_check_may_have_a_name_of_its_own(project: pytest.Pytester) -> None:
    run(project, CONFTEST.replace("@mapsat.check", "@mapsat.check(name='few-words')"), "few-words")
    assert label(project)["outcome"] == "passed"


def test_a_check_with_the_name_of_a_built_in_kind_is_refused(project: pytest.Pytester) -> None:
    result = run(project, CONFTEST.replace("def short", "def state"), "said")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*conftest.py:3: 'state' is a built-in kind of check; give this one another name"])


def test_two_checks_of_one_name_are_refused(registry) -> None:
    def short(episode):
        return episode

    check(short)
    check(short)  # a file that is imported twice
    with pytest.raises(ValueError, match=r"two checks are named 'short': .*:\d+ and .*:\d+; rename one of them"):
        check(name="short")(lambda episode: episode)
    assert "short" in added_checks()


@pytest.mark.parametrize("function", [1, "short", len, type])
def test_what_is_no_function_is_refused(registry, function) -> None:
    with pytest.raises(TypeError, match="a check is a function"):
        check(function)


def test_what_returns_no_answer_when_it_is_called_is_refused(registry) -> None:
    async def short(episode):
        return episode

    async def each(episode):
        yield episode

    def one(episode):
        yield episode

    def plain(episode):
        assert episode

    @functools.wraps(plain)
    async def waiting(episode):
        return plain(episode)

    for function, words in (
        (short, "the check short is a coroutine function: write def, not async def"),
        (each, "the check each is an asynchronous generator function: write def"),
        (one, "the check one is a generator function, whose body does not run: write assert or return"),
        (waiting, "the check plain is a coroutine function"),
    ):
        with pytest.raises(TypeError, match=words):
            check(function)
    assert not {"short", "each", "one", "plain"} & added_checks().keys()


ANYWHERE = "import pytest_mapsat as mapsat\nimport rules\n\nshort = mapsat.check(name='short')(rules.short)\n"
RULES = "def short(episode, most=50):\n    assert len(episode.replies) > most\n"


@pytest.fixture
def failed(project: pytest.Pytester) -> pytest.Pytester:
    """A project with a check whose assertion fails, in a module that nobody rewrites, and a saved run of it."""
    (project.path / "rules.py").write_text(RULES)
    run(project, ANYWHERE).assert_outcomes(failed=1)
    return project


def test_python_without_assertions_regrades_no_red_run_green(failed: pytest.Pytester) -> None:
    result = failed.run(sys.executable, "-O", "-m", "pytest_mapsat", "regrade", "run.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["mapsat: Python leaves out every assert (-O or PYTHONOPTIMIZE)*"])


def test_without_assertions_no_check_or_case_in_python_is_taken_for_passed(
    failed: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry_room, "without_assertions", lambda: True)
    monkeypatch.chdir(failed.path)
    usage = pytest.ExitCode.USAGE_ERROR
    for arguments in (
        ["regrade", "run.json"],
        ["lint", "benchmark_cases"],
        ["lint", "benchmark_cases", "-p", "conftest.py"],
        ["review", "run.json"],
        ["record", "good:agent", "--suite", "benchmark_cases"],
    ):
        assert main(arguments) == usage, arguments
        assert "Python leaves out every assert" in capsys.readouterr().err
    agent = "--mapsat-agent=good:agent"
    assert failed.runpytest(agent, "benchmark_cases/nav/brief.yaml").ret == usage
    assert failed.runpytest("-p", "no:cacheprovider").ret != usage  # nothing is judged without an agent
    (failed.path / "conftest.py").unlink()
    (failed.path / "benchmark_cases" / "nav" / "brief.yaml").unlink()
    failed.makepyfile(test_own="def test_own(mapsat_case, mapsat_run):\n    assert mapsat_run()\n")
    assert failed.runpytest(agent, "benchmark_cases").ret == 0  # there is no assertion to leave out
    assert failed.runpytest(agent, "test_own.py").ret == usage
    (failed.path / "benchmark_cases" / "nav" / "conftest.py").write_text(ANYWHERE)  # met while cases are collected
    assert failed.runpytest(agent).ret == usage


PACKAGE = """\
def short(episode, most=50):
    words = sum(len(reply.split()) for reply in episode.replies)
    assert words <= most
"""


def install(project: pytest.Pytester, entry: str, source: str = PACKAGE) -> None:
    project.makepyfile(shop_checks=source)
    info = project.path / "shop_checks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-checks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[pytest_mapsat.checks]\nshort = {entry}\n")


@pytest.mark.parametrize(("most", "outcome"), [(50, "passed"), (1, "failed")])
def test_an_installed_package_adds_a_check(project: pytest.Pytester, most: int, outcome: str) -> None:
    install(project, "shop_checks:short")
    run(project, "", {"kind": "short", "most": most}).assert_outcomes(**{outcome: 1})
    assert ("<= 1" in label(project)["why"]) == (outcome == "failed")


@pytest.mark.parametrize(
    ("entry", "source", "message"),
    [
        ("shop_checks:none", PACKAGE, "pytest_mapsat.checks: shop_checks:none cannot be loaded: AttributeError"),
        ("shop_checks:short", "short = 7", "pytest_mapsat.checks: short = shop_checks:short: a check is a function"),
    ],
)
def test_a_package_whose_check_cannot_be_had_is_a_usage_error(project, entry, source, message) -> None:
    install(project, entry, source)
    result = run(project, "")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])


def label_regraded(project: pytest.Pytester, *options: str) -> dict:
    main(["regrade", "run.json", "--save=run.json", *options])
    return label(project)


def test_a_saved_run_is_regraded_with_the_checks_of_a_module(project: pytest.Pytester) -> None:
    run(project)
    (project.path / "stricter.py").write_text(CONFTEST.replace("most=50", "most=1"))
    assert label_regraded(project, "-p", "stricter.py")["outcome"] == "failed"
    assert label_regraded(project, "-p", "conftest.py")["outcome"] == "passed"


def test_regrade_and_lint_load_the_conftest_of_the_root_by_themselves(project: pytest.Pytester, capsys) -> None:
    run(project)
    assert label_regraded(project)["outcome"] == "passed"
    capsys.readouterr()
    main(["lint", "benchmark_cases"])
    assert "short" not in capsys.readouterr().out


def test_without_the_module_a_check_that_nobody_adds_is_an_error_of_the_case(project: pytest.Pytester, capsys) -> None:
    run(project)
    (project.path / "conftest.py").unlink()
    assert main(["lint", "benchmark_cases"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "found 'short', expected one of addressed" in printed
    assert "@mapsat.check in a conftest adds one" in printed


def test_a_module_that_adds_nothing_is_refused(project: pytest.Pytester, capsys) -> None:
    (project.path / "empty.py").write_text("")
    assert main(["lint", "benchmark_cases", "-p", "empty.py"]) == 2
    assert "-p empty.py: it adds no check with @mapsat.check" in capsys.readouterr().err


def test_a_run_within_a_run_keeps_its_checks_to_itself(project: pytest.Pytester, registry) -> None:
    check(name="outer")(lambda episode: True)
    run(project)
    assert {"outer", "short"} & added_checks().keys() == {"outer"}
