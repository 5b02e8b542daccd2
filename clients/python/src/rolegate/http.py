"""Reads bearer tokens from HTTP requests, and turns errors into HTTP responses (RFC 6750, RFC 9110)."""

from __future__ import annotations

import logging
import math
import re
import time
from typing import Any, Dict, Mapping, Sequence

from ._calls import Groups, Roles, names_of
from .errors import NotAuthenticated, RolegateError, TokenInvalid, TokenUserNotFound

#: The form of the header. The token is visible ASCII of any length, because a token that is too long is refused
#: later.
_BEARER = re.compile(rb"bearer +([!-~]+) *", re.IGNORECASE)
_LOG = logging.getLogger("rolegate")
#: The time until which mistakes about each requirement are not logged again. A program has few requirements.
_LOGGED: Dict[str, float] = {}


def bearer_token(values: Sequence[bytes]) -> str:
    """Returns the token in the values of all ``Authorization`` headers of a request.

    Raises `NotAuthenticated` if the header is missing, repeated or not ``Bearer <token>``.
    """
    if len(values) == 1:
        match = _BEARER.fullmatch(values[0])
        if match:
            return match[1].decode("ascii")
    raise NotAuthenticated


def wsgi_token(environ: Mapping[str, Any]) -> str:
    """Returns the token of a WSGI request. WSGI servers join repeated headers, so there is one value."""
    return bearer_token([environ.get("HTTP_AUTHORIZATION", "").encode()])


def log_mistake(error: RolegateError, roles: Roles, groups: Groups = None) -> None:
    """Logs a mistake of this service that no client can fix, such as requiring a role or a group that auth-service
    does not have.

    Each requirement is logged at most once a minute.
    """
    if error.status == 500:
        wanted = _describe(roles, groups)
        now = time.monotonic()
        if now < _LOGGED.get(wanted, now):
            return
        _LOGGED[wanted] = now + 60
        _LOG.error("cannot decide about a request that needs %s: %s", wanted, error)


def _describe(roles: Roles, groups: Groups) -> str:
    """Returns a text for the log that says what a requirement needs."""
    parts = []
    if roles or (roles is not None and groups is None):
        parts.append(f"one of the roles {[*map(str.__str__, names_of(roles) or ())]}")
    if groups is not None:
        parts.append(f"one of the groups {[*(names_of(groups) or ())]}")
    return " or ".join(parts) or "a user"


def error_headers(error: RolegateError) -> Dict[str, str]:
    """Returns the headers of the response to a request that failed with ``error``."""
    headers = {"Rolegate-Reason": error.reason}
    if error.status == 401:
        was_presented = isinstance(error, (TokenInvalid, TokenUserNotFound))
        challenge = 'Bearer error="invalid_token"' if was_presented else "Bearer"
        headers["WWW-Authenticate"] = challenge
    elif error.status in (429, 503):
        # The value is in whole seconds, rounded up, so that clients do not come back too early.
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after or 1)))
    return headers


def can_deny(scope: Mapping[str, Any]) -> bool:
    """Returns whether the ASGI server can answer the handshake of a WebSocket with an HTTP response. Other servers
    can only close it."""
    return "websocket.http.response" in scope.get("extensions", {})


def close_code(error: RolegateError) -> int:
    """Returns the code for closing a WebSocket: 1008 (policy violation) for an error of the client, otherwise 1013
    (try again later)."""
    return 1008 if error.status < 500 else 1013
