"""Agents for tests of isolation; each is played in a process of its own, and some in the test's own process as well."""

import asyncio
import atexit
import contextlib
import ctypes
import fcntl
import gc
import inspect
import json
import os
import re
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

import pytest_mapsat as mapsat
from pytest_mapsat.agents import Reply

# -- good ones: the same here and there


def talks(message, tools, context, session):
    session.state["asked"] = session.state.get("asked", 0) + 1
    session.think(f"asked {session.state['asked']} times")
    found = tools.find(query="cafe")["places"]
    if session.state["asked"] == 1:
        return "What time do you leave?"
    place = context.location
    said = [one["role"] for one in session.messages]
    return f"{found} {session.id} {said} {place.lon} {context['now']} {context.history} {len(tools.schemas())} {dir(tools)} {tools!r}"


class Keeps:
    def __init__(self, tools):
        self.seen = []
        self.tools = tools

    def reply(self, message):
        self.seen.append(message)
        return "What time?" if len(self.seen) == 1 else f"{len(self.seen)}: {self.tools.find(query='cafe')}"


def makes():
    heard = []

    def agent(message, tools):
        heard.append(message)
        return f"What time? {len(heard)}"

    return agent


def asks_a_model(message):
    import httpx

    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"query": "cafe"}'}}
    asked = {"role": "assistant", "reasoning_content": "Look.", "tool_calls": [call]}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    answers = httpx.MockTransport(lambda _: httpx.Response(200, json={"choices": [{"message": asked}], "usage": usage}))
    with httpx.Client(transport=answers) as client:
        result = {"role": "tool", "tool_call_id": "c1", "content": "Own"}
        for messages in ([], [asked, result]):
            client.post("http://models.invalid/v1/chat/completions", json={"model": "m", "messages": messages})
    return "What time?"


def cannot_connect(message, tools):
    tools.find(query="cafe")
    try:
        raise ConnectionRefusedError(111, "Connection refused")
    except OSError as error:
        raise RuntimeError("the model gave no answer") from error


def is_unavailable(message):
    raise mapsat.Unavailable("the index is being built")


async def waits(message, tools):
    await asyncio.sleep(0)
    return f"{tools.find(query='cafe')}"


def structured(message):
    return Reply(
        "Blue Door",
        ["a thought", "第二"],
        {"input_tokens": 3, "cost": 0.1},
        {"proposes": ["x"], "own": [1.5, None, {"é": True}]},
    )


def clumsy(message, tools):
    kept = [
        tools.call("nothing", {}),
        tools.call("find", ["x"]),
        tools.find(query=object()),
        tools.find(wrong=1),
        tools.find(query=float("nan")),
    ]
    with contextlib.suppress(TypeError):
        tools.find("by position")
    return json.dumps(kept)


def raises(message):
    raise ValueError(f"boom at {object()} in {__file__}")


def returns_nothing(message):
    return None


def floods(message):
    return "x" * 3_000_000


def calls_twice(message, tools):
    return str([tools.find(query="cafe") for _ in range(2)][1])


def calls_for_ever(message, tools):
    while True:
        tools.find(query="cafe")


def large_arguments(message, tools):
    return str(tools.find(query="y" * 1_500_000))


def leaves(message):
    raise SystemExit(0)


def interrupts(message):
    raise KeyboardInterrupt


def odd_surrogate(message):
    return "half \ud800 of it"


# -- bad ones: their own failure, and no one else's


def ends_at_once(message):
    print("last words")
    os._exit(0)


def crashes(message):
    ctypes.string_at(0)


def kills_its_group(message):
    os.killpg(0, signal.SIGTERM)


def kills_its_guard(message):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


def kills_its_keeper(message):
    status = Path(f"/proc/{os.getppid()}/status").read_text()
    os.kill(int(re.search(r"PPid:\s*(\d+)", status)[1]), signal.SIGKILL)
    return "Here."


def holds_the_interpreter(message):
    re.match(r"(a+)+$", "a" * 40 + "b")


def eats_memory(message):
    return str(len(bytearray(10**10)))


_HOARD = []


def hoards(message):
    while True:
        _HOARD.append({})


async def hoards_in_a_loop(message):
    while True:
        _HOARD.append(str(len(_HOARD)))


def hoards_and_replies(message):
    with contextlib.suppress(MemoryError):
        hoards(message)
    return "I have it all"


def claims_much(message):
    return Reply("Blue Bay", output={"x": [{}] * 8_000_000})


def closes_everything(message):
    os.closerange(0, 256)
    time.sleep(60)


def leaves_a_child(message):
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    return f"child {pid}"


