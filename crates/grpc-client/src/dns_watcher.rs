//! Follows a DNS name: one monitor for each replica that it resolves to.

use crate::{
    cause,
    discovery::{Discover, ServiceInfo},
    replica::Monitor,
    replica_set::ReplicaSet,
};
use std::{collections::HashMap, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

pub(crate) const RESOLVE_INTERVAL: Duration = Duration::from_secs(2);
/// A resolver takes five seconds to fall back from a silent name server to the next, for each search
/// domain; a shorter timeout might never see an answer.
pub(crate) const RESOLVE_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn run(service: ServiceInfo, discovery: Arc<dyn Discover>, set: Arc<ReplicaSet>) {
    // The monitors, which end when they are dropped.
    let mut running: HashMap<SocketAddr, JoinSet<()>> = HashMap::new();
    loop {
        let resolved = timeout(RESOLVE_TIMEOUT, discovery.addresses()).await;
        let addresses = resolved.unwrap_or_else(|elapsed| Err(io::Error::from(elapsed)));
        set.change(|states| match addresses {
            Ok(addresses) => {
                // A monitor that ended has panicked; another one starts.
                running.retain(|address, monitor| {
                    let is_current =
                        addresses.contains(address) && monitor.try_join_next().is_none();
                    if !is_current {
                        states.remove(address);
                        cause::forget((service.program, *address));
                    }
                    is_current
                });
                for address in addresses {
                    running.entry(address).or_insert_with(|| {
                        let monitor = Monitor::new(service, address, &discovery, &set);
                        states.insert(address, (None, Arc::clone(&monitor.calls)));
                        JoinSet::from_iter([monitor.run()])
                    });
                }
            }
            // Known replicas stay: name servers have outages.
            Err(error) => {
                tracing::debug!(%error, "resolving the name of {} failed", service.program);
            }
        });
        sleep(RESOLVE_INTERVAL).await;
    }
}
