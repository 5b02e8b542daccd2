//! The client that a job is accounted to.

use std::net::IpAddr;

/// The client that a job is accounted to: waiting clients get equal shares of the engine, however
/// many jobs each has.
///
/// Opaque to the engine. The service derives it from a client's address and decides what one client
/// is, for example by masking IPv6 addresses to their /64. The default key is for the service's own
/// work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientKey(pub u128);

impl From<IpAddr> for ClientKey {
    fn from(address: IpAddr) -> Self {
        Self(match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => v6.to_bits(),
        })
    }
}
