"""Which judge a spec names."""

import json

import pytest
from judging import TOOLS

from pytest_mapsat.judges import ChecksJudge, RecordedJudge, make_judge
from pytest_mapsat.model import UsageError


def test_checks_and_recorded_are_judges(tmp_path):
    (tmp_path / "verdicts.jsonl").write_text(json.dumps({"case_id": "c1", "details": {}}))
    assert isinstance(make_judge("checks", TOOLS, root=tmp_path), ChecksJudge)
    judge = make_judge("recorded:verdicts.jsonl", TOOLS, root=tmp_path)
    assert isinstance(judge, RecordedJudge)
    assert judge.spec == "recorded:verdicts.jsonl"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("llm:", "names no model"),
        ("llms:some-model", "did you mean 'llm'?"),
        ("mine:judge", "is not a judge; use checks"),
        ("check", "did you mean 'checks'?"),
        ("record:x.json", "did you mean 'recorded'?"),
        ("", "is not a judge"),
        ("recorded:", "names no file"),
        ("recorded:absent.json", "absent.json: there is no such file"),
        ("recorded:.", "is not a regular file"),
    ],
)
def test_what_is_no_judge_is_told_kindly(spec, words, tmp_path):
    with pytest.raises(UsageError) as raised:
        make_judge(spec, TOOLS, root=tmp_path)
    assert words in str(raised.value)
