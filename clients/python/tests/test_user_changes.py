"""Tests of ``watch_users`` with both clients. The service is a fake, because its streams end on purpose."""

import asyncio
import logging
import re
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path

import pytest
from fake_streams import Refusal, Streams, change, progress, served

from rolegate import (
    AsyncClient,
    Client,
    Context,
    Membership,
    SnapshotStart,
    UserChange,
    WatchProgress,
)
from rolegate._record import Watch
from rolegate.auth.v1 import auth_pb2 as pb
from rolegate.errors import (
    HistoryUnknown,
    Internal,
    Malformed,
    Overloaded,
    RoleInsufficient,
    SnapshotRequired,
    StoreUnavailable,
    TokenInvalid,
    TokenUserNotFound,
    Unavailable,
)

README = Path(__file__).parent.parent / "README.md"


def changed(revision, user_id, deleted=False):
    return UserChange(revision, user_id, f"user {user_id}", "user", False, deleted)


@pytest.fixture(params=["threads", "asyncio"])
def watch(request):
    """Returns the first events of a watch. All other calls of the client have a very short deadline, which must not
    end the watch."""

    def threads(url, count, from_revision):
        def events():
            return list(islice(client.watch_users("key", from_revision), count))

        # If the watch takes too long, it ends with its client.
        with ThreadPoolExecutor(1) as pool, Client(url, timeout=0.001) as client:
            return pool.submit(events).result(60)

    async def tasks(url, count, from_revision):
        events = []
        async with AsyncClient(url, timeout=0.001) as client:
            async for event in client.watch_users("key", from_revision):
                events.append(event)
                if len(events) == count:
                    return events

    def watch(streams, count, from_revision=None):
        with served(streams) as url:
            if request.param == "threads":
                return threads(url, count, from_revision)
            return asyncio.run(asyncio.wait_for(tasks(url, count, from_revision), 60))

    return watch


def test_all_users_and_the_changes_behind_them_are_yielded_once_through_interruptions(watch):
    streams = Streams(
        [change(0, 1), change(0, 2), progress(7), change(8, 9)],
        [change(9, 3, deleted=True)],
        [],
        [progress(12), change(13, 4)],
    )
    assert watch(streams, 7) == [
        SnapshotStart(),
        changed(None, 1),
        changed(None, 2),
        WatchProgress(7),
        changed(8, 9),
        changed(9, 3, deleted=True),
        WatchProgress(12),
    ]
    assert streams.begun == [None, 8, 9, 9]


def test_watch_goes_on_behind_a_stored_revision_and_announces_nothing(watch):
    for stored in (0, 3):
        streams = Streams([change(4, 1)])
        assert watch(streams, 1, from_revision=stored) == [changed(4, 1)]
        assert streams.begun == [stored]


def test_snapshot_that_is_interrupted_begins_again_and_says_so(watch):
    streams = Streams([change(0, 1)], [], [change(0, 1), progress(7)])
    expected = [SnapshotStart(), changed(None, 1)]
    assert watch(streams, 5) == [*expected, *expected, WatchProgress(7)]
    assert streams.begun == [None, None, None]


def test_changes_that_are_not_known_any_more_are_replaced_by_a_snapshot(watch):
    streams = Streams([Refusal("SNAPSHOT_REQUIRED")], [change(0, 1), progress(7)], [change(8, 1)])
    events = watch(streams, 4, from_revision=3)
    assert events == [SnapshotStart(), changed(None, 1), WatchProgress(7), changed(8, 1)]
    assert streams.begun == [3, None, 7]


