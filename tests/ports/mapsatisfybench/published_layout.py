"""A tiny made-up source in MapSatisfyBench's published layout."""

import csv
import io
import json
from pathlib import Path
from typing import Any

COLUMNS = ["task_id", "query", "context", "full_intent", "ground_truth"]


def context(**changes: Any) -> dict[str, Any]:
    return {
        "uid": "user-1",
        "time": "2026-05-07 08:09:10",
        "user_current_loc": "120.5,30.25",
        "user_loc_name": "a gate",
        "city": "P/C",
        "history": json.dumps(["looked at a", "looked at b"]),
    } | changes


def truth(**changes: Any) -> dict[str, Any]:
    return {
        "explicit_intent": ["go there"],
        "implicit_intent": [
            {
                "rubric_instruction": "be quick",
                "constraint_type": "hard",
                "evidence_confidence": 1.2,
                "evidence": "in a hurry",
            }
        ],
        "clarification_policy": {"max_allowed": 2, "evidence": "two things are open"},
        "truth_trajectory": {"tool_calls": calls()},
    } | changes


def calls(**changes: Any) -> dict[str, Any]:
    return {
        "expected_tools": ["search_user_profile"],
        "parameter_rules": {
            "search_user_profile": {"paramter": ["adiu"], "rules": [{"param": "adiu", "rule_description": "the user"}]}
        },
        "factual_answer_rubric": ["times agree"],
    } | changes


def row(task_id: str = "case-1", *, ctx: Any = None, gt: Any = None, query: str = "take me there") -> list[str]:
    cells = [json.dumps(context() if ctx is None else ctx), "I want to go", json.dumps(truth() if gt is None else gt)]
    return [task_id, query, *cells]


def recording(trace: str, tool: str, arguments: Any, result: Any) -> list[str]:
    return [trace, tool, json.dumps(arguments), result if isinstance(result, str) else json.dumps(result)]


PROFILE = recording("case-1", "search_user_profile", {"adiu": "user-1"}, "likes tea")


def make_source(
    root: Path,
    rows: list[list[str]] | None = None,
    files: dict[str, list[list[str]]] | None = None,
    columns: list[str] | None = None,
) -> Path:
    """Write the source: a workbook with these rows, and CSV files with these recordings."""
    import openpyxl

    (root / "inputs").mkdir(parents=True)
    (root / "sandbox" / "mock_data").mkdir(parents=True)
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for cells in [columns or COLUMNS, *([row()] if rows is None else rows)]:
        sheet.append(cells)
    book.save(root / "inputs" / "demo_bench.xlsx")
    for name, recordings in ({"search_user_profile": [PROFILE]} if files is None else files).items():
        write_mock(root, name, recordings)
    return root


def write_mock(root: Path, name: str, recordings: list[list[str]], columns: list[str] | None = None) -> None:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns or ["trace_id", "tool_name", "arguments", "result"])
    writer.writerows(recordings)
    (root / "sandbox" / "mock_data" / f"{name}.csv").write_bytes(b"\xef\xbb\xbf" + text.getvalue().encode())
