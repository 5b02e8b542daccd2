"""Types a page of the documents as it is written, in a folder that looks like a clone, with terminals and browsers.
Ports are replaced by free ones."""

import os
import random
import re
import shutil
import signal
import socket
import tempfile
from pathlib import Path

from blocks import blocks_of
from browser import Browser
from terminal import Terminal, end_all_in

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "target/debug/fast-hash-rolegate"
LISTENERS = {8000: "BEARER", 8001: "BASIC", 8002: "FORWARD_AUTH", 50051: "AUTH", 50052: "POSTS"}
# The commands that a reader has installed run the program of this build. `sudo` runs its command directly, because the
# test may be root without sudo.
COMMANDS = {"cargo": '[ "$1 $2" = "run --release" ] || exit 64; shift 2; [ "$1" != -- ] || shift; exec {} "$@"',
            "rolegate": 'exec {} "$@"', "sudo": 'exec "$@"'}
OWN = ["PYTHONPATH", "VIRTUAL_ENV", "AUTH_SERVICE_URL", "DATABASE_URL"]


class Stage:
    """A page that is typed. `ports` are the ports in the page, which may be in use here and are replaced by free ones.
    `others` are further replacements. If the test runs as root, `user` types, and `owner` has the arguments for
    that."""

    def __init__(self, page, *ports, others=(), user=None):
        self.ports = dict(zip(ports, free_ports())) | dict(others)
        self.blocks = blocks_of(self.with_ports((ROOT / "docs" / page).read_text()))
        self.owner = {"user": user, "group": user, "extra_groups": []} if user and os.geteuid() == 0 else {}
        self.terminals, self.terminal, self.browsers = {}, "first", []

    def __enter__(self):
        self.directory = Path(tempfile.mkdtemp(prefix="rolegate-docs-"))
        self.folder, programs = self.directory / "clone", self.directory / "bin"
        self.directory.chmod(0o755)
        for folder in [self.folder, programs]:
            folder.mkdir()
        for name, script in COMMANDS.items():
            (programs / name).write_text(f"#!/bin/sh\n{script.format(PROGRAM)}\n")
            (programs / name).chmod(0o755)
        if self.owner:
            shutil.chown(self.folder, self.owner["user"])
        return self

    def __exit__(self, *_):
        for it in self.browsers:
            it.driver.quit()
        end_all_in(self.directory)
        shutil.rmtree(self.directory)

    def copy(self, folder):
        """Copies a folder of the repository into the clone, and replaces the ports in it."""
        made = shutil.ignore_patterns("node_modules", "build", "*.egg-info", "__pycache__", "*.tgz")
        shutil.copytree(ROOT / folder, self.folder / folder, ignore=made)
        for file in (self.folder / folder).rglob("*"):
            if file.suffix in (".conf", ".caddy"):
                file.write_text(self.with_ports(file.read_text()))

    def with_ports(self, text):
        """Returns the text with the free ports."""
        return re.sub(r"\b(" + "|".join(map(str, self.ports)) + r")\b", lambda it: str(self.ports[int(it[0])]), text)

    def environment(self, **more):
        """Returns the environment of a terminal. Listeners that the page does not name are off, so that they take no
        addresses."""
        kept = {name: value for name, value in os.environ.items() if name not in OWN}
        listen = {f"{name}_LISTEN_ADDR": f"127.0.0.1:{self.ports[port]}" if port in self.ports else "off"
                  for port, name in LISTENERS.items()}
        path = f"{self.directory}/bin:{os.environ['PATH']}"
        return kept | listen | {"OPS_LISTEN_ADDR": "127.0.0.1:0", "RUST_LOG": "warn", "PATH": path,
                                "PYTHONUNBUFFERED": "1"} | more

    def open(self, name, **environment):
        """Opens a terminal."""
        self.terminals[name] = Terminal(self.folder, self.environment(**environment), **self.owner)
        return self.terminals[name]

    def type(self, until=None):
        """Follows the page, writing its files and typing its commands, up to but not including the block that contains
        `until`, or to the end."""
        while self.blocks and not (until and until in self.blocks[0].text):
            block = self.blocks.pop(0)
            if block.file:
                file = self.folder / block.file
                file.parent.mkdir(exist_ok=True)
                file.write_text(block.text)
            elif block.language == "sh":
                self.enter(block)

    def enter(self, block):
        if block.interrupted:
            self.terminals[block.interrupted].interrupt()
        self.terminal = block.terminal or self.terminal
        terminal = self.terminals.get(self.terminal) or self.open(self.terminal)
        if self.blocks and not (self.blocks[0].language or self.blocks[0].file):
            terminal.start(block.text, self.blocks.pop(0).text)
        else:
            for commands, printed in block.chunks():
                terminal.type(commands, printed)

    def kill(self, name):
        """Kills what runs in a terminal, as a power loss would."""
        self.terminals[name].interrupt(signal.SIGKILL)

    def browser(self, profile, url, *flags):
        """Opens a page in a browser with a profile of its own."""
        self.browsers.append(Browser(self.directory / profile, url, flags))
        return self.browsers[-1]


def free_ports():
    """Yields free ports. They are below those that the system gives to connections, because a connection could
    otherwise take one first."""
    for port in random.sample(range(20_000, 30_000), 10_000):
        with socket.socket() as listener:
            if listener.connect_ex(("127.0.0.1", port)):
                yield port
