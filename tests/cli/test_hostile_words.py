"""Whatever word a file, a service or a piece of code brings: it steers no terminal, and no CI service takes it for a command."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny_suite
from hostile_words import EVIL, raw_of
from saved_runs import MANIFEST, card, run_data

from pytest_mapsat.cli import COMMANDS, RARE, main
from pytest_mapsat.model import Trajectory, Turn
from pytest_mapsat.printed import printed, printed_json

KEY = json.dumps(EVIL)

_CARD = card(
    Trajectory(case="nav-one", turns=(Turn(role="user", text=EVIL), Turn(role="agent", text=EVIL))),
    outcome="error",
    reason=EVIL,
    warnings=[EVIL],
)
#: A run that can be read, with somebody else's words in its values; and one with a key that is not known.
RUN = json.dumps(run_data(_CARD, gate={"outcome": "failed", "reasons": [EVIL]}, manifest={**MANIFEST, "agent": EVIL}))
BROKEN = json.dumps(run_data(_CARD, **{EVIL: 1}))
CHAT = {"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]}
EVENT = {"session": "s1", "user": "u1", "time": "2026-05-07T18:20:00+08:00", "type": "query", "text": "A cafe"}


def added(text: str) -> str:
    return f"{text}{KEY}: 1\n"


#: Files of a suite with a word of somebody else's in them, by what reads it.
IN_A_SUITE: dict[str, dict[str, str]] = {
    "the manifest": {"suite.yaml": added(tiny_suite.MANIFEST)},
    "a value of the manifest": {"suite.yaml": tiny_suite.MANIFEST.replace("wgs84", KEY)},
    "a tool": {"tools.yaml": f"{tiny_suite.TOOL}{KEY}: 1\n"},
    "a case in YAML": {"nav/z.yaml": f"id: z\n{KEY}: 1\n"},
    "YAML that is none": {"nav/z.yaml": f"{KEY}: 1\n{KEY}: 2\n"},
    "a tag": {"nav/z.yaml": "id: !<tag:%1B[31m> x\n"},
    "a case in JSON lines": {"nav/z.jsonl": json.dumps({"id": "z", EVIL: 1}) + "\n"},
    "a recording": {"recordings/z.jsonl": json.dumps({"case": "nav-one", "tool": "search_poi", EVIL: 1}) + "\n"},
    "a recording of nobody": {
        "recordings/z.jsonl": json.dumps({"case": EVIL, "tool": EVIL, "arguments": {}, "result": 1}) + "\n"
    },
    "labels of people": {"labels/reviewed.jsonl": json.dumps({"case": "nav-one", EVIL: 1}) + "\n"},
}
#: Command lines that read files outside of a suite, with these files; of ``SUITE`` the tiny suite is made.
OTHERS: dict[str, tuple[list[str], dict[str, str]]] = {
    "show": (["show", "f.json"], {"f.json": BROKEN}),
    "show, a case": (["show", "f.json", "nav-one"], {"f.json": RUN}),
    "show, as JSON": (["show", "f.json", "nav-one", "--json"], {"f.json": RUN}),
    "report": (["report", "f.json", "html:f.html"], {"f.json": json.dumps(run_data(gate={"outcome": EVIL}))}),
    "report, a note": (["report", "f.json", "github:"], {"f.json": RUN}),
    "compare": (["compare", "f.json", "f.json"], {"f.json": RUN}),
    "merge": (["merge", "f.json", "--out=o.json"], {"f.json": json.dumps(run_data(cases=[{EVIL: 1}]))}),
    "regrade": (["regrade", "f.json", "--suite=SUITE"], {"f.json": BROKEN}),
    "regrade, verdicts": (
        ["regrade", "f.json", "--suite=SUITE", "--judge=recorded:v.json"],
        {"f.json": RUN, "v.json": json.dumps({EVIL: 1})},
    ),
    "regrade, a conftest": (
        ["regrade", "f.json", "--suite=SUITE"],
        {"f.json": RUN, "conftest.py": f"raise ValueError({EVIL!r})"},
    ),
    "review": (
        ["review", "f.json", "--suite=SUITE", "--from=l.jsonl"],
        {"f.json": RUN, "l.jsonl": json.dumps({"case": EVIL, "trial": 1, EVIL: 1}) + "\n"},
    ),
    "the ini file": (["review", "f.json"], {"f.json": RUN, "pytest.ini": "[pytest]\nmapsat_cases = \x1b[31m\u202e\n"}),
    "doctor, a service file": (["doctor", "http:s.yaml", "--suite=SUITE"], {"s.yaml": f"url: http://127.0.0.1:9\n{KEY}: 1\n"}),
    "doctor, an agent": (
        ["doctor", "spoken:agent", "--suite=SUITE"],
        {"spoken.py": f"def agent(message, tools): raise ValueError({EVIL!r})"},
    ),
    "doctor, a module": (["doctor", "unread:agent", "--suite=SUITE"], {"unread.py": f"raise ValueError({EVIL!r})"}),
    "record": (["record", "owned:tools", "--suite=SUITE"], {"owned.py": f"raise ValueError({EVIL!r})"}),
    "draft": (["draft", "made", "--from=c.json"], {"c.json": json.dumps(CHAT | {"messages": [{"role": EVIL, EVIL: 1}]})}),
    "draft, a tool": (
        ["draft", "made", "--from=c.json"],
        {"c.json": json.dumps(CHAT | {"tools": [{"type": "function", "function": {"name": EVIL, EVIL: 1}}]})},
    ),
    "cases": (["cases", "logs", "made"], {"logs/e.jsonl": json.dumps({EVIL: 1}) + "\n" + json.dumps(EVENT | {"type": EVIL}) + "\n"}),
    "build": (
        ["build", "city", "made", "--cases=1", "--queries=q.jsonl"],
        {"q.jsonl": json.dumps({"case": EVIL, EVIL: 1}) + "\n"},
    ),
    "import adk": (["import", "adk", "src", "made"], {"src/a.evalset.json": json.dumps({"eval_cases": [{EVIL: 1}], EVIL: 1})}),
    "import promptfoo": (["import", "promptfoo", "src", "made"], {"src/promptfooconfig.yaml": f"{KEY}: 1\ntests: [{{{KEY}: 1}}]\n"}),
    "import tau2": (["import", "tau2", "src", "made"], {"src/tasks.json": json.dumps([{"id": EVIL, EVIL: 1}])}),
    "import mobilitybench": (["import", "mobilitybench", "src", "made"], {"src/a.jsonl": json.dumps({EVIL: 1})}),
    "import mapsatisfybench": (["import", "mapsatisfybench", "src", "made"], {"src/a.csv": f'"{EVIL}",b\n1,2\n'}),
    "import localsearchbench": (["import", "localsearchbench", "src", "made"], {"src/a.json": json.dumps([{EVIL: 1}])}),
    "import vitabench": (["import", "vitabench", "src", "made"], {"src/delivery.json": json.dumps([{EVIL: 1}])}),
    "schema": (["schema", EVIL], {}),
    "cache": (["cache", "import", "kept.jsonl"], {"kept.jsonl": json.dumps({EVIL: 1}) + "\n"}),
    "lint": (["lint", EVIL], {}),
    "serve": (["serve", "SUITE"], {"SUITE/tools.yaml": f"{tiny_suite.TOOL}{KEY}: 1\n"}),
    "init": (["init", EVIL, EVIL], {}),
}  # fmt: skip


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that writes files beside a suite, runs a command, and returns all that it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(tmp_path / "store"))
    (tmp_path / "pytest.ini").touch()
    tiny_suite.write_suite(tmp_path / "SUITE")

    def run(arguments: list[str], files: dict[str, str]) -> str:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        main(arguments, rare=True)
        return "".join(capsys.readouterr())

    return run


@pytest.mark.parametrize("reader", IN_A_SUITE)
def test_no_word_of_a_suite_reaches_the_terminal_raw(told: Callable[..., str], reader: str) -> None:
    text = told(["lint", "SUITE"], {f"SUITE/{name}": text for name, text in IN_A_SUITE[reader].items()})
    assert raw_of(text) == []
    assert re.search(r"set-output|31m", text), text


@pytest.mark.parametrize("reader", OTHERS)
def test_no_word_of_another_file_reaches_the_terminal_raw(told: Callable[..., str], reader: str) -> None:
    text = told(*OTHERS[reader])
    assert text
    assert raw_of(text) == []


def test_every_command_is_tried() -> None:
    assert {
        name for name in (*COMMANDS, *RARE) if name not in {arguments[0] for arguments, _ in OTHERS.values()}
    } == set()


def test_lines_stay_lines_and_json_keeps_its_values() -> None:
    assert printed("first\n  ::second::\n\tthird") == "first\n  \\::second::\n\tthird"
    text = printed_json(json.dumps({"key": EVIL}, ensure_ascii=False, indent=2))
    assert json.loads(text) == {"key": EVIL}
    assert raw_of(text) == []
