"""Own tools wrapped in a test or a script: what they answer is kept when the block ends."""

import re
import sys
from pathlib import Path

import pytest
from office_suite import recordings, write_office

from pytest_mapsat.model import UsageError
from pytest_mapsat.recording import RecordingWarning, recording

DOC = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "record-tools.md"


def rooms(start: str):
    """List rooms."""
    return {"rooms": [{"name": "Birch"}], "at": start}


def test_calls_pass_through_and_are_kept_even_when_the_block_fails(tmp_path):
    suite = write_office(tmp_path, oracle=False)
    seen = []

    def block():
        with recording([rooms], suite, "review") as tools:
            seen.extend([tools.rooms(start="14:00")["at"], tools.schemas()[0]["function"]["name"]])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        block()
    assert seen == ["14:00", "rooms"]
    assert [recording["arguments"] for recording in recordings(suite)] == [{"start": "14:00"}]


def kept_of(folder, *answers):
    folder.mkdir()
    suite = write_office(folder, oracle=False)
    left = list(answers)
    with (
        pytest.warns(RecordingWarning, match="gave two answers"),
        recording({"n": lambda: left.pop(0)}, suite, "review") as tools,
    ):
        assert [tools.n(), tools.n()] == list(answers)
    return recordings(suite)


def test_two_answers_to_one_call_are_told_and_the_same_one_is_kept_whichever_came_first(tmp_path):
    assert kept_of(tmp_path / "a", 1, 2) == kept_of(tmp_path / "b", 2, 1)


def test_a_case_that_the_suite_does_not_have_is_told_before_anything_is_called(tmp_path):
    suite = write_office(tmp_path, oracle=False)
    with (
        pytest.raises(UsageError, match=r"the suite has no case 'revew' \(did you mean 'review'\?\)"),
        recording([rooms], suite, "revew"),
    ):
        pass


def test_the_fixture_of_the_document_records_for_the_time_of_a_test(pytester, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    suite = write_office(pytester.path, "airport-with-ev", oracle=False)
    [block] = re.findall(r"```python\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)
    pytester.makepyfile('def find_way(to: str):\n    return {"minutes": 25}\n\n' + block)
    pytester.runpytest().assert_outcomes(passed=1)
    assert [recording["result"] for recording in recordings(suite)] == [{"minutes": 25}]
