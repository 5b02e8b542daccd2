"""The calls about groups and memberships, for both clients."""

from __future__ import annotations

from datetime import datetime
from typing import Awaitable, List, Optional, Protocol

from google.protobuf.message import Message

from ._call import Answer, Call, Context
from ._times import timestamp
from .auth.v1 import auth_pb2 as pb
from .group import Group, GroupPage, MemberPage, UserGroup


def create_group(actor: str, name: str) -> Call[Group]:
    request = pb.CreateGroupRequest(name=name)
    return Call(request, pb.CreateGroupResponse, _group, actor=actor)


def list_groups(actor: str, limit: int, after: int) -> Call[GroupPage]:
    request = pb.ListGroupsRequest(page_size=limit, after=after)
    return Call(request, pb.ListGroupsResponse, GroupPage.of, is_read=True, actor=actor)


def get_group(actor: str, group_id: int) -> Call[Group]:
    request = pb.GetGroupRequest(group_id=group_id)
    return Call(request, pb.GetGroupResponse, _group, is_read=True, actor=actor)


def delete_group(actor: str, group_id: int) -> Call[Group]:
    request = pb.DeleteGroupRequest(group_id=group_id)
    return Call(request, pb.DeleteGroupResponse, _group, actor=actor)


def list_members(actor: str, group_id: int, limit: int, after: int) -> Call[MemberPage]:
    request = pb.ListMembersRequest(group_id=group_id, page_size=limit, after=after)
    return Call(request, pb.ListMembersResponse, MemberPage.of, is_read=True, actor=actor)


def set_membership(
    actor: str, group_id: int, user_id: int, until: Optional[datetime]
) -> Call[None]:
    end = None if until is None else timestamp(until, "until")
    request = pb.SetMembershipRequest(group_id=group_id, user_id=user_id, until=end)
    return Call(request, pb.SetMembershipResponse, _nothing, actor=actor)


def delete_membership(actor: str, group_id: int, user_id: int) -> Call[None]:
    request = pb.DeleteMembershipRequest(group_id=group_id, user_id=user_id)
    return Call(request, pb.DeleteMembershipResponse, _nothing, actor=actor)


def list_user_groups(actor: str, user_id: Optional[int]) -> Call[List[UserGroup]]:
    request = pb.ListUserGroupsRequest(user_id=user_id)
    return Call(request, pb.ListUserGroupsResponse, _user_groups, is_read=True, actor=actor)


class _WithGroup(Protocol):
    @property
    def group(self) -> pb.Group: ...


def _group(response: _WithGroup) -> Group:
    return Group.of(response.group)


def _user_groups(response: pb.ListUserGroupsResponse) -> List[UserGroup]:
    return [UserGroup.of(group) for group in response.groups]


def _nothing(_: Message) -> None:
    pass


