//! Exchanges a username and a password for an access token.

use super::{AccountError, Accounts, credentials::Presented};
use crate::{
    audit::AuthMethod,
    metrics,
    request_origin::RequestOrigin,
    user::{Credentials, User},
};
use secrecy::{ExposeSecret as _, SecretString};
use std::time::{Duration, Instant};

impl Accounts {
    /// Issues an access token to the user of this name, if the password is correct. Always runs
    /// bcrypt; the credential cache is for HTTP Basic only.
    pub async fn login(
        &self,
        username: &str,
        password: SecretString,
        origin: RequestOrigin,
    ) -> Result<(SecretString, User), AccountError> {
        let presented = Presented::new(username, password);
        self.check_limit(&presented, origin, AuthMethod::Login).await?;
        // Before the query, so that refusals in a flood are cheap.
        self.hasher.check_capacity(origin).await?;
        let stored = self.load(&presented).await?;
        let verified = self.verify(&presented, stored.as_ref(), origin, AuthMethod::Login).await?;
        let stored =
            stored.filter(|_| verified.is_match).ok_or(AccountError::CredentialsInvalid)?;
        if verified.needs_rehash {
            self.rehash(&presented, &stored, origin);
        }
        let user = self.user_to_issue(&stored, origin).await?;
        let token = self.tokens.issue(&user)?;
        metrics::TOKENS_ISSUED.inc();
        Ok((token, user))
    }

    /// The user as stored when a token can be issued: at once, except a few seconds after dozens of
    /// revocations in a row. What happens to the user during the wait counts.
    async fn user_to_issue(
        &self,
        checked: &Credentials,
        origin: RequestOrigin,
    ) -> Result<User, AccountError> {
        loop {
            let user = self.unchanged(checked).await?.ok_or(AccountError::CredentialsInvalid)?;
            let retry_after = Duration::from_secs(self.tokens.seconds_until_issue(&user));
            if retry_after.is_zero() {
                return Ok(user);
            }
            if origin.deadline < Instant::now() + retry_after {
                return Err(AccountError::Overloaded { retry_after, scope: None });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The user as stored now, unless the password was changed, or the user was deleted or disabled,
    /// since these credentials were read.
    async fn unchanged(&self, checked: &Credentials) -> Result<Option<User>, AccountError> {
        let user = self.reads.user(checked.user.id).await?.filter(|user| !user.disabled);
        let Some(user) = user else { return Ok(None) };
        if user.tokens_not_before == checked.user.tokens_not_before {
            return Ok(Some(user));
        }
        // A logout elsewhere moves it too, and is no reason to refuse the right password.
        let now = self.reads.credentials(user.username).await?.filter(|now| {
            let hash = now.password_hash.expose_secret();
            now.user.id == checked.user.id && hash == checked.password_hash.expose_secret()
        });
        Ok(now.map(|now| now.user).filter(|user| !user.disabled))
    }
}
