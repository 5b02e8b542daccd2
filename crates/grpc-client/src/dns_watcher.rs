//! Follows a DNS name: one monitor for each replica that it resolves to.

use crate::{
    cause,
    discovery::{Discover, ServiceInfo},
    replica::{Calls, Monitor},
    replica_set::ReplicaSet,
};
use std::{collections::HashMap, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};

pub(crate) const RESOLVE_INTERVAL: Duration = Duration::from_secs(2);
/// A resolver takes five seconds to fall back from a silent name server to the next, for each search
/// domain; a shorter timeout might never see an answer.
pub(crate) const RESOLVE_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn run(service: ServiceInfo, discovery: impl Discover, set: Arc<ReplicaSet>) {
    // Owns the monitors, which end with this task.
    let mut monitors: JoinSet<()> = JoinSet::new();
    let mut running: HashMap<SocketAddr, AbortHandle> = HashMap::new();
    loop {
        let resolved = timeout(RESOLVE_TIMEOUT, discovery.addresses()).await;
        let addresses = resolved.unwrap_or_else(|elapsed| Err(io::Error::from(elapsed)));
        set.change(|states| match addresses {
            Ok(addresses) => {
                // A monitor that ended has panicked; another one starts.
                running.retain(|address, monitor| {
                    let is_current = addresses.contains(address) && !monitor.is_finished();
                    if !is_current {
                        monitor.abort();
                        states.remove(address);
                        cause::forget(service, *address);
                    }
                    is_current
                });
                for address in addresses {
                    running.entry(address).or_insert_with(|| {
                        let calls = Arc::<Calls>::default();
                        states.insert(address, (None, Arc::clone(&calls)));
                        let connector = discovery.connector(address);
                        let (origin, reconnect) = (discovery.origin(), Arc::clone(&set.reconnect));
                        let monitor =
                            Monitor { service, address, connector, origin, calls, reconnect };
                        let set = Arc::clone(&set);
                        monitors.spawn(monitor.run(move |state| set.update(address, state)))
                    });
                }
            }
            // Known replicas stay: name servers have outages.
            Err(error) => {
                tracing::debug!(%error, "resolving the name of {} failed", service.program);
            }
        });
        while monitors.try_join_next().is_some() {}
        sleep(RESOLVE_INTERVAL).await;
    }
}
