"""The examples of docs/how-to/build-a-sandbox.md and docs/internals/ranked-search.md answer as they say; docs/reference/tools.md has every key."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest
from suite_maker import make_suite

from pytest_mapsat.model import (
    ComputedField,
    Local,
    RankedAnswer,
    RankedField,
    RoundAnswer,
    RoutesAnswer,
    RowFilter,
    RowsAnswer,
)
from pytest_mapsat.sandbox import make_sandbox
from pytest_mapsat.suite import open_suite

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "how-to" / "build-a-sandbox.md").read_text("utf-8")
REFERENCE = (DOCS / "reference" / "tools.md").read_text("utf-8").partition("## Answers from tables")[2]
TABLES = PAGE.partition("## Sandboxes in Python")[0] + (DOCS / "internals" / "ranked-search.md").read_text("utf-8")
FILES = dict(
    re.findall(r"^`((?:state/\w+\.jsonl|tools/?\w*\.yaml))`:\n\n```\w+\n(.*?)^```$", TABLES, re.MULTILINE | re.DOTALL)
)
CALLS = re.findall(r"^(\w+) (\{.*\})\n    (\{.*\})$", TABLES, re.MULTILINE)
CASE = """\
id: case-1
domains: [search]
visible: {query: Where is a chemist?, context: {now: "2026-05-09T09:10:00+08:00"}}
truth: {requirements: [{id: e, kind: asked, text: A chemist is named}]}
"""


@pytest.fixture
def sandbox(tmp_path):
    suite = open_suite(make_suite(tmp_path, {"one.yaml": CASE, **FILES}))
    (entry,) = suite.entries(tmp_path / "one.yaml")
    return make_sandbox(suite.load(entry), suite)


def test_the_calls_of_the_example_bring_what_is_shown(sandbox):
    assert len(CALLS) >= 7
    for tool, arguments, shown in CALLS:
        assert sandbox.call(tool, json.loads(arguments)).result == json.loads(shown), (tool, arguments)


def test_every_key_and_every_op_stands_on_the_page():
    unions = [member for union in (RowFilter, ComputedField) for member in get_args(get_args(union)[0])]
    ops = [get_args(member.model_fields["op"].annotation)[0] for member in unions]
    keys = [
        key
        for noun in (RowsAnswer, RankedAnswer, RankedField, RoutesAnswer, RoundAnswer, Local)
        for key in noun.model_fields
    ]
    assert [word for word in (*ops, *keys) if f"`{word}" not in REFERENCE and word != "kind"] == []
