"""A real PostgreSQL on a free port, in a folder of its own; and databases of a small hotel, there and in SQLite."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy
from hotel import HOTEL, POSTGRES, sqlite_hotel

_NUMBERS = count(1)
# Loaded here once: runs of pytester make the process forget what they have loaded, and it cannot be loaded twice.
sqlalchemy.create_engine("sqlite://")


def _programs() -> Path | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    named = shutil.which("initdb")
    return folders[-1] if folders else Path(named).parent if named else None


@pytest.fixture(scope="session")
def postgres():
    """The address of a server without a database; skipped where there is none to be had."""
    pytest.importorskip("psycopg")
    if _programs() is None and os.getuid() == 0 and shutil.which("apt-get"):
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "postgresql"]
        subprocess.run(command, capture_output=True, timeout=240, check=False)
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL is installed, and none could be")
    root = os.getuid() == 0
    user = pwd.getpwnam("postgres" if any(entry.pw_name == "postgres" for entry in pwd.getpwall()) else "nobody")
    identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if root else {}
    folder = Path(tempfile.mkdtemp(prefix="mapsat-postgres-", dir="/tmp"))
    if root:
        os.chown(folder, user.pw_uid, user.pw_gid)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data, options = (
        folder / "data",
        f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off",
    )
    control = [programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]

    def run(*command):
        # Not by a pipe: the server would hold it.
        with (folder / "out").open("ab") as out:
            subprocess.run(command, cwd=folder, stdout=out, stderr=out, check=True, timeout=120, **identity)

    run(programs / "initdb", "-D", data, "-U", "app", "-A", "trust", "-E", "UTF8", "--no-sync")
    run(*control, "-o", options, "start")
    try:
        yield f"127.0.0.1:{port}"
    finally:
        run(*control, "-m", "immediate", "-W", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgres"])
def hotel(request, tmp_path):
    """A hotel: guests, their bookings with nights, and an audit without a key."""
    if request.param == "sqlite":
        return sqlite_hotel(tmp_path)
    import psycopg

    server = request.getfixturevalue("postgres")
    name = f"hotel_test_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(f"postgresql://app@{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    address = f"postgresql://app@{server}/{name}"

    def run(*statements):
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in statements:
                done = connection.execute(statement)
            return done.fetchall() if done.description else []

    run(HOTEL.format(**POSTGRES))
    return SimpleNamespace(url=address.replace("postgresql", "postgresql+psycopg"), path=None, run=run, lite=False)
