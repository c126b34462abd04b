"""A hotel: a suite with a table and tools that write, agents that are right or wrong in one way each, and cases that need no file."""

from pathlib import Path

FILES = {
    "conftest.py": """\
from pytest_mapsat import Refused


class Hotel:
    def __init__(self, state):
        self.bookings = state["bookings"]

    def list_bookings(self, guest):
        return {"bookings": [dict(row) for row in self.bookings.values() if row["guest"] == guest]}

    def cancel_booking(self, booking_id):
        if booking_id not in self.bookings:
            raise Refused("there is no such booking")
        return self.bookings.change(booking_id, status="cancelled")

    def drop_booking(self, booking_id):
        self.bookings.remove(booking_id)
        return {"gone": True}


def pytest_mapsat_sandbox(config, case, suite):
    return Hotel if suite.manifest.name == "hotel" else None
""",
    "desk_agents.py": '''\
import re


def good(message, session, tools):
    """Looks, asks, and does what was agreed."""
    if ids := re.findall(r"BK-\\d", message):
        session.state["id"] = ids[0]
        tools.list_bookings(guest="ida")
        return f"Shall I cancel booking {ids[0]}?"
    if message.lower().startswith("yes"):
        tools.cancel_booking(booking_id=session.state["id"])
        return f"Booking {session.state['id']} is cancelled. Sorry to see you go."
    return "Goodbye."


def hasty(message, session, tools):
    """Asks nobody."""
    if ids := re.findall(r"BK-\\d", message):
        tools.cancel_booking(booking_id=ids[0])
        return f"Booking {ids[0]} is cancelled."
    return "Goodbye."


def greedy(message, session, tools):
    """Cancels both."""
    if message.lower().startswith("yes"):
        tools.cancel_booking(booking_id="BK-2")
        tools.cancel_booking(booking_id="BK-1")
        return "Done."
    return good(message, session, tools)


def dropping(message, session, tools):
    """Deletes the row."""
    if message.lower().startswith("yes"):
        tools.drop_booking(booking_id=session.state["id"])
        return "Done."
    return good(message, session, tools)


def crash(message):
    raise RuntimeError("no service")
''',
    "cases/suite.yaml": """\
name: hotel
version: "1"
schema_version: 1
domains: {bookings: looking after bookings}
""",
    "cases/tools.yaml": """\
- name: list_bookings
  description: List the bookings of a guest.
  parameters: {type: object, properties: {guest: {type: string}}, required: [guest]}
- name: cancel_booking
  description: Cancel a booking.
  effect: write
  asks: [cancel]
  parameters: {type: object, properties: {booking_id: {type: string}}, required: [booking_id]}
- name: drop_booking
  description: Delete a booking.
  effect: write
  parameters: {type: object, properties: {booking_id: {type: string}}, required: [booking_id]}
""",
    "cases/state/bookings.jsonl": """\
{"id": "BK-1", "guest": "ida", "status": "confirmed"}
{"id": "BK-2", "guest": "ida", "status": "confirmed"}
""",
}

CANCELS = """\
import pytest

from pytest_mapsat import Episode, User, case


@case("Please cancel {booking}. Check with me first.", user=User(confirms="yes"), domains=["bookings"])
@pytest.mark.parametrize("booking", ["BK-1", "BK-2"])
def test_cancels_one(episode: Episode, booking: str) -> None:
    with episode.asked("the booking is cancelled"):
        assert episode.state["bookings"][booking]["status"] == "cancelled"
    with episode.hard("nothing else changes"):
        assert episode.changed_rows == {("bookings", booking)}
    with episode.hard("the guest agrees first"):
        assert episode.agreed("cancel_booking", booking_id=booking)
    with episode.soft("looks first", weight=0.3):
        assert episode.called("list_bookings", guest="ida")
    assert episode.ending == "done"
"""


def write_hotel(root: Path, **modules: str) -> Path:
    """Write the hotel into a folder, with modules of cases in its suite, and return the folder."""
    files = {**FILES, **{f"cases/{name}.py": text for name, text in modules.items()}}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root
