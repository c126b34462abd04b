"""What other plugins do to items, reports and the exit status cannot make a red run green."""

import os
import sys

import pytest
from workers import EVERYWHERE

HOW_TO_HIDE = {
    "a report of its own": """
        import pytest
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_makereport(item, call):
            report = pytest.TestReport.from_item_and_call(item, call)
            report.outcome, report.longrepr = "passed", None
            return report
        """,
    "a call that passes whatever happens": """
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call():
            try:
                yield
            except BaseException:
                pass
        """,
    "a skip in place of a failure": """
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call():
            try:
                yield
            except BaseException:
                pytest.skip("known")
        """,
    "an expected failure that no mark expects": """
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            if report.when == "call" and report.failed:
                report.outcome, report.wasxfail = "skipped", "quarantined"
            return report
        """,
    "an expected failure in place of a failure": """
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call():
            try:
                yield
            except BaseException:
                pytest.xfail("known")
        """,
}


@pytest.mark.parametrize("how", HOW_TO_HIDE)
def test_a_hook_that_hides_failures_is_told_and_turns_nothing_green(project: pytest.Pytester, how: str) -> None:
    project.makeconftest(HOW_TO_HIDE[how])
    result = project.runpytest("--mapsat-agent=bad:agent")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    told = str(result.stdout).partition("warning    a plugin or a conftest.py hides these failures")[2]
    assert told.count("::case[") == 3


