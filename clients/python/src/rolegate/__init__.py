"""The client of Rolegate's auth-service: users, passwords, tokens and role decisions.

- `Client` and `AsyncClient` have one method for each call of the contract.
- `rolegate.errors` has an exception for each reason.
- `rolegate.fastapi`, `rolegate.asgi`, `rolegate.django` and `rolegate.flask` protect the endpoints of a service.
- `rolegate.identity` reads the user whom a proxy in front of the service names.
- `rolegate.testing` starts the real services for a test.

Inside the package, `_calls.py`, `_sign_in.py`, `_groups.py` and `_record.py` describe each call once for both
clients. `client.py` makes the calls for threads. `aio.py` and `_connections.py` make them for event loops, where
`_batcher.py` lets decisions share calls. `_channel.py` has the address of auth-service, and `_status.py` turns gRPC
statuses into exceptions.
"""

from ._call import Context
from ._calls import Decision
from ._channel import Tls
from .aio import AsyncClient
from .api_key import ApiKey, NewApiKey
from .audit import AuditEntry, AuditPage
from .client import Client
from .errors import Refused, RolegateError
from .group import Group, GroupPage, Member, Membership, MemberPage, UserGroup
from .identity import IdentityRefused, ProxyIdentity
from .password_link import NewUser, PasswordLink, PasswordLinkHolder, PasswordPolicy
from .second_factor import SecondFactor, SecondFactorEnrolment
from .session import CurrentUser, NewSession, Session
from .user import NO_END, Login, NoEnd, Role, User, UserPage
from .user_changes import SnapshotStart, UserChange, UserEvent, WatchProgress

__all__ = [
    "ApiKey",
    "AsyncClient",
    "AuditEntry",
    "AuditPage",
    "Client",
    "Context",
    "CurrentUser",
    "Decision",
    "Group",
    "GroupPage",
    "IdentityRefused",
    "Login",
    "Member",
    "MemberPage",
    "Membership",
    "NO_END",
    "NewApiKey",
    "NewSession",
    "NewUser",
    "NoEnd",
    "PasswordLink",
    "PasswordLinkHolder",
    "PasswordPolicy",
    "ProxyIdentity",
    "Refused",
    "Role",
    "RolegateError",
    "SecondFactor",
    "SecondFactorEnrolment",
    "Session",
    "SnapshotStart",
    "Tls",
    "User",
    "UserChange",
    "UserEvent",
    "UserGroup",
    "UserPage",
    "WatchProgress",
]
