"""An application in ASGI, for the servers of other makers, that reports what it receives."""

import hashlib
import json
import os
import subprocess
import tempfile
from pathlib import Path

from proxies_network import answers, free_port, until

COMMANDS = {
    # Speaks HTTP/2 after `Upgrade: h2c`, by default.
    "hypercorn": ["hypercorn", "--log-level", "error", "--bind"],
}


async def report(scope, receive, send):
    length, digest, is_more = 0, hashlib.sha256(), True
    while is_more:
        message = await receive()
        part = message.get("body", b"")
        length, is_more = length + len(part), message.get("more_body", False)
        digest.update(part)
    headers = [[name.decode(), value.decode("latin-1")] for name, value in scope["headers"]]
    body = json.dumps({"path": scope["path"], "http": scope["http_version"], "headers": headers,
                       "body": [length, digest.hexdigest()]}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body})


async def application(scope, receive, send):
    if scope["type"] == "http":
        await report(scope, receive, send)


class ServedApplication:
    """This application, served by one of `COMMANDS`."""

    def __init__(self, server):
        self.server_port = free_port()
        self.log = tempfile.TemporaryFile()
        *command, option = COMMANDS[server]
        address = f"127.0.0.1:{self.server_port}"
        self.process = subprocess.Popen(
            [*command, option, address, "proxies_application:application"], stdout=self.log, stderr=self.log,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent)})
        until(f"{server} to listen", lambda: answers(self.server_port, "/"), 60)

    def stop(self):
        self.process.terminate()
        self.process.wait()
