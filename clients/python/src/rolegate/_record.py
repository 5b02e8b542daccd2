"""Describes the calls about the record of changes, and follows the changes of users for both clients."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any, AsyncGenerator, Generator, Iterator, Optional

import grpc
import grpc.aio

from ._call import Call, Context
from ._status import error_of
from .audit import AuditPage
from .auth.v1 import auth_pb2 as pb
from .errors import HistoryUnknown, RolegateError, SnapshotRequired, Unavailable
from .user_changes import SnapshotStart, UserEvent, event_of

#: The delay in seconds before the next stream. It doubles after each stream that brings no revision, up to the
#: maximum.
MIN_PAUSE = 0.1
MAX_PAUSE = 10.0

_LOG = logging.getLogger("rolegate")


def list_audit(
    actor: str,
    limit: int,
    after: Optional[int],
    user_id: Optional[int],
    actor_id: Optional[int],
    event: str,
    own: bool,
) -> Call[AuditPage]:
    request = pb.ListAuditRequest(
        user_id=user_id, actor_id=actor_id, event=event, after=after, page_size=limit, own=own
    )
    return Call(request, pb.ListAuditResponse, AuditPage.of, is_read=True, actor=actor)


class Watch:
    """The position of a watch. Each stream continues after the last revision that was yielded, in the same history."""

    def __init__(
        self, actor: Optional[str], revision: Optional[int], context: Context, seal: str = ""
    ) -> None:
        self._actor, self._revision, self._context = actor, revision, context
        self._seal = seal
        self._pause = MIN_PAUSE
        self._is_announced = False

    def open(self, channel: Any) -> Any:
        """Opens the next stream, which has no deadline."""
        self._is_announced = self._revision is not None
        request = pb.WatchUsersRequest(from_revision=self._revision, seal=self._seal or None)
        call = Call(request, pb.WatchUsersResponse, event_of, actor=self._actor)
        method = channel.unary_stream(
            call.path, pb.WatchUsersRequest.SerializeToString, call.response.FromString
        )
        return method(request, metadata=call.metadata(self._context))

    def events(self, response: pb.WatchUsersResponse) -> Iterator[UserEvent]:
        """Yields the event of a response. The first event of a snapshot comes after a `SnapshotStart`."""
        event = event_of(response)
        if event is None:
            return
        if not self._is_announced:
            self._is_announced = True
            yield SnapshotStart()
        if event.revision is not None:
            self._revision, self._pause = event.revision, MIN_PAUSE
        self._seal = event.seal or self._seal
        yield event

    def pause_after(self, failure: RolegateError) -> float:
        """Returns the delay in seconds before the next stream. Raises the failure if the next stream would fail as
        well."""
        if isinstance(failure, HistoryUnknown):
            _LOG.error("the service has another history of users than the one that was watched: %s", failure)
        if isinstance(failure, SnapshotRequired) and self._revision is not None:
            self._revision = None
        elif failure.status != 503:
            raise failure
        pause = max(self._pause, failure.retry_after or 0)
        if self._pause == MIN_PAUSE:
            _LOG.warning("the watch of users was interrupted and goes on: %s", failure)
        self._pause = min(self._pause * 2, MAX_PAUSE)
        return pause


def follow(
    channel: grpc.Channel, closed: threading.Event, watch: Watch
) -> Generator[UserEvent, None, None]:
    """Yields the events of one stream after another. Raises the last failure when the client is closed, or when the
    next stream would fail as well."""
    while True:
        stream = watch.open(channel)
        try:
            for response in stream:
                yield from watch.events(response)
            failure: RolegateError = Unavailable("the stream ended")
        except grpc.RpcError as error:
            failure = error_of(error, False)
        finally:
            stream.cancel()
        if closed.is_set() or closed.wait(watch.pause_after(failure)):
            raise failure


async def follow_async(
    channel: grpc.aio.Channel, closed: asyncio.Future[None], watch: Watch
) -> AsyncGenerator[UserEvent, None]:
    """Yields the events of one stream after another. Raises the last failure when the client is closed, or when the
    next stream would fail as well."""
    while True:
        stream = watch.open(channel)
        try:
            async for response in stream:
                for event in watch.events(response):
                    yield event
            failure: RolegateError = Unavailable("the stream ended")
        except grpc.RpcError as error:
            failure = error_of(error, False)
        except asyncio.CancelledError:
            # gRPC cancels the stream when the client is closed. Any other cancellation comes from the caller.
            if not closed.done():
                raise
            failure = Unavailable("the client is closed")
        finally:
            stream.cancel()
        if not closed.done():
            await asyncio.wait([closed], timeout=watch.pause_after(failure))
        if closed.done():
            raise failure
