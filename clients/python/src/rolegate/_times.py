"""Converts times between the messages of the contract and Python."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Optional

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from .errors import Malformed

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def optional_time(message: Message, field: str) -> Optional[datetime]:
    """Returns a time in UTC, or ``None`` if the field is not set."""
    return getattr(message, field).ToDatetime(timezone.utc) if message.HasField(field) else None


def time_at(seconds: int) -> datetime:
    """Returns the time in UTC of a number of Unix seconds. Raises `Malformed` if ``datetime`` has no such time."""
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise Malformed("a time beyond all years") from None


def timestamp(time: datetime, name: str) -> Timestamp:
    """Converts a time. Raises ``ValueError`` if it has no time zone. The message then calls it ``name``."""
    if time.tzinfo is None:
        raise ValueError(f"{name} needs a time zone")
    converted = Timestamp()
    converted.FromDatetime(time)
    return converted
