//! Tests the order in which rows are sealed, and how much a slow database seals, on each engine.

use super::end_all::{Opened, open};
use crate::{
    audit::{AuditRow, Entry},
    store::user_store::audit::pending_rows::insert_pending,
};
use serde_json::json;

postgres_cluster::conformance_tests! {
    open: open,
    cases: [
        changes_are_sealed_before_the_many_rows_of_an_import,
        a_user_who_is_deleted_and_imported_again_keeps_the_order_in_a_backlog,
        batches_become_smaller_until_one_ends,
        sealings_at_the_same_time_are_shared_and_complete,
    ]
}

const IMPORTED: i64 = 5000;

fn entry(event: &str, user_id: i64) -> Entry {
    let row = AuditRow {
        event: event.to_owned(),
        user_id: Some(user_id),
        ..AuditRow::default()
    };
    Entry::new(row, json!({}))
}

impl Opened {
    /// Commits rows without sealing them.
    async fn commit_rows(&self, entries: &[Entry]) {
        let database = &self.operator_database.database;
        let insert = insert_pending(database.statement(""), entries);
        database.write::<i64>(insert).await.expect("inserted");
    }

    async fn count_pending(&self) -> i64 {
        let database = &self.operator_database.database;
        let count = database.statement("SELECT count(*) FROM audit_pending");
        let counts = database.read::<i64>(count).await.expect("read");
        counts[0]
    }

    /// Returns the sealed events of a user, the oldest first.
    async fn sealed_events(&self, user_id: i64) -> Vec<String> {
        let database = &self.operator_database.database;
        let select = database
            .statement("SELECT event FROM audit WHERE user_id = $1 ORDER BY revision")
            .bind(user_id);
        database.read(select).await.expect("read")
    }
}

async fn changes_are_sealed_before_the_many_rows_of_an_import(opened: &Opened) {
    let imported: Vec<_> = (1000..1000 + IMPORTED)
        .map(|id| entry("user_imported", id))
        .collect();
    opened.commit_rows(&imported).await;
    let last_imported = 1000 + IMPORTED - 1;
    opened.commit_rows(&[entry("role_changed", 7)]).await;
    opened
        .commit_rows(&[entry("role_changed", last_imported)])
        .await;
    assert!(opened.store.seal().await.expect("sealed"), "there is more");
    assert_eq!(opened.sealed_events(7).await, ["role_changed"]);
    assert_eq!(
        opened.sealed_events(last_imported).await,
        ["user_imported", "role_changed"],
        "the rows of a user keep their order"
    );
    let waiting = opened.count_pending().await;
    assert!(
        (1..IMPORTED).contains(&waiting),
        "the import goes on too: {waiting}"
    );
    opened.seal().await;
    assert_eq!(opened.count_pending().await, 0);
    assert_eq!(opened.sealed_events(1000).await, ["user_imported"]);
}

async fn a_user_who_is_deleted_and_imported_again_keeps_the_order_in_a_backlog(opened: &Opened) {
    opened.commit_rows(&[entry("role_changed", 7)]).await;
    opened.commit_rows(&vec![entry("login_ok", 3); 1500]).await;
    opened
        .commit_rows(&[entry("user_deleted", 7), entry("user_imported", 7)])
        .await;
    opened.seal().await;
    assert_eq!(
        opened.sealed_events(7).await,
        ["role_changed", "user_deleted", "user_imported"]
    );
}

async fn batches_become_smaller_until_one_ends(opened: &Opened) {
    // The database refuses a batch that leaves fewer than 90 of the 100 rows.
    let refuse = if opened.operator_database.database.is_postgres() {
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF (SELECT count(*) FROM audit_pending) < 90 THEN RAISE EXCEPTION 'too many'; END IF;
            RETURN NEW; END $$"
    } else {
        "SELECT 1"
    };
    let trigger = if opened.operator_database.database.is_postgres() {
        "CREATE TRIGGER refuse BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION refuse()"
    } else {
        "CREATE TRIGGER refuse BEFORE INSERT ON audit WHEN (SELECT count(*) FROM audit_pending) < 90
            BEGIN SELECT RAISE(ABORT, 'too many'); END"
    };
    opened.seal().await;
    opened.execute(refuse).await;
    opened.execute(trigger).await;
    opened.commit_rows(&vec![entry("login_ok", 3); 100]).await;
    let mut refused = 0;
    while opened.store.seal().await.is_err() {
        refused += 1;
        assert!(refused < 20, "nothing is ever sealed");
    }
    let waiting = opened.count_pending().await;
    assert!((90..100).contains(&waiting), "{waiting}");
    opened
        .execute(if opened.operator_database.database.is_postgres() {
            "DROP TRIGGER refuse ON audit"
        } else {
            "DROP TRIGGER refuse"
        })
        .await;
    opened.seal().await;
    assert_eq!(opened.sealed_events(3).await.len(), 100);
}

async fn sealings_at_the_same_time_are_shared_and_complete(opened: &Opened) {
    for number in 0..5 {
        opened.commit_rows(&[entry("login_ok", number + 1)]).await;
        let sealings = (0..20).map(|_| opened.store.seal());
        for sealed in futures_util::future::join_all(sealings).await {
            assert!(!sealed.expect("sealed"));
        }
        assert_eq!(opened.count_pending().await, 0);
    }
}
