"""Names in full, shortened, of namesakes, and what only looks like one."""

import pytest
from reading_help import reading

from pytest_mapsat.reading import Lexicon, Thing

BRANCHES = Lexicon(
    [
        Thing("mill", ("Copper Pot (Mill Lane)",), marks=("12 Mill Lane",)),
        Thing("quay", ("Copper Pot (Long Quay)",), marks=("8 Long Quay",)),
    ]
)
FILIALEN = Lexicon(
    [
        Thing("东", ("青禾书店（东湖店）",), marks=("东湖路3号",)),
        Thing("西", ("青禾书店（西山店）",), marks=("西山街9号",)),
    ]
)


def found(text, lexicon=None):
    document = reading(text, lexicon=lexicon)
    return [(document.words(mention.span), "|".join(mention.keys), mention.form) for mention in document.mentions]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Go to the Kiln.", [("Kiln", "kiln", "short")]),
        ("Go to Old Kiln.", [("Old Kiln", "kiln", "full")]),
        ("Go to AMBER HALL.", [("AMBER HALL", "amber", "full")]),
        ("Amber Hall's door", [("Amber Hall", "amber", "full")]),
        ("Go to Dunlin first.", [("Dunlin", "dunlin", "short")]),
        ("Then the garage.", [("garage", "cedar", "short")]),
        ("Go to **Amber** Hall.", [("Amber** Hall", "amber", "full")]),
        ("amber\nhall it is", [("amber\nhall", "amber", "full")]),
        ("去云溪喝茶。", [("云溪", "云溪茶社", "short")]),
        ("先到茶社，再去书局。", [("茶社", "云溪茶社", "short"), ("书局", "听松书局", "short")]),
        ("去云 溪 茶 社。", [("云 溪 茶 社", "云溪茶社", "full")]),
    ],
)
def test_a_name_is_found_in_the_forms_that_people_use(text, wanted):
    assert found(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Meet at 9 Amber Lane.",
        "a garage nearby",
        "Ask any garage.",
        "an amber light",
        "at 12 Market Square",
        "云溪路12号",
        "附近的茶社很多",
        "听松涛声",
    ],
)
def test_words_of_a_name_in_another_sense_are_no_name(text):
    assert [mention for mention in found(text) if mention[2] != "full"] == []
    assert "square" not in [key for _, key, _ in found(text)]


def test_a_name_that_two_branches_share_keeps_both_keys():
    assert found("Go to Copper Pot.", BRANCHES) == [("Copper Pot", "mill|quay", "full")]


@pytest.mark.parametrize(
    ("text", "lexicon", "key"),
    [
        ("Go to Copper Pot at 8 Long Quay.", BRANCHES, "quay"),
        ("Go to the Copper Pot on Mill Lane.", BRANCHES, "mill"),
        ("去东湖的青禾书店。", FILIALEN, "东"),
        ("去青禾书店，地址是西山街9号。", FILIALEN, "西"),
    ],
)
def test_an_address_or_a_branch_tells_namesakes_apart(text, lexicon, key):
    assert [one[1] for one in found(text, lexicon)][-1] == key


def test_a_longer_name_hides_the_shorter_one_inside_it():
    lexicon = Lexicon([Thing("park", ("Larch Park",)), Thing("hotel", ("Larch Park Hotel",))])
    assert found("Stay at Larch Park Hotel.", lexicon) == [("Larch Park Hotel", "hotel", "full")]
