//! Tests a replica that stops answering while its connection stays open, as a stopped process does.

use super::{
    SERVICE, address, address_of, fake_replica::freezable_replica, manual_channel, settle,
};
use crate::{
    CALL_TIMEOUT,
    balancer::BalancedChannel,
    connection::Stream,
    discovery::{Discover, SingleReplica},
    hedge::{MAX_DELAY, ReadOnly},
    replica_monitor::{PROBE_TIMEOUT, ReplicaMonitor},
    replica_set::{ReplicaEntry, ReplicaSet, ReplicaState},
};
use rolegate_proto::auth_v1::{
    AuthorizeRequest, LoginRequest, auth_service_client::AuthServiceClient,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};
use tonic::{Code, Request, Status};

/// Adds a replica and waits until it serves. The replica is frozen while the value of the returned sender is
/// true.
pub(super) async fn add_freezable(set: &Arc<ReplicaSet>, last: u8) -> watch::Sender<bool> {
    let (near, freeze) = freezable_replica();
    let near = std::sync::Mutex::new(Some(near));
    let replica: Arc<dyn Discover> = Arc::new(SingleReplica {
        connector: move || {
            let near = near
                .lock()
                .expect("no panic")
                .take()
                .expect("one connection");
            async { Ok(Box::new(near) as Box<dyn Stream>) }
        },
    });
    let address = address(last);
    let monitor = ReplicaMonitor::new(SERVICE, address, &replica, set);
    let entry = ReplicaEntry {
        state: None,
        calls: Arc::clone(&monitor.calls),
    };
    set.change(|entries| drop(entries.insert(address, entry)));
    tokio::spawn(monitor.run());
    settle().await;
    freeze
}

/// Sends a read-only call and returns its status. The fake replicas answer it with UNIMPLEMENTED.
async fn decide(channel: &BalancedChannel) -> Code {
    let mut request = Request::new(AuthorizeRequest::default());
    request.extensions_mut().insert(ReadOnly);
    let result = AuthServiceClient::new(channel.clone())
        .authorize(request)
        .await;
    result.expect_err("no replica here implements calls").code()
}

pub(super) fn log_in(channel: &BalancedChannel) -> JoinHandle<Status> {
    let mut client = AuthServiceClient::new(channel.clone());
    tokio::spawn(async move {
        client
            .login(LoginRequest::default())
            .await
            .expect_err("not implemented")
    })
}

async fn picked(channel: &BalancedChannel, set: &ReplicaSet) -> Vec<u8> {
    let mut picked = Vec::new();
    for _ in 0..4 {
        let replica = channel.pick().await.expect("one serves").replica;
        let last = (1..=2).find(|last| address_of(&replica, set) == address(*last));
        picked.extend(last);
    }
    picked.sort_unstable();
    picked
}

#[tokio::test(start_paused = true)]
async fn decisions_move_to_the_other_replica_and_return_when_the_frozen_one_speaks_again() {
    let (channel, set) = manual_channel();
    let freeze = add_freezable(&set, 1).await;
    let _running = add_freezable(&set, 2).await;
    freeze.send_replace(true);
    let mut durations = Vec::new();
    for _ in 0..10 {
        let started = Instant::now();
        assert_eq!(decide(&channel).await, Code::Unimplemented);
        durations.push(started.elapsed());
        settle().await;
    }
    durations.sort_unstable();
    let longest = durations.pop().expect("ten");
    assert!((500..600).contains(&longest.as_millis()), "{longest:?}");
    assert!(
        durations.iter().all(|time| time.as_millis() < 10),
        "only one missed: {durations:?}"
    );
    assert_eq!(picked(&channel, &set).await, [2, 2, 2, 2]);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(
        picked(&channel, &set).await,
        [2, 2, 2, 2],
        "it still says nothing"
    );
    freeze.send_replace(false);
    settle().await;
    assert_eq!(picked(&channel, &set).await, [1, 1, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn replica_that_is_only_slow_gets_calls_again_at_once() {
    let (channel, set) = manual_channel();
    let freeze = add_freezable(&set, 1).await;
    let _running = add_freezable(&set, 2).await;
    freeze.send_replace(true);
    let calls = [(); 2].map(|()| {
        tokio::spawn({
            let channel = channel.clone();
            async move { decide(&channel).await }
        })
    });
    sleep(Duration::from_millis(501)).await;
    freeze.send_replace(false);
    settle().await;
    for call in calls {
        assert_eq!(call.await.expect("no panic"), Code::Unimplemented);
    }
    assert_eq!(picked(&channel, &set).await, [1, 1, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn call_moves_to_a_replica_that_missed_at_the_same_moment() {
    let (channel, set) = manual_channel();
    let [first, second] =
        [add_freezable(&set, 1).await, add_freezable(&set, 2).await].map(|freeze| {
            freeze.send_replace(true);
            freeze
        });
    let calls = [(); 2].map(|()| {
        let channel = channel.clone();
        tokio::spawn(async move { decide(&channel).await })
    });
    sleep(MAX_DELAY / 2).await;
    // The next call is sent while one replica gets no calls.
    set.change(|entries| {
        let entry = entries.get_mut(&address(2)).expect("known");
        if let Some(ReplicaState::Up { connection, .. }) = entry.state.clone() {
            entry.state = Some(ReplicaState::Unresponsive { connection });
        }
    });
    let late = tokio::spawn({
        let channel = channel.clone();
        async move { decide(&channel).await }
    });
    sleep(MAX_DELAY + Duration::from_millis(10)).await;
    second.send_replace(false);
    settle().await;
    for call in calls.into_iter().chain([late]) {
        assert_eq!(call.await.expect("no panic"), Code::Unimplemented);
    }
    drop(first);
}

#[tokio::test(start_paused = true)]
async fn writes_and_password_calls_are_never_sent_twice() {
    let (channel, set) = manual_channel();
    let freeze = add_freezable(&set, 1).await;
    let _running = add_freezable(&set, 2).await;
    freeze.send_replace(true);
    let logins = [(); 2].map(|()| log_in(&channel));
    sleep(MAX_DELAY + PROBE_TIMEOUT + Duration::from_millis(10)).await;
    assert_eq!(
        picked(&channel, &set).await,
        [2, 2, 2, 2],
        "it is silent, so no call goes there"
    );
    sleep(CALL_TIMEOUT).await;
    let answered = logins.iter().filter(|login| login.is_finished()).count();
    assert_eq!(answered, 1, "the one at the frozen replica waits");
    freeze.send_replace(false);
    for login in logins {
        assert_eq!(login.await.expect("no panic").code(), Code::Unimplemented);
    }
}

#[tokio::test(start_paused = true)]
async fn call_to_the_only_replica_is_sent_once() {
    let (channel, set) = manual_channel();
    let freeze = add_freezable(&set, 1).await;
    freeze.send_replace(true);
    let in_flight =
        async || Arc::strong_count(&channel.pick().await.expect("it serves").replica.calls);
    let idle = in_flight().await;
    let call = tokio::spawn({
        let channel = channel.clone();
        async move { decide(&channel).await }
    });
    sleep(Duration::from_secs(4)).await;
    assert_eq!(in_flight().await, idle + 1);
    freeze.send_replace(false);
    assert_eq!(call.await.expect("no panic"), Code::Unimplemented);
}
