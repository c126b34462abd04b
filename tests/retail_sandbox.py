"""A shop as a sandbox in Python: users, products and orders of the borrowed retail tasks, and the writes that their policy allows."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from pytest_mapsat.sandbox import Refused

MANIFEST = """\
name: retail
version: "1"
license: MIT
schema_version: 1
domains: {retail: looking after orders}
sandbox: {policy: retail}
"""
KEYS = {"users": "user_id", "products": "product_id", "orders": "order_id"}
WRITES = {
    "cancel_pending_order": ["order_id", "reason"],
    "modify_pending_order_address": ["order_id", "address1", "address2", "city", "state", "country", "zip"],
    "modify_pending_order_payment": ["order_id", "payment_method_id"],
    "modify_pending_order_items": ["order_id", "item_ids", "new_item_ids", "payment_method_id"],
    "return_delivered_order_items": ["order_id", "item_ids", "payment_method_id"],
    "exchange_delivered_order_items": ["order_id", "item_ids", "new_item_ids", "payment_method_id"],
    "modify_user_address": ["user_id", "address1", "address2", "city", "state", "country", "zip"],
}
READS = {
    "find_user_id_by_email": ["email"],
    "find_user_id_by_name_zip": ["first_name", "last_name", "zip"],
    "get_user_details": ["user_id"],
    "get_order_details": ["order_id"],
    "get_product_details": ["product_id"],
    "get_item_details": ["item_id"],
    "list_all_product_types": [],
    "calculate": ["expression"],
    "transfer_to_human_agents": ["summary"],
}
LISTS = ("item_ids", "new_item_ids")


def tool(name: str, parameters: list[str], effect: str) -> dict:
    sorts = {
        one: {"type": "array", "items": {"type": "string"}} if one in LISTS else {"type": "string"}
        for one in parameters
    }
    schema = {"type": "object", "properties": sorts, "required": [one for one in parameters if one != "address2"]}
    return {"name": name, "description": name.replace("_", " "), "effect": effect, "parameters": schema}


def write_retail(root: Path, database: Path) -> Path:
    """Write the suite of the shop into a folder, without cases, and return it."""
    tables: dict[str, list[dict]] = {name: [] for name in KEYS}
    with gzip.open(database, "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            tables[entry["table"]].append(entry["row"])
    tools = [tool(name, names, "write") for name, names in WRITES.items()]
    tools += [tool(name, names, "read") for name, names in READS.items()]
    (root / "state").mkdir(parents=True)
    (root / "suite.yaml").write_text(MANIFEST)
    (root / "tools.yaml").write_text(json.dumps(tools))
    for name, rows in tables.items():
        (root / "state" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return root


class Retail:
    """The shop. What the policy does not allow is refused."""

    def __init__(self, state):
        self.users, self.products, self.orders = (state.table(name, key=key) for name, key in KEYS.items())

    # -- reading ---------------------------------------------------------------------------------------------------------

    def find_user_id_by_email(self, email):
        found = [user_id for user_id, user in self.users.items() if user["email"].lower() == email.lower()]
        return found[0] if found else self._none("user")

    def find_user_id_by_name_zip(self, first_name, last_name, zip):  # noqa: A002  the tool's own name
        wanted = (first_name.lower(), last_name.lower(), zip)
        for user_id, user in self.users.items():
            name = user["name"]
            if (name["first_name"].lower(), name["last_name"].lower(), user["address"]["zip"]) == wanted:
                return user_id
        return self._none("user")

    def get_user_details(self, user_id):
        return self._row(self.users, user_id, "user")

    def get_order_details(self, order_id):
        return self._row(self.orders, order_id, "order")

    def get_product_details(self, product_id):
        return self._row(self.products, product_id, "product")

    def get_item_details(self, item_id):
        return self._variant(item_id)[1]

    def list_all_product_types(self):
        return {row["name"]: product_id for product_id, row in sorted(self.products.items())}

    def calculate(self, expression):
        return {"expression": expression}

    def transfer_to_human_agents(self, summary):
        return "Transfer successful"

    # -- writing ---------------------------------------------------------------------------------------------------------

    def cancel_pending_order(self, order_id, reason):
        order = self._order(order_id, "pending")
        if reason not in ("no longer needed", "ordered by mistake"):
            raise Refused("invalid reason")
        history = list(order["payment_history"])
        for payment in order["payment_history"]:
            history.append(self._entry("refund", payment["amount"], payment["payment_method_id"]))
            self._credit(order["user_id"], payment["payment_method_id"], payment["amount"])
        return self.orders.change(order_id, status="cancelled", cancel_reason=reason, payment_history=history)

    def modify_pending_order_address(self, order_id, **address):
        self._order(order_id, "pending", also="pending (item modified)")
        return self.orders.change(order_id, address=address)

    def modify_user_address(self, user_id, **address):
        self._row(self.users, user_id, "user")
        return self.users.change(user_id, address=address)

    def modify_pending_order_payment(self, order_id, payment_method_id):
        order = self._order(order_id, "pending")
        history = list(order["payment_history"])
        if len(history) != 1 or history[0]["payment_method_id"] == payment_method_id:
            raise Refused("there must be one payment, by another method")
        amount, old = history[0]["amount"], history[0]["payment_method_id"]
        self._pay(order["user_id"], payment_method_id, amount)
        self._credit(order["user_id"], old, amount)
        history += [self._entry("payment", amount, payment_method_id), self._entry("refund", amount, old)]
        return self.orders.change(order_id, payment_history=history)

    def modify_pending_order_items(self, order_id, item_ids, new_item_ids, payment_method_id):
        order = self._order(order_id, "pending")
        items, difference = self._exchanged(order, item_ids, new_item_ids)
        self._pay(order["user_id"], payment_method_id, difference)
        kind = "payment" if difference > 0 else "refund"
        history = [*order["payment_history"], self._entry(kind, abs(difference), payment_method_id)]
        return self.orders.change(order_id, status="pending (item modified)", items=items, payment_history=history)

    def return_delivered_order_items(self, order_id, item_ids, payment_method_id):
        order = self._order(order_id, "delivered")
        user = self._row(self.users, order["user_id"], "user")
        if payment_method_id not in user["payment_methods"]:
            raise Refused("payment method not found")
        if (
            payment_method_id != order["payment_history"][0]["payment_method_id"]
            and "gift_card" not in payment_method_id
        ):
            raise Refused("a refund goes to the original payment method or a gift card")
        self._held(order, item_ids)
        items = sorted(item_ids)
        return self.orders.change(
            order_id, status="return requested", return_items=items, return_payment_method_id=payment_method_id
        )

    def exchange_delivered_order_items(self, order_id, item_ids, new_item_ids, payment_method_id):
        order = self._order(order_id, "delivered")
        _, difference = self._exchanged(order, item_ids, new_item_ids)
        self._method(order["user_id"], payment_method_id, max(difference, 0))
        return self.orders.change(
            order_id,
            status="exchange requested",
            exchange_items=sorted(item_ids),
            exchange_new_items=sorted(new_item_ids),
            exchange_payment_method_id=payment_method_id,
            exchange_price_difference=difference,
        )

    # -- what they share -------------------------------------------------------------------------------------------------

    def _none(self, what):
        raise Refused(f"{what} not found")

    def _row(self, rows, row_id, what):
        return rows[row_id] if row_id in rows else self._none(what)

    def _order(self, order_id, status, also=""):
        order = self._row(self.orders, order_id, "order")
        if order["status"] not in (status, also):
            raise Refused(f"the order is not {status}")
        return order

    def _variant(self, item_id):
        for product_id, product in self.products.items():
            if item_id in product["variants"]:
                return product_id, product["variants"][item_id]
        return self._none("item")

    def _held(self, order, item_ids):
        held = [item["item_id"] for item in order["items"]]
        if any(item_ids.count(one) > held.count(one) for one in item_ids):
            raise Refused("the order does not have these items")

    def _exchanged(self, order, item_ids, new_item_ids):
        """Return the items with new ones in place of old ones, and by how much they cost more."""
        self._held(order, item_ids)
        if len(item_ids) != len(new_item_ids):
            raise Refused("as many new items as old ones")
        items, difference = [dict(item) for item in order["items"]], 0.0
        for old, new in zip(item_ids, new_item_ids, strict=True):
            item = next(one for one in items if one["item_id"] == old)
            product_id, variant = self._variant(new)
            if product_id != item["product_id"] or not variant["available"]:
                raise Refused("a new item is an available one of the same product")
            difference += variant["price"] - item["price"]
            item.update(item_id=new, price=variant["price"], options=variant["options"])
        return items, round(difference, 2)

    def _entry(self, kind, amount, method):
        return {"transaction_type": kind, "amount": amount, "payment_method_id": method}

    def _method(self, user_id, method, amount):
        methods = self._row(self.users, user_id, "user")["payment_methods"]
        if method not in methods:
            raise Refused("payment method not found")
        if methods[method]["source"] == "gift_card" and methods[method]["balance"] < amount:
            raise Refused("the gift card has too little balance")
        return methods

    def _pay(self, user_id, method, amount):
        self._method(user_id, method, amount)
        self._credit(user_id, method, -amount)

    def _credit(self, user_id, method, amount):
        methods = {name: dict(one) for name, one in self.users[user_id]["payment_methods"].items()}
        if methods.get(method, {}).get("source") == "gift_card":
            methods[method]["balance"] = round(methods[method]["balance"] + amount, 2)
            self.users.change(user_id, payment_methods=methods)
