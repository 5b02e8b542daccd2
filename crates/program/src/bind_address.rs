//! An address to listen on, for which an operator may give only the network.

use crate::{cidr_set::unmapped, settings::SettingError};
use ipnet::IpNet;
use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
};

/// The address on which a program listens: `ip:port`, or `network:port` for the address that this host has in that
/// network.
///
/// The network is for containers, whose address is assigned only when they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindAddress {
    /// An address and a port.
    Address(SocketAddr),
    /// A network, and a port on the address that this host has in it.
    InNetwork(IpNet, u16),
}

/// Parses `ip:port` or `network:port`, as a `value_parser` of clap. The error shows `PORT` in its examples.
pub fn bind_address<const PORT: u16>(text: &str) -> Result<BindAddress, String> {
    if let Ok(address) = text.parse() {
        return Ok(BindAddress::Address(address));
    }
    let Some((network, port)) = parse_network_and_port(text) else {
        return Err(format!(
            "must be an IP address and port such as 127.0.0.1:{PORT}, or a network and port such as \
             10.0.0.0/8:{PORT}"
        ));
    };
    if let Some(ipv4_network) = unmapped(network) {
        return Err(format!(
            "must be an IPv4 network; write {ipv4_network}:{port}"
        ));
    }
    Ok(BindAddress::InNetwork(network, port))
}

fn parse_network_and_port(text: &str) -> Option<(IpNet, u16)> {
    let (network, port) = text.rsplit_once(':')?;
    Some((network.parse().ok()?, port.parse().ok()?))
}

impl From<SocketAddr> for BindAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

impl BindAddress {
    /// Returns the address to bind. If this host has no address in the network, the error names the setting
    /// `variable`.
    pub fn resolve(self, variable: &str) -> Result<SocketAddr, SettingError> {
        match self {
            Self::Address(address) => Ok(address),
            Self::InNetwork(network, port) => match source_address(network) {
                Some(source) if network.contains(&source) => Ok(SocketAddr::new(source, port)),
                _ => {
                    let problem = format!("this host has no address in {network}");
                    Err(SettingError::new(variable, problem).transient())
                }
            },
        }
    }
}

/// Returns the address from which this host sends packets to the network. Connecting a UDP socket finds it without
/// sending anything.
fn source_address(network: IpNet) -> Option<IpAddr> {
    let unspecified = match network {
        IpNet::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        IpNet::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let discard = SocketAddr::new(network.hosts().next()?, 9);
    let socket = UdpSocket::bind(unspecified).ok()?;
    socket.connect(discard).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

impl fmt::Display for BindAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(formatter),
            Self::InNetwork(network, port) => write!(formatter, "{network}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BindAddress, bind_address};

    fn parse(text: &str) -> Result<BindAddress, String> {
        bind_address::<50051>(text)
    }

    fn resolve(text: &str) -> Result<String, String> {
        let address = parse(text).expect(text).resolve("AUTH_LISTEN_ADDR");
        address
            .map(|address| address.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn address_is_taken_as_it_is() {
        for text in ["0.0.0.0:50051", "127.0.0.1:0", "[::]:50051", "192.0.2.1:1"] {
            assert_eq!(resolve(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn network_becomes_the_address_of_this_host_in_it() {
        assert_eq!(
            resolve("127.0.0.0/8:50051").as_deref(),
            Ok("127.0.0.1:50051")
        );
        assert_eq!(resolve("127.0.0.1/32:0").as_deref(), Ok("127.0.0.1:0"));
    }

    #[test]
    fn network_without_an_address_of_this_host_is_an_error() {
        // Documentation addresses (RFC 5737, RFC 3849) belong to no host.
        for network in ["203.0.113.0/24", "203.0.113.7/32", "2001:db8::/32"] {
            let error = format!("AUTH_LISTEN_ADDR: this host has no address in {network}");
            assert_eq!(resolve(&format!("{network}:50051")), Err(error));
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        let texts = [
            "",
            "127.0.0.1",
            "localhost:50051",
            "10.0.0.0/8",
            "10.0.0.0/33:50051",
        ];
        for text in texts
            .into_iter()
            .chain(["10.0.0.0/8:70000", "/8:50051", "10.0.0.0/8:"])
        {
            let error = parse(text).expect_err(text);
            assert!(
                error.starts_with("must be an IP address and port"),
                "{text}: {error}"
            );
        }
    }
}
