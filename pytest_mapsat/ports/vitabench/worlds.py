"""The worlds ``vita-delivery``, ``vita-instore`` and ``vita-ota``: what can be ordered, booked and reserved in each.

A suite names the worlds of its cases under ``sandbox: {worlds: [...]}``; several are joined into one object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, partialmethod

from pytest_mapsat import Refused
from pytest_mapsat.model import Case, InfrastructureError, Json, JsonObject, did_you_mean, shown
from pytest_mapsat.sandbox import Row, SandboxFactory, SandboxSuite

from .world import World, alike, asked_for, day_of, moment_of, seen

#: A courier's time in minutes: for any way, and for each metre.
_COURIER_MIN, _COURIER_MIN_PER_M = 25, 0.00651
_MOST_PRODUCTS = 100
#: How much of a city's name a text must have, 0 to 100.
_SAME_CITY = 80


class Delivery(World):
    """Stores that deliver."""

    def delivery_distance_to_time(self, distance: float) -> Json:
        """Return how long a courier needs for a distance in metres, minutes."""
        return round(_COURIER_MIN + int(distance) * _COURIER_MIN_PER_M)

    def get_delivery_store_info(self, store_id: str) -> Json:
        """Return a store with its products."""
        return self._with_products(self._shop("delivery", store_id))

    def get_delivery_product_info(self, product_id: str) -> Json:
        """Return a product."""
        alike = [row for row in self._rows("products", "delivery") if row["product_id"] == product_id]
        if not alike:
            raise Refused(f"there is no product {shown(product_id)}")
        return seen(alike[0])

    def delivery_store_search_recommand(self, keywords: list[str]) -> Json:
        """Return stores, those first that the keywords fit best."""
        return self._found("shops", "delivery", keywords, ("name", "tags"))

    def delivery_product_search_recommand(self, keywords: list[str]) -> Json:
        """Return products, those first that the keywords fit best."""
        return self._found("products", "delivery", keywords, ("store_name", "name", "tags"))

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
        """Order products of one store."""
        self._is_user(user_id)
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

    def pay_delivery_order(self, order_id: str) -> Json:
        """Pay an order."""
        return self._pay("orders", self._order("delivery", order_id))

    def get_delivery_order_status(self, order_id: str) -> Json:
        """Return how an order stands."""
        return {"order_id": order_id, "status": self._order("delivery", order_id)["status"]}

    def cancel_delivery_order(self, order_id: str) -> Json:
        """Cancel an order."""
        return self._cancel("orders", self._order("delivery", order_id))

    def modify_delivery_order(self, order_id: str, note: str) -> Json:
        """Give an order another note."""
        self._order("delivery", order_id)
        return self._order_seen(self._tables["orders"].change(order_id, note=note))

    def search_delivery_orders(self, user_id: str, status: str = "unpaid") -> Json:
        """Return the user's orders with a status."""
        self._is_user(user_id)
        return self._orders("delivery", status)

    def get_delivery_order_detail(self, order_id: str) -> Json:
        """Return an order."""
        return self._order_seen(self._order("delivery", order_id))


