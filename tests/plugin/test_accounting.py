"""Every collected item ends with a scorecard or a reason, and a run from which one is missing is never green."""

import json
from fnmatch import fnmatch

import pytest
import tiny_suite
from saved_runs import saved
from workers import EVERYWHERE, THOROUGHLY

GOOD = "--mapsat-agent=good:agent"
SAVE = "--mapsat-save=run.json"


def lost(project: pytest.Pytester) -> dict[str, str]:
    return {one["id"]: one["reason"] for one in saved(project)["accounting"]["lost"]}


@EVERYWHERE
def test_a_run_with_nothing_lost_says_how_many_items_there_were(project, workers):
    assert project.runpytest(GOOD, SAVE, *workers).ret == 0
    assert saved(project)["accounting"] == {"collected": 3, "deselected": 0, "lost": [], "drafts": [], "excused": []}


@THOROUGHLY
def test_deselected_items_are_counted_and_not_lost(project, workers):
    assert project.runpytest(GOOD, SAVE, "-m", "navigation", *workers).ret == 0
    assert saved(project)["accounting"] == {"collected": 3, "deselected": 1, "lost": [], "drafts": [], "excused": []}


@THOROUGHLY
def test_all_deselected_is_what_pytest_says_of_it(project, workers):
    assert project.runpytest(GOOD, "-k", "nothing_is_called_so", *workers).ret == 5


HOW_TO_LOSE = {
    "skip in a fixture": (
        "import pytest\n@pytest.fixture\ndef mapsat_agent(): pytest.skip('offline')\n",
        "fixture",
        "skipped by conftest.py:3: *offline",
    ),
    "xfail in a fixture": (
        "import pytest\n@pytest.fixture\ndef mapsat_agent(): pytest.xfail('one day')\n",
        "fixture",
        "ended as an expected failure (setup): *one day",
    ),
    "importorskip in a fixture": (
        "import pytest\n@pytest.fixture\ndef mapsat_agent(): pytest.importorskip('no_such_module')\n",
        "fixture",
        "skipped by conftest.py:3: *no_such_module*",
    ),
    "skip in a hook": (
        "import pytest\ndef pytest_mapsat_case_loaded(case): pytest.skip('not today')\n",
        "good:agent",
        "could not be set up: *not today*",
    ),
    "a mark": (
        "import pytest\ndef pytest_itemcollected(item): item.add_marker(pytest.mark.skip(reason='flaky'))\n",
        "good:agent",
        "skipped by a mark: flaky",
    ),
    "an item that is taken over": (
        "def pytest_itemcollected(item): item.runtest = lambda: None\n",
        "good:agent",
        "passed without being run*",
    ),
    "a protocol that is taken over": (
        "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_protocol(item): return True\n",
        "good:agent",
        "not started*",
    ),
    "an item that is dropped": (
        "def pytest_collection_modifyitems(items): del items[:2]\n",
        "good:agent",
        "removed from the collection without being deselected",
    ),
    "pytest.exit with status 0": (
        "import pytest\ndef pytest_runtest_setup(item): pytest.exit('enough', returncode=0)\n",
        "good:agent",
        "*: interrupted, enough*",
    ),
}


@THOROUGHLY
@pytest.mark.parametrize("how", HOW_TO_LOSE)
def test_an_item_without_a_scorecard_is_lost_and_turns_the_run_red(project, workers, how):
    conftest, agent, reason = HOW_TO_LOSE[how]
    project.makeconftest(conftest)
    result = project.runpytest_subprocess(f"--mapsat-agent={agent}", SAVE, *workers)
    if workers and "exit" in how:
        assert result.ret != 0  # a worker's own exit: pytest-xdist says how
        return
    assert result.ret == 1
    assert sorted(lost(project)) == ["find-one", "nav-one", "nav-two"][("dropped" in how) :]
    if "exit" not in how:
        assert [said for said in lost(project).values() if not fnmatch(said, reason)] == []
    assert saved(project)["gate"]["outcome"] == "invalid"
    result.stdout.fnmatch_lines(["gate*INVALID*"])


@THOROUGHLY
def test_an_agent_from_the_ini_is_held_to_the_same(project, workers):
    project.makeini("[pytest]\naddopts = --mapsat-save=run.json\nmapsat_agent = fixture\n")
    project.makeconftest("import pytest\n@pytest.fixture\ndef mapsat_agent(): pytest.skip('offline')\n")
    assert project.runpytest(*workers).ret == 1
    assert len(lost(project)) == 3


@THOROUGHLY
def test_what_minus_x_leaves_is_lost(project, workers):
    result = project.runpytest("--mapsat-agent=bad:agent", SAVE, "-x", *workers)
    assert result.ret != 0
    accounting = saved(project)["accounting"]
    assert accounting["collected"] == 3
    assert len(accounting["lost"]) + len(saved(project)["cases"]) == 3
    assert accounting["lost"]
    assert saved(project)["gate"]["outcome"] == "invalid"


