//! Tests that a watcher receives every change of users once, through interruptions, gaps and refusals.

use crate::{HANG_TIMEOUT, TestService, settle, start, token};
use auth_fixture::{Calls, refusal};
use rolegate_auth_client::{
    CallError, Reason, UserChange, UserEvent, UserWatcher, WatchError, WatchPosition,
    WatchProgress,
    auth_v1::{WatchUsersRequest, WatchUsersResponse},
};
use rolegate_proto::ERROR_DOMAIN;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, advance, timeout},
};
use tonic::Status;
use tonic_types::{ErrorDetails, StatusExt as _};

const METHOD: &str = "WatchUsers";
/// The ids of the users of the fixture, in the order of a snapshot.
const USERS: [i64; 11] = [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12];
/// The number of events of a snapshot: a change for each user, and a progress.
const SNAPSHOT: usize = USERS.len() + 1;

/// A watcher that stores the revision and the seal of each event.
#[derive(Clone, Default)]
struct Watcher {
    log: Arc<watch::Sender<WatchLog>>,
}

#[derive(Default)]
struct WatchLog {
    revision: Option<i64>,
    seal: Option<String>,
    connected_at: Vec<Instant>,
    gaps: Vec<bool>,
    events: Vec<UserEvent>,
    interruptions: Vec<Option<Reason>>,
    /// The number of further events that the watcher fails to store.
    failures: usize,
}

impl WatchLog {
    /// Stores an event, and returns whether that succeeded.
    fn store(&mut self, event: UserEvent) -> bool {
        if self.failures > 0 {
            self.failures -= 1;
            return false;
        }
        if revision(&event) > 0 {
            self.revision = Some(revision(&event));
            self.seal = seal(&event);
        }
        self.events.push(event);
        true
    }

    fn revisions(&self) -> Vec<i64> {
        self.events.iter().map(revision).collect()
    }

    /// Returns the users of the changes.
    fn users(&self) -> Vec<i64> {
        let users = self.events.iter().filter_map(|event| match event {
            UserEvent::Change(change) => Some(change.user_id),
            UserEvent::Progress(_) => None,
        });
        users.collect()
    }

    /// Returns the times between successive connections, in milliseconds.
    fn pauses(&self) -> Vec<u128> {
        let pairs = self.connected_at.windows(2);
        pairs.map(|pair| (pair[1] - pair[0]).as_millis()).collect()
    }
}

fn revision(event: &UserEvent) -> i64 {
    let (UserEvent::Change(UserChange { revision, .. })
    | UserEvent::Progress(WatchProgress { revision, .. })) = event;
    *revision
}

fn seal(event: &UserEvent) -> Option<String> {
    let (UserEvent::Change(UserChange { seal, .. })
    | UserEvent::Progress(WatchProgress { seal, .. })) = event;
    seal.clone()
}

impl UserWatcher for Watcher {
    async fn connect(&mut self, has_gap: bool) -> Result<WatchPosition, WatchError> {
        self.log.send_modify(|log| {
            log.gaps.push(has_gap);
            log.connected_at.push(Instant::now());
        });
        let log = self.log.borrow();
        Ok(WatchPosition {
            token: Some(token("admin").into()),
            revision: log.revision,
            seal: log.seal.clone(),
        })
    }

    async fn handle(&mut self, event: UserEvent) -> Result<(), WatchError> {
        let is_stored = self.log.send_if_modified(|log| log.store(event));
        is_stored.then_some(()).ok_or("not stored".into())
    }

    fn interrupted(&mut self, error: &WatchError) {
        let reason = error.downcast_ref().and_then(CallError::reason);
        self.log.send_modify(|log| log.interruptions.push(reason));
    }
}

impl Watcher {
    /// Begins to watch.
    fn follow(&self, service: &TestService) {
        let client = service.client.clone();
        let mut watcher = self.clone();
        tokio::spawn(async move { client.watch_users(&mut watcher).await });
    }

    async fn wait_until(&self, is_reached: impl FnMut(&WatchLog) -> bool) {
        let mut log = self.log.subscribe();
        let reached = timeout(HANG_TIMEOUT, log.wait_for(is_reached)).await;
        assert!(reached.is_ok(), "this never happens");
    }

    async fn wait_for_events(&self, count: usize) {
        self.wait_until(|log| log.events.len() >= count).await;
    }

