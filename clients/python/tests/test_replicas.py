"""Tests how both clients spread calls over replicas, and which calls they repeat. The replicas are fakes, because
they must count calls and fail on purpose."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial

import grpc
import pytest

from rolegate import AsyncClient, Client
from rolegate._channel import SERVICE
from rolegate.auth.v1 import auth_pb2 as pb
from rolegate.errors import DeadlineExceeded, Unavailable

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
# The stage resolves the name of the replicas to these addresses.
ADDRESSES = ("127.0.9.2", "127.0.9.3")


class Replica(grpc.GenericRpcHandler):
    """A replica that fails the first ``failures`` calls with a status that does not come from the service, or hangs
    in every call."""

    def __init__(self, health=SERVING, failures=0, hangs=False):
        self.health, self.failures, self.hangs, self.calls = health, failures, hangs, []
        self.ended = threading.Event()

    def service(self, details):
        if details.method == "/grpc.health.v1.Health/Watch":
            return grpc.unary_stream_rpc_method_handler(self.watch)
        self.calls.append(details.method.removeprefix(f"/{SERVICE}/"))
        return grpc.unary_unary_rpc_method_handler(self.answer)

    def watch(self, request, context):
        yield self.health
        self.ended.wait()

    def answer(self, request, context):
        if self.hangs:
            self.ended.wait()
        if len(self.calls) <= self.failures:
            context.abort(grpc.StatusCode.UNAVAILABLE, "as the test wants")
        user = pb.User(id=1, username="ann", role=pb.ROLE_USER)
        return pb.AuthorizeResponse(user=user).SerializeToString()


@contextmanager
def served(*replicas):
    """Serves these replicas, and returns the URL with their name."""
    port = 0
    with ExitStack() as servers:
        for replica, address in zip(replicas, ADDRESSES):
            server = grpc.server(ThreadPoolExecutor(8), [replica], options=[("grpc.so_reuseport", 0)])
            port = server.add_insecure_port(f"{address}:{port}")
            servers.callback(lambda server=server: server.stop(None).wait())
            servers.callback(replica.ended.set)
            server.start()
        yield f"http://auth.test:{port}" if len(replicas) > 1 else f"http://{ADDRESSES[0]}:{port}"


def authorize_and_wait(client, both):
    """Makes up to 1,000 decisions, until each replica has had more than ten. At first, the client may be connected to
    only one replica."""
    for _ in range(1000):
        client.authorize("token")
        if all(len(replica.calls) > 10 for replica in both):
            return


def test_calls_go_in_turn_to_all_replicas():
    both = Replica(), Replica()
    with served(*both) as url, Client(url) as client:
        authorize_and_wait(client, both)
        assert all(len(replica.calls) > 10 for replica in both), [len(one.calls) for one in both]


def test_replica_that_does_not_serve_gets_no_calls():
    both = Replica(NOT_SERVING), Replica()
    with served(*both) as url, Client(url) as client:
        for _ in range(50):
            client.authorize("token")
        assert [len(replica.calls) for replica in both] == [0, 50]


def test_read_is_made_again_and_a_change_is_not():
    for failures, attempts in [(2, 3), (9, 3)]:
        with served(replica := Replica(failures=failures)) as url, Client(url) as client:
            if failures < 3:
                assert client.authorize("token").username == "ann"
            else:
                with pytest.raises(Unavailable):
                    client.authorize("token")
            assert replica.calls == ["Authorize"] * attempts
    with served(replica := Replica(failures=1)) as url, Client(url) as client:
        with pytest.raises(Unavailable):
            client.register("ann", "password")
        assert replica.calls == ["Register"]


async def test_decision_of_asyncio_is_made_again():
    with served(replica := Replica(failures=2)) as url:
        async with AsyncClient(url) as client:
            assert (await client.authorize("token")).username == "ann"
            with pytest.raises(Unavailable):
                replica.failures = 99
                await client.change_password("token", "old", "new")
    assert replica.calls == ["Authorize"] * 3 + ["ChangePassword"]


def test_proxy_of_the_environment_is_not_used(monkeypatch):
    monkeypatch.setitem(os.environ, "http_proxy", "http://127.0.0.1:1")
    with served(replica := Replica()) as url, Client(url) as client:
        assert client.authorize("token").username == "ann"


@pytest.mark.parametrize("call", [lambda it: it.authorize("token"), lambda it: it.login("ann", "a")])
async def test_timeout_of_a_client_bounds_every_call(call):
    with served(Replica(hangs=True)) as url:
        start = time.monotonic()
        with Client(url, timeout=0.2) as client, pytest.raises(DeadlineExceeded):
            call(client)
        async with AsyncClient(url, timeout=0.2) as client:
            with pytest.raises(DeadlineExceeded):
                await call(client)
        # With the default timeouts, the two calls would take at least 10 seconds.
        assert 0.3 < time.monotonic() - start < 3


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan"), float("inf")])
def test_timeout_that_is_none_is_a_mistake(timeout):
    for kind in (Client, AsyncClient):
        for make in (partial(kind, "http://127.0.0.1:1"), kind.from_env):
            with pytest.raises(ValueError, match="timeout must be"):
                make(timeout=timeout)
