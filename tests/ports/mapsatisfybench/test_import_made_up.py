"""The importer against a made-up source: what each part becomes, and every kind of damage."""

import json
import os
import re
import subprocess
import sys
import zipfile

import pytest
from published_layout import COLUMNS, PROFILE, calls, context, make_source, recording, row, truth, write_mock

from pytest_mapsat.formats import limits
from pytest_mapsat.model import SuiteError, UsageError
from pytest_mapsat.ports.mapsatisfybench import import_mapsatisfybench
from pytest_mapsat.suite import lint, open_suite


def imported(root, *args, **kwargs):
    """Import a made-up source; return the report and the suite."""
    source = make_source(root / "src", *args, **kwargs)
    report = import_mapsatisfybench(source, root / "dest")
    return report, open_suite(root / "dest")


def the_case(suite):
    (entry,) = suite.entries(suite.root / "cases.jsonl")
    return suite.load(entry)


def kinds(report):
    return {note.kind for note in report.notes}


def note_of(report, kind):
    return next(note for note in report.notes if note.kind == kind)


def test_each_part_of_a_row_becomes_a_part_of_the_case(tmp_path):
    _, suite = imported(tmp_path)
    case = the_case(suite)
    assert (case.id, case.language, case.domains) == ("case-1", "zh", ())
    assert case.visible.query == "take me there"
    seen = case.visible.context
    assert seen.now == "2026-05-07T08:09:10+08:00"
    assert (seen.location.lon, seen.location.lat, seen.location.name, seen.city) == (120.5, 30.25, "a gate", "P/C")
    assert seen.history == ("looked at a", "looked at b")
    assert case.truth.intent == "I want to go"
    assert [(requirement.id, requirement.text) for requirement in case.truth.asked] == [("e1", "go there")]
    (requirement,) = case.truth.implicit
    assert (requirement.id, requirement.kind, requirement.weight, requirement.source) == (
        "z1",
        "hard",
        1.2,
        "unstated",
    )
    assert requirement.evidence[0].text == "in a hurry"
    assert [(fact.id, fact.text) for fact in case.truth.facts] == [("f1", "times agree")]
    policy = case.truth.clarification
    assert (policy.max_turns, policy.reference_turns, policy.note) == (2, None, "two things are open")
    (tool,) = case.truth.tools
    assert (tool.name, tool.required, tool.prose) == ("search_user_profile", ("uid",), (("uid", "the user"),))
    assert case.truth.user.answers == ()


def test_the_user_has_an_alias_and_the_old_id_still_finds_the_recording(tmp_path):
    _, suite = imported(
        tmp_path,
        [row(ctx=context(uid="case-1"))],
        {"search_user_profile": [recording("case-1", "search_user_profile", {"adiu": "case-1"}, "x")]},
    )
    uid = the_case(suite).visible.context.uid
    assert uid.startswith("u-")
    assert "case-1" not in uid
    (only,) = suite.recordings("case-1")
    assert only.arguments == {"uid": uid}
    assert only.synonyms == {"uid": ("case-1",)}


def test_two_cases_of_one_user_share_the_alias(tmp_path):
    _, suite = imported(tmp_path, [row("a"), row("b")])
    first, second = [suite.load(entry).visible.context.uid for entry in suite.entries(suite.root / "cases.jsonl")]
    assert first == second


def test_results_are_parsed_where_they_are_json_and_text_elsewhere(tmp_path):
    results = ['{"a":1}', "[1]", "just words", '{"broken', "3"]
    mock = [recording("case-1", "get_rgeo", {"x": str(n), "y": "2"}, text) for n, text in enumerate(results)]
    report, suite = imported(tmp_path, None, {"get_rgeo": mock})
    assert [one.result for one in suite.recordings("case-1")] == [{"a": 1}, [1], "just words", '{"broken', 3]
    assert note_of(report, "result_text").place == "get_rgeo.csv:5"


def test_arguments_are_kept_as_they_are_nulls_included(tmp_path):
    arguments = {"x": 1.50, "y": "2", "range_meters": None}
    _, suite = imported(tmp_path, None, {"get_rgeo": [recording("case-1", "get_rgeo", arguments, 1)]})
    assert suite.recordings("case-1")[0].arguments == arguments


