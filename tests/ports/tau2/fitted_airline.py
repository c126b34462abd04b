"""A made-up database of an airline in the published format, in which the reference actions of given tasks can be played."""

import re
from collections import defaultdict

_USER = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")
_TIMES = {"scheduled_departure_time_est": "09:00:00", "scheduled_arrival_time_est": "11:30:00"}
CABINS = ("basic_economy", "economy", "business")


def database(tasks: list[dict]) -> dict:
    """Return flights, users and reservations that fit the actions: prices that the payments of bookings come to, cards with enough on them."""
    flights, users, reservations = {}, {}, {}
    for task in tasks:
        actions = [(action["name"], action["arguments"]) for action in task["evaluation_criteria"]["actions"]]
        told = f"{task['user_scenario']['instructions']['known_info']} {actions}"
        owner = next(iter(_USER.findall(told)), "sara_doe_4960")
        methods = defaultdict(int)
        for name, given in actions:
            booked_by = given.get("user_id", owner)
            _ = users.setdefault(booked_by, user(booked_by))
            for info in given.get("flights", []):
                flight(flights, info["flight_number"])["dates"].setdefault(info["date"], available())
            if name == "book_reservation":
                first = given["flights"][0]
                paid = sum(payment["amount"] for payment in given["payment_methods"])
                people = len(given["passengers"])
                paid -= 50 * given["nonfree_baggages"] + (30 * people if given["insurance"] == "yes" else 0)
                flights[first["flight_number"]]["dates"][first["date"]]["prices"][given["cabin"]] = paid // people
                for payment in given["payment_methods"]:
                    methods[payment["payment_id"]] += payment["amount"]
            elif "payment_id" in given:
                methods[given["payment_id"]] += 5_000
            if "reservation_id" in given:
                row = reservations.setdefault(given["reservation_id"], reservation(given["reservation_id"], owner, 1))
                row["passengers"] *= len(given.get("passengers", [1]))
        _ = users.setdefault(owner, user(owner))
        users[owner]["payment_methods"] |= {name: method(name, amount) for name, amount in methods.items()}
    flight(flights, "HAT900")["dates"]["2024-05-20"] = available()
    for row in reservations.values():
        users[row["user_id"]]["reservations"].append(row["reservation_id"])
        card = next(
            (name for name in users[row["user_id"]]["payment_methods"] if name.startswith("credit")), "credit_card_1"
        )
        row["payment_history"] = [{"payment_id": card, "amount": 120}]
    return {"flights": flights, "users": users, "reservations": reservations}


def available(seats: int = 9) -> dict:
    return {"status": "available", "available_seats": dict.fromkeys(CABINS, seats), "prices": dict.fromkeys(CABINS, 0)}


def flight(flights: dict, number: str) -> dict:
    where = {"origin": "JFK", "destination": "SEA", **_TIMES}
    return flights.setdefault(number, {"flight_number": number, **where, "dates": {}})


def method(name: str, amount: int) -> dict:
    source = name.rpartition("_")[0]
    if source == "credit_card":
        return {"source": source, "id": name, "brand": "visa", "last_four": name[-4:]}
    return {"source": source, "id": name, "amount": amount}


def user(user_id: str) -> dict:
    first, last, _ = user_id.split("_")
    return {
        "user_id": user_id,
        "name": {"first_name": first.title(), "last_name": last.title()},
        "address": {
            "address1": "1 Quay",
            "address2": None,
            "city": "Denver",
            "country": "USA",
            "state": "CO",
            "zip": "80280",
        },
        "email": f"{user_id}@example.com",
        "dob": "1980-01-01",
        "payment_methods": {},
        "saved_passengers": [],
        "membership": "regular",
        "reservations": [],
    }


def reservation(reservation_id: str, owner: str, people: int) -> dict:
    return {
        "reservation_id": reservation_id,
        "user_id": owner,
        "origin": "JFK",
        "destination": "SEA",
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": [
            {"origin": "JFK", "destination": "SEA", "flight_number": "HAT900", "date": "2024-05-20", "price": 120}
        ],
        "passengers": [{"first_name": "Sara", "last_name": "Doe", "dob": "1980-01-01"}] * people,
        "payment_history": [],
        "created_at": "2024-05-10T10:00:00",
        "total_baggages": 0,
        "nonfree_baggages": 0,
        "insurance": "no",
        "status": None,
    }
