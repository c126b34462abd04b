"""The worlds ``vita-delivery``, ``vita-instore`` and ``vita-ota``, and what they share: one user at one moment, shops with products, orders, payment, search.

A suite names the worlds of its cases under ``sandbox: {worlds: [...]}``; several are joined into one object.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, lru_cache, partialmethod
from importlib.resources import files
from typing import Any

from pytest_mapsat import Refused
from pytest_mapsat.model import Case, InfrastructureError, Json, JsonObject, did_you_mean, distance_m, shown
from pytest_mapsat.sandbox import Row, SandboxFactory, SandboxSuite, State

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
    """Return a moment as ``YYYY-MM-DD HH:MM:SS``, read from text in which seconds, leading zeros and a time zone are optional.

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
    """Return a text in NFKC form (ASCII digits), with a single space for each run of blanks and none at the ends."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


@lru_cache(maxsize=1024)  # a task has a few days, each in hundreds of products
def day_of(text: str) -> str:
    """Return the day of a date, with or without a time, as ``YYYY-MM-DD``. Raises ValueError for any other text."""
    parts = _DAY.fullmatch(_plain(text))
    if parts is None:
        raise ValueError(f"found {shown(text)}, expected a day such as 2025-06-21")
    return f"{datetime(*map(int, parts.groups())):%Y-%m-%d}"  # type: ignore[arg-type]  # noqa: DTZ001


def asked_for(read: Callable[[str], str], name: str, text: str) -> str:
    """Return a call's argument parsed by ``read`` (``moment_of`` or ``day_of``). Raises Refused if this fails."""
    try:
        return read(text)
    except ValueError as wrong:
        raise Refused(f"{name}: {wrong}") from None


def _words(text: str) -> str:
    """Return a text casefolded, its words joined by single spaces, without punctuation."""
    return " ".join(_WORD.findall(text.casefold()))


def alike(part: str, text: str) -> float:
    """Return how well the best part of ``text`` matches ``part``, from 0 to 100; 0 if ``part`` is empty."""
    from rapidfuzz import fuzz  # noqa: PLC0415 - heavy; only loaded where a world is played

    return float(fuzz.partial_ratio(part, text)) if part else 0.0


