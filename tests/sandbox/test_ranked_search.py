"""Tools that rank the rows of one part of a large table: conditions, order, parts, filters, and what is wrong in a call or a row."""

import itertools
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from suite_maker import make_suite

from pytest_mapsat.model import InfrastructureError, SuiteError, UsageError
from pytest_mapsat.sandbox import Ranker, large, make_sandbox
from pytest_mapsat.suite import open_suite

TOOL = {
    "name": "search",
    "description": "Find merchants.",
    "parameters": {
        "type": "object",
        "properties": {name: {} for name in ("query", "city", "min_rating", "max_price", "open_at", "district", "limit", "page")},
        "required": ["query"],
    },
    "match": {"city": {"type": "place", "suffixes": ["市"]}, "district": {"type": "text"}, "query": {"type": "text"}},
    "answer": {
        "kind": "ranked",
        "table": "merchants",
        "part": "city",
        "text": "query",
        "words": "synonyms",
        "limit": 3,
        "page": {"number": "page", "size": "limit"},
        "items": "merchants",
        "count": "count",
        "show": ["id"],
        "fields": {
            "name": "name",
            "kind": "word",
            "district": "word",
            "landmark": "word",
            "tags": "words",
            "rating": {"holds": "figure", "role": "rating"},
            "price": {"holds": "figure", "role": "per_head", "says": {"cheap": {"max": 40}, "便宜": {"max": 40}}},
            "fee": {"holds": "figure", "role": "fee"},
            "hours": {"holds": "hours", "says": {"late-night": "23:30"}},
            "delivers": {"holds": "word", "says": {"delivery": True}},
            "about": "text",
        },
        "where": {
            "min_rating": {"op": "least", "column": "rating"},
            "max_price": {"op": "most", "column": "price"},
            "open_at": {"op": "open_at", "column": "hours"},
            "district": {"op": "equal", "column": "district"},
        },
    },
}  # fmt: skip
KINDS = {"bar": ["pub", "酒吧"], "noodle bar": ["面馆"], "bakery": ["面包店"]}
TAGS = ("quiet", "spicy", "live music")
PLACES = (("Rowan", "Rowan Square"), ("Old Harbour", "Gull Bridge"), ("Rowan", "Port Elm Road"))


