"""Tests of one `AsyncClient` in several event loops. gRPC's channels belong to a single loop."""

import asyncio
import gc
import os
import threading
import time
from pathlib import Path

from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient
from test_replicas import Replica, served

from rolegate import AsyncClient
from rolegate.fastapi import current_user


def test_client_outlives_its_event_loop_and_keeps_no_connection_of_it():
    with served(Replica()) as url:
        client = AsyncClient(url)

        async def decide():
            assert (await client.authorize("token")).username == "ann"

        asyncio.run(decide())
        one_loop = sockets()
        for _ in range(4):
            asyncio.run(decide())
            gc.collect()
        # gRPC closes sockets some time later, in threads of its own.
        deadline = time.monotonic() + 60
        while sockets() > one_loop:
            assert time.monotonic() < deadline, (sockets(), one_loop)
            time.sleep(0.01)


def sockets():
    return len([fd for fd in Path("/proc/self/fd").iterdir() if is_socket(fd)])


def is_socket(descriptor):
    try:
        return os.readlink(descriptor).startswith("socket:")
    except FileNotFoundError:
        return False


def test_two_event_loops_share_a_client_at_once():
    with served(Replica()) as url:
        client, failures, together = AsyncClient(url), [], threading.Barrier(2)

        async def decide():
            for _ in range(20):
                together.wait()
                assert (await client.authorize("token")).username == "ann"

        def run():
            try:
                asyncio.run(asyncio.wait_for(decide(), 20))
            except BaseException as error:
                failures.append(error)
                together.abort()

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures


def test_test_client_of_fastapi_has_a_loop_for_each_request():
    app = FastAPI()

    @app.get("/")
    async def protected(user=Depends(current_user)):
        return user.username

    with served(Replica()) as url:
        app.state.rolegate = AsyncClient(url)
        http = TestClient(app)
        for _ in range(3):
            response = http.get("/", headers={"authorization": "Bearer token"})
            assert (response.status_code, response.json()) == (200, "ann")
