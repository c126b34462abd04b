"""Made-up tasks in the layout of VitaBench, and playing them: an invented town with two kinds of labels that no agent may see."""

import copy
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_mapsat.judges.context import JudgedDialogue
from pytest_mapsat.judges.labels import labels_of
from pytest_mapsat.model import Case, JsonObject, Label, Step, Trajectory, Turn
from pytest_mapsat.sandbox import make_sandbox
from pytest_mapsat.suite import Suite, open_suite

HOME = {"address": "Flat 2, 7 Quay Road, Larkton", "longitude": 10.0, "latitude": 50.0}
WORK = {"address": "Mill Office, 1 Mill Rise, Larkton", "longitude": 10.01, "latitude": 50.01}
NOW = "2025-06-21 11:20:00"


def place(address: str, longitude: float = 10.0, latitude: float = 50.0) -> JsonObject:
    return {"address": address, "longitude": longitude, "latitude": latitude}


def order(order_id: str, kind: str, shop: str, *products: JsonObject, **more: Any) -> JsonObject:
    return {
        "order_id": order_id,
        "order_type": kind,
        "user_id": "U1",
        "store_id": shop,
        "status": "paid",
        "products": list(products),
        **more,
    }


def task(
    task_id: str, domain: str, environment: JsonObject, *required: JsonObject, words: str = "Order it.", **more: Any
) -> JsonObject:
    state = {"required_orders": list(required), "optional_orders": [], "state_rubrics": ["The right thing is ordered."]}
    return {
        "id": task_id,
        "domain": domain,
        "environment": {
            "time": NOW,
            "user_id": "U1",
            "orders": {},
            "weather": [
                {
                    "city": "Larkton City",
                    "category": "rainy",
                    "datetime": "2025-06-21",
                    "temperature": [17, 25],
                    "humidity": 84,
                }
            ],
            "location": [HOME, WORK],
            "user_historical_behaviors": {"usual drink": "oat latte"},
            **environment,
        },
        "user_scenario": {"user_profile": {"occupation": "doctor"}},
        "instructions": words,
        "message_history": [],
        "evaluation_criteria": {
            "expected_states": [state],
            "overall_rubrics": ["The right thing is ordered.", "It is paid."],
        },
        **more,
    }


def product(product_id: str, **more: Any) -> JsonObject:
    return {
        "product_id": product_id,
        "price": 5,
        "tags": [],
        "product_type": "distraction",
        "distraction_reason": "SECRET-LABEL",
        **more,
    }


