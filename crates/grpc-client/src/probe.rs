//! Checks the connection to each replica, for the command `doctor`.

use crate::{
    connect_error::ConnectError,
    discovery::{Discover, ServiceInfo},
    replica_monitor::{HEALTH_TIMEOUT, ReplicaMonitor},
};
use rolegate_grpc_tls::tls_problem;
use rolegate_program::doctor::Doctor;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{io::AsyncReadExt as _, time::timeout};
use tonic_health::pb::health_check_response::ServingStatus;

/// The maximum time of a resolution. It is shorter than in a running program, because `doctor` should report a
/// name server that does not answer.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of attempts to connect to a replica. A connection may break because the replica is
/// restarting, so one attempt is not enough.
const MAX_ATTEMPTS: u32 = 3;

/// Resolves the addresses of `target`, connects to each replica, and reports the health to `doctor` in one line
/// for each replica. `url` names the service in these lines. A failed resolution is reported, too.
pub(crate) async fn probe(
    doctor: &mut Doctor,
    step: &str,
    service: ServiceInfo,
    url: &str,
    target: Arc<dyn Discover>,
) {
    let name = format!("{} at {url}", service.program);
    let resolution = timeout(RESOLVE_TIMEOUT, target.addresses()).await;
    let silent = |_elapsed| Err(io::Error::other("the name server does not answer"));
    let addresses = match resolution.unwrap_or_else(silent) {
        Ok(addresses) => addresses,
        Err(error) => return doctor.fail(step, format!("{name} is not found: {error}")),
    };
    for address in addresses {
        let is_in_url = url.contains(&address.to_string());
        let name = if is_in_url {
            name.clone()
        } else {
            format!("{name} ({address})")
        };
        match ask_health(service, address, &target).await {
            Ok(ServingStatus::Serving) if url.starts_with("https") => doctor.ok(
                step,
                format!("{name} answers; its certificate is trusted and has this name"),
            ),
            Ok(ServingStatus::Serving) => doctor.ok(step, format!("{name} answers")),
            Ok(_) => {
                let why = "it is starting or stopping, or its database fails";
                doctor.fail(
                    step,
                    format!("{name} answers that it does not serve: {why}"),
                );
            }
            Err(problem) => doctor.fail(step, format!("{name} does not answer: {problem}")),
        }
    }
}

async fn ask_health(
    service: ServiceInfo,
    address: SocketAddr,
    target: &Arc<dyn Discover>,
) -> Result<ServingStatus, String> {
    let monitor = ReplicaMonitor::new(service, address, target, &Arc::default());
    let is_encrypted = monitor.is_encrypted();
    let mut attempts = 0;
    let error = loop {
        attempts += 1;
        match timeout(HEALTH_TIMEOUT, monitor.connect()).await {
            Ok(Ok(connected)) => return Ok(connected.health.status.status()),
            Ok(Err(error @ ConnectError::Stream(_))) => return Err(error.describe(is_encrypted)),
            Ok(Err(error)) if attempts == MAX_ATTEMPTS => break error,
            Ok(Err(_)) => {}
            Err(_elapsed) => return Err(io::ErrorKind::TimedOut.to_string()),
        }
    };
    if is_encrypted && let Some(alert) = receive_tls_alert(address, target).await {
        return Err(ConnectError::Stream(alert).describe(is_encrypted));
    }
    Err(error.describe(is_encrypted))
}

/// Returns the alert by which a server refuses a client's certificate after the client has finished its
/// handshake; `None` if no alert arrives in time. The HTTP/2 client may miss the alert: if a write fails first,
/// the client reports only the failed write. So this function opens another stream and never writes to it.
async fn receive_tls_alert(address: SocketAddr, target: &Arc<dyn Discover>) -> Option<io::Error> {
    let read = async { target.connect(address).await?.read_u8().await };
    match timeout(HEALTH_TIMEOUT, read).await {
        Ok(Err(alert)) if tls_problem(&alert).is_some() => Some(alert),
        _ => None,
    }
}
