//! Follows a DNS name: one monitor for each replica that it resolves to.

use crate::{
    discovery::{Discover, ServiceInfo},
    replica::monitor,
    replica_set::ReplicaSet,
};
use std::{
    collections::{HashMap, HashSet},
    io,
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};

pub(crate) const RESOLVE_INTERVAL: Duration = Duration::from_secs(2);
/// A resolver takes five seconds to fall back from a silent name server to the next, for each search
/// domain; a shorter timeout might never see an answer.
pub(crate) const RESOLVE_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn run(service: ServiceInfo, discovery: impl Discover, mut set: ReplicaSet) {
    let mut monitors: JoinSet<()> = JoinSet::new();
    let mut running: HashMap<SocketAddr, AbortHandle> = HashMap::new();
    let (sender, mut states) = mpsc::unbounded_channel();
    // Polled beside the rest: replicas report their states while a name server is silent.
    let mut next_addresses = pin!(resolve_after(&discovery, Duration::ZERO));
    loop {
        tokio::select! {
            Some((address, state)) = states.recv() => {
                // The channel may still hold states of monitors that were stopped.
                if running.contains_key(&address) {
                    set.update(address, state);
                }
            }
            Some(ended) = monitors.join_next() => {
                // Monitors that were aborted are not in `running`. After a panic, the next resolution
                // starts another monitor.
                if let Err(error) = ended && error.is_panic() {
                    running.retain(|address, monitor| {
                        let panicked = monitor.id() == error.id();
                        if panicked {
                            set.remove(*address);
                        }
                        !panicked
                    });
                    set.publish();
                }
            }
            resolved = &mut next_addresses => {
                next_addresses.set(resolve_after(&discovery, RESOLVE_INTERVAL));
                match resolved {
                    Ok(addresses) => {
                        let addresses: HashSet<SocketAddr> = addresses.into_iter().collect();
                        running.retain(|address, monitor| {
                            let is_listed = addresses.contains(address);
                            if !is_listed {
                                monitor.abort();
                                set.remove(*address);
                            }
                            is_listed
                        });
                        for address in addresses {
                            running.entry(address).or_insert_with(|| {
                                set.insert(address);
                                let sender = sender.clone();
                                let report = move |state| drop(sender.send((address, state)));
                                let reconnect = Arc::clone(&set.reconnect);
                                let connector = discovery.connector(address);
                                let origin = discovery.origin();
                                monitors.spawn(monitor(service, connector, origin, reconnect, report))
                            });
                        }
                    }
                    // Known replicas stay: name servers have outages.
                    Err(error) => {
                        tracing::debug!(%error, "resolving the name of {} failed", service.program);
                    }
                }
                set.publish();
            }
        }
    }
}

async fn resolve_after(discovery: &impl Discover, delay: Duration) -> io::Result<Vec<SocketAddr>> {
    sleep(delay).await;
    timeout(RESOLVE_TIMEOUT, discovery.addresses()).await?
}
