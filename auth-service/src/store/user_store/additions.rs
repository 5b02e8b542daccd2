//! Counts additions in the database, so that all replicas share one count and no restart loses it.

use super::{UserStore, encoding::encode_count};
use crate::store::{
    StoreError,
    additions::{ADDITION_SECONDS, Additions, MAX_ADDITIONS},
};
use rolegate_sql_store::{Database, Statement};

/// The age, in seconds, up to which an addition is read to explain why a write was refused. It exceeds
/// [`ADDITION_SECONDS`], because an addition may stop counting between the refusal and the read.
const EXPLANATION_SECONDS: i64 = 2 * ADDITION_SECONDS;

/// Continues a statement with the additions to a user in the last `seconds`, as `recent (at, now)`. Additions in the
/// future are left out, because they come from a clock that was ahead.
fn push_from_additions(statement: Statement, user_id: i64, seconds: i64) -> Statement {
    statement
        .push(" FROM (SELECT at, now FROM addition, (SELECT $NOW AS now) AS clock WHERE user_id = ")
        .push_bind(user_id)
        .push(" AND at <= now AND at > now - ")
        .push_bind(seconds)
        .push(") AS recent")
}

/// Continues a statement with the condition that the limit allows `added` more additions to this user. The condition is
/// reliable only while the row of the user is locked.
pub(super) fn push_has_room(statement: Statement, user_id: i64, added: usize) -> Statement {
    let count = statement.push("(SELECT count(*)");
    push_from_additions(count, user_id, ADDITION_SECONDS)
        .push(") <= ")
        .push_bind(MAX_ADDITIONS - encode_count(added))
}

impl UserStore {
    /// Returns the statement that counts an addition to this user, for the transaction of the addition.
    pub(super) fn count_addition(&self, user_id: i64) -> Statement {
        self.database
            .statement("INSERT INTO addition (user_id, at) SELECT $1, $NOW")
            .bind(user_id)
    }

    /// Deletes old additions, which neither count towards the limit of additions nor explain a refusal. Also deletes
    /// additions that are more than a minute in the future, because they come from a clock that was ahead.
    pub(crate) async fn forget_additions(&self) -> Result<(), StoreError> {
        let statement = |start| {
            self.database
                .statement(start)
                .push("at <= $NOW - $1 OR at > $NOW + $2")
                .bind(EXPLANATION_SECONDS)
                .bind(ADDITION_SECONDS)
        };
        let old = statement("SELECT at FROM addition WHERE ").push(" LIMIT 1");
        if self.database.read_hint::<i64>(old).await?.is_empty() {
            return Ok(());
        }
        let forget = statement("DELETE FROM addition WHERE ").push(" RETURNING at");
        self.database.execute(forget).await.map(drop)
    }
}

/// Reads the recent additions to a user, to find out whether [`push_has_room`] kept a write from changing anything.
pub(super) async fn recent_additions(
    database: &Database,
    user_id: i64,
) -> Result<Additions, StoreError> {
    let select = database
        .statement("SELECT count(*) AS count, max(now) - min(CASE WHEN at > now - ")
        .push_bind(ADDITION_SECONDS)
        .push(" THEN at END) AS age_of_first");
    let select = push_from_additions(select, user_id, EXPLANATION_SECONDS);
    let additions = database.read_optional(select).await?;
    Ok(additions.unwrap_or_default())
}
