"""--mapsat-assert: what fails an item."""

import pytest


@pytest.mark.parametrize(
    ("agent", "asserted", "failed"),
    [
        ("good", "hard,facts", 0),
        ("good", "soft", 3),
        ("good", "all", 3),
        ("good", "explicit", 0),
        ("bad", "hard", 3),
        ("bad", "facts,explicit", 0),
        ("bad", "none", 0),
    ],
)
def test_only_the_asserted_kinds_fail_an_item(project: pytest.Pytester, agent: str, asserted: str, failed: int) -> None:
    result = project.runpytest(f"--mapsat-agent={agent}:agent", f"--mapsat-assert={asserted}")
    result.assert_outcomes(failed=failed, passed=3 - failed)


def test_a_violation_that_is_not_asserted_is_listed_in_the_summary(project: pytest.Pytester) -> None:
    result = project.runpytest("--mapsat-agent=bad:agent", "--mapsat-assert=none")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["worst*AR 0.00*z1*"])


@pytest.mark.parametrize("text", ["hrd", "hard,some", "none,hard", ""])
def test_an_unknown_kind_is_a_usage_error(project: pytest.Pytester, text: str) -> None:
    result = project.runpytest("--mapsat-agent=good:agent", f"--mapsat-assert={text or ','}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--mapsat-assert: found *expected hard, facts, explicit, soft*"])
