"""A small sandbox for tests of episodes: one tool, one recording, one case with secrets."""

from pytest_mapsat.agents import source_of
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.model import (
    Case,
    Context,
    ExpectedTool,
    Location,
    OracleTurn,
    PlannedCall,
    Recording,
    Requirement,
    ScriptedAnswer,
    Tool,
    Truth,
    UserScript,
    Visible,
)
from pytest_mapsat.sandbox import RecordedSandbox
from pytest_mapsat.users import make_user

FIND = Tool(
    name="find",
    description="Find places.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
RECORDING = Recording(case="case-secret-id", tool="find", arguments={"query": "cafe"}, result={"places": ["Blue Door"]})
HIDDEN = Recording(
    case="case-secret-id", tool="find", arguments={"query": "secret-recording-key"}, result="secret-recording-result"
)
SECRETS = (
    "case-secret-id",
    "secret-intent",
    "secret-persona",
    "secret-explicit",
    "secret-implicit",
    "secret-fact",
    "secret_tool",
    "secret-param",
    "secret-answer",
    "secret-oracle",
    "secret-recording-key",
    "secret-recording-result",
)
CASE = Case(
    id="case-secret-id",
    visible=Visible(
        query="Find a cafe",
        context=Context(
            now="2026-05-01T09:00:00", location=Location(lon=1, lat=2, name="Gate"), history=("was here",), uid="u1"
        ),
    ),
    truth=Truth(
        intent="secret-intent",
        persona="secret-persona",
        requirements=(
            Requirement(kind="asked", id="e1", text="secret-asked"),
            Requirement(id="z1", text="secret-hard", kind="hard", weight=1),
            Requirement(kind="fact", id="f1", text="secret-fact"),
        ),
        tools=(ExpectedTool(name="secret_tool", required=("secret-param",)),),
        user=UserScript(
            answers=(
                ScriptedAnswer(asked=("what time",), say="At nine."),
                ScriptedAnswer(asked=("x",), say="secret-answer"),
            )
        ),
        oracle=(
            OracleTurn(calls=(PlannedCall(tool="find", arguments={"query": "cafe"}),), say="What time?"),
            OracleTurn(say="secret-oracle"),
        ),
    ),
)


def recorded_sandbox():
    return RecordedSandbox({"find": FIND}, [RECORDING, HIDDEN])


def play(agent, *, user="scripted", sandbox=None, trial=1, case=CASE, **limits):
    """Run one episode of the case with an agent."""
    return run_episode(
        case,
        source_of(agent, "mymod:agent"),
        make_user(user, case),
        sandbox or recorded_sandbox(),
        Limits(**limits),
        trial=trial,
    )


def texts(trajectory):
    return [(turn.role, turn.text) for turn in trajectory.turns]
