"""Episodes that other processes play, on this machine or on a dask cluster: what travels there and back is text.

A case goes with the recordings, the tables and the tools that its sandbox is made from, and with what of its truth the user that is played
needs; the trajectory comes back, and is judged here.
"""

from __future__ import annotations

import json
import logging
import os
import zlib
from asyncio import run, timeout
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from threading import Event, Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from pytest_mapsat import __version__
from pytest_mapsat.agents import Source, resolve_source, scrubbed, session_id
from pytest_mapsat.agents.memory import open_memory
from pytest_mapsat.episode import without_sandbox
from pytest_mapsat.interpreter import waiting
from pytest_mapsat.llm import open_door
from pytest_mapsat.model import (
    Case,
    Interaction,
    MapsatError,
    Recording,
    RunRequest,
    SuiteManifest,
    Tool,
    Trajectory,
    Truth,
    UsageError,
)
from pytest_mapsat.registry import exchange
from pytest_mapsat.sandbox import SandboxHook, SandboxSuite, Table, installed_sandboxes, sandbox_hook
from pytest_mapsat.secrets import name_secrets
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, load_file

from .memories import Memories
from .request import asks_models
from .runner import Runner

if TYPE_CHECKING:
    from pytest_mapsat.llm import Mode
    from pytest_mapsat.suite import History, Suite


#: How often somebody who waits looks whether an answer can still come, seconds.
_GLANCE = 1.0
#: What an episode may need besides its own time, to be sent, to wait for a free process and to come back, seconds.
_ON_THE_WAY = 60.0


@dataclass
class Elsewhere:
    """Lets other processes play episodes, and returns their trajectories.

    Args:
        submit: has another process call a function, and returns the future; as of ``concurrent.futures.Executor`` and ``distributed.Client``.
        request: what the run was asked for.
        root: the folder that modules are looked for in first, where the other process has it too.
        cache: what kept answers of models are used for.
        rounds: how many episodes may stand before one in the queue.
        conftests: the files with sandboxes of the suites, which the other process has too; the first that has one for a case makes it.
    """

    submit: Callable[..., Any]
    request: RunRequest
    root: Path
    cache: Mode = "auto"
    rounds: int = 1
    conftests: Sequence[str] = ()
    _stopped: Event = field(default_factory=Event)
    _suites: dict[int, bytes] = field(default_factory=dict)

    def play(
        self, case: Case, suite: SandboxSuite, source: Source, histories: Sequence[History] = (), *, trial: int
    ) -> Trajectory:
        """Return the trajectory of one episode; any failure on the way is described by its ending and fault."""
        if id(suite) not in self._suites:
            tables = {name: list(table.rows) for name, table in suite.tables.items()}
            tools = [tool.to_json() for tool in suite.tools.values()]
            self._suites[id(suite)] = _packed({"manifest": suite.manifest.to_json(), "tools": tools, "tables": tables})
        try:
            asked = _packed(self._asked(case, suite, trial, histories))
            outcome = json.loads(self._answer(self._suites[id(suite)], asked))
        except MapsatError as error:
            return without_sandbox(case, source, str(error), trial=trial)
        except Exception as error:  # noqa: BLE001  whatever an executor raises when a process is lost
            outcome = f"the executor lost it: {type(error).__name__}: {scrubbed(str(error))}"
            return without_sandbox(case, source, f"the episode was played elsewhere, and {outcome}", trial=trial)
        if "refused" in outcome:
            return without_sandbox(case, source, scrubbed(outcome["refused"]), trial=trial)
        return Trajectory.model_validate(outcome["trajectory"])

    def stop(self) -> None:
        """Stop waiting for answers."""
        self._stopped.set()

    def _asked(self, case: Case, suite: SandboxSuite, trial: int, histories: Sequence[History]) -> dict[str, Any]:
        """Return the message for the other process: the case, its recordings and how to play it."""
        options = self.request.options.model_copy(update={"profile": False})  # which the case is in already
        return {
            "version": __version__,
            "root": str(self.root),
            "request": self.request.model_copy(update={"judge": "checks", "options": options}).to_json(),
            "cache": self.cache,
            "conftests": list(self.conftests),
            "trial": trial,
            "session": session_id(case, trial),
            "case": _without_truth(case, self.request).to_json(),
            "recordings": [recording.to_json() for recording in suite.recordings(case.id)],
            "histories": [[interaction.to_json() for interaction in history] for history in histories],
        }

    def _answer(self, suite: bytes, asked: bytes) -> str:
        """Send an episode to another process and return its answer. Raises MapsatError after the run's end or a timeout."""
        future = self.submit(play_elsewhere, suite, asked)
        until = perf_counter() + (self.request.options.timeout_seconds + _ON_THE_WAY) * (self.rounds + 1)
        while True:
            with waiting(), suppress(Exception):  # an error that is the answer's own is raised below
                future.result(timeout=_GLANCE)
            if future.done():
                return str(future.result())
            ended = self._stopped.is_set()
            if ended or perf_counter() > until:
                future.cancel()
                why = "the run ended before the episode did" if ended else "no answer came in the time of the episode"
                raise MapsatError(f"the episode was played elsewhere, and {why}")


