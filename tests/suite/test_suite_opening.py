"""Finding and opening a suite; its files, entries, cases, recordings, tools and fingerprint."""

import gzip
import os
import pickle
import shutil

import pytest
from suite_maker import MANIFEST, TOOLS, case_line, case_yaml, make_suite, recording_line

from pytest_mapsat.model import SuiteError
from pytest_mapsat.suite import find_suite, open_suite


def full_suite(root):
    files = {
        "b/two.yml": case_yaml("two"),
        "a/one.yaml": case_yaml("one"),
        "a/many.jsonl": case_line("m1") + case_line("m2"),
        "packed.jsonl.gz": gzip.compress(case_line("p1").encode()),
        "tools/third.yaml": TOOLS.replace("name: find", "name: third").replace("name: route", "name: fourth"),
        "recordings/x/one.jsonl": recording_line("one", "find", {"query": "a"}, [1])
        + recording_line("two", "find", {}, 2),
        "recordings/more.jsonl.gz": gzip.compress(recording_line("one", "find", {"query": "b"}, {"n": 3}).encode()),
        "README.md": "not read",
        ".hidden/x.yaml": "not read: [",
        "notes.json": "not read",
    }
    return make_suite(root, files)


def test_the_nearest_folder_with_a_manifest_is_the_suite(tmp_path):
    root = full_suite(tmp_path / "s")
    assert find_suite(root) == root
    assert find_suite(root / "a" / "one.yaml") == root
    assert find_suite(tmp_path) is None


def test_a_suite_in_a_suite_stands_for_itself(tmp_path):
    outer = make_suite(tmp_path, {"a.yaml": case_yaml("a")})
    make_suite(tmp_path / "inner", {"b.yaml": case_yaml("b")})
    assert find_suite(tmp_path / "inner" / "b.yaml") == tmp_path / "inner"
    assert [path.name for path in open_suite(outer).files()] == ["a.yaml"]


def test_files_are_the_case_files_sorted(tmp_path):
    root = full_suite(tmp_path)
    names = [path.relative_to(root).as_posix() for path in open_suite(root).files()]
    assert names == ["a/many.jsonl", "a/one.yaml", "b/two.yml", "packed.jsonl.gz"]


def test_every_listed_case_loads(tmp_path):
    suite = open_suite(full_suite(tmp_path))
    entries = [entry for path in suite.files() for entry in suite.entries(path)]
    assert [entry.id for entry in entries] == ["m1", "m2", "one", "two", "p1"]
    for entry in entries:
        case = suite.load(entry)
        assert case.id == entry.id
        assert case.language == "zh", "the manifest's language stands in"


def test_tools_come_from_all_their_files_by_name(tmp_path):
    suite = open_suite(full_suite(tmp_path))
    assert list(suite.tools) == ["find", "fourth", "route", "third"]
    assert suite.manifest.coordinates == "wgs84"


def test_recordings_are_those_of_the_case_from_all_files(tmp_path):
    suite = open_suite(full_suite(tmp_path))
    assert [recording.result for recording in suite.recordings("one")] == [{"n": 3}, [1]]
    assert [recording.result for recording in suite.recordings("two")] == [2]
    assert suite.recordings("unheard-of") == ()


def test_only_the_recordings_of_the_case_that_runs_are_parsed(tmp_path):
    lines = recording_line("one", "find", {}, 1) + '{"case": "two", "tool": "find", nonsense\n'
    suite = open_suite(make_suite(tmp_path, {"recordings/r.jsonl": lines, "a.yaml": case_yaml("one")}))
    assert len(suite.recordings("one")) == 1
    with pytest.raises(SuiteError, match=r"r\.jsonl:2: is not valid JSON"):
        suite.recordings("two")


def test_recordings_of_one_case_may_stand_apart_and_in_any_key_order(tmp_path):
    lines = [
        recording_line("a", "find", {"n": 1}, 1),
        "\n",
        recording_line("b", "find", {"n": 2}, 2),
        '{"tool": "find", "result": 3, "arguments": {}, "case": "a"}\n',
        recording_line("a", "find", {"n": 4}, 4).rstrip("\n"),
    ]
    suite = open_suite(make_suite(tmp_path, {"recordings/r.jsonl": "".join(lines)}))
    assert [recording.result for recording in suite.recordings("a")] == [1, 3, 4]
    assert [recording.result for recording in suite.recordings("b")] == [2]