def leaves_a_daemon(message):
    reads, writes = os.pipe()
    if os.fork() == 0:
        os.setsid()
        pid = os.fork()
        if pid == 0:
            time.sleep(60)
        else:
            os.write(writes, str(pid).encode())
        os._exit(0)
    return f"child {os.read(reads, 20).decode()}"


def never_ends(message):
    threading.Thread(target=time.sleep, args=(60,)).start()
    return f"child {os.getpid()}"


# -- ones that speak past us, on the line itself


def _line(mode=os.O_WRONLY):
    """Return the end of the pipe to pytest, or of that from it."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            is_pipe = os.readlink(f"/proc/self/fd/{name}").startswith("pipe:")
            if is_pipe and int(name) > 2 and fcntl.fcntl(int(name), fcntl.F_GETFL) & os.O_ACCMODE == mode:
                return int(name)
    raise AssertionError("no line")


def _write(raw):
    line = _line()
    while raw:
        raw = raw[os.write(line, raw) :]


def _say(*messages):
    for message in messages:
        _write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
    time.sleep(60)


GARBAGE = {
    "more than is taken": [b"x" * 33_000_000],
    "no JSON": [b"hello"],
    "no UTF-8": [b"\xff\xfe"],
    "half a message": [b'{"type": "reply", "te'],
    "a number that is none": [b'{"type": "reply", "text": NaN}'],
    "a long number": [b'{"type": "reply", "usage": 1' + b"0" * 5000 + b', "text": "x"}'],
    "lists in lists": [b'{"type": "reply", "text": "x", "output": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"],
    "a key twice": [b'{"type": "reply", "type": "reply", "text": "x"}'],
    "a list": [[1, 2]],
    "a message of no type": [{"type": "truth"}],
    "a message with more in it": [{"type": "reply", "text": "x", "case": "?"}],
    "what is said before": [{"type": "ready"}],
    "more values than pytest has room for": [
        b'{"type": "reply", "text": "x", "output": [' + b"{}," * 2_000_000 + b"{}]}"
    ],
    "no text": [{"type": "reply", "text": ["x"]}],
    "nothing": [{"type": "reply"}],
    "usage that is none": [{"type": "reply", "text": "x", "usage": {"cost": -1}}],
    "output that is none": [{"type": "reply", "text": "x", "output": 3}],
    "a name that is none": [{"type": "call", "name": 3}],
}


def _garbage(what):
    return lambda message: _say(*GARBAGE[what])


for _number, _what in enumerate(GARBAGE):
    globals()[f"garbage_{_number}"] = _garbage(_what)


def answers_twice(message):
    _write((json.dumps({"type": "reply", "text": "What time? I say it myself"}) + "\n").encode() * 2)
    return "What time? I am asked"


def _makes_up_calls(times):
    text = json.dumps({"type": "call", "name": "find", "arguments": {"query": ["deep"] * 3}}) + "\n"
    for _ in range(times):
        _write(text.encode())


def makes_up_calls(message, tools):
    _makes_up_calls(300)
    return "Here."


def never_listens(message, tools):
    _makes_up_calls(1_000_000)


def calls_after_its_reply(message, tools):
    def late():
        with contextlib.suppress(RuntimeError):
            tools.find(query="too late")

    if message == "Find a cafe":
        threading.Timer(0.3, late).start()
        return "What time?"
    return "Here."


# -- ones that look around


def prints(message, session):
    print("to stdout", len(session.messages))
    print("to stderr", file=sys.stderr)
    os.write(1, b"from C\n")
    os.system("echo from a program")
    return "Here."


def prints_for_ever(message):
    for _ in range(40):
        print("z" * 100_000)
    return "Here."


ROUND = 0


def leaves_traces(message, session):
    global ROUND
    ROUND += 1
    os.environ["TRACE"] = os.environ.get("TRACE", "") + "x"
    Path("trace.txt").write_text("x")
    sys.modules["trace_of"] = sys
    return json.dumps(
        [ROUND, os.environ["TRACE"], os.listdir("."), sorted(os.environ), os.getcwd(), os.environ["HOME"], sys.argv]
    )


def says_goodbye(message, tools):
    def goodbye():
        try:
            tools.find(query="cafe")
        except RuntimeError as error:
            Path(os.environ["GOODBYE"]).write_text(f"{type(error).__name__}: {error}")

    atexit.register(goodbye)
    return "Here."


#: What the tests' own process knows and an agent's must not, in a form that does not find itself.
#: The variable of pytest counts with its value: its name alone is in our own code.
SOUGHT = re.compile(
    "case-se[c]ret|se[c]ret-(?:intent|persona|asked|hard|fact|param|answer|oracle|recording)|se[c]ret_tool|xy[l]ophone|case-id-of-i[t]s-own|ze[b]ra_suite|PYTEST_CURRENT_T[E]ST(?:=|'[:,])"
)
#: Classes of which an agent's process has no object.
HIDDEN = (
    "Truth",
    "Case",
    "Recording",
    "Requirement",
    "ScriptedAnswer",
    "RecordedSandbox",
    "Sandbox",
    "Suite",
    "Config",
    "Session",
)


def _links(folder):
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            yield os.readlink(f"{folder}/{name}")


def _objects():
    seen, left = set(), [*gc.get_objects(), *sys._current_frames().values(), *sys.modules.values()]
    while left:
        thing = left.pop()
        if id(thing) not in seen:
            seen.add(id(thing))
            yield thing
            left += gc.get_referents(thing)


def _memory():
    """Yield the process's own writable memory, whatever Python knows of it."""
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps.readlines():
            place, rights, *_ = line.split()
            begin, end = (int(part, 16) for part in place.split("-"))
            if rights.startswith("rw") and end - begin < 1 << 28:
                with contextlib.suppress(OSError, ValueError, OverflowError):
                    memory.seek(begin)
                    yield memory.read(end - begin).decode("latin-1")


