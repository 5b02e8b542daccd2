//! Connects to each replica once, for `doctor`.

use crate::{
    discovery::{Discover, ServiceInfo},
    replica::Monitor,
};
use rolegate_program::doctor::Doctor;
use std::time::Duration;
use tokio::time::timeout;

/// A name server that does not answer is a finding.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Resolves `url`, connects to each replica and asks for its health. One line for each.
pub(crate) async fn probe(
    doctor: &mut Doctor,
    step: &str,
    service: ServiceInfo,
    url: &str,
    target: &impl Discover,
) {
    let name = format!("{} at {url}", service.program);
    let addresses = match timeout(RESOLVE_TIMEOUT, target.addresses()).await {
        Ok(Ok(addresses)) => addresses,
        Ok(Err(error)) => return doctor.fail(step, format!("{name} is not found: {error}")),
        Err(_elapsed) => {
            let problem = "the name server does not answer";
            return doctor.fail(step, format!("{name} is not found: {problem}"));
        }
    };
    for replica in addresses {
        let is_named = url.contains(&replica.to_string());
        let name = if is_named { name.clone() } else { format!("{name} ({replica})") };
        match Monitor::new(service, replica, target).ask_health().await {
            Ok(true) if url.starts_with("https") => {
                doctor.ok(
                    step,
                    format!("{name} answers; its certificate is trusted and has this name"),
                );
            }
            Ok(true) => doctor.ok(step, format!("{name} answers")),
            Ok(false) => {
                let why = "it starts or stops, or its database fails";
                doctor.fail(step, format!("{name} answers that it does not serve: {why}"));
            }
            Err(problem) => doctor.fail(step, format!("{name} does not answer: {problem}")),
        }
    }
}
