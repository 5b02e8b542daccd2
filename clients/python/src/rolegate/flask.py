"""Decorators for views of Flask. The user is ``flask.g.rolegate_user``.

The client of an application is ``app.extensions["rolegate"]``, by default ``Client.from_env()``.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, Optional, Tuple, TypeVar

from flask import current_app, g, jsonify, make_response, request

from .client import Client
from .errors import RolegateError
from .http import error_headers, log_mistake, wsgi_token
from .user import RoleName

View = TypeVar("View", bound=Callable[..., Any])


def require(*roles: RoleName) -> Callable[[View], View]:
    """Lets requests pass whose user has one of these roles now. Goes below ``@app.route``."""
    return lambda view: _protected(view, roles)


def require_user(view: View) -> View:
    """Lets any user pass. Goes below ``@app.route``."""
    return _protected(view, None)


def _protected(view: View, roles: Optional[Tuple[RoleName, ...]]) -> View:
    @wraps(view)
    def protected(*args: Any, **kwargs: Any) -> Any:
        try:
            g.rolegate_user = _client().authorize(wsgi_token(request.environ), roles)
        except RolegateError as error:
            log_mistake(error, roles)
            return make_response(jsonify(detail=error.detail), error.status, error_headers(error))
        # A view may be a coroutine.
        return current_app.ensure_sync(view)(*args, **kwargs)

    return protected  # type: ignore[return-value]


def _client() -> Client:
    extensions = current_app.extensions
    if "rolegate" not in extensions:
        extensions["rolegate"] = Client.from_env()
    client: Client = extensions["rolegate"]
    return client
