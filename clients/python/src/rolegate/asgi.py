"""Middleware for every ASGI framework, such as Starlette, Litestar and Quart."""

from __future__ import annotations

import json
from typing import Any, Awaitable, Callable, Iterable, MutableMapping

from ._calls import Groups, Roles, names_of
from .aio import AsyncClient
from .errors import RolegateError
from .http import bearer_token, can_deny, close_code, error_headers, log_mistake
from .identity import ProxyIdentity
from .user import RoleName

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class RequireUser:
    """Lets a request or WebSocket pass if its user has one of ``roles`` or is in one of ``groups`` now. Without both,
    any user passes.

    The user is in ``scope["state"]["user"]``, which is ``request.state.user`` in Starlette.
    """

    def __init__(
        self, app: App, client: AsyncClient, roles: Roles = None, *, groups: Groups = None
    ) -> None:
        self.roles, self.groups = names_of(roles), names_of(groups)
        self.app, self.client = app, client

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        values = [value for name, value in scope["headers"] if name == b"authorization"]
        try:
            token = bearer_token(values)
            user = await self.client.authorize(token, self.roles, groups=self.groups)
        except RolegateError as error:
            log_mistake(error, self.roles, self.groups)
            return await _deny(error, scope, send)
        scope["state"] = {**scope.get("state", {}), "user": user}
        await self.app(scope, receive, send)


class RequireProxyUser:
    """Lets a request or WebSocket pass if a proxy at one of ``peers`` names its user: see `rolegate.identity`.

    With ``roles`` or ``groups``, the user must have one of the roles or be in one of the groups.

    It must be the outermost middleware, so that no other one can replace the address of the connection.
    """

    def __init__(
        self, app: App, peers: Iterable[str], *roles: RoleName, groups: Groups = None
    ) -> None:
        self.app, self.identity = app, ProxyIdentity(peers, *roles, groups=groups)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        try:
            user = self.identity.of_asgi(scope, receive)
        except RolegateError as error:
            return await _deny(error, scope, send)
        scope["state"] = {**scope.get("state", {}), "user": user}
        await self.app(scope, receive, send)


async def _deny(error: RolegateError, scope: Message, send: Send) -> None:
    if scope["type"] == "http":
        return await _respond(error, send, "http")
    if can_deny(scope):
        return await _respond(error, send, "websocket.http")
    await send({"type": "websocket.close", "code": close_code(error)})


async def _respond(error: RolegateError, send: Send, kind: str) -> None:
    body = json.dumps({"detail": error.detail}, ensure_ascii=False).encode()
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **error_headers(error),
    }
    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": f"{kind}.response.start", "status": error.status, "headers": pairs})
    await send({"type": f"{kind}.response.body", "body": body})
