//! Creating a user.

use super::{AccountError, Accounts, Username};
use crate::{password::Password, role::Role, store::NewUser, user::User};
use secrecy::SecretString;

impl Accounts {
    /// Creates a user with the role `user`. Nobody chooses a role for themselves.
    pub async fn register(
        &self,
        username: &str,
        password: SecretString,
    ) -> Result<User, AccountError> {
        let username = Username::new(username).map_err(AccountError::UsernameInvalid)?;
        let password = Password::new(password, self.password_min_length)
            .map_err(AccountError::PasswordInvalid)?;
        let password_hash = self.hasher.hash(password).await?;
        let new = NewUser { username: username.into_string(), password_hash, role: Role::User };
        Ok(self.store.insert(new).await?)
    }
}
