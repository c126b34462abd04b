"""A good answer in other words passes; an answer with one thing wrong fails by the name of that thing.

The calls are the oracle's; only the last words differ.
"""

import pytest
from shipped_runs import CASES, failed, retold

GOOD = [
    (
        "search-pharmacy-late",
        "Gull Lane Pharmacy is closer but it is already closed. Walk to Beacon Chemist on Lantern Street instead: 18 minutes, 1.3 km, open till 11 pm.",
    ),
    (
        "search-pharmacy-late",
        "The nearest pharmacy still open is Beacon Chemist. It's about 1.3 km, roughly an 18-minute walk. Phone: 555-0103.",
    ),
    (
        "search-charger-connector",
        "建议开到石桥街52号的石桥快充站，约6分钟车程。国标直流快充，120kW，目前空闲3个桩。望潮充电站虽然更近，但只有CCS2，插不上。",
    ),
    (
        "search-twin-tearooms",
        "It takes 11 minutes to cycle to the Copper Kettle on Orchard Way, about 2.5 km, so you would get there around 3:20 pm.",
    ),
    (
        "nav-van-headroom",
        (
            "Drive by Mill Rise to avoid the toll; the drive takes about 21 minutes. Museum Deck and Quay Deck are too low for a 2.6 m van, "
            "so leave it at Signal Field. It is a 7 minute walk to the museum."
        ),
    ),
    ("nav-museum-by-car", "今天是周一，博物馆不开门。要去的话，开车经砚湖大道大约15分钟，比老城路快。"),
    (
        "itinerary-rain-stroller",
        (
            "Since it is wet outside, stay under a roof: 12:30 Clay & Colour Studio, then from 2:30 pm the Harbour Aquarium. "
            "Both are fine with a stroller. You will be back at Larkhaven Central by 5 pm."
        ),
    ),
    (
        "itinerary-grandma-wheelchair",
        "先去梨园戏曲茶馆听戏（13:20到15:30），再去砚湖花圃赏花（15:50到16:40）。望海塔有台阶就不去了。下午5点前回到家。",
    ),
    (
        "itinerary-tomorrow-rain",
        "明早要下雨，建议室内：先去小小科学馆（9:10到10:20），再去泡泡陶艺屋（10:30到11:20）。11:30可以到家。开车往返。",
    ),
    (
        "realtime-last-train",
        "Unfortunately the last Coast Line train left at 23:20. Your best option is the night bus N4 at 11:50 pm, a 31 minute ride for 6 yuan.",
    ),
    ("realtime-last-train", "There are no more trains tonight. The N4 leaves at 23:50."),
    (
        "realtime-bridge-closed",
        "不建议走跨江桥，桥面施工封闭，22:00才恢复。走滨江隧道，开车28分钟，过路费5元，18:50前能到。",
    ),
    (
        "realtime-bridge-closed",
        "路不通：跨江桥因施工封闭。改走滨江隧道，约28分钟，18:48到站，赶得上。上游渡口要50分钟，来不及。",
    ),
    (
        "realtime-lift-out",
        "The lift at Library Underground is broken, so leave the Green Line tram one stop earlier, at Market Square. The next tram goes at 10:12.",
    ),
    (
        "ride-five-suitcases",
        "I'd go for the Cargo Van at 90 yuan. The Family Six has six seats but only 3 bags fit, which is too few.",
    ),
    ("ride-child-seat", "推荐亲子车，39元，带儿童座椅，等待约6分钟。快车便宜些，但没有儿童座椅。"),
    (
        "local-dinner-allergy",
        "Try The Plain Fork on Gull Lane. Saffron Quay is nearer, but it cooks with nuts. Dinner is around 95 yuan per person, a 5 minute walk away.",
    ),
    ("local-usual-barber", "可以去，阿衡理发店开到晚上九点。这会儿用晚间洗剪最划算，36元。走过去8分钟。"),
    (
        "local-hotpot-seafood",
        "可以去南坪大道的牛九火锅，人均85元左右，等位15分钟上下。渔湾火锅的锅底都是海鲜，不适合您。",
    ),
]
BAD = [
    ("search-pharmacy-late", "Go to Gull Lane Pharmacy, a 6 min walk, 410 m.", "open-now"),
    ("search-pharmacy-late", "Beacon Chemist is an 11 min walk away.", "walk-time"),
    ("search-charger-connector", "推荐望潮充电站，功率180千瓦，开车5分钟。", "connector"),
    ("search-charger-connector", "推荐南坪充电站，开车9分钟。", "free-stall"),
    ("search-twin-tearooms", "By bike it is 11 min to the Copper Kettle in Quay Road.", "right-branch"),
    ("nav-van-headroom", "Take Mill Rise, a 21 min drive, and park at Museum Deck.", "headroom"),
    ("nav-museum-by-car", "开车走砚湖大道15分钟，6.19公里。", "closed-day"),
    ("nav-museum-by-car", "周一闭馆。坐公交过去29分钟。", "drives"),
    ("itinerary-rain-stroller", "From 12:30 Botanic Terraces, then Harbour Aquarium, back at 17:00.", "dry"),
    (
        "itinerary-rain-stroller",
        "From 12:30 Clay & Colour Studio, then Harbour Aquarium, back at 18:30.",
        "back-in-time",
    ),
    ("itinerary-grandma-wheelchair", "14:00望海塔，15:30梨园戏曲茶馆，17:00到家。", "wheelchair"),
    ("itinerary-grandma-wheelchair", "14:00梨园戏曲茶馆，16:30砚湖花圃，18:00到家。", "home-in-time"),
    ("itinerary-tomorrow-rain", "9:00滨江风筝场，10:30小小科学馆，11:40到家。", "dry"),
    ("itinerary-tomorrow-rain", "9:00木偶剧场，10:30小小科学馆，11:40到家。", "open-in-morning"),
    ("realtime-last-train", "Take the Coast Line at 23:50, it takes 16 min.", "leaves-after-now"),
    ("realtime-bridge-closed", "请走跨江桥，19分钟。", "not-closed"),
    ("realtime-bridge-closed", "跨江桥封闭，请绕行上游渡口，50分钟。", "catches-train"),
    ("realtime-lift-out", "Take the Green Line at 10:12 and get off at Library Underground.", "working-way-out"),
    ("ride-five-suitcases", "Take the Family Six for 68 yuan.", "bags"),
    ("ride-five-suitcases", "Take the Cargo Van, the fare is 60 yuan.", "fare"),
    ("ride-child-seat", "建议叫快车，23元，等2分钟。", "child-seat"),
    ("local-dinner-allergy", "Saffron Quay on Quay Road, 90 yuan a head.", "no-nuts"),
    ("local-dinner-allergy", "Net & Needle on Quay Road, 70 yuan a head.", "serving"),
    ("local-usual-barber", "云剪造型营业到22:00，会员剪发68元。", "right-shop"),
    ("local-usual-barber", "阿衡理发店营业到21:00，有午间剪发，28元。", "valid-deal"),
    ("local-hotpot-seafood", "推荐渔湾火锅，人均92元，步行6分钟。", "no-seafood"),
    ("local-hotpot-seafood", "推荐老柴火锅，人均78元。", "gets-a-table"),
]


@pytest.mark.parametrize(("name", "say"), GOOD)
def test_a_good_answer_in_other_words_passes(name, say):
    card = retold(name, say)
    explicit = {factor.id for factor in CASES[name].truth.explicit}
    assert card.outcome == "passed", card.reason
    assert not failed(card) & explicit, failed(card)
    assert card.ar >= 0.5


@pytest.mark.parametrize(("name", "say", "factor"), BAD)
def test_an_answer_with_one_thing_wrong_fails_by_its_name(name, say, factor):
    card = retold(name, say)
    assert card.outcome == "failed"
    assert factor in failed(card)


def test_every_case_is_told_well_and_badly():
    assert {name for name, _ in GOOD} == set(CASES) == {name for name, *_ in BAD}
