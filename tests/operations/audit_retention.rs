//! Tests `AUDIT_RETENTION_DAYS`: older rows are removed, and the rest of the record stays verifiable and readable.

use crate::{
    audit_commands::{audit, export, verified},
    stored_record::{StoredRecord, Tables, number},
};
use e2e::{
    Store, TestApp, TestSetup, eventually, for_both_stores,
    grpc::{authenticated, client, expect_error},
    token::now,
};
use rolegate_proto::auth_v1::{WatchUsersRequest, WatchUsersResponse, watch_users_response::Item};
use serde_json::{Value, json};
use tonic::{Code, Streaming};

for_both_stores!(
    what_is_too_old_leaves_the_record_two_days_an_hour,
    a_clock_that_is_ahead_does_not_cost_the_record,
    an_upgrade_marks_where_a_shortened_record_begins_and_later_removals_are_found,
);

const DAY: i64 = 86_400;

/// Moves the rows of the first seals into the past, by the given number of days for each seal, and computes all seals
/// anew.
fn age(record: &mut StoredRecord, days: &[i64]) {
    let now = i64::try_from(now()).expect("a time");
    for (index, days) in days.iter().enumerate() {
        let between = [index, index + 1].map(|it| number(&record.seals[it], "revision"));
        for row in &mut record.rows {
            let revision = number(row, "revision");
            if between[0] < revision && revision <= between[1] {
                row.insert("at".to_owned(), (now - days * DAY).into());
            }
        }
    }
    record.seal();
}

/// Starts a service whose record has at least five seals. It registers users one by one, so that each has a batch.
async fn start(store: Store) -> TestApp {
    let app = TestSetup::all_in_one(store)
        .with("AUDIT_RETENTION_DAYS", "90")
        .start()
        .await;
    for name in ["ann", "bob", "carl", "dora", "eve"] {
        app.try_register(name, "a password").await.expect(200);
        verified(&app.database, None).await;
    }
    app
}

pub(crate) async fn watch(
    app: &TestApp,
    from: Option<i64>,
) -> Result<Streaming<WatchUsersResponse>, String> {
    let token = app.admin().await.token;
    let mut client = client(&app.auth().address("grpc")).await;
    let request = authenticated(
        WatchUsersRequest {
            from_revision: from,
            ..WatchUsersRequest::default()
        },
        &token,
    );
    match client.watch_users(request).await {
        Ok(response) => Ok(response.into_inner()),
        Err(status) => {
            let refused: Result<tonic::Response<()>, _> = Err(status);
            let status = expect_error(refused, Code::OutOfRange, "SNAPSHOT_REQUIRED");
            Err(status.message().to_owned())
        }
    }
}

/// Returns the usernames in the first `count` changes of a stream.
async fn names(mut stream: Streaming<WatchUsersResponse>, count: usize) -> Vec<String> {
    let mut names = Vec::new();
    while names.len() < count {
        let item = stream
            .message()
            .await
            .expect("no error")
            .expect("it goes on");
        if let Some(Item::Change(change)) = item.item {
            names.push(change.username);
        }
    }
    names
}

/// Writes the changed record to the database, and starts the service again.
async fn restart_on(app: &mut TestApp, record: &StoredRecord) {
    app.kill_auth().await;
    Tables::of(&app.database).await.write(record).await;
    app.start_auth(None).await;
}

/// Moves the last removal an hour into the past, because retention removes at most two days of rows in an hour.
async fn pass_an_hour(app: &TestApp) {
    let passed = "UPDATE audit_retention SET moved_at = moved_at - 3600".to_owned();
    Tables::of(&app.database).await.execute(passed).await;
}

/// Waits until retention has removed the record up to the revision. An export that retention overtakes must fail and
/// say that it is incomplete, so it is tried again.
async fn begins_behind(app: &TestApp, revision: i64) {
    eventually("the removal", async || {
        let exit = audit(&app.database, &["export"]).await;
        let was_overtaken = exit.stderr.contains("retention removed rows meanwhile");
        if exit.code == Some(1) && was_overtaken {
            return None;
        }
        assert_eq!(exit.code, Some(0), "{exit:?}");
        let first_line = exit.stdout.lines().next().expect("a row");
        let entry: Value = serde_json::from_str(first_line).expect("JSON");
        (entry["revision"] == json!(revision + 1)).then_some(())
    })
    .await;
}

