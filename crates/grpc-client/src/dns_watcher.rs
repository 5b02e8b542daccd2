//! Follows a DNS name, and runs a monitor for each replica that it resolves to.

use crate::{
    discovery::{Discover, ServiceInfo},
    failure_log::{self, ReplicaName},
    replica_monitor::ReplicaMonitor,
    replica_set::{ReplicaEntry, ReplicaSet},
};
use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

pub(crate) const RESOLVE_INTERVAL: Duration = Duration::from_secs(2);
/// The maximum time of a resolution. A resolver needs five seconds to fall back from a silent name server to
/// the next one, for each search domain. With a shorter timeout, no answer might ever arrive.
pub(crate) const RESOLVE_TIMEOUT: Duration = Duration::from_secs(30);

/// Keeps `set` current until this future is dropped. The function resolves the name at intervals, starts a
/// monitor for each new address, and removes the replicas of addresses that are no longer returned.
pub(crate) async fn watch(
    service: ServiceInfo,
    discovery: Arc<dyn Discover>,
    set: Arc<ReplicaSet>,
) {
    // Removing an entry from this map stops its monitor.
    let mut monitors: HashMap<SocketAddr, JoinSet<()>> = HashMap::new();
    loop {
        let resolution = timeout(RESOLVE_TIMEOUT, discovery.addresses()).await;
        let addresses = match resolution.unwrap_or_else(|elapsed| Err(elapsed.into())) {
            Ok(addresses) => addresses,
            // The known replicas stay, because name servers have outages.
            Err(error) => {
                tracing::debug!(%error, "resolving the name of {} failed", service.program);
                sleep(RESOLVE_INTERVAL).await;
                continue;
            }
        };
        set.change(|entries| {
            monitors.retain(|&address, monitor| {
                // A monitor ends only if it panics. The ended monitor is removed here, and the loop below
                // starts another one.
                let is_running = monitor.try_join_next().is_none();
                let is_current = is_running && addresses.contains(&address);
                if !is_current {
                    entries.remove(&address);
                    failure_log::forget(ReplicaName {
                        program: service.program,
                        address,
                    });
                }
                is_current
            });
            for address in addresses {
                monitors.entry(address).or_insert_with(|| {
                    let monitor = ReplicaMonitor::new(service, address, &discovery, &set);
                    let entry = ReplicaEntry {
                        state: None,
                        calls: Arc::clone(&monitor.calls),
                    };
                    entries.insert(address, entry);
                    JoinSet::from_iter([monitor.run()])
                });
            }
        });
        sleep(RESOLVE_INTERVAL).await;
    }
}
