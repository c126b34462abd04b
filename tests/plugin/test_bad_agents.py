"""Agents that raise, hang, or return what is no reply: their own failure, told clearly, and the run goes on."""

import pytest
from saved_runs import saved
from workers import EVERYWHERE

#: What an agent does in one of its episodes, and a word of what is said of it.
BAD = {
    "return None": "returned None",
    "return b'Blue Bay'": "returned a bytes",
    "return 3": "returned an int",
    "return 'x' * 10_000_000": "10,000,000 characters",
    "raise ValueError('boom')": "ValueError: boom (odd.py:",
    "raise SystemExit(3)": "SystemExit: 3",
    "raise SystemExit(0)": "SystemExit: 0",
    "raise KeyboardInterrupt": "KeyboardInterrupt: no message",
    "return bad(message, tools)": "RecursionError: maximum recursion depth exceeded",
    "pytest.skip('no')": "Skipped: no",
    "pytest.xfail('no')": "XFailed: no",
    "pytest.importorskip('nowhere')": "Skipped: could not import 'nowhere'",
    "pytest.exit('no', 0)": "Exit: no",
    "return Reply('Blue Bay', usage={'cost': 10**400})": "bad usage: cost: found",
    "raise Rude": "Rude: its message cannot be read",
}


@EVERYWHERE
def test_it_fails_its_item_is_told_and_never_stops_or_skips_anything(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    bodies = "".join(
        f"def bad_{number}(message, tools):\n    bad = bad_{number}\n    {body}\n\n" for number, body in enumerate(BAD)
    )
    turn = (
        "    while True:\n        number = len(list(PLACE.glob('*.ran')))\n        try:\n            (PLACE / f'{number}.ran').mkdir()\n"
        "            break\n        except FileExistsError:\n            pass\n    return globals()[f'bad_{number}'](message, tools)\n"
    )
    head = (
        "import pathlib\nimport pytest\nfrom pytest_mapsat import Reply\nPLACE = pathlib.Path(__file__).parent\n\n"
        "class Rude(Exception):\n    def __str__(self): raise KeyboardInterrupt\n\n"
    )
    project.makepyfile(odd=f"{head}{bodies}def agent(message, tools):\n{turn}")
    options = ("--mapsat-agent=odd:agent", f"--mapsat-trials={len(BAD)}", "--mapsat-save=run.json", "-k", "nav-one")
    result = project.runpytest_subprocess(*options, *workers)
    result.assert_outcomes(failed=len(BAD), **({} if workers else {"deselected": 2 * len(BAD)}))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "INTERNALERROR" not in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    cards = saved(project)["cases"]
    faults = [card["trajectory"]["fault"] for card in cards]
    assert {fault["blame"] for fault in faults} == {"agent"}
    assert {card["metrics"]["ar"] for card in cards} == {0}
    for told in BAD.values():
        assert any(told in fault["message"] for fault in faults), (told, faults)


def test_one_that_hangs_is_abandoned_and_told(project: pytest.Pytester) -> None:
    project.makepyfile(slow="import time\ndef agent(message, tools):\n    time.sleep(60)\n")
    result = project.runpytest_subprocess("--mapsat-agent=slow:agent", "--mapsat-timeout=0.3", timeout=30)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*0.3*s*"])


def test_one_that_never_stops_asking_ends_at_the_limit(project: pytest.Pytester) -> None:
    project.makepyfile(
        curious="count = 0\ndef agent(message, tools):\n    global count\n    count += 1\n    return f'Which of the {count} colours?'\n"
    )
    result = project.runpytest("--mapsat-agent=curious:agent", "--mapsat-max-turns=2", "-k", "nav-one")
    result.assert_outcomes(failed=1, deselected=2)


def test_arguments_that_do_not_fit_and_tools_that_do_not_exist_are_answered_with_an_error(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        clumsy="""
        def agent(message, tools):
            first = tools.find_poi(query="charger")
            second = tools.search_poi(qeury="charger")
            third = tools.call("search_poi", ["charger"])
            assert all("error" in str(one) for one in (first, second, third))
            return "Blue Bay"
        """
    )
    result = project.runpytest("-v", "--mapsat-agent=clumsy:agent")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["sandbox*9 calls*9 with an error*"])


def test_the_working_directory_and_the_recursion_limit_are_the_next_episodes_again(project: pytest.Pytester) -> None:
    project.makepyfile(
        odd=(
            "import os, sys\nfrom good import agent as good\n\ndef agent(message, tools):\n    assert os.getcwd() != '/'\n"
            "    assert sys.getrecursionlimit() != 5000\n    os.chdir('/')\n    sys.setrecursionlimit(5000)\n    return good(message, tools)\n"
        )
    )
    project.runpytest("--mapsat-agent=odd:agent").assert_outcomes(passed=3)


@pytest.mark.parametrize(
    "body",
    [
        "    while True:\n        try:\n            await asyncio.sleep(0.01)\n        except BaseException:\n            pass\n",
        "    await asyncio.to_thread(time.sleep, 600)\n",
    ],
    ids=["swallows its cancellation", "waits in a thread"],
)
def test_a_coroutine_that_does_not_end_holds_up_neither_the_run_nor_its_end(
    project: pytest.Pytester, body: str
) -> None:
    project.makepyfile(odd=f"import asyncio, time\nasync def agent(message, tools):\n{body}")
    result = project.runpytest_subprocess("--mapsat-agent=odd:agent", "--mapsat-timeout=0.3", timeout=60)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*the episode was not over after 0.3 s*"])


def test_a_name_that_no_tool_has_is_kept_only_as_far_as_tools_have_names(project: pytest.Pytester) -> None:
    project.makepyfile(odd="def agent(message, tools):\n    tools.call('x' * 1_000_000, {})\n    return 'Nowhere.'\n")
    project.runpytest("--mapsat-agent=odd:agent", "--mapsat-save=run.json")
    assert (project.path / "run.json").stat().st_size < 100_000
