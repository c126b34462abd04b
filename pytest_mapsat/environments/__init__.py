"""Environments that episodes change in place of our sandbox: a database, a service with endpoints for tests, or an object of the user's own.

An environment has ``start(case, session)``, which resets it and returns the world of one episode; a world has ``tables()`` and ``close()``, and ``calls()`` where it
knows the calls of the agent. The way of an episode:

    start -> tables -> dialogue -> tables, until two are equal -> what differs, row by row, by the keys of the tables -> ``EnvironmentEnd`` in the trajectory

From there on ``sandbox/end.py`` makes of it the same ``End`` as of a sandbox, so that every check, report and regrade goes by it. The rows of the start are kept once a
run. What is not known is never taken for unchanged: rows that were not read, writes after the end was read, two runs on one database. Values are kept as
``sandbox/state.py`` says. Without a reset nothing is ever written.
"""

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from .world import Environment as Environment
from .world import Environments as Environments
from .world import place_name as place_name

if TYPE_CHECKING:
    from .http import HttpEnvironment as HttpEnvironment
    from .sql import SqlEnvironment as SqlEnvironment
else:
    __getattr__ = fetched(__name__, {"http": ("HttpEnvironment",), "sql": ("SqlEnvironment",)})
