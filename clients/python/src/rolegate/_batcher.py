"""Concurrent requests share calls, without added latency and without stale answers.

A request joins only a call that has not been sent, because a call in flight could return what was true
before the request was made. A lone request is sent at once; those that arrive while a call is in flight
share the next one. The rule is that of the crate ``rolegate-batcher``.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Awaitable, Callable, Generic, List, Sequence, TypeVar, Union

from .errors import DeadlineExceeded, RolegateError, Unavailable

Request = TypeVar("Request")
Answer = TypeVar("Answer")

#: A call in flight for longer, at a replica that hangs for example, no longer delays the next one.
STALL_TIMEOUT = 0.02
MAX_IN_FLIGHT = 16


@dataclass(eq=False)
class _Member(Generic[Request, Answer]):
    request: Request
    deadline: float
    answer: asyncio.Future[Answer]
    timer: asyncio.TimerHandle


class Batcher(Generic[Request, Answer]):
    """Batches requests of one event loop. Each has its own deadline of ``timeout`` seconds."""

    def __init__(
        self,
        send: Callable[[List[Request], float], Awaitable[Sequence[Union[Answer, RolegateError]]]],
        max_size: int,
        timeout: float,
    ) -> None:
        """``send`` makes one call that lasts until a time of the loop; its answers are in the order of
        the requests."""
        self._send, self._max_size, self._timeout = send, max_size, timeout
        self._waiting: List[_Member[Request, Answer]] = []
        #: Calls in flight, and those of them that are younger than the stall timeout.
        self._in_flight = self._progressing = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def submit(self, request: Request) -> Answer:
        """Answers a request with the next call. One that is cancelled before is left out of it."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout
        answer: asyncio.Future[Answer] = loop.create_future()
        timer = loop.call_at(deadline, _expire, answer)
        self._waiting.append(_Member(request, deadline, answer, timer))
        self._send_next()
        try:
            return await answer
        finally:
            timer.cancel()

    def _send_next(self) -> None:
        """Sends the next batch if none is in flight, or if all in flight are stalled."""
        if self._progressing or self._in_flight >= MAX_IN_FLIGHT or not self._waiting:
            return
        waiting = [member for member in self._waiting if not member.answer.done()]
        batch, self._waiting = waiting[: self._max_size], waiting[self._max_size :]
        if batch:
            self._in_flight += 1
            self._progressing += 1
            task = asyncio.get_running_loop().create_task(self._deliver(batch))
            # The loop itself keeps no task alive.
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _deliver(self, batch: List[_Member[Request, Answer]]) -> None:
        loop = asyncio.get_running_loop()
        is_progressing = True

        def stop_counting() -> None:
            nonlocal is_progressing
            if is_progressing:
                is_progressing = False
                self._progressing -= 1

        def stall() -> None:
            stop_counting()
            self._send_next()

        timer = loop.call_later(STALL_TIMEOUT, stall)
        answers: Sequence[Union[Answer, Exception]] = []
        try:
            latest = max(member.deadline for member in batch)
            answers = await self._send([member.request for member in batch], latest)
        except Exception as error:
            answers = [error] * len(batch)
        finally:
            timer.cancel()
            stop_counting()
            self._in_flight -= 1
            for index, member in enumerate(batch):
                if not member.answer.done():
                    answer = answers[index] if index < len(answers) else Unavailable("no answer")
                    if isinstance(answer, Exception):
                        member.answer.set_exception(answer)
                    else:
                        member.answer.set_result(answer)
            # Callers that were just answered often submit again at once: they join the next batch.
            loop.call_soon(self._send_next)


def _expire(answer: asyncio.Future[Answer]) -> None:
    if not answer.done():
        answer.set_exception(DeadlineExceeded("the service did not answer in time"))
