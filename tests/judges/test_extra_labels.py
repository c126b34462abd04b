"""What is judged beside the requirements: where the arguments of calls come from, and what becomes of the things that replies name."""

import pytest
from asked_models import ScriptedDoor, entry, requirements
from judging import TOOLS, call, case_of, dialogue, found_places

from pytest_mapsat.judges import BESIDE_PROMPTS, make_judge
from pytest_mapsat.llm import prompt
from pytest_mapsat.model import Case, Step, Tool, Trajectory, Turn

BOTH = frozenset({"state", "observation"})
PARAMETERS = {
    "place": {"match": {"type": "id"}},
    "at": {"match": {"type": "point", "named": True}},
    "lon": {"match": {"type": "lon", "pair": "lat"}},
    "lat": {"match": {"type": "lat"}},
    "query": {"match": {"type": "text"}},
    "mode": {"match": {"type": "enum", "synonyms": {"walking": ["on foot", "步行"]}}},
    "kinds": {"match": {"type": "set"}},
    "people": {"match": {"type": "number"}},
    "radius": {"match": {"type": "number", "default": 3000}},
    "limit": {"schema": {"type": "integer", "default": 20}},
    "day": {"match": {"type": "time"}},
    "open_now": {"match": {"type": "boolean"}},
    "more": {"match": {"type": "json"}},
}
FIND = Tool.model_validate(
    {
        "name": "find",
        "description": "Finds things.",
        "parameters": {
            "type": "object",
            "properties": {name: one.get("schema", {}) for name, one in PARAMETERS.items()},
        },
        "match": {name: one["match"] for name, one in PARAMETERS.items() if "match" in one},
        "entities": [{"items": "items", "name": "name", "id": "id", "fields": {"rating": "rating"}}],
    }
)
EARLIER = {"items": [{"name": "Old Mill", "id": "om-17", "lon": 150.123, "lat": 30.456, "minutes": 23, "seats": 1284}]}
CASE = Case.model_validate(
    {
        "id": "c1",
        "visible": {
            "query": "Find tea tomorrow at half past four for the six of us, within 1.5 km on foot, order W-4711",
            "context": {
                "now": "2026-10-02T09:00:00",
                "location": {"lon": 150.1, "lat": 30.2, "name": "Pier Street"},
                "uid": "guest-1",
                "details": {"table": "blue-2"},
            },
        },
        "truth": {},
    }
)  # fmt: skip


def labels_of(trajectory, case=CASE, tools=(FIND,), spec="checks", **fields):
    judge = make_judge(spec, {tool.name: tool for tool in tools}, root=None, besides=BOTH, **fields)
    return {label.requirement: label for label in judge.judge(case, trajectory).labels}


def state_of(*, tool="find", **arguments):
    """What becomes of a call after one whose result is ``EARLIER``."""
    steps = (call("find", EARLIER, query="tea"), call(tool, None, **arguments))
    turns = [Turn(role="user", text=CASE.visible.query), Turn(role="agent", text="There.", steps=steps)]
    return labels_of(Trajectory(case="c1", turns=tuple(turns)))["step:1.2"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": ""},
        {"place": "guest-1"},
        {"place": "#W-4711"},
        {"place": "om-17"},
        {"place": "blue-2"},
        {"at": "150.1,30.2"},
        {"at": {"lon": 150.123, "lat": 30.4561}},
        {"at": "Old Mill"},
        {"lon": 150.12301, "lat": 30.456},
        {"query": "TEA"},
        {"query": "tea, Pier Street"},
        {"mode": "walking"},
        {"kinds": ["tea", "Old Mill"]},
        {"people": 6},
        {"people": "6"},
        {"people": 1284},
        {"radius": 1500},
        {"radius": 3000},
        {"limit": 20},
        {"day": "2026-10-02"},
        {"day": "2026-10-03"},
        {"day": "2026-10-03T16:30:00"},
        {"more": {"who": "guest-1", "seats": 6}},
    ],
    ids=str,
)
def test_what_was_told_or_is_a_default_is_consistent(arguments):
    label = state_of(**arguments)
    assert (label.outcome, label.value, label.kind) == ("passed", 1, "state"), label.why


