//! Hashes and verifies passwords with the engine `rolegate_bcrypt_lanes`.
//!
//! A request first calls `admit`, or `admit_registration` for a new user. Both take one of the client's slots,
//! and refuse the request if the engine has no capacity before the deadline. Then `hash` or `verify` does the
//! work. Every failed check takes the same time, whether or not the user exists.

use super::{
    foreign_checks::{CheckTerms, ForeignChecks},
    foreign_hash::ForeignHash,
    pepper::Peppers,
    validation::{Password, PresentedPassword},
};
use crate::{call_origin::CallOrigin, metrics};
use rolegate_bcrypt_lanes::{ClientKey, Cost, Engine, EngineError, Timed, Verdict};
use rolegate_http_server::clients::{ClientSlot, ClientSlots, MAX_LOGINS_PER_CLIENT};
use rolegate_program::traces;
use secrecy::{ExposeSecret, SecretString};
use std::{io, pin::pin, sync::Arc, time::Duration};
use tokio::time::timeout_at;
use tracing::Span;

/// The value that is stored instead of a hash for a user without a password. No password matches it.
pub(crate) const NO_PASSWORD: &str = "!";

/// The delay before a retry for a client that has its maximum number of checks in progress. One of these checks
/// ends soon.
const NO_SLOT_RETRY_AFTER: Duration = Duration::from_millis(100);
/// The delay before a retry for a client whose deadline has passed. Such a client has usually given up already.
const LATE_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Hashes and verifies passwords. Clones share the engine.
#[derive(Clone)]
pub(crate) struct Hasher {
    engine: Arc<Engine>,
    foreign: Arc<ForeignChecks>,
    /// The cost of new hashes (`BCRYPT_COST`). Failed checks do at least the work of this cost, and admission
    /// assumes as much.
    cost: Cost,
    /// Limits the number of checks and registrations that each client has in progress, because each of them
    /// costs a hash.
    slots: ClientSlots,
    peppers: Arc<Peppers>,
}

/// The outcome of a password check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verification {
    pub(crate) is_match: bool,
    /// True if the password matches, but the hash has another algorithm, cost or pepper than new hashes get. It
    /// is false if a new hash would not accept the same passwords, for example because bcrypt would not read
    /// all of the password.
    pub(crate) needs_rehash: bool,
}

/// The reason why a password was neither hashed nor verified.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HashError {
    /// The client has its maximum number of checks in progress, or there is no capacity before the deadline, or
    /// the deadline has passed.
    #[error("too many passwords are waiting to be hashed")]
    Overloaded { retry_after: Duration },
    #[error("the pepper of a stored password hash is not in PASSWORD_PEPPER")]
    UnknownPepper,
    #[error("a password could not be hashed")]
    Failed(#[source] EngineError),
}

/// The error for a client that has its maximum number of checks in progress.
const NO_SLOT_ERROR: HashError = HashError::Overloaded {
    retry_after: NO_SLOT_RETRY_AFTER,
};

impl Hasher {
    /// Tests the engine with known answers, and starts it. Returns an error if bcrypt has no such cost, a test
    /// fails, or the threads cannot start. Warns if their priority cannot be lowered.
    pub(crate) fn start(
        cost: u32,
        engine: rolegate_bcrypt_lanes::Settings,
        peppers: Peppers,
    ) -> io::Result<Self> {
        let cost = Cost::new(cost)
            .ok_or_else(|| io::Error::other(format!("bcrypt has no cost {cost}")))?;
        rolegate_bcrypt_lanes::self_test().map_err(|error| {
            io::Error::other(format!(
                "the password engine does not compute bcrypt: {error}"
            ))
        })?;
        let foreign = ForeignChecks::new(engine.threads.try_into().unwrap_or(u32::MAX));
        let engine = Engine::start(engine).map_err(|error| {
            io::Error::other(format!(
                "the password engine cannot start its threads: {error}"
            ))
        })?;
        if let Err(error) = engine.priority() {
            tracing::warn!(%error, "password hashing runs at normal priority");
        }
        Ok(Self {
            engine: Arc::new(engine),
            foreign: Arc::new(foreign),
            cost,
            // Logins and registrations of a client share this limit.
            slots: ClientSlots::new(MAX_LOGINS_PER_CLIENT),
            peppers: Arc::new(peppers),
        })
    }

