"""The exceptions for failed calls: one for each reason of the contract, with the HTTP response for it.

Only `Refused` is an answer of the service. Every other exception says nothing about the user, so never read it as "no".
"""

from __future__ import annotations

import re
from typing import ClassVar, Dict, Optional, Type


class RolegateError(Exception):
    """A failed call. ``status``, ``reason`` and ``detail`` are the same as in the gateway's response."""

    status: ClassVar[int] = 500
    reason: ClassVar[str] = "INTERNAL"
    detail: str = "Internal server error."
    #: The number of seconds after which a new attempt makes sense; ``None`` if the service named none.
    retry_after: Optional[float] = None


class Unavailable(RolegateError):
    """The service could not be reached, or a proxy has answered in its place."""

    status, detail = 503, "Service temporarily unavailable."
    reason = "UPSTREAM_UNAVAILABLE"


class DeadlineExceeded(RolegateError):
    """The deadline of the call has passed. If the call was a change, the service may have made the change."""

    status, detail = 504, "Upstream timed out."
    reason = "UPSTREAM_TIMED_OUT"


class Malformed(RolegateError):
    """This version of the client does not understand the response."""


class NotAuthenticated(RolegateError):
    """A request has no credentials, or malformed ones, so the service was not asked."""

    status, detail = 401, "Not authenticated."
    reason = "NOT_AUTHENTICATED"


class Refused(RolegateError):
    """The service has answered with an error. Each reason has a class of its own."""

    by_reason: ClassVar[Dict[str, Type[Refused]]] = {}

    def __init__(self, message: str = "", retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        #: A text for people. If a value is invalid, it says which rule the value breaks.
        self.message = message
        self.retry_after = retry_after
        self.detail = type(self).detail or message

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason

    def __init_subclass__(cls) -> None:
        cls.reason = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).upper()
        cls.by_reason[cls.reason] = cls


class UsernameTaken(Refused):
    status, detail = 400, "Username already exists."


class UsernameInvalid(Refused):
    status, detail = 400, ""


class PasswordInvalid(Refused):
    status, detail = 400, ""


class RoleInvalid(Refused):
    status, detail = 400, "Invalid role."


class UserNotDeletable(Refused):
    status, detail = 400, "This user cannot be deleted."


class UserNotRenamable(Refused):
    status, detail = 400, "This user cannot be renamed."


class LastAdmin(Refused):
    status, detail = 400, "The last admin cannot be removed."


class OwnPassword(Refused):
    status, detail = 400, "Use /profile/password to change your own password."


class CurrentPasswordWrong(Refused):
    status, detail = 400, "Current password is incorrect."


class LinkInvalid(Refused):
    status, detail = 400, "Invalid or expired link."


class OtpWrong(Refused):
    status, detail = 400, "One-time code is incorrect."


class SecondFactorUnavailable(Refused):
    status, detail = 400, "Second factors are not available."


class SecondFactorState(Refused):
    status, detail = 400, ""


class OwnSecondFactor(Refused):
    status, detail = 400, "Use /profile/second-factor to turn off your own second factor."


class ApiKeyInvalid(Refused):
    status, detail = 400, ""


class ApiKeyLimit(Refused):
    status, detail = 400, "A user can have at most 50 API keys."


class ApiKeyNotFound(Refused):
    status, detail = 404, "API key not found."


class SessionInvalid(Refused):
    status, detail = 400, ""


class SessionNotFound(Refused):
    status, detail = 404, "Session not found."


class GroupNotFound(Refused):
    status, detail = 404, "Group not found."


class MembershipNotFound(Refused):
    status, detail = 404, "Membership not found."


class GroupTaken(Refused):
    status, detail = 400, "Group already exists."


class GroupInvalid(Refused):
    status, detail = 400, ""


class GroupLimit(Refused):
    status, detail = 400, "A user can be in at most 100 groups."


class GroupInUse(Refused):
    status, detail = 400, ""


class EndInvalid(Refused):
    status, detail = 400, ""


class CredentialsInvalid(Refused):
    status, detail = 401, "Invalid username or password."


class OtpRequired(Refused):
    status, detail = 401, "One-time code required."


class OtpInvalid(Refused):
    status, detail = 401, "Invalid one-time code."


class TokenInvalid(Refused):
    status, detail = 401, "Invalid or expired token."


class TokenUserNotFound(Refused):
    status, detail = 401, "User not found."


class RoleInsufficient(Refused):
    status, detail = 403, "Insufficient privileges."


class PasswordLinkRequired(Refused):
    status, detail = 403, "Users choose their passwords by a link."


class SecondFactorRequired(Refused):
    status, detail = 403, "Second factor required."


class RegistrationClosed(Refused):
    status, detail = 403, "Registration is closed."


class UserNotFound(Refused):
    status, detail = 404, "User not found."


class TooManyAttempts(Refused):
    status, detail = 429, "Too many attempts, try again later."


class Overloaded(Refused):
    status, detail = 503, "Service is busy, try again."


class ClockBehind(Refused):
    status, detail = 503, "The clock is behind the time of the user's last revocation."


class StoreUnavailable(Refused):
    status, detail = 503, "Service temporarily unavailable."


class StoreReadOnly(Refused):
    status, detail = 503, "Service is temporarily read-only."


class SnapshotRequired(Refused):
    """The record no longer has the changes after a revision. ``watch_users`` then begins with a snapshot."""


class HistoryUnknown(Refused):
    """The service has another history of users than the one that ``watch_users`` has followed, because its record
    lacks the last seal."""


class OutcomeUnknown(Refused):
    status, detail = 504, "Upstream timed out."


class RequestInvalid(Refused):
    """The request is invalid. This is a bug in the calling program."""


class Internal(Refused):
    """The service has failed. The cause is only in the log of the service."""
