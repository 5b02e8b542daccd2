"""Bearer tokens of HTTP requests, and errors as HTTP responses (RFC 6750, RFC 9110)."""

from __future__ import annotations

import math
from typing import Dict, Sequence

from ._call import is_token
from .errors import NotAuthenticated, RolegateError, TokenInvalid, TokenUserNotFound

def bearer_token(values: Sequence[bytes]) -> str:
    """The token in the values of all ``Authorization`` headers of a request.

    Raises `NotAuthenticated` where the header is missing, repeated or not ``Bearer <token>``.
    """
    if len(values) == 1:
        scheme, _, rest = values[0].partition(b" ")
        # Of any length: a longer one is refused as a token.
        token = rest.strip(b" ").decode("latin-1")
        if scheme.lower() == b"bearer" and is_token(token):
            return token
    raise NotAuthenticated


def error_headers(error: RolegateError) -> Dict[str, str]:
    """The headers of the response to a request that failed with ``error``."""
    if error.status == 401:
        was_presented = isinstance(error, (TokenInvalid, TokenUserNotFound))
        return {"WWW-Authenticate": 'Bearer error="invalid_token"' if was_presented else "Bearer"}
    if error.status in (429, 503):
        # In whole seconds, rounded up, so that clients do not come back too early.
        return {"Retry-After": str(max(1, math.ceil(error.retry_after or 1)))}
    return {}
