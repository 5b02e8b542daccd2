"""Entries of the record of changes, sign-ins and refusals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional

from google.protobuf.message import Message

from .auth.v1 import auth_pb2 as pb
from .errors import Malformed


def _optional(message: Message, field: str) -> Any:
    return getattr(message, field) if message.HasField(field) else None


@dataclass(frozen=True)
class AuditEntry:
    """An entry of the record: one event."""

    #: The number of the entry. It ascends in the order of the commits, without gaps except after a restore.
    revision: int
    #: The time of the event in UTC, in whole seconds, by the clock of the database.
    time: datetime
    #: The name of the event, such as ``role_changed``.
    event: str
    #: The user whom the event is about; ``None`` if the user is unknown.
    user_id: Optional[int]
    #: The name of the user at the time of the event; ``None`` if it is unknown or was erased.
    username: Optional[str]
    #: The user who caused the event; ``None`` for an unknown client and for the operator.
    actor_id: Optional[int]
    #: The name of the actor at the time of the event; ``None`` if there is no ``actor_id`` or the name was erased.
    actor: Optional[str]
    #: The ids of the API key and of the session that the actor used; ``None`` if the actor used none.
    actor_key: Optional[int]
    actor_session: Optional[int]
    #: The address of the client; ``None`` if it is unknown, was erased, or may not be shown to the caller.
    client_address: Optional[str]
    #: The id of the request, or several ids, separated by commas, if requests shared a call.
    request_id: Optional[str]
    #: Details of the event, such as ``{"from": "user", "to": "admin"}``. They never contain a secret.
    details: Dict[str, Any]

    @classmethod
    def of(cls, message: pb.AuditEntry) -> AuditEntry:
        """Reads an entry. Raises `Malformed` if it lacks a revision, a time or details."""
        try:
            details = json.loads(message.details)
        except ValueError:
            details = None
        if message.revision < 1 or not message.HasField("time") or not isinstance(details, dict):
            raise Malformed("an entry without a revision, a time or details")
        return cls(
            message.revision,
            message.time.ToDatetime(timezone.utc),
            message.event,
            _optional(message, "user_id"),
            _optional(message, "username"),
            _optional(message, "actor_id"),
            _optional(message, "actor"),
            _optional(message, "actor_key"),
            _optional(message, "actor_session"),
            _optional(message, "client_address"),
            _optional(message, "request_id"),
            details,
        )


@dataclass(frozen=True)
class AuditPage:
    """A page of the record, the newest entry first. ``next`` is the value of ``after`` that requests the next page;
    ``None`` on the last page."""

    entries: List[AuditEntry]
    next: Optional[int]

    @classmethod
    def of(cls, message: pb.ListAuditResponse) -> AuditPage:
        """Reads the response of the service."""
        entries = [AuditEntry.of(entry) for entry in message.entries]
        return cls(entries, _optional(message, "next_after"))
