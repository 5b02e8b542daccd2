//! Registers users, and signs users in with a password, for an access token or for sessions.

use super::AuthClient;
use crate::{response_time::required_time, user::User};
use rolegate_grpc_client::{Call, CallContext, CallError};
use rolegate_proto::{
    auth_v1::{CreateSessionRequest, CreateSessionResponse, LoginRequest, RegisterRequest},
    limits::{DOMAIN_SESSION_PREFIX, SESSION_PREFIX},
};
use secrecy::{ExposeSecret as _, SecretString};
use std::time::SystemTime;

/// Says where a new session is accepted, and whether there are two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionUse {
    /// The session is accepted wherever an access token is.
    Api,
    /// The session is accepted only in the cookie of applications on one host.
    Application,
    /// The session is accepted only in the cookie of applications on all hosts of a domain.
    Domain,
    /// Two sessions are created: one for the API, and one for applications on one host. Either both are created
    /// or none.
    ApiAndApplication,
    /// Two sessions are created: one for the API, and one for applications on all hosts of a domain. Either
    /// both are created or none. An auth-service of the previous release creates only the one for the domain.
    ApiAndDomain,
}

impl SessionUse {
    fn is_pair(self) -> bool {
        matches!(self, Self::ApiAndApplication | Self::ApiAndDomain)
    }

    fn includes_domain(self) -> bool {
        matches!(self, Self::Domain | Self::ApiAndDomain)
    }
}

/// A new session with its token, which auth-service does not store.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// The token of the session.
    pub token: SecretString,
    /// The token of the session for applications, if two sessions were created. An auth-service of the
    /// previous release creates none.
    pub application_token: Option<SecretString>,
    /// The id of the session, which is at least 1 and never reused.
    pub id: i64,
    /// The time at which the session was created, in whole seconds like the times below.
    pub created_at: SystemTime,
    /// The time at which the session expires, even if it is used.
    pub expires_at: SystemTime,
    /// The time at which the session expires if it is not used until then.
    pub idle_expires_at: SystemTime,
}

/// A sign-in at a web page that requests the one-time code on a second page. The default is a sign-in without a
/// second page.
#[derive(Clone, Debug, Default)]
pub struct TwoStepSignIn {
    /// Identifies the site of both pages, for example by its origin; empty if there is no second page.
    pub place: String,
    /// The token of [`SignInStep::CodeNeeded`], sent from the second page. It replaces username and password.
    pub pending: Option<SecretString>,
}

/// The outcome of one step of a sign-in.
#[derive(Clone, Debug)]
pub enum SignInStep {
    /// The sign-in is complete.
    Done(NewSession),
    /// The password is right, and the user's second factor requires a code. The second page needs this token.
    CodeNeeded(SecretString),
}

impl SignInStep {
    fn from_response(
        response: CreateSessionResponse,
        requested: SessionUse,
    ) -> Result<Self, CallError> {
        if let Some(pending) = response.pending_sign_in {
            return Ok(Self::CodeNeeded(pending.into()));
        }
        let session = response.session.ok_or(CallError::Malformed)?;
        // An auth-service of the previous release ignores the fields that it does not know. It may create a
        // session for the API instead of the requested one or, if two are requested, only the one for the
        // domain. The prefix of the token reveals that.
        let prefix = match (requested, &response.application_token) {
            (SessionUse::Domain, _) | (SessionUse::ApiAndDomain, None) => DOMAIN_SESSION_PREFIX,
            _ => SESSION_PREFIX,
        };
        if !response.token.starts_with(prefix) {
            return Err(CallError::Malformed);
        }
        let application_token = response
            .application_token
            .filter(|_| requested.is_pair())
            .map(SecretString::from);
        Ok(Self::Done(NewSession {
            token: response.token.into(),
            application_token,
            id: session.id,
            created_at: required_time(session.created_at)?,
            expires_at: required_time(session.expires_at)?,
            idle_expires_at: required_time(session.idle_expires_at)?,
        }))
    }
}

impl AuthClient {
    /// Creates a user with the role `user`.
    pub async fn register(
        &self,
        username: &str,
        password: &SecretString,
        context: CallContext,
    ) -> Result<(), CallError> {
        let client = self.shared.connections.password_client();
        let request = RegisterRequest {
            username: username.to_owned(),
            password: password.expose_secret().to_owned(),
        };
        Call::hashing(context).send(&client, request).await?;
        Ok(())
    }

    /// Checks a username and a password and issues an access token. `otp` is a one-time code or a recovery
    /// code, which users need if their second factor is on.
    pub async fn login(
        &self,
        username: &str,
        password: &SecretString,
        otp: Option<&str>,
        context: CallContext,
    ) -> Result<(SecretString, User), CallError> {
        let client = self.shared.connections.password_client_for(username);
        let request = LoginRequest {
            username: username.to_owned(),
            password: password.expose_secret().to_owned(),
            otp: otp.map(str::to_owned),
        };
        let response = Call::hashing(context).send(&client, request).await?;
        let user = User::try_from_response(response.user)?;
        Ok((response.access_token.into(), user))
    }

    /// Checks the same credentials as [`Self::login`], and creates a session, or two for some values of
    /// [`SessionUse`]. If [`TwoStepSignIn::place`] is empty, the outcome is always [`SignInStep::Done`].
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
        let client = self.shared.connections.password_client_for(username);
        let pending_sign_in = two_step.pending.as_ref();
        let request = CreateSessionRequest {
            username: username.to_owned(),
            password: password.expose_secret().to_owned(),
            name,
            user_agent: user_agent.unwrap_or_default().to_owned(),
            for_domain: session_use.includes_domain(),
            otp: otp.map(str::to_owned),
            for_application: session_use == SessionUse::Application,
            with_application: session_use.is_pair(),
            place: two_step.place,
            pending_sign_in: pending_sign_in.map(|token| token.expose_secret().to_owned()),
        };
        let response = Call::hashing(context).send(&client, request).await?;
        SignInStep::from_response(response, session_use)
    }
}

#[cfg(test)]
mod tests {
    use super::{CallError, CreateSessionResponse, SessionUse, SignInStep};
    use prost_types::Timestamp;
    use rolegate_proto::auth_v1;

    const TIME: Option<Timestamp> = Some(Timestamp {
        seconds: 1,
        nanos: 0,
    });

    #[test]
    fn sessions_without_their_times_are_errors() {
        let step = |session: auth_v1::Session| {
            let response = CreateSessionResponse {
                token: "rgs_a".to_owned(),
                session: Some(session),
                ..CreateSessionResponse::default()
            };
            SignInStep::from_response(response, SessionUse::Api)
        };
        let good = auth_v1::Session {
            created_at: TIME,
            expires_at: TIME,
            idle_expires_at: TIME,
            ..auth_v1::Session::default()
        };
        assert!(matches!(step(good.clone()), Ok(SignInStep::Done(_))));
        for bad in [
            auth_v1::Session {
                created_at: None,
                ..good.clone()
            },
            auth_v1::Session {
                expires_at: None,
                ..good.clone()
            },
            auth_v1::Session {
                idle_expires_at: None,
                ..good
            },
        ] {
            assert!(matches!(step(bad), Err(CallError::Malformed)));
        }
    }
}
