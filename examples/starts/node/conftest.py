import pytest


class Hotel:
    """A method for each tool: in a test it answers in place of the agent's own function, which never runs."""

    def __init__(self, state):
        self.bookings = state["bookings"]

    def cancel_booking(self, booking_id):
        return self.bookings.change(booking_id, status="cancelled")


def pytest_mapsat_sandbox(case, suite):
    return Hotel if suite.manifest.name == "hotel" else None


@pytest.fixture(scope="session")
def mapsat_agent():
    # A scripted agent in place of yours, in my_agent.mjs, which mapsat.mjs plays:
    # put yours there, and describe its tools in tools.yaml and above.
    return "cmd:node my_agent.mjs"
