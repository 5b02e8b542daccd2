//! The networks that a client is in.

use rolegate_http_server::clients::network;
use std::net::IpAddr;

/// An address and the length of its prefix.
pub(super) type Network = (IpAddr, u8);

/// The networks that attempts of a client count for, with the multiple of the limit that each allows.
/// A subscriber with an IPv6 /64 often has a /56 or a /48, so those allow little more than a /64 does.
pub(super) fn networks(client: IpAddr) -> impl Iterator<Item = (Network, u32)> {
    let prefixes: &[(u8, u32)] = match client {
        IpAddr::V4(_) => &[(32, 1)],
        IpAddr::V6(_) => &[(64, 1), (56, 2), (48, 4)],
    };
    prefixes.iter().map(move |&(prefix, factor)| match client {
        IpAddr::V4(_) => ((client, prefix), factor),
        IpAddr::V6(v6) => ((network(v6, prefix.into()).into(), prefix), factor),
    })
}
