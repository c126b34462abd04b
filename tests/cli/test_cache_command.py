"""python -m pytest_mapsat cache: what is kept of models' answers, and moving it."""

import json
import sys
from pathlib import Path

import pytest

from pytest_mapsat.cli import main
from pytest_mapsat.llm import Answer, Cache, Request
from pytest_mapsat.store import Store, _library


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with an answer to the judge and two to the agent."""
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(tmp_path / "store"))
    store = Store(tmp_path / "store")
    for number, purpose in enumerate(("agent", "agent", "judge")):
        asked = Request(model="m", messages=({"role": "user", "content": str(number)},), purpose=purpose)
        Cache(store).keep(asked, Answer(text="ok"))
    store.close()
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(["cache", *arguments], rare=True) == status
    return capsys.readouterr().out


def test_answers_are_counted_moved_and_dropped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    info = json.loads(printed(capsys, "info", "--json"))
    assert (info["answers"], info["folder"]) == (3, str(folder / "store"))
    assert info["models"] == [
        {"model": "m", "purpose": "agent", "answers": 2},
        {"model": "m", "purpose": "judge", "answers": 1},
    ]
    assert "m, judge: 1" in printed(capsys, "info")
    assert json.loads(printed(capsys, "export", str(folder / "a.jsonl"), "--json")) == {"answers": 3}
    assert "empty now" in printed(capsys, "clear")
    assert json.loads(printed(capsys, "info", "--json"))["answers"] == 0
    assert "3 answers added, 0 already known, 0 unusable lines" in printed(capsys, "import", str(folder / "a.jsonl"))
    (folder / "a.jsonl").write_text("nonsense\n")
    assert main(["cache", "import", str(folder / "a.jsonl")], rare=True) == 1
    assert "a.jsonl:1: is not valid JSON" in capsys.readouterr().err


def test_indexes_of_tables_are_told_with_and_without_the_extra(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "store" / "tables").mkdir()
    (folder / "store" / "tables" / "a.arrays").write_bytes(b"x" * 2_000_000)
    told = f"{folder / 'store' / 'tables'}: 1 indexes of large tables, 2.0 MB"
    assert told in printed(capsys, "info")
    monkeypatch.setitem(sys.modules, "diskcache", None)
    _library.cache_clear()
    without = printed(capsys, "info")
    assert told in without
    assert "needs diskcache, which is not installed" in without
    assert json.loads(printed(capsys, "info", "--json"))["indexes"] == 1
    assert main(["cache", "export", str(folder / "a.jsonl")], rare=True) == 2


def test_a_damaged_store_can_be_cleared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "store" / "cache.db").write_bytes(b"nonsense" * 1000)
    assert main(["cache", "info"], rare=True) == 2
    assert "python -m pytest_mapsat cache clear" in capsys.readouterr().err
    printed(capsys, "clear")
    assert json.loads(printed(capsys, "info", "--json"))["answers"] == 0


def test_a_file_that_is_not_there_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "import", str(folder / "nowhere.jsonl")], rare=True) == 2
    assert "nowhere.jsonl" in capsys.readouterr().err
