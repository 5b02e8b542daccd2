//! Every replica of a service that its name leads to.
//!
//! The name is resolved again and again, so replicas come and go without a restart of the caller.
//! Calls go to the replica with the fewest under way among those that serve; where none serves, to
//! one that answers at least, since its reasons are better than silence; where none answers, calls
//! fail at once instead of waiting for their deadline.

mod keeping;
mod known;

use self::{keeping::keep_all, known::Set};
use crate::{
    connection::{Connection, Stream},
    place::{InvalidAddress, Named, Place},
    replica::{Dial, FIRST_WORD, ServiceClient, keep},
};
use http::Uri;
use rolegate_grpc_tls::ClientTls;
use rolegate_proto::auth_v1::auth_service_client::AuthServiceClient;
use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Notify, watch},
    task::AbortHandle,
    time::timeout,
};
use tonic::Status;

/// A refused connection is refused sooner; one that hangs is not worth a client's time.
const ONE_MORE_LOOK: Duration = Duration::from_millis(100);

/// Stands for the replica that has no address of its own.
const LONE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// The replicas of the service that `C` calls. Clones share their connections, which close with the
/// last clone.
#[derive(Clone, Debug)]
pub struct Replicas<C = AuthServiceClient<Connection>> {
    /// Where calls may go now; `None` while that is open.
    usable: watch::Receiver<Usable<C>>,
    /// Told when a caller has nowhere to go.
    wanted: Arc<Notify>,
    /// Where the next choice begins, so that equals take turns.
    turn: Arc<AtomicUsize>,
    _keeper: Arc<AbortOnDrop>,
}

/// Where calls may go; `None` while nobody answers and somebody has yet to say a first word.
type Usable<C> = Option<Arc<[Replica<C>]>>;

#[derive(Clone, Debug)]
struct Replica<C> {
    client: C,
    /// Each call under way holds a clone.
    calls: Arc<()>,
}

/// A client of one replica, and the place that its call takes there.
#[derive(Debug)]
pub struct Lease<C> {
    /// The client.
    pub client: C,
    #[cfg_attr(not(test), expect(dead_code, reason = "held, so that the call is counted"))]
    call: Arc<()>,
}

#[derive(Debug)]
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<C: ServiceClient> Replicas<C> {
    /// The replicas at `address`, such as `http://auth-service:50051`, not encrypted.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect_lazy(address: &str) -> Result<Self, InvalidAddress> {
        Named::parse::<C>(address, "http").map(Self::of)
    }

    /// The same, encrypted, at an address such as `https://auth-service:50051`. Every replica must
    /// prove to be the host of the address.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect_lazy_tls(address: &str, tls: ClientTls) -> Result<Self, InvalidAddress> {
        let place = Named::parse::<C>(address, "https")?;
        Ok(Self::of(Named { tls: Some(tls), ..place }))
    }

    /// The one replica at the far end of whatever `dial` opens.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn with_connector<F>(dial: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<Box<dyn Stream>>> + Send + 'static,
    {
        let origin = Uri::from_static("http://in-memory");
        Self::one(Arc::new(move || Box::pin(dial())), origin)
    }

    /// The replicas of this place, now and later.
    pub(crate) fn of(place: impl Place) -> Self {
        Self::kept(async move |set| keep_all(place, set).await)
    }

    /// One replica at the far end of whatever `dial` opens.
    fn one(dial: Dial, origin: Uri) -> Self {
        Self::kept(async move |mut set: Set<C>| {
            set.expect(LONE);
            let wanted = Arc::clone(set.wanted());
            let set = Mutex::new(set);
            keep(dial, origin, wanted, |state| {
                set.lock().unwrap_or_else(PoisonError::into_inner).learn(LONE, state);
            })
            .await;
        })
    }

    fn kept<F>(keeper: impl FnOnce(Set<C>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (publish, usable) = watch::channel(None);
        let wanted = Arc::new(Notify::new());
        let set = Set::new(publish, Arc::clone(&wanted));
        let task = tokio::spawn(keeper(set));
        Self {
            usable,
            wanted,
            turn: Arc::default(),
            _keeper: Arc::new(AbortOnDrop(task.abort_handle())),
        }
    }

    /// A replica for one call. Waits for the first word of those that are new, and, when nobody is
    /// there, for one more look: a replica that just came back should not be a second late.
    pub async fn lease(&self) -> Result<Lease<C>, Status> {
        let mut usable = self.usable.clone();
        // Bounded here too: replicas that come one after the other could leave it open for ever.
        let _ = timeout(FIRST_WORD, usable.wait_for(Option::is_some)).await;
        let mut replicas = usable.borrow().clone().unwrap_or_default();
        if replicas.is_empty() {
            self.wanted.notify_waiters();
            let is_there = |known: &Usable<C>| known.as_ref().is_some_and(|all| !all.is_empty());
            let _ = timeout(ONE_MORE_LOOK, usable.wait_for(is_there)).await;
            replicas = usable.borrow().clone().unwrap_or_default();
        }
        let start = self.turn.fetch_add(1, Ordering::Relaxed) % replicas.len().max(1);
        let in_turn = replicas[start..].iter().chain(&replicas[..start]);
        let idlest = in_turn.min_by_key(|replica| Arc::strong_count(&replica.calls));
        idlest
            .map(|replica| Lease {
                client: replica.client.clone(),
                call: Arc::clone(&replica.calls),
            })
            .ok_or_else(|| Status::unavailable("no replica can be reached"))
    }
}

#[cfg(test)]
mod tests;
