"""What the three worlds of VitaBench share: one user at one moment, shops with products, orders and their payment, search, addresses, weather, holidays."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from pytest_mapsat import Refused
from pytest_mapsat.model import Json, JsonObject, did_you_mean, shown
from pytest_mapsat.sandbox import Row, State, distance_m

#: The tables of a case, and the id of the one row of ``task``, with the moment and the user.
TABLES = ("task", "places", "weather", "habits", "shops", "products", "orders", "books", "reservations")
TASK = "task"
#: Columns that the sandbox needs for itself, and does not show.
_OWN = frozenset({"id", "kind", "shop", "place"})
#: The most rows that a search lists; the least likeness (0 to 100) of a recognised address or city.
_LISTED = 100
_LEAST_ADDRESS, _LEAST_CITY = 30, 50
#: The most keywords of a call that count, the most characters of each or of an address; the years that a call may name.
_MOST_WORDS, _LONGEST = 20, 200
_FIRST_YEAR, _LAST_YEAR = 1970, 2999
_MOMENT = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?")
_WORD = re.compile(r"\w+")
_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T]\d.*)?")


def moment_of(text: str) -> str:
    """Return a moment as ``YYYY-MM-DD HH:MM:SS``; the text may lack seconds and leading zeros, and have blanks and digits of any width.

    Raises:
        ValueError: it is none.
    """
    parts = _MOMENT.fullmatch(_plain(text))
    if parts is None:
        raise ValueError(f"found {shown(text)}, expected a time such as 2025-06-21 11:20:00")
    if not _FIRST_YEAR <= int(parts[1]) <= _LAST_YEAR:
        raise ValueError(f"found the year {parts[1]}, expected {_FIRST_YEAR} to {_LAST_YEAR}")
    return f"{datetime(*(int(part or 0) for part in parts.groups())):%Y-%m-%d %H:%M:%S}"  # type: ignore[arg-type]  # noqa: DTZ001


def _plain(text: str) -> str:
    """Return a text with one ordinary space for all blanks that stand together, a no-break space among them, and ASCII digits."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


@lru_cache(maxsize=1024)  # a task has a few days, each in hundreds of products
def day_of(text: str) -> str:
    """Return a day as ``YYYY-MM-DD``. Raises ValueError where it is none."""
    parts = _DAY.fullmatch(_plain(text))
    if parts is None:
        raise ValueError(f"found {shown(text)}, expected a day such as 2025-06-21")
    return f"{datetime(*map(int, parts.groups())):%Y-%m-%d}"  # type: ignore[arg-type]  # noqa: DTZ001


def asked_for(read: Callable[[str], str], name: str, text: str) -> str:
    """Return a moment or a day that a call gives. Raises Refused where it is none."""
    try:
        return read(text)
    except ValueError as wrong:
        raise Refused(f"{name}: {wrong}") from None


def _words(text: str) -> str:
    """Return a text in one case, without punctuation."""
    return " ".join(_WORD.findall(text.casefold()))


def alike(part: str, text: str) -> float:
    """Return how well a text contains a part, 0 to 100."""
    from rapidfuzz import fuzz  # noqa: PLC0415 - heavy; only loaded where a world is played

    return float(fuzz.partial_ratio(part, text)) if part else 0.0


def closest(text: str, candidates: Sequence[str], least: float) -> str | None:
    """Return the candidate that is most like a text, the first of equals; None where none is alike enough.

    Args:
        text: an address, or a text with the name of a city.
        candidates: the addresses or cities that it may mean.
        least: the likeness that it must reach, 0 to 100.
    """
    from rapidfuzz import fuzz  # noqa: PLC0415 - heavy; only loaded where a world is played

    if text in candidates:
        return text
    meant = _words(text[:_LONGEST])
    scored = [
        ((fuzz.partial_ratio(meant, words), fuzz.ratio(meant, words)), -at, other)
        for at, other in enumerate(candidates)
        if (words := _words(other))
    ]
    score, _, best = max(scored, default=((0.0, 0.0), 0, None))
    return best if score[0] >= least else None


def ranked(rows: Iterable[Row], text_of: Callable[[Row], str], keywords: Sequence[str]) -> list[Row]:
    """Return rows by how well their texts hold the keywords, the best first; equals stay in their order."""
    words = [words for word in keywords[:_MOST_WORDS] if (words := _words(word[:_LONGEST]))]

    def unlike(row: Row) -> float:
        text = _words(text_of(row))
        return -sum(alike(word, text) for word in words)

    return sorted(rows, key=unlike)[:_LISTED]


