//! Every replica of auth-service that its name resolves to and that accepts connections.
//!
//! The name is resolved again and again, so replicas come and go without a restart of the caller.
//! An address is used only while it accepts connections: `localhost` may resolve to an address
//! where nobody listens, and the name of a replica that has died lives on for a while. With no such
//! address calls fail at once, instead of waiting for their deadline.

use std::{collections::HashSet, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::{TcpStream, lookup_host},
    sync::{mpsc, watch},
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};
use tonic::transport::{Channel, Endpoint, channel::Change};

/// Between two looks at the name while some replica can be reached.
const CALM: Duration = Duration::from_secs(2);
/// The same while none can.
const EAGER: Duration = Duration::from_millis(200);
/// A replica that does not accept within this time is as good as gone.
const ACCEPT: Duration = Duration::from_secs(1);

/// Whether a call has anywhere to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Nobody has looked yet.
    Unknown,
    Nobody,
    Somebody,
}

/// The replicas behind one channel. Watching ends with the last clone.
#[derive(Clone, Debug)]
pub(crate) struct Replicas {
    reach: watch::Receiver<Reach>,
    _watch: Arc<AbortOnDrop>,
}

#[derive(Debug)]
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Replicas {
    /// A channel over the replicas that `host` (a name or an address) and `port` lead to;
    /// `endpoint_at` says how to connect to each.
    pub(crate) fn watch(
        host: String,
        port: u16,
        endpoint_at: impl Fn(SocketAddr) -> Endpoint + Send + Sync + 'static,
    ) -> (Channel, Self) {
        let (channel, changes) = Channel::balance_channel(64);
        let (say, reach) = watch::channel(Reach::Unknown);
        let task = tokio::spawn(keep_watching(host, port, endpoint_at, changes, say));
        (channel, Self { reach, _watch: Arc::new(AbortOnDrop(task.abort_handle())) })
    }

    /// Whether some replica accepts connections. Waits only for the very first look.
    pub(crate) async fn can_be_reached(&self) -> bool {
        let mut reach = self.reach.clone();
        let known = reach.wait_for(|reach| *reach != Reach::Unknown).await;
        known.is_ok_and(|reach| *reach == Reach::Somebody)
    }
}

async fn keep_watching(
    host: String,
    port: u16,
    endpoint_at: impl Fn(SocketAddr) -> Endpoint,
    changes: mpsc::Sender<Change<SocketAddr, Endpoint>>,
    say: watch::Sender<Reach>,
) {
    let mut used: HashSet<SocketAddr> = HashSet::new();
    loop {
        let open = accepting(&host, port).await;
        for gone in used.difference(&open) {
            let _ = changes.send(Change::Remove(*gone)).await;
        }
        for new in open.difference(&used) {
            let _ = changes.send(Change::Insert(*new, endpoint_at(*new))).await;
        }
        if open != used {
            tracing::info!(host, port, replicas = ?open, "replicas of auth-service");
        }
        used = open;
        let nobody = used.is_empty();
        say.send_replace(if nobody { Reach::Nobody } else { Reach::Somebody });
        sleep(if nobody { EAGER } else { CALM }).await;
    }
}

/// The addresses of the name that accept connections now.
async fn accepting(host: &str, port: u16) -> HashSet<SocketAddr> {
    let addresses = match lookup_host((host, port)).await {
        Ok(addresses) => addresses.collect::<HashSet<_>>(),
        Err(error) => {
            tracing::debug!(host, %error, "the name of auth-service does not resolve");
            HashSet::new()
        }
    };
    let mut tries: JoinSet<Option<SocketAddr>> = addresses
        .into_iter()
        .map(|address| async move {
            let connected = timeout(ACCEPT, TcpStream::connect(address)).await;
            matches!(connected, Ok(Ok(_))).then_some(address)
        })
        .collect();
    let mut open = HashSet::new();
    while let Some(tried) = tries.join_next().await {
        open.extend(tried.ok().flatten());
    }
    open
}
