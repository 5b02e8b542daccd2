//! Tests the explanation of a refused addition, on each engine.

use super::end_all::{Opened, open};
use crate::store::{WriteError, additions::MAX_ADDITIONS, user_store::additions::recent_additions};

postgres_cluster::conformance_tests! {
    open: open,
    cases: [a_limit_that_passes_while_the_reason_is_read_is_still_the_reason]
}

async fn a_limit_that_passes_while_the_reason_is_read_is_still_the_reason(opened: &Opened) {
    let ann = opened.insert("ann").await;
    let database = &opened.operator_database.database;
    for _ in 0..MAX_ADDITIONS {
        let add =
            database.statement("INSERT INTO addition (user_id, at) SELECT $1, $NOW RETURNING at");
        let add = add.bind(ann.id);
        database.write::<i64>(add).await.expect("added");
    }
    let reason = async || {
        let additions = recent_additions(database, ann.id).await;
        additions.expect("read").check(1)
    };
    assert_waits(&reason().await, 59);
    opened
        .execute("UPDATE addition SET at = at - 61 RETURNING at")
        .await;
    assert_waits(&reason().await, 1);
    opened.store.forget_additions().await.expect("cleaned");
    assert_waits(&reason().await, 1);
    opened
        .execute("UPDATE addition SET at = at - 60 RETURNING at")
        .await;
    assert!(reason().await.is_ok(), "it explains nothing any more");
    opened.store.forget_additions().await.expect("cleaned");
    let rows = database.statement("SELECT at FROM addition");
    let rows = database.read::<i64>(rows).await.expect("read");
    assert_eq!(rows, [0; 0], "what explains nothing is forgotten");
}

/// Asserts that an addition was refused for at least this many seconds, and for at most two more.
fn assert_waits(reason: &Result<(), WriteError>, seconds: u64) {
    let Err(WriteError::TooManyAdditions { retry_after }) = reason else {
        panic!("it was not refused");
    };
    assert!(
        (seconds..=seconds + 2).contains(&retry_after.as_secs()),
        "{retry_after:?}"
    );
}
