//! What one client is, and how much work it may have in progress.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Logins that one client may have in progress, at the gateway and at auth-service. More than the lanes
/// of most machines, and less than a second of work for two cores.
pub const MAX_LOGINS_PER_CLIENT: u32 = 32;

/// The client with this address: an IPv4 address, or an IPv6 /64, which is commonly one subscriber.
/// Clients with an unknown address are one client.
#[must_use]
pub fn client_key(address: Option<IpAddr>) -> IpAddr {
    match address.unwrap_or(Ipv6Addr::UNSPECIFIED.into()).to_canonical() {
        IpAddr::V6(v6) => network(v6, 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The network of this prefix length that an address is in.
#[must_use]
pub fn network(address: Ipv6Addr, prefix: u32) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - prefix.min(128)).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & mask)
}

/// Bounds the work that each client has in progress. Clones share the counts.
#[derive(Clone, Debug)]
pub struct ClientSlots {
    max: u32,
    in_use: Arc<Mutex<HashMap<IpAddr, u32>>>,
}

/// One piece of work in progress, until dropped.
#[derive(Debug)]
pub struct ClientSlot {
    client: IpAddr,
    in_use: Arc<Mutex<HashMap<IpAddr, u32>>>,
}

impl ClientSlots {
    /// Allows each client `max` pieces of work at a time.
    #[must_use]
    pub fn new(max: u32) -> Self {
        Self { max, in_use: Arc::default() }
    }

    /// Pieces of work of one client.
    pub(crate) fn max(&self) -> u32 {
        self.max
    }

    /// Takes a slot; `None` if the client has no slot left.
    #[must_use]
    pub fn acquire(&self, client: IpAddr) -> Option<ClientSlot> {
        let mut in_use = lock(&self.in_use);
        let count = in_use.entry(client).or_default();
        (*count < self.max).then(|| {
            *count += 1;
            ClientSlot { client, in_use: Arc::clone(&self.in_use) }
        })
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        let mut in_use = lock(&self.in_use);
        if let Some(count) = in_use.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                in_use.remove(&self.client);
            }
        }
    }
}

fn lock(in_use: &Mutex<HashMap<IpAddr, u32>>) -> MutexGuard<'_, HashMap<IpAddr, u32>> {
    in_use.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{ClientSlots, client_key, lock};
    use std::net::IpAddr;

    fn client(address: &str) -> IpAddr {
        client_key(Some(address.parse().expect("an address")))
    }

    #[test]
    fn a_client_is_an_ipv4_address_or_an_ipv6_64() {
        assert_eq!(client("192.0.2.1"), client("::ffff:192.0.2.1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client_key(None), client("::"));
    }

    #[test]
    fn a_client_has_so_many_slots_and_takes_none_of_another() {
        let slots = ClientSlots::new(2);
        let (ann, bob) = (client("192.0.2.1"), client("192.0.2.2"));
        let held = [slots.acquire(ann), slots.acquire(ann)];
        assert!(held.iter().all(Option::is_some));
        assert!(slots.acquire(ann).is_none());
        assert!(slots.acquire(bob).is_some());
        drop(held);
        assert!(slots.acquire(ann).is_some());
        assert!(lock(&slots.in_use).is_empty(), "clients without work are forgotten");
    }
}