def closest(text: str, candidates: Sequence[str], least: float) -> str | None:
    """Return the candidate most similar to a text, the first of equals; None if no candidate is similar enough.

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
    """Return at most 100 rows by how well their texts match the keywords, best first; equal rows keep their order."""
    words = [words for word in keywords[:_MOST_WORDS] if (words := _words(word[:_LONGEST]))]

    def unlike(row: Row) -> float:
        """Return the sort key of a row: the negated sum of how well its text matches each keyword."""
        text = _words(text_of(row))
        return -sum(alike(word, text) for word in words)

    return sorted(rows, key=unlike)[:_LISTED]


def seen(row: Mapping[str, Json]) -> JsonObject:
    """Return the columns of a row that an agent may see, without columns only for the sandbox."""
    return {name: value for name, value in row.items() if name not in _OWN}


@cache
def _holidays() -> Sequence[Mapping[str, Any]]:
    """Return the holidays of the packaged ``holidays.json``, each with its names and days."""
    text = files(__package__).joinpath("holidays.json").read_text(encoding="utf-8")
    return tuple(json.loads(text))


class VitaWorld:
    """The tools that all three worlds have, and the helpers that the worlds' own tools share.

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
        """Return the rows of a table that are of one kind, such as ``hotel``."""
        return [row for row in self._tables[table].values() if row["kind"] == kind]

    def _shop(self, kind: str, shop_id: str) -> Row:
        """Return the shop of a kind with an id. Raises Refused if there is no such shop."""
        row = self._tables["shops"].get(shop_id)
        if row is None or row["kind"] != kind:
            raise Refused(f"there is no {kind} {shown(shop_id)}")
        return row

    def _offers(self, kind: str, shop_id: str) -> list[Row]:
        """Return all products that a shop sells."""
        return [row for row in self._rows("products", kind) if row["shop"] == shop_id]

    def _offer(self, kind: str, shop_id: str, product_id: str, date: str = "") -> Row:
        """Return a product of a shop, as offered on ``date`` where it is given. Raises Refused where there is no such offer."""
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
        """Return a shop as an agent sees it, with its products under ``products``."""
        return {**seen(row), "products": [seen(offer) for offer in self._offers(row["kind"], row["id"])]}

    def _search(self, table: str, kind: str, keywords: Sequence[str], columns: Sequence[str]) -> list[JsonObject]:
        """Return the shops or products of a kind as an agent sees them, by how well ``columns`` match the keywords, best first."""

        def text_of(row: Row) -> str:
            """Return the values of a row's searched columns, joined into one text."""
            parts = (row.get(column, "") for column in columns)
            return " ".join(" ".join(map(str, part)) if isinstance(part, list) else str(part) for part in parts)

        return [seen(row) for row in ranked(self._rows(table, kind), text_of, keywords)]

    def _check_user(self, user_id: str) -> None:
        """Raise Refused if an id does not belong to the case's user."""
        if user_id != self.user:
            raise Refused(f"the user is not {shown(user_id)}")

    def _unused(self, table: str, prefix: str) -> str:
        """Return the first free id of ``prefix-1``, ``prefix-2`` and so on, so that the same calls make the same ids."""
        rows, number = self._tables[table], 1
        while f"{prefix}-{number}" in rows:
            number += 1
        return f"{prefix}-{number}"

    def _place(self, kind: str, shop_id: str, products: Sequence[JsonObject], **columns: Json) -> JsonObject:
        """Add an unpaid order of these products to the table, and return it as an agent sees it."""
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
        """Return an order as an agent sees it, with its id and kind as ``order_id`` and ``order_type``."""
        return {"order_id": row["id"], "order_type": row["kind"], **seen(row)}

    def _order(self, kind: str, order_id: str) -> Row:
        """Return the order of a kind with an id. Raises Refused if there is no such order."""
        row = self._tables["orders"].get(order_id)
        if row is None or row["kind"] != kind:
            raise Refused(f"there is no {kind} order {shown(order_id)}")
        return row

    def _orders(self, kind: str, status: str = "", date: str = "") -> list[JsonObject]:
        """Return the user's orders of a kind, optionally only those with a status or with a product for a day."""
        return [
            self._order_seen(row)
            for row in self._rows("orders", kind)
            if row["user_id"] == self.user
            and (not status or row["status"] == status)
            and (not date or any(product.get("date") == date for product in row["products"]))
        ]

    def _pay(self, table: str, row: Row) -> JsonObject:
        """Mark an unpaid row as paid, and return its id and new status. Raises Refused if the row is not unpaid."""
        if row["status"] != "unpaid":
            raise Refused(f"only what is unpaid can be paid; {row['id']} is {row['status']}")
        self._tables[table].change(row["id"], status="paid", update_time=self.now)
        return {"id": row["id"], "status": "paid"}

    def _cancel(self, table: str, row: Row) -> JsonObject:
        """Mark a row as cancelled, and return its id and new status. Raises Refused if the row is already cancelled."""
        if row["status"] == "cancelled":
            raise Refused(f"{row['id']} is cancelled already")
        self._tables[table].change(row["id"], status="cancelled", update_time=self.now)
        return {"id": row["id"], "status": "cancelled"}

    # -- addresses

    def _points(self) -> dict[str, tuple[float, float]]:
        """Return the longitude and latitude of every address in the case, starting with the user's addresses."""
        points: dict[str, tuple[float, float]] = {}
        for row in (*self._tables["places"].values(), *self._tables["shops"].values()):
            for place in (row, *row.values()):
                if isinstance(place, Mapping) and {"address", "longitude", "latitude"} <= place.keys():
                    points.setdefault(place["address"], (place["longitude"], place["latitude"]))
        return points

    def known_address(self, address: str) -> tuple[str, float, float]:
        """Return the known address most similar to a text, with longitude and latitude. Raises Refused where all are too unlike."""
        points = self._points()
        best = closest(address, list(points), _LEAST_ADDRESS)
        if best is None:
            raise Refused(f"the address {shown(address)} is not known")
        return (best, *points[best])

    # -- tools of all worlds

    def longitude_latitude_to_distance(
        self, longitude1: float, latitude1: float, longitude2: float, latitude2: float
    ) -> Json:
        """Return the distance between two points in whole metres."""
        return round(distance_m(longitude1, latitude1, longitude2, latitude2))

    def address_to_longitude_latitude(self, address: str) -> Json:
        """Return the known address most similar to a text, with its longitude and latitude."""
        nearest, longitude, latitude = self.known_address(address)
        return {"address": nearest, "longitude": longitude, "latitude": latitude}

    def weather(self, address: str, date_start: str, date_end: str) -> Json:
        """Return a city's weather on each known day from ``date_start`` to ``date_end``, in order of date."""
        first, last = asked_for(day_of, "date_start", date_start), asked_for(day_of, "date_end", date_end)
        rows = list(self._tables["weather"].values())
        city = closest(address, list(dict.fromkeys(row["city"] for row in rows)), _LEAST_CITY)
        if city is None:
            raise Refused(f"the weather at {shown(address)} is not known")
        days = [seen(row) for row in rows if row["city"] == city and first <= row["datetime"] <= last]
        return {"city": city, "days": sorted(days, key=lambda day: str(day["datetime"]))}

    def get_date_holiday_info(self, date: str) -> Json:
        """Return a day with the names of the holidays that fall on it; an empty list where it is not a holiday."""
        day = asked_for(day_of, "date", date)
        return {"date": day, "holidays": [holiday["names"] for holiday in _holidays() if day in holiday["days"]]}

    def get_holiday_date(self, year: str, holiday_name: str) -> Json:
        """Return the first day of a holiday in a year. Raises Refused for an unknown holiday or year."""
        names = {name.casefold(): holiday for holiday in _holidays() for name in holiday["names"]}
        name = holiday_name.strip().casefold()
        if name not in names:
            raise Refused(f"no holiday is named {shown(holiday_name)}; {did_you_mean(name, names)}".rstrip("; "))
        days = [day for day in names[name]["days"] if day.startswith(f"{year.strip()}-")]
        if not days:
            raise Refused(f"the date of {holiday_name} in {shown(year)} is not known")
        return {"holiday": holiday_name, "date": days[0]}

    def get_user_historical_behaviors(self) -> Json:
        """Return the user's past behaviour as the case records it; an empty object where it has no such row."""
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
        """Return at most 100 shops within ``range`` metres of a point, the nearest first, each with its distance."""
        near: list[tuple[int, JsonObject]] = []
        for row in self._tables["shops"].values():
            place = row.get("location", {})
            if "longitude" in place and "latitude" in place:
                metres = round(distance_m(longitude, latitude, place["longitude"], place["latitude"]))
                near += [(metres, {**seen(row), "distance_m": metres})] if metres <= range else []
        return [shop for _, shop in sorted(near, key=lambda pair: pair[0])[:_LISTED]]


