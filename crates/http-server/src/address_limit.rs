//! How many connections one client address may have.

use crate::clients::{ClientSlot, ClientSlots, client_key};
use rolegate_program::cidr_set::CidrSet;
use std::net::IpAddr;

/// The limit and the open connections. Clones share both.
#[derive(Clone, Debug)]
pub struct AddressLimit {
    slots: ClientSlots,
    exempt: CidrSet,
}

/// One connection of an address; dropped with the connection.
#[derive(Debug)]
pub(crate) struct AddressPermit {
    /// `None` for exempt addresses.
    _slot: Option<ClientSlot>,
}

impl AddressLimit {
    /// At most `max` connections from one IPv4 address or IPv6 /64, and any number from `exempt`.
    #[must_use]
    pub fn new(max: u32, exempt: CidrSet) -> Self {
        Self { slots: ClientSlots::new(max), exempt }
    }

    /// Connections of one address.
    pub(crate) fn max(&self) -> u32 {
        self.slots.max()
    }

    /// `None` if the address has too many connections.
    pub(crate) fn acquire(&self, address: IpAddr) -> Option<AddressPermit> {
        if self.exempt.contains(address) {
            return Some(AddressPermit { _slot: None });
        }
        let slot = self.slots.acquire(client_key(Some(address)))?;
        Some(AddressPermit { _slot: Some(slot) })
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
}
