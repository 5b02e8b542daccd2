//! Defines which addresses count as one client, and limits the slots that one client may hold at a time.

use parking_lot::Mutex;
use rolegate_program::cidr_set::CidrSet;
use std::{
    collections::HashMap,
    hash::Hash,
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The minimum number of clients at which the table of [`ClientSlots`] removes clients without a slot.
const MIN_CLIENTS: usize = 1024;

/// The maximum number of logins that one client may have in progress, at the gateway and at auth-service.
///
/// The limit is greater than the number of bcrypt lanes on most machines, and is less than a second of work for two
/// cores.
pub const MAX_LOGINS_PER_CLIENT: u32 = 32;

/// Returns the client that an address belongs to: the IPv4 address itself, or the first address of the IPv6 /64.
///
/// A /64 is commonly one subscriber. All clients whose address is unknown count as one client.
pub fn client_key(address: Option<IpAddr>) -> IpAddr {
    let address = address.unwrap_or(Ipv6Addr::UNSPECIFIED.into());
    match address.to_canonical() {
        IpAddr::V6(v6) => network(v6, 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Returns the first address of the network that contains `address` and whose prefix has this length, in bits.
pub fn network(address: Ipv6Addr, prefix: u32) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - prefix.min(128)).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & mask)
}

/// A network of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    /// The first address of the network.
    pub address: IpAddr,
    /// The length of the network's prefix in bits.
    pub prefix: u8,
}

/// A network that contains a client, and the limit for that network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkShare {
    /// The network itself.
    pub network: Network,
    /// The limit for all clients of the network together, as a multiple of the limit for one client.
    pub factor: u32,
}

/// Returns the networks in which a client's actions are counted, the smallest first.
///
/// A subscriber with an IPv6 /64 often has a whole /56 or /48, so the limits of these are only two and four times as
/// high.
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

/// A slot of a client. The slot becomes free when this value is dropped.
pub type ClientSlot = OwnedSemaphorePermit;

/// Limits the slots that each client holds at a time, for example for connections or logins. Clones share the slots.
///
/// `K` tells clients apart. It is an address unless callers know their clients better, for example by the id of a user.
#[derive(Clone, Debug)]
pub struct ClientSlots<K = IpAddr> {
    max: u32,
    clients: Arc<Mutex<Clients<K>>>,
}

#[derive(Debug)]
struct Clients<K> {
    slots: HashMap<K, Arc<Semaphore>>,
    /// The number of clients at which the table next removes clients without a slot.
    limit: usize,
}

impl<K: Eq + Hash> ClientSlots<K> {
    /// Limits each client to `max` slots.
    pub fn new(max: u32) -> Self {
        let clients = Clients {
            slots: HashMap::new(),
            limit: MIN_CLIENTS,
        };
        Self {
            max,
            clients: Arc::new(Mutex::new(clients)),
        }
    }

    /// Returns the semaphore of this client. Its permits are the free slots.
    pub fn slots_of(&self, client: K) -> Arc<Semaphore> {
        let mut clients = self.clients.lock();
        if clients.slots.len() >= clients.limit {
            clients
                .slots
                .retain(|_, slots| Arc::strong_count(slots) > 1);
            clients.limit = MIN_CLIENTS.max(clients.slots.len() * 2);
        }
        let slots = clients
            .slots
            .entry(client)
            .or_insert_with(|| Arc::new(Semaphore::new(self.max as usize)));
        Arc::clone(slots)
    }

    /// Takes a slot. Returns `None` if the client has no slot left.
    pub fn acquire(&self, client: K) -> Option<ClientSlot> {
        self.slots_of(client).try_acquire_owned().ok()
    }
}

/// Limits the number of connections from each client address. Clones share the count.
#[derive(Clone, Debug)]
pub struct AddressLimit {
    slots: ClientSlots,
    exempt: CidrSet,
}

/// The error if an address already has `limit` connections, the maximum.
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

    /// Takes a slot for one more connection of this address. An exempt address needs no slot, and gets `None`. Fails if
    /// the address has no slot left.
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
