"""--mapsat-agent=baseline:surface and baseline:profile in a run."""

import asked_suite
import pytest


@pytest.mark.parametrize(("name", "broken"), [("surface", ["quiet", "vegan"]), ("profile", ["vegan"])])
def test_a_run_with_a_baseline_breaks_what_it_does_not_know(
    pytester: pytest.Pytester, name: str, broken: list[str]
) -> None:
    asked_suite.write_suite(pytester.path / "benchmark_cases", [asked_suite.case("one")])
    result = pytester.runpytest(f"--mapsat-agent=baseline:{name}", "--mapsat-judge=checks")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{requirement}*" for requirement in broken])
