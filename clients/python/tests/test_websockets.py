"""Tests of WebSockets under uvicorn, which are refused at the handshake with the same responses as requests."""

import json

import pytest
from fastapi import Depends, FastAPI, WebSocket
from test_services import bearer, served
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from rolegate import AsyncClient
from rolegate.asgi import RequireUser
from rolegate.fastapi import require

SERVICE = """
from typing import Annotated

from fastapi import Depends, FastAPI, WebSocket
from rolegate import AsyncClient, User
from rolegate.asgi import RequireUser
from rolegate.fastapi import current_user, require

app = FastAPI()

@app.websocket("/user")
async def greet(websocket: WebSocket, user: Annotated[User, Depends(current_user)]) -> None:
    await websocket.accept()
    await websocket.send_text(user.username)
    await websocket.close()

@app.websocket("/author")
async def greet_author(websocket: WebSocket, user: Annotated[User, Depends(require("author"))]) -> None:
    await greet(websocket, user)

inner = FastAPI()

@inner.websocket("/")
async def greet_state(websocket: WebSocket) -> None:
    await greet(websocket, websocket.state.user)

app.mount("/asgi/user", RequireUser(inner, AsyncClient.from_env()))
app.mount("/asgi/author", RequireUser(inner, AsyncClient.from_env(), "author"))
"""


def greeting(http, path, token=None):
    """Returns the first message of a WebSocket, or the status, the reason, the detail and a header of the refusal."""
    url = f"ws://{http.base_url.netloc.decode()}{path}"
    headers = None if token is None else bearer(token)
    try:
        with connect(url, additional_headers=headers, proxy=None) as websocket:
            return websocket.recv(timeout=30)
    except InvalidStatus as refused:
        response = refused.response
        header = response.headers.get("WWW-Authenticate") or response.headers.get("Retry-After")
        reason = response.headers["Rolegate-Reason"]
        return response.status_code, reason, json.loads(response.body)["detail"], header


@pytest.mark.parametrize("prefix", ["", "/asgi"])
def test_websocket_is_open_to_the_roles_of_its_route(stage, tmp_path, prefix):
    with served(SERVICE, tmp_path) as http:
        token = stage.token()
        user, author = (f"{prefix}/{name}{prefix and '/'}" for name in ("user", "author"))
        missing = (401, "NOT_AUTHENTICATED", "Not authenticated.", "Bearer")
        assert greeting(http, user) == missing
        challenge = 'Bearer error="invalid_token"'
        invalid = (401, "TOKEN_INVALID", "Invalid or expired token.", challenge)
        assert greeting(http, user, "forged") == invalid
        assert greeting(http, user, token).startswith("case ")
        refused = (403, "ROLE_INSUFFICIENT", "Insufficient privileges.", None)
        assert greeting(http, author, token) == refused
        stage.given("role author")
        assert greeting(http, author, token).startswith("case ")


@pytest.mark.parametrize("path", ["/user", "/author", "/asgi/user/", "/asgi/author/"])
def test_outage_refuses_a_websocket_with_503(tmp_path, monkeypatch, path):
    monkeypatch.setenv("AUTH_SERVICE_URL", "http://127.0.0.1:1")
    with served(SERVICE, tmp_path) as http:
        unavailable = (503, "UPSTREAM_UNAVAILABLE", "Service temporarily unavailable.", "1")
        assert greeting(http, path, "token") == unavailable


def fastapi(client):
    app = FastAPI()
    app.state.rolegate = client

    @app.websocket("/")
    async def unreachable(websocket: WebSocket, user=Depends(require("author"))):
        raise AssertionError("it was let through")

    return app


@pytest.mark.parametrize("protect", [fastapi, lambda client: RequireUser(None, client, "author")])
@pytest.mark.parametrize(("headers", "code"), [([], 1008), ([(b"authorization", b"Bearer a")], 1013)])
async def test_server_without_responses_closes_before_it_accepts(protect, headers, code):
    scope = {"type": "websocket", "path": "/", "query_string": b"", "headers": headers}
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append((message["type"], message["code"]))

    async with AsyncClient("http://127.0.0.1:1") as client:
        await protect(client)(scope, receive, send)
    assert sent == [("websocket.close", code)]
