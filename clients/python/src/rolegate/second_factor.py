"""The second factor of a user, as the service returns it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

from .auth.v1 import auth_pb2 as pb


@dataclass(frozen=True)
class SecondFactor:
    """The second factor of a user."""

    #: True if a sign-in needs a code.
    enabled: bool
    #: The number of recovery codes that are left.
    recovery_codes: int

    @classmethod
    def of(cls, message: pb.GetSecondFactorResponse) -> SecondFactor:
        """Reads the response of the service."""
        return cls(message.enabled, message.recovery_codes)


@dataclass(frozen=True)
class SecondFactorEnrolment:
    """The secret and the recovery codes of a new second factor, which the user must keep. The service never returns
    them again."""

    #: The secret, which is 20 bytes in base32.
    secret: str
    #: The secret as a URL for authenticator applications: ``otpauth://totp/…``.
    otpauth_url: str
    #: Ten codes, each of which can be used once in place of a one-time code.
    recovery_codes: Tuple[str, ...]

    @classmethod
    def of(cls, message: pb.EnrolSecondFactorResponse) -> SecondFactorEnrolment:
        """Reads the response of the service."""
        return cls(message.secret, message.otpauth_url, tuple(message.recovery_codes))

    def __repr__(self) -> str:
        return "SecondFactorEnrolment()"