    /// Returns the counters of the engine, plus the counters of checks by other algorithms.
    pub(crate) fn stats(&self) -> rolegate_bcrypt_lanes::Stats {
        let mut stats = self.engine.stats();
        self.foreign.add_to(&mut stats);
        stats
    }

    /// Takes one of the client's slots for a check. Returns an error if the client has no slot left, or if the
    /// engine would refuse a password now.
    ///
    /// Call it before any other work of a request, so that refusals under load are cheap and do not depend on
    /// the user.
    pub(crate) async fn admit(&self, origin: CallOrigin) -> Result<ClientSlot, HashError> {
        let client = origin.client_key();
        let slot = self.slots.acquire(client).ok_or(NO_SLOT_ERROR)?;
        self.engine
            .check_admission(self.cost, client.into(), origin.deadline)
            .await?;
        Ok(slot)
    }

    /// Takes one of the client's slots for a registration. If the client has no slot left, the call waits for one
    /// until the deadline, because many people may use one registration form behind one address. Returns an error
    /// if the deadline passes, or if the engine would refuse a password now.
    pub(crate) async fn admit_registration(
        &self,
        origin: CallOrigin,
    ) -> Result<ClientSlot, HashError> {
        let client = origin.client_key();
        let slot = self.slots.slots_of(client).acquire_owned();
        let Ok(Ok(slot)) = timeout_at(origin.deadline.into(), slot).await else {
            return Err(NO_SLOT_ERROR);
        };
        self.engine
            .check_admission(self.cost, client.into(), origin.deadline)
            .await?;
        Ok(slot)
    }

    /// Makes every failed check take at least as much work as a stored hash of this cost, so that the duration
    /// does not tell whether a user exists. A cost above 16 counts as 16.
    pub(crate) fn raise_failed_check_cost(&self, cost: u32) {
        if let Some(cost) = Cost::new(cost) {
            self.engine.note_stored_cost(cost);
        }
    }

    /// Hashes a new password. The stored hash is `$2b$…` with a random salt, after the id of the pepper if
    /// there is one.
    pub(crate) async fn hash(
        &self,
        password: &Password,
        origin: CallOrigin,
    ) -> Result<SecretString, HashError> {
        let client = ClientKey::from(origin.client_key());
        let input = self.peppers.prepare_new(password);
        let hash = self
            .engine
            .hash(input.text.as_bytes(), self.cost, client, origin.deadline)
            .await?;
        let mut stored = input.scheme;
        stored += &observe(hash);
        Ok(SecretString::from(stored))
    }

    /// Verifies a password. If the password or the stored hash is missing, the check fails after the same work as
    /// a check of a wrong password. A malformed hash fails in the same way, and is logged. If the pepper of the
    /// hash is not configured, the same work ends with [`HashError::UnknownPepper`].
    pub(crate) async fn verify(
        &self,
        password: Option<&PresentedPassword>,
        stored: Option<&SecretString>,
        origin: CallOrigin,
    ) -> Result<Verification, HashError> {
        let hash = stored
            .map(ExposeSecret::expose_secret)
            .filter(|hash| *hash != NO_PASSWORD);
        if let (Some(password), Some(foreign)) = (password, hash.and_then(parse_foreign)) {
            return self.verify_foreign(password, foreign, origin).await;
        }
        let password = password.and_then(PresentedPassword::valid);
        let mut input = None;
        let mut is_pepper_unknown = false;
        if let (Some(hash), Some(password)) = (hash, password) {
            input = self.peppers.prepare_stored(hash, password);
            is_pepper_unknown = input.is_none();
        }
        // If there is no input, the engine does the same work as for an unknown username, so that the duration
        // does not reveal whether the user exists.
        let text = input.as_ref().map_or("", |input| &input.text).as_bytes();
        let hash = input.as_ref().map(|input| input.hash);
        let client = ClientKey::from(origin.client_key());
        let verdict = self
            .engine
            .verify(text, hash, self.cost, client, origin.deadline)
            .await?;
        let verdict = observe(verdict);
        if is_pepper_unknown {
            return Err(HashError::UnknownPepper);
        }
        if verdict == Verdict::Malformed {
            tracing::error!("a stored password hash is malformed, so its user cannot log in");
        }
        let is_match = verdict.is_match() && password.is_some();
        let needs_rehash = input.is_some_and(|input| {
            let is_outdated = input.is_outdated || verdict == Verdict::Match { rehash: true };
            is_match && is_outdated && input.is_exact
        });
        Ok(Verification {
            is_match,
            needs_rehash,
        })
    }

