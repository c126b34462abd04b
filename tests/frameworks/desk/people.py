"""A hotel, and how the models of its front desk and of its billing office decide: one for the agents of all frameworks."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from pytest_mapsat import Refused

#: The tools of the two agents.
DESK, BILLING = ("list_bookings", "price_of", "cancel_booking"), ("list_bills", "refund_bill")


class Hotel:
    """The tools, over the tables of the suite or over dicts."""

    def __init__(self, state):
        self.bookings, self.bills = state["bookings"], state["bills"]

    def list_bookings(self, guest: str) -> dict:
        """List the bookings of a guest."""
        return {"bookings": [dict(row) for row in self.bookings.values() if row["guest"] == guest]}

    def price_of(self, booking_id: str) -> dict:
        """Say what a booking costs."""
        if booking_id not in self.bookings:
            raise Refused("there is no such booking")
        row = self.bookings[booking_id]
        return {"booking": row["id"], "room": row["room"], "price_eur": row["price_eur"]}

    def cancel_booking(self, booking_id: str) -> dict:
        """Cancel a booking."""
        if booking_id not in self.bookings:
            raise Refused("there is no such booking")
        return self._changed(self.bookings, booking_id, "cancelled")

    def list_bills(self, guest: str) -> dict:
        """List the bills of a guest."""
        return {"bills": [dict(row) for row in self.bills.values() if row["guest"] == guest]}

    def refund_bill(self, bill_id: str) -> dict:
        """Refund a bill."""
        if bill_id not in self.bills:
            raise Refused("there is no such bill")
        return self._changed(self.bills, bill_id, "refunded")

    def _changed(self, table, row, status):
        if hasattr(table, "change"):
            return table.change(row, status=status)
        table[row]["status"] = status
        return table[row]


def real_hotel():
    """Return a hotel of its own, as a service has one."""
    tables = Path(__file__).parent / "cases" / "state"
    rows = {path.stem: map(json.loads, path.read_text(encoding="utf-8").splitlines()) for path in tables.iterdir()}
    return Hotel({name: {row["id"]: row for row in listed} for name, listed in rows.items()})


def _read(text):
    """Return the data in a result, as JSON or as Python writes it."""
    try:
        return json.loads(text)
    except ValueError:
        return ast.literal_eval(text) if text.startswith("{") else {}


def _data(results):
    prices = [row["price_eur"] for row in _read(results[0])["bookings"]]
    return {"text": f"Together they cost {sum(prices)} EUR.", "total": sum(prices)}


def _wrong(results):
    return {**_data(results), "total": 1}


def _prices(results):
    found = [_read(result) for result in results]
    costs = [f"The {each['room']} costs {each['price_eur']} EUR." for each in found if "room" in each]
    return " ".join(costs + ["One of them does not exist."] * ("room" not in found[-1]))


def _bills(results):
    return " ".join(f"Bill {row['id']} is {row['eur']} EUR." for row in _read(results[0])["bills"])


IDA = ("list_bookings", {"guest": "ida"})
_BILLS = ("list_bills", {"guest": "ida"})


def _cancel(booking):
    return ("cancel_booking", {"booking_id": booking})


def _price(booking):
    return ("price_of", {"booking_id": booking})


#: By the first message of a user: for each message the batches of calls, one after the other, and the reply to their results.
PLANS = {
    "What do my bookings cost together?": [([[IDA]], _data)],
    "Add up what my bookings cost.": [([[IDA]], _wrong)],
    "Please cancel BK-1. Check with me first.": [
        ([[IDA]], lambda results: "Shall I cancel booking BK-1?"),
        ([[_cancel("BK-1")]], lambda results: "Booking BK-1 is cancelled."),
    ],
    "Please cancel BK-2. Ask me first.": [([[_cancel("BK-2")]], lambda results: "Booking BK-2 is cancelled.")],
    "Cancel BK-9 right now.": [([[_cancel("BK-9")]], lambda results: "There is no booking BK-9.")],
    "Which rooms do I have?": [
        ([[("list_bookings", {})], [IDA]], lambda results: "You have the Garden Room and the Harbour Room.")
    ],
    "What is on my bill?": [([[_BILLS]], _bills)],
    "Refund my bill BL-1 now.": [
        ([[_BILLS], [("refund_bill", {"bill_id": "BL-1"})]], lambda results: "Bill BL-1 is refunded.")
    ],
    "Compare the prices of BK-1 and BK-2.": [([[_price("BK-1"), _price("BK-2")]], _prices)],
    "Compare the prices of BK-1 and BK-9.": [([[_price("BK-1"), _price("BK-9")]], _prices)],
    "Which of my rooms is the cheapest?": [
        ([[IDA]], lambda results: "The Harbour Room is the cheapest, at 80 EUR."),
    ],
    "I want to go home early. Cancel everything.": [
        ([[IDA]], lambda results: "Shall I cancel booking BK-1 and booking BK-2?"),
        ([[_cancel("BK-1"), _cancel("BK-2")]], lambda results: "Both are cancelled."),
    ],
}


def think(who: str, users: list[str], results: list[str]) -> list[tuple[str, dict[str, Any]]] | str | dict[str, Any]:
    """Return the next batch of calls, or the reply, as text or data.

    Args:
        who: the agent, ``desk`` or ``billing``; None: one that has all tools.
        users: the messages of the user.
        results: those of tools since the last of them, without those of handovers.
    """
    plan = PLANS.get(users[0], ())
    if len(users) > len(plan):
        return "Goodbye."
    batches, reply = plan[len(users) - 1]
    office = "billing" if batches[0][0][0] in BILLING else "desk"
    if who != office and who:
        return [("transfer_to_billing", {})]
    done = 0
    for batch in batches:
        if len(results) <= done:
            return batch
        done += len(batch)
    return reply(results)


def is_handover(text: str) -> bool:
    """Return whether the result of a tool is what a framework says of a handover."""
    return re.match(r'\{"assistant"|Transferred to', text) is not None


def _schema(*names):
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


SCHEMAS = {
    "list_bookings": _schema("guest"),
    "price_of": _schema("booking_id"),
    "cancel_booking": _schema("booking_id"),
    "list_bills": _schema("guest"),
    "refund_bill": _schema("bill_id"),
}