def seen(row: Mapping[str, Json]) -> JsonObject:
    """Return a row as an agent sees it."""
    return {name: value for name, value in row.items() if name not in _OWN}


@cache
def _holidays() -> Sequence[Mapping[str, Any]]:
    text = files(__package__).joinpath("holidays.json").read_text(encoding="utf-8")
    return tuple(json.loads(text))


class World:
    """The tools of all three worlds, and what the other tools are built from.

    Args:
        state: the tables of the case: those of ``TABLES``.
    """

    def __init__(self, state: State) -> None:
        self._tables = {name: state[name] for name in TABLES}
        task = self._tables["task"][TASK]
        self.now: str = task["time"]
        self.user: str = task["user_id"]

    # -- shops, products, orders

    def _rows(self, table: str, kind: str) -> list[Row]:
        return [row for row in self._tables[table].values() if row["kind"] == kind]

    def _shop(self, kind: str, shop_id: str) -> Row:
        row = self._tables["shops"].get(shop_id)
        if row is None or row["kind"] != kind:
            raise Refused(f"there is no {kind} {shown(shop_id)}")
        return row

    def _offers(self, kind: str, shop_id: str) -> list[Row]:
        return [row for row in self._rows("products", kind) if row["shop"] == shop_id]

    def _offer(self, kind: str, shop_id: str, product_id: str, date: str = "") -> Row:
        """Return a product of a shop, on a day where one is given. Raises Refused."""
        self._shop(kind, shop_id)
        alike = [row for row in self._offers(kind, shop_id) if row["product_id"] == product_id]
        if not alike:
            raise Refused(f"{shown(shop_id)} has no product {shown(product_id)}")
        on_day = [row for row in alike if not date or row.get("date", date) == date]
        if not on_day:
            days = ", ".join(str(row["date"]) for row in alike)
            raise Refused(f"{shown(product_id)} is not available on {date}; it is on {days}")
        return on_day[0]

    def _with_products(self, row: Row) -> JsonObject:
        return {**seen(row), "products": [seen(offer) for offer in self._offers(row["kind"], row["id"])]}

    def _found(self, table: str, kind: str, keywords: Sequence[str], columns: Sequence[str]) -> list[JsonObject]:
        """Return the shops or products of a kind, those first whose columns hold the keywords best."""

        def text_of(row: Row) -> str:
            parts = (row.get(column, "") for column in columns)
            return " ".join(" ".join(map(str, part)) if isinstance(part, list) else str(part) for part in parts)

        return [seen(row) for row in ranked(self._rows(table, kind), text_of, keywords)]

    def _is_user(self, user_id: str) -> None:
        if user_id != self.user:
            raise Refused(f"the user is not {shown(user_id)}")

    def _unused(self, table: str, prefix: str) -> str:
        """Return a new id, counted up so that the same calls make the same ids."""
        rows, number = self._tables[table], 1
        while f"{prefix}-{number}" in rows:
            number += 1
        return f"{prefix}-{number}"

    def _place(self, kind: str, shop_id: str, products: Sequence[JsonObject], **columns: Json) -> JsonObject:
        """Place an order that waits for its payment."""
        total = sum(product["price"] * product["quantity"] for product in products)
        row = self._tables["orders"].add(
            {
                "id": self._unused("orders", kind),
                "kind": kind,
                "user_id": self.user,
                "shop_id": shop_id,
                "status": "unpaid",
                "total_price": round(total, 2),
                "create_time": self.now,
                "update_time": self.now,
                "products": list(products),
                "note": "",
                **columns,
            }
        )
        return self._order_seen(row)

    @staticmethod
    def _order_seen(row: Row) -> JsonObject:
        return {"order_id": row["id"], "order_type": row["kind"], **seen(row)}

    def _order(self, kind: str, order_id: str) -> Row:
        row = self._tables["orders"].get(order_id)
        if row is None or row["kind"] != kind:
            raise Refused(f"there is no {kind} order {shown(order_id)}")
        return row

    def _orders(self, kind: str, status: str = "", date: str = "") -> list[JsonObject]:
        """Return the user's orders of a kind; those with this status, and with a product of this day, where they are given."""
        return [
            self._order_seen(row)
            for row in self._rows("orders", kind)
            if row["user_id"] == self.user
            and (not status or row["status"] == status)
            and (not date or any(product.get("date") == date for product in row["products"]))
        ]

    def _pay(self, table: str, row: Row) -> JsonObject:
        if row["status"] != "unpaid":
            raise Refused(f"only what is unpaid can be paid; {row['id']} is {row['status']}")
        self._tables[table].change(row["id"], status="paid", update_time=self.now)
        return {"id": row["id"], "status": "paid"}

    def _cancel(self, table: str, row: Row) -> JsonObject:
        if row["status"] == "cancelled":
            raise Refused(f"{row['id']} is cancelled already")
        self._tables[table].change(row["id"], status="cancelled", update_time=self.now)
        return {"id": row["id"], "status": "cancelled"}

    # -- addresses

    def _points(self) -> dict[str, tuple[float, float]]:
        """Return the longitude and latitude of every address that the case has, those of the user first."""
        points: dict[str, tuple[float, float]] = {}
        for row in (*self._tables["places"].values(), *self._tables["shops"].values()):
            for place in (row, *row.values()):
                if isinstance(place, Mapping) and {"address", "longitude", "latitude"} <= place.keys():
                    points.setdefault(place["address"], (place["longitude"], place["latitude"]))
        return points

    def known_address(self, address: str) -> tuple[str, float, float]:
        """Return the address of the case that is most like a text, with its longitude and latitude. Raises Refused."""
        points = self._points()
        best = closest(address, list(points), _LEAST_ADDRESS)
        if best is None:
            raise Refused(f"the address {shown(address)} is not known")
        return (best, *points[best])

    # -- tools of all worlds

    def longitude_latitude_to_distance(
        self, longitude1: float, latitude1: float, longitude2: float, latitude2: float
    ) -> Json:
        """Return how far two points lie apart, metres."""
        return round(distance_m(longitude1, latitude1, longitude2, latitude2))

    def address_to_longitude_latitude(self, address: str) -> Json:
        """Return where an address lies."""
        nearest, longitude, latitude = self.known_address(address)
        return {"address": nearest, "longitude": longitude, "latitude": latitude}

    def weather(self, address: str, date_start: str, date_end: str) -> Json:
        """Return the weather of the days of a city."""
        first, last = asked_for(day_of, "date_start", date_start), asked_for(day_of, "date_end", date_end)
        rows = list(self._tables["weather"].values())
        city = closest(address, list(dict.fromkeys(row["city"] for row in rows)), _LEAST_CITY)
        if city is None:
            raise Refused(f"the weather at {shown(address)} is not known")
        days = [seen(row) for row in rows if row["city"] == city and first <= row["datetime"] <= last]
        return {"city": city, "days": sorted(days, key=lambda day: str(day["datetime"]))}

    def get_date_holiday_info(self, date: str) -> Json:
        """Return which holiday a day is."""
        day = asked_for(day_of, "date", date)
        return {"date": day, "holidays": [holiday["names"] for holiday in _holidays() if day in holiday["days"]]}

    def get_holiday_date(self, year: str, holiday_name: str) -> Json:
        """Return the day of a holiday in a year."""
        names = {name.casefold(): holiday for holiday in _holidays() for name in holiday["names"]}
        name = holiday_name.strip().casefold()
        if name not in names:
            raise Refused(f"no holiday is named {shown(holiday_name)}; {did_you_mean(name, names)}".rstrip("; "))
        days = [day for day in names[name]["days"] if day.startswith(f"{year.strip()}-")]
        if not days:
            raise Refused(f"the date of {holiday_name} in {shown(year)} is not known")
        return {"holiday": holiday_name, "date": days[0]}

    def get_user_historical_behaviors(self) -> Json:
        """Return what the user usually buys."""
        row = self._tables["habits"].get("habits")
        return {} if row is None else row["told"]

    def get_user_all_orders(self) -> Json:
        """Return all of the user's orders, bookings and reservations."""
        mine = [row for row in self._tables["orders"].values() if row["user_id"] == self.user]
        listed: JsonObject = {"orders": [self._order_seen(row) for row in mine]}
        for table, name in (("books", "book_id"), ("reservations", "reservation_id")):
            if rows := [row for row in self._tables[table].values() if row["customer_id"] == self.user]:
                listed[table] = [{name: row["id"], **seen(row)} for row in rows]
        return listed

    def get_nearby(self, longitude: float, latitude: float, range: float) -> Json:  # noqa: A002  the parameter's published name
        """Return the shops within so many metres, the nearest first."""
        near: list[tuple[int, JsonObject]] = []
        for row in self._tables["shops"].values():
            place = row.get("location", {})
            if "longitude" in place and "latitude" in place:
                metres = round(distance_m(longitude, latitude, place["longitude"], place["latitude"]))
                near += [(metres, {**seen(row), "distance_m": metres})] if metres <= range else []
        return [shop for _, shop in sorted(near, key=lambda pair: pair[0])[:_LISTED]]
