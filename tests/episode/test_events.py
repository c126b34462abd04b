"""Events of a case: what they change, what the user says, what agents and checks make of them, and what cannot be."""

import bistro
import pytest

from pytest_mapsat.agents import source_of
from pytest_mapsat.episode import run_episode
from pytest_mapsat.judges import JudgedDialogue, make_judge
from pytest_mapsat.model import (
    InfrastructureError,
    Recording,
    RunRequest,
    Step,
    SuiteError,
    ToolFault,
    Trajectory,
    Turn,
)
from pytest_mapsat.proof.mutants import write_changes
from pytest_mapsat.proof.oracles import dialogue_remarks
from pytest_mapsat.runs.runner import Runner
from pytest_mapsat.sandbox import make_sandbox, own_changes, play_reference
from pytest_mapsat.suite import lint, open_suite
from pytest_mapsat.users import audit, make_user

BOTH = "Shall I book {name} for {price} EUR?"
RISE = {"after": {"turn": 1}, "rows": [{"table": "slots", "where": {"id": "T1"}, "set": {"price": 45}}]}
GONE = {
    "after": {"tool": "find_tables"},
    "rows": [{"table": "slots", "where": {"id": "T1"}, "set": {"free": 0}}],
    "say": "I hear that it is busy tonight.",
}
TAKEN = {"after": {"turn": 1}, "calls": [{"tool": "book_table", "arguments": {"table_id": "T1"}}]}


def suite_of(root, *events, python=True, **truth):
    """Return a case with these events, and its suite."""
    folder = bistro.write_bistro(root, bistro.case(events=events, **truth), python=python)
    suite = open_suite(folder)
    if python:
        module = {}
        exec(bistro.CONFTEST, module)
        suite.sandboxes = (lambda case, suite: module["Bistro"],)
    (entry,) = suite.entries(folder / "cases.jsonl")
    return suite.load(entry), suite


def agent_named(name):
    """Return one of the bistro's agents."""
    module = {}
    exec(bistro.AGENTS, module)
    return module[name]


def play(case, suite, agent, user="scripted"):
    """Play an episode with an agent in this process."""
    agent = agent_named(agent) if isinstance(agent, str) else agent
    return run_episode(case, source_of(agent, "test"), make_user(user, case), make_sandbox(case, suite))


def labels(case, suite, trajectory):
    """Return the outcome of each requirement, and all reasons."""
    verdict = make_judge("checks", suite.tools, root=suite.root, suite=suite).judge(case, trajectory)
    return {label.requirement: label.outcome for label in verdict.labels}, "\n".join(x.why for x in verdict.labels)


def requirements(**checks):
    return [{"id": name, "kind": "asked", "text": name, "check": check} for name, check in checks.items()]


def seen(trajectory):
    """Return the tables that each look-up found free, and the number of events before it."""
    steps = [step for turn in trajectory.turns for step in turn.steps]
    return [
        (
            sum(other.kind == "event" for other in steps[:at]),
            [row["id"] for row in step.result["tables"] if row["free"]],
        )
        for at, step in enumerate(steps)
        if step.tool == "find_tables"
    ]


@pytest.mark.parametrize("python", [True, False])
def test_the_call_is_answered_first_and_the_change_is_never_the_agents(tmp_path, python):
    checks = requirements(
        nothing={"kind": "unchanged"},
        gone={"kind": "state", "table": "slots", "where": {"id": "T1"}, "has": {"free": 0}},
    )
    case, suite = suite_of(tmp_path, GONE, python=python, requirements=checks)

    def looks_twice(message, tools):
        tools.find_tables()
        return f"There is {tools.find_tables()['tables'][1]['name']}."

    played = play(case, suite, looks_twice)
    assert seen(played)[:2] == [(0, ["T1", "T2"]), (1, ["T2"])]
    assert [(event.id, event.text, event.changed[0].after["free"]) for event in played.events] == [
        ("1", "after call 1 of find_tables", 0)
    ]
    assert [turn.text for turn in played.turns if turn.role == "user"][1] == GONE["say"], "it does not end there"
    assert labels(case, suite, played)[0] == {"nothing": "passed", "gone": "passed"}
    assert [row["free"] for row in suite.tables["slots"].rows] == [1, 1], "the tables are those of all cases"


