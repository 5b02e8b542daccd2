//! How fast refusals are answered. More of them wait, for a second at most: a client in a closed loop
//! then asks no faster, and one that does not wait pays with its connections.

use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZero,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Between two refusals of one client.
const CLIENT_INTERVAL: Duration = Duration::from_millis(20);
/// Between two refusals of all clients, on one core.
const CORE_INTERVAL: Duration = Duration::from_millis(1);
/// Refusals that were not needed can be used for so long.
const BURST: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(1);
/// Of about 40 bytes each; forgetting a client allows it another burst.
const MAX_CLIENTS: usize = 10_000;

#[derive(Debug)]
pub(super) struct Pacer {
    interval: Duration,
    next: Mutex<Next>,
}

/// When the next refusal is due.
#[derive(Debug)]
struct Next {
    all: Instant,
    clients: HashMap<IpAddr, Instant>,
}

impl Pacer {
    pub(super) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let interval = CORE_INTERVAL / u32::try_from(cores).unwrap_or(1);
        let next = Next { all: rested(Instant::now()), clients: HashMap::new() };
        Self { interval, next: Mutex::new(next) }
    }

    /// How long the next refusal of this client has to wait.
    pub(super) fn delay(&self, client: IpAddr, now: Instant) -> Duration {
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

/// When the next refusal was due, where none was needed for long.
fn rested(now: Instant) -> Instant {
    now.checked_sub(BURST).unwrap_or(now)
}

/// Takes the next place in a series with this interval.
fn advance(due: &mut Instant, interval: Duration, now: Instant) -> Duration {
    *due = ((*due).max(rested(now)) + interval).min(now + MAX_DELAY);
    due.saturating_duration_since(now)
}
