"""What the user did next becomes proposals: sixty conversations, half of them Chinese, each with what is true of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_mapsat.making.conversations import LoggedConversation, LoggedMessage
from pytest_mapsat.making.evidence import in_full
from pytest_mapsat.making.proposals import Proposals, proposals_of
from pytest_mapsat.model import Case, Context, Requirement, Step, Tool

TALKS = [json.loads(line) for line in (Path(__file__).parent / "talks.jsonl").read_text("utf-8").splitlines()]
BY_ID = {talk["id"]: talk for talk in TALKS}


def conversation_of(talk: dict[str, Any]) -> LoggedConversation:
    """Return a conversation of its data."""
    lines = tuple(
        LoggedMessage(
            f"chat.json:{number}",
            line["role"],
            line["text"],
            tuple(Step(kind="call", **call) for call in line.get("calls", ())),
        )
        for number, line in enumerate(talk["lines"], 1)
    )

    context = Context.model_validate(talk["context"])
    return LoggedConversation(
        talk["id"],
        "",
        lines,
        query_at=talk["query_at"],
        reply_at=talk["reply_at"],
        context=context,
        accepted_at=talk["accepted_at"],
    )


def proposed(talk: dict[str, Any], **changes: Any) -> Proposals:
    """Return what a talk proposes, with some of its data changed."""
    talk = talk | changes
    tools = {tool["name"]: Tool.model_validate(tool) for tool in talk["tools"]}
    return proposals_of(conversation_of(talk), tools)


def fields_of(requirement: Requirement) -> set[str]:
    return {*requirement.check.where, *requirement.check.none_where}


@pytest.mark.parametrize("talk", TALKS, ids=lambda talk: talk["id"])
def test_the_field_that_the_user_missed_is_proposed(talk):
    proposals, truth = proposed(talk), talk["truth"]
    phrases = {phrase for answer in proposals.answers for phrase in answer.asked}
    fields = {path for requirement in proposals.requirements for path in fields_of(requirement)}
    fields |= phrases & {*truth["fields"]}
    assert fields == {*truth["fields"]}, proposals
    kinds = [*(requirement.kind for requirement in proposals.requirements), *("answer" for _ in proposals.answers)]
    assert sorted({*kinds}) == truth["kinds"]
    assert {requirement.source for requirement in proposals.requirements} <= {
        truth.get("source", "context"),
        "unstated",
    }
    assert all(part.draft for part in (*proposals.requirements, *proposals.answers))
    assert all(evidence.at for requirement in proposals.requirements for evidence in requirement.evidence)
    assert proposals.requirements or proposals.answers or proposals.notes


def test_evidence_is_quoted_with_its_place_and_labels_follow():
    proposals = proposed(BY_ID["dog"])
    (requirement,) = proposals.requirements
    (evidence,) = requirement.evidence
    assert (evidence.at, "small dog named Rex" in evidence.text) == (("chat.json:1",), True)
    assert requirement.text == "Everything that is recommended has petsAllowed: true"
    assert (proposals.logged, proposals.agreed) == ({requirement.id: "failed"}, {requirement.id: "passed"})
    assert proposals.why[requirement.id].startswith(
        'chat.json:4: "They just told me on the phone they don\'t take dogs."'
    )
    assert proposals.why[requirement.id].endswith("petsAllowed of Lakeview Lodge: False; Pine Cabin: True")


def test_what_nobody_could_have_known_is_an_answer_in_the_users_own_words():
    (answer,) = proposed(BY_ID["dear-hotel"]).answers
    assert answer.say == "Way too expensive for me."
    assert {"price", "budget"} & {*answer.asked}


def test_a_figure_that_somebody_gave_is_the_bound():
    (requirement,) = proposed(BY_ID["taigui"]).requirements
    assert requirement.check.where["人均"].max == 80
    (requirement,) = proposed(BY_ID["garage"]).requirements
    assert requirement.check.where["clearance_m"].min == 2.6


def test_what_must_not_be_in_a_list_is_forbidden():
    (requirement,) = proposed(BY_ID["nuts"]).requirements
    assert requirement.kind == "asked"
    assert requirement.check.none_where["allergens"].text == "peanut"


def test_where_nothing_tells_the_fields_apart_a_note_says_so():
    proposals = proposed(BY_ID["dont-like"])
    assert "differ in kind, pool, and nothing tells which of them decided" in proposals.notes[0]
    assert proposals.notes[0].endswith("; proposed: kind")  # the lack of a pool is no need by itself
    assert [answer.say for answer in proposals.answers] == ["Hmm, not that one."]


def test_a_reply_that_the_user_took_proposes_nothing():
    talk = BY_ID["stairs"]
    lines = [*talk["lines"][:2], {"role": "user", "text": "Lovely, thank you!"}]
    proposals = proposed(talk, lines=lines, accepted_at=1)
    assert not proposals.requirements
    assert not proposals.answers
    assert "nothing shows that the user refused Cafe Miramar" in proposals.notes[0]


def test_words_that_contradict_a_record_ask_for_nothing_else():
    record = {"id": "w1", "name": "Buzz Cafe", "wifi": True, "smoking": True}
    call = {"tool": "search_places", "arguments": {}, "result": {"results": [record]}}
    lines = [{"role": "user", "text": "A cafe?"}, {"role": "agent", "text": "I recommend Buzz Cafe.", "calls": [call]}]
    for words, paths in (("There is no wifi there.", set()), ("They smoke there, I can't breathe.", {"smoking"})):
        proposals = proposed(
            BY_ID["stairs"], lines=[*lines, {"role": "user", "text": words}], accepted_at=None, reply_at=1
        )
        assert {phrase for answer in proposals.answers for phrase in answer.asked} & {"wifi", "smoking"} == paths


def test_a_reply_without_a_thing_proposes_nothing():
    talk = BY_ID["stairs"]
    lines = [*talk["lines"][:1], {"role": "agent", "text": "I cannot help with that."}, talk["lines"][2]]
    proposals = proposed(talk, lines=lines, accepted_at=None)
    assert (proposals.requirements, proposals.answers) == ((), ())
    assert "recommends nothing that a tool returned" in proposals.notes[0]


def test_proposals_make_a_case_that_is_valid_and_a_draft():
    proposals = proposed(BY_ID["twice"])
    truth = {"requirements": proposals.requirements, "user": {"answers": proposals.answers}}
    case = Case.model_validate({"id": "twice", "visible": {"query": "Somewhere to work?"}, "truth": truth})
    assert len(case.truth.proposals) == 2


@pytest.mark.parametrize(
    "text", ["\u0000" * 50, "a" * 20_000, "不" * 20_000, '{"a": [1, {}]}', "<script>alert(1)</script>"]
)
def test_any_text_of_a_user_is_read(text):
    talk = BY_ID["stairs"]
    lines = [*talk["lines"][:2], {"role": "user", "text": text}]
    assert proposed(talk, lines=lines, accepted_at=None).notes


def two_places(refused: dict[str, Any], accepted: dict[str, Any], words: str, query: str = "A place?") -> Proposals:
    """Return what is proposed where a user says something to one of two places and takes the other."""
    rows = [{"id": "a", "name": "Blue Barn", **refused}, {"id": "b", "name": "Red Mill", **accepted}]
    call = {"tool": "search_places", "arguments": {}, "result": {"results": rows}}
    lines = [
        {"role": "user", "text": query},
        {"role": "agent", "text": "I recommend Blue Barn.", "calls": [call]},
        {"role": "user", "text": words},
        {"role": "agent", "text": "Then Red Mill."},
        {"role": "user", "text": "Great, thanks!"},
    ]
    return proposed(BY_ID["stairs"], lines=lines, query_at=0, reply_at=1, accepted_at=3)


@pytest.mark.parametrize(
    ("query", "bound"),
    [
        ("我的车高2米6，停哪儿？", 2.6),
        ("车高两米三五，停哪儿？", 2.35),
        ("My van is two metres thirty high, where can I park?", 2.3),
        ("I am six foot four and sleep in the van: where can I park?", 1.93),
    ],
)
def test_a_size_in_words_is_the_bound_of_a_height(query, bound):
    words = "进不去啊" if query[0] > "z" else "It would never fit."
    low, high = {"max_height_m": 1.8, "price": 3}, {"max_height_m": 3.2, "price": 2}
    (requirement,) = two_places(low, high, words, query).requirements
    assert {path: match.min for path, match in requirement.check.where.items()} == {"max_height_m": bound}


@pytest.mark.parametrize(
    ("query", "bound"),
    [("人均三百八以内的馆子？", 380), ("预算最多两千五，找个馆子", 2500), ("Dinner on a budget of a tenner?", 10)],
)
def test_a_sum_in_words_is_the_bound_of_a_price(query, bound):
    proposals = two_places(
        {"price": bound * 1.2}, {"price": bound * 0.9}, "太贵了" if bound > 10 else "Too dear.", query
    )
    (requirement,) = proposals.requirements
    assert requirement.check.where["price"].max == bound


@pytest.mark.parametrize(
    ("query", "clock"),
    [
        ("我两点半到，去哪儿喝咖啡？", "14:30"),
        ("Where can we go? We get there at half seven.", "19:30"),
        ("Where to? I get off at quarter to seven.", "18:45"),
    ],
)
def test_a_time_in_words_is_held_against_the_hours_of_both(query, clock):
    shut = {"hours": "08:00-12:00" if clock < "15" else "08:00-18:00", "wifi": True}
    words = "那时候都关门了" if query[0] > "z" else "They're shut by then."
    (requirement,) = two_places(shut, {"hours": "08:00-23:00", "wifi": False}, words, query).requirements
    assert requirement.check.where["hours"].time == clock


def test_a_size_is_no_sum_of_money():
    proposals = two_places(
        {"max_height_m": 2.1, "price": 3}, {"max_height_m": 3.2, "price": 2}, "We'd scrape the roof at 2.80 m."
    )
    assert {phrase for answer in proposals.answers for phrase in answer.asked} & {"price", "max_height_m"} == {
        "max_height_m"
    }


def test_half_a_price_is_no_time():
    assert (
        in_full("half price, or half seven hours, or half a mile") == "half price, or half seven hours, or half a mile"
    )
