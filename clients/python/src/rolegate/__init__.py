"""The client of Rolegate's auth-service: users, passwords, tokens and role decisions.

- `Client`, `AsyncClient`: one method for each call of the contract.
- `rolegate.errors`: an exception for each reason.
- `rolegate.fastapi`, `rolegate.asgi`, `rolegate.django`, `rolegate.flask`: protect the endpoints of a service.
- `rolegate.identity`: the user whom a proxy in front of the service names.
"""

from ._call import Context
from ._channel import Tls
from .aio import AsyncClient
from .api_key import ApiKey, NewApiKey
from .audit import AuditEntry, AuditPage
from .client import Client
from .errors import Refused, RolegateError
from .identity import IdentityRefused, ProxyIdentity
from .password_link import NewUser, PasswordLink, PasswordLinkHolder, PasswordPolicy
from .second_factor import SecondFactor, SecondFactorEnrolment
from .session import CurrentUser, NewSession, Session
from .user import Login, Role, User, UserPage
from .user_changes import SnapshotStart, UserChange, UserEvent, WatchProgress

__all__ = [
    "ApiKey",
    "AsyncClient",
    "AuditEntry",
    "AuditPage",
    "Client",
    "Context",
    "CurrentUser",
    "IdentityRefused",
    "Login",
    "NewApiKey",
    "NewSession",
    "NewUser",
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
    "UserPage",
    "WatchProgress",
]
