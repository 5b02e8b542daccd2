"""Tests of ``rolegate.testing``, and of a FastAPI service that uses it."""

import subprocess
import sys
from datetime import datetime, timedelta, timezone
from typing import Annotated

import pytest
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient

from rolegate import Client, User
from rolegate.errors import CredentialsInvalid, DeadlineExceeded, Unavailable
from rolegate.fastapi import require
from rolegate.testing import RolegateServer

USERS = ("--user", "ada:a password:author", "--user", "bob:another one")


@pytest.fixture
def server():
    with RolegateServer(*USERS) as server:
        yield server


@pytest.fixture
def reports(server, monkeypatch):
    """Starts a service that asks this server, and returns a function that sends it requests with a token.

    The groups of ``/shifts`` must exist before the first request to it.
    """
    monkeypatch.setenv("AUTH_SERVICE_URL", server.grpc)
    app = FastAPI()

    @app.get("/reports")
    async def reports(user: Annotated[User, Depends(require("author"))]) -> str:
        return user.username

    @app.get("/shifts")
    async def shifts(user: Annotated[User, Depends(require(groups=["crew", "staff"]))]) -> str:
        return user.username

    with TestClient(app) as client:
        yield lambda token, path="/reports": client.get(path, headers={"Authorization": f"Bearer {token}"})


def test_service_allows_what_the_user_may(server, reports):
    assert reports(server.login("ada", "a password")).json() == "ada"
    assert reports(server.login("bob", "another one")).status_code == 403


def test_token_ends_by_the_clock_and_by_a_revocation(server, reports):
    token = server.login("ada", "a password")
    server.advance(1801)
    assert reports(token).json() == {"detail": "Invalid or expired token."}
    token = server.login("ada", "a password")
    assert reports(token).status_code == 200
    server.revoke("ada")
    assert reports(token).status_code == 401


def test_outage_and_slowness_end_with_a_reset(server, reports):
    token = server.login("ada", "a password")
    server.outage()
    assert reports(token).status_code == 503
    server.reset()
    assert reports(token).status_code == 200
    server.slow(60)
    with Client(server.grpc, timeout=0.2) as client, pytest.raises(DeadlineExceeded):
        client.authorize(token)
    server.reset()
    assert reports(token).status_code == 200


def test_user_is_in_the_groups_of_the_test(server, reports):
    for group in ["crew", "staff"]:
        server.add_to_group("ada", group)
    server.add_to_group("ada", "staff")
    shifts = lambda name, password: reports(server.login(name, password), "/shifts").status_code
    assert (shifts("ada", "a password"), shifts("bob", "another one")) == (200, 403)
    end = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(hours=1)
    server.add_to_group("bob", "crew", end)
    assert shifts("bob", "another one") == 200
    with Client(server.grpc) as client:
        [crew] = client.list_user_groups(client.login("bob", "another one").access_token)
    assert (crew.name, crew.until) == ("crew", end)
    with pytest.raises(RuntimeError, match="no user is named nobody"):
        server.add_to_group("nobody", "crew")


def test_servers_share_nothing(server):
    with RolegateServer("--user", "ada:of another") as other, Client(other.grpc) as client:
        assert client.login("ada", "of another").user.username == "ada"
        with pytest.raises(CredentialsInvalid):
            client.login("ada", "a password")


def test_mistakes_are_explained(server, monkeypatch, capfd):
    with pytest.raises(RuntimeError, match="no --user is"):
        server.revoke("nobody")
    with pytest.raises(RuntimeError, match="ended with 64"):
        RolegateServer("--user", "ada:a password:king")
    assert "ROLE_INVALID" in capfd.readouterr().err
    monkeypatch.setenv("ROLEGATE_TEST_SERVER", "/nowhere/rolegate-test-server")
    with pytest.raises(RuntimeError, match="cargo install .* or set ROLEGATE_TEST_SERVER"):
        RolegateServer()


def test_server_ends_with_a_process_that_is_killed():
    script = "from rolegate.testing import *; server = RolegateServer(); print(server.grpc, flush=True); input()"
    pipes = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", script], text=True, **pipes) as process:
        url = process.stdout.readline().strip()
        process.kill()
        # The server also has this pipe open, so the pipe is closed only after the server has ended.
        process.stderr.read()
    with Client(url, timeout=1) as client, pytest.raises(Unavailable):
        client.login("admin", "admin-password")
