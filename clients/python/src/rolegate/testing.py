"""Starts ``rolegate-test-server`` for a test: the real services, with a database in memory."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime
from http.client import HTTPConnection
from typing import Any, Mapping, Optional

from .client import Client
from .errors import GroupTaken
from .group import Group

_MISSING = (
    "cannot start {}: {}; install it from a checkout of Rolegate with "
    "`cargo install --locked --path test-server`, or set ROLEGATE_TEST_SERVER to its path"
)


class RolegateServer:
    """A server with users of its own: ``RolegateServer("--user", "ada:a password:author")``.

    It stops at the end of its ``with`` block, and at the latest at the end of this process. The password of the user
    ``admin`` is ``admin-password``.
    """

    def __init__(self, *flags: str) -> None:
        program = os.environ.get("ROLEGATE_TEST_SERVER", "rolegate-test-server")
        try:
            self._process = subprocess.Popen([program, *flags], stdout=subprocess.PIPE)
        except OSError as error:
            raise RuntimeError(_MISSING.format(program, error.strerror)) from None
        try:
            addresses = self._addresses(program)
        except BaseException:
            self.close()
            raise
        #: The URL of the API with bearer tokens.
        self.bearer: str = addresses["bearer"]
        #: The URL of the API with HTTP Basic.
        self.basic: str = addresses["basic"]
        #: The URL for proxies.
        self.forward_auth: str = addresses["forward"]
        #: The URL of auth-service for clients, as in ``AUTH_SERVICE_URL``.
        self.grpc: str = addresses["grpc"]
        #: The URL for commands, which move the clock and cause failures.
        self.control: str = addresses["control"]

    def _addresses(self, program: str) -> dict[str, str]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            raise RuntimeError(f"{program} ended with {status}; on stderr it says why")
        addresses: dict[str, str] = json.loads(line)["listeners"]
        return addresses

    def login(self, username: str, password: str, otp: Optional[str] = None) -> str:
        """Logs in, and returns the access token."""
        body = {"username": username, "password": password, "otp": otp}
        answer = _post(self.bearer, "/login", body)
        token: str = answer["access_token"]
        return token

    def add_to_group(
        self, username: str, group: str, until: Optional[datetime] = None
    ) -> None:
        """Adds a user to a group, and creates the group if it does not exist. The membership ends at ``until``."""
        with Client(self.grpc) as client:
            admin = client.login("admin", "admin-password").access_token
            user_id = _find_user(client, admin, username)
            group_id = _create_or_find_group(client, admin, group).id
            client.set_membership(admin, group_id, user_id, until)

    def advance(self, seconds: int) -> None:
        """Moves the clock by which access tokens (after 30 minutes) and sessions expire."""
        self._command("clock", advance_seconds=seconds)

    def outage(self) -> None:
        """Makes auth-service answer no call until ``reset()``. Until then, protected endpoints answer 503."""
        self._command("outage")

    def slow(self, seconds: float) -> None:
        """Delays each call of auth-service by this time until ``reset()``."""
        self._command("slow", milliseconds=round(seconds * 1000))

    def revoke(self, username: str) -> None:
        """Revokes every access token and session of a user whom a flag of the constructor has created."""
        self._command("revoked", username=username)

    def reset(self) -> None:
        """Ends ``outage()`` and ``slow()``."""
        self._command("reset")

    def close(self) -> None:
        """Stops the server, and waits until it has ended."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> RolegateServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _command(self, command: str, **fields: object) -> None:
        _post(self.control, "/", {"command": command, **fields})


def _find_user(client: Client, admin: str, username: str) -> int:
    after: Optional[int] = 0
    while after is not None:
        page = client.list_users(admin, 200, after, username_prefix=username)
        for user in page.users:
            if user.username == username:
                return user.id
        after = page.next
    raise RuntimeError(f"no user is named {username}")


def _create_or_find_group(client: Client, admin: str, name: str) -> Group:
    try:
        return client.create_group(admin, name)
    except GroupTaken:
        pass
    after: Optional[int] = 0
    while after is not None:
        page = client.list_groups(admin, 200, after)
        for group in page.groups:
            if group.name == name:
                return group
        after = page.next
    raise RuntimeError(f"no group is named {name}")


def _post(url: str, path: str, body: Mapping[str, object]) -> Any:
    # `http.client` ignores the proxies that the environment names.
    connection = HTTPConnection(url.split("://")[1], timeout=30)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = json.loads(response.read())
    finally:
        connection.close()
    if response.status != 200:
        raise RuntimeError(f"{url}: {answer['detail']}")
    return answer
