//! Whether a username and a password belong together, asked on every request of HTTP Basic.

use super::{AccountError, Accounts, Origin, password_check::Claim};
use crate::{password::Checked, user::User};
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
                return Ok(stored.user.clone());
            }
            _ => {}
        }
        let check = async |hash: Option<&SecretString>| match tag {
            Some(tag) => {
                let verify = async {
                    Ok::<_, AccountError>(self.verify(&claim, hash, origin).await?.is_right)
                };
                let is_right = self.memory.once(tag, verify).await?;
                Ok(Checked { is_right, wants_new_hash: false })
            }
            None => self.verify(&claim, hash, origin).await,
        };
        let user = self.attempt(&claim, origin, stored, check).await?;
        if let Some(tag) = tag {
            self.memory.learn(tag, Instant::now());
        }
        Ok(user)
    }
}
