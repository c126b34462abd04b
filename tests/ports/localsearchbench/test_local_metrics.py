"""The metric set ``local`` on an errand of two hops that can be worked out by hand: a theatre, and a noodle bar where the theatre stands."""

import json
import re

import pytest

from pytest_mapsat.judges import make_judge
from pytest_mapsat.llm import Answer, ModelError
from pytest_mapsat.metrics import gather_metric_sets, score
from pytest_mapsat.model import Case, Fault, Step, Tool, Trajectory, Turn

LOCAL = gather_metric_sets()["local"]
TOOL = Tool.model_validate(
    {
        "name": "search",
        "aliases": ["find"],
        "description": "search merchants",
        "parameters": {"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}},
        "entities": [
            {
                "items": "merchants",
                "name": "name",
                "id": "poi_id",
                "fields": {"kind": "kind", "landmark": "text", "rating": "rating"},
            }
        ],
    }
)
TOOLS = {"search": TOOL}
PLAY = {"poi_id": "p1", "name": "Brinagle Theatre", "kind": "theatre", "landmark": "Ivory Square", "rating": 4.5}
BAR = {"poi_id": "p2", "name": "Corandun Noodles", "kind": "noodle bar", "landmark": "Ivory Square", "rating": 4.2}
FAR = {"poi_id": "p3", "name": "Fynowyl Noodles", "kind": "noodle bar", "landmark": "Thistle Bridge", "rating": 4.9}


def look_up(hop, **where):
    return {
        "kind": "output",
        "path": "merchants",
        "entry": {"hop": hop},
        "id": "poi_id",
        "tool": "search",
        "where": where,
    }


CASE = {
    "id": "c1",
    "visible": {
        "query": "A play, and noodles by the same landmark.",
        "output_schema": {"type": "object", "properties": {"merchants": {"type": "array"}}},
    },
    "truth": {
        "requirements": [
            {"id": "play", "kind": "asked", "text": "A theatre", "check": look_up("play", kind="theatre")},
            {"id": "bite", "kind": "asked", "text": "Noodles there", "check": look_up("bite", kind="noodle bar", landmark="Ivory Square")},
            {"id": "good", "kind": "hard", "text": "It is rated 4 or better", "check": look_up("bite", rating={"op": "between", "min": 4})},
        ],
        "tools": [
            {"name": "search", "id": "play", "required": ["query"], "evidence": {"where": {"kind": "theatre"}}},
            {
                "name": "search",
                "id": "bite",
                "evidence": ["bite", {"where": {"kind": "noodle bar", "landmark": "Ivory Square"}}],
                "match": {"query": {"op": "contains", "of": {"op": "bound", "call": "play", "path": "merchants.*.landmark"}}},
            },
        ],
    },
}  # fmt: skip


class Door:
    """A model that gives each requirement the level that ``level`` says, by its text and the vote; or an error for all."""

    def __init__(self, level):
        self._level = level

    def ask(self, request, **_):
        if isinstance(self._level, Exception):
            raise self._level
        asked = re.findall(r"^(\d+)\. \[level\] (.+)$", request.messages[1]["content"], re.MULTILINE)
        quotes = [{"part": "reply-1", "words": "Brinagle Theatre"}]
        labels = [
            {
                "requirement": int(number),
                "reason": "So it reads.",
                "quotes": quotes,
                "figures": [],
                "verdict": self._level(text, request.vote),
            }
            for number, text in asked
        ]
        return Answer(text=json.dumps({"labels": labels}), data={"labels": labels})


def search(query, *rows, tool="search", **more):
    return Step(kind="call", tool=tool, arguments={"query": query}, result={"merchants": list(rows)}, **more)


PLAYS = search("theatre", PLAY)
BITES = search("noodle bar by Ivory Square", BAR)
SAID = "Brinagle Theatre has 4.5 stars. Corandun Noodles has 4.2 stars."


def handed(**ids):
    return {"merchants": [{"hop": hop, "poi_id": poi_id} for hop, poi_id in ids.items()]}


RIGHT = handed(play="p1", bite="p2")


def card_of(*calls, text=SAID, output=RIGHT, judge="checks", level=None, votes=1, case=CASE, **fields):
    case = Case.model_validate(case)
    turns = (
        Turn(role="user", text=case.visible.query),
        Turn(role="agent", text=text, steps=calls, output=output),
    )
    trajectory = Trajectory(case="c1", turns=turns, ending="done", **fields)
    door = None if level is None else Door(level)
    judge = make_judge(judge, TOOLS, root=None, client=door, votes=votes, besides=LOCAL.labels)
    verdict = judge.judge(case, trajectory)
    return score(case, trajectory, verdict, asserted=frozenset({"asked"}), tools=TOOLS, metric_sets=(LOCAL,))


def values(card, *names):
    return [card.metrics[f"local_{name}"] for name in names]


RULES = ("correct", "complete", "faithful", "relevant", "evidence", "causal", "efficient")


def test_the_whole_way_has_1_in_every_metric_of_rules_and_counts_its_calls():
    card = card_of(PLAYS, BITES)
    assert values(card, *RULES) == [1] * 7
    assert values(card, "calls", "rounds") == [2, 3]


def test_words_are_left_to_a_model_and_stay_between_0_and_1_without_one():
    card = card_of(PLAYS, BITES)
    assert values(card, "fluent", "safe") == [None, None]
    assert card.classes["local_fluent"] == card.classes["local_safe"] == "unevaluated"
    assert card.bounds["local_fluent"] == card.bounds["local_safe"] == (0, 1)
    assert card.outcome == "passed"


def test_a_model_gives_levels_to_the_words_and_the_mean_of_its_votes_counts():
    levels = {1: "1", 2: "0.5", 3: "1"}
    card = card_of(
        PLAYS,
        BITES,
        judge="llm:some/model",
        votes=3,
        level=lambda text, vote: levels[vote] if "fluent" in text else "1",
    )
    assert values(card, "fluent", "safe") == [pytest.approx(2.5 / 3), 1]
    assert values(card, "correct") == [1]


def test_a_model_that_cannot_be_reached_gives_no_0():
    fault = ModelError("no_key", "no key for some/model", purpose="judge")
    card = card_of(PLAYS, BITES, judge="llm:some/model", level=fault)
    assert values(card, "fluent", "correct") == [None, 1]
    assert card.classes["local_fluent"] == "unevaluated"
    assert "local_fluent" not in card.bounds


@pytest.mark.parametrize(
    ("output", "correct", "complete"),
    [
        (handed(play="p1", bite="p3"), 0, 0.5),  # returned, and somewhere else
        (handed(play="p1", bite="p9"), 0, 0.5),  # invented
        (handed(play="p1"), 0, 0.5),
        (handed(play="p1", bite="p2", nightcap="p9"), 0, 1),  # an invented one beside what was asked
        (handed(play="p1", bite="p2", nightcap=["p9", "p2"]), 0, 1),
        (handed(play="p1", bite="p2", nightcap=None), 1, 1),
        (handed(play="p1", bite="p2", nightcap="p3"), 1, 1),
        ({"merchants": [{"hop": hop, "poi_id": row} for hop in ("play", "bite") for row in ("p1", "p2", "p3")]}, 0, 0),
        ({"merchants": "p1"}, 0, 0),
        (None, 0, 0),
    ],
)
def test_only_ids_that_were_returned_and_fit_are_correct(output, correct, complete):
    card = card_of(PLAYS, search("noodle bar by Ivory Square", BAR, FAR), output=output)
    assert values(card, "correct", "complete") == [correct, complete]


def test_an_id_that_a_failed_call_or_none_returned_is_never_correct():
    assert values(card_of(), "correct", "complete") == [0, 0]
    refused = search("noodle bar by Ivory Square", BAR, status="over_limit")
    assert values(card_of(PLAYS, refused), "correct", "complete", "evidence", "relevant") == [0, 0.5, 0.5, 0.5]


def test_a_hard_requirement_that_is_broken_is_incorrect_though_every_hop_is_answered():
    bad = search("noodle bar by Ivory Square", BAR | {"rating": 3.1})
    assert values(card_of(PLAYS, bad, text="Here."), "correct", "complete", "evidence") == [0, 1, 1]


def test_a_search_that_asks_for_nothing_found_is_not_causal_and_one_without_evidence_serves_no_hop():
    guessed = search("noodle bar", BAR)
    assert values(card_of(PLAYS, guessed), "causal", "evidence", "relevant", "efficient") == [0, 1, 0.5, 1]
    empty = search("a play by Ivory Square")
    card = card_of(PLAYS, empty, BITES, BITES)
    assert values(card, "causal", "evidence", "relevant", "efficient") == [1, 1, 0.75, 0.5]
    at_once = search("theatre and noodle bar", PLAY, BAR)
    assert values(card_of(at_once), "efficient", "relevant", "causal", "rounds") == [1, 1, 0, 2]


def faithful(card):
    return (
        card.metrics["local_faithful"] if card.metrics["local_faithful"] is not None else card.bounds["local_faithful"]
    )


def test_claims_are_held_against_all_results():
    # Two names and two ratings are right, a telephone number is made up, and nothing reads what it is for.
    assert faithful(card_of(PLAYS, BITES, text=f"{SAID} It is 555-2322.")) == pytest.approx(4 / 5)
    assert faithful(card_of(PLAYS, BITES, text=f"{SAID} Call 555-2322.")) == (
        pytest.approx(4 / 6),
        pytest.approx(5 / 6),
    )
    stars = "Brinagle Theatre has 4.5 stars, Corandun Noodles 4.8 stars."
    assert faithful(card_of(PLAYS, BITES, text=stars)) == (0.75, 1)  # no rule decides the second rating
    path = "merchants.*.rating"
    equals = {"op": "bound", "tool": "search", "path": path}
    check = {"kind": "number", "unit": "star", "role": "rating", "equals": equals, "if_absent": "nothing_claimed"}
    fact = {"id": "ratings", "kind": "fact", "text": "Every rating is that of the merchant", "check": check}
    requirements = [*CASE["truth"]["requirements"], fact]
    case = {**CASE, "truth": {**CASE["truth"], "requirements": requirements}}
    assert faithful(card_of(PLAYS, BITES, text=stars, case=case)) == (0.6, 0.8)
    assert faithful(card_of(PLAYS, BITES, text="Here you are.")) == (0, 1)
    card = card_of(PLAYS, BITES, text="Shall I look on?")
    assert card.classes["local_faithful"] == "not_applicable"


@pytest.mark.parametrize(
    "lie",
    [
        "It has a rooftop pool.",
        "It has TV.",
        "It opened in 1920.",
        "Tickets cost 5 euros.",
        "Corandun Noodles is open until midnight.",
        "Brinagle Theatre has 3.1 stars.",
        "Brinagle Theatre is an opera house.",
        "Brinagle Theatre stands at Thistle Bridge.",
        "Corandun Noodles is not at Ivory Square.",
        "Brinagle Theatre is a noodle bar.",
        "Brinagle Theatre is a noodle bar and Corandun Noodles is a theatre.",
        "It is a noodle bar with 40 seats.",
        "It is 300 m from the station.",
        "Call 555 123 4567.",
        "Dogs are welcome there.",
        "店里有游泳池。",
    ],
)
def test_a_lie_that_no_rule_can_read_never_leaves_faithfulness_sure(lie):
    card = card_of(PLAYS, BITES, search("noodle", FAR), text=f"{SAID} {lie}")
    assert faithful(card) != 1
    assert card.bounds.get("local_faithful", (0, 1))[0] < 1


@pytest.mark.parametrize(
    "truth",
    ["", "Corandun Noodles is a noodle bar at Ivory Square.", "Both are at Ivory Square.", "Shall I look for more?"],
)
def test_what_the_rows_of_a_thing_say_of_it_is_read(truth):
    card = card_of(PLAYS, BITES, search("noodle", FAR), text=f"{SAID} {truth}")
    assert faithful(card) == (1 if "Both" not in truth else (0.8, 1)), "nothing says who both are"


def test_a_reply_that_is_too_long_to_read_has_no_faithfulness():
    card = card_of(PLAYS, BITES, text=f"{SAID} " * 2_000)
    assert (values(card, "faithful"), card.classes["local_faithful"]) == ([None], "unevaluated")


@pytest.mark.parametrize(
    ("rows", "asked", "causal"),
    [
        ((PLAY,), "noodle bar by Ivory Square", 1),
        ((PLAY, FAR), "noodle bar by Ivory Square", 1),
        ((PLAY, FAR), "noodle bar by Thistle Bridge", 0),  # the landmark of a row that is no theatre
        ((FAR,), "noodle bar by Thistle Bridge", 0),
        ((), "noodle bar by Ivory Square", 0),
    ],
)
def test_a_search_is_causal_where_it_asks_for_a_row_that_fulfils_its_hop(rows, asked, causal):
    assert values(card_of(search("theatre", *rows), search(asked, BAR)), "causal") == [causal]


def test_without_a_call_relevance_and_efficiency_do_not_apply():
    card = card_of(text="Go to the theatre.", output=None)
    assert values(card, "correct", "complete", "evidence", "causal", "calls", "rounds") == [0, 0, 0, 0, 0, 1]
    assert {card.classes["local_relevant"], card.classes["local_efficient"]} == {"not_applicable"}


@pytest.mark.parametrize("fields", [{}, {"fault": Fault(blame="agent", message="it raised")}])
def test_silence_and_a_crash_earn_nothing(fields):
    card = card_of(text="", output=None, **fields)
    assert values(card, "correct", "complete", "faithful", "fluent", "safe", "evidence", "causal") == [0] * 7
    assert card.classes["local_relevant"] == card.classes["local_efficient"] == "not_applicable"
    crashed = card_of(PLAYS, text="", output=None, **fields)
    assert values(crashed, "relevant", "efficient", "calls") == [0, 0, 1]


def test_a_case_without_hops_has_the_answer_alone():
    plain = {**CASE, "truth": {"requirements": CASE["truth"]["requirements"]}}
    card = card_of(PLAYS, BITES, case=plain)
    assert values(card, "correct", "faithful", "calls") == [1, 1, 2]
    names = ("complete", "relevant", "evidence", "causal", "efficient")
    assert {card.classes[f"local_{name}"] for name in names} == {"not_applicable"}


def test_what_a_record_does_not_tell_of_a_result_leaves_bounds():
    card = card_of(PLAYS, BITES.model_copy(update={"result": None, "unknown": ("result",)}))
    assert values(card, "evidence", "efficient") == [None, None]
    assert card.bounds["local_evidence"] == card.bounds["local_efficient"] == (0.5, 1)


def rounds(*steps):
    card = card_of(*steps)
    return card.metrics["local_rounds"] or card.bounds["local_rounds"]


def test_rounds_are_turns_of_the_model_with_the_last_one_and_parallel_calls_are_one():
    thought, details = Step(kind="thought", text="Next."), search("p1", PLAY, tool="details")
    assert rounds() == 1
    assert rounds(PLAYS) == 2
    assert rounds(PLAYS, thought, BITES, Step(kind="thought", text="Done.")) == 3
    assert rounds(PLAYS, BITES) == 3  # a tool is called once in a round
    assert rounds(thought, PLAYS, thought, details) == 3
    assert rounds(PLAYS, details) == (2, 3)  # at once, or not: that is not recorded


def test_a_hop_that_is_answered_in_part_counts_in_part_and_a_soft_requirement_by_its_level():
    case = json.loads(json.dumps(CASE))
    case["truth"]["tools"][1]["evidence"] = ["bite", "good"]
    bad = search("noodle bar by Ivory Square", BAR | {"rating": 3.1})
    assert values(card_of(PLAYS, bad, case=case), "complete") == [(1 + 1 / 2) / 2]
    case["truth"]["requirements"].append({"id": "near", "kind": "soft", "text": "It is close", "weight": 1, "check": {"kind": "says", "any": ["4.2 stars"]}})  # fmt: skip
    assert values(card_of(PLAYS, bad, case=case), "complete") == [pytest.approx((1 + 1 / 2 + 1) / 3)]


FAILURES = [f"fails_{name}" for name in ("calls", "plan", "query", "noise")]


def test_a_correct_episode_has_no_kind_of_failure():
    card = card_of(PLAYS, BITES)
    assert {card.classes[f"local_{name}"] for name in FAILURES} == {"not_applicable"}


@pytest.mark.parametrize(
    ("calls", "kinds"),
    [
        ([PLAYS, PLAYS, BITES], [1, 0, 0, 1]),  # the second search is the first one again, and nothing is lacking
        ([], [1, 1, 0, 0]),
        ([PLAYS], [0, 1, 0, 0]),
        ([search("theatre"), search("noodle bar", BAR)], [0, 1, 1, 0]),
        ([PLAYS, BITES], [0, 0, 0, 1]),
        ([PLAYS, search("noodle bar by Ivory Square", BAR, status="over_limit")], [1, 1, 0, 0]),
    ],
)
def test_the_kinds_of_failure_are_those_that_the_calls_surely_show(calls, kinds):
    wrong = handed(play="p1", bite="p9")
    card = card_of(*calls, output=wrong)
    assert values(card, "correct", *FAILURES) == [0, *kinds]
