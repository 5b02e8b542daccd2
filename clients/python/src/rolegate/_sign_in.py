"""The calls by which users sign in and manage passwords and second factors, for both clients."""

from __future__ import annotations

from typing import Awaitable, Optional

from google.protobuf.message import Message

from ._call import Answer, Call, Context
from .auth.v1 import auth_pb2 as pb
from .password_link import NewUser, PasswordLink, PasswordLinkHolder, PasswordPolicy
from .second_factor import SecondFactor, SecondFactorEnrolment
from .session import NewSession
from .user import Login, Role, RoleName, User, role_number


def login(username: str, password: str, otp: Optional[str]) -> Call[Login]:
    request = pb.LoginRequest(username=username, password=password, otp=otp)
    return Call(request, pb.LoginResponse, _login, hashes=True)


def create_session(
    username: str, password: str, name: Optional[str], user_agent: str, otp: Optional[str]
) -> Call[NewSession]:
    request = pb.CreateSessionRequest(
        username=username, password=password, name=name, user_agent=user_agent, otp=otp
    )
    return Call(request, pb.CreateSessionResponse, NewSession.of, hashes=True)


def create_user_with_link(actor: str, username: str, role: RoleName) -> Call[NewUser]:
    request = pb.CreateUserRequest(
        username=username, role=role_number(role), role_name=role, password_link=True
    )
    # The call counts as hashing, like the one with a password, so that the method always has the same channel.
    return Call(request, pb.CreateUserResponse, NewUser.of, hashes=True, actor=actor)


def create_password_link(actor: str, user_id: int) -> Call[PasswordLink]:
    request = pb.CreatePasswordLinkRequest(user_id=user_id)
    return Call(request, pb.CreatePasswordLinkResponse, _link, actor=actor)


def redeem_password_link(token: str, password: str) -> Call[None]:
    request = pb.RedeemPasswordLinkRequest(token=token, password=password)
    return Call(request, pb.RedeemPasswordLinkResponse, _nothing, hashes=True)


def get_password_link(token: str) -> Call[PasswordLinkHolder]:
    request = pb.GetPasswordLinkRequest(token=token)
    # The call is not a read, because the client may repeat reads, and a wrong token would then count as two attempts.
    return Call(request, pb.GetPasswordLinkResponse, PasswordLinkHolder.of)


def get_password_policy() -> Call[PasswordPolicy]:
    request = pb.GetPasswordPolicyRequest()
    return Call(request, pb.GetPasswordPolicyResponse, PasswordPolicy.of, is_read=True)


def enrol_second_factor(
    actor: str, current_password: str, issuer: Optional[str]
) -> Call[SecondFactorEnrolment]:
    request = pb.EnrolSecondFactorRequest(current_password=current_password, issuer=issuer)
    convert = SecondFactorEnrolment.of
    return Call(request, pb.EnrolSecondFactorResponse, convert, hashes=True, actor=actor)


def enable_second_factor(actor: str, otp: str) -> Call[None]:
    request = pb.EnableSecondFactorRequest(otp=otp)
    return Call(request, pb.EnableSecondFactorResponse, _nothing, actor=actor)


def disable_second_factor(actor: str, user_id: Optional[int], otp: str) -> Call[None]:
    request = pb.DisableSecondFactorRequest(user_id=user_id, otp=otp)
    return Call(request, pb.DisableSecondFactorResponse, _nothing, actor=actor)


def get_second_factor(actor: str) -> Call[SecondFactor]:
    request = pb.GetSecondFactorRequest()
    response = pb.GetSecondFactorResponse
    return Call(request, response, SecondFactor.of, is_read=True, actor=actor)


def _login(response: pb.LoginResponse) -> Login:
    return Login(response.access_token, User.of(response.user))


def _link(response: pb.CreatePasswordLinkResponse) -> PasswordLink:
    return PasswordLink.of(response.link)


def _nothing(_: Message) -> None:
    pass


