"""mapsat init: files to begin with, all of them or none."""

import json
import re

import pytest

from pytest_mapsat.cli import main
from pytest_mapsat.commands.start import FILES


def test_the_new_suite_is_sound_and_each_write_of_its_oracles_matters(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == list(FILES)
    assert all((tmp_path / name).is_file() for name in FILES)
    assert main(["lint", "benchmark_cases", "-p", "conftest.py", "--mutants"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("0 errors, 0 warnings, 0 notes\n")
    assert re.search(r"^(\d+) of \1 wrong mutants killed", out, re.MULTILINE)
    assert "dropped_write" in out


@pytest.mark.parametrize("place", ["conftest.py", "benchmark_cases/suite.yaml"])
def test_nothing_is_overwritten_and_nothing_is_half_written(tmp_path, capsys, place):
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    assert main(["init", str(tmp_path)]) == 2
    said = f"{place} is there already, and nothing is overwritten; name a new folder, as in: mapsat init benchmark"
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / place).read_text() == "mine"


def test_what_was_written_is_taken_away_again_where_a_file_cannot_be(tmp_path, capsys):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / ".github").write_text("a file where a folder is needed")
    assert main(["init", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err.startswith("mapsat: ")
    assert [path.name for path in (tmp_path / "new").iterdir()] == [".github"]
