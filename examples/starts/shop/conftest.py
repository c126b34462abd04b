"""What the benchmark needs of Python: the sandbox that the tools of the cases act in, and a check of your own."""

import pytest_mapsat as mapsat


class Shop:
    """A method for each tool. Every case starts from benchmark_cases/state; what a tool changes is kept, row by row."""

    def __init__(self, state):
        self.orders = state["orders"]

    def list_orders(self, user):
        return {"orders": [order for order in self.orders.values() if order["user"] == user]}

    def cancel_order(self, order_id):
        order = self.orders.get(order_id)
        if order is None or order["status"] != "open":
            raise mapsat.Refused("only an open order can be cancelled", order_id=order_id)
        return self.orders.change(order_id, status="cancelled")


def pytest_mapsat_sandbox(config, case, suite):
    return Shop if suite.manifest.name == "shop" else None


@mapsat.check
def total_is_that_of_the_orders(episode):
    orders = episode.state["orders"]
    assert episode.output["total"] == sum(orders[number]["price"] for number in episode.output["orders"])
