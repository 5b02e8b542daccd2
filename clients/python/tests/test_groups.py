"""Tests of groups and ends, with both clients. The first ones use a fake service, and the others the real one."""

import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone

import grpc
import pytest
from test_conformance import asgi, fastapi, in_django, in_flask

import rolegate.django
from rolegate import (
    NO_END,
    ApiKey,
    AsyncClient,
    Client,
    Decision,
    Group,
    GroupPage,
    Member,
    MemberPage,
    User,
    UserGroup,
)
from rolegate._calls import requirement
from rolegate._channel import SERVICE
from rolegate.auth.v1 import auth_pb2 as pb
from rolegate.errors import (
    ApiKeyInvalid,
    EndInvalid,
    GroupInUse,
    GroupInvalid,
    GroupLimit,
    GroupNotFound,
    GroupTaken,
    Malformed,
    MembershipNotFound,
    RequestInvalid,
    RoleInsufficient,
    Unavailable,
    UserNotFound,
)

END = datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
SECONDS = int(END.timestamp())


class Service(grpc.GenericRpcHandler):
    """Answers each method with its response in ``responses``, and any other method as unknown."""

    def __init__(self, **responses):
        self.responses, self.requests = responses, []

    def service(self, details):
        if details.method == "/grpc.health.v1.Health/Watch":
            return None
        name = details.method.removeprefix(f"/{SERVICE}/")
        if name not in self.responses:
            return None

        def answer(request, context):
            self.requests.append(request)
            return self.responses[name]

        return grpc.unary_unary_rpc_method_handler(
            answer,
            getattr(pb, f"{name}Request").FromString,
            getattr(pb, f"{name}Response").SerializeToString,
        )


@contextmanager
def served(service):
    server = grpc.server(ThreadPoolExecutor(8), [service])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


@pytest.fixture(params=["threads", "asyncio"])
def ask(request):
    """Returns a function that makes one call of a fake service, and returns its result."""

    async def ask(service, method, *args, **kwargs):
        with served(service) as url:
            if request.param == "threads":
                with Client(url) as client:
                    return getattr(client, method)(*args, **kwargs)
            async with AsyncClient(url) as client:
                return await getattr(client, method)(*args, **kwargs)

    return ask


async def test_groups_and_members_are_read_in_pages(ask):
    groups = pb.ListGroupsResponse(groups=[{"id": 5, "name": "staff", "members": 2}], next_after=5)
    service = Service(ListGroups=groups)
    page = await ask(service, "list_groups", "key", 1, 4)
    assert page == GroupPage([Group(5, "staff", 2)], 5)
    assert service.requests == [pb.ListGroupsRequest(page_size=1, after=4)]
    ann = {"user_id": 7, "username": "ann", "until": {"seconds": SECONDS}}
    bob = {"user_id": 8, "username": "bob"}
    service = Service(ListMembers=pb.ListMembersResponse(members=[ann, bob]))
    page = await ask(service, "list_members", "key", 5)
    assert page == MemberPage([Member(7, "ann", END), Member(8, "bob", None)], None)
    assert service.requests == [pb.ListMembersRequest(group_id=5, page_size=50)]


async def test_group_is_created_found_and_deleted(ask):
    staff = {"id": 5, "name": "staff"}
    service = Service(CreateGroup=pb.CreateGroupResponse(group=staff))
    assert await ask(service, "create_group", "key", "staff") == Group(5, "staff", 0)
    assert service.requests == [pb.CreateGroupRequest(name="staff")]
    service = Service(GetGroup=pb.GetGroupResponse(group=staff))
    assert await ask(service, "get_group", "key", 5) == Group(5, "staff", 0)
    service = Service(DeleteGroup=pb.DeleteGroupResponse(group={**staff, "members": 3}))
    assert await ask(service, "delete_group", "key", 5) == Group(5, "staff", 3)
    assert service.requests == [pb.DeleteGroupRequest(group_id=5)]


