//! Slows down refused password checks.
//!
//! No client may have more than 32 logins in progress, or get more than its share of refusals per second. Otherwise a
//! client that floods the gateway would be refused as fast as it sends requests.
//!
//! A refusal beyond the share is delayed, by one second at most. This slows down a client that waits for each response.
//! A client that does not wait uses up its connections.

use rolegate_auth_client::{CallContext, CallError, Reason, axum::ApiError};
use rolegate_http_server::clients::{ClientSlots, MAX_LOGINS_PER_CLIENT, client_key};
use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZero,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The reasons for which a request is refused without checking its password.
pub(crate) const REFUSALS: [Reason; 2] = [Reason::TooManyAttempts, Reason::Overloaded];

/// The minimum time between two refusals of one client.
const CLIENT_INTERVAL: Duration = Duration::from_millis(20);
/// The minimum time between two refusals of all clients together, divided by the number of cores.
const CORE_INTERVAL: Duration = Duration::from_millis(1);
/// The period over which unused refusals accumulate. Accumulated refusals can be sent in a burst.
const BURST: Duration = Duration::from_secs(1);
/// The maximum time by which a refusal is delayed.
const MAX_DELAY: Duration = Duration::from_secs(1);
/// The maximum number of clients that are remembered, each of which takes about 40 bytes. A client that was forgotten
/// can have another burst.
const MAX_CLIENTS: usize = 10_000;

/// Limits refused password checks at both variants and the address of proxies together.
pub(crate) struct Refusals {
    logins: ClientSlots,
    /// The minimum time between two refusals of all clients together, on this machine.
    interval: Duration,
    schedule: Mutex<Schedule>,
}

/// The times at which the next refusals are due, for all clients together and for each client.
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
            schedule: Mutex::new(schedule),
        }
    }

    /// Runs `call`, which is a login, and delays its refusal if needed. If the client has too many logins in progress,
    /// the login is refused as overloaded, and `call` does not run.
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

    /// Returns the outcome of a call that checks or hashes a password. A refusal waits until the client's share allows
    /// it. Any other outcome is returned at once.
    pub(crate) async fn pace<T>(
        &self,
        context: CallContext,
        outcome: Result<T, CallError>,
    ) -> Result<T, ApiError> {
        if outcome.as_ref().is_err_and(is_refusal) {
            let delay = self.schedule_refusal(client_key(context.client_address), Instant::now());
            if !delay.is_zero() {
                // The timer is boxed, so that it does not enlarge the future of every request. Few requests are
                // delayed.
                Box::pin(tokio::time::sleep(delay)).await;
            }
        }
        Ok(outcome?)
    }

    /// Schedules the next refusal of this client, and returns the delay until that refusal is due.
    fn schedule_refusal(&self, client: IpAddr, now: Instant) -> Duration {
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        schedule.make_room(now);
        let client_due = schedule.clients.entry(client).or_insert(earliest(now));
        let client_delay = take_turn(client_due, CLIENT_INTERVAL, now);
        client_delay.max(take_turn(&mut schedule.all, self.interval, now))
    }
}

impl Schedule {
    /// If too many clients are remembered, forgets those that can have a full burst anyway. If that is not enough,
    /// forgets all clients.
    fn make_room(&mut self, now: Instant) {
        if self.clients.len() >= MAX_CLIENTS {
            self.clients.retain(|_, due| *due + BURST > now);
        }
        if self.clients.len() >= MAX_CLIENTS {
            self.clients.clear();
        }
    }
}

/// Returns `true` if auth-service, or the gateway in its place, refused to check a password.
pub(crate) fn is_refusal(error: &CallError) -> bool {
    error
        .reason()
        .is_some_and(|reason| REFUSALS.contains(&reason))
}

/// Returns the earliest time from which refusals are scheduled. It is [`BURST`] ago, so that a client that was not
/// refused for a while can get several refusals without a delay.
fn earliest(now: Instant) -> Instant {
    now.checked_sub(BURST).unwrap_or(now)
}

/// Moves `due` on by `interval` for one more refusal, and returns the delay until that refusal.
fn take_turn(due: &mut Instant, interval: Duration, now: Instant) -> Duration {
    *due = ((*due).max(earliest(now)) + interval).min(now + MAX_DELAY);
    due.saturating_duration_since(now)
}

#[cfg(test)]
mod tests;
