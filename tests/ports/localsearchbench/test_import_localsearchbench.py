"""``mapsat import localsearchbench`` on made-up files in the layout of the benchmark: its own are not in its repository."""

import json

import pytest

from pytest_mapsat.cli import main
from pytest_mapsat.suite import lint, open_suite

PUBLISHED = {
    "Hop Count": 3,
    "Difficulty": "L4",
    "City": "苇若陵",
    "Question": "周末想在梧桐区走走，先看老房子，再喝下午茶，有什么推荐？",
    "Multi-hop search path": "Round 1. 梧桐区 老房子 Round 2. 下午茶",
    "Answer": "先去枫楼，再去咖啡树花园。\\boxed{枫楼；咖啡树花园}",
}
FOR_THE_LOADER = {
    "id": 7,
    "query": "A theatre in Fenewick, then noodles at the same square",
    "reference_answer": "Brinagle Theatre, then Corandun Noodles.",
    "hop_used_queries": ["theatre in Fenewick", "noodle bar by Ivory Square"],
    "hop_reference_answers": ["Brinagle Theatre (4.5)", "Corandun Noodles"],
    "difficulty": "L3",
    "city": "Fenewick",
}
THEATRE = {"poi_id": "p1", "name": "Brinagle Theatre", "city": "Fenewick", "subcategory": "theatre", "landmark": "Ivory Square", "rating": 4.5, "tags": ["stage"]}  # fmt: skip
NOODLES = {"id": 2, "name": "Corandun Noodles", "city": "Fenewick", "subcategory": "noodle bar", "landmark": "Ivory Square", "rating": "4.2", "tags": ["soup", "late"], "delivery_available": "yes", "specialties": ["soup"]}  # fmt: skip
HOUSE = {
    "poi_id": "p3",
    "name": "枫楼",
    "city": "苇若陵市",
    "products": [{"name": "票", "price": 1.5}],
    "avg_price": 30.0,
}
MERCHANTS = [THEATRE, NOODLES, HOUSE]


