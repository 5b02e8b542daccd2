//! Connects to each replica once, for `doctor`.

use crate::{
    cause::ConnectError,
    discovery::{Discover, ServiceInfo},
    replica::{HEALTH_TIMEOUT, Monitor},
};
use rolegate_grpc_tls::tls_problem;
use rolegate_program::doctor::Doctor;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{io::AsyncReadExt as _, time::timeout};
use tonic_health::pb::health_check_response::ServingStatus;

/// A name server that does not answer is a finding.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections that break, such as those to a replica that restarts.
const ATTEMPTS: u32 = 3;

/// Resolves `url`, connects to each replica and asks for its health. One line for each.
pub(crate) async fn probe(
    doctor: &mut Doctor,
    step: &str,
    service: ServiceInfo,
    url: &str,
    target: Arc<dyn Discover>,
) {
    let name = format!("{} at {url}", service.program);
    let resolved = timeout(RESOLVE_TIMEOUT, target.addresses()).await;
    let silent = |_elapsed| Err(io::Error::other("the name server does not answer"));
    let addresses = match resolved.unwrap_or_else(silent) {
        Ok(addresses) => addresses,
        Err(error) => return doctor.fail(step, format!("{name} is not found: {error}")),
    };
    for replica in addresses {
        let is_named = url.contains(&replica.to_string());
        let name = if is_named {
            name.clone()
        } else {
            format!("{name} ({replica})")
        };
        match ask_health(service, replica, &target).await {
            Ok(true) if url.starts_with("https") => {
                doctor.ok(
                    step,
                    format!("{name} answers; its certificate is trusted and has this name"),
                );
            }
            Ok(true) => doctor.ok(step, format!("{name} answers")),
            Ok(false) => {
                let why = "it starts or stops, or its database fails";
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
    replica: SocketAddr,
    target: &Arc<dyn Discover>,
) -> Result<bool, String> {
    let monitor = Monitor::new(service, replica, target, &Arc::default());
    let is_encrypted = monitor.is_encrypted();
    let mut attempts = ATTEMPTS;
    let error = loop {
        attempts -= 1;
        match timeout(HEALTH_TIMEOUT, monitor.connect()).await {
            Ok(Ok((_connection, (status, _)))) => {
                return Ok(status.status == ServingStatus::Serving as i32);
            }
            Ok(Err(error @ ConnectError::Stream(_))) => return Err(error.describe(is_encrypted)),
            Ok(Err(error)) if attempts == 0 => break error,
            Ok(Err(_)) => {}
            Err(_elapsed) => return Err(io::ErrorKind::TimedOut.to_string()),
        }
    };
    if !is_encrypted {
        return Err(error.describe(is_encrypted));
    }
    // A server refuses a certificate after the handshake of its client. Where a write fails before the
    // alert is read, HTTP/2 knows only that; a stream that never writes receives the alert.
    let read = async { target.connect(replica).await?.read_u8().await };
    let explained = match timeout(HEALTH_TIMEOUT, read).await {
        Ok(Err(alert)) if tls_problem(&alert).is_some() => ConnectError::Stream(alert),
        _ => error,
    };
    Err(explained.describe(is_encrypted))
}
