"""The words of a language are found where they stand, whole, the longest at each place."""

import pytest

from pytest_mapsat.reading import Vocabulary, pack_of


def found(text, language="en", **groups):
    pack = pack_of(language, Vocabulary(groups) if groups else None)
    return [text[cue.start : cue.end] for cue in pack.find(text) if not groups or cue.has(*groups)]


def test_the_longest_of_the_words_at_a_place_is_found():
    assert found("would you rather not", reject=["would you", "would you rather not"]) == ["would you rather not"]
    assert found("would you rather go", reject=["would you", "would you rather not"]) == ["would you"]


def test_words_run_over_a_line_break_but_not_over_two_blanks():
    assert found("no\ngo", reject=["no go"]) == ["no\ngo"]
    assert found("no  go", reject=["no go"]) == []


@pytest.mark.parametrize("text", ["unflop", "flops", "flop2", "2flop"])
def test_a_part_of_a_longer_word_is_not_the_word(text):
    assert found(text, reject=["flop"]) == []


@pytest.mark.parametrize("text", ["a flop.", "flop", "(flop)", "不flop不", "the flop's"])
def test_a_word_may_stand_beside_whatever_is_no_letter_or_digit(text):
    assert found(text, reject=["flop"]) == ["flop"]


def test_words_that_end_in_a_sign_need_nothing_behind_them():
    assert found("approx.5", reject=["approx."]) == ["approx."]


def test_a_word_that_is_glued_to_others_is_found_inside_them():
    assert "n't" in found("it mustn't")
    assert "n't" not in found("it mustn'twice")


def test_scripts_without_blanks_have_words_anywhere():
    assert found("这家坏透了吧", language="zh", reject=["坏透了", "坏"]) == ["坏透了"]
    assert found("坏a坏", language="zh", reject=["坏"]) == ["坏", "坏"]
    assert found("方案12", language="zh", reject=["方案1"]) == []


def test_words_do_not_overlap():
    assert found("坏透了了不起", language="zh", reject=["坏透了", "了了", "不起"]) == ["坏透了", "不起"]
