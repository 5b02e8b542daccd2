"""An ASGI application that reports what it receives, and runs on third-party servers."""

import asyncio
import hashlib
import json
import os
import subprocess
import tempfile
from pathlib import Path

from proxies_network import answers, free_port, until

COMMANDS = {
    # hypercorn speaks HTTP/2 after `Upgrade: h2c` by default.
    "hypercorn": "hypercorn --log-level error --bind 127.0.0.1:PORT",
    # uvicorn uses `websockets`, and practically sends no pings of its own.
    "uvicorn": "uvicorn --log-level error --ws websockets --ws-ping-interval 1000 --port PORT",
}
# The seconds after which `/late` answers, and those after which `/events` sends an event.
LATE, EVENTS_AT = 45, [0, 1, 45, 60]
# How many bytes of the last body to each path have arrived.
progress = {}


async def application(scope, receive, send):
    if scope["type"] == "websocket":
        await echo(scope, receive, send)
    elif scope["type"] == "http" and scope["path"] == "/events":
        await events(send)
    elif scope["type"] == "http":
        await report(scope, receive, send)


def headers_of(scope):
    return [[name.decode(), value.decode("latin-1")] for name, value in scope["headers"]]


async def report(scope, receive, send):
    path, digest, length, is_more = scope["path"], hashlib.sha256(), 0, True
    while is_more:
        message = await receive()
        part, is_more = message.get("body", b""), message.get("more_body", False)
        digest.update(part)
        length += len(part)
        if path.startswith("/upload/"):
            progress[path] = length
    if path == "/late":
        await asyncio.sleep(LATE)
    body = json.dumps({"path": path, "http": scope["http_version"], "headers": headers_of(scope),
                       "body": [length, digest.hexdigest()], "progress": progress}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body})


async def events(send):
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    before = 0
    for at in EVENTS_AT:
        await asyncio.sleep(at - before)
        before = at
        await send({"type": "http.response.body", "body": f"data: {at}\n\n".encode(), "more_body": True})
    await send({"type": "http.response.body"})


async def echo(scope, receive, send):
    """Sends the headers of the request, and then every message back."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.send", "text": json.dumps(headers_of(scope))})
    while (message := await receive())["type"] == "websocket.receive":
        sent = {name: message[name] for name in ("text", "bytes") if message.get(name) is not None}
        await send({"type": "websocket.send", **sent})


class ServedApplication:
    """This application on a server that is started by one of `COMMANDS`."""

    def __init__(self, server):
        self.server_port = free_port()
        self.log = tempfile.TemporaryFile()
        command = COMMANDS[server].replace("PORT", str(self.server_port)).split()
        self.process = subprocess.Popen(
            [*command, "proxies_application:application"], stdout=self.log, stderr=self.log,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent)})
        until(f"{server} to listen", lambda: answers(self.server_port, "/"), 60)

    def stop(self):
        self.process.terminate()
        self.process.wait()
