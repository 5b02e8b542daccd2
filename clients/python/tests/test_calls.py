"""Tests of every call of the contract, with both clients, against the real service."""

import inspect
import os
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from re import findall, sub
from unittest.mock import ANY

import grpc
import pytest

from rolegate import (
    ApiKey,
    AsyncClient,
    Client,
    Context,
    CurrentUser,
    Refused,
    Role,
    RolegateError,
    Session,
    User,
)
from rolegate._calls import create_user, requirement
from rolegate.auth.v1 import auth_pb2 as pb
from rolegate.errors import (
    ApiKeyInvalid,
    ApiKeyNotFound,
    CredentialsInvalid,
    CurrentPasswordWrong,
    Malformed,
    OwnPassword,
    PasswordInvalid,
    RequestInvalid,
    RoleInsufficient,
    RoleInvalid,
    SessionInvalid,
    SessionNotFound,
    TokenInvalid,
    Unavailable,
    UsernameTaken,
    UserNotFound,
    UserNotRenamable,
)


async def test_account_is_made_used_and_changed(auth, name, admin):
    user = await auth.register(name, "first")
    assert user == User(user.id, name, Role.USER)
    with pytest.raises(UsernameTaken):
        await auth.register(name, "first")
    login = await auth.login(name, "first", Context("192.0.2.1", "id-1"))
    assert login.user == user and login.access_token not in repr(login)
    assert await auth.verify_credentials(name, "first") == user
    with pytest.raises(CredentialsInvalid):
        await auth.verify_credentials(name, "wrong")
    assert await auth.authorize(login.access_token) == user
    with pytest.raises(CurrentPasswordWrong):
        await auth.change_password(login.access_token, "wrong", "second")
    assert await auth.change_password(login.access_token, "first", "second") == user
    with pytest.raises(TokenInvalid):
        await auth.authorize(login.access_token)
    assert await auth.get_usernames([user.id, 1 << 60]) == {user.id: name}


async def test_admin_manages_users(auth, name, admin):
    author = await auth.create_user(admin, name, "password", "author")
    assert author == User(author.id, name, Role.AUTHOR)
    assert await auth.get_user(admin, author.id) == author
    page = await auth.list_users(admin, limit=1, username_prefix=name, role=Role.AUTHOR)
    assert page.users == [author] and page.next is None
    first = await auth.list_users(admin, limit=1)
    second = await auth.list_users(admin, limit=1, after=first.next)
    assert first.users[0].id == first.next < second.users[0].id
    assert (await auth.set_user_role(admin, author.id, "admin")).role is Role.ADMIN
    assert (await auth.set_user_disabled(admin, author.id, True)).disabled
    assert not (await auth.set_user_disabled(admin, author.id, False)).disabled
    both = await auth.update_user(admin, author.id, username=f"{name} renamed", disabled=True)
    assert (both.username, both.disabled) == (f"{name} renamed", True)
    again = await auth.update_user(admin, author.id, username=name)
    assert (again.username, again.disabled) == (name, True)
    assert not (await auth.update_user(admin, author.id, disabled=False)).disabled
    with pytest.raises(UsernameTaken):
        await auth.update_user(admin, author.id, username="admin")
    with pytest.raises(UserNotRenamable):
        await auth.update_user(admin, 1, username=f"{name} renamed")
    await auth.set_password(admin, author.id, "another")
    token = (await auth.login(name, "another")).access_token
    with pytest.raises(OwnPassword):
        await auth.set_password(token, author.id, "third")
    assert (await auth.delete_user(admin, author.id)).id == author.id
    with pytest.raises(UserNotFound):
        await auth.get_user(admin, author.id)


async def test_api_key_acts_with_at_most_its_role_until_it_is_deleted(auth, name, admin):
    user = await auth.create_user(admin, name, "password", "author")
    token = (await auth.login(name, "password")).access_token
    end = datetime(2999, 1, 1, tzinfo=timezone.utc)
    new = await auth.create_api_key(token, "ci", Role.USER, end)
    key = new.api_key
    assert (key.user_id, key.role, key.name) == (user.id, Role.USER, "ci")
    assert new.key.startswith(key.prefix) and new.key not in repr(new)
    assert (key.expires_at, key.last_used_at) == (end, None) and key.created_at < end
    assert (await auth.authorize(new.key)).id == user.id
    as_password = await auth.verify_credentials(name, new.key, accept_api_keys=True)
    assert (as_password.id, as_password.role) == (user.id, Role.USER)
    with pytest.raises(CredentialsInvalid):
        await auth.verify_credentials(name, new.key)
    with pytest.raises(RoleInsufficient):
        await auth.authorize(new.key, ["author"])
    other = (await auth.create_api_key(token, "other")).api_key
    assert [key.id for key in await auth.list_api_keys(admin, user.id)] == [key.id, other.id]
    assert (await auth.delete_api_key(token, key.id)).id == key.id
    with pytest.raises(TokenInvalid):
        await auth.authorize(new.key)
    with pytest.raises(ApiKeyNotFound):
        await auth.delete_api_key(token, key.id)
    with pytest.raises(ApiKeyInvalid):
        await auth.create_api_key(token, "")
    with pytest.raises(ValueError):
        await auth.create_api_key(token, "naive", expires_at=datetime(2999, 1, 1))
    assert await auth.delete_all_api_keys(admin, user.id) == [other]
    assert await auth.list_api_keys(token) == []


