"""Nothing that an agent is handed leads to the truth: neither by reference nor in words."""

import gc
import json
import os
import types

from episodes import CASE, SECRETS, play, recorded_sandbox

from pytest_mapsat.model import Case, Recording, Requirement, ScriptedAnswer, Truth
from pytest_mapsat.sandbox import RecordedSandbox

HIDDEN = (Truth, Recording, Requirement, Case, ScriptedAnswer, RecordedSandbox)


def reachable(*starts):
    """Walk all that is referred to; modules, types and the globals of functions lead everywhere and are left out."""
    seen, left = {}, list(starts)
    while left:
        thing = left.pop()
        if id(thing) in seen or isinstance(thing, types.ModuleType | type):
            continue
        seen[id(thing)] = thing
        skipped = {id(thing.__globals__)} if isinstance(thing, types.FunctionType) else set()
        if isinstance(thing, types.FrameType):
            skipped = {id(thing.f_globals), id(thing.f_builtins)}
        left += [other for other in gc.get_referents(thing) if id(other) not in skipped]
    return list(seen.values())


def handed_to(agent_body=lambda tools: None):
    """Run an episode of two turns and return all that the agent was handed, and what it got from its tools."""
    handed = []

    def agent(message, tools, context, session):
        handed.extend([message, tools, context, session, tools.find, tools.schemas()])
        handed.append(agent_body(tools))
        found = [type(thing).__name__ for thing in reachable(*handed) if isinstance(thing, HIDDEN)]
        assert not found, found
        return "Here." if "nine" in message else "What time?"

    trajectory = play(agent)
    assert trajectory.fault is None, trajectory.fault
    assert len(trajectory.replies) == 2
    return handed


def provoke(tools):
    """Make the tools fail in every way, and keep the exceptions with their frames."""
    kept = []
    attempts = [
        lambda: tools.find("by position"),
        lambda: tools.find(query="unknown"),
        lambda: tools.find(nothing=1),
        lambda: tools.call("secret", {}),
        lambda: tools.call("find", None),
        lambda: tools.call("find", {"query": object()}),
        lambda: tools._private,
    ]
    for attempt in attempts:
        try:
            kept.append(attempt())
        except Exception as error:  # noqa: BLE001  # whichever it is, it is searched
            kept += [error, error.__traceback__, error.__context__, error.__cause__]
    return kept


def test_no_reference_leads_to_the_truth_or_a_recording():
    handed_to()


def test_no_answer_or_error_of_a_tool_leads_there():
    handed_to(provoke)


def test_the_walk_would_find_them():
    sandbox = recorded_sandbox()
    assert any(isinstance(thing, Recording) for thing in reachable(lambda: sandbox))
    assert any(isinstance(thing, Truth) for thing in reachable([{"a": CASE}]))


def test_a_refused_call_after_the_episode_shows_nothing():
    tools = handed_to()[1]
    try:
        tools.find(query="cafe")
    except RuntimeError as error:
        frames, trace = [], error.__traceback__
        while trace is not None:
            frames.append(trace.tb_frame.f_locals)
            trace = trace.tb_next
        inner = [frame for frame in frames if "tools" not in frame]
        assert not [thing for thing in reachable(*inner) if isinstance(thing, HIDDEN)]
    else:
        raise AssertionError("the call was answered")


def test_no_secret_stands_in_anything_that_an_agent_is_handed():
    handed = handed_to(provoke)
    texts = [
        str(handed),
        repr(handed),
        json.dumps(handed, default=lambda thing: [str(thing), dir(thing)]),
        str(dict(os.environ)),
    ]
    texts += [str(thing) for thing in reachable(*handed) if isinstance(thing, str)]
    leaked = {secret for secret in SECRETS for text in texts if secret in text}
    # The agent of these tests lives beside the secrets: the test module's own strings are no gift of ours.
    assert not leaked


def test_no_secret_stands_in_what_a_miss_says():
    answers = []

    def agent(message, tools):
        answers.extend([tools.find(query="secret-recording"), tools.find(query="nowhere")])
        return "Here."

    play(agent)
    assert answers[0] == answers[1]
    assert not [secret for secret in SECRETS if secret in json.dumps(answers)]
