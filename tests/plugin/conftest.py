"""A project with the tiny suite and two agents, in its own folder.

Most tests run pytest in this process; what is loaded here once is not loaded again by each of them. Tests of workers and crashes use
processes of their own, which are forks of one that has loaded the same; those of import cost are marked ``cold``.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import pytest
import tiny_suite
from scripted_models import ScriptedModels, scripted_models

import pytest_mapsat

for _name in ("numpy", "openpyxl", "rapidfuzz", "rich.console", "rich.table", "yaml"):
    import_module(_name)
for _module in walk_packages(pytest_mapsat.__path__, "pytest_mapsat."):
    if not _module.name.endswith("__main__"):
        import_module(_module.name)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project whose ``good:agent`` passes the three cases of its suite and whose ``bad:agent`` fails them."""
    tiny_suite.write_suite(pytester.path / "benchmark_cases")
    pytester.makepyfile(good=tiny_suite.GOOD, bad=tiny_suite.BAD)
    return pytester


@pytest.fixture(autouse=True)
def _processes_start_warm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if {"pytester", "project", "warm"} & {*request.fixturenames} and not request.node.get_closest_marker("cold"):
        monkeypatch.setattr(sys, "executable", request.getfixturevalue("warm"))


@pytest.fixture(scope="session")
def server(litellm: None) -> Iterator[ScriptedModels]:
    """A server of models, and their library imported once for all runs of this process."""
    with scripted_models() as running:
        yield running


@pytest.fixture
def asked_models(server: ScriptedModels, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> ScriptedModels:
    """The server with nothing asked yet, an environment that leads to it, and an empty store of answers."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(pytester.path / "store"))
    server.requests.clear()
    return server