def test_the_history_is_read_however_it_is_written(tmp_path):
    histories = [
        (json.dumps(["a", "b"]), ("a", "b"), False),
        (json.dumps(["a", "b"]).replace('"', '\\"'), ("a", "b"), True),
        (["a", "b"], ("a", "b"), False),
        (None, (), False),
        ("", (), False),
        ("no array", ("no array",), True),
        ('{"a": 1}', ('{"a": 1}',), True),
    ]
    rows = [row(f"case-{number}", ctx=context(history=history)) for number, (history, *_) in enumerate(histories)]
    report, suite = imported(tmp_path, rows)
    cases = [suite.load(entry) for entry in suite.entries(suite.root / "cases.jsonl")]
    assert [case.visible.context.history for case in cases] == [sentences for _, sentences, _ in histories]
    noted = {note.place for note in report.notes if note.kind == "history"}
    assert len(noted) == sum(odd for *_, odd in histories)
    for number, (history, _, odd) in enumerate(histories, 2):
        assert any(f"row {number}" in place for place in noted) is odd, history


def test_a_place_that_cannot_be_read_is_left_out_and_counted(tmp_path):
    report, suite = imported(tmp_path, [row(ctx=context(user_current_loc="here"))])
    assert the_case(suite).visible.context.location is None
    assert report.not_carried == {"locations": 1}
    assert "location" in kinds(report)


def test_what_a_case_has_no_place_for_is_counted(tmp_path):
    gt = truth(evidence_source="x", truth_trajectory={"tool_calls": calls(order=[1]), "notes": 2})
    report, _ = imported(tmp_path, [[*row(ctx=context(mood="fine"), gt=gt), "L2"]], columns=[*COLUMNS, "difficulty"])
    assert report.not_carried == {
        "column difficulty": 1,
        "context.mood": 1,
        "ground_truth.evidence_source": 1,
        "tool_calls.order": 1,
        "truth_trajectory.notes": 1,
    }


def test_rows_that_cannot_be_cases_are_left_out_with_their_places(tmp_path):
    stern = {"rubric_instruction": "x", "constraint_type": "stern", "evidence_confidence": 1, "evidence": ""}
    bad = [
        (["bad", "q", "{", "i", "{}"], "context is not JSON"),
        (["bad", "q", "[]", "i", "{}"], r"context is \[\], not an object"),
        (row("bad", ctx=context(time="yesterday")), "found 'yesterday', expected YYYY-MM-DD"),
        (row("bad", gt=truth(explicit_intent="go")), "explicit_intent is 'go', not a list"),
        (row("bad", gt=truth(implicit_intent=[stern])), "constraint_type is 'stern', not hard or soft"),
        (row("bad", gt=truth(clarification_policy={"max_allowed": "many", "evidence": ""})), "found 'many', expected a whole number"),
        (row("b a d"), "expected 1 to 80 of"),
        (row("bad-t1"), "ends like the mark of a trial"),
        (row("bad", query=""), "query: found ''"),
    ]  # fmt: skip
    report, suite = imported(tmp_path, [row(), *(cells for cells, _ in bad)])
    assert the_case(suite).id == "case-1"
    assert report.not_carried["cases"] == len(bad)
    for number, (_, words) in enumerate(bad, 3):
        (note,) = [note for note in report.notes if re.search(rf"row {number}\b", note.place)]
        assert note.kind == "unparsable"
        assert re.search(words, note.message)


def test_a_source_without_a_single_good_case_is_refused(tmp_path):
    source = make_source(tmp_path / "src", [row("b a d")])
    with pytest.raises(SuiteError, match="row 2"):
        import_mapsatisfybench(source, tmp_path / "dest")
    assert not (tmp_path / "dest").exists()


def test_a_case_that_stands_twice_is_kept_once(tmp_path):
    report, suite = imported(tmp_path, [row(), row(query="again")])
    assert the_case(suite).visible.query == "take me there"
    assert report.not_carried == {"cases": 1}
    assert "duplicate_case" in kinds(report)


def test_cases_are_sorted_by_id(tmp_path):
    _, suite = imported(tmp_path, [row("b"), row("c"), row("a")])
    assert [entry.id for entry in suite.entries(suite.root / "cases.jsonl")] == ["a", "b", "c"]


