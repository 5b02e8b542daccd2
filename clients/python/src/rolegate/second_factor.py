"""Second factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

from .auth.v1 import auth_pb2 as pb


@dataclass(frozen=True)
class SecondFactor:
    """The second factor of a user."""

    #: Whether sign-ins need a code.
    enabled: bool
    #: The recovery codes that are left.
    recovery_codes: int

    @classmethod
    def of(cls, message: pb.GetSecondFactorResponse) -> SecondFactor:
        """What the service returned."""
        return cls(message.enabled, message.recovery_codes)


@dataclass(frozen=True)
class SecondFactorEnrolment:
    """What a user keeps of a second factor. Never shown again."""

    #: 20 bytes in base32.
    secret: str
    #: The same for authenticator applications: ``otpauth://totp/…``.
    otpauth_url: str
    #: Ten, each good once in place of a code.
    recovery_codes: Tuple[str, ...]

    @classmethod
    def of(cls, message: pb.EnrolSecondFactorResponse) -> SecondFactorEnrolment:
        """What the service returned."""
        return cls(message.secret, message.otpauth_url, tuple(message.recovery_codes))

    def __repr__(self) -> str:
        return "SecondFactorEnrolment()"
