"""The sandbox of the domain ``errands``: orders and tables that are booked, over the suite's tables ``orders``, ``bookings`` and ``slots``.

A sandbox in Python, as docs/how-to/build-a-sandbox.md shows how to write one: a method for each tool; what is not allowed is refused and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_mapsat.model import Case
from pytest_mapsat.sandbox import Refused, SandboxFactory, State

Json = dict[str, Any]


class Errands:
    """Orders and bookings of the two towns.

    Args:
        state: the tables of one episode.
    """

    def __init__(self, state: State) -> None:
        self._orders, self._bookings, self._slots = state["orders"], state["bookings"], state["slots"]

    def list_orders(self, uid: str) -> Json:
        """Return the orders of a customer, the latest first."""
        own = [dict(order) for order in self._orders.values() if order["uid"] == uid]
        return {"orders": sorted(own, key=lambda order: str(order["placed"]), reverse=True)}

    def list_bookings(self, uid: str) -> Json:
        """Return the tables that a customer has booked."""
        return {"bookings": [dict(booking) for booking in self._bookings.values() if booking["uid"] == uid]}

    def find_slots(self, city: str, day: str, people: int) -> Json:
        """Return the free tables of a day that so many people can sit at."""
        free = [dict(slot) for slot in self._slots.values() if slot["city"] == city and slot["time"].startswith(day)]
        return {"slots": [slot for slot in free if slot["free"] and slot["seats"] >= people]}

    def cancel_order(self, order_id: str) -> Json:
        """Cancel an order that nobody has begun to cook."""
        order = self._order(order_id)
        if order["status"] != "open":
            raise Refused(f"the order is {order['status']}: only an open one can be cancelled", order_id=order_id)
        return dict(self._orders.change(order_id, status="cancelled"))

    def reorder(self, uid: str, order_id: str) -> Json:
        """Place an order for the same again."""
        old = self._order(order_id)
        if old["uid"] != uid:
            raise Refused("the order is another customer's", order_id=order_id)
        kept = {name: old[name] for name in ("uid", "shop", "items", "total", "address")}
        return dict(self._orders.add({**kept, "id": _next(self._orders, "n"), "status": "open", "placed": "now"}))

    def change_address(self, order_id: str, address: str) -> Json:
        """Send an order elsewhere while it has not left."""
        order = self._order(order_id)
        if order["status"] not in ("open", "cooking"):
            raise Refused(f"the order is {order['status']}: it has left", order_id=order_id)
        return dict(self._orders.change(order_id, address=address))

    def book_slot(self, uid: str, slot_id: str, people: int) -> Json:
        """Book a free table."""
        slot = self._slots.get(slot_id)
        if slot is None or not slot["free"]:
            raise Refused("there is no such free table", slot_id=slot_id)
        if people > slot["seats"]:
            raise Refused(f"the table seats {slot['seats']}", slot_id=slot_id)
        self._slots.change(slot_id, free=False)
        booking = {"id": _next(self._bookings, "b"), "uid": uid, "slot": slot_id, "people": people, "status": "booked"}
        told = {name: slot[name] for name in ("place", "time", "deposit_yuan")}
        return dict(self._bookings.add({**booking, **told}))

    def cancel_booking(self, booking_id: str) -> Json:
        """Give a booked table back."""
        booking = self._bookings.get(booking_id)
        if booking is None or booking["status"] != "booked":
            raise Refused("there is no such booking", booking_id=booking_id)
        if booking["slot"] in self._slots:
            self._slots.change(str(booking["slot"]), free=True)
        return dict(self._bookings.change(booking_id, status="cancelled"))

    def _order(self, order_id: str) -> Json:
        order = self._orders.get(order_id)
        if order is None:
            raise Refused("there is no such order", order_id=order_id)
        return order


def _next(rows: Iterable[str], letter: str) -> str:
    """Return the id of a new row."""
    return f"{letter}{sum(1 for _ in rows) + 1}"


def sandbox_of(case: Case) -> SandboxFactory | None:
    """Return what makes the sandbox of a shipped case; None for one that tables alone answer."""
    return Errands if "errands" in case.domains else None
