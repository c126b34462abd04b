"""Lint warns of recorded values of which no tool says what they mean."""

import json

import pytest
from suite_maker import make_suite

from pytest_mapsat.suite import lint, open_suite

RESULT = {
    "spots": [{"name": "Old Mill", "stars": 4.5}, {"name": "New Mill", "shape": {"area": 3}}],
    "page": 1,
    "note": None,
}


def warnings(root, declared, result=RESULT):
    tool = {"name": "find", "description": "Finds.", "parameters": {"type": "object", "properties": {}}, **declared}
    recording = {"case": "c", "tool": "find", "arguments": {}, "result": result}
    files = {"tools.yaml": json.dumps([tool]), "recordings/r.jsonl": json.dumps(recording) + "\n"}
    found = [one for one in lint(open_suite(make_suite(root, files))) if one.rule == "undeclared-field"]
    assert all(one.problem.path.endswith("tools.yaml") and one.problem.line == 1 for one in found)
    return [one.problem.message for one in found]


def test_each_path_is_named_once_for_its_tool(tmp_path):
    assert warnings(tmp_path, {}) == [
        "the tool find does not declare 'page', 'spots.*.name', 'spots.*.shape.area', 'spots.*.stars': no claim is compared with it"
    ]


@pytest.mark.parametrize(
    "declared",
    [
        {"fields": {"page": "ignored", "spots.*.name": "name", "spots.*.stars": "rating", "spots.*.shape": "ignored"}},
        {
            "entities": [{"items": "spots", "fields": {"stars": "rating", "shape.area": "number"}}],
            "fields": {"page": "count"},
        },
        {"entities": [{"items": "spots", "fields": {"*": "ignored"}}], "fields": {"*": "ignored"}},
        {"fields": {"": "text"}},
    ],
    ids=["paths", "entities", "all-else", "text"],
)
def test_what_is_declared_is_not_named(tmp_path, declared):
    assert warnings(tmp_path, declared) == []


def test_a_bare_result_can_be_declared_too(tmp_path):
    assert "the result itself" in warnings(tmp_path / "a", {}, result=7)[0]
    assert warnings(tmp_path / "b", {"fields": {"": "duration"}}, result=7) == []


def test_more_than_five_paths_are_counted(tmp_path):
    (message,) = warnings(tmp_path, {}, result={f"k{index}": index for index in range(9)})
    assert "'k4' and 4 more" in message


def test_a_kind_that_does_not_exist_is_an_error_at_its_line(tmp_path):
    files = {"tools.yaml": "- name: find\n  description: F\n  parameters: {type: object}\n  fields:\n    a: ratin\n"}
    with pytest.raises(Exception, match=r"tools\.yaml:5"):
        open_suite(make_suite(tmp_path, files))
