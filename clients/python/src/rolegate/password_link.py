"""Links by which users choose their passwords."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from .auth.v1 import auth_pb2 as pb
from .errors import Malformed
from .user import User


@dataclass(frozen=True)
class PasswordLink:
    """A link, as its token, which is never shown again."""

    token: str
    #: When it ends, unless it is used before. In UTC.
    expires_at: datetime

    @classmethod
    def of(cls, message: pb.PasswordLink) -> PasswordLink:
        """One without a token or its end is ``Malformed``."""
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
        """Without the link, nobody could sign in: ``Malformed``."""
        return cls(User.of(message.user), PasswordLink.of(message.password_link))


@dataclass(frozen=True)
class PasswordLinkHolder:
    """Whose password a link sets, and until when."""

    username: str
    #: When the link ends, unless it is used before. In UTC.
    expires_at: datetime

    @classmethod
    def of(cls, message: pb.GetPasswordLinkResponse) -> PasswordLinkHolder:
        """One without a name or its end is ``Malformed``."""
        if not message.username or not message.HasField("expires_at"):
            raise Malformed("a password link without its user or its end")
        return cls(message.username, message.expires_at.ToDatetime(timezone.utc))


@dataclass(frozen=True)
class PasswordPolicy:
    """How many bytes a new password may have. A list of common ones may refuse others."""

    min_length: int
    max_length: int

    @classmethod
    def of(cls, message: pb.GetPasswordPolicyResponse) -> PasswordPolicy:
        """Lengths that no password has are ``Malformed``."""
        if not 0 < message.min_length <= message.max_length:
            raise Malformed("lengths that no password has")
        return cls(message.min_length, message.max_length)
