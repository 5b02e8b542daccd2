"""Decorators that protect views of Django. Their client is ``Client.from_env()``."""

from __future__ import annotations

import asyncio
from functools import lru_cache, wraps
from typing import Any, Callable, Iterable, Optional, Tuple, TypeVar

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from .client import Client
from .errors import RolegateError
from .http import error_headers, log_mistake, wsgi_token
from .identity import ProxyIdentity
from .user import RoleName, User


class AuthenticatedHttpRequest(HttpRequest):
    """The type of the request of a protected view: ``def view(request: AuthenticatedHttpRequest)``."""

    rolegate_user: User


View = TypeVar("View", bound=Callable[..., HttpResponseBase])


def require(*roles: RoleName) -> Callable[[View], View]:
    """Lets a request pass if its user has one of these roles now. The user is in ``request.rolegate_user``.

    The view must not be a coroutine.
    """
    return lambda view: _protected(view, roles)


def require_user(view: View) -> View:
    """Lets any user with a valid token pass. The user is in ``request.rolegate_user``. The view must not be a
    coroutine."""
    return _protected(view, None)


def require_proxy_user(peers: Iterable[str], *roles: RoleName) -> Callable[[View], View]:
    """Lets a request pass if a proxy at one of ``peers`` names its user: see `rolegate.identity`.

    With ``roles``, the user must have one of them. The user is in ``request.rolegate_user``. The view must not be a
    coroutine.
    """
    identity = ProxyIdentity(peers, *roles)

    def user_of(request: HttpRequest) -> User:
        scope = getattr(request, "scope", None)
        return identity.of_wsgi(request.META) if scope is None else identity.of_asgi(scope)

    return lambda view: _deciding(view, roles, user_of)


def _protected(view: View, roles: Optional[Tuple[RoleName, ...]]) -> View:
    return _deciding(view, roles, lambda request: _client().authorize(wsgi_token(request.META), roles))


def _deciding(
    view: View, roles: Optional[Tuple[RoleName, ...]], decide: Callable[[HttpRequest], User]
) -> View:
    if asyncio.iscoroutinefunction(view):
        raise TypeError("the view is a coroutine; use rolegate.asgi")

    @wraps(view)
    def protected(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            user = decide(request)
        except RolegateError as error:
            log_mistake(error, roles)
            headers = error_headers(error)
            body = {"detail": error.detail}
            return JsonResponse(body, status=error.status, headers=headers)
        setattr(request, "rolegate_user", user)
        return view(request, *args, **kwargs)

    return protected  # type: ignore[return-value]


@lru_cache(maxsize=None)
def _client() -> Client:
    return Client.from_env()