def test_a_silent_rise_fails_the_agent_that_does_not_look_and_not_the_one_that_asks_again(tmp_path):
    case, suite = suite_of(tmp_path, RISE)
    blind, watchful = (play(case, suite, agent) for agent in ("blind", "watchful"))
    outcomes, why = labels(case, suite, blind)
    assert outcomes == {"booked": "passed", "agreed": "failed"}
    assert "an event after the question had changed slots T1 (price)" in why
    assert labels(case, suite, watchful)[0] == {"booked": "passed", "agreed": "passed"}
    episode = JudgedDialogue.of(case, watchful, suite.tools, suite=suite).episode
    assert [(event.turn, event.changed[0].id) for event in episode.events] == [(1, "T1")]
    assert episode.changed_rows == {("bookings", "B1"), ("slots", "T1")}
    (slot,) = [change for change in episode.changes if change.table == "slots"]
    assert slot.columns == ("free",), "the price is the event's"
    assert slot.before["price"] == 45


@pytest.mark.parametrize(
    ("changed", "question", "outcome"),
    [
        (("price", 20, 45), "Shall I book T1 for 20 EUR?", "failed"),
        (("price", 20, 45), "Shall I book T1?", "unevaluated"),
        (("name", "Garden Corner", "Cellar Corner"), "Shall I book Garden Corner?", "failed"),
        (("starts", "19:30", "21:00"), "Shall I book T1 at 7:30 pm?", "failed"),
        (("starts", "19:30", "21:00"), "Shall I book T1?", "unevaluated"),
        (("free", 4, 3), "Shall I book T1 for 4 people?", "unevaluated"),
        (("price", 20, 45), "Shall I book T2?", "failed"),
    ],
)
def test_a_yes_of_before_an_event_does_not_cover_the_write_on_its_row(tmp_path, changed, question, outcome):
    column, before, after = changed
    case, suite = suite_of(tmp_path, RISE)
    rows = [{"id": "T1", "name": "Garden Corner", column: before}, {"id": "T2", "name": "River Window"}]
    look = Step(kind="call", tool="find_tables", result={"tables": rows})
    change = {"table": "slots", "id": "T1", "before": rows[0], "after": {**rows[0], column: after}}
    event = Step(kind="event", id="1", text="after reply 1", changed=[change])
    again = Step(kind="call", tool="find_tables", result={"tables": [change["after"], rows[1]]})
    write = Step(kind="call", tool="book_table", arguments={"table_id": "T1"})

    def outcome_of(*turns):
        turns = (Turn(role="user", text="Please book me a table."), *turns)
        return labels(case, suite, Trajectory(case=case.id, turns=turns))[0]["agreed"]

    asks = Turn(role="agent", text=question, steps=(look,))
    yes = Turn(role="user", text="Yes, go ahead.", agreed=True)
    unaware = yes.model_copy(update={"steps": (event,)})
    done = Turn(role="agent", text="Done.", steps=(write,))
    assert outcome_of(asks, unaware, done) == outcome
    assert outcome_of(asks, unaware, done.model_copy(update={"steps": (again, write)})) == outcome
    plain = outcome_of(asks, yes, done)
    assert plain == ("failed" if "T2" in question else plain)
    sure = Turn(role="agent", text="Shall I book T1?", steps=(again,))
    assert outcome_of(asks, unaware, sure, yes, done) == outcome_of(sure, yes, done) == "passed"


def test_the_words_of_an_event_come_first_and_take_the_yes_back(tmp_path):
    both = [GONE, {"after": {"turn": 1}, "say": "My friend comes as well."}]
    answers = [{"asked": ["how many"], "say": "Four of us."}]
    user = {"answers": answers, "confirms": "yes"}
    case, suite = suite_of(tmp_path, *both, user=user)

    def asks(message, tools):
        tools.find_tables()
        return "How many are you? Shall I book T1?"

    played = play(case, suite, asks)
    user = [turn for turn in played.turns if turn.role == "user"]
    assert user[1].text == "I hear that it is busy tonight. My friend comes as well. Four of us."
    assert user[1].agreed is False
    assert user[2].text.startswith("Yes")
    assert user[2].agreed is True
    assert audit(case, played) == ()
    silent = play(case, suite, asks, user="silent")
    assert [turn.text for turn in silent.turns[2:]] == [""]
    assert [why for _, why in silent.lacking(case.world.events)] == [
        "event 1 came, and the user never said 'I hear that it is busy tonight.'",
        "event 2 came, and the user never said 'My friend comes as well.'",
    ]


