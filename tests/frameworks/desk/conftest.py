"""The sandbox of the hotel, whose tools are those that the agents have."""

from people import Hotel


def pytest_mapsat_sandbox(config, case, suite):
    return Hotel if suite.manifest.name == "desk" else None
