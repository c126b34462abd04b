"""A cluster of dask as the executor of episodes. distributed, an extra, is imported here and when it is asked for only."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from importlib.metadata import version
from math import inf
from time import perf_counter
from typing import Any

from pytest_mapsat.model import UsageError

#: How long a scheduler may take to answer, and a cluster to have its first worker, seconds.
_PATIENCE = 5.0
#: How long a cluster may be without any worker while somebody waits for it, seconds.
_DESERTED = 30.0
_PACKAGE = "pytest-mapsat"


@dataclass
class Cluster:
    """A connection to a scheduler.

    Attributes:
        executor: runs functions on its workers.
        threads: how many the workers have in all.
    """

    executor: Executor
    threads: int
    _client: Any
    _seen: float = inf
    _looked: float = -inf

    def gone(self) -> str:
        """Return why no worker can answer any more, in words that follow "and"; empty as long as one may."""
        if self._client.status == "closed":
            return "its scheduler is gone"
        now = perf_counter()
        if now - self._looked > _PATIENCE:
            self._looked = now
            if self._client.status != "running" or self._client.nthreads() or self._seen == inf:
                self._seen = now
        return "its cluster has no worker any more" if self._looked - self._seen > _DESERTED else ""

    def close(self) -> None:
        """Let go of what is still to be run, and of the connection."""
        self._client.close(timeout=_PATIENCE)


def open_cluster(address: str) -> Cluster:
    """Return the connection to a scheduler, all of whose workers have this version of pytest-mapsat.

    Args:
        address: as dask writes it, ``tcp://HOST:PORT`` or ``HOST:PORT``.

    Raises:
        UsageError: the extra is not installed, nobody answers there, there is no worker, or one has another version.
    """
    option = f"--mapsat-executor=dask:{address}"
    try:
        from distributed import Client  # noqa: PLC0415  0.6 s, an extra
    except ImportError as error:
        raise UsageError(
            f"{option}: there is no module {error.name!r}: install pytest-mapsat[dask], on the workers too"
        ) from None
    connect: Any = Client
    logging.getLogger("distributed").setLevel(
        logging.CRITICAL
    )  # what goes wrong is told by us, in the episode that it befalls
    client: Any = _answered(
        f"{option}: no scheduler answers there within {_PATIENCE:g} s",
        lambda: connect(address, timeout=_PATIENCE, set_as_default=False),
    )
    try:
        _answered(f"{option}: its cluster has no worker", lambda: client.wait_for_workers(1, timeout=_PATIENCE))
        _refuse_other_versions(client, option)
    except UsageError:
        client.close(timeout=_PATIENCE)
        raise
    return Cluster(client.get_executor(pure=False), sum(client.nthreads().values()), client)


def _answered(said: str, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception as error:  # noqa: BLE001  OSError, ValueError and others, by what is wrong with an address
        raise UsageError(
            f"{said} ({type(error).__name__}); start one with: dask scheduler, and dask worker ADDRESS"
        ) from None


def _refuse_other_versions(client: Any, option: str) -> None:
    mine = version(_PACKAGE)
    # A function of the standard library, which every worker can find.
    for worker, found in sorted(client.run(version, _PACKAGE, on_error="return").items()):
        if isinstance(found, Exception):
            raise UsageError(f"{option}: the worker {worker} has no {_PACKAGE}; this is {mine}: install it there")
        if found != mine:
            raise UsageError(f"{option}: the worker {worker} has {_PACKAGE} {found}, this is {mine}: install the same")
