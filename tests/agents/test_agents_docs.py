"""Every Python block on functions in docs/how-to/connect-an-agent.md is an agent that runs."""

import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_mapsat.agents import source_of
from pytest_mapsat.episode import run_episode
from pytest_mapsat.model import Case, Context, Recording, Tool, Truth, Visible
from pytest_mapsat.sandbox import RecordedSandbox
from pytest_mapsat.users import make_user

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "connect-an-agent.md"
FUNCTIONS = PAGE.read_text(encoding="utf-8").partition("\n## A framework\n")[0]
BLOCKS = re.findall(r"^```python\n(.*?)^```", FUNCTIONS, re.MULTILINE | re.DOTALL)
FIND = Tool(
    name="find", description="Find.", parameters={"type": "object", "properties": {"query": {"type": "string"}}}
)
CASE = Case(id="c1", visible=Visible(query="a cafe", context=Context(now="2026-05-01T09:00:00")), truth=Truth())
RECORDING = Recording(case="c1", tool="find", arguments={"query": "a cafe"}, result={"places": ["Blue Door"]})


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_example_runs(block, monkeypatch):
    if "openai" in block:
        scripted(monkeypatch)
    names = {}
    exec(block, names)
    agent = next(names[name] for name in ("Agent", "make", "agent") if name in names)
    trajectory = run_episode(
        CASE, source_of(agent, "docs:agent"), make_user("scripted", CASE), RecordedSandbox({"find": FIND}, [RECORDING])
    )
    assert trajectory.fault is None, trajectory.fault
    assert trajectory.ending == "done"
    assert trajectory.replies[0].text


def scripted(monkeypatch):
    """Put a model that calls ``find`` once and then answers in place of OpenAI's client."""
    openai = pytest.importorskip("openai")

    def create(messages, **_):
        call = SimpleNamespace(
            id="1", type="function", function=SimpleNamespace(name="find", arguments='{"query": "a cafe"}')
        )
        last = messages[-1]
        done = isinstance(last, dict) and last["role"] == "tool"
        reply = (
            SimpleNamespace(content="Blue Door", tool_calls=[])
            if done
            else SimpleNamespace(content="", tool_calls=[call])
        )
        return SimpleNamespace(choices=[SimpleNamespace(message=reply)])

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    monkeypatch.setattr(openai, "OpenAI", lambda: client)


def test_there_are_examples_of_each_kind():
    assert len(BLOCKS) == 7
    assert sum("async def" in block for block in BLOCKS) == 1
    assert sum("Reply(" in block for block in BLOCKS) == 1


def test_the_limits_of_the_page_are_those_of_the_code():
    from pytest_mapsat.episode import Limits

    page = PAGE.read_text(encoding="utf-8")
    defaults = {name: field.default for name, field in inspect.signature(Limits).parameters.items()}
    assert defaults == {"max_turns": 10, "timeout": 300.0, "max_calls": 200, "max_text": 1_000_000, "calls": None}
    for text in ("| 10 |", "| 300 s |", "| 200 |", "1,000,000"):
        assert text in page