# Methods that each kind of order has under its own published names.


def _pay_order(self: VitaWorld, kind: str, order_id: str) -> JsonObject:
    """Pay an unpaid order of a kind, and return its id and new status."""
    return self._pay("orders", self._order(kind, order_id))


def _cancel_order(self: VitaWorld, kind: str, order_id: str) -> JsonObject:
    """Cancel an order of a kind, and return its id and new status."""
    return self._cancel("orders", self._order(kind, order_id))


def _detail(self: VitaWorld, kind: str, order_id: str) -> JsonObject:
    """Return an order of a kind as an agent sees it."""
    return self._order_seen(self._order(kind, order_id))


#: A courier's time in minutes: for any way, and for each metre.
_COURIER_MIN, _COURIER_MIN_PER_M = 25, 0.00651
_MOST_PRODUCTS = 100
#: How much of a city's name a text must have, 0 to 100.
_SAME_CITY = 80


class Delivery(VitaWorld):
    """The world ``vita-delivery``: stores that deliver, their products, and orders of these."""

    def delivery_distance_to_time(self, distance: float) -> Json:
        """Return the minutes that a courier needs for a distance in metres."""
        return round(_COURIER_MIN + int(distance) * _COURIER_MIN_PER_M)

    def get_delivery_store_info(self, store_id: str) -> Json:
        """Return a store with its products."""
        return self._with_products(self._shop("delivery", store_id))

    def get_delivery_product_info(self, product_id: str) -> Json:
        """Return the first product with an id. Raises Refused where there is no such product."""
        alike = [row for row in self._rows("products", "delivery") if row["product_id"] == product_id]
        if not alike:
            raise Refused(f"there is no product {shown(product_id)}")
        return seen(alike[0])

    def delivery_store_search_recommand(self, keywords: list[str]) -> Json:
        """Return at most 100 stores by how well their names and tags match the keywords, best first."""
        return self._search("shops", "delivery", keywords, ("name", "tags"))

    def delivery_product_search_recommand(self, keywords: list[str]) -> Json:
        """Return at most 100 products by how well their stores, names and tags match the keywords, best first."""
        return self._search("products", "delivery", keywords, ("store_name", "name", "tags"))

    def create_delivery_order(
        self,
        *,
        user_id: str,
        store_id: str,
        product_ids: list[str],
        product_cnts: list[int],
        address: str,
        dispatch_time: str,
        attributes: Sequence[str] = (),
        note: str = "",
    ) -> Json:
        """Order products of one store, and return the unpaid order with the time at which it is delivered."""
        self._check_user(user_id)
        store = self._shop("delivery", store_id)
        if not 1 <= len(product_ids) <= _MOST_PRODUCTS:
            raise Refused(f"an order has 1 to {_MOST_PRODUCTS} products", products=len(product_ids))
        if len(product_ids) != len(product_cnts) or min(product_cnts) < 1:
            raise Refused("each product needs a count of at least 1, in the same order", product_cnts=product_cnts)
        dispatched = asked_for(moment_of, "dispatch_time", dispatch_time)
        if dispatched < self.now:
            raise Refused(f"dispatch_time {dispatched} has passed; it is {self.now}")
        chosen = [*attributes, *[""] * len(product_ids)]
        products = [
            {
                "product_id": product_id,
                "name": (offer := self._offer("delivery", store_id, product_id)).get("name", ""),
                "price": offer["price"],
                "quantity": count,
                "attributes": attribute,
            }
            for product_id, count, attribute in zip(product_ids, product_cnts, chosen, strict=False)
        ]
        place, longitude, latitude = self.known_address(address)
        here = store.get("location", {})
        there = here.get("longitude", longitude), here.get("latitude", latitude)
        metres = self.longitude_latitude_to_distance(longitude, latitude, *there)
        minutes = self.delivery_distance_to_time(metres)
        arrives = datetime.fromisoformat(dispatched) + timedelta(minutes=minutes)
        return self._place(
            "delivery",
            store_id,
            products,
            note=note,
            address=address,
            place=place,
            dispatch_time=dispatched,
            shipping_time=minutes,
            delivery_time=f"{arrives:%Y-%m-%d %H:%M:%S}",
        )

    def get_delivery_order_status(self, order_id: str) -> Json:
        """Return the id and status of a delivery order."""
        return {"order_id": order_id, "status": self._order("delivery", order_id)["status"]}

    def modify_delivery_order(self, order_id: str, note: str) -> Json:
        """Replace the note of a delivery order, and return the order."""
        self._order("delivery", order_id)
        return self._order_seen(self._tables["orders"].change(order_id, note=note))

    def search_delivery_orders(self, user_id: str, status: str = "unpaid") -> Json:
        """Return the user's delivery orders with a status."""
        self._check_user(user_id)
        return self._orders("delivery", status)

    pay_delivery_order = partialmethod(_pay_order, "delivery")
    cancel_delivery_order = partialmethod(_cancel_order, "delivery")
    get_delivery_order_detail = partialmethod(_detail, "delivery")


