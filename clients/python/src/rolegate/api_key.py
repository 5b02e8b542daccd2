"""API keys."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Optional

from google.protobuf.message import Message

from .auth.v1 import auth_pb2 as pb
from .errors import Malformed
from .user import RoleName, role_of


def optional_time(message: Message, field: str) -> Optional[datetime]:
    """A time in UTC; ``None`` if it is unset."""
    return getattr(message, field).ToDatetime(timezone.utc) if message.HasField(field) else None


@dataclass(frozen=True)
class ApiKey:
    """An API key, without the key itself. Times are in UTC."""

    id: int
    user_id: int
    #: As its user named it; not unique.
    name: str
    #: The first 8 characters of the key.
    prefix: str
    #: The highest role that it grants; ``None``: the user's.
    role: Optional[RoleName]
    created_at: datetime
    #: When it ends; ``None``: never.
    expires_at: Optional[datetime]
    #: When it was last good for a decision; ``None``: never.
    last_used_at: Optional[datetime]
    #: The username of the admin who created it for the user; ``None``: the user or an operator did.
    created_by: Optional[str] = None

    @classmethod
    def of(cls, message: pb.ApiKey) -> ApiKey:
        """A role that is none is ``Malformed``: without it the key would seem to grant more."""
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
        )


@dataclass(frozen=True)
class NewApiKey:
    """A key that was created. ``key`` is sent like an access token, and never shown again."""

    key: str
    api_key: ApiKey

    @classmethod
    def of(cls, message: pb.CreateApiKeyResponse) -> NewApiKey:
        """What the service returned."""
        return cls(message.key, ApiKey.of(message.api_key))

    def __repr__(self) -> str:
        return f"NewApiKey(api_key={self.api_key!r})"
