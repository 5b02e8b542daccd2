"""Decorators that protect views of Flask. The user is in ``flask.g.rolegate_user``.

The client of an application is ``app.extensions["rolegate"]``, by default ``Client.from_env()``.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, Iterable, Optional, Tuple, TypeVar

from flask import current_app, g, jsonify, make_response, request

from ._calls import Groups, names_of
from .client import Client
from .errors import RolegateError
from .http import error_headers, log_mistake, wsgi_token
from .identity import ProxyIdentity
from .user import RoleName, User

View = TypeVar("View", bound=Callable[..., Any])


def require(*roles: RoleName, groups: Groups = None) -> Callable[[View], View]:
    """Lets a request pass if its user has one of these roles or is in one of ``groups`` now. Put it below
    ``@app.route``."""
    names = names_of(groups)
    return lambda view: _protected(view, roles, names)


def require_user(view: View) -> View:
    """Lets any user with a valid token pass. Put it below ``@app.route``."""
    return _protected(view, None, None)


def require_proxy_user(
    peers: Iterable[str], *roles: RoleName, groups: Groups = None
) -> Callable[[View], View]:
    """Lets a request pass if a proxy at one of ``peers`` names its user: see `rolegate.identity`.

    With ``roles`` or ``groups``, the user must have one of the roles or be in one of the groups. Put it below
    ``@app.route``.
    """
    identity = ProxyIdentity(peers, *roles, groups=groups)

    def decide() -> User:
        return identity.of_wsgi(request.environ)

    return lambda view: _deciding(view, decide, roles, identity.groups)


def _protected(
    view: View, roles: Optional[Tuple[RoleName, ...]], groups: Optional[Tuple[str, ...]]
) -> View:
    def decide() -> User:
        return _client().authorize(wsgi_token(request.environ), roles, groups=groups)

    return _deciding(view, decide, roles, groups)


def _deciding(
    view: View,
    decide: Callable[[], User],
    roles: Optional[Tuple[RoleName, ...]],
    groups: Optional[Tuple[str, ...]],
) -> View:
    @wraps(view)
    def protected(*args: Any, **kwargs: Any) -> Any:
        try:
            g.rolegate_user = decide()
        except RolegateError as error:
            log_mistake(error, roles, groups)
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
