"""Dependencies of FastAPI that answer 401, 403, 503 and 504 as the gateway does.

The client of an application is ``app.state.rolegate``, by default ``AsyncClient.from_env()``.
"""

# No `from __future__ import annotations`: older versions of FastAPI cannot resolve them in a `__call__`.
from typing import Iterable, Optional

from fastapi import HTTPException, Request
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from ._calls import requirement
from .aio import AsyncClient
from .errors import RolegateError
from .http import bearer_token, error_headers
from .user import RoleName, User


class _Require(SecurityBase):
    """A dependency with the scheme of its tokens, which FastAPI shows in ``/docs``."""

    def __init__(self, roles: Optional[Iterable[RoleName]]) -> None:
        self.model = HTTPBearer()
        self.scheme_name = "HTTPBearer"
        self.allowed = requirement(roles)

    async def __call__(self, request: Request) -> User:
        headers = request.scope["headers"]
        values = [value for name, value in headers if name == b"authorization"]
        try:
            return await client_of(request)._submit(bearer_token(values), self.allowed)
        except RolegateError as error:
            raise HTTPException(error.status, error.detail, error_headers(error)) from error


#: The user of a request: any user with a valid token.
current_user = _Require(None)


def require(*roles: RoleName) -> _Require:
    """The user of a request, who must have one of these roles now: ``require("author", "admin")``."""
    if not roles:
        raise ValueError("require() needs a role; current_user is any user")
    return _Require(roles)


def client_of(request: Request) -> AsyncClient:
    """The client of the application that serves this request."""
    state = request.app.state
    client: Optional[AsyncClient] = getattr(state, "rolegate", None)
    if client is None:
        client = state.rolegate = AsyncClient.from_env()
    return client