@THOROUGHLY
def test_an_internal_error_loses_what_it_keeps_from_ending(project, workers):
    project.makeconftest("def pytest_runtest_makereport(item, call):\n    raise RuntimeError('broken reporter')\n")
    result = project.runpytest_subprocess(GOOD, SAVE, *workers)
    assert result.ret != 0
    assert len(lost(project)) == 3


def test_a_killed_worker_takes_only_its_own_item_with_it(project):
    project.makepyfile(
        killer="""
        import os
        from good import agent as good
        def agent(message, tools, session):
            reply = good(message, tools)
            if os.path.exists("armed"):
                os.remove("armed")
                os.kill(os.getpid(), 9)
            return reply
        """
    )
    (project.path / "armed").touch()
    result = project.runpytest_subprocess("--mapsat-agent=killer:agent", SAVE, "-n", "2")
    assert result.ret == 1
    assert list(lost(project).values()) == ["lost with its worker"]
    assert len(saved(project)["cases"]) == 2


def test_the_reasons_of_lost_items_stand_in_the_summary(project):
    project.makeconftest("import pytest\n@pytest.fixture\ndef mapsat_agent(): pytest.skip('offline')\n")
    result = project.runpytest("--mapsat-agent=fixture")
    result.stdout.fnmatch_lines(["*nav-one trial 1: skipped by conftest.py:3: offline"])


@pytest.mark.parametrize("quiet", ["-qq", "--no-summary"])
def test_a_quiet_run_still_tells_the_gate_and_what_is_lost(project, quiet):
    project.makeconftest("import pytest\n@pytest.fixture\ndef mapsat_agent(): pytest.skip('offline')\n")
    result = project.runpytest("--mapsat-agent=fixture", quiet)
    result.stdout.fnmatch_lines(["*nav-one*offline*", "gate*INVALID*"])
    assert "sandbox    " not in result.stdout.str()


@pytest.mark.parametrize("option", ["--fixtures", "--fixtures-per-test"])
def test_showing_fixtures_decides_nothing(project, option):
    result = project.runpytest(GOOD, "--mapsat-fail-under=ar=0.9", option)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*lost*")


def test_collect_only_decides_nothing(project):
    result = project.runpytest(GOOD, SAVE, "--co")
    assert result.ret == 0
    assert not (project.path / "run.json").exists()
    assert not (project.path / "run.json.journal").exists()


# -- several episodes of one case ----------------------------------------------------------

FLAKY = """
calls = {}
def agent(message, tools, session):
    calls[session.id] = calls.get(session.id, 0) + 1
    pois = tools.search_poi(query="charger")["pois"]
    place = pois[0] if calls[session.id] == 1 else pois[1]
    return f"I suggest {place['name']}."
"""


@THOROUGHLY
def test_a_rerun_is_a_further_attempt_that_is_kept_and_averaged(project, workers):
    pytest.importorskip("pytest_rerunfailures")
    project.makepyfile(flaky=FLAKY)
    result = project.runpytest_subprocess("--mapsat-agent=flaky:agent", SAVE, "--reruns", "2", *workers)
    assert result.ret == 0
    run = saved(project)
    assert [(card["id"], card["attempt"], card["outcome"]) for card in run["cases"]] == [
        (name, attempt, outcome)
        for name in ("find-one", "nav-one", "nav-two")
        for attempt, outcome in ((1, "failed"), (2, "passed"))
    ]
    assert run["accounting"] == {"collected": 3, "deselected": 0, "lost": [], "drafts": [], "excused": []}
    assert run["summary"]["pass_rate"]["mean"] == 0.5
    result.stdout.fnmatch_lines(["*flaky*find-one*"])


@THOROUGHLY
def test_a_parametrised_agent_brings_an_episode_for_each_parameter(project, workers):
    project.makeconftest(
        "import pytest, good, bad\n"
        "@pytest.fixture(params=['good', 'bad'])\n"
        "def mapsat_agent(request): return {'good': good, 'bad': bad}[request.param].agent\n"
    )
    result = project.runpytest("--mapsat-agent=fixture", SAVE, *workers)
    result.assert_outcomes(passed=3, failed=3)
    cases = [(card["id"], card["agent"], card["attempt"], card["outcome"]) for card in saved(project)["cases"]]
    assert cases == [
        (name, agent, 1, outcome)
        for name in ("find-one", "nav-one", "nav-two")
        for agent, outcome in (("bad", "failed"), ("good", "passed"))
    ]
    assert saved(project)["accounting"]["collected"] == 6


def test_every_worker_of_dist_each_is_accounted_for(project):
    assert project.runpytest_subprocess(GOOD, SAVE, "--dist", "each", "--tx", "2*popen").ret == 0
    assert [(card["id"], card["attempt"]) for card in saved(project)["cases"]] == [
        (name, attempt) for name in ("find-one", "nav-one", "nav-two") for attempt in (1, 2)
    ]
    assert saved(project)["accounting"] == {"collected": 6, "deselected": 0, "lost": [], "drafts": [], "excused": []}


