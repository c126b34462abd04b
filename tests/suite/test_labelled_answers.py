"""Labels of people in a suite: read apart from its cases, checked against them, no part of its fingerprint."""

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


def test_labels_are_no_cases(root):
    suite = write(root, answer())
    assert [path.name for path in open_suite(root).files()] == ["a.yaml", "b.yaml"]
    assert not suite.holds_cases(root / "labels" / "a.jsonl")


def test_labels_leave_the_fingerprint_as_it_was_and_what_comes_before_judges_has_a_digest_of_its_own(root):
    before = open_suite(root)
    some = write(root, answer())
    (root / "labels" / "reviewed.jsonl").write_text("")
    after = open_suite(root)
    assert after.fingerprint() == some.fingerprint() == before.fingerprint()
    assert (before.digest_of("labels"), before.digest_of("reviewed"), some.digest_of("reviewed")) == ("", "", "")
    assert len(some.digest_of("labels")) == len(after.digest_of("reviewed")) == 16


def test_answers_are_read_in_the_order_of_files_and_lines(root):
    (root / "labels" / "b.jsonl").write_text(lines(answer(id="r3"), answer(id="r4", labels=LABELS | {"z2": 0})))
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
        ({"labels": {"e1": "passed"}}, "1: labels: there is no word on z1, f1, which the case nav-one has (give each"),
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
        ({"schema": "mapsat-answer/1"}, "1: schema: found 'mapsat-answer/1', expected one of mapsat-labels/1"),
        ({"txt": "Blue Bay."}, "1: txt: is not a known field (did you mean 'text'?)"),
        ({"text": None}, "1: give one of text (the final reply), turns (the whole dialogue), reply with"),
        ({"reply": "0" * 16, "evidence": "0" * 16}, "1: give one of text (the final reply)"),
        ({"text": None, "reply": "0" * 16}, "1: reply and evidence go together"),
        ({"id": ""}, "1: id is missing"),
        ({"why": {"z9": "so"}}, "1: why or wording names 'z9', which has no label"),
        ({"text": None, "trial": 1}, "1: trial: a trial is of a run, and a suite has none"),
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


def test_a_file_of_another_layout_is_told(root):
    (root / "labels" / "a.jsonl").write_text('{"nav-one": [{"id": "r1", "right": true, "text": "Blue Bay."}]}')
    assert "1: nav-one: is not a known field" in " ".join(problems(open_suite(root)))


def test_lint_tells_what_is_wrong_with_labels(root):
    digests = {"reply": "0" * 16, "evidence": "0" * 16}
    (root / "labels" / "reviewed.jsonl").write_text(
        lines(
            {"case": "nav-one", "labels": {"z1": "passed"}, "wording": {"z1": "0" * 16}} | digests,
            {"case": "nav-one", "labels": {"zz1": "passed"}} | digests,
            {"case": "nav-one", "labels": {"z1": 0.5}} | digests,
            {"case": "nav", "labels": {"z1": "passed"}} | digests,
        )
    )
    found = [finding for finding in lint(write(root, answer(case="nav"))) if finding.rule == "label"]
    assert [(finding.severity, finding.problem.line) for finding in found] == [
        ("error", 1),
        ("warning", 1),
        ("warning", 2),
        ("warning", 3),
        ("warning", 4),
    ]
    assert "the words of the requirement z1 of the case nav-one have changed" in str(found[1])
    assert "(did you mean 'z1'?)" in str(found[2])


def test_labels_of_another_schema_are_an_error_of_lint(root):
    (root / "labels" / "reviewed.jsonl").write_text(lines({"schema": "mapsat-labels/7"}))
    assert [finding.severity for finding in lint(open_suite(root)) if finding.rule == "label"][:1] == ["error"]


def test_labels_that_stand_among_the_cases_are_told_where_they_belong(root):
    (root / "more.jsonl").write_text(lines(answer()))
    with pytest.raises(SuiteError, match=r"labels of people belong in labels/\*\.jsonl"):
        open_suite(root).entries(root / "more.jsonl")
