"""API keys, as the service returns them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Optional, Tuple

from ._times import optional_time
from .auth.v1 import auth_pb2 as pb
from .errors import Malformed
from .user import RoleName, role_of


@dataclass(frozen=True)
class ApiKey:
    """An API key, without the key itself. Times are in UTC."""

    id: int
    user_id: int
    #: The name that the creator gave the key, which need not be unique.
    name: str
    #: The first 8 characters of the key.
    prefix: str
    #: The highest role that the key grants. ``None`` means the role of its user.
    role: Optional[RoleName]
    created_at: datetime
    #: The time at which the key expires; ``None`` if it never expires.
    expires_at: Optional[datetime]
    #: The time at which a decision last accepted the key; ``None`` if none has.
    last_used_at: Optional[datetime]
    #: The username of the admin who created the key for the user; ``None`` if the user or an operator created it.
    created_by: Optional[str] = None
    #: The names of the groups that the key has as far as its user is in them, in ascending order. ``None`` means that
    #: the key names no groups: with a role it then has none, and without a role it has those of its user.
    groups: Optional[Tuple[str, ...]] = None

    @classmethod
    def of(cls, message: pb.ApiKey) -> ApiKey:
        """Converts an API key. Raises `Malformed` for an invalid role, because a key without a role would seem to
        grant more."""
        has_role = message.HasField("role_name") or message.HasField("role")
        role = role_of(message.role_name, message.role) if has_role else None
        if message.id < 1 or not message.HasField("created_at"):
            raise Malformed("an API key without an id or a time")
        return cls(
            message.id,
            message.user_id,
            message.name,
            message.prefix,
            role,
            message.created_at.ToDatetime(timezone.utc),
            optional_time(message, "expires_at"),
            optional_time(message, "last_used_at"),
            message.created_by if message.HasField("created_by") else None,
            tuple(message.groups.names) if message.HasField("groups") else None,
        )


@dataclass(frozen=True)
class NewApiKey:
    """A key that was just created. Programs send ``key`` like an access token. The service never returns it again."""

    key: str
    api_key: ApiKey

    @classmethod
    def of(cls, message: pb.CreateApiKeyResponse) -> NewApiKey:
        """Reads the response of the service."""
        return cls(message.key, ApiKey.of(message.api_key))

    def __repr__(self) -> str:
        return f"NewApiKey(api_key={self.api_key!r})"
