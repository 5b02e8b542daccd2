//! Creates the sessions of a sign-in. A client presents the password, and a code if the user has a
//! second factor: both in one request, or the code in a second request, with the token of a pending
//! sign-in.
//!
//! `create_session` is the entry point. With a username and a password, `sign_in` checks them like
//! a login. If only the code is missing and another page asks for it, `begin_sign_in` stores a
//! pending sign-in. The next request presents the token of that sign-in with the code, and
//! `finish_sign_in` creates the sessions.

use super::{Authenticator, login::PasswordLogin, password_check::PresentedCredentials};
use crate::{
    accounts::{error::AccountError, token_name::check_name},
    call_origin::CallOrigin,
    change::{NewTokens, TokenChange},
    principal::Principal,
    tokens::{
        GeneratedToken, NewToken, OpaqueToken, SecretKind, SessionDetails, TokenDetails, TokenKind,
        generate_pair_id,
    },
    user::User,
};
use rolegate_proto::Reason;
use rolegate_sql_store::Timed;
use secrecy::SecretString;
use std::io;

/// The purpose of the password check and the code check, as the log and the record name it.
const METHOD: &str = "session";
/// The maximum number of times that one request tries to sign in. A try fails if, during it, the
/// user logs out elsewhere or the same password gets a new hash.
const MAX_SIGN_IN_ATTEMPTS: usize = 2;
/// The maximum length of a stored `User-Agent`, in bytes; the rest is cut off.
const MAX_USER_AGENT_BYTES: usize = 256;

#[derive(Clone, Debug, Default)]
pub(crate) struct SessionRequest {
    /// The name that the client gives the session.
    pub(crate) name: Option<String>,
    pub(crate) user_agent: String,
    pub(crate) session_use: SessionUse,
    /// The page that asks for the code after the password; empty if the code comes with the
    /// password.
    pub(crate) place: String,
    /// The token of a pending sign-in, which replaces the username and the password.
    pub(crate) pending: Option<String>,
}

/// Which sessions are created, and where their tokens may be presented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SessionUse {
    /// One session, whose token is a bearer token of the API.
    #[default]
    Api,
    /// One session, for the cookie of applications on one host. It is refused outside of cookies.
    Application,
    /// One session, for the cookie of a domain. It is refused outside of cookies.
    Domain,
    /// Two sessions: one for the API, and one for applications on the same host.
    ApiAndApplication,
    /// Two sessions: one for the API, and one for the cookie of a domain.
    ApiAndDomain,
}

impl SessionUse {
    /// Lists the use of each session to create.
    fn sessions(self) -> Vec<Self> {
        match self {
            Self::ApiAndApplication => vec![Self::Api, Self::Application],
            Self::ApiAndDomain => vec![Self::Api, Self::Domain],
            one => vec![one],
        }
    }
}

/// The outcome of a request for a session.
#[expect(
    clippy::large_enum_variant,
    reason = "each outcome is converted to a message at once, so few exist at a time"
)]
#[derive(Debug)]
pub(crate) enum SessionOutcome {
    Created(CreatedSession),
    /// The password was correct, and another page has to ask for the code.
    CodeRequired {
        /// The token of the pending sign-in, which replaces the username and the password in the
        /// next request.
        pending_sign_in: SecretString,
    },
}

/// The one or two sessions that a sign-in created. `token` and `session` belong to the first one.
#[derive(Debug)]
pub(crate) struct CreatedSession {
    pub(crate) token: SecretString,
    pub(crate) session: OpaqueToken,
    /// The token of the second session, if there are two.
    pub(crate) application_token: Option<SecretString>,
    pub(crate) user: User,
}

impl SessionRequest {
    /// Returns the text to which a pending sign-in is bound: which sessions it creates, and which
    /// page asks for the code.
    ///
    /// The digests of pending sign-ins contain this text, and replicas of another release must find
    /// them: the names of the variants of [`SessionUse`] cannot change.
    fn binding(&self) -> String {
        format!("{:?} {}", self.session_use, self.place)
    }

