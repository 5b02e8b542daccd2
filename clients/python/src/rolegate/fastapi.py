"""Dependencies of FastAPI that answer 401, 403, 503 and 504 as the gateway does, on WebSockets at the handshake.

The client of an application is ``app.state.rolegate``, by default ``AsyncClient.from_env()``.
"""

# No `from __future__ import annotations`: older versions of FastAPI cannot resolve them in a `__call__`.
from typing import Optional, Tuple

from fastapi import HTTPException, WebSocketException
from fastapi.openapi.models import HTTPBearer
from fastapi.requests import HTTPConnection
from fastapi.security.base import SecurityBase

from ._calls import requirement
from .aio import AsyncClient
from .errors import RolegateError
from .http import bearer_token, can_deny, close_code, error_headers, log_mistake
from .user import RoleName, User


class _Require(SecurityBase):
    """A dependency with the scheme of its tokens, which FastAPI shows in ``/docs``."""

    def __init__(self, roles: Optional[Tuple[RoleName, ...]]) -> None:
        self.model = HTTPBearer()
        self.scheme_name = "HTTPBearer"
        self.roles, self.allowed = roles, requirement(roles)

    async def __call__(self, connection: HTTPConnection) -> User:
        scope = connection.scope
        values = [value for name, value in scope["headers"] if name == b"authorization"]
        try:
            return await client_of(connection)._submit(bearer_token(values), self.allowed)
        except RolegateError as error:
            log_mistake(error, self.roles)
            if scope["type"] == "websocket" and not can_deny(scope):
                raise WebSocketException(close_code(error), error.detail) from error
            raise HTTPException(error.status, error.detail, error_headers(error)) from error


#: The user of a request: any user with a valid token.
current_user = _Require(None)


def require(*roles: RoleName) -> _Require:
    """The user of a request, who must have one of these roles now: ``require("author", "admin")``."""
    return _Require(roles)


def client_of(connection: HTTPConnection) -> AsyncClient:
    """The client of the application that serves this request or WebSocket."""
    state = connection.app.state
    client: Optional[AsyncClient] = getattr(state, "rolegate", None)
    if client is None:
        client = state.rolegate = AsyncClient.from_env()
    return client
