"""Sessions, and what a credential is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Optional

from .api_key import optional_time
from .auth.v1 import auth_pb2 as pb
from .errors import Malformed
from .user import User


@dataclass(frozen=True)
class Session:
    """A session, without its token. Times are in UTC."""

    id: int
    user_id: int
    #: As the client named it; ``None``: without a name.
    name: Optional[str]
    created_at: datetime
    #: When it was last good for a decision; ``None``: never.
    last_used_at: Optional[datetime]
    #: The address and the User-Agent of the client that made it; ``None``: unknown.
    client_address: Optional[str]
    user_agent: Optional[str]
    #: When it ends, used or not.
    expires_at: datetime
    #: When it ends unless it is used.
    idle_expires_at: datetime
    #: Whether it is the credential of the call.
    current: bool

    @classmethod
    def of(cls, message: pb.Session) -> Session:
        """One without an id or a time is ``Malformed``."""
        has_ends = message.HasField("expires_at") and message.HasField("idle_expires_at")
        if message.id < 1 or not message.HasField("created_at") or not has_ends:
            raise Malformed("a session without an id or a time")
        return cls(
            message.id,
            message.user_id,
            message.name if message.HasField("name") else None,
            message.created_at.ToDatetime(timezone.utc),
            optional_time(message, "last_used_at"),
            message.client_address if message.HasField("client_address") else None,
            message.user_agent if message.HasField("user_agent") else None,
            message.expires_at.ToDatetime(timezone.utc),
            message.idle_expires_at.ToDatetime(timezone.utc),
            message.current,
        )


@dataclass(frozen=True)
class NewSession:
    """A session that was made. ``token`` is sent like an access token, and never shown again."""

    token: str
    session: Session
    user: User

    @classmethod
    def of(cls, message: pb.CreateSessionResponse) -> NewSession:
        """What the service returned."""
        return cls(message.token, Session.of(message.session), User.of(message.user))

    def __repr__(self) -> str:
        return f"NewSession(session={self.session!r}, user={self.user!r})"


_KINDS = {
    pb.CREDENTIAL_KIND_ACCESS_TOKEN: "access_token",
    pb.CREDENTIAL_KIND_SESSION: "session",
    pb.CREDENTIAL_KIND_API_KEY: "api_key",
}


@dataclass(frozen=True)
class CurrentUser:
    """The bearer of a credential, with the role of decisions."""

    user: User
    #: What the credential is: ``access_token``, ``session`` or ``api_key``.
    credential_kind: str
    #: When the credential ends at the latest; ``None``: never.
    expires_at: Optional[datetime]

    @classmethod
    def of(cls, message: pb.GetCurrentUserResponse) -> CurrentUser:
        """A credential of another kind is ``Malformed``."""
        kind = _KINDS.get(message.credential.kind)
        if kind is None:
            raise Malformed("an unknown kind of credential")
        expires_at = optional_time(message.credential, "expires_at")
        return cls(User.of(message.user), kind, expires_at)