    /// Lets the client pause for so many milliseconds after each interruption, until the service has answered the
    /// last request. The clock stops a millisecond before the end of each pause, to show that it is not shorter.
    async fn pause<const N: usize>(&self, service: &TestService, pauses: [u64; N]) {
        for (index, pause) in pauses.into_iter().enumerate() {
            self.wait_until(|log| log.interruptions.len() > index).await;
            advance(Duration::from_millis(pause - 1)).await;
            settle().await;
            advance(Duration::from_millis(1)).await;
            settle().await;
        }
        let requests = self.log.borrow().connected_at.len();
        service.calls.wait_for(METHOD, requests).await;
    }
}

/// Returns the revision from which the watcher requested each stream.
fn begun_at(calls: &Calls) -> Vec<Option<i64>> {
    let requests = calls.requests::<WatchUsersRequest>(METHOD).into_iter();
    requests.map(|request| request.from_revision).collect()
}

/// Returns the status of a clean end.
fn end() -> Status {
    Status::ok("")
}

/// Returns the status of a refusal that does not say when to retry.
fn refused(reason: Reason) -> Status {
    let info = ErrorDetails::with_error_info(reason.as_str(), ERROR_DOMAIN, HashMap::new());
    Status::with_error_details(reason.code(), "", info)
}