    /// Returns the `User-Agent` to store: without control characters, and cut to
    /// [`MAX_USER_AGENT_BYTES`]. Returns `None` if no text is left.
    fn stored_user_agent(&self) -> Option<String> {
        let mut text: String = self
            .user_agent
            .chars()
            .filter(|character| !character.is_control())
            .collect();
        text.truncate(text.floor_char_boundary(MAX_USER_AGENT_BYTES));
        Some(text).filter(|text| !text.is_empty())
    }
}

impl Authenticator {
    /// Creates one or two sessions for the user with this name, if the password is correct and the
    /// user needs no code or the code is right. Two sessions are checked and limited like a single
    /// login.
    ///
    /// If the code of a second factor is missing and the request has a `place`, the outcome is
    /// [`SessionOutcome::CodeRequired`]. If `request.pending` is set, its token replaces the
    /// username and the password.
    pub(crate) async fn create_session(
        &self,
        username: &str,
        password: SecretString,
        request: SessionRequest,
        code: Option<&str>,
        origin: CallOrigin,
    ) -> Result<SessionOutcome, AccountError> {
        if let Some(name) = &request.name {
            check_name(TokenKind::Session, name)?;
        }
        if let Some(token) = &request.pending {
            return self.finish_sign_in(token, &request, code, origin).await;
        }
        let presented = PresentedCredentials::new(username, password, origin, METHOD);
        let mut has_shown_code = false;
        for _ in 0..MAX_SIGN_IN_ATTEMPTS {
            let attempt = self.sign_in(&presented, &request, code, &mut has_shown_code);
            match attempt.await {
                Err(error) if error.reason() == Reason::UserNotFound => {}
                outcome => return outcome,
            }
        }
        Err(Reason::CredentialsInvalid.into())
    }

    /// Checks the password and the code, and creates the sessions. If another page has to ask for
    /// the code, stores a pending sign-in instead. Fails with [`Reason::UserNotFound`] if the user
    /// has changed since the password was checked.
    ///
    /// `has_shown_code` records for the next attempt that the code was accepted, because a code
    /// cannot be used twice.
    async fn sign_in(
        &self,
        presented: &PresentedCredentials<'_>,
        request: &SessionRequest,
        code: Option<&str>,
        has_shown_code: &mut bool,
    ) -> Result<SessionOutcome, AccountError> {
        let PasswordLogin {
            stored,
            needs_rehash,
            user,
        } = self.check_password(presented).await?;
        let code_checked = if *has_shown_code {
            Ok(())
        } else {
            self.check_second_factor(&user.value, code, METHOD).await
        };
        let outcome = match code_checked {
            Ok(()) => {
                *has_shown_code = user.value.second_factor;
                let by = Principal::Login {
                    tokens_not_before: user.value.tokens_not_before,
                    password_hash: stored.password_hash.clone(),
                };
                self.insert_sessions(user, request, by, presented.origin)
                    .await
            }
            Err(error) if error.reason() == Reason::OtpRequired && !request.place.is_empty() => {
                self.begin_sign_in(&user, request).await
            }
            Err(error) => return Err(error),
        };
        let has_user_changed =
            matches!(&outcome, Err(error) if error.reason() == Reason::UserNotFound);
        if needs_rehash && !has_user_changed {
            self.rehash(presented, stored);
        }
        outcome
    }

    /// Stores a pending sign-in, which waits for the user's code, and returns its token.
    async fn begin_sign_in(
        &self,
        user: &Timed<User>,
        request: &SessionRequest,
    ) -> Result<SessionOutcome, AccountError> {
        let binding = request.binding();
        let kind = SecretKind::PendingSignIn { binding: &binding };
        let GeneratedToken { token, digest } = kind.generate().map_err(AccountError::internal)?;
        self.store.insert_pending_sign_in(user, digest).await?;
        Ok(SessionOutcome::CodeRequired {
            pending_sign_in: token,
        })
    }