@pytest.mark.parametrize(
    "arguments",
    [
        {"place": "guest-2"},
        {"place": "om-1"},
        {"at": "150.9,30.9"},
        {"lon": 116.4074, "lat": 39.9042},
        {"query": "W-9999"},
        {"people": 1285},
        {"more": {"who": "guest-9"}},
        {"query": "tea", "place": "om-99"},
    ],
    ids=str,
)
def test_an_id_a_point_or_an_exact_figure_from_nowhere_is_not(arguments):
    label = state_of(**arguments)
    assert (label.outcome, label.value) == ("failed", 0)
    assert "the agent was not told" in label.why


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "a quiet cafe"},
        {"mode": "driving"},
        {"people": 2},
        {"radius": 5000},
        {"day": "2026-10-09"},
        {"open_now": True},
        {"kinds": ["tea", "coffee"]},
        {"more": {"note": "something else"}},
    ],
    ids=str,
)
def test_what_may_be_a_choice_or_other_words_is_undecided(arguments):
    label = state_of(**arguments)
    assert label.undecided
    assert label.bounded


def test_only_what_was_told_before_a_step_counts_and_what_the_agent_said_itself_is_open():
    ask, answer = Turn(role="agent", text="Shall I take om-88?"), Turn(role="user", text="Yes. My order is A-500.")
    early = Turn(role="agent", text="One moment.", steps=(call("find", None, place="A-500"),))
    later = Turn(
        role="agent",
        text="Done.",
        steps=(call("find", None, place="A-500"), call("find", None, place="om-88"), call("unknown", None, id="zz-99")),
    )
    turns = (Turn(role="user", text="Hello"), early, Turn(role="user", text="ok"), ask, answer, later)
    found = labels_of(Trajectory(case="c1", turns=turns))
    outcomes = {name: label.outcome for name, label in found.items()}
    assert outcomes == {"step:1.1": "failed", "step:3.1": "passed", "step:3.2": "unevaluated", "step:3.3": "failed"}


def test_a_moment_that_is_no_day_of_the_calendar_breaks_nothing():
    visible = CASE.visible.model_copy(
        update={"context": CASE.visible.context.model_copy(update={"now": "2026-02-31T09:00"})}
    )
    steps = (call("find", None, day="2026-03-01"),)
    turns = (Turn(role="user", text="Tomorrow, please"), Turn(role="agent", text="There.", steps=steps))
    found = labels_of(Trajectory(case="c1", turns=turns), CASE.model_copy(update={"visible": visible}))
    assert found["step:1.1"].undecided


def test_a_thought_is_left_to_a_model():
    trajectory = dialogue("Go.", steps=(Step(kind="thought", text="They want tea."),))
    assert labels_of(trajectory)["step:1.1"].why == "undecided: a thought is read by a model only"


def observations(reply, *, steps=None, **checks):
    """The labels of what a reply names, by its words, after a call that found places."""
    facts = [{"id": name, "text": "a rule", "check": check} for name, check in checks.items()]
    trajectory = dialogue(reply, steps=[found_places()] if steps is None else steps)
    found = labels_of(trajectory, case_of(facts=facts), TOOLS.values())
    return {label.quotes[0].text: label for label in found.values() if label.kind == "observation"}


GOOD = {"kind": "recommends", "only": True, "where": {"rating": {"op": "between", "min": 4.5}}}


def test_a_thing_is_aligned_where_its_claims_are_borne_out_and_no_check_is_broken():
    found = observations("I recommend Cafe Luna (Riverside), not Old Mill.", good=GOOD)
    assert {name: label.outcome for name, label in found.items()} == {
        "Cafe Luna (Riverside)": "passed",
        "Old Mill": "passed",  # it is turned down
    }
    found = observations("I recommend Old Mill.", good={"kind": "all", "checks": [GOOD]})
    assert (found["Old Mill"].outcome, found["Old Mill"].why) == (
        "failed",
        "the reply recommends it, and it breaks good",
    )
    avoided = {"kind": "recommends", "none_of": ["Old Mill"]}
    assert observations("I recommend Old Mill.", no_mill=avoided)["Old Mill"].outcome == "failed"
    assert observations("I recommend Old Mill Garden.", no_mill=avoided)["Old Mill Garden"].outcome == "passed"
    # One that must hold only on some condition breaks nothing by itself.
    assert observations("I recommend Old Mill.", some={"kind": "any", "checks": [GOOD]})["Old Mill"].outcome == "passed"


