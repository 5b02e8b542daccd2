"""Tests of password links and second factors, with both clients against the real service."""

import hmac
import time
from base64 import b32decode
from datetime import datetime, timedelta, timezone

import pytest

from rolegate import AsyncClient, Client, PasswordLink, PasswordLinkHolder, PasswordPolicy, SecondFactor
from rolegate.auth.v1 import auth_pb2 as pb
from rolegate.errors import (
    CredentialsInvalid,
    LinkInvalid,
    Malformed,
    OtpInvalid,
    OtpRequired,
    OtpWrong,
    OwnPassword,
    OwnSecondFactor,
    PasswordInvalid,
    PasswordLinkRequired,
    SecondFactorRequired,
    SecondFactorState,
    SecondFactorUnavailable,
    TokenInvalid,
)
from rolegate.password_link import NewUser
from rolegate.testing import RolegateServer


def code(secret, step=0):
    """Returns the code that an authenticator application shows (RFC 6238), ``step`` steps from now."""
    counter = int(time.time()) // 30 + step
    digest = hmac.digest(b32decode(secret), counter.to_bytes(8, "big"), "sha1")
    start = digest[19] & 15
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"


def other(otp):
    """Returns a code that differs from this one."""
    return f"{(int(otp) + 1) % 1_000_000:06}"


async def test_user_chooses_a_password_by_a_link(auth, name, admin):
    new = await auth.create_user_with_link(admin, name, "author")
    user, link = new.user, new.link
    assert (user.username, user.role) == (name, "author")
    assert link.token.startswith("rgl_") and link.token not in repr(new)
    assert timedelta(0) < link.expires_at - datetime.now(timezone.utc) <= timedelta(hours=25)
    with pytest.raises(CredentialsInvalid):
        await auth.login(name, "")
    with pytest.raises(PasswordInvalid):
        await auth.redeem_password_link(link.token, "")
    # A link stays valid after it was looked up.
    assert await auth.get_password_link(link.token) == PasswordLinkHolder(name, link.expires_at)
    assert await auth.get_password_policy() == PasswordPolicy(1, 72)
    assert await auth.redeem_password_link(link.token, "first") is None
    for used in [link.token, "", "rgl_", "x" * 5000]:
        with pytest.raises(LinkInvalid):
            await auth.get_password_link(used)
    with pytest.raises(LinkInvalid):
        await auth.redeem_password_link(link.token, "first")
    token = (await auth.login(name, "first")).access_token
    replaced = await auth.create_password_link(admin, user.id)
    newer = await auth.create_password_link(admin, user.id)
    with pytest.raises(LinkInvalid):
        await auth.redeem_password_link(replaced.token, "second")
    await auth.redeem_password_link(newer.token, "second")
    with pytest.raises(TokenInvalid):
        await auth.authorize(token)
    actor = await auth.authorize(admin)
    with pytest.raises(OwnPassword):
        await auth.create_password_link(admin, actor.id)


async def test_user_with_a_second_factor_needs_a_code(auth, name):
    user = await auth.register(name, "password")
    token = (await auth.login(name, "password", otp="ignored")).access_token
    with pytest.raises(SecondFactorState) as failure:
        await auth.enable_second_factor(token, "123456")
    assert failure.value.detail == "Second factor is not begun."
    factor = await auth.enrol_second_factor(token, "password", issuer="ACME")
    assert factor.otpauth_url.startswith("otpauth://totp/ACME:")
    factor = await auth.enrol_second_factor(token, "password")
    assert factor.otpauth_url.startswith("otpauth://totp/Rolegate:")
    assert factor.otpauth_url.startswith("otpauth://totp/") and factor.secret in factor.otpauth_url
    assert len(set(factor.recovery_codes)) == 10
    assert repr(factor) == "SecondFactorEnrolment()"
    assert await auth.get_second_factor(token) == SecondFactor(False, 0)
    with pytest.raises(OtpWrong):
        await auth.enable_second_factor(token, other(code(factor.secret)))
    assert await auth.enable_second_factor(token, code(factor.secret)) is None
    with pytest.raises(TokenInvalid):
        await auth.authorize(token)
    for refused in [auth.login, auth.create_session, auth.verify_credentials]:
        with pytest.raises(OtpRequired):
            await refused(name, "password")
    for refused in [auth.login, auth.create_session]:
        # Blank text counts as no code.
        with pytest.raises(OtpRequired):
            await refused(name, "password", otp=" ")
        with pytest.raises(OtpInvalid):
            await refused(name, "password", otp="none")
        with pytest.raises(CredentialsInvalid):
            await refused(name, "wrong", otp=factor.recovery_codes[0])
    # The code of the current step has been used, so the next one is sent.
    token = (await auth.login(name, "password", otp=code(factor.secret, 1))).access_token
    session = await auth.create_session(name, "password", otp=factor.recovery_codes[0])
    assert session.user == user
    assert await auth.get_second_factor(session.token) == SecondFactor(True, 9)
    with pytest.raises(OtpWrong):
        await auth.disable_second_factor(token, factor.recovery_codes[0])
    assert await auth.disable_second_factor(token, factor.recovery_codes[1]) is None
    assert (await auth.login(name, "password")).user == user