def merchants(city: str, count: int = 60, **more: object) -> list[dict[str, object]]:
    return [
        {
            "id": f"{city[:2].lower()}{number:04}",
            "city": city,
            "name": f"Amber {('Fox', 'Moon', 'Pine')[number % 3]} {number}",
            "kind": list(KINDS)[number % 3],
            "district": PLACES[number // 3 % 3][0],
            "landmark": PLACES[number // 3 % 3][1],
            "tags": [TAGS[number % 2], TAGS[2]] if number % 5 else [TAGS[number % 2]],
            "rating": 3.5 + number % 16 / 10,
            "price": 20 + number * 7 % 90,
            "fee": number % 9,
            "hours": ("09:00-18:00", "10:00-23:00", "18:00-02:00", "ask us")[number % 4],
            "delivers": number % 2 == 0,
            "about": "They say it is quiet, a bar in all but name." if number % 7 else "Plain.",
            **more,
        }
        for number in range(count)
    ]


CITIES = [*merchants("Larkhaven"), *merchants("Port Elm"), *merchants("上海市", 12)]
WORDS = [{"sort": sort, "words": words} for sort, words in KINDS.items()] + [{"sort": "上海市", "words": ["Shanghai"]}]
CASE = """\
id: case-1
domains: [search]
visible: {query: Where?, context: {now: "2026-05-09T21:30:00+08:00", city: Larkhaven}}
truth: {requirements: [{id: e, kind: asked, text: A bar is named}]}
"""


def lines(rows) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


DETAILS = {
    "name": "details",
    "description": "Show a merchant.",
    "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
    "match": {"id": {"type": "id"}},
    "answer": {"kind": "rows", "table": "merchants", "where": {"id": {"op": "equal", "column": "id"}}},
}


def suite_in(folder: Path, rows=CITIES, tool=TOOL, changed=(), **files: str):
    state = {"state/merchants.jsonl": lines(rows), "state/synonyms.jsonl": lines(WORDS)}
    return open_suite(
        make_suite(
            folder,
            {
                "one.yaml": f"{CASE}world: {json.dumps({'rows': changed})}\n",
                "tools.yaml": json.dumps([tool, DETAILS]),
                **state,
                **files,
            },
        )
    )


def sandbox_of(suite):
    (entry,) = suite.entries(suite.root / "one.yaml")
    return make_sandbox(suite.load(entry), suite)


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    return suite_in(tmp_path_factory.mktemp("suite"))


@pytest.fixture(scope="module")
def search(suite):
    sandbox = sandbox_of(suite)
    by_id = {row["id"]: row for row in CITIES}

    def find(query, **arguments):
        answer = sandbox.call("search", {"query": query, **arguments})
        assert answer.status == "ok", answer.result
        return [by_id[row["id"]] for row in answer.result["merchants"]]

    return find


@pytest.fixture(scope="module")
def refusal(suite):
    sandbox = sandbox_of(suite)

    def refused(query, **arguments):
        answer = sandbox.call("search", {"query": query, **arguments})
        assert answer.status == "error", answer.result
        return answer.result["message"]

    return refused


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ("a noodle bar near Rowan Square", lambda row: row["kind"] == "noodle bar" and row["landmark"] == "Rowan Square"),
        ("pub in Old Harbour", lambda row: row["kind"] == "bar" and row["district"] == "Old Harbour"),
        ("酒吧，安静 quiet", lambda row: row["kind"] == "bar" and "quiet" in row["tags"]),
        ("BARS with Live Music", lambda row: row["kind"] == "bar" and "live music" in row["tags"]),
        ("bakery rated 4.5 or better", lambda row: row["kind"] == "bakery" and row["rating"] >= 4.5),
        ("a bar, at most 60 yuan a head", lambda row: row["kind"] == "bar" and row["price"] <= 60),
        ("酒吧，评分4.2以上，人均60元以内", lambda row: row["kind"] == "bar" and row["rating"] >= 4.2 and row["price"] <= 60),
        ("bar under 60", lambda row: row["kind"] == "bar" and row["price"] < 60),
        ("bar between 50 and 80 yuan", lambda row: row["kind"] == "bar" and 50 <= row["price"] <= 80),
        ("面馆 人均50到80元", lambda row: row["kind"] == "noodle bar" and 50 <= row["price"] <= 80),
        ("bar, delivery fee no more than 3 yuan", lambda row: row["kind"] == "bar" and row["fee"] <= 3),
        ("a bar open at 22:00", lambda row: row["kind"] == "bar" and row["hours"] in ("10:00-23:00", "18:00-02:00")),
        ("bar open at 1 am", lambda row: row["kind"] == "bar" and row["hours"] == "18:00-02:00"),
        ("bakery that is open now", lambda row: row["kind"] == "bakery" and row["hours"] in ("10:00-23:00", "18:00-02:00")),
        ("a bar that is not in Old Harbour", lambda row: row["kind"] == "bar" and row["district"] != "Old Harbour"),
        ("bar outside Rowan, 4.2+ stars under 80", lambda row: row["kind"] == "bar" and row["district"] != "Rowan" and row["rating"] >= 4.2 and row["price"] < 80),
        ("酒吧，不在Rowan的，4.2分以上80元以内", lambda row: row["kind"] == "bar" and row["district"] != "Rowan" and row["rating"] >= 4.2 and row["price"] <= 80),
        ("bar open past midnight near Gull Bridge", lambda row: row["kind"] == "bar" and row["hours"] == "18:00-02:00" and row["landmark"] == "Gull Bridge"),
        ("bar that is not spicy", lambda row: row["kind"] == "bar" and "spicy" not in row["tags"]),
        ("酒吧 不要spicy", lambda row: row["kind"] == "bar" and "spicy" not in row["tags"]),
        ("bar without spicy or live music", lambda row: row["kind"] == "bar" and not {"spicy", "live music"} & set(row["tags"])),
        ("cheap bar", lambda row: row["kind"] == "bar" and row["price"] <= 40),
        ("便宜的酒吧", lambda row: row["kind"] == "bar" and row["price"] <= 40),
        ("late-night bar", lambda row: row["kind"] == "bar" and row["hours"] == "18:00-02:00"),
        ("bar with delivery", lambda row: row["kind"] == "bar" and row["delivers"]),
    ],
)  # fmt: skip
def test_rows_that_fulfil_every_condition_come_first(search, query, fits):
    best = [row for row in CITIES if row["city"] == "Larkhaven" and fits(row)]
    assert best
    assert [fits(row) for row in search(query)][: len(best)] == [True] * min(len(best), 3)


