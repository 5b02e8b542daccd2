//! Scenarios of replica_set.rs and hedge.rs, in which monitors change states while calls choose a replica.

use crate::{
    affinity::Affinity,
    connection::{Connection, Host},
    hedge::HedgePolicy,
    replica_set::{Replica, ReplicaEntry, ReplicaSet, ReplicaState},
};
use shuttle::{
    rand::{Rng as _, thread_rng},
    thread,
};
use std::{collections::HashSet, net::SocketAddr, sync::Arc, time::Duration};

fn random_state(host: &Arc<Host>) -> ReplicaState {
    let connection = Connection::to(host);
    match thread_rng().gen_range(0..4) {
        0 => ReplicaState::Down,
        1 => ReplicaState::Up { connection, serving: false },
        2 => ReplicaState::Unresponsive { connection },
        _ => ReplicaState::Up { connection, serving: true },
    }
}

/// Checks that the published choice matches the states of the replicas, in each order of changes.
pub fn published_choice_is_that_of_the_states() {
    let set = Arc::<ReplicaSet>::default();
    let hosts = [1, 2, 3].map(|number| Host::new(number, false));
    set.change(|entries| {
        entries.extend(hosts.iter().map(|host| (host.address, ReplicaEntry::default())));
    });
    let monitors = [0, 1, 2].map(|number| {
        let (set, host) = (Arc::clone(&set), Arc::clone(&hosts[number]));
        thread::spawn(move || {
            for _ in 0..2 {
                set.update(host.address, random_state(&host));
            }
        })
    });
    // DNS no longer lists the first replica.
    set.change(|entries| {
        entries.remove(&hosts[0].address);
    });
    for monitor in monitors {
        monitor.join().expect("a monitor");
    }
    assert_is_published(&set);
    assert!(!set.entries.lock().contains_key(&hosts[0].address), "a replica without a name is back");
}

fn assert_is_published(set: &ReplicaSet) {
    let entries = set.entries.lock();
    let of_kind = |kind: fn(&Option<ReplicaState>) -> bool| -> Vec<SocketAddr> {
        let of_kind = entries.iter().filter(|(_, entry)| kind(&entry.state));
        of_kind.map(|(address, _)| *address).collect()
    };
    let serving = of_kind(|it| matches!(it, Some(ReplicaState::Up { serving: true, .. })));
    let up = of_kind(|it| matches!(it, Some(ReplicaState::Up { serving: false, .. })));
    let missed = of_kind(|it| matches!(it, Some(ReplicaState::Unresponsive { .. })));
    let hedge = [&*serving, &*missed].concat();
    let first = [serving, up, missed].into_iter().find(|kind| !kind.is_empty());
    let is_pending = entries.values().any(|entry| entry.state.is_none());
    let published = set.available.borrow().clone();
    match (&published, first) {
        (Some(candidates), first) if first.is_some() || !is_pending => {
            assert_eq!(affinities(&candidates.first_attempt), of_addresses(&first.unwrap_or_default()));
            assert_eq!(affinities(&candidates.hedge), of_addresses(&hedge));
        }
        (None, None) if is_pending => {}
        (_, first) => panic!("{published:?} for {first:?}"),
    }
}

fn affinities(replicas: &[Replica]) -> HashSet<Affinity> {
    replicas.iter().map(|replica| replica.affinity).collect()
}

fn of_addresses(addresses: &[SocketAddr]) -> HashSet<Affinity> {
    addresses.iter().map(|it| Affinity::from_address(*it)).collect()
}

/// Checks that a channel hedges no more calls than its budget allows.
pub fn hedges_keep_their_budget() {
    let policy = Arc::new(HedgePolicy::default());
    let spenders = [0; 3].map(|_| {
        let policy = Arc::clone(&policy);
        thread::spawn(move || (0..5).filter(|_| policy.try_spend()).count())
    });
    for _ in 0..3 {
        policy.record(Duration::from_millis(1));
    }
    let spent: usize = spenders.map(|it| it.join().expect("a thread")).into_iter().sum();
    assert_eq!(spent, 10, "hedges of a budget of 200 calls and 3 answers");
}
