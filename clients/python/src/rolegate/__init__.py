"""The client of Rolegate's auth-service: users, passwords, tokens and role decisions.

- `Client` and `AsyncClient` have one method for each call of the contract.
- `rolegate.errors` has an exception for each reason.
- `rolegate.fastapi`, `rolegate.asgi`, `rolegate.django` and `rolegate.flask` protect the endpoints of a service.
- `rolegate.identity` reads the user whom a proxy in front of the service names.
- `rolegate.testing` starts the real services for a test.

Inside the package, `_calls.py`, `_sign_in.py` and `_record.py` describe each call once for both clients. `client.py`
makes the calls for threads. `aio.py` and `_connections.py` make them for event loops, where `_batcher.py` lets
decisions share calls. `_channel.py` has the address of auth-service, and `_status.py` turns gRPC statuses into
exceptions.
"""

from ._call import Context
from ._calls import Decision
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
    "Decision",
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
