//! Authorizes the bearer of an access token, a session or an API key.
//!
//! - `credential`: what is presented, and where.
//! - `admission`: the checks of it against what is stored.
//! - `batch`: many authorizations with few statements.

mod admission;
mod batch;
mod credential;

pub(crate) use batch::AuthorizationRequest;
pub(crate) use credential::TokenSource;

use super::{error::AccountError, requirement::Requirement, service::Accounts};
use crate::actor::Actor;
use credential::Credential;
use rolegate_sql_store::Timed;

impl Accounts {
    /// The bearer of the credential, with the stored role. Checked in this order: a token is valid at the
    /// time of the database, its user exists and has revoked no tokens since, the requirement names roles of
    /// this service, the stored role may pass. The `role` claim is ignored. The bearer of an API key has the
    /// lower of the stored role and the key's; whatever is wrong with a key or a session, it is invalid.
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
                        // What is rare is boxed, or every decision would be larger.
                        Box::pin(self.restrict_to_cookies(&unrestricted)).await;
                    }
                }
                self.admit_opaque_token(token, found, &idle, requirement)
            }
            Credential::Opaque {
                token,
                digest: None,
            } => {
                let nothing_found = Timed { at: 0, value: None };
                self.admit_opaque_token(token, nothing_found, &[], requirement)
            }
        }
    }

    pub(super) async fn authorize_admin(&self, credential: &str) -> Result<Actor, AccountError> {
        self.authorize(credential, &Requirement::admin()).await
    }
}