def _without_truth(case: Case, request: RunRequest) -> Case:
    """Return the case without interactions, and with only the part of the truth that the user or oracle needs (all for a model user)."""
    case = case.model_copy(update={"visible": case.visible.model_copy(update={"interactions": ()})})
    if request.user not in ("scripted", "silent"):
        return case
    oracle = case.truth.oracle if request.agent == "baseline:oracle" else ()
    output = case.truth.output if oracle else {}
    preferences = case.truth.preferences if request.options.agent_memory == "truth" else ()
    truth = Truth(user=case.truth.user, oracle=oracle, output=output, preferences=preferences)
    return case.model_copy(update={"truth": truth})


def _packed(data: Mapping[str, Any]) -> bytes:
    """Return data as compressed JSON."""
    return zlib.compress(json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass"), 1)


def _unpacked(packed: bytes) -> dict[str, Any]:
    """Return the data in compressed JSON."""
    data: dict[str, Any] = json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))
    return data


# -- in the other process ------------------------------------------------------------------


@dataclass(frozen=True)
class _Suite:
    """The parts of a suite that this process received, sufficient to create the sandbox of one case."""

    manifest: SuiteManifest
    tools: Mapping[str, Tool]
    tables: Mapping[str, Table]
    own: Sequence[Recording] = ()
    sandboxes: Sequence[SandboxHook] | None = None
    histories: Sequence[History] = ()

    @property
    def root(self) -> Path:
        """A path that identifies the suite: its name, since its real location is unknown in this process."""
        return Path(self.manifest.name)

    def histories_before(self, case: Case) -> Sequence[History]:
        """Return the histories received with the case."""
        del case
        return self.histories

    def recordings(self, case_id: str) -> tuple[Recording, ...]:
        """Return the recordings received with the case."""
        return tuple(recording for recording in self.own if recording.case == case_id)


def play_elsewhere(suite: bytes, asked: bytes) -> str:
    """Play an episode for another process, and return the result as JSON.

    Args:
        suite: what all episodes of a suite need, packed.
        asked: the case, and how it is to be played, packed.

    Returns:
        JSON: the trajectory, or why there is none.
    """
    wanted = _unpacked(asked)
    if wanted["version"] != __version__:
        refused = f"a process of the executor has pytest-mapsat {__version__}, the run has {wanted['version']}: install the same"
        return json.dumps({"refused": refused})
    try:
        return json.dumps({"trajectory": _played(_suite_of(suite), wanted).to_json()})
    except MapsatError as error:
        return json.dumps({"refused": f"in a process of the executor: {error}"})


def _played(common: _Suite, wanted: Mapping[str, Any]) -> Trajectory:
    """Return the trajectory of an episode requested by another process. Raises MapsatError if it cannot be played."""
    name_secrets(common.manifest.redact)
    suite = replace(
        common,
        own=tuple(map(Recording.model_validate, wanted["recordings"])),
        sandboxes=_sandboxes(tuple(wanted["conftests"])),
        histories=[tuple(map(Interaction.model_validate, history)) for history in wanted["histories"]],
    )
    root = wanted["root"] if Path(wanted["root"]).is_dir() else os.getcwd()  # noqa: PTH109  a text
    runner, case = _runner(json.dumps(wanted["request"]), root, wanted["cache"]), Case.model_validate(wanted["case"])
    return runner.play(cast("Suite", suite), case, trial=wanted["trial"], identity=wanted["session"]).trajectory


