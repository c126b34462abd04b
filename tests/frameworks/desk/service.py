"""The team of a framework as a service: ``python service.py MODULE``. Its tools are its own, and reported; or those at the MCP address of the request."""

import asyncio
import json
import sys
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from people import real_hotel

from pytest_mapsat import Refused

talks = defaultdict(dict)
module = import_module(sys.argv[1])


def over_mcp(url):
    """Return the function that calls a tool at an address."""

    async def call(name, arguments):
        async with Client(streamable_http_client(url)) as client:
            return (await client.call_tool(name, arguments)).content[0].text

    return lambda name, arguments: asyncio.run(call(name, arguments))


def reporting(hotel, calls):
    """Return the function that calls a tool of a hotel, and reports it."""

    def call(name, arguments):
        report = {"tool": name, "arguments": arguments}
        calls.append(report)
        try:
            report["result"] = getattr(hotel, name)(**arguments)
        except (Refused, TypeError) as error:
            report["error"] = str(error)
        return json.dumps(report.get("result", {"error": report.get("error")}))

    return call


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        talk = talks[asked["session"]]
        if not talk:
            talk["calls"] = []
            url, token = asked.get("mcp_url"), asked.get("mcp_token")
            answers = (
                over_mcp(f"{url.removesuffix('mcp')}{token}/mcp") if url else reporting(real_hotel(), talk["calls"])
            )
            talk["talk"] = module.Talk(answers)
        talk["calls"].clear()
        body = json.dumps({"text": talk["talk"].ask(asked["message"]), "calls": talk["calls"]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
    print(server.server_port, flush=True)  # noqa: T201  # for the one who started it
    server.serve_forever()
