//! Bounds the memory that all requests reserve together, and gives one client at most half of it.
//!
//! A request that needs much memory reserves it first, and waits while too little is free. A response holds its
//! reservation until its bytes are written, because they stay in memory while the client does not read them.

use crate::clients::{ClientSlots, client_key};
use axum::body::Bytes;
use http::Extensions;
use rolegate_program::{
    metrics::{IntCounterVec, IntGaugeVec, before_scrape, counter_vec, gauge_vec, set_count},
    request_context::RequestContext,
};
use std::{
    net::IpAddr,
    sync::{Arc, LazyLock},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::sleep,
};

const KIB: usize = 1024;

/// The maximum number of requests that may wait for memory. Further requests are refused at once, because waiting
/// requests take memory too.
const MAX_WAITING: u32 = 1024;

static RESERVED: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Bytes that requests have reserved, by budget (requests, responses, posts).";
    gauge_vec("rolegate_memory_reserved_bytes", help, &["budget"])
});

static REFUSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Requests refused because no memory became free in time, by budget.";
    counter_vec("rolegate_memory_refusals_total", help, &["budget"])
});

/// A number of bytes that requests may hold together. Clones share the budget.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    name: &'static str,
    /// The maximum time that a request waits for memory to become free.
    wait_timeout: Duration,
    /// The free memory. One permit is one KiB.
    free: Arc<Semaphore>,
    /// The maximum number of KiB that one client may reserve at a time.
    max_client_kib: u32,
    clients: ClientSlots,
    places_to_wait: Semaphore,
    /// The slots for requests that wait for the budget itself. Each holds one while it waits.
    waiting: Arc<Semaphore>,
    /// The slots for requests that wait for the share of their client. Each holds one while it waits.
    waiting_clients: ClientSlots,
}

/// A number of reserved bytes, which are free again when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    client: Option<IpAddr>,
    permit: OwnedSemaphorePermit,
    /// The same number of permits from the share of the client; `None` if the address of the client is not known.
    client_permit: Option<OwnedSemaphorePermit>,
}

impl MemoryBudget {
    /// Creates a budget of `bytes`, with this name in metrics. Requests wait for `wait_timeout` at most.
    pub fn new(name: &'static str, bytes: usize, wait_timeout: Duration) -> Self {
        let size = (bytes / KIB).min(Semaphore::MAX_PERMITS);
        let max_client_kib = u32::try_from(size / 2).unwrap_or(u32::MAX);
        let free = Arc::new(Semaphore::new(size));
        let reserved = RESERVED.with_label_values(&[name]);
        REFUSED.with_label_values(&[name]);
        let permits = Arc::clone(&free);
        before_scrape(format!("memory {name}"), move || {
            set_count(&reserved, (size - permits.available_permits()) * KIB);
        });
        Self {
            shared: Arc::new(Shared {
                name,
                wait_timeout,
                free,
                max_client_kib,
                clients: ClientSlots::new(max_client_kib),
                places_to_wait: Semaphore::new(MAX_WAITING as usize),
                waiting: Arc::new(Semaphore::new(MAX_WAITING as usize)),
                waiting_clients: ClientSlots::new(MAX_WAITING),
            }),
        }
    }

    /// Reserves `bytes`, but at most half of the budget, for the client of the current request.
    ///
    /// Returns `None` if that much did not become free in time, or if too many requests wait already.
    pub async fn reserve(&self, bytes: usize) -> Option<Reservation> {
        let client = RequestContext::client_address().map(|address| client_key(Some(address)));
        self.reserve_kib(client, self.kib(bytes)).await
    }

    /// Returns the number of permits for this number of bytes, but at most the share of a client.
    fn kib(&self, bytes: usize) -> u32 {
        let max = self.shared.max_client_kib;
        u32::try_from(bytes.div_ceil(KIB)).map_or(max, |kib| kib.min(max))
    }

    async fn reserve_kib(&self, client: Option<IpAddr>, kib: u32) -> Option<Reservation> {
        let shared = &*self.shared;
        let reserve = async {
            let client_permit = match client {
                Some(client) => {
                    let waiting = || shared.waiting_clients.slots_of(client);
                    Some(acquire(shared.clients.slots_of(client), kib, waiting).await?)
                }
                None => None,
            };
            let permit = acquire(shared.free.clone(), kib, || shared.waiting.clone()).await?;
            Some(Reservation {
                budget: self.clone(),
                client,
                permit,
                client_permit,
            })
        };
        // `select!` is biased, so `give_up` is polled only if the memory is not free at once.
        let give_up = async {
            if let Ok(_place) = shared.places_to_wait.try_acquire() {
                sleep(shared.wait_timeout).await;
            }
        };
        tokio::select! {
            biased;
            reservation = reserve => reservation,
            () = give_up => {
                REFUSED.with_label_values(&[shared.name]).inc();
                None
            }
        }
    }
}

/// Takes permits of the budget or of a client's share, and waits until there are enough. Meanwhile it holds a slot of
/// `waiting`, which shows [`Reservation::is_contended`] that a request waits.
async fn acquire(
    free: Arc<Semaphore>,
    kib: u32,
    waiting: impl FnOnce() -> Arc<Semaphore>,
) -> Option<OwnedSemaphorePermit> {
    if let Ok(permit) = Arc::clone(&free).try_acquire_many_owned(kib) {
        return Some(permit);
    }
    let _waiting = waiting().try_acquire_owned();
    // Acquiring never fails, because the semaphore is never closed.
    free.acquire_many_owned(kib).await.ok()
}

impl Reservation {
    /// Returns `true` if a request waits for this memory: one of the same client for its share, or any one for the
    /// budget.
    pub(crate) fn is_contended(&self) -> bool {
        let shared = &self.budget.shared;
        let is_awaited = |waiting: &Semaphore| waiting.available_permits() < MAX_WAITING as usize;
        let is_awaited_by_client = match self.client {
            Some(client) => is_awaited(&shared.waiting_clients.slots_of(client)),
            None => false,
        };
        is_awaited_by_client || is_awaited(&shared.waiting)
    }

    /// Changes the size to `bytes`: frees the rest, or reserves what is missing as [`MemoryBudget::reserve`]
    /// does. If that much does not become free in time, returns `None` and frees the whole reservation.
    pub async fn resize(mut self, bytes: usize) -> Option<Self> {
        let needed = self.budget.kib(bytes) as usize;
        let held = self.permit.num_permits();
        if needed < held {
            drop(self.permit.split(held - needed));
            if let Some(client_permit) = &mut self.client_permit {
                drop(client_permit.split(held - needed));
            }
            return Some(self);
        }
        let missing = u32::try_from(needed - held).unwrap_or(u32::MAX);
        let more = self.budget.reserve_kib(self.client, missing).await?;
        self.permit.merge(more.permit);
        if let Some(client_permit) = &mut self.client_permit
            && let Some(more) = more.client_permit
        {
            client_permit.merge(more);
        }
        Some(self)
    }

    /// Puts a reference to this reservation into the extensions of the response whose body it covers.
    ///
    /// The connection closes early if its client reads the body slowly while other requests wait for the memory.
    pub fn attach_to(self: &Arc<Self>, response: &mut Extensions) {
        response.insert(Arc::downgrade(self));
    }

    /// Wraps bytes so that they hold the reservation until the last reference to them is dropped.
    pub fn hold(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        Bytes::from_owner(ReservedBytes {
            bytes,
            _reservation: Arc::clone(self),
        })
    }
}

/// Bytes together with the reservation of their memory.
struct ReservedBytes {
    bytes: Bytes,
    _reservation: Arc<Reservation>,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
pub(crate) mod tests;
