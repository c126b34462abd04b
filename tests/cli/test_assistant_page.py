"""mapsat init --assistant: one page from which a coding assistant writes cases; and the cases that a large language model wrote from it alone."""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from pytest_mapsat.cli import main
from pytest_mapsat.commands.schemas import schema_of

PACKAGE = Path(__file__).parents[2] / "pytest_mapsat"
RECORDED = Path(__file__).with_name("assistant")


@pytest.fixture
def page(tmp_path, capsys) -> str:
    assert main(["init", "--assistant", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["AGENTS.md"]
    assert "mapsat lint benchmark_cases" in capsys.readouterr().out
    return (tmp_path / "AGENTS.md").read_text(encoding="utf-8")


def test_the_page_is_short_and_is_never_written_over_another(page, tmp_path, capsys):
    assert len(page.split()) < 1500
    assert main(["init", "--assistant", str(tmp_path)]) == 2
    assert "AGENTS.md already exists" in capsys.readouterr().err


def test_the_page_goes_with_no_other_start(capsys):
    assert main(["init", "--assistant", "--for", "service"]) == 2
    assert "not allowed with argument" in capsys.readouterr().err


def test_the_case_of_the_page_is_sound_in_a_new_suite(page, tmp_path, capsys, monkeypatch):
    assert main(["init", str(tmp_path / "new")]) == 0
    monkeypatch.chdir(tmp_path / "new")
    (case,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    Path("benchmark_cases/cancel-soup.yaml").write_text(case, encoding="utf-8")
    capsys.readouterr()
    assert main(["lint", "benchmark_cases/cancel-soup.yaml", "-p", "conftest.py", "--mutants"]) == 0
    assert capsys.readouterr().out.startswith("0 errors, 0 warnings, 0 notes\n")


def test_each_check_and_match_of_the_page_fits_the_schema(page):
    schema = schema_of("case")
    found = [yaml.safe_load(text) for text in re.findall(r"`(\{(?:kind|op): [^`]*\})`", page)]
    whole = [part for part in found if not re.search(r"\.\.\.", str(part))]
    assert len(whole) >= 15
    for part in whole:
        union = schema["$defs"]["Check" if "kind" in part else "Match"]
        Draft202012Validator({**union, "$defs": schema["$defs"]}).validate(part)


@pytest.mark.parametrize("words", ["is not a known field", "no prepared answer is for", "nothing had to change"])
def test_the_messages_that_the_page_explains_are_those_of_the_program(page, words):
    assert words in page
    assert any(words in path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))


@pytest.fixture
def library(pytester) -> pytest.Pytester:
    """The suite of the task, with the five cases as a large language model wrote them, given the page and the suite alone."""
    shutil.copytree(RECORDED, pytester.path, dirs_exist_ok=True)
    cases = sorted((pytester.path / "completion").glob("*.yaml"))
    assert len(cases) == 5
    for case in cases:
        case.rename(pytester.path / "library" / case.name)
    return pytester


def test_the_recorded_cases_have_no_error_and_lint_names_the_words_that_two_of_them_leave_open(library, capsys):
    assert main(["lint", "library", "-p", "conftest.py"]) == 0
    out = capsys.readouterr().out
    assert "0 errors, 1 warning, 1 note" in out
    assert "case renew-reserved: the oracle leaves open says-reserved" in out
    assert "case reserve-finch: the oracle fails asks-which" in out


def test_a_right_agent_passes_three_of_the_recorded_cases_and_a_silent_one_none(library):
    library.runpytest("library", "--mapsat-agent=baseline:oracle").assert_outcomes(passed=3, skipped=2)
    library.runpytest("library", "--mapsat-agent=baseline:silent").assert_outcomes(failed=5)
