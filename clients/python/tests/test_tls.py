"""Tests of TLS against the real service, which requires a client certificate."""

import asyncio
import json
import os

import pytest

from rolegate import AsyncClient, Client, Tls
from rolegate.errors import Unavailable

STAGE = json.loads(os.environ["TLS_STAGE"])


def tls(ca="ca", client="client"):
    files = STAGE[client] if client else {}
    return Tls(STAGE[ca], files.get("cert"), files.get("key"))


#: The settings with which a handshake fails, and a part of gRPC's message that says why. If the server refuses the
#: certificate, gRPC reports only that the connection ended.
BAD = {
    "another name": (STAGE["url_of_another_name"], tls(), "Hostname Verification Check failed"),
    "another CA": (STAGE["url"], tls(ca="another_ca"), "certificate signature failure"),
    "no client certificate": (STAGE["url"], tls(client=None), ""),
    "expired client certificate": (STAGE["url"], tls(client="expired_client"), ""),
    "client certificate of another CA": (STAGE["url"], tls(client="client_of_another_ca"), ""),
    "no TLS": (STAGE["url"].replace("https", "http"), None, ""),
}


async def both(url, files, call):
    """Makes a call with both clients, and returns the outcomes."""

    def threads():
        with Client(url, files) as client:
            return call(client)

    yield await asyncio.gather(asyncio.to_thread(threads), return_exceptions=True)
    async with AsyncClient(url, files) as client:
        yield await asyncio.gather(call(client), return_exceptions=True)


async def test_calls_and_decisions_pass_with_a_certificate():
    def log_in(client):
        return client.login("admin", os.environ["ADMIN_PASSWORD"])

    async for [login] in both(STAGE["url"], tls(), log_in):
        async for [user] in both(STAGE["url"], tls(), lambda it: it.authorize(login.access_token)):
            assert user == login.user


@pytest.mark.parametrize("fault", BAD)
async def test_failed_handshake_is_an_outage_with_its_cause(fault):
    url, files, cause = BAD[fault]
    async for [error] in both(url, files, lambda it: it.authorize("token")):
        assert type(error) is Unavailable and error.status == 503, repr(error)
        before, _, said = str(error).partition(": ")
        assert before == "the service cannot be reached" and said and cause in said, str(error)
        assert error.detail == "Service temporarily unavailable."


async def test_settings_are_those_of_the_programs(monkeypatch):
    monkeypatch.setenv("AUTH_SERVICE_URL", STAGE["url"])
    monkeypatch.setenv("AUTH_CLIENT_TLS_CA_FILE", STAGE["ca"])
    monkeypatch.setenv("AUTH_CLIENT_TLS_CERT_FILE", STAGE["client"]["cert"])
    monkeypatch.setenv("AUTH_CLIENT_TLS_KEY_FILE", STAGE["client"]["key"])
    with Client.from_env() as client:
        assert client.login("admin", os.environ["ADMIN_PASSWORD"]).user.username == "admin"


def test_file_that_cannot_be_read_is_a_mistake():
    with pytest.raises(OSError):
        Client(STAGE["url"], Tls("/no such file"))
