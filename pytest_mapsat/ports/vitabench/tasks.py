"""Tasks of VitaBench as typed values, and the rows of the tables that a task begins with.

Only what is named here comes over. The labels of the source that tell targets from distractors (``shop_type``, ``product_type``, ``distraction_reason``
and their like) are in no row, so that no tool can show them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from pytest_mapsat.model import Json, JsonObject, did_you_mean, shown

from .world import TASK, day_of, moment_of

#: kind of order -> where an environment has what can be ordered, and the name of its ids.
KINDS: Mapping[str, tuple[str, str]] = {
    "delivery": ("stores", "store_id"),
    "instore": ("shops", "shop_id"),
    "hotel": ("hotels", "hotel_id"),
    "attraction": ("attractions", "attraction_id"),
    "flight": ("flights", "flight_id"),
    "train": ("trains", "train_id"),
    "taxi": ("taxis", "taxi_id"),
}
#: The names of the domains in the source and its translations.
_DOMAINS = {
    name: domain
    for domain, names in {
        "delivery": ("delivery", "外卖"),
        "instore": ("instore", "in-store", "in_store", "in-store consumption", "到店", "到店消费"),
        "ota": ("ota", "online travel", "酒旅", "旅行"),
    }.items()
    for name in names
}


def domain_of(kind: str) -> str:
    """Return the domain of a kind of order."""
    return kind if kind in ("delivery", "instore") else "ota"


_TARGET = "target"


def _moment(text: str) -> str:
    return moment_of(text) if text.strip() else ""


def _day(text: str) -> str:
    return day_of(text) if text.strip() else ""


def _listed(value: object) -> list[object]:
    """Return a list of words: the source has lists, single words, and objects of names and values."""
    if isinstance(value, Mapping):
        return [f"{name}: {words}" for name, words in value.items()]
    return [word for word in value if word is not None] if isinstance(value, list) else [value] if value else []


def _joined(value: object) -> str:
    return ", ".join(map(str, _listed(value)))


def _keyed(value: object) -> object:
    """Return a list of objects as an object by their ids, as the source has it elsewhere."""
    if not isinstance(value, list):
        return value
    ids = (*(name for _, name in KINDS.values()), "order_id", "book_id", "reservation_id")
    named = [
        next((entry[name] for name in ids if name in entry), "") if isinstance(entry, Mapping) else ""
        for entry in value
    ]
    return {str(name or at): entry for at, (name, entry) in enumerate(zip(named, value, strict=True))}


def _amount(value: object) -> object:
    return 0 if value == "" else value


def _stripped(value: object) -> object:
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
    return frozenset(name for name, field in part.model_fields.items() if field.is_required())


class Part(BaseModel):
    """Part of a task: unused fields are ignored, and null counts as not given."""

    model_config = ConfigDict(
        extra="ignore", frozen=True, defer_build=True, coerce_numbers_to_str=True, allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def _given(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        given = {name: value for name, value in data.items() if value is not None}
        for name in sorted(_required(cls) - given.keys()):
            hint = did_you_mean(name, given.keys() - cls.model_fields.keys())
            if hint:
                raise ValueError(f"there is no {name}; {hint}")
        return given


class Place(Part):
    """An address with its position in degrees, where the source has it."""

    address: str = ""
    longitude: Annotated[float, Field(ge=-180, le=180)] = 0
    latitude: Annotated[float, Field(ge=-180, le=180)] = 0


def _place(value: object) -> object:
    return {"address": value} if isinstance(value, str) and value else value or None


MaybePlace = Annotated[Place | None, BeforeValidator(_place)]


class Weather(Part):
    """The weather of one day of a city, degrees Celsius and percent."""

    city: str
    datetime: Day
    category: str = ""
    temperature: tuple[Shown, ...] = ()
    humidity: Shown = 0


class Offer(Part):
    """What can be ordered at a shop."""

    product_id: Id
    price: Annotated[Number, Field(ge=0)]
    name: str = ""
    store_id: str = ""
    store_name: str = ""
    shop_id: str = ""
    tags: Words = ()
    attributes: Words = ()
    quantity: Annotated[int, BeforeValidator(_amount), Field(ge=0)] = 0
    date: Day = ""
    room_type: str = ""
    ticket_type: str = ""
    seat_type: str = ""
    platform: str = ""


class Shop(Part):
    """A store, shop, hotel, attraction, flight, train or taxi service, with what it offers."""

    store_id: str = ""
    name: str = ""
    shop_id: str = ""
    shop_name: str = ""
    hotel_id: str = ""
    hotel_name: str = ""
    attraction_id: str = ""
    attraction_name: str = ""
    flight_id: str = ""
    flight_number: str = ""
    train_id: str = ""
    train_number: str = ""
    taxi_id: str = ""
    category: str = ""
    score: Shown = 0
    star_rating: Shown = 0
    description: str = ""
    opening_hours: str = ""
    ticket_price: Shown = 0
    location: MaybePlace = None
    departure_city: str = ""
    arrival_city: str = ""
    departure_airport_location: MaybePlace = None
    arrival_airport_location: MaybePlace = None
    departure_station_location: MaybePlace = None
    arrival_station_location: MaybePlace = None
    departure_location: MaybePlace = None
    arrival_location: MaybePlace = None
    departure_time: str = ""
    arrival_time: str = ""
    platform: str = ""
    estimated_duration: str = ""
    estimated_price: Shown = 0
    tags: Words = ()
    enable_book: bool = False
    book_price: Number = 0
    enable_reservation: bool = False
    products: tuple[JsonObject, ...] = ()
    #: The source's labels, which no row gets. A taxi's type has the same form of name and is among them.
    labels: Mapping[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _labelled(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return {**data, "labels": {name: str(value) for name, value in data.items() if name.endswith("_type")}}


class Ordered(Part):
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


class Order(Part):
    """An order that the user has, or must have at the end."""

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


class Kept(Part):
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
        """Its id."""
        return self.book_id or self.reservation_id


_Noun = TypeVar("_Noun")
Keyed = Annotated[Mapping[str, _Noun], BeforeValidator(_keyed)]


class Environment(Part):
    """The world that a task begins in."""

    time: Annotated[str, AfterValidator(moment_of)]
    user_id: Id
    orders: Keyed[Order] = Field(default_factory=dict)
    books: Keyed[Kept] = Field(default_factory=dict)
    reservations: Keyed[Kept] = Field(default_factory=dict)
    weather: tuple[Weather, ...] = ()
    location: tuple[Place, ...] = ()
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
        if not isinstance(data, Mapping):
            return data
        unknown = [str(name) for name, value in data.items() if value and name not in cls.model_fields]
        return {**data, "unknown": unknown}

    def sold(self) -> Iterator[tuple[str, str, Shop]]:
        """Give each shop with its kind and its id: its key in the source, by which products and orders name it."""
        for kind, (collection, _) in KINDS.items():
            for key, shop in getattr(self, collection).items():
                yield kind, key, shop


class ExpectedState(Part):
    """The orders and rubrics that must hold at the end."""

    required_orders: tuple[JsonObject, ...] = ()
    optional_orders: tuple[JsonObject, ...] = ()
    state_rubrics: tuple[str, ...] = ()


class Criteria(Part):
    """What a task is judged by."""

    expected_states: tuple[ExpectedState, ...] = ()
    overall_rubrics: tuple[str, ...] = ()

    @property
    def rubrics(self) -> list[str]:
        """The rubrics, each once: those of the states, then those of the whole."""
        listed = [rubric for state in self.expected_states for rubric in state.state_rubrics]
        return list(dict.fromkeys(rubric for rubric in (*listed, *self.overall_rubrics) if rubric.strip()))


class Scenario(Part):
    """Who the user is and, in 2.0, the preferences at this task."""

    user_profile: JsonObject = Field(default_factory=dict)
    personalized_preference_memory: JsonObject = Field(default_factory=dict)


class Task(Part):
    """A task of 1.0, or one of a user's in 2.0."""

    id: Id
    domain: str
    environment: Environment
    instructions: Annotated[str, Field(min_length=1)]
    user_scenario: Scenario = Scenario()
    evaluation_criteria: Criteria = Criteria()
    message_history: tuple[JsonObject, ...] = ()

    @property
    def unknown_domains(self) -> list[str]:
        """The names of domains that are unknown, each with the one that may be meant."""
        odd = [name for name in self._names if name not in _DOMAINS]
        return [" ".join(filter(None, (shown(name), did_you_mean(name, _DOMAINS)))) for name in odd]

    @property
    def domains(self) -> tuple[str, ...]:
        """Its domains by our names; where one is unknown, also those of what its environment sells.

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
        return [name.strip().lower() for name in re.split("[,，、]", self.domain)]


def label_of(label: Mapping[str, str] | JsonObject) -> str:
    """Return the label of a shop or product that is not a target; empty for others."""
    types = (str(value) for name, value in label.items() if name.endswith("_type"))
    return next((word for word in types if word != _TARGET and ("distract" in word or word == "irrelevant")), "")


def tables_of(environment: Environment) -> dict[str, list[JsonObject]]:
    """Return the rows of each table that an environment begins with.

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
            offer = _dumped(Offer.model_validate(product))
            rows["products"].append({"id": f"{shop_id}/{at}", "kind": kind, "shop": shop_id, **offer})
    return rows


def _dumped(part: Part) -> dict[str, Json]:
    return part.model_dump(mode="json", exclude_unset=True, exclude_none=True, exclude={"products", "labels"})


def _order_row(order: Order, environment: Environment) -> JsonObject:
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


def _kept_row(kept: Kept, environment: Environment) -> JsonObject:
    row = _dumped(kept)
    ids = {"id": kept.id, "customer_id": kept.customer_id or environment.user_id}
    common = {"status": kept.status, "customer_count": kept.customer_count, "update_time": kept.update_time}
    own = {name: value for name, value in row.items() if name not in ("book_id", "reservation_id")}
    return {**common, **own, **ids}
