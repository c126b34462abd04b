"""Tasks of VitaBench as typed values, the rows of the tables that a task begins with, and the reference that its required orders make.

Only what is named here comes over. The labels of the source that tell targets from distractors (``shop_type``, ``product_type``, ``distraction_reason``
and their like) are in no row, so that no tool can show them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator

from pytest_mapsat import Refused
from pytest_mapsat.formats import package_data
from pytest_mapsat.model import Json, JsonObject, did_you_mean, shown
from pytest_mapsat.ports import SourcePart
from pytest_mapsat.sandbox import State, Table

from . import choice, new_forms, standing
from .world import TASK, WORLDS, day_of, moment_of, world_named

_DATA = package_data(__package__, "words.yaml")
#: kind of order -> where an environment has what can be ordered, and the name of its ids.
KINDS: Mapping[str, Sequence[str]] = _DATA["kinds"]
#: The names of the domains in the source and its translations.
_DOMAINS: Mapping[str, str] = _DATA["domain_of"]


def domain_of(kind: str) -> str:
    """Return the domain of a kind of order: ``delivery``, ``instore``, or ``ota`` for every other kind."""
    return kind if kind in ("delivery", "instore") else "ota"


_TARGET = "target"


def _moment(text: str) -> str:
    """Return a moment as ``YYYY-MM-DD HH:MM:SS``; empty for a blank text."""
    return moment_of(text) if text.strip() else ""


def _day(text: str) -> str:
    """Return a day as ``YYYY-MM-DD``; empty for a blank text."""
    return day_of(text) if text.strip() else ""


def _listed(value: object) -> list[object]:
    """Return a value of the source (a list, a word, or an object of names and values) as a list of words."""
    if isinstance(value, Mapping):
        return [f"{name}: {words}" for name, words in value.items()]
    return [word for word in value if word is not None] if isinstance(value, list) else [value] if value else []


def _joined(value: object) -> str:
    """Return the words of a value of the source as one text, joined by commas."""
    return ", ".join(map(str, _listed(value)))


def _amount(value: object) -> object:
    """Return 0 for an empty text, and any other value unchanged."""
    return 0 if value == "" else value


def _stripped(value: object) -> object:
    """Return a text without surrounding blanks, and any other value unchanged."""
    return value.strip() if isinstance(value, str) else value


Moment = Annotated[str, AfterValidator(_moment)]
Day = Annotated[str, AfterValidator(_day)]
Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]
#: Some ids of the source end in blanks.
Id = Annotated[str, BeforeValidator(_stripped), Field(min_length=1, max_length=200)]
Number = Annotated[int | float, BeforeValidator(_amount)]
#: A value that is only shown.
Shown = int | float | bool | str


@cache
def _required(part: type[BaseModel]) -> frozenset[str]:
    """Return the names of a model's required fields."""
    return frozenset(name for name, field in part.model_fields.items() if field.is_required())


