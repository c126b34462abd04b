"""``mapsat review SUITE``: people accept, change or drop what drafts propose, and the files follow without losing a word."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import tiny_suite

from pytest_mapsat.cli import main
from pytest_mapsat.suite import open_suite, to_yaml

TURNS = [
    {"role": "user", "text": "Take me to a charger."},
    {
        "role": "agent",
        "text": "I suggest Old Mill.",
        "steps": [{"kind": "call", "tool": "search_poi", "arguments": {"query": "charger"}}],
    },
]
AGREED = [*TURNS, {"role": "user", "text": "It is closed."}, {"role": "agent", "text": "Then I suggest Blue Bay."}]


def draft(name: str) -> dict[str, Any]:
    """Return a case with a proposed requirement on a field, a proposed answer, and two requirements that stand."""
    case = tiny_suite.case(name)
    evidence = [{"text": "It is six in the evening.", "at": ["chat.json:3"], "relevance": "strong"}]
    check = {"kind": "recommends", "only": True, "where": {"open": {"op": "equal", "value": True}}}
    case["truth"]["requirements"][1] |= {"check": check, "evidence": evidence, "source": "context", "draft": True}
    del case["truth"]["requirements"][1]["weight"]
    case["truth"]["user"] = {"answers": [{"asked": ["plug"], "say": "CCS, please.", "draft": True}]}
    return case


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite with a draft in a YAML file of its own, one between cases of a JSONL file, and labelled answers to the first."""
    files = {"d-1.yaml": [draft("d-1")], "more.jsonl": [tiny_suite.case("c-1"), draft("d-2"), tiny_suite.case("c-2")]}
    tiny_suite.write_suite(tmp_path / "suite", files)
    (tmp_path / "suite" / "d-1.yaml").write_bytes(to_yaml(draft("d-1")))
    labels = {"e1": "passed", "f1": "passed"}
    answers = [
        {"case": "d-1", "id": "logged", "by": "log", "turns": TURNS, "labels": labels | {"z1": "failed"}},
        {"case": "d-1", "id": "accepted", "by": "log", "turns": AGREED, "labels": labels | {"z1": "passed"}},
    ]
    (tmp_path / "suite" / "labels").mkdir()
    lines = (json.dumps(answer) + "\n" for answer in answers)
    (tmp_path / "suite" / "labels" / "d-1.jsonl").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "suite"


def case_of(suite: Path, name: str) -> Any:
    opened = open_suite(suite)
    return opened.load(next(entry for entry in opened.readable() if entry.id == name))


def requirement(suite: Path, name: str, which: str = "z1") -> Any:
    return next(part for part in case_of(suite, name).truth.requirements if part.id == which)


def decide(suite: Path, *decisions: dict[str, Any], by: str = "Ann") -> int:
    """Decide by a file, and return the exit status."""
    path = suite.parent / "decisions.jsonl"
    path.write_text("".join(json.dumps({"case": "d-1", "proposal": "z1"} | one) + "\n" for one in decisions))
    return main(["review", str(suite), "--from", str(path), "--by", by])


def kept(suite: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (suite / "labels" / "proposals.jsonl").read_text().splitlines()]


def test_each_proposal_is_shown_beside_its_log(suite, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("s\nq\n"))
    assert main(["review", str(suite)]) == 0
    out = capsys.readouterr().out
    for words in (
        "[1/4] case d-1: z1 is proposed (suite/d-1.yaml:",
        "logged     I suggest Old Mill.",
        "the user   It is closed.",
        "its open is",
        "accepted   Then I suggest Blue Bay.",
        "evidence   chat.json:3: It is six in the evening.",
        "proposed   hard: it is open now",
        "proposed   the user says: CCS, please.",
        "0 proposals decided, 4 open",
    ):
        assert words in out, out


def test_decisions_on_the_terminal_are_kept_at_once(suite, capsys, monkeypatch):
    typed = "x\na it was seen\nc\nc value=1\nc text=CCS only.\nd not needed\nc kind=soft value=false text=It is shut.\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert main(["review", str(suite), "--by", "Ann"]) == 0
    out = capsys.readouterr().out
    assert "an answer of the user has a text, and no kind or value" in out
    assert "found 'x', expected a, c with" in out
    assert not requirement(suite, "d-1").draft
    assert [answer.say for answer in case_of(suite, "d-1").truth.user.answers] == ["CCS only."]
    assert not case_of(suite, "d-1").truth.proposals
    assert [(line["proposal"], line["outcome"], line["by"]) for line in kept(suite)][:2] == [
        ("z1", "accepted", "Ann"),
        (kept(suite)[1]["proposal"], "changed", "Ann"),
    ]
    assert kept(suite)[0]["was"]["evidence"][0]["at"] == ["chat.json:3"]
    assert kept(suite)[0]["why"] == "it was seen"