async def test_membership_is_set_with_an_end_or_without(ask):
    for until, seconds in [(None, None), (END.astimezone(timezone(timedelta(hours=2))), SECONDS)]:
        service = Service(SetMembership=pb.SetMembershipResponse())
        assert await ask(service, "set_membership", "key", 5, 7, until) is None
        [sent] = service.requests
        assert (sent.group_id, sent.user_id) == (5, 7)
        assert (sent.until.seconds if sent.HasField("until") else None) == seconds
    with pytest.raises(ValueError, match="until needs a time zone"):
        await ask(Service(), "set_membership", "key", 5, 7, datetime(2030, 1, 1))
    service = Service(DeleteMembership=pb.DeleteMembershipResponse())
    assert await ask(service, "delete_membership", "key", 5, 7) is None
    assert service.requests == [pb.DeleteMembershipRequest(group_id=5, user_id=7)]


async def test_groups_of_a_user_are_read(ask):
    staff = {"id": 5, "name": "staff", "until": {"seconds": SECONDS}}
    answer = pb.ListUserGroupsResponse(groups=[staff, {"id": 6, "name": "crew"}])
    for user_id in [None, 7]:
        service = Service(ListUserGroups=answer)
        groups = await ask(service, "list_user_groups", "key", user_id)
        assert groups == [UserGroup(5, "staff", END), UserGroup(6, "crew", None)]
        assert service.requests == [pb.ListUserGroupsRequest(user_id=user_id)]


async def test_service_of_the_version_before_has_no_groups(ask):
    user = {"id": 7, "username": "ann", "role_name": "user"}
    previous = Service(Authorize=pb.AuthorizeResponse(user=user))
    assert await ask(previous, "authorize", "token", groups=["staff"]) == User(7, "ann", "user")
    for method, *args in [
        ("create_group", "staff"),
        ("list_groups",),
        ("get_group", 5),
        ("delete_group", 5),
        ("list_members", 5),
        ("set_membership", 5, 7),
        ("delete_membership", 5, 7),
        ("list_user_groups",),
    ]:
        with pytest.raises(Unavailable):
            await ask(previous, method, "key", *args)


async def test_end_and_groups_that_the_version_before_ignores_are_malformed(ask):
    user = {"id": 7, "username": "ann", "role_name": "user"}
    key = {"id": 1, "user_id": 7, "created_at": {"seconds": 1}}
    previous = Service(
        UpdateUser=pb.UpdateUserResponse(user=user),
        CreateApiKey=pb.CreateApiKeyResponse(key="rgk_secret", api_key=key),
    )
    with pytest.raises(Malformed):
        await ask(previous, "update_user", "key", 7, disabled=False, until=END)
    with pytest.raises(Malformed) as failure:
        await ask(previous, "create_api_key", "key", "ci", groups=["staff"])
    assert "rgk_secret" not in str(failure.value)


async def test_decisions_of_a_batch_name_roles_and_groups(ask):
    user = {"id": 7, "username": "ann", "role_name": "user"}
    service = Service(BatchAuthorize=pb.BatchAuthorizeResponse(outcomes=[{"user": user}] * 5))
    decisions = [("a", None), ("a", "admin"), Decision("a"), Decision("a", groups="staff")]
    await ask(service, "batch_authorize", [*decisions, Decision("a", ["admin"], ["staff"])])
    [sent] = service.requests
    kinds = [item.WhichOneof("requirement") for item in sent.items]
    assert kinds == ["any_authenticated", "roles", "any_authenticated", "roles", "roles"]
    names = [([*item.roles.role_names], [*item.roles.group_names]) for item in sent.items]
    assert names == [([], []), (["admin"], []), ([], []), ([], ["staff"]), (["admin"], ["staff"])]


