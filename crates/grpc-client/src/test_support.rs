//! Stands in for the network in a simulation. This module is compiled only with `--cfg simulation`.

pub(crate) use turmoil::net::TcpStream;

use std::{io, net::SocketAddr};

/// Returns the addresses of the simulated replicas: the hosts `auth-1`, `auth-2` and so on are the replicas
/// of `auth`.
#[expect(clippy::unused_async, reason = "it stands in for that of tokio")]
pub(crate) async fn lookup_host(
    (host, port): (&str, u16),
) -> io::Result<impl Iterator<Item = SocketAddr>> {
    let name = regex::Regex::new(&format!("^{host}(-[0-9]+)?$")).map_err(io::Error::other)?;
    let addresses = turmoil::lookup_many(name);
    Ok(addresses
        .into_iter()
        .map(move |address| SocketAddr::new(address, port)))
}