def _peek():
    line = _line(os.O_RDONLY)
    os.set_blocking(line, False)
    try:
        return os.read(line, 1 << 20)
    finally:
        os.set_blocking(line, True)


#: What a try gives that has found something without any words.
FOUND = object()


def _found(signs):
    return FOUND if any(signs) else None


def _read(path):
    with open(path, "rb") as file:
        return file.read(1 << 20).decode("latin-1")


def _tries(message, tools, context, session):
    """Return what is tried, by name: each gives texts, or whatever can be written as one."""
    parent = f"/proc/{os.getppid()}"
    failed = None
    try:
        tools.find("by position")
    except TypeError as error:
        failed = error
    tries = {f"sys.{name}": lambda name=name: getattr(sys, name) for name in dir(sys)}
    tries |= {
        f"/proc/self/{name}": lambda name=name: _read(f"/proc/self/{name}")
        for name in ("cmdline", "environ", "maps", "stat", "status", "mountinfo", "limits", "comm")
    }
    tries |= {
        f"parent's {name}": lambda name=name: _read(f"{parent}/{name}")
        for name in ("cmdline", "environ", "maps", "status", "comm")
    }
    tries |= {f"tools.{name}": lambda name=name: getattr(tools, name) for name in dir(type(tools))}
    tries |= {f"session.{name}": lambda name=name: getattr(session, name) for name in dir(session)}
    tries |= {f"error.{name}": lambda name=name: getattr(failed, name) for name in dir(failed)}
    return tries | {
        "what is handed": lambda: [message, tools.schemas(), dict(context), vars(session), session.messages],
        "what a miss says": lambda: [
            tools.find(query="zzz"),
            tools.find(),
            tools.call("nothing", {}),
            tools.call("", {}),
        ],
        "what a function holds": lambda: [cell.cell_contents for cell in tools.find.__closure__],
        "frames of an error": lambda: [frame.f_locals for frame, _ in traceback.walk_tb(failed.__traceback__)],
        "frames above": lambda: [frame.frame.f_locals for frame in inspect.stack()],
        "descriptors": lambda: list(_links("/proc/self/fd")),
        "parent's descriptors": lambda: list(_links(f"{parent}/fd")),
        "arguments": lambda: [sys.argv, sys.orig_argv],
        "environment": lambda: [dict(os.environ), os.environb],
        "folder": lambda: [os.getcwd(), os.listdir("."), os.listdir(".."), os.readlink("/proc/self/cwd")],
        "threads": lambda: [vars(thread) for thread in threading.enumerate()],
        "main module": lambda: vars(sys.modules["__main__"]),
        "bytes on the line": _peek,
        "standard input": lambda: os.read(0, 100),
        "texts of objects": lambda: [thing for thing in _objects() if isinstance(thing, str | bytes | bytearray)],
        "own memory": lambda: list(_memory()),
        "hidden objects": lambda: _found(
            type(thing).__name__ in HIDDEN for thing in gc.get_objects() if thing is not session
        ),
        "modules of pytest": lambda: _found(
            name in sys.modules for name in ("pytest", "pytest_mapsat.suite", "pytest_mapsat.runs", "episodes")
        ),
    }


def searches(message, tools, context, session):
    """Return how many ways to the truth were tried, and which of them led there."""
    tries, found = _tries(message, tools, context, session), []
    for name, attempt in tries.items():
        try:
            told = attempt()
        except Exception as error:
            told = repr(error)
        texts = told if isinstance(told, list) else [told]
        found += [
            name for text in texts if text is FOUND or SOUGHT.search(text if isinstance(text, str) else repr(text))
        ]
    return json.dumps([len(tries), sorted(set(found))])