STORES = {
    "S1": {
        "store_id": "S1", "name": "Copper Kettle", "score": 4.5, "location": place("5 Quay Road, Larkton", 10.001), "tags": ["tea room"], "store_type": "target",
        "products": [product("P1", name="Oat latte", store_id="S1", store_name="Copper Kettle", attributes=["Hot", "Iced"]), product("P2", name="Scone", store_id="S1", store_name="Copper Kettle", price="2.50")],
    },
    "S2": {
        "store_id": "S2", "name": "Gull Bakery", "score": 4, "location": place("9 Harbour Street, Larkton", 10.02), "tags": [], "target_reason": "SECRET-LABEL",
        "products": [product("P3", name="Bun", store_id="S2", store_name="Gull Bakery")],
    },
}  # fmt: skip
SHOPS = {
    "I1": {
        "shop_id": "I1", "shop_name": "Harbour Pool", "score": 4.7, "location": place("1 Pool Lane, Larkton"), "tags": ["swimming"], "category": "sports",
        "enable_book": False, "book_price": 0, "enable_reservation": True, "shop_type": "target",
        "products": [product("V1", name="Day ticket", shop_id="I1", quantity=15, product_type="target"), product("V2", name="Sauna", shop_id="I1", quantity=0)],
    },
    "I2": {
        "shop_id": "I2", "shop_name": "Pier Grill", "score": 4.1, "location": place("2 Pier, Larkton"), "tags": ["grill"], "category": "food",
        "enable_book": True, "book_price": 20, "enable_reservation": False, "shop_type": "distraction",
        "products": [product("V3", name="Grill for two", shop_id="I2", quantity=3)],
    },
}  # fmt: skip
LINE = {
    "departure_city": "Larkton",
    "arrival_city": "Wexham",
    "departure_time": "09:00",
    "arrival_time": "10:00",
    "tags": [],
}
STAYS = {
    "hotels": {
        "H1": {
            "hotel_id": "H1", "hotel_name": "Tide Inn", "score": 4.3, "star_rating": 3, "location": place("4 Beach, Wexham", 11), "tags": ["wifi"], "hotel_type": "target", "distraction_reason": "",
            "products": [product("R1", date="2025-07-01", quantity=4, room_type="double"), product("R2", date="2025-07-02", quantity=2, room_type="double")],
        }
    },
    "attractions": {
        "A1": {
            "attraction_id": "A1", "attraction_name": "Lighthouse", "location": place("Cape, Wexham", 11), "description": "a tower", "score": 4, "opening_hours": "9-17", "ticket_price": 5, "attraction_type": "target",
            "products": [product("T1", date="2025-07-02", quantity=9, ticket_type="adult"), product("T2", date="2025-07-02", quantity=9, ticket_type="child")],
        }
    },
    "flights": {"F1": {"flight_id": "F1", "flight_number": "LX1", **LINE, "flight_type": "target", "products": [product("E1", date="2025-07-01", quantity=4, seat_type="economy")]}},
    "trains": {
        "T1": {
            "train_id": "T1", "train_number": "G1", **LINE, "departure_station_location": place("Larkton Station"), "arrival_station_location": place("Wexham Station", 11), "train_type": "target",
            "products": [product("Z1", date="2025-07-01", quantity=4, seat_type="second"), product("Z2", date="2025-07-02", quantity=4, seat_type="second", price=8)],
        }
    },
    "taxis": {"C1": {"taxi_id": "C1", "taxi_type": "target", "platform": "Cab", "departure_location": HOME, "arrival_location": WORK, "estimated_duration": "9 min", "estimated_price": 12, "tags": [], "products": [product("X1", taxi_type="distraction", platform="Cab", quantity=3)]}},
}  # fmt: skip

LATTE = {"product_id": "P1", "price": 5, "quantity": 2, "attributes": "Hot"}
TIMED = {"location": HOME, "dispatch_time": "2025-06-21 12:00:00 "}
#: Tasks whose required orders can all be placed.
TASKS = {
    "deliver": task("D-1", "delivery", {"stores": STORES}, order("T1", "delivery", "S1", LATTE, {"product_id": "P2", "quantity": 1}, **TIMED, note="No sugar"), order("T2", "delivery", "S2", {"product_id": "P3", "quantity": 3}, location=WORK, dispatch_time="", status="unpaid")),
    "again": task(
        "D-2", "delivery",
        {"stores": STORES, "orders": {"O1": order("O1", "delivery", "S1", LATTE, location=HOME, status="processed"), "O2": order("O2", "delivery", "S2", {"product_id": "P3", "quantity": 1}, location=HOME), "O3": order("O3", "delivery", "S2", {"product_id": "P3", "quantity": 2}, location=HOME, status="unpaid")}},
        order("O1", "delivery", "S1", LATTE, location=HOME, status="cancelled"), order("O2", "delivery", "S2", {"product_id": "P3", "quantity": 1}, location=HOME, note="Ring twice"), order("O3", "delivery", "S1", {"product_id": "P2", "quantity": 1}, location=HOME),
    ),
    "visit": task("I-1", "in-store consumption", {"shops": SHOPS}, order("T1", "instore", "I1", {"product_id": "V1", "quantity": 2}, {"product_id": "V2", "quantity": 1}), {"reservation_id": "R", "shop_id": "I1", "reservation_time": "2025-06-22 9:00", "customer_count": 2, "status": "unconsumed"}, {"book_id": "B", "shop_id": "I2", "book_time": "2025-06-22 19:00:00", "customer_count": 4, "status": "paid"}),
    "travel": task(
        "O-1", "ota,delivery",
        {**STAYS, "stores": STORES, "orders": {"OT": order("OT", "train", "T1", {"product_id": "Z1", "price": 5, "quantity": 2, "date": "2025-07-01", "seat_type": "second"})}},
        order("OT", "train", "T1", {"product_id": "Z2", "price": 8, "quantity": 2, "date": "2025-07-02", "seat_type": "second"}), order("T1", "hotel", "H1", {"product_id": "R1", "quantity": 2, "date": "2025-07-01"}, {"product_id": "R2", "quantity": 1, "date": "2025-07-02"}), order("T2", "attraction", "A1", {"product_id": "T1", "quantity": 2, "date": "2025-07-02"}, {"product_id": "T2", "quantity": 1, "date": "2025-07-02"}), order("T3", "flight", "F1", {"product_id": "E1", "quantity": 1, "date": "2025-07-01"}), order("T4", "delivery", "S2", {"product_id": "P3", "quantity": 1}, location=HOME),
    ),
}  # fmt: skip


