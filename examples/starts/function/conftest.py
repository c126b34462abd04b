import pytest


def agent(message, session):
    # Stands in for your agent: in place of this function import yours, from your_package import answer as agent.
    # It is given the message, and what else it names: session, context, tools.
    if session.state.get("asked"):
        return "Booking BK-1 is cancelled."
    session.state["asked"] = True
    return "Shall I cancel booking BK-1?"


@pytest.fixture(scope="session")
def mapsat_agent():
    return agent
