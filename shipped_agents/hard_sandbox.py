"""The sandbox of ``benchmark_hard``: the desk of a town, over the suite's tables of places, slots, trips, users, bookings, tickets and messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_mapsat.sandbox import Refused, State

Json = dict[str, Any]


class Desk:
    """The desk of the two towns.

    Args:
        state: the tables of one episode.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._users = state.table("users", key="uid")

    def search_places(self, city: str, kind: str) -> Json:
        """Return the places of a kind in a town."""
        places = self._state["places"].values()
        return {"places": [dict(place) for place in places if place["city"] == city and place["kind"] == kind]}

    def find_slots(self, city: str, kind: str, day: str, people: int) -> Json:
        """Return what is free on a day for so many people."""
        slots = [dict(slot) for slot in self._state["slots"].values() if slot["city"] == city and slot["kind"] == kind]
        return {
            "slots": [
                slot for slot in slots if slot["time"].startswith(day) and slot["free"] and slot["seats"] >= people
            ]
        }

    def departures(self, city: str, day: str, origin: str, destination: str) -> Json:
        """Return the departures of a day from one stop to another, the earliest first."""
        trips = [
            dict(trip)
            for trip in self._state["trips"].values()
            if (trip["city"], trip["origin"], trip["destination"]) == (city, origin, destination)
            and trip["departs"].startswith(day)
        ]
        return {"trips": sorted(trips, key=lambda trip: str(trip["departs"]))}

    def get_profile(self, uid: str) -> Json:
        """Return what the desk knows of a customer."""
        if uid not in self._users:
            raise Refused("there is no such customer", uid=uid)
        return dict(self._users[uid])

    def list_bookings(self, uid: str) -> Json:
        """Return a customer's bookings."""
        return {"bookings": [dict(booking) for booking in self._state["bookings"].values() if booking["uid"] == uid]}

    def list_tickets(self, uid: str) -> Json:
        """Return a customer's tickets."""
        return {"tickets": [dict(ticket) for ticket in self._state["tickets"].values() if ticket["uid"] == uid]}

    def book_slot(self, uid: str, slot_id: str, people: int, note: str = "") -> Json:
        """Book what is free."""
        slot = self._state["slots"].get(slot_id)
        if slot is None or not slot["free"]:
            raise Refused("it is not free", slot_id=slot_id)
        if people > slot["seats"]:
            raise Refused(f"it is for {slot['seats']} at most", slot_id=slot_id)
        self._state["slots"].change(slot_id, free=False)
        bookings = self._state["bookings"]
        kept = {name: slot[name] for name in ("place", "time", "price_yuan", "deposit_yuan", "refundable")}
        booking = {"id": _next(bookings, "b"), "uid": uid, "slot": slot_id, "people": people, "status": "booked"}
        return dict(bookings.add({**booking, **kept, "note": note}))

    def cancel_booking(self, booking_id: str) -> Json:
        """Give a booking back."""
        booking = self._state["bookings"].get(booking_id)
        if booking is None or booking["status"] != "booked":
            raise Refused("there is no such booking", booking_id=booking_id)
        if booking["slot"] in self._state["slots"]:
            self._state["slots"].change(str(booking["slot"]), free=True)
        return dict(self._state["bookings"].change(booking_id, status="cancelled"))

    def buy_ticket(self, uid: str, trip_id: str, count: int) -> Json:
        """Buy tickets for a departure that runs and has seats."""
        trip = self._state["trips"].get(trip_id)
        if trip is None or trip["status"] == "cancelled":
            raise Refused("it does not run", trip_id=trip_id)
        if count > trip["seats_left"]:
            raise Refused(f"only {trip['seats_left']} seats are left", trip_id=trip_id)
        self._state["trips"].change(trip_id, seats_left=trip["seats_left"] - count)
        tickets = self._state["tickets"]
        ticket = {"id": _next(tickets, "t"), "uid": uid, "trip": trip_id, "count": count, "status": "paid"}
        kept = {"line": trip["line"], "departs": trip["departs"], "price_yuan": trip["price_yuan"] * count}
        return dict(tickets.add({**ticket, **kept}))

    def send_message(self, uid: str, to: str, text: str) -> Json:
        """Send a message to a contact or a place."""
        contacts = [contact["name"] for contact in self._users[uid]["contacts"]]
        if to not in contacts and to not in self._state["places"]:
            raise Refused("there is no such contact or place", to=to)
        messages = self._state["messages"]
        return dict(messages.add({"id": _next(messages, "m"), "uid": uid, "to": to, "text": text}))


def _next(rows: Iterable[str], letter: str) -> str:
    """Return the id of a new row."""
    return f"{letter}{sum(1 for _ in rows) + 1}"