@pytest.mark.parametrize("protected", [asgi, fastapi, in_django, in_flask])
@pytest.mark.parametrize(
    ("roles", "groups"), [(None, ["staff"]), (["admin"], ["staff", "crew"]), (None, []), (["admin"], None)]
)
async def test_every_framework_requires_the_groups_of_its_route(monkeypatch, protected, roles, groups):
    user = {"id": 7, "username": "ann", "role_name": "user", "group_names": ["staff"]}
    service = Service(Authorize=pb.AuthorizeResponse(user=user))
    with served(service) as url:
        monkeypatch.setenv("AUTH_SERVICE_URL", url)
        rolegate.django._client.cache_clear()
        header = {"authorization": "Bearer token"}
        if protected in (asgi, fastapi):
            async with AsyncClient(url) as client:
                outcome = await protected(client, roles, header, groups)()
        else:
            with Client(url) as client:
                outcome = await protected(client, roles, header, groups)()
    assert outcome == {"status": 200}
    [sent] = service.requests
    assert sent.WhichOneof("requirement") == "roles"
    assert sent.roles == requirement(roles, groups)


def test_requirement_of_groups_is_never_any_user():
    assert requirement(None, None) is None
    for roles, groups in [(None, []), ([], []), ([], None)]:
        assert requirement(roles, groups) == pb.AllowedRoles()
    assert requirement(None, "staff") == pb.AllowedRoles(group_names=["staff"])
    both = requirement("admin", iter(["staff", "crew"]))
    assert both == pb.AllowedRoles(
        roles=[pb.ROLE_ADMIN], role_names=["admin"], group_names=["staff", "crew"]
    )
    for mistake in [["staff", None], 1]:
        with pytest.raises(TypeError):
            requirement(None, mistake)


def test_user_has_groups_and_an_end():
    message = pb.User(id=7, username="ann", role_name="user", group_names=["crew", "staff"], until=SECONDS)
    user = User.of(message)
    assert (user.groups, user.until) == (("crew", "staff"), END)
    assert hash(user) == hash(User.of(message))
    message.until = 1 << 62
    with pytest.raises(Malformed):
        User.of(message)
    key = pb.ApiKey(id=1, created_at={"seconds": 1})
    assert ApiKey.of(key).groups is None
    key.groups.SetInParent()
    assert ApiKey.of(key).groups == ()
    key.groups.names.extend(["crew", "staff"])
    assert ApiKey.of(key).groups == ("crew", "staff")


def test_groups_that_cannot_be_shown_are_malformed():
    for read, message in [
        (Group, pb.Group(name="staff")),
        (Group, pb.Group(id=1)),
        (Member, pb.Member(username="ann")),
        (UserGroup, pb.UserGroup(name="staff")),
        (UserGroup, pb.UserGroup(id=1)),
    ]:
        with pytest.raises(Malformed):
            read.of(message)


def test_responses_to_errors_of_groups_are_those_of_the_gateway():
    text = "Group is named by API keys: ci (ann)."
    for kind, status, detail in [
        (GroupNotFound, 404, "Group not found."),
        (MembershipNotFound, 404, "Membership not found."),
        (GroupTaken, 400, "Group already exists."),
        (GroupLimit, 400, "A user can be in at most 100 groups."),
        (GroupInvalid, 400, text),
        (GroupInUse, 400, text),
        (EndInvalid, 400, text),
    ]:
        assert (kind(text).status, kind(text).detail) == (status, detail)


@pytest.fixture
def group_name(name):
    """Returns the name of a group that only this test uses."""
    return f"g-{zlib.crc32(name.encode()):08x}"


def later(**delta):
    return datetime.now(timezone.utc).replace(microsecond=0) + timedelta(**delta)


async def test_user_is_in_a_group_until_the_membership_is_removed(auth, name, admin, group_name):
    user = await auth.register(name, "password")
    token = (await auth.login(name, "password")).access_token
    group = await auth.create_group(admin, group_name)
    assert group == Group(group.id, group_name, 0)
    with pytest.raises(RoleInsufficient):
        await auth.authorize(token, groups=group_name)
    end = later(hours=1)
    await auth.set_membership(admin, group.id, user.id, end)
    assert (await auth.authorize(token, "admin", groups=[group_name])).groups == (group_name,)
    assert (await auth.get_user(admin, user.id)).groups == (group_name,)
    assert await auth.get_group(admin, group.id) == Group(group.id, group_name, 1)
    assert await auth.list_members(admin, group.id) == MemberPage([Member(user.id, name, end)], None)
    for actor, user_id in [(admin, user.id), (token, None)]:
        groups = await auth.list_user_groups(actor, user_id)
        assert groups == [UserGroup(group.id, group_name, end)]
    await auth.set_membership(admin, group.id, user.id)
    assert await auth.list_user_groups(token) == [UserGroup(group.id, group_name, None)]
    await auth.delete_membership(admin, group.id, user.id)
    with pytest.raises(RoleInsufficient):
        await auth.authorize(token, groups=[group_name])
    with pytest.raises(MembershipNotFound):
        await auth.delete_membership(admin, group.id, user.id)
    assert await auth.list_user_groups(token) == []


