//! Whether a username and a password belong together, asked on every request of HTTP Basic.

use super::{
    AccountError, Accounts, Origin,
    password_check::{Claim, urgency},
};
use crate::{audit::Way, metrics, user::User};
use secrecy::SecretString;
use std::time::Instant;

impl Accounts {
    /// The user of this name, if the password is right. The stored hash is read on every call; the
    /// work is spared when this very check came out right lately, and that is no attempt.
    pub async fn verify_credentials(
        &self,
        username: &str,
        password: SecretString,
        origin: Origin,
    ) -> Result<User, AccountError> {
        let claim = Claim::new(username, password);
        let stored = self.stored(&claim).await?;
        let tag = self.tag(&claim, stored.as_ref());
        match (&tag, &stored) {
            (Some(tag), Some(stored)) if self.memory.knows(tag, Instant::now()) => {
                metrics::BASIC_REMEMBERED.inc();
                return Ok(stored.user.clone());
            }
            _ => {}
        }
        // Those who ask the same at the same time are one guess: it tells them one thing.
        let guess = async {
            self.hasher.has_room(urgency(origin))?;
            let checked = self.guess(&claim, stored.as_ref(), origin, Way::Basic).await?;
            Ok::<_, AccountError>(checked.is_right)
        };
        let is_right = match tag {
            Some(tag) => self.memory.once(tag, guess).await,
            None => guess.await,
        };
        let is_right: bool = is_right?;
        let user = stored.filter(|_| is_right).ok_or(AccountError::CredentialsInvalid)?.user;
        if let Some(tag) = tag {
            self.memory.learn(tag, Instant::now());
        }
        Ok(user)
    }
}
