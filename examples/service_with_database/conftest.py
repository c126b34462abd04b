"""What the cases need: the service, started once, and the database that it works on."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep

import pytest

from pytest_mapsat import SqlEnvironment

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def hotel_database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a database of this worker's own: SQLite, or what ``HOTEL_DATABASE`` names (PostgreSQL, say)."""
    return os.environ.get("HOTEL_DATABASE") or f"sqlite:///{tmp_path_factory.mktemp('hotel')}/hotel_test.db"


@pytest.fixture(scope="session")
def mapsat_environment(hotel_database: str) -> SqlEnvironment:
    """The tables that the cases look at, and how they begin."""
    return SqlEnvironment(hotel_database, tables=["bookings", "refunds"], reset=HERE / "data.sql")


@pytest.fixture(scope="session")
def mapsat_agent(hotel_database: str) -> Iterator[str]:
    """The service, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ["HOTEL_PORT"] = str(port)
    command = [sys.executable, "-m", "uvicorn", "hotel:app", "--port", str(port), "--log-level", "warning"]
    environment = {**os.environ, "HOTEL_DATABASE": hotel_database}
    with subprocess.Popen(command, cwd=HERE, env=environment) as service:  # noqa: S603  our own
        while service.poll() is None and not _listens(port):
            sleep(0.1)
        if service.poll() is not None:
            pytest.fail("the service has ended: what it said stands above")
        yield f"http:{HERE / 'service.yaml'}"
        service.terminate()


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False