def test_a_failed_case_that_a_hook_calls_expected_is_told_beside_a_pass_rule(project: pytest.Pytester) -> None:
    project.makeconftest(HOW_TO_HIDE["an expected failure that no mark expects"])
    result = project.runpytest("--mapsat-agent=bad:agent", "--mapsat-trials=1/2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_hidden_failure_is_told_with_workers_too(project: pytest.Pytester) -> None:
    project.makeconftest(HOW_TO_HIDE["a skip in place of a failure"])
    result = project.runpytest("--mapsat-agent=bad:agent", "-n", "2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["warning    a plugin or a conftest.py hides these failures*"])


def test_a_failure_that_a_mark_expects_is_not_hidden(project: pytest.Pytester) -> None:
    project.makeconftest(
        "import pytest\ndef pytest_itemcollected(item): item.add_marker(pytest.mark.xfail(reason='one day'))\n"
    )
    result = project.runpytest("--mapsat-agent=bad:agent")
    result.assert_outcomes(xfailed=3)
    assert result.ret == pytest.ExitCode.OK


def test_failures_of_attempts_that_were_run_again_are_not_hidden(project: pytest.Pytester) -> None:
    pytest.importorskip("pytest_rerunfailures")
    result = project.runpytest("--mapsat-agent=bad:agent", "--reruns", "1", "-x")
    result.stdout.no_fnmatch_line("error*")


@pytest.mark.parametrize("way", ["session.exitstatus = 0", "pytest.exit('enough', returncode=0)"])
def test_the_end_of_the_session_cannot_turn_a_red_run_green(project: pytest.Pytester, way: str) -> None:
    project.makeconftest(f"import pytest\n@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session): {way}\n")
    assert project.runpytest("--mapsat-agent=good:agent", "--mapsat-fail-under=ar=1").ret == 1
    assert project.runpytest("--mapsat-agent=good:agent").ret == 0


@pytest.mark.parametrize("hook", ["sessionfinish(session)", "terminal_summary(config)", "unconfigure(config)"])
def test_an_exit_with_status_0_at_the_end_is_no_result(project: pytest.Pytester, hook: str) -> None:
    project.makeconftest(f"import sys\ndef pytest_{hook}: sys.exit(0)\n")
    red = project.runpytest_subprocess("--mapsat-agent=good:agent", "--mapsat-fail-under=ar=1")
    assert red.ret != pytest.ExitCode.OK
    green = project.runpytest_subprocess("--mapsat-agent=good:agent")
    assert green.ret == pytest.ExitCode.OK


def test_a_cleanup_that_sets_the_status_turns_nothing_green(project: pytest.Pytester) -> None:
    project.makeconftest(
        "def pytest_sessionstart(session):\n    session.config.add_cleanup(lambda: setattr(session, 'exitstatus', 0))\n"
    )
    assert project.runpytest("--mapsat-agent=good:agent", "--mapsat-fail-under=ar=1").ret == 1


def test_an_agent_that_keeps_pytest_from_summing_up_ends_no_green_run(project: pytest.Pytester) -> None:
    project.makepyfile(
        audits="""
        import sys

        def hook(event, arguments):
            if event == "open":
                raise SystemExit(0)

        def agent(message):
            sys.addaudithook(hook)
            return "No."
        """
    )
    assert project.runpytest_subprocess("--mapsat-agent=audits:agent").ret != pytest.ExitCode.OK


def test_a_report_hook_cannot_turn_the_gate(project: pytest.Pytester) -> None:
    project.makeconftest("def pytest_mapsat_report(run): object.__setattr__(run.gate, 'outcome', 'passed')\n")
    assert project.runpytest("--mapsat-agent=good:agent", "--mapsat-fail-under=ar=1").ret == 1


def test_a_named_agent_whose_session_ends_before_the_collection_is_red(project: pytest.Pytester) -> None:
    project.makeconftest("import pytest\ndef pytest_sessionstart(): pytest.exit('not today', returncode=0)\n")
    result = project.runpytest("--mapsat-agent=good:agent")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["error      the run ended before anything was collected"])


@EVERYWHERE
def test_a_file_whose_name_is_not_utf8_is_an_error_that_names_it(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    folder = os.fsencode(project.path / "benchmark_cases" / "nav")
    os.rename(folder + b"/a.yaml", folder + b"/a\xff.yaml")  # noqa: PTH104  a Path would need a text
    result = project.runpytest("--mapsat-agent=good:agent", *workers)
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines([r"benchmark_cases/nav/a\xff.yaml: has a name that is not UTF-8*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_lost_trials_are_named_by_their_case_where_another_file_cannot_be_read(project: pytest.Pytester) -> None:
    (project.path / "benchmark_cases" / "nav" / "a.yaml").write_text("[")
    result = project.runpytest("-v", "--mapsat-agent=good:agent", "--mapsat-trials=2")
    result.stdout.fnmatch_lines(["lost*find-one trial 1: *", "*find-one trial 2: *"])
    # Without -v the place that could not be read stands alone: the rest follows from it.
    result = project.runpytest("--mapsat-agent=good:agent", "--mapsat-trials=2")
    result.stdout.fnmatch_lines(["mapsat*INVALID*2 lost*", "gate*INVALID: 1 place could not be read: *a.yaml"])
    result.stdout.no_fnmatch_line("lost*find-one trial 1: *")


ENDS = {
    "in a reply": "import os\n\ndef agent(message):\n    os._exit(0)\n",
    "in a reply, on a loop": "import os\n\nasync def agent(message):\n    os._exit(0)\n",
    "at import": "from os import _exit\n_exit(0)\n",
}


@pytest.mark.parametrize("capture", ["-s", "--capture=fd"])
@pytest.mark.parametrize("where", ENDS)
def test_an_agent_that_ends_the_process_ends_no_green_run(project: pytest.Pytester, where: str, capture: str) -> None:
    project.makepyfile(ends=ENDS[where])
    result = project.runpytest_subprocess("--mapsat-agent=ends:agent", capture)
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    # Of several episodes on a loop any may come first.
    during = "" if "reply" not in where else " during *" if "loop" in where else " during *nav-one*"
    result.stderr.fnmatch_lines([f"mapsat: os._exit(0) ended pytest{during}, before the run had come to a result*"])


LATER = {
    "when Python ends": "import atexit, os\natexit.register(os._exit, 0)\n",
    "when Python ends, looked up then": "import atexit, os\natexit.register(lambda: os._exit(0))\n",
    "in a thread that outlives the run": (
        "import os, threading\n"
        "def leave():\n    threading.main_thread().join()\n    os._exit(0)\n"
        "threading.Thread(target=leave).start()\n"
    ),
}


@pytest.mark.parametrize("when", LATER)
def test_what_ends_the_process_after_a_red_run_ends_it_red(project: pytest.Pytester, when: str) -> None:
    project.makepyfile(later=f"{LATER[when]}def agent(message):\n    return 'Nowhere.'\n")
    assert project.runpytest_subprocess("--mapsat-agent=later:agent").ret == pytest.ExitCode.TESTS_FAILED


def test_a_program_that_runs_pytest_twice_ends_as_the_second_run_did(project: pytest.Pytester) -> None:
    project.makepyfile(
        red="def agent(message):\n    return 'Nowhere.'\n",
        twice=(
            "import os, pytest\n"
            "first = pytest.main(['--mapsat-agent=red:agent'])\n"
            "second = pytest.main(['--mapsat-agent=good:agent'])\n"
            "print('told', int(first), int(second), flush=True)\nos._exit(0)\n"
        ),
    )
    result = project.run(sys.executable, "-m", "twice")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["told 1 0"])


def test_a_copy_of_the_process_may_end_itself_and_so_may_everybody_afterwards(project: pytest.Pytester) -> None:
    project.makepyfile(
        copies=(
            "import os\nfrom os import _exit\n\ndef agent(message):\n"
            "    copy = os.fork()\n"
            "    if not copy:\n        os._exit(0)\n"
            "    assert os.waitpid(copy, 0)[1] == 0\n"
            "    return 'Blue Bay.'\n"
        ),
        around=(
            "import os, pytest\n"
            "status = pytest.main(['--mapsat-agent=copies:agent', '-rP'])\n"
            "print('ended', int(status), flush=True)\n"
            "import copies\ncopies._exit(0)\n"
        ),
    )
    result = project.run(sys.executable, "-m", "around")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*3 passed*", "ended 0"])
