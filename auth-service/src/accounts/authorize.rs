//! Decides whether the bearer of an access token, a session or an API key may do what a request
//! asks for.
//!
//! A credential is first parsed here, without the database. Then the stored user or token is read,
//! alone or by `batch` together with those of other requests. Last, `admission` checks the
//! credential against what was read, and the role against the requirement.

mod admission;
mod batch;

pub(crate) use batch::AuthorizationRequest;

use super::{error::AccountError, requirement::Requirement, service::Accounts};
use crate::{
    actor::Actor,
    opaque_token::{self, TokenKind},
    token::VerifiedToken,
};
use rolegate_proto::{Reason, limits::DOMAIN_SESSION_PREFIX};
use rolegate_sql_store::Timed;

/// Where a token was presented.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenSource {
    /// It was sent as a bearer token.
    Bearer,
    /// It was sent in a cookie, which may hold a session and nothing else.
    Cookie,
}

/// A parsed credential that may be valid. An opaque token can also be malformed, and is then
/// refused like an unknown one.
enum Credential {
    AccessToken(VerifiedToken),
    Opaque {
        token: PresentedToken,
        /// The digest by which the token is found; `None` if the token is malformed.
        digest: Option<String>,
    },
}

/// An opaque token, and where it was presented.
#[derive(Clone, Copy)]
struct PresentedToken {
    kind: TokenKind,
    source: TokenSource,
    /// True if the token came in a cookie and may also be good as a bearer token. Only a session
    /// with the prefix for domains is certain not to be.
    may_be_unrestricted: bool,
}

impl Accounts {
    /// Decides whether the bearer of this credential meets the requirement, and returns the bearer
    /// with the stored role.
    ///
    /// It checks in this order that the token is valid at the time of the database, the user exists
    /// and is not disabled, and the token was not revoked. Then it checks that the requirement
    /// names only roles of this service, and that the stored role meets it. The `role` claim of an
    /// access token is ignored. An API key has at most its own role. Whatever is wrong with a key
    /// or a session, the error is the same: it is invalid.
    pub(crate) fn authorize(
        &self,
        credential: &str,
        requirement: &Requirement,
    ) -> impl Future<Output = Result<Actor, AccountError>> {
        self.authorize_from(TokenSource::Bearer, credential, requirement)
    }

    /// Does the same as [`Self::authorize`] with a credential that may be from a cookie.
    pub(crate) async fn authorize_from(
        &self,
        source: TokenSource,
        credential: &str,
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        match self.parse_credential(source, credential)? {
            Credential::AccessToken(token) => {
                let user = self.reads.users.get(token.user_id).await?;
                self.admit_access_token(&token, user, requirement)
            }
            Credential::Opaque {
                token,
                digest: Some(digest),
            } => {
                let found = self.reads.tokens.get(digest).await?;
                let idle = self.end_idle_sessions(found.at, found.value.iter()).await;
                if token.may_be_unrestricted {
                    let unrestricted = self.unrestricted_sessions(found.at, found.value.iter());
                    if !unrestricted.is_empty() {
                        // The future is boxed, because this is rare and would otherwise make the
                        // future of every decision larger.
                        Box::pin(self.restrict_to_cookies(&unrestricted)).await;
                    }
                }
                self.admit_opaque_token(token, found, &idle, requirement)
            }
            Credential::Opaque {
                token,
                digest: None,
            } => {
                // A malformed token is refused in the same way as an unknown one, so it is counted
                // and recorded like it.
                let nothing_found = Timed { at: 0, value: None };
                self.admit_opaque_token(token, nothing_found, &[], requirement)
            }
        }
    }

    /// Does the same as [`Self::authorize`], and refuses an API key.
    pub(super) async fn authorize_person(
        &self,
        credential: &str,
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        let actor = self.authorize(credential, requirement).await?;
        Ok(actor.require_person()?)
    }

    pub(super) async fn authorize_admin(&self, credential: &str) -> Result<Actor, AccountError> {
        self.authorize(credential, &Requirement::admin()).await
    }

    /// Finds out which kind of credential this is, and verifies the signature of an access token.
    ///
    /// A cookie may hold a session and nothing else, and a session of a domain may be in a cookie
    /// only. A token in a place where its kind is not allowed is treated as malformed.
    fn parse_credential(
        &self,
        source: TokenSource,
        credential: &str,
    ) -> Result<Credential, AccountError> {
        let Some(kind) = TokenKind::detect(credential) else {
            return match source {
                TokenSource::Bearer => {
                    let verified = self.tokens.verify(credential).ok_or(Reason::TokenInvalid)?;
                    Ok(Credential::AccessToken(verified))
                }
                TokenSource::Cookie => Err(Reason::TokenInvalid.into()),
            };
        };
        let is_for_domain = credential.starts_with(DOMAIN_SESSION_PREFIX);
        let is_allowed = match source {
            TokenSource::Bearer => !is_for_domain,
            TokenSource::Cookie => kind == TokenKind::Session,
        };
        let digest = if is_allowed {
            opaque_token::digest(credential)
        } else {
            None
        };
        Ok(Credential::Opaque {
            token: PresentedToken {
                kind,
                source,
                may_be_unrestricted: source == TokenSource::Cookie && !is_for_domain,
            },
            digest,
        })
    }
}
