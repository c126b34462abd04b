"""The domain airline: users, flights by date, and reservations, under the policy of the airline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date as day
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from pytest_mapsat.formats import package_data
from pytest_mapsat.model import Json, JsonObject
from pytest_mapsat.sandbox import Refused, Row

from .world import Calculating, tool

UserId = Annotated[str, Field(description="such as 'sara_doe_496'")]
ReservationId = Annotated[str, Field(description="such as 'ZFA04Y'")]
FlightNumber = Annotated[str, Field(description="such as 'HAT001'")]
Airport = Annotated[str, Field(description="three letters, such as 'JFK'")]
Date = Annotated[str, Field(description="YYYY-MM-DD, such as '2024-05-15'")]
PaymentId = Annotated[str, Field(description="such as 'credit_card_7815826'; the user's profile has it")]
Cabin = Literal["business", "economy", "basic_economy"]
Bags = Annotated[int, Field(description="how many in all")]
PaidBags = Annotated[int, Field(description="how many of them are paid for")]
#: A number that the published models convert where it is text; other numbers of the desk are taken as they are.
Whole = int | Annotated[str, Field(pattern=r"^\s*-?\d{1,9}(\.0*)?\s*$")]


class FlightInfo(TypedDict):
    """A flight on a date."""

    flight_number: FlightNumber
    date: Date


class Passenger(TypedDict):
    """Who flies."""

    first_name: str
    last_name: str
    dob: Annotated[str, Field(description="date of birth, YYYY-MM-DD")]


class Payment(TypedDict):
    """What is paid by one method, in dollars."""

    payment_id: PaymentId
    amount: Whole


Flights = Annotated[
    list[FlightInfo], Field(description="every flight of the reservation, those that stay as they are included")
]

_BAG, _INSURANCE = 50, 30
_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")


class AirlineWorld(Calculating):
    """The airline's tools: they check seats, sums and payment methods; most rules of the policy are left to the agent."""

    now = "2024-05-15T15:00:00"
    keys = {"users": "user_id", "flights": "flight_number", "reservations": "reservation_id"}  # noqa: RUF012

    # -- reading

    @tool()
    def get_user_details(self, user_id: UserId) -> JsonObject:
        """Show a user, with payment methods, membership and the ids of reservations."""
        user, reservations = self.rows("users")[user_id], self.rows("reservations")
        # A new reservation says itself whose it is, so that the order of bookings does not count.
        booked = [reservations[row_id] for row_id in _RESERVATIONS if row_id in reservations]
        new = [row["reservation_id"] for row in booked if row["user_id"] == user["user_id"]]
        return {**user, "reservations": list(dict.fromkeys([*user["reservations"], *new]))}

    @tool()
    def get_reservation_details(self, reservation_id: ReservationId) -> JsonObject:
        """Show a reservation: flights, cabin, passengers, bags, insurance and payments."""
        return self.rows("reservations")[reservation_id]

    @tool()
    def get_flight_status(self, flight_number: FlightNumber, date: Date) -> str:
        """Tell the status of a flight on a date."""
        return str(self._on_date(self.rows("flights")[flight_number], date)["status"])

    @tool()
    def list_all_airports(self) -> list[dict[str, str]]:
        """List all airports with their cities."""
        cities: Mapping[str, str] = package_data(__package__, "words.yaml")["cities"]
        return [{"iata": code, "city": city} for code, city in cities.items()]

    @tool()
    def search_direct_flight(self, origin: Airport, destination: Airport, date: Date) -> list[JsonObject]:
        """Search the flights from one airport to another on a date that can be booked."""
        return list(self._direct(date, origin, destination))

    @tool()
    def search_onestop_flight(self, origin: Airport, destination: Airport, date: Date) -> list[list[JsonObject]]:
        """Search pairs of flights with one stop, the first of them on a date, that can be booked."""
        pairs: list[list[JsonObject]] = []
        for first in self._direct(date, origin):
            arrival, _, later = first["scheduled_arrival_time_est"].partition("+")
            second_date = _later(date, 1) if later else date
            seconds = self._direct(second_date, first["destination"], destination, arrival)
            pairs += [[{**first, "date": date}, {**second, "date": second_date}] for second in seconds]
        return pairs

    def _direct(self, date: str, origin: str, destination: str | None = None, after: str = "") -> Iterator[JsonObject]:
        """Yield the available flights from an airport on a date, to ``destination`` where it is given, departing from ``after`` on."""
        for flight in self.rows("flights").values():
            seats = flight["dates"].get(date)
            if (
                flight["origin"] == origin
                and destination in (None, flight["destination"])
                and seats is not None
                and seats["status"] == "available"
                and flight["scheduled_departure_time_est"] >= after
            ):
                yield {**{name: value for name, value in flight.items() if name != "dates"}, **seats}

    # -- writing

    @tool(writes=True)
    def book_reservation(
        self,
        *,
        user_id: UserId,
        origin: Airport,
        destination: Airport,
        flight_type: Literal["round_trip", "one_way"],
        cabin: Cabin,
        flights: Flights,
        passengers: list[Passenger],
        payment_methods: list[Payment],
        total_baggages: Annotated[Whole, Field(description="how many in all")],
        nonfree_baggages: PaidBags,
        insurance: Literal["yes", "no"],
    ) -> JsonObject:
        """Book flights. What the payment methods give must come to the price, with 50 a paid bag and 30 a passenger for insurance."""
        user = self.rows("users")[user_id]
        booked = [self._booked(info, cabin, len(passengers)) for info in flights]
        price = sum(flight["price"] for flight in booked) * len(passengers) + _BAG * nonfree_baggages
        price += _INSURANCE * len(passengers) if insurance == "yes" else 0
        paid = [_payment(payment["payment_id"], _number(payment["amount"])) for payment in payment_methods]
        self._pay_booking(user, paid, price)
        for flight in booked:
            self._take_seats(flight, cabin, len(passengers))
        free = next((row_id for row_id in _RESERVATIONS if row_id not in self.rows("reservations")), None)
        if free is None:
            raise Refused("no further reservation can be made")
        return self.rows("reservations").add(
            {
                "reservation_id": free,
                "user_id": user["user_id"],
                "origin": origin,
                "destination": destination,
                "flight_type": flight_type,
                "cabin": cabin,
                "flights": booked,
                "passengers": [_passenger(passenger) for passenger in passengers],
                "payment_history": paid,
                "created_at": self.now,
                "total_baggages": _number(total_baggages),
                "nonfree_baggages": nonfree_baggages,
                "insurance": insurance,
                "status": None,
            }
        )

    @tool(writes=True)
    def cancel_reservation(self, reservation_id: ReservationId) -> JsonObject:
        """Cancel a whole reservation; all payments are given back."""
        reservation = self.rows("reservations")[reservation_id]
        paid: Sequence[JsonObject] = reservation["payment_history"]
        refunds = [_payment(payment["payment_id"], -payment["amount"]) for payment in paid]
        return self._changed(reservation, payment_history=[*paid, *refunds], status="cancelled")

    @tool(writes=True)
    def update_reservation_flights(
        self, reservation_id: ReservationId, cabin: Cabin, flights: Flights, payment_id: PaymentId
    ) -> JsonObject:
        """Give a reservation other flights or another cabin; the difference is paid, or given back, by one gift card or credit card."""
        reservation = self.rows("reservations")[reservation_id]
        passengers = len(reservation["passengers"])
        booked = [self._kept(reservation, info, cabin) or self._booked(info, cabin, passengers) for info in flights]
        former, new = (sum(flight["price"] for flight in some) for some in (reservation["flights"], booked))
        history = self._paid(reservation, payment_id, (new - former) * passengers)
        return self._changed(reservation, flights=booked, cabin=cabin, payment_history=history)

    @tool(writes=True)
    def update_reservation_baggages(
        self, reservation_id: ReservationId, total_baggages: Bags, nonfree_baggages: PaidBags, payment_id: PaymentId
    ) -> JsonObject:
        """Give a reservation other numbers of bags; further paid ones cost 50 dollars each."""
        reservation = self.rows("reservations")[reservation_id]
        price = _BAG * max(0, nonfree_baggages - reservation["nonfree_baggages"])
        history = self._paid(reservation, payment_id, price)
        bags = {"total_baggages": total_baggages, "nonfree_baggages": nonfree_baggages}
        return self._changed(reservation, **bags, payment_history=history)

    @tool(writes=True)
    def update_reservation_passengers(self, reservation_id: ReservationId, passengers: list[Passenger]) -> JsonObject:
        """Give a reservation other passengers; so many as before."""
        reservation = self.rows("reservations")[reservation_id]
        if len(passengers) != len(reservation["passengers"]):
            raise Refused("the number of passengers cannot be changed", passengers=len(reservation["passengers"]))
        return self._changed(reservation, passengers=[_passenger(passenger) for passenger in passengers])

    @tool(writes=True)
    def send_certificate(self, user_id: UserId, amount: Annotated[Whole, Field(description="in dollars")]) -> str:
        """Give a user a travel certificate; only where the policy allows it."""
        user = self.rows("users")[user_id]
        methods = user["payment_methods"]
        free = next((name for name in _CERTIFICATES if name not in methods), None)
        if free is None:
            raise Refused("no further certificate can be sent")
        certificate = {"id": free, "source": "certificate", "amount": _number(amount)}
        self.rows("users").change(user["user_id"], payment_methods={**methods, free: certificate})
        return f"{user['user_id']} has the certificate {free} of {amount} dollars now"

    # -- rules

    def _changed(self, reservation: Row, **columns: Json) -> Row:
        """Change columns of a reservation, and return it."""
        return self.rows("reservations").change(reservation["reservation_id"], **columns)

    @staticmethod
    def _on_date(flight: Row, date: str) -> JsonObject:
        """Return the status, seats and prices of a flight on a date. Raises Refused where it does not fly then."""
        if date not in flight["dates"]:
            raise Refused(f"{flight['flight_number']} does not fly on {date}")
        seats: JsonObject = flight["dates"][date]
        return seats

    def _booked(self, info: FlightInfo, cabin: str, passengers: int) -> JsonObject:
        """Return a flight as a reservation stores it. Raises Refused where it is unavailable or has too few seats."""
        flight = self.rows("flights")[info["flight_number"]]
        seats = self._on_date(flight, info["date"])
        if seats["status"] != "available":
            raise Refused(f"{flight['flight_number']} is {seats['status']} on {info['date']}")
        if seats["available_seats"][cabin] < passengers:
            raise Refused(f"{flight['flight_number']} has {seats['available_seats'][cabin]} seats in {cabin}")
        where = {name: flight[name] for name in ("origin", "destination", "flight_number")}
        return {**where, "date": info["date"], "price": seats["prices"][cabin]}

    def _kept(self, reservation: Row, info: FlightInfo, cabin: str) -> JsonObject | None:
        """Return a flight that the reservation has already, at its old price; None where it has not, or the cabin changes."""
        if cabin != reservation["cabin"]:
            return None
        wanted = info["flight_number"], info["date"]
        flights = (dict(flight) for flight in reservation["flights"])
        return next((flight for flight in flights if (flight["flight_number"], flight["date"]) == wanted), None)

    def _take_seats(self, booked: JsonObject, cabin: str, passengers: int) -> None:
        """Reduce the available seats of a booked flight by the number of passengers."""
        flight = self.rows("flights")[booked["flight_number"]]
        on_date = flight["dates"][booked["date"]]
        seats = {**on_date["available_seats"], cabin: on_date["available_seats"][cabin] - passengers}
        dates = {**flight["dates"], booked["date"]: {**on_date, "available_seats": seats}}
        self.rows("flights").change(booked["flight_number"], dates=dates)

    def _pay_booking(self, user: Row, payments: Sequence[JsonObject], price: int) -> None:
        """Charge the user's payment methods, and remove used certificates. Raises Refused where they do not pay the exact price."""
        methods = dict(user["payment_methods"])
        for payment in payments:
            method = methods.get(payment["payment_id"])
            if method is None:
                raise Refused("the user has no such payment method", payment_id=payment["payment_id"])
            if method["source"] != "credit_card" and method["amount"] < payment["amount"]:
                raise Refused("the payment method does not cover its part", payment_id=payment["payment_id"])
        paid = sum(payment["amount"] for payment in payments)
        if paid != price:
            raise Refused(f"the payments come to {paid} dollars, the price is {price}")
        for payment in payments:
            method = methods.get(payment["payment_id"])
            if method is None:
                raise Refused("a certificate is used once only", payment_id=payment["payment_id"])
            if method["source"] == "certificate":
                del methods[payment["payment_id"]]
            elif method["source"] == "gift_card":
                methods[payment["payment_id"]] = {**method, "amount": method["amount"] - payment["amount"]}
        self.rows("users").change(user["user_id"], payment_methods=methods)

    def _paid(self, reservation: Row, payment_id: str, price: int) -> list[Json]:
        """Charge or refund the price of a change, and return the reservation's payments with it. Raises Refused where it cannot."""
        user = self.rows("users")[reservation["user_id"]]
        methods = user["payment_methods"]
        if payment_id not in methods:
            raise Refused("the user has no such payment method", payment_id=payment_id)
        method = methods[payment_id]
        if method["source"] == "certificate":
            raise Refused("a certificate pays for no change")
        if method["source"] == "gift_card":
            if method["amount"] < price:
                raise Refused("the gift card does not cover the price", price=price)
            left = {**method, "amount": method["amount"] - price}
            self.rows("users").change(user["user_id"], payment_methods={**methods, payment_id: left})
        return [*reservation["payment_history"], *([_payment(payment_id, price)] if price else [])]


def _number(amount: Whole) -> int:
    """Return an amount, which may be a text, as a whole number."""
    return int(float(amount))


def _payment(payment_id: str, amount: int) -> JsonObject:
    """Return a payment as a reservation stores it."""
    return {"payment_id": payment_id, "amount": amount}


def _passenger(passenger: Passenger) -> JsonObject:
    """Return the names and the date of birth of a passenger, without any other fields."""
    return {"first_name": passenger["first_name"], "last_name": passenger["last_name"], "dob": passenger["dob"]}


def _later(date: str, days: int) -> str:
    """Return the date this many days later. Raises Refused where the text is no date."""
    try:
        return (day.fromisoformat(date) + timedelta(days=days)).isoformat()
    except (ValueError, OverflowError):
        raise Refused(f"{date} is no date: expected YYYY-MM-DD") from None
