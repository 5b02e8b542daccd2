//! Tests that a watcher receives every change of users once, through interruptions, gaps and refusals.

use crate::{
    fake_auth::{FakeAuth, Streamed, refused},
    settle, start,
};
use rolegate_auth_client::{
    CallError, Reason, UserChange, UserEvent, UserWatcher, WatchError, WatchPosition, WatchProgress,
};
use rolegate_proto::auth_v1::WatchUsersResponse;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::sleep;
use tonic::Status;
use tonic_types::{ErrorDetails, StatusExt as _};

/// A watcher that stores the revision of each event.
#[derive(Clone, Default)]
struct Watcher(Arc<Mutex<Watched>>);

#[derive(Default)]
struct Watched {
    revision: Option<i64>,
    seal: Option<String>,
    gaps: Vec<bool>,
    events: Vec<UserEvent>,
    interruptions: Vec<Option<Reason>>,
    /// The number of further events that the watcher fails to store.
    failures: usize,
}

impl UserWatcher for Watcher {
    async fn connect(&mut self, has_gap: bool) -> Result<WatchPosition, WatchError> {
        let mut watched = self.0.lock().expect("no panic");
        watched.gaps.push(has_gap);
        Ok(WatchPosition {
            token: Some("key".into()),
            revision: watched.revision,
            seal: watched.seal.clone(),
        })
    }

    async fn handle(&mut self, event: UserEvent) -> Result<(), WatchError> {
        let mut watched = self.0.lock().expect("no panic");
        if watched.failures > 0 {
            watched.failures -= 1;
            return Err("not stored".into());
        }
        let (UserEvent::Change(UserChange { revision, seal, .. })
        | UserEvent::Progress(WatchProgress { revision, seal })) = &event;
        if *revision > 0 {
            watched.revision = Some(*revision);
            watched.seal.clone_from(seal);
        }
        watched.events.push(event);
        Ok(())
    }

    fn interrupted(&mut self, error: &WatchError) {
        let reason = error.downcast_ref().and_then(CallError::reason);
        self.0.lock().expect("no panic").interruptions.push(reason);
    }
}

fn behind(revision: i64) -> Watcher {
    let watched = Watched {
        revision: Some(revision),
        ..Watched::default()
    };
    Watcher(Arc::new(Mutex::new(watched)))
}

impl Watcher {
    fn events(&self) -> Vec<UserEvent> {
        self.0.lock().expect("no panic").events.clone()
    }
}

fn change(revision: i64, user_id: i64) -> UserEvent {
    UserEvent::Change(UserChange {
        revision,
        user_id,
        ..UserChange::default()
    })
}

fn progress(revision: i64) -> UserEvent {
    UserEvent::Progress(WatchProgress {
        revision,
        seal: Some(format!("seal of {revision}")),
    })
}

/// Returns a stream that sends these events and then ends.
fn stream<const N: usize>(events: [UserEvent; N]) -> Vec<Streamed> {
    events
        .into_iter()
        .map(|event| Ok(WatchUsersResponse { item: Some(event) }))
        .collect()
}

/// Appends this error to a stream, so that the stream ends with it.
fn failing(mut stream: Vec<Streamed>, status: Status) -> Vec<Streamed> {
    stream.push(Err(status));
    stream
}

/// Lets the watcher follow these streams one after another, until it has opened one that hangs.
async fn watch(watcher: &Watcher, streams: Vec<Vec<Streamed>>) -> FakeAuth {
    let (client, auth) = start();
    let count = streams.len();
    *auth.watching.streams.lock().expect("no panic") = streams.into();
    let mut watching = watcher.clone();
    tokio::spawn(async move { client.watch_users(&mut watching).await });
    while auth.watching.calls.lock().expect("no panic").len() <= count {
        sleep(Duration::from_millis(1)).await;
    }
    settle().await;
    auth
}

/// Returns the revision from which the watcher requested each stream.
fn begun_at(auth: &FakeAuth) -> Vec<Option<i64>> {
    auth.watching
        .calls
        .lock()
        .expect("no panic")
        .iter()
        .map(|call| call.0)
        .collect()
}

