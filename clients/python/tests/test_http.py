"""Tests of headers, and of gRPC statuses that do not come from the service."""

from datetime import datetime, timedelta, timezone

import grpc
import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

import rolegate.http
from rolegate import NO_END, Role, _calls
from rolegate._status import error_of
from rolegate.auth.v1 import auth_pb2 as pb
from rolegate.errors import (
    DeadlineExceeded,
    Malformed,
    NotAuthenticated,
    TooManyAttempts,
    Unavailable,
)
from rolegate.http import bearer_token, error_headers, log_mistake


class Failure(grpc.RpcError):
    def __init__(self, code, *details, raw=None):
        packed = []
        for detail in details:
            packed.append(Any())
            packed[-1].Pack(detail)
        self.raw = Status(details=packed).SerializeToString() if raw is None else raw
        self.status = code

    def code(self):
        return self.status

    def details(self):
        return "text"

    def trailing_metadata(self):
        return (("grpc-status-details-bin", self.raw),)


def test_refusal_has_reason_and_delay():
    info = ErrorInfo(reason="TOO_MANY_ATTEMPTS", domain="rolegate")
    retry = RetryInfo(retry_delay=Duration(seconds=6, nanos=1))
    error = error_of(Failure(grpc.StatusCode.RESOURCE_EXHAUSTED, retry, info), False)
    assert isinstance(error, TooManyAttempts)
    headers = {"Rolegate-Reason": "TOO_MANY_ATTEMPTS", "Retry-After": "7"}
    assert error_headers(error) == headers


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED])
def test_status_that_is_not_ours_decides_nothing(code):
    foreign = ErrorInfo(reason="TOKEN_INVALID", domain="example.com")
    for failure in [Failure(code), Failure(code, foreign), Failure(code, raw=b"\xff\xff")]:
        assert type(error_of(failure, True)) is Unavailable
    ours = ErrorInfo(reason="FROM_THE_FUTURE", domain="rolegate")
    unknown = error_of(Failure(code, ours), False)
    assert type(unknown) is Malformed and error_headers(unknown) == {"Rolegate-Reason": "INTERNAL"}


@pytest.mark.parametrize("code", [grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED])
def test_timeout_is_one_only_at_the_deadline(code):
    assert type(error_of(Failure(code), True)) is DeadlineExceeded
    assert type(error_of(Failure(code), False)) is Unavailable


@pytest.mark.parametrize("value", [b"Bearer a.B-_c", b"bearer a.B-_c", b"BEARER  a.B-_c "])
def test_token_is_unchanged(value):
    assert bearer_token([value]) == "a.B-_c"


@pytest.mark.parametrize(
    "values",
    [[], [b""], [b"Bearer"], [b"Bearer "], [b"Bearer a b"], [b"Basic YTpi"], [b"Bearer\ta"],
     [b"Bearer \xc3\xa9"], [b"Bearer a\n"], [b"Bearer a", b"Bearer a"]],
)  # fmt: skip
def test_every_other_form_is_not_authenticated(values):
    with pytest.raises(NotAuthenticated) as failure:
        bearer_token(values)
    headers = {"Rolegate-Reason": "NOT_AUTHENTICATED", "WWW-Authenticate": "Bearer"}
    assert error_headers(failure.value) == headers


def test_mistake_in_a_requirement_is_logged_once_a_minute(caplog, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(rolegate.http.time, "monotonic", lambda: now)
    monkeypatch.setattr(rolegate.http, "_LOGGED", {})
    for later, roles, lines in [
        (0, ["one"], 1),
        (59, ["one"], 0),
        (59, ["other"], 1),
        (59, None, 1),
        (60, ["one"], 1),
        (60, ["one"], 0),
    ]:
        now = 1000.0 + later
        caplog.clear()
        log_mistake(Malformed("text"), roles)
        assert len(caplog.records) == lines, (later, roles)


def test_mistake_names_the_roles_and_the_groups_of_the_requirement(caplog, monkeypatch):
    monkeypatch.setattr(rolegate.http, "_LOGGED", {})
    for roles, groups, wanted in [
        (None, None, "a user"),
        ((), None, "one of the roles []"),
        ((), ("staff",), "one of the groups ['staff']"),
        (None, (), "one of the groups []"),
        ((Role.ADMIN,), ("staff", "crew"), "one of the roles ['admin'] or one of the groups ['staff', 'crew']"),
    ]:
        caplog.clear()
        log_mistake(Malformed("text"), roles, groups)
        [line] = [record.getMessage() for record in caplog.records]
        assert line == f"cannot decide about a request that needs {wanted}: text"


def new_key(**fields):
    response = pb.CreateApiKeyResponse(key="rgk_of_the_admin")
    response.api_key.MergeFrom(pb.ApiKey(id=1, user_id=3, created_at={"seconds": 1}, **fields))
    return response


def test_key_of_a_service_that_ignores_the_user_is_not_handed_out():
    response = new_key()
    create = lambda user_id: _calls.create_api_key("actor", "name", "user", None, user_id, None)
    for user_id in [3, None]:
        assert create(user_id).convert(response).key == "rgk_of_the_admin"
    with pytest.raises(Malformed):
        create(2).convert(response)


def test_key_of_a_service_that_ignores_the_groups_is_not_handed_out():
    create = lambda groups: _calls.create_api_key("actor", "name", None, None, None, groups)
    assert not create(None).request.HasField("groups")
    assert create(None).convert(new_key()).api_key.groups is None
    answers = {None: None, (): [], ("staff",): ["staff"], ("crew", "staff"): ["crew", "staff"]}
    for asked in [(), "staff", ["staff", "crew"], ["staff", "staff", "crew"]]:
        call = create(asked)
        assert call.request.HasField("groups")
        wanted = tuple(sorted(set(call.request.groups.names)))
        for answered, names in answers.items():
            response = new_key() if names is None else new_key(groups={"names": names})
            if answered == wanted:
                assert call.convert(response).api_key.groups == wanted
            else:
                with pytest.raises(Malformed):
                    call.convert(response)


def test_end_of_an_account_that_the_service_ignores_is_malformed():
    end = datetime(2030, 1, 2, 3, 4, 5, 678_901, timezone(timedelta(hours=2)))
    seconds = int(end.timestamp())
    update = lambda until: _calls.update_user("actor", 1, None, True, until)
    answer = lambda **fields: pb.UpdateUserResponse(user={"id": 1, "role_name": "user", **fields})
    assert update(None).request.WhichOneof("end") is None
    for until in [None, NO_END]:
        assert update(until).convert(answer()).until is None
    assert update(None).convert(answer(until=seconds)).until == end.replace(microsecond=0)
    assert update(end).convert(answer(until=seconds)).until == end.replace(microsecond=0)
    assert update(NO_END).request.WhichOneof("end") == "no_end"
    for until, wrong in [(end, {}), (end, {"until": seconds + 1}), (NO_END, {"until": seconds})]:
        with pytest.raises(Malformed):
            update(until).convert(answer(**wrong))
    with pytest.raises(ValueError, match="until needs a time zone"):
        update(datetime(2030, 1, 1))
