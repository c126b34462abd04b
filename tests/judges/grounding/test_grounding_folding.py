"""Folding text and finding phrases in it, with the way back to the original."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.judges.grounding.fold import fold, fold_phrase
from pytest_mapsat.judges.grounding.text import Mention, Reading, find_longest

PHRASES = ("toll road", "Ｃａｆｅ", "高速公路", "9 公里", "Straße", "don't")


@given(st.text(max_size=60), st.sampled_from(PHRASES), st.text(max_size=60))
def test_a_mention_is_quoted_as_it_stands_in_the_original(before, phrase, after):
    text = f"{before}\n{phrase}\n{after}"
    reading = Reading.of(text, turn=1)
    quotes = [reading.quote(mention) for mention in reading.find(phrase, plural=False)]
    assert quotes
    for quote in quotes:
        assert quote.text == text[quote.start : quote.end]
        assert fold_phrase(quote.text) == fold_phrase(phrase)


@given(st.text(max_size=200))
def test_every_folded_character_knows_where_it_came_from(text):
    folded = fold(text)
    assert len(folded.text) == len(folded.flat)
    spans = [folded.span(index, index + 1) for index in range(len(folded.text))]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


@given(st.text(max_size=100))
def test_folding_twice_changes_nothing(text):
    once = fold_phrase(text)
    assert fold_phrase(once) == once


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("ＣＡＦＥ　Ｌｕｎａ", "cafe luna"),
        ("cafe\n  luna", "Cafe Luna"),
        ("ca\u200bfe \u202eluna", "Cafe Luna"),
        ("**Cafe** Luna", "Cafe Luna"),
        ("cafe\u0301", "café"),
        ("地铁 2 号线", "地铁2号线"),
        ("don’t", "don't"),
        ("two buses", "bus"),
        ("坐bus去", "bus"),
    ],
)
def test_a_phrase_is_found_whatever_its_form(text, phrase):
    assert next(Reading.of(text).find(phrase), None) is not None


@pytest.mark.parametrize(
    ("text", "phrase"), [("business", "bus"), ("minibus", "bus"), ("13.5 km", "3.5 km"), ("12路", "2路"), ("3.5", "3")]
)
def test_part_of_a_word_or_number_is_no_mention(text, phrase):
    assert next(Reading.of(text).find(phrase), None) is None


def test_the_longest_name_wins_where_names_nest():
    reading = Reading.of("Old Mill Garden, then Old Mill")
    found = find_longest(reading, {"garden": ["Old Mill Garden"], "mill": ["Old Mill"]})
    assert found == {"garden": [Mention(0, 15)], "mill": [Mention(22, 30)]}


def test_sentences_do_not_end_in_numbers_abbreviations_and_times():
    reading = Reading.of("It is 3.5 km. Dr. Wang waits at 6 p.m. sharp! 好的。下一句")
    starts = [reading.sentence_start(number) for number in range(len(reading.sentence_ends))]
    sentences = [reading.flat[start:end].strip() for start, end in zip(starts, reading.sentence_ends, strict=True)]
    assert sentences == ["it is 3.5 km.", "dr. wang waits at 6 p.m. sharp!", "好的。", "下一句"]