class GroupCalls:
    """The methods of `rolegate.Client` for these calls. A service of the previous version knows none of them, so they
    raise `Unavailable`."""

    def _run(self, call: Call[Answer], context: Context) -> Answer:
        raise NotImplementedError

    def create_group(self, actor: str, name: str, context: Context = Context()) -> Group:
        """Creates a group without members. Its name follows the rules of roles, and is none of the roles."""
        return self._run(create_group(actor, name), context)

    def list_groups(
        self, actor: str, limit: int = 50, after: int = 0, context: Context = Context()
    ) -> GroupPage:
        """Lists groups by ascending id. A page has at most ``limit`` (1 to 200) groups, with ids above ``after``."""
        return self._run(list_groups(actor, limit, after), context)

    def get_group(self, actor: str, group_id: int, context: Context = Context()) -> Group:
        """Returns the group with this id."""
        return self._run(get_group(actor, group_id), context)

    def delete_group(self, actor: str, group_id: int, context: Context = Context()) -> Group:
        """Deletes a group with its memberships, and returns the deleted group.

        A group that API keys name cannot be deleted, and raises `GroupInUse`.
        """
        return self._run(delete_group(actor, group_id), context)

    def list_members(
        self,
        actor: str,
        group_id: int,
        limit: int = 50,
        after: int = 0,
        context: Context = Context(),
    ) -> MemberPage:
        """Lists the members of a group by ascending user id.

        A page has at most ``limit`` (1 to 200) members, with user ids above ``after``.
        """
        return self._run(list_members(actor, group_id, limit, after), context)

    def set_membership(
        self,
        actor: str,
        group_id: int,
        user_id: int,
        until: Optional[datetime] = None,
        context: Context = Context(),
    ) -> None:
        """Adds a user to a group, or replaces the end of the membership.

        The membership ends at ``until``, without its fraction of a second. ``None`` means that it never ends.
        """
        return self._run(set_membership(actor, group_id, user_id, until), context)

    def delete_membership(
        self, actor: str, group_id: int, user_id: int, context: Context = Context()
    ) -> None:
        """Removes a user from a group."""
        return self._run(delete_membership(actor, group_id, user_id), context)

    def list_user_groups(
        self, actor: str, user_id: Optional[int] = None, context: Context = Context()
    ) -> List[UserGroup]:
        """Lists the groups of a user by ascending id.

        Without a user id, these are the groups that ``actor`` has, which may be any credential.
        """
        return self._run(list_user_groups(actor, user_id), context)


class AsyncGroupCalls:
    """The methods of `rolegate.AsyncClient` for these calls. A service of the previous version knows none of them, so
    they raise `Unavailable`."""

    def _run(self, call: Call[Answer], context: Context) -> Awaitable[Answer]:
        raise NotImplementedError

    async def create_group(self, actor: str, name: str, context: Context = Context()) -> Group:
        """Creates a group without members. Its name follows the rules of roles, and is none of the roles."""
        return await self._run(create_group(actor, name), context)

    async def list_groups(
        self, actor: str, limit: int = 50, after: int = 0, context: Context = Context()
    ) -> GroupPage:
        """Lists groups by ascending id. A page has at most ``limit`` (1 to 200) groups, with ids above ``after``."""
        return await self._run(list_groups(actor, limit, after), context)

    async def get_group(self, actor: str, group_id: int, context: Context = Context()) -> Group:
        """Returns the group with this id."""
        return await self._run(get_group(actor, group_id), context)

    async def delete_group(self, actor: str, group_id: int, context: Context = Context()) -> Group:
        """Deletes a group with its memberships, and returns the deleted group.

        A group that API keys name cannot be deleted, and raises `GroupInUse`.
        """
        return await self._run(delete_group(actor, group_id), context)

    async def list_members(
        self,
        actor: str,
        group_id: int,
        limit: int = 50,
        after: int = 0,
        context: Context = Context(),
    ) -> MemberPage:
        """Lists the members of a group by ascending user id.

        A page has at most ``limit`` (1 to 200) members, with user ids above ``after``.
        """
        return await self._run(list_members(actor, group_id, limit, after), context)

    async def set_membership(
        self,
        actor: str,
        group_id: int,
        user_id: int,
        until: Optional[datetime] = None,
        context: Context = Context(),
    ) -> None:
        """Adds a user to a group, or replaces the end of the membership.

        The membership ends at ``until``, without its fraction of a second. ``None`` means that it never ends.
        """
        return await self._run(set_membership(actor, group_id, user_id, until), context)

    async def delete_membership(
        self, actor: str, group_id: int, user_id: int, context: Context = Context()
    ) -> None:
        """Removes a user from a group."""
        return await self._run(delete_membership(actor, group_id, user_id), context)

    async def list_user_groups(
        self, actor: str, user_id: Optional[int] = None, context: Context = Context()
    ) -> List[UserGroup]:
        """Lists the groups of a user by ascending id.

        Without a user id, these are the groups that ``actor`` has, which may be any credential.
        """
        return await self._run(list_user_groups(actor, user_id), context)
