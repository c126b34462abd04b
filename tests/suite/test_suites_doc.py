"""What docs/reference/suites.md and tools.md show is true: its examples make a suite without errors or warnings."""

import re
from pathlib import Path

from pydantic import TypeAdapter

from pytest_mapsat.formats import parse_yaml
from pytest_mapsat.model import Entities, Match, ParameterMatch, Recording, Tool, case
from pytest_mapsat.suite import lint, open_suite

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
SUITES, TOOLS = ((REFERENCE / name).read_text(encoding="utf-8") for name in ("suites.md", "tools.md"))


def test_the_examples_of_the_document_are_a_suite_without_warnings(tmp_path):
    for name, content in re.findall(r"```yaml\n# (\S+)\n(.*?)```", SUITES + TOOLS, re.DOTALL):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    ((line,), (recording,)) = (re.findall(r"```json\n(.*?)```", text, re.DOTALL) for text in (SUITES, TOOLS))
    (tmp_path / "recordings").mkdir()
    (tmp_path / "recordings" / "r.jsonl").write_text(recording, encoding="utf-8")
    (tmp_path / "more.jsonl").write_text(line, encoding="utf-8")

    suite = open_suite(tmp_path)
    assert [entry.id for path in suite.files() for entry in suite.entries(path)] == [
        "a-1",
        "airport-with-ev",
        "ida-1",
        "lunch",
    ]
    findings = lint(suite, dialogues=True)
    found = [
        finding for finding in findings if finding.severity != "note" and "case a-1" not in finding.problem.message
    ]
    assert found == []


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """Return the rows of the table of a page whose first head is this, by their first cell."""
    table = page.partition(f"| {heading} |")[2].partition("\n\n")[0]
    lines = [re.split(r" *\| *", line.strip("| ")) for line in table.splitlines()[2:]]
    return {name: line for line in lines for name in re.findall(r"`(\w+)`", line[0])}


def test_the_table_of_matches_has_all_of_them_each_with_an_example_that_is_one():
    adapter = TypeAdapter(Match)
    shown = {
        name: adapter.validate_python(parse_yaml(line[2].strip("`").encode(), "doc")[0].data)
        for name, line in rows(SUITES, "`op`").items()
    }
    assert {name: match.op for name, match in shown.items()} == {name: name for name in shown}
    assert set(shown) == set(adapter.json_schema()["anyOf"][0]["discriminator"]["mapping"])


def test_the_tables_of_tools_have_all_there_is():
    assert set(rows(TOOLS, "key of `entities`")) == set(Entities.model_fields)
    assert set(rows(TOOLS, "field of `match`")) == set(ParameterMatch.model_fields)
    assert [key for key in (*Tool.model_fields, *Recording.model_fields) if not re.search(rf"\b{key}\b", TOOLS)] == []


def test_every_key_of_a_case_and_of_the_manifest_stands_on_the_pages():
    how_to = REFERENCE.parent / "how-to"
    further = (REFERENCE / "metrics.md", how_to / "simulate-the-user.md", how_to / "days-that-go-wrong.md")
    pages = SUITES + "".join(page.read_text(encoding="utf-8") for page in further)
    values = list(vars(case).values())
    nouns = [value for value in values if getattr(value, "__module__", "") == case.__name__]
    keys = {field.alias or name for noun in nouns for name, field in getattr(noun, "model_fields", {}).items()}
    assert {"query", "requirements", "evidence", "redact"} <= keys
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}\b", pages)] == []


def test_the_error_that_the_document_shows_is_the_one_that_is_given(tmp_path):
    (shown,) = re.findall(r"airport\.yaml(:\d+: truth\.requirements.*)", SUITES)
    blocks = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", SUITES, re.DOTALL))
    (tmp_path / "suite.yaml").write_text(blocks["suite.yaml"], encoding="utf-8")
    (tmp_path / "a.yaml").write_text(
        blocks["navigation/airport.yaml"].replace("kind: hard", "kind: hrd"), encoding="utf-8"
    )
    messages = [str(finding.problem).partition("a.yaml")[2] for finding in lint(open_suite(tmp_path))]
    assert shown in messages
