"""--mapsat-unrecorded=record: what no recording answers, the user's own tools do, once."""

import json
import sys

import pytest
from office_suite import recordings, write_office

RECORDING = ("--mapsat-agent=bot:agent", "--mapsat-unrecorded=record", "--mapsat-tools=office:tools")


@pytest.fixture
def office(pytester: pytest.Pytester) -> pytest.Pytester:
    suite = write_office(pytester.path, "review", "talk")
    pytester.run(sys.executable, "-m", "pytest_mapsat", "record", "office:tools", "--case", "talk")
    (pytester.path / "calls.txt").unlink()
    assert len(recordings(suite)) == 2
    return pytester


def test_gaps_are_filled_from_own_tools_and_replayed_from_then_on(office: pytest.Pytester) -> None:
    result = office.runpytest_subprocess("-v", *RECORDING, "-n", "2", "--mapsat-trials=2", "--mapsat-save=run.json")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        ["sandbox    8 calls: 4 exact, 4 recorded", "own * 2 answers of your own tools added to recorded.jsonl*"]
    )
    run = (office.path / "run.json").read_text()
    assert json.loads(run)["manifest"]["options"]["on_miss"] == "record"
    assert "top-secret-value" not in run
    kept = recordings(office.path / "benchmark_cases")
    assert [(one["case"], one["tool"]) for one in kept] == [
        (case, tool) for case in ("review", "talk") for tool in ("book_room", "find_rooms")
    ]
    assert "tok-of" not in json.dumps(kept)
    (office.path / "calls.txt").unlink()
    office.runpytest_subprocess("-v", "--mapsat-agent=bot:agent").stdout.fnmatch_lines(["sandbox    4 calls: 4 exact"])
    assert not (office.path / "calls.txt").exists(), "nothing is asked without being told to"


def test_a_tool_that_gives_no_answer_leaves_a_miss_that_says_so(office: pytest.Pytester) -> None:
    office.makepyfile(bot="def agent(message, tools):\n    return 'Cedar ' + tools.book_room(room_id='r9')['status']\n")
    result = office.runpytest("-v", *RECORDING)
    result.stdout.fnmatch_lines(
        ["sandbox    2 calls: 2 miss", "own * no answer: case review: book_room raised LookupError: no room r9*"]
    )
    assert len(recordings(office.path / "benchmark_cases")) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mapsat-unrecorded=record"], "*asks your own tools: name them with --mapsat-tools=module:attr*"),
        (["--mapsat-tools=office:tools"], "*only with --mapsat-unrecorded=record; give both*"),
        (["--mapsat-unrecorded=recrod"], "*found 'recrod', expected strict or record*"),
        (["--mapsat-unrecorded=record", "--mapsat-tools=office:nothing"], "*'office' has no attribute 'nothing'*"),
    ],
)
def test_options_that_do_not_fit_are_a_usage_error(office: pytest.Pytester, options: list[str], message: str) -> None:
    result = office.runpytest("--mapsat-agent=bot:agent", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_a_suite_that_cannot_be_written_turns_the_run_red(office: pytest.Pytester) -> None:
    recorded = office.path / "benchmark_cases" / "recordings" / "recorded.jsonl"
    office.makeconftest(
        f"""
        import pathlib
        def pytest_runtest_teardown():
            path = pathlib.Path({str(recorded)!r})
            if not path.is_dir():
                path.unlink()
                path.mkdir()
        """
    )
    result = office.runpytest(*RECORDING, "-k", "review")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["error *--mapsat-unrecorded: IsADirectoryError: *"])
