"""Values of secret variables reach no file and no output of a run, and an isolated agent cannot read pytest's own environment."""

import pytest

from pytest_mapsat.cli import main

CANARY, NAMED = 'canary-4f1b"9\\e2', "harmless-looking-77aa"
LEAKING = """\
import os

def agent(message, tools, session):
    secret, named = os.environ["MY_API_KEY"], os.environ["BACKEND"]
    print("printed", secret)
    session.think(f"the key is {secret}")
    tools.search_poi(query=f"charger {secret} {named}")
    if "nav-two" in os.environ.get("PYTEST_CURRENT_TEST", ""):
        raise ValueError(f"cannot log in with {secret}")
    return f"Old Mill, by the key {secret} of {named}"
"""


@pytest.fixture
def leaking(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("MY_API_KEY", CANARY)
    monkeypatch.setenv("BACKEND", NAMED)
    manifest = project.path / "benchmark_cases" / "suite.yaml"
    manifest.write_text(manifest.read_text() + "\nredact: [BACKEND]\n")
    project.makepyfile(leaking=LEAKING)
    return project


def test_a_secret_that_an_agent_says_stands_in_no_file_and_no_output(
    leaking: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = [f"--mapsat-report={kind}:report.{kind}" for kind in ("html", "json", "markdown")]
    result = leaking.runpytest_subprocess(
        "--mapsat-agent=leaking:agent", "--mapsat-save=run.json", "--junitxml=junit.xml", *reports, "-rA"
    )
    result.assert_outcomes(failed=3)
    monkeypatch.chdir(leaking.path)
    capsys.readouterr()
    main(["show", "run.json", "nav-one", "--full"])
    told = [result.stdout.str(), result.stderr.str(), capsys.readouterr().out]
    files = ["run.json", "run.json.journal", "junit.xml", "report.html", "report.json", "report.markdown"]
    told += [(leaking.path / name).read_text(encoding="utf-8") for name in files]
    for text in told:
        for value in (CANARY, NAMED, "canary-4f1b", CANARY.replace('"', "&quot;"), CANARY.replace('"', "&#34;")):
            assert value not in text
    assert "[redacted MY_API_KEY]" in told[3]
    assert "[redacted BACKEND]" in told[3]
    assert "cannot log in with [redacted MY_API_KEY]" in " ".join(told[0].split())


def test_without_a_secret_in_what_was_said_a_run_is_the_same_to_the_byte(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = []
    for value in (None, "another-secret-value"):
        if value:
            monkeypatch.setenv("MY_API_KEY", value)
        project.runpytest("--mapsat-agent=good:agent", "--mapsat-save=run.json")
        text = (project.path / "run.json").read_text()
        saved.append([line for line in text.splitlines() if '"timing"' not in line])
    assert len(saved[0]) == len(saved[1])
