"""What the evidence does not say, or says otherwise, is found, each claim at its thing."""

import pytest
from grounding_world import wrong

WRONG = [
    ("distance", "青石寺离这里1800米"),
    ("distance", "青石寺距离约1.2公里"),
    ("distance", "Harbour Noodles is 690 m from here"),
    ("distance", "青石寺离这里２．２公里"),
    ("distance", "青石寺在1公里以内"),
    ("distance", "开车去青石寺4.3公里"),
    ("distance", "半亩茶馆（东门店）距离1480米"),
    ("distance", "1. 青石寺\n- 距离：2150米"),
    ("duration", "开车到青石寺35分钟"),
    ("duration", "步行到青石寺16分钟"),
    ("duration", "开车到青石寺二十五分钟"),
    ("duration", "It is a 20 min walk to Harbour Noodles."),
    ("duration", "Harbour Noodles is a 3-5 min drive"),
    ("price", "半亩茶馆（东门店）人均88元"),
    ("price", "Harbour Noodles costs about 60 yuan a head"),
    ("price", "- 单间：1200-2000\n- 一房一厅：2200-3500"),
    ("rating", "青石寺，评分4.9"),
    ("rating", "Harbour Noodles is rated 4.2 stars"),
    ("phone", "青石寺电话：0571-88001299"),
    ("phone", "半亩茶馆（东门店）的电话是0571-88001234"),
    ("phone", "Call Harbour Noodles on 555-0199."),
    ("time", "青石寺上午8点半开门，晚上8点关门"),
    ("time", "青石寺营业时间：10:00-22:30"),
    ("time", "Harbour Noodles is open until 11 pm"),
    ("time", "青石寺24小时营业"),
    ("address", "青石寺\n地址：柳桥路210号"),
    ("address", "Harbour Noodles, 81 Quay Road"),
    ("address", "青石寺在东门街7号"),
    ("name", "附近还有枫林公园"),
    ("name", "旁边的听雨茶楼也不错"),
    ("name", "You could also try the Golden Lantern Restaurant nearby."),
    ("name", "涿溪附近也有几家"),
    ("name", "可以住雅客酒店（湖滨店）"),
    ("line", "坐9号线"),
    ("line", "Take bus 77."),
    ("count", "开车去青石寺要过12个红绿灯"),
    ("coordinate", "青石寺的坐标是120.4500, 30.0100"),
]


@pytest.mark.parametrize(("kind", "reply"), WRONG)
def test_what_the_evidence_does_not_say_is_found(kind, reply):
    assert kind in {one[0] for one in wrong(reply)}


@pytest.mark.parametrize(("kind", "reply"), WRONG)
def test_nothing_else_in_such_a_reply_is_blamed(kind, reply):
    assert {one[0] for one in wrong(reply)} <= {kind}


def test_without_any_evidence_every_claim_is_an_invention():
    reply = "枫林公园离这里300米，评分4.8，电话0571-12345678。"
    assert {kind for kind, _ in wrong(reply, steps=(), visible=None)} == {"name", "distance", "rating", "phone"}


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
def test_questions_offers_plans_and_opinions_claim_nothing(reply):
    assert wrong(reply) == []
