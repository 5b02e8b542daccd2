//! Tests calls about one key.

use super::{
    add_serving, address, address_of,
    fake_replica::severable_replica,
    frozen_replica::{add_freezable, log_in},
    manual_channel, settle,
};
use crate::{
    CallBatcher, CallError, ReplicaBatchers,
    affinity::Affinity,
    balancer::BalancedChannel,
    connection::open,
    hedge::MAX_DELAY,
    replica_monitor::PROBE_TIMEOUT,
    replica_set::{ReplicaSet, ReplicaState},
};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::time::sleep;
use tonic::Code;

const KEYS: [&str; 12] = [
    "ada", "ben", "cleo", "dan", "eve", "finn", "gil", "hal", "ivy", "jo", "kim", "leo",
];

async fn homes(channel: &BalancedChannel, set: &Arc<ReplicaSet>) -> Vec<SocketAddr> {
    let mut homes = Vec::new();
    for key in KEYS {
        let pick = channel.for_key(key).pick().await.expect("one serves");
        homes.push(address_of(&pick.replica, set));
    }
    homes
}

#[tokio::test]
async fn all_clients_send_calls_about_a_key_to_one_replica() {
    let mut of_clients = Vec::new();
    for order in [[1, 2, 3], [3, 1, 2]] {
        let (channel, set) = manual_channel();
        for last in order {
            add_serving(&set, address(last)).await;
        }
        // Calls in flight at other replicas change nothing.
        let _busy = [channel.pick().await, channel.pick().await];
        of_clients.push(homes(&channel, &set).await);
    }
    assert_eq!(of_clients[0], of_clients[1]);
    for last in [1, 2, 3] {
        assert!(of_clients[0].contains(&address(last)), "{of_clients:?}");
    }
}

#[tokio::test]
async fn keys_of_a_lost_replica_move_and_return_with_it() {
    let (channel, set) = manual_channel();
    for last in [1, 2, 3] {
        add_serving(&set, address(last)).await;
    }
    let before = homes(&channel, &set).await;
    set.update(address(2), ReplicaState::Down);
    for (before, after) in before.iter().zip(homes(&channel, &set).await) {
        assert_ne!(after, address(2));
        assert!(
            *before == address(2) || *before == after,
            "{before} {after}"
        );
    }
    add_serving(&set, address(2)).await;
    assert_eq!(homes(&channel, &set).await, before);
}

#[tokio::test]
async fn keys_leave_a_broken_connection_before_its_monitor_notices() {
    let (channel, set) = manual_channel();
    add_serving(&set, address(1)).await;
    let (near, link) = severable_replica();
    let connection = open(Box::new(near)).await.expect("it answers").connection;
    let state = ReplicaState::Up {
        connection,
        serving: true,
    };
    set.change(|entries| entries.entry(address(2)).or_default().state = Some(state));
    assert!(homes(&channel, &set).await.contains(&address(2)));
    link.abort();
    settle().await;
    assert_eq!(homes(&channel, &set).await, [address(1); 12]);
}

/// Returns a batcher that answers each request with the size of its batch. At the first replica, it never
/// answers.
fn hanging_at_the_first(channel: BalancedChannel) -> CallBatcher<&'static str, usize> {
    CallBatcher::new(100, move |keys: Vec<&'static str>, _| {
        let replicas: Vec<_> = keys.iter().map(|key| channel.replica_for(key)).collect();
        async move {
            assert!(replicas.iter().all(|replica| *replica == replicas[0]));
            if replicas[0] == Some(Affinity::from_address(address(1))) {
                std::future::pending::<()>().await;
            }
            vec![Ok(keys.len()); keys.len()]
        }
    })
}

#[tokio::test(start_paused = true)]
async fn requests_share_calls_with_those_of_their_replica_and_wait_for_no_other() {
    let (channel, set) = manual_channel();
    let batchers = ReplicaBatchers::new(channel.clone(), hanging_at_the_first);
    assert!(batchers.batcher_for("ada").is_none(), "no replica is up");
    for last in [1, 2] {
        add_serving(&set, address(last)).await;
    }
    let answers = KEYS.map(|key| {
        let batcher = batchers.batcher_for(key).expect("one is up");
        tokio::spawn(async move { batcher.submit(key, None).await })
    });
    let homes = homes(&channel, &set).await;
    let at_second = homes.iter().filter(|home| **home == address(2)).count();
    assert!((3..12).contains(&at_second), "{homes:?}");
    for (answer, home) in answers.into_iter().zip(homes) {
        let answer = answer.await.expect("no panic");
        if home == address(1) {
            assert_eq!(answer, Err(CallError::DeadlineExceeded));
        } else {
            assert!(answer.is_ok_and(|size| size < KEYS.len()));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn slow_password_call_moves_no_key_unless_the_replica_is_silent_too() {
    let (channel, set) = manual_channel();
    let freeze = add_freezable(&set, 1).await;
    let _running = add_freezable(&set, 2).await;
    let before = homes(&channel, &set).await;
    let at = |replica| before.iter().position(|home| *home == address(replica));
    let key = KEYS[at(1).expect("some keys are there")];
    freeze.send_replace(true);
    let login = log_in(&channel.for_key(key));
    sleep(MAX_DELAY + PROBE_TIMEOUT / 2).await;
    assert_eq!(homes(&channel, &set).await, before, "it may be at work");
    freeze.send_replace(false);
    assert_eq!(login.await.expect("no panic").code(), Code::Unimplemented);
    freeze.send_replace(true);
    let login = log_in(&channel.for_key(key));
    sleep(MAX_DELAY + PROBE_TIMEOUT + Duration::from_millis(10)).await;
    assert_eq!(homes(&channel, &set).await, [address(2); 12]);
    freeze.send_replace(false);
    assert_eq!(login.await.expect("no panic").code(), Code::Unimplemented);
    settle().await;
    assert_eq!(homes(&channel, &set).await, before);
}
