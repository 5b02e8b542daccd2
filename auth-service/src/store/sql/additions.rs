//! Counts what was added to a user in an SQL database, so that all replicas count together and a restart forgets
//! nothing.

use super::{encoding::encode_count, sql_store::SqlStore};
use crate::store::{
    StoreError,
    additions::{ADDITION_SECONDS, Additions, MAX_ADDITIONS},
};
use rolegate_sql_store::{Database, Statement};

/// How long an addition still explains that a write found no room, although it does not count any more: the limit may
/// pass between the write and the reading of the reason.
const EXPLANATION_SECONDS: i64 = 2 * ADDITION_SECONDS;

/// Continues a statement by the rows of what was added to a user in the last `seconds`, as `recent (at, now)`. One in the
/// future is by a clock that was ahead.
fn push_from_additions(statement: Statement, user_id: i64, seconds: i64) -> Statement {
    statement
        .push(" FROM (SELECT at, now FROM addition, (SELECT ")
        .push_now()
        .push(" AS now) AS clock WHERE user_id = ")
        .push_bind(user_id)
        .push(" AND at <= now AND at > now - ")
        .push_bind(seconds)
        .push(") AS recent")
}

/// Continues a statement by the condition that there is room for so many more additions to this user. It holds only
/// behind a lock of the user.
pub(super) fn push_has_room(statement: Statement, user_id: i64, added: usize) -> Statement {
    let count = statement.push("(SELECT count(*)");
    push_from_additions(count, user_id, ADDITION_SECONDS)
        .push(") <= ")
        .push_bind(MAX_ADDITIONS - encode_count(added))
}

impl SqlStore {
    /// Counts an addition to this user, in its transaction.
    pub(super) fn count_addition(&self, user_id: i64) -> Statement {
        self.database
            .statement("INSERT INTO addition (user_id, at) SELECT $1, ")
            .push_now()
            .bind(user_id)
    }

    /// Forgets additions that neither count nor explain anything any more. Those in the future go too: the clock that made
    /// them was ahead.
    pub(super) async fn forget_old_additions(&self) -> Result<(), StoreError> {
        let old = self.database.statement("SELECT at FROM addition WHERE ");
        let old = push_is_forgotten(old).push(" LIMIT 1");
        if self.database.read_hint::<i64>(old).await?.is_empty() {
            return Ok(());
        }
        let forget = self.database.statement("DELETE FROM addition WHERE ");
        let forget = push_is_forgotten(forget).push(" RETURNING at");
        self.database.execute(forget).await.map(drop)
    }
}

/// What was added to a user lately, to say why a write with [`push_has_room`] wrote nothing.
pub(super) async fn recent_additions(
    database: &Database,
    user_id: i64,
) -> Result<Additions, StoreError> {
    let select = database
        .statement("SELECT count(*) AS count, max(now) - min(CASE WHEN at > now - ")
        .push_bind(ADDITION_SECONDS)
        .push(" THEN at END) AS age_of_first");
    let select = push_from_additions(select, user_id, EXPLANATION_SECONDS);
    let additions = database.read(select).await?.pop();
    Ok(additions.unwrap_or_default())
}

/// Continues a statement by the condition that an addition may be forgotten.
fn push_is_forgotten(statement: Statement) -> Statement {
    statement
        .push("at <= ")
        .push_now()
        .push(" - ")
        .push_bind(EXPLANATION_SECONDS)
        .push(" OR at > ")
        .push_now()
        .push(" + ")
        .push_bind(ADDITION_SECONDS)
}