def test_recordings_that_cannot_be_read_are_left_out_and_counted(tmp_path):
    bad = [
        ["case-1", "get_rgeo", "{x}", "1"],
        ["case-1", "get_rgeo", "[1]", "1"],
        ["no good id", "get_rgeo", "{}", "1"],
        ["case-1", "get rgeo", "{}", "1"],
        ["case-1", "get_rgeo", "{}"],
    ]
    good = recording("case-1", "get_rgeo", {"x": "1", "y": "2"}, 1)
    report, suite = imported(tmp_path, None, {"get_rgeo": [good, *bad]})
    assert len(suite.recordings("case-1")) == report.recordings == 1
    assert report.not_carried == {"recordings": 4, "rows": 1}
    assert {note.place for note in report.notes} >= {f"get_rgeo.csv:{number}" for number in range(3, 8)}


def test_recordings_of_no_case_are_kept_aside(tmp_path):
    report, suite = imported(tmp_path, None, {"get_rgeo": [recording("gone", "get_rgeo", {}, 1)]})
    assert (report.recordings, report.orphans) == (1, 1)
    assert len(suite.recordings("gone")) == 1
    assert (suite.root / "recordings" / "orphans.jsonl").exists()
    assert [finding.rule for finding in lint(suite) if finding.rule == "orphan"] == ["orphan"]


def test_an_unknown_tool_gets_a_bare_spec_and_a_note(tmp_path):
    mock = {"get_rgeoo": [recording("case-1", "get_rgeoo", {"a": 1}, 1), recording("case-1", "get_rgeoo", {"b": 1}, 1)]}
    report, suite = imported(
        tmp_path, [row(gt=truth(truth_trajectory={"tool_calls": calls(expected_tools=["teleport"])}))], mock
    )
    assert sorted(suite.tools["get_rgeoo"].parameters["properties"]) == ["a", "b"]
    assert "did you mean 'get_rgeo'" in note_of(report, "unknown_tool").message
    assert the_case(suite).truth.tools[0].name == "teleport"
    assert not [finding for finding in lint(suite) if finding.severity == "error"]
    assert report.not_carried == {"parameter rules": 1}


def test_requests_recorded_twice_are_told_by_lint_in_canonical_form(tmp_path):
    def at(x, result):
        return recording("case-1", "get_rgeo", {"x": x, "y": "2"}, result)

    mock = [at("1", 1), at(1.0, 2), at("3", 3), at(3, 3)]
    report, suite = imported(tmp_path, None, {"get_rgeo": mock})
    assert {"conflict", "duplicate-recording"} <= {finding.rule for finding in lint(suite)}
    assert report.recordings == 4


def test_several_workbooks_and_sheets_are_read(tmp_path):
    import openpyxl

    source = make_source(tmp_path / "src")
    book = openpyxl.Workbook()
    book.worksheets[0].append(COLUMNS)
    book.worksheets[0].append(row("case-2"))
    book.create_sheet("notes").append(["hello"])
    book.save(source / "inputs" / "more.xlsx")
    report = import_mapsatisfybench(source, tmp_path / "dest")
    assert report.cases == 2
    assert report.not_carried == {"sheets": 1}


def test_formulas_are_text(tmp_path):
    _, suite = imported(tmp_path, [row(query="=1+1")])
    assert the_case(suite).visible.query == "=1+1"


def test_the_folder_above_the_published_one_will_do(tmp_path):
    make_source(tmp_path / "repo" / "data")
    assert import_mapsatisfybench(tmp_path / "repo", tmp_path / "dest").cases == 1


