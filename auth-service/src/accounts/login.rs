//! Exchanging a username and a password for an access token.

use super::{AccountError, Accounts};
use crate::user::User;
use secrecy::SecretString;

impl Accounts {
    /// Issues an access token to the user of this name, if the password is right.
    pub async fn login(
        &self,
        username: &str,
        password: SecretString,
    ) -> Result<(SecretString, User), AccountError> {
        let user = self.verify_credentials(username, password).await?;
        let token = self.tokens.issue(&user)?;
        Ok((token, user))
    }
}
