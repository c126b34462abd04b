"""The importer of VitaBench 1.0 against the published tasks that are here: which can be placed, what the oracle earns, which wrong ends are caught."""

import gzip
import json
from collections import Counter

import pytest
from tests_data import data_dir
from vita_tasks import Played, write

from pytest_mapsat.ports.vitabench.importer import import_vitabench

FILES = {
    "delivery_zh": "delivery/tasks.json",
    "delivery_en": "delivery/tasks_en.json",
    "instore_en": "instore/tasks_en.json",
}


@pytest.fixture(scope="module")
def raw():
    folder = data_dir() / "vitabench"
    if not folder.is_dir():
        pytest.skip(f"VitaBench's tasks are not at {folder}")
    return {name: [json.loads(line) for line in gzip.open(folder / f"{name}.jsonl.gz", "rt")] for name in FILES}


@pytest.fixture(scope="module")
def source(raw, tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    for name, file in FILES.items():
        write(root / "data" / "vita" / "domains" / file, raw[name])
    return root


@pytest.fixture(scope="module")
def report(source):
    return import_vitabench(source, source / "suite")


@pytest.fixture(scope="module")
def played(report, source):
    return Played(source / "suite")


def test_85_of_90_tasks_can_be_placed_and_the_five_others_are_told(report):
    assert report.cases == 90
    told = {note.place.split("(")[1].rstrip(")"): note.message for note in report.notes if note.kind == "unplaceable"}
    assert sorted(told) == ["10826007", "10826011", "10826019", "30711009", "80715001"]
    assert "order 30711009O01 stands inside order 30711009T03" in told["30711009"]
    assert "has no product 'S75401753354131701_P99357'" in told["80715001"]
    assert "has no product 'S17564420278251374_P00001'" in told["10826019"]
    assert "takes no reservations" in told["10826007"]
    assert "takes no reservations" in told["10826011"]


def test_orders_at_shops_that_the_source_labels_distraction_are_told(report):
    at_shops = {
        note.place.split("(")[1].rstrip(")")
        for note in report.notes
        if note.kind == "distraction" and " is at " in note.message
    }
    assert at_shops == {"10826018", "10826030"}
    of_products = {
        note.place.split("(")[1].rstrip(")") for note in report.notes if note.kind == "distraction"
    } - at_shops
    assert of_products == {"10826012", "10826014", "10826016"}
    counted = Counter(note.kind for note in report.notes)
    assert [counted[kind] for kind in ("past", "choice", "time")] == [1, 6, 47]


def test_the_oracle_of_each_of_the_85_ends_as_the_reference(played):
    placed = [case_id for case_id in played.cases if played.oracle(case_id)]
    assert len(placed) == 85
    assert {played.orders(case_id, played.oracle(case_id)).outcome for case_id in placed} == {"passed"}


def test_every_alteration_of_the_oracle_is_caught(played):
    ways: Counter[str] = Counter()
    # A sixth of the cases, of every file: all of them take half a minute.
    for case_id in [case_id for case_id in played.cases if played.oracle(case_id)][::6]:
        for way, calls in played.altered(case_id):
            label = played.orders(case_id, calls)
            assert label.outcome == "failed", (case_id, way, label.why)
            ways[way] += 1
    assert sum(ways.values()) > 120
    assert min(ways[way] for way in ("another product", "another count", "another shop", "an order too many")) > 5


def test_independent_orders_may_be_placed_in_any_order(played):
    for case_id in played.cases:
        if played.oracle(case_id):
            calls = played.linked(case_id)
            made = [call for call in calls if "made" not in call]
            turned = [call for first in reversed(made) for call in calls if call is first or call.get("made") is first]
            assert played.orders(case_id, turned).outcome == "passed", case_id


def test_one_packed_file_imports_as_its_domain(tmp_path):
    report = import_vitabench(data_dir() / "vitabench" / "delivery_zh.jsonl.gz", tmp_path / "suite")
    assert (report.cases, report.tools) == (10, 20)
    assert (tmp_path / "suite" / "suite.yaml").read_text().count("vita-delivery") == 1


def test_nothing_of_the_labels_is_in_a_case(raw, played):
    labels = ("shop_type", "product_type", "store_type", "distraction", "target_reason")
    assert any(label in json.dumps(raw) for label in labels)
    for case in played.cases.values():
        text = json.dumps({"visible": case.visible.to_json(), "world": case.world.to_json()}, ensure_ascii=False)
        assert not any(label in text for label in labels)