/// Returns the times between the requests of successive streams, in milliseconds.
fn pauses(auth: &FakeAuth) -> Vec<u128> {
    let calls = auth.watching.calls.lock().expect("no panic");
    calls
        .windows(2)
        .map(|calls| (calls[1].1 - calls[0].1).as_millis())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn all_users_and_the_changes_behind_them_are_told_once_through_interruptions() {
    let watcher = Watcher::default();
    let stops = Status::unavailable("the replica stops");
    let streams = vec![
        stream([change(0, 1), change(0, 2), progress(7), change(8, 9)]),
        failing(stream([change(9, 3)]), stops),
        stream([change(10, 4)]),
    ];
    let auth = watch(&watcher, streams).await;
    assert_eq!(begun_at(&auth), [None, Some(8), Some(9), Some(10)]);
    let snapshot = [change(0, 1), change(0, 2), progress(7)];
    let expected = [&snapshot[..], &[change(8, 9), change(9, 3), change(10, 4)]].concat();
    assert_eq!(watcher.events(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_that_breaks_begins_again() {
    let watcher = Watcher::default();
    let auth = watch(
        &watcher,
        vec![stream([change(0, 1)]), stream([progress(7)])],
    )
    .await;
    assert_eq!(begun_at(&auth), [None, None, Some(7)]);
}

#[tokio::test(start_paused = true)]
async fn changes_that_are_not_known_any_more_are_replaced_by_a_snapshot_at_once() {
    let (watcher, gap) = (behind(3), || refused("SNAPSHOT_REQUIRED"));
    let streams = vec![
        failing(vec![], gap()),
        stream([progress(7)]),
        failing(stream([progress(8)]), gap()),
        failing(vec![], gap()),
        stream([progress(9)]),
    ];
    let auth = watch(&watcher, streams).await;
    assert_eq!(
        begun_at(&auth),
        [Some(3), None, Some(7), None, Some(8), Some(9)]
    );
    assert_eq!(pauses(&auth), [0, 100, 0, 100, 100]);
    let told = watcher.0.lock().expect("no panic");
    assert_eq!(told.gaps, [false, true, false, true, false, false]);
    assert_eq!(
        told.interruptions,
        [None, Some(Reason::SnapshotRequired), None]
    );
}

#[tokio::test(start_paused = true)]
async fn pauses_are_doubled_until_a_stream_brings_a_revision() {
    let mut streams = vec![stream([change(0, 1)]); 9];
    streams.extend([stream([progress(4)]), vec![]]);
    let auth = watch(&Watcher::default(), streams).await;
    let expected = [
        100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 100, 200,
    ];
    assert_eq!(pauses(&auth), expected);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_not_stored_comes_again() {
    let watcher = behind(3);
    watcher.0.lock().expect("no panic").failures = 1;
    let streams = vec![stream([change(4, 9)]), stream([change(4, 9)])];
    let auth = watch(&watcher, streams).await;
    assert_eq!(begun_at(&auth), [Some(3), Some(3), Some(4)]);
    assert_eq!(watcher.events(), [change(4, 9)]);
}

#[tokio::test(start_paused = true)]
async fn without_permission_it_is_tried_each_minute_and_an_overloaded_service_says_when() {
    let watcher = behind(3);
    let mut overloaded = ErrorDetails::with_error_info("OVERLOADED", "rolegate", HashMap::new());
    overloaded.set_retry_info(Some(Duration::from_secs(7)));
    let code = tonic::Code::ResourceExhausted;
    let refusals = [
        refused("ROLE_INSUFFICIENT"),
        refused("TOKEN_INVALID"),
        refused("TOKEN_USER_NOT_FOUND"),
        refused("SECOND_FACTOR_REQUIRED"),
        Status::with_error_details(code, "no", overloaded),
    ];
    let auth = watch(
        &watcher,
        refusals.map(|status| failing(vec![], status)).into(),
    )
    .await;
    assert_eq!(pauses(&auth), [60_000, 60_000, 60_000, 60_000, 7_000]);
    let reasons = [
        Reason::RoleInsufficient,
        Reason::TokenInvalid,
        Reason::TokenUserNotFound,
        Reason::SecondFactorRequired,
        Reason::Overloaded,
    ];
    assert_eq!(
        watcher.0.lock().expect("no panic").interruptions,
        reasons.map(Some)
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_has_no_deadline_and_what_a_later_version_adds_is_ignored() {
    let watcher = behind(3);
    let mut streamed = stream([change(4, 1)]);
    streamed.insert(0, Ok(WatchUsersResponse { item: None }));
    let auth = watch(&watcher, vec![streamed]).await;
    assert_eq!(watcher.events(), [change(4, 1)]);
    sleep(Duration::from_hours(24)).await;
    assert_eq!(
        begun_at(&auth),
        [Some(3), Some(4)],
        "the second stream hangs, and goes on"
    );
}

#[tokio::test(start_paused = true)]
async fn the_last_seal_is_sent_with_and_without_a_revision_and_another_history_is_refused() {
    let watcher = Watcher::default();
    let unknown = || failing(vec![], refused("HISTORY_UNKNOWN"));
    let streams = vec![
        stream([progress(7)]),
        failing(vec![], refused("SNAPSHOT_REQUIRED")),
        unknown(),
        unknown(),
        stream([progress(8)]),
    ];
    let auth = watch(&watcher, streams).await;
    let known = Some("seal of 7");
    assert_eq!(
        *auth.watching.seals.lock().expect("no panic"),
        [None, known, known, known, known, Some("seal of 8")].map(|seal| seal.map(str::to_owned))
    );
    assert_eq!(
        begun_at(&auth),
        [None, Some(7), None, Some(7), Some(7), Some(8)]
    );
    assert_eq!(
        watcher.0.lock().expect("no panic").interruptions[1..3],
        [Some(Reason::HistoryUnknown); 2]
    );
    assert_eq!(watcher.events(), [progress(7), progress(8)]);
}
