//! Hashes and verifies passwords with `rolegate_bcrypt_lanes`.

use super::{
    NO_PASSWORD, Password, Peppers, PresentedPassword, foreign_checks::ForeignChecks,
    foreign_hash::ForeignHash,
};
use crate::{call_origin::CallOrigin, metrics};
use rolegate_bcrypt_lanes::{ClientKey, Cost, Engine, EngineError, Timed, Verdict};
use rolegate_http_server::clients::{ClientSlot, ClientSlots, MAX_LOGINS_PER_CLIENT};
use rolegate_telemetry::traces;
use secrecy::{ExposeSecret, SecretString};
use std::{io, pin::pin, sync::Arc, time::Duration};
use tokio::time::timeout_at;

/// Hashes and verifies passwords. Clones share the engine.
#[derive(Clone)]
pub(crate) struct Hasher {
    engine: Arc<Engine>,
    foreign: Arc<ForeignChecks>,
    cost: Cost,
    /// Of what every client can ask for: checks and registrations.
    slots: ClientSlots,
    peppers: Arc<Peppers>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verification {
    pub(crate) is_match: bool,
    /// Whether it matches a hash of another algorithm, cost or pepper than new hashes have, and bcrypt
    /// reads all of the password.
    pub(crate) needs_rehash: bool,
}

/// A password was neither hashed nor verified.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HashError {
    /// The engine has no capacity before the deadline.
    #[error("too many passwords are waiting to be hashed")]
    Overloaded { retry_after: Duration },
    #[error("the pepper of a stored password hash is not in PASSWORD_PEPPER")]
    UnknownPepper,
    #[error("a password could not be hashed")]
    Failed(#[source] EngineError),
}

/// A client has its share of checks in progress; one of them ends soon.
const NO_SLOT: HashError = HashError::Overloaded {
    retry_after: Duration::from_millis(100),
};

impl Hasher {
    /// Checks the engine against known answers and starts it.
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
        let slots = ClientSlots::new(MAX_LOGINS_PER_CLIENT);
        let (engine, foreign) = (Arc::new(engine), Arc::new(foreign));
        Ok(Self {
            engine,
            foreign,
            cost,
            slots,
            peppers: Arc::new(peppers),
        })
    }

    /// The counters of the engine and of checks by other algorithms.
    pub(crate) fn stats(&self) -> rolegate_bcrypt_lanes::Stats {
        let mut stats = self.engine.stats();
        self.foreign.add_to(&mut stats);
        stats
    }

    /// A client's place for one check, or a refusal if a password would be refused now. Called before
    /// other work of a request, so that refusals under load are cheap and do not depend on the user.
    pub(crate) async fn admit(&self, origin: CallOrigin) -> Result<ClientSlot, HashError> {
        let client = origin.client_key();
        let slot = self.slots.acquire(client).ok_or(NO_SLOT)?;
        self.engine
            .check_admission(self.cost, client.into(), origin.deadline)
            .await?;
        Ok(slot)
    }

    /// A client's place for a registration. One beyond the client's share waits for its turn: a form that
    /// many people use at a time may have one address.
    pub(crate) async fn admit_registration(
        &self,
        origin: CallOrigin,
    ) -> Result<ClientSlot, HashError> {
        let client = origin.client_key();
        let turn = timeout_at(
            origin.deadline.into(),
            self.slots.of(client).acquire_owned(),
        );
        let slot = turn.await.ok().and_then(Result::ok).ok_or(NO_SLOT)?;
        self.engine
            .check_admission(self.cost, client.into(), origin.deadline)
            .await?;
        Ok(slot)
    }

    /// Makes failed checks take as long as one of a stored hash of this cost.
    pub(crate) fn note_stored_cost(&self, cost: u32) {
        if let Some(cost) = Cost::new(cost) {
            self.engine.note_stored_cost(cost);
        }
    }

    /// Hashes a new password: `$2b$` with a random salt, after the name of the pepper if there is one.
    pub(crate) async fn hash(
        &self,
        password: &Password,
        origin: CallOrigin,
    ) -> Result<SecretString, HashError> {
        let client = ClientKey::from(origin.client_key());
        let (mut stored, input) = self.peppers.for_new(password);
        let hash = self
            .engine
            .hash(input.as_bytes(), self.cost, client, origin.deadline);
        stored += &observe(hash.await?);
        Ok(SecretString::from(stored))
    }

