//! Hashing and verifying on the engine of `rolegate_bcrypt_lanes`.

use super::Password;
use crate::{metrics, request_origin::RequestOrigin};
use rolegate_bcrypt_lanes::{ClientKey, Cost, Engine, EngineError, Timed, Verdict};
use secrecy::{ExposeSecret, SecretString};
use std::{io, sync::Arc, time::Duration};

/// Hashes and verifies passwords. Clones share the engine.
#[derive(Clone, Debug)]
pub struct Hasher {
    engine: Arc<Engine>,
    cost: Cost,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Whether it is the password.
    pub is_match: bool,
    /// Whether it is, and its hash has another cost than new ones: the time to make a new one.
    pub needs_rehash: bool,
}

/// A password was neither hashed nor judged.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    /// It could not be done in time.
    #[error("too many passwords are waiting to be hashed")]
    Overloaded {
        /// When it may be done.
        retry_after: Duration,
    },
    /// The engine failed.
    #[error("a password could not be hashed")]
    Failed(#[source] EngineError),
}

/// The engine cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum HasherError {
    /// The cost is not one of bcrypt's.
    #[error("bcrypt has no cost {0}")]
    Cost(u32),
    /// It computes something else than bcrypt: nothing may be hashed with it.
    #[error("the password engine does not compute bcrypt")]
    SelfTest(#[source] rolegate_bcrypt_lanes::SelfTestError),
    /// The system gives no threads.
    #[error("the password engine cannot start its threads")]
    Threads(#[source] io::Error),
}

impl Hasher {
    /// Starts the engine, after known answers through every part of it.
    pub fn start(cost: u32, engine: rolegate_bcrypt_lanes::Settings) -> Result<Self, HasherError> {
        let cost = Cost::new(cost).ok_or(HasherError::Cost(cost))?;
        rolegate_bcrypt_lanes::self_test().map_err(HasherError::SelfTest)?;
        let engine = Engine::start(engine).map_err(HasherError::Threads)?;
        if let Err(error) = engine.priority() {
            tracing::warn!(%error, "password hashing runs at normal priority");
        }
        Ok(Self { engine: Arc::new(engine), cost })
    }

    /// What the engine is doing.
    #[must_use]
    pub fn stats(&self) -> rolegate_bcrypt_lanes::Stats {
        self.engine.stats()
    }

    /// Whether a password would be looked at now. Asked before anything else is done for somebody
    /// who would be sent away: an overloaded service must say so cheaply, and the same to everybody.
    pub fn check_capacity(&self, origin: RequestOrigin) -> Result<(), HashError> {
        let client = ClientKey::from(origin.client_key());
        Ok(self.engine.check_admission(self.cost, client, origin.deadline)?)
    }

    /// The hash of a new password, `$2b$` with a random salt.
    pub async fn hash(
        &self,
        password: &Password,
        origin: RequestOrigin,
    ) -> Result<SecretString, HashError> {
        let client = ClientKey::from(origin.client_key());
        let hash =
            self.engine.hash(password.expose().as_bytes(), self.cost, client, origin.deadline);
        Ok(SecretString::from(timed(hash.await?)))
    }

    /// Whether the password is the one of the stored hash. `None` for either means that the answer
    /// is no, after the same work.
    pub async fn verify(
        &self,
        password: Option<&Password>,
        stored: Option<&SecretString>,
        origin: RequestOrigin,
    ) -> Result<Verification, HashError> {
        let text = password.map_or("", Password::expose).as_bytes();
        let hash = stored.map(ExposeSecret::expose_secret);
        let client = ClientKey::from(origin.client_key());
        let verdict = self.engine.verify(text, hash, self.cost, client, origin.deadline).await?;
        let verdict = timed(verdict);
        if verdict == Verdict::Malformed {
            tracing::error!("a stored password hash is malformed: its user cannot log in");
        }
        let is_match = verdict.is_match() && password.is_some();
        let needs_rehash = is_match && verdict == Verdict::Match { rehash: true };
        Ok(Verification { is_match, needs_rehash })
    }
}

fn timed<T>(done: Timed<T>) -> T {
    metrics::HASHING_WAIT.observe(done.waited.as_secs_f64());
    metrics::HASHING_RUN.observe(done.ran.as_secs_f64());
    done.value
}

impl From<EngineError> for HashError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused { retry_after } => Self::Overloaded { retry_after },
            // Nobody waits for this answer any more; whoever reads it all the same may try again.
            EngineError::DeadlinePassed => Self::Overloaded { retry_after: Duration::from_secs(1) },
            EngineError::Lost | EngineError::Random(_) => Self::Failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Hasher, Password, RequestOrigin, Verification};
    use secrecy::{ExposeSecret, SecretString};
    use std::time::{Duration, Instant};

    fn password(text: &str) -> Option<Password> {
        Password::new(SecretString::from(text), 1).ok()
    }

    fn hasher(cost: u32) -> Hasher {
        Hasher::start(cost, rolegate_bcrypt_lanes::Settings::default()).expect("started")
    }

    fn origin() -> RequestOrigin {
        let deadline = Instant::now() + Duration::from_mins(1);
        RequestOrigin { client_address: None, deadline }
    }

    async fn check(hasher: &Hasher, text: &str, stored: Option<&SecretString>) -> Verification {
        hasher.verify(password(text).as_ref(), stored, origin()).await.expect("judged")
    }

    #[tokio::test]
    async fn a_password_matches_its_own_hash_and_no_other() {
        let hasher = hasher(4);
        let sesame = password("sesame").expect("valid");
        let hash = hasher.hash(&sesame, origin()).await.expect("hashed");
        assert!(hash.expose_secret().starts_with("$2b$04$"));
        assert!(check(&hasher, "sesame", Some(&hash)).await.is_match);
        assert!(!check(&hasher, "Sesame", Some(&hash)).await.is_match);
        assert!(!check(&hasher, "sesame", None).await.is_match);
        assert!(!check(&hasher, "sesame", Some(&SecretString::from("sesame"))).await.is_match);
    }

    #[tokio::test]
    async fn what_cannot_be_a_password_is_wrong_even_for_the_hash_of_the_stand_in() {
        let hasher = hasher(4);
        let empty = SecretString::from(bcrypt::hash("", 4).expect("hashed"));
        assert!(!check(&hasher, "", Some(&empty)).await.is_match);
    }

    #[tokio::test]
    async fn a_hash_of_another_cost_wants_a_new_one_only_for_the_right_password() {
        let stored = SecretString::from(bcrypt::hash("sesame", 4).expect("hashed"));
        let hasher = hasher(5);
        let right = check(&hasher, "sesame", Some(&stored)).await;
        assert_eq!(right, Verification { is_match: true, needs_rehash: true });
        let wrong = check(&hasher, "Sesame", Some(&stored)).await;
        assert_eq!(wrong, Verification { is_match: false, needs_rehash: false });
    }
}
