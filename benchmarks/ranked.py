"""Measure the ranked search: ``python -m benchmarks.ranked --cities 1 --each 150000``.

A town of made-up merchants is written, its index built, and queries asked whose right answers follow from the fields. Told are the time and the size of the
index, the time of a call, the memory of the process and NDCG@10, for queries in the fields' own words and in words that are declared to mean the same.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import statistics
import tempfile
import time
from pathlib import Path

KINDS = {
    "noodle bar": ("面馆", "noodle place", "noodles"),
    "hot pot": ("火锅", "hotpot", "steamboat"),
    "tea house": ("茶馆", "tearoom", "teahouse"),
    "coffee shop": ("咖啡店", "cafe", "espresso bar"),
    "bookshop": ("书店", "bookstore", "book store"),
    "hair salon": ("美发店", "hairdresser", "barber"),
    "dental clinic": ("牙科诊所", "dentist", "dental surgery"),
    "city hotel": ("酒店", "inn", "guest house"),
    "theatre": ("剧院", "playhouse", "theater"),
    "bakery": ("面包店", "pastry shop", "bread shop"),
}
TAGS = {
    "quiet": ("安静", "peaceful"), "spicy": ("香辣", "hot and spicy"), "family friendly": ("适合家庭", "good for kids"), "late night": ("深夜营业", "open late"),
    "outdoor seating": ("露天座位", "terrace"), "live music": ("现场音乐", "live band"), "vegetarian": ("素食", "meat free"), "pet friendly": ("可带宠物", "dogs welcome"),
}  # fmt: skip
DISTRICTS = ("Rowan", "Old Harbour", "Mill Hill", "Lantern Quarter", "North Quay", "Juniper Park")
LANDMARKS = tuple(f"{first} {second}" for first in ("Rowan", "Copper", "Amber", "Gull", "Willow", "Signal", "Marble", "Hazel") for second in ("Square", "Tower", "Bridge", "Station"))  # fmt: skip
HAN_DISTRICTS = ("云桥区", "老港区", "磨坊区", "灯笼区", "北码头区", "杜松区")
HAN_LANDMARKS = tuple(f"{first}{second}" for first in ("花楸", "铜铃", "琥珀", "海鸥", "垂柳", "信号", "云石", "榛林") for second in ("广场", "塔", "桥", "车站"))  # fmt: skip
FIRST = ("Golden", "Quiet", "Amber", "Silver", "Blue", "Little", "Old", "Lucky", "Happy", "Red")
SECOND = ("Lantern", "Swallow", "Pine", "Maple", "River", "Moon", "Harvest", "Cloud", "Orchid", "Fox")
HAN_NAMES = "云山海月星风花林竹松梅兰清明和静远安福喜乐金玉宝春夏秋冬"
HOURS = (*(f"{start:02}:{half}-{end:02}:00" for start in range(6, 12) for half in ("00", "30") for end in (18, 20, 21, 22, 23, 24)), "18:00-02:00", "00:00-24:00", "by appointment")  # fmt: skip
TOOL = {
    "name": "search",
    "description": "Find merchants.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}, "city": {"type": "string"}, "min_rating": {"type": "number"}}},
    "answer": {
        "kind": "ranked",
        "table": "merchants",
        "id": "poi_id",
        "part": "city",
        "text": "query",
        "words": "synonyms",
        "where": {"min_rating": {"op": "least", "column": "rating"}},
        "items": "merchants",
        "fields": {
            "name": "name", "category": "word", "subcategory": "word", "district": "word", "landmark": "word", "tags": "words", "facilities": "words",
            "rating": {"holds": "figure", "role": "rating"}, "avg_price": {"holds": "figure", "role": "per_head"}, "review_count": {"holds": "figure", "role": "count"},
            "delivery_fee": {"holds": "figure", "role": "fee"}, "business_hours": "hours", "description": "text", "address": "text",
        },
    },
}  # fmt: skip


def merchants(seed: int, city: int, each: int):
    """Yield the merchants of one city, every second one in Chinese."""
    chance = random.Random(f"{seed} {city}")
    names = f"Larkhaven {chr(65 + city)}"
    kinds, tags = list(KINDS), list(TAGS)
    for number in range(each):
        han = number % 2
        kind = chance.choice(kinds)
        own = chance.sample(tags, 3)
        place = chance.randrange(len(DISTRICTS)), chance.randrange(len(LANDMARKS))
        district, landmark = (
            (HAN_DISTRICTS[place[0]], HAN_LANDMARKS[place[1]]) if han else (DISTRICTS[place[0]], LANDMARKS[place[1]])
        )
        told, liar = KINDS[kind][0] if han else kind, chance.choice(tags)
        own = [TAGS[tag][0] for tag in own] if han else own
        name = (
            "".join(chance.choices(HAN_NAMES, k=4)) + told
            if han
            else f"{chance.choice(FIRST)} {chance.choice(SECOND)} {number % 997}"
        )
        promise = TAGS[liar][0] if han else liar
        price = chance.randrange(15, 260)
        yield {
            "poi_id": f"M{city}-{number * 7919 % 1000003:07}", "name": name, "category": "生活" if han else "life", "subcategory": told,
            "description": (f"{name}位于{landmark}附近，主打{told}，环境宜人，{promise}，是朋友聚会的好去处，" + "".join(chance.choices(HAN_NAMES, k=40)) + "。") if han
            else f"{name} near {landmark} is known for its {told}; {promise} they say, and {' '.join(chance.choices(FIRST + SECOND, k=18)).lower()}.",
            "address": f"{district}{landmark}路{number % 300}号" if han else f"{number % 300} {landmark} Road, {district}", "city": names,
            "district": district, "business_area": district, "landmark": landmark, "business_hours": chance.choice(HOURS), "price_range": f"{price // 2}-{price * 2}",
            "avg_price": price, "rating": chance.randrange(30, 51) / 10, "review_count": chance.randrange(10_000), "tags": own,
            "facilities": chance.sample(("wifi", "parking", "card payment", "lift"), 2), "phone": f"{number % 10**8:08}", "mobile": f"1{number:010}",
            "email": f"m{number}@shop.example", "latitude": 31.2, "longitude": 121.4, "delivery_available": chance.random() < 0.5, "delivery_range": 3.0,
            "delivery_fee": chance.randrange(12), "min_order_amount": 20, "promotions": ["10% off on Mondays"],
            "products": [{"name": f"{told} {size}", "price": price + size, "description": "made to order"} for size in (1, 2)],
            "group_deals": [{"title": "set for two", "price": price * 2, "description": "for two", "discount": 0.8}],
        }  # fmt: skip


def queries(seed: int, count: int, *, own: bool):
    """Yield texts and the fields that a right merchant has; ``own``: in the fields' own words."""
    chance = random.Random(f"queries {seed} {own}")
    for number in range(count):
        han = number % 2
        kind, tag, place = chance.choice(list(KINDS)), chance.choice(list(TAGS)), chance.randrange(len(LANDMARKS))
        rating, price, hour = (
            chance.randrange(38, 47) / 10,
            chance.randrange(40, 120, 5),
            chance.choice((8, 17, 19, 22)),
        )
        wants = {
            "subcategory": KINDS[kind][0] if han else kind,
            "landmark": (HAN_LANDMARKS if han else LANDMARKS)[place],
        }
        said_kind = wants["subcategory"] if own else chance.choice(KINDS[kind][1:])
        said_tag = (TAGS[tag][0] if han else tag) if own else TAGS[tag][1]
        if han:
            text = f"{wants['landmark']}附近的{said_kind}，评分{rating}以上，人均{price}元以内"
            text += chance.choice(("", f"，{hour}点还营业"))
        else:
            text = (
                f"Find me a {said_kind} near {wants['landmark']} rated {rating} or better, at most {price} yuan a head"
            )
            text += chance.choice(("", f", open at {hour}:00"))
        late = "营业" in text or "open at" in text
        tagged = chance.random() < 0.4
        if tagged:
            text = f"{text}，{said_tag}" if han else f"{text}, {said_tag}"
            wants["tags"] = TAGS[tag][0] if han else tag
        yield text, wants, rating, price, hour if late else None