def lines(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def write(folder, **files):
    """Write files into a folder; ``__`` in a name stands for the dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    root = tmp_path_factory.mktemp("lsb")
    tasks = json.dumps([PUBLISHED, FOR_THE_LOADER], ensure_ascii=False, indent=1).encode()
    src = write(root / "src", tasks__json=tasks, merchants__jsonl=lines(*MERCHANTS))
    assert main(["import", "localsearchbench", str(src), str(root / "suite")]) == 0
    return open_suite(root / "suite")


@pytest.fixture(scope="module")
def cases(suite):
    return {case.id: case for case in (suite.load(entry) for path in suite.files() for entry in suite.entries(path))}


def test_a_task_of_the_published_table_is_a_case_of_its_level_hops_and_city(cases):
    [case] = [case for case in cases.values() if case.language == "zh"]
    assert case.id.startswith("local-")
    assert case.attributes == {"level": "L4", "city": "苇若陵市", "hops": "3"}
    assert (case.difficulty, case.visible.context.city, case.visible.query) == ("L4", "苇若陵市", PUBLISHED["Question"])
    assert [requirement.id for requirement in case.truth.requirements] == ["answer", "veto"]
    assert case.truth.requirements[0].text.endswith("简而言之：枫楼；咖啡树花园")
    assert case.truth.tools == ()


def test_hop_queries_become_hops_with_evidence_and_an_oracle(cases):
    case = cases["7"]
    assert [hop.key for hop in case.truth.tools] == ["hop-1", "hop-2"]
    assert [hop.evidence_rows[0].where["name"].values for hop in case.truth.tools] == [
        ("Brinagle Theatre",),
        ("Corandun Noodles",),
    ]
    assert [call.arguments["query"] for call in case.truth.oracle[0].calls] == FOR_THE_LOADER["hop_used_queries"]
    assert [requirement.id for requirement in case.truth.requirements] == ["hop-1", "hop-2", "answer", "veto"]


def test_merchants_have_all_fields_as_the_tool_needs_them(suite):
    rows = [json.loads(line) for line in (suite.root / "state" / "merchants.jsonl").read_bytes().splitlines()]
    assert [row["poi_id"] for row in rows] == ["p1", "2", "p3"]
    assert (rows[1]["rating"], rows[1]["tags"], rows[1]["delivery_available"]) == (4.2, ["soup", "late"], True)
    assert (rows[2]["products"], rows[2]["avg_price"], rows[2]["rating"]) == ([{"name": "票", "price": 1.5}], 30, None)
    assert {len(row) for row in rows} == {30}


def test_the_suite_is_sound_and_measured_by_local(suite):
    assert [finding for finding in lint(suite) if finding.severity == "error"] == []
    assert (suite.manifest.metrics, suite.manifest.success) == (("local",), "local_correct")
    assert suite.manifest.episode.calls == 5


def test_its_search_can_be_measured(suite, capsys):
    assert main(["lint", str(suite.root), "--retrieval", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["retrieval"]
    assert (data["hops"], data["metrics"]["ndcg@10"]["mean"]) == (2, 1)


@pytest.fixture
def imported(tmp_path, capsys):
    """Return a function that imports some files, and returns exit status, output and errors."""

    def run(*, path="", **files):
        src = write(tmp_path / "src", **files)
        status = main(["import", "localsearchbench", str(src / path), str(tmp_path / "suite")])
        return status, *capsys.readouterr()

    return run


def test_what_is_wrong_is_told_with_file_line_and_what_was_meant(imported):
    bad = [
        {"poi_id": "p1", "name": "again", "city": "Fenewick"},
        {"poi_id": "p4", "name": "x", "city": "Fenewick", "rating": "good"},
        {"poi_id": "p5", "nmae": "x", "city": "Fenewick"},
        {"name": "x", "city": "Fenewick"},
        {"poi_id": "p6", "name": "x", "city": "Fenewick", "raiting": 4},
        {"poi_id": "p7", "name": "x", "city": "Fenewick", "delivery_available": "perhaps"},
        {"poi_id": "p9", "name": "x", "city": "Fenewick", "rating": 10**400},
    ]
    torn = b'[1]\n{"name"\n{"poi_id": "p8", "name": "x", "city": "F", "rating": NaN}\n'
    tasks = lines(FOR_THE_LOADER, FOR_THE_LOADER, {"qestion": "x", "answer": "y"}, {"question": "x", "answer": 3})
    status, out, _ = imported(merchants__jsonl=lines(*MERCHANTS, *bad) + torn, tasks__jsonl=tasks)
    assert status == 0
    for told in (
        "merchants.jsonl:4: the poi_id 'p1' stands here twice; the first one is kept",
        "merchants.jsonl:5: rating: found 'good', expected a number; the merchant is left out",
        "merchants.jsonl:6: name: is missing; the merchant is left out",
        "merchants.jsonl:7: poi_id: is missing; the merchant is left out",
        "1 field raiting",
        "merchants.jsonl:9: delivery_available: found 'perhaps', expected true or false",
        "merchants.jsonl:10: rating: ",
        "merchants.jsonl:11: found [1], expected a task or a merchant",
        "merchants.jsonl:12: ",
        "merchants.jsonl:13: ",
        "tasks.jsonl:2: another task has the id ",
        "tasks.jsonl:3: question: found None, expected a text (qestion: did you mean 'question'?)",
        "tasks.jsonl:4: answer: found 3, expected a text",
    ):
        assert told in out, told


def test_tasks_alone_make_a_suite_without_a_search(imported):
    status, out, _ = imported(tasks__jsonl=lines(PUBLISHED, FOR_THE_LOADER), path="tasks.jsonl")
    assert status == 0
    assert "2 cases, 0 tools" in out
    assert "the source has no merchants: the suite has no search" in out


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"tasks__parquet": b"version https://git-lfs.github.com/spec/v1\noid sha256:1fa0\nsize 787182\n"}, "is a pointer of Git LFS"),
        ({"tasks__json": b'"a text"'}, "tasks.json:1: found 'a text', expected a list of tasks or merchants"),
        ({"tasks__json": b"\xff"}, "is not UTF-8"),
        ({"tasks__json": b"[" * 10_000}, "tasks.json:1"),
        ({"merchants__jsonl": lines(*MERCHANTS)}, "holds no task"),
        ({"tasks__jsonl": b'{"question": "' + b"x" * (1 << 20) + b'"}\n'}, "the line is longer than"),
        ({"tasks__txt": b"x"}, "holds no file"),
    ],
)  # fmt: skip
def test_a_source_that_cannot_be_used_is_told_and_leaves_nothing_behind(imported, tmp_path, files, told):
    status, _, err = imported(**files)
    assert status == 2
    assert told in err
    assert "Traceback" not in err
    assert not (tmp_path / "suite").exists()


def test_a_link_that_leads_out_of_the_source_is_not_followed(imported, tmp_path):
    write(tmp_path / "elsewhere", tasks__jsonl=lines(PUBLISHED))
    write(tmp_path / "src")
    (tmp_path / "src" / "tasks.jsonl").symlink_to(tmp_path / "elsewhere" / "tasks.jsonl")
    status, _, err = imported()
    assert (status, "holds no file" in err) == (2, True)


def test_parquet_is_read_as_json_is(tmp_path, capsys):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    src = write(tmp_path / "src" / "data", merchants__jsonl=lines(*MERCHANTS))
    parquet.write_table(pa.Table.from_pylist([PUBLISHED, PUBLISHED | {"City": "Nowhere"}]), src / "train.parquet")
    assert main(["import", "localsearchbench", str(tmp_path / "src"), str(tmp_path / "suite")]) == 0
    out = capsys.readouterr().out
    assert "2 cases, 2 tools" in out
    assert "train.parquet:2: no merchant is in 'Nowhere'" in out
    (src / "train.parquet").write_bytes(b"PAR1 and nothing behind it")
    assert main(["import", "localsearchbench", str(tmp_path / "src"), str(tmp_path / "other")]) == 2
    assert "train.parquet: cannot be read as parquet" in capsys.readouterr().err


def test_without_the_extra_parquet_is_told_how_to_get_it(imported, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    status, _, err = imported(tasks__parquet=b"PAR1")
    assert (status, "pip install 'pytest-mapsat[parquet]'" in err) == (2, True)


def test_hops_that_do_not_come_over_whole_are_told(imported):
    task = {"question": "A play and tea?", "answer": "x", "hop_reference_answers": ["a", "b"]}
    more = {"question": "More?", "answer": "x", "hop_used_queries": ["q"] * 30, "hop_reference_answers": ["a"] * 30}
    tasks = lines(task | {"hop_used_queries": ["play", "tea", "cake"]}, more, task | {"hop_used_queries": ["play", "tea"], "id": "ok"})  # fmt: skip
    _, out, _ = imported(merchants__jsonl=lines(*MERCHANTS), tasks__jsonl=tasks)
    assert "tasks.jsonl:1: found 3 queries and 2 answers of hops, expected as many, at most 20" in out
    assert "tasks.jsonl:2: found 30 queries and 30 answers of hops, expected as many, at most 20" in out
    assert "tasks.jsonl:3" not in out
