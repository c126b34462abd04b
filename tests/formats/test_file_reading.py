"""Files as strangers leave them: pipes, loops, odd names, bombs; each is told in one line, at once."""

import os
import re
import sys
import time
from zipfile import ZipFile, ZipInfo

import pytest
from saved_runs import card, run_text
from suite_maker import case_line, case_yaml, make_suite

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.cli import main
from pytest_mapsat.formats import (
    content_digest,
    limits,
    parse_yaml,
    read_bytes,
    read_csv,
    read_lines,
    read_text,
    replacing,
)
from pytest_mapsat.judges import make_judge
from pytest_mapsat.model import MapsatError, SuiteError, Trajectory
from pytest_mapsat.suite import lint, open_suite

READERS = [
    lambda path: read_bytes(path, 10),
    lambda path: list(read_lines(path, 10)),
    lambda path: list(read_csv(path, ["a"])),
    content_digest,
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("name", ["pipe", "pipe.gz", "folder", "/dev/zero"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path, read, name):
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.gz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SuiteError, match="cannot be read: it is not a regular file"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["pipe", ".", "/dev/zero", "loop"])
def test_a_recorded_source_or_judge_of_no_regular_file_is_refused_at_once(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for ask in (resolve_source, lambda spec, root: make_judge(spec, {}, root=root)):
        with pytest.raises(MapsatError, match=r"is not a regular file|cannot be read: Too many levels"):
            ask(f"recorded:{name}", root=tmp_path)


def test_a_loop_of_links_in_a_suite_is_a_located_problem(tmp_path):
    root = make_suite(tmp_path, {"a.yaml": case_yaml("a")})
    (root / "one.yaml").symlink_to("two.yaml")
    (root / "two.yaml").symlink_to("one.yaml")
    told = [str(finding.problem) for finding in lint(open_suite(root)) if finding.rule == "file"]
    assert len(told) == 2
    assert all("Too many levels of symbolic links" in one for one in told)


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes UTF-8 names only")
@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"caf\xe9.yaml", r"caf\xe9.yaml: has a name that is not UTF-8 (rename it)"),
        (b"caf\xe9/a.yaml", r"caf\xe9/a.yaml: has a name that is not UTF-8 (rename it)"),
        (b"a\nb\x1b[1m.yaml", r"a\nb\x1b[1m.yaml:2: is not valid YAML"),
    ],
)
def test_an_odd_file_name_is_printable_in_every_message(tmp_path, monkeypatch, capfd, raw, told):
    root = make_suite(tmp_path, {"good.yaml": case_yaml("good"), os.fsdecode(raw): "id: ["})
    monkeypatch.chdir(root)
    assert main(["lint", "."]) == 1
    assert told in capfd.readouterr().out


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes UTF-8 names only")
def test_a_recorded_file_of_an_odd_name_is_named_printably(tmp_path):
    odd, gone = os.fsdecode(b"caf\xe9.json"), os.fsdecode(b"caf\xea.json")
    (tmp_path / odd).write_text(run_text(card(Trajectory(case="c1", turns=()))), encoding="utf-8")
    assert resolve_source(f"recorded:{odd}", root=tmp_path).file == r"caf\xe9.json"
    with pytest.raises(MapsatError, match=r"caf\\xea\.json: there is no such file"):
        resolve_source(f"recorded:{gone}", root=tmp_path)