def right(row, wants, rating, price, hour):
    """Return whether a merchant is what a query asks for."""
    from pytest_mapsat.model import open_at

    return (
        all(value in row[column] if column == "tags" else row[column] == value for column, value in wants.items())
        and row["rating"] >= rating
        and row["avg_price"] <= price
        and (hour is None or open_at(row["business_hours"], f"{hour:02}:00") is True)
    )


def ndcg(ids, relevant, at=10):
    """Return NDCG@10 of an order, None where nothing is right."""
    if not relevant:
        return None
    gain = sum(1 / math.log2(place + 2) for place, id_ in enumerate(ids[:at]) if id_ in relevant)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(at, len(relevant))))


def suite_of(folder: Path, seed: int, cities: int, each: int):
    """Write a suite of merchants, and return its folder."""
    for sub in ("tools", "state"):
        (folder / sub).mkdir(parents=True)
    (folder / "suite.yaml").write_text(
        "name: s\nversion: '1'\nlicense: MIT\nschema_version: 1\nlanguage: en\ndomains: {d: d}\ncoordinates: wgs84\n"
    )
    (folder / "tools/tools.yaml").write_text(json.dumps([TOOL]))
    with (folder / "state/merchants.jsonl").open("w") as file:
        for city in range(cities):
            for row in merchants(seed, city, each):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    groups = [{"sort": kind, "words": list(words)} for kind, words in KINDS.items()]
    groups += [{"sort": tag, "words": list(words)} for tag, words in TAGS.items()]
    (folder / "state/synonyms.jsonl").write_text("\n".join(json.dumps(group, ensure_ascii=False) for group in groups))
    return folder


