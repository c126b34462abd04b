"""Agents that raise, hang, or return what is no reply: their own failure, told clearly, and the run goes on."""

import pytest
from workers import EVERYWHERE, THOROUGHLY

RETURNS = {
    "nothing": ("return None", "*None*"),
    "bytes": ("return b'Blue Bay'", "*bytes*"),
    "number": ("return 3", "*int*"),
    "flood": ("return 'x' * 10_000_000", "*10000000*|*10,000,000*"),
    "raises": ("raise ValueError('boom')", "*ValueError: boom*"),
    "exits": ("raise SystemExit(3)", "*SystemExit*"),
    "recurses": ("return agent(message, tools)", "*RecursionError*"),
}


@pytest.mark.parametrize("name", RETURNS)
def test_it_fails_the_item_and_scores_zero(project: pytest.Pytester, name: str) -> None:
    body, told = RETURNS[name]
    project.makepyfile(odd=f"def agent(message, tools):\n    {body}\n")
    result = project.runpytest("--mapsat-agent=odd:agent")
    result.assert_outcomes(failed=3)
    text = result.stdout.str()
    assert any(_matches(text, pattern) for pattern in told.split("|")), text
    assert "INTERNALERROR" not in text
    assert "Traceback" not in text
    result.stdout.fnmatch_lines(["all*0.000*0/3"])


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
    result = project.runpytest("--mapsat-agent=clumsy:agent")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["sandbox*9 calls*9 with an error*"])


BREAKS = {
    "interrupts": "raise KeyboardInterrupt",
    "exits": "raise SystemExit(0)",
    "skips": "import pytest; pytest.skip('no')",
    "xfails": "import pytest; pytest.xfail('no')",
    "imports or skips": "import pytest; pytest.importorskip('nowhere')",
    "stops pytest": "import pytest; pytest.exit('no', 0)",
}
HARMS = {
    "lowers the recursion limit": "import sys; sys.setrecursionlimit(64)",
    "closes stdout": "import sys; sys.stdout.close(); sys.stderr.close()",
    "moves away": "import os; os.chdir('/')",
    "spoils builtins": "import builtins, time; builtins.open = builtins.print = time.time = time.monotonic = None",
}
HARMFUL = """\
from good import agent as good

def agent(message, tools):
    {body}
    return good(message, tools)
"""


@THOROUGHLY
@pytest.mark.parametrize("name", BREAKS)
def test_what_an_agent_raises_is_its_own_and_never_stops_or_skips_anything(
    project: pytest.Pytester, name: str, workers: tuple[str, ...]
) -> None:
    project.makepyfile(odd=f"def agent(message, tools):\n    {BREAKS[name]}\n")
    result = project.runpytest_subprocess("--mapsat-agent=odd:agent", *workers)
    result.assert_outcomes(failed=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["all*0.000*0/3"])


@THOROUGHLY
@pytest.mark.parametrize("name", HARMS)
def test_what_an_agent_does_to_the_process_harms_no_case(
    project: pytest.Pytester, name: str, workers: tuple[str, ...]
) -> None:
    project.makepyfile(odd=HARMFUL.format(body=HARMS[name]))
    result = project.runpytest_subprocess("--mapsat-agent=odd:agent", *workers, timeout=60)
    result.assert_outcomes(passed=3)
    assert result.ret == pytest.ExitCode.OK


@EVERYWHERE
def test_a_forked_copy_that_comes_back_fails_its_episode_and_no_other(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    forks_once = """
    import os
    try:
        os.mkdir("forked")
    except FileExistsError:
        pass
    else:
        os.fork()
    """
    project.makepyfile(odd=HARMFUL.format(body=forks_once.strip()))
    result = project.runpytest_subprocess("--mapsat-agent=odd:agent", *workers, timeout=60)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*a copy of the process came back from the call*"])


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


def _matches(text: str, pattern: str) -> bool:
    from fnmatch import fnmatch

    return any(fnmatch(line, pattern) for line in text.splitlines())


LIES = {
    "an exception that answers for its class": "raise Sly",
    "an exception whose class has no name": "raise Nameless",
    "an exception without a traceback": "raise Traceless",
    "a whole number that lies about its size": "tools.call('search_poi', {'query': Long(10**5000)})",
    "a number that turns into none": "tools.call('search_poi', {'query': Odd(1.0)})",
    "a usage that differs each time": "return Reply('Nowhere.', usage=Usage(cost=1))",
    "a price beyond all bounds": "return Reply('Blue Bay', usage={'cost': 10**400})",
    "a session that remembers nothing": "session.remember = None; return 'Which one, what time?'",
    "the name of a tool without end": "tools.call('x' * 1_000_000, {})",
}
LIARS = """
import math
from pytest_mapsat import Reply

class Sly(Exception):
    @property
    def __class__(self): raise SystemExit(0)

class Type(type):
    @property
    def __name__(cls): raise ValueError("no name")

class Nameless(Exception, metaclass=Type): pass

class Traceless(Exception):
    @property
    def __traceback__(self): raise ValueError("no traceback")

class Long(int):
    def bit_length(self): return 1

class Odd(float):
    def __float__(self): return math.nan

class Usage(dict):
    def get(self, *names): return -5
    def __getitem__(self, name): return "x"

def agent(message, tools, session):
    BODY
    return "Nowhere."
"""


@pytest.mark.parametrize("lie", LIES)
def test_nothing_that_it_makes_of_its_values_is_laid_to_anybody_else(project: pytest.Pytester, lie: str) -> None:
    project.makepyfile(liar=LIARS.replace("BODY", LIES[lie]))
    result = project.runpytest("--mapsat-agent=liar:agent", "--mapsat-allow-undecided=3")
    result.assert_outcomes(failed=3)
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    result.stdout.no_fnmatch_line("stopped *")


def test_a_name_that_no_tool_has_is_kept_only_as_far_as_tools_have_names(project: pytest.Pytester) -> None:
    project.makepyfile(liar=LIARS.replace("BODY", LIES["the name of a tool without end"]))
    project.runpytest("--mapsat-agent=liar:agent", "--mapsat-save=run.json")
    assert (project.path / "run.json").stat().st_size < 100_000