def test_the_fingerprint_does_not_depend_on_place_names_or_packing(tmp_path):
    root = full_suite(tmp_path / "one")
    moved = tmp_path / "elsewhere" / "two"
    shutil.copytree(root, moved)
    (moved / "a" / "one.yaml").rename(moved / "renamed.yaml")
    (moved / "packed.jsonl.gz").unlink()
    (moved / "unpacked.jsonl").write_text(case_line("p1"), encoding="utf-8")
    assert open_suite(moved).fingerprint() == open_suite(root).fingerprint()


@pytest.mark.parametrize("name", ["suite.yaml", "tools.yaml", "a/one.yaml", "recordings/x/one.jsonl"])
def test_the_fingerprint_changes_with_the_content_of_any_file(tmp_path, name):
    root = full_suite(tmp_path)
    before = open_suite(root).fingerprint()
    with (root / name).open("a", encoding="utf-8") as file:
        file.write("\n")
    assert open_suite(root).fingerprint() != before


def test_the_order_in_which_the_disk_lists_files_does_not_matter(tmp_path, monkeypatch):
    root = full_suite(tmp_path)
    expected = open_suite(root)
    walk = os.walk

    def backwards(top, **options):
        for folder, names, files in walk(top, **options):
            names.reverse()
            yield folder, names, list(reversed(files))

    monkeypatch.setattr(os, "walk", backwards)
    suite = open_suite(root)
    assert suite.files() == expected.files()
    assert suite.recordings("one") == expected.recordings("one")
    assert suite.fingerprint() == expected.fingerprint()


def test_entries_travel_to_another_process(tmp_path):
    suite = open_suite(full_suite(tmp_path))
    entries = suite.entries(tmp_path / "a" / "many.jsonl")
    assert pickle.loads(pickle.dumps(entries)) == entries
    fresh = open_suite(tmp_path)
    assert fresh.load(entries[1]).id == "m2"
    assert fresh.load(suite.entries(tmp_path / "a" / "one.yaml")[0]).id == "one"


def test_entries_are_asked_for_by_any_spelling_of_the_path(tmp_path, monkeypatch):
    suite = open_suite(full_suite(tmp_path))
    monkeypatch.chdir(tmp_path / "a")
    from pathlib import Path

    assert suite.entries(Path("../a/one.yaml")) is suite.entries(tmp_path / "a" / "one.yaml")


@pytest.mark.parametrize("name", ["recordings/x/one.jsonl", "tools.yaml", "suite.yaml", "README.md", "../outside.yaml"])
def test_a_file_that_is_no_case_file_has_no_entries(tmp_path, name):
    root = full_suite(tmp_path / "s")
    (tmp_path / "outside.yaml").write_text(case_yaml("x"), encoding="utf-8")
    with pytest.raises(SuiteError, match="is not a case file of the suite"):
        open_suite(root).entries(root / name)


def test_a_folder_without_a_manifest_is_no_suite(tmp_path):
    with pytest.raises(SuiteError, match=r"it has no suite\.yaml"):
        open_suite(tmp_path)


