//! Connects to each replica once, for `doctor`.

use crate::{
    discovery::{Discover as _, DnsTarget, InvalidAddress, ServiceInfo},
    replica::Monitor,
};
use rolegate_grpc_tls::ClientTls;
use std::time::Duration;
use tokio::time::timeout;

/// A name server that does not answer is a finding.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Resolves `address`, connects to each replica and asks for its health. One line for each: an error
/// has the reason in words.
pub(crate) async fn probe(
    service: ServiceInfo,
    address: &str,
    tls: Option<ClientTls>,
) -> Result<Vec<Result<String, String>>, InvalidAddress> {
    let target = DnsTarget::parse(service, address, tls.clone())?;
    let name = format!("{} at {address}", service.program);
    let resolved = timeout(RESOLVE_TIMEOUT, target.addresses()).await;
    let addresses = match resolved {
        Ok(Ok(addresses)) => addresses,
        Ok(Err(error)) => return Ok(vec![Err(format!("{name} is not found: {error}"))]),
        Err(_elapsed) => {
            let problem = format!("{name} is not found: the name server does not answer");
            return Ok(vec![Err(problem)]);
        }
    };
    let mut lines = Vec::new();
    for replica in addresses {
        let name = if address.contains(&replica.to_string()) {
            name.clone()
        } else {
            format!("{name} ({replica})")
        };
        let monitor = Monitor::new(service, replica, &target);
        lines.push(match monitor.ask_health().await {
            Ok(true) if tls.is_some() => {
                Ok(format!("{name} answers; its certificate is trusted and has this name"))
            }
            Ok(true) => Ok(format!("{name} answers")),
            Ok(false) => Err(format!(
                "{name} answers that it does not serve: it starts or stops, or its database fails"
            )),
            Err(problem) => Err(format!("{name} does not answer: {problem}")),
        });
    }
    Ok(lines)
}
