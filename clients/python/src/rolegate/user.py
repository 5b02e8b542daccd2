"""Users and roles."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import List, Optional, Tuple, Union

from .auth.v1 import auth_pb2 as pb
from .errors import Malformed


class Role(str, Enum):
    """The roles that always exist; the values are their names. Others are a ``str``."""

    USER = "user"
    AUTHOR = "author"
    ADMIN = "admin"

    # As of `enum.StrEnum`, which Python has since 3.11.
    __str__ = str.__str__


#: The name of a role. auth-service knows which exist, and refuses others.
RoleName = Union[Role, str]

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_NUMBERS = {"user": pb.ROLE_USER, "author": pb.ROLE_AUTHOR, "admin": pb.ROLE_ADMIN}
_BY_NUMBER = {number: Role(name) for name, number in _NUMBERS.items()}
_BY_NAME = {role.value: role for role in Role}


def role_number(role: RoleName) -> pb.Role.ValueType:
    """The role in a request to the version before, which refuses the number of any other."""
    return _NUMBERS.get(role, pb.ROLE_UNSPECIFIED)


@lru_cache(maxsize=1024)
def allowed_roles(names: Tuple[RoleName, ...]) -> pb.AllowedRoles:
    """A requirement, of which a service has few; nothing may change it. auth-service checks the names."""
    # The version before must admit nobody by an added role, and refuse what is no name.
    numbers = [role_number(name) for name in names if name in _NUMBERS or not _NAME.fullmatch(name)]
    return pb.AllowedRoles(role_names=names, roles=numbers)


def role_of(name: str, number: pb.Role.ValueType) -> RoleName:
    """The role of a response: its name, or in one of the version before its number.

    What is neither is ``Malformed``: any role would be a guess.
    """
    role = _BY_NAME.get(name) if name else _BY_NUMBER.get(number)
    if role is not None:
        return role
    if not _NAME.fullmatch(name):
        raise Malformed("an unknown role")
    return name


@dataclass(frozen=True)
class User:
    """A user, with the role stored when the service answered; one of `Role`, or the name of another.

    In decisions it is ``user`` for a stored role that grants nothing.
    """

    id: int
    username: str
    role: RoleName
    disabled: bool = False

    @classmethod
    def of(cls, message: pb.User) -> User:
        """A user without an id or a role is ``Malformed``, never a user without rights."""
        if message.id < 1:
            raise Malformed("a user without an id")
        role = role_of(message.role_name, message.role)
        return cls(message.id, message.username, role, message.disabled)


@dataclass(frozen=True)
class Login:
    """What a login returns."""

    access_token: str
    user: User

    def __repr__(self) -> str:
        return f"Login(user={self.user!r})"


@dataclass(frozen=True)
class UserPage:
    """A page of users by ascending id; ``next`` is the ``after`` of the next page, ``None`` on the last."""

    users: List[User]
    next: Optional[int]
