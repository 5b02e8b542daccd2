//! How many connections one client address may have.

use crate::{cidr_set::CidrSet, clients::client_key};
use std::{
    collections::{HashMap, hash_map},
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

/// The limit and the open connections. Clones share both.
#[derive(Clone, Debug)]
pub struct AddressLimit {
    /// Connections of one IPv4 address or IPv6 /64.
    pub(crate) max: usize,
    exempt: CidrSet,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One connection of an address; dropped with the connection.
#[derive(Debug)]
pub(crate) struct AddressPermit {
    limit: AddressLimit,
    /// `None` for exempt addresses.
    key: Option<IpAddr>,
}

impl AddressLimit {
    /// At most `max` connections from one IPv4 address or IPv6 /64, and any number from `exempt`.
    #[must_use]
    pub fn new(max: usize, exempt: CidrSet) -> Self {
        Self { max, exempt, open: Arc::default() }
    }

    /// `None` if the address has too many connections.
    pub(crate) fn acquire(&self, address: IpAddr) -> Option<AddressPermit> {
        if self.exempt.contains(address) {
            return Some(AddressPermit { limit: self.clone(), key: None });
        }
        let key = client_key(Some(address));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(key).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        Some(AddressPermit { limit: self.clone(), key: Some(key) })
    }
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        let mut open = self.limit.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let hash_map::Entry::Occupied(mut count) = open.entry(key) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AddressLimit;
    use std::net::IpAddr;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn an_address_at_its_limit_gets_a_connection_when_one_ends() {
        let limit = AddressLimit::new(2, "10.0.0.0/8".parse().expect("a network"));
        let stranger = address("192.0.2.1");
        let first = limit.acquire(stranger).expect("the first");
        let _second = limit.acquire(address("::ffff:192.0.2.1")).expect("the second");
        assert!(limit.acquire(stranger).is_none());
        let _other = limit.acquire(address("192.0.2.2")).expect("another address");
        drop(first);
        let third = limit.acquire(stranger).expect("one has ended");
        drop(third);
        let exempt: Vec<_> = (0..5).map(|_| limit.acquire(address("10.1.2.3"))).collect();
        assert!(exempt.iter().all(Option::is_some), "a proxy has any number");
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_the_limit() {
        let limit = AddressLimit::new(1, "".parse().expect("no networks"));
        let _first = limit.acquire(address("2001:db8:1:2::1")).expect("the first");
        assert!(limit.acquire(address("2001:db8:1:2:ffff::2")).is_none());
        assert!(limit.acquire(address("2001:db8:1:3::1")).is_some());
    }

    #[test]
    fn ended_connections_leave_no_entry() {
        let limit = AddressLimit::new(1, "".parse().expect("no networks"));
        drop(limit.acquire(address("192.0.2.1")));
        assert!(limit.open.lock().expect("not poisoned").is_empty());
    }
}