class InStore(VitaWorld):
    """The world ``vita-instore``: shops to visit, with vouchers, table bookings and reservations."""

    def instore_shop_search_recommend(self, keywords: list[str]) -> Json:
        """Return at most 100 shops by how well their names, tags and categories match the keywords, best first."""
        return self._search("shops", "instore", keywords, ("shop_name", "tags", "category"))

    def instore_product_search_recommend(self, keywords: list[str]) -> Json:
        """Return at most 100 products by how well their names and tags match the keywords, best first."""
        return self._search("products", "instore", keywords, ("name", "tags"))

    def create_instore_product_order(self, user_id: str, shop_id: str, product_id: str, quantity: int = 1) -> Json:
        """Order a quantity of one product of a shop, and return the unpaid order."""
        self._check_user(user_id)
        offer = self._offer("instore", shop_id, product_id)
        if quantity < 1:
            raise Refused("quantity is at least 1", quantity=quantity)
        product = {name: offer[name] for name in ("product_id", "name", "price") if name in offer}
        return self._place("instore", shop_id, [{**product, "quantity": quantity}])

    pay_instore_order = partialmethod(_pay_order, "instore")
    instore_cancel_order = partialmethod(_cancel_order, "instore")

    def get_instore_orders(self, user_id: str) -> Json:
        """Return the user's orders."""
        self._check_user(user_id)
        return self._orders("instore")

    def instore_book(self, user_id: str, shop_id: str, time: str, customer_count: int = 1) -> Json:
        """Book a table at a shop, and return the booking: unpaid where the shop charges for it, else paid."""
        price = self._shop("instore", shop_id).get("book_price", 0)
        when, status = asked_for(moment_of, "time", time), "unpaid" if price > 0 else "paid"
        booked = {"book_time": when, "book_price": price, "status": status}
        return self._keep("books", user_id, shop_id, customer_count, **booked)

    def pay_instore_book(self, book_id: str) -> Json:
        """Pay a booking."""
        return self._pay("books", self._kept("books", book_id))

    def instore_cancel_book(self, book_id: str) -> Json:
        """Cancel a booking."""
        return self._cancel("books", self._kept("books", book_id))

    def get_instore_books(self, user_id: str) -> Json:
        """Return the user's bookings."""
        return self._mine("books", user_id)

    def search_instore_book(self, user_id: str, book_id: str = "") -> Json:
        """Return the user's bookings, or one of them."""
        return self._mine("books", user_id, book_id)

    def instore_reservation(self, user_id: str, shop_id: str, time: str, customer_count: int = 1) -> Json:
        """Reserve a time at a shop."""
        when = asked_for(moment_of, "time", time)
        return self._keep("reservations", user_id, shop_id, customer_count, reservation_time=when, status="unconsumed")

    def instore_modify_reservation(self, reservation_id: str, time: str, customer_count: int = 0) -> Json:
        """Change the time of a reservation, and its number of people where ``customer_count`` is above 0."""
        row = self._kept("reservations", reservation_id)
        if row["status"] in ("consumed", "cancelled"):
            raise Refused(f"{reservation_id} is {row['status']} already")
        when = asked_for(moment_of, "time", time)
        people = customer_count if customer_count > 0 else row["customer_count"]
        columns = {"reservation_time": when, "customer_count": people, "update_time": self.now}
        return self._kept_seen("reservations", self._tables["reservations"].change(reservation_id, **columns))

    def instore_cancel_reservation(self, reservation_id: str) -> Json:
        """Cancel a reservation."""
        return self._cancel("reservations", self._kept("reservations", reservation_id))

    def get_instore_reservations(self, user_id: str) -> Json:
        """Return the user's reservations."""
        return self._mine("reservations", user_id)

    def search_instore_reservation(self, user_id: str, reservation_id: str = "") -> Json:
        """Return the user's reservations, or one of them."""
        return self._mine("reservations", user_id, reservation_id)

    def _keep(self, table: str, user_id: str, shop_id: str, people: int, **columns: Json) -> JsonObject:
        """Add a booking or a reservation at a shop, and return it. Raises Refused where the shop does not take any."""
        self._check_user(user_id)
        shop = self._shop("instore", shop_id)
        if not shop.get("enable_book" if table == "books" else "enable_reservation", False):
            raise Refused(f"{shown(shop_id)} takes no {'bookings of tables' if table == 'books' else 'reservations'}")
        if people < 1:
            raise Refused("customer_count is at least 1", customer_count=people)
        row = {"id": self._unused(table, table[:-1]), "shop_id": shop_id, "customer_id": user_id}
        columns = {"customer_count": people, "update_time": self.now, **columns}
        return self._kept_seen(table, self._tables[table].add({**row, **columns}))

    def _kept(self, table: str, row_id: str) -> Row:
        """Return the booking or reservation with an id. Raises Refused where there is no such row."""
        row = self._tables[table].get(row_id)
        if row is None:
            raise Refused(f"there is no {table[:-1]} {shown(row_id)}")
        return row

    @staticmethod
    def _kept_seen(table: str, row: Row) -> JsonObject:
        """Return a booking or reservation as an agent sees it, with its id as ``book_id`` or ``reservation_id``."""
        return {f"{table[:-1]}_id": row["id"], **seen(row)}

    def _mine(self, table: str, user_id: str, row_id: str = "") -> list[JsonObject]:
        """Return the user's bookings or reservations as an agent sees them; only that of ``row_id`` where it is given."""
        self._check_user(user_id)
        rows = [self._kept(table, row_id)] if row_id else self._tables[table].values()
        return [self._kept_seen(table, row) for row in rows if row["customer_id"] == user_id]


