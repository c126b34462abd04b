"""A project with the tiny suite and two agents, in its own folder."""

import pytest
import tiny_suite


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project whose ``good:agent`` passes the three cases of its suite and whose ``bad:agent`` fails them."""
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makepyfile(good=tiny_suite.GOOD, bad=tiny_suite.BAD)
    return pytester
