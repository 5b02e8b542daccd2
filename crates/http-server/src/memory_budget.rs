//! Memory that requests may take together, in bytes; one client at most half of it.
//!
//! Work that takes much memory reserves it first and waits while too much is taken. A response holds its
//! reservation until its bytes are written, so that clients that do not read cannot take more either.

use crate::clients::client_key;
use axum::body::Bytes;
use http::Extensions;
use rolegate_telemetry::{
    metrics::{IntCounterVec, IntGaugeVec, before_scrape, counter_vec, gauge_vec, set_count},
    request_context::RequestContext,
};
use std::{
    collections::HashMap,
    net::IpAddr,
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
    /// For memory to become free.
    wait_timeout: Duration,
    all: Part,
    /// The bytes of one client.
    share: usize,
    clients: Mutex<Clients>,
    waiting: AtomicUsize,
}

/// The budget, or the part of one client.
#[derive(Debug)]
struct Part {
    /// A permit is a byte.
    free: Arc<Semaphore>,
    /// Requests that wait for this part.
    waiting: AtomicUsize,
}

impl Part {
    fn new(bytes: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(bytes)), waiting: AtomicUsize::new(0) }
    }
}

#[derive(Debug, Default)]
struct Clients {
    parts: HashMap<IpAddr, Arc<Part>>,
    /// The size at which the table is cleaned.
    limit: usize,
}

/// Reserved bytes, free again when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    held: HeldMemory,
    /// Of the client, where its address is known, and of all.
    permits: [Option<OwnedSemaphorePermit>; 2],
}

/// Where a response holds memory: in the extensions of that response.
#[derive(Clone, Debug)]
pub(crate) struct HeldMemory {
    budget: MemoryBudget,
    client: Option<Arc<Part>>,
}

impl HeldMemory {
    /// Whether requests wait for this memory: those of the same client, or of all.
    pub(crate) fn is_contended(&self) -> bool {
        let parts = self.client.as_deref().into_iter().chain([&self.budget.0.all]);
        parts.into_iter().any(|part| part.waiting.load(Ordering::Relaxed) > 0)
    }
}

impl MemoryBudget {
    /// A budget of `bytes`, with this name in metrics. Requests wait for `wait_timeout`.
    #[must_use]
    pub fn new(name: &'static str, bytes: usize, wait_timeout: Duration) -> Self {
        let bytes = bytes.min(Semaphore::MAX_PERMITS);
        let all = Part::new(bytes);
        let reserved = RESERVED.with_label_values(&[name]);
        REFUSED.with_label_values(&[name]);
        let (weak, share) = (Arc::downgrade(&all.free), bytes / 2);
        before_scrape(format!("memory {name}"), move || {
            let free = weak.upgrade().map_or(bytes, |free| free.available_permits());
            set_count(&reserved, bytes - free);
        });
        let (clients, waiting) = (Mutex::default(), AtomicUsize::new(0));
        Self(Arc::new(Shared { name, wait_timeout, all, share, clients, waiting }))
    }

    /// Reserves `bytes`, at most half of the budget, for the client of the current request. `None` if
    /// that much did not become free in time, or too many requests wait already.
    pub async fn reserve(&self, bytes: usize) -> Option<Reservation> {
        let client = RequestContext::client_address().map(|address| self.client(address));
        let held = HeldMemory { budget: self.clone(), client };
        self.reserve_for(held, bytes.min(self.0.share)).await
    }

    async fn reserve_for(&self, held: HeldMemory, bytes: usize) -> Option<Reservation> {
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        let mut reservation = Reservation { held, permits: [None, None] };
        // Without a timer, where there is room.
        if reservation.try_acquire(permits) {
            return Some(reservation);
        }
        let waiting = Waiting::start(&self.0.waiting);
        let is_reserved = waiting.before < MAX_WAITING
            && timeout(self.0.wait_timeout, reservation.acquire(permits)).await.is_ok();
        if !is_reserved {
            REFUSED.with_label_values(&[self.0.name]).inc();
        }
        is_reserved.then_some(reservation)
    }

    /// The part of this client.
    fn client(&self, address: IpAddr) -> Arc<Part> {
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.parts.len() >= clients.limit.max(MIN_CLIENTS) {
            clients.parts.retain(|_, part| Arc::strong_count(part) > 1);
            clients.limit = clients.parts.len() * 2;
        }
        let new = || Arc::new(Part::new(self.0.share));
        Arc::clone(clients.parts.entry(client_key(Some(address))).or_insert_with(new))
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
    /// The permits that are missing, and where they come from.
    fn missing(&mut self) -> impl Iterator<Item = (&Part, &mut Option<OwnedSemaphorePermit>)> {
        let HeldMemory { budget, client } = &self.held;
        let [of_client, of_all] = &mut self.permits;
        let client = client.as_deref().map(|part| (part, of_client));
        let missing = client.into_iter().chain([(&budget.0.all, of_all)]);
        missing.filter(|(_, permit)| permit.is_none())
    }

    /// Whether nothing is missing.
    fn try_acquire(&mut self, permits: u32) -> bool {
        for (part, permit) in self.missing() {
            *permit = Arc::clone(&part.free).try_acquire_many_owned(permits).ok();
            if permit.is_none() {
                return false;
            }
        }
        true
    }

    async fn acquire(&mut self, permits: u32) {
        for (part, permit) in self.missing() {
            let _waiting = Waiting::start(&part.waiting);
            // Never closed.
            *permit = Arc::clone(&part.free).acquire_many_owned(permits).await.ok();
        }
    }

    /// Reserves what is missing to `bytes`, as [`MemoryBudget::reserve`] does. `None`, and all is free, if
    /// that much did not become free in time.
    pub async fn grow_to(mut self, bytes: usize) -> Option<Self> {
        let budget = self.held.budget.clone();
        let reserved = self.permits.iter().flatten().map(OwnedSemaphorePermit::num_permits).max();
        let missing = bytes.min(budget.0.share).saturating_sub(reserved.unwrap_or_default());
        if missing > 0 {
            let more = budget.reserve_for(self.held.clone(), missing).await?;
            for (permit, more) in self.permits.iter_mut().zip(more.permits) {
                match (permit, more) {
                    (Some(permit), Some(more)) => permit.merge(more),
                    (permit, more) => *permit = permit.take().or(more),
                }
            }
        }
        Some(self)
    }

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

    /// Marks a response whose body holds a reservation: its connection closes early if its client reads
    /// slowly while others wait for that memory.
    pub fn mark(&self, response: &mut Extensions) {
        response.insert(self.held.clone());
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
