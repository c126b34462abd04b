"""The tables of a suite, ``state/*.jsonl``, as a sandbox starts from them."""

import pytest
from suite_maker import case_yaml, make_suite

from pytest_mapsat.model import SuiteError
from pytest_mapsat.suite import open_suite

PLACE = '{"id": "a", "name": "Quay Books"}\n'


def test_rows_keep_the_order_of_files_and_lines_and_folders_share_a_table(tmp_path):
    files = {
        "one.yaml": case_yaml("one"),
        "state/north/places.jsonl": PLACE,
        "state/south/places.jsonl": '\n{"id": "b"}',
    }
    tables = open_suite(make_suite(tmp_path, files)).tables
    assert list(tables) == ["places"]
    assert tables["places"].rows == ({"id": "a", "name": "Quay Books"}, {"id": "b"})


def test_tables_are_no_cases_and_count_in_the_fingerprint(tmp_path):
    suite = open_suite(make_suite(tmp_path / "a", {"one.yaml": case_yaml("one"), "state/places.jsonl": PLACE}))
    other = open_suite(make_suite(tmp_path / "b", {"one.yaml": case_yaml("one"), "state/places.jsonl": PLACE * 2}))
    assert [path.name for path in suite.files()] == ["one.yaml"]
    assert suite.fingerprint() != other.fingerprint()


def test_a_row_that_is_no_object_is_named_with_its_line(tmp_path):
    root = make_suite(tmp_path, {"one.yaml": case_yaml("one"), "state/places.jsonl": f'{PLACE}[1]\n{{"id": }}\n'})
    with pytest.raises(SuiteError) as caught:
        open_suite(root)
    places = [(problem.path.endswith("state/places.jsonl"), problem.line) for problem in caught.value.problems]
    assert places == [(True, 2), (True, 3)]
