"""Tests of the record of changes, with both clients against the real service."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from unittest.mock import ANY

import pytest

from rolegate import AuditEntry, Context, SnapshotStart, UserChange, WatchProgress
from rolegate.audit import AuditPage
from rolegate.auth.v1 import auth_pb2 as pb
from rolegate.errors import HistoryUnknown, Malformed, RequestInvalid, RoleInsufficient, TokenInvalid


async def test_record_says_in_pages_who_did_what(auth, name, admin):
    actor = await auth.authorize(admin)
    user = await auth.create_user(admin, name, "password", "author")
    for role in ("user", "editor"):
        await auth.set_user_role(admin, user.id, role, Context("192.0.2.1", "id-1"))
    first = await auth.list_audit(admin, 1, user_id=user.id, actor_id=actor.id, event="role_changed")
    second = await auth.list_audit(admin, 1, first.next, user_id=user.id, event="role_changed")
    [newest], [oldest] = first.entries, second.entries
    about, by = (user.id, name), (actor.id, "admin", None, None)
    expected = AuditEntry(ANY, ANY, "role_changed", *about, *by, "192.0.2.1", "id-1", ANY)
    assert (newest, oldest) == (expected, expected)
    assert newest.details == {"from": "user", "to": "editor"}
    assert oldest.details == {"from": "author", "to": "user"}
    assert newest.revision == first.next > oldest.revision and second.next is None
    assert abs(newest.time - datetime.now(timezone.utc)) < timedelta(minutes=5)
    token = (await auth.login(name, "password")).access_token
    own = await auth.list_audit(token, own=True, event="role_changed")
    assert own == AuditPage([replace(it, client_address=None) for it in (newest, oldest)], None)
    with pytest.raises(RoleInsufficient):
        await auth.list_audit(token)
    with pytest.raises(RequestInvalid):
        await auth.list_audit(admin, 201)


async def test_watch_has_all_users_and_then_the_changes_behind_each_revision(auth, name, admin):
    user = await auth.create_user(admin, name, "password", "author")
    snapshot = []
    async for event in auth.watch_users(admin, None):
        snapshot.append(event)
        if isinstance(event, WatchProgress):
            break
    start, *users, progress = snapshot
    assert start == SnapshotStart()
    assert users[-1] == UserChange(None, user.id, name, "author", False, False, groups=())
    await auth.set_user_role(admin, user.id, "editor")
    await auth.set_user_disabled(admin, user.id, True)
    await auth.delete_user(admin, user.id)
    states = [("editor", False, False), ("editor", True, False), ("editor", True, True)]
    cursor = progress.revision
    for state in states:
        async for event in auth.watch_users(admin, cursor):
            if isinstance(event, UserChange):
                break
        expected = UserChange(ANY, user.id, name, *state, groups=ANY)
        assert event == expected and event.revision > cursor
        assert int(event.seal.split(":")[0]) >= event.revision
        cursor = event.revision


async def test_watch_is_refused_and_begins_anew_behind_a_revision_that_never_was(auth, name, admin):
    await auth.register(name, "password")
    token = (await auth.login(name, "password")).access_token
    for actor, kind in [(token, RoleInsufficient), ("forged", TokenInvalid), (None, TokenInvalid)]:
        with pytest.raises(kind):
            async for event in auth.watch_users(actor, None):
                pytest.fail(f"{event} is shown")
    async for event in auth.watch_users(admin, 1 << 60):
        assert event == SnapshotStart()
        break
    for seal, kind in [("1:" + "0" * 64, HistoryUnknown), ("1:a", RequestInvalid)]:
        with pytest.raises(kind):
            async for event in auth.watch_users(admin, None, Context(), seal):
                pytest.fail(f"{event} is shown")


def test_entry_that_cannot_be_shown_is_malformed():
    good = {"revision": 1, "time": {"seconds": 1}, "event": "login_failed", "details": "{}"}
    entry = AuditEntry.of(pb.AuditEntry(**good))
    unknown = [entry.user_id, entry.username, entry.actor_id, entry.actor, entry.client_address]
    assert unknown == [None] * 5 and entry.details == {}
    for bad in [{"revision": 0}, {"time": None}, {"details": ""}, {"details": "[]"}, {"details": "{"}]:
        with pytest.raises(Malformed):
            AuditEntry.of(pb.AuditEntry(**{**good, **bad}))
