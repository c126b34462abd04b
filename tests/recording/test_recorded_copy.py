"""mapsat record RUN --to DEST: what tables answered in a run, as recordings of a copy of the suite."""

import asked_suite
import pytest
import tiny_suite
from runs_made import card, run_of

from pytest_mapsat.cli import main
from pytest_mapsat.formats import save_run
from pytest_mapsat.proof import play_oracle
from pytest_mapsat.suite import open_suite


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """A suite of tables and a saved run of its oracle, in the current folder."""
    monkeypatch.chdir(tmp_path)
    suite = open_suite(asked_suite.write_suite(tmp_path / "suite", [asked_suite.case("one")]))
    trajectory = play_oracle(suite.load(next(suite.readable())), suite)
    save_run(tmp_path / "run.json", run_of(card("one", 1.0).model_copy(update={"trajectory": trajectory})))
    return trajectory


def test_the_copy_answers_the_same_calls_alike_and_computes_nothing(saved, tmp_path):
    assert main(["record", "run.json", "--suite", "suite", "--to", "copy"]) == 0
    copy = open_suite(tmp_path / "copy")
    played = play_oracle(copy.load(next(copy.readable())), copy)
    assert [step.result for step in played.calls] == [step.result for step in saved.calls]
    assert {step.provenance.kind for step in saved.calls} == {"computed"}
    assert {step.provenance.kind for step in played.calls} == {"exact"}
    assert len((tmp_path / "copy" / "recordings" / "recorded.jsonl").read_text().splitlines()) == 5


def test_a_folder_that_is_there_is_left_alone(saved, tmp_path, capsys):
    del saved
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "mine.txt").write_text("mine")
    assert main(["record", "run.json", "--suite", "suite", "--to", "copy"]) == 2
    assert "exists and is not an empty folder" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["mine.txt"]


def test_a_suite_without_tables_has_nothing_to_record(saved, tmp_path, capsys):
    del saved
    tiny_suite.write_suite(tmp_path / "tiny")
    assert main(["record", "run.json", "--suite", "tiny", "--to", "copy"]) == 2
    assert "no tool computes its answers from tables" in capsys.readouterr().err
    assert not (tmp_path / "copy").exists()


def test_a_run_of_another_suite_is_refused(saved, tmp_path, capsys):
    del saved
    save_run(tmp_path / "run.json", run_of(card("other")))
    assert main(["record", "run.json", "--suite", "suite", "--to", "copy"]) == 2
    assert "the run has no case of suite" in capsys.readouterr().err
