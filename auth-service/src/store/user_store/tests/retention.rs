//! Tests which rows retention removes, and which removals it records, on each engine.

use super::end_all::{Opened, open};
use crate::{
    audit::{AuditRow, Entry},
    store::user_store::audit::pending_rows::insert_pending,
};
use serde_json::{Value, json};

postgres_cluster::conformance_tests! {
    open: open,
    cases: [
        two_days_leave_in_an_hour_however_often_it_is_tried_and_the_record_says_so,
        a_batch_that_spans_more_than_two_days_leaves_in_the_end,
        a_row_from_the_future_does_not_keep_the_others,
        many_rows_from_the_future_or_from_before_2020_do_not_keep_the_others,
        many_rows_of_a_clock_that_was_ahead_for_a_moment_do_not_keep_the_others,
        an_interrupted_removal_goes_on_within_the_hour,
        a_clock_that_was_ahead_removes_nothing_when_it_comes_back,
        rows_that_an_older_release_removed_are_said_to_be_removed_if_they_were_old,
    ]
}

const DAYS: u32 = 90;

impl Opened {
    /// Seals a batch of rows, each of which was written this many days ago.
    async fn seal_aged(&self, days_ago: &[i64]) {
        self.seal().await;
        let database = &self.operator_database.database;
        for days in days_ago {
            let row = AuditRow {
                event: "login_ok".to_owned(),
                user_id: Some(5),
                ..AuditRow::default()
            };
            let entry = Entry::new(row, json!({}));
            let insert = insert_pending(database.statement(""), &[entry]);
            let inserted = database.write::<i64>(insert).await.expect("inserted");
            let age = database
                .statement("UPDATE audit_pending SET at = at - $1 WHERE id = $2 RETURNING id")
                .bind(days * 86_400)
                .bind(inserted[0]);
            database.write::<i64>(age).await.expect("aged");
        }
        self.seal().await;
    }

    async fn remove_old(&self) {
        self.store.remove_old_rows(DAYS).await.expect("removed");
        self.seal().await;
    }

    /// Pretends that an hour has passed since the cutoff was moved.
    async fn pass_an_hour(&self) {
        self.execute("UPDATE audit_retention SET moved_at = moved_at - 3600 RETURNING moved_at")
            .await;
    }

    /// Returns the number of rows about logins, and the details of the rows about removals.
    async fn left(&self) -> (usize, Vec<Value>) {
        let rows = self.record().await;
        let logins = rows.iter().filter(|row| row.event == "login_ok").count();
        let removals = rows.iter().filter(|row| row.event == "audit_pruned");
        let details = removals.map(|row| serde_json::from_str(&row.details).expect("JSON"));
        (logins, details.collect())
    }
}

async fn two_days_leave_in_an_hour_however_often_it_is_tried_and_the_record_says_so(
    opened: &Opened,
) {
    for days in [200, 199, 197, 150, 89, 1] {
        opened.seal_aged(&[days]).await;
    }
    for _ in 0..3 {
        opened.remove_old().await;
        let (logins, removals) = opened.left().await;
        assert_eq!(logins, 4, "of 200 and 199 days");
        assert_eq!(removals.len(), 1);
        assert_eq!(removals[0]["retention_days"], 90);
        let base = opened.store.seals().await.expect("read").oldest.revision;
        assert_eq!(removals[0]["removed_through"], base);
    }
    for expected in [3, 2, 2] {
        opened.pass_an_hour().await;
        opened.remove_old().await;
        assert_eq!(opened.left().await.0, expected);
    }
}

async fn a_batch_that_spans_more_than_two_days_leaves_in_the_end(opened: &Opened) {
    opened.seal_aged(&[205, 203, 201, 199]).await;
    opened.seal_aged(&[80]).await;
    for expected in [5, 5, 5, 1] {
        opened.remove_old().await;
        assert_eq!(opened.left().await.0, expected);
        opened.pass_an_hour().await;
    }
}

