"""JSONL: canonical lines are scanned, others parsed; what is refused; packed files."""

import gzip
import json

import pytest
from generated import generated
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from suite_maker import case_data, case_line, make_suite

from pytest_mapsat.model import Case, Membership, SuiteError
from pytest_mapsat.suite import open_suite, write_cases

HEADER = {"domains": ["search"], "difficulty": "L2", "language": "zh-Hans", "attributes": {"slot": "noon"}}
GROUP = {"name": "week", "order": 2}


def list_cases(root, content, name="cases.jsonl"):
    suite = open_suite(make_suite(root, {name: content}))
    return suite, suite.entries(root / name)


def problems_of(root, content, name="cases.jsonl"):
    with pytest.raises(SuiteError) as caught:
        list_cases(root, content, name)
    return caught.value.problems


def test_entries_hold_the_header_of_each_line(tmp_path):
    _, entries = list_cases(tmp_path, case_line("a", **HEADER) + "\n" + case_line("b"))
    first, second = entries
    assert (first.id, first.line, first.domains, first.difficulty) == ("a", 1, ("search",), "L2")
    assert (first.language, first.attributes) == ("zh-Hans", {"slot": "noon"})
    assert (second.id, second.line, second.domains, second.attributes) == ("b", 3, (), {})
    assert second.language == "zh", "the manifest's language stands in"
    assert len({first, second}) == 2, "entries are hashable"


class _Counter:
    def __init__(self, monkeypatch):
        self.long = 0
        decode = json.JSONDecoder.decode

        def counting(decoder, text):
            self.long += len(text) > 200
            return decode(decoder, text)

        monkeypatch.setattr(json.JSONDecoder, "decode", counting)


def test_canonical_lines_are_listed_without_being_parsed(tmp_path, monkeypatch):
    lines = "".join(case_line(f"c{n}", **HEADER, group=GROUP if n % 2 else None) for n in range(50))
    suite = open_suite(make_suite(tmp_path, {"cases.jsonl": lines}))
    counter = _Counter(monkeypatch)
    entries = suite.entries(tmp_path / "cases.jsonl")
    assert len(entries) == 50
    assert counter.long == 0
    assert (entries[0].group, entries[7].group) == (None, Membership(name="week", order=2))
    suite.load(entries[7])
    assert counter.long == 1


def test_the_lines_that_we_write_are_canonical(tmp_path, monkeypatch):
    cases = [Case.model_validate(case_data("a")), Case.model_validate(case_data("b", **HEADER))]
    write_cases(make_suite(tmp_path) / "cases.jsonl", cases)
    suite = open_suite(tmp_path)
    counter = _Counter(monkeypatch)
    entries = suite.entries(tmp_path / "cases.jsonl")
    assert counter.long == 0
    assert [suite.load(entry) for entry in entries] == cases


def test_a_line_with_its_header_in_another_order_is_parsed_and_means_the_same(tmp_path, monkeypatch):
    data = case_data("a", **HEADER)
    turned = json.dumps(dict(reversed(data.items())))
    counter = _Counter(monkeypatch)
    suite, (entry,) = list_cases(tmp_path, turned)
    assert counter.long == 1
    assert (entry.id, entry.domains, entry.difficulty) == ("a", ("search",), "L2")
    assert suite.load(entry).attributes == {"slot": "noon"}


_names = st.sampled_from(["search", "navigation"])
_words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_fields = st.fixed_dictionaries(
    {},
    optional={
        "domains": st.lists(_names, max_size=3),
        "difficulty": _words,
        "language": st.sampled_from(["en", "zh-Hans"]),
        "attributes": st.dictionaries(_words, _words, max_size=3),
        "group": st.none() | st.fixed_dictionaries({"name": _names, "order": st.integers(0, 10**9)}),
    },
)


@generated(80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fields=_fields,
    order=st.none() | st.randoms(use_true_random=False),
    style=st.sampled_from([{}, {"ensure_ascii": False}, {"separators": (",", ":")}]),
)
def test_scanning_a_header_and_parsing_the_line_agree(tmp_path_factory, fields, order, style):
    items = list(case_data("a", **fields).items())
    if order is not None:
        order.shuffle(items)
    line = json.dumps(dict(items), **style)
    suite, (entry,) = list_cases(tmp_path_factory.mktemp("suite"), line.encode())
    case = suite.load(entry)
    for name in ("id", "domains", "difficulty", "language", "attributes", "group"):
        assert getattr(entry, name) == getattr(case, name)


def test_a_header_field_further_on_in_the_line_is_not_overlooked(tmp_path):
    data = {**case_data("a", domains=["search"]), "difficulty": "L3"}
    _, (entry,) = list_cases(tmp_path, json.dumps(data))
    assert entry.difficulty == "L3"