def test_calls_of_an_event_are_somebody_elses_and_cause_no_event(tmp_path):
    own = {"after": {"tool": "book_table"}, "calls": [{"tool": "book_table", "arguments": {"table_id": "T2"}}]}
    checks = requirements(one={"kind": "calls", "tool": "book_table", "at_most": 1}, rest={"kind": "unchanged"})
    case, suite = suite_of(tmp_path, TAKEN, own, requirements=checks)
    played = play(case, suite, "blind")
    (write,) = [call for call in played.calls if call.tool == "book_table"]
    assert write.status == "refused"
    assert [event.id for event in played.events] == ["1"]
    assert labels(case, suite, played)[0] == {"one": "passed", "rest": "passed"}

    def books(message, tools):
        return str(tools.book_table(table_id="T1"))

    second, _ = suite_of(tmp_path, own)
    played = play(second, suite, books)
    assert [change.id for change in played.events[0].changed] == ["B2", "T2"]
    assert [change.id for change in own_changes(played.acts)] == ["B1", "T1"]
    played = play(second, suite, lambda message, tools: str([tools.book_table(table_id=each) for each in ("T2", "T1")]))
    assert played.events[0].text == "after call 1 of book_table; book_table ends as refused: this table is taken"


def test_checks_look_at_what_comes_after_the_events_and_leave_open_what_never_came(tmp_path):
    checks = requirements(
        looked={"kind": "calls", "tool": "find_tables", "since": "event"},
        first={"kind": "calls", "steps": ["find_tables", "book_table"], "match": "exact", "since": "event"},
        says={"kind": "says", "any": ["45"], "about": ["EUR"], "turn": "since_event"},
        written={"kind": "matches", "pattern": "45 EUR", "turn": "since_event"},
    )
    case, suite = suite_of(tmp_path, RISE, requirements=checks)

    def looks_on(message, tools):
        tools.find_tables()
        if message.startswith("Yes"):
            return f"Booked: {tools.book_table(table_id='T1')}. It costs 45 EUR."
        return "Shall I book T1 for 20 EUR?"

    blind, noticing, never = (play(case, suite, agent) for agent in ("blind", looks_on, lambda message: "" / 0))
    assert labels(case, suite, blind)[0] == dict.fromkeys(("looked", "first", "says", "written"), "failed")
    assert labels(case, suite, noticing)[0] == dict.fromkeys(("looked", "first", "says", "written"), "passed")
    at_once = play(case, suite, lambda message, tools: str(tools.book_table(table_id="T1")))
    outcomes, why = labels(case, suite, at_once)
    assert set(outcomes.values()) == {"unevaluated"}, "it had no reply left in which to notice anything"
    assert "no reply came after the last event" in why
    outcomes, why = labels(case, suite, never)
    assert set(outcomes.values()) == {"unevaluated"}
    assert "event 1 never came: it comes after reply 1" in why
    plain, suite = suite_of(tmp_path, requirements=checks)
    assert "the case has no events" in labels(plain, suite, play(plain, suite, "blind"))[1]


def test_the_reference_lives_through_the_same_events(tmp_path):
    book = {"tool": "book_table", "arguments": {"table_id": "T1"}}
    oracle = [
        {"calls": [{"tool": "find_tables"}], "say": "Shall I book Garden Corner for 20 EUR?"},
        {"calls": [{"tool": "find_tables"}], "say": "It is 45 EUR now. Shall I book Garden Corner for 45 EUR?"},
        {"calls": [book], "say": "It is booked."},
    ]
    same = requirements(same={"kind": "same_end"})
    for end in ("oracle", [book]):
        case, suite = suite_of(tmp_path, RISE, requirements=same, oracle=oracle, end=end)
        changes = play_reference(case, suite).changes
        assert [(change.table, change.after["price"]) for change in changes] == [("bookings", 45), ("slots", 45)]
        assert changes[1].columns == ("free",)
        assert labels(case, suite, play(case, suite, "watchful"))[0] == {"same": "passed"}
    played = play(case, suite, lambda message, tools: str(tools.book_table(table_id="T1")) / 0)
    outcomes, why = labels(case, suite, played)
    assert outcomes == {"same": "unevaluated"}, "it booked before the price rose"
    assert "event 1 never came" in why
    plain, _ = suite_of(tmp_path, requirements=same, oracle=oracle, end="oracle")
    assert play_reference(plain, suite).calls != play_reference(case, suite).calls


