"""The calls of the contract, each described once for both clients."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    Iterable,
    List,
    Optional,
    Protocol,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from google.protobuf.message import Message

from ._channel import SERVICE
from ._status import refusal
from .auth.v1 import auth_pb2 as pb
from .errors import Malformed, RolegateError, TokenInvalid
from .user import Login, RoleName, User, UserPage, role_number, role_numbers

#: Seconds for decisions and reads, which take milliseconds.
READ_TIMEOUT = 5.0
#: Seconds for calls that hash a password: a third of a second of work behind a queue.
PASSWORD_TIMEOUT = 10.0
#: Delays before the second and the third attempt of a read that reached no replica.
RETRY_DELAYS = (0.01, 0.04)
#: How far the timers of both sides may differ.
CLOCK_TOLERANCE = 0.1
#: Items of one ``BatchAuthorize``.
MAX_BATCH = 256

_TOKEN = re.compile(r"[!-~]{1,4096}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:+/=@-]{1,64}")

Answer = TypeVar("Answer")
#: One of many decisions.
Outcome = Union[User, RolegateError]
#: Names and values that travel with a call.
Metadata = Tuple[Tuple[str, Union[str, bytes]], ...]


@dataclass(frozen=True)
class Context:
    """The request that a call serves. The service uses both from trusted callers only."""

    client_address: Optional[str] = None
    request_id: Optional[str] = None

    def metadata(self) -> Metadata:
        """The metadata of a call; a ``ValueError`` for what is no address or no id."""
        pairs: Metadata = ()
        if self.client_address is not None:
            pairs += (("x-client-address", str(ip_address(self.client_address))),)
        if self.request_id is not None:
            if not _REQUEST_ID.fullmatch(self.request_id):
                raise ValueError("not a request id")
            pairs += (("x-request-id", self.request_id),)
        return pairs


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """A call that can be made."""

    request: Message
    response: Type[Message]
    convert: Callable[[Any], Answer]
    #: Whether it hashes a password.
    hashes: bool = False
    #: Whether it changes nothing, so that it may be made again.
    is_read: bool = False
    actor: Optional[str] = None

    @property
    def path(self) -> str:
        """The method, which has the name of its message."""
        return f"/{SERVICE}/{type(self.request).__name__[:-len('Request')]}"

    @property
    def timeout(self) -> float:
        return PASSWORD_TIMEOUT if self.hashes else READ_TIMEOUT

    @property
    def retry_delays(self) -> Tuple[Optional[float], ...]:
        """The delay after each attempt; ``None`` after the last."""
        return (*RETRY_DELAYS, None) if self.is_read else (None,)

    def metadata(self, context: Context) -> Metadata:
        """A token that metadata cannot carry is no token."""
        pairs = context.metadata()
        if self.actor is not None:
            if not _TOKEN.fullmatch(self.actor):
                raise TokenInvalid
            pairs += (("authorization", f"Bearer {self.actor}"),)
        return pairs


def register(username: str, password: str) -> Call[User]:
    request = pb.RegisterRequest(username=username, password=password)
    return Call(request, pb.RegisterResponse, _user, hashes=True)


def login(username: str, password: str) -> Call[Login]:
    request = pb.LoginRequest(username=username, password=password)
    return Call(request, pb.LoginResponse, _login, hashes=True)


def verify_credentials(username: str, password: str) -> Call[User]:
    request = pb.VerifyCredentialsRequest(username=username, password=password)
    return Call(request, pb.VerifyCredentialsResponse, _user, hashes=True)


def authorize_request(token: str, roles: Optional[Iterable[RoleName]]) -> pb.AuthorizeRequest:
    """A decision. ``None``: any user. A token that cannot be one would only take space in a batch."""
    if not _TOKEN.fullmatch(token):
        raise TokenInvalid
    if roles is None:
        return pb.AuthorizeRequest(access_token=token, any_authenticated=pb.AnyAuthenticated())
    allowed = pb.AllowedRoles(roles=role_numbers(roles))
    return pb.AuthorizeRequest(access_token=token, roles=allowed)


def authorize(request: pb.AuthorizeRequest) -> Call[User]:
    return Call(request, pb.AuthorizeResponse, _user, is_read=True)


def batch_authorize(items: List[pb.AuthorizeRequest]) -> Call[List[Outcome]]:
    def outcomes(response: pb.BatchAuthorizeResponse) -> List[Outcome]:
        # Outcomes belong to items by their order: with one missing, users would get another's.
        if len(response.outcomes) != len(items):
            raise Malformed("not one outcome for each item")
        return [_outcome(outcome) for outcome in response.outcomes]

    request = pb.BatchAuthorizeRequest(items=items)
    return Call(request, pb.BatchAuthorizeResponse, outcomes, is_read=True)


def create_user(actor: str, username: str, password: str, role: RoleName) -> Call[User]:
    request = pb.CreateUserRequest(username=username, password=password, role=role_number(role))
    return Call(request, pb.CreateUserResponse, _user, hashes=True, actor=actor)


def set_user_disabled(actor: str, user_id: int, disabled: bool) -> Call[User]:
    request = pb.SetUserDisabledRequest(user_id=user_id, disabled=disabled)
    return Call(request, pb.SetUserDisabledResponse, _user, actor=actor)


def set_user_role(actor: str, user_id: int, role: RoleName) -> Call[User]:
    request = pb.SetUserRoleRequest(user_id=user_id, role=role_number(role))
    return Call(request, pb.SetUserRoleResponse, _user, actor=actor)


def list_users(
    actor: str, limit: int, after: int, username_prefix: str, role: Optional[RoleName]
) -> Call[UserPage]:
    request = pb.ListUsersRequest(page_size=limit, after=after, username_prefix=username_prefix)
    if role is not None:
        request.role = role_number(role)
    return Call(request, pb.ListUsersResponse, _page, is_read=True, actor=actor)


def get_user(actor: str, user_id: int) -> Call[User]:
    request = pb.GetUserRequest(user_id=user_id)
    return Call(request, pb.GetUserResponse, _user, is_read=True, actor=actor)


def delete_user(actor: str, user_id: int) -> Call[User]:
    request = pb.DeleteUserRequest(user_id=user_id)
    return Call(request, pb.DeleteUserResponse, _user, actor=actor)


def set_password(actor: str, user_id: int, password: str) -> Call[User]:
    request = pb.SetPasswordRequest(user_id=user_id, password=password)
    return Call(request, pb.SetPasswordResponse, _user, hashes=True, actor=actor)


def change_password(actor: str, current: str, new: str) -> Call[User]:
    request = pb.ChangePasswordRequest(current_password=current, new_password=new)
    return Call(request, pb.ChangePasswordResponse, _user, hashes=True, actor=actor)


def get_usernames(ids: Iterable[int]) -> Call[Dict[int, str]]:
    request = pb.BatchGetUsersRequest(ids=ids)
    return Call(request, pb.BatchGetUsersResponse, _usernames, is_read=True)


class _WithUser(Protocol):
    @property
    def user(self) -> pb.User: ...


def _user(response: _WithUser) -> User:
    return User.of(response.user)


def _login(response: pb.LoginResponse) -> Login:
    return Login(response.access_token, User.of(response.user))


def _page(response: pb.ListUsersResponse) -> UserPage:
    following = response.next_after if response.HasField("next_after") else None
    return UserPage([User.of(user) for user in response.users], following)


def _usernames(response: pb.BatchGetUsersResponse) -> Dict[int, str]:
    return {user.id: user.username for user in response.users}


def _outcome(outcome: pb.AuthorizeOutcome) -> Outcome:
    try:
        if outcome.WhichOneof("outcome") == "refusal_reason":
            return refusal(outcome.refusal_reason)
        return User.of(outcome.user)
    except RolegateError as error:
        return error