def test_a_key_that_stands_twice_is_found_when_the_case_is_loaded(tmp_path):
    line = case_line("a", **HEADER).rstrip("}\n") + '}, "id": "b"}'
    suite, (entry,) = list_cases(tmp_path, line)
    with pytest.raises(SuiteError, match=r"'id' occurs twice"):
        suite.load(entry)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id": "a", "id": "b"}', "occurs twice"),
        ('{"id": NaN}', "NaN is not a JSON value"),
        ('{"id": [Infinity]}', "Infinity is not a JSON value"),
        ('{"id": 1e999}', "too large"),
        ('{"id": "\\ud800"}', "half of a character"),
        ("[" * 100 + "]" * 100, "deep"),
        ("[" * 200_000, "deep"),
        ('{"id": "a"', "not valid JSON"),
        ("[", "not valid JSON"),
        ('"just text"', "this is not a case"),
        ('{"id": "a b", "visible": {}, "truth": {}}', "expected 1 to 80 of"),
        (case_line("a-t12"), "ends like the mark of a trial"),
        (case_line("a", domains=["no good"]), "expected 1 to 80 of"),
        (case_line("a", difficulty=3), "found 3, expected text"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(tmp_path, line, words):
    (problem,) = problems_of(tmp_path, "\n" + line + "\n" + case_line("z"))
    assert words in problem.message
    assert problem.line == 2


def test_all_bad_lines_are_reported_up_to_a_limit(tmp_path):
    assert len(problems_of(tmp_path, "{}x\n" * 3)) == 3
    assert len(problems_of(tmp_path, "{}x\n" * 300)) == 20


def test_bytes_that_are_not_utf_8_are_refused_with_their_line(tmp_path):
    (problem,) = problems_of(tmp_path, case_line("a").encode() + b'{"id": "\xe9"}\n')
    assert (problem.line, "not UTF-8" in problem.message) == (2, True)


def test_the_byte_is_named_that_is_not_utf_8_behind_a_byte_order_mark(tmp_path):
    (problem,) = problems_of(tmp_path, b'\xef\xbb\xbf{"id": "\xe9"}\n')
    assert "byte 0xe9" in problem.message


def test_a_line_longer_than_a_case_may_be_is_refused(tmp_path):
    (problem,) = problems_of(tmp_path, case_line("a") + '{"id": "' + "x" * (2 * 1024 * 1024) + '"}')
    assert problem.line == 2
    assert "longer than 2097152 bytes" in problem.message


def test_a_byte_order_mark_and_windows_line_ends_are_tolerated(tmp_path):
    text = "\ufeff" + case_line("a", **HEADER) + case_line("b")
    suite, entries = list_cases(tmp_path, text.replace("\n", "\r\n").encode())
    assert [suite.load(entry).id for entry in entries] == ["a", "b"]


def test_a_packed_file_is_listed_and_loaded_in_any_order(tmp_path):
    lines = "".join(case_line(f"c{n}", **HEADER) for n in range(20))
    suite, entries = list_cases(tmp_path, gzip.compress(lines.encode()), "cases.jsonl.gz")
    assert len(entries) == 20
    assert [suite.load(entry).id for entry in reversed(entries)] == [f"c{n}" for n in reversed(range(20))]
    assert suite.load(entries[3]).id == "c3"


@pytest.mark.parametrize(
    "content", [b"no gzip at all", gzip.compress(case_line("a").encode(), mtime=0)[:-12]], ids=["no gzip", "cut off"]
)
def test_a_damaged_packed_file_is_refused(tmp_path, content):
    (problem,) = problems_of(tmp_path, content, "cases.jsonl.gz")
    assert "cannot be read" in problem.message


def test_a_packed_line_that_unpacks_without_end_is_refused(tmp_path):
    bomb = gzip.compress(b'{"id": "' + b"x" * (64 * 1024 * 1024), 1)
    (problem,) = problems_of(tmp_path, bomb, "cases.jsonl.gz")
    assert "longer than" in problem.message


def test_a_packed_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    from pytest_mapsat.formats import limits

    monkeypatch.setattr(limits, "GZIP_BYTES", 1000)
    (problem,) = problems_of(tmp_path, gzip.compress(b"\n" * 2000), "cases.jsonl.gz")
    assert "holds more than 1000 bytes" in problem.message


def test_a_file_of_too_many_lines_is_refused(tmp_path, monkeypatch):
    from pytest_mapsat.formats import limits

    monkeypatch.setattr(limits, "LINES", 10)
    (problem,) = problems_of(tmp_path, "\n" * 11)
    assert "more than 10 lines" in problem.message


def test_a_file_that_changed_after_it_was_listed_is_noticed(tmp_path):
    suite, (entry,) = list_cases(tmp_path, case_line("a", **HEADER))
    (tmp_path / "cases.jsonl").write_text(case_line("b", **HEADER), encoding="utf-8")
    with pytest.raises(SuiteError, match=r"cases\.jsonl: changed while the run used it"):
        suite.load(entry)
    with pytest.raises(SuiteError, match="listed with 'a'"):
        open_suite(tmp_path).load(entry)  # as in another process, which opened the suite later
