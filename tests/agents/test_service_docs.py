"""The programs of docs/how-to/connect-an-agent.md run as they stand there."""

import asyncio
import re
from pathlib import Path

import pytest
from http_services import Service, answers, case, play, source

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.agents.tool_server import missing_extra
from pytest_mapsat.episode import run_episode
from pytest_mapsat.model import Case, Context, Recording, Tool, Truth, Visible
from pytest_mapsat.sandbox import RecordedSandbox
from pytest_mapsat.users import make_user

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "connect-an-agent.md").read_text(encoding="utf-8")
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}}
FIND = Tool(name="find", description="Find.", parameters=QUERY)
CASE = Case(id="c1", visible=Visible(query="a cafe", context=Context(now="2026-05-01T09:00:00")), truth=Truth())
RECORDING = Recording(case="c1", tool="find", arguments={"query": "a cafe"}, result={"places": ["Blue Door"]})


def played(command):
    source = resolve_source(f"cmd:{command}", root=Path.cwd())
    sandbox = RecordedSandbox({"find": FIND}, [RECORDING])
    return run_episode(CASE, source, make_user("scripted", CASE), sandbox)


def python_block(part):
    """Return the one program of the page that holds a part."""
    [block] = [block for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) if part in block]
    return block


@pytest.mark.skipif(bool(missing_extra()), reason=missing_extra() or "the extra mcp is installed")
def test_the_service_that_calls_over_mcp_with_what_its_service_file_sends(tmp_path):
    [request] = re.findall(r"^```yaml\n(request: .*mcp_token.*\n)```", PAGE, re.MULTILINE)
    (tmp_path / "service.yaml").write_text(request, encoding="utf-8")
    program = {}
    exec(python_block('body["mcp_url"]'), program)
    with Service().running() as service:
        url = service.at(lambda request: answers(asyncio.run(program["answer"](request.body))))
        trajectory = play(source(url, tmp_path, http_form="service.yaml"), played=case(query="cafe"))
    assert [turn.text for turn in trajectory.replies] == ["Blue Door is close by."]
    assert [step.tool for step in trajectory.calls] == ["find"]
