//! The typed calls of `rolegate.auth.v1.AuthService` that need no actor.

mod credential_checks;

use crate::{
    batchers::{Client, authorize_batcher, authorize_request, get_usernames, username_batcher},
    session::{NewSession, SessionUse, SignInStep, TwoStepSignIn},
    user::{Requirement, User},
};
pub use credential_checks::AcceptedPassword;
use credential_checks::CredentialChecks;
use rolegate_grpc_client::{
    BalancedChannel, CallBatcher, CallContext, CallError, ClientTls, InvalidAddress,
    PASSWORD_TIMEOUT, READ_TIMEOUT, ServiceInfo, call, read,
};
use rolegate_proto::{
    auth_v1::{
        AuthorizeRequest, CreateSessionRequest, GetPasswordLinkRequest, GetPasswordPolicyRequest,
        LoginRequest, RedeemPasswordLinkRequest, RegisterRequest,
        auth_service_server::SERVICE_NAME,
    },
    limits::{DOMAIN_SESSION_PREFIX, SESSION_PREFIX},
};
use secrecy::{ExposeSecret, SecretString};
use std::{collections::HashMap, ops::RangeInclusive, sync::Arc, time::SystemTime};

/// A client of auth-service. Clones are cheap and share connections and batches.
#[derive(Clone, Debug)]
pub struct AuthClient(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    client: Client,
    /// For calls that hash a password. On connections of its own, because the calls of a flood of logins
    /// delay all calls on theirs.
    passwords: BalancedChannel,
    decisions: CallBatcher<AuthorizeRequest, User>,
    usernames: CallBatcher<i64, Option<String>>,
    checks: CredentialChecks,
}

impl AuthClient {
    /// The service that this client calls.
    pub const SERVICE: ServiceInfo = ServiceInfo {
        program: "auth-service",
        default_port: 50051,
        health_name: SERVICE_NAME,
    };

    /// A client of every replica behind `address`, such as `http://auth-service:50051`, in plain text.
    /// Connects in the background. Needs a tokio runtime.
    pub fn connect_lazy(address: &str) -> Result<Self, InvalidAddress> {
        let channel = || BalancedChannel::connect_lazy(Self::SERVICE, address, None);
        Ok(Self::new(channel()?, channel()?))
    }

    /// Like [`AuthClient::connect_lazy`], with TLS, for an address such as
    /// `https://auth-service:50051`. The certificate of every replica must be for that host.
    pub fn connect_lazy_tls(address: &str, tls: ClientTls) -> Result<Self, InvalidAddress> {
        let channel = |tls| BalancedChannel::connect_lazy(Self::SERVICE, address, Some(tls));
        Ok(Self::new(channel(tls.clone())?, channel(tls)?))
    }

    /// A client over two channels to [`AuthClient::SERVICE`], the second one for calls that hash a
    /// password.
    #[must_use]
    pub fn new(channel: BalancedChannel, passwords: BalancedChannel) -> Self {
        let client = Client::new(channel);
        let decisions = authorize_batcher(client.clone());
        let usernames = username_batcher(client.clone());
        let checks = CredentialChecks::new(passwords.clone());
        Self(Arc::new(Parts {
            client,
            passwords,
            decisions,
            usernames,
            checks,
        }))
    }

    /// For calls that check the password of this username. All clients send them to one replica, because
    /// each replica counts attempts and remembers verified passwords for itself.
    pub(crate) fn checks_of(&self, username: &str) -> Client {
        Client::new(self.0.passwords.for_key(username))
    }

    /// For calls that hash no password.
    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    /// For other calls that hash a password.
    pub(crate) fn passwords(&self) -> Client {
        Client::new(self.0.passwords.clone())
    }

    /// Creates a user with the role `user`.
    pub async fn register(
        &self,
        username: &str,
        password: &SecretString,
        context: CallContext,
    ) -> Result<User, CallError> {
        let (username, password) = (username.to_owned(), password.expose_secret().to_owned());
        let request = context.request(RegisterRequest { username, password });
        let response = call(
            PASSWORD_TIMEOUT,
            &self.passwords(),
            request,
            Client::register,
        )
        .await?;
        User::try_from_response(response.user)
    }

    /// Checks a username and a password and issues an access token. `otp`: a one-time code or a recovery code,
    /// which users need whose second factor is on.
    pub async fn login(
        &self,
        username: &str,
        password: &SecretString,
        otp: Option<&str>,
        context: CallContext,
    ) -> Result<(SecretString, User), CallError> {
        let client = self.checks_of(username);
        let (username, password) = (username.to_owned(), password.expose_secret().to_owned());
        let otp = otp.map(str::to_owned);
        let request = context.request(LoginRequest {
            username,
            password,
            otp,
        });
        let response = call(PASSWORD_TIMEOUT, &client, request, Client::login).await?;
        let user = User::try_from_response(response.user)?;
        Ok((response.access_token.into(), user))
    }

