"""Sessions, and the user of a credential, as the service returns them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Optional

from ._times import optional_time
from .auth.v1 import auth_pb2 as pb
from .errors import Malformed
from .user import User


@dataclass(frozen=True)
class Session:
    """A session, without its token. Times are in UTC."""

    id: int
    user_id: int
    #: The name that the client gave the session; ``None`` if it has none.
    name: Optional[str]
    created_at: datetime
    #: The time at which a decision last accepted the session; ``None`` if none has.
    last_used_at: Optional[datetime]
    #: The address and the User-Agent of the client that created the session; ``None`` if they are unknown.
    client_address: Optional[str]
    user_agent: Optional[str]
    #: The time at which the session expires, even if it is used.
    expires_at: datetime
    #: The time at which the session expires if it is not used before.
    idle_expires_at: datetime
    #: True if the session is the credential of the call.
    current: bool

    @classmethod
    def of(cls, message: pb.Session) -> Session:
        """Reads a session. Raises `Malformed` if it has no id or lacks a time."""
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
    """A session that was just created. Programs send ``token`` like an access token. The service never returns it
    again."""

    token: str
    session: Session
    user: User

    @classmethod
    def of(cls, message: pb.CreateSessionResponse) -> NewSession:
        """Reads the response of the service."""
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
    """The user of a credential, with the role that decisions use."""

    user: User
    #: The kind of the credential: ``access_token``, ``session`` or ``api_key``.
    credential_kind: str
    #: The time at which the credential expires at the latest; ``None`` if it never expires.
    expires_at: Optional[datetime]

    @classmethod
    def of(cls, message: pb.GetCurrentUserResponse) -> CurrentUser:
        """Reads the response. Raises `Malformed` for a credential of an unknown kind."""
        kind = _KINDS.get(message.credential.kind)
        if kind is None:
            raise Malformed("an unknown kind of credential")
        expires_at = optional_time(message.credential, "expires_at")
        return cls(User.of(message.user), kind, expires_at)
