"""Answers that try it on earn next to nothing, and the document says how much."""

import re
from functools import cache

import pytest
from adversaries import ADVERSARIES, denied
from shipped_runs import CASES, ROOT, mean_ar, run_function

DOCUMENT = (ROOT / "tests" / "natural" / "README.md").read_text("utf-8")

every_adversary = pytest.mark.parametrize("name", ADVERSARIES)


@cache
def cards_of(name):
    """Return the scorecards of one adversary by case."""
    return {case.id: run_function(ADVERSARIES[name](case), case) for case in CASES.values()}


def documented():
    """Return what the table of the document gives each adversary: mean AR at least and at most, and cases that fail."""
    rows = re.findall(r"^\| `(\w+)` \|.*?\| ([0-9.]+) \| ([0-9.]+) \| (\d+) \|", DOCUMENT, re.MULTILINE)
    return {name: (float(least), float(most), int(failed)) for name, least, most, failed in rows}


def least_ar(card):
    """Return the AR that an answer surely earns."""
    return (card.bounds_of("ar") or (0.0, 0.0))[0]


@every_adversary
def test_none_surely_earns_a_tenth_on_average_or_half_of_any_case(name):
    earned = [least_ar(card) for card in cards_of(name).values()]
    assert sum(earned) / len(earned) < 0.1
    assert max(earned) < 0.5


@every_adversary
def test_no_item_passes(name):
    assert {case for case, card in cards_of(name).items() if card.outcome == "passed"} == set()


@pytest.mark.parametrize("name", ["empty", "pastes_results"])
def test_who_helps_nobody_is_decided(name):
    for card in cards_of(name).values():
        assert card.blame in (None, "agent")
        assert {label.outcome for label in card.labels} <= {"passed", "failed"}


@pytest.mark.parametrize("name", ["claims_nothing", "only_asks"])
def test_who_claims_nothing_keeps_the_facts_and_is_counted(name):
    cards = cards_of(name).values()
    assert all(card.metric("ifs") == 1 for card in cards)
    assert all(
        label.nothing_claimed or any(word in fact.model_dump_json() for word in ('"says"', '"not"'))
        for case, card in cards_of(name).items()
        for fact in CASES[case].truth.facts
        for label in card.labels
        if label.requirement == fact.id
    )


def test_the_document_gives_every_adversary_its_score():
    table = documented()
    assert set(table) == set(ADVERSARIES)
    for name, told in table.items():
        cards = cards_of(name)
        least = sum(map(least_ar, cards.values())) / len(cards)
        failed = sum(card.outcome == "failed" for card in cards.values())
        assert (round(least, 2), round(mean_ar(cards), 2), failed) == told, name


def test_the_oracle_s_words_are_what_is_denied():
    assert denied("Take Bus 7, it costs 3 yuan.", "en") == "Not Take Bus 7, Not it costs 3 yuan."
    assert denied("请坐夜车，票价2元。", "zh") == "不是请坐夜车，不是票价2元。"
