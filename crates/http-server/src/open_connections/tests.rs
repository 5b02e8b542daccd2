//! Tests of which connection is closed to make room for a new one.

use super::{Activity, OpenConnections};
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// Returns the activity of a connection that has a clock of its own.
pub(crate) fn activity() -> Arc<Activity> {
    Arc::new(Activity::new(&Arc::default()))
}

#[test]
fn a_connection_is_idle_from_its_last_response_to_the_first_byte_of_the_next_request() {
    let ticks = Arc::default();
    let connection = Activity::new(&ticks);
    let opened = connection.idle_since().expect("idle");
    assert!(connection.begin_head() && connection.begin_request());
    assert_eq!(connection.idle_since(), None);
    ticks.fetch_add(1, Relaxed);
    connection.end_request();
    assert_eq!(
        connection.idle_since(),
        None,
        "its response may not be written yet"
    );
    connection.begin_idle();
    assert!(connection.idle_since() > Some(opened));
    // The next head may have arrived together with the previous one.
    assert!(connection.begin_request());
    assert!(!connection.try_close(opened) && !connection.try_close(opened + 1));
}

#[test]
fn a_response_that_the_peer_has_not_taken_keeps_the_connection() {
    let connection = activity();
    let since = connection.idle_since().expect("idle");
    connection.set_blocked(true);
    assert!(!connection.try_close(since));
    connection.set_blocked(false);
    assert!(connection.try_close(since));
}

#[test]
fn a_closed_connection_serves_nothing() {
    let connection = activity();
    let since = connection.idle_since().expect("idle");
    assert!(connection.try_close(since) && !connection.try_close(since));
    assert!(!connection.begin_head() && !connection.begin_request());
    assert_eq!(connection.idle_since(), None);
}

#[test]
fn the_connection_that_has_been_idle_longest_is_closed_first() {
    let mut connections = OpenConnections::default();
    let all: Vec<_> = (0..200).map(|_| connections.open()).collect();
    for used in [1, 0] {
        connections.tick();
        assert!(all[used].begin_request());
        all[used].end_request();
        all[used].begin_idle();
    }
    assert!(all[2].begin_request());
    // Connections with equal ticks are closed in the order of their age.
    for (closed, expected) in (3..200).chain([1, 0]).enumerate() {
        assert!(connections.close_longest_idle(), "{closed} closed");
        assert!(
            !all[expected].begin_head(),
            "{expected} is open, {closed} closed"
        );
    }
    assert!(
        !connections.close_longest_idle(),
        "the last one serves a request"
    );
}

#[test]
fn a_candidate_that_serves_again_is_skipped() {
    let mut connections = OpenConnections::default();
    let all: Vec<_> = (0..3).map(|_| connections.open()).collect();
    assert!(connections.close_longest_idle());
    assert!(all[1].begin_request());
    connections.tick();
    all[1].end_request();
    all[1].begin_idle();
    assert!(connections.close_longest_idle());
    assert!(all[1].begin_head() && !all[2].begin_head());
}

#[test]
fn an_ended_connection_leaves_the_table() {
    let mut connections = OpenConnections::default();
    let held: Vec<_> = (0..50).map(|_| connections.open()).collect();
    (0..10_000).for_each(|_| drop(connections.open()));
    assert!(
        connections.all.capacity() < 4 * held.len(),
        "{}",
        connections.all.capacity()
    );
    drop(held);
    assert!(!connections.close_longest_idle());
}
