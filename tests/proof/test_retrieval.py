"""``mapsat lint --retrieval``: NDCG and MRR of a ranked search over the queries of oracles, worked out by hand on eight rows."""

import json
import math
from dataclasses import replace

import pytest
from suite_maker import case_yaml, make_suite

from pytest_mapsat.cli import main
from pytest_mapsat.model import ExpectedTool
from pytest_mapsat.proof.oracles import HopQuery

MANIFEST = "name: small\nversion: '1'\nschema_version: 1\n"
TOOLS = """\
- name: search
  description: Searches one town.
  parameters:
    type: object
    required: [query]
    properties: {query: {type: string}, city: {type: string}, min_rating: {type: number}}
  answer:
    kind: ranked
    table: merchants
    id: poi_id
    part: city
    text: query
    fields: {name: name, kind: word, landmark: word, rating: {holds: figure, role: rating}}
    where: {min_rating: {op: least, column: rating}}
  entities: [{items: items, name: name, id: poi_id, fields: {kind: kind, landmark: text, rating: rating}}]
"""
ROWS = [
    ("a1", "Ash Theatre", "Northam", "theatre", "Clock Tower", 4.5),
    ("a2", "Birch Noodles", "Northam", "noodle bar", "Clock Tower", 4.0),
    ("a3", "Cedar Noodles", "Northam", "noodle bar", "Clock Tower", 3.0),
    ("a4", "Dogwood Noodles", "Northam", "noodle bar", "Old Pier", 4.9),
    ("b1", "Elm Noodles", "Southam", "noodle bar", "Clock Tower", 4.8),
]
CASE = {
    "id": "evening",
    "visible": {"query": "A play, and noodles close by.", "context": {"city": "Northam"}},
    "truth": {
        "requirements": [{"id": "e1", "kind": "asked", "text": "noodles are named"}],
        "tools": [
            {"name": "search", "id": "play", "evidence": {"where": {"kind": "theatre"}}},
            {
                "name": "search",
                "id": "bite",
                "evidence": {"where": {"kind": "noodle bar", "landmark": "Clock Tower", "rating": {"op": "between", "min": 3.5}}},
                "match": {"query": {"op": "contains", "of": {"op": "bound", "call": "play", "path": "items.*.landmark"}}},
            },
        ],
        "oracle": [
            {
                "calls": [
                    {"tool": "search", "arguments": {"query": "theatre"}},
                    {"tool": "search", "arguments": {"query": "noodle bar by Clock Tower", "min_rating": 3.5}},
                ],
                "say": "Birch Noodles.",
            }
        ],
    },
}  # fmt: skip
FOUND = HopQuery("one", "games", "Northam", {}, ExpectedTool(id="play", name="search"), 1, (1,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    names = ("poi_id", "name", "city", "kind", "landmark", "rating")
    rows = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in ROWS)
    files = {"suite.yaml": MANIFEST, "tools.yaml": TOOLS, "state/merchants.jsonl": rows}
    return make_suite(tmp_path_factory.mktemp("small") / "small", files | {"cases/a.jsonl": json.dumps(CASE) + "\n"})


@pytest.fixture
def measured(folder, capsys, monkeypatch):
    """Return a function that measures with some options, and returns exit status, output and errors."""
    monkeypatch.chdir(folder)

    def run(*options, path="."):
        status = main(["lint", path, "--retrieval", *options])
        return status, *capsys.readouterr()

    return run


def test_the_own_search_is_measured_by_the_evidence_of_each_hop_over_its_whole_part(measured):
    status, out, _ = measured("--json")
    data = json.loads(out)["retrieval"]
    assert status == 0
    assert (data["suite"], data["hops"], data["left_out"]) == ("small", 2, {})
    assert [(one["hop"], one["part"], one["relevant"], one["places"]) for one in data["queries"]] == [
        ("play", "Northam", 1, [1]),
        ("bite", "Northam", 1, [1]),
    ]
    assert {name: metric["mean"] for name, metric in data["metrics"].items()} == {
        "ndcg@10": 1, "ndcg@20": 1, "mrr@10": 1, "mrr@20": 1,
    }  # fmt: skip


def test_a_relevant_row_counts_by_its_place():
    found = replace(FOUND, relevant=3, places=(2, 5, 12))
    assert found.metric("mrr@10") == 0.5
    best = sum(1 / math.log2(place + 1) for place in (1, 2, 3))
    assert found.metric("ndcg@10") == pytest.approx((1 / math.log2(3) + 1 / math.log2(6)) / best)
    assert found.metric("ndcg@20") == pytest.approx((1 / math.log2(3) + 1 / math.log2(6) + 1 / math.log2(13)) / best)
    assert replace(FOUND, places=(11,)).metric("mrr@10") == 0


def test_a_suite_without_ranked_search_or_without_hops_is_told_plainly(measured, folder, tmp_path):
    status, _, err = measured(path=str(make_suite(tmp_path / "plain", {"cases/a.yaml": case_yaml("a")})))
    assert (status, err) == (2, "mapsat: demo has no ranked search: a tool with answer: {kind: ranked} in its tools\n")
    rows = (folder / "state" / "merchants.jsonl").read_bytes()
    files = {"suite.yaml": MANIFEST, "tools.yaml": TOOLS, "state/merchants.jsonl": rows}
    case = {**CASE, "truth": {"requirements": CASE["truth"]["requirements"]}}
    bare = make_suite(tmp_path / "bare", files | {"cases/a.jsonl": json.dumps(case) + "\n"})
    status, _, err = measured(path=str(bare))
    assert status == 2
    assert (
        "small has no case with a hop that can be measured: they need truth.oracle, and truth.tools with evidence"
        in err
    )
    status, _, err = measured(path=str(tmp_path / "nowhere"))
    assert (status, "there is no such file or folder" in err) == (2, True)


def test_hops_that_cannot_be_measured_are_counted(measured, folder, tmp_path):
    without = {**CASE, "id": "b", "truth": {**CASE["truth"], "oracle": []}}
    lost = json.loads(json.dumps({**CASE, "id": "c"}))
    lost["truth"]["tools"][0]["evidence"] = {"where": {"kind": "opera"}}
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    files["state/merchants.jsonl"] = (folder / "state" / "merchants.jsonl").read_bytes()
    lines = "".join(json.dumps(case) + "\n" for case in (CASE, without, lost))
    _, out, _ = measured(path=str(make_suite(tmp_path / "three", files | {"cases/a.jsonl": lines})))
    assert "retrieval: 3 hop queries" in out.splitlines()
    assert out.splitlines()[-2:] == [
        "not measured: 1 (no row of the part is evidence)",
        "not measured: 2 (the case has no oracle)",
    ]
