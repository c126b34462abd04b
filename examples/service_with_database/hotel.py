"""The desk of a hotel behind ``POST /chat``: its own tools, its own database, and rules where a model could stand.

Start it with ``uvicorn examples.service_with_database.hotel:app``. The environment says on which database it works (``HOTEL_DATABASE``, an URL of SQLAlchemy) and which
of its faults are switched on (``HOTEL_BUGS``, names with commas between; see ``BUGS``).
"""

from __future__ import annotations

import os
import re
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy import Column, Date, Integer, MetaData, Numeric, String, Table, create_engine, insert, select, update

#: Faults that can be switched on, and what a guest would meet.
BUGS = {
    "cancels_all": "cancels every booking of the guest",
    "asks_nothing": "cancels without asking",
    "mixes_up": "asks about one booking and cancels the other",
    "only_says": "says that it has cancelled, and has not",
    "ignores_no": "cancels though the guest said no",
    "full_refund": "refunds the whole price, whatever the rate",
    "refunds_twice": "refunds, and refunds again",
}
BOOKING = re.compile(r"\bBK-\d+\b")

metadata = MetaData()
bookings = Table(
    "bookings",
    metadata,
    Column("id", String, primary_key=True),
    Column("guest", String, nullable=False),
    Column("room", Integer, nullable=False),
    Column("arrival", Date, nullable=False),
    Column("nights", Integer, nullable=False),
    Column("price", Numeric(8, 2, asdecimal=True), nullable=False),
    Column("refundable", Integer, nullable=False),  # per cent of the price
    Column("status", String, nullable=False),
)
refunds = Table(
    "refunds",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("booking", String, nullable=False),
    Column("amount", Numeric(8, 2, asdecimal=True), nullable=False),
)

engine = create_engine(os.environ.get("HOTEL_DATABASE", "sqlite:///hotel_test.db"))
bugs = frozenset(os.environ.get("HOTEL_BUGS", "").split(",")) - {""}
app = FastAPI()


class Message(BaseModel):
    """What a guest says, and in which conversation."""

    message: str
    session: str


class Desk:
    """One conversation. ``trace``: the calls of the answer that is under way."""

    def __init__(self) -> None:
        self.to_cancel = False
        self.asked_about = ""
        self.trace: list[dict[str, Any]] = []

    def answer(self, message: str) -> str:
        """Return the next answer."""
        if self.asked_about:
            booking, self.asked_about = self.asked_about, ""
            agreed = message.lower().startswith("yes") or "ignores_no" in bugs
            return self.cancelled(booking) if agreed else "All right, your booking stays as it is."
        self.to_cancel |= "cancel" in message.lower()
        number = BOOKING.search(message)
        if number is None:
            return "Which booking is it? Its number begins with BK."
        found = self.call("find_booking", booking_id=number[0])
        if not found:
            return f"I cannot find {number[0]}."
        return self.before_cancelling(found) if self.to_cancel else f"{found['id']}: {_in_words(found)}."

    def before_cancelling(self, booking: dict[str, Any]) -> str:
        """Return the question whether to cancel, or why not."""
        if booking["status"] != "open":
            return f"{booking['id']} is {booking['status']} and cannot be cancelled any more."
        if "asks_nothing" in bugs:
            return self.cancelled(booking["id"])
        self.asked_about = booking["id"]
        return f"Shall I cancel booking {booking['id']}, {_in_words(booking)}? You get {booking['refundable']} % back."

    def cancelled(self, booking_id: str) -> str:
        """Cancel a booking, and return what is said of it."""
        if "only_says" in bugs:
            return f"Booking {booking_id} is cancelled."
        if "mixes_up" in bugs:
            booking_id = self.call("list_bookings", booking_id=booking_id)[-1]["id"]
        if "cancels_all" in bugs:
            for other in self.call("list_bookings", booking_id=booking_id):
                self.call("cancel_booking", booking_id=other["id"])
        else:
            self.call("cancel_booking", booking_id=booking_id)
        return f"Booking {booking_id} is cancelled."

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool, and keep the call for the trace."""
        result = TOOLS[tool](**arguments)
        self.trace.append({"tool": tool, "arguments": arguments, "result": result})
        return result


def _in_words(booking: dict[str, Any]) -> str:
    return f"room {booking['room']} from {booking['arrival']}, {booking['nights']} nights, {booking['price']} EUR"


def find_booking(booking_id: str) -> dict[str, Any]:
    """Return a booking; an empty object where there is none."""
    with engine.connect() as connection:
        row = connection.execute(select(bookings).where(bookings.c.id == booking_id)).mappings().first()
    return {} if row is None else {name: value if isinstance(value, int) else str(value) for name, value in row.items()}


def list_bookings(booking_id: str) -> list[dict[str, Any]]:
    """Return all bookings of the guest who has one."""
    with engine.connect() as connection:
        guest = select(bookings.c.guest).where(bookings.c.id == booking_id).scalar_subquery()
        ids = connection.scalars(select(bookings.c.id).where(bookings.c.guest == guest).order_by(bookings.c.id))
        return [find_booking(each) for each in ids.all()]


def cancel_booking(booking_id: str) -> dict[str, Any]:
    """Cancel a booking, and refund what its rate gives back."""
    with engine.begin() as connection:
        row = connection.execute(select(bookings).where(bookings.c.id == booking_id)).mappings().one()
        share = 100 if "full_refund" in bugs else row["refundable"]
        refund = {"booking": booking_id, "amount": row["price"] * share / 100}
        connection.execute(update(bookings).where(bookings.c.id == booking_id).values(status="cancelled"))
        for _ in range(2 if "refunds_twice" in bugs else 1):
            connection.execute(insert(refunds).values(**refund))
    return {"booking": booking_id, "status": "cancelled", "refund": f"{refund['amount']:.2f}"}


TOOLS = {"find_booking": find_booking, "list_bookings": list_bookings, "cancel_booking": cancel_booking}
desks: dict[str, Desk] = {}
metadata.create_all(engine)


@app.get("/health")
def health() -> str:
    """Say that the service is up."""
    return "ok"


@app.post("/chat")
def chat(message: Message) -> dict[str, Any]:
    """Answer a guest, with the calls that the answer took."""
    desk = desks.setdefault(message.session, Desk())
    desk.trace = []
    return {"text": desk.answer(message.message), "trace": desk.trace}
