"""mapsat serve: the tools of a case for a client that somebody runs by hand."""

import asyncio
import json
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import phone
import pytest

from pytest_mapsat.agents.tool_server import missing_extra
from pytest_mapsat.cli import main
from pytest_mapsat.suite import open_suite

if missing_extra():
    pytest.skip(missing_extra(), allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parents[1] / "agents"))
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_clients import call, client_of

ROOT = Path(__file__).resolve().parents[2]
CASE = "nav-van-headroom"
SUITE = open_suite(ROOT / "benchmark_cases")
[ENTRY] = [entry for file in SUITE.files() for entry in SUITE.entries(file) if entry.id == CASE]
COMMAND = ["-m", "pytest_mapsat", "serve", "benchmark_cases", "--case", CASE]
WEATHER = {"city": "Larkhaven", "date": "2026-04-02"}


async def look_around(client):
    """Return all that a client sees, as text."""
    listed = (await client.list_tools()).tools
    weather, is_error = await call(client, "get_weather", **WEATHER)
    unknown, is_unknown = await call(client, "get_wether")
    assert (is_error, is_unknown, unknown["status"]) == (False, True, "error")
    return [tool.name for tool in listed], json.dumps([[tool.model_dump() for tool in listed], weather, unknown])


def assert_it_sees_the_tools_alone(names, text):
    case = SUITE.load(ENTRY)
    assert names == list(SUITE.tools)
    secrets = [CASE, case.visible.query, case.truth.intent, *(need.text for need in case.truth.requirements)]
    assert not [secret for secret in secrets if secret in text]


def assert_it_tells_the_calls(told):
    assert SUITE.load(ENTRY).visible.query in told
    assert re.search(r"get_weather\(.*Larkhaven.*\)  \[computed\]", told)
    assert re.search(r"get_wether\(.*\)  \[error\]", told)


def test_over_standard_input_and_output_a_client_sees_the_tools_alone(tmp_path):
    async def talk(errors):
        arguments = [*COMMAND, "--save", str(tmp_path / "calls.jsonl")]
        server = StdioServerParameters(command=sys.executable, args=arguments, cwd=ROOT)
        async with Client(stdio_client(server, errlog=errors)) as client:
            return await look_around(client)

    with (tmp_path / "errors").open("w+") as errors:
        assert_it_sees_the_tools_alone(*asyncio.run(talk(errors)))
        errors.seek(0)
        told = errors.read()
    assert_it_tells_the_calls(told)
    settings = json.loads(re.search(r"settings of a client: (.*)", told)[1])["mcpServers"]["mapsat"]
    assert settings["args"] == ["serve", str(ROOT / "benchmark_cases"), "--case", CASE]
    saved = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert [(step["id"], step["tool"]) for step in saved] == [("c1", "get_weather"), ("c2", "get_wether")]


class Interrupted(Event):
    """What the command waits for: the test, and then an interrupt."""

    def wait(self, timeout=None):
        super().wait(60)
        raise KeyboardInterrupt


def test_over_http_the_printed_settings_lead_a_client_there(capsys, monkeypatch):
    end = Interrupted()
    monkeypatch.setattr("pytest_mapsat.commands.record.Event", lambda: end)
    monkeypatch.chdir(ROOT)
    printed = ""
    with ThreadPoolExecutor(1) as pool:
        status = pool.submit(main, ["serve", "benchmark_cases", "--case", CASE, "--http"])
        while "Ctrl-C" not in printed and not status.done():
            time.sleep(0.02)
            printed += capsys.readouterr().out
        first, second, _ = printed.splitlines()
        settings = json.loads(first.partition(": ")[2])["mcpServers"]["mapsat"]

        async def talk():
            token = settings["headers"]["Authorization"].removeprefix("Bearer ")
            async with client_of(settings["url"], token) as client:
                seen = await look_around(client)
            async with client_of(second.split()[-1]) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == seen[0]
            return seen

        try:
            seen = asyncio.run(talk())
        finally:
            end.set()
    assert settings["url"].startswith("http://127.0.0.1:")
    assert_it_sees_the_tools_alone(*seen)
    assert status.result() == 0
    told = capsys.readouterr().err
    assert re.search(r"get_weather\(.*Larkhaven.*\)  \[computed\]", told)
    assert told.endswith("mapsat: 2 calls\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere: there is no suite; expected a suite.yaml there or above"),
        (
            ["benchmark_cases", "--case", "nav-van-headrom"],
            "there is no case 'nav-van-headrom' (did you mean 'nav-van-headroom'?)",
        ),
        (["benchmark_cases/search", "--case", CASE], f"benchmark_cases/search: there is no case '{CASE}'"),
        (["benchmark_cases", "--http", "8080"], "found '8080', expected HOST:PORT, as in 127.0.0.1:8765"),
        (["benchmark_cases", "--http", "127.0.0.1:99999"], "expected HOST:PORT"),
        (["benchmark_cases", "--http", "192.0.2.1:8080"], "192.0.2.1:8080 cannot be listened on"),
    ],
)
def test_what_cannot_be_served_is_named(arguments, words, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["serve", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_another_host_than_loopback_is_told_aloud(capsys):
    from pytest_mapsat.commands.record import _tell_address

    _tell_address("0.0.0.0", "http://0.0.0.0:1/mcp", "t", "http://0.0.0.0:1/t/mcp")
    assert "warning: anyone who reaches 0.0.0.0 and has the token can call the tools" in capsys.readouterr().err


def test_a_client_calls_no_tool_of_the_user_or_the_world(tmp_path, capsys, monkeypatch):
    root = phone.write_phone(tmp_path / "phone")
    (tmp_path / "worlds.py").write_text(phone.CONFTEST)
    toolboxes = []
    monkeypatch.setattr("pytest_mapsat.commands.record.serve_stdio", toolboxes.append)
    assert main(["serve", str(root), "-p", str(tmp_path / "worlds.py")]) == 0
    assert "case no-signal: 3 tools." in capsys.readouterr().err
    (toolbox,) = toolboxes
    for name in ("zebra_airplane", "zebra_status", "break_line"):
        assert toolbox.call(name)["message"].startswith(f"there is no tool '{name}'")
    assert toolbox.call("get_line") == {"id": "l1", "works": True, "resets": 0}
    assert toolbox.call("wait_a_bit") == 1
