"""Decorators that protect views of Django. Their client is ``Client.from_env()``."""

from __future__ import annotations

import asyncio
from functools import lru_cache, wraps
from typing import Any, Callable, Iterable, Optional, Tuple, TypeVar

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from ._calls import Groups, names_of
from .client import Client
from .errors import RolegateError
from .http import error_headers, log_mistake, wsgi_token
from .identity import ProxyIdentity
from .user import RoleName, User


class AuthenticatedHttpRequest(HttpRequest):
    """The type of the request of a protected view: ``def view(request: AuthenticatedHttpRequest)``."""

    rolegate_user: User


View = TypeVar("View", bound=Callable[..., HttpResponseBase])


def require(*roles: RoleName, groups: Groups = None) -> Callable[[View], View]:
    """Lets a request pass if its user has one of these roles or is in one of ``groups`` now. The user is in
    ``request.rolegate_user``.

    The view must not be a coroutine.
    """
    names = names_of(groups)
    return lambda view: _protected(view, roles, names)


def require_user(view: View) -> View:
    """Lets any user with a valid token pass. The user is in ``request.rolegate_user``. The view must not be a
    coroutine."""
    return _protected(view, None, None)


def require_proxy_user(
    peers: Iterable[str], *roles: RoleName, groups: Groups = None
) -> Callable[[View], View]:
    """Lets a request pass if a proxy at one of ``peers`` names its user: see `rolegate.identity`.

    With ``roles`` or ``groups``, the user must have one of the roles or be in one of the groups. The user is in
    ``request.rolegate_user``. The view must not be a coroutine.
    """
    identity = ProxyIdentity(peers, *roles, groups=groups)

    def user_of(request: HttpRequest) -> User:
        scope = getattr(request, "scope", None)
        return identity.of_wsgi(request.META) if scope is None else identity.of_asgi(scope)

    return lambda view: _deciding(view, user_of, roles, identity.groups)


def _protected(
    view: View, roles: Optional[Tuple[RoleName, ...]], groups: Optional[Tuple[str, ...]]
) -> View:
    def decide(request: HttpRequest) -> User:
        return _client().authorize(wsgi_token(request.META), roles, groups=groups)

    return _deciding(view, decide, roles, groups)


def _deciding(
    view: View,
    decide: Callable[[HttpRequest], User],
    roles: Optional[Tuple[RoleName, ...]],
    groups: Optional[Tuple[str, ...]],
) -> View:
    if asyncio.iscoroutinefunction(view):
        raise TypeError("the view is a coroutine; use rolegate.asgi")

    @wraps(view)
    def protected(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            user = decide(request)
        except RolegateError as error:
            log_mistake(error, roles, groups)
            headers = error_headers(error)
            body = {"detail": error.detail}
            return JsonResponse(body, status=error.status, headers=headers)
        setattr(request, "rolegate_user", user)
        return view(request, *args, **kwargs)

    return protected  # type: ignore[return-value]


@lru_cache(maxsize=None)
def _client() -> Client:
    return Client.from_env()
