"""The client for threads, with one method for each call of the contract."""

from __future__ import annotations

import threading
import time
from datetime import datetime
from types import TracebackType
from typing import Any, Dict, Generator, Iterable, List, Optional, Type, Union

import grpc

from . import _calls as calls
from ._call import CLOCK_TOLERANCE, Answer, Call, Context, checked_timeout
from ._calls import AnyDecision, Groups, Outcome, Roles
from ._channel import Address, Tls
from ._groups import GroupCalls
from ._record import Watch, follow, list_audit
from ._sign_in import SignIn
from ._status import error_of
from .api_key import ApiKey, NewApiKey
from .audit import AuditPage
from .errors import Unavailable
from .session import CurrentUser, Session
from .user import NoEnd, Role, RoleName, User, UserPage
from .user_changes import UserEvent


class Client(SignIn, GroupCalls):
    """A client of every replica of auth-service behind ``url``. Threads may share it.

    ``actor`` is the access token or session of an admin, unless the call says otherwise. Calls raise the exceptions
    of `rolegate.errors`. A call ends after ``timeout`` seconds. The default is 5, or 10 for a call that hashes a
    password. Calls that change nothing are repeated if they reached no replica.
    """

    def __init__(
        self, url: str, tls: Optional[Tls] = None, *, timeout: Optional[float] = None
    ) -> None:
        self._connect(Address.parse(url, tls), timeout)

    @classmethod
    def from_env(cls, *, timeout: Optional[float] = None) -> Client:
        """Creates a client from ``AUTH_SERVICE_URL`` and ``AUTH_CLIENT_TLS_{CA,CERT,KEY}_FILE``."""
        client = cls.__new__(cls)
        client._connect(Address.from_env(), timeout)
        return client

    def _connect(self, address: Address, timeout: Optional[float]) -> None:
        self._timeout = checked_timeout(timeout)
        self._closed = threading.Event()
        self._channels = {hashes: address.channel() for hashes in (False, True)}
        self._methods: Dict[str, grpc.UnaryUnaryMultiCallable[Any, Any]] = {}

    def close(self) -> None:
        """Closes all connections. Calls in flight fail with `Unavailable`."""
        self._closed.set()
        for channel in self._channels.values():
            channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def _run(self, call: Call[Answer], context: Context) -> Answer:
        method = self._methods.get(call.path)
        if method is None:
            method = self._channels[call.hashes].unary_unary(
                call.path, type(call.request).SerializeToString, call.response.FromString
            )
            self._methods[call.path] = method
        metadata = call.metadata(context)
        deadline = time.monotonic() + (self._timeout or call.timeout)
        for delay in call.retry_delays:
            try:
                timeout = deadline - time.monotonic()
                return call.convert(method(call.request, timeout=timeout, metadata=metadata))
            except grpc.RpcError as error:
                is_overdue = time.monotonic() + CLOCK_TOLERANCE >= deadline
                failure = error_of(error, is_overdue)
                if delay is None or not isinstance(failure, Unavailable):
                    raise failure from error
                time.sleep(delay)
        raise AssertionError("the last attempt returns or raises")

    def register(self, username: str, password: str, context: Context = Context()) -> User:
        """Creates a user with the role ``user``."""
        return self._run(calls.register(username, password), context)

    def verify_credentials(
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
        return self._run(calls.verify_credentials(username, password, accept_api_keys), context)

    def authorize(
        self,
        token: str,
        roles: Roles = None,
        context: Context = Context(),
        *,
        groups: Groups = None,
    ) -> User:
        """Decides whether the bearer of ``token`` has one of ``roles`` or is in one of ``groups`` now. Without both,
        any user is accepted."""
        call = calls.authorize(calls.checked(token), calls.requirement(roles, groups))
        return self._run(call, context)

    def batch_authorize(
        self,
        decisions: Iterable[AnyDecision],
        context: Context = Context(),
    ) -> List[Outcome]:
        """Makes up to 256 decisions, each a `Decision` or a pair of a token and roles. Returns the outcomes of the
        decisions in the same order."""
        return self._run(calls.decisions(decisions), context)

    def create_user(
        self,
        actor: str,
        username: str,
        password: str,
        role: RoleName = Role.USER,
        context: Context = Context(),
    ) -> User:
        """Creates a user, even while registration is closed."""
        return self._run(calls.create_user(actor, username, password, role), context)

    def set_user_disabled(
        self, actor: str, user_id: int, disabled: bool, context: Context = Context()
    ) -> User:
        """Disables or enables a user. Every credential of a disabled user is refused."""
        return self._run(calls.set_user_disabled(actor, user_id, disabled), context)

    def update_user(
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
        return self._run(call, context)

    def set_user_role(
        self, actor: str, user_id: int, role: RoleName, context: Context = Context()
    ) -> User:
        """Replaces the role of a user. Every later decision uses the new role."""
        return self._run(calls.set_user_role(actor, user_id, role), context)

    def list_users(
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
        return self._run(call, context)

    def get_user(self, actor: str, user_id: int, context: Context = Context()) -> User:
        """Returns the user with this id."""
        return self._run(calls.get_user(actor, user_id), context)

    def delete_user(self, actor: str, user_id: int, context: Context = Context()) -> User:
        """Deletes a user and returns the deleted user."""
        return self._run(calls.delete_user(actor, user_id), context)

    def set_password(
        self, actor: str, user_id: int, password: str, context: Context = Context()
    ) -> User:
        """Replaces the password of another user, and revokes the user's tokens and sessions."""
        return self._run(calls.set_password(actor, user_id, password), context)

    def change_password(
        self, actor: str, current: str, new: str, context: Context = Context()
    ) -> User:
        """Replaces the password of the bearer of ``actor``, and revokes the user's access tokens and all sessions
        except ``actor``."""
        return self._run(calls.change_password(actor, current, new), context)

    def revoke_tokens(
        self, actor: str, user_id: Optional[int] = None, context: Context = Context()
    ) -> User:
        """Revokes every access token and session of a user.

        Without an id, the user is the bearer of ``actor``. If ``actor`` is a session, only that session is then
        revoked.
        """
        return self._run(calls.revoke_tokens(actor, user_id), context)

    def create_api_key(
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
        return self._run(call, context)

    def list_api_keys(
        self, actor: str, user_id: Optional[int] = None, context: Context = Context()
    ) -> List[ApiKey]:
        """Lists the API keys of a user by ascending id. Without a user id, the user is the bearer of ``actor``."""
        return self._run(calls.list_api_keys(actor, user_id), context)

    def delete_api_key(
        self, actor: str, key_id: int, user_id: Optional[int] = None, context: Context = Context()
    ) -> ApiKey:
        """Deletes an API key of a user and returns the key. Without a user id, the user is the bearer of ``actor``."""
        deleted = self._run(calls.delete_api_keys(actor, key_id, user_id), context)
        return calls.only(deleted)

    def delete_all_api_keys(
        self, actor: str, user_id: Optional[int] = None, context: Context = Context()
    ) -> List[ApiKey]:
        """Deletes all API keys of a user and returns the keys.

        Without a user id, the user is the bearer of ``actor``.
        """
        return self._run(calls.delete_api_keys(actor, None, user_id), context)

    def list_sessions(
        self, actor: str, user_id: Optional[int] = None, context: Context = Context()
    ) -> List[Session]:
        """Lists the sessions of a user by ascending id. Without a user id, the user is the bearer of ``actor``."""
        return self._run(calls.list_sessions(actor, user_id), context)

    def delete_session(
        self,
        actor: str,
        session_id: int,
        user_id: Optional[int] = None,
        context: Context = Context(),
    ) -> Session:
        """Revokes a session of a user and returns the session.

        Without a user id, the user is the bearer of ``actor``.
        """
        ended = self._run(calls.delete_sessions(actor, session_id, user_id), context)
        return calls.only(ended)

    def delete_all_sessions(
        self, actor: str, user_id: Optional[int] = None, context: Context = Context()
    ) -> List[Session]:
        """Revokes all sessions of a user except ``actor`` itself, and returns the revoked sessions.

        Without a user id, the user is the bearer of ``actor``.
        """
        return self._run(calls.delete_sessions(actor, None, user_id), context)

    def get_current_user(self, actor: str, context: Context = Context()) -> CurrentUser:
        """Returns the bearer of ``actor`` and the kind of the credential. ``actor`` may be any credential."""
        return self._run(calls.get_current_user(actor), context)

    def list_roles(self, actor: str, context: Context = Context()) -> List[RoleName]:
        """Returns the roles that auth-service has."""
        return self._run(calls.list_roles(actor), context)

    def get_usernames(
        self, ids: Iterable[int], context: Context = Context()
    ) -> Dict[int, str]:
        """Returns the usernames of up to 256 users by id, without ids that do not exist. The call needs no actor."""
        return self._run(calls.get_usernames(ids), context)

    def list_audit(
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
        return self._run(call, context)

    def watch_users(
        self,
        actor: Optional[str],
        from_revision: Optional[int],
        context: Context = Context(),
        seal: str = "",
    ) -> Generator[UserEvent, None, None]:
        """Yields the changes of users after a revision. The watch continues through outages, and has no deadline.

        Without a revision, all users come first. ``seal`` is the last stored seal; pass it with or without a
        revision. ``actor`` may be an API key of an admin. If ``actor`` is ``None``, the client certificate identifies
        the caller. `rolegate.user_changes` explains what to do with the events. A refusal that does not end by
        waiting is raised.
        """
        watch = Watch(actor, from_revision, context, seal)
        return follow(self._channels[False], self._closed, watch)
