"""Describes each call of the contract once for both clients, and converts the responses."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import (
    Dict,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Protocol,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from ._call import MAX_TOKEN, Call, is_token
from ._status import refusal
from ._times import time_at, timestamp
from .api_key import ApiKey, NewApiKey
from .auth.v1 import auth_pb2 as pb
from .errors import Malformed, RolegateError, TokenInvalid
from .session import CurrentUser, Session
from .user import NoEnd, RoleName, User, UserPage, allowed_roles, role_number, role_of

#: The maximum number of items of one ``BatchAuthorize``.
MAX_BATCH = 256

#: One role or several. ``None`` requires no role.
Roles = Union[RoleName, Iterable[RoleName], None]

#: The name of one group, or the names of several. ``None`` requires no group.
Groups = Union[str, Iterable[str], None]


class Decision(NamedTuple):
    """A decision of ``batch_authorize``: whether the bearer of ``token`` has one of ``roles`` or is in one of
    ``groups``. Without both, any user is accepted."""

    token: str
    roles: Roles = None
    groups: Groups = None


#: A decision without groups may be just a pair of a token and roles.
AnyDecision = Union[Decision, Tuple[str, Roles]]

#: The requirement of a decision: one of these roles or groups, or any user.
Requirement = Optional[pb.AllowedRoles]
_ANY = pb.AnyAuthenticated()

#: The outcome of one of many decisions.
Outcome = Union[User, RolegateError]

Deleted = TypeVar("Deleted")


def register(username: str, password: str) -> Call[User]:
    request = pb.RegisterRequest(username=username, password=password)
    return Call(request, pb.RegisterResponse, _user, hashes=True)


def verify_credentials(username: str, password: str, accept_api_keys: bool) -> Call[User]:
    request = pb.VerifyCredentialsRequest(
        username=username, password=password, accept_api_keys=accept_api_keys
    )
    return Call(request, pb.VerifyCredentialsResponse, _user, hashes=True)


def checked(token: str) -> str:
    """Returns the token unchanged. Raises `TokenInvalid` for a text that cannot be a token, because it would only
    take space in a batch."""
    if len(token) > MAX_TOKEN or not is_token(token):
        raise TokenInvalid
    return token


def names_of(names: Union[str, Iterable[str], None]) -> Optional[Tuple[str, ...]]:
    """Converts the roles or the groups that a caller gave to a tuple."""
    if names is None:
        return None
    # A single name must not be taken for an iterable of letters.
    return (names,) if isinstance(names, str) else tuple(names)


def requirement(roles: Roles, groups: Groups = None) -> Requirement:
    """Converts the roles and groups that a caller gave to a requirement. If both are ``None``, it stands for any
    authenticated user.

    If there is no name in them, auth-service refuses the requirement, because it must not stand for any user.
    """
    if roles is None and groups is None:
        return None
    return allowed_roles(names_of(roles) or (), names_of(groups) or ())


def authorize(token: str, allowed: Requirement) -> Call[User]:
    if allowed is None:
        request = pb.AuthorizeRequest(access_token=token, any_authenticated=_ANY)
    else:
        request = pb.AuthorizeRequest(access_token=token, roles=allowed)
    return Call(request, pb.AuthorizeResponse, _user, is_read=True)


def decisions(
    requested: Iterable[AnyDecision],
) -> Call[List[Outcome]]:
    """Describes many decisions in one call. An invalid token gets a refusal as its own outcome, and does not affect
    the other decisions."""
    places: List[Optional[TokenInvalid]] = []
    items = []
    for fields in requested:
        decision = Decision(*fields)
        try:
            token = checked(decision.token)
            items.append((token, requirement(decision.roles, decision.groups)))
            places.append(None)
        except TokenInvalid as error:
            places.append(error)
    call = batch_authorize(items)

    def outcomes(response: pb.BatchAuthorizeResponse) -> List[Outcome]:
        answered = iter(call.convert(response))
        return [refused or next(answered) for refused in places]

    return replace(call, convert=outcomes)


def batch_authorize(items: Sequence[Tuple[str, Requirement]]) -> Call[List[Outcome]]:
    def outcomes(response: pb.BatchAuthorizeResponse) -> List[Outcome]:
        # Outcomes belong to items by their order. If one is missing, users would get the outcomes of others.
        if len(response.outcomes) != len(items):
            raise Malformed("not one outcome for each item")
        return [_outcome(outcome) for outcome in response.outcomes]

    request = pb.BatchAuthorizeRequest()
    add = request.items.add
    for token, allowed in items:
        if allowed is None:
            add(access_token=token, any_authenticated=_ANY)
        else:
            add(access_token=token, roles=allowed)
    return Call(request, pb.BatchAuthorizeResponse, outcomes, is_read=True)


def create_user(actor: str, username: str, password: str, role: RoleName) -> Call[User]:
    request = pb.CreateUserRequest(
        username=username, password=password, role=role_number(role), role_name=role
    )
    return Call(request, pb.CreateUserResponse, _user, hashes=True, actor=actor)


def set_user_disabled(actor: str, user_id: int, disabled: bool) -> Call[User]:
    request = pb.SetUserDisabledRequest(user_id=user_id, disabled=disabled)
    return Call(request, pb.SetUserDisabledResponse, _user, actor=actor)


def update_user(
    actor: str,
    user_id: int,
    username: Optional[str],
    disabled: Optional[bool],
    until: Union[datetime, NoEnd, None],
) -> Call[User]:
    request = pb.UpdateUserRequest(user_id=user_id, username=username, disabled=disabled)
    if isinstance(until, NoEnd):
        request.no_end.SetInParent()
    elif until is not None:
        request.until.CopyFrom(timestamp(until, "until"))
    # The service drops the fraction of a second.
    end = time_at(request.until.seconds) if request.HasField("until") else None

    def updated(response: pb.UpdateUserResponse) -> User:
        user = User.of(response.user)
        # The previous version of the service ignores the end, so the account would not end as the caller expects.
        if until is not None and user.until != end:
            raise Malformed("a user without the requested end")
        return user

    return Call(request, pb.UpdateUserResponse, updated, actor=actor)


def set_user_role(actor: str, user_id: int, role: RoleName) -> Call[User]:
    number = role_number(role)
    request = pb.SetUserRoleRequest(user_id=user_id, role=number, role_name=role)
    return Call(request, pb.SetUserRoleResponse, _user, actor=actor)


def list_users(
    actor: str, limit: int, after: int, username_prefix: str, role: Optional[RoleName]
) -> Call[UserPage]:
    request = pb.ListUsersRequest(page_size=limit, after=after, username_prefix=username_prefix)
    if role is not None:
        request.role, request.role_name = role_number(role), role
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


def revoke_tokens(actor: str, user_id: Optional[int]) -> Call[User]:
    request = pb.RevokeTokensRequest(user_id=user_id)
    return Call(request, pb.RevokeTokensResponse, _user, actor=actor)


def create_api_key(
    actor: str,
    name: str,
    role: Optional[RoleName],
    expires_at: Optional[datetime],
    user_id: Optional[int],
    groups: Groups,
) -> Call[NewApiKey]:
    request = pb.CreateApiKeyRequest(name=name, user_id=user_id)
    if role is not None:
        request.role, request.role_name = role_number(role), role
    if expires_at is not None:
        request.expires_at.CopyFrom(timestamp(expires_at, "expires_at"))
    names = names_of(groups)
    if names is not None:
        # An empty list must also be sent, because a key without a list can have all groups of its user.
        request.groups.SetInParent()
        request.groups.names.extend(names)

    def new_key(response: pb.CreateApiKeyResponse) -> NewApiKey:
        new = NewApiKey.of(response)
        # The previous version of the service ignores the user, so the key would belong to the actor, who is an admin.
        if user_id not in (None, new.api_key.user_id):
            raise Malformed("an API key of another user")
        # It also ignores the groups, so the key could have all groups of its user after an upgrade.
        granted = new.api_key.groups
        if names is not None and (granted is None or set(granted) != set(names)):
            raise Malformed("an API key without the requested groups")
        return new

    return Call(request, pb.CreateApiKeyResponse, new_key, actor=actor)


def list_api_keys(actor: str, user_id: Optional[int]) -> Call[List[ApiKey]]:
    request = pb.ListApiKeysRequest(user_id=user_id)
    return Call(request, pb.ListApiKeysResponse, _api_keys, is_read=True, actor=actor)


def delete_api_keys(
    actor: str, key_id: Optional[int], user_id: Optional[int]
) -> Call[List[ApiKey]]:
    request = pb.DeleteApiKeysRequest(user_id=user_id)
    if key_id is None:
        request.all.SetInParent()
    else:
        request.key_id = key_id
    return Call(request, pb.DeleteApiKeysResponse, _api_keys, actor=actor)


def list_sessions(actor: str, user_id: Optional[int]) -> Call[List[Session]]:
    request = pb.ListSessionsRequest(user_id=user_id)
    return Call(request, pb.ListSessionsResponse, _sessions, is_read=True, actor=actor)


def delete_sessions(
    actor: str, session_id: Optional[int], user_id: Optional[int]
) -> Call[List[Session]]:
    request = pb.DeleteSessionsRequest(user_id=user_id)
    if session_id is None:
        request.all.SetInParent()
    else:
        request.session_id = session_id
    return Call(request, pb.DeleteSessionsResponse, _sessions, actor=actor)


def get_current_user(actor: str) -> Call[CurrentUser]:
    request = pb.GetCurrentUserRequest()
    return Call(request, pb.GetCurrentUserResponse, CurrentUser.of, is_read=True, actor=actor)


def list_roles(actor: str) -> Call[List[RoleName]]:
    return Call(pb.ListRolesRequest(), pb.ListRolesResponse, _roles, is_read=True, actor=actor)


def get_usernames(ids: Iterable[int]) -> Call[Dict[int, str]]:
    request = pb.BatchGetUsersRequest(ids=ids)
    return Call(request, pb.BatchGetUsersResponse, _usernames, is_read=True)


def only(deleted: List[Deleted]) -> Deleted:
    """Returns the only API key or session in the list. Raises `Malformed` if the service has not deleted exactly
    one."""
    if len(deleted) != 1:
        raise Malformed("not one deletion")
    return deleted[0]


class _WithUser(Protocol):
    @property
    def user(self) -> pb.User: ...


def _user(response: _WithUser) -> User:
    return User.of(response.user)


def _page(response: pb.ListUsersResponse) -> UserPage:
    following = response.next_after if response.HasField("next_after") else None
    return UserPage([User.of(user) for user in response.users], following)


class _WithApiKeys(Protocol):
    @property
    def api_keys(self) -> Iterable[pb.ApiKey]: ...


def _api_keys(response: _WithApiKeys) -> List[ApiKey]:
    return [ApiKey.of(key) for key in response.api_keys]


class _WithSessions(Protocol):
    @property
    def sessions(self) -> Iterable[pb.Session]: ...


def _sessions(response: _WithSessions) -> List[Session]:
    return [Session.of(session) for session in response.sessions]


def _roles(response: pb.ListRolesResponse) -> List[RoleName]:
    return [role_of(name, pb.ROLE_UNSPECIFIED) for name in response.role_names]


def _usernames(response: pb.BatchGetUsersResponse) -> Dict[int, str]:
    return {user.id: user.username for user in response.users}


def _outcome(outcome: pb.AuthorizeOutcome) -> Outcome:
    try:
        if outcome.WhichOneof("outcome") == "refusal_reason":
            return refusal(outcome.refusal_reason)
        return User.of(outcome.user)
    except RolegateError as error:
        return error
