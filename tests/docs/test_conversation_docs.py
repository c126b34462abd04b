"""The page on cases out of conversations: its example does what the page says."""

import json
import re
import shlex
from pathlib import Path

from pytest_mapsat.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "use-your-data.md"


def test_the_example_becomes_a_draft_as_the_page_says(tmp_path, monkeypatch, capsys):
    text = PAGE.read_text(encoding="utf-8")
    chat = re.search(r"```json\n(.*?)```", text, re.DOTALL)[1]
    commands = re.search(r"```\n(mapsat draft .*?)```", text, re.DOTALL)[1].splitlines()
    monkeypatch.chdir(tmp_path)
    Path("chat.json").write_text(chat, encoding="utf-8")
    assert main(shlex.split(commands[0])[1:-1]) == 1
    assert "+49" not in capsys.readouterr().err
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0
    written = {str(path.relative_to("my_suite")) for path in Path("my_suite").rglob("*.*")}
    assert written == {"suite.yaml", *re.findall(r"^\| `([a-z]+/[^`]*)`", text, re.MULTILINE)}
    assert json.loads(chat)["id"] == "harbour-steps"
    assert "phone-1" in Path("my_suite/recordings/harbour-steps.jsonl").read_text(encoding="utf-8")
