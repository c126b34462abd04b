"""A cluster of dask as the executor of episodes. distributed, an extra, is imported here and when it is asked for only."""

from __future__ import annotations

import logging
from asyncio import gather, run, timeout
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from math import inf
from time import perf_counter
from typing import Any
from uuid import uuid4

from pytest_mapsat.model import InfrastructureError, UsageError

#: How long a scheduler may take to answer, and a cluster to have its first worker, seconds.
_PATIENCE = 5.0
#: How long a cluster may be without any worker while somebody waits for it, seconds.
_DESERTED = 30.0
_PACKAGE = "pytest-mapsat"
#: How often a call is begun at most. A scheduler has rules of its own, one for all who use it.
_PLAYS = 2


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
    nobody = f"{option}: no scheduler answers there within {_PATIENCE:g} s"
    try:
        kind = _answered(nobody, lambda: run(_kind_of(address)))
    except ValueError:
        raise UsageError(f"{option}: that is no address of a scheduler, such as tcp://host:8786") from None
    if kind != "Scheduler":
        raise UsageError(f"{option}: a {kind.lower()} answers there: name the address of the scheduler")
    client: Any = _answered(nobody, lambda: connect(address, timeout=_PATIENCE, set_as_default=False))
    try:
        _answered(f"{option}: its cluster has no worker", lambda: client.wait_for_workers(1, timeout=_PATIENCE))
        _refuse_other_versions(client, option)
    except UsageError:
        client.close(timeout=_PATIENCE)
        raise
    return Cluster(_AgainOnce(client), sum(client.nthreads().values()), client)


class _AgainOnce(Executor):
    """Runs functions on the workers of a cluster; one whose worker is lost runs again on another, once.

    dask itself would have it run as often as the scheduler is set to. So whoever begins a call raises a flag at the scheduler, which outlives the
    workers. The futures of dask's own executor are of no use: they fail where a worker is lost whose answer is on the way.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        flags = [f"mapsat-{uuid4().hex}-{play}" for play in range(1, _PLAYS + 1)]
        theirs = self._client.submit(_begun, flags, function, *arguments, pure=False, **named)
        ours: Future[Any] = Future()
        ours.add_done_callback(lambda future: theirs.cancel() if future.cancelled() else None)
        self._client.loop.add_callback(self._hand_over, theirs, ours, flags)
        return ours

    async def _hand_over(self, theirs: Any, ours: Future[Any], flags: Sequence[str]) -> None:
        """Wait for an answer, and pass it on."""
        from distributed import KilledWorker  # noqa: PLC0415  an extra

        answer: Any
        (answer,) = await gather(self._client.gather([theirs], asynchronous=True), return_exceptions=True)
        if isinstance(answer, KilledWorker):
            # dask counts all calls that a worker has taken, whichever of them it died of.
            answer = InfrastructureError(
                "the episode was given up elsewhere: more workers died, with it or beside it, than the scheduler allows (allowed-failures)"
            )
        if ours.set_running_or_notify_cancel():
            if isinstance(answer, BaseException):
                ours.set_exception(answer)
            else:
                ours.set_result(answer[0])
        with suppress(Exception):  # the connection has gone
            for flag in flags:
                await self._client.scheduler.event_clear(name=flag)


def _begun(flags: Sequence[str], function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """On a worker: run a function, unless it has been begun as often as there are flags."""
    from distributed import Event, get_client  # noqa: PLC0415  an extra

    client: Any = get_client()
    for flag in flags:
        event: Any = Event(flag, client)  # type: ignore[no-untyped-call]
        if not event.is_set():
            event.set()
            return function(*arguments, **named)
    raise InfrastructureError(
        "the episode was played elsewhere, and lost twice with its worker: it is not played a third time"
    )


async def _kind_of(address: str) -> str:
    """Return what answers at an address. A client of dask would wait for good for a server of another kind, and leave an address that is none late."""
    from distributed import Security, rpc  # noqa: PLC0415  an extra

    ask: Any = rpc
    secured = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
    async with timeout(_PATIENCE), ask(address, timeout=_PATIENCE, connection_args=secured) as other:
        told = await other.identity()
    return str(told["type"])


def _answered(said: str, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except ValueError:
        raise
    except Exception as error:  # noqa: BLE001  OSError, TimeoutError and others, by what answers or does not
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
