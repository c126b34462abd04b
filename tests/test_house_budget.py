"""The house has a budget: code lines and files, room by room, in ``[tool.mapsat.budget]`` of pyproject.toml."""

import ast
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pytest_mapsat"


def code_lines(text: str) -> int:
    """Return how many lines hold code: no blanks, comments or docstrings."""
    docstrings, of_texts = set[int](), set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                docstrings.update(_lines_of(first))
        elif isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno != node.lineno:
            of_texts.update(_lines_of(node))
    lines = enumerate((line.strip() for line in text.split("\n")), 1)
    return len({number for number, line in lines if (line and line[0] != "#") or number in of_texts} - docstrings)


def _lines_of(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def spent() -> tuple[Counter[str], Counter[str]]:
    """Return code lines and files of each room; modules beside the rooms count as ``root``."""
    lines, files = Counter[str](), Counter[str]()
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        room = parts[0] if len(parts) > 1 else "root"
        lines[room] += code_lines(path.read_text("utf-8"))
        files[room] += 1
    return lines, files


def test_only_lines_with_code_count():
    text = '"""A module."""\n\n# why\nx = (\n    1,\n)\n\n\ndef f():\n    """Do it."""\n    return """a\nb"""\n'
    assert code_lines(text) == 6


def test_no_room_spends_more_than_its_budget():
    budget = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mapsat"]["budget"]
    lines, files = spent()
    assert set(budget) == set(lines), "each room has a budget, and each budget a room"
    over = [
        f"{room}: {lines[room]} code lines in {files[room]} files, its budget is {most_lines} in {most_files}"
        for room, (most_lines, most_files) in budget.items()
        if lines[room] > most_lines or files[room] > most_files
    ]
    assert over == [], "a feature pays in the room where it lives, or moves budget in the same commit with the reason"