    /// Verifies a password against a hash of another algorithm. Such a hash has no pepper.
    ///
    /// Meanwhile, a lane does the work of a failed check. A wrong password therefore takes longer than with a
    /// bcrypt hash only if the other algorithm is slower.
    async fn verify_foreign(
        &self,
        password: &PresentedPassword,
        stored: ForeignHash,
        origin: CallOrigin,
    ) -> Result<Verification, HashError> {
        let can_rehash = password
            .valid()
            .is_some_and(|valid| stored.is_exact_for(valid.expose()));
        let terms = CheckTerms {
            work: stored.cost.work,
            client: origin.client_key(),
            deadline: origin.deadline,
            iterations_per_second: self.engine.stats().iterations_per_second,
        };
        let password = password.secret().clone();
        let check = move || stored.matches(password.expose_secret());
        let client = ClientKey::from(terms.client);
        // This check never matches. It makes the request take as long as any failed check, and lets the engine
        // refuse the request.
        let mut failed_check =
            pin!(
                self.engine
                    .verify(b"", None, self.cost, client, terms.deadline)
            );
        let mut foreign_check = pin!(self.foreign.run(check, terms));
        let (checked, failed_check_is_done) = tokio::select! {
            biased;
            // A refusal or a passed deadline ends this check as it would end a check with bcrypt.
            done = &mut failed_check => {
                done?;
                (foreign_check.await?, true)
            }
            checked = &mut foreign_check => (checked?, false),
        };
        if !checked.value && !failed_check_is_done {
            // An error is ignored here. If it were returned, the caller would not count the attempt, although
            // the guess was wrong.
            let _ = failed_check.await;
        }
        let is_match = observe(checked);
        Ok(Verification {
            is_match,
            needs_rehash: is_match && can_rehash,
        })
    }
}

/// Parses a stored hash of another algorithm. Returns `None` for a bcrypt hash, and for a malformed hash, which
/// is then treated like a bcrypt hash.
fn parse_foreign(stored: &str) -> Option<ForeignHash> {
    if stored.starts_with("$2") {
        None
    } else {
        ForeignHash::parse(stored).ok()
    }
}

/// Reports in traces and metrics how long a job waited and ran, and returns its value.
fn observe<T>(done: Timed<T>) -> T {
    let span = Span::current();
    // A request that is not traced has no span to which the phases could belong.
    if !span.is_none() {
        let phases = [("password wait", done.waited), ("password hash", done.ran)];
        traces::record_phases(&span, phases);
    }
    metrics::METRICS
        .hashing_wait
        .observe(done.waited.as_secs_f64());
    metrics::METRICS.hashing_run.observe(done.ran.as_secs_f64());
    done.value
}

impl From<EngineError> for HashError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused { retry_after } => Self::Overloaded { retry_after },
            EngineError::DeadlinePassed => Self::Overloaded {
                retry_after: LATE_RETRY_AFTER,
            },
            EngineError::Lost | EngineError::Random(_) => Self::Failed(error),
        }
    }
}

#[cfg(test)]
mod tests;
