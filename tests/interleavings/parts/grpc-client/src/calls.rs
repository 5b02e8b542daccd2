//! Scenarios of calls while replicas come and go. They run balancer.rs, replica_monitor.rs, dns_watcher.rs and
//! call_batcher.rs.

use crate::{
    BalancedChannel, Call, CallBatcher, CallError, ReplicaBatchers, ServiceInfo,
    affinity::Affinity,
    connection::Host,
    discovery::set_network,
    hedge::ReadOnly,
};
use http::Request;
use shuttle::{
    current::{Labels, me, set_label_for_task},
    future::block_on,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};
use std::sync::Arc;
use tokio::{
    spawn,
    task::{JoinHandle, yield_now},
    time::{clear_triggers, trigger_timeouts},
};
use tonic::{Code, Status, body::Body};
use tower::Service as _;

fn connect(hosts: &[Arc<Host>]) -> BalancedChannel {
    clear_triggers();
    set_network(hosts);
    let service = ServiceInfo { program: "a service", default_port: 1, health_name: "a service" };
    BalancedChannel::connect_lazy(service, "http://replicas:1", None).expect("an address")
}

/// Returns a key whose calls go to the first of these replicas.
fn key_of_first(hosts: &[Arc<Host>]) -> String {
    let weight = |key: &str, host: &Host| {
        Affinity::from_key(key).weight(Affinity::from_address(host.address))
    };
    let is_first = |key: &String| {
        hosts[1..].iter().all(|other| weight(key, &hosts[0]) > weight(key, other))
    };
    (0..).map(|number| format!("user{number}")).find(is_first).expect("a key")
}

/// Waits until the channel knows that these replicas serve.
async fn wait_for(channel: &BalancedChannel, hosts: &[Arc<Host>]) {
    for first in 0..hosts.len() {
        let mut others = hosts.to_vec();
        others.swap(0, first);
        let key = key_of_first(&others);
        let affinity = Affinity::from_address(hosts[first].address);
        while channel.replica_for(&key) != Some(affinity) {
            yield_now().await;
        }
    }
}

async fn call(channel: &BalancedChannel, is_read_only: bool) -> Result<(), Status> {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = "/service/Method".parse().expect("a path");
    if is_read_only {
        request.extensions_mut().insert(ReadOnly);
    }
    channel.clone().call(request).await.map(drop)
}

fn join_all(tasks: impl IntoIterator<Item = JoinHandle<()>>) {
    block_on(async {
        for task in tasks {
            task.await.expect("a task");
        }
    });
}

/// Checks that calls before the first health status wait for it, and are answered.
pub fn first_calls_wait_for_a_replica() {
    let hosts = [1, 2].map(|number| Host::new(number, false));
    let channel = connect(&hosts);
    join_all([0; 3].map(|_| {
        let channel = channel.clone();
        spawn(async move { call(&channel, false).await.expect("an answer") })
    }));
}

/// Checks that calls about a key go to another replica as soon as theirs is gone. Calls in flight may fail, but only
/// with the error of a lost replica.
pub fn keys_of_a_lost_replica_move() {
    let hosts = [1, 2].map(|number| Host::new(number, false));
    let channel = connect(&hosts);
    let keyed = channel.for_key(&key_of_first(&hosts));
    block_on(async {
        wait_for(&channel, &hosts).await;
        let calls = [0; 2].map(|_| {
            let keyed = keyed.clone();
            spawn(async move {
                if let Err(status) = call(&keyed, false).await {
                    assert_eq!(status.code(), Code::Unavailable);
                }
            })
        });
        hosts[0].report(None);
        call(&keyed, false).await.expect("an answer of the other replica");
        for call in calls {
            call.await.expect("a task");
        }
    });
    assert!(hosts[1].calls.load(SeqCst) > 0);
}

/// Labels the tasks whose timeouts may end.
#[derive(Clone, Debug)]
struct Impatient;

/// Checks that another replica answers a read if the first one does not.
pub fn unanswered_read_is_hedged() {
    let hosts = [Host::new(1, true), Host::new(2, false)];
    let channel = connect(&hosts);
    let keyed = channel.for_key(&key_of_first(&hosts));
    block_on(async {
        wait_for(&channel, &hosts).await;
        let reads = [0; 2].map(|_| {
            let keyed = keyed.clone();
            spawn(async move {
                set_label_for_task(me(), Impatient);
                call(&keyed, true).await.expect("an answer of the other replica");
            })
        });
        trigger_timeouts(|labels: &Labels| labels.get::<Impatient>().is_some());
        for read in reads {
            read.await.expect("a task");
        }
    });
    clear_triggers();
}

static STARTED: AtomicU32 = AtomicU32::new(0);

/// Checks that concurrent requests about keys of one replica share one batcher, and are all answered.
pub fn one_batcher_for_each_replica() {
    let hosts = [Host::new(1, false)];
    let channel = connect(&hosts);
    block_on(wait_for(&channel, &hosts));
    STARTED.store(0, SeqCst);
    let start = |_: BalancedChannel| {
        STARTED.fetch_add(1, SeqCst);
        CallBatcher::new(2, async |batch: Vec<u32>, _: Call| {
            yield_now().await;
            batch.into_iter().map(Ok::<_, CallError>).collect()
        })
    };
    let batchers = Arc::new(ReplicaBatchers::new(channel, start));
    let requests = [1, 2, 3].map(|number| {
        let batchers = Arc::clone(&batchers);
        spawn(async move {
            let batcher = batchers.batcher_for("ada").expect("a replica");
            assert_eq!(batcher.submit(number, None).await, Ok(number));
        })
    });
    join_all(requests);
    assert_eq!(STARTED.load(SeqCst), 1, "batchers");
}
