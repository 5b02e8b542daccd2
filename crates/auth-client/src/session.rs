//! Sessions and bearers as auth-service returns them.

use crate::user::User;
use prost_types::Timestamp;
use rolegate_grpc_client::CallError;
use rolegate_proto::{auth_v1, time};
use secrecy::SecretString;
use std::time::SystemTime;

pub use auth_v1::CredentialKind;

/// A session, without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// At least 1; never reused.
    pub id: i64,
    /// The user who acts by it.
    pub user_id: i64,
    /// As the client named it; not unique.
    pub name: Option<String>,
    /// To the second, as the times below.
    pub created_at: SystemTime,
    /// When it was last good for a decision, up to a minute late; `None` for never.
    pub last_used_at: Option<SystemTime>,
    /// The address of the client that made it, if it is known.
    pub client_address: Option<String>,
    /// The `User-Agent` of that client. Trust it for nothing.
    pub user_agent: Option<String>,
    /// When it ends, used or not.
    pub expires_at: SystemTime,
    /// When it ends unless it is used.
    pub idle_expires_at: SystemTime,
    /// Whether it is the credential of the call.
    pub current: bool,
}

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionUse {
    /// It stands wherever an access token does.
    Api,
    /// It is good in the cookie of applications on one host only.
    Application,
    /// It is good in the cookie of applications on all hosts of a domain only.
    Domain,
    /// Two sessions, for the API and for applications on one host: both are made, or none.
    ApiAndApplication,
    /// Two sessions, for the API and for applications on a domain: both are made, or none. An auth-service of the
    /// version before makes that for the domain alone.
    ApiAndDomain,
}

/// A session that was made, with its token, which auth-service does not keep.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// The token of the session.
    pub token: SecretString,
    /// The token of the session for applications, if there are two sessions. An auth-service of the version
    /// before makes none.
    pub application_token: Option<SecretString>,
    /// What auth-service keeps of the session.
    pub session: Session,
}

/// A sign-in at a page, which asks for the code on a page of its own.
#[derive(Clone, Debug, Default)]
pub struct TwoStepSignIn {
    /// Where both pages are, such as an origin; empty without a page of the code.
    pub place: String,
    /// The token of [`SignInStep::CodeNeeded`], from the page of the code. It stands for username and password.
    pub pending: Option<SecretString>,
}

/// How far a sign-in at a page is.
#[derive(Clone, Debug)]
pub enum SignInStep {
    /// It is done.
    Done(NewSession),
    /// The password is right, and the second factor of the user asks for a code. The page of the code needs this token.
    CodeNeeded(SecretString),
}

/// The bearer of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// As in decisions.
    pub user: User,
    /// What the credential is.
    pub kind: CredentialKind,
    /// When the credential ends at the latest; `None` for never.
    pub expires_at: Option<SystemTime>,
}

/// A time that a response must have.
pub(crate) fn time(time: Option<Timestamp>) -> Result<SystemTime, CallError> {
    time::from_message(time).ok_or(CallError::Malformed)
}

pub(crate) fn optional_time(at: Option<Timestamp>) -> Result<Option<SystemTime>, CallError> {
    at.map(|at| time(Some(at))).transpose()
}

impl TryFrom<auth_v1::Session> for Session {
    type Error = CallError;

    fn try_from(session: auth_v1::Session) -> Result<Self, CallError> {
        Ok(Self {
            id: session.id,
            user_id: session.user_id,
            name: session.name,
            created_at: time(session.created_at)?,
            last_used_at: optional_time(session.last_used_at)?,
            client_address: session.client_address,
            user_agent: session.user_agent,
            expires_at: time(session.expires_at)?,
            idle_expires_at: time(session.idle_expires_at)?,
            current: session.current,
        })
    }
}

impl TryFrom<auth_v1::GetCurrentUserResponse> for Bearer {
    type Error = CallError;

    /// A kind of a later version is an error, because it cannot be named.
    fn try_from(response: auth_v1::GetCurrentUserResponse) -> Result<Self, CallError> {
        let credential = response.credential.ok_or(CallError::Malformed)?;
        let kind = CredentialKind::try_from(credential.kind).unwrap_or_default();
        if kind == CredentialKind::Unspecified {
            return Err(CallError::Malformed);
        }
        let user = User::try_from_response(response.user)?;
        Ok(Self {
            user,
            kind,
            expires_at: optional_time(credential.expires_at)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Bearer, CredentialKind, Session, auth_v1};
    use prost_types::Timestamp;
    use rolegate_grpc_client::CallError;

    const TIME: Option<Timestamp> = Some(Timestamp {
        seconds: 1,
        nanos: 0,
    });
    const BEFORE_1970: Option<Timestamp> = Some(Timestamp {
        seconds: -1,
        nanos: 0,
    });

    #[test]
    fn sessions_that_cannot_be_shown_are_errors() {
        let good = auth_v1::Session {
            created_at: TIME,
            expires_at: TIME,
            idle_expires_at: TIME,
            ..auth_v1::Session::default()
        };
        let session = Session::try_from(good.clone()).expect("a session");
        assert_eq!((session.name, session.last_used_at), (None, None));
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
                ..good.clone()
            },
            auth_v1::Session {
                last_used_at: BEFORE_1970,
                ..good
            },
        ] {
            assert_eq!(Session::try_from(bad), Err(CallError::Malformed));
        }
    }

    #[test]
    fn bearers_without_a_user_or_a_known_kind_are_errors() {
        let response = |kind: i32, role_name: &str| auth_v1::GetCurrentUserResponse {
            user: Some(auth_v1::User {
                role_name: role_name.to_owned(),
                ..auth_v1::User::default()
            }),
            credential: Some(auth_v1::Credential {
                kind,
                expires_at: None,
            }),
        };
        let bearer = Bearer::try_from(response(3, "editor")).expect("a bearer");
        assert_eq!(
            (bearer.kind, bearer.expires_at),
            (CredentialKind::ApiKey, None)
        );
        assert_eq!(bearer.user.role.as_str(), "editor");
        let late = auth_v1::Credential {
            kind: 1,
            expires_at: BEFORE_1970,
        };
        for bad in [
            response(0, "user"),
            response(4, "user"),
            response(-1, "user"),
            response(1, ""),
            response(1, "Editor"),
            auth_v1::GetCurrentUserResponse {
                user: None,
                ..response(1, "user")
            },
            auth_v1::GetCurrentUserResponse {
                credential: None,
                ..response(1, "user")
            },
            auth_v1::GetCurrentUserResponse {
                credential: Some(late),
                ..response(1, "user")
            },
        ] {
            assert_eq!(Bearer::try_from(bad), Err(CallError::Malformed));
        }
    }
}