async def test_admin_makes_an_api_key_of_another_user(auth, name, admin):
    user = await auth.create_user(admin, name, "password", "author")
    new = await auth.create_api_key(admin, "service", "author", user_id=user.id)
    assert (new.api_key.user_id, new.api_key.created_by) == (user.id, "admin")
    assert await auth.authorize(new.key, "author") == user
    for role in [None, "admin", "root", ""]:
        with pytest.raises(RoleInvalid):
            await auth.create_api_key(admin, "service", role, user_id=user.id)
    token = (await auth.login(name, "password")).access_token
    own = (await auth.create_api_key(token, "own")).api_key
    assert await auth.list_api_keys(token) == [replace(new.api_key, last_used_at=ANY), own]
    assert own.created_by is None


async def test_session_stands_for_its_user_until_it_is_ended(auth, name):
    user = await auth.register(name, "password")
    new = await auth.create_session(name, "password", "browser", "Lynx/2.9")
    session = new.session
    assert new.user == user and new.token.startswith("rgs_") and new.token not in repr(new)
    assert (session.user_id, session.name, session.user_agent) == (user.id, "browser", "Lynx/2.9")
    assert session.created_at < session.idle_expires_at < session.expires_at
    assert session.last_used_at is None
    assert await auth.authorize(new.token) == user
    current = await auth.get_current_user(new.token)
    assert (current.user, current.credential_kind) == (user, "session")
    assert current.expires_at == session.expires_at
    other = await auth.create_session(name, "password")
    assert (other.session.name, other.session.user_agent) == (None, None)
    listed = await auth.list_sessions(new.token)
    assert [(it.id, it.current) for it in listed] == [(session.id, True), (other.session.id, False)]
    assert (await auth.delete_session(new.token, other.session.id)).id == other.session.id
    with pytest.raises(SessionNotFound):
        await auth.delete_session(new.token, other.session.id)
    with pytest.raises(TokenInvalid):
        await auth.authorize(other.token)
    third = await auth.create_session(name, "password")
    ended = await auth.delete_all_sessions(new.token)
    assert [it.id for it in ended] == [third.session.id]
    assert await auth.revoke_tokens(new.token) == user
    with pytest.raises(TokenInvalid):
        await auth.authorize(new.token)


async def test_session_needs_a_right_password_and_a_good_name(auth, name):
    await auth.register(name, "password")
    with pytest.raises(CredentialsInvalid):
        await auth.create_session(name, "wrong")
    for bad in ["", " a", "x" * 101]:
        with pytest.raises(SessionInvalid) as failure:
            await auth.create_session(name, "password", bad)
        assert failure.value.detail.startswith("Session name must")


async def test_admin_ends_the_sessions_of_another_user(auth, name, admin):
    user = await auth.register(name, "password")
    first = await auth.create_session(name, "password")
    second = await auth.create_session(name, "password")
    assert len(await auth.list_sessions(admin, user.id)) == 2
    with pytest.raises(RoleInsufficient):
        await auth.list_sessions(first.token, user.id)
    assert (await auth.delete_session(admin, first.session.id, user.id)).id == first.session.id
    assert [it.id for it in await auth.delete_all_sessions(admin, user.id)] == [second.session.id]
    assert await auth.list_sessions(admin, user.id) == []
    with pytest.raises(UserNotFound):
        await auth.list_sessions(admin, 1 << 60)


async def test_credential_says_what_it_is(auth, name, admin):
    user = await auth.register(name, "password")
    token = (await auth.login(name, "password")).access_token
    current = await auth.get_current_user(token)
    assert (current.user, current.credential_kind) == (user, "access_token")
    assert current.expires_at > datetime.now(timezone.utc)
    key = (await auth.create_api_key(token, "ci")).key
    current = await auth.get_current_user(key)
    assert (current.credential_kind, current.expires_at) == ("api_key", None)
    with pytest.raises(TokenInvalid):
        await auth.get_current_user("rgs_short")