@lru_cache(maxsize=4)
def _runner(request: str, root: str, cache: Mode) -> Runner:
    """Return the runner for a request, cached with its connections for the next episodes."""
    asked = RunRequest.model_validate_json(request)
    client = open_door(cache) if asks_models(asked) else None
    source = resolve_source(asked.agent, root=Path(root), client=client, http_form=asked.options.http)
    memory = open_memory(asked.options.agent_memory, root=Path(root), client=client)
    return Runner(source, asked, Path(root), {}, client=client, memories=None if memory is None else Memories(memory))


@lru_cache(maxsize=4)
def _suite_of(packed: bytes) -> _Suite:
    """Return the suite in packed data, cached for the next episodes."""
    data = _unpacked(packed)
    tools = map(Tool.model_validate, data["tools"])
    tables = {name: Table(name, tuple(rows)) for name, rows in data["tables"].items()}
    return _Suite(SuiteManifest.model_validate(data["manifest"]), {tool.name: tool for tool in tools}, tables)


def _sandboxes(conftests: tuple[str, ...]) -> tuple[SandboxHook, ...]:
    """Return the sandbox hooks of installed packages and of some conftests, which are reloaded after changes."""
    with _loading:
        hooks = [_hook(path, Path(path).stat().st_mtime_ns if Path(path).is_file() else 0) for path in conftests]
    return (*installed_sandboxes(), *hooks)


_loading = Lock()


@lru_cache(maxsize=16)
def _hook(path: str, changed: int) -> SandboxHook:
    """Return the sandbox hook in a file; ``changed``: its modification time, so that a changed file is loaded again."""
    del changed  # a file that has changed is another one
    checks = exchange({})  # those of the file are for the process that judges
    try:
        return sandbox_hook(call_user_code(load_file, path))
    except UserCodeError as broken:
        raise MapsatError(f"{path} cannot be loaded: {describe_error(broken.error)}") from None
    finally:
        exchange(checks)


# -- a cluster of dask ---------------------------------------------------------------------

#: How long a scheduler may take to answer, and a cluster to have its first worker, seconds.
_PATIENCE = 5.0


def open_cluster(address: str) -> Any:
    """Return a client of the dask scheduler at an address, once it has a worker.

    Args:
        address: as dask writes it, ``tcp://HOST:PORT`` or ``HOST:PORT``.

    Raises:
        UsageError: the extra is not installed, or no scheduler with a worker answers there.
    """
    option = f"--mapsat-executor=dask:{address}"
    try:
        from distributed import Client  # noqa: PLC0415  0.6 s, an extra
    except ImportError as error:
        raise UsageError(
            f"{option}: there is no module {error.name!r}: install pytest-mapsat[dask], on the workers too"
        ) from None
    connect: Any = Client
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # each episode tells what went wrong with it
    missing = "no scheduler answers there"
    client: Any = None
    try:
        if (kind := run(_kind_of(address))) != "Scheduler":
            raise UsageError(f"{option}: a {kind.lower()} answers there: name the address of the scheduler")
        client = connect(address, timeout=_PATIENCE, set_as_default=False)
        missing = "its cluster has no worker"
        client.wait_for_workers(1, timeout=_PATIENCE)
    except ValueError:
        raise UsageError(f"{option}: that is not an address of a scheduler, such as tcp://host:8786") from None
    except (OSError, TimeoutError) as error:
        if client is not None:
            client.close(timeout=_PATIENCE)
        start = "start one with: dask scheduler, and dask worker ADDRESS"
        raise UsageError(f"{option}: {missing} within {_PATIENCE:g} s ({type(error).__name__}); {start}") from None
    return client


async def _kind_of(address: str) -> str:
    """Return the type of dask server at an address, since a client waits forever for a server that is not a scheduler."""
    from distributed import Security, rpc  # noqa: PLC0415  an extra

    ask: Any = rpc
    secured = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
    async with timeout(_PATIENCE), ask(address, timeout=_PATIENCE, connection_args=secured) as other:
        identity = await other.identity()
    return str(identity["type"])