class InStore(World):
    """Shops to visit: vouchers, bookings of tables, reservations."""

    def instore_shop_search_recommend(self, keywords: list[str]) -> Json:
        """Return shops, those first that the keywords fit best."""
        return self._found("shops", "instore", keywords, ("shop_name", "tags", "category"))

    def instore_product_search_recommend(self, keywords: list[str]) -> Json:
        """Return products, those first that the keywords fit best."""
        return self._found("products", "instore", keywords, ("name", "tags"))

    def create_instore_product_order(self, user_id: str, shop_id: str, product_id: str, quantity: int = 1) -> Json:
        """Order a product of a shop."""
        self._is_user(user_id)
        offer = self._offer("instore", shop_id, product_id)
        if quantity < 1:
            raise Refused("quantity is at least 1", quantity=quantity)
        product = {name: offer[name] for name in ("product_id", "name", "price") if name in offer}
        return self._place("instore", shop_id, [{**product, "quantity": quantity}])

    def pay_instore_order(self, order_id: str) -> Json:
        """Pay an order."""
        return self._pay("orders", self._order("instore", order_id))

    def instore_cancel_order(self, order_id: str) -> Json:
        """Cancel an order."""
        return self._cancel("orders", self._order("instore", order_id))

    def get_instore_orders(self, user_id: str) -> Json:
        """Return the user's orders."""
        self._is_user(user_id)
        return self._orders("instore")

    def instore_book(self, user_id: str, shop_id: str, time: str, customer_count: int = 1) -> Json:
        """Book a table."""
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
        """Give a reservation another time, and another number of people where it is not 0."""
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
        """Write down a booking or a reservation."""
        self._is_user(user_id)
        shop = self._shop("instore", shop_id)
        if not shop.get("enable_book" if table == "books" else "enable_reservation", False):
            raise Refused(f"{shown(shop_id)} takes no {'bookings of tables' if table == 'books' else 'reservations'}")
        if people < 1:
            raise Refused("customer_count is at least 1", customer_count=people)
        row = {"id": self._unused(table, table[:-1]), "shop_id": shop_id, "customer_id": user_id}
        columns = {"customer_count": people, "update_time": self.now, **columns}
        return self._kept_seen(table, self._tables[table].add({**row, **columns}))

    def _kept(self, table: str, row_id: str) -> Row:
        row = self._tables[table].get(row_id)
        if row is None:
            raise Refused(f"there is no {table[:-1]} {shown(row_id)}")
        return row

    @staticmethod
    def _kept_seen(table: str, row: Row) -> JsonObject:
        return {f"{table[:-1]}_id": row["id"], **seen(row)}

    def _mine(self, table: str, user_id: str, row_id: str = "") -> list[JsonObject]:
        self._is_user(user_id)
        rows = [self._kept(table, row_id)] if row_id else self._tables[table].values()
        return [self._kept_seen(table, row) for row in rows if row["customer_id"] == user_id]