#[tokio::test(start_paused = true)]
async fn all_users_and_the_changes_behind_them_are_told_once_through_interruptions() {
    let service = start(&[]);
    let watcher = Watcher::default();
    let stops = Status::unavailable("the replica stops");
    service.calls.end_next(METHOD, SNAPSHOT + 1, end());
    service.calls.end_next(METHOD, 1, stops);
    service.calls.end_next(METHOD, 1, end());
    watcher.follow(&service);
    watcher.wait_for_events(SNAPSHOT).await;
    service.change_roles([9, 3, 5]).await;
    watcher.pause(&service, [100; 3]).await;
    let log = watcher.log.borrow();
    assert_eq!(log.users(), [&USERS[..], &[9, 3, 5]].concat());
    let revisions = log.revisions();
    assert_eq!(revisions[..USERS.len()], [0; USERS.len()]);
    let [progress, first, second, third] = revisions[USERS.len()..] else {
        panic!("{revisions:?}")
    };
    assert!(progress < first && first < second && second < third);
    assert_eq!(
        begun_at(&service.calls),
        [None, Some(first), Some(second), Some(third)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_that_breaks_begins_again() {
    let service = start(&[]);
    let watcher = Watcher::default();
    service.calls.end_next(METHOD, 1, end());
    service.calls.end_next(METHOD, SNAPSHOT, end());
    watcher.follow(&service);
    watcher.pause(&service, [100; 2]).await;
    let revision = watcher.log.borrow().revision;
    assert!(revision > Some(0));
    assert_eq!(begun_at(&service.calls), [None, None, revision]);
}

#[tokio::test(start_paused = true)]
async fn changes_that_are_not_known_any_more_are_replaced_by_a_snapshot_at_once() {
    let service = start(&[]);
    let watcher = Watcher::default();
    watcher.log.send_modify(|log| log.revision = Some(3));
    let gap = || refused(Reason::SnapshotRequired);
    service.calls.fail_next(METHOD, gap());
    service.calls.end_next(METHOD, SNAPSHOT, end());
    service.calls.end_next(METHOD, 1, gap());
    service.calls.fail_next(METHOD, gap());
    service.calls.end_next(METHOD, 1, end());
    watcher.follow(&service);
    watcher.wait_for_events(SNAPSHOT).await;
    service.change_roles([9, 3]).await;
    watcher.pause(&service, [100; 3]).await;
    let log = watcher.log.borrow();
    let revisions = log.revisions();
    let [progress, first, second] = revisions[USERS.len()..] else {
        panic!("{revisions:?}")
    };
    assert_eq!(
        begun_at(&service.calls),
        [
            Some(3),
            None,
            Some(progress),
            None,
            Some(first),
            Some(second)
        ]
    );
    assert_eq!(log.pauses(), [0, 100, 0, 100, 100]);
    assert_eq!(log.gaps, [false, true, false, true, false, false]);
    assert_eq!(
        log.interruptions,
        [None, Some(Reason::SnapshotRequired), None]
    );
}

#[tokio::test(start_paused = true)]
async fn pauses_are_doubled_until_a_stream_brings_a_revision() {
    let service = start(&[]);
    let watcher = Watcher::default();
    for _ in 0..9 {
        service.calls.end_next(METHOD, 1, end());
    }
    service.calls.end_next(METHOD, SNAPSHOT, end());
    service.calls.end_next(METHOD, 0, end());
    watcher.follow(&service);
    let expected = [
        100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 100, 200,
    ];
    watcher.pause(&service, expected).await;
    assert_eq!(watcher.log.borrow().pauses(), expected.map(u128::from));
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_not_stored_comes_again() {
    let service = start(&[]);
    let watcher = Watcher::default();
    watcher.follow(&service);
    watcher.wait_for_events(SNAPSHOT).await;
    watcher.log.send_modify(|log| log.failures = 1);
    service.calls.end_next(METHOD, 1, end());
    service.change_roles([9]).await;
    watcher.pause(&service, [100; 2]).await;
    let log = watcher.log.borrow();
    let progress = log.revisions()[USERS.len()];
    assert_eq!(
        begun_at(&service.calls),
        [None, Some(progress), log.revision]
    );
    assert_eq!(log.users(), [&USERS[..], &[9]].concat());
}

#[tokio::test(start_paused = true)]
async fn without_permission_it_is_tried_each_minute_and_an_overloaded_service_says_when() {
    let service = start(&[]);
    let watcher = Watcher::default();
    let lasting = [
        Reason::RoleInsufficient,
        Reason::TokenInvalid,
        Reason::TokenUserNotFound,
        Reason::SecondFactorRequired,
    ];
    for reason in lasting {
        service.calls.fail_next(METHOD, refused(reason));
    }
    service.calls.fail_next(METHOD, refusal(Reason::Overloaded));
    watcher.follow(&service);
    let expected = [60_000, 60_000, 60_000, 60_000, 7_000];
    watcher.pause(&service, expected).await;
    let log = watcher.log.borrow();
    assert_eq!(log.pauses(), expected.map(u128::from));
    let reasons = [&lasting[..], &[Reason::Overloaded]].concat();
    let interruptions: Option<Vec<_>> = log.interruptions.iter().copied().collect();
    assert_eq!(interruptions, Some(reasons));
}

#[tokio::test(start_paused = true)]
async fn a_stream_has_no_deadline_and_what_a_later_version_adds_is_ignored() {
    let service = start(&[]);
    let watcher = Watcher::default();
    // The progress becomes an item that the client does not know.
    service
        .calls
        .edit(METHOD, |response: &mut WatchUsersResponse| {
            response.item = response
                .item
                .take()
                .filter(|item| matches!(item, UserEvent::Change(_)));
        });
    watcher.follow(&service);
    watcher.wait_for_events(USERS.len()).await;
    service.change_roles([9]).await;
    watcher.wait_for_events(USERS.len() + 1).await;
    advance(Duration::from_hours(24)).await;
    service.change_roles([3]).await;
    watcher.wait_for_events(USERS.len() + 2).await;
    let log = watcher.log.borrow();
    assert_eq!(log.users(), [&USERS[..], &[9, 3]].concat());
    assert_eq!(begun_at(&service.calls), [None], "the stream goes on");
    let mut calls = service.calls.all().into_iter();
    let call = calls.find(|call| call.method == METHOD);
    assert!(!call.expect("a stream").has_deadline);
}

#[tokio::test(start_paused = true)]
async fn the_last_seal_is_sent_with_and_without_a_revision_and_another_history_is_refused() {
    let service = start(&[]);
    let watcher = Watcher::default();
    service.calls.end_next(METHOD, SNAPSHOT, end());
    let refusals = [
        Reason::SnapshotRequired,
        Reason::HistoryUnknown,
        Reason::HistoryUnknown,
    ];
    for reason in refusals {
        service.calls.fail_next(METHOD, refused(reason));
    }
    service.calls.end_next(METHOD, 1, end());
    watcher.follow(&service);
    watcher.wait_for_events(SNAPSHOT).await;
    service.change_roles([9]).await;
    watcher.pause(&service, [100, 200, 400, 100]).await;
    let log = watcher.log.borrow();
    let [progress, change] = &log.events[USERS.len()..] else {
        panic!("{:?}", log.events)
    };
    let (known, last) = (seal(progress), seal(change));
    assert!(known.is_some() && last.is_some() && known != last);
    let requests = service.calls.requests::<WatchUsersRequest>(METHOD);
    let seals: Vec<_> = requests.into_iter().map(|request| request.seal).collect();
    assert_eq!(
        seals,
        [
            None,
            known.clone(),
            known.clone(),
            known.clone(),
            known,
            last
        ]
    );
    let (known, last) = (Some(revision(progress)), Some(revision(change)));
    assert_eq!(
        begun_at(&service.calls),
        [None, known, None, known, known, last]
    );
    assert_eq!(log.interruptions[1..3], [Some(Reason::HistoryUnknown); 2]);
}
