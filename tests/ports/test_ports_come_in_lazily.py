"""A run of a suite that names nothing of a port imports none."""

import sys

import pytest
import tiny_suite

CONFTEST = """
import sys

def pytest_unconfigure(config):
    ports = sorted(name for name in sys.modules if name.startswith("pytest_mapsat.ports."))
    print("ports:", ", ".join(ports) or "none", file=sys.__stdout__)
"""
AGENT = """
def agent(message, tools, context):
    return "I cannot say."
"""


@pytest.mark.parametrize(
    ("manifest", "imported"),
    [("", "none"), ("metrics: [msb, pipa]\n", "pytest_mapsat.ports.pipa, pytest_mapsat.ports.pipa.labels")],
)
def test_a_port_is_imported_where_a_suite_names_it(pytester: pytest.Pytester, manifest, imported) -> None:
    root = pytester.path / "benchmark_cases"
    tiny_suite.write_suite(root)
    with (root / "suite.yaml").open("a", encoding="utf-8") as file:
        file.write(manifest)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(lazy_agent=AGENT)
    result = pytester.run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--mapsat-agent=lazy_agent:agent")
    assert "mapsat" in result.stdout.str()
    result.stdout.fnmatch_lines([f"ports: {imported}"])