@pytest.mark.parametrize("text", ["- 1\n", "k: {a: 1}\n---\n", "- !tag 1\n", "- &a 1\n"])
def test_yaml_of_endless_parts_is_refused_before_it_is_read_to_its_end(monkeypatch, text):
    monkeypatch.setattr(limits, "YAML_PARTS", 2_000)
    began = time.process_time()
    with pytest.raises(SuiteError, match="holds more than 2000 keys, values, lists and mappings"):
        parse_yaml((text * (8_000_000 // len(text))).encode(), "big.yaml")
    assert time.process_time() - began < 5  # all of it takes 20 seconds and more


def test_a_flow_list_without_end_is_refused_on_its_one_line(monkeypatch):
    monkeypatch.setattr(limits, "YAML_PARTS", 1000)
    with pytest.raises(SuiteError, match=r"big\.yaml:1: holds more than 1000 keys"):
        parse_yaml(b"[" + b"1, " * 5000 + b"1]", "big.yaml")
    assert len(parse_yaml(b"[" + b"1, " * 900 + b"1]", "small.yaml")[0].data) == 901


def test_files_that_look_like_cases_but_for_their_ending_are_named(tmp_path):
    odd = ["a.YAML", "b.Yml", "deep/c.JSONL", "d.yaml.gz", "e.jsonl.GZ"]
    quiet = ["readme.md", "import.json", ".hidden.YAML", ".git/x.YAML", "a.py", "cases.csv"]
    root = make_suite(tmp_path, {"good.yaml": case_yaml("good")} | dict.fromkeys([*odd, *quiet], case_line("x")))
    suite = open_suite(root)
    assert {problem.path for problem in suite.inventory.unread} == {f"{root}/{name}" for name in odd}
    message = "looks like cases but is not read: expected the ending .yaml, .yml, .jsonl or .jsonl.gz"
    assert {problem.message for problem in suite.inventory.unread} == {message}
    warned = {finding.problem.path for finding in lint(suite) if finding.rule == "not-read"}
    assert warned == {f"{root}/{name}" for name in odd}


def test_a_table_knows_the_line_that_each_row_begins_on(tmp_path):
    (tmp_path / "t.csv").write_bytes('\ufeffa,b\r\n1,"x\n\ny"\r\n\r\n2,"z, ""q"""\r\n'.encode())
    rows = [(row.line, row.cells) for row in read_csv(tmp_path / "t.csv", ["a"])]
    assert rows == [(2, {"a": "1", "b": "x\n\ny"}), (6, {"a": "2", "b": 'z, "q"'})]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n1\n", "t:2: the row has 1 cells under 2 columns"),
        (b"b\n1\n", "t:1: has no column 'a'; found 'b'"),
        (b"a,a\n1,2\n", "t:1: the column 'a' occurs twice"),
        (b'a\n"1" x\n', "t:2: is not valid CSV"),
        (b'a\nx\n"1', "t:3: is not valid CSV"),
        (b"a\n\xff\n", "t:2: is not UTF-8: byte 0xff is not allowed here"),
        (b"a\n1\0\n", "t:2: holds a NUL character"),
        (b"a" + b",x" * 1000, "t:1: has 1001 columns, more than the 1000 that are read"),
        (b"a\n" + b"x" * 200, "t:2: the line is longer than 100 bytes"),
        (b'a\n"' + b"x\n" * 60 + b'"', "t:2: is not valid CSV: field larger than field limit (100)"),
    ],
)
def test_a_bad_table_is_refused_with_its_line(tmp_path, monkeypatch, content, said):
    if len(content) < 1000:
        monkeypatch.setattr(limits, "CELL_BYTES", 100)
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(SuiteError) as caught:
        list(read_csv(tmp_path / "t", ["a"], "t"))
    assert str(caught.value).startswith(said)


class TestReplacing:
    def write(self, path, data=b"new"):
        with replacing(path) as file:
            file.write(data)

    def test_a_link_stays_and_the_file_behind_it_is_replaced(self, tmp_path):
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "real").write_bytes(b"old")
        (tmp_path / "link").symlink_to("deep/real")
        self.write(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "deep" / "real").read_bytes() == b"new"

    def test_a_link_to_nothing_is_written_through(self, tmp_path):
        (tmp_path / "link").symlink_to("later/real")
        self.write(tmp_path / "link")
        assert (tmp_path / "later" / "real").read_bytes() == b"new"

    @pytest.mark.parametrize("mode", [0o600, 0o664])
    def test_the_permissions_of_a_file_are_kept(self, tmp_path, mode):
        (tmp_path / "file").touch()
        (tmp_path / "file").chmod(mode)
        self.write(tmp_path / "file")
        assert (tmp_path / "file").stat().st_mode & 0o777 == mode

    @pytest.mark.parametrize("name", ["folder", "pipe", "/dev/null", "loop"])
    def test_anything_but_a_regular_file_is_left_alone(self, tmp_path, name):
        (tmp_path / "folder").mkdir()
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "loop").symlink_to("loop")
        before = os.lstat(tmp_path / name)
        with pytest.raises(OSError, match=r"Is a directory|is not a regular file|Too many levels"):
            self.write(tmp_path / name)
        assert os.lstat(tmp_path / name) == before
        assert list(tmp_path.glob(".*.part")) == []


@pytest.mark.parametrize(
    ("member", "kind", "hint"),
    [
        ("_journal/start.json", "a zip archive: an eval log of Inspect", "inspect log dump"),
        ("[Content_Types].xml", "a zip archive: an Office document", "CSV"),
        ("cases/a.yaml", "a zip archive", "unpack it"),
    ],
)
def test_a_zip_archive_is_named_with_what_it_is(tmp_path, member, kind, hint):
    with ZipFile(tmp_path / "t", "w") as archive:
        archive.writestr(
            ZipInfo(member), "{}"
        )  # of 1980: the time of some minutes of the day has a line feed in its bytes
    with pytest.raises(SuiteError, match=f"t: is {re.escape(kind)}.*, expected UTF-8 text.*{hint}"):
        list(read_csv(tmp_path / "t", ["a"]))


@pytest.mark.parametrize(
    ("begin", "kind"),
    [(b"PAR1", "a parquet table"), (b"SQLite format 3\0", "an SQLite database"), (b"\xff\xfea\0", "UTF-16 text")],
)
def test_other_binary_files_are_named(tmp_path, begin, kind):
    (tmp_path / "t").write_bytes(begin)
    with pytest.raises(SuiteError, match=f"is {kind}"):
        read_text(tmp_path / "t", 100)
