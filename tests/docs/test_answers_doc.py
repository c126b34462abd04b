"""What docs/how-to/label-by-hand.md shows is true: its answers belong to the suite that docs/reference/suites.md and tools.md show, and no label is decided wrongly."""

import json
import re
from pathlib import Path

from pytest_mapsat.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_answers_of_the_document_are_judged_as_they_are_labelled(tmp_path, capsys):
    suites, tools, answers = (
        (DOCS / name).read_text(encoding="utf-8")
        for name in ("reference/suites.md", "reference/tools.md", "how-to/label-by-hand.md")
    )
    for name, content in re.findall(r"```(?:yaml|json)\n# (\S+)\n(.*?)```", suites + tools + answers, re.DOTALL):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    (recording,) = re.findall(r"```json\n(.*?)```", tools, re.DOTALL)
    (tmp_path / "recordings").mkdir()
    (tmp_path / "recordings" / "r.jsonl").write_text(recording, encoding="utf-8")
    assert main(["lint", str(tmp_path), "--answers", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {truth: row["n"] for truth, row in found["answers"]["answers"].items()} == {"right": 1, "wrong": 1}
    assert found["answers"]["labels"]["check"]["clock_time"]["confusion"]["failed"] == {"failed": 1}
