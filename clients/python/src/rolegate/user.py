"""Users and roles, as the service returns them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import List, Optional, Tuple, Union

from ._times import time_at
from .auth.v1 import auth_pb2 as pb
from .errors import Malformed


class Role(str, Enum):
    """The roles that always exist, whose values are their names. Any other role is a ``str``."""

    USER = "user"
    AUTHOR = "author"
    ADMIN = "admin"

    # `enum.StrEnum` has the same definition, but exists only since Python 3.11.
    __str__ = str.__str__


#: The name of a role. auth-service knows which roles exist, and refuses any other.
RoleName = Union[Role, str]

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_NUMBERS = {"user": pb.ROLE_USER, "author": pb.ROLE_AUTHOR, "admin": pb.ROLE_ADMIN}
_BY_NUMBER = {number: Role(name) for name, number in _NUMBERS.items()}
_BY_NAME = {role.value: role for role in Role}


def role_number(role: RoleName) -> pb.Role.ValueType:
    """Returns the number of a role for the previous version of the service, which reads only numbers. For an added
    role, the number is one that the previous version refuses."""
    return _NUMBERS.get(role, pb.ROLE_UNSPECIFIED)


@lru_cache(maxsize=1024)
def allowed_roles(names: Tuple[RoleName, ...], groups: Tuple[str, ...] = ()) -> pb.AllowedRoles:
    """Returns the message that requires one of these roles or one of these groups. auth-service checks their names.

    A program has few requirements, so the messages are cached. Callers must not change the returned message.
    """
    # The previous version reads only the numbers. It must admit no user by an added role, and refuse an invalid name.
    numbers = [role_number(name) for name in names if name in _NUMBERS or not _NAME.fullmatch(name)]
    return pb.AllowedRoles(role_names=names, roles=numbers, group_names=groups)


def is_name(text: str) -> bool:
    """Returns whether a text can be the name of a role or of a group."""
    return _NAME.fullmatch(text) is not None


def role_of(name: str, number: pb.Role.ValueType) -> RoleName:
    """Returns the role of a response: its name, or its number in a response of the previous version.

    Raises `Malformed` if there is neither, because any role would be a guess.
    """
    role = _BY_NAME.get(name) if name else _BY_NUMBER.get(number)
    if role is not None:
        return role
    if not _NAME.fullmatch(name):
        raise Malformed("an unknown role")
    return name


@dataclass(frozen=True)
class User:
    """A user, with the role that was stored when the service answered: one of `Role`, or the name of an added role.

    In decisions, the role is ``user`` if the stored role grants nothing.
    """

    id: int
    username: str
    role: RoleName
    #: True if every credential of the user is refused, because the user was disabled or because the account has ended.
    disabled: bool = False
    #: The names of the groups that the user is in, in ascending order. In decisions about an API key, these are only
    #: the groups that the key has. The service of the previous version names none.
    groups: Tuple[str, ...] = ()
    #: The time in UTC at which the account ends; ``None`` if it has no end.
    until: Optional[datetime] = None

    @classmethod
    def of(cls, message: pb.User) -> User:
        """Reads a user. Raises `Malformed` without an id or a role, rather than return a user without rights."""
        if message.id < 1:
            raise Malformed("a user without an id")
        role = role_of(message.role_name, message.role)
        groups = tuple(message.group_names)
        until = time_at(message.until) if message.HasField("until") else None
        return cls(message.id, message.username, role, message.disabled, groups, until)


class NoEnd(Enum):
    """The type of `NO_END`."""

    NO_END = "no end"


#: Removes the end of an account: ``update_user(actor, user_id, until=NO_END)``.
NO_END = NoEnd.NO_END


@dataclass(frozen=True)
class Login:
    """The result of a login."""

    access_token: str
    user: User

    def __repr__(self) -> str:
        return f"Login(user={self.user!r})"


@dataclass(frozen=True)
class UserPage:
    """A page of users by ascending id. ``next`` is the value of ``after`` that requests the next page; ``None`` on
    the last page."""

    users: List[User]
    next: Optional[int]
