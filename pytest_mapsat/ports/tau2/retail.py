"""The domain retail: users, products with their variants, and orders, under the policy of the shop."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from pytest_mapsat.model import Json, JsonObject
from pytest_mapsat.sandbox import Refused, Row

from .world import Calculating, fold, tool

OrderId = Annotated[str, Field(description="with the '#' in front, such as '#W0000000'")]
UserId = Annotated[str, Field(description="such as 'sara_doe_496'")]
ProductId = Annotated[str, Field(description="such as '6086499569'; no id of an item")]
ItemId = Annotated[str, Field(description="such as '1008292230'; no id of a product")]
ItemIds = Annotated[
    list[str], Field(description="each such as '1008292230'; an item that is there twice may be named twice")
]
NewItemIds = Annotated[list[str], Field(description="one for each of item_ids, in the same order, of the same product")]
MethodId = Annotated[str, Field(description="such as 'gift_card_0000000'; user and order have them")]
Line1 = Annotated[str, Field(description="such as '123 Main St'")]
Line2 = Annotated[str, Field(description="such as 'Apt 1', or ''")]
_PENDING, _MODIFIED = "pending", "pending (item modified)"


class RetailWorld(Calculating):
    """The shop's tools: they refuse what the policy forbids the system; the policy's rules for the agent are left to the agent."""

    keys = {"users": "user_id", "products": "product_id", "orders": "order_id"}  # noqa: RUF012

    # -- reading

    @tool()
    def find_user_id_by_email(self, email: Annotated[str, Field(description="such as 'something@example.com'")]) -> str:
        """Find the id of a user by e-mail address."""
        wanted = fold(email)
        return self._only(user_id for user_id, user in self.rows("users").items() if fold(user["email"]) == wanted)

    @tool()
    def find_user_id_by_name_zip(self, first_name: str, last_name: str, zip: str) -> str:  # noqa: A002  its published name
        """Find the id of a user by name and zip code, where the e-mail address does not."""
        wanted = fold(first_name), fold(last_name), zip
        return self._only(
            user_id
            for user_id, user in self.rows("users").items()
            if (fold(user["name"]["first_name"]), fold(user["name"]["last_name"]), user["address"]["zip"]) == wanted
        )

    @staticmethod
    def _only(user_ids: Iterator[str]) -> str:
        """Return the first of the user ids. Raises Refused where there is no user."""
        first = next(user_ids, None)
        if first is None:
            raise Refused("no such user")
        return first

    @tool()
    def get_user_details(self, user_id: UserId) -> JsonObject:
        """Show a user, with address, payment methods and the ids of orders."""
        return self.rows("users")[user_id]

    @tool()
    def get_order_details(self, order_id: OrderId) -> JsonObject:
        """Show an order: its items, status, address and payments."""
        return self.rows("orders")[order_id]

    @tool()
    def get_product_details(self, product_id: ProductId) -> JsonObject:
        """Show a product with its variants, their options, prices and whether they are available."""
        return self.rows("products")[product_id]

    @tool()
    def get_item_details(self, item_id: ItemId) -> JsonObject:
        """Show a variant of a product."""
        for product in self.rows("products").values():
            if item_id in product["variants"]:
                variant: JsonObject = product["variants"][item_id]
                return variant
        raise Refused("no such item", item_id=item_id)

    @tool()
    def list_all_product_types(self) -> str:
        """List the names of all products with their ids, as JSON."""
        return json.dumps({row["name"]: key for key, row in self.rows("products").items()}, sort_keys=True)

    # -- writing

    @tool(writes=True)
    def cancel_pending_order(
        self, order_id: OrderId, reason: Literal["no longer needed", "ordered by mistake"]
    ) -> JsonObject:
        """Cancel a pending order; what was paid goes back the way it came, to a gift card at once. The user agrees first."""
        order = self._order(order_id, _PENDING)
        paid: Sequence[JsonObject] = order["payment_history"]
        for payment in paid:
            self._pay(order["user_id"], payment["payment_method_id"], -payment["amount"])
        refunds = [_payment("refund", payment["amount"], payment["payment_method_id"]) for payment in paid]
        columns: JsonObject = {"cancel_reason": reason, "payment_history": [*paid, *refunds]}
        return self.rows("orders").change(order_id, status="cancelled", **columns)

    @tool(writes=True)
    def modify_pending_order_address(
        self,
        *,
        order_id: OrderId,
        address1: Line1,
        address2: Line2,
        city: str,
        state: str,
        country: str,
        zip: str,  # noqa: A002
    ) -> JsonObject:
        """Send a pending order elsewhere. The user agrees first."""
        self._order(order_id, _PENDING, _MODIFIED)
        lines = {"address1": address1, "address2": address2, "city": city, "state": state, "country": country}
        return self.rows("orders").change(order_id, address={**lines, "zip": zip})

    @tool(writes=True)
    def modify_user_address(
        self,
        *,
        user_id: UserId,
        address1: Line1,
        address2: Line2,
        city: str,
        state: str,
        country: str,
        zip: str,  # noqa: A002
    ) -> JsonObject:
        """Give a user another default address. The user agrees first."""
        lines = {"address1": address1, "address2": address2, "city": city, "state": state, "country": country}
        return self.rows("users").change(user_id, address={**lines, "zip": zip})

    @tool(writes=True)
    def modify_pending_order_payment(self, order_id: OrderId, payment_method_id: MethodId) -> JsonObject:
        """Pay a pending order by another method of the user. The user agrees first."""
        order = self._order(order_id, _PENDING, _MODIFIED)
        self._method(order["user_id"], payment_method_id)
        paid: Sequence[JsonObject] = order["payment_history"]
        if len(paid) != 1 or paid[0]["transaction_type"] != "payment":
            raise Refused("only an order with one single payment can be paid otherwise")
        amount, former = paid[0]["amount"], paid[0]["payment_method_id"]
        if former == payment_method_id:
            raise Refused("the order is paid by this method already")
        self._pay(order["user_id"], payment_method_id, amount)
        self._pay(order["user_id"], former, -amount)
        moved = [_payment("payment", amount, payment_method_id), _payment("refund", amount, former)]
        return self.rows("orders").change(order_id, payment_history=[*paid, *moved])

    @tool(writes=True)
    def modify_pending_order_items(
        self, order_id: OrderId, item_ids: ItemIds, new_item_ids: NewItemIds, payment_method_id: MethodId
    ) -> JsonObject:
        """Exchange items of a pending order for others of the same products; once only, and all at once. The user agrees first."""
        order = self._order(order_id, _PENDING)
        if any(old == new for old, new in zip(item_ids, new_item_ids, strict=False)):
            raise Refused("an item cannot be exchanged for itself")
        variants = self._variants(order, item_ids, new_item_ids)
        difference = _difference(order, item_ids, variants)
        self._pay(order["user_id"], payment_method_id, difference)
        items = [dict(item) for item in order["items"]]
        for old, new in zip(item_ids, new_item_ids, strict=True):
            item = next((item for item in items if item["item_id"] == old), None)
            if item is None:
                raise Refused("the order has no such item any more", item_id=old)
            # All take price and options of the last one: so does the published database, which ends are compared with.
            item.update(item_id=new, price=variants[-1]["price"], options=variants[-1]["options"])
        payment = _payment("payment" if difference > 0 else "refund", abs(difference), payment_method_id)
        history = [*order["payment_history"], payment]
        return self.rows("orders").change(order_id, status=_MODIFIED, items=items, payment_history=history)

    @tool(writes=True)
    def return_delivered_order_items(
        self, order_id: OrderId, item_ids: ItemIds, payment_method_id: MethodId
    ) -> JsonObject:
        """Take back items of a delivered order; the refund goes the way of the payment or to a gift card. The user agrees first."""
        order = self._order(order_id, "delivered")
        method = self._method(order["user_id"], payment_method_id)
        if method["source"] != "gift_card" and payment_method_id != order["payment_history"][0]["payment_method_id"]:
            raise Refused("the refund goes to the method of the payment, or to a gift card")
        _check_items(order, item_ids)
        return self.rows("orders").change(
            order_id,
            status="return requested",
            return_items=sorted(item_ids),
            return_payment_method_id=payment_method_id,
        )

    @tool(writes=True)
    def exchange_delivered_order_items(
        self, order_id: OrderId, item_ids: ItemIds, new_item_ids: NewItemIds, payment_method_id: MethodId
    ) -> JsonObject:
        """Exchange items of a delivered order for others of the same products; once only, and all at once. The user agrees first."""
        order = self._order(order_id, "delivered")
        difference = round(_difference(order, item_ids, self._variants(order, item_ids, new_item_ids)), 2)
        self._check_balance(self._method(order["user_id"], payment_method_id), difference)
        return self.rows("orders").change(
            order_id,
            status="exchange requested",
            exchange_items=sorted(item_ids),
            exchange_new_items=sorted(new_item_ids),
            exchange_payment_method_id=payment_method_id,
            exchange_price_difference=difference,
        )

    # -- rules

    def _order(self, order_id: str, *statuses: str) -> Row:
        """Return an order. Raises Refused where it has another status than those given."""
        order = self.rows("orders")[order_id]
        if order["status"] not in statuses:
            raise Refused(f"the order is {order['status']}, not {statuses[0]}", order_id=order_id)
        return order

    def _method(self, user_id: str, method_id: str) -> JsonObject:
        """Return a payment method of a user. Raises Refused where the user does not have it."""
        methods: JsonObject = self.rows("users")[user_id]["payment_methods"]
        if method_id not in methods:
            raise Refused("the user has no such payment method", payment_method_id=method_id)
        method: JsonObject = methods[method_id]
        return method

    @staticmethod
    def _check_balance(method: JsonObject, amount: float) -> None:
        """Raise Refused where a payment method is a gift card with less than the amount."""
        if method["source"] == "gift_card" and method["balance"] < amount:
            raise Refused("the gift card does not cover the amount", balance=method["balance"])

    def _pay(self, user_id: str, method_id: str, amount: float) -> None:
        """Charge an amount to a payment method, or refund it where it is negative; only the balance of gift cards changes."""
        method = self._method(user_id, method_id)
        self._check_balance(method, amount)
        if method["source"] == "gift_card":
            methods = self.rows("users")[user_id]["payment_methods"]
            balance = round(method["balance"] - amount, 2)
            self.rows("users").change(user_id, payment_methods={**methods, method_id: {**method, "balance": balance}})

    def _variants(self, order: Row, item_ids: Sequence[str], new_item_ids: Sequence[str]) -> Sequence[JsonObject]:
        """Return the variants that replace items. Raises Refused where one is unavailable, or of another product than its item."""
        _check_items(order, item_ids)
        if len(item_ids) != len(new_item_ids):
            raise Refused("each item needs one that it is exchanged for")
        variants = []
        for item_id, new_id in zip(item_ids, new_item_ids, strict=True):
            variant = self.rows("products")[_item(order, item_id)["product_id"]]["variants"].get(new_id)
            if variant is None or not variant["available"]:
                raise Refused("no such item of this product is available", item_id=new_id)
            variants.append(variant)
        return variants


def _payment(kind: str, amount: Json, method_id: str) -> JsonObject:
    """Return a payment or refund as an order stores it."""
    return {"transaction_type": kind, "amount": amount, "payment_method_id": method_id}


def _item(order: Row, item_id: str) -> JsonObject:
    """Return the first item of an order with this id."""
    item: JsonObject = next(item for item in order["items"] if item["item_id"] == item_id)
    return item


def _check_items(order: Row, item_ids: Sequence[str]) -> None:
    """Raise Refused where an order does not have all of these items, as often as they are listed."""
    missing = Counter(item_ids) - Counter(item["item_id"] for item in order["items"])
    if missing:
        raise Refused("the order does not have these items", item_ids=sorted(missing))


def _difference(order: Row, item_ids: Sequence[str], variants: Sequence[JsonObject]) -> float:
    """Return how much more the new items cost than the old ones, in dollars."""
    difference: float = sum(
        variant["price"] - _item(order, item_id)["price"] for item_id, variant in zip(item_ids, variants, strict=True)
    )
    return difference
