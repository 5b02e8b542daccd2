"""The client for asyncio. It has the same methods as the client in `rolegate.client`."""

from __future__ import annotations

import asyncio
from datetime import datetime
from types import TracebackType
from typing import AsyncGenerator, Awaitable, Dict, Iterable, List, Optional, Type, Union

from . import _calls as calls
from ._call import Answer, Call, Context, checked_timeout
from ._calls import AnyDecision, Groups, Outcome, Roles
from ._channel import Address, Tls
from ._connections import Connections
from ._groups import AsyncGroupCalls
from ._record import Watch, list_audit
from ._sign_in import AsyncSignIn
from .api_key import ApiKey, NewApiKey
from .audit import AuditPage
from .session import CurrentUser, Session
from .user import NoEnd, Role, RoleName, User, UserPage
from .user_changes import UserEvent


class AsyncClient(AsyncSignIn, AsyncGroupCalls):
    """A client with the calls of `rolegate.Client`, for asyncio. Concurrent decisions share calls.

    The client connects with the first call in each event loop. It may therefore be created before a loop runs, and
    outlive the loop.
    """

    def __init__(
        self, url: str, tls: Optional[Tls] = None, *, timeout: Optional[float] = None
    ) -> None:
        self._set_up(Address.parse(url, tls), timeout)

    @classmethod
    def from_env(cls, *, timeout: Optional[float] = None) -> AsyncClient:
        """Creates a client from ``AUTH_SERVICE_URL`` and ``AUTH_CLIENT_TLS_{CA,CERT,KEY}_FILE``."""
        client = cls.__new__(cls)
        client._set_up(Address.from_env(), timeout)
        return client

    def _set_up(self, address: Address, timeout: Optional[float]) -> None:
        self._address, self._timeout = address, checked_timeout(timeout)
        self._by_loop: Dict[asyncio.AbstractEventLoop, Connections] = {}

    async def close(self) -> None:
        """Closes the connections of the running event loop. Their calls in flight fail with `Unavailable`."""
        await self._here().close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    def _here(self) -> Connections:
        """Returns the connections of the running event loop, and creates them if there are none. Drops the connections
        of closed loops."""
        loop = asyncio.get_running_loop()
        connections = self._by_loop.get(loop)
        if connections is None:
            for other in [other for other in self._by_loop if other.is_closed()]:
                self._by_loop.pop(other, None)
            connections = self._by_loop[loop] = Connections(self._address, self._timeout)
        return connections

    def _run(self, call: Call[Answer], context: Context) -> Awaitable[Answer]:
        return self._here().run(call, context)

    def _submit(
        self, token: str, allowed: calls.Requirement, request_id: Optional[str] = None
    ) -> asyncio.Future[User]:
        """Does the same as `authorize`, for frameworks that convert the requirement only once and need no
        coroutine."""
        return self._here().decisions.submit((calls.checked(token), allowed, request_id))

    async def register(self, username: str, password: str, context: Context = Context()) -> User:
        """Creates a user with the role ``user``."""
        return await self._run(calls.register(username, password), context)

    async def verify_credentials(
        self,
        username: str,
        password: str,
        context: Context = Context(),
        *,
        accept_api_keys: bool = False,
    ) -> User:
        """Checks a username and a password, for HTTP Basic (RFC 7617).

        With ``accept_api_keys``, a valid API key of the user is accepted in place of the password.
        """
        call = calls.verify_credentials(username, password, accept_api_keys)
        return await self._run(call, context)

    async def authorize(
        self,
        token: str,
        roles: Roles = None,
        context: Context = Context(),
        *,
        groups: Groups = None,
    ) -> User:
        """Decides whether the bearer of ``token`` has one of ``roles`` or is in one of ``groups`` now. Without both,
        any user is accepted.

        Concurrent decisions share calls, which carry all request ids and no client address.
        """
        wanted = calls.requirement(roles, groups)
        return await self._submit(token, wanted, context.request_id)

    async def batch_authorize(
        self,
        decisions: Iterable[AnyDecision],
        context: Context = Context(),
    ) -> List[Outcome]:
        """Makes up to 256 decisions, each a `Decision` or a pair of a token and roles. Returns the outcomes of the
        decisions in the same order."""
        return await self._run(calls.decisions(decisions), context)

    async def create_user(
        self,
        actor: str,
        username: str,
        password: str,
        role: RoleName = Role.USER,
        context: Context = Context(),
    ) -> User:
        """Creates a user, even while registration is closed."""
        return await self._run(calls.create_user(actor, username, password, role), context)

    async def set_user_disabled(
        self, actor: str, user_id: int, disabled: bool, context: Context = Context()
    ) -> User:
        """Disables or enables a user. Every credential of a disabled user is refused."""
        return await self._run(calls.set_user_disabled(actor, user_id, disabled), context)

    async def update_user(
        self,
        actor: str,
        user_id: int,
        *,
        username: Optional[str] = None,
        disabled: Optional[bool] = None,
        until: Union[datetime, NoEnd, None] = None,
        context: Context = Context(),
    ) -> User:
        """Renames a user, disables or enables the user, sets the end of the account, or does several of these at once.

        A new name revokes the user's access tokens, but not the sessions and API keys. The account ends at ``until``,
        without its fraction of a second; ``NO_END`` removes the end. `Malformed` is raised if the service has ignored
        the end, as the previous version does. The other changes were then made.
        """
        call = calls.update_user(actor, user_id, username, disabled, until)
        return await self._run(call, context)

    async def set_user_role(
        self, actor: str, user_id: int, role: RoleName, context: Context = Context()
    ) -> User:
        """Replaces the role of a user. Every later decision uses the new role."""
        return await self._run(calls.set_user_role(actor, user_id, role), context)

    async def list_users(
        self,
        actor: str,
        limit: int = 50,
        after: int = 0,
        username_prefix: str = "",
        role: Optional[RoleName] = None,
        context: Context = Context(),
    ) -> UserPage:
        """Lists users by ascending id. A page has at most ``limit`` (1 to 200) users, with ids above ``after``."""
        call = calls.list_users(actor, limit, after, username_prefix, role)
        return await self._run(call, context)

    async def get_user(self, actor: str, user_id: int, context: Context = Context()) -> User:
        """Returns the user with this id."""
        return await self._run(calls.get_user(actor, user_id), context)

    async def delete_user(self, actor: str, user_id: int, context: Context = Context()) -> User:
        """Deletes a user and returns the deleted user."""
        return await self._run(calls.delete_user(actor, user_id), context)

    async def set_password(
        self, actor: str, user_id: int, password: str, context: Context = Context()
    ) -> User:
        """Replaces the password of another user, and revokes the user's tokens and sessions."""
        return await self._run(calls.set_password(actor, user_id, password), context)

    async def change_password(
        self, actor: str, current: str, new: str, context: Context = Context()
    ) -> User:
        """Replaces the password of the bearer of ``actor``, and revokes the user's access tokens and all sessions
        except ``actor``."""
        return await self._run(calls.change_password(actor, current, new), context)

    async def revoke_tokens(
        self, actor: str, user_id: Optional[int] = None, context: Context = Context()
    ) -> User:
        """Revokes every access token and session of a user.

        Without an id, the user is the bearer of ``actor``. If ``actor`` is a session, only that session is then
        revoked.
        """
        return await self._run(calls.revoke_tokens(actor, user_id), context)

    async def create_api_key(
        self,
        actor: str,
        name: str,
        role: Optional[RoleName] = None,
        expires_at: Optional[datetime] = None,
        context: Context = Context(),
        *,
        user_id: Optional[int] = None,
        groups: Groups = None,
    ) -> NewApiKey:
        """Creates an API key with at most ``role``. ``None`` gives the key the role of its user.

        The key has those of ``groups`` that its user is in. ``None`` gives a key with a role no groups, and a key
        without a role the groups of its user. `Malformed` is raised if the service has ignored ``groups``, as the
        previous version does.

        The key belongs to the bearer of ``actor``, or to the user with ``user_id``. An admin who creates a key for
        another user must name a role.
        """
        call = calls.create_api_key(actor, name, role, expires_at, user_id, groups)
        return await self._run(call, context)

    async def list_api_keys(
        self, actor: str, user_id: Optional[int] = None, context: Context = Context()
    ) -> List[ApiKey]:
        """Lists the API keys of a user by ascending id. Without a user id, the user is the bearer of ``actor``."""
        return await self._run(calls.list_api_keys(actor, user_id), context)

    async def delete_api_key(
        self, actor: str, key_id: int, user_id: Optional[int] = None, context: Context = Context()
    ) -> ApiKey:
        """Deletes an API key of a user and returns the key. Without a user id, the user is the bearer of ``actor``."""
        deleted = await self._run(calls.delete_api_keys(actor, key_id, user_id), context)
        return calls.only(deleted)

    async def delete_all_api_keys(
        self, actor: str, user_id: Optional[int] = None, context: Context = Context()
    ) -> List[ApiKey]:
        """Deletes all API keys of a user and returns the keys.

        Without a user id, the user is the bearer of ``actor``.
        """
        return await self._run(calls.delete_api_keys(actor, None, user_id), context)

    async def list_sessions(
        self, actor: str, user_id: Optional[int] = None, context: Context = Context()
    ) -> List[Session]:
        """Lists the sessions of a user by ascending id. Without a user id, the user is the bearer of ``actor``."""
        return await self._run(calls.list_sessions(actor, user_id), context)

    async def delete_session(
        self,
        actor: str,
        session_id: int,
        user_id: Optional[int] = None,
        context: Context = Context(),
    ) -> Session:
        """Revokes a session of a user and returns the session.

        Without a user id, the user is the bearer of ``actor``.
        """
        ended = await self._run(calls.delete_sessions(actor, session_id, user_id), context)
        return calls.only(ended)

    async def delete_all_sessions(
        self, actor: str, user_id: Optional[int] = None, context: Context = Context()
    ) -> List[Session]:
        """Revokes all sessions of a user except ``actor`` itself, and returns the revoked sessions.

        Without a user id, the user is the bearer of ``actor``.
        """
        return await self._run(calls.delete_sessions(actor, None, user_id), context)

    async def get_current_user(self, actor: str, context: Context = Context()) -> CurrentUser:
        """Returns the bearer of ``actor`` and the kind of the credential. ``actor`` may be any credential."""
        return await self._run(calls.get_current_user(actor), context)

    async def list_roles(self, actor: str, context: Context = Context()) -> List[RoleName]:
        """Returns the roles that auth-service has."""
        return await self._run(calls.list_roles(actor), context)

    async def get_usernames(
        self, ids: Iterable[int], context: Context = Context()
    ) -> Dict[int, str]:
        """Returns the usernames of up to 256 users by id, without ids that do not exist. The call needs no actor."""
        return await self._run(calls.get_usernames(ids), context)

    async def list_audit(
        self,
        actor: str,
        limit: int = 50,
        after: Optional[int] = None,
        user_id: Optional[int] = None,
        actor_id: Optional[int] = None,
        event: str = "",
        own: bool = False,
        context: Context = Context(),
    ) -> AuditPage:
        """Lists the record, the newest entry first.

        A page has at most ``limit`` (1 to 200) entries, with revisions below ``after``.

        ``own`` selects only entries about the actor's own user. The actor then need not be an admin.
        """
        call = list_audit(actor, limit, after, user_id, actor_id, event, own)
        return await self._run(call, context)

    def watch_users(
        self,
        actor: Optional[str],
        from_revision: Optional[int],
        context: Context = Context(),
        seal: str = "",
    ) -> AsyncGenerator[UserEvent, None]:
        """Yields the changes of users after a revision. The watch continues through outages, and has no deadline.

        Without a revision, all users come first. ``seal`` is the last stored seal; pass it with or without a
        revision. ``actor`` may be an API key of an admin. If ``actor`` is ``None``, the client certificate identifies
        the caller. `rolegate.user_changes` explains what to do with the events. A refusal that does not end by
        waiting is raised.
        """
        return self._here().watch(Watch(actor, from_revision, context, seal))
