"""Groups and memberships, as the service returns them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import List, Optional

from ._times import optional_time
from .auth.v1 import auth_pb2 as pb
from .errors import Malformed


@dataclass(frozen=True)
class Group:
    """A group of users."""

    id: int
    #: The name, which never changes.
    name: str
    #: The number of users who are in the group.
    members: int

    @classmethod
    def of(cls, message: pb.Group) -> Group:
        """Reads a group. Raises `Malformed` if it has no id or no name."""
        if message.id < 1 or not message.name:
            raise Malformed("a group without an id or a name")
        return cls(message.id, message.name, message.members)


@dataclass(frozen=True)
class GroupPage:
    """A page of groups by ascending id. ``next`` is the value of ``after`` that requests the next page; ``None`` on
    the last page."""

    groups: List[Group]
    next: Optional[int]

    @classmethod
    def of(cls, message: pb.ListGroupsResponse) -> GroupPage:
        """Reads the response of the service."""
        following = message.next_after if message.HasField("next_after") else None
        return cls([Group.of(group) for group in message.groups], following)


@dataclass(frozen=True)
class Member:
    """A user who is in a group."""

    user_id: int
    username: str
    #: The time in UTC at which the membership ends; ``None`` if it never ends.
    until: Optional[datetime]

    @classmethod
    def of(cls, message: pb.Member) -> Member:
        """Reads a member. Raises `Malformed` if it has no id."""
        if message.user_id < 1:
            raise Malformed("a member without an id")
        return cls(message.user_id, message.username, optional_time(message, "until"))


@dataclass(frozen=True)
class MemberPage:
    """A page of the members of a group by ascending user id. ``next`` is the value of ``after`` that requests the
    next page; ``None`` on the last page."""

    members: List[Member]
    next: Optional[int]

    @classmethod
    def of(cls, message: pb.ListMembersResponse) -> MemberPage:
        """Reads the response of the service."""
        following = message.next_after if message.HasField("next_after") else None
        return cls([Member.of(member) for member in message.members], following)


@dataclass(frozen=True)
class UserGroup:
    """A group that a user is in."""

    id: int
    name: str
    #: The time in UTC at which the membership ends; ``None`` if it never ends.
    until: Optional[datetime]

    @classmethod
    def of(cls, message: pb.UserGroup) -> UserGroup:
        """Reads a group of a user. Raises `Malformed` if it has no id or no name."""
        if message.id < 1 or not message.name:
            raise Malformed("a group without an id or a name")
        return cls(message.id, message.name, optional_time(message, "until"))


@dataclass(frozen=True)
class Membership:
    """A membership of the user of a `UserChange`."""

    #: The name of the group.
    group: str
    #: The time in UTC at which the membership ends; ``None`` if it never ends. No change is sent at that time.
    until: Optional[datetime] = None

    @classmethod
    def of(cls, message: pb.UserGroup) -> Membership:
        """Reads a membership. Raises `Malformed` if the group has no name."""
        if not message.name:
            raise Malformed("a group without a name")
        return cls(message.name, optional_time(message, "until"))
