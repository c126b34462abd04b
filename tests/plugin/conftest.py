"""A project with the tiny suite and two agents, in its own folder.

Most tests run pytest in this process; what is loaded here once is not loaded again by each of them. Tests of workers, crashes and
import cost use a process of their own.
"""

from importlib import import_module

import pytest
import tiny_suite

for _name in (
    "numpy",
    "openpyxl",
    "rapidfuzz",
    "yaml",
    "pytest_mapsat.cli",
    "pytest_mapsat.pytest_shell.reporter",
):
    import_module(_name)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project whose ``good:agent`` passes the three cases of its suite and whose ``bad:agent`` fails them."""
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makepyfile(good=tiny_suite.GOOD, bad=tiny_suite.BAD)
    return pytester
