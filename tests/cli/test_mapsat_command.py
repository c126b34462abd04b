"""The mapsat command: its exit status, its output for people and machines, its errors."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_mapsat
from pytest_mapsat.cli import COMMANDS as TABLE
from pytest_mapsat.cli import RARE, main
from pytest_mapsat.model import Case, Tool

MANIFEST = "name: demo\nversion: '1'\nlicense: MIT\nschema_version: 1\ncoordinates: wgs84\n"
CASE = "id: a\nvisible: {query: 吃饭, context: {now: 2026-05-07T12:30:00+08:00}}\ntruth: {requirements: [{id: e1, kind: asked, text: 店}]}\n"


def make_suite(root: Path, case: str = CASE) -> Path:
    (root / "suite.yaml").write_text(MANIFEST, encoding="utf-8")
    (root / "a.yaml").write_text(case, encoding="utf-8")
    return root


def run(*arguments: str, **options) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "pytest_mapsat", *arguments], capture_output=True, check=False, **options
    )


PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "commands.md"
COMMANDS = re.findall(r"^- `mapsat ([\w-]+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_help_names_the_commands_of_the_page_of_options_in_its_order_with_a_line_for_each(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    found = re.search(r"^  COMMAND\n((?:    .*\n)+)", capsys.readouterr().out, re.MULTILINE)
    assert found is not None
    told = re.findall(r"^    ([\w-]+)(?:\n {5})? +(.*)\n", found[1], re.MULTILINE)
    assert [name for name, _ in told] == COMMANDS
    assert dict(told) == TABLE
    assert not set(COMMANDS) & set(RARE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"mapsat {command}" in capsys.readouterr().out


@pytest.mark.parametrize("command", RARE)
def test_a_rarely_used_command_has_help_of_its_own(command, capsys):
    assert main([command, "--help"], rare=True) == 0
    assert f"python -m pytest_mapsat {command}" in capsys.readouterr().out
    assert main(["--help"], rare=True) == 0
    assert RARE[command] in capsys.readouterr().out


@pytest.mark.parametrize("command", RARE)
def test_a_rare_command_says_where_it_is(command, capsys):
    assert main([command, "whatever"]) == 2
    assert capsys.readouterr().err == f"mapsat: {command}: this is: python -m pytest_mapsat {command}\n"


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mapsat {pytest_mapsat.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [[], ["lnt"], ["lint"], ["import", "unheard-of", "a", "b"], ["lint", "x", "--wat"]],
)
def test_a_wrong_command_line_is_explained_with_status_2(arguments, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("mapsat")
    assert "--help" in captured.err
    assert captured.out == ""


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from pytest_mapsat.cli import main; status = main(['--help']); "
        "heavy = {'pydantic', 'numpy', 'yaml', 'openpyxl', 'rapidfuzz', 'rich', 'pytest', 'litellm', 'diskcache'} & set(sys.modules); "
        "sys.exit(f'imported: {heavy}' if heavy else status)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_of_import_names_the_formats_of_installed_packages(capsys):
    assert main(["import", "--help"]) == 0
    assert "one of: adk, localsearchbench, mapsatisfybench, mobilitybench, " in " ".join(
        capsys.readouterr().out.split()
    )
    assert main(["import", "mobilitybank", "src", "dest"]) == 2
    assert "invalid choice: 'mobilitybank' (choose from" in capsys.readouterr().err


def test_lint_of_a_sound_suite_ends_with_0(tmp_path, capsys):
    assert main(["lint", str(make_suite(tmp_path))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "0 errors, 0 warnings, 4 notes"
    assert lines[0].startswith(f"{tmp_path}/a.yaml:3: case a: 1 of 1 requirements have no check")


@pytest.mark.parametrize("case", [CASE.replace("query", "qurey"), "id: ["])
def test_lint_of_a_broken_suite_ends_with_1(tmp_path, capsys, case):
    assert main(["lint", str(make_suite(tmp_path, case))]) == 1
    captured = capsys.readouterr()
    assert "a.yaml:2: " in captured.out
    assert "[error: case]" in captured.out
    assert captured.err == ""


def test_lint_of_a_broken_manifest_ends_with_1(tmp_path, capsys):
    root = make_suite(tmp_path)
    (root / "suite.yaml").write_text("name: x\n", encoding="utf-8")
    assert main(["lint", str(root)]) == 1
    assert "[error: suite]" in capsys.readouterr().out


def test_lint_takes_a_file_of_the_suite_for_the_suite(tmp_path, capsys):
    assert main(["lint", str(make_suite(tmp_path) / "a.yaml")]) == 0


def test_lint_speaks_json(tmp_path, capsys):
    assert main(["lint", str(make_suite(tmp_path, CASE.replace("query", "qurey"))), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found[0] == {
        "severity": "error",
        "rule": "case",
        "path": f"{tmp_path}/a.yaml",
        "line": 2,
        "message": "visible.qurey: is not a known field",
        "hint": "did you mean 'query'?",
    }


def test_lint_of_nothing_is_an_error(tmp_path, capsys):
    assert main(["lint", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err == f"mapsat: {tmp_path}/nowhere: there is no such file or folder\n"


def test_lint_of_a_folder_that_is_no_suite_says_what_a_suite_is(tmp_path, capsys):
    assert main(["lint", str(tmp_path)]) == 1
    assert "it has no suite.yaml" in capsys.readouterr().out


def test_schema_prints_json_schema(capsys):
    assert main(["schema", "run"], rare=True) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Run"


@pytest.mark.parametrize(("noun", "fields"), [("tools", Tool), ("case", Case)])
def test_a_file_of_tools_or_cases_has_one_or_a_list(capsys, noun, fields):
    assert main(["schema", noun], rare=True) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["type"] == ["array", "object"]
    title = fields.__name__
    (found,) = [part for part in schema["$defs"].values() if part.get("title") == title]
    assert found["properties"].keys() >= fields.model_fields.keys()


def test_the_schema_of_a_case_names_its_fields_as_files_do(capsys):
    assert main(["schema", "case", "--json"], rare=True) == 0
    schema = json.loads(capsys.readouterr().out)
    assert set(schema["$defs"]["WrittenCase"]["properties"]) == {*Case.model_fields, "vars"}
    assert "with" in schema["$defs"]["Calls"]["properties"]


def test_import_of_nothing_is_an_error_without_a_traceback(tmp_path):
    done = run("import", "mapsatisfybench", str(tmp_path), str(tmp_path / "dest"))
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().startswith(f"mapsat: {tmp_path}: is not the published layout")
    assert b"Traceback" not in done.stderr


def test_import_reports_to_people_and_machines(tmp_path, capsys):
    openpyxl = pytest.importorskip("openpyxl")
    source = tmp_path / "src"
    (source / "inputs").mkdir(parents=True)
    (source / "sandbox" / "mock_data").mkdir(parents=True)
    book = openpyxl.Workbook()
    book.worksheets[0].append(["task_id", "query", "context", "full_intent", "ground_truth"])
    book.worksheets[0].append(["c1", "去", json.dumps({"time": "2026-05-07 08:09:10"}), "", "{}"])
    book.save(source / "inputs" / "demo_bench.xlsx")
    (source / "sandbox" / "mock_data" / "get_rgeo.csv").write_text(
        "trace_id,tool_name,arguments,result\nc2,get_rgeo,{},1\n"
    )

    assert main(["import", "mapsatisfybench", str(source), str(tmp_path / "one")]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{tmp_path}/one: 1 cases, 22 tools, 1 recordings (1 of no case, kept aside)\n")
    assert "[orphan]" in text

    assert main(["import", "mapsatisfybench", str(source), str(tmp_path / "two"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["cases"], report["recordings"], report["orphans"]) == (1, 1, 1)

    assert main(["import", "mapsatisfybench", str(source), str(tmp_path / "two")]) == 2
    assert "exists and is not an empty folder" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_fine(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_mapsat", "schema", "case"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.read(10)
    process.stdout.close()
    stderr = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), stderr) == (0, b"")


def test_output_is_utf_8_whatever_the_locale(tmp_path):
    root = make_suite(tmp_path, CASE.replace("id: e1", "id: 店"))
    done = run("lint", str(root), env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert done.returncode == 1
    assert "found '店'" in done.stdout.decode("utf-8")
