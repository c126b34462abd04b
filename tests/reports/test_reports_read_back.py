"""Markdown, JSON and GitHub reports: what they say of a run, read back; and which reports may be asked for."""

import json
import re

import pytest
from markdown_it import MarkdownIt
from report_runs import BROKEN, COMPARED, RUN
from runs_made import card, run_of

from pytest_mapsat.cli import main
from pytest_mapsat.model import Label, MapsatError, UsageError
from pytest_mapsat.reports import parse_reports, write_reports
from pytest_mapsat.reports.markdown import MOST, annotation_lines, code, markdown_report
from pytest_mapsat.reports.targets import parse_report
from pytest_mapsat.reports.view import json_report


def tables(text):
    """The tables of a Markdown text: rows of cells."""
    found, row = [], []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            row = []
        elif token.type == "inline":
            row.append("".join(child.content for child in token.children))
        elif token.type == "tr_close":
            found[-1].append(row)
            row = []
    return found


def test_markdown_says_the_verdict_then_what_changed_then_the_numbers():
    text = markdown_report(COMPARED)
    assert text.startswith("## ❌ mapsat: 1 of 4 failed; the run is invalid\n")
    assert text.index("### Changes") < text.index("| metric |")
    assert "- 🔻 **`charge-now`** passed → failed (`navigation`)\n" in text
    assert "  - `open-now` passed → failed: before `“Blue Bay”`, now `“Old Mill”`\n" in text
    changes, metrics, domains = tables(text)
    assert changes[1] == ["satisfied", "0.900", "0.50 to 0.60", "−0.400 to −0.300", "0.012", "🔻 worse"]
    assert metrics[1][:2] == ["satisfied (AR)", "0.500"]
    assert metrics[-1] == ["passed", "0.33 to 0.67", metrics[-1][2], "3", "1"]
    assert domains[1][:2] == ["navigation", "0.250"]
    assert "`The place is open at 18:20`: `Old Mill`" in text


def test_markdown_fits_into_a_comment():
    long = [
        card(f"case-{number}", 0.0, outcome="failed", reason="long " * 200, domains=(f"d{number}" * 20,))
        for number in range(600)
    ]
    text = markdown_report(run_of(*long))
    assert len(text) < MOST + 200
    assert text.endswith("`mapsat report RUN html:report.html` has it._\n")


@pytest.mark.parametrize("text", ["a`b", "``", "`x`", "a|b", "plain", "@all #1", "x\n\n# head"])
def test_a_code_span_holds_any_text(text):
    (paragraph,) = [token for token in MarkdownIt("commonmark").parse(code(text)) if token.type == "inline"]
    (span,) = paragraph.children
    assert (span.type, span.content.split()) == ("code_inline", text.split())


def test_a_run_that_holds_says_so():
    run = run_of(card("a"), thresholds=["ar=0.5"])
    assert markdown_report(run).startswith("## ✅ mapsat: All 1 passed; the gate holds\n")
    assert list(annotation_lines(run)) == []
    assert markdown_report(run_of(card("a"))).startswith("## ✅ mapsat: All 1 passed\n")
    failed = run_of(card("a"), card("b", 0.0, outcome="failed"), thresholds=["ar=0.5"])
    assert markdown_report(failed).startswith("## ❌ mapsat: 1 of 2 failed; the gate fails\n")


def test_failed_cases_are_told_before_undecided_ones():
    label = Label(requirement="z", kind="hard", outcome="unevaluated", why="undecided: who knows")
    cards = [card("b", 0.0, outcome="failed"), card("c", outcome="unevaluated", unknown=("z",), labels=(label,))]
    run = run_of(card("a"), *cards)
    assert run.gate.outcome == "failed"
    assert markdown_report(run).startswith("## ❌ mapsat: 1 of 3 failed\n")