NAMED = next(row for row in CITIES if row["name"] == "Amber Moon 4")


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ("bar that closes before 19:00", lambda row: row["kind"] == "bar" and row["hours"] == "09:00-18:00"),
        ("a bar that shuts by 11pm at the latest", lambda row: row["kind"] == "bar" and row["hours"] in ("09:00-18:00", "10:00-23:00")),
        ("bar that is not open at 21:00", lambda row: row["kind"] == "bar" and row["hours"] == "09:00-18:00"),
        ("晚上九点不营业的酒吧", lambda row: row["kind"] == "bar" and row["hours"] == "09:00-18:00"),
        ("下午三点以后才开门的酒吧", lambda row: row["kind"] == "bar" and row["hours"] == "18:00-02:00"),
        ("a bar that is neither spicy nor in Old Harbour", lambda row: row["kind"] == "bar" and "spicy" not in row["tags"] and row["district"] != "Old Harbour"),
        ("酒吧，spicy和live music的都不要", lambda row: row["kind"] == "bar" and not {"spicy", "live music"} & set(row["tags"])),
        ("noodle bar cheaper than Amber Moon 4", lambda row: row["kind"] == "noodle bar" and row["price"] < NAMED["price"]),
        ("评分不低于Amber Moon 4的面馆", lambda row: row["kind"] == "noodle bar" and row["rating"] >= NAMED["rating"] and row is not NAMED),
        ("noodle bar with a lower delivery fee than Amber Moon 4, and better rated", lambda row: row["kind"] == "noodle bar" and row["fee"] < NAMED["fee"] and row["rating"] > NAMED["rating"]),
        ("bar that brings orders to my door", lambda row: row["kind"] == "bar" and row["delivers"]),
        ("a peaceful bar", lambda row: row["kind"] == "bar" and "quiet" in row["tags"]),
        ("collection only bar", lambda row: row["kind"] == "bar" and not row["delivers"]),
    ],
)  # fmt: skip
def test_wishes_in_other_words_are_conditions(search, query, fits):
    best = [row for row in CITIES if row["city"] == "Larkhaven" and fits(row)]
    assert best
    assert all(fits(row) for row in search(query)[: len(best)])


@pytest.mark.parametrize(
    ("query", "column", "way", "kind"),
    [
        ("the cheapest bar", "price", min, "bar"),
        ("评分最高的面馆", "rating", max, "noodle bar"),
        ("bakery with the lowest delivery fee", "fee", min, "bakery"),
        ("priciest bakery", "price", max, "bakery"),
    ],
)
def test_the_most_or_the_least_that_is_wished_comes_first(search, query, column, way, kind):
    rows = [row for row in CITIES if row["city"] == "Larkhaven" and row["kind"] == kind]
    first = search(query)[0]
    assert (first["kind"], first[column]) == (kind, way(row[column] for row in rows))


def test_what_stays_open_the_latest_comes_first(search):
    assert search("bar that stays open the latest")[0]["hours"] == "18:00-02:00"


def test_a_name_is_found(search):
    assert search("is Amber Moon 7 any good?")[0]["id"] == "la0007"


def test_what_fields_hold_counts_before_what_a_description_promises(search):
    assert {row["kind"] for row in search("quiet bar")} == {"bar"}


def test_undeclared_words_fulfil_no_condition(search):
    assert search("an affordable bar") == search("a bar")


def test_among_equals_the_smaller_id_comes_first(search):
    assert [row["id"] for row in search("bakery at Rowan Square, at most 500 yuan")] == sorted(
        row["id"] for row in CITIES if row["city"] == "Larkhaven" and row["kind"] == "bakery" and row["landmark"] == "Rowan Square"
    )[:3]  # fmt: skip