def main() -> None:
    """Measure, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cities", type=int, default=1)
    parser.add_argument("--each", type=int, default=150_000)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["MAPSAT_CACHE_DIR"] = f"{name}/cache"
        folder = suite_of(Path(name) / "suite", options.seed, options.cities, options.each)
        if not (child := os.fork()):
            _measure(folder, options)
            os._exit(0)
        os.waitpid(child, 0)


def _measure(folder: Path, options: argparse.Namespace) -> None:
    from pytest_mapsat.sandbox import Ranker
    from pytest_mapsat.suite import open_suite

    start = time.process_time()
    suite = open_suite(folder)
    ranker = Ranker(suite, "search")
    opened = time.process_time() - start
    for part in ranker.parts:
        ranker.rank("anything", part)
    built = time.process_time() - start
    size = sum(file.stat().st_size for file in Path(os.environ["MAPSAT_CACHE_DIR"]).rglob("*") if file.is_file())
    print(
        f"{options.cities} x {options.each}: opened {opened:.1f} s, indexed {built:.1f} s, {size / 1e6:.1f} MB on disk"
    )
    again = time.perf_counter()
    open_suite(folder)
    print(f"opened again in {time.perf_counter() - again:.2f} s")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = list(merchants(options.seed, 0, options.each)) if options.each <= 150_000 else []
    for own in (True, False):
        gains, times = [], []
        for text, *wants in queries(options.seed, options.queries, own=own):
            start_at = time.perf_counter()
            ids = ranker.rank(text, ranker.parts[0])
            times.append((time.perf_counter() - start_at) * 1000)
            gain = ndcg(ids, {row["poi_id"] for row in rows if right(row, *wants)})
            gains += [] if gain is None else [gain]
        times.sort()
        words = "the fields' own words" if own else "declared synonyms"
        mean = f"{statistics.mean(gains):.3f} of {len(gains)}" if gains else "-"
        print(
            f"{words}: NDCG@10 {mean}; a call {statistics.median(times):.1f} ms, p95 {times[int(len(times) * 0.95)]:.1f} ms"
        )
    print(f"memory at most {memory:.0f} MB")


if __name__ == "__main__":
    main()