class TaskPart(SourcePart):
    """Base of the parts of a task; if a required field is missing, the error names a field that may be its misspelling."""

    model_config = ConfigDict(coerce_numbers_to_str=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _spelled(cls, data: Any) -> Any:
        """Return the data. Raises ValueError if a required field is missing and an unknown field resembles its name."""
        if isinstance(data, Mapping):
            given = {name for name, value in data.items() if value is not None}
            for name in sorted(_required(cls) - given):
                if hint := did_you_mean(name, given - cls.model_fields.keys()):
                    raise ValueError(f"there is no {name}; {hint}")
        return data


class VitaPlace(TaskPart):
    """An address, with its position in degrees if the source has one."""

    address: str = ""
    longitude: Annotated[float, Field(ge=-180, le=180)] = 0
    latitude: Annotated[float, Field(ge=-180, le=180)] = 0


def _place(value: object) -> object:
    """Return an address given as text as an object, an empty value as None, and any other value unchanged."""
    return {"address": value} if isinstance(value, str) and value else value or None


MaybePlace = Annotated[VitaPlace | None, BeforeValidator(_place)]


class Weather(TaskPart):
    """The weather of one day of a city, degrees Celsius and percent."""

    city: str
    datetime: Day
    category: str = ""
    temperature: tuple[Shown, ...] = ()
    humidity: Shown = 0


#: The sorts of columns in ``words.yaml``: type and default.
_SORTS: Mapping[str, tuple[Any, Any]] = {
    "text": (str, ""),
    "shown": (Shown, 0),
    "place": (MaybePlace, None),
    "words": (Words, ()),
    "day": (Day, ""),
    "flag": (bool, False),
    "amount": (Number, 0),
    "id": (Id, ...),
    "price": (Annotated[Number, Field(ge=0)], ...),
    "stock": (Annotated[int, BeforeValidator(_amount), Field(ge=0)], 0),
}


def _columns(name: str) -> Any:
    """Return a base class with the columns that ``words.yaml`` lists under a name."""
    fields: dict[str, Any] = {column: _SORTS[sort] for column, sort in _DATA[name].items()}
    return create_model(name, __base__=TaskPart, **fields)


class ShopOffer(_columns("offer")):  # type: ignore[misc]
    """A product that a shop offers: the columns ``offer`` of ``words.yaml``."""


class Shop(_columns("shop")):  # type: ignore[misc]
    """A store, shop, hotel, attraction, flight, train or taxi service, with its offers."""

    products: tuple[JsonObject, ...] = ()
    #: The source's labels, which no row gets. A taxi's type has the same form of name and is among them.
    labels: Mapping[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _labelled(cls, data: Any) -> Any:
        """Return the data with the source's labels, the fields that end in ``_type``, under ``labels``."""
        if not isinstance(data, Mapping):
            return data
        return {**data, "labels": {name: str(value) for name, value in data.items() if name.endswith("_type")}}


class Ordered(TaskPart):
    """A product in an order."""

    product_id: Id
    quantity: int = 1
    price: Number = 0
    name: str = ""
    attributes: Annotated[str, BeforeValidator(_joined)] = ""
    date: Day = ""
    room_type: str = ""
    ticket_type: str = ""
    seat_type: str = ""


class Order(TaskPart):
    """An order that the user has at the start, or must have at the end."""

    order_id: Id
    order_type: str
    store_id: Id
    user_id: str = ""
    status: str = "unpaid"
    products: tuple[JsonObject, ...] = ()
    note: str = ""
    location: MaybePlace = None
    dispatch_time: Moment = ""
    delivery_time: str = ""
    total_price: Number = 0
    create_time: str = ""
    update_time: str = ""


class Reservation(TaskPart):
    """A booking of a table, or a reservation."""

    shop_id: Id
    book_id: Annotated[str, BeforeValidator(_stripped)] = ""
    reservation_id: Annotated[str, BeforeValidator(_stripped)] = ""
    book_time: Moment = ""
    reservation_time: Moment = ""
    book_price: Number = 0
    customer_id: str = ""
    customer_count: int = 1
    status: str = "unpaid"
    update_time: str = ""

    @property
    def id(self) -> str:
        """Return the id of the booking or of the reservation."""
        return self.book_id or self.reservation_id


_Noun = TypeVar("_Noun")
Keyed = Mapping[str, _Noun]


class VitaEnvironment(TaskPart):
    """The initial world of a task."""

    time: Annotated[str, AfterValidator(moment_of)]
    user_id: Id
    orders: Keyed[Order] = Field(default_factory=dict)
    books: Keyed[Reservation] = Field(default_factory=dict)
    reservations: Keyed[Reservation] = Field(default_factory=dict)
    weather: tuple[Weather, ...] = ()
    location: tuple[VitaPlace, ...] = ()
    user_historical_behaviors: Json = None
    stores: Keyed[Shop] = Field(default_factory=dict)
    shops: Keyed[Shop] = Field(default_factory=dict)
    hotels: Keyed[Shop] = Field(default_factory=dict)
    attractions: Keyed[Shop] = Field(default_factory=dict)
    flights: Keyed[Shop] = Field(default_factory=dict)
    trains: Keyed[Shop] = Field(default_factory=dict)
    taxis: Keyed[Shop] = Field(default_factory=dict)
    #: Names of the source that hold something and that no table takes.
    unknown: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _unknown(cls, data: Any) -> Any:
        """Return the data with the names of non-empty unknown fields under ``unknown``."""
        if not isinstance(data, Mapping):
            return data
        unknown = [str(name) for name, value in data.items() if value and name not in cls.model_fields]
        return {**data, "unknown": unknown}

    def sold(self) -> Iterator[tuple[str, str, Shop]]:
        """Yield kind, id and data of each shop; products and orders refer to shops by this id."""
        for kind, (collection, _) in KINDS.items():
            for key, shop in getattr(self, collection).items():
                yield kind, key, shop


class ExpectedState(TaskPart):
    """The required orders and rubrics at the end."""

    required_orders: tuple[JsonObject, ...] = ()
    optional_orders: tuple[JsonObject, ...] = ()
    state_rubrics: tuple[str, ...] = ()


class VitaCriteria(TaskPart):
    """The criteria of a task."""

    expected_states: tuple[ExpectedState, ...] = ()
    overall_rubrics: tuple[str, ...] = ()

    @property
    def rubrics(self) -> list[str]:
        """Return the rubrics without repetitions: first those of the expected states, then the overall rubrics."""
        listed = [rubric for state in self.expected_states for rubric in state.state_rubrics]
        return list(dict.fromkeys(rubric for rubric in (*listed, *self.overall_rubrics) if rubric.strip()))


class VitaScenario(TaskPart):
    """The user's identity and, in 2.0, the user's preferences in this task."""

    user_profile: JsonObject = Field(default_factory=dict)
    personalized_preference_memory: JsonObject = Field(default_factory=dict)


class VitaTask(TaskPart):
    """A task of VitaBench 1.0, or one of a user of 2.0."""

    id: Id
    domain: str
    environment: VitaEnvironment
    instructions: Annotated[str, Field(min_length=1)]
    user_scenario: VitaScenario = VitaScenario()
    evaluation_criteria: VitaCriteria = VitaCriteria()
    message_history: tuple[JsonObject, ...] = ()

    @property
    def unknown_domains(self) -> list[str]:
        """Return the unknown domains of the task, each with the similar known domain, if any."""
        odd = [name for name in self._names if name not in _DOMAINS]
        return [" ".join(filter(None, (shown(name), did_you_mean(name, _DOMAINS)))) for name in odd]

    @property
    def domains(self) -> tuple[str, ...]:
        """Return the task's domains by our names; if one is unknown, also the domains of the environment's goods.

        Raises:
            ValueError: there is none.
        """
        domains = [_DOMAINS[name] for name in self._names if name in _DOMAINS]
        if self.unknown_domains:
            domains += [domain_of(kind) for kind, _, _ in self.environment.sold()]
        if not domains:
            raise ValueError(f"domain: found {'; '.join(self.unknown_domains)}, expected delivery, instore, ota")
        return tuple(dict.fromkeys(domains))

    @property
    def _names(self) -> list[str]:
        """Return the domains of the task as the source names them, in lower case."""
        return [name.strip().lower() for name in re.split("[,，、]", self.domain)]


def label_of(label: Mapping[str, str] | JsonObject) -> str:
    """Return the source's label of a shop or product as distractor or irrelevant; empty if there is none."""
    types = (str(value) for name, value in label.items() if name.endswith("_type"))
    return next((word for word in types if word != _TARGET and ("distract" in word or word == "irrelevant")), "")


def tables_of(environment: VitaEnvironment) -> dict[str, list[JsonObject]]:
    """Return the initial rows of each table in an environment.

    Raises:
        ValueError: a product, or what was ordered, cannot be read; pydantic's ``ValidationError`` is one.
    """
    rows: dict[str, list[JsonObject]] = {
        "task": [{"id": TASK, "time": environment.time, "user_id": environment.user_id}],
        "places": [{"id": f"place-{at}", **_dumped(place)} for at, place in enumerate(environment.location, 1)],
        "weather": [{"id": f"day-{at}", **_dumped(day)} for at, day in enumerate(environment.weather, 1)],
        "habits": [{"id": "habits", "told": environment.user_historical_behaviors}],
        "shops": [],
        "products": [],
        "orders": [_order_row(order, environment) for order in environment.orders.values()],
        "books": [_kept_row(kept, environment) for kept in environment.books.values()],
        "reservations": [_kept_row(kept, environment) for kept in environment.reservations.values()],
    }
    for kind, shop_id, shop in environment.sold():
        rows["shops"].append({"id": shop_id, "kind": kind, **_dumped(shop), KINDS[kind][1]: shop_id})
        for at, product in enumerate(shop.products, 1):
            offer = _dumped(ShopOffer.model_validate(product))
            rows["products"].append({"id": f"{shop_id}/{at}", "kind": kind, "shop": shop_id, **offer})
    return rows


def _dumped(part: TaskPart) -> dict[str, Json]:
    """Return the fields of a part that the source gives, as JSON, without nulls, products and labels."""
    return part.model_dump(mode="json", exclude_unset=True, exclude_none=True, exclude={"products", "labels"})


def _order_row(order: Order, environment: VitaEnvironment) -> JsonObject:
    """Return an earlier order as a row of the table ``orders``."""
    row: JsonObject = {
        "id": order.order_id,
        "kind": order.order_type,
        "user_id": order.user_id or environment.user_id,
        "shop_id": order.store_id,
        "status": order.status,
        "total_price": order.total_price,
        "create_time": order.create_time,
        "update_time": order.update_time,
        "products": [{"quantity": 1, **_dumped(Ordered.model_validate(product))} for product in order.products],
        "note": order.note,
    }
    if order.order_type == "delivery":
        address = order.location.address if order.location else ""
        row |= {"address": address, "place": address, "dispatch_time": order.dispatch_time}
        row["delivery_time"] = order.delivery_time
    return row


def _kept_row(kept: Reservation, environment: VitaEnvironment) -> JsonObject:
    """Return an earlier booking or reservation as a row of its table."""
    row = _dumped(kept)
    ids = {"id": kept.id, "customer_id": kept.customer_id or environment.user_id}
    common = {"status": kept.status, "customer_count": kept.customer_count, "update_time": kept.update_time}
    own = {name: value for name, value in row.items() if name not in ("book_id", "reservation_id")}
    return {**common, **own, **ids}


_MOVED = ("flight", "train")
#: Words by which a rubric may name a time; they decide nothing but a mark.
_TIME_NAMED = re.compile(
    r"\d[:：]\d\d|\d{4}-\d|\d\s?(?:[ap]\.?m\b|o'clock|min|hour|[点时分日])|时间|时候|中午|今[天晚日]|明[天晚日]"
    r"|\b(?:time|noon|midnight|morning|afternoon|evening|tonight|today|tomorrow|immediately)\b",
    re.IGNORECASE,
)


class UnplaceableError(Exception):
    """Raised if required orders cannot be placed; the message gives the reason."""


class OrdersReference:
    """The required orders of a task, placed in a fresh world.

    Args:
        task: the task.
        tables: the rows that it begins with.

    Attributes:
        calls: the tool calls that place them.
        end: the arguments of the check ``vita_orders``; None where they cannot be placed.
        problem: why they cannot be placed; empty where they can.
        notes: remarks on odd ones, each a kind and a message.
    """

    def __init__(self, task: VitaTask, tables: Mapping[str, Sequence[JsonObject]]) -> None:
        self.calls: list[JsonObject] = []
        self.end: JsonObject | None = None
        self.problem = ""
        self.notes: list[tuple[str, str]] = []
        self._task = task
        self._environment = task.environment
        self._shops = {shop_id: (kind, shop) for kind, shop_id, shop in task.environment.sold()}
        self._earlier = {order.order_id: order for order in task.environment.orders.values()}
        kept_before = (*task.environment.books.values(), *task.environment.reservations.values())
        self._kept_before = {kept.id: kept for kept in kept_before}
        self._changed: dict[str, JsonObject] = {}
        try:
            self._state = State({name: Table(name, tuple(rows)) for name, rows in tables.items()})
            self._world = world_named(tuple(WORLDS))(self._state)
            self._play()
        except UnplaceableError as why:
            self.calls, self.problem = [], str(why)
        except Refused as refused:
            self.calls, self.problem = [], refused.reason
        except ValueError as wrong:
            self.calls, self.problem = [], " ".join(str(wrong).split())[:400]

    def _play(self) -> None:
        """Place the required orders and bookings, and store the resulting end state. Raises UnplaceableError, ValueError."""
        states = self._task.evaluation_criteria.expected_states
        orders, kept = self._read([order for state in states for order in state.required_orders])
        optional, _ = self._read([order for state in states for order in state.optional_orders])
        if not orders and not kept:
            return
        new = self._change_earlier_orders(orders)
        for order in new:
            self._place(order)
        for booking in kept:
            self._place_booking(booking)
        end: JsonObject = {"placed": self._placed(new), "earlier": self._changed}
        if optional:
            end["optional"] = [form for order in optional for form in self._form(order)]
        self.end = end

    def _read(self, raw: Sequence[JsonObject]) -> tuple[list[Order], list[Reservation]]:
        """Return the orders, bookings and reservations; if several states contain the same entry, the last counts."""
        orders: dict[Json, Order] = {}
        kept: dict[Json, Reservation] = {}
        for data in raw:
            if data.get("book_id") or data.get("reservation_id"):
                booking = Reservation.model_validate(data)
                kept[booking.id, booking.shop_id] = booking
                continue
            order = Order.model_validate(data)
            for product in order.products:
                if "order_id" in product and "product_id" not in product:
                    raise UnplaceableError(f"order {product['order_id']} stands inside order {order.order_id}")
            orders[order.order_id, order.store_id, tuple(sorted(map(_item, order.products)))] = order
        return list(orders.values()), list(kept.values())

    # -- orders that were there before

    def _change_earlier_orders(self, orders: Sequence[Order]) -> list[Order]:
        """Change the earlier orders to their required states, and return the new required orders."""
        left = dict(self._earlier)
        new: list[Order] = []
        for order in orders:
            before = left.get(order.order_id)
            if before is not None and _is_earlier(before, order):
                del left[order.order_id]
                self._change(before, order)
            else:
                new.append(order)
        for order in [order for order in new if order.status == "cancelled"]:
            new.remove(order)
            before = next((before for before in left.values() if _same_items(before, order)), None)
            if before is None:
                message = f"order {order.order_id} is cancelled, and was never placed: nothing is asked for"
                self._note("reference", message)
            else:
                del left[before.order_id]
                self._change(before, order)
        for order in new:
            before = left.pop(order.order_id, None)
            if before is not None:
                message = f"{order.order_id} is the id of an earlier order with other products"
                self._note("reference", f"{message}: it is cancelled, and a new one placed")
                self._change(before, before.model_copy(update={"status": "cancelled"}))
        return new

    def _change(self, before: Order, order: Order) -> None:
        """Change an earlier order to its required state: move it, cancel it, pay it, or change its note."""
        kind, name = before.order_type, before.order_id
        wanted: JsonObject = {}
        if _is_moved(before, order):
            date = Ordered.model_validate(order.products[0]).date
            moved = self._call(f"modify_{kind}_order", order_id=name, user_id=self._world.user, new_date=date)
            wanted["products"] = [f"{product['product_id']} x {product['quantity']}" for product in moved["products"]]
            before = before.model_copy(update={"status": moved["status"]})
        was, stands = standing(before.status), standing(order.status)
        if stands == "cancelled" != was:
            tool, arguments = _cancelling(kind, name, self._world.user)
            self._call(tool, **arguments)
        elif stands == "paid" and was == "unpaid":
            self._call(f"pay_{kind}_order", order_id=name)
        elif stands != was:
            self._note("reference", f"order {name} is paid, and required unpaid: it stays as it is")
            stands = was
        if stands != standing(self._earlier[name].status):
            wanted["stands"] = stands
        if kind == "delivery" and order.note.strip() and order.note.strip() != before.note.strip():
            self._call("modify_delivery_order", order_id=name, note=order.note)
            wanted["note"] = True
        if wanted:
            self._changed[name] = wanted

    # -- new ones

    def _place(self, order: Order) -> None:
        """Place a new order, and pay it if required. Raises UnplaceableError if the order cannot be placed."""
        kind, shop = order.order_type, order.store_id
        if kind not in KINDS or domain_of(kind) not in self._task.domains:
            not_of = f"which is not of the task's domain {self._task.domain}"
            raise UnplaceableError(f"order {order.order_id} is of the kind {shown(kind)}, {not_of}")
        products = [Ordered.model_validate(product) for product in order.products]
        if not products:
            raise UnplaceableError(f"order {order.order_id} has no products")
        self._remark(order, products)
        user = self._world.user
        if kind == "delivery":
            placed = [self._call("create_delivery_order", **self._delivery_arguments(order, products))]
        elif kind == "instore":
            ordered = [{"product_id": product.product_id, "quantity": product.quantity} for product in products]
            placed = [
                self._call("create_instore_product_order", user_id=user, shop_id=shop, **item) for item in ordered
            ]
        else:
            placed = [call for product in products for call in self._order_travel_product(kind, shop, product)]
        for created in placed if standing(order.status) == "paid" else ():
            self._call(f"pay_{kind}_order", order_id=created["order_id"])

    def _delivery_arguments(self, order: Order, products: Sequence[Ordered]) -> JsonObject:
        """Return the arguments of the call that places a delivery order."""
        address = next((place.address for place in (order.location, *self._environment.location) if place), "")
        arguments: JsonObject = {
            "user_id": self._world.user,
            "store_id": order.store_id,
            "product_ids": [product.product_id for product in products],
            "product_cnts": [product.quantity for product in products],
            "address": address,
            "dispatch_time": order.dispatch_time or self._environment.time,
        }
        if any(product.attributes for product in products):
            arguments["attributes"] = [product.attributes for product in products]
        return arguments | ({"note": order.note} if order.note else {})

    def _order_travel_product(self, kind: str, shop: str, product: Ordered) -> list[JsonObject]:
        """Order a product of a hotel, one room a call, or a quantity of any other product; return the orders placed."""
        arguments: JsonObject = {
            KINDS[kind][1]: shop,
            _DATA["product"][kind]: product.product_id,
            "user_id": self._world.user,
        }
        if kind == "hotel":
            return [self._call("create_hotel_order", **arguments) for _ in range(min(product.quantity, 1000))]
        arguments["quantity"] = product.quantity
        if kind != "taxi":
            days = (offer.date for offer in self._offers(shop) if offer.product_id == product.product_id)
            arguments["date"] = product.date or next(days, "")
        return [self._call(f"create_{kind}_order", **arguments)]

    def _place_booking(self, booking: Reservation) -> None:
        """Make a booking or reservation, or change an earlier one to its required state. Raises UnplaceableError."""
        noun, when = ("book", booking.book_time) if booking.book_id else ("reservation", booking.reservation_time)
        before = self._kept_before.get(booking.id)
        stands = standing(booking.status)
        if before is not None:
            self._change_booking(noun, before, booking)
            return
        if stands == "cancelled":
            self._note("reference", f"{noun} {booking.id} is cancelled, and was never made: nothing is asked for")
            return
        if "instore" not in self._task.domains:
            raise UnplaceableError(f"{noun} {booking.id} is none of the task's domain {self._task.domain}")
        self._label(f"{noun} {booking.id}", booking.shop_id, ())
        if when < self._environment.time:
            self._note("past", f"{noun} {booking.id} is for {when}, and it is {self._environment.time}")
        terms = {"shop_id": booking.shop_id, "time": when, "customer_count": booking.customer_count}
        booked = self._call(f"instore_{noun}", user_id=self._world.user, **terms)
        if booked["status"] == "unpaid" and stands == "paid":
            self._call("pay_instore_book", book_id=booked["book_id"])

    def _change_booking(self, noun: str, before: Reservation, booking: Reservation) -> None:
        """Change an earlier booking or reservation to its required state: change, cancel or pay it."""
        stands, wanted = standing(booking.status), {}
        when = booking.book_time or booking.reservation_time
        if noun == "reservation" and (when, booking.customer_count) != (before.reservation_time, before.customer_count):
            people = booking.customer_count
            self._call("instore_modify_reservation", reservation_id=before.id, time=when, customer_count=people)
            wanted = {"time": when, "people": people}
        if stands == "cancelled" and standing(before.status) != "cancelled":
            self._call(f"instore_cancel_{noun}", **{f"{noun}_id": before.id})
            wanted["stands"] = stands
        elif noun == "book" and stands == "paid" and before.status == "unpaid":
            self._call("pay_instore_book", book_id=before.id)
            wanted["stands"] = stands
        if wanted:
            self._changed[before.id] = wanted

    def _call(self, tool: str, /, **arguments: Json) -> JsonObject:
        """Make a call, add it to the reference, and return its result. Raises UnplaceableError if the call is refused."""
        make = getattr(self._world, tool, None)
        if make is None:
            raise UnplaceableError(f"there is no tool {tool}")
        try:
            result: JsonObject = make(**arguments)
        except Refused as refused:
            raise UnplaceableError(f"{tool}: {refused.reason}") from None
        self.calls.append({"tool": tool, "arguments": arguments})
        return result

    # -- the end, and what is odd

    def _placed(self, new: Sequence[Order]) -> list[JsonObject]:
        """Return the forms of all new rows at the end, without fields that the reference leaves open."""
        forms = [form for order in new if order.order_type == "delivery" for form in self._form(order)]
        rows = [
            (table, row)
            for table in ("orders", "books", "reservations")
            for row in self._state[table].values()
            if row["id"] not in self._earlier and row["id"] not in self._kept_before and row.get("kind") != "delivery"
        ]
        return forms + new_forms(rows)

    def _form(self, order: Order) -> list[JsonObject]:
        """Return the forms of an order without fields that the source leaves open, and note choices and times that are not compared."""
        products = [Ordered.model_validate(product) for product in order.products]
        place = self._world.known_address(order.location.address)[0] if order.location else ""
        row = {
            "kind": order.order_type,
            "shop_id": order.store_id,
            "status": order.status,
            "products": [product.model_dump() for product in products],
            "place": place,
            "dispatch_time": order.dispatch_time,
            "note": order.note,
        }
        forms = new_forms([("orders", row)])
        for form in forms if order.order_type == "delivery" else ():
            wanted = [product for product in products if product.attributes]
            offers = self._offers(order.store_id)
            offered = {(offer.product_id, words.casefold()) for offer in offers for words in offer.attributes}
            listed = [product for product in wanted if (product.product_id, product.attributes.casefold()) in offered]
            form["choices"] = sorted(choice(product.model_dump()) for product in listed)
            for product in [product for product in wanted if product not in listed]:
                choice_text = f"{shown(product.attributes)} of {product.product_id}, which the shop does not list"
                self._note("choice", f"order {order.order_id} wants {choice_text}: any choice passes")
            if not order.dispatch_time and any(map(_TIME_NAMED.search, self._task.evaluation_criteria.rubrics)):
                self._note("time", f"order {order.order_id} has no time, and a rubric names one: any time passes")
            for name in [name for name in ("place", "time", "note", "choices") if not form[name]]:
                del form[name]
        return forms

    def _offers(self, shop_id: str) -> list[ShopOffer]:
        """Return the products of a shop; an empty list if there is no such shop."""
        products = self._shops[shop_id][1].products if shop_id in self._shops else ()
        return [ShopOffer.model_validate(offer) for offer in products]

    def _remark(self, order: Order, products: Sequence[Ordered]) -> None:
        """Note irregularities of a required order: its user, its address, its status, several products, or distractors."""
        name = f"order {order.order_id}"
        self._label(name, order.store_id, [product.product_id for product in products])
        if order.user_id and order.user_id != self._world.user:
            users = f"of the user {order.user_id}, and the task's is {self._world.user}"
            self._note("user", f"{name} is {users}: the task's is taken")
        if order.order_type != "delivery" and len(products) > 1:
            why = f"{len(products)} products, and one call orders one"
            self._note("split", f"{name} has {why}: it is placed as several orders")
        if standing(order.status) == "unpaid":
            self._note("unpaid", f"{name} is unpaid in the reference: an agent that pays it fails")
        if order.location and all(order.location.address != place.address for place in self._environment.location):
            self._note("address", f"the address of {name} is none of the task's; the one that is most like it is meant")

    def _label(self, name: str, shop_id: str, product_ids: Sequence[str]) -> None:
        """Note the shop and the products of a required order that the source labels as distractors."""
        if shop_id not in self._shops:
            return
        shop = self._shops[shop_id][1]
        if word := label_of(shop.labels):
            self._note("distraction", f"{name} is at {shop_id}, which the source labels {shown(word)}")
        for product in shop.products:
            word = label_of(product)
            if word and product.get("product_id") in product_ids:
                self._note("distraction", f"{name} has {product['product_id']}, which the source labels {shown(word)}")

    def _note(self, kind: str, message: str) -> None:
        """Add a remark of a kind to ``notes``."""
        self.notes.append((kind, message))


def _is_earlier(before: Order, order: Order) -> bool:
    """Return whether a required order is an earlier order, unchanged or moved; a cancelled order never becomes active again."""
    if before.status == "cancelled" != order.status:
        return False
    return _same_items(before, order) or _is_moved(before, order)


def _same_items(before: Order, order: Order) -> bool:
    """Return whether two orders have the same products and quantities of a shop, ignoring a day that only one order gives."""
    was, ends = (sorted(_item(product) for product in side.products) for side in (before, order))
    return (
        before.store_id == order.store_id
        and [item[:2] for item in was] == [item[:2] for item in ends]
        and all("" in (first[2], second[2]) or first[2] == second[2] for first, second in zip(was, ends, strict=True))
    )


def _item(product: JsonObject) -> tuple[str, int, str]:
    """Return the id, quantity and day of a product in an order."""
    ordered = Ordered.model_validate(product)
    return ordered.product_id, ordered.quantity, ordered.date


def _is_moved(before: Order, order: Order) -> bool:
    """Return whether an order of one flight or train is an earlier order moved to another day."""
    if before.order_type not in _MOVED or (before.order_type, before.store_id) != (order.order_type, order.store_id):
        return False
    if len(before.products) != 1 or len(order.products) != 1:
        return False
    was, ends = Ordered.model_validate(before.products[0]), Ordered.model_validate(order.products[0])
    return was.date != ends.date and (was.seat_type, was.quantity) == (ends.seat_type, ends.quantity)


def _cancelling(kind: str, order_id: str, user_id: str) -> tuple[str, JsonObject]:
    """Return the name and the arguments of the call that cancels an order."""
    if kind in ("delivery", "instore"):
        return ("cancel_delivery_order" if kind == "delivery" else "instore_cancel_order"), {"order_id": order_id}
    return f"cancel_{kind}_order", {"order_id": order_id, "user_id": user_id}
