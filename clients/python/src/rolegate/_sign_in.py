"""The calls by which users sign in, and choose what they sign in with, for both clients."""

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
    # Like the call with a password, so that the method has one channel.
    return Call(request, pb.CreateUserResponse, NewUser.of, hashes=True, actor=actor)


def create_password_link(actor: str, user_id: int) -> Call[PasswordLink]:
    request = pb.CreatePasswordLinkRequest(user_id=user_id)
    return Call(request, pb.CreatePasswordLinkResponse, _link, actor=actor)


def redeem_password_link(token: str, password: str) -> Call[None]:
    request = pb.RedeemPasswordLinkRequest(token=token, password=password)
    return Call(request, pb.RedeemPasswordLinkResponse, _nothing, hashes=True)


def get_password_link(token: str) -> Call[PasswordLinkHolder]:
    request = pb.GetPasswordLinkRequest(token=token)
    # Not as a read, which may be made again: a wrong token would count twice.
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
    """These calls of `rolegate.Client`."""

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
        """Checks a username and a password and issues an access token.

        ``otp``: a one-time code or a recovery code, which users need whose second factor is on.
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
        """Checks what `login` checks and makes a session."""
        call = create_session(username, password, name, user_agent, otp)
        return self._run(call, context)

    def create_user_with_link(
        self,
        actor: str,
        username: str,
        role: RoleName = Role.USER,
        context: Context = Context(),
    ) -> NewUser:
        """Creates a user without a password, who chooses one by the link."""
        return self._run(create_user_with_link(actor, username, role), context)

    def create_password_link(
        self, actor: str, user_id: int, context: Context = Context()
    ) -> PasswordLink:
        """Makes a link by which another user chooses a password, in place of one from before."""
        return self._run(create_password_link(actor, user_id), context)

    def redeem_password_link(
        self, token: str, password: str, context: Context = Context()
    ) -> None:
        """Sets the password of the user of a link, and ends the user's tokens and sessions. Needs no actor."""
        return self._run(redeem_password_link(token, password), context)

    def get_password_link(
        self, token: str, context: Context = Context()
    ) -> PasswordLinkHolder:
        """Whose password a link sets and until when. It stays good. Needs no actor."""
        return self._run(get_password_link(token), context)

    def get_password_policy(self, context: Context = Context()) -> PasswordPolicy:
        """How long new passwords may be. Needs no actor."""
        return self._run(get_password_policy(), context)

    def enrol_second_factor(
        self,
        actor: str,
        current_password: str,
        context: Context = Context(),
        issuer: Optional[str] = None,
    ) -> SecondFactorEnrolment:
        """Begins to turn on the second factor of the user ``actor``.

        Authenticator applications show ``issuer``, which has no colon, or ``Rolegate``.
        """
        return self._run(enrol_second_factor(actor, current_password, issuer), context)

    def enable_second_factor(self, actor: str, otp: str, context: Context = Context()) -> None:
        """Turns it on, given a code, and ends every access token and session of the user ``actor``.

        If ``actor`` is a session, it stays.
        """
        return self._run(enable_second_factor(actor, otp), context)

    def disable_second_factor(self, actor: str, otp: str, context: Context = Context()) -> None:
        """Turns off that of the user ``actor``, given a code or a recovery code."""
        return self._run(disable_second_factor(actor, None, otp), context)

    def remove_second_factor(self, actor: str, user_id: int, context: Context = Context()) -> None:
        """Turns off that of another user."""
        return self._run(disable_second_factor(actor, user_id, ""), context)

    def get_second_factor(self, actor: str, context: Context = Context()) -> SecondFactor:
        """That of the user ``actor``, which may be any credential."""
        return self._run(get_second_factor(actor), context)


class AsyncSignIn:
    """These calls of `rolegate.AsyncClient`."""

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
        """Checks a username and a password and issues an access token.

        ``otp``: a one-time code or a recovery code, which users need whose second factor is on.
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
        """Checks what `login` checks and makes a session."""
        call = create_session(username, password, name, user_agent, otp)
        return await self._run(call, context)

    async def create_user_with_link(
        self,
        actor: str,
        username: str,
        role: RoleName = Role.USER,
        context: Context = Context(),
    ) -> NewUser:
        """Creates a user without a password, who chooses one by the link."""
        return await self._run(create_user_with_link(actor, username, role), context)

    async def create_password_link(
        self, actor: str, user_id: int, context: Context = Context()
    ) -> PasswordLink:
        """Makes a link by which another user chooses a password, in place of one from before."""
        return await self._run(create_password_link(actor, user_id), context)

    async def redeem_password_link(
        self, token: str, password: str, context: Context = Context()
    ) -> None:
        """Sets the password of the user of a link, and ends the user's tokens and sessions. Needs no actor."""
        return await self._run(redeem_password_link(token, password), context)

    async def get_password_link(
        self, token: str, context: Context = Context()
    ) -> PasswordLinkHolder:
        """Whose password a link sets and until when. It stays good. Needs no actor."""
        return await self._run(get_password_link(token), context)

    async def get_password_policy(self, context: Context = Context()) -> PasswordPolicy:
        """How long new passwords may be. Needs no actor."""
        return await self._run(get_password_policy(), context)

    async def enrol_second_factor(
        self,
        actor: str,
        current_password: str,
        context: Context = Context(),
        issuer: Optional[str] = None,
    ) -> SecondFactorEnrolment:
        """Begins to turn on the second factor of the user ``actor``.

        Authenticator applications show ``issuer``, which has no colon, or ``Rolegate``.
        """
        return await self._run(enrol_second_factor(actor, current_password, issuer), context)

    async def enable_second_factor(
        self, actor: str, otp: str, context: Context = Context()
    ) -> None:
        """Turns it on, given a code, and ends every access token and session of the user ``actor``.

        If ``actor`` is a session, it stays.
        """
        return await self._run(enable_second_factor(actor, otp), context)

    async def disable_second_factor(
        self, actor: str, otp: str, context: Context = Context()
    ) -> None:
        """Turns off that of the user ``actor``, given a code or a recovery code."""
        return await self._run(disable_second_factor(actor, None, otp), context)

    async def remove_second_factor(
        self, actor: str, user_id: int, context: Context = Context()
    ) -> None:
        """Turns off that of another user."""
        return await self._run(disable_second_factor(actor, user_id, ""), context)

    async def get_second_factor(self, actor: str, context: Context = Context()) -> SecondFactor:
        """That of the user ``actor``, which may be any credential."""
        return await self._run(get_second_factor(actor), context)