def test_annotations_stand_on_the_line_of_the_case_ten_at_most():
    assert list(annotation_lines(RUN, below="sub")) == [
        "::error file=sub/cases/charge-now.jsonl,line=7,title=charge-now failed::hard open-now failed",
        "::warning file=sub/cases/charge-later.jsonl,line=7,title=charge-later undecided::soft near is undecided",
    ]
    many = run_of(*(card(f"c{number}", 0.0, outcome="failed", reason="100% wrong") for number in range(30)))
    lines = list(annotation_lines(many))
    assert len(lines) == 10
    assert lines[0] == "::error title=c0 failed::100%25 wrong"
    assert lines[-1] == "::error title=mapsat::and 21 more cases; the summary of the step lists them"


def test_a_gate_that_fails_without_a_failed_case_is_annotated_too():
    (line,) = annotation_lines(run_of(card("a", 0.5), thresholds=["ar=0.9"]))
    assert line.startswith("::error title=mapsat%3A All 1 passed; the gate fails::ar 0.5000 < 0.9")


def test_json_keeps_to_its_schema_and_leaves_dialogues_out(capsys):
    data = json.loads(json_report(COMPARED))
    assert main(["schema", "report"], rare=True) == 0
    schema = json.loads(capsys.readouterr().out)
    assert set(data) <= set(schema["properties"])
    assert set(schema["required"]) <= set(data)
    case = next(one for one in data["cases"] if one["id"] == "charge-now")
    assert set(case) <= set(schema["$defs"]["ReportedCase"]["properties"])
    assert (case["file"], case["line"], case["bounds"]["ar"]) == ("cases/charge-now.jsonl", 7, [0.0, 0.0])
    assert [(one["requirement"], one["severity"], one["text"]) for one in case["missed"]] == [
        ("open-now", "hard", "The place is open at 18:20")
    ]
    assert [one["requirement"] for one in case["undecided"]] == ["near"]
    assert "trajectory" not in case
    assert data["comparison"]["cases"][0]["id"] == "charge-now"
    assert json_report(COMPARED) == json_report(COMPARED)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("htm:a", "did you mean 'html'"),
        ("html", "expected html:PATH"),
        ("json:", "names no file"),
        ("markdown:.", "is a folder"),
        ("", "expected TYPE:PATH"),
        ("/tmp/x.html", "did you mean html:/tmp/x.html?"),
        ("notes.md", "did you mean markdown:notes.md?"),
    ],
)
def test_a_report_that_cannot_be_had_is_told(tmp_path, text, told):
    with pytest.raises(UsageError, match=re.escape(told)):
        parse_report(text, tmp_path, {})


def test_two_reports_do_not_share_a_file(tmp_path):
    with pytest.raises(UsageError, match="two reports go to"):
        parse_reports(["html:a", "json:./a"], tmp_path)


@pytest.mark.parametrize("text", ["github:", "github:-"])
def test_the_summary_of_a_step_is_added_to(tmp_path, monkeypatch, text):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    target = parse_report(text, tmp_path, {"GITHUB_STEP_SUMMARY": str(summary)})
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    lines = list(write_reports(RUN, [target], tmp_path / "project"))
    assert lines[0].startswith("::error file=project/cases/charge-now.jsonl,")
    assert summary.read_text(encoding="utf-8") == "before\n" + markdown_report(RUN)


def test_a_report_for_a_step_on_github_is_a_note_elsewhere(tmp_path):
    target = parse_report("github:", tmp_path, {})
    (note,) = write_reports(RUN, [target], tmp_path)
    assert note.startswith("note     github: was not written: GITHUB_STEP_SUMMARY is not set")
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_cannot_be_written_leaves_what_was_there(tmp_path):
    (tmp_path / "file").write_text("kept")
    target = parse_report("html:file/report.html", tmp_path)
    with pytest.raises(MapsatError, match=r"report\.html"):
        list(write_reports(run_of(BROKEN), [target], tmp_path))
    assert (tmp_path / "file").read_text() == "kept"
