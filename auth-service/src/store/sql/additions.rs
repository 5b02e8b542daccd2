//! Counts what was added to a user in an SQL database, so that all replicas count together and a restart forgets
//! nothing.

use super::SqlStore;
use crate::store::{
    StoreError,
    additions::{ADDITION_SECONDS, Additions, MAX_ADDITIONS},
};
use rolegate_sql_store::Statement;
use sqlx::{FromRow, Row};

/// Continues a statement by the rows of what was added to a user lately, as `recent (at, now)`. One in the future is by a
/// clock that was ahead.
fn from_additions(statement: Statement, user_id: i64) -> Statement {
    statement
        .push(" FROM (SELECT at, now FROM addition, (SELECT ")
        .push_now()
        .push(" AS now) AS clock WHERE user_id = ")
        .push_bind(user_id)
        .push(" AND at <= now AND at > now - ")
        .push_bind(ADDITION_SECONDS)
        .push(") AS recent")
}

/// Continues a statement by the condition that there is room for another addition to this user. It holds only
/// behind a lock of the user.
pub(super) fn has_room(statement: Statement, user_id: i64) -> Statement {
    from_additions(statement.push("(SELECT count(*)"), user_id)
        .push(") < ")
        .push_bind(MAX_ADDITIONS)
}

impl SqlStore {
    /// Counts an addition to this user, in its transaction.
    pub(super) fn count_addition(&self, user_id: i64) -> Statement {
        self.database
            .statement("INSERT INTO addition (user_id, at) SELECT $1, ")
            .push_now()
            .bind(user_id)
    }

    /// Forgets additions that do not count any more. Those in the future go too: the clock that made them was ahead.
    pub(super) async fn forget_additions(&self) -> Result<(), StoreError> {
        let old = self
            .database
            .statement("SELECT at FROM addition WHERE at <= ")
            .push_now()
            .push(" - 60 OR at > ")
            .push_now()
            .push(" + 60 LIMIT 1");
        if self.database.peek::<(i64,)>(old).await?.is_empty() {
            return Ok(());
        }
        let forget = self
            .database
            .statement("DELETE FROM addition WHERE at <= ")
            .push_now()
            .push(" - 60 OR at > ")
            .push_now()
            .push(" + 60 RETURNING at");
        self.database.write::<(i64,)>(forget).await.map(drop)
    }

    /// What was added to this user lately, to say why a write with [`has_room`] wrote nothing.
    pub(super) async fn additions(&self, user_id: i64) -> Result<Additions, StoreError> {
        let select = "SELECT count(*), max(now) - min(at)";
        let select = from_additions(self.database.statement(select), user_id);
        let additions = self.database.read::<Additions>(select).await?.pop();
        Ok(additions.unwrap_or(Additions {
            count: 0,
            age_of_first: None,
        }))
    }
}

/// Their number, and the age of the first.
type Columns = (i64, Option<i64>);

impl<'r, R: Row> FromRow<'r, R> for Additions
where
    Columns: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (count, age_of_first) = Columns::from_row(row)?;
        Ok(Self {
            count,
            age_of_first,
        })
    }
}
