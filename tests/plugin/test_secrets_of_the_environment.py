"""Values of secret variables stand in nothing that a run prints or writes, whatever an agent does with them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from saved_runs import saved

from pytest_mapsat.cli import main

CANARY = 'hush-"canary"-4711'
#: Another one, in a variable that only ``redact:`` of the suite tells.
NAMED = "postgres://ann:swordfish@db"

LEAKY = """\
import os, sys
from pytest_mapsat.agents import Reply

TOKEN, NAMED = os.environ["SERVICE_TOKEN"], os.environ["OUR_DATABASE"]


def says(message, tools, session):
    session.think(f"the token is {TOKEN}")
    tools.search_poi(query=f"charger {NAMED} {TOKEN}")
    tools.call("no_tool_" + TOKEN, {"where": [{TOKEN: NAMED}]})
    print("printed", TOKEN)
    print("to stderr", NAMED, file=sys.stderr)
    return Reply(f"I suggest Old Mill, {TOKEN} and {NAMED}.", ["I have " + TOKEN], {}, {"note": TOKEN})


def raises(message, tools):
    # Where a message is cut to a readable length, half a secret would be left.
    try:
        raise KeyError(NAMED)
    except KeyError as error:
        raise ValueError("x" * 475 + f"{TOKEN} {NAMED}") from error
"""
#: Fails in pytest's own way: the traceback shows the source's lines, arguments and values.
FIXTURE = """\
import os
import pytest

@pytest.fixture(autouse=True)
def connected(request):
    token = os.environ["SERVICE_TOKEN"]
    if "nav-two" in request.node.name:
        print("connecting with", token)
        assert token == "", f"no connection with {token}"
"""
REPORTS = ("html:run.html", "json:run.report", "markdown:run.md", "github:run.github")


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", CANARY)
    monkeypatch.setenv("OUR_DATABASE", NAMED)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


@pytest.fixture
def leaky(project: pytest.Pytester) -> pytest.Pytester:
    manifest = project.path / "benchmark_cases" / "suite.yaml"
    manifest.write_text(manifest.read_text() + "redact: [OUR_DATABASE]\n")
    project.makepyfile(leaky=LEAKY)
    return project


def halves(text: str) -> Iterator[str]:
    """Yield what of the secrets stands in a text, in whole or in part."""
    for secret in ("hush-", "canary", "4711", "swordfish", "postgres"):
        if secret in text:
            yield secret


def written(folder: Path) -> dict[str, str]:
    """Return the files that a run has left beside its agent and its suite."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"}]
    return {path.name: path.read_text(errors="replace") for path in files}


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("agent", ["says", "raises"])
def test_no_report_and_no_file_has_a_secret_of_an_agent(
    leaky: pytest.Pytester, agent: str, isolated: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"--mapsat-agent=leaky:{agent}", "--mapsat-save=run.json", "--junitxml=run.xml", "-rA"]
    options += [f"--mapsat-report={report}" for report in REPORTS] + ["-o", "junit_logging=all", "--showlocals"]
    if isolated:
        options += ["--mapsat-isolate=env:SERVICE_TOKEN,env:OUR_DATABASE"]
    result = leaky.runpytest(*options)
    result.assert_outcomes(failed=3)
    main(["show", "run.json", "nav-one", "--full"])
    told = capsys.readouterr()
    files = written(leaky.path)
    assert {"run.json", "run.html", "run.report", "run.md", "run.github", "run.xml"} <= files.keys()
    told_by = {**files, "stdout": result.stdout.str() + told.out, "stderr": result.stderr.str() + told.err}
    assert {name: leaks for name, text in told_by.items() if (leaks := list(halves(text)))} == {}
    assert all("[redacted " in told_by[name] for name in ("run.json", "run.html", "run.xml", "stdout"))
    assert "[redacted OUR_DATABASE]" in files["run.json"]


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_the_journal_has_no_secret_either(leaky: pytest.Pytester, workers: tuple[str, ...]) -> None:
    """A run that is interrupted leaves it."""
    leaky.makeconftest(
        "def pytest_runtest_logreport(report):\n    if report.when == 'call':\n        raise KeyboardInterrupt\n"
    )
    leaky.runpytest_subprocess("--mapsat-agent=leaky:says", "--mapsat-save=run.json", *workers)
    journals = {name: text for name, text in written(leaky.path).items() if "journal" in name}
    assert any("[redacted SERVICE_TOKEN]" in text for text in journals.values())
    assert not [leak for text in journals.values() for leak in halves(text)]


def test_a_traceback_of_pytest_in_the_report_of_a_case_has_no_secret(leaky: pytest.Pytester) -> None:
    leaky.makeconftest(FIXTURE)
    result = leaky.runpytest("--mapsat-agent=good:agent", "--junitxml=run.xml", "--showlocals", "-vv")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*no connection with [[]redacted SERVICE_TOKEN]*", "connecting with [[]redacted*"])
    assert not list(halves(result.stdout.str() + (leaky.path / "run.xml").read_text()))


def test_an_agent_that_cannot_be_imported_tells_no_secret(leaky: pytest.Pytester) -> None:
    leaky.makepyfile(broken="import os\nraise ValueError('no ' + os.environ['SERVICE_TOKEN'])\n")
    result = leaky.runpytest("--mapsat-agent=broken:agent")
    result.stderr.fnmatch_lines(["*ValueError: no [[]redacted SERVICE_TOKEN]*"])
    assert not list(halves(result.stderr.str()))


def test_a_run_without_the_secrets_is_judged_and_gone_on_from_as_it_was(
    leaky: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaky.runpytest("--mapsat-agent=leaky:says", "--mapsat-save=run.json")
    before = (leaky.path / "run.json").read_bytes()
    monkeypatch.delenv("SERVICE_TOKEN")
    main(["regrade", "run.json", "--save", "again.json"])
    assert (leaky.path / "again.json").read_bytes() == before


def test_an_episode_without_secrets_is_the_same_with_them_in_the_environment(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORT_KEY", "charger")  # too short to be told from other words
    runs = []
    for _ in range(2):
        project.runpytest("--mapsat-agent=good:agent", "--mapsat-save=run.json").assert_outcomes(passed=3)
        runs.append([card["labels"] for card in saved(project)["cases"]])
        monkeypatch.delenv("SERVICE_TOKEN", raising=False)
        monkeypatch.delenv("SHORT_KEY", raising=False)
    assert runs[0] == runs[1]
