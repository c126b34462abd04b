"""Plays Claude Code for the tests of the Claude Agent SDK: the same lines on standard input and output, with the mind in the model's place."""

import itertools
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from minds import Seen, mind

numbers = itertools.count(1)
#: What came while an answer was waited for.
waiting = []


def write(**message):
    print(json.dumps(message), flush=True)


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def asked(subtype, **request):
    """Ask the SDK, and return what it answers."""
    name = f"cli-{next(numbers)}"
    write(type="control_request", request_id=name, request={"subtype": subtype, **request})
    while True:
        message = read()
        if message["type"] == "control_response" and message["response"]["request_id"] == name:
            return message["response"]["response"]
        waiting.append(message)


def mcp(server, method, **params):
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if not method.startswith("notifications/"):
        message["id"] = next(numbers)
    return asked("mcp_message", server_name=server, message=message)["mcp_response"].get("result")


class Program:
    def __init__(self):
        self.servers = {}
        self.hooks = ()
        self.seen = Seen()
        self.cost = 0.0
        self.slow = "--model=slow" in sys.argv or "slow" in sys.argv
        self.structured = "--json-schema" in sys.argv

    def begun(self, message):
        self.hooks = [
            i for m in (message["request"]["hooks"] or {}).get("PreToolUse", ()) for i in m["hookCallbackIds"]
        ]
        answer = {"subtype": "success", "request_id": message["request_id"], "response": {"commands": []}}
        write(type="control_response", response=answer)
        config = sys.argv[sys.argv.index("--mcp-config") + 1] if "--mcp-config" in sys.argv else "{}"
        for server in json.loads(config).get("mcpServers", {}):
            client = {"name": "program", "version": "1"}
            mcp(server, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
            mcp(server, "notifications/initialized")
            self.servers |= {tool["name"]: server for tool in mcp(server, "tools/list")["tools"]}

    def called(self, name, arguments):
        server = self.servers.get(name)
        shown = f"mcp__{server}__{name}" if server else name
        for hook in self.hooks:
            call = {"hook_event_name": "PreToolUse", "tool_name": shown, "tool_input": arguments}
            told = asked("hook_callback", callback_id=hook, input=call, tool_use_id="t1").get("hookSpecificOutput", {})
            if told.get("permissionDecision") == "deny":
                return told["permissionDecisionReason"]
        if server is None:
            return "the real world"
        return mcp(server, "tools/call", name=name, arguments=arguments)["content"][0]["text"]

    def answer(self, text):
        """Answer one message of the user."""
        self.seen.messages.append(("user", text))
        time.sleep(30 if self.slow else 0.01)
        while True:
            try:
                step = mind(self.seen, structured=self.structured)
            except RuntimeError as error:
                self.result(errors=[str(error)], subtype="error_during_execution", is_error=True)
                return
            self.cost += 0.01
            blocks = [{"type": "thinking", "thinking": step.thought, "signature": ""}] if step.thought else []
            for number, (name, arguments) in enumerate(step.calls):
                blocks.append({"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments})
            if not step.calls:
                blocks.append({"type": "text", "text": step.say})
            usage = {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 5}
            said = {"id": f"m{next(numbers)}", "role": "assistant", "model": "mind", "content": blocks, "usage": usage}
            if "--include-partial-messages" in sys.argv:
                piece = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I"}}
                write(type="stream_event", uuid="e", session_id="s1", event=piece, parent_tool_use_id=None)
            write(type="assistant", message=said, parent_tool_use_id=None, session_id="s1")
            if not step.calls:
                self.seen.messages.append(("assistant", step.say))
                self.result(result=step.say, subtype="success", is_error=False, structured_output=step.data)
                return
            self.seen.messages += [("tool", self.called(*call)) for call in step.calls]

    def result(self, **how):
        times = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1}
        write(type="result", session_id="s1", total_cost_usd=self.cost, **times, **how)


def main():
    if "-v" in sys.argv or "--version" in sys.argv:
        print("9.0.0 (Claude Code)")
        return
    program = Program()
    while True:
        message = waiting.pop(0) if waiting else read()
        if message["type"] == "control_request":
            program.begun(message)
        elif message["type"] == "user":
            program.answer(message["message"]["content"])


if __name__ == "__main__":
    main()
