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

/// Between two refusals of one client.
const CLIENT_INTERVAL: Duration = Duration::from_millis(20);
/// Between two refusals of all clients, on one core.
const CORE_INTERVAL: Duration = Duration::from_millis(1);
/// Refusals that were not needed can be used for so long.
const BURST: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(1);
/// Of about 40 bytes each; forgetting a client allows it another burst.
const MAX_CLIENTS: usize = 10_000;

/// The limits of both variants. Clones share them.
#[derive(Clone)]
pub(crate) struct Refusals {
    logins: ClientSlots,
    /// Between two refusals of all clients.
    interval: Duration,
    next: Arc<Mutex<Next>>,
}

/// When the next refusal is due.
struct Next {
    all: Instant,
    clients: HashMap<IpAddr, Instant>,
}

impl Refusals {
    pub(crate) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let interval = CORE_INTERVAL / u32::try_from(cores).unwrap_or(1);
        let next = Next {
            all: rested(Instant::now()),
            clients: HashMap::new(),
        };
        let logins = ClientSlots::new(MAX_LOGINS_PER_CLIENT);
        Self {
            logins,
            interval,
            next: Arc::new(Mutex::new(next)),
        }
    }

    /// Makes the call of a login, unless the client has too many in progress.
    pub(crate) async fn login<T>(
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
        self.answer(context, outcome).await
    }

    /// The outcome of a call that checks or hashes a password: a refusal when the client's share allows
    /// it, anything else at once.
    pub(crate) async fn answer<T>(
        &self,
        context: CallContext,
        outcome: Result<T, CallError>,
    ) -> Result<T, ApiError> {
        if outcome.as_ref().is_err_and(is_refusal) {
            let delay = self.delay(client_key(context.client_address), Instant::now());
            if !delay.is_zero() {
                // Boxed: most requests need no room for a delay.
                Box::pin(tokio::time::sleep(delay)).await;
            }
        }
        Ok(outcome?)
    }

    /// How long the next refusal of this client has to wait.
    fn delay(&self, client: IpAddr, now: Instant) -> Duration {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.clients.len() >= MAX_CLIENTS {
            next.clients.retain(|_, due| *due + BURST > now);
        }
        if next.clients.len() >= MAX_CLIENTS {
            next.clients.clear();
        }
        let own = next.clients.entry(client).or_insert(rested(now));
        let own = advance(own, CLIENT_INTERVAL, now);
        own.max(advance(&mut next.all, self.interval, now))
    }
}

/// Whether auth-service, or the gateway in its place, refused a password check.
pub(crate) fn is_refusal(error: &CallError) -> bool {
    error
        .reason()
        .is_some_and(|reason| REFUSALS.contains(&reason))
}

/// When the next refusal was due, where none was needed for long.
fn rested(now: Instant) -> Instant {
    now.checked_sub(BURST).unwrap_or(now)
}

/// Takes the next place in a series with this interval.
fn advance(due: &mut Instant, interval: Duration, now: Instant) -> Duration {
    *due = ((*due).max(rested(now)) + interval).min(now + MAX_DELAY);
    due.saturating_duration_since(now)
}

#[cfg(test)]
mod tests;
