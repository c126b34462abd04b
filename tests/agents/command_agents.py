"""Programs that are agents, each named by its first argument: what they do to their streams is what is tested."""

import json
import os
import signal
import subprocess
import sys
import time


def hear():
    """Return the next message to this program; end where there is none."""
    line = sys.stdin.readline()
    if not line:
        raise SystemExit
    return json.loads(line)


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def tell(end="\n", **message):
    say(json.dumps(message) + end)


def call(name, **arguments):
    tell(type="call", id=7, name=name, arguments=arguments)
    answer = hear()
    assert (answer["type"], answer["id"]) == ("result", 7)
    return answer["result"]


def finds(message):
    tell(type="reply", text=call("find", query="cafe")["places"][0] + ".")


def calls_twice(message):
    tell(type="reply", text=str([call("find", query="cafe") for _ in range(2)][1]))


def asks(message):
    asked = len(message["messages"]) > 1
    tell(type="reply", text=f"Noted: {message['message']}" if asked else "What time?")


def full(message):
    usage = {"input_tokens": 12, "output_tokens": 3, "cost": 0.5}
    tell(type="reply", text="Blue Door.", output={"proposes": ["Blue Door"]}, usage=usage, thoughts=["it is close"])


def data(message):
    tell(type="reply", output={"text": "It is 4.", "total": 4})


def misspells(message):
    tell(type="reply", text=json.dumps(call("fidn", query="cafe")))


def shows_all(message):
    names = ["MAPSAT_MCP_URL", "MAPSAT_MCP_TOKEN"]
    tell(
        type="reply",
        text=json.dumps(
            {
                "message": message,
                "argv": sys.argv,
                "environment": dict(os.environ),
                "mcp": [n in os.environ for n in names],
            }
        ),
    )


def pipelines(message):
    for number in range(3):
        tell(type="call", id=number, name="find", arguments={"query": "cafe"})
    tell(type="reply", text=str([hear()["id"] for _ in range(3)]))


def logs_much(message):
    for _ in range(1000):
        sys.stderr.write("x" * 1000 + "\n")
    tell(type="reply", text="Here.")


def ends_no_line(message):
    tell(end="", type="reply", text="Here.")
    time.sleep(60)


def is_down(message):
    tell(type="unavailable", reason="the search service does not answer")


def dies(message):
    sys.stderr.write("loading\nTypeError: x is not a function, key " + os.environ.get("SERVICE_KEY", "") + "\n")
    sys.exit(3)


def dies_in_node(message):
    stack = "".join(f"    at step{number} (file:///agent.mjs:{number}:3)\n" for number in range(12))
    cause = "  [cause]: TypeError: x is undefined\n}\n"
    sys.stderr.write(f"throw error;\n\nError [ERR_NOT_FOUND]: no such place\n{stack}{cause}\nNode.js v20.20.2\n")
    sys.exit(1)


def dies_in_python(message):
    sys.stderr.write(
        "Traceback (most recent call last):\n  raise error\nshop.OrderError: 1 wrong field\ntotal is missing\n"
    )
    sys.exit(1)


def is_killed(message):
    os.kill(os.getpid(), signal.SIGSEGV)


def breaks_a_line(message):
    say('{"type": "rep')
    os._exit(0)


def says_half(message):
    say('{"type": "reply", "text": "H\n')
    time.sleep(60)


def prints(message):
    say("Listening on port 3000\n")
    time.sleep(60)


def writes_bytes(message):
    sys.stdout.buffer.write(b"\xff\xfe\n")
    sys.stdout.flush()


def wrong_type(message):
    tell(type="replay", text="Here.")


def wrong_key(message):
    tell(type="reply", text="Here.", ouput={})


def no_object(message):
    say("[1]\n")


def wrong_call(message):
    tell(type="call", name="find", arguments="cafe")


def empty(message):
    tell(type="reply")


def wrong_text(message):
    tell(type="reply", text=4)


def wrong_usage(message):
    tell(type="reply", text="Here.", usage={"input_tokens": "many"})


def replies_twice(message):
    say('{"type": "reply", "text": "What time?"}\n{"type": "reply", "text": "And where?"}\n')


def floods_a_line(message):
    while True:
        sys.stdout.write("x" * 65536)


def floods_lines(message):
    while True:
        sys.stdout.write("\n" * 65536)


def calls_for_ever(message):
    while True:
        call("find", query="cafe")


def closes(message):
    os.close(1)
    time.sleep(60)


def hangs(message):
    sys.stderr.write(f"{os.getpid()}\n")
    sys.stderr.flush()
    time.sleep(60)


def leaves_a_child(message):
    child = subprocess.Popen([sys.executable, "-ISc", "import time; time.sleep(60)"])
    tell(type="reply", text=str(child.pid))


def dies_before_its_child(message):
    child = subprocess.Popen([sys.executable, "-ISc", "import time; time.sleep(60)"])
    sys.stderr.write(f"{child.pid}\n")
    sys.exit(1)


if __name__ == "__main__":
    agent = globals()[sys.argv[1]]
    while True:
        agent(hear())