def test_lint_plays_the_oracle_through_the_events_and_mutants_meet_them(tmp_path):
    late = {"after": {"tool": "find_tables", "call": 5}, "say": "It rains."}
    lost = {"after": {"tool": "find_tables"}, "rows": [{"table": "slots", "where": {"id": "T9"}, "set": {"fre": 0}}]}
    oracle = [
        {"calls": [{"tool": "find_tables"}], "say": "Shall I book Garden Corner for 45 EUR?"},
        {"calls": [{"tool": "book_table", "arguments": {"table_id": "T1"}}], "say": "It is booked."},
    ]
    raised = RISE | {"after": {"tool": "find_tables"}}
    case, suite = suite_of(tmp_path, raised, late, lost, oracle=oracle)
    told = [(remark.rule, remark.place, remark.message) for remark in dialogue_remarks(case, suite)]
    assert [(place, message) for rule, place, message in told if rule == "event"] == [
        (("world", "events", 1), "in the oracle's dialogue event 2 never came: it comes after call 5 of find_tables"),
        (("world", "events", 2), "event 3, after call 1 of find_tables; no row changed"),
    ]
    (slip,) = [found for found in lint(suite) if found.rule == "unknown-column"]
    assert "world.events[2].rows[0].set.fre: no row of the table slots has a column 'fre'" in str(slip)
    played = run_episode(
        case, source_of(agent_named("watchful"), "test"), make_user("scripted", case), make_sandbox(case, suite)
    )
    dropped = next(mutant for kind, mutant in write_changes(case, suite, played) if kind == "dropped_write")
    assert [event.id for event in dropped.trajectory.events] == ["1", "3"]
    assert own_changes(dropped.trajectory.acts) == ()


def test_after_an_event_tables_answer_before_what_was_recorded_without_it(tmp_path):
    case, suite = suite_of(tmp_path, GONE, python=False)
    old = Recording(case=case.id, tool="find_tables", arguments={}, result={"tables": [{"id": "T1", "free": 7}]})
    suite.recordings = lambda case_id: (old,)
    sandbox = make_sandbox(case, suite)
    found = [sandbox.call("find_tables", {}) for _ in range(2)]
    assert [(answer.provenance.kind, answer.result["tables"][0]["free"]) for answer in found] == [
        ("exact", 7),
        ("computed", 0),
    ]


def test_a_call_of_the_user_is_a_moment_too_and_its_event_stands_behind_it(tmp_path):
    after = {"after": {"tool": "book_table"}, "rows": [{"table": "slots", "where": {"id": "T2"}, "set": {"free": 0}}]}
    books = {"asked": ["book"], "calls": [{"tool": "book_table", "arguments": {"table_id": "T1"}}], "say": "I did."}
    case, suite = suite_of(tmp_path, after, user=[books])
    played = play(case, suite, lambda message: "Could you book it?" if message.startswith("Please") else "Fine.")
    assert [(step.kind, step.changed[-1].id) for step in played.turns[2].steps] == [("call", "T1"), ("event", "T2")]
    assert played.events[0].text == "after call 1 of book_table"


def test_on_an_environment_an_event_has_only_words(tmp_path):
    case, suite = suite_of(tmp_path, RISE)
    request = RunRequest(agent="test", user="scripted", judge="checks")
    runner = Runner(source_of(agent_named("blind"), "test"), request, tmp_path)
    card = runner.run(suite, case, environment=object())
    assert card.outcome == "error"
    assert card.blame == "infrastructure"
    assert "case book: world.events: rows and calls of events change a sandbox" in card.reason
    spoken, suite = suite_of(tmp_path, {"after": {"turn": 1}, "say": "Hurry."})
    card = runner.run(suite, spoken, environment=object())
    assert "world.events" not in card.reason


