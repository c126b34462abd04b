"""One scripted server for the tests of the door, and an environment that leads to it."""

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_models import ScriptedModels, scripted_models


@pytest.fixture(scope="session")
def server(litellm: None) -> Iterator[ScriptedModels]:
    with scripted_models() as models:
        yield models


@pytest.fixture
def models(server: ScriptedModels, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ScriptedModels]:
    """The server, with nothing asked yet."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(tmp_path / "store"))
    server.requests.clear()
    yield server
    server.release()
    with warnings.catch_warnings():  # litellm leaves connections to the collector: no later test shall hear of them
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
