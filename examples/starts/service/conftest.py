import os
from pathlib import Path

import pytest

from pytest_mapsat import SqlEnvironment
from pytest_mapsat.starter import hotel


@pytest.fixture(scope="session")
def mapsat_agent(tmp_path_factory):
    # The desk of a hotel stands in for your service. In place of the `with` line start yours, on a database for tests,
    # and name both below: SERVICE="http://127.0.0.1:8000", DATABASE="postgresql+psycopg://app@127.0.0.1/app_test".
    with hotel.running(tmp_path_factory.mktemp("hotel")) as (service, database):
        os.environ.update(SERVICE=service, DATABASE=database)
        yield f"http:{Path(__file__).with_name('service.yaml')}"


@pytest.fixture(scope="session")
def mapsat_environment(mapsat_agent):
    # The tables that your cases look at. Where no database is within reach, HttpEnvironment asks endpoints for tests.
    return SqlEnvironment(os.environ["DATABASE"], tables=["bookings"], reset="restore")