def test_parameters_filter_strictly(search):
    assert search("bar", min_rating=5.1, district="old harbour") == []
    for row in search("bar", min_rating="4.0", max_price=70, open_at="22:00", district="ROWAN"):
        assert row["rating"] >= 4.0
        assert row["price"] <= 70
        assert row["hours"] in ("10:00-23:00", "18:00-02:00")
        assert row["district"] == "Rowan"


def test_hours_that_cannot_be_read_are_never_fulfilled(search):
    assert all(
        row["hours"] != "ask us" for at in ("00:00", "09:00", "22:00") for row in search("bar", open_at=at, limit=3)
    )


@pytest.mark.parametrize(
    ("query", "arguments", "city"),
    [
        ("bar", {}, "Larkhaven"),
        ("bar in port elm", {}, "Port Elm"),
        ("bar", {"city": "PORT ELM"}, "Port Elm"),
        ("bar", {"city": "上海"}, "上海市"),
        ("bar in Shanghai", {}, "上海市"),
        ("上海市的酒吧", {}, "上海市"),
        ("bar on Port Elm Road", {}, "Larkhaven"),
        ("bar in Port Elm", {"city": "Port Elm"}, "Port Elm"),
    ],
)
def test_the_part_is_named_by_the_parameter_the_text_or_the_context(search, query, arguments, city):
    assert {row["city"] for row in search(query, **arguments)} == {city}


@pytest.mark.parametrize(
    ("query", "arguments", "told"),
    [
        ("bar", {"city": "Port Elk"}, "city is 'Port Elk', which is not served; there is Larkhaven, Port Elm, 上海市 (did you mean 'Port Elm'?)"),
        ("bar in Shanghai or in Port Elm", {}, "one city at a time is searched, and the call names Port Elm and 上海市"),
        ("bar in Shanghai", {"city": "Port Elm"}, "one city at a time is searched, and the call names Port Elm and 上海市"),
        ("bar " * 250_000, {}, "expected text of at most 20000 characters"),
        ("bar " * 260, {}, "a query of 1040 characters is too long; at most 1000 are read"),
        (" \t ", {}, "query is ' \\t ', expected what is looked for"),
        ("bar", {"limit": 0}, "limit is 0, expected a whole number from 1"),
        ("bar", {"min_rating": "high"}, "min_rating is 'high', expected a number"),
        ("bar", {"open_at": "late"}, "open_at is 'late', expected a time of day: HH:MM"),
    ],
)  # fmt: skip
def test_a_call_that_cannot_be_answered_is_told_why(refusal, query, arguments, told):
    assert told in refusal(query, **arguments)


def test_no_city_at_all_is_told_with_the_names(tmp_path):
    sandbox = sandbox_of(suite_in(tmp_path, **{"one.yaml": CASE.replace(", city: Larkhaven", "")}))
    answer = sandbox.call("search", {"query": "bar"})
    assert answer.result["message"] == "search: no city is named; there is Larkhaven, Port Elm, 上海市"


def test_a_limit_beyond_the_tools_own_is_cut_and_pages_follow_one_another(search):
    assert len(search("bar", limit=10_000)) == 3
    first, second = search("bar", limit=2), search("bar", limit=2, page=2)
    assert first + second == search("bar", limit=3) + second[1:]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"id": None}, "merchants.jsonl:3: id: found None, expected an id: a text or a whole number"),
        ({"id": "la0001"}, "merchants.jsonl:3: id: the id 'la0001' occurs twice; first in"),
        ({"id": " la0001 "}, "merchants.jsonl:3: id: the id ' la0001 ' occurs twice; first in"),
        ({"city": 5}, "merchants.jsonl:3: city: found 5, expected the name of a part: a text"),
        ({"rating": float("nan")}, "merchants.jsonl:3: "),
    ],
)
@pytest.mark.parametrize("large", [False, True])
def test_a_row_that_cannot_be_ranked_is_told_with_its_line(tmp_path, monkeypatch, change, told, large):
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(tmp_path / "cache"))
    rows = [*merchants("Larkhaven", 5)]
    rows[2] |= change
    for row in rows[3:]:
        row |= {"about": "x" * (700_000 if large else 1)}
    with pytest.raises(SuiteError) as refused:
        suite_in(tmp_path / "suite", rows)
    assert told in str(refused.value)


