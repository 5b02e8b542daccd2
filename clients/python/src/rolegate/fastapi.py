"""Dependencies that protect endpoints of FastAPI. They refuse requests with 401, 403, 503 and 504, as the gateway
does.

They refuse WebSockets at the handshake. The client of an application is ``app.state.rolegate``, by default
``AsyncClient.from_env()``.
"""

# This file has no `from __future__ import annotations`: older versions of FastAPI cannot resolve them in a `__call__`.
from typing import Iterable, Optional, Tuple

from fastapi import HTTPException, WebSocketException
from fastapi.openapi.models import HTTPBearer
from fastapi.requests import HTTPConnection
from fastapi.security.base import SecurityBase

from ._calls import Groups, names_of, requirement
from .aio import AsyncClient
from .errors import RolegateError
from .http import bearer_token, can_deny, close_code, error_headers, log_mistake
from .identity import ProxyIdentity
from .user import RoleName, User


class _Require(SecurityBase):
    """A dependency that requires a user. It is a security scheme, so that FastAPI shows it in ``/docs``."""

    def __init__(self, roles: Optional[Tuple[RoleName, ...]], groups: Groups = None) -> None:
        self.model = HTTPBearer()
        self.scheme_name = "HTTPBearer"
        self.roles, self.groups = roles, names_of(groups)
        self.allowed = requirement(self.roles, self.groups)

    async def __call__(self, connection: HTTPConnection) -> User:
        scope = connection.scope
        values = [value for name, value in scope["headers"] if name == b"authorization"]
        try:
            return await client_of(connection)._submit(bearer_token(values), self.allowed)
        except RolegateError as error:
            log_mistake(error, self.roles, self.groups)
            raise _denial(error, connection) from error


class ProxyUser:
    """A dependency that returns the user whom a proxy at one of ``peers`` names. With ``roles`` or ``groups``, the
    user must have one of the roles or be in one of the groups.

    Use it as ``Annotated[User, Depends(ProxyUser(["127.0.0.1"]))]``. Start uvicorn with ``--no-proxy-headers``.
    """

    def __init__(self, peers: Iterable[str], *roles: RoleName, groups: Groups = None) -> None:
        self.identity = ProxyIdentity(peers, *roles, groups=groups)

    async def __call__(self, connection: HTTPConnection) -> User:
        # Requests and WebSockets keep their `receive` under the same private name.
        receive = getattr(connection, "_receive", None)
        try:
            return self.identity.of_asgi(connection.scope, receive)
        except RolegateError as error:
            raise _denial(error, connection) from error


def _denial(error: RolegateError, connection: HTTPConnection) -> Exception:
    if connection.scope["type"] == "websocket" and not can_deny(connection.scope):
        return WebSocketException(close_code(error), error.detail)
    return HTTPException(error.status, error.detail, error_headers(error))


#: A dependency that returns the user of a request, and accepts any user with a valid token.
current_user = _Require(None)


def require(*roles: RoleName, groups: Groups = None) -> _Require:
    """Returns a dependency that returns the user, who must have one of these roles or be in one of ``groups`` now:
    ``require("author")``, ``require("admin", groups=["staff"])`` or ``require(groups=["staff"])``."""
    return _Require(roles, groups)


def client_of(connection: HTTPConnection) -> AsyncClient:
    """Returns the client of the application that serves this request or WebSocket, and creates it if there is none."""
    state = connection.app.state
    client: Optional[AsyncClient] = getattr(state, "rolegate", None)
    if client is None:
        client = state.rolegate = AsyncClient.from_env()
    return client