    /// Verifies a password. `None` for either argument never matches, at the same cost.
    pub(crate) async fn verify(
        &self,
        password: Option<&PresentedPassword>,
        stored: Option<&SecretString>,
        origin: CallOrigin,
    ) -> Result<Verification, HashError> {
        let hash = stored
            .map(ExposeSecret::expose_secret)
            .filter(|hash| *hash != NO_PASSWORD);
        if let (Some(password), Some(foreign)) = (password, hash.and_then(foreign)) {
            return self.verify_foreign(password, foreign, origin).await;
        }
        let password = password.and_then(PresentedPassword::valid);
        let peppered = hash.zip(password);
        let peppered = peppered.map(|(hash, password)| self.peppers.for_stored(hash, password));
        // The same work as for an unknown name, which must not be told apart.
        let (peppered, unknown) = match peppered.transpose() {
            Ok(peppered) => (peppered, None),
            Err(unknown) => (None, Some(unknown)),
        };
        let text = peppered
            .as_ref()
            .map_or("", |peppered| &peppered.input)
            .as_bytes();
        let hash = peppered.as_ref().map(|peppered| peppered.hash);
        let client = ClientKey::from(origin.client_key());
        let verdict = self
            .engine
            .verify(text, hash, self.cost, client, origin.deadline)
            .await?;
        let verdict = observe(verdict);
        if let Some(unknown) = unknown {
            return Err(unknown);
        }
        if verdict == Verdict::Malformed {
            tracing::error!("a stored password hash is malformed, so its user cannot log in");
        }
        let is_match = verdict.is_match() && password.is_some();
        let needs_rehash = peppered.is_some_and(|peppered| {
            let is_outdated = peppered.is_outdated || verdict == Verdict::Match { rehash: true };
            is_match && is_outdated && peppered.is_of_bytes
        });
        Ok(Verification {
            is_match,
            needs_rehash,
        })
    }

    /// Verifies a password against a hash of another algorithm, which has no pepper. A lane does the work
    /// of a failed check meanwhile, so that a mismatch tells such a hash from others only if its check takes
    /// longer.
    async fn verify_foreign(
        &self,
        password: &PresentedPassword,
        stored: ForeignHash,
        origin: CallOrigin,
    ) -> Result<Verification, HashError> {
        let (client, deadline) = (origin.client_key(), origin.deadline);
        let can_rehash = password
            .valid()
            .is_some_and(|valid| stored.is_of_bytes(valid.expose()));
        let (password, work) = (password.secret().clone(), stored.cost.work);
        let check = move || stored.matches(password.expose_secret());
        let per_second = self.engine.stats().iterations_per_second;
        let padding = self
            .engine
            .verify(b"", None, self.cost, client.into(), deadline);
        let checked = self.foreign.run(check, work, client, deadline, per_second);
        let (mut padding, mut checked) = (pin!(padding), pin!(checked));
        let (checked, is_padded) = tokio::select! {
            biased;
            // Refused or late, as the check of a hash of bcrypt would be.
            padded = &mut padding => {
                padded?;
                (checked.await?, true)
            }
            checked = &mut checked => (checked?, false),
        };
        if !checked.value && !is_padded {
            // An error here would refund the attempt of a wrong guess.
            let _ = padding.await;
        }
        let is_match = observe(checked);
        Ok(Verification {
            is_match,
            needs_rehash: is_match && can_rehash,
        })
    }
}

/// A stored hash of another algorithm; a malformed one is treated like one of bcrypt.
fn foreign(stored: &str) -> Option<ForeignHash> {
    if stored.starts_with("$2") {
        None
    } else {
        ForeignHash::parse(stored).ok()
    }
}

fn observe<T>(done: Timed<T>) -> T {
    traces::record_phases([("password wait", done.waited), ("password hash", done.ran)]);
    metrics::HASHING_WAIT.observe(done.waited.as_secs_f64());
    metrics::HASHING_RUN.observe(done.ran.as_secs_f64());
    done.value
}

impl From<EngineError> for HashError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused { retry_after, .. } => Self::Overloaded { retry_after },
            // The caller has usually stopped waiting.
            EngineError::DeadlinePassed => Self::Overloaded {
                retry_after: Duration::from_secs(1),
            },
            EngineError::Lost | EngineError::Random(_) => Self::Failed(error),
        }
    }
}

#[cfg(test)]
mod tests;
