"""What every call needs: its messages, its deadline, and whether it may be made again."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Callable, Generic, Optional, Tuple, Type, TypeVar, Union

from google.protobuf.message import Message

from ._channel import SERVICE
from .errors import TokenInvalid

#: Seconds for decisions and reads, which take milliseconds.
READ_TIMEOUT = 5.0
#: Seconds for calls that hash a password: a third of a second of work behind a queue.
PASSWORD_TIMEOUT = 10.0
#: Delays before the second and the third attempt of a read that reached no replica.
RETRY_DELAYS = (0.01, 0.04)
#: How far the timers of both sides may differ.
CLOCK_TOLERANCE = 0.1

#: Characters of an access token. Ours are much shorter; a longer one is refused without a call.
MAX_TOKEN = 4096
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:+/=@-]{1,64}")

Answer = TypeVar("Answer")
#: Names and values that travel with a call.
Metadata = Tuple[Tuple[str, Union[str, bytes]], ...]


def checked_timeout(timeout: Optional[float]) -> Optional[float]:
    """The seconds of every call of a client; ``None``: those above."""
    if timeout is not None and not 0 < timeout < math.inf:
        raise ValueError("timeout must be a positive number of seconds")
    return timeout


def is_token(text: str) -> bool:
    """Whether this is visible ASCII without spaces, which access tokens and API keys are."""
    return text != "" and text.isascii() and text.isprintable() and " " not in text


@dataclass(frozen=True)
class Context:
    """The request that a call serves. The service uses both from trusted callers only."""

    client_address: Optional[str] = None
    request_id: Optional[str] = None

    def metadata(self) -> Metadata:
        """The metadata of a call; a ``ValueError`` for what is no address or no id."""
        pairs: Metadata = ()
        if self.client_address is not None:
            pairs += (("x-client-address", str(ip_address(self.client_address))),)
        if self.request_id is not None:
            if not _REQUEST_ID.fullmatch(self.request_id):
                raise ValueError("not a request id")
            pairs += (("x-request-id", self.request_id),)
        return pairs


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """A call that can be made."""

    request: Message
    response: Type[Message]
    convert: Callable[[Any], Answer]
    #: Whether it hashes a password.
    hashes: bool = False
    #: Whether it changes nothing, so that it may be made again.
    is_read: bool = False
    actor: Optional[str] = None

    @property
    def path(self) -> str:
        """The method, which has the name of its message."""
        return f"/{SERVICE}/{type(self.request).__name__[:-len('Request')]}"

    @property
    def timeout(self) -> float:
        return PASSWORD_TIMEOUT if self.hashes else READ_TIMEOUT

    @property
    def retry_delays(self) -> Tuple[Optional[float], ...]:
        """The delay after each attempt; ``None`` after the last."""
        return (*RETRY_DELAYS, None) if self.is_read else (None,)

    def metadata(self, context: Context) -> Metadata:
        """A token that metadata cannot carry is no token."""
        pairs = context.metadata()
        if self.actor is not None:
            if len(self.actor) > MAX_TOKEN or not is_token(self.actor):
                raise TokenInvalid
            pairs += (("authorization", f"Bearer {self.actor}"),)
        return pairs
