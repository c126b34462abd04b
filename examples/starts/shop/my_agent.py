"""An agent to begin with, made anew for each case. Put your own in its place, a model and all."""


class Agent:
    def __init__(self):
        self.asked_about = None

    def __call__(self, message, tools, context):
        """Return the reply to the user's message."""
        if self.asked_about is not None:
            return self.go_on(message, tools)
        result = tools.list_orders(user=context.uid)
        if "orders" not in result:  # a tool that fails answers with a status and a message
            return "I cannot see your orders right now."
        orders = [order for order in result["orders"] if order["status"] != "cancelled"]
        if "cancel" in message.lower():
            return self.cancel(orders)
        total = sum(order["price"] for order in orders)
        return {
            "text": f"Your orders come to {total:.2f} EUR.",
            "orders": [order["id"] for order in orders],
            "total": total,
        }

    def cancel(self, orders):
        """Ask before anything is cancelled. It takes every order, whatever was meant: see what the benchmark says."""
        late = [order for order in orders if order["status"] == "sent"]
        if late:
            return f"Your {late[0]['dish']} is on its way, it is too late to cancel it."
        self.asked_about = orders
        return f"Shall I cancel the {orders[0]['dish']} for {orders[0]['price']:.2f} EUR?"

    def go_on(self, message, tools):
        """Do what was asked about, if the user says yes."""
        if not message.lower().startswith("yes"):
            return "All right, nothing is cancelled."
        for order in self.asked_about:
            tools.cancel_order(order_id=order["id"])
        return f"The {self.asked_about[0]['dish']} is cancelled."
