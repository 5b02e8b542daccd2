//! A set of networks, such as those of trusted proxies.

use ipnet::{IpNet, Ipv4Net};
use std::{net::IpAddr, str::FromStr};

/// The number of bits of an IPv4-mapped IPv6 address that precede the IPv4 address.
const MAPPED_PREFIX: u8 = 96;

/// A set of networks, parsed from CIDRs or addresses separated by commas. Empty text and `none` mean the empty set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CidrSet(Vec<IpNet>);

impl CidrSet {
    /// Returns `true` if a network contains the address.
    ///
    /// An IPv4-mapped IPv6 address, such as `::ffff:10.0.0.1` of a dual-stack socket, counts as the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Returns `true` if the networks together contain every IPv4 address or every IPv6 address.
    pub fn contains_everybody(&self) -> bool {
        let networks = IpNet::aggregate(&self.0);
        networks.iter().any(|network| network.prefix_len() == 0)
    }
}

impl FromStr for CidrSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::default());
        }
        text.split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(parse_network)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Parses a CIDR or an address. Refuses one that can never contain the address of a peer.
fn parse_network(text: &str) -> Result<IpNet, String> {
    let network: IpNet = text
        .parse()
        .or_else(|_| text.parse().map(IpAddr::into))
        .map_err(|_| "must be CIDRs separated by commas, such as 10.0.0.0/8,fd00::/8".to_owned())?;
    if let Some(instead) = unmapped(network) {
        return Err(format!(
            "has {text}, which would never match, because IPv4 peers are compared as IPv4; write {instead}"
        ));
    }
    if network.addr().is_unspecified() && network.prefix_len() == network.max_prefix_len() {
        return Err(format!(
            "has {text}, which is the address of no peer; write a network such as 10.0.0.0/8"
        ));
    }
    if network.trunc().addr().is_multicast() {
        return Err(format!(
            "has {text}, which is a multicast network, so it would never match; write the network of the callers"
        ));
    }
    Ok(network)
}

/// Returns the IPv4 network that a network of IPv4-mapped IPv6 addresses stands for, or `None` for any other network.
pub(crate) fn unmapped(network: IpNet) -> Option<IpNet> {
    let IpNet::V6(mapped) = network else {
        return None;
    };
    let address = mapped.addr().to_ipv4_mapped()?;
    let prefix = mapped.prefix_len().saturating_sub(MAPPED_PREFIX);
    let network = Ipv4Net::new(address, prefix).ok()?;
    Some(network.trunc().into())
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
    fn network_that_can_contain_no_peer_is_rejected_with_what_to_write() {
        for (wrong, right) in [
            ("::ffff:127.0.0.0/104", "write 127.0.0.0/8"),
            ("::ffff:10.1.2.3", "write 10.1.2.3/32"),
            ("::ffff:a00:0/104", "write 10.0.0.0/8"),
            ("::ffff:0:0/96", "write 0.0.0.0/0"),
            ("::ffff:127.0.0.1/8", "write 0.0.0.0/0"),
            ("10.0.0.0/8, ::ffff:192.168.0.0/112", "write 192.168.0.0/16"),
            ("0.0.0.0", "write a network such as"),
            ("::", "write a network such as"),
            ("0.0.0.0/32,127.0.0.1", "write a network such as"),
            ("224.0.0.0/4", "write the network of the callers"),
            ("ff02::1", "write the network of the callers"),
        ] {
            let problem = wrong.parse::<CidrSet>().expect_err(wrong);
            assert!(problem.contains(right), "{wrong}: {problem}");
        }
    }

    #[test]
    fn everybody_is_every_address_of_a_family_also_in_parts() {
        for all in [
            "0.0.0.0/0",
            "::/0",
            "10.0.0.0/8,::/0",
            "0.0.0.0/1,128.0.0.0/1",
            "::/1, 8000::/2, c000::/2",
        ] {
            assert!(networks(all).contains_everybody(), "{all}");
        }
        for some in [
            "",
            "none",
            "0.0.0.0/1",
            "127.0.0.0/8,::1/128",
            "::/1,0.0.0.0/1",
        ] {
            assert!(!networks(some).contains_everybody(), "{some}");
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
