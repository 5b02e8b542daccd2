//! Whether a username and a password belong together.

use super::{AccountError, Accounts, Username};
use crate::{password::Password, user::User};
use secrecy::SecretString;

impl Accounts {
    /// The user of this name, if the password is right. An unknown name, a name or password that
    /// nobody can have, and a wrong password end in the same error after the same work.
    pub async fn verify_credentials(
        &self,
        username: &str,
        password: SecretString,
    ) -> Result<User, AccountError> {
        let (user, hash) = match Username::new(username) {
            Ok(username) => {
                let found = self.reads.credentials(username.into_string()).await?;
                found.map(|found| (found.user, found.password_hash)).unzip()
            }
            Err(_) => (None, None),
        };
        // What may be set is `register`'s rule; what was set under an older rule stays good.
        let password = Password::new(password, 1).ok();
        let is_right = self.hasher.verify(password, hash).await?;
        user.filter(|_| is_right).ok_or(AccountError::CredentialsInvalid)
    }
}
