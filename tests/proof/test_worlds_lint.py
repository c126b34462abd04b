"""What lint tells of worlds in Python, of where their cases begin, and of users who act in them."""

import phone
import pytest

from pytest_mapsat.suite import lint

ORACLE = [{"say": "What does the status bar show?"}, {"say": "Please turn airplane mode off."}, {"say": "It works."}]


@pytest.fixture
def findings(tmp_path):
    """Return what gives the findings of a case of the phone, but for notes, as texts."""

    def of(sandbox=phone.Phone, **parts):
        _, suite = phone.opened(tmp_path, phone.case(**parts))
        suite.sandboxes = (lambda case, suite: sandbox,)
        told = lint(suite, dialogues=True)
        return [str(finding) for finding in told if finding.severity != "note"]

    return of


@pytest.mark.parametrize("oracle", [[], ORACLE])
def test_a_quoted_path_that_no_result_has_is_a_warning_with_what_is_meant(findings, oracle):
    answer = {**phone.ANSWERS[0], "say": "Airplane mode: {bar.airplain}.", "else": "I see nothing."}
    user = {"answers": [answer, *phone.ANSWERS[1:]]}
    (told,) = [text for text in findings(truth={"user": user, "oracle": oracle}) if "no-such-path" in text]
    assert "{bar.airplain}: no result of zebra_status has 'airplain'" in told
    assert told.endswith("(did you mean 'airplane'?) [warning: no-such-path]")
    assert not [text for text in findings(truth={"oracle": oracle}) if "no-such-path" in text]


def test_a_misspelt_method_of_the_world_is_the_error_that_a_run_gives(findings):
    class Misspelt(phone.Phone):
        zebra_status = None

        def zebra_statu(self):
            return super().zebra_status()

    told = findings(Misspelt, truth={"oracle": ORACLE})
    (error,) = [text for text in told if "has no method" in text]
    assert "the sandbox Misspelt (" in error
    assert "has no method zebra_status, and nothing is recorded for that tool (did you mean 'zebra_statu'?)" in error
    assert error.endswith("[error: oracle]")


def test_a_column_that_no_row_has_is_a_warning_with_its_place(findings):
    rows = [{"table": "phones", "where": {"id": "p1"}, "set": {"airplain": False, "airplane": True}}]
    (told,) = [text for text in findings(world={"rows": rows}) if "unknown-column" in text]
    assert "cases.jsonl:1: world.rows[0].set.airplain: no row of the table phones" in told
    assert told.endswith("(did you mean 'airplane'?) [warning: unknown-column]")
