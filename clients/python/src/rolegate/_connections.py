"""The connections of an `AsyncClient` in one event loop. gRPC's channels and futures belong to a single loop."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncGenerator, Dict, List, Optional, Sequence, Tuple

import grpc
import grpc.aio

from . import _calls as calls
from ._batcher import Batcher
from ._call import CLOCK_TOLERANCE, CALL_TIMEOUT, Answer, Call, Context, Metadata
from ._calls import Outcome
from ._channel import Address
from ._record import Watch, follow_async
from ._status import error_of
from .errors import Unavailable
from .user import User
from .user_changes import UserEvent

#: The maximum number of bytes for the ids of requests that share a call. A peer refuses a header that is too long.
_MAX_ID_LIST = 9 * 1024

#: A decision: a token, a requirement and the id of the request.
_Decision = Tuple[str, calls.Requirement, Optional[str]]


class Connections:
    """Makes calls, each within ``timeout`` seconds. If ``timeout`` is ``None``, each call has the default deadline of
    its kind."""

    def __init__(self, address: Address, timeout: Optional[float]) -> None:
        self._address, self._timeout = address, timeout
        self._channels: Dict[bool, grpc.aio.Channel] = {}
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._methods: Dict[str, grpc.aio.UnaryUnaryMultiCallable[Any, Any]] = {}
        self.decisions: Batcher[_Decision, User] = Batcher(
            self._decide, calls.MAX_BATCH, timeout or CALL_TIMEOUT
        )

    async def close(self) -> None:
        if not self._closed.done():
            self._closed.set_result(None)
        for channel in self._channels.values():
            await channel.close(None)

    def _channel(self, hashes: bool) -> grpc.aio.Channel:
        channel = self._channels.get(hashes)
        if channel is None:
            channel = self._channels[hashes] = self._address.async_channel()
        return channel

    def _method(self, call: Call[Answer]) -> grpc.aio.UnaryUnaryMultiCallable[Any, Any]:
        method = self._methods[call.path] = self._channel(call.hashes).unary_unary(
            call.path, type(call.request).SerializeToString, call.response.FromString
        )
        return method

    def watch(self, watch: Watch) -> AsyncGenerator[UserEvent, None]:
        return follow_async(self._channel(False), self._closed, watch)

    async def run(self, call: Call[Answer], context: Context) -> Answer:
        deadline = asyncio.get_running_loop().time() + (self._timeout or call.timeout)
        return await self._run_until(deadline, call, call.metadata(context))

    async def _run_until(
        self, deadline: float, call: Call[Answer], metadata: Metadata
    ) -> Answer:
        time = asyncio.get_running_loop().time
        method = self._methods.get(call.path) or self._method(call)
        for delay in call.retry_delays:
            try:
                response = await method(
                    call.request, timeout=deadline - time(), metadata=metadata
                )
                return call.convert(response)
            except grpc.RpcError as error:
                failure = error_of(error, time() + CLOCK_TOLERANCE >= deadline)
                if delay is None or not isinstance(failure, Unavailable):
                    raise failure from error
                await asyncio.sleep(delay)
        raise AssertionError("the last attempt returns or raises")

    async def _decide(self, items: List[_Decision], deadline: float) -> Sequence[Outcome]:
        """Sends one decision as an ``Authorize``, or several as a ``BatchAuthorize``, and returns their outcomes in
        order."""
        ids = ",".join([id for _, _, id in items if id])
        if len(ids) > _MAX_ID_LIST:
            ids = ids[: ids.rindex(",", 0, _MAX_ID_LIST)]
        metadata: Metadata = (("x-request-id", ids),) if ids else ()
        if len(items) == 1:
            token, allowed, _ = items[0]
            return [await self._run_until(deadline, calls.authorize(token, allowed), metadata)]
        batch = calls.batch_authorize([(token, allowed) for token, allowed, _ in items])
        return await self._run_until(deadline, batch, metadata)
