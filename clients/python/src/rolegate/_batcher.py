"""Lets concurrent requests share calls, without added latency and without stale answers.

A request joins only a call that has not been sent, because a call in flight could return data from before the
request. Requests of one turn of the event loop share a call, and so do requests that arrive while a call is in
flight. The crate ``rolegate-batcher`` works in the same way, but sends a lone request at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from copy import copy
from typing import Awaitable, Callable, Deque, Generic, List, Sequence, Tuple, TypeVar, Union

from .errors import DeadlineExceeded, Unavailable

Request = TypeVar("Request")
Answer = TypeVar("Answer")
_Member = Tuple[Request, float, "asyncio.Future[Answer]"]
_Outcome = Union[Answer, Exception]

#: The time in seconds after which a call in flight no longer delays the next one, because its replica may hang.
STALL_TIMEOUT = 0.02
MAX_IN_FLIGHT = 16


class Batcher(Generic[Request, Answer]):
    """Batches the requests of one event loop. Each request has its own deadline of ``timeout`` seconds."""

    def __init__(
        self,
        send: Callable[[List[Request], float], Awaitable[Sequence[_Outcome[Answer]]]],
        max_size: int,
        timeout: float,
    ) -> None:
        """``send`` gets the requests of one call, and its deadline by the clock of the loop. It returns the answers
        in the order of the requests."""
        self._send, self._max_size, self._timeout = send, max_size, timeout
        self._waiting: List[_Member[Request, Answer]] = []
        #: Every unanswered request, the oldest first. All of them share one timer.
        self._deadlines: Deque[Tuple[float, asyncio.Future[Answer]]] = deque()
        self._has_timer = False
        #: The number of calls in flight, and the number of these calls that are younger than the stall timeout.
        self._in_flight = self._progressing = 0
        #: True if the loop is about to call `_send_next`.
        self._is_due = False
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, request: Request) -> asyncio.Future[Answer]:
        """Adds a request to the next call, and returns the future of its answer. A request that is canceled before
        the call is not sent."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        deadline = loop.time() + self._timeout
        self._waiting.append((request, deadline, answer))
        self._deadlines.append((deadline, answer))
        if not self._has_timer:
            self._expire()
        if not self._progressing:
            self._send_soon()
        return answer

    def _expire(self) -> None:
        """Fails the requests whose deadline has passed, and sets the timer for the next deadline."""
        loop = asyncio.get_running_loop()
        while self._deadlines:
            deadline, answer = self._deadlines[0]
            if not answer.done() and deadline > loop.time():
                loop.call_at(deadline, self._expire)
                break
            self._deadlines.popleft()
            if not answer.done():
                answer.set_exception(DeadlineExceeded("the service did not answer in time"))
        self._has_timer = bool(self._deadlines)

    def _send_next(self) -> None:
        """Sends the next batch if no call is in flight, or if all calls in flight are stalled."""
        self._is_due = False
        if self._progressing or self._in_flight >= MAX_IN_FLIGHT or not self._waiting:
            return
        waiting = [member for member in self._waiting if not member[2].done()]
        batch, self._waiting = waiting[: self._max_size], waiting[self._max_size :]
        if batch:
            self._in_flight += 1
            self._progressing += 1
            task = asyncio.get_running_loop().create_task(self._deliver(batch))
            # The loop keeps only a weak reference to a task, so this set keeps it alive.
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
        answers: Sequence[_Outcome[Answer]] = []
        try:
            # The last request of the batch has the latest deadline.
            answers = await self._send([request for request, _, _ in batch], batch[-1][1])
        except Exception as error:
            # Each request gets a copy, because raising an exception changes it.
            answers = [_copy(error) for _ in batch]
        finally:
            timer.cancel()
            stop_counting()
            self._in_flight -= 1
            for index, (_, _, future) in enumerate(batch):
                if not future.done():
                    answer = answers[index] if index < len(answers) else Unavailable("no answer")
                    if isinstance(answer, Exception):
                        future.set_exception(answer)
                    else:
                        future.set_result(answer)
            while self._deadlines and self._deadlines[0][1].done():
                self._deadlines.popleft()
            # The next batch is sent only after the callers that were just answered have run, because they often submit
            # again at once and can then join it.
            self._send_soon()

    def _send_soon(self) -> None:
        """Schedules the next batch to be sent after all callbacks that are ready now. Requests that these callbacks
        submit join the batch."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._send_next)


def _copy(error: Exception) -> Exception:
    same = copy(error)
    same.__cause__ = error.__cause__
    return same
