//! Whether a username and a password belong together, asked on every request of HTTP Basic.

use super::{AccountError, Accounts, credentials::Presented};
use crate::{audit::AuthMethod, metrics, request_origin::RequestOrigin, user::User};
use secrecy::SecretString;
use std::time::Instant;

impl Accounts {
    /// The user of this name, if the password is right. The stored hash is read on every call; the
    /// work is spared when this very check came out right lately, and that is no attempt.
    pub async fn verify_credentials(
        &self,
        username: &str,
        password: SecretString,
        origin: RequestOrigin,
    ) -> Result<User, AccountError> {
        let presented = Presented::new(username, password);
        let stored = self.load(&presented).await?;
        let cache_key = self.cache_key(&presented, stored.as_ref());
        match (&cache_key, &stored) {
            (Some(cache_key), Some(stored)) if self.cache.contains(cache_key, Instant::now()) => {
                metrics::BASIC_CACHE_HITS.inc();
                return Ok(stored.user.clone());
            }
            _ => {}
        }
        // Those who ask the same at the same time are one guess: it tells them one thing.
        let guess = async {
            self.hasher.check_capacity(origin)?;
            let checked =
                self.verify(&presented, stored.as_ref(), origin, AuthMethod::Basic).await?;
            Ok::<_, AccountError>(checked.is_match)
        };
        let is_match = match cache_key {
            Some(cache_key) => self.cache.single_flight(cache_key, guess).await,
            None => guess.await,
        };
        let is_match: bool = is_match?;
        let user = stored.filter(|_| is_match).ok_or(AccountError::CredentialsInvalid)?.user;
        if let Some(cache_key) = cache_key {
            self.cache.insert(cache_key, Instant::now());
        }
        Ok(user)
    }
}
