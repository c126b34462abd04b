"""Sandboxes computed from tables: search, references, days, live times, routes, rounds, rows of single cases."""

from types import SimpleNamespace

import pytest

from pytest_mapsat.model import Case, Recording, SuiteManifest, Tool
from pytest_mapsat.sandbox import Table, make_sandbox

PLACES = (
    {"id": "p1", "name": "Gull Pharmacy", "kind": "pharmacy", "city": "Larkton", "address": "3 Quay Road", "lon": 10.0, "lat": 50.001, "hours": "09:00-20:00"},
    {"id": "p2", "name": "Mill Pharmacy", "kind": "pharmacy", "city": "Larkton", "address": "8 Mill Rise", "lon": 10.0, "lat": 50.01, "hours": "24h"},
    {"id": "k1", "name": "Copper Kettle", "kind": "tea room", "city": "Larkton", "address": "5 Quay Road", "lon": 10.001, "lat": 50.0, "hours": "10:00-18:00"},
    {"id": "k2", "name": "Copper Kettle", "kind": "tea room", "city": "Larkton", "address": "9 Orchard Way", "lon": 10.02, "lat": 50.0},
    {"id": "q1", "name": "石桥药房", "kind": "药店", "city": "石桥市", "address": "柳巷6号", "lon": 12.0, "lat": 51.0, "hours": "08:00-22:00"},
    {"id": "q2", "name": "Tea Room", "kind": "tea room", "city": "石桥市", "address": "柳巷7号", "lon": 12.0, "lat": 51.0},
    {"id": "m1", "name": "Harbour Museum", "alias": ["Ship Museum"], "kind": "museum", "city": "Larkton", "address": "1 Slipway", "lon": 10.03, "lat": 50.0, "free": 4},
)  # fmt: skip
WORDS = (
    {"sort": "pharmacy", "words": ["chemist", "drugstore", "药店", "药房"]},
    {"sort": "tea room", "words": ["tea house", "茶馆"]},
    {"sort": "museum", "words": ["博物馆"]},
    {"near": ["near", "附近"]},
    {"absent": ["the", "on", "nearest", "24", "hour", "open", "now", "的"]},
    {"word": "harbour", "spelt": ["harbor"]},
)
WAYS = (
    {"from": "10.0,50.0", "to": "10.1,50.0", "mode": "driving", "via": "Low Bridge", "m": 8000, "min": 10, "height": 2.1, "toll": 3},
    {"from": "10.0,50.0", "to": "10.1,50.0", "mode": "driving", "via": "High Road", "m": 9000, "min": 14, "height": 4.0, "toll": 0},
    {"from": "10.1,50.0", "to": "10.2,50.0", "mode": "driving", "via": "East Road", "m": 7500, "min": 9, "toll": 2},
    {"from": "10.0,50.0", "to": "10.2,50.0", "mode": "driving", "via": "Night Tunnel", "m": 14500, "min": 12, "closed": ["08:00", "20:00"]},
    {"from": "10.0,50.0", "to": "10.2,50.0", "mode": "driving", "via": "One Way", "m": 15000, "min": 40, "both": False},
)  # fmt: skip
LINES = (
    {
        "line": "Tram 1",
        "from": ["k1"],
        "to": ["m1"],
        "times": {"09": ["05", "25", "45"], "10": ["05"], "23": ["50"], "00": ["20"]},
    },
)
REF = {"table": "places", "name": ["name", "alias"], "lon": "lon", "lat": "lat", "words": "words", "here": ["here"]}
SEARCH = {
    "op": "words",
    "name": ["name", "alias"],
    "sort": ["kind"],
    "also": ["address"],
    "words": "words",
    "lon": "lon",
    "lat": "lat",
}


def tool(name, parameters, match, answer, **more):
    properties = {parameter: {} for parameter in parameters}
    return Tool.model_validate(
        {
            "name": name,
            "description": name,
            "parameters": {"type": "object", "properties": properties},
            "match": match,
            "answer": answer,
            **more,
        }
    )


