"""An interpreter that has imported pytest and this package already: it is forked where a test asks for a process.

A run of pytest in a process of its own takes two seconds of imports and a tenth of a second of work. ``warm_python`` starts one process that has
done the imports, and gives a command that behaves as ``python`` does: ``-m module`` and ``-c code`` are played by a fork of that process, with the
caller's arguments, folder, environment and files; whatever else is asked for is given to the real interpreter.
"""

import gc
import marshal
import os
import selectors
import shlex
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import warm_client


@contextmanager
def warm_python(folder: Path) -> Iterator[str]:
    """Yield the command; where no process can be forked, that is the real interpreter.

    Args:
        folder: where the socket and the command are put; empty.
    """
    if not hasattr(os, "pidfd_open"):
        yield sys.executable
        return
    place, command = folder / "socket", folder / "python"
    client = shlex.join([sys.executable, "-I", "-S", warm_client.__file__, str(place)])
    command.write_text(f'#!/bin/sh\nexec {client} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    server = [sys.executable, __file__, str(place), str(command)]
    with subprocess.Popen(server, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield str(command)
        process.stdin.close()


# -- the server ----------------------------------------------------------------------------


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise SystemExit("the warm interpreter is gone")
        data += more
    return data


class _Server:
    """Forks for everybody who asks at a socket, until standard input ends."""

    def __init__(self, place: str) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(place)
        self.listener.listen(64)
        self.events = selectors.DefaultSelector()
        self.events.register(self.listener, selectors.EVENT_READ, self.accept)
        self.events.register(0, selectors.EVENT_READ, self.stop)
        self.running: dict[int, socket.socket] = {}

    def serve(self) -> None:
        while True:
            for key, _ in self.events.select():
                key.data()

    def accept(self) -> None:
        connection, _ = self.listener.accept()
        head, files, _, _ = socket.recv_fds(connection, 4, 3)
        asked = marshal.loads(_read(connection, *struct.unpack("!I", head)))
        pid = os.fork()
        if pid == 0:
            for own in (self.events, self.listener, connection, *self.running.values()):
                own.close()
            _play(files, *asked)
        for file in files:
            os.close(file)
        connection.sendall(struct.pack("!i", pid))
        self.running[pid] = connection
        watch = os.pidfd_open(pid)
        self.events.register(watch, selectors.EVENT_READ, lambda: self.end(pid, watch))
        self.events.register(connection, selectors.EVENT_READ, lambda: self.abandon(pid))

    def abandon(self, pid: int) -> None:
        """Whoever asked is gone: so is what was asked for."""
        self.events.unregister(self.running[pid])
        os.kill(pid, signal.SIGKILL)

    def end(self, pid: int, watch: int) -> None:
        _, status = os.waitpid(pid, 0)
        self.events.unregister(watch)
        os.close(watch)
        with self.running.pop(pid) as connection, suppress(OSError, KeyError):
            self.events.unregister(connection)
            connection.sendall(struct.pack("!i", os.waitstatus_to_exitcode(status)))

    def stop(self) -> None:
        for pid in self.running:
            os.kill(pid, signal.SIGKILL)
        os._exit(0)


def _import_all() -> None:
    import contextlib
    import io
    from importlib import import_module
    from pkgutil import walk_packages

    import pytest
    from installed_packages import remember_installed

    remember_installed()
    # Plugins come in as they do in every run, and what is made when it is first used is made by a run.
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--markers", "-p", "no:cacheprovider"])
    import tiny_suite

    tiny_suite.write_suite(Path("project/benchmark_cases"))
    Path("project/good.py").write_text(tiny_suite.GOOD, encoding="utf-8")
    path = [*sys.path]
    with contextlib.chdir("project"), contextlib.redirect_stdout(io.StringIO()) as told:
        status = pytest.main(["--mapsat-agent=good:agent", "-p", "no:cacheprovider"])
    assert status == 0, told.getvalue()
    sys.path[:] = path
    del sys.modules["good"]
    import pytest_mapsat

    for module in walk_packages(pytest_mapsat.__path__, "pytest_mapsat."):
        if not module.name.endswith("__main__") and ".starter" not in module.name:
            import_module(module.name)
    others = ("_pytest.pytester", "execnet.gateway_base", "xdist.dsession", "xdist.remote", "xdist.scheduler")
    for name in ("numpy", "rapidfuzz", "rich.console", "rich.table", "yaml", *others):
        import_module(name)
    with suppress(ImportError):
        import_module("hypothesis.internal.observability")


def _play(files: list[int], words: list[str], folder: str, environment: dict[str, str]) -> None:
    """Be the interpreter that was asked for; never return."""
    import atexit
    import importlib
    import random
    import threading
    import traceback

    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", errors=errors, buffering=1, closefd=False)  # noqa: SIM115
        for number, mode, errors in ((0, "r", "strict"), (1, "w", "strict"), (2, "w", "backslashreplace"))
    )
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    kind, what, *rest = words
    more = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:1] = [folder if kind == "-m" else "", *more]
    sys.argv = [kind, *rest]
    importlib.invalidate_caches()
    random.seed()
    status = 0
    try:
        _run(kind, what)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if status == 1 and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)  # noqa: T201
    except KeyboardInterrupt:
        traceback.print_exc()
        status = -signal.SIGINT
    except BaseException:  # noqa: BLE001  as the interpreter does
        traceback.print_exc()
        status = 1
    with suppress(BaseException):
        threading._shutdown()
        atexit._run_exitfuncs()
    for file in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            file.flush()
    if status == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status & 0xFF)


def _run(kind: str, what: str) -> None:
    import runpy
    import types

    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(what, main.__dict__)


if __name__ == "__main__":
    _import_all()
    sys.executable = sys.argv[2]
    gc.collect()
    gc.freeze()
    server = _Server(sys.argv[1])
    os.write(1, b"ready\n")
    server.serve()
