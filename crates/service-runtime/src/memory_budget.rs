//! Memory that requests may take together, in bytes; one client at most half of it.
//!
//! Work that takes much memory reserves it first and waits while too much is taken. A response holds its
//! reservation until its bytes are written, so that clients that do not read cannot take more either.

use axum::body::Bytes;
use http::Extensions;
use rolegate_telemetry::{
    metrics::{IntCounterVec, IntGaugeVec, before_scrape, counter_vec, gauge_vec, set_count},
    request_context::RequestContext,
};
use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// For memory to become free.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Requests that wait; others are refused at once, because those that wait take memory too.
const MAX_WAITING: usize = 1024;

/// Clients in the table before those without reservations are removed.
const MIN_CLIENTS: usize = 1024;

static RESERVED: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Bytes that requests have reserved, by budget (requests, responses, posts).";
    gauge_vec("rolegate_memory_reserved_bytes", help, &["budget"])
});

static REFUSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Requests refused because no memory became free in time, by budget.";
    counter_vec("rolegate_memory_refusals_total", help, &["budget"])
});

/// A number of bytes. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    name: &'static str,
    /// A permit is a byte.
    free: Arc<Semaphore>,
    /// The part of one client.
    share: usize,
    clients: Mutex<Clients>,
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct Clients {
    free: HashMap<IpAddr, Arc<Semaphore>>,
    /// The size at which the table is cleaned.
    limit: usize,
}

/// Reserved bytes, free again when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    /// Of the client, where its address is known, and of all.
    permits: [Option<OwnedSemaphorePermit>; 2],
}

impl MemoryBudget {
    /// A budget of `bytes`, with this name in metrics.
    #[must_use]
    pub fn new(name: &'static str, bytes: usize) -> Self {
        let bytes = bytes.min(Semaphore::MAX_PERMITS);
        let free = Arc::new(Semaphore::new(bytes));
        let reserved = RESERVED.with_label_values(&[name]);
        REFUSED.with_label_values(&[name]);
        let (weak, share) = (Arc::downgrade(&free), bytes / 2);
        before_scrape(format!("memory {name}"), move || {
            let free = weak.upgrade().map_or(bytes, |free| free.available_permits());
            set_count(&reserved, bytes - free);
        });
        let (clients, waiting) = (Mutex::default(), AtomicUsize::new(0));
        Self(Arc::new(Shared { name, free, share, clients, waiting }))
    }

    /// Reserves `bytes`, at most half of the budget, for the client of the current request. `None` if
    /// that much did not become free within [`WAIT_TIMEOUT`], or too many requests wait already.
    pub async fn reserve(&self, bytes: usize) -> Option<Reservation> {
        let permits = u32::try_from(bytes.min(self.0.share)).unwrap_or(u32::MAX);
        let client = RequestContext::client_address().map(|address| self.client(address));
        let semaphores = [client, Some(Arc::clone(&self.0.free))];
        let mut reservation = Reservation { budget: self.clone(), permits: [None, None] };
        for (semaphore, reserved) in semaphores.into_iter().zip(&mut reservation.permits) {
            let Some(semaphore) = semaphore else { continue };
            // Without a timer, where there is room.
            *reserved = match Arc::clone(&semaphore).try_acquire_many_owned(permits) {
                Ok(permit) => Some(permit),
                Err(_) => Some(self.wait(semaphore, permits).await?),
            };
        }
        Some(reservation)
    }

    async fn wait(&self, semaphore: Arc<Semaphore>, permits: u32) -> Option<OwnedSemaphorePermit> {
        let waiting = Waiting::start(&self.0.waiting);
        if waiting.before < MAX_WAITING
            && let Ok(permit) = timeout(WAIT_TIMEOUT, semaphore.acquire_many_owned(permits)).await
        {
            return permit.ok();
        }
        REFUSED.with_label_values(&[self.0.name]).inc();
        None
    }

    /// Whether requests wait for memory.
    #[must_use]
    pub fn is_contended(&self) -> bool {
        self.0.waiting.load(Ordering::Relaxed) > 0
    }

    /// What this client has left of its share.
    fn client(&self, address: IpAddr) -> Arc<Semaphore> {
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.free.len() >= clients.limit.max(MIN_CLIENTS) {
            clients.free.retain(|_, free| Arc::strong_count(free) > 1);
            clients.limit = clients.free.len() * 2;
        }
        let new = || Arc::new(Semaphore::new(self.0.share));
        Arc::clone(clients.free.entry(network(address)).or_insert_with(new))
    }
}

/// A client of IPv6 usually has all addresses of a /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

struct Waiting<'a> {
    count: &'a AtomicUsize,
    /// How many waited already.
    before: usize,
}

impl<'a> Waiting<'a> {
    fn start(count: &'a AtomicUsize) -> Self {
        Self { count, before: count.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Reservation {
    /// Frees all but `bytes`.
    pub fn shrink_to(&mut self, bytes: usize) {
        for permit in self.permits.iter_mut().flatten() {
            drop(permit.split(permit.num_permits().saturating_sub(bytes)));
        }
    }

    /// The same bytes, which hold the reservation until the last reference to them is dropped.
    #[must_use]
    pub fn hold(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Held { bytes, _reservation: Arc::clone(self) })
    }

    /// Marks a response whose body holds a reservation: its connection closes early if its client does
    /// not read while others wait for memory.
    pub fn mark(&self, response: &mut Extensions) {
        response.insert(self.budget.clone());
    }
}

struct Held {
    bytes: Bytes,
    _reservation: Arc<Reservation>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests;
