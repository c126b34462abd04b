"""What the evidence says otherwise, or cannot have said, is found at its thing; what is not clear is left open."""

import pytest
from grounding_sandbox import STEPS, call, claims, of_verdict, verdicts, wrong

WRONG = [
    ("phone", "青石寺电话：0571-88001299"),
    ("phone", "半亩茶馆（东门店）的电话是0571-88001234"),
    ("phone", "Call Harbour Noodles on 555-0199."),
    ("time", "青石寺上午8点半开门，晚上8点关门"),
    ("time", "青石寺营业时间：10:00-22:30"),
    ("time", "Harbour Noodles is open until 11 pm"),
    ("address", "青石寺\n地址：柳桥路210号"),
    ("address", "Harbour Noodles, 81 Quay Road"),
]


NEVER_WRONG = [
    ("distance", "青石寺离这里1800米"),
    ("distance", "青石寺距离约1.2公里"),
    ("distance", "Harbour Noodles is 690 m from here"),
    ("distance", "青石寺离这里２．２公里"),
    ("distance", "青石寺在1公里以内"),
    ("distance", "开车去青石寺4.3公里"),
    ("distance", "半亩茶馆（东门店）距离1480米"),
    ("distance", "1. 青石寺\n- 距离：2150米"),
    ("rating", "青石寺，评分4.9"),
    ("rating", "Harbour Noodles is rated 4.2 stars"),
    ("coordinate", "青石寺的坐标是120.4500, 30.0100"),
]
UNBORNE = [
    ("duration", "开车到青石寺五十五分钟"),
    ("duration", "It is a 55 min walk to Harbour Noodles."),
    ("price", "半亩茶馆（东门店）人均888元"),
    ("price", "Harbour Noodles costs 77 yuan a head"),
]


@pytest.mark.parametrize(("sort", "reply"), WRONG)
def test_what_the_evidence_says_otherwise_is_found(sort, reply):
    assert {one[0] for one in wrong(reply)} == {sort}


@pytest.mark.parametrize(("sort", "reply"), NEVER_WRONG)
def test_distances_ratings_and_points_are_never_called_wrong(sort, reply):
    assert wrong(reply) == []
    assert sort in {one[0] for one in of_verdict(reply, "undecided")}


@pytest.mark.parametrize(("sort", "reply"), UNBORNE)
def test_durations_and_prices_that_nothing_bears_out_are_listed_and_not_called_wrong(sort, reply):
    assert wrong(reply) == []
    assert sort in {one[0] for one in of_verdict(reply, "unsupported")}


@pytest.mark.parametrize(
    ("sort", "words", "reply"),
    [
        ("duration", "16分钟", "步行到青石寺16分钟"),
        ("duration", "3-5 min", "Harbour Noodles is a 3-5 min drive"),
        ("address", "东门街7号", "青石寺在东门街7号"),
        ("line", "9号线", "坐9号线"),
        ("distance", "2150米", "那里离这儿2150米。"),
        ("distance", "1480米", "青石寺和半亩茶馆（东门店）都不远。1480米。"),
        ("price", "68元", "在半亩茶馆（东门店）旁边，青石寺门票68元。"),
    ],
)
def test_what_is_not_clear_is_left_open(sort, words, reply):
    assert (sort, words, "undecided") in verdicts(reply)


@pytest.mark.parametrize(
    ("reply", "invented"),
    [
        ("推荐：\n- 青石寺\n- 半亩茶馆（东门店）\n- 枫林公园", "枫林公园"),
        ("Try these:\n1. Harbour Noodles\n2. 青石寺\n3. Golden Lantern", "Golden Lantern"),
    ],
)
def test_a_name_among_known_ones_that_nothing_has_is_left_open(reply, invented):
    assert of_verdict(reply, "undecided") == [("name", invented)]


def test_a_list_of_other_things_invents_no_names():
    assert wrong("青石寺的特点：\n- 环境安静\n- 停车方便\n- 适合拍照") == []


def test_without_any_evidence_a_telephone_number_is_wrong_and_a_duration_is_listed():
    reply = "枫林公园：开车20分钟，评分4.8分，电话0571-12345678。"
    assert {sort for sort, _ in wrong(reply, steps=(), visible=None)} == {"phone"}
    assert {sort for sort, _ in of_verdict(reply, "unsupported", steps=(), visible=None)} == {"duration", "phone"}


def test_a_result_that_nothing_declares_leaves_open_what_it_may_say():
    steps = (*STEPS, call("web_search", {"pages": ["..."]}))
    reply = "柳桥停车场电话：0571-99990000"
    assert of_verdict(reply, "unsupported") == [("phone", "0571-99990000")]
    assert of_verdict(reply, "unsupported", steps=steps) == []


def test_a_contradiction_quotes_what_the_evidence_has():
    (claim,) = [one for one in claims("青石寺晚上8点关门") if one.verdict == "contradicted"]
    assert claim.evidence == ("08:30-17:00 (search_poi)",)


NOTHING = [
    "要不要我帮你看看步行10分钟内的餐厅？",
    "我可以帮你：\n- 找300米内的酒店\n- 看看听雨茶楼的电话",
    "如果你愿意，我还可以给你推荐3个地方。",
    "Would you like me to look for a hotel within 500 m?",
    "I can also look for Golden Lantern Restaurant, 2 km away.",
    "先休息一下，再慢慢逛。祝你玩得开心！",
    "这家店环境安静，适合坐一会儿，人也不多。",
    "附近有地铁站、公交站和停车场，吃饭也方便。",
    "Good choice! It is quiet, and children are welcome.",
    "Please tell me when you want to leave.",
    "建议上午十点出发，不走高速。",
    "Monday is the best day to visit.",
]


@pytest.mark.parametrize("reply", NOTHING)
def test_questions_offers_plans_and_opinions_are_not_blamed(reply):
    assert wrong(reply) == []