def varied(name: str, **required: Any) -> JsonObject:
    """Return a task whose first required order has other values."""
    changed = copy.deepcopy(TASKS[name])
    changed["evaluation_criteria"]["expected_states"][0]["required_orders"][0].update(required)
    return changed


def write(path: Path, tasks: Iterable[JsonObject]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(tasks), ensure_ascii=False, indent=1), encoding="utf-8")
    return path


class Played:
    """An imported suite, whose cases are played with any calls and judged by the checks."""

    def __init__(self, root: Path) -> None:
        self.suite: Suite = open_suite(root)
        loaded = [self.suite.load(entry) for path in self.suite.files() for entry in self.suite.entries(path)]
        self.cases: dict[str, Case] = {case.id: case for case in loaded}

    def oracle(self, case_id: str) -> list[JsonObject]:
        return [call.to_json() for turn in self.cases[case_id].truth.oracle for call in turn.calls]

    def play(self, case_id: str, calls: Sequence[JsonObject]) -> list[Step]:
        """Play calls, whose ``made`` is the call of the list that made what they are about: ids follow from the order of calls."""
        sandbox = make_sandbox(self.cases[case_id], self.suite)
        made: dict[int, str] = {}
        steps = []
        for call in calls:
            arguments = dict(call["arguments"])
            if "made" in call and id(call["made"]) in made:
                arguments[next(name for name in arguments if name in IDS)] = made[id(call["made"])]
            answer = sandbox.call(call["tool"], arguments)
            steps.append(
                Step(
                    kind="call",
                    tool=call["tool"],
                    arguments=arguments,
                    result=answer.result,
                    status=answer.status,
                    changed=answer.changed,
                )
            )
            made[id(call)] = next(
                (answer.result[name] for name in IDS if isinstance(answer.result, dict) and name in answer.result), ""
            )
        return steps

    def linked(self, case_id: str) -> list[JsonObject]:
        """Return the oracle's calls, each that pays something linked with the call that made it."""
        calls, made = self.oracle(case_id), {}
        for call, step in zip(calls, self.play(case_id, calls), strict=True):
            assert step.status == "ok", (case_id, step)
            about = next(
                (made[value] for value in call["arguments"].values() if isinstance(value, str) and value in made), None
            )
            if about is not None:
                call["made"] = about
            for name in IDS:
                if isinstance(step.result, dict) and name in step.result and call["tool"].startswith(MAKING):
                    made[step.result[name]] = call
        return calls

    def altered(self, case_id: str) -> Iterator[tuple[str, list[JsonObject]]]:
        """Give calls that each go wrong in one way, with the way."""
        calls = self.linked(case_id)
        rows = {patch.table: patch.add for patch in self.cases[case_id].world.rows}
        for at, call in enumerate(calls):
            without = [other for other in calls if other is not call and other.get("made") is not call]
            if not call["tool"].startswith("modify_delivery"):
                yield f"{call['tool']} is missing", without
            if call["tool"].startswith(MAKING):
                arguments = copy.deepcopy(call["arguments"])
                yield "an order too many", [*calls, {"tool": call["tool"], "arguments": arguments}]
                for way, others in _other_arguments(arguments, rows):
                    other = {"tool": call["tool"], "arguments": {**arguments, **others}}
                    later = [{**paid, "made": other} if paid.get("made") is call else paid for paid in calls[at + 1 :]]
                    yield way, [*calls[:at], other, *later]

    def orders(self, case_id: str, calls: Sequence[JsonObject]) -> Label:
        """Return the label of the orders after some calls."""
        case = self.cases[case_id]
        turns = (
            Turn(role="user", text="Hello."),
            Turn(role="agent", text="Done.", steps=tuple(self.play(case_id, calls))),
        )
        trajectory = Trajectory(case=case_id, turns=turns)
        context = JudgedDialogue.of(case, trajectory, self.suite.tools, suite=self.suite)
        return next(label for label in labels_of(case, context) if label.requirement == "orders")


