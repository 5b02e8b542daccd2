"""The client of Rolegate's auth-service: users, passwords, tokens and role decisions.

- `Client`, `AsyncClient`: one method for each call of the contract.
- `rolegate.errors`: an exception for each reason.
- `rolegate.fastapi`, `rolegate.asgi`, `rolegate.django`, `rolegate.flask`: protect the endpoints of a service.
"""

from ._call import Context
from ._channel import Tls
from .aio import AsyncClient
from .api_key import ApiKey, NewApiKey
from .audit import AuditEntry, AuditPage
from .client import Client
from .errors import Refused, RolegateError
from .password_link import NewUser, PasswordLink
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
    "Login",
    "NewApiKey",
    "NewSession",
    "NewUser",
    "PasswordLink",
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
