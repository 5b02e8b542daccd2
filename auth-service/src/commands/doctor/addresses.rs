//! The addresses: free, or served by an auth-service that runs already.

use super::{Finding, good, wrong};
use crate::settings::Settings;
use service_runtime::healthcheck;
use std::{io::ErrorKind, net::SocketAddr};
use tokio::net::TcpListener;

const SUBJECT: &str = "addresses";

pub(super) async fn check(settings: &Settings) -> Vec<Finding> {
    let ops = settings.ops_listen_addr;
    let running = match healthcheck::is_ready(ops).await {
        Ok(is_ready) if ops.port() != 0 => Some(is_ready),
        _ => None,
    };
    let grpc = address("AUTH_LISTEN_ADDR", settings.service.auth_listen_addr, running).await;
    let ops = address("OPS_LISTEN_ADDR", ops, running).await;
    let same = settings.service.auth_listen_addr == settings.ops_listen_addr
        && settings.ops_listen_addr.port() != 0;
    let same = same.then(|| wrong(SUBJECT, "AUTH_LISTEN_ADDR and OPS_LISTEN_ADDR are the same"));
    [grpc, ops].into_iter().chain(same).collect()
}

/// `running`: what `/readyz` says on the ops address, if anybody answers there.
async fn address(name: &str, address: SocketAddr, running: Option<bool>) -> Finding {
    let place = format!("{name} {address}");
    match TcpListener::bind(address).await {
        Ok(_free_again) => good(SUBJECT, format!("{place} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => match running {
            Some(true) => good(SUBJECT, format!("{place} is served; OPS_LISTEN_ADDR says ready")),
            Some(false) => {
                wrong(SUBJECT, format!("{place} is served; OPS_LISTEN_ADDR says not ready"))
            }
            None => wrong(SUBJECT, format!("{place} is taken by another program")),
        },
        Err(error) => wrong(SUBJECT, format!("{place} cannot be listened on: {error}")),
    }
}
