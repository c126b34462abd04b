"""A run read to be compared: little of it is kept, and nothing that is said of a change is lost."""

import pytest
from saved_runs import card, run_text

from pytest_mapsat.formats import read_run, save_run
from pytest_mapsat.gate import Side, compare, parse_drops
from pytest_mapsat.model import CardRequirement, Label, Quote, SuiteError, Trajectory, Turn
from pytest_mapsat.runs.saved import accept, read_baseline


def cards(outcome, value, *, digest=""):
    """Eight cases whose only requirement ended so."""
    turns = (Turn(role="user", text="Where?"), Turn(role="agent", text="Go to Old Mill."))
    for number in range(8):
        label = Label(
            requirement="open", kind="asked", outcome=outcome, value=value, why=f"because of {number}", wanted="an open place",
            quotes=(Quote(turn=1, start=6, end=14, text="Old Mill"),),
        )  # fmt: skip
        yield card(
            Trajectory(case=f"case-{number}", turns=turns),
            labels=[label.model_dump()],
            requirements=[CardRequirement(id="open", kind="asked", text="It is open").model_dump()],
            outcome=outcome,
            metrics={"ar": value},
            dialogue=digest and f"{digest}-{number}",
        )


def saved(path, some):
    """Put a run file in the layout in which runs are saved, and return where it is."""
    path.write_text(run_text(*some), encoding="utf-8")
    save_run(path, read_run(path))
    return path


@pytest.mark.parametrize("digest", ["", "told"])
def test_what_changed_is_told_in_the_same_words_as_of_whole_runs(tmp_path, digest):
    paths = [
        saved(tmp_path / name, cards(*ended, digest=digest))
        for name, ended in (("baseline", ("passed", 1.0)), ("new", ("failed", 0.0)))
    ]
    drops = parse_drops(["ar:0.02"])
    found, whole = (compare(*map(read, paths), drops) for read in (read_baseline, lambda path: Side.of(read_run(path))))
    assert found == whole
    assert found.cases[0].requirements[0].baseline_why == "because of 0"
    assert found.cases[0].requirements[0].new_quotes[0].text == "Old Mill"


def test_a_run_that_failed_other_kinds_of_requirements_keeps_the_words_of_its_labels(tmp_path):
    paths = [
        saved(tmp_path / name, cards(*ended, digest="told"))
        for name, ended in (("baseline", ("passed", 1.0)), ("new", ("failed", 0.0)))
    ]
    baseline, new = (read_baseline(path).asserting(frozenset({"soft"})) for path in paths)
    comparison = compare(baseline, new, parse_drops(["ar:0.02"]))
    assert [card.outcome for card in new.cards] == ["passed"] * 8
    assert comparison.cases[0].requirements[0].new_why == "because of 0"


def test_an_accepted_run_keeps_the_words_of_its_labels(tmp_path):
    accept(saved(tmp_path / "new", cards("failed", 0.0)), tmp_path / "anchor")
    kept = read_run(tmp_path / "anchor").cases
    assert [one.labels[0].why for one in kept] == [f"because of {number}" for number in range(8)]
    assert not any(one.trajectory.turns for one in kept)


def test_a_run_that_contradicts_itself_is_refused_all_the_same(tmp_path):
    path = saved(tmp_path / "run.json", cards("passed", 1.0, digest="told"))
    path.write_text(path.read_text(encoding="utf-8").replace('"case": "case-0"', '"case": "another"'), encoding="utf-8")
    with pytest.raises(SuiteError, match="found the dialogue of case another, trial 1, expected that of case case-0"):
        read_baseline(path)
