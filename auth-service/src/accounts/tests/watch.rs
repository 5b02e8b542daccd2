//! Tests of streams of the changes of users.

use super::{App, POLICY};
use crate::{
    accounts::{
        UserUpdateRequest,
        WatchItem::{self, Change, Progress},
        WatchStart, Watcher,
        record::watch::WatchItems,
    },
    user::User,
};
use futures_util::StreamExt as _;
use rolegate_proto::{Reason, Role};
use std::time::Duration;
use tokio::time::timeout;

impl App {
    fn admin(&self) -> Watcher {
        Watcher::Bearer(self.admin.clone().into())
    }

    /// Creates an app whose record is sealed in the background.
    async fn kept() -> Self {
        let app = Self::new(POLICY).await;
        app.record.start_maintenance(90);
        app
    }

    async fn newest(&self) -> i64 {
        while self.store.seal().await.expect("sealed") {}
        self.store.seals().await.expect("a seal").newest.revision
    }
}

/// The start of a stream after this revision; `None` starts with a snapshot.
fn behind(revision: Option<i64>) -> WatchStart {
    WatchStart {
        revision,
        seal: None,
    }
}

async fn next(items: &mut WatchItems) -> WatchItem {
    let next = timeout(Duration::from_mins(1), items.next()).await;
    next.expect("in time").expect("goes on").expect("allowed")
}

async fn change(items: &mut WatchItems) -> (i64, String, Role, bool, bool) {
    let Change(change) = next(items).await else {
        panic!("a change")
    };
    (
        change.revision,
        change.username,
        change.role,
        change.disabled,
        change.deleted,
    )
}

#[tokio::test]
async fn a_stream_has_all_users_and_then_each_change_once_in_order() {
    let app = App::kept().await;
    let users = &app.users;
    let mut items = app
        .record
        .watch_users(app.admin(), behind(None))
        .await
        .expect("allowed");
    assert_eq!(
        change(&mut items).await,
        (0, "admin".to_owned(), Role::ADMIN, false, false)
    );
    let Progress(end) = next(&mut items).await else {
        panic!("the end of the snapshot")
    };
    let ann = app.register("ann").await.expect("registered");
    users
        .set_user_role(&app.admin, ann.id, Ok(Role::AUTHOR))
        .await
        .expect("set");
    users
        .update_user(
            &app.admin,
            ann.id,
            UserUpdateRequest {
                username: None,
                disabled: Some(true),
                end: None,
            },
        )
        .await
        .expect("disabled");
    users
        .delete_user(&app.admin, ann.id)
        .await
        .expect("deleted");
    let mut last = end.revision;
    for (role, disabled, deleted) in [
        (Role::USER, false, false),
        (Role::AUTHOR, false, false),
        (Role::AUTHOR, true, false),
        (Role::AUTHOR, true, true),
    ] {
        let (revision, name, ..) = {
            let change = change(&mut items).await;
            assert_eq!((change.2, change.3, change.4), (role, disabled, deleted));
            change
        };
        assert!(revision > last && name == "ann");
        last = revision;
    }
    let mut again = app
        .record
        .watch_users(app.admin(), behind(Some(last - 1)))
        .await
        .expect("allowed");
    assert_eq!(change(&mut again).await.0, last, "only what is behind");
    assert_eq!(app.newest().await, last);
}

#[tokio::test]
async fn a_revision_that_the_record_does_not_have_needs_a_snapshot() {
    let app = App::new(POLICY).await;
    let newest = app.newest().await;
    for from in [-1, newest + 1, i64::MAX] {
        let refused = app
            .record
            .watch_users(app.admin(), behind(Some(from)))
            .await;
        assert_err!(refused, SnapshotRequired);
    }
    for from in [0, newest] {
        app.record
            .watch_users(app.admin(), behind(Some(from)))
            .await
            .expect("known");
    }
}