def test_an_id_that_stands_twice_is_told_once_though_two_tools_search_the_table(tmp_path):
    rows = [*merchants("Larkhaven", 5)]
    rows[2]["id"] = "la0001"
    with pytest.raises(SuiteError) as refused:
        suite_in(tmp_path, rows, **{"tools.yaml": json.dumps([TOOL, {**TOOL, "name": "search_again"}, DETAILS])})
    assert str(refused.value).count("occurs twice") == 1


def test_specifications_are_held_against_the_table(tmp_path):
    answer = {**TOOL["answer"], "id": "idd", "fields": {**TOOL["answer"]["fields"], "colour": "word"}, "text": "qwery"}
    with pytest.raises(SuiteError) as refused:
        suite_in(tmp_path, tool={**TOOL, "answer": answer})
    for told in ("has a column 'idd'", "has a column 'colour'", "no parameter 'qwery' (did you mean 'query'?)"):
        assert told in str(refused.value)


@pytest.mark.parametrize("large", [False, True])
def test_a_wrong_part_column_is_one_problem_of_the_tool(tmp_path, monkeypatch, large):
    monkeypatch.setattr("pytest_mapsat.suite.tables.LARGE_BYTES", 0 if large else 1 << 40)
    with pytest.raises(SuiteError) as refused:
        suite_in(tmp_path, tool={**TOOL, "answer": {**TOOL["answer"], "part": "citi"}})
    assert len(refused.value.problems) == 1
    assert "tools.yaml:1" in str(refused.value)
    assert "no row of the table merchants has a column 'citi' (did you mean 'city'?)" in str(refused.value)


def test_a_case_changes_hides_and_adds_rows(tmp_path):
    changed = [
        {"table": "merchants", "where": {"kind": "bar", "city": "Larkhaven"}, "hide": True},
        {"table": "merchants", "add": [{**merchants("Larkhaven", 1)[0], "id": "new", "kind": "bar"}]},
    ]  # fmt: skip
    sandbox = sandbox_of(suite_in(tmp_path, changed=changed))
    assert sandbox.call("search", {"query": "pub at Rowan Square"}).result["merchants"][0] == {"id": "new"}


# -- large tables

