"""What ``watch_users`` yields.

Store the ``revision`` of each event with what you make of it, ``None`` as well: with the stored one a watch goes on
where the last one ended. Store the ``seal`` of each event that has one, too: with it, `HistoryUnknown` is raised when the
service has another database than before, or a restored one, whose revisions mean something else. If its users are right,
watch again without revision and seal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Optional, Union

from .auth.v1 import auth_pb2 as pb
from .errors import Malformed
from .user import RoleName, role_of


@dataclass(frozen=True)
class SnapshotStart:
    """All users follow by ascending id, until the next `WatchProgress`. Users that do not come do not exist.

    A watch begins so without a revision, or if the service no longer has the changes behind it. A snapshot that is
    interrupted begins again.
    """

    #: A watch that ends during the snapshot begins the next one with a snapshot, too.
    revision: ClassVar[None] = None


@dataclass(frozen=True)
class UserChange:
    """The state of a user after a change."""

    #: ``None`` in a snapshot.
    revision: Optional[int]
    user_id: int
    username: str
    #: The stored role; one of `Role`, or the name of another.
    role: RoleName
    #: Whether every credential of the user is refused.
    disabled: bool
    #: Whether the user was deleted. The id may exist again only if an operator imports it.
    deleted: bool
    #: Identifies the history of users up to this change; empty in a snapshot. It does not count when changes are compared.
    seal: str = field(default="", compare=False)


@dataclass(frozen=True)
class WatchProgress:
    """Everything up to this revision was yielded."""

    revision: int
    #: Identifies the history of users up to this revision; empty if the service names none. Not compared either.
    seal: str = field(default="", compare=False)


UserEvent = Union[SnapshotStart, UserChange, WatchProgress]


def event_of(message: pb.WatchUsersResponse) -> Union[UserChange, WatchProgress, None]:
    """An event, or ``None`` for one of a later version. A user without an id or a role is ``Malformed``."""
    kind = message.WhichOneof("item")
    if kind == "progress":
        return WatchProgress(message.progress.revision, message.progress.seal)
    if kind is None:
        return None
    change = message.change
    if change.user_id < 1:
        raise Malformed("a user without an id")
    role = role_of(change.role_name, pb.ROLE_UNSPECIFIED)
    return UserChange(
        change.revision or None,
        change.user_id,
        change.username,
        role,
        change.disabled,
        change.deleted,
        change.seal,
    )
