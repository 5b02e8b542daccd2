"""Turns gRPC statuses into exceptions."""

from __future__ import annotations

from typing import Iterable, Tuple, cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from .errors import DeadlineExceeded, Malformed, Refused, RolegateError, Unavailable

_DOMAIN = "rolegate"
_TIMEOUTS = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)


def error_of(error: grpc.RpcError, is_overdue: bool) -> RolegateError:
    """Returns the exception for a failed call. A status without Rolegate's ``ErrorInfo`` does not come from the
    service, so it is no decision.

    A server that ends a call at its deadline and a broken connection may have the same code. ``is_overdue`` tells
    them apart.
    """
    metadata = cast("Iterable[Tuple[str, object]]", error.trailing_metadata() or ())
    for key, value in metadata:
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            refused = _refused(value, error.details() or "")
            if refused is not None:
                return refused
    if is_overdue and error.code() in _TIMEOUTS:
        return DeadlineExceeded("the service did not answer in time")
    # This text appears only in logs, because the response to a request has `detail`.
    return Unavailable(f"the service cannot be reached: {error.details()}")


def _refused(details: bytes, message: str) -> RolegateError | None:
    info, retry = ErrorInfo(), RetryInfo()
    retry_after = None
    try:
        for detail in Status.FromString(details).details:
            if detail.Unpack(retry):
                retry_after = retry.retry_delay.ToNanoseconds() / 1e9
            detail.Unpack(info)
    except DecodeError:
        return None
    if info.domain != _DOMAIN:
        return None
    return refusal(info.reason, message, retry_after)


def refusal(
    reason: str, message: str = "", retry_after: float | None = None
) -> RolegateError:
    """Returns the exception for a reason. For a reason that this version does not know, it is `Malformed`, which is
    no decision."""
    kind = Refused.by_reason.get(reason)
    return kind(message, retry_after) if kind else Malformed(f"unknown reason {reason}")