def test_missing_columns_are_named_with_their_file(tmp_path):
    source = make_source(tmp_path / "a", [], columns=["task_id", "query", "contxt", "full_intent"])
    with pytest.raises(SuiteError) as caught:
        import_mapsatisfybench(source, tmp_path / "dest")
    text = str(caught.value)
    assert "demo_bench.xlsx:1: has no column 'context'" in text
    assert "did you mean 'contxt'" in text
    assert "has no column 'ground_truth'" in text

    source = make_source(tmp_path / "b")
    write_mock(source, "get_rgeo", [], columns=["trace_id", "tool_name", "arguments"])
    with pytest.raises(SuiteError, match=r"get_rgeo\.csv:1: has no column 'result'"):
        import_mapsatisfybench(source, tmp_path / "dest")


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda src: (src / "inputs" / "demo_bench.xlsx").write_bytes(b"no zip"), "is not a readable workbook"),
        (lambda src: (src / "inputs" / "demo_bench.xlsx").unlink(), "holds no workbook"),
        (lambda src: (src / "sandbox" / "mock_data" / "search_user_profile.csv").unlink(), "holds no recordings"),
        (lambda src: (src / "sandbox" / "mock_data" / "x.csv").write_bytes(b"\xff"), "is not UTF-8"),
        (lambda src: (src / "sandbox" / "mock_data" / "x.csv").write_bytes(b'trace_id,tool_name,arguments,result\na,"b"c,d,e\n'), "is not valid CSV"),
        (lambda src: (src / "inputs").rename(src / "input"), "there is no folder inputs"),
    ],
)  # fmt: skip
def test_a_source_that_cannot_be_read_is_refused_and_nothing_is_written(tmp_path, break_it, words):
    source = make_source(tmp_path / "src")
    break_it(source)
    with pytest.raises(SuiteError, match=words):
        import_mapsatisfybench(source, tmp_path / "dest")
    assert [path.name for path in tmp_path.iterdir()] == ["src"]


def test_a_workbook_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "WORKBOOK_BYTES", 5 * 1024 * 1024)
    source = make_source(tmp_path / "src")
    archive = zipfile.ZipFile(source / "inputs" / "demo_bench.xlsx", "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with archive, archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as member:
        for _ in range(6):
            member.write(bytes(1024 * 1024))
    with pytest.raises(SuiteError, match="unpacks to 6291456 bytes"):
        import_mapsatisfybench(source, tmp_path / "dest")


def test_a_workbook_with_damaged_insides_is_refused(tmp_path):
    source = make_source(tmp_path / "src")
    with zipfile.ZipFile(source / "inputs" / "demo_bench.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<broken")
    with pytest.raises(SuiteError, match="is not a readable workbook"):
        import_mapsatisfybench(source, tmp_path / "dest")


def test_a_long_field_is_read_and_the_limit_of_the_process_put_back(tmp_path):
    import csv

    before = csv.field_size_limit()
    long = recording("case-1", "get_rgeo", {"x": "1", "y": "2"}, "x" * (before + 1))
    _, suite = imported(tmp_path, None, {"get_rgeo": [long]})
    assert len(suite.recordings("case-1")[0].result) == before + 1
    assert csv.field_size_limit() == before


def test_a_destination_with_content_is_refused_before_anything_is_read(tmp_path):
    (tmp_path / "dest").mkdir()
    (tmp_path / "dest" / "mine").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="not an empty folder"):
        import_mapsatisfybench(make_source(tmp_path / "src"), tmp_path / "dest")


def test_the_report_lies_beside_the_suite(tmp_path):
    report, suite = imported(tmp_path)
    assert json.loads((suite.root / "import.json").read_text(encoding="utf-8")) == json.loads(
        json.dumps(report.to_json())
    )


def test_two_imports_give_the_same_bytes_whatever_the_hash_seed(tmp_path):
    source = make_source(
        tmp_path / "src",
        [row("b"), row("a")],
        {"search_user_profile": [PROFILE], "zzz": [recording("a", "zzz", {"q": 1, "b": 2}, 1)]},
    )
    code = "import sys; from pathlib import Path; from pytest_mapsat.ports.mapsatisfybench import *; import_mapsatisfybench(*map(Path, sys.argv[1:]))"
    here, there = tmp_path / "here", tmp_path / "there"
    import_mapsatisfybench(source, here)
    subprocess.run(
        [sys.executable, "-c", code, source, there], check=True, env={**os.environ, "PYTHONHASHSEED": "4242"}
    )
    first, second = (
        {path.relative_to(dest): path.read_bytes() for path in sorted(dest.rglob("*")) if path.is_file()}
        for dest in (here, there)
    )
    assert first == second
    assert len(first) > 20