def test_last_seal_is_sent_and_another_history_is_raised_and_in_the_log(watch, caplog):
    sealed = pb.WatchUsersResponse(progress=pb.WatchProgress(revision=7, seal="7:a"))
    streams = Streams(
        [change(0, 1), sealed],
        [change(8, 1)],
        [Refusal("SNAPSHOT_REQUIRED")],
        [Refusal("HISTORY_UNKNOWN")],
    )
    caplog.set_level(logging.ERROR, "rolegate")
    with pytest.raises(HistoryUnknown):
        watch(streams, 5)
    assert streams.begun == [None, 7, 8, None]
    assert streams.seals == ["", "7:a", "7:a", "7:a"]
    [line] = [it.getMessage() for it in caplog.records if it.name == "rolegate"]
    assert line.startswith("the service has another history of users")


def test_stored_seal_is_sent():
    streams = Streams([progress(4)])
    with served(streams) as url, Client(url) as client:
        next(client.watch_users("key", None, seal="3:a"))
    assert streams.seals == ["3:a"]


@pytest.mark.parametrize(
    "kind", [TokenInvalid, TokenUserNotFound, RoleInsufficient, Internal], ids=lambda it: it.reason
)
def test_refusal_is_raised(watch, kind):
    streams = Streams([change(4, 1)], [Refusal(kind.reason)])
    with pytest.raises(kind):
        watch(streams, 2, from_revision=3)
    assert streams.begun == [3, 4]


def test_refusal_for_now_is_an_interruption(watch):
    streams = Streams([Refusal("STORE_UNAVAILABLE")], [Refusal("OVERLOADED")], [change(4, 1)])
    assert watch(streams, 1, from_revision=3) == [changed(4, 1)]
    assert streams.begun == [3, 3, 3]


def test_user_without_an_id_or_a_role_is_malformed(watch):
    for bad in [change(4, 0), change(4, 1, role_name=""), change(4, 1, role_name="Admin")]:
        with pytest.raises(Malformed):
            watch(Streams([bad]), 1, from_revision=3)


def test_groups_and_ends_are_known_only_if_the_service_sends_them(watch):
    end = datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    seconds = int(end.timestamp())
    staff = {"name": "staff", "until": {"seconds": seconds}}
    streams = Streams(
        [
            change(4, 1),
            change(5, 1, groups={}),
            change(6, 1, groups={"groups": [{"name": "crew"}, staff]}, until=seconds),
        ]
    )
    unknown, none, both = watch(streams, 3, from_revision=3)
    assert (unknown.groups, unknown.until) == (None, None)
    assert (none.groups, none.until) == ((), None)
    assert (both.groups, both.until) == ((Membership("crew"), Membership("staff", end)), end)


def test_group_without_a_name_and_time_beyond_all_years_are_malformed(watch):
    for bad in [change(4, 1, groups={"groups": [{}]}), change(4, 1, groups={}, until=1 << 62)]:
        with pytest.raises(Malformed):
            watch(Streams([bad]), 1, from_revision=3)


def test_stream_has_no_deadline_and_what_a_later_version_adds_is_ignored(watch):
    streams = Streams([pb.WatchUsersResponse(), progress(0), change(4, 1, role_name="editor")])
    first, second, third = watch(streams, 3)
    assert (first, second, third.role) == (SnapshotStart(), WatchProgress(0), "editor")
    assert streams.time[0] > 1e9


def test_outage_is_in_the_log_once(watch, caplog):
    caplog.set_level(logging.WARNING, "rolegate")
    watch(Streams([], [], [progress(4)], [progress(5)]), 2, from_revision=3)
    # One interruption was before revision 4, and one after it.
    [first, second] = [it.getMessage() for it in caplog.records if it.name == "rolegate"]
    assert first == second and first.endswith("the service cannot be reached: the replica stops")


def test_pauses_are_doubled_until_a_revision_comes_and_the_service_may_want_longer_ones():
    watch = Watch("key", None, Context())
    pauses = [watch.pause_after(Unavailable()) for _ in range(9)]
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
    list(watch.events(change(0, 1)))
    assert watch.pause_after(StoreUnavailable()) == 10.0
    list(watch.events(progress(7)))
    assert watch.pause_after(Overloaded(retry_after=7.0)) == 7.0
    # The watch has forgotten its revision. A watch without a revision cannot need another snapshot.
    assert watch.pause_after(SnapshotRequired()) == 0.2
    with pytest.raises(SnapshotRequired):
        watch.pause_after(SnapshotRequired())


