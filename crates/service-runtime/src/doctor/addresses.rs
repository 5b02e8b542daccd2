//! The addresses: free, or served by the program that runs already.

use super::Check;
use crate::healthcheck;
use std::{io::ErrorKind, net::SocketAddr};
use tokio::net::TcpListener;

const SUBJECT: &str = "addresses";

/// Whether a service can listen on the address that the setting `grpc.0` gives, and on its
/// `OPS_LISTEN_ADDR`.
pub async fn addresses(grpc: (&str, SocketAddr), ops: SocketAddr) -> Vec<Check> {
    let (name, grpc) = grpc;
    let running = match healthcheck::is_ready(ops).await {
        Ok(is_ready) if ops.port() != 0 => Some(is_ready),
        _ => None,
    };
    let same = (grpc == ops && ops.port() != 0)
        .then(|| Check::failed(SUBJECT, format!("{name} and OPS_LISTEN_ADDR are the same")));
    let grpc = address(name, grpc, running).await;
    let ops = address("OPS_LISTEN_ADDR", ops, running).await;
    [grpc, ops].into_iter().chain(same).collect()
}

/// `running`: what `/readyz` says on the ops address, if anybody answers there.
async fn address(name: &str, address: SocketAddr, running: Option<bool>) -> Check {
    let place = format!("{name} {address}");
    match TcpListener::bind(address).await {
        Ok(_free_again) => Check::ok(SUBJECT, format!("{place} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => match running {
            Some(true) => {
                Check::ok(SUBJECT, format!("{place} is served; OPS_LISTEN_ADDR says ready"))
            }
            Some(false) => {
                Check::failed(SUBJECT, format!("{place} is served; OPS_LISTEN_ADDR says not ready"))
            }
            None => Check::failed(SUBJECT, format!("{place} is taken by another program")),
        },
        Err(error) => Check::failed(SUBJECT, format!("{place} cannot be listened on: {error}")),
    }
}
