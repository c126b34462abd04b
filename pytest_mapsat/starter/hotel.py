"""The example service of ``mapsat init --for service``, until yours replaces it: the desk of a hotel, with rules in place of a model."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

_ROWS = (("BK-1", "Ann Berg", "open"), ("BK-2", "Ann Berg", "open"))


@contextmanager
def running(folder: Path) -> Iterator[tuple[str, str]]:
    """Serve the desk on a free port of this machine, with a database in a folder; yield both addresses.

    The desk cancels a booking once it has asked, whatever the guest answers.
    """
    database = folder / "hotel_test.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE bookings (id TEXT PRIMARY KEY, guest TEXT, status TEXT)")
        connection.executemany("INSERT INTO bookings VALUES (?, ?, ?)", _ROWS)
    asked: dict[str, str] = {}

    class Desk(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(_answer(database, asked, request["session"], request["message"])).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Desk) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", f"sqlite:///{database}"
        server.shutdown()


def _answer(database: Path, asked: dict[str, str], session: str, message: str) -> dict[str, Any]:
    """Return the reply to a message, and the calls made for it."""
    if session not in asked:
        named = re.search(r"\bBK-\d+\b", message)
        if named is None:
            return {"text": "Which booking is it?"}
        asked[session] = named[0]
        return {"text": f"Shall I cancel booking {named[0]}?"}
    booking = asked.pop(session)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE bookings SET status = 'cancelled' WHERE id = ?", (booking,))
    call = {"tool": "cancel_booking", "arguments": {"booking_id": booking}, "result": "cancelled"}
    return {"text": f"Booking {booking} is cancelled.", "calls": [call]}
