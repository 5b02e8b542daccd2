//! The client address and the deadline of a request.

use std::{
    net::{IpAddr, Ipv6Addr},
    time::Instant,
};

/// The client address and the deadline of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestOrigin {
    /// The address of the end user, if known.
    pub client_address: Option<IpAddr>,
    /// When the caller stops waiting.
    pub deadline: Instant,
}

impl RequestOrigin {
    /// Identifies the client to rate limits and the fairness of the password engine: an IPv4
    /// address, or an IPv6 /64, which is commonly one subscriber. Unknown addresses are one client.
    #[must_use]
    pub fn client_key(&self) -> IpAddr {
        match self.client_address.unwrap_or(Ipv6Addr::UNSPECIFIED.into()).to_canonical() {
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
            v4 @ IpAddr::V4(_) => v4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RequestOrigin;
    use std::{net::IpAddr, time::Instant};

    fn client(address: &str) -> IpAddr {
        let client_address = Some(address.parse().expect("an address"));
        RequestOrigin { client_address, deadline: Instant::now() }.client_key()
    }

    #[test]
    fn client_key_is_an_ipv4_address_or_an_ipv6_64() {
        assert_eq!(client("192.0.2.1"), client("::ffff:192.0.2.1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
    }
}
