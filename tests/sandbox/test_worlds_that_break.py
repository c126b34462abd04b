"""Worlds in Python that are wrong: each is told with its place, is laid to the infrastructure, and keeps nobody waiting."""

import json

import phone
import pytest

from pytest_mapsat.agents import source_of
from pytest_mapsat.episode import Limits, run_episode
from pytest_mapsat.model import InfrastructureError
from pytest_mapsat.sandbox import layers, make_sandbox, play_reference
from pytest_mapsat.users import make_user


class Base(phone.Phone):
    """The phone, of which one tool is broken in some way."""


class WithoutMethod(Base):
    get_line = None

    def get_lines(self):
        return []


class OtherTable(Base):
    def get_line(self):
        return self.lines["l1"]

    def __init__(self, state):
        super().__init__(state)
        self.ghosts = state["ghosts"]


class Raising(Base):
    def get_line(self):
        raise ValueError("the database is gone")


class NoJson(Base):
    def get_line(self):
        return {"made": object()}


class NotANumber(Base):
    def get_line(self):
        return float("nan")


class Writing(Base):
    def get_line(self):
        return self.lines.change("l1", works=False)


class Endless(Base):
    def __init__(self, state):
        super().__init__(state)
        self.state = state

    def get_line(self):
        while "l1" in self.lines:
            pass


class Flooding(Base):
    def reset_line(self):
        for number in range(10**6):
            self.lines.add({"id": f"x{number}"})


def world(root, kind, **parts):
    case, suite = phone.opened(root, phone.case(**parts))
    suite.sandboxes = (lambda case, suite: kind,)
    return case, suite


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (WithoutMethod, r"the sandbox WithoutMethod \(test_worlds_that_break\.py:\d+\) has no method get_line, and nothing is recorded for that tool \(did you mean 'get_lines'\?\)"),
        (Raising, r"the sandbox broke in get_line: ValueError: the database is gone \(test_worlds_that_break\.py:\d+\)"),
        (NoJson, r"the sandbox broke in get_line: TypeError: .*object.* is not a JSON value \(test_worlds_that_break\.py:\d+\)"),
        (NotANumber, r"the sandbox broke in get_line: ValueError: .*not JSON compliant.* \(test_worlds_that_break\.py:\d+\)"),
        (Writing, r"changes the table lines outside a tool that writes: declare effect: write .* \(test_worlds_that_break\.py:\d+\)"),
    ],
)  # fmt: skip
def test_what_a_tool_does_wrong_is_told_with_file_and_line_and_is_no_agents_fault(tmp_path, kind, told):
    case, suite = world(tmp_path, kind)

    def agent(message, tools):
        tools.get_line()
        return "Here."

    trajectory = run_episode(case, source_of(agent, "a"), make_user("scripted", case), make_sandbox(case, suite))
    assert (trajectory.ending, trajectory.fault.blame) == ("infrastructure_error", "infrastructure")
    with pytest.raises(InfrastructureError, match=told):
        raise InfrastructureError(trajectory.fault.message)


def test_a_table_that_is_not_there_is_told_with_its_place_and_those_that_are(tmp_path):
    told = r"the suite has no table 'ghosts' in state/ \(it has: lines, phones\) \(test_worlds_that_break\.py:\d+\)"
    with pytest.raises(InfrastructureError, match=told):
        make_sandbox(*world(tmp_path, OtherTable))


def test_two_rows_of_one_key_are_told_with_the_lines_of_both(tmp_path):
    world(tmp_path / "a", Base)
    lines = tmp_path / "a" / "state" / "lines.jsonl"
    lines.write_text(lines.read_text() + "\n" + json.dumps({"id": "l1"}) + "\n")
    with pytest.raises(
        InfrastructureError, match=r"state/lines\.jsonl:3: id is 'l1': state/lines\.jsonl:1 has it, too"
    ):
        make_sandbox(*world_again(tmp_path / "a"))
    added = {"rows": [{"table": "lines", "add": [{"id": "l1"}]}]}
    with pytest.raises(InfrastructureError, match=r"state/lines, row 2: id is 'l1': state/lines, row 1 has it, too"):
        make_sandbox(*world(tmp_path / "b", Base, world=added))


def world_again(root):
    from pytest_mapsat.suite import open_suite

    suite = open_suite(root)
    suite.sandboxes = (lambda case, suite: Base,)
    return suite.load(suite.entries(root / "cases.jsonl")[0]), suite


def test_an_agent_is_not_to_blame_for_a_tool_that_loops_and_nobody_waits_for_it(tmp_path):
    case, suite = world(tmp_path, Endless)
    sandbox = make_sandbox(case, suite)
    agent = source_of(lambda message, tools: tools.get_line(), "a")
    trajectory = run_episode(case, agent, make_user("scripted", case), sandbox, Limits(timeout=1))
    sandbox._state["lines"].put_back("l1", None)  # lets the loop end
    assert (trajectory.ending, trajectory.fault.blame) == ("infrastructure_error", "infrastructure")
    assert trajectory.fault.message == "the sandbox was not done with get_line when the 1 s of the episode were over"


def test_a_slow_agent_is_to_blame_itself(tmp_path):
    from time import sleep

    case, suite = world(tmp_path, Base)
    agent = source_of(lambda message, tools: (tools.get_line(), sleep(5)), "a")
    trajectory = run_episode(case, agent, make_user("scripted", case), make_sandbox(case, suite), Limits(timeout=0.5))
    assert (trajectory.ending, trajectory.fault.blame) == ("timeout", "agent")


@pytest.mark.parametrize("where", ["made", "world", "end"])
def test_a_loop_where_no_agent_is_asked_ends_after_a_time(tmp_path, monkeypatch, where):
    monkeypatch.setattr(layers, "_MOST_SECONDS", 0.3)
    states = []

    class Looping(Endless):
        def __init__(self, state):
            super().__init__(state)
            states.append(state)
            if where == "made":
                self.get_line()

    call = [{"tool": "get_line"}]
    parts = {"world": {"calls": call}} if where == "world" else {"truth": {"end": call}} if where == "end" else {}
    case, suite = world(tmp_path, Looping, **parts)
    told = "its reference is not played" if where == "end" else "the sandbox is not made"
    with pytest.raises(InfrastructureError, match=f"case no-signal: {told} after 0.3 s"):
        play_reference(case, suite) if where == "end" else make_sandbox(case, suite)
    for state in states:
        state["lines"].put_back("l1", None)


def test_a_million_changes_in_one_call_are_refused_and_undone(tmp_path):
    sandbox = make_sandbox(*world(tmp_path, Flooding))
    with pytest.raises(InfrastructureError, match=r"changes more than 100,000 rows in one call \(test_worlds_that"):
        sandbox.call("reset_line", {})
    assert sandbox.call("get_line", {}).result == {"id": "l1", "works": True, "resets": 0}


def test_a_suite_whose_world_is_not_installed_is_refused_with_what_to_do(tmp_path):
    case, suite = phone.opened(tmp_path)
    suite.sandboxes = ()
    with pytest.raises(InfrastructureError, match=r"suite\.yaml of telecom has options of a sandbox in Python, but no"):
        make_sandbox(case, suite)
