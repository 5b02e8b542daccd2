//! Links by which users choose a password themselves.

use super::{error::AccountError, service::Accounts};
use crate::{
    audit::{By, Change, Write},
    call_origin::CallOrigin,
    metrics,
    opaque_token::{self, link_digest},
    store::{WriteError, Writer},
    user::User,
};
use rolegate_proto::Reason;
use secrecy::SecretString;
use std::{sync::Arc, time::Instant};

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
        let (token, digest) = opaque_token::password_link().map_err(AccountError::internal)?;
        let (store, by) = (Arc::clone(&self.store), Some(actor.user.id));
        let insert = move |write| async move {
            store.insert_password_link(by, user_id, digest, write).await
        };
        let write = Write::by_actor(actor, Change::PasswordLinkCreated, user_id);
        let expires_at = write
            .run(insert, move |write, _| write.record_user(&user))
            .await?;
        Ok((token, expires_at))
    }

    /// Sets the password of the user of a link. Bad tokens count for their client's address.
    pub(crate) async fn redeem_password_link(
        &self,
        token: &str,
        password: SecretString,
        origin: CallOrigin,
    ) -> Result<User, AccountError> {
        let attempt = self.links.acquire("", origin.client_key(), Instant::now());
        let attempt = attempt.inspect_err(|_| metrics::limit_exceeded("password_link"))?;
        let digest = link_digest(token).ok_or(Reason::LinkInvalid)?;
        let user = self
            .store
            .user_of_link(&digest)
            .await?
            .ok_or(Reason::LinkInvalid)?;
        attempt.refund();
        let password = self.policy.passwords.check(password)?;
        let _slot = self.hasher.admit(origin).await?;
        let write = Write::new(Change::PasswordSetByLink, By::Owner(None), Some(user.id));
        let writer = Writer::Link(digest);
        match self
            .replace_password(write, user.id, &password, writer, origin)
            .await?
        {
            // Used or replaced meanwhile.
            Err(WriteError::UserNotFound) => Err(Reason::LinkInvalid.into()),
            set => Ok(set?),
        }
    }
}
