"""Sequences of a user's tasks: what has passed before each, and what is wrong with a sequence, with file and line."""

import json

import pytest
import tiny_suite

from pytest_mapsat.agents.source import context_of
from pytest_mapsat.model import SuiteError
from pytest_mapsat.suite import lint, open_suite


def task(name, order, *dates, now="2026-05-07T18:20:00+08:00", user="ida"):
    """Return a task of a user's sequence with an interaction on each date."""
    made = tiny_suite.case(name, group={"name": user, "order": order})
    made["visible"]["context"]["now"] = now
    made["visible"]["interactions"] = [
        {"date": date, "behavior": [{"type": "order", "content": f"{name} {date}"}]} for date in dates
    ]
    return made


def suite_of(folder, files):
    return open_suite(tiny_suite.write_suite(folder, files))


def case(suite, name):
    entries = {entry.id: entry for path in suite.files() for entry in suite.entries(path)}
    return suite.load(entries[name])


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Ida's three tasks over two files and two formats, out of order, and a case that stands alone."""
    alone = tiny_suite.case("alone")
    alone["visible"]["interactions"] = [{"date": "2026-05-01", "dialogue": [{"role": "user", "content": "Hello."}]}]
    files = {
        "nav/late.yaml": [task("third", 3, "2026-05-05", "2026-05-06T09:00:00"), alone],
        "nav/early.jsonl": [task("second", 2), task("first", 1, "2026-05-01"), task("other", 1, user="max")],
    }
    return suite_of(tmp_path_factory.mktemp("three") / "suite", files)


def test_before_a_task_stands_what_passed_before_it_and_before_the_earlier_ones_task_by_task(three):
    dates = [[step.date for step in history] for history in three.histories_before(case(three, "third"))]
    assert dates == [["2026-05-01"], [], ["2026-05-05", "2026-05-06T09:00:00"]]
    first, own = three.histories_before(case(three, "second"))
    assert ([step.behavior[0].content for step in first], own) == (["first 2026-05-01"], ())


def test_a_case_without_a_group_has_what_it_says_itself_before_it(three):
    (history,) = three.histories_before(case(three, "alone"))
    assert [step.dialogue[0].content for step in history] == ["Hello."]


def test_the_tasks_before_a_task_are_those_of_its_own_user(three):
    assert [entry.id for entry in three.earlier(case(three, "third"))] == ["first", "second"]
    assert three.earlier(case(three, "other")) == ()


def test_no_agent_is_told_of_interactions(three):
    told = json.dumps(context_of(case(three, "third").visible))
    assert "third 2026" not in told
    assert "interactions" not in told


BROKEN = {
    "a place that is taken twice": (
        [task("first", 1), task("again", 1)],
        ": group.order: place 1 of the sequence 'ida' is taken: first (",
    ),
    "a hole": (
        [task("first", 1), task("fourth", 4)],
        "group.order: found place 4 of the sequence 'ida', expected 2: the task before is first (",
    ),
    "a place that is no number": ([task("first", True)], "group.order: found True, expected a whole number"),
    "a sequence that does not begin at 1": ([task("second", 2)], "found place 2 of the sequence 'ida', expected 1"),
    "interactions that go backwards": (
        [task("first", 1, "2026-05-02", "2026-05-01")],
        "visible.interactions[1].date: found 2026-05-01 behind 2026-05-02",
    ),
    "interactions after the task": (
        [task("first", 1, "2026-05-07T18:20:00", "2026-05-08")],
        "visible.interactions[1].date: found 2026-05-08, after the task itself",
    ),
    "interactions before those of the task before": (
        [task("first", 1, "2026-05-03"), task("second", 2, "2026-05-02")],
        "visible.interactions[0].date: found 2026-05-02, and a task before it has an interaction of 2026-05-03",
    ),
    "a task before the one before it": (
        [task("first", 1), task("second", 2, now="2026-05-06T10:00:00")],
        "visible.context.now: found 2026-05-06T10:00:00, before 2026-05-07T18:20:00+08:00 of first",
    ),
    "an interaction that tells nothing": (
        [tiny_suite.case("empty", visible={"query": "Hello", "interactions": [{"date": "2026-05-01"}]})],
        "an interaction has a behavior or a dialogue",
    ),
    "an interaction without a date": (
        [
            tiny_suite.case(
                "x", visible={"query": "Hi", "interactions": [{"date": "May", "behavior": [{"content": "x"}]}]}
            )
        ],
        "visible.interactions[0].date: found 'May', expected a day such as 2026-05-23, or a moment",
    ),
}


@pytest.mark.parametrize(("cases", "message"), BROKEN.values(), ids=BROKEN)
def test_lint_tells_with_file_and_line(tmp_path, cases, message):
    errors = [
        str(finding) for finding in lint(suite_of(tmp_path / "s", {"a.yaml": cases})) if finding.severity == "error"
    ]
    (told,) = [error for error in errors if message in error]
    assert "a.yaml:" in told
    assert not told.startswith("a.yaml:0")


@pytest.mark.parametrize("name", ["a.yaml", "a.jsonl"])
def test_each_file_of_a_broken_sequence_is_an_error_of_collection(pytester, name):
    cases = {name: [task("first", 1)], "b.yaml": [task("third", 3)], "c.yaml": [tiny_suite.case("alone")]}
    tiny_suite.write_suite(pytester.path / "benchmark_cases", cases)
    pytester.makepyfile(good=tiny_suite.GOOD)
    result = pytester.runpytest("--mapsat-agent=good:agent", "--continue-on-collection-errors")
    result.assert_outcomes(errors=2, passed=1)
    result.stdout.fnmatch_lines(["*b.yaml:*: group.order: found place 3 of the sequence 'ida', expected 2*"])


def test_a_hole_that_a_broken_file_leaves_is_told_as_such(tmp_path):
    files = {"a.yaml": [task("first", 1)], "b.yaml": [task("second", 2)], "c.yaml": [task("third", 3)]}
    root = tiny_suite.write_suite(tmp_path / "s", files)
    (root / "b.yaml").write_text("- id: [")
    with pytest.raises(SuiteError, match=r"found place 3 .*a file of the suite cannot be read"):
        open_suite(root).refuse_broken_sequences()


def test_an_earlier_task_that_cannot_be_read_is_told_by_its_place(tmp_path):
    suite = suite_of(tmp_path / "s", {"a.jsonl": [task("first", 1), task("second", 2)]})
    second = case(suite, "second")
    path = suite.root / "a.jsonl"
    path.write_text(path.read_text().replace("first", "fir"))
    with pytest.raises(SuiteError, match="changed while the run used it"):
        suite.histories_before(second)