def test_a_suite_without_cases_says_so_when_they_are_asked_for(tmp_path):
    suite = open_suite(make_suite(tmp_path))
    with pytest.raises(SuiteError, match="has no case files"):
        suite.files()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("schema_version: 1", "schema_version: 2"), "suite.yaml:4: schema_version: 2 was made by a newer version"),
        (("schema_version: 1", "schema_version: 0"), "schema_version: 0 is older than 1.*migrate"),
        (("schema_version: 1", "schema_version: one"), "schema_version: found 'one', expected a whole number"),
        (("coordinates: wgs84", "coordinates: wgs48"), "expected one of gcj02, wgs84.*did you mean 'wgs84'"),
        (("license: MIT", "license: MIT\nform: true"), "form: is not a known field"),
        (("license: MIT", "licence: MIT"), "licence: is not a known field.*did you mean 'license'"),
        (("  search: find places", "  'no good': x"), "expected 1 to 80 of"),
        (
            ("license: MIT", "license: MIT\nvocabulary:\n  unfit: [haunted]\n  rejcet: [shun]"),
            "suite.yaml:6: vocabulary: the language packs have no group 'rejcet'.*did you mean 'reject'",
        ),
        (
            ("license: MIT", "license: MIT\nvocabulary: {role: [roaming]}"),
            "the group 'role' needs a value.*write role[.]",
        ),
        (("license: MIT", "license: MIT\nvocabulary: {role.wiat: [x]}"), "has no value 'wiat'.*did you mean 'wait'"),
        (("license: MIT", "license: MIT\nvocabulary: {reject.x: [shun]}"), "the group 'reject' takes no value"),
        (("license: MIT", "license: MIT\nvocabulary: {unit.min*x: [y]}"), "the group 'unit' has no value"),
        (("license: MIT", "license: MIT\nvocabulary: {reject: ['']}"), "vocabulary.reject.0"),
        ((MANIFEST, "- a list"), "the manifest is one mapping"),
        ((MANIFEST, ""), "the manifest is one mapping"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_explained(tmp_path, change, words):
    root = make_suite(tmp_path, {"suite.yaml": MANIFEST.replace(*change)})
    with pytest.raises(SuiteError, match=words):
        open_suite(root)


def test_the_words_of_a_domain_are_handed_to_whoever_reads_replies(tmp_path):
    words = "vocabulary:\n  unfit: [haunted]\n  unit.min*15: [bell]\n  numeral.12: [dozen]\n"
    root = make_suite(tmp_path, {"suite.yaml": MANIFEST + words})
    groups = open_suite(root).vocabulary.groups
    assert groups == {"unfit": ("haunted",), "unit.min*15": ("bell",), "numeral.12": ("dozen",)}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (TOOLS + TOOLS, "described twice; first in .*tools.yaml:1"),
        (TOOLS.replace("effect", "efect").replace("description: Finds a way.", "efect: read"), "did you mean 'effect'"),
        (TOOLS.replace("type: object", "type: array"), "a JSON Schema of type object"),
        (TOOLS + "  match: {frm: {type: text}}\n", "'frm', which parameters does not have"),
        (TOOLS + "  match: {to: {type: txt}}\n", "did you mean 'text'"),
        ("just text", "expected a mapping"),
    ],
)
def test_tools_that_cannot_be_used_are_explained(tmp_path, content, words):
    with pytest.raises(SuiteError, match=words):
        open_suite(make_suite(tmp_path, {"tools.yaml": content}))


def test_the_problems_of_all_tool_files_are_reported(tmp_path):
    root = make_suite(tmp_path, {"tools/a.yaml": "name: a", "tools/b.yaml": "name: [", "tools.yaml": TOOLS})
    with pytest.raises(SuiteError) as caught:
        open_suite(root)
    assert {problem.path.rsplit("/", 1)[1] for problem in caught.value.problems} == {"a.yaml", "b.yaml"}


