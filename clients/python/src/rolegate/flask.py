"""Decorators that protect views of Flask. The user is in ``flask.g.rolegate_user``.

The client of an application is ``app.extensions["rolegate"]``, by default ``Client.from_env()``.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, Iterable, Optional, Tuple, TypeVar

from flask import current_app, g, jsonify, make_response, request

from .client import Client
from .errors import RolegateError
from .http import error_headers, log_mistake, wsgi_token
from .identity import ProxyIdentity
from .user import RoleName, User

View = TypeVar("View", bound=Callable[..., Any])


def require(*roles: RoleName) -> Callable[[View], View]:
    """Lets a request pass if its user has one of these roles now. Put it below ``@app.route``."""
    return lambda view: _protected(view, roles)


def require_user(view: View) -> View:
    """Lets any user with a valid token pass. Put it below ``@app.route``."""
    return _protected(view, None)


def require_proxy_user(peers: Iterable[str], *roles: RoleName) -> Callable[[View], View]:
    """Lets a request pass if a proxy at one of ``peers`` names its user: see `rolegate.identity`.

    With ``roles``, the user must have one of them. Put it below ``@app.route``.
    """
    identity = ProxyIdentity(peers, *roles)
    return lambda view: _deciding(view, roles, lambda: identity.of_wsgi(request.environ))


def _protected(view: View, roles: Optional[Tuple[RoleName, ...]]) -> View:
    return _deciding(view, roles, lambda: _client().authorize(wsgi_token(request.environ), roles))


def _deciding(view: View, roles: Optional[Tuple[RoleName, ...]], decide: Callable[[], User]) -> View:
    @wraps(view)
    def protected(*args: Any, **kwargs: Any) -> Any:
        try:
            g.rolegate_user = decide()
        except RolegateError as error:
            log_mistake(error, roles)
            return make_response(jsonify(detail=error.detail), error.status, error_headers(error))
        # The view may be a coroutine, which Flask runs in an event loop.
        return current_app.ensure_sync(view)(*args, **kwargs)

    return protected  # type: ignore[return-value]


def _client() -> Client:
    extensions = current_app.extensions
    if "rolegate" not in extensions:
        extensions["rolegate"] = Client.from_env()
    client: Client = extensions["rolegate"]
    return client
