"""The stage: the real services that `client-stage` runs for these tests."""

import json
import os
import socket

import pytest

from rolegate import AsyncClient, Client


class Stage:
    """Users with tokens, and the states and faults of ``clients/conformance.json``."""

    def __init__(self):
        host, port = os.environ["CLIENT_STAGE"].rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=180)
        self.lines = self.socket.makefile("r")

    def ask(self, **request):
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(self.lines.readline())

    def token(self, kind="fresh"):
        """Creates a user, and returns a token of this kind."""
        return self.ask(token=kind)["token"]

    def given(self, state):
        """Puts the user who was created last into a state, or causes a fault."""
        self.ask(given=state)


@pytest.fixture(scope="session")
def stage():
    return Stage()


@pytest.fixture
def client():
    with Client.from_env() as client:
        yield client


@pytest.fixture
async def async_client():
    async with AsyncClient.from_env() as client:
        yield client


@pytest.fixture
def admin(client):
    """Returns the access token of the admin."""
    return client.login("admin", os.environ["ADMIN_PASSWORD"]).access_token


class Blocking:
    """A `Client` with the interface of an `AsyncClient`, so that each test runs with both."""

    def __init__(self, client):
        self.client = client

    def __getattr__(self, name):
        async def call(*args, **kwargs):
            return getattr(self.client, name)(*args, **kwargs)

        return call

    async def watch_users(self, *args):
        for event in self.client.watch_users(*args):
            yield event


@pytest.fixture(params=["threads", "asyncio"])
async def auth(request, client, async_client):
    return Blocking(client) if request.param == "threads" else async_client


@pytest.fixture
def name(request):
    """Returns a username that only this test uses."""
    return request.node.name[:200]
