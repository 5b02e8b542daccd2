//! Exchanging a username and a password for an access token.

use super::{AccountError, Accounts, Origin, password_check::Claim};
use crate::user::User;
use secrecy::SecretString;

impl Accounts {
    /// Issues an access token to the user of this name, if the password is right. Always does the
    /// work: what Basic remembers is not asked.
    pub async fn login(
        &self,
        username: &str,
        password: SecretString,
        origin: Origin,
    ) -> Result<(SecretString, User), AccountError> {
        let claim = Claim::new(username, password);
        let stored = self.stored(&claim).await?;
        let check = async |hash: Option<&SecretString>| self.verify(&claim, hash, origin).await;
        let user = self.attempt(&claim, origin, stored, check).await?;
        let token = self.tokens.issue(&user)?;
        Ok((token, user))
    }
}
