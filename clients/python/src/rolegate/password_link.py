"""Links by which users choose their passwords, and the limits on the length of these passwords."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from .auth.v1 import auth_pb2 as pb
from .errors import Malformed
from .user import User


@dataclass(frozen=True)
class PasswordLink:
    """A password link. The service never returns its token again."""

    token: str
    #: When the link expires, in UTC, unless it is used before.
    expires_at: datetime

    @classmethod
    def of(cls, message: pb.PasswordLink) -> PasswordLink:
        """Reads a link. Raises `Malformed` if it has no token or no expiry."""
        if not message.token or not message.HasField("expires_at"):
            raise Malformed("a password link without a token or its end")
        return cls(message.token, message.expires_at.ToDatetime(timezone.utc))

    def __repr__(self) -> str:
        return f"PasswordLink(expires_at={self.expires_at!r})"


@dataclass(frozen=True)
class NewUser:
    """A user who was created without a password, and the link by which the user chooses one."""

    user: User
    link: PasswordLink

    @classmethod
    def of(cls, message: pb.CreateUserResponse) -> NewUser:
        """Reads the response. Raises `Malformed` without a link, because the user could then never sign in."""
        return cls(User.of(message.user), PasswordLink.of(message.password_link))


@dataclass(frozen=True)
class PasswordLinkHolder:
    """The user whose password a link sets."""

    username: str
    #: When the link expires, in UTC, unless it is used before.
    expires_at: datetime

    @classmethod
    def of(cls, message: pb.GetPasswordLinkResponse) -> PasswordLinkHolder:
        """Reads the response. Raises `Malformed` if it has no name or no expiry."""
        if not message.username or not message.HasField("expires_at"):
            raise Malformed("a password link without its user or its end")
        return cls(message.username, message.expires_at.ToDatetime(timezone.utc))


@dataclass(frozen=True)
class PasswordPolicy:
    """The limits on the length of a new password, in bytes. In addition, the service may refuse common passwords."""

    min_length: int
    max_length: int

    @classmethod
    def of(cls, message: pb.GetPasswordPolicyResponse) -> PasswordPolicy:
        """Converts the response. Raises `Malformed` if no length is within the limits."""
        if not 0 < message.min_length <= message.max_length:
            raise Malformed("lengths that no password has")
        return cls(message.min_length, message.max_length)