class Ota(VitaWorld):
    """The world ``vita-ota``: hotels, attractions, flights, trains and taxis, their offers by day, and orders of these."""

    def get_ota_hotel_info(self, hotel_id: str) -> Json:
        """Return a hotel with its rooms."""
        return self._with_products(self._shop("hotel", hotel_id))

    def get_ota_attraction_info(self, attraction_id: str) -> Json:
        """Return an attraction with its tickets."""
        return self._with_products(self._shop("attraction", attraction_id))

    def get_ota_flight_info(self, flight_id: str) -> Json:
        """Return a flight with its seats."""
        return self._with_products(self._shop("flight", flight_id))

    def get_ota_train_info(self, train_id: str) -> Json:
        """Return a train with its seats."""
        return self._with_products(self._shop("train", train_id))

    def get_taxi_info(self, taxi_id: str) -> Json:
        """Return a taxi service with its rides."""
        return self._with_products(self._shop("taxi", taxi_id))

    def hotel_search_recommand(self, city_name: str, key_words: Sequence[str] = ()) -> Json:
        """Return the hotels of a city by how well their names and tags match the words, best first."""
        return self._in_city("hotel", city_name, key_words, ("hotel_name", "tags"))

    def attractions_search_recommend(self, city_name: str, key_words: list[str]) -> Json:
        """Return the attractions of a city by how well their names and descriptions match the words, best first."""
        return self._in_city("attraction", city_name, key_words, ("attraction_name", "description", "location"))

    def flight_search_recommend(self, departure: str, destination: str) -> Json:
        """Return the flights from one city to another."""
        return self._between("flight", departure, destination)

    def train_ticket_search(self, departure: str, destination: str, date: str) -> Json:
        """Return the trains from one city to another that have seats on a day."""
        return self._between("train", departure, destination, asked_for(day_of, "date", date))

    def taxi_search(self, departure_location: str, arrival_location: str) -> Json:
        """Return the taxi services by how well their start and destination match the two addresses, best first."""
        ends = ("departure_location", "arrival_location")
        return self._search("shops", "taxi", (departure_location, arrival_location), ends)

    def create_hotel_order(self, hotel_id: str, room_id: str, user_id: str) -> Json:
        """Order one room for the night of the offer, and return the unpaid order."""
        return self._reserve("hotel", hotel_id, room_id, user_id)

    def create_attraction_order(
        self, attraction_id: str, ticket_id: str, user_id: str, date: str, quantity: int
    ) -> Json:
        """Order tickets of an attraction for a day, and return the unpaid order."""
        return self._reserve("attraction", attraction_id, ticket_id, user_id, date=date, quantity=quantity)

    def create_flight_order(self, flight_id: str, seat_id: str, user_id: str, date: str, quantity: int) -> Json:
        """Order seats of a flight on a day, and return the unpaid order."""
        return self._reserve("flight", flight_id, seat_id, user_id, date=date, quantity=quantity)

    def create_train_order(self, train_id: str, seat_id: str, user_id: str, date: str, quantity: int) -> Json:
        """Order seats of a train on a day, and return the unpaid order."""
        return self._reserve("train", train_id, seat_id, user_id, date=date, quantity=quantity)

    def create_taxi_order(self, taxi_id: str, product_id: str, user_id: str, quantity: int = 1) -> Json:
        """Order rides of a taxi service, and return the unpaid order."""
        return self._reserve("taxi", taxi_id, product_id, user_id, quantity=quantity)

    def _in_city(self, kind: str, city: str, words: Sequence[str], columns: Sequence[str]) -> list[JsonObject]:
        """Return the shops of a kind in a city by how well their columns match the words, best first."""
        listed = self._search("shops", kind, words, columns)
        return [row for row in listed if _is_in(city, str(row.get("location", {}).get("address", "")))]

    def _between(self, kind: str, departure: str, destination: str, date: str = "") -> list[JsonObject]:
        """Return the flights or trains from one city to another; only those with an offer on ``date`` where it is given."""
        return [
            seen(row)
            for row in self._rows("shops", kind)
            if _is_in(departure, row.get("departure_city", ""))
            and _is_in(destination, row.get("arrival_city", ""))
            and (not date or any(offer.get("date") == date for offer in self._offers(kind, row["id"])))
        ]

    def _reserve(
        self, kind: str, shop_id: str, product_id: str, user_id: str, *, date: str = "", quantity: int = 1
    ) -> JsonObject:
        """Take a quantity of a product out of stock, place an order of it, and return the unpaid order."""
        self._check_user(user_id)
        offer = self._offer(kind, shop_id, product_id, asked_for(day_of, "date", date) if date else "")
        self._take(offer, quantity)
        return self._place(kind, shop_id, [{**seen(offer), "quantity": quantity}])

    def _take(self, offer: Row, quantity: int) -> None:
        """Take a quantity of a product out of stock. Raises Refused where it is below 1 or more than the stock."""
        left = offer.get("quantity", 0)
        if not 1 <= quantity <= left:
            name = offer["product_id"]
            raise Refused(f"of {name} 1 to {left} can be ordered" if left else f"{name} is sold out", quantity=quantity)
        self._tables["products"].change(offer["id"], quantity=left - quantity)

    def _return(self, row: Row) -> None:
        """Put the products of an order back into stock."""
        for product in row["products"]:
            for offer in self._offers(row["kind"], row["shop_id"]):
                if (offer["product_id"], offer.get("date")) == (product["product_id"], product.get("date")):
                    quantity = offer.get("quantity", 0) + product["quantity"]
                    self._tables["products"].change(offer["id"], quantity=quantity)

    def _search_orders(self, kind: str, user_id: str, date: str = "", status: str = "paid") -> list[JsonObject]:
        """Return the user's orders of a kind with a status, and with a product for ``date`` where it is given."""
        self._check_user(user_id)
        return self._orders(kind, status, asked_for(day_of, "date", date) if date else "")

    def _cancel_and_restock(self, kind: str, order_id: str, user_id: str) -> JsonObject:
        """Cancel an order and put its products back into stock; return its id and new status."""
        self._check_user(user_id)
        row = self._order(kind, order_id)
        cancelled = self._cancel("orders", row)
        self._return(row)
        return cancelled

    def _move(self, kind: str, order_id: str, user_id: str, new_date: str) -> JsonObject:
        """Move a paid order of one product to another day, and return it: unpaid where the new day costs more, else paid."""
        self._check_user(user_id)
        row, day = self._order(kind, order_id), asked_for(day_of, "new_date", new_date)
        if row["status"] != "paid" or len(row["products"]) != 1:
            raise Refused(f"only a paid order of one product can be moved; {order_id} is {row['status']}")
        product = row["products"][0]
        wanted = day, product.get("seat_type")
        offers = self._offers(kind, row["shop_id"])
        seats = [offer for offer in offers if (offer.get("date"), offer.get("seat_type")) == wanted]
        if not seats:
            raise Refused(f"there is no {product.get('seat_type', 'seat')} on {day}")
        self._return(row)
        offer = self._tables["products"][seats[0]["id"]]
        self._take(offer, product["quantity"])
        total = round(offer["price"] * product["quantity"], 2)
        dearer = total > row["total_price"]
        products = [{**seen(offer), "quantity": product["quantity"]}]
        status = "unpaid" if dearer else "paid"
        columns = {"products": products, "total_price": total, "status": status, "update_time": self.now}
        return self._order_seen(self._tables["orders"].change(order_id, **columns))


