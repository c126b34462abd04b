"""``mapsat build merchants``: a made-up world of merchants, the same on every machine."""

import errno
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tracemalloc
from collections import Counter, defaultdict

import pytest

from pytest_mapsat.cli import main
from pytest_mapsat.making import BuildRequest, builder_of
from pytest_mapsat.model import open_at
from pytest_mapsat.suite import lint, open_suite

#: The fields of figure 14 of the paper in its order, and the id.
FIELDS = [
    "poi_id",
    "name",
    "category",
    "subcategory",
    "description",
    "address",
    "city",
    "district",
    "business_area",
    "landmark",
    "business_hours",
    "price_range",
    "avg_price",
    "rating",
    "review_count",
    "tags",
    "facilities",
    "phone",
    "mobile",
    "email",
    "latitude",
    "longitude",
    "delivery_available",
    "delivery_range",
    "delivery_fee",
    "min_order_amount",
    "promotions",
    "products",
    "group_deals",
]
#: Which Python, which machine and which locale builds a world has no part in its bytes: this is what all of them write.
DIGEST = "acffd31464bfbae2440c08b07095514ca88f19a4e2b47cac5eb2a0a19c676303"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A suite of four towns, two of each language, of 1,000 merchants."""
    dest = tmp_path_factory.mktemp("worlds") / "merchants"
    assert main(["build", "merchants", str(dest), "--seed", "7", "--cities", "4", "--each", "1000"]) == 0
    return dest


@pytest.fixture(scope="module")
def rows(world):
    return [json.loads(line) for line in (world / "state" / "merchants.jsonl").read_text("utf-8").splitlines()]


def digest(folder):
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        whole.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def test_every_merchant_has_the_fields_of_the_paper_in_its_order(rows):
    assert {tuple(row) for row in rows} == {tuple(FIELDS)}
    assert len({row["poi_id"] for row in rows}) == len(rows) == 4000


def test_the_towns_take_turns_between_the_languages(rows):
    chinese = {row["city"]: any("\u4e00" <= sign <= "\u9fff" for sign in row["name"]) for row in rows}
    assert list(chinese.values()) == [True, False, True, False]


def test_each_category_has_its_share_in_every_town(rows):
    shares = defaultdict(Counter)
    for row in rows:
        shares[row["city"]][row["category"]] += 1
    assert {tuple(sorted(counts.values())) for counts in shares.values()} == {(50, 50, 100, 200, 250, 350)}
    assert shares[rows[0]["city"]]["美食"] == shares[rows[1000]["city"]]["Dining"] == 350


def test_a_row_agrees_with_itself(rows):
    for row in rows:
        prices = [product["price"] for product in row["products"]]
        assert 5 <= len(row["tags"]) <= 8
        assert 5 <= len(row["facilities"]) <= 10
        assert len(row["promotions"]) <= 3
        assert 1 <= row["rating"] <= 5
        assert 1 <= row["review_count"] <= 10_000
        assert open_at(row["business_hours"], "12:00") in (True, False, None)
        assert row["delivery_available"] == (row["delivery_fee"] is not None)
        for deal in row["group_deals"]:
            assert deal["price"] < max(prices)
            assert 0 < deal["discount"] < 1


def test_no_number_or_address_can_be_somebody_s(rows):
    assert all(len(row["phone"]) == 8 and row["phone"].startswith("0") for row in rows)
    assert all(len(row["mobile"]) == 11 and row["mobile"].startswith("100") for row in rows)
    assert all(row["email"].endswith(".example") for row in rows)
    assert all(160 <= row["longitude"] <= 165 and 31 <= row["latitude"] <= 32 for row in rows), "the open sea"


def test_twins_differ_in_one_field(rows):
    pairs = Counter()
    by_address = defaultdict(list)
    for row in rows:
        by_address[row["city"], row["name"], row["phone"]].append(row)
    for twins in by_address.values():
        for first, second in itertools.pairwise(twins):
            [field] = [name for name in FIELDS if first[name] != second[name] and name not in ("poi_id", "email")]
            pairs[field] += 1
    assert sorted(pairs) == ["avg_price", "business_hours", "landmark", "rating"]
    assert pairs.total() > 80


def test_firms_of_a_chain_have_one_name_in_two_towns(rows):
    towns = defaultdict(set)
    for row in rows:
        towns[row["name"], row["subcategory"]].add(row["city"])
    assert sum(len(cities) > 1 for cities in towns.values()) > 20


def test_some_descriptions_promise_what_the_fields_deny(rows):
    promised = [row for row in rows if "Open round the clock" in row["description"]]
    assert len(promised) > 10
    assert not any(row["business_hours"].endswith("0:00-24:00") for row in promised)


def test_the_world_is_a_suite_whose_tools_can_be_read(world):
    assert [finding.rule for finding in lint(open_suite(world))] == ["empty"]


def test_a_seed_gives_the_same_bytes_under_any_hash_seed_and_locale(tmp_path):
    arguments = ["build", "merchants", "again", "--seed", "7", "--cities", "2", "--each", "100"]
    assert main([*arguments[:2], str(tmp_path / "first"), *arguments[3:]]) == 0
    environment = {**os.environ, "PYTHONHASHSEED": "3", "LC_ALL": "C", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "pytest_mapsat", *arguments]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert digest(tmp_path / "again") == digest(tmp_path / "first") == DIGEST


def test_more_merchants_change_none_of_the_first(rows, tmp_path):
    builder_of("merchants")(BuildRequest(seed=7, cities=1, each=30), tmp_path)
    few = [json.loads(line) for line in (tmp_path / "state" / "merchants.jsonl").read_text("utf-8").splitlines()]
    assert few == rows[:30]


def test_another_seed_gives_another_world(rows, tmp_path):
    builder_of("merchants")(BuildRequest(seed=8, cities=1, each=20), tmp_path)
    other = [json.loads(line) for line in (tmp_path / "state" / "merchants.jsonl").read_text("utf-8").splitlines()]
    assert not {row["poi_id"] for row in other} & {row["poi_id"] for row in rows}


def test_memory_does_not_grow_with_the_world(tmp_path):
    peaks = []
    for each in (100, 600):
        tracemalloc.start()
        (tmp_path / str(each)).mkdir()
        builder_of("merchants")(BuildRequest(cities=1, each=each), tmp_path / str(each))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 100_000


def test_a_suite_keeps_its_manifest_and_tools_and_no_table_is_overwritten(tmp_path, capsys):
    (tmp_path / "suite.yaml").write_text("name: mine\n")
    (tmp_path / "tools.yaml").write_text("[]\n")
    command = ["build", "merchants", str(tmp_path), "--cities", "1", "--each", "20", "--language", "en"]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert "20 rows of merchants\n" in told
    assert told.endswith(f"\nnext: mapsat lint {tmp_path}\n")
    assert (tmp_path / "suite.yaml").read_text() == "name: mine\n"
    assert (tmp_path / "tools.yaml").read_text() == "[]\n"
    assert main(command) == 2
    assert "already exists" in capsys.readouterr().err


def test_a_full_disk_leaves_no_half_of_a_world(tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "merchants.jsonl")

    (tmp_path / "suite.yaml").write_text("name: mine\n")
    with monkeypatch.context() as patched:
        patched.setattr("pytest_mapsat.ports.localsearchbench.merchants._of_town", full)
        assert main(["build", "merchants", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "the tables cannot be written: No space left" in told
    assert "broke" not in told
    assert list((tmp_path / "state").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["merchant", "DEST"], "did you mean 'merchants'?"),
        (["merchants", "DEST", "--cities", "0"], "--cities: found 0, expected 1 to 30"),
        (["merchants", "DEST", "--each", "10000000"], "--each: found 10000000, expected 1 to 200,000"),
        (["merchants", "DEST", "--language", "fr"], "invalid choice: 'fr'"),
    ],
)
def test_what_cannot_be_built_is_told_and_leaves_nothing(arguments, told, tmp_path, capsys):
    dest = tmp_path / "dest"
    assert main(["build", *(str(dest) if word == "DEST" else word for word in arguments)]) == 2
    assert told in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
