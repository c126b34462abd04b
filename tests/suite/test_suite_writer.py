"""Writing: the same value gives the same bytes, what is written reads back the same, and nothing is left half done."""

import json
import stat

import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st
from suite_maker import MANIFEST, case_data, make_suite

from pytest_mapsat.model import Case, Recording, SuiteManifest, Tool, UsageError
from pytest_mapsat.suite import (
    new_folder,
    open_suite,
    to_yaml,
    write_bytes,
    write_cases,
    write_manifest,
    write_recordings,
    write_tool,
)

AWKWARD = [
    "12:30",
    "on",
    "1e5",
    "null",
    "",
    " x ",
    "- a",
    "a: b #c",
    "多 行\n文本\n",
    "\u2028",
    "'\"",
    "*a",
    "2026-05-07",
    "\t",
    "😀",
]
RECORDINGS = [
    Recording(case="a", tool="find", arguments={"query": "咖啡", "n": None}, result={"x": [1, 2.5, None]}),
    Recording(case="a", tool="find", arguments={}, result="text", synonyms={"uid": ("u",)}, live=True),
]


def tool(description="Finds."):
    return Tool(
        name="find", description=description, parameters={"type": "object", "properties": {"query": {"enum": AWKWARD}}}
    )


def test_a_suite_that_is_written_reads_back_the_same(tmp_path):
    manifest = SuiteManifest(
        name="demo",
        version="1.0",
        license="MIT",
        schema_version=1,
        coordinates="gcj02",
        domains={"search": "no: 12:30"},
    )
    cases = [
        Case.model_validate(case_data(name, domains=["search"], attributes={"slot": "12:30"})) for name in ("a", "b")
    ]
    write_manifest(tmp_path / "suite.yaml", manifest)
    write_tool(tmp_path / "tools" / "find.yaml", tool())
    write_cases(tmp_path / "cases.jsonl", cases[:1])
    write_bytes(tmp_path / "b.yaml", to_yaml(cases[1].to_json()))
    write_recordings(tmp_path / "recordings" / "r.jsonl", RECORDINGS)

    suite = open_suite(tmp_path)
    assert suite.manifest == manifest
    assert dict(suite.tools) == {"find": tool()}
    assert [suite.load(entry) for path in suite.files() for entry in suite.entries(path)] == [cases[1], cases[0]]
    assert list(suite.recordings("a")) == RECORDINGS


@pytest.mark.parametrize("text", [text for text in AWKWARD if text])
def test_text_that_looks_like_something_else_is_quoted_when_written(tmp_path, text):
    make_suite(tmp_path, {"tools.yaml": "[]"})
    write_tool(tmp_path / "tools" / "t.yaml", tool(text))
    assert open_suite(tmp_path).tools["find"].description == text


_printable = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=20)
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _printable,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_printable, inner, max_size=3),
    max_leaves=8,
)


@generated(80)
@given(value=_json)
def test_any_json_survives_being_written_as_yaml(tmp_path_factory, value):
    root = make_suite(tmp_path_factory.mktemp("suite"), {"tools.yaml": "[]"})
    written = Tool(name="t", description="d", parameters={"type": "object", "properties": {}, "x": value})
    write_tool(root / "tools" / "t.yaml", written)
    assert open_suite(root).tools["t"] == written


def test_the_same_value_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        write_tool(tmp_path / name / "t.yaml", tool())
        write_recordings(tmp_path / name / "r.jsonl", RECORDINGS)
    for name in ("t.yaml", "r.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_line_begins_with_the_header_in_its_fixed_order(tmp_path):
    write_cases(tmp_path / "c.jsonl", [Case.model_validate(case_data("a"))])
    data = json.loads((tmp_path / "c.jsonl").read_text(encoding="utf-8"))
    assert list(data)[:6] == ["id", "domains", "difficulty", "language", "attributes", "group"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "r.jsonl"
    write_recordings(path, RECORDINGS)
    before = path.read_bytes()

    def breaking():
        yield RECORDINGS[0]
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError):
        write_recordings(path, breaking())
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["r.jsonl"]


def test_a_written_file_has_the_usual_permissions(tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.write_bytes(b"")
    write_bytes(tmp_path / "written", b"")
    assert stat.S_IMODE((tmp_path / "written").stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)


def test_a_new_folder_appears_whole_or_not_at_all(tmp_path):
    with new_folder(tmp_path / "deep" / "dest") as folder:
        (folder / "suite.yaml").write_text(MANIFEST, encoding="utf-8")
        assert not (tmp_path / "deep" / "dest").exists()
    assert (tmp_path / "deep" / "dest" / "suite.yaml").exists()


def test_a_new_folder_that_fails_half_way_leaves_nothing(tmp_path):
    def build():
        with new_folder(tmp_path / "broken") as folder:
            (folder / "x").write_text("", encoding="utf-8")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        build()
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_may_become_the_suite(tmp_path):
    (tmp_path / "dest").mkdir()
    with new_folder(tmp_path / "dest") as folder:
        (folder / "x").write_text("", encoding="utf-8")
    assert (tmp_path / "dest" / "x").exists()


def test_a_folder_with_content_a_file_and_a_link_are_never_replaced(tmp_path):
    full, file, link = tmp_path / "full", tmp_path / "file", tmp_path / "link"
    full.mkdir()
    (full / "mine").write_text("", encoding="utf-8")
    file.write_text("", encoding="utf-8")
    link.symlink_to(tmp_path / "nowhere")
    for dest in (full, file, link):
        with pytest.raises(UsageError, match="exists and is not an empty folder"), new_folder(dest):
            pytest.fail("must not be entered")
    assert (full / "mine").exists()
