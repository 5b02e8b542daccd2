"""Every call of the contract, by both clients, against the real service."""

import inspect
import os
from datetime import datetime, timezone
from pathlib import Path
from re import findall, sub

import pytest

from rolegate import AsyncClient, Client, Context, Refused, Role, RolegateError, User
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
    TokenInvalid,
    Unavailable,
    UsernameTaken,
    UserNotFound,
)


class Blocking:
    """An `AsyncClient` whose calls are `Client`'s."""

    def __init__(self, client):
        self.client = client

    def __getattr__(self, name):
        async def call(*args, **kwargs):
            return getattr(self.client, name)(*args, **kwargs)

        return call


@pytest.fixture(params=["threads", "asyncio"])
async def auth(request, client, async_client):
    return Blocking(client) if request.param == "threads" else async_client


@pytest.fixture
def name(request):
    """A username of this test."""
    return request.node.name[:200]


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
    # What cannot be a token spoils no other decision.
    decisions = [(token, None), ("a b", None), (token, ["admin"]), ("forged", None), (token, [])]
    user, *refusals = await auth.batch_authorize(decisions)
    assert isinstance(user, User)
    kinds = [TokenInvalid, RoleInsufficient, TokenInvalid, RequestInvalid]
    assert [type(refusal) for refusal in refusals] == kinds


async def test_broken_rule_is_in_the_message(auth, name):
    with pytest.raises(PasswordInvalid) as failure:
        await auth.register(name, "")
    assert failure.value.message and failure.value.detail == failure.value.message
    assert failure.value.reason == "PASSWORD_INVALID" and failure.value.status == 400


async def test_requirement_of_no_role_is_refused_and_an_unknown_role_is_a_mistake(auth, stage):
    with pytest.raises(RequestInvalid):
        await auth.authorize(stage.token(), [])
    for mistake in ["root", "", "AUTHOR", "author,admin", ["root"], ["author", None]]:
        with pytest.raises(ValueError):
            await auth.authorize(stage.token(), mistake)
        with pytest.raises(ValueError):
            await auth.batch_authorize([(stage.token(), mistake)])


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
    calls -= {"batch_get_users", "delete_api_keys"}
    calls |= {"get_usernames", "delete_api_key", "delete_all_api_keys"}
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
