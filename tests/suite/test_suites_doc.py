"""What docs/suites.md shows is true: its examples make a suite without errors or warnings."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_mapsat.proof import lint_records
from pytest_mapsat.suite import lint, open_suite

DOC = Path(__file__).resolve().parents[2] / "docs" / "suites.md"


def test_the_examples_of_the_document_are_a_suite_without_warnings(tmp_path):
    text = DOC.read_text(encoding="utf-8")
    for name, content in re.findall(r"```yaml\n# (\S+)\n(.*?)```", text, re.DOTALL):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    record, line = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "r.jsonl").write_text(record, encoding="utf-8")
    (tmp_path / "more.jsonl").write_text(line, encoding="utf-8")

    suite = open_suite(tmp_path)
    assert [entry.id for path in suite.files() for entry in suite.entries(path)] == ["a-1", "airport-with-ev"]
    findings = [*lint(suite), *lint_records(suite)]
    found = [
        finding for finding in findings if finding.severity != "note" and "case a-1" not in finding.problem.message
    ]
    assert found == []


def test_the_error_that_the_document_shows_is_the_one_that_is_given(tmp_path):
    text = DOC.read_text(encoding="utf-8")
    (shown,) = re.findall(r"airport\.yaml(:\d+: truth\.implicit.*)", text)
    blocks = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", text, re.DOTALL))
    (tmp_path / "suite.yaml").write_text(blocks["suite.yaml"], encoding="utf-8")
    (tmp_path / "a.yaml").write_text(
        blocks["navigation/airport.yaml"].replace("severity: hard", "severity: hrd"), encoding="utf-8"
    )
    messages = [str(finding.problem).partition("a.yaml")[2] for finding in lint(open_suite(tmp_path))]
    assert shown in messages
