//! Tests of transactions that PostgreSQL rolls back because of another one.

use crate::{
    Database, DatabaseUrl, FollowUp, STATEMENT_TIMEOUT, Store as _, StoreError,
    test_support::open_with_table,
};
use std::time::Instant;

/// Creates a table in which each insertion of a negative number fails with the SQLSTATE in the table `state`,
/// as often as that table says. A sequence counts the failures, because a sequence is not rolled back.
const SCHEMA: &str = "CREATE TABLE t (i bigint);
    CREATE TABLE state (code text, failures bigint);
    CREATE SEQUENCE tries;
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE planned state;
        BEGIN
            SELECT * INTO planned FROM state;
            IF NEW.i < 0 AND nextval('tries') <= planned.failures THEN
                RAISE EXCEPTION 'rolled back' USING ERRCODE = planned.code;
            END IF;
            RETURN NULL;
        END $$;
    CREATE TRIGGER at_once AFTER INSERT ON t FOR EACH ROW WHEN (NEW.i = -1) EXECUTE FUNCTION fail();
    CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.i = -2) EXECUTE FUNCTION fail();";

async fn open() -> (postgres_cluster::Database, Database) {
    let database = postgres_cluster::Database::create().await;
    let url = DatabaseUrl::required("DATABASE_URL", Some(database.url().as_str().into()), None);
    let store = open_with_table(&url.expect("a URL"), SCHEMA).await;
    (database, store)
}

/// Makes the next `failures` insertions of a negative number fail with this SQLSTATE.
async fn plan(store: &Database, code: &str, failures: i64) {
    let forget = store.statement("DELETE FROM state RETURNING failures");
    store.write::<i64>(forget).await.expect("forgotten");
    let restart = store.statement("SELECT setval('tries', 1, false)");
    store.write::<i64>(restart).await.expect("restarted");
    let plan = store
        .statement("INSERT INTO state VALUES ($1, $2) RETURNING failures")
        .bind(code)
        .bind(failures);
    store.write::<i64>(plan).await.expect("planned");
}

/// Inserts a number alone, or in a transaction that locks the plan first and inserts another number afterwards.
async fn insert(store: &Database, number: i64, is_alone: bool) -> Result<usize, StoreError> {
    let insert = |number: i64| {
        let insert = store.statement("INSERT INTO t VALUES ($1) RETURNING i");
        insert.bind(number)
    };
    if is_alone {
        return Ok(store.write::<i64>(insert(number)).await?.len());
    }
    let lock = store.statement("SELECT failures FROM state");
    let behind = insert(7);
    let then = FollowUp::new(move |_: &[i64]| Ok(vec![behind.clone()]));
    let inserted = store.write_locked(lock, insert(number), then).await?;
    Ok(inserted.len())
}

async fn count(store: &Database) -> i64 {
    let count = store.statement("SELECT count(*) FROM t");
    store.read::<i64>(count).await.expect("read")[0]
}

#[tokio::test]
async fn what_the_server_rolls_back_because_of_another_transaction_runs_again() {
    let (_database, store) = open().await;
    let mut expected = 0;
    for code in ["40001", "40P01"] {
        for (number, is_alone) in [(-1, true), (-2, true), (-1, false), (-2, false)] {
            plan(&store, code, 3).await;
            let inserted = insert(&store, number, is_alone).await.expect("inserted");
            assert_eq!(inserted, 1, "{code} {number}");
            expected += if is_alone { 1 } else { 2 };
            assert_eq!(count(&store).await, expected, "each is written once");
        }
    }
    store.close().await;
}

#[tokio::test]
async fn what_is_rolled_back_for_ever_is_unavailable_by_the_deadline_and_was_not_written() {
    let (_database, store) = open().await;
    plan(&store, "40001", i64::MAX).await;
    let began = Instant::now();
    let error = insert(&store, -1, false).await.expect_err("rolled back");
    let is_known = matches!(error, StoreError::Unavailable(_) | StoreError::TimedOut);
    assert!(is_known, "nothing of it is unknown: {error:?}");
    let waited = began.elapsed();
    assert!(waited < STATEMENT_TIMEOUT * 2, "{waited:?}");
    plan(&store, "40001", 0).await;
    assert_eq!(count(&store).await, 0);
    assert_eq!(insert(&store, -1, false).await.expect("inserted"), 1);
    store.close().await;
}

#[tokio::test]
async fn other_errors_are_answered_at_the_first_try() {
    let (_database, store) = open().await;
    for code in ["22012", "23514", "P0001", "40002"] {
        plan(&store, code, 1).await;
        let error = insert(&store, -1, false).await.expect_err(code);
        assert!(matches!(error, StoreError::Failed(_)), "{code}: {error:?}");
    }
    assert_eq!(count(&store).await, 0);
    store.close().await;
}
