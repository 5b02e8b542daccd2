//! Links by which users choose a password themselves.

use super::{error::AccountError, service::Accounts};
use crate::{
    audit::{Change, Initiator, Write},
    call_origin::CallOrigin,
    metrics,
    opaque_token::{self, GeneratedToken, password_link_digest},
    store::{StoredPasswordLink, WriteError, Writer},
    user::User,
};
use rolegate_proto::Reason;
use secrecy::SecretString;
use std::{sync::Arc, time::Instant};

/// Why a link is refused of which nothing is stored: it is malformed, used or replaced, or never was.
const UNKNOWN: &str = "unknown";

/// The token of a link, and when it ends, in Unix seconds.
pub(crate) type PasswordLink = (SecretString, u64);

impl Accounts {
    /// Makes a link for another user, which replaces the one before. As for a password that an admin sets, the
    /// actor is a person, and not that user: it stands for the account.
    pub(crate) async fn create_password_link(
        &self,
        access_token: &str,
        user_id: i64,
    ) -> Result<PasswordLink, AccountError> {
        let actor = self.admin_of_another(access_token, user_id).await?;
        let user = self.find(user_id).await?;
        let GeneratedToken { token, digest } =
            opaque_token::generate_password_link().map_err(AccountError::internal)?;
        let (store, by) = (Arc::clone(&self.store), Some(actor.user.id));
        let insert = move |write| async move {
            store.insert_password_link(by, user_id, digest, write).await
        };
        let write = Write::by_actor(actor, Change::PasswordLinkCreated, user_id);
        let expires_at = write
            .run(insert, move |write, _| write.log_user(&user))
            .await?;
        Ok((token, expires_at))
    }

    /// Finds a good link and its digest. The link stays good. Bad tokens count for their client's address.
    pub(crate) async fn find_password_link(
        &self,
        token: &str,
        origin: &CallOrigin,
    ) -> Result<(String, StoredPasswordLink), AccountError> {
        let attempt = self
            .links
            .acquire("", origin.client_key(), Instant::now())
            .inspect_err(|exceeded| {
                metrics::count_limit_refusal("password_link");
                // The others of the window are only counted: a flood of refusals must not fill the log.
                if exceeded.first_in_window {
                    self.note_link_refused(None, "too_many_attempts");
                } else {
                    self.count_refusal();
                }
            })?;
        let Some(digest) = password_link_digest(token) else {
            return Err(self.refuse_link(None, UNKNOWN));
        };
        // One read for every link that is refused, so that its time does not tell why.
        let found = self.store.password_link(&digest).await?;
        let Some(link) = found.value else {
            return Err(self.refuse_link(None, UNKNOWN));
        };
        if let Some(reason) = link.refusal(found.at) {
            return Err(self.refuse_link(Some(&link.user), reason));
        }
        attempt.refund();
        Ok((digest, link))
    }

    /// Sets the password of the user of a link.
    pub(crate) async fn redeem_password_link(
        &self,
        token: &str,
        password: SecretString,
        origin: CallOrigin,
    ) -> Result<User, AccountError> {
        let (digest, StoredPasswordLink { user, .. }) =
            self.find_password_link(token, &origin).await?;
        let password = self.policy.passwords.check(password)?;
        let _slot = self.hasher.admit(origin).await?;
        let write = Write::new(
            Change::PasswordSetByLink,
            Initiator::Owner { session: None },
            Some(user.id),
        );
        let writer = Writer::Link(digest);
        match self
            .replace_password(write, user.id, &password, writer, origin)
            .await?
        {
            // Used or replaced meanwhile.
            Err(WriteError::UserNotFound) => Err(self.refuse_link(Some(&user), UNKNOWN)),
            set => Ok(set?),
        }
    }

    /// Records the refusal. The client does not learn the reason.
    fn refuse_link(&self, user: Option<&User>, reason: &'static str) -> AccountError {
        self.note_link_refused(user, reason);
        Reason::LinkInvalid.into()
    }
}