async def test_added_role_is_a_name_like_the_others(auth, name, admin):
    assert await auth.list_roles(admin) == ["user", "author", "admin", "editor"]
    editor = await auth.create_user(admin, name, "password", "editor")
    assert editor == User(editor.id, name, "editor")
    page = await auth.list_users(admin, username_prefix=name, role="editor")
    assert page.users == [editor]
    token = (await auth.login(name, "password")).access_token
    assert await auth.authorize(token, ["author", "editor"]) == editor
    with pytest.raises(RoleInsufficient):
        await auth.authorize(token, "author")
    key = await auth.create_api_key(token, "ci", "editor")
    assert key.api_key.role == "editor" and await auth.authorize(key.key, "editor") == editor
    assert (await auth.set_user_role(admin, editor.id, "user")).role is Role.USER
    with pytest.raises(RoleInsufficient):
        await auth.authorize(key.key, "editor")
    for unknown in ["reviewer", "Editor", ""]:
        for refused in [
            auth.set_user_role(admin, editor.id, unknown),
            auth.create_user(admin, f"{name} 2", "password", unknown),
            auth.list_users(admin, role=unknown),
            auth.create_api_key(token, "ci", unknown),
        ]:
            with pytest.raises(RoleInvalid):
                await refused


async def test_tokens_end_when_they_are_revoked(auth, stage, admin):
    token = stage.token()
    user = await auth.authorize(token)
    assert await auth.revoke_tokens(admin, user.id) == user
    with pytest.raises(TokenInvalid):
        await auth.authorize(token)
    with pytest.raises(TokenInvalid):
        await auth.revoke_tokens(token)


async def test_decisions_of_a_batch_have_an_outcome_each(auth, stage):
    token = stage.token()
    # A text that cannot be a token does not affect the other decisions.
    decisions = [(token, None), ("a b", None), (token, ["admin"]), ("forged", None), (token, [])]
    decisions += [(token, ["user", "reviewer"]), (token, "")]
    user, *refusals = await auth.batch_authorize(decisions)
    assert isinstance(user, User)
    kinds = [TokenInvalid, RoleInsufficient, TokenInvalid, *[RequestInvalid] * 3]
    assert [type(refusal) for refusal in refusals] == kinds


async def test_broken_rule_is_in_the_message(auth, name):
    with pytest.raises(PasswordInvalid) as failure:
        await auth.register(name, "")
    assert failure.value.message and failure.value.detail == failure.value.message
    assert failure.value.reason == "PASSWORD_INVALID" and failure.value.status == 400


async def test_requirement_of_no_role_or_of_one_that_does_not_exist_is_refused(auth, stage):
    token = stage.token()
    for mistake in [[], "root", "", "USER", "user,admin", ["root"], ["user", "root"], "x" * 33]:
        with pytest.raises(RequestInvalid):
            await auth.authorize(token, mistake)
    for mistake in [["user", None], 1]:
        with pytest.raises(TypeError):
            await auth.authorize(token, mistake)


def test_version_before_takes_numbers_and_admits_nobody_by_an_added_role():
    numbers = {"editor": [], "Editor": [0], "": [0], "author": [2], "admin": [3]}
    for name, expected in numbers.items():
        allowed = requirement(name)
        assert (list(allowed.roles), list(allowed.role_names)) == (expected, [name])
    assert list(requirement(["editor", Role.USER]).roles) == [1]
    new_user = create_user("token", "ann", "password", "editor").request
    assert (new_user.role, new_user.role_name) == (0, "editor")


def test_role_of_the_version_before_is_a_number():
    assert User.of(pb.User(id=1, role=pb.ROLE_AUTHOR)).role is Role.AUTHOR
    assert User.of(pb.User(id=1, role=pb.ROLE_USER, role_name="editor")).role == "editor"
    for bad in [{}, {"role": 4}, {"role": 3, "role_name": "Admin"}, {"role_name": "a" * 33}]:
        with pytest.raises(Malformed):
            User.of(pb.User(id=1, **bad))
    key = pb.ApiKey(id=1, created_at={"seconds": 1})
    assert ApiKey.of(key).role is None
    key.role = pb.ROLE_USER
    assert ApiKey.of(key).role is Role.USER
    key.role_name = "editor"
    assert ApiKey.of(key).role == "editor"
    key.role_name = "Editor"
    with pytest.raises(Malformed):
        ApiKey.of(key)