# The same methods for each kind, under their published names.
for _kind in ("hotel", "attraction", "flight", "train", "taxi"):
    setattr(Ota, f"pay_{_kind}_order", partialmethod(_pay_order, _kind))
    setattr(Ota, f"search_{_kind}_order", partialmethod(Ota._search_orders, _kind))  # noqa: SLF001  ours
    setattr(Ota, f"get_{_kind}_order_detail", partialmethod(_detail, _kind))
    setattr(Ota, f"cancel_{_kind}_order", partialmethod(Ota._cancel_and_restock, _kind))  # noqa: SLF001  ours
for _kind in ("flight", "train"):
    setattr(Ota, f"modify_{_kind}_order", partialmethod(Ota._move, _kind))  # noqa: SLF001  ours


def _is_in(city: str, text: str) -> bool:
    """Return whether an address, or a city's name, contains the name of a city nearly letter by letter."""
    name = city[:200].strip().casefold().removesuffix(" city").removesuffix("市").strip()
    return alike(name, text.casefold()) >= _SAME_CITY


WORLDS: Mapping[str, type[VitaWorld]] = {"vita-delivery": Delivery, "vita-instore": InStore, "vita-ota": Ota}


@cache
def world_named(names: tuple[str, ...]) -> type[VitaWorld]:
    """Return a class that combines the tools of all named worlds."""
    return type("Worlds", tuple(WORLDS[name] for name in names), {})


def sandbox(_: Case, suite: SandboxSuite) -> SandboxFactory | None:
    """Return the class of a suite's world; None if its manifest (``sandbox: {worlds: ...}``) names no world of VitaBench.

    Raises:
        InfrastructureError: it names an unknown world.
    """
    names = suite.manifest.sandbox.get("worlds")
    if not isinstance(names, list | tuple) or not any(str(name).startswith("vita-") for name in names):
        return None
    for name in names:
        if name not in WORLDS:
            hint = did_you_mean(name, WORLDS) or f"there is {', '.join(WORLDS)}"
            raise InfrastructureError(f"suite.yaml: sandbox.worlds: there is no world {shown(name)} ({hint})")
    return world_named(tuple(dict.fromkeys(map(str, names))))
