"""Money of five currencies: read as the suite's own, and as that of somebody else."""

import pytest

from pytest_mapsat.reading import FOREIGN, MONEY, Vocabulary, lexicon_of, read

SAID = {
    "CNY": ["It costs 30 yuan.", "It costs ¥30.", "价格是30元。", "It is 30 rmb."],
    "EUR": ["It costs €30.", "It costs 30 euros.", "It costs 30 €.", "价格是30欧元。", "It is EUR 30."],
    "USD": ["It costs $30.", "It costs 30 dollars.", "It costs US$30.", "价格是30美元。", "It is 30 bucks."],
    "GBP": ["It costs £30.", "It costs 30 pounds.", "It costs 30 quid.", "价格是30英镑。"],
    "JPY": ["It costs ¥30.", "It costs 30 yen.", "价格是30日元。", "It is 30 JPY."],
}
#: What is money in one currency alone.
AMBIGUOUS = {"It costs ¥30.", "It costs 30 pounds.", "It is 30 bucks."}


def money(text, currency):
    language = "en" if text.isascii() or any(sign in text for sign in "€£¥") else "zh"
    found = read(text, language=language, lexicon=lexicon_of(()), vocabulary=Vocabulary(currency=currency)).quantities
    return [(one.value, one.unit, one.role) for one in found if one.unit in (MONEY, FOREIGN)]


@pytest.mark.parametrize("currency", SAID)
def test_a_sum_in_the_suites_own_currency_is_money(currency):
    for text in SAID[currency]:
        assert money(text, currency) == [(30, MONEY, "price")], text


@pytest.mark.parametrize("currency", SAID)
def test_a_sum_in_another_currency_is_foreign_and_no_money(currency):
    others = [text for other in SAID if other != currency for text in SAID[other] if text not in AMBIGUOUS]
    for text in others:
        assert money(text, currency) == [(30, FOREIGN, "price")], (currency, text)


def test_parts_of_a_currency_are_counted_in_it():
    assert money("It costs 80 cents.", "EUR") == [(pytest.approx(0.8), MONEY, "price")]
    assert money("It costs 80 pence.", "GBP") == [(pytest.approx(0.8), MONEY, "price")]
    assert money("票价5毛。", "CNY") == [(0.5, MONEY, "price")]


def test_the_own_words_of_a_suite_are_in_its_own_currency():
    vocabulary = Vocabulary({"unit.yuan": ("credits",)}, "USD")
    found = read("It costs 30 credits.", language="en", lexicon=lexicon_of(()), vocabulary=vocabulary).quantities
    assert [(one.value, one.unit) for one in found] == [(30, MONEY)]
