"""Amounts that are not read, or that can be read in two ways: they are named, and no part of them is taken for a figure."""

import pytest

from pytest_mapsat.reading import CLOCK, TIMES, Vocabulary, lexicon_of, read

EURO = Vocabulary(currency="EUR")


def document_of(text, vocabulary=EURO):
    return read(text, language="en" if text.isascii() else "zh", lexicon=lexicon_of(()), vocabulary=vocabulary)


def figures_of(document):
    """The figures and times that are read in full."""
    return [document.words(one.span) for one in (*document.quantities, *document.times) if not one.unread]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("It is rated 8,7/10.", "8,7/10"),
        ("The walk takes 1 h 20.", "1 h 20"),
        ("The walk takes 1h 20m.", "1h 20m"),
        ("It clears 2 m 10.", "2 m 10"),
        ("It has 2.3k reviews.", "2.3k"),
        ("There were half a dozen tables.", "half a dozen"),
        ("Stay a fortnight.", "fortnight"),
        ("It is -3,5 °C.", "3,5 °C"),
        ("It costs 12,50 EUR.", "12,50 EUR"),
        ("It costs 1.250 EUR.", "1.250 EUR"),
        ("It costs 1.250,50 EUR.", "1.250,50 EUR"),
        ("It is 1 250 m away.", "1 250 m"),
        ("It costs EUR 1'250.50.", "EUR 1'250.50"),
        ("It costs EUR 1,00,000.", "EUR 1,00,000"),
        ("A scooter is 3.500 € a day.", "3.500 €"),
        ("Be there at half nine.", "half nine"),
        ("It leaves at 18:30 UTC.", "18:30"),
        ("It leaves at 18:30 EST.", "18:30"),
        ("It leaves at 18:30 London time.", "18:30"),
        ("It lands at 14:05 (UTC+08:00).", "14:05"),
        ("It is minus four degrees.", "minus four degrees"),
        ("It leaves at 7ish.", "7"),
        ("It costs three euros fifty.", "three euros fifty"),
        ("Two-thirds are taken.", "Two-thirds"),
        ("It costs XII euros.", "XII"),
        ("这趟要价1.2万元。", "1.2万元"),
        ("这套茶具两百五。", "两百五"),
        ("限高2米6左右。", "2米6"),
        ("来两块三明治。", "两块"),
        ("气温-5~3℃。", "5"),
        ("气温约-3℃。", "3℃"),
        ("两辆车58元×2，共117元。", "58元×2"),
        ("58元×2＝117元。", "58元×2"),
        ("The walk takes 8 + 49 min.", "8 + 49 min"),
        ("车差五分七点到。", "差五分七点"),
        ("今天打七五折。", "七五折"),
        ("It costs a fiver.", "fiver"),
        ("走路要十来分钟。", "十来分钟"),
        ("差二点五分。", "二点五分"),
        ("这份猪扒包〢〨元。", "〢〨"),
        ("座位1.8萬個。", "1.8萬"),
        ("图书馆九点缺一刻开门。", "九点缺一刻"),
        ("尾班船七点搭八开。", "七点搭八"),
        ("今夜冰点以下八度。", "冰点以下八度"),
        ("这家店开了两个甲子。", "甲子"),
        ("A mug saves you a toonie.", "toonie"),
        ("伦敦时间18:30到。", "18:30"),
        ("总价壹佰贰拾元。", "佰贰拾"),
        ("路上要twenty minutes。", "twenty"),
    ],
)
def test_no_part_of_an_amount_that_is_not_read_is_a_figure(text, amount):
    document = document_of(text)
    assert any(amount in document.words(unread.span) for unread in document.unread)
    assert not any(figure in amount for figure in figures_of(document))


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("It is 1.2 km, or 12 minutes, from here (EUR 1,250 in all).", ["1.2 km", "12 minutes", "1,250"]),
        ("It opens at 9:00 am and closes at half past ten, from 08:00 to 12:00.", None),
        ("Rated 4.6 stars. 2nd floor, line 2, exit B2.", ["4.6 stars"]),
        ("| Walk | 10-15 min |\n|---|---|\n| Price | 12 EUR |", ["10-15 min", "12 EUR"]),
        ("Parking costs 2 EUR an hour; that is a minute's walk.", None),
        ("步行12分钟800米，人均68元一位，晚上八点三刻关门。", ["12分钟", "800米", "68元", "晚上八点三刻"]),
        ("１８：３０到，要等一个半小时，门票1,280元。", None),
        ("预计18:30到，走7分钟 18:37回家，24小时营业，限高2.6米。", None),
        ("全程二点三公里，气温零下五度，夜里-12℃。", ["二点三公里", "零下五度", "-12℃"]),
        ("走两公里二的样子，限高2米6、两米一，人均三块五。", ["两公里二的样子", "2米6", "两米一", "三块五"]),
        ("58元×2＝116元，也就是116元（58元×2）。", ["58元", "116元", "116元", "58元"]),
        ("| Ride | Wait + drive |\n|---|---|\n| Eco | 8 + 49 min |", ["8", "49 min"]),
        ("| 车型 | 等车 / 路上 |\n|---|---|\n| 快车 | 4 / 18分钟 |", ["4", "18分钟"]),
        ("Entry is 40 and 45 EUR, a quarter of an hour's drive away.", ["40", "45 EUR", "a quarter of an hour"]),
        ("It has a Type 2 and a CCS2 plug.", None),
        ("It is -4 °C at night, or minus 3 degrees C.", ["-4 °C", "minus 3 degrees C"]),
    ],
)
def test_plain_notations_are_read_in_full(text, figures):
    document = document_of(text, Vocabulary(currency="EUR" if text.isascii() else "CNY"))
    assert [document.words(unread.span) for unread in document.unread if not unread.bare] == []
    assert figures is None or sorted(figures_of(document)) == sorted(figures)


