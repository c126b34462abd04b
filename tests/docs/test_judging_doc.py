"""What docs/reference/checks.md and docs/how-to/read-a-run.md show of judging by a model is what there is."""

import json
import re
from pathlib import Path

from pytest_mapsat.judges.findings import shipped, suspicion
from pytest_mapsat.judges.llm_judge import _TO_THE_JUDGE
from pytest_mapsat.judges.llm_material import CALL_CHARACTERS, REPLY_CHARACTERS, USER_CHARACTERS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_set_of_answers_written_blind_has_its_first_figures():
    page = (DOCS.parent / "tests" / "natural" / "README.md").read_text(encoding="utf-8")
    for file in (DOCS.parent / "tests" / "natural").glob("blind_*.json"):
        answers = sum(map(len, json.loads(file.read_text(encoding="utf-8")).values()))
        assert f"| `{file.stem}`, all | {answers} |" in page


def test_the_calibration_table_that_is_shipped_is_the_one_that_is_shown():
    page = (DOCS.parent / "tests" / "natural" / "README.md").read_text(encoding="utf-8")
    table = shipped()
    rows = set(re.findall(r"^\| (\w+, \w+, \w+) \| (\d+) \| (\d+) \| (yes|no) \|$", page, re.MULTILINE))
    assert rows == {
        (cell, str(true), str(false), "no" if suspicion(cell, table) else "yes")
        for cell, (true, false) in table.cells.items()
    }
    assert f"g = {table.green_of_wrong.upper:.3f}, e = {table.red_of_right.upper:.3f}" in page


def test_the_sizes_are_those_that_hold():
    page = (DOCS / "how-to" / "use-a-model.md").read_text(encoding="utf-8")
    sizes = f"{REPLY_CHARACTERS:,} characters of the agent's replies, {USER_CHARACTERS:,} of the user's words, {CALL_CHARACTERS:,} of calls"
    assert sizes in page


def test_honest_answers_do_not_speak_to_the_judge():
    files = [DOCS.parent / "tests" / "natural" / f"blind_{number}.json" for number in (1, 2)]
    texts = [answer["text"] for file in files for one in json.loads(file.read_text()).values() for answer in one]
    assert len(texts) == 456
    assert [text for text in texts if _TO_THE_JUDGE.search(text)] == []