POINT = {"type": "point", "named": True}
TOOLS = [
    tool(
        "nearby",
        ["query", "lon", "lat", "radius", "at"],
        {"lon": {"type": "lon", "pair": "lat"}, "lat": {"type": "lat"}, "radius": {"type": "number", "default": 3000}},
        {
            "kind": "rows",
            "table": "places",
            "where": {"query": SEARCH, "lon": {"op": "around", "within": "radius"}, "at": {"op": "open_at", "column": "hours"}},
            "compute": {"metres": {"op": "metres_from", "parameter": "lon"}, "open": {"op": "open_now", "column": "hours"}},
            "sort": ["metres"],
            "items": "found",
            "count": "n",
            "show": ["id", "metres", "open"],
        },
    ),
    tool(
        "search",
        ["query", "city", "free", "page", "size"],
        {"city": {"type": "place", "suffixes": ["市"], "synonyms": {"石桥": ["Shiqiao"]}}},
        {
            "kind": "rows",
            "table": "places",
            "where": {"query": SEARCH, "city": {"op": "equal", "column": "city", "context": "city"}, "free": {"op": "least", "column": "free"}},
            "sort": ["-id"],
            "limit": 3,
            "page": {"number": "page", "size": "size"},
            "items": "found",
            "show": ["id"],
        },
    ),
    tool("details", ["id"], {"id": {"type": "id"}}, {"kind": "rows", "table": "places", "where": {"id": {"op": "refers", "column": "id", "to": REF}}}),
    tool("profile", ["uid"], {}, {"kind": "rows", "table": "users", "where": {"uid": {"op": "user", "column": "uid"}}}),
    tool("weather", ["day"], {}, {"kind": "rows", "table": "weather", "where": {"day": {"op": "day", "column": "date", "words": {"tomorrow": 1}}}}),
    tool(
        "lines",
        ["from", "to"],
        {},
        {
            "kind": "rows",
            "table": "lines",
            "where": {name: {"op": "refers", "column": name, "unknown": "nothing", "to": REF} for name in ("from", "to")},
            "compute": {"next": {"op": "next_times", "column": "times", "within_min": 45}},
            "items": "lines",
            "show": ["line", "next"],
        },
    ),
    tool(
        "route",
        ["origin", "destination", "mode", "free"],
        {"origin": POINT, "destination": POINT, "mode": {"type": "enum", "synonyms": {"driving": ["car"], "walking": ["on_foot"]}}, "free": {"type": "boolean", "role": "preference"}},
        {
            "kind": "routes",
            "ends": REF,
            "ways": "ways",
            "metres": "m",
            "minutes": "min",
            "sums": ["toll"],
            "least": ["height"],
            "avoid": {"free": "toll"},
            "local": {
                "walking": {"detour": 1.2, "m_per_min": 75},
                "driving": {"detour": 1.3, "m_per_min": 500, "plus_min": 2, "reach_m": 5000},
            },
        },
    ),
    tool(
        "round",
        ["start", "stops"],
        {"start": POINT, "stops": {"type": "set"}},
        {"kind": "round", "start": "start", "stops": "stops", "places": REF, "routes": "route", "mode": "walking", "show": {"id": "id"}},
    ),
    tool(
        "rides",
        ["origin", "destination"],
        {"origin": POINT, "destination": POINT},
        {
            "kind": "rows",
            "table": "fares",
            "where": {"origin": {"op": "around", "within": 40000, "ends": REF}},
            "compute": {
                "price": {"op": "route", "routes": "route", "origin": "origin", "destination": "destination", "mode": "driving", "give": "m", "per_km": "per_km", "plus": "start"},
                "ride": {"op": "route", "routes": "route", "origin": "origin", "destination": "destination", "mode": "driving", "give": "min"},
            },
            "items": "rides",
            "show": ["price", "ride"],
        },
    ),
]  # fmt: skip
TABLES = {
    "places": PLACES,
    "words": WORDS,
    "ways": WAYS,
    "lines": LINES,
    "users": ({"uid": "u1", "home": "Quay"}, {"uid": "u2", "home": "Hill"}),
    "weather": ({"date": "2026-05-09", "sky": "rain"}, {"date": "2026-05-10", "sky": "dry"}),
    "fares": ({"lon": 10.0, "lat": 50.0, "start": 5, "per_km": 2},),
}
MANIFEST = SuiteManifest.model_validate(
    {
        "name": "s",
        "version": "1",
        "license": "MIT",
        "schema_version": 1,
        "coordinates": "wgs84",
        "language": "en",
        "domains": {"d": "d"},
    }
)


def case(now="2026-05-09T09:10:00+08:00", rows=()):
    context = {"now": now, "city": "Larkton", "uid": "u1", "location": {"lon": 10.0, "lat": 50.0, "name": "Quay Road"}}
    return Case.model_validate(
        {"id": "c", "visible": {"query": "?", "context": context}, "truth": {}, "world": {"rows": rows}}
    )


