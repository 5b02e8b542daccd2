//! Tests the reading of the record in pages, on each engine.

use super::end_all::{Opened, open};
use crate::{
    audit::{AuditRow, Entry},
    store::{AuditFilter, MAX_PAGE_ROWS, user_store::audit::pending_rows::insert_pending},
};
use serde_json::json;

postgres_cluster::conformance_tests! {
    open: open,
    cases: [
        all_rows_are_read_once_and_none_that_is_sealed_later,
        rows_that_retention_removes_between_two_pages_are_named,
        a_row_that_cannot_be_read_is_named_and_hides_no_other,
        a_change_that_cannot_be_read_is_named_behind_those_before_it,
    ]
}

impl Opened {
    /// Runs a statement that returns revisions, as anyone with access to the database can.
    pub(super) async fn execute(&self, sql: &'static str) {
        let database = &self.operator_database.database;
        let executed = database.write::<i64>(database.statement(sql)).await;
        executed.expect("executed");
    }

    /// Removes the rows up to this revision, as retention does. A batch must end with it.
    pub(super) async fn remove_through(&self, revision: i64) {
        let database = &self.operator_database.database;
        for delete in [
            "DELETE FROM audit WHERE revision <= $1 RETURNING revision",
            "DELETE FROM audit_seal WHERE revision < $1 RETURNING revision",
        ] {
            let delete = database.statement(delete).bind(revision);
            database.write::<i64>(delete).await.expect("removed");
        }
    }

    /// Records and seals this many events.
    async fn record_events(&self, count: usize) {
        let row = AuditRow {
            event: "login_ok".to_owned(),
            user_id: Some(2),
            ..AuditRow::default()
        };
        let entry = Entry::new(row, json!({}));
        self.record_entries(&vec![entry; count]).await;
    }

    pub(super) async fn record_entries(&self, entries: &[Entry]) {
        let database = &self.operator_database.database;
        let insert = insert_pending(database.statement(""), entries);
        database.write::<i64>(insert).await.expect("inserted");
        self.seal().await;
    }
}

async fn all_rows_are_read_once_and_none_that_is_sealed_later(opened: &Opened) {
    opened.record_events(2300).await;
    let mut pages = opened
        .operator_database
        .record_pages()
        .await
        .expect("begun");
    opened.record_events(1).await;
    let mut revisions = Vec::new();
    let mut sizes = Vec::new();
    while let Some(page) = pages.next().await.expect("read") {
        assert_eq!(page.removed, None);
        sizes.push(page.rows.len());
        revisions.extend(page.rows.iter().map(|row| row.revision));
    }
    assert_eq!(sizes, [1000, 1000, 300]);
    assert_eq!(revisions, (1..=2300).collect::<Vec<_>>());
}

async fn rows_that_retention_removes_between_two_pages_are_named(opened: &Opened) {
    opened.record_events(3500).await;
    let mut pages = opened
        .operator_database
        .record_pages()
        .await
        .expect("begun");
    let first = pages.next().await.expect("read").expect("a page");
    assert_eq!(first.rows.len(), 1000);
    // Retention removes rows that the first page has returned.
    opened.remove_through(1000).await;
    let second = pages.next().await.expect("read").expect("a page");
    assert_eq!(second.removed, None, "they were read");
    opened.remove_through(3000).await;
    let third = pages.next().await.expect("read").expect("a page");
    let removed = third.removed.expect("named");
    assert_eq!([removed.first, removed.last], [2001, 3000]);
    let revisions: Vec<_> = third.rows.iter().map(|row| row.revision).collect();
    assert_eq!(revisions, (3001..=3500).collect::<Vec<_>>());
    assert!(pages.next().await.expect("read").is_none());

    let mut pages = opened
        .operator_database
        .record_pages()
        .await
        .expect("begun");
    opened.record_events(1).await;
    opened.remove_through(3501).await;
    let nothing = pages.next().await.expect("read").expect("a page");
    let removed = nothing.removed.expect("named");
    assert_eq!([removed.first, removed.last], [3001, 3500]);
    assert!(nothing.rows.is_empty());
}

