//! Memory that requests may take together; one client at most half of it.
//!
//! Work that takes much memory reserves it first and waits while too much is taken. A response holds its
//! reservation until its bytes are written, so that clients that do not read cannot take more either.

use crate::clients::{ClientSlots, client_key};
use axum::body::Bytes;
use http::Extensions;
use rolegate_telemetry::{
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

/// Requests that wait; others are refused at once, because those that wait take memory too.
const MAX_WAITING: u32 = 1024;

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
    /// A permit is a KiB.
    free: Arc<Semaphore>,
    /// The KiB of one client.
    share: u32,
    clients: ClientSlots,
    places_to_wait: Semaphore,
    /// Held while a request waits for the budget itself.
    waiting: Arc<Semaphore>,
    /// Held while a request waits for the share of its client.
    waiting_clients: ClientSlots,
}

/// Reserved bytes, free again when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    client: Option<IpAddr>,
    of_all: OwnedSemaphorePermit,
    /// Where the address of the client is known.
    of_client: Option<OwnedSemaphorePermit>,
}

impl MemoryBudget {
    /// A budget of `bytes`, with this name in metrics. Requests wait for `wait_timeout`.
    pub fn new(name: &'static str, bytes: usize, wait_timeout: Duration) -> Self {
        let size = (bytes / KIB).min(Semaphore::MAX_PERMITS);
        let share = u32::try_from(size / 2).unwrap_or(u32::MAX);
        let free = Arc::new(Semaphore::new(size));
        let reserved = RESERVED.with_label_values(&[name]);
        REFUSED.with_label_values(&[name]);
        let weak = Arc::downgrade(&free);
        before_scrape(format!("memory {name}"), move || {
            let free = weak.upgrade().map_or(size, |free| free.available_permits());
            set_count(&reserved, (size - free) * KIB);
        });
        Self(Arc::new(Shared {
            name,
            wait_timeout,
            free,
            share,
            clients: ClientSlots::new(share),
            places_to_wait: Semaphore::new(MAX_WAITING as usize),
            waiting: Arc::new(Semaphore::new(MAX_WAITING as usize)),
            waiting_clients: ClientSlots::new(MAX_WAITING),
        }))
    }

    /// Reserves `bytes`, at most half of the budget, for the client of the current request. `None` if
    /// that much did not become free in time, or too many requests wait already.
    pub async fn reserve(&self, bytes: usize) -> Option<Reservation> {
        let client = RequestContext::client_address().map(|address| client_key(Some(address)));
        self.reserve_kib(client, self.kib(bytes)).await
    }

    /// Permits for so many bytes.
    fn kib(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(KIB)).map_or(self.0.share, |kib| kib.min(self.0.share))
    }

    async fn reserve_kib(&self, client: Option<IpAddr>, kib: u32) -> Option<Reservation> {
        let budget = &*self.0;
        let reserve = async {
            let of_client = match client {
                Some(client) => {
                    let waiting = || budget.waiting_clients.of(client);
                    Some(acquire(budget.clients.of(client), kib, waiting).await?)
                }
                None => None,
            };
            let of_all = acquire(budget.free.clone(), kib, || budget.waiting.clone()).await?;
            Some(Reservation {
                budget: self.clone(),
                client,
                of_all,
                of_client,
            })
        };
        // Polled only if there is no room.
        let give_up = async {
            if let Ok(_place) = budget.places_to_wait.try_acquire() {
                sleep(budget.wait_timeout).await;
            }
        };
        tokio::select! {
            biased;
            reservation = reserve => reservation,
            () = give_up => {
                REFUSED.with_label_values(&[budget.name]).inc();
                None
            }
        }
    }
}

/// Takes permits of the budget or of a share, and a slot of `waiting` until there are enough.
async fn acquire(
    free: Arc<Semaphore>,
    kib: u32,
    waiting: impl FnOnce() -> Arc<Semaphore>,
) -> Option<OwnedSemaphorePermit> {
    if let Ok(permit) = Arc::clone(&free).try_acquire_many_owned(kib) {
        return Some(permit);
    }
    let _waiting = waiting().try_acquire_owned();
    // Never closed.
    free.acquire_many_owned(kib).await.ok()
}

impl Reservation {
    /// Whether requests wait for this memory: those of its client for their share, or any for the budget.
    pub(crate) fn is_contended(&self) -> bool {
        let budget = &self.budget.0;
        let own = self.client.map(|client| budget.waiting_clients.of(client));
        let slots = own.iter().chain([&budget.waiting]);
        slots
            .map(|slots| slots.available_permits())
            .any(|free| free < MAX_WAITING as usize)
    }

    /// The same for `bytes`: frees the rest, or reserves what is missing as [`MemoryBudget::reserve`]
    /// does. `None`, and all is free, if that much did not become free in time.
    pub async fn resize(mut self, bytes: usize) -> Option<Self> {
        let (kib, held) = (self.budget.kib(bytes), self.of_all.num_permits());
        if let Some(missing) = (kib as usize).checked_sub(held) {
            let missing = u32::try_from(missing).unwrap_or(u32::MAX);
            let more = self.budget.reserve_kib(self.client, missing).await?;
            self.of_all.merge(more.of_all);
            if let (Some(of_client), Some(more)) = (&mut self.of_client, more.of_client) {
                of_client.merge(more);
            }
        } else {
            for permit in [&mut self.of_all].into_iter().chain(&mut self.of_client) {
                drop(permit.split(held - kib as usize));
            }
        }
        Some(self)
    }

    /// Marks a response whose body holds this: its connection ends early if the client reads slowly while
    /// others wait for the memory.
    pub fn mark(self: &Arc<Self>, response: &mut Extensions) {
        response.insert(Arc::downgrade(self));
    }

    /// The same bytes, which hold the reservation until the last reference to them is dropped.
    pub fn hold(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Held {
            bytes,
            _reservation: Arc::clone(self),
        })
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
pub(crate) mod tests;