def suite(recordings=()):
    return SimpleNamespace(
        manifest=MANIFEST,
        tools={one.name: one for one in TOOLS},
        tables={name: Table(name, rows) for name, rows in TABLES.items()},
        recordings=lambda name: tuple(recordings),
        sandboxes=(),
    )


def ask(name, /, *, rows=(), recordings=(), now="2026-05-09T09:10:00+08:00", **arguments):
    return make_sandbox(case(now, rows), suite(recordings)).call(name, arguments)


def ids(answer):
    assert answer.status == "ok", answer
    assert answer.provenance.kind == "computed"
    return [row["id"] for row in answer.result["found"]]


@pytest.mark.parametrize("query", ["pharmacy", "the chemist", "nearest pharmacies", "24 hour drugstore", "药店", "quiet chemist", "pharmcy"])  # fmt: skip
def test_a_sort_is_found_by_any_of_its_words_in_any_language(query):
    assert ids(ask("nearby", query=query, lon=10.0, lat=50.0)) == ["p1", "p2"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Copper Kettle", ["k1", "k2"]),
        ("the copper kettle", ["k1", "k2"]),
        ("Copper Kettle, Orchard Way", ["k2"]),
        ("pharmacy on Mill Rise", ["p2"]),
        ("Kettle", ["k1", "k2"]),
        ("Coper Kettle", ["k1", "k2"]),
        ("Harbor Museum", ["m1"]),
        ("ship museum", ["m1"]),
        ("harbourmuseum tickets", ["m1"]),
        ("tea room near Gull Pharmacy", ["k1", "k2"]),
        ("Gull Pharmacy", ["p1"]),
        ("Starbucks", []),
    ],
)
def test_names_and_qualifiers_narrow_a_search_and_unknown_names_find_nothing(query, found):
    assert sorted(ids(ask("search", query=query))) == found


def test_qualifiers_that_nothing_has_are_left_out_and_told():
    assert "quiet" in ask("search", query="quiet tea room").provenance.note


def test_what_is_served_lies_in_the_circle_with_distance_and_opening():
    answer = ask("nearby", query="pharmacy", lon="10.0", lat=50.0, radius=500)
    assert answer.result == {"n": 1, "found": [{"id": "p1", "metres": 111, "open": True}]}
    assert ids(ask("nearby", query="Harbour Museum", lon=10.0, lat=50.0, radius=500)) == []
    assert ids(ask("nearby", query="pharmacy", lon=10.0, lat=50.0, at="23:00")) == ["p2"]


def test_a_name_that_says_no_more_than_a_sort_is_one_here_too():
    assert ids(ask("nearby", query="tea room", lon=10.0, lat=50.0)) == ["k1", "k2"]
    assert ids(ask("nearby", query="tea room", lon=12.0, lat=51.0)) == ["q2"]


def test_a_town_is_read_in_its_spellings_and_stands_in_from_the_context():
    assert (
        ids(ask("search", query="chemist", city="Shiqiao")) == ids(ask("search", query="药房", city="石桥")) == ["q1"]
    )
    assert (
        ids(ask("search", query="chemist"))
        == ids(ask("search", query="chemist", city="Larkton harbour"))
        == ["p2", "p1"]
    )
    assert ids(ask("search", query="chemist", city="Nowhere")) == []


def test_lists_are_sorted_bounded_and_paged():
    assert ids(ask("search")) == ["p2", "p1", "m1"]
    assert ids(ask("search", page=2)) == ["k2", "k1"]
    assert ids(ask("search", page=2, size=1)) == ["p1"]
    assert ids(ask("search", free=4)) == ["m1"]
    assert ask("search", page=0).status == "error"