def test_an_amount_in_another_language_is_not_read():
    document = read("The ride takes 十五分钟, they say.", language="en", lexicon=lexicon_of(()), vocabulary=EURO)
    assert document.quantities == ()
    assert document.words(document.unread[0].span).startswith("十")


def test_an_amount_tells_what_units_stand_in_it():
    (hour,) = document_of("The walk takes 1 h 20.").unread
    (time,) = document_of("It leaves at 18:30 EST.").unread
    (rated,) = document_of("It is rated 8,7/10.").unread
    (number,) = document_of("The price is 25 so far.").unread
    assert (hour.units, time.units, rated.units) == ({"min", CLOCK}, {CLOCK, "min"}, frozenset())
    assert (number.bare, hour.bare, rated.bare) == (True, False, False)
    (vague,), (multiple,) = document_of("十几分钟。").unread, document_of("贵三倍。").unread
    assert (vague.units, multiple.units) == ({"min"}, {TIMES})


def test_a_temperature_has_the_sign_before_it():
    def celsius(text):
        return [one.value for one in document_of(text).quantities if not one.unread]

    assert celsius("山上零下五度，夜里-12℃，白天3℃。") == [-5, -12, 3]
    assert celsius("It is -4 °C, then 12 °C.") == [-4, 12]
    assert celsius("12-20℃。") == [16]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("About 40 degrees at noon.", "en"),
        ("A drive of 2.30 hours.", "en"),
        ("车程2.30小时。", "zh"),
        ("可享30%的折扣。", "zh"),
        ("It knocks a third off the fare.", "en"),
        ("可以慳廿蚊。", "zh"),
    ],
)
def test_what_is_one_amount_here_and_another_elsewhere_is_not_read(text, language):
    assert read(text, language=language, lexicon=lexicon_of(())).unread


@pytest.mark.parametrize(
    "text", ["About 40 degrees Celsius at noon.", "A drive of 2.25 hours.", "On the third floor.", "A humidity of 30%."]
)
def test_what_can_be_one_amount_only_is_read(text):
    assert not read(text, language="en", lexicon=lexicon_of(())).unread