def test_a_claim_that_is_contradicted_fails_its_thing_alone():
    entities = [{"items": "items", "name": "name", "fields": {"tel": "phone"}}]
    find = FIND.model_validate({**FIND.model_dump(exclude={"entities"}), "entities": entities})
    steps = [
        call("find", {"items": [{"name": "Old Mill", "tel": "555-0101"}, {"name": "Salt Pans", "tel": "555-0102"}]})
    ]
    reply = "Old Mill: phone 555-0109. Salt Pans: phone 555-0102."
    found = labels_of(dialogue(reply, steps=steps), tools=(find,))
    assert (found["thing:1.1"].outcome, found["thing:1.2"].outcome) == ("failed", "passed")
    assert "contradicted" in found["thing:1.1"].why


def test_what_no_tool_had_returned_by_then_is_no_observation():
    assert observations("Go to Cafe Luna (Riverside).", steps=[]) == {}
    assert observations("Somewhere nice.") == {}


def test_nothing_is_labelled_besides_where_no_metric_set_asks():
    judge = make_judge("checks", {"find": FIND}, root=None)
    trajectory = dialogue("Old Mill it is.", steps=[call("find", EARLIER, query="tea")])
    assert judge.judge(CASE, trajectory).labels == ()


def by_model(answers, *replies, steps, spec="llm:some/model"):
    door = ScriptedDoor(answers)
    found = labels_of(dialogue(*replies, steps=steps), case_of(), TOOLS.values(), spec=spec, client=door, votes=1)
    return found, door


def test_a_model_judges_thoughts_and_what_rules_leave_open_by_prompts_of_their_own():
    steps = (Step(kind="thought", text="They want tea, so cafes first."), found_places("a quiet cafe"))

    def answers(text, vote, again):
        if text.startswith("thought-1.1"):
            return entry(words="cafes first", part="thought-1.1", reason="They asked where to go.")
        return entry("failed", words="a quiet cafe", part="call-1", reason="Nobody asked for quiet.")

    found, door = by_model(answers, "Go to Cafe Luna (Riverside).", steps=steps, spec="llm-lean:some/model")
    thought, search = found["step:1.1"], found["step:1.2"]
    assert (thought.outcome, thought.by, thought.votes) == ("passed", "model", ("passed",))
    assert (search.outcome, search.value, search.by) == ("failed", 0, "model")
    assert "thought-1.1 has 'cafes first'" in thought.why
    assert found["thing:1.1"].by == "checks"
    (request,) = door.requests
    system, shown = (message["content"] for message in request.messages)
    assert "the way a candidate" in system
    # What the agent thought is data between fences, and stands in no requirement.
    assert shown.index("thought-1.1\nThey want tea") < shown.index("# The requirements")
    assert "They want tea" not in shown.partition("# The requirements")[2]


def test_a_model_is_asked_about_a_thing_by_its_number_and_must_quote_a_reply():
    def answers(text, vote, again):
        if "thing-1.1" not in text:
            return entry(words="cafe", part="call-1")
        return entry("failed", words="Old Mill", part="reply-1" if again else "call-1")

    steps = [found_places()]
    found, door = by_model(answers, "I recommend Old Mill.", steps=steps, spec="llm:some/model")
    asked = [text for request in door.requests for text in requirements(request)]
    assert "what reply-1 makes of thing-1.1 is right, and fits what the user asks for" in asked
    assert not any("Old Mill" in text for text in asked)
    again = next(request for request in door.requests if len(request.messages) > 2)
    assert "no quote is from a reply" in again.messages[-1]["content"]
    assert (found["thing:1.1"].outcome, found["thing:1.1"].by) == ("failed", "model")
    assert (found["step:1.1"].outcome, found["step:1.1"].by) == ("passed", "model")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_prompts_of_both_languages_take_the_same_values(language):
    for name in BESIDE_PROMPTS.values():
        assert "DATA-1" in prompt(name, language).fill(fence="DATA-1")


def test_an_argument_may_come_from_a_call_that_was_not_reported():
    steps = [Step(kind="call", tool="find", arguments={"place": "zz-99"}, result=[])]
    told, reported = (dialogue("Done.", steps=steps, calls_reported=reported) for reported in (False, True))
    assert labels_of(told)["step:1.1"].outcome == "failed"
    label = labels_of(reported)["step:1.1"]
    assert (label.outcome, "may not be all" in label.why) == ("unevaluated", True)