async fn a_row_from_the_future_does_not_keep_the_others(opened: &Opened) {
    for days in [200, -365, 199, 199, 80] {
        opened.seal_aged(&[days]).await;
    }
    opened.remove_old().await;
    let (logins, removals) = opened.left().await;
    assert_eq!(logins, 1, "that of 80 days");
    assert_eq!(removals.len(), 1);
}

/// A number of rows that exceeds a page of retention.
const MANY: usize = 20_100;

impl Opened {
    /// Seals many rows that were written this many days ago.
    async fn seal_many_aged(&self, days_ago: i64) {
        self.seal().await;
        let row = AuditRow {
            event: "login_failed".to_owned(),
            ..AuditRow::default()
        };
        let entry = Entry::new(row, json!({}));
        let database = &self.operator_database.database;
        let insert = insert_pending(database.statement(""), &vec![entry; MANY]);
        database.write::<i64>(insert).await.expect("inserted");
        let age = database
            .statement("UPDATE audit_pending SET at = at - $1 RETURNING id")
            .bind(days_ago * 86_400);
        database.write::<i64>(age).await.expect("aged");
        self.seal().await;
    }
}

async fn many_rows_from_the_future_or_from_before_2020_do_not_keep_the_others(opened: &Opened) {
    opened.seal_many_aged(-3650).await;
    opened.seal_aged(&[200]).await;
    opened.seal_aged(&[199]).await;
    opened.seal_many_aged(20_000).await;
    for days in [199, 80, 79] {
        opened.seal_aged(&[days]).await;
    }
    opened.remove_old().await;
    let (logins, removals) = opened.left().await;
    assert_eq!(logins, 2, "those of 80 and 79 days");
    assert_eq!(removals.len(), 1);
    let rows = opened.record().await;
    assert_eq!(rows.len(), 3, "the others left with those around them");
}

async fn many_rows_of_a_clock_that_was_ahead_for_a_moment_do_not_keep_the_others(opened: &Opened) {
    opened.seal_aged(&[60; 25]).await;
    for _ in 0..26 {
        opened.seal_aged(&[200]).await;
    }
    opened.seal_aged(&[80]).await;
    opened.remove_old().await;
    let (logins, removals) = opened.left().await;
    assert_eq!(logins, 1, "that of 80 days");
    assert_eq!(removals.len(), 1);
}

async fn an_interrupted_removal_goes_on_within_the_hour(opened: &Opened) {
    for days in [200, 195, 80] {
        opened.seal_aged(&[days]).await;
    }
    for _ in 0..2 {
        opened.remove_old().await;
        assert_eq!(opened.left().await.0, 2, "two days an hour");
    }
    // This imitates a process that moved the cutoff, and ended before it removed any rows.
    opened
        .execute(
            "UPDATE audit_retention SET removed_before = removed_before + 345600 RETURNING moved_at",
        )
        .await;
    opened.remove_old().await;
    assert_eq!(opened.left().await.0, 1);
}

async fn a_clock_that_was_ahead_removes_nothing_when_it_comes_back(opened: &Opened) {
    opened.seal_aged(&[200]).await;
    opened
        .execute("UPDATE audit_retention SET moved_at = 4000000000 RETURNING moved_at")
        .await;
    for _ in 0..2 {
        opened.remove_old().await;
        assert_eq!(opened.left().await.0, 1);
    }
    opened.pass_an_hour().await;
    opened.remove_old().await;
    assert_eq!(opened.left().await.0, 0);
}

async fn rows_that_an_older_release_removed_are_said_to_be_removed_if_they_were_old(
    opened: &Opened,
) {
    for days in [200, 199, 80, 1] {
        opened.seal_aged(&[days]).await;
    }
    let oldest = opened.store.seals().await.expect("read").oldest.revision;
    opened.remove_through(oldest + 2).await;
    opened.remove_old().await;
    let (logins, removals) = opened.left().await;
    assert_eq!(logins, 2);
    assert_eq!(removals[0]["removed_through"], oldest + 2);
    // A removal of young rows is not recorded, because retention would not have removed them.
    opened.remove_through(oldest + 3).await;
    opened.remove_old().await;
    let (logins, removals) = opened.left().await;
    assert_eq!((logins, removals.len()), (1, 1));
}
