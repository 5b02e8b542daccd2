//! Sets of networks, such as those of trusted proxies.

use ipnet::IpNet;
use std::{
    net::{AddrParseError, IpAddr},
    str::FromStr,
};

/// A set of networks, parsed from CIDRs or addresses separated by commas. Empty text and `none` are the empty set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CidrSet(Vec<IpNet>);

impl CidrSet {
    /// Whether a network contains the address. An IPv4-mapped IPv6 address (`::ffff:10.0.0.1`, as
    /// dual-stack sockets report) counts as the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }
}

impl FromStr for CidrSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::default());
        }
        let parts = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let networks = parts.map(|part| part.parse().or_else(|_| part.parse().map(IpAddr::into)));
        networks
            .collect::<Result<_, _>>()
            .map(Self)
            .map_err(|_: AddrParseError| {
                "must be CIDRs separated by commas, such as 10.0.0.0/8,fd00::/8".to_owned()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::CidrSet;
    use std::net::IpAddr;

    fn networks(text: &str) -> CidrSet {
        text.parse().expect("valid networks")
    }

    #[test]
    fn cidrs_and_addresses_are_matched() {
        let networks = networks("10.0.0.0/8, 192.0.2.7,fd00::/8");
        for inside in ["10.1.2.3", "::ffff:10.1.2.3", "192.0.2.7", "fd12::1"] {
            assert!(
                networks.contains(inside.parse::<IpAddr>().expect("an address")),
                "{inside}"
            );
        }
        for outside in ["11.0.0.1", "192.0.2.8", "fe80::1"] {
            assert!(
                !networks.contains(outside.parse::<IpAddr>().expect("an address")),
                "{outside}"
            );
        }
    }

    #[test]
    fn loopback_contains_both_families() {
        let loopback = networks("127.0.0.0/8,::1/128");
        for inside in ["127.0.0.1", "127.9.9.9", "::1"] {
            assert!(
                loopback.contains(inside.parse().expect("an address")),
                "{inside}"
            );
        }
        assert!(!loopback.contains("10.0.0.1".parse().expect("an address")));
    }

    #[test]
    fn empty_text_is_empty_and_invalid_text_is_rejected() {
        for nothing in ["", "none"] {
            let networks = networks(nothing);
            assert!(!networks.contains("127.0.0.1".parse().expect("an address")));
        }
        for text in [
            "localhost",
            "10.0.0.0/33",
            "10.0.0",
            "*",
            "None",
            "none,10.0.0.0/8",
        ] {
            assert!(text.parse::<CidrSet>().is_err(), "{text}");
        }
    }
}
