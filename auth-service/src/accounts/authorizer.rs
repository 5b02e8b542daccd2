//! Decides whether the bearer of an access token, a session or an API key may make a request.
//!
//! `parse_credential` first parses the credential, without the database. Then the stored user or
//! token is read: for one request in this file, and for many requests together in `batch`. Last, the
//! credential is checked against the stored row by `admit_access_token` or in `opaque_tokens`, and
//! the bearer against the requirement by `admit`.

mod batch;
mod cookies;
mod idle;
mod opaque_tokens;

pub(crate) use batch::AuthorizationRequest;

use super::{
    error::AccountError,
    policy::{Policy, Requirement},
    sign_in_recorder::SignInRecorder,
};
use crate::{
    actor::{Actor, PresentedCredential},
    store::{BatchedReads, StoreError, UserStore, WriteError},
    tokens::{AccessTokens, SecretKind, TokenBearer, VerifiedToken},
    user::User,
};
use rolegate_proto::Reason;
use rolegate_sql_store::Timed;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Semaphore, time::timeout};

/// The maximum time that a decision waits for each access to the store that ends idle sessions or
/// restricts sessions to cookies.
const DECISION_WRITE_TIMEOUT: Duration = Duration::from_millis(300);

/// How a client presented a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenSource {
    /// The token was sent as a bearer token.
    Bearer,
    /// The token was sent in a cookie, which may hold only a session.
    Cookie,
}

/// A parsed credential, which was not yet compared with the database. A malformed opaque token is
/// kept without a digest, so that it is refused like an unknown one.
enum Credential {
    AccessToken(VerifiedToken),
    Opaque {
        token: PresentedToken,
        /// The digest that identifies the token in the database; `None` if the token is malformed,
        /// or is not allowed where it was presented.
        digest: Option<String>,
    },
}

/// The outcome of the read that a malformed token skips. Such a token takes the same path as an
/// unknown one, so that both are counted and recorded in the same way.
const NOTHING_FOUND: Timed<Option<TokenBearer>> = Timed { at: 0, value: None };

/// An opaque token, and how the client presented it.
#[derive(Clone, Copy)]
struct PresentedToken {
    kind: SecretKind<'static>,
    source: TokenSource,
}

impl PresentedToken {
    /// Returns whether the token came in a cookie, but may also be valid as a bearer token. Only
    /// the prefix of a session for a domain rules this out without the stored row.
    fn may_be_unrestricted(self) -> bool {
        self.source == TokenSource::Cookie && self.kind == SecretKind::Session
    }
}

/// Decides who may make a request.
pub(crate) struct Authorizer {
    pub(super) store: Arc<UserStore>,
    pub(super) reads: Arc<BatchedReads>,
    pub(super) tokens: AccessTokens,
    pub(super) policy: Arc<Policy>,
    pub(super) recorder: SignInRecorder,
    /// The permit for the background write that restricts sessions to cookies.
    pub(super) background_restriction: Arc<Semaphore>,
}

impl Authorizer {
    /// Decides whether the bearer of this credential meets the requirement, and returns the bearer.
    ///
    /// For an access token, it checks in this order that the token is valid at the time of the
    /// database, that the user exists and is not disabled, and that the token was not revoked. An
    /// invalid API key or session causes the same error, whether it is unknown, expired, revoked or
    /// of a disabled user.
    ///
    /// Then it checks that the requirement names only roles and groups that exist, and that the
    /// bearer's role or a group of the bearer meets it. Both come from the database, never from the
    /// claims of an access token. An API key has at most its own role and groups, and a role that has
    /// no effect counts as `user`.
    ///
    /// It also deletes a session that was not used for too long, and stores the time of use of a
    /// valid API key or session.
    pub(crate) fn authorize(
        &self,
        credential: &str,
        requirement: &Requirement,
    ) -> impl Future<Output = Result<Actor, AccountError>> {
        self.authorize_from(TokenSource::Bearer, credential, requirement)
    }

    /// Does the same as [`Self::authorize`] for a credential that was presented in `source`.
    pub(crate) async fn authorize_from(
        &self,
        source: TokenSource,
        credential: &str,
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        let actor = self.authenticate(source, credential, requirement).await?;
        admit(actor, requirement)
    }

    /// Checks the credential, and that the names in the requirement exist. Returns the bearer, who
    /// may not meet the requirement.
    pub(crate) async fn authenticate(
        &self,
        source: TokenSource,
        credential: &str,
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        match self.parse_credential(source, credential)? {
            Credential::AccessToken(token) => {
                let key = requirement.decision_key(token.user_id);
                let user = self.reads.users.get(key).await?;
                self.admit_access_token(&token, user, requirement)
            }
            Credential::Opaque { token, digest } => {
                let found = match digest {
                    Some(digest) => {
                        let key = requirement.decision_key(digest);
                        self.reads.tokens.get(key).await?
                    }
                    None => NOTHING_FOUND,
                };
                let idle = self.end_idle_sessions(found.at, found.value.iter()).await;
                if token.may_be_unrestricted() {
                    let unrestricted = self.unrestricted_sessions(found.at, found.value.iter());
                    if !unrestricted.is_empty() {
                        // The future is boxed, because it is rarely needed and would otherwise make
                        // the future of every decision larger.
                        Box::pin(Self::restrict_to_cookies(&self.store, &unrestricted)).await;
                    }
                }
                self.admit_opaque_token(token, found, &idle, requirement)
            }
        }
    }

