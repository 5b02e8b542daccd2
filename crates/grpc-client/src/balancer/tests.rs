mod affinity;
mod fake_replica;
mod frozen_replica;
mod silent_resolver;

use super::{BalancedChannel, RECHECK_TIMEOUT, Shared};
use crate::{
    connection::Stream,
    discovery::{Discover, ServiceInfo},
    dns_watcher::{RESOLVE_INTERVAL, RESOLVE_TIMEOUT},
    hedge::HedgePolicy,
    replica_monitor::HEALTH_TIMEOUT,
    replica_set::{Replica, ReplicaEntry, ReplicaSet},
};
use async_trait::async_trait;
use fake_replica::{replica, serving, severable_replica};
use http::Uri;
use rolegate_proto::{
    SERVICE_NAME,
    auth_v1::{LoginRequest, auth_service_client::AuthServiceClient},
};
use silent_resolver::SilentResolver;
use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::DuplexStream,
    sync::Semaphore,
    task::{JoinSet, yield_now},
    time::{sleep, timeout},
};
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

const SERVICE: ServiceInfo = ServiceInfo {
    program: "auth-service",
    default_port: 50051,
    health_name: SERVICE_NAME,
};

/// Returns whether a replica answers a call. The status is UNIMPLEMENTED, because the replica has only the
/// health service.
async fn is_answered(channel: &BalancedChannel) -> bool {
    let result = AuthServiceClient::new(channel.clone())
        .login(LoginRequest::default())
        .await;
    result.expect_err("no replica here implements calls").code() == Code::Unimplemented
}

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 1))
}

/// Creates a channel whose replicas the test sets.
fn manual_channel() -> (BalancedChannel, Arc<ReplicaSet>) {
    let set = Arc::<ReplicaSet>::default();
    let shared = Shared {
        set: Arc::clone(&set),
        next_index: AtomicUsize::new(0),
        hedging: HedgePolicy::default(),
        origin: Uri::from_static("http://auth-service"),
        _watcher: JoinSet::new(),
    };
    let channel = BalancedChannel {
        shared: Arc::new(shared),
        affinity: None,
    };
    (channel, set)
}

/// Adds a replica that is serving, or reports the state of a known one.
async fn add_serving(set: &ReplicaSet, address: SocketAddr) {
    let state = serving().await;
    set.change(|entries| entries.entry(address).or_default().state = Some(state));
}

fn address_of(replica: &Replica, set: &ReplicaSet) -> SocketAddr {
    let entries = set.entries.lock();
    let mut entries = entries.iter();
    let (address, _) = entries
        .find(|(_, entry)| Arc::ptr_eq(&entry.calls, &replica.calls))
        .expect("a known one");
    *address
}

/// Lets every task run until it waits. Time is paused, so nothing else happens.
async fn settle() {
    for _ in 0..200 {
        yield_now().await;
    }
}

#[tokio::test]
async fn sequential_calls_use_every_replica() {
    let (channel, set) = manual_channel();
    add_serving(&set, address(1)).await;
    add_serving(&set, address(2)).await;
    let mut picked = Vec::new();
    for _ in 0..10 {
        picked.push(address_of(
            &channel.pick().await.expect("both serve").replica,
            &set,
        ));
    }
    for last in [1, 2] {
        let share = picked
            .iter()
            .filter(|&&picked| picked == address(last))
            .count();
        assert_eq!(share, 5, "{picked:?}");
    }
}

#[tokio::test]
async fn calls_in_flight_stay_counted_when_a_replica_reports_a_new_state() {
    let (channel, set) = manual_channel();
    add_serving(&set, address(1)).await;
    let mut in_flight = Vec::new();
    for _ in 0..4 {
        in_flight.push(channel.pick().await.expect("it serves").replica);
    }
    add_serving(&set, address(2)).await;
    add_serving(&set, address(1)).await;
    for _ in 0..4 {
        let replica = channel.pick().await.expect("both serve").replica;
        assert_eq!(
            address_of(&replica, &set),
            address(2),
            "the other one has four already"
        );
        in_flight.push(replica);
    }
}

#[tokio::test]
async fn call_is_counted_until_its_response_is_read() {
    let (channel, set) = manual_channel();
    add_serving(&set, address(1)).await;
    let count = async || Arc::strong_count(&channel.pick().await.expect("it serves").replica.calls);
    let idle = count().await;
    let request = HealthCheckRequest {
        service: SERVICE_NAME.to_owned(),
    };
    let updates = HealthClient::new(channel.clone())
        .watch(request)
        .await
        .expect("a stream");
    assert_eq!(count().await, idle + 1);
    drop(updates);
    assert_eq!(count().await, idle);
}

#[tokio::test(start_paused = true)]
async fn call_waits_for_a_new_replica_instead_of_one_dropped_from_dns() {
    let (channel, set) = manual_channel();
    add_serving(&set, address(1)).await;
    set.change(|entries| {
        entries.remove(&address(1));
        entries.insert(address(2), ReplicaEntry::default());
    });
    let caller = tokio::spawn({
        let channel = channel.clone();
        async move { channel.pick().await }
    });
    settle().await;
    assert!(
        !caller.is_finished(),
        "the health of the new one is unknown"
    );
    add_serving(&set, address(2)).await;
    let pick = caller.await.expect("no panic").expect("it serves");
    assert_eq!(address_of(&pick.replica, &set), address(2));
}

