//! Hashes and verifies passwords with `rolegate_bcrypt_lanes`.

use super::{Password, Peppers, PresentedPassword, UnknownPepper, foreign_hash::ForeignHash};
use crate::{metrics, request_origin::RequestOrigin};
use rolegate_bcrypt_lanes::{ClientKey, Cost, Engine, EngineError, Timed, Verdict};
use rolegate_proto::RefusalScope;
use rolegate_service_runtime::clients::{ClientSlots, MAX_LOGINS_PER_CLIENT};
use rolegate_telemetry::traces;
use secrecy::{ExposeSecret, SecretString};
use std::{io, sync::Arc, time::Duration};

/// Hashes and verifies passwords. Clones share the engine.
#[derive(Clone, Debug)]
pub struct Hasher {
    engine: Arc<Engine>,
    cost: Cost,
    /// Of checks, which every client can ask for.
    slots: ClientSlots,
    peppers: Arc<Peppers>,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Whether the password matches.
    pub is_match: bool,
    /// Whether it matches a hash of another algorithm, cost or pepper than new hashes have, and bcrypt
    /// reads all of the password.
    pub needs_rehash: bool,
}

/// A password was neither hashed nor verified.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    /// The engine has no capacity before the deadline.
    #[error("too many passwords are waiting to be hashed")]
    Overloaded {
        /// When to retry.
        retry_after: Duration,
        /// What else is refused until then.
        scope: Option<RefusalScope>,
    },
    /// A hash cannot be verified without its pepper.
    #[error(transparent)]
    UnknownPepper(#[from] UnknownPepper),
    /// The engine failed.
    #[error("a password could not be hashed")]
    Failed(#[source] EngineError),
}

/// A client has its share of checks in progress; one of them ends soon.
const NO_SLOT: HashError = HashError::Overloaded {
    retry_after: Duration::from_millis(100),
    scope: Some(RefusalScope::Client),
};

/// The engine cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum HasherError {
    /// Not a cost of bcrypt.
    #[error("bcrypt has no cost {0}")]
    Cost(u32),
    /// Known answers differ.
    #[error("the password engine does not compute bcrypt")]
    SelfTest(#[source] rolegate_bcrypt_lanes::SelfTestError),
    /// No threads could be started.
    #[error("the password engine cannot start its threads")]
    Threads(#[source] io::Error),
}

impl Hasher {
    /// Checks the engine against known answers and starts it.
    pub fn start(
        cost: u32,
        engine: rolegate_bcrypt_lanes::Settings,
        peppers: Peppers,
    ) -> Result<Self, HasherError> {
        let cost = Cost::new(cost).ok_or(HasherError::Cost(cost))?;
        rolegate_bcrypt_lanes::self_test().map_err(HasherError::SelfTest)?;
        let engine = Engine::start(engine).map_err(HasherError::Threads)?;
        if let Err(error) = engine.priority() {
            tracing::warn!(%error, "password hashing runs at normal priority");
        }
        let slots = ClientSlots::new(MAX_LOGINS_PER_CLIENT);
        Ok(Self { engine: Arc::new(engine), cost, slots, peppers: Arc::new(peppers) })
    }

    /// The counters of the engine.
    #[must_use]
    pub fn stats(&self) -> rolegate_bcrypt_lanes::Stats {
        self.engine.stats()
    }

    /// Fails if a password would be refused now. Called before other work of a request, so that
    /// refusals under load are cheap and do not depend on the user.
    pub async fn check_capacity(&self, origin: RequestOrigin) -> Result<(), HashError> {
        let client = origin.client_key();
        if !self.slots.has_room(client) {
            return Err(NO_SLOT);
        }
        let client = ClientKey::from(client);
        Ok(self.engine.check_admission(self.cost, client, origin.deadline).await?)
    }

    /// Makes failed checks take as long as one of a stored hash of this cost.
    pub fn note_stored_cost(&self, cost: u32) {
        if let Some(cost) = Cost::new(cost) {
            self.engine.note_stored_cost(cost);
        }
    }

    /// Hashes a new password: `$2b$` with a random salt, after the name of the pepper if there is one.
    pub async fn hash(
        &self,
        password: &Password,
        origin: RequestOrigin,
    ) -> Result<SecretString, HashError> {
        let client = ClientKey::from(origin.client_key());
        let (mut stored, input) = self.peppers.for_new(password);
        let hash = self.engine.hash(input.as_bytes(), self.cost, client, origin.deadline);
        stored += &observe(hash.await?);
        Ok(SecretString::from(stored))
    }

    /// Verifies a password. `None` for either argument never matches, at the same cost.
    pub async fn verify(
        &self,
        password: Option<&PresentedPassword>,
        stored: Option<&SecretString>,
        origin: RequestOrigin,
    ) -> Result<Verification, HashError> {
        let hash = stored.map(ExposeSecret::expose_secret);
        if let (Some(password), Some(foreign)) = (password, hash.and_then(foreign)) {
            return self.verify_foreign(password, foreign, origin).await;
        }
        let password = password.and_then(PresentedPassword::valid);
        let peppered = match (hash, password) {
            (Some(hash), Some(password)) => self.peppers.for_stored(hash, password).map(Some),
            _ => Ok(None),
        };
        // The same work as for an unknown name, which must not be told apart.
        let (peppered, unknown) = match peppered {
            Ok(peppered) => (peppered, None),
            Err(unknown) => (None, Some(unknown)),
        };
        let text = peppered.as_ref().map_or("", |peppered| &peppered.input).as_bytes();
        let hash = peppered.as_ref().map(|peppered| peppered.hash);
        let client = origin.client_key();
        let _slot = self.slots.acquire(client).ok_or(NO_SLOT)?;
        let client = ClientKey::from(client);
        let verdict = self.engine.verify(text, hash, self.cost, client, origin.deadline).await?;
        let verdict = observe(verdict);
        if let Some(unknown) = unknown {
            return Err(unknown.into());
        }
        if verdict == Verdict::Malformed {
            tracing::error!("a stored password hash is malformed, so its user cannot log in");
        }
        let is_match = verdict.is_match() && password.is_some();
        let is_outdated = peppered.is_some_and(|peppered| peppered.is_outdated);
        let needs_rehash = is_match && (is_outdated || verdict == Verdict::Match { rehash: true });
        Ok(Verification { is_match, needs_rehash })
    }

    /// Verifies a password against a hash of another algorithm, which has no pepper.
    async fn verify_foreign(
        &self,
        password: &PresentedPassword,
        stored: ForeignHash,
        origin: RequestOrigin,
    ) -> Result<Verification, HashError> {
        let client = origin.client_key();
        let _slot = self.slots.acquire(client).ok_or(NO_SLOT)?;
        let check = stored.check(password.secret().clone());
        let client = ClientKey::from(client);
        let verdict = self.engine.verify_foreign(check, self.cost, client, origin.deadline).await?;
        let is_match = observe(verdict).is_match();
        Ok(Verification { is_match, needs_rehash: is_match && password.valid().is_some() })
    }
}

/// A stored hash of another algorithm; a malformed one is treated like one of bcrypt.
fn foreign(stored: &str) -> Option<ForeignHash> {
    if stored.starts_with("$2") { None } else { ForeignHash::parse(stored).ok() }
}

/// Observes the times of a result in metrics and trace.
fn observe<T>(done: Timed<T>) -> T {
    traces::record_phases([("password wait", done.waited), ("password hash", done.ran)]);
    metrics::HASHING_WAIT.observe(done.waited.as_secs_f64());
    metrics::HASHING_RUN.observe(done.ran.as_secs_f64());
    done.value
}

impl From<EngineError> for HashError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused { retry_after, is_full } => {
                let scope = if is_full { RefusalScope::Service } else { RefusalScope::Client };
                Self::Overloaded { retry_after, scope: Some(scope) }
            }
            // The caller has usually stopped waiting.
            EngineError::DeadlinePassed => {
                Self::Overloaded { retry_after: Duration::from_secs(1), scope: None }
            }
            EngineError::Lost | EngineError::Random(_) => Self::Failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        HashError, Hasher, Password, Peppers, PresentedPassword, RequestOrigin, Verification,
    };
    use secrecy::{ExposeSecret, SecretString};
    use std::time::{Duration, Instant};

    fn password(text: &str) -> Option<Password> {
        Password::new(SecretString::from(text), 1).ok()
    }

    fn hasher(cost: u32) -> Hasher {
        with_peppers(cost, &[])
    }

    fn with_peppers(cost: u32, peppers: &[&str]) -> Hasher {
        let secrets: Vec<_> = peppers.iter().map(|&pepper| SecretString::from(pepper)).collect();
        let engine = rolegate_bcrypt_lanes::Settings::default();
        Hasher::start(cost, engine, Peppers::new(&secrets)).expect("started")
    }

    fn origin() -> RequestOrigin {
        let deadline = Instant::now() + Duration::from_mins(1);
        RequestOrigin { client_address: None, deadline }
    }

    async fn check(hasher: &Hasher, text: &str, stored: Option<&SecretString>) -> Verification {
        let presented = PresentedPassword::new(SecretString::from(text)).ok();
        hasher.verify(presented.as_ref(), stored, origin()).await.expect("verified")
    }

    #[tokio::test]
    async fn password_matches_only_its_own_hash() {
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
    async fn a_client_has_32_checks_in_progress_at_most() {
        let hasher = hasher(4);
        let slots: Vec<_> = (0..32).map(|_| hasher.slots.acquire(origin().client_key())).collect();
        assert!(slots.iter().all(Option::is_some));
        assert!(hasher.check_capacity(origin()).await.is_err());
        assert!(hasher.verify(None, None, origin()).await.is_err());
        let other = RequestOrigin { client_address: Some([192, 0, 2, 1].into()), ..origin() };
        assert!(hasher.check_capacity(other).await.is_ok());
        assert!(hasher.verify(None, None, other).await.is_ok());
        drop(slots);
        assert!(hasher.verify(None, None, origin()).await.is_ok());
    }

    #[tokio::test]
    async fn invalid_password_never_matches() {
        let hasher = hasher(4);
        let empty = SecretString::from(bcrypt::hash("", 4).expect("hashed"));
        assert!(!check(&hasher, "", Some(&empty)).await.is_match);
    }

    #[tokio::test]
    async fn peppered_hash_needs_its_pepper_and_is_replaced_when_there_is_a_newer_one() {
        let sesame = password("sesame").expect("valid");
        let plain = hasher(4).hash(&sesame, origin()).await.expect("hashed");
        let first = with_peppers(4, &["one"]).hash(&sesame, origin()).await.expect("hashed");
        let (scheme, bcrypt) = first.expose_secret().rsplit_once(':').expect("three parts");
        assert!(scheme.starts_with("hmac-sha256:") && bcrypt.starts_with("$2b$04$"), "{scheme}");
        // base64(HMAC-SHA-256("one", "sesame")), by openssl.
        let input = "rYU/+A//TzZ91IB2VxufbAre0wMk86ZcG3Foqq+7mMQ=";
        assert!(bcrypt::verify(input, bcrypt).expect("a hash of bcrypt"));
        assert!(!bcrypt::verify("sesame", bcrypt).expect("a hash of bcrypt"));

        let good = |needs_rehash| Verification { is_match: true, needs_rehash };
        for (peppers, of_plain, of_first) in [
            (&["one"][..], good(true), good(false)),
            (&["one", "two"], good(true), good(false)),
            (&["two", "one"], good(true), good(true)),
        ] {
            let hasher = with_peppers(4, peppers);
            assert_eq!(check(&hasher, "sesame", Some(&plain)).await, of_plain, "{peppers:?}");
            assert_eq!(check(&hasher, "sesame", Some(&first)).await, of_first, "{peppers:?}");
            assert!(!check(&hasher, "Sesame", Some(&first)).await.is_match);
        }
        for peppers in [&[][..], &["two"]] {
            let hasher = with_peppers(4, peppers);
            let presented = PresentedPassword::Valid(sesame.clone());
            let unknown = hasher.verify(Some(&presented), Some(&first), origin()).await;
            assert!(matches!(unknown, Err(HashError::UnknownPepper(_))), "{unknown:?}");
        }
    }

    #[tokio::test]
    async fn a_foreign_hash_needs_rehash_unless_bcrypt_would_cut_the_password() {
        let passphrase = "a passphrase of more than the 72 bytes that bcrypt reads, which argon2 took: xxxxxxxxxxxxxxxxxxxx";
        let of_long = "$argon2id$v=19$m=1024,t=3,p=4$8Qooz3GRUC0rtz+XfNejRQ$IeDyAf/rkAz+5k0wqzU1ovqOM11k7qsxa65n7XckifQ";
        let of_short = "$argon2i$v=19$m=1024,t=3,p=4$rXVOyVlrTcm5V+r9n5Oylg$EceDiYZz5d2nfZqktTmjACCB4eEBIfYZsZxNGL/FGEw";
        // A foreign hash has no pepper until it is replaced.
        for hasher in [hasher(4), with_peppers(4, &["one"])] {
            let stored = SecretString::from(of_short);
            let right = check(&hasher, "corréct horse", Some(&stored)).await;
            assert_eq!(right, Verification { is_match: true, needs_rehash: true });
            assert!(!check(&hasher, "correct horse", Some(&stored)).await.is_match);
            let long = check(&hasher, passphrase, Some(&SecretString::from(of_long))).await;
            assert_eq!(long, Verification { is_match: true, needs_rehash: false });
            let cut = SecretString::from(bcrypt::hash(&passphrase[..72], 4).expect("hashed"));
            assert!(!check(&hasher, passphrase, Some(&cut)).await.is_match, "the rule of bcrypt");
            let over_limit = of_short.replace("m=1024", "m=9999999");
            let stored = SecretString::from(over_limit);
            assert!(!check(&hasher, "corréct horse", Some(&stored)).await.is_match);
        }
    }

    #[tokio::test]
    async fn hasher_that_only_accepts_peppers_replaces_their_hashes_by_plain_ones() {
        let sesame = password("sesame").expect("valid");
        let peppered = with_peppers(4, &["one"]).hash(&sesame, origin()).await.expect("hashed");
        let peppers = Peppers::only_accepting(&["one".into(), "two".into()]);
        let engine = rolegate_bcrypt_lanes::Settings::default();
        let hasher = Hasher::start(4, engine, peppers).expect("started");
        let plain = hasher.hash(&sesame, origin()).await.expect("hashed");
        assert!(plain.expose_secret().starts_with("$2b$04$"));
        for (stored, needs_rehash) in [(&plain, false), (&peppered, true)] {
            let expected = Verification { is_match: true, needs_rehash };
            assert_eq!(check(&hasher, "sesame", Some(stored)).await, expected);
            assert!(!check(&hasher, "Sesame", Some(stored)).await.is_match);
        }
    }

    #[tokio::test]
    async fn only_a_correct_password_needs_rehash() {
        let stored = SecretString::from(bcrypt::hash("sesame", 4).expect("hashed"));
        let hasher = hasher(5);
        let right = check(&hasher, "sesame", Some(&stored)).await;
        assert_eq!(right, Verification { is_match: true, needs_rehash: true });
        let wrong = check(&hasher, "Sesame", Some(&stored)).await;
        assert_eq!(wrong, Verification { is_match: false, needs_rehash: false });
    }
}