#[tokio::test]
async fn only_admins_and_named_services_watch_and_only_as_long_as_they_may() {
    let app = App::kept().await;
    let ann = app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let by = |token: &str| Watcher::Bearer(token.to_owned().into());
    assert_err!(
        app.record.watch_users(by(&token), behind(None)).await,
        RoleInsufficient
    );
    assert_err!(
        app.record.watch_users(by(""), behind(None)).await,
        TokenInvalid
    );
    app.set_role(ann.id, Role::ADMIN).await;
    let from = Some(app.newest().await);
    let mut items = app
        .record
        .watch_users(by(&token), behind(from))
        .await
        .expect("an admin");
    let service = Watcher::Service("posts".to_owned());
    let mut of_service = app
        .record
        .watch_users(service, behind(from))
        .await
        .expect("named");
    app.set_role(ann.id, Role::USER).await;
    let mut ended = None;
    while let Some(item) = timeout(Duration::from_secs(2), items.next())
        .await
        .expect("in time")
    {
        ended = item.err();
    }
    assert_eq!(
        ended.map(|error| error.reason()),
        Some(Reason::RoleInsufficient)
    );
    assert_eq!(change(&mut of_service).await.2, Role::USER, "goes on");
}

#[tokio::test]
async fn a_caller_has_eight_streams_and_they_end_with_the_replica() {
    let app = App::kept().await;
    let watch = async || app.record.watch_users(app.admin(), behind(Some(0))).await;
    let mut streams = Vec::new();
    for _ in 0..8 {
        streams.push(watch().await.expect("a place"));
    }
    assert_err!(watch().await, Overloaded);
    let service = Watcher::Service("posts".to_owned());
    app.record
        .watch_users(service, behind(Some(0)))
        .await
        .expect("another caller");
    drop(streams.pop());
    let again = async {
        while watch().await.is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_mins(1), again)
        .await
        .expect("the place is free again");
    app.record.end_of_watches().stop_now();
    for mut items in streams {
        while timeout(Duration::from_mins(1), items.next())
            .await
            .expect("ends")
            .is_some()
        {}
    }
}

impl App {
    /// Inserts users whose names end with a number.
    async fn insert_users(&self, count: usize) {
        for number in 0..count {
            self.insert_user(&format!("user {number}"), "hash").await;
        }
    }
}

