"""One agent attached in several ways says the same, calls the same and gets the same labels."""

import shlex
import sys
from functools import cache
from pathlib import Path

import pytest
from considerate_service import running
from saved_runs import timeless
from shipped_runs import ALL, ROOT, run

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.agents.tool_server import missing_extra

PROGRAM = Path(__file__).with_name("considerate_program.py")
FUNCTION = "shipped_agents.considerate:agent"
#: All cases under --proofs, and some of every folder otherwise. Each episode of a program starts a process: a third of them shows it.
FEW = sorted(ALL)[::10]
CASES, CASES_OF_PROGRAMS = (
    [
        pytest.param(name, marks=() if name in FEW else pytest.mark.long_proof(in_turn=True))
        for name in sorted({*FEW, *names})
    ]
    for names in (sorted(ALL), sorted(ALL)[::3])
)
OVER_MCP = pytest.mark.skipif(bool(missing_extra()), reason=missing_extra() or "the extra mcp is installed")


def seen(spec, name):
    """Return the scorecard of a case as JSON, without times."""
    return timeless(run(resolve_source(spec, root=ROOT), ALL[name]).to_json())


@cache
def as_function(name):
    """Return the same of the function, which is played once."""
    return seen(FUNCTION, name)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """The folder with a file of the service for each way, and its address."""
    folder = tmp_path_factory.mktemp("service")
    headers = "headers: {X-Mapsat-MCP-Url: $mcp_url, X-Mapsat-MCP-Token: $mcp_token}"
    with running() as url:
        (folder / "own.yaml").write_text(f"url: {url}/own\n{headers}\n")
        yield folder, url


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", ["chat", pytest.param("own", marks=OVER_MCP)])
def test_as_a_service_it_is_judged_like_the_function(service, way, name):
    if way == "chat" and ALL[name].visible.messages:
        pytest.skip("it plays a dialogue again from its first message, and here others said that")
    folder, url = service
    source = resolve_source(f"openai-chat:{url}" if way == "chat" else "http:own.yaml", root=folder)
    card = timeless(run(source, ALL[name]).to_json())
    assert card["outcome"] == "passed"
    assert card == as_function(name)


@pytest.mark.parametrize("name", CASES_OF_PROGRAMS)
@pytest.mark.parametrize("way", ["lines", pytest.param("mcp", marks=OVER_MCP)])
def test_as_a_program_it_is_judged_like_the_function(way, name):
    card = seen(f"cmd:{shlex.join([sys.executable, str(PROGRAM), way])}", name)
    assert card["outcome"] == "passed"
    assert card["trajectory"]["turns"][1]["steps"]
    assert card == as_function(name)
