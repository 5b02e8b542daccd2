//! What one client is, and how much it may hold at a time.

use parking_lot::Mutex;
use rolegate_program::cidr_set::CidrSet;
use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A table grows to this many clients before those that hold nothing are removed.
const MIN_CLIENTS: usize = 1024;

/// Logins that one client may have in progress, at the gateway and at auth-service. More than the lanes
/// of most machines, and less than a second of work for two cores.
pub const MAX_LOGINS_PER_CLIENT: u32 = 32;

/// The client with this address: an IPv4 address, or an IPv6 /64, which is commonly one subscriber.
/// Clients with an unknown address are one client.
pub fn client_key(address: Option<IpAddr>) -> IpAddr {
    let address = address.unwrap_or(Ipv6Addr::UNSPECIFIED.into());
    match address.to_canonical() {
        IpAddr::V6(v6) => network(v6, 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The network of this prefix length that an address is in.
pub fn network(address: Ipv6Addr, prefix: u32) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - prefix.min(128)).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & mask)
}

/// A network of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    /// The first of its addresses.
    pub address: IpAddr,
    /// The length of its prefix in bits.
    pub prefix: u8,
}

/// A network of a client, and how much more than one client it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkShare {
    /// The network itself.
    pub network: Network,
    /// The multiple of the limit of one client that all clients of the network share.
    pub factor: u32,
}

/// The networks that count what a client does, the smallest first. A subscriber with an IPv6 /64 often has a
/// /56 or a /48, so those allow little more than a /64 does.
pub fn networks(client: IpAddr) -> impl DoubleEndedIterator<Item = NetworkShare> {
    let prefixes: &[(u8, u32)] = match client {
        IpAddr::V4(_) => &[(32, 1)],
        IpAddr::V6(_) => &[(64, 1), (56, 2), (48, 4)],
    };
    prefixes.iter().map(move |&(prefix, factor)| {
        let address = match client {
            IpAddr::V4(_) => client,
            IpAddr::V6(v6) => network(v6, prefix.into()).into(),
        };
        NetworkShare {
            network: Network { address, prefix },
            factor,
        }
    })
}

/// What a client holds, until dropped.
pub type ClientSlot = OwnedSemaphorePermit;

/// Bounds what each client holds at a time, such as connections or work in progress. Clones share it.
#[derive(Clone, Debug)]
pub struct ClientSlots {
    max: u32,
    clients: Arc<Mutex<Clients>>,
}

#[derive(Debug, Default)]
struct Clients {
    slots: HashMap<IpAddr, Arc<Semaphore>>,
    /// The size at which those that hold nothing are removed.
    limit: usize,
}

impl ClientSlots {
    /// Each client has `max` slots.
    pub fn new(max: u32) -> Self {
        Self {
            max,
            clients: Arc::default(),
        }
    }

    /// The free slots of this client.
    pub fn slots_of(&self, client: IpAddr) -> Arc<Semaphore> {
        let mut clients = self.clients.lock();
        if clients.slots.len() >= clients.limit.max(MIN_CLIENTS) {
            clients
                .slots
                .retain(|_, slots| Arc::strong_count(slots) > 1);
            clients.limit = clients.slots.len() * 2;
        }
        let slots = clients
            .slots
            .entry(client)
            .or_insert_with(|| Arc::new(Semaphore::new(self.max as usize)));
        Arc::clone(slots)
    }

    /// Takes a slot; `None` if the client has no slot left.
    pub fn acquire(&self, client: IpAddr) -> Option<ClientSlot> {
        self.slots_of(client).try_acquire_owned().ok()
    }
}

/// How many connections one client address may have. Clones share the count.
#[derive(Clone, Debug)]
pub struct AddressLimit {
    slots: ClientSlots,
    exempt: CidrSet,
}

/// An address has as many connections as it may have.
#[derive(Debug)]
pub(crate) struct AddressLimitReached {
    pub(crate) limit: u32,
}

impl AddressLimit {
    /// Allows at most `max` connections from one IPv4 address or IPv6 /64, and any number from `exempt`.
    pub fn new(max: u32, exempt: CidrSet) -> Self {
        Self {
            slots: ClientSlots::new(max),
            exempt,
        }
    }

    /// Takes a slot for one more connection of this address; `None` if the address is exempt.
    pub(crate) fn acquire(
        &self,
        address: IpAddr,
    ) -> Result<Option<ClientSlot>, AddressLimitReached> {
        if self.exempt.contains(address) {
            return Ok(None);
        }
        match self.slots.acquire(client_key(Some(address))) {
            Some(slot) => Ok(Some(slot)),
            None => Err(AddressLimitReached {
                limit: self.slots.max,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
