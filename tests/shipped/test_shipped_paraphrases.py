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
    (
        "search-late-bite",
        "Moonrise Noodles on Gull Lane still cooks until 3 am and has vegan dishes, a 9 minute walk. Lantern Grill is closed already.",
    ),
    ("search-late-bite", "All-Hours Diner, 95 Mill Rise, never closes and lists vegan dishes."),
    ("search-all-closed", "很抱歉，这个点附近的药店都打烊了。最早的是晨光药房，6点半开门，在石桥街77号。"),
    ("search-work-cafe", "可以去柳巷的雨巷咖啡，插座够用，开到晚上九点半，人均28元左右。"),
    (
        "local-birthday-six",
        "Anchor Kitchen on Lantern Street seats eight at one table. It is 85 yuan per person. The six of you pay 510 yuan.",
    ),
    ("local-birthday-six", "I would book Cobbler's Table, 9 Orchard Way. It is 88 yuan a head, 528 yuan in total."),
    (
        "local-ebike-repair",
        "Volt Wheels at 60 Mill Rise can do it today, they know e-bikes. Harbour Cycles is fully booked for three days.",
    ),
    ("local-car-wash-moved", "望潮洗车开到晚上九点，来得及。晚上有夜间快洗，32块，开车过去6分钟左右。"),
    (
        "nav-low-bridge",
        "With the roof box you had better drive by Orchard Way: 15 minutes. Park at Nursery Field, it has no roof.",
    ),
    (
        "nav-no-stairs-walk",
        "Take Chapel Path, a 14 minute walk without any steps. Signal Stair is shorter but has stairs.",
    ),
    ("nav-two-bookshops", "骑车去柳巷那家云栖书店，大概11分钟，五点多就能到。"),
    ("nav-toll-or-late", "开车走滨江隧道吧，41分钟，过路费5元，18:36能到。不收费的砚北路要56分钟，来不及。"),
    ("nav-toll-or-late", "开车走环海高速最快，31分钟，过路费15元，18:26左右到。"),
    (
        "itinerary-errands-order",
        "Start with Harbour Post at 14:40, go on to Seagrass Library at 15:11, and finish at Crumb Bakery at 15:42. You will be back at 16:16.",
    ),
    (
        "itinerary-dog-afternoon",
        "Dogs are welcome at both: Fern Garden from 13:10 to 14:30, then Old Dockyard until 16:00. You are back by 16:30.",
    ),
    (
        "itinerary-parents-tickets",
        "先去石桥书院看古建（13:40到15:00），再去北山碑林看石刻（15:20到16:30），三个人门票合计165元，17:00前回到石桥街东口。",
    ),
    (
        "realtime-line-suspended",
        "Trams do not run at the moment, the Green Line is suspended until 2 pm because of track works. Bus 41 at 12:31 takes you to Fernhill Park in 22 minutes.",
    ),
    ("realtime-next-bus", "Bus 7 at 9:12 am, 3 yuan. It needs 13 minutes."),
    ("realtime-parking-full", "建议停砚湖路停车楼，在砚湖路80号，全天开放，还剩35个空位。剧院地下停车场已满。"),
    ("realtime-last-metro", "来不及了，走到地铁站就要9分钟，末班22:46开。建议坐夜班公交N3，23:05发车，2元。"),
    ("ride-wheelchair", "The Access Van has a ramp and costs 36 yuan. You wait 9 minutes and arrive at 10:09."),
    (
        "ride-one-minute-late",
        "The Compact for 52 yuan gets you there at 13:39. The Eco is cheaper but not an option, it arrives too late.",
    ),
    ("ride-per-head", "叫快车最省钱，一共42元，平摊每人14元，等5分钟。"),
    ("ride-seven-people", "一辆坐不下，请分乘两辆快车，每辆58元，合计116元。"),
    ("ride-seven-people", "得叫两辆：一辆六座商务车加一辆快车，合计154元。"),
    ("ride-alone", "叫快车就行，21元，3分钟就到。"),
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
    ("search-late-bite", "Lantern Grill, 7 Lantern Street, has vegan dishes.", "open-now"),
    ("search-late-bite", "Pepper Dock on Quay Road is open until 02:00.", "vegan"),
    ("search-late-bite", "Moonrise Noodles on Gull Lane is open until 04:00.", "closing"),
    ("search-all-closed", "砚湖大药房还开着，步行5分钟。", "first-to-open"),
    ("search-all-closed", "附近的药店都关门了。最早开门的是晨光药房，07:30开门。", "when"),
    ("search-work-cafe", "推荐竹影咖啡，有插座。", "open-till-eight"),
    ("search-work-cafe", "推荐石阶咖啡，营业到22:00。", "socket"),
    ("local-birthday-six", "Go to Brine & Barley, 85 yuan a head.", "table"),
    ("local-birthday-six", "Go to Harvest Loft, 80 yuan a head.", "serving"),
    ("local-birthday-six", "Anchor Kitchen is 58 yuan a head.", "price"),
    ("local-ebike-repair", "Spoke & Chain on Signal Hill is open until 18:00.", "e-bike"),
    ("local-ebike-repair", "Pedal Barn on Orchard Way mends e-bikes.", "open"),
    ("local-car-wash-moved", "清溪洗车开到20:00，普洗25元。", "right-shop"),
    ("local-car-wash-moved", "望潮洗车开到21:00，午后精洗28元。", "valid-deal"),
    ("nav-low-bridge", "Drive by Tannery Road, 12 min.", "fits"),
    ("nav-low-bridge", "Take the bus, it is 28 min.", "drives"),
    ("nav-no-stairs-walk", "Walk by Signal Stair, 10 min.", "no-steps"),
    ("nav-no-stairs-walk", "Walk by Chapel Path, it is 4 min.", "way-time"),
    ("nav-two-bookshops", "骑车去望潮路的云栖书店，9分钟。", "right-branch"),
    ("nav-toll-or-late", "请走砚北路，不收费，56分钟，18:51左右到。", "catches-plane"),
    (
        "itinerary-errands-order",
        "Crumb Bakery at 14:50, Seagrass Library at 15:20, Harbour Post at 15:50, back at 16:30.",
        "post-first",
    ),
    (
        "itinerary-errands-order",
        "Harbour Post at 14:40, Crumb Bakery at 15:10, Seagrass Library at 15:40, back at 16:30.",
        "bakery-open",
    ),
    ("itinerary-dog-afternoon", "13:00 Glass Palace, 15:00 Old Dockyard, back at 16:40.", "dog"),
    ("itinerary-dog-afternoon", "13:00 Fern Garden, 15:00 Old Dockyard, back at 17:40.", "back-in-time"),
    ("itinerary-parents-tickets", "13:40石桥书院，15:30望海阁，17:00回到石桥街东口。", "within-total"),
    ("itinerary-parents-tickets", "13:40北山碑林，15:30砚石博览馆，17:00回到石桥街东口。", "within-total"),
    ("realtime-line-suspended", "Take the Green Line at 12:31 to Fernhill Park, 14 min.", "runs-now"),
    ("realtime-next-bus", "Take Bus 7 at 09:02.", "still-to-come"),
    ("realtime-parking-full", "停剧院地下停车场，砚湖路62号。", "free"),
    ("realtime-parking-full", "停湖滨停车场，砚湖路45号，有12个空位。", "open-after"),
    ("realtime-last-metro", "赶得上，请乘22:46的地铁2号线。", "no-metro"),
    ("realtime-last-metro", "赶不上地铁了，请乘22:44的夜班公交N3。", "reachable"),
    ("ride-wheelchair", "Take the Comfort for 27 yuan.", "ramp"),
    ("ride-wheelchair", "Take the Ramp Shuttle for 31 yuan.", "in-time"),
    ("ride-one-minute-late", "Take the Eco for 44 yuan.", "in-time"),
    ("ride-one-minute-late", "Take the Premium for 88 yuan.", "least"),
    ("ride-per-head", "拼车最省钱，只要19元。", "whole-price"),
    ("ride-per-head", "叫双座小车，30元。", "seats"),
    ("ride-seven-people", "叫六座商务车，96元。", "seats"),
    ("ride-alone", "叫尊享车，62元。", "limit"),
]


@pytest.mark.parametrize(("name", "say"), GOOD)
def test_a_good_answer_in_other_words_never_fails(name, say):
    card = retold(name, say)
    explicit = {requirement.id for requirement in CASES[name].truth.asked}
    assert card.outcome != "failed", card.reason
    assert not failed(card) & explicit, failed(card)


@pytest.mark.parametrize(("name", "say", "requirement"), BAD)
def test_an_answer_with_one_thing_wrong_never_passes(name, say, requirement):
    card = retold(name, say)
    assert card.outcome != "passed"
    assert requirement not in {label.requirement for label in card.labels if label.outcome == "passed"}


def test_most_answers_are_decided():
    good = [retold(name, say).outcome for name, say in GOOD]
    bad = [requirement in failed(retold(name, say)) for name, say, requirement in BAD]
    assert good.count("passed") >= 0.6 * len(good)
    assert bad.count(True) >= 0.6 * len(bad)


def test_every_case_whose_prose_is_read_is_told_well_and_badly():
    read = {name for name, case in CASES.items() if not all(need.machine_sure for need in case.truth.requirements)}
    assert {name for name, _ in GOOD} == read == {name for name, *_ in BAD}
    assert len(read) == 38