def test_an_unknown_kind_is_told_with_the_nearest_one_and_asked_for_again(suite, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("c kind=hrd\nq\n"))
    assert main(["review", str(suite)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert "kind: found 'hrd', expected asked, hard or soft (did you mean 'hard'?)" in out
    assert out[-1] == "0 proposals decided, 4 open"


@pytest.mark.parametrize("name", ["d-1", "d-2"])
def test_an_accepted_requirement_keeps_its_evidence_and_loses_the_mark(suite, name):
    before = requirement(suite, name)
    assert decide(suite, {"case": name, "outcome": "accepted"}) == 0
    after = requirement(suite, name)
    assert after == before.model_copy(update={"draft": False})
    assert [case_of(suite, other).id for other in ("c-1", "c-2")] == ["c-1", "c-2"]


@pytest.mark.parametrize("name", ["d-1", "d-2"])
def test_a_changed_one_has_another_kind_text_and_value(suite, name):
    change = {"outcome": "changed", "kind": "asked", "text": "It is shut.", "value": False}
    assert decide(suite, {"case": name, **change}) == 0
    after = requirement(suite, name)
    assert (after.kind, after.text, after.evidence, after.draft) == ("asked", "It is shut.", (), False)
    assert after.check.where["open"].value is False
    assert kept(suite)[0]["value"] is False


def test_a_dropped_one_goes_with_its_labels(suite, capsys):
    assert decide(suite, {"outcome": "dropped", "why": "by chance"}) == 0
    assert [part.id for part in case_of(suite, "d-1").truth.requirements] == ["e1", "z2", "f1"]
    labels = [json.loads(line)["labels"] for line in (suite / "labels" / "d-1.jsonl").read_text().splitlines()]
    assert labels == [{"e1": "passed", "f1": "passed"}] * 2
    capsys.readouterr()
    main(["lint", str(suite), "--json"])
    assert not [one for one in json.loads(capsys.readouterr().out) if one["severity"] == "error"]


def test_other_cases_and_comments_of_the_file_stay_as_they_were_written(suite):
    path = suite / "d-1.yaml"
    written = path.read_text()
    head, foot = (
        "# by hand, above\n",
        "---\n# by hand, below\n{id: c-9, visible: {query: Hi}, truth: {requirements: [{id: e1, kind: asked, text: x}]}}\n",
    )
    path.write_text(head + written + foot)
    assert decide(suite, {"outcome": "accepted"}) == 0
    assert path.read_text().startswith(head)
    assert path.read_text().endswith(foot)
    assert not requirement(suite, "d-1").draft


def test_a_comment_inside_the_case_is_not_lost_but_told(suite, capsys):
    path = suite / "d-1.yaml"
    written = path.read_text().replace("truth:", "truth:  # seen in the log")
    path.write_text(written)
    assert decide(suite, {"outcome": "accepted"}) == 2
    assert "the case has a comment by hand" in capsys.readouterr().err
    assert path.read_text() == written
    assert not (suite / "labels" / "proposals.jsonl").exists()


WRONG = {
    "an unknown proposal": ({"proposal": "z9", "outcome": "accepted"}, "d-1 has no open proposal 'z9'"),
    "one that stands": ({"proposal": "e1", "outcome": "accepted"}, "d-1 has no open proposal 'e1'"),
    "a change of nothing": ({"outcome": "changed"}, "found changed, expected changed with kind, text or value"),
    "a change that is none": ({"outcome": "accepted", "kind": "soft"}, "found accepted, expected changed"),
    "an unknown outcome": ({"outcome": "maybe"}, "outcome"),
    "an unknown kind": ({"outcome": "changed", "kind": "policy"}, "kind"),
    "a value that no check takes": ({"outcome": "changed", "value": {"op": "near"}}, "near"),
}


@pytest.mark.parametrize(("decision", "message"), WRONG.values(), ids=WRONG)
def test_a_decision_that_does_not_fit_changes_nothing(suite, capsys, decision, message):
    before = {path: path.read_bytes() for path in suite.rglob("*") if path.is_file()}
    assert decide(suite, decision) == 2
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in suite.rglob("*") if path.is_file()} == before


def test_two_decisions_on_one_proposal_are_refused(suite, capsys):
    assert decide(suite, {"outcome": "accepted"}, {"outcome": "dropped"}) == 2
    assert "is decided twice" in capsys.readouterr().err
    assert requirement(suite, "d-1").draft


def test_the_last_requirement_is_not_dropped(suite, capsys):
    case = draft("d-3")
    case["truth"]["requirements"] = case["truth"]["requirements"][1:2]
    (suite / "d-3.jsonl").write_text(json.dumps(case) + "\n")
    assert decide(suite, {"case": "d-3", "outcome": "dropped"}) == 2
    assert "it is the last requirement of the case" in capsys.readouterr().err


def test_the_list_as_json_has_the_proposal_its_evidence_and_its_log(suite, capsys):
    assert main(["review", str(suite / "d-1.yaml"), "--list", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["case"], first["proposal"], first["is"], second["is"]) == ("d-1", "z1", "requirement", "answer")
    assert first["proposed"]["evidence"][0]["at"] == ["chat.json:3"]
    logged, accepted = first["log"]
    assert (logged["outcome"], logged["next"]) == ("failed", "It is closed.")
    assert accepted["outcome"] == "passed"
    assert main(["review", str(suite), "--list"]) == 0
    assert "4 proposals open" in capsys.readouterr().out


def test_what_goes_with_a_run_is_refused_for_a_suite(suite, capsys):
    assert main(["review", str(suite), "--agreement"]) == 2
    assert "--agreement goes with a run" in capsys.readouterr().err
    assert main(["review", str(suite.parent)]) == 2
    assert "there is no suite" in capsys.readouterr().err
