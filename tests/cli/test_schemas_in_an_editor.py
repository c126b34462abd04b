"""What an editor makes of the schemas that mapsat init writes: the YAML language server completes, explains and checks."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mapsat.cli import main

HOME = Path(__file__).with_name("yaml_editor")
SERVER = HOME / "node_modules" / "yaml-language-server" / "bin" / "yaml-language-server"

pytestmark = [
    pytest.mark.skipif(not shutil.which("node"), reason="node is not installed"),
    pytest.mark.skipif(not SERVER.exists(), reason=f"npm install --prefix {HOME.name} was not run"),
]


class Editor:
    """A YAML file in an editor, at each step with a new text; ``|`` is the cursor."""

    def __init__(self, folder: Path) -> None:
        command = ["node", str(SERVER), "--stdio"]
        self._process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._folder = folder
        self._sent = 0
        self._request("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        self._send({"method": "initialized", "params": {}})

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def problems(self, name: str, text: str) -> list[str]:
        """Return what the editor underlines, each with its line from 1."""
        uri = self._open(name, text)
        while True:
            message = self._read()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
                found = message["params"]["diagnostics"]
                return [f"{problem['range']['start']['line'] + 1}: {problem['message']}" for problem in found]

    def completions(self, name: str, text: str) -> set[str]:
        """Return what the editor proposes at the cursor."""
        answer = self._at_cursor("completion", name, text)
        return {item["label"] for item in answer["items"]}

    def hover(self, name: str, text: str) -> str:
        """Return what the editor says of the word at the cursor."""
        answer = self._at_cursor("hover", name, text)
        return str(answer["contents"]["value"])

    def _at_cursor(self, action: str, name: str, text: str) -> Any:
        before, _, after = text.partition("|")
        position = {"line": before.count("\n"), "character": len(before.rpartition("\n")[2])}
        document = {"uri": self._open(name, before + after)}
        return self._request(f"textDocument/{action}", {"textDocument": document, "position": position})

    def _open(self, name: str, text: str) -> str:
        uri = (self._folder / name).as_uri() + f"?{self._sent}.yaml"
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        return uri

    def _request(self, method: str, params: Any) -> Any:
        own = self._sent
        self._send({"id": own, "method": method, "params": params})
        while True:
            message = self._read()
            if message.get("id") == own and "method" not in message:
                return message["result"]
            if "id" in message:  # the server asks for settings
                self._send(
                    {
                        "id": message["id"],
                        "result": [{"validate": True, "hover": True, "completion": True}, *[None] * 9],
                    }
                )

    def _send(self, message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._sent += 1
        assert self._process.stdin is not None
        self._process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self._process.stdin.flush()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline().strip()) or not length:
            assert line or self._process.poll() is None, "the server has ended"
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        return json.loads(self._process.stdout.read(length))


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("new")
    assert main(["init", str(folder)]) == 0
    return folder / "benchmark_cases"


@pytest.fixture
def editor(suite) -> Iterator[Editor]:
    opened = Editor(suite)
    yield opened
    opened.close()


CASE = """\
# yaml-language-server: $schema=.schemas/case.json
id: new
visible: {query: Please cancel it.}
truth:
  requirements:
    - id: cancelled
      kind: asked
      text: It is cancelled
      check:
        kind: state
        table: orders
"""


def test_the_files_of_a_new_suite_have_no_problems(suite, editor):
    files = sorted(suite.glob("*.yaml"))
    assert len(files) == 5
    assert {path.name: editor.problems(path.name, path.read_text("utf-8")) for path in files} == {
        path.name: [] for path in files
    }


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("table: orders", "tabel: orders"), ['9: Missing property "table".', "11: Property tabel is not allowed."]),
        (("visible: {query", "visible: {qery"), ['3: Missing property "query".', "3: Property qery is not allowed."]),
        (("kind: asked", "kind: aksed"), ["7: Value is not accepted."]),
    ],
)
def test_a_wrong_key_or_word_is_underlined_where_it_is(editor, wrong, said):
    found = editor.problems("a.yaml", CASE.replace(*wrong))
    assert [problem.partition(" Valid")[0] for problem in found] == said


def test_keys_of_the_kind_of_check_are_proposed(editor):
    assert {"where", "has", "count"} <= editor.completions("a.yaml", CASE + "        |")


def test_names_of_checks_are_proposed(editor):
    assert {"says", "state", "calls", "unchanged"} <= editor.completions(
        "a.yaml", CASE.replace("kind: state", "kind: |")
    )


def test_a_key_is_explained_with_its_description_and_an_example(editor):
    said = editor.hover("a.yaml", CASE.replace("table:", "ta|ble:"))
    assert "name of the table" in said
    assert "orders" in said