QUERIES = (
    "quiet bar near Rowan Square, at most 60 yuan a head",
    "酒吧，评分4.2以上",
    "bakery open at 22:00",
    "Amber Fox 1203",
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tables"


@pytest.fixture(scope="module")
def many():
    return [row for city in ("Larkhaven", "Port Elm") for row in merchants(city, 1500, note="y" * 200)]


def ranks(suite):
    ranker = Ranker(suite, "search")
    return [ranker.rank(query, part) for query, part in itertools.product(QUERIES, ranker.parts)]


def test_the_index_is_kept_and_the_same_whatever_the_order_of_the_rows(tmp_path, cache, many):
    first = ranks(suite_in(tmp_path / "a", many))
    assert all(first)
    assert len(list(cache.glob("*.arrays"))) == 3
    stamps = {file: file.stat().st_mtime_ns for file in cache.glob("*.arrays")}
    assert ranks(suite_in(tmp_path / "b", many)) == first
    assert {file: file.stat().st_mtime_ns for file in cache.glob("*.arrays")} == stamps
    assert ranks(suite_in(tmp_path / "c", many[::-1])) == first


def test_other_code_never_reads_an_index_that_this_one_kept(tmp_path, cache, many, monkeypatch):
    first = ranks(suite_in(tmp_path / "a", many))
    stamps = {file: file.stat().st_mtime_ns for file in cache.glob("*.arrays")}
    monkeypatch.setattr("pytest_mapsat.sandbox.large._code", lambda: ["0" * 64])
    assert ranks(suite_in(tmp_path / "b", many)) == first
    assert len(list(cache.glob("*.arrays"))) == 2 * len(stamps)
    assert {file: file.stat().st_mtime_ns for file in stamps} == stamps


def test_small_and_large_tables_answer_alike(tmp_path, cache, many, monkeypatch):
    kept = ranks(suite_in(tmp_path / "a", many))
    monkeypatch.setattr("pytest_mapsat.suite.tables.LARGE_BYTES", 1 << 40)
    assert ranks(suite_in(tmp_path / "b", many)) == kept


def test_a_row_of_a_large_table_is_given_by_its_id(tmp_path, cache, many):
    rows = [{"table": "merchants", "where": {"id": "po0003"}, "set": {"price": 1}}]
    plain = sandbox_of(suite_in(tmp_path / "a", many))
    changed = sandbox_of(suite_in(tmp_path / "b", many, changed=rows))
    assert plain.call("details", {"id": "po0003"}).result == next(row for row in many if row["id"] == "po0003")
    assert changed.call("details", {"id": "po0003"}).result["price"] == 1
    assert changed.call("details", {"id": "po0004"}).result["id"] == "po0004"
    assert plain.call("details", {"id": "po9999"}).status == "error"


@pytest.mark.parametrize("large_bytes", [1, 1 << 40])
def test_blanks_around_an_id_do_not_count(tmp_path, cache, monkeypatch, large_bytes):
    monkeypatch.setattr("pytest_mapsat.suite.tables.LARGE_BYTES", large_bytes)
    suite = suite_in(tmp_path, [row | {"id": f" {row['id']} "} for row in merchants("Larkhaven", 5)])
    assert sandbox_of(suite).call("details", {"id": " la0003 "}).result["name"] == "Amber Fox 3"
    assert sandbox_of(suite).call("details", {"id": "la0003"}).status == "ok"
    assert Ranker(suite, "search").rank("Amber Fox 3", "Larkhaven")[0] == "la0003"


def test_only_the_part_that_is_searched_is_indexed(tmp_path, cache, many):
    Ranker(suite_in(tmp_path / "a", many), "search").rank("bar", "Port Elm")
    assert len(list(cache.glob("*.arrays"))) == 2


def test_a_damaged_index_is_built_anew(tmp_path, cache, many):
    spoils = (
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:-9] + b"!" + data[-8:],
        lambda data: b"x" + data[1:],
        lambda data: data.replace(b"18:00-02:00", b"00:00-24:00").replace(b"la", b"lb"),
    )
    first = ranks(suite_in(tmp_path / "a", many))
    whole = {file: file.read_bytes() for file in cache.glob("*.arrays")}
    for number, spoil in enumerate(spoils):
        for file, data in whole.items():
            file.write_bytes(spoil(data))
        assert ranks(suite_in(tmp_path / str(number), many)) == first, number
        assert {file: file.read_bytes() for file in cache.glob("*.arrays")} == whole, number


def test_a_cache_folder_that_cannot_be_written_leaves_the_search_in_memory(tmp_path, cache, many):
    cache.parent.write_text("no folder")
    without = ranks(suite_in(tmp_path / "a", many))
    cache.parent.unlink()
    assert ranks(suite_in(tmp_path / "b", many)) == without


def test_a_full_disk_leaves_the_search_in_memory(tmp_path, cache, many, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pytest_mapsat.sandbox.large.replacing", full)
    without = ranks(suite_in(tmp_path / "a", many))
    assert not list(cache.glob("*.arrays"))
    monkeypatch.undo()
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(cache.parent))
    assert ranks(suite_in(tmp_path / "b", many)) == without


def test_processes_with_other_hash_seeds_build_one_index_and_answer_alike(tmp_path, cache, many):
    suite_in(tmp_path / "a", many)
    script = (
        "import sys; from pathlib import Path; from pytest_mapsat.suite import open_suite; from pytest_mapsat.sandbox import Ranker\n"
        "ranker = Ranker(open_suite(Path(sys.argv[1])), 'search')\n"
        "print([ranker.rank(q, p) for q in sys.argv[2:] for p in ranker.parts])"
    )

    def told(seed: int) -> str:
        run = [sys.executable, "-c", script, str(tmp_path / "a"), *QUERIES]
        return subprocess.run(run, env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, check=True).stdout  # fmt: skip

    with ThreadPoolExecutor() as pool:
        first, second = pool.map(told, (1, 2))
    assert first == second
    assert len(list(cache.glob("*.arrays"))) == 3


