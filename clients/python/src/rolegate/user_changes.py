"""The events that ``watch_users`` yields.

Store the ``revision`` of each event together with the data that you derive from the event, even if the revision
is ``None``. With the stored revision, a watch continues where the last one ended.

Also store the ``seal`` of each event that has one. With the seal, `HistoryUnknown` is raised if the service has
another database than before, or a restored one, because its revisions stand for other changes. If the users in that
database are the right ones, watch again without revision and seal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Optional, Tuple, Union

from ._times import time_at
from .auth.v1 import auth_pb2 as pb
from .errors import Malformed
from .group import Membership
from .user import RoleName, role_of


@dataclass(frozen=True)
class SnapshotStart:
    """A snapshot begins: all users follow by ascending id, until the next `WatchProgress`. No other users exist.

    A watch begins with a snapshot if it has no revision, or if the service no longer has the changes after its
    revision. A snapshot that is interrupted begins again.
    """

    #: Always ``None``, so that a watch that ends during the snapshot begins again with a snapshot.
    revision: ClassVar[None] = None


@dataclass(frozen=True)
class UserChange:
    """The state of a user after a change. No event is sent when a membership or an account ends, so apply these ends
    by your own clock."""

    #: The revision of the change; ``None`` in a snapshot.
    revision: Optional[int]
    user_id: int
    username: str
    #: The stored role: one of `Role`, or the name of an added role.
    role: RoleName
    #: True if every credential of the user is refused.
    disabled: bool
    #: True if the user was deleted. The id can exist again only if an operator imports it.
    deleted: bool
    #: Identifies the history of users up to this change; empty in a snapshot. Comparisons of changes ignore it.
    seal: str = field(default="", compare=False)
    #: The groups that the user is in, by ascending name. They may be newer than the change. ``None`` means that they
    #: are not known, because a service of the previous version has answered: the groups before then still count.
    groups: Optional[Tuple[Membership, ...]] = None
    #: The time in UTC at which the account ends; ``None`` if it never ends, and if the groups are not known.
    until: Optional[datetime] = None


@dataclass(frozen=True)
class WatchProgress:
    """All changes up to this revision were yielded."""

    revision: int
    #: Identifies the history of users up to this revision; empty if the service sends none. Comparisons ignore it.
    seal: str = field(default="", compare=False)


UserEvent = Union[SnapshotStart, UserChange, WatchProgress]


def event_of(message: pb.WatchUsersResponse) -> Union[UserChange, WatchProgress, None]:
    """Reads an event. Returns ``None`` for an event of a later version.

    Raises `Malformed` for a user without an id or a role, or with a group without a name.
    """
    kind = message.WhichOneof("item")
    if kind == "progress":
        return WatchProgress(message.progress.revision, message.progress.seal)
    if kind is None:
        return None
    change = message.change
    if change.user_id < 1:
        raise Malformed("a user without an id")
    role = role_of(change.role_name, pb.ROLE_UNSPECIFIED)
    groups = None
    if change.HasField("groups"):
        groups = tuple(Membership.of(group) for group in change.groups.groups)
    return UserChange(
        change.revision or None,
        change.user_id,
        change.username,
        role,
        change.disabled,
        change.deleted,
        change.seal,
        groups,
        time_at(change.until) if change.HasField("until") else None,
    )
