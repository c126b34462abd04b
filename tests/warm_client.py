"""The command of a warm interpreter: it has the server of ``warm_python`` play a command line on its own files, and ends as that ends.

It is started hundreds of times, so it imports only what loads in no time: not ``socket`` or ``json``, which take longer than Python's own start.
"""

import _signal as signal
import _socket as socket
import marshal
import os
import sys

#: What of the interpreter's own variables a fork can follow; with others it is started anew.
_FOLLOWED = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


def ask(place: str, arguments: list[str]) -> None:
    """Let the server play a command line on our files, and end as it ends."""
    words = [argument for argument in arguments if argument != "-u"]
    other = {name for name in os.environ if name.startswith("PYTHON")} - _FOLLOWED
    if not words or words[0][:2] not in {"-m", "-c"} or other:
        os.execv(sys.executable, [sys.executable, *arguments])
    if len(words[0]) > 2:
        words[:1] = [words[0][:2], words[0][2:]]
    server = socket.socket(socket.AF_UNIX)
    server.connect(place)
    asked = marshal.dumps([words, os.getcwd(), dict(os.environ)])  # noqa: PTH109  without pathlib
    files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    server.sendmsg([len(asked).to_bytes(4)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
    server.sendall(asked)
    pid = _number(server)
    for forwarded in _FORWARDED:
        signal.signal(forwarded, lambda number, _: os.kill(pid, number))
    status = _number(server)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if -status != signal.SIGKILL else None
        os.kill(os.getpid(), -status)
    os._exit(status)


def _number(server: socket.socket) -> int:
    data = b""
    while len(data) < 4:
        more = server.recv(4 - len(data))
        if not more:
            raise SystemExit("the warm interpreter is gone")
        data += more
    return int.from_bytes(data, signed=True)


if __name__ == "__main__":
    ask(sys.argv[1], sys.argv[2:])