def test_a_builder_that_is_killed_leaves_nothing_that_holds_others_up(tmp_path, cache, many):
    suite = suite_in(tmp_path / "a", many)
    script = (
        "import os, signal, sys; from pathlib import Path; from pytest_mapsat.sandbox import large, Ranker\n"
        "from pytest_mapsat.suite import open_suite\n"
        "large._prune = lambda path: None\n"
        "ranker = Ranker(open_suite(Path(sys.argv[1])), 'search')\n"
        "large.os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "ranker.rank('bar', 'Larkhaven')"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path / "a")], check=False)
    assert killed.returncode == -9
    assert len(list(cache.glob("*.arrays"))) == 1  # the rows; no half of an index
    assert Ranker(suite, "search").rank("bar", "Larkhaven")
    assert len(list(cache.glob("*.arrays"))) == 2


def test_thousands_of_parts_hold_few_files_open(tmp_path, cache, monkeypatch):
    monkeypatch.setattr("pytest_mapsat.suite.tables.LARGE_BYTES", 1)
    rows = [row | {"id": f"{town}-{row['id']}"} for town in range(150) for row in merchants(f"Town {town} Lake", 1)]
    ranker = Ranker(suite_in(tmp_path, rows), "search")
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert all(
        ranker.rank("cheap bar open at 22:00", part, filters={"district": "Rowan"}) is not None for part in ranker.parts
    )
    assert len(list(Path("/proc/self/fd").iterdir())) - before < 80


def test_figures_beyond_all_measure_are_none(tmp_path):
    ranker = Ranker(suite_in(tmp_path, merchants("Larkhaven", 5, price=10**400)), "search")
    assert ranker.rank("bar at most 60 yuan", "Larkhaven", filters={"max_price": 10**9}) == ()


def test_a_file_that_changes_after_rows_were_read_is_no_fault_of_the_agent(tmp_path, cache, many):
    suite = suite_in(tmp_path / "a", many)
    ranker = Ranker(suite, "search")
    ranker.rank("bar", "Larkhaven")
    (tmp_path / "a" / "state" / "merchants.jsonl").write_text(lines(many[::-1])[10:])
    with pytest.raises(InfrastructureError, match="has changed since it was opened"):
        ranker.rank("bar", "Larkhaven")


def test_a_file_that_changes_while_it_is_indexed_leaves_no_index_of_what_it_was(tmp_path, cache, many, monkeypatch):
    path, own = tmp_path / "a" / "state" / "merchants.jsonl", large.content_digest

    def changing(read: Path) -> str:
        digest = own(read)
        read.write_text(lines(many[::-1][:-1]))
        return digest

    suite_in(tmp_path / "b", many)
    before = set(cache.glob("*.arrays"))
    for file in before:
        file.unlink()
    monkeypatch.setattr(large, "content_digest", changing)
    with pytest.raises(InfrastructureError, match="has changed since it was opened"):
        suite_in(tmp_path / "a", many)
    assert path.exists()
    assert not list(cache.glob("*.arrays"))


def test_a_file_that_changes_while_it_is_used_is_no_fault_of_the_agent(tmp_path, cache, many):
    suite = suite_in(tmp_path / "a", many)
    path = tmp_path / "a" / "state" / "merchants.jsonl"
    for change in (lambda: path.write_text(lines(many[:100])), path.unlink):
        change()
        with pytest.raises(InfrastructureError, match="has changed since it was opened"):
            Ranker(suite, "search").rank("bar", "Larkhaven")


# -- the order without a case


def test_a_ranker_takes_filters_and_refuses_what_the_tool_refuses(suite):
    ranker = Ranker(suite, "search")
    assert ranker.parts == ("Larkhaven", "Port Elm", "上海市")
    rated = ranker.rank("bar", "Port Elm", limit=50, filters={"min_rating": 4.8})
    ratings = {row["id"]: row["rating"] for row in CITIES}
    assert rated
    assert min(ratings[id_] for id_ in rated) >= 4.8
    with pytest.raises(ValueError, match="there is no city 'Elm'; there is Larkhaven, Port Elm, 上海市"):
        ranker.rank("bar", "Elm")
    with pytest.raises(UsageError, match="'serch' is not a tool that ranks; there is search"):
        Ranker(suite, "serch")