async fn what_is_too_old_leaves_the_record_two_days_an_hour(store: Store) {
    let mut app = start(store).await;
    app.kill_auth().await;
    let mut record = Tables::of(&app.database).await.read().await;
    let revision = |record: &StoredRecord, seal: usize| number(&record.seals[seal], "revision");
    assert!(record.seals.len() >= 6, "{record:?}");
    // The third batch is too old as well. It is more than two days younger than the first two, so a later run removes
    // it.
    age(&mut record, &[200, 199, 95, 89]);
    restart_on(&mut app, &record).await;
    let (second, third) = (revision(&record, 2), revision(&record, 3));
    begins_behind(&app, second).await;
    let held = verified(&app.database, None).await;
    let refused = watch(&app, Some(second - 1)).await.err();
    assert!(refused.is_some(), "the change behind it is removed");
    let changes = names(
        watch(&app, Some(second)).await.expect("all of it is there"),
        1,
    )
    .await;
    assert_eq!(changes.len(), 1);
    let older = format!("{}:{}", revision(&record, 1), "0".repeat(64));
    let exit = audit(&app.database, &["verify", "--seal", &older]).await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    let problem = format!(
        "the seal {} cannot be compared: the record begins after revision {second}\n",
        revision(&record, 1)
    );
    assert!(exit.stdout.contains(&problem), "{exit:?}");

    // A start within an hour of the last removal removes nothing. A later start removes two more days.
    app.kill_auth().await;
    app.start_auth(None).await;
    app.try_register("gina", "a password").await.expect(200);
    verified(&app.database, Some(&held)).await;
    begins_behind(&app, second).await;
    app.kill_auth().await;
    pass_an_hour(&app).await;
    app.start_auth(None).await;
    begins_behind(&app, third).await;
    verified(&app.database, Some(&held)).await;
    assert!(
        watch(&app, Some(second)).await.is_err(),
        "it was good before"
    );
    app.try_register("frank", "a password").await.expect(200);
    let later = verified(&app.database, Some(&held)).await;
    assert_ne!(later, held);
    let from = held
        .split_once(':')
        .and_then(|(revision, _)| revision.parse().ok());
    let new = names(watch(&app, from).await.expect("there"), 2).await;
    assert_eq!(new, ["gina", "frank"]);
    let everybody = names(watch(&app, None).await.expect("allowed"), 8).await;
    assert_eq!(
        everybody,
        [
            "admin", "ann", "bob", "carl", "dora", "eve", "gina", "frank"
        ]
    );
}

async fn a_clock_that_is_ahead_does_not_cost_the_record(store: Store) {
    let mut app = start(store).await;
    app.kill_auth().await;
    let mut record = Tables::of(&app.database).await.read().await;
    // All batches but the newest are far older than the retention, as when the host's clock is a year ahead.
    let days = vec![400; record.seals.len() - 2];
    age(&mut record, &[&[403][..], &days].concat());
    restart_on(&mut app, &record).await;
    let first = number(&record.seals[1], "revision");
    begins_behind(&app, first).await;
    for _ in 0..3 {
        app.kill_auth().await;
        app.start_auth(None).await;
        verified(&app.database, None).await;
    }
    let second = app.start_second_auth().await;
    second.wait_for_readiness(200).await;
    verified(&app.database, None).await;
    let entries = export(&app.database).await;
    assert_eq!(
        entries[0]["revision"],
        json!(first + 1),
        "not more than two days of them"
    );
}

/// Removes the rows of the oldest batches, as an attacker with access to the database could.
async fn remove_batches(app: &TestApp, count: usize) -> i64 {
    let mut tables = Tables::of(&app.database).await;
    let record = tables.read().await;
    let revision = number(&record.seals[count], "revision");
    tables
        .execute(format!(
            "DELETE FROM audit WHERE revision <= {revision};
            DELETE FROM audit_seal WHERE revision < {revision};"
        ))
        .await;
    revision
}

/// Takes the migration of retention back, so that the next start upgrades a database of the previous release.
async fn undo_migration(app: &TestApp) {
    let undo =
        "DROP TABLE audit_retention; DROP TABLE addition; DROP INDEX audit_pending_urgent_idx;
        DROP INDEX audit_pending_imported_idx; DELETE FROM _sqlx_migrations WHERE version = 11;";
    let mut tables = Tables::of(&app.database).await;
    tables.execute(undo.to_owned()).await;
}

async fn an_upgrade_marks_where_a_shortened_record_begins_and_later_removals_are_found(
    store: Store,
) {
    let mut app = start(store).await;
    app.kill_auth().await;
    remove_batches(&app, 1).await;
    undo_migration(&app).await;
    app.start_auth(None).await;
    verified(&app.database, None).await;
    let exit = audit(&app.database, &["verify"]).await;
    let mark = "were removed before the upgrade on 20";
    assert!(exit.stderr.contains(mark), "{exit:?}");
    let revision = remove_batches(&app, 1).await;
    let exit = audit(&app.database, &["verify"]).await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    let problem = format!("the rows up to revision {revision}, of ");
    assert!(exit.stdout.starts_with(&problem), "{exit:?}");
}
