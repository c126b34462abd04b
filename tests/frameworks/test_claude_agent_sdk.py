import asyncio
import dataclasses
import shlex
import sys
from pathlib import Path
from types import MappingProxyType

import pytest
from scenarios import Scenarios, calls, find, play, replies, source_of, weather

pytest.importorskip(
    "claude_agent_sdk", reason="claude-agent-sdk is not installed; python tests/frameworks installs and tests it"
)

from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, query, tool

from pytest_mapsat.model import UsageError


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A file that plays Claude Code, which the SDK starts by this path."""
    path = tmp_path_factory.mktemp("program") / "claude"
    script = Path(__file__).with_name("claude_program.py")
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} "$@"\n')
    path.chmod(0o755)
    return path


def own_tool(function):
    @tool(function.__name__, function.__doc__, {"query": str})
    async def run(arguments):
        return {"content": [{"type": "text", "text": function(**arguments)}]}

    return run


class TestClaudeAgentSDK(Scenarios):
    name = "claude-agent-sdk"
    lacks = MappingProxyType(
        {
            "handoff": "its program starts agents by itself",
            "subagent": "its program starts agents by itself",
            "context": "it has none",
            "guardrail": "its hooks decide about calls",
        }
    )
    approves = sandboxes = False

    def ask(self, agent, message):
        async def asked():
            return [event async for event in query(prompt=message, options=agent)]

        return asyncio.run(asked())[-1].result

    @pytest.fixture(autouse=True)
    def _program(self, program):
        self.program = program

    def model(self):
        return None

    def finished(self, agent):
        return dataclasses.replace(agent, cli_path=self.program)

    def agent(self, *, output=False, tools=None, slow=False, **options):
        server = create_sdk_mcp_server("places", tools=[own_tool(find), own_tool(weather)] if tools is None else tools)
        schema = {"type": "object", "properties": {"place": {"type": "string"}, "stars": {"type": "integer"}}}
        return ClaudeAgentOptions(
            mcp_servers={"places": server},
            cli_path=self.program,
            model="slow" if slow else None,
            output_format={"type": "json_schema", "schema": schema} if output else None,
            **options,
        )

    @pytest.mark.skip("its program is in a folder of this test run")
    def test_run_files_are_equal_over_repeats_widths_workers_and_isolation(self):
        """The options are no module-level agent here."""

    def streaming(self):
        return self.agent(include_partial_messages=True)

    def test_a_built_in_tool_is_denied_and_counts_as_called(self):
        ended = play(self.agent(), "Bash a cafe")
        assert calls(ended) == [("bash", "error")]
        assert "the real world" not in replies(ended)[0]

    def test_the_cost_is_that_of_each_reply(self):
        turns = [turn for turn in play(self.agent(), "Plan a trip").turns if turn.role == "agent"]
        assert [round(turn.usage.cost, 6) for turn in turns[:2]] == [0.01, 0.02]

    def test_servers_outside_of_this_process_are_refused_by_name(self):
        with pytest.raises(UsageError, match=r"outside of this process \(maps\)"):
            source_of(ClaudeAgentOptions(mcp_servers={"maps": {"command": "maps"}}), "mymod:options")
