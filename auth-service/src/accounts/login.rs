//! Exchanging a username and a password for an access token.

use super::{AccountError, Accounts, credentials::Presented};
use crate::{audit::AuthMethod, metrics, request_origin::RequestOrigin, user::User};
use secrecy::SecretString;

impl Accounts {
    /// Issues an access token to the user of this name, if the password is right. Always does the
    /// work: what Basic remembers is not asked.
    pub async fn login(
        &self,
        username: &str,
        password: SecretString,
        origin: RequestOrigin,
    ) -> Result<(SecretString, User), AccountError> {
        // Before the query: in a flood most are sent away here, and it must cost next to nothing.
        self.hasher.check_capacity(origin)?;
        let presented = Presented::new(username, password);
        let stored = self.load(&presented).await?;
        let checked = self.verify(&presented, stored.as_ref(), origin, AuthMethod::Login).await?;
        let stored = stored.filter(|_| checked.is_match).ok_or(AccountError::CredentialsInvalid)?;
        if checked.needs_rehash {
            self.rehash(&presented, &stored, origin);
        }
        // While this one was being checked, somebody may have set another password, or deleted the
        // user: a password of yesterday gets no token of today.
        let password = stored.user.tokens_not_before;
        let user = self.reads.user(stored.user.id).await?;
        let user = user.filter(|user| user.tokens_not_before == password);
        let user = user.ok_or(AccountError::CredentialsInvalid)?;
        let token = self.tokens.issue(&user)?;
        metrics::TOKENS_ISSUED.inc();
        Ok((token, user))
    }
}