async def test_groups_follow_rules(auth, name, admin, group_name):
    user = await auth.register(name, "password")
    group = await auth.create_group(admin, group_name)
    with pytest.raises(GroupTaken):
        await auth.create_group(admin, group_name)
    for bad in ["", "Staff", "admin", "editor", "a" * 33]:
        with pytest.raises(GroupInvalid) as failure:
            await auth.create_group(admin, bad)
        assert failure.value.detail.startswith("Group name must")
    page = await auth.list_groups(admin, 1, group.id - 1)
    assert page.groups == [group]
    with pytest.raises(EndInvalid) as failure:
        await auth.set_membership(admin, group.id, user.id, later(hours=-1))
    assert failure.value.detail == "End must be in the future."
    with pytest.raises(UserNotFound):
        await auth.set_membership(admin, group.id, 1 << 60)
    with pytest.raises(RequestInvalid):
        await auth.authorize(admin, "admin", groups=["unknown"])
    await auth.set_membership(admin, group.id, user.id)
    assert await auth.delete_group(admin, group.id) == Group(group.id, group_name, 1)
    for refused in [
        auth.get_group(admin, group.id),
        auth.delete_group(admin, group.id),
        auth.list_members(admin, group.id),
        auth.set_membership(admin, group.id, user.id),
        auth.delete_membership(admin, group.id, user.id),
    ]:
        with pytest.raises(GroupNotFound):
            await refused
    with pytest.raises(RequestInvalid):
        await auth.authorize(admin, groups=[group_name])


async def test_api_key_has_those_of_its_groups_that_its_user_is_in(auth, name, admin, group_name):
    user = await auth.register(name, "password")
    token = (await auth.login(name, "password")).access_token
    group = await auth.create_group(admin, group_name)
    named = await auth.create_api_key(token, "named", groups=[group_name])
    role_only = await auth.create_api_key(token, "role only", "user")
    plain = await auth.create_api_key(token, "plain")
    keys = [named, role_only, plain]
    assert [it.api_key.groups for it in keys] == [(group_name,), None, None]
    assert [it.groups for it in await auth.list_api_keys(token)] == [(group_name,), None, None]
    with pytest.raises(RoleInsufficient):
        await auth.authorize(named.key, groups=[group_name])
    await auth.set_membership(admin, group.id, user.id)
    assert [(await auth.authorize(it.key)).groups for it in keys] == [(group_name,), (), (group_name,)]
    with pytest.raises(GroupInUse) as failure:
        await auth.delete_group(admin, group.id)
    assert failure.value.detail == f"Group is named by API keys: named ({name})."
    with pytest.raises(ApiKeyInvalid) as failure:
        await auth.create_api_key(token, "unknown", groups=["unknown"])
    assert failure.value.detail == "API key groups must be names of groups."


async def test_account_has_an_end_until_it_is_removed(auth, name, admin):
    user = await auth.register(name, "password")
    end = later(hours=1)
    changed = await auth.update_user(admin, user.id, until=end)
    assert changed == User(user.id, name, "user", until=end)
    assert await auth.get_user(admin, user.id) == changed
    assert (await auth.update_user(admin, user.id, disabled=True)).until == end
    both = await auth.update_user(admin, user.id, disabled=False, until=NO_END)
    assert both == user
    with pytest.raises(EndInvalid):
        await auth.update_user(admin, user.id, until=later(hours=-1))
