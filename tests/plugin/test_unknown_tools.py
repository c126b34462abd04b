"""Calls of tools that no case has: the failure text lists the tools that there are, and the summary says how an agent's own tool runs."""

import pytest
from workers import EVERYWHERE

ASKS = """\
def agent(message, tools):
    tools.call("{name}", {{"query": "charger"}})
    return "I suggest Old Mill."
"""


@EVERYWHERE
def test_the_failure_and_the_summary_name_an_unknown_tool(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    project.makepyfile(asks=ASKS.format(name="search_po"))
    options = ("--mapsat-agent=asks:agent", *workers)
    result = project.runpytest_subprocess(*options) if workers else project.runpytest(*options)
    result.stdout.fnmatch_lines(
        [
            "*there is no tool 'search_po' (did you mean 'search_poi'?); the*",
            "*are search_poi",
            "tools      search_po is in no case (3 calls): if it runs another agent, write",
            "           episode: {run: [[]search_po[]]} in suite.yaml",
        ]
    )
    summary = result.stdout.str().partition("= mapsat =")[2].partition("= short test summary")[0]
    assert len(summary.splitlines()[1:-1]) <= 16


def test_a_tool_with_wrong_arguments_is_no_unknown_tool(project: pytest.Pytester) -> None:
    project.makepyfile(asks=ASKS.format(name="search_poi").replace('"query"', '"words"'))
    text = project.runpytest("--mapsat-agent=asks:agent").stdout.str()
    assert "is in no case" not in text
    assert "unknown parameter 'words'" in text


def test_many_unknown_tools_take_one_entry_and_the_most_frequent_comes_first(project: pytest.Pytester) -> None:
    names = ["look", "find", "find", "ask", "think"]
    calls = "\n".join(f"    tools.call({name!r}, {{}})" for name in names)
    project.makepyfile(asks=f"def agent(message, tools):\n{calls}\n    return 'I suggest Old Mill.'\n")
    result = project.runpytest("--mapsat-agent=asks:agent", "-k", "nav-one")
    result.stdout.fnmatch_lines(
        [
            "tools      find, ask and 2 more are in no case (5 calls): if they run another",
            "           agent, write episode: {run: [[]find, ask[]]} in suite.yaml",
        ]
    )
