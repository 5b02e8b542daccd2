//! Password links: addresses at which users choose a password that nobody else knows.
//!
//! An admin or the operator creates a link for a user, or a new user together with a link. The page
//! of the link calls `find_password_link` to show whose link it is, and `redeem_password_link` to
//! set the password, which uses the link up.

use super::Users;
use crate::{
    accounts::error::AccountError,
    call_origin::CallOrigin,
    change::Change,
    metrics,
    principal::Principal,
    store::WriteError,
    tokens::{NewPasswordLink, SecretKind, StoredPasswordLink},
    user::User,
};
use rolegate_proto::Reason;
use secrecy::SecretString;
use std::time::Instant;

/// The recorded reason for refusing a token that belongs to no stored link: it is malformed, was
/// used or replaced, or never existed.
const UNKNOWN: &str = "unknown";

/// A stored link that may still be used, and the digest of its token.
pub(crate) struct FoundLink {
    digest: String,
    pub(crate) stored: StoredPasswordLink,
}

impl Users {
    /// Creates a link for another user, which replaces an earlier link of that user. Returns the
    /// link.
    ///
    /// The link gives access to the account, so the rules are those for setting a password: the
    /// actor must be an admin, must not present an API key, and cannot create a link for
    /// themselves.
    pub(crate) async fn create_password_link(
        &self,
        credential: &str,
        user_id: i64,
    ) -> Result<NewPasswordLink, AccountError> {
        let actor = self.authorize_password_for(user_id, credential).await?;
        self.authorizer.find_user(user_id).await?;
        let link = NewPasswordLink::generate(actor.at).map_err(AccountError::internal)?;
        let change = Change::CreatePasswordLink {
            user_id,
            link: link.clone(),
        };
        self.changes.apply(Principal::Admin(actor), change).await?;
        Ok(link)
    }

    /// Returns the link with this token if the link may be used, and does not use it up. Any other
    /// token is recorded as refused, and counts towards a limit of the client's address. A client
    /// over this limit is refused before the link is read.
    pub(crate) async fn find_password_link(
        &self,
        token: &str,
        origin: &CallOrigin,
    ) -> Result<FoundLink, AccountError> {
        let attempt = self
            .link_limiter
            .acquire("", origin.client_key(), Instant::now())
            .inspect_err(|exceeded| {
                metrics::count_limit_refusal("password_link");
                // Further refusals in the window are only counted, because a flood of them must not
                // fill the log.
                if exceeded.first_in_window {
                    self.recorder.record_link_refusal(None, "too_many_attempts");
                } else {
                    self.recorder.count_refusal();
                }
            })?;
        let unknown = || self.refuse_link(None, UNKNOWN);
        let digest = SecretKind::PasswordLink.digest(token).ok_or_else(unknown)?;
        // Every well-formed token costs one read, so the response time does not reveal why a link
        // is refused.
        let found = self.store.password_link(&digest).await?;
        let stored = found.value.ok_or_else(unknown)?;
        if let Some(reason) = stored.refusal(found.at) {
            return Err(self.refuse_link(Some(&stored.user), reason));
        }
        attempt.refund();
        Ok(FoundLink { digest, stored })
    }

    /// Sets a password for the user to whom the link belongs, uses up the link and returns the
    /// user. The user's access tokens and sessions are revoked. A password that breaks a rule does
    /// not use up the link.
    pub(crate) async fn redeem_password_link(
        &self,
        token: &str,
        password: SecretString,
        origin: CallOrigin,
    ) -> Result<User, AccountError> {
        let link = self.find_password_link(token, &origin).await?;
        let user = link.stored.user;
        let password = self.policy.passwords.check(password)?;
        let _slot = self.hasher.admit(origin).await?;
        let hash = self.hasher.hash(&password, origin).await?;
        let by = Principal::Link {
            digest: link.digest,
        };
        let user_id = user.id;
        match self
            .changes
            .apply(by, Change::SetPassword { user_id, hash })
            .await
        {
            // The link was used or replaced after it was found.
            Err(WriteError::UserNotFound) => Err(self.refuse_link(Some(&user), UNKNOWN)),
            set => Ok(set?),
        }
    }

    /// Records why a link is refused, and returns an error that does not reveal the reason to the
    /// client.
    fn refuse_link(&self, user: Option<&User>, reason: &'static str) -> AccountError {
        self.recorder.record_link_refusal(user, reason);
        Reason::LinkInvalid.into()
    }
}