def test_caller_is_named_by_a_token_or_by_the_connection_alone():
    streams = Streams([progress(4)], [progress(4)])
    with served(streams) as url, Client(url) as client:
        for actor in ("key", None):
            next(client.watch_users(actor, 3, Context(request_id="id-1")))
        with pytest.raises(TokenInvalid):
            next(client.watch_users("a b", 3))
    assert [it.get("authorization") for it in streams.metadata] == ["Bearer key", None]
    assert streams.metadata[0]["x-request-id"] == "id-1"


def test_stream_ends_with_its_iterator():
    for end in ("close", "del"):
        streams = Streams([progress(4)], [progress(5), *[change(6, 1)] * 100_000])
        with served(streams) as url, Client(url) as client:
            watch = client.watch_users("key", 3)
            assert [next(watch), next(watch)] == [WatchProgress(4), WatchProgress(5)]
            if end == "close":
                watch.close()
            del watch
            assert streams.left.wait(60)


def test_stream_ends_with_the_client():
    streams = Streams([])
    with served(streams) as url, Client(url) as client, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, client.watch_users("key", 3))
        assert streams.hanging.wait(60)
        client.close()
        with pytest.raises(Unavailable):
            waiting.result(60)
        assert streams.left.wait(60)


@pytest.mark.parametrize("end", ["task", "client"])
async def test_stream_of_asyncio_ends_with_its_task_and_with_the_client(end):
    streams = Streams([])
    with served(streams) as url:
        async with AsyncClient(url) as client:
            waiting = asyncio.ensure_future(client.watch_users("key", 3).__anext__())
            assert await asyncio.to_thread(streams.hanging.wait, 60)
            if end == "task":
                waiting.cancel()
            else:
                await client.close()
            with pytest.raises(asyncio.CancelledError if end == "task" else Unavailable):
                await asyncio.wait_for(waiting, 60)
            assert await asyncio.to_thread(streams.left.wait, 60)


async def test_client_that_is_closed_waits_for_no_pause(monkeypatch):
    pausing = threading.Event()

    def pause_after(self, failure):
        pausing.set()
        return 3600.0

    monkeypatch.setattr(Watch, "pause_after", pause_after)
    with Client("http://127.0.0.1:1") as client, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, client.watch_users("key", 3))
        assert pausing.wait(60)
        client.close()
        with pytest.raises(Unavailable):
            waiting.result(60)
    pausing.clear()
    async with AsyncClient("http://127.0.0.1:1") as client:
        waiting = asyncio.ensure_future(client.watch_users("key", 3).__anext__())
        assert await asyncio.to_thread(pausing.wait, 60)
    with pytest.raises(Unavailable):
        await asyncio.wait_for(waiting, 60)


async def test_example_of_the_readme_keeps_the_names_of_the_users():
    example, db = {}, sqlite3.connect(":memory:")
    exec(re.search(r"```python\n([^`]*watch_users.*?)```", README.read_text(), re.DOTALL)[1], example)
    db.execute("CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT)")
    db.execute("CREATE TABLE cursor AS SELECT NULL AS revision")
    db.execute("INSERT INTO names VALUES (3, 'deleted before')")
    end = Refusal("TOKEN_INVALID")
    streams = Streams([change(0, 1), change(0, 2), progress(7), end], [change(8, 1, deleted=True), end])
    with served(streams) as url:
        async with AsyncClient(url) as client:
            for expected in ([1, 2], [2]):
                with pytest.raises(TokenInvalid):
                    await asyncio.wait_for(example["follow"](client, "key", db), 60)
                assert [*db.execute("SELECT * FROM names")] == [(it, f"user {it}") for it in expected]
    assert streams.begun == [None, 7] and [*db.execute("SELECT * FROM cursor")] == [(8,)]
