"""Users and roles."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import List, Optional, Union

from .auth.v1 import auth_pb2 as pb
from .errors import Malformed


class Role(str, Enum):
    """The role of a user; the values are the names in JSON."""

    USER = "user"
    AUTHOR = "author"
    ADMIN = "admin"

    # As of `enum.StrEnum`, which Python has since 3.11.
    __str__ = str.__str__


#: A role or its name. An unknown name is a ``ValueError``, because it is a mistake of the program.
RoleName = Union[Role, str]

_TO_WIRE = {Role.USER: pb.ROLE_USER, Role.AUTHOR: pb.ROLE_AUTHOR, Role.ADMIN: pb.ROLE_ADMIN}
_FROM_WIRE = {number: role for role, number in _TO_WIRE.items()}


def role_number(role: RoleName) -> pb.Role.ValueType:
    """The role in the contract."""
    return _TO_WIRE[Role(role)]


def role_of(number: pb.Role.ValueType) -> Role:
    """A role that this version does not know is ``Malformed``: any other would be a guess."""
    role = _FROM_WIRE.get(number)
    if role is None:
        raise Malformed("an unknown role")
    return role


@dataclass(frozen=True)
class User:
    """A user, with the role stored when the service answered."""

    id: int
    username: str
    role: Role
    disabled: bool = False

    @classmethod
    def of(cls, message: pb.User) -> User:
        """A user without an id or with an unknown role is ``Malformed``, never a user without rights."""
        if message.id < 1:
            raise Malformed("a user without an id")
        return cls(message.id, message.username, role_of(message.role), message.disabled)


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