BROKEN = [
    ({"after": {"tool": "find_table"}, "say": "x"}, "after.tool: the suite has no tool 'find_table' (did you mean 'find_tables'?)"),
    ({"after": {"turn": 10}, "say": "x"}, "after.turn: found 10, expected less than max_turns, which is 10"),
    ({"after": {"turn": 1, "tool": "find_tables"}, "say": "x"}, "found tool, turn, expected {tool: NAME, call: NUMBER} or {turn: NUMBER}"),
    ({"after": {"turn": 1}}, "nothing happens: give rows, calls or say"),
    ({"after": {"turn": 1}, "say": "x", "reveals": ["bookd"]}, "reveals[0]: the case has no requirement 'bookd' (did you mean 'booked'?)"),
    ({"after": {"turn": 1}, "rows": [{"table": "slot", "where": {"id": "T1"}, "hide": True}]}, "rows[0].table: the suite has no table 'slot'"),
    ({"after": {"turn": 1}, "rows": [{"table": "slots", "where": {"idd": "T1"}, "hide": True}]}, "slots has no row with idd 'T1'"),
    ({"after": {"turn": 1}, "calls": [{"tool": "book"}]}, "calls[0].tool: the suite has no tool 'book'"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "told"), BROKEN)
def test_an_event_that_cannot_be_is_told_with_its_place(tmp_path, event, told):
    with pytest.raises(SuiteError) as caught:
        suite_of(tmp_path, event)
    assert "cases.jsonl:1: world.events[0]" in str(caught.value)
    assert told in str(caught.value)


def test_rows_of_an_event_that_no_call_can_make_are_looked_for_at_the_start(tmp_path):
    tools = bistro.TOOLS.replace("effect: write", "effect: read")
    lost = {"after": {"turn": 1}, "rows": [{"table": "slots", "where": {"id": "T9"}, "set": {"free": 0}}]}
    suite_of(tmp_path, lost)
    (tmp_path / "cases/tools.yaml").write_text(tools)
    with pytest.raises(SuiteError, match=r"rows\[0\].where.id: slots has no row with id 'T9'"):
        open_suite(tmp_path / "cases").load(
            next(iter(open_suite(tmp_path / "cases").entries(tmp_path / "cases/cases.jsonl")))
        )


def test_a_table_that_an_event_opened_by_another_column_is_no_silent_mistake(tmp_path):
    case, suite = suite_of(tmp_path, RISE)

    class ByName:
        def __init__(self, state):
            self.state = state

        def book_table(self, table_id):
            return self.state.table("slots", key="name")[table_id]

    suite.sandboxes = (lambda case, suite: ByName,)
    sandbox = make_sandbox(case, suite)
    sandbox.replied(1)
    with pytest.raises(InfrastructureError, match="an event changed rows of slots by id before the sandbox opened"):
        sandbox.call("book_table", {"table_id": "Garden Corner"})


def test_a_fault_is_outside_so_that_a_failed_call_is_no_moment_and_a_lost_reply_is(tmp_path):
    book = {"tool": "book_table", "arguments": {"table_id": "T1"}}
    after = {"after": {"tool": "book_table"}, "rows": [{"table": "slots", "where": {"id": "T2"}, "set": {"free": 0}}]}

    def books(message, tools):
        return str([tools.book_table(table_id="T1") for _ in range(2)])

    came = {}
    for error in ("timeout", "lost_reply"):
        case, _ = suite_of(tmp_path, after, end=[book])
        case = case.model_copy(
            update={"world": case.world.model_copy(update={"faults": (ToolFault(tool="book_table", error=error),)})}
        )
        _, suite = suite_of(tmp_path, after)
        steps = [step for turn in play(case, suite, books).replies for step in turn.steps]
        came[error] = [step.kind for step in steps]
        assert [change.id for change in play_reference(case, suite).changes] == ["B1", "T1"]
    assert came == {"timeout": ["call", "call", "event"], "lost_reply": ["call", "event", "call"]}
