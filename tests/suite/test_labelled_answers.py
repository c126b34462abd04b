"""Labelled answers and decisions in a suite: read apart from its cases, checked against them, no part of its fingerprint."""

from __future__ import annotations

import json

import pytest
from answer_suite import LABELS, answer, lines, write_answers, write_suite

from pytest_mapsat.model import SuiteError
from pytest_mapsat.suite import lint, open_suite, read_answers


@pytest.fixture
def root(tmp_path):
    return write_suite(tmp_path / "suite")


def write(root, *answers):
    write_answers(root, *answers)
    return open_suite(root)


def problems(suite) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        read_answers(suite)
    return [f"{problem.line}: {problem.message} ({problem.hint})" for problem in caught.value.problems]


def test_answers_and_decisions_are_no_cases(root):
    suite = write(root, answer())
    (root / "decisions.jsonl").write_text("")
    assert [path.name for path in open_suite(root).files()] == ["a.yaml", "b.yaml"]
    assert not suite.holds_cases(root / "answers" / "a.jsonl")


def test_answers_and_decisions_leave_the_fingerprint_as_it_was(root):
    before = open_suite(root)
    (root / "decisions.jsonl").write_text("")
    after = write(root, answer())
    assert after.fingerprint() == before.fingerprint()
    assert (before.digest_of_answers(), before.digest_of_decisions()) == ("", "")
    assert len(after.digest_of_answers()) == len(after.digest_of_decisions()) == 16


def test_answers_are_read_in_the_order_of_files_and_lines_from_jsonl_and_yaml(root):
    (root / "answers" / "b.yaml").write_text(json.dumps([answer(id="r3"), answer(id="r4", labels=LABELS | {"z2": 0})]))
    suite = write(root, answer(), answer(id="r2", labels={**LABELS, "z2": "failed"}, style="terse"))
    assert [placed.noun.id for placed in read_answers(suite)] == ["r1", "r2", "r3", "r4"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"case": "nav-oen"}, "1: case: the suite has no case 'nav-oen' (did you mean 'nav-one'?)"),
        (
            {"labels": LABELS | {"zz1": "passed"}},
            "1: labels.zz1: the case nav-one has no requirement 'zz1' (did you mean 'z1'?)",
        ),
        ({"labels": {"e1": "passed"}}, "1: labels: nothing is said of z1, f1, which the case nav-one has (give each"),
        (
            {"labels": LABELS | {"z1": 0.5}},
            "1: labels.z1: found 0.5, expected passed or failed (only a soft requirement has levels)",
        ),
        (
            {"labels": LABELS | {"z2": 0.6}},
            "1: labels.z2: found 0.6, expected passed, failed, or a soft requirement's level",
        ),
        ({"labels": LABELS | {"z1": "pased"}}, "1: labels.z1: found 'pased', expected passed, failed, or"),
        ({"labels": LABELS | {"z2": True}}, "1: labels.z2: found True, expected passed, failed, or"),
        ({"schema": "mapsat-answer/2"}, "1: schema: found 'mapsat-answer/2', expected one of mapsat-answer/1"),
        ({"by": "robot"}, "1: by: found 'robot', expected one of person, model"),
        ({"txt": "Blue Bay."}, "1: txt: is not a known field (did you mean 'text'?)"),
        ({"text": None}, "1: give text (the final reply) or turns (the whole dialogue), one of the two"),
        ({"text": " \n"}, "1: text has no words"),
        ({"text": None, "turns": [{"role": "agent", "text": "Blue Bay."}]}, "1: turns begin with the user's query"),
        ({"case": "nav-two"}, "1: text: the case nav-two has no oracle dialogue whose last reply this could be"),
    ],
)
def test_an_answer_that_does_not_fit_is_told_with_its_line(root, changes, said):
    found = problems(write(root, answer(**changes)))
    assert len(found) == 1
    assert found[0].startswith(said)


def test_a_second_answer_of_one_id_is_told_with_the_place_of_the_first(root):
    found = problems(write(root, answer(), answer(id="r2"), answer()))
    assert len(found) == 1
    assert found[0].startswith("3: id: a second answer 'r1' to the case nav-one: ")
    assert "a.jsonl:1 has one" in found[0]


def test_a_label_in_yaml_is_told_with_its_own_line(root):
    text = "- case: nav-one\n  id: r1\n  by: person\n  text: Blue Bay.\n  labels:\n    e1: passed\n    z1: passed\n    f2: passed\n"
    (root / "answers" / "a.yaml").write_text(text)
    found = problems(open_suite(root))
    assert [line.split(" the case")[0] for line in found] == [
        "8: labels.f2:",
        "5: labels: nothing is said of f1, which",
    ]


def test_a_file_of_another_layout_is_told(root):
    (root / "answers" / "a.yaml").write_text("nav-one:\n- {id: r1, right: true, text: Blue Bay.}\n")
    assert "1: nav-one: is not a known field" in " ".join(problems(open_suite(root)))


def test_lint_tells_what_is_wrong_with_answers_and_decisions(root):
    decision = {"case": "nav-one", "outcome": "passed", "wording": "0" * 16, "reply": "0" * 16, "evidence": "0" * 16}
    (root / "decisions.jsonl").write_text(
        lines(
            decision | {"requirement": "z1"},
            decision | {"requirement": "zz1"},
            decision | {"requirement": "z1", "outcome": 0.5},
            decision | {"requirement": "z1", "case": "nav"},
        )
    )
    found = [finding for finding in lint(write(root, answer(case="nav"))) if finding.rule in {"answer", "decision"}]
    assert [(finding.severity, finding.problem.line) for finding in found] == [
        ("error", 1),
        ("warning", 1),
        ("warning", 2),
        ("warning", 3),
        ("warning", 4),
    ]
    assert "the words of the requirement z1 of the case nav-one have changed" in str(found[1])
    assert "(did you mean 'z1'?)" in str(found[2])


def test_a_decision_of_another_schema_is_an_error_of_lint(root):
    (root / "decisions.jsonl").write_text(lines({"schema": "mapsat-decision/7"}))
    assert [finding.severity for finding in lint(open_suite(root)) if finding.rule == "decision"][:1] == ["error"]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (answer(), "labelled answers belong in answers/"),
        ({"case": "nav-one", "requirement": "z1", "wording": ""}, "decisions of people belong in decisions.jsonl"),
    ],
)
def test_one_that_stands_among_the_cases_is_told_where_it_belongs(root, line, hint):
    (root / "more.jsonl").write_text(lines(line))
    with pytest.raises(SuiteError, match=hint):
        open_suite(root).entries(root / "more.jsonl")
