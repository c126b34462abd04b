"""A made-up town for measuring computed sandboxes: 10,000 places of 50 sorts, and a grid of 2,000 streets."""

import json
from itertools import cycle
from types import SimpleNamespace

PLACES, SIDE = 10_000, 32
SORTS = tuple(f"{first} {second}" for first in ("night", "tea", "book", "bike", "fish") for second in
              ("market", "shop", "house", "school", "bar", "yard", "club", "hall", "garden", "stand"))  # fmt: skip
STREETS = ("Quay Road", "Mill Rise", "Orchard Way", "Gull Lane", "Lantern Street", "Signal Hill", "Slipway")
NAMES = ("Copper", "Amber", "Silver", "Crimson", "Hazel", "Ivory", "Cobalt", "Saffron", "Juniper", "Marble", "Willow")
LON, LAT, STEP = 10.0, 50.0, 0.005


_SEARCH = {"op": "words", "name": ["name"], "sort": ["kind"], "also": ["address"], "words": "words"}
_AROUND = {"op": "around", "within": "radius"}
_TOOLS = [
    {
        "name": "nearby",
        "description": "Find places in a circle.",
        "parameters": {"type": "object", "properties": {name: {} for name in ("query", "lon", "lat", "radius")}},
        "match": {
            "query": {"type": "text"},
            "lon": {"type": "lon", "pair": "lat"},
            "lat": {"type": "lat"},
            "radius": {"type": "number", "default": 3000},
        },
        "answer": {
            "kind": "rows",
            "table": "places",
            "where": {"query": _SEARCH, "lon": _AROUND},
            "compute": {"metres": {"op": "metres_from", "parameter": "lon"}},
            "sort": ["metres"],
            "items": "places",
        },
    },
    {
        "name": "route",
        "description": "Find a way.",
        "parameters": {"type": "object", "properties": {name: {} for name in ("origin", "destination", "mode")}},
        "match": {"origin": {"type": "point"}, "destination": {"type": "point"}, "mode": {"type": "enum"}},
        "answer": {
            "kind": "routes",
            "ways": "ways",
            "metres": "m",
            "minutes": "min",
            "local": {"driving": {"detour": 1.3, "m_per_min": 400, "reach_m": 300}},
        },
    },
]


def sandbox():
    """Return the sandbox of one case, with some rows of its own."""
    from pytest_mapsat.model import Case, SuiteManifest, Tool
    from pytest_mapsat.sandbox import Table, make_sandbox

    manifest = {"name": "s", "version": "1", "license": "MIT", "schema_version": 1, "coordinates": "wgs84"}
    rows = [
        {"table": "places", "where": {"id": ["p7", "p11"]}, "hide": True},
        {"table": "places", "where": {"id": "p3"}, "set": {"name": "Moved"}},
    ]
    suite = SimpleNamespace(
        manifest=SuiteManifest.model_validate({**manifest, "language": "en", "domains": {"d": "d"}}),
        tools={tool["name"]: Tool.model_validate(tool) for tool in _TOOLS},
        tables={name: Table(name, rows) for name, rows in _tables().items()},
        recordings=lambda name: (),
        sandboxes=(),
    )
    visible = {"query": "?", "context": {}}
    return make_sandbox(
        Case.model_validate({"id": "c", "visible": visible, "truth": {}, "world": {"rows": rows}}), suite
    )


def _tables():
    places = tuple(
        {
            "id": f"p{number}",
            "name": f"{NAMES[number % 11]} {NAMES[number // 11 % 11]} {number % 97}",
            "kind": SORTS[number * 7 % len(SORTS)],
            "address": f"{number % 50} {STREETS[number % len(STREETS)]}",
            "lon": LON + number * 7919 % 4001 * 5e-5,
            "lat": LAT + number * 104_729 % 3989 * 4e-5,
        }
        for number in range(PLACES)
    )
    words = (*({"sort": sort, "words": [f"{sort}s"]} for sort in SORTS), {"absent": ["the", "near", "me", "nearest"]})
    return {"places": places, "words": words, "ways": tuple(_ways())}


def _ways():
    for across in range(SIDE):
        for along in range(SIDE):
            here = f"{LON + across * STEP:.4f},{LAT + along * STEP:.4f}"
            for right, up in ((1, 0), (0, 1)):
                if across + right < SIDE and along + up < SIDE:
                    there = f"{LON + (across + right) * STEP:.4f},{LAT + (along + up) * STEP:.4f}"
                    minutes = 1 + (across * 31 + along * 17) % 7 / 10
                    via = f"{STREETS[along % 7]} {along}" if right and along % 5 == 0 else ""
                    yield {"from": here, "to": there, "mode": "driving", "m": 400, "min": minutes, "via": via}


def searches():
    """Give calls without end: sorts in circles, with words that may be absent, with a street, and whole names."""
    queries = (
        SORTS[3],
        f"the nearest {SORTS[17]}s",
        f"{SORTS[22]} Mill Rise",
        "Copper Amber 12",
        f"{SORTS[40]} near me",
    )
    for number, query in enumerate(cycle(queries)):
        place = {"lon": LON + number % 40 * STEP, "lat": LAT + number % 30 * STEP}
        yield "nearby", {"query": query, **place, "radius": 3000}


def trips():
    """Give calls without end: routes between corners of the grid."""
    number = 0
    while True:
        number += 1
        ends = (number * 5 % SIDE, number * 11 % SIDE), (number * 19 % SIDE, number * 23 % SIDE)
        points = [f"{LON + across * STEP:.4f},{LAT + along * STEP:.4f}" for across, along in ends]
        yield "route", {"origin": points[0], "destination": points[1], "mode": "driving"}


# -- a world that changes: as large as the shop of tau2-bench ----------------------------------------------------------------


def write_shop(root):
    """Write the suite of a shop with 500 customers, 50 products and 1,000 orders, 1.3 MB as those of tau2-bench, and return its folder."""
    sizes = {"customers": (500, 455), "products": (50, 1_950), "orders": (1_000, 950)}
    tool = {
        "name": "cancel_order",
        "description": "Cancel an order.",
        "effect": "write",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "string"}, "reason": {"type": "string", "enum": ["late", "mistake"]}},
            "required": ["number", "reason"],
        },
    }
    (root / "state").mkdir(parents=True)
    (root / "suite.yaml").write_text('name: shop\nversion: "1"\nlicense: MIT\nschema_version: 1\n')
    (root / "tools.yaml").write_text(json.dumps([tool]))
    for name, (count, size) in sizes.items():
        with (root / "state" / f"{name}.jsonl").open("w") as file:
            for number in range(count):
                part = {
                    "id": f"i{number}",
                    "name": f"{NAMES[number % 11]} cup",
                    "price": number % 97 + 0.5,
                    "there": True,
                }
                row = {"id": f"{name[0]}{number}", "status": "open", "parts": [part] * (size // 100)}
                file.write(json.dumps(row) + "\n")
    return root


class Shop:
    """The shop: an order that is cancelled says so, with each of its parts."""

    def __init__(self, state):
        self.orders, _, _ = (state[name] for name in ("orders", "customers", "products"))

    def cancel_order(self, number, reason):
        return self.orders.change(number, status="cancelled", why=reason)


def open_shop(root):
    """Return the case of a shop's suite that has been written, and the suite, opened."""
    from pytest_mapsat.model import Case
    from pytest_mapsat.suite import open_suite

    suite = open_suite(root)
    suite.sandboxes = (lambda case, suite: Shop,)
    return Case.model_validate({"id": "c", "visible": {"query": "?"}, "truth": {}}), suite
