//! On whose account work is done.

use std::net::IpAddr;

/// On whose account a job waits: those who wait get equal parts of the engine for each share,
/// however many jobs each has.
///
/// Opaque here. A service makes it of a client's address and decides what one client is: that IPv6
/// clients own a /64 is for the caller to mask. The default share is for work of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(pub u128);

impl From<IpAddr> for Share {
    fn from(address: IpAddr) -> Self {
        Self(match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => v6.to_bits(),
        })
    }
}
