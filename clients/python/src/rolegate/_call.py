"""The description of a call: its messages, its deadline, and whether the client may repeat it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Callable, Generic, Optional, Tuple, Type, TypeVar, Union

from google.protobuf.message import Message

from ._channel import SERVICE
from .errors import TokenInvalid

#: The deadline in seconds of decisions and reads, which take milliseconds.
CALL_TIMEOUT = 5.0
#: The deadline in seconds of calls that hash a password. Hashing takes a third of a second, after a wait in a queue.
PASSWORD_TIMEOUT = 10.0
#: The delays in seconds before the second and the third attempt of a read that reached no replica.
RETRY_DELAYS = (0.01, 0.04)
#: The maximum difference between the timers of client and service, in seconds.
CLOCK_TOLERANCE = 0.1

#: The maximum number of characters of a token. Rolegate's tokens are much shorter, so a longer text is refused
#: without a call.
MAX_TOKEN = 4096
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:+/=@-]{1,64}")

Answer = TypeVar("Answer")
#: The names and values of gRPC metadata, which travel with a call.
Metadata = Tuple[Tuple[str, Union[str, bytes]], ...]


def checked_timeout(timeout: Optional[float]) -> Optional[float]:
    """Returns the timeout in seconds for all calls of a client; ``None`` for the defaults. Raises ``ValueError`` if
    it is invalid."""
    if timeout is not None and not 0 < timeout < math.inf:
        raise ValueError("timeout must be a positive number of seconds")
    return timeout


def is_token(text: str) -> bool:
    """Returns whether a text is visible ASCII without spaces, as every token and API key is."""
    return text != "" and text.isascii() and text.isprintable() and " " not in text


@dataclass(frozen=True)
class Context:
    """The request that a call serves. The service accepts both fields only from trusted callers."""

    client_address: Optional[str] = None
    request_id: Optional[str] = None

    def metadata(self) -> Metadata:
        """Returns the metadata of a call. Raises ``ValueError`` if a field is no address or no request id."""
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
    """A call that is ready to be made."""

    request: Message
    response: Type[Message]
    convert: Callable[[Any], Answer]
    #: True if the service hashes a password for the call.
    hashes: bool = False
    #: True if the call changes nothing, so that the client may repeat it.
    is_read: bool = False
    actor: Optional[str] = None

    @property
    def path(self) -> str:
        """The path of the method. Its name is the name of the request message without ``Request``."""
        return f"/{SERVICE}/{type(self.request).__name__[:-len('Request')]}"

    @property
    def timeout(self) -> float:
        return PASSWORD_TIMEOUT if self.hashes else CALL_TIMEOUT

    @property
    def retry_delays(self) -> Tuple[Optional[float], ...]:
        """The delay in seconds after each attempt; ``None`` after the last attempt."""
        return (*RETRY_DELAYS, None) if self.is_read else (None,)

    def metadata(self, context: Context) -> Metadata:
        """Returns the metadata, with the token of the actor. Raises `TokenInvalid` if metadata cannot carry it."""
        pairs = context.metadata()
        if self.actor is not None:
            if len(self.actor) > MAX_TOKEN or not is_token(self.actor):
                raise TokenInvalid
            pairs += (("authorization", f"Bearer {self.actor}"),)
        return pairs
