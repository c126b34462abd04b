"""The orders of Alderwick. Its offers come from the tables."""

from __future__ import annotations

from typing import Any

import pytest_mapsat as mapsat


class Town:
    """The tools that write.

    Args:
        state: the tables.
    """

    def __init__(self, state: Any) -> None:
        self._offers = state["offers"]
        self._orders = state["orders"]

    def place_order(self, user: str, offer: str) -> Any:
        """Place an order, and return it. Refused where the user has one of that kind already."""
        row = self._offers[offer]
        if any(order["user"] == user and order["kind"] == row["kind"] for order in self._orders.values()):
            raise mapsat.Refused(f"{user} has ordered that already", kind=row["kind"])
        number = f"o{len(self._orders) + 1}"
        order = {"id": number, "user": user, "kind": row["kind"], "offer": offer, "price": row["price"]}
        return self._orders.add(order)


def pytest_mapsat_sandbox(config: Any, case: Any, suite: Any) -> type[Town] | None:  # noqa: ARG001  # as the hook gives it
    """Give the cases of this suite their town."""
    return Town if suite.manifest.name == "errands-example" else None
