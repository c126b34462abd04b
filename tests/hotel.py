"""A small hotel as a database, in SQLite or PostgreSQL, and episodes in which a service does something to it."""

import json
import sqlite3
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

from pytest_mapsat.judges import make_judge
from pytest_mapsat.model import Case, Requirement, Trajectory, Truth, Turn, Visible

HOTEL = """
CREATE TABLE guests (id {serial}, name varchar(80) NOT NULL UNIQUE, pin varchar(8), friend integer REFERENCES guests (id));
CREATE TABLE bookings (
  code varchar(20) PRIMARY KEY, guest integer REFERENCES guests (id), price numeric(20, 4), day date, at {moment}, paid boolean, doc {binary}, more {json}, token {uuid}
);
CREATE TABLE nights (booking varchar(20) REFERENCES bookings (code), night integer, seen {moment}, PRIMARY KEY (booking, night));
CREATE TABLE audit (line varchar(200));
INSERT INTO guests (name, pin) VALUES ('Ann', '1111'), ('Bob', '2222');
UPDATE guests SET friend = 2 WHERE id = 1;
INSERT INTO bookings VALUES
  ('BK-1', 1, 9.99, '2026-11-28', '2026-11-28 10:00:00.000000{zone}', {true}, {bytes}, '{{"beds": [1, 2]}}', '6f9619ff-8b86-d011-b42d-00c04fc964ff'),
  ('BK-2', 2, 1234567890123456.7891, '2026-12-01', NULL, {false}, NULL, NULL, NULL);
INSERT INTO nights VALUES ('BK-1', 1, NULL), ('BK-1', 2, NULL), ('BK-2', 1, NULL);
"""
_SQLITE = {
    "serial": "integer PRIMARY KEY AUTOINCREMENT", "moment": "timestamp", "zone": "", "binary": "blob", "json": "json", "uuid": "char(36)", "true": "1", "false": "0",
    "bytes": "x'0001'",
}  # fmt: skip
POSTGRES = {
    "serial": "serial PRIMARY KEY", "moment": "timestamptz", "zone": "+00", "binary": "bytea", "json": "jsonb", "uuid": "uuid", "true": "true", "false": "false",
    "bytes": r"'\x0001'",
}  # fmt: skip


def sqlite_hotel(folder: Path, name: str = "hotel_test.db"):
    """Return a hotel in SQLite: its address, its path, and what runs statements as a service would."""
    path = folder / name

    def run(*statements):
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA foreign_keys = ON")
        rows = [connection.execute(statement).fetchall() for statement in statements][-1]
        connection.commit()
        connection.close()
        return rows

    connection = sqlite3.connect(path)
    connection.executescript(HOTEL.format(**_SQLITE))
    connection.close()
    return SimpleNamespace(url=f"sqlite:///{path}", path=path, run=run, lite=True)


def case(*checks, name="c"):
    """Return a case with a requirement for each check, named r0, r1, ..."""
    requirements = [
        Requirement(kind="asked", id=f"r{number}", text="it holds", check=check) for number, check in enumerate(checks)
    ]
    return Case(id=name, visible=Visible(query="Cancel BK-1."), truth=Truth(intent="x", requirements=requirements))


def act(environments, environment, *steps, of=None, trial=1):
    """Play an episode in which a service takes some steps, and return its trajectory."""

    def play(world):
        for step in steps:
            step()
        turns = (Turn(role="user", text="Cancel BK-1."), Turn(role="agent", text="Done."))
        return Trajectory(case=(of or case()).id, trial=trial, turns=turns)

    return environments.play(environment, of or case(), trial, play)


def labels(of, trajectory):
    """Return the outcome and the reason of each requirement."""
    verdict = make_judge("checks", {}, root=Path()).judge(of, trajectory)
    return [(label.outcome, label.why) for label in verdict.labels]


def changed(trajectory):
    """Return the changed rows: table, id, and the columns that differ."""
    return [(change.table, change.id, change.columns) for change in trajectory.environment.changes]


_START = {"bookings": [{"id": "BK-1", "status": "open", "seen": 1, "pin": "1111"}], "rooms": {"7": {"beds": 2}}}


class Hotel:
    """A service with endpoints for tests; ``answer`` may take the place of what it tells."""

    def __init__(self):
        self.tables, self.asked, self.answer = json.loads(json.dumps(_START)), [], None

    def chat(self):
        self.tables["bookings"][0]["status"] = "cancelled"
        return "BK-1 is cancelled."

    def reset(self):
        self.tables = json.loads(json.dumps(_START))


@contextmanager
def served(hotel):
    class Handler(BaseHTTPRequestHandler):
        def respond(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            hotel.asked.append((self.command, self.path, dict(self.headers)))
            status, headers, body = 200, {"Content-Type": "application/json"}, b"{}"
            if self.path.startswith("/test/reset"):
                hotel.reset()
            elif self.path.startswith("/chat"):
                body = json.dumps({"text": hotel.chat()}).encode()
            elif hotel.answer is not None:
                status, headers, body = hotel.answer
            else:
                body = json.dumps(hotel.tables).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            pieces = [body] if isinstance(body, bytes) else body
            try:
                for piece in pieces:
                    self.wfile.write(piece)
            except OSError:
                pass  # it has read enough

        do_GET = do_POST = respond  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    hotel.address = f"http://127.0.0.1:{server.server_port}"
    hotel.url = f"{hotel.address}/test"
    try:
        yield hotel
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