# -- nothing asked for is ignored ----------------------------------------------------------


@THOROUGHLY
def test_a_named_agent_that_meets_no_case_is_an_error_that_says_where_a_suite_was_looked_for(pytester, workers):
    pytester.makepyfile(good=tiny_suite.GOOD, test_other="def test_it(): pass")
    result = pytester.runpytest(GOOD, *workers)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["no case was collected*looked for a suite in: *benchmark_cases*"])
    empty = pytester.mkdir("empty")
    assert pytester.runpytest(GOOD, str(empty), *workers).ret == 1


def test_a_case_that_is_named_and_is_not_there_is_told_with_what_may_be_meant(project):
    (folder,) = (path for path in (project.path / "benchmark_cases").iterdir() if path.name == "nav")
    (file,) = folder.iterdir()
    place = file.relative_to(project.path)
    said = {
        f"{place}::case[nav-ome]": f"*{place} has no case 'nav-ome', did you mean 'nav-one'?",
        f"{place}::case[find-one]": f"*{place} has no case 'find-one', it stands in *",
    }
    for argument, words in said.items():
        result = project.runpytest(GOOD, argument)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stdout.fnmatch_lines([f"no case was collected{words}"])


def test_an_agent_from_the_ini_is_silent_where_no_case_is_collected(pytester):
    pytester.makepyfile(good=tiny_suite.GOOD, test_other="def test_it(): pass")
    pytester.makeini(
        "[pytest]\nmapsat_agent = good:agent\nmapsat_fail_under = ar=0.9\naddopts = --mapsat-save=run.json\n"
    )
    (pytester.path / "run.json").write_text("an earlier one")
    result = pytester.runpytest()
    assert result.ret == 0
    assert "mapsat" not in result.stdout.str().replace("mapsat-", "")
    assert (pytester.path / "run.json").read_text() == "an earlier one"


def test_an_agent_from_addopts_counts_as_one_from_the_ini(pytester):
    pytester.makepyfile(good=tiny_suite.GOOD, test_other="def test_it(): pass")
    pytester.makeini("[pytest]\naddopts = --mapsat-agent=good:agent --mapsat-fail-under=ar=0.9\n")
    assert pytester.runpytest().ret == 0


def test_a_threshold_from_addopts_is_a_note_on_part_of_the_suite(project):
    project.makeini("[pytest]\naddopts = --mapsat-fail-under=ar=0.1\n")
    assert project.runpytest(GOOD, "-m", "navigation").ret == 0
    assert project.runpytest(GOOD, "-m", "navigation", "--mapsat-fail-under=ar=0.1").ret == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--mapsat-agent=",), "--mapsat-agent names no agent"),
        (("--mapsat-agent", ""), "--mapsat-agent names no agent"),
        (("--mapsat-fail-under=ar=0.5",), "--mapsat-fail-under without an agent"),
        (("--mapsat-save", "run.json"), "--mapsat-save without an agent"),
        (("--mapsat-compare=baseline.json",), "--mapsat-compare without an agent"),
        (("--mapsat-agent=off", "--mapsat-save=run.json"), "--mapsat-save without an agent"),
    ],
)
def test_an_option_of_ours_without_an_agent_is_a_usage_error(pytester, options, said):
    pytester.makepyfile(test_other="def test_it(): pass")
    result = pytester.runpytest(*options)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{said}*"])


@pytest.mark.parametrize("name", ["save", "fail-under", "trials"])
def test_an_option_without_a_value_is_a_usage_error(project, name):
    result = project.runpytest(GOOD, f"--mapsat-{name}=")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*--mapsat-{name} is empty: expected *"])


@THOROUGHLY
def test_a_file_that_looks_like_cases_and_is_not_read_is_named(project, workers):
    (project.path / "benchmark_cases" / "nav" / "more.YAML").write_text(json.dumps([tiny_suite.case("more")]))
    result = project.runpytest(GOOD, *workers)
    result.stdout.fnmatch_lines(["not read*more.YAML*"])


def test_without_a_threshold_the_summary_says_that_there_is_no_gate(project):
    result = project.runpytest(GOOD)
    result.stdout.fnmatch_lines(["gate       none: *"])
    assert "gate       PASSED" not in result.stdout.str()


# -- the end never raises ------------------------------------------------------------------


def test_a_report_hook_that_fails_is_told_and_keeps_nothing_else_from_being_done(project):
    project.makeconftest(
        """
        import pathlib
        class Broken:
            def pytest_mapsat_report(self, run): raise OSError("no space on the server")
        class Sound:
            def pytest_mapsat_report(self, run): pathlib.Path("seen").write_text(run.gate.outcome)
        def pytest_configure(config):
            config.pluginmanager.register(Broken(), "broken")
            config.pluginmanager.register(Sound(), "sound")
        """
    )
    result = project.runpytest(GOOD, SAVE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["error*pytest_mapsat_report of broken: OSError: no space on the server"])
    assert (project.path / "seen").read_text() == "passed"
    assert saved(project)["gate"]["outcome"] == "passed"