async def test_admin_removes_the_second_factor_of_another_user(auth, name, admin):
    user = await auth.register(name, "password")
    with pytest.raises(SecondFactorState):
        await auth.remove_second_factor(admin, user.id)
    token = (await auth.login(name, "password")).access_token
    factor = await auth.enrol_second_factor(token, "password")
    await auth.enable_second_factor(token, code(factor.secret))
    assert await auth.remove_second_factor(admin, user.id) is None
    assert (await auth.login(name, "password")).user == user
    actor = await auth.authorize(admin)
    with pytest.raises(OwnSecondFactor):
        await auth.remove_second_factor(admin, actor.id)


async def test_service_may_require_links_and_second_factors_of_admins():
    flags = ["--admins-set-passwords", "off", "--second-factor", "admins"]
    with RolegateServer(*flags) as server:
        async with AsyncClient(server.grpc) as client:
            token = server.login("admin", "admin-password")
            with pytest.raises(SecondFactorRequired) as failure:
                await client.authorize(token, "admin")
            assert failure.value.status == 403
            assert (await client.authorize(token)).role == "user"
            factor = await client.enrol_second_factor(token, "admin-password")
            await client.enable_second_factor(token, code(factor.secret))
            token = server.login("admin", "admin-password", factor.recovery_codes[0])
            assert (await client.authorize(token, "admin")).role == "admin"
            with pytest.raises(PasswordLinkRequired):
                await client.create_user(token, "ada", "a password")
            link = (await client.create_user_with_link(token, "ada")).link
            await client.redeem_password_link(link.token, "a password")
            assert server.login("ada", "a password")


def test_service_may_have_no_second_factors():
    with RolegateServer("--second-factor", "off") as server, Client(server.grpc) as client:
        token = server.login("admin", "admin-password")
        with pytest.raises(SecondFactorUnavailable):
            client.enrol_second_factor(token, "admin-password")


def test_link_without_its_token_or_end_is_malformed():
    link = pb.PasswordLink(token="rgl_a", expires_at={"seconds": 1})
    assert PasswordLink.of(link).token == "rgl_a"
    for field in ["token", "expires_at"]:
        bad = pb.PasswordLink()
        bad.CopyFrom(link)
        bad.ClearField(field)
        with pytest.raises(Malformed):
            PasswordLink.of(bad)
    holder = pb.GetPasswordLinkResponse(username="ann", expires_at={"seconds": 1})
    assert PasswordLinkHolder.of(holder).username == "ann"
    for field in ["username", "expires_at"]:
        bad = pb.GetPasswordLinkResponse()
        bad.CopyFrom(holder)
        bad.ClearField(field)
        with pytest.raises(Malformed):
            PasswordLinkHolder.of(bad)
    for lengths in [(0, 0), (0, 72), (15, 14)]:
        with pytest.raises(Malformed):
            PasswordPolicy.of(pb.GetPasswordPolicyResponse(min_length=lengths[0], max_length=lengths[1]))
    user = {"id": 1, "role_name": "user"}
    assert NewUser.of(pb.CreateUserResponse(user=user, password_link=link)).user.id == 1
    # An auth-service without password links would send this response.
    with pytest.raises(Malformed):
        NewUser.of(pb.CreateUserResponse(user=user))