class SignIn:
    """The methods of `rolegate.Client` for these calls."""

    def _run(self, call: Call[Answer], context: Context) -> Answer:
        raise NotImplementedError

    def login(
        self,
        username: str,
        password: str,
        context: Context = Context(),
        *,
        otp: Optional[str] = None,
    ) -> Login:
        """Checks a username and a password, and issues an access token.

        ``otp`` is a one-time code or a recovery code. Users whose second factor is on need one.
        """
        return self._run(login(username, password, otp), context)

    def create_session(
        self,
        username: str,
        password: str,
        name: Optional[str] = None,
        user_agent: str = "",
        context: Context = Context(),
        *,
        otp: Optional[str] = None,
    ) -> NewSession:
        """Checks the same credentials as `login`, and creates a session."""
        call = create_session(username, password, name, user_agent, otp)
        return self._run(call, context)

    def create_user_with_link(
        self,
        actor: str,
        username: str,
        role: RoleName = Role.USER,
        context: Context = Context(),
    ) -> NewUser:
        """Creates a user without a password, and a link by which the user chooses one."""
        return self._run(create_user_with_link(actor, username, role), context)

    def create_password_link(
        self, actor: str, user_id: int, context: Context = Context()
    ) -> PasswordLink:
        """Creates a link by which another user chooses a password. It replaces an earlier link of that user."""
        return self._run(create_password_link(actor, user_id), context)

    def redeem_password_link(
        self, token: str, password: str, context: Context = Context()
    ) -> None:
        """Sets the password of the user for whom a link was created, and revokes the user's tokens and sessions. The
        call needs no actor."""
        return self._run(redeem_password_link(token, password), context)

    def get_password_link(
        self, token: str, context: Context = Context()
    ) -> PasswordLinkHolder:
        """Returns the user whose password a link sets, and the expiry of the link. The link stays valid. The call
        needs no actor."""
        return self._run(get_password_link(token), context)

    def get_password_policy(self, context: Context = Context()) -> PasswordPolicy:
        """Returns the allowed lengths of new passwords. The call needs no actor."""
        return self._run(get_password_policy(), context)

    def enrol_second_factor(
        self,
        actor: str,
        current_password: str,
        context: Context = Context(),
        issuer: Optional[str] = None,
    ) -> SecondFactorEnrolment:
        """Starts enrolling a second factor of the bearer of ``actor``.

        Authenticator applications show ``issuer``, which must have no colon. Without it they show ``Rolegate``.
        """
        return self._run(enrol_second_factor(actor, current_password, issuer), context)

    def enable_second_factor(self, actor: str, otp: str, context: Context = Context()) -> None:
        """Turns on the enrolled second factor, given a code, and revokes every access token and session of the user.

        If ``actor`` is a session, that session stays valid.
        """
        return self._run(enable_second_factor(actor, otp), context)

    def disable_second_factor(self, actor: str, otp: str, context: Context = Context()) -> None:
        """Turns off the second factor of the bearer of ``actor``, given a one-time code or a recovery code."""
        return self._run(disable_second_factor(actor, None, otp), context)

    def remove_second_factor(self, actor: str, user_id: int, context: Context = Context()) -> None:
        """Turns off the second factor of another user."""
        return self._run(disable_second_factor(actor, user_id, ""), context)

    def get_second_factor(self, actor: str, context: Context = Context()) -> SecondFactor:
        """Returns the state of the second factor of the bearer of ``actor``, which may be any credential."""
        return self._run(get_second_factor(actor), context)


class AsyncSignIn:
    """The methods of `rolegate.AsyncClient` for these calls."""

    def _run(self, call: Call[Answer], context: Context) -> Awaitable[Answer]:
        raise NotImplementedError

    async def login(
        self,
        username: str,
        password: str,
        context: Context = Context(),
        *,
        otp: Optional[str] = None,
    ) -> Login:
        """Checks a username and a password, and issues an access token.

        ``otp`` is a one-time code or a recovery code. Users whose second factor is on need one.
        """
        return await self._run(login(username, password, otp), context)

    async def create_session(
        self,
        username: str,
        password: str,
        name: Optional[str] = None,
        user_agent: str = "",
        context: Context = Context(),
        *,
        otp: Optional[str] = None,
    ) -> NewSession:
        """Checks the same credentials as `login`, and creates a session."""
        call = create_session(username, password, name, user_agent, otp)
        return await self._run(call, context)

    async def create_user_with_link(
        self,
        actor: str,
        username: str,
        role: RoleName = Role.USER,
        context: Context = Context(),
    ) -> NewUser:
        """Creates a user without a password, and a link by which the user chooses one."""
        return await self._run(create_user_with_link(actor, username, role), context)

    async def create_password_link(
        self, actor: str, user_id: int, context: Context = Context()
    ) -> PasswordLink:
        """Creates a link by which another user chooses a password. It replaces an earlier link of that user."""
        return await self._run(create_password_link(actor, user_id), context)

    async def redeem_password_link(
        self, token: str, password: str, context: Context = Context()
    ) -> None:
        """Sets the password of the user for whom a link was created, and revokes the user's tokens and sessions. The
        call needs no actor."""
        return await self._run(redeem_password_link(token, password), context)

    async def get_password_link(
        self, token: str, context: Context = Context()
    ) -> PasswordLinkHolder:
        """Returns the user whose password a link sets, and the expiry of the link. The link stays valid. The call
        needs no actor."""
        return await self._run(get_password_link(token), context)

    async def get_password_policy(self, context: Context = Context()) -> PasswordPolicy:
        """Returns the allowed lengths of new passwords. The call needs no actor."""
        return await self._run(get_password_policy(), context)

    async def enrol_second_factor(
        self,
        actor: str,
        current_password: str,
        context: Context = Context(),
        issuer: Optional[str] = None,
    ) -> SecondFactorEnrolment:
        """Starts enrolling a second factor of the bearer of ``actor``.

        Authenticator applications show ``issuer``, which must have no colon. Without it they show ``Rolegate``.
        """
        return await self._run(enrol_second_factor(actor, current_password, issuer), context)

    async def enable_second_factor(
        self, actor: str, otp: str, context: Context = Context()
    ) -> None:
        """Turns on the enrolled second factor, given a code, and revokes every access token and session of the user.

        If ``actor`` is a session, that session stays valid.
        """
        return await self._run(enable_second_factor(actor, otp), context)

    async def disable_second_factor(
        self, actor: str, otp: str, context: Context = Context()
    ) -> None:
        """Turns off the second factor of the bearer of ``actor``, given a one-time code or a recovery code."""
        return await self._run(disable_second_factor(actor, None, otp), context)

    async def remove_second_factor(
        self, actor: str, user_id: int, context: Context = Context()
    ) -> None:
        """Turns off the second factor of another user."""
        return await self._run(disable_second_factor(actor, user_id, ""), context)

    async def get_second_factor(self, actor: str, context: Context = Context()) -> SecondFactor:
        """Returns the state of the second factor of the bearer of ``actor``, which may be any credential."""
        return await self._run(get_second_factor(actor), context)
