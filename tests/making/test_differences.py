"""What the user did next becomes proposals: sixty conversations, half of them Chinese, each with what is true of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_mapsat.making.conversations import LoggedConversation, LoggedMessage
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
    assert "nothing tells that the user refused Cafe Miramar" in proposals.notes[0]


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
