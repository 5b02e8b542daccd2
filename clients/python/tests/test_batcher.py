"""Tests of the batcher with a value that changes while calls are in flight, and with answers that wait for the test."""

import asyncio

import pytest

from rolegate._batcher import MAX_IN_FLIGHT, STALL_TIMEOUT, Batcher
from rolegate.errors import DeadlineExceeded, Refused, TokenInvalid, Unavailable


class Store:
    """A store that reads its value when a call arrives, and answers only after the test allows it."""

    def __init__(self, max_size=256, timeout=60.0):
        self.value, self.calls, self.may_answer = 0, [], asyncio.Semaphore(0)
        self.batcher = Batcher(self.send, max_size, timeout)

    async def send(self, names, deadline):
        value = self.value
        self.calls.append(names)
        await self.may_answer.acquire()
        if "all fail" in names:
            raise ValueError("as the test wants")
        return [TokenInvalid() if name == "refused" else value for name in names if name != "lost"]

    def read(self, name):
        async def submit():
            return await self.batcher.submit(name)

        return asyncio.create_task(submit())

    def answer(self, calls):
        for _ in range(calls):
            self.may_answer.release()


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


async def test_lone_request_is_sent_at_once():
    store = Store()
    read = store.read("a")
    await settle()
    assert store.calls == [["a"]]
    store.answer(1)
    assert await read == 0


async def test_requests_of_one_turn_of_the_loop_share_a_call():
    store = Store()
    reads = [store.read(name) for name in "abc"]
    await settle()
    assert store.calls == [["a", "b", "c"]]
    store.answer(1)
    assert await asyncio.gather(*reads) == [0] * 3


async def test_requests_made_while_a_call_is_in_flight_share_the_next_one():
    store = Store(max_size=3)
    reads = [store.read("a")]
    await settle()
    reads += [store.read(name) for name in "bcde"]
    await settle()
    assert store.calls == [["a"]]
    store.answer(3)
    assert await asyncio.gather(*reads) == [0] * 5
    assert store.calls == [["a"], ["b", "c", "d"], ["e"]]


async def test_no_answer_is_older_than_its_request():
    store = Store()
    early = store.read("a")
    await settle()
    store.value = 1
    late = store.read("a")
    await settle()
    store.answer(2)
    assert (await early, await late) == (0, 1)


async def test_cancelled_request_is_not_sent_and_cancels_no_other():
    store = Store()
    first = store.read("a")
    await settle()
    cancelled, other = store.read("cancelled"), store.read("b")
    await settle()
    cancelled.cancel()
    first.cancel()
    store.answer(2)
    assert await other == 0
    assert store.calls == [["a"], ["b"]]


async def test_stalled_call_delays_no_other_and_their_number_is_bounded():
    store = Store()
    reads = []
    for number in range(MAX_IN_FLIGHT + 4):
        reads.append(store.read(number))
        await asyncio.sleep(STALL_TIMEOUT * 1.5)
    assert len(store.calls) == MAX_IN_FLIGHT
    store.answer(MAX_IN_FLIGHT + 1)
    assert await asyncio.gather(*reads) == [0] * len(reads)
    assert len(store.calls) == MAX_IN_FLIGHT + 1


async def test_each_request_gets_its_own_failure():
    store = Store()
    first = store.read("a")
    await settle()
    refused, good, lost = store.read("refused"), store.read("b"), store.read("lost")
    await settle()
    store.answer(2)
    with pytest.raises(Refused):
        await refused
    with pytest.raises(Unavailable):
        await lost
    assert (await first, await good) == (0, 0)
    store.answer(1)
    with pytest.raises(ValueError):
        await store.read("all fail")


async def test_failure_of_a_call_is_not_one_object_for_all():
    store = Store()
    first = store.read("a")
    await settle()
    failing = [store.read("all fail"), store.read("b")]
    store.answer(2)
    one, other = await asyncio.gather(*failing, return_exceptions=True)
    assert type(one) is type(other) is ValueError and one.args == other.args and one is not other
    assert await first == 0


async def test_request_ends_at_its_own_deadline():
    store = Store(timeout=0.05)
    with pytest.raises(DeadlineExceeded):
        await store.read("a")
    store.answer(1)
    await settle()
    # The stalled call does not delay the next one.
    store.answer(1)
    assert await store.read("b") == 0
