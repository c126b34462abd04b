"""What a failing item says, and that it says it without frames of ours."""

import pytest


def test_a_failure_explains_itself(project: pytest.Pytester) -> None:
    result = project.runpytest("--mapsat-agent=bad:agent", "-k", "nav-one")
    result.stdout.fnmatch_lines(
        [
            "*hard constraint broken: z1*",
            "*rule    it is open now*",
            "*why *",
            "*wanted *Blue Bay*",
            "*also missed, without failing the item: z2 (soft)*",
            '*search_poi(query="charger")*',
            "*agent: I suggest Old Mill.*",
            "run it again: pytest 'benchmark_cases/nav/a.yaml::case?nav-one?' --mapsat-agent=bad:agent",
        ]
    )
    text = result.stdout.str()
    assert "Traceback" not in text
    assert "pytest_mapsat/" not in text
    failure = text.partition(" FAILURES ")[2]
    long = [line for line in failure.splitlines() if len(line) > 80]
    assert [line for line in long if not line.startswith("run it again: ")] == [], "a command is copied, not read"


def test_a_crash_of_the_agent_names_its_line(project: pytest.Pytester) -> None:
    project.makepyfile(crash="def agent(message, tools):\n    return tools.search_poi(query='charger')['nothing']\n")
    result = project.runpytest("--mapsat-agent=crash:agent", "-k", "nav-one")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(["*KeyError*nothing*crash.py*2*"])


def test_what_an_exception_was_raised_from_is_told(project: pytest.Pytester) -> None:
    project.makepyfile(
        chain="""
        import json

        def agent(message, tools):
            try:
                json.loads("{")
            except ValueError as error:
                raise RuntimeError("no answer") from error
        """
    )
    for options in ((), ("--mapsat-isolate",)):
        result = project.runpytest("--mapsat-agent=chain:agent", "-k", "nav-one", *options)
        result.stdout.fnmatch_lines(
            ["RuntimeError: no answer*", "  chain.py:7 in agent", "  because of JSONDecodeError: *"]
        )


def test_a_miss_tells_the_nearest_recording(project: pytest.Pytester) -> None:
    project.makepyfile(lost="def agent(message, tools):\n    return str(tools.search_poi(query='pharmacy'))\n")
    result = project.runpytest("--mapsat-agent=lost:agent", "-k", "nav-one")
    result.stdout.fnmatch_lines(
        [
            '*search_poi(query="pharmacy")  [[]miss[]]',
            "*nearest of 1 recordings*",
            "*query: asked 'pharmacy', recorded 'charger'*",
        ]
    )


def test_control_characters_of_a_reply_never_reach_the_terminal(project: pytest.Pytester) -> None:
    project.makepyfile(rude="def agent(message, tools):\n    return 'Old Mill \\x1b[2J\\x07\\u202e'\n")
    result = project.runpytest("--mapsat-agent=rude:agent", "-k", "nav-one")
    text = result.stdout.str()
    assert "\x1b[2J" not in text
    assert "\u202e" not in text
    assert "\\u001b" in text


def test_junit_holds_the_reason_and_the_metrics(project: pytest.Pytester) -> None:
    project.runpytest("--mapsat-agent=bad:agent", "--junitxml=junit.xml")
    text = (project.path / "junit.xml").read_text()
    assert "hard constraint broken" in text
    assert 'name="mapsat.ar" value="0.0"' in text


def test_verbose_output_names_no_file_of_ours(project: pytest.Pytester) -> None:
    result = project.runpytest("--mapsat-agent=bad:agent", "-vv")
    assert "pytest_plugin" not in result.stdout.str()