    /// Creates the sessions of a pending sign-in if the code is right. Fails with
    /// [`Reason::TokenInvalid`] if there is no such pending sign-in. After a wrong code, the
    /// sign-in stays pending.
    async fn finish_sign_in(
        &self,
        token: &str,
        request: &SessionRequest,
        code: Option<&str>,
        origin: CallOrigin,
    ) -> Result<SessionOutcome, AccountError> {
        let binding = request.binding();
        let kind = SecretKind::PendingSignIn { binding: &binding };
        let digest = kind.digest(token).ok_or(Reason::TokenInvalid)?;
        let Timed { at, value } = self.store.pending_sign_in(&digest).await?;
        let user = value.ok_or(Reason::TokenInvalid)?;
        self.check_second_factor(&user, code, METHOD).await?;
        let by = Principal::PendingSignIn {
            tokens_not_before: user.tokens_not_before,
            digest,
        };
        let user = Timed { at, value: user };
        match self.insert_sessions(user, request, by, origin).await {
            // Since the pending sign-in was read, it was used or has expired, or the user has
            // changed.
            Err(error) if error.reason() == Reason::UserNotFound => {
                Err(Reason::TokenInvalid.into())
            }
            outcome => outcome,
        }
    }

    /// Creates the sessions of a user who has presented everything that a sign-in needs, and stores
    /// the time of the login. Fails with [`Reason::UserNotFound`] if the user has changed since it
    /// was read, or if the pending sign-in of `by` was used or has expired since.
    async fn insert_sessions(
        &self,
        mut user: Timed<User>,
        request: &SessionRequest,
        by: Principal,
        origin: CallOrigin,
    ) -> Result<SessionOutcome, AccountError> {
        self.policy.take_ineffective_role(&mut user.value);
        self.update_last_login(&user);
        let new = self
            .generate_sessions(&user, request, origin)
            .map_err(AccountError::internal)?;
        let token = new[0].token.clone();
        let application_token = new.get(1).map(|second| second.token.clone());
        let create = TokenChange::Create(NewTokens {
            user_id: user.value.id,
            kind: TokenKind::Session,
            created_at: user.at,
            tokens: new,
        });
        let user = user.value;
        let sessions = self
            .changes
            .apply_to_tokens(by, create, Some(user.username.clone()))
            .await?;
        let session = sessions.into_iter().next();
        Ok(SessionOutcome::Created(CreatedSession {
            token,
            session: session.ok_or(Reason::UserNotFound)?,
            application_token,
            user,
        }))
    }

    /// Generates the sessions to store, each with its token. If there are two, they get the same
    /// pair id. Fails only if the system provides no random bytes.
    fn generate_sessions(
        &self,
        user: &Timed<User>,
        request: &SessionRequest,
        origin: CallOrigin,
    ) -> io::Result<Vec<NewToken>> {
        let session_uses = request.session_use.sessions();
        let pair_id = if session_uses.len() > 1 {
            Some(generate_pair_id()?)
        } else {
            None
        };
        let mut tokens = Vec::with_capacity(session_uses.len());
        for session_use in session_uses {
            let kind = if session_use == SessionUse::Domain {
                SecretKind::DomainSession
            } else {
                SecretKind::Session
            };
            let details = SessionDetails {
                not_before: user.value.tokens_not_before,
                client_address: origin.client_address.map(|address| address.to_string()),
                user_agent: request.stored_user_agent(),
                cookie_only: session_use != SessionUse::Api,
                pair_id,
            };
            let name = request.name.clone().unwrap_or_default();
            let mut new = NewToken::generate(
                kind,
                user.value.id,
                name,
                user.at,
                TokenDetails::Session(details),
            )?;
            new.stored.expires_at = Some(user.at.saturating_add(self.policy.sessions.max));
            tokens.push(new);
        }
        Ok(tokens)
    }
}
