//! Exchanges a username and a password for an access token.

use super::{AccountError, Accounts, credentials::Presented};
use crate::{audit::AuthMethod, metrics, request_origin::RequestOrigin, user::User};
use secrecy::SecretString;

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
        // The password may have changed, or the user may have been deleted or disabled, during the
        // check.
        let password_version = stored.user.tokens_not_before;
        let user = self.reads.user(stored.user.id).await?;
        let is_same = |user: &User| user.tokens_not_before == password_version && !user.disabled;
        let user = user.filter(is_same);
        let user = user.ok_or(AccountError::CredentialsInvalid)?;
        let token = self.tokens.issue(&user)?;
        metrics::TOKENS_ISSUED.inc();
        Ok((token, user))
    }
}
