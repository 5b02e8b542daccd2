//! bcrypt on blocking threads behind a bounded queue.

use super::Password;
use secrecy::{ExposeSecret, SecretString};
use std::{num::NonZero, sync::Arc, thread::available_parallelism, time::Duration};
use tokio::sync::Semaphore;

/// Hashes that may wait for each core. A queue longer than this makes callers wait past their
/// deadlines, which is work for nobody.
const WAITING_PER_CORE: usize = 16;

/// Hashes and verifies passwords.
#[derive(Clone, Debug)]
pub struct Hasher {
    cost: u32,
    /// Hashes under way.
    cores: Arc<Semaphore>,
    /// Hashes under way or waiting.
    queue: Arc<Semaphore>,
}

/// A password was neither hashed nor judged.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    /// Too many are waiting.
    #[error("too many passwords are waiting to be hashed")]
    Overloaded {
        /// When the queue will be shorter.
        retry_after: Duration,
    },
    /// bcrypt failed, or its thread did.
    #[error("a password could not be hashed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Hasher {
    /// A hasher whose new hashes have this cost (base-2 logarithm of the rounds).
    #[must_use]
    pub fn new(cost: u32) -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self {
            cost,
            cores: Arc::new(Semaphore::new(cores)),
            queue: Arc::new(Semaphore::new(cores * (1 + WAITING_PER_CORE))),
        }
    }

    /// The hash of a new password, `$2b$` with a random salt.
    pub async fn hash(&self, password: Password) -> Result<SecretString, HashError> {
        let cost = self.cost;
        self.run(move || {
            let parts = bcrypt::hash_with_result(password.expose(), cost)?;
            Ok(SecretString::from(parts.format_for_version(bcrypt::Version::TwoB)))
        })
        .await
    }

    /// Whether the password is the one of the stored hash. `None` for either means that the answer
    /// is no, after the same work.
    pub async fn verify(
        &self,
        password: Option<Password>,
        stored: Option<SecretString>,
    ) -> Result<bool, HashError> {
        let stand_in = stand_in(self.cost);
        self.run(move || {
            let could_match = password.is_some() && stored.is_some();
            let text = password.as_ref().map_or("", Password::expose);
            let hash = stored.as_ref().map_or(stand_in.as_str(), |hash| hash.expose_secret());
            let matches = bcrypt::verify(text, hash).or_else(|error| {
                tracing::error!(%error, "a stored password hash is malformed");
                bcrypt::verify(text, &stand_in).map(|_| false)
            })?;
            Ok(matches && could_match)
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, bcrypt::BcryptError> + Send + 'static,
    ) -> Result<T, HashError> {
        let Ok(_place) = self.queue.try_acquire() else {
            return Err(HashError::Overloaded { retry_after: Duration::from_secs(5) });
        };
        let core = Arc::clone(&self.cores).acquire_owned().await.map_err(failed)?;
        let work = tokio::task::spawn_blocking(move || {
            // Held by the work, not by its caller: a caller who leaves does not free the core.
            let _core = core;
            work()
        });
        work.await.map_err(failed)?.map_err(failed)
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> HashError {
    HashError::Failed(Box::new(error))
}

/// A well-formed hash that belongs to nobody: its work is real, its result is never used. Made
/// without hashing anything, so that it costs a start nothing.
fn stand_in(cost: u32) -> String {
    format!("$2b${cost:02}${}O{}O", "N".repeat(21), "N".repeat(30))
}

#[cfg(test)]
mod tests {
    use super::{Hasher, Password};
    use secrecy::{ExposeSecret, SecretString};

    fn password(text: &str) -> Option<Password> {
        Password::new(SecretString::from(text), 1).ok()
    }

    #[tokio::test]
    async fn a_password_matches_its_own_hash_and_no_other() {
        let hasher = Hasher::new(4);
        let hash = hasher.hash(password("sesame").expect("valid")).await.expect("hashed");
        assert!(hash.expose_secret().starts_with("$2b$04$"));
        let verify = async |text, hash| hasher.verify(password(text), hash).await.expect("judged");
        assert!(verify("sesame", Some(hash.clone())).await);
        assert!(!verify("Sesame", Some(hash.clone())).await);
        assert!(!verify("", Some(hash)).await);
        assert!(!verify("sesame", None).await);
        assert!(!verify("sesame", Some(SecretString::from("sesame"))).await);
    }
}