def test_sessions_and_credentials_that_cannot_be_shown_are_malformed():
    time = {"seconds": 1}
    session = pb.Session(id=1, created_at=time, expires_at=time, idle_expires_at=time)
    assert Session.of(session).name is None
    for field in ["id", "created_at", "expires_at", "idle_expires_at"]:
        bad = pb.Session()
        bad.CopyFrom(session)
        bad.ClearField(field)
        with pytest.raises(Malformed):
            Session.of(bad)
    for kind in [0, 4]:
        with pytest.raises(Malformed):
            CurrentUser.of(pb.GetCurrentUserResponse(user={"id": 1, "role": 1}, credential={"kind": kind}))


async def test_role_may_be_a_name_alone(auth, stage):
    token = stage.token()
    for role in ["author", Role.AUTHOR]:
        with pytest.raises(RoleInsufficient):
            await auth.authorize(token, role)
        [refusal] = await auth.batch_authorize([(token, role)])
        assert type(refusal) is RoleInsufficient
    stage.given("role author")
    for role in ["author", Role.AUTHOR]:
        assert (await auth.authorize(token, role)).role == "author"


def test_role_is_written_as_its_name():
    assert (str(Role.USER), f"{Role.USER}", "%s" % Role.USER) == ("user",) * 3


async def test_token_that_metadata_cannot_carry_is_invalid(auth):
    for token in ["", "a b", "a\nb", "é", "x" * 4097]:
        with pytest.raises(TokenInvalid):
            await auth.get_user(token, 1)
        with pytest.raises(TokenInvalid):
            await auth.authorize(token)


async def test_no_service_is_unavailable():
    with Client("http://127.0.0.1:1") as client, pytest.raises(Unavailable):
        client.authorize("token")
    async with AsyncClient("http://127.0.0.1:1") as client:
        with pytest.raises(Unavailable):
            await client.authorize("token")


@pytest.mark.parametrize(
    "url", ["", "auth:1", "http://auth", "http://auth:0", "http://me:secret@auth:1", "https://auth:1"]
)
def test_url_is_of_a_host_and_a_port(url):
    with pytest.raises(ValueError) as failure:
        Client(url)
    assert "secret" not in str(failure.value)


def test_both_clients_have_every_call():
    contract = Path(os.environ["CONTRACT"]).read_text()
    calls = {sub("(?<!^)(?=[A-Z])", "_", name).lower() for name in findall(r"rpc (\w+)", contract)}
    calls -= {"batch_get_users", "delete_api_keys", "delete_sessions"}
    calls -= {"batch_verify_credentials"}  # Only gateways need it, to save calls.
    calls |= {"get_usernames", "delete_api_key", "delete_all_api_keys"}
    calls |= {"delete_session", "delete_all_sessions"}
    for kind in (Client, AsyncClient):
        methods = {name for name, _ in inspect.getmembers(kind, inspect.isfunction)}
        assert calls <= methods, calls - methods


def test_every_reason_of_the_contract_has_an_exception():
    contract = Path(os.environ["CONTRACT"]).read_text()
    documented = set(findall(r"(?m)^//   ([A-Z_]{4,}) +[A-Z_]{4,} ", contract))
    assert len(documented) > 15 and documented == set(Refused.by_reason)
    for reason, kind in Refused.by_reason.items():
        assert kind("why").status >= 400 and kind("why").detail, reason
    assert issubclass(Malformed, RolegateError) and not issubclass(Malformed, Refused)


def test_clients_with_compression_or_large_metadata_are_told_so():
    """Calls with the gRPC library alone, as programs without this client do."""
    target = os.environ["AUTH_SERVICE_URL"].split("//")[1]
    with grpc.insecure_channel(target) as channel:
        method = channel.unary_unary(
            "/rolegate.auth.v1.AuthService/GetPasswordPolicy",
            pb.GetPasswordPolicyRequest.SerializeToString,
            pb.GetPasswordPolicyResponse.FromString,
        )
        for compression in [grpc.Compression.Gzip, grpc.Compression.Deflate]:
            with pytest.raises(grpc.RpcError) as failure:
                method(pb.GetPasswordPolicyRequest(), compression=compression)
            assert failure.value.code() is grpc.StatusCode.UNIMPLEMENTED
        for size in [17_000, 60_000]:
            with pytest.raises(grpc.RpcError) as failure:
                method(pb.GetPasswordPolicyRequest(), metadata=[("x-note", "a" * size)])
            assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED, failure.value
        assert method(pb.GetPasswordPolicyRequest(), metadata=[("x-note", "a" * 15_000)]).max_length == 72
