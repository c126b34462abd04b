"""``mapsat lint --retrieval``: NDCG and MRR of a ranked search over the queries of oracles, worked out by hand on eight rows."""

import json
import math

import pytest
from suite_maker import case_yaml, make_suite

from pytest_mapsat.cli import main

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
OTHERS = """
def backwards(text, part):
    ids = ["b1", "a4", "a3", "a3", "a2", "a1"]
    return iter(ids)

def broken(text, part):
    raise RuntimeError("the index is gone")

def one_text(text, part):
    return "a1"

def numbers(text, part):
    return ["a1", 4.5]

def scores(text, part):
    return {"a1": 0.2, "a2": 0.9}

def unordered(text, part):
    return {"a1", "a2"}

nothing = None
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    names = ("poi_id", "name", "city", "kind", "landmark", "rating")
    rows = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in ROWS)
    files = {"suite.yaml": MANIFEST, "tools.yaml": TOOLS, "state/merchants.jsonl": rows, "rankers_here.py": OTHERS}
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
    assert (data["suite"], data["ranker"], data["hops"], data["left_out"]) == ("small", "own", 2, {})
    assert [(one["hop"], one["part"], one["relevant"], one["places"]) for one in data["queries"]] == [
        ("play", "Northam", 1, [1]),
        ("bite", "Northam", 1, [1]),
    ]
    assert {name: metric["mean"] for name, metric in data["metrics"].items()} == {
        "ndcg@10": 1, "ndcg@20": 1, "mrr@10": 1, "mrr@20": 1,
    }  # fmt: skip


def test_another_ranker_comes_by_name_and_is_filtered_as_the_call_is(measured):
    _, out, _ = measured("--json", "--ranker", "rankers_here:backwards")
    data = json.loads(out)["retrieval"]
    # Without b1 and a3, which the filter and the town leave out, a2 is the second; a1 is the fifth of all, a3 counted once.
    assert [one["places"] for one in data["queries"]] == [[5], [2]]
    assert data["metrics"]["mrr@10"]["mean"] == pytest.approx((1 / 5 + 1 / 2) / 2)
    assert data["metrics"]["ndcg@10"]["mean"] == pytest.approx((1 / math.log2(6) + 1 / math.log2(3)) / 2)
    status, text, _ = measured("--ranker", "rankers_here:backwards")
    assert status == 0
    assert "retrieval: 2 hop queries, rankers_here:backwards" in text.splitlines()


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("rankers_here:broken", "--ranker rankers_here:broken: RuntimeError: the index is gone"),
        ("rankers_here:one_text", "it gives 'a1', expected a list of ids"),
        ("rankers_here:numbers", "it gives 4.5, expected a list of ids"),
        ("rankers_here:scores", "it gives {'a1': 0.2, 'a2': 0.9}, expected a list of ids, the best first"),
        ("rankers_here:unordered", "expected a list of ids, the best first"),
        ("rankers_here:nothing", "it is no function of a text and a part"),
        ("rankers_here:backward", "backwards"),
        ("rankers_here", "expected module:attribute"),
    ],
)
def test_a_ranker_that_cannot_be_used_is_told(measured, spec, told):
    status, _, err = measured("--ranker", spec)
    assert status == 2
    assert told in err
    assert "Traceback" not in err


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
    assert "retrieval: 3 hop queries, its own search" in out.splitlines()
    assert out.splitlines()[-2:] == [
        "not measured: 1 (no row of the part is evidence)",
        "not measured: 2 (the case has no oracle)",
    ]