def test_a_link_out_of_the_suite_is_refused(tmp_path):
    (tmp_path / "secret.yaml").write_text(case_yaml("secret"), encoding="utf-8")
    root = make_suite(tmp_path / "s", {"a.yaml": case_yaml("a")})
    (root / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    suite = open_suite(root)
    with pytest.raises(SuiteError, match=r"link\.yaml: this leads out of the suite's folder"):
        suite.files()
    with pytest.raises(SuiteError, match="leads out"):
        suite.entries(root / "link.yaml")


def test_a_manifest_or_a_folder_behind_a_link_is_refused(tmp_path):
    outside = make_suite(tmp_path / "outside", {"cases/a.yaml": case_yaml("a")})
    root = make_suite(tmp_path / "s", {"b.yaml": case_yaml("b")})
    (root / "cases").symlink_to(outside / "cases")
    with pytest.raises(SuiteError, match="cases: this folder is a symbolic link"):
        open_suite(root).files()
    (root / "suite.yaml").unlink()
    (root / "suite.yaml").symlink_to(outside / "suite.yaml")
    with pytest.raises(SuiteError, match="leads out"):
        open_suite(root)


def test_recordings_in_a_folder_of_another_name_say_where_they_belong(tmp_path):
    root = make_suite(tmp_path, {"a.yaml": case_yaml("a"), "records/r.jsonl": recording_line("a", "find", {}, 1)})
    with pytest.raises(SuiteError, match=r"this is not a case.*recordings belong in recordings/\*\.jsonl"):
        open_suite(root).entries(root / "records/r.jsonl")


def test_a_link_within_the_suite_repeats_its_cases_and_is_caught_by_their_ids(tmp_path):
    root = make_suite(tmp_path, {"a.yaml": case_yaml("a")})
    (root / "b.yaml").symlink_to(root / "a.yaml")
    suite = open_suite(root)
    suite.entries(root / "a.yaml")
    with pytest.raises(SuiteError, match="the id 'a' is taken"):
        suite.entries(root / "b.yaml")


def test_a_dangling_link_and_a_pipe_are_refused(tmp_path):
    root = make_suite(tmp_path, {"a.yaml": case_yaml("a")})
    (root / "gone.yaml").symlink_to(root / "nowhere.yaml")
    os.mkfifo(root / "pipe.jsonl")
    with pytest.raises(SuiteError) as caught:
        open_suite(root).files()
    messages = [problem.message for problem in caught.value.problems]
    assert messages == ["cannot be read: No such file or directory", "is not a regular file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_an_unreadable_file_is_named(tmp_path):
    root = make_suite(tmp_path, {"a.yaml": case_yaml("a")})
    (root / "a.yaml").chmod(0)
    with pytest.raises(SuiteError, match=r"a\.yaml: cannot be read: Permission denied"):
        open_suite(root).entries(root / "a.yaml")


def test_a_file_that_vanished_is_named(tmp_path):
    root = make_suite(tmp_path, {"a.jsonl": case_line("a"), "b.yaml": case_yaml("b")})
    suite = open_suite(root)
    (entry,) = suite.entries(root / "a.jsonl")
    (root / "a.jsonl").unlink()
    (root / "b.yaml").unlink()
    with pytest.raises(SuiteError, match=r"a\.jsonl: changed while the run used it \(it is gone\)"):
        suite.load(entry)
    with pytest.raises(SuiteError, match=r"b\.yaml: cannot be read: No such file"):
        suite.entries(root / "b.yaml")


CHANGES = {
    "it is gone": lambda path: path.unlink(),
    "from [0-9]+ to 0 bytes": lambda path: path.write_bytes(b""),
    "from [0-9]+ to [0-9]+ bytes": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "it was written again": lambda path: os.utime(path, ns=(1, 1)),
}


@pytest.mark.parametrize("words", CHANGES)
@pytest.mark.parametrize("name", ["suite.yaml", "a/one.yaml", "recordings/x/one.jsonl"])
def test_a_file_that_changes_under_the_run_is_an_error_of_each_case_that_needs_it(tmp_path, name, words):
    root = full_suite(tmp_path)
    suite = open_suite(root)
    (one,) = suite.entries(root / "a" / "one.yaml")
    CHANGES[words](root / name)
    with pytest.raises(SuiteError, match=rf"{name}: changed while the run used it \({words}\)"):
        _ = suite.load(one), suite.recordings("one")


def test_a_change_is_no_error_of_a_case_that_does_not_need_the_file(tmp_path):
    root = full_suite(tmp_path)
    suite = open_suite(root)
    (two,) = suite.entries(root / "b" / "two.yml")
    suite.recordings("two")
    for name in ("a/one.yaml", "a/many.jsonl", "recordings/more.jsonl.gz", "packed.jsonl.gz"):
        (root / name).unlink()
    assert suite.load(two).id == "two"
    assert [recording.result for recording in suite.recordings("two")] == [2]


def test_what_was_listed_and_the_fingerprint_stay_as_they_were(tmp_path):
    root = full_suite(tmp_path)
    suite = open_suite(root)
    listed = {path: suite.entries(path) for path in suite.files()}
    fingerprint = suite.fingerprint()
    shutil.rmtree(root)
    assert {path: suite.entries(path) for path in suite.files()} == listed
    assert suite.fingerprint() == fingerprint


def test_a_fingerprint_that_is_asked_for_too_late_is_another_one(tmp_path):
    """It raises nothing: at the end of a run there is nobody to catch it."""
    root = full_suite(tmp_path)
    before, late = open_suite(root), open_suite(root)
    assert before.fingerprint() == open_suite(root).fingerprint()
    (root / "a" / "one.yaml").unlink()
    assert late.fingerprint() != before.fingerprint()