class Ota(World):
    """Hotels, attractions, flights, trains and taxis: their offers by day, and orders of them."""

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
        """Return the hotels of a city, those first that the words fit best."""
        return self._in_city("hotel", city_name, key_words, ("hotel_name", "tags"))

    def attractions_search_recommend(self, city_name: str, key_words: list[str]) -> Json:
        """Return the attractions of a city, those first that the words fit best."""
        return self._in_city("attraction", city_name, key_words, ("attraction_name", "description", "location"))

    def flight_search_recommend(self, departure: str, destination: str) -> Json:
        """Return the flights from one city to another."""
        return self._between("flight", departure, destination)

    def train_ticket_search(self, departure: str, destination: str, date: str) -> Json:
        """Return the trains from one city to another that have seats on a day."""
        return self._between("train", departure, destination, asked_for(day_of, "date", date))

    def taxi_search(self, departure_location: str, arrival_location: str) -> Json:
        """Return the taxi services, those first whose ends are most like the two addresses."""
        ends = ("departure_location", "arrival_location")
        return self._found("shops", "taxi", (departure_location, arrival_location), ends)

    def create_hotel_order(self, hotel_id: str, room_id: str, user_id: str) -> Json:
        """Order a room for the night of its product."""
        return self._reserve("hotel", hotel_id, room_id, user_id)

    def create_attraction_order(
        self, attraction_id: str, ticket_id: str, user_id: str, date: str, quantity: int
    ) -> Json:
        """Order tickets of an attraction."""
        return self._reserve("attraction", attraction_id, ticket_id, user_id, date=date, quantity=quantity)

    def create_flight_order(self, flight_id: str, seat_id: str, user_id: str, date: str, quantity: int) -> Json:
        """Order seats of a flight."""
        return self._reserve("flight", flight_id, seat_id, user_id, date=date, quantity=quantity)

    def create_train_order(self, train_id: str, seat_id: str, user_id: str, date: str, quantity: int) -> Json:
        """Order seats of a train."""
        return self._reserve("train", train_id, seat_id, user_id, date=date, quantity=quantity)

    def create_taxi_order(self, taxi_id: str, product_id: str, user_id: str, quantity: int = 1) -> Json:
        """Order a ride."""
        return self._reserve("taxi", taxi_id, product_id, user_id, quantity=quantity)

    def _pay_order(self, kind: str, order_id: str) -> JsonObject:
        return self._pay("orders", self._order(kind, order_id))

    def _detail(self, kind: str, order_id: str) -> JsonObject:
        return self._order_seen(self._order(kind, order_id))

    def _in_city(self, kind: str, city: str, words: Sequence[str], columns: Sequence[str]) -> list[JsonObject]:
        listed = self._found("shops", kind, words, columns)
        return [row for row in listed if _is_in(city, str(row.get("location", {}).get("address", "")))]

    def _between(self, kind: str, departure: str, destination: str, date: str = "") -> list[JsonObject]:
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
        self._is_user(user_id)
        offer = self._offer(kind, shop_id, product_id, asked_for(day_of, "date", date) if date else "")
        self._take(offer, quantity)
        return self._place(kind, shop_id, [{**seen(offer), "quantity": quantity}])

    def _take(self, offer: Row, quantity: int) -> None:
        """Take a quantity out of the stock of a product."""
        left = offer.get("quantity", 0)
        if not 1 <= quantity <= left:
            name = offer["product_id"]
            raise Refused(f"of {name} 1 to {left} can be ordered" if left else f"{name} is sold out", quantity=quantity)
        self._tables["products"].change(offer["id"], quantity=left - quantity)

    def _return(self, row: Row) -> None:
        """Put the products of an order back."""
        for product in row["products"]:
            for offer in self._offers(row["kind"], row["shop_id"]):
                if (offer["product_id"], offer.get("date")) == (product["product_id"], product.get("date")):
                    quantity = offer.get("quantity", 0) + product["quantity"]
                    self._tables["products"].change(offer["id"], quantity=quantity)

    def _placed(self, kind: str, user_id: str, date: str = "", status: str = "paid") -> list[JsonObject]:
        self._is_user(user_id)
        return self._orders(kind, status, asked_for(day_of, "date", date) if date else "")

    def _give_back(self, kind: str, order_id: str, user_id: str) -> JsonObject:
        self._is_user(user_id)
        row = self._order(kind, order_id)
        cancelled = self._cancel("orders", row)
        self._return(row)
        return cancelled

    def _move(self, kind: str, order_id: str, user_id: str, new_date: str) -> JsonObject:
        """Move an order of one product to another day; where that costs more, it waits to be paid."""
        self._is_user(user_id)
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
    pay_hotel_order = partialmethod(_pay_order, "hotel")
    pay_attraction_order = partialmethod(_pay_order, "attraction")
    pay_flight_order = partialmethod(_pay_order, "flight")
    pay_train_order = partialmethod(_pay_order, "train")
    pay_taxi_order = partialmethod(_pay_order, "taxi")
    search_hotel_order = partialmethod(_placed, "hotel")
    search_attraction_order = partialmethod(_placed, "attraction")
    search_flight_order = partialmethod(_placed, "flight")
    search_train_order = partialmethod(_placed, "train")
    search_taxi_order = partialmethod(_placed, "taxi")
    get_hotel_order_detail = partialmethod(_detail, "hotel")
    get_attraction_order_detail = partialmethod(_detail, "attraction")
    get_flight_order_detail = partialmethod(_detail, "flight")
    get_train_order_detail = partialmethod(_detail, "train")
    get_taxi_order_detail = partialmethod(_detail, "taxi")
    cancel_hotel_order = partialmethod(_give_back, "hotel")
    cancel_attraction_order = partialmethod(_give_back, "attraction")
    cancel_flight_order = partialmethod(_give_back, "flight")
    cancel_train_order = partialmethod(_give_back, "train")
    cancel_taxi_order = partialmethod(_give_back, "taxi")
    modify_flight_order = partialmethod(_move, "flight")
    modify_train_order = partialmethod(_move, "train")


def _is_in(city: str, text: str) -> bool:
    """Return whether an address, or the name of a city, is in a city."""
    named = city[:200].strip().casefold().removesuffix(" city").removesuffix("市").strip()
    return alike(named, text.casefold()) >= _SAME_CITY


WORLDS: Mapping[str, type[World]] = {"vita-delivery": Delivery, "vita-instore": InStore, "vita-ota": Ota}


@cache
def world_named(names: tuple[str, ...]) -> type[World]:
    """Return the world with the tools of all named worlds."""
    return type("Worlds", tuple(WORLDS[name] for name in names), {})


def sandbox(_: Case, suite: SandboxSuite) -> SandboxFactory | None:
    """Return the world of a suite; None for one that names none of these under ``sandbox: {worlds: ...}``.

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
