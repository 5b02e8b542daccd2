//! Refusals of password checks: no client has more than 32 logins in progress, or gets more than its
//! share of refusals per second. A client that floods would otherwise be refused as fast as it asks.
//!
//! More refusals wait, for a second at most: a client in a closed loop then asks no faster, and one that
//! does not wait pays with its connections.

use rolegate_auth_client::{CallContext, CallError, Reason, axum::ApiError};
use rolegate_http_server::clients::{ClientSlots, MAX_LOGINS_PER_CLIENT, client_key};
use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZero,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The reasons of refusals, as opposed to answers.
pub(crate) const REFUSALS: [Reason; 2] = [Reason::TooManyAttempts, Reason::Overloaded];

/// The time between two refusals of one client.
const CLIENT_INTERVAL: Duration = Duration::from_millis(20);
/// The time between two refusals of all clients, on one core.
const CORE_INTERVAL: Duration = Duration::from_millis(1);
/// How long a share of refusals that was not used up can be used later.
const BURST: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(1);
/// The greatest number of clients that are remembered, of about 40 bytes each; forgetting a client allows it another
/// burst.
const MAX_CLIENTS: usize = 10_000;

/// The limits of both variants. Clones share them.
#[derive(Clone)]
pub(crate) struct Refusals {
    logins: ClientSlots,
    /// The time between two refusals of all clients.
    interval: Duration,
    schedule: Arc<Mutex<Schedule>>,
}

/// When the next refusal is due.
struct Schedule {
    all: Instant,
    clients: HashMap<IpAddr, Instant>,
}

impl Refusals {
    pub(crate) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let interval = CORE_INTERVAL / u32::try_from(cores).unwrap_or(1);
        let schedule = Schedule {
            all: earliest(Instant::now()),
            clients: HashMap::new(),
        };
        Self {
            logins: ClientSlots::new(MAX_LOGINS_PER_CLIENT),
            interval,
            schedule: Arc::new(Mutex::new(schedule)),
        }
    }

    /// Runs the call of a login, unless the client has too many in progress, and paces its refusals.
    pub(crate) async fn run_login<T>(
        &self,
        context: CallContext,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, ApiError> {
        let slot = self.logins.acquire(client_key(context.client_address));
        let outcome = match &slot {
            Some(_) => call.await,
            None => Err(CallError::local(Reason::Overloaded)),
        };
        drop(slot);
        self.pace(context, outcome).await
    }

    /// Returns the outcome of a call that checks or hashes a password: a refusal once the client's share allows
    /// it, anything else at once.
    pub(crate) async fn pace<T>(
        &self,
        context: CallContext,
        outcome: Result<T, CallError>,
    ) -> Result<T, ApiError> {
        if outcome.as_ref().is_err_and(is_refusal) {
            let delay = self.schedule_refusal(client_key(context.client_address), Instant::now());
            if !delay.is_zero() {
                // Boxed: most requests need no room for a delay.
                Box::pin(tokio::time::sleep(delay)).await;
            }
        }
        Ok(outcome?)
    }

    /// Schedules the next refusal of this client, and returns how long it has to wait.
    fn schedule_refusal(&self, client: IpAddr, now: Instant) -> Duration {
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        schedule.make_room(now);
        let client_due = schedule.clients.entry(client).or_insert(earliest(now));
        let client_delay = take_turn(client_due, CLIENT_INTERVAL, now);
        client_delay.max(take_turn(&mut schedule.all, self.interval, now))
    }
}

impl Schedule {
    /// Forgets clients that need no delay, or all of them if there are too many others.
    fn make_room(&mut self, now: Instant) {
        if self.clients.len() >= MAX_CLIENTS {
            self.clients.retain(|_, due| *due + BURST > now);
        }
        if self.clients.len() >= MAX_CLIENTS {
            self.clients.clear();
        }
    }
}

/// Tells whether auth-service, or the gateway in its place, refused a password check.
pub(crate) fn is_refusal(error: &CallError) -> bool {
    error
        .reason()
        .is_some_and(|reason| REFUSALS.contains(&reason))
}

/// When the next refusal is due at the earliest: where none was needed for long, a burst may pass.
fn earliest(now: Instant) -> Instant {
    now.checked_sub(BURST).unwrap_or(now)
}

/// Takes the next turn in a series with this interval, and returns how long it has to wait.
fn take_turn(due: &mut Instant, interval: Duration, now: Instant) -> Duration {
    *due = ((*due).max(earliest(now)) + interval).min(now + MAX_DELAY);
    due.saturating_duration_since(now)
}

#[cfg(test)]
mod tests;