async fn a_row_that_cannot_be_read_is_named_and_hides_no_other(opened: &Opened) {
    opened.record_events(9).await;
    // SQLite accepts these unreadable values at once, but PostgreSQL accepts them only after the table was changed.
    let changes = if opened.operator_database.database.is_postgres() {
        [
            "ALTER TABLE audit ALTER COLUMN event DROP NOT NULL, ALTER COLUMN details DROP NOT NULL,
                ALTER COLUMN at DROP NOT NULL",
            "UPDATE audit SET event = NULL WHERE revision = 2 RETURNING revision",
            "UPDATE audit SET details = NULL WHERE revision = 4 RETURNING revision",
            "UPDATE audit SET at = NULL WHERE revision = 9 RETURNING revision",
        ]
    } else {
        [
            "UPDATE audit SET event = x'ff' WHERE revision = 2 RETURNING revision",
            "UPDATE audit SET details = CAST(x'ff' AS TEXT) WHERE revision = 4 RETURNING revision",
            "UPDATE audit SET at = 'yesterday' WHERE revision = 9 RETURNING revision",
            "UPDATE audit SET username = x'' WHERE revision = 99 RETURNING revision",
        ]
    };
    for change in changes {
        opened.execute(change).await;
    }
    let mut pages = opened
        .operator_database
        .record_pages()
        .await
        .expect("begun");
    let page = pages.next().await.expect("read").expect("a page");
    let filter = AuditFilter {
        limit: MAX_PAGE_ROWS,
        ..AuditFilter::default()
    };
    let mut filtered = opened.store.audit(&filter).await.expect("read");
    filtered.reverse();
    for rows in [page.rows, filtered] {
        assert_eq!(rows.len(), 9);
        let mut unreadable = Vec::new();
        for row in rows {
            match row.content {
                Ok(content) => assert_eq!(content.revision, row.revision),
                Err(problem) => unreadable.push((row.revision, problem.to_string())),
            }
        }
        let named: Vec<_> = unreadable
            .iter()
            .map(|(revision, problem)| {
                let column = problem.strip_prefix("the column ").expect("a column");
                (*revision, column.split(' ').next().expect("a name"))
            })
            .collect();
        assert_eq!(
            named,
            [(2, "event"), (4, "details"), (9, "at")],
            "{unreadable:?}"
        );
    }
}

async fn a_change_that_cannot_be_read_is_named_behind_those_before_it(opened: &Opened) {
    let from = opened.seal().await.revision;
    for name in ["ann", "bob", "eve", "kim", "liv", "mia"] {
        opened.insert(name).await;
    }
    opened.seal().await;
    let changes = if opened.operator_database.database.is_postgres() {
        [
            "ALTER TABLE audit ALTER COLUMN event DROP NOT NULL",
            "UPDATE audit SET event = NULL WHERE username = 'bob' RETURNING revision",
            "UPDATE audit SET user_id = NULL WHERE username = 'eve' RETURNING revision",
            "UPDATE audit SET state = '!' WHERE username = 'kim' RETURNING revision",
            "UPDATE audit SET details = 'none' WHERE username = 'liv' RETURNING revision",
        ]
    } else {
        [
            "SELECT 1",
            "UPDATE audit SET event = x'ff' WHERE username = 'bob' RETURNING revision",
            "UPDATE audit SET user_id = 'x' WHERE username = 'eve' RETURNING revision",
            "UPDATE audit SET state = '!' WHERE username = 'kim' RETURNING revision",
            "UPDATE audit SET details = 'none' WHERE username = 'liv' RETURNING revision",
        ]
    };
    for change in changes {
        opened.execute(change).await;
    }
    let changes = opened.store.changes_after(from).await.expect("read");
    assert_eq!(changes.len(), 6);
    let mut seen = Vec::new();
    for (change, revision) in changes.into_iter().zip(from + 1..) {
        assert_eq!(change.revision, revision);
        seen.push(match change.content {
            Ok(content) => content.username,
            Err(problem) => problem.column,
        });
    }
    assert_eq!(seen, ["ann", "event", "user_id", "state", "details", "mia"]);
}