#[tokio::test]
async fn a_slow_reader_learns_that_retention_has_removed_changes_ahead_of_it() {
    let app = App::kept().await;
    let from = app.newest().await;
    app.insert_users(1200).await;
    let newest = app.newest().await;
    let watched = app.record.watch_users(app.admin(), behind(Some(from)));
    let mut items = watched.await.expect("an admin");
    change(&mut items).await;
    app.store.remove_through(newest - 100);
    let mut seen = 1;
    let error = loop {
        match items.next().await.expect("it ends with an error") {
            Ok(_) => seen += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.reason(), Reason::SnapshotRequired);
    assert!(seen <= 500, "only those that were read before: {seen}");
}

#[tokio::test]
async fn a_demoted_admin_gets_no_item_that_waits() {
    let app = App::kept().await;
    app.insert_users(300).await;
    let ann = app.register("ann").await.expect("registered");
    app.set_role(ann.id, Role::ADMIN).await;
    let token = app.login("ann", "sesame").await.expect("logged in");
    let watcher = Watcher::Bearer(token.into());
    let stream = app.record.watch_users(watcher, behind(None));
    let mut items = stream.await.expect("an admin");
    change(&mut items).await;
    app.set_role(ann.id, Role::USER).await;
    let mut seen = 1;
    let error = loop {
        // The reader is so slow that items wait, and so fast that it takes one before each check.
        tokio::time::sleep(Duration::from_millis(100)).await;
        match items.next().await.expect("it ends with an error") {
            Ok(_) => seen += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.reason(), Reason::RoleInsufficient);
    assert!(seen < 64, "the items that waited are not sent: {seen}");
}

#[tokio::test]
async fn a_full_house_of_snapshots_is_refused_at_once_and_a_slow_one_ends() {
    let app = App::kept().await;
    app.insert_users(300).await;
    let service = |name: &str| Watcher::Service(name.to_owned());
    let watch = async |name: &str| app.record.watch_users(service(name), behind(None)).await;
    let mut slow = watch("slow").await.expect("a place");
    let slower = watch("slower").await.expect("a place");
    assert_err!(watch("posts").await, Overloaded);
    let from = Some(app.newest().await);
    let changes = app.record.watch_users(service("posts"), behind(from));
    changes.await.expect("changes need no snapshot");
    tokio::time::pause();
    let error = loop {
        // The clock advances while the caller takes no item.
        tokio::time::sleep(Duration::from_secs(40)).await;
        if let Err(error) = slow.next().await.expect("it ends with an error") {
            break error;
        }
    };
    assert_eq!(error.reason(), Reason::Overloaded);
    tokio::time::resume();
    drop(slower);
    let again = async {
        while watch("posts").await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    let again = timeout(Duration::from_mins(1), again).await;
    again.expect("the place is free again");
}

impl App {
    /// Creates a second admin, and returns it with an access token.
    async fn second_admin(&self) -> (User, String) {
        let ann = self.register("ann").await.expect("registered");
        self.set_role(ann.id, Role::ADMIN).await;
        let token = self.login("ann", "sesame").await.expect("logged in");
        (ann, token)
    }

    async fn demote(&self, user: &User) {
        self.set_role(user.id, Role::USER).await;
    }
}

/// Returns the error of a stream that has no item to send. Panics if the error takes more than a
/// second.
async fn end_within_a_second(items: &mut WatchItems) -> Reason {
    let next = timeout(Duration::from_secs(1), items.next()).await;
    let error = next.expect("in time").expect("an error");
    error.expect_err("no item").reason()
}

#[tokio::test]
async fn a_demoted_admin_is_cut_while_the_stream_waits_for_its_turn_to_read() {
    let app = App::kept().await;
    let (ann, token) = app.second_admin().await;
    let from = app.newest().await;
    let watcher = Watcher::Bearer(token.into());
    let stream = app.record.watch_users(watcher, behind(Some(from)));
    let mut items = stream.await.expect("an admin");
    // These permits are held as if other streams were reading a locked record.
    let reads = app.record.watches.record_reads.acquire_many(2);
    let _reads = reads.await.expect("open");
    tokio::time::pause();
    app.insert_users(1).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    app.demote(&ann).await;
    assert_eq!(
        end_within_a_second(&mut items).await,
        Reason::RoleInsufficient
    );
}

#[tokio::test]
async fn a_demoted_admin_is_cut_before_a_slow_snapshot_begins() {
    let app = App::kept().await;
    let (ann, token) = app.second_admin().await;
    app.store.stall_snapshots();
    let watcher = Watcher::Bearer(token.into());
    let stream = app.record.watch_users(watcher, behind(None));
    let mut items = stream.await.expect("an admin");
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(5)).await;
    app.demote(&ann).await;
    assert_eq!(
        end_within_a_second(&mut items).await,
        Reason::RoleInsufficient
    );
}

#[tokio::test]
async fn a_stream_that_cannot_read_the_record_in_time_does_not_begin() {
    let app = App::new(POLICY).await;
    let from = Some(app.newest().await);
    let reads = app.record.watches.record_reads.acquire_many(2);
    let reads = reads.await.expect("open");
    tokio::time::pause();
    let refused = app.record.watch_users(app.admin(), behind(from)).await;
    assert_err!(refused, Overloaded);
    tokio::time::resume();
    drop(reads);
    let watched = app.record.watch_users(app.admin(), behind(from)).await;
    watched.expect("there is room");
}

#[tokio::test]
async fn a_change_that_cannot_be_read_ends_the_stream_behind_those_before_it() {
    let app = App::kept().await;
    let from = app.newest().await;
    app.insert_users(100).await;
    app.newest().await;
    app.store.damage(from + 81);
    let stream = app.record.watch_users(app.admin(), behind(Some(from)));
    let mut items = stream.await.expect("an admin");
    for expected in from + 1..=from + 80 {
        assert_eq!(change(&mut items).await.0, expected);
    }
    let ended = timeout(Duration::from_mins(1), items.next()).await;
    let error = ended.expect("in time").expect("an error");
    let error = error.expect_err("it skips nothing");
    assert_eq!(error.reason(), Reason::SnapshotRequired);
    let named = format!("the change of revision {} cannot be read", from + 81);
    assert_eq!(error.to_string(), named);
    assert!(items.next().await.is_none(), "it has ended");
}

#[tokio::test]
async fn a_demoted_admin_gets_no_item_before_a_change_that_cannot_be_read() {
    let app = App::kept().await;
    let (ann, token) = app.second_admin().await;
    let from = app.newest().await;
    app.insert_users(20).await;
    app.newest().await;
    app.store.damage(from + 20);
    let watcher = Watcher::Bearer(token.into());
    let stream = app.record.watch_users(watcher, behind(Some(from)));
    let mut items = stream.await.expect("an admin");
    change(&mut items).await;
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(5)).await;
    app.demote(&ann).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        end_within_a_second(&mut items).await,
        Reason::RoleInsufficient
    );
}