#: Where results and arguments have the id of an order, a booking, a reservation; what tools that make one begin with.
IDS = ("order_id", "book_id", "reservation_id", "id")
MAKING = ("create_", "instore_book", "instore_reservation")


def _other_arguments(arguments: JsonObject, rows: dict[str, Any]) -> Iterator[tuple[str, JsonObject]]:
    """Give what makes a call one for another thing: another product, shop, count, address, time, number of people."""
    shop_name, shop = next(
        (name, arguments[name]) for name in arguments if name.endswith("_id") and name not in ("user_id", "product_id")
    )
    offers = [row for row in rows["products"] if row["shop"] == shop]
    kind = next(row["kind"] for row in rows["shops"] if row["id"] == shop)
    product_name = next((name for name in ("product_id", "ticket_id", "seat_id", "room_id") if name in arguments), "")
    if "product_ids" in arguments:
        given, counts = arguments["product_ids"], arguments["product_cnts"]
        for offer in [offer for offer in offers if offer["product_id"] not in given][:1]:
            yield "another product", {"product_ids": [offer["product_id"], *given[1:]]}
        yield "another count", {"product_cnts": [counts[0] + 1, *counts[1:]]}
        places = [row for row in rows["places"] if row["address"] != arguments["address"]]
        for place in places[:1] if len(places) < len(rows["places"]) else ():
            yield "another address", {"address": place["address"]}
    for offer in [
        offer
        for offer in offers
        if product_name and offer["product_id"] != arguments[product_name] and offer.get("quantity", 1)
    ][:1]:
        yield (
            "another product",
            {product_name: offer["product_id"]} | ({"date": offer["date"]} if "date" in arguments else {}),
        )
    if "quantity" in arguments:
        yield "another count", {"quantity": arguments["quantity"] + 1}
    if "customer_count" in arguments:
        yield "another number of people", {"customer_count": arguments["customer_count"] + 1}
        yield "another time", {"time": "2030-01-01 09:00:00"}
    for other in [row for row in rows["products"] if row["kind"] == kind and row["shop"] != shop][:1]:
        if "product_ids" in arguments:
            yield "another shop", {shop_name: other["shop"], "product_ids": [other["product_id"]], "product_cnts": [1]}
        elif product_name:
            yield (
                "another shop",
                {shop_name: other["shop"], product_name: other["product_id"]}
                | ({"date": other["date"]} if "date" in arguments else {}),
            )