    /// Detects the kind of a credential. Verifies the signature of an access token, and computes
    /// the digest of an opaque token. Fails only for an access token that is invalid or came in a
    /// cookie.
    ///
    /// A cookie may hold only a session, and a session for a domain may come only in a cookie. A
    /// token in a place where its kind is not allowed is treated as malformed.
    fn parse_credential(
        &self,
        source: TokenSource,
        credential: &str,
    ) -> Result<Credential, AccountError> {
        let Some(kind) = SecretKind::detect(credential) else {
            if source == TokenSource::Cookie {
                return Err(Reason::TokenInvalid.into());
            }
            let verified = self.tokens.verify(credential).ok_or(Reason::TokenInvalid)?;
            return Ok(Credential::AccessToken(verified));
        };
        let is_allowed = match source {
            TokenSource::Bearer => kind != SecretKind::DomainSession,
            TokenSource::Cookie => kind.is_session(),
        };
        let digest = if is_allowed {
            kind.digest(credential)
        } else {
            None
        };
        Ok(Credential::Opaque {
            token: PresentedToken { kind, source },
            digest,
        })
    }

    /// Checks an access token with a verified signature against its stored user, and that the names
    /// in the requirement exist. Returns the bearer.
    fn admit_access_token(
        &self,
        token: &VerifiedToken,
        found: Timed<Option<User>>,
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        let Timed { at, value: user } = found;
        if !token.is_valid_at(at) {
            return Err(Reason::TokenInvalid.into());
        }
        let user = user
            .filter(|user| !user.disabled)
            .ok_or(Reason::TokenUserNotFound)?;
        if token.is_revoked(&user) {
            return Err(Reason::TokenInvalid.into());
        }
        let actor = Actor {
            user,
            ineffective_role: None,
            presented: PresentedCredential::AccessToken,
            expires_at: Some(token.exp),
            at,
        };
        self.with_effective_role(actor, requirement)
    }

    /// Returns the actor with the effective role: a role that has no effect is replaced by `user`
    /// and kept in `ineffective_role`. Fails if the requirement names an unknown role or group.
    fn with_effective_role(
        &self,
        mut actor: Actor,
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        self.policy.require_known_names(requirement, &actor.user)?;
        actor.ineffective_role = self.policy.take_ineffective_role(&mut actor.user);
        Ok(actor)
    }

    /// Does the same as [`Self::authorize`], but refuses API keys, because only people may make the
    /// request.
    pub(super) async fn authorize_person(
        &self,
        credential: &str,
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        let actor = self.authorize(credential, requirement).await?;
        if actor.key_id().is_some() {
            return Err(Reason::RoleInsufficient.into());
        }
        Ok(actor)
    }

    pub(super) async fn authorize_admin(&self, credential: &str) -> Result<Actor, AccountError> {
        self.authorize(credential, &Requirement::admin()).await
    }

    /// Reads the user on whom an actor acts.
    pub(super) async fn find_user(&self, user_id: i64) -> Result<User, AccountError> {
        let found = self.reads.users.get(user_id).await?;
        Ok(found.value.ok_or(Reason::UserNotFound)?)
    }

    /// Converts the outcome of a write whose user may have changed since the credential was
    /// authorized.
    ///
    /// Two requests with one token may have run at the same time, and the first may have revoked
    /// the token. So if the write did not find its user, the credential is authorized again. A
    /// revoked credential then causes its own error; if it is still valid, the error is
    /// `otherwise`.
    pub(super) async fn reauthorize_if_changed<T>(
        &self,
        outcome: Result<T, WriteError>,
        credential: &str,
        requirement: &Requirement,
        otherwise: Reason,
    ) -> Result<T, AccountError> {
        if matches!(outcome, Err(WriteError::UserNotFound)) {
            self.authorize(credential, requirement).await?;
            return Err(otherwise.into());
        }
        Ok(outcome?)
    }
}

/// Returns the actor if the actor meets the requirement.
fn admit(actor: Actor, requirement: &Requirement) -> Result<Actor, AccountError> {
    match requirement.refusal(&actor.user, actor.ineffective_role) {
        None => Ok(actor),
        Some(reason) => Err(reason.into()),
    }
}

/// Waits for the response of the store, and fails after [`DECISION_WRITE_TIMEOUT`].
async fn wait_briefly<T>(
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(DECISION_WRITE_TIMEOUT, answer)
        .await
        .unwrap_or(Err(StoreError::TimedOut))
}