#[tokio::test(start_paused = true)]
async fn call_waits_no_longer_than_the_health_timeout() {
    let (channel, set) = manual_channel();
    set.change(|entries| drop(entries.insert(address(1), ReplicaEntry::default())));
    let result = timeout(HEALTH_TIMEOUT + 2 * RECHECK_TIMEOUT, channel.pick()).await;
    let error = result
        .expect("in time")
        .expect_err("no replica reports its health");
    assert_eq!(error.code(), Code::Unavailable);
}

/// A service with one replica that answers, and one that hangs.
struct HalfDead(Mutex<Option<DuplexStream>>);

#[async_trait]
impl Discover for HalfDead {
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![address(1), address(2)])
    }

    async fn connect(&self, replica: SocketAddr) -> io::Result<Box<dyn Stream>> {
        let near = || self.0.lock().expect("no panic").take();
        match (replica == address(1)).then(near).flatten() {
            Some(near) => Ok(Box::new(near)),
            None => std::future::pending().await,
        }
    }

    fn origin(&self) -> Uri {
        Uri::from_static("http://auth-service")
    }
}

#[tokio::test]
async fn replica_that_hangs_delays_no_call() {
    let discovery = Arc::new(HalfDead(Mutex::new(Some(replica()))));
    let channel = BalancedChannel::discover(SERVICE, discovery);
    for _ in 0..10 {
        // This is shorter than the timeout of an attempt to connect.
        let picked = timeout(Duration::from_secs(1), channel.pick())
            .await
            .expect("at once");
        assert!(picked.is_ok(), "one serves");
    }
}

#[tokio::test(start_paused = true)]
async fn call_waits_while_the_only_replica_reconnects() {
    let (near, link) = severable_replica();
    let (first, may_come_back) = (Mutex::new(Some(near)), Arc::new(Semaphore::new(0)));
    let channel = BalancedChannel::with_connector(SERVICE, {
        let may_come_back = Arc::clone(&may_come_back);
        move || {
            let first = first.lock().expect("no panic").take();
            let may_come_back = Arc::clone(&may_come_back);
            async move {
                if let Some(near) = first {
                    return Ok(Box::new(near) as Box<dyn Stream>);
                }
                may_come_back.acquire().await.expect("open").forget();
                Ok(Box::new(replica()) as _)
            }
        }
    });
    assert!(is_answered(&channel).await);
    sleep(Duration::from_secs(2)).await;
    link.abort();
    settle().await;
    let caller = tokio::spawn(async move { is_answered(&channel).await });
    settle().await;
    assert!(!caller.is_finished(), "no replica is up");
    may_come_back.add_permits(1);
    assert!(caller.await.expect("no panic"));
}

#[tokio::test(start_paused = true)]
async fn states_of_replicas_arrive_while_the_resolver_is_silent() {
    let resolver = SilentResolver::default();
    let channel = BalancedChannel::discover(SERVICE, Arc::new(resolver.clone()));
    assert!(is_answered(&channel).await);
    sleep(RESOLVE_INTERVAL + Duration::from_secs(1)).await;
    assert_eq!(
        resolver.resolutions.load(Ordering::SeqCst),
        2,
        "the second one hangs"
    );
    resolver
        .links
        .lock()
        .expect("no panic")
        .pop()
        .expect("one")
        .1
        .abort();
    settle().await;
    assert!(is_answered(&channel).await);
}

#[tokio::test(start_paused = true)]
async fn resolution_that_hangs_times_out_and_the_next_one_finds_new_replicas() {
    let resolver = SilentResolver::default();
    let channel = BalancedChannel::discover(SERVICE, Arc::new(resolver.clone()));
    assert!(channel.pick().await.is_ok(), "the first serves");
    sleep(RESOLVE_TIMEOUT + 3 * RESOLVE_INTERVAL).await;
    let connections = [1, 2].map(|last| resolver.connections_to(address(last)));
    assert_eq!(connections, [1, 1]);
}

/// A service with one replica. The first attempt to connect to it panics.
struct Panicking(AtomicUsize);

#[async_trait]
impl Discover for Panicking {
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![address(1)])
    }

    async fn connect(&self, _: SocketAddr) -> io::Result<Box<dyn Stream>> {
        assert!(
            self.0.fetch_add(1, Ordering::SeqCst) > 0,
            "as the test intends"
        );
        Ok(Box::new(replica()))
    }

    fn origin(&self) -> Uri {
        Uri::from_static("http://auth-service")
    }
}

#[tokio::test(start_paused = true)]
async fn replica_whose_monitor_panicked_is_found_by_the_next_resolution() {
    let channel = BalancedChannel::discover(SERVICE, Arc::new(Panicking(AtomicUsize::new(0))));
    sleep(RESOLVE_INTERVAL + Duration::from_secs(1)).await;
    let answered = timeout(HEALTH_TIMEOUT, is_answered(&channel)).await;
    assert!(answered.expect("at once"), "another monitor");
}