@pytest.mark.parametrize("value", ["m1", "Ship Museum", "the Harbour Museum"])
def test_one_thing_is_looked_up_by_id_or_by_name(value):
    assert ask("details", id=value).result == PLACES[6]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("details", {"id": "m22"}, "nothing is known as 'm22'"),
        ("details", {"id": "Copper Kettle"}, "the name of several: k1, k2"),
        ("profile", {"uid": "u2"}, "there is no such user"),
        ("weather", {"day": "soon"}, "expected a day"),
        ("weather", {"day": "2027-01-01"}, "nothing is known for day '2027-01-01'"),
        ("nearby", {"query": "chemist", "lon": 50.0, "lat": 10.0}, "lies outside of the known area"),
        ("nearby", {"query": "chemist", "lon": 10.0, "lat": 50.0, "at": "late"}, "expected a time of day"),
        ("search", {"query": "chemist " * 100}, "too long to be looked up"),
        ("route", {"origin": "10,50", "destination": "10.1,50", "mode": "teleport"}, "it is one of walking, driving"),
        ("route", {"origin": "10,50", "destination": "Atlantis", "mode": "car"}, "nothing is known as 'Atlantis'"),
        ("route", {"origin": "10,50", "destination": "Copper Kettle", "mode": "car"}, "give an id or a point"),
        ("route", {"origin": "10,50", "destination": "120,30", "mode": "car"}, "km apart"),
        ("route", {"origin": "10.0,50.0", "destination": "10.0,50.2", "mode": "car"}, "no way is known"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_an_error_that_says_why(name, arguments, told):
    answer = ask(name, **arguments)
    assert answer.status == "error"
    assert told in answer.result["message"]


@pytest.mark.parametrize("day", ["2026-05-10", "tomorrow", "2026/5/10", "20260510", "10 May 2026", "May 10th", "5月10日", "Sunday", "周日", "2026-05-10T08:00:00+08:00"])  # fmt: skip
def test_a_day_is_read_as_people_write_it(day):
    assert ask("weather", day=day).result["sky"] == "dry"


@pytest.mark.parametrize(
    ("now", "expected"), [("09:10", ["09:25", "09:45"]), ("23:40", ["23:50", "00:20"]), ("12:00", [])]
)
def test_the_next_times_count_from_the_time_of_the_case(now, expected):
    answer = ask("lines", now=f"2026-05-09T{now}:00+08:00", **{"from": "10.001,50.0", "to": "Ship Museum"})
    assert answer.result == {"lines": [{"line": "Tram 1", "next": expected}]}
    assert ask("lines", **{"from": "k1", "to": "Atlantis"}).result == {"lines": []}


def test_routes_name_their_ways_and_each_avoids_a_way_of_those_before():
    answer = ask("route", origin="10.0,50.0", destination=[10.1, 50.0], mode="car")
    assert answer.result["routes"] == [
        {"via": "Low Bridge", "m": 8000, "min": 10, "toll": 3, "height": 2.1},
        {"via": "High Road", "m": 9000, "min": 14, "toll": 0, "height": 4.0},
    ]


def test_routes_join_ways_heed_closures_tolls_and_directions():
    by_day = ask("route", origin="10.0,50.0", destination="10.2,50.0", mode="driving").result["routes"]
    assert by_day[0] == {"via": "Low Bridge, East Road", "m": 15500, "min": 19, "toll": 5, "height": 2.1}
    assert [route["via"] for route in by_day] == ["Low Bridge, East Road", "High Road, East Road", "One Way"]
    by_night = ask("route", now="2026-05-09T21:00:00+08:00", origin="10.0,50.0", destination="10.2,50.0", mode="car")
    assert by_night.result["routes"][0]["via"] == "Night Tunnel"
    free = ask("route", origin="10.0,50.0", destination="10.2,50.0", mode="car", free=True).result["routes"]
    assert [route["via"] for route in free] == ["One Way"]
    back = ask("route", origin="10.2,50.0", destination="10.0,50.0", mode="car").result["routes"]
    assert "One Way" not in [route["via"] for route in back]


def test_short_trips_go_by_local_streets_and_never_below_the_crow():
    walk = ask("route", origin="here", destination="k1", mode="on_foot").result["routes"]
    assert walk == [{"m": 90, "min": 2}]
    assert ask("route", origin="10.0,50.0", destination="10.0,50.0", mode="walking").result["routes"] == [
        {"m": 0, "min": 0}
    ]


def test_a_longer_trip_enters_the_network_by_local_streets():
    (first, *_) = ask("route", origin="10.0,50.005", destination="10.1,50.0", mode="car").result["routes"]
    assert first["via"] == "Low Bridge"
    assert first["m"] == 8000 + round(1.3 * 556)


def test_a_round_is_the_shortest_one_and_adds_up():
    answer = ask("round", start="10.0,50.0", stops="m1, p1, k2")
    assert [stop["id"] for stop in answer.result["order"]] == ["m1", "k2", "p1"]
    *legs, whole = answer.result["legs"]
    assert (whole["m"], whole["min"]) == (sum(leg["m"] for leg in legs), sum(leg["min"] for leg in legs))


def test_fares_follow_the_route():
    assert ask("rides", origin="10.0,50.0", destination="10.1,50.0").result == {"rides": [{"price": 21, "ride": 10}]}


def test_an_exact_recording_comes_before_the_tables_and_a_near_one_where_they_know_nothing():
    recordings = [Recording(case="c", tool="weather", arguments={"day": "2026-05-09"}, result={"sky": "snow"})]
    assert ask("weather", recordings=recordings, day="2026-05-09").provenance.kind == "exact"
    assert ask("weather", recordings=recordings, day="9 May 2026").result["sky"] == "rain"
    far = [Recording(case="c", tool="route", arguments={"origin": "10,50", "destination": "120,30", "mode": "driving", "free": False}, result={"routes": []})]  # fmt: skip
    near = ask("route", recordings=far, origin="10,50", destination="120,30", mode="car", free=True)
    assert (near.status, near.provenance.kind) == ("ok", "near")


def test_a_case_changes_hides_and_adds_rows_for_itself_alone():
    rows = [
        {"table": "places", "where": {"id": ["p1"]}, "hide": True},
        {"table": "places", "where": {"id": "p2"}, "set": {"name": "Owl Chemist", "lat": 50.0}},
        {"table": "places", "add": [{"id": "p3", "name": "New Pharmacy", "kind": "pharmacy", "city": "Larkton", "lon": 10.0, "lat": 50.002}]},
        {"table": "ways", "where": {"via": "Low Bridge"}, "hide": True},
    ]  # fmt: skip
    assert ids(ask("nearby", rows=rows, query="pharmacy", lon=10.0, lat=50.0)) == ["p2", "p3"]
    assert ask("details", rows=rows, id="p1").status == "error"
    assert ask("details", rows=rows, id="Owl Chemist").result["id"] == "p2"
    gone = ask("search", rows=rows, query="Gull Pharmacy")
    assert (ids(gone), "gull" in gone.provenance.note) == (["p3", "p2"], True), (
        "a name that is not there is a qualifier"
    )
    shared = suite()
    make_sandbox(case(rows=rows), shared).call("nearby", {"query": "pharmacy", "lon": 10.0, "lat": 50.0})
    assert shared.tables["places"].rows == PLACES
    routes = ask("route", rows=rows, origin="10.0,50.0", destination="10.1,50.0", mode="car").result["routes"]
    assert [route["via"] for route in routes] == ["High Road"]


def test_the_same_call_has_the_same_answer_and_callers_cannot_change_it():
    sandbox = make_sandbox(case(), suite())
    first = sandbox.call("details", {"id": "m1"})
    first.result["alias"].append("changed")
    assert sandbox.call("details", {"id": "m1"}).result == PLACES[6]


def test_a_case_without_a_time_has_neither_opening_nor_departures():
    assert "open" not in ask("nearby", now=None, query="pharmacy", lon=10.0, lat=50.0).result["found"][0]
    assert ask("lines", now=None, **{"from": "k1", "to": "m1"}).result == {"lines": [{"line": "Tram 1"}]}
    assert ask("weather", now=None, day="tomorrow").status == "error"


JUNK = [None, "", " ", "，", '"[1,2]', "[[[[", {"lon": 1}, [], [1, 2, 3], ["a", None], True, -1, 1e308, float("nan"), 10**40, "10,50,1", "-180,-90", "181,5", "the", "near", "\0", "\ud800", "2026-02-30", "9/9", "月", "周", {"a": {"b": [1]}}, "1_000", "١٢", '{"lon":10.0,"lat":50.0}', "(", ["m1"] * 50]  # fmt: skip
SENSIBLE = {"origin": "10,50", "destination": "10.1,50", "start": "10,50", "stops": ["m1", "p1"], "mode": "car", "lon": 10.0, "lat": 50.0, "query": "chemist", "id": "m1", "from": "k1", "to": "m1"}  # fmt: skip


@pytest.mark.parametrize("one", TOOLS, ids=lambda one: one.name)
def test_whatever_an_agent_sends_is_answered_or_refused_and_never_raises(one):
    sandbox, names = make_sandbox(case(), suite()), list(one.parameters["properties"])
    sensible = {name: SENSIBLE[name] for name in names if name in SENSIBLE}
    for name in names:
        for value in JUNK:
            assert sandbox.call(one.name, {**sensible, name: value}).status in ("ok", "error")
            assert sandbox.call(one.name, {name: value}).status in ("ok", "error")