    /// Checks what [`Self::login`] checks, and makes a session, or two for some [`SessionUse`]s. Without a place, it is
    /// always [`SignInStep::Done`].
    #[expect(clippy::too_many_arguments, reason = "the fields of the request")]
    pub async fn create_session(
        &self,
        username: &str,
        password: &SecretString,
        otp: Option<&str>,
        name: Option<String>,
        user_agent: Option<&str>,
        session_use: SessionUse,
        two_step: TwoStepSignIn,
        context: CallContext,
    ) -> Result<SignInStep, CallError> {
        let client = self.checks_of(username);
        let for_domain = matches!(session_use, SessionUse::Domain | SessionUse::ApiAndDomain);
        let with_application = matches!(
            session_use,
            SessionUse::ApiAndApplication | SessionUse::ApiAndDomain
        );
        let request = context.request(CreateSessionRequest {
            username: username.to_owned(),
            password: password.expose_secret().to_owned(),
            name,
            user_agent: user_agent.unwrap_or_default().to_owned(),
            for_domain,
            otp: otp.map(str::to_owned),
            for_application: session_use == SessionUse::Application,
            with_application,
            place: two_step.place,
            pending_sign_in: two_step.pending.map(|it| it.expose_secret().to_owned()),
        });
        let response = call(PASSWORD_TIMEOUT, &client, request, Client::create_session).await?;
        if let Some(pending) = response.pending_sign_in {
            return Ok(SignInStep::CodeNeeded(pending.into()));
        }
        let session = response.session.ok_or(CallError::Malformed)?.try_into()?;
        // An auth-service of before ignores what it does not know, and makes a session for the API, or that for the
        // domain alone.
        let is_for_domain = session_use == SessionUse::Domain
            || (session_use == SessionUse::ApiAndDomain && response.application_token.is_none());
        let prefix = if is_for_domain {
            DOMAIN_SESSION_PREFIX
        } else {
            SESSION_PREFIX
        };
        let token = Some(response.token).filter(|token| token.starts_with(prefix));
        Ok(SignInStep::Done(NewSession {
            token: token.ok_or(CallError::Malformed)?.into(),
            application_token: response
                .application_token
                .filter(|_| with_application)
                .map(Into::into),
            session,
        }))
    }

    /// Sets the password of the user of a link, which is used up, and revokes the user's tokens and sessions.
    pub async fn redeem_password_link(
        &self,
        token: &SecretString,
        password: &SecretString,
        context: CallContext,
    ) -> Result<(), CallError> {
        let (token, password) = (
            token.expose_secret().to_owned(),
            password.expose_secret().to_owned(),
        );
        let request = context.request(RedeemPasswordLinkRequest { token, password });
        let client = self.passwords();
        call(
            PASSWORD_TIMEOUT,
            &client,
            request,
            Client::redeem_password_link,
        )
        .await?;
        Ok(())
    }

    /// Returns whose password a link sets and when the link ends. The link stays good.
    pub async fn password_link(
        &self,
        token: &SecretString,
        context: CallContext,
    ) -> Result<(String, SystemTime), CallError> {
        let token = token.expose_secret().to_owned();
        let request = context.request(GetPasswordLinkRequest { token });
        let client = &self.0.client;
        // Not as a read, which may be sent twice: a wrong token would count twice.
        let link = call(READ_TIMEOUT, client, request, Client::get_password_link).await?;
        let expires_at = link.expires_at.ok_or(CallError::Malformed)?;
        let expires_at = expires_at.try_into().map_err(|_| CallError::Malformed)?;
        Ok((link.username, expires_at))
    }

    /// Returns how many bytes a new password may have.
    pub async fn password_lengths(
        &self,
        context: CallContext,
    ) -> Result<RangeInclusive<u32>, CallError> {
        let request = context.request(GetPasswordPolicyRequest {});
        let client = &self.0.client;
        let policy = read(READ_TIMEOUT, client, request, Client::get_password_policy).await?;
        Ok(policy.min_length..=policy.max_length)
    }

    /// Decides whether the bearer of an access token meets a requirement, by the role stored now.
    /// Concurrent decisions share calls, which carry all request ids, and a client address
    /// only with an API key.
    pub async fn authorize(
        &self,
        access_token: &SecretString,
        requirement: Requirement<'_>,
        context: CallContext,
    ) -> Result<User, CallError> {
        let request = authorize_request(access_token, requirement, context.client_address)?;
        self.0.decisions.submit(request, context.request_id).await
    }

    /// [`Self::authorize`] for the session in a cookie of the sign-in page. No other token is accepted.
    pub async fn authorize_cookie(
        &self,
        session: &SecretString,
        requirement: Requirement<'_>,
        context: CallContext,
    ) -> Result<User, CallError> {
        let mut request = authorize_request(session, requirement, context.client_address)?;
        request.from_cookie = true;
        self.0.decisions.submit(request, context.request_id).await
    }

    /// The usernames by id, without ids that do not exist. Needs no actor, because services show
    /// usernames to everybody. Concurrent lookups of one id share calls;
    /// several ids are a batch already.
    pub async fn get_usernames(
        &self,
        ids: &[i64],
        context: CallContext,
    ) -> Result<HashMap<i64, String>, CallError> {
        if let &[id] = ids {
            let username = self.0.usernames.submit(id, context.request_id).await?;
            return Ok(username
                .into_iter()
                .map(|username| (id, username))
                .collect());
        }
        get_usernames(self.client(), ids, context.request_id).await
    }
}
